//! One run: a design on a device under a workload, from the starting state to the figures.

use crate::aged::Shared;
use crate::catalog;
use crate::control::{Control, Phase, WRITE_STALL_S, WRITE_STALL_S_MAX};
use crate::crew::AtWork;
use crate::image::Image;
use crate::kinds::KindsSpec;
use crate::outcome::{Before, Figures, Outcome, Recorder, erased_pages, outcome};
use crate::play::{Ending, play, play_streams};
use crate::settings::Settings;
use crate::wear::erases_so_far;
use crate::without::without;
use nix::sys::resource::{UsageWho, getrusage};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;
use tinytail_config::ConfigError;
use tinytail_core::commands::CommandKind;
use tinytail_core::design::{Adjustment, Design};
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::ids::{Lpn, NONE};
use tinytail_core::observe::TrafficClass;
use tinytail_core::precondition::Aged;
use tinytail_core::techniques::SuspendPolicy;
use tinytail_core::units::{MS, SECOND};
use tinytail_metrics::log::{Log, LogError};
use tinytail_metrics::request_timelines::{TracingMetrics, Wanted};
use tinytail_metrics::series::{WINDOWS, WINDOWS_MAX};
use tinytail_metrics::timeline::{Timeline, TimelineError, WantedTimeline};
use tinytail_metrics::{Measures, Metrics};
use tinytail_workload::{
    Arrival, InputKind, Note, Pacing, Reading, Source, SourceContext, Stream, Streams, TraceOptions, Transform, Workload, WorkloadError,
};

/// What a run of one design needs.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RunSpec")]
pub struct Spec {
    /// Name or path of the device.
    pub device: String,
    /// Composition of the design.
    pub design: String,
    /// Name or path of the workload.
    pub workload: String,
    /// The file that holds what was read from a pipe, if the workload's name is that of a pipe or `-`.
    pub spooled: Option<PathBuf>,
    /// How a trace is read and paced.
    #[serde(default)]
    pub trace: TraceOptions,
    /// What is done to the requests of a trace or a stand-in.
    #[serde(default)]
    pub transform: Transform,
    /// How many requests to run; all that the workload has if not given.
    #[schemars(range(min = 1))]
    pub requests: Option<u64>,
    /// Seed of whatever is random. The same input with the same seed gives the same results.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Check every read against what was last written there.
    #[serde(default)]
    pub verify: bool,
    /// The most windows that the series over time in the results may have.
    #[serde(default = "windows")]
    #[schemars(range(min = 1, max = WINDOWS_MAX))]
    pub windows: u32,
    /// Measure from the starting state itself, as `tinytail serve` does, instead of playing a trace once before, or a generator until
    /// it has filled the write buffer.
    #[serde(default)]
    pub no_warm_up: bool,
    /// Simulated seconds that a write may spend in the device. One that takes longer ends the run, with what was served until then:
    /// writes that get nowhere would have it go on for ever. Where bursts are more than a drive keeps up with, a backlog may last
    /// longer.
    #[serde(default = "write_stall_s")]
    #[schemars(range(min = 1, max = WRITE_STALL_S_MAX))]
    pub write_stall_s: u64,
    /// Values of the starting state that replace the device's.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub state: toml::Table,
    /// Values that are given beside the files of device, design and workload.
    #[serde(default)]
    #[schemars(with = "Vec<String>", extend("default" = []))]
    pub settings: Settings,
    /// Path of an image to start from, instead of ageing.
    pub image: Option<String>,
    /// Where to log every request, if anywhere.
    pub log: Option<LogSpec>,
    /// Which request timelines are kept, and where, if any are.
    pub request_timelines: Option<RequestTimelinesSpec>,
    /// Causes that take no time, from the aged drive on.
    #[serde(default)]
    pub without: Vec<String>,
    /// Where a timeline goes, and of what, if anywhere.
    pub timeline: Option<TimelineSpec>,
    /// Which kinds of requests are measured apart, if any are.
    pub kinds: Option<KindsSpec>,
    /// Other designs, whose capacity bounds the workload's addresses as well: those that this one is compared with.
    #[serde(default)]
    pub beside: Vec<String>,
}

