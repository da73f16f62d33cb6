//! The drive: `submit` a command, ask for the `next_event`, `step` to it, take the completions.
//!
//! It owns no clock: the simulator drives it in virtual time, an emulator may drive the same type in wall-clock time.

use crate::config::ConfigError;
use crate::design::Design;
use crate::device::Device;
use crate::event::{EventQueue, Tournament};
use crate::ftl::Books;
use crate::host::{Command, CommandKind};
use crate::host_queue::Queued;
use crate::ids::{BlockIx, DieIx, Lpn, NONE, PlaneIx, Ppn};
use crate::observe::{BUFFER, BUFFER_FULL, Blame, Blind, Completion, DIE, HOST_QUEUE, Observer, Occupant};
use crate::oracle::{Fault, Oracle};
use crate::policy::Place;
use crate::ram::{Insert, WaitingWrite};
use crate::sched::jobs::Stage;
use crate::sched::ops::{Class, Op, OpKind, Owner};
use crate::state::{Counters, Request, State};
use crate::units::Ns;
use crate::view::{Candidate, View};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use thiserror::Error;

/// Something to be done at a time that belongs to no resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A job has computed.
    JobStage(u32),
    /// A gate wants to be asked again for a plane.
    Gate(PlaneIx),
}

/// Why a command was refused.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum SubmitError {
    /// It reaches beyond the drive.
    #[error("sectors {first} to {last} reach beyond the drive, whose last sector is {drive_last}")]
    BeyondDrive {
        /// First sector asked for.
        first: u64,
        /// Last sector asked for.
        last: u64,
        /// Last sector of the drive.
        drive_last: u64,
    },
    /// It has no sectors.
    #[error("a command of no sectors")]
    Empty,
}

/// A drive of one design on one device.
pub struct Drive<O: Observer = Blind, Q: EventQueue = Tournament> {
    pub(crate) state: State,
    pub(crate) policies: Design,
    pub(crate) queue: Q,
    pub(crate) oracle: Option<Box<Oracle>>,
    observer: O,
    timers: BinaryHeap<Reverse<(Ns, u64, Timer)>>,
    timer_count: u64,
    /// Requests that the RAM serves, in order of completion.
    ram_line: VecDeque<(Ns, u32)>,
    completions: Vec<Completion>,
    next_id: u64,
    hash: u64,
    /// Logical pages with a direct write under way, and the writes that wait for it. Only without buffer.
    writing: HashMap<Lpn, VecDeque<DirectWrite>>,
    /// Scratch lists, kept so that nothing is allocated per request.
    pub(crate) candidates: Vec<BlockIx>,
    pub(crate) die_candidates: Vec<Candidate>,
    pub(crate) lining_up: Vec<(u64, DieIx)>,
    pub(crate) woken: Vec<u32>,
    pub(crate) line_candidates: Vec<Candidate>,
    pub(crate) line_places: Vec<usize>,
    /// The blame of a request that no single operation completes.
    pub(crate) path_blame: Blame,
}

/// A page write without buffer that waits for an earlier one of the same page.
#[derive(Clone, Copy, Debug)]
struct DirectWrite {
    request: u32,
    first_sector: u16,
    sectors: u16,
}

impl<O: Observer> Drive<O> {
    /// An erased drive.
    ///
    /// # Errors
    /// Parameters of the design that contradict each other or the device.
    pub fn new(device: &Device, design: Design, verify: bool, observer: O) -> Result<Self, ConfigError> {
        Self::with_queue(device, design, verify, observer)
    }
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// An erased drive with a given kind of event queue.
    ///
    /// # Errors
    /// As for `new`.
    pub fn with_queue(device: &Device, mut design: Design, verify: bool, observer: O) -> Result<Self, ConfigError> {
        design.prepare(device)?;
        let gc = &design.gc;
        check_memory(device, gc.page_sequence, verify)?;
        let books = Books::new(&device.geometry, device.logical_pages(), gc.write_points, gc.reserve_blocks, gc.page_sequence);
        let state = State::new(device, books, gc.copies_through_controller(), gc.ideal);
        let slots = state.dies.len() + state.channels.len() + 2;
        Ok(Self {
            state,
            policies: design,
            queue: Q::with_slots(slots),
            oracle: verify.then(|| Box::new(Oracle::new(device))),
            observer,
            timers: BinaryHeap::new(),
            timer_count: 0,
            ram_line: VecDeque::new(),
            completions: Vec::new(),
            next_id: 0,
            hash: 0xcbf2_9ce4_8422_2325,
            writing: HashMap::new(),
            candidates: Vec::new(),
            die_candidates: Vec::new(),
            lining_up: Vec::new(),
            woken: Vec::new(),
            line_candidates: Vec::new(),
            line_places: Vec::new(),
            path_blame: Blame::default(),
        })
    }

