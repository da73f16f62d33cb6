//! What a design makes a drive do. Asked of its techniques once, so that the drive looks here and not at them.

use crate::units::Ns;

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
    /// It says which write points take pages, so that the planes of a die come to one page offset.
    pub aligns: bool,
}

impl Default for PairingTraits {
    fn default() -> Self {
        Self { active: true, assembly_ns: None, gc_assembly_ns: None, with_gc: false, aligns: false }
    }
}

/// What a design makes a drive do, for as long as the drive is there.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// The plane of a page that is written is chosen among several.
    pub dynamic: bool,
    /// Programs have no place until they are issued, and GC is single operations.
    pub late_bound: bool,
    /// What pairing makes operations do.
    pub pairing: PairingTraits,
    /// Programs of a die wait for those of its other planes.
    pub assembles: bool,
    /// So do those of GCs.
    pub assembles_gc: bool,
    /// `page_choice` does, or the write points take turns.
    pub chooses: bool,
    /// Idle time returns write points to fast pages, by GC that ends when they are there.
    pub returns_to_fast: bool,
    /// The work of the dies is measured.
    pub measures: bool,
    /// GC may move pages to other planes.
    pub gc_across: bool,
    /// The pages that a GC may have read and not yet programmed.
    pub gc_reads_ahead: u32,
    /// GC data cross the channel instead of staying in the plane.
    pub gc_through_controller: bool,
    /// GC is ideal: it takes no time.
    pub gc_ideal: bool,
    /// GC goes on for several blocks until it has enough erased.
    pub gc_in_cycles: bool,
    /// The planes of a die are in a cycle of GC together.
    pub gc_by_die: bool,
    /// From a request's arrival to its deadline; `Ns::MAX` if it has none.
    pub deadline_ns: Ns,
    /// Stripes may move for the sake of wear.
    pub levels_wear: bool,
    /// `suspend` may answer that something makes way.
    pub suspends: bool,
    /// Reads behind GCs are asked about.
    pub plans_reads: bool,
    /// Dies scrub while they are idle.
    pub scrubs: bool,
}
