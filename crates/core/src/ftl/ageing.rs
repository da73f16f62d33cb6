//! Functional ageing: the state in which runs start, made in the books alone.
//!
//! The live pages are written once in order, then overwritten at random, while greedy GC holds every plane's erased share
//! at the one that the device's starting state names. It depends on the device and the layout, never on a design's
//! thresholds, so that every design starts from the same contents. TTFLASH, section 6 (pre-warmed drives); the state's
//! parameters are the device's.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::Claimant;
use crate::ids::{Lpn, NONE, PlaneIx};
use crate::observe::Observer;
use crate::policy::Place;
use crate::view::View;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// Pages that ageing looks ahead, so that map entries are near when they are needed.
const BATCH: usize = 32;

/// What ageing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aged {
    /// Live pages.
    pub live_pages: u64,
    /// Pages written, live ones and overwrites.
    pub written_pages: u64,
    /// Pages that GC moved.
    pub moved_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Least erased pages of any plane at the end.
    pub free_pages_min: u32,
    /// Most erased pages of any plane at the end.
    pub free_pages_max: u32,
    /// Mean valid share of the last victims, in thousandths: as many victims as the drive has planes times eight.
    pub victim_valid_permille: u32,
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Ages the drive to its device's starting state. `footprint` lists pages that must be mapped in any case. `progress` is
    /// told pages done and pages in all, and stops the ageing by returning false.
    pub fn age(&mut self, seed: u64, footprint: &[Lpn], mut progress: impl FnMut(u64, u64) -> bool) -> Aged {
        let device = self.state.device.clone();
        let mapped = device.mapped_pages();
        let beyond: Vec<Lpn> = footprint.iter().copied().filter(|&lpn| lpn >= mapped && u64::from(lpn) < device.logical_pages()).collect();
        let live = u64::from(mapped) + beyond.len() as u64;
        let overwrites = live * u64::from(device.state.overwrite_percent) / 100;
        let total = live + overwrites;
        let target = free_target(&device);
        let mut aged = Aged { live_pages: live, ..Aged::default() };
        let mut recent = Recent::new(device.geometry.planes() as usize * 8);
        for lpn in (0..mapped).chain(beyond.iter().copied()) {
            self.write_functionally(lpn, target, &mut aged, &mut recent);
            if aged.written_pages & 0xf_ffff == 0 && !progress(aged.written_pages, total) {
                return aged;
            }
        }
        let mut random = Pcg64Mcg::new(u128::from(seed) << 1 | 1 << 100);
        let mut batch = [0 as Lpn; BATCH];
        let mut left = overwrites;
        while left > 0 {
            let count = left.min(BATCH as u64) as usize;
            for lpn in &mut batch[..count] {
                let index = bounded(random.next_u64(), live);
                *lpn = if index < u64::from(mapped) { index as Lpn } else { beyond[(index - u64::from(mapped)) as usize] };
                self.state.books.prefetch(*lpn);
            }
            for &lpn in &batch[..count] {
                self.state.books.prefetch_copy(lpn);
            }
            for &lpn in &batch[..count] {
                self.write_functionally(lpn, target, &mut aged, &mut recent);
            }
            left -= count as u64;
            if (aged.written_pages / BATCH as u64) & 0x7fff == 0 && !progress(aged.written_pages, total) {
                return aged;
            }
        }
        progress(total, total);
        if let Some(oracle) = &mut self.oracle {
            for lpn in (0..mapped).chain(beyond) {
                oracle.aged(lpn, self.state.books.lookup(lpn));
            }
        }
        let frees = (0..device.geometry.planes()).map(|plane| self.state.books.free_pages(plane));
        aged.free_pages_min = frees.clone().min().unwrap_or(0);
        aged.free_pages_max = frees.max().unwrap_or(0);
        aged.victim_valid_permille = recent.mean_permille(device.geometry.pages_per_block);
        aged
    }

    /// Writes a page in the books and collects its plane down to the target.
    fn write_functionally(&mut self, lpn: Lpn, target: u32, aged: &mut Aged, recent: &mut Recent) {
        let plane = self.policies.place.plane(lpn);
        let write_point = self.policies.place.write_point(View(&self.state), plane, false);
        let ppn = self.state.books.take(plane, write_point, Claimant::Host).expect("ageing keeps every plane above its reserve");
        self.state.books.commit_write(lpn, ppn);
        aged.written_pages += 1;
        let kept = self.policies.gc.reserve_blocks + self.policies.gc.write_points;
        if self.state.books.free_pages(plane) < target.max((kept + 1) * self.state.device.geometry.pages_per_block) {
            self.collect_for_ageing(plane, aged, recent);
        }
    }

    fn collect_for_ageing(&mut self, plane: PlaneIx, aged: &mut Aged, recent: &mut Recent) {
        let books = &self.state.books;
        let counts = books.victim_counts(plane);
        let least = counts.iter().copied().min().unwrap_or(i16::MAX);
        if least >= self.state.device.geometry.pages_per_block as i16 {
            // Nothing is stale yet: the live data alone exceed the target, and only the reserve bounds the plane.
            return;
        }
        let index = counts.iter().position(|&count| count == least).unwrap_or(0) as u32;
        let victim = plane * self.state.device.geometry.blocks_per_plane + index;
        recent.push(least as u32);
        aged.moved_pages += u64::from(self.collect_functionally(victim));
        aged.erases += 1;
    }

    /// The floor of a run's time: page requests (whether a write, and first sector) through map and GC bookkeeping alone, at
    /// the erased share of the starting state. Returns the reads that found a mapped page.
    pub fn replay_in_books(&mut self, requests: impl Iterator<Item = (bool, u64)>) -> u64 {
        let device = &self.state.device;
        let per_page = u64::from(device.geometry.sectors_per_page());
        let target = free_target(device);
        let mut batch = [(false, 0 as Lpn); BATCH];
        let mut count = 0;
        for (request, slot) in requests.zip(&mut batch) {
            *slot = (request.0, (request.1 / per_page) as Lpn);
            self.state.books.prefetch(slot.1);
            count += 1;
        }
        for &(write, lpn) in &batch[..count] {
            if write {
                self.state.books.prefetch_copy(lpn);
            }
        }
        let mut aged = Aged::default();
        let mut recent = Recent::new(1);
        let mut mapped = 0;
        for &(write, lpn) in &batch[..count] {
            if write {
                self.write_functionally(lpn, target, &mut aged, &mut recent);
            } else {
                mapped += u64::from(self.state.books.lookup(lpn) != NONE);
            }
        }
        mapped
    }
}

