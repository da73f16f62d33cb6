//! Reads files that people write, which are small, and texts that a program has in place of such files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest file of a device, a design or a workload.
const BYTES_MAX: u64 = 16 << 20;

fn texts() -> MutexGuard<'static, BTreeMap<PathBuf, String>> {
    static TEXTS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a text stand in the place of a file of configuration, from now on, or in that of the text that stood there.
pub fn set_text(path: &Path, text: String) {
    texts().insert(path.into(), text);
}

/// Whether there is a file of configuration, or a text that stands in its place.
pub fn is_there(path: &Path) -> bool {
    texts().contains_key(path) || path.is_file()
}

/// The text of a file of configuration.
///
/// # Errors
/// What keeps it from being read: a folder, a file that is too long or has no end, bytes that are no text.
pub fn read_text(path: &Path) -> io::Result<String> {
    if let Some(text) = texts().get(path) {
        return Ok(text.clone());
    }
    let refuse = |what: String| Err(io::Error::new(ErrorKind::InvalidData, what));
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return refuse("this is a folder; expected a file".into());
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return refuse(format!("it is longer than {} MiB, and no file of configuration is", BYTES_MAX >> 20));
    }
    String::from_utf8(bytes).or_else(|error| {
        let end = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..end].iter().filter(|&&byte| byte == b'\n').count() + 1;
        refuse(format!("line {line} is not UTF-8 text; expected TOML, or a job file of fio"))
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
        assert_eq!(reason(folder.path()), "this is a folder; expected a file");
        assert_eq!(reason(Path::new("/dev/zero")), "it is longer than 16 MiB, and no file of configuration is");
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
        assert!(reason(&file).contains("longer"));
    }
}
