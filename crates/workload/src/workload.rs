//! A workload by name or by file, ready to be played as often as needed.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use schemars::JsonSchema;
use serde::Serialize;
use tinytail_config::{Given, Row, did_you_mean};
use tinytail_core::units::{Ns, SECTOR_BYTES};

use crate::characteristics::{CharacteristicsSummary, TraceInfo, measure};
use crate::claims::{self, CheckedClaim, Claim};
use crate::duration::{self, Room};
use crate::error::WorkloadError;
use crate::file::{CheckedFile, NO_RATES, Table, Text, TraceFile};
use crate::fio::{self, Preparation};
use crate::limit::Limited;
use crate::measured::Measured;
use crate::random::Random;
use crate::read::{is_there, read_text};
use crate::reading::{Reading, STANDARD_INPUT, STANDARD_INPUT_SAID};
use crate::source::{Source, SourceContext};
use crate::streams::{Pacing, Stream, Streams};
use crate::synthetic::profile::Profile;
use crate::synthetic::{Start, Synthetic};
use crate::text::{self, shell_word};
use crate::trace::{CoarseTimes, Origin, Trace, TraceOptions};
use crate::transform::{Base, Merged, Tenant, Transform, Transformed};

/// The environment variable that names the folder with the traces of named workloads.
pub const TRACES_VARIABLE: &str = "TINYTAIL_TRACES";

/// Tells the draws of what is played before the measured part from those of that.
const PREPARING_SALT: u64 = 0x6a09_e667_f3bc_c908;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// Where a workload's requests come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// Recorded on a real system.
    Real,
    /// Made by rule.
    Synthetic,
    /// Made to be like a recorded workload.
    StandIn,
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
    /// When its requests are issued. If threads in closed loop are among several, each has its own pacing, which
    /// [`Workload::streams`] gives; here they are in closed loop at the sum of their depths.
    pub pacing: Pacing,
    /// What exactly was opened or will be made, in one line.
    pub detail: String,
    /// What is to be known with every result: format, units, defaults that were taken.
    pub notes: Vec<String>,
    requests: Requests,
    /// What is played before the measured part.
    preparation: Preparation,
}

#[derive(Clone, Debug)]
enum Requests {
    Trace(Box<Trace>),
    Synthetic(Box<Synthetic>),
    Threads(Vec<(String, Synthetic)>),
    Profile { profile: Profile, claims: Vec<Claim> },
    Transformed { transformed: Box<Transformed>, claims: Vec<Claim> },
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
    let mut listings: Vec<Listing> = embedded()
        .filter_map(|(name, text)| Some(Listing { name: name.into(), summary: text.workload(&[], None).ok()?.summary }))
        .collect();
    listings.sort_by(|a, b| a.name.cmp(&b.name));
    listings
}

/// The values of a named workload or of a workload file, without opening a trace.
///
/// # Errors
/// An unknown name, or a faulty file.
pub fn describe(name_or_path: &str) -> Result<Description, WorkloadError> {
    describe_with(name_or_path, &[])
}

/// As [`describe`], with values that are given beside the file.
///
/// # Errors
/// As for [`describe`]; a value that does not fit.
pub fn describe_with(name_or_path: &str, given: &[Given]) -> Result<Description, WorkloadError> {
    let (base, multiplier) = split_multiplier(name_or_path)?;
    let describe = |text: Text<'_>| {
        let summary = text.workload(given, multiplier)?.summary;
        let mut rows = text.rows(given);
        if let Some(multiplier) = multiplier {
            rows.retain(|row| !(row.section.is_empty() && row.key == MULTIPLIER));
            let source = "given with the workload's name".into();
            rows.insert(0, Row { section: String::new(), key: MULTIPLIER.into(), value: multiplier.to_string().into(), source });
        }
        Ok(Description { name: name_or_path.into(), summary, rows })
    };
    if let Some(text) = embedded_named(base) {
        return describe(text);
    }
    let path = Path::new(base);
    if !is_there(path) {
        return Err(unknown(base));
    }
    let content = read_text(path).map_err(|error| WorkloadError::io(path, &error))?;
    describe(Text { path: base, text: &content })
}

