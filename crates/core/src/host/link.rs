//! The way between host and drive: the fixed time of every command, and the link with its two directions.
//!
//! Each direction carries one piece at a time, in the order in which pieces are ready. So the end of a piece is known when it
//! is ready, and an event is needed only where somebody waits for it: for each page of a write, and for the last of a read.

use crate::commands::Command;
use crate::event::EventQueue;
use crate::flash::RAM;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::host::path::{BEGIN, HostPath, INWARD, OUTWARD};
use crate::host::state::link_ns;
use crate::host::tiers::{Drive, WithHost};
use crate::ids::{Lpn, NONE};
use crate::observe::{Observer, TrafficClass};
use crate::raid::front::WithRaid;
use crate::units::Ns;

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Something of a request is due at a time; an event comes for the first that is due in a slot.
    #[inline]
    pub(super) fn make_due(&mut self, which: usize, at: Ns, request: u32, what: u32) {
        if self.up.up.up.host.path.due[which].push(at, request, what) {
            self.queue.schedule(self.flash.extra_slot(which), at);
        }
    }

    /// An event of the RAM or of the way: takes what is due.
    #[inline]
    pub(crate) fn path_event(&mut self, which: usize) {
        loop {
            let host = &mut self.up.up.up.host;
            let due = &mut host.path.due[which];
            let Some((request, what)) = due.take(self.flash.now) else {
                if let Some(at) = due.next_at() {
                    self.queue.schedule(self.flash.extra_slot(which), at);
                }
                return;
            };
            match which {
                RAM => self.served_by_ram(request),
                BEGIN => {
                    let command = host.requests[request as usize].command;
                    self.begin_command(request, &command);
                }
                INWARD => self.page_crossed(request, what),
                _ => {
                    self.complete(request, Some(what));
                    self.flash.ops.remove(what);
                }
            }
        }
    }

    /// The data of a write are enqueued for the link, page by page.
    #[cold]
    pub(super) fn cross_to_device(&mut self, request: u32, command: &Command) {
        let now = self.flash.now;
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let (first, pages) = (host.page_of(command.sector), host.pages(command));
        let HostPath { inward, due, .. } = &mut host.path;
        let start = inward.start(now);
        let (mut end, mut count) = (start, 0);
        for (lpn, _, sectors) in pages {
            let ns = link_ns(&self.flash.device, sectors);
            end = inward.carry(now, ns) + ns;
            if due[INWARD].push(end, request, lpn) {
                self.queue.schedule(self.flash.extra_slot(INWARD), end);
            }
            count += 1;
        }
        let state = &mut host.requests[request as usize];
        (state.link_wait_ns, state.link_ns, state.crossed) = (start - now, end - start, first);
        if !raid.buffer.exists() {
            state.pending = count;
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
    pub(super) fn cross_to_host(&mut self, request: u32, op: Option<u32>, ns: Ns) -> bool {
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
        self.make_due(OUTWARD, start + ns, request, keeper);
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
