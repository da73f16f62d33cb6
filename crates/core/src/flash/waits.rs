//! When operations begin and end to wait, and what goes on at dies and channels meanwhile. What their latency is attributed to
//! follows from that in [`attribution`](crate::flash::attribution).

use crate::attribution::parts::{ARRAY, COMMAND, DIE, TRANSFER};
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::Times;
use crate::flash::attribution::{EndedWaits, Place};
use crate::flash::op::{CHANNEL_WAIT_OVER, DIE_WAIT_OVER, OpKind, WAITS_FOR_DIE};
use crate::flash::upper::{Traces, Upper};
use crate::ids::{DieIx, NONE, PlaneIx};

impl<Q: EventQueue, U> Engine<Q, U>
where
    Self: Upper,
{
    /// Copies the counters for an operation that did not start at once, if its latency is attributed.
    #[inline(always)]
    pub(crate) fn note_wait(&mut self, op: u32) {
        let entry = &self.flash.ops[op as usize];
        // A started operation has left its line: the tail is it, or it links to a later one, only while it waits.
        if entry.is_attributed() && entry.target == NONE && self.is_queued(op) {
            self.open_wait(op);
        }
    }

    /// Copies the counters of what an operation waits for from now on.
    #[inline(never)]
    pub(super) fn open_wait(&mut self, op: u32) {
        if self.flash.ops[op as usize].flags & (DIE_WAIT_OVER | CHANNEL_WAIT_OVER) != 0 {
            self.attribute_waits(op);
        }
        let now = self.flash.now;
        let entry = &mut self.flash.ops[op as usize];
        entry.flags |= WAITS_FOR_DIE;
        // The fields one by one, since the place borrows the others.
        let queues = &self.flash.planes[entry.plane as usize];
        let die = &self.flash.dies[queues.die as usize];
        let place = Place { queues, die, channel: &self.flash.channels[die.channel as usize] };
        self.flash.latencies.open_wait(op, place, now);
    }

    /// Whether an operation that just entered its queue is still there. It entered at the tail; what has entered since comes after.
    #[inline(always)]
    fn is_queued(&self, op: u32) -> bool {
        let entry = &self.flash.ops[op as usize];
        self.flash.planes[entry.plane as usize].tail[entry.class as usize] == op || entry.next != NONE
    }

    /// Ends the wait of an operation, and counts from now.
    #[inline(always)]
    pub(crate) fn attribute_wait(&mut self, op: u32) {
        let now = self.flash.now;
        let entry = &self.flash.ops[op as usize];
        if now > entry.since {
            if entry.is_attributed() {
                self.end_wait(op);
            }
            self.flash.ops[op as usize].since = now;
        }
    }

    #[inline(never)]
    fn end_wait(&mut self, op: u32) {
        let now = self.flash.now;
        let entry = &self.flash.ops[op as usize];
        crate::check!(entry.flags & WAITS_FOR_DIE != 0, "a wait of which nothing was noted");
        let plane = entry.plane;
        let die = self.flash.die_of(plane);
        if Self::TRACED {
            // What goes on there is known up to now.
            self.settle_die(die);
        }
        let queues = &self.flash.planes[plane as usize];
        let die = &self.flash.dies[die as usize];
        let place = Place { queues, die, channel: &self.flash.channels[die.channel as usize] };
        let blocked = self.flash.latencies.end_wait(op, place, now);
        let entry = &mut self.flash.ops[op as usize];
        entry.flags = entry.flags & !WAITS_FOR_DIE | DIE_WAIT_OVER;
        if Self::TRACED {
            self.flash.latencies.trace_wait(op, entry.since, now, plane);
        }
        if blocked {
            self.note_gc_blocked(op);
        }
    }

    /// Copies the counters of the channel for a begun operation that waits for it from now on.
    #[inline(always)]
    pub(super) fn open_channel_wait(&mut self, op: u32, channel: usize) {
        let now = self.flash.now;
        let entry = &mut self.flash.ops[op as usize];
        entry.since = now;
        if !entry.is_attributed() {
            return;
        }
        if entry.flags & CHANNEL_WAIT_OVER != 0 {
            self.attribute_waits(op);
        }
        self.flash.latencies.open_channel_wait(op, &self.flash.channels[channel], now);
    }

    /// Ends the wait of a begun operation for its channel.
    #[inline]
    pub(super) fn end_channel_wait(&mut self, op: u32, die: DieIx, channel: usize) {
        let now = self.flash.now;
        let entry = &mut self.flash.ops[op as usize];
        if now > entry.since && entry.is_attributed() {
            let channel = &self.flash.channels[channel];
            let locked = self.flash.latencies.end_channel_wait(op, channel, now);
            entry.flags |= CHANNEL_WAIT_OVER;
            if Self::TRACED {
                self.flash.latencies.trace_channel_wait(op, entry.since, now);
            }
            if locked && channel.locked_by != die {
                self.note_gc_blocked(op);
            }
        }
    }

    /// Puts the waits of an operation that are over into its attribution.
    pub(crate) fn attribute_waits(&mut self, op: u32) {
        let entry = &mut self.flash.ops[op as usize];
        let ended = EndedWaits { die: entry.flags & DIE_WAIT_OVER != 0, channel: entry.flags & CHANNEL_WAIT_OVER != 0 };
        self.flash.latencies.attribute_waits(op, ended, entry.plane, Self::TRACED);
        entry.flags &= !(DIE_WAIT_OVER | CHANNEL_WAIT_OVER);
    }

    /// Brings the counters of a die up to now.
    #[inline(always)]
    pub(crate) fn settle_die(&mut self, die: DieIx) {
        let now = self.flash.now;
        let state = &mut self.flash.dies[die as usize];
        let elapsed = state.unsettled(now);
        state.busy_ns[state.traffic as usize] += elapsed;
        let since = std::mem::replace(&mut state.since, now);
        if Self::TRACED && elapsed > 0 {
            self.trace_run(die, since);
        }
    }

    /// Notes that work waits at a die that runs nothing, so that the time is attributed to what it waits for.
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

    /// Notes whether a GC locks a plane from now on.
    pub(crate) fn set_locked(&mut self, plane: PlaneIx, locked: bool) {
        let now = self.flash.now;
        let queues = &mut self.flash.planes[plane as usize];
        if locked == queues.locked {
            return;
        }
        let die = &self.flash.dies[queues.die as usize];
        if !die.blocked {
            return queues.set_locked(locked, now);
        }
        let channel = &self.flash.channels[die.channel as usize];
        queues.end_to_wait(channel, now);
        queues.set_locked(locked, now);
        queues.begin_to_wait(channel, now);
    }

    /// Adds an operation's waits and its own phases to its attribution. What is left of its time on the die went to its partners.
    #[inline(always)]
    pub(crate) fn attribute_service(&mut self, op: u32) {
        if Self::TRACED {
            self.trace_service(op);
        }
        self.attribute_waits(op);
        let entry = self.flash.ops[op as usize];
        // If the page was given up while the read waited, there is nothing to read.
        if matches!(entry.kind, OpKind::Copyback | OpKind::Erase) || (entry.kind == OpKind::Read && entry.ppn == NONE) {
            return;
        }
        let Times { command, array, transfer } = self.times(&entry);
        let attribution = self.flash.latencies.attribution_mut(op);
        attribution.add(COMMAND, command);
        attribution.add(ARRAY, array);
        attribution.add(TRANSFER, transfer);
        if let Some(other) = entry.other_traffic {
            let elapsed = self.flash.now - entry.born;
            let total = attribution.total();
            assert!(total <= elapsed, "an operation's parts exceed its time: {total} > {elapsed}");
            attribution.add(DIE + other as usize, elapsed - total);
        }
    }
}
