//! # Erase suspension (ES, I-ES, D-ES, T-ES, Ideal-ES)
//!
//! **What it does.** A running erase makes way for a host read that waits for its die, and goes on when no read waits any more.
//! `mode` says when it is cut and what it keeps:
//!
//! - `es`: at once, with all its progress.
//! - `i_es` (immediate): at once; the step that was cut starts anew after a verify pulse, the steps before it are kept. A step that
//!   would end before it could be aborted counts.
//! - `d_es` (deferred): at the end of the current step. Then the reads that had arrived by its end are served, and the next step
//!   begins. Reads that come meanwhile wait for the end of that one.
//! - `t_es` (timeout-based): as `i_es` until erases have been delayed for `timeout_ms`, from then on as `d_es`. If the time is
//!   over while an erase is suspended, the reads that had arrived by then are served, and the erase goes on. The time of a die
//!   counts from the first step of an erase and goes on while erases follow one another there, so that a write does not wait
//!   for several timeouts; it begins anew when the die has none left.
//! - `ideal_es`: as `es`, and neither the cut nor going on takes any time, whatever the device says. No flash can do that.
//!
//! **Source.** `es`: Wu and He, FAST '12, as Practical Erase Suspension compares with it (sections 2.1 and 3.1). The others:
//! Practical Erase Suspension, sections 2.2 (`i_es`), 2.3 (`d_es`), 2.4 (`t_es`) and 3.1 (`ideal_es`). Decisions: that `d_es` serves
//! exactly the reads that had arrived, since to serve until none waits would not guarantee progress, as the paper says that it does;
//! and that the time of `t_es` is the die's, by which the longest write takes the timeout and the longest GC, as in its table 4.
//!
//! **Parameters.** `mode`. `programs`: whether programs make way too; `never` (default), `inter_phase` (at the end of the current of
//! the device's `program_steps`) or `intra_phase` (at once, and the step starts anew), the two ways of Wu and He. A program that
//! takes several planes is cut only with `multi_plane_programs` (default false). `beside`: what goes on while an erase is suspended:
//! `reads` (default), or `programs`, with which programs and the GCs of other planes are served as reads are, but no other erase;
//! only reads cut an erase. `programs` can't go with stripes, late-bound allocation or locks of channels. With `t_es` alone:
//! `timeout_ms` (default 64, the paper's): milliseconds; 0 is `d_es`, `inf` is `i_es`; at most an hour otherwise. `clock`: `die`
//! (default), or `erase`, which counts for each erase by itself only the time by which it has fallen behind: suspended, lost or spent
//! on going on.
//!
//! **Cost.** A read waits for the device's `suspend_ns`, with `d_es` for up to a step. Each cut in the middle of a step costs the
//! erase that, `resume_ns` and one more recovery and ramp of the voltage; with `i_es` up to a whole step and `verify_ns` besides.
//! Reads that leave no pause long enough (`i_es`: of a step) starve erases, and writes with them. `d_es` loses nothing of an erase;
//! `t_es` lies between, nearer to `i_es` the longer its timeout. With `beside = "programs"` a read waits for a program that runs
//! beside a suspended erase, which nothing cuts; and writes that never pause keep an erase suspended until the die is out of space.

use crate::policy::prelude::*;

/// The longest timeout that ends, in milliseconds: an hour.
const TIMEOUT_MS_MAX: f64 = 3_600_000.0;

/// The paper's timeout, in milliseconds.
const TIMEOUT_MS: f64 = 64.0;

/// When an erase is cut, and what it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// At once; it goes on from there.
    Es,
    /// At once; the step that was cut starts anew.
    IEs,
    /// At the end of the current step.
    DEs,
    /// At once until erases have been delayed for long enough, then at the end of the current step.
    TEs,
    /// As `es`, and it takes no time.
    IdealEs,
}

/// What a timeout is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The time for which the die has had erases to run.
    #[default]
    Die,
    /// The time by which the erase has fallen behind.
    Erase,
}

/// Whether programs make way for reads as well, by one of the two ways of Wu and He (FAST '12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Programs {
    /// They run to their end.
    #[default]
    Never,
    /// Inter-phase suspension: at the end of the current step.
    InterPhase,
    /// Intra-phase cancelation: at once; the step that was cut starts anew.
    IntraPhase,
}

/// What goes on beside a suspended erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Reads.
    #[default]
    Reads,
    /// Programs as well, and the GCs of other planes.
    Programs,
}

