//! What a GC holds while it moves pages: its plane or die from when the die has drained, then the channels that its policy
//! claims, and which other work that shuts out.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::gc::GcState;
use crate::ids::{ChannelIx, NONE, PlaneIx};
use crate::observe::{CHANNEL_IDLE, HELD_CONTROLLER, HELD_GC_OTHER, HELD_GC_PROGRAM, HELD_GC_READ, Observer, Occupant};
use crate::policy::Scope;
use crate::sched::ops::{Class, GC_BITS, HOLD_BITS, READ_BITS, class_bits};
use crate::state::{InLine, Wants};
use crate::story::NOBODY;

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    pub(super) fn ask_to_hold(&mut self, plane: PlaneIx) {
        self.state.gc[plane as usize].state = GcState::Claiming;
        self.set_ready(plane, Class::Hold);
        let die = self.state.die_of(plane);
        self.try_start(die);
    }

    /// The die drained and `order` chose the request to hold: plane or die are held from now on.
    pub(crate) fn hold_die(&mut self, plane: PlaneIx) {
        self.clear_ready(plane, Class::Hold);
        let die = self.state.die_of(plane);
        self.settle_die(die);
        let now = self.state.now;
        let gc = &mut self.state.gc[plane as usize];
        gc.holds = true;
        gc.holds_since = now;
        gc.claim = 0;
        let scope = gc.plan.scope;
        self.update_closed(die);
        if scope <= Scope::Die { self.hold_complete(plane) } else { self.claim_next(plane) }
    }

    /// The range of channels that a scope claims.
    fn claims(&self, plane: PlaneIx) -> std::ops::Range<u32> {
        let g = &self.state.device.geometry;
        let own = g.channel_of(g.die_of(plane));
        match self.state.gc[plane as usize].plan.scope {
            Scope::Plane | Scope::Die => 0..0,
            Scope::Channel => own..own + 1,
            Scope::Controller => 0..g.channels,
        }
    }

    /// Whether GCs of other planes of its die have claimed a channel as well.
    fn siblings_claim(&self, plane: PlaneIx, channel: ChannelIx) -> bool {
        let claimed = |sibling: PlaneIx| {
            let first = self.claims(sibling).start;
            sibling != plane && (first..first + self.state.gc[sibling as usize].claim).contains(&channel)
        };
        self.state.traits.gathers_gc && self.planes_of(self.state.die_of(plane)).any(claimed)
    }

    /// Claims the next channel, in one fixed order for all jobs, so that two of them never wait for each other.
    fn claim_next(&mut self, plane: PlaneIx) {
        let claims = self.claims(plane);
        let channel = claims.start + self.state.gc[plane as usize].claim;
        if channel == claims.end {
            return self.hold_complete(plane);
        }
        let die = self.state.die_of(plane);
        let held_by = self.state.channels[channel as usize].held_by;
        // GCs whose programs wait for each other hold their channels together.
        let shared = held_by == die && self.state.traits.gathers_gc;
        if shared || (held_by == NONE && self.channel_free(channel as usize, die)) {
            self.take_channel(channel as usize, plane);
        } else {
            let arrival = self.state.next_arrival();
            self.stand_in_line(channel as usize, InLine { die, wants: Wants::Claim(plane), arrival });
        }
    }

    pub(crate) fn take_channel(&mut self, channel: usize, plane: PlaneIx) {
        let now = self.state.now;
        let die = self.state.die_of(plane);
        let claimed = &mut self.state.channels[channel];
        claimed.settle(now);
        self.state.channels_held += u32::from(claimed.held_by == NONE);
        claimed.set_held_by(die, now);
        self.state.gc[plane as usize].claim += 1;
        self.update_held_category(die);
        for other in self.dies_on(channel) {
            if other != die {
                self.settle_die(other);
                self.update_closed(other);
            }
        }
        self.claim_next(plane);
    }

    /// Gives up everything that a plane's GC holds.
    pub(crate) fn release(&mut self, plane: PlaneIx) {
        self.release_channels(plane);
        let die = self.state.die_of(plane);
        self.settle_die(die);
        let gc = &mut self.state.gc[plane as usize];
        if std::mem::take(&mut gc.holds) {
            self.state.counters.gc_held_ns += self.state.now - gc.holds_since;
        }
        self.update_closed(die);
        self.try_start(die);
    }

    /// Gives up the channels that a plane's GC holds; dies that waited stand in line by the age of their work.
    pub(crate) fn release_channels(&mut self, plane: PlaneIx) {
        let claims = self.claims(plane);
        let held = claims.start..claims.start + std::mem::take(&mut self.state.gc[plane as usize].claim);
        let die = self.state.die_of(plane);
        let now = self.state.now;
        for channel in held.clone() {
            if self.siblings_claim(plane, channel) {
                continue;
            }
            let released = &mut self.state.channels[channel as usize];
            released.settle(now);
            released.set_held_by(NONE, now);
            self.state.channels_held -= 1;
            released.rest_category = CHANNEL_IDLE;
            if O::TOLD {
                self.observer.channel_rests(channel, now, CHANNEL_IDLE, NOBODY);
            }
            for other in self.dies_on(channel as usize) {
                if other != die {
                    self.settle_die(other);
                    self.update_closed(other);
                }
            }
        }
        for channel in held {
            if self.state.channels[channel as usize].held_by != NONE {
                continue;
            }
            self.line_up(channel as usize);
            self.serve_channel(channel as usize);
        }
    }

    /// Sets the shut-out work of a die from the holds on it and from suspension.
    pub(crate) fn update_closed(&mut self, die: u32) {
        let g = &self.state.device.geometry;
        let planes = die * g.planes_per_die..(die + 1) * g.planes_per_die;
        let held_by = self.state.channels[self.state.channel_of(die)].held_by;
        let parked = self.state.dies[die as usize].parked != NONE;
        let mut closed = 0;
        let mut die_held = false;
        for plane in planes.clone() {
            let gc = &self.state.gc[plane as usize];
            // A suspended erase gives its hold up until it resumes.
            let holds = gc.holds && !parked;
            if holds {
                let local = plane % self.state.device.geometry.planes_per_die;
                let own = GC_BITS & 0xff << (8 * local);
                if gc.plan.scope >= Scope::Die {
                    // A held die takes in the pages that other GCs send it, or two of them could wait for each other.
                    let sent = if self.state.traits.gc_across { class_bits(Class::GcProgram) } else { 0 };
                    // GCs whose programs wait for each other hold their die together.
                    let shared = if !self.state.traits.gathers_gc { 0 } else { GC_BITS | HOLD_BITS };
                    closed |= !(own | sent | shared) | HOLD_BITS & 0xff << (8 * local);
                    die_held = true;
                } else {
                    // A GC that yields to reads between two pages yields to them while its step waits for those of other GCs.
                    let yields = self.state.traits.gc_reads_ahead > 1 && gc.plan.release_each_page;
                    closed |= 0xff << (8 * local) & !own & !if yields { READ_BITS } else { 0 };
                }
            }
        }
        for plane in planes {
            let held = die_held || (self.state.gc[plane as usize].holds && !parked);
            self.set_held(plane, held);
        }
        if parked {
            closed |= !READ_BITS;
        }
        if self.state.traits.gathers {
            closed |= self.not_gathered(die);
        }
        if self.state.device.flash.cache_register && self.state.registers[die as usize].full != 0 {
            closed |= !(READ_BITS | self.gc_goes_on(die));
        }
        if held_by != NONE && held_by != die {
            closed = u64::MAX;
        }
        self.state.dies[die as usize].closed = closed;
    }

    /// The category of the channels that a die holds, after what the die is doing.
    #[inline(always)]
    pub(crate) fn update_held_category(&mut self, die: u32) {
        if self.state.channels_held > 0 && self.state.channels[self.state.channel_of(die)].held_by == die {
            self.recategorize(die);
        }
    }

    #[inline(never)]
    fn recategorize(&mut self, die: u32) {
        let g = &self.state.device.geometry;
        let planes = die * g.planes_per_die..(die + 1) * g.planes_per_die;
        for plane in planes {
            let gc = self.state.gc[plane as usize];
            if gc.claim == 0 {
                continue;
            }
            let running = &self.state.dies[die as usize];
            let category = match gc.plan.scope {
                Scope::Controller => HELD_CONTROLLER,
                _ if running.running == NONE => HELD_GC_OTHER,
                _ if running.occupant == Occupant::GcRead => HELD_GC_READ,
                _ if running.occupant == Occupant::GcProgram => HELD_GC_PROGRAM,
                _ => HELD_GC_OTHER,
            };
            let claims = self.claims(plane);
            let now = self.state.now;
            for channel in claims.start..claims.start + gc.claim {
                let held = &mut self.state.channels[channel as usize];
                held.settle(now);
                held.rest_category = category;
                if O::TOLD {
                    self.observer.channel_rests(channel, now, category, gc.number);
                }
            }
        }
    }
}
