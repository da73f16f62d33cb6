//! Where latencies lie: enough percentiles to draw their distribution, closer together towards the tail.

use crate::classes::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// Where latencies lie, in columns of one length: the latency of each percentile, in microseconds; `None` where there was no
/// request. Within 0.1 %, as all percentiles; that of 100 % is exact.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Distribution {
    /// The percentiles, ascending: every whole one up to 95, every tenth up to 99.9, every hundredth up to 99.99, every
    /// thousandth up to 99.999, and 100.
    pub percent: Vec<f64>,
    /// Of reads.
    pub read_us: Vec<Option<f64>>,
    /// Of writes.
    pub write_us: Vec<Option<f64>>,
}

/// The percentiles in thousandths of a percent.
fn grid() -> impl Iterator<Item = u64> {
    let steps = [(0, 95_000, 1000), (95_000, 99_900, 100), (99_900, 99_990, 10), (99_990, 100_000, 1)];
    steps.into_iter().flat_map(|(from, to, step)| (from..to).step_by(step).skip(usize::from(from == 0))).chain([100_000])
}

impl Distribution {
    /// Of the reads and the writes of these histograms.
    #[must_use]
    pub fn new(reads: &Histogram, writes: &Histogram) -> Self {
        Self { percent: grid().map(|share| share as f64 / 1000.0).collect(), read_us: column(reads), write_us: column(writes) }
    }
}

/// The latency of each percentile, found in one pass.
fn column(histogram: &Histogram) -> Vec<Option<f64>> {
    let count = u128::from(histogram.len());
    let mut ranked = histogram.ranked(grid().map(|share| (count * u128::from(share)).div_ceil(100_000) as u64));
    grid().map(|_| ranked.next().map(|ns| ns as f64 / 1000.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinytail_core::units::Ns;

    fn of(latencies: impl Iterator<Item = Ns>) -> Distribution {
        let mut histogram = Histogram::default();
        latencies.for_each(|latency| histogram.record(latency));
        Distribution::new(&histogram, &Histogram::default())
    }

    #[test]
    fn each_percentile_is_the_latency_that_so_many_do_not_exceed() {
        let found = of((1..=1_000_000).map(|rank| rank * 1000));
        assert_eq!(found.percent.len(), found.read_us.len());
        assert!(found.percent.is_sorted_by(|a, b| a < b));
        for (percent, us) in found.percent.iter().zip(&found.read_us) {
            let truth = percent * 10_000.0;
            assert!((us.unwrap() / truth - 1.0).abs() < 0.001, "{us:?} at {percent}");
        }
        assert_eq!(found.read_us.last(), Some(&Some(1_000_000.0)));
    }

    #[test]
    fn one_slow_request_in_a_hundred_shows_from_99_percent_on() {
        let found = of((0..99).map(|_| 1000).chain([9000]));
        let at = |percent: f64| found.read_us[found.percent.iter().position(|&p| p == percent).unwrap()].unwrap();
        assert_eq!((at(98.9), at(99.0), at(99.1), at(100.0)), (1.0, 1.0, 9.0, 9.0));
    }

    #[test]
    fn without_requests_there_are_no_latencies() {
        let found = of([5000].into_iter());
        assert!(found.write_us.iter().all(Option::is_none));
        assert!(found.read_us.iter().all(|&us| us == Some(5.0)));
    }
}
