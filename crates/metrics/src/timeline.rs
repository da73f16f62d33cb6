//! A timeline of a run, or of a window of it: what dies and channels do, the GCs, the erased pages and the slowest reads, as a
//! trace for Perfetto.
//!
//! The thread that simulates keeps what dies and channels do in batches and hands full ones to a thread that writes. GCs and
//! the slowest reads are written at the end, when it is known who waited for whom. What is kept is bounded: at a number of
//! slices the timeline ends. The file appears under its name when it is complete, and not at all if it cannot be completed.

mod pen;
mod schema;

use crate::log::file::{Unfinished, reason};
use pen::Pen;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use thiserror::Error;
use tinytail_core::commands::CommandKind;
use tinytail_core::device::Device;
use tinytail_core::observe::{Completion, RequestAttribution};
use tinytail_core::policy::view::View;
use tinytail_core::request_timeline::{GcRecord, NOBODY, Run, Segment, TraceBuilder, Use};
use tinytail_core::units::{Ns, SECOND};

/// Slices that a timeline holds at most, if nobody asks for another number: some 120 MB, which Perfetto still opens.
pub const SLICES_MAX: u64 = 10_000_000;
/// Reads that are shown with their timelines, if nobody asks for another number.
pub const SLOW_READS: usize = 50;

/// Entries of a batch.
const BATCH: usize = 4096;
/// Full batches that may wait for the writer, some 8 MB.
const WAITING: usize = 32;
/// The least time between two looks at the erased pages.
const LOOK_NS: Ns = 100_000;
/// Slices of a GC: itself and its phases.
const GC_SLICES: u64 = 4;

/// What a timeline is to hold.
#[derive(Debug, Clone)]
pub struct WantedTimeline {
    /// Since when, in nanoseconds since the measured part began.
    pub from_ns: Ns,
    /// Up to when, exclusively; `None`: the end.
    pub to_ns: Option<Ns>,
    /// Slices at most. What lasts when there are so many is cut there; so it may become a few more.
    pub slices_max: u64,
    /// So many of the slowest reads.
    pub slow_reads: usize,
}

impl Default for WantedTimeline {
    fn default() -> Self {
        Self { from_ns: 0, to_ns: None, slices_max: SLICES_MAX, slow_reads: SLOW_READS }
    }
}

/// Why a timeline could not be written.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("cannot write the timeline to {path}: {why}")]
pub struct TimelineError {
    /// The file, as given.
    pub path: String,
    /// What went wrong.
    pub why: String,
}

/// What became of the timeline for Perfetto.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Timeline")]
pub struct TimelineNote {
    /// The file, as given.
    pub path: String,
    /// Slices in it; 0 if it was not written.
    pub slices: u64,
    /// GCs among them.
    pub gcs: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Why there is no file; `None` if there is one.
    pub error: Option<String>,
}

/// The time that is recorded, on the drive's clock, and what is 0 in the timeline.
#[derive(Debug, Clone, Copy)]
struct Frame {
    from: Ns,
    to: Ns,
    start_ns: Ns,
    first_id: u64,
}

impl Frame {
    /// Whether some of a time is recorded.
    fn overlaps(&self, from: Ns, to: Ns) -> bool {
        self.from < self.to && from < self.to && to > self.from
    }
}

/// A time in which a GC locked a channel.
#[derive(Debug, Clone, Copy)]
struct Lock {
    channel: u32,
    gc: u64,
    from: Ns,
    to: Ns,
}

/// Erased pages.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Erased {
    fewest: u32,
    mean: f64,
}

/// What goes to the writer at once.
#[derive(Debug, Clone, Copy)]
enum Entry {
    Ran(Run),
    Used(Use),
    Locked(Lock),
    Erased(Ns, Erased),
}

/// A read that may be among the slowest.
#[derive(Debug)]
struct Slow {
    completion: Completion,
    segments: Box<[Segment]>,
}

impl Slow {
    /// Of reads of one latency the first is the slowest.
    fn rank(&self) -> (Ns, Reverse<u64>) {
        (self.completion.completed - self.completion.arrived, Reverse(self.completion.id))
    }
}