fn seed() -> u64 {
    1
}

fn windows() -> u32 {
    WINDOWS
}

fn write_stall_s() -> u64 {
    WRITE_STALL_S
}

impl Spec {
    /// A run of a device, a design and a workload as they are, with the default of everything else.
    pub fn new(device: &str, design: &str, workload: &str) -> Self {
        let named = json!({ "device": device, "design": design, "workload": workload });
        serde_json::from_value(named).expect("everything else has a default")
    }
}

/// Timelines of requests of the measured part.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestTimelinesSpec {
    /// The folder of their files, which must exist.
    pub path: String,
    /// Of how many of the slowest reads, and of how many of the slowest writes.
    pub slowest: usize,
    /// Of which requests, by their numbers in the measured part.
    #[serde(default)]
    pub requests: Vec<u64>,
}

/// A timeline of the measured part or of a window of it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineSpec {
    /// The file, which is replaced if it exists.
    pub path: String,
    /// Since when and up to when, in nanoseconds since the measured part began; all of it if not given.
    pub window_ns: Option<(u64, u64)>,
    /// Slices at most, if not the usual number.
    pub slices_max: Option<u64>,
    /// How many of the slowest reads are shown, if not the usual number.
    pub slow_reads: Option<usize>,
    /// The command that repeats the run, for the file.
    pub command: String,
}

/// A log of every request of the measured part.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSpec {
    /// The file, which is replaced if it exists.
    pub path: String,
    /// The command that repeats the run, for the file.
    pub command: String,
}

/// Why a run gave no result.
#[derive(Debug, Error)]
pub enum RunError {
    /// A faulty device or design.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A faulty workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A log that cannot be written, found before anything ran.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A timeline that cannot be written, found before anything ran.
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    /// The run itself failed.
    #[error("{0}")]
    Failed(String),
}

/// Raised when a log of this version could be misread.
const LOG_VERSION: u32 = 3;

/// User CPU time of this thread, in seconds.
pub(crate) fn thread_cpu_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel knows its threads");
    let time = usage.user_time();
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

/// Runs one design and returns its figures. A run that is cancelled or gets stuck returns what it has, and says so.
///
/// # Errors
/// A faulty device, design or workload; wrong data under `verify`.
pub fn run(spec: &Spec, control: &Control) -> Result<Outcome, RunError> {
    run_shared(spec, control, &Shared::default())
}

/// As `run`, for one of several runs that share what they can.
///
/// # Errors
/// As for `run`.
pub fn run_shared(spec: &Spec, control: &Control, shared: &Shared) -> Result<Outcome, RunError> {
    run_changed(spec, control, shared, |_| {})
}

/// As `run`, of the design after a change that no file can make, such as a policy from outside the core.
///
/// # Errors
/// As for `run`; a policy that does not fit the device.
pub fn run_with_policies(spec: &Spec, control: &Control, change: impl FnOnce(&mut Design)) -> Result<Outcome, RunError> {
    run_changed(spec, control, &Shared::default(), change)
}

