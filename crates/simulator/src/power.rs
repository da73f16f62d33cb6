//! Losses of power at random events: a drive that is used, and cut off again and again, with every page read back after each recovery.

use crate::catalog;
use crate::control::{Control, Phase};
use crate::settings::Settings;
use crate::spec::RunError;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use tinytail_config::{ConfigError, Decimal};
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::crash::power::{Comparison, Recovery};
use tinytail_core::device::{Device, Errors};
use tinytail_core::drive::Drive;
use tinytail_metrics::Metrics;

/// Commands that the host keeps under way.
const DEPTH: usize = 32;
/// The most events between two losses of power.
const EVENTS_MAX: u32 = 800;
/// The most commands that the host gives between two events. On a drive whose RAM takes no time, commands may end at once, so that
/// there are never `DEPTH` of them under way.
const COMMANDS_MAX: u64 = 2 * DEPTH as u64;
/// Of a hundred commands, trims; and writes. The others are reads.
const TRIMS: u32 = 5;
const WRITES: u32 = 60;
/// Half of the commands go to one in so many pages, which are so written again soon.
const HOT_ONE_IN: u64 = 64;
/// The most pages of a command.
const PAGES_MAX: u32 = 4;
/// The most events before the first loss, in which the write buffer fills and GC begins.
const WARM_UP_EVENTS_MAX: u64 = 2_000_000;
/// Losses of power after which all invariants are checked as well; it walks the whole drive once more.
const AUDIT_EVERY: u64 = 8;

/// A design on a device that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Case {
    /// Name of the device.
    pub device: &'static str,
    /// Composition of the design.
    pub design: &'static str,
    /// The flash has bit errors.
    pub bit_errors: bool,
}

const fn ttflash(design: &'static str) -> Case {
    Case { device: "ttflash-small", design, bit_errors: false }
}

const fn ttflash_with_errors(design: &'static str) -> Case {
    Case { device: "ttflash-small", design, bit_errors: true }
}

const fn modern(design: &'static str) -> Case {
    Case { device: "modern-tlc-2t-small", design, bit_errors: false }
}

const fn lowlatency(design: &'static str) -> Case {
    Case { device: "lowlatency-240g-small", design, bit_errors: false }
}

const fn harey(design: &'static str) -> Case {
    Case { device: "harey-8g-small", design, bit_errors: false }
}

const fn hpdc(design: &'static str) -> Case {
    Case { device: "hpdc-1t-small", design, bit_errors: false }
}

/// Every design and overlay that comes with the program, on a small drive of its paper.
pub const CASES: [Case; 63] = [
    ttflash("base"),
    ttflash("base+no-gc"),
    ttflash("base+ideal-gc"),
    ttflash("base+controller-blocking"),
    ttflash("base+plane-blocking"),
    ttflash("base+plane-preemptible"),
    ttflash("base+through-controller"),
    ttflash("base+commands-first"),
    ttflash("base+emergency-first"),
    ttflash("base+cost-benefit-victim"),
    ttflash("base+d-choices-victim"),
    ttflash("base+fifo-victim"),
    ttflash("base+least-worn-victim"),
    ttflash("base+least-worn-blocks"),
    ttflash("base+idle-die"),
    ttflash("base+through-controller+cross-plane-gc"),
    ttflash("base+rain"),
    ttflash("base-rain"),
    ttflash("pb"),
    ttflash("pb-gtr"),
    ttflash("pb+gtr-greedy"),
    ttflash("pb+gtr-release"),
    ttflash("pb+gtr+rgc"),
    ttflash("pb+gtr+rgc-round-robin"),
    ttflash("pb+gtr+f-rgc"),
    ttflash("pb+gtr+gtf"),
    ttflash("ttflash"),
    ttflash("ttflash+preemptible"),
    ttflash("ttflash+through-controller"),
    ttflash("ttflash+level-wear"),
    ttflash_with_errors("base+scrub"),
    ttflash_with_errors("ttflash+scrub+level-wear"),
    modern("base"),
    modern("base+through-controller+superpage-programs"),
    lowlatency("erase-baseline"),
    lowlatency("es"),
    lowlatency("i-es"),
    lowlatency("d-es"),
    lowlatency("t-es"),
    lowlatency("ideal-es"),
    lowlatency("base+plane-blocking+es"),
    harey("base+plane-blocking+background-emergency"),
    harey("harey-baseline"),
    harey("write-points-8"),
    harey("write-points-32"),
    harey("rtf-weak"),
    harey("rtf-strong+write-points-32"),
    harey("rate-match"),
    harey("fgc+write-points-8"),
    harey("sgc+write-points-32"),
    harey("rate-match-auto"),
    harey("dynamic-ftl+write-points-8"),
    modern("firmware"),
    modern("base+suspend-programs"),
    hpdc("hpdc-baseline"),
    hpdc("gc-par-basic"),
    hpdc("gc-par"),
    hpdc("gc-vic"),
    hpdc("gc-vic+skip-pages"),
    hpdc("gc-par+block-by-block"),
    hpdc("gc-slack"),
    hpdc("die-preemptible"),
    Case { device: "hpdc-1t-rain-small", design: "hpdc-ttflash", bit_errors: false },
];

