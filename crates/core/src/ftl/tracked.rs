//! Tables that note which of their entries changed last, so that copies of them can follow.

use std::ops::{Deref, DerefMut, Index, IndexMut, Range};
use std::slice::SliceIndex;

/// So many changes are noted: more than there are between two questions about victims.
const RECENT: usize = 4096;

/// A table whose changes are noted, if that is asked for.
#[derive(Debug, Default)]
pub struct Tracked<T> {
    values: Vec<T>,
    /// The entries that changed last, the change of number `n` at `n % RECENT`; empty if nobody asks for them.
    recent: Vec<u32>,
    changes: u64,
}

impl<T> Tracked<T> {
    /// From now on changes are noted.
    pub(super) fn track(&mut self) {
        self.recent = vec![0; RECENT];
    }

    /// Takes the place of another table, of which nothing is known any more by those who followed it.
    pub(super) fn follow(&mut self, other: &Self) {
        self.recent.clone_from(&other.recent);
        self.changes = other.changes;
        self.note_all();
    }

    /// How many changes there were.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The entries that changed after the first `seen` changes, some of them several times. `None`: any may have.
    pub fn changed_since(&self, seen: u64) -> Option<impl Iterator<Item = usize>> {
        let known = self.changes.checked_sub(seen).is_some_and(|since| since <= self.recent.len() as u64) && !self.recent.is_empty();
        known.then(|| (seen..self.changes).map(|change| self.recent[change as usize % RECENT] as usize))
    }

    #[inline(always)]
    fn note(&mut self, index: usize) {
        if !self.recent.is_empty() {
            self.note_tracked(index);
        }
    }

    #[cold]
    fn note_tracked(&mut self, index: usize) {
        self.recent[self.changes as usize % RECENT] = index as u32;
        self.changes += 1;
    }

    fn note_all(&mut self) {
        self.changes += 1 + RECENT as u64;
    }
}

impl<T> From<Vec<T>> for Tracked<T> {
    fn from(values: Vec<T>) -> Self {
        Self { values, recent: Vec::new(), changes: 0 }
    }
}

/// Tables with the same entries are equal, whoever follows them.
impl<T: PartialEq> PartialEq for Tracked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl<T: Eq> Eq for Tracked<T> {}

impl<T> Deref for Tracked<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.values
    }
}

/// For changes of many entries at once.
impl<T> DerefMut for Tracked<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.note_all();
        &mut self.values
    }
}

/// An index of an entry, or of several.
pub trait Place<T>: SliceIndex<[T]> {
    /// The entry, if it is one.
    fn entry(&self) -> Option<usize>;
}

impl<T> Place<T> for usize {
    #[inline(always)]
    fn entry(&self) -> Option<usize> {
        Some(*self)
    }
}

impl<T> Place<T> for Range<usize> {
    fn entry(&self) -> Option<usize> {
        None
    }
}

impl<T, P: Place<T>> Index<P> for Tracked<T> {
    type Output = P::Output;
    #[inline(always)]
    fn index(&self, place: P) -> &P::Output {
        &self.values[place]
    }
}

impl<T, P: Place<T>> IndexMut<P> for Tracked<T> {
    #[inline(always)]
    fn index_mut(&mut self, place: P) -> &mut P::Output {
        match place.entry() {
            Some(index) => self.note(index),
            None => self.note_all(),
        }
        &mut self.values[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A change of a table.
    #[derive(Debug, Clone)]
    enum Change {
        One(usize, u8),
        Several(usize, u8),
        All(u8),
        Replace,
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let one = || (0..40usize, any::<u8>());
        let change = prop_oneof![
            12 => one().prop_map(|(at, value)| Change::One(at, value)),
            1 => one().prop_map(|(at, value)| Change::Several(at, value)),
            1 => any::<u8>().prop_map(Change::All),
            1 => Just(Change::Replace),
        ];
        prop::collection::vec(change, 0..60)
    }

    proptest! {
        #[test]
        fn a_copy_that_follows_is_the_table(rounds in prop::collection::vec((changes(), 0..3u32), 1..12), tracked: bool) {
            let mut table = Tracked::from(vec![0u8; 40]);
            if tracked {
                table.track();
            }
            let (mut copy, mut seen) = (table.to_vec(), table.changes());
            for (changes, often) in rounds {
                // Sometimes more than are noted.
                for change in changes.iter().cycle().take(changes.len() << (6 * often.min(1) + often)) {
                    match *change {
                        Change::One(at, value) => table[at] = value,
                        Change::Several(at, value) => table[at..40].fill(value),
                        Change::All(value) => table.fill(value),
                        Change::Replace => {
                            let mut other = Tracked::from(vec![7; 40]);
                            other.follow(&table);
                            table = other;
                        }
                    }
                }
                match table.changed_since(seen) {
                    Some(changed) => changed.for_each(|index| copy[index] = table[index]),
                    None => copy.copy_from_slice(&table),
                }
                seen = table.changes();
                prop_assert_eq!(&copy[..], &*table);
            }
        }
    }
}
