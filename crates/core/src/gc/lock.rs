//! What a GC locks while it moves pages: its plane or die from when the die has drained, then the channels that its policy
//! claims, when it yields, and which other work its locks mask.

use crate::attribution::trail::NOBODY;
use crate::context::Context;
use crate::flash::Engine;
use crate::flash::bus::Wants;
use crate::flash::op::{Class, GC_BITS, LOCK_BITS, READ_BITS, class_bits};
use crate::flash::upper::{Locks, Steps, Upper};
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::GcState;
use crate::ids::{ChannelIx, DieIx, NONE, PlaneIx, Pool};
use crate::observe::{CHANNEL_IDLE, LOCKED_CONTROLLER, LOCKED_GC_OTHER, LOCKED_GC_PROGRAM, LOCKED_GC_READ, Observer, TrafficClass};
use crate::policy::answers::{Scope, Want};

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// The planes of a pool ask for their locks, all of them before the first is granted.
    pub(super) fn request_locks(&mut self, pool: Pool) {
        let planes = self.up.ftl.tables.planes_of(pool);
        planes.clone().for_each(|plane| self.set_ready(plane, Class::Lock));
        planes.for_each(|plane| self.try_start(self.flash.die_of(plane)));
    }

    /// The die drained and `order` chose the lock request: plane or die are locked from now on.
    pub(crate) fn lock_die(&mut self, plane: PlaneIx) {
        self.clear_ready(plane, Class::Lock);
        let die = self.flash.die_of(plane);
        self.settle_die(die);
        let now = self.flash.now;
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        gc.locks = true;
        gc.locks_since = now;
        gc.claim = 0;
        let scope = gc.plan.scope;
        self.update_masked(die);
        if scope <= Scope::Die { self.lock_complete(plane) } else { self.claim_next(plane) }
    }

    /// A plane has all locks that its pool's GC must have there: the first one lets the victim be chosen.
    fn lock_complete(&mut self, plane: PlaneIx) {
        self.up.ftl.gc.planes[plane as usize].state = GcState::Moving;
        let pool = self.up.ftl.tables.pool_of(plane);
        let begins = self.up.ftl.gc.of_pool(pool).current.is_none();
        if begins && !self.begin_collection(pool) {
            return;
        }
        self.gc_locks(pool);
        self.set_ready(plane, Class::Gc);
        if begins && self.flash.traits.assembles_gc {
            self.bring_siblings(pool);
        }
        self.try_start(self.flash.die_of(plane));
    }

    /// A page is done with: yield if the policy says so, or go on.
    pub(super) fn gc_page_done(&mut self, plane: PlaneIx) {
        let pool = self.up.ftl.tables.pool_of(plane);
        let want = self.ask(|policies, view| policies.gc_trigger.want(view, pool));
        let urgent = want == Want::Hard;
        self.set_urgent(pool, urgent);
        let plan = self.ask(|policies, view| policies.gc_lock.lock(view, pool, urgent));
        self.flash.step_arrives(plane);
        if plan.release_each_page || !self.up.ftl.gc.planes[plane as usize].locks {
            self.up.ftl.gc.counters.preemptions += u64::from(plan.release_each_page);
            // The next lock request stands beside the waiting work before the lock is given up, so that `order` decides.
            self.up.ftl.gc.planes[plane as usize].state = GcState::Claiming;
            self.set_ready(plane, Class::Lock);
            self.release_channels(plane);
            self.up.ftl.gc.planes[plane as usize].plan = plan;
            return self.release(plane);
        }
        self.set_ready(plane, Class::Gc);
        if self.flash.traits.assembles_gc {
            self.programs_changed(self.flash.die_of(plane));
        }
    }

    /// The range of channels that a scope claims.
    fn claims(&self, plane: PlaneIx) -> std::ops::Range<u32> {
        let g = &self.flash.device.geometry;
        let own = g.channel_of(g.die_of(plane));
        match self.up.ftl.gc.planes[plane as usize].plan.scope {
            Scope::Plane | Scope::Die => 0..0,
            Scope::Channel => own..own + 1,
            Scope::Controller => 0..g.channels,
        }
    }

    /// Whether GCs of other planes of its die have claimed a channel as well.
    fn siblings_claim(&self, plane: PlaneIx, channel: ChannelIx) -> bool {
        let claimed = |sibling: PlaneIx| {
            let first = self.claims(sibling).start;
            sibling != plane && (first..first + self.up.ftl.gc.planes[sibling as usize].claim).contains(&channel)
        };
        self.flash.traits.assembles_gc && self.planes_of(self.flash.die_of(plane)).any(claimed)
    }

    /// Claims the next channel, in one fixed order for all jobs, so that two of them never wait for each other.
    fn claim_next(&mut self, plane: PlaneIx) {
        let claims = self.claims(plane);
        let channel = claims.start + self.up.ftl.gc.planes[plane as usize].claim;
        if channel == claims.end {
            return self.lock_complete(plane);
        }
        let die = self.flash.die_of(plane);
        let locked_by = self.flash.channel(channel as usize).locked_by;
        // GCs whose programs wait for each other lock their channels together.
        let shared = locked_by == die && self.flash.traits.assembles_gc;
        if shared || (locked_by == NONE && self.channel_free(channel as usize, die)) {
            self.grant_channel(channel as usize, plane);
        } else {
            self.enqueue_for_channel(channel as usize, die, Wants::Claim(plane));
        }
    }

    /// Gives up every lock of a plane's GC.
    pub(crate) fn release(&mut self, plane: PlaneIx) {
        self.release_channels(plane);
        let die = self.flash.die_of(plane);
        self.settle_die(die);
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        if std::mem::take(&mut gc.locks) {
            self.up.ftl.gc.counters.locked_ns += self.flash.now - gc.locks_since;
        }
        self.update_masked(die);
        self.try_start(die);
    }

    /// Gives up the channel locks of a plane's GC; dies that waited are enqueued by the age of their work.
    pub(super) fn release_channels(&mut self, plane: PlaneIx) {
        let claims = self.claims(plane);
        let locked = claims.start..claims.start + std::mem::take(&mut self.up.ftl.gc.planes[plane as usize].claim);
        let die = self.flash.die_of(plane);
        let now = self.flash.now;
        for channel in locked.clone() {
            if self.siblings_claim(plane, channel) {
                continue;
            }
            self.flash.lock_channel(channel as usize, NONE);
            if Self::TRACED {
                self.observer().channel_idles(channel, now, CHANNEL_IDLE, NOBODY);
            }
            self.mask_others(channel as usize, die);
        }
        for channel in locked {
            if self.flash.channel(channel as usize).locked_by != NONE {
                continue;
            }
            self.enqueue_dies(channel as usize);
            self.serve_channel(channel as usize);
        }
    }

    /// What GCs of a die may do although its cache registers are full. They may lock; but those that read ahead would then keep
    /// host reads out until the registers are empty, and only one that has a page of its own there, and so reads next, goes on.
    fn gc_goes_on(&self, die: DieIx) -> u64 {
        if self.up.ftl.traits.gc_reads_ahead == 1 {
            return LOCK_BITS;
        }
        let reads = self.planes_of(die).filter(|&plane| self.up.ftl.gc.planes[plane as usize].in_registers > 0);
        reads.fold(0, |bits, plane| bits | self.flash.bit(plane, Class::Gc) | self.flash.bit(plane, Class::Lock))
    }

    /// An erase of a die ended; if it was the last, the next one counts anew how long erases have been pending. One is pending as
    /// soon as its GC has no page left to move.
    #[cold]
    pub(super) fn erase_ends(&mut self, die: DieIx) {
        let pending = |plane: PlaneIx| {
            let erases_next = || self.gc_of(plane).current.is_some_and(|current| self.up.ftl.tables.valid_pages(current.group) == 0);
            let state = self.up.ftl.gc.of(plane).state;
            state == GcState::Erasing || state == GcState::Moving && erases_next()
        };
        if !self.planes_of(die).any(pending) {
            self.flash.no_erase_pends(die);
        }
    }
}

