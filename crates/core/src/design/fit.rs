//! What of a design follows the drive: numbers that a paper chose for its own drive, where another one has no room for them.
//!
//! A design keeps its numbers where they fit. Else they follow the drive's spare space, and each change is named. Nothing here
//! makes one technique of another, but for a gate that lowered thresholds would keep closed; what a drive can't do at all is left
//! as it is, for `prepare` to refuse.

use crate::design::Design;
use crate::device::{AgeingMethod, Device};
use crate::policy::interface::Place;
use crate::policy::thresholds::{Room, Threshold};
use crate::policy::{GcGatePolicy, GcTriggerPolicy, PairingPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tinytail_config::Document;

/// A value of a design or of the starting state that a run uses instead of the one that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Adjustment {
    /// What kind of change it is.
    #[schemars(extend("enum" = ["gc_thresholds", "gc_gate", "write_points", "starting_state", "parity_capacity", "padding"]))]
    pub code: String,
    /// Section of the design's file or of the device's.
    pub section: String,
    /// Key in the section.
    pub key: String,
    /// The value that was asked for.
    #[schemars(extend("type" = ["number", "string"]))]
    pub wanted: Value,
    /// The value that is used.
    #[schemars(extend("type" = ["number", "string"]))]
    pub used: Value,
    /// A sentence that says so, with the reason.
    pub message: String,
}

/// The keys of thresholds of GC.
const THRESHOLDS: [&str; 6] =
    ["soft_free_percent", "hard_free_percent", "soft_free_blocks", "hard_free_blocks", "background_blocks", "emergency_blocks"];

impl Design {
    /// Lets what this design asks of a drive follow the drive's space where there is no room for it: the logical size under
    /// stripes with parity, open blocks, thresholds of GC and the gate before it, and the erased share in which runs start,
    /// unless the drive `has_aged` already. Thresholds from a file of the user's, or from options, stay. Returns each change.
    pub fn fit(&mut self, device: &mut Device, has_aged: bool) -> Vec<Adjustment> {
        let mut adjusted = Vec::new();
        adjusted.extend(self.fit_padding(device));
        adjusted.extend(self.fit_parity(device));
        if self.place.prepare(device).is_err() {
            return adjusted;
        }
        adjusted.extend(self.fit_write_points(device));
        if self.thresholds_are_the_users() {
            return adjusted;
        }
        let room = self.room(device);
        let (thresholds, wanted, used) = match &mut self.gc_trigger {
            GcTriggerPolicy::Watermark(watermark) => watermark.fit(&room),
            GcTriggerPolicy::BackgroundEmergency(blocks) => blocks.fit(&room, device),
            GcTriggerPolicy::Never(_) | GcTriggerPolicy::Custom(_) => return adjusted,
        };
        adjusted.extend(Self::thresholds_adjusted(thresholds, &room));
        if used.soft < wanted.soft {
            adjusted.extend(self.fit_gate());
        }
        if self.place.late_bound() {
            adjusted.extend(self.write_points_at_most(used.soft.saturating_sub(used.hard) / room.block));
        }
        if !has_aged && room.at_start < used.hard {
            adjusted.push(Self::state_lifted(device, &room, used.soft));
        }
        adjusted
    }

    /// Somebody wrote the thresholds of GC for this run: they are what is asked about, and stay as they are.
    fn thresholds_are_the_users(&self) -> bool {
        let gives = |document: &&Document| THRESHOLDS.iter().any(|key| document.gives("gc_trigger", key));
        self.files.iter().rev().find(gives).is_some_and(|document| !document.is_built_in())
    }

    /// Without a write buffer a write would take as long as it waits for pages to be programmed with.
    fn fit_padding(&mut self, device: &Device) -> Option<Adjustment> {
        let PairingPolicy::SuperpagePrograms(superpage) = &mut self.pairing else { return None };
        if device.ram.buffer_kib > 0 || device.geometry.planes_per_die == 1 {
            return None;
        }
        let wanted = superpage.pad_at_once();
        Some(Adjustment {
            code: "padding".into(),
            section: "pairing".into(),
            key: "wait_us".into(),
            wanted: wanted.into(),
            used: 0.into(),
            message: format!("pages are padded at once in place of after {wanted} µs: this drive has no write buffer for them to wait in"),
        })
    }

    /// Parity takes its share of the capacity where it would leave less than a third of the drive's own spare space.
    fn fit_parity(&mut self, device: &mut Device) -> Option<Adjustment> {
        self.place.prepare(device).ok()?;
        let width = self.place.stripes()?.width();
        let without = device.logical_pages().div_ceil(device.geometry.planes().into()) as u32;
        let spare = |held: u32| usable_pages(device).saturating_sub(held);
        if spare(self.pages_held(device)) >= spare(without) / 3 {
            return None;
        }
        let gigabytes = |device: &Device| {
            let bytes = device.logical_pages() * u64::from(device.geometry.page_bytes);
            if bytes < 100_000_000_000 { format!("{:.2} GB", bytes as f64 / 1e9) } else { format!("{:.0} GB", bytes as f64 / 1e9) }
        };
        let (without, physical) = (device.logical_pages(), device.geometry.physical_pages());
        let held_without = gigabytes(device);
        // In whole hundredths of a percent of the physical pages.
        let share = (without * 10_000).div_ceil(physical) * u64::from(width - 1) / u64::from(width);
        device.set_logical_pages(physical * share / 10_000);
        Some(Adjustment {
            code: "parity_capacity".into(),
            section: "host".into(),
            key: "capacity_gb".into(),
            wanted: json!(device.gigabytes(without)),
            used: json!(device.host.capacity_gb),
            message: format!(
                "one page in {width} is parity: the drive holds {} under {}, and {held_without} without parity",
                gigabytes(device),
                self.name
            ),
        })
    }

