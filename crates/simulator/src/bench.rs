//! Speed, as ratios within one run: the drive beside the floor, the same requests through map and GC bookkeeping alone.

use crate::catalog;
use crate::control::{Control, Phase};
use crate::play::{Ending, play};
use crate::run::{RunError, Spec, run, thread_cpu_seconds, write_amplification};
use serde::Serialize;
use tinytail_core::config::ConfigError;
use tinytail_core::drive::Drive;
use tinytail_core::host::{Arrival, CommandKind};
use tinytail_metrics::Metrics;
use tinytail_workload::{SourceContext, TRACES_VARIABLE, TraceOptions, Workload};

/// The names of the cases.
pub const CASES: [&str; 3] = ["steady-gc", "steady-gc-controller", "dtrs"];

/// Requests of a steady case.
const REQUESTS: u64 = 10_000_000;

/// The figures of one case.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
    /// Name.
    pub name: String,
    /// Requests for each second of user CPU time.
    pub requests_per_cpu_second: f64,
    /// User CPU time for each event, in nanoseconds.
    pub ns_per_event: f64,
    /// Time of the drive over time of the floor; `None` where there is no floor.
    pub floor_ratio: Option<f64>,
    /// Peak memory of the process; filled in by who starts it.
    pub peak_memory_bytes: Option<u64>,
    /// Pages programmed for each page of the host.
    pub write_amplification: Option<f64>,
    /// What was run.
    pub detail: String,
}

/// Runs one case.
///
/// # Errors
/// An unknown case, with the nearest; a missing trace.
pub fn bench(case: &str, control: &Control) -> Result<Case, RunError> {
    match case {
        "steady-gc" => steady(case, "base+plane-blocking+full-drive", control),
        "steady-gc-controller" => steady(case, "base+plane-blocking+full-drive+through-controller", control),
        "dtrs" => dtrs(control),
        other => {
            let hint = tinytail_core::config::nearest_hint(other, &CASES);
            Err(ConfigError::new(format!("unknown case `{other}`{hint}; known: {}", CASES.join(", "))).into())
        }
    }
}

/// 4 KB random 70/30 at queue depth 16 on a full 256 GiB drive in its steady state.
fn steady(name: &str, design: &str, control: &Control) -> Result<Case, RunError> {
    let mut device = catalog::device("ttflash-256g")?;
    // Full to its logical size, at the watermark of `full-drive`.
    device.state.live_percent = 100;
    device.state.free_percent = 10;
    device.state.overwrite_percent = 100;
    let workload = Workload::resolve("randrw70-qd16", &TraceOptions::default())?;
    let logical_sectors = device.logical_sectors();
    let context = SourceContext { logical_sectors, mapped_sectors: logical_sectors };
    let mut drive = Drive::new(&device, catalog::design(design)?, false, Metrics::default())?;
    control.enter(Phase::Ageing, 0);
    drive.age(1, &[], |done, total| {
        control.set_total(total);
        control.advance(done);
        !control.is_cancelled()
    });
    drive.wake();
    control.enter(Phase::WarmingUp, REQUESTS / 10);
    let mut source = workload.source(2, &context, Some(REQUESTS / 10))?;
    finished(play(&mut drive, source.as_mut(), workload.pacing, 0, control, |_| false))?;
    drive.reset_counters();
    *drive.observer_mut() = Metrics::default();
    control.enter(Phase::Running, REQUESTS);
    let mut source = workload.source(1, &context, Some(REQUESTS))?;
    let start = thread_cpu_seconds();
    finished(play(&mut drive, source.as_mut(), workload.pacing, 0, control, |_| false))?;
    let timed = thread_cpu_seconds() - start;
    let counters = *drive.counters();
    let mut batch: Vec<Arrival> = Vec::new();
    let mut source = workload.source(3, &context, Some(REQUESTS))?;
    let start = thread_cpu_seconds();
    let mut mapped = 0u64;
    while source.fill(&mut batch, 32)? > 0 {
        mapped +=
            drive.replay_in_books(batch.drain(..).map(|arrival| (arrival.command.kind == CommandKind::Write, arrival.command.sector)));
    }
    let floor = thread_cpu_seconds() - start;
    Ok(Case {
        name: name.into(),
        requests_per_cpu_second: REQUESTS as f64 / timed,
        ns_per_event: timed * 1e9 / counters.events as f64,
        floor_ratio: Some(timed / floor),
        peak_memory_bytes: None,
        write_amplification: write_amplification(&counters),
        detail: format!(
            "{design} on ttflash-256g, full; {REQUESTS} requests, {} events, {mapped} pages of the floor mapped",
            counters.events
        ),
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
    let real = std::env::var_os(TRACES_VARIABLE).is_some_and(|folder| std::path::Path::new(&folder).join("DTRS1K.trace.zst").is_file());
    let workload = if real { "dtrs" } else { "standin-dtrs" };
    let spec = Spec {
        device: "ttflash-256g".into(),
        design: "base".into(),
        workload: workload.into(),
        options: TraceOptions::default(),
        requests: None,
        seed: 1,
        verify: false,
    };
    let outcome = run(&spec, control)?;
    Ok(Case {
        name: "dtrs".into(),
        requests_per_cpu_second: outcome.requests_per_cpu_second.unwrap_or(0.0),
        ns_per_event: outcome.ns_per_event.unwrap_or(0.0),
        floor_ratio: None,
        peak_memory_bytes: None,
        write_amplification: outcome.write_amplification,
        detail: format!("base on ttflash-256g, workload {workload}"),
    })
}
