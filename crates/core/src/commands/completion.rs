//! What is said of a request that has completed.

use crate::commands::CommandKind;
use crate::commands::request::Request;
use crate::units::Ns;

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number that `submit` returned.
    pub id: u64,
    /// What the command did.
    pub kind: CommandKind,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// When the host says that it issued it.
    pub asked: Ns,
    /// The same on the drive's clock, which is later where the host was late.
    pub arrived: Ns,
    /// When it completed.
    pub completed: Ns,
    /// Some page of it waited for a resource that a GC locked, for an erased page, or behind a write of the same page that did.
    pub gc_blocked: bool,
    /// Pages of it that were regenerated from the rest of their stripes, around a GC or because the ECC could not correct them.
    pub reconstructed: u16,
    /// Times at which a page of it was decided to wait for a GC.
    pub gc_waits: u16,
    /// Times at which a page of it had to, because another page of its stripe was behind a GC as well, or one that regenerates it
    /// because the ECC could not correct it.
    pub gc_waits_forced: u16,
    /// When the first of these waits began; 0 if there was none.
    pub gc_wait_since: Ns,
    /// How long it waited in the host because the device queue was full. The attribution has this time by what kept the slots
    /// taken.
    pub host_queue_ns: Ns,
}

impl Completion {
    #[inline(always)]
    pub(crate) fn new(request: &Request, completed: Ns) -> Self {
        Self {
            id: request.id,
            kind: request.command.kind,
            sector: request.command.sector,
            sectors: request.command.sectors,
            asked: request.asked,
            arrived: request.arrived,
            completed,
            gc_blocked: request.gc_blocked,
            reconstructed: request.reconstructed,
            gc_waits: request.gc_waits,
            gc_waits_forced: request.gc_waits_forced,
            gc_wait_since: request.gc_wait_since,
            host_queue_ns: request.accepted - request.arrived,
        }
    }

    /// It waited in the host because the device queue was full.
    #[inline]
    pub fn queue_blocked(&self) -> bool {
        self.host_queue_ns > 0
    }
}
