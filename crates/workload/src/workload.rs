//! A workload by name or by file, ready to be played as often as needed.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde::Serialize;
use tinytail_core::units::SECTOR_BYTES;

use crate::characteristics::{Characteristics, CharacteristicsSummary};
use crate::error::WorkloadError;
use crate::file::{Row, Table, Text, WorkloadFile};
use crate::source::{Source, SourceContext};
use crate::synthetic::profile::Profile;
use crate::synthetic::{Arrivals, Synthetic};
use crate::text;
use crate::trace::{Origin, Trace, TraceOptions};

/// The environment variable that names the folder with the traces of named workloads.
pub const TRACES_VARIABLE: &str = "TINYTAIL_TRACES";

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// Where a workload's requests come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// Recorded on a real system.
    Real,
    /// Made by rule.
    Synthetic,
    /// Made to be like a recorded workload.
    StandIn,
}

/// When the next request is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At its own time, whatever the drive does.
    Open,
    /// When another completes, so that this many are always outstanding.
    Closed {
        /// Number of outstanding requests, at least 1.
        depth: u32,
    },
}

/// A workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name, or the name of its file.
    pub name: String,
    /// What it is, in one sentence.
    pub summary: String,
    /// Where its requests come from.
    pub input: InputKind,
    /// When its requests are issued.
    pub pacing: Pacing,
    /// What exactly was opened or will be made, in one line.
    pub detail: String,
    /// What is to be known with every result: format, units, defaults that were taken.
    pub notes: Vec<String>,
    requests: Requests,
}

#[derive(Clone, Debug)]
enum Requests {
    Trace(Trace),
    Synthetic(Synthetic),
    Profile(Profile),
}

/// A workload's name and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// Name.
    pub name: String,
    /// What it is, in one sentence.
    pub summary: String,
}

/// A workload's values and their sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Description {
    /// Name, or file name.
    pub name: String,
    /// What it is, in one sentence.
    pub summary: String,
    /// The values, in the order of the file.
    pub rows: Vec<Row>,
}

/// The named workloads, by name.
#[must_use]
pub fn list() -> Vec<Listing> {
    let mut listings: Vec<Listing> =
        embedded().filter_map(|(name, text)| Some(Listing { name: name.into(), summary: text.workload().ok()?.0 })).collect();
    listings.sort_by(|a, b| a.name.cmp(&b.name));
    listings
}

/// The values of a named workload or of a workload file, without opening a trace.
///
/// # Errors
/// An unknown name, or a faulty file.
pub fn describe(name_or_path: &str) -> Result<Description, WorkloadError> {
    let describe = |text: Text<'_>| {
        let (summary, _) = text.workload()?;
        Ok(Description { name: name_or_path.into(), summary, rows: text.rows() })
    };
    if let Some(text) = embedded_named(name_or_path) {
        return describe(text);
    }
    let path = Path::new(name_or_path);
    if !path.is_file() {
        return Err(unknown(name_or_path));
    }
    let content = std::fs::read_to_string(path).map_err(|error| WorkloadError::io(path, &error))?;
    describe(Text { path: name_or_path, text: &content })
}

/// Checks a workload file without opening its trace.
///
/// # Errors
/// Names the line and what is wrong there.
pub fn check_file(path: &Path) -> Result<(), WorkloadError> {
    let content = std::fs::read_to_string(path).map_err(|error| WorkloadError::io(path, &error))?;
    Text { path: &path.display().to_string(), text: &content }.workload().map(|_| ())
}

/// The JSON Schema of workload files.
#[must_use]
pub fn workload_schema() -> serde_json::Value {
    schemars::schema_for!(WorkloadFile).to_value()
}

fn embedded() -> impl Iterator<Item = (&'static str, Text<'static>)> {
    EMBEDDED.files().filter_map(|file| {
        let name = file.path().file_stem()?.to_str()?;
        let path = file.path().to_str()?;
        (file.path().extension()? == "toml").then_some((name, Text { path, text: file.contents_utf8()? }))
    })
}

fn embedded_named(name: &str) -> Option<Text<'static>> {
    embedded().find(|(found, _)| *found == name).map(|(_, text)| text)
}

fn unknown(name: &str) -> WorkloadError {
    let nearest = text::nearest(name, embedded().map(|(name, _)| name));
    WorkloadError::UnknownWorkload {
        name: name.into(),
        nearest: nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?")),
    }
}

