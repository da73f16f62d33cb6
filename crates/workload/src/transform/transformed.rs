//! A workload with transforms: one trace, a stand-in, or several traces merged.

use std::sync::Arc;

use tinytail_core::units::{Ns, SECTOR_BYTES};

use super::bursts::{self, BurstSummary};
use super::place::Counts;
use super::scale::ScaledTime;
use super::{Merged, Opener, Prepared, Transform};
use crate::characteristics::{TraceInfo, measure};
use crate::error::WorkloadError;
use crate::limit::Limited;
use crate::measured::Measured;
use crate::source::{Arrival, Note, Source};
use crate::synthetic::profile::Profile;
use crate::text;
use crate::trace::{CoarseTimes, Trace};

/// Tenants are laid one after another at multiples of 1 MiB.
const TENANT_ALIGN_SECTORS: u64 = (1 << 20) / SECTOR_BYTES as u64;

/// A drive whose size is not known yet.
const ANY_DRIVE: u64 = u64::MAX;

/// One of several traces that share a drive.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    name: String,
    trace: Trace,
    prepared: Prepared,
    /// A bound of the first sector beyond every request.
    end_sector: u64,
}

/// Whose requests are transformed.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    Trace(Box<Trace>),
    Profile(Profile),
    /// In the order of their names.
    Tenants(Vec<Tenant>),
}

impl Base {
    /// Makes sure that the files of its traces are as they were when they were opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), WorkloadError> {
        match self {
            Self::Trace(trace) => trace.check_unchanged(),
            Self::Profile(_) => Ok(()),
            Self::Tenants(tenants) => tenants.iter().try_for_each(|tenant| tenant.trace.check_unchanged()),
        }
    }

    /// What is to be said of recorded times that are coarse.
    pub(crate) fn coarse_times(&self) -> Vec<CoarseTimes> {
        match self {
            Self::Trace(trace) => trace.coarse_times().into_iter().collect(),
            Self::Profile(_) => Vec::new(),
            Self::Tenants(tenants) => {
                let named = |tenant: &Tenant| {
                    let coarse = tenant.trace.coarse_times()?;
                    Some(CoarseTimes { message: format!("{}: {}", tenant.name, coarse.message), ..coarse })
                };
                tenants.iter().filter_map(named).collect()
            }
        }
    }
}

/// A workload with transforms.
#[derive(Clone, Debug)]
pub(crate) struct Transformed {
    name: String,
    base: Base,
    /// What is to be known of the base.
    base_notes: Vec<String>,
    transform: Transform,
    /// Ready for traces; what depends on the seed is prepared when it is played.
    prepared: Option<Prepared>,
}

impl Tenant {
    /// Lays tenants on a drive: each at its offset, or one after another where none is given.
    ///
    /// # Errors
    /// A trace that has no times or is in closed loop, a region that is needed and not given, a window without requests, or a trace that can't be read any more.
    pub(crate) fn lay_out(tenants: impl IntoIterator<Item = (String, Trace, Transform)>) -> Result<Vec<Self>, WorkloadError> {
        let mut end_sector = 0_u64;
        let mut laid = Vec::new();
        for (name, trace, mut transform) in tenants {
            if transform.fit.is_some() && transform.region_bytes.is_none() {
                return Err(WorkloadError::DoesNotFit {
                    name,
                    message: "`fit` of a tenant needs `region_bytes`; [transform] fits the whole to the drive".into(),
                });
            }
            if trace.queue_depth().is_some() || trace.settings().time_unit.is_none() {
                return Err(WorkloadError::DoesNotFit {
                    name,
                    message: "tenants are merged in order of their times; \
                              a trace without times, or one in closed loop (`queue_depth`), can't be one of them"
                        .into(),
                });
            }
            if transform.burst_gap_s.is_some() {
                return Err(WorkloadError::DoesNotFit {
                    name,
                    message: "`burst_gap_s` is no transform of a tenant, since its bursts would wait for each other and not for those of \
                              the others; [transform] makes bursts of the whole"
                        .into(),
                });
            }
            if transform.offset_bytes.is_none() {
                transform.offset_bytes = Some(end_sector * u64::from(SECTOR_BYTES));
            }
            let prepared = transform.prepare(&name, &open_trace(&trace), Some(trace.requests()))?;
            let end = transform.end_sector(trace.end_sector());
            let region_end = prepared.place.region.map(|region| prepared.place.offset + region);
            let aligned = region_end.unwrap_or(end).checked_next_multiple_of(TENANT_ALIGN_SECTORS).filter(|end| *end < 1 << 54);
            end_sector = end_sector.max(aligned.ok_or_else(|| WorkloadError::DoesNotFit {
                name: name.clone(),
                message: "the tenants side by side are larger than 2^63 bytes; give `offset_bytes` or `region_bytes`".into(),
            })?);
            laid.push(Self { name, trace, prepared, end_sector: end });
        }
        Ok(laid)
    }