/// Checks a named workload or a workload file, and that the traces which it plays are there, without opening them.
///
/// # Errors
/// As for [`describe_with`]; a trace that is not there.
pub fn check_with(name_or_path: &str, given: &[Given]) -> Result<(), WorkloadError> {
    let (base, multiplier) = split_multiplier(name_or_path)?;
    let check = |text: Text<'_>, folder: Option<&Path>| {
        let files = match text.workload(given, multiplier)?.table {
            Table::Trace(trace) => vec![trace.file],
            Table::Tenants(tenants) => tenants.into_iter().map(|(_, trace, _)| trace.file).collect(),
            Table::Profile { .. } | Table::Synthetic(_) | Table::Threads(_) => Vec::new(),
        };
        let traces = traces_folder();
        files.iter().try_for_each(|file| find_trace(base, file, folder, traces.as_deref()).map(drop))
    };
    if let Some(text) = embedded_named(base) {
        return check(text, None);
    }
    let path = Path::new(base);
    if !is_there(path) {
        return Err(unknown(base));
    }
    let content = read_text(path).map_err(|error| WorkloadError::io(path, &error))?;
    check(Text { path: base, text: &content }, path.parent())
}

/// The folder with the traces of named workloads, if one is named.
fn traces_folder() -> Option<PathBuf> {
    std::env::var_os(TRACES_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The file of a named workload, or a workload file, with the values that are given beside it in their places.
///
/// # Errors
/// An unknown name, or a faulty file or value.
pub fn workload_file(name_or_path: &str, given: &[Given]) -> Result<String, WorkloadError> {
    if let Some(text) = embedded_named(name_or_path) {
        return text.printed(given);
    }
    let path = Path::new(name_or_path);
    if !is_there(path) {
        return Err(unknown(name_or_path));
    }
    let content = read_text(path).map_err(|error| WorkloadError::io(path, &error))?;
    Text { path: name_or_path, text: &content }.printed(given)
}

/// Checks a workload file without opening its trace.
///
/// # Errors
/// Names the line and what is wrong there.
pub fn check_file(path: &Path) -> Result<(), WorkloadError> {
    let content = read_text(path).map_err(|error| WorkloadError::io(path, &error))?;
    Text { path: &path.display().to_string(), text: &content }.workload(&[], None).map(|_| ())
}

fn embedded() -> impl Iterator<Item = (&'static str, Text<'static>)> {
    EMBEDDED.files().filter_map(|file| {
        let name = file.path().file_stem()?.to_str()?;
        let path = file.path().to_str()?;
        is_workload_file(file.path()).then_some((name, Text { path, text: file.contents_utf8()? }))
    })
}

/// Whether a file of this name describes a workload: in tinytail's own words or as a job file of fio.
pub(crate) fn is_workload_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml") || fio::is_job_file(path)
}

fn embedded_named(name: &str) -> Option<Text<'static>> {
    embedded().find(|(found, _)| *found == name).map(|(_, text)| text)
}

/// The key of a workload file that multiplies rates.
const MULTIPLIER: &str = "multiplier";

/// A workload's name or path and the multiplier that is given with it, as in `act@30`; none if the whole is a name or a path.
fn split_multiplier(name_or_path: &str) -> Result<(&str, Option<u32>), WorkloadError> {
    let Some((base, digits)) = name_or_path.rsplit_once('@') else { return Ok((name_or_path, None)) };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || Path::new(name_or_path).exists() {
        return Ok((name_or_path, None));
    }
    match digits.parse() {
        Ok(multiplier) if multiplier > 0 => Ok((base, Some(multiplier))),
        _ => Err(WorkloadError::Option {
            path: name_or_path.into(),
            message: format!("the multiplier is {digits}; expected 1 to {}", u32::MAX),
        }),
    }
}

fn unknown(name: &str) -> WorkloadError {
    WorkloadError::UnknownWorkload { name: name.into(), nearest: did_you_mean(name, embedded().map(|(name, _)| name)) }
}

/// What the threads do, each kind once with the names of the first and the last that do it.
fn detail_of(threads: &[(String, Synthetic)]) -> String {
    let details: Vec<(&str, String)> = threads.iter().map(|(name, thread)| (name.as_str(), thread.detail())).collect();
    let alike = details.chunk_by(|(_, one), (_, next)| one == next).map(|alike| match alike {
        [(name, detail)] => format!("{name}: {detail}"),
        [(first, detail), .., (last, _)] => format!("{first} to {last}, each: {detail}"),
        [] => String::new(),
    });
    alike.collect::<Vec<_>>().join("; ")
}

impl Workload {
    /// Finds a workload: a named one, a workload file (`*.toml`), a job file of fio (`*.fio`), or a trace file; the first three
    /// also with a multiplier, `NAME@M`. The traces of named workloads are looked for in the folder that the environment variable `TINYTAIL_TRACES` names.
    ///
    /// # Errors
    /// An unknown name, a faulty workload file, or whatever keeps a trace from being opened.
    pub fn resolve(name_or_path: &str, options: &TraceOptions) -> Result<Self, WorkloadError> {
        Self::resolve_watched(name_or_path, options, &[], &Reading::default())
    }

