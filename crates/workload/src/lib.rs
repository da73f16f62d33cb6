//! Workloads: recorded traces and generated requests, as streams that a drive is given.
//!
//! [`Workload::resolve`] finds a workload by its name, in a workload file or in a trace file; [`Workload::source`] starts its
//! stream, as often as needed. A workload says of itself whether its input is real, synthetic or a stand-in, whether it runs
//! in open or in closed loop, and in its notes how a trace was read.
//!
//! The tree: `trace/` has one file for each trace format, `transform/` one for each thing that is done to recorded requests,
//! `synthetic/` the generators, `file` the workload files (the repository's `workloads/*.toml`, which are embedded, and those
//! of users), `fio/` the job files of fio that describe workloads (`workloads/*.fio`), `characteristics` what a stream is like, `claims` what a stand-in claims to be like.
//!
//! Nothing here depends on the machine: times are integers, random numbers come from a seeded generator, and the few
//! logarithms and exponentials from software rather than from the platform's library.

mod burstiness;
mod characteristics;
mod claims;
mod convert;
mod critical;
mod duration;
mod error;
mod file;
mod fio;
mod info;
mod limit;
mod locality;
mod measured;
mod page_set;
mod random;
pub mod rate;
mod read;
mod reading;
mod source;
mod streams;
mod synthetic;
mod text;
pub mod trace;
mod trace_file;
mod transform;
mod workload;

pub use characteristics::{Characteristics, CharacteristicsSummary, DeviceInfo, GapClass, KindSummary, SizeClass, TraceFinding, TraceInfo};
pub use claims::CheckedClaim;
pub use duration::Room;
pub use error::{Column, Position, WorkloadError};
pub use file::SECTIONS;
pub use info::trace_info;
pub use locality::{Hottest, LocalitySummary};
pub use measured::{Measured, MeasuredLatencies};
pub use read::{open_file, read_error, read_file, read_text, set_text};
pub use reading::{Reading, Seen, Watch};
pub use source::{Arrival, Fitted, Note, Reached, Source, SourceContext};
pub use streams::{Pacing, Pulses, Rest, Stream, Streams, Timing};
pub use trace::units::{AddressUnit, Code, DeviceName, Event, OpCodes, SkipFaulty, TimeUnit};
pub use trace::{CoarseTimes, Columns, Trace, TraceOptions};
pub use trace_file::{Converted, Recorded, TraceFile};
pub use transform::{BurstGap, BurstSummary, Fit, MeanGap, Transform};
pub use workload::{
    Description, InputKind, Listing, TRACES_VARIABLE, Workload, check_file, check_with, describe, describe_with, list, workload_file,
};
