//! One client: bytes that have come and are not read yet, replies that are not sent yet.

use crate::address::Stream;
use crate::lateness::Io;
use crate::limits::{INPUT_BYTES, NEGOTIATION_BYTES, OUTPUT_BYTES, OUTSTANDING_MAX, TURN_BYTES, UNDER_WAY_BYTES_MAX, UNSENT_BYTES_MAX};
use crate::memory::Share;
use crate::nbd::handshake::Handshake;
use rustix::event::epoll::EventFlags;
use std::collections::VecDeque;
use std::io;
use tinytail_core::units::Ns;

/// A reply that was put among those to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Released {
    /// What was done.
    pub io: Io,
    /// When it was to leave, on the wall clock.
    pub due: u64,
    /// What it took by the model.
    pub latency_ns: Ns,
}

/// What reading a client's socket came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// Bytes have come.
    Some,
    /// None are there now.
    Nothing,
    /// The client sends no more.
    End,
}

/// One client.
#[derive(Debug)]
pub struct Connection {
    /// Its socket.
    pub stream: Stream,
    /// Tells it from others that had the same place before.
    pub generation: u32,
    /// The negotiation, until it has ended.
    pub handshake: Option<Handshake>,
    /// Reads are answered with structured replies.
    pub structured: bool,
    /// So many bytes must have come before anything can be done with those that have.
    pub wanted: usize,
    /// Bytes of payload that nobody wants and that are to be skipped.
    pub skip: u64,
    /// Requests of it that are under way.
    pub outstanding: u32,
    /// Bytes that those read or write.
    pub under_way_bytes: u64,
    /// Those that are done in pieces, as far as pieces are left.
    pub long: VecDeque<u32>,
    /// A piece of it is in the drive, or is the next but for those of others.
    pub has_turn: bool,
    /// Requests that are done and whose replies wait until the client has read others.
    pub backlog: VecDeque<u32>,
    /// It is to be closed when all that is under way has been answered.
    pub leaving: bool,
    /// Bytes that have come were left unread, because too much is under way, or because others have their turn.
    pub stalled: bool,
    /// There is something to be done for it in this turn.
    pub is_dirty: bool,
    /// What it has of the memory of all clients.
    pub share: Share,
    /// When it came, on the wall clock.
    pub came_at: u64,
    /// Replies since something was sent last.
    pub released: Vec<Released>,
    /// What is to be sent.
    pub out: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// What the system has been told to watch.
    pub watched: EventFlags,
}

impl Connection {
    /// A client that has just come.
    pub fn new(stream: Stream, generation: u32, now: u64) -> Self {
        Self {
            stream,
            generation,
            handshake: None,
            structured: false,
            wanted: 0,
            skip: 0,
            outstanding: 0,
            under_way_bytes: 0,
            long: VecDeque::new(),
            has_turn: false,
            backlog: VecDeque::new(),
            leaving: false,
            stalled: false,
            is_dirty: false,
            share: Share::default(),
            came_at: now,
            released: Vec::new(),
            out: Vec::new(),
            sent: 0,
            input: Vec::new(),
            start: 0,
            end: 0,
            watched: EventFlags::empty(),
        }
    }

    /// Reads the socket once, with room for what is wanted.
    ///
    /// # Errors
    /// The client has vanished.
    pub fn receive(&mut self) -> io::Result<Received> {
        if self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let least = if self.handshake.is_some() { NEGOTIATION_BYTES } else { INPUT_BYTES };
        // Twice what has come, at most: what a client says it will send is not believed before it does.
        let room = self.wanted.clamp(least, least.max(2 * self.end)).max(self.end + 1);
        if self.input.len() < room {
            self.input.reserve_exact(room - self.input.len());
            self.input.resize(room, 0);
        }
        loop {
            return match self.stream.read(&mut self.input[self.end..]) {
                Ok(0) => Ok(Received::End),
                Ok(count) => {
                    self.end += count;
                    Ok(Received::Some)
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Received::Nothing),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
        }
    }

    /// The bytes that have come and are not used yet.
    pub fn unread(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    /// The first bytes of those are used.
    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.len() > INPUT_BYTES {
                self.input = Vec::new();
            }
        }
    }