impl PartialEq for Slow {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Slow {}

impl PartialOrd for Slow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Slow {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// A timeline under way. Dropped without `finish`, it leaves no file.
#[derive(Debug)]
pub struct Timeline {
    path: String,
    wanted: WantedTimeline,
    /// Holds no time until the measured part begins.
    frame: Frame,
    /// Slices recorded.
    slices: u64,
    /// When there were as many as there may be.
    full_at: Option<Ns>,
    next_look: Ns,
    erased: Option<Erased>,
    /// Of each die, what it ran last: it may be told in pieces.
    runs: Vec<Option<Run>>,
    /// Of each channel, what it carried last, whose end may lie ahead.
    uses: Vec<Option<Use>>,
    /// Of each channel, the GC that holds it, and since when.
    locks: Vec<(u64, Ns)>,
    gcs: Vec<GcRecord>,
    /// The slowest reads, the fastest of them first.
    slowest: BinaryHeap<Reverse<Slow>>,
    batch: Vec<Entry>,
    /// `None` once the writer is to end.
    full: Option<SyncSender<(Frame, Vec<Entry>)>>,
    writer: Option<JoinHandle<Result<Pen, String>>>,
}

impl Timeline {
    /// Starts a timeline of a drive on a device in a file.
    ///
    /// # Errors
    /// A file that cannot be written there.
    pub fn create(path: &str, device: &Device, wanted: WantedTimeline) -> Result<Self, TimelineError> {
        let refuse = |error| TimelineError { path: path.into(), why: reason(&error) };
        let (file, handle) = Unfinished::create(Path::new(path)).map_err(refuse)?;
        let pen = Pen::new(file, handle, &device.geometry);
        let (full, to_write) = sync_channel(WAITING);
        let spawned = std::thread::Builder::new().name("timeline".into()).spawn(move || write_all(pen, &to_write));
        let geometry = &device.geometry;
        Ok(Self {
            path: path.into(),
            wanted,
            frame: Frame { from: 0, to: 0, start_ns: 0, first_id: 0 },
            slices: 0,
            full_at: None,
            next_look: Ns::MAX,
            erased: None,
            runs: vec![None; geometry.dies() as usize],
            uses: vec![None; geometry.channels as usize],
            locks: vec![(NOBODY, 0); geometry.channels as usize],
            gcs: Vec::new(),
            slowest: BinaryHeap::new(),
            batch: Vec::with_capacity(BATCH),
            full: Some(full),
            writer: Some(spawned.map_err(refuse)?),
        })
    }

    /// The measured part begins, with this request.
    pub fn begin(&mut self, start_ns: Ns, first_id: u64) {
        let at = |ns: Ns| start_ns.saturating_add(ns);
        self.frame = Frame { from: at(self.wanted.from_ns), to: self.wanted.to_ns.map_or(Ns::MAX, at), start_ns, first_id };
        self.next_look = self.frame.from;
    }

    /// Whether it wants to look at the drive now.
    #[inline]
    pub fn wants_look(&self, now: Ns) -> bool {
        now >= self.next_look && now < self.frame.to
    }

    /// Looks at the erased pages, if it is time.
    pub fn look(&mut self, view: View<'_>) {
        let now = view.now();
        if !self.wants_look(now) {
            return;
        }
        let planes = view.geometry().planes();
        let pages = (0..planes).map(|plane| view.tables().free_pages(plane));
        let (fewest, sum) = pages.fold((u32::MAX, 0), |(fewest, sum), pages| (fewest.min(pages), sum + u64::from(pages)));
        let erased = Erased { fewest, mean: sum as f64 / f64::from(planes) };
        self.next_look = now + LOOK_NS;
        if self.erased.replace(erased) != Some(erased) {
            self.push(Entry::Erased(now, erased));
        }
    }

    /// See `Observer::die_ran`.
    pub fn die_ran(&mut self, run: &Run) {
        let last = &mut self.runs[run.die as usize];
        match last {
            Some(last) if last.to == run.from && Run { from: last.from, to: run.to, ..*run } == Run { to: run.to, ..*last } => {
                last.to = run.to;
            }
            _ => {
                if let Some(over) = last.replace(*run)
                    && self.frame.overlaps(over.from, over.to)
                {
                    self.record(Entry::Ran(over), run.to);
                }
            }
        }
    }

    /// See `Observer::channel_used`.
    pub fn channel_used(&mut self, used: &Use) {
        if let Some(over) = self.uses[used.channel as usize].replace(*used)
            && self.frame.overlaps(over.from, over.to)
        {
            self.record(Entry::Used(over), used.from);
        }
    }

    /// See `Observer::channel_idles`.
    pub fn channel_idles(&mut self, channel: u32, at: Ns, gc: u64) {
        let (holder, from) = self.locks[channel as usize];
        if gc == holder {
            return;
        }
        self.locks[channel as usize] = (gc, at);
        if holder != NOBODY && self.frame.overlaps(from, at) {
            self.record(Entry::Locked(Lock { channel, gc: holder, from, to: at }), at);
        }
    }

    /// See `Observer::gc_ended`.
    pub fn gc_ended(&mut self, gc: &GcRecord) {
        if self.frame.overlaps(gc.started, gc.ended) {
            self.gcs.push(*gc);
            self.count(GC_SLICES, gc.ended);
        }
    }

    /// A request has completed; the trace builder knows its timeline.
    #[inline]
    pub fn completed(&mut self, completion: &Completion, attribution: RequestAttribution<'_>, builder: &mut TraceBuilder) {
        if completion.kind == CommandKind::Read && self.frame.overlaps(completion.arrived, completion.completed) {
            self.consider(completion, attribution, builder);
        }
    }

