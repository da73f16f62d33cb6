//! What a told observer hears of dies, channels, holds and GCs. Nothing here is compiled for others.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{OpKind, Owner};
use crate::flash::upper::{Served, Told};
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::Gc;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::observe::{Observer, Occupant};
use crate::policy::answers::Scope;
use crate::story::{GcRecord, NOBODY, Run, Use};
use crate::units::Ns;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Which GC holds a plane.
    #[inline(never)]
    pub(super) fn tell_hold(&mut self, plane: PlaneIx) {
        let die = self.flash.die_of(plane);
        let holds = |&other: &PlaneIx| {
            let gc = &self.up.ftl.gc.planes[other as usize];
            gc.holds && (other == plane || gc.plan.scope >= Scope::Die)
        };
        // A suspended erase gives its hold up until it resumes.
        let parked = self.flash.is_parked(die);
        let own = Some(plane).filter(|plane| holds(plane));
        let holder = if parked { None } else { own.or_else(|| self.planes_of(die).find(holds)) };
        let gc = holder.map_or(NOBODY, |holder| self.up.ftl.gc.planes[holder as usize].number);
        let now = self.flash.now;
        self.observer().plane_held(plane, now, gc);
    }

    /// The GC of a plane has erased its victim.
    #[inline(never)]
    pub(super) fn tell_gc(&mut self, plane: PlaneIx) {
        let Gc { number, victim, moved, started, held_since: held, moved_at, .. } = self.up.ftl.gc.planes[plane as usize];
        let block = victim % self.flash.device.geometry.blocks_per_plane;
        let ended = self.flash.now;
        self.observer().gc_ended(&GcRecord { number, plane, block, moved, started, held, moved_at, ended });
    }
}

impl<Q: EventQueue, U> Told for Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    #[inline(never)]
    fn tell_run(&mut self, die: DieIx, from: Ns) {
        let (Some(op), Some(occupant)) = (self.flash.running(die), self.flash.occupant(die)) else { return };
        let op = &self.flash.ops[op as usize];
        let (gc, page) = match op.owner {
            Owner::Gc(plane) if op.kind == OpKind::Erase => (self.up.ftl.gc.planes[plane as usize].number, NONE),
            Owner::Gc(plane) => (self.up.ftl.gc.planes[plane as usize].number, op.ppn % self.flash.device.geometry.pages_per_block),
            _ => (NOBODY, NONE),
        };
        let request = match op.owner {
            Owner::Request(request) => self.request_number(request),
            _ => NOBODY,
        };
        let run = Run { from, to: self.flash.now, die, plane: op.plane, occupant, lpn: op.tag, gc, page, request };
        self.observer().die_ran(&run);
    }

    #[inline(never)]
    fn tell_use(&mut self, channel: usize, plane: PlaneIx, ns: Ns, occupant: Occupant) {
        let from = self.flash.now;
        self.observer().channel_used(&Use { from, to: from + ns, channel: channel as u32, occupant, plane });
    }
}
