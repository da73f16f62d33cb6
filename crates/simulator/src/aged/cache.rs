//! The cache of aged drives: a folder whose files are named by what decides their contents.
//!
//! Several processes may use it at once. A file is written under another name, locked as long as its writer lives, and then
//! renamed; it is not changed after that, so that a reader who has opened it keeps it whatever becomes of its name. Files
//! that nobody has used for longest make room. What a crash leaves is a file without a lock, which the next writer removes.

use crate::aged::entry::{Entry, Header, write};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tinytail_core::drive::Drive;
use tinytail_core::observe::Observer;
use tinytail_workload::open_file;

const SUFFIX: &str = "aged";
const UNFINISHED: &str = ".unfinished-";
/// A writer has locked its file after so long.
const LOCKED_AFTER: Duration = Duration::from_secs(60);

/// The name of the file of a state.
pub fn name(key: &str) -> String {
    format!("{key}.{SUFFIX}")
}

/// A folder of aged drives, and how much may lie there.
#[derive(Debug, Clone)]
pub struct Cache {
    /// The folder, which is made when something is stored; whoever makes it says so.
    pub folder: PathBuf,
    /// The most bytes that its files may have together.
    pub limit_bytes: u64,
}

/// What was found under a name.
#[derive(Debug)]
pub enum Found {
    /// An undamaged entry.
    Whole(Arc<Entry>),
    /// A damaged one, which has been removed.
    Damaged,
    /// None.
    Nothing,
}

/// A file of the cache.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Its name.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// When it was used last, in seconds since 1970.
    pub used_unix_s: u64,
    /// What it says of itself; nothing if it is damaged.
    #[serde(flatten)]
    pub header: Option<Header>,
}

impl Cache {
    /// Looks for an entry and notes its use. One that can't be read is taken for none.
    pub fn find(&self, key: &str) -> Found {
        let path = self.path(key);
        let Ok(file) = open(&path) else { return Found::Nothing };
        match file.try_clone().and_then(|file| Entry::open(file, true)) {
            Ok(Some(entry)) => {
                // The time of the last change is that of the last use; a folder that is not ours keeps the old one.
                let _ = file.set_modified(SystemTime::now());
                Found::Whole(Arc::new(entry))
            }
            Ok(None) => {
                let _ = fs::remove_file(&path);
                Found::Damaged
            }
            Err(_) => Found::Nothing,
        }
    }

    /// Stores an aged drive of about `bytes_about` bytes and returns it as an entry; `None` if it is larger than the cache.
    ///
    /// # Errors
    /// What keeps it from being stored. Nothing of it is left then.
    pub fn store<O: Observer>(&self, key: &str, drive: &Drive<O>, header: &Header, bytes_about: u64) -> io::Result<Option<Entry>> {
        if bytes_about > self.limit_bytes {
            return Ok(None);
        }
        fs::create_dir_all(&self.folder)?;
        self.sweep();
        self.make_room(bytes_about);
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        flock(file.as_file(), FlockOperation::NonBlockingLockExclusive)?;
        write(drive, header, BufWriter::with_capacity(1 << 20, file.as_file_mut()))?;
        let file = file.persist(self.path(key)).map_err(|error| error.error)?;
        // Other processes may have stored something meanwhile.
        self.make_room(0);
        Entry::open(file, false)
    }

    /// Its files, those used last first.
    pub fn list(&self) -> Vec<Listed> {
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut files = self.files();
        files.reverse();
        let listed = files.into_iter().map(|(used, bytes, path)| Listed {
            file: path.file_name().unwrap_or_default().to_string_lossy().into(),
            bytes,
            used_unix_s: seconds(used),
            header: open(&path).and_then(|file| Entry::open(file, false)).ok().flatten().map(|entry| entry.header),
        });
        listed.collect()
    }

    /// Removes all files. Returns how many there were, and their bytes.
    ///
    /// # Errors
    /// A file that can't be removed.
    pub fn clear(&self) -> io::Result<(u64, u64)> {
        self.sweep();
        let mut cleared = (0, 0);
        for (_, bytes, path) in self.files() {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => cleared = (cleared.0 + 1, cleared.1 + bytes),
            }
        }
        Ok(cleared)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(name(key))
    }

    /// When each file was used last, its bytes and its path, from the one used longest ago on.
    fn files(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        let mut files: Vec<_> = self
            .paths()
            .filter(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX))
            .filter_map(|path| {
                let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
                Some((metadata.modified().unwrap_or(UNIX_EPOCH), metadata.len(), path))
            })
            .collect();
        files.sort();
        files
    }

    fn paths(&self) -> impl Iterator<Item = PathBuf> + use<> {
        fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|file| file.path())
    }

    /// Removes what was used longest ago until so many bytes fit besides.
    fn make_room(&self, bytes: u64) {
        let files = self.files();
        let mut all = bytes + files.iter().map(|(_, bytes, _)| bytes).sum::<u64>();
        for (_, bytes, path) in files {
            if all <= self.limit_bytes {
                break;
            }
            if fs::remove_file(&path).is_ok() {
                all -= bytes;
            }
        }
    }

    /// Removes what writers have left that are no more.
    fn sweep(&self) {
        let unfinished = self.paths().filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED)));
        for path in unfinished {
            if is_abandoned(&path) {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    open_file(path, "an aged drive")
}

fn is_abandoned(path: &Path) -> bool {
    let Ok(file) = open(path) else { return false };
    let changed = file.metadata().and_then(|metadata| metadata.modified());
    let is_old = changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age >= LOCKED_AFTER));
    is_old && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
}
