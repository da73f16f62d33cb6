//! The scheduler. It has one rule: among waiting work whose claims are free, start what `order` prefers.
//!
//! An operation is a short list of phases, compiled here from its kind; phases between which nothing can be decided are
//! one event. The command and data of an operation claim die and channel, array time claims the die. A channel that nobody
//! awaits is released without an event.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::Claimant;
use crate::ids::{ChannelIx, DieIx, NONE, PlaneIx, Ppn};
use crate::observe::{ARRAY, Blame, CHANNEL, COMMAND, DIE, Observer, Occupant, SPACE, TRANSFER};
use crate::policy::{Order, Place};
use crate::sched::ops::{CLASS_BY_NUMBER, CLASSES, Class, HOLD_BITS, OpKind};
use crate::sched::suspend::PulseEvent;
use crate::state::{InLine, Phase, PulseState, Wants};
use crate::units::Ns;
use crate::view::{Candidate, View};

pub(crate) mod fused;
pub(crate) mod jobs;
pub mod ops;
pub(crate) mod suspend;
#[cfg(test)]
mod tests;

/// Adds what counters have grown by since a snapshot to the parts of a blame from `first` on. Few of them have grown.
#[inline]
fn add_differences<const N: usize>(blame: &mut Blame, first: usize, now: &[Ns; N], then: &[Ns; N]) {
    let mut grown = 0u32;
    for i in 0..N {
        grown |= u32::from(now[i] != then[i]) << i;
    }
    while grown != 0 {
        let i = grown.trailing_zeros() as usize;
        blame.add(first + i, now[i] - then[i]);
        grown &= grown - 1;
    }
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    #[inline]
    fn bit(&self, plane: PlaneIx, class: Class) -> u64 {
        1 << (self.state.planes[plane as usize].shift + class as u32)
    }

    #[inline]
    pub(crate) fn set_ready(&mut self, plane: PlaneIx, class: Class) {
        let bit = self.bit(plane, class);
        let die = self.state.die_of(plane);
        self.state.dies[die as usize].ready |= bit;
    }

    #[inline]
    pub(crate) fn clear_ready(&mut self, plane: PlaneIx, class: Class) {
        let bit = self.bit(plane, class);
        let die = self.state.die_of(plane);
        self.state.dies[die as usize].ready &= !bit;
    }

    /// The dies of a channel.
    pub(crate) fn dies_on(&self, channel: usize) -> std::ops::Range<DieIx> {
        let dies = self.state.device.geometry.dies_per_channel();
        let channel = channel as ChannelIx;
        channel * dies..(channel + 1) * dies
    }

    /// An operation joins the line of its plane and class, and starts at once if it can.
    pub(crate) fn enqueue(&mut self, op: u32) {
        let arrival = self.state.next_arrival();
        let now = self.state.now;
        let entry = &mut self.state.ops[op as usize];
        entry.born = now;
        entry.since = now;
        entry.arrival = arrival;
        entry.next = NONE;
        entry.waited = false;
        let (plane, class, host) = (entry.plane, entry.class, entry.is_host());
        let die = self.state.die_of(plane);
        if host {
            let channel = self.state.channel_of(die);
            self.state.channels[channel].host_operations += 1;
        }
        self.line_up_op(op, plane, class);
        self.try_start(die);
        self.note_wait(op);
        if class == Class::HostRead {
            self.consider_suspension(die);
        }
    }

    /// Appends an operation to its line.
    #[inline]
    fn line_up_op(&mut self, op: u32, plane: PlaneIx, class: Class) {
        let lines = &mut self.state.planes[plane as usize];
        match lines.tail[class as usize] {
            NONE => lines.head[class as usize] = op,
            tail => self.state.ops[tail as usize].next = op,
        }
        lines.tail[class as usize] = op;
        self.set_ready(plane, class);
    }

    /// Takes the first operation out of a line.
    #[inline]
    fn take_from_line(&mut self, plane: PlaneIx, class: Class) -> u32 {
        let lines = &mut self.state.planes[plane as usize];
        let op = lines.head[class as usize];
        let next = std::mem::replace(&mut self.state.ops[op as usize].next, NONE);
        lines.head[class as usize] = next;
        if next == NONE {
            lines.tail[class as usize] = NONE;
            self.clear_ready(plane, class);
        }
        op
    }

    /// Takes the snapshot of an operation that did not start at once, if the host waits for it.
    fn note_wait(&mut self, op: u32) {
        let entry = &self.state.ops[op as usize];
        // A started operation has left its line: the tail is it, or it links to a later one, only while it waits.
        let waits = entry.is_host() && entry.target == NONE && self.is_in_line(op);
        if !waits {
            return;
        }
        let plane = entry.plane;
        let die = self.state.die_of(plane);
        self.settle_die(die);
        self.state.ops[op as usize].waited = true;
        let gc_held = self.gc_held_ns(plane, die);
        let lines = &self.state.planes[plane as usize];
        let snapshot = &mut self.state.snapshots[op as usize];
        snapshot.die = self.state.dies[die as usize].busy_ns;
        snapshot.other = lines.other_ns;
        snapshot.held = lines.held_ns;
        snapshot.gc_held = gc_held;
    }

    /// For how long GCs have held a plane, and its channel, up to now.
    fn gc_held_ns(&self, plane: PlaneIx, die: DieIx) -> (Ns, Ns) {
        let channel = &self.state.channels[self.state.channel_of(die)];
        (self.state.planes[plane as usize].gc_held_ns(self.state.now), channel.gc_held_ns(self.state.now))
    }

    /// Whether an operation that just joined its line is still there. It joined at the tail.
    fn is_in_line(&self, op: u32) -> bool {
        let entry = &self.state.ops[op as usize];
        self.state.planes[entry.plane as usize].tail[entry.class as usize] == op
    }

    /// Adds the wait of an operation so far to its blame, and counts from now.
    #[inline]
    fn bill_wait(&mut self, op: u32) {
        let entry = self.state.ops[op as usize];
        let now = self.state.now;
        if now > entry.since && entry.is_host() {
            crate::check!(entry.waited, "a wait without a snapshot");
            let die = self.state.die_of(entry.plane);
            self.settle_die(die);
            let snapshot = &self.state.snapshots[op as usize];
            let blame = &mut self.state.blames[op as usize];
            let busy = &self.state.dies[die as usize].busy_ns;
            add_differences(blame, DIE, busy, &snapshot.die);
            let lines = &self.state.planes[entry.plane as usize];
            add_differences(blame, CHANNEL, &lines.other_ns, &snapshot.other);
            blame.add(DIE + Occupant::GcHold as usize, lines.held_ns - snapshot.held);
            let gc = [Occupant::GcRead, Occupant::GcProgram, Occupant::Erase];
            let die_in_gc = gc.iter().any(|&occupant| busy[occupant as usize] > snapshot.die[occupant as usize]);
            let held = self.gc_held_ns(entry.plane, die) != snapshot.gc_held;
            self.state.ops[op as usize].gc_blocked |= die_in_gc || held;
        }
        self.state.ops[op as usize].since = now;
    }

    /// Brings the counters of a die up to now.
    #[inline]
    pub(crate) fn settle_die(&mut self, die: DieIx) {
        let now = self.state.now;
        let channel = self.state.channel_of(die);
        let state = &mut self.state.dies[die as usize];
        let elapsed = now - state.since;
        if elapsed == 0 && !state.blocked {
            return;
        }
        state.since = now;
        if state.running != NONE {
            state.busy_ns[state.occupant as usize] += elapsed;
            return;
        }
        let planes_per_die = self.state.device.geometry.planes_per_die;
        let planes = (die * planes_per_die) as usize..((die + 1) * planes_per_die) as usize;
        if !state.blocked {
            // Nothing waited, so nobody has a snapshot that these instants could be missing from.
            return;
        }
        let channel = &mut self.state.channels[channel];
        channel.settle(now);
        if elapsed > 0 {
            for plane in &mut self.state.planes[planes] {
                if plane.held {
                    plane.held_ns += elapsed;
                } else {
                    for (total, (now, then)) in plane.other_ns.iter_mut().zip(channel.category_ns.iter().zip(&state.channel_then)) {
                        *total += now - then;
                    }
                }
            }
        }
        state.channel_then = channel.category_ns;
    }

    /// Notes that work waits at a die that runs nothing, so that the time is billed to what it waits for.
    fn mark_blocked(&mut self, die: DieIx) {
        let state = &self.state.dies[die as usize];
        if state.running != NONE || state.blocked {
            return;
        }
        self.settle_die(die);
        let now = self.state.now;
        let channel = self.state.channel_of(die);
        self.state.channels[channel].settle(now);
        let state = &mut self.state.dies[die as usize];
        state.blocked = true;
        state.channel_then = self.state.channels[channel].category_ns;
    }

    /// Whether a die may use a channel now: free, nobody before it, not held by another.
    #[inline]
    pub(crate) fn channel_free(&self, channel: usize, die: DieIx) -> bool {
        let channel = &self.state.channels[channel];
        channel.busy_until <= self.state.now && (channel.held_by == die || (channel.held_by == NONE && channel.line.is_empty()))
    }

    /// Starts waiting work of a die, if it is idle and the channel free; otherwise stands in the channel's line.
    pub(crate) fn try_start(&mut self, die: DieIx) {
        let channel = self.state.channel_of(die);
        loop {
            let state = &self.state.dies[die as usize];
            if state.running != NONE {
                return;
            }
            let mut startable = state.ready & !state.closed;
            if state.parked != NONE {
                startable = self.served_while_parked(die, startable);
                if startable == 0 {
                    return self.resume(die);
                }
            }
            if startable == 0 {
                if self.state.dies[die as usize].ready != 0 {
                    self.mark_blocked(die);
                }
                return;
            }
            if !self.channel_free(channel, die) {
                let holds = startable & HOLD_BITS;
                if holds == 0 {
                    self.mark_blocked(die);
                    if !self.state.dies[die as usize].in_line {
                        self.state.dies[die as usize].in_line = true;
                        let arrival = self.state.next_arrival();
                        self.stand_in_line(channel, InLine { die, wants: Wants::Start, arrival });
                    }
                    return;
                }
                startable = holds;
            }
            if self.start_one(die, startable) {
                return;
            }
        }
    }

    /// Starts one of the startable pieces of work of a die whose channel is free. Returns whether the die is now busy.
    fn start_one(&mut self, die: DieIx, startable: u64) -> bool {
        let bit = self.choose_at_die(die, startable);
        let plane = die * self.state.device.geometry.planes_per_die + bit / CLASSES as u32;
        match CLASS_BY_NUMBER[bit as usize % CLASSES] {
            Class::Hold => {
                self.hold_die(plane);
                false
            }
            Class::Gc if self.state.planes[plane as usize].head[Class::Gc as usize] == NONE => self.gc_step(plane),
            class => {
                let op = self.take_from_line(plane, class);
                self.issue(die, op)
            }
        }
    }

    fn candidate(&self, die: DieIx, bit: u32) -> Candidate {
        let plane = die * self.state.device.geometry.planes_per_die + bit / CLASSES as u32;
        let class = CLASS_BY_NUMBER[bit as usize % CLASSES];
        let gc = &self.state.gc[plane as usize];
        let arrival = match self.state.planes[plane as usize].head[class as usize] {
            NONE => gc.arrival,
            head => self.state.ops[head as usize].arrival,
        };
        Candidate { class, plane, arrival, urgent: gc.urgent }
    }

    /// The bit that `order` prefers.
    fn choose_at_die(&mut self, die: DieIx, startable: u64) -> u32 {
        if startable.is_power_of_two() {
            return startable.trailing_zeros();
        }
        let mut candidates = std::mem::take(&mut self.die_candidates);
        candidates.clear();
        let mut rest = startable;
        let mut oldest = 0;
        while rest != 0 {
            candidates.push(self.candidate(die, rest.trailing_zeros()));
            rest &= rest - 1;
            let last = candidates.len() - 1;
            if candidates[last].arrival < candidates[oldest].arrival {
                oldest = last;
            }
        }
        let chosen = self.policies.order.at_die(View(&self.state), &candidates);
        self.state.counters.overtakes += u64::from(chosen != oldest);
        self.die_candidates = candidates;
        let mut rest = startable;
        for _ in 0..chosen {
            rest &= rest - 1;
        }
        rest.trailing_zeros()
    }

    /// Binds an operation to its physical page and starts it. Returns whether the die is now busy: an operation may turn out
    /// to belong elsewhere, to need nothing, or to lack space.
    fn issue(&mut self, die: DieIx, op: u32) -> bool {
        let entry = self.state.ops[op as usize];
        match entry.kind {
            OpKind::Read if entry.owner != crate::sched::ops::Owner::Gc(entry.plane) => {
                let ppn = self.state.books.lookup(entry.lpn);
                if ppn == NONE {
                    self.bill_wait(op);
                    self.check_read(op, None);
                    self.op_done(op);
                    return false;
                }
                let plane = self.state.books.plane_of(ppn);
                if plane != entry.plane {
                    return self.reroute(op, plane);
                }
                self.state.ops[op as usize].ppn = ppn;
                self.check_read(op, Some(ppn));
            }
            OpKind::Program => {
                let claimant = if entry.class == Class::GcProgram { Claimant::Gc } else { Claimant::Host };
                let write_point = self.policies.place.write_point(View(&self.state), entry.plane, claimant == Claimant::Gc);
                let Some(target) = self.state.books.take(entry.plane, write_point, claimant) else {
                    self.starve(op);
                    return false;
                };
                self.state.ops[op as usize].target = target;
                self.state.books.prefetch_copy(entry.lpn);
            }
            OpKind::Read | OpKind::Copyback | OpKind::Erase => {}
        }
        self.bill_wait(op);
        self.join(die, op);
        self.begin(die, op);
        true
    }

    /// A page that moved to another plane while its read waited is read there.
    fn reroute(&mut self, op: u32, plane: PlaneIx) -> bool {
        self.bill_wait(op);
        let entry = &mut self.state.ops[op as usize];
        let old = std::mem::replace(&mut entry.plane, plane);
        let class = entry.class;
        let (from, to) = (self.state.die_of(old), self.state.die_of(plane));
        let (from_channel, to_channel) = (self.state.channel_of(from), self.state.channel_of(to));
        self.state.channels[from_channel].host_operations -= 1;
        self.state.channels[to_channel].host_operations += 1;
        self.line_up_op(op, plane, class);
        self.try_start(to);
        self.note_wait(op);
        false
    }

    /// A program finds no erased page: it waits outside the lines until an erase.
    fn starve(&mut self, op: u32) {
        self.bill_wait(op);
        self.state.counters.starved += 1;
        let plane = self.state.ops[op as usize].plane;
        let lines = &mut self.state.planes[plane as usize];
        match lines.starved_tail {
            NONE => lines.starved_head = op,
            tail => self.state.ops[tail as usize].next = op,
        }
        lines.starved_tail = op;
        self.consider_gc(plane);
    }

    /// Programs that waited for an erased page line up again, before those that came later.
    pub(crate) fn wake_starved(&mut self, plane: PlaneIx) {
        let lines = &mut self.state.planes[plane as usize];
        let mut op = std::mem::replace(&mut lines.starved_head, NONE);
        lines.starved_tail = NONE;
        let mut woken = std::mem::take(&mut self.woken);
        woken.clear();
        while op != NONE {
            woken.push(op);
            op = std::mem::replace(&mut self.state.ops[op as usize].next, NONE);
        }
        let now = self.state.now;
        for &op in woken.iter().rev() {
            let entry = &mut self.state.ops[op as usize];
            let waited = now - entry.since;
            entry.since = now;
            entry.waited = true;
            let class = entry.class;
            self.state.blames[op as usize].add(SPACE, waited);
            let lines = &mut self.state.planes[plane as usize];
            let head = std::mem::replace(&mut lines.head[class as usize], op);
            self.state.ops[op as usize].next = head;
            if head == NONE {
                lines.tail[class as usize] = op;
            }
            let die = self.state.die_of(plane);
            self.settle_die(die);
            let lines = &self.state.planes[plane as usize];
            let snapshot = &mut self.state.snapshots[op as usize];
            snapshot.die = self.state.dies[die as usize].busy_ns;
            snapshot.other = lines.other_ns;
            snapshot.held = lines.held_ns;
            let gc_held = self.gc_held_ns(plane, die);
            self.state.snapshots[op as usize].gc_held = gc_held;
            self.set_ready(plane, class);
        }
        let any = !woken.is_empty();
        self.woken = woken;
        if any {
            self.try_start(self.state.die_of(plane));
        }
    }

    fn page_class(&self, ppn: Ppn) -> usize {
        let pattern = &self.state.device.timing.page_class_pattern;
        if pattern.len() == 1 {
            return usize::from(pattern[0]);
        }
        let offset = ppn % self.state.device.geometry.pages_per_block;
        usize::from(pattern[offset as usize % pattern.len()])
    }

    /// Array time of a read of a page.
    pub(crate) fn read_ns(&self, ppn: Ppn) -> Ns {
        self.state.device.timing.read_ns[self.page_class(ppn)]
    }

    /// Array time of a program of a page.
    pub(crate) fn program_ns(&self, ppn: Ppn) -> Ns {
        self.state.device.timing.program_ns[self.page_class(ppn)]
    }

    /// Channel time of sectors of a page.
    #[inline]
    pub(crate) fn transfer_ns(&self, sectors: u16) -> Ns {
        let per_page = self.state.device.geometry.sectors_per_page();
        let whole = self.state.device.timing.transfer_page_ns;
        if u32::from(sectors) == per_page { whole } else { (whole * u64::from(sectors)).div_ceil(u64::from(per_page)) }
    }

    /// Starts an operation with its mates: die and channel are free.
    pub(crate) fn begin(&mut self, die: DieIx, op: u32) {
        self.settle_die(die);
        let now = self.state.now;
        let entry = self.state.ops[op as usize];
        let command = self.state.device.timing.command_ns;
        let (phase, channel_ns, array_ns) = match entry.kind {
            OpKind::Read if entry.mate == NONE => (Phase::ArrayRead, command, self.read_ns(entry.ppn)),
            OpKind::Program if entry.mate == NONE => {
                (Phase::ArrayProgram, command + self.transfer_ns(entry.sectors), self.program_ns(entry.target))
            }
            OpKind::Read => {
                let (parts, array) = self.fused_read(op);
                (Phase::ArrayRead, command * parts, array)
            }
            OpKind::Program => {
                let (parts, transfer, array) = self.fused_program(op);
                (Phase::ArrayProgram, command * parts + transfer, array)
            }
            OpKind::Copyback => (Phase::CopybackRead, command, self.read_ns(entry.ppn)),
            OpKind::Erase => {
                let timing = &self.state.device.timing;
                (Phase::Erase, command, timing.erase_step_ns * u64::from(timing.erase_steps))
            }
        };
        let state = &mut self.state.dies[die as usize];
        state.running = op;
        state.part = op;
        state.phase = phase;
        state.occupant = entry.occupant;
        state.blocked = false;
        let end = now + channel_ns + array_ns;
        if matches!(phase, Phase::Erase | Phase::ArrayProgram) {
            let step = if phase == Phase::Erase { self.state.device.timing.erase_step_ns } else { array_ns };
            state.pulse =
                PulseState { first_started: now + channel_ns, started: now + channel_ns, total: array_ns, step, ..PulseState::NONE };
        }
        self.queue.schedule(die as usize, end);
        self.use_channel(die, channel_ns, entry.occupant);
        self.update_held_category(die);
    }

    /// Occupies a die's channel from now; its release is an event only if somebody stands in line.
    #[inline]
    fn use_channel(&mut self, die: DieIx, ns: Ns, occupant: Occupant) {
        let index = self.state.channel_of(die);
        let now = self.state.now;
        let channel = &mut self.state.channels[index];
        channel.occupy(now, ns, occupant as usize);
        channel.released_by_die = false;
        if !channel.line.is_empty() {
            self.queue.schedule(self.channel_slot(index), now + ns);
        }
    }

    pub(crate) fn channel_slot(&self, channel: usize) -> usize {
        self.state.dies.len() + channel
    }

    pub(crate) fn stand_in_line(&mut self, channel: usize, entry: InLine) {
        let slot = self.channel_slot(channel);
        let line = &mut self.state.channels[channel];
        line.line.push(entry);
        if line.line.len() == 1 && line.busy_until > self.state.now && !line.released_by_die {
            self.queue.schedule(slot, line.busy_until);
        }
    }

    /// The dies of a channel that was shut to them stand in line, oldest work first.
    pub(crate) fn line_up(&mut self, channel: usize) {
        let mut dies = std::mem::take(&mut self.lining_up);
        dies.clear();
        for die in self.dies_on(channel) {
            let state = &self.state.dies[die as usize];
            let startable = state.ready & !state.closed & !HOLD_BITS;
            if state.running == NONE && startable != 0 && !state.in_line && state.parked == NONE {
                let oldest = (0..64).filter(|bit| startable >> bit & 1 == 1).map(|bit| self.candidate(die, bit).arrival).min();
                dies.push((oldest.unwrap_or(0), die));
            }
        }
        dies.sort_unstable();
        for &(_, die) in &dies {
            self.mark_blocked(die);
            self.state.dies[die as usize].in_line = true;
            let arrival = self.state.next_arrival();
            self.stand_in_line(channel, InLine { die, wants: Wants::Start, arrival });
        }
        self.lining_up = dies;
        for die in self.dies_on(channel) {
            let state = &self.state.dies[die as usize];
            // A request to hold needs no channel, so it does not stand in line; and reads that the hold shut out may now be
            // worth a suspension.
            if state.parked != NONE || state.ready & !state.closed & HOLD_BITS != 0 {
                self.try_start(die);
            } else if state.running != NONE {
                self.consider_suspension(die);
            }
        }
    }

    /// A channel came free: it serves those in line until it is busy again.
    pub(crate) fn serve_channel(&mut self, channel: usize) {
        loop {
            let state = &self.state.channels[channel];
            if state.line.is_empty() {
                return;
            }
            if state.busy_until > self.state.now {
                if !state.released_by_die {
                    let until = state.busy_until;
                    self.queue.schedule(self.channel_slot(channel), until);
                }
                return;
            }
            let Some(index) = self.choose_at_channel(channel) else { return };
            let line = &mut self.state.channels[channel].line;
            let served = if line.len() == 1 { line.pop().expect("one entry") } else { line.remove(index) };
            match served.wants {
                Wants::Start => {
                    self.state.dies[served.die as usize].in_line = false;
                    self.start_granted(channel, served.die);
                }
                Wants::Continue => self.continue_on_channel(served.die),
                Wants::Claim(plane) => self.take_channel(channel, plane),
            }
        }
    }

    /// Who of those in line is served: the one that `order` prefers of those that a hold lets in.
    fn choose_at_channel(&mut self, channel: usize) -> Option<usize> {
        let held_by = self.state.channels[channel].held_by;
        if held_by == NONE && self.state.channels[channel].line.len() == 1 {
            // One candidate is no decision. A die whose work was shut out meanwhile starts nothing and leaves the line.
            return Some(0);
        }
        let mut candidates = std::mem::take(&mut self.line_candidates);
        let mut places = std::mem::take(&mut self.line_places);
        candidates.clear();
        places.clear();
        let mut index = 0;
        while index < self.state.channels[channel].line.len() {
            let entry = self.state.channels[channel].line[index];
            let admitted = held_by == NONE || (held_by == entry.die && !matches!(entry.wants, Wants::Claim(_)));
            let mut candidate = Candidate { class: Class::Hold, plane: 0, arrival: entry.arrival, urgent: false };
            match entry.wants {
                Wants::Start => {
                    let die = &self.state.dies[entry.die as usize];
                    let startable = if die.running == NONE { die.ready & !die.closed & !HOLD_BITS } else { 0 };
                    if startable == 0 {
                        // What it waited for was shut out meanwhile; it lines up again when that ends.
                        self.state.channels[channel].line.remove(index);
                        self.state.dies[entry.die as usize].in_line = false;
                        continue;
                    }
                    // What the die would start now stands for it; it chooses again when it is served.
                    let overtakes = self.state.counters.overtakes;
                    let bit = self.choose_at_die(entry.die, startable);
                    self.state.counters.overtakes = overtakes;
                    candidate = Candidate { arrival: entry.arrival, ..self.candidate(entry.die, bit) };
                }
                Wants::Continue => {
                    let op = &self.state.ops[self.state.dies[entry.die as usize].running as usize];
                    candidate.class = op.class;
                    candidate.plane = op.plane;
                    candidate.urgent = self.state.gc[op.plane as usize].urgent;
                }
                Wants::Claim(plane) => {
                    candidate.plane = plane;
                    candidate.urgent = self.state.gc[plane as usize].urgent;
                }
            }
            if admitted {
                candidates.push(candidate);
                places.push(index);
            }
            index += 1;
        }
        let chosen = match candidates.len() {
            0 => None,
            1 => Some(places[0]),
            _ => Some(places[self.policies.order.at_channel(View(&self.state), &candidates)]),
        };
        self.line_candidates = candidates;
        self.line_places = places;
        chosen
    }

    /// A die that stood in line may start what it prefers now.
    fn start_granted(&mut self, channel: usize, die: DieIx) {
        loop {
            let state = &self.state.dies[die as usize];
            if state.running != NONE || self.state.channels[channel].busy_until > self.state.now {
                return;
            }
            let mut startable = state.ready & !state.closed;
            if state.parked != NONE {
                startable = self.served_while_parked(die, startable);
                if startable == 0 {
                    return self.resume(die);
                }
            }
            if startable == 0 || self.start_one(die, startable) {
                return;
            }
        }
    }

    /// The end of the current phase of a die's running operation. Returns whether anything came of it.
    pub(crate) fn die_event(&mut self, die: DieIx) -> bool {
        let state = &self.state.dies[die as usize];
        let op = state.running;
        match state.phase {
            Phase::ArrayRead => {
                self.state.dies[die as usize].part = self.first_part(op);
                self.claim_channel(die, Phase::TransferOut);
            }
            Phase::CopybackRead => self.claim_channel(die, Phase::CopybackRead),
            Phase::TransferOut => self.part_transferred(die),
            Phase::ArrayProgram | Phase::Erase => match self.pulse_event(die) {
                PulseEvent::Ended => self.finish(die, op),
                PulseEvent::Cut | PulseEvent::Asked => {}
                PulseEvent::Stale => return false,
            },
            Phase::Suspending => self.parked(die),
            Phase::Idle => unreachable!("an event of an idle die"),
        }
        true
    }

    /// The running operation of a die needs its channel for the next phase.
    pub(crate) fn claim_channel(&mut self, die: DieIx, phase: Phase) {
        self.state.dies[die as usize].phase = phase;
        let channel = self.state.channel_of(die);
        let op = self.state.dies[die as usize].part;
        self.state.ops[op as usize].since = self.state.now;
        if self.channel_free(channel, die) {
            return self.continue_on_channel(die);
        }
        if self.state.ops[op as usize].is_host() {
            let now = self.state.now;
            self.state.channels[channel].settle(now);
            let snapshot = &mut self.state.snapshots[op as usize];
            snapshot.other = self.state.channels[channel].category_ns;
            snapshot.gc_held.1 = self.state.channels[channel].gc_held_ns(now);
        }
        let arrival = self.state.next_arrival();
        self.stand_in_line(channel, InLine { die, wants: Wants::Continue, arrival });
    }

    /// The channel serves the running operation of a die.
    fn continue_on_channel(&mut self, die: DieIx) {
        let now = self.state.now;
        let part = self.state.dies[die as usize].part;
        let entry = self.state.ops[part as usize];
        let channel = self.state.channel_of(die);
        if now > entry.since && entry.is_host() {
            self.state.channels[channel].settle(now);
            let blame = &mut self.state.blames[part as usize];
            let snapshot = &self.state.snapshots[part as usize];
            add_differences(blame, CHANNEL, &self.state.channels[channel].category_ns, &snapshot.other);
            let held = self.state.channels[channel].gc_held_ns(now) != snapshot.gc_held.1;
            self.state.ops[part as usize].gc_blocked |= held && self.state.channels[channel].held_by != die;
        }
        if self.state.dies[die as usize].phase == Phase::CopybackRead {
            let command = self.state.device.timing.command_ns;
            let array = self.program_ns(entry.target);
            self.settle_die(die);
            let state = &mut self.state.dies[die as usize];
            state.phase = Phase::ArrayProgram;
            state.occupant = Occupant::GcProgram;
            state.pulse =
                PulseState { first_started: now + command, started: now + command, total: array, step: array, ..PulseState::NONE };
            self.queue.schedule(die as usize, now + command + array);
            self.use_channel(die, command, Occupant::GcProgram);
            self.update_held_category(die);
        } else {
            // The die's own event at the end of the transfer releases the channel as well.
            let transfer = self.transfer_ns(entry.sectors);
            self.queue.schedule(die as usize, now + transfer);
            let channel = &mut self.state.channels[channel];
            channel.occupy(now, transfer, entry.occupant as usize);
            channel.released_by_die = true;
        }
    }

    /// Ends the running operation of a die and starts what waits.
    fn finish(&mut self, die: DieIx, op: u32) {
        self.settle_die(die);
        let state = &mut self.state.dies[die as usize];
        state.running = NONE;
        state.phase = Phase::Idle;
        state.pulse = PulseState::NONE;
        self.update_held_category(die);
        self.parts_done(op);
        self.try_start(die);
    }

    /// Completes an operation and every mate of it.
    fn parts_done(&mut self, op: u32) {
        let mut part = op;
        while part != NONE {
            let next = std::mem::replace(&mut self.state.ops[part as usize].mate, NONE);
            self.op_done(part);
            part = next;
        }
    }

    /// The transfer of one part of a read ended; the next part's follows, or the read is done.
    fn part_transferred(&mut self, die: DieIx) {
        self.end_transfer(die);
        self.serve_channel(self.state.channel_of(die));
    }

    fn end_transfer(&mut self, die: DieIx) {
        let state = &self.state.dies[die as usize];
        let (lead, part) = (state.running, state.part);
        // Mates go before the lead, each of them complete when its own transfer is.
        let next = self.next_part(lead, part);
        if next != NONE {
            self.state.dies[die as usize].part = next;
            if part != lead {
                self.op_done(part);
            }
            return self.claim_channel(die, Phase::TransferOut);
        }
        self.settle_die(die);
        let state = &mut self.state.dies[die as usize];
        state.running = NONE;
        state.phase = Phase::Idle;
        self.update_held_category(die);
        self.op_done(lead);
        self.try_start(die);
    }

    /// Adds an operation's own phases to its blame. What is left of its time on the die went to its mates.
    pub(crate) fn bill_service(&mut self, op: u32) {
        let entry = self.state.ops[op as usize];
        let command = self.state.device.timing.command_ns;
        let (array, transfer) = match entry.kind {
            OpKind::Read => (self.read_ns(entry.ppn), self.transfer_ns(entry.sectors)),
            OpKind::Program => (self.program_ns(entry.target), self.transfer_ns(entry.sectors)),
            OpKind::Copyback | OpKind::Erase => return,
        };
        let blame = &mut self.state.blames[op as usize];
        blame.add(COMMAND, command);
        blame.add(ARRAY, array);
        blame.add(TRANSFER, transfer);
        if let Some(rest) = entry.rest {
            let elapsed = self.state.now - entry.born;
            let total = blame.total();
            assert!(total <= elapsed, "an operation's parts exceed its time: {total} > {elapsed}");
            blame.add(DIE + rest as usize, elapsed - total);
        }
    }
}
