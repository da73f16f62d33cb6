//! The stages of a fork-join job.

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
