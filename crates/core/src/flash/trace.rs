//! The trail of an operation, for a tracing observer. Nothing here is compiled for others.

use crate::attribution::parts::{ARRAY, COMMAND, DIE, TRANSFER};
use crate::attribution::trail::Passing;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::Times;
use crate::flash::op::OpKind;
use crate::flash::upper::Upper;
use crate::ids::NONE;
use crate::units::Ns;

impl<Q: EventQueue, U> Engine<Q, U>
where
    Self: Upper,
{
    /// The trail of an operation that is done: its own phases, of which the first began when it was issued. What its partners or a
    /// suspension took of its time is the rest.
    #[inline(never)]
    pub(super) fn trace_service(&mut self, op: u32) {
        let now = self.flash.now;
        let entry = self.flash.ops[op as usize];
        if entry.kind == OpKind::Read && entry.ppn == NONE {
            return;
        }
        let Times { command, array, transfer } = self.times(&entry);
        let before =
            self.flash.latencies.attributions[op as usize].trail().iter().filter(|passage| !matches!(passage.what, Passing::ForChannel(_)));
        let issued = before.map(|passage| passage.to).fold(entry.born, Ns::max);
        let (array, transfer) = match entry.kind {
            OpKind::Read => ((issued + command, issued + command + array), (now - transfer, now)),
            OpKind::Program => ((now - array, now), (issued + command, issued + command + transfer)),
            OpKind::Copyback | OpKind::Erase => return,
        };
        let attribution = &mut self.flash.latencies.attributions[op as usize];
        attribution.trace(issued, issued + command, entry.plane, Passing::Own(COMMAND as u8));
        attribution.trace(array.0, array.1, entry.plane, Passing::Own(ARRAY as u8));
        attribution.trace(transfer.0, transfer.1, entry.plane, Passing::Own(TRANSFER as u8));
        if let Some(other) = entry.other_traffic {
            attribution.trace(entry.born, now, entry.plane, Passing::Remainder((DIE + other as usize) as u8));
        }
    }
}
