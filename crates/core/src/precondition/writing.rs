//! Ageing by writing: fill, overwrites, and rounds of overwrites until write amplification is steady.

use crate::context::Context;
use crate::design::{CycleLevels, StartLevel};
use crate::device::AgeingMethod;
use crate::flash::Engine;
use crate::ftl::Claimant;
use crate::ftl::above::WithFtl;
use crate::ids::{DieIx, Lpn, NONE, Pool, Ppn};
use crate::precondition::common::{Aged, LivePages, Workers, levels_at_start};
use crate::precondition::planewise::Planewise;
use crate::precondition::steady;
use crate::raid::front::{Front, WithRaid};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages that ageing looks ahead, so that map entries are near when they are needed.
const BATCH: usize = 32;

/// Is given pages done and pages in all, and says whether to go on.
pub(super) type Progress<'a> = &'a (dyn Fn(u64, u64) -> bool + Sync);

/// What writes in the tables aim at.
#[derive(Clone, Copy)]
pub(super) struct Aim {
    /// Erased space below which a plane is collected, and at which that stops.
    pub levels: CycleLevels,
    /// The write points of new pages and of pages that GC moves, where planes are written one by one.
    pub host_point: usize,
    pub gc_point: usize,
}

/// What was done.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub written: u64,
    pub moved: u64,
    pub erases: u64,
}