impl<U> Locks for Engine<WithFtl<U>>
where
    Self: Above,
{
    fn masked_work(&mut self, die: DieIx) -> u64 {
        let planes = self.planes_of(die);
        let gives_way = self.locks_give_way(die);
        let mut masked = 0;
        let mut die_locked = false;
        for plane in planes.clone() {
            let gc = &self.up.ftl.gc.planes[plane as usize];
            // A suspended erase gives its lock up until it resumes.
            if gc.locks && !gives_way {
                let local = plane % self.flash.device.geometry.planes_per_die;
                let own = GC_BITS & 0xff << (8 * local);
                if gc.plan.scope >= Scope::Die {
                    // A locked die takes in the pages that other GCs send it, or two of them could wait for each other.
                    let sent = if self.up.ftl.traits.gc_across { class_bits(Class::GcProgram) } else { 0 };
                    // GCs whose programs wait for each other lock their die together.
                    let shared = if !self.flash.traits.assembles_gc { 0 } else { GC_BITS | LOCK_BITS };
                    masked |= !(own | sent | shared) | LOCK_BITS & 0xff << (8 * local);
                    die_locked = true;
                } else {
                    // A GC that yields to reads between two pages yields to them while its step waits for those of other GCs.
                    let yields = self.up.ftl.traits.gc_reads_ahead > 1 && gc.plan.release_each_page;
                    masked |= 0xff << (8 * local) & !own & !if yields { READ_BITS } else { 0 };
                }
            }
        }
        if Self::TRACED {
            self.trace_locks(die);
        }
        for plane in planes {
            let locked = die_locked || (self.up.ftl.gc.planes[plane as usize].locks && !gives_way);
            self.set_locked(plane, locked);
        }
        if self.flash.traits.assembles {
            masked |= self.not_assembled(die);
        }
        if self.flash.registers_are_full(die) {
            masked |= !(READ_BITS | self.gc_goes_on(die));
        }
        if self.flash.traits.joins_erases || self.flash.traits.serves_programs {
            return self.mask_erases(die, masked);
        }
        masked
    }

    fn grant_channel(&mut self, channel: usize, plane: PlaneIx) {
        let die = self.flash.die_of(plane);
        self.flash.lock_channel(channel, die);
        self.up.ftl.gc.planes[plane as usize].claim += 1;
        self.update_locked_category(die);
        self.mask_others(channel, die);
        self.claim_next(plane);
    }

    #[cold]
    fn recategorize(&mut self, die: DieIx) {
        for plane in self.planes_of(die) {
            let gc = self.up.ftl.gc.planes[plane as usize];
            if gc.claim == 0 {
                continue;
            }
            let state = self.flash.die(die);
            let category = match (gc.plan.scope, state.is_running().then_some(state.traffic)) {
                (Scope::Controller, _) => LOCKED_CONTROLLER,
                (_, Some(TrafficClass::GcRead)) => LOCKED_GC_READ,
                (_, Some(TrafficClass::GcProgram)) => LOCKED_GC_PROGRAM,
                _ => LOCKED_GC_OTHER,
            };
            let claims = self.claims(plane);
            let now = self.flash.now;
            for channel in claims.start..claims.start + gc.claim {
                self.flash.count_idle_as(channel as usize, category);
                if Self::TRACED {
                    let number = self.gc_of(plane).number;
                    self.observer().channel_idles(channel, now, category, number);
                }
            }
        }
    }
}
