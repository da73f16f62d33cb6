//! Garbage collection without time, in the tables and the oracle alone: of drives whose GC is ideal, and while a drive ages.

use crate::flash::Engine;
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{BlockGroup, Pool};
use crate::policy::answers::Want;
use std::convert::Infallible;

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Ideal GC: pages are moved and blocks erased in the tables alone.
    #[cold]
    pub(super) fn collect_ideal(&mut self, pool: Pool) {
        // A block must not become a victim while a page of it is being programmed; the end of that program asks again.
        let mut planes = self.up.ftl.tables.planes_of(pool);
        if planes.any(|plane| self.up.ftl.tables.programs_under_way(plane)) {
            return;
        }
        while self.want_gc(pool) != Want::No {
            let Some(victim) = self.choose_victim(pool) else { return };
            let moved = self.collect_functionally(victim);
            for block in self.up.ftl.tables.blocks_of(victim) {
                self.up.ftl.gc.counters.erases += 1;
                self.up.ftl.gc.note_erase(self.flash.device.geometry.plane_of(block));
                self.erased(block);
            }
            self.flash.hash.mix(u64::from(victim.0) << 32 | u64::from(moved));
            self.up.ftl.gc.counters.pages += u64::from(moved);
            self.up.ftl.gc.counters.moved += u64::from(moved);
            self.up.ftl.gc.counters.gcs += 1;
        }
        self.up.ftl.tables.planes_of(pool).for_each(|plane| self.wake_space_blocked(plane, false));
    }

    /// Moves every valid page of a block group within its plane and erases it, without time. Returns the pages moved.
    pub(crate) fn collect_functionally(&mut self, victim: BlockGroup) -> u32 {
        let Ok(moved) = self.collect(victim, |drive, from| {
            let plane = drive.up.ftl.tables.plane_of(from);
            Ok::<_, Infallible>(drive.take_for_ageing(plane, Claimant::Gc).expect("GC always has its reserved block"))
        });
        moved
    }
}
