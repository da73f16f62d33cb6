//! A fork-join job.

use crate::attribution::parts::Attribution;
use crate::flash::op::Owner;
use crate::ids::NONE;
use crate::units::Ns;

/// Operations that run in parallel, computing when the last of them has completed, and an operation that needs what they brought.
#[derive(Debug)]
pub(crate) struct Job {
    /// Who learns of its end.
    pub owner: Owner,
    /// Operations under way that have not completed.
    pub pending: u32,
    /// Computing after the first operations.
    pub compute_ns: Ns,
    /// The operation after that; `NONE` if there is none, or it has begun.
    pub then: u32,
    /// What its longest path took: of its operations, those that finished last.
    pub attribution: Attribution,
    pub gc_blocked: bool,
}

impl Job {
    /// One that neither computes nor ends with an operation apart.
    pub(crate) fn of(owner: Owner) -> Self {
        Self { owner, pending: 0, compute_ns: 0, then: NONE, attribution: Attribution::default(), gc_blocked: false }
    }
}
