//! Superpage programs: a die programs only when every plane of it has a page, at one offset.
//!
//! Until then its programs are masked like locked work. Write points that lag behind are padded up to the others; when the
//! first program has waited too long, so are the planes without one. While writes wait for room in the buffer and no other page
//! of it is on its way, the die with the most pages need not wait. The host's superpages are assembled apart from those of GCs,
//! which wait only for planes whose GC can still bring a page. A GC waits until its page is programmed: nothing is erased
//! whose copy is only in RAM. Where GC may move pages to any plane of the die, it reads on until there is one for each.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, class_bits};
use crate::flash::upper::Assembles;
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::{GcState, Reason};
use crate::ids::{DieIx, NONE, PlaneIx, Pool};
use crate::policy::answers::{Gate, Want};
use crate::policy::interface::GcGate;
use crate::policy::thresholds::StartLevel;
use crate::timer::Timer;
use crate::units::Ns;
use std::cmp::Reverse;

/// Bits of the programs of the host and of the buffer.
const HOST_PROGRAMS: u64 = class_bits(Class::HostProgram) | class_bits(Class::Flush);

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    fn waits_to_program(&self, plane: PlaneIx, for_gc: bool) -> bool {
        let waits = |class| self.flash.first_waiting(plane, class) != NONE;
        if for_gc { waits(Class::GcProgram) } else { waits(Class::HostProgram) || waits(Class::Flush) }
    }

    /// The programs of a die that may not start yet, as bits of its mask.
    #[cold]
    pub(super) fn not_assembled(&self, die: DieIx) -> u64 {
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
        let due = self.flash.now >= self.up.ftl.gc.assembly_until[die as usize];
        if !(due || self.seen().writes_wait_for_room() && complete())
            || !self.planes_of(die).all(|plane| self.up.ftl.tables.can_take(plane, 0, Claimant::Host))
        {
            return 0;
        }
        let put_off = self.planes_of(die).filter(|&plane| !self.flash.is_urgent(plane));
        put_off.fold(0, |bits, plane| bits | self.flash.bit(plane, Class::Lock))
    }

    /// Whether the host's programs of a die may start: all planes can take a page, and have one or have been waited for in vain.
    fn assembled(&self, die: DieIx) -> bool {
        let forced = self.flash.now >= self.up.ftl.gc.assembly_until[die as usize];
        self.planes_of(die).all(|plane| {
            let free = !self.flash.is_locked(plane) && self.up.ftl.tables.can_take(plane, 0, Claimant::Host);
            free && (forced || self.waits_to_program(plane, false))
        })
    }

    /// Whether the programs of a die's GCs may start: the planes have one, will have none, or have been waited for in vain.
    fn gc_assembled(&self, die: DieIx) -> bool {
        let waits = |&plane: &PlaneIx| self.waits_to_program(plane, true);
        let forced = self.flash.now >= self.up.ftl.gc.assembly[die as usize].until;
        let mut planes = self.planes_of(die);
        let complete = || {
            if self.flash.traits.gc_across {
                // Any GC of the die may bring the page of any plane.
                return self.planes_of(die).all(|plane| waits(&plane)) || !self.planes_of(die).any(|plane| self.brings_a_page(plane));
            }
            self.planes_of(die).all(|plane| waits(&plane) || !self.brings_a_page(plane))
        };
        planes.any(|plane| waits(&plane)) && (forced || complete())
    }

    /// Whether the GC of a plane, none of whose pages waits to be programmed, can still bring one.
    fn brings_a_page(&self, plane: PlaneIx) -> bool {
        let gc = &self.up.ftl.gc.planes[plane as usize];
        let victim = self.up.ftl.gc.of_pool(self.up.ftl.tables.pool_of(plane)).victim;
        let has_more = || victim.is_none() || self.up.ftl.tables.has_valid(gc.unseen);
        match gc.state {
            GcState::Claiming => has_more(),
            GcState::Moving if self.flash.traits.gc_across => {
                gc.reads || gc.in_registers > 0 || has_more() && gc.in_ram < self.flash.traits.gc_reads_ahead
            }
            // Where no step waits to be picked, a page is being read.
            GcState::Moving => has_more() || !self.flash.is_ready(plane, Class::Gc),
            // It has read all.
            _ => false,
        }
    }

    fn await_partners(&mut self, die: DieIx, for_gc: bool) {
        let waits = self.planes_of(die).any(|plane| self.waits_to_program(plane, for_gc));
        let wait = if for_gc { self.flash.traits.pairing.gc_assembly_ns } else { self.flash.traits.pairing.assembly_ns }.unwrap_or(0);
        let now = self.flash.now;
        let until = self.assembly_until(die, for_gc);
        if !waits {
            *until = Ns::MAX;
        } else if *until == Ns::MAX {
            *until = now + wait;
            self.set_timer(now + wait, if for_gc { Timer::AssemblyGc(die) } else { Timer::Assembly(die) });
        }
    }

    fn assembly_until(&mut self, die: DieIx, for_gc: bool) -> &mut Ns {
        if for_gc { &mut self.up.ftl.gc.assembly[die as usize].until } else { &mut self.up.ftl.gc.assembly_until[die as usize] }
    }

    /// The programs of a die have waited long enough for the others. Returns whether any still do.
    pub(crate) fn assembly_timer(&mut self, die: DieIx, for_gc: bool) -> bool {
        let matters = *self.assembly_until(die, for_gc) == self.flash.now;
        if matters {
            self.programs_changed(die);
            self.try_start(die);
        }
        matters
    }

    /// The pages of the host that wait at dies which have none for one of their planes yet.
    pub(crate) fn pages_without_partners(&mut self) -> u32 {
        let mut sum = 0;
        for die in 0..self.up.ftl.gc.without_partners.len() {
            if self.up.ftl.gc.without_partners[die] == NONE {
                self.up.ftl.gc.without_partners[die] = self.count_without_partners(die as DieIx);
            }
            sum += self.up.ftl.gc.without_partners[die];
        }
        sum
    }

    fn count_without_partners(&self, die: DieIx) -> u32 {
        if self.flash.now >= self.up.ftl.gc.assembly_until[die as usize] {
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
            self.planes_of(die).all(|plane| !self.flash.is_locked(plane) && self.up.ftl.tables.can_take(plane, 0, Claimant::Host))
        };
        let pages = |die: DieIx| self.up.ftl.gc.without_partners[die as usize];
        let dies = (0..self.flash.device.geometry.dies()).filter(|&die| pages(die) > 0);
        let Some(die) = dies.max_by_key(|&die| (takes(die), pages(die), Reverse(die))) else { return };
        self.up.ftl.gc.assembly_until[die as usize] = self.flash.now;
        self.flash.counters.padded_for_room += 1;
        self.programs_changed(die);
        self.try_start(die);
    }

    /// A plane's GC ended without a victim: what waited for a page of it waits no more.
    #[cold]
    pub(super) fn assemble_without(&mut self, plane: PlaneIx) {
        let die = self.flash.die_of(plane);
        self.programs_changed(die);
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
        let before = self.flash.counters.padded_pages;
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
        if for_host && let Some(assembly) = self.up.ftl.gc.assembly.get_mut(die as usize) {
            assembly.erased_then = 0;
        }
        let counters = &mut self.flash.counters;
        counters.programs_short += u64::from(short);
        counters.padded_for_gc += if for_gc { counters.padded_pages - before } else { 0 };
    }

    /// Programs a page of padding. A block of GC's reserve is opened for it only where GC spreads its pages over all planes of a
    /// die and so takes a share of each reserve; a block's worth is left even so, for that is what one GC may move.
    fn pad(&mut self, plane: PlaneIx, write_point: usize, for_gc: bool) -> bool {
        let left = || self.up.ftl.tables.room_for_gc(plane, write_point) > self.flash.device.geometry.pages_in(1);
        let claimant = if for_gc && self.flash.traits.gc_across && left() { Claimant::Gc } else { Claimant::Host };
        let padded = self.up.ftl.tables.pad(plane, write_point, claimant);
        self.flash.counters.padded_pages += u64::from(padded);
        padded
    }

    #[cold]
    pub(super) fn consider_gc_of_die(&mut self, die: DieIx) {
        let planes = self.planes_of(die);
        let across = self.flash.traits.gc_across;
        let seen = self.seen();
        // While a GC of the die still reads, those that wait at the gate go on to.
        let reads = across && planes.clone().any(|plane| seen.in_gc(plane) && !seen.gc_drains(plane));
        let is_asked = |plane: PlaneIx| !(reads && seen.waits_at_gate(plane));
        let mut rest = planes.clone().filter(|&plane| is_asked(plane)).fold(0u64, |bits, plane| bits | 1 << (plane - planes.start));
        while rest != 0 {
            let waits = planes.clone().filter(|plane| rest >> (plane - planes.start) & 1 == 1);
            // Where each GC takes pages of all planes and gives one plane a block, the plane that has the fewest is asked first.
            let fewest = |&plane: &PlaneIx| if across { self.up.ftl.tables.free_pages(plane) } else { 0 };
            let plane = waits.min_by_key(fewest).expect("a bit is set");
            rest &= !(1 << (plane - planes.start));
            self.consider_gc_of_pool(self.up.ftl.tables.pool_of(plane));
        }
    }

    /// Whether a plane whose GC is not under way would rather join one with `moves` pages to move than be padded by as many:
    /// whether its erase frees more pages than it adds to what all planes of the die program.
    fn would_join(&mut self, plane: PlaneIx, moves: u32) -> Option<u32> {
        if self.flash.traits.gc_across {
            // A GC alone fills the programs of its die.
            return None;
        }
        let planes = self.flash.device.geometry.planes_per_die;
        let victim = self.choose_victim(self.up.ftl.tables.pool_of(plane))?;
        let (valid, pages) = (self.up.ftl.tables.valid_pages(victim), self.up.ftl.tables.pages_in(victim));
        (planes * valid.saturating_sub(moves) < pages).then_some(valid)
    }

    /// The erased pages of a die, as if the GCs that have read all their pages had ended.
    fn erased_pages(&self, die: DieIx) -> u32 {
        let (tables, gc) = (&self.up.ftl.tables, &self.up.ftl.gc);
        let drains = |plane| self.flash.traits.gc_across && self.seen().gc_drains(plane);
        let freed = |plane| gc.of_pool(tables.pool_of(plane)).victim.map_or(0, |victim| tables.pages_in(victim));
        let comes = |plane| if drains(plane) { freed(plane).saturating_sub(gc.of(plane).in_ram) } else { 0 };
        self.planes_of(die).map(|plane| self.up.ftl.tables.free_pages(plane) + comes(plane)).sum()
    }

    /// Whether a GC of a die has read all its pages, and waits until they are programmed with those of another.
    fn die_drains(&self, die: DieIx) -> bool {
        self.flash.traits.gc_across && self.planes_of(die).any(|plane| self.seen().gc_drains(plane))
    }

    /// Whether the blocks that GCs of a die have read to the end make up for what it lacks, so that no other need be begun.
    fn is_made_up_for_in(&self, die: DieIx) -> bool {
        let Some(levels) = self.policies().start.trigger else { return false };
        let in_cycle = self.planes_of(die).any(|plane| self.up.ftl.gc.in_cycle(self.up.ftl.tables.pool_of(plane)));
        let StartLevel::DiePages(pages) = (if in_cycle { levels.stop } else { levels.start }) else { return false };
        self.die_drains(die) && self.erased_pages(die) >= pages * self.flash.device.geometry.planes_per_die
    }

    /// The die of the first plane of a pool; where programs of dies are assembled, no pool reaches into another.
    fn die_of_pool(&self, pool: Pool) -> DieIx {
        self.flash.die_of(self.up.ftl.tables.planes_of(pool).start)
    }

    /// A pool wants a GC and gets it.
    #[cold]
    pub(super) fn note_wanted_gc(&mut self, pool: Pool) {
        let die = self.die_of_pool(pool);
        let erased = self.erased_pages(die);
        if let Some(assembly) = self.up.ftl.gc.assembly.get_mut(die as usize) {
            assembly.erased_then = erased;
        }
    }

    /// Whether a pool's GC may start, for all that it pads. Where the host can't program it must. Otherwise the last GC of the
    /// die must have freed more than was padded for it, or the host have programmed since: a drive with nothing to do would
    /// collect its own padding for ever. And one that is not urgent must be expected to free more pages of the die than it
    /// and the siblings that it would bring program, padding included.
    #[cold]
    pub(super) fn is_worth_its_padding(&mut self, pool: Pool, urgent: bool) -> bool {
        let own = self.up.ftl.tables.planes_of(pool);
        if urgent && own.clone().any(|plane| !self.up.ftl.tables.can_take(plane, 0, Claimant::Host)) {
            return true;
        }
        let die = self.die_of_pool(pool);
        if self.erased_pages(die) <= self.up.ftl.gc.assembly[die as usize].erased_then || self.is_made_up_for_in(die) {
            return false;
        }
        if urgent {
            return true;
        }
        let planes = self.flash.device.geometry.planes_per_die;
        let Some(victim) = self.choose_victim(pool) else { return false };
        let (moves, pages) = (self.up.ftl.tables.valid_pages(victim), self.up.ftl.tables.pages_in(victim));
        if self.flash.traits.gc_across {
            // It may fill up what would be padded.
            return self.die_drains(die) || moves.next_multiple_of(planes) < pages;
        }
        let (mut most, mut joining) = (moves, 1);
        for sibling in self.planes_of(die).filter(|sibling| !own.contains(sibling)) {
            if self.up.ftl.gc.planes[sibling as usize].state != GcState::Idle {
                joining += 1;
            } else if let Some(valid) = self.would_join(sibling, moves) {
                joining += 1;
                most = most.max(valid);
            }
        }
        joining * pages > planes * most
    }

    /// The GC of a pool begins to move pages. Those of its siblings that gain by it and that the gate lets in begin too, as all
    /// do beside an urgent one: the pages that they move take the place of padding. A GC that was brought brings no others: GCs
    /// that come too late for each other's programs would bring each other for ever, and the host could never program.
    #[cold]
    pub(super) fn bring_siblings(&mut self, pool: Pool) {
        let collection = self.up.ftl.gc.of_pool(pool);
        let moves = collection.victim.map_or(0, |victim| self.up.ftl.tables.valid_pages(victim));
        if moves == 0 || collection.reason == Reason::Sibling {
            return;
        }
        let passes = self.is_urgent(pool) && !self.ask(|policies, _| policies.gc_gate.strict());
        for sibling in self.planes_of(self.die_of_pool(pool)) {
            let pool = self.up.ftl.tables.pool_of(sibling);
            let waits_at_gate = self.up.ftl.gc.is_gated(pool);
            if self.up.ftl.gc.planes[sibling as usize].state == GcState::Idle
                && !waits_at_gate
                && self.would_join(sibling, moves).is_some()
                && (self.ask(|policies, view| policies.gc_gate.may_start(view, pool, Want::Soft)) == Gate::Open || passes)
            {
                self.start_gc(pool, false, Reason::Sibling);
            }
        }
    }
}

impl<Q: EventQueue, U> Assembles for Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    #[cold]
    fn programs_changed(&mut self, die: DieIx) {
        self.up.ftl.gc.without_partners[die as usize] = NONE;
        self.await_partners(die, false);
        if self.flash.traits.assembles_gc {
            self.await_partners(die, true);
        }
        self.settle_die(die);
        self.update_masked(die);
    }

    #[cold]
    fn programs_ended(&mut self, die: DieIx) {
        self.programs_changed(die);
        // Whosever program it was, it may have padded every plane.
        self.consider_gc_of_die(die);
    }
}
