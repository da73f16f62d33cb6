//! Latencies of requests of one kind and size, apart from all others: a tool that certifies drives judges small reads, large
//! reads and large writes each by limits of their own.

use crate::{Histogram, LatencySummary, percent};
use schemars::JsonSchema;
use serde::Serialize;
use tinytail_core::commands::CommandKind;
use tinytail_core::observe::Completion;
use tinytail_core::units::{Ns, SECTOR_BYTES};

/// The most slices of time that misses are counted in.
pub const SLICES_MAX: u32 = 10_000;

/// Requests whose latencies are kept apart, and when the run need not go on for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// What they do.
    pub kind: CommandKind,
    /// Their size.
    pub sectors: u32,
    /// The run is given up when their latencies add up to this.
    pub sum_ns_max: Option<u64>,
    /// The run is given up when one of them takes longer than this.
    pub latency_ns_max: Option<Ns>,
}

/// How requests are compared with limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A request that takes as long as one of these, or longer, misses it.
    pub limits_ns: Vec<Ns>,
    /// The length of the measured part. What completes later counts to its last slice.
    pub duration_ns: Ns,
    /// Into so many slices of equal length it is cut, 1 to [`SLICES_MAX`].
    pub slices: u32,
}

/// The latencies of requests of one kind and size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KindSummary {
    /// What they do: `read` or `write`.
    #[schemars(extend("enum" = ["read", "write"]))]
    pub kind: &'static str,
    /// Their size.
    pub bytes: u64,
    /// Their latencies.
    pub latency: LatencySummary,
    /// How many of them missed each limit.
    pub limits: Vec<Misses>,
}

/// How many requests missed a limit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Misses {
    /// The limit, in nanoseconds.
    pub limit_ns: Ns,
    /// Requests that took as long or longer.
    pub missed: u64,
    /// Their share of the requests that completed in the same slice of time, a 24th of the run, in percent, where it was highest.
    #[schemars(range(min = 0, max = 100))]
    pub worst_slice_percent: f64,
}

#[derive(Debug)]
struct Kept {
    kind: Kind,
    latencies: Histogram,
    /// Requests in each slice.
    requests: Vec<u64>,
    /// Requests that missed each limit, in each slice: limit after limit.
    missed: Vec<u64>,
}

impl Kept {
    fn new(kind: Kind, limits: &Limits) -> Self {
        let slices = limits.slices as usize;
        let missed = vec![0; slices * limits.limits_ns.len()];
        Self { kind, latencies: Histogram::default(), requests: vec![0; slices], missed }
    }

    fn record(&mut self, latency: Ns, slice: usize, limits: &Limits) {
        self.latencies.record(latency);
        self.requests[slice] += 1;
        for (missed, limit) in self.missed.chunks_exact_mut(limits.slices as usize).zip(&limits.limits_ns) {
            missed[slice] += u64::from(latency >= *limit);
        }
    }

    /// Why the run need not go on, if it need not.
    fn given_up(&self) -> Option<String> {
        let Kind { kind, sectors, sum_ns_max, latency_ns_max } = self.kind;
        let what = || format!("{}s of {} bytes", name(kind), u64::from(sectors) * u64::from(SECTOR_BYTES));
        if let Some(most) = latency_ns_max.filter(|most| self.latencies.max_ns() > *most) {
            return Some(format!("one of the {} took {} ns, more than {most} ns", what(), self.latencies.max_ns()));
        }
        let most = sum_ns_max.filter(|most| self.latencies.sum_ns() >= u128::from(*most))?;
        Some(format!("the latencies of the {} add up to {} ns, not less than {most} ns", what(), self.latencies.sum_ns()))
    }

    fn summary(&self, limits: &Limits) -> KindSummary {
        let misses = |(missed, limit): (&[u64], &Ns)| Misses {
            limit_ns: *limit,
            missed: missed.iter().sum(),
            worst_slice_percent: missed.iter().zip(&self.requests).map(|(missed, all)| percent(*missed, *all)).fold(0.0, f64::max),
        };
        KindSummary {
            kind: name(self.kind.kind),
            bytes: u64::from(self.kind.sectors) * u64::from(SECTOR_BYTES),
            latency: LatencySummary::of(&self.latencies),
            limits: self.missed.chunks_exact(limits.slices as usize).zip(&limits.limits_ns).map(misses).collect(),
        }
    }
}

fn name(kind: CommandKind) -> &'static str {
    match kind {
        CommandKind::Read => "read",
        CommandKind::Write => "write",
        CommandKind::Trim => "trim",
    }
}

/// Keeps the latencies of some kinds of requests apart.
#[derive(Debug)]
pub struct Kinds {
    limits: Limits,
    start_ns: Ns,
    slice_ns: Ns,
    kept: Vec<Kept>,
}

impl Kinds {
    /// For requests of these kinds.
    ///
    /// # Panics
    /// The slices of the limits are out of range.
    pub fn new(kinds: &[Kind], limits: Limits) -> Self {
        assert!((1..=SLICES_MAX).contains(&limits.slices), "slices from 1 to {SLICES_MAX}");
        let slice_ns = limits.duration_ns.div_ceil(limits.slices.into()).max(1);
        let kept = kinds.iter().map(|kind| Kept::new(*kind, &limits)).collect();
        Self { limits, start_ns: 0, slice_ns, kept }
    }

