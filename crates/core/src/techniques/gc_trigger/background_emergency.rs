//! # Background and emergency thresholds
//!
//! **What it does.** A plane wants a GC when its erased blocks fall below the background threshold, and wants it urgently
//! below the emergency threshold. Blocks with pages in them don't count as erased, however few.
//!
//! **Source.** The Harey Tortoise, section 3.1: both thresholds are numbers of erased blocks of a chip. The paper gives no
//! values; the defaults leave 8 blocks for emergencies and room for 32 write points and 24 blocks in between.
//!
//! **Parameters.** `background_blocks` (default 64), `emergency_blocks` (default 8): erased blocks of what `of` says, a `chip`
//! (default) or a `die`, for where the dies are what the paper calls chips. Its planes have them in equal shares, rounded up,
//! because a plane opens no blocks but its own. Background must be above emergency, and below the blocks that live
//! data leave. On a drive that has no room for them, the two follow its spare space. `stop_above_blocks` (default 0): GC that has
//! begun in a plane goes on until so many blocks of it more are erased.
//!
//! **Cost.** Blocks held erased are spare space that victims don't have: a higher background threshold means more copies.

use crate::policy::prelude::*;

/// What has the thresholds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// A chip with all its dies.
    #[default]
    Chip,
    /// Each die.
    Die,
}

/// Thresholds of erased blocks for each chip or die.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BackgroundEmergency {
    background_blocks: u32,
    emergency_blocks: u32,
    of: Of,
    stop_above_blocks: u32,
    /// The shares of a plane.
    #[serde(skip)]
    background_share: u32,
    #[serde(skip)]
    emergency_share: u32,
    #[serde(skip)]
    emergency_pages: u32,
}

impl Default for BackgroundEmergency {
    fn default() -> Self {
        Self::new(64, 8)
    }
}

impl BackgroundEmergency {
    /// Thresholds in erased blocks of a chip.
    pub fn new(background_blocks: u32, emergency_blocks: u32) -> Self {
        Self {
            background_blocks,
            emergency_blocks,
            of: Of::Chip,
            stop_above_blocks: 0,
            background_share: 0,
            emergency_share: 0,
            emergency_pages: 0,
        }
    }

    /// The same thresholds of a chip or of a die.
    pub fn of(self, of: Of) -> Self {
        Self { of, ..self }
    }

    /// The same, in cycles that go on until so many blocks of a plane more are erased.
    #[cfg(test)]
    pub(crate) fn stop_above(self, stop_above_blocks: u32) -> Self {
        Self { stop_above_blocks, ..self }
    }

    /// The planes that share the thresholds.
    fn planes(&self, geometry: &Geometry) -> u32 {
        geometry.planes_per_die * if self.of == Of::Die { 1 } else { geometry.dies_per_chip }
    }

    /// Lets the thresholds follow a drive's space. Returns both in blocks, and in pages of a plane as wanted and as used. What is
    /// wrong on any drive is left for `prepare`.
    pub(crate) fn fit(&mut self, room: &Room, device: &Device) -> ([Threshold; 2], Thresholds, Thresholds) {
        let planes = self.planes(&device.geometry);
        let pages = |blocks: u32| blocks.div_ceil(planes).saturating_mul(room.block);
        let wanted = Thresholds { soft: pages(self.background_blocks), hard: pages(self.emergency_blocks) };
        // As many blocks of a plane contradict each other here, and are refused as they were given.
        let used = if wanted.soft == wanted.hard { wanted } else { room.fit(wanted) };
        let whole = |pages: u32| pages.div_ceil(room.block).saturating_mul(room.block);
        let used = Thresholds { soft: whole(used.soft), hard: whole(used.hard) };
        let fitted = |key: &'static str, blocks: &mut u32, wanted: u32, used: u32| {
            let fitting = if wanted == used { *blocks } else { (used / room.block).saturating_mul(planes) };
            Threshold::replace(key, blocks, fitting)
        };
        let background = fitted("background_blocks", &mut self.background_blocks, wanted.soft, used.soft);
        let emergency = fitted("emergency_blocks", &mut self.emergency_blocks, wanted.hard, used.hard);
        ([background, emergency], wanted, used)
    }
}

