//! What a loss of power leaves: the out-of-band data of every page and block on the flash, and the journal of trims in the RAM that
//! capacitors save. It is kept apart from the tables, which are controller memory and are lost.
//!
//! With each page the flash holds its logical page and the sequence number of its *data*: a copy that GC, scrubbing or wear
//! levelling makes has the number of what it copies, so that it never comes before a later write. A program that finds its data
//! given up has a number like any other. A block's pages bear the clock of their plane, the write point that filled the block, and its
//! erases. The Harey Tortoise, section 3.1: "a page sequence number to maintain strict ordering".

use crate::ftl::Tables;
use crate::ids::{BlockIx, Lpn, NONE, Ppn};
use crate::mem::huge_vec;
use std::ops::Range;

/// In place of a logical page: the program of the page, or the erase of its block, was cut off. It can't be read and is not erased.
pub(super) const TORN: Lpn = NONE - 2;

/// In place of erases: the erase that would have written them was cut off.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Sequence numbers of a starting state whose design keeps none: of pages that were stale then, and of the others.
const STALE_THEN: u64 = 1;
const VALID_THEN: u64 = 2;

/// What the pages of a block say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfBlock {
    /// Its plane's clock when its newest page was programmed.
    pub clock: u64,
    pub erases: u32,
    /// The write point whose open block it was.
    pub write_point: u8,
    /// Bad from the factory.
    pub bad: bool,
}

/// What a loss of power leaves on the flash, and the journal of trims. The write buffer and computed stripes are elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Durable {
    /// Of each physical page, the logical one; `NONE` if it is erased.
    pub(super) lpns: Vec<Lpn>,
    pub(super) sequence: Vec<u64>,
    pub(super) blocks: Vec<OfBlock>,
    /// The journal of trims: one bit for each logical page that was given up and of which nothing has been programmed since.
    trimmed: Vec<u64>,
}

impl Durable {
    /// Whether a page was given up, and nothing of it was programmed since.
    pub(crate) fn is_trimmed(&self, lpn: Lpn) -> bool {
        self.trimmed[(lpn / 64) as usize] >> (lpn % 64) & 1 == 1
    }

    fn set_trimmed(&mut self, lpn: Lpn, trimmed: bool) {
        let word = &mut self.trimmed[(lpn / 64) as usize];
        *word = *word & !(1 << (lpn % 64)) | u64::from(trimmed) << (lpn % 64);
    }

    /// Pages in the journal of trims.
    pub(crate) fn trims(&self) -> u64 {
        self.trimmed.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Forgets the journal of trims, so that tests can see the oracle find it.
    pub(crate) fn forget_trims(&mut self) {
        self.trimmed.fill(0);
    }

    /// The power failed while a page was programmed.
    pub(crate) fn tear_page(&mut self, ppn: Ppn) {
        self.lpns[ppn as usize] = TORN;
    }

    /// The power failed while a block was erased. Which erases it has had is known no more.
    pub(crate) fn tear_block(&mut self, block: BlockIx, pages: Range<Ppn>) {
        self.lpns[pages.start as usize..pages.end as usize].fill(TORN);
        self.blocks[block as usize].erases = UNKNOWN;
    }

    /// What the pages of some blocks say of their erases, on the average.
    pub(super) fn mean_erases(&self, blocks: Range<BlockIx>) -> u32 {
        let known = self.blocks[blocks.start as usize..blocks.end as usize].iter().filter(|of| !of.bad && of.erases != UNKNOWN);
        let (sum, count) = known.fold((0u64, 0u64), |(sum, count), of| (sum + u64::from(of.erases), count + 1));
        (sum + count / 2).checked_div(count).unwrap_or(0) as u32
    }

    /// Pages of a block that are programmed or torn: all those before the first erased one.
    pub(crate) fn written(&self, block: BlockIx, pages_per_block: u32) -> u32 {
        let first = (block * pages_per_block) as usize;
        let pages = &self.lpns[first..first + pages_per_block as usize];
        pages.iter().rposition(|&lpn| lpn != NONE).map_or(0, |last| last as u32 + 1)
    }
}

impl Tables {
    /// From now on keeps what a loss of power leaves. Of the starting state, which is made in the tables alone, the out-of-band
    /// data follow from them.
    pub(crate) fn keep_durable(&mut self) {
        let (pages, g) = (self.geometry.pages_per_block, &self.geometry);
        let physical = g.physical_pages() as Ppn;
        let mut sequence = std::mem::take(&mut self.sequence);
        if sequence.is_empty() {
            sequence = huge_vec(physical as usize, 0);
            for ppn in 0..physical {
                sequence[ppn as usize] = if self.is_valid(ppn) { VALID_THEN } else { STALE_THEN };
            }
            self.last_sequence = VALID_THEN;
        }
        let blocks = (0..self.next_page.len() as BlockIx).map(|block| {
            let plane = g.plane_of(block);
            let bad = self.is_bad(block);
            let write_point = self.planes[plane as usize].open.iter().position(|&open| open == block).unwrap_or(0) as u8;
            let closed = u32::from(self.next_page[block as usize]) == pages;
            let clock = if closed && !bad { self.closed_at(self.group_of(block)) } else { self.clock(self.pool_of(plane)) };
            OfBlock { clock, erases: self.erases[block as usize], write_point, bad }
        });
        let mut durable =
            Durable { lpns: self.reverse.clone(), sequence, blocks: blocks.collect(), trimmed: vec![0; self.map.len().div_ceil(64)] };
        // What the starting state has given up does not come back.
        for &lpn in self.reverse.iter().filter(|&&lpn| lpn < TORN) {
            if self.map[lpn as usize] == NONE {
                durable.set_trimmed(lpn, true);
            }
        }
        self.durable = Some(Box::new(durable));
        self.numbered = true;
    }

