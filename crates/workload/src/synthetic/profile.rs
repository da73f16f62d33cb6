//! A stand-in for a recorded workload: independent flows of reads, of writes or of both, each with rates that vary over time,
//! pauses, runs of sequential requests and revisited addresses, all measured on the workload that it stands in for.
//!
//! A flow keeps the ends of its recent runs. A request continues one of them, mostly the most recent, or starts a new run:
//! where an earlier run started, or else at a place that the flow has not touched yet, somewhere in one of its regions. So
//! that new runs do not touch old places by accident, the address space is in lanes, of a MiB unless the profile says otherwise,
//! each of which fills from near its start.
//!
//! A flow that sweeps goes through its regions in order instead, in chunks, several of them side by side.

use rustc_hash::FxHashMap;
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::{Ns, SECOND, SECTOR_BYTES};

use super::bursts::Bursts;
use super::sweep::Sweep;
use crate::error::WorkloadError;
use crate::random::{Chance, Random, Weighted};
use crate::source::{Arrival, Source};

/// Runs start and end at multiples of 4 KiB; a run that does not end there is not continued.
const PAGE_SECTORS: u64 = 4096 / SECTOR_BYTES as u64;

/// The first run of a lane begins at one of this many of its first pages, so that runs begin on all channels and planes alike.
const LANE_STARTS: u64 = 64;

/// How many lanes are tried for a new run before the region is taken to be full.
const LANE_TRIES: usize = 16;

/// How many runs a flow keeps open. Fewer than the 32 requests among which a sequential predecessor is looked for, because
/// the other flow's requests are among them.
const RUNS_MAX: usize = 16;

/// How many starts of runs a flow remembers for revisits.
const STARTS_MAX: usize = 1 << 16;

/// One request, in the unit in which rates are integrated over time: thousandths of a request per second, times nanoseconds.
const ONE_REQUEST: f64 = 1e3 * SECOND as f64;

/// A checked profile.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) flows: Vec<FlowProfile>,
    /// Whether the flows burst at the same times.
    pub(crate) shared_bursts: bool,
}

/// A checked flow: rates and shares are in range, lists are not empty, regions are not empty.
#[derive(Clone, Debug)]
pub(crate) struct FlowProfile {
    pub(crate) kinds: Kinds,
    pub(crate) start_s: u64,
    /// Length of each of the periods of `rates_per_s`, in seconds.
    pub(crate) period_s: u64,
    pub(crate) rates_per_s: Vec<f64>,
    pub(crate) jitter_share: f64,
    pub(crate) pause_share: f64,
    pub(crate) pause_ns: f64,
    pub(crate) burst_bias: f64,
    pub(crate) sequential_share: f64,
    pub(crate) interleave_share: f64,
    pub(crate) revisit_share: f64,
    pub(crate) revisit_evenly: bool,
    pub(crate) lane_pages: u64,
    pub(crate) start_sizes: Vec<(u32, f64)>,
    pub(crate) continuation_sizes: Vec<(u32, f64)>,
    /// First page, number of pages, weight.
    pub(crate) regions: Vec<(u64, u64, f64)>,
    /// Added to every address.
    pub(crate) offset_sectors: u64,
    pub(crate) sweep: Option<SweepProfile>,
}

/// What a flow does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kinds {
    /// Requests of one kind.
    One(CommandKind),
    /// Runs that write, this share of them, and runs that read.
    Mixed { write_share: f64 },
}

/// How a flow goes through its regions in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SweepProfile {
    /// Length of a chunk, which one run of requests covers.
    pub(crate) chunk_sectors: u64,
    /// How many chunks are open at a time.
    pub(crate) parallel: usize,
}

