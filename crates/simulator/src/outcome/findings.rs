//! What makes the figures of a run mean less than they seem to.

use super::Throughput;
use crate::outcome::space::{DRIFT_SHARE, ErasedNote, Fall};
use crate::outcome::write_amplification;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tinytail_config::{counted, grouped};
use tinytail_core::drive::counters::{Counters, RaidCounters};
use tinytail_core::units::{Ns, SECOND, SECTOR_BYTES};
use tinytail_metrics::series::SeriesSummary;
use tinytail_metrics::{HostWaitsNote, LatencySummary, Span};
use tinytail_workload::{CoarseTimes, Fitted, Pacing};

/// Something that makes a result mean less than it seems to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// What sort of thing it is, for programs.
    pub code: FindingCode,
    /// The same in words.
    pub message: String,
    /// The numbers that it rests on.
    #[schemars(extend("additionalProperties" = { "type": "number", "minimum": -1e18 }))]
    pub figures: BTreeMap<&'static str, f64>,
}

/// What sort of thing makes a result or a comparison mean less. They stand here, and wherever they are listed, in the order of
/// their rank: what takes most from the answer first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The run ended early, and no ratio is taken to it. Figures: `requests`, and `requests_expected` if that is known.
    Partial,
    /// Of comparisons: the run of the reference ended early, and ratios are taken to another design.
    OtherReference,
    /// GC freed fewer pages than were programmed, so the run lived on pages that were erased before, as no run can for ever: by more
    /// than 5 % of the host's pages, and more than half of what a GC frees in each plane or die that starts one; and erased pages
    /// still fell in the last third of the measured part. If it did not borrow as much itself, warming up and it together may have,
    /// from where the design starts GC. Figures: `drift_pages`, `drift_percent`, and `urgent_seconds` as in `erased` where that is
    /// known.
    Borrowed,
    /// GC freed as much more than was programmed: the run paid for writes that came before it. Figures: `drift_pages`, and
    /// `drift_percent` if anything was programmed for the host.
    Repaid,
    /// GC freed fewer pages than were programmed, as in `borrowed`, but erased pages were level in the last third: the drive was on its
    /// way to another level, and its figures mix both. Figures: `drift_pages`, `drift_percent`, and write amplification in the whole
    /// and in the last third, `write_amplification` and `write_amplification_last_third`.
    Settling,
    /// A design that has a GC ran none; or, of comparisons, no design did. Figures of a result: `host_pages`, those programmed for
    /// the host, where they are as many as a GC frees, and so called for one: then no ratio is taken.
    NoGc,
    /// More than 1 % of the reads met a page that was never written or has been trimmed. Such pages are answered from RAM, faster than
    /// any data of the flash. Figures: `reads`, `unmapped_reads` among them, and `unmapped_read_percent`.
    UnmappedReads,
    /// The measured part began with more than a GC frees above or below the erased pages at which the design starts GC. Figures:
    /// `off_pages` for each plane or die, below 0 for fewer; `trigger_pages`; and where they are more, and the run programmed any,
    /// `host_writes_until_gc`.
    StartOffTrigger,
    /// In open loop, 5 % of the requests or more were outstanding when the last one arrived, and took 5 % of the time or more:
    /// latencies grow with the length of the run. Figures: `served_per_second`, `outstanding_at_last_arrival`, and
    /// `arrivals_per_second` unless all arrived at one instant.
    Saturated,
    /// A bound kept 5 % of the requests or more waiting in the host for others to complete, which latencies leave out. Figures:
    /// `waited_percent`, `wait_mean_us` of those that waited, `makespan_seconds`, and `arrivals_seconds` from the first request's own
    /// time to that of the last.
    SlotsFull,
    /// In open loop, more than half of the reads found the device queue full. Figures: `queue_blocked_read_percent`.
    QueueFull,
    /// Of comparisons: in closed loop, or with a bound on what is outstanding, designs served rates that differ by more than 5 %, so that their latencies are of different
    /// loads. Figures: `least_per_second`, `most_per_second`.
    ClosedLoop,
    /// More than 1 % of the reads or of the writes reached beyond the drive, or the region, that `--fit` folded or clipped them
    /// to; one for each tenant. Figures: `reads`, `reads_beyond`, `writes`, `writes_beyond`.
    TraceFitted,
    /// The times of the trace are whole multiples of 10 us or more, and more than half of its requests have theirs in common with
    /// others; one for each such tenant. Figures: `resolution_s`, unless all have one time, and `at_once_percent`.
    CoarseTimes,
    /// The host wrote and nothing was programmed for it: its writes merged in RAM or are there still. Figures: `writes`,
    /// `merged_writes`, `gc_pages`.
    NoHostPrograms,
    /// More than a tenth of the pages programmed for the host held less than a page of its data, since its writes were smaller.
    /// Figures: `pages`, `partial_pages` among them, `host_bytes` in them all, and `programmed_bytes`.
    PartialPages,
    /// Fewer than 100 GCs ran. By chance alone a count of 100 is off by 10 %, and so is what is made of it. Figures: `gcs`; of
    /// comparisons in which designs ran not equally few, `least` and `most`.
    FewGcs,
    /// Fewer than ten requests lie beyond a percentile of the table, which is not shown; it stands in the document nevertheless.
    /// Figures: `reads` and `writes`, how many there are.
    FewSamples,
    /// Of comparisons: a design has a higher latency than the reference at the deepest percentile that ten requests of each design
    /// lie beyond. Figures: `latency_us`, `reference_us`.
    Worse,
    /// Of comparisons: a design differs from the reference by no more than chance at the deepest percentile that ten requests of
    /// each design lie beyond. Figures: `latency_us`, `reference_us`.
    WithinNoise,
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
    pub unmapped_read_percent: f64,
    pub partial: bool,
    pub requests_expected: Option<u64>,
    /// Requests that were folded or clipped, where they are many.
    pub fitted: &'a [Fitted],
    /// Times of traces that are coarse.
    pub coarse_times: &'a [CoarseTimes],
    /// When the measured part began.
    pub start: Ns,
    pub span: Span,
    pub throughput: Throughput,
    pub host_waits: Option<&'a HostWaitsNote>,
    /// A bound on what is outstanding that helps against a backlog.
    pub slots_proposed: Option<u32>,
    pub page_bytes: u32,
    pub erased: ErasedNote,
    /// How the erased pages fell in the measured part.
    pub fall: Fall,
    /// What warming up did.
    pub before: Counters,
    /// As `erased`, of warming up and the measured part together, from where the design starts GC if it began above that.
    pub erased_since_ageing: ErasedNote,
    pub gc_units: GcUnits,
}

