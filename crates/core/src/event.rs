//! Pending events, at most one per slot, in one fixed total order: by time, then by slot.
//!
//! A slot is a resource (die, channel) or one of the drive's timers, so pending events are bounded by the hardware and not
//! by the queue depth. Scheduling a slot again replaces its event.

use crate::tree::{EMPTY, LINE, Tree, least, least_after};
use crate::units::{Ns, TIME_MAX};

/// Slots that belong to no die and no channel: the RAM, the earliest timer, the fixed time of commands, and the two directions of
/// the link.
pub(crate) const EXTRA_SLOTS: u32 = 5;

const SLOT_BITS: u32 = 13;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;

/// The largest number of slots.
pub const SLOTS_MAX: usize = 1 << SLOT_BITS;

/// The hash of what a drive does: of every event that mattered, and of what takes no time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventHash(u64);

impl Default for EventHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl EventHash {
    /// An event of a slot.
    #[inline(always)]
    pub(crate) fn event(&mut self, at: Ns, slot: usize) {
        self.mix(at << SLOT_BITS | slot as u64);
    }

    /// Anything else that was decided.
    #[inline(always)]
    pub(crate) fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// The hash so far.
    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

/// The pending events of a drive.
#[cfg(not(test))]
pub(crate) type Queue = Lanes;
/// In tests, every drive compares its lanes with an ordered set.
#[cfg(test)]
pub(crate) type Queue = tests::Checked;

/// Lanes. One cache line of heads is looked at for each event.
const LANES: usize = LINE;
/// The lane of events that are in the tree. Its head is the first of them, and nothing is appended to it.
const TREE: usize = LANES - 1;

/// Sorted lanes: an event joins a lane whose last event is earlier, and the earliest head of all lanes is next.
///
/// A drive's delays are few constants (a command, a transfer, an array time), and events of one delay are made in the order
/// in which they fall due, so each delay settles in a lane of its own and little is ever sorted. A lane is a list through the
/// slots. An event that fits no lane goes to a tree.
pub(crate) struct Lanes {
    /// The first event of each lane; `EMPTY` where there is none.
    heads: [u64; LANES],
    /// The last event of each lane; of an empty lane one that has left it. 0 where there was none, `u64::MAX` for the tree.
    tails: [u64; LANES],
    /// The event of each slot, and one that stays empty: it comes after the last event of every lane, so that no branch is needed
    /// that can't be foreseen.
    slots: Vec<Slot>,
    /// The earliest event; `EMPTY` where there is none.
    first: u64,
    /// The events that fit no other lane.
    tree: Tree,
    /// The time of the event that left last.
    now: Ns,
    /// The lane that an event has joined that was made as long before it fell due, by a hash of that time.
    hints: [u8; 16],
}

/// A slot's event, its lane, and the slots before and after it there. The slot before the head of a lane has left it.
#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    before: u16,
    after: u16,
    lane: u8,
}

/// The slot of an event.
#[inline(always)]
fn slot_of(key: u64) -> usize {
    (key & SLOT_MASK) as usize
}

#[cold]
fn too_late(at: Ns) -> ! {
    panic!("an event at {at} ns is later than event times can say");
}

impl Lanes {
    /// A queue of `slots` empty slots.
    pub fn with_slots(slots: usize) -> Self {
        assert!(slots <= SLOTS_MAX, "at most {SLOTS_MAX} slots");
        let mut tails = [0; LANES];
        tails[TREE] = u64::MAX;
        Self {
            heads: [EMPTY; LANES],
            tails,
            slots: vec![Slot { key: EMPTY, before: 0, after: 0, lane: 0 }; slots + 1],
            first: EMPTY,
            tree: Tree::with_slots(slots),
            now: 0,
            hints: [0; 16],
        }
    }

    /// Sets the event of `slot` to time `at`, replacing the one it had.
    #[inline]
    pub fn schedule(&mut self, slot: usize, at: Ns) {
        if self.slots[slot].key == EMPTY { self.insert(slot, at) } else { self.replace(slot, at) }
    }

    /// Removes the event of `slot`, if it has one.
    fn cancel(&mut self, slot: usize) {
        if self.slots[slot].key != EMPTY {
            self.unlink(slot);
            self.first = least(self.heads);
        }
    }

