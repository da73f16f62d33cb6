//! Garbage collection as a mechanism: one job for each plane, which holds what its policy says, moves the valid pages of a
//! victim one by one, and erases it.
//!
//! Nothing is chosen early: the victim when the hold is complete, each page and its destination when the step is picked, so
//! a page that died in the meantime is not copied.

use crate::drive::requests::FETCHED_AT_ONCE;
use crate::drive::{Drive, Timer};
use crate::event::EventQueue;
use crate::ftl::Claimant;
use crate::ids::{BlockIx, NONE, PlaneIx};
use crate::observe::{Observer, Occupant};
use crate::policy::{Gate, GcGate, GcHold, GcTrigger, HoldPlan, Place, Scope, Victim, Want};
use crate::sched::ops::{Class, Op, OpKind, Owner};
use crate::story::NOBODY;
use crate::units::Ns;
use crate::view::View;

/// Where a plane's GC stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcState {
    /// No GC.
    Idle,
    /// Waiting for what it must hold.
    Claiming,
    /// Moving pages.
    Moving,
    /// Erasing.
    Erasing,
}

/// The GC of a plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gc {
    pub state: GcState,
    pub victim: BlockIx,
    /// The first offset in the victim that has not been looked at.
    pub cursor: u32,
    /// The first offset whose owner's map entry has not been fetched.
    fetched: u32,
    pub plan: HoldPlan,
    /// It holds its plane or die.
    pub holds: bool,
    /// Since when.
    pub(super) holds_since: Ns,
    /// The write point that takes its pages, if `align` has chosen it.
    pub write_point: Option<u8>,
    /// The next channel to claim; those before it are held.
    pub(super) claim: u32,
    pub urgent: bool,
    /// It is there to bring write points to rest, and ends when they are.
    pub for_rest: bool,
    /// Its rank by arrival among waiting work.
    pub arrival: u64,
    pub started: Ns,
    /// When it first held all that it must.
    pub held_since: Ns,
    /// When the gate wants to be asked again.
    retry_at: Ns,
    /// Since when it waits at the gate, if it does.
    gated_since: Ns,
    /// Its number, in the order in which GCs started.
    pub number: u64,
    /// A page of its victim is being read, or, with cache registers, leaves the array.
    pub reads: bool,
    /// Pages that it has read into cache registers and that have not crossed the channel yet.
    pub in_registers: u32,
    /// Pages that it has read and that are not programmed yet.
    pub in_ram: u32,
    /// Pages that it has moved.
    pub moved: u32,
    /// When its last page had been moved.
    pub moved_at: Ns,
}

impl Gc {
    pub fn idle() -> Self {
        Self {
            state: GcState::Idle,
            victim: NONE,
            cursor: 0,
            fetched: 0,
            plan: HoldPlan { scope: Scope::Plane, release_each_page: false },
            holds: false,
            holds_since: 0,
            write_point: None,
            claim: 0,
            urgent: false,
            for_rest: false,
            arrival: 0,
            started: 0,
            held_since: 0,
            retry_at: Ns::MAX,
            gated_since: 0,
            number: NOBODY,
            reads: false,
            in_registers: 0,
            in_ram: 0,
            moved: 0,
            moved_at: 0,
        }
    }
}

