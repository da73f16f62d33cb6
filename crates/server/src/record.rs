//! Writes the arriving I/O as a trace, in a thread of its own.

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use tinytail_core::units::Ns;
use tinytail_workload::{Converted, Recorded, TraceFile, WorkloadError};

/// Requests that are handed over at a time.
const BATCH: usize = 4096;

/// A recording that goes on.
pub struct Recorder {
    batch: Vec<(Ns, Recorded)>,
    batches: Sender<Vec<(Ns, Recorded)>>,
    thread: JoinHandle<Result<TraceFile, WorkloadError>>,
}

impl Recorder {
    /// Opens the trace, which is not there under its name before the end. One that is there is replaced only by `force`.
    ///
    /// # Errors
    /// A trace that can't be written there.
    pub fn start(path: &Path, force: bool) -> Result<Self, WorkloadError> {
        let mut file = TraceFile::create(path, force)?;
        let (batches, received) = channel::<Vec<(Ns, Recorded)>>();
        let thread = std::thread::spawn(move || {
            for batch in received {
                file.append(&batch)?;
            }
            Ok(file)
        });
        Ok(Self { batch: Vec::with_capacity(BATCH), batches, thread })
    }

    /// A request that arrived at `at`, since the first one.
    pub fn push(&mut self, at: Ns, what: Recorded) {
        self.batch.push((at, what));
        if self.batch.len() == BATCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        // The thread is gone if it could not write; the end will tell.
        let _ = self.batches.send(batch);
    }

    /// Gives the trace its name, with a sidecar file that says where it is from.
    ///
    /// # Errors
    /// What kept the trace from being written, or that there was no request.
    pub fn finish(mut self, from: &str, notes: Vec<String>) -> Result<Converted, WorkloadError> {
        self.hand_over();
        drop(self.batches);
        self.thread.join().expect("a thread that does not panic")?.finish(from, None, notes)
    }
}
