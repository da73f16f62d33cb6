//! # The next idle die
//!
//! **What it does.** A page that is to be programmed, by the host or by GC, has no place while it waits: it gets one when a die
//! could begin with it. Of several idle dies the one takes it that has the kind of page that `[page_choice]` prefers, and among
//! equals they take turns; one whose live pages exceed the mean of all by more than a block comes after the others, so that
//! each keeps about as many. On the die one of its write points takes the page, in turns among those with the preferred kind.
//! A die whose GC is urgent takes no page of the host or of other dies, unless its GC finds nothing to do; when no die takes
//! the page, it waits, and pages behind it do too. Reads go where the data are.
//!
//! **Source.** The Harey Tortoise, section 3.2: the data placement policy follows "a round robin approach which avoids busy chips
//! and seeks to maintain a uniform number of valid LBAs on each chip"; section 3.1: a chip in an emergency diverts all
//! incoming traffic to other chips, or blocks it; section 4.1: several write points for each chip.
//!
//! **Parameters.** `order`, one of the 24 orders of C, W, D and P in which the dies take turns; default `CWDP`.
//!
//! **Cost.** What was written together is spread by the load of that moment. A die begins no page before it is idle, so that one
//! program at a time is under way in each of its planes' die, and none joins another in a multi-plane command. It needs
//! `[gc_lock] policy = "nothing"`, since a die that is locked would look idle.

use crate::policy::prelude::*;
use crate::techniques::place::static_order::PlaneOrder;
use crate::techniques::place::turns::Turns;

/// Choices after which the mean of the live pages is found anew. It changes by trims and by first writes alone.
const CHOICES_FOR_MEAN: u32 = 1024;

/// Late-bound allocation, in turns among equals.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextIdle {
    #[serde(default)]
    order: PlaneOrder,
    #[serde(skip)]
    turns: Turns,
    /// Live pages of a plane above which it comes after others, and choices until that is found anew.
    #[serde(skip)]
    full: u32,
    #[serde(skip)]
    until_mean: u32,
}

impl NextIdle {
    fn find_mean(&mut self, view: View<'_>) {
        if self.until_mean == 0 {
            self.until_mean = CHOICES_FOR_MEAN;
            let planes = &self.turns.planes;
            let live: u64 = planes.iter().map(|&plane| u64::from(view.tables().live_pages(plane))).sum();
            self.full = (live / planes.len() as u64) as u32 + view.geometry().pages_in(1);
        }
        self.until_mean -= 1;
    }
}

/// Refuses more write points than GC's thresholds have blocks between them.
fn check_pool(with: &Combination<'_>, faults: &mut Faults) {
    let points = with.write_points;
    if points > WRITE_POINTS_MAX {
        let allowed = format!("1 to {WRITE_POINTS_MAX} with [place] `policy` = \"next_idle\"");
        return faults.push(Fault::new("gc", "write_points", format!("is {points}")).with("place", "policy").allowed(allowed));
    }
    let Some((background, emergency)) = with.thresholds else { return };
    if points > background - emergency {
        let found = format!(
            "is {points}, and each has an open block of the pool between [gc_trigger] `background_blocks` and `emergency_blocks`, \
             {background} and {emergency} erased blocks of each plane on this device"
        );
        let fault = Fault::new("gc", "write_points", found).with("gc_trigger", "background_blocks").with("gc_trigger", "emergency_blocks");
        let fault = fault.with("geometry", "blocks_per_plane");
        return faults.push(fault.allowed(format!("1 to {}, their difference", background - emergency)));
    }
    let (g, device) = (&with.device.geometry, with.device);
    let spare = (g.blocks_per_plane - device.bad_blocks_per_plane()).saturating_sub(device.live_blocks_per_plane());
    if background + points >= spare {
        let found = format!("keeps {background} erased blocks of each plane and [gc] `write_points` {points} open ones");
        let fault = Fault::new("gc_trigger", "background_blocks", found).with("gc", "write_points").with("geometry", "blocks_per_plane");
        faults.push(fault.allowed(format!("less than {spare} in all, the spare blocks of a plane")));
    }
}

