//! How fast bursts are done: The Harey Tortoise, section 5.1, which divides what a burst writes by the time that it takes, so that
//! idle times do not count, and takes the mean over the bursts.

use schemars::JsonSchema;
use serde::Serialize;
use tinytail_core::commands::CommandKind;
use tinytail_core::observe::Completion;
use tinytail_core::units::{Ns, SECTOR_BYTES};

/// How fast the bursts of a workload were done that is played in bursts. Idle times do not count: The Harey Tortoise, section 5.1.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Bursts")]
pub struct BurstsNote {
    /// Bursts.
    pub count: u64,
    /// Bursts that wrote.
    pub writing: u64,
    /// Mean time from the issue of a burst to its last completion, in microseconds; `None` without bursts.
    pub mean_us: Option<f64>,
    /// The longest time from the issue of a burst to its last completion, in microseconds; `None` without bursts.
    pub max_us: Option<f64>,
    /// Mean over the bursts that wrote of the bytes that one wrote over the time that it took, in 10^6 bytes per second; `None` if
    /// none wrote, or none took any time.
    pub write_mb_per_second: Option<f64>,
    /// Mean over the bursts that read of the bytes that one read over the time that it took, in 10^6 bytes per second; `None` if
    /// none read, or none took any time.
    pub read_mb_per_second: Option<f64>,
}

/// Measures bursts. All requests of one are issued at one time, and none of the next before all of it have completed.
#[derive(Debug, Default)]
pub(crate) struct BurstMeter {
    at: Option<Burst>,
    count: u64,
    writing: u64,
    sum_ns: u128,
    max_ns: Ns,
    writes: Rates,
    reads: Rates,
}

/// The burst at hand.
#[derive(Debug)]
struct Burst {
    asked: Ns,
    last_completed: Ns,
    written_sectors: u64,
    read_sectors: u64,
}

/// The sum of what each of some bursts moved in a second.
#[derive(Debug, Default)]
struct Rates {
    bursts: u64,
    sum_mb_per_second: f64,
}

impl Rates {
    fn add(&mut self, sectors: u64, ns: Ns) {
        if sectors > 0 && ns > 0 {
            self.bursts += 1;
            // Bytes in a nanosecond are 10^9 bytes in a second.
            self.sum_mb_per_second += (sectors * u64::from(SECTOR_BYTES)) as f64 * 1e3 / ns as f64;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.bursts > 0).then(|| self.sum_mb_per_second / self.bursts as f64)
    }
}

impl BurstMeter {
    /// A request has completed.
    pub(crate) fn add(&mut self, completion: &Completion) {
        if self.at.as_ref().is_some_and(|burst| burst.asked != completion.asked) {
            self.end();
        }
        let fresh = Burst { asked: completion.asked, last_completed: completion.completed, written_sectors: 0, read_sectors: 0 };
        let burst = self.at.get_or_insert(fresh);
        burst.last_completed = burst.last_completed.max(completion.completed);
        match completion.kind {
            CommandKind::Read => burst.read_sectors += u64::from(completion.sectors),
            CommandKind::Write => burst.written_sectors += u64::from(completion.sectors),
            CommandKind::Trim => {}
        }
    }

    fn end(&mut self) {
        let Some(burst) = self.at.take() else { return };
        let ns = burst.last_completed - burst.asked;
        self.count += 1;
        self.writing += u64::from(burst.written_sectors > 0);
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
        self.writes.add(burst.written_sectors, ns);
        self.reads.add(burst.read_sectors, ns);
    }

    /// What has been measured, the burst at hand included; nothing follows.
    pub(crate) fn finish(mut self) -> BurstsNote {
        self.end();
        let us = |ns: f64| (self.count > 0).then_some(ns / 1e3);
        BurstsNote {
            count: self.count,
            writing: self.writing,
            mean_us: us(self.sum_ns as f64 / self.count.max(1) as f64),
            max_us: us(self.max_ns as f64),
            write_mb_per_second: self.writes.mean(),
            read_mb_per_second: self.reads.mean(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(kind: CommandKind, sectors: u32, asked: Ns, completed: Ns) -> Completion {
        Completion {
            id: 0,
            kind,
            sector: 0,
            sectors,
            asked,
            arrived: asked,
            completed,
            gc_blocked: false,
            reconstructed: 0,
            gc_waits: 0,
            gc_waits_forced: 0,
            gc_wait_since: 0,
            host_queue_ns: 0,
        }
    }

    #[test]
    fn each_burst_counts_once_whatever_its_size() {
        use CommandKind::{Read, Trim, Write};
        let mut meter = BurstMeter::default();
        for each in [
            // 8 KiB written and 4 KiB read in 2 us: 4096 and 2048 MB/s.
            completion(Write, 8, 100, 1100),
            completion(Read, 8, 100, 2100),
            completion(Write, 8, 100, 600),
            // 4 KiB written in 4 us: 1024 MB/s.
            completion(Write, 8, 9000, 13_000),
            // A trim moves nothing.
            completion(Trim, 800, 20_000, 23_000),
            // No time, no rate.
            completion(Write, 8, 30_000, 30_000),
        ] {
            meter.add(&each);
        }
        let note = meter.finish();
        assert_eq!((note.count, note.writing), (4, 3));
        assert_eq!((note.mean_us, note.max_us), (Some(2.25), Some(4.0)));
        assert_eq!((note.write_mb_per_second, note.read_mb_per_second), (Some((4096.0 + 1024.0) / 2.0), Some(2048.0)));
    }

    #[test]
    fn no_bursts_have_no_figures() {
        let note = BurstMeter::default().finish();
        assert_eq!((note.count, note.mean_us, note.max_us), (0, None, None));
        assert_eq!((note.write_mb_per_second, note.read_mb_per_second), (None, None));
    }
}