fn run_changed(spec: &Spec, control: &Control, shared: &Shared, change: impl FnOnce(&mut Design)) -> Result<Outcome, RunError> {
    let mut device = catalog::device_with(&spec.device, &spec.settings)?.with_state("the given state", spec.state.clone())?;
    let (mut design, free) = without(&spec.without, &mut device, &spec.design, &spec.settings)?;
    change(&mut design);
    let image = spec.image.as_deref().map(Image::open).transpose()?;
    if let Some(image) = &image {
        if !spec.state.is_empty() {
            return Err(ConfigError::new("a starting state and an image were both given; an image has its own state").into());
        }
        spec.settings.without_state()?;
        device.state = image.header.state.clone();
    }
    let addresses = Addresses::of(&device, spec.beside.iter().chain([&spec.design]), &spec.settings)?;
    let mut adjusted = design.fit_space(&mut device);
    if let Some(image) = &image {
        image.check_fits(&device, &design)?;
    }
    control.enter(Phase::Reading, 0);
    let reading = Reading { spooled: spec.spooled.clone(), watch: Arc::clone(control.watch()), seen: Arc::clone(shared.seen()) };
    let resolved = Workload::resolve_watched(&spec.workload, &spec.trace, spec.settings.workload(), &reading)?;
    let workload = resolved.transformed(&spec.transform)?;
    if spec.requests == Some(0) {
        return Err(RunError::Failed("0 requests were asked for; at least 1 is needed".into()));
    }
    workload.check_ends(spec.requests)?;
    if !(1..=WINDOWS_MAX).contains(&spec.windows) {
        return Err(RunError::Failed(format!("{} windows were asked for; 1 to {WINDOWS_MAX} are possible", spec.windows)));
    }
    // A file that cannot be written is found before the work.
    let log = spec.log.as_ref().map(|log| Log::create(&log.path)).transpose()?;
    let timeline = spec.timeline.as_ref().map(|timeline| open_timeline(timeline, &device)).transpose()?;
    addresses.check(&workload)?;
    let mapped = design.mapped_pages(&device);
    let footprint = footprint(&device, mapped, &workload, spec.seed, spec.requests, &addresses.context, control)?;
    adjusted.extend(design.fit_gc(&device, u64::from(mapped) + footprint.len() as u64));
    let prepared = Prepared { image, log, adjusted, addresses, footprint };
    let _at_work = AtWork::new();
    run_on(&device, design, &free, &workload, prepared, timeline, spec, control, shared)
}

/// What a run has opened and found out before its work.
struct Prepared {
    image: Option<Image>,
    log: Option<Log>,
    adjusted: Vec<Adjustment>,
    addresses: Addresses,
    /// Pages of the workload beyond those that the starting state maps.
    footprint: Vec<Lpn>,
}

/// The addresses that a workload may use on a drive: those that each of the designs compared can hold.
pub(crate) struct Addresses {
    pub context: SourceContext,
    /// Why that is less than the drive has.
    note: Option<String>,
}

impl Addresses {
    /// The addresses that all of some designs can hold on a device.
    pub fn of<'a>(device: &Device, designs: impl IntoIterator<Item = &'a String>, settings: &Settings) -> Result<Self, ConfigError> {
        let (mut least, mut note) = (device.clone(), None);
        for design in designs {
            let mut fitted = device.clone();
            let adjusted = catalog::design_with(design, settings, None)?.fit_space(&mut fitted);
            if fitted.logical_pages() < least.logical_pages() {
                least.host = fitted.host;
                note = adjusted.into_iter().find(|item| item.code == "parity_capacity").map(|item| item.message);
            }
        }
        let per_page = u64::from(device.geometry.sectors_per_page());
        let context =
            SourceContext { logical_sectors: least.logical_sectors(), mapped_sectors: u64::from(least.mapped_pages()) * per_page };
        Ok(Self { context, note })
    }

    /// Refuses a workload that goes beyond them.
    pub fn check(&self, workload: &Workload) -> Result<(), RunError> {
        let Err(error) = workload.check_fits(self.context.logical_sectors) else { return Ok(()) };
        Err(match &self.note {
            Some(note) => WorkloadError::DoesNotFit { name: workload.name.clone(), message: format!("{error}. Note that {note}") }.into(),
            None => error.into(),
        })
    }
}

