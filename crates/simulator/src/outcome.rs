//! What a run reports: its figures, what they were made of, and what is to be known with them.

mod findings;
mod measured;
mod space;

use crate::spec::Spec;
use crate::wear::{Wear, block_erases, wear_spread};
pub use findings::{Finding, FindingCode};
use findings::{GcUnits, findings};
pub(crate) use measured::Recorder;
pub use measured::{MeasuredNote, MeasuredRatios, PercentileRatios};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, json};
pub use space::ErasedNote;
pub(crate) use space::ErasedPages;
use space::Fall;
use std::collections::BTreeMap;
use tinytail_config::counted;
use tinytail_core::design::{Adjustment, Design};
use tinytail_core::device::{AgeingMethod, Device};
use tinytail_core::drive::Drive;
use tinytail_core::drive::counters::Counters;
use tinytail_core::precondition::Aged;
use tinytail_core::units::{Ns, SECOND};
use tinytail_metrics::distribution::Distribution;
use tinytail_metrics::intervals::Interval;
use tinytail_metrics::kinds::KindSummary;
use tinytail_metrics::log::LogNote;
use tinytail_metrics::request_timelines::RequestTimelinesNote;
use tinytail_metrics::series::{ErasedAt, SeriesSummary};
use tinytail_metrics::timeline::TimelineNote;
use tinytail_metrics::{AttributionSum, BurstsNote, GcAffected, HostWaitsNote, LatencySummary, Measures, SlowestSum};
use tinytail_workload::rate::{arrivals_per_second, per_second};
use tinytail_workload::{Fitted, InputKind, Pacing, Workload};

/// The workload of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Workload")]
pub struct WorkloadNote {
    /// Its name.
    pub name: String,
    /// `real` for a recorded trace, `synthetic` for requests made by rule, or `stand-in` for ones made to be like a recorded trace.
    pub input: InputKind,
    /// What exactly was played.
    pub detail: String,
    /// When its requests were issued: `open` at their own times, `bounded` at those or after others completed, `closed` when others
    /// completed, or in `bursts`.
    pub pacing: PacingNote,
}

/// When the requests of a workload are issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Pacing")]
pub enum PacingNote {
    /// At their own times.
    Open,
    /// At their own times, or later, when others complete: so many are outstanding at most.
    Bounded,
    /// When others complete.
    Closed,
    /// In bursts.
    Bursts,
}

impl From<Pacing> for PacingNote {
    fn from(pacing: Pacing) -> Self {
        match pacing {
            Pacing::Open => Self::Open,
            Pacing::Bounded { .. } => Self::Bounded,
            Pacing::Closed { .. } => Self::Closed,
            Pacing::Bursts => Self::Bursts,
        }
    }
}

/// The state of the drive in which a run started.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "State")]
pub struct StateNote {
    /// How the drive was aged: `aged` by overwriting, to the `steady` state, `statistical`, or `random`; `empty` if it was not.
    #[schemars(extend("enum" = ["aged", "steady", "statistical", "random", "empty"]))]
    pub name: &'static str,
    /// Live share of the physical pages, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub live_percent: f64,
    /// Erased share of a plane's pages, mean of the least and the most, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub free_percent: f64,
    /// Erased pages of the plane that has the fewest.
    pub free_pages_min: u32,
    /// Erased pages of the plane that has the most.
    pub free_pages_max: u32,
    /// Valid share of the last victims of ageing, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub victim_valid_percent: f64,
    /// Pages that ageing wrote; of a statistical layout, the live ones.
    pub aged_pages: u64,
    /// How often ageing wrote the parity of a page that it overwrote, in percent. Missing where pages form no stripes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 100))]
    pub parity_percent: Option<u32>,
    /// A digest of what lies where, of the erases of each block and of the open blocks: equal ones mean equal states. Missing where
    /// the image of an older version does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub digest: Option<String>,
    /// Write amplification of each round of ageing to the steady state. Missing for other ways of ageing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<f64>,
    /// Whether write amplification became steady. Missing for other ways of ageing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub steady: Option<bool>,
    /// The image that the run started from. Missing where it started from no image.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub image: Option<String>,
    /// How the drive was warmed up after ageing.
    pub warm_up: String,
}

