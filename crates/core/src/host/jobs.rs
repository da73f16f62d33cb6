//! Jobs: fork-join graphs of operations, stage after stage, with computing between them.
//!
//! A stage is a list of operations that run in parallel; when the last has completed, the job computes for a while (XOR,
//! ECC) and starts the next stage. The attribution of a job is that of its longest path: of each stage the operation that
//! finished last.

use crate::attribution::parts::Attribution;
use crate::attribution::trail::Passing;
use crate::buffer::stage::Stage;
use crate::event::EventQueue;
use crate::flash::op::{ATTRIBUTED, OpKind, Owner};
use crate::host::job::Job;
use crate::host::tiers::{Drive, WithHost};
use crate::ids::NONE;
use crate::observe::{COMPUTE, Observer};
use crate::raid::front::WithRaid;
use crate::timer::Timer;

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Starts a job of up to `STAGES_MAX` stages; `owner` learns of the end of the last one. The attribution of a wait that it
    /// follows is given, and whether a GC caused that.
    pub(crate) fn start_job(&mut self, owner: Owner, stages: &[Stage], attribution: Attribution, gc_blocked: bool) {
        let job = Job::new(owner, stages, attribution, gc_blocked);
        let first = job.first();
        let job = self.up.up.up.host.jobs.insert(job);
        if first == NONE {
            return self.stage_done(job);
        }
        self.start_stage(job);
    }

    fn start_stage(&mut self, job: u32) {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let running = &mut host.jobs[job as usize];
        let first = running.first();
        // What is not asked of the first stage may be asked of the next.
        let asked = matches!(running.owner, Owner::Entry(_)) && raid.buffer.is_asking();
        let mut op = first;
        while op != NONE {
            let entry = &mut self.flash.ops[op as usize];
            entry.owner = Owner::Job(job);
            entry.flags |= ATTRIBUTED * u8::from(asked);
            op = entry.next;
            running.pending += 1;
        }
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
        let entry = &self.flash.ops[op as usize];
        let last = running.op_done(entry.gc_blocked);
        if last && entry.is_attributed() {
            running.attribution.add_all(self.flash.attribution(op));
        }
        let (owner, next) = (running.owner, running.first_of_next());
        self.part_is_done(owner, op);
        if last {
            self.carry_over(op, next);
            self.stage_done(job);
        }
    }

    /// A read-modify-write carries its old page from the read to the program, which is the first operation of the next stage.
    fn carry_over(&mut self, op: u32, next: u32) {
        if let Some(oracle) = &mut self.up.oracle
            && next != NONE
            && self.flash.ops[next as usize].kind == OpKind::Program
        {
            let base = oracle.carried(op);
            let merged = oracle.fill(&oracle.carried(next), Some(&base));
            oracle.carry(next, merged);
        }
    }

    /// Every operation of a stage is done: the job computes, and goes on.
    fn stage_done(&mut self, job: u32) {
        let now = self.flash.now;
        let running = &mut self.up.up.up.host.jobs[job as usize];
        let compute_ns = running.end_stage();
        if compute_ns > 0 {
            running.attribution.add(COMPUTE, compute_ns);
            if O::TRACED {
                running.attribution.trace(now, now + compute_ns, NONE, Passing::Own(COMPUTE as u8));
            }
            self.set_timer(now + compute_ns, Timer::JobStage(job));
        } else {
            self.continue_job(job);
        }
    }

    /// Starts the next stage of a job, or ends it.
    pub(crate) fn continue_job(&mut self, job: u32) {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        if !host.jobs[job as usize].is_done() {
            return self.start_stage(job);
        }
        let (owner, gc_blocked) = host.end_job(job);
        match owner {
            Owner::Request(request) => {
                self.part_of_request_done(request, None, gc_blocked);
            }
            Owner::Entry(page) => {
                if host.path_attribution.mask() != 0 {
                    raid.buffer.explain(self.flash.traits.assembles, &host.path_attribution);
                }
                self.page_flushed(page);
            }
            Owner::Rebuild(rebuild) => self.rebuild_done(rebuild, gc_blocked),
            _ => unreachable!("no other owner has jobs"),
        }
        self.up.up.up.host.path_attribution.clear();
    }
}
