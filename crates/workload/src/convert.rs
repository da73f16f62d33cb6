//! Writing a workload's requests as a trace: five columns in ns and sectors, and a sidecar file that says so.
//!
//! The lines are those of MQSim, which other simulators of the family read as well. Neither file is ever there in part: both
//! are written under other names and renamed.

use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::NamedTempFile;

use crate::error::WorkloadError;
use crate::source::{Source, SourceContext};
use crate::streams::Pacing;
use crate::trace::Compression;
use crate::trace::input::sidecar_paths;
use crate::trace::units::{AddressUnit, OpCodes, TimeUnit};
use crate::workload::{InputKind, Workload, is_workload_file};

/// The format that is written.
const FORMAT: &str = "ascii";

/// Requests that are taken from a source at a time.
const BATCH: usize = 4096;

/// A drive that is large enough for every trace.
const ANY_DRIVE: SourceContext = SourceContext { logical_sectors: u64::MAX, mapped_sectors: 0 };

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

/// How a file of this name is to be compressed.
fn compression_of(path: &Path) -> Compression {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("zst") => Compression::Zstd,
        Some("gz") => Compression::Gzip,
        _ => Compression::None,
    }
}

impl Workload {
    /// Writes the requests to a trace that is read back as they are, at most `requests` of them. The trace is compressed with
    /// zstd or gzip if its name ends in `.zst` or `.gz`. Files that are there are replaced only by `force`.
    ///
    /// # Errors
    /// A workload whose requests depend on the drive, a name that can't be written to, or whatever keeps the workload from
    /// being played.
    pub fn convert(&self, path: &Path, seed: u64, requests: Option<u64>, force: bool) -> Result<Converted, WorkloadError> {
        self.check_is_fixed()?;
        if is_workload_file(path) {
            let extension = path.extension().unwrap_or_default().display();
            let message = format!("a name that ends in .{extension} is a workload file's; expected the name of the trace to be written");
            return Err(WorkloadError::Option { path: path.display().to_string(), message });
        }
        let sidecar = sidecar_paths(path).swap_remove(0);
        check_target(path, force)?;
        check_target(&sidecar, force)?;
        let mut source = self.source(seed, &ANY_DRIVE, requests)?;
        let compression = compression_of(path);
        let (trace_file, written) = write_trace(path, compression, source.as_mut())?;
        if written == 0 {
            return Err(WorkloadError::DoesNotFit { name: self.name.clone(), message: "it has no request to be written".into() });
        }
        let notes: Vec<String> = self.notes.iter().cloned().chain(source.notes()).collect();
        let mut sidecar_file = temporary(&sidecar)?;
        sidecar_file.write_all(self.sidecar(&notes).as_bytes()).map_err(|error| output_error(&sidecar, &error))?;
        // The old sidecar file must never stand beside the new trace, nor the new one beside the old trace.
        if force && sidecar.exists() {
            std::fs::remove_file(&sidecar).map_err(|error| output_error(&sidecar, &error))?;
        }
        put(trace_file, path, force)?;
        if let Err(error) = put(sidecar_file, &sidecar, force) {
            // It was made above, and without its sidecar file it can't be read.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(Converted { path: path.display().to_string(), sidecar: sidecar.display().to_string(), compression, requests: written, notes })
    }

    /// Requests that depend on the drive can't be written down without one.
    fn check_is_fixed(&self) -> Result<(), WorkloadError> {
        // A trace in closed loop stays so by its sidecar file.
        let message = if self.pacing == Pacing::Bursts {
            "its bursts wait for the completion of those before, which the times of a trace can't say; write a trace without `burst_gap_s`, \
             and give that when it is played"
        } else if self.waits_for_drive() && self.input != InputKind::Real {
            "it is made by rule and waits for the drive, as in closed loop, so that its requests have no times; only traces and open-loop workloads can be written as a trace"
        } else if self.end_sector().is_none() {
            "its addresses depend on the drive; give `range_bytes` to write it as a trace"
        } else if self.is_fitted_to_drive() {
            "`fit` without `region_bytes` fits requests to a drive, and a trace is written without one; give the region"
        } else {
            return Ok(());
        };
        Err(WorkloadError::DoesNotFit { name: self.name.clone(), message: message.into() })
    }

    /// What the format leaves open, and where the requests come from.
    fn sidecar(&self, notes: &[String]) -> String {
        let one_line = |text: &str| text.replace(|letter: char| letter.is_control(), " ");
        let mut text = format!("# Written by tinytail {} from {}\n", env!("CARGO_PKG_VERSION"), one_line(&self.name));
        for note in notes {
            text += &format!("# {}\n", one_line(note));
        }
        text += &format!(
            "format = \"{}\"\ntime_unit = \"{}\"\nunit = \"{}\"\nops = \"{}\"\n",
            FORMAT,
            TimeUnit::Nanoseconds,
            AddressUnit::Sectors,
            OpCodes::with_trim()
        );
        if let Pacing::Closed { depth } = self.pacing {
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

fn write_trace(path: &Path, compression: Compression, source: &mut dyn Source) -> Result<(NamedTempFile, u64), WorkloadError> {
    let failed = |error: io::Error| output_error(path, &error);
    let mut file = temporary(path)?;
    let out = BufWriter::with_capacity(1 << 16, file.as_file_mut());
    let written = match compression {
        Compression::None => {
            let mut out = out;
            let written = write_lines(path, &mut out, source)?;
            out.flush().map_err(failed)?;
            written
        }
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(out, 0).map_err(failed)?;
            let written = write_lines(path, &mut encoder, source)?;
            encoder.finish().and_then(|mut out| out.flush()).map_err(failed)?;
            written
        }
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            let written = write_lines(path, &mut encoder, source)?;
            encoder.finish().and_then(|mut out| out.flush()).map_err(failed)?;
            written
        }
    };
    Ok((file, written))
}

fn write_lines(path: &Path, out: &mut dyn Write, source: &mut dyn Source) -> Result<u64, WorkloadError> {
    let ops = OpCodes::with_trim();
    let mut text = Vec::new();
    let mut batch = Vec::with_capacity(BATCH);
    let mut written = 0;
    while source.fill(&mut batch, BATCH)? > 0 {
        for arrival in &batch {
            let command = arrival.command;
            let op = ops.code(command.kind).expect("these codes have a word for each kind");
            writeln!(text, "{} 0 {} {} {op}", arrival.at, command.sector, command.sectors).map_err(|error| output_error(path, &error))?;
        }
        out.write_all(&text).map_err(|error| output_error(path, &error))?;
        written += batch.len() as u64;
        batch.clear();
        text.clear();
    }
    Ok(written)
}
