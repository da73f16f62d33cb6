//! Channels: who stands in line for one, who is served when it comes free, and the phases that go over it.

use crate::attribution::parts::Occupant;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::ask::Candidate;
use crate::flash::bus::{InLine, Wants};
use crate::flash::die::Phase;
use crate::flash::op::{Class, HOLD_BITS, Op};
use crate::flash::upper::{Background, Holds, Told, Upper};
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::units::Ns;

impl<Q: EventQueue, U> Engine<Q, U>
where
    Self: Upper,
{
    /// Whether a die may use a channel now: free, nobody before it, not held by another.
    #[inline]
    pub(crate) fn channel_free(&self, channel: usize, die: DieIx) -> bool {
        let channel = &self.flash.channels[channel];
        channel.busy_until <= self.flash.now && (channel.held_by == die || (channel.held_by == NONE && channel.line.is_empty()))
    }

    /// Occupies a channel from now; its release is an event only if somebody stands in line.
    #[inline]
    pub(super) fn use_channel(&mut self, index: usize, ns: Ns, occupant: Occupant, plane: PlaneIx) {
        let now = self.flash.now;
        let channel = &mut self.flash.channels[index];
        channel.occupy(now, ns, occupant as usize);
        channel.released_by_die = false;
        if Self::TOLD {
            self.tell_use(index, plane, ns, occupant);
        }
        let channel = &mut self.flash.channels[index];
        if !channel.line.is_empty() {
            self.queue.schedule(self.channel_slot(index), now + ns);
        }
    }

    fn channel_slot(&self, channel: usize) -> usize {
        self.flash.dies.len() + channel
    }

    pub(super) fn stand_in_line(&mut self, channel: usize, entry: InLine) {
        let slot = self.channel_slot(channel);
        let line = &mut self.flash.channels[channel];
        line.line.push(entry);
        if line.line.len() == 1 && line.busy_until > self.flash.now && !line.released_by_die {
            self.queue.schedule(slot, line.busy_until);
        }
    }

    /// A plane stands in line to hold a channel.
    pub(crate) fn stand_in_line_to_hold(&mut self, channel: usize, plane: PlaneIx) {
        let arrival = self.flash.next_arrival();
        self.stand_in_line(channel, InLine { die: self.flash.die_of(plane), wants: Wants::Claim(plane), arrival });
    }

    /// The dies of a channel that was shut to them stand in line, oldest work first.
    pub(crate) fn line_up(&mut self, channel: usize) {
        let mut dies = std::mem::take(&mut self.flash.lining_up);
        dies.clear();
        for die in self.dies_on(channel) {
            let state = &self.flash.dies[die as usize];
            let startable = state.ready & !state.closed & !HOLD_BITS;
            if state.running == NONE && startable != 0 && !state.in_line && state.parked == NONE {
                let oldest = (0..64).filter(|bit| startable >> bit & 1 == 1).map(|bit| self.candidate(die, bit).arrival).min();
                dies.push((oldest.unwrap_or(0), die));
            }
        }
        dies.sort_unstable();
        for &(_, die) in &dies {
            self.mark_blocked(die);
            self.flash.dies[die as usize].in_line = true;
            let arrival = self.flash.next_arrival();
            self.stand_in_line(channel, InLine { die, wants: Wants::Start, arrival });
        }
        self.flash.lining_up = dies;
        for die in self.dies_on(channel) {
            let state = &self.flash.dies[die as usize];
            // A request to hold needs no channel, so it does not stand in line; and reads that the hold shut out may now be
            // worth a suspension.
            if state.parked != NONE || state.ready & !state.closed & HOLD_BITS != 0 {
                self.try_start(die);
            } else if state.running != NONE {
                self.consider_suspension(die);
            }
        }
    }

    /// A channel came free: it serves those in line until it is busy again.
    #[inline(always)]
    pub(crate) fn serve_channel(&mut self, channel: usize) {
        if !self.flash.channels[channel].line.is_empty() {
            self.serve_line(channel);
        }
    }

    fn serve_line(&mut self, channel: usize) {
        loop {
            let state = &self.flash.channels[channel];
            if state.line.is_empty() {
                return;
            }
            if state.busy_until > self.flash.now {
                if !state.released_by_die {
                    let until = state.busy_until;
                    self.queue.schedule(self.channel_slot(channel), until);
                }
                return;
            }
            let Some(index) = self.choose_at_channel(channel) else { return };
            let line = &mut self.flash.channels[channel].line;
            let served = if line.len() == 1 { line.pop().expect("one entry") } else { line.remove(index) };
            match served.wants {
                Wants::Start => {
                    self.flash.dies[served.die as usize].in_line = false;
                    self.start_granted(channel, served.die);
                }
                Wants::Continue => self.continue_on_channel(served.die),
                Wants::Empty => self.empty_register(served.die),
                Wants::Claim(plane) => self.grant_channel(channel, plane),
            }
        }
    }

    /// Who of those in line is served: the one that `order` prefers of those that a hold lets in.
    fn choose_at_channel(&mut self, channel: usize) -> Option<usize> {
        let held_by = self.flash.channels[channel].held_by;
        if held_by == NONE && self.flash.channels[channel].line.len() == 1 {
            // One candidate is no decision. A die whose work was shut out meanwhile starts nothing and leaves the line.
            return Some(0);
        }
        let mut candidates = std::mem::take(&mut self.flash.line_candidates);
        let mut places = std::mem::take(&mut self.flash.line_places);
        candidates.clear();
        places.clear();
        let mut index = 0;
        while let Some(&entry) = self.flash.channels[channel].line.get(index) {
            let candidate = match entry.wants {
                Wants::Start => {
                    let die = &self.flash.dies[entry.die as usize];
                    let startable = if die.running == NONE { die.ready & !die.closed & !HOLD_BITS } else { 0 };
                    if startable == 0 {
                        // What it waited for was shut out meanwhile; it lines up again when that ends.
                        self.flash.channels[channel].line.remove(index);
                        self.flash.dies[entry.die as usize].in_line = false;
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
                    self.in_line(self.class_in_order(op), op.plane, entry.arrival, die.phase == Phase::TransferOut)
                }
                Wants::Empty => {
                    let op = &self.flash.ops[self.flash.registers[entry.die as usize].next() as usize];
                    self.in_line(self.class_in_order(op), op.plane, entry.arrival, true)
                }
                Wants::Claim(plane) => self.in_line(Class::Hold, plane, entry.arrival, false),
            };
            let claims = matches!(entry.wants, Wants::Claim(_));
            if held_by == NONE || (held_by == entry.die && (!claims || self.flash.traits.gathers_gc)) {
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
        if self.background_is_late() && op.owner.can_be_late() { op.class_when_late() } else { op.class }
    }

    /// Begun work that waits for the channel, as `order` sees it.
    fn in_line(&self, class: Class, plane: PlaneIx, arrival: u64, data: bool) -> Candidate {
        Candidate { class, plane, arrival, urgent: self.flash.planes[plane as usize].urgent, continues: true, data }
    }

    /// A die that stood in line may start what it prefers now.
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
                if self.flash.traits.late {
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
        let arrival = self.flash.next_arrival();
        self.stand_in_line(channel, InLine { die, wants: Wants::Continue, arrival });
    }

    /// Whether what an operation needs the channel for takes no time.
    #[inline(never)]
    fn is_next_phase_free(&self, phase: Phase, op: u32) -> bool {
        let occupant = if phase == Phase::CopybackRead { Occupant::GcProgram } else { self.flash.ops[op as usize].occupant };
        self.is_free(occupant)
    }

    /// The next phase of a die's running operation takes no time and needs no channel, or the die would be busy with waiting
    /// for it.
    #[inline(never)]
    fn go_on_for_free(&mut self, die: DieIx, phase: Phase) {
        let now = self.flash.now;
        if phase == Phase::CopybackRead {
            self.settle_die(die);
            let state = &mut self.flash.dies[die as usize];
            state.phase = Phase::ArrayProgram;
            state.occupant = Occupant::GcProgram;
            state.pulse.start(now, 0, 1);
            self.update_held_category(die);
        }
        self.queue.schedule(die as usize, now);
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
        let now = self.flash.now;
        let entry = &self.flash.ops[part as usize];
        if self.flash.dies[die as usize].phase == Phase::CopybackRead {
            let command = self.flash.device.timing.command_ns;
            let plane = entry.plane;
            let array = self.program_ns(entry.target);
            self.settle_die(die);
            let state = &mut self.flash.dies[die as usize];
            state.phase = Phase::ArrayProgram;
            state.occupant = Occupant::GcProgram;
            state.pulse.start(now + command, array, self.flash.device.timing.program_step_ns(array));
            self.queue.schedule(die as usize, now + command + array);
            if self.flash.traits.suspends {
                self.pulse_begins(die);
            }
            self.use_channel(channel, command, Occupant::GcProgram, plane);
            self.update_held_category(die);
        } else {
            self.transfer_by(die as usize, channel, part);
        }
    }

    /// A page crosses a channel. The event at its end, which is not the channel's own, releases the channel as well.
    #[inline]
    pub(super) fn transfer_by(&mut self, slot: usize, channel: usize, part: u32) {
        let now = self.flash.now;
        let entry = &self.flash.ops[part as usize];
        let (transfer, occupant, plane) = (self.times(entry).transfer, entry.occupant, entry.plane);
        self.queue.schedule(slot, now + transfer);
        let used = &mut self.flash.channels[channel];
        used.occupy(now, transfer, occupant as usize);
        used.released_by_die = true;
        if Self::TOLD {
            self.tell_use(channel, plane, transfer, occupant);
        }
    }
}
