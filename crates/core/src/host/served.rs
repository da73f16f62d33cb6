//! What the tiers below tell and ask the host interface.

use crate::commands::request::Request;
use crate::event::EventQueue;
use crate::flash::op::{Class, Owner};
use crate::flash::upper::Served;
use crate::host::tiers::Drive;
use crate::observe::{Attribution, Observer};
use crate::raid::front::Front;

impl<O: Observer, Q: EventQueue> Served for Drive<O, Q> {
    fn delayed_by_gc(&mut self, op: u32) {
        let entry = &self.flash.ops[op as usize];
        if matches!(entry.class, Class::HostProgram | Class::AuxiliaryRead) {
            // So it has the writes that stand behind it in the order of its page.
            self.up.up.up.host.direct.delay(entry.tag, self.flash.now);
        }
    }

    fn request_number(&self, request: u32) -> u64 {
        self.up.up.up.host.requests[request as usize].id
    }
}

impl<O: Observer, Q: EventQueue> Front for Drive<O, Q> {
    #[inline(always)]
    fn host_learns(&mut self, op: u32) -> bool {
        let entry = &self.flash.ops[op as usize];
        let (owner, lpn, direct) = (entry.owner, entry.tag, entry.class == Class::HostProgram);
        if direct {
            self.up.up.up.host.direct.programmed_last = lpn;
        }
        let kept = match owner {
            Owner::Request(request) => self.part_done(request, Some(op), entry.gc_blocked, entry.sectors.into()),
            Owner::Job(job) => {
                self.job_op_done(job, op);
                false
            }
            _ => unreachable!("the tiers below take the operations of all others"),
        };
        if direct && let Some(next) = self.up.up.up.host.direct.end(lpn) {
            self.start_direct_write(lpn, next);
        }
        kept
    }

    #[inline]
    fn request(&mut self, request: u32) -> &mut Request {
        &mut self.up.up.up.host.requests[request as usize]
    }

    #[inline]
    fn submitted_so_far(&self) -> u64 {
        self.up.up.up.host.submitted()
    }

    fn part_is_served(&mut self, request: u32, gc_blocked: bool, attribution: &mut Attribution, link_sectors: u32) {
        std::mem::swap(&mut self.up.up.up.host.path_attribution, attribution);
        self.part_done(request, None, gc_blocked, link_sectors);
        self.up.up.up.host.path_attribution.clear();
    }
}