/// Where requests spent their time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Attribution")]
pub struct AttributionNote {
    /// Of all reads.
    pub all_reads: AttributionSum,
    /// Of the slowest 0.1 % of the reads.
    pub slowest_reads: SlowestSum,
    /// Of the slowest 10 %, 1 %, 0.1 %, 0.01 % and 0.001 % of the reads. One of more than 262,144 reads may be missing.
    pub tails: Vec<SlowestSum>,
    /// Of all writes.
    pub all_writes: AttributionSum,
    /// Of the slowest 10 %, 1 %, 0.1 %, 0.01 % and 0.001 % of the writes; as `tails`.
    pub write_tails: Vec<SlowestSum>,
}

/// How long GCs took, in the measured part.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GcTimes {
    /// Mean time from a GC's start to the end of its erase, in microseconds.
    pub mean_us: f64,
    /// The longest time from a GC's start to the end of its erase, in microseconds.
    pub max_us: f64,
    /// The longest time from a GC's start to its end, also of those that found nothing to free and do not count, in microseconds.
    pub turn_max_us: f64,
    /// The part of the mean from the moment at which a GC has locked all that it must to the end of its last page, in microseconds.
    pub copy_mean_us: f64,
    /// Mean time before a GC for which the gate put it off, in microseconds; 0 for one that it let pass at once.
    pub gate_wait_mean_us: f64,
    /// The longest time for which the gate put a GC off, in microseconds.
    pub gate_wait_max_us: f64,
}

/// What GC is to a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Gc")]
pub enum GcNote {
    /// It takes time, as it does on a drive.
    Real,
    /// It takes no time, so that the run is a bound.
    Ideal,
    /// There is none, so that the run is a bound that no drive keeps to for long.
    Never,
}

impl GcNote {
    fn of(design: &Design) -> Self {
        match design.gc_trigger.name() {
            "never" => Self::Never,
            _ if design.gc.ideal => Self::Ideal,
            _ => Self::Real,
        }
    }
}

/// A GC that started while another of its plane group was under way although GC rotates.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Violation")]
pub struct ViolationNote {
    /// When, in microseconds since the measured part began.
    pub at_us: f64,
    /// In which plane.
    pub plane: u32,
}

/// How fast requests came, and how fast they and their data were served: by the time that passed, and by that in which dies worked.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct Throughput {
    /// Requests completed in the measured part: reads, writes and trims.
    pub requests: u64,
    /// Bytes read and written by the host in the measured part.
    pub bytes: u64,
    /// From the first arrival to the last completion, in seconds.
    pub makespan_seconds: f64,
    /// Requests that arrived in each second: those after the first, over the time from the first arrival to the last. `None` where
    /// there were fewer than two, or all arrived at one instant.
    pub arrivals_per_second: Option<f64>,
    /// Requests served in each second of `makespan_seconds`: IOPS. `None` where no time passed.
    pub served_per_second: Option<f64>,
    /// 10^6 bytes for each second of `makespan_seconds`, which tells how fast the drive is where the host waits for completions, as
    /// in closed loop; `None` where no time passed.
    pub makespan_mb_per_second: Option<f64>,
    /// Time in which dies ran something, over all dies, in seconds.
    pub die_busy_seconds: f64,
    /// 10^6 bytes for each second in which all dies would have run something, or in which the host's link would have carried them
    /// if that is longer: never more than the link carries. `None` where no die worked for the host and there is no link.
    pub device_busy_mb_per_second: Option<f64>,
}

