//! Thresholds of GC, and the space of a plane that they must fit.

use serde_json::Value;

/// The space of each plane beyond what a full drive holds, in pages.
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
    /// Erased pages in which a run starts.
    pub at_start: u32,
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

    /// The thresholds that this drive has room for: those that are wanted, where the run starts with as much erased or a third of
    /// the spare space is enough for them; else a third and a sixth of it. GC is never urgent later than it must be. Those that
    /// contradict each other are left as they are.
    pub fn fit(&self, wanted: Thresholds) -> Thresholds {
        if wanted.hard >= wanted.soft {
            return wanted;
        }
        let fits = wanted.soft <= self.at_start.max(self.spare / 3);
        let Thresholds { soft, hard } =
            if fits { wanted } else { Thresholds { soft: self.spare / 3, hard: wanted.hard.min(self.spare / 6) } };
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
