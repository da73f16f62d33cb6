//! When operations begin and end to wait, and what goes on at dies and channels meanwhile. What their latency is attributed to
//! follows from that in [`attribution`](crate::flash::attribution).

use crate::attribution::parts::{ARRAY, COMMAND, DIE, TRANSFER};
use crate::attribution::trail::Passing;
use crate::flash::attribution::{Latencies, Place};
use crate::flash::op::{Class, OpKind};
use crate::flash::upper::{Served, Traces, Upper};
use crate::flash::{Engine, Flash, Times};
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::units::Ns;

impl Flash {
    /// What the latencies of operations are attributed to, and where one waits for a die.
    #[inline(always)]
    fn place_of(&mut self, op: u32, die: DieIx) -> (&mut Latencies, Place<'_>) {
        let (die, now) = (&self.dies[die as usize], self.now);
        let channel = &mut self.channels[die.channel as usize];
        channel.settle(now);
        let queues = &self.planes[self.ops[op as usize].plane as usize];
        (&mut self.latencies, Place { queues, die, channel, used: self.used, now })
    }
}

impl<U> Engine<U>
where
    Self: Upper,
{
    /// Copies the counters for an operation that did not start at once, if its latency is attributed.
    #[inline(always)]
    pub(crate) fn note_wait(&mut self, op: u32) {
        let entry = &self.flash.ops[op as usize];
        // A started operation has left its line: the tail is it, or it links to a later one, only while it waits.
        if entry.is_attributed() & (entry.target == NONE) && self.is_queued(op) {
            self.open_wait(op);
        }
    }

    /// Copies the counters of what an operation waits for from now on.
    #[inline(never)]
    pub(super) fn open_wait(&mut self, op: u32) {
        let die = self.flash.die_of(self.flash.ops[op as usize].plane);
        self.flash.used.dies |= 1 << self.flash.dies[die as usize].traffic as u32;
        let (latencies, place) = self.flash.place_of(op, die);
        latencies.open_wait(op, place);
    }

    /// The latencies of the operations of a class that wait for a plane, or for an erased page there, are attributed from now on.
    pub(crate) fn attribute_from_now(&mut self, plane: PlaneIx, class: Class) {
        let queues = &self.flash.planes[plane as usize];
        let (mut op, mut blocked) = (queues.lines[class as usize].head, queues.space_blocked.head);
        while op != NONE {
            if !self.flash.ops[op as usize].is_attributed() {
                self.flash.ops[op as usize].attribute_from(self.flash.now);
                self.open_wait(op);
            }
            op = self.flash.ops[op as usize].next;
        }
        while blocked != NONE {
            let entry = &mut self.flash.ops[blocked as usize];
            if entry.class == class {
                entry.attribute_from(self.flash.now);
            }
            blocked = entry.next;
        }
    }

    /// Whether an operation that just entered its queue is still there. It entered at the tail; what has entered since comes after.
    #[inline(always)]
    fn is_queued(&self, op: u32) -> bool {
        let entry = &self.flash.ops[op as usize];
        (self.flash.planes[entry.plane as usize].lines[entry.class as usize].tail == op) | (entry.next != NONE)
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
        let plane = self.flash.ops[op as usize].plane;
        let die = self.flash.die_of(plane);
        self.settle_die(die);
        let (latencies, place) = self.flash.place_of(op, die);
        let blocked = latencies.end_wait(op, place);
        if Self::TRACED {
            let (since, now) = (self.flash.ops[op as usize].since, self.flash.now);
            self.flash.latencies.attributions[op as usize].trace(since, now, plane, Passing::InQueue(plane));
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
        if entry.is_attributed() {
            let channel = &mut self.flash.channels[channel];
            channel.settle(now);
            self.flash.latencies.open_channel_wait(op, channel, self.flash.used, now);
        }
    }

    /// Ends the wait of a begun operation for its channel.
    #[inline]
    pub(super) fn end_channel_wait(&mut self, op: u32, die: DieIx, channel: usize) {
        let now = self.flash.now;
        let entry = &self.flash.ops[op as usize];
        if now > entry.since && entry.is_attributed() {
            let channel = &mut self.flash.channels[channel];
            channel.settle(now);
            let locked = self.flash.latencies.end_channel_wait(op, channel, self.flash.used, now);
            if Self::TRACED {
                self.flash.latencies.attributions[op as usize].trace(entry.since, now, entry.plane, Passing::ForChannel(entry.plane));
            }
            if locked && channel.locked_by != die {
                self.note_gc_blocked(op);
            }
        }
    }

    /// Brings the counters of a die up to now.
    #[inline(always)]
    pub(crate) fn settle_die(&mut self, die: DieIx) {
        let now = self.flash.now;
        let state = &mut self.flash.dies[die as usize];
        let elapsed = state.unsettled(now);
        state.busy_ns[state.traffic as usize] += elapsed;
        self.flash.used.dies |= 1 << state.traffic as u32;
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
            self.set_blocked::<true>(die);
        }
    }

    /// A die that is about to run something waits no more.
    #[inline(always)]
    pub(super) fn mark_running(&mut self, die: DieIx) {
        if self.flash.dies[die as usize].blocked {
            self.set_blocked::<false>(die);
        }
    }

    #[inline(never)]
    fn set_blocked<const BLOCKED: bool>(&mut self, die: DieIx) {
        let (planes, used, now) = (self.planes_of(die), self.flash.used, self.flash.now);
        let state = &mut self.flash.dies[die as usize];
        state.blocked = BLOCKED;
        let channel = &mut self.flash.channels[state.channel as usize];
        channel.settle(now);
        let planes = &mut self.flash.planes[planes.start as usize..planes.end as usize];
        planes.iter_mut().for_each(|plane| plane.set_waiting::<BLOCKED>(channel, used, now));
    }

    /// Notes whether a GC locks a plane from now on.
    pub(crate) fn set_locked(&mut self, plane: PlaneIx, locked: bool) {
        let (now, used, die) = (self.flash.now, self.flash.used, self.flash.die_of(plane));
        let queues = &mut self.flash.planes[plane as usize];
        if locked == queues.locked {
            return;
        }
        let die = &self.flash.dies[die as usize];
        if !die.blocked {
            return queues.set_locked(locked, now);
        }
        let channel = &mut self.flash.channels[die.channel as usize];
        channel.settle(now);
        queues.set_waiting::<false>(channel, used, now);
        queues.set_locked(locked, now);
        queues.set_waiting::<true>(channel, used, now);
    }

    /// Adds an operation's own phases to its attribution. What is left of its time on the die went to its partners.
    #[inline(always)]
    pub(crate) fn attribute_service(&mut self, op: u32) {
        if Self::TRACED {
            self.trace_service(op);
        }
        let entry = self.flash.ops[op as usize];
        // If the page was given up while the read waited, there is nothing to read.
        if matches!(entry.kind, OpKind::Copyback | OpKind::Erase) || (entry.kind == OpKind::Read && entry.ppn == NONE) {
            return;
        }
        let Times { command, array, transfer } = self.times(&entry);
        let attribution = &mut self.flash.latencies.attributions[op as usize];
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

    /// The trail of an operation that is done: its own phases, of which the first began when it was issued. What its partners or a
    /// suspension took of its time is the rest.
    #[inline(never)]
    fn trace_service(&mut self, op: u32) {
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

    /// Notes that a GC has made an operation wait until now.
    #[inline(never)]
    pub(crate) fn note_gc_blocked(&mut self, op: u32) {
        self.flash.ops[op as usize].gc_blocked = true;
        self.delayed_by_gc(op);
        for index in 0..self.flash.merged.len() {
            let (lead, merged) = self.flash.merged[index];
            if lead == op {
                self.note_gc_blocked(merged);
            }
        }
    }
}