    fn notes(&self) -> impl Iterator<Item = String> {
        let notes = self.trace.notes().iter().chain(&self.prepared.notes);
        notes.map(|note| format!("{}: {note}", self.name))
    }
}

impl Trace {
    /// As [`Trace::info`], of the requests as a transform leaves them.
    ///
    /// # Errors
    /// A faulty transform, one that needs a drive to be applied, or a file that can't be read any more.
    pub fn info_transformed(&self, transform: &Transform) -> Result<TraceInfo, WorkloadError> {
        if transform.is_empty() {
            return self.info();
        }
        let name = self.path().display().to_string();
        transform.check(&name)?;
        if transform.fit.is_some() && transform.region_bytes.is_none() {
            return Err(fit_needs_region(&name));
        }
        Transformed::new(&name, Base::Trace(Box::new(self.clone())), self.notes().to_vec(), *transform)?.info_of(self)
    }
}

fn fit_needs_region(path: &str) -> WorkloadError {
    let message = "`fit` without `region_bytes` fits requests to a drive, and here is none; give the region";
    WorkloadError::Option { path: path.into(), message: message.into() }
}

fn open_trace(trace: &Trace) -> Opener {
    let trace = trace.clone();
    Arc::new(move || Ok(Box::new(trace.source(ANY_DRIVE, None)?)))
}

impl Transformed {
    /// Prepares what does not depend on a seed.
    ///
    /// # Errors
    /// A window without requests, a transform of times that mean nothing, or a trace that can't be read any more.
    pub(crate) fn new(name: &str, base: Base, base_notes: Vec<String>, transform: Transform) -> Result<Self, WorkloadError> {
        if let Base::Trace(trace) = &base {
            transform.check_times(name, trace)?;
        }
        let mut transformed = Self { name: name.into(), base, base_notes, transform, prepared: None };
        if !matches!(transformed.base, Base::Profile(_)) {
            let open = transformed.opener(0);
            transformed.prepared = Some(transform.prepare(name, &open, transformed.base_requests())?);
        }
        Ok(transformed)
    }

    /// What its trace is like; nothing where it has not exactly one.
    pub(crate) fn trace_info(&self) -> Result<Option<TraceInfo>, WorkloadError> {
        match &self.base {
            Base::Trace(trace) if self.is_fitted_to_drive() => Err(fit_needs_region(&trace.path().display().to_string())),
            Base::Trace(trace) => self.info_of(trace).map(Some),
            Base::Profile(_) | Base::Tenants(_) => Ok(None),
        }
    }

    fn info_of(&self, trace: &Trace) -> Result<TraceInfo, WorkloadError> {
        let mut source = self.source(0, ANY_DRIVE, None)?;
        let characteristics = measure(source.as_mut())?;
        let notes = self.notes().into_iter().chain(source.notes().into_iter().map(|note| note.text)).collect();
        let bursts = self.bursts(0)?;
        Ok(trace.info_with(notes, characteristics, bursts))
    }

    /// The same base with other transforms.
    pub(crate) fn with(&self, transform: &Transform) -> Result<Self, WorkloadError> {
        Self::new(&self.name, self.base.clone(), self.base_notes.clone(), transform.over(&self.transform))
    }

