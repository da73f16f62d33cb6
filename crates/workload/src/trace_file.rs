//! Traces as they are written: five columns in ns and sectors, and a sidecar file that says so.
//!
//! The lines are those of MQSim, which other simulators of the family read as well. Neither file is ever there in part: both
//! are written under other names and renamed.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use serde::Serialize;
use tempfile::NamedTempFile;
use tinytail_core::commands::Command;
use tinytail_core::units::Ns;

use crate::error::WorkloadError;
use crate::trace::Compression;
use crate::trace::input::sidecar_paths;
use crate::trace::units::{AddressUnit, OpCodes, TimeUnit};
use crate::workload::is_workload_file;

/// The format that is written.
const FORMAT: &str = "ascii";

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "ConvertedTrace")]
pub struct Converted {
    /// The trace.
    pub path: String,
    /// The sidecar file beside it.
    pub sidecar: String,
    /// How the trace is compressed.
    pub compression: Compression,
    /// Number of requests.
    pub requests: u64,
    /// How the input was read, and what was done to its requests.
    pub notes: Vec<String>,
}

/// What a host asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// A command for the drive.
    Command(Command),
    /// That what was written before be safe.
    Flush,
}

/// A trace that is being written.
pub struct TraceFile {
    path: PathBuf,
    sidecar: PathBuf,
    force: bool,
    file: NamedTempFile,
    out: Out,
    compression: Compression,
    ops: OpCodes,
    requests: u64,
    flushes: u64,
    text: Vec<u8>,
}

enum Out {
    Plain(BufWriter<File>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
    Gzip(GzEncoder<BufWriter<File>>),
    Bzip2(BzEncoder<BufWriter<File>>),
    Xz(Box<XzWriter<BufWriter<File>>>),
}

/// As `xz` compresses by itself.
const XZ_PRESET: u32 = 6;

impl Out {
    fn new(file: File, compression: Compression) -> io::Result<Self> {
        let out = BufWriter::with_capacity(1 << 16, file);
        Ok(match compression {
            Compression::None => Self::Plain(out),
            Compression::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(out, 0)?),
            Compression::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Compression::Bzip2 => Self::Bzip2(BzEncoder::new(out, bzip2::Compression::best())),
            Compression::Xz => Self::Xz(Box::new(XzWriter::new(out, XzOptions::with_preset(XZ_PRESET))?)),
        })
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(text),
            Self::Zstd(out) => out.write_all(text),
            Self::Gzip(out) => out.write_all(text),
            Self::Bzip2(out) => out.write_all(text),
            Self::Xz(out) => out.write_all(text),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut out) => out.flush(),
            Self::Zstd(out) => out.finish()?.flush(),
            Self::Gzip(out) => out.finish()?.flush(),
            Self::Bzip2(out) => out.finish()?.flush(),
            Self::Xz(out) => out.finish()?.flush(),
        }
    }
}

/// How a file of this name is to be compressed.
fn compression_of(path: &Path) -> Compression {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("zst") => Compression::Zstd,
        Some("gz") => Compression::Gzip,
        Some("bz2") => Compression::Bzip2,
        Some("xz") => Compression::Xz,
        _ => Compression::None,
    }
}

impl TraceFile {
    /// Begins a trace, compressed as its name says that ends in `.zst`, `.gz`, `.bz2` or `.xz`. Files that are there are replaced only
    /// by `force`, and not before the end.
    ///
    /// # Errors
    /// A name that can't be written to.
    pub fn create(path: &Path, force: bool) -> Result<Self, WorkloadError> {
        if is_workload_file(path) {
            let extension = path.extension().unwrap_or_default().display();
            let message = format!("a name that ends in .{extension} is a workload file's; expected the name of the trace to be written");
            return Err(WorkloadError::Option { path: path.display().to_string(), message });
        }
        check_target(path, force)?;
        let sidecar = sidecar_paths(path).swap_remove(0);
        check_target(&sidecar, force)?;
        let file = temporary(path)?;
        let compression = compression_of(path);
        let out = file.as_file().try_clone().and_then(|file| Out::new(file, compression));
        let out = out.map_err(|error| output_error(path, &error))?;
        Ok(Self {
            path: path.into(),
            sidecar,
            force,
            file,
            out,
            compression,
            ops: OpCodes::with_trim_and_flush(),
            requests: 0,
            flushes: 0,
            text: Vec::new(),
        })
    }