/// What starts GC, and what it frees.
#[derive(Debug, Clone, Copy)]
pub(super) struct GcUnits {
    /// What the design's trigger watches: planes, say.
    pub name: &'static str,
    /// How many there are.
    pub count: u64,
    /// Erased pages of a unit below which the design starts a GC, where that is known.
    pub trigger_pages: Option<u32>,
    /// Pages that a cycle of GC frees: those of its victims that were not valid.
    pub gain_pages: f64,
}

impl GcUnits {
    /// Erased pages that come and go by chance while so many pages are programmed for the host.
    pub fn chance_pages(&self, host_pages: u64) -> f64 {
        (DRIFT_SHARE * host_pages as f64).max(self.count as f64 * self.gain_pages / 2.0)
    }
}

/// A percentile is a statement about the requests beyond it: so many at least.
const SAMPLES_BEYOND: u64 = 10;
/// The percentiles of the table, each with one request in how many beyond it.
const PERCENTILES: [(&str, u64); 5] = [("p50", 2), ("p90", 10), ("p99", 100), ("p99.9", 1000), ("p99.99", 10_000)];
/// A drive is saturated if this share of the requests is outstanding when the last one arrives, and takes this share of the time.
const BACKLOG_SHARE: f64 = 0.05;
/// In fewer requests a backlog is no more than the requests that are under way at any time.
const BACKLOG_REQUESTS: u64 = 1000;
/// Waits for a bound are named if this share of the requests waited.
const SLOTS_FULL_PERCENT: f64 = 5.0;
/// The device queue is full most of the time if more reads than this wait for it.
const QUEUE_BLOCKED_PERCENT: f64 = 50.0;
/// By chance alone a count of so many is off by 10 %, as the root of a Poisson count is.
const GCS_MIN: u64 = 100;
/// Reads of pages that hold no data are named from this share of the reads on.
const UNMAPPED_PERCENT: f64 = 1.0;

/// Pages that the host's writes do not fill are named if they are this share.
const PARTIAL_SHARE: f64 = 0.1;

/// Return the findings of a run, in the order of their rank. A run that measured no request has none but that it ended early.
pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    if run.span.requests == 0 {
        return partial(run).into_iter().collect();
    }
    let one_each = [
        partial,
        drifted,
        no_gc,
        unmapped_reads,
        start_off_trigger,
        saturated,
        slots_full,
        queue_full,
        unflushed,
        partial_pages,
        few_gcs,
        few_samples,
    ];
    let mut found: Vec<_> = one_each
        .iter()
        .filter_map(|find| find(run))
        .chain(run.fitted.iter().map(trace_fitted))
        .chain(run.coarse_times.iter().map(coarse_times))
        .collect();
    found.sort_by_key(|finding| finding.code);
    found
}

