//! Jobs: fork-join graphs of operations, stage after stage, with computing between them.
//!
//! A stage is a list of operations that run in parallel; when the last has completed, the job computes for a while (XOR,
//! ECC) and starts the next stage. The attribution of a job is that of its longest path: of each stage the operation that
//! finished last.

use crate::attribution::parts::Attribution;
use crate::attribution::trail::Passing;
use crate::buffer::stage::{STAGES_MAX, Stage};
use crate::context::{Context, Watched};
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{ATTRIBUTED, OpKind, Owner};
use crate::flash::upper::Upper;
use crate::host::job::Job;
use crate::host::tiers::Tiers;
use crate::ids::NONE;
use crate::observe::COMPUTE;

impl<Q: EventQueue, U: Watched> Engine<Q, Tiers<U>>
where
    Self: Context,
{
    /// Starts a job of up to `STAGES_MAX` stages; `owner` learns of the end of the last one. The attribution of a wait that it
    /// follows is given, and whether a GC caused that.
    pub(crate) fn start_job(&mut self, owner: Owner, stages: &[Stage], attribution: Attribution, gc_blocked: bool) {
        assert!((1..=STAGES_MAX).contains(&stages.len()), "a job has 1 to {STAGES_MAX} stages");
        let mut all = [Stage { first: NONE, compute_ns: 0 }; STAGES_MAX];
        all[..stages.len()].copy_from_slice(stages);
        let job = Job { owner, stages: all, stage_count: stages.len() as u8, stage: 0, pending: 0, attribution, gc_blocked };
        let job = self.up.up.up.host.jobs.insert(job);
        if all[0].first == NONE {
            return self.stage_done(job);
        }
        self.start_stage(job);
    }

    fn start_stage(&mut self, job: u32) {
        let running = &mut self.up.up.up.host.jobs[job as usize];
        let first = running.stages[running.stage as usize].first;
        // What is not asked of the first stage may be asked of the next.
        let asked = matches!(running.owner, Owner::Entry(_)) && self.up.up.raid.buffer.is_asking();
        let mut count = 0;
        let mut op = first;
        while op != NONE {
            self.flash.ops[op as usize].owner = Owner::Job(job);
            self.flash.ops[op as usize].flags |= ATTRIBUTED * u8::from(asked);
            op = self.flash.ops[op as usize].next;
            count += 1;
        }
        self.up.up.up.host.jobs[job as usize].pending = count;
        let mut op = first;
        while op != NONE {
            let next = std::mem::replace(&mut self.flash.ops[op as usize].next, NONE);
            self.enqueue(op);
            op = next;
        }
    }

    /// An operation of a job completed; `op` still has its attribution.
    pub(super) fn job_op_done(&mut self, job: u32, op: u32) {
        let running = &mut self.up.up.up.host.jobs[job as usize];
        running.gc_blocked |= self.flash.ops[op as usize].gc_blocked;
        running.pending -= 1;
        let (owner, last) = (running.owner, running.pending == 0);
        self.part_is_done(owner, op);
        if !last {
            return;
        }
        if self.flash.ops[op as usize].is_attributed() {
            self.up.up.up.host.jobs[job as usize].attribution.add_all(self.flash.attribution(op));
        }
        self.carry_over(job, op);
        self.stage_done(job);
    }

    /// A read-modify-write carries its old page from the read to the program.
    fn carry_over(&mut self, job: u32, op: u32) {
        let running = &self.up.up.up.host.jobs[job as usize];
        if let Some(oracle) = &mut self.up.oracle {
            let next = running.stages.get(running.stage as usize + 1).map_or(NONE, |stage| stage.first);
            if next != NONE && self.flash.ops[next as usize].kind == OpKind::Program {
                let base = oracle.carried(op);
                let merged = oracle.fill(&oracle.carried(next), Some(&base));
                oracle.carry(next, merged);
            }
        }
    }

    /// Every operation of a stage is done: the job computes, and goes on.
    fn stage_done(&mut self, job: u32) {
        let running = &mut self.up.up.up.host.jobs[job as usize];
        let stage = running.stages[running.stage as usize];
        running.stage += 1;
        if stage.compute_ns > 0 {
            let now = self.flash.now;
            let attribution = &mut self.up.up.up.host.jobs[job as usize].attribution;
            attribution.add(COMPUTE, stage.compute_ns);
            if Self::TRACED {
                attribution.trace(now, now + stage.compute_ns, NONE, Passing::Own(COMPUTE as u8));
            }
            self.set_timer(self.flash.now + stage.compute_ns, crate::timer::Timer::JobStage(job));
        } else {
            self.continue_job(job);
        }
    }

    /// Starts the next stage of a job, or ends it.
    pub(crate) fn continue_job(&mut self, job: u32) {
        let running = &mut self.up.up.up.host.jobs[job as usize];
        if running.stage < running.stage_count {
            return self.start_stage(job);
        }
        let owner = running.owner;
        std::mem::swap(&mut self.up.up.up.host.path_attribution, &mut running.attribution);
        let gc_blocked = running.gc_blocked;
        self.up.up.up.host.jobs.remove(job);
        match owner {
            Owner::Request(request) => {
                self.part_of_request_done(request, None, gc_blocked);
            }
            Owner::Entry(page) => {
                let attribution = &self.up.up.up.host.path_attribution;
                if attribution.mask() != 0 {
                    self.up.up.raid.buffer.explain(self.flash.traits.assembles, attribution);
                }
                self.page_flushed(page);
            }
            Owner::Rebuild(rebuild) => self.rebuild_done(rebuild, gc_blocked),
            _ => unreachable!("no other owner has jobs"),
        }
        self.up.up.up.host.path_attribution.clear();
    }
}
