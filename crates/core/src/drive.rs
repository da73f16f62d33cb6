//! The drive: `submit` a command, ask for the `next_event`, `step` to it, take the completions.
//!
//! It owns no clock: the simulator drives it in virtual time, an emulator may drive the same type in wall-clock time.

use crate::config::ConfigError;
use crate::design::Design;
use crate::device::Device;
use crate::drive::link::HostPath;
use crate::drive::trim::VoidPages;
use crate::event::{EventQueue, Lanes};
use crate::ftl::Books;
use crate::ftl::rain::Stripes;
use crate::host::Command;
use crate::host_queue::Queued;
use crate::ids::{BlockIx, DieIx, Lpn, NONE, PlaneIx};
use crate::observe::{Blame, Blind, Completion, Observer, Occupant};
use crate::oracle::{Fault, Oracle};
use crate::policy::{GcTrigger, Opens, Place, Reach, ReadPlan, WearLevel};
use crate::rain::{Rain, Violation};
use crate::sched::fused::Partners;
use crate::sched::gather::GcGather;
use crate::sched::late::Late;
use crate::sched::registers::Registers;
use crate::state::{Counters, State};
use crate::units::Ns;
use crate::view::{Candidate, View};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use thiserror::Error;

pub(crate) mod batches;
pub(crate) mod levelling;
mod link;
pub mod power;
mod reconstruction;
pub(crate) mod requests;
pub(crate) mod scrub;
mod trim;

/// Event slots that belong to no die and no channel: the RAM, the earliest timer, the fixed time of commands, and the two
/// directions of the link.
pub(crate) const EXTRA_SLOTS: u32 = 5;

/// Something to be done at a time that belongs to no resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A job has computed.
    JobStage(u32),
    /// The new parity of a stripe is computed.
    Parity(u32),
    /// A gate wants to be asked again for a plane.
    Gate(PlaneIx),
    /// The programs of a die have waited long enough for those of its other planes.
    Gather(DieIx),
    /// The pause of a die's scrubber is over.
    Scrub(DieIx),
    /// The same for the programs of its GCs.
    GatherGc(DieIx),
    /// The patience of the move that began at this time is over.
    Move(Ns),
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
pub struct Drive<O: Observer = Blind, Q: EventQueue = Lanes> {
    pub(crate) state: State,
    pub(crate) policies: Design,
    pub(crate) queue: Q,
    pub(crate) oracle: Option<Box<Oracle>>,
    pub(crate) observer: O,
    timers: BinaryHeap<Reverse<(Ns, u64, Timer)>>,
    timer_count: u64,
    path: HostPath,
    /// Requests that the RAM serves, in order of completion.
    ram_line: VecDeque<(Ns, u32)>,
    completions: Vec<Completion>,
    next_id: u64,
    hash: u64,
    /// Logical pages with a direct write under way, and the writes that wait for it. Only without buffer.
    writing: HashMap<Lpn, VecDeque<DirectWrite>>,
    /// The page of the direct write that was programmed last.
    programmed_last: Lpn,
    /// Pages of waiting writes that were given up. Only with a buffer.
    void_pages: Vec<VoidPages>,
    /// Coming flushes whose map entries have been fetched.
    flushes_fetched: u32,
    /// Scratch lists, kept so that nothing is allocated per request.
    pub(crate) candidates: Vec<BlockIx>,
    pub(crate) die_candidates: Vec<Candidate>,
    pub(crate) lining_up: Vec<(u64, DieIx)>,
    pub(crate) woken: Vec<u32>,
    pub(crate) line_candidates: Vec<Candidate>,
    pub(crate) line_places: Vec<usize>,
    pub(crate) partners: Partners,
    /// The blame of a request that no single operation completes.
    pub(crate) path_blame: Blame,
    /// One bit for each occupant that takes no time.
    pub(crate) free: u32,
}