    /// As [`Workload::resolve`], with values that are given beside the file, and says how a trace's file is read, now and later. A
    /// name that stands for what was spooled is a trace's.
    ///
    /// # Errors
    /// As [`Workload::resolve`], a value that does not fit, and an interruption.
    pub fn resolve_watched(name_or_path: &str, options: &TraceOptions, given: &[Given], reading: &Reading) -> Result<Self, WorkloadError> {
        if reading.spooled.is_some() {
            return Self::of_trace(name_or_path, options, given, reading);
        }
        Self::resolve_with(name_or_path, options, traces_folder().as_deref(), given, reading)
    }

    /// As [`Workload::resolve`], with the folder of the traces given.
    ///
    /// # Errors
    /// As [`Workload::resolve`].
    pub fn resolve_in(name_or_path: &str, options: &TraceOptions, traces: Option<&Path>) -> Result<Self, WorkloadError> {
        Self::resolve_with(name_or_path, options, traces, &[], &Reading::default())
    }

    fn resolve_with(
        name_or_path: &str,
        options: &TraceOptions,
        traces: Option<&Path>,
        given: &[Given],
        reading: &Reading,
    ) -> Result<Self, WorkloadError> {
        let (base, multiplier) = split_multiplier(name_or_path)?;
        let named = |name: &str| multiplier.map_or_else(|| name.to_owned(), |multiplier| format!("{name}@{multiplier}"));
        if let Some(text) = embedded_named(base) {
            let file = text.workload(given, multiplier)?;
            return Self::from_file(named(base), file, text.path, None, options, traces, reading);
        }
        let path = Path::new(base);
        if is_workload_file(path) && is_there(path) && !fio::is_io_log(path) {
            let content = read_text(path).map_err(|error| WorkloadError::io(path, &error))?;
            let name = path.file_stem().map_or_else(|| base.into(), |stem| stem.to_string_lossy());
            let file = Text { path: base, text: &content }.workload(given, multiplier)?;
            return Self::from_file(named(&name), file, base, path.parent(), options, traces, reading);
        }
        if base == STANDARD_INPUT {
            return Err(WorkloadError::Option {
                path: STANDARD_INPUT_SAID.into(),
                message: "what came from it is gone; to run it again, save the trace to a file and name that".into(),
            });
        }
        if !path.exists() {
            return Err(unknown(base));
        }
        if multiplier.is_some() {
            return Err(WorkloadError::Option { path: base.into(), message: format!("the multiplier {NO_RATES}") });
        }
        Self::of_trace(base, options, given, reading)
    }

    fn of_trace(name_or_path: &str, options: &TraceOptions, given: &[Given], reading: &Reading) -> Result<Self, WorkloadError> {
        if let Some(Given { option, .. }) = given.first() {
            let message = format!("{name_or_path} is a trace without a workload file, and has options for its values; see --help");
            return Err(WorkloadError::Option { path: option.clone(), message });
        }
        let path = Path::new(name_or_path);
        let trace = Trace::open_watched(path, options, reading)?;
        let name = trace.path().file_name().map_or_else(|| name_or_path.into(), |name| name.to_string_lossy().into_owned());
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
        let requests = text::counted(trace.requests(), "request");
        Ok(Self {
            name,
            summary,
            input: InputKind::Real,
            pacing,
            detail: format!("{}, format {}{times}: {requests}{span}{paced}", trace.path().display(), trace.format()),
            notes: trace.notes().to_vec(),
            requests: Requests::Trace(Box::new(trace)),
            preparation: Preparation::default(),
        })
    }

