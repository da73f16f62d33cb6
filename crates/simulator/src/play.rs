//! Plays a stream of requests on a drive, in virtual time.

use crate::control::Control;
use tinytail_config::counted;
use tinytail_core::drive::Drive;
use tinytail_core::observe::Observer;
use tinytail_core::units::{Ns, SECOND, TIME_MAX};
use tinytail_workload::{Arrival, Pacing, Source, Streams, Timing, WorkloadError};

mod bursts;
mod resting;
mod resumed;
mod threads;

/// Requests that are taken from a source at a time.
const BATCH: usize = 64;
/// How many requests ahead of its submission a request's map entry is fetched, at least. They are fetched as many at a time,
/// because the processor looks up the addresses of several at once as fast as that of one.
const AHEAD: usize = 16;
/// Events between two looks at the switch and at the clock.
const LOOK_EVERY: u32 = 1024;
/// Simulated time without progress, while requests are outstanding, after which a run is stuck.
const STUCK_AFTER_NS: Ns = 10 * SECOND;
/// Simulated time between two looks at the oldest write.
const LOOK_AT_WRITES_EVERY_NS: Ns = SECOND;
/// Looks at a drive that handles events without progress after which a run is stuck, whatever its clock says.
const STUCK_AFTER_LOOKS: u32 = 20_000;
/// Why a run ends whose drive has no event left.
const STANDSTILL: &str = "No event is left that could complete one.";
/// What a run may take beyond the last arrival, to be kept free of the latest time that an event can have.
const TIME_MARGIN: Ns = 24 * 3600 * SECOND;
/// The latest time at which a request may arrive.
pub(crate) const ARRIVAL_MAX: Ns = TIME_MAX - TIME_MARGIN;

/// How playing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Every request was submitted and completed.
    Complete,
    /// The control's switch.
    Cancelled,
    /// Requests, or writes alone, stopped completing: since when, and what went on.
    Stuck(String),
    /// The host asked for something impossible.
    Faulty(String),
    /// The workload can't be read on: its trace has changed, say.
    Unread(String),
    /// A read returned wrong data.
    WrongData(String),
}

/// How playing ends where its requests can't be read on.
fn unread(error: WorkloadError) -> Ending {
    match error {
        WorkloadError::Interrupted => Ending::Cancelled,
        _ => Ending::Unread(error.to_string()),
    }
}

/// Requests ahead of the drive.
struct Ahead<'a> {
    source: &'a mut dyn Source,
    batch: Vec<Arrival>,
    next: usize,
    /// Requests of the batch whose map entries have been fetched.
    fetched: usize,
    exhausted: bool,
}

impl<'a> Ahead<'a> {
    fn new(source: &'a mut dyn Source) -> Self {
        Self { source, batch: Vec::with_capacity(BATCH + 2 * AHEAD), next: 0, fetched: 0, exhausted: false }
    }

    /// Takes the next request.
    fn take<O: Observer>(&mut self, drive: &Drive<O>) -> Result<Option<Arrival>, WorkloadError> {
        self.look_ahead(drive)?;
        let taken = self.next().copied();
        self.next += usize::from(taken.is_some());
        Ok(taken)
    }

    /// The next request, where `look_ahead` has looked for it.
    #[inline(always)]
    fn next(&self) -> Option<&Arrival> {
        self.batch.get(self.next)
    }

    /// Keeps some requests at hand, and fetches the map entries of those that come later.
    #[inline(always)]
    fn look_ahead<O: Observer>(&mut self, drive: &Drive<O>) -> Result<(), WorkloadError> {
        if self.batch.len() - self.next <= 2 * AHEAD && !self.exhausted {
            self.batch.drain(..self.next);
            self.fetched -= self.next;
            self.next = 0;
            self.exhausted = self.source.fill(&mut self.batch, BATCH)? == 0;
        }
        if self.next + AHEAD >= self.fetched && self.fetched < self.batch.len() {
            let upto = (self.next + 2 * AHEAD).min(self.batch.len());
            for ahead in &self.batch[self.fetched..upto] {
                drive.prefetch(&ahead.command);
            }
            self.fetched = upto;
        }
        Ok(())
    }