impl Gc {
    /// Of a hold under way only what comes from now on counts.
    pub fn count_from(&mut self, now: Ns) {
        self.holds_since = now;
    }
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Asks trigger and gate whether a GC starts in a plane.
    pub(crate) fn consider_gc(&mut self, plane: PlaneIx) {
        if self.state.traits.late {
            return self.consider_cleanup(plane);
        }
        match self.state.gc[plane as usize].state {
            GcState::Idle => {}
            GcState::Claiming => return self.note_urgency(plane),
            GcState::Moving | GcState::Erasing => return,
        }
        let want = self.policies.gc_trigger.want(View(&self.state), plane);
        if want == Want::No {
            self.leave_gate(plane);
            if self.state.traits.rests && self.seeks_rest(plane) {
                self.start_gc(plane, false, true);
            }
            return;
        }
        if self.state.traits.gathers_gc && !self.is_worth_its_padding(plane, want == Want::Hard) {
            return self.leave_gate(plane);
        }
        if self.state.traits.gc_ideal {
            return self.collect_at_once(plane);
        }
        let gate = self.policies.gc_gate.may_start(View(&self.state), plane, want);
        if gate != Gate::Open {
            if want == Want::Soft || self.policies.gc_gate.strict() {
                return self.wait_at_gate(plane, gate);
            }
            self.state.counters.gate_passed_urgently += 1;
        }
        if View(&self.state).waits_at_gate(plane) {
            let waited = self.state.now - self.state.gc[plane as usize].gated_since;
            self.state.counters.gate_wait_ns += waited;
            self.state.counters.gate_wait_ns_max = self.state.counters.gate_wait_ns_max.max(waited);
        }
        self.leave_gate(plane);
        if self.state.traits.gathers_gc {
            self.note_wanted_gc(plane);
        }
        self.start_gc(plane, want == Want::Hard, false);
    }

    /// A GC that still waits for what it must hold learns that its plane has become urgent.
    fn note_urgency(&mut self, plane: PlaneIx) {
        if !self.state.gc[plane as usize].urgent && self.policies.gc_trigger.want(View(&self.state), plane) == Want::Hard {
            let plan = self.policies.gc_hold.hold(View(&self.state), plane, true);
            let gc = &mut self.state.gc[plane as usize];
            gc.urgent = true;
            gc.plan.release_each_page = plan.release_each_page;
            if self.state.traits.gathers {
                // Its request to hold no longer comes after programs that have waited long enough.
                let die = self.state.die_of(plane);
                self.update_closed(die);
                self.try_start(die);
            }
        }
    }

    fn wait_at_gate(&mut self, plane: PlaneIx, gate: Gate) {
        let word = &mut self.state.gated[(plane / 64) as usize];
        if *word >> (plane % 64) & 1 == 0 {
            *word |= 1 << (plane % 64);
            self.state.counters.gate_waits += 1;
            self.state.gc[plane as usize].gated_since = self.state.now;
            let channel = self.state.channel_of(self.state.die_of(plane));
            self.state.channels[channel].gated += 1;
        }
        if let Gate::ShutUntil(at) = gate {
            self.state.gc[plane as usize].retry_at = at;
            self.set_timer(at, Timer::Gate(plane));
        }
    }

    fn leave_gate(&mut self, plane: PlaneIx) {
        self.state.gc[plane as usize].retry_at = Ns::MAX;
        let word = &mut self.state.gated[(plane / 64) as usize];
        if *word >> (plane % 64) & 1 == 1 {
            *word &= !(1 << (plane % 64));
            let channel = self.state.channel_of(self.state.die_of(plane));
            self.state.channels[channel].gated -= 1;
        }
    }

    /// A timer set by a gate. Returns whether it still mattered.
    pub(crate) fn gate_timer(&mut self, plane: PlaneIx) -> bool {
        let matters = self.state.gc[plane as usize].retry_at == self.state.now;
        if matters {
            self.consider_gc(plane);
        }
        matters
    }

