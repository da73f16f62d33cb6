//! What a run is asked for, and why it may give nothing.

use crate::control::{WRITE_STALL_S, WRITE_STALL_S_MAX};
use crate::kinds::KindsSpec;
use crate::settings::Settings;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use thiserror::Error;
use tinytail_config::ConfigError;
use tinytail_metrics::log::LogError;
use tinytail_metrics::series::{WINDOWS, WINDOWS_MAX};
use tinytail_metrics::timeline::TimelineError;
use tinytail_workload::{TraceOptions, Transform, WorkloadError};

/// What a run of one design needs.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RunSpec")]
pub struct Spec {
    /// Name or path of the device.
    pub device: String,
    /// Composition of the design.
    pub design: String,
    /// Name or path of the workload.
    pub workload: String,
    /// The file that holds what was read from a pipe, if the workload's name is that of a pipe or `-`.
    pub spooled: Option<PathBuf>,
    /// How a trace is read and paced.
    #[serde(default)]
    pub trace: TraceOptions,
    /// What is done to the requests of a trace or a stand-in.
    #[serde(default)]
    pub transform: Transform,
    /// How many requests to run; all that the workload has if not given.
    #[schemars(range(min = 1))]
    pub requests: Option<u64>,
    /// Seed of whatever is random. The same input with the same seed gives the same results.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Check every read against what was last written there.
    #[serde(default)]
    pub verify: bool,
    /// The most windows that the series over time in the results may have.
    #[serde(default = "windows")]
    #[schemars(range(min = 1, max = WINDOWS_MAX))]
    pub windows: u32,
    /// Measure from the starting state itself, as `tinytail serve` does, instead of playing a trace once before, or a generator until
    /// it has filled the write buffer.
    #[serde(default)]
    pub no_warm_up: bool,
    /// Simulated seconds that a write may spend in the device. One that takes longer ends the run, with what was served until then:
    /// writes that get nowhere would have it go on for ever. Where bursts are more than a drive keeps up with, a backlog may last
    /// longer.
    #[serde(default = "write_stall_s")]
    #[schemars(range(min = 1, max = WRITE_STALL_S_MAX))]
    pub write_stall_s: u64,
    /// Let at most so many requests of a trace or a stand-in be outstanding. One that arrives meanwhile waits in the host until one of
    /// them completes. Its latency begins then; waits are shown apart.
    #[schemars(range(min = 1))]
    pub outstanding_max: Option<u32>,
    /// Values of the starting state that replace the device's.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub state: toml::Table,
    /// Values that are given beside the files of device, design and workload.
    #[serde(default)]
    #[schemars(with = "Vec<String>", extend("default" = []))]
    pub settings: Settings,
    /// Path of an image to start from, instead of ageing.
    pub image: Option<String>,
    /// Where to log every request, if anywhere.
    pub log: Option<LogSpec>,
    /// Which request timelines are kept, and where, if any are.
    pub request_timelines: Option<RequestTimelinesSpec>,
    /// Causes that take no time, from the aged drive on.
    #[serde(default)]
    pub without: Vec<String>,
    /// Where a timeline goes, and of what, if anywhere.
    pub timeline: Option<TimelineSpec>,
    /// Which kinds of requests are measured apart, if any are.
    pub kinds: Option<KindsSpec>,
    /// Other designs, whose capacity bounds the workload's addresses as well: those that this one is compared with.
    #[serde(default)]
    pub beside: Vec<String>,
}

fn seed() -> u64 {
    1
}

fn windows() -> u32 {
    WINDOWS
}

fn write_stall_s() -> u64 {
    WRITE_STALL_S
}

impl Spec {
    /// A run of a device, a design and a workload as they are, with the default of everything else.
    pub fn new(device: &str, design: &str, workload: &str) -> Self {
        let named = json!({ "device": device, "design": design, "workload": workload });
        serde_json::from_value(named).expect("everything else has a default")
    }
}

/// Timelines of requests of the measured part.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestTimelinesSpec {
    /// The folder of their files, which must exist.
    pub path: String,
    /// Of how many of the slowest reads, and of how many of the slowest writes.
    pub slowest: usize,
    /// Of which requests, by their numbers in the measured part.
    #[serde(default)]
    pub requests: Vec<u64>,
}

/// A timeline of the measured part or of a window of it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineSpec {
    /// The file, which is replaced if it exists.
    pub path: String,
    /// Since when and up to when, in nanoseconds since the measured part began; all of it if not given.
    pub window_ns: Option<(u64, u64)>,
    /// Slices at most, if not the usual number.
    pub slices_max: Option<u64>,
    /// How many of the slowest reads are shown, if not the usual number.
    pub slow_reads: Option<usize>,
    /// The command that repeats the run, for the file.
    pub command: String,
}

/// A log of every request of the measured part.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSpec {
    /// The file, which is replaced if it exists.
    pub path: String,
    /// The command that repeats the run, for the file.
    pub command: String,
}

/// Why a run gave no result.
#[derive(Debug, Error)]
pub enum RunError {
    /// A faulty device or design.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A faulty workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A log that cannot be written, found before anything ran.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A timeline that cannot be written, found before anything ran.
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    /// The run itself failed.
    #[error("{0}")]
    Failed(String),
}
