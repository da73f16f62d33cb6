//! The flash: dies, planes and channels, the operations that wait for them and run on them, and what each waits for.
//!
//! It has one rule: among waiting work whose claims are free, start what the firmware prefers. An operation is a short list of
//! phases, compiled from its kind; phases between which nothing can be decided are one event. The command and data of an
//! operation claim die and channel, array time claims the die. A channel that nobody awaits is released without an event.

use crate::attribution::parts::{CHANNEL_IDLE, TRAFFIC_CLASSES, TrafficClass};
use crate::device::Device;
use crate::event::{EventHash, Queue};
use crate::flash::ask::Candidate;
use crate::flash::attribution::{Latencies, Used};
use crate::flash::bus::Channel;
use crate::flash::counters::FlashCounters;
use crate::flash::die::{Die, OperationProgress, Phase, PlaneQueues};
use crate::flash::multi_plane::Partners;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::registers::Registers;
use crate::flash::traits::FlashTraits;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::relieved::Relieved;
use crate::slab::Slab;
use crate::timer::Timers;
use crate::units::{Divisor, Ns};

pub mod ask;
pub(crate) mod attribution;
pub(crate) mod bus;
mod channel;
pub(crate) mod counters;
pub(crate) mod die;
mod dispatch;
mod line;
pub(crate) mod multi_plane;
pub mod op;
pub(crate) mod registers;
mod seen;
pub(crate) mod suspend;
mod timing;
pub(crate) mod traits;
pub(crate) mod upper;
mod waits;

/// Of the extra event slots, that of the RAM.
pub(crate) const RAM: usize = 0;
/// That of the earliest timer.
const TIMERS: usize = 1;

/// What an operation takes: of the channel for its command, of the die for its array, of the channel for its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub command: Ns,
    pub array: Ns,
    pub transfer: Ns,
}

/// The flash of a drive, with whatever firmware is above it.
pub struct Engine<U> {
    pub(crate) flash: Flash,
    pub(crate) queue: Queue,
    pub(crate) timers: Timers<Self>,
    pub(crate) up: U,
}

/// The flash, apart from the pending events.
#[derive(Debug)]
pub struct Flash {
    pub(crate) device: Device,
    pub(crate) now: Ns,
    /// When counting began.
    counted_from: Ns,
    dies: Vec<Die>,
    /// The second registers of each die's planes; none where nothing uses any.
    registers: Vec<Registers>,
    /// The waiting program of each plane whose data are in a register there already; none where nothing loads any.
    loaded: Vec<u32>,
    planes: Vec<PlaneQueues>,
    planes_per_die: Divisor,
    channels: Vec<Channel>,
    /// Channels that a GC locks.
    channels_locked: u32,
    /// Time in which dies ran something, over all of them, before counting began.
    die_busy_then: Ns,
    pub(crate) ops: Slab<Op>,
    /// What the latency of each of them is attributed to.
    latencies: Latencies,
    /// What dies and channels have done so far.
    used: Used,
    /// Operations that come wait in their queues until all of their moment have come, and those that do, each with its arrival.
    holds: bool,
    held: Vec<(u32, u64)>,
    arrivals: u64,
    pub(crate) counters: FlashCounters,
    pub(crate) hash: EventHash,
    /// What the design makes it do.
    pub(crate) traits: FlashTraits,
    /// One bit for each traffic class that takes no time.
    free: u32,
    /// Dies that have become idle, or have a GC or a program for them less, since `place` last chose a plane.
    pub(crate) relieved: Relieved,
    /// Scratch lists, kept so that nothing is allocated per request.
    die_candidates: Vec<Candidate>,
    lining_up: Vec<(u64, DieIx)>,
    woken: Vec<u32>,
    line_candidates: Vec<Candidate>,
    line_places: Vec<usize>,
    partners: Partners,
    /// Reads that others of their page serve, each behind the one that does.
    merged: Vec<(u32, u32)>,
}

