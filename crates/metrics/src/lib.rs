//! Latency histograms, latency attribution, time series, the log of every request, request timelines and Perfetto timelines,
//! collected while a drive runs.

mod bursts;
mod classes;
pub mod distribution;
mod host_waits;
pub mod intervals;
pub mod kinds;
mod latency;
pub mod log;
pub mod request_timelines;
pub mod series;
mod slowest;
mod table;
pub mod timeline;

pub use bursts::BurstsNote;
pub use host_waits::HostWaitsNote;
pub use latency::LatencySummary;

use bursts::BurstMeter;
use classes::Classed;
pub use classes::Histogram;
use distribution::Distribution;
use host_waits::HostWaits;
use intervals::{Interval, intervals};
use kinds::{KindSummary, Kinds};
use log::Log;
use schemars::JsonSchema;
use serde::Serialize;
use series::{ErasedAt, Series, SeriesSummary};
use slowest::Slowest;
use std::collections::BTreeMap;
use timeline::Timeline;
use tinytail_core::commands::CommandKind;
use tinytail_core::observe::{Completion, Observer, PART_NAMES, PARTS, RequestAttribution};
use tinytail_core::policy::view::View;
use tinytail_core::units::{Ns, SECTOR_BYTES};

/// The tails that are attributed apart: one request in so many of a kind belongs to each, the slowest, rounded up. They are those
/// beyond p90 to p99.999.
const TAILS_ONE_IN: [u64; 5] = [10, 100, 1000, 10_000, 100_000];

/// Where the time of a group of requests went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AllRequests")]
pub struct AttributionSum {
    /// Requests of the group.
    pub count: u64,
    /// Requests among them that waited in the host because the device queue was full.
    pub queue_blocked: u64,
    /// For how many nanoseconds they did, together. `ns` has these too, by what kept the device's slots taken.
    pub host_queue_ns: u64,
    /// Nanoseconds of latency by cause, summed over the group. The causes add up to the latencies exactly; causes of zero are left
    /// out.
    pub ns: BTreeMap<&'static str, u64>,
}

/// Where the time of the slowest requests of a kind went: of that share of all of them, rounded up to whole requests. Of requests of
/// one latency those that arrived first belong to them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "SlowestRequests")]
pub struct SlowestSum {
    /// The share asked for, in percent of all requests of the kind.
    pub share_percent: f64,
    /// The latency of the fastest of them, in microseconds; `None` if there are none.
    pub latency_us_from: Option<f64>,
    /// What they are, and where their time went.
    #[serde(flatten)]
    pub sum: AttributionSum,
}

/// Requests of one kind that a GC made wait.
#[derive(Debug, Clone, Copy, Default)]
struct Affected {
    count: u64,
    sum_ns: u128,
}

impl Affected {
    #[inline]
    fn add(&mut self, ns: Ns) {
        self.count += 1;
        self.sum_ns += u128::from(ns);
    }

    fn summary(self, requests: u64) -> AffectedSummary {
        AffectedSummary {
            count: self.count,
            percent: percent(self.count, requests),
            mean_us: (self.count > 0).then(|| self.sum_ns as f64 / 1000.0 / self.count as f64),
        }
    }
}

/// Requests of one kind that a GC made wait.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Affected")]
pub struct AffectedSummary {
    /// How many.
    pub count: u64,
    /// Their share of all requests, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub percent: f64,
    /// Their mean latency in microseconds; `None` if there were none.
    pub mean_us: Option<f64>,
}

/// Requests that are GC-blocked: some page of them waited for a resource that a GC locked. I/O-parallelized GC, section 5.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GcAffected {
    /// Their share of all requests, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub percent: f64,
    /// Reads among them.
    pub reads: AffectedSummary,
    /// Writes among them.
    pub writes: AffectedSummary,
}

/// Sums over requests of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sums {
    count: u64,
    queue_blocked: u64,
    host_queue_ns: u64,
    /// Latency by part.
    ns: [u64; PARTS],
}

impl Sums {
    const EMPTY: Self = Self { count: 0, queue_blocked: 0, host_queue_ns: 0, ns: [0; PARTS] };

    /// Counts a request that waited so long in the host. Its latency is to be added to `ns`.
    #[inline]
    fn count(&mut self, host_queue_ns: Ns) {
        self.count += 1;
        self.queue_blocked += u64::from(host_queue_ns > 0);
        self.host_queue_ns += host_queue_ns;
    }

    fn summary(&self) -> AttributionSum {
        let &Self { count, queue_blocked, host_queue_ns, ns } = self;
        let ns = PART_NAMES.iter().copied().zip(ns).filter(|&(_, ns)| ns > 0).collect();
        AttributionSum { count, queue_blocked, host_queue_ns, ns }
    }
}