impl Profile {
    pub(crate) fn source(&self, seed: u64, requests: Option<u64>) -> ProfileSource {
        // The flows must not share a stream of bits.
        let mut seeds = Random::new(seed);
        let flows: Vec<_> = (0..).zip(&self.flows).map(|(queue, flow)| (flow, queue, Random::new(seeds.bits()))).collect();
        // Flows with the same bursts are one process, each of whose requests belongs to one of them by chance: a Poisson process
        // whose rate varies is split so into independent ones of proportional rates.
        let shared = flows.first().filter(|_| self.shared_bursts).map(|(_, _, random)| random.clone().bits());
        let flows = flows.into_iter().map(|(flow, queue, random)| {
            let burst_seed = shared.unwrap_or_else(|| random.clone().bits());
            Flow::new(flow, queue, random, burst_seed)
        });
        ProfileSource { flows: flows.collect(), left: requests.unwrap_or(u64::MAX) }
    }

    /// The first sector beyond every request.
    pub(crate) fn end_sector(&self) -> u64 {
        self.flows.iter().map(FlowProfile::end_sector).max().unwrap_or(0)
    }

    /// The expected number of requests.
    pub(crate) fn requests_expected(&self) -> u64 {
        self.flows.iter().map(FlowProfile::requests_expected).sum::<f64>().round() as u64
    }
}

impl FlowProfile {
    pub(crate) fn end_sector(&self) -> u64 {
        let end_page = self.regions.iter().map(|(first, pages, _)| first + pages).max().unwrap_or(0);
        end_page * PAGE_SECTORS + self.offset_sectors
    }

    fn requests_expected(&self) -> f64 {
        self.rates_per_s.iter().sum::<f64>() * self.period_s as f64
    }

    /// The rate between pauses that makes up for the pauses, or none if the pauses alone take longer than the requests may.
    pub(crate) fn rate_between_pauses(&self, rate_per_s: f64) -> Option<f64> {
        if rate_per_s == 0.0 {
            return Some(0.0);
        }
        let gap_s = 1.0 / rate_per_s - self.pause_share * self.pause_ns / SECOND as f64;
        (gap_s > 0.0).then(|| 1.0 / gap_s)
    }
}

/// The flows, merged in order of time; at equal times the first goes first.
pub(crate) struct ProfileSource {
    flows: Vec<Flow>,
    left: u64,
}

impl Source for ProfileSource {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let limit = limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        for count in 0..limit {
            let next = self.flows.iter_mut().filter(|flow| flow.at.is_some()).min_by_key(|flow| flow.at);
            match next.and_then(Flow::take) {
                Some(arrival) => out.push(arrival),
                None => return Ok(count),
            }
            self.left -= 1;
        }
        Ok(limit)
    }
}

/// An open run of sequential requests.
#[derive(Clone, Copy)]
struct Run {
    end_sector: u64,
    kind: CommandKind,
    /// Whether it goes where earlier requests went; otherwise it ends where it would.
    revisits: bool,
}

/// What the runs of a flow do.
enum Doing {
    One(CommandKind),
    /// Both, and how often they write.
    Mixed(Chance),
}

/// One flow in progress.
struct Flow {
    /// Its place among the flows, which is its queue.
    queue: u32,
    doing: Doing,
    random: Random,
    start_s: u64,
    period_s: u64,
    /// Thousandths of a request per second, for each period.
    rates: Vec<u64>,
    jitter_share: f64,
    bursts: Bursts,
    pause: Chance,
    pause_ns: f64,
    continues: Chance,
    interleaves: Chance,
    revisits: Chance,
    /// Places are revisited alike, and not the more the more often they were.
    evenly: bool,
    lane_pages: u64,
    start_sizes: Weighted<u32>,
    continuation_sizes: Weighted<u32>,
    regions: Weighted<(u64, u64)>,
    /// The first sector beyond all regions, before the offset is added.
    end_sector: u64,
    offset_sectors: u64,
    sweep: Option<Sweep>,
    /// When the next request arrives; none after the end of the profile.
    at: Option<Ns>,
    second: u64,
    jitter: f64,
    /// The open runs, the most recent first.
    runs: Vec<Run>,
    /// How many pages of a lane are filled, by lane.
    fronts: FxHashMap<u64, u64>,
    /// Where runs started.
    starts: Vec<u64>,
    starts_next: usize,
}

