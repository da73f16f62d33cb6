//! Writing a drive plane after plane.
//!
//! Where a logical page's plane is fixed, planes know nothing of each other, and it makes no difference whether pages are
//! written in the order of the stream or plane after plane. A plane's books fit a processor's cache and the drive's do not,
//! so the latter is several times faster. Each plane's share of the stream is set aside in the memory of the map, which is
//! not needed meanwhile: while a plane is written, the books number its logical pages from 0 and have a map of them alone,
//! made anew from the reverse map.

use crate::design::Design;
use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::ageing::Layout;
use crate::ftl::ageing::writing::Tally;
use crate::ftl::{Books, Claimant, NOT_A_VICTIM};
use crate::ids::{BlockIx, Lpn, NONE, PlaneIx};
use crate::mem::prefetch;
use crate::observe::Observer;
use crate::policy::VictimPolicy;

/// Writes ahead of which a map entry is fetched.
const AHEAD: usize = 16;

/// Writes pages plane after plane.
pub(super) struct Planewise {
    layout: Layout,
    /// The memory of the map: pages to be written, by plane, as numbers inside the plane.
    shares: Vec<Lpn>,
}

/// Whether planes are independent of each other, and nobody can see that logical pages are numbered otherwise. Sequence
/// numbers tell the order of writes in different planes, and policies from outside may look at the map.
fn applies(design: &Design, planes: u32) -> Option<Layout> {
    let custom = design.victim.iter().any(|policy| matches!(policy, VictimPolicy::Custom(_)));
    if custom || design.gc.page_sequence { None } else { Layout::of(&design.place, planes) }
}

impl Planewise {
    /// Takes the map of an erased drive for its own use, until `finish` returns it; `None` if pages must be written in the
    /// order of the stream.
    pub fn new<O: Observer, Q: EventQueue>(drive: &mut Drive<O, Q>) -> Option<Self> {
        let layout = applies(&drive.policies, drive.state.device.geometry.planes())?;
        let of_plane = layout.pages_of_plane(drive.state.books.map.len() as u32);
        let shares = std::mem::replace(&mut drive.state.books.map, vec![NONE; of_plane as usize]);
        Some(Self { layout, shares })
    }

    /// Writes `count` pages of a stream. Returns false if `progress` said so, before all were written.
    pub fn write<O: Observer, Q: EventQueue, N: FnMut() -> Lpn + Clone>(
        &mut self,
        drive: &mut Drive<O, Q>,
        tally: &mut Tally,
        count: u64,
        next: &mut N,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> bool {
        let mut left = count;
        while left > 0 {
            let part = left.min(self.shares.len() as u64);
            let ends = self.share_out(part, next);
            let mut start = 0;
            for (index, &end) in ends.iter().enumerate() {
                let plane = self.layout.plane(index);
                let share = &self.shares[start as usize..end as usize];
                if !share.is_empty() {
                    drive.state.books.map_one_plane(plane);
                    for (index, &lpn) in share.iter().enumerate() {
                        if let Some(&ahead) = share.get(index + AHEAD) {
                            drive.state.books.prefetch(ahead);
                        }
                        drive.write_functionally(lpn, plane, tally);
                    }
                }
                start = end;
                if !progress(tally.written) {
                    return false;
                }
            }
            left -= part;
        }
        true
    }

    /// Sets aside each plane's share of the next `count` pages of a stream; returns where the shares end.
    fn share_out<N: FnMut() -> Lpn + Clone>(&mut self, count: u64, next: &mut N) -> Vec<u32> {
        let layout = &self.layout;
        let mut ends = vec![0u32; layout.planes()];
        let mut again = next.clone();
        for _ in 0..count {
            ends[layout.split(again()).0] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            // Where the share begins, until it is filled.
            sum += std::mem::replace(end, sum);
        }
        for _ in 0..count {
            let (index, inside) = layout.split(next());
            let end = &mut ends[index];
            self.shares[*end as usize] = inside;
            *end += 1;
        }
        ends
    }

    /// Returns the map, with every logical page under its own number again.
    pub fn finish<O: Observer, Q: EventQueue>(mut self, drive: &mut Drive<O, Q>) {
        self.shares.fill(NONE);
        let books = &mut drive.state.books;
        books.map = self.shares;
        for index in 0..self.layout.planes() {
            books.number_whole_drive(self.layout.plane(index), |inside| self.layout.join(index, inside));
        }
    }
}

/// The words of a bitmap that hold `count` bits from `first`, each with the mask of those bits.
fn words(first: u32, count: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = first + count;
    (first / 64..end.div_ceil(64)).map(move |word| {
        let from = first.max(word * 64) - word * 64;
        let to = end.min((word + 1) * 64) - word * 64;
        (word as usize, u64::MAX >> (64 - (to - from)) << from)
    })
}

impl Books {
    /// Moves every valid page of a block to one write point and erases the block, as `collect_functionally` does page by page.
    /// `owners` is scratch.
    pub(super) fn collect_whole(&mut self, victim: BlockIx, write_point: usize, owners: &mut Vec<Lpn>) -> u32 {
        const LPNS_PER_LINE: usize = 64 / size_of::<Lpn>();
        self.begin_collect(victim);
        let pages = self.geometry.pages_per_block;
        let plane = self.geometry.plane_of(victim);
        let first = victim * pages;
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
        assert_eq!(owners.len() as u32, self.valid_pages(victim), "block {victim} has as many valid pages as are counted");
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
            let books = &mut self.planes[plane as usize];
            books.free_pages -= count - 1;
            books.programs += u64::from(count) - 1;
            self.next_page[block as usize] += count as u16 - 1;
            self.counts[block as usize] += count as i16;
            if to + count == end {
                books.open[write_point] = NONE;
                self.counts[block as usize] -= NOT_A_VICTIM;
                self.closed_at[block as usize] = books.programs;
                self.count_fell(block);
            }
            left = rest;
        }
        self.counts[victim as usize] = NOT_A_VICTIM;
        self.erased(victim);
        owners.len() as u32
    }

    /// Makes the map one of a single plane, from the reverse map.
    fn map_one_plane(&mut self, plane: PlaneIx) {
        self.map.fill(NONE);
        let first = plane * self.geometry.blocks_per_plane;
        for block in first..first + self.geometry.blocks_per_plane {
            let pages = block * self.geometry.pages_per_block;
            let mut from = 0;
            while let Some(page) = self.next_valid(block, from) {
                self.map[self.reverse[(pages + page) as usize] as usize] = pages + page;
                from = page + 1;
            }
        }
    }

    /// Gives the logical pages of a plane the numbers that they have in the drive, and maps them.
    fn number_whole_drive(&mut self, plane: PlaneIx, number: impl Fn(Lpn) -> Lpn) {
        let first = plane * self.geometry.blocks_per_plane;
        for block in first..first + self.geometry.blocks_per_plane {
            if self.is_bad(block) {
                continue;
            }
            let pages = block * self.geometry.pages_per_block;
            let programmed = pages as usize..pages as usize + usize::from(self.next_page[block as usize]);
            for lpn in &mut self.reverse[programmed] {
                *lpn = number(*lpn);
                prefetch(&self.map, *lpn as usize);
            }
            let mut from = 0;
            while let Some(page) = self.next_valid(block, from) {
                self.map[self.reverse[(pages + page) as usize] as usize] = pages + page;
                from = page + 1;
            }
        }
    }
}
