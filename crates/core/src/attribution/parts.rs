//! The causes that latency is attributed to, and a latency as a sum of them.

use crate::attribution::trail::{Passage, Passing};
use crate::ids::PlaneIx;
use crate::units::Ns;

/// What a die or a channel is busy with. The last five are of dies alone. A channel has more categories: those that follow
/// [`TRAFFIC_CLASSES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TrafficClass {
    /// A read of the host.
    HostRead,
    /// A program of the host, without buffer.
    HostProgram,
    /// A program from the buffer.
    Flush,
    /// The read of a read-modify-write.
    ReadModifyWrite,
    /// Parity.
    Parity,
    /// Reads that reconstruct a page.
    Reconstruction,
    /// A GC's read.
    GcRead,
    /// A GC's program.
    GcProgram,
    /// An erase.
    Erase,
    /// Scrubbing, wear levelling, recovery.
    Background,
    /// Locked by a GC, which waits for something else.
    GcLock,
    /// Suspending or resuming an erase or a program of a GC.
    GcSuspend,
    /// The same of a program from the buffer.
    FlushSuspend,
    /// The same of a program of the host, without buffer.
    HostProgramSuspend,
    /// The same of any other program.
    Suspend,
}

/// Number of traffic classes.
pub const TRAFFIC_CLASSES: usize = 15;

impl TrafficClass {
    /// What suspending and resuming it counts as: that time belongs to whose operation makes way.
    pub(crate) fn suspended(self) -> Self {
        match self {
            Self::GcRead | Self::GcProgram | Self::Erase => Self::GcSuspend,
            Self::Flush => Self::FlushSuspend,
            Self::HostProgram => Self::HostProgramSuspend,
            _ => Self::Suspend,
        }
    }
}

/// Number of traffic classes of a channel.
const CHANNEL_TRAFFIC_CLASSES: usize = TrafficClass::GcLock as usize;

/// Channel categories beyond the traffic classes: locked by a GC that reads, that programs, that waits; locked with the whole
/// controller; idle.
pub(crate) const LOCKED_GC_READ: usize = CHANNEL_TRAFFIC_CLASSES;
pub(crate) const LOCKED_GC_PROGRAM: usize = CHANNEL_TRAFFIC_CLASSES + 1;
pub(crate) const LOCKED_GC_OTHER: usize = CHANNEL_TRAFFIC_CLASSES + 2;
pub(crate) const LOCKED_CONTROLLER: usize = CHANNEL_TRAFFIC_CLASSES + 3;
pub(crate) const CHANNEL_IDLE: usize = CHANNEL_TRAFFIC_CLASSES + 4;
/// Number of channel categories.
pub(crate) const CHANNEL_CATEGORIES: usize = CHANNEL_TRAFFIC_CLASSES + 5;

/// Names of the parts that a latency is the sum of, in the order of their indices.
pub const PART_NAMES: [&str; PARTS] = [
    "overhead_wait",
    "buffer_wait",
    "buffer_full",
    "buffer",
    "space",
    "placement",
    "command",
    "array",
    "transfer",
    "compute",
    "overhead",
    "link_wait",
    "link",
    "die_host_read",
    "die_host_program",
    "die_flush",
    "die_read_modify_write",
    "die_parity",
    "die_reconstruction",
    "die_gc_read",
    "die_gc_program",
    "die_erase",
    "die_background",
    "die_gc_lock",
    "die_gc_suspend",
    "die_flush_suspend",
    "die_host_program_suspend",
    "die_suspend",
    "channel_host_read",
    "channel_host_program",
    "channel_flush",
    "channel_read_modify_write",
    "channel_parity",
    "channel_reconstruction",
    "channel_gc_read",
    "channel_gc_program",
    "channel_erase",
    "channel_background",
    "channel_locked_gc_read",
    "channel_locked_gc_program",
    "channel_locked_gc_other",
    "controller_gc",
    "policy",
    "buffer_host_read",
    "buffer_host_program",
    "buffer_flush",
    "buffer_read_modify_write",
    "buffer_parity",
    "buffer_reconstruction",
    "buffer_gc_read",
    "buffer_gc_program",
    "buffer_erase",
    "buffer_background",
    "buffer_gc_lock",
    "buffer_gc_suspend",
    "buffer_flush_suspend",
    "buffer_host_program_suspend",
    "buffer_suspend",
    "buffer_space",
    "buffer_placement",
    "buffer_assembly",
    "buffer_policy",
];

