//! The translation layer's tables: page map, reverse map, validity, blocks, write points.
//!
//! Nothing here takes time. The timed drive and the functional ageing keep the same tables by the same functions.

use crate::device::Geometry;
use crate::ftl::durable::Durable;
use crate::ftl::tracked::Tracked;
use crate::ids::{BlockGroup, BlockIx, Lpn, NONE, PlaneIx, Pool, Ppn};
use crate::mem::{huge_vec, prefetch};
pub use crate::policy::answers::Claimant;
use crate::policy::thresholds::StartLevel;
use crate::relieved::Relieved;
use crate::units::Divisor;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;
use std::ops::Range;

pub(crate) mod above;
mod allocator;
mod assembly;
mod audit;
mod bind;
mod collect;
mod completion;
pub(crate) mod counters;
pub(crate) mod drawn;
pub(crate) mod durable;
mod image;
pub(crate) mod late_bound;
mod one_pool;
mod placement;
mod pools;
mod record;
pub(crate) mod recovery;
mod rename;
pub(crate) mod state;
pub mod tracked;
pub(crate) mod traits;
mod victim_index;
pub mod walk;
pub(crate) mod write_points;

/// Block groups of a stretch. A stretch may reach into another pool.
const STRETCH: u32 = 512;

/// Map entries that are fetched at a time, because the processor looks up the addresses of several at once as fast as that
/// of one.
pub(crate) const FETCHED_AT_ONCE: usize = 8;

/// Valid pages of a block group, with the flag `NOT_A_VICTIM` beside them.
pub type Count = i16;

/// Added to the count of a block group that may not be a victim: erased, open, or being collected.
const NOT_A_VICTIM: Count = Count::MAX / 2 + 1;

/// The owner of a page that was programmed with nothing; no drive has so many logical pages.
const PADDING: Lpn = NONE - 1;

/// The tables of one plane.
#[derive(Debug, PartialEq, Eq)]
struct PlaneTables {
    /// The open block of each write point.
    open: Vec<BlockIx>,
    /// Erased pages, in erased and in open blocks.
    free_pages: u32,
}

/// The tables of one pool.
#[derive(Debug, PartialEq, Eq)]
struct PoolTables {
    /// Erased block groups, in the order in which they will be opened.
    erased: VecDeque<BlockGroup>,
    /// Pages programmed since the tables were opened: the clock by which block groups age.
    programs: u64,
}

/// Page map, reverse map, validity and blocks of the whole drive.
#[derive(Debug, PartialEq, Eq)]
pub struct Tables {
    geometry: Geometry,
    pages_per_block: Divisor,
    pages_per_plane: Divisor,
    map: Vec<Ppn>,
    /// The logical page of each physical page: the out-of-band LPN.
    reverse: Vec<Lpn>,
    valid: Vec<u64>,
    /// Valid pages of each block group, plus `NOT_A_VICTIM` where it applies, so that the search for victims is one scan.
    counts: Tracked<Count>,
    /// The least count of each stretch of block groups; `NOT_A_VICTIM` where none may be a victim.
    least_counts: Vec<Count>,
    next_page: Vec<u16>,
    erases: Tracked<u32>,
    /// The pool's clock when a block group's last page was programmed.
    closed_at: Tracked<u64>,
    planes: Vec<PlaneTables>,
    pools: Vec<PoolTables>,
    /// Out-of-band sequence numbers, if the design asks for them.
    sequence: Vec<u64>,
    last_sequence: u64,
    /// What a loss of power leaves, if one is to be survived; then it has the sequence numbers.
    durable: Option<Box<Durable>>,
    /// Programs get sequence numbers.
    numbered: bool,
    /// Blocks of each plane that only GC may open.
    reserve_blocks: u32,
    /// Live pages of each plane, if the design asks for them.
    live: Vec<u32>,
    /// Planes that hold fewer live pages or have more erased ones since `place` last chose one; noted where live pages are counted.
    relieved: Relieved,
    /// Erased blocks are opened in the order of their erases.
    by_wear: bool,
}

