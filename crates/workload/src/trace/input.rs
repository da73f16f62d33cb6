//! A trace file as a stream of lines or of binary records, whatever it is packed in.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::{Position, WorkloadError};
use crate::reading::{STANDARD_INPUT, STANDARD_INPUT_SAID, TraceContent};
use crate::text;
use crate::trace::container::{Content, Unfit, read_whole};

/// Some editors put it at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A line longer than this is no line of a trace; without the limit a binary file would be read into memory.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Of fewer lines, one is the shortest by chance.
const ENDED_MIN: u64 = 8;

/// A line of a trace file.
pub(crate) enum Line<'a> {
    /// Text, without surrounding white space. Tabs stay, which may stand for empty fields.
    Text(&'a str),
    /// What is no text, by what was found in it.
    Bytes(String),
}

/// Reads a trace file line by line, or record by record, holding one at a time.
pub(crate) struct Input {
    content: TraceContent,
    reader: BufReader<Content>,
    buffer: Vec<u8>,
    position: Position,
    byte_order_mark: bool,
    nul_bytes: u64,
    /// How many lines have an end, and how long the shortest of them is.
    ended: u64,
    shortest: usize,
    /// The last line, if it has no end.
    unended: Option<(String, Position)>,
}

impl Input {
    pub(crate) fn open(content: &TraceContent) -> Result<Self, WorkloadError> {
        let fault = |error: io::Error| content.own_error(&error).unwrap_or_else(|| WorkloadError::io(&content.path, &error));
        Ok(Self {
            content: content.clone(),
            reader: BufReader::with_capacity(1 << 16, Content::open(content).map_err(fault)?),
            buffer: Vec::new(),
            position: Position::Line(0),
            byte_order_mark: false,
            nul_bytes: 0,
            ended: 0,
            shortest: usize::MAX,
            unended: None,
        })
    }

    pub(crate) fn content(&self) -> &Content {
        self.reader.get_ref()
    }

    /// What is missing of the file after reading it to its end.
    pub(crate) fn doubts(&self) -> Vec<String> {
        // Numbers that are cut off are numbers.
        let is_short = self.unended.as_ref().is_some_and(|(line, _)| self.ended >= ENDED_MIN && line.len() < self.shortest);
        let short = self.unended.as_ref().filter(|_| is_short).map(|(line, at)| {
            format!(
                "its last line, {at} ({}), has no end and is shorter than every other, as if the file were cut off within it; its last value may be \
                 another",
                text::quoted(line)
            )
        });
        self.content().cut().into_iter().chain(short).collect()
    }

