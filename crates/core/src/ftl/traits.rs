//! What a design makes the translation layer and GC do.

use crate::units::Ns;

/// What a design makes the translation layer and GC do, for as long as the drive is there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FtlTraits {
    /// The plane of a page that is written is chosen among several.
    pub dynamic: bool,
    /// For how long a program waits until every plane of its die has one: those of the host, and those of GCs. 0 where none does.
    pub assembly_ns: [Ns; 2],
    /// `pairing` says which write points take pages, so that the planes of a die come to one page offset.
    pub aligns: bool,
    /// `page_choice` chooses among the write points of a plane, or these take turns.
    pub chooses: bool,
    /// Idle time returns write points to fast pages, by GC that ends when they are there.
    pub returns_to_fast: bool,
    /// The work of the dies is measured.
    pub measures: bool,
    /// `order` may hold back GC of single operations.
    pub holds_gc: bool,
    /// `gc_gate` is asked again when any channel falls quiet.
    pub gate_asks_of_group: bool,
    /// Operations of the host begin in the order in which they came.
    pub host_in_order: bool,
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
}
