//! When the requests of a generator arrive.

use tinytail_core::units::{Ns, SECOND};

use crate::random::{Chance, Random};

/// When the requests of a synthetic workload are issued.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// When another completes, or `think_ns` after that, so that this many are outstanding or thought about.
    Closed { depth: u32, think_ns: Ns },
    /// At their own times, at this mean rate; later while `outstanding_max` are outstanding.
    Open { rate_per_s: f64, law: Law, outstanding_max: Option<u32> },
    /// So many at once, and again so long after the last of them has completed.
    Bursts { requests: u64, idle_ns: Ns },
}

/// How the times between requests are distributed in open loop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
    Exponential,
    Fixed,
    /// With this coefficient of variation, above 1.
    Hyperexponential {
        cv: f64,
    },
}

/// When requests arrive.
pub(super) trait Clock: Send {
    fn next(&mut self, random: &mut Random) -> Ns;
}

/// Closed loop: whoever plays the requests decides when.
pub(super) struct NoClock;

impl Clock for NoClock {
    #[inline]
    fn next(&mut self, _: &mut Random) -> Ns {
        0
    }
}

/// Bursts: equal times in each, and between two the idle time.
pub(super) struct Bursty {
    requests: u64,
    idle_ns: Ns,
    given: u64,
    at: Ns,
}

impl Bursty {
    /// The first burst is at `start_ns`.
    pub(super) fn new(requests: u64, idle_ns: Ns, start_ns: Ns) -> Self {
        Self { requests, idle_ns, given: 0, at: start_ns }
    }
}

impl Clock for Bursty {
    fn next(&mut self, _: &mut Random) -> Ns {
        if self.given == self.requests {
            self.given = 0;
            self.at = self.at.saturating_add(self.idle_ns);
        }
        self.given += 1;
        self.at
    }
}

/// Exponential times between arrivals, each rounded to whole nanoseconds.
pub(super) struct Poisson {
    gap_ns: f64,
    at: Ns,
}

impl Poisson {
    pub(super) fn new(rate_per_s: f64) -> Self {
        Self { gap_ns: SECOND as f64 / rate_per_s, at: 0 }
    }
}

impl Clock for Poisson {
    #[inline]
    fn next(&mut self, random: &mut Random) -> Ns {
        // Conversion saturates, so that an absurd gap ends beyond TIME_MAX and is reported.
        self.at = self.at.saturating_add((random.exponential() * self.gap_ns + 0.5) as Ns);
        self.at
    }
}

/// Equal times between arrivals, from 0 on. Each is rounded by itself, so that no error adds up.
pub(super) struct Metronome {
    gap_ns: f64,
    count: u64,
}

impl Metronome {
    pub(super) fn new(rate_per_s: f64) -> Self {
        Self { gap_ns: SECOND as f64 / rate_per_s, count: 0 }
    }
}

impl Clock for Metronome {
    #[inline]
    fn next(&mut self, _: &mut Random) -> Ns {
        let at = (self.count as f64 * self.gap_ns + 0.5) as Ns;
        self.count += 1;
        at
    }
}

/// Times that are exponential with one of two means: many short ones and few long ones, each kind making up half of the time
/// (the two-phase hyper-exponential distribution with balanced means).
pub(super) struct Hyperexponential {
    short: Chance,
    short_ns: f64,
    long_ns: f64,
    at: Ns,
}

impl Hyperexponential {
    /// `cv` must be above 1.
    pub(super) fn new(rate_per_s: f64, cv: f64) -> Self {
        let square = cv * cv;
        let share = 0.5 * (1.0 + ((square - 1.0) / (square + 1.0)).sqrt());
        let gap_ns = SECOND as f64 / rate_per_s;
        Self { short: Chance::new(share), short_ns: gap_ns / (2.0 * share), long_ns: gap_ns / (2.0 * (1.0 - share)), at: 0 }
    }
}

impl Clock for Hyperexponential {
    #[inline]
    fn next(&mut self, random: &mut Random) -> Ns {
        let mean_ns = if random.happens(self.short) { self.short_ns } else { self.long_ns };
        self.at = self.at.saturating_add((random.exponential() * mean_ns + 0.5) as Ns);
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and coefficient of variation of the times between arrivals.
    fn measured(mut clock: impl Clock, arrivals: u32) -> (f64, f64) {
        let mut random = Random::new(7);
        let mut last = 0;
        let gaps: Vec<f64> = (0..arrivals)
            .map(|_| {
                let at = clock.next(&mut random);
                let gap = at - last;
                last = at;
                gap as f64
            })
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn exponential_times_vary_by_one() {
        let (mean, cv) = measured(Poisson::new(1e5), 400_000);
        assert!((mean / 1e4 - 1.0).abs() < 0.01 && (cv - 1.0).abs() < 0.01, "{mean} {cv}");
    }

    #[test]
    fn hyperexponential_times_vary_as_asked() {
        for wanted in [1.5, 3.0, 8.0] {
            let (mean, cv) = measured(Hyperexponential::new(1e5, wanted), 2_000_000);
            assert!((mean / 1e4 - 1.0).abs() < 0.03, "{wanted}: {mean}");
            assert!((cv / wanted - 1.0).abs() < 0.04, "{wanted}: {cv}");
        }
    }

    #[test]
    fn bursts_are_of_equal_times_an_idle_time_apart() {
        let mut clock = Bursty::new(3, 7, 5);
        let mut random = Random::new(1);
        let at: Vec<Ns> = (0..8).map(|_| clock.next(&mut random)).collect();
        assert_eq!(at, [5, 5, 5, 12, 12, 12, 19, 19]);
    }

    #[test]
    fn fixed_times_are_exact_in_the_long_run() {
        let mut clock = Metronome::new(3.0);
        let mut random = Random::new(1);
        let at: Vec<Ns> = (0..3_000_001).map(|_| clock.next(&mut random)).collect();
        assert_eq!(at[..4], [0, 333_333_333, 666_666_667, SECOND]);
        assert_eq!(at[3_000_000], 1_000_000 * SECOND);
    }
}
