//! Bursts with computing between them: the preprocessing of The Harey Tortoise, section 5.1.
//!
//! A request that comes less than a gap after the one before belongs to the same burst, and all of a burst come at once. The
//! time before a burst's first request is taken to be computing, which begins when the burst before has completed; so it is
//! kept as a difference of times, and whoever plays the stream waits that long after the last completion. The gap of the paper
//! is the mean time between the requests of a trace.

use serde::{Deserialize, Serialize};
use tinytail_core::commands::CommandKind;
use tinytail_core::units::{Ns, SECOND};

use super::window::Window;
use super::{Opener, nanoseconds};
use crate::characteristics::pages_of;
use crate::error::WorkloadError;
use crate::source::{Arrival, Note, Source};
use crate::text;

/// Requests that are taken from a source at a time.
const BATCH: usize = 256;

/// The least time between two bursts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "expected a number of seconds, or \"mean\"")]
pub enum BurstGap {
    /// The mean time between two requests.
    Named(MeanGap),
    /// So many seconds.
    Seconds(f64),
}

/// The mean time between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MeanGap {
    /// The mean time between two requests.
    Mean,
}

/// What the times of a stream are like.
struct Times {
    requests: u64,
    first_ns: Ns,
    last_ns: Ns,
    longest_ns: Ns,
    /// Times between requests that are at least the gap, and their sum.
    idle: u64,
    idle_ns: u128,
}

/// The gap of a stream, and what bursts it makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    /// A request that comes so long after the one before, or longer, begins a burst.
    pub(crate) gap_ns: Ns,
    pub(crate) requests: u64,
    pub(crate) bursts: u64,
    pub(crate) idle_mean_ns: Ns,
}

/// Looks through a stream, or a window of it, for the bursts that a gap makes.
///
/// # Errors
/// A gap that leaves one burst, or a stream that can't be read.
pub(crate) fn find(name: &str, open: &Opener, window: Option<Window>, gap: BurstGap) -> Result<Found, WorkloadError> {
    let gap_ns = match gap {
        BurstGap::Seconds(seconds) => nanoseconds(seconds).max(1),
        BurstGap::Named(MeanGap::Mean) => {
            let times = times(open, window, Ns::MAX)?;
            // A whole number of nanoseconds is below the mean exactly if it is below the mean rounded up.
            (times.last_ns - times.first_ns).div_ceil(times.requests.saturating_sub(1).max(1))
        }
    };
    let times = times(open, window, gap_ns.max(1))?;
    if times.idle == 0 {
        let message = format!(
            "`burst_gap_s` of {} leaves one burst of {}: the longest time between two of them is {}; expected a shorter gap",
            text::duration(u128::from(gap_ns)),
            text::counted(times.requests, "request"),
            text::duration(u128::from(times.longest_ns)),
        );
        return Err(WorkloadError::DoesNotFit { name: name.into(), message });
    }
    let idle_mean_ns = (times.idle_ns / u128::from(times.idle)) as Ns;
    Ok(Found { gap_ns, requests: times.requests, bursts: times.idle + 1, idle_mean_ns })
}

fn times(open: &Opener, window: Option<Window>, gap_ns: Ns) -> Result<Times, WorkloadError> {
    let mut source = super::windowed(open()?, window);
    let mut times = Times { requests: 0, first_ns: 0, last_ns: 0, longest_ns: 0, idle: 0, idle_ns: 0 };
    let mut batch = Vec::with_capacity(BATCH);
    while source.fill(&mut batch, BATCH)? > 0 {
        for arrival in batch.drain(..) {
            if times.requests == 0 {
                times.first_ns = arrival.at;
            } else {
                let since = arrival.at - times.last_ns;
                times.longest_ns = times.longest_ns.max(since);
                if since >= gap_ns {
                    times.idle += 1;
                    times.idle_ns += u128::from(since);
                }
            }
            times.last_ns = arrival.at;
            times.requests += 1;
        }
    }
    Ok(times)
}

impl Found {
    pub(crate) fn note(&self) -> String {
        format!(
            "bursts: requests less than {} apart come at once, which makes {} of {:.1} requests; each begins after the last \
             completion of the one before and an idle time, {} on average",
            text::duration(u128::from(self.gap_ns)),
            text::counted(self.bursts, "burst"),
            self.requests as f64 / self.bursts as f64,
            text::duration(u128::from(self.idle_mean_ns)),
        )
    }
}

