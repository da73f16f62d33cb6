//! What lies on the way between host and drive, and what waits there.

use crate::device::Device;
use crate::event::EXTRA_SLOTS;
use crate::ids::{Lpn, NONE};
use crate::units::Ns;
use std::collections::{HashMap, VecDeque};

/// What is due of requests in the order in which it comes, with an event for the first of it alone.
#[derive(Debug, Default)]
pub(crate) struct DueQueue {
    items: VecDeque<(Ns, u32, u32)>,
}

impl DueQueue {
    /// Something more of a request is due at a time. Returns whether it is the first, and needs the event.
    #[inline]
    pub(super) fn push(&mut self, at: Ns, request: u32, what: u32) -> bool {
        let is_first = self.items.is_empty();
        self.items.push_back((at, request, what));
        is_first
    }

    /// Takes the first if it is due by now.
    #[inline]
    pub(super) fn take(&mut self, now: Ns) -> Option<(u32, u32)> {
        let &(at, request, what) = self.items.front()?;
        if at > now {
            return None;
        }
        self.items.pop_front();
        Some((request, what))
    }

    /// The first: when it is due, of which request, and what.
    #[inline]
    pub(super) fn first(&self) -> Option<(Ns, u32, u32)> {
        self.items.front().copied()
    }

    /// Takes the first before it is due.
    pub(super) fn take_early(&mut self) {
        self.items.pop_front();
    }

    /// When the first is due.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Ns> {
        self.items.front().map(|&(at, ..)| at)
    }
}

/// One direction of the link.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    free_at: Ns,
}

impl Direction {
    /// When a piece that is ready now can start.
    pub(super) fn start(&self, now: Ns) -> Ns {
        self.free_at.max(now)
    }

    /// A piece that is ready takes the next `ns` of it. Returns when it starts.
    pub(super) fn carry(&mut self, now: Ns, ns: Ns) -> Ns {
        let start = self.start(now);
        self.free_at = start + ns;
        start
    }
}

/// What lies between host and drive.
#[derive(Debug)]
pub(crate) struct HostPath {
    pub overhead_ns: Ns,
    pub has_link: bool,
    /// The two directions of the link, to the device and to the host.
    pub(super) inward: Direction,
    pub(super) outward: Direction,
    /// What is due, by the event slot among those that are no die's and no channel's. Requests that the RAM serves; commands whose
    /// fixed time runs; pages of writes that cross the link; reads whose last page does, with the operation that has their attribution.
    pub(super) due: [DueQueue; EXTRA_SLOTS as usize],
}

/// The slots beside that of the RAM.
pub(super) const BEGIN: usize = 2;
pub(super) const INWARD: usize = 3;
pub(super) const OUTWARD: usize = 4;

impl HostPath {
    pub fn new(device: &Device) -> Self {
        Self {
            overhead_ns: device.host.overhead_ns,
            has_link: device.host.link_mb_per_s.is_some(),
            inward: Direction::default(),
            outward: Direction::default(),
            due: Default::default(),
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
    /// Since when.
    pub(super) since: Ns,
    /// The host has given the page up since.
    pub(super) void: bool,
    /// That one waited for a GC meanwhile.
    pub(super) gc_blocked: bool,
}

/// Logical pages with a direct write under way, and the writes that wait for it. Only without buffer.
#[derive(Debug)]
pub(crate) struct DirectWrites {
    pages: HashMap<Lpn, VecDeque<DirectWrite>>,
    /// The page that was programmed last.
    pub(super) programmed_last: Lpn,
    /// Pages that have joined the one before them in their request when that had crossed the link, each behind its request.
    pub(super) joining: Vec<(u32, Lpn)>,
}

impl DirectWrites {
    pub(super) fn new() -> Self {
        Self { pages: HashMap::new(), programmed_last: NONE, joining: Vec::new() }
    }

    /// A write of a page comes. Returns whether it starts at once; otherwise it waits for the earlier ones.
    pub(super) fn begin(&mut self, lpn: Lpn, write: DirectWrite) -> bool {
        match self.pages.get_mut(&lpn) {
            Some(queue) => {
                queue.push_back(write);
                false
            }
            None => {
                self.pages.insert(lpn, VecDeque::new());
                true
            }
        }
    }

    /// Ends a request: the page whose crossing the one that was programmed last has waited for.
    pub(super) fn joined(&mut self, request: u32) -> Lpn {
        let mut last = self.programmed_last;
        while self.joining.contains(&(request, last)) {
            last -= 1;
        }
        self.joining.retain(|&(of, _)| of != request);
        last
    }

    /// The write of a page that was under way has ended. Returns the next one of that page.
    pub(super) fn end(&mut self, lpn: Lpn) -> Option<DirectWrite> {
        self.programmed_last = lpn;
        let next = self.pages.get_mut(&lpn)?.pop_front();
        if next.is_none() {
            self.pages.remove(&lpn);
        }
        next
    }

    /// A GC has made the write of a page wait until now: so it has those that stand behind it.
    pub(super) fn delay(&mut self, lpn: Lpn, now: Ns) {
        let waiting = self.pages.get_mut(&lpn).into_iter().flatten();
        waiting.filter(|write| write.since < now).for_each(|write| write.gc_blocked = true);
    }

    /// The host gives a page up, and with it the writes that wait. Returns whether one is under way.
    pub(super) fn give_up(&mut self, lpn: Lpn) -> bool {
        let Some(queue) = self.pages.get_mut(&lpn) else { return false };
        queue.iter_mut().for_each(|write| write.void = true);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_due_queue_needs_an_event_for_its_first_item_alone() {
        let mut queue = DueQueue::default();
        assert!(queue.push(10, 1, 2) && !queue.push(20, 3, 4));
        assert_eq!((queue.take(9), queue.next_at()), (None, Some(10)));
        assert_eq!((queue.take(15), queue.take(15), queue.next_at()), (Some((1, 2)), None, Some(20)));
        assert_eq!((queue.take(20), queue.next_at()), (Some((3, 4)), None));
        assert!(queue.push(30, 5, 6));
    }

    #[test]
    fn direct_writes_of_a_page_go_one_after_another() {
        let write = |request: u32| DirectWrite { request, since: request.into(), void: false, gc_blocked: false };
        let mut direct = DirectWrites::new();
        assert!(direct.begin(7, write(1)) && direct.begin(8, write(2)));
        assert!(!direct.begin(7, write(3)));
        assert!(direct.give_up(7) && !direct.give_up(9));
        assert!(!direct.begin(7, write(4)));
        direct.delay(7, 4);
        let next = [0; 3].map(|_| direct.end(7).map(|write| (write.request, write.void, write.gc_blocked)));
        assert_eq!(next, [Some((3, true, true)), Some((4, false, false)), None]);
        assert!(direct.begin(7, write(5)), "nothing of it is under way");
    }
}
