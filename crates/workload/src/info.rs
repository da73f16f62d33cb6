//! What a trace is like, by its path or by the name of a workload that plays one.

use std::path::Path;

use crate::characteristics::TraceInfo;
use crate::error::WorkloadError;
use crate::fio;
use crate::read::is_there;
use crate::reading::Reading;
use crate::trace::{Trace, TraceOptions};
use crate::transform::Transform;
use crate::workload::{Workload, is_workload_file};

/// The characteristics of a trace, as a transform leaves its requests: of a trace file, or of the one trace that a workload plays.
///
/// # Errors
/// As [`Trace::open`]; a workload that is no trace, with the commands that take it; a name that is neither.
pub fn trace_info(
    name_or_path: &str,
    options: &TraceOptions,
    transform: &Transform,
    reading: &Reading,
) -> Result<TraceInfo, WorkloadError> {
    let path = Path::new(name_or_path);
    let is_trace = is_there(path) && (!is_workload_file(path) || fio::is_io_log(path));
    if is_trace || reading.spooled.is_some() {
        return Trace::open_watched(path, options, reading)?.info_transformed(transform);
    }
    let workload = Workload::resolve_watched(name_or_path, options, &[], reading)?;
    // A transform could fail where there is no trace to look into.
    if !workload.plays_one_trace() {
        return Err(workload.no_trace(name_or_path));
    }
    let workload = workload.transformed(transform)?;
    workload.trace_info()?.ok_or_else(|| workload.no_trace(name_or_path))
}
