//! The tables after a loss of power, made from what a scan of the flash finds and from the journal of trims, and from nothing else.
//!
//! Of each logical page the copy with the highest sequence number is the present one; copies of the same data have the same number,
//! and the one in the block that was programmed last is taken. A block that is programmed in part goes on as the open block of the
//! write point whose number its pages bear, after pages that were torn. A block whose erase was cut off holds nothing and is erased
//! again. The Harey Tortoise, section 3.1.

use crate::ftl::durable::{Durable, TORN, UNKNOWN};
use crate::ftl::{NOT_A_VICTIM, PADDING, PoolTables, Tables};
use crate::ids::{BlockIx, Lpn, NONE, Pool, Ppn};
use crate::stripes::{Place, Stripes};
use std::collections::VecDeque;

/// What a scan finds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Reads of out-of-band data in each block: its pages up to the first erased one, and that.
    pub reads: Vec<u32>,
    /// Blocks all of whose pages are torn: they are erased again.
    pub torn_blocks: Vec<BlockIx>,
}

impl Tables {
    /// Makes the tables of an erased drive those of one whose flash is as `durable` says. Stripes whose pages lie elsewhere than in the
    /// static layout are put there. `first_found`: the first copy found is taken for the present one, so that tests can see the
    /// oracle find it.
    pub(crate) fn recover(&mut self, durable: Box<Durable>, first_found: bool, stripes: Option<&mut Stripes>) -> Found {
        let mut found = Found::default();
        for pool in self.pools() {
            self.recover_blocks(&durable, pool, &mut found);
        }
        self.recover_map(&durable, first_found);
        if let Some(stripes) = stripes {
            self.recover_stripes(&durable, stripes);
        }
        self.count_valid();
        self.last_sequence = durable.sequence.iter().copied().max().unwrap_or(0);
        (self.numbered, self.durable) = (true, Some(durable));
        found
    }

    /// The blocks of a pool: how far each is programmed, and what follows from that.
    fn recover_blocks(&mut self, durable: &Durable, pool: Pool, found: &mut Found) {
        let pages = self.geometry.pages_per_block;
        let (plane, of_pool) = (self.first_plane(pool), self.groups_of(pool));
        let mean_erases = durable.mean_erases(of_pool.clone());
        self.pools[pool.index()] = PoolTables { erased: VecDeque::new(), programs: 0 };
        self.planes[plane as usize].free_pages = 0;
        let mut partly = Vec::new();
        for block in of_pool {
            let of = durable.blocks[block as usize];
            self.erases[block as usize] = if of.erases == UNKNOWN { mean_erases } else { of.erases };
            if of.bad {
                self.next_page[block as usize] = pages as u16;
                found.reads.push(0);
                continue;
            }
            let written = durable.written(block, pages);
            let first = (block * pages) as usize;
            let range = first..first + written as usize;
            for (reverse, &lpn) in self.reverse[range.clone()].iter_mut().zip(&durable.lpns[range.clone()]) {
                *reverse = if lpn < TORN { lpn } else { PADDING };
            }
            let torn = durable.lpns[range].iter().filter(|&&lpn| lpn == TORN).count() as u32;
            if torn == pages {
                found.torn_blocks.push(block);
            }
            found.reads.push((written + 1).min(pages));
            let (group, tables) = (self.group_of(block), &mut self.pools[pool.index()]);
            self.next_page[block as usize] = written as u16;
            self.planes[plane as usize].free_pages += pages - written;
            match written {
                0 => tables.erased.push_back(group),
                _ if written < pages => partly.push((block, of.write_point)),
                _ => self.closed_at[group.index()] = of.clock,
            }
            if written > 0 {
                tables.programs = tables.programs.max(of.clock);
            }
        }
        self.reopen(&partly);
    }

    /// Blocks of a plane that are programmed in part go on as open blocks: at their own write points, those whose own is taken at others, and
    /// what is left over is padded.
    fn reopen(&mut self, partly: &[(BlockIx, u8)]) {
        let Some(&(first, _)) = partly.first() else { return };
        let plane = self.geometry.plane_of(first);
        let (pages, clock) = (self.geometry.pages_per_block, self.clock(self.pool_of(plane)));
        let open = &mut self.planes[plane as usize].open;
        let mut homeless = Vec::new();
        for &(block, point) in partly {
            match open.get_mut(usize::from(point)) {
                Some(held) if *held == NONE => *held = block,
                _ => homeless.push(block),
            }
        }
        for block in homeless {
            if let Some(held) = self.planes[plane as usize].open.iter_mut().find(|held| **held == NONE) {
                *held = block;
                continue;
            }
            let next = std::mem::replace(&mut self.next_page[block as usize], pages as u16);
            self.planes[plane as usize].free_pages -= pages - u32::from(next);
            let rest = (block * pages + u32::from(next)) as usize..((block + 1) * pages) as usize;
            self.reverse[rest].fill(PADDING);
            let group = self.group_of(block);
            self.closed_at[group.index()] = clock;
        }
    }

