//! What a plane's GC does next where it locks nothing: one flash operation at a time, chosen when it starts.
//!
//! A plane that wants GC has a ready bit of the class `Gc`. When it is picked, it becomes the erase of a block without valid pages,
//! or the read of a page of a victim, or of a block that is partly moved and has fewer left. The page that was read then waits for
//! its place like any other that is programmed, and its plane reads no further one before that has it.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, OpKind};
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::{GcState, Opened};
use crate::ids::{BlockIx, NONE, PlaneIx, Ppn};
use crate::policy::answers::Want;
use crate::policy::interface::{GcTrigger, PageChoice};

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Something changed in a plane, or time began: whether it wants GC, and how urgently.
    #[cold]
    pub(super) fn consider_step(&mut self, plane: PlaneIx) {
        self.up.ftl.gc.cleanup[plane as usize].stuck = false;
        self.set_step(plane);
        self.try_start(self.flash.die_of(plane));
    }

    /// What a plane's GC wants, as a ready bit and as urgency.
    fn set_step(&mut self, plane: PlaneIx) {
        let want = self.ask(|policies, view| policies.gc_trigger.want(view, plane));
        let cleanup = &self.up.ftl.gc.cleanup[plane as usize];
        let (paused, stuck) = (cleanup.runs || cleanup.page_waits, cleanup.stuck);
        let begun = !cleanup.opened.is_empty();
        let in_flight = cleanup.opened.iter().any(|opened| opened.in_flight > 0);
        let urgent = want == Want::Hard && (!stuck || in_flight);
        let wanted = !stuck && (want != Want::No || self.returns_to_fast(plane));
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        let hurries = urgent && !self.flash.is_urgent(plane);
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

    /// A plane's GC was picked at an idle die whose channel is free: it resolves into one operation. Returns whether the die is now
    /// busy.
    #[cold]
    pub(super) fn single_step(&mut self, plane: PlaneIx) -> bool {
        let wanted = self.ask(|policies, view| policies.gc_trigger.want(view, plane)) != Want::No;
        if !wanted && !self.returns_to_fast(plane) {
            // It was for idle time, which is over.
            self.set_step(plane);
            return false;
        }
        if wanted && let Some(block) = self.block_without_pages(plane) {
            let Opened { moved, began, moved_at, .. } = *self.opened(plane, block);
            let gc = &mut self.up.ftl.gc.planes[plane as usize];
            (gc.victim, gc.moved, gc.started, gc.locked_since, gc.moved_at) = (block, moved, began, began, moved_at);
            self.up.ftl.gc.cleanup[plane as usize].runs = true;
            self.erase_victim(plane, true);
            return true;
        }
        let goes_on = !wanted || !self.is_made_up_for(plane) || self.returns_to_fast(plane);
        let Some(from) = goes_on.then(|| self.next_move(plane)).flatten() else {
            self.up.ftl.gc.cleanup[plane as usize].stuck = true;
            self.set_step(plane);
            return false;
        };
        self.late_bound().moving += 1;
        self.flash.counters.return_to_fast_moves += u64::from(!wanted);
        self.up.ftl.gc.cleanup[plane as usize].runs = true;
        self.begin_gc_op(plane, OpKind::Read, from);
        true
    }

    /// A block of the plane that holds nothing valid, opened if it was not.
    fn block_without_pages(&mut self, plane: PlaneIx) -> Option<BlockIx> {
        let tables = &self.up.ftl.tables;
        let opened = &self.up.ftl.gc.cleanup[plane as usize].opened;
        let drained = opened.iter().find(|opened| opened.in_flight == 0 && tables.valid_pages(opened.block) == 0);
        match drained {
            Some(drained) => Some(drained.block),
            None => self.empty_victim(plane).inspect(|&block| self.open(plane, block)),
        }
    }

    /// Whether the blocks whose last pages are on their way make up for what the plane lacks, so that nothing else need be moved.
    fn is_made_up_for(&self, plane: PlaneIx) -> bool {
        let tables = &self.up.ftl.tables;
        let opened = self.up.ftl.gc.cleanup[plane as usize].opened.iter();
        let coming = opened.filter(|opened| !tables.has_valid(opened.unseen)).count() as u32;
        coming > 0 && self.policies().start.trigger.is_some_and(|level| !tables.is_short_of(level, plane, coming))
    }

    /// The page that is moved next.
    fn next_move(&mut self, plane: PlaneIx) -> Option<Ppn> {
        let tables = &self.up.ftl.tables;
        let opened = &self.up.ftl.gc.cleanup[plane as usize].opened;
        // Of the blocks that are partly moved, the one with the fewest pages left.
        let left = |opened: &Opened| {
            let left = tables.valid_pages(opened.block).saturating_sub(opened.in_flight).max(1);
            tables.has_valid(opened.unseen).then_some((left, opened.block))
        };
        let begun = opened.iter().filter_map(left).min();
        let sticks = begun.is_some_and(|(left, _)| tables.least_valid_bound(plane) >= left);
        let mut block = begun.map(|(_, block)| block);
        if !sticks
            && let Some(victim) = self.choose_victim(plane)
            && begun.is_none_or(|(left, _)| self.up.ftl.tables.valid_pages(victim) < left)
        {
            self.open(plane, victim);
            self.up.ftl.tables.prefetch_block(victim);
            block = Some(victim);
        }
        let block = block?;
        let mut unseen = self.opened(plane, block).unseen;
        let from = self.up.ftl.tables.next_valid(&mut unseen)?;
        let opened = self.opened(plane, block);
        opened.unseen = unseen;
        opened.in_flight += 1;
        Some(from)
    }

    fn open(&mut self, plane: PlaneIx, block: BlockIx) {
        let unseen = self.up.ftl.tables.begin_collect(block);
        let now = self.flash.now;
        let opened = Opened { block, unseen, in_flight: 0, moved: 0, began: now, moved_at: now };
        self.up.ftl.gc.cleanup[plane as usize].opened.push(opened);
    }

    fn opened(&mut self, plane: PlaneIx, block: BlockIx) -> &mut Opened {
        let opened = &mut self.up.ftl.gc.cleanup[plane as usize].opened;
        opened.iter_mut().find(|opened| opened.block == block).expect("a block that is being cleaned")
    }

    /// A page that was read is not needed any more.
    #[cold]
    pub(super) fn single_copy_wasted(&mut self, plane: PlaneIx, ppn: Ppn) {
        let block = self.up.ftl.tables.block_of(ppn);
        self.opened(plane, block).in_flight -= 1;
        self.late_bound().moving -= 1;
        self.consider_step(plane);
        // Planes that relied on it to return a write point to fast pages are asked again.
        if self.ask(|policies, _| policies.page_choice.parking()).is_some() {
            (0..self.flash.device.geometry.planes()).for_each(|plane| self.consider_step(plane));
        }
    }

    /// A page that a plane's GC has read has got its place: the plane may read another one.
    pub(crate) fn page_has_its_place(&mut self, plane: PlaneIx) {
        self.up.ftl.gc.cleanup[plane as usize].page_waits = false;
        self.set_step(plane);
    }

    /// A page of a block that is partly moved is in the plane that took it.
    #[cold]
    pub(super) fn single_page_moved(&mut self, plane: PlaneIx, from: Ppn, destination: PlaneIx) {
        self.flash.counters.gc_pages_cross_plane += u64::from(destination != plane);
        self.up.ftl.gc_bound[destination as usize] -= 1;
        let (block, now) = (self.up.ftl.tables.block_of(from), self.flash.now);
        let opened = self.opened(plane, block);
        opened.in_flight -= 1;
        opened.moved += 1;
        opened.moved_at = now;
        self.consider_step(plane);
        if destination != plane {
            self.consider_step(destination);
        }
    }

    /// A block of a plane has been erased; the next one has another number.
    #[cold]
    pub(super) fn single_erased(&mut self, plane: PlaneIx, block: BlockIx) {
        let cleanup = &mut self.up.ftl.gc.cleanup[plane as usize];
        cleanup.runs = false;
        cleanup.opened.retain(|opened| opened.block != block);
        let number = self.up.ftl.gc.started;
        self.up.ftl.gc.started += 1;
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        (gc.number, gc.victim) = (number, NONE);
    }
}
