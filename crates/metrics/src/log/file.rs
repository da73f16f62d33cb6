//! A file that is whole or not there at all.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};

/// Files made by this process so far: part of their temporary names.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A file under a temporary name beside its own, which it gets when it is complete. Dropped before, it is removed.
#[derive(Debug)]
pub(crate) struct Unfinished {
    temporary: PathBuf,
    target: PathBuf,
    file: File,
    finished: bool,
}

impl Unfinished {
    /// Makes the file under its temporary name, and hands out a handle to write with.
    pub(crate) fn create(path: &Path) -> io::Result<(Self, File)> {
        let wrong = |why: &str| Err(io::Error::other(why.to_string()));
        // What a link points to is replaced, not the link.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let Some(name) = target.file_name().filter(|_| !path.as_os_str().is_empty()) else { return wrong("that is no name of a file") };
        match target.metadata() {
            Ok(there) if there.is_dir() => return wrong("it is a directory"),
            Ok(there) if !there.is_file() => return wrong("it is not a regular file"),
            Ok(there) if there.permissions().readonly() => return wrong("the file is read-only"),
            _ => {}
        }
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.exists() {
            return wrong(&format!("there is no directory {}", folder.display()));
        }
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!(".{}.{}-{number}.tmp", name.to_string_lossy(), std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        // What a killed process leaves has nobody's lock. Some file systems have none; what is left there stays.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let unfinished = Self { temporary, target, file, finished: false };
        let handle = unfinished.file.try_clone()?;
        Ok((unfinished, handle))
    }

    /// Gives the file its name, in place of a file that had it before, once the disk has all of it.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.temporary, &self.target)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            // It may be gone already; there is nobody to tell.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// What went wrong, in the system's words without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let message = error.to_string();
    message.split(" (os error").next().unwrap_or(&message).to_string()
}
