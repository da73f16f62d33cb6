//! Strict multi-plane programs: a die programs for the host only when every plane of it has a page, at one offset.
//!
//! Until then its programs are shut out like held work. Write points that lag behind are padded up to the others; when the
//! first program has waited too long, so are the planes without one. GC's programs are single ones.

use crate::drive::{Drive, Timer};
use crate::event::EventQueue;
use crate::ftl::Claimant;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::observe::Observer;
use crate::policy::{Join, Place};
use crate::sched::ops::{Class, class_bits};
use crate::units::Ns;
use crate::view::View;

/// Bits of the programs that are gathered.
pub(crate) const GATHERED: u64 = class_bits(Class::HostProgram) | class_bits(Class::Flush);

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    fn waits_to_program(&self, plane: PlaneIx) -> bool {
        let head = &self.state.planes[plane as usize].head;
        head[Class::HostProgram as usize] != NONE || head[Class::Flush as usize] != NONE
    }

    fn planes_of(&self, die: DieIx) -> std::ops::Range<PlaneIx> {
        let planes = self.state.device.geometry.planes_per_die;
        die * planes..(die + 1) * planes
    }

    /// Whether the programs of a die may start: all planes can take a page, and have one or have been waited for in vain.
    pub(crate) fn gathered(&self, die: DieIx) -> bool {
        let forced = self.state.now >= self.state.gather_until[die as usize];
        self.planes_of(die).all(|plane| {
            let free = !self.state.planes[plane as usize].held && self.state.books.can_take(plane, 0, Claimant::Host);
            free && (forced || self.waits_to_program(plane))
        })
    }

    /// The waiting programs of a die have changed: whether they may start, and for how long they wait for the others.
    #[inline(never)]
    pub(crate) fn consider_gather(&mut self, die: DieIx) {
        let waits = self.planes_of(die).any(|plane| self.waits_to_program(plane));
        if !waits {
            self.state.gather_until[die as usize] = Ns::MAX;
        } else if self.state.gather_until[die as usize] == Ns::MAX {
            let wait = self.policies.join.gather_ns().unwrap_or(0);
            self.state.gather_until[die as usize] = self.state.now + wait;
            self.set_timer(self.state.now + wait, Timer::Gather(die));
        }
        self.settle_die(die);
        self.update_closed(die);
    }

    /// The programs of a die have waited long enough for the others. Returns whether any still do.
    pub(crate) fn gather_timer(&mut self, die: DieIx) -> bool {
        let matters = self.state.gather_until[die as usize] == self.state.now;
        if matters {
            self.consider_gather(die);
            self.try_start(die);
        }
        matters
    }

    /// A program of a die is about to start: brings all write points to one offset, and gives the planes without a program
    /// a page of padding in its stead.
    #[inline(never)]
    pub(crate) fn pad_planes(&mut self, die: DieIx, lead: PlaneIx) {
        let planes = self.planes_of(die);
        let offset = planes.clone().map(|plane| self.state.books.next_offset(plane, 0)).max().unwrap_or(0);
        for plane in planes {
            while self.state.books.next_offset(plane, 0) < offset && self.pad(plane) {}
            if plane != lead && !self.waits_to_program(plane) {
                self.pad(plane);
            }
        }
        self.state.gather_until[die as usize] = Ns::MAX;
    }

    fn pad(&mut self, plane: PlaneIx) -> bool {
        debug_assert_eq!(self.policies.place.write_point(View(&self.state), plane, false), 0);
        let padded = self.state.books.pad(plane, 0);
        self.state.counters.padded_pages += u64::from(padded);
        padded
    }

    /// Padding took pages of every plane of a die.
    #[inline(never)]
    pub(crate) fn consider_gc_of_die(&mut self, die: DieIx) {
        for plane in self.planes_of(die) {
            self.consider_gc(plane);
        }
    }
}
