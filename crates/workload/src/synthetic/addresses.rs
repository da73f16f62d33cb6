//! Where the requests of a generator go.
//!
//! The range is cut into slots, at each of which a request may start.

use crate::random::{Chance, Random};

use super::zipf::{Scatter, Zipf};

/// Where requests go: a slot, and random bits to spare that do not depend on it.
pub(super) trait Places: Send {
    /// A slot for a request of so many sectors.
    fn slot(&mut self, random: &mut Random, sectors: u32) -> (u64, u64);
}

/// Every slot is as likely.
pub(super) struct Uniform {
    pub(super) slots: u64,
}

impl Places for Uniform {
    #[inline]
    fn slot(&mut self, random: &mut Random, _: u32) -> (u64, u64) {
        random.below(self.slots)
    }
}

/// Every slot once in random order, then again in another order, and so on.
pub(super) struct Shuffled {
    slots: u64,
    mask: u64,
    shift: u32,
    /// How many slots of this round have been given.
    given: u64,
    /// What makes this round's order, for each of the steps that mix.
    keys: [u64; 6],
}

impl Shuffled {
    /// `slots` must be above 0.
    pub(super) fn new(slots: u64) -> Self {
        let bits = 64 - (slots - 1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
        Self { slots, mask, shift: bits / 2 + 1, given: slots, keys: [0; 6] }
    }

    /// One-to-one on the slots: every step can be undone within the mask, and what falls outside the slots is mapped again.
    fn place(&self, index: u64) -> u64 {
        let mut place = index;
        loop {
            for key in self.keys {
                place = (place.wrapping_mul(key | 1)).wrapping_add(key >> 32) & self.mask;
                place ^= place >> self.shift;
            }
            if place < self.slots {
                return place;
            }
        }
    }
}

impl Places for Shuffled {
    #[inline]
    fn slot(&mut self, random: &mut Random, _: u32) -> (u64, u64) {
        if self.given == self.slots {
            self.given = 0;
            self.keys = std::array::from_fn(|_| random.bits());
        }
        self.given += 1;
        (self.place(self.given - 1), random.bits())
    }
}

impl Places for Zipf {
    #[inline]
    fn slot(&mut self, random: &mut Random, _: u32) -> (u64, u64) {
        (Zipf::slot(self, random), random.bits())
    }
}

/// A hot part of the slots, spread over the range, and a cold one.
pub(super) struct HotCold {
    hot_slots: u64,
    slots: u64,
    hot: Chance,
    scatter: Scatter,
}

impl HotCold {
    /// `space` is the share of the slots that are hot, of which there is at least one hot and one cold; none if there are
    /// fewer than two slots.
    pub(super) fn new(slots: u64, space: f64, access: f64) -> Option<Self> {
        let hot_slots = ((slots as f64 * space).round() as u64).clamp(1, slots.checked_sub(1).filter(|cold| *cold > 0)?);
        Some(Self { hot_slots, slots, hot: Chance::new(access), scatter: Scatter::new(slots) })
    }
}

impl Places for HotCold {
    #[inline]
    fn slot(&mut self, random: &mut Random, _: u32) -> (u64, u64) {
        let (rank, spare) = if random.happens(self.hot) {
            random.below(self.hot_slots)
        } else {
            let (rank, spare) = random.below(self.slots - self.hot_slots);
            (self.hot_slots + rank, spare)
        };
        (self.scatter.place(rank), spare)
    }
}

/// Equal parts of the range, each gone through from start to end, again and again.
pub(super) struct Sequential {
    /// The next slot of each part, from its start.
    next: Vec<u64>,
    part_slots: u64,
    slot_sectors: u64,
}

impl Sequential {
    /// `slots` are the slots of the whole range, each of `slot_sectors`, which every size must be a multiple of. None if a
    /// part does not hold the largest request.
    pub(super) fn new(slots: u64, slot_sectors: u64, streams: u32, largest_sectors: u32) -> Option<Self> {
        let part_slots = slots / u64::from(streams);
        let holds = part_slots * slot_sectors >= u64::from(largest_sectors);
        holds.then(|| Self { next: vec![0; streams as usize], part_slots, slot_sectors })
    }
}

impl Places for Sequential {
    #[inline]
    fn slot(&mut self, random: &mut Random, sectors: u32) -> (u64, u64) {
        let (stream, spare) = random.below(self.next.len() as u64);
        let next = &mut self.next[stream as usize];
        let slots = u64::from(sectors) / self.slot_sectors;
        // A request that would cross the end of its part starts anew.
        let at = if *next + slots > self.part_slots { 0 } else { *next };
        *next = at + slots;
        (stream * self.part_slots + at, spare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hot_part_has_its_share_of_space_and_of_requests() {
        let (slots, draws) = (1000_u64, 400_000_u32);
        let mut places = HotCold::new(slots, 0.1, 0.8).unwrap();
        let mut random = Random::new(5);
        let mut counts = vec![0_u32; slots as usize];
        for _ in 0..draws {
            counts[places.slot(&mut random, 8).0 as usize] += 1;
        }
        // A hot slot is drawn 3200 times, a cold one 89 times.
        let hot: Vec<u64> = (0..slots).filter(|slot| counts[*slot as usize] > 1000).collect();
        assert_eq!(hot.len(), 100);
        let accesses: u32 = hot.iter().map(|slot| counts[*slot as usize]).sum();
        assert!((f64::from(accesses) / f64::from(draws) - 0.8).abs() < 0.005, "{accesses}");
        for (slot, count) in counts.iter().enumerate() {
            let expected = if hot.contains(&(slot as u64)) { 3200.0 } else { 400_000.0 * 0.2 / 900.0 };
            assert!((f64::from(*count) - expected).abs() < 5.0 * f64::sqrt(expected), "slot {slot}: {count} for {expected}");
        }
        let in_first_half = hot.iter().filter(|slot| **slot < slots / 2).count();
        assert!((30..=70).contains(&in_first_half), "{in_first_half}");
    }

    #[test]
    fn a_round_of_a_shuffle_has_every_slot_once_and_no_order() {
        for slots in [1_u64, 2, 3, 7, 64, 1000, 4097] {
            let mut places = Shuffled::new(slots);
            let mut random = Random::new(9);
            let mut round = || -> Vec<u64> { (0..slots).map(|_| places.slot(&mut random, 8).0).collect() };
            let (one, two) = (round(), round());
            for round in [&one, &two] {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..slots), "{slots}");
            }
            assert!(slots < 64 || one != two, "each round has its own order");
        }
        // Of a random order of n, about one slot follows the one before it, and half of the first half lie in the first half.
        let slots = 100_000_u64;
        for seed in 0..20 {
            let mut places = Shuffled::new(slots);
            let mut random = Random::new(seed);
            let order: Vec<u64> = (0..slots).map(|_| places.slot(&mut random, 8).0).collect();
            let neighbours = order.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
            assert!(neighbours < 12, "seed {seed}: {neighbours} neighbours");
            let low = order[..slots as usize / 2].iter().filter(|slot| **slot < slots / 2).count();
            assert!(low.abs_diff(slots as usize / 4) < 800, "seed {seed}: {low}");
            let rises = order.windows(2).filter(|pair| pair[0] < pair[1]).count();
            assert!(rises.abs_diff(slots as usize / 2) < 1000, "seed {seed}: {rises}");
        }
    }

