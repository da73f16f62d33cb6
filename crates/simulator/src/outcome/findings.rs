//! What makes the figures of a run mean less than they seem to.

use super::Throughput;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tinytail_core::counters::Counters;
use tinytail_core::units::{Ns, SECOND};
use tinytail_metrics::series::SeriesSummary;
use tinytail_metrics::{LatencySummary, Span};
use tinytail_workload::{Fitted, Pacing};

/// Something that makes a result mean less than it seems to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// What sort of thing it is, for programs.
    pub code: FindingCode,
    /// The same in words.
    pub message: String,
    /// The numbers that it rests on.
    pub figures: BTreeMap<&'static str, f64>,
}

/// What sort of thing makes a result mean less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The run ended early, and no ratio is taken to it. Figures: `requests`, and `requests_expected` if that is known.
    Partial,
    /// In open loop, 5 % of the requests or more were outstanding when the last one arrived, and took 5 % of the time or more:
    /// latencies grow with the length of the run. Figures: `served_per_second`, `outstanding_at_last_arrival`, and
    /// `arrivals_per_second` unless all arrived at one instant.
    Saturated,
    /// In open loop, more than half of the reads found the device queue full. Figures: `queue_blocked_read_percent`.
    QueueFull,
    /// More than 1 % of the reads or of the writes reached beyond the drive, or the region, that `--fit` folded or clipped them
    /// to; one for each tenant. Figures: `reads`, `reads_beyond`, `writes`, `writes_beyond`.
    TraceFitted,
    /// The host wrote and nothing was programmed for it: its writes merged in RAM or are there still. Figures: `writes`,
    /// `merged_writes`, `gc_pages`.
    NoHostPrograms,
    /// A design that has a GC ran none.
    NoGc,
    /// Fewer than 100 GCs ran. By chance alone a count of 100 is off by 10 %, and so is what is made of it. Figures: `gcs`.
    FewGcs,
    /// Fewer than ten requests lie beyond a percentile of the table, which is not shown; it stands in the document nevertheless.
    /// Figures: `reads` and `writes`, how many there are.
    FewSamples,
}

/// What of a run the findings rest on.
pub(super) struct Run<'a> {
    /// Whether its design has a GC.
    pub collects: bool,
    pub counters: &'a Counters,
    pub pacing: Pacing,
    pub read: &'a LatencySummary,
    pub write: &'a LatencySummary,
    pub series: &'a SeriesSummary,
    pub queue_blocked_read_percent: f64,
    pub partial: bool,
    pub requests_expected: Option<u64>,
    /// Requests that were folded or clipped, where they are many.
    pub fitted: &'a [Fitted],
    /// When the measured part began.
    pub start: Ns,
    pub span: Span,
    pub throughput: Throughput,
}

/// A percentile is a statement about the requests beyond it: so many at least.
const SAMPLES_BEYOND: u64 = 10;
/// The percentiles of the table, each with one request in how many beyond it.
const PERCENTILES: [(&str, u64); 5] = [("p50", 2), ("p90", 10), ("p99", 100), ("p99.9", 1000), ("p99.99", 10_000)];
/// A drive is saturated if this share of the requests is outstanding when the last one arrives, and takes this share of the time.
const BACKLOG_SHARE: f64 = 0.05;
/// In fewer requests a backlog is no more than the requests that are under way at any time.
const BACKLOG_REQUESTS: u64 = 1000;
/// The device queue is full most of the time if more reads than this wait for it.
const QUEUE_BLOCKED_PERCENT: f64 = 50.0;
/// By chance alone a count of so many is off by 10 %, as the root of a Poisson count is.
const GCS_MIN: u64 = 100;

/// The findings of a run, the gravest first.
pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    let load = [partial(run), saturated(run), queue_full(run)];
    let gc = [unflushed(run), no_gc(run), few_gcs(run), few_samples(run)];
    load.into_iter().flatten().chain(run.fitted.iter().map(trace_fitted)).chain(gc.into_iter().flatten()).collect()
}