/// What writes page by page aim at, and what they have done.
pub(super) struct Tally {
    pub(super) levels: CycleLevels,
    /// Pages that are moved go where the design's GC would move them, or else stay in their plane.
    pub(super) spreads: bool,
    pub(super) sum: Sum,
    /// Of each pool; of none, if nobody will ask.
    pub(super) recent: Vec<RecentVictims>,
}

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Nothing has been written yet, and nobody will ask for the last victims.
    pub(super) fn tally(&self) -> Tally {
        let levels = levels_at_start(self.policies());
        let spreads = levels.by_die() || self.spreads_pages();
        Tally { levels, spreads, sum: Sum::default(), recent: Vec::new() }
    }

    /// Writes pages in the order of the stream, or plane by plane.
    pub(super) fn age_by_writing(
        &mut self,
        live: LivePages<'_>,
        seed: u64,
        mut planewise: Option<Planewise>,
        workers: &impl Workers,
        progress: Progress<'_>,
    ) -> Aged {
        let state = self.flash.device.state.clone();
        let of_live = |percent: u32| live.of_host() * u64::from(percent) / 100;
        let (overwrites, round) = (live.with_parity(of_live(state.overwrite_percent)), live.with_parity(of_live(state.round_percent())));
        let recent = vec![RecentVictims::default(); self.up.ftl.tables.pools().count()];
        let mut tally = Tally { recent, ..self.tally() };
        let (mut random, mut pages) = (live.at_random(seed), live.iter());
        let mut in_order = move || pages.next().expect("as many pages as live");
        let mut total = live.count() + overwrites;
        let mut rounds = Vec::new();
        let mut steady = None;
        let done = AtomicU64::new(0);
        let report = |written, total| progress(done.fetch_add(written, Ordering::Relaxed) + written, total);
        let mut goes_on = self.write_pages(&mut planewise, &mut tally, live.count(), &mut in_order, workers, &|done| report(done, total))
            && self.write_pages(&mut planewise, &mut tally, overwrites, &mut random, workers, &|done| report(done, total));
        if state.ageing == AgeingMethod::Steady {
            let is_steady = loop {
                if !goes_on || round == 0 || rounds.len() == steady::ROUNDS_MAX {
                    break false;
                }
                let before = tally.sum;
                total = before.written + round * steady::WINDOW.saturating_sub(rounds.len()).max(1) as u64;
                goes_on = self.write_pages(&mut planewise, &mut tally, round, &mut random, workers, &|done| report(done, total));
                rounds.push((round + tally.sum.moved - before.moved) as f64 / of_live(state.round_percent()) as f64);
                if steady::is_steady(&rounds) {
                    break true;
                }
            };
            steady = Some(is_steady);
        }
        let Sum { written, moved, erases } = tally.sum;
        if let Some(planewise) = planewise {
            tally.recent = planewise.finish(self);
        }
        progress(written, written);
        let tables = &self.up.ftl.tables;
        let victim_valid_permille = mean_permille(&tally.recent, tables.pages_in(tables.group_of(0)));
        Aged { written_pages: written, moved_pages: moved, erases, victim_valid_permille, rounds, steady, ..Aged::default() }
    }

    /// Overwrites random pages of the planes that have more erased pages than the one with the fewest, until all have as many. Returns
    /// how many. A plane that almost no page of the stream is in stays as it is.
    pub(super) fn level_planes(&mut self, live: LivePages<'_>, seed: u64) -> u64 {
        let planes = 0..self.flash.device.geometry.planes();
        let least = planes.map(|plane| self.up.ftl.tables.free_pages(plane)).min().unwrap_or(0);
        let (mut random, mut written, mut in_vain) = (live.at_random(!seed), 0, 0);
        while in_vain < live.count() {
            let lpn = random();
            // Ageing that is stopped leaves pages without a place.
            let old = self.up.ftl.tables.lookup(lpn);
            let plane = if old == NONE { 0 } else { self.up.ftl.tables.plane_of(old) };
            if old == NONE || self.up.ftl.tables.free_pages(plane) == least {
                in_vain += 1;
                continue;
            }
            let ppn = self.take_for_ageing(plane, Claimant::Host).expect("ageing keeps every plane above its reserve");
            self.up.ftl.tables.commit_write(lpn, ppn);
            (written, in_vain) = (written + 1, 0);
        }
        written
    }

    /// Writes `count` pages of a stream. Returns false if `progress`, which is given the pages written, said so.
    fn write_pages<N: FnMut() -> Lpn + Clone>(
        &mut self,
        planewise: &mut Option<Planewise>,
        tally: &mut Tally,
        count: u64,
        next: &mut N,
        workers: &impl Workers,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> bool {
        match planewise {
            Some(planewise) => {
                let goes_on = planewise.write(workers, count, next, progress);
                tally.sum = planewise.sum();
                goes_on
            }
            None => self.write_page_by_page(tally, count, next, progress),
        }
    }

    fn write_page_by_page(
        &mut self,
        tally: &mut Tally,
        count: u64,
        next: &mut impl FnMut() -> Lpn,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> bool {
        let mut batch = [0 as Lpn; BATCH];
        let mut left = count;
        let (mut batches, mut reported) = (0u32, count);
        while left > 0 {
            let batch = &mut batch[..left.min(BATCH as u64) as usize];
            for lpn in batch.iter_mut() {
                *lpn = next();
                self.up.ftl.tables.prefetch(*lpn);
            }
            for &lpn in &*batch {
                self.up.ftl.tables.prefetch_copy(lpn);
            }
            for &lpn in &*batch {
                self.write_functionally(lpn, tally);
            }
            left -= batch.len() as u64;
            batches += 1;
            if batches & 0x7fff == 0 && !progress(std::mem::replace(&mut reported, left) - left) {
                return false;
            }
        }
        progress(reported)
    }

    /// Takes a page where ageing writes a logical page. Returns its pool too, whether it has a page or not.
    #[inline]
    fn take_drawn(&mut self, lpn: Lpn, claimant: Claimant) -> (Pool, Option<Ppn>) {
        let planes = self.flash.device.geometry.planes();
        let spreads = self.spreads_pages();
        let plane = match &mut self.up.ftl.late_bound {
            // Late-bound placement evens live pages out to a block: a plane with so many more than another leaves the page to it.
            Some(late_bound) if spreads => {
                let (one, other) = (late_bound.any_below(planes), late_bound.any_below(planes));
                let tables = &self.up.ftl.tables;
                let (more, fewer) = (tables.live_pages(one), tables.live_pages(other));
                if more > fewer + self.flash.device.geometry.pages_in(1) { other } else { one }
            }
            _ => self.ask_place(|place, view| place.plane(view, lpn)),
        };
        (self.up.ftl.tables.pool_of(plane), self.take_for_ageing(plane, claimant))
    }

    /// Whether pages go to any plane of the drive while it ages, those that GC moves too: where GC counts erased blocks, how full
    /// the open ones are is the moment of a plane's cycle, and planes in turns would all be at one. A share of erased pages that
    /// is given holds each plane for itself.
    #[inline]
    fn spreads_pages(&self) -> bool {
        self.flash.traits.late_bound
            && self.up.ftl.traits.gc_across
            && matches!(levels_at_start(self.policies()).start, StartLevel::PlaneBlocks(_))
    }

    /// Writes a page in the tables, and collects block groups where its plane or die has too little erased.
    #[inline]
    fn write_functionally(&mut self, lpn: Lpn, tally: &mut Tally) {
        let (mut pool, mut page) = self.take_drawn(lpn, Claimant::Host);
        if page.is_none() && self.flash.traits.late_bound {
            // A run finds a place for a page where there is room; ageing has drawn a plane, which may be full of live pages.
            let plane = self.up.ftl.tables.emptiest_plane();
            pool = self.up.ftl.tables.pool_of(plane);
            page = self.take_for_ageing(plane, Claimant::Host);
        }
        let ppn = page.expect("ageing keeps every plane above its reserve");
        self.up.ftl.tables.commit_write(lpn, ppn);
        tally.sum.written += 1;
        if self.short_pool(pool, tally.levels.start).is_some() {
            self.collect_cycles_for_ageing(pool, tally);
        }
    }

    /// The pool that is collected next for one that pages have been written to, if there is less erased space than a level.
    #[inline]
    fn short_pool(&self, pool: Pool, level: StartLevel) -> Option<Pool> {
        let tables = &self.up.ftl.tables;
        match level {
            StartLevel::DiePages(_) => self.short_pool_of_die(self.flash.die_of(tables.first_plane(pool)), level),
            level => tables.is_short_of(level, pool, 0).then_some(pool),
        }
    }

    /// Of the pools of a die the one that is collected next, if the die or any of them has less erased space than a level.
    pub(super) fn short_pool_of_die(&self, die: DieIx, level: StartLevel) -> Option<Pool> {
        let tables = &self.up.ftl.tables;
        let planes = self.planes_of(die);
        let erased: u32 = planes.clone().map(|plane| tables.free_pages(plane)).sum();
        let mean = erased / planes.len() as u32;
        // A plane that has no room itself does not wait for the others.
        let is_short = |&plane: &u32| match level {
            StartLevel::DiePages(pages) => mean < pages || tables.free_pages(plane) <= tables.pages_kept(),
            level => tables.is_short_of(level, tables.pool_of(plane), 0),
        };
        planes.filter(is_short).min_by_key(|&plane| tables.free_pages(plane)).map(|plane| tables.pool_of(plane))
    }

    /// Collects what is short for a pool that pages have been written to. Pages that are spread over the drive take space of
    /// others, in which cycles begin and end in turn.
    #[cold]
    fn collect_cycles_for_ageing(&mut self, pool: Pool, tally: &mut Tally) {
        self.collect_cycle_for_ageing(pool, tally);
        while self.spreads_pages()
            && let Some(short) = self.up.ftl.tables.pools().find(|&pool| self.up.ftl.tables.is_short_of(tally.levels.start, pool, 0))
            && self.collect_cycle_for_ageing(short, tally)
        {}
    }

    /// Collects for a pool as one cycle of the design's GC would. Returns whether anything was erased.
    fn collect_cycle_for_ageing(&mut self, pool: Pool, tally: &mut Tally) -> bool {
        let CycleLevels { start, stop } = tally.levels;
        let (by_die, erases) = (tally.levels.by_die(), tally.sum.erases);
        let mut level = start;
        while let Some(short) = self.short_pool(pool, level) {
            let is_over = !self.collect_for_ageing(short, tally) && (by_die || level == stop);
            if is_over || !by_die && tally.levels.is_one_block() {
                break;
            }
            level = stop;
        }
        tally.sum.erases > erases
    }

    /// Collects a block group of a pool. Returns whether there was one: if nothing is stale yet, only the reserve bounds a plane.
    pub(super) fn collect_for_ageing(&mut self, pool: Pool, tally: &mut Tally) -> bool {
        let greedily = self.policies().collects_greedily();
        let victim = if greedily { self.up.ftl.tables.greedy_victim(pool) } else { self.choose_victim(pool) };
        let Some(victim) = victim else { return false };
        if let Some(recent) = tally.recent.get_mut(pool.index()) {
            recent.push(self.up.ftl.tables.valid_pages(victim));
        }
        let moved = if tally.spreads {
            let Ok(moved) = self.collect(victim, |drive, from| Ok::<_, Infallible>(drive.take_spread(from)));
            moved
        } else {
            self.collect_functionally(victim)
        };
        tally.sum.moved += u64::from(moved);
        tally.sum.erases += self.up.ftl.tables.blocks_of(victim).count() as u64;
        true
    }

    /// Where the design's GC would move a page.
    fn take_spread(&mut self, from: Ppn) -> Ppn {
        let own = self.up.ftl.tables.plane_of(from);
        let mut to = if self.spreads_pages() {
            self.take_drawn(self.up.ftl.tables.owner(from), Claimant::Gc).1
        } else if self.up.ftl.traits.gc_across {
            let plane = self.ask_place(|place, view| place.gc_plane(view, own));
            self.take_for_ageing(plane, Claimant::Gc)
        } else {
            self.take_for_ageing(own, Claimant::Gc)
        };
        to = to.or_else(|| self.take_for_ageing(own, Claimant::Gc));
        if to.is_none() && self.flash.traits.late_bound {
            // Those of other planes have taken its reserve.
            to = self.take_for_ageing(self.up.ftl.tables.emptiest_plane(), Claimant::Gc);
        }
        to.expect("GC always has its reserved block")
    }

    /// The floor of a run's time: page requests (whether a write, and first sector) through map and GC bookkeeping alone, at
    /// the erased share of the starting state. Returns the reads that found a mapped page.
    pub fn replay_in_tables(&mut self, requests: impl Iterator<Item = (bool, u64)>) -> u64 {
        let per_page = u64::from(self.flash.device.geometry.sectors_per_unit());
        let mut batch = [(false, 0 as Lpn); BATCH];
        let mut count = 0;
        for (request, slot) in requests.zip(&mut batch) {
            *slot = (request.0, (request.1 / per_page) as Lpn);
            self.up.ftl.tables.prefetch(slot.1);
            count += 1;
        }
        for &(write, lpn) in &batch[..count] {
            if write {
                self.up.ftl.tables.prefetch_copy(lpn);
            }
        }
        let mut tally = self.tally();
        let mut mapped = 0;
        for &(write, lpn) in &batch[..count] {
            if write {
                self.write_functionally(lpn, &mut tally);
            } else {
                mapped += u64::from(self.up.ftl.tables.lookup(lpn) != NONE);
            }
        }
        mapped
    }
}

/// Victims of each pool whose valid pages are remembered.
const VICTIMS_KEPT: usize = 8;

/// The valid pages of the last victims of a pool, and how many victims there were.
#[derive(Clone, Default)]
pub(super) struct RecentVictims([u32; VICTIMS_KEPT], u64);

impl RecentVictims {
    pub fn push(&mut self, valid: u32) {
        self.0[self.1 as usize % VICTIMS_KEPT] = valid;
        self.1 += 1;
    }
}

fn mean_permille(pools: &[RecentVictims], pages_per_group: u32) -> u32 {
    let kept = || pools.iter().map(|RecentVictims(valid, seen)| &valid[..VICTIMS_KEPT.min(*seen as usize)]);
    let sum: u64 = kept().flatten().map(|&valid| u64::from(valid)).sum();
    let victims: usize = kept().map(<[u32]>::len).sum();
    (sum * 1000 / (victims.max(1) as u64 * u64::from(pages_per_group))) as u32
}

#[cfg(test)]
mod testkit {
    use super::*;

    impl<U> Engine<WithFtl<WithRaid<U>>>
    where
        Self: Front,
    {
        /// Overwrites random live pages. Returns the pages that GC moved.
        pub(in crate::precondition) fn overwrite_for_test(&mut self, live: LivePages<'_>, count: u64, seed: u64) -> u64 {
            let mut tally = self.tally();
            self.write_page_by_page(&mut tally, count, &mut live.at_random(seed), &|_| true);
            tally.sum.moved
        }
    }
}
