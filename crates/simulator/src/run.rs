//! One run: a design on a device under a workload, from the starting state to the figures.

use crate::addresses::{Addresses, footprint};
use crate::aged::Shared;
use crate::catalog;
use crate::control::{Control, Phase, WRITE_STALL_S_MAX};
use crate::crew::{AtWork, thread_cpu_seconds};
use crate::image::Image;
use crate::outcome::{Before, ErasedPages, Figures, Outcome, Recorder, outcome, slots_proposed};
use crate::parity::parity_percent;
use crate::play::{ARRIVAL_MAX, Ending, play, play_for, play_streams};
use crate::spec::{RunError, Spec, TimelineSpec};
use crate::wear::erases_so_far;
use crate::without::without;
use std::cell::Cell;
use std::sync::Arc;
use tinytail_config::{ConfigError, counted};
use tinytail_core::design::{Adjustment, Design};
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::ids::{Lpn, NONE};
use tinytail_core::observe::TrafficClass;
use tinytail_core::precondition::Aged;
use tinytail_core::techniques::SuspendPolicy;
use tinytail_core::units::{MS, SECOND};
use tinytail_metrics::log::Log;
use tinytail_metrics::request_timelines::{TracingMetrics, Wanted};
use tinytail_metrics::series::WINDOWS_MAX;
use tinytail_metrics::timeline::{Timeline, WantedTimeline};
use tinytail_metrics::{Measures, Metrics};
use tinytail_workload::{Arrival, InputKind, Note, Pacing, Reading, Room, Source, SourceContext, Stream, Streams, Workload, WorkloadError};

/// Raised when a log of this version could be misread.
const LOG_VERSION: u32 = 3;

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
    let workload = resolved.transformed(&spec.transform)?.bounded(spec.outstanding_max)?;
    if spec.requests == Some(0) {
        return Err(RunError::Failed("0 requests were asked for; at least 1 is needed".into()));
    }
    workload.check_ends(spec.requests)?;
    workload.check_duration(spec.seed, spec.requests, room(spec.no_warm_up))?;
    if !(1..=WINDOWS_MAX).contains(&spec.windows) {
        return Err(RunError::Failed(format!("{} windows were asked for; 1 to {WINDOWS_MAX} are possible", spec.windows)));
    }
    if let Some(note) = backlog_note(&workload, &device, spec) {
        shared.note(note);
    }
    // A file that cannot be written is found before the work.
    let log = spec.log.as_ref().map(|log| Log::create(&log.path)).transpose()?;
    let timeline = spec.timeline.as_ref().map(|timeline| open_timeline(timeline, &device)).transpose()?;
    addresses.check(&workload)?;
    if image.is_none() && device.state.parity_percent.is_none() {
        device.state.parity_percent = parity_percent(&device, &mut design, &workload, spec.seed, spec.requests, &addresses.context)?;
    }
    let mapped = design.mapped_pages(&device);
    let footprint = footprint(&device, mapped, &workload, spec.seed, spec.requests, &addresses.context, control)?;
    adjusted.extend(design.fit_gc(&device, u64::from(mapped) + footprint.len() as u64));
    // A start with a given share of erased pages stays as given, and without GC no turn ever ends.
    let levels_turns = design.gc_gate.takes_turns() && design.gc_trigger.name() != "never" && device.state.free_percent.is_none();
    let prepared = Prepared { image, log, adjusted, addresses, levels_turns, footprint };
    let _at_work = AtWork::new();
    run_on(&device, design, &free, &workload, prepared, timeline, spec, control, shared)
}

/// Memory that a request takes which waits in the host, in bytes, with the room that the line keeps free.
const WAITING_BYTES: u64 = 80;
/// A backlog that may take less is not worth a word, in bytes.
const BACKLOG_SAID_BYTES: u64 = 1 << 29;

/// What a backlog may take, where that is much: all requests of the workload may wait in a line.
fn backlog_note(workload: &Workload, device: &Device, spec: &Spec) -> Option<String> {
    let slots = slots_proposed(workload, device)?;
    let bytes = workload.requests_expected(spec.requests)?.saturating_mul(WAITING_BYTES);
    (bytes >= BACKLOG_SAID_BYTES).then(|| {
        format!(
            "where a drive is slower than {}, its backlog takes up to {:.1} GB of memory; --outstanding-max {slots} bounds it",
            workload.name,
            bytes as f64 / 1e9
        )
    })
}