    /// Where the open blocks of a plane would take all its spare ones, they take a quarter.
    fn fit_write_points(&mut self, device: &Device) -> Option<Adjustment> {
        let spare_blocks = usable_pages(device).saturating_sub(self.pages_held(device)) / device.geometry.pages_per_block;
        if self.place.late_bound() || self.gc.reserve_blocks.saturating_add(self.gc.write_points) < spare_blocks {
            return None;
        }
        self.write_points_at_most((spare_blocks / 4).saturating_sub(self.gc.reserve_blocks))
    }

    fn write_points_at_most(&mut self, most: u32) -> Option<Adjustment> {
        let (wanted, used) = (self.gc.write_points, most.max(1));
        if wanted <= used {
            return None;
        }
        self.gc.write_points = used;
        Some(Adjustment {
            code: "write_points".into(),
            section: "gc".into(),
            key: "write_points".into(),
            wanted: wanted.into(),
            used: used.into(),
            message: format!("each plane has {used} open blocks in place of {wanted}: there are spare blocks for no more"),
        })
    }

    /// Under a load that never pauses no channel falls quiet, and lowered thresholds leave no time to wait for that.
    fn fit_gate(&mut self) -> Option<Adjustment> {
        let waited = match &mut self.gc_gate {
            GcGatePolicy::Free(free) => free.start_at_once(),
            GcGatePolicy::Rotating(rotating) => rotating.start_at_once(),
            _ => false,
        };
        waited.then(|| Adjustment {
            code: "gc_gate".into(),
            section: "gc_gate".into(),
            key: "start".into(),
            wanted: "quiet_channel".into(),
            used: "immediate".into(),
            message: "GC does not wait for a quiet channel: its thresholds are lower, and under load no channel falls quiet".into(),
        })
    }

    /// A run whose GC would be urgent from the start begins where no GC is wanted.
    fn state_lifted(device: &mut Device, room: &Room, soft: u32) -> Adjustment {
        let wanted = device.state.free_percent;
        // Rounded up, so that no fewer pages are erased.
        let used = (room.percent(soft) * 100.0).ceil() / 100.0;
        device.state.free_percent = used;
        Adjustment {
            code: "starting_state".into(),
            section: "state".into(),
            key: "free_percent".into(),
            wanted: wanted.into(),
            used: used.into(),
            message: format!("the drive starts with {used} % of its pages erased in place of {wanted} %, with which GC would be urgent"),
        }
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
        let adjustment = |Threshold { key, wanted, used }| Adjustment {
            code: "gc_thresholds".into(),
            section: "gc_trigger".into(),
            key: key.into(),
            wanted,
            used,
            message: message.clone(),
        };
        changed.map(adjustment).collect()
    }

    /// Pages of each plane that the data of a full drive take, with their parity.
    fn pages_held(&mut self, device: &Device) -> u32 {
        match self.place.stripes() {
            Some(stripes) => stripes.rows(),
            None => device.logical_pages().div_ceil(device.geometry.planes().into()) as u32,
        }
    }

    fn room(&mut self, device: &Device) -> Room {
        let g = &device.geometry;
        let held = self.pages_held(device);
        // A page whose allocation is late-bound goes to whichever open block has room, and open blocks have theirs between the
        // thresholds.
        let (kept, least) = match (self.gc.reserve_blocks, self.gc.write_points) {
            (reserve, _) if self.place.late_bound() => (reserve, reserve.saturating_add(1)),
            (reserve, points) => (reserve.saturating_add(points), reserve.saturating_add(points)),
        };
        Room {
            plane: g.pages_per_plane(),
            block: g.pages_per_block,
            spare: usable_pages(device).saturating_sub(held).saturating_sub(kept.saturating_mul(g.pages_per_block)),
            least: least.saturating_mul(g.pages_per_block),
            at_start: erased_at_start(device, held),
        }
    }
}

/// Erased pages of a plane in which a run starts: those at which ageing holds it, or more if it does not write as many.
fn erased_at_start(device: &Device, pages_held: u32) -> u32 {
    let (plane, state) = (f64::from(device.geometry.pages_per_plane()), &device.state);
    let held = plane * state.free_percent / 100.0;
    if state.ageing != AgeingMethod::Overwrite {
        return held.round() as u32;
    }
    let live = (device.live_pages() as f64 / f64::from(device.geometry.planes())).min(pages_held.into());
    let written = live * (1.0 + f64::from(state.overwrite_percent) / 100.0);
    held.max(f64::from(usable_pages(device)) - written).round() as u32
}

/// Pages of a plane outside bad blocks.
fn usable_pages(device: &Device) -> u32 {
    (device.geometry.blocks_per_plane - device.bad_blocks_per_plane()) * device.geometry.pages_per_block
}
