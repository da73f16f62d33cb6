//! How operations wait in queues, start, and go through their phases.

use crate::attribution::parts::{SPACE, bits};
use crate::attribution::trail::Passing;
use crate::event::EXTRA_SLOTS;
use crate::flash::ask::Candidate;
use crate::flash::die::Phase;
use crate::flash::line::Line;
use crate::flash::op::{BACKGROUND_BITS, CLASS_BY_NUMBER, CLASSES, Class, LOCK_BITS, Op, OpKind, Owner, READ_BITS};
use crate::flash::suspend::ProgressEvent;
use crate::flash::upper::{Background, Bind, Binds, Locks, Steps, Upper};
use crate::flash::{Engine, TIMERS, Times};
use crate::ids::{ChannelIx, DieIx, NONE, PlaneIx};
use crate::timer::Rings;
use crate::units::Ns;

/// The phase in which a die begins an operation, by its kind.
const FIRST_PHASE: [Phase; 4] = [Phase::ArrayRead, Phase::ArrayProgram, Phase::CopybackRead, Phase::Erase];

impl<U> Engine<U>
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
        self.flash.note_if_idle(die);
    }

    /// Has a tier do something at a time, with a number.
    pub(crate) fn set_timer(&mut self, at: Ns, rings: Rings<Self>, of: u32) {
        self.timers.set(at.max(self.flash.now), rings, of);
        self.schedule_timers();
    }

    fn schedule_timers(&mut self) {
        let slot = self.flash.extra_slot(TIMERS);
        if let Some(at) = self.timers.next_at() {
            self.queue.schedule(slot, at);
        }
    }

    /// Handles an event of a die, a channel, registers or the timers, and returns whether anything came of it. An error is the number
    /// of a slot that belongs to somebody else.
    #[inline(always)]
    pub(crate) fn flash_event(&mut self, slot: usize) -> Result<bool, usize> {
        let (dies, extra) = (self.flash.dies.len(), self.flash.extra_slot(0));
        if slot < dies {
            return Ok(self.die_event(slot as DieIx));
        }
        if slot < extra {
            self.serve_channel(slot - dies);
        } else if slot == extra + TIMERS {
            let Some((rings, of)) = self.timers.take() else { return Ok(false) };
            self.schedule_timers();
            return Ok(rings(self, of));
        } else if slot < extra + EXTRA_SLOTS as usize {
            return Err(slot - extra);
        } else {
            self.register_emptied((slot - extra - EXTRA_SLOTS as usize) as DieIx);
        }
        Ok(true)
    }

    /// A lock on a channel has begun or ended: updates what it masks on the other dies of the channel.
    pub(crate) fn mask_others(&mut self, channel: usize, holder: DieIx) {
        for other in self.dies_on(channel) {
            if other != holder {
                self.settle_die(other);
                self.update_masked(other);
            }
        }
    }

    /// The planes of a die.
    #[inline]
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

    /// An operation enters the queue of its plane and class and starts at once if it can, or waits for a place first.
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
        self.flash.channels[channel].host_operations += u32::from(host);
        if self.flash.holds {
            return self.hold(op);
        }
        let bit = self.flash.bit(plane, class);
        let state = &self.flash.dies[die as usize];
        let idle = (state.running == NONE) & (state.suspended == NONE) & ((state.open_work() | state.masked & bit) == 0);
        if idle && self.channel_free(channel, die) {
            // Nothing else could start, so there is nothing to wait for.
            if !self.issue(die, op) && self.flash.dies[die as usize].ready != 0 {
                self.mark_blocked(die);
            }
            return;
        }
        self.queue_op(op, plane, class);
        if self.flash.traits.assembles {
            self.programs_changed(die);
        }
        self.try_start(die);
        self.note_wait(op);
        if class == Class::HostRead {
            self.consider_suspension(die);
        }
    }

    /// Enqueues several operations of one moment, as `enqueue` does for each. Those that multi-plane commands can take together start
    /// when the last one waits: the first would start alone else.
    pub(crate) fn enqueue_together<R>(&mut self, enqueue: impl FnOnce(&mut Self) -> R) -> R {
        if !self.flash.traits.starts_together || self.flash.holds {
            return enqueue(self);
        }
        self.flash.holds = true;
        let result = enqueue(self);
        self.flash.holds = false;
        if !self.flash.held.is_empty() {
            self.start_held();
        }
        result
    }

    #[cold]
    fn hold(&mut self, op: u32) {
        let Op { plane, class, arrival, .. } = self.flash.ops[op as usize];
        self.queue_op(op, plane, class);
        if self.flash.traits.assembles {
            self.programs_changed(self.flash.die_of(plane));
        }
        self.flash.held.push((op, arrival));
    }

    #[cold]
    fn start_held(&mut self) {
        let mut held = std::mem::take(&mut self.flash.held);
        // One that needs nothing ends at once, and its place may be another's then.
        let die_of = |drive: &Self, (op, arrival): (u32, u64)| {
            let entry = &drive.flash.ops[op as usize];
            (entry.arrival == arrival).then(|| drive.flash.die_of(entry.plane))
        };
        for &it in &held {
            if let Some(die) = die_of(self, it) {
                self.try_start(die);
            }
        }
        for it in held.drain(..) {
            if let Some(die) = die_of(self, it) {
                self.note_wait(it.0);
                if self.flash.ops[it.0 as usize].class == Class::HostRead {
                    self.consider_suspension(die);
                }
            }
        }
        self.flash.held = held;
    }

    /// Appends an operation to its queue.
    #[inline]
    pub(crate) fn queue_op(&mut self, op: u32, plane: PlaneIx, class: Class) {
        self.flash.planes[plane as usize].lines[class as usize].push(&mut self.flash.ops, op);
        self.set_ready(plane, class);
    }

    /// Takes the first operation out of a queue.
    #[inline]
    fn take_from_queue(&mut self, plane: PlaneIx, class: Class) -> u32 {
        let line = &mut self.flash.planes[plane as usize].lines[class as usize];
        let op = line.pop(&mut self.flash.ops);
        if line.is_empty() {
            self.clear_ready(plane, class);
        }
        op
    }

    /// The waiting unmasked work of an idle die; `None` if what was suspended there is to go on instead.
    #[inline(always)]
    pub(super) fn startable(&self, die: DieIx) -> Option<u64> {
        let state = &self.flash.dies[die as usize];
        let startable = state.open_work();
        if state.suspended == NONE {
            return Some(startable);
        }
        // Programs may go on as soon as the pages that were read have left the registers.
        let awaited = self.flash.serves_programs(die) && self.flash.registers_are_full(die);
        Some(self.served_while_suspended(die, startable)).filter(|&served| served != 0 || awaited)
    }

    /// Starts waiting work of a die, if it is idle and the channel free; otherwise waits in the channel's queue.
    #[inline(always)]
    pub(crate) fn try_start(&mut self, die: DieIx) {
        if self.flash.dies[die as usize].running == NONE {
            self.start_waiting(die);
        }
    }

    fn start_waiting(&mut self, die: DieIx) {
        if self.flash.traits.late_bound {
            return self.start_late_bound(die);
        }
        self.start_queued(die);
    }

    /// Starts what is queued at a die, or waits in the channel's queue.
    #[inline(always)]
    pub(crate) fn start_queued(&mut self, die: DieIx) {
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
                let locks = startable & LOCK_BITS;
                if locks == 0 || (locks != startable && !self.lock_goes_first(die, startable)) {
                    return self.enqueue_to_start(channel, die);
                }
                startable = locks;
            }
            if self.start_one(die, startable) {
                return;
            }
        }
    }

    /// Whether `order` prefers a lock request for a die to the operations that wait there for the channel. A lock
    /// request needs only the die at first, and would otherwise always get it.
    #[cold]
    fn lock_goes_first(&mut self, die: DieIx, startable: u64) -> bool {
        let bit = self.choose_of_many(die, startable);
        LOCK_BITS >> bit & 1 == 1
    }

    /// Starts one of the startable pieces of work of a die whose channel is free. Returns whether the die is now busy.
    #[inline(always)]
    pub(super) fn start_one(&mut self, die: DieIx, startable: u64) -> bool {
        let bit = self.choose_at_die(die, startable);
        let (class, plane) = self.work_of(die, bit);
        match class {
            Class::Lock | Class::Gc if self.flash.planes[plane as usize].lines[class as usize].is_empty() => self.take_step(plane, class),
            class => {
                let op = self.take_from_queue(plane, class);
                self.issue(die, op)
            }
        }
    }

    /// The class and the plane of a bit of a die's mask.
    #[inline(always)]
    pub(super) fn work_of(&self, die: DieIx, bit: usize) -> (Class, PlaneIx) {
        let plane = die * self.flash.device.geometry.planes_per_die + (bit / CLASSES) as u32;
        (CLASS_BY_NUMBER[bit % CLASSES], plane)
    }

    #[inline(always)]
    pub(crate) fn candidate(&self, die: DieIx, bit: usize) -> Candidate {
        let (mut class, plane) = self.work_of(die, bit);
        let (arrival, of) = match self.flash.planes[plane as usize].lines[class as usize].head {
            NONE => (self.flash.planes[plane as usize].step_arrival, plane),
            head => {
                let op = &self.flash.ops[head as usize];
                if class == Class::Background && self.has_overdue_work(plane) {
                    class = op.class_when_overdue();
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
    pub(super) fn choose_at_die(&mut self, die: DieIx, startable: u64) -> usize {
        if startable.is_power_of_two() { startable.trailing_zeros() as usize } else { self.choose_of_many(die, startable) }
    }

    /// Startable work without that of the background, if there is any other. Queues with operations of an overdue move count as
    /// other work.
    #[cold]
    fn without_patient_work(&self, die: DieIx, startable: u64) -> u64 {
        let mut patient = startable & BACKGROUND_BITS;
        if self.background_is_overdue() {
            let hurries = |&bit: &usize| self.has_overdue_work(self.work_of(die, bit).1);
            patient &= !bits(patient).filter(hurries).fold(0, |all, bit| all | 1 << bit);
        }
        if startable == patient { startable } else { startable & !patient }
    }

    /// Whether operations of an overdue move wait in a plane.
    fn has_overdue_work(&self, plane: PlaneIx) -> bool {
        let mut waiting = self.flash.waiting(plane, Class::Background);
        self.background_is_overdue() && waiting.any(|op| self.flash.ops[op as usize].owner.can_be_overdue())
    }

    fn choose_of_many(&mut self, die: DieIx, startable: u64) -> usize {
        // Background work goes last, whatever the order.
        let startable = if startable & BACKGROUND_BITS == 0 { startable } else { self.without_patient_work(die, startable) };
        let mut candidates = std::mem::take(&mut self.flash.die_candidates);
        candidates.clear();
        let mut oldest = 0;
        for bit in bits(startable) {
            candidates.push(self.candidate(die, bit));
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
        rest.trailing_zeros() as usize
    }

    /// Binds an operation to its physical page and starts it. Returns whether the die is now busy: an operation may turn out
    /// to belong elsewhere, to need nothing, or to lack space.
    fn issue(&mut self, die: DieIx, op: u32) -> bool {
        match self.bind(die, op) {
            Bind::Ready => {}
            Bind::Moved(plane) => return self.reroute(op, plane),
            Bind::Void => {
                self.attribute_wait(op);
                self.done(op);
                return false;
            }
            Bind::Gone => return false,
        }
        self.attribute_wait(op);
        self.pair(die, op);
        self.begin(die, op);
        if self.flash.traits.assembles {
            self.programs_changed(die);
        }
        true
    }

    /// A page that moved to another plane while its read waited is read there.
    pub(crate) fn reroute(&mut self, op: u32, plane: PlaneIx) -> bool {
        self.requeue_at(op, plane);
        self.try_start(self.flash.die_of(plane));
        self.note_wait(op);
        false
    }

    /// Enqueues an operation that has left its queue at another plane, with its wait attributed; nothing starts.
    pub(crate) fn requeue_at(&mut self, op: u32, plane: PlaneIx) {
        self.attribute_wait(op);
        let entry = &mut self.flash.ops[op as usize];
        let old = std::mem::replace(&mut entry.plane, plane);
        let (class, host) = (entry.class, entry.is_host());
        if host {
            self.flash.host_operation_leaves(self.flash.channel_of(self.flash.die_of(old)));
            self.flash.host_operation_comes(self.flash.die_of(plane), host);
        }
        self.queue_op(op, plane, class);
    }

    /// A program finds no erased page: it waits outside the queues until an erase.
    pub(crate) fn block_on_space(&mut self, op: u32) {
        self.attribute_wait(op);
        self.flash.counters.space_blocked += 1;
        let plane = self.flash.ops[op as usize].plane;
        self.flash.planes[plane as usize].space_blocked.push(&mut self.flash.ops, op);
    }

    /// Programs that waited for an erased page are enqueued again, before those that came later. `for_gc`: it was a GC that they waited
    /// for.
    pub(crate) fn wake_space_blocked(&mut self, plane: PlaneIx, for_gc: bool) {
        let blocked = std::mem::replace(&mut self.flash.planes[plane as usize].space_blocked, Line::EMPTY);
        if blocked.is_empty() {
            return;
        }
        let mut woken = std::mem::take(&mut self.flash.woken);
        woken.clear();
        woken.extend(blocked.iter(&self.flash.ops));
        let now = self.flash.now;
        for &op in woken.iter().rev() {
            let entry = &mut self.flash.ops[op as usize];
            let waited = now - entry.since;
            entry.since = now;
            let class = entry.class;
            self.flash.latencies.attributions[op as usize].add(SPACE, waited);
            if waited > 0 && for_gc {
                self.note_gc_blocked(op);
            }
            if Self::TRACED {
                self.flash.latencies.attributions[op as usize].trace(now - waited, now, plane, Passing::Own(SPACE as u8));
            }
            self.flash.planes[plane as usize].lines[class as usize].push_first(&mut self.flash.ops, op);
            if self.flash.ops[op as usize].is_attributed() {
                self.open_wait(op);
            }
            self.set_ready(plane, class);
        }
        self.flash.woken = woken;
        if self.flash.traits.assembles {
            self.programs_changed(self.flash.die_of(plane));
        }
        self.try_start(self.flash.die_of(plane));
    }

    /// Sets the masked work of a die from what the firmware masks, from suspension and from locks on its channel.
    pub(crate) fn update_masked(&mut self, die: DieIx) {
        let masked = self.masked_work(die);
        let serves_programs = self.flash.serves_programs(die);
        let state = &mut self.flash.dies[die as usize];
        let is_closed = self.flash.channels[state.channel as usize].is_closed_to(die);
        let suspended = if state.is_suspended() && !serves_programs { !READ_BITS } else { 0 };
        state.masked = if is_closed { u64::MAX } else { masked | suspended };
    }

    /// What the channels that a die has locked count as, after what the die is doing.
    #[inline(always)]
    pub(crate) fn update_locked_category(&mut self, die: DieIx) {
        if self.flash.channels_locked > 0 && self.flash.channels[self.flash.channel_of(die)].locked_by == die {
            self.recategorize(die);
        }
    }

    /// Starts an operation with its partners: die and channel are free.
    pub(crate) fn begin(&mut self, die: DieIx, op: u32) {
        self.begin_and(die, op, |_, _| 0);
    }

    /// The same. `load`, given the array time, says for how long the channel takes other data to the die after its own.
    #[inline(always)]
    pub(super) fn begin_and(&mut self, die: DieIx, op: u32, load: impl FnOnce(&mut Self, Ns) -> Ns) {
        if !self.flash.loaded.is_empty() {
            self.use_registers(op);
        }
        self.settle_die(die);
        self.mark_running(die);
        let now = self.flash.now;
        let entry = self.flash.ops[op as usize];
        let Times { command, array: array_ns, transfer } = if entry.partner == NONE { self.times(&entry) } else { self.fused_times(op) };
        let phase = FIRST_PHASE[entry.kind as usize];
        let channel_ns = command + if entry.kind == OpKind::Program { transfer } else { 0 };
        let state = &mut self.flash.dies[die as usize];
        let channel = state.channel as usize;
        state.running = op;
        state.part = op;
        state.phase = phase;
        state.traffic = entry.traffic;
        let end = now + channel_ns + array_ns;
        if state.is_suspended() {
            self.flash.counters.programs_beside += u64::from(phase == Phase::ArrayProgram);
        } else if matches!(phase, Phase::Erase | Phase::ArrayProgram) {
            // What is made free has one step of no time.
            let timing = &self.flash.device.timing;
            let step = if phase == Phase::Erase { timing.erase_step_ns } else { timing.program_step_ns(array_ns) };
            state.progress.start(now + channel_ns, array_ns, step);
        }
        self.queue.schedule(die as usize, end);
        if self.flash.traits.suspends {
            self.operation_begins(die);
        }
        let loading = load(self, array_ns);
        self.use_channel(channel, channel_ns + loading, entry.traffic, entry.plane);
        self.update_locked_category(die);
    }

    /// The end of the current phase of a die's running operation. Returns whether anything came of it.
    fn die_event(&mut self, die: DieIx) -> bool {
        let state = &self.flash.dies[die as usize];
        let op = state.running;
        match state.phase {
            Phase::ArrayRead if !self.flash.registers.is_empty() => self.array_read_with_registers(die),
            Phase::ArrayRead => self.transfer_out(die, op),
            Phase::CopybackRead => self.claim_channel(die, Phase::CopybackRead),
            Phase::TransferOut => {
                self.end_transfer(die);
                self.serve_channel(self.flash.channel_of(die));
            }
            // What is suspended keeps its progress, and nothing suspends a program beside it.
            Phase::ArrayProgram if state.is_suspended() => self.finish(die, op),
            Phase::ArrayProgram | Phase::Erase => match self.operation_event(die) {
                ProgressEvent::Ended => self.finish(die, op),
                ProgressEvent::Cut | ProgressEvent::Asked => {}
                ProgressEvent::Stale => return false,
            },
            Phase::Suspending => self.suspended(die),
            Phase::Idle | Phase::RegisterFull => unreachable!("an event of a die that waits"),
        }
        true
    }

    /// Ends the running operation of a die and starts what waits.
    fn finish(&mut self, die: DieIx, op: u32) {
        self.settle_die(die);
        let state = &mut self.flash.dies[die as usize];
        let erased = state.phase == Phase::Erase;
        state.phase = Phase::Idle;
        if !state.is_suspended() {
            state.progress.total = 0;
        }
        if self.flash.traits.assembles || self.flash.traits.joins_erases && erased {
            // Its parts complete before anything starts: another program would pad planes whose page is not recorded yet, and GCs
            // that yield after each page yield together. What joined erases went through is told of each block.
            self.parts_done(op);
            self.flash.dies[die as usize].running = NONE;
            self.flash.note_if_idle(die);
            self.update_locked_category(die);
            if self.flash.traits.assembles {
                self.programs_ended(die);
            }
            return self.try_start(die);
        }
        self.flash.dies[die as usize].running = NONE;
        self.flash.note_if_idle(die);
        self.update_locked_category(die);
        self.parts_done(op);
        self.try_start(die);
    }

    /// Completes an operation and every partner of it.
    fn parts_done(&mut self, op: u32) {
        let mut part = op;
        while part != NONE {
            let next = std::mem::replace(&mut self.flash.ops[part as usize].partner, NONE);
            self.done(part);
            part = next;
        }
    }

    /// The transfer of one part of a read ended; the next part's follows, or the read is done.
    /// A die transfers the parts of a read, the partners before the lead.
    pub(super) fn transfer_out(&mut self, die: DieIx, lead: u32) {
        self.flash.dies[die as usize].part = self.first_part(lead);
        self.claim_channel(die, Phase::TransferOut);
    }

    fn end_transfer(&mut self, die: DieIx) {
        let state = &self.flash.dies[die as usize];
        let (lead, part) = (state.running, state.part);
        // Partners go before the lead, each of them complete when its own transfer is.
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
        self.flash.note_if_idle(die);
        self.update_locked_category(die);
        self.done(lead);
        self.try_start(die);
    }
}
