//! Transforms: what is done to recorded requests before they are played.
//!
//! Whatever the order in which they are written down, they are applied in this one:
//!
//! 1. the window, or the busiest window of a length: a part of the recorded time, whose first request gets the time 0;
//! 2. bursts: what is nearer than a gap comes at once, and the rest of the time is idle;
//! 3. the factor of times, of the idle ones alone where there are bursts;
//! 4. the factor of sizes;
//! 5. repetition, in the new times;
//! 6. place: what reaches beyond the region is folded or clipped, then the offset is added;
//! 7. the mark of critical writes.
//!
//! Several traces (tenants) have transforms each, are merged in order of time, and the whole may be transformed again. Last
//! comes the number of requests that the run asks for. Each is a stage of a stream that holds one batch; only the search for
//! the busiest window, the count of a window's requests and the mean time between requests read the stream beforehand.

pub(crate) mod bursts;
mod merge;
mod place;
#[cfg(test)]
mod reference;
mod repeat;
mod scale;
#[cfg(test)]
mod testkit;
mod transformed;
mod window;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tinytail_core::units::{Ns, SECOND, SECTOR_BYTES, TIME_MAX};

use crate::critical::CriticalWrites;
use crate::error::WorkloadError;
use crate::source::Source;
use crate::text;
use crate::trace::Trace;
use bursts::Bursts;
pub use bursts::{BurstGap, BurstSummary, MeanGap};
pub(crate) use merge::Merged;
pub use place::Fit;
use place::{Counts, Place, Placed};
use repeat::{Repeat, Repeated};
use scale::{ScaledSize, ScaledTime};
pub(crate) use transformed::{Base, Tenant, Transformed};
use window::{Window, Windowed};

/// Starts a stream from its beginning, as often as needed.
pub(crate) type Opener = Arc<dyn Fn() -> Result<Box<dyn Source>, WorkloadError> + Send + Sync>;

/// The largest factor; its inverse is the smallest.
const FACTOR_MAX: f64 = 1e9;

/// What is done to the requests of a trace or a stand-in, in the order of these keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transform {
    /// Keep only the requests from one time to before another, in seconds since the first request.
    pub window_s: Option<(f64, f64)>,
    /// Keep only the window of this many seconds that has the most requests, the earliest of them.
    pub busiest_s: Option<f64>,
    /// Make bursts: requests less than so many seconds apart come at once, later ones so long after the burst before has completed;
    /// "mean" is the mean time between requests.
    pub burst_gap_s: Option<BurstGap>,
    /// Multiply times by this; 0.5 makes the requests come twice as fast.
    pub scale_time: Option<f64>,
    /// Multiply sizes by this, to the nearest sector; addresses stay.
    pub scale_size: Option<f64>,
    /// Play the requests so many times, one after the other.
    #[schemars(range(min = 1))]
    pub repeat: Option<u64>,
    /// Play the requests over and over, until there are so many.
    #[schemars(range(min = 1))]
    pub repeat_to_requests: Option<u64>,
    /// What becomes of requests that reach beyond the region, which are an error otherwise: fold moves them to the remainder of
    /// their address, clip leaves them out, or cuts them off where they reach across the end.
    pub fit: Option<Fit>,
    /// Size of the region to fit requests to, in bytes, a multiple of 512; the rest of the drive if not given.
    pub region_bytes: Option<u64>,
    /// Where the region begins, in bytes, a multiple of 512; added to every address.
    pub offset_bytes: Option<u64>,
    /// Mark every write as critical, a hint to drives with late-bound allocation.
    pub critical_writes: bool,
}

