//! The pages of a block that is collected, one after another.

use crate::ftl::{FETCHED_AT_ONCE, NOT_A_VICTIM, STRETCH, Tables};
use crate::ids::{BlockGroup, BlockIx, Ppn};
use std::ops::Range;

/// The pages of a block that have not been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unseen {
    at: Ppn,
    end: Ppn,
    /// The first page whose owner's map entry has not been brought near.
    fetched: Ppn,
}

impl Unseen {
    /// No page.
    pub const NOTHING: Self = Self { at: 0, end: 0, fetched: 0 };
}

impl Tables {
    /// Takes a block group out of the candidates, because it is being collected.
    pub fn begin_collect(&mut self, group: BlockGroup) {
        assert!(self.counts[group.index()] < NOT_A_VICTIM, "block group {} is not a candidate", group.0);
        self.counts[group.index()] += NOT_A_VICTIM;
        self.find_least_count(group.0 / STRETCH);
    }

    /// Makes a block group that was being collected a candidate again, with the pages that are left in it.
    pub fn end_collect(&mut self, group: BlockGroup) {
        assert!(self.counts[group.index()] >= NOT_A_VICTIM, "block group {} is not being collected", group.0);
        self.counts[group.index()] -= NOT_A_VICTIM;
        self.count_fell(group);
    }

    /// All pages of a block.
    pub fn pages_of(&self, block: BlockIx) -> Unseen {
        let Range { start, end } = self.range_of(block);
        Unseen { at: start, end, fetched: start }
    }

    /// All pages of a block group.
    pub fn pages_of_group(&self, group: BlockGroup) -> Unseen {
        self.pages_of(self.first_block(group))
    }

    /// The next page that is valid.
    #[inline]
    pub fn next_valid(&self, unseen: &mut Unseen) -> Option<Ppn> {
        let found = self.first_valid(*unseen)?;
        unseen.at = found + 1;
        Some(found)
    }

    /// The same; the map entries of the pages after it are brought near, many at once.
    #[inline]
    pub fn next_fetched(&self, unseen: &mut Unseen) -> Option<Ppn> {
        let found = self.next_valid(unseen)?;
        if found >= unseen.fetched {
            let mut ahead = Unseen { at: found, ..*unseen };
            for _ in 0..FETCHED_AT_ONCE {
                let Some(next) = self.next_valid(&mut ahead) else {
                    ahead.at = ahead.end;
                    break;
                };
                self.prefetch(self.owner(next));
            }
            unseen.fetched = ahead.at;
        }
        Some(found)
    }

    /// Whether one of the pages is valid.
    #[inline]
    pub fn has_valid(&self, unseen: Unseen) -> bool {
        self.first_valid(unseen).is_some()
    }

    #[inline]
    fn first_valid(&self, Unseen { mut at, end, .. }: Unseen) -> Option<Ppn> {
        while at < end {
            let word = self.valid[(at / 64) as usize] >> (at % 64);
            if word != 0 {
                let found = at + word.trailing_zeros();
                return (found < end).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}
