//! Requests inside the device: how a command becomes pages in RAM and operations on flash, and how it ends.

use crate::attribution::slot_waits::Holder;
use crate::attribution::trail::Passing;
use crate::buffer::write_buffer::Insert;
use crate::commands::request::Request;
use crate::commands::{Command, CommandKind};
use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::RAM;
use crate::flash::op::{CRITICAL, Class, Op, OpKind, Owner};
use crate::host::path::{BEGIN, DirectWrite};
use crate::host::queue::Queued;
use crate::host::state::{Host, link_ns};
use crate::host::tiers::{Drive, WithHost};
use crate::host::trace::{trace_ends, trace_slot_wait};
use crate::ids::{Lpn, NONE};
use crate::observe::{BUFFER, Completion, DIE, LINK, LINK_WAIT, OVERHEAD, Observer, RequestAttribution, TrafficClass};
use crate::policy::answers::Opens;
use crate::policy::view::View;
use crate::raid::front::WithRaid;
use crate::units::{Ns, sector_mask as mask};

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// The device takes a command.
    #[inline(always)]
    fn accept(&mut self, queued: Queued) {
        let (Queued { id, command, .. }, now) = (queued, self.flash.now);
        let WithHost { host, up: top } = &mut self.up.up.up;
        let request = host.admit(queued, now);
        let overhead_ns = host.path.overhead_ns;
        if O::TRACED {
            top.observer.accepted(id, now);
        }
        if overhead_ns > 0 {
            return self.make_due(BEGIN, now + overhead_ns, request, NONE);
        }
        self.begin_command(request, &command);
    }

    /// The device begins with a command.
    #[inline]
    pub(super) fn begin_command(&mut self, request: u32, command: &Command) {
        match command.kind {
            CommandKind::Read => self.accept_read(request, command),
            CommandKind::Write => self.accept_write(request, command),
            CommandKind::Trim => self.accept_trim(request, command),
        }
    }

    fn accept_read(&mut self, request: u32, command: &Command) {
        // Pages in RAM cross the link like those of the flash. Of unmapped pages there is nothing to be carried.
        let mut from_ram = false;
        let mut ram_link_ns = 0;
        let mut first_op = NONE;
        let mut last_op = NONE;
        let mut behind_gc = false;
        let mut reads = 0;
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let has_link = host.path.has_link;
        let plans = raid.plans_reads();
        for (lpn, first, count) in host.pages(command) {
            let mask = mask(first, count);
            let trimmed = raid.is_trimmed(lpn);
            let buffered = if raid.buffer.exists() && !trimmed { raid.buffer.find(lpn) } else { None };
            let in_ram = buffered.map_or(0, |(_, present)| present & mask);
            if let Some((entry, _)) = buffered
                && in_ram == mask
            {
                self.flash.counters.buffer_hits += 1;
                from_ram = true;
                ram_link_ns += if has_link { link_ns(&self.flash.device, count) } else { 0 };
                if let Some(oracle) = &mut self.up.oracle {
                    oracle.check_buffer(entry, lpn, raid.buffer.entry(entry).dirty, first.into(), count.into());
                }
                continue;
            }
            let ppn = self.up.ftl.tables.lookup(lpn);
            if ppn == NONE || trimmed {
                self.flash.counters.unmapped_reads += 1;
                if in_ram != 0 {
                    from_ram = true;
                    ram_link_ns += if has_link { link_ns(&self.flash.device, count) } else { 0 };
                }
                if let Some(oracle) = &mut self.up.oracle {
                    oracle.check_unmapped(lpn, first.into(), count.into(), in_ram);
                }
                continue;
            }
            let plane = self.up.ftl.tables.plane_of(ppn);
            behind_gc |= plans && self.flash.is_locked_from(plane);
            let mut op = Op::new(OpKind::Read, Class::HostRead, TrafficClass::HostRead, Owner::Request(request), lpn, plane);
            op.first_sector = first as u8;
            op.sectors = count as u8;
            let op = self.flash.new_op(op);
            if let Some(oracle) = &mut self.up.oracle {
                oracle.arm_read(op, lpn);
            }
            // The pages are enqueued only when all are known, because the first could complete before the last is counted.
            match last_op {
                NONE => first_op = op,
                last => self.flash.ops[last as usize].next = op,
            }
            last_op = op;
            reads += 1;
        }
        let state = &mut host.requests[request as usize];
        state.pending = reads;
        if has_link && from_ram {
            state.ram_link_ns = ram_link_ns;
            state.pending += 1;
            self.serve_from_ram(request);
        } else if first_op == NONE {
            if from_ram {
                return self.serve_from_ram(request);
            }
            return self.complete(request, None);
        }
        if behind_gc {
            return self.plan_reads(request, first_op);
        }
        let mut op = first_op;
        while op != NONE {
            let next = self.flash.ops[op as usize].next;
            self.enqueue(op);
            op = next;
        }
    }

    fn accept_write(&mut self, request: u32, command: &Command) {
        let WithRaid { raid, up: WithHost { host, .. } } = &self.up.up;
        if host.path.has_link {
            return self.cross_to_device(request, command);
        }
        if !raid.buffer.exists() {
            return self.accept_direct_write(request, command);
        }
        let first = host.page_of(command.sector);
        if !raid.buffer.waiting().is_empty() {
            self.wait_for_room(request, first);
        } else if let Some(next_lpn) = self.insert_pages(request, first) {
            self.wait_for_room(request, next_lpn);
        }
    }

    /// A write waits until the buffer has room for its pages from `next_lpn` on.
    pub(super) fn wait_for_room(&mut self, request: u32, next_lpn: Lpn) {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        raid.buffer.wait(host.waiting_write(request, next_lpn, self.flash.now));
        // Stripes leave for the first write alone: the more wait, the more of them fill.
        if raid.rain.is_none() || raid.buffer.waiting().len() == 1 {
            self.make_room();
        }
    }

    /// Sends pages to the flash until as many are on their way as wait for room: the foreground flush. Those that wait for
    /// partners are not on their way; where no other is, one die need not wait.
    fn make_room(&mut self) {
        let mut held_up = self.pages_without_partners();
        let raid = &self.up.up.raid;
        if raid.rain.is_some() {
            let pages = raid.buffer.waiting()[0].pages();
            self.flush_stripes(pages + held_up);
            held_up = self.pages_without_partners();
        } else {
            while let Some(entry) = self.up.up.raid.buffer.next_foreground_flush(held_up) {
                self.flush(entry);
                held_up = self.pages_without_partners();
            }
        }
        if held_up > 0 && held_up >= self.up.up.raid.steps_under_way() {
            self.pad_fullest_die();
        }
    }

    /// Puts the pages of a write from `from` on into the buffer, as far as their data are in the device. Returns the first page
    /// that found no room.
    pub(super) fn insert_pages(&mut self, request: u32, from: Lpn) -> Option<Lpn> {
        let host = &self.up.up.up.host;
        let Request { command, crossed, .. } = host.requests[request as usize];
        for (lpn, first, count) in host.pages(&command).filter(|&(lpn, ..)| lpn >= from) {
            if lpn >= crossed {
                return None;
            }
            let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
            if host.is_void(request, lpn) {
                self.flash.counters.trimmed_buffered += 1;
                continue;
            }
            let per_page = self.flash.device.geometry.sectors_per_unit() as u16;
            // The other sectors of a page that the host had given up are zeroes, and not what its old copy holds.
            let written = if raid.is_trimmed(lpn) { mask(0, per_page) } else { mask(first, count) };
            let inserted = raid.buffer.insert(lpn, written);
            let entry = match inserted {
                Insert::Full => return Some(lpn),
                Insert::Added(entry) => entry,
                Insert::Merged(entry) => {
                    self.flash.counters.merged += 1;
                    entry
                }
            };
            if let Some(oracle) = &mut self.up.oracle {
                let token = oracle.next_token();
                oracle.expect(lpn, first.into(), count.into(), token);
                if written != mask(first, count) {
                    oracle.zeroed(entry);
                }
                oracle.buffered(entry, first.into(), count.into(), token);
            }
            if let Some(rain) = &mut raid.rain {
                rain.set_trimmed(lpn, false);
                self.page_written(lpn);
            } else {
                self.flush_above_threshold();
            }
        }
        let now = self.flash.now;
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        host.forget_void_pages(request);
        let since = host.in_device_since(request);
        if now > since {
            host.requests[request as usize].room_mix = raid.buffer.waits.mix(since, now);
        }
        self.serve_from_ram(request);
        None
    }

    /// The RAM has served a request but for its own latency.
    pub(super) fn serve_from_ram(&mut self, request: u32) {
        self.make_due(RAM, self.flash.now + self.flash.device.timing.ram_ns, request, NONE);
    }

    /// The RAM has served a request.
    pub(super) fn served_by_ram(&mut self, request: u32) {
        let (now, ram_ns) = (self.flash.now, self.flash.device.timing.ram_ns);
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let state = &mut host.requests[request as usize];
        let (room_mix, ram_link_ns) = (state.room_mix, state.ram_link_ns);
        let crosses = host.path.has_link && state.command.kind == CommandKind::Read;
        if !crosses || state.part_done(false) {
            host.path_attribution.add(BUFFER, ram_ns);
            if room_mix != NONE {
                host.attribute_room_wait::<O>(request, now - ram_ns, &mut raid.buffer.waits);
            }
            if O::TRACED {
                host.path_attribution.trace(now - ram_ns, now, NONE, Passing::Own(BUFFER as u8));
            }
        }
        if crosses {
            self.cross_to_host(request, None, ram_link_ns);
        } else {
            self.complete(request, None);
        }
    }

    fn accept_direct_write(&mut self, request: u32, command: &Command) {
        let host = &mut self.up.up.up.host;
        let pages = host.pages(command);
        host.requests[request as usize].pending = pages.clone().count() as u32;
        for (lpn, first_sector, sectors) in pages {
            self.direct_write(request, lpn, first_sector, sectors);
        }
    }

    /// A page of a write goes to the flash, behind earlier writes of the same page.
    pub(super) fn direct_write(&mut self, request: u32, lpn: Lpn, first_sector: u16, sectors: u16) {
        let write = DirectWrite { request, first_sector, sectors, since: self.flash.now, void: false, gc_blocked: false };
        if self.up.up.up.host.direct.begin(lpn, write) {
            self.start_direct_write(lpn, write);
        }
    }

    fn start_direct_write(&mut self, lpn: Lpn, write: DirectWrite) {
        let DirectWrite { request, first_sector, sectors, void, gc_blocked, .. } = write;
        let plane = self.place(lpn);
        let owner = Owner::Request(request);
        let mut program = self.flash.page_op(OpKind::Program, Class::HostProgram, TrafficClass::HostProgram, owner, lpn, plane);
        program.flags |= CRITICAL * u8::from(self.up.up.up.host.requests[request as usize].command.critical);
        program.gc_blocked = gc_blocked;
        if void {
            program.give_up();
        }
        let program = self.flash.new_op(program);
        if let Some(oracle) = &mut self.up.oracle {
            oracle.promise(program, first_sector.into(), sectors.into());
        }
        if self.flash.counters.host_page(sectors.into(), self.flash.device.geometry.sectors_per_unit())
            && self.up.ftl.tables.lookup(lpn) != NONE
        {
            self.read_then_program(Owner::Request(request), lpn, mask(first_sector, sectors), program);
        } else {
            self.enqueue(program);
        }
    }

    /// A GC has made an operation wait until now: so it has the writes that stand behind it in the order of its page.
    pub(super) fn delay_writes_behind(&mut self, op: u32) {
        let entry = &self.flash.ops[op as usize];
        if matches!(entry.class, Class::HostProgram | Class::AuxiliaryRead) {
            self.up.up.up.host.direct.delay(entry.tag, self.flash.now);
        }
    }

    /// An operation of a request or of a job is done. Returns whether it is still needed, for its attribution.
    pub(super) fn op_done(&mut self, op: u32) -> bool {
        let entry = &self.flash.ops[op as usize];
        let (owner, lpn, direct) = (entry.owner, entry.tag, entry.class == Class::HostProgram);
        if direct {
            self.up.up.up.host.direct.programmed_last = lpn;
        }
        let kept = match owner {
            Owner::Job(job) => {
                self.job_op_done(job, op);
                false
            }
            Owner::Request(request) => self.part_of_request_done(request, Some(op), self.flash.ops[op as usize].gc_blocked),
            _ => unreachable!("the tiers below take the operations of all others"),
        };
        if direct && let Some(next) = self.up.up.up.host.direct.end(lpn) {
            self.start_direct_write(lpn, next);
        }
        kept
    }

    /// An operation of a request is done, or, without one, a job whose attribution is in `path_attribution`.
    /// `gc_blocked`: some operation of it waited for what a GC locked. Returns whether the operation is still needed, for its
    /// attribution.
    pub(super) fn part_of_request_done(&mut self, request: u32, op: Option<u32>, gc_blocked: bool) -> bool {
        let host = &mut self.up.up.up.host;
        let state = &mut host.requests[request as usize];
        let last = state.part_done(gc_blocked);
        let Command { kind, sectors, .. } = state.command;
        if host.path.has_link && kind == CommandKind::Read {
            return self.page_left_flash(request, op, sectors);
        }
        if last {
            self.complete(request, op);
        }
        false
    }

    /// A request is complete; the attribution of its last operation, or `path_attribution`, covers it from the moment at which
    /// the device took it.
    pub(crate) fn complete(&mut self, request: u32, op: Option<u32>) {
        let completed = self.flash.now;
        let WithRaid { raid, up: WithHost { host, up: top } } = &mut self.up.up;
        if top.observer.wants_look(completed) {
            top.observer.look(View::new(&self.flash, &self.up.ftl, raid));
        }
        let direct = !raid.buffer.exists();
        let takes_time = host.path.takes_time();
        let (link_wait_ns, link_ns) =
            if takes_time { host.link_times(&host.requests[request as usize], &self.flash.device, direct) } else { (0, 0) };
        let Host { requests, queue, path, path_attribution, completions, .. } = host;
        let &Request { arrived, accepted, slot_mix, ref command, .. } = &requests[request as usize];
        let attribution = match op {
            Some(op) => self.flash.attribution_mut(op),
            None => &mut *path_attribution,
        };
        if takes_time {
            attribution.add(OVERHEAD, path.overhead_ns);
            attribution.add(LINK_WAIT, link_wait_ns);
            attribution.add(LINK, link_ns);
        }
        if command.kind == CommandKind::Write && direct {
            // What is left was spent behind an earlier write of the same page.
            let rest = (completed - accepted).saturating_sub(attribution.total());
            attribution.add(DIE + TrafficClass::HostProgram as usize, rest);
        }
        if queue.waiting() > 0 {
            queue.waits.completed(Holder::Request(command.kind), attribution);
        }
        let in_host = (slot_mix != NONE).then(|| (queue.waits.get(slot_mix), accepted - arrived));
        if O::TRACED {
            if let Some((mix, wait)) = in_host {
                trace_slot_wait(attribution, arrived, mix.divide(wait));
            }
            trace_ends(attribution, (arrived, accepted, completed), (path.overhead_ns, link_wait_ns, link_ns), command.kind);
        }
        let by_cause = RequestAttribution::new(attribution, in_host);
        crate::check!(by_cause.total() == completed - arrived, "attribution adds up: {by_cause:?}");
        let completion = Completion::new(&requests[request as usize], completed);
        top.observer.completed(&completion, by_cause);
        completions.push(completion);
        queue.completed(command.kind);
        if slot_mix != NONE {
            queue.waits.release(slot_mix);
        }
        requests.remove(request);
        path_attribution.clear();
        self.flash.counters.completed += 1;
        self.flash.counters.deadlines_missed += u64::from(completed - arrived > self.flash.traits.deadline_ns);
    }

    /// Asks every plane whether it wants a GC, as a drive does when it starts to work in its starting state.
    pub fn wake(&mut self) {
        if self.ask(|policies, _| policies.place.opens()) == Opens::LeastWorn {
            self.up.ftl.tables.open_least_worn_first();
        }
        if self.flash.traits.assembles {
            self.align_write_points();
        }
        if self.flash.traits.late_bound {
            self.find_write_points();
        }
        for plane in 0..self.flash.device.geometry.planes() {
            self.consider_gc(plane);
        }
        self.pump();
    }

    /// Lets in what waits for the buffer and for the device queue, as far as there is room.
    #[inline(always)]
    pub(crate) fn pump(&mut self) {
        let WithRaid { raid, up: WithHost { host, .. } } = &self.up.up;
        if raid.lets_in(self.flash.traits.assembles).is_some() || host.queue.lets_in() {
            self.let_in();
        }
    }

    #[inline(never)]
    fn let_in(&mut self) {
        while let Some(write) = self.up.up.raid.lets_in(self.flash.traits.assembles) {
            let next_lpn = self.insert_pages(write.request, write.next_lpn);
            let buffer = &mut self.up.up.raid.buffer;
            if let Some(next_lpn) = next_lpn {
                buffer.still_waits(next_lpn);
                self.make_room();
                break;
            }
            buffer.stop_waiting();
        }
        while let Some(queued) = self.up.up.up.host.queue.take() {
            self.accept(queued);
        }
    }

    /// The host gives a command to a queue. Returns its number.
    pub(crate) fn take_in(&mut self, queue: u32, asked: Ns, command: Command) -> u64 {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let queued = host.number(asked, self.flash.now, command);
        let enters = host.queue.take_directly(command.kind);
        if !enters {
            host.queue.push(queue, queued);
        }
        if raid.scrubbing.is_due() {
            self.wake_scrubbers();
        }
        if enters {
            self.accept(queued);
        }
        queued.id
    }
}

#[cfg(test)]
impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// A request in the device that one job will complete.
    pub(crate) fn begin_request_for_test(&mut self, command: Command) -> u32 {
        let now = self.flash.now;
        let host = &mut self.up.up.up.host;
        let queued = host.number(now, now, command);
        host.queue.push(0, queued);
        host.queue.take();
        let request = host.admit(queued, now);
        host.requests[request as usize].pending = 1;
        request
    }
}
