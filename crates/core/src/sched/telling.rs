//! What a told observer hears of dies, channels, holds and GCs, and the trail of a request. Nothing here is compiled for others.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::gc::Gc;
use crate::host::CommandKind;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::observe::{ARRAY, Blame, COMMAND, DIE, LINK, LINK_WAIT, OVERHEAD, Observer, Occupant, TRANSFER};
use crate::policy::Scope;
use crate::sched::Times;
use crate::sched::ops::{OWES_DIE, OpKind, Owner};
use crate::story::{GcRecord, NOBODY, Passing, Run, Use};
use crate::units::Ns;
use std::cmp::Reverse;

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// What a die has run since `from`, and runs or has run up to now.
    #[inline(never)]
    pub(super) fn tell_run(&mut self, die: DieIx, from: Ns) {
        let state = &self.state.dies[die as usize];
        let op = &self.state.ops[state.running as usize];
        let (gc, page) = match op.owner {
            Owner::Gc(plane) if op.kind == OpKind::Erase => (self.state.gc[plane as usize].number, NONE),
            Owner::Gc(plane) => (self.state.gc[plane as usize].number, op.ppn % self.state.device.geometry.pages_per_block),
            _ => (NOBODY, NONE),
        };
        let request = match op.owner {
            Owner::Request(request) => self.state.requests[request as usize].id,
            _ => NOBODY,
        };
        let run = Run { from, to: self.state.now, die, plane: op.plane, occupant: state.occupant, lpn: op.lpn, gc, page, request };
        self.observer.die_ran(&run);
    }

    /// A channel carries something for a plane from now on.
    #[inline(never)]
    pub(super) fn tell_use(&mut self, channel: usize, plane: PlaneIx, ns: Ns, occupant: Occupant) {
        let from = self.state.now;
        self.observer.channel_used(&Use { from, to: from + ns, channel: channel as u32, occupant, plane });
    }

    /// Which GC holds a plane.
    #[inline(never)]
    pub(super) fn tell_hold(&mut self, plane: PlaneIx) {
        let die = self.state.die_of(plane);
        let holds = |&other: &PlaneIx| {
            let gc = &self.state.gc[other as usize];
            gc.holds && (other == plane || gc.plan.scope >= Scope::Die)
        };
        // A suspended erase gives its hold up until it resumes.
        let parked = self.state.dies[die as usize].parked != NONE;
        let own = Some(plane).filter(|plane| holds(plane));
        let holder = if parked { None } else { own.or_else(|| self.planes_of(die).find(holds)) };
        let gc = holder.map_or(NOBODY, |holder| self.state.gc[holder as usize].number);
        self.observer.plane_held(plane, self.state.now, gc);
    }

    /// The GC of a plane has erased its victim.
    #[inline(never)]
    pub(crate) fn tell_gc(&mut self, plane: PlaneIx) {
        let Gc { number, victim, moved, started, held_since: held, moved_at, .. } = self.state.gc[plane as usize];
        let block = victim % self.state.device.geometry.blocks_per_plane;
        self.observer.gc_ended(&GcRecord { number, plane, block, moved, started, held, moved_at, ended: self.state.now });
    }

    /// The trail of an operation that is done: its own phases, of which the first began when it was issued. What its mates or a
    /// suspension took of its time is the rest.
    #[inline(never)]
    pub(super) fn tell_service(&mut self, op: u32) {
        let now = self.state.now;
        let entry = self.state.ops[op as usize];
        if entry.kind == OpKind::Read && entry.ppn == NONE {
            return;
        }
        let Times { command, array, transfer } = self.times(&entry);
        let latencies = &self.state.latencies;
        let waited = if entry.bill & OWES_DIE != 0 { latencies.wait_ended(op) } else { entry.born };
        let issued = latencies.blame(op).trail().iter().map(|passage| passage.to).fold(waited, Ns::max);
        let (array, transfer) = match entry.kind {
            OpKind::Read => ((issued + command, issued + command + array), (now - transfer, now)),
            OpKind::Program => ((now - array, now), (issued + command, issued + command + transfer)),
            OpKind::Copyback | OpKind::Erase => return,
        };
        let blame = self.state.latencies.blame_mut(op);
        blame.tell(issued, issued + command, entry.plane, Passing::Own(COMMAND as u8));
        blame.tell(array.0, array.1, entry.plane, Passing::Own(ARRAY as u8));
        blame.tell(transfer.0, transfer.1, entry.plane, Passing::Own(TRANSFER as u8));
        if let Some(rest) = entry.rest {
            blame.tell(entry.born, now, entry.plane, Passing::Rest((DIE + rest as usize) as u8));
        }
    }
}

/// The trail of a wait for a slot: its parts, the largest first.
#[inline(never)]
pub(crate) fn tell_slot_wait(blame: &mut Blame, arrived: Ns, parts: impl Iterator<Item = (usize, Ns)>) {
    let mut parts: Vec<_> = parts.map(|(part, ns)| (ns, part)).collect();
    parts.sort_unstable_by_key(|&(ns, part)| (Reverse(ns), part));
    let mut told = arrived;
    for (ns, part) in parts {
        blame.tell(told, told + ns, NONE, Passing::Own(part as u8));
        told += ns;
    }
}

/// The trail of a request outside the flash, from its acceptance on: when it arrived, was accepted and completed; the fixed time, and the times of
/// waiting for the link and of using it.
#[inline(never)]
pub(crate) fn tell_ends(blame: &mut Blame, at: (Ns, Ns, Ns), path: (Ns, Ns, Ns), kind: CommandKind) {
    let (arrived, accepted, completed) = at;
    let (overhead, link_wait, link) = path;
    let begun = accepted + overhead;
    blame.tell(accepted, begun, NONE, Passing::Own(OVERHEAD as u8));
    // Writes cross the link first, reads last.
    let crossing = if kind == CommandKind::Read { completed - link - link_wait } else { begun };
    blame.tell(crossing, crossing + link_wait, NONE, Passing::Own(LINK_WAIT as u8));
    blame.tell(crossing + link_wait, crossing + link_wait + link, NONE, Passing::Own(LINK as u8));
    if kind == CommandKind::Write {
        // A write without buffer also waits for an earlier one of the same page.
        blame.tell(arrived, completed, NONE, Passing::Rest((DIE + Occupant::HostProgram as usize) as u8));
    }
}
