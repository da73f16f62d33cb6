//! What a server does for one client: takes it, reads its requests, sends its replies, and forgets it.

use crate::address::Stream;
use crate::clock::wall_ns;
use crate::connection::{Connection, Received};
use crate::data::Data;
use crate::limits::{INPUT_BYTES, NEGOTIATION_NS, TURN_BYTES, TURN_CLIENTS, TURN_CONNECTIONS, TURN_REQUESTS};
use crate::memory::Memory;
use crate::nbd::Violation;
use crate::nbd::handshake::{Handshake, Progress};
use crate::nbd::transmission::{Kind, Parsed, REQUEST_BYTES, Request, parse, put_data_header, put_done, put_error};
use crate::requests::{PIECES, Pending};
use crate::server::{LISTENER, Server, errno_of};
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use tinytail_metrics::Measures;

/// Copying so many bytes into a socket takes microseconds.
const LONG_BYTES: usize = 64 << 10;
/// What a reply has besides its data, at most.
const REPLY_BYTES: usize = 64;

impl<M: Measures> Server<M> {
    /// Takes some of the clients that wait. The others have not long to wait, and those that are served have their turn first.
    pub(super) fn accept(&mut self) {
        let mut taken = 0;
        for _ in 0..TURN_CONNECTIONS {
            if taken == TURN_CLIENTS {
                return;
            }
            match self.listener.accept() {
                Ok(None) => return,
                Ok(Some(stream)) => taken += usize::from(self.greet(stream)),
                // It has left by now, or never came.
                Err(error) if !lacks_resources(error.raw_os_error()) => {}
                Err(_) => {
                    // Until the next look: the client still waits, and the system would tell so again and again.
                    let data = epoll::EventData::new_u64(LISTENER);
                    self.deaf = epoll::modify(self.waiting.epoll(), &self.listener, data, EventFlags::empty()).is_ok();
                    return;
                }
            }
        }
    }

    /// Begins to negotiate with a client. Returns whether it is still there.
    fn greet(&mut self, stream: Stream) -> bool {
        let mut client = Box::new(Connection::new(stream, self.generation, wall_ns()));
        self.generation += 1;
        client.handshake = Some(Handshake::begin(self.options.export, &mut client.out));
        if client.send().is_err() {
            return false;
        }
        self.make_way();
        let index = self.clients.iter().position(Option::is_none).unwrap_or_else(|| {
            self.clients.push(None);
            self.clients.len() - 1
        });
        let token = u64::from(client.generation) << 32 | index as u64;
        client.watched = client.interest();
        let is_watched = client.stream.watch(self.waiting.epoll(), token, client.watched, true).is_ok();
        if is_watched {
            self.clients[index] = Some(client);
        }
        is_watched
    }

    /// Where too many negotiate, hangs up on the one that has for longest. Who is slow must not shut others out.
    fn make_way(&mut self) {
        let clients = (0..).zip(&self.clients).filter_map(|(index, client)| Some((index, client.as_ref()?)));
        let negotiating = clients.filter(|(_, client)| client.handshake.is_some());
        let (count, oldest) = negotiating.fold((0, None), |(count, oldest), (index, client)| {
            let older = oldest.filter(|&(came_at, _)| came_at <= client.came_at);
            (count + 1, older.or(Some((client.came_at, index))))
        });
        if let Some((_, index)) = oldest.filter(|_| count >= self.options.clients_max) {
            self.end(index, Violation::Hesitates);
        }
    }

    /// Hangs up on clients that take too long to negotiate, and on those that have had memory for too long while others wait for it.
    pub(super) fn hang_up_on_idlers(&mut self, now: u64) {
        let short_since = self.memory.look(now);
        for index in 0..self.clients.len() {
            let Some(client) = &self.clients[index] else { continue };
            let in_the_way_since = short_since.zip(client.share.held_since()).map(|(short, held)| short.max(held));
            if client.handshake.is_some() && now >= client.came_at + NEGOTIATION_NS {
                self.end(index as u32, Violation::Hesitates);
            } else if in_the_way_since.is_some_and(|since| now >= since + self.options.patience_ns) {
                self.end(index as u32, Violation::Blocks);
            }
        }
    }

    /// There is something to be done for a client in this turn.
    pub(super) fn mark(&mut self, index: u32) {
        if let Some(client) = &mut self.clients[index as usize]
            && !std::mem::replace(&mut client.is_dirty, true)
        {
            self.dirty.push(index);
        }
    }