fn open_timeline(spec: &TimelineSpec, device: &Device) -> Result<Timeline, RunError> {
    let usual = WantedTimeline::default();
    let (from_ns, to_ns) = spec.window_ns.map_or((0, None), |(from, to)| (from, Some(to)));
    if to_ns.is_some_and(|to| to <= from_ns) {
        return Err(RunError::Failed(format!("the timeline's window must end after it begins, at {from_ns} ns")));
    }
    let slices_max = spec.slices_max.unwrap_or(usual.slices_max);
    let slow_reads = spec.slow_reads.unwrap_or(usual.slow_reads);
    Ok(Timeline::create(&spec.path, device, WantedTimeline { from_ns, to_ns, slices_max, slow_reads })?)
}

#[expect(clippy::too_many_arguments, reason = "a run, and what it has opened before its work")]
fn run_on(
    device: &Device,
    design: Design,
    free: &[TrafficClass],
    workload: &Workload,
    prepared: Prepared,
    timeline: Option<Timeline>,
    spec: &Spec,
    control: &Control,
    shared: &Shared,
) -> Result<Outcome, RunError> {
    if spec.request_timelines.is_none() && timeline.is_none() {
        let mut drive = Drive::new(device, design, spec.verify, Metrics::default())?;
        drive.make_free(free);
        return run_with(drive, device, workload, prepared, spec, control, shared);
    }
    let request_timelines = spec.request_timelines.as_ref();
    let wanted = request_timelines.map(|request_timelines| Wanted {
        slowest: request_timelines.slowest,
        requests: request_timelines.requests.iter().copied().collect(),
    });
    let mut drive = Drive::new(device, design, spec.verify, TracingMetrics::new(device, wanted, timeline))?;
    drive.make_free(free);
    run_with(drive, device, workload, prepared, spec, control, shared)
}

