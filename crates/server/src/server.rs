//! One thread has the drive, the data and the clients, and lets the drive's time pass as the wall clock does.
//!
//! **When data move.** A write's data take effect when the last of them has arrived, before the drive is given the command; a
//! read's are taken when its reply leaves. Each takes effect in one instant of this one thread, between the request and its
//! reply, so whatever clients see is in some order that agrees with what they saw of each other, with overlapping requests
//! too. A write needs no buffer of its own while the model has it, and a read none either; and a client that vanishes in
//! the middle of a write has written nothing.
//!
//! **When replies leave.** The drive's pending events are the heap of deadlines: the loop steps the drive when the next of
//! them has come, and a request that it completes is answered at once. Between events it sleeps. It spins before one only for
//! as long as sleeping has made it late, and not at all when no client waits, or all have waited for so long that a late
//! wake-up is no tenth of their latency.

use crate::address::{Listener, Place};
use crate::clock::{ModelTime, TIMER, Waiting, wall_ns};
use crate::connection::{Connection, Released};
use crate::data::{Data, Syncing};
use crate::lateness::{Lateness, LatenessSummary};
use crate::memory::Memory;
use crate::nbd::transmission::{Errno, Kind, Request};
use crate::nbd::{Export, Violation};
use crate::record::Recorder;
use crate::requests::{MODEL, PIECES, Pending, Requests, SYNC};
use rustix::event::epoll::{self, EventFlags};
use serde::Serialize;
use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use thiserror::Error;
use tinytail_core::commands::Command;
use tinytail_core::drive::Drive;
use tinytail_core::observe::Completion;
use tinytail_core::units::{MS, Ns, SECOND, TIME_MAX, US};
use tinytail_metrics::Measures;
use tinytail_metrics::log::Log;
use tinytail_metrics::series::WINDOWS;
use tinytail_simulator::control::Control;
use tinytail_workload::Recorded;

/// Tokens of what is no client.
const LISTENER: u64 = TIMER - 1;
const SYNCED: u64 = TIMER - 2;

/// Events of the drive that are handled before replies are sent and sockets looked at.
const STEPS: u32 = 64;
/// Without requests in the drive, its events may wait for so long, on the wall clock, so that there are not too many of them
/// when a request arrives.
const IDLE_NS: u64 = MS;
/// So short before an event, the clock alone is looked at, and no socket.
const SPIN_NS: u64 = 3 * US;
/// The longest sleep: so late the switch is heeded.
const SLEEP_NS_MAX: u64 = 50 * MS;
/// Since the last arrival, nothing is worth a spin any more: a late wake-up is a small part of such a latency.
const SPIN_AGE_NS: u64 = 5 * MS;
/// From one look at the figures to the next, where nothing else is due, and at most. A look takes a tenth of a millisecond.
const LOOK_NS: u64 = SECOND / 2;
const LOOK_NS_MAX: u64 = 3 * SECOND;
/// When it stops, the server waits for so long for what is under way.
const STOP_NS: u64 = 3 * SECOND;
/// From one look at who keeps others waiting to the next.
const CHECK_NS: u64 = 50 * MS;
/// The drive's time at which a server must end.
const TIME_NS_MAX: Ns = TIME_MAX - 3600 * SECOND;

mod clients;

/// Why a server ended by itself.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The system refused what a server needs.
    #[error("the system refused what the server needs: {0}")]
    System(#[from] io::Error),
    /// The drive can't go on. What was under way in it has been answered with an error.
    #[error("Requests stopped completing. {0}")]
    Stuck(String),
    /// The drive's clock is at its end.
    #[error("the drive's time has come to {:.0} days, more than can be simulated", TIME_NS_MAX as f64 / (86_400.0 * SECOND as f64))]
    TooLong,
}

/// What a server may be looked at for while it runs.
#[derive(Debug, Clone, Serialize)]
pub struct Snapshot {
    /// Where clients find it.
    pub place: Place,
    /// Clients that are connected.
    pub clients: usize,
    /// Requests under way.
    pub outstanding: usize,
    /// Since the first request, on the wall clock, in seconds.
    pub seconds: f64,
    /// How late completions left until now.
    pub lateness: LatenessSummary,
    /// What is to be known of the served drive.
    pub notes: Vec<String>,
}

/// The last snapshot of a server that runs in another thread.
pub type Live = Mutex<Option<Snapshot>>;

