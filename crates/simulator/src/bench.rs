//! Speed, as ratios within one run: the drive beside the floor, the same requests through map and GC bookkeeping alone; a run
//! with a log, or with all that is kept of one, beside one without.

use crate::catalog;
use crate::control::{Control, Phase};
use crate::crew::thread_cpu_seconds;
use crate::outcome::write_amplification;
use crate::play::{Ending, play};
use crate::run::run;
use crate::spec::{LogSpec, RequestTimelinesSpec, RunError, Spec};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use tinytail_config::ConfigError;
use tinytail_core::commands::CommandKind;
use tinytail_core::design::Design;
use tinytail_core::device::{AgeingMethod, Device};
use tinytail_core::drive::Drive;
use tinytail_core::techniques::gc_gate::free::Free;
use tinytail_core::techniques::gc_trigger::watermark::Watermark;
use tinytail_core::techniques::{GcGatePolicy, GcTriggerPolicy};
use tinytail_metrics::Metrics;
use tinytail_metrics::log::Log;
use tinytail_metrics::series::WINDOWS;
use tinytail_workload::{Arrival, SourceContext, TRACES_VARIABLE, TraceOptions, Workload};

mod large;

/// The names of the cases that are run if none is named.
pub const CASES: [&str; 9] =
    ["steady-gc", "steady-gc-controller", "dtrs", "mqsim-no-gc", "late-bound", "superpage", "link", "log", "keeping"];

/// The names of the cases that are run only if they are named.
pub const CASES_BY_NAME: [&str; 6] = ["ageing", "statistical-layout", "image", "drive-sizes", "drive-dies", "run-lengths"];

/// Requests of a steady case.
const REQUESTS: u64 = 10_000_000;

/// The figures of one case.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Case {
    /// Name.
    pub name: String,
    /// Requests for each second of user CPU time; `None` where no requests are played.
    pub requests_per_cpu_second: Option<f64>,
    /// User CPU time for each event, in nanoseconds.
    pub ns_per_event: Option<f64>,
    /// Time of the drive over time of the floor; `None` where there is no floor.
    pub floor_ratio: Option<f64>,
    /// Requests per second of user CPU time of the simulating thread with a log over those without one; `None` without log.
    pub log_cpu_ratio: Option<f64>,
    /// Requests per second of wall time with a log over those without one.
    pub log_wall_ratio: Option<f64>,
    /// Requests per second of user CPU time of the simulating thread with all that is kept of a run over those without;
    /// `None` where nothing is kept.
    pub keeping_cpu_ratio: Option<f64>,
    /// Requests per second of wall time with all that is kept of a run over those without, starting states included.
    pub keeping_wall_ratio: Option<f64>,
    /// User CPU time of one piece of work, in seconds.
    pub cpu_seconds: Option<f64>,
    /// Time of a request of the large one over that of the small one, in a case that compares two; of an event, where they differ in their
    /// dies.
    pub growth_ratio: Option<f64>,
    /// Peak memory of the process; filled in by who starts it.
    pub peak_memory_bytes: Option<u64>,
    /// Pages programmed for each page of the host.
    pub write_amplification: Option<f64>,
    /// What was run.
    pub detail: String,
}

