//! When the GC of a plane begins, takes its victim, yields after a page, and ends.
//!
//! Nothing is chosen early: the victim when the lock is complete, each page and its destination when the step is picked, so a
//! page that was overwritten in the meantime is not copied.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::Class;
use crate::flash::upper::Assembles;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::{Gc, GcState, Reason};
use crate::ids::{NONE, PlaneIx};
use crate::policy::answers::{Gate, Want};
use crate::policy::interface::{GcGate, GcLock, GcTrigger};
use crate::timer::Timer;
use crate::units::Ns;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Asks trigger and gate whether a GC starts in a plane, or where one fills the programs of its die, in any plane of that.
    pub(crate) fn consider_gc(&mut self, plane: PlaneIx) {
        if self.flash.traits.assembles_gc && self.flash.traits.gc_across {
            self.consider_gc_of_die(self.flash.die_of(plane));
        } else {
            self.consider_gc_of_plane(plane);
        }
    }

    pub(super) fn consider_gc_of_plane(&mut self, plane: PlaneIx) {
        if self.flash.traits.late_bound {
            return self.consider_step(plane);
        }
        match self.up.ftl.gc.planes[plane as usize].state {
            GcState::Idle => {}
            GcState::Claiming => return self.note_urgency(plane),
            GcState::Moving | GcState::Erasing => return,
        }
        let want = self.ask(|policies, view| policies.gc_trigger.want(view, plane));
        if want == Want::No {
            self.leave_gate(plane);
            if self.flash.traits.returns_to_fast && self.should_return_to_fast(plane) {
                self.start_gc(plane, false, Reason::ReturnToFast);
            }
            return;
        }
        if self.flash.traits.assembles_gc && !self.is_worth_its_padding(plane, want == Want::Hard) {
            return self.leave_gate(plane);
        }
        if self.flash.traits.gc_ideal {
            return self.collect_ideal(plane);
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
        if self.flash.traits.assembles_gc {
            self.note_wanted_gc(plane);
        }
        self.start_gc(plane, want == Want::Hard, Reason::Wanted);
    }

    /// A GC that still waits for what it must lock learns that its plane has become urgent.
    fn note_urgency(&mut self, plane: PlaneIx) {
        if !self.flash.is_urgent(plane) && self.ask(|policies, view| policies.gc_trigger.want(view, plane)) == Want::Hard {
            let plan = self.ask(|policies, view| policies.gc_lock.lock(view, plane, true));
            self.flash.set_urgent(plane, true);
            let gc = &mut self.up.ftl.gc.planes[plane as usize];
            gc.plan.release_each_page = plan.release_each_page;
            if self.flash.traits.assembles {
                // Its lock request no longer comes after programs that have waited long enough.
                let die = self.flash.die_of(plane);
                self.update_masked(die);
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
        if let Gate::ClosedUntil(at) = gate {
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
    pub(super) fn ask_gates(&mut self, channel: Option<usize>) {
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

    pub(crate) fn start_gc(&mut self, plane: PlaneIx, urgent: bool, reason: Reason) {
        let plan = self.ask(|policies, view| policies.gc_lock.lock(view, plane, urgent));
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
        self.request_lock(plane);
    }

    pub(super) fn lock_complete(&mut self, plane: PlaneIx) {
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        gc.state = GcState::Moving;
        let begins = gc.victim == NONE;
        if begins {
            let Some(victim) = self.choose_victim(plane) else {
                self.end_without_erase(plane);
                if self.flash.traits.assembles_gc {
                    self.assemble_without(plane);
                }
                // It leaves its turn to the others, as one that has erased does.
                self.ask_gates(None);
                return;
            };
            let unseen = self.up.ftl.tables.begin_collect(victim);
            self.up.ftl.tables.prefetch_block(victim);
            let gc = &mut self.up.ftl.gc.planes[plane as usize];
            gc.victim = victim;
            gc.unseen = unseen;
            gc.locked_since = self.flash.now;
            if self.flash.traits.pairing.aligns {
                self.align_gc(plane);
            }
        }
        self.gc_locks(plane);
        self.set_ready(plane, Class::Gc);
        if begins && self.flash.traits.assembles_gc {
            self.bring_siblings(plane);
        }
        self.try_start(self.flash.die_of(plane));
    }

    /// A page is done with: yield if the policy says so, or go on.
    pub(super) fn gc_page_done(&mut self, plane: PlaneIx) {
        let want = self.ask(|policies, view| policies.gc_trigger.want(view, plane));
        let urgent = want == Want::Hard;
        self.flash.set_urgent(plane, urgent);
        let plan = self.ask(|policies, view| policies.gc_lock.lock(view, plane, urgent));
        self.flash.step_arrives(plane);
        if plan.release_each_page || !self.up.ftl.gc.planes[plane as usize].locks {
            self.flash.counters.preemptions += u64::from(plan.release_each_page);
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

    /// Ends a GC that has found nothing to erase, or is not to.
    pub(super) fn end_without_erase(&mut self, plane: PlaneIx) {
        self.release(plane);
        self.end_gc(plane);
        self.gc_ended(plane);
    }

    pub(super) fn end_gc(&mut self, plane: PlaneIx) {
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
