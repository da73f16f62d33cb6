//! Erases that wait in the queue: for those of the other planes of their die, with which they start as one, or beside one that is
//! suspended.

use crate::flash::Engine;
use crate::flash::op::{Class, READ_BITS};
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::GcState;
use crate::ids::{DieIx, PlaneIx, Pool};

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Whether a plane's GC has moved its pages and waits for the erases of its die; only where these wait for each other.
    pub(super) fn erase_waits(&self, plane: PlaneIx) -> bool {
        self.flash.traits.joins_erases && self.up.ftl.gc.of(plane).state == GcState::Erasing
    }

    /// A GC of a die has begun or ended: which erases wait for it.
    #[cold]
    pub(super) fn put_erases_off(&mut self, pool: Pool) {
        let die = self.flash.die_of(self.up.ftl.tables.first_plane(pool));
        self.settle_die(die);
        self.update_masked(die);
    }

    /// Whether GCs give their locks up because something of the die is suspended, beside which only reads run.
    pub(super) fn locks_give_way(&self, die: DieIx) -> bool {
        self.flash.die(die).is_suspended() && !self.flash.serves_programs(die)
    }

    /// What is masked of a die, given all else that is: erases beside a suspended one, and those that wait for a GC of their die.
    /// Reads that were let in by a suspension pass all locks.
    #[cold]
    pub(super) fn mask_erases(&self, die: DieIx, masked: u64) -> u64 {
        let suspended = self.flash.die(die).is_suspended();
        let state = |plane: PlaneIx| self.up.ftl.gc.of(plane).state;
        let erasing = self.planes_of(die).filter(|&plane| state(plane) == GcState::Erasing);
        let moves = || self.planes_of(die).any(|plane| matches!(state(plane), GcState::Claiming | GcState::Moving));
        let put_off = suspended || self.flash.traits.joins_erases && moves();
        let erases = if put_off { erasing.fold(0, |bits, plane| bits | self.flash.bit(plane, Class::Gc)) } else { 0 };
        if self.flash.serves_programs(die) { masked & !READ_BITS | erases } else { masked | erases }
    }
}
