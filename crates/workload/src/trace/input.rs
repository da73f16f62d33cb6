//! A trace file as a stream of lines, whatever it is compressed with.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::WorkloadError;

/// Some editors put it at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A line longer than this is no line of a trace; without the limit a binary file would be read into memory.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// How a file is compressed, found from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    None,
    /// Zstandard.
    Zstd,
    /// Gzip.
    Gzip,
}

impl Compression {
    /// How it is written: `none`, `zstd` or `gzip`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }
}

/// Reads a trace file line by line, holding one line at a time.
pub(crate) struct Lines {
    path: PathBuf,
    compression: Compression,
    reader: Box<dyn BufRead + Send>,
    buffer: Vec<u8>,
    number: u64,
    byte_order_mark: bool,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, WorkloadError> {
        let io_error = |error: io::Error| WorkloadError::io(path, &error);
        let file = File::open(path).map_err(io_error)?;
        if file.metadata().map_err(io_error)?.is_dir() {
            return Err(WorkloadError::Io { path: path.display().to_string(), reason: "this is a folder; expected a trace file".into() });
        }
        let mut file = BufReader::with_capacity(1 << 16, file);
        let head = file.fill_buf().map_err(io_error)?;
        if head.is_empty() {
            return Err(WorkloadError::Empty { path: path.display().to_string() });
        }
        let compression = if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Compression::Zstd
        } else if head.starts_with(&[0x1f, 0x8b]) {
            Compression::Gzip
        } else {
            Compression::None
        };
        let reader: Box<dyn BufRead + Send> = match compression {
            Compression::None => Box::new(file),
            Compression::Zstd => {
                Box::new(BufReader::with_capacity(1 << 16, zstd::stream::read::Decoder::with_buffer(file).map_err(io_error)?))
            }
            Compression::Gzip => Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::MultiGzDecoder::new(file))),
        };
        Ok(Self { path: path.to_owned(), compression, reader, buffer: Vec::new(), number: 0, byte_order_mark: false })
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// Whether the first line began with a byte-order mark, which is skipped.
    pub(crate) fn byte_order_mark(&self) -> bool {
        self.byte_order_mark
    }

    pub(crate) fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// The next line that is not blank, without surrounding white space, and its number from 1.
    pub(crate) fn next_line(&mut self) -> Result<Option<(u64, &str)>, WorkloadError> {
        loop {
            self.buffer.clear();
            let read = (&mut self.reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.buffer);
            if let Err(error) = read {
                return Err(self.read_error(&error));
            }
            if self.buffer.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            if self.number == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.byte_order_mark = true;
                self.buffer.drain(..BYTE_ORDER_MARK.len());
            }
            if self.buffer.len() as u64 == LINE_BYTES_MAX && self.buffer.last() != Some(&b'\n') {
                return Err(self.binary(format!("a line longer than {LINE_BYTES_MAX} bytes")));
            }
            if self.buffer.contains(&0) {
                return Err(self.binary("a NUL byte".into()));
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(line) => Ok(Some((self.number, line.trim()))),
            Err(error) => {
                let at = error.valid_up_to();
                Err(self.binary(format!("the byte 0x{:02x} at byte {} of the line", self.buffer[at], at + 1)))
            }
        }
    }

    fn binary(&self, found: String) -> WorkloadError {
        WorkloadError::Binary { path: self.path(), line: self.number, found }
    }

    fn read_error(&self, error: &io::Error) -> WorkloadError {
        if self.compression == Compression::None {
            return WorkloadError::io(&self.path, error);
        }
        WorkloadError::Truncated { path: self.path(), compression: self.compression.name(), line: self.number, reason: error.to_string() }
    }
}

/// The names under which a sidecar file of a trace is looked for, in this order.
pub(crate) fn sidecar_paths(trace: &Path) -> Vec<PathBuf> {
    let with_toml = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".toml");
        PathBuf::from(name)
    };
    let mut paths = vec![with_toml(trace)];
    if trace.extension().is_some_and(|extension| extension == "zst" || extension == "gz") {
        paths.push(with_toml(&trace.with_extension("")));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecars_of_compressed_traces_may_leave_out_the_ending() {
        let names =
            |trace: &str| -> Vec<String> { sidecar_paths(Path::new(trace)).iter().map(|path| path.display().to_string()).collect() };
        assert_eq!(names("a/b.trace"), ["a/b.trace.toml"]);
        assert_eq!(names("a/b.trace.zst"), ["a/b.trace.zst.toml", "a/b.trace.toml"]);
    }
}
