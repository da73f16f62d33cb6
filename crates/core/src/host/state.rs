//! What the host interface keeps.

use crate::attribution::parts::Attribution;
use crate::commands::CommandKind;
use crate::commands::completion::Completion;
use crate::commands::request::Request;
use crate::device::Device;
use crate::host::job::Job;
use crate::host::path::{DirectWrite, HostPath, VoidPages};
use crate::host::queue::HostQueue;
use crate::ids::{Lpn, NONE};
use crate::slab::Slab;
use crate::units::Ns;
use std::collections::{HashMap, VecDeque};

/// The host interface: queues, the way to the host, requests and the jobs that serve them.
#[derive(Debug)]
pub struct Host {
    /// Sectors of the drive.
    pub(crate) sectors: u64,
    /// Sectors of a page, as a power of two.
    pub(super) sector_shift: u32,
    pub(super) queue: HostQueue,
    pub(super) requests: Slab<Request>,
    pub(super) jobs: Slab<Job>,
    pub(super) path: HostPath,
    /// Requests that the RAM serves, in order of completion.
    pub(super) ram_line: VecDeque<(Ns, u32)>,
    pub(super) completions: Vec<Completion>,
    pub(super) next_id: u64,
    /// Logical pages with a direct write under way, and the writes that wait for it. Only without buffer.
    pub(super) writing: HashMap<Lpn, VecDeque<DirectWrite>>,
    /// The page of the direct write that was programmed last.
    pub(super) programmed_last: Lpn,
    /// Pages of waiting writes that were given up. Only with a buffer.
    pub(super) void_pages: Vec<VoidPages>,
    /// The attribution of a request that no single operation completes.
    pub(super) path_attribution: Attribution,
}

impl Host {
    /// That of a drive in which nothing is under way.
    pub(crate) fn new(device: &Device) -> Self {
        Self {
            sectors: device.logical_sectors(),
            sector_shift: device.geometry.sectors_per_unit().trailing_zeros(),
            queue: HostQueue::new(device.host.queue_depth, &device.host.queue_weights),
            requests: Slab::with_capacity(device.host.queue_depth as usize),
            jobs: Slab::with_capacity(64),
            path: HostPath::new(device),
            ram_line: VecDeque::new(),
            completions: Vec::new(),
            next_id: 0,
            writing: HashMap::new(),
            programmed_last: NONE,
            void_pages: Vec::new(),
            path_attribution: Attribution::default(),
        }
    }

    /// A loss of power: nothing is under way any more. Completions that nobody has taken stay, and numbers of requests go on.
    pub(crate) fn lose_power(&mut self, device: &Device) {
        let fresh = Self::new(device);
        let old = std::mem::replace(self, fresh);
        (self.completions, self.next_id) = (old.completions, old.next_id);
    }

    /// Requests that the drive has been given so far.
    #[inline]
    pub(crate) fn submitted(&self) -> u64 {
        self.next_id
    }

    /// Requests of a kind in the device.
    pub(crate) fn in_device(&self, kind: CommandKind) -> usize {
        self.queue.in_device(kind)
    }

    /// When the device took the oldest write that has not completed. Slow.
    pub(crate) fn oldest_write(&self) -> Option<Ns> {
        let writes = self.requests.used().filter(|request| request.command.kind == CommandKind::Write);
        writes.map(|write| write.accepted).min()
    }

    /// The logical page of a sector.
    #[inline]
    pub(crate) fn page_of(&self, sector: u64) -> Lpn {
        (sector >> self.sector_shift) as Lpn
    }

    /// Whether requests have completed that nobody has taken.
    #[inline]
    pub(crate) fn has_completions(&self) -> bool {
        !self.completions.is_empty()
    }

    /// Takes them, in order.
    #[inline]
    pub(crate) fn take_completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.completions);
    }

    /// Forgets them, and returns how many they are.
    #[inline]
    pub(crate) fn count_completions(&mut self) -> usize {
        self.completions.drain(..).len()
    }

    /// Requests that have not completed.
    pub(crate) fn outstanding(&self) -> usize {
        self.requests.in_use() + self.queue.waiting()
    }
}

#[cfg(test)]
impl Host {
    pub(crate) fn queue_for_test(&mut self, queue: HostQueue) {
        self.queue = queue;
    }
}
