//! The starting state of drives that program all planes of a die at once.
//!
//! Ageing fills each plane for itself, and the write points of a die come to stand at different offsets, where they never do on
//! such a drive. Those that lag behind are padded up to the others, at no time, or every first program would do it.

use crate::flash::Engine;
use crate::ftl::Claimant;
use crate::ftl::above::WithFtl;
use crate::ids::DieIx;
use crate::precondition::common::Aged;
use crate::precondition::writing::Tally;
use crate::raid::front::{Front, WithRaid};

/// How often a die is padded and collected in turns, since each takes a little of what the other does.
const ROUNDS_MAX: u32 = 16;

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Brings the write points of each die to one offset. What that takes is collected again, as the drive itself would do next.
    pub(super) fn fill_superpages(&mut self, aged: &mut Aged) {
        let mut tally = Tally { spreads: true, ..self.tally() };
        for die in 0..self.flash.device.geometry.dies() {
            for _ in 0..ROUNDS_MAX {
                self.align_write_points_of(die);
                if !self.collect_short_pools_of(die, &mut tally) {
                    break;
                }
            }
            self.align_write_points_of(die);
        }
        aged.moved_pages += tally.sum.moved;
        aged.erases += tally.sum.erases;
    }

    /// Collects block groups of a die until it has as much erased as the levels say. Returns whether there were any.
    fn collect_short_pools_of(&mut self, die: DieIx, tally: &mut Tally) -> bool {
        let before = tally.sum.erases;
        let mut level = tally.levels.start;
        while let Some(pool) = self.short_pool_of_die(die, level) {
            level = tally.levels.stop;
            // The GCs of sibling planes fill programs together, unless the pages of one are spread over the die.
            let erases = tally.sum.erases;
            for plane in self.planes_of(die) {
                let sibling = self.up.ftl.tables.pool_of(plane);
                if sibling == pool || !self.up.ftl.traits.gc_across {
                    self.collect_for_ageing(sibling, tally);
                }
            }
            if tally.sum.erases == erases {
                break;
            }
        }
        tally.sum.erases > before
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