    /// What is to be known before anything is played.
    pub(crate) fn notes(&self) -> Vec<String> {
        let tenants = match &self.base {
            Base::Tenants(tenants) => &tenants[..],
            Base::Trace(_) | Base::Profile(_) => &[],
        };
        let mut notes = self.base_notes.clone();
        notes.extend(tenants.iter().flat_map(Tenant::notes));
        notes.extend(self.prepared.iter().flat_map(|prepared| prepared.notes.clone()));
        notes
    }

    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// What the tenants are, in one line.
    pub(crate) fn tenants_detail(&self) -> Option<String> {
        let Base::Tenants(tenants) = &self.base else { return None };
        let of = |tenant: &Tenant| {
            let offset = tenant.prepared.place.offset * u64::from(SECTOR_BYTES);
            format!("{} ({}) from {} on", tenant.name, tenant.trace.path().display(), text::binary_size(offset))
        };
        Some(format!("{} traces merged: {}", tenants.len(), tenants.iter().map(of).collect::<Vec<_>>().join(", ")))
    }

    fn base_requests(&self) -> Option<u64> {
        match &self.base {
            Base::Trace(trace) => Some(trace.requests()),
            Base::Profile(profile) => Some(profile.requests_expected()),
            Base::Tenants(tenants) => tenants.iter().map(|tenant| tenant.prepared.requests).sum(),
        }
    }

    fn base_end_sector(&self) -> u64 {
        match &self.base {
            Base::Trace(trace) => trace.end_sector(),
            Base::Profile(profile) => profile.end_sector(),
            Base::Tenants(tenants) => tenants.iter().map(|tenant| tenant.end_sector).max().unwrap_or(0),
        }
    }

    /// Starts the stream that the transforms are applied to.
    fn opener(&self, seed: u64) -> Opener {
        match &self.base {
            Base::Trace(trace) => open_trace(trace),
            Base::Profile(profile) => {
                let profile = profile.clone();
                Arc::new(move || Ok(Box::new(profile.source(seed, None))))
            }
            Base::Tenants(tenants) => {
                // The counts outlive the rounds of a repeated stream.
                let parts: Vec<_> =
                    tenants.iter().map(|tenant| (tenant.clone(), open_trace(&tenant.trace), Arc::<Counts>::default())).collect();
                Arc::new(move || {
                    let part = |(queue, (tenant, open, counts)): (u32, &(Tenant, Opener, Arc<Counts>))| {
                        let source = tenant.prepared.source(&tenant.name, Arc::clone(open), ANY_DRIVE, Arc::clone(counts))?;
                        Ok(Box::new(OfTenant { name: tenant.name.clone(), queue, inner: source }) as Box<dyn Source>)
                    };
                    Ok(Box::new(Merged::new((0..).zip(&parts).map(part).collect::<Result<Vec<_>, WorkloadError>>()?)))
                })
            }
        }
    }

    /// Plays it on a drive of so many sectors, at most `requests` requests.
    ///
    /// # Errors
    /// A region beyond the drive, or a trace that can't be read any more.
    pub(crate) fn source(&self, seed: u64, drive_sectors: u64, requests: Option<u64>) -> Result<Box<dyn Source>, WorkloadError> {
        let open = self.opener(seed);
        let start = |prepared: &Prepared| prepared.source(&self.name, open, drive_sectors, Arc::default());
        let source = match &self.prepared {
            // A trace without times gets none from being repeated.
            Some(prepared) if self.is_timeless() => Box::new(ScaledTime { inner: start(prepared)?, factor: 0.0 }),
            Some(prepared) => start(prepared)?,
            None => {
                let prepared = self.transform.prepare(&self.name, &self.opener(seed), self.base_requests())?;
                Box::new(Noted { inner: start(&prepared)?, notes: prepared.notes })
            }
        };
        Ok(match requests {
            Some(requests) => Box::new(Limited { inner: source, left: requests }),
            None => source,
        })
    }

    fn is_timeless(&self) -> bool {
        matches!(&self.base, Base::Trace(trace) if trace.settings().time_unit.is_none())
    }

    /// What latencies were measured of its requests.
    pub(crate) fn measured(&self) -> Measured {
        let found = match &self.base {
            Base::Trace(trace) => trace.measured(),
            Base::Profile(_) => Measured::Nothing,
            Base::Tenants(tenants) if tenants.iter().all(|tenant| tenant.trace.measured() == Measured::Nothing) => Measured::Nothing,
            Base::Tenants(_) => Measured::OtherLoad("those of several traces share the drive"),
        };
        match (found, self.transform.other_load()) {
            (Measured::Latencies(_), Some(why)) => Measured::OtherLoad(why),
            (found, _) => found,
        }
    }

