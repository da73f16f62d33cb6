//! # One GC for each die
//!
//! **What it does.** The planes of a die collect one after the other: a GC starts only while no other plane of its die is in
//! GC, and of those that want one the plane with the fewest erased pages goes first. Urgent GCs wait too.
//!
//! **Source.** A decision for drives whose GC spreads its pages over all planes of a die, such as that of Practical Erase
//! Suspension: each GC then takes the programs of the whole die, and several would only prolong each other.
//!
//! **Parameters.** None.
//!
//! **Cost.** Where GC stays in its plane, the other planes of the die stand idle meanwhile.

use crate::ids::PlaneIx;
use crate::policy::{Gate, GcGate, Want};
use crate::view::View;
use schemars::JsonSchema;
use serde::Deserialize;

/// Open for one plane of each die.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnePerDie {}

impl GcGate for OnePerDie {
    fn may_start(&mut self, view: View<'_>, plane: PlaneIx, _: Want) -> Gate {
        let erased = |plane: PlaneIx| view.books().free_pages(plane);
        let goes_before = |other: PlaneIx| view.in_gc(other) || view.waits_at_gate(other) && erased(other) < erased(plane);
        let die = view.geometry().die_of(plane);
        if view.planes_of(die).any(|other| other != plane && goes_before(other)) { Gate::Shut } else { Gate::Open }
    }

    fn strict(&mut self) -> bool {
        true
    }

    fn alone_in_die(&mut self) -> bool {
        true
    }

    fn needs_stripes(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::gc::GcState;
    use crate::ftl::{Books, Claimant};
    use crate::state::State;
    use crate::testkit::tiny_device;

    #[test]
    fn the_plane_with_the_fewest_erased_pages_goes_first_and_alone() {
        let mut device = tiny_device();
        device.geometry.planes_per_die = 2;
        let books = Books::new(&device.geometry, device.logical_pages(), 1, 1, false);
        let mut state = State::new(&device, books, true, false);
        let ask = |state: &State, plane| OnePerDie {}.may_start(View(state), plane, Want::Hard);
        state.books.take(0, 0, Claimant::Host).unwrap();
        assert_eq!(ask(&state, 1), Gate::Open, "nobody else wants one");
        state.gated[0] = 0b11;
        assert_eq!((ask(&state, 0), ask(&state, 1)), (Gate::Open, Gate::Shut));
        state.gc[0].state = GcState::Claiming;
        assert_eq!((ask(&state, 1), ask(&state, 2)), (Gate::Shut, Gate::Open), "the other die is free");
    }
}
