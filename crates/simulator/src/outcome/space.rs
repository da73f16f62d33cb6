//! The erased pages of a drive: whether a run lived on them, or freed more than it used.

use schemars::JsonSchema;
use serde::Serialize;
use tinytail_core::drive::Drive;
use tinytail_core::observe::Observer;

/// Erased pages of the whole drive when the measured part began and when it ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Erased")]
pub struct ErasedNote {
    /// When it began.
    pub start_pages: u64,
    /// When it ended.
    pub end_pages: u64,
    /// Drift: by how many pages there were more at the end. Below 0 there were fewer: the run lived on pages that its GC did not free.
    pub drift_pages: i64,
    /// Drift in percent of the pages that were programmed for the host; `None` if there were none.
    #[schemars(range(min = -1e9))]
    pub drift_percent: Option<f64>,
    /// For how many seconds after the end the erased pages of the plane with the fewest could fall on, until GC is urgent there and
    /// comes before writes. Only of a run that borrowed space, took erased pages to its end as fast as before, and lasted at least as
    /// long as that; `None` of others.
    pub urgent_seconds: Option<f64>,
}

/// Erased pages, those of GC's reserve included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ErasedPages {
    /// Of the whole drive.
    pub all: u64,
    /// Of the plane that has the fewest.
    pub fewest: u32,
}

impl ErasedPages {
    /// Those of a drive now.
    pub fn of<O: Observer>(drive: &Drive<O>) -> Self {
        let (tables, planes) = (drive.view().tables(), drive.view().geometry().planes());
        let of_planes = (0..planes).map(|plane| tables.free_pages(plane));
        Self { all: of_planes.clone().map(u64::from).sum(), fewest: of_planes.min().unwrap_or(0) }
    }
}

impl ErasedNote {
    pub(super) fn new(start_pages: u64, end_pages: u64, host_pages: u64) -> Self {
        let drift_pages = end_pages as i64 - start_pages as i64;
        Self {
            start_pages,
            end_pages,
            drift_pages,
            drift_percent: (host_pages > 0).then(|| drift_pages as f64 * 100.0 / host_pages as f64),
            urgent_seconds: None,
        }
    }
}

/// A run lives on erased pages, or frees them for others, if it does so by this share of the pages programmed for the host.
pub(super) const DRIFT_SHARE: f64 = 0.05;
/// What takes less than this share of its part of all the erased pages taken has become level.
const LEVEL_SHARE: f64 = 0.25;
/// What takes more than this share of its part has not become slower.
const STEADY_SHARE: f64 = 0.8;

/// How the erased pages fell while a run was measured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fall {
    /// How long the measured part lasted.
    pub seconds: f64,
    /// Erased pages that it took; below 0 if there were more at its end.
    pub taken_pages: i64,
    /// Those that its last third took.
    pub last_third_pages: i64,
    /// Pages that were programmed for the host in the last third.
    pub last_third_host_pages: u64,
    /// Pages that were programmed in the last third, for whatever purpose.
    pub last_third_programmed_pages: u64,
    /// Erased pages of the plane that had the fewest when it began.
    pub fewest_then: u32,
    /// The same when it ended.
    pub fewest_now: u32,
    /// Erased pages of a plane at which GC comes before writes.
    pub kept_pages: u32,
}

impl Fall {
    /// Whether the last third took erased pages still, and not only what came before.
    pub fn goes_on(self) -> bool {
        let last_third = self.last_third_pages as f64;
        last_third > DRIFT_SHARE * self.last_third_host_pages as f64 && last_third > LEVEL_SHARE / 3.0 * self.taken_pages as f64
    }

    /// Return the pages programmed for each page of the host in the last third; `None` without such pages.
    pub fn last_third_amplification(self) -> Option<f64> {
        (self.last_third_host_pages > 0).then(|| self.last_third_programmed_pages as f64 / self.last_third_host_pages as f64)
    }

    /// In how many seconds GC is urgent in the plane with the fewest erased pages. `None` where that is not known: a fall that becomes
    /// slower may end, one of less than a GC frees may be chance, and none is known to go on for longer than it was seen.
    pub fn urgent_seconds(self, gain_pages: f64) -> Option<f64> {
        if !self.goes_on() {
            return None;
        }
        let left = f64::from(self.fewest_now.saturating_sub(self.kept_pages));
        if left == 0.0 {
            return Some(0.0);
        }
        let fell = f64::from(self.fewest_then) - f64::from(self.fewest_now);
        let is_steady = self.last_third_pages as f64 >= STEADY_SHARE / 3.0 * self.taken_pages as f64;
        (is_steady && fell > gain_pages && left <= fell).then(|| left * self.seconds / fell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_what_gc_freed_less_than_was_used() {
        for (start, end, host, drift, percent) in
            [(500, 200, 1000, -300, Some(-30.0)), (200, 500, 1000, 300, Some(30.0)), (200, 200, 0, 0, None)]
        {
            let note = ErasedNote::new(start, end, host);
            assert_eq!((note.drift_pages, note.drift_percent), (drift, percent));
        }
    }

    /// A fall of 90 pages of each of ten planes in 10 s, with 60 more until GC is urgent.
    fn steady() -> Fall {
        Fall {
            seconds: 10.0,
            taken_pages: 900,
            last_third_pages: 300,
            last_third_host_pages: 1000,
            last_third_programmed_pages: 2000,
            fewest_then: 200,
            fewest_now: 110,
            kept_pages: 50,
        }
    }

    #[test]
    fn a_fall_goes_on_if_the_last_third_has_a_quarter_of_its_part_and_a_twentieth_of_what_was_programmed() {
        let with = |last_third_pages, last_third_host_pages| Fall { last_third_pages, last_third_host_pages, ..steady() }.goes_on();
        assert_eq!((with(76, 1000), with(75, 1000)), (true, false));
        assert_eq!((with(300, 5999), with(300, 6000)), (true, false));
        assert!(!with(-300, 1000));
    }

    #[test]
    fn urgent_gc_is_foretold_of_a_steady_fall_and_no_farther_than_it_was_seen() {
        assert_eq!(steady().urgent_seconds(45.0), Some(60.0 * 10.0 / 90.0));
        let with = |change: fn(&mut Fall)| {
            let mut fall = steady();
            change(&mut fall);
            fall.urgent_seconds(45.0)
        };
        assert_eq!(with(|fall| fall.last_third_pages = 240), steady().urgent_seconds(45.0));
        assert_eq!(with(|fall| fall.last_third_pages = 239), None, "it becomes slower");
        assert_eq!(with(|fall| fall.kept_pages = 20), Some(10.0));
        assert_eq!(with(|fall| fall.kept_pages = 19), None, "that is farther than it was seen");
        assert_eq!(with(|fall| fall.fewest_then = 155), None, "chance");
        assert_eq!(with(|fall| fall.kept_pages = 110), Some(0.0), "GC is urgent");
        assert_eq!(with(|fall| (fall.kept_pages, fall.last_third_pages) = (110, 0)), None, "it is level");
    }
}
