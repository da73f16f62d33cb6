//! A stream of requests.

use tinytail_core::host::Arrival;

use crate::error::WorkloadError;

/// Requests, in the order in which the host issues them. Arrivals come in batches, so that the cost of a call is spread and
/// the caller can look ahead.
pub trait Source: Send {
    /// Appends up to `limit` arrivals and returns how many; 0 for a `limit` above 0 is the end.
    ///
    /// # Errors
    /// A faulty line of a trace, a request beyond the drive, or an arrival later than can be simulated.
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError>;

    /// What is to be known of the requests given so far, such as how many did not fit the drive as they were.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a workload must know of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceContext {
    /// Logical size of the drive, in sectors of 512 bytes.
    pub logical_sectors: u64,
    /// The part `[0, mapped_sectors)` of it that holds data, in sectors of 512 bytes. Synthetic workloads go there.
    pub mapped_sectors: u64,
}
