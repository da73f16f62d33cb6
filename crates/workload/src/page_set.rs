//! Which pages have been touched, in little memory wherever they lie.

use std::ops::Range;

/// Pages in a word.
const WORD: u64 = 64;

/// So many pieces wait at least before they are put in order: they fit into a cache of the processor.
const WAITING_MIN: usize = 1 << 12;

/// A set of pages. It takes 16 bytes for a word with some of its pages, or for a run of words with all of theirs.
///
/// A range of pages is two such words and a run at most, however long it is. Pieces are appended as they come. When they fill the
/// memory that is there, they are sorted, and those that are one are joined; if half of it is left then, it stays as it is. So
/// the set grows with what is in it, and no insertion looks for a place in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageSet {
    pieces: Vec<Piece>,
}

/// A part of the set.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Twice the number of its first word, and one more if it is a word with some of its pages.
    key: u64,
    /// A bit for each of these pages; of a run of words, the first word behind it.
    value: u64,
}

impl Piece {
    fn of_word(word: u64, bits: u64) -> Self {
        if bits == u64::MAX { Self::of_run(word, word + 1) } else { Self { key: word << 1 | 1, value: bits } }
    }

    fn of_run(first: u64, end: u64) -> Self {
        Self { key: first << 1, value: end }
    }

    fn is_run(self) -> bool {
        self.key & 1 == 0
    }

    fn word(self) -> u64 {
        self.key >> 1
    }

    fn pages(self) -> u64 {
        if self.is_run() { (self.value - self.word()) * WORD } else { u64::from(self.value.count_ones()) }
    }

    /// Takes another piece in, if it is not before this one and both together are one.
    fn takes(&mut self, next: Self) -> bool {
        if next.key < self.key {
            return false;
        }
        match (self.is_run(), next.is_run()) {
            (true, true) if next.word() <= self.value => self.value = self.value.max(next.value),
            (true, false) if next.word() < self.value => {}
            (false, false) if next.key == self.key => *self = Self::of_word(self.word(), self.value | next.value),
            _ => return false,
        }
        true
    }
}

impl PageSet {
    /// Puts pages in.
    pub(crate) fn insert(&mut self, pages: &Range<u64>) {
        if pages.is_empty() {
            return;
        }
        let last_page = pages.end - 1;
        let (first, last) = (pages.start / WORD, last_page / WORD);
        let (head, tail) = (u64::MAX << (pages.start % WORD), u64::MAX >> (WORD - 1 - last_page % WORD));
        if first == last {
            return self.push(Piece::of_word(first, head & tail));
        }
        self.push(Piece::of_word(first, head));
        if first + 1 < last {
            self.push(Piece::of_run(first + 1, last));
        }
        self.push(Piece::of_word(last, tail));
    }

    fn push(&mut self, piece: Piece) {
        // One request often goes on where another ended.
        if self.pieces.last_mut().is_some_and(|last| last.takes(piece)) {
            return;
        }
        if self.pieces.len() == self.pieces.capacity() {
            self.join();
            self.pieces.reserve_exact(self.pieces.len().max(WAITING_MIN));
        }
        self.pieces.push(piece);
    }

    /// Sorts the pieces, and joins those that are one.
    #[cold]
    fn join(&mut self) {
        // Of one word, a run comes before a word with some pages.
        self.pieces.sort_unstable_by_key(|piece| piece.key);
        self.pieces.dedup_by(|next, kept| kept.takes(*next));
    }

    /// Puts all pages of another set in.
    pub(crate) fn insert_all(&mut self, mut other: Self) {
        if self.pieces.len() < other.pieces.len() {
            std::mem::swap(self, &mut other);
        }
        self.pieces.append(&mut other.pieces);
    }

    /// How many different pages it has.
    pub(crate) fn count(&mut self) -> u64 {
        self.join();
        self.pieces.iter().map(|piece| piece.pages()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_counts_what_a_set_of_numbers_counts(
            ranges in proptest::collection::vec((0_u64..1000, prop_oneof![1_u64..4, 1_u64..300], any::<bool>(), 0..10), 1..100),
        ) {
            let (mut sets, mut all) = ([PageSet::default(), PageSet::default()], [BTreeSet::new(), BTreeSet::new()]);
            for (start, length, of_second, count) in ranges {
                let set = usize::from(of_second);
                sets[set].insert(&(start..start + length));
                all[set].extend(start..start + length);
                if count == 0 {
                    prop_assert_eq!(sets[set].count(), all[set].len() as u64);
                }
            }
            let [mut union, second] = sets;
            union.insert_all(second);
            prop_assert_eq!(union.count(), all[0].union(&all[1]).count() as u64);
        }
    }

    /// What a set takes for each of so many ranges.
    fn bytes_each(ranges: impl Iterator<Item = Range<u64>> + Clone) -> f64 {
        let mut set = PageSet::default();
        ranges.clone().for_each(|range| set.insert(&range));
        (set.pieces.capacity() * size_of::<Piece>()) as f64 / ranges.count() as f64
    }

    #[test]
    fn it_takes_little_wherever_pages_lie() {
        // In an order that is none.
        let places = |count: u64| (0..count).map(move |index| index * 40_503 % count);
        let far_apart = places(100_000).map(|place| place << 30..(place << 30) + 1);
        assert!(bytes_each(far_apart) <= 64.0);
        // Terabytes, from within a word to within another.
        let long = places(10_000).map(|place| (place << 31) + 1..(place << 31) + (1 << 29));
        assert!(bytes_each(long) <= 3.0 * 64.0);
        let over_and_over = (0..10).flat_map(|_| places(100_000)).map(|place| place << 30..(place << 30) + 1);
        assert!(bytes_each(over_and_over) <= 6.4);
        let every_other = places(1_000_000).map(|place| place * 2..place * 2 + 1);
        assert!(bytes_each(every_other) <= 4.0);
        let side_by_side = places(1_000_000).map(|place| place..place + 1);
        assert!(bytes_each(side_by_side) <= 1.0);
    }
}