    fn from_file(
        name: String,
        file: CheckedFile,
        file_path: &str,
        folder: Option<&Path>,
        options: &TraceOptions,
        traces: Option<&Path>,
        reading: &Reading,
    ) -> Result<Self, WorkloadError> {
        let CheckedFile { summary, table, transform, notes, preparation } = file;
        // A stand-in is no file, so that only the queue depth applies to it.
        let depth = options.queue_depth.filter(|_| matches!(table, Table::Profile { .. }));
        if depth == Some(0) {
            return Err(WorkloadError::Option {
                path: file_path.into(),
                message: "a queue depth of 0 (given as an option) would play nothing; expected 1 or more".into(),
            });
        }
        if !matches!(table, Table::Trace(_)) && *options != (TraceOptions { queue_depth: depth, ..TraceOptions::default() }) {
            let why = if matches!(table, Table::Tenants(_)) { "the file of this workload gives them" } else { "this workload is none" };
            return Err(WorkloadError::Option {
                path: file_path.into(),
                message: format!(
                    "format, time unit, operation codes, address unit, device, event, order, faulty lines and `same_drive` apply to traces, the queue \
                     depth to traces and stand-ins, and {why}"
                ),
            });
        }
        let open = |TraceFile { file, options: stated }: TraceFile| {
            let path = find_trace(&name, &file, folder, traces)?;
            let origins = vec![Origin::given(options), Origin { said: format!("from the workload {name}"), options: stated }];
            Trace::open_with(&path, origins, reading)
        };
        let mut workload = match table {
            Table::Trace(trace) => Self::from_trace(name.clone(), summary, open(trace)?)?,
            Table::Tenants(tenants) => {
                let opened = tenants.into_iter().map(|(tenant, trace, transform)| Ok((tenant, open(trace)?, transform)));
                let tenants = Tenant::lay_out(opened.collect::<Result<Vec<_>, WorkloadError>>()?)?;
                let merged = Transformed::new(&name, Base::Tenants(tenants), Vec::new(), Transform::default())?;
                Self {
                    name,
                    summary,
                    input: InputKind::Real,
                    pacing: Pacing::Open,
                    detail: merged.tenants_detail().unwrap_or_default(),
                    notes: merged.notes(),
                    requests: Requests::Transformed { transformed: Box::new(merged), claims: Vec::new() },
                    preparation: Preparation::default(),
                }
            }
            Table::Profile { stands_in_for, profile, claims } => Self {
                name,
                summary,
                input: InputKind::StandIn,
                pacing: depth.map_or(Pacing::Open, |depth| Pacing::Closed { depth }),
                detail: format!(
                    "calibrated stand-in for {stands_in_for}: about {}{}",
                    text::counted(profile.requests_expected(), "request"),
                    depth.map_or(String::new(), |depth| format!(", in closed loop at queue depth {depth}"))
                ),
                notes: vec![format!("not the recorded requests of {stands_in_for}, but requests made to be like them")],
                requests: Requests::Profile { profile, claims },
                preparation: Preparation::default(),
            },
            Table::Synthetic(synthetic) => Self {
                name,
                summary,
                input: InputKind::Synthetic,
                pacing: synthetic.pacing(),
                detail: synthetic.detail(),
                notes: Vec::new(),
                requests: Requests::Synthetic(Box::new(synthetic)),
                preparation: Preparation::default(),
            },
            Table::Threads(threads) => {
                let depth = |(_, thread): &(String, Synthetic)| thread.depth().unwrap_or(0);
                let depth = threads.iter().map(depth).fold(0, u32::saturating_add);
                Self {
                    name,
                    summary,
                    input: InputKind::Synthetic,
                    pacing: if depth > 0 { Pacing::Closed { depth } } else { Pacing::Open },
                    detail: format!("{}; {}", text::counted(threads.len() as u64, "thread"), detail_of(&threads)),
                    notes: Vec::new(),
                    requests: Requests::Threads(threads),
                    preparation: Preparation::default(),
                }
            }
        };
        workload.notes.extend(notes);
        workload.preparation = preparation;
        workload.transformed(&transform)
    }

    /// This workload with its requests transformed; what the transform leaves open is as it was.
    ///
    /// # Errors
    /// A faulty transform, one of a workload that is made by rule, or a window without requests.
    pub fn transformed(self, transform: &Transform) -> Result<Self, WorkloadError> {
        if transform.is_empty() {
            return Ok(self);
        }
        transform.check(&self.name)?;
        if self.input == InputKind::StandIn && matches!(self.pacing, Pacing::Closed { .. }) {
            transform.check_unpaced(&self.name)?;
        }
        let (transformed, claims) = match self.requests {
            Requests::Trace(trace) => (Transformed::new(&self.name, Base::Trace(trace), self.notes, *transform)?, Vec::new()),
            Requests::Profile { profile, claims } => {
                (Transformed::new(&self.name, Base::Profile(profile), self.notes, *transform)?, claims)
            }
            Requests::Transformed { transformed, claims } => (transformed.with(transform)?, claims),
            Requests::Synthetic(_) | Requests::Threads(_) => {
                return Err(WorkloadError::Option {
                    path: self.name,
                    message: "transforms apply to traces and stand-ins, and this workload is made by rule".into(),
                });
            }
        };
        Ok(Self {
            pacing: if transformed.makes_bursts() { Pacing::Bursts } else { self.pacing },
            detail: format!("{}; transformed, as the notes say", self.detail.trim_end_matches("; transformed, as the notes say")),
            notes: transformed.notes(),
            requests: Requests::Transformed { transformed: Box::new(transformed), claims },
            ..self
        })
    }

