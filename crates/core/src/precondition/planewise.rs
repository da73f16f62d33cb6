//! Writing a drive plane by plane, several of them at a time where there are workers.
//!
//! Where a logical page's plane is fixed, planes know nothing of each other, and it makes no difference whether pages are
//! written in the order of the stream or plane after plane. A plane's tables fit a processor's cache and the drive's do not,
//! so the latter is several times faster. While a drive is written, each plane has tables of its own, of a drive of one plane
//! whose logical pages are numbered from 0. Each plane's share of the stream is set aside in the memory of the drive's map,
//! which is not needed meanwhile. A thread that writes a plane takes its part of the drive's reverse map into memory of its own,
//! and makes the plane's map anew from it.

use crate::context::Context;
use crate::flash::Engine;
use crate::ftl::above::WithFtl;
use crate::ftl::{Claimant, Tables};
use crate::ids::{Lpn, NONE, Pool, Ppn};
use crate::precondition::common::{Layout, Workers, levels_at_start};
use crate::precondition::writing::{Aim, RecentVictims, Sum};
use crate::raid::front::{Front, WithRaid};

/// Writes ahead of which a map entry is fetched.
const AHEAD: usize = 16;

/// Writes pages plane by plane.
pub(super) struct Planewise {
    layout: Layout,
    /// The tables of each plane, in the order of the layout; all but its maps.
    planes: Vec<OnePlane>,
    /// The drive's reverse map, with logical pages as numbers inside their planes.
    reverse: Vec<Lpn>,
    /// The memory of the map: pages to be written, by plane, as numbers inside the plane.
    shares: Vec<Lpn>,
    aim: Aim,
}

/// Memory of those who write planes.
struct Scratch {
    map: Vec<Ppn>,
    reverse: Vec<Lpn>,
    owners: Vec<Lpn>,
}

/// What a plane's writer gets.
struct Work<'a> {
    plane: &'a mut OnePlane,
    reverse: &'a mut [Lpn],
    share: &'a [Lpn],
}

/// A plane as a drive of its own. It has its maps only while somebody writes it.
struct OnePlane {
    tables: Tables,
    recent: RecentVictims,
    sum: Sum,
}

impl Planewise {
    /// Takes the tables of an erased drive apart, until `finish` puts them together; `None` if pages must be written in the order
    /// of the stream, since planes depend on each other, or somebody can see that logical pages are numbered otherwise. Sequence
    /// numbers tell the order of writes in different planes, a design's own victims may depend on anything, and the planes of a die
    /// may be collected together.
    pub fn new<U>(drive: &mut Engine<WithFtl<WithRaid<U>>>) -> Option<Self>
    where
        Engine<WithFtl<WithRaid<U>>>: Front,
    {
        let (design, levels) = (drive.policies(), levels_at_start(drive.policies()));
        if !design.collects_greedily() || design.gc.page_sequence || levels.by_die() {
            return None;
        }
        let layout = Layout::of(&design.place, drive.flash.device.geometry.planes())?;
        let aim = Aim { levels, host_point: drive.ageing_point(0, false), gc_point: drive.ageing_point(0, true) };
        let tables = &mut drive.up.ftl.tables;
        let (shares, reverse) = tables.lend_maps();
        let planes = (0..layout.planes())
            .map(|index| OnePlane {
                tables: tables.one_pool(tables.pool_of(layout.plane(index))),
                recent: RecentVictims::default(),
                sum: Sum::default(),
            })
            .collect();
        Some(Self { layout, planes, reverse, shares, aim })
    }