impl Tables {
    /// The tables of an erased drive.
    pub fn new(geometry: &Geometry, logical_pages: u64, write_points: u32, reserve_blocks: u32, page_sequence: bool) -> Self {
        let mut tables = Self::without_maps(geometry, write_points, reserve_blocks);
        let physical = geometry.physical_pages() as usize;
        tables.map = huge_vec(logical_pages as usize, NONE);
        tables.reverse = huge_vec(physical, NONE);
        tables.sequence = if page_sequence { huge_vec(physical, 0) } else { Vec::new() };
        tables.numbered = page_sequence;
        tables
    }

    /// The same without a map and a reverse map.
    fn without_maps(geometry: &Geometry, write_points: u32, reserve_blocks: u32) -> Self {
        let blocks = (geometry.planes() * geometry.blocks_per_plane) as usize;
        let plane = |_| PlaneTables { open: vec![NONE; write_points as usize], free_pages: geometry.pages_per_plane() };
        let mut tables = Self {
            geometry: geometry.clone(),
            pages_per_block: Divisor::new(geometry.pages_per_block),
            pages_per_plane: Divisor::new(geometry.pages_per_plane()),
            map: Vec::new(),
            reverse: Vec::new(),
            valid: huge_vec(geometry.physical_pages().div_ceil(64) as usize, 0),
            counts: Tracked::default(),
            least_counts: Vec::new(),
            next_page: vec![0; blocks],
            erases: vec![0; blocks].into(),
            closed_at: Tracked::default(),
            planes: (0..geometry.planes()).map(plane).collect(),
            pools: Vec::new(),
            sequence: Vec::new(),
            last_sequence: 0,
            durable: None,
            numbered: false,
            reserve_blocks,
            live: Vec::new(),
            relieved: Relieved::default(),
            by_wear: false,
        };
        let pool = |pool| PoolTables { erased: tables.groups_of(pool).map(BlockGroup).collect(), programs: 0 };
        tables.pools = tables.pools().map(pool).collect();
        let groups = tables.pools.iter().map(|pool| pool.erased.len()).sum();
        tables.counts = vec![NOT_A_VICTIM; groups].into();
        tables.least_counts = vec![NOT_A_VICTIM; groups.div_ceil(STRETCH as usize)];
        tables.closed_at = vec![0; groups].into();
        tables
    }

    /// From now on the last changes of counts, erases and times of closing are noted, for policies that look at copies.
    pub(crate) fn track_changes(&mut self) {
        self.counts.track();
        self.erases.track();
        self.closed_at.track();
    }

    /// Takes the place of other tables, also for those who followed their changes.
    pub(crate) fn follow(&mut self, other: &Self) {
        self.counts.follow(&other.counts);
        self.erases.follow(&other.erases);
        self.closed_at.follow(&other.closed_at);
    }

    /// From now on erased block groups are opened in the order of their erases, and among equals in that in which they were erased.
    pub fn open_least_worn_first(&mut self) {
        self.by_wear = true;
        for pool in self.pools() {
            let mut erased = std::mem::take(&mut self.pools[pool.index()].erased);
            erased.make_contiguous().sort_by_key(|&group| self.wear_of(group));
            self.pools[pool.index()].erased = erased;
        }
    }

    /// Counts the live pages of each plane of an erased drive from now on.
    pub fn count_live(&mut self) {
        self.live = vec![0; self.planes.len()];
        self.relieved = Relieved::all(self.geometry.planes());
    }

    /// Planes that hold fewer live pages or have more erased ones since `place` last chose one.
    pub(crate) fn relieved_planes(&self) -> impl Iterator<Item = PlaneIx> {
        self.relieved.iter()
    }

    /// `place` has chosen a plane.
    #[inline]
    pub(crate) fn forget_relieved(&mut self) {
        self.relieved.forget();
    }