    /// Hangs up on a client at once.
    fn end(&mut self, index: u32, violation: Violation) {
        self.violations = (self.violations.0 + 1, Some(violation));
        self.forget(index);
    }

    /// Lets clients that wait for memory go on, as far as there is some.
    pub(super) fn share_out(&mut self) {
        loop {
            let clients = &self.clients;
            let lacks = |(index, generation): (u32, u32)| {
                let client = clients[index as usize].as_ref().filter(|client| client.generation == generation)?;
                Some(client.share.lacks_bytes)
            };
            let Some((index, _)) = self.memory.next(lacks) else { return };
            if let Some(client) = &mut self.clients[index as usize] {
                client.share.lacks_bytes = 0;
                // What has come of a request says again what it needs.
                client.stalled = true;
                self.settle(index);
            }
        }
    }

    /// A client's socket is ready for something.
    pub(super) fn serve(&mut self, index: u32, flags: EventFlags) {
        let Some(client) = &mut self.clients[index as usize] else { return };
        if flags.contains(EventFlags::IN) {
            // Else it stays in the socket, and the system will tell so again.
            if client.is_heard() && !self.is_behind {
                match client.receive() {
                    Ok(Received::Some) => self.read_requests(index),
                    Ok(Received::Nothing) => {}
                    Ok(Received::End) => client.leaving = true,
                    Err(_) => return self.forget(index),
                }
            }
        } else if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            return self.forget(index);
        }
        // What there is to be sent is sent with what else is ready.
        self.mark(index);
    }

    /// Takes the requests that have come from a client, as far as it may have more under way and others don't wait for their turn.
    fn read_requests(&mut self, index: u32) {
        let Some(mut client) = self.clients[index as usize].take() else { return };
        let at = wall_ns();
        let result = self.read_client(&mut client, index, at);
        if let Err(violation) = &result {
            self.violations = (self.violations.0 + 1, Some(*violation));
            // What it sent before is answered; what it sends from now on can't be understood.
            client.leaving = true;
        }
        self.clients[index as usize] = Some(client);
    }

    fn read_client(&mut self, client: &mut Connection, index: u32, at: u64) -> Result<(), Violation> {
        if let Some(mut handshake) = client.handshake.take() {
            let taken = self.clients.iter().flatten().filter(|client| client.handshake.is_none() && !client.leaving).count();
            let mut out = std::mem::take(&mut client.out);
            let result = handshake.feed(client.unread(), (taken >= self.options.clients_max).then_some(taken), &mut out);
            client.out = out;
            self.refused += u64::from(std::mem::take(&mut handshake.was_refused));
            let (used, progress) = result?;
            client.consume(used);
            match progress {
                Progress::Negotiating => {
                    client.wanted = client.unread().len() + 1;
                    client.handshake = Some(handshake);
                    return Ok(());
                }
                Progress::Transmitting { structured } => client.structured = structured,
                Progress::Left => client.leaving = true,
            }
        }
        let (mut requests, mut bytes) = (0, 0);
        while !client.leaving {
            client.skip_payload();
            if client.skip > 0 {
                break;
            }
            if requests >= TURN_REQUESTS || bytes >= TURN_BYTES || !client.may_begin(self.memory.is_short()) {
                client.stalled = true;
                break;
            }
            requests += 1;
            match parse(client.unread(), self.options.export.bytes)? {
                Parsed::Incomplete(wanted) => {
                    client.wanted = wanted;
                    let share = &mut client.share;
                    let more = wanted.saturating_sub(INPUT_BYTES + share.input_bytes);
                    if self.memory.claim((index, client.generation), more, &mut share.lacks_bytes) && more > 0 {
                        share.add_input(more, at);
                    }
                    break;
                }
                Parsed::Request(request, payload, used) => {
                    let place = self.begin(request, payload, (index, client.generation), at);
                    if request.is_long() {
                        client.long.push_back(place);
                        if !std::mem::replace(&mut client.has_turn, true) {
                            self.turns.push_back((index, client.generation));
                        }
                    }
                    client.outstanding += 1;
                    client.under_way_bytes += request.busy_bytes();
                    bytes += request.busy_bytes();
                    client.consume(used);
                    self.memory.release(&mut client.share.input_bytes);
                }
                Parsed::Refused { cookie, errno, read, skip } => {
                    if !make_room(&mut self.memory, client, (index, client.generation), 0) {
                        client.stalled = true;
                        break;
                    }
                    self.failed += 1;
                    put_error(&mut client.out, client.structured && read, cookie, errno);
                    client.consume(REQUEST_BYTES);
                    client.skip = skip;
                }
                Parsed::Disconnect => client.leaving = true,
            }
        }
        Ok(())
    }

    /// Sends what a client is to get, reads on where it was too much, and closes the connection where all is done. What would keep
    /// others from their turn is left to the next one.
    pub(super) fn settle(&mut self, index: u32) {
        let Some(client) = self.clients[index as usize].as_mut() else { return };
        client.is_dirty = false;
        while let Some(&place) = client.backlog.front()
            && !client.is_full(self.memory.is_short())
            && let pending = *self.requests.get(place)
            && make_room(&mut self.memory, client, pending.client, data_bytes(&pending))
        {
            client.backlog.pop_front();
            self.failed += u64::from(put_reply(client, self.data.as_mut(), &pending));
            self.requests.remove(place);
        }
        // What the system takes to wake the client is the client's, as the interrupt of a drive is its host's. Long replies are
        // handed over only when they have been copied.
        let before = wall_ns();
        let is_long = client.unsent_bytes() > LONG_BYTES;
        let sent = client.send();
        if client.has_small_output() {
            self.memory.release(&mut client.share.output_bytes);
        }
        if !client.released.is_empty() {
            let now = if is_long { wall_ns() } else { before };
            for released in client.released.drain(..) {
                let late = now.saturating_sub(released.due);
                let late = self.time.map_or(late, |(time, _)| time.shrink(late));
                self.lateness.record(released.io, late, released.latency_ns);
            }
        }
        if sent.is_err() || client.is_over() {
            return self.forget(index);
        }
        if client.stalled && !self.is_behind && client.may_begin(self.memory.is_short()) {
            client.stalled = false;
            self.read_requests(index);
        }
        let Some(client) = self.clients[index as usize].as_mut() else { return };
        let interest = client.interest();
        if interest != client.watched {
            client.watched = interest;
            let token = u64::from(client.generation) << 32 | u64::from(index);
            if client.stream.watch(self.waiting.epoll(), token, interest, false).is_err() {
                return self.forget(index);
            }
        }
        if client.has_more(self.memory.is_short()) {
            self.mark(index);
        }
    }

    /// A client has gone. What it has in the drive goes on there.
    fn forget(&mut self, index: u32) {
        let Some(mut client) = self.clients[index as usize].take() else { return };
        self.memory.release(&mut client.share.input_bytes);
        self.memory.release(&mut client.share.output_bytes);
        for place in client.backlog {
            self.requests.remove(place);
        }
        for place in client.long {
            let pending = self.requests.get(place);
            pending.waits &= !PIECES;
            if pending.waits == 0 {
                self.requests.remove(place);
            }
        }
    }
}