/// Erased pages at which ageing holds a plane, rounded as the watermarks of GC are.
fn free_target(device: &crate::device::Device) -> u32 {
    (u64::from(device.geometry.pages_per_plane()) * u64::from(device.state.free_percent)).div_ceil(100) as u32
}

/// Scales a random 64-bit number to 0 ..= below - 1.
fn bounded(random: u64, below: u64) -> u64 {
    ((u128::from(random) * u128::from(below)) >> 64) as u64
}

/// The valid pages of the last victims.
struct Recent {
    valid: Vec<u32>,
    next: usize,
    capacity: usize,
}

impl Recent {
    fn new(capacity: usize) -> Self {
        Self { valid: Vec::with_capacity(capacity), next: 0, capacity }
    }

    fn push(&mut self, valid: u32) {
        if self.valid.len() < self.capacity {
            self.valid.push(valid);
        } else {
            self.valid[self.next] = valid;
            self.next = (self.next + 1) % self.capacity;
        }
    }

    fn mean_permille(&self, pages_per_block: u32) -> u32 {
        let sum: u64 = self.valid.iter().map(|&valid| u64::from(valid)).sum();
        let pages = self.valid.len().max(1) as u64 * u64::from(pages_per_block);
        (sum * 1000 / pages) as u32
    }
}