fn finding<const N: usize>(code: FindingCode, message: String, figures: [(&'static str, f64); N]) -> Finding {
    Finding { code, message, figures: figures.into() }
}

fn partial(run: &Run<'_>) -> Option<Finding> {
    let done = run.counters.completed;
    let expected = run.requests_expected.map_or(String::new(), |expected| format!(" of {}", grouped(expected)));
    run.partial.then(|| {
        let mut found = finding(
            FindingCode::Partial,
            format!("the run ended early, after {}{expected} requests: no ratio is taken to it", grouped(done)),
            [("requests", done as f64)],
        );
        found.figures.extend(run.requests_expected.map(|expected| ("requests_expected", expected as f64)));
        found
    })
}

/// In open loop: the last completion comes long after the last arrival, and not for the sake of a few requests.
fn saturated(run: &Run<'_>) -> Option<Finding> {
    let (span, done) = (run.span, run.span.requests);
    if run.partial || run.pacing != Pacing::Open || done < BACKLOG_REQUESTS {
        return None;
    }
    let served = run.throughput.served_per_second?;
    let after_start = (span.last_arrival - run.start) as f64 / SECOND as f64;
    let first = (after_start / run.series.window_seconds).ceil() as usize;
    let outstanding: u64 = run.series.reads.iter().zip(&run.series.writes).skip(first).map(|(reads, writes)| reads + writes).sum();
    let drain = (span.last_completion - span.last_arrival) as f64;
    (drain >= BACKLOG_SHARE * span.makespan_ns() as f64 && outstanding as f64 >= BACKLOG_SHARE * done as f64).then(|| {
        let what = match run.throughput.arrivals_per_second {
            Some(arrivals) => format!("{} requests/s arrive and {} are served", rate(arrivals), rate(served)),
            None => format!("{} requests arrive at once and {} are served each second", grouped(done), rate(served)),
        };
        let mut found = finding(
            FindingCode::Saturated,
            format!("saturated: {what}, so latencies grow with the run"),
            [("served_per_second", served), ("outstanding_at_last_arrival", outstanding as f64)],
        );
        found.figures.extend(run.throughput.arrivals_per_second.map(|arrivals| ("arrivals_per_second", arrivals)));
        found
    })
}

fn queue_full(run: &Run<'_>) -> Option<Finding> {
    let percent = run.queue_blocked_read_percent;
    (run.pacing == Pacing::Open && percent > QUEUE_BLOCKED_PERCENT).then(|| {
        finding(
            FindingCode::QueueFull,
            format!("overloaded: {percent:.0} % of the reads found the device queue full"),
            [("queue_blocked_read_percent", percent)],
        )
    })
}

/// Another workload was played than was given, since that does not fit the drive.
fn trace_fitted(fitted: &Fitted) -> Finding {
    let (reads, writes) = (fitted.reads, fitted.writes);
    let figures =
        [("reads", reads.requests), ("reads_beyond", reads.beyond), ("writes", writes.requests), ("writes_beyond", writes.beyond)];
    finding(FindingCode::TraceFitted, fitted.message.clone(), figures.map(|(name, count)| (name, count as f64)))
}

/// The host wrote, and none of it reached the flash.
fn unflushed(run: &Run<'_>) -> Option<Finding> {
    let counters = run.counters;
    (run.write.count > 0 && counters.host_pages == 0).then(|| {
        let meanwhile = match counters.gc_pages {
            0 => String::new(),
            copied => format!("; GC copied {} pages meanwhile", grouped(copied)),
        };
        finding(
            FindingCode::NoHostPrograms,
            format!("all {} writes stayed in the write buffer, so there is no write amplification{meanwhile}", grouped(run.write.count)),
            [("writes", run.write.count as f64), ("merged_writes", counters.merged as f64), ("gc_pages", counters.gc_pages as f64)],
        )
    })
}

/// A design that collects garbage had none to collect. A run that ended before its first request says nothing of that.
fn no_gc(run: &Run<'_>) -> Option<Finding> {
    let measured = !run.partial || run.counters.completed > 0;
    (run.collects && run.counters.gcs == 0 && measured)
        .then(|| finding(FindingCode::NoGc, "no GC ran, so this says nothing about what the design does about GC".into(), []))
}

/// Chance decides what so few GCs copied and erased.
fn few_gcs(run: &Run<'_>) -> Option<Finding> {
    let gcs = run.counters.gcs;
    let ran = if gcs == 1 { "GC" } else { "GCs" };
    (1..GCS_MIN).contains(&gcs).then(|| {
        finding(FindingCode::FewGcs, format!("only {gcs} {ran} ran: write amplification and wear mean little"), [("gcs", gcs as f64)])
    })
}

fn few_samples(run: &Run<'_>) -> Option<Finding> {
    let mut kinds = Vec::new();
    let mut figures = BTreeMap::new();
    for (name, latencies) in [("reads", run.read), ("writes", run.write)] {
        let lacking = PERCENTILES.iter().find(|(_, one_in)| latencies.count / one_in < SAMPLES_BEYOND);
        if let Some((percentile, _)) = lacking.filter(|_| latencies.count > 0) {
            kinds.push(format!("{percentile} of {} {name}", grouped(latencies.count)));
            figures.insert(name, latencies.count as f64);
        }
    }
    (!kinds.is_empty()).then(|| Finding {
        code: FindingCode::FewSamples,
        message: format!("fewer than ten samples beyond {}", kinds.join(" and ")),
        figures,
    })
}

/// A rate in three significant digits, or more where it has more before the point.
fn rate(per_second: f64) -> String {
    match per_second {
        whole if whole >= 100.0 => grouped(whole.round() as u64),
        small => format!("{small:.1}"),
    }
}

/// A number with its thousands set apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(count: u64) -> LatencySummary {
        let us = (count > 0).then_some(1.0);
        LatencySummary {
            count,
            mean_us: us,
            p50_us: us,
            p90_us: us,
            p95_us: us,
            p99_us: us,
            p999_us: us,
            p9999_us: us,
            p99999_us: us,
            max_us: us,
        }
    }

    /// A run of which nothing but its requests is to be said.
    fn run<'a>(counters: &'a Counters, read: &'a LatencySummary, write: &'a LatencySummary, series: &'a SeriesSummary) -> Run<'a> {
        Run {
            collects: true,
            counters,
            pacing: Pacing::Open,
            read,
            write,
            series,
            queue_blocked_read_percent: 0.0,
            partial: false,
            requests_expected: None,
            fitted: &[],
            start: 0,
            span: tinytail_metrics::Metrics::default().span(),
            throughput: Throughput::default(),
        }
    }

    #[test]
    fn a_percentile_has_ten_samples_beyond_it_or_is_named() {
        let named = |reads: u64, writes: u64| {
            let series = SeriesSummary::default();
            few_samples(&run(&Counters::default(), &latencies(reads), &latencies(writes), &series)).map(|found| found.message)
        };
        assert_eq!(named(100_000, 0), None);
        assert_eq!(named(99_999, 100_000).unwrap(), "fewer than ten samples beyond p99.99 of 99,999 reads");
        assert_eq!(named(9_999, 999).unwrap(), "fewer than ten samples beyond p99.9 of 9,999 reads and p99 of 999 writes");
        assert_eq!(named(19, 0).unwrap(), "fewer than ten samples beyond p50 of 19 reads");
    }

    #[test]
    fn counts_of_gcs_that_chance_decides_are_named() {
        let series = SeriesSummary::default();
        let found = |gcs: u64, completed: u64, partial: bool| {
            let counters = Counters { gcs, completed, host_pages: 1, ..Counters::default() };
            let of_all = latencies(1_000_000);
            let run = Run { partial, ..run(&counters, &of_all, &of_all, &series) };
            findings(&run).into_iter().map(|found| found.message).filter(|message| message.contains("GC")).collect::<Vec<_>>()
        };
        assert!(found(100, 1, false).is_empty());
        assert_eq!(found(99, 1, false), ["only 99 GCs ran: write amplification and wear mean little"]);
        assert_eq!(found(1, 1, false), ["only 1 GC ran: write amplification and wear mean little"]);
        assert!(found(0, 1, true)[0].starts_with("no GC ran"));
        assert!(found(0, 0, true).is_empty(), "what has not begun had no GC to run");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
