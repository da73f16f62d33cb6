//! What of a design follows the drive: numbers that a paper chose for its own drive, where another one has no room for them.
//!
//! A design keeps its numbers where they fit. Else they follow the drive's spare space, and each change is named. Nothing here
//! makes one technique of another, but for a gate that lowered thresholds would keep closed; what a drive can't do at all is left
//! as it is, for `prepare` to refuse.

use crate::design::Design;
use crate::device::{AgeingMethod, Device};
use crate::policy::answers::Reach;
use crate::policy::interface::Place;
use crate::policy::thresholds::{Room, Threshold};
use crate::techniques::{GcGatePolicy, GcTriggerPolicy, PairingPolicy, SuspendPolicy};
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
        let mut adjusted = Vec::new();
        adjusted.extend(self.fit_flash(device));
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
        self.start.live_pages = mapped_pages;
        let mut adjusted = Vec::new();
        if self.thresholds_are_the_users() || self.place.prepare(device).is_err() {
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

    /// Somebody wrote the thresholds of GC for this run: they are what is asked about, and stay as they are.
    fn thresholds_are_the_users(&self) -> bool {
        self.users_threshold().is_some()
    }

    /// The first of the thresholds of GC that somebody wrote for this run.
    pub(super) fn users_threshold(&self) -> Option<&'static str> {
        let given = |document: &Document| THRESHOLDS.into_iter().find(|key| document.gives("gc_trigger", key));
        let (document, key) = self.files.iter().rev().find_map(|document| Some((document, given(document)?)))?;
        (!document.is_built_in()).then_some(key)
    }

    /// A steady state that no theory knows is written.
    fn fit_ageing(&self, device: &mut Device) -> Option<Adjustment> {
        let section = self.without_theory().filter(|_| device.state.ageing == AgeingMethod::Statistical)?;
        device.state.ageing = AgeingMethod::Overwrite;
        Some(Adjustment {
            code: "starting_state".into(),
            section: "state".into(),
            key: "ageing".into(),
            wanted: "statistical".into(),
            used: "overwrite".into(),
            message: format!("the drive is aged by writing: no theory knows the steady state under [{section}] {}", self.named(section)),
        })
    }

    /// What the flash lacks, and the design can do without.
    fn fit_flash(&self, device: &Device) -> Vec<Adjustment> {
        let mut adjusted = Vec::new();
        let mut without = |section: &str, wanted: &str, message: &str| {
            adjusted.push(Adjustment {
                code: "flash".into(),
                section: section.into(),
                key: "policy".into(),
                wanted: wanted.into(),
                used: if section == "suspend" { "never" } else { "none" }.into(),
                message: message.into(),
            });
        };
        if matches!(&self.pairing, PairingPolicy::SameOffset(pairing) if pairing.does_without(device)) {
            without("pairing", "same_offset", "planes are programmed one by one: this flash has no multi-plane commands");
        }
        if matches!(&self.suspend, SuspendPolicy::EraseSuspension(suspend) if suspend.does_without(device)) {
            without("suspend", "erase_suspension", "nothing is suspended for reads: the device gives no [timing] `suspend_ns`");
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
        if spare(pages_held(self, device)) >= spare(without) / 3 {
            return None;
        }
        let gigabytes = |device: &Device| {
            let bytes = device.logical_pages() * u64::from(device.geometry.unit_bytes());
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
    fn fit_gate(&mut self) -> Vec<Adjustment> {
        const QUIET: &str = "a quiet channel: its thresholds are lower, and under load no channel falls quiet";
        const OTHERS: &str = "other GCs of its channel: its thresholds are lower, and leave no time for that";
        let (for_quiet, for_others) = match &mut self.gc_gate {
            GcGatePolicy::Free(free) => free.start_at_once(),
            GcGatePolicy::Rotating(rotating) => (rotating.start_at_once(), false),
            _ => (false, false),
        };
        let adjusted = |key: &str, wanted: Value, used: Value, what: &str| Adjustment {
            code: "gc_gate".into(),
            section: "gc_gate".into(),
            key: key.into(),
            wanted,
            used,
            message: format!("GC does not wait for {what}"),
        };
        let quiet = for_quiet.then(|| adjusted("start", "quiet_channel".into(), "immediate".into(), QUIET));
        let others = for_others.then(|| adjusted("one_per_channel", true.into(), false.into(), OTHERS));
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