impl GcTrigger for BackgroundEmergency {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let g = &device.geometry;
        let planes = self.planes(g);
        self.background_share = self.background_blocks.div_ceil(planes);
        self.emergency_share = self.emergency_blocks.div_ceil(planes);
        // A plane can't have more erased beside its live data, and its GC would never end.
        let spare = (g.blocks_per_plane - device.bad_blocks_per_plane()).saturating_sub(device.live_blocks_per_plane());
        if self.background_share <= self.emergency_share || self.background_share.saturating_add(self.stop_above_blocks) >= spare {
            let found = format!(
                "is {} and `emergency_blocks` {}: {} and {} erased blocks of each plane on this device",
                self.background_blocks, self.emergency_blocks, self.background_share, self.emergency_share
            );
            let fault = Fault::new("gc_trigger", "background_blocks", found).with("gc_trigger", "emergency_blocks");
            let fault = fault.with("gc_trigger", "stop_above_blocks").with("geometry", "blocks_per_plane");
            let allowed = format!("emergency < background, and background plus `stop_above_blocks` < {spare}, the spare blocks of a plane");
            return Err(fault.allowed(allowed).into());
        }
        self.emergency_pages = g.pages_in(self.emergency_share);
        Ok(())
    }

    fn urgent_below(&mut self) -> Option<(&'static str, u32)> {
        // So few erased pages can't make more erased blocks.
        Some(("emergency_blocks", self.emergency_pages))
    }

    fn levels(&mut self) -> Option<CycleLevels> {
        let (start, stop) = (self.background_share, self.background_share + self.stop_above_blocks);
        Some(CycleLevels { start: StartLevel::PlaneBlocks(start), stop: StartLevel::PlaneBlocks(stop) })
    }

    fn thresholds(&mut self) -> Option<(u32, u32)> {
        Some((self.background_share, self.emergency_share))
    }

    #[inline]
    fn want(&mut self, view: View<'_>, pool: Pool) -> Want {
        let erased = view.tables().erased_groups(pool);
        let stop_above = if view.in_gc_cycle(pool) { self.stop_above_blocks } else { 0 };
        Want::of(erased, self.background_share + stop_above, self.emergency_share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Claimant;
    use crate::testkit::{tiny_device, tiny_state};

    #[test]
    fn a_block_counts_until_its_first_page_is_taken() {
        let device = tiny_device();
        let mut state = tiny_state();
        let mut trigger = BackgroundEmergency::new(3, 2);
        trigger.prepare(&device).unwrap();
        // Eight blocks of four pages: the first page of a block takes it out of the erased ones.
        for taken in 0..32 {
            let erased = 8 - (taken as u32).div_ceil(4);
            let expected = if erased >= 3 {
                Want::No
            } else if erased >= 2 {
                Want::Soft
            } else {
                Want::Hard
            };
            assert_eq!(trigger.want(state.view(), Pool(0)), expected, "{taken} pages taken");
            state.ftl.tables.take(0, 0, Claimant::Gc).unwrap();
        }
    }

    #[test]
    fn the_planes_of_a_chip_share_its_thresholds() {
        let mut device = tiny_device();
        device.geometry.planes_per_die = 2;
        let mut trigger = BackgroundEmergency::new(5, 4);
        trigger.prepare(&device).unwrap();
        assert_eq!((trigger.background_share, trigger.emergency_share), (3, 2));
        assert_eq!(trigger.urgent_below(), Some(("emergency_blocks", 8)));
        device.geometry.dies_per_chip = 2;
        for (of, shares) in [(Of::Chip, (2, 1)), (Of::Die, (3, 2))] {
            let mut trigger = BackgroundEmergency::new(5, 4).of(of);
            trigger.prepare(&device).unwrap();
            assert_eq!(trigger.thresholds(), Some(shares));
        }
    }

    #[test]
    fn thresholds_out_of_order_or_beyond_the_spare_blocks_are_refused() {
        // Of eight blocks four are for live data.
        for (background, emergency) in [(3, 3), (4, 2)] {
            let error = BackgroundEmergency::new(background, emergency).prepare(&tiny_device()).unwrap_err();
            assert!(error.to_string().contains("`background_blocks`") && error.to_string().contains("`emergency_blocks`"), "{error}");
        }
        BackgroundEmergency::new(3, 2).prepare(&tiny_device()).unwrap();
    }
}
