//! One client: bytes that have come and are not read yet, replies that are not sent yet.

use crate::address::Stream;
use crate::lateness::Io;
use crate::memory::Share;
use crate::nbd::handshake::Handshake;
use rustix::event::epoll::EventFlags;
use std::collections::VecDeque;
use std::io;
use tinytail_core::units::Ns;

/// Bytes that are asked for at a time, at least.
const READ_BYTES: usize = 256 << 10;
/// Bytes that a client may have come, and as many to be sent, without a share of the memory of all; and what buffers grow by.
/// Those that are larger are given back when they are empty.
pub const ALLOWED_BYTES: usize = READ_BYTES;
/// With more bytes of replies waiting, nothing more is done for the client until it has read them.
const UNSENT_BYTES_MAX: usize = 1 << 20;
/// Requests of one client that may be under way at a time; others stay in the socket.
pub const OUTSTANDING_MAX: u32 = 1024;

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
    /// Requests that are done and whose replies wait until the client has read others.
    pub backlog: VecDeque<u32>,
    /// It is to be closed when all that is under way has been answered.
    pub leaving: bool,
    /// Bytes that have come were left unread, because too much is under way.
    pub stalled: bool,
    /// What it has of the memory of all clients.
    pub share: Share,
    /// When it came, on the wall clock.
    pub came_at: u64,
    /// When it last got memory, or bytes of it came or went.
    pub moved_at: u64,
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
            backlog: VecDeque::new(),
            leaving: false,
            stalled: false,
            share: Share::default(),
            came_at: now,
            moved_at: now,
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
        // Twice what has come, at most: what a client says it will send is not believed before it does.
        let room = self.wanted.clamp(READ_BYTES, READ_BYTES.max(2 * self.end)).max(self.end + 1);
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
            if self.input.len() > ALLOWED_BYTES {
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

    /// The client has so much to read that nothing more is put before it.
    pub fn is_full(&self) -> bool {
        self.unsent_bytes() >= UNSENT_BYTES_MAX
    }

    /// Bytes of replies that the socket has not taken yet.
    pub fn unsent_bytes(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Everything has been sent.
    pub fn is_sent(&self) -> bool {
        self.out.is_empty()
    }

    /// By how much the buffer of what is to be sent must grow to hold so many bytes more.
    pub fn growth(&self, bytes: usize) -> usize {
        let needed = (self.out.len() + bytes).next_multiple_of(ALLOWED_BYTES);
        needed.saturating_sub(self.out.capacity().max(ALLOWED_BYTES))
    }

    /// Lets that buffer grow.
    pub fn grow(&mut self, bytes: usize) {
        self.out.reserve_exact(self.out.capacity().max(ALLOWED_BYTES) + bytes - self.out.len());
    }

    /// Sends what there is room for. Returns whether anything has gone.
    ///
    /// # Errors
    /// The client has vanished.
    pub fn send(&mut self) -> io::Result<bool> {
        let before = self.sent;
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(self.sent > before),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let has_sent = self.sent > before;
        self.sent = 0;
        self.out.clear();
        if self.out.capacity() > ALLOWED_BYTES {
            self.out = Vec::new();
        }
        Ok(has_sent)
    }

    /// What the system should watch.
    pub fn interest(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        if !self.leaving && !self.stalled && self.share.lacks_bytes == 0 {
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
