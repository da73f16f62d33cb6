//! The latencies that a trace holds, beside those of the run.

use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use tinytail_config::{counted, grouped};
use tinytail_core::commands::CommandKind;
use tinytail_metrics::distribution::Distribution;
use tinytail_metrics::{Histogram, LatencySummary};
use tinytail_workload::{Arrival, Measured, MeasuredLatencies, Note, Source, Workload, WorkloadError};

/// Latencies that were measured when the trace was recorded, of the requests that the run played, and those of the run as multiples of
/// them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Measured")]
pub struct MeasuredNote {
    /// From where to where they were measured.
    pub scope: &'static str,
    /// Whether they are of the drive that is simulated, as `same_drive` says.
    pub same_drive: bool,
    /// Of reads.
    pub read: LatencySummary,
    /// Of writes.
    pub write: LatencySummary,
    /// Reads and writes whose latencies the trace does not hold.
    pub missing: u64,
    /// Reads and writes whose latencies are 0 in the trace. They count as latencies of 0, and a percentile of 0 has no ratio.
    pub zeros: u64,
    /// Percentiles of the run divided by those measured.
    pub ratio: MeasuredRatios,
    /// Where the latencies that were measured lie.
    pub distribution: Distribution,
    /// What makes the ratios mean less than they seem to.
    pub caveats: Vec<String>,
}

/// Percentiles of the run divided by those measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredRatios {
    /// Of reads.
    pub read: PercentileRatios,
    /// Of writes.
    pub write: PercentileRatios,
}

/// Percentiles divided by others; `None` where one of the two is missing, or the divisor is 0.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PercentileRatios {
    /// Of the median.
    pub p50: Option<f64>,
    /// Of the 90th percentile.
    pub p90: Option<f64>,
    /// Of the 99th percentile.
    pub p99: Option<f64>,
    /// Of the 99.9th percentile.
    pub p999: Option<f64>,
}

impl PercentileRatios {
    fn of(run: &LatencySummary, measured: &LatencySummary) -> Self {
        let ratio = |of: fn(&LatencySummary) -> Option<f64>| Some(of(run)? / of(measured).filter(|us| *us > 0.0)?);
        Self {
            p50: ratio(|each| each.p50_us),
            p90: ratio(|each| each.p90_us),
            p99: ratio(|each| each.p99_us),
            p999: ratio(|each| each.p999_us),
        }
    }
}

/// What the requests that were played took when they were recorded.
#[derive(Debug, Default)]
struct Taken {
    latencies: [Histogram; 2],
    missing: u64,
    zeros: u64,
}

impl Taken {
    fn add(&mut self, arrival: &Arrival) {
        let kind = match arrival.command.kind {
            CommandKind::Read => 0,
            CommandKind::Write => 1,
            CommandKind::Trim => return,
        };
        match arrival.latency_ns {
            Some(latency_ns) => {
                self.zeros += u64::from(latency_ns == 0);
                self.latencies[kind].record(latency_ns);
            }
            None => self.missing += 1,
        }
    }
}

/// Takes down the latencies that a trace holds of the requests that are played.
pub(crate) struct Recorder {
    latencies: MeasuredLatencies,
    taken: Arc<Mutex<Taken>>,
}

impl Recorder {
    /// For a workload that holds any. Notes say why those of another load are left out.
    pub fn of(workload: &Workload, notes: &mut Vec<String>) -> Option<Self> {
        match workload.measured() {
            Measured::Nothing => None,
            Measured::OtherLoad(why) => {
                notes.push(format!("the latencies that were measured of these requests are left out: {why}, which is another load"));
                None
            }
            Measured::Latencies(latencies) => Some(Self { latencies, taken: Arc::default() }),
        }
    }

    /// The requests of a source, each of which is taken down.
    pub fn listen(&self, inner: Box<dyn Source>) -> Box<dyn Source> {
        Box::new(Listening { inner, taken: Arc::clone(&self.taken) })
    }

    /// What was taken down, beside the latencies of the run that played all of it; nothing if the trace held no latency of it.
    /// `waits`: whether requests waited in the host before they were issued.
    pub fn note(self, read: &LatencySummary, write: &LatencySummary, waits: bool) -> Option<MeasuredNote> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let [measured_read, measured_write] = taken.latencies.each_ref().map(LatencySummary::of);
        let found = measured_read.count + measured_write.count;
        if found == 0 {
            return None;
        }
        let MeasuredLatencies { scope, same_drive, devices, caveat } = self.latencies;
        let mut caveats = Vec::new();
        if !same_drive {
            caveats.push(
                "the trace's drive is taken for another one, so that a ratio is no error of the model; --same-drive says that it is this one"
                    .into(),
            );
        }
        caveats.extend(caveat);
        if devices > 1 {
            caveats.push(format!("{devices} recorded devices share one drive here"));
        }
        if waits {
            caveats.push("latencies leave out the time for which --outstanding-max kept requests waiting".into());
        }
        if taken.missing > 0 {
            caveats.push(format!(
                "of {} of {} the trace holds no latency",
                grouped(taken.missing),
                counted(found + taken.missing, "request")
            ));
        }
        if taken.zeros > 0 {
            caveats.push(format!(
                "{} of {} are 0 in the trace, as where its clock is coarse or nothing was measured: a percentile of 0 has no ratio",
                grouped(taken.zeros),
                counted(found, "measured latency")
            ));
        }
        Some(MeasuredNote {
            scope,
            same_drive,
            ratio: MeasuredRatios { read: PercentileRatios::of(read, &measured_read), write: PercentileRatios::of(write, &measured_write) },
            read: measured_read,
            write: measured_write,
            distribution: Distribution::new(&taken.latencies[0], &taken.latencies[1]),
            missing: taken.missing,
            zeros: taken.zeros,
            caveats,
        })
    }
}

struct Listening {
    inner: Box<dyn Source>,
    taken: Arc<Mutex<Taken>>,
}

impl Source for Listening {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let before = out.len();
        let count = self.inner.fill(out, limit)?;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        out[before..].iter().for_each(|arrival| taken.add(arrival));
        Ok(count)
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}
