//! Reads files that people write, which are small.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The longest file of a device, a design or a workload.
const BYTES_MAX: u64 = 16 << 20;

/// The text of a file of configuration.
///
/// # Errors
/// What keeps it from being read: a folder, a file that is too long or has no end, bytes that are no text.
pub fn read_text(path: &Path) -> io::Result<String> {
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
        File::create(&file).unwrap().set_len(BYTES_MAX).unwrap();
        assert_eq!(read_text(&file).unwrap().len() as u64, BYTES_MAX);
        File::create(&file).unwrap().set_len(BYTES_MAX + 1).unwrap();
        assert!(reason(&file).contains("longer"));
    }
}
