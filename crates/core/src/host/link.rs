//! The way between host and drive: the fixed time of every command, and the link with its two directions.
//!
//! Each direction carries one piece at a time, in the order in which pieces are ready. So the end of a piece is known when it
//! is ready, and an event is needed only where somebody waits for it: for each page of a write, and for the last of a read.

use crate::commands::Command;
use crate::context::Context;
use crate::flash::RAM;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::host::path::{BEGIN, HostPath, INWARD, OUTWARD};
use crate::host::state::link_ns;
use crate::host::tiers::{Drive, WithHost};
use crate::ids::{Lpn, NONE};
use crate::observe::{Observer, TrafficClass};
use crate::raid::front::WithRaid;
use crate::techniques::PlacePolicy;
use crate::units::Ns;

impl<O: Observer> Drive<O> {
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
        let host = &mut self.up.up.up.host;
        let (first, pages) = (host.page_of(command.sector), host.pages(command));
        let HostPath { inward, due, .. } = &mut host.path;
        let start = inward.start(now);
        let mut end = start;
        for (lpn, _, sectors) in pages {
            let ns = link_ns(&self.flash.device, sectors.into());
            end = inward.carry(now, ns) + ns;
            if due[INWARD].push(end, request, lpn) {
                self.queue.schedule(self.flash.extra_slot(INWARD), end);
            }
        }
        let state = &mut host.requests[request as usize];
        (state.link_wait_ns, state.link_ns, state.crossed) = (start - now, end - start, first);
    }

    /// A page of a write has reached the device.
    fn page_crossed(&mut self, request: u32, lpn: Lpn) {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        host.requests[request as usize].crossed = lpn + 1;
        if raid.buffer.exists() {
            return self.write_to_buffer(request, lpn);
        }
        self.enqueue_together(|drive| {
            let joined = drive.pages_joining(request, lpn);
            (lpn..=lpn + joined).for_each(|lpn| drive.direct_write(request, lpn));
        });
    }

    /// How many pages of a write are written with one that has crossed, although they are still crossing: those that a multi-plane
    /// command takes together with it, and that have crossed when the channel has taken the pages before them to the die.
    fn pages_joining(&mut self, request: u32, lpn: Lpn) -> u32 {
        let joins = self.flash.traits.starts_together && self.flash.device.flash.multi_plane_program;
        // Elsewhere nobody knows the die of a page before it has crossed.
        if !joins || !matches!(self.policies().place, PlacePolicy::Static(_)) {
            return 0;
        }
        let page = self.flash.device.transfer_ns(self.flash.device.geometry.sectors_per_unit());
        let mut turn = self.flash.now + self.flash.device.timing.command_ns;
        let die_of = |drive: &mut Self, lpn| drive.ask(|policies, view| view.geometry().die_of(policies.place.plane(view, lpn)));
        let die = die_of(self, lpn);
        let mut joined = 0;
        while self.seen().die_is_idle(die)
            && let Some((at, of, next)) = self.up.up.up.host.path.due[INWARD].first()
            && (at <= turn + page && of == request && die_of(self, next) == die)
        {
            (turn, joined) = (turn + page, joined + 1);
            let host = &mut self.up.up.up.host;
            host.path.due[INWARD].take_early();
            host.requests[request as usize].crossed = next + 1;
            host.direct.joining.push((request, next));
        }
        joined
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
}
