//! Whether the times of a trace are too coarse to say when its requests came.

use std::collections::BTreeMap;

/// Times finer than this are fine enough: what comes within it, a drive does as if it came at once.
const FINE_NS: u64 = 10_000;

/// More than this share of the requests at one time with others is more than chance.
const AT_ONCE_PERCENT: f64 = 50.0;

/// Recorded times that put most requests at one time with others.
#[derive(Clone, Debug, PartialEq)]
pub struct CoarseTimes {
    /// In words.
    pub message: String,
    /// All times are whole multiples of this, in nanoseconds, from that of the first request; none where all are one.
    pub resolution_ns: Option<u64>,
    /// The requests that have their time in common with others, in percent of all.
    pub at_once_percent: f64,
}

/// The recorded times of requests, as they pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Instants {
    last_ns: Option<i128>,
    /// The greatest common divisor of the differences, as long as it is coarse.
    divisor_ns: u64,
    /// How many requests have the latest time so far.
    at_last: u64,
    /// How many of those before have their time in common.
    at_once: u64,
    requests: u64,
}

impl CoarseTimes {
    /// The numbers that it rests on, with their names.
    #[must_use]
    pub fn figures(&self) -> BTreeMap<&'static str, f64> {
        let resolution = self.resolution_ns.map(|ns| ("resolution_s", ns as f64 / 1e9));
        [("at_once_percent", self.at_once_percent)].into_iter().chain(resolution).collect()
    }
}

impl Instants {
    pub(super) fn add(&mut self, time_ns: i128) {
        self.requests += 1;
        let Some(last_ns) = self.last_ns.replace(time_ns).filter(|last_ns| *last_ns != time_ns) else {
            self.at_last += 1;
            return;
        };
        self.at_once += common(self.at_last);
        self.at_last = 1;
        if self.divisor_ns == 0 || self.divisor_ns >= FINE_NS {
            self.divisor_ns = gcd(self.divisor_ns, u64::try_from((time_ns - last_ns).unsigned_abs()).unwrap_or(1));
        }
    }

    /// What is to be said of them, if they are coarse.
    pub(super) fn coarse(&self) -> Option<CoarseTimes> {
        let at_once = self.at_once + common(self.at_last);
        let at_once_percent = 100.0 * at_once as f64 / self.requests.max(1) as f64;
        let resolution_ns = Some(self.divisor_ns).filter(|divisor_ns| *divisor_ns > 0);
        if at_once_percent <= AT_ONCE_PERCENT || resolution_ns.is_some_and(|resolution_ns| resolution_ns < FINE_NS) {
            return None;
        }
        let share = if at_once_percent < 99.95 { format!("{at_once_percent:.1} %") } else { "all".into() };
        let burst = "so that bursts, and the waits in them, may be the recorder's";
        let message = match resolution_ns {
            Some(ns) => format!("times have a resolution of {}, and {share} of the requests share theirs with others, {burst}", said(ns)),
            None => format!("all requests have one time, {burst}"),
        };
        Some(CoarseTimes { message, resolution_ns, at_once_percent })
    }
}

/// So many requests at one time have it in common, unless there is only one.
fn common(requests: u64) -> u64 {
    if requests > 1 { requests } else { 0 }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A time without zeroes behind the point.
fn said(ns: u64) -> String {
    let (unit_ns, name) = match ns {
        0..1_000_000 => (1e3, "us"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {name}", ns as f64 / unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coarse(times_ns: impl IntoIterator<Item = i128>) -> Option<(Option<u64>, f64)> {
        let mut instants = Instants::default();
        times_ns.into_iter().for_each(|time_ns| instants.add(time_ns));
        instants.coarse().map(|coarse| (coarse.resolution_ns, coarse.at_once_percent))
    }

    #[test]
    fn times_are_coarse_where_most_requests_share_them() {
        const SECOND: i128 = 1_000_000_000;
        // Three of four come in pairs or more; the first time counts for nothing.
        let some = |unit: i128| [0, 0, 3, 3, 3, 5, 8, 8].map(|units| 7 + units * unit);
        assert_eq!(coarse(some(SECOND)), Some((Some(1_000_000_000), 87.5)));
        assert_eq!(coarse(some(15_625_000)), Some((Some(15_625_000), 87.5)));
        assert_eq!(coarse(some(10_000)), Some((Some(10_000), 87.5)));
        assert_eq!(coarse(some(9_999)), None);
        assert_eq!(coarse(some(10_000).into_iter().chain([100_005; 2])), None);
        // Half of the requests are not most of them.
        assert_eq!(coarse([0, 0, SECOND, 2 * SECOND]), None);
        assert_eq!(coarse([0, 0, 0, SECOND, 2 * SECOND]), Some((Some(1_000_000_000), 60.0)));
        // One line out of step is a finer resolution.
        assert_eq!(coarse([0, 0, SECOND, SECOND, 2 * SECOND + 1]), None);
        // Late lines count like others.
        assert_eq!(coarse([2 * SECOND, 2 * SECOND, 0, 0]), Some((Some(2_000_000_000), 100.0)));
        assert_eq!(coarse([5, 5, 5]), Some((None, 100.0)));
        assert_eq!(coarse([5]), None);
        assert_eq!(coarse([]), None);
    }

    #[test]
    fn the_resolution_is_said_in_its_unit() {
        assert_eq!([1_000_000_000, 15_625_000, 10_000].map(said), ["1 s", "15.625 ms", "10 us"]);
    }
}
