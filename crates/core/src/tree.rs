//! The least of many keys that change one at a time.

/// No key: it comes after all keys.
pub(crate) const EMPTY: u64 = u64::MAX;

/// Keys of a cache line, all of which are compared at once.
pub(crate) const LINE: usize = 8;

/// Return the least of a cache line of keys.
#[inline(always)]
pub(crate) fn least([a, b, c, d, e, f, g, h]: [u64; LINE]) -> u64 {
    a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
}

/// Return the least key of a cache line without one that is the least; `EMPTY` if there is no other.
#[inline(always)]
pub(crate) fn least_after(keys: [u64; LINE], key: u64) -> u64 {
    // Counted from the next number, the key itself comes last.
    least(keys.map(|other| other.wrapping_sub(key + 1))).wrapping_add(key + 1)
}

/// A tree of keys, at most one for each slot, and no two alike. Its lowest level has a place for each slot; a place of the other levels
/// has the least key of the line below it.
///
/// A new key is compared with those above it until one is less, so it seldom gets far. Four levels are enough for a thousand dies.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// All levels, the top first. The line below place `p` is number `p + 1`.
    lines: Vec<[u64; LINE]>,
    /// The place of the first slot.
    base: usize,
}

impl Tree {
    /// A tree of `slots` slots without keys.
    pub(crate) fn with_slots(slots: usize) -> Self {
        let (mut base, mut places) = (0, LINE);
        while places < slots {
            base += places;
            places *= LINE;
        }
        Self { lines: vec![[EMPTY; LINE]; (base + slots).div_ceil(LINE)], base }
    }

    /// Return the least key; `EMPTY` if there is none.
    pub(crate) fn first(&self) -> u64 {
        least(self.lines[0])
    }

    /// Return the least key of a slot and those after it; `EMPTY` if there is none.
    pub(crate) fn first_from(&self, slot: usize) -> u64 {
        let mut place = self.base + slot;
        let mut first = self.lines[place / LINE][place % LINE];
        loop {
            first = self.lines[place / LINE][place % LINE + 1..].iter().fold(first, |first, &key| first.min(key));
            if place < LINE {
                return first;
            }
            place = place / LINE - 1;
        }
    }

    /// Give a slot a key; `EMPTY` takes the one that it had.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, key: u64) {
        let mut place = self.base + slot;
        let old = self.lines[place / LINE][place % LINE];
        if old < key {
            self.remove(place, old);
        }
        while self.lines[place / LINE][place % LINE] > key {
            self.lines[place / LINE][place % LINE] = key;
            if place < LINE {
                return;
            }
            place = place / LINE - 1;
        }
    }

    /// Removes a key from its place, and from those above that hold it.
    fn remove(&mut self, mut place: usize, key: u64) {
        let mut below = EMPTY;
        while self.lines[place / LINE][place % LINE] == key {
            // Only places of a line whose least it is are above it.
            let others = least_after(self.lines[place / LINE], key);
            self.lines[place / LINE][place % LINE] = below;
            if place < LINE {
                return;
            }
            below = below.min(others);
            place = place / LINE - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_least_key_of_all_slots(
            slots in 1usize..700,
            steps in prop::collection::vec((0usize..700, prop_oneof![1 => Just(None), 4 => (0u64..50).prop_map(Some)]), 0..300),
        ) {
            let mut tree = Tree::with_slots(slots);
            let mut plain = vec![EMPTY; slots];
            for (slot, rank) in steps {
                let slot = slot % slots;
                plain[slot] = rank.map_or(EMPTY, |rank| rank << 32 | slot as u64);
                tree.set(slot, plain[slot]);
                prop_assert_eq!(Some(tree.first()), plain.iter().copied().min());
                prop_assert_eq!(Some(tree.first_from(slot)), plain[slot..].iter().copied().min());
            }
        }
    }
}
