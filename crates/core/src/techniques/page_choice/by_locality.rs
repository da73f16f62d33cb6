//! # Fast pages by locality
//!
//! **What it does.** Chooses between the modes `slow_gc` and `fast_gc` of `by_writer` by what is measured, in windows of so many pages of the host. Fast pages
//! go to the host, unless GC is in the way and a trial finds it better otherwise. GC is in the way where more than half a page is
//! moved for each page of the host while writes of the host wait for a die: not with good locality, nor in bursts that the pool
//! of erased blocks takes in.
//!
//! What a preference costs is the time that dies spend on the host's programs and on GC in their way, for each page of the
//! host. A trial gives the other preference a window to take effect and up to `measured_windows` more, whose mean cost is
//! compared with that of the windows since the last change. It ends as soon as it is worse by more than chance and the
//! hysteresis, and stays only if it is better by more than both at its end; by chance is twice the standard error. The first
//! trial comes after `trial_windows` windows with GC in the way, the next one after as many if anything has changed, otherwise
//! after four times as many.
//!
//! **Source.** The Harey Tortoise, section 6, leaves open how to detect the right preference. With m moves for each page of the host,
//! Equations 1 and 2 make a page cost `w_host + m (read + w_gc) + erase`: fast pages are the host's if m is below 1. That takes
//! for granted that preferred pages never run out and that m does not depend on the preference; where m is well below 1 neither
//! matters, and elsewhere only a trial tells. Moves that no write waits for cost nothing and do not count.
//!
//! Fast pages for the host come first for another reason, too: no page is skipped, so that over a long time both preferences use
//! equally many, and what is left is the order; a fast page that the host takes in a burst leaves a slow one for idle time.
//!
//! **Parameters.** `window_pages` (default 16384, 1 to 2^32): pages of the host in a window. `measured_windows` (default 8, 1 to 1024).
//! `hysteresis_percent` (default 2, 0 to 1000). `trial_windows` (default 64, 2 to 65,536). Decisions: 64 MiB, about what a drive of
//! eight dies writes in 5 s, since what a preference leaves behind for idle time is a part of its cost; 8, since windows and the
//! host's bursts are not in step; 2 %, below which no choice is worth its trial; and 64, so that trials of what turns out worse, after
//! which write points need some windows to recover, take a few percent of the time.
//!
//! **Cost.** Where fast pages are GC's better, this is found only after `trial_windows` windows; each trial of what is worse costs some.

use crate::policy::prelude::*;
use crate::techniques::page_choice::by_writer::Mode;

/// The preference that suits what was measured.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ByLocality {
    pub(super) window_pages: u64,
    pub(super) measured_windows: u32,
    pub(super) hysteresis_percent: u64,
    pub(super) trial_windows: u32,
    #[serde(skip)]
    gc_has_fast: bool,
    #[serde(skip)]
    phase: Phase,
    /// What windows cost since the last change.
    #[serde(skip)]
    settled: Costs,
    /// After how many times `trial_windows` the next trial comes.
    #[serde(skip)]
    pause: u32,
    /// What had been done when the window began.
    #[serde(skip)]
    then: Work,
}

/// What a window is for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Phase {
    /// A preference that was changed takes effect.
    #[default]
    Settling,
    /// Nothing is tried.
    Settled,
    /// The other preference has just been taken.
    Changing,
    /// It is measured.
    Trying(Costs),
}

/// Costs of windows: how many, their mean, and the sum of the squares of what they differ from it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Costs {
    windows: u32,
    mean: f64,
    squares: f64,
}

impl Costs {
    fn add(&mut self, cost: f64) {
        self.windows += 1;
        let off = cost - self.mean;
        self.mean += off / f64::from(self.windows);
        self.squares += off * (cost - self.mean);
    }

    /// Twice the standard error of the difference between these windows' mean and another's, all of which vary as these do.
    fn chance(&self, others: u32) -> f64 {
        let variance = self.squares / f64::from(self.windows.max(2) - 1);
        2.0 * (variance * (1.0 / f64::from(self.windows.max(1)) + 1.0 / f64::from(others))).sqrt()
    }
}

impl Default for ByLocality {
    fn default() -> Self {
        Self::new(16_384, 8, 2, 64)
    }
}

impl ByLocality {
    /// One with windows of so many pages.
    pub fn new(window_pages: u64, measured_windows: u32, hysteresis_percent: u64, trial_windows: u32) -> Self {
        Self {
            window_pages,
            measured_windows,
            hysteresis_percent,
            trial_windows,
            gc_has_fast: false,
            phase: Phase::default(),
            settled: Costs::default(),
            pause: 1,
            then: Work::default(),
        }
    }

    /// One that has found that fast pages are better GC's.
    #[cfg(test)]
    pub(super) fn after_a_trial() -> Self {
        Self { gc_has_fast: true, phase: Phase::Settled, ..Self::default() }
    }

