//! The drive as policies see it: everything, read-only.

use crate::device::{Device, Geometry};
use crate::ftl::Books;
use crate::ftl::gc::GcState;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::sched::ops::{Class, OpKind};
use crate::state::{Counters, State};
use crate::units::Ns;

/// A read-only view of the whole drive at one instant.
#[derive(Clone, Copy)]
pub struct View<'a>(pub(crate) &'a State);

/// An operation that could start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The class of its work.
    pub class: Class,
    /// The plane that it is for.
    pub plane: PlaneIx,
    /// Its rank by arrival: lower waited longer.
    pub arrival: u64,
    /// A GC that the plane needs urgently.
    pub urgent: bool,
    /// Its die has begun with it and needs the channel again; otherwise it would start.
    pub continues: bool,
    /// Data cross the channel now: those of a page that was read, or that of a program behind its command.
    pub data: bool,
}

/// A waiting operation that might join a multi-plane command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Read or program.
    pub kind: OpKind,
    /// The class of its work.
    pub class: Class,
    /// The plane that it is for.
    pub plane: PlaneIx,
    /// The page offset in its block: of the data for a read, of the page that it would get for a program.
    pub offset: u32,
}

impl<'a> View<'a> {
    /// The time.
    pub fn now(self) -> Ns {
        self.0.now
    }
    /// The device's data.
    pub fn device(self) -> &'a Device {
        &self.0.device
    }
    /// The geometry.
    pub fn geometry(self) -> &'a Geometry {
        &self.0.device.geometry
    }
    /// How often things happened.
    pub fn counters(self) -> &'a Counters {
        &self.0.counters
    }
    /// Maps, blocks and write points.
    pub fn books(self) -> &'a Books {
        &self.0.books
    }
    /// Host operations that wait for or use the channel of a plane.
    pub fn host_operations_on_channel_of(self, plane: PlaneIx) -> u32 {
        let die = self.geometry().die_of(plane);
        self.0.channels[self.geometry().channel_of(die) as usize].host_operations
    }
    /// GCs under way in planes of the channel of a plane.
    pub fn gcs_on_channel_of(self, plane: PlaneIx) -> u32 {
        let die = self.geometry().die_of(plane);
        self.0.channels[self.geometry().channel_of(die) as usize].gcs
    }
    /// Whether a write waits for room in the buffer.
    pub fn writes_wait_for_room(self) -> bool {
        !self.0.buffer.waiting.is_empty()
    }
    /// Whether a plane's GC has started and not ended.
    pub fn in_gc(self, plane: PlaneIx) -> bool {
        self.0.gc[plane as usize].state != GcState::Idle
    }
    /// Programs of host and, where it may leave its plane, GC that are bound for a plane and have not ended. Counted only in
    /// designs whose layout is not static.
    pub fn programs_for(self, plane: PlaneIx) -> u32 {
        self.0.bound.get(plane as usize).copied().unwrap_or(0)
    }
    /// The same for all planes of a die.
    pub fn programs_for_die(self, die: DieIx) -> u32 {
        self.planes_of(die).map(|plane| self.programs_for(plane)).sum()
    }
    /// Whether a die runs nothing and nothing waits for it.
    pub fn die_is_idle(self, die: DieIx) -> bool {
        let state = &self.0.dies[die as usize];
        state.running == NONE && state.parked == NONE && state.ready == 0
    }
    /// Whether a GC is under way in any plane of a die.
    pub fn die_in_gc(self, die: DieIx) -> bool {
        self.planes_of(die).any(|plane| self.in_gc(plane))
    }
    /// Whether a plane could take one more page than it is bound to take, without what GC keeps for itself.
    pub fn has_room(self, plane: PlaneIx) -> bool {
        self.books().free_pages(plane) > self.books().pages_kept() + self.programs_for(plane)
    }
    fn planes_of(self, die: DieIx) -> std::ops::Range<PlaneIx> {
        let planes = self.geometry().planes_per_die;
        die * planes..(die + 1) * planes
    }
    /// When the suspendable work of a die first started to run, and how much of it is done, of how much.
    pub fn pulse(self, die: DieIx) -> Option<Pulse> {
        let die = &self.0.dies[die as usize];
        (die.running != NONE && die.pulse.is_running()).then(|| Pulse {
            kind: self.0.ops[die.running as usize].kind,
            first_started: die.pulse.first_started,
            done: die.pulse.done_at(self.0.now),
            total: die.pulse.total,
        })
    }
}

/// The progress of an erase or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// Erase or program.
    pub kind: OpKind,
    /// When it first started.
    pub first_started: Ns,
    /// Array time done.
    pub done: Ns,
    /// Array time in all.
    pub total: Ns,
}
