//! What the tiers below tell and ask the host interface, and what is asked of it from outside.

use crate::commands::CommandKind;
use crate::commands::request::Request;
use crate::flash::op::{Class, Owner};
use crate::flash::upper::Served;
use crate::host::tiers::Drive;
use crate::observe::{Attribution, Completion, Observer};
use crate::raid::front::Front;
use crate::units::Ns;

impl<O: Observer> Served for Drive<O> {
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

impl<O: Observer> Front for Drive<O> {
    #[inline(always)]
    fn host_learns(&mut self, op: u32) -> bool {
        let entry = &self.flash.ops[op as usize];
        let (lpn, direct) = (entry.tag, entry.class == Class::HostProgram);
        let next = if direct { self.up.up.up.host.direct.end(lpn) } else { None };
        let kept = match entry.owner {
            Owner::Request(request) => self.part_done(request, Some(op), entry.gc_blocked, entry.sectors.into()),
            Owner::Job(job) => {
                self.job_op_done(job, op);
                false
            }
            _ => unreachable!("the tiers below take the operations of all others"),
        };
        if let Some(next) = next {
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
        self.submitted()
    }

    fn part_is_served(&mut self, request: u32, gc_blocked: bool, attribution: &mut Attribution, link_sectors: u32) {
        let host = &mut self.up.up.up.host;
        if host.requests[request as usize].pending == 1 {
            std::mem::swap(&mut host.path_attribution, attribution);
        }
        self.part_done(request, None, gc_blocked, link_sectors);
    }
}

/// What whoever drives the drive asks.
impl<O: Observer> Drive<O> {
    /// Requests that it has been given so far.
    pub fn submitted(&self) -> u64 {
        self.up.up.up.host.next_id
    }

    /// When the device took the oldest write that has not completed; nothing if it has none. Slow: for looks now and then.
    pub fn oldest_write(&self) -> Option<Ns> {
        let requests = self.up.up.up.host.requests.used();
        requests.filter(|request| request.command.kind == CommandKind::Write).map(|write| write.accepted).min()
    }

    /// Requests that have not completed.
    pub fn outstanding(&self) -> usize {
        let host = &self.up.up.up.host;
        host.requests.in_use() + host.queue.waiting()
    }

    /// Whether requests completed since the last call of `take_completions`.
    #[inline]
    pub fn has_completions(&self) -> bool {
        !self.up.up.up.host.completions.is_empty()
    }

    /// The requests completed since the last call, in order.
    #[inline]
    pub fn take_completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.up.up.up.host.completions);
    }

    /// Forgets the requests completed since the last call, and returns how many they are.
    #[inline]
    pub fn count_completions(&mut self) -> usize {
        self.up.up.up.host.completions.drain(..).len()
    }
}
