//! The collection of a block group that takes no time.

use crate::flash::Engine;
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{BlockGroup, Ppn};

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Moves every valid page of a block group to where `place` says, and erases it, in the tables and the oracle, without time.
    /// Returns the pages moved.
    ///
    /// # Errors
    /// What `place` returns; the block group is left as it is then.
    pub(crate) fn collect<E>(&mut self, victim: BlockGroup, mut place: impl FnMut(&mut Self, Ppn) -> Result<Ppn, E>) -> Result<u32, E> {
        self.up.ftl.tables.begin_collect(victim);
        let mut moved = 0;
        for block in self.up.ftl.tables.blocks_of(victim) {
            let mut unseen = self.up.ftl.tables.pages_of(block);
            while let Some(from) = self.up.ftl.tables.next_fetched(&mut unseen) {
                let to = place(self, from)?;
                let lpn = self.up.ftl.tables.owner(from);
                self.up.ftl.tables.commit_move(lpn, from, to);
                if let Some(oracle) = &mut self.up.oracle {
                    oracle.move_page(from, to);
                }
                moved += 1;
            }
        }
        self.up.ftl.tables.erased(victim);
        Ok(moved)
    }
}
