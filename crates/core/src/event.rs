//! Pending events, at most one per slot, in one fixed total order: by time, then by slot.
//!
//! A slot is a resource (die, channel) or one of the drive's timers, so pending events are bounded by the hardware and not
//! by the queue depth. Scheduling a slot again replaces its event.

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

/// Lanes. One cache line of heads is looked at for each event.
const LANES_MAX: usize = 8;

/// Sorted lanes: an event joins the first lane whose last event is earlier, and the earliest head of all lanes is next.
///
/// A drive's delays are few constants (a command, a transfer, an array time), and events of one delay are made in the order
/// in which they fall due, so each delay settles in a lane of its own and nothing is ever sorted. An event that fits no lane
/// is sorted into the last one.
pub struct Lanes {
    /// The events of all lanes: rings of one size, which is a power of two. After a lane's last event stands `EMPTY`.
    events: Vec<u64>,
    /// The size of a ring, less one.
    ring: usize,
    /// How many events have left each lane, and how many have joined it.
    left: [usize; LANES_MAX],
    joined: [usize; LANES_MAX],
    /// The first event of each lane; `EMPTY` where there is none.
    heads: [u64; LANES_MAX],
    /// The event that joined each lane last, which may have left it; 0 where none has.
    tails: [u64; LANES_MAX],
    /// The event of each slot. What a lane holds and this does not know was replaced or removed.
    slots: Vec<Slot>,
    /// The earliest event; `EMPTY` where there is none.
    first: u64,
}

/// A slot's event, and the lane that it is in.
#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    lane: u32,
}

impl Lanes {
    /// Where the event of a lane is that so many joined before.
    #[inline]
    fn place(&self, lane: usize, before: usize) -> usize {
        lane * (self.ring + 1) + (before & self.ring)
    }

    /// Removes the head of a lane.
    #[inline]
    fn advance(&mut self, lane: usize) {
        self.left[lane] += 1;
        // An empty lane keeps its tail: later events may join it, and an earlier one finds another or is sorted in.
        self.heads[lane] = self.events[self.place(lane, self.left[lane])];
    }

    #[inline(never)]
    fn lane_headed_by(&self, key: u64) -> usize {
        self.heads.iter().position(|&head| head == key).expect("the first event heads a lane")
    }

    /// Whether an event is still the one that its slot has.
    #[inline]
    fn counts(&self, key: u64) -> bool {
        key == EMPTY || self.slots[(key & SLOT_MASK) as usize].key == key
    }

    /// Finds the earliest event.
    #[inline]
    fn find_first(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.heads;
        self.first = a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)));
        if !self.counts(self.first) {
            self.drop_replaced();
        }
    }

    /// Removes heads that no longer count, up to the earliest event that does.
    #[inline(never)]
    fn drop_replaced(&mut self) {
        while !self.counts(self.first) {
            self.advance(self.lane_headed_by(self.first));
            self.first = self.heads.into_iter().min().unwrap_or(EMPTY);
        }
    }

    /// Appends an event to a lane.
    #[inline]
    fn append(&mut self, lane: usize, key: u64) {
        if self.joined[lane] - self.left[lane] == self.ring {
            self.grow();
        }
        self.heads[lane] = self.heads[lane].min(key);
        self.tails[lane] = key;
        let (place, after) = (self.place(lane, self.joined[lane]), self.place(lane, self.joined[lane] + 1));
        self.events[place] = key;
        self.events[after] = EMPTY;
        self.joined[lane] += 1;
    }

    /// Makes all rings twice as large. A lane holds replaced events too, so no bound of its length is known.
    #[inline(never)]
    fn grow(&mut self) {
        let ring = 2 * self.ring + 1;
        let mut events = vec![EMPTY; LANES_MAX * (ring + 1)];
        for lane in 0..LANES_MAX {
            for event in self.left[lane]..self.joined[lane] {
                events[lane * (ring + 1) + (event & ring)] = self.events[self.place(lane, event)];
            }
        }
        (self.events, self.ring) = (events, ring);
    }

    /// Sorts an event into the last lane, because it comes before the last event of every lane.
    #[inline(never)]
    fn sort_in(&mut self, key: u64) -> usize {
        let lane = LANES_MAX - 1;
        let tail = self.tails[lane];
        self.append(lane, key);
        self.tails[lane] = tail;
        let mut at = self.joined[lane] - 1;
        while at > self.left[lane] {
            let (before, here) = (self.place(lane, at - 1), self.place(lane, at));
            if self.events[before] < key {
                break;
            }
            self.events.swap(before, here);
            at -= 1;
        }
        lane
    }
}

impl EventQueue for Lanes {
    fn with_slots(slots: usize) -> Self {
        assert!(slots <= SLOTS_MAX, "at most {SLOTS_MAX} slots");
        let ring = slots.next_power_of_two();
        Self {
            events: vec![EMPTY; LANES_MAX * ring],
            ring: ring - 1,
            left: [0; LANES_MAX],
            joined: [0; LANES_MAX],
            heads: [EMPTY; LANES_MAX],
            tails: [0; LANES_MAX],
            slots: vec![Slot { key: EMPTY, lane: 0 }; slots],
            first: EMPTY,
        }
    }

    #[inline]
    fn schedule(&mut self, slot: usize, at: Ns) {
        assert!(at <= TIME_MAX, "an event at {at} ns is later than event times can say");
        let key = at << SLOT_BITS | slot as u64;
        let replaced = self.slots[slot].key;
        if replaced == key {
            return;
        }
        let lane = match self.tails.iter().position(|&tail| tail <= key) {
            Some(lane) => {
                self.append(lane, key);
                lane
            }
            None => self.sort_in(key),
        };
        self.slots[slot] = Slot { key, lane: lane as u32 };
        if replaced == EMPTY {
            self.first = self.first.min(key);
        } else {
            self.find_first();
        }
    }

    fn cancel(&mut self, slot: usize) {
        self.slots[slot].key = EMPTY;
        self.find_first();
    }

    #[inline]
    fn next_time(&mut self) -> Option<Ns> {
        (self.first != EMPTY).then_some(self.first >> SLOT_BITS)
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(Ns, usize)> {
        let key = self.first;
        if key == EMPTY {
            return None;
        }
        let slot = (key & SLOT_MASK) as usize;
        let event = &mut self.slots[slot];
        event.key = EMPTY;
        let mut lane = event.lane as usize;
        if self.heads[lane] != key {
            // The slot had this very event before, in another lane.
            lane = self.lane_headed_by(key);
        }
        self.advance(lane);
        self.find_first();
        Some((key >> SLOT_BITS, slot))
    }
}

/// The plain ordered set that the lanes are checked against.
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
        // The replaced event stays in its lane; the same event again goes into the other lane.
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
    fn a_lane_grows_when_replaced_events_fill_it() {
        let mut queue = Lanes::with_slots(2);
        queue.schedule(1, 5);
        (10..100).for_each(|at| queue.schedule(0, at));
        assert_eq!(queue.pop(), Some((5, 1)));
        queue.schedule(1, 120);
        assert_eq!(queue.pop(), Some((99, 0)));
        assert_eq!(queue.pop(), Some((120, 1)));
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