    /// What has been taken from the source and not been issued, after `first`.
    fn keep(mut self, first: Option<Arrival>) -> Vec<Arrival> {
        first.into_iter().chain(self.batch.drain(self.next..)).collect()
    }

    /// Takes no more requests.
    fn end(&mut self) {
        self.exhausted = true;
        self.batch.clear();
        (self.next, self.fetched) = (0, 0);
    }
}

/// Plays `source` to its end or until `enough` says so, and waits for the last completion. `offset_ns` is added to every
/// open-loop arrival. The control is given the number of completed requests now and then.
pub fn play<O: Observer>(
    drive: &mut Drive<O>,
    source: &mut dyn Source,
    pacing: Pacing,
    offset_ns: Ns,
    control: &Control,
    enough: impl Fn(&Drive<O>) -> bool,
) -> Ending {
    if pacing == Pacing::Bursts {
        return bursts::play_bursts(drive, source, offset_ns, control, enough);
    }
    let mut ahead = Ahead::new(source);
    let mut watch = Watch::new(drive, control);
    let mut in_flight = 0u32;
    let depth = room(pacing);
    let has_times = pacing.has_times();
    if let Err(error) = ahead.look_ahead(drive) {
        return unread(error);
    }
    loop {
        // Submit what is due, up to the depth: what has times of its own if it comes before the next event.
        while in_flight < depth {
            let Some(arrival) = ahead.next() else { break };
            let asked = if has_times { arrival.at + offset_ns } else { drive.now() };
            if has_times {
                // One that has waited for room is late.
                let at = asked.max(drive.now());
                // An event at the same time comes first.
                if drive.next_event().is_some_and(|event| event <= at) {
                    break;
                }
                if at > ARRIVAL_MAX {
                    return too_late(at);
                }
                if in_flight == 0 {
                    watch.last_progress = at;
                }
            }
            if let Err(error) = drive.submit_to(arrival.queue, asked, arrival.command) {
                return Ending::Faulty(error.to_string());
            }
            in_flight += 1;
            ahead.next += 1;
            if let Err(error) = ahead.look_ahead(drive) {
                return unread(error);
            }
            // A request may complete at once.
            in_flight -= watch.count_completions(drive);
        }
        if ahead.next().is_none() && in_flight == 0 {
            return watch.end(drive);
        }
        if !drive.step() {
            return Ending::Stuck(STANDSTILL.into());
        }
        in_flight -= watch.count_completions(drive);
        watch.until_look -= 1;
        if watch.until_look == 0 {
            if let Some(ending) = watch.look(drive, in_flight > 0) {
                return ending;
            }
            if enough(drive) {
                ahead.end();
            }
        }
    }
}

/// How many requests of a stream may be outstanding.
fn room(pacing: Pacing) -> u32 {
    match pacing {
        Pacing::Closed { depth } => depth,
        Pacing::Bounded { outstanding_max } => outstanding_max,
        Pacing::Open | Pacing::Bursts => u32::MAX,
    }
}

/// Plays all streams of a workload at once, each at its own pacing, as [`play`] does with one.
pub fn play_streams<O: Observer>(
    drive: &mut Drive<O>,
    streams: &mut Streams,
    offset_ns: Ns,
    control: &Control,
    enough: impl Fn(&Drive<O>) -> bool,
) -> Ending {
    match &mut streams.streams[..] {
        [one] if streams.requests == u64::MAX && one.timing == Timing::default() => {
            play(drive, one.source.as_mut(), one.pacing, offset_ns, control, enough)
        }
        several if several.iter().any(|stream| stream.pacing == Pacing::Bursts) => {
            Ending::Faulty("bursts are of a whole workload: they have no other stream beside them, no limit and no timing".into())
        }
        _ => threads::play_threads(drive, streams, offset_ns, control, enough),
    }
}

/// Plays the streams of a workload for a time, as [`play_streams`] does, and waits for what is outstanding then. They go on from
/// there, when they are played again.
pub fn play_for<O: Observer>(drive: &mut Drive<O>, streams: &mut Streams, offset_ns: Ns, time_ns: Ns, control: &Control) -> Ending {
    threads::play_for(drive, streams, offset_ns, time_ns, control)
}

