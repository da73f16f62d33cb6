//! One step of a GC, which is one flash operation: the next valid page of a victim, or the erase; and what comes of it.
//!
//! Each page and its destination are chosen when the step is picked, not earlier, so a page that was overwritten in the meantime
//! is not copied. Where GC locks nothing, each step chooses its victim anew among the block groups of the pool.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::upper::{Steps, Upper};
use crate::ftl::above::{Above, WithFtl};
use crate::ftl::state::Ftl;
use crate::gc::state::{Collection, GcState, Reason};
use crate::ids::{DieIx, NONE, PlaneIx, Ppn};
use crate::observe::TrafficClass;
use crate::policy::answers::Want;

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Something changed in a plane: whether the GC of its pool starts, or where it locks nothing, whether its next step is wanted.
    pub(crate) fn consider_gc(&mut self, plane: PlaneIx) {
        let pool = self.up.ftl.tables.pool_of(plane);
        if self.flash.traits.late_bound { self.consider_step(pool) } else { self.consider_start(pool) }
    }

    /// The step of a GC that was picked. Returns whether the die is now busy.
    pub(crate) fn gc_step(&mut self, plane: PlaneIx) -> bool {
        self.clear_ready(plane, Class::Gc);
        let (pool, die) = (self.up.ftl.tables.pool_of(plane), self.flash.die_of(plane));
        if self.flash.traits.late_bound {
            return self.single_step(pool);
        }
        let is_return_to_fast = self.up.ftl.gc.of_pool(pool).is_return_to_fast();
        if is_return_to_fast && self.return_to_fast_is_over(pool) {
            self.abandon_gc(pool);
            return self.flash.die(die).is_running();
        }
        let Ftl { gc, tables, .. } = &mut self.up.ftl;
        let current = gc.of_pool_mut(pool).current.as_mut().expect("a GC that has its victim");
        if let Some(from) = tables.next_fetched(&mut current.unseen) {
            current.in_flight += 1;
            gc.counters.return_to_fast_moves += u64::from(is_return_to_fast);
            let kind = if self.up.ftl.traits.gc_through_controller { OpKind::Read } else { OpKind::Copyback };
            self.begin_gc_op(plane, kind, from);
            return true;
        }
        if current.in_flight > 0 {
            // The victim is not erased while copies of its pages are in RAM alone.
            self.gc_pauses(plane);
            return self.flash.die(die).is_running();
        }
        current.moved_at = self.flash.now;
        self.release_channels(plane);
        self.up.ftl.gc.planes[plane as usize].state = GcState::Erasing;
        if self.flash.traits.assembles_gc {
            self.programs_changed(die);
        }
        if self.flash.traits.joins_erases || self.flash.traits.serves_programs {
            self.await_erase(plane);
            return self.flash.die(die).is_running();
        }
        // Giving up the channel may have let another die onto it, or begun a sibling's step here; the erase then waits in the queue
        // like any other work.
        let starts = !self.flash.die(die).is_running() && self.channel_free(self.flash.channel_of(die), die);
        self.erase_victim(plane, starts);
        starts
    }

    /// Begins to move a page of a plane.
    #[inline(always)]
    pub(super) fn begin_gc_op(&mut self, plane: PlaneIx, kind: OpKind, from: Ppn) {
        self.up.ftl.gc.planes[plane as usize].reads = true;
        let lpn = self.up.ftl.tables.owner(from);
        let mut op = self.flash.page_op(kind, Class::Gc, TrafficClass::GcRead, Owner::Gc(plane), lpn, plane);
        op.ppn = from;
        op.since = self.flash.now;
        let (op, die) = (self.flash.new_op(op), self.flash.die_of(plane));
        if kind == OpKind::Copyback {
            let target = self.take_page(die, op).expect("GC always has its reserved block");
            self.flash.ops[op as usize].target = target;
        }
        if let Some(oracle) = &mut self.up.oracle {
            oracle.read_flash(op, from, true);
        }
        let loads = !self.up.ftl.traits.gc_across;
        if self.flash.traits.pairs_with_gc { self.begin_with_partners(die, op, loads) } else { self.begin(die, op) }
    }

    /// Erases the victim of a plane's GC: now if it `starts`, else when its turn comes.
    pub(super) fn erase_victim(&mut self, plane: PlaneIx, starts: bool) {
        let op = self.new_erase(plane);
        if starts { self.begin(self.flash.die_of(plane), op) } else { self.enqueue(op) }
    }

    /// The erase of the victim of a plane's GC.
    fn new_erase(&mut self, plane: PlaneIx) -> u32 {
        let Collection { group, chosen, .. } = self.gc_of(plane).current.expect("a GC that has its victim");
        self.up.ftl.gc.counters.copy_ns += self.flash.now - chosen;
        let mut op = Op::new(OpKind::Erase, Class::Gc, TrafficClass::Erase, Owner::Gc(plane), NONE, plane);
        op.ppn = self.up.ftl.tables.block_in(group, plane);
        op.since = self.flash.now;
        self.flash.new_op(op)
    }

    /// The GC of a plane has moved its pages. It locks nothing any more, so that it keeps nobody from what may run beside a suspended
    /// erase, and its own erase waits. Where erases are joined, other GCs that its die wants move their pages first.
    #[cold]
    fn await_erase(&mut self, plane: PlaneIx) {
        let op = self.new_erase(plane);
        let arrival = self.flash.next_arrival();
        let entry = &mut self.flash.ops[op as usize];
        (entry.born, entry.arrival) = (self.flash.now, arrival);
        self.queue_op(op, plane, Class::Gc);
        if self.flash.traits.joins_erases {
            self.consider_gc_of_die(self.flash.die_of(plane));
        }
        self.release(plane);
    }

    /// An operation of a plane's GC completed.
    pub(crate) fn gc_op_done(&mut self, plane: PlaneIx, op: u32) {
        if self.up.ftl.traits.measures {
            self.note_work(op);
        }
        match self.flash.ops[op as usize].kind {
            OpKind::Read => self.gc_page_read(plane, op),
            OpKind::Copyback | OpKind::Program => self.gc_page_moved(plane, op),
            OpKind::Erase => self.gc_block_erased(plane),
        }
    }

    fn gc_page_read(&mut self, plane: PlaneIx, op: u32) {
        let late_bound = self.flash.traits.late_bound;
        let waits = self.gc_read_crossed(plane);
        let Op { tag: lpn, ppn, sectors, .. } = self.flash.ops[op as usize];
        if self.up.ftl.tables.lookup(lpn) != ppn {
            self.up.ftl.gc.counters.copies_wasted += 1;
            self.collection_of(plane, ppn).in_flight -= 1;
            return if late_bound {
                self.single_copy_wasted(self.up.ftl.tables.pool_of(plane));
            } else if waits {
                self.gc_page_done(plane);
            } else {
                self.programs_changed(self.flash.die_of(plane));
            };
        }
        let destination = match self.up.ftl.traits.gc_across {
            _ if late_bound => NONE,
            true => self.choose_destination(plane),
            false => plane,
        };
        let mut program = Op::new(OpKind::Program, Class::GcProgram, TrafficClass::GcProgram, Owner::Gc(plane), lpn, destination);
        program.ppn = ppn;
        program.sectors = sectors;
        let program = self.flash.new_op(program);
        if let Some(oracle) = &mut self.up.oracle {
            let content = oracle.carried(op);
            oracle.carry(program, content);
        }
        if late_bound {
            let pool = self.up.ftl.tables.pool_of(plane);
            self.up.ftl.gc.of_pool_mut(pool).page_waits = true;
            self.enqueue(program);
            return self.consider_step(pool);
        }
        if self.flash.traits.assembles_gc && self.up.ftl.traits.gc_across && self.seen().gc_drains(plane) {
            // The pages of the next GC may fill up the last program, before it is padded.
            self.consider_gc_of_die(self.flash.die_of(plane));
        }
        self.enqueue(program);
        if waits && self.up.ftl.traits.gc_reads_ahead > 1 {
            self.reads_on(plane);
        }
    }

    /// The collection by a plane's GC that a page is moved by.
    #[inline]
    fn collection_of(&mut self, plane: PlaneIx, ppn: Ppn) -> &mut Collection {
        let Ftl { gc, tables, .. } = &mut self.up.ftl;
        gc.collection_mut(tables.pool_of(plane), tables.group_of(tables.block_of(ppn)))
    }

    fn gc_page_moved(&mut self, plane: PlaneIx, op: u32) {
        let Op { kind, tag: lpn, ppn, target, plane: destination, .. } = self.flash.ops[op as usize];
        if let Some(oracle) = &mut self.up.oracle {
            oracle.program(op, target);
        }
        self.up.ftl.gc.counters.pages += 1;
        if kind == OpKind::Copyback {
            self.copied_back(ppn, target);
        }
        if !self.up.ftl.tables.commit_move(lpn, ppn, target) {
            self.up.ftl.gc.counters.copies_wasted += 1;
        }
        let now = self.flash.now;
        let collection = self.collection_of(plane, ppn);
        collection.in_flight -= 1;
        collection.moved += 1;
        collection.moved_at = now;
        if let Some(bound) = self.up.ftl.gc_bound.get_mut(destination as usize) {
            *bound -= 1;
            self.flash.relieved.note(self.flash.die_of(destination));
        }
        let leaves = destination != plane;
        self.up.ftl.gc.counters.pages_cross_plane += u64::from(leaves);
        if self.flash.traits.late_bound {
            self.consider_step(self.up.ftl.tables.pool_of(plane));
        } else {
            if self.gc_has_paused(plane) {
                self.gc_page_done(plane);
            }
            if leaves {
                self.try_start(self.flash.die_of(plane));
            }
        }
        if leaves {
            self.consider_gc(destination);
        }
    }

    /// The block of a victim in a plane has been erased.
    fn gc_block_erased(&mut self, plane: PlaneIx) {
        let collection = self.gc_of(plane).current.expect("a GC that has its victim");
        let block = self.up.ftl.tables.block_in(collection.group, plane);
        self.up.ftl.tables.block_erased(block);
        self.up.ftl.gc.note_erase(plane);
        self.up.ftl.gc.counters.erases += 1;
        self.erased(block);
        let cuts = self.flash.die(self.flash.die_of(plane)).progress.extra_cycles;
        if cuts > 0 {
            self.erase_was_cut(block, cuts);
        }
        if Self::TRACED {
            self.trace_gc(block, &collection);
        }
        self.gc_group_erased(plane, collection);
    }

    /// The last block of a victim has been erased, in this plane: its GC ends, or goes on with the next.
    fn gc_group_erased(&mut self, plane: PlaneIx, collection: Collection) {
        let pool = self.up.ftl.tables.pool_of(plane);
        let planes = self.up.ftl.tables.planes_of(pool);
        self.up.ftl.gc.counters.blocks_out_of_turn += u64::from(self.up.ftl.tables.group_erased(collection.group));
        if self.up.ftl.traits.measures {
            self.up.ftl.gc.work.moves_of_erased += u64::from(collection.moved);
        }
        let took = self.flash.now - collection.started;
        let counters = &mut self.up.ftl.gc.counters;
        counters.gcs += 1;
        counters.moved += u64::from(collection.moved);
        counters.took_ns += took;
        counters.took_ns_max = counters.took_ns_max.max(took);
        counters.turn_ns_max = counters.turn_ns_max.max(took);
        if self.flash.traits.late_bound {
            // The next block group has another number.
            let number = self.up.ftl.gc.next_number();
            let gc = self.up.ftl.gc.of_pool_mut(pool);
            (gc.current, gc.number) = (None, number);
        } else if self.up.ftl.gc.in_cycle(pool) && !self.flash.traits.assembles_gc {
            self.end_gc(pool);
            // The next lock request stands beside the waiting work before the lock is given up, so that `order` decides.
            if let Some((next, want)) = self.next_of_cycle(pool) {
                self.start_gc(next, want == Want::Hard, Reason::Wanted);
            }
            planes.clone().for_each(|plane| self.release(plane));
        } else {
            planes.clone().for_each(|plane| self.release(plane));
            self.end_gc(pool);
        }
        if self.flash.traits.suspends {
            planes.clone().for_each(|plane| self.erase_ends(self.flash.die_of(plane)));
        }
        planes.for_each(|plane| self.wake_space_blocked(plane, true));
        self.gc_ended(pool);
        if self.goes_by_die() {
            // Others of its die that wanted a GC meanwhile have not got any.
            self.pools_of_cycle(pool).for_each(|pool| self.consider_gc_of_pool(pool));
        } else {
            self.consider_gc(plane);
        }
        self.ask_gates(None);
    }
}