    /// This workload with at most so many requests outstanding, where that is given: others whose time has come wait in the host.
    ///
    /// # Errors
    /// A workload whose requests have no times of their own, one that is made by rule, or a bound of 0.
    pub fn bounded(self, outstanding_max: Option<u32>) -> Result<Self, WorkloadError> {
        let Some(outstanding_max) = outstanding_max else { return Ok(self) };
        let message = match (self.input, self.pacing) {
            _ if outstanding_max == 0 => "with --outstanding-max 0 nothing could be issued; expected 1 or more".into(),
            (InputKind::Synthetic, _) => {
                "--outstanding-max applies to traces and stand-ins, and this workload is made by rule: its file bounds its requests, by \
                 `outstanding_max` beside `rate_per_s`, `queue_depth` in closed loop, or `iodepth` in a job of fio; leave the option out"
                    .into()
            }
            (_, Pacing::Closed { depth }) => format!(
                "--outstanding-max applies to requests that come at their own times, and in closed loop at queue depth {depth} no more than \
                 {depth} are outstanding; leave out one of the two"
            ),
            (_, Pacing::Bursts) => "--outstanding-max applies to requests that come at their own times, and in bursts they wait for those \
                                    before; leave out the option, or `burst_gap_s` (--burst-gap-s)"
                .into(),
            (_, Pacing::Open | Pacing::Bounded { .. }) => {
                let detail = format!("{}, at most {outstanding_max} outstanding", self.detail);
                return Ok(Self { pacing: Pacing::Bounded { outstanding_max }, detail, ..self });
            }
        };
        Err(WorkloadError::Option { path: self.name, message })
    }

    /// Starts the stream of requests from its beginning, cut off after `requests` of them; without it, a synthetic workload
    /// has its own number, and others end by themselves. The same seed gives the same stream; a trace has no use for it.
    ///
    /// # Errors
    /// A workload that does not fit the drive or has no end, a trace that can't be read any more, or threads in closed loop:
    /// the drive decides the order of their requests, so that they have only [`Workload::streams`].
    pub fn source(&self, seed: u64, context: &SourceContext, requests: Option<u64>) -> Result<Box<dyn Source>, WorkloadError> {
        self.check_ends(requests)?;
        Ok(match &self.requests {
            Requests::Trace(trace) => Box::new(trace.source(context.logical_sectors, requests)?),
            Requests::Profile { profile, .. } => {
                self.check_fits(context.logical_sectors)?;
                Box::new(profile.source(seed, requests))
            }
            Requests::Transformed { transformed, .. } => transformed.source(seed, context.logical_sectors, requests)?,
            _ if self.needs_drive() => {
                let message = match &self.requests {
                    Requests::Threads(_) => {
                        "some of its threads wait for the drive, as in closed loop; the order of their requests is not known without one"
                    }
                    _ => "it waits for the drive and ends when its time is over; which request is its last is not known without one",
                };
                return Err(WorkloadError::DoesNotFit { name: self.name.clone(), message: message.into() });
            }
            Requests::Synthetic(synthetic) => {
                self.check_fits(context.logical_sectors)?;
                synthetic.source(&Start { name: &self.name, seed, requests, queue: 0 }, context)?
            }
            Requests::Threads(_) => {
                let streams = self.thread_streams(seed, context)?;
                let merged = Merged::with_endless(streams.into_iter().map(|stream| (stream.source, stream.endless)));
                Box::new(Limited { inner: Box::new(merged), left: requests.unwrap_or(u64::MAX) })
            }
        })
    }

    /// Starts everything that is played, as [`Workload::source`] does: one stream, or one for each thread where some wait for
    /// the drive.
    ///
    /// # Errors
    /// As [`Workload::source`], except that what waits for the drive is welcome.
    pub fn streams(&self, seed: u64, context: &SourceContext, requests: Option<u64>) -> Result<Streams, WorkloadError> {
        self.check_ends(requests)?;
        if let Requests::Synthetic(synthetic) = &self.requests {
            self.check_fits(context.logical_sectors)?;
            let start = Start { name: &self.name, seed, requests, queue: 0 };
            return Ok(Streams { streams: vec![synthetic.stream(&start, context)?], requests: u64::MAX });
        }
        if self.needs_drive() {
            return Ok(Streams { streams: self.thread_streams(seed, context)?, requests: requests.unwrap_or(u64::MAX) });
        }
        Ok(Streams::one(self.source(seed, context, requests)?, self.pacing))
    }

