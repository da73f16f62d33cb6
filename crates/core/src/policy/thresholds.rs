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

    /// Whether a drive can stay at a threshold: what one victim frees must fit beside it, or its blocks would hold nothing stale.
    pub fn holds(&self, soft: u32) -> bool {
        soft.saturating_add(self.block) <= self.spare
    }

    /// The thresholds that this drive has room for: those that are wanted, if it can stay at them; else a third and a sixth of the
    /// spare space. GC is never urgent later than it must be. Equal ones stay equal, those that contradict each other as they are.
    pub fn fit(&self, wanted: Thresholds) -> Thresholds {
        if wanted.hard > wanted.soft {
            return wanted;
        }
        let Thresholds { soft, hard } =
            if self.holds(wanted.soft) { wanted } else { Thresholds { soft: self.spare / 3, hard: wanted.hard.min(self.spare / 6) } };
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
