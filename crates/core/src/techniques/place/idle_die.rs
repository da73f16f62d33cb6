//! # Dynamic allocation to an idle die
//!
//! **What it does.** A page that is written goes to a plane of a die that is idle and without GC; if there is none, to a die
//! without GC rather than to one with, and to the shortest queue of programs. Among equals the planes take turns in the given
//! order. Planes stay level: a plane that holds a block more live pages than the plane with the fewest takes no page, however idle
//! its die is. A plane without room beyond GC's reserve is passed over. If no plane is left, the one with the fewest live pages
//! takes the page, because its GC has most to gain. Pages that a plane is bound to take count as live. Where the design lets GC
//! leave its plane (`[gc] destination`), its pages are placed in the same way, to planes that hold fewer live pages than theirs.
//! Reads go where the data are.
//!
//! **Source.** I/O-parallelized GC, section 3.3 (dynamic allocation, as in SSDSim); The Harey Tortoise, section 3.2 (round
//! robin over the chips, past busy ones, with as many valid pages on each).
//!
//! **Parameters.** `order`, one of the 24 orders of C, W, D and P in which the planes take turns; default `CWDP`.
//!
//! **Cost.** A level plane may have to wait: where the GC of one falls behind, the others wait for it, as in a static layout. If they
//! took its pages, they would fill up and move ever more of each victim. What was written together is spread by the load of that moment, so reading it back may meet one die several
//! times. The plane is chosen when the program is enqueued, before its read if it has one, and not again. A layout that is bound to
//! addresses, such as parity stripes, cannot be combined with it.

use crate::policy::prelude::*;
use crate::techniques::place::static_order::PlaneOrder;
use crate::techniques::place::turns::Turns;
use crate::tree::{EMPTY, Tree};

/// Dynamic allocation, in turns among equals.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleDie {
    #[serde(default)]
    order: PlaneOrder,
    #[serde(skip)]
    turns: Turns,
    /// The index of each plane in the turns.
    #[serde(skip)]
    index_of: Vec<usize>,
    /// A key for each index: a rank that the plane is not below, and the index. None where the plane takes no page.
    #[serde(skip)]
    ranks: Tree,
    /// Keys of planes that a page of GC may not go to, while its plane is chosen.
    #[serde(skip)]
    aside: Vec<u64>,
    /// Live pages of the plane with the fewest, and choices until that is found anew: as many as there are planes.
    #[serde(skip)]
    fewest: u32,
    #[serde(skip)]
    until_fewest: u32,
}

/// Bits of a key: the index, the programs of the plane, those of its die, and two for what the die does.
const INDEX_BITS: u32 = 20;
const PROGRAMS_BITS: u32 = 21;

/// Live pages of a plane, with those that it is bound to take.
fn live_pages(view: View<'_>, plane: PlaneIx) -> u32 {
    view.tables().live_pages(plane) + view.programs_for(plane)
}

/// The rank of a plane: the lowest takes the next page.
fn rank(view: View<'_>, plane: PlaneIx) -> u64 {
    let die = view.geometry().die_of(plane);
    let bounded = |programs: u32| u64::from(programs).min((1 << PROGRAMS_BITS) - 1);
    let state = u64::from(view.die_in_gc(die)) << 1 | u64::from(!view.die_is_idle(die));
    (state << PROGRAMS_BITS | bounded(view.programs_for_die(die))) << PROGRAMS_BITS | bounded(view.programs_for(plane))
}

fn index_of(key: u64) -> usize {
    (key & ((1 << INDEX_BITS) - 1)) as usize
}

impl IdleDie {
    /// A plane may have any rank now.
    fn reconsider(&mut self, index: usize) {
        self.ranks.set(index, index as u64);
    }

    fn reconsider_all(&mut self) {
        (0..self.turns.planes.len()).for_each(|index| self.reconsider(index));
    }

    /// Return the number of live pages from which on a plane takes no more: a block above the plane with the fewest.
    fn level(&mut self, view: View<'_>) -> u32 {
        if self.until_fewest == 0 {
            let planes = &self.turns.planes;
            self.until_fewest = planes.len() as u32;
            let fewest = planes.iter().map(|&plane| live_pages(view, plane)).min().expect("a drive has planes");
            if fewest > self.fewest {
                self.reconsider_all();
            }
            self.fewest = fewest;
        }
        self.until_fewest -= 1;
        self.fewest + view.geometry().pages_in(1)
    }

