//! What a tracing observer is given of dies, channels, locks and GCs. Nothing here is compiled for others.

use crate::attribution::trail::{GcRecord, NOBODY, Run, Use};
use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{OpKind, Owner};
use crate::flash::upper::{Served, Traces};
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::Collection;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::observe::{Observer, TrafficClass};
use crate::policy::answers::Scope;
use crate::units::Ns;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Which GC locks a plane.
    #[inline(never)]
    pub(super) fn trace_lock(&mut self, plane: PlaneIx) {
        let die = self.flash.die_of(plane);
        let locks = |&other: &PlaneIx| {
            let gc = &self.up.ftl.gc.planes[other as usize];
            gc.locks && (other == plane || gc.plan.scope >= Scope::Die)
        };
        // A suspended erase gives its lock up until it resumes.
        let suspended = self.flash.die(die).is_suspended();
        let own = Some(plane).filter(|plane| locks(plane));
        let holder = if suspended { None } else { own.or_else(|| self.planes_of(die).find(locks)) };
        let gc = holder.map_or(NOBODY, |holder| self.gc_of(holder).number);
        let now = self.flash.now;
        self.observer().plane_locked(plane, now, gc);
    }

    /// The GC of a plane has erased its victim.
    #[inline(never)]
    pub(super) fn trace_gc(&mut self, plane: PlaneIx, collection: &Collection) {
        let &Collection { group, moved, started, chosen: locked, moved_at, .. } = collection;
        let block = self.up.ftl.tables.block_in(group, plane) % self.flash.device.geometry.blocks_per_plane;
        let number = self.gc_of(plane).number;
        let ended = self.flash.now;
        self.observer().gc_ended(&GcRecord { number, plane, block, moved, started, locked, moved_at, ended });
    }
}

impl<Q: EventQueue, U> Traces for Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    #[inline(never)]
    fn trace_run(&mut self, die: DieIx, from: Ns) {
        let state = self.flash.die(die);
        if !state.is_running() {
            return;
        }
        let (op, traffic) = (&self.flash.ops[state.running as usize], state.traffic);
        let (gc, page) = match op.owner {
            Owner::Gc(plane) if op.kind == OpKind::Erase => (self.gc_of(plane).number, NONE),
            Owner::Gc(plane) => (self.gc_of(plane).number, self.up.ftl.tables.offset_of(op.ppn)),
            _ => (NOBODY, NONE),
        };
        let request = match op.owner {
            Owner::Request(request) => self.request_number(request),
            _ => NOBODY,
        };
        let run = Run { from, to: self.flash.now, die, plane: op.plane, traffic, lpn: op.tag, gc, page, request };
        self.observer().die_ran(&run);
    }

    #[inline(never)]
    fn trace_use(&mut self, channel: usize, plane: PlaneIx, ns: Ns, traffic: TrafficClass) {
        let from = self.flash.now;
        self.observer().channel_used(&Use { from, to: from + ns, channel: channel as u32, traffic, plane });
    }
}
