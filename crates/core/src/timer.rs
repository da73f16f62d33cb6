//! What is to be done at a time that belongs to no resource, in the order of these times.

use crate::units::Ns;
use std::collections::BTreeMap;

/// What a tier does when a timer rings, with the number that it set it for. Returns whether the timer still mattered.
pub(crate) type Rings<E> = fn(&mut E, u32) -> bool;

/// Pending timers. Those of one time ring in the order in which they were set.
pub(crate) struct Timers<E> {
    pending: BTreeMap<(Ns, u64), (Rings<E>, u32)>,
    set: u64,
}

impl<E> Timers<E> {
    /// None yet.
    pub fn new() -> Self {
        Self { pending: BTreeMap::new(), set: 0 }
    }

    pub fn set(&mut self, at: Ns, rings: Rings<E>, of: u32) {
        self.set += 1;
        self.pending.insert((at, self.set), (rings, of));
    }

    /// When the next one rings.
    pub fn next_at(&self) -> Option<Ns> {
        self.pending.first_key_value().map(|(&(at, _), _)| at)
    }

    /// Takes the next one.
    pub fn take(&mut self) -> Option<(Rings<E>, u32)> {
        self.pending.pop_first().map(|(_, timer)| timer)
    }

    pub fn clear(&mut self) {
        self.pending.clear();
    }
}
