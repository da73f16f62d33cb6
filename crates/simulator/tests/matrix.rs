//! Every design that comes with the program on every small drive: a run under each kind of load comes to its end with right data,
//! and does the same from an image; or the pair is refused before anything ages, with one near to it that runs.
//!
//! What the runs did is held in `hashes.txt`: for each pair the hash of all events, that of all causes of latency, and that of
//! all that was counted. A commit that moves code changes none of them. Without `TINYTAIL_SOAK` one pair in six is played: every
//! design on some drives, and every drive with some designs. With `TINYTAIL_HASHES=write` all are, and the test writes the file anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::units::MS;
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::fitting::{FitSpec, Refusal, fits};
use tinytail_simulator::play::{Ending, play_streams};
use tinytail_simulator::settings::Settings;
use tinytail_workload::{SourceContext, TraceOptions, Workload};

use crate::drives::Log;

/// What a drive has done: the hash of its events, one of what its requests waited for, and one of its counters. A counter that
/// is new, or has another place, changes nothing as long as it counts nothing.
fn hashes(drive: &Drive<Log>) -> String {
    let causes = hash(drive.observer().causes);
    let counted = drive.counters().reported().filter(|counter| counter.count > 0);
    let counters = counted.fold(0, |sum: u64, counter| sum.wrapping_add(hash(counter.name.bytes().map(u64::from).chain([counter.count]))));
    format!("{:016x} {causes:016x} {counters:016x}", drive.event_hash())
}

fn hash(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, value| (hash ^ value).wrapping_mul(0x100_0000_01b3).rotate_left(17))
}

/// Random reads and writes, writes without reads, bursts of both, and a skewed load.
const LOADS: [&str; 4] = ["randrw70-qd16", WRITES, "randrw70-bursty", "zipf"];
const WRITES: &str = "randwrite-qd32";
const REQUESTS: u64 = 400;

/// Where GC is rare, writes go on until it has erased some blocks, but no longer than for so many blocks of each plane.
const ERASES: u64 = 4;
const BLOCKS_MAX: u64 = 16;

/// Everything that has a name: alone, or behind `base`. What needs stripes is refused there, and played with what is named instead.
fn compositions() -> Vec<String> {
    let composition = |name: String| if catalog::design(&name).is_ok() { name } else { format!("base+{name}") };
    catalog::designs().into_iter().map(|listing| composition(listing.name)).collect()
}

fn fit_of(device: &str, design: &str) -> tinytail_simulator::fitting::Fit {
    let spec = FitSpec {
        device: device.into(),
        designs: vec![design.into()],
        state: toml::Table::new(),
        image: None,
        settings: Settings::default(),
    };
    fits(&spec).unwrap().remove(0)
}

/// How a drive is copied.
#[derive(Clone, Copy, Debug)]
enum Copied {
    Image,
    Snapshot,
}

/// A drive of a device that the design fits, with values that are given, not aged.
fn made(device: &str, composition: &str, given: &[String]) -> Result<(Device, Drive<Log>), String> {
    let settings = Settings::try_from(given.to_vec()).map_err(|error| error.to_string())?;
    let mut device = catalog::device_with(device, &settings).map_err(|error| error.to_string())?;
    // A quarter is enough to bring every plane to the erased share that it starts with, and leaves stale pages everywhere.
    device.state.overwrite_percent = 25;
    let (design, _) = catalog::fitted(composition, &mut device, &settings).map_err(|error| error.to_string())?;
    let drive = Drive::new(&device, design, true, Log::default()).map_err(|error| error.to_string())?;
    Ok((device, drive))
}

/// Plays a load from a millisecond after now. Returns whether it came to its end: without GC a drive has the space that it has.
fn plays(device: &Device, drive: &mut Drive<Log>, load: &str) -> Result<bool, String> {
    let mapped_sectors = u64::from(drive.mapped_pages()) * u64::from(device.geometry.sectors_per_page());
    let context = SourceContext { logical_sectors: device.logical_sectors(), mapped_sectors };
    let workload = Workload::resolve(load, &TraceOptions::default()).map_err(|error| error.to_string())?;
    let g = &device.geometry;
    let (first, planes) = (drive.submitted(), u64::from(g.planes()));
    let most = if load == WRITES { REQUESTS.max(BLOCKS_MAX * u64::from(g.pages_in(1)) * planes) } else { REQUESTS };
    let mut streams = workload.streams(1, &context, Some(most)).map_err(|error| error.to_string())?;
    let start = drive.now() + MS;
    let is_enough = |drive: &Drive<Log>| drive.submitted() - first >= REQUESTS && drive.counters().gc.erases >= ERASES;
    match play_streams(drive, &mut streams, start, &Control::default(), is_enough) {
        Ending::Complete => Ok(true),
        Ending::Stuck(_) if drive.design().gc_trigger.name() == "never" => Ok(false),
        other => Err(format!("{load}: {other:?} {}", drive.explain_standstill())),
    }
}