    /// Live pages of a plane; 0 where they are not counted.
    pub fn live_pages(&self, plane: PlaneIx) -> u32 {
        self.live.get(plane as usize).copied().unwrap_or(0)
    }

    /// Whether a pool has less erased space than a level of its planes, once so many block groups more are erased.
    #[inline]
    pub(crate) fn is_short_of(&self, level: StartLevel, pool: Pool, coming_groups: u32) -> bool {
        match level {
            StartLevel::PlanePages(pages) | StartLevel::DiePages(pages) => {
                self.free_pages_of(pool) + coming_groups * self.geometry.pages_per_block < pages
            }
            StartLevel::PlaneBlocks(blocks) => self.erased_groups(pool) + coming_groups < blocks,
        }
    }

    /// Erased pages of a plane that the host may be unable to program: in GC's reserve and in open blocks.
    pub fn pages_kept(&self) -> u32 {
        (self.reserve_blocks + self.planes[0].open.len() as u32) * self.geometry.pages_per_block
    }

    /// Takes `count` block groups of each pool of an erased drive out of use for good, drawn from `seed`: they are bad from the
    /// factory.
    pub fn draw_bad_blocks(&mut self, count: u32, seed: u64) {
        let mut random = Pcg64Mcg::new(u128::from(seed) << 1 | 1 << 101);
        let pages = self.geometry.pages_per_block;
        for pool in self.pools() {
            for left in (0..count).rev() {
                let erased = &mut self.pools[pool.index()].erased;
                assert!(erased.len() > left as usize, "bad blocks are drawn from an erased drive");
                let index = ((u128::from(random.next_u64()) * erased.len() as u128) >> 64) as usize;
                let group = erased.remove(index).expect("an index below the number of erased block groups");
                for block in self.blocks_of(group) {
                    // A block without erased or valid pages that is no candidate is never touched.
                    self.next_page[block as usize] = pages as u16;
                    self.planes[self.geometry.plane_of(block) as usize].free_pages -= pages;
                }
            }
        }
    }

    /// Whether a block of a drive without work under way is bad: it takes no program and holds nothing.
    pub(crate) fn is_bad(&self, block: BlockIx) -> bool {
        let pages = self.geometry.pages_per_block;
        u32::from(self.next_page[block as usize]) == pages && self.reverse[(block * pages) as usize] == NONE
    }

    /// Bytes that the tables take.
    pub fn bytes(&self) -> usize {
        let of_pages = self.map.len() * 4 + self.reverse.len() * 4 + self.valid.len() * 8 + self.sequence.len() * 8;
        of_pages + self.counts.len() * (size_of::<Count>() + size_of::<u16>() + size_of::<u32>() + size_of::<u64>())
    }

    /// The physical page of a logical one, or `NONE`.
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Ppn {
        self.map[lpn as usize]
    }

    /// The number of logical pages.
    pub fn logical_pages(&self) -> Lpn {
        self.map.len() as Lpn
    }