/// Requests in bursts: the time of each is that of its burst, and times between bursts are what they were.
pub(crate) struct Bursts {
    inner: Box<dyn Source>,
    gap_ns: Ns,
    /// The time of the last request, before and now.
    last: Option<(Ns, Ns)>,
}

impl Bursts {
    pub(crate) fn new(inner: Box<dyn Source>, gap_ns: Ns) -> Self {
        Self { inner, gap_ns, last: None }
    }
}

impl Source for Bursts {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let start = out.len();
        let count = self.inner.fill(out, limit)?;
        for arrival in &mut out[start..] {
            let (before, now) = self.last.unwrap_or((arrival.at, arrival.at));
            let since = arrival.at - before;
            let at = if since >= self.gap_ns { now + since } else { now };
            self.last = Some((arrival.at, at));
            arrival.at = at;
        }
        Ok(count)
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}

/// What the bursts of a stream are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "TraceBursts")]
pub struct BurstSummary {
    /// Requests that are less than this apart belong to one burst, in seconds.
    pub gap_s: f64,
    /// Number of bursts.
    pub bursts: u64,
    /// Share of the bursts that write.
    pub writing_percent: f64,
    /// Mean number of requests of a burst.
    pub requests_mean: f64,
    /// Mean number of 4 KiB pages that a burst reads or writes, each time that it does.
    pub pages_mean: f64,
    /// Mean number of 4 KiB pages that a burst writes; bursts that only read count as none.
    pub written_pages_mean: f64,
    /// The most 4 KiB pages that a burst writes.
    pub written_pages_max: u64,
    /// Mean time between the end of a burst and the begin of the next, in seconds.
    pub idle_s_mean: f64,
}

/// Measures a stream of bursts.
///
/// # Errors
/// A stream that can't be read.
pub(crate) fn measure(source: &mut dyn Source, gap_ns: Ns) -> Result<BurstSummary, WorkloadError> {
    let (mut requests, mut bursts, mut writing, mut pages, mut written, mut most) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    let mut of_burst = 0;
    let mut span: Option<(Ns, Ns)> = None;
    let mut batch = Vec::with_capacity(BATCH);
    while source.fill(&mut batch, BATCH)? > 0 {
        for arrival in batch.drain(..) {
            if span.is_none_or(|(_, last)| last != arrival.at) {
                bursts += 1;
                writing += u64::from(of_burst > 0);
                most = most.max(of_burst);
                of_burst = 0;
            }
            span = Some((span.map_or(arrival.at, |(first, _)| first), arrival.at));
            requests += 1;
            let touched = pages_of(&arrival.command);
            let touched = touched.end - touched.start;
            match arrival.command.kind {
                CommandKind::Read => pages += touched,
                CommandKind::Write => {
                    pages += touched;
                    written += touched;
                    of_burst += touched;
                }
                CommandKind::Trim => {}
            }
        }
    }
    writing += u64::from(of_burst > 0);
    most = most.max(of_burst);
    let mean = |sum: u64| if bursts > 0 { sum as f64 / bursts as f64 } else { 0.0 };
    let idle_ns = span.map_or(0, |(first, last)| last - first);
    Ok(BurstSummary {
        gap_s: gap_ns as f64 / SECOND as f64,
        bursts,
        writing_percent: 100.0 * mean(writing),
        requests_mean: mean(requests),
        pages_mean: mean(pages),
        written_pages_mean: mean(written),
        written_pages_max: most,
        idle_s_mean: if bursts > 1 { idle_ns as f64 / SECOND as f64 / (bursts - 1) as f64 } else { 0.0 },
    })
}

#[cfg(test)]
mod tests {
    use tinytail_core::commands::Command;
    use tinytail_core::units::MS;

    use super::super::testkit::{given, opener, read_all, times};
    use super::*;

    const MEAN: BurstGap = BurstGap::Named(MeanGap::Mean);

    fn bursts(at: &[Ns], gap_ns: Ns) -> Vec<Ns> {
        read_all(Box::new(Bursts::new(given(&times(at)), gap_ns)), 2).iter().map(|arrival| arrival.at).collect()
    }