/// How much of a trace's time a run holds, which plays it twice if it warms up.
fn room(no_warm_up: bool) -> Room {
    // Ageing takes no time, and what precedes the first request little.
    let whole_ns = ARRIVAL_MAX - SECOND;
    if no_warm_up {
        Room { run_ns: whole_ns, without_warm_up_ns: None }
    } else {
        Room { run_ns: whole_ns / 2, without_warm_up_ns: Some(whole_ns) }
    }
}

/// What a run has opened and found out before its work.
struct Prepared {
    image: Option<Image>,
    log: Option<Log>,
    adjusted: Vec<Adjustment>,
    addresses: Addresses,
    /// Whether the warm-up goes on until GCs that take turns leave no fewer pages erased.
    levels_turns: bool,
    /// Pages of the workload beyond those that the starting state maps.
    footprint: Vec<Lpn>,
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
    let Prepared { image, log, adjusted, addresses, levels_turns, footprint } = prepared;
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
            erased_then: ErasedPages::of(&drive),
            before: Before::default(),
            bursts: None,
            notes: Vec::new(),
            fitted: Vec::new(),
            adjusted,
        };
        return Ok(finish(outcome(&drive, device, workload, spec, &Aged::default(), figures), log, &mut drive, spec));
    }
    let aged = match image {
        Some(image) => shared.load(image, &mut drive, spec, control)?,
        None => shared.age(&mut drive, spec, &footprint, control)?,
    };
    let unmapped = footprint.iter().filter(|&&lpn| drive.view().tables().lookup(lpn) == NONE).count();
    drive.wake();
    let mut ending = if control.is_cancelled() { Ending::Cancelled } else { prepare(&mut drive, workload, spec, &context, control)? };
    let before = Before { erased: ErasedPages::of(&drive).all, ..Before::default() };
    let mut warm_up = "none".to_string();
    let mut kept = None;
    if device.starts_empty() {
        warm_up = "none: the drive starts empty".into();
    } else if ending == Ending::Complete && !spec.no_warm_up {
        (ending, warm_up, kept) = warm(&mut drive, workload, spec, &context, levels_turns, control)?;
    }
    let mut ramped = None;
    if ending == Ending::Complete && workload.ramp_ns() > 0 {
        let mut streams = workload.streams(spec.seed, &context, spec.requests)?;
        let origin = drive.now() + MS;
        ending = play_for(&mut drive, &mut streams, origin, workload.ramp_ns(), control);
        warm_up = format!("{warm_up}; then {:.3} s of the workload itself, its ramp time", workload.ramp_ns() as f64 / SECOND as f64);
        ramped = Some(streams);
    }
    if let Ending::Unread(why) = ending {
        return Err(RunError::Failed(why));
    }
    let before = Before { counters: drive.counters(), ..before };
    drive.reset_counters();
    let start = drive.now();
    let erases_then = erases_so_far(&drive);
    let erased_then = ErasedPages::of(&drive);
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
        let mut streams = match (ramped, kept) {
            (Some(streams), _) => streams,
            (None, Some(kept)) => Streams::one(Box::new(kept), workload.pacing),
            (None, None) => workload.streams(spec.seed, &context, spec.requests)?,
        };
        if streams.streams.iter().any(|stream| matches!(stream.pacing, Pacing::Bounded { .. })) {
            drive.observer_mut().metrics_mut().measure_host_waits();
        }
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
        Ending::Stuck(why) => (true, Some(stuck_message(&drive, &why, spec, workload)), None),
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

/// Plays what a workload has before its measured part.
fn prepare<M: Measures>(
    drive: &mut Drive<M>,
    workload: &Workload,
    spec: &Spec,
    context: &SourceContext,
    control: &Control,
) -> Result<Ending, WorkloadError> {
    for mut streams in workload.preparing(spec.seed, context)? {
        control.enter(Phase::WarmingUp, 0);
        let start = drive.now();
        let ending = play_streams(drive, &mut streams, start + MS, control, |_| false);
        if ending != Ending::Complete {
            return Ok(ending);
        }
    }
    Ok(Ending::Complete)
}