    /// Whether which requests there are, and in which order, is known only with a drive: of several threads of which some wait
    /// for it, and of one that does until its time is over or in pulses.
    #[must_use]
    pub fn needs_drive(&self) -> bool {
        match &self.requests {
            Requests::Threads(threads) => threads.iter().any(|(_, thread)| thread.waits_for_drive()),
            Requests::Synthetic(synthetic) => synthetic.waits_for_drive() && (synthetic.runtime_ns.is_some() || synthetic.pulses.is_some()),
            _ => false,
        }
    }

    /// Whether the times of its requests depend on the drive, as in closed loop.
    pub(crate) fn waits_for_drive(&self) -> bool {
        match &self.requests {
            Requests::Threads(threads) => threads.iter().any(|(_, thread)| thread.waits_for_drive()),
            Requests::Synthetic(synthetic) => synthetic.waits_for_drive(),
            _ => self.pacing != Pacing::Open,
        }
    }

    /// How long the streams of the measured part are played before measuring begins.
    #[must_use]
    pub fn ramp_ns(&self) -> Ns {
        self.preparation.ramp_ns
    }

    /// Starts what is played before the measured part, one after the other.
    ///
    /// # Errors
    /// As [`Workload::streams`].
    pub fn preparing(&self, seed: u64, context: &SourceContext) -> Result<Vec<Streams>, WorkloadError> {
        self.check_fits(context.logical_sectors)?;
        let mut seeds = Random::new(seed ^ PREPARING_SALT);
        let phase = |threads: &Vec<(String, Synthetic)>| {
            Ok(Streams { streams: self.streams_of(threads, seeds.bits(), context)?, requests: u64::MAX })
        };
        self.preparation.phases.iter().map(phase).collect()
    }

    /// One stream for each thread, to a queue of its own.
    fn thread_streams(&self, seed: u64, context: &SourceContext) -> Result<Vec<Stream>, WorkloadError> {
        self.check_fits(context.logical_sectors)?;
        let Requests::Threads(threads) = &self.requests else { return Ok(Vec::new()) };
        self.streams_of(threads, seed, context)
    }

    fn streams_of(&self, threads: &[(String, Synthetic)], seed: u64, context: &SourceContext) -> Result<Vec<Stream>, WorkloadError> {
        // Where no thread has an end, that of the run ends them all.
        let some_end = threads.iter().any(|(_, thread)| thread.ends());
        // The threads must not share a stream of bits.
        let mut seeds = Random::new(seed);
        let stream = |(queue, (name, thread)): (u32, &(String, Synthetic))| {
            let name = format!("{}, thread {name}", self.name);
            let start = Start { name: &name, seed: seeds.bits(), requests: None, queue };
            Ok(Stream { endless: some_end && !thread.ends(), ..thread.stream(&start, context)? })
        };
        (0..).zip(threads).map(stream).collect()
    }

    /// What latencies were measured of its requests when they were recorded. Those of single requests come with the requests.
    #[must_use]
    pub fn measured(&self) -> Measured {
        match &self.requests {
            Requests::Trace(trace) => trace.measured(),
            Requests::Transformed { transformed, .. } => transformed.measured(),
            Requests::Synthetic(_) | Requests::Threads(_) | Requests::Profile { .. } => Measured::Nothing,
        }
    }

    /// How many requests there will be: exactly for traces and closed loop, about for a stand-in and where some are clipped, at
    /// most where time ends them too; none where threads without a number of requests go on as long as others.
    #[must_use]
    pub fn request_count_hint(&self) -> Option<u64> {
        match &self.requests {
            Requests::Trace(trace) => Some(trace.requests()),
            Requests::Profile { profile, .. } => Some(profile.requests_expected()),
            Requests::Transformed { transformed, .. } => transformed.requests(),
            Requests::Synthetic(synthetic) => synthetic.request_count(),
            Requests::Threads(threads) => threads.iter().map(|(_, thread)| thread.request_count()).sum(),
        }
    }

    /// How many requests a run will have that is asked for so many. One generator goes on until it has them; a trace, and what
    /// else ends by itself, has no more than there are.
    #[must_use]
    pub fn requests_expected(&self, asked: Option<u64>) -> Option<u64> {
        match (&self.requests, asked, self.request_count_hint()) {
            (Requests::Synthetic(_), Some(asked), _) | (_, Some(asked), None) => Some(asked),
            (_, Some(asked), Some(count)) => Some(count.min(asked)),
            (_, None, count) => count,
        }
    }

