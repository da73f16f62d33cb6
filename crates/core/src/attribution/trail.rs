//! How the time of a request passed: the trail of an attribution; and what a tracing observer is given of dies, channels and GCs.

use crate::attribution::parts::TrafficClass;
use crate::ids::{DieIx, Lpn, PlaneIx};
use crate::units::Ns;

/// In place of the number of a GC or a request: none.
pub const NOBODY: u64 = u64::MAX;

/// What passed while a request's path went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Something of the request's own, or a wait without a resource of the flash: a part of its attribution.
    Own(u8),
    /// Waiting in the queue of a plane.
    InQueue(PlaneIx),
    /// Begun in a plane, and waiting for the channel.
    ForChannel(PlaneIx),
    /// Whatever of this time is not another passage's belongs to a part of the attribution.
    Remainder(u8),
}

/// A piece of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When it began.
    pub from: Ns,
    /// When it ended.
    pub to: Ns,
    /// The plane in which it passed; `NONE` outside the flash.
    pub plane: PlaneIx,
    /// What it was.
    pub what: Passing,
}

/// A time in which a die ran one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// When it began.
    pub from: Ns,
    /// When it ended.
    pub to: Ns,
    /// The die.
    pub die: DieIx,
    /// The plane, of several in one command the first.
    pub plane: PlaneIx,
    /// What it ran.
    pub traffic: TrafficClass,
    /// The logical page; `NONE` for an erase.
    pub lpn: Lpn,
    /// The GC that it belongs to, by its number; `NOBODY` if to none.
    pub gc: u64,
    /// For a GC, the offset in the victim of the page that it moves.
    pub page: u32,
    /// The request that it belongs to; `NOBODY` if to none alone.
    pub request: u64,
}

/// A time in which a channel carries commands or data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// When it begins.
    pub from: Ns,
    /// When it ends.
    pub to: Ns,
    /// The channel.
    pub channel: u32,
    /// For whom.
    pub traffic: TrafficClass,
    /// The plane that it goes to or comes from.
    pub plane: PlaneIx,
}

/// A GC that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcRecord {
    /// Its number, in the order in which GCs started.
    pub number: u64,
    /// The plane.
    pub plane: PlaneIx,
    /// The block that it erased, within the plane.
    pub block: u32,
    /// Pages that it moved.
    pub moved: u32,
    /// When it started and began to wait for what it must lock.
    pub started: Ns,
    /// When it had locked all of that for the first time.
    pub locked: Ns,
    /// When its last page had been moved.
    pub moved_at: Ns,
    /// When its block was erased.
    pub ended: Ns,
}
