//! Blame: who waited for what, from counters that every die, plane and channel keeps.
//!
//! Nothing is recorded while time passes. An operation that waits takes a snapshot of the counters; when it is issued, the
//! differences are its waits.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::observe::{ARRAY, Blame, CHANNEL, COMMAND, DIE, Observer, Occupant, TRANSFER, copy_counters};
use crate::sched::ops::OpKind;
use crate::units::Ns;

/// Adds what counters have grown by since a snapshot to the parts of a blame from `first` on. Few of them have grown; the
/// answer has a bit for each.
#[inline]
pub(super) fn add_differences<const N: usize>(blame: &mut Blame, first: usize, now: &[Ns; N], then: &[Ns; N]) -> u32 {
    let mut grown = 0u32;
    for i in 0..N {
        grown |= u32::from(now[i] != then[i]) << i;
    }
    let mut rest = grown;
    while rest != 0 {
        let i = rest.trailing_zeros() as usize;
        blame.add(first + i, now[i] - then[i]);
        rest &= rest - 1;
    }
    grown
}

/// The bits of GC's work among the counters of a die.
const GC_OCCUPANTS: u32 = 1 << Occupant::GcRead as u32 | 1 << Occupant::GcProgram as u32 | 1 << Occupant::Erase as u32;

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Takes the snapshot of an operation that did not start at once, if the host waits for it.
    pub(super) fn note_wait(&mut self, op: u32) {
        let entry = &self.state.ops[op as usize];
        // A started operation has left its line: the tail is it, or it links to a later one, only while it waits.
        let waits = entry.is_host() && entry.target == NONE && self.is_in_line(op);
        if !waits {
            return;
        }
        let plane = entry.plane;
        let die = self.state.die_of(plane);
        self.settle_die(die);
        self.state.ops[op as usize].waited = true;
        let gc_held = self.gc_held_ns(plane, die);
        let lines = &self.state.planes[plane as usize];
        let snapshot = &mut self.state.snapshots[op as usize];
        snapshot.die = self.state.dies[die as usize].busy_ns;
        copy_counters(&mut snapshot.other, &lines.other_ns);
        snapshot.held = lines.held_ns;
        snapshot.gc_held = gc_held;
    }

    /// For how long GCs have held a plane, and its channel, up to now.
    #[inline(always)]
    pub(super) fn gc_held_ns(&self, plane: PlaneIx, die: DieIx) -> (Ns, Ns) {
        let channel = &self.state.channels[self.state.channel_of(die)];
        (self.state.planes[plane as usize].gc_held_ns(self.state.now), channel.gc_held_ns(self.state.now))
    }

    /// Whether an operation that just joined its line is still there. It joined at the tail; what has joined since comes after.
    #[inline(always)]
    pub(super) fn is_in_line(&self, op: u32) -> bool {
        let entry = &self.state.ops[op as usize];
        self.state.planes[entry.plane as usize].tail[entry.class as usize] == op || entry.next != NONE
    }

    /// Adds the wait of an operation so far to its blame, and counts from now.
    #[inline(always)]
    pub(super) fn bill_wait(&mut self, op: u32) {
        let now = self.state.now;
        let entry = &self.state.ops[op as usize];
        if now > entry.since {
            if entry.is_host() {
                self.bill_host_wait(op);
            }
            self.state.ops[op as usize].since = now;
        }
    }

    #[inline(never)]
    fn bill_host_wait(&mut self, op: u32) {
        let entry = &self.state.ops[op as usize];
        crate::check!(entry.waited, "a wait without a snapshot");
        let plane = entry.plane;
        let die = self.state.die_of(plane);
        self.settle_die(die);
        let snapshot = &self.state.snapshots[op as usize];
        let blame = &mut self.state.blames[op as usize];
        let busy = &self.state.dies[die as usize].busy_ns;
        let grown = add_differences(blame, DIE, busy, &snapshot.die);
        let lines = &self.state.planes[plane as usize];
        add_differences(blame, CHANNEL, &lines.other_ns, &snapshot.other);
        blame.add(DIE + Occupant::GcHold as usize, lines.held_ns - snapshot.held);
        let held = self.gc_held_ns(plane, die) != snapshot.gc_held;
        self.state.ops[op as usize].gc_blocked |= grown & GC_OCCUPANTS != 0 || held;
    }

    /// Brings the counters of a die up to now.
    #[inline(always)]
    pub(crate) fn settle_die(&mut self, die: DieIx) {
        let now = self.state.now;
        let state = &mut self.state.dies[die as usize];
        let elapsed = now - state.since;
        if state.running != NONE {
            state.since = now;
            state.busy_ns[state.occupant as usize] += elapsed;
        } else if state.blocked && elapsed > 0 {
            self.settle_blocked(die);
        } else {
            // Nothing waited, so nobody has a snapshot that these instants could be missing from; or a die became blocked
            // with its channel's counters of this very instant.
            state.since = now;
        }
    }

    #[inline(never)]
    fn settle_blocked(&mut self, die: DieIx) {
        let now = self.state.now;
        let channel = self.state.channel_of(die);
        let state = &mut self.state.dies[die as usize];
        let elapsed = now - std::mem::replace(&mut state.since, now);
        let planes_per_die = self.state.device.geometry.planes_per_die;
        let planes = (die * planes_per_die) as usize..((die + 1) * planes_per_die) as usize;
        let channel = &mut self.state.channels[channel];
        channel.settle(now);
        for plane in &mut self.state.planes[planes] {
            if plane.held {
                plane.held_ns += elapsed;
            } else {
                for (total, (now, then)) in plane.other_ns.iter_mut().zip(channel.category_ns.iter().zip(&state.channel_then)) {
                    *total += now - then;
                }
            }
        }
        copy_counters(&mut state.channel_then, &channel.category_ns);
    }

    /// Notes that work waits at a die that runs nothing, so that the time is billed to what it waits for.
    #[inline(always)]
    pub(super) fn mark_blocked(&mut self, die: DieIx) {
        let state = &self.state.dies[die as usize];
        if state.running == NONE && !state.blocked {
            self.block(die);
        }
    }

    #[inline(never)]
    fn block(&mut self, die: DieIx) {
        self.settle_die(die);
        let now = self.state.now;
        let channel = self.state.channel_of(die);
        self.state.channels[channel].settle(now);
        let state = &mut self.state.dies[die as usize];
        state.blocked = true;
        copy_counters(&mut state.channel_then, &self.state.channels[channel].category_ns);
    }

    /// Adds an operation's own phases to its blame. What is left of its time on the die went to its mates.
    pub(crate) fn bill_service(&mut self, op: u32) {
        let entry = self.state.ops[op as usize];
        let command = self.state.device.timing.command_ns;
        let (array, transfer) = match entry.kind {
            // The page was given up while the read waited: there is nothing to read.
            OpKind::Read if entry.ppn == NONE => return,
            OpKind::Read => (self.read_ns(entry.ppn), self.transfer_ns(entry.sectors.into())),
            OpKind::Program => (self.program_ns(entry.target), self.transfer_ns(entry.sectors.into())),
            OpKind::Copyback | OpKind::Erase => return,
        };
        let blame = &mut self.state.blames[op as usize];
        blame.add(COMMAND, command);
        blame.add(ARRAY, array);
        blame.add(TRANSFER, transfer);
        if let Some(rest) = entry.rest {
            let elapsed = self.state.now - entry.born;
            let total = blame.total();
            assert!(total <= elapsed, "an operation's parts exceed its time: {total} > {elapsed}");
            blame.add(DIE + rest as usize, elapsed - total);
        }
    }
}