/// Erases make way for reads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseSuspension {
    mode: Mode,
    #[serde(default)]
    programs: Programs,
    #[serde(default)]
    multi_plane_programs: bool,
    #[serde(default)]
    beside: Beside,
    timeout_ms: Option<f64>,
    clock: Option<Clock>,
    #[serde(default)]
    where_possible: bool,
    #[serde(skip)]
    timeout_ns: Ns,
    /// The flash can't suspend, and need not.
    #[serde(skip)]
    idle: bool,
}

impl EraseSuspension {
    /// One of the modes, with or without suspension of programs.
    pub fn new(mode: Mode, programs: Programs) -> Self {
        let (multi_plane_programs, beside) = (false, Beside::Reads);
        let (timeout_ms, clock, where_possible, timeout_ns, idle) = (None, None, false, 0, false);
        Self { mode, programs, multi_plane_programs, beside, timeout_ms, clock, where_possible, timeout_ns, idle }
    }

    /// The same, and programs go on beside a suspended erase, or programs of several planes make way too.
    #[must_use]
    pub fn with(self, beside: Beside, multi_plane_programs: bool) -> Self {
        Self { beside, multi_plane_programs, ..self }
    }

    /// T-ES with a timeout in milliseconds, infinity allowed.
    pub fn timed(timeout_ms: f64, clock: Clock, programs: Programs) -> Self {
        Self { timeout_ms: Some(timeout_ms), clock: Some(clock), ..Self::new(Mode::TEs, programs) }
    }

    /// Whether nothing will be suspended on this device, because its flash can't.
    pub(crate) fn does_without(&self, device: &Device) -> bool {
        self.where_possible && device.timing.suspend_ns == 0
    }

