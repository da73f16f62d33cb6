//! GC as cleanup operations: one flash operation at a time, chosen when it starts; nothing is held in between.
//!
//! A plane that wants GC has a ready bit of the class `Gc`. When it is picked, it becomes the erase of a block without valid pages,
//! or the read of a page of a victim, or of a block that is partly moved and has fewer left. The page that was read then waits for its place like any other that is
//! programmed, and its plane reads no further one before that has it.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::upper::Upper;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::{GcState, Opened};
use crate::ids::{BlockIx, NONE, PlaneIx};
use crate::observe::Occupant;
use crate::policy::answers::Want;
use crate::policy::interface::{GcTrigger, PageChoice};

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Something changed in a plane, or time began: whether it wants GC, and how urgently.
    #[inline(never)]
    pub(crate) fn consider_cleanup(&mut self, plane: PlaneIx) {
        self.up.ftl.gc.cleanup[plane as usize].stuck = false;
        self.set_cleanup(plane);
        self.try_start(self.flash.die_of(plane));
    }

    /// What a plane's GC wants, as a ready bit and as urgency.
    fn set_cleanup(&mut self, plane: PlaneIx) {
        let want = self.ask(|policies, view| policies.gc_trigger.want(view, plane));
        let cleanup = &self.up.ftl.gc.cleanup[plane as usize];
        let (rests, stuck) = (cleanup.runs || cleanup.page_waits, cleanup.stuck);
        let begun = !cleanup.opened.is_empty();
        let in_flight = cleanup.opened.iter().any(|opened| opened.in_flight > 0);
        let urgent = want == Want::Hard && (!stuck || in_flight);
        let wanted = !stuck && (want != Want::No || self.returns_to_rest(plane));
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        let hurries = urgent && !self.flash.is_urgent(plane);
        self.flash.set_urgent(plane, urgent);
        gc.state = if wanted || begun { GcState::Moving } else { GcState::Idle };
        if hurries {
            self.hurry_pages(plane);
        }
        let is_ready = self.flash.is_ready(plane, Class::Gc);
        if !wanted || rests {
            self.clear_ready(plane, Class::Gc);
        } else if !is_ready {
            self.flash.step_arrives(plane);
            self.set_ready(plane, Class::Gc);
        }
    }

    /// Whether idle time is used to bring write points of a plane to rest. Pages that are on their way already do so for as many.
    fn returns_to_rest(&mut self, plane: PlaneIx) -> bool {
        let Some(rest) = self.ask(|policies, _| policies.page_choice.rest()) else { return false };
        let late = self.up.ftl.late.as_ref().expect("a design that places late");
        late.points.restless(plane, rest) != 0 && !self.seen().host_waits() && late.points.restless_of_all(rest) > late.moving
    }

    /// A plane's GC was picked at an idle die whose channel is free: it resolves into one operation. Returns whether the die is now
    /// busy.
    #[inline(never)]
    pub(crate) fn cleanup_step(&mut self, plane: PlaneIx) -> bool {
        self.clear_ready(plane, Class::Gc);
        let wanted = self.ask(|policies, view| policies.gc_trigger.want(view, plane)) != Want::No;
        if !wanted && !self.returns_to_rest(plane) {
            // It was for idle time, which is over.
            self.set_cleanup(plane);
            return false;
        }
        if wanted && let Some(block) = self.block_without_pages(plane) {
            self.begin_cleanup(plane, OpKind::Erase, Occupant::Erase, NONE, block);
            return true;
        }
        let Some((block, offset)) = self.next_move(plane) else {
            self.up.ftl.gc.cleanup[plane as usize].stuck = true;
            self.set_cleanup(plane);
            return false;
        };
        let from = block * self.flash.device.geometry.pages_per_block + offset;
        self.late().moving += 1;
        self.flash.counters.moves_for_rest += u64::from(!wanted);
        self.begin_cleanup(plane, OpKind::Read, Occupant::GcRead, self.up.ftl.books.owner(from), from);
        true
    }

    /// A block of the plane that holds nothing valid, opened if it was not.
    fn block_without_pages(&mut self, plane: PlaneIx) -> Option<BlockIx> {
        let books = &self.up.ftl.books;
        let opened = &self.up.ftl.gc.cleanup[plane as usize].opened;
        let drained = opened.iter().find(|opened| opened.in_flight == 0 && books.valid_pages(opened.block) == 0);
        if let Some(drained) = drained {
            return Some(drained.block);
        }
        if books.least_valid_bound(plane) > 0 {
            return None;
        }
        let mut found = std::mem::take(&mut self.up.ftl.gc.candidates);
        self.up.ftl.books.fewest_valid(plane, true, &mut found);
        let stale = found.first().copied().filter(|&block| self.up.ftl.books.valid_pages(block) == 0);
        self.up.ftl.gc.candidates = found;
        stale.inspect(|&block| self.open(plane, block))
    }

    /// The block and the offset of the page that is moved next.
    fn next_move(&mut self, plane: PlaneIx) -> Option<(BlockIx, u32)> {
        let books = &self.up.ftl.books;
        let opened = &self.up.ftl.gc.cleanup[plane as usize].opened;
        // Of the blocks that are partly moved, the one with the fewest pages left.
        let left = |opened: &Opened| {
            let left = books.valid_pages(opened.block).saturating_sub(opened.in_flight).max(1);
            books.next_valid(opened.block, opened.cursor).map(|_| (left, opened.block))
        };
        let begun = opened.iter().filter_map(left).min();
        let sticks = begun.is_some_and(|(left, _)| books.least_valid_bound(plane) >= left);
        let mut block = begun.map(|(_, block)| block);
        if !sticks
            && let Some(victim) = self.choose_victim(plane)
            && begun.is_none_or(|(left, _)| self.up.ftl.books.valid_pages(victim) < left)
        {
            self.open(plane, victim);
            self.up.ftl.books.prefetch_block(victim);
            block = Some(victim);
        }
        let block = block?;
        let opened = self.opened(plane, block);
        let from = opened.cursor;
        let offset = self.up.ftl.books.next_valid(block, from)?;
        let opened = self.opened(plane, block);
        opened.cursor = offset + 1;
        opened.in_flight += 1;
        Some((block, offset))
    }

    fn open(&mut self, plane: PlaneIx, block: BlockIx) {
        self.up.ftl.books.begin_collect(block);
        let now = self.flash.now;
        let opened = Opened { block, cursor: 0, in_flight: 0, moved: 0, began: now, moved_at: now };
        self.up.ftl.gc.cleanup[plane as usize].opened.push(opened);
    }

    fn opened(&mut self, plane: PlaneIx, block: BlockIx) -> &mut Opened {
        let opened = &mut self.up.ftl.gc.cleanup[plane as usize].opened;
        opened.iter_mut().find(|opened| opened.block == block).expect("a block that is being cleaned")
    }

    fn begin_cleanup(&mut self, plane: PlaneIx, kind: OpKind, occupant: Occupant, lpn: u32, ppn: u32) {
        let mut op = Op::new(kind, Class::Gc, occupant, Owner::Gc(plane), lpn, plane);
        op.ppn = ppn;
        op.sectors = if kind == OpKind::Read { self.flash.device.geometry.sectors_per_page() as u8 } else { 0 };
        op.since = self.flash.now;
        let op = self.flash.new_op(op);
        if kind == OpKind::Read
            && let Some(oracle) = &mut self.up.oracle
        {
            oracle.read_flash(op, ppn, true);
        }
        if kind == OpKind::Erase {
            let opened = *self.opened(plane, ppn);
            self.flash.counters.gc_copy_ns += self.flash.now - opened.began;
            let gc = &mut self.up.ftl.gc.planes[plane as usize];
            (gc.victim, gc.moved, gc.started, gc.held_since, gc.moved_at) =
                (ppn, opened.moved, opened.began, opened.began, opened.moved_at);
        }
        self.up.ftl.gc.cleanup[plane as usize].runs = true;
        self.begin(self.flash.die_of(plane), op);
    }

    /// An operation of a plane's GC completed.
    #[inline(never)]
    pub(crate) fn cleanup_op_done(&mut self, plane: PlaneIx, op: u32) {
        self.note_work(op);
        let done = self.flash.ops[op as usize];
        match done.kind {
            OpKind::Read => self.page_was_read(plane, op),
            OpKind::Program => self.page_was_moved(plane, op),
            OpKind::Erase => self.block_was_erased(plane, done.ppn),
            OpKind::Copyback => unreachable!("cleanup operations go through the controller"),
        }
    }

    fn page_was_read(&mut self, plane: PlaneIx, op: u32) {
        let Op { lpn, ppn, sectors, .. } = self.flash.ops[op as usize];
        self.up.ftl.gc.cleanup[plane as usize].runs = false;
        if self.up.ftl.books.lookup(lpn) != ppn {
            self.flash.counters.gc_pages_died += 1;
            let block = self.up.ftl.books.block_of(ppn);
            self.opened(plane, block).in_flight -= 1;
            self.late().moving -= 1;
            self.consider_cleanup(plane);
            return self.seek_rest();
        }
        let mut program = Op::new(OpKind::Program, Class::GcProgram, Occupant::GcProgram, Owner::Gc(plane), lpn, NONE);
        program.ppn = ppn;
        program.sectors = sectors;
        let program = self.flash.new_op(program);
        if let Some(oracle) = &mut self.up.oracle {
            let content = oracle.carried(op);
            oracle.carry(program, content);
        }
        self.up.ftl.gc.cleanup[plane as usize].page_waits = true;
        self.enqueue_late(program);
        self.consider_cleanup(plane);
    }

    /// A page that a plane's GC has read has got its place: the plane may read another one.
    pub(crate) fn page_has_its_place(&mut self, plane: PlaneIx) {
        self.up.ftl.gc.cleanup[plane as usize].page_waits = false;
        self.set_cleanup(plane);
    }

    fn page_was_moved(&mut self, plane: PlaneIx, op: u32) {
        let Op { lpn, ppn, target, plane: destination, .. } = self.flash.ops[op as usize];
        if let Some(oracle) = &mut self.up.oracle {
            oracle.program(op, target);
        }
        self.flash.counters.gc_pages += 1;
        self.flash.counters.gc_pages_elsewhere += u64::from(destination != plane);
        self.up.ftl.gc_bound[destination as usize] -= 1;
        if !self.up.ftl.books.commit_move(lpn, ppn, target) {
            self.flash.counters.gc_pages_died += 1;
        }
        let (block, now) = (self.up.ftl.books.block_of(ppn), self.flash.now);
        let opened = self.opened(plane, block);
        opened.in_flight -= 1;
        opened.moved += 1;
        opened.moved_at = now;
        self.consider_cleanup(plane);
        if destination != plane {
            self.consider_cleanup(destination);
        }
    }

    fn block_was_erased(&mut self, plane: PlaneIx, block: BlockIx) {
        let opened = *self.opened(plane, block);
        self.up.ftl.gc.work.moves_of_erased += u64::from(opened.moved);
        let cleanup = &mut self.up.ftl.gc.cleanup[plane as usize];
        cleanup.runs = false;
        cleanup.opened.retain(|opened| opened.block != block);
        self.flash.counters.blocks_out_of_turn += u64::from(self.up.ftl.books.erased(block));
        self.up.ftl.gc.note_erase(plane);
        self.erased(block);
        self.flash.counters.erases += 1;
        self.flash.counters.gcs += 1;
        let took = self.flash.now - opened.began;
        self.flash.counters.gc_ns += took;
        self.flash.counters.gc_ns_max = self.flash.counters.gc_ns_max.max(took);
        self.flash.counters.gc_turn_ns_max = self.flash.counters.gc_turn_ns_max.max(took);
        if Self::TOLD {
            self.tell_gc(plane);
        }
        let number = self.up.ftl.gc.started;
        self.up.ftl.gc.started += 1;
        self.up.ftl.gc.planes[plane as usize].number = number;
        self.up.ftl.gc.planes[plane as usize].victim = NONE;
        if self.flash.traits.suspends {
            self.erase_ends(self.flash.die_of(plane));
        }
        self.consider_cleanup(plane);
    }

    /// A page that would have brought a write point to rest died on its way: planes that relied on it are asked again.
    fn seek_rest(&mut self) {
        if self.ask(|policies, _| policies.page_choice.rest()).is_some() {
            (0..self.flash.device.geometry.planes()).for_each(|plane| self.consider_cleanup(plane));
        }
    }
}
