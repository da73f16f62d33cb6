//! What of a design follows the drive: numbers that a paper chose for its own drive, where another one has no room for them.
//!
//! A design keeps its numbers where they fit. Else they follow the drive's spare space, and each change is named. Nothing here
//! makes one technique of another, but for a gate that lowered thresholds would keep closed; what a drive can't do at all is left
//! as it is, for `prepare` to refuse.

use crate::design::Design;
use crate::device::{AgeingMethod, Device};
use crate::policy::answers::Reach;
use crate::policy::thresholds::{Room, Threshold};
use crate::techniques::{GcGatePolicy, GcTriggerPolicy, PairingPolicy, SuspendPolicy, Technique};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tinytail_config::Document;

/// A value of a design or of the device that a run uses instead of the one that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Adjustment {
    /// What kind of change it is.
    #[schemars(extend("enum" = ["gc_thresholds", "gc_gate", "write_points", "starting_state", "parity_capacity", "padding", "flash"]))]
    pub code: String,
    /// Section of the design's file or of the device's.
    pub section: String,
    /// Key in the section.
    pub key: String,
    /// The value that was asked for.
    #[schemars(extend("type" = ["boolean", "number", "string"]))]
    pub wanted: Value,
    /// The value that is used.
    #[schemars(extend("type" = ["boolean", "number", "string"]))]
    pub used: Value,
    /// A sentence that says so, with the reason.
    pub message: String,
}

impl Adjustment {
    fn new(code: &str, [section, key]: [&str; 2], wanted: impl Into<Value>, used: impl Into<Value>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            section: section.into(),
            key: key.into(),
            wanted: wanted.into(),
            used: used.into(),
            message: message.into(),
        }
    }
}

/// The keys of thresholds of GC.
const THRESHOLDS: [&str; 6] =
    ["soft_free_percent", "hard_free_percent", "soft_free_blocks", "hard_free_blocks", "background_blocks", "emergency_blocks"];

impl Design {
    /// Lets what this design asks of a drive follow the drive's space where there is no room for it. Returns each change. Thresholds
    /// from a file of the user's, or from options, stay.
    pub fn fit(&mut self, device: &mut Device) -> Vec<Adjustment> {
        let mut adjusted = self.fit_space(device);
        adjusted.extend(self.fit_gc(device, 0));
        adjusted
    }

    /// The first half of `fit`, after which it is known what a host can address: the logical size under stripes with parity, and open
    /// blocks.
    pub fn fit_space(&mut self, device: &mut Device) -> Vec<Adjustment> {
        let mut adjusted = self.fit_flash(device);
        adjusted.extend(self.fit_padding(device));
        adjusted.extend(self.fit_parity(device));
        if self.place.prepare(device).is_ok() {
            adjusted.extend(self.fit_write_points(device));
        }
        adjusted.extend(self.fit_ageing(device));
        adjusted
    }

    /// The second half: thresholds of GC, and the gate before it. The workload maps so many pages, if these are more than the
    /// starting state says.
    pub fn fit_gc(&mut self, device: &Device, mapped_pages: u64) -> Vec<Adjustment> {
        // An empty drive is filled by what is written to it.
        self.start.live_pages = if device.starts_empty() { device.logical_pages() } else { mapped_pages };
        let mut adjusted = Vec::new();
        // Thresholds that somebody wrote for this run are what is asked about, and stay as they are.
        if self.users_threshold().is_some() || self.place.prepare(device).is_err() {
            return adjusted;
        }
        let room = self.room(device);
        let (thresholds, wanted, used) = match self.start_trigger() {
            GcTriggerPolicy::Watermark(watermark) => watermark.fit(&room),
            GcTriggerPolicy::BackgroundEmergency(blocks) => blocks.fit(&room, device),
            GcTriggerPolicy::Never(_) | GcTriggerPolicy::Custom(_) => return adjusted,
        };
        // A twin without GC starts as the other does, and has nothing that these change.
        if self.gc_trigger.name() != "never" {
            adjusted.extend(Self::thresholds_adjusted(thresholds, &room));
            if used.soft < wanted.soft {
                adjusted.extend(self.fit_gate());
            }
        }
        if self.place.late_bound() {
            adjusted.extend(self.write_points_at_most(used.soft.saturating_sub(used.hard) / room.block));
        }
        adjusted
    }