    /// The measured part begins; what was before is forgotten.
    pub(crate) fn begin(&mut self, start_ns: Ns) {
        self.start_ns = start_ns;
        for kept in &mut self.kept {
            *kept = Kept::new(kept.kind, &self.limits);
        }
    }

    #[inline(never)]
    pub(crate) fn add(&mut self, completion: &Completion) {
        let Some(kept) = self.kept.iter_mut().find(|kept| (kept.kind.kind, kept.kind.sectors) == (completion.kind, completion.sectors))
        else {
            return;
        };
        let slice = (completion.completed - self.start_ns) / self.slice_ns;
        let slice = usize::try_from(slice).unwrap_or(usize::MAX).min(self.limits.slices as usize - 1);
        kept.record(completion.completed - completion.arrived, slice, &self.limits);
    }

    /// Why the run need not go on, if it need not.
    pub(crate) fn given_up(&self) -> Option<String> {
        self.kept.iter().find_map(Kept::given_up)
    }

    pub(crate) fn summary(&self) -> Vec<KindSummary> {
        self.kept.iter().map(|kept| kept.summary(&self.limits)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measures, Metrics};
    use tinytail_core::observe::{Attribution, Observer};

    const SMALL: Kind = Kind { kind: CommandKind::Read, sectors: 3, sum_ns_max: None, latency_ns_max: None };
    const LARGE: Kind = Kind { kind: CommandKind::Write, sectors: 256, sum_ns_max: None, latency_ns_max: None };

    fn by_kind(kinds: &[Kind]) -> Metrics {
        let mut metrics = Metrics::default();
        metrics.measure_kinds(Kinds::new(kinds, Limits { limits_ns: vec![100, 800], duration_ns: 1000, slices: 4 }));
        metrics.begin(5000, 0, 10, None);
        metrics
    }

    /// A request that completes so long after the measured part began.
    fn complete(by_kind: &mut Metrics, (kind, sectors): (CommandKind, u32), at: Ns, latency: Ns) {
        let completed = 5000 + at;
        let completion = Completion {
            id: 0,
            kind,
            sector: 0,
            sectors,
            asked: completed - latency,
            arrived: completed - latency,
            completed,
            gc_blocked: false,
            reconstructed: 0,
            gc_waits: 0,
            gc_waits_forced: 0,
            gc_wait_since: 0,
            host_queue_ns: 0,
        };
        by_kind.completed(&completion, (&Attribution::default()).into());
    }

    #[test]
    fn a_request_misses_a_limit_that_it_takes_as_long_as() {
        let mut by_kind = by_kind(&[SMALL, LARGE]);
        for latency in [99, 100, 101, 799, 800] {
            complete(&mut by_kind, (CommandKind::Read, 3), 0, latency);
        }
        complete(&mut by_kind, (CommandKind::Write, 256), 0, 99);
        // Neither of these is asked for; both are measured.
        complete(&mut by_kind, (CommandKind::Read, 256), 0, 900);
        complete(&mut by_kind, (CommandKind::Write, 3), 0, 900);
        let [small, large] = &by_kind.kinds()[..] else { panic!("two kinds") };
        assert_eq!((small.kind, small.bytes, small.latency.count), ("read", 1536, 5));
        assert_eq!((large.kind, large.bytes, large.latency.count), ("write", 131_072, 1));
        assert_eq!(small.limits.iter().map(|misses| misses.missed).collect::<Vec<_>>(), [4, 1]);
        assert_eq!(large.limits.iter().map(|misses| misses.missed).collect::<Vec<_>>(), [0, 0]);
        assert_eq!((by_kind.read().count, by_kind.write().count), (6, 2));
    }

    #[test]
    fn the_worst_slice_is_found_and_its_edges_are_exact() {
        let mut by_kind = by_kind(&[SMALL]);
        let read = (CommandKind::Read, 3);
        // Slices of 250 ns: one of two misses in the first, one of one in the second.
        for (at, latency) in [(0, 50), (249, 200), (250, 200), (500, 1), (750, 1)] {
            complete(&mut by_kind, read, at, latency);
        }
        assert_eq!(by_kind.kinds()[0].limits[0], Misses { limit_ns: 100, missed: 2, worst_slice_percent: 100.0 });
        // What completes after the end counts to the last slice.
        for at in [1000, 1_000_000] {
            complete(&mut by_kind, read, at, 5000);
        }
        let worst = by_kind.kinds()[0].limits[1].worst_slice_percent;
        assert!((worst - 200.0 / 3.0).abs() < 1e-9, "{worst}");
        by_kind.begin(9000, 0, 10, None);
        assert_eq!(by_kind.kinds()[0].latency.count, 0, "a new beginning forgets");
    }

    #[test]
    fn a_run_is_given_up_at_its_bounds_and_not_before() {
        let read = (CommandKind::Read, 3);
        let mut longest = by_kind(&[Kind { latency_ns_max: Some(700), ..SMALL }]);
        complete(&mut longest, read, 0, 700);
        assert_eq!(longest.given_up(), None);
        complete(&mut longest, read, 0, 701);
        assert!(longest.given_up().unwrap().contains("one of the reads of 1536 bytes took 701 ns"));
        let mut sum = by_kind(&[Kind { sum_ns_max: Some(700), ..SMALL }]);
        complete(&mut sum, read, 0, 699);
        assert_eq!(sum.given_up(), None);
        complete(&mut sum, read, 0, 1);
        assert!(sum.given_up().unwrap().contains("add up to 700 ns"));
    }
}
