//! Cases that are run by name alone, because they take their time: ageing a large drive, and how the cost of a request grows
//! with the drive and with the run.

use crate::bench::{Case, Steady};
use crate::catalog;
use crate::control::{Control, Phase};
use crate::crew::thread_cpu_seconds;
use crate::image::{CreateSpec, Image, create};
use crate::run::run;
use crate::settings::Settings;
use crate::spec::{RunError, Spec};
use std::time::Instant;
use tinytail_core::device::{AgeingMethod, Device};
use tinytail_core::drive::Drive;
use tinytail_metrics::Metrics;
use tinytail_workload::TraceOptions;

/// The drive that is aged: 550 GB, 67 million pages, full.
const DEVICE: &str = "mqsim-default";
const DESIGN: &str = "base";

/// Ages an erased drive and returns it with the user CPU time that this took.
fn aged(device: &mut Device, control: &Control) -> Result<(Drive<Metrics>, f64), RunError> {
    let (design, _) = catalog::fitted(DESIGN, device, &Settings::default())?;
    let mut drive = Drive::new(device, design, false, Metrics::default())?;
    control.enter(Phase::Ageing, 0);
    let start = thread_cpu_seconds();
    drive.age(1, &[], |done, total| {
        control.set_total(total);
        control.advance(done);
        !control.is_cancelled()
    });
    Ok((drive, thread_cpu_seconds() - start))
}

/// The full drive, filled and overwritten once, or laid out by its theory.
pub(super) fn ageing(name: &str, method: AgeingMethod, control: &Control) -> Result<Case, RunError> {
    let mut device = catalog::device(DEVICE)?;
    device.state.ageing = method;
    let (drive, cpu_seconds) = aged(&mut device, control)?;
    let pages = device.mapped_pages();
    let how = match method {
        AgeingMethod::Statistical => "laid out by theory",
        AgeingMethod::Random => "laid out at random",
        _ => "filled, and overwritten once at random",
    };
    let free = drive.view().tables().free_pages(0);
    Ok(Case {
        cpu_seconds: Some(cpu_seconds),
        detail: format!("{DEVICE} with {pages} live pages, {how}; {free} erased pages in its first plane"),
        ..Case::named(name)
    })
}

/// An image of the full drive, opened and loaded into a drive that is made for it.
pub(super) fn image(name: &str, control: &Control) -> Result<Case, RunError> {
    let folder = tempfile::tempdir().map_err(|error| RunError::Failed(format!("cannot make a folder: {error}")))?;
    let path = folder.path().join("drive.image").to_string_lossy().into_owned();
    let spec = CreateSpec {
        out: path.clone(),
        device: DEVICE.into(),
        design: DESIGN.into(),
        seed: 1,
        state: toml::Table::from_iter([("ageing".to_string(), "statistical".into())]),
        settings: Settings::default(),
        workload: None,
        spooled: None,
        trace: TraceOptions::default(),
    };
    let info = create(&spec, control)?;
    control.enter(Phase::Loading, 0);
    let (start, wall) = (thread_cpu_seconds(), Instant::now());
    let mut device = catalog::device(DEVICE)?;
    let (design, _) = catalog::fitted(DESIGN, &mut device, &Settings::default())?;
    let image = Image::open(&path)?;
    image.check_fits(&device, &design)?;
    device.state = image.header.state.clone();
    let mut drive = Drive::new(&device, design, false, Metrics::default())?;
    image.load(&mut drive, 1)?;
    let (cpu_seconds, wall) = (thread_cpu_seconds() - start, wall.elapsed().as_secs_f64());
    Ok(Case {
        cpu_seconds: Some(cpu_seconds),
        detail: format!("an image of {DEVICE} of {} MiB, loaded in {wall:.2} s of wall time", info.bytes >> 20),
        ..Case::named(name)
    })
}

/// Requests of each slice, and slices of each drive.
const SLICE: u64 = 500_000;
const SLICES: u64 = 6;

