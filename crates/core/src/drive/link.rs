//! The way between host and drive: the fixed time of every command, and the link with its two directions.
//!
//! Each direction carries one piece at a time, in the order in which pieces are ready. So the end of a piece is known when it
//! is ready, and an event is needed only where somebody waits for it: for each page of a write, and for the last of a read.

use crate::device::Device;
use crate::drive::Drive;
use crate::event::EventQueue;
use crate::host::{Command, CommandKind};
use crate::ids::{Lpn, NONE};
use crate::observe::{BUFFER, Observer, Occupant};
use crate::ram::WaitingWrite;
use crate::sched::ops::{Class, Op, OpKind, Owner};
use crate::state::Request;
use crate::story::Passing;
use crate::units::{Ns, SECTOR_BYTES};
use std::collections::VecDeque;

/// One direction of the link, with what is to be heard of on it: when, of which request, and what of it.
#[derive(Debug, Default)]
struct Direction {
    free_at: Ns,
    line: VecDeque<(Ns, u32, u32)>,
}

impl Direction {
    /// A piece that is ready takes the next `ns` of it. Returns when it starts.
    fn carry(&mut self, now: Ns, ns: Ns) -> Ns {
        let start = self.free_at.max(now);
        self.free_at = start + ns;
        start
    }

    /// The next piece that has crossed by now.
    fn crossed(&mut self, now: Ns) -> Option<(u32, u32)> {
        let &(at, request, what) = self.line.front()?;
        if at > now {
            return None;
        }
        self.line.pop_front();
        Some((request, what))
    }
}

/// What lies between host and drive.
#[derive(Debug)]
pub(super) struct HostPath {
    pub overhead_ns: Ns,
    pub has_link: bool,
    /// Commands whose fixed time runs, in order of its end.
    beginning: VecDeque<(Ns, u32)>,
    /// To the device: pages of writes.
    inward: Direction,
    /// To the host: reads whose last page is on the way, with the operation that has their blame.
    outward: Direction,
}

/// The events of the way, by their place among the event slots that are no die's and no channel's.
const BEGIN: usize = 2;
const INWARD: usize = 3;
const OUTWARD: usize = 4;

impl HostPath {
    pub fn new(device: &Device) -> Self {
        Self {
            overhead_ns: device.host.overhead_ns,
            has_link: device.host.link_bytes_per_us.is_some(),
            beginning: VecDeque::new(),
            inward: Direction::default(),
            outward: Direction::default(),
        }
    }

    /// Whether it takes any time.
    #[inline]
    pub fn takes_time(&self) -> bool {
        self.has_link || self.overhead_ns > 0
    }
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Link time of sectors.
    pub(super) fn link_ns(&self, sectors: u16) -> Ns {
        self.state.device.host.link_ns(u64::from(sectors) * u64::from(SECTOR_BYTES))
    }

    fn path_slot(&self, which: usize) -> usize {
        self.state.dies.len() + self.state.channels.len() + which
    }

    /// The device has taken a command, and begins with it after its fixed time.
    #[inline(never)]
    pub(super) fn begin_later(&mut self, request: u32) {
        let at = self.state.now + self.path.overhead_ns;
        if self.path.beginning.is_empty() {
            self.queue.schedule(self.path_slot(BEGIN), at);
        }
        self.path.beginning.push_back((at, request));
    }

    /// An event of the way.
    #[inline(never)]
    pub(super) fn path_event(&mut self, slot: usize) {
        let now = self.state.now;
        let next = match slot - self.state.dies.len() - self.state.channels.len() {
            BEGIN => {
                while let Some(&(at, request)) = self.path.beginning.front()
                    && at <= now
                {
                    self.path.beginning.pop_front();
                    self.begin_command(request);
                }
                self.path.beginning.front().map(|&(at, _)| at)
            }
            INWARD => {
                while let Some((request, lpn)) = self.path.inward.crossed(now) {
                    self.page_crossed(request, lpn);
                }
                self.path.inward.line.front().map(|&(at, ..)| at)
            }
            _ => {
                while let Some((request, op)) = self.path.outward.crossed(now) {
                    self.complete(request, Some(op));
                    self.state.ops.remove(op);
                }
                self.path.outward.line.front().map(|&(at, ..)| at)
            }
        };
        if let Some(at) = next {
            self.queue.schedule(slot, at);
        }
    }