    /// The first of the thresholds of GC that somebody wrote for this run.
    pub(super) fn users_threshold(&self) -> Option<&'static str> {
        let given = |document: &Document| THRESHOLDS.into_iter().find(|key| document.gives("gc_trigger", key));
        let (document, key) = self.files.iter().rev().find_map(|document| Some((document, given(document)?)))?;
        (!document.is_built_in()).then_some(key)
    }

    /// A steady state that no theory knows is written, and so are pages whose places only a policy knows.
    fn fit_ageing(&self, device: &mut Device) -> Option<Adjustment> {
        let (wanted, section, why) = match device.state.ageing {
            AgeingMethod::Overwrite | AgeingMethod::Steady => return None,
            AgeingMethod::Statistical => ("statistical", self.without_theory()?, "no theory knows the steady state under"),
            AgeingMethod::Random => ("random", (!self.can_be_laid_out()).then_some("place")?, "nobody else knows where pages lie under"),
        };
        device.state.ageing = AgeingMethod::Overwrite;
        let message = format!("the drive is aged by writing: {why} [{section}] {}", self.named(section));
        Some(Adjustment::new("starting_state", ["state", "ageing"], wanted, "overwrite", message))
    }

    /// What the flash lacks, and the design can do without.
    fn fit_flash(&self, device: &Device) -> Vec<Adjustment> {
        let mut adjusted = Vec::new();
        if matches!(&self.pairing, PairingPolicy::SameOffset(pairing) if pairing.does_without(device)) {
            let message = "planes are programmed one by one: this flash has no multi-plane commands";
            adjusted.push(Adjustment::new("flash", ["pairing", "policy"], "same_offset", "none", message));
        }
        if matches!(&self.suspend, SuspendPolicy::EraseSuspension(suspend) if suspend.does_without(device)) {
            let message = "nothing is suspended for reads: the device gives no [timing] `suspend_ns`";
            adjusted.push(Adjustment::new("flash", ["suspend", "policy"], "erase_suspension", "never", message));
        }
        adjusted
    }

    /// Without a write buffer a write would take as long as it waits for pages to be programmed with.
    fn fit_padding(&mut self, device: &Device) -> Option<Adjustment> {
        let PairingPolicy::SuperpagePrograms(superpage) = &mut self.pairing else { return None };
        if device.ram.buffer_kib > 0 || device.geometry.planes_per_die == 1 {
            return None;
        }
        let wanted = superpage.pad_at_once();
        let message = format!("pages are padded at once in place of after {wanted} µs: this drive has no write buffer for them to wait in");
        Some(Adjustment::new("padding", ["pairing", "wait_us"], wanted, 0, message))
    }

    /// Parity takes spare space beyond a tenth of the pages, and the rest of its pages from the capacity.
    fn fit_parity(&mut self, device: &mut Device) -> Option<Adjustment> {
        self.place.prepare(device).ok()?;
        let width = self.place.stripes()?.width();
        let (usable, planes) = (usable_pages(device), device.geometry.planes());
        let held_at_most = usable - (device.geometry.pages_per_plane() / 10).min(usable);
        let without = device.logical_pages();
        if pages_held(self, device) <= held_at_most {
            return None;
        }
        let gigabytes = |device: &Device| {
            let bytes = device.logical_pages() * u64::from(device.geometry.unit_bytes());
            if bytes < 100_000_000_000 { format!("{:.2} GB", bytes as f64 / 1e9) } else { format!("{:.0} GB", bytes as f64 / 1e9) }
        };
        let physical = device.geometry.physical_pages();
        let held_without = gigabytes(device);
        // In whole hundredths of a percent of the physical pages.
        let held = without.max(u64::from(held_at_most) * u64::from(planes));
        let share = (held * 10_000).div_ceil(physical) * u64::from(width - 1) / u64::from(width);
        let held = physical * share / 10_000;
        if held >= without {
            return None;
        }
        device.set_logical_pages(held);
        let (held, name) = (gigabytes(device), &self.name);
        let message = format!("one page in {width} is parity: the drive holds {held} under {name}, and {held_without} without parity");
        let (wanted, used) = (device.gigabytes(without), device.host.capacity_gb);
        Some(Adjustment::new("parity_capacity", ["host", "capacity_gb"], json!(wanted), json!(used), message))
    }

    /// Where the open blocks of a plane would take all its spare ones, they take a quarter.
    fn fit_write_points(&mut self, device: &Device) -> Option<Adjustment> {
        let spare_blocks = usable_pages(device).saturating_sub(pages_held(self, device)) / device.geometry.pages_in(1);
        if self.gc.reserve_blocks.saturating_add(self.gc.write_points) < spare_blocks {
            return None;
        }
        self.write_points_at_most((spare_blocks / 4).saturating_sub(self.gc.reserve_blocks))
    }

    fn write_points_at_most(&mut self, most: u32) -> Option<Adjustment> {
        // With one open block for new pages and moved ones, runs were seen to stop where programs take all planes of a die.
        let least = if self.place.reach() == Reach::Die { 2 } else { 1 };
        let (wanted, used) = (self.gc.write_points, most.max(least));
        if wanted <= used {
            return None;
        }
        self.gc.write_points = used;
        let message = format!("each plane has {used} open blocks in place of {wanted}: there are spare blocks for no more");
        Some(Adjustment::new("write_points", ["gc", "write_points"], wanted, used, message))
    }

    /// Under a load that never pauses no channel falls quiet, and lowered thresholds leave no time to wait for that.
    fn fit_gate(&mut self) -> Vec<Adjustment> {
        const QUIET: &str = "GC does not wait for a quiet channel: its thresholds are lower, and under load no channel falls quiet";
        const OTHERS: &str = "GC does not wait for other GCs of its channel: its thresholds are lower, and leave no time for that";
        let (for_quiet, for_others) = match &mut self.gc_gate {
            GcGatePolicy::Free(free) => free.start_at_once(),
            GcGatePolicy::Rotating(rotating) => (rotating.start_at_once(), false),
            _ => (false, false),
        };
        let quiet = for_quiet.then(|| Adjustment::new("gc_gate", ["gc_gate", "start"], "quiet_channel", "immediate", QUIET));
        let others = for_others.then(|| Adjustment::new("gc_gate", ["gc_gate", "one_per_channel"], true, false, OTHERS));
        quiet.into_iter().chain(others).collect()
    }

    /// Those of the thresholds that have changed, with one sentence on both.
    fn thresholds_adjusted(thresholds: [Threshold; 2], room: &Room) -> Vec<Adjustment> {
        let [soft, hard] = &thresholds;
        let unit = if soft.key.ends_with("percent") { "% of the pages" } else { "blocks" };
        let reason = if soft.used.as_f64() < soft.wanted.as_f64() {
            format!("this drive has {:.1} % spare", room.percent(room.spare))
        } else {
            format!("GC's reserve and open blocks take {:.1} % of this drive", room.percent(room.least))
        };
        let message = format!(
            "GC starts below {} {unit} erased and is urgent below {}, in place of {} and {}: {reason}",
            soft.used, hard.used, soft.wanted, hard.wanted
        );
        let changed = thresholds.into_iter().filter(|threshold| threshold.wanted != threshold.used);
        changed.map(|it| Adjustment::new("gc_thresholds", ["gc_trigger", it.key], it.wanted, it.used, &*message)).collect()
    }

    /// The space of each plane that is neither live data nor kept open.
    pub(super) fn room(&mut self, device: &Device) -> Room {
        let g = &device.geometry;
        let (reserve, points) = (self.gc.reserve_blocks, self.gc.write_points);
        // A page whose allocation is late-bound goes to whichever open block has room.
        let least = if self.place.late_bound() { reserve.saturating_add(1) } else { reserve.saturating_add(points) };
        let kept = g.pages_in(reserve.saturating_add(points));
        Room {
            plane: g.pages_per_plane(),
            block: g.pages_in(1),
            spare: usable_pages(device).saturating_sub(self.live_pages_of_plane(device)).saturating_sub(kept),
            least: g.pages_in(least),
        }
    }
}

/// Pages of each plane that the data of a full drive take, with their parity.
pub(super) fn pages_held(design: &mut Design, device: &Device) -> u32 {
    match design.place.stripes() {
        Some(stripes) => stripes.rows(),
        None => device.logical_pages().div_ceil(device.geometry.planes().into()) as u32,
    }
}

/// Pages of a plane outside bad blocks.
fn usable_pages(device: &Device) -> u32 {
    device.geometry.pages_in(device.geometry.blocks_per_plane - device.bad_blocks_per_plane())
}