    /// The first sector beyond every request, or none if the workload adapts to the drive. A bound where requests are
    /// transformed: a workload that is fitted to the drive stays within it.
    #[must_use]
    pub fn end_sector(&self) -> Option<u64> {
        let before = self.preparation.phases.iter().flatten().filter_map(|(_, thread)| thread.end_sector()).max();
        self.measured_end_sector().max(before)
    }

    fn measured_end_sector(&self) -> Option<u64> {
        match &self.requests {
            Requests::Trace(trace) => Some(trace.end_sector()),
            Requests::Profile { profile, .. } => Some(profile.end_sector()),
            Requests::Transformed { transformed, .. } => Some(transformed.end_sector()),
            Requests::Synthetic(synthetic) => synthetic.end_sector(),
            Requests::Threads(threads) => threads.iter().filter_map(|(_, thread)| thread.end_sector()).max(),
        }
    }

    /// Whether requests are folded or clipped to whatever drive they are played on.
    pub(crate) fn is_fitted_to_drive(&self) -> bool {
        matches!(&self.requests, Requests::Transformed { transformed, .. } if transformed.is_fitted_to_drive())
    }

    /// Checks that a drive of this many sectors holds every request.
    ///
    /// # Errors
    /// Names the first line of a trace that is beyond the drive, or the size that a workload needs.
    pub fn check_fits(&self, logical_sectors: u64) -> Result<(), WorkloadError> {
        match &self.requests {
            Requests::Trace(trace) => return trace.check_fits(logical_sectors).map_err(with_fit_hint),
            Requests::Transformed { transformed, .. } => return transformed.check_fits(logical_sectors),
            _ => {}
        }
        match self.end_sector() {
            Some(end_sector) if end_sector > logical_sectors => {
                let gib = |sectors: u64| sectors as f64 * f64::from(SECTOR_BYTES) / f64::from(1 << 30);
                let hint = if matches!(self.requests, Requests::Profile { .. }) { FIT_HINT } else { "" };
                Err(WorkloadError::DoesNotFit {
                    name: self.name.clone(),
                    message: format!(
                        "its addresses go up to {:.2} GiB, and the drive has {:.2} GiB{hint}",
                        gib(end_sector),
                        gib(logical_sectors)
                    ),
                })
            }
            _ => Ok(()),
        }
    }

    /// Checks that a run of so many requests holds all of their times, in open loop.
    ///
    /// # Errors
    /// Says which request is too late, counted from the first, and what helps; a trace that can't be read any more.
    pub fn check_duration(&self, seed: u64, requests: Option<u64>, room: Room) -> Result<(), WorkloadError> {
        let (longest_ns, scale_time) = match &self.requests {
            Requests::Trace(trace) => (trace.duration_ns() as f64, 1.0),
            Requests::Transformed { transformed, .. } => match transformed.longest_ns() {
                Some(longest_ns) => (longest_ns, transformed.scale_time()),
                None => return Ok(()),
            },
            Requests::Synthetic(_) | Requests::Threads(_) | Requests::Profile { .. } => return Ok(()),
        };
        if !self.pacing.has_times() || longest_ns <= room.run_ns as f64 {
            return Ok(());
        }
        let any_drive = SourceContext { logical_sectors: u64::MAX, mapped_sectors: u64::MAX };
        let mut source = match &self.requests {
            // A fold to a drive without end changes nothing.
            Requests::Transformed { transformed, .. } => transformed.source(seed, any_drive.logical_sectors, requests)?,
            _ => self.source(seed, &any_drive, requests)?,
        };
        duration::check(&self.name, source.as_mut(), room, scale_time)
    }

    /// Checks that it comes to an end if a run asks for so many requests, or for none in particular.
    ///
    /// # Errors
    /// A workload that is made by rule and has no number of requests, where the run has none either.
    pub fn check_ends(&self, requests: Option<u64>) -> Result<(), WorkloadError> {
        let section = match &self.requests {
            Requests::Synthetic(synthetic) if !synthetic.ends() => "[synthetic]",
            Requests::Threads(threads) if threads.iter().all(|(_, thread)| !thread.ends()) => "one of its [threads]",
            _ => return Ok(()),
        };
        if requests.is_some() { Ok(()) } else { Err(WorkloadError::Endless { name: self.name.clone(), section }) }
    }

