//! Latency histograms, latency attribution, time series, the log of every request, request timelines and Perfetto timelines,
//! collected while a drive runs.

mod bursts;
mod classes;
pub mod distribution;
pub mod intervals;
pub mod kinds;
pub mod log;
pub mod request_timelines;
pub mod series;
mod table;
pub mod timeline;

pub use bursts::BurstsNote;

use bursts::BurstMeter;
pub use classes::Histogram;
use classes::{Classed, class_from};
use distribution::Distribution;
use intervals::{Interval, intervals};
use kinds::{KindSummary, Kinds};
use log::Log;
use schemars::JsonSchema;
use serde::Serialize;
use series::{Series, SeriesSummary};
use std::collections::BTreeMap;
use timeline::Timeline;
use tinytail_core::host::CommandKind;
use tinytail_core::observe::{Completion, Observer, PART_NAMES, PARTS, RequestAttribution};
use tinytail_core::units::{Ns, SECTOR_BYTES};
use tinytail_core::view::View;

/// Attribution is summed in classes of latency, this many bits for each doubling: 3.1 % wide.
const CLASS_BITS: u32 = 5;

/// Latencies of all requests of one kind in microseconds, from the arrival at the host to the last page; `None` where there was no
/// request. Percentiles come from a histogram and are within 0.1 %.
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

/// Where the time of the slowest requests of a kind went. They are the smallest number of whole classes of latency, at most 3.1 %
/// wide each, that holds the share asked for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "SlowestRequests")]
pub struct SlowestSum {
    /// The share asked for, in percent of all requests of the kind.
    pub share_percent: f64,
    /// The latency from which on a request belongs to them, in microseconds; `None` if there are none.
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

/// Attribution of one class of latency.
#[derive(Debug, Clone)]
struct Class {
    count: u64,
    queue_blocked: u64,
    host_queue_ns: u64,
    ns: [u64; PARTS],
}

impl Class {
    const EMPTY: Self = Self { count: 0, queue_blocked: 0, host_queue_ns: 0, ns: [0; PARTS] };

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.queue_blocked += other.queue_blocked;
        self.host_queue_ns += other.host_queue_ns;
        for (sum, ns) in self.ns.iter_mut().zip(&other.ns) {
            *sum += ns;
        }
    }
}

/// Attribution of requests of one kind by class of latency.
#[derive(Debug, Clone)]
struct ByClass {
    /// Of each class, where it is in `used`; `u16::MAX`: nowhere, as most classes.
    places: Vec<u16>,
    used: Vec<Class>,
}

impl ByClass {
    fn new() -> Self {
        Self { places: vec![u16::MAX; classes::classes(CLASS_BITS)], used: Vec::new() }
    }

    #[inline]
    fn of(&mut self, latency: Classed) -> &mut Class {
        let class = latency.of(CLASS_BITS);
        if self.places[class] == u16::MAX {
            self.use_class(class);
        }
        &mut self.used[usize::from(self.places[class])]
    }

    #[cold]
    fn use_class(&mut self, class: usize) {
        self.places[class] = self.used.len() as u16;
        self.used.push(Class::EMPTY);
    }

    fn sum(&self) -> AttributionSum {
        sum(self.used.iter())
    }

    /// Of the slowest: at least `share_percent` of all, by whole classes.
    fn slowest(&self, share_percent: f64) -> SlowestSum {
        let requests: u64 = self.used.iter().map(|class| class.count).sum();
        let wanted = (requests as f64 * share_percent / 100.0).ceil() as u64;
        let mut slowest = Vec::new();
        let mut from = None;
        let mut count = 0;
        for (class, &place) in self.places.iter().enumerate().rev().filter(|&(_, &place)| place != u16::MAX) {
            if count >= wanted {
                break;
            }
            let used = &self.used[usize::from(place)];
            count += used.count;
            from = Some(class_from(class, CLASS_BITS) as f64 / 1000.0);
            slowest.push(used);
        }
        SlowestSum { share_percent, latency_us_from: from, sum: sum(slowest.into_iter()) }
    }
}

fn sum<'a>(classes: impl Iterator<Item = &'a Class>) -> AttributionSum {
    let mut all = Class::EMPTY;
    classes.for_each(|class| all.add(class));
    let Class { count, queue_blocked, host_queue_ns, ns } = all;
    let ns = PART_NAMES.iter().copied().zip(ns).filter(|&(_, ns)| ns > 0).collect();
    AttributionSum { count, queue_blocked, host_queue_ns, ns }
}