impl Transform {
    /// Whether it leaves everything as it is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This transform, with what it leaves open taken from another.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let (selects, repeats) =
            (self.window_s.is_some() || self.busiest_s.is_some(), self.repeat.is_some() || self.repeat_to_requests.is_some());
        Self {
            window_s: if selects { self.window_s } else { other.window_s },
            busiest_s: if selects { self.busiest_s } else { other.busiest_s },
            burst_gap_s: self.burst_gap_s.or(other.burst_gap_s),
            scale_time: self.scale_time.or(other.scale_time),
            scale_size: self.scale_size.or(other.scale_size),
            repeat: if repeats { self.repeat } else { other.repeat },
            repeat_to_requests: if repeats { self.repeat_to_requests } else { other.repeat_to_requests },
            fit: self.fit.or(other.fit),
            region_bytes: self.region_bytes.or(other.region_bytes),
            offset_bytes: self.offset_bytes.or(other.offset_bytes),
            critical_writes: self.critical_writes || other.critical_writes,
        }
    }

    /// Why requests are another load than they were, if they are, as the end of a sentence.
    fn other_load(&self) -> Option<&'static str> {
        match self {
            Self { burst_gap_s: Some(_), .. } => Some("they come in bursts that wait for the drive (`burst_gap_s`)"),
            Self { scale_time: Some(_), .. } => Some("their times are multiplied (`scale_time`)"),
            Self { scale_size: Some(_), .. } => Some("their sizes are multiplied (`scale_size`)"),
            _ => None,
        }
    }

    /// The first key whose value is wrong, and what is wrong with it.
    pub(crate) fn problem(&self) -> Option<(&'static str, String)> {
        const SECONDS_MAX: f64 = (TIME_MAX / SECOND) as f64;
        if let Some((from, to)) = self.window_s
            && !(0.0 <= from && from < to && to <= SECONDS_MAX)
        {
            return Some(("window_s", format!("is [{from}, {to}]; expected two times in seconds, the second later, up to {SECONDS_MAX}")));
        }
        if let Some(length) = self.busiest_s {
            if self.window_s.is_some() {
                return Some(("busiest_s", "and `window_s` are both given; expected one of them".into()));
            }
            if !(1e-9..=SECONDS_MAX).contains(&length) {
                return Some(("busiest_s", format!("is {length}; expected a length in seconds, above 0 and at most {SECONDS_MAX}")));
            }
        }
        if let Some(BurstGap::Seconds(gap)) = self.burst_gap_s
            && !(1e-9..=SECONDS_MAX).contains(&gap)
        {
            let allowed = format!("is {gap}; expected a time in seconds, above 0 and at most {SECONDS_MAX}, or \"mean\"");
            return Some(("burst_gap_s", allowed));
        }
        for (key, factor) in [("scale_time", self.scale_time), ("scale_size", self.scale_size)] {
            if let Some(factor) = factor
                && !(1.0 / FACTOR_MAX..=FACTOR_MAX).contains(&factor)
            {
                return Some((key, format!("is {factor}; expected a factor from {:e} to {FACTOR_MAX:e}", 1.0 / FACTOR_MAX)));
            }
        }
        for (key, number) in [("repeat", self.repeat), ("repeat_to_requests", self.repeat_to_requests)] {
            if number == Some(0) {
                return Some((key, "is 0; expected 1 or more".into()));
            }
        }
        if self.repeat.is_some() && self.repeat_to_requests.is_some() {
            return Some(("repeat_to_requests", "and `repeat` are both given; expected one of them".into()));
        }
        for (key, bytes, least) in [("region_bytes", self.region_bytes, 1), ("offset_bytes", self.offset_bytes, 0)] {
            if let Some(bytes) = bytes
                && (bytes < least || bytes > 1 << 62 || bytes % u64::from(SECTOR_BYTES) != 0)
            {
                let above = if least > 0 { " above 0" } else { "" };
                return Some((key, format!("is {bytes}; expected a multiple of 512 bytes{above}, at most 2^62")));
            }
        }
        None
    }

    /// Checks the values of a transform that was not read from a file.
    ///
    /// # Errors
    /// Names the value that is wrong. `name` is the workload's.
    pub(crate) fn check(&self, name: &str) -> Result<(), WorkloadError> {
        match self.problem() {
            Some((key, message)) => Err(WorkloadError::Option { path: name.into(), message: format!("`{key}` {message}") }),
            None => Ok(()),
        }
    }

    /// Checks that the trace has the times that the transform is about.
    ///
    /// # Errors
    /// Names the key that does not apply.
    fn check_times(&self, name: &str, trace: &Trace) -> Result<(), WorkloadError> {
        let selects = [("window_s", self.window_s.is_some()), ("busiest_s", self.busiest_s.is_some())];
        let why = if trace.settings().time_unit.is_none() {
            "and this trace has no times, or none whose unit is stated"
        } else if trace.queue_depth().is_some() {
            "and in closed loop the times of a trace do not pace its requests"
        } else {
            return Ok(());
        };
        let timeless = selects.into_iter().filter(|_| trace.settings().time_unit.is_none());
        Self::none_given(timeless.chain(self.pacing_keys()), name, why)
    }

    /// Checks that nothing is asked of the times of requests that they do not pace, of a stand-in in closed loop.
    ///
    /// # Errors
    /// Names the key that does not apply.
    pub(crate) fn check_unpaced(&self, name: &str) -> Result<(), WorkloadError> {
        Self::none_given(self.pacing_keys(), name, "and in closed loop the times of a stand-in do not pace its requests")
    }

    /// Keys that change when requests come, and whether they are given.
    fn pacing_keys(&self) -> impl Iterator<Item = (&'static str, bool)> + use<> {
        [("burst_gap_s", self.burst_gap_s.is_some()), ("scale_time", self.scale_time.is_some())].into_iter()
    }

    fn none_given(mut keys: impl Iterator<Item = (&'static str, bool)>, name: &str, why: &str) -> Result<(), WorkloadError> {
        match keys.find(|(_, given)| *given) {
            Some((key, _)) => {
                Err(WorkloadError::Option { path: name.into(), message: format!("`{key}` is about times, {why}; leave it out") })
            }
            None => Ok(()),
        }
    }

    /// A bound of the first sector beyond every request, of a stream that has this one, on a drive without end.
    fn end_sector(&self, end_sector: u64) -> u64 {
        let sectors = |bytes: u64| bytes / u64::from(SECTOR_BYTES);
        let stretched = (end_sector as f64 * self.scale_size.unwrap_or(1.0).max(1.0)).ceil() as u64;
        let region = self.region_bytes.filter(|_| self.fit.is_some()).map_or(u64::MAX, sectors);
        stretched.min(region).saturating_add(self.offset_bytes.map_or(0, sectors))
    }

    /// Finds the window, and says what will be done. `requests` is the number of the stream's requests, if known.
    fn prepare(&self, name: &str, open: &Opener, requests: Option<u64>) -> Result<Prepared, WorkloadError> {
        let sectors = |bytes: u64| bytes / u64::from(SECTOR_BYTES);
        let mut notes = Vec::new();
        let mut requests = requests;
        let mut window = None;
        if let Some((from_s, to_s)) = self.window_s {
            let found = Window { from_ns: nanoseconds(from_s), to_ns: nanoseconds(to_s) };
            let (count, last_ns) = window::count(open, found)?;
            if count == 0 {
                return Err(WorkloadError::DoesNotFit {
                    name: name.into(),
                    message: format!(
                        "no request is between {from_s} s and {to_s} s, the window asked for; up to there the last one is at {:.3} s",
                        last_ns as f64 / SECOND as f64
                    ),
                });
            }
            notes.push(format!("window from {from_s} s to {to_s} s: {}, the first of them at time 0", text::counted(count, "request")));
            (window, requests) = (Some(found), Some(count));
        }
        if let Some(length_s) = self.busiest_s {
            let (found, count) = window::busiest(open, nanoseconds(length_s).max(1))?;
            notes.push(format!(
                "busiest {length_s} s: from {:.3} s on, {}, the first of them at time 0",
                found.from_ns as f64 / SECOND as f64,
                text::counted(count, "request")
            ));
            (window, requests) = (Some(found), Some(count));
        }
        let bursts = self.burst_gap_s.map(|gap| bursts::find(name, open, window, gap)).transpose()?;
        notes.extend(bursts.map(|bursts| bursts.note()));
        if let Some(factor) = self.scale_time {
            notes.push(format!("times multiplied by {factor}"));
        }
        if let Some(factor) = self.scale_size {
            notes.push(format!("sizes multiplied by {factor}, to whole sectors"));
        }
        let round_requests = requests;
        let repeat = match (self.repeat, self.repeat_to_requests) {
            (Some(times), _) => {
                notes.push(format!("played {}, one after the other", text::counted(times, "time")));
                requests = requests.and_then(|requests| requests.checked_mul(times));
                Some(Repeat::Times(times))
            }
            (None, Some(wanted)) => {
                notes.push(format!("played over and over, up to {}", text::counted(wanted, "request")));
                requests = Some(wanted);
                Some(Repeat::ToRequests(wanted))
            }
            (None, None) => None,
        };
        if let Some(offset) = self.offset_bytes.filter(|offset| *offset > 0) {
            notes.push(format!("addresses shifted by {}", text::counted(offset, "byte")));
        }
        let place = Place { offset: self.offset_bytes.map_or(0, sectors), region: self.region_bytes.map(sectors), fit: self.fit };
        let critical = self.critical_writes;
        if critical {
            notes.push("writes marked as critical".into());
        }
        let burst_gap_ns = bursts.map(|bursts| bursts.gap_ns);
        let (scale_time, scale_size) = (self.scale_time, self.scale_size);
        Ok(Prepared { window, burst_gap_ns, scale_time, scale_size, repeat, place, critical, requests, round_requests, notes })
    }
}

