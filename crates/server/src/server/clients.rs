//! What a server does for one client: takes it, reads its requests, sends its replies, and forgets it.

use crate::clock::wall_ns;
use crate::connection::{ALLOWED_BYTES, Connection, OUTSTANDING_MAX, Received};
use crate::data::Data;
use crate::memory::Memory;
use crate::nbd::Violation;
use crate::nbd::handshake::{Handshake, Progress};
use crate::nbd::transmission::{Kind, Parsed, REQUEST_BYTES, Request, parse, put_data_header, put_done, put_error};
use crate::requests::Pending;
use crate::server::{CLIENTS_MAX, LISTENER, NEGOTIATING_MAX, NEGOTIATION_NS, PATIENCE_NS, Server, errno_of};
use rustix::event::epoll::{self, EventFlags};
use std::io;
use tinytail_metrics::Measures;

/// Copying so many bytes into a socket takes microseconds.
const LONG_BYTES: usize = 64 << 10;
/// What a reply has besides its data, at most.
const REPLY_BYTES: usize = 64;

impl<M: Measures> Server<M> {
    /// Takes the clients that wait.
    pub(super) fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(None) => return,
                Ok(Some(stream)) => {
                    self.make_way();
                    let free = self.clients.iter().position(Option::is_none);
                    let index = free.unwrap_or_else(|| {
                        self.clients.push(None);
                        self.clients.len() - 1
                    });
                    let mut client = Box::new(Connection::new(stream, self.generation, wall_ns()));
                    self.generation += 1;
                    client.handshake = Some(Handshake::begin(self.options.export, &mut client.out));
                    let token = u64::from(client.generation) << 32 | index as u64;
                    client.watched = EventFlags::IN;
                    if client.stream.watch(self.waiting.epoll(), token, client.watched, true).is_ok() {
                        self.clients[index] = Some(client);
                        self.dirty.push(index as u32);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    // Until the next look: the client still waits, and the system would tell so again and again.
                    let data = epoll::EventData::new_u64(LISTENER);
                    self.deaf = epoll::modify(self.waiting.epoll(), &self.listener, data, EventFlags::empty()).is_ok();
                    return;
                }
            }
        }
    }

    /// Where too many negotiate, hangs up on the one that has for longest. Who is slow must not shut others out.
    fn make_way(&mut self) {
        let clients = (0..).zip(&self.clients).filter_map(|(index, client)| Some((index, client.as_ref()?)));
        let negotiating = clients.filter(|(_, client)| client.handshake.is_some());
        let (count, oldest) = negotiating.fold((0, None), |(count, oldest), (index, client)| {
            let older = oldest.filter(|&(came_at, _)| came_at <= client.came_at);
            (count + 1, older.or(Some((client.came_at, index))))
        });
        if let Some((_, index)) = oldest.filter(|_| count >= NEGOTIATING_MAX) {
            self.end(index, Violation::Hesitates);
        }
    }

    /// Hangs up on clients that take too long to negotiate, and on those that move nothing while others wait for their memory.
    pub(super) fn hang_up_on_idlers(&mut self, now: u64) {
        for index in 0..self.clients.len() {
            let Some(client) = &self.clients[index] else { continue };
            let waited = now.saturating_sub(client.moved_at);
            let has_memory = client.share.input_bytes + client.share.output_bytes > 0;
            if client.handshake.is_some() && now >= client.came_at + NEGOTIATION_NS {
                self.end(index as u32, Violation::Hesitates);
            } else if has_memory && self.memory.is_short() && waited >= PATIENCE_NS {
                self.end(index as u32, Violation::Blocks);
            }
        }
    }

    /// Hangs up on a client at once.
    fn end(&mut self, index: u32, violation: Violation) {
        self.violations = (self.violations.0 + 1, Some(violation));
        self.forget(index);
    }

    /// Lets clients that wait for memory go on, as far as there is some.
    pub(super) fn share_out(&mut self, now: u64) {
        loop {
            let clients = &self.clients;
            let lacks = |(index, generation): (u32, u32)| {
                let client = clients[index as usize].as_ref().filter(|client| client.generation == generation)?;
                Some(client.share.lacks_bytes)
            };
            let Some((index, _)) = self.memory.next(lacks) else { return };
            if let Some(client) = &mut self.clients[index as usize] {
                client.share.lacks_bytes = 0;
                client.moved_at = now;
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
            match client.receive() {
                Ok(Received::Some) => {
                    client.moved_at = wall_ns();
                    self.read_requests(index);
                }
                Ok(Received::Nothing) => {}
                Ok(Received::End) => client.leaving = true,
                Err(_) => return self.forget(index),
            }
        } else if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            return self.forget(index);
        }
        // What there is to be sent is sent with what else is ready.
        self.dirty.push(index);
    }

    /// Takes the requests that have come from a client, as far as it may have more under way.
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
            let result = handshake.feed(client.unread(), (taken >= CLIENTS_MAX).then_some(taken), &mut out);
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
        while !client.leaving {
            client.skip_payload();
            if client.skip > 0 {
                break;
            }
            if client.outstanding >= OUTSTANDING_MAX || client.is_full() || !client.backlog.is_empty() {
                client.stalled = true;
                break;
            }
            match parse(client.unread(), self.options.export.bytes)? {
                Parsed::Incomplete(wanted) => {
                    client.wanted = wanted;
                    let share = &mut client.share;
                    let more = wanted.saturating_sub(ALLOWED_BYTES + share.input_bytes);
                    if self.memory.claim((index, client.generation), more, &mut share.lacks_bytes) {
                        share.input_bytes += more;
                    }
                    break;
                }
                Parsed::Request(request, payload, used) => {
                    self.begin(request, payload, (index, client.generation), at);
                    client.outstanding += 1;
                    client.consume(used);
                    self.memory.release(&mut client.share.input_bytes);
                }
                Parsed::Refused { cookie, errno, read, skip } => {
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

    /// Sends what a client is to get, reads on where it was too much, and closes the connection where all is done.
    pub(super) fn settle(&mut self, index: u32) {
        loop {
            let Some(client) = self.clients[index as usize].as_mut() else { return };
            // What the system takes to wake the client is the client's, as the interrupt of a drive is its host's. Long replies are
            // handed over only when they have been copied.
            let before = wall_ns();
            let is_long = client.unsent_bytes() > LONG_BYTES;
            let sent = client.send();
            if matches!(sent, Ok(true)) {
                client.moved_at = before;
            }
            if client.is_sent() {
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
            if let Some(&place) = client.backlog.front()
                && !client.is_full()
                && let pending = *self.requests.get(place)
                && make_room(&mut self.memory, client, pending.client, &pending)
            {
                client.backlog.pop_front();
                self.failed += u64::from(put_reply(client, self.data.as_mut(), &pending));
                self.requests.remove(place);
                continue;
            }
            if client.stalled && client.outstanding < OUTSTANDING_MAX && !client.is_full() && client.backlog.is_empty() {
                client.stalled = false;
                self.read_requests(index);
                continue;
            }
            let interest = client.interest();
            if interest != client.watched {
                client.watched = interest;
                let token = u64::from(client.generation) << 32 | u64::from(index);
                if client.stream.watch(self.waiting.epoll(), token, interest, false).is_err() {
                    return self.forget(index);
                }
            }
            return;
        }
    }

    /// A client has gone. What it has under way goes on in the drive.
    fn forget(&mut self, index: u32) {
        let Some(mut client) = self.clients[index as usize].take() else { return };
        self.memory.release(&mut client.share.input_bytes);
        self.memory.release(&mut client.share.output_bytes);
        for place in client.backlog {
            self.requests.remove(place);
        }
    }
}

/// Gets the memory that the reply to a request needs, or has the client wait for it.
pub(super) fn make_room(memory: &mut Memory, client: &mut Connection, token: (u32, u32), pending: &Pending) -> bool {
    let data = if pending.errno.is_none() && pending.request.kind == Kind::Read { pending.request.bytes as usize } else { 0 };
    let growth = client.growth(REPLY_BYTES + data);
    let has_room = memory.claim(token, growth, &mut client.share.lacks_bytes);
    if has_room && growth > 0 {
        client.share.output_bytes += growth;
        client.grow(growth);
        client.moved_at = wall_ns();
    }
    has_room
}

/// Puts the reply to a request among what its client is to be sent. Returns whether the request failed.
pub(super) fn put_reply(client: &mut Connection, data: &mut dyn Data, pending: &Pending) -> bool {
    let Request { kind, cookie, offset, bytes, .. } = pending.request;
    client.outstanding -= 1;
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
