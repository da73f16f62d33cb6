//! Trims: whole pages are taken out of the tables and the buffer at once, without flash time.
//!
//! A trim takes effect when the device begins with it. What has reached the device by then is given up, wherever it is: a page
//! in the buffer is dropped, a program under way is recorded as stale when it ends, and a page that GC copies is found to be
//! stale. Data of a write that are still crossing the link come later and stay.

use crate::buffer::write_buffer::Dropped;
use crate::commands::Command;
use crate::flash::op::Class;
use crate::ftl::above::WithFtl;
use crate::host::tiers::{Drive, WithHost};
use crate::ids::{Lpn, NONE};
use crate::observe::Observer;
use crate::raid::front::WithRaid;

impl<O: Observer> Drive<O> {
    #[cold]
    pub(super) fn accept_trim(&mut self, request: u32, command: &Command) {
        let WithRaid { raid, up: WithHost { host, .. } } = &mut self.up.up;
        let (first, end, partly) = host.whole_pages(command);
        host.counters.trims += 1;
        host.counters.trimmed_partly += partly;
        if first < end {
            raid.buffer.waiting().iter().for_each(|write| host.give_up_waiting(write, first, end));
            raid.buffer.reopen();
            (first..end).for_each(|lpn| self.give_up_page(lpn));
        }
        self.serve_from_ram(request);
    }

    fn give_up_page(&mut self, lpn: Lpn) {
        let WithFtl { ftl, oracle, up: WithRaid { raid, up: WithHost { host, .. } } } = &mut self.up;
        if let Some(oracle) = oracle {
            oracle.trim(lpn);
        }
        if raid.rain.is_some() {
            let mapped = ftl.tables.lookup(lpn) != NONE;
            let (dropped, given_up) = raid.give_up_in_stripe(lpn, mapped);
            host.counters.trimmed_buffered += u64::from(dropped);
            host.counters.trimmed_pages += u64::from(given_up && mapped);
            return;
        }
        if raid.buffer.exists() {
            match raid.buffer.drop_page(lpn) {
                Dropped::Absent => {}
                Dropped::Freed => host.counters.trimmed_buffered += 1,
                Dropped::InFlight(program) => self.flash.ops[program as usize].give_up(),
            }
        } else if host.direct.give_up(lpn) {
            // Operations that have ended may match as well; they are written anew when they are used again.
            for op in 0..self.flash.ops.len() {
                let op = &mut self.flash.ops[op];
                if op.class == Class::HostProgram && op.tag == lpn {
                    op.give_up();
                }
            }
        }
        ftl.tables.note_trim(lpn);
        let ppn = ftl.tables.unmap(lpn);
        if ppn != NONE {
            host.counters.trimmed_pages += 1;
            let plane = ftl.tables.plane_of(ppn);
            let elsewhere = ftl.traits.dynamic || self.flash.traits.assembles;
            if elsewhere || !self.flash.queues(plane).space_blocked.is_empty() {
                // There may be a victim now where there was none, and programs that wait for its erased pages in no queue of
                // this plane.
                self.consider_gc(plane);
            }
        }
    }
}
