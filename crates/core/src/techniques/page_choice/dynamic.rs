//! # The dynamic FTL
//!
//! **What it does.** In idle time it is `return_to_fast`, and when a burst begins, too: the host has fast pages. As the burst uses up
//! the pool of erased blocks, more and more writes go by `by_locality` instead: of all writes the part by which the pool has
//! shrunk from the background threshold to a sustainable level. Below that level all do. With `[order] policy = "rate_match"`
//! and `hand_over` GC gets its share of time in the same steps.
//!
//! **Source.** The Harey Tortoise, section 6: RTF for short bursts, then "a graceful degradation of performance", then rate
//! matching until an idle period. Decision: which writes go by which rule follows evenly from the part, not by chance.
//!
//! **Parameters.** `parking`, as `return_to_fast` has it. `sustainable_percent` (default 25, 0 to 99): the sustainable level, in percent
//! of the way from the emergency to the background threshold. `window_pages`,
//! `measured_windows`, `hysteresis_percent` and `trial_windows`, as `by_locality` has them. It needs a `[gc_trigger]` with thresholds
//! and `[place] policy = "next_idle"`.
//!
//! **Cost.** That of `return_to_fast` in idle time. A sustained load starts with an empty reserve of fast pages.

use crate::policy::prelude::*;
use crate::techniques::page_choice::by_locality::ByLocality;
use crate::techniques::page_choice::return_to_fast::{ReturnToFast, Strength};

/// Return to fast, and by locality as the pool shrinks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dynamic {
    parking: Strength,
    sustainable_percent: u32,
    window_pages: u64,
    measured_windows: u32,
    hysteresis_percent: u64,
    trial_windows: u32,
    #[serde(skip)]
    early: ReturnToFast,
    #[serde(skip)]
    late: ByLocality,
    /// The credit of the first rule, for the host and for GC: writes, in thousandths.
    #[serde(skip)]
    credit: [u32; 2],
}

impl Default for Dynamic {
    fn default() -> Self {
        let late = ByLocality::default();
        Self {
            parking: Strength::default(),
            sustainable_percent: 25,
            window_pages: late.window_pages,
            measured_windows: late.measured_windows,
            hysteresis_percent: late.hysteresis_percent,
            trial_windows: late.trial_windows,
            early: ReturnToFast::default(),
            late,
            credit: [0; 2],
        }
    }
}

impl Dynamic {
    /// A dynamic FTL with write points that park so, and with windows of so many pages, every other of which begins a short trial.
    pub fn new(parking: Strength, window_pages: u64) -> Self {
        Self { parking, window_pages, measured_windows: 1, trial_windows: 2, ..Self::default() }
    }
}

impl PageChoice for Dynamic {
    fn measures(&mut self) -> bool {
        true
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        with.needs_pool("page_choice", "dynamic", faults);
    }

    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        faults.range("page_choice", "sustainable_percent", self.sustainable_percent, 0, 99);
        self.early = ReturnToFast::new(self.parking);
        self.late = ByLocality::new(self.window_pages, self.measured_windows, self.hysteresis_percent, self.trial_windows);
        faults.take(self.late.prepare(device));
        faults.result()
    }

    fn preference(&mut self, view: View<'_>, writer: Writer, urgent: bool) -> Preference {
        // It watches what is written whichever rule holds.
        let late = self.late.preference(view, writer, urgent);
        let early = self.early.preference(view, writer, urgent);
        if matches!(early, Preference::Unparked(_)) {
            return early;
        }
        let credit = &mut self.credit[usize::from(writer == Writer::Gc)];
        *credit += view.pool_permille(self.sustainable_percent);
        if *credit >= 1000 {
            *credit -= 1000;
            return early;
        }
        late
    }

    fn parking(&mut self) -> Option<Parking> {
        Some(self.parking.parking())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{late_bound_state, take_pages};

    #[test]
    fn the_part_of_the_pool_that_is_left_goes_by_the_first_rule_evenly() {
        // Thresholds of 10 and 2 erased blocks: the pool begins at 10, and ends at 4, a quarter of the way up from 2.
        for (erased, early) in [(24, 8), (10, 8), (7, 4), (4, 0), (2, 0)] {
            let mut state = late_bound_state(1);
            for plane in 0..2 {
                take_pages(&mut state, plane, 0, (24 - erased) * 4);
            }
            let mut choice = Dynamic::default();
            choice.prepare(&state.flash.device).unwrap();
            // By the first rule fast pages are the host's, by the second GC's.
            choice.late = ByLocality::after_a_trial();
            let preferences = [(); 8].map(|()| choice.preference(state.view(), Writer::Host, false));
            assert_eq!(
                preferences.iter().filter(|&&preference| preference == Preference::Fast).count(),
                early,
                "{erased} erased blocks: {preferences:?}"
            );
        }
    }

    #[test]
    fn a_level_above_the_pool_is_refused() {
        let mut choice = Dynamic { sustainable_percent: 100, ..Dynamic::default() };
        let error = choice.prepare(&crate::testkit::tiny_device()).unwrap_err();
        assert!(error.to_string().contains("`sustainable_percent` is 100; allowed: 0 to 99"), "{error}");
    }
}