/// How a server serves.
pub struct Options {
    /// What clients see.
    pub export: Export,
    /// How many times slower than the wall clock the drive's time passes.
    pub dilation: f64,
    /// The most that the data of requests and replies of all clients may take.
    pub memory_bytes: usize,
    /// So long a client may have some of that while others wait for it.
    pub patience_ns: u64,
    /// So many clients may have the export at a time, and so many others may negotiate.
    pub clients_max: usize,
    /// Where arrivals are recorded, if anywhere.
    pub recorder: Option<Recorder>,
    /// Where every request is logged, if anywhere.
    pub log: Option<Log>,
    /// What is to be known of the served drive.
    pub notes: Vec<String>,
}

/// What has come of a server.
pub struct Served<M: Measures> {
    /// The drive, as it is now.
    pub drive: Drive<M>,
    /// Why it ended, if not because it was told to.
    pub error: Option<ServerError>,
    /// How late completions left.
    pub lateness: Lateness,
    /// The recording, which is to be finished.
    pub recorder: Option<Recorder>,
    /// What is to be known of it.
    pub notes: Vec<String>,
    /// The hash of its events when it had completed the last request. When a trace is played, the run ends then.
    pub event_hash: u64,
    /// Clients there were in all.
    pub clients: u64,
    /// Requests that were refused, or failed.
    pub failed: u64,
    /// Clients that were refused because there were too many.
    pub refused: u64,
    /// Clients whose connection was ended for what they did, and what the last one did.
    pub violations: (u64, Option<Violation>),
    /// From the first request to the end, on the wall clock.
    pub wall_ns: u64,
}

/// Until when the thread has nothing to do, on the wall clock.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// It has something to do.
    Now,
    /// Until an event of the drive that is so near that it must not sleep any more.
    Awake(u64),
    /// It may sleep until then.
    Asleep(u64),
}

/// A drive that is served.
pub struct Server<M: Measures> {
    drive: Drive<M>,
    data: Box<dyn Data>,
    options: Options,
    listener: Listener,
    waiting: Waiting,
    syncing: Option<Syncing>,
    /// The drive's time, from the first command on.
    time: Option<(ModelTime, Ns)>,
    clients: Vec<Option<Box<Connection>>>,
    requests: Requests,
    memory: Memory,
    /// Clients of whose long requests a piece may be done, by place and generation.
    turns: VecDeque<(u32, u32)>,
    /// More events of the drive are due than were handled in this turn; no more is asked of it before they are.
    is_behind: bool,
    /// Requests that wait for nothing any more.
    ready: Vec<u32>,
    /// Clients for whom there is something to be sent.
    dirty: Vec<u32>,
    completions: Vec<Completion>,
    synced: Vec<(u64, bool)>,
    lateness: Lateness,
    event_hash: u64,
    generation: u32,
    /// When the drive was given the last command.
    last_arrival: u64,
    begun_at: u64,
    looked_at: u64,
    checked_at: u64,
    /// The listener rests, because the system gave no descriptor.
    deaf: bool,
    failed: u64,
    refused: u64,
    violations: (u64, Option<Violation>),
}

impl<M: Measures> Server<M> {
    /// A server of a drive in its starting state, on a listener.
    ///
    /// # Errors
    /// Where the system gives no descriptors or no thread.
    pub fn new(drive: Drive<M>, data: Box<dyn Data>, listener: Listener, options: Options) -> io::Result<Self> {
        let waiting = Waiting::new()?;
        epoll::add(waiting.epoll(), &listener, epoll::EventData::new_u64(LISTENER), EventFlags::IN)?;
        let syncing = data.sync().map(Syncing::start).transpose()?;
        if let Some(syncing) = &syncing {
            epoll::add(waiting.epoll(), syncing.wakes(), epoll::EventData::new_u64(SYNCED), EventFlags::IN)?;
        }
        Ok(Self {
            memory: Memory::new(options.memory_bytes),
            drive,
            data,
            options,
            listener,
            waiting,
            syncing,
            time: None,
            clients: Vec::new(),
            requests: Requests::default(),
            turns: VecDeque::new(),
            is_behind: false,
            ready: Vec::new(),
            dirty: Vec::new(),
            completions: Vec::new(),
            synced: Vec::new(),
            lateness: Lateness::default(),
            event_hash: 0,
            generation: 0,
            last_arrival: 0,
            begun_at: 0,
            looked_at: 0,
            checked_at: 0,
            deaf: false,
            failed: 0,
            refused: 0,
            violations: (0, None),
        })
    }

