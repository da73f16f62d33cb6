//! What the latency of operations is attributed to, from counters that every die, plane and channel keeps.
//!
//! Nothing is recorded while time passes. An operation that waits copies the counters; when it is issued, the copy becomes
//! what they have grown by, without a look at it. Of the many pages of a request only the last one explains its latency, so
//! it is only there that these waits are put into the attribution.

use crate::attribution::parts::{Attribution, CHANNEL, CHANNEL_CATEGORIES, DIE, TRAFFIC_CLASSES, TrafficClass};
use crate::attribution::trail::Passing;
use crate::flash::bus::Channel;
use crate::flash::die::{Die, PlaneQueues};
use crate::ids::{NONE, PlaneIx};
use crate::units::Ns;

/// An operation's waits that are over and not in its attribution yet: for its die, and for its channel.
#[derive(Clone, Copy)]
pub(crate) struct EndedWaits {
    pub die: bool,
    pub channel: bool,
}

/// Copies of counters that an operation takes when it begins to wait. Once the wait is over, they hold by how much the counters
/// have grown.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Waits {
    /// What its die was busy with.
    die: [Ns; TRAFFIC_CLASSES],
    /// What the channel was busy with while the die ran nothing.
    other: [Ns; CHANNEL_CATEGORIES],
    /// A GC had locked the plane while its die ran nothing.
    locked: Ns,
    /// For how long GCs had locked the plane and its channel.
    gc_locked: (Ns, Ns),
    /// What the channel was busy with when the operation had begun and needed it again.
    channel: [Ns; CHANNEL_CATEGORIES],
    /// For how long GCs had locked the channel then.
    channel_gc_locked: Ns,
    /// When the waits for die and channel began and ended, and in which plane's queue, if the observer traces.
    die_span: (Ns, Ns, PlaneIx),
    channel_span: (Ns, Ns),
}

impl Waits {
    const NONE: Self = Self {
        die: [0; TRAFFIC_CLASSES],
        other: [0; CHANNEL_CATEGORIES],
        locked: 0,
        gc_locked: (0, 0),
        channel: [0; CHANNEL_CATEGORIES],
        channel_gc_locked: 0,
        die_span: (0, 0, NONE),
        channel_span: (0, 0),
    };
}

/// A place where operations wait: a plane's lines, its die and its channel.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub queues: &'a PlaneQueues,
    pub die: &'a Die,
    pub channel: &'a Channel,
}

impl Place<'_> {
    /// For how long GCs have locked the plane, and its channel, up to now.
    #[inline(always)]
    fn gc_locked_ns(self, now: Ns) -> (Ns, Ns) {
        (self.queues.gc_locked_ns(now), self.channel.gc_locked_ns(now))
    }
}

/// What the latency of each operation is attributed to.
#[derive(Debug)]
pub(crate) struct Latencies {
    waits: Vec<Waits>,
    attributions: Vec<Attribution>,
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

    /// What an operation's latency is attributed to so far.
    #[inline(always)]
    pub fn attribution(&self, op: u32) -> &Attribution {
        &self.attributions[op as usize]
    }

    /// The same, to add to.
    #[inline(always)]
    pub fn attribution_mut(&mut self, op: u32) -> &mut Attribution {
        &mut self.attributions[op as usize]
    }

    /// Copies the counters of what an operation waits for from now on.
    #[inline(always)]
    pub fn open_wait(&mut self, op: u32, place: Place<'_>, now: Ns) {
        let Place { queues, die, channel } = place;
        let gc_locked = place.gc_locked_ns(now);
        let waits = &mut self.waits[op as usize];
        waits.die = die.busy_ns;
        waits.die[die.traffic as usize] += die.unsettled(now);
        waits.locked = queues.waited_locked_ns(die.blocked, now);
        queues.waited_by(die.blocked, channel, now, &mut waits.other, |_, now| now);
        waits.gc_locked = gc_locked;
    }

