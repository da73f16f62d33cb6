//! Reading the file of a trace: who may watch and end it, and how a file is noticed that changes meanwhile.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::WorkloadError;
use crate::read::{open_file, read_error};
use crate::text;

/// The word by which standard input is named.
pub(crate) const STANDARD_INPUT: &str = "-";

/// What it is called in messages.
pub(crate) const STANDARD_INPUT_SAID: &str = "standard input";

/// How far a file has been read, and the switch that ends it. Shared between threads.
#[derive(Debug, Default)]
pub struct Watch {
    cancelled: AtomicBool,
    read_bytes: AtomicU64,
    file_bytes: AtomicU64,
}

impl Watch {
    /// Asks whoever reads to end soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether reading was asked to end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Bytes of the file that have been read, in the pass over it that began last.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that the file has; 0 before a file is read.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes.load(Ordering::Relaxed)
    }

    /// Nothing is being read.
    pub fn clear(&self) {
        self.begin(0);
    }

    fn begin(&self, bytes: u64) {
        self.read_bytes.store(0, Ordering::Relaxed);
        self.file_bytes.store(bytes, Ordering::Relaxed);
    }
}

/// How the file of a trace is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The file that holds what was read from a pipe, if the name of the trace is that of a pipe or of standard input.
    pub spooled: Option<PathBuf>,
    /// Who watches.
    pub watch: Arc<Watch>,
    /// What files were when they were first opened, by this or by others that must read the same.
    pub seen: Arc<Seen>,
}

/// What files were when they were first opened. Shared by all that must read the same of them.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashMap<PathBuf, Identity>>);

impl Seen {
    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, Identity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a file was when it was first opened, which is now if it has not been before.
    fn first(&self, path: &Path, now: Identity) -> Identity {
        *self.files().entry(path.into()).or_insert(now)
    }

    fn of(&self, path: &Path) -> Option<Identity> {
        self.files().get(path).copied()
    }
}

/// What is the same of a file that has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_ns: i128,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified_ns: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        }
    }

    /// What is not the same any more, if anything.
    fn change(&self, now: &Self) -> Option<String> {
        if (self.device, self.inode) != (now.device, now.inode) {
            Some("another file has its name".into())
        } else if self.bytes != now.bytes {
            Some(format!("it had {} bytes and has {}", text::grouped(self.bytes), text::grouped(now.bytes)))
        } else if self.modified_ns != now.modified_ns {
            Some("it was written to".into())
        } else {
            None
        }
    }
}

/// The file of a trace, which is read several times and must stay the same meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct TraceContent {
    /// The path that is said.
    pub(crate) path: PathBuf,
    /// The one that is opened.
    opened: PathBuf,
    watch: Arc<Watch>,
    seen: Arc<Seen>,
}

impl TraceContent {
    pub(crate) fn new(name: &Path, reading: &Reading) -> Self {
        let said = if name == Path::new(STANDARD_INPUT) { Path::new(STANDARD_INPUT_SAID) } else { name };
        Self {
            path: said.into(),
            opened: reading.spooled.clone().unwrap_or_else(|| name.into()),
            watch: Arc::clone(&reading.watch),
            seen: Arc::clone(&reading.seen),
        }
    }

    /// Opens the file at its beginning, and makes sure that it is the one that was opened before.
    pub(crate) fn open(&self) -> io::Result<WatchedFile> {
        let file = open_file(&self.opened, "a trace file")?;
        let now = Identity::of(&file.metadata()?);
        let identity = self.seen.first(&self.opened, now);
        if let Some(change) = identity.change(&now) {
            return Err(io::Error::other(Changed(change)));
        }
        self.watch.begin(identity.bytes);
        Ok(WatchedFile { file, identity, watch: Arc::clone(&self.watch) })
    }

    /// Makes sure that the file is as it was when it was first opened.
    ///
    /// # Errors
    /// Says what has changed.
    pub(crate) fn check_unchanged(&self) -> Result<(), WorkloadError> {
        let Some(identity) = self.seen.of(&self.opened) else { return Ok(()) };
        let change = match std::fs::metadata(&self.opened) {
            Ok(now) => identity.change(&Identity::of(&now)),
            Err(error) => Some(error.to_string()),
        };
        change.map_or(Ok(()), |what| Err(WorkloadError::Changed { path: self.path.display().to_string(), what }))
    }

    /// Why reading failed, whatever was around the file: the file's own reason comes first.
    pub(crate) fn own_error(&self, error: &io::Error) -> Option<WorkloadError> {
        let inner = error.get_ref()?;
        if inner.is::<Stopped>() {
            return Some(WorkloadError::Interrupted);
        }
        let changed = inner.downcast_ref::<Changed>()?;
        Some(WorkloadError::Changed { path: self.path.display().to_string(), what: changed.0.clone() })
    }
}

/// A file that is being read under watch.
pub(crate) struct WatchedFile {
    file: File,
    identity: Identity,
    watch: Arc<Watch>,
}

impl Read for WatchedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.watch.is_cancelled() {
            return Err(io::Error::other(Stopped));
        }
        let read = self.file.read(buffer).map_err(read_error)?;
        self.watch.read_bytes.fetch_add(read as u64, Ordering::Relaxed);
        if read == 0
            && !buffer.is_empty()
            && let Some(change) = self.identity.change(&Identity::of(&self.file.metadata()?))
        {
            return Err(io::Error::other(Changed(change)));
        }
        Ok(read)
    }
}

/// The caller has ended the reading.
#[derive(Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Stopped {}

/// The file is not the one that was opened before.
#[derive(Debug)]
struct Changed(String);

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Changed {}