/// What one run of one design did. Counts and times are of the measured part.
// What differs between runs that are the same has `x-varies`; `tinytail diff` compares everything else.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Outcome {
    /// Composition of the design, such as `base+no-gc`.
    pub design: String,
    /// Latencies of reads.
    pub read: LatencySummary,
    /// Latencies of writes.
    pub write: LatencySummary,
    /// What the requests took when the trace was recorded, and how that compares. Missing where the trace does not say, where its
    /// requests are another load here, and in runs that were ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MeasuredNote")]
    pub measured: Option<MeasuredNote>,
    /// Where all latencies lie.
    pub distribution: Distribution,
    /// How far figures may be off, by names such as `read.p99_us`. A figure of which too little was seen has none.
    pub intervals: BTreeMap<String, Interval>,
    /// Reads that are GC-blocked, in percent: some page of them waited for a resource that a GC locked.
    #[schemars(range(min = 0, max = 100))]
    pub gc_blocked_read_percent: f64,
    /// Requests that are GC-blocked, and their latencies.
    pub gc_affected: GcAffected,
    /// Of the planes of a die, the share that works while a GC locks its plane or die, in percent: the GC's own plane all that
    /// time, transfers and erase included, others during the array time of what has joined GC's operations. Without that it is
    /// 100 divided by the planes of a die. `None` if no GC locked anything. I/O-parallelized GC, section 6.2.
    #[schemars(range(min = 0, max = 100))]
    pub plane_utilization_during_gc_percent: Option<f64>,
    /// How fast requests came, and how fast they and their data were served.
    pub throughput: Throughput,
    /// Reads that are queue-blocked, in percent: they waited in the host because the device queue was full.
    #[schemars(range(min = 0, max = 100))]
    pub queue_blocked_read_percent: f64,
    /// Pages programmed for host and GC, parity, padding, scrubbing and wear levelling, for each page programmed for the host;
    /// `None` without such pages. A page merged in the write buffer counts once.
    pub write_amplification: Option<f64>,
    /// Blocks erased.
    pub erases: u64,
    /// Erased pages: whether the run lived on them. 0 if it measured no request.
    pub erased: ErasedNote,
    /// What GC is to the design.
    pub gc: GcNote,
    /// GCs completed.
    pub gc_count: u64,
    /// How long GCs took; `None` if none ran, or took any time.
    pub gc_times: Option<GcTimes>,
    /// How long requests waited in the host for others to complete. Missing where nothing bounds how many are outstanding.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HostWaitsNote")]
    pub host_waits: Option<HostWaitsNote>,
    /// How fast bursts were done; `None` if the workload is not played in bursts.
    pub bursts: Option<BurstsNote>,
    /// The first 1,000 GCs that started while another of their plane group was under way although GC rotates; none where it
    /// does not.
    #[schemars(length(max = 1000))]
    pub rotation_violations: Vec<ViolationNote>,
    /// What makes these figures mean less than they seem to, in the order of rank.
    pub findings: Vec<Finding>,
    /// Where the time went.
    pub attribution: AttributionNote,
    /// The run over simulated time.
    pub series: SeriesSummary,
    /// How evenly planes and blocks were worn.
    pub wear: Wear,
    /// How often each technique and mechanism acted.
    #[schemars(schema_with = "techniques_schema")]
    pub techniques: BTreeMap<String, u64>,
    /// Hash of every event since the run began, warming up included, and of GC that takes no time. Equal hashes mean equal runs, on
    /// every machine.
    #[schemars(extend("pattern" = "^[0-9a-f]{16}$"))]
    pub event_hash: String,
    /// Speed of the simulator: requests for each second of user CPU time; `None` where it took none.
    #[schemars(extend("x-varies" = true))]
    pub requests_per_cpu_second: Option<f64>,
    /// User CPU time, in seconds.
    #[schemars(extend("x-varies" = true))]
    pub cpu_seconds: f64,
    /// User CPU time for each event, in nanoseconds; `None` without events.
    #[schemars(extend("x-varies" = true))]
    pub ns_per_event: Option<f64>,
    /// Events that the simulator handled.
    pub events: u64,
    /// Simulated time of the measured part, in seconds. It begins before the first arrival, in open loop 1 ms before the time 0 of
    /// the workload, so that rates are over `throughput.makespan_seconds`.
    pub simulated_seconds: f64,
    /// Page reads of pages that were never written or have been trimmed. They return zeroes, which RAM answers.
    pub unmapped_read_pages: u64,
    /// Reads that met such a page, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub unmapped_read_percent: f64,
    /// Page reads whose data were checked, in warming up as well; `None` without `--verify`.
    pub verified_page_reads: Option<u64>,
    /// The run was ended early: by Ctrl-C or SIGTERM, because it got stuck, or because its trace could not be read on.
    pub partial: bool,
    /// How requests, or a write for 10 s of simulated time, stopped completing, and what helps; `None` if none did.
    pub stuck: Option<String>,
    /// What kept the workload from being read to its end, such as a trace that changed while it was played. The figures are of
    /// the requests until then. Missing in other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub unread: Option<String>,
    /// Which locks were taken when requests stopped completing; `None` if none did.
    pub standstill: Option<String>,
    /// Name of the device.
    pub device: String,
    /// The workload.
    pub workload: WorkloadNote,
    /// The state in which the run started; `None` if it measured no request.
    pub state: Option<StateNote>,
    /// Seed of ageing and of generators.
    pub seed: u64,
    /// Version of the engine.
    pub version: &'static str,
    /// What is to be known with the figures, such as how a trace was read, and how many requests were folded or clipped.
    pub notes: Vec<String>,
    /// What of the design, of its capacity and of its starting state follows the drive; empty where the design runs as its file
    /// says.
    pub adjusted: Vec<Adjustment>,
    /// What became of the log of every request; `None` without `--log` and `--out`.
    #[schemars(extend("x-varies" = true))]
    pub log: Option<LogNote>,
    /// What became of the request timelines; `None` without `--out`.
    #[schemars(extend("x-varies" = true))]
    pub request_timelines: Option<RequestTimelinesNote>,
    /// What became of the timeline; `None` without `--timeline`.
    #[schemars(extend("x-varies" = true))]
    pub timeline: Option<TimelineNote>,
    /// Latencies of the kinds of requests that were measured apart, for certifications.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub kinds: Vec<KindSummary>,
    /// Why no more requests were issued, where a bound of theirs was reached, for certifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub given_up: Option<String>,
}

