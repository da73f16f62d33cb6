//! What a channel is, and its queue.

use crate::attribution::parts::{CHANNEL_CATEGORIES, CHANNEL_IDLE};
use crate::ids::{DieIx, NONE};
use crate::units::Ns;

/// Why a die waits in its channel's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// To start some waiting operation, chosen when the channel is free.
    Start,
    /// For the next phase of the running operation.
    Continue,
    /// For the next page in its cache registers.
    Empty,
    /// For a GC of this plane to lock the channel.
    Claim(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub die: DieIx,
    pub wants: Wants,
    pub arrival: u64,
}

/// A channel: commands and data of its dies, one at a time. What is looked at most comes first, in one cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Channel {
    pub busy_until: Ns,
    pub since: Ns,
    pub queue: Vec<Queued>,
    /// The die whose GC locks the channel.
    pub locked_by: u32,
    /// Host operations that wait for or run on its dies.
    pub host_operations: u32,
    /// The category until `busy_until`.
    pub category: u8,
    /// The category after it: idle, or locked.
    pub idle_category: u8,
    /// The event of the die that transfers releases the channel too, so the channel needs none of its own.
    pub released_by_die: bool,
    /// Since when the channel is locked, and for how long GCs locked it before.
    pub locked_since: Ns,
    pub locked_before_ns: Ns,
    pub category_ns: [Ns; CHANNEL_CATEGORIES],
}

impl Channel {
    /// For how long GCs have locked the channel up to now.
    pub fn gc_locked_ns(&self, now: Ns) -> Ns {
        self.locked_before_ns + if self.locked_by == NONE { 0 } else { now - self.locked_since }
    }

    /// Whether the GC of another die locks the channel.
    #[inline]
    pub fn is_closed_to(&self, die: DieIx) -> bool {
        self.locked_by != NONE && self.locked_by != die
    }

    /// Notes that the GC of a die locks the channel from now on, or none.
    pub fn set_locked_by(&mut self, die: u32, now: Ns) {
        self.locked_before_ns = self.gc_locked_ns(now);
        self.locked_since = now;
        self.locked_by = die;
        if die == NONE {
            self.idle_category = CHANNEL_IDLE as u8;
        }
    }

    /// Brings the counters up to `now`.
    #[inline]
    pub fn settle(&mut self, now: Ns) {
        // Without branches, because which of the two parts is zero can't be foreseen.
        let busy_end = self.busy_until.min(now).max(self.since);
        self.category_ns[usize::from(self.category)] += busy_end - self.since;
        self.category_ns[usize::from(self.idle_category)] += now - busy_end;
        self.since = now;
    }

    /// Occupies the channel from `now` for `ns`.
    #[inline]
    pub fn occupy(&mut self, now: Ns, ns: Ns, category: usize) {
        self.settle(now);
        self.category = category as u8;
        self.busy_until = now + ns;
    }
}