impl Flow {
    fn new(profile: &FlowProfile, queue: u32, random: Random, burst_seed: u64) -> Self {
        let bursts = Bursts::new(profile.burst_bias, profile.period_s * SECOND, burst_seed);
        let between = |rate: &f64| profile.rate_between_pauses(*rate).unwrap_or(0.0);
        let mut flow = Self {
            queue,
            doing: match profile.kinds {
                Kinds::One(kind) => Doing::One(kind),
                Kinds::Mixed { write_share } => Doing::Mixed(Chance::new(write_share)),
            },
            random,
            start_s: profile.start_s,
            period_s: profile.period_s,
            rates: profile.rates_per_s.iter().map(|rate| (between(rate) * 1e3) as u64).collect(),
            jitter_share: profile.jitter_share,
            bursts,
            pause: Chance::new(profile.pause_share),
            pause_ns: profile.pause_ns,
            continues: Chance::new(profile.sequential_share),
            interleaves: Chance::new(profile.interleave_share),
            revisits: Chance::new(profile.revisit_share),
            evenly: profile.revisit_evenly,
            lane_pages: profile.lane_pages,
            start_sizes: Weighted::new(profile.start_sizes.iter().map(|(size, weight)| (*weight, *size))),
            continuation_sizes: Weighted::new(profile.continuation_sizes.iter().map(|(size, weight)| (*weight, *size))),
            regions: Weighted::new(profile.regions.iter().map(|(first, pages, weight)| (*weight, (*first, *pages)))),
            end_sector: profile.end_sector() - profile.offset_sectors,
            offset_sectors: profile.offset_sectors,
            sweep: profile.sweep.map(|sweep| Sweep::new(sweep, &profile.regions)),
            at: None,
            second: u64::MAX,
            jitter: 0.0,
            runs: Vec::with_capacity(RUNS_MAX + 1),
            fronts: FxHashMap::default(),
            starts: Vec::new(),
            starts_next: 0,
        };
        flow.at = flow.next_time(profile.start_s * SECOND);
        flow
    }

    fn take(&mut self) -> Option<Arrival> {
        let at = self.at?;
        self.at = self.next_time(at);
        Some(Arrival { at, command: self.command(), queue: self.queue, latency_ns: None })
    }

    /// Waits until the rate, integrated over time, makes up an exponential number of requests.
    fn next_time(&mut self, from: Ns) -> Option<Ns> {
        let mut at = from;
        if self.random.happens(self.pause) {
            at += (self.random.exponential() * self.pause_ns) as Ns;
        }
        let mut need = (self.random.exponential() * ONE_REQUEST) as u64;
        loop {
            let second = at / SECOND;
            let rate = *self.rates.get(usize::try_from((second - self.start_s) / self.period_s).ok()?)?;
            let slot = self.bursts.slot(at - self.start_s * SECOND);
            if second != self.second {
                self.second = second;
                // Every second one makes up for the one before it, so that periods keep their rates.
                self.jitter =
                    if (second - self.start_s) % 2 == 1 { -self.jitter } else { (2.0 * self.random.unit() - 1.0) * self.jitter_share };
            }
            let rate = (rate as f64 * (1.0 + self.jitter) * slot.factor) as u64;
            let end = (self.start_s * SECOND + slot.end_ns).min((second + 1) * SECOND);
            let supply = rate.saturating_mul(end - at);
            if need < supply {
                return Some(at + need / rate);
            }
            need -= supply;
            at = end;
        }
    }