fn finding<const N: usize>(code: FindingCode, message: String, figures: [(&'static str, f64); N]) -> Finding {
    Finding { code, message, figures: figures.into() }
}

fn partial(run: &Run<'_>) -> Option<Finding> {
    let done = run.counters.host.completed;
    let requests = match run.requests_expected {
        Some(expected) => format!("{} of {}", grouped(done), counted(expected, "request")),
        None => counted(done, "request"),
    };
    run.partial.then(|| {
        let mut found = finding(
            FindingCode::Partial,
            format!("the run ended early, after {requests}: no ratio is taken to it"),
            [("requests", done as f64)],
        );
        found.figures.extend(run.requests_expected.map(|expected| ("requests_expected", expected as f64)));
        found
    })
}

/// In open loop: the last completion comes long after the last arrival, and not for the sake of a few requests.
fn saturated(run: &Run<'_>) -> Option<Finding> {
    let (span, done) = (run.span, run.span.requests);
    if run.partial || run.pacing != Pacing::Open || run.host_waits.is_some() || done < BACKLOG_REQUESTS {
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
        let remedy = run.slots_proposed.map_or(String::new(), |slots| format!("; --outstanding-max {slots} bounds them"));
        let mut found = finding(
            FindingCode::Saturated,
            format!("saturated: {what}, so latencies grow with the run{remedy}"),
            [("served_per_second", served), ("outstanding_at_last_arrival", outstanding as f64)],
        );
        found.figures.extend(run.throughput.arrivals_per_second.map(|arrivals| ("arrivals_per_second", arrivals)));
        found
    })
}

/// A bound kept requests waiting: the drive was slower than their times, or slower than bursts of them.
fn slots_full(run: &Run<'_>) -> Option<Finding> {
    let waits = run.host_waits.filter(|waits| !run.partial && waits.waited_percent >= SLOTS_FULL_PERCENT)?;
    let mean_us = waits.mean_us()?;
    let (took, arrivals) = (run.throughput.makespan_seconds, waits.arrivals_seconds);
    let slots = match run.pacing {
        Pacing::Bounded { outstanding_max } => format!(", with {} outstanding", grouped(outstanding_max)),
        _ => String::new(),
    };
    let waited = format!("{:.0} % of the requests waited {} on average in the host{slots}", waits.waited_percent, time(mean_us / 1e6));
    let message = if took - arrivals >= BACKLOG_SHARE * took {
        format!("slower than the load: what came in {} took {}; {waited}, which latencies leave out", time(arrivals), time(took))
    } else {
        format!("{waited}, which latencies leave out")
    };
    let figures =
        [("waited_percent", waits.waited_percent), ("wait_mean_us", mean_us), ("makespan_seconds", took), ("arrivals_seconds", arrivals)];
    Some(finding(FindingCode::SlotsFull, message, figures))
}

fn queue_full(run: &Run<'_>) -> Option<Finding> {
    let percent = run.queue_blocked_read_percent;
    (run.pacing.has_times() && percent > QUEUE_BLOCKED_PERCENT).then(|| {
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

fn coarse_times(coarse: &CoarseTimes) -> Finding {
    Finding { code: FindingCode::CoarseTimes, message: coarse.message.clone(), figures: coarse.figures() }
}

/// The host wrote, and none of it reached the flash.
fn unflushed(run: &Run<'_>) -> Option<Finding> {
    let counters = run.counters;
    (run.write.count > 0 && counters.ftl.host_pages == 0).then(|| {
        let meanwhile = match counters.gc.pages {
            0 => String::new(),
            copied => format!("; GC copied {} meanwhile", counted(copied, "page")),
        };
        let all = if run.write.count == 1 { "the only write".into() } else { format!("all {}", counted(run.write.count, "write")) };
        finding(
            FindingCode::NoHostPrograms,
            format!("{all} stayed in the write buffer, so there is no write amplification{meanwhile}"),
            [("writes", run.write.count as f64), ("merged_writes", counters.buffer.merged as f64), ("gc_pages", counters.gc.pages as f64)],
        )
    })
}

/// Find out whether GC freed fewer pages than were programmed, or more. A fall that has come to its end by the last third was the way
/// from one state to another. Warming up may have borrowed what the measured part borrows less of.
fn drifted(run: &Run<'_>) -> Option<Finding> {
    let is_borrowed = |found: &Finding| found.code == FindingCode::Borrowed;
    let measured = drift_of(run, &run.erased, &[*run.counters], "");
    let all = || drift_of(run, &run.erased_since_ageing, &[run.before, *run.counters], " while warming up and after").filter(is_borrowed);
    match measured {
        Some(found) if !is_borrowed(&found) => Some(found),
        Some(found) if !run.fall.goes_on() => Some(settling(run, found)),
        found if run.fall.goes_on() => found.or_else(all),
        _ => None,
    }
}

/// Return what a fall that has come to its end says of the figures.
fn settling(run: &Run<'_>, fell: Finding) -> Finding {
    let pages = counted(run.erased.drift_pages.unsigned_abs(), "page");
    let share = run.erased.drift_percent.map(f64::abs).map_or(String::new(), |percent| format!(", {percent:.0} % of the host's"));
    let figures = [
        ("write_amplification", write_amplification(run.counters)),
        ("write_amplification_last_third", run.fall.last_third_amplification()),
    ];
    let mut found = Finding { code: FindingCode::Settling, ..fell };
    found.figures.extend(figures.into_iter().filter_map(|(name, figure)| Some((name, figure?))));
    let amplification = match figures {
        [(_, Some(whole)), (_, Some(last))] => {
            format!("; write amplification is {whole:.2} in the whole run and {last:.2} in its last third")
        }
        _ => String::new(),
    };
    found.message = format!("erased pages fell to another level: GC freed {pages} fewer than were programmed{share}{amplification}");
    found
}

fn drift_of(run: &Run<'_>, erased: &ErasedNote, counters: &[Counters], when: &str) -> Option<Finding> {
    let sum = |count: fn(&Counters) -> u64| counters.iter().map(count).sum::<u64>();
    let host_pages = sum(|counters| counters.ftl.host_pages);
    let pages = erased.drift_pages.unsigned_abs();
    let chance = run.gc_units.chance_pages(host_pages);
    // What GCs under way have moved comes back with their erases.
    let owed = erased.drift_pages + sum(|counters| counters.gc.pages) as i64 - sum(|counters| counters.gc.moved) as i64;
    let is_alike = owed.signum() == erased.drift_pages.signum();
    if !run.collects || !is_alike || pages.min(owed.unsigned_abs()) as f64 <= chance {
        return None;
    }
    let share = erased.drift_percent.map(f64::abs).map_or(String::new(), |percent| format!(", {percent:.0} % of the host's"));
    let drift = [("drift_pages", Some(erased.drift_pages as f64)), ("drift_percent", erased.drift_percent)];
    let figures = drift.into_iter().chain([("urgent_seconds", erased.urgent_seconds)]);
    let figures = figures.filter_map(|(name, figure)| Some((name, figure?))).collect();
    let (code, message) = if erased.drift_pages < 0 {
        let then = match erased.urgent_seconds {
            Some(0.0) => "GC is urgent in a plane, and comes before its writes".into(),
            Some(urgent) => format!("at this rate GC is urgent in a plane, and comes before its writes, {} later", time(urgent)),
            None => "erased pages still fell at the end".into(),
        };
        let message = format!("space borrowed{when}: GC freed {} fewer than were programmed{share}; {then}", counted(pages, "page"));
        (FindingCode::Borrowed, message)
    } else {
        let message =
            format!("space repaid: GC freed {} more than were programmed{share}, for writes before the run", counted(pages, "page"));
        (FindingCode::Repaid, message)
    };
    Some(Finding { code, message, figures })
}

/// A design that collects garbage had none to collect.
fn no_gc(run: &Run<'_>) -> Option<Finding> {
    let (counters, written) = (run.counters, run.counters.ftl.host_pages);
    if !run.collects || counters.gc.gcs + counters.gc.pages > 0 {
        return None;
    }
    if (written as f64) < run.gc_units.gain_pages.max(1.0) {
        return Some(finding(FindingCode::NoGc, "no GC ran, so this says nothing about what the design does about GC".into(), []));
    }
    Some(finding(
        FindingCode::NoGc,
        format!("no GC ran in spite of {} programmed for the host, so no ratio is taken", counted(written, "page")),
        [("host_pages", written as f64)],
    ))
}

/// Reads that asked for pages without data were answered by no flash.
fn unmapped_reads(run: &Run<'_>) -> Option<Finding> {
    let percent = run.unmapped_read_percent;
    (percent > UNMAPPED_PERCENT).then(|| {
        let (reads, unmapped) = (run.read.count, run.counters.host.unmapped_reads);
        finding(
            FindingCode::UnmappedReads,
            format!(
                "{} of {} ({} %) met pages that hold no data, which RAM answers: their latencies are not those of the flash",
                grouped(unmapped),
                counted(reads, "read"),
                if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") },
            ),
            [("reads", reads as f64), ("unmapped_reads", unmapped as f64), ("unmapped_read_percent", percent)],
        )
    })
}

/// The measured part began elsewhere than a drive is that has run this design.
fn start_off_trigger(run: &Run<'_>) -> Option<Finding> {
    let GcUnits { name, count, trigger_pages, gain_pages } = run.gc_units;
    let trigger_pages = trigger_pages.filter(|_| run.collects)?;
    let off_pages = run.erased.start_pages as f64 / count as f64 - f64::from(trigger_pages);
    if off_pages.abs() <= gain_pages {
        return None;
    }
    let counters = run.counters;
    let programmed = counters.programmed_pages() - counters.gc.pages;
    let until_gc = off_pages * count as f64 * run.write.count as f64 / programmed as f64;
    let until_gc = (off_pages > 0.0 && until_gc.is_finite()).then_some(until_gc);
    let mut found = finding(
        FindingCode::StartOffTrigger,
        format!(
            "it begins {} a {name} {} the {} at which this design starts GC{}",
            counted(off_pages.abs().round() as u64, "page"),
            if off_pages > 0.0 { "above" } else { "below" },
            grouped(trigger_pages),
            match until_gc {
                Some(writes) => format!(", so GC runs after some {}", counted(writes.round() as u64, "write")),
                None if off_pages > 0.0 => ", so GC runs only when they have been written".into(),
                None if run.erased.drift_pages < 0 => " and ends lower: GC keeps fewer under this load".into(),
                None => ", so GC runs for writes that came before".into(),
            }
        ),
        [("off_pages", off_pages), ("trigger_pages", f64::from(trigger_pages))],
    );
    found.figures.extend(until_gc.map(|writes| ("host_writes_until_gc", writes)));
    Some(found)
}

/// The host's writes were smaller than the pages that they took.
fn partial_pages(run: &Run<'_>) -> Option<Finding> {
    let RaidCounters { sent_pages, partial_pages, sent_sectors, .. } = run.counters.raid;
    let (host_bytes, programmed_bytes) = (sent_sectors * u64::from(SECTOR_BYTES), sent_pages * u64::from(run.page_bytes));
    (partial_pages as f64 > PARTIAL_SHARE * sent_pages as f64).then(|| {
        finding(
            FindingCode::PartialPages,
            format!(
                "{:.0} % of the {} KiB pages programmed for the host were not filled by its writes: {} MB of data took {} MB of pages",
                partial_pages as f64 * 100.0 / sent_pages as f64,
                run.page_bytes / 1024,
                rate(host_bytes as f64 / 1e6),
                rate(programmed_bytes as f64 / 1e6)
            ),
            [
                ("pages", sent_pages as f64),
                ("partial_pages", partial_pages as f64),
                ("host_bytes", host_bytes as f64),
                ("programmed_bytes", programmed_bytes as f64),
            ],
        )
    })
}

/// Chance decides what so few GCs copied and erased.
fn few_gcs(run: &Run<'_>) -> Option<Finding> {
    let gcs = run.counters.gc.gcs;
    let ran = match gcs {
        0 => "no GC came to its end".into(),
        _ => format!("only {} ran", counted(gcs, "GC")),
    };
    (gcs < GCS_MIN && gcs + run.counters.gc.pages > 0)
        .then(|| finding(FindingCode::FewGcs, format!("{ran}: write amplification and wear mean little"), [("gcs", gcs as f64)]))
}

fn few_samples(run: &Run<'_>) -> Option<Finding> {
    let mut kinds = Vec::new();
    let mut figures = BTreeMap::new();
    for (one, name, latencies) in [("read", "reads", run.read), ("write", "writes", run.write)] {
        let lacking = PERCENTILES.iter().find(|(_, one_in)| latencies.count / one_in < SAMPLES_BEYOND);
        if let Some((percentile, _)) = lacking.filter(|_| latencies.count > 0) {
            kinds.push(format!("{percentile} of {}", counted(latencies.count, one)));
            figures.insert(name, latencies.count as f64);
        }
    }
    (!kinds.is_empty()).then(|| Finding {
        code: FindingCode::FewSamples,
        message: format!("fewer than ten samples beyond {}", kinds.join(" and ")),
        figures,
    })
}

/// A time in the unit that suits it.
fn time(seconds: f64) -> String {
    let (unit, per_s) = [("s", 1.0), ("ms", 1e3), ("us", 1e6)].into_iter().find(|(_, per_s)| seconds * per_s >= 1.0).unwrap_or(("us", 1e6));
    format!("{} {unit}", rate(seconds * per_s))
}

/// A rate in three significant digits, or more where it has more before the point.
fn rate(per_second: f64) -> String {
    match per_second {
        whole if whole >= 100.0 => grouped(whole.round() as u64),
        small => format!("{small:.1}"),
    }
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

    /// Counters of which some have counted.
    fn counted(set: impl FnOnce(&mut Counters)) -> Counters {
        let mut counters = Counters::default();
        set(&mut counters);
        counters
    }

    /// A fall that goes on.
    const FALLS: Fall = Fall {
        seconds: 10.0,
        taken_pages: 0,
        last_third_pages: 1,
        last_third_host_pages: 0,
        last_third_programmed_pages: 0,
        fewest_then: 0,
        fewest_now: 0,
        kept_pages: 0,
    };

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
            unmapped_read_percent: 0.0,
            partial: false,
            requests_expected: None,
            fitted: &[],
            coarse_times: &[],
            start: 0,
            span: Span { requests: 1_000_000, ..tinytail_metrics::Metrics::default().span() },
            throughput: Throughput::default(),
            host_waits: None,
            slots_proposed: None,
            page_bytes: 16_384,
            erased: ErasedNote::default(),
            fall: FALLS,
            before: Counters::default(),
            erased_since_ageing: ErasedNote::default(),
            gc_units: GcUnits { name: "plane", count: 4, trigger_pages: None, gain_pages: 50.0 },
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

    /// Of a run that is `changed`, the first finding of a kind.
    fn found(code: FindingCode, counters: Counters, changed: impl FnOnce(&mut Run<'_>)) -> Option<Finding> {
        let (none, series) = (latencies(1_000_000), SeriesSummary::default());
        let mut run = run(&counters, &none, &none, &series);
        changed(&mut run);
        findings(&run).into_iter().find(|found| found.code == code)
    }

    #[test]
    fn one_thing_is_in_the_singular() {
        let (one, series) = (latencies(1), SeriesSummary::default());
        let counters = counted(|counters| (counters.host.completed, counters.gc.pages) = (1, 1));
        let found = findings(&Run { partial: true, ..run(&counters, &one, &one, &series) });
        let messages: Vec<_> = found.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "the run ended early, after 1 request: no ratio is taken to it",
                "the only write stayed in the write buffer, so there is no write amplification; GC copied 1 page meanwhile",
                "no GC came to its end: write amplification and wear mean little",
                "fewer than ten samples beyond p50 of 1 read and p50 of 1 write",
            ]
        );
    }

    #[test]
    fn drift_is_a_finding_beyond_five_percent_and_half_a_victims_gain_in_each_plane() {
        let of = |code, host_pages, start, end| {
            let counters = counted(|counters| counters.ftl.host_pages = host_pages);
            found(code, counters, |run| run.erased = ErasedNote::new(start, end, host_pages))
        };
        let borrowed = |host_pages, pages: u64| of(FindingCode::Borrowed, host_pages, 2000, 2000 - pages);
        // Half of 50 pages in each of four planes.
        assert_eq!(borrowed(1000, 100), None);
        assert_eq!(
            borrowed(1000, 101).unwrap().message,
            "space borrowed: GC freed 101 pages fewer than were programmed, 10 % of the host's; erased pages still fell at the end"
        );
        assert_eq!(borrowed(10_000, 500), None);
        let drift = borrowed(10_000, 501).unwrap();
        assert_eq!((drift.figures["drift_pages"], drift.figures["drift_percent"], drift.figures.len()), (-501.0, -5.01, 2));
        assert_eq!(of(FindingCode::Repaid, 1000, 2000, 2100), None);
        let repaid = of(FindingCode::Repaid, 1000, 2000, 2101).unwrap();
        assert!(repaid.message.starts_with("space repaid: GC freed 101 pages more than were programmed, 10 % of"), "{repaid:?}");
        let unasked = of(FindingCode::Repaid, 0, 2000, 2101).unwrap();
        assert_eq!(unasked.figures.keys().collect::<Vec<_>>(), [&"drift_pages"], "nothing was programmed to be a share of");
        // Warming up took 300 of 1000 pages; the measured part 10 more.
        let warmed = |start: u64| {
            let counters = counted(|counters| counters.ftl.host_pages = 1000);
            found(FindingCode::Borrowed, counters, |run| {
                run.before = counters;
                run.erased = ErasedNote::new(1700, 1690, 1000);
                run.erased_since_ageing = ErasedNote::new(start, 1690, 2000);
            })
        };
        let borrowed = warmed(2000).unwrap();
        assert!(borrowed.message.contains("warming up and after: GC freed 310 pages fewer than were programmed, 16 %"), "{borrowed:?}");
        assert_eq!(warmed(1790), None, "100 of 2000 pages are 5 %");
        let under_way = |moved| {
            let counters = counted(|counters| {
                counters.ftl.host_pages = 1000;
                counters.gc.pages = 70;
                counters.gc.moved = moved;
            });
            found(FindingCode::Borrowed, counters, |run| run.erased = ErasedNote::new(2000, 1830, 1000))
        };
        assert_eq!(under_way(0), None, "70 of 170 pages come back when GCs end");
        assert!(under_way(1).is_some());
        let without_gc = found(FindingCode::Borrowed, counted(|counters| counters.ftl.host_pages = 1000), |run| {
            (run.collects, run.erased) = (false, ErasedNote::new(2000, 1000, 1000));
        });
        assert_eq!(without_gc, None, "a design without GC is known to live on space");
    }

    #[test]
    fn a_fall_that_has_come_to_its_end_borrows_nothing_and_one_with_a_known_end_foretells_it() {
        let of = |fall: Fall, urgent_seconds, measured: (u64, u64)| {
            let counters = counted(|counters| counters.ftl.host_pages = 1000);
            let (series, none) = (SeriesSummary::default(), latencies(1_000_000));
            let mut run = run(&counters, &none, &none, &series);
            run.fall = fall;
            run.before = counters;
            run.erased = ErasedNote { urgent_seconds, ..ErasedNote::new(measured.0, measured.1, 1000) };
            run.erased_since_ageing = ErasedNote { urgent_seconds, ..ErasedNote::new(3000, measured.1, 2000) };
            drifted(&run)
        };
        let level = Fall { last_third_pages: 0, ..FALLS };
        let settled = Fall { last_third_host_pages: 300, last_third_programmed_pages: 735, ..level };
        let settling = of(settled, None, (2000, 1000)).unwrap();
        assert_eq!(
            settling.message,
            "erased pages fell to another level: GC freed 1,000 pages fewer than were programmed, 100 % of the host's; write amplification \
             is 1.00 in the whole run and 2.45 in its last third"
        );
        assert_eq!((settling.code, settling.figures["write_amplification_last_third"]), (FindingCode::Settling, 2.45));
        assert_eq!(of(level, None, (2000, 1970)), None, "30 of 1000 pages are chance");
        let repaid = of(level, None, (1000, 1200)).unwrap();
        assert_eq!((repaid.code, repaid.figures["drift_pages"]), (FindingCode::Repaid, 200.0), "and nothing of warming up");
        let foretold = of(FALLS, Some(12.5), (2000, 1000)).unwrap();
        assert!(
            foretold.message.ends_with("; at this rate GC is urgent in a plane, and comes before its writes, 12.5 s later"),
            "{foretold:?}"
        );
        assert_eq!(foretold.figures["urgent_seconds"], 12.5);
        let urgent = of(FALLS, Some(0.0), (2000, 1000)).unwrap();
        assert!(urgent.message.ends_with("; GC is urgent in a plane, and comes before its writes"), "{urgent:?}");
    }

    #[test]
    fn reads_without_data_are_named_from_more_than_a_hundredth_of_them_on() {
        let of = |unmapped_read_percent| {
            let counters = counted(|counters| counters.host.unmapped_reads = 1736);
            found(FindingCode::UnmappedReads, counters, |run| run.unmapped_read_percent = unmapped_read_percent)
        };
        assert_eq!(of(1.0), None);
        assert!(of(1.01).unwrap().message.starts_with("1,736 of 1,000,000 reads (1.0 %) met pages that hold no data, which RAM answers"));
        let most = of(86.8).unwrap();
        assert!(most.message.contains("(87 %)"), "{most:?}");
        assert_eq!((most.figures["unmapped_reads"], most.figures["unmapped_read_percent"]), (1736.0, 86.8));
    }

    #[test]
    fn a_run_that_measured_nothing_has_only_ended_early() {
        let counters = counted(|counters| counters.ftl.host_pages = 1000);
        let (none, series) = (latencies(0), SeriesSummary::default());
        let begun = Run {
            partial: true,
            erased: ErasedNote::new(2000, 1000, 1000),
            gc_units: GcUnits { name: "plane", count: 4, trigger_pages: Some(100), gain_pages: 50.0 },
            ..run(&counters, &none, &none, &series)
        };
        let span = Span { requests: 0, ..begun.span };
        let codes = |run: &Run<'_>| findings(run).into_iter().map(|finding| finding.code).collect::<Vec<_>>();
        assert_eq!(codes(&begun), [FindingCode::Partial, FindingCode::Borrowed, FindingCode::NoGc, FindingCode::StartOffTrigger]);
        assert_eq!(codes(&Run { span, ..begun }), [FindingCode::Partial]);
    }

    #[test]
    fn no_ratio_is_taken_where_a_gc_was_called_for_and_none_ran() {
        let of = |host_pages| {
            let counters = counted(|counters| {
                counters.ftl.host_pages = host_pages;
                counters.host.completed = 1;
            });
            found(FindingCode::NoGc, counters, |_| ()).unwrap()
        };
        assert!(of(49).figures.is_empty());
        assert_eq!(of(50).figures["host_pages"], 50.0);
    }

    #[test]
    fn a_start_more_than_a_victims_gain_off_the_trigger_is_named_with_the_writes_until_gc_runs() {
        let of = |start_pages: u64, host_pages| {
            let counters = counted(|counters| {
                counters.ftl.host_pages = host_pages;
                counters.raid.parity_pages = host_pages / 4;
                counters.gc.pages = 777;
            });
            found(FindingCode::StartOffTrigger, counters, |run| {
                run.erased = ErasedNote::new(start_pages, start_pages, host_pages);
                run.gc_units.trigger_pages = Some(200);
            })
        };
        assert_eq!((of(4 * 250, 800), of(4 * 150, 800)), (None, None));
        // A million writes program 800 pages of the host and 200 of parity.
        let above = of(4 * 250 + 4, 800).unwrap();
        assert_eq!(
            above.message,
            "it begins 51 pages a plane above the 200 at which this design starts GC, so GC runs after some 204,000 writes"
        );
        assert_eq!(above.figures["host_writes_until_gc"], 204_000.0);
        assert!(!of(4 * 250 + 4, 0).unwrap().figures.contains_key("host_writes_until_gc"));
        let below = of(4 * 150 - 4, 800).unwrap();
        assert_eq!((below.figures["off_pages"], below.figures.len()), (-51.0, 2));
        assert!(below.message.starts_with("it begins 51 pages a plane below the 200"), "{below:?}");
        assert_eq!(
            found(FindingCode::StartOffTrigger, Counters::default(), |run| run.erased.start_pages = 99_999),
            None,
            "it has no trigger"
        );
    }

    #[test]
    fn pages_that_writes_do_not_fill_are_named_beyond_a_tenth() {
        let of = |partial_pages| {
            let counters = counted(|counters| {
                counters.raid.sent_pages = 1000;
                counters.raid.partial_pages = partial_pages;
                counters.raid.sent_sectors = 32_000 - partial_pages * 24;
            });
            found(FindingCode::PartialPages, counters, |_| ())
        };
        assert_eq!(of(100), None);
        assert_eq!(
            of(500).unwrap().message,
            "50 % of the 16 KiB pages programmed for the host were not filled by its writes: 10.2 MB of data took 16.4 MB of pages"
        );
    }

    #[test]
    fn waits_for_a_bound_are_named_from_a_twentieth_of_the_requests_on() {
        let (counters, none, series) = (Counters::default(), latencies(0), SeriesSummary::default());
        let of = |waited, makespan_seconds| {
            let wait = LatencySummary { mean_us: Some(1.5 * waited as f64), ..latencies(1000) };
            let waits = HostWaitsNote { waited, waited_percent: waited as f64 / 10.0, arrivals_seconds: 9.5, wait };
            let bounded = Run {
                pacing: Pacing::Bounded { outstanding_max: 32 },
                host_waits: Some(&waits),
                throughput: Throughput { makespan_seconds, ..Throughput::default() },
                ..run(&counters, &none, &none, &series)
            };
            slots_full(&bounded).map(|found| found.message)
        };
        let waited = "5 % of the requests waited 1.5 ms on average in the host, with 32 outstanding, which latencies leave out";
        assert_eq!(of(49, 9.5), None);
        assert_eq!(of(50, 9.99).unwrap(), waited);
        assert_eq!(of(50, 10.0).unwrap(), format!("slower than the load: what came in 9.5 s took 10.0 s; {waited}"));
    }

    #[test]
    fn findings_stand_in_the_order_of_their_rank() {
        let counters = counted(|counters| {
            counters.ftl.host_pages = 1000;
            counters.raid.sent_pages = 1000;
            counters.raid.partial_pages = 1000;
            counters.host.completed = 1;
        });
        let (reads, writes, series) = (latencies(500), latencies(500), SeriesSummary::default());
        let run = Run {
            partial: true,
            queue_blocked_read_percent: 99.0,
            erased: ErasedNote::new(2000, 1000, 1000),
            gc_units: GcUnits { name: "plane", count: 4, trigger_pages: Some(100), gain_pages: 50.0 },
            ..run(&counters, &reads, &writes, &series)
        };
        use FindingCode::*;
        let codes: Vec<_> = findings(&run).into_iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [Partial, Borrowed, NoGc, StartOffTrigger, QueueFull, PartialPages, FewSamples]);
    }

    #[test]
    fn counts_of_gcs_that_chance_decides_are_named() {
        let series = SeriesSummary::default();
        let found = |gcs: u64, completed: u64, partial: bool| {
            let counters = counted(|counters| {
                counters.gc.gcs = gcs;
                counters.host.completed = completed;
                counters.ftl.host_pages = 1;
            });
            let of_all = latencies(1_000_000);
            let run = Run { partial, ..run(&counters, &of_all, &of_all, &series) };
            findings(&run).into_iter().map(|found| found.message).filter(|message| message.contains("GC")).collect::<Vec<_>>()
        };
        assert!(found(100, 1, false).is_empty());
        assert_eq!(found(99, 1, false), ["only 99 GCs ran: write amplification and wear mean little"]);
        assert_eq!(found(1, 1, false), ["only 1 GC ran: write amplification and wear mean little"]);
        assert!(found(0, 1, true)[0].starts_with("no GC ran"));
        let moves = counted(|counters| {
            counters.gc.pages = 1;
            counters.host.completed = 1;
            counters.ftl.host_pages = 1;
        });
        let none = latencies(1_000_000);
        let said = findings(&run(&moves, &none, &none, &series));
        assert_eq!(said[0].message, "no GC came to its end: write amplification and wear mean little");
    }
}
