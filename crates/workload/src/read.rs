//! Opens files that are read, reads those that people write, which are small, and texts that a program has in place of such files.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::OFlags;

/// The longest file of a device, a design or a workload. The longest of those that are built in has 8 KiB.
const BYTES_MAX: u64 = 256 << 10;

/// Opens a file that is read, without ever waiting: a pipe may have no writer, and some devices have no end.
///
/// # Errors
/// There is no such file, or it is no regular one; `expected` is what the message says that it should be.
pub fn open_file(path: &Path, expected: &str) -> io::Result<File> {
    // Opening a device may do something to it.
    check_regular(&fs::metadata(path)?, expected)?;
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    // Something else may have the name by now.
    check_regular(&file.metadata()?, expected)?;
    Ok(file)
}

fn check_regular(metadata: &Metadata, expected: &str) -> io::Result<()> {
    let kind = metadata.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe, which can be read only once",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("this is {what}; expected {expected}")))
}

/// The content of a file of at most `bytes_max`.
///
/// # Errors
/// As for `open_file`; what keeps it from being read, and a longer one.
pub fn read_file(path: &Path, expected: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path, expected)?.take(bytes_max + 1).read_to_end(&mut bytes).map_err(read_error)?;
    if bytes.len() as u64 > bytes_max {
        let message = format!("it is longer than {} KiB, the most that such a file may have", bytes_max >> 10);
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    Ok(bytes)
}

/// Why a file could not be read, in words for its user.
pub fn read_error(error: io::Error) -> io::Error {
    if error.kind() != ErrorKind::WouldBlock {
        return error;
    }
    // Some files of the kernel, such as /proc/kmsg, are regular ones by their kind.
    io::Error::new(ErrorKind::InvalidData, "it has no end: the system adds to it while it is read; expected a file that is complete")
}

fn texts() -> MutexGuard<'static, BTreeMap<PathBuf, String>> {
    static TEXTS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a text stand in the place of a file of configuration, from now on, or in that of the text that stood there.
pub fn set_text(path: &Path, text: String) {
    texts().insert(path.into(), text);
}

/// Whether there is something of this name, or a text that stands in its place.
pub fn is_there(path: &Path) -> bool {
    texts().contains_key(path) || path.exists()
}

/// The text of a file of configuration.
///
/// # Errors
/// What keeps it from being read: what is no regular file, is too long or has no end, bytes that are no text.
pub fn read_text(path: &Path) -> io::Result<String> {
    if let Some(text) = texts().get(path) {
        return Ok(text.clone());
    }
    let bytes = read_file(path, "a file", BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|error| {
        let end = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..end].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let message = format!("line {line} is not UTF-8 text; expected TOML, or a job file of fio");
        io::Error::new(ErrorKind::InvalidData, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(path: &Path) -> String {
        read_text(path).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_short_text_is_refused_after_no_more_than_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.toml");
        std::fs::write(&file, b"a = 1\nb = \xff\n").unwrap();
        assert_eq!(reason(&file), "line 2 is not UTF-8 text; expected TOML, or a job file of fio");
        set_text(&file, "a = 2".into());
        assert_eq!(read_text(&file).unwrap(), "a = 2", "a text stands in the place of a file");
        let file = folder.path().join("g.toml");
        assert!(!is_there(&file));
        File::create(&file).unwrap().set_len(BYTES_MAX).unwrap();
        assert!(is_there(&file));
        assert_eq!(read_text(&file).unwrap().len() as u64, BYTES_MAX);
        File::create(&file).unwrap().set_len(BYTES_MAX + 1).unwrap();
        assert_eq!(reason(&file), "it is longer than 256 KiB, the most that such a file may have");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting_for_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(reason(folder.path()), "this is a folder; expected a file");
        assert_eq!(reason(Path::new("/dev/zero")), "this is a device; expected a file");
        let pipe = folder.path().join("pipe.toml");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert!(is_there(&pipe));
        assert_eq!(reason(&pipe), "this is a pipe, which can be read only once; expected a file");
        let socket = folder.path().join("socket.toml");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(open_file(&socket, "an image").unwrap_err().to_string(), "this is a socket; expected an image");
        let waits = read_error(io::Error::from(ErrorKind::WouldBlock)).to_string();
        assert!(waits.starts_with("it has no end"), "{waits}");
    }
}
