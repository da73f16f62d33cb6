//! Everything about the drive that changes, apart from the policies' own memory and the pending events.

use crate::attribution::Latencies;
use crate::design::Traits;
use crate::device::Device;
use crate::drive::levelling::Levelling;
use crate::drive::scrub::Scrubbing;
use crate::errors::PageErrors;
use crate::ftl::Books;
use crate::ftl::gc::Gc;
use crate::host::{Command, CommandKind};
use crate::host_queue::HostQueue;
use crate::ids::{BlockIx, DieIx, Lpn, NONE, PlaneIx};
use crate::observe::{CHANNEL_CATEGORIES, CHANNEL_IDLE, OCCUPANTS, Occupant};
use crate::policy::Serve;
use crate::rain::Rain;
use crate::ram::WriteBuffer;
use crate::sched::gather::GcGather;
use crate::sched::jobs::Job;
use crate::sched::late::Late;
use crate::sched::ops::{CLASSES, Op, Pool};
use crate::sched::registers::Registers;
use crate::units::Ns;
use crate::view::Work;

mod counters;

pub use counters::Counters;

/// What a die's running operation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing runs.
    Idle,
    /// The array reads; the channel comes next.
    ArrayRead,
    /// The page that the array has read waits until its cache register is empty.
    RegisterFull,
    /// Data leave the die, or wait for the channel to do so.
    TransferOut,
    /// The array programs.
    ArrayProgram,
    /// The array reads; the channel comes next for a command.
    CopybackRead,
    /// The array erases.
    Erase,
    /// A pulse is being cut.
    Suspending,
}

/// The progress of work that can be suspended: an erase or a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PulseState {
    /// When it first started.
    pub first_started: Ns,
    /// When it started or resumed, ramp excluded; may lie ahead.
    pub started: Ns,
    /// Array time done before `started`.
    pub done: Ns,
    /// Array time in all; 0 when nothing suspendable runs.
    pub total: Ns,
    /// Array time of one step.
    pub step: Ns,
    /// When the suspend policy wants to be asked again.
    pub ask_at: Ns,
    /// A cut is due at the end of the current step.
    pub cut_at_boundary: bool,
    /// What may be served while it is suspended.
    pub serve: Serve,
    /// The newest arrival when it was cut.
    pub cut_arrival: u64,
    /// The next step was cut and forfeited before: a verify pulse precedes it.
    pub repeats: bool,
    /// It was cut before.
    pub was_cut: bool,
    /// It was cut for free, and goes on for free.
    pub for_free: bool,
    /// Cuts in the middle of a step: each is one more recovery and one more ramp.
    pub extra_cycles: u32,
    /// Since when the die has had erases to run, counted from the first pulse of the first; `Ns::MAX` when it has none.
    pub pending_since: Ns,
    /// The last erase that made way on the die did so at once, rather than at a boundary.
    pub at_once: bool,
}

impl PulseState {
    pub const NONE: Self = Self {
        first_started: 0,
        started: 0,
        done: 0,
        total: 0,
        step: 1,
        ask_at: Ns::MAX,
        cut_at_boundary: false,
        serve: Serve::UntilNoneWaits,
        cut_arrival: 0,
        repeats: false,
        was_cut: false,
        for_free: false,
        extra_cycles: 0,
        pending_since: Ns::MAX,
        at_once: false,
    };

    /// A pulse of `total` array time in steps of `step` starts at `at`.
    #[inline]
    pub fn start(&mut self, at: Ns, total: Ns, step: Ns) {
        self.first_started = at;
        self.started = at;
        self.done = 0;
        self.total = total;
        self.step = step;
        self.ask_at = Ns::MAX;
        self.cut_at_boundary = false;
        self.repeats = false;
        self.was_cut = false;
        self.extra_cycles = 0;
    }

    pub fn is_running(&self) -> bool {
        self.total > 0
    }

    pub fn done_at(&self, now: Ns) -> Ns {
        (self.done + now.saturating_sub(self.started)).min(self.total)
    }
}

/// A die: the unit that executes one operation at a time. What every event looks at comes first, in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Die {
    pub channel: u32,
    pub running: u32,
    /// A suspended operation.
    pub parked: u32,
    /// The part of a fused operation whose transfer is next or under way.
    pub part: u32,
    /// One bit for each plane and class with waiting work.
    pub ready: u64,
    /// The bits that holds and suspension shut out.
    pub closed: u64,
    /// Since when the current state is not yet in the counters.
    pub since: Ns,
    pub phase: Phase,
    /// What the running operation counts as.
    pub occupant: Occupant,
    /// It waits in its channel's line to start something.
    pub in_line: bool,
    /// Work waits while nothing runs.
    pub blocked: bool,
    /// Time that each occupant took.
    pub busy_ns: [Ns; OCCUPANTS],
    pub pulse: PulseState,
}

