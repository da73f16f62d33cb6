//! The tables as part of an image.

use crate::ftl::{Count, NOT_A_VICTIM, PADDING, PoolTables, Tables};
use crate::ids::{BlockGroup, BlockIx, NONE, Pool};
use crate::mem::prefetch;
use crate::stream::{LoadError, Sink, Source, put_all, take_all, take_one};
use std::ops::Range;

impl Tables {
    /// Gives everything that does not follow from the rest.
    pub(crate) fn save<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        put_all(sink, &self.next_page, u16::to_le_bytes)?;
        put_all(sink, &self.erases, u32::to_le_bytes)?;
        put_all(sink, &self.closed_at, u64::to_le_bytes)?;
        for pool in self.pools() {
            let PoolTables { erased, programs } = &self.pools[pool.index()];
            put_all(sink, &[*programs], u64::to_le_bytes)?;
            for plane in self.planes_of(pool) {
                put_all(sink, &self.planes[plane as usize].open, u32::to_le_bytes)?;
            }
            put_all(sink, &[erased.len() as u32], u32::to_le_bytes)?;
            let (first, rest) = erased.as_slices();
            put_all(sink, first, |BlockGroup(group)| group.to_le_bytes())?;
            put_all(sink, rest, |BlockGroup(group)| group.to_le_bytes())?;
        }
        put_all(sink, &self.valid, u64::to_le_bytes)?;
        put_all(sink, &self.reverse, u32::to_le_bytes)?;
        put_all(sink, &[self.last_sequence], u64::to_le_bytes)?;
        put_all(sink, &self.sequence, u64::to_le_bytes)
    }

    /// Gives what follows from the rest.
    pub(crate) fn save_derived<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        put_all(sink, &self.counts, Count::to_le_bytes)?;
        put_all(sink, &self.live, u32::to_le_bytes)?;
        put_all(sink, &self.map, u32::to_le_bytes)
    }

    /// A digest of where each page lies, of how far each block is programmed and how often it was erased, and of the open blocks.
    pub(crate) fn digest(&self) -> u64 {
        let mix = |sum: u64, value: u64| (sum ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let open = |pool| self.planes_of(pool).flat_map(|plane| self.planes[plane as usize].open.iter().copied());
        let erased = |pool: Pool| self.pools[pool.index()].erased.iter().map(|group| group.0);
        let blocks = self.pools().flat_map(|pool| open(pool).chain(erased(pool)));
        let mut digest = self.map.iter().chain(self.erases.iter()).copied().chain(blocks).fold(0, |sum, value| mix(sum, value.into()));
        digest = self.next_page.iter().fold(digest, |sum, &value| mix(sum, value.into()));
        digest
    }

    /// Takes what `save_derived` gave, after what `save` gave. Hardly anything is checked: the bytes must be those that were given.
    pub(crate) fn take_derived<S: Source>(&mut self, source: &mut S) -> Result<(), LoadError<S::Error>> {
        take_all(source, &mut self.counts, Count::from_le_bytes)?;
        take_all(source, &mut self.live, u32::from_le_bytes)?;
        take_all(source, &mut self.map, u32::from_le_bytes)?;
        self.find_least_counts();
        Ok(())
    }

    /// Takes what `save` gave, into the tables of an erased drive of the same layout.
    pub(crate) fn take_saved<S: Source>(&mut self, source: &mut S) -> Result<(), LoadError<S::Error>> {
        take_all(source, &mut self.next_page, u16::from_le_bytes)?;
        take_all(source, &mut self.erases, u32::from_le_bytes)?;
        take_all(source, &mut self.closed_at, u64::from_le_bytes)?;
        for pool in self.pools() {
            self.load_blocks(pool, source)?;
        }
        take_all(source, &mut self.valid, u64::from_le_bytes)?;
        take_all(source, &mut self.reverse, u32::from_le_bytes)?;
        self.last_sequence = take_one(source, u64::from_le_bytes)?;
        take_all(source, &mut self.sequence, u64::from_le_bytes)?;
        Ok(())
    }

    /// Takes everything that `save` gave, into the tables of an erased drive of the same layout. `bad_per_plane`: bad blocks that
    /// each plane must have.
    pub(crate) fn load<S: Source>(&mut self, bad_per_plane: u32, source: &mut S) -> Result<(), LoadError<S::Error>> {
        self.take_saved(source)?;
        if self.sequence.iter().any(|&sequence| sequence > self.last_sequence) {
            return Err(LoadError::Faulty(format!("a page has a sequence number above the last, {}", self.last_sequence)));
        }
        self.counts.fill(0);
        for block in 0..self.next_page.len() as BlockIx {
            self.map_block(block).map_err(LoadError::Faulty)?;
        }
        self.find_least_counts();
        for plane in 0..self.geometry.planes() {
            let bad = self.geometry.blocks_of(plane).filter(|&block| self.is_bad(block)).count();
            if bad != bad_per_plane as usize {
                return Err(LoadError::Faulty(format!("plane {plane} has {bad} bad blocks, its device {bad_per_plane}")));
            }
        }
        let physical = self.reverse.len();
        if !physical.is_multiple_of(64) && self.valid.last().is_some_and(|&word| word >> (physical % 64) != 0) {
            return Err(LoadError::Faulty("a page beyond the last is valid".into()));
        }
        Ok(())
    }

    /// The clock of a pool, and which of its blocks are open and erased.
    fn load_blocks<S: Source>(&mut self, pool: Pool, source: &mut S) -> Result<(), LoadError<S::Error>> {
        let (plane, pages) = (self.first_plane(pool), self.geometry.pages_per_block);
        let Range { start: first, end } = self.groups_of(pool);
        let of_plane = first as usize..end as usize;
        let faulty = |what: String| Err(LoadError::Faulty(format!("plane {plane}: {what}")));
        if let Some(block) = of_plane.clone().find(|&block| u32::from(self.next_page[block]) > pages) {
            return faulty(format!("block {block} has {} programmed pages of {pages}", self.next_page[block]));
        }
        let next_page = &self.next_page[of_plane.clone()];
        let programmed = |block: BlockIx| next_page.get(block.wrapping_sub(first) as usize).map(|&pages| u32::from(pages));
        let tables = &mut self.planes[plane as usize];
        let programs = take_one(source, u64::from_le_bytes)?;
        if self.closed_at[of_plane].iter().any(|&closed_at| closed_at > programs) {
            return faulty(format!("a block closed after the plane's clock, {programs}"));
        }
        take_all(source, &mut tables.open, u32::from_le_bytes)?;
        for (write_point, &block) in tables.open.iter().enumerate() {
            let is_open = programmed(block).is_some_and(|programmed| programmed > 0 && programmed < pages);
            if block != NONE && (!is_open || tables.open[..write_point].contains(&block)) {
                return faulty(format!("block {block} can't be the open block of write point {write_point}"));
            }
        }
        let begun = next_page.iter().filter(|&&programmed| programmed > 0 && u32::from(programmed) < pages).count();
        if begun != tables.open.iter().filter(|&&block| block != NONE).count() {
            return faulty(format!("{begun} blocks are programmed in part, and others are open"));
        }
        let count = take_one(source, u32::from_le_bytes)?;
        let erased = next_page.iter().filter(|&&programmed| programmed == 0).count();
        if count as usize != erased || count < self.reserve_blocks {
            let reserve = self.reserve_blocks;
            return faulty(format!("{count} blocks wait to be opened, {erased} are erased and {reserve} must be"));
        }
        let mut line = vec![NONE; erased];
        take_all(source, &mut line, u32::from_le_bytes)?;
        let mut seen = vec![false; next_page.len()];
        for &block in &line {
            if programmed(block) != Some(0) || std::mem::replace(&mut seen[(block - first) as usize], true) {
                return faulty(format!("block {block} can't wait to be opened"));
            }
        }
        self.pools[pool.index()] = PoolTables { erased: line.into_iter().map(BlockGroup).collect(), programs };
        tables.free_pages = next_page.iter().map(|&programmed| pages - u32::from(programmed)).sum();
        Ok(())
    }

    /// Maps the valid pages of a block and counts them; what is wrong with it otherwise.
    fn map_block(&mut self, block: BlockIx) -> Result<(), String> {
        let pages = self.geometry.pages_per_block;
        let first = block * pages;
        let programmed = u32::from(self.next_page[block as usize]);
        let nothing = |ppn: u32| self.reverse[ppn as usize] == NONE && !self.is_valid(ppn);
        if self.is_bad(block) && (first..first + pages).all(nothing) {
            let group = self.group_of(block);
            self.counts[group.index()] |= NOT_A_VICTIM;
            return Ok(());
        }
        for ppn in first..first + pages {
            let lpn = self.reverse[ppn as usize];
            let is_fit = if ppn < first + programmed {
                (lpn as usize) < self.map.len() || lpn == PADDING && !self.is_valid(ppn)
            } else {
                lpn == NONE && !self.is_valid(ppn)
            };
            if !is_fit {
                return Err(format!("physical page {ppn}, of block {block} with {programmed} programmed pages, holds logical page {lpn}"));
            }
            prefetch(&self.map, lpn as usize);
        }
        let mut valid = 0;
        let mut unseen = self.pages_of(block);
        while let Some(ppn) = self.next_valid(&mut unseen) {
            let lpn = self.reverse[ppn as usize];
            let held = std::mem::replace(&mut self.map[lpn as usize], ppn);
            if held != NONE {
                return Err(format!("logical page {lpn} is valid twice, in physical pages {held} and {ppn}"));
            }
            valid += 1;
        }
        let group = self.group_of(block);
        self.counts[group.index()] += valid;
        if let Some(live) = self.live.get_mut(self.geometry.plane_of(block) as usize) {
            *live += valid as u32;
        }
        self.counts[group.index()] |= if programmed < pages { NOT_A_VICTIM } else { 0 };
        Ok(())
    }
}
