//! The way between host and drive: the fixed time of every command, and the link with its two directions.
//!
//! Each direction carries one piece at a time, in the order in which pieces are ready. So the end of a piece is known when it
//! is ready, and an event is needed only where somebody waits for it: for each page of a write, and for the last of a read.

use crate::attribution::trail::Passing;
use crate::commands::Command;
use crate::event::EventQueue;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::host::path::{BEGIN, Due, INWARD, OUTWARD};
use crate::host::state::link_ns;
use crate::host::tiers::{Drive, WithHost};
use crate::ids::{Lpn, NONE};
use crate::observe::{BUFFER, Observer, TrafficClass};
use crate::raid::front::WithRaid;
use crate::units::Ns;

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    fn path_slot(&self, which: usize) -> usize {
        self.flash.extra_slot(which)
    }

    /// The device has taken a command, and begins with it after its fixed time.
    #[cold]
    pub(super) fn begin_later(&mut self, request: u32) {
        let path = &mut self.up.up.up.host.path;
        let at = self.flash.now + path.overhead_ns;
        if path.beginning.push(at, request) {
            self.queue.schedule(self.path_slot(BEGIN), at);
        }
    }

    /// An event of the way.
    #[cold]
    pub(crate) fn path_event(&mut self, which: usize) {
        let now = self.flash.now;
        loop {
            let host = &mut self.up.up.up.host;
            match host.path.take_due(which, now) {
                Some(Due::Begins { request }) => {
                    let command = host.requests[request as usize].command;
                    self.begin_command(request, &command);
                }
                Some(Due::PageCrossed { request, lpn }) => self.page_crossed(request, lpn),
                Some(Due::ReadCrossed { request, op }) => {
                    self.complete(request, Some(op));
                    self.flash.ops.remove(op);
                }
                None => {
                    if let Some(at) = host.path.next_at(which) {
                        self.queue.schedule(self.path_slot(which), at);
                    }
                    return;
                }
            }
        }
    }

    /// The data of a write are enqueued for the link, page by page.
    #[cold]
    pub(super) fn cross_to_device(&mut self, request: u32, command: &Command) {
        let (now, device) = (self.flash.now, &self.flash.device);
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let pages = host.pages(command);
        let first = host.page_of(command.sector);
        let inward = &mut host.path.inward;
        let start = inward.start(now);
        let (mut end, mut event_at, mut count) = (start, None, 0);
        for (lpn, _, sectors) in pages {
            let ns = link_ns(device, sectors);
            end = inward.carry(now, ns) + ns;
            if inward.reports.push(end, (request, lpn)) {
                event_at = Some(end);
            }
            count += 1;
        }
        let state = &mut host.requests[request as usize];
        (state.link_wait_ns, state.link_ns, state.crossed) = (start - now, end - start, first);
        if !raid.buffer.exists() {
            state.pending = count;
        }
        if let Some(at) = event_at {
            self.queue.schedule(self.path_slot(INWARD), at);
        }
    }

    /// A page of a write has reached the device.
    fn page_crossed(&mut self, request: u32, lpn: Lpn) {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let state = &mut host.requests[request as usize];
        state.crossed = lpn + 1;
        if !raid.buffer.exists() {
            let command = state.command;
            let (first_sector, sectors) = host.part_of_page(&command, lpn);
            return self.direct_write(request, lpn, first_sector, sectors);
        }
        match raid.buffer.waiting().back() {
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
        let host = &mut self.up.up.up.host;
        let start = host.path.outward.carry(now, ns);
        let state = &mut host.requests[request as usize];
        if state.pending > 0 {
            return false;
        }
        (state.link_wait_ns, state.link_ns) = (start - now, ns);
        let keeper = op.unwrap_or_else(|| {
            // The attribution needs a place until the last piece has crossed.
            let keeper =
                self.flash.new_op(Op::new(OpKind::Read, Class::HostRead, TrafficClass::HostRead, Owner::Request(request), NONE, 0));
            std::mem::swap(&mut host.path_attribution, self.flash.attribution_mut(keeper));
            keeper
        });
        if host.path.outward.reports.push(start + ns, (request, keeper)) {
            self.queue.schedule(self.path_slot(OUTWARD), start + ns);
        }
        true
    }

    /// A page of a read of so many sectors has left the flash. Returns whether the operation that has its attribution is still
    /// needed.
    #[cold]
    pub(super) fn page_left_flash(&mut self, request: u32, op: Option<u32>, asked: u32) -> bool {
        let per_page = self.flash.device.geometry.sectors_per_unit();
        // A job that stands for a read of one page does not say which sectors were asked for.
        let sectors = op.map_or(asked.min(per_page) as u16, |op| self.flash.ops[op as usize].sectors.into());
        let ns = link_ns(&self.flash.device, sectors);
        self.cross_to_host(request, op, ns)
    }

    /// The pages of a read that need no flash have left the RAM.
    #[cold]
    pub(super) fn pages_left_ram(&mut self, request: u32) {
        let host = &mut self.up.up.up.host;
        let state = &mut host.requests[request as usize];
        let ns = state.ram_link_ns;
        if state.part_done(false) {
            let (now, ram_ns) = (self.flash.now, self.flash.device.timing.ram_ns);
            host.path_attribution.add(BUFFER, ram_ns);
            if O::TRACED {
                host.path_attribution.trace(now - ram_ns, now, NONE, Passing::Own(BUFFER as u8));
            }
        }
        self.cross_to_host(request, None, ns);
    }

    /// A request has the pages that a reconstruction stands for, and `path_attribution` what they took.
    pub(super) fn rebuilt(&mut self, request: u32, gc_blocked: bool, link_sectors: u32) {
        let host = &mut self.up.up.up.host;
        let last = host.requests[request as usize].part_done(gc_blocked);
        if host.path.has_link {
            let ns = link_ns(&self.flash.device, link_sectors as u16);
            self.cross_to_host(request, None, ns);
        } else if last {
            self.complete(request, None);
        }
    }
}
