//! Suspending and resuming an erase or a program.
//!
//! Progress is computed from elapsed time: cutting an operation moves the die's one pending event, and nothing stale is left.

use crate::attribution::parts::bits;
use crate::flash::Engine;
use crate::flash::ask::{Keep, Serve, Suspension};
use crate::flash::die::Phase;
use crate::flash::op::{BACKGROUND_BITS, Class, OpKind, READ_BITS, class_bits};
use crate::flash::upper::Upper;
use crate::ids::{DieIx, NONE};
use crate::units::Ns;

/// What came of the event of a running operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressEvent {
    /// The operation ended.
    Ended,
    /// It was cut at a boundary.
    Cut,
    /// The policy was asked again.
    Asked,
    /// The policy wanted to be asked again, but the read is gone.
    Stale,
}

impl<U> Engine<U>
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

    #[cold]
    fn ask_to_suspend(&mut self, die: DieIx) {
        let state = &self.flash.dies[die as usize];
        if !matches!(state.phase, Phase::Erase | Phase::ArrayProgram) || state.ready & class_bits(Class::HostRead) == 0 {
            return;
        }
        if state.progress.cut_at_boundary || state.is_suspended() {
            return;
        }
        let is_multi_plane = self.flash.ops[state.running as usize].partner != NONE;
        if is_multi_plane && state.phase == Phase::ArrayProgram && !self.flash.traits.cuts_multi_plane {
            return;
        }
        // While another die's GC locks the channel, no read could be served.
        if self.flash.channels[state.channel as usize].is_closed_to(die) {
            return;
        }
        // Before the array works there is nothing to cut: the command is still under way.
        if self.flash.now < state.progress.first_started {
            let first_started = state.progress.first_started;
            return self.ask_again(die, first_started);
        }
        let answer = self.suspend(die);
        if self.flash.dies[die as usize].phase == Phase::Erase {
            self.note_switch(die, answer);
        }
        match answer {
            Suspension::No => {}
            Suspension::Now(keep, serve) => self.cut(die, keep, serve),
            Suspension::AtBoundary(serve) => self.cut_at_boundary(die, serve),
            Suspension::AskAt(at) => self.ask_again(die, at.max(self.flash.now + 1)),
        }
    }

    /// Counts the switches of a die's erases from making way at once to making way at boundaries.
    fn note_switch(&mut self, die: DieIx, answer: Suspension) {
        let at_once = &mut self.flash.dies[die as usize].progress.at_once;
        match answer {
            Suspension::Now(..) => *at_once = true,
            Suspension::AtBoundary(_) => self.flash.counters.switches_to_deferred += u64::from(std::mem::take(at_once)),
            Suspension::No | Suspension::AskAt(_) => {}
        }
    }

    /// An erase or a program begins, with its command. A host read that waits already asks when the array begins to work.
    #[cold]
    pub(super) fn operation_begins(&mut self, die: DieIx) {
        let state = &mut self.flash.dies[die as usize];
        if !matches!(state.phase, Phase::Erase | Phase::ArrayProgram) || state.is_suspended() {
            return;
        }
        let begins = state.progress.first_started;
        if state.phase == Phase::Erase && state.progress.pending_since == Ns::MAX {
            state.progress.pending_since = begins;
        }
        if state.ready & class_bits(Class::HostRead) != 0 {
            self.ask_again(die, begins);
        }
    }

    fn schedule_operation(&mut self, die: DieIx) {
        let progress = &self.flash.dies[die as usize].progress;
        let end = if progress.cut_at_boundary { progress.step_end(self.flash.now, true) } else { progress.end() };
        self.queue.schedule(die as usize, end.min(progress.ask_at));
    }

    /// Asks whether the running operation makes way, at this time.
    fn ask_again(&mut self, die: DieIx, at: Ns) {
        self.flash.dies[die as usize].progress.ask_at = at;
        self.schedule_operation(die);
    }

    fn cut(&mut self, die: DieIx, keep: Keep, serve: Serve) {
        let now = self.flash.now;
        let for_free = keep == Keep::ProgressForFree;
        let traffic = self.flash.ops[self.flash.dies[die as usize].running as usize].traffic.suspended();
        let suspend_ns = if for_free || self.is_free(traffic) { 0 } else { self.flash.device.timing.suspend_ns };
        let progress = &self.flash.dies[die as usize].progress;
        let step_end = progress.step_end(now, false);
        let mut done = progress.done_at(now);
        // Nothing is up that would have to come down before a step begins.
        let in_step = step_end > now.max(progress.started);
        // A verify pulse that is cut itself is due again.
        let mut repeats = progress.repeats && now <= progress.started;
        if now + suspend_ns > step_end {
            // The step ends before it could be cut, so it counts.
            done = progress.done_at(step_end);
        } else if keep == Keep::Steps {
            let kept = done / progress.step * progress.step;
            self.flash.counters.discarded_ns += done - kept;
            repeats |= done > kept;
            done = kept;
        }
        if done == progress.total {
            return;
        }
        self.settle_die(die);
        self.note_cut(die);
        let state = &mut self.flash.dies[die as usize];
        state.progress.extra_cycles += u32::from(in_step && now + suspend_ns <= step_end && !for_free);
        state.progress.for_free = for_free;
        state.progress.done = done;
        state.progress.repeats = repeats;
        state.progress.serve = serve;
        state.progress.ask_at = Ns::MAX;
        state.phase = Phase::Suspending;
        state.traffic = traffic;
        self.queue.schedule(die as usize, (now + suspend_ns).min(step_end));
    }

    fn cut_at_boundary(&mut self, die: DieIx, serve: Serve) {
        let progress = &mut self.flash.dies[die as usize].progress;
        if progress.step_end(self.flash.now, true) < progress.end() {
            (progress.cut_at_boundary, progress.serve) = (true, serve);
            self.ask_again(die, Ns::MAX);
        }
    }

    fn note_cut(&mut self, die: DieIx) {
        let state = &mut self.flash.dies[die as usize];
        state.progress.was_cut = true;
        self.flash.counters.suspensions += 1;
        self.flash.counters.program_suspensions += u64::from(state.phase == Phase::ArrayProgram);
    }

    /// Counts by how much suspensions have delayed an erase that ends now, and what they put on its block.
    #[cold]
    fn note_delay(&mut self, die: DieIx) {
        let state = &self.flash.dies[die as usize];
        if state.phase == Phase::Erase {
            let delay = self.flash.now - state.progress.first_started - state.progress.total;
            let cycles = u64::from(state.progress.extra_cycles);
            let counters = &mut self.flash.counters;
            counters.erase_delay_ns += delay;
            counters.erase_delay_ns_max = counters.erase_delay_ns_max.max(delay);
            counters.extra_erase_cycles += cycles;
            counters.extra_erase_cycles_max = counters.extra_erase_cycles_max.max(cycles);
        }
    }

    /// The event of a running operation: its end, the boundary at which it is cut, or a question to ask.
    pub(super) fn operation_event(&mut self, die: DieIx) -> ProgressEvent {
        let now = self.flash.now;
        let state = &mut self.flash.dies[die as usize];
        if now >= state.progress.end() {
            if state.progress.was_cut {
                self.note_delay(die);
            }
            return ProgressEvent::Ended;
        }
        if state.progress.cut_at_boundary {
            state.progress.done = state.progress.done_at(now);
            state.progress.repeats = false;
            state.progress.for_free = false;
            self.note_cut(die);
            self.suspended(die);
            return ProgressEvent::Cut;
        }
        let waits = state.ready & class_bits(Class::HostRead) != 0;
        self.ask_again(die, Ns::MAX);
        self.consider_suspension(die);
        if waits { ProgressEvent::Asked } else { ProgressEvent::Stale }
    }

    /// The operation is suspended now: waiting reads are served.
    #[cold]
    pub(crate) fn suspended(&mut self, die: DieIx) {
        self.settle_die(die);
        let newest = self.flash.arrivals;
        let state = &mut self.flash.dies[die as usize];
        state.suspended = std::mem::replace(&mut state.running, NONE);
        state.phase = Phase::Idle;
        state.progress.cut_at_boundary = false;
        state.progress.cut_arrival = newest;
        self.update_masked(die);
        self.try_start(die);
    }

    /// Of the startable work, what may be served before the suspended operation resumes.
    #[cold]
    pub(super) fn served_while_suspended(&self, die: DieIx, startable: u64) -> u64 {
        let state = &self.flash.dies[die as usize];
        let in_time = |&bit: &usize| {
            let (class, plane) = self.work_of(die, bit);
            let (arrival, born) = match self.flash.first_waiting(plane, class) {
                // A step of a GC is chosen when it is picked.
                NONE => (self.flash.planes[plane as usize].step_arrival, self.flash.now),
                op => (self.flash.ops[op as usize].arrival, self.flash.ops[op as usize].born),
            };
            match state.progress.serve {
                Serve::UntilNoneWaits => true,
                Serve::Arrived => arrival <= state.progress.cut_arrival,
                Serve::ArrivedBy(time) => born <= time,
            }
        };
        let served = if self.flash.serves_programs(die) { !BACKGROUND_BITS } else { READ_BITS };
        bits(startable & served).filter(in_time).fold(0, |served, bit| served | 1 << bit)
    }

    /// The suspended operation goes on where it was cut. In the middle of a step the array is ramped up again first, for the
    /// device's resume time; a step that begins has the ramp inside its own time. A step of an erase that is repeated comes
    /// after a verify pulse.
    #[cold]
    pub(super) fn resume(&mut self, die: DieIx) {
        self.settle_die(die);
        self.mark_running(die);
        let traffic = self.flash.ops[self.flash.dies[die as usize].suspended as usize].traffic.suspended();
        let is_free = self.is_free(traffic);
        let timing = &self.flash.device.timing;
        let (resume_ns, verify_ns) = if is_free { (0, 0) } else { (timing.resume_ns, timing.verify_ns) };
        let state = &mut self.flash.dies[die as usize];
        state.running = std::mem::replace(&mut state.suspended, NONE);
        state.part = state.running;
        let mut part = state.running;
        while part != NONE {
            self.flash.ops[part as usize].other_traffic = Some(traffic);
            part = self.flash.ops[part as usize].partner;
        }
        let op = &self.flash.ops[state.running as usize];
        state.phase = if op.kind == OpKind::Erase { Phase::Erase } else { Phase::ArrayProgram };
        state.traffic = op.traffic;
        let progress = &mut state.progress;
        let ramp = if progress.for_free || progress.done.is_multiple_of(progress.step) { 0 } else { resume_ns };
        let verify = if progress.repeats && state.phase == Phase::Erase { verify_ns } else { 0 };
        progress.started = self.flash.now + ramp + verify;
        self.update_masked(die);
        self.schedule_operation(die);
        // A read that the answer did not let in, or that came at this instant, may ask again.
        self.consider_suspension(die);
    }
}
