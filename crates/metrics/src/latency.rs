//! The figures that are shown of latencies.

use crate::classes::Histogram;
use schemars::JsonSchema;
use serde::Serialize;
use tinytail_core::units::Ns;

/// Latencies of all requests of one kind in microseconds, from the arrival at the host to the last page; `None` where there was no
/// request. Where a bound keeps requests waiting for others, they begin after that wait. Percentiles come from a histogram and are within 0.1 %.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Latency")]
pub struct LatencySummary {
    /// Requests completed.
    pub count: u64,
    /// Mean, exact.
    pub mean_us: Option<f64>,
    /// Median.
    pub p50_us: Option<f64>,
    /// 90th percentile.
    pub p90_us: Option<f64>,
    /// 95th percentile.
    pub p95_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    pub p999_us: Option<f64>,
    /// 99.99th percentile.
    pub p9999_us: Option<f64>,
    /// 99.999th percentile.
    pub p99999_us: Option<f64>,
    /// Maximum, exact.
    pub max_us: Option<f64>,
}

impl LatencySummary {
    /// Of the latencies that were counted.
    pub fn of(latencies: &Histogram) -> Self {
        let us = |ns: Option<Ns>| ns.map(|ns| ns as f64 / 1000.0);
        let percentiles = latencies.percentiles_ns([0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999]);
        let [p50_us, p90_us, p95_us, p99_us, p999_us, p9999_us, p99999_us] = percentiles.map(us);
        Self {
            count: latencies.len(),
            mean_us: latencies.mean_ns().map(|ns| ns / 1000.0),
            p50_us,
            p90_us,
            p95_us,
            p99_us,
            p999_us,
            p9999_us,
            p99999_us,
            max_us: (!latencies.is_empty()).then_some(latencies.max_ns() as f64 / 1000.0),
        }
    }
}
