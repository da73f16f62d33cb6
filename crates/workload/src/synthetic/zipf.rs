//! Zipf's law over the slots of a range, with the hot ones spread.

use crate::random::Random;

/// Draws slots of which the k-th most frequent has a share proportional to k^-theta.
///
/// Ranks are drawn by rejection-inversion (Hörmann and Derflinger, 1996): constant time and memory for any number of slots.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    theta: f64,
    slots: u64,
    area_first: f64,
    area_all: f64,
    accepted_at_once: f64,
    scatter: Scatter,
}

impl Zipf {
    /// `slots` must be above 0 and `theta` above 0.
    pub(crate) fn new(slots: u64, theta: f64) -> Self {
        let mut zipf = Self { theta, slots, area_first: 0.0, area_all: 0.0, accepted_at_once: 0.0, scatter: Scatter::new(slots) };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_all = zipf.area(slots as f64 + 0.5);
        zipf.accepted_at_once = 2.0 - zipf.inverse_area(zipf.area(2.5) - zipf.density(2.0));
        zipf
    }

    /// Integral of the density from 1 to `x`: (x^(1-theta) - 1) / (1 - theta), and ln x at theta = 1.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let power = (1.0 - self.theta) * log;
        log * if power.abs() > 1e-9 { libm::expm1(power) / power } else { 1.0 }
    }

    fn inverse_area(&self, area: f64) -> f64 {
        // Rounding may lead below the pole at -1.
        let power = (area * (1.0 - self.theta)).max(-1.0);
        libm::exp(area * if power.abs() > 1e-9 { libm::log1p(power) / power } else { 1.0 })
    }

    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// A rank from 0, the most frequent.
    fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.area_all + random.unit() * (self.area_first - self.area_all);
            let x = self.inverse_area(area);
            let nearest = ((x + 0.5) as u64).clamp(1, self.slots);
            let k = nearest as f64;
            if k - x <= self.accepted_at_once || area >= self.area(k + 0.5) - self.density(k) {
                return nearest - 1;
            }
        }
    }

    #[inline]
    pub(crate) fn slot(&self, random: &mut Random) -> u64 {
        self.scatter.place(self.rank(random))
    }
}

/// A fixed one-to-one map of ranks to slots that leaves no neighbours together. The map is of the next power of two, and
/// what falls outside is mapped again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    slots: u64,
    mask: u64,
    shift: u32,
}

impl Scatter {
    /// `slots` must be above 0.
    pub(super) fn new(slots: u64) -> Self {
        let bits = 64 - (slots - 1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
        Self { slots, mask, shift: bits / 2 + 1 }
    }

    #[inline]
    pub(super) fn place(self, rank: u64) -> u64 {
        let mut place = rank;
        loop {
            // Every step can be undone within the mask: odd factors, and right shifts by at least one bit.
            place = place.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x632b_e59b_d9b4_e019) & self.mask;
            place ^= place >> self.shift;
            place = place.wrapping_mul(0xd1b5_4a32_d192_ed03) & self.mask;
            place ^= place >> self.shift;
            if place < self.slots {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattering_is_one_to_one() {
        for slots in [1_u64, 2, 3, 7, 64, 1000, 4097] {
            let scatter = Scatter::new(slots);
            let mut places: Vec<u64> = (0..slots).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..slots), "{slots}");
        }
    }

    #[test]
    fn hot_ranks_are_spread() {
        let scatter = Scatter::new(1 << 20);
        let in_first_half = (0..1000).filter(|rank| scatter.place(*rank) < 1 << 19).count();
        assert!((400..600).contains(&in_first_half), "{in_first_half}");
    }

    #[test]
    fn ranks_follow_the_law() {
        for theta in [0.5, 0.99, 1.0, 1.3] {
            let slots = 1000;
            let zipf = Zipf::new(slots, theta);
            let mut random = Random::new(11);
            let mut counts = vec![0_u32; slots as usize];
            let draws = 200_000;
            for _ in 0..draws {
                counts[zipf.rank(&mut random) as usize] += 1;
            }
            let whole: f64 = (1..=slots).map(|k| (k as f64).powf(-theta)).sum();
            for rank in [0, 1, 2, 9, 99] {
                let expected = f64::from(draws) * ((rank + 1) as f64).powf(-theta) / whole;
                let deviation = (f64::from(counts[rank]) - expected).abs() / expected.sqrt();
                assert!(deviation < 5.0, "theta {theta}, rank {rank}: {} for {expected}", counts[rank]);
            }
        }
    }

    #[test]
    fn a_single_slot_is_always_drawn() {
        let zipf = Zipf::new(1, 0.99);
        let mut random = Random::new(1);
        assert!((0..100).all(|_| zipf.slot(&mut random) == 0));
    }
}
