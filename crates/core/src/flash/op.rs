//! Flash operations: what they are, who waits for them, and the slab that they live in.

use crate::attribution::parts::TrafficClass;
use crate::ids::{DieIx, NONE, PlaneIx, Ppn};
use crate::units::Ns;

/// What the flash does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    /// Command, array, transfer out.
    Read,
    /// Command and transfer in, array.
    Program,
    /// Command, array read, command, array program: inside one plane, without transfer.
    Copyback,
    /// Command, then one or more array steps.
    Erase,
}

/// Classes of waiting work. Work of one class and plane waits in one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Reads for the host.
    HostRead,
    /// Reads on the way to something else: read-modify-write, parity, reconstruction.
    AuxiliaryRead,
    /// Programs that a host write waits for.
    HostProgram,
    /// Programs from the buffer.
    Flush,
    /// The next step of a GC, chosen when it is picked.
    Gc,
    /// A page that GC has read and must program.
    GcProgram,
    /// Work that can always wait.
    Background,
    /// A GC's lock request.
    Lock,
}

/// Number of classes.
pub const CLASSES: usize = 8;

/// The classes in the order of their numbers.
pub(crate) const CLASS_BY_NUMBER: [Class; CLASSES] =
    [Class::HostRead, Class::AuxiliaryRead, Class::HostProgram, Class::Flush, Class::Gc, Class::GcProgram, Class::Background, Class::Lock];

/// In a die's mask, the bits of every plane for one class.
pub(crate) const fn class_bits(class: Class) -> u64 {
    0x0101_0101_0101_0101 << class as u32
}

/// Bits of the work that a suspended erase or program makes way for.
pub(crate) const READ_BITS: u64 = class_bits(Class::HostRead) | class_bits(Class::AuxiliaryRead);
/// Bits of GC's work.
pub(crate) const GC_BITS: u64 = class_bits(Class::Gc) | class_bits(Class::GcProgram);
/// Bits of work that can always wait.
pub(crate) const BACKGROUND_BITS: u64 = class_bits(Class::Background);
/// Bits of the lock requests, which need no channel.
pub(crate) const LOCK_BITS: u64 = class_bits(Class::Lock);

/// Who waits for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A host request.
    Request(u32),
    /// A fork-join job.
    Job(u32),
    /// The GC of a plane.
    Gc(PlaneIx),
    /// A page of the write buffer.
    Entry(u32),
    /// A stripe on its way from the buffer to the flash.
    StripeWrite(u32),
    /// A page that is regenerated from its stripe.
    Rebuild(u32),
    /// The scrubber of a die.
    Scrub(DieIx),
    /// The stripe that moves for the sake of wear.
    Mover,
}

impl Owner {
    /// Whether the waits of its operations are attributed. A job decides for its operations.
    #[inline]
    pub(crate) fn is_attributed(self) -> bool {
        matches!(self, Self::Request(_) | Self::Rebuild(_))
    }

    /// Whether its background work hurries once it has taken too long.
    #[inline]
    pub(super) fn can_be_overdue(self) -> bool {
        matches!(self, Self::Mover)
    }
}

/// In place of the first sector of a program: its page has been given up. A page has at most 64 sectors.
const VOID: u8 = u8::MAX;

/// One flash operation: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Op {
    /// When it first entered a queue.
    pub born: Ns,
    /// When it began to wait, or when it was issued.
    pub since: Ns,
    /// Its rank by arrival.
    pub arrival: u64,
    /// Who waits for it.
    pub owner: Owner,
    /// What the tier above knows its data by.
    pub tag: u32,
    /// The page that is read; for an erase, the block.
    pub ppn: Ppn,
    /// The page that is programmed.
    pub target: Ppn,
    /// The next operation in a queue or list.
    pub next: u32,
    /// The next part of a fused operation.
    pub partner: u32,
    /// The plane.
    pub plane: PlaneIx,
    /// Sectors that cross the channel; of a program none, if its data have reached the die before it starts.
    pub sectors: u8,
    /// First sector in the page. A program carries the whole page; `VOID` says that the host has given it up.
    pub first_sector: u8,
    /// What the flash does.
    pub kind: OpKind,
    /// Which queue it waits in.
    pub class: Class,
    /// What a die or channel is busy with while it runs.
    pub traffic: TrafficClass,
    /// Whether its latency is attributed, and whether it is critical: `ATTRIBUTED` and `CRITICAL`.
    pub flags: u8,
    /// Whether it waited for something that a GC locked, or stood behind one of its page that did.
    pub gc_blocked: bool,
    /// What the time on the die counts as that is not its own: of its partners, or while it was suspended.
    pub other_traffic: Option<TrafficClass>,
}

const _: () = assert!(size_of::<Op>() == 64);

impl Op {
    #[inline]
    pub(crate) fn new(kind: OpKind, class: Class, traffic: TrafficClass, owner: Owner, tag: u32, plane: PlaneIx) -> Self {
        Self {
            born: 0,
            since: 0,
            arrival: 0,
            owner,
            tag,
            ppn: NONE,
            target: NONE,
            next: NONE,
            partner: NONE,
            plane,
            sectors: 0,
            first_sector: 0,
            kind,
            class,
            traffic,
            flags: ATTRIBUTED * owner.is_attributed() as u8,
            gc_blocked: false,
            other_traffic: None,
        }
    }

    /// What work of the background counts as for `order` once it is overdue: as what the host waits for in the end.
    pub(super) fn class_when_overdue(&self) -> Class {
        if self.kind == OpKind::Read { Class::AuxiliaryRead } else { Class::Flush }
    }

    /// Notes that the host has given up the page that it programs.
    pub(crate) fn give_up(&mut self) {
        self.first_sector = VOID;
    }

    /// Whether the host has given up the page that it programs.
    #[inline]
    pub(crate) fn is_void(&self) -> bool {
        self.first_sector == VOID
    }

    /// Its latency is attributed from now on.
    pub(crate) fn attribute_from(&mut self, now: Ns) {
        if !self.is_attributed() {
            self.flags |= ATTRIBUTED;
            self.since = now;
        }
    }

    /// Whether its latency is attributed.
    #[inline]
    pub(crate) fn is_attributed(&self) -> bool {
        self.flags & ATTRIBUTED != 0
    }

    /// Whether the host has marked the write that it is of as critical.
    #[inline]
    pub(crate) fn is_critical(&self) -> bool {
        self.flags & CRITICAL != 0
    }

    /// Whether the host waits for it, at once or in the end.
    pub(crate) fn is_host(&self) -> bool {
        (self.class as u8) <= Class::Flush as u8
    }
}

/// The latency of an operation is attributed.
pub(crate) const ATTRIBUTED: u8 = 1;
/// It is of a write that the host has marked as critical.
pub(crate) const CRITICAL: u8 = 2;
