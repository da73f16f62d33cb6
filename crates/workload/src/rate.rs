//! Rates: what arrives, and what is served, in each second. Every rate of requests that is shown comes from here.

use tinytail_core::units::{Ns, SECOND};

/// How many requests arrive in each second: those after the first, over the time from the first arrival to the last. None where
/// there are fewer than two, or all arrive at one instant.
#[must_use]
pub fn arrivals_per_second(requests: u64, first: Ns, last: Ns) -> Option<f64> {
    per_second(requests.checked_sub(1)? as f64, last.saturating_sub(first))
}

/// So much in a time, for each second of it. None where no time passed.
#[must_use]
pub fn per_second(amount: f64, ns: Ns) -> Option<f64> {
    (ns > 0).then(|| amount * SECOND as f64 / ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_counted_by_the_times_between_them() {
        // Every 10 us: 100,000 in a second, however many there are.
        for requests in [2, 3, 1000] {
            assert_eq!(arrivals_per_second(requests, 7_000, 7_000 + (requests - 1) * 10_000), Some(100_000.0));
        }
        assert_eq!([(0, 0), (1, 0), (5, 0)].map(|(requests, ns)| arrivals_per_second(requests, 3, 3 + ns)), [None; 3]);
    }
}
