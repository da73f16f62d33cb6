//! What the host interface keeps.

use crate::attribution::parts::Attribution;
use crate::attribution::slot_waits::SlotWaits;
use crate::buffer::write_buffer::WaitingWrite;
use crate::commands::completion::Completion;
use crate::commands::request::Request;
use crate::commands::{Command, CommandKind};
use crate::device::Device;
use crate::host::counters::HostCounters;
use crate::host::path::{DirectWrites, HostPath, VoidPages};
use crate::host::queue::{HostQueue, Queued};
use crate::host::trace::trace_slot_wait;
use crate::ids::{Lpn, NONE};
use crate::observe::Observer;
use crate::slab::Slab;
use crate::units::{Ns, SECTOR_BYTES};

/// The host interface: queues, the way to the host, and requests.
#[derive(Debug)]
pub struct Host {
    /// Sectors of the drive.
    pub(crate) sectors: u64,
    /// Sectors of a page, as a power of two.
    sector_shift: u32,
    /// From a request's arrival to its deadline; `Ns::MAX` if it has none.
    pub(super) deadline_ns: Ns,
    pub(crate) counters: HostCounters,
    pub(super) queue: HostQueue,
    pub(super) requests: Slab<Request>,
    pub(super) path: HostPath,
    pub(super) completions: Vec<Completion>,
    pub(super) next_id: u64,
    pub(super) direct: DirectWrites,
    /// Pages of waiting writes that were given up. Only with a buffer.
    void_pages: Vec<VoidPages>,
    /// The attribution of a request that no single operation completes.
    pub(super) path_attribution: Attribution,
}

impl Host {
    /// That of a drive in which nothing is under way.
    pub(crate) fn new(device: &Device, deadline_ns: Ns) -> Self {
        Self {
            sectors: device.logical_sectors(),
            sector_shift: device.geometry.sectors_per_unit().trailing_zeros(),
            deadline_ns,
            counters: HostCounters::default(),
            queue: HostQueue::new(device.host.queue_depth, device.host.depth_per_queue, &device.host.queue_weights),
            requests: Slab::with_capacity(device.host.queue_depth as usize),
            path: HostPath::new(device),
            completions: Vec::new(),
            next_id: 0,
            direct: DirectWrites::new(),
            void_pages: Vec::new(),
            path_attribution: Attribution::default(),
        }
    }

    /// A loss of power: nothing is under way any more. Completions that nobody has taken stay; counters and numbers of requests go on.
    pub(crate) fn lose_power(&mut self, device: &Device) {
        let fresh = Self::new(device, self.deadline_ns);
        let old = std::mem::replace(self, fresh);
        (self.completions, self.next_id, self.counters) = (old.completions, old.next_id, old.counters);
    }

    /// Requests of a kind in the device.
    pub(crate) fn in_device(&self, kind: CommandKind) -> usize {
        self.queue.in_device(kind)
    }

    /// Gives a command of the host its number.
    #[inline]
    pub(super) fn number(&mut self, queue: u32, asked: Ns, arrived: Ns, command: Command) -> Queued {
        let id = self.next_id;
        self.next_id += 1;
        Queued { id, queue, asked, arrived, command }
    }

    /// The device takes a command now. Returns its request.
    #[inline(always)]
    pub(super) fn admit(&mut self, queued: Queued, now: Ns) -> u32 {
        let Queued { id, queue, asked, arrived, command } = queued;
        let slot_mix = if now > arrived { self.queue.waits.mix(arrived, now) } else { NONE };
        self.requests.insert(Request { queue, ..Request::new(id, (asked, arrived, now), slot_mix, command) })
    }

    /// The logical page of a sector.
    #[inline]
    pub(crate) fn page_of(&self, sector: u64) -> Lpn {
        (sector >> self.sector_shift) as Lpn
    }

    /// The last logical page of a command.
    #[inline]
    pub(super) fn last_page_of(&self, command: &Command) -> Lpn {
        self.page_of(command.sector + u64::from(command.sectors) - 1)
    }

    /// The pages of a command, each with its first sector and number of sectors.
    #[inline]
    pub(super) fn pages(&self, command: &Command) -> impl Iterator<Item = (Lpn, u16, u16)> + Clone + use<> {
        let (shift, command) = (self.sector_shift, *command);
        let end = command.sector + u64::from(command.sectors);
        (command.sector >> shift..((end - 1) >> shift) + 1).map(move |lpn| {
            let (first, sectors) = part_of_page(&command, lpn << shift, 1 << shift);
            (lpn as Lpn, first, sectors)
        })
    }

    /// The sectors of a page that a request has: the first in the page, and how many.
    pub(super) fn part_of(&self, request: u32, lpn: Lpn) -> (u16, u16) {
        part_of_page(&self.requests[request as usize].command, u64::from(lpn) << self.sector_shift, 1 << self.sector_shift)
    }

