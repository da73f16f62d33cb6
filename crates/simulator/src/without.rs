//! Counterfactuals: a run in which something takes no time.

use crate::catalog;
use crate::settings::Settings;
use serde::Serialize;
use tinytail_config::{ConfigError, did_you_mean};
use tinytail_core::design::Design;
use tinytail_core::device::Device;
use tinytail_core::observe::TrafficClass;

/// What a run may be without.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Cause {
    /// Its name.
    pub name: &'static str,
    /// What takes no time then.
    pub meaning: &'static str,
    /// Whose time on dies and channels that is.
    #[serde(skip)]
    traffic_classes: &'static [TrafficClass],
    /// What it changes in the device.
    #[serde(skip)]
    change: fn(&mut Device),
}

/// What dies and channels do for GC.
const GC: [TrafficClass; 3] = [TrafficClass::GcRead, TrafficClass::GcProgram, TrafficClass::Erase];

/// What dies do to suspend and resume.
const SUSPENSION: [TrafficClass; 4] =
    [TrafficClass::GcSuspend, TrafficClass::FlushSuspend, TrafficClass::HostProgramSuspend, TrafficClass::Suspend];

/// The most commands in the device at a time.
const QUEUE_DEPTH_MAX: u32 = 65_536;

const fn flash(name: &'static str, meaning: &'static str, traffic_classes: &'static [TrafficClass]) -> Cause {
    Cause { name, meaning, traffic_classes, change: |_| {} }
}

const fn device(name: &'static str, meaning: &'static str, change: fn(&mut Device)) -> Cause {
    Cause { name, meaning, traffic_classes: &[], change }
}

/// Everything that a run may be without.
pub const CAUSES: [Cause; 13] = [
    flash("gc", "all of GC: what takes no time locks nothing and waits for nothing", &GC),
    flash("gc-read", "reads of pages that GC moves", &[TrafficClass::GcRead]),
    flash("gc-program", "moving pages: GC's programs and the reads that feed them", &[TrafficClass::GcRead, TrafficClass::GcProgram]),
    flash("erase", "erases", &[TrafficClass::Erase]),
    flash("flush", "programs from the write buffer", &[TrafficClass::Flush]),
    flash("read-modify-write", "reads of the rest of pages that are written in part", &[TrafficClass::ReadModifyWrite]),
    flash("parity", "programs of parity, reads of old pages for it, and computing it", &[TrafficClass::Parity]),
    flash("reconstruction", "reads that reconstruct a page", &[TrafficClass::Reconstruction]),
    flash("background", "scrubbing and wear levelling", &[TrafficClass::Background]),
    flash("suspend", "suspending and resuming erases and programs", &SUSPENSION),
    device("queue", "waiting in the host: the device takes 65,536 commands at a time", |device| {
        device.host.queue_depth = QUEUE_DEPTH_MAX;
    }),
    device("overhead", "the fixed time of every command", |device| device.host.overhead_ns = 0),
    device("link", "the host's link", |device| device.host.link_mb_per_s = None),
];

fn cause(name: &str) -> Result<&'static Cause, ConfigError> {
    CAUSES.iter().find(|cause| cause.name == name).ok_or_else(|| {
        let names = CAUSES.map(|cause| cause.name);
        ConfigError::new(format!(
            "there is no cause `{name}` that a run could be without{}; there are: {}",
            did_you_mean(name, names),
            names.join(", ")
        ))
    })
}

/// A device and a design with some values and without some causes, and what of the work of dies and channels is to be made free.
/// Where that is all of GC, the design's GC is ideal instead.
///
/// # Errors
/// A name that is no cause; a faulty design.
pub(crate) fn without(
    names: &[String],
    device: &mut Device,
    composition: &str,
    settings: &Settings,
) -> Result<(Design, Vec<TrafficClass>), ConfigError> {
    let mut free = Vec::new();
    for name in names {
        let cause = cause(name)?;
        (cause.change)(device);
        free.extend(cause.traffic_classes);
    }
    let without_gc = GC.iter().all(|traffic| free.contains(traffic));
    Ok((catalog::design_for(device, composition, settings, without_gc.then_some("ideal-gc"))?, free))
}
