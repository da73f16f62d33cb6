//! What policies are asked, in words and with what may be answered.

use std::fmt::{self, Display};
use tinytail_core::flash::ask::Candidate;
use tinytail_core::ids::{BlockGroup, DieIx, Pool};
use tinytail_core::policy::Want;
use tinytail_core::policy::view::{BlockedRead, View};

/// A question about the drive as a view shows it.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The drive.
    pub view: View<'a>,
    /// What is asked.
    pub asked: Asked<'a>,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// Which block of a plane is collected.
    Victim {
        /// The plane.
        pool: Pool,
        /// The blocks, in order.
        candidates: &'a [BlockGroup],
    },
    /// How much a plane wants a GC.
    GcTrigger {
        /// The plane.
        pool: Pool,
    },
    /// Whether a GC that a plane wants may start.
    GcGate {
        /// The plane.
        pool: Pool,
        /// How much it wants it.
        want: Want,
    },
    /// Which operation a free die starts.
    AtDie {
        /// The operations.
        waiting: &'a [Candidate],
    },
    /// Which operation a free channel serves.
    AtChannel {
        /// The operations.
        waiting: &'a [Candidate],
    },
    /// Whether the work of a die makes way for a read.
    Suspend {
        /// The die.
        die: DieIx,
    },
    /// How a read behind a GC is served.
    ReadPlan {
        /// The read.
        read: &'a BlockedRead<'a>,
    },
}

/// The interfaces whose policies may come from outside, by their sections.
pub const SECTIONS: [&str; 6] = ["victim", "gc_trigger", "gc_gate", "order", "suspend", "read_plan"];

/// So many candidates are named in a message.
const NAMED_MAX: usize = 8;

impl Asked<'_> {
    /// The section of its interface.
    pub fn section(&self) -> &'static str {
        match self {
            Self::Victim { .. } => "victim",
            Self::GcTrigger { .. } => "gc_trigger",
            Self::GcGate { .. } => "gc_gate",
            Self::AtDie { .. } | Self::AtChannel { .. } => "order",
            Self::Suspend { .. } => "suspend",
            Self::ReadPlan { .. } => "read_plan",
        }
    }

    /// What may be answered.
    pub fn allowed(&self) -> String {
        match self {
            Self::Victim { candidates, .. } => {
                let named: Vec<String> = candidates.iter().take(NAMED_MAX).map(|group| group.0.to_string()).collect();
                let more = if candidates.len() > NAMED_MAX { ", ..." } else { "" };
                format!("one of {} candidates: {}{more}", candidates.len(), named.join(", "))
            }
            Self::GcTrigger { .. } => "0 (NO), 1 (SOFT) or 2 (HARD)".into(),
            Self::GcGate { .. } => "0 (CLOSED), 1 (OPEN), or a time to come, in nanoseconds, at which to ask again".into(),
            Self::AtDie { waiting } | Self::AtChannel { waiting } => {
                format!("the place of one of {} candidates, 0 to {}", waiting.len(), waiting.len() - 1)
            }
            Self::Suspend { .. } => "0 (NO), or what suspend_now, suspend_at_boundary and ask_at make".into(),
            Self::ReadPlan { .. } => "0 (DIRECT), 1 (WAIT) or 2 (RECONSTRUCT)".into(),
        }
    }
}

impl Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Victim { pool, .. } => write!(f, "which block of plane {} is collected", pool.0),
            Self::GcTrigger { pool } => write!(f, "how much plane {} wants a GC", pool.0),
            Self::GcGate { pool, .. } => write!(f, "whether the GC of plane {} may start", pool.0),
            Self::AtDie { waiting } => write!(f, "which of {} operations a free die starts", waiting.len()),
            Self::AtChannel { waiting } => write!(f, "which of {} operations a free channel serves", waiting.len()),
            Self::Suspend { die } => write!(f, "whether the work of die {die} makes way for a read"),
            Self::ReadPlan { read } => write!(f, "how the read of page {} behind the GC of plane {} is served", read.lpn, read.plane),
        }
    }
}

impl Display for Question<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at {} ns of simulated time", self.asked, self.view.now())
    }
}
