//! # Timeout-based erase suspension (T-ES)
//!
//! **What it does.** As [`i_es`](#i_es-immediate-erase-suspension-i-es) until erases have been delayed for `timeout_ms`, from
//! then on as [`d_es`](#d_es-deferred-erase-suspension-d-es). If the time is over while an erase is suspended, the reads that
//! had arrived by then are served, and the erase goes on.
//!
//! The time of a die counts from the first pulse of an erase and goes on while erases follow one another there, so that a
//! write does not wait for several timeouts; it begins anew when the die has none left.
//!
//! **Source.** Practical Erase Suspension, section 2.4, for the timeout. It does not say from when the time counts: that of
//! the die is a decision, by which the longest write takes the timeout and the longest GC, as in its table 4.
//!
//! **Parameters.** `timeout_ms` (default 64, the paper's): milliseconds; 0 is D-ES, `inf` is I-ES; at most an hour otherwise.
//! `clock`: `"die"` (default), or `"erase"`, which counts for each erase by itself only the time by which it has fallen behind:
//! suspended, lost or spent on going on. `programs`, as of [`es`](#es-erase-suspension-es).
//!
//! **Cost.** Between those of I-ES and D-ES: a longer timeout, fewer reads that wait for a step and longer waits of writes.

use crate::config::ConfigError;
use crate::device::Device;
use crate::flash::ask::{Keep, Serve, Suspension};
use crate::flash::op::OpKind;
use crate::ids::DieIx;
use crate::policy::interface::Suspend;
use crate::policy::suspend::{Programs, needs_steps};
use crate::units::{MS, Ns};
use crate::view::{Pulse, View};
use serde::Deserialize;

/// The longest timeout that ends, in milliseconds: an hour.
const TIMEOUT_MS_MAX: f64 = 3_600_000.0;

/// What a timeout is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The time for which the die has had erases to run.
    #[default]
    Die,
    /// The time by which the erase has fallen behind.
    Erase,
}

/// At once until erases have been delayed for long enough, then at the end of the current step.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TEs {
    #[serde(default = "paper")]
    timeout_ms: f64,
    #[serde(default)]
    clock: Clock,
    #[serde(default)]
    programs: Programs,
    #[serde(skip)]
    timeout_ns: Ns,
}

fn paper() -> f64 {
    64.0
}

impl TEs {
    /// With a timeout in milliseconds, infinity allowed.
    pub fn new(timeout_ms: f64, clock: Clock, programs: Programs) -> Self {
        Self { timeout_ms, clock, programs, timeout_ns: 0 }
    }

    fn delayed_ns(&self, pulse: &Pulse, now: Ns) -> Ns {
        match self.clock {
            Clock::Die => now - pulse.pending_since,
            Clock::Erase => now - pulse.first_started - pulse.done,
        }
    }
}

impl Suspend for TEs {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let timeout = self.timeout_ms;
        if !(0.0..=TIMEOUT_MS_MAX).contains(&timeout) && timeout != f64::INFINITY {
            return Err(ConfigError(format!("[suspend] `timeout_ms` is {timeout}; allowed: 0 to {TIMEOUT_MS_MAX}, or inf")));
        }
        needs_steps("t_es", device)?;
        self.timeout_ns = if timeout.is_finite() { (timeout * MS as f64).round() as Ns } else { Ns::MAX };
        self.programs.prepare(device)
    }

    fn suspend(&mut self, view: View<'_>, die: DieIx) -> Suspension {
        let Some(pulse) = view.pulse(die) else { return Suspension::No };
        if pulse.kind != OpKind::Erase {
            return self.programs.answer();
        }
        if self.timeout_ns == Ns::MAX {
            return Suspension::Now(Keep::Steps, Serve::UntilNoneWaits);
        }
        match self.timeout_ns.saturating_sub(self.delayed_ns(&pulse, view.now())) {
            0 => Suspension::AtBoundary(Serve::Arrived),
            left => Suspension::Now(Keep::Steps, Serve::ArrivedBy(view.now() + left)),
        }
    }

    fn active(&mut self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::suspend::testkit::running;
    use crate::testkit::tiny_device;

    fn answer(timeout_ms: f64, clock: Clock, (begun, pending, now): (Ns, Ns, Ns)) -> Suspension {
        let mut technique = TEs::new(timeout_ms, clock, Programs::Never);
        technique.prepare(&tiny_device()).unwrap();
        technique.suspend(running(OpKind::Erase, begun, pending, now).view(), 0)
    }

    const DEFERRED: Suspension = Suspension::AtBoundary(Serve::Arrived);

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
        let mut technique = TEs::new(0.005, Clock::Erase, Programs::Never);
        technique.prepare(&tiny_device()).unwrap();
        // It goes on at 6499 with nothing done.
        state.flash.dies_for_test()[0].pulse.started = 6499;
        state.flash.now = 7000;
        assert_eq!(technique.suspend(state.view(), 0), at_once(7001));
        state.flash.dies_for_test()[0].pulse.started = 6500;
        assert_eq!(technique.suspend(state.view(), 0), DEFERRED);
    }

    #[test]
    fn no_time_at_all_is_deferred_and_no_end_is_at_once() {
        assert_eq!(answer(0.0, Clock::Die, (1000, 1000, 1000)), DEFERRED);
        let always = Suspension::Now(Keep::Steps, Serve::UntilNoneWaits);
        assert_eq!(answer(f64::INFINITY, Clock::Die, (1000, 1000, 1 << 50)), always);
    }

    #[test]
    fn absurd_timeouts_and_single_steps_are_refused() {
        let mut device = tiny_device();
        for (timeout, named) in [(-1.0, "-1"), (f64::NAN, "NaN"), (3_600_001.0, "3600001"), (f64::NEG_INFINITY, "-inf")] {
            let refusal = TEs::new(timeout, Clock::Die, Programs::Never).prepare(&device).unwrap_err();
            assert!(refusal.0.contains(&format!("`timeout_ms` is {named}; allowed: 0 to 3600000, or inf")), "{}", refusal.0);
        }
        TEs::new(3_600_000.0, Clock::Die, Programs::Never).prepare(&device).unwrap();
        device.timing.erase_steps = 1;
        let refusal = TEs::new(64.0, Clock::Die, Programs::Never).prepare(&device).unwrap_err();
        assert!(refusal.0.contains("\"t_es\" suspends erases between two steps"), "{}", refusal.0);
    }
}