    /// Return the least key; among equal ranks the one whose turn comes first.
    fn first_in_turn(&self) -> u64 {
        let (after, first) = (self.ranks.first_from(self.turns.next()), self.ranks.first());
        if after >> INDEX_BITS == first >> INDEX_BITS { after } else { first }
    }

    /// Return the best of the planes that have room, hold less than the level and are eligible, from the next turn on.
    ///
    /// A rank that has risen shows when it is looked at, and one may have fallen only where the view says so. So few planes are
    /// looked at, however many the drive has.
    fn choose(&mut self, view: View<'_>, eligible: impl Fn(PlaneIx) -> bool) -> Option<PlaneIx> {
        let level = self.level(view);
        view.relieved_planes().for_each(|plane| self.reconsider(self.index_of[plane as usize]));
        let chosen = loop {
            let key = self.first_in_turn();
            if key == EMPTY {
                break None;
            }
            let (index, plane) = (index_of(key), self.turns.planes[index_of(key)]);
            let takes = view.has_room(plane) && live_pages(view, plane) < level;
            let now = if takes { rank(view, plane) << INDEX_BITS | index as u64 } else { EMPTY };
            if now != key {
                self.ranks.set(index, now);
            } else if eligible(plane) {
                break Some(index);
            } else {
                self.aside.push(key);
                self.ranks.set(index, EMPTY);
            }
        };
        while let Some(key) = self.aside.pop() {
            self.ranks.set(index_of(key), key);
        }
        #[cfg(test)]
        assert_eq!(chosen, tests::scan(self, view, level, eligible), "another plane is the best of all");
        chosen.map(|index| self.turns.take(index))
    }
}

