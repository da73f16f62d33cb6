//! # Fast pages by locality
//!
//! **What it does.** Chooses between `slow_gc` and `fast_gc` by what is measured, in windows of so many pages of the host. Fast pages
//! go to the host, unless GC is in the way and a trial finds it better otherwise. GC is in the way where more than half a page is
//! moved for each page of the host while writes of the host wait for a die: not with good locality, nor in bursts that the pool
//! of erased blocks takes in. A trial gives the other preference two windows, and measures its cost in the second: the time that
//! dies spend on the host's programs and on GC in their way, for each page of the host. The preference stays that costs less; a
//! difference within the hysteresis changes nothing. The first trial comes after `trial_windows` windows with GC in the way, the next
//! one after as many if anything has changed, otherwise after four times as many.
//!
//! **Source.** The Harey Tortoise, section 6, leaves open how to detect the right preference. With m moves for each page of the host,
//! Equations 1 and 2 make a page cost `w_host + m (read + w_gc) + erase`: fast pages are the host's if m is below 1. That takes
//! for granted that preferred pages never run out and that m does not depend on the preference; where m is well below 1 neither
//! matters, and elsewhere only a trial tells. Moves that no write waits for cost nothing and do not count.
//!
//! Fast pages for the host come first for another reason, too: no page is skipped, so that over a long time both preferences use
//! equally many, and what is left is the order; a fast page that the host takes in a burst leaves a slow one for idle time.
//!
//! **Parameters.** `window_pages` (default 16384, 1 to 2^32): pages of the host in a window. `hysteresis_percent` (default 2, 0 to
//! 1000). `trial_windows` (default 64, 1 to 65,536). Decisions: 64 MiB, about what a drive of eight dies writes in 5 s, since what
//! a preference leaves behind for idle time is a part of its cost; 2 %, by which two windows differ by chance; and 64, so that
//! trials of what turns out worse, after which write points need some windows to recover, take a few percent of the time at most.
//!
//! **Cost.** Where fast pages are GC's better, this is found only after `trial_windows` windows.

use crate::config::ConfigError;
use crate::device::Device;
use crate::policy::page_choice::{fast_gc, slow_gc};
use crate::policy::{PageChoice, Wish, Writer};
use crate::view::{View, Work};
use schemars::JsonSchema;
use serde::Deserialize;

/// The preference that suits what was measured.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByLocality {
    #[serde(default = "window_pages")]
    window_pages: u64,
    #[serde(default = "hysteresis_percent")]
    hysteresis_percent: u64,
    #[serde(default = "trial_windows")]
    trial_windows: u32,
    #[serde(skip)]
    gc_has_fast: bool,
    #[serde(skip)]
    phase: Phase,
    /// After how many times `trial_windows` the next trial comes.
    #[serde(skip)]
    rest: u32,
    /// What had been done when the window began.
    #[serde(skip)]
    then: Work,
}

/// What a window is for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// So many windows with GC in the way since the last trial.
    Settled(u32),
    /// The other preference has just been taken; what the one before cost.
    Changing(f64),
    /// Its cost is measured.
    Trying(f64),
}

impl Default for Phase {
    fn default() -> Self {
        Self::Settled(0)
    }
}

pub(super) fn window_pages() -> u64 {
    16_384
}

pub(super) fn hysteresis_percent() -> u64 {
    2
}

pub(super) fn trial_windows() -> u32 {
    64
}

impl Default for ByLocality {
    fn default() -> Self {
        Self::new(window_pages(), hysteresis_percent(), trial_windows())
    }
}

impl ByLocality {
    /// One with windows of so many pages.
    pub fn new(window_pages: u64, hysteresis_percent: u64, trial_windows: u32) -> Self {
        Self {
            window_pages,
            hysteresis_percent,
            trial_windows,
            gc_has_fast: false,
            rest: 1,
            phase: Phase::default(),
            then: Work::default(),
        }
    }

