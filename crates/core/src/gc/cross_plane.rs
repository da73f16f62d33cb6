//! GC whose pages leave their plane: where they go, and, where they fill programs of all planes of a die, the pages that it has
//! read and that wait in RAM for the others.

use crate::flash::Engine;
use crate::flash::op::Class;
use crate::flash::upper::Steps;
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::GcState;
use crate::ids::{NONE, PlaneIx};

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Whether a GC that moves pages neither reads one nor waits to go on: always so where it moves one after the other.
    #[inline]
    pub(super) fn gc_has_paused(&self, plane: PlaneIx) -> bool {
        let gc = &self.up.ftl.gc.planes[plane as usize];
        let waits = || self.flash.is_ready(plane, Class::Gc);
        self.up.ftl.traits.gc_reads_ahead == 1 || gc.state == GcState::Moving && !gc.reads && !waits()
    }

    /// A page that a plane's GC has read is in RAM. Returns whether the GC, which may have gone on meanwhile, waits for it.
    pub(super) fn gc_read_crossed(&mut self, plane: PlaneIx) -> bool {
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        if gc.in_registers == 0 {
            gc.reads = false;
            return true;
        }
        gc.in_registers -= 1;
        self.gc_has_paused(plane)
    }

    /// A GC waits until pages that it has read are programmed. If it yields after each page, it locks nothing meanwhile.
    #[cold]
    pub(super) fn gc_pauses(&mut self, plane: PlaneIx) {
        if self.up.ftl.gc.planes[plane as usize].plan.release_each_page {
            self.release(plane);
        }
        self.programs_changed(self.flash.die_of(plane));
        self.try_start(self.flash.die_of(plane));
    }

    /// The plane that takes a page which the GC of a plane has read; the page is recorded as bound for it.
    #[cold]
    pub(super) fn choose_destination(&mut self, plane: PlaneIx) -> PlaneIx {
        let destination = self.ask_place(|place, view| place.gc_plane(view, plane));
        self.up.ftl.gc_bound[destination as usize] += 1;
        destination
    }

    /// A plane that should take a page of another's GC has no room any more: the page stays in its own. That always has some,
    /// unless the planes of a die share what they keep for GC; then another of them has.
    #[cold]
    pub(crate) fn send_home(&mut self, op: u32, home: PlaneIx) {
        let mut home = home;
        if !self.has_room_for_gc(home) {
            let mut planes = self.planes_of(self.flash.die_of(home));
            home = planes.find(|&plane| self.has_room_for_gc(plane)).expect("a die keeps more than one GC moves");
        }
        let away = std::mem::replace(&mut self.flash.ops[op as usize].plane, home);
        self.up.ftl.gc_bound[away as usize] -= 1;
        self.flash.relieved.note(self.flash.die_of(away));
        self.up.ftl.gc_bound[home as usize] += 1;
        self.queue_op(op, home, Class::GcProgram);
        self.try_start(self.flash.die_of(home));
    }

    fn has_room_for_gc(&mut self, plane: PlaneIx) -> bool {
        let write_point = self.write_point(plane, NONE, true);
        self.up.ftl.tables.can_take(plane, write_point, Claimant::Gc)
    }
}
