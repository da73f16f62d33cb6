//! A log of every request, in Parquet.
//!
//! The thread that simulates appends requests to a batch and hands full batches to a thread that writes. A bounded number of
//! batches is under way; where the disk is slower than the simulation, the simulation waits. The file appears under its name
//! when it is complete, and not at all if it cannot be completed.

pub(crate) mod file;
pub(crate) mod table;
mod zeroes;

use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;
use table::Table;
use thiserror::Error;
use tinytail_core::observe::{Completion, RequestAttribution};
use tinytail_core::units::Ns;

/// Requests of a batch: a batch stays in the processor's second-level cache.
const BATCH: usize = 2048;
/// Full batches that may wait for the writer, some 5 MB: more than the simulation makes while a row group is encoded, so that
/// both work at the same time.
const WAITING: usize = 24;

/// Why a log could not be written.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("cannot write the log to {path}: {why}")]
pub struct LogError {
    /// The file, as given.
    pub path: String,
    /// What went wrong.
    pub why: String,
}

/// What became of the log of every request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Log")]
pub struct LogNote {
    /// The file, as given.
    pub path: String,
    /// Requests in it; 0 if it was not written.
    pub requests: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Why there is no file; `None` if there is one.
    pub error: Option<String>,
}

/// Requests on their way to the file. Of the parts of the attribution only those that are not zero.
#[derive(Debug, Default)]
struct Batch {
    completions: Vec<Completion>,
    /// One bit for each part of a request that is not zero.
    masks: Vec<u64>,
    /// Their nanoseconds, in the order of the bits.
    parts: Vec<Ns>,
}

impl Batch {
    fn with_room() -> Self {
        Self { completions: Vec::with_capacity(BATCH), masks: Vec::with_capacity(BATCH), parts: Vec::with_capacity(8 * BATCH) }
    }

    fn clear(&mut self) {
        self.completions.clear();
        self.masks.clear();
        self.parts.clear();
    }
}

/// A log under way. Dropped without `finish`, it leaves no file.
#[derive(Debug)]
pub struct Log {
    path: String,
    batch: Batch,
    first_id: u64,
    start_ns: Ns,
    /// `None` once the writer is to end.
    full: Option<SyncSender<Batch>>,
    empty: Receiver<Batch>,
    writer: Option<JoinHandle<Result<Table, String>>>,
}

impl Log {
    /// Starts a log in a file.
    ///
    /// # Errors
    /// A file that cannot be written there.
    pub fn create(path: &str) -> Result<Self, LogError> {
        let refuse = |why| LogError { path: path.into(), why };
        Self::of(path, Table::create(Path::new(path)).map_err(refuse)?).map_err(|error| refuse(file::reason(&error)))
    }

    /// A log that is written to a table.
    fn of(path: &str, table: Table) -> io::Result<Self> {
        let (full, to_write) = sync_channel(WAITING);
        let (written, empty) = channel();
        let writer = std::thread::Builder::new().name("log".into()).spawn(move || write_all(table, &to_write, &written))?;
        Ok(Self { path: path.into(), batch: Batch::with_room(), first_id: 0, start_ns: 0, full: Some(full), empty, writer: Some(writer) })
    }

    /// Says where the log begins: numbers of requests and times are counted from these, which are 0 in it.
    pub fn count_from(&mut self, first_id: u64, start_ns: Ns) {
        (self.first_id, self.start_ns) = (first_id, start_ns);
    }

    /// Appends a request.
    #[inline]
    pub fn append(&mut self, completion: &Completion, attribution: RequestAttribution<'_>) {
        let mut mask = 0;
        for (part, ns) in attribution.sum().parts() {
            mask |= 1 << part;
            self.batch.parts.push(ns);
        }
        self.batch.completions.push(Completion {
            id: completion.id - self.first_id,
            asked: completion.asked - self.start_ns,
            arrived: completion.arrived - self.start_ns,
            completed: completion.completed - self.start_ns,
            gc_wait_since: completion.gc_wait_since.saturating_sub(self.start_ns),
            ..*completion
        });
        self.batch.masks.push(mask);
        if self.batch.completions.len() == BATCH {
            self.hand_over();
        }
    }

    /// Gives the batch to the writer. If the writer has failed, which `finish` tells, the requests are dropped.
    #[inline(never)]
    fn hand_over(&mut self) {
        let next = match self.empty.try_recv() {
            Ok(batch) => batch,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Batch::with_room(),
        };
        let batch = std::mem::replace(&mut self.batch, next);
        if let Some(full) = &self.full
            && full.send(batch).is_err()
        {
            self.full = None;
        }
    }

    /// Ends the log: writes what is left and `about`, pairs of key and value, and gives the file its name.
    pub fn finish(mut self, about: Vec<(String, String)>) -> LogNote {
        self.hand_over();
        let path = std::mem::take(&mut self.path);
        let written = self.join().and_then(|table| table.finish(about));
        match written {
            Ok((requests, bytes)) => LogNote { path, requests, bytes, error: None },
            Err(why) => {
                let error = LogError { path: path.clone(), why }.to_string();
                LogNote { path, requests: 0, bytes: 0, error: Some(error) }
            }
        }
    }

    fn join(&mut self) -> Result<Table, String> {
        self.full = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(_)) | None => Err("the thread that writes it broke off".into()),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // The writer removes its unfinished file before the program can end.
        drop(self.join());
    }
}

/// The thread that writes. It ends when the other side hangs up or at the first error.
fn write_all(mut table: Table, full: &Receiver<Batch>, empty: &std::sync::mpsc::Sender<Batch>) -> Result<Table, String> {
    for mut batch in full {
        table.append(&batch)?;
        batch.clear();
        // Nobody needs it where the other side has gone.
        let _ = empty.send(batch);
    }
    Ok(table)
}

#[cfg(test)]
mod tests;
