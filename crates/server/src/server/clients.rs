//! What a server does for one client: takes it, reads its requests, sends its replies, and forgets it.

use crate::clock::wall_ns;
use crate::connection::{Connection, OUTSTANDING_MAX, Received};
use crate::data::Data;
use crate::nbd::Violation;
use crate::nbd::handshake::{Handshake, Progress};
use crate::nbd::transmission::{Kind, Parsed, REQUEST_BYTES, Request, parse, put_data_header, put_done, put_error};
use crate::requests::Pending;
use crate::server::{CLIENTS_MAX, LISTENER, Server, errno_of};
use rustix::event::epoll::{self, EventFlags};
use std::io;
use tinytail_metrics::Measures;

/// Copying so many bytes into a socket takes microseconds.
const LONG_BYTES: usize = 64 << 10;

impl<M: Measures> Server<M> {
    /// Takes the clients that wait.
    pub(super) fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(None) => return,
                // A client beyond them is hung up on.
                Ok(Some(_)) if self.clients.iter().flatten().count() >= CLIENTS_MAX => {}
                Ok(Some(stream)) => {
                    let free = self.clients.iter().position(Option::is_none);
                    let index = free.unwrap_or_else(|| {
                        self.clients.push(None);
                        self.clients.len() - 1
                    });
                    let mut client = Box::new(Connection::new(stream, self.generation));
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

    /// A client's socket is ready for something.
    pub(super) fn serve(&mut self, index: u32, flags: EventFlags) {
        let Some(client) = &mut self.clients[index as usize] else { return };
        if flags.contains(EventFlags::IN) {
            match client.receive() {
                Ok(Received::Some) => self.read_requests(index),
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
            let mut out = std::mem::take(&mut client.out);
            let result = handshake.feed(client.unread(), &mut out);
            client.out = out;
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
                    break;
                }
                Parsed::Request(request, payload, used) => {
                    self.begin(request, payload, (index, client.generation), at);
                    client.outstanding += 1;
                    client.consume(used);
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
            {
                client.backlog.pop_front();
                let pending = *self.requests.get(place);
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
        let Some(client) = self.clients[index as usize].take() else { return };
        for place in client.backlog {
            self.requests.remove(place);
        }
    }
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
