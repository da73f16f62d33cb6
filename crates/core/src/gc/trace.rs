//! What a tracing observer is given of dies, channels, locks and GCs. Nothing here is compiled for others.

use crate::attribution::trail::{GcRecord, NOBODY, Run, Use};
use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{OpKind, Owner};
use crate::flash::upper::{Served, Traces};
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::Collection;
use crate::ids::{BlockIx, DieIx, NONE};
use crate::observe::Observer;
use crate::policy::answers::Scope;
use crate::units::Ns;

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Which GCs lock the planes of a die.
    #[inline(never)]
    pub(super) fn trace_locks(&mut self, die: DieIx) {
        let now = self.flash.now;
        // A suspended erase gives its lock up until it resumes.
        let gives_way = self.locks_give_way(die);
        let of_die = self.planes_of(die).find(|&plane| self.up.ftl.gc.locks(plane, Scope::Die));
        for plane in self.planes_of(die) {
            let own = self.up.ftl.gc.locks(plane, Scope::Plane).then_some(plane);
            let holder = own.or(of_die).filter(|_| !gives_way);
            let gc = holder.map_or(NOBODY, |holder| self.gc_of(holder).number);
            self.observer().plane_locked(plane, now, gc);
        }
    }

    /// A GC has erased a block of its victim.
    #[inline(never)]
    pub(super) fn trace_gc(&mut self, block: BlockIx, collection: &Collection) {
        let &Collection { group, moved, started, chosen: locked, moved_at, .. } = collection;
        let g = &self.flash.device.geometry;
        let (plane, block) = (g.plane_of(block), block % g.blocks_per_plane);
        let number = self.up.ftl.gc.of_pool(self.up.ftl.tables.pool_of_group(group)).number;
        let ended = self.flash.now;
        self.observer().gc_ended(&GcRecord { number, plane, block, moved, started, locked, moved_at, ended });
    }
}

impl<U> Traces for Engine<WithFtl<U>>
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
    fn trace_use(&mut self, used: &Use) {
        self.observer().channel_used(used);
    }
}
