//! What happens over simulated time, in equal windows that widen as a run gets longer.
//!
//! Nobody knows beforehand how long a run will take. So windows start short, and whenever there would be too many of them,
//! neighbours are merged in pairs and all windows become twice as wide. Counts are added, so nothing is lost; latencies are
//! counted in classes, which add as well.

use crate::classes::{Classed, class_from, classes};
use schemars::JsonSchema;
use serde::Serialize;
use tinytail_core::commands::CommandKind;
use tinytail_core::observe::Completion;
use tinytail_core::policy::view::View;
use tinytail_core::units::{Ns, SECOND};

/// Windows at most, if nobody asks for another number.
pub const WINDOWS: u32 = 200;
/// The most windows that may be asked for.
pub const WINDOWS_MAX: u32 = 10_000;
/// The width of the first windows.
const FIRST_WINDOW_NS: Ns = 100_000;
/// Latencies are counted in classes, this many bits for each doubling: 0.8 % wide.
pub(crate) const BITS: u32 = 7;
/// Bytes of a sector.
const SECTOR_BYTES: u64 = 512;

/// Erased blocks of the planes, as seen now and then.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FreeBlocks {
    /// Of the plane that had the fewest.
    min: u32,
    /// Means over all planes, summed over the looks.
    mean_sum: f64,
    looks: u32,
    /// Erased pages of the drive at the last look.
    pages: u64,
}

/// What the drive has done, by its own counters.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Work {
    /// Pages programmed for the host.
    host_pages: u64,
    /// Pages programmed by GC.
    gc_pages: u64,
    /// Pages programmed for whatever purpose.
    programmed_pages: u64,
    /// GCs completed.
    gcs: u64,
}

impl Work {
    fn since(self, then: Self) -> Self {
        Self {
            host_pages: self.host_pages - then.host_pages,
            gc_pages: self.gc_pages - then.gc_pages,
            programmed_pages: self.programmed_pages - then.programmed_pages,
            gcs: self.gcs - then.gcs,
        }
    }
}

/// Requests by class of latency, in order; only classes that have any.
pub(crate) type Classes = Vec<(u16, u32)>;

/// The least latency of a class.
pub(crate) fn class_first(class: u16) -> Ns {
    class_from(usize::from(class), BITS)
}

/// The greatest latency of a class.
pub(crate) fn class_last(class: u16) -> Ns {
    class_from(usize::from(class) + 1, BITS) - 1
}

/// Requests of one kind by class of latency, in the present window since the last look.
#[derive(Debug, Clone)]
struct OpenClasses {
    counts: Vec<u32>,
    /// The classes that have any.
    touched: Vec<u16>,
}

impl OpenClasses {
    fn new() -> Self {
        Self { counts: vec![0; classes(BITS)], touched: Vec::new() }
    }

    #[inline]
    fn record(&mut self, latency: Classed) {
        let class = latency.of(BITS);
        if self.counts[class] == 0 {
            self.touched.push(class as u16);
        }
        self.counts[class] = self.counts[class].saturating_add(1);
    }

    fn take(&mut self) -> Classes {
        if self.touched.len() > self.counts.len() / 32 {
            // Looking through all of them is faster than sorting many.
            self.touched.clear();
            self.touched.extend((0..self.counts.len() as u16).filter(|&class| self.counts[usize::from(class)] > 0));
        } else {
            self.touched.sort_unstable();
        }
        self.touched.drain(..).map(|class| (class, std::mem::take(&mut self.counts[usize::from(class)]))).collect()
    }
}

/// The requests of all classes.
fn requests(classes: &Classes) -> u64 {
    classes.iter().map(|&(_, count)| u64::from(count)).sum()
}

/// The erased pages of a drive at a time, and what was programmed until then.
#[derive(Debug, Clone, Copy)]
pub struct ErasedAt {
    /// Erased pages.
    pub erased_pages: u64,
    /// Pages programmed for the host.
    pub host_pages: u64,
    /// Pages programmed for whatever purpose.
    pub programmed_pages: u64,
}

/// What happened in one window.
#[derive(Debug, Clone, Default)]
struct Window {
    read_sectors: u64,
    write_sectors: u64,
    trims: u64,
    read_max_ns: Ns,
    /// Reads by class of latency.
    read_classes: Classes,
    /// Writes by class of latency.
    write_classes: Classes,
    work: Work,
    free: Option<FreeBlocks>,
}

