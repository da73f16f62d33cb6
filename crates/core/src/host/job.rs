//! A fork-join job.

use crate::attribution::parts::Attribution;
use crate::buffer::stage::{STAGES_MAX, Stage};
use crate::flash::op::Owner;
use crate::ids::NONE;
use crate::units::Ns;

/// A fork-join graph under way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) owner: Owner,
    stages: [Stage; STAGES_MAX],
    stage_count: u8,
    stage: u8,
    /// Operations of its stage that have not completed.
    pub(super) pending: u32,
    pub(super) attribution: Attribution,
    pub(super) gc_blocked: bool,
}

impl Job {
    /// A job of 1 to `STAGES_MAX` stages that has not started. The attribution of a wait that it follows is given, and whether a
    /// GC caused that.
    pub(super) fn new(owner: Owner, stages: &[Stage], attribution: Attribution, gc_blocked: bool) -> Self {
        assert!((1..=STAGES_MAX).contains(&stages.len()), "a job has 1 to {STAGES_MAX} stages");
        let mut all = [Stage { first: NONE, compute_ns: 0 }; STAGES_MAX];
        all[..stages.len()].copy_from_slice(stages);
        Self { owner, stages: all, stage_count: stages.len() as u8, stage: 0, pending: 0, attribution, gc_blocked }
    }

    /// The first operation of its stage, or `NONE`.
    pub(super) fn first(&self) -> u32 {
        self.stages[self.stage as usize].first
    }

    /// The first operation of the stage after it, or `NONE`.
    pub(super) fn first_of_next(&self) -> u32 {
        self.stages.get(self.stage as usize + 1).map_or(NONE, |stage| stage.first)
    }

    /// An operation of its stage has completed. Returns whether it was the last.
    pub(super) fn op_done(&mut self, gc_blocked: bool) -> bool {
        self.gc_blocked |= gc_blocked;
        self.pending -= 1;
        self.pending == 0
    }

    /// Goes on to the next stage. Returns for how long it computes before.
    pub(super) fn end_stage(&mut self) -> Ns {
        let stage = self.stages[self.stage as usize];
        self.stage += 1;
        stage.compute_ns
    }

    /// Whether all its stages are done.
    pub(super) fn is_done(&self) -> bool {
        self.stage >= self.stage_count
    }
}
