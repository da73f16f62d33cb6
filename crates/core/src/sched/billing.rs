//! Blame: who waited for what, from counters that every die, plane and channel keeps.
//!
//! Nothing is recorded while time passes. An operation that waits copies the counters; when it is issued, the copy becomes
//! what they have grown by, without a look at it. Of the many pages of a request only the last one explains its latency, so
//! it is only there that these waits are put into the blame.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::observe::{ARRAY, Blame, CHANNEL, COMMAND, DIE, Observer, Occupant, TRANSFER};
use crate::sched::Times;
use crate::sched::ops::{OWES_CHANNEL, OWES_DIE, OpKind, WAITS_FOR_DIE};
use crate::story::Passing;
use crate::units::Ns;

/// Turns counters of the past into what they have grown by since.
#[inline(always)]
fn grow_since<const N: usize>(then: &mut [Ns; N], now: &[Ns; N]) {
    for (then, now) in then.iter_mut().zip(now) {
        *then = now.wrapping_sub(*then);
    }
}

/// Adds waits to the parts of a blame from `first` on. Few of them are not zero.
#[inline(always)]
fn add_waits<const N: usize>(blame: &mut Blame, first: usize, waits: &[Ns; N]) {
    let mut rest = waits.iter().enumerate().fold(0u32, |mask, (index, &ns)| mask | u32::from(ns != 0) << index);
    while rest != 0 {
        let index = rest.trailing_zeros() as usize;
        blame.add(first + index, waits[index]);
        rest &= rest - 1;
    }
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Copies the counters for an operation that did not start at once, if somebody will ask for its blame.
    #[inline(always)]
    pub(crate) fn note_wait(&mut self, op: u32) {
        let entry = &self.state.ops[op as usize];
        // A started operation has left its line: the tail is it, or it links to a later one, only while it waits.
        if entry.is_billed() && entry.target == NONE && self.is_in_line(op) {
            self.open_wait(op);
        }
    }

    /// Copies the counters of what an operation waits for from now on.
    #[inline(never)]
    pub(super) fn open_wait(&mut self, op: u32) {
        if self.state.ops[op as usize].bill & (OWES_DIE | OWES_CHANNEL) != 0 {
            self.pay(op);
        }
        let now = self.state.now;
        let entry = &mut self.state.ops[op as usize];
        entry.bill |= WAITS_FOR_DIE;
        let plane = entry.plane;
        let die = self.state.die_of(plane);
        let gc_held = self.gc_held_ns(plane, die);
        let die = &self.state.dies[die as usize];
        let channel = &self.state.channels[die.channel as usize];
        let lines = &self.state.planes[plane as usize];
        let waits = &mut self.state.waits[op as usize];
        waits.die = die.busy_ns;
        waits.die[die.occupant as usize] += die.unsettled(now);
        waits.held = lines.waited_held_ns(die.blocked, now);
        lines.waited_by(die.blocked, channel, now, &mut waits.other, |_, now| now);
        waits.gc_held = gc_held;
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

    /// Ends the wait of an operation, and counts from now.
    #[inline(always)]
    pub(crate) fn bill_wait(&mut self, op: u32) {
        let now = self.state.now;
        let entry = &self.state.ops[op as usize];
        if now > entry.since {
            if entry.is_billed() {
                self.end_wait(op);
            }
            self.state.ops[op as usize].since = now;
        }
    }

    #[inline(never)]
    fn end_wait(&mut self, op: u32) {
        let now = self.state.now;
        let entry = &self.state.ops[op as usize];
        crate::check!(entry.bill & WAITS_FOR_DIE != 0, "a wait of which nothing was noted");
        let plane = entry.plane;
        let die = self.state.die_of(plane);
        if O::TOLD {
            // What goes on there is heard of up to now.
            self.settle_die(die);
        }
        let gc_held = self.gc_held_ns(plane, die);
        let die = &self.state.dies[die as usize];
        let channel = &self.state.channels[die.channel as usize];
        let lines = &self.state.planes[plane as usize];
        let waits = &mut self.state.waits[op as usize];
        grow_since(&mut waits.die, &die.busy_ns);
        let running = &mut waits.die[die.occupant as usize];
        *running = running.wrapping_add(die.unsettled(now));
        waits.held = lines.waited_held_ns(die.blocked, now).wrapping_sub(waits.held);
        lines.waited_by(die.blocked, channel, now, &mut waits.other, |then, now| now.wrapping_sub(then));
        let by_gc = waits.die[Occupant::GcRead as usize] | waits.die[Occupant::GcProgram as usize] | waits.die[Occupant::Erase as usize];
        let blocked = by_gc != 0 || gc_held != waits.gc_held;
        let entry = &mut self.state.ops[op as usize];
        entry.bill = entry.bill & !WAITS_FOR_DIE | OWES_DIE;
        if O::TOLD {
            waits.die_span = (entry.since, now, plane);
        }
        if blocked {
            self.block_by_gc(op);
        }
    }

    /// Copies the counters of the channel for a begun operation that waits for it from now on.
    #[inline(always)]
    pub(super) fn open_channel_wait(&mut self, op: u32, channel: usize) {
        let now = self.state.now;
        let entry = &mut self.state.ops[op as usize];
        entry.since = now;
        if !entry.is_billed() {
            return;
        }
        if entry.bill & OWES_CHANNEL != 0 {
            self.pay(op);
        }
        let channel = &self.state.channels[channel];
        let waits = &mut self.state.waits[op as usize];
        waits.channel = channel.category_ns;
        channel.add_unsettled(&mut waits.channel, now);
        waits.channel_gc_held = channel.gc_held_ns(now);
    }

    /// Ends the wait of a begun operation for its channel.
    #[inline]
    pub(super) fn end_channel_wait(&mut self, op: u32, die: DieIx, channel: usize) {
        let now = self.state.now;
        let entry = &mut self.state.ops[op as usize];
        if now > entry.since && entry.is_billed() {
            let channel = &self.state.channels[channel];
            let waits = &mut self.state.waits[op as usize];
            grow_since(&mut waits.channel, &channel.category_ns);
            channel.add_unsettled(&mut waits.channel, now);
            let held = channel.gc_held_ns(now) != waits.channel_gc_held;
            entry.bill |= OWES_CHANNEL;
            if O::TOLD {
                waits.channel_span = (entry.since, now);
            }
            if held && channel.held_by != die {
                self.block_by_gc(op);
            }
        }
    }

    /// Puts the waits of an operation that are over into its blame.
    pub(crate) fn pay(&mut self, op: u32) {
        let entry = &mut self.state.ops[op as usize];
        let blame = &mut self.state.blames[op as usize];
        let waits = &self.state.waits[op as usize];
        if entry.bill & OWES_DIE != 0 {
            add_waits(blame, DIE, &waits.die);
            add_waits(blame, CHANNEL, &waits.other);
            blame.add(DIE + Occupant::GcHold as usize, waits.held);
        }
        if entry.bill & OWES_CHANNEL != 0 {
            add_waits(blame, CHANNEL, &waits.channel);
        }
        if O::TOLD {
            if entry.bill & OWES_DIE != 0 {
                let (from, to, plane) = waits.die_span;
                blame.tell(from, to, plane, Passing::InLine(plane));
            }
            if entry.bill & OWES_CHANNEL != 0 {
                blame.tell(waits.channel_span.0, waits.channel_span.1, entry.plane, Passing::ForChannel(entry.plane));
            }
        }
        entry.bill &= !(OWES_DIE | OWES_CHANNEL);
    }

    /// Brings the counters of a die up to now.
    #[inline(always)]
    pub(crate) fn settle_die(&mut self, die: DieIx) {
        let now = self.state.now;
        let state = &mut self.state.dies[die as usize];
        let elapsed = state.unsettled(now);
        state.busy_ns[state.occupant as usize] += elapsed;
        let since = std::mem::replace(&mut state.since, now);
        if O::TOLD && elapsed > 0 {
            self.tell_run(die, since);
        }
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
        let now = self.state.now;
        let state = &mut self.state.dies[die as usize];
        state.blocked = true;
        let channel = &self.state.channels[state.channel as usize];
        for plane in self.state.planes_of(die) {
            self.state.planes[plane].begin_to_wait(channel, now);
        }
    }

    /// A die that is about to run something waits no more.
    #[inline(always)]
    pub(super) fn mark_running(&mut self, die: DieIx) {
        if self.state.dies[die as usize].blocked {
            self.unblock(die);
        }
    }

    #[inline(never)]
    fn unblock(&mut self, die: DieIx) {
        let now = self.state.now;
        let state = &mut self.state.dies[die as usize];
        state.blocked = false;
        let channel = &self.state.channels[state.channel as usize];
        for plane in self.state.planes_of(die) {
            self.state.planes[plane].end_to_wait(channel, now);
        }
    }

    /// Notes whether a GC holds a plane from now on.
    pub(crate) fn set_held(&mut self, plane: PlaneIx, held: bool) {
        let now = self.state.now;
        if O::TOLD {
            self.tell_hold(plane);
        }
        let lines = &mut self.state.planes[plane as usize];
        if held == lines.held {
            return;
        }
        let die = &self.state.dies[lines.die as usize];
        if !die.blocked {
            return lines.set_held(held, now);
        }
        let channel = &self.state.channels[die.channel as usize];
        lines.end_to_wait(channel, now);
        lines.set_held(held, now);
        lines.begin_to_wait(channel, now);
    }

    /// Adds an operation's waits and its own phases to its blame. What is left of its time on the die went to its mates.
    #[inline(always)]
    pub(crate) fn bill_service(&mut self, op: u32) {
        if O::TOLD {
            self.tell_service(op);
        }
        self.pay(op);
        let entry = self.state.ops[op as usize];
        // If the page was given up while the read waited, there is nothing to read.
        if matches!(entry.kind, OpKind::Copyback | OpKind::Erase) || (entry.kind == OpKind::Read && entry.ppn == NONE) {
            return;
        }
        let Times { command, array, transfer } = self.times(&entry);
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