impl<U> Steps for Engine<WithFtl<U>>
where
    Self: Above,
{
    #[inline(always)]
    fn take_step(&mut self, plane: PlaneIx, class: Class) -> bool {
        if class == Class::Lock {
            self.lock_die(plane);
            return false;
        }
        self.gc_step(plane)
    }

    #[cold]
    fn programs_changed(&mut self, die: DieIx) {
        self.assemble(die);
    }

    #[cold]
    fn programs_ended(&mut self, die: DieIx) {
        self.programs_changed(die);
        // Whosever program it was, it may have padded every plane.
        if self.flash.traits.late_bound {
            self.planes_of(die).for_each(|plane| self.consider_gc(plane));
        } else {
            self.consider_gc_of_die(die);
        }
    }

    #[cold]
    fn read_left_array(&mut self, plane: PlaneIx) -> bool {
        let reads_ahead = self.up.ftl.traits.gc_reads_ahead > 1;
        if reads_ahead {
            let gc = &mut self.up.ftl.gc.planes[plane as usize];
            gc.reads = false;
            gc.in_registers += 1;
        }
        reads_ahead
    }

    #[cold]
    fn reads_on(&mut self, plane: PlaneIx) {
        let current = self.gc_of(plane).current.expect("a GC that has its victim");
        let in_registers = self.up.ftl.gc.of(plane).in_registers > 0;
        let full = current.in_flight >= self.up.ftl.traits.gc_reads_ahead || in_registers && !self.up.ftl.tables.has_valid(current.unseen);
        if full { self.gc_pauses(plane) } else { self.gc_page_done(plane) }
    }
}
