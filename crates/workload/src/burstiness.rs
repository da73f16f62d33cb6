//! When requests arrive: their rate, and how far it is from even.

use tinytail_core::units::{MS, Ns, SECOND};

/// One class for no time at all, and one for each power of ten of nanoseconds.
const GAP_DIGITS: usize = 21;

/// The times of a stream of requests, measured as they pass.
#[derive(Clone, Debug)]
pub(crate) struct Burstiness {
    first_ns: Option<Ns>,
    last_ns: Ns,
    gaps: u64,
    gap_mean_ns: f64,
    gap_squares_ns2: f64,
    /// Of each number of digits, how many times between requests have so many in ns; the first are 0.
    gap_digits: [u64; GAP_DIGITS],
    seconds: Counts,
    tenths: Counts,
}

/// How many requests fall into each of the intervals of one length, counted from the time 0. Empty ones between the first and
/// the last request count too.
#[derive(Clone, Debug)]
struct Counts {
    interval_ns: Ns,
    first: u64,
    current: u64,
    count: u64,
    peak: u64,
    sum: f64,
    squares: f64,
}

impl Default for Burstiness {
    fn default() -> Self {
        Self {
            first_ns: None,
            last_ns: 0,
            gaps: 0,
            gap_mean_ns: 0.0,
            gap_squares_ns2: 0.0,
            gap_digits: [0; GAP_DIGITS],
            seconds: Counts::new(SECOND),
            tenths: Counts::new(100 * MS),
        }
    }
}

impl Burstiness {
    /// Takes the time of the next request, which must not be before that of the one before.
    pub(crate) fn add(&mut self, at: Ns) {
        if self.first_ns.is_some() {
            // Welford's running mean and sum of squared differences.
            self.gaps += 1;
            let gap = at - self.last_ns;
            // Up to 10 ns, up to 100 ns, and so on.
            let digits = if gap == 0 { 0 } else { (gap - 1).checked_ilog10().map_or(1, |digits| digits as usize + 1) };
            self.gap_digits[digits] += 1;
            let gap_ns = gap as f64;
            let difference = gap_ns - self.gap_mean_ns;
            self.gap_mean_ns += difference / self.gaps as f64;
            self.gap_squares_ns2 += difference * (gap_ns - self.gap_mean_ns);
        } else {
            self.first_ns = Some(at);
        }
        self.last_ns = at;
        self.seconds.add(at);
        self.tenths.add(at);
    }

    /// When the first request comes, and when the last.
    pub(crate) fn ends(&self) -> (Ns, Ns) {
        (self.first_ns.unwrap_or(self.last_ns), self.last_ns)
    }

    /// From the first to the last request, in seconds.
    pub(crate) fn duration_s(&self) -> f64 {
        let (first, last) = self.ends();
        (last - first) as f64 / SECOND as f64
    }

    /// Coefficient of variation of the times between requests; 0 without times.
    pub(crate) fn interarrival_cv(&self) -> f64 {
        if self.gap_mean_ns > 0.0 { (self.gap_squares_ns2 / self.gaps as f64).sqrt() / self.gap_mean_ns } else { 0.0 }
    }

    /// How many times between requests are up to a power of ten of nanoseconds; those of nothing come first.
    pub(crate) fn gap_classes(&self) -> impl Iterator<Item = (f64, u64)> {
        let up_to_ns = |digits: usize| if digits == 0 { 0.0 } else { 10_f64.powi(digits as i32) };
        self.gap_digits.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(digits, count)| (up_to_ns(digits), *count))
    }

    /// Requests in the busiest second over those of all seconds on average, and the same of 100 ms. Neither is below 1.
    pub(crate) fn peaks_to_mean(&self) -> (f64, f64) {
        (self.seconds.peak_to_mean(), self.tenths.peak_to_mean())
    }

    /// Requests in the busiest second, and in the busiest 100 ms.
    pub(crate) fn peaks(&self) -> (u64, u64) {
        (self.seconds.peak, self.tenths.peak)
    }

    /// Variance of the number of requests in a second over its mean, and the same of 100 ms.
    pub(crate) fn dispersions(&self) -> (f64, f64) {
        (self.seconds.dispersion(), self.tenths.dispersion())
    }
}