/// The work of `steady-gc` on two drives that differ in the blocks of their planes, slice by slice in turn.
pub(super) fn drives(name: &str, control: &Control) -> Result<Case, RunError> {
    let steady = |blocks_per_plane: u32| {
        let mut device = catalog::device("ttflash-256g")?;
        device.geometry.blocks_per_plane = blocks_per_plane;
        device.state.ageing = AgeingMethod::Statistical;
        Steady::full_of(device, "base+plane-blocking", SLICE, control)
    };
    let gib = |steady: &Steady| {
        let geometry = &steady.drive.view().device().geometry;
        (geometry.physical_pages() * u64::from(geometry.page_bytes)) >> 30
    };
    let (mut small, mut large) = (steady(2048)?, steady(65_536)?);
    control.enter(Phase::Running, 0);
    let (mut short, mut long, mut events) = (0.0, 0.0, 0);
    for seed in 0..SLICES {
        short += small.play(10 + seed, SLICE, None, control)?.0;
        long += large.play(10 + seed, SLICE, None, control)?.0;
        events += large.drive.counters().flash.events;
    }
    let requests = (SLICE * SLICES) as f64;
    Ok(Case {
        requests_per_cpu_second: Some(requests / long),
        ns_per_event: Some(long * 1e9 / events as f64),
        growth_ratio: Some(long / short),
        detail: format!(
            "4 KB random 70/30 on full drives of {} and {} GiB, {SLICES} slices of {SLICE} requests each: {:.0} and {:.0} ns a request",
            gib(&small),
            gib(&large),
            short * 1e9 / requests,
            long * 1e9 / requests
        ),
        ..Case::named(name)
    })
}

/// Dies of a small and of a large drive, those of a channel, and those for each outstanding request.
const DIES: [u32; 2] = [64, 1024];
const DIES_PER_CHANNEL: u32 = 8;
const DIES_PER_REQUEST: u32 = 4;

/// The firmware of today on two drives that differ in their dies, with as many requests outstanding for each die, in turn.
pub(super) fn dies(name: &str, control: &Control) -> Result<Case, RunError> {
    let spec = |dies: u32, seed: u64| -> Result<Spec, RunError> {
        let settings = Settings::try_from(vec![
            format!("geometry.channels={}", dies / DIES_PER_CHANNEL),
            "geometry.chips_per_channel=1".into(),
            format!("geometry.dies_per_chip={DIES_PER_CHANNEL}"),
            format!("synthetic.queue_depth={}", dies / DIES_PER_REQUEST),
        ])?;
        Ok(Spec { requests: Some(SLICE), seed, settings, ..Spec::new("modern-tlc-2t-small", "firmware", "randrw70-qd16") })
    };
    let (mut seconds, mut events) = ([0.0; 2], [0; 2]);
    for seed in 1..=SLICES / 2 {
        for (index, &dies) in DIES.iter().enumerate() {
            let outcome = run(&spec(dies, seed)?, control)?;
            seconds[index] += outcome.cpu_seconds;
            events[index] += outcome.events;
        }
    }
    let [few, many] = [0, 1].map(|index| seconds[index] * 1e9 / events[index] as f64);
    Ok(Case {
        requests_per_cpu_second: Some((SLICE * (SLICES / 2)) as f64 / seconds[1]),
        ns_per_event: Some(many),
        growth_ratio: Some(many / few),
        detail: format!(
            "firmware on modern-tlc-2t-small with {} and {} dies, 4 KB random 70/30, a request for {DIES_PER_REQUEST} dies, {} runs of {SLICE} \
             requests each: {few:.0} and {many:.0} ns an event",
            DIES[0],
            DIES[1],
            SLICES / 2
        ),
        ..Case::named(name)
    })
}

/// Requests of a short and of a long run, and short runs, half of them before the long one.
const SHORT: u64 = 100_000;
const LONG: u64 = 10_000_000;
const SHORT_RUNS: u64 = 20;

/// The work of `steady-gc` in short runs and in a long one, on the same drive.
pub(super) fn lengths(name: &str, control: &Control) -> Result<Case, RunError> {
    let mut device = catalog::device("ttflash-256g")?;
    device.state.ageing = AgeingMethod::Statistical;
    let mut steady = Steady::full_of(device, "base+plane-blocking", LONG / 10, control)?;
    control.enter(Phase::Running, 0);
    let mut short = 0.0;
    let mut play_short = |steady: &mut Steady, seeds: std::ops::Range<u64>| {
        for seed in seeds {
            short += steady.play(100 + seed, SHORT, None, control)?.0;
        }
        Ok::<(), RunError>(())
    };
    play_short(&mut steady, 0..SHORT_RUNS / 2)?;
    let (long, _) = steady.play(1, LONG, None, control)?;
    let events = steady.drive.counters().flash.events;
    play_short(&mut steady, SHORT_RUNS / 2..SHORT_RUNS)?;
    let (short_ns, long_ns) = (short * 1e9 / (SHORT * SHORT_RUNS) as f64, long * 1e9 / LONG as f64);
    Ok(Case {
        requests_per_cpu_second: Some(LONG as f64 / long),
        ns_per_event: Some(long * 1e9 / events as f64),
        growth_ratio: Some(long_ns / short_ns),
        detail: format!(
            "4 KB random 70/30 on ttflash-256g, full: {SHORT_RUNS} runs of {SHORT} requests and one of {LONG}: {short_ns:.0} and {long_ns:.0} ns \
             a request"
        ),
        ..Case::named(name)
    })
}
