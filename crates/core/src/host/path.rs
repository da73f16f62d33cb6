//! What lies on the way between host and drive, and what waits there.

use crate::device::Device;
use crate::ids::Lpn;
use crate::units::Ns;
use std::collections::VecDeque;

/// One direction of the link, with what is reported of it: when, of which request, and what of it.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    pub(super) free_at: Ns,
    pub(super) queue: VecDeque<(Ns, u32, u32)>,
}

impl Direction {
    /// A piece that is ready takes the next `ns` of it. Returns when it starts.
    pub(super) fn carry(&mut self, now: Ns, ns: Ns) -> Ns {
        let start = self.free_at.max(now);
        self.free_at = start + ns;
        start
    }

    /// The next piece that has crossed by now.
    pub(super) fn crossed(&mut self, now: Ns) -> Option<(u32, u32)> {
        let &(at, request, what) = self.queue.front()?;
        if at > now {
            return None;
        }
        self.queue.pop_front();
        Some((request, what))
    }
}

/// What lies between host and drive.
#[derive(Debug)]
pub(crate) struct HostPath {
    pub overhead_ns: Ns,
    pub has_link: bool,
    /// Commands whose fixed time runs, in order of its end.
    pub(super) beginning: VecDeque<(Ns, u32)>,
    /// To the device: pages of writes.
    pub(super) inward: Direction,
    /// To the host: reads whose last page is on the way, with the operation that has their attribution.
    pub(super) outward: Direction,
}

/// The events of the way, by their place among the event slots that are no die's and no channel's.
pub(super) const BEGIN: usize = 2;
pub(super) const INWARD: usize = 3;
pub(super) const OUTWARD: usize = 4;

impl HostPath {
    pub fn new(device: &Device) -> Self {
        Self {
            overhead_ns: device.host.overhead_ns,
            has_link: device.host.link_mb_per_s.is_some(),
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

/// Pages of a write that were given up while it waited for space in the buffer: those from `first` and before `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VoidPages {
    pub(super) request: u32,
    pub(super) first: Lpn,
    pub(super) end: Lpn,
}

/// A page write without buffer that waits for an earlier one of the same page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectWrite {
    pub(super) request: u32,
    pub(super) first_sector: u16,
    pub(super) sectors: u16,
    /// Since when.
    pub(super) since: Ns,
    /// The host has given the page up since.
    pub(super) void: bool,
    /// That one waited for a GC meanwhile.
    pub(super) gc_blocked: bool,
}
