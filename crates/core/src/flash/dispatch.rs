//! How operations wait in lines, start, and go through their phases.

use crate::attribution::parts::{Occupant, SPACE};
use crate::attribution::trail::Passing;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::ask::Candidate;
use crate::flash::bus::{InLine, Wants};
use crate::flash::die::Phase;
use crate::flash::op::{BACKGROUND_BITS, CLASS_BY_NUMBER, CLASSES, Class, HOLD_BITS, Op, OpKind, Owner, READ_BITS};
use crate::flash::suspend::PulseEvent;
use crate::flash::upper::{Background, Bind, Binds, Gathers, Holds, Places, Served, Upper};
use crate::flash::{EXTRA_SLOTS, TIMERS, Times};
use crate::ids::{BlockIx, ChannelIx, DieIx, NONE, PlaneIx, Ppn};
use crate::timer::Timer;
use crate::units::Ns;

/// The phase in which a die begins an operation, by its kind.
const FIRST_PHASE: [Phase; 4] = [Phase::ArrayRead, Phase::ArrayProgram, Phase::CopybackRead, Phase::Erase];

impl<Q: EventQueue, U> Engine<Q, U>
where
    Self: Upper,
{
    #[inline]
    pub(crate) fn set_ready(&mut self, plane: PlaneIx, class: Class) {
        let bit = self.flash.bit(plane, class);
        let die = self.flash.die_of(plane);
        self.flash.dies[die as usize].ready |= bit;
    }

    #[inline]
    pub(crate) fn clear_ready(&mut self, plane: PlaneIx, class: Class) {
        let bit = self.flash.bit(plane, class);
        let die = self.flash.die_of(plane);
        self.flash.dies[die as usize].ready &= !bit;
    }

    pub(crate) fn set_timer(&mut self, at: Ns, timer: Timer) {
        self.timers.set(at.max(self.flash.now), timer);
        self.schedule_timers();
    }

    pub(crate) fn schedule_timers(&mut self) {
        let slot = self.flash.extra_slot(TIMERS);
        if let Some(at) = self.timers.next_at() {
            self.queue.schedule(slot, at);
        }
    }

    /// Handles an event of a die, a channel or registers. Returns whether anything came of it; of other slots their number.
    #[inline(always)]
    pub(crate) fn flash_event(&mut self, slot: usize) -> Result<bool, usize> {
        let (dies, extra) = (self.flash.dies.len(), self.flash.extra_slot(0));
        if slot < dies {
            return Ok(self.die_event(slot as DieIx));
        }
        if slot < extra {
            self.serve_channel(slot - dies);
        } else if slot < extra + EXTRA_SLOTS as usize {
            return Err(slot - extra);
        } else {
            self.register_emptied((slot - extra - EXTRA_SLOTS as usize) as DieIx);
        }
        Ok(true)
    }

    /// A hold of a channel has begun or ended: what that shuts out of its dies, but for the holder's.
    pub(crate) fn shut_others_out(&mut self, channel: usize, holder: DieIx) {
        for other in self.dies_on(channel) {
            if other != holder {
                self.settle_die(other);
                self.update_closed(other);
            }
        }
    }

    /// The planes of a die.
    pub(crate) fn planes_of(&self, die: DieIx) -> std::ops::Range<PlaneIx> {
        let planes = self.flash.device.geometry.planes_per_die;
        die * planes..(die + 1) * planes
    }

    /// The dies of a channel.
    pub(super) fn dies_on(&self, channel: usize) -> std::ops::Range<DieIx> {
        let dies = self.flash.device.geometry.dies_per_channel();
        let channel = channel as ChannelIx;
        channel * dies..(channel + 1) * dies
    }

    /// An operation joins the line of its plane and class and starts at once if it can, or waits for a place first.
    pub(crate) fn enqueue(&mut self, op: u32) {
        let (arrival, now) = (self.flash.next_arrival(), self.flash.now);
        let entry = &mut self.flash.ops[op as usize];
        (entry.born, entry.since, entry.arrival, entry.next) = (now, now, arrival, NONE);
        let (plane, class, host) = (entry.plane, entry.class, entry.is_host());
        if !self.accepts(op) {
            return;
        }
        let die = self.flash.die_of(plane);
        let channel = self.flash.channel_of(die);
        self.flash.host_operation_comes(die, host);
        let bit = self.flash.bit(plane, class);
        let state = &self.flash.dies[die as usize];
        let idle = state.running == NONE && state.parked == NONE && state.ready & !state.closed == 0;
        if idle && state.closed & bit == 0 && self.channel_free(channel, die) {
            // Nothing else could start, so there is nothing to line up for.
            if !self.issue(die, op) && self.flash.dies[die as usize].ready != 0 {
                self.mark_blocked(die);
            }
            return;
        }
        self.line_up_op(op, plane, class);
        if self.flash.traits.gathers {
            self.programs_changed(die);
        }
        self.try_start(die);
        self.note_wait(op);
        if class == Class::HostRead {
            self.consider_suspension(die);
        }
    }

    /// Appends an operation to its line.
    #[inline]
    pub(crate) fn line_up_op(&mut self, op: u32, plane: PlaneIx, class: Class) {
        let lines = &mut self.flash.planes[plane as usize];
        match lines.tail[class as usize] {
            NONE => lines.head[class as usize] = op,
            tail => self.flash.ops[tail as usize].next = op,
        }
        lines.tail[class as usize] = op;
        self.set_ready(plane, class);
    }

    /// Takes the first operation out of a line.
    #[inline]
    fn take_from_line(&mut self, plane: PlaneIx, class: Class) -> u32 {
        let lines = &mut self.flash.planes[plane as usize];
        let op = lines.head[class as usize];
        let next = std::mem::replace(&mut self.flash.ops[op as usize].next, NONE);
        lines.head[class as usize] = next;
        if next == NONE {
            lines.tail[class as usize] = NONE;
            self.clear_ready(plane, class);
        }
        op
    }

    /// The waiting work of an idle die that nothing shuts out; `None` if what was suspended there is to go on instead.
    #[inline(always)]
    pub(super) fn startable(&self, die: DieIx) -> Option<u64> {
        let state = &self.flash.dies[die as usize];
        let startable = state.ready & !state.closed;
        if state.parked == NONE {
            return Some(startable);
        }
        Some(self.served_while_parked(die, startable)).filter(|&served| served != 0)
    }

    /// Starts waiting work of a die, if it is idle and the channel free; otherwise stands in the channel's line.
    #[inline(always)]
    pub(crate) fn try_start(&mut self, die: DieIx) {
        if self.flash.dies[die as usize].running == NONE {
            self.start_waiting(die);
        }
    }

    fn start_waiting(&mut self, die: DieIx) {
        if self.flash.traits.late {
            return self.start_waiting_late(die);
        }
        self.start_lined_up(die);
    }

    /// Starts what has lined up at a die, or stands in line for it.
    #[inline(always)]
    pub(crate) fn start_lined_up(&mut self, die: DieIx) {
        let channel = self.flash.channel_of(die);
        loop {
            let state = &self.flash.dies[die as usize];
            if state.running != NONE {
                return;
            }
            let Some(mut startable) = self.startable(die) else { return self.resume(die) };
            if startable == 0 {
                if self.flash.dies[die as usize].ready != 0 {
                    self.mark_blocked(die);
                }
                return;
            }
            if !self.channel_free(channel, die) {
                let holds = startable & HOLD_BITS;
                if holds == 0 || (holds != startable && !self.hold_goes_first(die, startable)) {
                    self.mark_blocked(die);
                    if !self.flash.dies[die as usize].in_line {
                        self.flash.dies[die as usize].in_line = true;
                        let arrival = self.flash.next_arrival();
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

    /// Whether `order` prefers a request to hold a die to the operations that wait there for the channel. A request needs only
    /// the die at first, and would otherwise always get it.
    #[inline(never)]
    fn hold_goes_first(&mut self, die: DieIx, startable: u64) -> bool {
        let bit = self.choose_of_many(die, startable);
        HOLD_BITS >> bit & 1 == 1
    }

    /// Starts one of the startable pieces of work of a die whose channel is free. Returns whether the die is now busy.
    #[inline(always)]
    pub(super) fn start_one(&mut self, die: DieIx, startable: u64) -> bool {
        let bit = self.choose_at_die(die, startable);
        let (class, plane) = self.work_of(die, bit);
        match class {
            Class::Hold | Class::Gc if self.flash.planes[plane as usize].head[class as usize] == NONE => self.take_step(plane, class),
            class => {
                let op = self.take_from_line(plane, class);
                self.issue(die, op)
            }
        }
    }

    /// The class and the plane of a bit of a die's mask.
    #[inline(always)]
    fn work_of(&self, die: DieIx, bit: u32) -> (Class, PlaneIx) {
        let plane = die * self.flash.device.geometry.planes_per_die + bit / CLASSES as u32;
        (CLASS_BY_NUMBER[bit as usize % CLASSES], plane)
    }

    #[inline(always)]
    pub(crate) fn candidate(&self, die: DieIx, bit: u32) -> Candidate {
        let (mut class, plane) = self.work_of(die, bit);
        let (arrival, of) = match self.flash.planes[plane as usize].head[class as usize] {
            NONE => (self.flash.planes[plane as usize].step_arrival, plane),
            head => {
                let op = &self.flash.ops[head as usize];
                if class == Class::Background && self.has_late_work(plane) {
                    class = op.class_when_late();
                }
                // A page that another plane's GC has sent is as urgent as that.
                (op.arrival, if let Owner::Gc(of) = op.owner { of } else { plane })
            }
        };
        let urgent = self.flash.planes[of as usize].urgent;
        let data = matches!(class, Class::HostProgram | Class::Flush | Class::GcProgram);
        Candidate { class, plane, arrival, urgent, continues: false, data }
    }

    /// The bit that `order` prefers.
    #[inline(always)]
    pub(super) fn choose_at_die(&mut self, die: DieIx, startable: u64) -> u32 {
        if startable.is_power_of_two() { startable.trailing_zeros() } else { self.choose_of_many(die, startable) }
    }

    /// Startable work without that of the background, if there is other work. Lines with operations of a move that is late count
    /// as other work.
    #[inline(never)]
    fn without_patient_work(&self, die: DieIx, startable: u64) -> u64 {
        let mut patient = startable & BACKGROUND_BITS;
        if self.background_is_late() {
            let mut rest = patient;
            while rest != 0 {
                let (bit, plane) = (rest & rest.wrapping_neg(), self.work_of(die, rest.trailing_zeros()).1);
                patient &= if self.has_late_work(plane) { !bit } else { u64::MAX };
                rest &= !bit;
            }
        }
        if startable == patient { startable } else { startable & !patient }
    }

    /// Whether operations of a move that is late wait in a plane.
    fn has_late_work(&self, plane: PlaneIx) -> bool {
        let mut op = self.flash.planes[plane as usize].head[Class::Background as usize];
        while op != NONE && !self.flash.ops[op as usize].owner.can_be_late() {
            op = self.flash.ops[op as usize].next;
        }
        self.background_is_late() && op != NONE
    }

    fn choose_of_many(&mut self, die: DieIx, startable: u64) -> u32 {
        // Whatever the order, work that can always wait does.
        let startable = if startable & BACKGROUND_BITS == 0 { startable } else { self.without_patient_work(die, startable) };
        let mut candidates = std::mem::take(&mut self.flash.die_candidates);
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
        let chosen = self.prefer_at_die(&candidates);
        self.flash.counters.overtakes += u64::from(chosen != oldest);
        self.flash.die_candidates = candidates;
        let mut rest = startable;
        for _ in 0..chosen {
            rest &= rest - 1;
        }
        rest.trailing_zeros()
    }

    /// Binds an operation to its physical page and starts it. Returns whether the die is now busy: an operation may turn out
    /// to belong elsewhere, to need nothing, or to lack space.
    fn issue(&mut self, die: DieIx, op: u32) -> bool {
        match self.bind(die, op) {
            Bind::Ready => {}
            Bind::Moved(plane) => return self.reroute(op, plane),
            Bind::Void => {
                self.bill_wait(op);
                self.done(op);
                return false;
            }
            Bind::Gone => return false,
        }
        self.bill_wait(op);
        self.join(die, op);
        self.begin(die, op);
        if self.flash.traits.gathers {
            self.programs_changed(die);
        }
        true
    }

    /// A page that moved to another plane while its read waited is read there.
    pub(crate) fn reroute(&mut self, op: u32, plane: PlaneIx) -> bool {
        self.line_up_elsewhere(op, plane);
        self.try_start(self.flash.die_of(plane));
        self.note_wait(op);
        false
    }

    /// Lines up an operation that has left its line at another plane, with its wait billed; nothing starts.
    pub(crate) fn line_up_elsewhere(&mut self, op: u32, plane: PlaneIx) {
        self.bill_wait(op);
        let entry = &mut self.flash.ops[op as usize];
        let old = std::mem::replace(&mut entry.plane, plane);
        let (class, host) = (entry.class, entry.is_host());
        let (from, to) = (self.flash.die_of(old), self.flash.die_of(plane));
        let (from_channel, to_channel) = (self.flash.channel_of(from), self.flash.channel_of(to));
        self.flash.channels[from_channel].host_operations -= u32::from(host);
        self.flash.channels[to_channel].host_operations += u32::from(host);
        self.line_up_op(op, plane, class);
    }

    /// A program finds no erased page: it waits outside the lines until an erase.
    pub(crate) fn starve(&mut self, op: u32) {
        self.bill_wait(op);
        self.flash.counters.starved += 1;
        let plane = self.flash.ops[op as usize].plane;
        let lines = &mut self.flash.planes[plane as usize];
        match lines.starved_tail {
            NONE => lines.starved_head = op,
            tail => self.flash.ops[tail as usize].next = op,
        }
        lines.starved_tail = op;
    }

    /// Programs that waited for an erased page line up again, before those that came later.
    pub(crate) fn wake_starved(&mut self, plane: PlaneIx) {
        let lines = &mut self.flash.planes[plane as usize];
        let mut op = std::mem::replace(&mut lines.starved_head, NONE);
        lines.starved_tail = NONE;
        let mut woken = std::mem::take(&mut self.flash.woken);
        woken.clear();
        while op != NONE {
            woken.push(op);
            op = std::mem::replace(&mut self.flash.ops[op as usize].next, NONE);
        }
        let now = self.flash.now;
        for &op in woken.iter().rev() {
            let entry = &mut self.flash.ops[op as usize];
            let waited = now - entry.since;
            entry.since = now;
            let class = entry.class;
            self.flash.latencies.blame_mut(op).add(SPACE, waited);
            if waited > 0 && !self.flash.traits.gc_ideal {
                self.block_by_gc(op);
            }
            if Self::TOLD {
                self.flash.latencies.blame_mut(op).tell(now - waited, now, plane, Passing::Own(SPACE as u8));
            }
            let lines = &mut self.flash.planes[plane as usize];
            let head = std::mem::replace(&mut lines.head[class as usize], op);
            self.flash.ops[op as usize].next = head;
            if head == NONE {
                lines.tail[class as usize] = op;
            }
            if self.flash.ops[op as usize].is_billed() {
                self.open_wait(op);
            }
            self.set_ready(plane, class);
        }
        let any = !woken.is_empty();
        self.flash.woken = woken;
        if any && self.flash.traits.gathers {
            self.programs_changed(self.flash.die_of(plane));
        }
        if any {
            self.try_start(self.flash.die_of(plane));
        }
    }

    /// A GC has made an operation wait until now.
    #[inline(never)]
    pub(crate) fn block_by_gc(&mut self, op: u32) {
        self.flash.ops[op as usize].gc_blocked = true;
        self.delayed_by_gc(op);
    }

    /// Sets the shut-out work of a die from what the firmware shuts out, from suspension and from holds of its channel.
    pub(crate) fn update_closed(&mut self, die: DieIx) {
        let mut closed = self.shut_out(die);
        let held_by = self.flash.channels[self.flash.channel_of(die)].held_by;
        if self.flash.dies[die as usize].parked != NONE {
            closed |= !READ_BITS;
        }
        if held_by != NONE && held_by != die {
            closed = u64::MAX;
        }
        self.flash.dies[die as usize].closed = closed;
    }

    /// The category of the channels that a die holds, after what the die is doing.
    #[inline(always)]
    pub(crate) fn update_held_category(&mut self, die: DieIx) {
        if self.flash.channels_held > 0 && self.flash.channels[self.flash.channel_of(die)].held_by == die {
            self.recategorize(die);
        }
    }

    fn page_class(&self, ppn: Ppn) -> usize {
        let pattern = &self.flash.device.timing.page_class_pattern;
        if pattern.len() == 1 {
            return usize::from(pattern[0]);
        }
        let offset = ppn % self.flash.device.geometry.pages_per_block;
        usize::from(pattern[offset as usize % pattern.len()])
    }

    /// Array time of a read of a page.
    #[inline]
    pub(crate) fn read_ns(&self, ppn: Ppn) -> Ns {
        self.flash.device.timing.read_ns[self.page_class(ppn)]
    }

    /// Array time of the erase of a block.
    pub(crate) fn erase_ns(&self, block: BlockIx) -> Ns {
        let device = &self.flash.device;
        device.timing.erase_step_ns * u64::from(device.erase_steps_after(self.erase_count(block)))
    }

    /// Array time of a program of a page.
    pub(crate) fn program_ns(&self, ppn: Ppn) -> Ns {
        self.flash.device.timing.program_ns[self.page_class(ppn)]
    }

    /// What an operation itself takes of channel and die, of a copyback its first half. Nothing, if that is made free.
    #[inline(always)]
    pub(crate) fn times(&self, op: &Op) -> Times {
        if self.is_free(op.occupant) {
            return Times { command: 0, array: 0, transfer: 0 };
        }
        let timing = &self.flash.device.timing;
        let array = match op.kind {
            OpKind::Program => self.program_ns(op.target),
            OpKind::Erase => self.erase_ns(op.ppn),
            OpKind::Read | OpKind::Copyback => self.read_ns(op.ppn),
        };
        let moves_data = matches!(op.kind, OpKind::Read | OpKind::Program);
        let transfer = if moves_data { self.flash.device.transfer_ns(op.sectors.into()) } else { 0 };
        Times { command: timing.command_ns, array, transfer }
    }

    /// Whether what a die or channel does for somebody takes no time.
    #[inline(always)]
    pub(crate) fn is_free(&self, occupant: Occupant) -> bool {
        self.flash.free >> occupant as u32 & 1 == 1
    }

    /// Starts an operation with its mates: die and channel are free.
    pub(crate) fn begin(&mut self, die: DieIx, op: u32) {
        self.settle_die(die);
        self.mark_running(die);
        let now = self.flash.now;
        let entry = self.flash.ops[op as usize];
        let Times { command, array: array_ns, transfer } = if entry.mate == NONE { self.times(&entry) } else { self.fused_times(op) };
        let phase = FIRST_PHASE[entry.kind as usize];
        let channel_ns = command + if entry.kind == OpKind::Program { transfer } else { 0 };
        let state = &mut self.flash.dies[die as usize];
        let channel = state.channel as usize;
        state.running = op;
        state.part = op;
        state.phase = phase;
        state.occupant = entry.occupant;
        let end = now + channel_ns + array_ns;
        if matches!(phase, Phase::Erase | Phase::ArrayProgram) {
            // What is made free has one step of no time.
            let timing = &self.flash.device.timing;
            let step = if phase == Phase::Erase { timing.erase_step_ns } else { timing.program_step_ns(array_ns) };
            state.pulse.start(now + channel_ns, array_ns, step);
        }
        self.queue.schedule(die as usize, end);
        if self.flash.traits.suspends {
            self.pulse_begins(die);
        }
        self.use_channel(channel, channel_ns, entry.occupant, entry.plane);
        self.update_held_category(die);
    }

    /// The end of the current phase of a die's running operation. Returns whether anything came of it.
    fn die_event(&mut self, die: DieIx) -> bool {
        let state = &self.flash.dies[die as usize];
        let op = state.running;
        match state.phase {
            Phase::ArrayRead if !self.flash.registers.is_empty() => self.array_read_with_registers(die),
            Phase::ArrayRead => {
                self.flash.dies[die as usize].part = self.first_part(op);
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
            Phase::Idle | Phase::RegisterFull => unreachable!("an event of a die that waits"),
        }
        true
    }

    /// Ends the running operation of a die and starts what waits.
    fn finish(&mut self, die: DieIx, op: u32) {
        self.settle_die(die);
        let state = &mut self.flash.dies[die as usize];
        state.phase = Phase::Idle;
        state.pulse.total = 0;
        if self.flash.traits.gathers {
            // Its parts complete before anything starts: another program would pad planes whose page is not booked yet, and GCs
            // that yield after each page yield together.
            self.parts_done(op);
            self.flash.dies[die as usize].running = NONE;
            self.update_held_category(die);
            self.programs_ended(die);
            return self.try_start(die);
        }
        self.flash.dies[die as usize].running = NONE;
        self.update_held_category(die);
        self.parts_done(op);
        self.try_start(die);
    }

    /// Completes an operation and every mate of it.
    fn parts_done(&mut self, op: u32) {
        let mut part = op;
        while part != NONE {
            let next = std::mem::replace(&mut self.flash.ops[part as usize].mate, NONE);
            self.done(part);
            part = next;
        }
    }

    /// The transfer of one part of a read ended; the next part's follows, or the read is done.
    fn part_transferred(&mut self, die: DieIx) {
        self.end_transfer(die);
        self.serve_channel(self.flash.channel_of(die));
    }

    fn end_transfer(&mut self, die: DieIx) {
        let state = &self.flash.dies[die as usize];
        let (lead, part) = (state.running, state.part);
        // Mates go before the lead, each of them complete when its own transfer is.
        let next = self.next_part(lead, part);
        if next != NONE {
            self.flash.dies[die as usize].part = next;
            if part != lead {
                self.done(part);
            }
            return self.claim_channel(die, Phase::TransferOut);
        }
        self.settle_die(die);
        let state = &mut self.flash.dies[die as usize];
        state.running = NONE;
        state.phase = Phase::Idle;
        self.update_held_category(die);
        self.done(lead);
        self.try_start(die);
    }
}
