//! GC whose pages leave their plane: where they go, and, where they fill programs of all planes of a die, the pages that it has
//! read and that wait in RAM for the others.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::Claimant;
use crate::ftl::gc::GcState;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::observe::Observer;
use crate::policy::Place;
use crate::sched::ops::{Class, HOLD_BITS};
use crate::view::View;

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Whether a GC that moves pages neither reads one nor waits to go on: always so where it moves one after the other.
    pub(super) fn gc_has_rested(&self, plane: PlaneIx) -> bool {
        let gc = &self.state.gc[plane as usize];
        let waits = || {
            let die = &self.state.dies[self.state.die_of(plane) as usize];
            die.ready >> (self.state.planes[plane as usize].shift + Class::Gc as u32) & 1 == 1
        };
        self.state.traits.gc_reads_ahead == 1 || gc.state == GcState::Moving && !gc.reads && !waits()
    }

    /// A page that a plane's GC reads has left the array for its cache register: the GC may read on while the page crosses the
    /// channel.
    #[inline(never)]
    pub(crate) fn gc_read_registered(&mut self, plane: PlaneIx) {
        let gc = &mut self.state.gc[plane as usize];
        gc.reads = false;
        gc.in_registers += 1;
    }

    /// A page that a plane's GC has read is in RAM. Returns whether the GC, which may have gone on meanwhile, waits for it.
    pub(super) fn gc_read_crossed(&mut self, plane: PlaneIx) -> bool {
        let gc = &mut self.state.gc[plane as usize];
        if gc.in_registers == 0 {
            gc.reads = false;
            return true;
        }
        gc.in_registers -= 1;
        self.gc_has_rested(plane)
    }

    /// What GCs of a die may do although its cache registers are full. They may hold; but those that read ahead would then keep
    /// host reads out until the registers are empty, and only one that has a page of its own there, and so reads next, goes on.
    pub(super) fn gc_goes_on(&self, die: DieIx) -> u64 {
        if self.state.traits.gc_reads_ahead == 1 {
            return HOLD_BITS;
        }
        let reads = self.planes_of(die).filter(|&plane| self.state.gc[plane as usize].in_registers > 0);
        reads.fold(0, |bits, plane| {
            let shift = self.state.planes[plane as usize].shift;
            bits | 1 << (shift + Class::Gc as u32) | 1 << (shift + Class::Hold as u32)
        })
    }

    /// A page of a plane's GC waits to be programmed with others, or will: the GC reads on until there are those of one program.
    #[inline(never)]
    pub(crate) fn read_ahead(&mut self, plane: PlaneIx) {
        let gc = &self.state.gc[plane as usize];
        let all_read = || self.state.books.next_valid(gc.victim, gc.cursor).is_none();
        let full = gc.in_ram + gc.in_registers >= self.state.traits.gc_reads_ahead || gc.in_registers > 0 && all_read();
        if full { self.gc_rests(plane) } else { self.gc_page_done(plane) }
    }

    /// A GC waits until pages that it has read are programmed. If it yields after each page, it holds nothing meanwhile.
    pub(super) fn gc_rests(&mut self, plane: PlaneIx) {
        if self.state.gc[plane as usize].plan.release_each_page {
            self.release(plane);
        }
        self.consider_gather(self.state.die_of(plane));
        self.try_start(self.state.die_of(plane));
    }

    /// The plane that takes a page which the GC of a plane has read; the page is booked as bound for it.
    #[inline(never)]
    pub(super) fn choose_destination(&mut self, plane: PlaneIx) -> PlaneIx {
        let destination = self.policies.place.gc_plane(View(&self.state), plane);
        self.state.gc_bound[destination as usize] += 1;
        destination
    }

    /// A plane that should take a page of another's GC has no room any more: the page stays in its own. That always has some,
    /// unless the planes of a die share what they keep for GC; then another of them has.
    pub(crate) fn send_home(&mut self, op: u32, home: PlaneIx) {
        let mut home = home;
        if !self.has_room_for_gc(home) {
            let mut planes = self.planes_of(self.state.die_of(home));
            home = planes.find(|&plane| self.has_room_for_gc(plane)).expect("a die keeps more than one GC moves");
        }
        let away = std::mem::replace(&mut self.state.ops[op as usize].plane, home);
        self.state.gc_bound[away as usize] -= 1;
        self.state.gc_bound[home as usize] += 1;
        self.line_up_op(op, home, Class::GcProgram);
        self.try_start(self.state.die_of(home));
    }

    fn has_room_for_gc(&mut self, plane: PlaneIx) -> bool {
        let write_point = self.write_point(plane, NONE, true);
        self.state.books.can_take(plane, write_point, Claimant::Gc)
    }

    /// A page of a plane's GC is in the plane that took it.
    #[inline(never)]
    pub(super) fn page_arrived(&mut self, plane: PlaneIx, destination: PlaneIx) {
        self.state.gc_bound[destination as usize] -= 1;
        if destination != plane {
            self.state.counters.gc_pages_elsewhere += 1;
            self.try_start(self.state.die_of(plane));
            self.consider_gc(destination);
        }
    }
}