    /// Whether what a loss of power leaves is kept.
    pub(crate) fn is_durable(&self) -> bool {
        self.durable.is_some()
    }

    /// A program of new data has ended.
    #[cold]
    pub(crate) fn number(&mut self, ppn: Ppn, lpn: Lpn, given_up: bool) {
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        let Some(durable) = &mut self.durable else {
            self.sequence[ppn as usize] = sequence;
            return;
        };
        (durable.lpns[ppn as usize], durable.sequence[ppn as usize]) = (lpn, sequence);
        if !given_up {
            durable.set_trimmed(lpn, false);
        }
        self.note_in_block(ppn);
    }

    /// A copy of a page has been programmed: out of band it is what it is a copy of.
    #[cold]
    pub(super) fn number_copy(&mut self, from: Ppn, to: Ppn) {
        let Some(durable) = &mut self.durable else {
            self.sequence[to as usize] = self.sequence[from as usize];
            return;
        };
        crate::check!(durable.lpns[from as usize] < TORN, "page {from} is copied and holds nothing");
        durable.lpns[to as usize] = durable.lpns[from as usize];
        durable.sequence[to as usize] = durable.sequence[from as usize];
        self.note_in_block(to);
    }

    /// A page that was programmed under a number of its own is a copy of a logical page, and says so out of band.
    pub(crate) fn note_copy_of(&mut self, ppn: Ppn, lpn: Lpn) {
        if self.durable.is_some() {
            self.number_copy(self.map[lpn as usize], ppn);
        }
    }

    fn note_in_block(&mut self, ppn: Ppn) {
        let (block, plane) = (self.block_of(ppn), self.plane_of(ppn));
        let clock = self.clock(self.pool_of(plane));
        let Some(durable) = &mut self.durable else { return };
        let of = &mut durable.blocks[block as usize];
        of.clock = clock;
        // The block's last page closes it; its write point is known by then.
        if let Some(point) = self.planes[plane as usize].open.iter().position(|&open| open == block) {
            of.write_point = point as u8;
        }
    }

    /// A block has been erased.
    #[cold]
    pub(crate) fn note_erase(&mut self, block: BlockIx) {
        let (pages, erases) = (self.geometry.pages_per_block, self.erases[block as usize]);
        let Some(durable) = &mut self.durable else { return };
        let first = (block * pages) as usize;
        durable.lpns[first..first + pages as usize].fill(NONE);
        durable.blocks[block as usize].erases = erases;
    }

    /// The host has given a page up.
    pub(crate) fn note_trim(&mut self, lpn: Lpn) {
        if let Some(durable) = &mut self.durable {
            durable.set_trimmed(lpn, true);
        }
    }

    /// What a loss of power leaves; the tables are of no use then.
    pub(crate) fn take_durable(&mut self) -> Option<Box<Durable>> {
        self.durable.take()
    }

    /// The same, to be looked at.
    pub(crate) fn durable(&self) -> Option<&Durable> {
        self.durable.as_deref()
    }

    /// The same, to be changed.
    pub(crate) fn durable_mut(&mut self) -> Option<&mut Durable> {
        self.durable.as_deref_mut()
    }
}

#[cfg(test)]
mod testkit {
    use super::*;

    impl Tables {
        /// The tables as they would be recovered now, from the flash of a drive without stripes.
        pub(crate) fn recovered_for_test(&mut self, first_found: bool) -> (Self, crate::ftl::recovery::Found) {
            if !self.is_durable() {
                self.keep_durable();
            }
            let (pages, points) = (self.map.len() as u64, self.planes[0].open.len() as u32);
            let mut tables = Self::new(&self.geometry, pages, points, self.reserve_blocks, false);
            if !self.live.is_empty() {
                tables.count_live();
            }
            let found = tables.recover(self.take_durable().expect("just made"), first_found, None);
            (tables, found)
        }
    }
}