/// Waiting work of a plane, and the counters of time in which its die ran nothing.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct PlaneLines {
    pub head: [u32; CLASSES],
    pub tail: [u32; CLASSES],
    pub die: DieIx,
    /// Where the plane's classes begin in its die's masks.
    pub shift: u32,
    /// Programs that wait for an erased page.
    pub starved_head: u32,
    pub starved_tail: u32,
    /// Some GC holds the plane.
    pub held: bool,
    /// Since when, and for how long GCs held it before.
    pub held_since: Ns,
    pub held_before_ns: Ns,
    /// Time in which the plane was held and work waited while its die ran nothing. During such a time it is less by when
    /// that began, modulo 2^64, so that beginning and end are one addition each.
    held_ns: Ns,
    /// Time in which work waited for the channel while the die ran nothing and the plane was not held, by the channel's
    /// category. During such a time they are less by the channel's counters at its beginning.
    other_ns: [Ns; CHANNEL_CATEGORIES],
}

/// Why a die stands in its channel's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// To start some waiting operation, chosen when the channel is free.
    Start,
    /// For the next phase of the running operation.
    Continue,
    /// For the next page in its cache registers.
    Empty,
    /// For a GC of this plane to hold the channel.
    Claim(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct InLine {
    pub die: DieIx,
    pub wants: Wants,
    pub arrival: u64,
}

/// A channel: commands and data of its dies, one at a time.
#[derive(Debug)]
pub(crate) struct Channel {
    pub busy_until: Ns,
    /// The event of the die that transfers releases the channel too, so the channel needs none of its own.
    pub released_by_die: bool,
    /// The category until `busy_until`.
    pub category: usize,
    /// The category after it: idle, or held.
    pub rest_category: usize,
    pub since: Ns,
    pub category_ns: [Ns; CHANNEL_CATEGORIES],
    pub line: Vec<InLine>,
    /// The die whose GC holds the channel.
    pub held_by: u32,
    /// Since when, and for how long GCs held it before.
    pub held_since: Ns,
    pub held_before_ns: Ns,
    /// Host operations that wait for or run on its dies.
    pub host_operations: u32,
    /// Planes of the channel whose GC waits at the gate.
    pub gated: u32,
    /// Planes of the channel whose GC is under way.
    pub gcs: u32,
}

impl PlaneLines {
    /// For how long GCs have held the plane up to now.
    pub fn gc_held_ns(&self, now: Ns) -> Ns {
        self.held_before_ns + if self.held { now - self.held_since } else { 0 }
    }

    /// Notes that a GC holds the plane from now on, or no more.
    pub fn set_held(&mut self, held: bool, now: Ns) {
        self.held_before_ns = self.gc_held_ns(now);
        self.held_since = now;
        self.held = held;
    }

    /// From now on work waits here while the die runs nothing.
    #[inline(always)]
    pub fn begin_to_wait(&mut self, channel: &Channel, now: Ns) {
        if self.held {
            self.held_ns = self.held_ns.wrapping_sub(now);
        } else {
            for (total, then) in self.other_ns.iter_mut().zip(&channel.category_ns) {
                *total = total.wrapping_sub(*then);
            }
            for (category, ns) in channel.unsettled(now) {
                self.other_ns[category] = self.other_ns[category].wrapping_sub(ns);
            }
        }
    }

    /// The opposite of `begin_to_wait`.
    #[inline(always)]
    pub fn end_to_wait(&mut self, channel: &Channel, now: Ns) {
        if self.held {
            self.held_ns = self.held_ns.wrapping_add(now);
        } else {
            for (total, now) in self.other_ns.iter_mut().zip(&channel.category_ns) {
                *total = total.wrapping_add(*now);
            }
            channel.add_unsettled(&mut self.other_ns, now);
        }
    }

    /// Its counter, up to now, of time in which it was held and work waited while the die ran nothing. `waits`: some does still.
    #[inline]
    pub fn waited_held_ns(&self, waits: bool, now: Ns) -> Ns {
        if waits && self.held { self.held_ns.wrapping_add(now) } else { self.held_ns }
    }

    /// Puts what `of` says of each element and its counter, up to now, into an array: of time in which work waited for the
    /// channel while the die ran nothing, by category. `of` must grow as the counter does.
    #[inline(always)]
    pub fn waited_by(&self, waits: bool, channel: &Channel, now: Ns, into: &mut [Ns; CHANNEL_CATEGORIES], of: impl Fn(Ns, Ns) -> Ns) {
        if waits && !self.held {
            for ((into, total), now) in into.iter_mut().zip(&self.other_ns).zip(&channel.category_ns) {
                *into = of(*into, total.wrapping_add(*now));
            }
            channel.add_unsettled(into, now);
        } else {
            for (into, total) in into.iter_mut().zip(&self.other_ns) {
                *into = of(*into, *total);
            }
        }
    }
}

impl Die {
    /// Time since the counters were brought up to date, in which the die ran what it runs now; 0 if that is nothing.
    #[inline]
    pub fn unsettled(&self, now: Ns) -> Ns {
        if self.running == NONE { 0 } else { now - self.since }
    }
}

impl Channel {
    /// For how long GCs have held the channel up to now.
    pub fn gc_held_ns(&self, now: Ns) -> Ns {
        self.held_before_ns + if self.held_by == NONE { 0 } else { now - self.held_since }
    }

    /// Notes that the GC of a die holds the channel from now on, or none.
    pub fn set_held_by(&mut self, die: u32, now: Ns) {
        self.held_before_ns = self.gc_held_ns(now);
        self.held_since = now;
        self.held_by = die;
    }

    /// What the counters lack up to `now`, in at most two categories, which may be the same.
    #[inline]
    fn unsettled(&self, now: Ns) -> [(usize, Ns); 2] {
        // Without branches, because which of the two parts is zero can't be foreseen.
        let busy_end = self.busy_until.min(now).max(self.since);
        [(self.category, busy_end - self.since), (self.rest_category, now - busy_end)]
    }

    /// Adds that to a copy of the counters. The processor is slow to read a whole array of which it has just written a part,
    /// so whoever needs the counters of this instant copies first and adds then.
    #[inline]
    pub fn add_unsettled(&self, copy: &mut [Ns; CHANNEL_CATEGORIES], now: Ns) {
        for (category, ns) in self.unsettled(now) {
            copy[category] = copy[category].wrapping_add(ns);
        }
    }

    /// Brings the counters up to `now`.
    #[inline]
    pub fn settle(&mut self, now: Ns) {
        for (category, ns) in self.unsettled(now) {
            self.category_ns[category] += ns;
        }
        self.since = now;
    }

    /// Occupies the channel from `now` for `ns`.
    #[inline]
    pub fn occupy(&mut self, now: Ns, ns: Ns, category: usize) {
        self.settle(now);
        self.category = category;
        self.busy_until = now + ns;
    }
}

/// A host request inside the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub id: u64,
    pub asked: Ns,
    pub arrived: Ns,
    pub accepted: Ns,
    /// What it waited for in the host, as `SlotWaits::mix` says it; `NONE`: it did not.
    pub slot_mix: u32,
    pub command: Command,
    /// Parts that have not completed.
    pub pending: u32,
    pub gc_blocked: bool,
    /// Pages of it that were regenerated, that were decided to wait for a GC, and that had to; and when the first of these
    /// waits was decided or found out.
    pub reconstructed: u16,
    pub gc_waits: u16,
    pub gc_waits_forced: u16,
    pub gc_wait_since: Ns,
    /// The first page whose data have not crossed the link to the device; `NONE`: they need not, or all have.
    pub crossed: Lpn,
    /// Waiting for the link and using it, along the path that finished last.
    pub link_wait_ns: Ns,
    pub link_ns: Ns,
    /// Link time of a read's pages that are in no flash page.
    pub ram_link_ns: Ns,
}