/// The counters that may stand under `techniques`, each with what it counts.
fn techniques_schema(_: &mut SchemaGenerator) -> Schema {
    let counters = Counters::default().reported().map(|counter| {
        let pattern = format!("^{}$", counter.name.replace('*', "[^:]+"));
        (pattern, json!({ "type": "integer", "minimum": 0, "description": counter.meaning }))
    });
    json_schema!({ "type": "object", "patternProperties": counters.collect::<Map<_, _>>(), "additionalProperties": false })
}

pub(crate) struct Figures {
    pub start: u64,
    pub cpu_seconds: f64,
    pub partial: bool,
    pub stuck: Option<String>,
    pub unread: Option<String>,
    /// How many requests the run was to have, if that is known.
    pub requests_expected: Option<u64>,
    pub standstill: Option<String>,
    /// Pages that the workload touches and the starting state lacks.
    pub unmapped: usize,
    pub warm_up: String,
    /// Erases of each block when the measured part began.
    pub erases_then: Vec<u32>,
    /// What was taken down of the latencies that the trace holds, of a run that played all of them.
    pub recorder: Option<Recorder>,
    /// Erased pages of the drive then.
    pub erased_then: ErasedPages,
    /// What was before the measured part.
    pub before: Before,
    /// What was measured of bursts.
    pub bursts: Option<BurstsNote>,
    /// What became of the workload's requests.
    pub notes: Vec<String>,
    /// Those of them that were folded or clipped.
    pub fitted: Vec<Fitted>,
    /// What follows the drive.
    pub adjusted: Vec<Adjustment>,
}

