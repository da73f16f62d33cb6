//! Superpage programs: a die programs only when every plane of it has a page, at one offset.
//!
//! Until then its programs are masked like locked work. Write points that lag behind are padded up to the others; when the
//! first program has waited too long, so are the planes without one. While writes wait for room in the buffer and no other page
//! of it is on its way, the die with the most pages need not wait. The host's superpages are assembled apart from those of GCs,
//! which wait only for planes whose GC can still bring a page.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{Class, class_bits};
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::GcState;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::units::Ns;
use std::cmp::Reverse;

/// Bits of the programs of the host and of the buffer.
const HOST_PROGRAMS: u64 = class_bits(Class::HostProgram) | class_bits(Class::Flush);

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    fn waits_to_program(&self, plane: PlaneIx, for_gc: bool) -> bool {
        let waits = |class| self.flash.first_waiting(plane, class) != NONE;
        if for_gc { waits(Class::GcProgram) } else { waits(Class::HostProgram) || waits(Class::Flush) }
    }

    /// The programs of a die that may not start yet, as bits of its mask.
    #[cold]
    pub(crate) fn not_assembled(&self, die: DieIx) -> u64 {
        let host = if self.assembled(die) { 0 } else { HOST_PROGRAMS };
        if !self.flash.traits.assembles_gc {
            return host | self.locks_put_off(die);
        }
        let gc = if self.gc_assembled(die) { 0 } else { class_bits(Class::GcProgram) };
        host | gc
    }

    /// The lock requests that come after the host's programs of a die which have waited long enough, or lack nothing while
    /// writes wait for room: those of GCs that are not urgent. The host needs all planes at once, and GCs that take turns would
    /// leave it none for as long as one of them wants to go on.
    fn locks_put_off(&self, die: DieIx) -> u64 {
        let complete = || self.planes_of(die).all(|plane| self.waits_to_program(plane, false));
        let due = self.waited_long_enough(die, false);
        if !(due || self.seen().writes_wait_for_room() && complete())
            || !self.planes_of(die).all(|plane| self.up.ftl.tables.can_take(plane, 0, Claimant::Host))
        {
            return 0;
        }
        let put_off = self.planes_of(die).filter(|&plane| !self.flash.queues(plane).urgent);
        put_off.fold(0, |bits, plane| bits | self.flash.bit(plane, Class::Lock))
    }

    /// Whether the host's programs of a die may start: all planes can take a page, and have one or have been waited for in vain.
    fn assembled(&self, die: DieIx) -> bool {
        let forced = self.waited_long_enough(die, false);
        self.planes_of(die).all(|plane| {
            let free = !self.flash.queues(plane).locked && self.up.ftl.tables.can_take(plane, 0, Claimant::Host);
            free && (forced || self.waits_to_program(plane, false))
        })
    }

    /// Whether the programs of a die's GCs may start: the planes have one, will have none, or have been waited for in vain.
    fn gc_assembled(&self, die: DieIx) -> bool {
        let waits = |&plane: &PlaneIx| self.waits_to_program(plane, true);
        let forced = self.waited_long_enough(die, true);
        let mut planes = self.planes_of(die);
        let complete = || {
            if self.up.ftl.traits.gc_across {
                // Any GC of the die may bring the page of any plane.
                return self.planes_of(die).all(|plane| waits(&plane)) || !self.planes_of(die).any(|plane| self.brings_a_page(plane));
            }
            self.planes_of(die).all(|plane| waits(&plane) || !self.brings_a_page(plane))
        };
        planes.any(|plane| waits(&plane)) && (forced || complete())
    }

    /// Whether the GC of a plane, none of whose pages waits to be programmed, can still bring one.
    fn brings_a_page(&self, plane: PlaneIx) -> bool {
        let (gc, current) = (self.up.ftl.gc.of(plane), self.gc_of(plane).current);
        let has_more = || current.is_none_or(|current| self.up.ftl.tables.has_valid(current.unseen));
        let in_flight = || current.map_or(0, |current| current.in_flight);
        match gc.state {
            GcState::Claiming => has_more(),
            GcState::Moving if self.up.ftl.traits.gc_across => {
                gc.reads || gc.in_registers > 0 || has_more() && in_flight() < self.up.ftl.traits.gc_reads_ahead
            }
            // Where no step waits to be picked, a page is being read.
            GcState::Moving => has_more() || !self.flash.is_ready(plane, Class::Gc),
            // It has read all.
            _ => false,
        }
    }

    /// The programs of a die have changed: how long they wait for each other, and which may start.
    pub(crate) fn assemble(&mut self, die: DieIx) {
        self.up.ftl.assembly.without_partners[die as usize] = NONE;
        self.await_partners(die, false);
        if self.flash.traits.assembles_gc {
            self.await_partners(die, true);
        }
        self.settle_die(die);
        self.update_masked(die);
    }

    fn await_partners(&mut self, die: DieIx, for_gc: bool) {
        let waits = self.planes_of(die).any(|plane| self.waits_to_program(plane, for_gc));
        let (now, wait) = (self.flash.now, self.up.ftl.traits.assembly_ns[usize::from(for_gc)]);
        let until = self.assembly_until(die, for_gc);
        if !waits {
            *until = Ns::MAX;
        } else if *until == Ns::MAX {
            *until = now + wait;
            self.set_timer(now + wait, if for_gc { Self::assembly_timer::<true> } else { Self::assembly_timer::<false> }, die);
        }
    }

    fn assembly_until(&mut self, die: DieIx, for_gc: bool) -> &mut Ns {
        &mut self.up.ftl.assembly.until[usize::from(for_gc)][die as usize]
    }

    fn waited_long_enough(&self, die: DieIx, for_gc: bool) -> bool {
        self.flash.now >= self.up.ftl.assembly.until[usize::from(for_gc)][die as usize]
    }

    /// The programs of a die have waited long enough for the others. Returns whether any still do.
    fn assembly_timer<const FOR_GC: bool>(&mut self, die: DieIx) -> bool {
        let matters = *self.assembly_until(die, FOR_GC) == self.flash.now;
        if matters {
            self.assemble(die);
            self.try_start(die);
        }
        matters
    }

    /// The pages of the host that wait at dies which have none for one of their planes yet.
    pub(crate) fn pages_without_partners(&mut self) -> u32 {
        let mut sum = 0;
        for die in 0..self.up.ftl.assembly.without_partners.len() {
            if self.up.ftl.assembly.without_partners[die] == NONE {
                self.up.ftl.assembly.without_partners[die] = self.count_without_partners(die as DieIx);
            }
            sum += self.up.ftl.assembly.without_partners[die];
        }
        sum
    }

    fn count_without_partners(&self, die: DieIx) -> u32 {
        if self.waited_long_enough(die, false) {
            return 0;
        }
        let waiting = |plane| {
            let programs = [Class::HostProgram, Class::Flush].map(|class| self.flash.waiting(plane, class).count());
            programs.iter().sum::<usize>() as u32
        };
        let planes = self.planes_of(die);
        let (sum, fewest) = planes.clone().map(waiting).fold((0, u32::MAX), |(sum, fewest), pages| (sum + pages, fewest.min(pages)));
        sum - fewest * planes.len() as u32
    }

    /// Nothing will bring the pages that are missing: the die with the most pages waits no longer; before all others, one whose
    /// planes can all take a page now.
    #[cold]
    pub(crate) fn pad_fullest_die(&mut self) {
        let takes = |die: DieIx| {
            self.planes_of(die).all(|plane| !self.flash.queues(plane).locked && self.up.ftl.tables.can_take(plane, 0, Claimant::Host))
        };
        let pages = |die: DieIx| self.up.ftl.assembly.without_partners[die as usize];
        let dies = (0..self.flash.device.geometry.dies()).filter(|&die| pages(die) > 0);
        let Some(die) = dies.max_by_key(|&die| (takes(die), pages(die), Reverse(die))) else { return };
        *self.assembly_until(die, false) = self.flash.now;
        self.up.ftl.counters.padded_for_room += 1;
        self.assemble(die);
        self.try_start(die);
    }

    /// A GC of a die ended without a victim: what waited for a page of it waits no more.
    #[cold]
    pub(crate) fn assemble_without(&mut self, die: DieIx) {
        self.assemble(die);
        self.try_start(die);
    }

    /// A program of a die is about to start: brings all write points to one offset, and gives the planes without a program
    /// a page of padding in its stead.
    #[cold]
    pub(crate) fn pad_planes(&mut self, die: DieIx, lead: PlaneIx, for_host: bool) {
        let for_gc = !for_host;
        if for_gc && !self.flash.traits.assembles_gc {
            return;
        }
        let planes = self.planes_of(die);
        let point = self.up.ftl.tables.usual_point(lead, for_gc);
        let before = self.up.ftl.counters.padded_pages;
        let offset = planes.clone().map(|plane| self.up.ftl.tables.next_offset(plane, point)).max().unwrap_or(0);
        let mut short = false;
        for plane in planes.clone() {
            while self.up.ftl.tables.next_offset(plane, point) < offset && self.pad(plane, point, for_gc) {}
            short |= self.up.ftl.tables.next_offset(plane, point) < offset;
        }
        // A plane that has no room for padding is left behind, and what it programs it programs alone.
        if self.up.ftl.tables.next_offset(lead, point) == offset {
            for plane in planes {
                if plane != lead && !self.waits_to_program(plane, for_gc) && self.up.ftl.tables.next_offset(plane, point) == offset {
                    short |= !self.pad(plane, point, for_gc);
                }
            }
        }
        *self.assembly_until(die, for_gc) = Ns::MAX;
        if for_host && let Some(erased) = self.up.ftl.assembly.erased_then.get_mut(die as usize) {
            *erased = 0;
        }
        let counters = &mut self.up.ftl.counters;
        counters.programs_short += u64::from(short);
        counters.padded_for_gc += if for_gc { counters.padded_pages - before } else { 0 };
    }

    /// Programs a page of padding. A block of GC's reserve is opened for it only where GC spreads its pages over all planes of a
    /// die and so takes a share of each reserve; a block's worth is left even so, for that is what one GC may move.
    fn pad(&mut self, plane: PlaneIx, write_point: usize, for_gc: bool) -> bool {
        let left = || self.up.ftl.tables.room_for_gc(plane, write_point) > self.flash.device.geometry.pages_in(1);
        let claimant = if for_gc && self.up.ftl.traits.gc_across && left() { Claimant::Gc } else { Claimant::Host };
        let padded = self.up.ftl.tables.pad(plane, write_point, claimant);
        self.up.ftl.counters.padded_pages += u64::from(padded);
        padded
    }
}
