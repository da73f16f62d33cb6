//! What the flash asks of the firmware above it, and what it may be told: which waiting work starts, what joins it, what makes way.

use crate::flash::op::{Class, OpKind};
use crate::ids::PlaneIx;
use crate::units::Ns;

/// An operation that could start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The class of its work.
    pub class: Class,
    /// The plane that it is for.
    pub plane: PlaneIx,
    /// Its rank by arrival: lower waited longer.
    pub arrival: u64,
    /// A GC that the plane needs urgently.
    pub urgent: bool,
    /// Its die has begun with it and needs the channel again; otherwise it would start.
    pub continues: bool,
    /// Data cross the channel now: those of a page that was read, or that of a program behind its command.
    pub data: bool,
}

/// A waiting operation that might join a multi-plane command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Read or program.
    pub kind: OpKind,
    /// The class of its work.
    pub class: Class,
    /// The plane that it is for.
    pub plane: PlaneIx,
    /// The page offset in its block: of the data for a read, of the page that it would get for a program.
    pub offset: u32,
}

/// What becomes of an operation that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It goes on later from exactly where it was cut.
    Progress,
    /// Only completed steps are kept; the current one starts anew.
    Steps,
    /// As `Progress`, and neither cutting nor going on takes any time.
    ProgressForFree,
}

/// Which reads are served before the suspended work goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Serve {
    /// All, until none waits.
    #[default]
    UntilNoneWaits,
    /// Those that had arrived when the work was cut.
    Arrived,
    /// All that arrive up to a time, until none of them waits.
    ArrivedBy(Ns),
}

/// Whether, when and how a running erase or program makes way for a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspension {
    /// It does not.
    No,
    /// At once, after the device's suspend time.
    Now(Keep, Serve),
    /// At the end of the current step.
    AtBoundary(Serve),
    /// Not yet; ask again at this time if the read still waits.
    AskAt(Ns),
}
