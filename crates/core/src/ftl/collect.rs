//! The pages of a block that is collected, looked at one after another, and the collection that takes no time.

use crate::event::EventQueue;
use crate::flash::Engine;
use crate::ftl::above::{Above, WithFtl};
use crate::ftl::{FETCHED_AT_ONCE, Tables};
use crate::ids::{BlockIx, Ppn};

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
    /// All pages of a block.
    pub fn pages_of(&self, block: BlockIx) -> Unseen {
        let at = block * self.geometry.pages_per_block;
        Unseen { at, end: at + self.geometry.pages_per_block, fetched: at }
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

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Moves every valid page of a block to where `place` says, and erases the block, in the tables and the oracle, without time.
    /// Returns the pages moved.
    ///
    /// # Errors
    /// What `place` returns; the block is left as it is then.
    pub(crate) fn collect<E>(&mut self, victim: BlockIx, mut place: impl FnMut(&mut Self, Ppn) -> Result<Ppn, E>) -> Result<u32, E> {
        let mut unseen = self.up.ftl.tables.begin_collect(victim);
        let mut moved = 0;
        while let Some(from) = self.up.ftl.tables.next_fetched(&mut unseen) {
            let to = place(self, from)?;
            let lpn = self.up.ftl.tables.owner(from);
            self.up.ftl.tables.commit_move(lpn, from, to);
            if let Some(oracle) = &mut self.up.oracle {
                oracle.move_page(from, to);
            }
            moved += 1;
        }
        self.up.ftl.tables.erased(victim);
        Ok(moved)
    }
}