/// The requests that have completed, and when they came and went: what rates are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// How many: reads, writes and trims.
    pub requests: u64,
    /// When the first of them arrived; later than all times where there are none.
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
        self.first_arrival = self.first_arrival.min(completion.arrived);
        self.last_arrival = self.last_arrival.max(completion.arrived);
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
    /// Attribution of reads and of writes by class of latency.
    classes: [ByClass; 2],
    /// Reads and writes that waited for a GC.
    gc_affected: [Affected; 2],
    /// Sectors of reads and writes.
    sectors: u64,
    span: Span,
    series: Series,
    log: Option<Log>,
    /// Where the host issues bursts.
    bursts: Option<BurstMeter>,
    /// Kinds of requests that are measured apart.
    kinds: Option<Box<Kinds>>,
}

impl Metrics {
    /// Metrics of what happens from `start_ns` on, over time in at most `windows` windows, each request in the log if there
    /// is one.
    pub fn new(start_ns: Ns, windows: u32, log: Option<Log>) -> Self {
        Self {
            latencies: [Histogram::default(), Histogram::default()],
            classes: [ByClass::new(), ByClass::new()],
            gc_affected: [Affected::default(); 2],
            sectors: 0,
            span: Span::EMPTY,
            series: Series::new(start_ns, windows),
            log,
            bursts: None,
            kinds: None,
        }
    }

    /// Measures bursts from now on, if the host issues bursts, each of which waits for the completion of the one before.
    pub fn measure_bursts(&mut self) {
        self.bursts = Some(BurstMeter::default());
    }

    /// Hands out what was measured of bursts; none if they were not.
    pub fn take_bursts(&mut self) -> Option<BurstsNote> {
        self.bursts.take().map(BurstMeter::finish)
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
        let class = self.classes[kind].of(latency);
        class.count += 1;
        class.queue_blocked += u64::from(completion.queue_blocked());
        class.host_queue_ns += completion.host_queue_ns;
        // By what iterates inside: the parts are two lists, and this is done for every request.
        attribution.parts().for_each(|(part, ns)| class.ns[part] += ns);
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
        percent(self.classes[0].sum().queue_blocked, self.latencies[0].len())
    }

    /// What the rates of requests are made of.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Attribution of all reads.
    pub fn all_reads(&self) -> AttributionSum {
        self.classes[0].sum()
    }

    /// Attribution of all writes.
    pub fn all_writes(&self) -> AttributionSum {
        self.classes[1].sum()
    }

    /// Attribution of the slowest reads: at least `share_percent` of them, by whole classes of latency.
    pub fn slowest_reads(&self, share_percent: f64) -> SlowestSum {
        self.classes[0].slowest(share_percent)
    }

    /// The same of writes.
    pub fn slowest_writes(&self, share_percent: f64) -> SlowestSum {
        self.classes[1].slowest(share_percent)
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
            id: 0,
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
        for _ in 0..999 {
            read(&mut metrics, 100, 0);
        }
        read(&mut metrics, 5000, 4900);
        let slowest = metrics.slowest_reads(0.1);
        assert_eq!((slowest.sum.count, slowest.sum.queue_blocked, slowest.sum.host_queue_ns), (1, 1, 4900));
        assert_eq!(slowest.sum.ns["die_erase"], 4900);
        assert_eq!(slowest.sum.ns["array"], 100);
        assert_eq!(metrics.all_reads().ns["array"], 999 * 100 + 100);
        assert!((metrics.queue_blocked_read_percent() - 0.1).abs() < 1e-9);
        let wider = metrics.slowest_reads(1.0);
        assert_eq!((wider.sum.count, wider.sum.queue_blocked), (1000, 1), "the other 999 have one latency");
        assert_eq!(wider.latency_us_from, Some(0.1));
        assert_eq!(metrics.slowest_reads(0.01), SlowestSum { share_percent: 0.01, ..slowest });
    }

    #[test]
    fn without_requests_there_are_no_figures() {
        let metrics = Metrics::default();
        assert_eq!(metrics.read().p99_us, None);
        assert_eq!(metrics.slowest_reads(0.1).sum.count, 0);
        assert_eq!(metrics.gc_blocked_read_percent(), 0.0);
    }
}
