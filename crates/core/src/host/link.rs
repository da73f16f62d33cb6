//! The way between host and drive: the fixed time of every command, and the link with its two directions.
//!
//! Each direction carries one piece at a time, in the order in which pieces are ready. So the end of a piece is known when it
//! is ready, and an event is needed only where somebody waits for it: for each page of a write, and for the last of a read.

use crate::attribution::trail::Passing;
use crate::commands::request::Request;
use crate::commands::{Command, CommandKind};
use crate::context::{Context, Watched};
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::upper::Upper;
use crate::host::path::{BEGIN, INWARD, OUTWARD};
use crate::host::tiers::Tiers;
use crate::ids::{Lpn, NONE};
use crate::observe::{BUFFER, TrafficClass};
use crate::units::{Ns, SECTOR_BYTES};

impl<Q: EventQueue, U: Watched> Engine<Q, Tiers<U>>
where
    Self: Context,
{
    /// Link time of sectors.
    pub(crate) fn link_ns(&self, sectors: u16) -> Ns {
        self.flash.device.host.link_ns(u64::from(sectors) * u64::from(SECTOR_BYTES))
    }

    fn path_slot(&self, which: usize) -> usize {
        self.flash.extra_slot(which)
    }

    /// The device has taken a command, and begins with it after its fixed time.
    #[cold]
    pub(super) fn begin_later(&mut self, request: u32) {
        let at = self.flash.now + self.up.up.up.host.path.overhead_ns;
        if self.up.up.up.host.path.beginning.is_empty() {
            self.queue.schedule(self.path_slot(BEGIN), at);
        }
        self.up.up.up.host.path.beginning.push_back((at, request));
    }

    /// An event of the way.
    #[cold]
    pub(crate) fn path_event(&mut self, which: usize) {
        let now = self.flash.now;
        let slot = self.path_slot(which);
        let next = match which {
            BEGIN => {
                while let Some(&(at, request)) = self.up.up.up.host.path.beginning.front()
                    && at <= now
                {
                    self.up.up.up.host.path.beginning.pop_front();
                    let command = self.up.up.up.host.requests[request as usize].command;
                    self.begin_command(request, &command);
                }
                self.up.up.up.host.path.beginning.front().map(|&(at, _)| at)
            }
            INWARD => {
                while let Some((request, lpn)) = self.up.up.up.host.path.inward.crossed(now) {
                    self.page_crossed(request, lpn);
                }
                self.up.up.up.host.path.inward.queue.front().map(|&(at, ..)| at)
            }
            _ => {
                while let Some((request, op)) = self.up.up.up.host.path.outward.crossed(now) {
                    self.complete(request, Some(op));
                    self.flash.ops.remove(op);
                }
                self.up.up.up.host.path.outward.queue.front().map(|&(at, ..)| at)
            }
        };
        if let Some(at) = next {
            self.queue.schedule(slot, at);
        }
    }

    /// The data of a write are enqueued for the link, page by page.
    #[cold]
    pub(super) fn cross_to_device(&mut self, request: u32, command: &Command) {
        let now = self.flash.now;
        if self.up.up.up.host.path.inward.queue.is_empty() {
            let first = self.pages(command).next().map_or(0, |(_, _, sectors)| self.link_ns(sectors));
            self.queue.schedule(self.path_slot(INWARD), self.up.up.up.host.path.inward.free_at.max(now) + first);
        }
        let start = self.up.up.up.host.path.inward.free_at.max(now);
        let mut pages = 0;
        for (lpn, _, sectors) in self.pages(command) {
            let ns = self.link_ns(sectors);
            let end = self.up.up.up.host.path.inward.carry(now, ns) + ns;
            self.up.up.up.host.path.inward.queue.push_back((end, request, lpn));
            pages += 1;
        }
        let buffered = self.up.up.raid.buffer.exists();
        let state = &mut self.up.up.up.host.requests[request as usize];
        state.link_wait_ns = start - now;
        state.link_ns = self.up.up.up.host.path.inward.free_at - start;
        state.crossed = (command.sector >> self.up.up.up.host.sector_shift) as Lpn;
        if !buffered {
            state.pending = pages;
        }
    }

    /// A page of a write has reached the device.
    fn page_crossed(&mut self, request: u32, lpn: Lpn) {
        let state = &mut self.up.up.up.host.requests[request as usize];
        state.crossed = lpn + 1;
        let command = state.command;
        if !self.up.up.raid.buffer.exists() {
            let (first_sector, sectors) = self.part_of_page(&command, lpn);
            return self.direct_write(request, lpn, first_sector, sectors);
        }
        match self.up.up.raid.buffer.waiting().back() {
            // Pages cross in order, so a write that waits already takes this one in its turn.
            Some(last) if last.request == request => {}
            Some(_) => self.wait_for_room(request, lpn),
            None => {
                if let Some(next_lpn) = self.insert_pages(request, lpn) {
                    self.wait_for_room(request, next_lpn);
                }
            }
        }
    }

    /// A part of a read has left the flash or the RAM and crosses the link in `ns`; with the last part the read completes. `op`
    /// has the part's attribution, or, without one, `path_attribution`. Returns whether the operation is still needed.
    #[cold]
    fn cross_to_host(&mut self, request: u32, op: Option<u32>, ns: Ns) -> bool {
        let now = self.flash.now;
        let start = self.up.up.up.host.path.outward.carry(now, ns);
        let state = &mut self.up.up.up.host.requests[request as usize];
        if state.pending > 0 {
            return false;
        }
        state.link_wait_ns = start - now;
        state.link_ns = ns;
        let keeper = op.unwrap_or_else(|| {
            // The attribution needs a place until the last piece has crossed.
            let keeper =
                self.flash.new_op(Op::new(OpKind::Read, Class::HostRead, TrafficClass::HostRead, Owner::Request(request), NONE, 0));
            std::mem::swap(&mut self.up.up.up.host.path_attribution, self.flash.attribution_mut(keeper));
            keeper
        });
        if self.up.up.up.host.path.outward.queue.is_empty() {
            self.queue.schedule(self.path_slot(OUTWARD), start + ns);
        }
        self.up.up.up.host.path.outward.queue.push_back((start + ns, request, keeper));
        true
    }

    /// A page of a read has left the flash. Returns whether the operation that has its attribution is still needed.
    #[cold]
    pub(super) fn page_left_flash(&mut self, request: u32, op: Option<u32>) -> bool {
        let per_page = self.flash.device.geometry.sectors_per_unit();
        // A job that stands for a read of one page does not say which sectors were asked for.
        let sectors = op.map_or_else(
            || self.up.up.up.host.requests[request as usize].command.sectors.min(per_page) as u16,
            |op| self.flash.ops[op as usize].sectors.into(),
        );
        let ns = self.link_ns(sectors);
        self.cross_to_host(request, op, ns)
    }

    /// The pages of a read that need no flash have left the RAM.
    #[cold]
    pub(super) fn pages_left_ram(&mut self, request: u32) {
        let state = &mut self.up.up.up.host.requests[request as usize];
        state.pending -= 1;
        let ns = state.ram_link_ns;
        if state.pending == 0 {
            let (now, ram_ns) = (self.flash.now, self.flash.device.timing.ram_ns);
            self.up.up.up.host.path_attribution.add(BUFFER, ram_ns);
            if Self::TRACED {
                self.up.up.up.host.path_attribution.trace(now - ram_ns, now, NONE, Passing::Own(BUFFER as u8));
            }
        }
        self.cross_to_host(request, None, ns);
    }

    /// Waiting for the link and using it, along the path that finished last.
    #[cold]
    pub(super) fn link_times(&self, request: &Request) -> (Ns, Ns) {
        let direct = request.command.kind == CommandKind::Write && !self.up.up.raid.buffer.exists();
        if !direct || !self.up.up.up.host.path.has_link {
            return (request.link_wait_ns, request.link_ns);
        }
        // The page that was programmed last need not be the one that crossed last.
        let crossed = self.pages(&request.command).take_while(|&(lpn, ..)| lpn <= self.up.up.up.host.programmed_last);
        (request.link_wait_ns, crossed.map(|(_, _, sectors)| self.link_ns(sectors)).sum())
    }

    /// A request has the pages that a reconstruction stands for, and `path_attribution` what they took.
    pub(super) fn rebuilt(&mut self, request: u32, gc_blocked: bool, link_sectors: u32) {
        let state = &mut self.up.up.up.host.requests[request as usize];
        state.gc_blocked |= gc_blocked;
        state.pending -= 1;
        let last = state.pending == 0;
        if self.up.up.up.host.path.has_link {
            let ns = self.link_ns(link_sectors as u16);
            self.cross_to_host(request, None, ns);
        } else if last {
            self.complete(request, None);
        }
    }
}