    /// A window begins now, whatever has been done since the last one did.
    pub(super) fn begin_window(&mut self, work: Work) {
        self.then = work;
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
            (self.phase, self.pause, self.settled) = (Phase::default(), 1, Costs::default());
            self.gc_has_fast = false;
            return;
        }
        match &mut self.phase {
            Phase::Settling => self.phase = Phase::Settled,
            Phase::Settled => {
                self.settled.add(cost);
                if self.settled.windows + 1 >= self.pause.saturating_mul(self.trial_windows) {
                    self.gc_has_fast = !self.gc_has_fast;
                    self.phase = Phase::Changing;
                }
            }
            Phase::Changing => self.phase = Phase::Trying(Costs::default()),
            Phase::Trying(tried) => {
                tried.add(cost);
                let tried = *tried;
                self.judge(tried);
            }
        }
    }

    /// Ends a trial that has shown enough.
    fn judge(&mut self, tried: Costs) {
        let gain = self.settled.mean - tried.mean;
        let needed = self.settled.chance(tried.windows).max(self.settled.mean * self.hysteresis_percent as f64 / 100.0);
        let is_over = tried.windows >= self.measured_windows;
        if is_over && gain >= needed {
            (self.phase, self.settled, self.pause) = (Phase::Settled, tried, 1);
        } else if is_over || -gain > needed {
            self.gc_has_fast = !self.gc_has_fast;
            (self.phase, self.settled, self.pause) = (Phase::Settling, Costs::default(), self.pause.saturating_mul(4));
        }
    }
}

impl PageChoice for ByLocality {
    fn measures(&mut self) -> bool {
        true
    }

    fn prepare(&mut self, _: &Device) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        faults.range("page_choice", "window_pages", self.window_pages, 1, 1 << 32);
        faults.range("page_choice", "measured_windows", self.measured_windows, 1, 1024);
        faults.range("page_choice", "hysteresis_percent", self.hysteresis_percent, 0, 1000);
        faults.range("page_choice", "trial_windows", self.trial_windows, 2, 65_536);
        self.pause = 1;
        faults.result()
    }

    fn preference(&mut self, view: View<'_>, writer: Writer, _: bool) -> Preference {
        self.look(view.work());
        if self.gc_has_fast { Mode::FastGc.preference(writer) } else { Mode::SlowGc.preference(writer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The preferences that hold in windows of 100 pages, by what the windows cost with either: 10 ns for each page of the host, and
    /// so many moves for each.
    fn preferences(choice: &mut ByLocality, windows: usize, moves: u64, mut cost: impl FnMut(bool) -> u64) -> Vec<bool> {
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
        let mut choice = ByLocality::new(100, 2, 2, 4);
        assert_eq!(preferences(&mut choice, 9, 0, |_| 0), [host; 9], "nothing is in the way");
        // Four windows, three of the trial; then two more that are measured, and the next trial, which is of what is worse and ends with
        // the first window that is measured.
        let held = preferences(&mut choice, 11, 2, |gc_has_fast| if gc_has_fast { 20 } else { 40 });
        assert_eq!(held, [host, host, host, host, gc, gc, gc, gc, host, host, gc]);
        // The next rest is four times as long.
        let held = preferences(&mut choice, 17, 2, |gc_has_fast| if gc_has_fast { 20 } else { 40 });
        assert_eq!(held[..15], [gc; 15]);
        assert_eq!(held[15..], [host, host]);
        // Good locality ends it at once.
        assert_eq!(preferences(&mut choice, 3, 0, |_| 0), [gc, host, host]);
    }

    #[test]
    fn a_difference_within_the_hysteresis_changes_nothing() {
        // 55 for each page of the host, its own 10 among them, and 10 % of that: a gain of 5.5.
        for (cost, changed) in [(39, true), (40, false), (50, false)] {
            let mut choice = ByLocality::new(100, 2, 10, 3);
            let held = preferences(&mut choice, 7, 1, |gc_has_fast| if gc_has_fast { cost } else { 45 });
            assert_eq!(held[..6], [false, false, false, true, true, true]);
            assert_eq!(held[6], changed, "{cost}");
        }
    }

    #[test]
    fn a_difference_that_may_be_chance_changes_nothing() {
        // Costs of a window go up and down; four of them tell a difference of 12 from chance, and two do not.
        for (measured, changed) in [(2, false), (6, true)] {
            let mut choice = ByLocality::new(100, measured, 2, 7);
            let mut noise = [0, 16].into_iter().cycle();
            let mut costs = move |gc_has_fast| noise.next().unwrap() + if gc_has_fast { 20 } else { 32 };
            let held = preferences(&mut choice, 8 + measured as usize + 1, 1, &mut costs);
            assert_eq!(held.last(), Some(&changed), "{held:?}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for (choice, said) in [
            (ByLocality::new(0, 8, 20, 2), "`window_pages` is 0; allowed: 1 to"),
            (ByLocality::new(1, 0, 20, 2), "`measured_windows` is 0; allowed: 1 to 1024"),
            (ByLocality::new(1, 8, 20, 1), "`trial_windows` is 1; allowed: 2 to"),
        ] {
            let mut choice = choice;
            let error = choice.prepare(&crate::testkit::tiny_device()).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
