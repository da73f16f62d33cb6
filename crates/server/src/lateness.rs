//! How late completions leave: whether the figures of clients are those of the drive, or of the machine's noise.

use serde::Serialize;
use tinytail_core::units::{Ns, US};
use tinytail_metrics::Histogram;

/// A run is invalid when the median of its lateness is longer.
pub const MEDIAN_NS_MAX: Ns = 10 * US;
/// A completion that is not later than this is never late.
pub const LATE_NS_MIN: Ns = 20 * US;
/// A completion is late if it is later than this share of its own latency, too.
const LATE_LATENCY_SHARE: u64 = 10;
/// A run is invalid when more of its completions are late, in percent.
pub const LATE_PERCENT_MAX: f64 = 1.0;

/// The kinds of I/O whose lateness is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Io {
    /// Reads.
    Read,
    /// Writes, of zeroes too where their space is kept.
    Write,
    /// Trims, and writes of zeroes.
    Trim,
    /// Flushes.
    Flush,
}

const NAMES: [&str; 4] = ["read", "write", "trim", "flush"];

/// The lateness of every completion of a run, in the drive's time.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    kinds: [Kind; 4],
}

#[derive(Debug, Clone, Default)]
struct Kind {
    histogram: Histogram,
    late: u64,
}

/// Lateness of one kind of I/O, or of all.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Spread {
    /// Completions.
    pub count: u64,
    /// Median, in microseconds; `None` without completions.
    pub p50_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    pub p999_us: Option<f64>,
    /// Maximum, exact.
    pub max_us: Option<f64>,
    /// Share of completions that were late: by more than 20 µs and a tenth of their own latency, in percent.
    pub late_percent: Option<f64>,
}

/// The lateness of a run, and whether its figures can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Lateness")]
pub struct LatenessSummary {
    /// Of all I/O.
    pub all: Spread,
    /// Of reads.
    pub read: Spread,
    /// Of writes.
    pub write: Spread,
    /// Of trims and writes of zeroes.
    pub trim: Spread,
    /// Of flushes.
    pub flush: Spread,
    /// Why the run's figures are not to be trusted; nothing if they may be.
    pub invalid: Option<String>,
}

impl Kind {
    fn spread(&self) -> Spread {
        let count = self.histogram.len();
        let some = |value: f64| (count > 0).then_some(value);
        let [p50, p99, p999] = self.histogram.percentiles_ns([0.5, 0.99, 0.999]).map(|ns| ns.map(|ns| ns as f64 / 1000.0));
        Spread {
            count,
            p50_us: p50,
            p99_us: p99,
            p999_us: p999,
            max_us: some(self.histogram.max_ns() as f64 / 1000.0),
            late_percent: some(self.late as f64 * 100.0 / count.max(1) as f64),
        }
    }
}

impl Lateness {
    /// A completion that left `late_ns` after its time, of an I/O that took `latency_ns` by the model. Both in the drive's time.
    pub fn record(&mut self, io: Io, late_ns: Ns, latency_ns: Ns) {
        let kind = &mut self.kinds[io as usize];
        kind.histogram.record(late_ns);
        kind.late += u64::from(late_ns > LATE_NS_MIN.max(latency_ns / LATE_LATENCY_SHARE));
    }

    /// How it lies, and what follows from it.
    pub fn summary(&self) -> LatenessSummary {
        let mut all = Kind::default();
        for kind in &self.kinds {
            all.histogram.add(&kind.histogram);
            all.late += kind.late;
        }
        let [read, write, trim, flush] = self.kinds.each_ref().map(Kind::spread);
        let all = all.spread();
        let invalid = verdict(&all, &[&read, &write, &trim, &flush]);
        LatenessSummary { all, read, write, trim, flush, invalid }
    }
}

fn verdict(all: &Spread, kinds: &[&Spread; 4]) -> Option<String> {
    let (median, late) = (all.p50_us?, all.late_percent?);
    let median_max = MEDIAN_NS_MAX as f64 / US as f64;
    let mut why = Vec::new();
    if median > median_max {
        why.push(format!("half of all completions left more than {median:.1} µs late, and {median_max:.0} µs are allowed"));
    }
    if late > LATE_PERCENT_MAX {
        let worst = (0..4).max_by(|&a, &b| late_count(kinds[a]).total_cmp(&late_count(kinds[b]))).expect("four kinds");
        why.push(format!(
            "{late:.2} % of all completions left late, by more than {} µs and a tenth of their own latency, and {LATE_PERCENT_MAX:.0} % is \
             allowed; most of them were of the kind {}",
            LATE_NS_MIN / US,
            NAMES[worst]
        ));
    }
    (!why.is_empty()).then(|| why.join("; "))
}

fn late_count(spread: &Spread) -> f64 {
    spread.late_percent.unwrap_or(0.0) * spread.count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_what_is_later_than_20_us_and_a_tenth_of_the_latency() {
        let late = |late_ns, latency_ns| {
            let mut lateness = Lateness::default();
            lateness.record(Io::Read, late_ns, latency_ns);
            lateness.summary().all.late_percent == Some(100.0)
        };
        assert!(!late(20_000, 0) && late(20_001, 0));
        assert!(!late(20_001, 200_010) && !late(30_000, 300_000) && late(30_001, 300_000));
    }

    #[test]
    fn a_run_is_invalid_when_more_than_one_percent_are_late() {
        let mut lateness = Lateness::default();
        (0..990).for_each(|_| lateness.record(Io::Write, 1000, 100_000));
        (0..10).for_each(|_| lateness.record(Io::Flush, 3_000_000, 0));
        assert_eq!(lateness.summary().invalid, None, "exactly 1 %");
        lateness.record(Io::Flush, 3_000_000, 0);
        let summary = lateness.summary();
        let why = summary.invalid.unwrap();
        assert!(why.contains("1.10 %") && why.contains("of the kind flush") && !why.contains("half"), "{why}");
        assert_eq!((summary.flush.count, summary.flush.max_us, summary.read.p50_us), (11, Some(3000.0), None));
    }

    #[test]
    fn a_run_is_invalid_when_its_median_is_too_late() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.summary().invalid, None, "nothing was late where nothing was done");
        (0..10).for_each(|_| lateness.record(Io::Read, 10_000, 1_000_000));
        assert_eq!(lateness.summary().invalid, None);
        (0..11).for_each(|_| lateness.record(Io::Read, 12_000, 1_000_000));
        assert!(lateness.summary().invalid.unwrap().contains("half of all completions"));
    }
}