    /// The drive's time: that of the last event or submission.
    pub fn now(&self) -> Ns {
        self.state.now
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to be changed.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Read-only access to everything, as policies have it.
    pub fn view(&self) -> View<'_> {
        View(&self.state)
    }

    /// How often things happened.
    pub fn counters(&self) -> &Counters {
        &self.state.counters
    }

    /// Starts counting anew, as after warming up.
    pub fn reset_counters(&mut self) {
        self.state.counters = Counters::default();
    }

    /// A hash of every event handled: equal hashes mean equal runs.
    pub fn event_hash(&self) -> u64 {
        self.hash
    }

    /// The design that drives it.
    pub fn design(&self) -> &Design {
        &self.policies
    }

    /// Reads and page reads that the oracle has checked; `None` without oracle.
    pub fn verified(&self) -> Option<u64> {
        self.oracle.as_ref().map(|oracle| oracle.checked)
    }

    /// The first read that returned the wrong data, if any did.
    pub fn mismatch(&self) -> Option<&str> {
        self.oracle.as_ref().and_then(|oracle| oracle.mismatch.as_deref())
    }

    /// Breaks something on purpose, for tests of the oracle.
    ///
    /// # Panics
    /// Without oracle.
    pub fn inject(&mut self, fault: Fault) {
        let oracle = self.oracle.as_mut().expect("faults are for drives with an oracle");
        match fault {
            Fault::Map { lpn, other } => self.state.books.break_map(lpn, other),
            Fault::GcCopy | Fault::Buffer => oracle.armed = Some(fault),
        }
    }

    /// Requests that have not completed.
    pub fn outstanding(&self) -> usize {
        self.state.outstanding()
    }

    /// What holds what, for a run in which requests stop completing.
    pub fn explain_standstill(&self) -> String {
        self.state.explain_standstill()
    }

    /// Brings near what a command will need first. A hint, to be given some requests ahead.
    #[inline]
    pub fn prefetch(&self, command: &Command) {
        self.state.books.prefetch((command.sector >> self.state.sector_shift) as Lpn);
    }

    /// Asks every plane whether it wants a GC, as a drive does when it starts to work in its starting state.
    pub fn wake(&mut self) {
        for plane in 0..self.state.device.geometry.planes() {
            self.consider_gc(plane);
        }
        self.pump();
    }

    /// Completed flash operations that the host waited for, and completed requests: a number that grows while a run gets on.
    pub fn progress(&self) -> u64 {
        self.state.counters.host_operations + self.state.counters.completed
    }

    /// Gives the drive a command at time `now`. Events up to then are handled first; a time in the drive's past is clamped to
    /// its own, and the completion carries both. Returns the number that the completion will carry.
    ///
    /// # Errors
    /// A command of no sectors or beyond the drive.
    pub fn submit(&mut self, now: Ns, command: Command) -> Result<u64, SubmitError> {
        if command.sectors == 0 {
            return Err(SubmitError::Empty);
        }
        let drive = u64::from(self.state.books.logical_pages()) << self.state.sector_shift;
        let last = command.sector.saturating_add(u64::from(command.sectors) - 1);
        if last >= drive {
            return Err(SubmitError::BeyondDrive { first: command.sector, last, drive_last: drive - 1 });
        }
        self.advance(now);
        let id = self.next_id;
        self.next_id += 1;
        let queued = Queued { id, asked: now, arrived: self.state.now, command };
        if self.state.host.take_directly(command.kind) {
            self.accept(queued);
        } else {
            self.state.host.push(queued);
        }
        self.pump();
        Ok(id)
    }

