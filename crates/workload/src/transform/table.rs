//! The tables `[transform]` and `[tenants.NAME]` of a workload file.

use serde::Deserialize;

use super::{BurstGap, Fit, Transform};
use crate::error::WorkloadError;
use crate::file::{Check, Sourced, Text, TraceTable};

/// What is done to recorded requests, in the order of these keys.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TransformTable {
    /// Keep only this window: seconds since the first request, from and to. The first request kept is at time 0.
    window_s: Option<Sourced<(f64, f64)>>,
    /// Keep only the window of this length, in seconds, that has the most requests.
    busiest_s: Option<Sourced<f64>>,
    /// Make bursts: requests less than so many seconds apart come at once, and later ones so long after the burst before has
    /// completed; "mean" is the mean time between requests.
    burst_gap_s: Option<Sourced<BurstGap>>,
    /// Multiply times by this: 0.5 makes the stream twice as fast.
    scale_time: Option<Sourced<f64>>,
    /// Multiply sizes by this, to the nearest sector.
    scale_size: Option<Sourced<f64>>,
    /// Play it so many times, one after the other.
    repeat: Option<Sourced<u64>>,
    /// Play it over and over, until there are so many requests.
    repeat_to_requests: Option<Sourced<u64>>,
    /// What becomes of requests that reach beyond the region; they are an error without it.
    fit: Option<Sourced<Fit>>,
    /// Size of the region in bytes, a multiple of 512; the rest of the drive without it.
    region_bytes: Option<Sourced<u64>>,
    /// Where the region begins, in bytes, a multiple of 512: added to every address.
    offset_bytes: Option<Sourced<u64>>,
    /// Mark every write as critical, a hint that drives heed which place pages late.
    critical_writes: Option<Sourced<bool>>,
}

/// One of several traces that share a drive.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TenantTable {
    /// The trace.
    pub(crate) trace: TraceTable,
    /// What is done to its requests before they are merged with the others'.
    pub(crate) transform: Option<TransformTable>,
}

impl TransformTable {
    /// Checks the values of the table at `section`.
    pub(crate) fn check(&self, text: Text<'_>, section: &[&str]) -> Result<Transform, WorkloadError> {
        fn plain<T: Copy>(value: &Option<Sourced<T>>) -> Option<T> {
            value.as_ref().map(|sourced| sourced.value)
        }
        let transform = Transform {
            window_s: plain(&self.window_s),
            busiest_s: plain(&self.busiest_s),
            burst_gap_s: plain(&self.burst_gap_s),
            scale_time: plain(&self.scale_time),
            scale_size: plain(&self.scale_size),
            repeat: plain(&self.repeat),
            repeat_to_requests: plain(&self.repeat_to_requests),
            fit: plain(&self.fit),
            region_bytes: plain(&self.region_bytes),
            offset_bytes: plain(&self.offset_bytes),
            critical_writes: plain(&self.critical_writes),
        };
        match transform.problem() {
            Some((key, message)) => Err(Check { text, section }.fault(key, message)),
            None => Ok(transform),
        }
    }
}