/// A page write without buffer that waits for an earlier one of the same page.
#[derive(Clone, Copy, Debug)]
struct DirectWrite {
    request: u32,
    first_sector: u16,
    sectors: u16,
    /// Since when.
    since: Ns,
    /// The host has given the page up since.
    void: bool,
    /// That one waited for a GC meanwhile.
    gc_blocked: bool,
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
        let stripes = design.place.stripes();
        let pages = pages_of_books(device, &mut design, stripes.as_ref());
        let gc = &design.gc;
        check_memory(device, pages, gc.page_sequence, verify)?;
        let mut books = Books::new(&device.geometry, pages, gc.write_points, gc.reserve_blocks, gc.page_sequence);
        if design.place.reach() != Reach::Plane {
            books.count_live();
        }
        let oracle = verify.then(|| Box::new(Oracle::new(device, stripes.as_ref())));
        let state = state_at_rest(device, &mut design, books, stripes, 0);
        let slots = state.dies.len() + state.channels.len() + EXTRA_SLOTS as usize + state.registers.len();
        let mut drive = Self {
            state,
            policies: design,
            queue: Q::with_slots(slots),
            oracle,
            observer,
            timers: BinaryHeap::new(),
            timer_count: 0,
            path: HostPath::new(device),
            ram_line: VecDeque::new(),
            completions: Vec::new(),
            next_id: 0,
            hash: 0xcbf2_9ce4_8422_2325,
            writing: HashMap::new(),
            programmed_last: NONE,
            void_pages: Vec::new(),
            flushes_fetched: 0,
            candidates: Vec::new(),
            die_candidates: Vec::new(),
            lining_up: Vec::new(),
            woken: Vec::new(),
            line_candidates: Vec::new(),
            line_places: Vec::new(),
            partners: Partners::default(),
            path_blame: Blame::default(),
            free: 0,
        };
        drive.prepare_scrubbers();
        if drive.state.traits.gathers {
            (0..drive.state.dies.len() as DieIx).for_each(|die| drive.update_closed(die));
        }
        Ok(drive)
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

    /// What is done for these takes no time of dies and channels from now on, and for parity no computing either. Policies
    /// decide as on a drive where it does.
    pub fn make_free(&mut self, occupants: &[Occupant]) {
        self.free = occupants.iter().fold(self.free, |free, &occupant| free | 1 << occupant as u32);
    }

    /// How often things happened.
    pub fn counters(&self) -> &Counters {
        &self.state.counters
    }

    /// Starts counting anew, as after warming up.
    pub fn reset_counters(&mut self) {
        self.state.counters = Counters::default();
        self.state.die_busy_then = self.state.die_busy_ns();
        for gc in &mut self.state.gc {
            gc.count_from(self.state.now);
        }
        self.state.plane_erases_then.clone_from(&self.state.plane_erases);
        if let Some(rain) = &mut self.state.rain {
            rain.violations.clear();
            self.state.counters.moved_stripes_max = rain.stripes.table_entries().into();
        }
    }

    /// The first GCs that started beside another of their group, at most `VIOLATIONS_KEPT`, since counting began.
    pub fn violations(&self) -> &[Violation] {
        self.state.rain.as_ref().map_or(&[], |rain| &rain.violations)
    }

