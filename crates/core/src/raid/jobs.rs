//! Jobs: operations that run in parallel, computing behind them (XOR, ECC), and an operation that follows. The read-modify-write of
//! a page is one, and so is its reconstruction.
//!
//! The attribution of a job is that of its longest path: of the operations that run in parallel the one that finished last.

use crate::attribution::trail::Passing;
use crate::flash::Engine;
use crate::flash::op::{ATTRIBUTED, OpKind, Owner};
use crate::flash::upper::Upper;
use crate::ftl::above::WithFtl;
use crate::ids::NONE;
use crate::observe::COMPUTE;
use crate::raid::front::{Front, WithRaid};
use crate::raid::job::Job;
use crate::timer::Rings;

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Starts a job with its first operations, which `next` links; none if there is nothing but computing.
    pub(crate) fn start_job(&mut self, job: Job, first: u32) {
        let job = self.up.up.raid.jobs.insert(job);
        if first == NONE {
            return self.go_on_with_job(job);
        }
        self.start_ops(job, first);
    }

    fn start_ops(&mut self, job: u32, first: u32) {
        let raid = &mut self.up.up.raid;
        let running = &mut raid.jobs[job as usize];
        // What is not asked of the first operations may be asked of the last.
        let asked = matches!(running.owner, Owner::Entry(_)) && raid.buffer.is_asking();
        let mut op = first;
        while op != NONE {
            let entry = &mut self.flash.ops[op as usize];
            entry.owner = Owner::Job(job);
            entry.flags |= ATTRIBUTED * u8::from(asked);
            op = entry.next;
            running.pending += 1;
        }
        self.enqueue_all(first);
    }

    /// Enqueues operations of one moment, which `next` links.
    #[inline(always)]
    pub(crate) fn enqueue_all(&mut self, first: u32) {
        let has_several = || first != NONE && self.flash.ops[first as usize].next != NONE;
        if self.flash.traits.starts_together && has_several() {
            return self.enqueue_all_together(first);
        }
        self.enqueue_each(first);
    }

    #[cold]
    fn enqueue_all_together(&mut self, first: u32) {
        self.enqueue_together(|drive| drive.enqueue_each(first));
    }

    #[inline(always)]
    fn enqueue_each(&mut self, first: u32) {
        let mut op = first;
        while op != NONE {
            let next = self.flash.ops[op as usize].next;
            self.enqueue(op);
            op = next;
        }
    }

    /// An operation of a job completed; `op` still has its attribution.
    pub(crate) fn job_op_done(&mut self, job: u32, op: u32) {
        let WithFtl { oracle, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let running = &mut raid.jobs[job as usize];
        let entry = &self.flash.ops[op as usize];
        running.gc_blocked |= entry.gc_blocked;
        running.pending -= 1;
        let last = running.pending == 0;
        if last && entry.is_attributed() {
            running.attribution.add_all(self.flash.attribution(op));
        }
        if let Some(oracle) = oracle {
            let then = running.then;
            if let (Owner::Rebuild(rebuild), Some(rain)) = (running.owner, &mut raid.rain) {
                let sum = &mut rain.rebuilds[rebuild as usize].sum;
                *sum = sum.xor(&oracle.carried(op));
            } else if last && then != NONE && self.flash.ops[then as usize].kind == OpKind::Program {
                // A read-modify-write carries its old page from the read to the program.
                let merged = oracle.fill(&oracle.carried(then), Some(&oracle.carried(op)));
                oracle.carry(then, merged);
            }
        }
        if last {
            self.go_on_with_job(job);
        }
    }

    /// All operations of a job that were under way are done, or it has computed: it computes, starts its last operation, or ends.
    fn go_on_with_job(&mut self, job: u32) {
        let now = self.flash.now;
        let raid = &mut self.up.up.raid;
        let running = &mut raid.jobs[job as usize];
        let (compute_ns, then) = (std::mem::take(&mut running.compute_ns), running.then);
        if compute_ns > 0 {
            running.attribution.add(COMPUTE, compute_ns);
            if Self::TRACED {
                running.attribution.trace(now, now + compute_ns, NONE, Passing::Own(COMPUTE as u8));
            }
            let goes_on: Rings<Self> = |drive, job| {
                drive.go_on_with_job(job);
                true
            };
            return self.set_timer(now + compute_ns, goes_on, job);
        }
        if then != NONE {
            running.then = NONE;
            return self.start_ops(job, then);
        }
        let (owner, gc_blocked, mut attribution) = (running.owner, running.gc_blocked, std::mem::take(&mut running.attribution));
        raid.jobs.remove(job);
        match owner {
            Owner::Request(request) => self.part_is_served(request, gc_blocked, &mut attribution, 0),
            Owner::Entry(page) => {
                raid.buffer.flushed(page, self.flash.traits.assembles, Some(&attribution).filter(|it| it.mask() != 0));
                self.flush_above_threshold();
            }
            Owner::Rebuild(rebuild) => self.rebuild_done(rebuild, gc_blocked, &mut attribution),
            _ => unreachable!("no other owner has jobs"),
        }
    }
}