/// Everything that changes.
#[derive(Debug)]
pub struct State {
    pub(crate) device: Device,
    /// Sectors of a page, as a power of two.
    pub(crate) sector_shift: u32,
    pub(crate) now: Ns,
    pub(crate) books: Books,
    pub(crate) dies: Vec<Die>,
    /// The second registers of each die's planes; none where nothing uses any.
    pub(crate) registers: Vec<Registers>,
    pub(crate) planes: Vec<PlaneLines>,
    pub(crate) channels: Vec<Channel>,
    /// Channels that a GC holds.
    pub(crate) channels_held: u32,
    pub(crate) gc: Vec<Gc>,
    /// Time in which dies ran something, over all of them, before counting began.
    pub(crate) die_busy_then: Ns,
    /// GCs that have started.
    pub(crate) gcs_started: u64,
    /// Planes whose GC waits at the gate.
    pub(crate) gated: Vec<u64>,
    pub(crate) ops: Pool<Op>,
    /// What the latency of each of them is attributed to.
    pub(crate) latencies: Latencies,
    pub(crate) requests: Pool<Request>,
    pub(crate) jobs: Pool<Job>,
    pub(crate) buffer: WriteBuffer,
    pub(crate) host: HostQueue,
    pub(crate) arrivals: u64,
    pub(crate) counters: Counters,
    /// Programs of the host bound for each plane that have not ended; none where the layout is static.
    pub(crate) bound: Vec<u32>,
    /// The same of GCs; none where they stay in their planes.
    pub(crate) gc_bound: Vec<u32>,
    /// Until when the programs of each die wait for those of its other planes; none where they need not.
    pub(crate) gather_until: Vec<Ns>,
    /// The programs of GCs that each die gathers; none where it gathers none.
    pub(crate) gc_gather: Vec<GcGather>,
    /// What the design makes the drive do.
    pub(crate) traits: Traits,
    /// What the dies did, if that is measured.
    pub(crate) work: Work,
    /// The stripes that pages form with parity, if they do.
    pub(crate) rain: Option<Box<Rain>>,
    /// Programs without a place, and GC as single operations, if the design places late.
    pub(crate) late: Option<Box<Late>>,
    /// Bit errors, if the flash has any.
    pub(crate) errors: Option<Box<PageErrors>>,
    /// The moves of stripes for the sake of wear.
    pub(crate) levelling: Levelling,
    /// Erases of each plane since the drive began to run, and those before counting began.
    pub(crate) plane_erases: Vec<u64>,
    pub(crate) plane_erases_then: Vec<u64>,
    /// What reads suspect pages while dies are idle.
    pub(crate) scrubbing: Scrubbing,
}