    /// Pages from logical page 0 on that the starting state maps, without regard to a workload: as many as the stated share of
    /// the physical pages has room for, with the parity that belongs to them.
    pub fn mapped_pages(&self) -> Lpn {
        self.state.mapped_pages()
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
            Fault::GcCopy | Fault::Buffer | Fault::FirstCopy | Fault::Ram | Fault::Trims => oracle.armed = Some(fault),
        }
    }

    /// Requests that it has been given so far.
    pub fn submitted(&self) -> u64 {
        self.next_id
    }

    /// When the device took the oldest write that has not completed; nothing if it has none. Slow: for looks now and then.
    pub fn oldest_write(&self) -> Option<Ns> {
        let writes = self.state.requests.used().filter(|request| request.command.kind == crate::host::CommandKind::Write);
        writes.map(|write| write.accepted).min()
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
        let lpn = (command.sector >> self.state.sector_shift) as Lpn;
        self.state.books.prefetch(lpn);
        self.state.buffer.prefetch(lpn);
    }

    /// Asks every plane whether it wants a GC, as a drive does when it starts to work in its starting state.
    pub fn wake(&mut self) {
        if self.policies.place.opens() == Opens::LeastWorn {
            self.state.books.open_least_worn_first();
        }
        if self.state.traits.gathers {
            self.align_write_points();
        }
        if self.state.traits.late {
            self.find_write_points();
        }
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
    /// its own, and the completion carries both. Returns the number that the completion will carry. The command goes to the
    /// first device queue.
    ///
    /// # Errors
    /// A command of no sectors or beyond the drive.
    #[inline]
    pub fn submit(&mut self, now: Ns, command: Command) -> Result<u64, SubmitError> {
        self.submit_to(0, now, command)
    }

    /// `submit` to a device queue, whose number is taken modulo the number of queues.
    ///
    /// # Errors
    /// As for `submit`.
    pub fn submit_to(&mut self, queue: u32, now: Ns, command: Command) -> Result<u64, SubmitError> {
        if command.sectors == 0 {
            return Err(SubmitError::Empty);
        }
        let drive = self.state.device.logical_sectors();
        let last = command.sector.saturating_add(u64::from(command.sectors) - 1);
        if last >= drive {
            return Err(SubmitError::BeyondDrive { first: command.sector, last, drive_last: drive - 1 });
        }
        self.advance(now);
        let id = self.next_id;
        self.next_id += 1;
        if self.state.scrubbing.is_owed() {
            self.wake_scrubbers();
        }
        let queued = Queued { id, asked: now, arrived: self.state.now, command };
        if self.state.host.take_directly(command.kind) {
            self.accept(queued);
        } else {
            self.state.host.push(queue, queued);
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
        } else if slot == dies + channels + 1 {
            self.timer_event()
        } else if slot < dies + channels + EXTRA_SLOTS as usize {
            self.path_event(slot);
            true
        } else {
            self.register_emptied((slot - dies - channels - EXTRA_SLOTS as usize) as DieIx);
            true
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
            Timer::Parity(batch) => {
                self.parity_computed(batch);
                true
            }
            Timer::Gate(plane) => self.gate_timer(plane),
            Timer::Scrub(die) => {
                self.scrub_timer(die);
                true
            }
            Timer::Gather(die) => self.gather_timer(die, false),
            Timer::GatherGc(die) => self.gather_timer(die, true),
            Timer::Move(began) => self.move_timer(began),
        }
    }

    /// Lets in what waits for the buffer and for the device queue, as far as there is room.
    #[inline(always)]
    fn pump(&mut self) {
        if self.buffer_lets_in() || self.state.host.lets_in() {
            self.let_in();
        }
    }

    /// Whether the write that waits longest for the buffer might find room. Where stripes leave it, that is for their policy to
    /// say, by what the planes do.
    #[inline(always)]
    fn buffer_lets_in(&self) -> bool {
        !self.state.buffer.waiting.is_empty() && (self.state.buffer.is_open() || self.state.rain.is_some())
    }

    #[inline(never)]
    fn let_in(&mut self) {
        while self.buffer_lets_in() {
            let write = self.state.buffer.waiting[0];
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
}

/// The logical pages of a drive's books: the host's, those of parity, and one for each place of a stripe that may move.
fn pages_of_books(device: &Device, design: &mut Design, stripes: Option<&Stripes>) -> u64 {
    stripes
        .map_or(device.logical_pages(), |stripes| stripes.pages() + if design.wear_level.active() { u64::from(stripes.width()) } else { 0 })
}

/// The state of a drive in which nothing is under way. `gcs_started`: those so far, for the numbers of those to come.
fn state_at_rest(device: &Device, design: &mut Design, books: Books, stripes: Option<Stripes>, gcs_started: u64) -> State {
    let traits = design.traits(device);
    let mut state = State::new(device, books, traits);
    state.gcs_started = gcs_started;
    let dies = state.dies.len();
    if traits.gc_joins {
        state.registers = vec![Registers::EMPTY; dies];
    }
    if traits.gathers {
        state.gather_until = vec![Ns::MAX; dies];
    }
    if traits.gathers_gc {
        state.gc_gather = vec![GcGather::EMPTY; dies];
    }
    if traits.dynamic {
        state.bound = vec![0; device.geometry.planes() as usize];
    }
    if traits.gc_across || traits.late {
        state.gc_bound = vec![0; device.geometry.planes() as usize];
    }
    if traits.late {
        state.late = Some(Box::new(Late::new(&mut state, !traits.gc_across, design.gc_trigger.thresholds())));
    }
    if let Some(stripes) = stripes {
        let buffer_pages = state.buffer.capacity();
        state.buffer.set_room(buffer_pages - Rain::reserve(&stripes, buffer_pages));
        let rain = Rain::new(stripes, device.geometry.planes(), buffer_pages, design.read_plan.active());
        state.rain = Some(Box::new(rain));
    }
    state
}

/// Refuses a drive whose books the process can't allocate, with a sentence instead of an abort.
fn check_memory(device: &Device, logical: u64, page_sequence: bool, verify: bool) -> Result<(), ConfigError> {
    let physical = device.geometry.physical_pages();
    let per_physical = 5 + if page_sequence { 8 } else { 0 } + if verify { 4 } else { 0 } + u64::from(device.errors.is_some());
    let per_logical = 4 + if verify { 4 } else { 0 };
    let bytes = physical * per_physical + logical * per_logical;
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

#[cfg(test)]
impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Ranges of waiting writes that are remembered as given up.
    pub(crate) fn void_pages_for_test(&self) -> usize {
        self.void_pages.len()
    }

    /// Writes a page in the books and the oracle, without time.
    pub(crate) fn write_for_test(&mut self, lpn: Lpn) {
        let plane = self.policies.place.plane(View(&self.state), lpn);
        let ppn = self.state.books.take(plane, 0, crate::ftl::Claimant::Gc).expect("room for a test page");
        self.state.books.commit_write(lpn, ppn);
        if let Some(oracle) = &mut self.oracle {
            oracle.aged(lpn, ppn);
        }
    }

    /// Writes whole stripes with their parity in the books and the oracle, without time.
    pub(crate) fn write_stripes_for_test(&mut self, stripes: impl IntoIterator<Item = u32>) {
        for stripe in stripes {
            let layout = self.state.rain.as_ref().expect("a drive with stripes").stripes.clone();
            let (first, members) = layout.members(stripe);
            for lpn in (first..first + members).chain([layout.parity(stripe)]) {
                let ppn = self.state.books.take(layout.plane_of(lpn), 0, crate::ftl::Claimant::Gc).expect("room for a test page");
                self.state.books.commit_write(lpn, ppn);
            }
            self.tell_oracle((first..first + members).chain([layout.parity(stripe)]));
        }
    }

    /// A request in the device that one job will complete.
    pub(crate) fn begin_request_for_test(&mut self, command: Command) -> u32 {
        let now = self.state.now;
        self.state.host.push(0, Queued { id: self.next_id, asked: now, arrived: now, command });
        self.state.host.take();
        self.next_id += 1;
        self.state.requests.insert(crate::state::Request {
            id: self.next_id - 1,
            asked: now,
            arrived: now,
            accepted: now,
            slot_mix: NONE,
            command,
            pending: 1,
            gc_blocked: false,
            reconstructed: 0,
            gc_waits: 0,
            gc_waits_forced: 0,
            gc_wait_since: 0,
            crossed: NONE,
            link_wait_ns: 0,
            link_ns: 0,
            ram_link_ns: 0,
        })
    }
}