impl Case {
    fn named(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// Runs one case.
///
/// # Errors
/// An unknown case, with the nearest; a missing trace.
pub fn bench(case: &str, control: &Control) -> Result<Case, RunError> {
    match case {
        "steady-gc" => steady(case, "base+plane-blocking", control),
        "steady-gc-controller" => steady(case, "base+plane-blocking+through-controller", control),
        "dtrs" => dtrs(control),
        "mqsim-no-gc" => mqsim_no_gc(control),
        "late-bound" => own_drive(case, "harey-128g", "harey-baseline+dynamic-ftl", control),
        "superpage" => own_drive(case, "lowlatency-240g", "erase-baseline+t-es", control),
        "link" => own_drive(case, "modern-tlc-2t", "firmware", control),
        "log" => in_folder(|folder| log(folder, control)),
        "keeping" => in_folder(|folder| keeping(folder, control)),
        "ageing" => large::ageing(case, AgeingMethod::Overwrite, control),
        "statistical-layout" => large::ageing(case, AgeingMethod::Statistical, control),
        "image" => large::image(case, control),
        "drive-sizes" => large::drives(case, control),
        "drive-dies" => large::dies(case, control),
        "run-lengths" => large::lengths(case, control),
        other => {
            let known = [&CASES[..], &CASES_BY_NAME[..]].concat();
            let hint = tinytail_config::did_you_mean(other, known.iter().copied());
            Err(ConfigError::new(format!("unknown case `{other}`{hint}; known: {}", known.join(", "))).into())
        }
    }
}

/// 4 KB random 70/30 at queue depth 16.
struct Steady {
    drive: Drive<Metrics>,
    workload: Workload,
    context: SourceContext,
}

impl Steady {
    /// A full 256 GiB drive in its steady state.
    fn full(design: &str, control: &Control) -> Result<Self, RunError> {
        Self::full_of(catalog::device("ttflash-256g")?, design, REQUESTS / 10, control)
    }

    /// A full drive in its steady state.
    fn full_of(mut device: Device, design: &str, warm_up: u64, control: &Control) -> Result<Self, RunError> {
        // Full to its logical size, with GC at the share that such a drive keeps at a write amplification of about 4.
        device.state.live_percent = 100;
        device.state.free_percent = Some(10.0);
        device.state.overwrite_percent = 100;
        let mut design = catalog::design(design)?;
        design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(10.0, 5.0));
        design.gc_gate = GcGatePolicy::Free(Free::default());
        Self::prepare(&device, design, warm_up, control)
    }

    /// A device aged to its starting state, and warmed up. The requests go to the part of it that holds data.
    fn prepare(device: &Device, design: Design, warm_up: u64, control: &Control) -> Result<Self, RunError> {
        let workload = Workload::resolve("randrw70-qd16", &TraceOptions::default())?;
        let logical_sectors = device.logical_sectors();
        let mut drive = Drive::new(device, design, false, Metrics::default())?;
        let mapped_sectors = u64::from(drive.mapped_pages()) * u64::from(device.geometry.sectors_per_page());
        let context = SourceContext { logical_sectors, mapped_sectors };
        control.enter(Phase::Ageing, 0);
        drive.age(1, &[], |done, total| {
            control.set_total(total);
            control.advance(done);
            !control.is_cancelled()
        });
        drive.wake();
        let mut steady = Self { drive, workload, context };
        control.enter(Phase::WarmingUp, warm_up);
        steady.play(2, warm_up, None, control)?;
        Ok(steady)
    }

    /// Plays requests, measured anew, and returns the user CPU time and the wall time that they took.
    fn play(&mut self, seed: u64, requests: u64, log: Option<Log>, control: &Control) -> Result<(f64, f64), RunError> {
        let Self { drive, workload, context } = self;
        drive.reset_counters();
        *drive.observer_mut() = Metrics::new(drive.now(), WINDOWS, log);
        drive.observer_mut().measure_tails(Some(requests));
        let mut source = workload.source(seed, context, Some(requests))?;
        let (start, wall) = (thread_cpu_seconds(), Instant::now());
        finished(play(drive, source.as_mut(), workload.pacing, 0, control, |_| false))?;
        Ok((thread_cpu_seconds() - start, wall.elapsed().as_secs_f64()))
    }
}

/// The drive beside the floor.
fn steady(name: &str, design: &str, control: &Control) -> Result<Case, RunError> {
    let mut steady = Steady::full(design, control)?;
    control.enter(Phase::Running, REQUESTS);
    let (timed, _) = steady.play(1, REQUESTS, None, control)?;
    let Steady { mut drive, workload, context } = steady;
    let counters = drive.counters();
    let mut batch: Vec<Arrival> = Vec::new();
    let mut source = workload.source(3, &context, Some(REQUESTS))?;
    let start = thread_cpu_seconds();
    let mut mapped = 0u64;
    while source.fill(&mut batch, 32)? > 0 {
        mapped +=
            drive.replay_in_tables(batch.drain(..).map(|arrival| (arrival.command.kind == CommandKind::Write, arrival.command.sector)));
    }
    let floor = thread_cpu_seconds() - start;
    Ok(Case {
        requests_per_cpu_second: Some(REQUESTS as f64 / timed),
        ns_per_event: Some(timed * 1e9 / counters.flash.events as f64),
        floor_ratio: Some(timed / floor),
        write_amplification: write_amplification(&counters),
        detail: format!(
            "{design} on ttflash-256g, full; {REQUESTS} requests, {} events, {mapped} pages of the floor mapped",
            counters.flash.events
        ),
        ..Case::named(name)
    })
}

/// Slices that are played with and without log in turn, so that both meet the same disturbances.
const SLICES: u64 = 8;

/// Runs a case that needs a folder for files.
fn in_folder(case: impl FnOnce(&Path) -> Result<Case, RunError>) -> Result<Case, RunError> {
    let folder = std::env::temp_dir().join(format!("tinytail-bench-{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(|error| RunError::Failed(format!("cannot make {}: {error}", folder.display())))?;
    let measured = case(&folder);
    // Left behind it would only be a waste of space.
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

/// The work of `steady-gc` with a log of every request, and without.
fn log(folder: &Path, control: &Control) -> Result<Case, RunError> {
    let design = "base+plane-blocking";
    let mut steady = Steady::full(design, control)?;
    control.enter(Phase::Running, REQUESTS);
    let (mut plain, mut logged, mut events, mut bytes) = ((0.0, 0.0), (0.0, 0.0), 0, 0);
    for slice in 0..SLICES {
        let seed = 10 + slice;
        let (cpu, wall) = steady.play(seed, REQUESTS / SLICES, None, control)?;
        plain = (plain.0 + cpu, plain.1 + wall);
        let path = folder.join("log.parquet");
        let log = Log::create(&path.to_string_lossy())?;
        let (cpu, wall) = steady.play(seed, REQUESTS / SLICES, Some(log), control)?;
        events += steady.drive.counters().flash.events;
        let waited = Instant::now();
        if let Some(log) = steady.drive.observer_mut().take_log() {
            let note = log.finish(Vec::new());
            note.error.map_or(Ok(()), |error| Err(RunError::Failed(error)))?;
            bytes += note.bytes;
        }
        // What the writer has not written yet belongs to the run.
        logged = (logged.0 + cpu, logged.1 + wall + waited.elapsed().as_secs_f64());
    }
    Ok(Case {
        requests_per_cpu_second: Some(REQUESTS as f64 / logged.0),
        ns_per_event: Some(logged.0 * 1e9 / events as f64),
        log_cpu_ratio: Some(plain.0 / logged.0),
        log_wall_ratio: Some(plain.1 / logged.1),
        write_amplification: write_amplification(&steady.drive.counters()),
        detail: format!(
            "{design} on ttflash-256g, full; {REQUESTS} requests with log and as many without, in {SLICES} slices each; {:.1} bytes a request",
            bytes as f64 / REQUESTS as f64
        ),
        ..Case::named("log")
    })
}

/// Runs that keep all that `compare --out` keeps, and the same without, on a small drive, whose starting state takes no time.
fn keeping(folder: &Path, control: &Control) -> Result<Case, RunError> {
    let (device, design, workload) = ("ttflash-small", "base", "randrw70-qd16");
    let folder = folder.to_string_lossy().to_string();
    let (mut plain, mut kept, mut events) = ((0.0, 0.0), (0.0, 0.0), 0);
    for slice in 0..SLICES {
        for keep in [false, true] {
            let spec = Spec {
                requests: Some(REQUESTS / SLICES),
                seed: 10 + slice,
                log: keep.then(|| LogSpec { path: format!("{folder}/requests.parquet"), command: String::new() }),
                request_timelines: keep.then(|| RequestTimelinesSpec { path: folder.clone(), slowest: 1000, requests: Vec::new() }),
                ..Spec::new(device, design, workload)
            };
            let wall = Instant::now();
            let outcome = run(&spec, control)?;
            let failed =
                outcome.log.and_then(|log| log.error).or(outcome.request_timelines.and_then(|request_timelines| request_timelines.error));
            failed.map_or(Ok(()), |error| Err(RunError::Failed(error)))?;
            let sum = if keep { &mut kept } else { &mut plain };
            *sum = (sum.0 + outcome.cpu_seconds, sum.1 + wall.elapsed().as_secs_f64());
            events += if keep { outcome.events } else { 0 };
        }
    }
    Ok(Case {
        requests_per_cpu_second: Some(REQUESTS as f64 / kept.0),
        ns_per_event: Some(kept.0 * 1e9 / events as f64),
        keeping_cpu_ratio: Some(plain.0 / kept.0),
        keeping_wall_ratio: Some(plain.1 / kept.1),
        detail: format!(
            "{design} on {device}, {workload}; {REQUESTS} requests with log and request timelines and as many without, in {SLICES} runs each"
        ),
        ..Case::named("keeping")
    })
}

/// MQSim's default drive without GC and without cache, half full, so that nothing runs out of space: the work on which MQSim
/// itself was measured.
fn mqsim_no_gc(control: &Control) -> Result<Case, RunError> {
    let design = "base+no-gc";
    let mut device = catalog::device("mqsim-default")?;
    device.ram.buffer_kib = 0;
    device.state.live_percent = 50;
    device.state.free_percent = Some(40.0);
    device.state.overwrite_percent = 0;
    played("mqsim-no-gc", &device, design, "mqsim-default without cache, half full", REQUESTS, control)
}

/// A design on a drive that it was made for, from the state in which its runs start.
fn own_drive(name: &str, device: &str, design: &str, control: &Control) -> Result<Case, RunError> {
    played(name, &catalog::device(device)?, design, device, REQUESTS / 4, control)
}

/// Requests on a drive that is warmed up, without a floor.
fn played(name: &str, device: &Device, design: &str, said: &str, requests: u64, control: &Control) -> Result<Case, RunError> {
    let mut steady = Steady::prepare(device, catalog::design(design)?, requests / 10, control)?;
    control.enter(Phase::Running, requests);
    let (timed, _) = steady.play(1, requests, None, control)?;
    let counters = steady.drive.counters();
    Ok(Case {
        requests_per_cpu_second: Some(requests as f64 / timed),
        ns_per_event: Some(timed * 1e9 / counters.flash.events as f64),
        write_amplification: write_amplification(&counters),
        detail: format!("{design} on {said}; {requests} requests, {} events", counters.flash.events),
        ..Case::named(name)
    })
}

fn finished(ending: Ending) -> Result<(), RunError> {
    match ending {
        Ending::Complete => Ok(()),
        other => Err(RunError::Failed(format!("the case did not finish: {other:?}"))),
    }
}

/// Base on the DTRS trace, or on its stand-in where the trace is not at hand.
fn dtrs(control: &Control) -> Result<Case, RunError> {
    let real = std::env::var_os(TRACES_VARIABLE).is_some_and(|folder| Path::new(&folder).join("DTRS1K.trace.zst").is_file());
    let workload = if real { "dtrs" } else { "standin-dtrs" };
    let spec = Spec::new("ttflash-256g", "base", workload);
    let outcome = run(&spec, control)?;
    Ok(Case {
        requests_per_cpu_second: outcome.requests_per_cpu_second,
        ns_per_event: outcome.ns_per_event,
        write_amplification: outcome.write_amplification,
        detail: format!("base on ttflash-256g, workload {workload}"),
        ..Case::named("dtrs")
    })
}
