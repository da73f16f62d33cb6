//! How long requests wait in the host because as many are outstanding as may be.

use crate::classes::Histogram;
use crate::latency::LatencySummary;
use schemars::JsonSchema;
use serde::Serialize;
use tinytail_core::observe::Completion;
use tinytail_core::units::{Ns, SECOND};

/// Waits in the host of requests that come at their own times where so many may be outstanding at most: from its own time until a
/// request is issued. Its latency begins then.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "HostWaits")]
pub struct HostWaitsNote {
    /// Requests that waited: reads, writes and trims.
    pub waited: u64,
    /// Their share of all requests, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub waited_percent: f64,
    /// From the first request's own time to that of the last, in seconds. `throughput.makespan_seconds` says how long they took.
    pub arrivals_seconds: f64,
    /// The waits of all requests, of 0 for those that did not wait.
    pub wait: LatencySummary,
}

impl HostWaitsNote {
    /// The mean wait of those that waited, in microseconds; `None` if none did.
    pub fn mean_us(&self) -> Option<f64> {
        let sum_us = self.wait.mean_us? * self.wait.count as f64;
        (self.waited > 0).then(|| sum_us / self.waited as f64)
    }
}

/// Measures waits in the host.
#[derive(Debug, Default)]
pub(crate) struct HostWaits {
    waits: Histogram,
    waited: u64,
}

impl HostWaits {
    /// A request has completed.
    #[inline(never)]
    pub(crate) fn add(&mut self, completion: &Completion) {
        let wait = completion.arrived - completion.asked;
        self.waits.record(wait);
        self.waited += u64::from(wait > 0);
    }

    /// What has been measured of requests whose own times span so long.
    pub(crate) fn note(&self, arrivals_ns: Ns) -> HostWaitsNote {
        HostWaitsNote {
            waited: self.waited,
            waited_percent: self.waited as f64 * 100.0 / self.waits.len().max(1) as f64,
            arrivals_seconds: arrivals_ns as f64 / SECOND as f64,
            wait: LatencySummary::of(&self.waits),
        }
    }
}