impl Place for NextIdle {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.turns.planes = self.order.planes(&device.geometry)?;
        Ok(())
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        let (start, superpages) =
            ("since GC of single operations has no start", "which assembles superpages of pages that have their planes");
        let assembles = with.pairing_traits.assembly_ns.is_some();
        let locks = Against::policy(!with.gc_locks_nothing, "gc_lock", with.gc_lock, "which locks dies that look idle", "\"nothing\"");
        let [copyback, ideal] = with.gc_programs("whose pages stay where they are", "whose GC is no operation");
        let gate = Against::policy(!with.gate_always_open, "gc_gate", with.gc_gate, start, "\"free\", without `start`");
        let pairing = Against::policy(assembles, "pairing", with.pairing, superpages, "\"none\", \"same_offset\"");
        match contradiction("place", "policy", "= \"next_idle\"", [locks, copyback, ideal, gate, pairing]) {
            Some(fault) => faults.push(fault),
            None => check_pool(with, faults),
        }
    }

    // Ageing leaves nothing else behind: the mean is found anew.
    fn save(&self) -> Vec<u8> {
        self.turns.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        self.turns.restore("next_idle", state)
    }

    fn plane(&mut self, view: View<'_>, _: Lpn) -> PlaneIx {
        let found = self.turns.in_turn().find(|&(_, plane)| view.has_room(plane));
        let Some((index, _)) = found else { return self.turns.least(|plane| view.tables().live_pages(plane)) };
        self.turns.take(index)
    }

    fn reach(&mut self) -> Reach {
        Reach::Drive
    }

    fn late_bound(&mut self) -> bool {
        true
    }

    fn choose(&mut self, view: View<'_>, page: &Unplaced) -> Option<PlaneIx> {
        self.find_mean(view);
        let mut best: Option<((u32, bool), usize)> = None;
        let mut consider = |full: u32, index: usize, plane: PlaneIx| {
            let Some((rank, _)) = view.preferred_points(plane, page) else { return false };
            let key = (rank, view.tables().live_pages(plane) > full);
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, index));
            }
            key == (0, false)
        };
        if page.asking == NONE {
            for (index, plane) in self.turns.in_turn() {
                if view.die_is_idle(view.geometry().die_of(plane)) && consider(self.full, index, plane) {
                    break;
                }
            }
        } else {
            // Of what waits nothing could have begun elsewhere.
            let asking: DieIx = page.asking;
            let planes = view.planes_of(asking);
            for (index, plane) in self.turns.in_turn().filter(|(_, plane)| planes.contains(plane)) {
                consider(self.full, index, plane);
            }
        }
        let (_, index) = best.filter(|((rank, _), _)| *rank == 0 || !view.waits_for_better(page))?;
        Some(self.turns.take(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::answers::Preference;
    use crate::testkit::Parts;
    use crate::testkit::{late_bound_state, take_pages};

    const HOST: Unplaced = Unplaced { from: NONE, preference: Preference::Any, asking: NONE, confined: false };

    fn chosen(place: &mut NextIdle, state: &Parts, page: &Unplaced) -> Option<PlaneIx> {
        place.choose(state.view(), page)
    }

    fn next_idle(state: &Parts) -> NextIdle {
        let mut place = NextIdle::default();
        place.prepare(&state.flash.device).unwrap();
        place
    }

    #[test]
    fn idle_dies_take_turns() {
        let state = late_bound_state(2);
        let mut place = next_idle(&state);
        let all = [0; 5].map(|_| chosen(&mut place, &state, &HOST).unwrap());
        assert_eq!(all, [0, 1, 0, 1, 0]);
    }

    #[test]
    fn whose_turn_it_is_is_kept() {
        let state = late_bound_state(1);
        let (mut one, mut two) = (next_idle(&state), next_idle(&state));
        chosen(&mut one, &state, &HOST);
        two.restore(&one.save()).unwrap();
        assert_eq!(chosen(&mut two, &state, &HOST), Some(1));
        assert!(two.restore(&[1, 2]).is_err() && two.restore(&2_u32.to_le_bytes()).is_err(), "a drive of two planes");
    }

    #[test]
    fn a_busy_die_is_passed_over_and_a_page_that_finds_none_waits() {
        let mut state = late_bound_state(1);
        let mut place = next_idle(&state);
        state.flash.dies_for_test()[0].running = 7;
        assert_eq!([(); 2].map(|()| chosen(&mut place, &state, &HOST)), [Some(1); 2]);
        state.flash.dies_for_test()[1].running = 8;
        assert_eq!(chosen(&mut place, &state, &HOST), None);
    }

    #[test]
    fn the_preferred_page_goes_before_the_turn_and_before_even_planes() {
        let mut state = late_bound_state(2);
        let mut place = next_idle(&state);
        // Slow pages at one write point of the second die alone.
        take_pages(&mut state, 1, 1, 1);
        let slow = Unplaced { preference: Preference::Slow, ..HOST };
        assert_eq!([(); 2].map(|()| chosen(&mut place, &state, &slow)), [Some(1); 2]);
        let fast = Unplaced { preference: Preference::Fast, asking: 1, ..HOST };
        assert_eq!(chosen(&mut place, &state, &fast), Some(1), "of the die that asks");
    }

    #[test]
    fn a_plane_with_more_live_pages_than_others_comes_last() {
        let mut state = late_bound_state(1);
        for lpn in 0..16 {
            let ppn = state.ftl.tables.take(0, 0, crate::ftl::Claimant::Host).unwrap();
            state.ftl.tables.commit_write(lpn, ppn);
        }
        let mut place = next_idle(&state);
        // 16 live pages are more than the mean, 8, and a block of 4.
        assert_eq!([(); 2].map(|()| chosen(&mut place, &state, &HOST)), [Some(1); 2]);
        state.flash.dies_for_test()[1].running = 7;
        assert_eq!(chosen(&mut place, &state, &HOST), Some(0), "rather than to wait");
    }
}
