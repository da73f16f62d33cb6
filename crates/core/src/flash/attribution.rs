//! What the latency of operations is attributed to, from counters that every die, plane and channel keeps.
//!
//! Nothing is recorded while time passes. An operation that waits copies the counters; when the wait is over, what they have
//! grown by is added to its attribution. Only counters of what the drive has done so far are looked at, for most designs do few
//! of all things.

use crate::attribution::parts::{Attribution, CHANNEL, CHANNEL_END, CHANNEL_IDLE, DIE, TrafficClass, bits};
use crate::flash::bus::Channel;
use crate::flash::die::{Die, PlaneQueues};
use crate::units::Ns;

/// Copies of counters that an operation takes when it begins to wait for its die, or for its channel: never for both at once.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Waits {
    /// By their parts, from `DIE` on. That of a category that is not used yet is zero, like the counter.
    ns: [Ns; CHANNEL_END - DIE],
    /// For how long GCs had locked the plane, and its channel.
    gc_locked: (Ns, Ns),
}

impl Waits {
    const NONE: Self = Self { ns: [0; CHANNEL_END - DIE], gc_locked: (0, 0) };
}

/// What any die has run, and any channel has counted as, so far: one bit for each. All other counters are zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub dies: u64,
    pub channels: u64,
}

impl Used {
    pub const NONE: Self = Self { dies: 0, channels: 1 << CHANNEL_IDLE };
}

/// A place where operations wait: a plane's lines, its die and its channel, whose counters are up to date; of which these are used.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub queues: &'a PlaneQueues,
    pub die: &'a Die,
    pub channel: &'a Channel,
    pub used: Used,
    pub now: Ns,
}

impl Place<'_> {
    /// For how long GCs have locked the plane, and its channel, up to now.
    #[inline(always)]
    fn gc_locked_ns(self) -> (Ns, Ns) {
        (self.queues.gc_locked_ns(self.now), self.channel.gc_locked_ns(self.now))
    }

    /// Gives each counter of what operations wait for here to `of`, with its part; those of the die as it was settled last.
    #[inline(always)]
    fn counters(self, mut of: impl FnMut(usize, Ns)) {
        let Self { queues, die, channel, used, now } = self;
        for class in bits(used.dies) {
            of(DIE + class, die.busy_ns[class]);
        }
        // No die is ever busy with this.
        of(DIE + TrafficClass::GcLock as usize, queues.waited_locked_ns(die.blocked, now));
        for category in bits(used.channels) {
            of(CHANNEL + category, queues.waited_ns(die.blocked, channel, category));
        }
    }
}

/// What the latency of each operation is attributed to.
#[derive(Debug)]
pub(crate) struct Latencies {
    waits: Vec<Waits>,
    pub attributions: Vec<Attribution>,
}

impl Latencies {
    pub fn with_capacity(operations: usize) -> Self {
        Self { waits: Vec::with_capacity(operations), attributions: Vec::with_capacity(operations) }
    }

    /// A new operation, the last of the pool or one that is used again.
    #[inline(always)]
    pub fn begin(&mut self, op: u32) {
        match self.attributions.get_mut(op as usize) {
            Some(attribution) => attribution.clear(),
            None => {
                self.attributions.push(Attribution::default());
                self.waits.push(Waits::NONE);
            }
        }
    }

    /// Copies the counters of what an operation waits for from now on.
    #[inline(always)]
    pub fn open_wait(&mut self, op: u32, place: Place<'_>) {
        let waits = &mut self.waits[op as usize];
        place.counters(|part, ns| waits.ns[part - DIE] = ns);
        waits.ns[place.die.traffic as usize] += place.die.unsettled(place.now);
        waits.gc_locked = place.gc_locked_ns();
    }

    /// Ends that wait. Returns whether a GC had a part in it.
    #[inline(always)]
    pub fn end_wait(&mut self, op: u32, place: Place<'_>) -> bool {
        let (waits, attribution) = (&self.waits[op as usize], &mut self.attributions[op as usize]);
        place.counters(|part, ns| attribution.add(part, ns.wrapping_sub(waits.ns[part - DIE])));
        let grown = |class: TrafficClass| place.die.busy_ns[class as usize] ^ waits.ns[class as usize];
        let by_gc = grown(TrafficClass::GcRead) | grown(TrafficClass::GcProgram) | grown(TrafficClass::Erase);
        by_gc != 0 || place.gc_locked_ns() != waits.gc_locked
    }

    /// Copies the counters of the channel, which are up to date, for a begun operation that waits for it from now on.
    #[inline(always)]
    pub fn open_channel_wait(&mut self, op: u32, channel: &Channel, used: Used, now: Ns) {
        let waits = &mut self.waits[op as usize];
        bits(used.channels).for_each(|category| waits.ns[CHANNEL - DIE + category] = channel.category_ns[category]);
        waits.gc_locked.1 = channel.gc_locked_ns(now);
    }

    /// Ends that wait. Returns whether a GC locked the channel in it.
    #[inline(always)]
    pub fn end_channel_wait(&mut self, op: u32, channel: &Channel, used: Used, now: Ns) -> bool {
        let (waits, attribution) = (&self.waits[op as usize], &mut self.attributions[op as usize]);
        for category in bits(used.channels) {
            attribution.add(CHANNEL + category, channel.category_ns[category] - waits.ns[CHANNEL - DIE + category]);
        }
        channel.gc_locked_ns(now) != waits.gc_locked.1
    }
}