    /// The time of the earliest event.
    #[inline]
    pub fn next_time(&self) -> Option<Ns> {
        (self.first != EMPTY).then_some(self.first >> SLOT_BITS)
    }

    /// Removes and returns the earliest event; among equal times the one of the lowest slot.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Ns, usize)> {
        let key = self.first;
        if key == EMPTY {
            return None;
        }
        let slot = slot_of(key);
        let event = &mut self.slots[slot];
        event.key = EMPTY;
        let (after, lane) = (event.after, event.lane as usize % LANES);
        // The earliest of the other heads is found before that of its lane is replaced: a load of a fresh store stalls.
        let others = least_after(self.heads, key);
        if lane == TREE {
            self.set_in_tree(slot, EMPTY);
            self.first = others.min(self.heads[TREE]);
        } else {
            let next = self.slots[after as usize].key;
            self.first = others.min(next);
            self.heads[lane] = next;
        }
        self.now = key >> SLOT_BITS;
        Some((self.now, slot))
    }

    /// Sets the event that a slot has in the tree; `EMPTY` takes it out.
    #[inline(never)]
    fn set_in_tree(&mut self, slot: usize, key: u64) {
        self.tree.set(slot, key);
        self.heads[TREE] = self.tree.first();
    }

    /// The slot that stays empty.
    #[inline]
    fn nowhere(&self) -> usize {
        self.slots.len() - 1
    }

    /// Sets the event of an empty slot.
    #[inline(always)]
    fn insert(&mut self, slot: usize, at: Ns) {
        if at > TIME_MAX {
            too_late(at);
        }
        let key = at << SLOT_BITS | slot as u64;
        let hint = (at.wrapping_sub(self.now).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize;
        let lane = self.hints[hint] as usize % LANES;
        if self.tails[lane] <= key { self.append(slot, key, lane) } else { self.find_lane(slot, key, hint) }
    }

    #[inline(never)]
    fn replace(&mut self, slot: usize, at: Ns) {
        if self.slots[slot].key >> SLOT_BITS != at {
            self.cancel(slot);
            self.insert(slot, at);
        }
    }

    #[inline(never)]
    fn find_lane(&mut self, slot: usize, key: u64, hint: usize) {
        match self.tails.iter().position(|&tail| tail <= key) {
            Some(lane) => {
                self.hints[hint] = lane as u8;
                self.append(slot, key, lane);
            }
            None => {
                self.set_in_tree(slot, key);
                self.first = self.first.min(key);
                self.slots[slot] = Slot { key, before: 0, after: 0, lane: TREE as u8 };
            }
        }
    }

    /// Appends an event to a lane whose last event is earlier.
    #[inline(always)]
    fn append(&mut self, slot: usize, key: u64, lane: usize) {
        let nowhere = self.nowhere();
        let is_empty = usize::from(self.heads[lane] == EMPTY);
        let before = slot_of(self.tails[lane]) * (1 - is_empty) + nowhere * is_empty;
        self.slots[before].after = slot as u16;
        self.heads[lane] = self.heads[lane].min(key);
        self.first = self.first.min(key);
        self.tails[lane] = key;
        self.slots[slot] = Slot { key, before: before as u16, after: nowhere as u16, lane: lane as u8 };
    }

    /// Takes the event of a slot out of its lane or the tree.
    #[inline(never)]
    fn unlink(&mut self, slot: usize) {
        let Slot { key, before, after, lane } = self.slots[slot];
        let (before, after, lane) = (before as usize, after as usize, lane as usize % LANES);
        if lane == TREE {
            self.set_in_tree(slot, EMPTY);
        } else if self.heads[lane] == key {
            self.heads[lane] = self.slots[after].key;
        } else {
            self.slots[before].after = after as u16;
            self.slots[after].before = before as u16;
            if after == self.nowhere() {
                self.tails[lane] = self.slots[before].key;
            }
        }
        self.slots[slot].key = EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The plain ordered set that the lanes are checked against.
    struct PlainHeap {
        events: BTreeSet<(Ns, usize)>,
        at: Vec<Option<Ns>>,
    }

    impl PlainHeap {
        fn with_slots(slots: usize) -> Self {
            Self { events: BTreeSet::new(), at: vec![None; slots] }
        }

        fn schedule(&mut self, slot: usize, at: Ns) {
            self.cancel(slot);
            self.events.insert((at, slot));
            self.at[slot] = Some(at);
        }

        fn cancel(&mut self, slot: usize) {
            if let Some(at) = self.at[slot].take() {
                self.events.remove(&(at, slot));
            }
        }

        fn next_time(&self) -> Option<Ns> {
            self.events.first().map(|&(at, _)| at)
        }

        fn pop(&mut self) -> Option<(Ns, usize)> {
            let (at, slot) = self.events.pop_first()?;
            self.at[slot] = None;
            Some((at, slot))
        }
    }

    /// The queue of drives in tests: lanes, and a plain ordered set that must always say the same.
    pub(crate) struct Checked {
        lanes: Lanes,
        plain: PlainHeap,
    }

    impl Checked {
        pub fn with_slots(slots: usize) -> Self {
            Self { lanes: Lanes::with_slots(slots), plain: PlainHeap::with_slots(slots) }
        }

        pub fn schedule(&mut self, slot: usize, at: Ns) {
            self.lanes.schedule(slot, at);
            self.plain.schedule(slot, at);
        }

        pub fn next_time(&self) -> Option<Ns> {
            let next = self.lanes.next_time();
            assert_eq!(next, self.plain.next_time(), "the lanes and the ordered set have another next time");
            next
        }

        pub fn pop(&mut self) -> Option<(Ns, usize)> {
            let event = self.lanes.pop();
            assert_eq!(event, self.plain.pop(), "the lanes and the ordered set have another next event");
            event
        }
    }

    #[test]
    fn equal_times_leave_in_the_order_of_their_slots() {
        let mut queue = Lanes::with_slots(5);
        for slot in [4, 1, 3, 0] {
            queue.schedule(slot, 7);
        }
        queue.schedule(2, 6);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [(6, 2), (7, 0), (7, 1), (7, 3), (7, 4)]);
    }

    #[test]
    fn scheduling_again_replaces_and_cancelling_removes() {
        let mut queue = Lanes::with_slots(2);
        queue.schedule(0, 10);
        queue.schedule(0, 20);
        queue.schedule(1, 15);
        assert_eq!(queue.pop(), Some((15, 1)));
        queue.schedule(1, 30);
        queue.cancel(0);
        assert_eq!(queue.next_time(), Some(30));
        assert_eq!(queue.pop(), Some((30, 1)));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn an_event_set_again_after_another_is_handled_once() {
        let mut queue = Lanes::with_slots(2);
        queue.schedule(0, 10);
        queue.schedule(1, 30);
        queue.schedule(0, 40);
        queue.schedule(0, 10);
        assert_eq!(queue.pop(), Some((10, 0)));
        assert_eq!(queue.pop(), Some((30, 1)));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn more_delays_than_lanes_are_sorted() {
        let mut queue = Lanes::with_slots(64);
        let times: Vec<Ns> = (0..64).map(|slot| (slot * 37) % 64).collect();
        for (slot, &at) in times.iter().enumerate().rev() {
            queue.schedule(slot, at);
        }
        let order: Vec<Ns> = std::iter::from_fn(|| queue.pop()).map(|(at, _)| at).collect();
        assert_eq!(order, (0..64).collect::<Vec<Ns>>());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Schedule(usize, Ns),
        Cancel(usize),
        Pop,
        Peek,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (prop_oneof![0usize..9, 0usize..150], 0u64..50).prop_map(|(slot, at)| Step::Schedule(slot, at)),
            1 => prop_oneof![0usize..9, 0usize..150].prop_map(Step::Cancel),
            3 => Just(Step::Pop),
            1 => Just(Step::Peek),
        ]
    }

    proptest! {
        #[test]
        fn the_lanes_agree_with_the_plain_heap(steps in prop::collection::vec(step(), 0..400)) {
            let mut lanes = Lanes::with_slots(150);
            let mut plain = PlainHeap::with_slots(150);
            for step in steps {
                match step {
                    Step::Schedule(slot, at) => {
                        lanes.schedule(slot, at);
                        plain.schedule(slot, at);
                    }
                    Step::Cancel(slot) => {
                        lanes.cancel(slot);
                        plain.cancel(slot);
                    }
                    Step::Pop => prop_assert_eq!(lanes.pop(), plain.pop()),
                    Step::Peek => prop_assert_eq!(lanes.next_time(), plain.next_time()),
                }
            }
        }
    }
}