    /// Writes requests, each with its time in nanoseconds since the first one.
    ///
    /// # Errors
    /// What keeps them from being written.
    pub fn append(&mut self, requests: &[(Ns, Recorded)]) -> Result<(), WorkloadError> {
        self.text.clear();
        for &(at, request) in requests {
            let (sector, sectors, code) = match request {
                Recorded::Command(command) => (command.sector, command.sectors, self.ops.code_of(command.kind)),
                Recorded::Flush => (0, 0, self.ops.flush_code()),
            };
            let code = code.expect("these codes have a word for everything");
            writeln!(self.text, "{at} 0 {sector} {sectors} {code}").expect("memory takes everything");
            let flush = request == Recorded::Flush;
            self.requests += u64::from(!flush);
            self.flushes += u64::from(flush);
        }
        self.out.write(&self.text).map_err(|error| output_error(&self.path, &error))
    }

    /// Gives the trace its name, with a sidecar file that says where it is `from`, whether it is to be played in closed loop, and
    /// what else is to be known.
    ///
    /// # Errors
    /// What keeps the files from being written, or that there was no request.
    pub fn finish(self, from: &str, closed_depth: Option<u32>, notes: Vec<String>) -> Result<Converted, WorkloadError> {
        let text = self.sidecar_text(from, closed_depth, &notes);
        let Self { path, sidecar, force, file, out, compression, requests, .. } = self;
        out.finish().map_err(|error| output_error(&path, &error))?;
        if requests == 0 {
            return Err(WorkloadError::DoesNotFit { name: from.into(), message: "it has no request to be written".into() });
        }
        let mut sidecar_file = temporary(&sidecar)?;
        sidecar_file.write_all(text.as_bytes()).map_err(|error| output_error(&sidecar, &error))?;
        // The old sidecar file must never stand beside the new trace, nor the new one beside the old trace.
        if force && sidecar.exists() {
            std::fs::remove_file(&sidecar).map_err(|error| output_error(&sidecar, &error))?;
        }
        put(file, &path, force)?;
        if let Err(error) = put(sidecar_file, &sidecar, force) {
            // It was made above, and without its sidecar file it can't be read.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        Ok(Converted { path: path.display().to_string(), sidecar: sidecar.display().to_string(), compression, requests, notes })
    }

    /// What the format leaves open, and where the requests come from.
    fn sidecar_text(&self, from: &str, closed_depth: Option<u32>, notes: &[String]) -> String {
        let one_line = |text: &str| text.replace(|letter: char| letter.is_control(), " ");
        let mut text = format!("# Written by tinytail {} from {}\n", env!("CARGO_PKG_VERSION"), one_line(from));
        for note in notes {
            text += &format!("# {}\n", one_line(note));
        }
        // A word that no line has would only raise questions.
        let ops = if self.flushes > 0 { self.ops.clone() } else { OpCodes::with_trim() };
        text += &format!(
            "format = \"{FORMAT}\"\ntime_unit = \"{}\"\nunit = \"{}\"\nops = \"{ops}\"\n",
            TimeUnit::Nanoseconds,
            AddressUnit::Sectors
        );
        if let Some(depth) = closed_depth {
            text += &format!("queue_depth = {depth}\n");
        }
        text
    }
}

/// Finds, before anything is written, what is in the way.
fn check_target(path: &Path, force: bool) -> Result<(), WorkloadError> {
    let refuse = |reason: &str| Err(WorkloadError::Option { path: path.display().to_string(), message: reason.into() });
    if path.file_name().is_none() {
        return refuse("this names no file; expected the name of the trace to be written");
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(WorkloadError::Output { path: path.display().to_string(), reason: format!("there is no folder {}", folder.display()) });
    }
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => refuse("this is no regular file; expected the name of a trace to be written"),
        Ok(_) if !force => refuse("this file is there already; --force replaces it"),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(output_error(path, &error)),
    }
}

fn output_error(path: &Path, error: &io::Error) -> WorkloadError {
    WorkloadError::Output { path: path.display().to_string(), reason: error.to_string() }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// A file beside the one that it will become.
fn temporary(path: &Path) -> Result<NamedTempFile, WorkloadError> {
    tempfile::Builder::new()
        .prefix(".tinytail-")
        .suffix(".tmp")
        // The process's mask takes away what others may not do.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(path))
        .map_err(|error| output_error(path, &error))
}

/// Gives a temporary file its name. Without `force`, a file that has come to be there meanwhile is left alone.
fn put(file: NamedTempFile, path: &Path, force: bool) -> Result<(), WorkloadError> {
    file.as_file().sync_all().map_err(|error| output_error(path, &error))?;
    // What a link points to is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    let put = if force { file.persist(target) } else { file.persist_noclobber(target) };
    put.map(drop).map_err(|error| output_error(path, &error.error))
}