/// The system lacks what a new connection needs, and will lack it when asked again at once.
fn lacks_resources(error: Option<i32>) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM].into_iter().any(|errno| error == Some(errno.raw_os_error()))
}

/// Bytes of data in the reply to a request.
pub(super) fn data_bytes(pending: &Pending) -> usize {
    if pending.errno.is_none() && pending.request.kind == Kind::Read { pending.request.bytes as usize } else { 0 }
}

/// Gets the memory that a reply with so many bytes of data needs, or has the client wait for it.
pub(super) fn make_room(memory: &mut Memory, client: &mut Connection, token: (u32, u32), data_bytes: usize) -> bool {
    let growth = client.growth(REPLY_BYTES + data_bytes);
    let has_room = memory.claim(token, growth, &mut client.share.lacks_bytes);
    if has_room && growth > 0 {
        client.share.add_output(growth, wall_ns());
        client.grow(growth);
    }
    has_room
}

/// Puts the reply to a request among what its client is to be sent. Returns whether the request failed.
pub(super) fn put_reply(client: &mut Connection, data: &mut dyn Data, pending: &Pending) -> bool {
    let Request { kind, cookie, offset, bytes, .. } = pending.request;
    client.outstanding -= 1;
    client.under_way_bytes -= pending.request.busy_bytes();
    let (structured, out) = (client.structured, &mut client.out);
    let before = out.len();
    let errno = match (pending.errno, kind) {
        (None, Kind::Read) => {
            put_data_header(out, structured, cookie, offset, bytes);
            match data.read(offset, bytes as usize, out) {
                Ok(()) => return false,
                Err(error) => errno_of(&error),
            }
        }
        (None, _) => {
            put_done(out, cookie);
            return false;
        }
        (Some(errno), _) => errno,
    };
    out.truncate(before);
    put_error(out, structured && kind == Kind::Read, cookie, errno);
    true
}
