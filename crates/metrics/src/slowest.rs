//! The slowest requests of a kind, one by one: where the time of exactly so many of them went.
//!
//! How many a tail has is known at the end alone, when all requests have been counted. So every request is kept that may still
//! belong to the widest tail, but never more than some million. They are words of 32 bits in one list, 40 bytes or so for each.

use crate::Sums;
use crate::classes::Histogram;
use std::cmp::Reverse;
use tinytail_core::observe::{Completion, PARTS, RequestAttribution};
use tinytail_core::units::Ns;

/// The order of slowness: latency, then number. Of requests of one latency the first that arrived is the slowest.
pub(crate) type Rank = (Ns, Reverse<u64>);

/// The most requests that a tail may have; one of more is not known. More would take time and memory from long runs.
const SLOWEST_MAX: usize = 1 << 18;
/// Everything ranks above it.
const LOWEST: Rank = (0, Reverse(u64::MAX));
/// What is kept of a request begins with its number, and how many words follow.
const HEAD_WORDS: usize = 2;
/// Bits of the number of words in the second word; the rest has the upper bits of the request's number.
const LENGTH_BITS: u32 = 12;
/// Bits of nanoseconds in a word. Longer times take several words, each with its place in the whole.
const NS_BITS: u32 = 24;
const NS_MASK: Ns = (1 << NS_BITS) - 1;
/// The bits below are the part, those above the place.
const PART_BITS: u32 = 6;
/// In place of a part: the time in the host.
const HOST_QUEUE: usize = PARTS;
const _: () = assert!(HOST_QUEUE < 1 << PART_BITS);

/// The slowest requests of one kind.
#[derive(Debug)]
pub(crate) struct Slowest {
    /// So many of them at least are kept, if there are so many; 0: none at all.
    keep: usize,
    /// What ranks no higher is not kept.
    least: Rank,
    words: Vec<u32>,
    requests: usize,
    /// At so many requests it is found out which of them can go.
    full: usize,
    /// Requests until `least` is looked at.
    until_look: usize,
}

/// One of them.
struct Kept<'a> {
    id: u64,
    words: &'a [u32],
}

impl Kept<'_> {
    /// Times by part; that in the host is [`HOST_QUEUE`].
    fn times(&self) -> impl Iterator<Item = (usize, Ns)> {
        self.words.iter().map(|&word| {
            let (part, place) = (word >> NS_BITS & ((1 << PART_BITS) - 1), word >> (NS_BITS + PART_BITS));
            (part as usize, (Ns::from(word) & NS_MASK) << (place * NS_BITS))
        })
    }

    fn rank(&self) -> Rank {
        (self.times().map(|(part, ns)| if part == HOST_QUEUE { 0 } else { ns }).sum(), Reverse(self.id))
    }

    fn add_to(&self, sum: &mut Sums) {
        let mut host_queue_ns = 0;
        for (part, ns) in self.times() {
            if part == HOST_QUEUE { host_queue_ns += ns } else { sum.ns[part] += ns }
        }
        sum.count(host_queue_ns);
    }
}

impl Slowest {
    /// Keeps none.
    pub fn none() -> Self {
        Self { keep: 0, least: LOWEST, words: Vec::new(), requests: 0, full: 0, until_look: 0 }
    }