    /// Generates a stand-in, without transforms, and holds what it claims to be like against what it is like; claims of bursts
    /// against the bursts that its transform makes.
    ///
    /// # Errors
    /// A workload that claims nothing, since it is no stand-in or says nothing.
    pub fn check_claims(&self, seed: u64) -> Result<Vec<CheckedClaim>, WorkloadError> {
        let (profile, transformed, claims) = match &self.requests {
            Requests::Profile { profile, claims } => (Some(profile), None, claims),
            Requests::Transformed { transformed, claims } => match transformed.base() {
                Base::Profile(profile) => (Some(profile), Some(transformed), claims),
                Base::Trace(_) | Base::Tenants(_) => (None, None, claims),
            },
            _ => (None, None, &Vec::new()),
        };
        let Some(profile) = profile.filter(|_| !claims.is_empty()) else {
            return Err(WorkloadError::DoesNotFit {
                name: self.name.clone(),
                message: "it claims nothing; a stand-in states its claims in [profile.claims]".into(),
            });
        };
        let bursts = transformed.map_or(Ok(None), |transformed| transformed.bursts(seed))?;
        if let Some(name) = claims.iter().find_map(Claim::of_bursts).filter(|_| bursts.is_none()) {
            return Err(WorkloadError::DoesNotFit {
                name: self.name.clone(),
                message: format!("it claims `{name}` and has no bursts; they are made by `burst_gap_s` in [transform]"),
            });
        }
        let summary = measure(&mut profile.source(seed, None))?;
        Ok(claims::compare(claims, &summary, bursts.as_ref()))
    }

    /// Whether its requests are those of one trace, transformed or not.
    pub(crate) fn plays_one_trace(&self) -> bool {
        match &self.requests {
            Requests::Trace(_) => true,
            Requests::Transformed { transformed, .. } => matches!(transformed.base(), Base::Trace(_)),
            _ => false,
        }
    }

    /// What its trace is like, as its transforms leave it; nothing where it does not play one trace.
    pub(crate) fn trace_info(&self) -> Result<Option<TraceInfo>, WorkloadError> {
        match &self.requests {
            Requests::Trace(trace) => trace.info().map(Some),
            Requests::Transformed { transformed, .. } => transformed.trace_info(),
            _ => Ok(None),
        }
    }

    /// The refusal of a workload that is no trace to be looked into, with the commands that take it.
    pub(crate) fn no_trace(&self, name_or_path: &str) -> WorkloadError {
        let what = match (&self.requests, self.input) {
            (Requests::Transformed { transformed, .. }, _) if matches!(transformed.base(), Base::Tenants(_)) => "it plays several traces",
            (_, InputKind::StandIn) => "it stands in for a trace, and is made by rule",
            _ => "it is made by rule",
        };
        let name = shell_word(name_or_path);
        // A stand-in has the addresses of the recorded drive, which may be larger than this one.
        let fit = if self.input == InputKind::Synthetic { "" } else { " --fit fold" };
        let written = if self.is_fixed() && self.check_ends(None).is_ok() {
            format!(" `tinytail trace convert {name} NEW.trace` writes its requests as a trace.")
        } else {
            String::new()
        };
        WorkloadError::DoesNotFit {
            name: self.name.clone(),
            message: format!(
                "{what}, so that there is no trace to look into. `tinytail workloads {name}` shows its values.{written} `tinytail compare base \
                 --device ttflash-small --workload {name}{fit} --requests 10000` plays it"
            ),
        }
    }

    /// Makes sure that the files of its traces are as they were when it was resolved.
    ///
    /// # Errors
    /// Names a file that has changed, and says how.
    pub fn check_unchanged(&self) -> Result<(), WorkloadError> {
        match &self.requests {
            Requests::Trace(trace) => trace.check_unchanged(),
            Requests::Transformed { transformed, .. } => transformed.base().check_unchanged(),
            _ => Ok(()),
        }
    }

    /// What is to be said of the recorded times of its traces, where requests arrive at them and they are coarse.
    #[must_use]
    pub fn coarse_times(&self) -> Vec<CoarseTimes> {
        match &self.requests {
            _ if !self.pacing.has_times() => Vec::new(),
            Requests::Trace(trace) => trace.coarse_times().into_iter().collect(),
            Requests::Transformed { transformed, .. } => transformed.base().coarse_times(),
            _ => Vec::new(),
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
        measure(self.source(seed, context, requests)?.as_mut())
    }
}

/// What can be done about a request beyond the drive.
const FIT_HINT: &str = "; --fit fold folds such requests into it, --fit clip cuts them off";

/// Adds to the fault of a request beyond the drive that it can be made to fit.
fn with_fit_hint(error: WorkloadError) -> WorkloadError {
    match error {
        WorkloadError::BeyondDrive { path, at, end_byte, drive_bytes, hint } => {
            let hint = format!("{hint}{FIT_HINT}");
            WorkloadError::BeyondDrive { path, at, end_byte, drive_bytes, hint }
        }
        other => other,
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
