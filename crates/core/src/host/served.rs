//! What the tiers below tell and ask the host interface.

use crate::buffer::stage::Stage;
use crate::commands::request::Request;
use crate::event::EventQueue;
use crate::flash::op::Owner;
use crate::flash::upper::Served;
use crate::host::tiers::Drive;
use crate::observe::{Attribution, Observer};
use crate::raid::front::Front;

impl<O: Observer, Q: EventQueue> Served for Drive<O, Q> {
    fn delayed_by_gc(&mut self, op: u32) {
        self.delay_writes_behind(op);
    }

    fn request_number(&self, request: u32) -> u64 {
        self.up.up.up.host.requests[request as usize].id
    }
}

impl<O: Observer, Q: EventQueue> Front for Drive<O, Q> {
    #[inline(always)]
    fn is_last(&self, op: u32) -> bool {
        let host = &self.up.up.up.host;
        match self.flash.ops[op as usize].owner {
            Owner::Request(request) => host.requests[request as usize].pending == 1,
            Owner::Job(job) => host.jobs[job as usize].pending == 1,
            _ => false,
        }
    }

    #[inline(always)]
    fn host_learns(&mut self, op: u32) -> bool {
        self.op_done(op)
    }

    #[inline]
    fn request(&mut self, request: u32) -> &mut Request {
        &mut self.up.up.up.host.requests[request as usize]
    }

    #[inline]
    fn submitted_so_far(&self) -> u64 {
        self.up.up.up.host.submitted()
    }

    fn job_owner(&self, job: u32) -> Owner {
        self.up.up.up.host.jobs[job as usize].owner
    }

    fn begin_job(&mut self, owner: Owner, stages: &[Stage], attribution: Attribution, gc_blocked: bool) {
        self.start_job(owner, stages, attribution, gc_blocked);
    }

    fn regenerated(&mut self, request: u32, gc_blocked: bool, link_sectors: u32) {
        self.rebuilt(request, gc_blocked, link_sectors);
    }
}