impl Place for IdleDie {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let planes = self.order.planes(&device.geometry)?;
        self.index_of = vec![0; planes.len()];
        planes.iter().enumerate().for_each(|(index, &plane)| self.index_of[plane as usize] = index);
        self.ranks = Tree::with_slots(planes.len());
        self.aside = Vec::with_capacity(planes.len());
        self.turns.planes = planes;
        self.reconsider_all();
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        [self.turns.save(), self.fewest.to_le_bytes().to_vec(), self.until_fewest.to_le_bytes().to_vec()].concat()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let Some((turn, level)) = state.split_at_checked(4).filter(|(_, level)| level.len() == 8) else {
            return Err(format!("idle_die keeps 12 bytes, not {}", state.len()));
        };
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
        (self.fewest, self.until_fewest) = (number(&level[..4]), number(&level[4..]));
        self.reconsider_all();
        self.turns.restore("idle_die", turn)
    }

    fn plane(&mut self, view: View<'_>, _: Lpn) -> PlaneIx {
        self.choose(view, |_| true).unwrap_or_else(|| self.turns.least(|plane| live_pages(view, plane)))
    }

    fn gc_plane(&mut self, view: View<'_>, from: PlaneIx) -> PlaneIx {
        let live = view.tables().live_pages(from);
        self.choose(view, |plane| live_pages(view, plane) < live).unwrap_or(from)
    }

    fn reach(&mut self) -> Reach {
        Reach::Drive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Tables;
    use crate::gc::state::GcState;
    use crate::relieved::Relieved;
    use crate::testkit::{Parts, tiny_device, tiny_state};
    use proptest::prelude::*;

    /// The index that a look at every plane finds.
    pub(super) fn scan(place: &IdleDie, view: View<'_>, level: u32, eligible: impl Fn(PlaneIx) -> bool) -> Option<usize> {
        let takes = |&(_, plane): &(usize, PlaneIx)| view.has_room(plane) && live_pages(view, plane) < level && eligible(plane);
        let key = |&(_, plane): &(usize, PlaneIx)| {
            let die = view.geometry().die_of(plane);
            (view.die_in_gc(die), !view.die_is_idle(die), view.programs_for_die(die), view.programs_for(plane))
        };
        place.turns.in_turn().filter(takes).min_by_key(key).map(|(index, _)| index)
    }

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
    fn a_plane_takes_no_page_beyond_a_block_more_than_the_plane_with_the_fewest() {
        let mut state = tiny_state();
        state.ftl.tables.count_live();
        state.flash.dies_for_test()[1].running = 0;
        let mut place = idle_die();
        let mut chosen = Vec::new();
        for lpn in 0..7 {
            let plane = place.plane(state.view(), lpn);
            let ppn = state.ftl.tables.take(plane, 0, crate::ftl::Claimant::Host).unwrap();
            state.ftl.tables.commit_write(lpn, ppn);
            chosen.push(plane);
        }
        // A block has four pages. The idle die takes four, then the busy one two: the level is found anew every other time.
        assert_eq!(chosen, [0, 0, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn the_turn_and_the_level_are_kept() {
        let state = tiny_state();
        let (mut one, mut two) = (idle_die(), idle_die());
        one.plane(state.view(), 7);
        two.restore(&one.save()).unwrap();
        assert_eq!((two.fewest, two.until_fewest, two.plane(state.view(), 7)), (0, 1, 1));
        assert!(two.restore(&[0; 4]).is_err() && two.restore(&[2; 12]).is_err(), "a drive of two planes");
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

    /// What may happen between two choices: to a die, to a plane, or a page that the host or a GC writes.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Runs(DieIx),
        Idles(DieIx),
        GcStarts(PlaneIx),
        GcEnds(PlaneIx),
        IsBound(PlaneIx),
        IsFree(PlaneIx),
        Writes(Lpn),
        Moves(PlaneIx),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..8u32).prop_map(Step::Runs),
            (0..8u32).prop_map(Step::Idles),
            (0..16u32).prop_map(Step::GcStarts),
            (0..16u32).prop_map(Step::GcEnds),
            (0..16u32).prop_map(Step::IsBound),
            (0..16u32).prop_map(Step::IsFree),
            (0..40u32).prop_map(Step::Writes),
            (0..16u32).prop_map(Step::Moves),
        ]
    }

    proptest! {
        /// Every choice compares itself with a look at every plane.
        #[test]
        fn each_choice_is_that_of_a_look_at_every_plane(steps in prop::collection::vec(step(), 0..300)) {
            let mut device = tiny_device();
            (device.geometry.channels, device.geometry.dies_per_chip, device.geometry.planes_per_die) = (4, 2, 2);
            device.geometry.chips_per_channel = 1;
            let tables = Tables::new(&device.geometry, device.logical_pages(), 1, 1, false);
            let mut state = Parts::new(&device, tables);
            state.ftl.tables.count_live();
            state.ftl.bound = vec![0; 16];
            state.flash.relieved = Relieved::all(8);
            let mut place = IdleDie::default();
            place.prepare(&device).unwrap();
            for step in steps {
                let mut relieved = None;
                match step {
                    Step::Runs(die) => state.flash.dies_for_test()[die as usize].running = 0,
                    Step::Idles(die) => {
                        state.flash.dies_for_test()[die as usize].running = NONE;
                        relieved = Some(die);
                    }
                    Step::GcStarts(plane) => state.ftl.gc.planes_for_test()[plane as usize].state = GcState::Moving,
                    Step::GcEnds(plane) => {
                        state.ftl.gc.planes_for_test()[plane as usize].state = GcState::Idle;
                        relieved = Some(plane / 2);
                    }
                    Step::IsBound(plane) => state.ftl.bound[plane as usize] += 1,
                    Step::IsFree(plane) => {
                        state.ftl.bound[plane as usize] = state.ftl.bound[plane as usize].saturating_sub(1);
                        relieved = Some(plane / 2);
                    }
                    Step::Writes(lpn) => {
                        let plane = place.plane(state.view(), lpn);
                        state.flash.relieved.forget();
                        state.ftl.tables.forget_relieved();
                        if let Some(ppn) = state.ftl.tables.take(plane, 0, Claimant::Host) {
                            state.ftl.tables.commit_write(lpn, ppn);
                        }
                    }
                    Step::Moves(from) => {
                        place.gc_plane(state.view(), from);
                        state.flash.relieved.forget();
                        state.ftl.tables.forget_relieved();
                    }
                }
                relieved.into_iter().for_each(|die| state.flash.relieved.note(die));
            }
        }
    }
}
