//! Classes of latency: some bits of the highest ones, so that all classes are about equally wide in proportion.

use tinytail_core::units::Ns;

/// Latencies are counted in classes, this many bits for each doubling: 0.1 % wide.
const BITS: u32 = 10;
/// Latencies from here on count as one, 52 days.
const LATENCY_MAX: Ns = (1 << 52) - 1;

/// The class of a latency: its highest bit and the `bits` bits below.
#[inline]
pub(crate) fn class_of(ns: Ns, bits: u32) -> usize {
    if ns < 1 << bits {
        return ns as usize;
    }
    let high = 63 - ns.leading_zeros();
    let shift = high - bits;
    ((u64::from(shift + 1) << bits) + ((ns >> shift) & ((1 << bits) - 1))) as usize
}

/// How many classes there are.
pub(crate) fn classes(bits: u32) -> usize {
    class_of(LATENCY_MAX, bits) + 1
}

/// The least latency of a class.
pub(crate) fn class_from(class: usize, bits: u32) -> Ns {
    let class = class as u64;
    let (shift, low) = (class >> bits, class & ((1 << bits) - 1));
    if shift == 0 { low } else { (low | 1 << bits) << (shift - 1) }
}

/// A latency with its class in a histogram, from which wider classes follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classed {
    pub ns: Ns,
    class: usize,
}

impl Classed {
    #[inline]
    pub fn new(ns: Ns) -> Self {
        Self { ns, class: class_of(ns.min(LATENCY_MAX), BITS) }
    }

    /// Its class among those of so many bits, which are fewer.
    #[inline]
    pub fn of(self, bits: u32) -> usize {
        let narrower = BITS - bits;
        if self.ns >> BITS == 0 { class_of(self.ns, bits) } else { (self.class >> narrower) + ((narrower as usize) << bits) }
    }
}

/// How many requests had which latency, within 0.1 %. Mean and maximum are exact.
#[derive(Debug, Clone)]
pub struct Histogram {
    /// Counters of 32 bits keep it small enough for the cache; 4.29 billion requests of one latency would saturate one.
    counts: Vec<u32>,
    len: u64,
    sum_ns: u128,
    max_ns: Ns,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; classes(BITS)], len: 0, sum_ns: 0, max_ns: 0 }
    }
}

impl Histogram {
    /// Counts a latency.
    #[inline]
    pub fn record(&mut self, ns: Ns) {
        self.count(Classed::new(ns));
    }

    #[inline]
    pub(crate) fn count(&mut self, latency: Classed) {
        let count = &mut self.counts[latency.class];
        *count = count.saturating_add(1);
        self.len += 1;
        self.sum_ns += u128::from(latency.ns);
        self.max_ns = self.max_ns.max(latency.ns);
    }

    /// Counts all that another has counted.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.len += other.len;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// How many have been counted.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether none has been counted.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Their sum, exactly.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The mean, exactly. `None` without requests.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.len > 0).then(|| self.sum_ns as f64 / self.len as f64)
    }

    /// The longest, exactly.
    pub fn max_ns(&self) -> Ns {
        self.max_ns
    }

    /// A latency that so many requests at least reach: the least of the class where their number is passed. 0 if there are fewer.
    pub(crate) fn slowest_from_ns(&self, count: u64) -> Ns {
        let mut above = 0;
        let classes = 0..=Classed::new(self.max_ns).class;
        let class = classes.rev().find(|&class| {
            above += u64::from(self.counts[class]);
            above >= count
        });
        class.map_or(0, |class| class_from(class, BITS))
    }

    /// The latencies that at least these shares of the requests, from 0 to 1 and in order, do not exceed. `None` without requests.
    pub fn percentiles_ns<const N: usize>(&self, shares: [f64; N]) -> [Option<Ns>; N] {
        let mut ranked = self.ranked(shares.iter().map(|share| (share * self.len as f64).ceil() as u64));
        std::array::from_fn(|_| ranked.next())
    }

    /// The latencies of the requests with these ranks, in order from 1, as if they were sorted. Nothing without requests.
    pub(crate) fn ranked(&self, ranks: impl Iterator<Item = u64>) -> impl Iterator<Item = Ns> {
        let last = if self.len == 0 { 0 } else { Classed::new(self.max_ns).class + 1 };
        let mut counts = self.counts[..last].iter();
        let (mut class, mut below) = (0, 0);
        ranks.take_while(|_| self.len > 0).map(move |rank| {
            while below < rank.max(1)
                && let Some(count) = counts.next()
            {
                below += u64::from(*count);
                class += 1;
            }
            (class_from(class, BITS) - 1).min(self.max_ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_are_contiguous_and_cover_every_latency() {
        for bits in [7, 10] {
            let mut last = 0;
            for ns in (0..5000).chain((13..50).map(|bit| 1 << bit)) {
                let class = class_of(ns, bits);
                assert!(class >= last && class_from(class, bits) <= ns && (class_from(class + 1, bits) > ns), "{ns}");
                last = class;
            }
        }
    }

    #[test]
    fn what_is_longer_than_all_classes_is_in_the_last() {
        let mut histogram = Histogram::default();
        histogram.record(Ns::MAX);
        assert_eq!((histogram.max_ns(), Classed::new(Ns::MAX).of(7)), (Ns::MAX, classes(7) - 1));
        assert_eq!(histogram.percentiles_ns([0.5]), [Some(LATENCY_MAX)]);
    }

    proptest! {
        #[test]
        fn wider_classes_follow_from_narrower_ones(latencies in prop::collection::vec(0u32..52, 1..50), low in any::<u64>()) {
            for bit in latencies {
                let ns = (1 << bit) | (low & ((1 << bit) - 1));
                prop_assert_eq!(Classed::new(ns).of(7), class_of(ns, 7));
            }
        }

        #[test]
        fn percentiles_are_those_of_the_sorted_list(
            mut latencies in prop::collection::vec(prop_oneof![0u64..3000, 0u64..1 << 40], 0..300),
            mut shares in prop::array::uniform4(0.0f64..=1.0),
        ) {
            let mut histogram = Histogram::default();
            let (one, two) = latencies.split_at(latencies.len() / 2);
            one.iter().for_each(|&ns| histogram.record(ns));
            let mut other = Histogram::default();
            two.iter().for_each(|&ns| other.record(ns));
            histogram.add(&other);
            latencies.sort_unstable();
            shares.sort_by(f64::total_cmp);
            for (share, found) in shares.iter().zip(histogram.percentiles_ns(shares)) {
                let rank = ((share * latencies.len() as f64).ceil() as usize).max(1);
                let truth = latencies.get(rank - 1).copied();
                prop_assert_eq!(found.is_some(), truth.is_some());
                if let (Some(found), Some(truth)) = (found, truth) {
                    prop_assert!(found >= truth && found <= truth + truth / 1024, "{} {}", truth, found);
                }
            }
            prop_assert_eq!((histogram.len(), histogram.max_ns()), (latencies.len() as u64, latencies.last().copied().unwrap_or(0)));
        }
    }
}
