//! A pool of one plane as a drive of its own: its tables taken out and put back, and its block groups collected as a whole.

use crate::device::Geometry;
use crate::ftl::{Claimant, Count, NOT_A_VICTIM, Tables};
use crate::ids::{BlockGroup, Lpn, NONE, Pool, Ppn};
use crate::mem::prefetch;
use std::ops::Range;

/// Pages that are put together at a time.
const CHUNK: usize = 1024;

/// The words of a bitmap that hold `count` bits from `first`, each with the mask of those bits.
fn words(first: u32, count: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = first + count;
    (first / 64..end.div_ceil(64)).map(move |word| {
        let from = first.max(word * 64) - word * 64;
        let to = end.min((word + 1) * 64) - word * 64;
        (word as usize, u64::MAX >> (64 - (to - from)) << from)
    })
}

impl Tables {
    /// Moves every valid page of a block to one write point and erases the block, as `collect_functionally` does page by page.
    /// `owners` is scratch.
    pub(crate) fn collect_whole(&mut self, victim: BlockGroup, write_point: usize, owners: &mut Vec<Lpn>) -> u32 {
        const LPNS_PER_LINE: usize = 64 / size_of::<Lpn>();
        self.begin_collect(victim);
        let pages = self.geometry.pages_per_block;
        let block = self.first_block(victim);
        let plane = self.geometry.plane_of(block);
        let first = block * pages;
        for line in (first..first + pages).step_by(LPNS_PER_LINE) {
            prefetch(&self.reverse, line as usize);
        }
        owners.clear();
        for (word, mask) in words(first, pages) {
            let mut valid = self.valid[word] & mask;
            self.valid[word] &= !mask;
            while valid != 0 {
                let owner = self.reverse[word * 64 + valid.trailing_zeros() as usize];
                prefetch(&self.map, owner as usize);
                owners.push(owner);
                valid &= valid - 1;
            }
        }
        assert_eq!(owners.len() as u32, self.valid_pages(victim), "block {block} has as many valid pages as are counted");
        let mut left = &owners[..];
        while !left.is_empty() {
            let to = self.take(plane, write_point, Claimant::Gc).expect("GC always has its reserved block");
            let block = self.block_of(to);
            let end = (block + 1) * pages;
            let (moved, rest) = left.split_at(left.len().min((end - to) as usize));
            let count = moved.len() as u32;
            for (to, &lpn) in (to..).zip(moved) {
                self.map[lpn as usize] = to;
            }
            self.reverse[to as usize..][..moved.len()].copy_from_slice(moved);
            for (word, mask) in words(to, count) {
                self.valid[word] |= mask;
            }
            let (group, pool) = (self.group_of(block), self.pool_of(plane).index());
            self.planes[plane as usize].free_pages -= count - 1;
            self.pools[pool].programs += u64::from(count) - 1;
            self.next_page[block as usize] += count as u16 - 1;
            self.counts[group.index()] += count as Count;
            if to + count == end {
                self.planes[plane as usize].open[write_point] = NONE;
                self.counts[group.index()] -= NOT_A_VICTIM;
                self.closed_at[group.index()] = self.pools[pool].programs;
                self.count_fell(group);
            }
            left = rest;
        }
        self.counts[victim.index()] = NOT_A_VICTIM;
        self.erased(victim);
        owners.len() as u32
    }

    /// The tables of one of its pools alone, without maps. The drive is erased.
    pub(crate) fn one_pool(&self, pool: Pool) -> Self {
        let geometry = Geometry { channels: 1, chips_per_channel: 1, dies_per_chip: 1, planes_per_die: 1, ..self.geometry.clone() };
        let plane = &self.planes[self.first_plane(pool) as usize];
        let mut one = Self::without_maps(&geometry, plane.open.len() as u32, self.reserve_blocks);
        let Range { start: first, end } = self.groups_of(pool);
        one.next_page.copy_from_slice(&self.next_page[first as usize..end as usize]);
        one.pools[0].erased = self.pools[pool.index()].erased.iter().map(|&BlockGroup(group)| BlockGroup(group - first)).collect();
        one.planes[0].free_pages = plane.free_pages;
        one
    }

    /// Takes over what happened in one pool, but for its reverse map, which is here. `number` gives its logical pages the numbers
    /// that they have in the drive.
    pub(crate) fn take_pool(&mut self, pool: Pool, one: Self, number: impl Fn(Lpn) -> Lpn) {
        let g = &self.geometry;
        let Range { start: first, end } = self.groups_of(pool);
        let (pages, blocks) = (first * g.pages_per_block, first as usize..end as usize);
        assert!(self.live.is_empty(), "live pages are counted where pages may change their planes");
        for chunk in (0..g.pages_per_plane()).step_by(CHUNK) {
            let end = g.pages_per_plane().min(chunk + CHUNK as u32);
            for lpn in self.reverse[(pages + chunk) as usize..(pages + end) as usize].iter_mut().filter(|lpn| **lpn != NONE) {
                *lpn = number(*lpn);
                prefetch(&self.map, *lpn as usize);
            }
            for (word, mask) in words(chunk, end - chunk) {
                let mut valid = one.valid[word] & mask;
                while valid != 0 {
                    let ppn = pages + word as u32 * 64 + valid.trailing_zeros();
                    self.valid[(ppn / 64) as usize] |= 1 << (ppn % 64);
                    self.map[self.reverse[ppn as usize] as usize] = ppn;
                    valid &= valid - 1;
                }
            }
        }
        self.counts[blocks.clone()].copy_from_slice(&one.counts);
        self.next_page[blocks.clone()].copy_from_slice(&one.next_page);
        self.erases[blocks.clone()].copy_from_slice(&one.erases);
        self.closed_at[blocks].copy_from_slice(&one.closed_at);
        let mut of_plane = { one.planes }.pop().expect("one plane");
        of_plane.open.iter_mut().filter(|block| **block != NONE).for_each(|block| *block += first);
        let plane = self.first_plane(pool);
        self.planes[plane as usize] = of_plane;
        let mut of_pool = { one.pools }.pop().expect("one pool");
        of_pool.erased.iter_mut().for_each(|group| group.0 += first);
        self.pools[pool.index()] = of_pool;
    }

    /// Gives its maps away, and has none until they come back.
    pub(crate) fn lend_maps(&mut self) -> (Vec<Ppn>, Vec<Lpn>) {
        (std::mem::take(&mut self.map), std::mem::take(&mut self.reverse))
    }

    /// Takes maps back.
    pub(crate) fn return_maps(&mut self, map: Vec<Ppn>, reverse: Vec<Lpn>) {
        (self.map, self.reverse) = (map, reverse);
    }

    /// Takes over a reverse map, and makes the map from it.
    pub(crate) fn read_reverse(&mut self, reverse: &[Lpn]) {
        self.reverse.copy_from_slice(reverse);
        self.map_again();
    }

    /// Copies its reverse map out.
    pub(crate) fn write_reverse(&self, reverse: &mut [Lpn]) {
        reverse.copy_from_slice(&self.reverse);
    }

    /// Makes the map anew, from the reverse map.
    fn map_again(&mut self) {
        self.map.fill(NONE);
        for word in 0..self.valid.len() {
            let mut valid = self.valid[word];
            while valid != 0 {
                let ppn = word as u32 * 64 + valid.trailing_zeros();
                self.map[self.reverse[ppn as usize] as usize] = ppn;
                valid &= valid - 1;
            }
        }
    }
}