fn nanoseconds(seconds: f64) -> Ns {
    (seconds * SECOND as f64 + 0.5) as Ns
}

/// The requests of a window, or all of them.
fn windowed(source: Box<dyn Source>, window: Option<Window>) -> Box<dyn Source> {
    match window {
        Some(window) => Box::new(Windowed::new(source, window)),
        None => source,
    }
}

/// A transform whose window has been found.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    window: Option<Window>,
    /// What is less than this apart comes at once.
    pub(crate) burst_gap_ns: Option<Ns>,
    scale_time: Option<f64>,
    scale_size: Option<f64>,
    repeat: Option<Repeat>,
    place: Place,
    /// Whether writes are marked as critical.
    critical: bool,
    /// How many requests there will be, if known; fewer if some are clipped.
    requests: Option<u64>,
    /// How many there are before they are repeated.
    round_requests: Option<u64>,
    notes: Vec<String>,
}

impl Prepared {
    /// A bound of the time from the first request to the last, of a stream that takes so long.
    fn longest_ns(&self, stream_ns: Ns) -> f64 {
        let once_ns = self.window.map_or(stream_ns, |window| stream_ns.min(window.to_ns - window.from_ns)) as f64;
        let requests = self.round_requests.unwrap_or(1).max(1) as f64;
        let rounds = match self.repeat {
            Some(Repeat::Times(times)) => times as f64,
            Some(Repeat::ToRequests(wanted)) => (wanted as f64 / requests).ceil(),
            None => 1.0,
        };
        // Between two rounds is the mean time between requests.
        let gaps = if rounds > 1.0 { 1.0 + 1.0 / (requests - 1.0).max(1.0) } else { 1.0 };
        once_ns * self.scale_time.unwrap_or(1.0) * rounds * gaps
    }

