//! # The workload mode that the operating system signals
//!
//! **What it does.** The operating system tells the drive when its load changes: from bursts to a sustained load, or back. In the
//! burst mode writes go by `return_to_fast`, in the sustained mode by `by_locality`. The share of `[order] policy = "rate_match"`
//! holds in the sustained mode alone: in the burst mode GC that is not urgent has none. A run begins in the burst mode.
//!
//! **Source.** The Harey Tortoise, section 6, OS support: "the OS could signal a course-grained switch between workload style". The
//! other half of that paragraph, hints with single accesses, is the mark of critical writes. Decisions: the signal comes at given
//! times of the measured run, since no trace and no job file has one; it takes effect at once; what `by_locality` has found
//! outlasts the burst mode, which it does not measure; and idle time returns write points to fast pages in both modes, as in
//! `dynamic`, since a signal is no work that would wake an idle drive.
//!
//! **Parameters.** `switches_ms` (needed): the times at which the mode changes, in ms since counting began; warming up has them
//! too, from its own beginning. Each is later than the one before, 0 to 86,400,000; with 0 first the run begins in the
//! sustained mode. Without ramp time a workload begins 1 ms after counting. `burst`: a table with the parameters of
//! `return_to_fast`; `sustained`: one with those of `by_locality`. It needs `[order] policy = "rate_match"`.
//!
//! **Cost.** A wrong signal: bursts that wait for GC, or a sustained load that uses up the erased blocks and comes to urgent GC. The times
//! are the run's, and do not follow a workload that another drive makes longer.

use crate::policy::prelude::*;
use crate::techniques::page_choice::by_locality::ByLocality;
use crate::techniques::page_choice::return_to_fast::ReturnToFast;

const SWITCH_MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// Return to fast or by locality, as the operating system says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByWorkloadMode {
    switches_ms: ModeSwitches,
    #[serde(default)]
    burst: ReturnToFast,
    #[serde(default)]
    sustained: ByLocality,
    /// The mode of the last answer.
    #[serde(skip)]
    was_sustained: bool,
}

impl ByWorkloadMode {
    /// When the mode changes.
    pub fn switches(&self) -> &ModeSwitches {
        &self.switches_ms
    }
}

