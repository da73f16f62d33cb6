//! Random draws that have the same bits on every machine.
//!
//! The generator is PCG with a fixed stream of bits. Where a logarithm or an exponential is needed, it is `libm`'s software
//! implementation rather than the platform's; the other operations on floating-point numbers are exact by IEEE 754.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A seeded stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(Pcg64Mcg);

/// A probability, kept as the number of 53-bit draws below it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(share: f64) -> Self {
        Self((share.clamp(0.0, 1.0) * (1_u64 << 53) as f64) as u64)
    }

    /// Whether random bits fall to this chance: never at 0, always at 1.
    #[inline]
    pub(crate) fn of(self, bits: u64) -> bool {
        bits >> 11 < self.0
    }
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound` by one multiplication, and the bits that the choice has left over. The bias is below
    /// `bound` / 2^64.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> (u64, u64) {
        let product = u128::from(self.bits()) * u128::from(bound);
        ((product >> 64) as u64, product as u64)
    }

    #[inline]
    pub(crate) fn happens(&mut self, chance: Chance) -> bool {
        chance.of(self.bits())
    }

    /// Uniform in (0, 1].
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Exponential with mean 1.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }
}

/// A choice among few values by their weights.
#[derive(Clone, Debug)]
pub(crate) struct Weighted<T> {
    choices: Vec<(Chance, T)>,
}

impl<T: Copy> Weighted<T> {
    /// The weights must be 0 or more and must not all be 0.
    pub(crate) fn new(weights: impl Iterator<Item = (f64, T)> + Clone) -> Self {
        let whole: f64 = weights.clone().map(|(weight, _)| weight).sum();
        let mut sum = 0.0;
        let mut choices: Vec<(Chance, T)> = weights
            .map(|(weight, value)| {
                sum += weight;
                (Chance::new(sum / whole), value)
            })
            .collect();
        // Rounding must leave no draw without a choice.
        if let Some(last) = choices.last_mut() {
            last.0 = Chance::new(1.0);
        }
        Self { choices }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> T {
        let bits = random.bits();
        let last = self.choices.len() - 1;
        let index = self.choices[..last].iter().position(|(chance, _)| chance.of(bits)).unwrap_or(last);
        self.choices[index].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_bits_is_fixed() {
        let mut random = Random::new(1);
        let first: Vec<u64> = (0..2).map(|_| random.bits()).collect();
        assert_eq!(first, FIRST_BITS_OF_SEED_1);
        assert_eq!(Random::new(1).exponential().to_bits(), FIRST_EXPONENTIAL_OF_SEED_1);
    }

    /// Recorded once: a change of a dependency must not change every workload unnoticed.
    const FIRST_BITS_OF_SEED_1: [u64; 2] = [15_803_641_690_485_367_939, 2_537_432_388_316_380_799];
    const FIRST_EXPONENTIAL_OF_SEED_1: u64 = 4_594_739_783_019_249_408;

    #[test]
    fn chances_hold_at_their_ends() {
        assert!(Chance::new(1.0).of(u64::MAX) && Chance::new(1.0).of(0));
        assert!(!Chance::new(0.0).of(u64::MAX) && !Chance::new(0.0).of(0));
    }

    #[test]
    fn weighted_choices_follow_their_weights() {
        let weighted = Weighted::new([(1.0, 'a'), (0.0, 'b'), (3.0, 'c')].into_iter());
        let mut random = Random::new(3);
        let draws: Vec<char> = (0..10_000).map(|_| weighted.draw(&mut random)).collect();
        let share = draws.iter().filter(|draw| **draw == 'c').count() as f64 / 10_000.0;
        assert!((share - 0.75).abs() < 0.02, "{share}");
        assert!(!draws.contains(&'b'));
    }

    #[test]
    fn exponentials_have_mean_and_deviation_one() {
        let mut random = Random::new(5);
        let draws: Vec<f64> = (0..100_000).map(|_| random.exponential()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let square = draws.iter().map(|draw| draw * draw).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02 && (square - 2.0).abs() < 0.08, "{mean} {square}");
        assert!(draws.iter().all(|draw| *draw >= 0.0));
    }
}
