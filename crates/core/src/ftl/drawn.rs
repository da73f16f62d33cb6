//! A pool of one plane whose blocks have been drawn, put down in the tables without being written.

use crate::ftl::{Count, NOT_A_VICTIM, PoolTables, Tables};
use crate::ids::{BlockIx, Lpn, NONE, PlaneIx, Pool};
use crate::mem::prefetch;
use crate::units::{bounded, shuffle};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// Pages ahead of which a map entry is fetched.
const AHEAD: usize = 16;

/// The erased space of a plane.
#[derive(Default)]
pub(crate) struct Space {
    /// Erased blocks.
    pub erased: u32,
    /// Erased pages that are left in the open block of each write point; 0 where none is open.
    pub remainders: Vec<u32>,
}

/// What is drawn of a plane before its pages are.
pub(crate) struct Drawn {
    pub space: Space,
    /// Valid pages of the closed blocks, from the youngest to the oldest.
    pub valid: Vec<u32>,
    /// Whether blocks lie in the order of their indices, the oldest first, or anywhere.
    pub by_index: bool,
    /// Pages that have been programmed since the plane was new.
    pub programs: u64,
    /// Valid share of victims.
    pub victim_valid: f64,
}

impl Tables {
    /// Records the drawn blocks with the logical pages `lpns`. Returns the erases that their wear stands for.
    pub(crate) fn fill_drawn(&mut self, pool: Pool, drawn: &Drawn, lpns: &mut [Lpn], random: &mut Pcg64Mcg) -> u64 {
        let (pages, blocks) = (self.geometry.pages_per_block, self.erased_groups(pool));
        shuffle(random, lpns);
        // The erased blocks, the open ones, and the closed ones from the youngest to the oldest: in the order of the indices
        // from the last to the first, or in any.
        let mut order: Vec<BlockIx> = self.pools[pool.index()].erased.iter().rev().map(|&group| self.first_block(group)).collect();
        if !drawn.by_index {
            shuffle(random, &mut order);
        }
        // Those erased longest ago are opened first.
        let (erased, rest) = order.split_at(drawn.space.erased as usize);
        let programmed: u64 = u64::from(blocks - drawn.space.erased) * u64::from(pages)
            - drawn.space.remainders.iter().map(|&rest| u64::from(rest)).sum::<u64>();
        let erases = (drawn.programs - programmed) / u64::from(pages);
        // Wear is even: the blocks erased last are one erase ahead.
        let ahead = if drawn.by_index { 0 } else { erases % u64::from(blocks) };
        let even = erases / u64::from(blocks);
        for (rank, &block) in (0..).zip(&order) {
            self.erases[block as usize] = (even + u64::from(rank < ahead)) as u32;
        }
        let mut pen = Pen { lpns, next: 0, clock: drawn.programs };
        let mut open = Vec::with_capacity(drawn.space.remainders.len());
        let mut rest = rest.iter().copied();
        for &erased_pages in &drawn.space.remainders {
            if erased_pages == 0 {
                open.push(NONE);
                continue;
            }
            let block = rest.next().expect("as many blocks as are drawn");
            let valid = (pages - erased_pages).min(pen.left());
            self.write_block(block, pages - erased_pages, valid, &mut pen, random);
            open.push(block);
        }
        for (block, &valid) in rest.zip(&drawn.valid) {
            self.write_block(block, pages, valid, &mut pen, random);
        }
        self.last_sequence = self.last_sequence.max(drawn.programs);
        let plane = self.first_plane(pool) as usize;
        if let Some(live) = self.live.get_mut(plane) {
            *live = lpns.len() as u32;
        }
        self.planes[plane].free_pages = drawn.space.erased * pages + drawn.space.remainders.iter().sum::<u32>();
        self.planes[plane].open = open;
        self.relieved.note(plane as PlaneIx);
        let erased = erased.iter().rev().map(|&block| self.group_of(block)).collect();
        self.pools[pool.index()] = PoolTables { erased, programs: drawn.programs };
        even * u64::from(blocks) + ahead
    }

    /// Records a block of which `programmed` pages are programmed and `valid` of them are valid, from its last page to its first.
    fn write_block(&mut self, block: BlockIx, programmed: u32, valid: u32, pen: &mut Pen<'_>, random: &mut Pcg64Mcg) {
        let pages = self.geometry.pages_per_block;
        let is_closed = programmed == pages;
        self.next_page[block as usize] = programmed as u16;
        let group = self.group_of(block);
        self.counts[group.index()] = valid as Count + if is_closed { 0 } else { NOT_A_VICTIM };
        self.count_fell(group);
        if is_closed {
            self.closed_at[group.index()] = pen.clock;
        }
        let mut valid_left = valid;
        for left in (1..=programmed).rev() {
            let ppn = block * pages + left - 1;
            // As many of the pages that are left are valid as must be; the very first is, so that there is a younger copy.
            let is_valid = valid_left > 0 && (pen.next == 0 || bounded(random.next_u64(), left.into()) < u64::from(valid_left));
            let lpn = if is_valid {
                valid_left -= 1;
                let lpn = pen.lpns[pen.next];
                pen.next += 1;
                if let Some(&ahead) = pen.lpns.get(pen.next + AHEAD) {
                    prefetch(&self.map, ahead as usize);
                }
                self.map[lpn as usize] = ppn;
                self.valid[(ppn / 64) as usize] |= 1 << (ppn % 64);
                lpn
            } else {
                pen.lpns[bounded(random.next_u64(), pen.next.max(1) as u64) as usize]
            };
            self.reverse[ppn as usize] = lpn;
            if let Some(sequence) = self.sequence.get_mut(ppn as usize) {
                *sequence = pen.clock;
            }
            pen.clock -= 1;
        }
    }
}

/// Where the filling of a plane has got to, from its youngest page to its oldest.
struct Pen<'a> {
    /// Logical pages in random order: those before `next` have their present copies.
    lpns: &'a [Lpn],
    next: usize,
    /// The plane's clock when the page was programmed.
    clock: u64,
}

impl Pen<'_> {
    fn left(&self) -> u32 {
        (self.lpns.len() - self.next) as u32
    }
}
