//! Garbage collection without time, in the books and in the oracle's alone: of drives whose GC is ideal, and while a drive ages.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::Claimant;
use crate::ids::{BlockIx, PlaneIx};
use crate::observe::Observer;
use crate::policy::{GcTrigger, Want};
use crate::view::View;

/// Pages whose map entries are fetched ahead.
const PAGES_AHEAD: u32 = 16;

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// GC in no time: pages are moved and blocks erased in the books alone.
    pub(crate) fn collect_at_once(&mut self, plane: PlaneIx) {
        // A block must not become a victim while a page of it is being programmed; the end of that program asks again.
        if self.state.books.programs_under_way(plane) {
            return;
        }
        while self.policies.gc_trigger.want(View(&self.state), plane) != Want::No {
            let Some(victim) = self.choose_victim(plane) else { return };
            let moved = self.collect_functionally(victim);
            self.state.note_erase(plane, victim);
            self.state.counters.gc_pages += u64::from(moved);
            self.state.counters.gcs += 1;
            self.state.counters.erases += 1;
        }
        self.wake_starved(plane);
    }

    /// Moves every valid page of a block and erases it, in the books and in the oracle's, without time. Returns the pages moved.
    pub(crate) fn collect_functionally(&mut self, victim: BlockIx) -> u32 {
        let pages = self.state.device.geometry.pages_per_block;
        let plane = self.state.device.geometry.plane_of(victim);
        self.state.books.begin_collect(victim);
        let mut moved = 0;
        let mut ahead = self.state.books.next_valid(victim, 0);
        for _ in 0..PAGES_AHEAD {
            ahead = self.fetch_ahead(victim, ahead);
        }
        while let Some(offset) = self.state.books.next_valid(victim, 0) {
            ahead = self.fetch_ahead(victim, ahead);
            let from = victim * pages + offset;
            let lpn = self.state.books.owner(from);
            let write_point = self.ageing_point(plane, true);
            let to = self.state.books.take(plane, write_point, Claimant::Gc).expect("GC always has its reserved block");
            self.state.books.commit_move(lpn, from, to);
            if let Some(oracle) = &mut self.oracle {
                oracle.move_page(from, to);
            }
            moved += 1;
        }
        self.state.books.erased(victim);
        moved
    }

    /// Brings the map entry of a victim's valid page near; returns the next valid one.
    fn fetch_ahead(&self, victim: BlockIx, offset: Option<u32>) -> Option<u32> {
        let offset = offset?;
        let books = &self.state.books;
        books.prefetch(books.owner(victim * self.state.device.geometry.pages_per_block + offset));
        books.next_valid(victim, offset + 1)
    }
}
