//! What a design makes the flash do.

/// What a design makes the flash do, for as long as the drive is there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlashTraits {
    /// Waiting operations may join one that starts.
    pub pairs: bool,
    /// Operations that come in one moment start when all of them wait, so that those of one die can join.
    pub starts_together: bool,
    /// Those of the host may join those of GC. Then reads of GCs are asked about too.
    pub pairs_with_gc: bool,
    /// A read that starts serves the other waiting reads of its page.
    pub merges_reads: bool,
    /// Programs have no place until they are issued, and GC is single operations.
    pub late_bound: bool,
    /// Programs of a die wait for those of its other planes.
    pub assembles: bool,
    /// So do those of GCs, which then lock their die and channels together.
    pub assembles_gc: bool,
    /// `suspend` may answer that something makes way.
    pub suspends: bool,
    /// Programs, and GCs of other planes, go on beside a suspended erase.
    pub serves_programs: bool,
    /// Programs of several planes may make way.
    pub cuts_multi_plane: bool,
    /// Dies that can take more work than before are noted for `place`.
    pub notes_relieved: bool,
    /// The erases of a die's planes wait for each other, and start as one.
    pub joins_erases: bool,
}