    /// A bound of the time from the first request to the last; none of a stand-in, which is made to fit a run.
    pub(crate) fn longest_ns(&self) -> Option<f64> {
        let base_ns = match &self.base {
            Base::Trace(trace) => trace.duration_ns(),
            Base::Profile(_) => return None,
            Base::Tenants(tenants) => {
                let longest_ns = tenants.iter().map(|tenant| tenant.prepared.longest_ns(tenant.trace.duration_ns())).fold(0.0, f64::max);
                longest_ns as Ns
            }
        };
        Some(self.prepared.as_ref()?.longest_ns(base_ns))
    }

    /// The factor of times.
    pub(crate) fn scale_time(&self) -> f64 {
        self.transform.scale_time.unwrap_or(1.0)
    }

    /// Whether it makes bursts.
    pub(crate) fn makes_bursts(&self) -> bool {
        self.transform.burst_gap_s.is_some()
    }

    /// What the bursts are like, if it makes any, on a drive without end.
    ///
    /// # Errors
    /// A stream that can't be read, or one in which a stand-in's gap leaves one burst.
    pub(crate) fn bursts(&self, seed: u64) -> Result<Option<BurstSummary>, WorkloadError> {
        if !self.makes_bursts() {
            return Ok(None);
        }
        let prepared = match &self.prepared {
            Some(prepared) => prepared.clone(),
            None => self.transform.prepare(&self.name, &self.opener(seed), self.base_requests())?,
        };
        let gap_ns = prepared.burst_gap_ns.unwrap_or(0);
        let mut source = prepared.source(&self.name, self.opener(seed), ANY_DRIVE, Arc::default())?;
        bursts::measure(source.as_mut(), gap_ns).map(Some)
    }

    /// How many requests there will be: a bound where some are clipped, about for a stand-in, none for its window.
    pub(crate) fn requests(&self) -> Option<u64> {
        match &self.prepared {
            Some(prepared) => prepared.requests,
            None if self.transform.window_s.is_some() || self.transform.busiest_s.is_some() => self.transform.repeat_to_requests,
            None => {
                let once = self.base_requests()?;
                self.transform.repeat_to_requests.or_else(|| once.checked_mul(self.transform.repeat.unwrap_or(1)))
            }
        }
    }

    /// A bound of the first sector beyond every request, as if the drive were without end.
    pub(crate) fn end_sector(&self) -> u64 {
        self.transform.end_sector(self.base_end_sector())
    }

    pub(crate) fn is_fitted_to_drive(&self) -> bool {
        self.transform.fit.is_some() && self.transform.region_bytes.is_none()
    }

    /// Checks that a drive of so many sectors holds every request of a trace.
    ///
    /// # Errors
    /// Names the first request that is beyond.
    pub(crate) fn check_fits(&self, drive_sectors: u64) -> Result<(), WorkloadError> {
        if self.transform.region_bytes.is_none() && self.end_sector() <= drive_sectors {
            return Ok(());
        }
        let mut source = self.source(0, drive_sectors, None)?;
        if self.transform.fit.is_none() {
            let mut batch = Vec::with_capacity(256);
            while source.fill(&mut batch, 256)? > 0 {
                batch.clear();
            }
        }
        Ok(())
    }
}

/// The requests of one tenant, whose name is said with what becomes of them, and which has a queue of its own.
struct OfTenant {
    name: String,
    queue: u32,
    inner: Box<dyn Source>,
}

impl Source for OfTenant {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let start = out.len();
        let count = self.inner.fill(out, limit)?;
        for arrival in &mut out[start..] {
            arrival.queue = self.queue;
        }
        Ok(count)
    }

    fn notes(&self) -> Vec<Note> {
        let named = |text: String| format!("{}: {text}", self.name);
        let mut notes = self.inner.notes();
        for note in &mut notes {
            note.text = named(std::mem::take(&mut note.text));
            if let Some(fitted) = &mut note.fitted {
                fitted.message = named(std::mem::take(&mut fitted.message));
            }
        }
        notes
    }
}

/// Requests with something to be known of them besides.
struct Noted {
    inner: Box<dyn Source>,
    notes: Vec<String>,
}

impl Source for Noted {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        self.inner.fill(out, limit)
    }

    fn notes(&self) -> Vec<Note> {
        self.notes.iter().cloned().map(Note::from).chain(self.inner.notes()).collect()
    }
}
