//! Return-to-fast GC in idle time.

use crate::context::Context;
use crate::flash::Engine;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::Reason;
use crate::ids::Pool;
use crate::policy::answers::{Gate, Want};

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Whether idle time is used to return write points of a pool to fast pages, by a GC that may start now.
    #[cold]
    pub(super) fn should_return_to_fast(&mut self, pool: Pool) -> bool {
        self.is_unparked(pool) && self.ask(|policies, view| policies.gc_gate.may_start(view, pool, Want::Soft)) == Gate::Open
    }

    /// Whether write points of a pool are to be brought to fast pages: one is not parked, and no write waits. Pages of GC that are on
    /// their way to any pool already do so for as many.
    pub(super) fn is_unparked(&mut self, pool: Pool) -> bool {
        let Some(parking) = self.ask(|policies, _| policies.page_choice.parking()) else { return false };
        let tables = &self.up.ftl.tables;
        let mut planes = tables.planes_of(pool);
        if planes.clone().any(|plane| self.seen().writes_wait_for(self.flash.die_of(plane))) {
            return false;
        }
        if let Some(late_bound) = &self.up.ftl.late_bound {
            let points = &late_bound.points;
            return planes.any(|plane| points.unparked(plane, parking) != 0) && points.unparked_of_all(parking) > late_bound.moving;
        }
        planes.any(|plane| (0..tables.write_points(plane)).any(|point| !self.is_parked_at(parking, tables.next_offset(plane, point))))
    }

    /// Whether a return-to-fast GC has no more to do. It stays for its pool if that wants a GC by now.
    #[cold]
    pub(super) fn return_to_fast_is_over(&mut self, pool: Pool) -> bool {
        if self.ask(|policies, view| policies.gc_trigger.want(view, pool)) != Want::No {
            self.up.ftl.gc.of_pool_mut(pool).reason = Reason::Wanted;
            return false;
        }
        self.up.ftl.gc.of_pool(pool).current.is_some_and(|current| current.in_flight == 0) && !self.is_unparked(pool)
    }

    /// Ends a GC whose victim stays as it is.
    #[cold]
    pub(super) fn abandon_gc(&mut self, pool: Pool) {
        let current = self.up.ftl.gc.of_pool(pool).current.expect("a GC that has its victim");
        self.up.ftl.tables.end_collect(current.group);
        self.end_without_erase(pool);
        self.pass_turn(pool);
    }
}
