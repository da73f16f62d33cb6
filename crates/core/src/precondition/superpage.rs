//! The starting state of drives that program all planes of a die at once.
//!
//! Ageing fills each plane for itself, and the write points of a die come to stand at different offsets, where they never do on
//! such a drive. Those that lag behind are padded up to the others, at no time, or every first program would do it.

use crate::context::Context;
use crate::design::{CycleLevels, StartLevel};
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::ftl::Claimant;
use crate::ftl::above::WithFtl;
use crate::ids::{DieIx, PlaneIx};
use crate::precondition::common::{Aged, levels_at_start};
use crate::raid::front::{Front, WithRaid};

/// How often a die is padded and collected in turns, since each takes a little of what the other does.
const ROUNDS_MAX: u32 = 16;

impl<Q: EventQueue, U> Engine<Q, WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Brings the write points of each die to one offset. What that takes is collected again, as the drive itself would do next.
    pub(super) fn fill_superpages(&mut self, aged: &mut Aged) {
        let levels = levels_at_start(self.policies());
        for die in 0..self.flash.device.geometry.dies() {
            for _ in 0..ROUNDS_MAX {
                self.align_write_points_of(die);
                if !self.collect_short_planes_of(die, levels, aged) {
                    break;
                }
            }
            self.align_write_points_of(die);
        }
    }

    /// Collects blocks of a die until it has as much erased as the levels say. Returns whether there were any.
    fn collect_short_planes_of(&mut self, die: DieIx, levels: CycleLevels, aged: &mut Aged) -> bool {
        let before = aged.erases;
        let mut level = levels.start;
        while let Some(plane) = self.short_plane_of(die, level) {
            level = levels.stop;
            // The GCs of sibling planes fill programs together, unless the pages of one are spread over the die.
            let collected = if self.flash.traits.gc_across { plane..plane + 1 } else { self.planes_of(die) };
            let erases = aged.erases;
            for plane in collected {
                let Some(victim) = self.victim_for_ageing(plane) else { continue };
                aged.moved_pages += u64::from(self.collect_spread(victim));
                aged.erases += 1;
            }
            if aged.erases == erases {
                break;
            }
        }
        aged.erases > before
    }

    /// The plane of a die that is collected next, if the die or any of its planes has less erased space than a level.
    pub(super) fn short_plane_of(&self, die: DieIx, level: StartLevel) -> Option<PlaneIx> {
        let tables = &self.up.ftl.tables;
        let planes = || self.planes_of(die);
        let least = planes().min_by_key(|&plane| tables.free_pages(plane))?;
        let is_short = match level {
            // A plane that has no room itself does not wait for the others.
            StartLevel::DiePages(pages) => {
                let erased: u32 = planes().map(|plane| tables.free_pages(plane)).sum();
                tables.free_pages(least) <= tables.pages_kept() || erased / self.flash.device.geometry.planes_per_die < pages
            }
            level => {
                return planes()
                    .filter(|&plane| tables.is_short_of(level, tables.pool_of(plane), 0))
                    .min_by_key(|&plane| tables.free_pages(plane));
            }
        };
        is_short.then_some(least)
    }

    /// Pads write points that lag behind the others of their die.
    pub(crate) fn align_write_points(&mut self) {
        (0..self.flash.device.geometry.dies()).for_each(|die| self.align_write_points_of(die));
    }

    fn align_write_points_of(&mut self, die: DieIx) {
        for point in 0..self.up.ftl.tables.write_points(self.planes_of(die).start) {
            let offset = |drive: &Self, plane| drive.up.ftl.tables.next_offset(plane, point);
            let most = self.planes_of(die).map(|plane| offset(self, plane)).max().unwrap_or(0);
            for plane in self.planes_of(die) {
                while offset(self, plane) < most && self.up.ftl.tables.pad(plane, point, Claimant::Host) {}
            }
        }
    }
}
