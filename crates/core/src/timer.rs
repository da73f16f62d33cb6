//! What is to be done at a time that belongs to no resource, in the order of these times.

use crate::units::Ns;
use std::collections::VecDeque;

/// What a tier does when a timer rings, with the number that it set it for. Returns whether the timer still mattered.
pub(crate) type Rings<E> = fn(&mut E, u32) -> bool;

/// Pending timers in the order in which they ring: those of one time in the order in which they were set.
pub(crate) struct Timers<E> {
    pending: VecDeque<(Ns, Rings<E>, u32)>,
}

impl<E> Timers<E> {
    /// None yet.
    pub fn new() -> Self {
        Self { pending: VecDeque::new() }
    }

    /// Sets one.
    pub fn set(&mut self, at: Ns, rings: Rings<E>, of: u32) {
        let place = self.pending.partition_point(|&(other, ..)| other <= at);
        self.pending.insert(place, (at, rings, of));
    }

    /// When the next one rings.
    pub fn next_at(&self) -> Option<Ns> {
        self.pending.front().map(|&(at, ..)| at)
    }

    /// Takes the next one.
    pub fn take(&mut self) -> Option<(Rings<E>, u32)> {
        self.pending.pop_front().map(|(_, rings, of)| (rings, of))
    }

    pub fn clear(&mut self) {
        self.pending.clear();
    }
}