    /// The data of a write line up for the link, page by page.
    #[inline(never)]
    pub(super) fn cross_to_device(&mut self, request: u32, command: &Command) {
        let now = self.state.now;
        if self.path.inward.line.is_empty() {
            let first = self.pages(command).next().map_or(0, |(_, _, sectors)| self.link_ns(sectors));
            self.queue.schedule(self.path_slot(INWARD), self.path.inward.free_at.max(now) + first);
        }
        let start = self.path.inward.free_at.max(now);
        let mut pages = 0;
        for (lpn, _, sectors) in self.pages(command) {
            let ns = self.link_ns(sectors);
            let end = self.path.inward.carry(now, ns) + ns;
            self.path.inward.line.push_back((end, request, lpn));
            pages += 1;
        }
        let buffered = self.state.buffer.exists();
        let state = &mut self.state.requests[request as usize];
        state.link_wait_ns = start - now;
        state.link_ns = self.path.inward.free_at - start;
        state.crossed = (command.sector >> self.state.sector_shift) as Lpn;
        if !buffered {
            state.pending = pages;
        }
    }

    /// A page of a write has reached the device.
    fn page_crossed(&mut self, request: u32, lpn: Lpn) {
        let state = &mut self.state.requests[request as usize];
        state.crossed = lpn + 1;
        let command = state.command;
        if !self.state.buffer.exists() {
            let (first_sector, sectors) = self.part_of_page(&command, lpn);
            return self.direct_write(request, lpn, first_sector, sectors);
        }
        match self.state.buffer.waiting.back() {
            // Pages cross in order, so a write that waits already takes this one in its turn.
            Some(last) if last.request == request => {}
            Some(_) => self.state.buffer.waiting.push_back(WaitingWrite { request, next_lpn: lpn }),
            None => {
                if let Some(next_lpn) = self.insert_pages(request, lpn) {
                    self.state.buffer.waiting.push_back(WaitingWrite { request, next_lpn });
                }
            }
        }
    }

    /// A part of a read has left the flash or the RAM and crosses the link in `ns`; with the last part the read completes. `op`
    /// has the part's blame, or, without one, `path_blame`. Returns whether the operation is still needed.
    #[inline(never)]
    pub(super) fn cross_to_host(&mut self, request: u32, op: Option<u32>, ns: Ns) -> bool {
        let now = self.state.now;
        let start = self.path.outward.carry(now, ns);
        let state = &mut self.state.requests[request as usize];
        if state.pending > 0 {
            return false;
        }
        state.link_wait_ns = start - now;
        state.link_ns = ns;
        let keeper = op.unwrap_or_else(|| {
            // The blame needs a place until the last piece has crossed.
            let keeper = self.state.new_op(Op::new(OpKind::Read, Class::HostRead, Occupant::HostRead, Owner::Request(request), NONE, 0));
            std::mem::swap(&mut self.path_blame, self.state.latencies.blame_mut(keeper));
            keeper
        });
        if self.path.outward.line.is_empty() {
            self.queue.schedule(self.path_slot(OUTWARD), start + ns);
        }
        self.path.outward.line.push_back((start + ns, request, keeper));
        true
    }

    /// A page of a read has left the flash. Returns whether the operation that has its blame is still needed.
    pub(super) fn page_left_flash(&mut self, request: u32, op: Option<u32>) -> bool {
        let per_page = self.state.device.geometry.sectors_per_page();
        // A job that stands for a read of one page does not say which sectors were asked for.
        let sectors = op.map_or_else(
            || self.state.requests[request as usize].command.sectors.min(per_page) as u16,
            |op| self.state.ops[op as usize].sectors.into(),
        );
        let ns = self.link_ns(sectors);
        self.cross_to_host(request, op, ns)
    }

    /// The pages of a read that need no flash have left the RAM.
    #[inline(never)]
    pub(super) fn pages_left_ram(&mut self, request: u32) {
        let state = &mut self.state.requests[request as usize];
        state.pending -= 1;
        let ns = state.ram_link_ns;
        if state.pending == 0 {
            let (now, ram_ns) = (self.state.now, self.state.device.timing.ram_ns);
            self.path_blame.add(BUFFER, ram_ns);
            if O::TOLD {
                self.path_blame.tell(now - ram_ns, now, NONE, Passing::Own(BUFFER as u8));
            }
        }
        self.cross_to_host(request, None, ns);
    }

    /// Waiting for the link and using it, along the path that finished last.
    #[inline(never)]
    pub(super) fn link_times(&self, request: &Request) -> (Ns, Ns) {
        let direct = request.command.kind == CommandKind::Write && !self.state.buffer.exists();
        if !direct || !self.path.has_link {
            return (request.link_wait_ns, request.link_ns);
        }
        // The page that was programmed last need not be the one that crossed last.
        let crossed = self.pages(&request.command).take_while(|&(lpn, ..)| lpn <= self.programmed_last);
        (request.link_wait_ns, crossed.map(|(_, _, sectors)| self.link_ns(sectors)).sum())
    }
}
