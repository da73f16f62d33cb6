//! Planes that take turns in one of the orders of the static layout.

use crate::policy::prelude::*;

/// Planes in an order, and whose turn is next.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) planes: Vec<PlaneIx>,
    /// An index into `planes`.
    next: usize,
}

impl Turns {
    /// The planes from the next turn on, each with its index.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = (usize, PlaneIx)> + use<'_> {
        let (before, after) = self.planes.split_at(self.next);
        let indexed = |from: usize| move |(index, &plane): (usize, &PlaneIx)| (from + index, plane);
        after.iter().enumerate().map(indexed(self.next)).chain(before.iter().enumerate().map(indexed(0)))
    }

    /// The index of the plane whose turn is next.
    pub(super) fn next(&self) -> usize {
        self.next
    }

    /// The plane of an index has had its turn.
    pub(super) fn take(&mut self, index: usize) -> PlaneIx {
        self.next = if index + 1 < self.planes.len() { index + 1 } else { 0 };
        self.planes[index]
    }

    /// The plane for which a key is the least.
    pub(super) fn least(&self, key: impl Fn(PlaneIx) -> u32) -> PlaneIx {
        self.planes.iter().copied().min_by_key(|&plane| key(plane)).expect("a drive has planes")
    }

    /// The turn, for an image.
    pub(super) fn save(&self) -> Vec<u8> {
        (self.next as u32).to_le_bytes().to_vec()
    }

    /// Takes back the turn that a technique of this name has saved.
    ///
    /// # Errors
    /// Bytes that it never gave.
    pub(super) fn restore(&mut self, name: &str, state: &[u8]) -> Result<(), String> {
        let state = state.try_into().map_err(|_| format!("{name} keeps 4 bytes, not {}", state.len()))?;
        let (turn, count) = (u32::from_le_bytes(state) as usize, self.planes.len());
        if turn >= count {
            return Err(format!("{name} keeps the turn {turn} of {count}"));
        }
        self.next = turn;
        Ok(())
    }
}
