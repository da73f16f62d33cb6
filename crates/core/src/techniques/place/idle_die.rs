//! # Dynamic allocation to an idle die
//!
//! **What it does.** A page that is written goes to a plane of a die that is idle and without GC; if there is none, to a die
//! without GC rather than to one with, and to the shortest queue of programs. Among equals the planes take turns in the given
//! order. Where the design lets GC leave its plane (`[gc] destination`), its pages are placed in the same way, to planes that
//! hold fewer live pages than theirs. A plane without room beyond GC's reserve is passed over; if no plane has any, the one
//! with the fewest live pages takes the page, because its GC has most to gain. Reads go where the data are.
//!
//! **Source.** I/O-parallelized GC, section 3.3 (dynamic allocation, as in SSDSim); The Harey Tortoise, section 3.2 (round
//! robin over the chips, past busy ones, with as many valid pages on each).
//!
//! **Parameters.** `order`, one of the 24 orders of C, W, D and P in which the planes take turns; default `CWDP`.
//!
//! **Cost.** What was written together is spread by the load of that moment, so reading it back may meet one die several
//! times. The plane is chosen when the program is enqueued, before its read if it has one, and not again. A layout that is bound to
//! addresses, such as parity stripes, cannot be combined with it.

use crate::policy::prelude::*;
use crate::techniques::place::static_order::PlaneOrder;
use crate::techniques::place::turns::Turns;

/// Dynamic allocation, in turns among equals.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleDie {
    #[serde(default)]
    order: PlaneOrder,
    #[serde(skip)]
    turns: Turns,
}

impl IdleDie {
    /// The best of the planes that have room and that `eligible` admits, from the next turn on.
    fn choose(&mut self, view: View<'_>, eligible: impl Fn(PlaneIx) -> bool) -> Option<PlaneIx> {
        let mut best = None;
        for (index, plane) in self.turns.in_turn() {
            if !view.has_room(plane) || !eligible(plane) {
                continue;
            }
            let die = view.geometry().die_of(plane);
            let key = (view.die_in_gc(die), !view.die_is_idle(die), view.programs_for_die(die), view.programs_for(plane));
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, index));
            }
            if key == (false, false, 0, 0) {
                break;
            }
        }
        best.map(|(_, index)| self.turns.take(index))
    }
}

impl Place for IdleDie {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.turns.planes = self.order.planes(&device.geometry)?;
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        self.turns.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        self.turns.restore("idle_die", state)
    }

    fn plane(&mut self, view: View<'_>, _: Lpn) -> PlaneIx {
        let fullness = |plane| view.tables().live_pages(plane) + view.programs_for(plane);
        self.choose(view, |_| true).unwrap_or_else(|| self.turns.least(fullness))
    }

    fn gc_plane(&mut self, view: View<'_>, from: PlaneIx) -> PlaneIx {
        let live = view.tables().live_pages(from);
        self.choose(view, |plane| view.tables().live_pages(plane) + view.programs_for(plane) < live).unwrap_or(from)
    }

    fn reach(&mut self) -> Reach {
        Reach::Drive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{tiny_device, tiny_state};

    fn idle_die() -> IdleDie {
        let mut place = IdleDie::default();
        place.prepare(&tiny_device()).unwrap();
        place
    }

    #[test]
    fn equals_take_turns_whatever_the_address() {
        let state = tiny_state();
        let mut place = idle_die();
        assert_eq!([7, 7, 7, 4].map(|lpn| place.plane(state.view(), lpn)), [0, 1, 0, 1]);
    }

    #[test]
    fn a_die_in_gc_a_busy_one_and_a_plane_without_room_are_passed_over() {
        let mut state = tiny_state();
        state.ftl.gc.planes_for_test()[0].state = crate::gc::state::GcState::Moving;
        let mut place = idle_die();
        assert_eq!([1, 1].map(|lpn| place.plane(state.view(), lpn)), [1, 1]);
        state.flash.dies_for_test()[1].running = 0;
        assert_eq!(place.plane(state.view(), 1), 1, "rather busy than in GC");
        // Of 32 pages a reserved block and an open one are out of reach.
        while state.ftl.tables.free_pages(1) > 8 {
            state.ftl.tables.take(1, 0, crate::ftl::Claimant::Gc).unwrap();
        }
        assert_eq!(place.plane(state.view(), 1), 0, "rather in GC than without room");
    }
}
