//! Suspending and resuming the pulse of an erase or a program.
//!
//! Progress is computed from elapsed time: cutting a pulse moves the die's one pending event, and nothing stale is left.

use crate::attribution::parts::Occupant;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::ask::{Keep, Serve, Suspension};
use crate::flash::die::Phase;
use crate::flash::op::{CLASSES, Class, READ_BITS, class_bits};
use crate::flash::upper::Upper;
use crate::ids::{DieIx, NONE};
use crate::units::Ns;

/// What came of the event of a running pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PulseEvent {
    /// The pulse ended.
    Ended,
    /// It was cut at a boundary.
    Cut,
    /// The policy was asked again.
    Asked,
    /// The policy wanted to be asked again, but the read is gone.
    Stale,
}

impl<Q: EventQueue, U> Engine<Q, U>
where
    Self: Upper,
{
    /// A host read waits for a die: asks whether what runs there makes way.
    #[inline]
    pub(super) fn consider_suspension(&mut self, die: DieIx) {
        if self.flash.traits.suspends {
            self.ask_to_suspend(die);
        }
    }

    #[inline(never)]
    fn ask_to_suspend(&mut self, die: DieIx) {
        let state = &self.flash.dies[die as usize];
        if !matches!(state.phase, Phase::Erase | Phase::ArrayProgram) || state.ready & class_bits(Class::HostRead) == 0 {
            return;
        }
        if state.pulse.cut_at_boundary || self.flash.ops[state.running as usize].mate != NONE {
            return;
        }
        // While another die's GC holds the channel, no read could be served.
        let held_by = self.flash.channels[self.flash.channel_of(die)].held_by;
        if held_by != NONE && held_by != die {
            return;
        }
        // Before the array works there is nothing to cut: the command is still under way.
        if self.flash.now < state.pulse.first_started {
            let pulse = &mut self.flash.dies[die as usize].pulse;
            pulse.ask_at = pulse.first_started;
            return self.schedule_pulse(die);
        }
        let answer = self.suspend(die);
        if self.flash.dies[die as usize].phase == Phase::Erase {
            self.note_switch(die, answer);
        }
        match answer {
            Suspension::No => {}
            Suspension::Now(keep, serve) => self.cut(die, keep, serve),
            Suspension::AtBoundary(serve) => self.cut_at_boundary(die, serve),
            Suspension::AskAt(at) => {
                let pulse = &mut self.flash.dies[die as usize].pulse;
                pulse.ask_at = at.max(self.flash.now + 1);
                self.schedule_pulse(die);
            }
        }
    }

    /// Counts the switches of a die's erases from making way at once to making way at boundaries.
    fn note_switch(&mut self, die: DieIx, answer: Suspension) {
        let at_once = &mut self.flash.dies[die as usize].pulse.at_once;
        match answer {
            Suspension::Now(..) => *at_once = true,
            Suspension::AtBoundary(_) => self.flash.counters.switches_to_deferred += u64::from(std::mem::take(at_once)),
            Suspension::No | Suspension::AskAt(_) => {}
        }
    }

    /// An erase or a program begins, with its command. A host read that waits already asks when the array begins to work.
    #[inline(never)]
    pub(super) fn pulse_begins(&mut self, die: DieIx) {
        let state = &mut self.flash.dies[die as usize];
        if !matches!(state.phase, Phase::Erase | Phase::ArrayProgram) {
            return;
        }
        let begins = state.pulse.first_started;
        if state.phase == Phase::Erase && state.pulse.pending_since == Ns::MAX {
            state.pulse.pending_since = begins;
        }
        if state.ready & class_bits(Class::HostRead) != 0 {
            state.pulse.ask_at = begins;
            self.schedule_pulse(die);
        }
    }

    /// When the running pulse ends by itself.
    fn pulse_end(&self, die: DieIx) -> Ns {
        let pulse = &self.flash.dies[die as usize].pulse;
        pulse.started + (pulse.total - pulse.done)
    }

    /// When the step that runs now ends by itself. At a boundary the step that is about to begin has not begun; with
    /// `begun` it has if the work has just gone on, so that each time it does a step gets done.
    fn step_end(&self, die: DieIx, begun: bool) -> Ns {
        let pulse = &self.flash.dies[die as usize].pulse;
        let done = pulse.done_at(self.flash.now);
        let into_step = done % pulse.step;
        let now = self.flash.now.max(pulse.started);
        let just_on = done == pulse.done;
        if into_step == 0 && !(just_on && (begun || !pulse.was_cut)) {
            return now;
        }
        (now + pulse.step - into_step).min(self.pulse_end(die))
    }

    fn schedule_pulse(&mut self, die: DieIx) {
        let pulse = &self.flash.dies[die as usize].pulse;
        let end = if pulse.cut_at_boundary { self.step_end(die, true) } else { self.pulse_end(die) };
        self.queue.schedule(die as usize, end.min(self.flash.dies[die as usize].pulse.ask_at));
    }

    fn cut(&mut self, die: DieIx, keep: Keep, serve: Serve) {
        let now = self.flash.now;
        let step_end = self.step_end(die, false);
        let for_free = keep == Keep::ProgressForFree;
        let suspend_ns = if for_free { 0 } else { self.flash.device.timing.suspend_ns };
        let end = (now + suspend_ns).min(step_end);
        let pulse = &self.flash.dies[die as usize].pulse;
        let mut done = pulse.done_at(now);
        // Nothing is up that would have to come down before a step begins.
        let in_step = step_end > now.max(pulse.started);
        // A verify pulse that is cut itself is due again.
        let mut repeats = pulse.repeats && now <= pulse.started;
        if now + suspend_ns > step_end {
            // The step ends before it could be cut, so it counts.
            done = pulse.done_at(step_end);
        } else if keep == Keep::Steps {
            let kept = done / pulse.step * pulse.step;
            self.flash.counters.forfeited_ns += done - kept;
            repeats |= done > kept;
            done = kept;
        }
        if done == self.flash.dies[die as usize].pulse.total {
            return;
        }
        self.settle_die(die);
        self.note_cut(die);
        let state = &mut self.flash.dies[die as usize];
        state.pulse.extra_cycles += u32::from(in_step && now + suspend_ns <= step_end && !for_free);
        state.pulse.for_free = for_free;
        state.pulse.done = done;
        state.pulse.repeats = repeats;
        state.pulse.serve = serve;
        state.pulse.ask_at = Ns::MAX;
        state.phase = Phase::Suspending;
        state.occupant = Occupant::Suspend;
        self.queue.schedule(die as usize, end);
    }

    fn cut_at_boundary(&mut self, die: DieIx, serve: Serve) {
        if self.step_end(die, true) >= self.pulse_end(die) {
            return;
        }
        let pulse = &mut self.flash.dies[die as usize].pulse;
        pulse.cut_at_boundary = true;
        pulse.serve = serve;
        pulse.ask_at = Ns::MAX;
        self.schedule_pulse(die);
    }

    fn note_cut(&mut self, die: DieIx) {
        let state = &mut self.flash.dies[die as usize];
        state.pulse.was_cut = true;
        self.flash.counters.suspensions += 1;
        self.flash.counters.program_suspensions += u64::from(state.phase == Phase::ArrayProgram);
    }

    /// Counts by how much suspensions have delayed an erase that ends now, and what they put on its block.
    #[inline(never)]
    fn note_delay(&mut self, die: DieIx) {
        let state = &self.flash.dies[die as usize];
        if state.phase == Phase::Erase {
            let delay = self.flash.now - state.pulse.first_started - state.pulse.total;
            let cycles = u64::from(state.pulse.extra_cycles);
            let counters = &mut self.flash.counters;
            counters.erase_delay_ns += delay;
            counters.erase_delay_ns_max = counters.erase_delay_ns_max.max(delay);
            counters.extra_erase_cycles += cycles;
            counters.extra_erase_cycles_max = counters.extra_erase_cycles_max.max(cycles);
        }
    }

    /// The event of a running pulse: its end, the boundary at which it is cut, or a question to ask.
    pub(super) fn pulse_event(&mut self, die: DieIx) -> PulseEvent {
        let now = self.flash.now;
        if now >= self.pulse_end(die) {
            if self.flash.dies[die as usize].pulse.was_cut {
                self.note_delay(die);
            }
            return PulseEvent::Ended;
        }
        let state = &mut self.flash.dies[die as usize];
        if state.pulse.cut_at_boundary {
            state.pulse.done = state.pulse.done_at(now);
            state.pulse.repeats = false;
            state.pulse.for_free = false;
            self.note_cut(die);
            self.parked(die);
            return PulseEvent::Cut;
        }
        state.pulse.ask_at = Ns::MAX;
        let waits = state.ready & class_bits(Class::HostRead) != 0;
        self.schedule_pulse(die);
        self.consider_suspension(die);
        if waits { PulseEvent::Asked } else { PulseEvent::Stale }
    }

    /// The pulse is cut: the operation is parked, its job's hold given up, and the reads go.
    pub(crate) fn parked(&mut self, die: DieIx) {
        self.settle_die(die);
        let newest = self.flash.arrivals;
        let state = &mut self.flash.dies[die as usize];
        state.parked = std::mem::replace(&mut state.running, NONE);
        state.phase = Phase::Idle;
        state.pulse.cut_at_boundary = false;
        state.pulse.cut_arrival = newest;
        self.update_closed(die);
        self.try_start(die);
    }

    /// Of the startable work, what may be served before the parked operation resumes.
    pub(super) fn served_while_parked(&self, die: DieIx, startable: u64) -> u64 {
        let state = &self.flash.dies[die as usize];
        let mut served = startable & READ_BITS;
        if state.pulse.serve != Serve::UntilNoneWaits {
            let planes_per_die = self.flash.device.geometry.planes_per_die;
            let mut rest = served;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let plane = die * planes_per_die + bit / CLASSES as u32;
                let head = self.flash.planes[plane as usize].head[bit as usize % CLASSES];
                let op = &self.flash.ops[head as usize];
                let late = match state.pulse.serve {
                    Serve::UntilNoneWaits => false,
                    Serve::Arrived => op.arrival > state.pulse.cut_arrival,
                    Serve::ArrivedBy(time) => op.born > time,
                };
                if late {
                    served &= !(1 << bit);
                }
            }
        }
        served
    }

    /// The parked operation goes on where it was cut. In the middle of a step the array is ramped up again first, for the
    /// device's resume time; a step that begins has the ramp inside its own time. A step of an erase that is repeated comes
    /// after a verify pulse.
    pub(super) fn resume(&mut self, die: DieIx) {
        self.settle_die(die);
        self.mark_running(die);
        let now = self.flash.now;
        let timing = &self.flash.device.timing;
        let (resume_ns, verify_ns) = (timing.resume_ns, timing.verify_ns);
        let state = &mut self.flash.dies[die as usize];
        state.running = std::mem::replace(&mut state.parked, NONE);
        state.part = state.running;
        self.flash.ops[state.running as usize].rest = Some(Occupant::Suspend);
        let op = self.flash.ops[state.running as usize];
        state.phase = if op.kind == crate::flash::op::OpKind::Erase { Phase::Erase } else { Phase::ArrayProgram };
        state.occupant = op.occupant;
        let ramp = if state.pulse.for_free || state.pulse.done.is_multiple_of(state.pulse.step) { 0 } else { resume_ns };
        let verify = if state.pulse.repeats && state.phase == Phase::Erase { verify_ns } else { 0 };
        state.pulse.started = now + ramp + verify;
        self.update_closed(die);
        self.schedule_pulse(die);
        // A read that the answer did not let in, or that came at this instant, may ask again.
        self.consider_suspension(die);
    }
}
