//! Writing a workload's requests as a trace.

use std::path::Path;

use crate::error::WorkloadError;
use crate::source::SourceContext;
use crate::streams::Pacing;
use crate::trace_file::{Converted, Recorded, TraceFile};
use crate::workload::{InputKind, Workload};

/// Requests that are taken from a source at a time.
const BATCH: usize = 4096;

/// A drive that is large enough for every trace.
const ANY_DRIVE: SourceContext = SourceContext { logical_sectors: u64::MAX, mapped_sectors: 0 };

impl Workload {
    /// Writes the requests to a trace that is read back as they are, at most `requests` of them. The trace is compressed with
    /// zstd or gzip if its name ends in `.zst` or `.gz`. Files that are there are replaced only by `force`.
    ///
    /// # Errors
    /// A workload whose requests depend on the drive, a name that can't be written to, or whatever keeps the workload from
    /// being played.
    pub fn convert(&self, path: &Path, seed: u64, requests: Option<u64>, force: bool) -> Result<Converted, WorkloadError> {
        self.check_is_fixed()?;
        let mut file = TraceFile::create(path, force)?;
        let mut source = self.source(seed, &ANY_DRIVE, requests)?;
        let mut batch = Vec::with_capacity(BATCH);
        let mut recorded = Vec::with_capacity(BATCH);
        while source.fill(&mut batch, BATCH)? > 0 {
            recorded.extend(batch.drain(..).map(|arrival| (arrival.at, Recorded::Command(arrival.command))));
            file.append(&recorded)?;
            recorded.clear();
        }
        let notes: Vec<String> = self.notes.iter().cloned().chain(source.notes().into_iter().map(|note| note.text)).collect();
        let depth = if let Pacing::Closed { depth } = self.pacing { Some(depth) } else { None };
        file.finish(&self.name, depth, notes)
    }

    /// Whether its requests can be written down without a drive.
    pub(crate) fn is_fixed(&self) -> bool {
        self.check_is_fixed().is_ok()
    }

    /// Requests that depend on the drive can't be written down without one.
    fn check_is_fixed(&self) -> Result<(), WorkloadError> {
        // A trace in closed loop stays so by its sidecar file.
        let message = if self.pacing == Pacing::Bursts {
            "its bursts wait for the completion of those before, which the times of a trace can't say; write a trace without `burst_gap_s`, \
             and give that when it is played"
        } else if self.waits_for_drive() && self.input != InputKind::Real {
            "it is made by rule and waits for the drive, as in closed loop, so that its requests have no times; only traces and open-loop workloads can be written as a trace, and \
             `tinytail compare` plays the others"
        } else if self.end_sector().is_none() {
            "its addresses depend on the drive; give `range_bytes` to write it as a trace"
        } else if self.is_fitted_to_drive() {
            "`fit` without `region_bytes` fits requests to a drive, and a trace is written without one; give the region"
        } else {
            return Ok(());
        };
        Err(WorkloadError::DoesNotFit { name: self.name.clone(), message: message.into() })
    }
}