    /// Writes `count` pages of a stream. Returns false if `progress` said so, before all were written.
    pub(super) fn write<N: FnMut() -> Lpn + Clone>(
        &mut self,
        workers: &impl Workers,
        count: u64,
        next: &mut N,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> bool {
        let of_plane = self.layout.pages_of_plane(self.shares.len() as u32) as usize;
        let mut left = count;
        while left > 0 {
            let part = left.min(self.shares.len() as u64);
            let ends = self.share_out(part, next);
            let aim = self.aim;
            let per_plane = self.reverse.len() / self.planes.len();
            let mut reverse: Vec<&mut [Lpn]> = self.reverse.chunks_mut(per_plane).collect();
            let mut start = 0;
            let mut work = Vec::with_capacity(ends.len());
            for (index, (plane, &end)) in self.planes.iter_mut().zip(&ends).enumerate() {
                let reverse = std::mem::take(&mut reverse[self.layout.plane(index) as usize]);
                let share = &self.shares[start as usize..end as usize];
                work.push(Work { plane, reverse, share });
                start = end;
            }
            let scratch = || Scratch { map: vec![NONE; of_plane], reverse: vec![NONE; per_plane], owners: Vec::new() };
            let goes_on = workers.each(&mut work, scratch, |scratch, work| {
                work.plane.write(work.share, work.reverse, aim, scratch);
                progress(work.share.len() as u64)
            });
            if !goes_on {
                return false;
            }
            left -= part;
        }
        true
    }

    /// What has been done so far, in all planes.
    pub fn sum(&self) -> Sum {
        let of_all = |what: fn(&Sum) -> u64| self.planes.iter().map(|plane| what(&plane.sum)).sum();
        Sum { written: of_all(|sum| sum.written), moved: of_all(|sum| sum.moved), erases: of_all(|sum| sum.erases) }
    }

    /// Sets aside each plane's share of the next `count` pages of a stream; returns where the shares end.
    fn share_out<N: FnMut() -> Lpn + Clone>(&mut self, count: u64, next: &mut N) -> Vec<u32> {
        let (planes, shares) = (self.layout.planes(), &mut self.shares);
        match &self.layout {
            // Of its own, since the choice among layouts in the loop costs a quarter of it.
            Layout::Round(_, round) => share_out(shares, planes, count, next, |lpn| round.split(lpn)),
            layout => share_out(shares, planes, count, next, |lpn| layout.split(lpn)),
        }
    }

    /// Puts the drive's tables together, with every logical page under its own number again. Returns the last victims of each
    /// plane.
    pub fn finish<U>(mut self, drive: &mut Engine<WithFtl<WithRaid<U>>>) -> Vec<RecentVictims>
    where
        Engine<WithFtl<WithRaid<U>>>: Front,
    {
        self.shares.fill(NONE);
        let tables = &mut drive.up.ftl.tables;
        tables.return_maps(self.shares, self.reverse);
        let mut recent = Vec::with_capacity(self.planes.len());
        for (index, plane) in self.planes.into_iter().enumerate() {
            let pool = tables.pool_of(self.layout.plane(index));
            tables.take_pool(pool, plane.tables, |inside| self.layout.join(index, inside));
            recent.push(plane.recent);
        }
        tables.find_least_counts();
        recent
    }
}

/// Sets aside each plane's share of the next `count` pages of a stream, which are split into planes and pages inside them.
fn share_out<N: FnMut() -> Lpn + Clone>(
    shares: &mut [Lpn],
    planes: usize,
    count: u64,
    next: &mut N,
    split: impl Fn(Lpn) -> (u32, Lpn),
) -> Vec<u32> {
    let mut ends = vec![0u32; planes];
    let mut again = next.clone();
    for _ in 0..count {
        ends[split(again()).0 as usize] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        // Where the share begins, until it is filled.
        sum += std::mem::replace(end, sum);
    }
    for _ in 0..count {
        let (index, inside) = split(next());
        let end = &mut ends[index as usize];
        shares[*end as usize] = inside;
        *end += 1;
    }
    ends
}

impl OnePlane {
    /// Writes pages.
    pub(super) fn write(&mut self, share: &[Lpn], reverse: &mut [Lpn], aim: Aim, scratch: &mut Scratch) {
        if share.is_empty() {
            return;
        }
        let tables = &mut self.tables;
        tables.return_maps(std::mem::take(&mut scratch.map), std::mem::take(&mut scratch.reverse));
        tables.read_reverse(reverse);
        for (index, &lpn) in share.iter().enumerate() {
            if let Some(&ahead) = share.get(index + AHEAD) {
                tables.prefetch(ahead);
            }
            let ppn = tables.take(0, aim.host_point, Claimant::Host).expect("ageing keeps every plane above its reserve");
            tables.commit_write(lpn, ppn);
            let mut level = aim.levels.start;
            while tables.is_short_of(level, Pool(0), 0)
                && let Some(victim) = tables.greedy_victim(Pool(0))
            {
                self.recent.push(tables.valid_pages(victim));
                self.sum.moved += u64::from(tables.collect_whole(victim, aim.gc_point, &mut scratch.owners));
                self.sum.erases += 1;
                if aim.levels.is_one_block() {
                    break;
                }
                level = aim.levels.stop;
            }
        }
        self.sum.written += share.len() as u64;
        tables.write_reverse(reverse);
        (scratch.map, scratch.reverse) = tables.lend_maps();
    }
}