    /// Looks at the window, if it is over.
    fn look(&mut self, work: Work) {
        let pages = work.host_programs - self.then.host_programs;
        if pages < self.window_pages {
            return;
        }
        let moves = work.moves_in_the_way - self.then.moves_in_the_way;
        let ns = work.host_ns + work.gc_in_the_way_ns - self.then.host_ns - self.then.gc_in_the_way_ns;
        let cost = ns as f64 / pages as f64;
        self.then = work;
        if 2 * moves < pages {
            (self.gc_has_fast, self.phase, self.rest) = (false, Phase::default(), 1);
            return;
        }
        self.phase = match self.phase {
            Phase::Settled(windows) if windows + 1 < self.rest.saturating_mul(self.trial_windows) => Phase::Settled(windows + 1),
            Phase::Settled(_) => {
                self.gc_has_fast = !self.gc_has_fast;
                Phase::Changing(cost)
            }
            Phase::Changing(before) => Phase::Trying(before),
            Phase::Trying(before) => {
                if cost * (100 + self.hysteresis_percent) as f64 <= before * 100.0 {
                    self.rest = 1;
                } else {
                    self.gc_has_fast = !self.gc_has_fast;
                    self.rest = self.rest.saturating_mul(4);
                }
                Phase::Settled(0)
            }
        };
    }
}

impl PageChoice for ByLocality {
    fn prepare(&mut self, _: &Device) -> Result<(), ConfigError> {
        for (key, value, least, most) in [
            ("window_pages", self.window_pages, 1, 1 << 32),
            ("hysteresis_percent", self.hysteresis_percent, 0, 1000),
            ("trial_windows", self.trial_windows.into(), 1, 65_536),
        ] {
            if !(least..=most).contains(&value) {
                return Err(ConfigError(format!("[page_choice] `{key}` is {value}; allowed: {least} to {most}")));
            }
        }
        self.rest = 1;
        Ok(())
    }

    fn wish(&mut self, view: View<'_>, writer: Writer, _: bool) -> Wish {
        self.look(view.work());
        if self.gc_has_fast { fast_gc::wish(writer) } else { slow_gc::wish(writer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The preferences that hold in windows of 100 pages, by what the windows cost with either: 10 ns for each page of the host, and
    /// so many moves for each.
    fn preferences(choice: &mut ByLocality, windows: usize, moves: u64, cost: impl Fn(bool) -> u64) -> Vec<bool> {
        let mut work = choice.then;
        let mut held = Vec::new();
        for _ in 0..windows {
            held.push(choice.gc_has_fast);
            work.host_programs += 100;
            work.host_ns += 1000;
            work.moves_in_the_way += moves * 100;
            work.gc_in_the_way_ns += 100 * cost(choice.gc_has_fast);
            choice.look(Work { host_programs: work.host_programs - 1, ..work });
            assert_eq!(choice.gc_has_fast, *held.last().unwrap(), "the window is not over");
            choice.look(work);
        }
        held
    }

    #[test]
    fn where_gc_is_in_the_way_the_other_preference_is_tried_and_stays_if_it_costs_less() {
        let (host, gc) = (false, true);
        let mut choice = ByLocality::new(100, 2, 3);
        assert_eq!(preferences(&mut choice, 9, 0, |_| 0), [host; 9], "nothing is in the way");
        // Three windows, two of the trial, three of rest, two of the next trial, of what is worse now.
        let held = preferences(&mut choice, 11, 2, |gc_has_fast| if gc_has_fast { 20 } else { 40 });
        assert_eq!(held, [host, host, host, gc, gc, gc, gc, gc, host, host, gc]);
        // The next rest is four times as long, with the window that was.
        let held = preferences(&mut choice, 14, 2, |gc_has_fast| if gc_has_fast { 20 } else { 40 });
        assert_eq!(held[..11], [gc; 11]);
        assert_eq!(held[11..], [host, host, gc]);
        // Good locality ends it at once.
        assert_eq!(preferences(&mut choice, 3, 0, |_| 0), [gc, host, host]);
    }

    #[test]
    fn a_difference_within_the_hysteresis_changes_nothing() {
        let mut choice = ByLocality::new(100, 10, 1);
        // 50 and 55 for each page: less by a tenth exactly counts, less by less does not.
        let held = preferences(&mut choice, 4, 1, |gc_has_fast| if gc_has_fast { 40 } else { 45 });
        assert_eq!(held, [false, true, true, true]);
        let mut choice = ByLocality::new(100, 10, 1);
        let held = preferences(&mut choice, 4, 1, |gc_has_fast| if gc_has_fast { 41 } else { 45 });
        assert_eq!(held, [false, true, true, false]);
    }

    #[test]
    fn a_window_without_pages_is_refused() {
        let error = ByLocality::new(0, 20, 1).prepare(&crate::testkit::tiny_device()).unwrap_err();
        assert!(error.0.contains("`window_pages` is 0; allowed: 1 to"), "{error}");
    }
}
