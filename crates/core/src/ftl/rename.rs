//! A copy that was programmed under one page number becomes that of another, which is how a stripe changes places.

use crate::ftl::Tables;
use crate::ids::{Lpn, NONE, Ppn};

impl Tables {
    /// Gives the copy of one logical page to another, whose own becomes stale, without programming anything. Returns the latter.
    /// Out of band the copy has borne the other's number since it was programmed.
    pub fn rename(&mut self, from: Lpn, to: Lpn) -> Ppn {
        let copy = std::mem::replace(&mut self.map[from as usize], NONE);
        assert!(copy != NONE, "logical page {from} has no copy to give away");
        let old = self.unmap(to);
        self.map[to as usize] = copy;
        self.reverse[copy as usize] = to;
        old
    }
}

#[cfg(test)]
mod tests {
    use crate::ftl::Claimant;
    use crate::ftl::tests::tiny;
    use crate::ids::{BlockGroup, NONE};

    #[test]
    fn a_page_that_takes_over_the_copy_of_another_loses_its_own() {
        let mut tables = tiny();
        for lpn in [0, 1, 3] {
            let ppn = tables.take(0, 0, Claimant::Host).unwrap();
            tables.commit_write(lpn, ppn);
        }
        // The former copy of page 1 is younger than the one that it takes over.
        let moved = tables.take(0, 0, Claimant::Gc).unwrap();
        assert!(tables.commit_move(1, 1, moved));
        assert_eq!(tables.rename(0, 1), moved);
        assert_eq!((tables.lookup(0), tables.lookup(1), tables.owner(0)), (NONE, 0, 1));
        assert_eq!((tables.valid_pages(BlockGroup(0)), tables.valid_pages(BlockGroup(1))), (1, 1));
        tables.audit().unwrap();
    }
}
