//! When operations begin and end to wait, and what goes on at dies and channels meanwhile. What their latency is attributed to
//! follows from that in [`attribution`](crate::flash::attribution).

use crate::attribution::parts::{ARRAY, COMMAND, DIE, TRANSFER};
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::Times;
use crate::flash::attribution::{Owed, Place};
use crate::flash::op::{OWES_CHANNEL, OWES_DIE, OpKind, WAITS_FOR_DIE};
use crate::flash::upper::{Told, Upper};
use crate::ids::{DieIx, NONE, PlaneIx};

impl<Q: EventQueue, U> Engine<Q, U>
where
    Self: Upper,
{
    /// Copies the counters for an operation that did not start at once, if somebody will ask for its blame.
    #[inline(always)]
    pub(crate) fn note_wait(&mut self, op: u32) {
        let entry = &self.flash.ops[op as usize];
        // A started operation has left its line: the tail is it, or it links to a later one, only while it waits.
        if entry.is_billed() && entry.target == NONE && self.is_in_line(op) {
            self.open_wait(op);
        }
    }

    /// Copies the counters of what an operation waits for from now on.
    #[inline(never)]
    pub(super) fn open_wait(&mut self, op: u32) {
        if self.flash.ops[op as usize].bill & (OWES_DIE | OWES_CHANNEL) != 0 {
            self.pay(op);
        }
        let now = self.flash.now;
        let entry = &mut self.flash.ops[op as usize];
        entry.bill |= WAITS_FOR_DIE;
        // The fields one by one, since the place borrows the others.
        let lines = &self.flash.planes[entry.plane as usize];
        let die = &self.flash.dies[lines.die as usize];
        let place = Place { lines, die, channel: &self.flash.channels[die.channel as usize] };
        self.flash.latencies.open_wait(op, place, now);
    }

    /// Whether an operation that just joined its line is still there. It joined at the tail; what has joined since comes after.
    #[inline(always)]
    fn is_in_line(&self, op: u32) -> bool {
        let entry = &self.flash.ops[op as usize];
        self.flash.planes[entry.plane as usize].tail[entry.class as usize] == op || entry.next != NONE
    }

    /// Ends the wait of an operation, and counts from now.
    #[inline(always)]
    pub(crate) fn bill_wait(&mut self, op: u32) {
        let now = self.flash.now;
        let entry = &self.flash.ops[op as usize];
        if now > entry.since {
            if entry.is_billed() {
                self.end_wait(op);
            }
            self.flash.ops[op as usize].since = now;
        }
    }

    #[inline(never)]
    fn end_wait(&mut self, op: u32) {
        let now = self.flash.now;
        let entry = &self.flash.ops[op as usize];
        crate::check!(entry.bill & WAITS_FOR_DIE != 0, "a wait of which nothing was noted");
        let plane = entry.plane;
        let die = self.flash.die_of(plane);
        if Self::TOLD {
            // What goes on there is heard of up to now.
            self.settle_die(die);
        }
        let lines = &self.flash.planes[plane as usize];
        let die = &self.flash.dies[die as usize];
        let place = Place { lines, die, channel: &self.flash.channels[die.channel as usize] };
        let blocked = self.flash.latencies.end_wait(op, place, now);
        let entry = &mut self.flash.ops[op as usize];
        entry.bill = entry.bill & !WAITS_FOR_DIE | OWES_DIE;
        if Self::TOLD {
            self.flash.latencies.tell_wait(op, entry.since, now, plane);
        }
        if blocked {
            self.block_by_gc(op);
        }
    }

    /// Copies the counters of the channel for a begun operation that waits for it from now on.
    #[inline(always)]
    pub(super) fn open_channel_wait(&mut self, op: u32, channel: usize) {
        let now = self.flash.now;
        let entry = &mut self.flash.ops[op as usize];
        entry.since = now;
        if !entry.is_billed() {
            return;
        }
        if entry.bill & OWES_CHANNEL != 0 {
            self.pay(op);
        }
        self.flash.latencies.open_channel_wait(op, &self.flash.channels[channel], now);
    }

    /// Ends the wait of a begun operation for its channel.
    #[inline]
    pub(super) fn end_channel_wait(&mut self, op: u32, die: DieIx, channel: usize) {
        let now = self.flash.now;
        let entry = &mut self.flash.ops[op as usize];
        if now > entry.since && entry.is_billed() {
            let channel = &self.flash.channels[channel];
            let held = self.flash.latencies.end_channel_wait(op, channel, now);
            entry.bill |= OWES_CHANNEL;
            if Self::TOLD {
                self.flash.latencies.tell_channel_wait(op, entry.since, now);
            }
            if held && channel.held_by != die {
                self.block_by_gc(op);
            }
        }
    }

    /// Puts the waits of an operation that are over into its blame.
    pub(crate) fn pay(&mut self, op: u32) {
        let entry = &mut self.flash.ops[op as usize];
        let owed = Owed { die: entry.bill & OWES_DIE != 0, channel: entry.bill & OWES_CHANNEL != 0 };
        self.flash.latencies.pay(op, owed, entry.plane, Self::TOLD);
        entry.bill &= !(OWES_DIE | OWES_CHANNEL);
    }

    /// Brings the counters of a die up to now.
    #[inline(always)]
    pub(crate) fn settle_die(&mut self, die: DieIx) {
        let now = self.flash.now;
        let state = &mut self.flash.dies[die as usize];
        let elapsed = state.unsettled(now);
        state.busy_ns[state.occupant as usize] += elapsed;
        let since = std::mem::replace(&mut state.since, now);
        if Self::TOLD && elapsed > 0 {
            self.tell_run(die, since);
        }
    }

    /// Notes that work waits at a die that runs nothing, so that the time is billed to what it waits for.
    #[inline(always)]
    pub(super) fn mark_blocked(&mut self, die: DieIx) {
        let state = &self.flash.dies[die as usize];
        if state.running == NONE && !state.blocked {
            self.block(die);
        }
    }

    #[inline(never)]
    fn block(&mut self, die: DieIx) {
        let now = self.flash.now;
        let state = &mut self.flash.dies[die as usize];
        state.blocked = true;
        let channel = &self.flash.channels[state.channel as usize];
        for plane in self.flash.planes_of(die) {
            self.flash.planes[plane].begin_to_wait(channel, now);
        }
    }

    /// A die that is about to run something waits no more.
    #[inline(always)]
    pub(super) fn mark_running(&mut self, die: DieIx) {
        if self.flash.dies[die as usize].blocked {
            self.unblock(die);
        }
    }

    #[inline(never)]
    fn unblock(&mut self, die: DieIx) {
        let now = self.flash.now;
        let state = &mut self.flash.dies[die as usize];
        state.blocked = false;
        let channel = &self.flash.channels[state.channel as usize];
        for plane in self.flash.planes_of(die) {
            self.flash.planes[plane].end_to_wait(channel, now);
        }
    }

    /// Notes whether a GC holds a plane from now on.
    pub(crate) fn set_held(&mut self, plane: PlaneIx, held: bool) {
        let now = self.flash.now;
        let lines = &mut self.flash.planes[plane as usize];
        if held == lines.held {
            return;
        }
        let die = &self.flash.dies[lines.die as usize];
        if !die.blocked {
            return lines.set_held(held, now);
        }
        let channel = &self.flash.channels[die.channel as usize];
        lines.end_to_wait(channel, now);
        lines.set_held(held, now);
        lines.begin_to_wait(channel, now);
    }

    /// Adds an operation's waits and its own phases to its blame. What is left of its time on the die went to its mates.
    #[inline(always)]
    pub(crate) fn bill_service(&mut self, op: u32) {
        if Self::TOLD {
            self.tell_service(op);
        }
        self.pay(op);
        let entry = self.flash.ops[op as usize];
        // If the page was given up while the read waited, there is nothing to read.
        if matches!(entry.kind, OpKind::Copyback | OpKind::Erase) || (entry.kind == OpKind::Read && entry.ppn == NONE) {
            return;
        }
        let Times { command, array, transfer } = self.times(&entry);
        let blame = self.flash.latencies.blame_mut(op);
        blame.add(COMMAND, command);
        blame.add(ARRAY, array);
        blame.add(TRANSFER, transfer);
        if let Some(rest) = entry.rest {
            let elapsed = self.flash.now - entry.born;
            let total = blame.total();
            assert!(total <= elapsed, "an operation's parts exceed its time: {total} > {elapsed}");
            blame.add(DIE + rest as usize, elapsed - total);
        }
    }
}