/// What was before the measured part: when the drive had aged, and warming up.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// Erased pages of the drive when warming up began.
    pub erased: u64,
    /// What warming up did.
    pub counters: Counters,
}

/// What is to be known of the starting state.
fn state_notes(aged: &Aged, unmapped: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if aged.steady == Some(false) {
        notes.push(format!("write amplification was not steady after {} of ageing", counted(aged.rounds.len() as u64, "round")));
    }
    if unmapped > 0 {
        notes.push(format!(
            "not mapped in the image: {} that the workload touches; their reads return zeroes from RAM until they are written; an image made \
             with --workload maps them",
            counted(unmapped as u64, "page")
        ));
    }
    notes
}

/// The tail that `slowest_reads` is. Of more than 262 million reads it may be the next narrower one.
const SLOWEST_READS_PERCENT: f64 = 0.1;

/// The violations of rotation that are listed in a note with their times.
const VIOLATIONS_LISTED: usize = 10;

/// The violations of rotation that a result holds.
const VIOLATIONS_IN_RESULTS: usize = 1000;

fn gc_times(counters: &Counters) -> Option<GcTimes> {
    let mean = |ns: u64| ns as f64 / 1e3 / counters.gc.gcs as f64;
    (counters.gc.took_ns > 0).then(|| GcTimes {
        mean_us: mean(counters.gc.took_ns),
        max_us: counters.gc.took_ns_max as f64 / 1e3,
        turn_max_us: counters.gc.turn_ns_max as f64 / 1e3,
        copy_mean_us: mean(counters.gc.copy_ns),
        gate_wait_mean_us: mean(counters.gc.gate_wait_ns),
        gate_wait_max_us: counters.gc.gate_wait_ns_max as f64 / 1e3,
    })
}

fn rotation_violations<M: Measures>(drive: &Drive<M>, start: u64) -> Vec<ViolationNote> {
    if drive.design().gc_gate.name() != "rotating" {
        return Vec::new();
    }
    let violations = drive.violations().iter().take(VIOLATIONS_IN_RESULTS);
    violations.map(|violation| ViolationNote { at_us: (violation.at - start) as f64 / 1e3, plane: violation.plane }).collect()
}

/// What is to be known of rotation: when it was violated, and that writes stalled for it.
fn rotation_notes<M: Measures>(drive: &Drive<M>, start: u64) -> Vec<String> {
    if drive.design().gc_gate.name() != "rotating" {
        return Vec::new();
    }
    let (counters, violations) = (drive.counters(), drive.violations());
    let mut notes = Vec::new();
    if counters.raid.gcs_overlapping > 0 {
        let times = violations.iter().take(VIOLATIONS_LISTED);
        let times: Vec<String> =
            times.map(|violation| format!("{:.6} s (plane {})", (violation.at - start) as f64 / SECOND as f64, violation.plane)).collect();
        let more = if counters.raid.gcs_overlapping > VIOLATIONS_LISTED as u64 { ", and more" } else { "" };
        notes.push(format!(
            "{} started while another of the group was under way, since a plane ran out of space: at {}{more}",
            counted(counters.raid.gcs_overlapping, "GC"),
            times.join(", ")
        ));
    }
    if counters.flash.space_blocked > 0 {
        notes.push(format!(
            "{} waited for an erased page while at most one GC ran in each group: writes came faster than rotation frees space",
            counted(counters.flash.space_blocked, "program")
        ));
    }
    notes
}

/// Pages that a GC frees: those of ageing's victims that were not valid, or of the run's own where these freed more.
fn victim_gain_pages(device: &Device, aged: &Aged, counters: &Counters) -> f64 {
    let pages = f64::from(device.geometry.pages_per_block);
    let before = pages * (1.0 - f64::from(aged.victim_valid_permille) / 1000.0);
    let now = if counters.gc.erases == 0 { 0.0 } else { pages - counters.gc.pages as f64 / counters.gc.erases as f64 };
    before.max(now)
}