    /// What is to be known about the file after reading it to its end.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = self.content().notes();
        if self.byte_order_mark {
            notes.push("a byte-order mark at the beginning is skipped".into());
        }
        if self.nul_bytes > 0 {
            notes.push(format!("{} NUL bytes after the last line are skipped", text::grouped(self.nul_bytes)));
        }
        notes
    }

    /// The file's name, with that of the file in the archive if it is one.
    pub(crate) fn path(&self) -> String {
        let path = self.content.path.display();
        self.content().member().map_or_else(|| path.to_string(), |member| format!("{path} ({member})"))
    }

    /// Reads the first bytes; the input can't be used afterwards.
    pub(crate) fn into_head(mut self, bytes: usize) -> Result<Vec<u8>, WorkloadError> {
        let mut head = vec![0; bytes];
        let read = read_whole(&mut self.reader, &mut head).map_err(|error| self.read_error(&error))?;
        head.truncate(read);
        Ok(head)
    }

    /// The line that was read last, as far as it is text, without surrounding white space.
    pub(crate) fn last_line(&self) -> &str {
        let valid = match std::str::from_utf8(&self.buffer) {
            Ok(line) => line,
            Err(error) => std::str::from_utf8(&self.buffer[..error.valid_up_to()]).unwrap_or_default(),
        };
        valid.trim()
    }

    /// The next line that is not blank, and its position.
    ///
    /// # Errors
    /// A file that can't be read, or whose first line is no text.
    #[inline]
    pub(crate) fn next_line(&mut self) -> Result<Option<(Position, Line<'_>)>, WorkloadError> {
        loop {
            self.buffer.clear();
            let read = (&mut self.reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.buffer);
            if let Err(error) = read {
                return Err(self.read_error(&error));
            }
            if self.buffer.is_empty() {
                return Ok(None);
            }
            self.position = Position::Line(self.position.number() + 1);
            if self.position == Position::Line(1) && self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.byte_order_mark = true;
                self.buffer.drain(..BYTE_ORDER_MARK.len());
            }
            if self.buffer.contains(&0) {
                let Some(found) = self.nul_bytes()? else { return Ok(None) };
                return Ok(Some((self.position, Line::Bytes(found))));
            }
            if self.buffer.len() as u64 == LINE_BYTES_MAX && self.buffer.last() != Some(&b'\n') {
                return Err(self.binary(format!("a line longer than {LINE_BYTES_MAX} bytes")));
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        if self.buffer.last() == Some(&b'\n') {
            self.ended += 1;
            self.shortest = self.shortest.min(self.buffer.trim_ascii().len());
        } else {
            self.unended = Some((self.last_line().to_owned(), self.position));
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(line) => Ok(Some((self.position, Line::Text(line.trim_matches(|letter: char| letter != '\t' && letter.is_whitespace()))))),
            Err(error) => {
                let at = error.valid_up_to();
                let found = format!("the byte 0x{:02x} at byte {} of the line", self.buffer[at], at + 1);
                if self.position == Position::Line(1) { Err(self.binary(found)) } else { Ok(Some((self.position, Line::Bytes(found)))) }
            }
        }
    }

    /// What is to be said of a line with NUL bytes. Files that were extended and never filled, and archives, end in such, which is
    /// no fault.
    #[cold]
    fn nul_bytes(&mut self) -> Result<Option<String>, WorkloadError> {
        if self.position == Position::Line(1) {
            return Err(self.binary("a NUL byte".into()));
        }
        if self.buffer.iter().any(|byte| *byte != 0) {
            return Ok(Some("a NUL byte".into()));
        }
        let mut count = self.buffer.len() as u64;
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) => return Err(self.read_error(&error)),
            };
            if bytes.is_empty() {
                self.nul_bytes = count;
                return Ok(None);
            }
            let length = bytes.iter().take_while(|byte| **byte == 0).count();
            if length < bytes.len() {
                self.reader.consume(length);
                return Ok(Some(format!("{} NUL bytes", text::grouped(count + length as u64))));
            }
            count += length as u64;
            self.reader.consume(length);
        }
    }

    /// The next record of a binary trace and its position.
    pub(crate) fn next_record(&mut self, bytes: usize) -> Result<Option<(Position, &[u8])>, WorkloadError> {
        let number = match self.position {
            Position::Record(number) => number,
            Position::Line(_) => 0,
        };
        self.buffer.resize(bytes, 0);
        let read = match read_whole(&mut self.reader, &mut self.buffer) {
            Ok(read) => read,
            Err(error) => {
                self.position = Position::Record(number);
                return Err(self.read_error(&error));
            }
        };
        if read == 0 {
            return Ok(None);
        }
        self.position = Position::Record(number + 1);
        if read < bytes {
            return Err(WorkloadError::CutRecord { path: self.path(), record: number + 1, found: read, expected: bytes });
        }
        Ok(Some((self.position, &self.buffer)))
    }

    fn binary(&self, found: String) -> WorkloadError {
        WorkloadError::Binary { path: self.path(), line: self.position.number(), found }
    }

    /// What was found wrong, or that the file has changed, which goes before.
    pub(crate) fn unless_changed(&self, error: WorkloadError) -> WorkloadError {
        match error {
            WorkloadError::Interrupted => error,
            _ => self.content.check_unchanged().err().unwrap_or(error),
        }
    }

    fn read_error(&self, error: &io::Error) -> WorkloadError {
        if let Some(own) = self.content.own_error(error) {
            return own;
        }
        let compression = self.content().compression();
        let fault_of_archive = error.get_ref().is_some_and(|inner| inner.is::<Unfit>());
        if compression == super::Compression::None || fault_of_archive {
            return WorkloadError::Io { path: self.path(), reason: error.to_string() };
        }
        WorkloadError::Truncated { path: self.path(), compression: compression.name(), after: self.position, reason: error.to_string() }
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
    if trace.extension().is_some_and(|extension| ["zst", "gz", "bz2", "xz"].iter().any(|known| extension == *known)) {
        paths.push(with_toml(&trace.with_extension("")));
    }
    paths
}

/// The sidecar file of a trace, if it has one. What comes from standard input has none.
pub(crate) fn sidecar(trace: &Path) -> Option<PathBuf> {
    let paths = if trace == Path::new(STANDARD_INPUT) { Vec::new() } else { sidecar_paths(trace) };
    paths.into_iter().find(|sidecar| sidecar.is_file())
}

/// The part of a message that asks to state something in a sidecar file, if the trace can have one.
pub(crate) fn in_sidecar(trace: &Path, what: &str) -> String {
    let name = sidecar_paths(trace)[0].file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if trace == Path::new(STANDARD_INPUT_SAID) { String::new() } else { format!(", or `{what}` in {name} beside the trace") }
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