    /// Skips payload that nobody wants, as far as it has come.
    pub fn skip_payload(&mut self) {
        let skipped = self.skip.min((self.end - self.start) as u64);
        self.skip -= skipped;
        self.consume(skipped as usize);
    }

    /// The client has so much to read that nothing more is put before it. Where memory of all is short, it is to give back what it
    /// has of it before it gets more.
    pub fn is_full(&self, short: bool) -> bool {
        self.unsent_bytes() >= UNSENT_BYTES_MAX || short && self.share.output_bytes > 0
    }

    /// Bytes of replies that the socket has not taken yet.
    pub fn unsent_bytes(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Everything has been sent.
    pub fn is_sent(&self) -> bool {
        self.out.is_empty()
    }

    /// By how much the buffer of what is to be sent must grow beyond what each client may have, to hold so many bytes more.
    pub fn growth(&mut self, bytes: usize) -> usize {
        self.drop_sent();
        let needed = self.out.len() + bytes;
        if needed > self.out.capacity() && needed <= OUTPUT_BYTES {
            self.out.reserve_exact(needed.next_power_of_two() - self.out.len());
        }
        needed.next_multiple_of(OUTPUT_BYTES).saturating_sub(self.out.capacity().max(OUTPUT_BYTES))
    }

    /// Lets that buffer grow.
    pub fn grow(&mut self, bytes: usize) {
        self.out.reserve_exact(self.out.capacity().max(OUTPUT_BYTES) + bytes - self.out.len());
    }

    /// Sends what there is room for, up to what a turn allows. A buffer that is larger than what is left needs is given back.
    ///
    /// # Errors
    /// The client has vanished.
    pub fn send(&mut self) -> io::Result<()> {
        let end = self.out.len().min(self.sent + TURN_BYTES as usize);
        while self.sent < end {
            match self.stream.write(&self.out[self.sent..end]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.sent == self.out.len() {
            self.sent = 0;
            self.out.clear();
        }
        if self.out.capacity() > OUTPUT_BYTES && self.unsent_bytes() <= OUTPUT_BYTES {
            self.out = self.out[self.sent..].to_vec();
            self.sent = 0;
        }
        Ok(())
    }

    /// What has been sent leaves the buffer, where that is more than what is left: so it does not grow for ever.
    fn drop_sent(&mut self) {
        if self.sent > self.unsent_bytes() {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// It has no more than each client may.
    pub fn has_small_output(&self) -> bool {
        self.out.capacity() <= OUTPUT_BYTES
    }

    /// Whether its next request may be taken, where memory of all is short or not. One that has got room to come may always.
    pub fn may_begin(&self, short: bool) -> bool {
        let has_room = self.outstanding < OUTSTANDING_MAX && self.under_way_bytes < UNDER_WAY_BYTES_MAX;
        self.share.input_bytes > 0 || has_room && !self.is_full(short) && self.backlog.is_empty() && self.share.lacks_bytes == 0
    }

    /// Whether what it sends is to be read. Who negotiates has to take the answers first.
    pub fn is_heard(&self) -> bool {
        let waits = self.stalled || self.share.lacks_bytes > 0 || self.handshake.is_some() && !self.is_sent();
        !self.leaving && (self.share.input_bytes > 0 || !waits)
    }

    /// Whether something can be done for it before anything happens: it is to have another turn.
    pub fn has_more(&self, short: bool) -> bool {
        self.is_sent() && !self.backlog.is_empty() && self.share.lacks_bytes == 0 || self.stalled && !self.leaving && self.may_begin(short)
    }

    /// What the system should watch.
    pub fn interest(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        if self.is_heard() {
            flags |= EventFlags::IN;
        }
        if !self.is_sent() {
            flags |= EventFlags::OUT;
        }
        flags
    }

    /// Whether nothing is left to be done for a client that has left.
    pub fn is_over(&self) -> bool {
        self.leaving && self.outstanding == 0 && self.backlog.is_empty() && self.is_sent()
    }
}