    /// Whether a copy of a page comes before another one.
    fn is_before(&self, durable: &Durable, copy: Ppn, other: Ppn) -> bool {
        let rank = |ppn: Ppn| (durable.sequence[ppn as usize], durable.blocks[self.block_of(ppn) as usize].clock);
        rank(copy) > rank(other)
    }

    fn recover_map(&mut self, durable: &Durable, first_found: bool) {
        for (ppn, &lpn) in (0..).zip(&durable.lpns) {
            if lpn >= TORN || durable.is_trimmed(lpn) {
                continue;
            }
            let held = self.map[lpn as usize];
            if held == NONE || !first_found && self.is_before(durable, ppn, held) {
                self.map[lpn as usize] = ppn;
            }
        }
    }

    /// A stripe lies where each of its pages has a copy of its latest data: at home, or else where its parity is. While it moves
    /// that is its former place until the last page has been programmed at the new one.
    fn recover_stripes(&mut self, durable: &Durable, stripes: &mut Stripes) {
        let strays = |tables: &Self, lpn: Lpn| {
            tables.map[lpn as usize] != NONE && tables.plane_of(tables.map[lpn as usize]) != stripes.static_plane(lpn)
        };
        let pages = (0..stripes.pages() as Lpn).filter(|&lpn| strays(self, lpn));
        let mut away: Vec<u32> = pages.map(|lpn| stripes.of(lpn)).collect();
        away.sort_unstable();
        away.dedup();
        if away.is_empty() {
            return;
        }
        // Copies of the latest data, by logical page.
        let latest = (0..).zip(&durable.lpns).filter(|&(ppn, &lpn)| {
            let present = if lpn < TORN { self.map[lpn as usize] } else { NONE };
            present != NONE
                && durable.sequence[ppn as usize] == durable.sequence[present as usize]
                && away.binary_search(&stripes.of(lpn)).is_ok()
        });
        let mut copies: Vec<(Lpn, Ppn)> = latest.map(|(ppn, &lpn)| (lpn, ppn)).collect();
        copies.sort_unstable();
        for stripe in away {
            let copies_of = |lpn: Lpn| {
                let from = copies.partition_point(|&(other, _)| other < lpn);
                copies[from..].iter().take_while(move |&&(other, _)| other == lpn).map(|&(_, ppn)| ppn)
            };
            let (first, members) = stripes.members(stripe);
            let pages: Vec<Lpn> =
                (first..first + members).chain([stripes.parity(stripe)]).filter(|&lpn| self.map[lpn as usize] != NONE).collect();
            let parity = copies_of(stripes.parity(stripe)).map(|ppn| stripes.place_of_parity_in(self.plane_of(ppn)));
            let places: Vec<Place> = [stripes.static_place(stripe)].into_iter().chain(parity).collect();
            let in_place = |lpn: Lpn, place: Place| {
                let there = copies_of(lpn).filter(|&ppn| self.plane_of(ppn) == stripes.plane_if(lpn, place));
                there.reduce(|best, ppn| if self.is_before(durable, ppn, best) { ppn } else { best })
            };
            let place = places.into_iter().find(|&place| pages.iter().all(|&lpn| in_place(lpn, place).is_some()));
            let Some(place) = place else { continue };
            let present: Vec<(Lpn, Ppn)> = pages.iter().filter_map(|&lpn| Some((lpn, in_place(lpn, place)?))).collect();
            for (lpn, ppn) in present {
                self.map[lpn as usize] = ppn;
            }
            if place != stripes.static_place(stripe) {
                stripes.set_place(stripe, place);
            }
        }
    }

    /// Validity and all counts, from the map.
    fn count_valid(&mut self) {
        let pages = self.geometry.pages_per_block;
        self.counts.fill(0);
        for index in 0..self.map.len() {
            let ppn = self.map[index];
            if ppn == NONE {
                continue;
            }
            let (block, plane) = (self.block_of(ppn), self.plane_of(ppn));
            self.valid[(ppn / 64) as usize] |= 1 << (ppn % 64);
            let group = self.group_of(block);
            self.counts[group.index()] += 1;
            if let Some(live) = self.live.get_mut(plane as usize) {
                *live += 1;
            }
        }
        for block in 0..self.next_page.len() as BlockIx {
            if u32::from(self.next_page[block as usize]) < pages || self.is_bad(block) {
                let group = self.group_of(block);
                self.counts[group.index()] |= NOT_A_VICTIM;
            }
        }
        self.find_least_counts();
    }
}