    fn command(&mut self) -> Command {
        if let Some(sweep) = &mut self.sweep {
            let (sector, sectors) = sweep.next(&mut self.random, &self.start_sizes, &self.continuation_sizes);
            return Command { kind: self.next_kind(), sector: sector + self.offset_sectors, sectors, critical: false };
        }
        let (kind, sector, sectors, revisits) = self.continued().unwrap_or_else(|| self.started());
        let end_sector = sector + u64::from(sectors);
        self.fill_lanes(sector / PAGE_SECTORS, (end_sector + self.offset_sectors).div_ceil(PAGE_SECTORS));
        if end_sector % PAGE_SECTORS == 0 {
            self.runs.insert(0, Run { end_sector, kind, revisits });
            self.runs.truncate(RUNS_MAX);
        }
        Command { kind, sector: sector + self.offset_sectors, sectors, critical: false }
    }

    /// Whether a new run reads or writes.
    fn next_kind(&mut self) -> CommandKind {
        match self.doing {
            Doing::One(kind) => kind,
            Doing::Mixed(writes) if self.random.happens(writes) => CommandKind::Write,
            Doing::Mixed(_) => CommandKind::Read,
        }
    }

    /// The next request of an open run.
    fn continued(&mut self) -> Option<(CommandKind, u64, u32, bool)> {
        if self.runs.is_empty() || !self.random.happens(self.continues) {
            return None;
        }
        let mut index = 0;
        while index + 1 < self.runs.len() && self.random.happens(self.interleaves) {
            index += 1;
        }
        let run = self.runs.remove(index);
        let sectors = self.continuation_sizes.draw(&mut self.random);
        let page = run.end_sector / PAGE_SECTORS;
        // With an offset, the run itself has touched the page in which it ended.
        let own = u64::from(self.offset_sectors > 0);
        let free = run.revisits || page % self.lane_pages + own >= self.front(page / self.lane_pages);
        let fits = run.end_sector + u64::from(sectors) <= self.end_sector;
        (free && fits).then_some((run.kind, run.end_sector, sectors, run.revisits))
    }

    /// The first request of a new run.
    fn started(&mut self) -> (CommandKind, u64, u32, bool) {
        let kind = self.next_kind();
        let sectors = self.start_sizes.draw(&mut self.random);
        let asked = self.random.happens(self.revisits);
        let untouched = if asked { None } else { self.untouched_page() };
        let (sector, revisits) = match untouched {
            Some(page) => (page * PAGE_SECTORS, false),
            None if self.starts.is_empty() => (self.page_in_region() * PAGE_SECTORS, false),
            None => {
                let (index, _) = self.random.below(self.starts.len() as u64);
                (self.starts[index as usize], true)
            }
        };
        // A request that would leave the span is moved to its end.
        let sector = sector.min((self.end_sector - u64::from(sectors)) / PAGE_SECTORS * PAGE_SECTORS);
        if revisits && self.evenly {
            // It is among the starts.
        } else if self.starts.len() < STARTS_MAX {
            self.starts.push(sector);
        } else {
            self.starts[self.starts_next] = sector;
            self.starts_next = (self.starts_next + 1) % STARTS_MAX;
        }
        (kind, sector, sectors, revisits)
    }

    fn page_in_region(&mut self) -> u64 {
        let (first, pages) = self.regions.draw(&mut self.random);
        first + self.random.below(pages).0
    }

    /// The first page of a lane of a region that this flow has not touched, if one is found.
    fn untouched_page(&mut self) -> Option<u64> {
        for _ in 0..LANE_TRIES {
            let page = self.page_in_region();
            let lane = page / self.lane_pages;
            let front = self.fronts.get(&lane).copied().unwrap_or(page % LANE_STARTS);
            if front < self.lane_pages {
                return Some(lane * self.lane_pages + front);
            }
        }
        None
    }

    fn front(&self, lane: u64) -> u64 {
        self.fronts.get(&lane).copied().unwrap_or(0)
    }

    /// Records that the pages from `first` to before `end` have been touched.
    fn fill_lanes(&mut self, first: u64, end: u64) {
        for lane in first / self.lane_pages..end.div_ceil(self.lane_pages) {
            let filled = (end - lane * self.lane_pages).min(self.lane_pages);
            let front = self.fronts.entry(lane).or_default();
            *front = filled.max(*front);
        }
    }
}