impl Flash {
    /// The flash of an idle drive.
    pub(crate) fn new(device: &Device, traits: FlashTraits) -> Self {
        let g = &device.geometry;
        let dies = (0..g.dies())
            .map(|die| Die {
                channel: g.channel_of(die),
                running: NONE,
                suspended: NONE,
                phase: Phase::Idle,
                traffic: TrafficClass::HostRead,
                since: 0,
                ready: 0,
                masked: 0,
                queued: false,
                blocked: false,
                part: NONE,
                progress: OperationProgress::none(),
                busy_ns: [0; TRAFFIC_CLASSES],
            })
            .collect();
        let planes = (0..g.planes()).map(|_| PlaneQueues::IDLE).collect();
        let channels = (0..g.channels)
            .map(|_| Channel {
                category: CHANNEL_IDLE as u8,
                idle_category: CHANNEL_IDLE as u8,
                queue: Vec::with_capacity(2 * g.dies_per_channel() as usize + 2),
                locked_by: NONE,
                ..Channel::default()
            })
            .collect();
        let registers = device.flash.cache_register || traits.pairs_with_gc;
        Self {
            device: device.clone(),
            now: 0,
            counted_from: 0,
            dies,
            registers: if registers { vec![Registers::EMPTY; g.dies() as usize] } else { Vec::new() },
            loaded: if traits.pairs_with_gc { vec![NONE; g.planes() as usize] } else { Vec::new() },
            planes,
            planes_per_die: Divisor::new(g.planes_per_die),
            channels,
            channels_locked: 0,
            die_busy_then: 0,
            ops: Slab::with_capacity(1024),
            latencies: Latencies::with_capacity(1024),
            used: Used::NONE,
            holds: false,
            held: Vec::new(),
            arrivals: 0,
            counters: FlashCounters::default(),
            hash: EventHash::default(),
            traits,
            relieved: if traits.notes_relieved { Relieved::all(g.dies()) } else { Relieved::default() },
            free: 0,
            die_candidates: Vec::new(),
            lining_up: Vec::new(),
            woken: Vec::new(),
            line_candidates: Vec::new(),
            line_places: Vec::new(),
            partners: Partners::default(),
            merged: Vec::new(),
        }
    }

    pub(crate) fn next_arrival(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// An operation on a whole mapping unit.
    #[inline]
    pub(crate) fn page_op(&self, kind: OpKind, class: Class, traffic: TrafficClass, owner: Owner, tag: u32, plane: PlaneIx) -> Op {
        let sectors = self.device.geometry.sectors_per_unit() as u8;
        Op { sectors, ..Op::new(kind, class, traffic, owner, tag, plane) }
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

    /// A die runs less than before: notes it if it is idle now.
    #[inline]
    pub(super) fn note_if_idle(&mut self, die: DieIx) {
        if self.relieved.notes() && self.dies[die as usize].is_idle() {
            self.relieved.note(die);
        }
    }

    /// The die of a plane.
    #[inline]
    pub(crate) fn die_of(&self, plane: PlaneIx) -> DieIx {
        self.planes_per_die.divide(plane)
    }

    /// Time in which dies ran something, over all of them, up to now.
    pub(crate) fn die_busy_ns(&self) -> Ns {
        self.dies.iter().map(|die| die.busy_ns.iter().sum::<Ns>() + die.unsettled(self.now)).sum()
    }

    /// The flash after a loss of power: nothing waits or runs, but the clock and what is counted go on.
    pub(crate) fn after_power_loss(&self) -> Self {
        let mut fresh = Self::new(&self.device, self.traits);
        (fresh.now, fresh.counted_from, fresh.arrivals, fresh.counters) = (self.now, self.counted_from, self.arrivals, self.counters);
        (fresh.die_busy_then, fresh.free, fresh.used) = (self.die_busy_then, self.free, self.used);
        for (die, old) in fresh.dies.iter_mut().zip(&self.dies) {
            die.busy_ns = old.busy_ns;
            die.busy_ns[old.traffic as usize] += old.unsettled(self.now);
            fresh.used.dies |= 1 << old.traffic as u32;
        }
        fresh
    }

    /// The operations that a loss of power cuts off now: erases and programs whose array works, and suspended ones, with their
    /// partners.
    pub(crate) fn cut_off(&self) -> impl Iterator<Item = &Op> {
        let leads = self.dies.iter().flat_map(|die| {
            let works =
                matches!(die.phase, Phase::ArrayProgram | Phase::Erase | Phase::Suspending) && self.now > die.progress.first_started;
            [if works { die.running } else { NONE }, die.suspended]
        });
        let some = |op: u32| (op != NONE).then_some(op);
        leads
            .flat_map(move |lead| std::iter::successors(some(lead), move |&op| some(self.ops[op as usize].partner)))
            .map(|op| &self.ops[op as usize])
    }
}