/// Brings the drive from its aged state into the middle of the workload: a trace is played once, a synthetic workload until
/// the write buffer has filled and flushed its own size.
fn warm<M: Measures>(
    drive: &mut Drive<M>,
    workload: &Workload,
    spec: &Spec,
    context: &SourceContext,
    levels_turns: bool,
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
    let turns = levels_turns.then(|| Turns(Cell::new((0, ErasedPages::of(drive).all))));
    let ending = play_streams(drive, &mut streams, start, control, |drive| {
        let counters = drive.counters();
        counters.buffer.flushed >= buffer && turns.as_ref().is_none_or(|turns| turns.are_level(drive, counters.gc.erases))
    });
    let or_end = requests.map_or("the workload's end".into(), |requests| counted(requests, "request"));
    let level =
        if turns.is_some() { ", and the GCs that wait for each other left no fewer pages erased after a turn of each plane" } else { "" };
    let warm_up = format!("other requests of the workload until {} were flushed{level}, or {or_end}", counted(buffer, "page"));
    Ok((ending, warm_up, None))
}

/// The erases and the erased pages of a drive when each of its planes had had a turn: as many erases as planes are a turn of each.
/// A plane that waits for its turn runs lower on erased pages than ageing leaves it, since ageing knows no waiting.
struct Turns(Cell<(u64, u64)>);

impl Turns {
    /// Whether no fewer pages are erased than a turn of each plane ago.
    fn are_level<M: Measures>(&self, drive: &Drive<M>, erases: u64) -> bool {
        let (then, before) = self.0.get();
        if erases < then + u64::from(drive.view().geometry().planes()) {
            return false;
        }
        let erased = ErasedPages::of(drive).all;
        self.0.set((erases, erased));
        erased >= before
    }
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
fn stuck_message<M: Measures>(drive: &Drive<M>, why: &str, spec: &Spec, workload: &Workload) -> String {
    let stalling = match &drive.design().suspend {
        SuspendPolicy::EraseSuspension(suspension) if suspension.may_stall_writes() => Some(suspension.mode().replace('_', "-")),
        _ => None,
    };
    let remedy = if drive.design().gc_trigger.name() == "never" {
        "GC never starts in this design, so the drive ran out of erased pages; `ideal-gc` is the overlay with ideal (zero-cost) GC.".into()
    } else if let Some(suspend) = stalling.filter(|_| drive.counters().flash.suspensions > 0) {
        format!("Reads suspend erases without end under `{suspend}`; with the overlay `t-es` in its place, erases come to their end.")
    } else if drive.oldest_write().is_some_and(|since| drive.now() - since > spec.write_stall_s * SECOND) {
        let longer_s = (spec.write_stall_s * 10).min(WRITE_STALL_S_MAX);
        let bounded = slots_proposed(workload, drive.view().device())
            .filter(|slots| drive.outstanding() > *slots as usize && drive.view().device().host.queue_depth > *slots);
        let bounded = bounded.map_or(String::new(), |slots| format!("--outstanding-max {slots} has requests wait in the host, and "));
        format!("If that is a backlog, {bounded}--write-stall-s {longer_s} lets writes wait longer.")
    } else {
        match drive.view().device().state.live_percent {
            0 | 1 => "More [host] `over_provisioning_percent` leaves more spare space.".into(),
            live => format!("--state live_percent={} starts with more spare space.", live.saturating_sub(10).max(1)),
        }
    };
    format!("Requests stopped completing. {why} {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinytail_workload::{TraceOptions, Transform};

    #[test]
    fn a_backlog_is_named_where_it_may_take_much_and_nothing_bounds_it() {
        let device = catalog::device("ttflash-small").unwrap();
        let note = |requests, outstanding_max| {
            let workload = Workload::resolve("standin-dtrs", &TraceOptions::default()).unwrap();
            let workload = workload.transformed(&Transform { repeat: Some(1000), ..Transform::default() }).unwrap();
            let spec = Spec { requests: Some(requests), ..Spec::new("ttflash-small", "base", "standin-dtrs") };
            backlog_note(&workload.bounded(outstanding_max).unwrap(), &device, &spec)
        };
        let most = (1 << 29) / 80;
        assert_eq!(note(most, None), None);
        assert_eq!(
            note(most + 1, None).unwrap(),
            "where a drive is slower than standin-dtrs, its backlog takes up to 0.5 GB of memory; --outstanding-max 32 bounds it"
        );
        assert_eq!(note(most + 1, Some(32)), None);
    }
}
