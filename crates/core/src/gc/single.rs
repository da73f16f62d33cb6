//! What a pool's GC does next where it locks nothing: one flash operation at a time, chosen when it starts.
//!
//! A plane that wants GC has a ready bit of the class `Gc`. When it is picked, it becomes the erase of a block without valid pages,
//! or the read of a page of a victim, or of a block that is partly moved and has fewer left. The page that was read then waits for
//! its place like any other that is programmed, and its plane reads no further one before that has it.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, OpKind};
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::{Cleanup, Collection, GcState, Opened};
use crate::ids::{BlockGroup, PlaneIx, Pool, Ppn};
use crate::policy::answers::Want;
use crate::policy::thresholds::CycleLevels;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Something changed in a pool, or time began: whether it wants GC, and how urgently.
    #[cold]
    pub(super) fn consider_step(&mut self, pool: Pool) {
        self.cleanup(pool).stuck = false;
        self.set_step(pool);
        self.try_start(self.flash.die_of(self.step_plane(pool)));
    }

    #[inline]
    fn cleanup(&mut self, pool: Pool) -> &mut Cleanup {
        &mut self.up.ftl.gc.cleanup[pool.index()]
    }

    /// The plane at which a pool's next step waits to be picked.
    fn step_plane(&self, pool: Pool) -> PlaneIx {
        self.up.ftl.tables.planes_of(pool).start
    }

    /// What a pool's GC wants, as a ready bit and as urgency.
    fn set_step(&mut self, pool: Pool) {
        let plane = self.step_plane(pool);
        let want = self.want_gc(pool);
        let cleanup = &self.up.ftl.gc.cleanup[pool.index()];
        let (paused, stuck) = (cleanup.runs || cleanup.page_waits, cleanup.stuck);
        let begun = !cleanup.opened.is_empty();
        let in_flight = cleanup.opened.iter().any(|opened| opened.in_flight > 0);
        let urgent = want == Want::Hard && (!stuck || in_flight);
        let wanted = !stuck && (want != Want::No || self.returns_to_fast(plane));
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        let hurries = urgent && !self.flash.queues(plane).urgent;
        self.flash.set_urgent(plane, urgent);
        gc.state = if wanted || begun { GcState::Moving } else { GcState::Idle };
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

    /// Whether idle time is used to return write points of a plane to fast pages. Pages that are on their way already do so for
    /// as many.
    fn returns_to_fast(&mut self, plane: PlaneIx) -> bool {
        let Some(parking) = self.ask(|policies, _| policies.page_choice.parking()) else { return false };
        let late_bound = self.up.ftl.late_bound.as_ref().expect("a design with late-bound allocation");
        late_bound.points.unparked(plane, parking) != 0
            && !self.seen().host_waits()
            && late_bound.points.unparked_of_all(parking) > late_bound.moving
    }

    /// A pool's GC was picked at an idle die whose channel is free: it resolves into one operation. Returns whether the die is now
    /// busy.
    #[cold]
    pub(super) fn single_step(&mut self, plane: PlaneIx) -> bool {
        let pool = self.up.ftl.tables.pool_of(plane);
        let wanted = self.ask(|policies, view| policies.gc_trigger.want(view, pool)) != Want::No;
        if !wanted && !self.returns_to_fast(plane) {
            // It was for idle time, which is over.
            self.set_step(pool);
            return false;
        }
        if wanted && let Some(group) = self.group_without_pages(pool) {
            let Opened { moved, began, moved_at, .. } = *self.opened(pool, group);
            let collection = self.up.ftl.gc.of_pool_mut(pool);
            let number = collection.number;
            *collection =
                Collection { victim: Some(group), moved, started: began, locked_since: began, moved_at, number, ..Collection::idle() };
            self.cleanup(pool).runs = true;
            self.erase_victim(plane, true);
            return true;
        }
        let goes_on = !wanted || !self.is_made_up_for(pool) || self.returns_to_fast(plane);
        let Some(from) = goes_on.then(|| self.next_move(pool)).flatten() else {
            self.cleanup(pool).stuck = true;
            self.set_step(pool);
            return false;
        };
        self.late_bound().moving += 1;
        self.flash.counters.return_to_fast_moves += u64::from(!wanted);
        self.cleanup(pool).runs = true;
        self.begin_gc_op(plane, OpKind::Read, from);
        true
    }

    /// A block group of the pool that holds nothing valid, opened if it was not.
    fn group_without_pages(&mut self, pool: Pool) -> Option<BlockGroup> {
        let tables = &self.up.ftl.tables;
        let opened = &self.up.ftl.gc.cleanup[pool.index()].opened;
        let drained = opened.iter().find(|opened| opened.in_flight == 0 && tables.valid_pages(opened.group) == 0);
        match drained {
            Some(drained) => Some(drained.group),
            None => self.empty_victim(pool).inspect(|&group| self.open(pool, group)),
        }
    }

    /// Whether the block groups whose last pages are on their way make up for what the pool lacks, so that nothing else need be
    /// moved.
    fn is_made_up_for(&self, pool: Pool) -> bool {
        let tables = &self.up.ftl.tables;
        let opened = self.up.ftl.gc.cleanup[pool.index()].opened.iter();
        let coming = opened.filter(|opened| !tables.has_valid(opened.unseen)).count() as u32;
        let level = |levels: CycleLevels| if self.up.ftl.gc.in_cycle(pool) { levels.stop } else { levels.start };
        coming > 0 && self.policies().start.trigger.is_some_and(|levels| !tables.is_short_of(level(levels), pool, coming))
    }

    /// The page that is moved next.
    fn next_move(&mut self, pool: Pool) -> Option<Ppn> {
        let tables = &self.up.ftl.tables;
        let opened = &self.up.ftl.gc.cleanup[pool.index()].opened;
        // Of the block groups that are partly moved, the one with the fewest pages left.
        let left = |opened: &Opened| {
            let left = tables.valid_pages(opened.group).saturating_sub(opened.in_flight).max(1);
            tables.has_valid(opened.unseen).then_some((left, opened.group))
        };
        let begun = opened.iter().filter_map(left).min();
        let sticks = begun.is_some_and(|(left, _)| tables.least_valid_bound(pool) >= left);
        let mut group = begun.map(|(_, group)| group);
        if !sticks
            && let Some(victim) = self.choose_victim(pool)
            && begun.is_none_or(|(left, _)| self.up.ftl.tables.valid_pages(victim) < left)
        {
            self.open(pool, victim);
            self.up.ftl.tables.prefetch_block(self.up.ftl.tables.block_in(victim, self.step_plane(pool)));
            group = Some(victim);
        }
        let group = group?;
        let mut unseen = self.opened(pool, group).unseen;
        let from = self.up.ftl.tables.next_valid(&mut unseen)?;
        let opened = self.opened(pool, group);
        opened.unseen = unseen;
        opened.in_flight += 1;
        Some(from)
    }

    fn open(&mut self, pool: Pool, group: BlockGroup) {
        let block = self.up.ftl.tables.block_in(group, self.step_plane(pool));
        let tables = &mut self.up.ftl.tables;
        tables.begin_collect(group);
        let unseen = tables.pages_of(block);
        let now = self.flash.now;
        self.cleanup(pool).opened.push(Opened { group, unseen, in_flight: 0, moved: 0, began: now, moved_at: now });
    }

    fn opened(&mut self, pool: Pool, group: BlockGroup) -> &mut Opened {
        let opened = &mut self.cleanup(pool).opened;
        opened.iter_mut().find(|opened| opened.group == group).expect("a block group that is being cleaned")
    }

    /// The entry of the block group of a page.
    fn opened_of(&mut self, pool: Pool, ppn: Ppn) -> &mut Opened {
        let tables = &self.up.ftl.tables;
        let group = tables.group_of(tables.block_of(ppn));
        self.opened(pool, group)
    }

    /// A page that was read is not needed any more.
    #[cold]
    pub(super) fn single_copy_wasted(&mut self, pool: Pool, ppn: Ppn) {
        self.opened_of(pool, ppn).in_flight -= 1;
        self.late_bound().moving -= 1;
        self.consider_step(pool);
        // Pools that relied on it to return a write point to fast pages are asked again.
        if self.ask(|policies, _| policies.page_choice.parking()).is_some() {
            self.up.ftl.tables.pools().for_each(|pool| self.consider_step(pool));
        }
    }

    /// A page that a plane's GC has read has got its place: the pool may read another one.
    pub(crate) fn page_has_its_place(&mut self, plane: PlaneIx) {
        let pool = self.up.ftl.tables.pool_of(plane);
        self.cleanup(pool).page_waits = false;
        self.set_step(pool);
    }

    /// A page of a block group that is partly moved is in the plane that took it.
    #[cold]
    pub(super) fn single_page_moved(&mut self, plane: PlaneIx, from: Ppn, destination: PlaneIx) {
        self.flash.counters.gc_pages_cross_plane += u64::from(destination != plane);
        self.up.ftl.gc_bound[destination as usize] -= 1;
        let (pool, now) = (self.up.ftl.tables.pool_of(plane), self.flash.now);
        let opened = self.opened_of(pool, from);
        opened.in_flight -= 1;
        opened.moved += 1;
        opened.moved_at = now;
        self.consider_step(pool);
        let taker = self.up.ftl.tables.pool_of(destination);
        if taker != pool {
            self.consider_step(taker);
        }
    }

    /// A block group of a pool has been erased; the next one has another number.
    #[cold]
    pub(super) fn single_erased(&mut self, pool: Pool, group: BlockGroup) {
        let cleanup = self.cleanup(pool);
        cleanup.runs = false;
        cleanup.opened.retain(|opened| opened.group != group);
        let number = self.up.ftl.gc.started;
        self.up.ftl.gc.started += 1;
        *self.up.ftl.gc.of_pool_mut(pool) = Collection { number, ..Collection::idle() };
    }
}
