//! What policies answer with.

use crate::units::{MS, Ns};
use schemars::JsonSchema;
use serde::Deserialize;

/// The most copybacks of a page that are distinguished.
pub const COPIES_MAX: u8 = 0x7f;
/// The most write points of a plane whose allocation is late-bound.
pub const WRITE_POINTS_MAX: u32 = u64::BITS;

/// Who asks for a page: GC may open the reserved blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimant {
    /// The host, directly or from the buffer.
    Host,
    /// Garbage collection.
    Gc,
}

/// Among which planes the place of a page is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// The plane that it has anyway.
    #[default]
    Plane,
    /// The planes of its die.
    Die,
    /// All planes of the drive.
    Drive,
}

/// Which of a plane's erased blocks is opened first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opens {
    /// The one that was erased first.
    #[default]
    ErasedFirst,
    /// The one that was erased least often; among equals, the one that was erased first.
    LeastWorn,
}

/// How much a plane wants a GC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Not at all.
    No,
    /// When it disturbs nobody.
    Soft,
    /// Urgently: the plane runs out of space.
    Hard,
}

impl Want {
    /// That of a plane with so much erased: none from `soft` on, and urgent below `hard`.
    #[inline]
    pub(crate) fn of(erased: u32, soft: u32, hard: u32) -> Self {
        if erased >= soft {
            Self::No
        } else if erased >= hard {
            Self::Soft
        } else {
            Self::Hard
        }
    }
}

/// Whether a GC that is wanted may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It may.
    Open,
    /// Not now; ask again when the channel falls quiet or a GC ends.
    Closed,
    /// Not now; ask again at this time as well.
    ClosedUntil(Ns),
}

/// What a GC blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The plane.
    Plane,
    /// The die: the plane and its siblings.
    Die,
    /// The die and its channel.
    Channel,
    /// The whole drive.
    Controller,
}

/// What a GC locks, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockPlan {
    /// What is locked while pages are moved. During the erase only die or plane stay locked.
    pub scope: Scope,
    /// Give everything up after each page and compete for it again.
    pub release_each_page: bool,
}

/// A page for which a write point is sought that brings the planes of a die to one page offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aligned {
    /// Those that GC moves into the plane. Asked when a GC begins, for all its pages, and for each that another plane's GC sends.
    Gc,
    /// A program of the host's that starts in the plane.
    Host,
    /// A program of the host's that would join one at an offset in another plane. If its block is not there yet, the pages up to the
    /// offset are skipped.
    Partner {
        /// The offset.
        offset: u32,
        /// The other program is one of GC.
        with_gc: bool,
    },
}

/// Who writes a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The host, directly or from the buffer.
    Host,
    /// GC.
    Gc,
}

/// Which page a write prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Any.
    Any,
    /// One of the fastest that a write point offers; rather another than to wait.
    Fast,
    /// One of the slowest that a write point offers; rather another than to wait.
    Slow,
    /// One that brings a write point nearer to fast pages. It waits for such a page while there is one, be it on a busy die.
    Unparked(Parking),
}

/// How a read whose plane or channel a GC locks is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAnswer {
    /// Like any other: it waits, and nobody has decided so.
    Direct,
    /// It waits for the GC, by decision.
    Wait,
    /// From the other pages of its stripe.
    Reconstruct,
}

/// When a read that waits for a GC is asked about again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskedAgain {
    /// Never: what was decided when it came stays.
    Never,
    /// As a GC starts that locks what it waits for.
    #[default]
    Starts,
    /// Then, and as a GC ends that had locked a page of its stripe.
    StartsAndEnds,
}

/// Where a write point is parked in idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parking {
    /// On any fast page.
    Fast,
    /// On a fast page that another of its block follows; on any fast page where no block has two in a row.
    FastPair,
}

/// When the operating system switches between the burst mode and the sustained one, in ms since counting began, in rising order.
/// Without any, the mode is the sustained one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ModeSwitches(pub Vec<u64>);

impl ModeSwitches {
    /// Whether the mode is the sustained one, so long after counting began.
    #[inline]
    pub fn is_sustained(&self, counted_ns: Ns) -> bool {
        let Self(switches_ms) = self;
        let passed = switches_ms.partition_point(|&ms| ms * MS <= counted_ns);
        switches_ms.is_empty() || !passed.is_multiple_of(2)
    }
}

/// What a technique of pairing makes operations do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairingTraits {
    /// Waiting operations may join one that starts.
    pub active: bool,
    /// For how long a host program waits until every plane of its die has a program; nothing if it starts alone.
    pub assembly_ns: Option<Ns>,
    /// For how long a GC program waits likewise, if the programs of GCs wait for each other as well.
    pub gc_assembly_ns: Option<Ns>,
    /// Operations of the host may be paired with those of GC. Then it is asked about reads of GCs too.
    pub with_gc: bool,
    /// A read that starts serves the other waiting reads of its page.
    pub merges_reads: bool,
    /// It says which write points take pages, so that the planes of a die come to one page offset.
    pub aligns: bool,
}

impl Default for PairingTraits {
    fn default() -> Self {
        Self { active: true, assembly_ns: None, gc_assembly_ns: None, with_gc: false, merges_reads: false, aligns: false }
    }
}
