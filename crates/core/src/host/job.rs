//! What a fork-join job is.

use crate::attribution::parts::Attribution;
use crate::flash::op::Owner;
use crate::units::Ns;

/// The most stages of a job.
pub(crate) const STAGES_MAX: usize = 3;

/// A stage of a job.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The first of its operations, linked by `next`; `NONE` if there is nothing but computing, in the first stage alone.
    pub first: u32,
    /// Computing after the last of them.
    pub compute_ns: Ns,
}

/// A fork-join graph under way.
#[derive(Debug)]
pub(crate) struct Job {
    pub owner: Owner,
    pub(super) stages: [Stage; STAGES_MAX],
    pub(super) stage_count: u8,
    pub(super) stage: u8,
    pub pending: u32,
    pub attribution: Attribution,
    pub(super) gc_blocked: bool,
}
