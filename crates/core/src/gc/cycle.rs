//! When the GC of a pool begins, takes its victim, and ends.
//!
//! Nothing is chosen early: the victim when the lock is complete, each page and its destination when the step is picked, so a
//! page that was overwritten in the meantime is not copied.

use crate::attribution::trail::NOBODY;
use crate::context::Context;
use crate::flash::Engine;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::{Collection, Gc, GcState, Reason};
use crate::ids::Pool;
use crate::policy::answers::{Gate, Want};
use crate::policy::thresholds::StartLevel;
use crate::units::Ns;
use std::ops::Range;

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Something changed in a pool, or its gate is asked again: whether its GC starts, or where GCs fill the programs of a die,
    /// that of any pool of the die.
    pub(super) fn consider_start(&mut self, pool: Pool) {
        if self.flash.traits.assembles_gc && self.up.ftl.traits.gc_across {
            self.consider_gc_of_die(self.die_of_pool(pool));
        } else {
            self.consider_gc_of_pool(pool);
        }
    }

    /// Asks trigger and gate whether a GC starts in a pool.
    pub(super) fn consider_gc_of_pool(&mut self, pool: Pool) {
        match self.state_of(pool) {
            GcState::Idle => {}
            GcState::Claiming => return self.note_urgency(pool),
            _ => return,
        }
        let want = self.ask(|policies, view| policies.gc_trigger.want(view, pool));
        if want == Want::No {
            self.end_cycle(pool);
            self.leave_gate(pool);
            if self.up.ftl.traits.returns_to_fast && self.should_return_to_fast(pool) {
                self.start_gc(pool, false, Reason::ReturnToFast);
            }
            return;
        }
        if self.flash.traits.assembles_gc && !self.is_worth_its_padding(pool, want == Want::Hard) {
            return self.leave_gate(pool);
        }
        if self.up.ftl.traits.gc_ideal {
            return self.collect_ideal(pool);
        }
        let (pool, want) = if self.goes_by_die() {
            if self.pools_of_cycle(pool).any(|pool| self.state_of(pool) != GcState::Idle) {
                return;
            }
            self.next_of_cycle(pool).unwrap_or((pool, want))
        } else {
            (pool, want)
        };
        let gate = self.ask(|policies, view| policies.gc_gate.may_start(view, pool, want));
        if gate != Gate::Open {
            if want == Want::Soft || self.ask(|policies, view| policies.gc_gate.strict(view, pool)) {
                return self.wait_at_gate(pool, gate);
            }
            self.up.ftl.gc.counters.gate_passed_urgently += 1;
        }
        if self.up.ftl.gc.is_gated(pool) {
            let waited = self.flash.now - self.up.ftl.gc.of_pool(pool).gated_since;
            self.up.ftl.gc.counters.gate_wait_ns += waited;
            self.up.ftl.gc.counters.gate_wait_ns_max = self.up.ftl.gc.counters.gate_wait_ns_max.max(waited);
        }
        self.leave_gate(pool);
        if self.flash.traits.assembles_gc {
            let die = self.die_of_pool(pool);
            self.up.ftl.assembly.erased_then[die as usize] = self.erased_pages(die);
        }
        self.start_gc(pool, want == Want::Hard, Reason::Wanted);
    }

    /// How much a pool wants a GC that needs nobody's leave to begin: with that a cycle begins, and it ends when no more is wanted.
    pub(super) fn want_gc(&mut self, pool: Pool) -> Want {
        let want = self.ask(|policies, view| policies.gc_trigger.want(view, pool));
        if want == Want::No {
            self.end_cycle(pool)
        } else {
            self.begin_cycle(pool)
        }
        want
    }

    /// The pools that are in one cycle: that of a plane, or those of its die.
    pub(super) fn pools_of_cycle(&self, pool: Pool) -> impl Iterator<Item = Pool> + use<U> {
        let tables = &self.up.ftl.tables;
        let Range { start, end } = self.planes_of(self.die_of_pool(pool));
        let (first, last) = if self.up.ftl.traits.gc_by_die { (tables.pool_of(start), tables.pool_of(end - 1)) } else { (pool, pool) };
        (first.0..=last.0).map(Pool)
    }

    /// Whether the GC of a die takes one block group after the other, from whichever of its pools. Programs of superpages need the
    /// GCs of all planes.
    pub(super) fn goes_by_die(&self) -> bool {
        self.up.ftl.traits.gc_in_cycles && self.up.ftl.traits.gc_by_die && !self.flash.traits.assembles_gc
    }

    fn begin_cycle(&mut self, pool: Pool) {
        if self.up.ftl.traits.gc_in_cycles && !self.up.ftl.gc.in_cycle(pool) {
            self.up.ftl.gc.counters.cycles += 1;
            self.set_cycle(pool, true);
        }
    }

    /// A pool has enough erased, or nothing to free.
    fn end_cycle(&mut self, pool: Pool) {
        if self.up.ftl.gc.in_cycle(pool) {
            self.set_cycle(pool, false);
        }
    }

    #[cold]
    fn set_cycle(&mut self, pool: Pool, in_cycle: bool) {
        self.pools_of_cycle(pool).for_each(|pool| self.up.ftl.gc.of_pool_mut(pool).in_cycle = in_cycle);
    }

    /// The pool that a cycle goes on with when a block of one of its pools is erased: of those that want a GC and that the gate lets
    /// in, the one whose block group has the fewest valid pages, and among equals the one that has the fewest erased. Nothing if it
    /// is over.
    #[cold]
    pub(super) fn next_of_cycle(&mut self, pool: Pool) -> Option<(Pool, Want)> {
        let mut best: Option<((u32, u32), Pool, Want)> = None;
        for pool in self.pools_of_cycle(pool) {
            let want = self.ask(|policies, view| policies.gc_trigger.want(view, pool));
            let is_idle = self.state_of(pool) == GcState::Idle;
            if want == Want::No || !is_idle || self.ask(|policies, view| policies.gc_gate.may_start(view, pool, want)) != Gate::Open {
                continue;
            }
            let tables = &self.up.ftl.tables;
            let Some(group) = tables.first_with_fewest(pool) else { continue };
            let rank = (tables.valid_pages(group), tables.free_pages_of(pool));
            if best.is_none_or(|(first, ..)| rank < first) {
                best = Some((rank, pool, want));
            }
        }
        best.map(|(_, pool, want)| (pool, want))
    }

    /// The erased space that a pool's GC aims at: that at which a cycle stops, or that below which one starts.
    pub(super) fn level_aimed_at(&self, pool: Pool) -> Option<StartLevel> {
        let levels = self.policies().start.trigger?;
        Some(if self.up.ftl.gc.in_cycle(pool) { levels.stop } else { levels.start })
    }

    /// Where a pool's GC stands, in the plane that is least far.
    fn state_of(&self, pool: Pool) -> GcState {
        let states = self.up.ftl.tables.planes_of(pool).map(|plane| self.up.ftl.gc.of(plane).state);
        states.min().expect("a pool has planes")
    }

    pub(super) fn set_urgent(&mut self, pool: Pool, urgent: bool) {
        self.up.ftl.tables.planes_of(pool).for_each(|plane| self.flash.set_urgent(plane, urgent));
    }

    /// Whether a pool's GC is urgent.
    pub(super) fn is_urgent(&self, pool: Pool) -> bool {
        self.flash.queues(self.up.ftl.tables.first_plane(pool)).urgent
    }

    /// A GC that still waits for what it must lock learns that its pool has become urgent.
    fn note_urgency(&mut self, pool: Pool) {
        if !self.is_urgent(pool) && self.ask(|policies, view| policies.gc_trigger.want(view, pool)) == Want::Hard {
            let plan = self.ask(|policies, view| policies.gc_lock.lock(view, pool, true));
            self.set_urgent(pool, true);
            for plane in self.up.ftl.tables.planes_of(pool) {
                self.up.ftl.gc.planes[plane as usize].plan.release_each_page = plan.release_each_page;
                if self.flash.traits.assembles {
                    // Its lock request no longer comes after programs that have waited long enough.
                    let die = self.flash.die_of(plane);
                    self.update_masked(die);
                    self.try_start(die);
                }
            }
        }
    }

    /// The planes of a pool, each with its channel.
    fn channels_of(&self, pool: Pool) -> impl Iterator<Item = usize> + use<U> {
        let g = &self.flash.device.geometry;
        let (planes_per_die, dies_per_channel) = (g.planes_per_die, g.dies_per_channel());
        self.up.ftl.tables.planes_of(pool).map(move |plane| (plane / planes_per_die / dies_per_channel) as usize)
    }

    fn wait_at_gate(&mut self, pool: Pool, gate: Gate) {
        if !self.up.ftl.gc.is_gated(pool) {
            self.up.ftl.gc.gated[pool.index() / 64] |= 1 << (pool.index() % 64);
            self.up.ftl.gc.counters.gate_waits += 1;
            self.up.ftl.gc.of_pool_mut(pool).gated_since = self.flash.now;
            self.channels_of(pool).for_each(|channel| self.up.ftl.gc.channels[channel].gated += 1);
        }
        if let Gate::ClosedUntil(at) = gate {
            self.up.ftl.gc.of_pool_mut(pool).retry_at = at;
            self.set_timer(at, Self::gate_timer, pool.0);
        }
    }

    fn leave_gate(&mut self, pool: Pool) {
        self.up.ftl.gc.of_pool_mut(pool).retry_at = Ns::MAX;
        if self.up.ftl.gc.is_gated(pool) {
            self.up.ftl.gc.gated[pool.index() / 64] &= !(1 << (pool.index() % 64));
            self.channels_of(pool).for_each(|channel| self.up.ftl.gc.channels[channel].gated -= 1);
        }
    }

    /// A gate wants to be asked again for a pool. Returns whether that still matters.
    fn gate_timer(&mut self, pool: u32) -> bool {
        let pool = Pool(pool);
        let matters = self.up.ftl.gc.of_pool(pool).retry_at == self.flash.now;
        if matters {
            self.consider_start(pool);
        }
        matters
    }

    /// Asks the gate again for every waiting pool, or for those of one channel.
    pub(super) fn ask_gates(&mut self, channel: Option<usize>) {
        let planes_per_channel = self.flash.device.geometry.planes() / self.flash.device.geometry.channels;
        let (from, to) = match channel {
            Some(channel) => (channel as u32 * planes_per_channel, (channel as u32 + 1) * planes_per_channel),
            None => (0, self.flash.device.geometry.planes()),
        };
        let mut pool = self.up.ftl.tables.pool_of(from);
        let last = self.up.ftl.tables.pool_of(to - 1);
        while pool <= last {
            let word = self.up.ftl.gc.gated[pool.index() / 64] >> (pool.index() % 64);
            if word == 0 {
                pool = Pool((pool.0 / 64 + 1) * 64);
                continue;
            }
            pool = Pool(pool.0 + word.trailing_zeros());
            if pool <= last {
                self.consider_start(pool);
            }
            pool = Pool(pool.0 + 1);
        }
    }

    pub(crate) fn start_gc(&mut self, pool: Pool, urgent: bool, reason: Reason) {
        if reason == Reason::Wanted {
            self.begin_cycle(pool);
        }
        let number = self.up.ftl.gc.next_number();
        let gc = self.up.ftl.gc.of_pool_mut(pool);
        (gc.reason, gc.started, gc.number, gc.retry_at) = (reason, self.flash.now, number, Ns::MAX);
        let plan = self.ask(|policies, view| policies.gc_lock.lock(view, pool, urgent));
        self.gc_begins(pool);
        for plane in self.up.ftl.tables.planes_of(pool) {
            self.flash.step_arrives(plane);
            let gc = &mut self.up.ftl.gc.planes[plane as usize];
            (gc.state, gc.plan) = (GcState::Claiming, plan);
        }
        self.set_urgent(pool, urgent);
        self.channels_of(pool).for_each(|channel| self.up.ftl.gc.channels[channel].under_way += 1);
        if self.flash.traits.joins_erases {
            self.put_erases_off(pool);
        }
        self.request_locks(pool);
    }

    /// All that a pool's GC must lock is locked in one of its planes: takes its victim. Returns whether there is one; if not, it has
    /// ended.
    pub(super) fn begin_collection(&mut self, pool: Pool) -> bool {
        let Some(victim) = self.choose_victim(pool) else {
            self.end_cycle(pool);
            self.end_without_erase(pool);
            if self.flash.traits.assembles_gc {
                self.assemble_without(self.die_of_pool(pool));
            }
            self.pass_turn(pool);
            return false;
        };
        let opened = self.open(victim);
        let gc = self.up.ftl.gc.of_pool_mut(pool);
        gc.current = Some(Collection { started: gc.started, ..opened });
        if self.up.ftl.traits.aligns {
            self.up.ftl.tables.planes_of(pool).for_each(|plane| self.align_gc(plane));
        }
        true
    }

    /// A GC that ended without an erase leaves its turn to the others, as one that has erased does. Others of its die that wanted
    /// a GC meanwhile have not got any. One that has nothing to free is not asked: two of them would pass the turn on for ever.
    #[cold]
    pub(super) fn pass_turn(&mut self, pool: Pool) {
        self.ask_gates(None);
        if self.goes_by_die() {
            for other in self.pools_of_cycle(pool) {
                if other != pool && self.choose_victim(other).is_some() {
                    self.consider_gc_of_pool(other);
                }
            }
        }
    }

    /// Ends a GC that has found nothing to erase, or is not to.
    pub(super) fn end_without_erase(&mut self, pool: Pool) {
        self.up.ftl.tables.planes_of(pool).for_each(|plane| self.release(plane));
        self.end_gc(pool);
        self.gc_ended(pool);
        if self.flash.traits.joins_erases {
            self.put_erases_off(pool);
            self.try_start(self.die_of_pool(pool));
        }
    }

    pub(super) fn end_gc(&mut self, pool: Pool) {
        let gc = self.up.ftl.gc.of_pool_mut(pool);
        (gc.current, gc.number) = (None, NOBODY);
        let took = self.flash.now - gc.started;
        self.up.ftl.gc.counters.turn_ns_max = self.up.ftl.gc.counters.turn_ns_max.max(took);
        self.set_urgent(pool, false);
        for plane in self.up.ftl.tables.planes_of(pool) {
            // A cycle that goes on gives the lock up only when its next request stands.
            let Gc { locks, locks_since, plan, .. } = self.up.ftl.gc.planes[plane as usize];
            self.up.ftl.gc.planes[plane as usize] = Gc { locks, locks_since, plan, ..Gc::idle() };
            self.flash.relieved.note(self.flash.die_of(plane));
        }
        self.gc_ends(pool);
        self.channels_of(pool).for_each(|channel| self.up.ftl.gc.channels[channel].under_way -= 1);
    }

    /// An operation of the host's that used a channel has ended: the channel may have fallen quiet.
    #[inline(always)]
    pub(crate) fn host_operation_ended(&mut self, channel: usize) {
        self.up.ftl.counters.host_operations += 1;
        if self.flash.host_operation_leaves(channel) != 0 {
            return;
        }
        if self.up.ftl.traits.gate_asks_of_group {
            self.ask_gates(None);
        } else if self.up.ftl.gc.any_gated_on(channel) {
            self.ask_gates(Some(channel));
        }
    }
}
