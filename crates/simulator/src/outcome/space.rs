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
    /// For how many seconds after the end a drift below 0 could go on before writes stall: until GC is urgent, and comes before them.
    /// Where warming up took erased pages faster, it goes on as that did: the measured part writes the pages of a trace again, and
    /// finds emptier blocks than other writes would. `None` if drift is not below 0.
    pub stall_seconds: Option<f64>,
}

/// Erased pages of a drive, those of GC's reserve included.
pub(crate) fn erased_pages<O: Observer>(drive: &Drive<O>) -> u64 {
    let (tables, planes) = (drive.view().tables(), drive.view().geometry().planes());
    (0..planes).map(|plane| u64::from(tables.free_pages(plane))).sum()
}

impl ErasedNote {
    /// `kept_pages` are those that writes no longer get before GC has freed others, `seconds` the length of the measured part.
    pub(super) fn new(start_pages: u64, end_pages: u64, host_pages: u64, kept_pages: u64, seconds: f64) -> Self {
        let drift_pages = end_pages as i64 - start_pages as i64;
        let stall = || Decline { pages: drift_pages.unsigned_abs(), seconds }.seconds_for(end_pages.saturating_sub(kept_pages));
        Self {
            start_pages,
            end_pages,
            drift_pages,
            drift_percent: (host_pages > 0).then(|| drift_pages as f64 * 100.0 / host_pages as f64),
            stall_seconds: (drift_pages < 0).then(stall),
        }
    }
}

/// Erased pages that were taken in a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decline {
    pub pages: u64,
    pub seconds: f64,
}

impl Decline {
    /// How long it takes so many pages.
    pub fn seconds_for(self, pages: u64) -> f64 {
        pages as f64 * self.seconds / self.pages as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_what_gc_freed_less_than_was_used() {
        // 300 of 1000 pages of the host went to pages that were erased before, in 10 s; below 80 of the 200 that are left GC is urgent.
        let lived = ErasedNote::new(500, 200, 1000, 80, 10.0);
        assert_eq!((lived.drift_pages, lived.drift_percent, lived.stall_seconds), (-300, Some(-30.0), Some(4.0)));
        let repaid = ErasedNote::new(200, 500, 1000, 80, 10.0);
        assert_eq!((repaid.drift_pages, repaid.drift_percent, repaid.stall_seconds), (300, Some(30.0), None));
        let idle = ErasedNote::new(200, 200, 0, 80, 10.0);
        assert_eq!((idle.drift_pages, idle.drift_percent, idle.stall_seconds), (0, None, None));
        assert_eq!(ErasedNote::new(500, 70, 1000, 80, 10.0).stall_seconds, Some(0.0), "GC is urgent");
    }
}