    fn found(at: &[Ns], gap: BurstGap) -> Result<Found, WorkloadError> {
        find("w", &opener(&times(at)), None, gap)
    }

    #[test]
    fn what_is_nearer_than_the_gap_comes_at_once() {
        // Gaps of 9, 10, 9, 9 and 11: those of 10 and more are idle times, and keep their lengths.
        assert_eq!(bursts(&[5, 14, 24, 33, 42, 53], 10), [5, 5, 15, 15, 15, 26]);
        assert_eq!(bursts(&[0, 0, 1], 1), [0, 0, 1]);
        assert_eq!(bursts(&[7], 1), [7]);
        assert_eq!(bursts(&[], 1), [0; 0]);
    }

    #[test]
    fn the_mean_time_between_requests_is_a_gap() {
        // 30 in 4 gaps of 1, 8, 7 and 14: the mean is 7.5, so that 8 and 14 are idle.
        let mean = found(&[100, 101, 109, 116, 130], MEAN).unwrap();
        assert_eq!(mean, Found { gap_ns: 8, requests: 5, bursts: 3, idle_mean_ns: 11 });
        // Even times are all as long as the mean.
        assert_eq!(found(&[0, 10, 20, 30], MEAN).unwrap().bursts, 4);
        // The window alone counts.
        let window = Some(Window { from_ns: 101, to_ns: 117 });
        let of_window = find("w", &opener(&times(&[100, 101, 109, 116, 130])), window, MEAN).unwrap();
        assert_eq!((of_window.gap_ns, of_window.bursts), (8, 2));
    }

    #[test]
    fn a_gap_that_leaves_one_burst_is_refused() {
        let at = [0, 2 * MS, 5 * MS];
        assert_eq!(found(&at, BurstGap::Seconds(0.003)).unwrap().bursts, 2);
        let message = found(&at, BurstGap::Seconds(0.003_000_001)).unwrap_err().to_string();
        assert!(message.contains("`w`") && message.contains("leaves one burst of 3 requests"), "{message}");
        assert!(message.contains("the longest time between two of them is 3.00 ms"), "{message}");
        for alone in [&[7][..], &[7, 7, 7]] {
            let message = found(alone, MEAN).unwrap_err().to_string();
            assert!(message.contains("leaves one burst"), "{message}");
        }
    }

    #[test]
    fn bursts_are_measured() {
        let request = |at, kind, sector, sectors| Arrival {
            at,
            command: Command { kind, sector, sectors, critical: false },
            queue: 0,
            latency_ns: None,
        };
        use CommandKind::{Read, Trim, Write};
        let requests = [
            request(0, Write, 0, 8),
            // Half of two pages.
            request(0, Write, 4, 8),
            request(10 * MS, Read, 0, 80),
            request(30 * MS, Write, 0, 1),
            request(30 * MS, Trim, 0, 800),
        ];
        let summary = measure(given(&requests).as_mut(), 5 * MS).unwrap();
        assert_eq!((summary.bursts, summary.written_pages_max), (3, 3));
        assert_eq!((summary.gap_s, summary.idle_s_mean), (0.005, 0.015));
        assert!((summary.writing_percent - 200.0 / 3.0).abs() < 1e-9);
        assert!((summary.requests_mean - 5.0 / 3.0).abs() < 1e-9);
        assert!((summary.pages_mean - 14.0 / 3.0).abs() < 1e-9);
        assert!((summary.written_pages_mean - 4.0 / 3.0).abs() < 1e-9);
        let nothing = measure(given(&[]).as_mut(), 1).unwrap();
        assert_eq!((nothing.bursts, nothing.idle_s_mean, nothing.pages_mean), (0, 0.0, 0.0));
    }

    #[test]
    fn a_gap_is_a_number_or_the_mean() {
        let read = |text: &str| serde_json::from_str::<BurstGap>(text);
        assert_eq!(read("0.018").unwrap(), BurstGap::Seconds(0.018));
        assert_eq!(read("1").unwrap(), BurstGap::Seconds(1.0));
        assert_eq!(read("\"mean\"").unwrap(), MEAN);
        assert!(read("\"median\"").unwrap_err().to_string().contains("a number of seconds, or \"mean\""));
    }
}