pub(crate) fn outcome<M: Measures>(
    drive: &Drive<M>,
    device: &Device,
    workload: &Workload,
    spec: &Spec,
    aged: &Aged,
    figures: Figures,
) -> Outcome {
    let metrics = drive.observer().metrics();
    let counters = &drive.counters();
    let per_plane = f64::from(device.geometry.pages_per_plane());
    let requests = metrics.requests();
    let rate = |count: u64, per: f64| (count > 0 && per > 0.0).then(|| count as f64 / per);
    let (read, write, series) = (metrics.read(), metrics.write(), metrics.series(drive.view()));
    let throughput = throughput(drive, device);
    let gc = GcNote::of(drive.design());
    let (gc_unit, unit_planes) = if drive.design().triggers_by_die() { ("die", device.geometry.planes_per_die) } else { ("plane", 1) };
    let now = ErasedPages::of(drive);
    let mut erased = ErasedNote::new(figures.erased_then.all, now.all, counters.ftl.host_pages);
    let trigger_pages = drive.design().trigger_pages(device);
    let at_trigger = trigger_pages.map_or(u64::MAX, |pages| u64::from(pages) * u64::from(device.geometry.planes()));
    let gc_units = GcUnits {
        name: gc_unit,
        count: (device.geometry.planes() / unit_planes).into(),
        trigger_pages: trigger_pages.map(|pages| pages * unit_planes),
        gain_pages: victim_gain_pages(device, aged, counters) + f64::from(drive.design().cycle_pages(device) * unit_planes),
    };
    let before = &figures.before;
    let host_pages = before.counters.ftl.host_pages + counters.ftl.host_pages;
    let mut erased_since_ageing = ErasedNote::new(at_trigger.min(before.erased), now.all, host_pages);
    let fall = fall(drive, &figures, now);
    for note in [&mut erased, &mut erased_since_ageing].into_iter().filter(|note| note.drift_pages < 0) {
        note.urgent_seconds = fall.urgent_seconds(gc_units.gain_pages);
    }
    let unmapped_read_percent = percent_of(counters.host.unmapped_reads, read.count);
    let has_begun = metrics.span().requests > 0;
    let tails = metrics.read_tails();
    let host_waits = metrics.host_waits();
    let findings = findings(&findings::Run {
        collects: gc != GcNote::Never,
        counters,
        pacing: workload.pacing,
        read: &read,
        write: &write,
        series: &series,
        queue_blocked_read_percent: metrics.queue_blocked_read_percent(),
        unmapped_read_percent,
        partial: figures.partial,
        requests_expected: figures.requests_expected,
        fitted: &figures.fitted,
        coarse_times: &workload.coarse_times(),
        start: figures.start,
        span: metrics.span(),
        throughput,
        host_waits: host_waits.as_ref(),
        slots_proposed: slots_proposed(workload, device),
        page_bytes: device.geometry.page_bytes,
        erased,
        fall,
        before: figures.before.counters,
        erased_since_ageing,
        gc_units,
    });
    let waits = host_waits.as_ref().is_some_and(|waits| waits.waited > 0);
    let measured = figures.recorder.and_then(|recorder| recorder.note(&read, &write, waits));
    Outcome {
        design: spec.design.clone(),
        measured,
        read,
        write,
        distribution: metrics.distribution(),
        intervals: metrics.intervals(),
        gc_blocked_read_percent: metrics.gc_blocked_read_percent(),
        gc_affected: metrics.gc_affected(),
        plane_utilization_during_gc_percent: plane_utilization(counters, device),
        throughput,
        queue_blocked_read_percent: metrics.queue_blocked_read_percent(),
        write_amplification: write_amplification(counters),
        erases: counters.gc.erases,
        erased: if has_begun { erased } else { ErasedNote::default() },
        gc,
        gc_count: counters.gc.gcs,
        gc_times: gc_times(counters),
        host_waits,
        bursts: figures.bursts,
        rotation_violations: rotation_violations(drive, figures.start),
        attribution: AttributionNote {
            all_reads: metrics.all_reads(),
            slowest_reads: tails.iter().find(|tail| tail.share_percent <= SLOWEST_READS_PERCENT).expect("the narrowest is known").clone(),
            tails,
            all_writes: metrics.all_writes(),
            write_tails: metrics.write_tails(),
        },
        findings,
        series,
        techniques: techniques(drive.design(), counters),
        wear: Wear { blocks: block_erases(drive, device, &figures.erases_then), ..wear_spread(drive.view().erases_counted()) },
        event_hash: format!("{:016x}", drive.event_hash()),
        requests_per_cpu_second: rate(requests, figures.cpu_seconds),
        cpu_seconds: figures.cpu_seconds,
        ns_per_event: (counters.flash.events > 0).then(|| figures.cpu_seconds * 1e9 / counters.flash.events as f64),
        events: counters.flash.events,
        simulated_seconds: seconds(drive.now() - figures.start),
        unmapped_read_pages: counters.host.unmapped_read_pages,
        unmapped_read_percent,
        verified_page_reads: drive.verified(),
        partial: figures.partial,
        stuck: figures.stuck,
        unread: figures.unread,
        standstill: figures.standstill,
        device: device.name.clone(),
        workload: WorkloadNote {
            name: workload.name.clone(),
            input: workload.input,
            detail: workload.detail.clone(),
            pacing: workload.pacing.into(),
        },
        state: has_begun.then(|| StateNote {
            name: match device.state.ageing {
                _ if device.starts_empty() => "empty",
                AgeingMethod::Overwrite => "aged",
                AgeingMethod::Steady => "steady",
                AgeingMethod::Statistical => "statistical",
                AgeingMethod::Random => "random",
            },
            live_percent: aged.live_pages as f64 * 100.0 / device.geometry.physical_pages() as f64,
            free_percent: f64::from(aged.free_pages_min + aged.free_pages_max) * 50.0 / per_plane,
            free_pages_min: aged.free_pages_min,
            free_pages_max: aged.free_pages_max,
            victim_valid_percent: f64::from(aged.victim_valid_permille) / 10.0,
            aged_pages: aged.written_pages,
            parity_percent: drive.view().stripes().map(|_| device.state.parity_percent()),
            digest: (aged.digest != 0).then(|| format!("{:016x}", aged.digest)),
            rounds: aged.rounds.clone(),
            steady: aged.steady,
            image: spec.image.clone(),
            warm_up: figures.warm_up,
        }),
        seed: spec.seed,
        version: env!("CARGO_PKG_VERSION"),
        notes: Some(&device.defaults.note)
            .filter(|note| !note.is_empty())
            .into_iter()
            .chain(&workload.notes)
            .cloned()
            .chain(has_begun.then(|| state_notes(aged, figures.unmapped)).into_iter().flatten())
            .chain(rotation_notes(drive, figures.start))
            .chain(figures.notes)
            .collect(),
        adjusted: figures.adjusted,
        log: None,
        request_timelines: None,
        timeline: None,
        kinds: drive.observer().metrics().kinds(),
        given_up: drive.observer().metrics().given_up(),
    }
}