impl State {
    pub(crate) fn new(device: &Device, books: Books, traits: Traits) -> Self {
        let g = &device.geometry;
        let dies = (0..g.dies())
            .map(|die| Die {
                channel: g.channel_of(die),
                running: NONE,
                parked: NONE,
                phase: Phase::Idle,
                occupant: Occupant::HostRead,
                since: 0,
                ready: 0,
                closed: 0,
                in_line: false,
                blocked: false,
                part: NONE,
                pulse: PulseState::NONE,
                busy_ns: [0; OCCUPANTS],
            })
            .collect();
        let planes = (0..g.planes())
            .map(|plane| PlaneLines {
                die: g.die_of(plane),
                shift: plane % g.planes_per_die * CLASSES as u32,
                head: [NONE; CLASSES],
                tail: [NONE; CLASSES],
                starved_head: NONE,
                starved_tail: NONE,
                held: false,
                held_since: 0,
                held_before_ns: 0,
                other_ns: [0; CHANNEL_CATEGORIES],
                held_ns: 0,
            })
            .collect();
        let channels = (0..g.channels)
            .map(|_| Channel {
                busy_until: 0,
                released_by_die: false,
                category: CHANNEL_IDLE,
                rest_category: CHANNEL_IDLE,
                since: 0,
                category_ns: [0; CHANNEL_CATEGORIES],
                line: Vec::with_capacity(2 * g.dies_per_channel() as usize + 2),
                held_by: NONE,
                held_since: 0,
                held_before_ns: 0,
                host_operations: 0,
                gated: 0,
                gcs: 0,
            })
            .collect();
        Self {
            device: device.clone(),
            sector_shift: g.sectors_per_page().trailing_zeros(),
            now: 0,
            books,
            dies,
            registers: if device.flash.cache_register { vec![Registers::EMPTY; g.dies() as usize] } else { Vec::new() },
            planes,
            channels,
            channels_held: 0,
            gc: (0..g.planes()).map(|_| Gc::idle()).collect(),
            die_busy_then: 0,
            gcs_started: 0,
            gated: vec![0; (g.planes() as usize).div_ceil(64)],
            ops: Pool::with_capacity(1024),
            latencies: Latencies::with_capacity(1024),
            requests: Pool::with_capacity(device.host.queue_depth as usize),
            jobs: Pool::with_capacity(64),
            buffer: WriteBuffer::new(device),
            host: HostQueue::new(device.host.queue_depth, &device.host.queue_weights),
            arrivals: 0,
            counters: Counters::default(),
            bound: Vec::new(),
            gc_bound: Vec::new(),
            gather_until: Vec::new(),
            gc_gather: Vec::new(),
            work: Work::default(),
            traits,
            rain: None,
            late: None,
            errors: PageErrors::new(device).map(Box::new),
            levelling: Levelling::default(),
            plane_erases: vec![0; g.planes() as usize],
            plane_erases_then: vec![0; g.planes() as usize],
            scrubbing: Scrubbing::default(),
        }
    }