fn run_with<M: Measures>(
    mut drive: Drive<M>,
    device: &Device,
    workload: &Workload,
    prepared: Prepared,
    spec: &Spec,
    control: &Control,
    shared: &Shared,
) -> Result<Outcome, RunError> {
    let Prepared { image, log, adjusted, addresses, footprint } = prepared;
    if !(1..=WRITE_STALL_S_MAX).contains(&spec.write_stall_s) {
        return Err(RunError::Failed(format!("`write_stall_s` is {}; allowed: 1 to {WRITE_STALL_S_MAX}", spec.write_stall_s)));
    }
    control.set_write_stall_s(spec.write_stall_s);
    if let Some(kinds) = &spec.kinds {
        drive.observer_mut().metrics_mut().measure_kinds(kinds.kinds()?);
    }
    let context = addresses.context;
    if control.is_cancelled() {
        let figures = Figures {
            start: 0,
            cpu_seconds: 0.0,
            partial: true,
            stuck: None,
            unread: None,
            requests_expected: workload.requests_expected(spec.requests),
            standstill: None,
            unmapped: 0,
            warm_up: "none".into(),
            erases_then: erases_so_far(&drive),
            recorder: None,
            erased_then: erased_pages(&drive),
            before: Before::default(),
            bursts: None,
            notes: Vec::new(),
            fitted: Vec::new(),
            adjusted,
        };
        return Ok(finish(outcome(&drive, device, workload, spec, &Aged::default(), figures), log, &mut drive, spec));
    }
    let aged = match image {
        Some(image) => {
            control.enter(Phase::Loading, 0);
            image.load(&mut drive, spec.seed)?
        }
        None => shared.age(&mut drive, spec, &footprint, control)?,
    };
    let unmapped = footprint.iter().filter(|&&lpn| drive.view().tables().lookup(lpn) == NONE).count();
    drive.wake();
    let before = Before { start: drive.now(), erased: erased_pages(&drive), ..Before::default() };
    let mut ending = if control.is_cancelled() { Ending::Cancelled } else { Ending::Complete };
    let mut warm_up = "none".to_string();
    let mut kept = None;
    if ending == Ending::Complete && !spec.no_warm_up {
        (ending, warm_up, kept) = warm(&mut drive, workload, spec, &context, control)?;
    }
    if let Ending::Unread(why) = ending {
        return Err(RunError::Failed(why));
    }
    let before = Before { counters: *drive.counters(), ..before };
    drive.reset_counters();
    let start = drive.now();
    let erases_then = erases_so_far(&drive);
    let erased_then = erased_pages(&drive);
    // Every request of warming up has completed, and numbers go on from there.
    let first_id = drive.submitted();
    drive.observer_mut().begin(start, first_id, spec.windows, log);
    drive.observer_mut().metrics_mut().measure_tails(workload.requests_expected(spec.requests));
    if workload.pacing == Pacing::Bursts {
        drive.observer_mut().metrics_mut().measure_bursts();
    }
    let cpu_start = thread_cpu_seconds();
    let (mut notes, mut fitted) = (Vec::new(), Vec::new());
    let recorder = Recorder::of(workload, &mut notes);
    if ending == Ending::Complete {
        control.enter(Phase::Running, workload.requests_expected(spec.requests).unwrap_or(0));
        let mut streams = match kept {
            Some(kept) => Streams::one(Box::new(kept), workload.pacing),
            None => workload.streams(spec.seed, &context, spec.requests)?,
        };
        if let Some(recorder) = &recorder {
            let listened = |stream: Stream| Stream { source: recorder.listen(stream.source), ..stream };
            streams.streams = streams.streams.into_iter().map(listened).collect();
        }
        ending = play_streams(&mut drive, &mut streams, start + MS, control, |drive| drive.observer().metrics().given_up().is_some());
        for note in streams.notes() {
            notes.push(note.text);
            fitted.extend(note.fitted);
        }
    }
    if ending == Ending::Complete
        && let Err(changed) = workload.check_unchanged()
    {
        ending = Ending::Unread(changed.to_string());
    }
    if !spec.without.is_empty() {
        notes.push(format!("Made free: {}.", spec.without.join(", ")));
    }
    let cpu_seconds = thread_cpu_seconds() - cpu_start;
    let (partial, stuck, unread) = match ending {
        Ending::Complete => (false, None, None),
        Ending::Cancelled => (true, None, None),
        Ending::Stuck(why) => (true, Some(stuck_message(&drive, &why, spec)), None),
        Ending::Unread(why) => (true, None, Some(why)),
        Ending::Faulty(why) => return Err(RunError::Failed(why)),
        Ending::WrongData(what) => return Err(RunError::Failed(format!("{}: a read returned wrong data: {what}", spec.design))),
    };
    if spec.verify && !partial {
        drive.audit().map_err(|what| RunError::Failed(format!("{}: an invariant does not hold: {what}", spec.design)))?;
    }
    let standstill = stuck.is_some().then(|| drive.explain_standstill());
    let bursts = drive.observer_mut().metrics_mut().take_bursts();
    let requests_expected = workload.requests_expected(spec.requests);
    let figures = Figures {
        start,
        cpu_seconds,
        partial,
        stuck,
        standstill,
        unread,
        requests_expected,
        unmapped,
        warm_up,
        erases_then,
        recorder: recorder.filter(|_| !partial),
        erased_then,
        before,
        bursts,
        notes,
        fitted,
        adjusted,
    };
    let log = drive.observer_mut().metrics_mut().take_log();
    Ok(finish(outcome(&drive, device, workload, spec, &aged, figures), log, &mut drive, spec))
}