    /// Puts the stages around a stream. `name` is whose requests they are, for messages.
    fn source(&self, name: &str, open: Opener, drive_sectors: u64, counts: Arc<Counts>) -> Result<Box<dyn Source>, WorkloadError> {
        let (window, burst_gap_ns) = (self.window, self.burst_gap_ns);
        let (scale_time, scale_size) = (self.scale_time, self.scale_size);
        let round: Opener = Arc::new(move || {
            let mut source = windowed(open()?, window);
            if let Some(gap_ns) = burst_gap_ns {
                source = Box::new(Bursts::new(source, gap_ns));
            }
            if let Some(factor) = scale_time {
                source = Box::new(ScaledTime { inner: source, factor });
            }
            if let Some(factor) = scale_size {
                source = Box::new(ScaledSize { inner: source, factor });
            }
            Ok(source)
        });
        let mut inner: Box<dyn Source> = match self.repeat {
            Some(repeat) => Box::new(Repeated::new(round, repeat)?),
            None => round()?,
        };
        if self.critical {
            inner = Box::new(CriticalWrites { inner });
        }
        Ok(Box::new(Placed::new(name, inner, self.place, drive_sectors, counts)?))
    }
}

#[cfg(test)]
mod tests {
    use super::testkit::{opener, read_all, times};
    use tinytail_core::commands::CommandKind;

    use super::*;

