//! Bursts on all time scales: the rate of a period is split again and again, each half of an interval getting a part of its
//! requests, `bias` for the one and the rest for the other (the b-model: Wang, Madhyastha, Chan, Papadimitriou and Faloutsos,
//! "Data mining meets performance evaluation: fast algorithms for modeling bursty traffic", ICDE 2002).
//!
//! Which half gets more follows from the seed and the interval alone, so that no rates need to be kept.

use tinytail_core::units::{MS, Ns};

use crate::random::Random;

/// Intervals are split as long as their halves are at least this long.
const SLOT_MIN_NS: Ns = 50 * MS;

/// The factors by which a flow's rate is multiplied in the course of each period.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    seed: u64,
    period_ns: Ns,
    /// How often a period is halved; 0 if the rate does not burst.
    levels: u32,
    /// Factors of the poorer and of the richer half.
    factors: [f64; 2],
    /// The period and the slot that were asked for last, and the factors of the intervals around that slot, from the whole
    /// period to the slot itself: slots are asked for in order, and most of what is around one is also around the next.
    last: Option<(u64, u64)>,
    around: Vec<f64>,
}

/// A stretch of time with one factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot {
    pub(super) factor: f64,
    /// When it ends, since the start of the flow.
    pub(super) end_ns: Ns,
}

impl Bursts {
    /// `bias` is the richer half's part of an interval's requests, from 0.5, which is even, to below 1.
    pub(super) fn new(bias: f64, period_ns: Ns, seed: u64) -> Self {
        let even = bias <= 0.5;
        let levels = if even { 0 } else { (period_ns / SLOT_MIN_NS).max(1).ilog2() };
        let factors = [2.0 * (1.0 - bias), 2.0 * bias];
        Self { seed, period_ns, levels, factors, last: None, around: vec![1.0; levels as usize + 1] }
    }

    /// The slot that begins at or before `elapsed_ns` since the start of the flow and ends after it.
    pub(super) fn slot(&mut self, elapsed_ns: Ns) -> Slot {
        let period = elapsed_ns / self.period_ns;
        if self.levels == 0 {
            return Slot { factor: 1.0, end_ns: (period + 1) * self.period_ns };
        }
        let within = elapsed_ns % self.period_ns;
        // A slot begins at its number times the period divided by the number of slots, rounded up to a nanosecond.
        let slot = ((u128::from(within) << self.levels) / u128::from(self.period_ns)) as u64;
        let end = (u128::from(slot + 1) * u128::from(self.period_ns)).div_ceil(1 << self.levels) as u64;
        let known = match self.last {
            // The halves of a level are numbered by the upper bits of the slots in them.
            Some((last_period, last)) if last_period == period => self.levels - (u64::BITS - (last ^ slot).leading_zeros()),
            _ => 0,
        };
        for level in known..self.levels {
            let half = self.half(period, level, slot >> (self.levels - 1 - level));
            self.around[level as usize + 1] = self.around[level as usize] * half;
        }
        self.last = Some((period, slot));
        Slot { factor: self.around[self.levels as usize], end_ns: period * self.period_ns + end }
    }

    /// The factor of a half, by its number among the halves of its level.
    fn half(&self, period: u64, level: u32, half: u64) -> f64 {
        // Numbered as in a heap, the intervals of all levels have different numbers.
        let parent = (1 << level) | half >> 1;
        let richer = Random::new(self.seed ^ period.rotate_left(40) ^ parent).bits() >> 63;
        self.factors[usize::from(half & 1 == richer)]
    }
}

#[cfg(test)]
mod tests {
    use tinytail_core::units::SECOND;

    use super::*;

    /// The slots of the second period.
    fn slots(bursts: &mut Bursts) -> Vec<Slot> {
        let mut slots = vec![bursts.slot(bursts.period_ns)];
        while slots[slots.len() - 1].end_ns < 2 * bursts.period_ns {
            slots.push(bursts.slot(slots[slots.len() - 1].end_ns));
        }
        slots
    }

    #[test]
    fn a_period_keeps_its_mean_and_its_richest_slot_got_more_each_time() {
        for (period_ns, levels) in [(3600 * SECOND, 16), (7 * SECOND, 7), (SECOND, 4)] {
            let mut bursts = Bursts::new(0.6, period_ns, 3);
            let slots = slots(&mut bursts);
            assert_eq!((bursts.levels, slots.len()), (levels, 1 << levels));
            assert_eq!(slots[slots.len() - 1].end_ns, 2 * period_ns);
            let mean = slots.iter().map(|slot| slot.factor).sum::<f64>() / slots.len() as f64;
            assert!((mean - 1.0).abs() < 1e-9, "{mean}");
            let most = slots.iter().map(|slot| slot.factor).fold(0.0, f64::max);
            assert!((most / 1.2_f64.powi(levels as i32) - 1.0).abs() < 1e-9, "{most}");
        }
    }

    #[test]
    fn a_slot_covers_its_time_and_no_more() {
        let mut bursts = Bursts::new(0.7, 3 * SECOND, 5);
        let mut begin = 0;
        for _ in 0..200 {
            let slot = bursts.slot(begin);
            assert_eq!(bursts.slot(slot.end_ns - 1), slot);
            assert!(bursts.slot(slot.end_ns).end_ns > slot.end_ns);
            begin = slot.end_ns;
        }
    }

    #[test]
    fn a_slot_does_not_depend_on_what_was_asked_for_before() {
        let mut bursts = Bursts::new(0.7, 60 * SECOND, 5);
        for step in [0, 1, 2, 3, 599, 2, 1200, 1201, 600, 0] {
            let at = step * 100 * MS;
            assert_eq!(bursts.slot(at), Bursts::new(0.7, 60 * SECOND, 5).slot(at), "{step}");
        }
    }

    #[test]
    fn seeds_and_periods_burst_at_different_times() {
        let factors = |mut bursts: Bursts, period: u64| -> Vec<u64> {
            (0..100).map(|step| bursts.slot(period * 10 * SECOND + step * 100 * MS).factor.to_bits()).collect()
        };
        let bursts = Bursts::new(0.7, 10 * SECOND, 5);
        assert_eq!(factors(bursts.clone(), 0), factors(bursts.clone(), 0));
        assert_ne!(factors(bursts.clone(), 0), factors(bursts.clone(), 1));
        assert_ne!(factors(bursts, 0), factors(Bursts::new(0.7, 10 * SECOND, 6), 0));
    }

    #[test]
    fn an_even_bias_leaves_the_rate_alone() {
        let mut even = Bursts::new(0.5, 10 * SECOND, 1);
        assert_eq!(even.slot(0), Slot { factor: 1.0, end_ns: 10 * SECOND });
        assert_eq!(even.slot(25 * SECOND), Slot { factor: 1.0, end_ns: 30 * SECOND });
    }
}
