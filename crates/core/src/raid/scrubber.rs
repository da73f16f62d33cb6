//! What a scrubber keeps.

use crate::ftl::Tables;
use crate::ftl::walk::Unseen;
use crate::ids::{DieIx, Lpn, NONE, Ppn};
use crate::media::errors::PageErrors;

/// The scrubbers of all dies.
#[derive(Debug)]
pub(crate) struct Scrubbing {
    /// One for each die; none where nothing is scrubbed.
    pub(super) dies: Vec<Scrubber>,
    /// Some of them wait for the next request.
    pub(super) is_due: bool,
}

impl Scrubbing {
    /// Those of so many dies, which sleep.
    pub(super) fn asleep(dies: u32) -> Self {
        Self { dies: vec![Scrubber::ASLEEP; dies as usize], is_due: false }
    }

    /// Some scrubbers wait for the next request.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Those that waited for the request that has come now.
    pub(super) fn take_due(&mut self) -> Vec<DieIx> {
        self.is_due = false;
        (0..self.dies.len() as DieIx).filter(|&die| self.dies[die as usize].due).collect()
    }

    /// A die has suspects left: the next request wakes its scrubber.
    pub(super) fn owe_a_round(&mut self, die: DieIx) {
        self.dies[die as usize].due = true;
        self.is_due = true;
    }
}

/// The scrubber of a die.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scrubber {
    /// The pages that it has not looked at of the block that it looks through.
    pub(super) unseen: Unseen,
    /// Blocks left in its round, and the requests that there had been when that began.
    left: usize,
    requests_then: u64,
    /// A timer is set for it, or an operation of it is under way.
    pub(super) awake: bool,
    /// Its timer is set.
    pub(super) pauses: bool,
    /// It sleeps although blocks are suspect: the next request wakes it.
    pub(super) due: bool,
    /// Reads of the rest of the page's stripe that have not ended, and whether one of them could not be corrected.
    pending: u32,
    is_lost: bool,
    /// The page under way, and how often its block had been erased when it was read.
    pub(super) ppn: Ppn,
    erases: u32,
    /// Where the rest of its stripe lay when reading it began.
    pub(super) stripe_then: u64,
}

impl Scrubber {
    const ASLEEP: Self = Self {
        unseen: Unseen::NOTHING,
        left: 0,
        requests_then: u64::MAX,
        awake: false,
        pauses: false,
        due: false,
        pending: 0,
        is_lost: false,
        ppn: NONE,
        erases: 0,
        stripe_then: 0,
    };

    /// Whether a round may begin after so many requests: there has been one since the last began.
    pub(super) fn may_begin_round(&self, submitted: u64) -> bool {
        self.requests_then != submitted
    }

    /// A block is needed of so many that are suspect, after the former one. Returns whether its round, which may begin now, has one
    /// left.
    pub(super) fn takes_block(&mut self, suspects: usize, submitted: u64) -> bool {
        self.unseen = Unseen::NOTHING;
        if self.left == 0 && self.may_begin_round(submitted) {
            (self.left, self.requests_then) = (suspects, submitted);
        }
        let takes = self.left > 0 && suspects > 0;
        self.left = if takes { self.left - 1 } else { 0 };
        takes
    }

    /// The next page of its block that is due: one that was copied at least so often and not scrubbed since.
    pub(super) fn next_due(&mut self, tables: &Tables, errors: &PageErrors, least: u8) -> Option<Ppn> {
        std::iter::from_fn(|| tables.next_valid(&mut self.unseen)).find(|&page| errors.is_due(page, least))
    }

    /// Reading a page begins, whose block has been erased so often.
    pub(super) fn begin_page(&mut self, ppn: Ppn, erases: u32) {
        (self.ppn, self.erases, self.pending) = (ppn, erases, 0);
    }

    /// Whether the page under way, which was that of `lpn`, is still its present copy.
    pub(super) fn is_where_it_was(&self, tables: &Tables, lpn: Lpn) -> bool {
        tables.lookup(lpn) == self.ppn && tables.erase_count(tables.block_of(self.ppn)) == self.erases
    }

    /// Reading the rest of the page's stripe begins, which lies where a number says.
    pub(super) fn begin_stripe(&mut self, pages: usize, then: u64) {
        (self.pending, self.is_lost, self.stripe_then) = (pages as u32, false, then);
    }

    /// Whether the rest of the page's stripe is being read.
    pub(super) fn reads_stripe(&self) -> bool {
        self.pending > 0
    }

    /// A page of the rest has been read, which may be beyond the ECC. Returns at the last whether the page can be regenerated.
    pub(super) fn stripe_page_read(&mut self, is_beyond: bool) -> Option<bool> {
        self.is_lost |= is_beyond;
        self.pending -= 1;
        (self.pending == 0).then_some(!self.is_lost)
    }

    /// The page under way is done with. Returns it.
    pub(super) fn end_page(&mut self) -> Ppn {
        std::mem::replace(&mut self.ppn, NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_as_many_blocks_as_were_suspect_and_the_next_needs_a_request() {
        let mut scrubber = Scrubber::ASLEEP;
        let taken = [3, 3, 5].map(|suspects| scrubber.takes_block(suspects, 8));
        assert_eq!(taken, [true, true, true]);
        assert!(!scrubber.may_begin_round(8) && !scrubber.takes_block(2, 8));
        assert!(scrubber.may_begin_round(9) && scrubber.takes_block(2, 9));
        assert!(!scrubber.takes_block(0, 9), "nothing is suspect any more");
        assert!(!scrubber.takes_block(1, 9), "and the round is over");
    }
}
