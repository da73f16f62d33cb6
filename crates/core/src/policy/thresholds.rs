//! Thresholds of GC, the space of a plane that they must fit, and where runs start.

use crate::device::Geometry;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The erased space below which a design wants a GC at all. Runs start between it and what one victim frees above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartLevel {
    /// Erased pages of each plane, open blocks included.
    PlanePages(u32),
    /// Erased blocks of each plane, none of their pages taken.
    PlaneBlocks(u32),
    /// Erased pages of each die, as the mean of its planes.
    DiePages(u32),
}

/// The erased space below which a cycle of GC begins, and that at which it ends. They are one where each block is asked for anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CycleLevels {
    /// Where a cycle begins.
    pub start: StartLevel,
    /// Where it ends: it goes on below this.
    pub stop: StartLevel,
}

impl CycleLevels {
    /// A cycle that begins below a level and goes on until so many blocks more are erased, of each plane or in all of a die.
    pub fn above(start: StartLevel, blocks: u32, geometry: &Geometry) -> Self {
        let pages = geometry.pages_in(blocks);
        let stop = match start {
            StartLevel::PlanePages(from) => StartLevel::PlanePages(from.saturating_add(pages)),
            StartLevel::DiePages(from) => StartLevel::DiePages(from.saturating_add(pages.div_ceil(geometry.planes_per_die))),
            StartLevel::PlaneBlocks(from) => StartLevel::PlaneBlocks(from.saturating_add(blocks)),
        };
        Self { start, stop }
    }

    /// Whether the planes of a die are in a cycle together.
    pub fn by_die(self) -> bool {
        matches!(self.start, StartLevel::DiePages(_))
    }

    /// Whether a cycle goes on beyond where it begins.
    pub fn is_one_block(self) -> bool {
        self.start == self.stop
    }
}

impl StartLevel {
    /// Erased pages of a plane.
    pub fn pages(self, geometry: &Geometry) -> u32 {
        match self {
            Self::PlanePages(pages) | Self::DiePages(pages) => pages,
            Self::PlaneBlocks(blocks) => geometry.pages_in(blocks),
        }
    }
}

/// The space of each plane beyond its live data, in pages.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Pages in a plane.
    pub plane: u32,
    /// Pages in a block.
    pub block: u32,
    /// Spare pages after parity, bad blocks, GC's reserve and open blocks.
    pub spare: u32,
    /// Erased pages below which a plane must be urgent, or nothing would ever free it.
    pub least: u32,
}

/// GC starts below `soft` erased pages of a plane and is urgent below `hard`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Erased pages.
    pub soft: u32,
    /// Erased pages.
    pub hard: u32,
}

impl Room {
    /// A share of the plane, in percent.
    pub(crate) fn percent(&self, pages: u32) -> f64 {
        f64::from(pages) * 100.0 / f64::from(self.plane)
    }

    /// The thresholds that this drive uses. The wanted ones are used where the space beyond them, for stale pages, is at least two
    /// thirds of the upper one, and a block. With less spare space the upper one falls page by page, but not below a third of
    /// the spare space. So more spare space never leaves less for stale pages. The urgent one keeps its share of the upper one,
    /// or half of it where its share is less. GC is never urgent later than it must be. Thresholds that contradict each other stay.
    pub fn fit(&self, wanted: Thresholds) -> Thresholds {
        if wanted.hard > wanted.soft {
            return wanted;
        }
        let two_thirds = |pages: u32| pages - pages / 3;
        let stale = two_thirds(wanted.soft).max(self.block).min(two_thirds(self.spare));
        let soft = wanted.soft.min(self.spare - stale);
        let share = u64::from(soft) * u64::from(wanted.hard) / u64::from(wanted.soft.max(1));
        let hard = wanted.hard.min((share as u32).max(soft / 2));
        if wanted.hard == wanted.soft {
            let both = soft.max(self.least);
            return Thresholds { soft: both, hard: both };
        }
        let hard = hard.max(self.least);
        Thresholds { soft: if soft > hard { soft } else { hard.saturating_add(self.block) }, hard }
    }
}

/// A threshold of GC in the unit of its key: asked for, and used.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Its key.
    pub key: &'static str,
    /// Asked for.
    pub wanted: Value,
    /// Used.
    pub used: Value,
}

impl Threshold {
    /// Puts another in the place of the one that was asked for.
    pub(crate) fn replace<T: Copy + Into<Value>>(key: &'static str, threshold: &mut T, used: T) -> Self {
        Self { key, wanted: std::mem::replace(threshold, used).into(), used: used.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A drive with so many spare pages in a plane of 4096, in blocks of 64, that needs no least.
    fn fit(spare: u32, wanted: Thresholds) -> Thresholds {
        Room { plane: 4096, block: 64, spare, least: 0 }.fit(wanted)
    }

    #[test]
    fn thresholds_fall_where_less_than_two_thirds_of_the_upper_one_are_left_for_stale_pages() {
        let wanted = Thresholds { soft: 1229, hard: 410 };
        for (spare, soft, hard) in
            [(2049, 1229, 410), (2048, 1228, 410), (1640, 820, 410), (1500, 680, 340), (1229, 409, 204), (900, 300, 150)]
        {
            assert_eq!(fit(spare, wanted), Thresholds { soft, hard }, "{spare}");
        }
    }

    #[test]
    fn a_threshold_below_a_block_leaves_a_block_for_stale_pages() {
        let wanted = Thresholds { soft: 40, hard: 30 };
        for (spare, soft, hard) in [(104, 40, 30), (103, 39, 29), (97, 33, 24), (96, 32, 24), (60, 20, 15)] {
            assert_eq!(fit(spare, wanted), Thresholds { soft, hard }, "{spare}");
        }
    }

    proptest! {
        #[test]
        fn more_spare_space_lowers_no_threshold_and_leaves_no_less_for_stale_pages(
            spare in 3..4096u32, more in 0..200u32, soft in 1..3000u32, hard_percent in 0..=100u32
        ) {
            let wanted = Thresholds { soft, hard: soft * hard_percent / 100 };
            let (before, after) = (fit(spare, wanted), fit(spare + more, wanted));
            prop_assert!(before.soft <= after.soft && before.hard <= after.hard, "{before:?}, {after:?}");
            prop_assert!(spare - before.soft <= spare + more - after.soft, "{before:?}, {after:?}");
            prop_assert!(before.hard < before.soft || wanted.hard == wanted.soft, "{before:?}");
        }
    }
}