/// Plays all loads on one drive, one after the other, with every read checked.
fn plays_all(device: &Device, drive: &mut Drive<Log>) -> Result<(), String> {
    drive.wake();
    for load in LOADS {
        if !plays(device, drive, load)? {
            return Ok(());
        }
    }
    drive.audit()
}

/// Plays all loads on a drive that ages, and on a copy of the aged drive. Returns what they did.
fn played(name: &str, composition: &str, given: &[String], copied_by: Copied) -> Result<String, String> {
    let (device, mut drive) = made(name, composition, given)?;
    let aged = drive.age(1, &[], |_, _| true);
    // A copy has counted nothing.
    drive.reset_counters();
    let mut bytes = Vec::new();
    let Ok(()) = match copied_by {
        Copied::Image => drive.save(&mut bytes),
        Copied::Snapshot => drive.snapshot(&mut bytes),
    };
    plays_all(&device, &mut drive)?;
    let (_, mut copy) = made(name, composition, given)?;
    let mut bytes = bytes.as_slice();
    let taken = match copied_by {
        Copied::Image => copy.load(1, &aged, &mut bytes),
        Copied::Snapshot => copy.restore(1, &aged, &mut bytes),
    };
    taken.map_err(|error| format!("{copied_by:?}: {error:?}"))?;
    plays_all(&device, &mut copy).map_err(|why| format!("{copied_by:?}: {why}"))?;
    let done = hashes(&drive);
    if hashes(&copy) == done { Ok(done) } else { Err(format!("what comes from {copied_by:?} does something else")) }
}

#[test]
fn every_design_runs_on_every_small_drive_or_is_refused_with_one_that_runs() {
    let twins: Vec<String> = catalog::devices().into_iter().map(|device| device.name).filter(|name| name.ends_with("-small")).collect();
    let designs = compositions();
    let pair = |of: usize| (twins[of / designs.len()].clone(), designs[of % designs.len()].clone());
    let is_drawn = |of: &usize| (of / designs.len() + of % designs.len()).is_multiple_of(6);
    let is_whole = writes_hashes() || std::env::var_os("TINYTAIL_SOAK").is_some();
    let pairs: Vec<(String, String)> = (0..twins.len() * designs.len()).filter(|of| is_whole || is_drawn(of)).map(pair).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let found = Mutex::new(BTreeMap::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((device, design)) = pairs.get(index) else { break };
            let copied_by = if index.is_multiple_of(2) { Copied::Image } else { Copied::Snapshot };
            let ended = match fit_of(device, design).refusal {
                None => played(device, design, &[], copied_by),
                Some(Refusal { message, remedy: None, .. }) => Err(format!("no remedy: {message}")),
                Some(Refusal { remedy: Some(remedy), .. }) => played(device, &remedy.design, &remedy.settings, copied_by)
                    .map(|_| REFUSED.into())
                    .map_err(|why| format!("the remedy {remedy:?} on {device}: {why}")),
            };
            match ended {
                Ok(done) => drop(found.lock().unwrap().insert(format!("{device} {design}"), done)),
                Err(why) => {
                    eprintln!("{design} on {device}: {why}");
                    failures.lock().unwrap().push(format!("{design} on {device}: {why}"));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {}: {}", failures.len(), pairs.len(), failures.join("\n"));
    // Some pairs are impossible, such as stripes with pages that have no place; most are not.
    let found = found.into_inner().unwrap();
    let refused = found.values().filter(|done| *done == REFUSED).count();
    assert!(refused > 0 && refused < pairs.len() / 2, "{refused} of {}", pairs.len());
    holds(&found, is_whole);
}

/// In place of the hashes of a pair that is refused.
const REFUSED: &str = "refused";

fn writes_hashes() -> bool {
    std::env::var("TINYTAIL_HASHES").is_ok_and(|value| value == "write")
}

/// Holds what pairs did against the file. If they are all pairs, the file has no more.
fn holds(found: &BTreeMap<String, String>, is_whole: bool) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hashes.txt");
    let text = found.iter().fold(String::new(), |mut text, (pair, done)| {
        writeln!(text, "{pair} {done}").expect("a string takes all");
        text
    });
    if writes_hashes() {
        return std::fs::write(path, text).unwrap();
    }
    let held = std::fs::read_to_string(path).unwrap_or_default();
    let (now, then): (Vec<&str>, Vec<&str>) = (text.lines().collect(), held.lines().collect());
    let changed: Vec<&str> = now.iter().filter(|line| !then.contains(line)).copied().collect();
    let gone = if is_whole { then.iter().filter(|line| !now.contains(line)).count() } else { 0 };
    assert!(
        changed.is_empty() && gone == 0,
        "{} of {} pairs do something else than {path} says, and {gone} of its lines hold no more. If they should, write it anew: \
         TINYTAIL_HASHES=write cargo test --release --workspace --locked matrix\n{}",
        changed.len(),
        found.len(),
        changed[..changed.len().min(20)].join("\n")
    );
}