    /// Ends that wait. Returns whether a GC had a part in it.
    #[inline(always)]
    pub fn end_wait(&mut self, op: u32, place: Place<'_>, now: Ns) -> bool {
        let Place { queues, die, channel } = place;
        let gc_locked = place.gc_locked_ns(now);
        let waits = &mut self.waits[op as usize];
        grow_since(&mut waits.die, &die.busy_ns);
        let running = &mut waits.die[die.traffic as usize];
        *running = running.wrapping_add(die.unsettled(now));
        waits.locked = queues.waited_locked_ns(die.blocked, now).wrapping_sub(waits.locked);
        queues.waited_by(die.blocked, channel, now, &mut waits.other, |then, now| now.wrapping_sub(then));
        let by_gc = waits.die[TrafficClass::GcRead as usize]
            | waits.die[TrafficClass::GcProgram as usize]
            | waits.die[TrafficClass::Erase as usize];
        by_gc != 0 || gc_locked != waits.gc_locked
    }

    /// Copies the counters of the channel for a begun operation that waits for it from now on.
    #[inline(always)]
    pub fn open_channel_wait(&mut self, op: u32, channel: &Channel, now: Ns) {
        let waits = &mut self.waits[op as usize];
        waits.channel = channel.category_ns;
        channel.add_unsettled(&mut waits.channel, now);
        waits.channel_gc_locked = channel.gc_locked_ns(now);
    }

    /// Ends that wait. Returns whether a GC locked the channel in it.
    #[inline(always)]
    pub fn end_channel_wait(&mut self, op: u32, channel: &Channel, now: Ns) -> bool {
        let waits = &mut self.waits[op as usize];
        grow_since(&mut waits.channel, &channel.category_ns);
        channel.add_unsettled(&mut waits.channel, now);
        channel.gc_locked_ns(now) != waits.channel_gc_locked
    }

    /// Notes for a tracing observer when a wait for a die began and ended, and in which plane's queue.
    pub fn trace_wait(&mut self, op: u32, from: Ns, to: Ns, plane: PlaneIx) {
        self.waits[op as usize].die_span = (from, to, plane);
    }

    /// The same of a wait for a channel.
    pub fn trace_channel_wait(&mut self, op: u32, from: Ns, to: Ns) {
        self.waits[op as usize].channel_span = (from, to);
    }

    /// When the wait for a die ended, as a tracing observer knows it.
    pub fn wait_ended(&self, op: u32) -> Ns {
        self.waits[op as usize].die_span.1
    }

    /// Puts waits that are over into the attribution, of an operation of the plane; for a tracing observer into its trail, too.
    #[inline(always)]
    pub fn attribute_waits(&mut self, op: u32, ended: EndedWaits, plane: PlaneIx, traced: bool) {
        let (attribution, waits) = (&mut self.attributions[op as usize], &self.waits[op as usize]);
        if ended.die {
            attribution.add_array::<TRAFFIC_CLASSES, DIE>(&waits.die);
            attribution.add_array::<CHANNEL_CATEGORIES, CHANNEL>(&waits.other);
            attribution.add(DIE + TrafficClass::GcLock as usize, waits.locked);
        }
        if ended.channel {
            attribution.add_array::<CHANNEL_CATEGORIES, CHANNEL>(&waits.channel);
        }
        if traced && ended.die {
            let (from, to, plane) = waits.die_span;
            attribution.trace(from, to, plane, Passing::InQueue(plane));
        }
        if traced && ended.channel {
            attribution.trace(waits.channel_span.0, waits.channel_span.1, plane, Passing::ForChannel(plane));
        }
    }
}

/// Turns counters of the past into what they have grown by since.
#[inline(always)]
fn grow_since<const N: usize>(then: &mut [Ns; N], now: &[Ns; N]) {
    for (then, now) in then.iter_mut().zip(now) {
        *then = now.wrapping_sub(*then);
    }
}
