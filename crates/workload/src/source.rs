//! A stream of requests.

use tinytail_core::commands::Command;
use tinytail_core::units::Ns;

use crate::error::WorkloadError;

/// A command, the time at which the host issues it, and by which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the host issues it. Ignored in closed loop, where a command is issued when another completes.
    pub at: Ns,
    /// The command.
    pub command: Command,
    /// What of the host issues it, such as a thread; modulo the number of queues it is the device queue.
    pub queue: u32,
    /// How long it took when it was recorded, if that is known. It changes nothing.
    pub latency_ns: Option<Ns>,
}

/// Requests, in the order in which the host issues them. Arrivals come in batches, so that the cost of a call is spread and
/// the caller can look ahead.
pub trait Source: Send {
    /// Appends up to `limit` arrivals and returns how many; 0 for a `limit` above 0 is the end.
    ///
    /// # Errors
    /// A faulty line of a trace, a request beyond the drive, or an arrival later than can be simulated.
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError>;

    /// What is to be known of the requests given so far, such as how many did not fit the drive as they were.
    fn notes(&self) -> Vec<Note> {
        Vec::new()
    }
}

/// What is to be known of the requests that a stream has given.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// In words.
    pub text: String,
    /// What was changed to fit requests to the drive, where it says that and they are many.
    pub fitted: Option<Fitted>,
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self { text, fitted: None }
    }
}

/// Requests that were folded or clipped.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Which share of them, and what became of it, in words.
    pub message: String,
    /// Of the reads.
    pub reads: Reached,
    /// Of the writes.
    pub writes: Reached,
}

/// How many requests of a kind reached beyond the region that they were fitted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// How many there are in all.
    pub requests: u64,
    /// Those that did.
    pub beyond: u64,
}

impl Reached {
    /// Their share in percent, 0 of no requests.
    #[must_use]
    pub fn percent(self) -> f64 {
        if self.requests > 0 { 100.0 * self.beyond as f64 / self.requests as f64 } else { 0.0 }
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
