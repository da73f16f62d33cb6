//! Garbage collection as a mechanism: one job for each plane, which holds what its policy says, moves the valid pages of a
//! victim one by one, and erases it.
//!
//! Nothing is chosen early: the victim when the hold is complete, each page and its destination when the step is picked, so
//! a page that died in the meantime is not copied.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::upper::Upper;
use crate::ftl::Claimant;
use crate::ftl::FETCHED_AT_ONCE;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::{Gc, GcState, Reason};
use crate::ids::{BlockIx, NONE, PlaneIx};
use crate::observe::Occupant;
use crate::policy::answers::{Gate, Want};
use crate::policy::interface::{GcGate, GcHold, GcTrigger, Place, Victim};
use crate::timer::Timer;
use crate::units::Ns;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Asks trigger and gate whether a GC starts in a plane.
    pub(crate) fn consider_gc(&mut self, plane: PlaneIx) {
        if self.flash.traits.late {
            return self.consider_cleanup(plane);
        }
        match self.up.ftl.gc.planes[plane as usize].state {
            GcState::Idle => {}
            GcState::Claiming => return self.note_urgency(plane),
            GcState::Moving | GcState::Erasing => return,
        }
        let want = self.ask(|policies, view| policies.gc_trigger.want(view, plane));
        if want == Want::No {
            self.leave_gate(plane);
            if self.flash.traits.rests && self.seeks_rest(plane) {
                self.start_gc(plane, false, Reason::Rest);
            }
            return;
        }
        if self.flash.traits.gathers_gc && !self.is_worth_its_padding(plane, want == Want::Hard) {
            return self.leave_gate(plane);
        }
        if self.flash.traits.gc_ideal {
            return self.collect_at_once(plane);
        }
        let gate = self.ask(|policies, view| policies.gc_gate.may_start(view, plane, want));
        if gate != Gate::Open {
            if want == Want::Soft || self.ask(|policies, _| policies.gc_gate.strict()) {
                return self.wait_at_gate(plane, gate);
            }
            self.flash.counters.gate_passed_urgently += 1;
        }
        if self.seen().waits_at_gate(plane) {
            let waited = self.flash.now - self.up.ftl.gc.planes[plane as usize].gated_since;
            self.flash.counters.gate_wait_ns += waited;
            self.flash.counters.gate_wait_ns_max = self.flash.counters.gate_wait_ns_max.max(waited);
        }
        self.leave_gate(plane);
        if self.flash.traits.gathers_gc {
            self.note_wanted_gc(plane);
        }
        self.start_gc(plane, want == Want::Hard, Reason::Wanted);
    }

    /// A GC that still waits for what it must hold learns that its plane has become urgent.
    fn note_urgency(&mut self, plane: PlaneIx) {
        if !self.flash.is_urgent(plane) && self.ask(|policies, view| policies.gc_trigger.want(view, plane)) == Want::Hard {
            let plan = self.ask(|policies, view| policies.gc_hold.hold(view, plane, true));
            self.flash.set_urgent(plane, true);
            let gc = &mut self.up.ftl.gc.planes[plane as usize];
            gc.plan.release_each_page = plan.release_each_page;
            if self.flash.traits.gathers {
                // Its request to hold no longer comes after programs that have waited long enough.
                let die = self.flash.die_of(plane);
                self.update_closed(die);
                self.try_start(die);
            }
        }
    }

    fn wait_at_gate(&mut self, plane: PlaneIx, gate: Gate) {
        let word = &mut self.up.ftl.gc.gated[(plane / 64) as usize];
        if *word >> (plane % 64) & 1 == 0 {
            *word |= 1 << (plane % 64);
            self.flash.counters.gate_waits += 1;
            self.up.ftl.gc.planes[plane as usize].gated_since = self.flash.now;
            let channel = self.flash.channel_of(self.flash.die_of(plane));
            self.up.ftl.gc.channels[channel].gated += 1;
        }
        if let Gate::ShutUntil(at) = gate {
            self.up.ftl.gc.planes[plane as usize].retry_at = at;
            self.set_timer(at, Timer::Gate(plane));
        }
    }

    fn leave_gate(&mut self, plane: PlaneIx) {
        self.up.ftl.gc.planes[plane as usize].retry_at = Ns::MAX;
        let word = &mut self.up.ftl.gc.gated[(plane / 64) as usize];
        if *word >> (plane % 64) & 1 == 1 {
            *word &= !(1 << (plane % 64));
            let channel = self.flash.channel_of(self.flash.die_of(plane));
            self.up.ftl.gc.channels[channel].gated -= 1;
        }
    }

    /// A timer set by a gate. Returns whether it still mattered.
    pub(crate) fn gate_timer(&mut self, plane: PlaneIx) -> bool {
        let matters = self.up.ftl.gc.planes[plane as usize].retry_at == self.flash.now;
        if matters {
            self.consider_gc(plane);
        }
        matters
    }

    /// Asks the gate again for every waiting plane, or for those of one channel.
    pub(crate) fn ask_gates(&mut self, channel: Option<usize>) {
        let planes_per_channel = self.flash.device.geometry.planes() / self.flash.device.geometry.channels;
        let (from, to) = match channel {
            Some(channel) => (channel as u32 * planes_per_channel, (channel as u32 + 1) * planes_per_channel),
            None => (0, self.flash.device.geometry.planes()),
        };
        let mut plane = from;
        while plane < to {
            let word = self.up.ftl.gc.gated[(plane / 64) as usize] >> (plane % 64);
            if word == 0 {
                plane = (plane / 64 + 1) * 64;
                continue;
            }
            plane += word.trailing_zeros();
            if plane < to {
                self.consider_gc(plane);
            }
            plane += 1;
        }
    }

    /// Chooses a victim that frees something.
    pub(crate) fn choose_victim(&mut self, plane: PlaneIx) -> Option<BlockIx> {
        let mut found = std::mem::take(&mut self.up.ftl.gc.candidates);
        found.clear();
        let (count, best) = self.ask(|policies, view| {
            let first_only = policies.victim.len() == 1;
            let mut chain = policies.victim.iter_mut();
            if let Some(head) = chain.next() {
                head.search(view, plane, first_only, &mut found);
            }
            let best = if cfg!(any(test, debug_assertions)) { found.clone() } else { Vec::new() };
            let count = found.len() as u64;
            for policy in chain {
                if found.len() > 1 {
                    policy.narrow(view, plane, &mut found);
                }
            }
            (count, best)
        });
        self.flash.counters.victim_candidates_max = self.flash.counters.victim_candidates_max.max(count);
        crate::check!(
            best.is_empty() == found.is_empty() && found.iter().all(|block| best.contains(block)),
            "a victim that the chain's head has not found"
        );
        let victim =
            found.first().copied().filter(|&block| self.up.ftl.books.valid_pages(block) < self.flash.device.geometry.pages_per_block);
        self.up.ftl.gc.candidates = found;
        victim
    }

    pub(crate) fn start_gc(&mut self, plane: PlaneIx, urgent: bool, reason: Reason) {
        let plan = self.ask(|policies, view| policies.gc_hold.hold(view, plane, urgent));
        self.flash.step_arrives(plane);
        let now = self.flash.now;
        self.gc_begins(plane);
        let number = self.up.ftl.gc.started;
        self.up.ftl.gc.started += 1;
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        *gc = Gc { state: GcState::Claiming, plan, reason, started: now, number, ..Gc::idle() };
        self.flash.set_urgent(plane, urgent);
        let channel = self.flash.channel_of(self.flash.die_of(plane));
        self.up.ftl.gc.channels[channel].under_way += 1;
        self.ask_to_hold(plane);
    }

    pub(crate) fn hold_complete(&mut self, plane: PlaneIx) {
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        gc.state = GcState::Moving;
        let begins = gc.victim == NONE;
        if begins {
            let Some(victim) = self.choose_victim(plane) else {
                self.end_without_erase(plane);
                if self.flash.traits.gathers_gc {
                    self.gather_without(plane);
                }
                // It leaves its turn to the others, as one that has erased does.
                self.ask_gates(None);
                return;
            };
            self.up.ftl.books.begin_collect(victim);
            self.up.ftl.books.prefetch_block(victim);
            let gc = &mut self.up.ftl.gc.planes[plane as usize];
            gc.victim = victim;
            (gc.cursor, gc.fetched) = (0, 0);
            gc.held_since = self.flash.now;
            if self.flash.traits.aligns {
                self.align_gc(plane);
            }
        }
        self.gc_holds(plane);
        self.set_ready(plane, Class::Gc);
        if begins && self.flash.traits.gathers_gc {
            self.bring_siblings(plane);
        }
        self.try_start(self.flash.die_of(plane));
    }

    /// The step of a GC that was picked: the next valid page, or the erase. Returns whether the die is now busy.
    pub(crate) fn gc_step(&mut self, plane: PlaneIx) -> bool {
        if self.flash.traits.late {
            return self.cleanup_step(plane);
        }
        self.clear_ready(plane, Class::Gc);
        if self.up.ftl.gc.planes[plane as usize].is_for_rest() && self.rest_is_over(plane) {
            return self.abandon_gc(plane);
        }
        let gc = self.up.ftl.gc.planes[plane as usize];
        let die = self.flash.die_of(plane);
        let pages = self.flash.device.geometry.pages_per_block;
        if let Some(offset) = self.up.ftl.books.next_valid(gc.victim, gc.cursor) {
            self.up.ftl.gc.planes[plane as usize].cursor = offset + 1;
            let from = gc.victim * pages + offset;
            let lpn = self.up.ftl.books.owner(from);
            if offset >= gc.fetched {
                self.up.ftl.gc.planes[plane as usize].fetched = self.up.ftl.books.prefetch_owners(gc.victim, offset, FETCHED_AT_ONCE);
            }
            let kind = if self.flash.traits.gc_through_controller { OpKind::Read } else { OpKind::Copyback };
            let mut op = Op::new(kind, Class::Gc, Occupant::GcRead, Owner::Gc(plane), lpn, plane);
            op.ppn = from;
            op.sectors = self.flash.device.geometry.sectors_per_page() as u8;
            op.since = self.flash.now;
            if kind == OpKind::Copyback {
                let write_point = if self.flash.traits.chooses {
                    self.chosen_point(plane, NONE)
                } else {
                    self.ask(|policies, view| policies.place.write_point(view, plane, true))
                };
                op.target = self.up.ftl.books.take(plane, write_point, Claimant::Gc).expect("GC always has its reserved block");
                if self.flash.traits.chooses {
                    self.note_choice(&op, write_point, op.target % pages);
                }
            }
            let op = self.flash.new_op(op);
            if let Some(oracle) = &mut self.up.oracle {
                oracle.read_flash(op, from, true);
            }
            self.flash.counters.moves_for_rest += u64::from(gc.is_for_rest());
            self.up.ftl.gc.planes[plane as usize].reads = true;
            if self.flash.traits.gc_joins {
                self.begin_with_partners(die, op);
            } else {
                self.begin(die, op);
            }
            return true;
        }
        if gc.in_ram + gc.in_registers > 0 {
            // What is only in RAM is not erased on the flash.
            self.gc_rests(plane);
            return self.flash.is_running(die);
        }
        self.release_channels(plane);
        self.up.ftl.gc.planes[plane as usize].state = GcState::Erasing;
        if self.flash.traits.gathers_gc {
            self.consider_gather(die);
        }
        self.up.ftl.gc.planes[plane as usize].moved_at = self.flash.now;
        self.flash.counters.gc_copy_ns += self.flash.now - gc.held_since;
        let mut op = Op::new(OpKind::Erase, Class::Gc, Occupant::Erase, Owner::Gc(plane), NONE, plane);
        op.ppn = gc.victim;
        op.since = self.flash.now;
        let op = self.flash.new_op(op);
        // Giving up the channel may have let another die onto it, or begun a sibling's step here; the erase then waits in line
        // like any other work.
        let idle = !self.flash.is_running(die);
        if idle && self.channel_free(self.flash.channel_of(die), die) {
            self.begin(die, op);
            return true;
        }
        self.enqueue(op);
        false
    }

    /// An operation of a plane's GC completed.
    pub(crate) fn gc_op_done(&mut self, plane: PlaneIx, op: u32) {
        if self.flash.traits.late {
            return self.cleanup_op_done(plane, op);
        }
        if self.flash.traits.measures {
            self.note_work(op);
        }
        let done = &self.flash.ops[op as usize];
        match done.kind {
            OpKind::Copyback | OpKind::Program => self.gc_page_moved(plane, op),
            OpKind::Read => {
                let waits = self.gc_read_crossed(plane);
                let done = &self.flash.ops[op as usize];
                if self.up.ftl.books.lookup(done.lpn) != done.ppn {
                    self.flash.counters.gc_pages_died += 1;
                    if !waits {
                        return self.consider_gather(self.flash.die_of(plane));
                    }
                    return self.gc_page_done(plane);
                }
                let (lpn, ppn, sectors) = (done.lpn, done.ppn, done.sectors);
                let destination = if self.flash.traits.gc_across { self.choose_destination(plane) } else { plane };
                let mut program = Op::new(OpKind::Program, Class::GcProgram, Occupant::GcProgram, Owner::Gc(plane), lpn, destination);
                program.ppn = ppn;
                program.sectors = sectors;
                let program = self.flash.new_op(program);
                if let Some(oracle) = &mut self.up.oracle {
                    let content = oracle.carried(op);
                    oracle.carry(program, content);
                }
                self.up.ftl.gc.planes[plane as usize].in_ram += 1;
                if self.flash.traits.gc_reads_ahead > 1 && self.seen().gc_drains(plane) {
                    // The pages of the next GC may fill up the last program, before it is padded.
                    self.consider_gc_of_die(self.flash.die_of(plane));
                }
                self.enqueue(program);
                if waits && self.flash.traits.gc_reads_ahead > 1 {
                    self.read_ahead(plane);
                }
            }
            OpKind::Erase => self.gc_erased(plane),
        }
    }

    fn gc_page_moved(&mut self, plane: PlaneIx, op: u32) {
        let Op { kind, lpn, ppn, target, plane: destination, .. } = self.flash.ops[op as usize];
        if let Some(oracle) = &mut self.up.oracle {
            oracle.program(op, target);
        }
        self.flash.counters.gc_pages += 1;
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        gc.moved += 1;
        gc.in_ram -= u32::from(kind == OpKind::Program);
        if kind == OpKind::Copyback {
            self.copied_back(ppn, target);
        }
        if !self.up.ftl.books.commit_move(lpn, ppn, target) {
            self.flash.counters.gc_pages_died += 1;
        }
        if self.gc_has_rested(plane) {
            self.gc_page_done(plane);
        }
        if self.flash.traits.gc_across {
            self.page_arrived(plane, destination);
        }
    }

    /// A page is done with: yield if the policy says so, or go on.
    pub(crate) fn gc_page_done(&mut self, plane: PlaneIx) {
        let want = self.ask(|policies, view| policies.gc_trigger.want(view, plane));
        let urgent = want == Want::Hard;
        self.flash.set_urgent(plane, urgent);
        let plan = self.ask(|policies, view| policies.gc_hold.hold(view, plane, urgent));
        self.flash.step_arrives(plane);
        if plan.release_each_page || !self.up.ftl.gc.planes[plane as usize].holds {
            self.flash.counters.preemptions += u64::from(plan.release_each_page);
            // The request to hold again stands beside the waiting work before the hold is given up, so that `order` decides.
            self.up.ftl.gc.planes[plane as usize].state = GcState::Claiming;
            self.set_ready(plane, Class::Hold);
            self.release_channels(plane);
            self.up.ftl.gc.planes[plane as usize].plan = plan;
            return self.release(plane);
        }
        self.set_ready(plane, Class::Gc);
        if self.flash.traits.gathers_gc {
            self.consider_gather(self.flash.die_of(plane));
        }
    }

    fn gc_erased(&mut self, plane: PlaneIx) {
        let victim = self.up.ftl.gc.planes[plane as usize].victim;
        self.flash.counters.blocks_out_of_turn += u64::from(self.up.ftl.books.erased(victim));
        self.up.ftl.gc.note_erase(plane);
        self.erased(victim);
        if self.flash.traits.measures {
            self.up.ftl.gc.work.moves_of_erased += u64::from(self.up.ftl.gc.planes[plane as usize].moved);
        }
        self.flash.counters.erases += 1;
        self.flash.counters.gcs += 1;
        let took = self.flash.now - self.up.ftl.gc.planes[plane as usize].started;
        self.flash.counters.gc_ns += took;
        self.flash.counters.gc_ns_max = self.flash.counters.gc_ns_max.max(took);
        if Self::TOLD {
            self.tell_gc(plane);
        }
        self.release(plane);
        self.end_gc(plane);
        if self.flash.traits.suspends {
            self.erase_ends(self.flash.die_of(plane));
        }
        self.wake_starved(plane);
        self.gc_ended(plane);
        self.consider_gc(plane);
        self.ask_gates(None);
    }

    /// Ends a GC that has found nothing to erase, or is not to.
    pub(crate) fn end_without_erase(&mut self, plane: PlaneIx) {
        self.release(plane);
        self.end_gc(plane);
        self.gc_ended(plane);
    }

    fn end_gc(&mut self, plane: PlaneIx) {
        let took = self.flash.now - self.up.ftl.gc.planes[plane as usize].started;
        self.flash.counters.gc_turn_ns_max = self.flash.counters.gc_turn_ns_max.max(took);
        self.up.ftl.gc.planes[plane as usize] = Gc::idle();
        self.flash.set_urgent(plane, false);
        self.gc_ends(plane);
        let channel = self.flash.channel_of(self.flash.die_of(plane));
        self.up.ftl.gc.channels[channel].under_way -= 1;
    }

    /// An operation of the host's in a plane has ended: its channel may have fallen quiet.
    #[inline(always)]
    pub(crate) fn leave_channel(&mut self, plane: PlaneIx) {
        let (channel, left) = self.flash.host_operation_leaves(plane);
        if left == 0 && self.up.ftl.gc.any_gated_on(channel) {
            self.ask_gates(Some(channel));
        }
    }

    /// A read of the host's has ended for which others go on.
    pub(crate) fn host_operation_ended(&mut self, plane: PlaneIx) {
        self.flash.counters.host_operations += 1;
        self.leave_channel(plane);
    }
}