/// What to cut off, and how often.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// Name or path of the device.
    pub device: String,
    /// Composition of the design.
    pub design: String,
    /// Losses of power.
    pub cuts: u64,
    /// Seed of ageing, of the commands and of the events.
    pub seed: u64,
    /// The flash has bit errors, if the device says nothing of them.
    #[serde(default)]
    pub bit_errors: bool,
    /// Values that are given beside the files of device and design.
    #[serde(default)]
    pub settings: Settings,
}

impl PowerSpec {
    /// A case of the list above.
    pub fn of(case: &Case, cuts: u64, seed: u64) -> Self {
        let Case { device, design, bit_errors } = *case;
        Self { device: device.into(), design: design.into(), cuts, seed, bit_errors, settings: Settings::default() }
    }

    fn device(&self) -> Result<Device, RunError> {
        let mut device = catalog::device_with(&self.device, &self.settings)?;
        if self.bit_errors {
            add_bit_errors(&mut device);
        }
        Ok(device)
    }
}

/// Gives a drive bit errors, if it has none: those of the experiment in evidence/wear-and-scrubbing.md, at half the rated erases.
pub(crate) fn add_bit_errors(device: &mut Device) {
    if device.errors.is_none() {
        device.errors = Some(Errors {
            fresh_rber: Decimal::of_units(17_000),
            rated_rber: Decimal::of_units(340_000_000),
            rated_erases: 3000,
            exponent: Decimal::of_units(200),
            erases_before: 1500,
            codeword_bytes: 512,
            correctable_bits: 15,
            percent_per_1000_suspensions: Decimal::default(),
        });
        device.name = format!("{} with bit errors", device.name);
    }
}

/// A distribution of times, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Times {
    /// Mean.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