    /// Asks the gate again for every waiting plane, or for those of one channel.
    pub(crate) fn ask_gates(&mut self, channel: Option<usize>) {
        let planes_per_channel = self.state.device.geometry.planes() / self.state.device.geometry.channels;
        let (from, to) = match channel {
            Some(channel) => (channel as u32 * planes_per_channel, (channel as u32 + 1) * planes_per_channel),
            None => (0, self.state.device.geometry.planes()),
        };
        let mut plane = from;
        while plane < to {
            let word = self.state.gated[(plane / 64) as usize] >> (plane % 64);
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
        let mut found = std::mem::take(&mut self.candidates);
        found.clear();
        let first_only = self.policies.victim.len() == 1;
        let mut chain = self.policies.victim.iter_mut();
        chain.next()?.search(View(&self.state), plane, first_only, &mut found);
        self.state.counters.victim_candidates_max = self.state.counters.victim_candidates_max.max(found.len() as u64);
        let best = if cfg!(any(test, debug_assertions)) { found.clone() } else { Vec::new() };
        for policy in chain {
            if found.len() > 1 {
                policy.narrow(View(&self.state), plane, &mut found);
            }
        }
        crate::check!(
            best.is_empty() == found.is_empty() && found.iter().all(|block| best.contains(block)),
            "a victim that the chain's head has not found"
        );
        let victim =
            found.first().copied().filter(|&block| self.state.books.valid_pages(block) < self.state.device.geometry.pages_per_block);
        self.candidates = found;
        victim
    }

    pub(crate) fn start_gc(&mut self, plane: PlaneIx, urgent: bool, for_rest: bool) {
        let plan = self.policies.gc_hold.hold(View(&self.state), plane, urgent);
        let arrival = self.state.next_arrival();
        let now = self.state.now;
        if self.state.rain.is_some() {
            self.gc_begins_in_group(plane);
        }
        let number = self.state.gcs_started;
        self.state.gcs_started += 1;
        let gc = &mut self.state.gc[plane as usize];
        *gc = Gc { state: GcState::Claiming, plan, urgent, for_rest, arrival, started: now, number, ..Gc::idle() };
        let channel = self.state.channel_of(self.state.die_of(plane));
        self.state.channels[channel].gcs += 1;
        self.ask_to_hold(plane);
    }

    pub(super) fn hold_complete(&mut self, plane: PlaneIx) {
        let gc = &mut self.state.gc[plane as usize];
        gc.state = GcState::Moving;
        let begins = gc.victim == NONE;
        if begins {
            let Some(victim) = self.choose_victim(plane) else {
                self.end_without_erase(plane);
                if self.state.traits.gathers_gc {
                    self.gather_without(plane);
                }
                // It leaves its turn to the others, as one that has erased does.
                self.ask_gates(None);
                return;
            };
            self.state.books.begin_collect(victim);
            self.state.books.prefetch_block(victim);
            let gc = &mut self.state.gc[plane as usize];
            gc.victim = victim;
            (gc.cursor, gc.fetched) = (0, 0);
            gc.held_since = self.state.now;
            if self.state.traits.aligns {
                self.align_gc(plane);
            }
        }
        if self.state.rain.as_ref().is_some_and(|rain| rain.plans_reads) {
            self.replan_reads(plane);
        }
        self.set_ready(plane, Class::Gc);
        if begins && self.state.traits.gathers_gc {
            self.bring_siblings(plane);
        }
        self.try_start(self.state.die_of(plane));
    }

    /// The step of a GC that was picked: the next valid page, or the erase. Returns whether the die is now busy.
    pub(crate) fn gc_step(&mut self, plane: PlaneIx) -> bool {
        if self.state.traits.late {
            return self.cleanup_step(plane);
        }
        self.clear_ready(plane, Class::Gc);
        if self.state.gc[plane as usize].for_rest && self.rest_is_over(plane) {
            return self.abandon_gc(plane);
        }
        let gc = self.state.gc[plane as usize];
        let die = self.state.die_of(plane);
        let pages = self.state.device.geometry.pages_per_block;
        if let Some(offset) = self.state.books.next_valid(gc.victim, gc.cursor) {
            self.state.gc[plane as usize].cursor = offset + 1;
            let from = gc.victim * pages + offset;
            let lpn = self.state.books.owner(from);
            if offset >= gc.fetched {
                self.state.gc[plane as usize].fetched = self.state.books.prefetch_owners(gc.victim, offset, FETCHED_AT_ONCE);
            }
            let kind = if self.state.traits.gc_through_controller { OpKind::Read } else { OpKind::Copyback };
            let mut op = Op::new(kind, Class::Gc, Occupant::GcRead, Owner::Gc(plane), lpn, plane);
            op.ppn = from;
            op.sectors = self.state.device.geometry.sectors_per_page() as u8;
            op.since = self.state.now;
            if kind == OpKind::Copyback {
                let write_point = if self.state.traits.chooses {
                    self.chosen_point(plane, NONE)
                } else {
                    self.policies.place.write_point(View(&self.state), plane, true)
                };
                op.target = self.state.books.take(plane, write_point, Claimant::Gc).expect("GC always has its reserved block");
                if self.state.traits.chooses {
                    self.note_choice(&op, write_point, op.target % pages);
                }
            }
            let op = self.state.new_op(op);
            if let Some(oracle) = &mut self.oracle {
                oracle.read_flash(op, from, true);
            }
            self.state.counters.moves_for_rest += u64::from(gc.for_rest);
            self.state.gc[plane as usize].reads = true;
            if self.state.traits.gc_joins {
                self.begin_with_partners(die, op);
            } else {
                self.begin(die, op);
            }
            return true;
        }
        if gc.in_ram + gc.in_registers > 0 {
            // What is only in RAM is not erased on the flash.
            self.gc_rests(plane);
            return self.state.dies[die as usize].running != NONE;
        }
        self.release_channels(plane);
        self.state.gc[plane as usize].state = GcState::Erasing;
        if self.state.traits.gathers_gc {
            self.consider_gather(die);
        }
        self.state.gc[plane as usize].moved_at = self.state.now;
        self.state.counters.gc_copy_ns += self.state.now - gc.held_since;
        let mut op = Op::new(OpKind::Erase, Class::Gc, Occupant::Erase, Owner::Gc(plane), NONE, plane);
        op.ppn = gc.victim;
        op.since = self.state.now;
        let op = self.state.new_op(op);
        // Giving up the channel may have let another die onto it, or begun a sibling's step here; the erase then waits in line
        // like any other work.
        let idle = self.state.dies[die as usize].running == NONE;
        if idle && self.channel_free(self.state.channel_of(die), die) {
            self.begin(die, op);
            return true;
        }
        self.enqueue(op);
        false
    }

    /// An operation of a plane's GC completed.
    pub(crate) fn gc_op_done(&mut self, plane: PlaneIx, op: u32) {
        if self.state.traits.late {
            return self.cleanup_op_done(plane, op);
        }
        if self.state.traits.measures {
            self.note_work(op);
        }
        let done = &self.state.ops[op as usize];
        match done.kind {
            OpKind::Copyback | OpKind::Program => self.gc_page_moved(plane, op),
            OpKind::Read => {
                let waits = self.gc_read_crossed(plane);
                let done = &self.state.ops[op as usize];
                if self.state.books.lookup(done.lpn) != done.ppn {
                    self.state.counters.gc_pages_died += 1;
                    if !waits {
                        return self.consider_gather(self.state.die_of(plane));
                    }
                    return self.gc_page_done(plane);
                }
                let (lpn, ppn, sectors) = (done.lpn, done.ppn, done.sectors);
                let destination = if self.state.traits.gc_across { self.choose_destination(plane) } else { plane };
                let mut program = Op::new(OpKind::Program, Class::GcProgram, Occupant::GcProgram, Owner::Gc(plane), lpn, destination);
                program.ppn = ppn;
                program.sectors = sectors;
                let program = self.state.new_op(program);
                if let Some(oracle) = &mut self.oracle {
                    let content = oracle.carried(op);
                    oracle.carry(program, content);
                }
                self.state.gc[plane as usize].in_ram += 1;
                if self.state.traits.gc_reads_ahead > 1 && View(&self.state).gc_drains(plane) {
                    // The pages of the next GC may fill up the last program, before it is padded.
                    self.consider_gc_of_die(self.state.die_of(plane));
                }
                self.enqueue(program);
                if waits && self.state.traits.gc_reads_ahead > 1 {
                    self.read_ahead(plane);
                }
            }
            OpKind::Erase => self.gc_erased(plane),
        }
    }

    fn gc_page_moved(&mut self, plane: PlaneIx, op: u32) {
        let done = &self.state.ops[op as usize];
        let destination = done.plane;
        if let Some(oracle) = &mut self.oracle {
            oracle.program(op, done.target);
        }
        self.state.counters.gc_pages += 1;
        let gc = &mut self.state.gc[plane as usize];
        gc.moved += 1;
        gc.in_ram -= u32::from(done.kind == OpKind::Program);
        if self.state.errors.is_some() && done.kind == OpKind::Copyback {
            let (from, to) = (done.ppn, done.target);
            self.note_copyback(from, to);
        }
        let done = &self.state.ops[op as usize];
        if !self.state.books.commit_move(done.lpn, done.ppn, done.target) {
            self.state.counters.gc_pages_died += 1;
        }
        if self.gc_has_rested(plane) {
            self.gc_page_done(plane);
        }
        if self.state.traits.gc_across {
            self.page_arrived(plane, destination);
        }
    }

    /// A page is done with: yield if the policy says so, or go on.
    pub(super) fn gc_page_done(&mut self, plane: PlaneIx) {
        let want = self.policies.gc_trigger.want(View(&self.state), plane);
        let urgent = want == Want::Hard;
        self.state.gc[plane as usize].urgent = urgent;
        let plan = self.policies.gc_hold.hold(View(&self.state), plane, urgent);
        let arrival = self.state.next_arrival();
        self.state.gc[plane as usize].arrival = arrival;
        if plan.release_each_page || !self.state.gc[plane as usize].holds {
            self.state.counters.preemptions += u64::from(plan.release_each_page);
            // The request to hold again stands beside the waiting work before the hold is given up, so that `order` decides.
            self.state.gc[plane as usize].state = GcState::Claiming;
            self.set_ready(plane, Class::Hold);
            self.release_channels(plane);
            self.state.gc[plane as usize].plan = plan;
            return self.release(plane);
        }
        self.set_ready(plane, Class::Gc);
        if self.state.traits.gathers_gc {
            self.consider_gather(self.state.die_of(plane));
        }
    }

    fn gc_erased(&mut self, plane: PlaneIx) {
        let victim = self.state.gc[plane as usize].victim;
        self.state.counters.blocks_out_of_turn += u64::from(self.state.books.erased(victim));
        self.state.note_erase(plane, victim);
        if self.state.traits.measures {
            self.state.work.moves_of_erased += u64::from(self.state.gc[plane as usize].moved);
        }
        self.state.counters.erases += 1;
        self.state.counters.gcs += 1;
        let took = self.state.now - self.state.gc[plane as usize].started;
        self.state.counters.gc_ns += took;
        self.state.counters.gc_ns_max = self.state.counters.gc_ns_max.max(took);
        if O::TOLD {
            self.tell_gc(plane);
        }
        self.release(plane);
        self.end_gc(plane);
        if self.state.traits.suspends {
            self.erase_ends(self.state.die_of(plane));
        }
        self.wake_starved(plane);
        if self.state.rain.is_some() {
            self.unpin(plane);
        }
        self.consider_gc(plane);
        self.ask_gates(None);
    }

    /// Ends a GC that has found nothing to erase, or is not to.
    pub(crate) fn end_without_erase(&mut self, plane: PlaneIx) {
        self.release(plane);
        self.end_gc(plane);
        if self.state.rain.is_some() {
            self.unpin(plane);
        }
    }

    fn end_gc(&mut self, plane: PlaneIx) {
        let took = self.state.now - self.state.gc[plane as usize].started;
        self.state.counters.gc_turn_ns_max = self.state.counters.gc_turn_ns_max.max(took);
        self.state.gc[plane as usize] = Gc::idle();
        if self.state.rain.is_some() {
            self.gc_ends_in_group(plane);
        }
        let channel = self.state.channel_of(self.state.die_of(plane));
        self.state.channels[channel].gcs -= 1;
    }
}