/// Waiting in the host for a slot whose request was in its command's fixed time.
pub const OVERHEAD_WAIT: usize = 0;
/// Waiting in the host for a slot whose request the RAM served.
pub const BUFFER_WAIT: usize = 1;
/// Waiting for space in the write buffer, where it is not known what its pages waited for.
pub const BUFFER_FULL: usize = 2;
/// Service by the RAM.
pub const BUFFER: usize = 3;
/// Waiting until a GC has freed a page to program.
pub const SPACE: usize = 4;
/// Waiting for a die that could program the page, where pages have no place before.
pub const PLACE: usize = 5;
/// The request's own commands.
pub const COMMAND: usize = 6;
/// The request's own array time.
pub const ARRAY: usize = 7;
/// The request's own transfers.
pub const TRANSFER: usize = 8;
/// The request's own computing, such as parity.
pub const COMPUTE: usize = 9;
/// The fixed time of every command.
pub const OVERHEAD: usize = 10;
/// Waiting for the host's link.
pub const LINK_WAIT: usize = 11;
/// The request's own data on the host's link.
pub const LINK: usize = 12;
/// First of the waits for a die, by traffic class.
pub const DIE: usize = 13;
/// First of the waits for a channel, by category.
pub const CHANNEL: usize = DIE + TRAFFIC_CLASSES;
/// Behind the last of the waits for a channel.
pub(crate) const CHANNEL_END: usize = CHANNEL + CHANNEL_CATEGORIES;
/// First of the waits for space in the write buffer, by the traffic class that its pages waited for.
pub const FOR_BUFFER: usize = CHANNEL_END;
/// Waiting for space in the write buffer whose pages waited until a GC had freed a page to program.
pub const BUFFER_SPACE: usize = FOR_BUFFER + TRAFFIC_CLASSES;
/// The same for a die that could program them.
pub const BUFFER_PLACE: usize = BUFFER_SPACE + 1;
/// The same for others to be programmed together with.
pub const BUFFER_ASSEMBLY: usize = BUFFER_PLACE + 1;
/// The same by choice of a technique.
pub const BUFFER_POLICY: usize = BUFFER_ASSEMBLY + 1;
/// Number of parts.
pub const PARTS: usize = BUFFER_POLICY + 1;

/// The parts whose bits are set, in order.
#[inline]
pub(crate) fn bits(mask: u64) -> impl Iterator<Item = usize> {
    crate::units::bits(mask).map(|bit| bit as usize)
}

/// A latency as a sum of parts, in nanoseconds. The parts add up to the latency exactly.
#[derive(Clone, Debug)]
pub struct Attribution {
    ns: [Ns; PARTS],
    /// One bit for each part that is not zero.
    mask: u64,
    /// How that time passed, in no order; nothing unless the observer traces.
    pub(crate) trail: Vec<Passage>,
}

impl Default for Attribution {
    fn default() -> Self {
        Self { ns: [0; PARTS], mask: 0, trail: Vec::new() }
    }
}

impl Attribution {
    /// Forgets everything.
    #[inline]
    pub fn clear(&mut self) {
        if self.mask != 0 {
            self.ns = [0; PARTS];
            self.mask = 0;
        }
        self.trail.clear();
    }

    /// Notes how a piece of the time passed.
    pub(crate) fn trace(&mut self, from: Ns, to: Ns, plane: PlaneIx, what: Passing) {
        if to > from {
            self.trail.push(Passage { from, to, plane, what });
        }
    }

    /// How the time passed, in no order. Empty unless the observer traces.
    pub fn trail(&self) -> &[Passage] {
        &self.trail
    }

    /// Adds `ns` to a part. Without a branch, because it can't be foreseen what is zero.
    #[inline]
    pub fn add(&mut self, part: usize, ns: Ns) {
        self.ns[part] += ns;
        self.mask |= u64::from(ns != 0) << part;
    }

    /// Adds every part of another attribution.
    pub fn add_all(&mut self, other: &Self) {
        for (part, ns) in other.parts() {
            self.add(part, ns);
        }
        self.trail.extend_from_slice(&other.trail);
    }

    /// The parts that are not zero.
    #[inline]
    pub fn parts(&self) -> impl Iterator<Item = (usize, Ns)> + '_ {
        bits(self.mask).map(|part| (part, self.ns[part]))
    }

    /// One bit for each part that is not zero.
    #[inline]
    pub(crate) fn mask(&self) -> u64 {
        self.mask
    }

    /// Nanoseconds of one part.
    pub fn get(&self, part: usize) -> Ns {
        self.ns[part]
    }

    /// The sum of all parts.
    pub fn total(&self) -> Ns {
        self.parts().map(|(_, ns)| ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribution_adds_up_and_can_be_cleared() {
        let mut attribution = Attribution::default();
        attribution.add(ARRAY, 40);
        attribution.add(CHANNEL + TrafficClass::GcRead as usize, 7);
        attribution.add(CHANNEL + LOCKED_GC_READ, 3);
        assert_eq!(attribution.total(), 50);
        attribution.clear();
        assert_eq!(attribution.total(), 0);
    }

    #[test]
    fn every_part_has_its_name() {
        assert_eq!((PART_NAMES[OVERHEAD_WAIT], PART_NAMES[BUFFER_WAIT]), ("overhead_wait", "buffer_wait"));
        assert_eq!((PART_NAMES[SPACE], PART_NAMES[PLACE]), ("space", "placement"));
        assert_eq!((PART_NAMES[OVERHEAD], PART_NAMES[LINK_WAIT], PART_NAMES[LINK]), ("overhead", "link_wait", "link"));
        assert_eq!(PART_NAMES[DIE + TrafficClass::Erase as usize], "die_erase");
        assert_eq!(PART_NAMES[CHANNEL + TrafficClass::Flush as usize], "channel_flush");
        assert_eq!(PART_NAMES[CHANNEL + LOCKED_CONTROLLER], "controller_gc");
        assert_eq!(PART_NAMES[CHANNEL + CHANNEL_IDLE], "policy");
        for class in 0..TRAFFIC_CLASSES {
            assert_eq!(PART_NAMES[FOR_BUFFER + class].strip_prefix("buffer"), PART_NAMES[DIE + class].strip_prefix("die"));
        }
        assert_eq!((PART_NAMES[BUFFER_SPACE], PART_NAMES[BUFFER_PLACE]), ("buffer_space", "buffer_placement"));
        assert_eq!((PART_NAMES[BUFFER_ASSEMBLY], PART_NAMES[BUFFER_POLICY]), ("buffer_assembly", "buffer_policy"));
    }
}
