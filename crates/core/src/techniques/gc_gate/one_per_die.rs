//! # One GC for each die
//!
//! **What it does.** The planes of a die collect one after the other: a GC starts only while no other GC of its die moves pages,
//! and of the planes that want one that with the fewest erased pages goes first. Urgent GCs wait too. A GC that has read all
//! its pages, and waits until they fill a program of all planes, lets the next one bring the rest, if the die is short of space
//! even with the block that it is about to get, and has an erased block for each.
//!
//! **Source.** A decision for drives whose GC spreads its pages over all planes of a die, such as that of Practical Erase
//! Suspension: each GC then takes the programs of the whole die, and several would only prolong each other.
//!
//! **Parameters.** `joined_erases` (default false): a GC that has moved its pages is out of the way, and its erase waits until no
//! other GC of the die moves pages, urgent or not. Then all erases that wait start as one multi-plane erase, which takes the steps of
//! one and makes way as one. Needs flash with multi-plane programs, and no stripes. Practical Erase Suspension, section 2.3,
//! batches backlogged erases; MQSim, on which it builds, joins those of a die's planes, and serves them after all else of the die.
//!
//! **Cost.** Where GC stays in its plane, the other planes of the die stand idle meanwhile. With `joined_erases` space comes back
//! later: one die has up to a block of each plane that waits to be erased.

use crate::policy::prelude::*;

/// Open for one plane of each die.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnePerDie {
    #[serde(default)]
    joined_erases: bool,
}

impl OnePerDie {
    /// The erases of a die's planes wait for each other, or each starts when its GC has moved its pages.
    pub fn new(joined_erases: bool) -> Self {
        Self { joined_erases }
    }
}

impl GcGate for OnePerDie {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        // On dies of one plane there is nothing to join.
        if !self.joined_erases || device.flash.multi_plane_program || device.geometry.planes_per_die == 1 {
            return Ok(());
        }
        let found = "= true erases blocks of several planes of a die at once; [flash]";
        let found = format!("{found} `multi_plane_program` of {} is false", device.name);
        Err(Fault::new("gc_gate", "joined_erases", found).with("flash", "multi_plane_program").allowed("false").into())
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        let late = "which has no GC that could wait with its erase";
        let stripes = "whose reads go around GCs by what they lock";
        let against = [
            Against::policy(self.joined_erases && with.stripes, "place", with.place, stripes, ""),
            Against::policy(self.joined_erases && with.gc_locks_nothing, "gc_lock", with.gc_lock, late, ""),
        ];
        if let Some(fault) = contradiction("gc_gate", "joined_erases", "= true", against) {
            faults.push(fault);
        }
    }

    fn may_start(&mut self, view: View<'_>, pool: Pool, _: Want) -> Gate {
        let (tables, plane) = (view.tables(), view.tables().first_plane(pool));
        let planes = || view.planes_of(view.geometry().die_of(plane));
        let goes_before = planes().filter(|&other| tables.pool_of(other) != pool).any(|other| {
            let moves = view.in_gc(other) && !view.gc_drains(other) && !(self.joined_erases && view.gc_erases(other));
            moves || view.waits_at_gate(other) && tables.free_pages(other) < tables.free_pages(plane)
        });
        if goes_before {
            return Gate::Closed;
        }
        let drain = planes().filter(|&other| view.in_gc(other)).count() as u32;
        let erased_blocks: u32 = planes().map(|other| tables.erased_groups(tables.pool_of(other))).sum();
        if drain > 0 && erased_blocks <= drain { Gate::Closed } else { Gate::Open }
    }

    fn strict(&mut self, _: View<'_>, _: Pool) -> bool {
        true
    }

    fn alone_in_die(&mut self) -> bool {
        true
    }

    fn joins_erases(&mut self) -> bool {
        self.joined_erases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::{Claimant, Tables};
    use crate::gc::state::GcState;
    use crate::testkit::Parts;
    use crate::testkit::tiny_device;

    #[test]
    fn the_plane_with_the_fewest_erased_pages_goes_first_and_alone() {
        let mut device = tiny_device();
        device.geometry.planes_per_die = 2;
        let tables = Tables::new(&device.geometry, device.logical_pages(), 1, 1, false);
        let mut state = Parts::new(&device, tables);
        let ask = |state: &Parts, plane| OnePerDie::default().may_start(state.view(), Pool(plane), Want::Hard);
        state.ftl.tables.take(0, 0, Claimant::Host).unwrap();
        assert_eq!(ask(&state, 1), Gate::Open, "nobody else wants one");
        state.ftl.gc.gated_for_test()[0] = 0b11;
        assert_eq!((ask(&state, 0), ask(&state, 1)), (Gate::Open, Gate::Closed));
        state.ftl.gc.planes_for_test()[0].state = GcState::Claiming;
        assert_eq!((ask(&state, 1), ask(&state, 2)), (Gate::Closed, Gate::Open), "the other die is free");
        // It has read the one page of its victim, which waits to be programmed.
        state.ftl.gc.gated_for_test()[0] = 0b10;
        state.ftl.gc.drain_for_test(0, Pool(0));
        assert_eq!(ask(&state, 1), Gate::Open);
        while state.ftl.tables.erased_groups(Pool(0)) + state.ftl.tables.erased_groups(Pool(1)) > 1 {
            let plane = u32::from(state.ftl.tables.erased_groups(Pool(0)) == 0);
            state.ftl.tables.take(plane, 0, Claimant::Gc).unwrap();
        }
        assert_eq!(ask(&state, 1), Gate::Closed, "the one erased block is for the GC that drains");
    }
}
