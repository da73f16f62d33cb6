//! GCs of one die whose pages fill the same superpage programs: which of them begin, and which begin beside them.
//!
//! A GC waits until its page is programmed: nothing is erased whose copy is only in RAM. Where GC may move pages to any plane of
//! the die, it reads on until there is one for each.

use crate::context::Context;
use crate::flash::Engine;
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::{GcState, Reason};
use crate::ids::{DieIx, Pool};
use crate::policy::answers::{Gate, Want};
use crate::policy::thresholds::StartLevel;

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    #[cold]
    pub(super) fn consider_gc_of_die(&mut self, die: DieIx) {
        let planes = self.planes_of(die);
        let across = self.up.ftl.traits.gc_across;
        let seen = self.seen();
        // While a GC of the die still reads, those that wait at the gate go on to.
        let reads = across && planes.clone().any(|plane| seen.in_gc(plane) && !seen.gc_drains(plane) && !self.erase_waits(plane));
        let asked = planes.clone().filter(|&plane| !(reads && seen.waits_at_gate(plane)));
        let mut rest = asked.fold(0u64, |bits, plane| bits | 1 << (plane - planes.start));
        while rest != 0 {
            let waits = planes.clone().filter(|plane| rest >> (plane - planes.start) & 1 == 1);
            // Where each GC takes pages of all planes and gives one plane a block, the plane that has the fewest is asked first.
            let first = waits.min_by_key(|&plane| if across { self.up.ftl.tables.free_pages(plane) } else { 0 });
            let plane = first.expect("a bit is set");
            rest &= !(1 << (plane - planes.start));
            self.consider_gc_of_pool(self.up.ftl.tables.pool_of(plane));
        }
    }

    /// Whether a pool whose GC is not under way would rather join one with `moves` pages to move than be padded by as many:
    /// whether its erase frees more pages than it adds to what all planes of the die program.
    fn would_join(&mut self, pool: Pool, moves: u32) -> Option<u32> {
        if self.up.ftl.traits.gc_across {
            // A GC alone fills the programs of its die.
            return None;
        }
        let planes = self.flash.device.geometry.planes_per_die;
        let victim = self.choose_victim(pool)?;
        let (valid, pages) = (self.up.ftl.tables.valid_pages(victim), self.up.ftl.tables.pages_in(victim));
        (planes * valid.saturating_sub(moves) < pages).then_some(valid)
    }

    /// The erased pages of a die, as if the GCs that have read all their pages had ended.
    pub(super) fn erased_pages(&self, die: DieIx) -> u32 {
        let tables = &self.up.ftl.tables;
        let comes = |plane| {
            let drains = self.up.ftl.traits.gc_across && self.seen().gc_drains(plane);
            let drained = self.gc_of(plane).current.filter(|_| drains || self.erase_waits(plane));
            drained.map_or(0, |current| tables.pages_in(current.group).saturating_sub(current.in_flight))
        };
        self.planes_of(die).map(|plane| tables.free_pages(plane) + comes(plane)).sum()
    }

    /// Whether a GC of a die has read all its pages, and waits until they are programmed with those of another.
    fn die_drains(&self, die: DieIx) -> bool {
        self.up.ftl.traits.gc_across && self.planes_of(die).any(|plane| self.seen().gc_drains(plane))
    }

    /// Whether the blocks that GCs of a die have read to the end, or that wait to be erased, make up for what it lacks, so that no
    /// other need be begun.
    fn is_made_up_for_in(&self, die: DieIx) -> bool {
        let pool = self.up.ftl.tables.pool_of(self.planes_of(die).start);
        let Some(StartLevel::DiePages(pages)) = self.level_aimed_at(pool) else { return false };
        let comes = self.die_drains(die) || self.planes_of(die).any(|plane| self.erase_waits(plane));
        comes && self.erased_pages(die) >= pages * self.flash.device.geometry.planes_per_die
    }

    /// The die of the first plane of a pool; where programs of dies are assembled, no pool reaches into another.
    pub(super) fn die_of_pool(&self, pool: Pool) -> DieIx {
        self.flash.die_of(self.up.ftl.tables.first_plane(pool))
    }

    /// Whether a pool's GC may start, for all that it pads. Where the host can't program it must. Otherwise the last GC of the
    /// die must have freed more than was padded for it, or the host have programmed since: a drive with nothing to do would
    /// collect its own padding for ever. And one that is not urgent must be expected to free more pages of the die than it
    /// and the siblings that it would bring program, padding included.
    #[cold]
    pub(super) fn is_worth_its_padding(&mut self, pool: Pool, urgent: bool) -> bool {
        if urgent && self.up.ftl.tables.planes_of(pool).any(|plane| !self.up.ftl.tables.can_take(plane, 0, Claimant::Host)) {
            return true;
        }
        let die = self.die_of_pool(pool);
        if self.erased_pages(die) <= self.up.ftl.assembly.erased_then[die as usize] || self.is_made_up_for_in(die) {
            return false;
        }
        if urgent {
            return true;
        }
        let planes = self.flash.device.geometry.planes_per_die;
        let Some(victim) = self.choose_victim(pool) else { return false };
        let (moves, pages) = (self.up.ftl.tables.valid_pages(victim), self.up.ftl.tables.pages_in(victim));
        if self.up.ftl.traits.gc_across {
            // It may fill up what would be padded.
            return self.die_drains(die) || moves.next_multiple_of(planes) < pages;
        }
        let (mut most, mut joining) = (moves, 1);
        for sibling in self.planes_of(die) {
            if self.up.ftl.tables.pool_of(sibling) == pool {
                continue;
            }
            if self.up.ftl.gc.planes[sibling as usize].state != GcState::Idle {
                joining += 1;
            } else if let Some(valid) = self.would_join(self.up.ftl.tables.pool_of(sibling), moves) {
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
        let gc = self.up.ftl.gc.of_pool(pool);
        let moves = gc.current.map_or(0, |current| self.up.ftl.tables.valid_pages(current.group));
        if moves == 0 || gc.reason == Reason::Sibling {
            return;
        }
        let passes = self.is_urgent(pool) && !self.ask(|policies, view| policies.gc_gate.strict(view, pool));
        for sibling in self.planes_of(self.die_of_pool(pool)) {
            let pool = self.up.ftl.tables.pool_of(sibling);
            let waits_at_gate = self.up.ftl.gc.is_gated(pool);
            if self.up.ftl.gc.planes[sibling as usize].state == GcState::Idle
                && !waits_at_gate
                && self.would_join(pool, moves).is_some()
                && (self.ask(|policies, view| policies.gc_gate.may_start(view, pool, Want::Soft)) == Gate::Open || passes)
            {
                self.start_gc(pool, false, Reason::Sibling);
            }
        }
    }
}