    /// The mode, as design files have it.
    pub fn mode(&self) -> &'static str {
        match self.mode {
            Mode::Es => "es",
            Mode::IEs => "i_es",
            Mode::DEs => "d_es",
            Mode::TEs => "t_es",
            Mode::IdealEs => "ideal_es",
        }
    }

    /// Whether reads without a pause keep its erases from ever ending.
    pub fn may_stall_writes(&self) -> bool {
        matches!(self.mode, Mode::Es | Mode::IEs)
    }

    /// Refuses the parameters of a timeout where there is none, and a timeout that means nothing.
    fn check_timeout(&self) -> Result<(), ConfigError> {
        let given = [("timeout_ms", self.timeout_ms.is_some()), ("clock", self.clock.is_some())];
        if let Some((key, _)) = given.into_iter().find(|(_, given)| *given && self.mode != Mode::TEs) {
            let found = format!("has a meaning only with [suspend] `mode` = \"t_es\"; `mode` is \"{}\"", self.mode());
            return Err(Fault::new("suspend", key, found).with("suspend", "mode").remedy(format!("leave `{key}` out")).into());
        }
        match self.timeout_ms {
            Some(timeout) if !(0.0..=TIMEOUT_MS_MAX).contains(&timeout) && timeout != f64::INFINITY => {
                let allowed = format!("0 to {TIMEOUT_MS_MAX}, or inf");
                Err(Fault::new("suspend", "timeout_ms", format!("is {timeout}")).allowed(allowed).into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses a device whose erases or programs have no boundary between two steps where one is needed.
    fn check_steps(&self, device: &Device) -> Result<(), ConfigError> {
        let timing = &device.timing;
        let whole_erases = timing.erase_steps < 2 && (timing.erases_per_extra_step.is_none() || timing.erase_steps_max < 2);
        let (key, value, what, steps) = match self.mode {
            Mode::IEs | Mode::DEs | Mode::TEs if whole_erases => ("mode", self.mode(), "erase", timing.erase_steps),
            _ if self.programs == Programs::InterPhase && timing.program_steps < 2 => {
                ("programs", "inter_phase", "program", timing.program_steps)
            }
            _ => return Ok(()),
        };
        let found =
            format!("= \"{value}\" suspends {what}s between two steps; the device {} has [timing] `{what}_steps` = {steps}", device.name);
        Err(Fault::new("suspend", key, found).with("timing", &format!("{what}_steps")).allowed("2 or more").into())
    }

    /// By how much erases have been delayed.
    fn delayed_ns(&self, progress: &Progress, now: Ns) -> Ns {
        match self.clock.unwrap_or_default() {
            Clock::Die => now - progress.pending_since,
            Clock::Erase => now - progress.first_started - progress.done,
        }
    }
}

impl Suspend for EraseSuspension {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.check_timeout()?;
        self.idle = self.does_without(device);
        if !self.idle {
            self.check_steps(device)?;
        }
        let timeout = self.timeout_ms.unwrap_or(TIMEOUT_MS);
        self.timeout_ns = if timeout.is_finite() { (timeout * MS as f64).round() as Ns } else { Ns::MAX };
        Ok(())
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        let programs = self.beside == Beside::Programs;
        let wider = "wider than a die: a die that reads waits for its channel, and can't claim it meanwhile";
        let against = [
            Against::policy(programs && with.late_bound, "place", with.place, "whose programs have no die while they wait", ""),
            Against::policy(programs && with.stripes, "place", with.place, "whose reads go around GCs by what they lock", ""),
            Against::value(programs && with.gc_locks_channels, ["gc_lock", "scope"], wider, "\"plane\", \"die\""),
        ];
        if let Some(fault) = contradiction("suspend", "beside", "= \"programs\"", against) {
            faults.push(fault);
        }
        if self.multi_plane_programs && self.programs == Programs::Never {
            let found = "= true needs programs that make way; `programs` is \"never\"";
            let fault = Fault::new("suspend", "multi_plane_programs", found).with("suspend", "programs");
            faults.push(fault.remedy("`programs` = \"inter_phase\" or \"intra_phase\""));
        }
    }

    fn active(&mut self) -> bool {
        !self.idle
    }

    fn serves_programs(&mut self) -> bool {
        self.beside == Beside::Programs
    }

    fn cuts_multi_plane_programs(&mut self) -> bool {
        self.multi_plane_programs
    }

    fn suspend(&mut self, view: View<'_>, die: DieIx) -> Suspension {
        let Some(progress) = view.progress(die) else { return Suspension::No };
        let at_once = |keep| Suspension::Now(keep, Serve::UntilNoneWaits);
        if progress.kind != OpKind::Erase {
            return match self.programs {
                Programs::Never => Suspension::No,
                Programs::InterPhase => Suspension::AtBoundary(Serve::UntilNoneWaits),
                Programs::IntraPhase => at_once(Keep::Steps),
            };
        }
        match self.mode {
            Mode::Es => at_once(Keep::Progress),
            Mode::IdealEs => at_once(Keep::ProgressForFree),
            Mode::IEs => at_once(Keep::Steps),
            Mode::DEs => Suspension::AtBoundary(Serve::Arrived),
            Mode::TEs if self.timeout_ns == Ns::MAX => at_once(Keep::Steps),
            Mode::TEs => match self.timeout_ns.saturating_sub(self.delayed_ns(&progress, view.now())) {
                0 => Suspension::AtBoundary(Serve::Arrived),
                left => Suspension::Now(Keep::Steps, Serve::ArrivedBy(view.now() + left)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::op::{Class, Op, Owner};
    use crate::ids::NONE;
    use crate::observe::TrafficClass;
    use crate::testkit::{Parts, tiny_device, tiny_state};

    /// Die 0 of a tiny drive runs an operation since `begun`; it is `now`, and erases have been pending since `pending`.
    fn running(kind: OpKind, begun: Ns, pending: Ns, now: Ns) -> Parts {
        let mut state = tiny_state();
        let op = state.flash.new_op(Op::new(kind, Class::Gc, TrafficClass::Erase, Owner::Gc(0), NONE, 0));
        let die = &mut state.flash.dies_for_test()[0];
        die.running = op;
        die.progress.start(begun, 10_000, 2000);
        die.progress.pending_since = pending;
        state.flash.now = now;
        state
    }

    const DEFERRED: Suspension = Suspension::AtBoundary(Serve::Arrived);
    const AGAIN: Suspension = Suspension::Now(Keep::Steps, Serve::UntilNoneWaits);

    #[test]
    fn each_mode_has_its_answer_for_erases_and_leaves_programs_alone() {
        let erase = running(OpKind::Erase, 100, 100, 600);
        for (mode, answer) in [
            (Mode::Es, Suspension::Now(Keep::Progress, Serve::UntilNoneWaits)),
            (Mode::IdealEs, Suspension::Now(Keep::ProgressForFree, Serve::UntilNoneWaits)),
            (Mode::IEs, AGAIN),
            (Mode::DEs, DEFERRED),
        ] {
            let mut technique = EraseSuspension::new(mode, Programs::Never);
            technique.prepare(&tiny_device()).unwrap();
            assert_eq!(technique.suspend(erase.view(), 0), answer, "{mode:?}");
            assert_eq!(technique.suspend(erase.view(), 1), Suspension::No, "a die that runs nothing");
            for kind in [OpKind::Program, OpKind::Copyback] {
                assert_eq!(technique.suspend(running(kind, 100, Ns::MAX, 600).view(), 0), Suspension::No, "{mode:?}");
            }
        }
    }

    #[test]
    fn programs_are_cut_as_the_parameter_says() {
        let program = running(OpKind::Program, 100, Ns::MAX, 600);
        for (programs, answer) in [(Programs::InterPhase, Suspension::AtBoundary(Serve::UntilNoneWaits)), (Programs::IntraPhase, AGAIN)] {
            assert_eq!(EraseSuspension::new(Mode::Es, programs).suspend(program.view(), 0), answer);
        }
    }

    fn answer(timeout_ms: f64, clock: Clock, (begun, pending, now): (Ns, Ns, Ns)) -> Suspension {
        let mut technique = EraseSuspension::timed(timeout_ms, clock, Programs::Never);
        technique.prepare(&tiny_device()).unwrap();
        technique.suspend(running(OpKind::Erase, begun, pending, now).view(), 0)
    }

    fn at_once(by: Ns) -> Suspension {
        Suspension::Now(Keep::Steps, Serve::ArrivedBy(by))
    }

    #[test]
    fn the_dies_clock_counts_from_its_first_pending_erase() {
        assert_eq!(answer(0.005, Clock::Die, (1500, 1000, 5999)), at_once(6000));
        assert_eq!(answer(0.005, Clock::Die, (1500, 1000, 6000)), DEFERRED);
    }

    #[test]
    fn the_erases_clock_counts_what_is_not_progress() {
        // Begun at 1500 and never cut, it has not fallen behind.
        assert_eq!(answer(0.005, Clock::Erase, (1500, 1000, 8000)), at_once(13_000));
        let mut state = running(OpKind::Erase, 1500, 1000, 1500);
        let mut technique = EraseSuspension::timed(0.005, Clock::Erase, Programs::Never);
        technique.prepare(&tiny_device()).unwrap();
        // It goes on at 6499 with nothing done.
        state.flash.dies_for_test()[0].progress.started = 6499;
        state.flash.now = 7000;
        assert_eq!(technique.suspend(state.view(), 0), at_once(7001));
        state.flash.dies_for_test()[0].progress.started = 6500;
        assert_eq!(technique.suspend(state.view(), 0), DEFERRED);
    }

    #[test]
    fn no_time_at_all_is_deferred_and_no_end_is_at_once() {
        assert_eq!(answer(0.0, Clock::Die, (1000, 1000, 1000)), DEFERRED);
        assert_eq!(answer(f64::INFINITY, Clock::Die, (1000, 1000, 1 << 50)), AGAIN);
    }

    fn refusal(mut technique: EraseSuspension, device: &Device) -> String {
        technique.prepare(device).unwrap_err().to_string()
    }

    #[test]
    fn absurd_timeouts_and_timeouts_of_other_modes_are_refused() {
        let device = tiny_device();
        for (timeout, named) in [(-1.0, "-1"), (f64::NAN, "NaN"), (3_600_001.0, "3600001"), (f64::NEG_INFINITY, "-inf")] {
            let refusal = refusal(EraseSuspension::timed(timeout, Clock::Die, Programs::Never), &device);
            assert!(refusal.contains(&format!("`timeout_ms` is {named}; allowed: 0 to 3600000, or inf")), "{refusal}");
        }
        EraseSuspension::timed(3_600_000.0, Clock::Die, Programs::Never).prepare(&device).unwrap();
        let ignored = EraseSuspension { clock: Some(Clock::Die), ..EraseSuspension::new(Mode::Es, Programs::Never) };
        let refusal = refusal(ignored, &device);
        assert!(refusal.contains("`clock`") && refusal.contains("`mode` is \"es\""), "{refusal}");
    }

    #[test]
    fn operations_of_one_step_have_no_boundary_to_suspend_at() {
        let mut device = tiny_device();
        let in_phases = || EraseSuspension::new(Mode::Es, Programs::InterPhase);
        assert!(refusal(in_phases(), &device).contains("`program_steps` = 1; allowed: 2 or more"));
        device.timing.program_steps = 2;
        in_phases().prepare(&device).unwrap();
        device.timing.erase_steps = 1;
        for (mode, name) in [(Mode::IEs, "i_es"), (Mode::DEs, "d_es"), (Mode::TEs, "t_es")] {
            let refusal = refusal(EraseSuspension::new(mode, Programs::Never), &device);
            assert!(refusal.contains(&format!("`mode` = \"{name}\" suspends erases between two steps")), "{refusal}");
            assert!(refusal.contains("`erase_steps` = 1"), "{refusal}");
        }
        EraseSuspension::new(Mode::Es, Programs::Never).prepare(&device).unwrap();
        device.timing.erases_per_extra_step = Some(10);
        EraseSuspension::new(Mode::IEs, Programs::Never).prepare(&device).unwrap();
    }
}
