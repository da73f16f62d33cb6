//! What a pool's GC does next where it locks nothing: one flash operation at a time, chosen when it starts.
//!
//! A pool that wants GC has a ready bit of the class `Gc`. When it is picked, it becomes the erase of a block without valid pages,
//! or the read of a page of a victim, or of a block that is partly moved and has fewer left. The page that was read then waits for
//! its place like any other that is programmed, and its plane reads no further one before that has it.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{Class, OpKind};
use crate::ftl::above::{Above, WithFtl};
use crate::ftl::state::Ftl;
use crate::gc::state::{Collection, GcState, PoolGc};
use crate::ids::{Pool, Ppn};
use crate::policy::answers::Want;

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Something changed in a pool, or time began: whether it wants GC, and how urgently.
    #[cold]
    pub(super) fn consider_step(&mut self, pool: Pool) {
        self.up.ftl.gc.of_pool_mut(pool).stuck = false;
        self.set_step(pool);
        self.try_start(self.die_of_pool(pool));
    }

    /// What a pool's GC wants, as a ready bit and as urgency.
    fn set_step(&mut self, pool: Pool) {
        let plane = self.up.ftl.tables.first_plane(pool);
        let want = self.want_gc(pool);
        let held = self.up.ftl.traits.holds_gc && self.is_held(pool, want);
        let &PoolGc { ref current, ref opened, page_waits, stuck, .. } = self.up.ftl.gc.of_pool(pool);
        let erases = current.is_some();
        let paused = erases || page_waits || held || self.up.ftl.gc.of(plane).reads;
        let begun = erases || !opened.is_empty();
        let in_flight = opened.iter().any(|opened| opened.in_flight > 0);
        let urgent = want == Want::Hard && (!stuck || in_flight);
        let wanted = !stuck && (want != Want::No || self.is_unparked(pool));
        let hurries = urgent && !self.flash.queues(plane).urgent;
        self.flash.set_urgent(plane, urgent);
        self.up.ftl.gc.planes[plane as usize].state = if wanted || begun { GcState::Moving } else { GcState::Idle };
        if hurries {
            self.hurry_pages(plane);
        }
        let is_ready = self.flash.is_ready(plane, Class::Gc);
        if !wanted || paused {
            self.clear_ready(plane, Class::Gc);
        } else if !is_ready {
            self.flash.step_arrives(plane);
            self.set_ready(plane, Class::Gc);
        }
    }

    /// Whether `order` holds back a pool's GC, which is over when it becomes urgent.
    #[cold]
    fn is_held(&mut self, pool: Pool, want: Want) -> bool {
        let held = &mut self.late_bound().held;
        if want == Want::Hard {
            held.retain(|&other| other != pool);
        }
        held.contains(&pool)
    }

    /// An operation of the host has ended: pools that were held back go on, until `order` holds GC back again.
    #[cold]
    pub(crate) fn release_held(&mut self) {
        while !self.late_bound().held.is_empty() && !self.ask(|policies, view| policies.order.holds_gc(view)) {
            let Some(pool) = self.late_bound().held.pop_front() else { return };
            self.consider_step(pool);
        }
    }

    /// A pool's GC was picked at an idle die whose channel is free: it resolves into one operation. Returns whether the die is now
    /// busy.
    #[cold]
    pub(super) fn single_step(&mut self, pool: Pool) -> bool {
        let plane = self.up.ftl.tables.first_plane(pool);
        let may_hold = self.up.ftl.traits.holds_gc && !self.flash.queues(plane).urgent;
        if may_hold && self.ask(|policies, view| policies.order.holds_gc(view)) {
            self.up.ftl.gc.counters.held_back += 1;
            self.late_bound().held.push_back(pool);
            self.set_step(pool);
            return false;
        }
        let wanted = self.ask(|policies, view| policies.gc_trigger.want(view, pool)) != Want::No;
        if !wanted && !self.is_unparked(pool) {
            // It was for idle time, which is over.
            self.set_step(pool);
            return false;
        }
        if wanted && let Some(drained) = self.take_drained(pool) {
            self.up.ftl.gc.of_pool_mut(pool).current = Some(drained);
            self.erase_victim(plane, true);
            return true;
        }
        let goes_on = !wanted || !self.is_made_up_for(pool) || self.is_unparked(pool);
        let Some(from) = goes_on.then(|| self.next_move(pool)).flatten() else {
            self.up.ftl.gc.of_pool_mut(pool).stuck = true;
            self.set_step(pool);
            return false;
        };
        self.late_bound().moving += 1;
        self.up.ftl.gc.counters.return_to_fast_moves += u64::from(!wanted);
        self.begin_gc_op(plane, OpKind::Read, from);
        true
    }

    /// A block group of the pool that holds nothing valid.
    fn take_drained(&mut self, pool: Pool) -> Option<Collection> {
        let Ftl { gc, tables, .. } = &mut self.up.ftl;
        let opened = &mut gc.of_pool_mut(pool).opened;
        let drained = opened.iter().position(|opened| opened.in_flight == 0 && tables.valid_pages(opened.group) == 0);
        match drained {
            Some(index) => Some(opened.remove(index)),
            None => self.empty_victim(pool).map(|group| self.open(group)),
        }
    }

    /// Whether the block groups whose last pages are on their way make up for what the pool lacks, so that nothing else need be
    /// moved.
    fn is_made_up_for(&self, pool: Pool) -> bool {
        let tables = &self.up.ftl.tables;
        let opened = self.up.ftl.gc.of_pool(pool).opened.iter();
        let coming = opened.filter(|opened| !tables.has_valid(opened.unseen)).count() as u32;
        coming > 0 && self.level_aimed_at(pool).is_some_and(|level| !tables.is_short_of(level, pool, coming))
    }

    /// The page that is moved next.
    fn next_move(&mut self, pool: Pool) -> Option<Ppn> {
        let tables = &self.up.ftl.tables;
        // Of the block groups that are partly moved, the one with the fewest pages left.
        let left = |opened: &Collection| {
            let left = tables.valid_pages(opened.group).saturating_sub(opened.in_flight).max(1);
            tables.has_valid(opened.unseen).then_some((left, opened.group))
        };
        let begun = self.up.ftl.gc.of_pool(pool).opened.iter().filter_map(left).min();
        let sticks = begun.is_some_and(|(left, _)| tables.least_valid_bound(pool) >= left);
        let mut group = begun.map(|(_, group)| group);
        if !sticks
            && let Some(victim) = self.choose_victim(pool)
            && begun.is_none_or(|(left, _)| self.up.ftl.tables.valid_pages(victim) < left)
        {
            let opened = self.open(victim);
            self.up.ftl.gc.of_pool_mut(pool).opened.push(opened);
            group = Some(victim);
        }
        let Ftl { gc, tables, .. } = &mut self.up.ftl;
        let opened = gc.collection_mut(pool, group?);
        let from = tables.next_valid(&mut opened.unseen)?;
        opened.in_flight += 1;
        Some(from)
    }

    /// A page that was read is not needed any more.
    #[cold]
    pub(super) fn single_copy_wasted(&mut self, pool: Pool) {
        self.late_bound().moving -= 1;
        self.consider_step(pool);
        // Pools that relied on it to return a write point to fast pages are asked again.
        if self.ask(|policies, _| policies.page_choice.parking()).is_some() {
            self.up.ftl.tables.pools().for_each(|pool| self.consider_step(pool));
        }
    }

    /// A page that a pool's GC has read has got its place: the pool may read another one.
    pub(crate) fn page_has_its_place(&mut self, pool: Pool) {
        self.up.ftl.gc.of_pool_mut(pool).page_waits = false;
        self.set_step(pool);
    }
}
