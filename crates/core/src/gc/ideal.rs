//! Garbage collection without time, in the tables and the oracle alone: of drives whose GC is ideal, and while a drive ages.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{BlockIx, PlaneIx};
use crate::policy::answers::Want;
use crate::policy::interface::GcTrigger;

/// Pages whose map entries are fetched ahead.
const PAGES_AHEAD: u32 = 16;

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

    /// Moves every valid page of a block and erases it, in the tables and the oracle, without time. Returns the pages moved.
    pub(crate) fn collect_functionally(&mut self, victim: BlockIx) -> u32 {
        let pages = self.flash.device.geometry.pages_per_block;
        let plane = self.flash.device.geometry.plane_of(victim);
        self.up.ftl.tables.begin_collect(victim);
        let mut moved = 0;
        let mut ahead = self.fetch_first(victim);
        while let Some(offset) = self.up.ftl.tables.next_valid(victim, 0) {
            ahead = self.fetch_ahead(victim, ahead);
            let from = victim * pages + offset;
            let lpn = self.up.ftl.tables.owner(from);
            let write_point = self.ageing_point(plane, true);
            let to = self.up.ftl.tables.take(plane, write_point, Claimant::Gc).expect("GC always has its reserved block");
            self.up.ftl.tables.commit_move(lpn, from, to);
            if let Some(oracle) = &mut self.up.oracle {
                oracle.move_page(from, to);
            }
            moved += 1;
        }
        self.up.ftl.tables.erased(victim);
        moved
    }

    /// Brings the map entries of a victim's first valid pages near; returns the next valid one.
    pub(crate) fn fetch_first(&self, victim: BlockIx) -> Option<u32> {
        let first = self.up.ftl.tables.next_valid(victim, 0);
        (0..PAGES_AHEAD).fold(first, |ahead, _| self.fetch_ahead(victim, ahead))
    }

    /// Brings the map entry of a victim's valid page near; returns the next valid one.
    pub(crate) fn fetch_ahead(&self, victim: BlockIx, offset: Option<u32>) -> Option<u32> {
        let offset = offset?;
        let tables = &self.up.ftl.tables;
        tables.prefetch(tables.owner(victim * self.flash.device.geometry.pages_per_block + offset));
        tables.next_valid(victim, offset + 1)
    }
}