/// How the erased pages fell in the measured part, which ended with those of `now`.
fn fall<M: Measures>(drive: &Drive<M>, figures: &Figures, now: ErasedPages) -> Fall {
    let (view, device, length) = (drive.view(), drive.view().device(), drive.now() - figures.start);
    let seen = drive.observer().metrics().erased_at(figures.start + length / 3 * 2);
    let ErasedAt { erased_pages, host_pages, programmed_pages } =
        seen.unwrap_or(ErasedAt { erased_pages: figures.erased_then.all, host_pages: 0, programmed_pages: 0 });
    Fall {
        seconds: seconds(length),
        taken_pages: figures.erased_then.all as i64 - now.all as i64,
        last_third_pages: erased_pages as i64 - now.all as i64,
        last_third_host_pages: view.host_pages().saturating_sub(host_pages),
        last_third_programmed_pages: view.programmed_pages().saturating_sub(programmed_pages),
        fewest_then: figures.erased_then.fewest,
        fewest_now: now.fewest,
        kept_pages: view.tables().pages_kept().max(drive.design().urgent_pages(device)),
    }
}

/// A share in percent. What is counted when it begins may be a few more than what has ended.
fn percent_of(part: u64, whole: u64) -> f64 {
    if part == 0 { 0.0 } else { (part as f64 * 100.0 / whole.max(1) as f64).min(100.0) }
}