    /// When something happens next by itself.
    pub fn next_event(&mut self) -> Option<Ns> {
        self.queue.next_time()
    }

    /// Handles the next event. Returns whether there was one.
    pub fn step(&mut self) -> bool {
        let Some((at, slot)) = self.queue.pop() else { return false };
        crate::check!(at >= self.state.now, "time goes forward");
        self.state.now = at;
        let dies = self.state.dies.len();
        let channels = self.state.channels.len();
        let mattered = if slot < dies {
            self.die_event(slot as DieIx)
        } else if slot < dies + channels {
            self.serve_channel(slot - dies);
            true
        } else if slot == dies + channels {
            self.ram_event();
            true
        } else {
            self.timer_event()
        };
        if mattered {
            self.state.counters.events += 1;
            self.hash = (self.hash ^ (at << 13 | slot as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        self.pump();
        true
    }

    /// Handles every event up to and including `now`.
    pub fn advance(&mut self, now: Ns) {
        while self.queue.next_time().is_some_and(|next| next <= now) {
            self.step();
        }
        self.state.now = self.state.now.max(now);
    }

    /// Whether requests completed since the last call of `take_completions`.
    #[inline]
    pub fn has_completions(&self) -> bool {
        !self.completions.is_empty()
    }

    /// The requests completed since the last call, in order.
    #[inline]
    pub fn take_completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.completions);
    }

    pub(crate) fn set_timer(&mut self, at: Ns, timer: Timer) {
        self.timer_count += 1;
        self.timers.push(Reverse((at.max(self.state.now), self.timer_count, timer)));
        self.schedule_timers();
    }

    fn schedule_timers(&mut self) {
        let slot = self.state.dies.len() + self.state.channels.len() + 1;
        if let Some(Reverse((at, ..))) = self.timers.peek() {
            self.queue.schedule(slot, *at);
        }
    }

    /// One timer. Returns whether it still mattered.
    fn timer_event(&mut self) -> bool {
        let Some(Reverse((_, _, timer))) = self.timers.pop() else { return false };
        self.schedule_timers();
        match timer {
            Timer::JobStage(job) => {
                self.continue_job(job);
                true
            }
            Timer::Gate(plane) => self.gate_timer(plane),
        }
    }

    /// Lets in what waits for the buffer and for the device queue, as far as there is room.
    #[inline]
    fn pump(&mut self) {
        if !self.state.buffer.waiting.is_empty() || self.state.host.waiting() > 0 {
            self.let_in();
        }
    }

    fn let_in(&mut self) {
        while let Some(write) = self.state.buffer.waiting.front().copied() {
            if let Some(next_lpn) = self.insert_pages(write.request, write.next_lpn) {
                self.state.buffer.waiting[0].next_lpn = next_lpn;
                break;
            }
            self.state.buffer.waiting.pop_front();
        }
        while let Some(queued) = self.state.host.take() {
            self.accept(queued);
        }
    }

    /// The device takes a command.
    fn accept(&mut self, queued: Queued) {
        let Queued { id, asked, arrived, command } = queued;
        let now = self.state.now;
        let request = self.state.requests.insert(Request { id, asked, arrived, accepted: now, command, pending: 0, gc_blocked: false });
        match command.kind {
            CommandKind::Read => self.accept_read(request, &command),
            CommandKind::Write => self.accept_write(request, &command),
        }
    }

    /// The pages of a command, each with its first sector and number of sectors.
    fn pages(&self, command: &Command) -> impl Iterator<Item = (Lpn, u16, u16)> + use<O, Q> {
        let shift = self.state.sector_shift;
        let end = command.sector + u64::from(command.sectors);
        let first = command.sector;
        (first >> shift..((end - 1) >> shift) + 1).map(move |lpn| {
            let from = first.max(lpn << shift);
            let to = end.min((lpn + 1) << shift);
            (lpn as Lpn, (from - (lpn << shift)) as u16, (to - from) as u16)
        })
    }

    fn accept_read(&mut self, request: u32, command: &Command) {
        let mut from_ram = false;
        let mut first_op = NONE;
        let mut last_op = NONE;
        for (lpn, first, count) in self.pages(command) {
            let mask = mask(first, count);
            let buffered = if self.state.buffer.exists() { self.state.buffer.find(lpn) } else { None };
            let in_ram = buffered.map_or(0, |(_, present)| present & mask);
            if let Some((entry, _)) = buffered
                && in_ram == mask
            {
                self.state.counters.buffer_hits += 1;
                from_ram = true;
                if let Some(oracle) = &mut self.oracle {
                    oracle.check_buffer(entry, lpn, self.state.buffer.entry(entry).dirty, first.into(), count.into());
                }
                continue;
            }
            let ppn = self.state.books.lookup(lpn);
            if ppn == NONE {
                self.state.counters.unmapped_reads += 1;
                from_ram |= in_ram != 0;
                if let Some(oracle) = &mut self.oracle {
                    oracle.check_unmapped(lpn, first.into(), count.into(), in_ram);
                }
                continue;
            }
            let plane = self.plane_of_page(ppn);
            let mut op = Op::new(OpKind::Read, Class::HostRead, Occupant::HostRead, Owner::Request(request), lpn, plane);
            op.first_sector = first;
            op.sectors = count;
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
        if first_op == NONE {
            if from_ram {
                return self.serve_from_ram(request);
            }
            return self.complete(request, None);
        }
        let mut op = first_op;
        while op != NONE {
            let next = self.state.ops[op as usize].next;
            self.enqueue(op);
            op = next;
        }
    }

    fn plane_of_page(&self, ppn: Ppn) -> PlaneIx {
        self.state.books.plane_of(ppn)
    }

    fn accept_write(&mut self, request: u32, command: &Command) {
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

    /// Puts the pages of a write from `from` on into the buffer. Returns the first page that found no room.
    fn insert_pages(&mut self, request: u32, from: Lpn) -> Option<Lpn> {
        let command = self.state.requests[request as usize].command;
        for (lpn, first, count) in self.pages(&command).filter(|&(lpn, ..)| lpn >= from) {
            let inserted = self.state.buffer.insert(lpn, mask(first, count));
            let entry = match inserted {
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
                oracle.buffered(entry, first.into(), count.into(), token);
            }
            self.flush_above_threshold();
        }
        self.serve_from_ram(request);
        None
    }

    /// The RAM has served a request but for its own latency.
    fn serve_from_ram(&mut self, request: u32) {
        let at = self.state.now + self.state.device.timing.ram_ns;
        if self.ram_line.is_empty() {
            self.queue.schedule(self.ram_slot(), at);
        }
        self.ram_line.push_back((at, request));
    }

    fn ram_slot(&self) -> usize {
        self.state.dies.len() + self.state.channels.len()
    }

    fn ram_event(&mut self) {
        let now = self.state.now;
        while let Some(&(at, request)) = self.ram_line.front() {
            if at > now {
                self.queue.schedule(self.ram_slot(), at);
                return;
            }
            self.ram_line.pop_front();
            let ram_ns = self.state.device.timing.ram_ns;
            let accepted = self.state.requests[request as usize].accepted;
            self.path_blame.add(BUFFER, ram_ns);
            self.path_blame.add(BUFFER_FULL, now - ram_ns - accepted);
            self.complete(request, None);
        }
    }

    /// Flushes the pages written longest ago while the buffer holds more than its threshold.
    fn flush_above_threshold(&mut self) {
        while let Some(entry) = self.state.buffer.next_flush() {
            if let Some(next) = self.state.buffer.oldest_lpn() {
                // The page that is flushed next has its map entry near by then.
                self.state.books.prefetch(next);
            }
            self.flush(entry);
        }
    }

    fn flush(&mut self, entry: u32) {
        let flushed = *self.state.buffer.entry(entry);
        let lpn = flushed.lpn;
        let plane = self.policies.place.plane(lpn);
        let per_page = self.state.device.geometry.sectors_per_page() as u16;
        let content = self.oracle.as_mut().map(|oracle| oracle.flush(entry, flushed.flight));
        let mut program = Op::new(OpKind::Program, Class::Flush, Occupant::Flush, Owner::Entry(entry), lpn, plane);
        program.sectors = per_page;
        let program = self.state.new_op(program);
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

    /// A read-modify-write: reads the sectors of a page that `have` lacks, then programs the whole page.
    fn read_then_program(&mut self, owner: Owner, lpn: Lpn, have: u64, program: u32) {
        self.state.counters.read_modify_writes += 1;
        let per_page = self.state.device.geometry.sectors_per_page() as u16;
        let missing = mask(0, per_page) & !have;
        // What crosses the channel is one contiguous piece: from the first missing sector to the last.
        let first = missing.trailing_zeros() as u16;
        let count = 64 - missing.leading_zeros() as u16 - first;
        let plane = self.plane_of_page(self.state.books.lookup(lpn));
        let mut read = Op::new(OpKind::Read, Class::AuxiliaryRead, Occupant::ReadModifyWrite, owner, lpn, plane);
        read.first_sector = first;
        read.sectors = count;
        let read = self.state.new_op(read);
        self.start_job(owner, &[Stage { first: read, compute_ns: 0 }, Stage { first: program, compute_ns: 0 }]);
    }

    fn accept_direct_write(&mut self, request: u32, command: &Command) {
        let pages: u32 = self.pages(command).count() as u32;
        self.state.requests[request as usize].pending = pages;
        for (lpn, first_sector, sectors) in self.pages(command) {
            let write = DirectWrite { request, first_sector, sectors };
            match self.writing.get_mut(&lpn) {
                Some(line) => line.push_back(write),
                None => {
                    self.writing.insert(lpn, VecDeque::new());
                    self.start_direct_write(lpn, write);
                }
            }
        }
    }

    fn start_direct_write(&mut self, lpn: Lpn, write: DirectWrite) {
        let DirectWrite { request, first_sector, sectors } = write;
        let plane = self.policies.place.plane(lpn);
        let per_page = self.state.device.geometry.sectors_per_page() as u16;
        let mut program = Op::new(OpKind::Program, Class::HostProgram, Occupant::HostProgram, Owner::Request(request), lpn, plane);
        program.sectors = per_page;
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
    fn direct_write_done(&mut self, lpn: Lpn) {
        if let Some(line) = self.writing.get_mut(&lpn) {
            match line.pop_front() {
                Some(next) => self.start_direct_write(lpn, next),
                None => {
                    self.writing.remove(&lpn);
                }
            }
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
            Class::HostRead => {
                let in_ram = self.state.buffer.find(entry.lpn).map_or(0, |(_, present)| present);
                oracle.check_flash(op, entry.lpn, ppn, entry.first_sector.into(), entry.sectors.into(), in_ram);
            }
            _ => {
                if let Some(ppn) = ppn {
                    oracle.read_flash(op, ppn, false);
                }
            }
        }
    }

    /// An operation completed: its effects are booked, and whoever waits for it hears of it.
    pub(crate) fn op_done(&mut self, op: u32) {
        let entry = self.state.ops[op as usize];
        if entry.is_host() {
            // Of a request's pages only the last to complete explains its latency.
            let explains = !matches!(entry.owner, Owner::Request(request) if self.state.requests[request as usize].pending > 1);
            if explains {
                self.bill_service(op);
            }
            if entry.kind == OpKind::Program {
                self.programmed(op, &entry);
            }
        }
        match entry.owner {
            Owner::Gc(plane) => self.gc_op_done(plane, op),
            Owner::Job(job) => self.job_op_done(job, op),
            owner => self.notify(owner, Some(op), self.state.ops[op as usize].gc_blocked),
        }
        self.state.ops.remove(op);
        if entry.is_host() {
            self.state.counters.host_operations += 1;
            if entry.kind == OpKind::Program {
                if entry.class == Class::HostProgram {
                    self.direct_write_done(entry.lpn);
                }
                self.consider_gc(entry.plane);
            }
            let channel = self.state.channel_of(self.state.die_of(entry.plane));
            let state = &mut self.state.channels[channel];
            state.host_operations -= 1;
            if state.host_operations == 0 && state.gated > 0 {
                self.ask_gates(Some(channel));
            }
        }
    }

    /// Books a completed program of the host's or the buffer's.
    fn programmed(&mut self, op: u32, entry: &Op) {
        self.state.books.commit_write(entry.lpn, entry.target);
        self.state.counters.host_pages += 1;
        if let Some(oracle) = &mut self.oracle {
            oracle.program(op, entry.target);
            if entry.class == Class::HostProgram {
                oracle.fulfil(op, entry.lpn);
            }
        }
    }

    /// Tells an owner that an operation is done, or, without one, a job whose blame is in `path_blame`. `gc_blocked`: some
    /// operation of it waited for what a GC held.
    pub(crate) fn notify(&mut self, owner: Owner, op: Option<u32>, gc_blocked: bool) {
        match owner {
            Owner::Request(request) => {
                let state = &mut self.state.requests[request as usize];
                state.gc_blocked |= gc_blocked;
                state.pending -= 1;
                if state.pending == 0 {
                    self.complete(request, op);
                }
            }
            Owner::Entry(entry) => {
                self.state.counters.flushed += 1;
                self.state.buffer.flushed(entry);
                self.flush_above_threshold();
            }
            Owner::Gc(_) | Owner::Job(_) => unreachable!("GC and jobs hear of operations themselves"),
        }
    }

    /// A request is complete; the blame of its last operation, or `path_blame`, covers it from the moment at which the device
    /// took it.
    fn complete(&mut self, request: u32, op: Option<u32>) {
        let Request { id, asked, arrived, accepted, command, gc_blocked, .. } = self.state.requests[request as usize];
        let completed = self.state.now;
        let blame = match op {
            Some(op) => &mut self.state.blames[op as usize],
            None => &mut self.path_blame,
        };
        blame.add(HOST_QUEUE, accepted - arrived);
        if command.kind == CommandKind::Write && !self.state.buffer.exists() {
            // What is left was spent behind an earlier write of the same page.
            let rest = (completed - arrived).saturating_sub(blame.total());
            blame.add(DIE + Occupant::HostProgram as usize, rest);
        }
        crate::check!(blame.total() == completed - arrived, "blame adds up: {blame:?}");
        let completion = Completion { id, kind: command.kind, asked, arrived, completed, gc_blocked, queue_blocked: accepted > arrived };
        self.observer.completed(&completion, blame);
        self.path_blame.clear();
        self.completions.push(completion);
        self.state.counters.completed += 1;
        self.state.requests.remove(request);
        self.state.host.completed(command.kind);
    }
}

/// Refuses a drive whose books the process can't allocate, with a sentence instead of an abort.
fn check_memory(device: &Device, page_sequence: bool, verify: bool) -> Result<(), ConfigError> {
    let physical = device.geometry.physical_pages();
    let per_physical = 5 + if page_sequence { 8 } else { 0 } + if verify { 4 } else { 0 };
    let per_logical = 4 + if verify { 4 } else { 0 };
    let bytes = physical * per_physical + device.logical_pages() * per_logical;
    let mut probe: Vec<u8> = Vec::new();
    let fits = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    if !fits {
        return Err(ConfigError::new(format!(
            "{}: its {physical} pages need {} MiB of memory for map and validity, more than the system gives",
            device.name,
            bytes >> 20
        )));
    }
    Ok(())
}

/// The bits of `count` sectors from `first`.
pub(crate) fn mask(first: u16, count: u16) -> u64 {
    (u64::MAX >> (64 - count)) << first
}

#[cfg(test)]
impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Writes a page in the books and the oracle, without time.
    pub(crate) fn write_for_test(&mut self, lpn: Lpn) {
        let plane = self.policies.place.plane(lpn);
        let ppn = self.state.books.take(plane, 0, crate::ftl::Claimant::Gc).expect("room for a test page");
        self.state.books.commit_write(lpn, ppn);
        if let Some(oracle) = &mut self.oracle {
            oracle.aged(lpn, ppn);
        }
    }

    /// A request in the device that one job will complete.
    pub(crate) fn begin_request_for_test(&mut self, command: Command) -> u32 {
        let now = self.state.now;
        self.state.host.push(Queued { id: self.next_id, asked: now, arrived: now, command });
        self.state.host.take();
        self.next_id += 1;
        self.state.requests.insert(Request {
            id: self.next_id - 1,
            asked: now,
            arrived: now,
            accepted: now,
            command,
            pending: 1,
            gc_blocked: false,
        })
    }
}
