//! Pending events, at most one per slot, in one fixed total order: by time, then by slot.
//!
//! A slot is a resource (die, channel) or one of the drive's timers, so pending events are bounded by the hardware and not
//! by the queue depth. Rescheduling a slot overwrites its event, so nothing stale is ever left to filter.

use crate::units::{Ns, TIME_MAX};
use std::collections::BTreeSet;

const SLOT_BITS: u32 = 13;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
const EMPTY: u64 = u64::MAX;

/// The largest number of slots.
pub const SLOTS_MAX: usize = 1 << SLOT_BITS;

/// A set of pending events, one per slot at the most.
pub trait EventQueue {
    /// A queue of `slots` empty slots.
    fn with_slots(slots: usize) -> Self;
    /// Sets the event of `slot` to time `at`, replacing the one it had.
    fn schedule(&mut self, slot: usize, at: Ns);
    /// Removes the event of `slot`, if it has one.
    fn cancel(&mut self, slot: usize);
    /// The time of the earliest event.
    fn next_time(&mut self) -> Option<Ns>;
    /// Removes and returns the earliest event; among equal times the one of the lowest slot.
    fn pop(&mut self) -> Option<(Ns, usize)>;
}

/// A tournament tree over the slots: the winner is at the root, a change replays one path.
pub struct Tournament {
    tree: Vec<u64>,
    leaves: usize,
    /// The slot that was popped last and not scheduled again since; its leaf is cleared only when the tree is next read,
    /// because most handlers schedule their own slot anew.
    popped: usize,
}

impl Tournament {
    fn set(&mut self, slot: usize, key: u64) {
        let mut node = self.leaves + slot;
        self.tree[node] = key;
        while node > 1 {
            let winner = self.tree[node].min(self.tree[node ^ 1]);
            node >>= 1;
            if self.tree[node] == winner {
                break;
            }
            self.tree[node] = winner;
        }
    }

    fn settle(&mut self) {
        if self.popped != usize::MAX {
            let slot = self.popped;
            self.popped = usize::MAX;
            self.set(slot, EMPTY);
        }
    }
}

impl EventQueue for Tournament {
    fn with_slots(slots: usize) -> Self {
        assert!(slots <= SLOTS_MAX, "at most {SLOTS_MAX} slots");
        let leaves = slots.next_power_of_two().max(2);
        Self { tree: vec![EMPTY; 2 * leaves], leaves, popped: usize::MAX }
    }

    #[inline]
    fn schedule(&mut self, slot: usize, at: Ns) {
        assert!(at <= TIME_MAX, "an event at {at} ns is later than event times can say");
        if self.popped == slot {
            self.popped = usize::MAX;
        }
        self.set(slot, at << SLOT_BITS | slot as u64);
    }

    fn cancel(&mut self, slot: usize) {
        if self.popped == slot {
            self.popped = usize::MAX;
        }
        self.set(slot, EMPTY);
    }

    #[inline]
    fn next_time(&mut self) -> Option<Ns> {
        self.settle();
        let key = self.tree[1];
        (key != EMPTY).then_some(key >> SLOT_BITS)
    }

    #[inline]
    fn pop(&mut self) -> Option<(Ns, usize)> {
        self.settle();
        let key = self.tree[1];
        if key == EMPTY {
            return None;
        }
        let slot = (key & SLOT_MASK) as usize;
        self.popped = slot;
        Some((key >> SLOT_BITS, slot))
    }
}

/// The plain ordered set that the tournament is checked against.
pub struct PlainHeap {
    events: BTreeSet<(Ns, usize)>,
    at: Vec<Option<Ns>>,
}

impl EventQueue for PlainHeap {
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

    fn next_time(&mut self) -> Option<Ns> {
        self.events.first().map(|&(at, _)| at)
    }

    fn pop(&mut self) -> Option<(Ns, usize)> {
        let (at, slot) = self.events.pop_first()?;
        self.at[slot] = None;
        Some((at, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_leave_in_the_order_of_their_slots() {
        let mut queue = Tournament::with_slots(5);
        for slot in [4, 1, 3, 0] {
            queue.schedule(slot, 7);
        }
        queue.schedule(2, 6);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [(6, 2), (7, 0), (7, 1), (7, 3), (7, 4)]);
    }

    #[test]
    fn scheduling_again_replaces_and_cancelling_removes() {
        let mut queue = Tournament::with_slots(2);
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

    #[derive(Clone, Debug)]
    enum Step {
        Schedule(usize, Ns),
        Cancel(usize),
        Pop,
        Peek,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0usize..9, 0u64..50).prop_map(|(slot, at)| Step::Schedule(slot, at)),
            1 => (0usize..9).prop_map(Step::Cancel),
            3 => Just(Step::Pop),
            1 => Just(Step::Peek),
        ]
    }

    proptest! {
        #[test]
        fn the_tournament_agrees_with_the_plain_heap(steps in prop::collection::vec(step(), 0..200)) {
            let mut tournament = Tournament::with_slots(9);
            let mut plain = PlainHeap::with_slots(9);
            for step in steps {
                match step {
                    Step::Schedule(slot, at) => {
                        tournament.schedule(slot, at);
                        plain.schedule(slot, at);
                    }
                    Step::Cancel(slot) => {
                        tournament.cancel(slot);
                        plain.cancel(slot);
                    }
                    Step::Pop => prop_assert_eq!(tournament.pop(), plain.pop()),
                    Step::Peek => prop_assert_eq!(tournament.next_time(), plain.next_time()),
                }
            }
        }
    }
}