    /// The block of a physical page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> BlockIx {
        self.pages_per_block.divide(ppn)
    }

    /// The offset of a physical page in its block. Pages of several planes go into one command if they have the same.
    #[inline]
    pub fn offset_of(&self, ppn: Ppn) -> u32 {
        self.pages_per_block.split(ppn).0
    }

    /// Whether the page at an offset of a block holds the present copy of a logical one.
    #[inline]
    pub fn is_valid_at(&self, block: BlockIx, offset: u32) -> bool {
        self.is_valid(block * self.geometry.pages_per_block + offset)
    }

    /// The plane of a physical page.
    #[inline]
    pub fn plane_of(&self, ppn: Ppn) -> PlaneIx {
        self.pages_per_plane.divide(ppn)
    }

    /// The logical page that a physical page was written for.
    #[inline]
    pub fn owner(&self, ppn: Ppn) -> Lpn {
        self.reverse[ppn as usize]
    }

    /// The out-of-band sequence number of a physical page, if the design keeps them.
    pub fn sequence(&self, ppn: Ppn) -> Option<u64> {
        let sequence = self.durable.as_ref().map_or(&self.sequence, |durable| &durable.sequence);
        sequence.get(ppn as usize).copied()
    }

    /// The physical pages of a block.
    pub fn range_of(&self, block: BlockIx) -> Range<Ppn> {
        block * self.geometry.pages_per_block..(block + 1) * self.geometry.pages_per_block
    }

    /// Brings the map entry of a logical page near.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.map, lpn as usize);
    }

    /// Brings the validity and the count of a logical page's present copy near. Reads the map entry.
    #[inline]
    pub fn prefetch_copy(&self, lpn: Lpn) {
        let ppn = self.map[lpn as usize];
        if ppn != NONE {
            prefetch(&self.valid, (ppn / 64) as usize);
            prefetch(&self.counts, self.group_of(self.block_of(ppn)).index());
        }
    }

    /// Brings the validity and the owners of a block's pages near.
    pub fn prefetch_block(&self, block: BlockIx) {
        let pages = self.geometry.pages_per_block;
        let first = (block * pages) as usize;
        prefetch(&self.valid, first / 64);
        (first..first + pages as usize).step_by(16).for_each(|ppn| prefetch(&self.reverse, ppn));
    }

    /// Whether a physical page holds the present copy of a logical one.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.valid[(ppn / 64) as usize] >> (ppn % 64) & 1 == 1
    }

    /// Erased pages of a plane.
    #[inline]
    pub fn free_pages(&self, plane: PlaneIx) -> u32 {
        self.planes[plane as usize].free_pages
    }

    /// Erased block groups of a pool: as many erased blocks in each of its planes.
    #[inline]
    pub fn erased_groups(&self, pool: Pool) -> u32 {
        self.pools[pool.index()].erased.len() as u32
    }

    /// Valid pages of a block group.
    #[inline]
    pub fn valid_pages(&self, group: BlockGroup) -> u32 {
        (self.counts[group.index()] & (NOT_A_VICTIM - 1)) as u32
    }

    #[cfg(test)]
    pub(crate) fn map(&self) -> &[Ppn] {
        &self.map
    }

    /// Every block has been erased so many times.
    #[cfg(test)]
    pub fn wear_for_test(&mut self, erases: u32) {
        self.erases.fill(erases);
    }

    /// Erases that a block has seen since the run began.
    pub fn erase_count(&self, block: BlockIx) -> u32 {
        self.erases[block as usize]
    }

    /// Erases that each block of a group has seen since the run began.
    #[inline]
    pub fn wear_of(&self, group: BlockGroup) -> u32 {
        self.erases[self.first_block(group) as usize]
    }

    /// When the last page of a closed block group was programmed, by its pool's clock.
    #[inline]
    pub fn closed_at(&self, group: BlockGroup) -> u64 {
        self.closed_at[group.index()]
    }

    /// Of every block group, its valid pages, and 0x4000 more where it may not be a victim.
    pub fn counts(&self) -> &Tracked<Count> {
        &self.counts
    }

    /// Of every block, its erases since the run began.
    pub fn erase_counts(&self) -> &Tracked<u32> {
        &self.erases
    }

    /// Of every block group, when its last page was programmed, by its pool's clock.
    pub fn times_of_closing(&self) -> &Tracked<u64> {
        &self.closed_at
    }

    /// A pool's clock: the pages programmed in it, by host and GC, since the tables were opened.
    #[inline]
    pub fn clock(&self, pool: Pool) -> u64 {
        self.pools[pool.index()].programs
    }

    /// The number of write points of a plane.
    pub fn write_points(&self, plane: PlaneIx) -> usize {
        self.planes[plane as usize].open.len()
    }

    /// The page offset at which a write point will program next; 0 where a new block would be opened.
    pub fn next_offset(&self, plane: PlaneIx, write_point: usize) -> u32 {
        let block = self.planes[plane as usize].open[write_point];
        if block == NONE { 0 } else { u32::from(self.next_page[block as usize]) }
    }

    /// Whether a page of an open block has been taken and not yet programmed. Only the last one taken can be so.
    pub fn programs_under_way(&self, plane: PlaneIx) -> bool {
        self.planes[plane as usize].open.iter().filter(|&&block| block != NONE).any(|&block| {
            let taken = u32::from(self.next_page[block as usize]);
            taken > 0 && self.reverse[(block * self.geometry.pages_per_block + taken - 1) as usize] == NONE
        })
    }

    /// The pages that GC could program at a write point.
    pub fn room_for_gc(&self, plane: PlaneIx, write_point: usize) -> u32 {
        let pages = self.geometry.pages_per_block;
        let open = self.planes[plane as usize].open[write_point];
        let rest = if open == NONE { 0 } else { pages - u32::from(self.next_page[open as usize]) };
        self.erased_groups(self.pool_of(plane)) * pages + rest
    }

    /// Whether a claimant may program a page at a write point now.
    #[inline]
    pub fn can_take(&self, plane: PlaneIx, write_point: usize, claimant: Claimant) -> bool {
        self.can_open(plane, claimant) || self.planes[plane as usize].open[write_point] != NONE && self.can_go_on(plane, claimant)
    }

    /// Whether a claimant may open an erased block of a plane.
    #[inline]
    pub(super) fn can_open(&self, plane: PlaneIx, claimant: Claimant) -> bool {
        let kept = if claimant == Claimant::Gc { 0 } else { self.reserve_blocks };
        self.erased_groups(self.pool_of(plane)) > kept
    }

    /// Whether a claimant may go on with the open blocks of a plane. Once GC has opened the reserve, the rest of that block is GC's
    /// alone, or a GC that yields could run dry.
    #[inline]
    pub(super) fn can_go_on(&self, plane: PlaneIx, claimant: Claimant) -> bool {
        claimant == Claimant::Gc || self.erased_groups(self.pool_of(plane)) >= self.reserve_blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: Geometry = Geometry {
        channels: 1,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 1,
        blocks_per_plane: 4,
        pages_per_block: 2,
        page_bytes: 4096,
    };

    pub(crate) fn tiny() -> Tables {
        Tables::new(&TINY, 4, 1, 1, true)
    }

    #[test]
    fn gc_has_room_in_what_is_left_of_the_open_block_and_in_every_erased_one() {
        let mut tables = tiny();
        assert_eq!(tables.room_for_gc(0, 0), 8);
        for room in [7, 6, 5] {
            tables.take(0, 0, Claimant::Host).unwrap();
            assert_eq!(tables.room_for_gc(0, 0), room);
        }
    }

    #[test]
    fn the_size_of_the_tables_follows_from_pages_logical_pages_and_blocks() {
        let bytes = |logical, blocks_per_plane| {
            let geometry = Geometry { blocks_per_plane, pages_per_block: 64, ..TINY };
            Tables::new(&geometry, logical, 1, 1, true).bytes()
        };
        assert_eq!(bytes(64, 4) - bytes(40, 4), 24 * 4);
        // The owner of each page, its number in the order of programs, its validity; and what a block counts.
        let of_blocks = bytes(64, 8) - bytes(64, 4);
        assert_eq!(of_blocks, 4 * (64 * 4 + 64 * 8 + 64 / 8 + size_of::<Count>() + 2 + 4 + 8));
    }

    #[test]
    fn pages_are_programmed_in_order_into_erased_blocks_and_the_reserve_is_left_to_gc() {
        let mut tables = tiny();
        for (lpn, ppn) in [(0, 0), (1, 1), (2, 2), (3, 3), (0, 4), (0, 5)] {
            assert_eq!(tables.take(0, 0, Claimant::Host), Some(ppn));
            tables.commit_write(lpn, ppn);
        }
        assert_eq!(tables.take(0, 0, Claimant::Host), None, "the last erased block is the reserve");
        assert!(tables.can_take(0, 0, Claimant::Gc));
        assert_eq!(tables.victim_counts(Pool(0)), [1, 2, 1, NOT_A_VICTIM]);
        tables.audit().unwrap();
    }

    #[test]
    fn a_moved_page_that_was_overwritten_meanwhile_is_stale_at_its_new_place() {
        let mut tables = tiny();
        for lpn in [0, 1] {
            let ppn = tables.take(0, 0, Claimant::Host).unwrap();
            tables.commit_write(lpn, ppn);
        }
        let newer = tables.take(0, 0, Claimant::Host).unwrap();
        let to = tables.take(0, 0, Claimant::Gc).unwrap();
        tables.commit_write(0, newer);
        assert!(!tables.commit_move(0, 0, to));
        assert_eq!(tables.lookup(0), newer);
        assert_eq!(tables.next_valid(&mut tables.pages_of(0)), Some(1), "page 0 was overwritten before GC looked");
        tables.audit().unwrap();
    }

    #[test]
    fn a_page_that_was_given_up_while_it_was_programmed_or_moved_stays_unmapped() {
        let mut tables = tiny();
        for lpn in [0, 1] {
            let ppn = tables.take(0, 0, Claimant::Host).unwrap();
            tables.commit_write(lpn, ppn);
        }
        let to = tables.take(0, 0, Claimant::Gc).unwrap();
        let newer = tables.take(0, 0, Claimant::Host).unwrap();
        assert_eq!((tables.unmap(0), tables.unmap(1), tables.unmap(2)), (0, 1, NONE));
        assert!(!tables.commit_move(0, 0, to));
        tables.commit_void(1, newer);
        assert_eq!((tables.lookup(0), tables.lookup(1), tables.has_valid(tables.pages_of(0))), (NONE, NONE, false));
        assert_eq!(tables.victim_counts(Pool(0))[..2], [0, 0], "both blocks are full and hold nothing");
        tables.audit().unwrap();
    }

    #[test]
    fn bad_blocks_are_drawn_from_the_seed_and_never_programmed() {
        let geometry = Geometry {
            channels: 2,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 32,
            pages_per_block: 2,
            page_bytes: 4096,
        };
        let used = |seed: u64, count: u32| {
            let mut tables = Tables::new(&geometry, 128, 1, 1, false);
            tables.draw_bad_blocks(count, seed);
            assert_eq!(tables.free_pages(1), 64 - 2 * count);
            let mut blocks = Vec::new();
            for plane in 0..2 {
                let mut lpn = plane * 64;
                while let Some(ppn) = tables.take(plane, 0, Claimant::Gc) {
                    tables.commit_write(lpn, ppn);
                    blocks.push(geometry.block_of(ppn));
                    lpn += 1;
                }
            }
            tables.audit().unwrap();
            blocks.dedup();
            blocks
        };
        assert_eq!(used(1, 0).len(), 64);
        assert_eq!(used(1, 3).len(), 2 * 29);
        assert_eq!(used(1, 3), used(1, 3));
        assert_ne!(used(1, 3), used(2, 3));
    }

    #[test]
    fn an_erase_returns_the_pages_of_a_block() {
        let mut tables = tiny();
        for lpn in [0, 1, 0, 1] {
            let ppn = tables.take(0, 0, Claimant::Host).unwrap();
            tables.commit_write(lpn, ppn);
        }
        tables.begin_collect(BlockGroup(0));
        let unseen = tables.pages_of(0);
        assert!(!tables.has_valid(unseen));
        tables.erased(BlockGroup(0));
        assert_eq!(tables.free_pages(0), 6);
        assert_eq!(tables.erase_count(0), 1);
        tables.audit().unwrap();
    }
}