/// Ends the log and the timeline and writes the request timelines, where they are wanted, with what is known of the run by now.
fn finish<M: Measures>(mut outcome: Outcome, log: Option<Log>, drive: &mut Drive<M>, spec: &Spec) -> Outcome {
    let about = |command: &str| {
        let state = serde_json::to_string(&outcome.state).expect("numbers and words");
        let about = [
            ("log_version", LOG_VERSION.to_string()),
            ("version", outcome.version.into()),
            ("device", outcome.device.clone()),
            ("design", outcome.design.clone()),
            ("workload", outcome.workload.name.clone()),
            ("workload_detail", outcome.workload.detail.clone()),
            ("seed", outcome.seed.to_string()),
            ("state", state),
            ("event_hash", outcome.event_hash.clone()),
            ("partial", outcome.partial.to_string()),
            ("command", command.to_string()),
        ];
        about.map(|(key, value)| (format!("tinytail.{key}"), value))
    };
    let command = spec.log.as_ref().map_or("", |log| &log.command);
    let request_timelines = match (&spec.request_timelines, drive.observer().request_timelines()) {
        (Some(spec), Some(request_timelines)) => Some(request_timelines.write(&spec.path, &about(command))),
        _ => None,
    };
    let log = log.map(|log| log.finish(about(command).into()));
    let end = drive.now();
    if let (Some(spec), Some(timeline)) = (&spec.timeline, drive.observer_mut().take_timeline()) {
        let (note, notes) = timeline.finish(end, &about(&spec.command));
        outcome.timeline = Some(note);
        outcome.notes.extend(notes);
    }
    (outcome.log, outcome.request_timelines) = (log, request_timelines);
    outcome
}

/// The pages beyond the mapped part that the workload touches: they are mapped too, so that no read finds nothing.
pub(crate) fn footprint(
    device: &Device,
    mapped_pages: Lpn,
    workload: &Workload,
    seed: u64,
    requests: Option<u64>,
    context: &SourceContext,
    control: &Control,
) -> Result<Vec<Lpn>, WorkloadError> {
    let per_page = u64::from(device.geometry.sectors_per_page());
    // A workload that adapts to the drive keeps to what the device's state maps, whatever of that the design's layout maps.
    if workload.end_sector().unwrap_or(context.mapped_sectors) <= u64::from(mapped_pages) * per_page {
        return Ok(Vec::new());
    }
    if workload.end_sector().is_none() {
        return Ok((mapped_pages..device.mapped_pages()).collect());
    }
    control.enter(Phase::Reading, workload.requests_expected(requests).unwrap_or(0));
    let (first, logical) = (mapped_pages, device.logical_pages() as Lpn);
    if workload.needs_drive() {
        // Which of its addresses a thread reaches depends on the drive, so all of them are taken to be touched.
        let end = workload.end_sector().map_or(0, |end| end.div_ceil(per_page)).min(u64::from(logical));
        return Ok((first..end as Lpn).collect());
    }
    let mut touched = vec![0u64; (device.logical_pages() as usize).div_ceil(64)];
    let mut source = workload.source(seed, context, requests)?;
    let mut batch: Vec<Arrival> = Vec::new();
    let mut done = 0;
    while source.fill(&mut batch, 4096)? > 0 && !control.is_cancelled() {
        done += batch.len() as u64;
        for arrival in batch.drain(..) {
            let command = arrival.command;
            if command.kind == CommandKind::Trim {
                continue;
            }
            let last = (command.sector + u64::from(command.sectors) - 1) / per_page;
            for lpn in command.sector / per_page..=last {
                touched[(lpn / 64) as usize] |= 1 << (lpn % 64);
            }
        }
        control.advance(done);
    }
    Ok((first..logical).filter(|&lpn| touched[(lpn / 64) as usize] >> (lpn % 64) & 1 == 1).collect())
}

