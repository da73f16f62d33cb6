//! The trail of an operation, for a told observer. Nothing here is compiled for others.

use crate::attribution::parts::{ARRAY, COMMAND, DIE, TRANSFER};
use crate::attribution::trail::Passing;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::Times;
use crate::flash::op::{OWES_DIE, OpKind};
use crate::flash::upper::Upper;
use crate::ids::NONE;
use crate::units::Ns;

impl<Q: EventQueue, U> Engine<Q, U>
where
    Self: Upper,
{
    /// The trail of an operation that is done: its own phases, of which the first began when it was issued. What its mates or a
    /// suspension took of its time is the rest.
    #[inline(never)]
    pub(super) fn tell_service(&mut self, op: u32) {
        let now = self.flash.now;
        let entry = self.flash.ops[op as usize];
        if entry.kind == OpKind::Read && entry.ppn == NONE {
            return;
        }
        let Times { command, array, transfer } = self.times(&entry);
        let latencies = &self.flash.latencies;
        let waited = if entry.bill & OWES_DIE != 0 { latencies.wait_ended(op) } else { entry.born };
        let issued = latencies.blame(op).trail().iter().map(|passage| passage.to).fold(waited, Ns::max);
        let (array, transfer) = match entry.kind {
            OpKind::Read => ((issued + command, issued + command + array), (now - transfer, now)),
            OpKind::Program => ((now - array, now), (issued + command, issued + command + transfer)),
            OpKind::Copyback | OpKind::Erase => return,
        };
        let blame = self.flash.latencies.blame_mut(op);
        blame.tell(issued, issued + command, entry.plane, Passing::Own(COMMAND as u8));
        blame.tell(array.0, array.1, entry.plane, Passing::Own(ARRAY as u8));
        blame.tell(transfer.0, transfer.1, entry.plane, Passing::Own(TRANSFER as u8));
        if let Some(rest) = entry.rest {
            blame.tell(entry.born, now, entry.plane, Passing::Rest((DIE + rest as usize) as u8));
        }
    }
}
