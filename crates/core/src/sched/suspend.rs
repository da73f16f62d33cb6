//! Suspending and resuming the pulse of an erase or a program.
//!
//! Progress is computed from elapsed time: cutting a pulse moves the die's one pending event, and nothing stale is left.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ids::{DieIx, NONE};
use crate::observe::{Observer, Occupant};
use crate::policy::{Keep, Serve, Suspend, Suspension};
use crate::sched::ops::{CLASSES, READ_BITS};
use crate::state::Phase;
use crate::units::Ns;
use crate::view::View;

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

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// A host read waits for a die: asks whether what runs there makes way.
    #[inline]
    pub(crate) fn consider_suspension(&mut self, die: DieIx) {
        let state = &self.state.dies[die as usize];
        if matches!(state.phase, Phase::Erase | Phase::ArrayProgram) && state.ready & READ_BITS != 0 {
            self.ask_to_suspend(die);
        }
    }

    fn ask_to_suspend(&mut self, die: DieIx) {
        let state = &self.state.dies[die as usize];
        if state.pulse.cut_at_boundary || self.state.ops[state.running as usize].mate != NONE {
            return;
        }
        // While another die's GC holds the channel, no read could be served.
        let held_by = self.state.channels[self.state.channel_of(die)].held_by;
        if held_by != NONE && held_by != die {
            return;
        }
        // Before the array works there is nothing to cut: the command is still under way.
        if self.state.now < state.pulse.first_started {
            return;
        }
        match self.policies.suspend.suspend(View(&self.state), die) {
            Suspension::No => {}
            Suspension::Now(keep, serve) => self.cut(die, keep, serve),
            Suspension::AtBoundary(serve) => self.cut_at_boundary(die, serve),
            Suspension::AskAt(at) => {
                let pulse = &mut self.state.dies[die as usize].pulse;
                pulse.ask_at = at.max(self.state.now + 1);
                self.schedule_pulse(die);
            }
        }
    }

    /// When the running pulse ends by itself.
    fn pulse_end(&self, die: DieIx) -> Ns {
        let pulse = &self.state.dies[die as usize].pulse;
        pulse.started + (pulse.total - pulse.done)
    }

    /// When the step that runs now ends by itself.
    fn step_end(&self, die: DieIx) -> Ns {
        let pulse = &self.state.dies[die as usize].pulse;
        let done = pulse.done_at(self.state.now);
        let into_step = done % pulse.step;
        let now = self.state.now.max(pulse.started);
        // At a boundary the step that is about to begin has not begun.
        if into_step == 0 && done > 0 { now } else { now + pulse.step - into_step }
    }

    fn schedule_pulse(&mut self, die: DieIx) {
        let pulse = &self.state.dies[die as usize].pulse;
        let end = if pulse.cut_at_boundary { self.step_end(die) } else { self.pulse_end(die) };
        self.queue.schedule(die as usize, end.min(self.state.dies[die as usize].pulse.ask_at));
    }

    fn cut(&mut self, die: DieIx, keep: Keep, serve: Serve) {
        let now = self.state.now;
        let step_end = self.step_end(die);
        let suspend_ns = self.state.device.timing.suspend_ns;
        let end = (now + suspend_ns).min(step_end);
        let pulse = &mut self.state.dies[die as usize].pulse;
        let mut done = pulse.done_at(now);
        // A verify pulse that is cut itself is due again.
        let mut repeats = pulse.repeats && now <= pulse.started;
        if end == step_end && now + suspend_ns > step_end {
            // The step ends before it could be cut, so it counts.
            done = pulse.done_at(step_end);
        } else if keep == Keep::Steps {
            let kept = done / pulse.step * pulse.step;
            self.state.counters.forfeited_ns += done - kept;
            repeats |= done > kept;
            done = kept;
        }
        if done == self.state.dies[die as usize].pulse.total {
            return;
        }
        self.settle_die(die);
        self.state.counters.suspensions += 1;
        let state = &mut self.state.dies[die as usize];
        state.pulse.done = done;
        state.pulse.repeats = repeats;
        state.pulse.serve = serve;
        state.pulse.ask_at = Ns::MAX;
        state.phase = Phase::Suspending;
        state.occupant = Occupant::Suspend;
        self.queue.schedule(die as usize, end);
    }

    fn cut_at_boundary(&mut self, die: DieIx, serve: Serve) {
        if self.step_end(die) >= self.pulse_end(die) {
            return;
        }
        let pulse = &mut self.state.dies[die as usize].pulse;
        pulse.cut_at_boundary = true;
        pulse.serve = serve;
        pulse.ask_at = Ns::MAX;
        self.schedule_pulse(die);
    }

    /// The event of a running pulse: its end, the boundary at which it is cut, or a question to ask.
    pub(crate) fn pulse_event(&mut self, die: DieIx) -> PulseEvent {
        let now = self.state.now;
        if now >= self.pulse_end(die) {
            return PulseEvent::Ended;
        }
        let state = &mut self.state.dies[die as usize];
        if state.pulse.cut_at_boundary {
            state.pulse.done = state.pulse.done_at(now);
            state.pulse.repeats = false;
            self.state.counters.suspensions += 1;
            self.parked(die);
            return PulseEvent::Cut;
        }
        state.pulse.ask_at = Ns::MAX;
        let waits = state.ready & READ_BITS != 0;
        self.schedule_pulse(die);
        self.consider_suspension(die);
        if waits { PulseEvent::Asked } else { PulseEvent::Stale }
    }

    /// The pulse is cut: the operation is parked, its job's hold given up, and the reads go.
    pub(crate) fn parked(&mut self, die: DieIx) {
        self.settle_die(die);
        let newest = self.state.arrivals;
        let state = &mut self.state.dies[die as usize];
        state.parked = std::mem::replace(&mut state.running, NONE);
        state.phase = Phase::Idle;
        state.pulse.cut_at_boundary = false;
        state.pulse.cut_arrival = newest;
        self.update_closed(die);
        self.try_start(die);
    }

    /// Of the startable work, what may be served before the parked operation resumes.
    pub(crate) fn served_while_parked(&self, die: DieIx, startable: u64) -> u64 {
        let state = &self.state.dies[die as usize];
        let mut served = startable & READ_BITS;
        if state.pulse.serve == Serve::Arrived {
            let planes_per_die = self.state.device.geometry.planes_per_die;
            let mut rest = served;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let plane = die * planes_per_die + bit / CLASSES as u32;
                let head = self.state.planes[plane as usize].head[bit as usize % CLASSES];
                if self.state.ops[head as usize].arrival > state.pulse.cut_arrival {
                    served &= !(1 << bit);
                }
            }
        }
        served
    }

    /// The parked operation goes on where it was cut. In the middle of a step the array is ramped up again first, for the
    /// device's resume time; a step that begins has the ramp inside its own time. A step of an erase that is repeated comes
    /// after a verify pulse.
    pub(crate) fn resume(&mut self, die: DieIx) {
        self.settle_die(die);
        self.mark_running(die);
        let now = self.state.now;
        let timing = &self.state.device.timing;
        let (resume_ns, verify_ns) = (timing.resume_ns, timing.verify_ns);
        let state = &mut self.state.dies[die as usize];
        state.running = std::mem::replace(&mut state.parked, NONE);
        state.part = state.running;
        self.state.ops[state.running as usize].rest = Some(Occupant::Suspend);
        let op = self.state.ops[state.running as usize];
        state.phase = if op.kind == crate::sched::ops::OpKind::Erase { Phase::Erase } else { Phase::ArrayProgram };
        state.occupant = op.occupant;
        let ramp = if state.pulse.done.is_multiple_of(state.pulse.step) { 0 } else { resume_ns };
        let verify = if state.pulse.repeats && state.phase == Phase::Erase { verify_ns } else { 0 };
        state.pulse.started = now + ramp + verify;
        self.update_closed(die);
        self.schedule_pulse(die);
        // A read that the answer did not let in, or that came at this instant, may ask again.
        self.consider_suspension(die);
    }
}
