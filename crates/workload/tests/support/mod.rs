//! What the tests of traces have in common.

// Each test uses a part of it.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::ProptestConfig;
use tinytail_core::commands::{Command, CommandKind};
use tinytail_workload::{Arrival, SourceContext, TimeUnit, TraceOptions, Workload, WorkloadError};

/// A folder of its own for one test, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinytail-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// So many cases of a property that opens files, unless PROPTEST_CASES says otherwise.
pub fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(usual))
}

pub const DRIVE: SourceContext = SourceContext { logical_sectors: 1 << 30, mapped_sectors: 1 << 30 };

pub fn options(time_unit: Option<TimeUnit>) -> TraceOptions {
    TraceOptions { time_unit, ..TraceOptions::default() }
}

pub fn microseconds() -> TraceOptions {
    options(Some(TimeUnit::Microseconds))
}

/// `--columns`, with `--ops` behind it if it has codes.
pub fn by(written: &str) -> TraceOptions {
    let (columns, ops) = written.split_once(" --ops ").map_or((written, None), |(columns, ops)| (columns, Some(ops)));
    TraceOptions { columns: Some(columns.parse().unwrap()), ops: ops.map(|ops| ops.parse().unwrap()), ..options(None) }
}

/// What a message proposes first, copied up to the next blank.
pub fn proposed(message: &str) -> Option<String> {
    let word = |text: &str| text.split(char::is_whitespace).next().map(str::to_owned);
    let (columns, rest) = message
        .match_indices("--columns ")
        .map(|(at, option)| &message[at + option.len()..])
        .find_map(|rest| word(rest).filter(|columns| columns.contains(',')).map(|columns| (columns, rest)))?;
    let ops = rest[columns.len()..].strip_prefix(" --ops ").and_then(word);
    Some(ops.map_or(columns.clone(), |ops| format!("{columns} --ops {ops}")))
}

pub fn play(path: &Path, options: &TraceOptions) -> Result<Vec<Arrival>, WorkloadError> {
    play_on(path, options, DRIVE)
}

pub fn play_on(path: &Path, options: &TraceOptions, drive: SourceContext) -> Result<Vec<Arrival>, WorkloadError> {
    let workload = Workload::resolve(path.to_str().unwrap(), options)?;
    let mut arrivals = Vec::new();
    let mut source = workload.source(0, &drive, None)?;
    while source.fill(&mut arrivals, 32)? > 0 {}
    Ok(arrivals)
}

pub fn read(at: u64, sector: u64, sectors: u32) -> Arrival {
    Arrival { at, command: Command { kind: CommandKind::Read, sector, sectors, critical: false }, queue: 0, latency_ns: None }
}

pub fn write(at: u64, sector: u64, sectors: u32) -> Arrival {
    Arrival { at, command: Command { kind: CommandKind::Write, sector, sectors, critical: false }, queue: 0, latency_ns: None }
}

/// The same request, that took so long when it was recorded.
pub fn took(latency_ns: u64, arrival: Arrival) -> Arrival {
    Arrival { latency_ns: Some(latency_ns), ..arrival }
}

/// The message with the folder's path taken out.
pub fn message<T: std::fmt::Debug>(result: Result<T, WorkloadError>, folder: &Folder) -> String {
    result.unwrap_err().to_string().replace(&format!("{}/", folder.0.display()), "")
}

pub fn zstd(text: &str) -> Vec<u8> {
    zstd_bytes(text.as_bytes())
}

pub fn zstd_bytes(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 3).unwrap()
}

pub fn gzip(text: &str) -> Vec<u8> {
    gzip_bytes(text.as_bytes())
}

pub fn gzip_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn bzip2(text: &str) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(text: &str) -> Vec<u8> {
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(0)).unwrap();
    writer.write_all(text.as_bytes()).unwrap();
    writer.finish().unwrap()
}
