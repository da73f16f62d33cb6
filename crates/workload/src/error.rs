//! What can be wrong with a workload, said to the person who can put it right.

use std::fmt;
use std::path::Path;

/// A fault of a workload, a workload file or a trace. The text is complete: it names the file, the place in it, what was
/// found and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// A file can't be opened or read.
    #[error("{path}: {reason}")]
    Io {
        /// The file.
        path: String,
        /// What the operating system or the decompressor said.
        reason: String,
    },
    /// A file can't be written.
    #[error("{path}: it can't be written: {reason}")]
    Output {
        /// The file.
        path: String,
        /// What the operating system said.
        reason: String,
    },
    /// The compressed stream of a trace ends before its end.
    #[error("{path}: the {compression} stream is truncated or damaged after {after} ({reason}); copy or download the file again")]
    Truncated {
        /// The file.
        path: String,
        /// How the file is compressed.
        compression: &'static str,
        /// The last whole line or record that could be read.
        after: Position,
        /// What the decompressor said.
        reason: String,
    },
    /// A trace that is not the same any more while it is being read or played.
    #[error(
        "{path}: it changed while it was read: {what}; what was read before and after does not belong together. \
         Copy it, or wait until nobody writes to it, and run again"
    )]
    Changed {
        /// The file.
        path: String,
        /// What has changed.
        what: String,
    },
    /// The caller has ended the reading.
    #[error("interrupted")]
    Interrupted,
    /// A trace without a single request.
    #[error("{path}: the file is empty; expected a trace with at least one request")]
    Empty {
        /// The file.
        path: String,
    },
    /// A trace that is not text.
    #[error(
        "{path}, line {line}: found {found}, expected text; \
         this is a binary file, or compressed by something other than zstd, gzip, bzip2 and xz (of binary traces, only VSCSI is known)"
    )]
    Binary {
        /// The file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// The bytes that are not text.
        found: String,
    },
    /// A line of a trace, not its first, that is not text.
    #[error("{path}, line {line}: found {found}, expected text{advice}")]
    NotText {
        /// The file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// The bytes that are not text.
        found: String,
        /// What can be done about it, as the end of the sentence, or nothing.
        advice: String,
    },
    /// A line, or a binary record, of a trace that is not what its format says.
    #[error("{path}, {at}, {place}: found {found}, expected {expected}")]
    Line {
        /// The file.
        path: String,
        /// The line or the record.
        at: Position,
        /// Column number and name.
        place: Column,
        /// What is there.
        found: String,
        /// What may be there.
        expected: String,
    },
    /// A trace of which several lines, or records, are not what its format says.
    #[error("{path}: {count} faulty:{kinds}\n{advice}")]
    Faulty {
        /// The file.
        path: String,
        /// How many of how many lines or records, and a verb.
        count: String,
        /// One line for each kind of fault: the first that has it, and how many do.
        kinds: String,
        /// What can be done about them, as a sentence.
        advice: String,
    },
    /// A file of another kind, which is well known.
    #[error("{path}: this is {what}; {remedy}")]
    Foreign {
        /// The file.
        path: String,
        /// What it is.
        what: &'static str,
        /// What can be done with it.
        remedy: String,
    },
    /// A well-known text whose lines are no requests to a drive.
    #[error("{path}, {line}: this is {what}: {why}")]
    WithoutRequests {
        /// The file.
        path: String,
        /// The line that tells it: which it is, and what stands there.
        line: String,
        /// What it is.
        what: &'static str,
        /// Why it cannot be played, and what can.
        why: &'static str,
    },
    /// A binary trace whose last record is not whole.
    #[error("{path}, record {record}: found {found} bytes, expected {expected}: the file is cut off")]
    CutRecord {
        /// The file.
        path: String,
        /// Record number, from 1.
        record: u64,
        /// Bytes that there are.
        found: usize,
        /// Bytes of a whole record.
        expected: usize,
    },
    /// A trace in which no line is a request that can be played.
    #[error("{path}: no line of it is a request that can be played; {reason}")]
    NoRequests {
        /// The file.
        path: String,
        /// What its lines are instead.
        reason: String,
    },
    /// A trace without times, asked to be played at them.
    #[error(
        "{path}: the format `{format}` has no times, so that its requests can't arrive at their own. \
         Play it in closed loop, with a number of requests that are always outstanding: --queue-depth N{sidecar}"
    )]
    NoTimes {
        /// The file.
        path: String,
        /// The format found.
        format: &'static str,
        /// Where else the depth can be stated, as part of the sentence, or nothing.
        sidecar: String,
    },
    /// No format describes the first lines of a trace.
    #[error(
        "{path}: no known trace format fits its {line}; {advice}\
         The known formats are {formats}; --format chooses one"
    )]
    UnknownFormat {
        /// The file.
        path: String,
        /// The first line that is no comment: which it is, and what stands there.
        line: String,
        /// How its columns could be said, as the end of the sentence, and for the formats that fit it best, what does not fit.
        advice: String,
        /// The names of all formats.
        formats: String,
    },
    /// A trace whose header line says otherwise than the format that its other lines have.
    #[error(
        "{path}: the header line contradicts the format `{format}`, which the other lines fit: {contradictions}.\n\
         {advice}\n\
         If the header line is wrong, --format {format} reads the other lines as they are"
    )]
    Header {
        /// The file.
        path: String,
        /// The format found.
        format: &'static str,
        /// What is said by each.
        contradictions: String,
        /// How its columns could be said, as a sentence.
        advice: String,
    },
    /// A trace whose times have no stated unit.
    #[error(
        "{path}: the unit of its times is not stated and the format `{format}` does not fix one. \
         Give it with --time-unit{sidecar}; \
         if its times mean nothing, play it in closed loop with --queue-depth N.\n\
         What each choice would make of its {requests}:{choices}"
    )]
    MissingTimeUnit {
        /// The file.
        path: String,
        /// The format found.
        format: &'static str,
        /// Where else the unit can be stated, as part of the sentence, or nothing.
        sidecar: String,
        /// Number of requests, as a phrase.
        requests: String,
        /// One line for each unit: the trace's duration and rate.
        choices: String,
    },
    /// A trace whose columns have been said, and not all of their units.
    #[error(
        "{path}: the unit of its {missing} is not stated. Give it with the column, as {example}.\n\
         What each choice would make of its {choices}"
    )]
    MissingUnits {
        /// The file.
        path: String,
        /// What has no unit.
        missing: String,
        /// The columns with units that they may have, as an option and where else they can be stated.
        example: String,
        /// Number of requests, and one line for each unit.
        choices: String,
    },
    /// An option that does not apply to the trace.
    #[error("{path}: {message}")]
    Option {
        /// The file.
        path: String,
        /// What is wrong with the option.
        message: String,
    },
    /// A request beyond the end of the drive.
    #[error("{path}, {at}: the request ends at byte {end_byte}, beyond the drive's {drive_bytes} bytes{hint}")]
    BeyondDrive {
        /// The file.
        path: String,
        /// The line or the record.
        at: Position,
        /// End of the request in bytes.
        end_byte: u64,
        /// Logical size of the drive in bytes.
        drive_bytes: u64,
        /// What can be done about it, or nothing.
        hint: String,
    },
    /// A workload that is made by rule and has no end, played without one.
    #[error(
        "workload `{name}`: how many requests it has is not said; give `requests` in its file, in {section}, or with the run, as \
         --requests"
    )]
    Endless {
        /// The workload.
        name: String,
        /// Where the key belongs.
        section: &'static str,
    },
    /// A workload that does not fit the drive.
    #[error("workload `{name}`: {message}")]
    DoesNotFit {
        /// The workload.
        name: String,
        /// What it needs and what there is.
        message: String,
    },
    /// Neither a workload's name nor a file.
    #[error("no workload and no file is called `{name}`{nearest}; `tinytail workloads` lists the workloads")]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// The nearest name, as part of the sentence, or nothing.
        nearest: String,
    },
    /// The trace of a named workload is not to be found.
    #[error("workload `{name}` needs the trace `{file}`: {reason}")]
    MissingTrace {
        /// The workload.
        name: String,
        /// The trace's file name.
        file: String,
        /// Where it was looked for.
        reason: String,
    },
    /// A faulty workload file, with all its faults.
    #[error(transparent)]
    Config(#[from] tinytail_config::ConfigError),
}

impl WorkloadError {
    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::Io { path: path.display().to_string(), reason: error.to_string() }
    }
}

/// A place in a trace, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// A line of a text.
    Line(u64),
    /// A record of a binary trace.
    Record(u64),
}

impl Position {
    /// The number of the line or of the record.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::Line(number) | Self::Record(number) => number,
        }
    }
}

impl Position {
    /// What so many of them are called.
    pub(crate) fn unit(self, count: u64) -> &'static str {
        match (self, count) {
            (Self::Line(_), 1) => "line",
            (Self::Line(_), _) => "lines",
            (Self::Record(_), 1) => "record",
            (Self::Record(_), _) => "records",
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Record(number) => write!(f, "record {number}"),
        }
    }
}

/// A column of a trace line, or a field of a binary record, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Number, from 1.
    pub number: usize,
    /// What the format calls it.
    pub name: &'static str,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {} ({})", self.number, self.name)
    }
}