    fn consider(&mut self, completion: &Completion, attribution: RequestAttribution<'_>, builder: &mut TraceBuilder) {
        let full = self.slowest.len() >= self.wanted.slow_reads;
        let rank = (completion.completed - completion.arrived, Reverse(completion.id));
        if full && self.slowest.peek().is_none_or(|Reverse(least)| rank <= least.rank()) {
            return;
        }
        if full {
            self.slowest.pop();
        }
        let segments = builder.timeline(completion, attribution).into();
        self.slowest.push(Reverse(Slow { completion: *completion, segments }));
    }

    /// Records a slice at a time that is not before its end.
    fn record(&mut self, slice: Entry, now: Ns) {
        self.push(slice);
        self.count(1, now);
    }

    /// Counts slices, and ends the timeline now if there are as many as there may be.
    #[inline]
    fn count(&mut self, slices: u64, now: Ns) {
        self.slices += slices;
        if self.slices >= self.wanted.slices_max && now < self.frame.to {
            self.frame.to = now;
            self.full_at = Some(now);
        }
    }

    fn push(&mut self, entry: Entry) {
        self.batch.push(entry);
        if self.batch.len() == BATCH {
            self.hand_over();
        }
    }

    /// Gives the batch to the writer. If the writer has failed, which `finish` tells, the entries are dropped.
    #[inline(never)]
    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        if let Some(full) = &self.full
            && full.send((self.frame, batch)).is_err()
        {
            self.full = None;
        }
    }

    /// Ends the timeline of a run that ended at `end_ns`: writes what is left and `about`, pairs of key and value, and gives the
    /// file its name. Returns what became of it, and what is to be known of it.
    pub fn finish(mut self, end_ns: Ns, about: &[(String, String)]) -> (TimelineNote, Vec<String>) {
        let asked = self.frame;
        self.frame.to = self.frame.to.min(end_ns);
        let mut last: Vec<Entry> = self.runs.iter().flatten().map(|&run| Entry::Ran(run)).collect();
        last.extend(self.uses.iter().flatten().map(|&used| Entry::Used(used)));
        let locks = self.locks.iter().enumerate().filter(|(_, (gc, _))| *gc != NOBODY);
        last.extend(locks.map(|(channel, &(gc, from))| Entry::Locked(Lock { channel: channel as u32, gc, from, to: end_ns })));
        for entry in last {
            self.push(entry);
        }
        self.hand_over();
        let notes = self.notes(asked, end_ns);
        let path = std::mem::take(&mut self.path);
        let mut slow: Vec<Slow> = std::mem::take(&mut self.slowest).into_iter().map(|Reverse(slow)| slow).collect();
        slow.sort_unstable_by_key(|slow| (slow.completion.arrived, slow.completion.id));
        let (frame, gcs) = (self.frame, std::mem::take(&mut self.gcs));
        let written = self.join().and_then(|mut pen| {
            pen.write_end(frame, &gcs, &slow, about)?;
            pen.finish()
        });
        let note = match written {
            Ok((slices, bytes)) => {
                let gcs = gcs.iter().filter(|gc| frame.overlaps(gc.started, gc.ended)).count() as u64;
                TimelineNote { path, slices, gcs, bytes, error: None }
            }
            Err(why) => {
                let error = TimelineError { path: path.clone(), why }.to_string();
                TimelineNote { path, slices: 0, gcs: 0, bytes: 0, error: Some(error) }
            }
        };
        (note, notes)
    }

    fn notes(&self, asked: Frame, end_ns: Ns) -> Vec<String> {
        let seconds = |at: Ns| format!("{} s", (at - self.frame.start_ns) as f64 / SECOND as f64);
        let mut notes = Vec::new();
        if let Some(at) = self.full_at {
            notes.push(format!(
                "the timeline became full with {} slices: nothing from {} on is in it",
                self.wanted.slices_max,
                seconds(at)
            ));
        } else if asked.from >= end_ns && asked.from > asked.start_ns {
            notes.push(format!(
                "the timeline holds nothing: its window begins at {}, and the measured part ended at {}",
                seconds(asked.from),
                seconds(end_ns)
            ));
        } else if self.wanted.to_ns.is_some() && asked.to > end_ns {
            notes.push(format!(
                "the timeline's window reaches to {}, beyond the end of the measured part at {}",
                seconds(asked.to),
                seconds(end_ns)
            ));
        }
        notes
    }

    fn join(&mut self) -> Result<Pen, String> {
        self.full = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(_)) | None => Err("the thread that writes it broke off".into()),
        }
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // The writer removes its unfinished file before the program can end.
        drop(self.join());
    }
}

/// The thread that writes. It ends when the other side hangs up or at the first error.
fn write_all(mut pen: Pen, full: &Receiver<(Frame, Vec<Entry>)>) -> Result<Pen, String> {
    for (frame, batch) in full {
        for entry in batch {
            pen.write(frame, entry)?;
        }
    }
    Ok(pen)
}