/// The requests that have completed, and when they came and went: what rates are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// How many: reads, writes and trims.
    pub requests: u64,
    /// When the first of them arrived, waits for a bound included; later than all times where there are none.
    pub first_arrival: Ns,
    /// When the last of them arrived.
    pub last_arrival: Ns,
    /// When the last of them completed.
    pub last_completion: Ns,
}

impl Span {
    const EMPTY: Self = Self { requests: 0, first_arrival: Ns::MAX, last_arrival: 0, last_completion: 0 };

    #[inline]
    fn add(&mut self, completion: &Completion) {
        self.requests += 1;
        self.first_arrival = self.first_arrival.min(completion.asked);
        self.last_arrival = self.last_arrival.max(completion.asked);
        self.last_completion = self.last_completion.max(completion.completed);
    }

    /// From the first arrival to the last completion.
    pub fn makespan_ns(&self) -> Ns {
        self.last_completion.saturating_sub(self.first_arrival)
    }
}

/// An observer that measures, whatever else it does.
pub trait Measures: Observer {
    /// What it measures.
    fn metrics(&self) -> &Metrics;

    /// The same, to be changed.
    fn metrics_mut(&mut self) -> &mut Metrics;

    /// The measured part begins at `start_ns` with request number `first_id`: over time in at most `windows` windows, each
    /// request in the log if there is one.
    fn begin(&mut self, start_ns: Ns, first_id: u64, windows: u32, log: Option<Log>);

    /// Hands out the timeline, which is to be finished.
    fn take_timeline(&mut self) -> Option<Timeline> {
        None
    }

    /// The request timelines that it keeps, if it does.
    fn request_timelines(&self) -> Option<&request_timelines::TracingMetrics> {
        None
    }
}

impl Measures for Metrics {
    fn metrics(&self) -> &Metrics {
        self
    }

    fn metrics_mut(&mut self) -> &mut Metrics {
        self
    }

    fn begin(&mut self, start_ns: Ns, first_id: u64, windows: u32, mut log: Option<Log>) {
        if let Some(log) = &mut log {
            log.count_from(first_id, start_ns);
        }
        let mut kinds = self.kinds.take();
        if let Some(kinds) = &mut kinds {
            kinds.begin(start_ns);
        }
        *self = Self { kinds, ..Self::new(start_ns, windows, log) };
    }
}

/// Everything that a run's results show of its requests.
#[derive(Debug)]
pub struct Metrics {
    /// Latencies of reads and of writes.
    latencies: [Histogram; 2],
    /// Attribution of reads and of writes.
    sums: [Sums; 2],
    /// Attribution of the slowest reads and writes, one by one.
    slowest: [Slowest; 2],
    /// Reads and writes that waited for a GC.
    gc_affected: [Affected; 2],
    /// Sectors of reads and writes.
    sectors: u64,
    span: Span,
    series: Series,
    log: Option<Log>,
    /// Where the host issues bursts.
    bursts: Option<BurstMeter>,
    /// Where the host bounds what is outstanding.
    host_waits: Option<Box<HostWaits>>,
    /// Kinds of requests that are measured apart.
    kinds: Option<Box<Kinds>>,
}

impl Metrics {
    /// Metrics of what happens from `start_ns` on, over time in at most `windows` windows, each request in the log if there
    /// is one.
    pub fn new(start_ns: Ns, windows: u32, log: Option<Log>) -> Self {
        Self {
            latencies: [Histogram::default(), Histogram::default()],
            sums: [Sums::EMPTY; 2],
            slowest: [Slowest::none(), Slowest::none()],
            gc_affected: [Affected::default(); 2],
            sectors: 0,
            span: Span::EMPTY,
            series: Series::new(start_ns, windows),
            log,
            bursts: None,
            host_waits: None,
            kinds: None,
        }
    }

    /// Keeps the slowest requests from now on, of which tails are made. `requests`: how many are expected, if that is known.
    pub fn measure_tails(&mut self, requests: Option<u64>) {
        // A workload that is drawn at random may have some more than expected.
        let bound = requests.map(|requests| requests.saturating_add(requests / 8 + 1000));
        let keep = bound.map_or(u64::MAX, |bound| bound.div_ceil(TAILS_ONE_IN[0]));
        self.slowest = [Slowest::of(keep), Slowest::of(keep)];
    }

    /// Measures bursts from now on, if the host issues bursts, each of which waits for the completion of the one before.
    pub fn measure_bursts(&mut self) {
        self.bursts = Some(BurstMeter::default());
    }

    /// Hands out what was measured of bursts; none if they were not.
    pub fn take_bursts(&mut self) -> Option<BurstsNote> {
        self.bursts.take().map(BurstMeter::finish)
    }