    /// Keeps what may belong to the slowest so many, or to as many as can be kept.
    pub fn of(keep: u64) -> Self {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX).clamp(1, SLOWEST_MAX);
        Self { keep, full: 4 * keep, until_look: keep, ..Self::none() }
    }

    /// Considers a request that has completed. `all`: the latencies of all of its kind so far.
    #[inline]
    pub fn consider(&mut self, latency: Ns, completion: &Completion, attribution: RequestAttribution<'_>, all: &Histogram) {
        if self.keep > 0 && (latency, Reverse(completion.id)) > self.least {
            self.add(completion, attribution, all);
        }
    }

    #[inline(never)]
    fn add(&mut self, completion: &Completion, attribution: RequestAttribution<'_>, all: &Histogram) {
        let at = self.words.len();
        self.words.extend([completion.id as u32, ((completion.id >> 32) as u32) << LENGTH_BITS]);
        let words = &mut self.words;
        let mut put = |part: usize, mut ns: Ns| {
            let mut head = (part as u32) << NS_BITS;
            while ns > 0 {
                words.push(head | (ns & NS_MASK) as u32);
                ns >>= NS_BITS;
                head += 1 << (NS_BITS + PART_BITS);
            }
        };
        attribution.parts().for_each(|(part, ns)| put(part, ns));
        put(HOST_QUEUE, completion.host_queue_ns);
        self.words[at + 1] |= (self.words.len() - at - HEAD_WORDS) as u32;
        self.requests += 1;
        self.until_look -= 1;
        if self.until_look == 0 {
            self.look(all);
        }
    }

    /// Finds out what need not be kept: by class of latency, which is cheap, or exactly where too many are kept nevertheless.
    #[cold]
    fn look(&mut self, all: &Histogram) {
        self.until_look = (self.keep / 16).max(16);
        self.least = self.least.max((all.slowest_from_ns(self.keep as u64), Reverse(u64::MAX)));
        if self.requests >= self.full {
            self.drop_lower();
            // Many may share one class.
            if self.requests > self.full - self.keep / 2 {
                let mut ranks: Vec<Rank> = self.kept().map(|kept| kept.rank()).collect();
                self.least = *ranks.select_nth_unstable_by_key(self.keep, |rank| Reverse(*rank)).1;
                self.drop_lower();
            }
        }
    }

    /// Drops what ranks no higher than the least.
    fn drop_lower(&mut self) {
        let (mut from, mut to) = (0, 0);
        self.requests = 0;
        while from < self.words.len() {
            let kept = kept_at(&self.words, from);
            let (stays, length) = (kept.rank() > self.least, HEAD_WORDS + kept.words.len());
            if stays {
                self.words.copy_within(from..from + length, to);
                to += length;
                self.requests += 1;
            }
            from += length;
        }
        self.words.truncate(to);
    }

    fn kept(&self) -> impl Iterator<Item = Kept<'_>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let kept = (from < self.words.len()).then(|| kept_at(&self.words, from))?;
            from += HEAD_WORDS + kept.words.len();
            Some(kept)
        })
    }

    /// Where the time of the slowest went, for each of these numbers of them, which fall; and the latency of the fastest of them.
    /// None where more are asked for than are known.
    pub fn sums<const N: usize>(&self, counts: [u64; N]) -> [Option<(Sums, Option<Ns>)>; N] {
        let mut ranks: Vec<Rank> = self.kept().map(|kept| kept.rank()).filter(|rank| *rank > self.least).collect();
        // The lowest rank among each; none among none.
        let lowest = counts.map(|count| {
            let count = usize::try_from(count).ok().filter(|count| *count <= ranks.len())?;
            if count > 0 {
                ranks.select_nth_unstable_by_key(count - 1, |rank| Reverse(*rank));
            }
            ranks.truncate(count);
            Some(ranks.last().copied())
        });
        let mut found = lowest.map(|known| known.map(|lowest| (Sums::EMPTY, lowest.map(|(ns, _)| ns))));
        for kept in self.kept() {
            let rank = kept.rank();
            for (found, lowest) in found.iter_mut().zip(lowest) {
                if let (Some((sums, _)), Some(Some(lowest))) = (found, lowest)
                    && rank >= lowest
                {
                    kept.add_to(sums);
                }
            }
        }
        found
    }
}