/// Brings the drive from its aged state into the middle of the workload: a trace is played once, a synthetic workload until
/// the write buffer has filled and flushed its own size.
fn warm<M: Measures>(
    drive: &mut Drive<M>,
    workload: &Workload,
    spec: &Spec,
    context: &SourceContext,
    control: &Control,
) -> Result<(Ending, String, Option<Kept>), WorkloadError> {
    let requests = workload.requests_expected(spec.requests);
    control.enter(Phase::WarmingUp, requests.unwrap_or(0));
    let start = drive.now();
    if workload.input != InputKind::Synthetic {
        let arrivals = match requests {
            // Nothing is kept of what is too much to be kept whole.
            Some(requests) => usize::try_from(requests).ok().filter(|requests| *requests <= KEPT_MAX).map(Vec::with_capacity),
            None => Some(Vec::new()),
        };
        let mut source = Keeping { inner: workload.source(spec.seed, context, spec.requests)?, arrivals };
        let ending = play(drive, &mut source, workload.pacing, start, control, |_| false);
        let notes = source.inner.notes();
        let kept = source.arrivals.map(|arrivals| Kept { arrivals, next: 0, notes });
        return Ok((ending, "the workload played once before".into(), kept));
    }
    let buffer = u64::from(drive.view().device().ram.buffer_kib) * 1024 / u64::from(drive.view().geometry().page_bytes);
    if buffer == 0 {
        return Ok((Ending::Complete, "none: no write buffer to fill".into(), None));
    }
    let mut streams = workload.streams(spec.seed ^ 0x5bd1_e995, context, requests)?;
    let ending = play_streams(drive, &mut streams, start, control, |drive| drive.counters().flushed >= buffer);
    let or_end = requests.map_or("the workload's end".into(), |requests| format!("{requests} requests"));
    let warm_up = format!("other requests of the workload until {buffer} pages were flushed, or {or_end}");
    Ok((ending, warm_up, None))
}

/// The most arrivals that are kept from one pass for the next.
const KEPT_MAX: usize = 2_000_000;

/// Passes a source on and keeps what it gave, unless that is too much.
struct Keeping {
    inner: Box<dyn Source>,
    arrivals: Option<Vec<Arrival>>,
}

impl Source for Keeping {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let before = out.len();
        let count = self.inner.fill(out, limit)?;
        match &mut self.arrivals {
            Some(arrivals) if arrivals.len() + count <= KEPT_MAX => arrivals.extend_from_slice(&out[before..]),
            _ => self.arrivals = None,
        }
        Ok(count)
    }
}

/// Arrivals that an earlier pass kept, so that a trace is not read and parsed again.
struct Kept {
    arrivals: Vec<Arrival>,
    next: usize,
    /// What was to be known of them.
    notes: Vec<Note>,
}

impl Source for Kept {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let end = (self.next + limit).min(self.arrivals.len());
        out.extend_from_slice(&self.arrivals[self.next..end]);
        let count = end - self.next;
        self.next = end;
        Ok(count)
    }

    fn notes(&self) -> Vec<Note> {
        self.notes.clone()
    }
}

/// That a run got stuck, how, and what helps.
fn stuck_message<M: Measures>(drive: &Drive<M>, why: &str, spec: &Spec) -> String {
    let stalling = match &drive.design().suspend {
        SuspendPolicy::EraseSuspension(suspension) if suspension.may_stall_writes() => Some(suspension.mode().replace('_', "-")),
        _ => None,
    };
    let remedy = if drive.design().gc_trigger.name() == "never" {
        "GC never starts in this design, so the drive ran out of erased pages; `ideal-gc` is the overlay with ideal (zero-cost) GC.".into()
    } else if let Some(suspend) = stalling.filter(|_| drive.counters().suspensions > 0) {
        format!("Reads suspend erases without end under `{suspend}`; with the overlay `t-es` in its place, erases come to their end.")
    } else if drive.oldest_write().is_some_and(|since| drive.now() - since > spec.write_stall_s * SECOND) {
        format!("If that is a backlog, --write-stall-s {} lets writes wait longer.", (spec.write_stall_s * 10).min(WRITE_STALL_S_MAX))
    } else {
        let live = drive.view().device().state.live_percent;
        format!("--state live_percent={} starts with more spare space.", live.saturating_sub(10).max(1))
    };
    format!("Requests stopped completing. {why} {remedy}")
}