    #[test]
    fn there_is_always_a_hot_and_a_cold_slot() {
        for (space, hot) in [(1e-9, 1), (0.999_999, 9)] {
            let places = HotCold::new(10, space, 0.5).unwrap();
            assert_eq!(places.hot_slots, hot);
        }
        assert!(HotCold::new(1, 0.5, 0.5).is_none() && HotCold::new(0, 0.5, 0.5).is_none());
    }

    #[test]
    fn streams_are_sequential_and_wrap_in_their_part() {
        let mut places = Sequential::new(32, 4, 3, 12).unwrap();
        let mut random = Random::new(2);
        let mut next = [0_u64; 3];
        let mut drawn = [0_u32; 3];
        for request in 0..3000 {
            let sectors = if request % 5 == 0 { 12 } else { 4 };
            let (slot, _) = places.slot(&mut random, sectors);
            // 32 slots make three parts of 10; two are left over.
            let part = (slot / 10) as usize;
            let expected = if next[part] + u64::from(sectors / 4) > 10 { 0 } else { next[part] };
            assert_eq!(slot, part as u64 * 10 + expected);
            next[part] = expected + u64::from(sectors / 4);
            drawn[part] += 1;
        }
        assert!(drawn.iter().all(|count| (900..1100).contains(count)), "{drawn:?}");
        assert!(Sequential::new(32, 4, 3, 44).is_none());
    }
}