    /// Measures from now on how long requests wait in the host, where it bounds what is outstanding.
    pub fn measure_host_waits(&mut self) {
        self.host_waits = Some(Box::default());
    }

    /// How long requests have waited in the host; none if that was not measured.
    pub fn host_waits(&self) -> Option<HostWaitsNote> {
        let arrivals_ns = self.span.last_arrival.saturating_sub(self.span.first_arrival);
        self.host_waits.as_ref().map(|waits| waits.note(arrivals_ns))
    }

    /// Measures these kinds of requests apart as well.
    pub fn measure_kinds(&mut self, kinds: Kinds) {
        self.kinds = Some(Box::new(kinds));
    }

    /// Why the run need not go on, if the kinds that are measured apart need no more.
    pub fn given_up(&self) -> Option<String> {
        self.kinds.as_ref()?.given_up()
    }

    /// Latencies of the kinds of requests that are measured apart.
    pub fn kinds(&self) -> Vec<KindSummary> {
        self.kinds.as_ref().map(|kinds| kinds.summary()).unwrap_or_default()
    }

    /// Hands out the log, which is to be finished.
    pub fn take_log(&mut self) -> Option<Log> {
        self.log.take()
    }

    /// The run over simulated time, up to now.
    pub fn series(&self, view: View<'_>) -> SeriesSummary {
        self.series.summary(view, self.span.first_arrival)
    }

    /// Return the erased pages of the drive at a time of the run, and what was programmed until then; within a window of the series.
    pub fn erased_at(&self, at: Ns) -> Option<ErasedAt> {
        self.series.erased_at(at)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new(0, series::WINDOWS, None)
    }
}

impl Observer for Metrics {
    #[inline]
    fn completed(&mut self, completion: &Completion, attribution: RequestAttribution<'_>) {
        if let Some(log) = &mut self.log {
            log.append(completion, attribution);
        }
        if let Some(bursts) = &mut self.bursts {
            bursts.add(completion);
        }
        if let Some(waits) = &mut self.host_waits {
            waits.add(completion);
        }
        if let Some(kinds) = &mut self.kinds {
            kinds.add(completion);
        }
        let latency = completion.completed - completion.arrived;
        if completion.gc_blocked && completion.kind != CommandKind::Trim {
            self.gc_affected[usize::from(completion.kind == CommandKind::Write)].add(latency);
        }
        self.span.add(completion);
        let latency = Classed::new(latency);
        self.series.record(completion, latency);
        let kind = match completion.kind {
            CommandKind::Read => 0,
            CommandKind::Write => 1,
            // The counters of the drive have them, and the log.
            CommandKind::Trim => return,
        };
        self.latencies[kind].count(latency);
        self.sectors += u64::from(completion.sectors);
        let sums = &mut self.sums[kind];
        sums.count(completion.host_queue_ns);
        // By what iterates inside: the parts are two lists, and this is done for every request.
        attribution.parts().for_each(|(part, ns)| sums.ns[part] += ns);
        self.slowest[kind].consider(latency.ns, completion, attribution, &self.latencies[kind]);
    }

    #[inline]
    fn wants_look(&self, now: Ns) -> bool {
        self.series.is_over(now)
    }