/// The most that is proposed: enough to keep dies busy, and not so many that they wait for each other for long.
const SLOTS_PROPOSED_MAX: u32 = 64;

/// A bound on what is outstanding that keeps a backlog out of the drive, for a workload that may have one and has none so small.
pub(crate) fn slots_proposed(workload: &Workload, device: &Device) -> Option<u32> {
    let slots = device.host.queue_depth.min(SLOTS_PROPOSED_MAX);
    let is_unbounded = match workload.pacing {
        Pacing::Open => true,
        Pacing::Bounded { outstanding_max } => outstanding_max > slots,
        Pacing::Closed { .. } | Pacing::Bursts => false,
    };
    (is_unbounded && workload.input != InputKind::Synthetic).then_some(slots)
}

/// Pages programmed for each page programmed for the host.
pub fn write_amplification(counters: &Counters) -> Option<f64> {
    (counters.ftl.host_pages > 0).then(|| counters.programmed_pages() as f64 / counters.ftl.host_pages as f64)
}

/// Percent of the planes of a die that work during GC: the GC's own all the time, others while something of theirs has joined it.
fn plane_utilization(counters: &Counters, device: &Device) -> Option<f64> {
    let whole = u64::from(device.geometry.planes_per_die) * counters.gc.locked_ns;
    (whole > 0).then(|| (counters.gc.locked_ns + counters.flash.paired_gc_ns) as f64 * 100.0 / whole as f64)
}

fn seconds(ns: Ns) -> f64 {
    ns as f64 / SECOND as f64
}

fn throughput<M: Measures>(drive: &Drive<M>, device: &Device) -> Throughput {
    let metrics = drive.observer().metrics();
    let (span, bytes) = (metrics.span(), metrics.bytes());
    let busy = drive.view().die_busy_ns();
    // Without a link, RAM serves the host in no time, which is no speed.
    let by_flash = device.host.link_mb_per_s.is_some() || drive.counters().ftl.host_operations > 0;
    let busy_ns = (busy as f64 / f64::from(device.geometry.dies())).max(device.host.link_ns(bytes) as f64);
    Throughput {
        requests: span.requests,
        bytes,
        makespan_seconds: seconds(span.makespan_ns()),
        arrivals_per_second: arrivals_per_second(span.requests, span.first_arrival, span.last_arrival),
        served_per_second: per_second(span.requests as f64, span.makespan_ns()),
        makespan_mb_per_second: per_second(bytes as f64 / 1e6, span.makespan_ns()),
        die_busy_seconds: seconds(busy),
        // Bytes for each microsecond are millions for each second.
        device_busy_mb_per_second: (by_flash && busy_ns > 0.0).then(|| bytes as f64 * 1e3 / busy_ns),
    }
}

/// How often each technique and mechanism acted.
fn techniques(design: &Design, counters: &Counters) -> BTreeMap<String, u64> {
    counters.reported().map(|counter| (counter.named(|interface| design.named(interface)), counter.count)).collect()
}
