//! What operations leave in the tables: pages that are taken, programmed, moved and given up, block groups that are erased.

use crate::ftl::{NOT_A_VICTIM, PADDING, Tables};
use crate::ids::{BlockGroup, BlockIx, Lpn, NONE, PlaneIx, Ppn};
use crate::mem::prefetch;
use crate::policy::answers::Claimant;

impl Tables {
    /// Takes the next page of a write point, in order, opening an erased block group where needed. `None`: out of space.
    #[inline]
    pub fn take(&mut self, plane: PlaneIx, write_point: usize, claimant: Claimant) -> Option<Ppn> {
        if !self.can_take(plane, write_point, claimant) {
            return None;
        }
        let is_open = self.planes[plane as usize].open[write_point] != NONE;
        Some(if is_open { self.take_open(plane, write_point) } else { self.take_first(plane, write_point) })
    }

    /// Takes the first page of the next erased block group. Apart, so that the other pages do not pay for it.
    #[cold]
    pub(super) fn take_first(&mut self, plane: PlaneIx, write_point: usize) -> Ppn {
        self.open_group(self.pool_of(plane), write_point);
        self.take_open(plane, write_point)
    }

    #[inline(always)]
    pub(super) fn take_open(&mut self, plane: PlaneIx, write_point: usize) -> Ppn {
        let (pool, tables) = (self.pool_of(plane), &mut self.planes[plane as usize]);
        let block = tables.open[write_point];
        let page = self.next_page[block as usize];
        self.next_page[block as usize] = page + 1;
        if u32::from(page) + 1 == self.geometry.pages_per_block {
            // A full block is open no more, since it may be collected and erased before the next page is taken.
            tables.open[write_point] = NONE;
        }
        tables.free_pages -= 1;
        self.pools[pool.index()].programs += 1;
        let ppn = block * self.geometry.pages_per_block + u32::from(page);
        // Recorded when the program ends, by which time the line is near.
        prefetch(&self.reverse, ppn as usize);
        prefetch(&self.valid, (ppn / 64) as usize);
        ppn
    }

    #[inline(always)]
    pub(super) fn invalidate(&mut self, ppn: Ppn) {
        assert!(self.is_valid(ppn), "page {ppn} is stale already");
        self.valid[(ppn / 64) as usize] &= !(1 << (ppn % 64));
        let block = self.block_of(ppn);
        let group = self.group_of(block);
        self.counts[group.index()] -= 1;
        self.count_fell(group);
        if !self.live.is_empty() {
            let plane = self.plane_of(ppn);
            self.live[plane as usize] -= 1;
            self.relieved.note(plane);
        }
    }

    /// Programs a page of a write point with nothing. Returns whether the claimant had one to program.
    pub fn pad(&mut self, plane: PlaneIx, write_point: usize, claimant: Claimant) -> bool {
        let page = self.take(plane, write_point, claimant);
        if let Some(ppn) = page {
            self.programmed(ppn, PADDING, false, NONE);
        }
        page.is_some()
    }

    /// Records the end of a program into `ppn`, valid or not, of new data or of a copy of another page; the last page of a block
    /// group makes it a candidate for GC.
    #[inline]
    pub(super) fn programmed(&mut self, ppn: Ppn, lpn: Lpn, valid: bool, copy_of: Ppn) {
        assert_eq!(self.reverse[ppn as usize], NONE, "page {ppn} is programmed twice");
        self.reverse[ppn as usize] = lpn;
        let group = self.group_of(self.block_of(ppn));
        let count = &mut self.counts[group.index()];
        crate::check!(*count >= NOT_A_VICTIM, "page {ppn} is recorded after the last page of its block group");
        if valid {
            self.valid[(ppn / 64) as usize] |= 1 << (ppn % 64);
            *count += 1;
            if !self.live.is_empty() {
                self.live[self.pages_per_plane.divide(ppn) as usize] += 1;
            }
        }
        if self.is_full_with(group, ppn) {
            self.counts[group.index()] -= NOT_A_VICTIM;
            self.count_fell(group);
            self.closed_at[group.index()] = self.clock(self.pool_of_group(group));
        }
        if self.numbered {
            if copy_of == NONE { self.number(ppn, lpn, !valid) } else { self.number_copy(copy_of, ppn) }
        }
    }

    /// Records a completed program of new data.
    #[inline]
    pub fn commit_write(&mut self, lpn: Lpn, ppn: Ppn) {
        let old = std::mem::replace(&mut self.map[lpn as usize], ppn);
        if old != NONE {
            self.invalidate(old);
        }
        self.programmed(ppn, lpn, true, NONE);
    }

    /// Records a completed program of data that the host gave up meanwhile: nothing maps to it.
    pub fn commit_void(&mut self, lpn: Lpn, ppn: Ppn) {
        self.programmed(ppn, lpn, false, NONE);
    }

    /// Forgets a logical page. Returns the physical page that it had, or `NONE`. Out-of-band data do not say so; a trim is noted
    /// besides, by `note_trim`.
    pub fn unmap(&mut self, lpn: Lpn) -> Ppn {
        let old = std::mem::replace(&mut self.map[lpn as usize], NONE);
        if old != NONE {
            self.invalidate(old);
        }
        old
    }

    /// Records a completed move. A page that was overwritten meanwhile stays stale at its new place. Returns whether it moved.
    #[inline]
    pub fn commit_move(&mut self, lpn: Lpn, from: Ppn, to: Ppn) -> bool {
        let current = self.map[lpn as usize] == from;
        if current {
            self.invalidate(from);
            self.map[lpn as usize] = to;
        }
        self.programmed(to, lpn, current, from);
        current
    }

    /// Records the completed erases of all blocks of a group.
    pub fn erased(&mut self, group: BlockGroup) {
        self.blocks_of(group).for_each(|block| self.block_erased(block));
        self.group_erased(group);
    }

    /// Records that the last block of a group has been erased: the group may be opened. Returns whether that will be before one that
    /// was erased earlier.
    pub(crate) fn group_erased(&mut self, group: BlockGroup) -> bool {
        assert_eq!(self.valid_pages(group), 0, "block group {} is erased with valid pages", group.0);
        let pool = self.pool_of_group(group).index();
        let (before, wear) = (self.pools[pool].erased.len(), self.wear_of(group));
        let at = if self.by_wear { self.pools[pool].erased.partition_point(|&other| self.wear_of(other) <= wear) } else { before };
        self.pools[pool].erased.insert(at, group);
        at < before
    }

    /// Records the completed erase of a block.
    pub(crate) fn block_erased(&mut self, block: BlockIx) {
        let pages = self.geometry.pages_per_block;
        let range = (block * pages) as usize..((block + 1) * pages) as usize;
        self.reverse[range].fill(NONE);
        self.next_page[block as usize] = 0;
        self.erases[block as usize] += 1;
        if self.numbered {
            self.note_erase(block);
        }
        let plane = self.geometry.plane_of(block);
        self.planes[plane as usize].free_pages += pages;
        self.relieved.note(plane);
    }
}
