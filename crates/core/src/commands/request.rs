//! What a request inside the device is.

use crate::commands::Command;
use crate::ids::{Lpn, NONE};
use crate::units::Ns;

/// A host request inside the device.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub id: u64,
    /// Its queue among those of the device.
    pub queue: u32,
    pub asked: Ns,
    pub arrived: Ns,
    pub accepted: Ns,
    /// What it waited for in the host, as `SlotWaits::mix` says it; `NONE`: it did not.
    pub slot_mix: u32,
    /// The same of room in the write buffer.
    pub room_mix: u32,
    pub command: Command,
    /// Parts that have not completed.
    pub pending: u32,
    pub gc_blocked: bool,
    /// Pages of it that were regenerated, that were decided to wait for a GC, and that had to; and when the first of these
    /// waits was decided or found out.
    pub reconstructed: u16,
    pub gc_waits: u16,
    pub gc_waits_forced: u16,
    pub gc_wait_since: Ns,
    /// The first page whose data have not crossed the link to the device; `NONE`: they need not, or all have.
    pub crossed: Lpn,
    /// Waiting for the link and using it, along the path that finished last.
    pub link_wait_ns: Ns,
    pub link_ns: Ns,
    /// Link time of a read's pages that are in no flash page.
    pub ram_link_ns: Ns,
}

impl Request {
    /// A request that the device takes now. `at`: when the host says that it issued it, when it arrived, and now.
    #[inline(always)]
    pub fn new(id: u64, at: (Ns, Ns, Ns), slot_mix: u32, command: Command) -> Self {
        let (asked, arrived, accepted) = at;
        Self {
            id,
            queue: 0,
            asked,
            arrived,
            accepted,
            slot_mix,
            room_mix: NONE,
            command,
            pending: 0,
            gc_blocked: false,
            reconstructed: 0,
            gc_waits: 0,
            gc_waits_forced: 0,
            gc_wait_since: 0,
            crossed: NONE,
            link_wait_ns: 0,
            link_ns: 0,
            ram_link_ns: 0,
        }
    }

    /// A part of it has completed. Returns whether it was the last.
    #[inline]
    pub fn part_done(&mut self, gc_blocked: bool) -> bool {
        self.gc_blocked |= gc_blocked;
        self.pending -= 1;
        self.pending == 0
    }

    /// It has been decided that a page of it waits for a GC.
    pub fn decide_gc_wait(&mut self, now: Ns) {
        self.note_gc_wait(now);
        self.gc_waits = self.gc_waits.saturating_add(1);
    }

    /// Pages of it wait for GCs, since there is no way around them.
    pub fn force_gc_wait(&mut self, now: Ns, pages: u32) {
        self.note_gc_wait(now);
        self.gc_waits_forced = self.gc_waits_forced.saturating_add(pages as u16);
    }

    fn note_gc_wait(&mut self, now: Ns) {
        if self.gc_waits == 0 && self.gc_waits_forced == 0 {
            self.gc_wait_since = now;
        }
    }
}