impl PageChoice for ByWorkloadMode {
    fn measures(&mut self) -> bool {
        true
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        if with.order != "rate_match" {
            let found = format!("= \"by_workload_mode\" matches rates in one mode, and [order] `policy` = \"{}\" does not", with.order);
            faults.push(Fault::new("page_choice", "policy", found).with("order", "policy").allowed("\"rate_match\""));
        }
    }

    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        let ModeSwitches(switches_ms) = &self.switches_ms;
        if switches_ms.is_empty() || !switches_ms.is_sorted_by(|one, next| one < next) || switches_ms.iter().any(|&ms| ms > SWITCH_MAX_MS) {
            let fault = Fault::new("page_choice", "switches_ms", format!("is {switches_ms:?}"));
            faults.push(fault.allowed(format!("one or more times, 0 to {SWITCH_MAX_MS}, each later than the one before")));
        }
        faults.take(self.sustained.prepare(device));
        faults.result()
    }

    fn preference(&mut self, view: View<'_>, writer: Writer, urgent: bool) -> Preference {
        let (was, is) = (self.was_sustained, self.switches_ms.is_sustained(view.counted_ns()));
        self.was_sustained = is;
        let burst = self.burst.preference(view, writer, urgent);
        if !is {
            return burst;
        }
        if !was {
            self.sustained.begin_window(view.work());
        }
        let sustained = self.sustained.preference(view, writer, urgent);
        if matches!(burst, Preference::Unparked(_)) { burst } else { sustained }
    }

    fn parking(&mut self) -> Option<Parking> {
        self.burst.parking()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Parts, late_bound_state};

    fn choice(switches_ms: &[u64]) -> ByWorkloadMode {
        toml::from_str(&format!("switches_ms = {switches_ms:?}")).unwrap()
    }

    /// A drive whose counting began 7 ms ago, at 3 ms, and so many ns more or less.
    fn seven_ms_in(state: &mut Parts, more: i64) {
        state.flash.now = 3 * MS;
        state.flash.reset_counters();
        state.flash.now = (10 * MS).checked_add_signed(more).unwrap();
    }

    #[test]
    fn a_switch_holds_from_its_time_on_and_the_next_one_ends_it() {
        let mut state = late_bound_state(1);
        let cases: [(&[u64], [bool; 3]); 5] = [
            (&[7], [false, true, true]),
            (&[0, 7], [true, false, false]),
            (&[0], [true, true, true]),
            (&[8], [false, false, false]),
            (&[1, 2, 7], [false, true, true]),
        ];
        for (switches_ms, sustained) in cases {
            let mut choice = choice(switches_ms);
            choice.prepare(&state.flash.device).unwrap();
            // By the burst mode's rule fast pages are the host's, by that of the sustained mode here GC's.
            choice.sustained = ByLocality::after_a_trial();
            for (more, sustained) in [-1, 0, 1].into_iter().zip(sustained) {
                seven_ms_in(&mut state, more);
                let (view, host) = (state.view(), if sustained { Preference::Slow } else { Preference::Fast });
                let gc = if sustained { Preference::Fast } else { Preference::Slow };
                assert_eq!(choice.switches().is_sustained(view.counted_ns()), sustained, "{switches_ms:?} {more}");
                assert_eq!(choice.preference(view, Writer::Host, false), host, "{switches_ms:?} {more}");
                assert_eq!(choice.preference(view, Writer::Gc, true), gc, "{switches_ms:?} {more}");
                assert_eq!(choice.preference(view, Writer::Gc, false), Preference::Unparked(Parking::Fast), "idle time");
            }
        }
    }

    #[test]
    fn warming_up_has_the_switches_and_counting_begins_them_anew() {
        let mut state = late_bound_state(1);
        let choice = choice(&[7]);
        for (at, sustained) in [(7 * MS - 1, false), (7 * MS, true)] {
            state.flash.now = at;
            assert_eq!(choice.switches().is_sustained(state.view().counted_ns()), sustained);
        }
        state.flash.reset_counters();
        assert!(!choice.switches().is_sustained(state.view().counted_ns()));
    }

    #[test]
    fn the_burst_mode_is_not_measured() {
        let mut state = late_bound_state(1);
        let mut choice = choice(&[7]);
        choice.prepare(&state.flash.device).unwrap();
        choice.sustained = ByLocality::after_a_trial();
        let written = |state: &mut Parts, pages: u64| state.ftl.gc.work_for_test().host_programs = pages;
        // A window in which nothing is moved ends what a trial has found: pages of the burst mode fill none.
        seven_ms_in(&mut state, -1);
        written(&mut state, 100_000);
        assert_eq!(choice.preference(state.view(), Writer::Host, false), Preference::Fast);
        seven_ms_in(&mut state, 0);
        assert_eq!(choice.preference(state.view(), Writer::Host, false), Preference::Slow);
        written(&mut state, 100_000 + 16_383);
        assert_eq!(choice.preference(state.view(), Writer::Host, false), Preference::Slow);
        written(&mut state, 100_000 + 16_384);
        assert_eq!(choice.preference(state.view(), Writer::Host, false), Preference::Fast);
    }

    #[test]
    fn times_that_do_not_rise_or_are_none_are_refused() {
        for switches_ms in [&[][..], &[5, 5], &[5, 4], &[SWITCH_MAX_MS + 1]] {
            let error = choice(switches_ms).prepare(&crate::testkit::tiny_device()).unwrap_err().to_string();
            let found = format!("`switches_ms` is {switches_ms:?}; allowed: one or more times, 0 to 86400000");
            assert!(error.contains(&found), "{error}");
        }
        choice(&[0, SWITCH_MAX_MS]).prepare(&crate::testkit::tiny_device()).unwrap();
        let mut windows = choice(&[5]);
        windows.sustained = ByLocality::new(0, 8, 2, 64);
        let error = windows.prepare(&crate::testkit::tiny_device()).unwrap_err().to_string();
        assert!(error.contains("`window_pages` is 0"), "{error}");
    }
}