impl Times {
    fn of(mut times_ns: Vec<u64>) -> Self {
        times_ns.sort_unstable();
        let Some(&max) = times_ns.last() else { return Self::default() };
        let ms = |ns: u64| ns as f64 / 1e6;
        // The least value that so many percent do not exceed.
        let quantile = |percent: usize| ms(times_ns[(times_ns.len() * percent).div_ceil(100).max(1) - 1]);
        let sum: u64 = times_ns.iter().sum();
        Self { mean_ms: ms(sum) / times_ns.len() as f64, p50_ms: quantile(50), p99_ms: quantile(99), max_ms: ms(max) }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PowerOutcome {
    /// Name of the device.
    pub device: String,
    /// Composition of the design.
    pub design: String,
    /// Losses of power that the drive has recovered from.
    pub cuts: u64,
    /// Requests that completed.
    pub completed: u64,
    /// Requests that were under way when the power failed.
    pub requests_cut_off: u64,
    /// Pages read back after recoveries.
    pub pages_read_back: u64,
    /// Pages of them that held nothing, or what was never written there.
    pub lost: u64,
    /// Pages of them that held what was written before.
    pub stale: u64,
    /// What was wrong first, if anything was.
    pub mismatch: Option<String>,
    /// Pages whose program was cut off.
    pub torn_pages: u64,
    /// Blocks whose erase was cut off.
    pub torn_blocks: u64,
    /// Blocks erased before the drive took commands again.
    pub cleanup_erases: u64,
    /// Pages moved before the drive took commands again.
    pub cleanup_moves: u64,
    /// Pages padded before the drive took commands again.
    pub cleanup_padding: u64,
    /// Recovery times.
    pub recovery: Times,
    /// Of them, reading out-of-band data.
    pub scan: Times,
    /// Erasing and collecting.
    pub cleanup: Times,
    /// Reading back what capacitors have saved.
    pub restore: Times,
    /// Hash of every event.
    pub event_hash: String,
    /// It was ended early.
    pub partial: bool,
}

/// A host that reads, writes and trims at random.
struct Host {
    random: Pcg64Mcg,
    sectors: u64,
    per_page: u64,
}

impl Host {
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    fn command(&mut self) -> Command {
        let pages = self.sectors / self.per_page;
        let among = if self.below(2) == 0 { pages } else { (pages / HOT_ONE_IN).max(1) };
        let mut sector = self.below(among) * self.per_page;
        let mut sectors = (1 + self.below(u64::from(PAGES_MAX))) * self.per_page;
        if self.below(4) == 0 {
            // Parts of pages.
            sector += self.below(self.per_page);
            sectors = 1 + self.below(2 * self.per_page);
        }
        let kind = match self.below(100) as u32 {
            draw if draw < TRIMS => CommandKind::Trim,
            draw if draw < TRIMS + WRITES => CommandKind::Write,
            _ => CommandKind::Read,
        };
        Command { kind, sector, sectors: sectors.min(self.sectors - sector) as u32, critical: self.below(8) == 0 }
    }
}

/// Cuts the power of a drive at random events, lets it recover, reads everything back and goes on.
///
/// # Errors
/// A faulty device or design; a drive that can't recover, or whose invariants do not hold then; requests that stop completing. Wrong
/// data are no error but an outcome.
pub fn cut_power(spec: &PowerSpec, control: &Control) -> Result<PowerOutcome, RunError> {
    spec.settings.without_workload("losses of power have a host of their own, and no workload")?;
    let mut device = spec.device()?;
    let (mut design, _) = catalog::fitted(&spec.design, &mut device, &spec.settings)?;
    if design.destage.data_before_parity() {
        let why =
            "[destage] `data_before_parity` = true: a loss of power would leave stripes with new data and old parity; allowed is false";
        return Err(ConfigError::new(why).into());
    }
    let mut drive = Drive::new(&device, design, true, Metrics::default())?;
    control.enter(Phase::Ageing, 0);
    drive.age(spec.seed, &[], |done, total| {
        control.set_total(total);
        control.advance(done);
        !control.is_cancelled()
    });
    drive.prepare_for_power_cuts();
    drive.wake();
    let random = Pcg64Mcg::new(u128::from(spec.seed) << 1 | 1 << 110);
    let per_page = u64::from(device.geometry.sectors_per_page());
    let mut host = Host { random, sectors: device.logical_sectors(), per_page };
    let mut recoveries: Vec<Recovery> = Vec::new();
    control.enter(Phase::Running, spec.cuts);
    let failed = |what: String| RunError::Failed(format!("{}: {what}", spec.design));
    let buffer_pages = u64::from(device.ram.buffer_kib) * 1024 / u64::from(device.geometry.page_bytes);
    let collects = drive.design().gc_trigger.name() != "never";
    let is_warm = |drive: &Drive<Metrics>| drive.counters().buffer.flushed >= buffer_pages && (drive.counters().gc.erases > 0 || !collects);
    let has_waited = |drive: &Drive<Metrics>| drive.counters().flash.events >= WARM_UP_EVENTS_MAX;
    let is_used_enough = |drive: &Drive<Metrics>| is_warm(drive) || has_waited(drive) || control.is_cancelled();
    use_drive(&mut drive, &mut host, WARM_UP_EVENTS_MAX, is_used_enough).map_err(failed)?;
    for cut in 1..=spec.cuts {
        if control.is_cancelled() {
            break;
        }
        let events = host.below(u64::from(EVENTS_MAX));
        use_drive(&mut drive, &mut host, events, |_| false).map_err(failed)?;
        recoveries.push(drive.cut_power().map_err(|error| failed(error.to_string()))?);
        if cut % AUDIT_EVERY == 0 || cut == spec.cuts {
            drive.audit().map_err(|what| failed(format!("an invariant does not hold after loss of power {cut}: {what}")))?;
        }
        control.advance(cut);
    }
    // The last recovery is followed by a use too.
    use_drive(&mut drive, &mut host, EVENTS_MAX.into(), |_| false).map_err(failed)?;
    let times = |of: fn(&Recovery) -> u64| Times::of(recoveries.iter().map(of).collect());
    let sum = |of: fn(&Recovery) -> u64| recoveries.iter().map(of).sum();
    let read_back = |of: fn(&Comparison) -> u64| recoveries.iter().filter_map(|recovery| recovery.read_back.as_ref()).map(of).sum();
    Ok(PowerOutcome {
        device: device.name.clone(),
        design: spec.design.clone(),
        cuts: recoveries.len() as u64,
        completed: drive.counters().host.completed,
        requests_cut_off: sum(|recovery| recovery.requests_lost),
        pages_read_back: read_back(|read_back| read_back.pages),
        lost: read_back(|read_back| read_back.lost),
        stale: read_back(|read_back| read_back.stale),
        mismatch: drive.mismatch().map(str::to_string),
        torn_pages: sum(|recovery| recovery.torn_pages),
        torn_blocks: sum(|recovery| recovery.torn_blocks),
        cleanup_erases: sum(|recovery| recovery.erases),
        cleanup_moves: sum(|recovery| recovery.moved_pages),
        cleanup_padding: sum(|recovery| recovery.padded_pages),
        recovery: times(Recovery::total_ns),
        scan: times(|recovery| recovery.scan_ns),
        cleanup: times(|recovery| recovery.cleanup_ns),
        restore: times(|recovery| recovery.restore_ns),
        event_hash: format!("{:016x}", drive.event_hash()),
        partial: control.is_cancelled(),
    })
}

/// Lets the host use the drive for so many events, or until `is_enough`. Commands that end at once count as events.
///
/// # Errors
/// Requests that stop completing.
fn use_drive(drive: &mut Drive<Metrics>, host: &mut Host, events: u64, is_enough: impl Fn(&Drive<Metrics>) -> bool) -> Result<(), String> {
    let mut left = events;
    while left > 0 && !is_enough(drive) {
        let ended_at_once = keep_busy(drive, host);
        if !drive.step() && drive.outstanding() > 0 {
            return Err(drive.explain_standstill());
        }
        left = left.saturating_sub(1 + ended_at_once);
    }
    Ok(())
}

/// Gives the drive commands until `DEPTH` are under way. Returns 0, or how many commands it took if there are fewer all the same.
fn keep_busy(drive: &mut Drive<Metrics>, host: &mut Host) -> u64 {
    for _ in 0..COMMANDS_MAX {
        if drive.outstanding() >= DEPTH {
            return 0;
        }
        let command = host.command();
        drive.submit(drive.now(), command).expect("commands lie inside the drive");
    }
    if drive.outstanding() < DEPTH { COMMANDS_MAX } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        assert_eq!(Times::of(Vec::new()), Times::default());
        let times = Times::of((1..=200).map(|ms| ms * 1_000_000).rev().collect());
        assert_eq!(times, Times { mean_ms: 100.5, p50_ms: 100.0, p99_ms: 198.0, max_ms: 200.0 });
    }

    #[test]
    fn commands_lie_inside_the_drive_and_are_of_every_kind() {
        let mut host = Host { random: Pcg64Mcg::new(1 << 90 | 1), sectors: 256, per_page: 8 };
        let commands: Vec<Command> = (0..2000).map(|_| host.command()).collect();
        assert!(commands.iter().all(|command| command.sectors > 0 && command.sector + u64::from(command.sectors) <= 256));
        for kind in [CommandKind::Read, CommandKind::Write, CommandKind::Trim] {
            assert!(commands.iter().any(|command| command.kind == kind));
        }
        assert!(commands.iter().any(|command| command.sectors % 8 != 0), "parts of pages are written as well");
    }
}