impl Window {
    fn add(&mut self, other: &Self) {
        self.read_sectors += other.read_sectors;
        self.write_sectors += other.write_sectors;
        self.trims += other.trims;
        self.read_max_ns = self.read_max_ns.max(other.read_max_ns);
        self.work.host_pages += other.work.host_pages;
        self.work.gc_pages += other.work.gc_pages;
        self.work.programmed_pages += other.work.programmed_pages;
        self.work.gcs += other.work.gcs;
        self.free = match (self.free, other.free) {
            (Some(one), Some(two)) => {
                Some(FreeBlocks { min: one.min.min(two.min), mean_sum: one.mean_sum + two.mean_sum, looks: one.looks + two.looks, ..two })
            }
            (one, two) => one.or(two),
        };
        for (classes, more) in [(&mut self.read_classes, &other.read_classes), (&mut self.write_classes, &other.write_classes)] {
            if classes.is_empty() {
                classes.clone_from(more);
            } else if !more.is_empty() {
                *classes = merged(classes, more);
            }
        }
    }

    /// A percentile of the reads: the most that a latency of its class can be, within 0.8 % of the truth.
    fn read_us(&self, quantile: f64) -> Option<f64> {
        let wanted = ((requests(&self.read_classes) as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        let class = self.read_classes.iter().find(|&&(_, count)| {
            seen += u64::from(count);
            seen >= wanted
        });
        class.map(|&(class, _)| class_last(class).min(self.read_max_ns) as f64 / 1000.0)
    }
}

/// Two lists of counts by class as one.
fn merged(one: &Classes, two: &Classes) -> Classes {
    let mut all = Vec::with_capacity(one.len() + two.len());
    let (mut i, mut j) = (0, 0);
    while i < one.len() && j < two.len() {
        let ((left, count), (right, more)) = (one[i], two[j]);
        if left <= right {
            i += 1;
        }
        if right <= left {
            j += 1;
        }
        all.push(match left.cmp(&right) {
            std::cmp::Ordering::Less => (left, count),
            std::cmp::Ordering::Equal => (left, count.saturating_add(more)),
            std::cmp::Ordering::Greater => (right, more),
        });
    }
    all.extend_from_slice(&one[i..]);
    all.extend_from_slice(&two[j..]);
    all
}

/// A run over simulated time. Takes a comparison and a few counters for each request, and a bounded amount of memory.
#[derive(Debug, Clone)]
pub struct Series {
    /// Windows at most, while it goes on. Intervals need many, however few are shown.
    limit: usize,
    /// Windows at most, in the end.
    shown: usize,
    start_ns: Ns,
    window_ns: Ns,
    /// Where the present window ends.
    end_ns: Ns,
    /// The present window's number.
    present: usize,
    /// What is in the present window since the last look, but for its latencies.
    open: Window,
    open_reads: OpenClasses,
    open_writes: OpenClasses,
    /// What the drive had done at the last look.
    work: Work,
    windows: Vec<Window>,
}

impl Series {
    /// A series that starts at `start_ns`, of at most `limit` windows (at least one).
    pub fn new(start_ns: Ns, limit: u32) -> Self {
        Self {
            limit: limit.max(WINDOWS) as usize,
            shown: limit.max(1) as usize,
            start_ns,
            window_ns: FIRST_WINDOW_NS,
            end_ns: start_ns + FIRST_WINDOW_NS,
            present: 0,
            open: Window::default(),
            open_reads: OpenClasses::new(),
            open_writes: OpenClasses::new(),
            work: Work::default(),
            windows: Vec::new(),
        }
    }

    /// Whether `now` is beyond the present window.
    #[inline]
    pub fn is_over(&self, now: Ns) -> bool {
        now >= self.end_ns
    }

    /// Counts a request in the present window.
    #[inline]
    pub(crate) fn record(&mut self, completion: &Completion, latency: Classed) {
        match completion.kind {
            CommandKind::Read => {
                self.open.read_sectors += u64::from(completion.sectors);
                self.open.read_max_ns = self.open.read_max_ns.max(latency.ns);
                self.open_reads.record(latency);
            }
            CommandKind::Write => {
                self.open.write_sectors += u64::from(completion.sectors);
                self.open_writes.record(latency);
            }
            CommandKind::Trim => self.open.trims += 1,
        }
    }

    /// Ends the present window, as the drive is, and goes on to the window of the drive's time.
    #[inline(never)]
    pub fn look(&mut self, view: View<'_>) {
        let planes = view.geometry().planes();
        let erased = (0..planes).map(|plane| view.tables().erased_groups(view.tables().pool_of(plane)));
        let (min, sum) = erased.fold((u32::MAX, 0u64), |(min, sum), blocks| (min.min(blocks), sum + u64::from(blocks)));
        let pages = (0..planes).map(|plane| u64::from(view.tables().free_pages(plane))).sum();
        let free = FreeBlocks { min, mean_sum: sum as f64 / f64::from(planes), looks: 1, pages };
        let (host_pages, gc_pages, programmed_pages) = (view.host_pages(), view.gc_pages(), view.programmed_pages());
        self.end_window(free, Work { host_pages, gc_pages, programmed_pages, gcs: view.gcs() });
        self.go_to(view.now());
    }

    /// Puts what is open into the present window.
    fn end_window(&mut self, free: FreeBlocks, work: Work) {
        let mut open = std::mem::take(&mut self.open);
        (open.read_classes, open.write_classes) = (self.open_reads.take(), self.open_writes.take());
        open.free = Some(free);
        open.work = work.since(self.work);
        self.work = work;
        if self.windows.len() <= self.present {
            self.windows.resize_with(self.present + 1, Window::default);
        }
        self.windows[self.present].add(&open);
    }

    /// Makes the window of a time the present one, widening the windows as often as needed.
    fn go_to(&mut self, now: Ns) {
        self.widen(now, self.limit);
        self.present = ((now - self.start_ns) / self.window_ns) as usize;
        self.end_ns = self.start_ns + (self.present as Ns + 1) * self.window_ns;
    }

    /// Makes windows wider until a time is in one of the first `limit`.
    fn widen(&mut self, now: Ns, limit: usize) {
        while (now - self.start_ns) / self.window_ns >= limit as u64 {
            self.window_ns *= 2;
            self.windows = self
                .windows
                .chunks_mut(2)
                .map(|pair| {
                    let mut both = std::mem::take(&mut pair[0]);
                    pair.get(1).into_iter().for_each(|second| both.add(second));
                    both
                })
                .collect();
        }
    }

    /// The series up to the drive's time, the first request having arrived at `first_arrival`. Its sums are the run's.
    pub fn summary(&self, view: View<'_>, first_arrival: Ns) -> SeriesSummary {
        let mut all = self.clone();
        all.look(view);
        let length = view.now() - all.start_ns;
        all.widen(view.now(), all.shown);
        // At the very end of the last window nothing of the next one has passed.
        let windows = length.div_ceil(all.window_ns).max(all.windows.len() as u64);
        all.windows.resize_with(windows as usize, Window::default);
        all.columns(first_arrival.saturating_sub(all.start_ns), length)
    }

    /// Return what the drive had at the end of the window with a time in it. `None` if nothing had completed.
    pub fn erased_at(&self, at: Ns) -> Option<ErasedAt> {
        let passed = ((at - self.start_ns) / self.window_ns) as usize + 1;
        let windows = &self.windows[..passed.min(self.windows.len())];
        let free = windows.iter().rev().find_map(|window| window.free)?;
        let sum = |pages: fn(&Work) -> u64| windows.iter().map(|window| pages(&window.work)).sum();
        Some(ErasedAt {
            erased_pages: free.pages,
            host_pages: sum(|work| work.host_pages),
            programmed_pages: sum(|work| work.programmed_pages),
        })
    }

    /// Reads and writes by class of latency, window by window, up to now.
    pub(crate) fn classes(&self) -> [Vec<Classes>; 2] {
        let mut all = self.clone();
        all.end_window(FreeBlocks { min: 0, mean_sum: 0.0, looks: 1, pages: 0 }, self.work);
        all.windows.into_iter().map(|window| (window.read_classes, window.write_classes)).unzip::<_, _, Vec<_>, Vec<_>>().into()
    }

    /// The columns of a run that lasted so long, in which the first request arrived so long after its start.
    fn columns(&self, first: Ns, length: Ns) -> SeriesSummary {
        let mut summary = SeriesSummary { window_seconds: self.window_ns as f64 / SECOND as f64, ..SeriesSummary::default() };
        for (index, window) in self.windows.iter().enumerate() {
            let begin = index as Ns * self.window_ns;
            let end = length.min(begin + self.window_ns);
            let seconds = end.saturating_sub(begin.max(first)) as f64 / SECOND as f64;
            let rate = |count: f64| (seconds > 0.0).then(|| count / seconds);
            let bytes = (window.read_sectors + window.write_sectors) * SECTOR_BYTES;
            let (reads, writes) = (requests(&window.read_classes), requests(&window.write_classes));
            summary.reads.push(reads);
            summary.writes.push(writes);
            summary.read_bytes.push(window.read_sectors * SECTOR_BYTES);
            summary.write_bytes.push(window.write_sectors * SECTOR_BYTES);
            summary.requests_per_second.push(rate((reads + writes + window.trims) as f64));
            summary.mb_per_second.push(rate(bytes as f64 / 1e6));
            summary.read_p50_us.push(window.read_us(0.5));
            summary.read_p99_us.push(window.read_us(0.99));
            summary.read_p999_us.push(window.read_us(0.999));
            summary.read_max_us.push((reads > 0).then_some(window.read_max_ns as f64 / 1000.0));
            summary.free_blocks_min.push(window.free.map(|free| free.min));
            summary.free_blocks_mean.push(window.free.map(|free| free.mean_sum / f64::from(free.looks)));
            let Work { host_pages, gc_pages, programmed_pages, gcs } = window.work;
            summary.host_pages.push(host_pages);
            summary.gc_pages.push(gc_pages);
            summary.gcs.push(gcs);
            summary.write_amplification.push((host_pages > 0).then(|| programmed_pages as f64 / host_pages as f64));
        }
        summary
    }
}

/// A run over simulated time, in columns of one value for each window. Window `i` starts `i` times `window_seconds` after the
/// measured part does; the last one ends with the run. A request belongs to the window in which it completed. Counts are exact
/// and add up to the run's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Series")]
pub struct SeriesSummary {
    /// The width of a window.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub window_seconds: f64,
    /// Reads completed.
    pub reads: Vec<u64>,
    /// Writes completed.
    pub writes: Vec<u64>,
    /// Bytes of the reads completed.
    pub read_bytes: Vec<u64>,
    /// Bytes of the writes completed.
    pub write_bytes: Vec<u64>,
    /// Requests completed, trims too, for each second of simulated time from the first arrival on: the first and the last
    /// window's are by the part of it that passed since then; `None` where none did.
    pub requests_per_second: Vec<Option<f64>>,
    /// 10^6 bytes read and written for each second of the same time.
    pub mb_per_second: Vec<Option<f64>>,
    /// Median latency of the reads, at most 0.8 % above the truth, as are other percentiles; `None` without reads.
    pub read_p50_us: Vec<Option<f64>>,
    /// 99th percentile.
    pub read_p99_us: Vec<Option<f64>>,
    /// 99.9th percentile.
    pub read_p999_us: Vec<Option<f64>>,
    /// Maximum, exact.
    pub read_max_us: Vec<Option<f64>>,
    /// Erased blocks of the plane that had the fewest. Looked at when a window ends, at the first completion after it: the least
    /// of all looks; `None` where nothing completed.
    pub free_blocks_min: Vec<Option<u32>>,
    /// Erased blocks of a plane: the mean over planes and looks; `None` where nothing completed.
    pub free_blocks_mean: Vec<Option<f64>>,
    /// Pages programmed for the host.
    pub host_pages: Vec<u64>,
    /// Pages programmed by GC.
    pub gc_pages: Vec<u64>,
    /// GCs completed.
    pub gcs: Vec<u64>,
    /// Pages programmed, as parity and padding too, for each page programmed for the host; `None` without such pages.
    pub write_amplification: Vec<Option<f64>>,
}

#[cfg(test)]
mod tests;