/// Looks at a run now and then: tells of its progress, and finds out whether it must end.
struct Watch<'a> {
    control: &'a Control,
    completed: u64,
    last_progress: Ns,
    progress: u64,
    idle_looks: u32,
    until_look: u32,
    looked_at_writes: Ns,
}

impl<'a> Watch<'a> {
    fn new<O: Observer>(drive: &Drive<O>, control: &'a Control) -> Self {
        Self {
            control,
            completed: 0,
            last_progress: drive.now(),
            progress: drive.progress(),
            idle_looks: 0,
            until_look: LOOK_EVERY,
            looked_at_writes: drive.now(),
        }
    }

    /// Counts the requests that have completed since the last call.
    #[inline(always)]
    fn count_completions<O: Observer>(&mut self, drive: &mut Drive<O>) -> u32 {
        let completed = drive.count_completions();
        self.completed += completed as u64;
        completed as u32
    }

    /// To be called when `until_look` has counted down. Returns how the run must end, if it must.
    fn look<O: Observer>(&mut self, drive: &mut Drive<O>, outstanding: bool) -> Option<Ending> {
        self.until_look = LOOK_EVERY;
        self.control.advance(self.completed);
        if let Some(wrong) = verdict(drive) {
            return Some(wrong);
        }
        if self.control.is_cancelled() {
            return Some(Ending::Cancelled);
        }
        if drive.now() > ARRIVAL_MAX {
            return Some(Ending::Faulty(format!(
                "the run reached {:.1} days of simulated time, more than can be simulated",
                days(drive.now())
            )));
        }
        self.idle_looks += 1;
        if !outstanding || drive.progress() != self.progress {
            self.progress = drive.progress();
            self.last_progress = drive.now();
            self.idle_looks = 0;
        } else if self.idle_looks > STUCK_AFTER_LOOKS {
            return Some(Ending::Stuck("Events go on and nothing gets done.".into()));
        } else if drive.now() - self.last_progress > STUCK_AFTER_NS {
            let seconds = STUCK_AFTER_NS / SECOND;
            return Some(Ending::Stuck(format!("Nothing got done for {seconds} s of simulated time.")));
        }
        self.look_at_writes(drive)
    }

    /// Ends a run in which a write gets nowhere while reads go on, as where they suspend an erase again and again.
    fn look_at_writes<O: Observer>(&mut self, drive: &Drive<O>) -> Option<Ending> {
        if drive.now() - self.looked_at_writes < LOOK_AT_WRITES_EVERY_NS {
            return None;
        }
        self.looked_at_writes = drive.now();
        let waited = drive.now() - drive.oldest_write()?;
        let counters = drive.counters();
        (waited > self.control.write_stall()).then(|| {
            Ending::Stuck(format!(
                "One of them, a write, has been in the device for {:.1} s of simulated time while others went on; erases and programs were \
                 suspended {}, and blocks erased {}.",
                waited as f64 / SECOND as f64,
                counted(counters.flash.suspensions, "time"),
                counted(counters.gc.erases, "time")
            ))
        })
    }

    /// How a run ends that has nothing left to do.
    fn end<O: Observer>(&self, drive: &Drive<O>) -> Ending {
        self.control.advance(self.completed);
        verdict(drive).unwrap_or(Ending::Complete)
    }
}

fn too_late(at: Ns) -> Ending {
    Ending::Faulty(format!(
        "a request arrives after {:.1} days of simulated time, warming up included; at most {:.0} days can be simulated. \
         Play a part of the workload, with --requests, or make its requests come sooner, with --scale-time 0.5",
        days(at),
        days(ARRIVAL_MAX)
    ))
}

fn days(ns: Ns) -> f64 {
    ns as f64 / (24 * 3600 * SECOND) as f64
}

fn verdict<O: Observer>(drive: &Drive<O>) -> Option<Ending> {
    drive.mismatch().map(|what| Ending::WrongData(what.to_string()))
}