impl Workload {
    /// Finds a workload: a named one, a workload file (`*.toml`), or a trace file. The traces of named workloads are looked
    /// for in the folder that the environment variable `TINYTAIL_TRACES` names.
    ///
    /// # Errors
    /// An unknown name, a faulty workload file, or whatever keeps a trace from being opened.
    pub fn resolve(name_or_path: &str, options: &TraceOptions) -> Result<Self, WorkloadError> {
        let traces = std::env::var_os(TRACES_VARIABLE).map(PathBuf::from);
        Self::resolve_in(name_or_path, options, traces.as_deref())
    }

    /// As [`Workload::resolve`], with the folder of the traces given.
    ///
    /// # Errors
    /// As [`Workload::resolve`].
    pub fn resolve_in(name_or_path: &str, options: &TraceOptions, traces: Option<&Path>) -> Result<Self, WorkloadError> {
        if let Some(text) = embedded_named(name_or_path) {
            return Self::from_file(name_or_path, text, None, options, traces);
        }
        let path = Path::new(name_or_path);
        if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() {
            let content = std::fs::read_to_string(path).map_err(|error| WorkloadError::io(path, &error))?;
            let name = path.file_stem().map_or_else(|| name_or_path.into(), |stem| stem.to_string_lossy());
            let text = Text { path: name_or_path, text: &content };
            return Self::from_file(&name, text, path.parent(), options, traces);
        }
        if !path.exists() {
            return Err(unknown(name_or_path));
        }
        let trace = Trace::open(path, options)?;
        let name = path.file_name().map_or_else(|| name_or_path.into(), |name| name.to_string_lossy().into_owned());
        let summary = format!("the trace {name}");
        Self::from_trace(name, summary, trace)
    }

    fn from_trace(name: String, summary: String, trace: Trace) -> Result<Self, WorkloadError> {
        trace.check_playable()?;
        let (times, span) = match trace.settings().time_unit {
            Some(unit) => (format!(", times in {unit}"), format!(" in {}", text::duration(u128::from(trace.duration_ns())))),
            None => (String::new(), String::new()),
        };
        let (pacing, paced) = match trace.queue_depth() {
            Some(depth) => (Pacing::Closed { depth }, format!(", in closed loop at queue depth {depth}")),
            None => (Pacing::Open, String::new()),
        };
        let requests = text::grouped(trace.requests());
        Ok(Self {
            name,
            summary,
            input: InputKind::Real,
            pacing,
            detail: format!("{}, format {}{times}: {requests} requests{span}{paced}", trace.path().display(), trace.format()),
            notes: trace.notes().to_vec(),
            requests: Requests::Trace(trace),
        })
    }

    fn from_file(
        name: &str,
        text: Text<'_>,
        folder: Option<&Path>,
        options: &TraceOptions,
        traces: Option<&Path>,
    ) -> Result<Self, WorkloadError> {
        let (summary, table) = text.workload()?;
        if !matches!(table, Table::Trace { .. }) && *options != TraceOptions::default() {
            return Err(WorkloadError::Option {
                path: text.path.into(),
                message: "format, time unit, operation codes, address unit, device, event, order and queue depth apply to traces, \
                          and this workload is none"
                    .into(),
            });
        }
        let name = name.to_owned();
        Ok(match table {
            Table::Trace { file, options: stated } => {
                let path = find_trace(&name, &file, folder, traces)?;
                let origins = vec![
                    Origin { said: "given as an option".into(), options: options.clone() },
                    Origin { said: format!("from the workload {name}"), options: stated },
                ];
                Self::from_trace(name, summary, Trace::open_with(&path, origins)?)?
            }
            Table::Profile { stands_in_for, profile } => Self {
                name,
                summary,
                input: InputKind::StandIn,
                pacing: Pacing::Open,
                detail: format!("calibrated stand-in for {stands_in_for}: about {} requests", text::grouped(profile.requests_expected())),
                notes: vec![format!("not the recorded requests of {stands_in_for}, but requests made to be like them")],
                requests: Requests::Profile(profile),
            },
            Table::Synthetic(synthetic) => Self {
                name,
                summary,
                input: InputKind::Synthetic,
                pacing: match synthetic.arrivals {
                    Arrivals::Closed { depth } => Pacing::Closed { depth },
                    Arrivals::Open { .. } => Pacing::Open,
                },
                detail: synthetic.detail(),
                notes: Vec::new(),
                requests: Requests::Synthetic(synthetic),
            },
        })
    }

