//! What a scrubber keeps.

use crate::ftl::walk::Unseen;
use crate::ids::{BlockIx, NONE, Ppn};

/// The scrubbers of all dies.
#[derive(Debug, Default)]
pub(crate) struct Scrubbing {
    /// One for each die; none where nothing is scrubbed.
    pub(super) dies: Vec<Scrubber>,
    /// A scratch list, kept so that nothing is allocated each time.
    pub(super) suspects: Vec<BlockIx>,
    /// Some of them wait for the next request.
    pub(super) is_due: bool,
}

impl Scrubbing {
    /// Some scrubbers wait for the next request.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_due
    }
}

/// The scrubber of a die.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scrubber {
    /// The pages that it has not looked at of the block that it looks through.
    pub(super) unseen: Unseen,
    /// Blocks left in its round, and the requests that there had been when that began.
    pub(super) left: usize,
    pub(super) requests_then: u64,
    /// A timer is set for it, or an operation of it is under way.
    pub(super) awake: bool,
    /// It sleeps although blocks are suspect: the next request wakes it.
    pub(super) due: bool,
    /// Reads of the rest of the page's stripe that have not ended, and whether one of them could not be corrected.
    pub(super) pending: u32,
    pub(super) is_lost: bool,
    /// The page under way, and how often its block had been erased when it was read.
    pub(super) ppn: Ppn,
    pub(super) erases: u32,
    /// Where the rest of its stripe lay when reading it began.
    pub(super) stripe_then: u64,
}

impl Scrubber {
    pub(super) const ASLEEP: Self = Self {
        unseen: Unseen::NOTHING,
        left: 0,
        requests_then: u64::MAX,
        awake: false,
        due: false,
        pending: 0,
        is_lost: false,
        ppn: NONE,
        erases: 0,
        stripe_then: 0,
    };
}
