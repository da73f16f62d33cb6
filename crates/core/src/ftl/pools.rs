//! Pools and block groups: what is opened, chosen as a victim and erased as a whole, and where its blocks lie.
//!
//! A pool is one plane and a block group one block. A design whose blocks are collected together over several planes changes
//! what stands here, the walk over the pages of a group, the steps of its GC, and nothing that speaks of pools and groups alone.

use crate::ftl::Tables;
use crate::ids::{BlockGroup, BlockIx, PlaneIx, Pool, Ppn};
use std::ops::Range;

impl Tables {
    /// The pools of the drive.
    pub fn pools(&self) -> impl Iterator<Item = Pool> + use<> {
        (0..self.geometry.planes()).map(Pool)
    }

    /// The pool of a plane.
    #[inline]
    pub fn pool_of(&self, plane: PlaneIx) -> Pool {
        Pool(plane)
    }

    /// The planes of a pool.
    #[inline]
    pub fn planes_of(&self, pool: Pool) -> impl Iterator<Item = PlaneIx> + Clone + use<> {
        pool.0..pool.0 + 1
    }

    /// The plane in which work for a pool as a whole waits.
    #[inline]
    pub fn first_plane(&self, pool: Pool) -> PlaneIx {
        self.planes_of(pool).next().expect("a pool has planes")
    }

    /// The pool of a block group.
    #[inline]
    pub fn pool_of_group(&self, group: BlockGroup) -> Pool {
        Pool(group.0 / self.geometry.blocks_per_plane)
    }

    /// The block groups of a pool, by their numbers.
    #[inline]
    pub(crate) fn groups_of(&self, pool: Pool) -> Range<u32> {
        pool.0 * self.geometry.blocks_per_plane..(pool.0 + 1) * self.geometry.blocks_per_plane
    }

    /// One of the block groups of a pool, by its place among them.
    #[inline]
    pub fn group_at(&self, pool: Pool, index: usize) -> BlockGroup {
        BlockGroup(self.groups_of(pool).start + index as u32)
    }

    /// The group of a block.
    #[inline]
    pub fn group_of(&self, block: BlockIx) -> BlockGroup {
        BlockGroup(block)
    }

    /// The block of a group in a plane of its pool.
    #[inline]
    pub fn block_in(&self, group: BlockGroup, plane: PlaneIx) -> BlockIx {
        crate::check!(self.pool_of_group(group) == self.pool_of(plane), "a block group of another pool");
        group.0
    }

    /// The blocks of a group.
    pub fn blocks_of(&self, group: BlockGroup) -> impl Iterator<Item = BlockIx> + use<> {
        group.0..group.0 + 1
    }

    /// The first block of a group.
    #[inline]
    pub(crate) fn first_block(&self, group: BlockGroup) -> BlockIx {
        group.0
    }

    /// Opens the next erased block group of a pool at a write point, in all planes.
    pub(super) fn open_group(&mut self, pool: Pool, write_point: usize) {
        let group = self.pools[pool.index()].erased.pop_front().expect("an erased block group, as the caller has checked");
        for plane in self.planes_of(pool) {
            let block = self.block_in(group, plane);
            assert_eq!(self.next_page[block as usize], 0, "a program goes into an erased block");
            self.planes[plane as usize].open[write_point] = block;
        }
    }

    /// Whether a block group is full once the program of a page of it is recorded.
    #[inline]
    pub(super) fn is_full_with(&self, group: BlockGroup, ppn: Ppn) -> bool {
        ppn + 1 == self.range_of(self.first_block(group)).end
    }

    /// The plane with most pages erased.
    #[cold]
    pub(crate) fn emptiest_plane(&self) -> PlaneIx {
        (0..self.geometry.planes()).max_by_key(|&plane| self.free_pages(plane)).expect("a drive has planes")
    }

    /// Erased pages of each plane of a pool: of the one that has the fewest.
    #[inline]
    pub fn free_pages_of(&self, pool: Pool) -> u32 {
        self.planes_of(pool).map(|plane| self.free_pages(plane)).min().expect("a pool has planes")
    }

    /// Pages of a block group.
    #[inline]
    pub fn pages_in(&self, _group: BlockGroup) -> u32 {
        self.geometry.pages_per_block
    }
}