impl Counts {
    fn new(interval_ns: Ns) -> Self {
        Self { interval_ns, first: 0, current: 0, count: 0, peak: 0, sum: 0.0, squares: 0.0 }
    }

    fn add(&mut self, at: Ns) {
        let interval = at / self.interval_ns;
        if interval != self.current {
            if self.count == 0 {
                self.first = interval;
            }
            self.end_interval();
            self.current = interval;
        }
        self.count += 1;
        self.peak = self.peak.max(self.count);
    }

    fn end_interval(&mut self) {
        let count = self.count as f64;
        self.sum += count;
        self.squares += count * count;
        self.count = 0;
    }

    fn intervals(&self) -> f64 {
        (self.current - self.first + 1) as f64
    }

    fn peak_to_mean(&self) -> f64 {
        let mean = (self.sum + self.count as f64) / self.intervals();
        if mean > 0.0 { self.peak as f64 / mean } else { 0.0 }
    }

    fn dispersion(&self) -> f64 {
        let mut ended = self.clone();
        ended.end_interval();
        let intervals = self.intervals();
        let mean = ended.sum / intervals;
        if mean > 0.0 { (ended.squares / intervals - mean * mean) / mean } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(times: impl IntoIterator<Item = Ns>) -> Burstiness {
        let mut burstiness = Burstiness::default();
        times.into_iter().for_each(|at| burstiness.add(at));
        burstiness
    }

    #[test]
    fn even_arrivals_have_no_dispersion() {
        let even = measured((0..4000).map(|index| index * MS));
        assert_eq!(even.peaks(), (1000, 100));
        assert_eq!(even.dispersions(), (0.0, 0.0));
        assert!(even.interarrival_cv() < 1e-9);
        assert!((even.duration_s() - 3.999).abs() < 1e-12);
    }

    #[test]
    fn empty_intervals_count() {
        // 4 requests in the first of 4 seconds and 4 in the last: mean 2, variance 4.
        let times = (0..8).map(|index| if index < 4 { index } else { 3 * SECOND + index });
        let burstiness = measured(times);
        assert_eq!(burstiness.peaks(), (4, 4));
        assert!((burstiness.dispersions().0 - 2.0).abs() < 1e-12);
        // 8 requests in 2 of 31 tenths: mean 8/31, mean square 32/31.
        let (mean, square) = (8.0 / 31.0, 32.0 / 31.0);
        assert!((burstiness.dispersions().1 - (square - mean * mean) / mean).abs() < 1e-12);
    }

    #[test]
    fn a_late_start_adds_no_empty_intervals() {
        let late = measured((0..2000).map(|index| 100 * SECOND + index * MS));
        assert_eq!(late.dispersions(), (0.0, 0.0));
    }

    #[test]
    fn a_peak_is_not_below_the_mean() {
        // The busiest second has less than a second's share of the time from the first to the last.
        let ends = measured((0..10).map(|index| if index < 5 { 0 } else { 3 * SECOND / 2 }));
        assert_eq!(ends.peaks_to_mean(), (1.0, 8.0));
        assert_eq!(measured([0, MS]).peaks_to_mean(), (1.0, 1.0));
    }

    #[test]
    fn gaps_are_classed_by_powers_of_ten() {
        let gaps = [0, 0, 1, 10, 11, 100, 101, SECOND];
        let mut at = 5;
        let classes: Vec<_> = measured(std::iter::once(5).chain(gaps.map(|gap| {
            at += gap;
            at
        })))
        .gap_classes()
        .collect();
        assert_eq!(classes, [(0.0, 2), (10.0, 2), (100.0, 2), (1000.0, 1), (1e9, 1)]);
    }

    #[test]
    fn one_request_has_no_gaps() {
        let one = measured([5]);
        assert_eq!((one.duration_s(), one.interarrival_cv(), one.dispersions()), (0.0, 0.0, (0.0, 0.0)));
        assert_eq!(measured([]).dispersions(), (0.0, 0.0));
    }
}