    /// Pages from logical page 0 on that the starting state maps. Of whole stripes where there are any, parity included in the
    /// share of live pages.
    pub(crate) fn mapped_pages(&self) -> Lpn {
        let Some(rain) = &self.rain else { return self.device.mapped_pages() };
        let width = u64::from(rain.stripes.width());
        (self.device.live_pages() / width * (width - 1)).min(self.device.logical_pages()) as Lpn
    }

    /// Books the erase of a block, apart from the translation layer's books.
    pub(crate) fn note_erase(&mut self, plane: PlaneIx, block: BlockIx) {
        self.plane_erases[plane as usize] += 1;
        if let Some(errors) = &mut self.errors {
            errors.erased(block);
        }
    }

    pub(crate) fn next_arrival(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    #[inline(always)]
    pub(crate) fn new_op(&mut self, op: Op) -> u32 {
        let index = self.ops.insert(op);
        self.latencies.begin(index);
        index
    }

    /// The channel of a die.
    #[inline]
    pub(crate) fn channel_of(&self, die: DieIx) -> usize {
        self.dies[die as usize].channel as usize
    }

    /// The planes of a die, as indices.
    #[inline]
    pub(crate) fn planes_of(&self, die: DieIx) -> std::ops::Range<usize> {
        let planes = self.device.geometry.planes_per_die as usize;
        die as usize * planes..(die as usize + 1) * planes
    }

    /// The die of a plane.
    #[inline]
    pub(crate) fn die_of(&self, plane: PlaneIx) -> DieIx {
        self.planes[plane as usize].die
    }

    /// Whether anything is outstanding.
    pub fn outstanding(&self) -> usize {
        self.requests.in_use() + self.host.waiting()
    }

    /// Time in which dies ran something, over all of them, up to now.
    pub(crate) fn die_busy_ns(&self) -> Ns {
        self.dies.iter().map(|die| die.busy_ns.iter().sum::<Ns>() + die.unsettled(self.now)).sum()
    }

    /// What holds what, for a run in which requests stop completing.
    pub fn explain_standstill(&self) -> String {
        let mut lines = vec![format!("{} requests are outstanding at {} ns.", self.outstanding(), self.now)];
        let reads = self.requests_in_device(CommandKind::Read);
        let writes = self.requests_in_device(CommandKind::Write);
        lines.push(format!("{reads} reads and {writes} writes are in the device."));
        if self.buffer.is_full() {
            lines.push(format!(
                "The write buffer is full: {} pages, {} of them in flight.",
                self.buffer.occupied(),
                self.buffer.in_flight()
            ));
        }
        if let Some(rain) = &self.rain {
            lines.push(format!(
                "{} stripes are on their way, and {} of their pages wait in RAM for GCs.",
                rain.batches.in_use(),
                rain.pinned
            ));
        }
        if let Some(late) = &self.late {
            let [emergency, external, background] = [0, 1, 2].map(|line: usize| late.lines[line].len());
            lines.push(format!(
                "{external} pages of the host wait for a die that could take them, {emergency} of urgent GCs and {background} of others."
            ));
        }
        for (index, plane) in self.planes.iter().enumerate().filter(|(_, plane)| plane.starved_head != NONE).take(4) {
            let (free, gc) = (self.books.free_pages(index as u32), &self.gc[index].state);
            lines.push(format!(
                "Plane {index} has programs that wait for an erased page; {free} pages are erased, its GC is {gc:?}, held: {}.",
                plane.held
            ));
        }
        for (index, die) in self.dies.iter().enumerate().filter(|(_, die)| die.ready != 0).take(4) {
            lines.push(format!(
                "Die {index} has waiting work (mask {:#x}, shut out {:#x}), runs {:?}, {}, {}; its channel {}.",
                die.ready,
                die.closed,
                die.phase,
                if die.parked == NONE { "has nothing suspended" } else { "has something suspended" },
                if die.in_line { "stands in line" } else { "does not stand in line" },
                die.channel
            ));
        }
        for (index, channel) in self.channels.iter().enumerate().filter(|(_, channel)| channel.held_by != NONE) {
            lines.push(format!("Channel {index} is held by a GC of die {}; {} wait for it.", channel.held_by, channel.line.len()));
        }
        lines.join(" ")
    }

    fn requests_in_device(&self, kind: CommandKind) -> usize {
        self.host.in_device(kind)
    }
}