    /// The pages that a trim gives up, the first and the one after the last, and how many others it touches.
    pub(super) fn whole_pages(&self, command: &Command) -> (Lpn, Lpn, u64) {
        let shift = self.sector_shift;
        let (from, to) = (command.sector, command.sector + u64::from(command.sectors));
        let (first, end) = (from.div_ceil(1 << shift), to >> shift);
        let touched = to.div_ceil(1 << shift) - (from >> shift);
        (first as Lpn, end as Lpn, touched - end.saturating_sub(first))
    }

    /// A write that begins to wait for room for its pages from `next_lpn` on.
    pub(super) fn waiting_write(&self, request: u32, next_lpn: Lpn, since: Ns) -> WaitingWrite {
        let last_lpn = self.last_page_of(&self.requests[request as usize].command);
        WaitingWrite { request, next_lpn, last_lpn, since }
    }

    /// Since when a request that the RAM serves has been in the device with all its data.
    #[inline]
    pub(super) fn in_device_since(&self, request: u32) -> Ns {
        let Request { accepted, link_wait_ns, link_ns, .. } = self.requests[request as usize];
        accepted + self.path.overhead_ns + link_wait_ns + link_ns
    }

    /// Divides the time that a write, which the RAM has served but for its latency, had waited until `served` for room in the buffer.
    #[inline(never)]
    pub(super) fn attribute_room_wait<O: Observer>(&mut self, request: u32, served: Ns, waits: &mut SlotWaits) {
        let (since, mix) = (self.in_device_since(request), self.requests[request as usize].room_mix);
        let attribution = &mut self.path_attribution;
        let parts = || waits.get(mix).divide(served - since);
        parts().for_each(|(part, ns)| attribution.add(part, ns));
        if O::TRACED {
            trace_slot_wait(attribution, since, parts());
        }
        waits.release(mix);
    }

    /// Waiting for the link and using it, along the path that finished last. `direct`: a write that went to the flash without buffer.
    #[cold]
    pub(super) fn link_times(&mut self, number: u32, device: &Device, direct: bool) -> (Ns, Ns) {
        let request = &self.requests[number as usize];
        if !direct || !self.path.has_link {
            return (request.link_wait_ns, request.link_ns);
        }
        // The page that was programmed last need not be the one that crossed last, and may have joined one that crossed before.
        let last = self.direct.joined(number);
        let crossed = self.pages(&request.command).take_while(|&(lpn, ..)| lpn <= last);
        (request.link_wait_ns, crossed.map(|(_, _, sectors)| link_ns(device, sectors.into())).sum())
    }

    /// The host gives up the pages from `first` on and before `end`: so it does those of a waiting write that have reached the device.
    pub(super) fn give_up_waiting(&mut self, write: &WaitingWrite, first: Lpn, end: Lpn) {
        let Request { crossed, .. } = self.requests[write.request as usize];
        let (first, end) = (first.max(write.next_lpn), end.min(crossed).min(write.last_lpn + 1));
        if first < end {
            self.void_pages.push(VoidPages { request: write.request, first, end });
        }
    }

    /// Whether a page of a write that waited for room was given up meanwhile.
    #[inline]
    pub(super) fn is_void(&self, request: u32, lpn: Lpn) -> bool {
        self.void_pages.iter().any(|void| void.request == request && (void.first..void.end).contains(&lpn))
    }

    /// A write has all its pages in the buffer.
    #[inline]
    pub(super) fn forget_void_pages(&mut self, request: u32) {
        if !self.void_pages.is_empty() {
            self.void_pages.retain(|void| void.request != request);
        }
    }
}

/// The sectors that a command has of a page of so many sectors, which begins at one: the first in the page, and how many.
#[inline]
fn part_of_page(command: &Command, start: u64, per_page: u64) -> (u16, u16) {
    let from = command.sector.max(start);
    let to = (command.sector + u64::from(command.sectors)).min(start + per_page);
    ((from - start) as u16, (to - from) as u16)
}

/// Link time of sectors.
pub(super) fn link_ns(device: &Device, sectors: u32) -> Ns {
    device.host.link_ns(u64::from(sectors) * u64::from(SECTOR_BYTES))
}

#[cfg(test)]
impl Host {
    /// A request in the device that one job will complete.
    pub(crate) fn begin_request_for_test(&mut self, now: Ns, command: Command) -> u32 {
        let queued = self.number(0, now, now, command);
        self.queue.push(queued);
        self.queue.take();
        let request = self.admit(queued, now);
        self.requests[request as usize].pending = 1;
        request
    }

    pub(crate) fn queue_for_test(&mut self, queue: HostQueue) {
        self.queue = queue;
    }

    /// Ranges of waiting writes that are remembered as given up.
    pub(crate) fn void_pages_for_test(&self) -> usize {
        self.void_pages.len()
    }
}
