//! Requests inside the device: how a command becomes pages in RAM and operations on flash, and how it ends.

use crate::drive::{DirectWrite, Drive};
use crate::event::EventQueue;
use crate::host::{Command, CommandKind};
use crate::host_queue::Queued;
use crate::ids::{Lpn, NONE, PlaneIx, Ppn};
use crate::observe::{Attribution, BUFFER, BUFFER_FULL, Completion, DIE, LINK, LINK_WAIT, OVERHEAD, Observer, Occupant};
use crate::policy::Place;
use crate::ram::{Insert, WaitingWrite};
use crate::sched::jobs::Stage;
use crate::sched::ops::{CRITICAL, Class, Op, OpKind, Owner};
use crate::sched::telling::{tell_ends, tell_slot_wait};
use crate::state::Request;
use crate::story::Passing;
use crate::view::View;
use std::collections::VecDeque;

/// Map entries that are fetched at a time, because the processor looks up the addresses of several at once as fast as that
/// of one.
pub(crate) const FETCHED_AT_ONCE: usize = 8;

/// The bits of `count` sectors from `first`.
pub(crate) fn mask(first: u16, count: u16) -> u64 {
    (u64::MAX >> (64 - count)) << first
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// The device takes a command.
    #[inline(always)]
    pub(super) fn accept(&mut self, queued: Queued) {
        let Queued { id, asked, arrived, command } = queued;
        let now = self.state.now;
        let slot_mix = if now > arrived { self.state.host.waits.mix(arrived, now) } else { NONE };
        let request = self.state.requests.insert(Request {
            id,
            asked,
            arrived,
            accepted: now,
            slot_mix,
            command,
            pending: 0,
            gc_blocked: false,
            reconstructed: 0,
            gc_waits: 0,
            gc_waits_forced: 0,
            gc_wait_since: 0,
            crossed: NONE,
            link_wait_ns: 0,
            link_ns: 0,
            ram_link_ns: 0,
        });
        if O::TOLD {
            self.observer.accepted(id, now);
        }
        if self.path.overhead_ns > 0 {
            return self.begin_later(request);
        }
        self.begin_command(request);
    }

    /// The device begins with a command.
    #[inline]
    pub(super) fn begin_command(&mut self, request: u32) {
        let command = self.state.requests[request as usize].command;
        match command.kind {
            CommandKind::Read => self.accept_read(request, &command),
            CommandKind::Write if self.path.has_link => self.cross_to_device(request, &command),
            CommandKind::Write => self.accept_write(request, &command),
            CommandKind::Trim => self.accept_trim(request, &command),
        }
    }

    /// The sectors of a page that a command has: the first in the page, and how many.
    pub(super) fn part_of_page(&self, command: &Command, lpn: Lpn) -> (u16, u16) {
        let shift = self.state.sector_shift;
        let start = u64::from(lpn) << shift;
        let from = command.sector.max(start);
        let to = (command.sector + u64::from(command.sectors)).min(start + (1 << shift));
        ((from - start) as u16, (to - from) as u16)
    }

    /// The pages of a command, each with its first sector and number of sectors.
    pub(super) fn pages(&self, command: &Command) -> impl Iterator<Item = (Lpn, u16, u16)> + use<O, Q> {
        let shift = self.state.sector_shift;
        let end = command.sector + u64::from(command.sectors);
        let first = command.sector;
        (first >> shift..((end - 1) >> shift) + 1).map(move |lpn| {
            let from = first.max(lpn << shift);
            let to = end.min((lpn + 1) << shift);
            (lpn as Lpn, (from - (lpn << shift)) as u16, (to - from) as u16)
        })
    }

    pub(super) fn accept_read(&mut self, request: u32, command: &Command) {
        // Pages in RAM cross the link like those of the flash. Of unmapped pages there is nothing to be carried.
        let mut from_ram = false;
        let mut ram_link_ns = 0;
        let has_link = self.path.has_link;
        let mut first_op = NONE;
        let mut last_op = NONE;
        let plans = self.state.rain.as_ref().is_some_and(|rain| rain.plans_reads);
        let mut behind_gc = false;
        for (lpn, first, count) in self.pages(command) {
            let mask = mask(first, count);
            let trimmed = self.state.rain.as_ref().is_some_and(|rain| rain.is_trimmed(lpn));
            let buffered = if self.state.buffer.exists() && !trimmed { self.state.buffer.find(lpn) } else { None };
            let in_ram = buffered.map_or(0, |(_, present)| present & mask);
            if let Some((entry, _)) = buffered
                && in_ram == mask
            {
                self.state.counters.buffer_hits += 1;
                from_ram = true;
                ram_link_ns += if has_link { self.link_ns(count) } else { 0 };
                if let Some(oracle) = &mut self.oracle {
                    oracle.check_buffer(entry, lpn, self.state.buffer.entry(entry).dirty, first.into(), count.into());
                }
                continue;
            }
            let ppn = self.state.books.lookup(lpn);
            if ppn == NONE || trimmed {
                self.state.counters.unmapped_reads += 1;
                if in_ram != 0 {
                    from_ram = true;
                    ram_link_ns += if has_link { self.link_ns(count) } else { 0 };
                }
                if let Some(oracle) = &mut self.oracle {
                    oracle.check_unmapped(lpn, first.into(), count.into(), in_ram);
                }
                continue;
            }
            let plane = self.plane_of_page(ppn);
            behind_gc |= plans && self.is_behind_gc(plane);
            let mut op = Op::new(OpKind::Read, Class::HostRead, Occupant::HostRead, Owner::Request(request), lpn, plane);
            op.first_sector = first as u8;
            op.sectors = count as u8;
            let op = self.state.new_op(op);
            if let Some(oracle) = &mut self.oracle {
                oracle.arm_read(op, lpn);
            }
            // The pages line up only when all are known, because the first could complete before the last is counted.
            match last_op {
                NONE => first_op = op,
                last => self.state.ops[last as usize].next = op,
            }
            last_op = op;
            self.state.requests[request as usize].pending += 1;
        }
        if has_link && from_ram {
            let state = &mut self.state.requests[request as usize];
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
            let next = self.state.ops[op as usize].next;
            self.enqueue(op);
            op = next;
        }
    }

    pub(super) fn plane_of_page(&self, ppn: Ppn) -> PlaneIx {
        self.state.books.plane_of(ppn)
    }

    pub(super) fn accept_write(&mut self, request: u32, command: &Command) {
        if !self.state.buffer.exists() {
            return self.accept_direct_write(request, command);
        }
        let first = (command.sector >> self.state.sector_shift) as Lpn;
        if !self.state.buffer.waiting.is_empty() {
            self.state.buffer.waiting.push_back(WaitingWrite { request, next_lpn: first });
        } else if let Some(next_lpn) = self.insert_pages(request, first) {
            self.state.buffer.waiting.push_back(WaitingWrite { request, next_lpn });
        }
    }

    /// Puts the pages of a write from `from` on into the buffer, as far as their data are in the device. Returns the first page
    /// that found no room.
    pub(super) fn insert_pages(&mut self, request: u32, from: Lpn) -> Option<Lpn> {
        let Request { command, crossed, .. } = self.state.requests[request as usize];
        for (lpn, first, count) in self.pages(&command).filter(|&(lpn, ..)| lpn >= from) {
            if lpn >= crossed {
                return None;
            }
            if !self.void_pages.is_empty() && self.is_void(request, lpn) {
                continue;
            }
            let written = if self.state.rain.is_some() { self.sectors_written(lpn, mask(first, count)) } else { mask(first, count) };
            let inserted = self.state.buffer.insert(lpn, written);
            let entry = match inserted {
                Insert::Full if self.state.rain.is_some() => {
                    let last = ((command.sector + u64::from(command.sectors) - 1) >> self.state.sector_shift) as Lpn;
                    self.flush_stripes(last - lpn + 1);
                    return Some(lpn);
                }
                Insert::Full => {
                    let last = ((command.sector + u64::from(command.sectors) - 1) >> self.state.sector_shift) as Lpn;
                    while let Some(entry) = self.state.buffer.next_foreground_flush(last - lpn + 1) {
                        self.flush(entry);
                    }
                    return Some(lpn);
                }
                Insert::Added(entry) => entry,
                Insert::Merged(entry) => {
                    self.state.counters.merged += 1;
                    entry
                }
            };
            if let Some(oracle) = &mut self.oracle {
                let token = oracle.next_token();
                oracle.expect(lpn, first.into(), count.into(), token);
                if written != mask(first, count) {
                    oracle.zeroed(entry);
                }
                oracle.buffered(entry, first.into(), count.into(), token);
            }
            if let Some(rain) = &mut self.state.rain {
                rain.set_trimmed(lpn, false);
                self.page_written(lpn);
            } else {
                self.flush_above_threshold();
            }
        }
        if !self.void_pages.is_empty() {
            self.forget_void_pages(request);
        }
        self.serve_from_ram(request);
        None
    }

    /// The RAM has served a request but for its own latency.
    pub(super) fn serve_from_ram(&mut self, request: u32) {
        let at = self.state.now + self.state.device.timing.ram_ns;
        if self.ram_line.is_empty() {
            self.queue.schedule(self.ram_slot(), at);
        }
        self.ram_line.push_back((at, request));
    }

    pub(super) fn ram_slot(&self) -> usize {
        self.state.dies.len() + self.state.channels.len()
    }

    pub(super) fn ram_event(&mut self) {
        let now = self.state.now;
        while let Some(&(at, request)) = self.ram_line.front() {
            if at > now {
                self.queue.schedule(self.ram_slot(), at);
                return;
            }
            self.ram_line.pop_front();
            let ram_ns = self.state.device.timing.ram_ns;
            let Request { command, accepted, link_wait_ns, link_ns, .. } = self.state.requests[request as usize];
            if self.path.has_link && command.kind == CommandKind::Read {
                self.pages_left_ram(request);
                continue;
            }
            self.path_blame.add(BUFFER, ram_ns);
            let in_device = accepted + self.path.overhead_ns + link_wait_ns + link_ns;
            self.path_blame.add(BUFFER_FULL, now - ram_ns - in_device);
            if O::TOLD {
                self.path_blame.tell(in_device, now - ram_ns, NONE, Passing::Own(BUFFER_FULL as u8));
                self.path_blame.tell(now - ram_ns, now, NONE, Passing::Own(BUFFER as u8));
            }
            self.complete(request, None);
        }
    }

    /// Flushes the pages written longest ago while the buffer holds more than its threshold.
    pub(super) fn flush_above_threshold(&mut self) {
        while let Some(entry) = self.state.buffer.next_flush() {
            self.flushes_fetched = match self.flushes_fetched.checked_sub(1) {
                Some(left) => left,
                None => {
                    // The pages that are flushed next have their map entries near by then.
                    self.state.buffer.oldest_lpns(FETCHED_AT_ONCE).for_each(|lpn| self.state.books.prefetch(lpn));
                    FETCHED_AT_ONCE as u32 - 1
                }
            };
            self.flush(entry);
        }
    }

    pub(super) fn flush(&mut self, entry: u32) {
        let flushed = *self.state.buffer.entry(entry);
        let lpn = flushed.lpn;
        let plane = self.place(lpn);
        let per_page = self.state.device.geometry.sectors_per_page() as u16;
        let content = self.oracle.as_mut().map(|oracle| oracle.flush(entry, flushed.flight));
        let mut program = Op::new(OpKind::Program, Class::Flush, Occupant::Flush, Owner::Entry(entry), lpn, plane);
        program.sectors = per_page as u8;
        let program = self.state.new_op(program);
        self.state.buffer.set_program(entry, program);
        if let (Some(oracle), Some(content)) = (&mut self.oracle, content) {
            oracle.carry(program, content);
        }
        let partial = flushed.flight != mask(0, per_page);
        if partial && self.state.books.lookup(lpn) != NONE {
            self.read_then_program(Owner::Entry(entry), lpn, flushed.flight, program);
        } else {
            self.enqueue(program);
        }
    }

    /// The plane that a page goes to, booked as bound for it.
    fn place(&mut self, lpn: Lpn) -> PlaneIx {
        if self.state.traits.late {
            // It has none before it is programmed.
            return NONE;
        }
        let plane = self.policies.place.plane(View(&self.state), lpn);
        if let Some(bound) = self.state.bound.get_mut(plane as usize) {
            *bound += 1;
        }
        plane
    }

    /// A read-modify-write: reads the sectors of a page that `have` lacks, then programs the whole page.
    pub(super) fn read_then_program(&mut self, owner: Owner, lpn: Lpn, have: u64, program: u32) {
        self.state.counters.read_modify_writes += 1;
        let per_page = self.state.device.geometry.sectors_per_page() as u16;
        let missing = mask(0, per_page) & !have;
        // What crosses the channel is one contiguous piece: from the first missing sector to the last.
        let first = missing.trailing_zeros() as u16;
        let count = 64 - missing.leading_zeros() as u16 - first;
        let plane = self.plane_of_page(self.state.books.lookup(lpn));
        let mut read = Op::new(OpKind::Read, Class::AuxiliaryRead, Occupant::ReadModifyWrite, owner, lpn, plane);
        read.first_sector = first as u8;
        read.sectors = count as u8;
        let read = self.state.new_op(read);
        self.start_job(owner, &[Stage { first: read, compute_ns: 0 }, Stage { first: program, compute_ns: 0 }]);
    }

    pub(super) fn accept_direct_write(&mut self, request: u32, command: &Command) {
        let pages: u32 = self.pages(command).count() as u32;
        self.state.requests[request as usize].pending = pages;
        for (lpn, first_sector, sectors) in self.pages(command) {
            self.direct_write(request, lpn, first_sector, sectors);
        }
    }

    /// A page of a write goes to the flash, behind earlier writes of the same page.
    pub(super) fn direct_write(&mut self, request: u32, lpn: Lpn, first_sector: u16, sectors: u16) {
        let write = DirectWrite { request, first_sector, sectors, since: self.state.now, void: false, gc_blocked: false };
        match self.writing.get_mut(&lpn) {
            Some(line) => line.push_back(write),
            None => {
                self.writing.insert(lpn, VecDeque::new());
                self.start_direct_write(lpn, write);
            }
        }
    }

    pub(super) fn start_direct_write(&mut self, lpn: Lpn, write: DirectWrite) {
        let DirectWrite { request, first_sector, sectors, void, gc_blocked, .. } = write;
        let plane = self.place(lpn);
        let per_page = self.state.device.geometry.sectors_per_page() as u16;
        let mut program = Op::new(OpKind::Program, Class::HostProgram, Occupant::HostProgram, Owner::Request(request), lpn, plane);
        program.sectors = per_page as u8;
        program.bill |= CRITICAL * u8::from(self.state.requests[request as usize].command.critical);
        program.gc_blocked = gc_blocked;
        if void {
            program.give_up();
        }
        let program = self.state.new_op(program);
        if let Some(oracle) = &mut self.oracle {
            oracle.promise(program, first_sector.into(), sectors.into());
        }
        if sectors != per_page && self.state.books.lookup(lpn) != NONE {
            self.read_then_program(Owner::Request(request), lpn, mask(first_sector, sectors), program);
        } else {
            self.enqueue(program);
        }
    }

    /// A direct write is on the flash: the next one of the same page may start.
    pub(super) fn direct_write_done(&mut self, lpn: Lpn) {
        if let Some(line) = self.writing.get_mut(&lpn) {
            match line.pop_front() {
                Some(next) => self.start_direct_write(lpn, next),
                None => {
                    self.writing.remove(&lpn);
                }
            }
        }
    }

    /// A GC has made an operation wait until now: so it has the writes that stand behind it in the order of its page.
    #[inline(never)]
    pub(crate) fn block_by_gc(&mut self, op: u32) {
        let now = self.state.now;
        let entry = &mut self.state.ops[op as usize];
        entry.gc_blocked = true;
        if matches!(entry.class, Class::HostProgram | Class::AuxiliaryRead)
            && let Some(line) = self.writing.get_mut(&entry.lpn)
        {
            line.iter_mut().filter(|write| write.since < now).for_each(|write| write.gc_blocked = true);
        }
    }

    /// Checks a read at the moment at which it is bound to its physical page.
    pub(crate) fn check_read(&mut self, op: u32, ppn: Option<Ppn>) {
        let Some(oracle) = &mut self.oracle else { return };
        let entry = self.state.ops[op as usize];
        if let Some(ppn) = ppn.filter(|&ppn| self.state.books.owner(ppn) != entry.lpn) {
            oracle.fail(format!(
                "logical page {} maps to physical page {ppn}, which was written for {}",
                entry.lpn,
                self.state.books.owner(ppn)
            ));
            return;
        }
        match entry.class {
            Class::HostRead if entry.occupant == Occupant::Reconstruction => {
                if let Some(ppn) = ppn {
                    oracle.read_flash(op, ppn, false);
                }
            }
            Class::HostRead => {
                // A page that the host has given up reads as zeroes, though its stripe's parity may still need it.
                let trimmed = self.state.rain.as_ref().is_some_and(|rain| rain.is_trimmed(entry.lpn));
                let wanted = ppn.filter(|_| !trimmed);
                let in_ram = self.state.buffer.find(entry.lpn).map_or(0, |(_, present)| present);
                oracle.check_flash(op, entry.lpn, wanted, entry.first_sector.into(), entry.sectors.into(), in_ram);
                if let (Some(ppn), Owner::Job(_)) = (ppn, entry.owner) {
                    oracle.read_flash(op, ppn, false);
                }
            }
            _ => match ppn {
                Some(ppn) => oracle.read_flash(op, ppn, false),
                None => oracle.read_nothing(op),
            },
        }
    }

    /// An operation completed: its effects are booked, and whoever waits for it hears of it.
    pub(crate) fn op_done(&mut self, op: u32) {
        if self.state.errors.is_some() && self.state.ops[op as usize].kind == OpKind::Read && self.pass_ecc(op) {
            return;
        }
        let entry = &self.state.ops[op as usize];
        let (owner, kind, class, plane, lpn, host) = (entry.owner, entry.kind, entry.class, entry.plane, entry.lpn, entry.is_host());
        let mut left = NONE;
        if host {
            // Of a request's pages only the last to complete explains its latency, and of a job's those of each stage.
            let explains = match owner {
                Owner::Request(request) => self.state.requests[request as usize].pending == 1,
                Owner::Job(job) => self.state.jobs[job as usize].pending == 1,
                _ => false,
            };
            if explains && self.state.ops[op as usize].is_billed() {
                self.bill_service(op);
            }
            if kind == OpKind::Program {
                left = self.programmed(op);
                if self.state.traits.gc_ideal {
                    // Before another program starts in the plane.
                    self.consider_gc(plane);
                }
            }
        }
        let kept = match owner {
            Owner::Gc(plane) => {
                self.gc_op_done(plane, op);
                false
            }
            Owner::Job(job) => {
                self.job_op_done(job, op);
                false
            }
            owner => self.notify(owner, Some(op), self.state.ops[op as usize].gc_blocked),
        };
        if !kept {
            self.state.ops.remove(op);
        }
        if host {
            self.state.counters.host_operations += 1;
            if kind == OpKind::Program {
                if class == Class::HostProgram {
                    self.direct_write_done(lpn);
                }
                self.consider_gc(plane);
                if left != NONE {
                    // A page died there, which may be what its GC lacked.
                    self.consider_gc(left);
                }
            }
            self.leave_channel(plane);
        }
    }

    /// An operation of the host's in a plane has ended: its channel may have fallen quiet.
    #[inline(always)]
    fn leave_channel(&mut self, plane: PlaneIx) {
        let channel = self.state.channel_of(self.state.die_of(plane));
        let state = &mut self.state.channels[channel];
        state.host_operations -= 1;
        if state.host_operations == 0 && state.gated > 0 {
            self.ask_gates(Some(channel));
        }
    }

    /// A read of the host's has ended for which others go on.
    pub(super) fn host_operation_ended(&mut self, plane: PlaneIx) {
        self.state.counters.host_operations += 1;
        self.leave_channel(plane);
    }

    /// Books a completed program of the host's or the buffer's. Returns the plane of the copy before, if that is another one.
    pub(super) fn programmed(&mut self, op: u32) -> PlaneIx {
        let entry = &self.state.ops[op as usize];
        let mut left = NONE;
        if entry.class == Class::HostProgram {
            self.programmed_last = entry.lpn;
        }
        if self.state.traits.measures {
            self.note_work(op);
        }
        let entry = &self.state.ops[op as usize];
        if let Some(bound) = self.state.bound.get_mut(entry.plane as usize) {
            *bound -= 1;
            let entry = &self.state.ops[op as usize];
            let old = self.state.books.lookup(entry.lpn);
            if old != NONE && self.state.books.plane_of(old) != entry.plane {
                left = self.state.books.plane_of(old);
                self.state.counters.host_pages_elsewhere += 1;
            }
        }
        let entry = &self.state.ops[op as usize];
        if entry.is_void() {
            self.programmed_in_vain(op);
            return NONE;
        }
        self.state.books.commit_write(entry.lpn, entry.target);
        if entry.occupant == Occupant::Parity {
            self.state.counters.parity_pages += 1;
        } else {
            self.state.counters.host_pages += 1;
        }
        if let Some(oracle) = &mut self.oracle {
            oracle.program(op, entry.target);
            if entry.class == Class::HostProgram {
                oracle.fulfil(op, entry.lpn);
            }
        }
        left
    }

    /// Tells an owner that an operation is done, or, without one, a job whose blame is in `path_blame`. `gc_blocked`: some
    /// operation of it waited for what a GC held. Returns whether the operation is still needed, for its blame.
    pub(crate) fn notify(&mut self, owner: Owner, op: Option<u32>, gc_blocked: bool) -> bool {
        match owner {
            Owner::Request(request) => {
                let state = &mut self.state.requests[request as usize];
                state.gc_blocked |= gc_blocked;
                state.pending -= 1;
                let last = state.pending == 0;
                if self.path.has_link && state.command.kind == CommandKind::Read {
                    return self.page_left_flash(request, op);
                }
                if last {
                    self.complete(request, op);
                }
            }
            Owner::Entry(entry) => {
                self.state.counters.flushed += 1;
                self.state.buffer.flushed(entry);
                self.flush_above_threshold();
            }
            Owner::Batch(batch) => self.batch_op_done(batch, op.expect("a batch hears of operations")),
            Owner::Rebuild(rebuild) => self.rebuild_done(rebuild, gc_blocked),
            Owner::Scrub(die) => self.scrub_op_done(die, op.expect("a scrubber hears of operations")),
            Owner::Mover => self.mover_op_done(op.expect("a mover hears of operations")),
            Owner::Gc(_) | Owner::Job(_) => unreachable!("GC and jobs hear of operations themselves"),
        }
        false
    }

    /// A request is complete; the blame of its last operation, or `path_blame`, covers it from the moment at which the device
    /// took it.
    pub(super) fn complete(&mut self, request: u32, op: Option<u32>) {
        let Request { id, asked, arrived, accepted, slot_mix, command, .. } = self.state.requests[request as usize];
        let Request { gc_blocked, reconstructed, gc_waits, gc_waits_forced, gc_wait_since, .. } = self.state.requests[request as usize];
        let completed = self.state.now;
        if self.observer.wants_look(completed) {
            self.observer.look(View(&self.state));
        }
        let takes_time = self.path.takes_time();
        let (link_wait_ns, link_ns) = if takes_time { self.link_times(&self.state.requests[request as usize]) } else { (0, 0) };
        let blame = match op {
            Some(op) => self.state.latencies.blame_mut(op),
            None => &mut self.path_blame,
        };
        if takes_time {
            blame.add(OVERHEAD, self.path.overhead_ns);
            blame.add(LINK_WAIT, link_wait_ns);
            blame.add(LINK, link_ns);
        }
        if command.kind == CommandKind::Write && !self.state.buffer.exists() {
            // What is left was spent behind an earlier write of the same page.
            let rest = (completed - accepted).saturating_sub(blame.total());
            blame.add(DIE + Occupant::HostProgram as usize, rest);
        }
        if self.state.host.waiting() > 0 {
            self.state.host.waits.completed(command.kind, blame);
        }
        let waits = &self.state.host.waits;
        let in_host = (slot_mix != NONE).then(|| (waits.get(slot_mix), accepted - arrived));
        if O::TOLD {
            if let Some((mix, wait)) = in_host {
                tell_slot_wait(blame, arrived, mix.divide(wait));
            }
            tell_ends(blame, (arrived, accepted, completed), (self.path.overhead_ns, link_wait_ns, link_ns), command.kind);
        }
        let completion = Completion {
            id,
            kind: command.kind,
            sector: command.sector,
            sectors: command.sectors,
            asked,
            arrived,
            completed,
            gc_blocked,
            reconstructed,
            gc_waits,
            gc_waits_forced,
            gc_wait_since,
            host_queue_ns: accepted - arrived,
        };
        let attribution = Attribution::new(blame, in_host);
        crate::check!(attribution.total() == completed - arrived, "attribution adds up: {attribution:?}");
        self.observer.completed(&completion, attribution);
        if slot_mix != NONE {
            self.state.host.waits.release(slot_mix);
        }
        self.path_blame.clear();
        self.completions.push(completion);
        self.state.counters.completed += 1;
        self.state.counters.deadlines_missed += u64::from(completed - arrived > self.state.traits.deadline_ns);
        self.state.requests.remove(request);
        self.state.host.completed(command.kind);
    }
}