fn kept_at(words: &[u32], at: usize) -> Kept<'_> {
    let length = words[at + 1] & ((1 << LENGTH_BITS) - 1);
    let id = u64::from(words[at]) | u64::from(words[at + 1] >> LENGTH_BITS) << 32;
    Kept { id, words: &words[at + HEAD_WORDS..at + HEAD_WORDS + length as usize] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tinytail_core::commands::CommandKind;
    use tinytail_core::observe::{ARRAY, Attribution, DIE};

    /// A read with two causes.
    #[derive(Debug, Clone, Copy)]
    struct Read {
        id: u64,
        array: Ns,
        die: Ns,
        host_queue_ns: Ns,
    }

    impl Read {
        fn rank(&self) -> Rank {
            (self.array + self.die, Reverse(self.id))
        }

        fn completion(&self) -> Completion {
            let Self { id, array, die, host_queue_ns } = *self;
            Completion {
                id,
                kind: CommandKind::Read,
                sector: 0,
                sectors: 8,
                asked: 5,
                arrived: 5,
                completed: 5 + array + die,
                gc_blocked: false,
                reconstructed: 0,
                gc_waits: 0,
                gc_waits_forced: 0,
                gc_wait_since: 0,
                host_queue_ns,
            }
        }
    }

    fn kept(keep: u64, reads: &[Read]) -> Slowest {
        let (mut slowest, mut all) = (Slowest::of(keep), Histogram::default());
        for read in reads {
            let mut attribution = Attribution::default();
            attribution.add(ARRAY, read.array);
            attribution.add(DIE, read.die);
            let latency = read.array + read.die;
            all.record(latency);
            slowest.consider(latency, &read.completion(), (&attribution).into(), &all);
        }
        slowest
    }

    /// Reads in any order of completion: some of very many latencies, or of few, or of one.
    fn reads() -> impl Strategy<Value = Vec<Read>> {
        let times = prop_oneof![Just(0..1_u64), Just(0..3), Just(0..2000), Just(0..1 << 50)];
        let rows = times.prop_flat_map(|times| proptest::collection::vec((times, 0..2_u64, 0..3_u64), 1..2000));
        rows.prop_map(|rows| {
            let reads = rows.into_iter().zip(1 << 40..);
            reads.map(|((array, die, host_queue_ns), id)| Read { id, array, die, host_queue_ns }).collect::<Vec<_>>()
        })
        .prop_shuffle()
    }

    proptest! {
        /// Beside a reference that sorts all of them.
        #[test]
        fn exactly_the_slowest_are_summed_those_that_arrived_first_of_equals(reads in reads(), one_in in 1..200_u64, known in any::<bool>()) {
            let count = (reads.len() as u64).div_ceil(one_in);
            let slowest = kept(if known { count } else { u64::MAX }, &reads);
            let mut sorted = reads.clone();
            sorted.sort_by_key(|read| Reverse(read.rank()));
            let counts = [count, count.div_ceil(10), 1, 0];
            for (count, found) in counts.into_iter().zip(slowest.sums(counts)) {
                let truth = &sorted[..count as usize];
                let (found, from) = found.unwrap();
                prop_assert_eq!(from, truth.last().map(|read| read.rank().0));
                prop_assert_eq!((found.count, found.ns[ARRAY]), (count, truth.iter().map(|read| read.array).sum()));
                prop_assert_eq!(found.ns[DIE], truth.iter().map(|read| read.die).sum::<u64>());
                prop_assert_eq!(found.host_queue_ns, truth.iter().map(|read| read.host_queue_ns).sum::<u64>());
                prop_assert_eq!(found.queue_blocked, truth.iter().filter(|read| read.host_queue_ns > 0).count() as u64);
            }
            prop_assert!(slowest.requests <= slowest.full + slowest.keep.max(16), "{} of {}", slowest.requests, slowest.keep);
        }
    }

    #[test]
    fn a_tail_of_more_than_are_known_is_none() {
        let reads: Vec<Read> = (0..1000).map(|id| Read { id, array: id, die: 0, host_queue_ns: 0 }).collect();
        let found = kept(10, &reads).sums([1000, 10]);
        assert!(found[0].is_none());
        assert_eq!(found[1].as_ref().unwrap().0.ns[ARRAY], (990..1000).sum::<u64>());
        assert!(kept(u64::MAX, &reads).sums([1000])[0].is_some());
        assert!(Slowest::none().sums([1])[0].is_none());
    }
}
