//! What a die, a plane's queues and the running erase or program are.

use crate::attribution::parts::{CHANNEL_CATEGORIES, TRAFFIC_CLASSES, TrafficClass, bits};
use crate::flash::ask::Serve;
use crate::flash::attribution::Used;
use crate::flash::bus::Channel;
use crate::flash::line::Line;
use crate::flash::op::CLASSES;
use crate::ids::NONE;
use crate::units::Ns;

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
    /// An operation is being cut.
    Suspending,
}

/// The progress of work that can be suspended: an erase or a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OperationProgress {
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
    /// The next step was cut and its progress discarded before: a verify pulse precedes it.
    pub repeats: bool,
    /// It was cut before.
    pub was_cut: bool,
    /// It was cut for free, and goes on for free.
    pub for_free: bool,
    /// Cuts in the middle of a step: each is one more recovery and one more ramp.
    pub extra_cycles: u32,
    /// Since when the die has had erases to run, counted from the first step of the first; `Ns::MAX` when it has none.
    pub pending_since: Ns,
    /// The last erase that made way on the die did so at once, rather than at a boundary.
    pub at_once: bool,
}

impl OperationProgress {
    /// That of a die which has run nothing.
    pub fn none() -> Self {
        Self { step: 1, ask_at: Ns::MAX, pending_since: Ns::MAX, ..Self::default() }
    }

    /// An operation of `total` array time in steps of `step` starts at `at`.
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

    /// When it ends by itself.
    pub fn end(&self) -> Ns {
        self.started + (self.total - self.done)
    }

    /// When the step that runs now ends by itself. At a boundary the step that is about to begin has not begun; with
    /// `begun` it has if the work has just gone on, so that each time it does a step gets done.
    pub fn step_end(&self, now: Ns, begun: bool) -> Ns {
        let done = self.done_at(now);
        let into_step = done % self.step;
        let now = now.max(self.started);
        let just_on = done == self.done;
        if into_step == 0 && !(just_on && (begun || !self.was_cut)) {
            return now;
        }
        (now + self.step - into_step).min(self.end())
    }
}

/// A die: the unit that executes one operation at a time. What every event looks at comes first, in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Die {
    pub channel: u32,
    pub running: u32,
    /// A suspended operation.
    pub suspended: u32,
    /// The part of a fused operation whose transfer is next or under way.
    pub part: u32,
    /// One bit for each plane and class with waiting work.
    pub ready: u64,
    /// The bits that locks and suspension mask.
    pub masked: u64,
    /// Since when the current state is not yet in the counters.
    pub since: Ns,
    pub phase: Phase,
    /// What the running operation counts as.
    pub traffic: TrafficClass,
    /// It waits in its channel's queue to start something.
    pub queued: bool,
    /// Work waits while nothing runs.
    pub blocked: bool,
    /// Time that each traffic class took.
    pub busy_ns: [Ns; TRAFFIC_CLASSES],
    pub progress: OperationProgress,
}

impl Die {
    #[inline]
    pub fn is_running(&self) -> bool {
        self.running != NONE
    }

    #[inline]
    pub fn is_suspended(&self) -> bool {
        self.suspended != NONE
    }

    /// Whether it runs nothing and nothing waits for it.
    #[inline]
    pub fn is_idle(&self) -> bool {
        !self.is_running() && !self.is_suspended() && self.ready == 0
    }

    /// The waiting work that nothing masks.
    #[inline]
    pub fn open_work(&self) -> u64 {
        self.ready & !self.masked
    }

    /// Time since the counters were brought up to date, in which the die ran what it runs now; 0 if that is nothing.
    #[inline]
    pub fn unsettled(&self, now: Ns) -> Ns {
        if self.is_running() { now - self.since } else { 0 }
    }
}

/// Waiting work of a plane, and the counters of time in which its die ran nothing.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct PlaneQueues {
    pub lines: [Line; CLASSES],
    /// Programs that wait for an erased page.
    pub space_blocked: Line,
    /// The rank by arrival of the work without an operation: a step that is chosen when it is picked, or a lock request.
    pub step_arrival: u64,
    /// That work is urgent.
    pub urgent: bool,
    /// Some GC locks the plane.
    pub locked: bool,
    /// Since when, and for how long GCs locked it before.
    pub locked_since: Ns,
    pub locked_before_ns: Ns,
    /// Time in which the plane was locked and work waited while its die ran nothing. During such a time it is less by when
    /// that began, modulo 2^64, so that beginning and end are one addition each.
    locked_ns: Ns,
    /// Time in which work waited for the channel while the die ran nothing and the plane was not locked, by the channel's
    /// category. During such a time they are less by the channel's counters at its beginning.
    other_ns: [Ns; CHANNEL_CATEGORIES],
}

impl PlaneQueues {
    pub const IDLE: Self = Self {
        lines: [Line::EMPTY; CLASSES],
        space_blocked: Line::EMPTY,
        step_arrival: 0,
        urgent: false,
        locked: false,
        locked_since: 0,
        locked_before_ns: 0,
        other_ns: [0; CHANNEL_CATEGORIES],
        locked_ns: 0,
    };

    /// For how long GCs have locked the plane up to now.
    pub fn gc_locked_ns(&self, now: Ns) -> Ns {
        self.locked_before_ns + if self.locked { now - self.locked_since } else { 0 }
    }

    /// Notes that a GC locks the plane from now on, or no more.
    pub fn set_locked(&mut self, locked: bool, now: Ns) {
        self.locked_before_ns = self.gc_locked_ns(now);
        self.locked_since = now;
        self.locked = locked;
    }

    /// Whether work waits here while the die runs nothing, from now on. The channel's counters are up to date.
    #[inline(always)]
    pub fn set_waiting<const WAITS: bool>(&mut self, channel: &Channel, used: Used, now: Ns) {
        let change = |counter: &mut Ns, by: Ns| *counter = if WAITS { counter.wrapping_sub(by) } else { counter.wrapping_add(by) };
        if self.locked {
            change(&mut self.locked_ns, now);
        } else {
            bits(used.channels).for_each(|it| change(&mut self.other_ns[it], channel.category_ns[it]));
        }
    }

    /// Its counter, up to now, of time in which it was locked and work waited while the die ran nothing. `waits`: some does still.
    #[inline(always)]
    pub fn waited_locked_ns(&self, waits: bool, now: Ns) -> Ns {
        self.locked_ns.wrapping_add(if waits && self.locked { now } else { 0 })
    }

    /// Its counter, by the channel's category, of time in which work waited for the channel while the die ran nothing. `waits`: some
    /// does still.
    #[inline(always)]
    pub fn waited_ns(&self, waits: bool, channel: &Channel, category: usize) -> Ns {
        self.other_ns[category].wrapping_add(if waits && !self.locked { channel.category_ns[category] } else { 0 })
    }
}