    fn look(&mut self, view: View<'_>) {
        self.series.look(view);
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

impl Metrics {
    /// Reads and writes recorded.
    pub fn requests(&self) -> u64 {
        self.latencies.iter().map(Histogram::len).sum()
    }

    /// Latencies of reads.
    pub fn read(&self) -> LatencySummary {
        LatencySummary::of(&self.latencies[0])
    }

    /// Latencies of writes.
    pub fn write(&self) -> LatencySummary {
        LatencySummary::of(&self.latencies[1])
    }

    /// Where the latencies of reads and writes lie.
    pub fn distribution(&self) -> Distribution {
        Distribution::new(&self.latencies[0], &self.latencies[1])
    }

    /// Where the figures of [`Metrics::read`] and [`Metrics::write`] lie, by names such as `read.p99_us`.
    pub fn intervals(&self) -> BTreeMap<String, Interval> {
        let [reads, writes] = self.series.classes();
        let mut found = intervals("read", &reads, &self.read());
        found.extend(intervals("write", &writes, &self.write()));
        found
    }

    /// Percent of reads of which some page waited for a resource that a GC locked. TTFLASH, section 6.1.
    pub fn gc_blocked_read_percent(&self) -> f64 {
        percent(self.gc_affected[0].count, self.latencies[0].len())
    }

    /// The requests of which some page waited for a GC. I/O-parallelized GC, section 5.
    pub fn gc_affected(&self) -> GcAffected {
        let [reads, writes] = self.gc_affected;
        GcAffected {
            percent: percent(reads.count + writes.count, self.requests()),
            reads: reads.summary(self.requests()),
            writes: writes.summary(self.requests()),
        }
    }

    /// Bytes of reads and writes.
    pub fn bytes(&self) -> u64 {
        self.sectors * u64::from(SECTOR_BYTES)
    }

    /// Percent of reads that waited in the host while the device queue was full. TTFLASH, section 6.1.
    pub fn queue_blocked_read_percent(&self) -> f64 {
        percent(self.sums[0].queue_blocked, self.latencies[0].len())
    }

    /// What the rates of requests are made of.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Attribution of all reads.
    pub fn all_reads(&self) -> AttributionSum {
        self.sums[0].summary()
    }

    /// Attribution of all writes.
    pub fn all_writes(&self) -> AttributionSum {
        self.sums[1].summary()
    }

    /// Attribution of the slowest reads, by tail. A tail of more requests than are known one by one is left out.
    pub fn read_tails(&self) -> Vec<SlowestSum> {
        self.tails(0)
    }

    /// The same of writes.
    pub fn write_tails(&self) -> Vec<SlowestSum> {
        self.tails(1)
    }

    fn tails(&self, kind: usize) -> Vec<SlowestSum> {
        let counts = TAILS_ONE_IN.map(|one_in| self.latencies[kind].len().div_ceil(one_in));
        let found = self.slowest[kind].sums(counts);
        let tail = |(one_in, found): (u64, Option<(Sums, Option<Ns>)>)| {
            let (sums, from) = found?;
            Some(SlowestSum {
                share_percent: 100.0 / one_in as f64,
                latency_us_from: from.map(|ns| ns as f64 / 1000.0),
                sum: sums.summary(),
            })
        };
        TAILS_ONE_IN.into_iter().zip(found).filter_map(tail).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinytail_core::observe::{ARRAY, Attribution, DIE, TrafficClass};

    fn read(metrics: &mut Metrics, latency: Ns, waited: Ns) {
        let mut attribution = Attribution::default();
        attribution.add(ARRAY, latency - waited);
        attribution.add(DIE + TrafficClass::Erase as usize, waited);
        let completion = Completion {
            id: metrics.requests(),
            kind: CommandKind::Read,
            sector: 0,
            sectors: 8,
            asked: 5,
            arrived: 5,
            completed: 5 + latency,
            gc_blocked: false,
            reconstructed: 0,
            gc_waits: 0,
            gc_waits_forced: 0,
            gc_wait_since: 0,
            host_queue_ns: waited,
        };
        metrics.completed(&completion, (&attribution).into());
    }

    #[test]
    fn percentiles_are_within_a_thousandth_and_extremes_exact() {
        let mut metrics = Metrics::default();
        for latency in 1..=100_000 {
            read(&mut metrics, latency * 1000, 0);
        }
        let summary = metrics.read();
        let near = |found: Option<f64>, truth: f64| assert!((found.unwrap() / truth - 1.0).abs() < 0.001, "{found:?} for {truth}");
        near(summary.p50_us, 50_000.0);
        near(summary.p9999_us, 99_990.0);
        near(summary.p99999_us, 99_999.0);
        assert_eq!(summary.max_us, Some(100_000.0));
        assert_eq!(summary.mean_us, Some(50_000.5));
    }

    #[test]
    fn the_slowest_reads_are_attributed_apart() {
        let mut metrics = Metrics::default();
        // Some fewer than there will be, as a workload that is drawn may have.
        metrics.measure_tails(Some(950));
        for _ in 0..999 {
            read(&mut metrics, 100, 0);
        }
        read(&mut metrics, 5000, 4900);
        let [_, wider, slowest, narrower, _] = &metrics.read_tails()[..] else { panic!("five tails") };
        assert_eq!((slowest.sum.count, slowest.sum.queue_blocked, slowest.sum.host_queue_ns), (1, 1, 4900));
        assert_eq!(slowest.sum.ns["die_erase"], 4900);
        assert_eq!(slowest.sum.ns["array"], 100);
        assert_eq!(metrics.all_reads().ns["array"], 999 * 100 + 100);
        assert!((metrics.queue_blocked_read_percent() - 0.1).abs() < 1e-9);
        assert_eq!((wider.share_percent, wider.sum.count, wider.sum.queue_blocked), (1.0, 10, 1));
        assert_eq!((wider.sum.ns["array"], wider.latency_us_from), (1000, Some(0.1)));
        assert_eq!(*narrower, SlowestSum { share_percent: 0.01, ..slowest.clone() }, "rounded up");
    }

    #[test]
    fn without_requests_there_are_no_figures() {
        let metrics = Metrics::default();
        assert_eq!(metrics.read().p99_us, None);
        assert!(metrics.read_tails().iter().all(|tail| (tail.sum.count, tail.latency_us_from) == (0, None)));
        assert_eq!(metrics.gc_blocked_read_percent(), 0.0);
    }
}
