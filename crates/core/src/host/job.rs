//! A fork-join job.

use crate::attribution::parts::Attribution;
use crate::buffer::stage::{STAGES_MAX, Stage};
use crate::flash::op::Owner;

/// A fork-join graph under way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) owner: Owner,
    pub(super) stages: [Stage; STAGES_MAX],
    pub(super) stage_count: u8,
    pub(super) stage: u8,
    pub(super) pending: u32,
    pub(super) attribution: Attribution,
    pub(super) gc_blocked: bool,
}