    #[test]
    fn the_order_is_the_stated_one() {
        let transform = Transform {
            window_s: Some((1e-9, 21e-9)),
            scale_time: Some(10.0),
            scale_size: Some(2.0),
            repeat: Some(2),
            offset_bytes: Some(512),
            region_bytes: Some(512),
            fit: Some(Fit::Fold),
            ..Transform::default()
        };
        let open = opener(&times(&[0, 1, 4, 20, 21]));
        let prepared = transform.prepare("w", &open, Some(5)).unwrap();
        assert_eq!(prepared.requests, Some(6));
        let out = read_all(prepared.source("w", open, 2, Arc::default()).unwrap(), 2);
        // The window begins anew at 0, is ten times as long, and the second round begins a mean gap of 95 after the first.
        let at: Vec<Ns> = out.iter().map(|arrival| arrival.at).collect();
        assert_eq!(at, [0, 30, 190, 285, 315, 475]);
        assert!(out.iter().all(|arrival| (arrival.command.sector, arrival.command.sectors) == (1, 1)));
    }

    #[test]
    fn writes_alone_are_marked_as_critical() {
        let mut given = times(&[0, 1, 2]);
        given[1].command.kind = CommandKind::Write;
        let open = opener(&given);
        let marked = |critical_writes: bool| {
            let transform = Transform { critical_writes, repeat: Some(2), ..Transform::default() };
            let prepared = transform.prepare("w", &open, None).unwrap();
            let out = read_all(prepared.source("w", open.clone(), 8, Arc::default()).unwrap(), 2);
            out.iter().map(|arrival| arrival.command.critical).collect::<Vec<_>>()
        };
        assert_eq!(marked(true), [false, true, false, false, true, false]);
        assert_eq!(marked(false), [false; 6]);
    }

    #[test]
    fn an_empty_window_is_refused() {
        let transform = Transform { window_s: Some((5.0, 6.0)), ..Transform::default() };
        let message = transform.prepare("w", &opener(&times(&[0, SECOND])), None).unwrap_err().to_string();
        assert!(message.contains("no request is between 5 s and 6 s") && message.contains("at 1.000 s"), "{message}");
    }

    #[test]
    fn faulty_values_are_named() {
        let none = Transform::default();
        for (transform, expected) in [
            (Transform { window_s: Some((2.0, 2.0)), ..none }, "`window_s` is [2, 2]"),
            (Transform { window_s: Some((-1.0, 2.0)), ..none }, "`window_s` is [-1, 2]"),
            (Transform { window_s: Some((0.0, f64::NAN)), ..none }, "`window_s` is"),
            (Transform { busiest_s: Some(0.0), ..none }, "`busiest_s` is 0"),
            (Transform { busiest_s: Some(1.0), window_s: Some((0.0, 1.0)), ..none }, "`busiest_s` and `window_s` are both"),
            (Transform { burst_gap_s: Some(BurstGap::Seconds(0.0)), ..none }, "`burst_gap_s` is 0; expected a time in seconds"),
            (Transform { burst_gap_s: Some(BurstGap::Seconds(f64::NAN)), ..none }, "`burst_gap_s` is NaN"),
            (Transform { scale_time: Some(0.0), ..none }, "`scale_time` is 0; expected a factor from 1e-9 to 1e9"),
            (Transform { scale_size: Some(f64::INFINITY), ..none }, "`scale_size` is inf"),
            (Transform { repeat: Some(0), ..none }, "`repeat` is 0"),
            (Transform { repeat: Some(1), repeat_to_requests: Some(1), ..none }, "`repeat_to_requests` and `repeat` are both"),
            (Transform { region_bytes: Some(0), ..none }, "`region_bytes` is 0; expected a multiple of 512 bytes above 0"),
            (Transform { offset_bytes: Some(100), ..none }, "`offset_bytes` is 100; expected a multiple of 512 bytes,"),
        ] {
            let message = transform.check("w").unwrap_err().to_string();
            assert!(message.starts_with("w: ") && message.contains(expected), "{message}");
        }
        assert_eq!(none.check("w"), Ok(()));
    }

    #[test]
    fn what_is_said_goes_before_what_the_file_says() {
        let file = Transform { window_s: Some((0.0, 1.0)), repeat: Some(3), fit: Some(Fit::Clip), ..Transform::default() };
        let said = Transform { busiest_s: Some(5.0), repeat_to_requests: Some(9), scale_time: Some(2.0), ..Transform::default() };
        let both = said.over(&file);
        assert_eq!((both.window_s, both.busiest_s), (None, Some(5.0)));
        assert_eq!((both.repeat, both.repeat_to_requests), (None, Some(9)));
        assert_eq!((both.fit, both.scale_time), (Some(Fit::Clip), Some(2.0)));
        assert_eq!(Transform::default().over(&file), file);
    }
}
