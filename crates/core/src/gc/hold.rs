//! What a GC holds while it moves pages: its plane or die from when the die has drained, then the channels that its policy
//! claims, and which other work that shuts out.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, GC_BITS, HOLD_BITS, READ_BITS, class_bits};
use crate::flash::upper::{Holds, Upper};
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::GcState;
use crate::ids::{ChannelIx, DieIx, NONE, PlaneIx};
use crate::observe::{CHANNEL_IDLE, HELD_CONTROLLER, HELD_GC_OTHER, HELD_GC_PROGRAM, HELD_GC_READ, Observer, Occupant};
use crate::policy::answers::Scope;
use crate::story::NOBODY;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    pub(super) fn ask_to_hold(&mut self, plane: PlaneIx) {
        self.up.ftl.gc.planes[plane as usize].state = GcState::Claiming;
        self.set_ready(plane, Class::Hold);
        let die = self.flash.die_of(plane);
        self.try_start(die);
    }

    /// The die drained and `order` chose the request to hold: plane or die are held from now on.
    pub(crate) fn hold_die(&mut self, plane: PlaneIx) {
        self.clear_ready(plane, Class::Hold);
        let die = self.flash.die_of(plane);
        self.settle_die(die);
        let now = self.flash.now;
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        gc.holds = true;
        gc.holds_since = now;
        gc.claim = 0;
        let scope = gc.plan.scope;
        self.update_closed(die);
        if scope <= Scope::Die { self.hold_complete(plane) } else { self.claim_next(plane) }
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
        self.flash.traits.gathers_gc && self.planes_of(self.flash.die_of(plane)).any(claimed)
    }

    /// Claims the next channel, in one fixed order for all jobs, so that two of them never wait for each other.
    fn claim_next(&mut self, plane: PlaneIx) {
        let claims = self.claims(plane);
        let channel = claims.start + self.up.ftl.gc.planes[plane as usize].claim;
        if channel == claims.end {
            return self.hold_complete(plane);
        }
        let die = self.flash.die_of(plane);
        let held_by = self.flash.held_by(channel as usize);
        // GCs whose programs wait for each other hold their channels together.
        let shared = held_by == die && self.flash.traits.gathers_gc;
        if shared || (held_by == NONE && self.channel_free(channel as usize, die)) {
            self.grant_channel(channel as usize, plane);
        } else {
            self.stand_in_line_to_hold(channel as usize, plane);
        }
    }

    /// Gives up everything that a plane's GC holds.
    pub(crate) fn release(&mut self, plane: PlaneIx) {
        self.release_channels(plane);
        let die = self.flash.die_of(plane);
        self.settle_die(die);
        let gc = &mut self.up.ftl.gc.planes[plane as usize];
        if std::mem::take(&mut gc.holds) {
            self.flash.counters.gc_held_ns += self.flash.now - gc.holds_since;
        }
        self.update_closed(die);
        self.try_start(die);
    }

    /// Gives up the channels that a plane's GC holds; dies that waited stand in line by the age of their work.
    pub(super) fn release_channels(&mut self, plane: PlaneIx) {
        let claims = self.claims(plane);
        let held = claims.start..claims.start + std::mem::take(&mut self.up.ftl.gc.planes[plane as usize].claim);
        let die = self.flash.die_of(plane);
        let now = self.flash.now;
        for channel in held.clone() {
            if self.siblings_claim(plane, channel) {
                continue;
            }
            self.flash.release_channel(channel as usize);
            if Self::TOLD {
                self.observer().channel_rests(channel, now, CHANNEL_IDLE, NOBODY);
            }
            self.shut_others_out(channel as usize, die);
        }
        for channel in held {
            if self.flash.held_by(channel as usize) != NONE {
                continue;
            }
            self.line_up(channel as usize);
            self.serve_channel(channel as usize);
        }
    }

    /// An erase of a die ended; if it was the last, the next one counts anew how long erases have been pending. One is pending as
    /// soon as its GC has no page left to move.
    pub(super) fn erase_ends(&mut self, die: DieIx) {
        let pending = |plane: PlaneIx| {
            let gc = &self.up.ftl.gc.planes[plane as usize];
            let erases_next = || gc.victim != NONE && self.up.ftl.books.valid_pages(gc.victim) == 0;
            gc.state == GcState::Erasing || gc.state == GcState::Moving && erases_next()
        };
        if !self.planes_of(die).any(pending) {
            self.flash.no_erase_pends(die);
        }
    }
}

impl<Q: EventQueue, U> Holds for Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    fn shut_out(&mut self, die: DieIx) -> u64 {
        let planes = self.planes_of(die);
        let parked = self.flash.is_parked(die);
        let mut closed = 0;
        let mut die_held = false;
        for plane in planes.clone() {
            let gc = &self.up.ftl.gc.planes[plane as usize];
            // A suspended erase gives its hold up until it resumes.
            let holds = gc.holds && !parked;
            if holds {
                let local = plane % self.flash.device.geometry.planes_per_die;
                let own = GC_BITS & 0xff << (8 * local);
                if gc.plan.scope >= Scope::Die {
                    // A held die takes in the pages that other GCs send it, or two of them could wait for each other.
                    let sent = if self.flash.traits.gc_across { class_bits(Class::GcProgram) } else { 0 };
                    // GCs whose programs wait for each other hold their die together.
                    let shared = if !self.flash.traits.gathers_gc { 0 } else { GC_BITS | HOLD_BITS };
                    closed |= !(own | sent | shared) | HOLD_BITS & 0xff << (8 * local);
                    die_held = true;
                } else {
                    // A GC that yields to reads between two pages yields to them while its step waits for those of other GCs.
                    let yields = self.flash.traits.gc_reads_ahead > 1 && gc.plan.release_each_page;
                    closed |= 0xff << (8 * local) & !own & !if yields { READ_BITS } else { 0 };
                }
            }
        }
        for plane in planes {
            let held = die_held || (self.up.ftl.gc.planes[plane as usize].holds && !parked);
            if Self::TOLD {
                self.tell_hold(plane);
            }
            self.set_held(plane, held);
        }
        if self.flash.traits.gathers {
            closed |= self.not_gathered(die);
        }
        if self.flash.registers_are_full(die) {
            closed |= !(READ_BITS | self.gc_goes_on(die));
        }
        closed
    }

    fn grant_channel(&mut self, channel: usize, plane: PlaneIx) {
        let die = self.flash.die_of(plane);
        self.flash.hold_channel(channel, die);
        self.up.ftl.gc.planes[plane as usize].claim += 1;
        self.update_held_category(die);
        self.shut_others_out(channel, die);
        self.claim_next(plane);
    }

    #[inline(never)]
    fn recategorize(&mut self, die: DieIx) {
        for plane in self.planes_of(die) {
            let gc = self.up.ftl.gc.planes[plane as usize];
            if gc.claim == 0 {
                continue;
            }
            let category = match (gc.plan.scope, self.flash.occupant(die)) {
                (Scope::Controller, _) => HELD_CONTROLLER,
                (_, Some(Occupant::GcRead)) => HELD_GC_READ,
                (_, Some(Occupant::GcProgram)) => HELD_GC_PROGRAM,
                _ => HELD_GC_OTHER,
            };
            let claims = self.claims(plane);
            let now = self.flash.now;
            for channel in claims.start..claims.start + gc.claim {
                self.flash.count_rest_as(channel as usize, category);
                if Self::TOLD {
                    self.observer().channel_rests(channel, now, category, gc.number);
                }
            }
        }
    }
}
