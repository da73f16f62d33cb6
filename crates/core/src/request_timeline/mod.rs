//! The order in which a request's time passed, for those who ask for more than its sums.
//!
//! A drive whose observer traces reports what its dies and channels do and what locks its planes, and gives each attribution a
//! trail: the passages of the request's time in which it waited or got on. The trace builder keeps the past for as long as a
//! request in the device may have waited in it, and puts both together: a request timeline, whose segments follow one another
//! without a gap from arrival to completion. It shares no counter with the attribution, so that each checks the other.

mod builder;

pub use crate::attribution::trail::{GcRecord, NOBODY, Passage, Passing, Run, Use};
pub use builder::TraceBuilder;

use crate::ids::{NONE, PlaneIx};
use crate::units::Ns;

/// A segment of a request timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When it began.
    pub from: Ns,
    /// When it ended.
    pub to: Ns,
    /// The part of the attribution that it counts as.
    pub part: u8,
    /// The plane in which the request waited or worked; `NONE` outside the flash.
    pub plane: PlaneIx,
    /// The plane of what it waited for, if that was something in the flash.
    pub by_plane: PlaneIx,
    /// The GC that it waited for; `NOBODY`: none.
    pub gc: u64,
    /// The offset in its victim of the page that the GC was moving; `NONE`: it was erasing, or only locked.
    pub page: u32,
    /// The request that it waited for; `NOBODY`: none, or several.
    pub request: u64,
}

impl Segment {
    /// A segment in which a request waits for nobody, or nobody is known.
    fn alone(from: Ns, to: Ns, part: usize, plane: PlaneIx) -> Self {
        Self { from, to, part: part as u8, plane, by_plane: NONE, gc: NOBODY, page: NONE, request: NOBODY }
    }
}
