//! Channels: their queues, who is served when one comes free, and the phases that go over it.

use crate::attribution::parts::{TrafficClass, bits};
use crate::attribution::trail::Use;
use crate::flash::Engine;
use crate::flash::ask::Candidate;
use crate::flash::bus::{Queued, Wants};
use crate::flash::die::Phase;
use crate::flash::op::{Class, LOCK_BITS, Op};
use crate::flash::upper::{Background, Locks, Traces, Upper};
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::units::Ns;

impl<U> Engine<U>
where
    Self: Upper,
{
    /// Whether a die may use a channel now: free, nobody before it, not locked by another.
    #[inline]
    pub(crate) fn channel_free(&self, channel: usize, die: DieIx) -> bool {
        let channel = &self.flash.channels[channel];
        let open = (channel.locked_by == NONE) & channel.queue.is_empty();
        // One branch, not four that can't be foreseen.
        (channel.busy_until <= self.flash.now) & (open | (channel.locked_by == die))
    }

    /// Occupies a channel from now; its release is an event only if its queue is not empty.
    #[inline]
    pub(super) fn use_channel(&mut self, index: usize, ns: Ns, traffic: TrafficClass, plane: PlaneIx) {
        self.occupy_channel(index, ns, traffic, plane, false);
        if !self.flash.channels[index].queue.is_empty() {
            self.queue.schedule(self.channel_slot(index), self.flash.now + ns);
        }
    }

    #[inline(always)]
    fn occupy_channel(&mut self, index: usize, ns: Ns, traffic: TrafficClass, plane: PlaneIx, released_by_die: bool) {
        self.flash.used.channels |= 1 << traffic as u32;
        let channel = &mut self.flash.channels[index];
        channel.occupy(self.flash.now, ns, traffic as usize);
        channel.released_by_die = released_by_die;
        if Self::TRACED {
            let from = self.flash.now;
            self.trace_use(&Use { from, to: from + ns, channel: index as u32, traffic, plane });
        }
    }

    fn channel_slot(&self, channel: usize) -> usize {
        self.flash.dies.len() + channel
    }

    /// A die waits in the queue of a channel, which is its own but for claims.
    pub(crate) fn enqueue_for_channel(&mut self, channel: usize, die: DieIx, wants: Wants) {
        let arrival = self.flash.next_arrival();
        let queue = &mut self.flash.channels[channel].queue;
        queue.push(Queued { die, wants, arrival });
        if queue.len() == 1 {
            self.await_channel(channel);
        }
    }

    /// The end of what a channel carries is an event, if that is not one of the die. Returns whether it carries anything.
    #[inline(always)]
    fn await_channel(&mut self, channel: usize) -> bool {
        let state = &self.flash.channels[channel];
        let until = state.busy_until;
        let carries = until > self.flash.now;
        if carries && !state.released_by_die {
            self.queue.schedule(self.channel_slot(channel), until);
        }
        carries
    }

    /// A die waits in the queue of its channel to start something.
    #[inline(always)]
    pub(super) fn enqueue_to_start(&mut self, channel: usize, die: DieIx) {
        self.mark_blocked(die);
        if !std::mem::replace(&mut self.flash.dies[die as usize].queued, true) {
            self.enqueue_for_channel(channel, die, Wants::Start);
        }
    }

    /// The dies of a channel that was closed to them are enqueued, oldest work first.
    pub(crate) fn enqueue_dies(&mut self, channel: usize) {
        let mut dies = std::mem::take(&mut self.flash.lining_up);
        dies.clear();
        for die in self.dies_on(channel) {
            let state = &self.flash.dies[die as usize];
            let startable = state.open_work() & !LOCK_BITS;
            if state.running == NONE && startable != 0 && !state.queued && state.suspended == NONE {
                let oldest = bits(startable).map(|bit| self.candidate(die, bit).arrival).min();
                dies.push((oldest.unwrap_or(0), die));
            }
        }
        dies.sort_unstable();
        dies.iter().for_each(|&(_, die)| self.enqueue_to_start(channel, die));
        self.flash.lining_up = dies;
        for die in self.dies_on(channel) {
            let state = &self.flash.dies[die as usize];
            // A lock request needs no channel, so it is not enqueued; and reads that the lock masked may now be
            // worth a suspension.
            if state.suspended != NONE || state.open_work() & LOCK_BITS != 0 {
                self.try_start(die);
            } else if state.running != NONE {
                self.consider_suspension(die);
            }
        }
    }

    /// A channel came free: it serves its queue until it is busy again.
    #[inline(always)]
    pub(crate) fn serve_channel(&mut self, channel: usize) {
        if !self.flash.channels[channel].queue.is_empty() {
            self.serve_line(channel);
        }
    }

    fn serve_line(&mut self, channel: usize) {
        loop {
            if self.flash.channels[channel].queue.is_empty() || self.await_channel(channel) {
                return;
            }
            let Some(index) = self.choose_at_channel(channel) else { return };
            let queue = &mut self.flash.channels[channel].queue;
            let served = if queue.len() == 1 { queue.pop().expect("one entry") } else { queue.remove(index) };
            match served.wants {
                Wants::Start => {
                    self.flash.dies[served.die as usize].queued = false;
                    self.start_granted(channel, served.die);
                }
                Wants::Continue => self.continue_on_channel(served.die),
                Wants::Empty => self.empty_register(served.die),
                Wants::Claim(plane) => self.grant_channel(channel, plane),
            }
        }
    }

    /// Which one of the queue is served: the one that `order` prefers of those that a lock lets in.
    fn choose_at_channel(&mut self, channel: usize) -> Option<usize> {
        let locked_by = self.flash.channels[channel].locked_by;
        if locked_by == NONE && self.flash.channels[channel].queue.len() == 1 {
            // One candidate is no decision. A die whose work was masked meanwhile starts nothing and leaves the queue.
            return Some(0);
        }
        let mut candidates = std::mem::take(&mut self.flash.line_candidates);
        let mut places = std::mem::take(&mut self.flash.line_places);
        candidates.clear();
        places.clear();
        let mut index = 0;
        while let Some(&entry) = self.flash.channels[channel].queue.get(index) {
            let candidate = match entry.wants {
                Wants::Start => {
                    let die = &self.flash.dies[entry.die as usize];
                    let startable = if die.running == NONE { die.open_work() & !LOCK_BITS } else { 0 };
                    if startable == 0 {
                        // What it waited for was masked meanwhile; it is enqueued again when that ends.
                        self.flash.channels[channel].queue.remove(index);
                        self.flash.dies[entry.die as usize].queued = false;
                        continue;
                    }
                    // What the die would start now stands for it; it chooses again when it is served.
                    let overtakes = self.flash.counters.overtakes;
                    let bit = self.choose_at_die(entry.die, startable);
                    self.flash.counters.overtakes = overtakes;
                    Candidate { arrival: entry.arrival, ..self.candidate(entry.die, bit) }
                }
                Wants::Continue => {
                    let die = &self.flash.dies[entry.die as usize];
                    let op = &self.flash.ops[die.running as usize];
                    self.queued_candidate(self.class_in_order(op), op.plane, entry.arrival, die.phase == Phase::TransferOut)
                }
                Wants::Empty => {
                    let op = &self.flash.ops[self.flash.registers[entry.die as usize].waiting.head as usize];
                    self.queued_candidate(self.class_in_order(op), op.plane, entry.arrival, true)
                }
                Wants::Claim(plane) => self.queued_candidate(Class::Lock, plane, entry.arrival, false),
            };
            let claims = matches!(entry.wants, Wants::Claim(_));
            if locked_by == NONE || (locked_by == entry.die && (!claims || self.flash.traits.assembles_gc)) {
                candidates.push(candidate);
                places.push(index);
            }
            index += 1;
        }
        let chosen = match candidates.len() {
            0 => None,
            1 => Some(places[0]),
            _ => Some(places[self.prefer_at_channel(&candidates)]),
        };
        self.flash.line_candidates = candidates;
        self.flash.line_places = places;
        chosen
    }

    /// The class of begun work, as `order` sees it.
    fn class_in_order(&self, op: &Op) -> Class {
        if self.background_is_overdue() && op.owner.can_be_overdue() { op.class_when_overdue() } else { op.class }
    }

    /// Begun work that waits for the channel, as `order` sees it.
    fn queued_candidate(&self, class: Class, plane: PlaneIx, arrival: u64, data: bool) -> Candidate {
        Candidate { class, plane, arrival, urgent: self.flash.planes[plane as usize].urgent, continues: true, data }
    }

    /// A die that waited in the queue may start what it prefers now.
    fn start_granted(&mut self, channel: usize, die: DieIx) {
        loop {
            let state = &self.flash.dies[die as usize];
            if state.running != NONE {
                return;
            }
            if self.flash.channels[channel].busy_until > self.flash.now {
                // What it began turned out to need nothing here, or to belong to another die, and the channel is taken.
                return self.try_start(die);
            }
            let Some(startable) = self.startable(die) else { return self.resume(die) };
            if startable == 0 {
                if self.flash.traits.late_bound {
                    // A step of GC came to nothing, for which the die had left pages to others.
                    self.try_start(die);
                }
                return;
            }
            if self.start_one(die, startable) {
                return;
            }
        }
    }

    /// The running operation of a die needs its channel for the next phase.
    pub(super) fn claim_channel(&mut self, die: DieIx, phase: Phase) {
        let state = &mut self.flash.dies[die as usize];
        state.phase = phase;
        let channel = state.channel as usize;
        let op = state.part;
        if self.flash.free != 0 && self.is_next_phase_free(phase, op) {
            return self.go_on_for_free(die, phase);
        }
        if self.channel_free(channel, die) {
            return self.go_on_channel(die, channel, op);
        }
        self.open_channel_wait(op, channel);
        self.enqueue_for_channel(channel, die, Wants::Continue);
    }

    /// Whether what an operation needs the channel for takes no time.
    #[cold]
    fn is_next_phase_free(&self, phase: Phase, op: u32) -> bool {
        let traffic = if phase == Phase::CopybackRead { TrafficClass::GcProgram } else { self.flash.ops[op as usize].traffic };
        self.is_free(traffic)
    }

    /// The next phase of a die's running operation takes no time and needs no channel, or the die would be busy with waiting
    /// for it.
    #[cold]
    fn go_on_for_free(&mut self, die: DieIx, phase: Phase) {
        if phase != Phase::CopybackRead {
            return self.queue.schedule(die as usize, self.flash.now);
        }
        self.program_copy(die, 0, 0);
        self.update_locked_category(die);
    }

    /// A copyback goes on with its program, behind so much time of the channel.
    #[inline]
    fn program_copy(&mut self, die: DieIx, command: Ns, array: Ns) {
        self.settle_die(die);
        let begins = self.flash.now + command;
        let state = &mut self.flash.dies[die as usize];
        state.phase = Phase::ArrayProgram;
        state.traffic = TrafficClass::GcProgram;
        if !state.is_suspended() {
            state.progress.start(begins, array, self.flash.device.timing.program_step_ns(array));
        }
        self.queue.schedule(die as usize, begins + array);
        if self.flash.traits.suspends {
            self.operation_begins(die);
        }
    }

    /// The channel serves the running operation of a die.
    fn continue_on_channel(&mut self, die: DieIx) {
        let part = self.flash.dies[die as usize].part;
        let channel = self.flash.channel_of(die);
        self.end_channel_wait(part, die, channel);
        self.go_on_channel(die, channel, part);
    }

    /// The running operation of a die goes over its channel, which is free.
    fn go_on_channel(&mut self, die: DieIx, channel: usize, part: u32) {
        if self.flash.dies[die as usize].phase != Phase::CopybackRead {
            return self.transfer_by(die as usize, channel, part);
        }
        let Op { plane, target, .. } = self.flash.ops[part as usize];
        let command = self.flash.device.timing.command_ns;
        self.program_copy(die, command, self.program_ns(target));
        self.use_channel(channel, command, TrafficClass::GcProgram, plane);
        self.update_locked_category(die);
    }

    /// A page crosses a channel. The event at its end, which is not the channel's own, releases the channel as well.
    #[inline]
    pub(super) fn transfer_by(&mut self, slot: usize, channel: usize, part: u32) {
        let now = self.flash.now;
        let entry = &self.flash.ops[part as usize];
        let (transfer, traffic, plane) = (self.times(entry).transfer, entry.traffic, entry.plane);
        self.queue.schedule(slot, now + transfer);
        self.occupy_channel(channel, transfer, traffic, plane, true);
    }
}
