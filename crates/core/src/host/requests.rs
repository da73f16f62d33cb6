//! Requests inside the device: how a command becomes pages in RAM and operations on flash, and how it ends.

use crate::attribution::slot_waits::Holder;
use crate::attribution::trail::Passing;
use crate::commands::request::Request;
use crate::commands::{Command, CommandKind};
use crate::context::Context;
use crate::flash::RAM;
use crate::flash::op::{CRITICAL, Class, Op, OpKind, Owner};
use crate::ftl::above::WithFtl;
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

impl<O: Observer> Drive<O> {
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
        // What needs no flash is answered from RAM and crosses the link: buffered pages, and the zeroes of unmapped ones.
        let mut from_ram = false;
        let mut meets_unmapped = false;
        let mut ram_link_ns = 0;
        let mut first_op = NONE;
        let mut last_op = NONE;
        let mut behind_gc = false;
        let mut reads = 0;
        let WithFtl { ftl, oracle, up: WithRaid { raid, up: WithHost { host, .. } } } = &mut self.up;
        for (lpn, first, count) in host.pages(command) {
            let mask = mask(first, count);
            let buffered = raid.find_in_ram(lpn);
            let in_ram = buffered.map_or(0, |(_, present)| present & mask);
            let ppn = if in_ram == mask || raid.is_trimmed(lpn) { NONE } else { ftl.tables.lookup(lpn) };
            if ppn == NONE {
                from_ram = true;
                ram_link_ns += link_ns(&self.flash.device, count.into());
                let (first, count) = (first.into(), count.into());
                if let Some((entry, _)) = buffered.filter(|_| in_ram == mask) {
                    raid.buffer.counters.hits += 1;
                    if let Some(oracle) = oracle {
                        oracle.check_buffer(entry, lpn, raid.buffer.entry(entry).dirty, first, count);
                    }
                } else {
                    meets_unmapped = true;
                    host.counters.unmapped_read_pages += 1;
                    if let Some(oracle) = oracle {
                        oracle.check_unmapped(lpn, first, count, in_ram);
                    }
                }
                continue;
            }
            let plane = ftl.tables.plane_of(ppn);
            behind_gc |= raid.traits.plans_reads && self.flash.is_locked_from(plane);
            let mut op = Op::new(OpKind::Read, Class::HostRead, TrafficClass::HostRead, Owner::Request(request), lpn, plane);
            op.first_sector = first as u8;
            op.sectors = count as u8;
            let op = self.flash.new_op(op);
            if let Some(oracle) = oracle {
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
        host.counters.unmapped_reads += u64::from(meets_unmapped);
        let state = &mut host.requests[request as usize];
        // Without link, pages in RAM are there before any of the flash.
        let ram_is_part = from_ram && (host.path.has_link || reads == 0);
        (state.pending, state.ram_link_ns) = (reads + u32::from(ram_is_part), ram_link_ns);
        if ram_is_part {
            self.serve_from_ram(request);
        }
        if behind_gc { self.plan_reads(request, first_op) } else { self.enqueue_all(first_op) }
    }

    fn accept_write(&mut self, request: u32, command: &Command) {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let (first, pages) = (host.page_of(command.sector), host.pages(command));
        let direct = !raid.buffer.exists();
        if direct {
            host.requests[request as usize].pending = pages.clone().count() as u32;
        }
        if host.path.has_link {
            self.cross_to_device(request, command);
        } else if direct {
            self.enqueue_together(|drive| pages.for_each(|(lpn, ..)| drive.direct_write(request, lpn)));
        } else {
            let count = pages.count() as u32;
            self.enqueue_flushes(count, |drive| drive.write_to_buffer(request, first));
        }
    }

    /// Pages of a write from one on go into the buffer as far as there is room, behind those of writes that wait for it already.
    pub(super) fn write_to_buffer(&mut self, request: u32, lpn: Lpn) {
        match self.up.up.raid.buffer.waiting().back() {
            // Pages cross in order, so a write that waits already takes this one in its turn.
            Some(last) if last.request == request => {}
            Some(_) => self.wait_for_room(request, lpn),
            None => drop(self.insert_pages(request, lpn)),
        }
    }

    /// Lets so many pages of a request into the buffer in one moment. Those that leave for them are enqueued together, unless
    /// programs wait for the other planes of their die anyway.
    #[inline]
    fn enqueue_flushes<R>(&mut self, pages: u32, insert: impl FnOnce(&mut Self) -> R) -> R {
        if pages == 1 || self.flash.traits.assembles { insert(self) } else { self.enqueue_together(insert) }
    }

    /// A write waits, or goes on to wait, until the buffer has room for its pages from one on.
    fn wait_for_room(&mut self, request: u32, next_lpn: Lpn) {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let is_first = raid.buffer.wait(host.waiting_write(request, next_lpn, self.flash.now));
        // Stripes leave for the first write alone: the more wait, the more of them fill.
        if raid.rain.is_none() || is_first {
            self.make_room();
        }
    }

    /// Puts the pages of a write from `from` on into the buffer, as far as their data are in the device. Returns whether all found
    /// room; otherwise it waits.
    fn insert_pages(&mut self, request: u32, from: Lpn) -> bool {
        let host = &self.up.up.up.host;
        let Request { command, crossed, .. } = host.requests[request as usize];
        for (lpn, first, count) in host.pages(&command).filter(|&(lpn, ..)| (from..crossed).contains(&lpn)) {
            let WithFtl { oracle, up: WithRaid { raid, up: WithHost { host, .. } }, .. } = &mut self.up;
            if host.is_void(request, lpn) {
                host.counters.trimmed_buffered += 1;
                continue;
            }
            let per_page = self.flash.device.geometry.sectors_per_unit() as u16;
            // The other sectors of a page that the host had given up are zeroes, and not what its old copy holds.
            let written = if raid.is_trimmed(lpn) { mask(0, per_page) } else { mask(first, count) };
            let Some(entry) = raid.buffer.insert(lpn, written) else {
                self.wait_for_room(request, lpn);
                return false;
            };
            if let Some(oracle) = oracle {
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
        raid.buffer.stop_waiting(request);
        if crossed > host.last_page_of(&command) {
            host.forget_void_pages(request);
            let since = host.in_device_since(request);
            if now > since {
                host.requests[request as usize].room_mix = raid.buffer.waits.mix(since, now);
            }
            self.serve_from_ram(request);
        }
        true
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

    /// A page of a write goes to the flash, behind earlier writes of the same page.
    pub(super) fn direct_write(&mut self, request: u32, lpn: Lpn) {
        let write = DirectWrite { request, since: self.flash.now, void: false, gc_blocked: false };
        if self.up.up.up.host.direct.begin(lpn, write) {
            self.start_direct_write(lpn, write);
        }
    }

    pub(super) fn start_direct_write(&mut self, lpn: Lpn, write: DirectWrite) {
        let DirectWrite { request, void, gc_blocked, .. } = write;
        let plane = self.place(lpn);
        let host = &self.up.up.up.host;
        let (first_sector, sectors) = host.part_of(request, lpn);
        let owner = Owner::Request(request);
        let mut program = self.flash.page_op(OpKind::Program, Class::HostProgram, TrafficClass::HostProgram, owner, lpn, plane);
        program.flags |= CRITICAL * u8::from(host.requests[request as usize].command.critical);
        program.gc_blocked = gc_blocked;
        if void {
            program.give_up();
        }
        let program = self.flash.new_op(program);
        if let Some(oracle) = &mut self.up.oracle {
            oracle.promise(program, first_sector.into(), sectors.into());
        }
        self.program_page(program, mask(first_sector, sectors));
    }

    /// A part of a request is done: an operation, or, without one, what has its attribution in `path_attribution`. `gc_blocked`: some
    /// operation of it waited for what a GC locked. `sectors`: those of a read that cross the link. Returns whether the operation is
    /// still needed, for its attribution.
    pub(super) fn part_done(&mut self, request: u32, op: Option<u32>, gc_blocked: bool, sectors: u32) -> bool {
        let host = &mut self.up.up.up.host;
        let state = &mut host.requests[request as usize];
        let last = state.part_done(gc_blocked);
        if host.path.has_link && state.command.kind == CommandKind::Read {
            let ns = link_ns(&self.flash.device, sectors);
            return self.cross_to_host(request, op, ns);
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
        let WithFtl { ftl, up: WithRaid { raid, up: WithHost { host, up: top } }, .. } = &mut self.up;
        if top.observer.wants_look(completed) {
            top.observer.look(View::new(&self.flash, ftl, raid));
        }
        let state = &host.requests[request as usize];
        let direct = state.command.kind == CommandKind::Write && !raid.buffer.exists();
        let takes_time = host.path.takes_time();
        let (link_wait_ns, link_ns) = if takes_time { host.link_times(request, &self.flash.device, direct) } else { (0, 0) };
        let Host { deadline_ns, counters, requests, queue, path, path_attribution, completions, .. } = host;
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
        if direct {
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
        queue.completed(requests[request as usize].queue, command.kind);
        if slot_mix != NONE {
            queue.waits.release(slot_mix);
        }
        requests.remove(request);
        path_attribution.clear();
        counters.completed += 1;
        counters.deadlines_missed += u64::from(completed - arrived > *deadline_ns);
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
            if !self.enqueue_flushes(write.pages(), |drive| drive.insert_pages(write.request, write.next_lpn)) {
                break;
            }
        }
        while let Some(queued) = self.up.up.up.host.queue.take() {
            self.accept(queued);
        }
    }

    /// The host gives a command to a queue. Returns its number.
    pub(crate) fn take_in(&mut self, queue: u32, asked: Ns, command: Command) -> u64 {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let queue = host.queue.number(queue);
        let queued = host.number(queue, asked, self.flash.now, command);
        let enters = host.queue.take_directly(queue, command.kind);
        if !enters {
            host.queue.push(queued);
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