    /// Starts the stream of requests from its beginning, cut off after `requests` of them; without it, a synthetic workload
    /// has its own number, and others end by themselves. The same seed gives the same stream; a trace has no use for it.
    ///
    /// # Errors
    /// A workload that does not fit the drive, or a trace that can't be read any more.
    pub fn source(&self, seed: u64, context: &SourceContext, requests: Option<u64>) -> Result<Box<dyn Source>, WorkloadError> {
        Ok(match &self.requests {
            Requests::Trace(trace) => Box::new(trace.source(context.logical_sectors, requests)?),
            Requests::Profile(profile) => {
                self.check_fits(context.logical_sectors)?;
                Box::new(profile.source(seed, requests))
            }
            Requests::Synthetic(synthetic) => {
                self.check_fits(context.logical_sectors)?;
                synthetic.source(&self.name, seed, context.mapped_sectors, requests)?
            }
        })
    }

    /// How many requests there will be: exactly for traces and closed loop, about for a stand-in.
    #[must_use]
    pub fn request_count_hint(&self) -> Option<u64> {
        match &self.requests {
            Requests::Trace(trace) => Some(trace.requests()),
            Requests::Profile(profile) => Some(profile.requests_expected()),
            Requests::Synthetic(synthetic) => Some(synthetic.requests),
        }
    }

    /// The first sector beyond every request, or none if the workload adapts to the drive.
    #[must_use]
    pub fn end_sector(&self) -> Option<u64> {
        match &self.requests {
            Requests::Trace(trace) => Some(trace.end_sector()),
            Requests::Profile(profile) => Some(profile.end_sector()),
            Requests::Synthetic(synthetic) => synthetic.range_sectors,
        }
    }

    /// Checks that a drive of this many sectors holds every request.
    ///
    /// # Errors
    /// Names the first line of a trace that is beyond the drive, or the size that a workload needs.
    pub fn check_fits(&self, logical_sectors: u64) -> Result<(), WorkloadError> {
        if let Requests::Trace(trace) = &self.requests {
            return trace.check_fits(logical_sectors);
        }
        match self.end_sector() {
            Some(end_sector) if end_sector > logical_sectors => {
                let gib = |sectors: u64| sectors as f64 * f64::from(SECTOR_BYTES) / f64::from(1 << 30);
                Err(WorkloadError::DoesNotFit {
                    name: self.name.clone(),
                    message: format!(
                        "its addresses go up to {:.2} GiB, and the drive has {:.2} GiB",
                        gib(end_sector),
                        gib(logical_sectors)
                    ),
                })
            }
            _ => Ok(()),
        }
    }

    /// The trace, if the workload is one.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        match &self.requests {
            Requests::Trace(trace) => Some(trace),
            _ => None,
        }
    }

    /// Runs through the stream of requests and measures it.
    ///
    /// # Errors
    /// As [`Workload::source`] and [`Source::fill`].
    pub fn characteristics(
        &self,
        seed: u64,
        context: &SourceContext,
        requests: Option<u64>,
    ) -> Result<CharacteristicsSummary, WorkloadError> {
        const BATCH: usize = 256;
        let mut source = self.source(seed, context, requests)?;
        let mut characteristics = Characteristics::default();
        let mut batch = Vec::with_capacity(BATCH);
        while source.fill(&mut batch, BATCH)? > 0 {
            batch.iter().for_each(|arrival| characteristics.add(arrival));
            batch.clear();
        }
        Ok(characteristics.summary())
    }
}

/// Looks for the trace of a workload beside the workload's file and in the folder of traces.
fn find_trace(name: &str, file: &str, folder: Option<&Path>, traces: Option<&Path>) -> Result<PathBuf, WorkloadError> {
    let candidates: Vec<PathBuf> = [folder, traces].into_iter().flatten().map(|folder| folder.join(file)).collect();
    if let Some(found) = candidates.iter().find(|path| path.is_file()) {
        return Ok(found.clone());
    }
    let reason = match traces {
        None => format!(
            "set the environment variable {TRACES_VARIABLE} to the folder that holds it, for example \
             `{TRACES_VARIABLE}=../shared/traces`"
        ),
        Some(traces) => {
            format!("the folder {}, which the environment variable {TRACES_VARIABLE} names, has no such file", traces.display())
        }
    };
    Err(WorkloadError::MissingTrace { name: name.into(), file: file.into(), reason })
}
