//! What is to be done at a time that belongs to no resource, in the order of these times.

use crate::ids::{DieIx, Pool};
use crate::units::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something to be done at a time that belongs to no resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A job has computed.
    Job(u32),
    /// The new parity of a stripe is computed.
    Parity(u32),
    /// A gate wants to be asked again for a pool.
    Gate(Pool),
    /// The programs of a die have waited long enough for those of its other planes.
    Assembly(DieIx),
    /// The same for the programs of its GCs.
    AssemblyGc(DieIx),
    /// The pause of a die's scrubber is over.
    Scrub(DieIx),
    /// The patience of the move that began at this time is over.
    Move(Ns),
}

/// Pending timers. Those of one time ring in the order in which they were set.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    pending: BinaryHeap<Reverse<(Ns, u64, Timer)>>,
    set: u64,
}

impl Timers {
    pub fn set(&mut self, at: Ns, timer: Timer) {
        self.set += 1;
        self.pending.push(Reverse((at, self.set, timer)));
    }

    /// When the next one rings.
    pub fn next_at(&self) -> Option<Ns> {
        self.pending.peek().map(|&Reverse((at, ..))| at)
    }

    /// Takes the next one.
    pub fn take(&mut self) -> Option<Timer> {
        self.pending.pop().map(|Reverse((_, _, timer))| timer)
    }

    pub fn clear(&mut self) {
        self.pending.clear();
    }
}
