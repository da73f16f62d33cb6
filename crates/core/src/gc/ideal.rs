//! Garbage collection without time, in the tables and the oracle alone: of drives whose GC is ideal, and while a drive ages.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{BlockIx, PlaneIx};
use crate::policy::answers::Want;
use crate::policy::interface::GcTrigger;
use std::convert::Infallible;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Ideal GC: pages are moved and blocks erased in the tables alone.
    #[cold]
    pub(super) fn collect_ideal(&mut self, plane: PlaneIx) {
        // A block must not become a victim while a page of it is being programmed; the end of that program asks again.
        if self.up.ftl.tables.programs_under_way(plane) {
            return;
        }
        while self.ask(|policies, view| policies.gc_trigger.want(view, plane)) != Want::No {
            let Some(victim) = self.choose_victim(plane) else { return };
            let moved = self.collect_functionally(victim);
            self.up.ftl.gc.note_erase(plane);
            self.erased(victim);
            self.flash.hash.mix(u64::from(victim) << 32 | u64::from(moved));
            self.flash.counters.gc_pages += u64::from(moved);
            self.flash.counters.gc_moved += u64::from(moved);
            self.flash.counters.gcs += 1;
            self.flash.counters.erases += 1;
        }
        self.wake_space_blocked(plane);
    }

    /// Moves every valid page of a block within its plane and erases the block, without time. Returns the pages moved.
    pub(crate) fn collect_functionally(&mut self, victim: BlockIx) -> u32 {
        let plane = self.flash.device.geometry.plane_of(victim);
        let Ok(moved) = self.collect(victim, |drive, _| {
            let write_point = drive.ageing_point(plane, true);
            Ok::<_, Infallible>(drive.up.ftl.tables.take(plane, write_point, Claimant::Gc).expect("GC always has its reserved block"))
        });
        moved
    }
}