    /// Serves until the control's switch, or until it can't go on, and shows itself in `live`.
    pub fn run(mut self, control: &Control, live: &Live) -> Served<M> {
        let error = self.serve_until_stopped(control, live).err();
        self.look(wall_ns(), live);
        Served {
            drive: self.drive,
            error,
            lateness: self.lateness,
            event_hash: self.event_hash,
            recorder: self.options.recorder,
            notes: self.options.notes,
            clients: self.generation.into(),
            failed: self.failed,
            refused: self.refused,
            violations: self.violations,
            wall_ns: if self.time.is_some() { wall_ns() - self.begun_at } else { 0 },
        }
    }

    fn serve_until_stopped(&mut self, control: &Control, live: &Live) -> Result<(), ServerError> {
        let mut events = [epoll::Event { flags: EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 64];
        let mut stop_by = None;
        self.look(wall_ns(), live);
        loop {
            let now = wall_ns();
            if control.is_cancelled() && stop_by.is_none() {
                stop_by = Some(now + STOP_NS);
                self.hang_up();
            }
            if stop_by.is_some_and(|by| now >= by || self.all_answered()) {
                break;
            }
            self.is_behind = self.advance(now);
            if !self.is_behind {
                self.do_piece(now);
            }
            self.answer();
            if now >= self.checked_at + CHECK_NS {
                self.checked_at = now;
                self.hang_up_on_idlers(now);
            }
            if self.memory.is_short() {
                self.share_out();
            }
            // Reading on where a client had been stalled may have made something ready.
            let is_busy = self.is_behind || !(self.ready.is_empty() && self.dirty.is_empty() && self.turns.is_empty());
            let until = if is_busy { Until::Now } else { self.next_look()? };
            let is_calm = matches!(until, Until::Asleep(at) if at > now + MS);
            if now >= self.looked_at + if is_calm { LOOK_NS } else { LOOK_NS_MAX } {
                self.look(now, live);
                if self.time.is_some_and(|(time, _)| time.at(now) > TIME_NS_MAX) {
                    return Err(ServerError::TooLong);
                }
            }
            let count = match until {
                Until::Asleep(at) => self.waiting.sleep(at, &mut events)?,
                Until::Now | Until::Awake(_) => self.waiting.poll(&mut events)?,
            };
            for event in &events[..count] {
                self.handle(event.data.u64(), event.flags);
            }
            if let (0, Until::Awake(due)) = (count, until)
                && due <= wall_ns() + SPIN_NS
            {
                while wall_ns() < due {
                    std::hint::spin_loop();
                }
            }
        }
        Ok(())
    }

    /// Lets the drive's time pass up to now, or for some events. Returns whether more of them are due.
    fn advance(&mut self, now: u64) -> bool {
        let Some((time, _)) = self.time else { return false };
        let model = time.at(now);
        let mut behind = true;
        for _ in 0..STEPS {
            behind = self.drive.next_event().is_some_and(|at| at <= model);
            if !behind {
                break;
            }
            self.drive.step();
            self.take_completions(&time);
        }
        behind
    }

    fn take_completions(&mut self, time: &ModelTime) {
        if !self.drive.has_completions() {
            return;
        }
        self.drive.take_completions(&mut self.completions);
        for completion in self.completions.drain(..) {
            let place = self.requests.completed(completion.id);
            let pending = self.requests.get(place);
            pending.due = time.wall(completion.completed);
            pending.latency_ns += completion.completed - completion.arrived;
            pending.waits &= !MODEL;
            if pending.request.is_long() {
                self.turns.push_back(pending.client);
            }
            if pending.waits == 0 {
                self.ready.push(place);
            }
        }
        if !self.requests.in_drive() {
            self.event_hash = self.drive.event_hash();
        }
    }

    /// When to look at the drive and the sockets again. To be asked when no event is due.
    fn next_look(&mut self) -> Result<Until, ServerError> {
        let now = wall_ns();
        let next = self.drive.next_event();
        if !self.requests.in_drive() {
            let is_awaited = next.is_some() && self.time.is_some() && self.clients.iter().any(Option::is_some);
            return Ok(Until::Asleep(now + if is_awaited { IDLE_NS } else { SLEEP_NS_MAX }));
        }
        let (Some(next), Some((time, _))) = (next, self.time) else {
            return Err(self.stuck());
        };
        let early = if now - self.last_arrival > SPIN_AGE_NS { 0 } else { self.waiting.early_ns() };
        let due = time.wall(next);
        let wake = due.saturating_sub(early);
        Ok(if wake > now { Until::Asleep(wake.min(now + SLEEP_NS_MAX)) } else { Until::Awake(due) })
    }

    /// Requests wait in the drive, and nothing happens in it any more.
    fn stuck(&mut self) -> ServerError {
        let why = self.drive.explain_standstill();
        for place in self.requests.give_up() {
            let pending = self.requests.get(place);
            pending.errno = Some(Errno::Io);
            pending.due = wall_ns();
            self.ready.push(place);
        }
        self.answer();
        ServerError::Stuck(why)
    }

    fn look(&mut self, now: u64, live: &Live) {
        self.looked_at = now;
        let snapshot = Snapshot {
            place: self.listener.place(),
            clients: self.clients.iter().flatten().count(),
            outstanding: self.requests.under_way(),
            seconds: if self.time.is_some() { (now - self.begun_at) as f64 / SECOND as f64 } else { 0.0 },
            lateness: self.lateness.summary(),
            notes: self.options.notes.clone(),
        };
        *live.lock().expect("a thread that does not panic") = Some(snapshot);
        if self.deaf {
            self.deaf = false;
            // Where it fails, the next look tries again.
            self.deaf = epoll::modify(self.waiting.epoll(), &self.listener, epoll::EventData::new_u64(LISTENER), EventFlags::IN).is_err();
        }
    }

    /// Takes no more clients and requests.
    fn hang_up(&mut self) {
        // The listener is closed with the server in any case.
        let _ = epoll::delete(self.waiting.epoll(), &self.listener);
        for index in 0..self.clients.len() {
            if let Some(client) = &mut self.clients[index] {
                client.leaving = true;
                self.settle(index as u32);
            }
        }
    }

    fn all_answered(&self) -> bool {
        self.requests.under_way() == 0 && self.clients.iter().flatten().all(|client| client.is_sent())
    }

    fn handle(&mut self, token: u64, flags: EventFlags) {
        match token {
            TIMER => {}
            LISTENER => self.accept(),
            SYNCED => self.take_synced(),
            token => {
                let (index, generation) = (token as u32, (token >> 32) as u32);
                let is_there = self.clients[index as usize].as_ref().is_some_and(|client| client.generation == generation);
                if is_there {
                    self.serve(index, flags);
                }
            }
        }
    }

    fn take_synced(&mut self) {
        let Some(syncing) = &self.syncing else { return };
        if let Some(why) = syncing.take_done(&mut self.synced) {
            self.options.notes.push(format!("from now on every flush fails: {why}"));
            // The process that watches is to hear of it soon.
            self.looked_at = 0;
        }
        for (place, succeeded) in self.synced.drain(..) {
            let pending = self.requests.get(place as u32);
            pending.waits &= !SYNC;
            if !succeeded {
                pending.errno = Some(Errno::Io);
            }
            if pending.waits == 0 {
                self.ready.push(place as u32);
            }
        }
    }

    /// A request has arrived: its data take effect, and the drive is given its command. One in pieces waits for its turn. Returns
    /// the place of the request.
    fn begin(&mut self, request: Request, payload: &[u8], client: (u32, u32), at: u64) -> u32 {
        let waits = if request.is_long() { PIECES } else { 0 };
        let place = self.requests.insert(Pending { request, client, waits, done_bytes: 0, errno: None, due: at, latency_ns: 0 });
        if !request.is_long() {
            self.carry_out(request, payload, place, at);
        }
        place
    }

    /// Does the next piece of a long request, of the client whose turn it is.
    fn do_piece(&mut self, at: u64) {
        let Some((index, generation)) = self.turns.pop_front() else { return };
        let client = self.clients[index as usize].as_mut().filter(|client| client.generation == generation);
        let Some(client) = client else { return };
        let Some(&place) = client.long.front() else {
            client.has_turn = false;
            return;
        };
        let pending = self.requests.get(place);
        let mut piece = pending.request.piece(pending.done_bytes);
        pending.done_bytes += piece.bytes;
        let is_last = pending.done_bytes == pending.request.bytes;
        piece.forced &= is_last;
        if is_last {
            pending.waits &= !PIECES;
            client.long.pop_front();
        }
        self.carry_out(piece, &[], place, at);
    }

    /// The data of a request, or of a piece of one, take effect, and the drive is given its command.
    fn carry_out(&mut self, what: Request, payload: &[u8], place: u32, at: u64) {
        let (offset, bytes) = (what.offset, what.bytes);
        let result = match what.kind {
            Kind::Write => self.data.write(offset, payload),
            Kind::Zero { keep } => self.data.zero(offset, bytes.into(), keep),
            Kind::Trim => self.data.zero(offset, bytes.into(), false),
            Kind::Read | Kind::Flush => Ok(()),
        };
        let errno = result.err().map(|error| errno_of(&error));
        let pending = self.requests.get(place);
        // The first failure is told. Pieces that follow are tried all the same.
        pending.errno = pending.errno.or(errno);
        let command = if errno.is_none() { what.command() } else { None };
        let syncing = self.syncing.as_ref().filter(|_| pending.errno.is_none() && (what.forced || what.kind == Kind::Flush));
        pending.waits |= if command.is_some() { MODEL } else { 0 } | if syncing.is_some() { SYNC } else { 0 };
        if let Some(syncing) = syncing {
            syncing.order(place.into());
        }
        let (waits, is_long, client) = (pending.waits, pending.request.is_long(), pending.client);
        if let Some(command) = command {
            self.give(command, place, at);
            return;
        }
        if what.kind == Kind::Flush
            && let (Some(recorder), Some((time, origin))) = (&mut self.options.recorder, self.time)
        {
            recorder.push(time.at(at).max(self.drive.now()) - origin, Recorded::Flush);
        }
        if is_long {
            self.turns.push_back(client);
        }
        if waits == 0 {
            self.ready.push(place);
        }
    }

    /// Gives the drive a command. It may complete at once.
    fn give(&mut self, command: Command, place: u32, at: u64) {
        let (time, origin) = self.begin_time(at);
        let model = time.at(at).max(self.drive.now());
        self.last_arrival = at;
        if let Some(recorder) = &mut self.options.recorder {
            recorder.push(model - origin, Recorded::Command(command));
        }
        let id = self.drive.submit(model, command).expect("a command within the drive");
        self.requests.given(id, place);
        self.take_completions(&time);
    }

    /// The drive's time and its origin. It begins with the first command, a millisecond after the starting state, as when a trace
    /// is played.
    fn begin_time(&mut self, at: u64) -> (ModelTime, Ns) {
        if let Some(begun) = self.time {
            return begun;
        }
        self.begun_at = at;
        self.drive.reset_counters();
        let (start, first_id, log) = (self.drive.now(), self.drive.submitted(), self.options.log.take());
        self.drive.observer_mut().begin(start, first_id, WINDOWS, log);
        let origin = start + MS;
        *self.time.insert((ModelTime::new(at, origin, self.options.dilation), origin))
    }

    /// Answers what is ready, and sends what there is to be sent.
    fn answer(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for place in ready.drain(..) {
            let pending = *self.requests.get(place);
            let (index, generation) = pending.client;
            let client = self.clients[index as usize].as_mut().filter(|client| client.generation == generation);
            let Some(client) = client else {
                self.requests.remove(place);
                continue;
            };
            client.released.push(Released { io: pending.io(), due: pending.due, latency_ns: pending.latency_ns });
            if !std::mem::replace(&mut client.is_dirty, true) {
                self.dirty.push(index);
            }
            let can_be_put = !client.is_full(self.memory.is_short()) && client.backlog.is_empty();
            let data_bytes = clients::data_bytes(&pending);
            if !can_be_put || !clients::make_room(&mut self.memory, client, pending.client, data_bytes) {
                client.backlog.push_back(place);
            } else {
                self.failed += u64::from(clients::put_reply(client, self.data.as_mut(), &pending));
                self.requests.remove(place);
            }
        }
        self.ready = ready;
        let mut dirty = std::mem::take(&mut self.dirty);
        for index in dirty.drain(..) {
            self.settle(index);
        }
        // Settling may have made others ready, or clients dirty.
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
    }
}

/// What a client is told of an error of the data.
fn errno_of(error: &io::Error) -> Errno {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Errno::NoSpace,
        _ => Errno::Io,
    }
}
