//! The waist between stripes and bit errors and the host interface above them.

use crate::attribution::parts::Attribution;
use crate::buffer::stage::Stage;
use crate::commands::request::Request;
use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{OpKind, Owner};
use crate::flash::upper::Served;
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{BlockIx, PlaneIx, Ppn};
use crate::raid::state::Raid;

/// The write buffer, stripes and bit errors, below whatever is above them.
pub struct WithRaid<U> {
    pub(crate) raid: Raid,
    pub(crate) up: U,
}

/// What is above, as stripes and bit errors know it.
pub trait Front: Context + Served {
    /// Whether an operation of a request or of a job is the last that it waits for.
    fn is_last(&self, op: u32) -> bool;
    /// The owner of an operation, a request or a job, learns that it is done. Returns whether the operation is still needed.
    fn host_learns(&mut self, op: u32) -> bool;
    /// A request in the device.
    fn request(&mut self, request: u32) -> &mut Request;
    /// Requests that the drive has been given so far.
    fn submitted_so_far(&self) -> u64;
    /// Who waits for a job.
    fn job_owner(&self, job: u32) -> Owner;
    /// Starts a job that follows a wait: with the attribution of that wait, and whether a GC caused it.
    fn begin_job(&mut self, owner: Owner, stages: &[Stage], attribution: Attribution, gc_blocked: bool);
    /// A request has the pages that a reconstruction stands for; so many sectors of them cross the link.
    fn regenerated(&mut self, request: u32, gc_blocked: bool, link_sectors: u32);
}

impl<Q: EventQueue, U> Above for Engine<Q, WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    #[inline(always)]
    fn is_read_again(&mut self, op: u32) -> bool {
        self.up.up.raid.errors.is_some() && self.flash.ops[op as usize].kind == OpKind::Read && self.pass_ecc(op)
    }

    #[inline(always)]
    fn asks_for_attribution(&self, op: u32) -> bool {
        match self.flash.ops[op as usize].owner {
            // Of a request's pages only the last to complete explains its latency, and of a job's those of each stage.
            Owner::Request(_) | Owner::Job(_) => self.is_last(op),
            Owner::Entry(_) | Owner::StripeWrite(_) => !self.up.up.raid.buffer.waiting().is_empty(),
            _ => false,
        }
    }

    #[inline(always)]
    fn owner_learns(&mut self, op: u32) -> bool {
        let entry = &self.flash.ops[op as usize];
        let gc_blocked = entry.gc_blocked;
        match entry.owner {
            Owner::Request(_) | Owner::Job(_) => return self.host_learns(op),
            Owner::Entry(page) => {
                if entry.is_attributed() {
                    self.up.up.raid.buffer.explain(self.flash.traits.assembles, self.flash.attribution(op));
                }
                self.page_flushed(page);
            }
            Owner::StripeWrite(stripe_write) => self.stripe_write_op_done(stripe_write, op),
            Owner::Rebuild(rebuild) => self.rebuild_done(rebuild, gc_blocked),
            Owner::Scrub(die) => self.scrub_op_done(die, op),
            Owner::Mover => self.mover_op_done(op),
            Owner::Gc(_) => unreachable!("GC takes its operations itself"),
        }
        false
    }

    #[inline(always)]
    fn bound_read(&mut self, op: u32, ppn: Option<Ppn>) {
        self.check_read(op, ppn);
    }

    #[inline]
    fn gc_begins(&mut self, plane: PlaneIx) {
        if let Some(rain) = &mut self.up.up.raid.rain {
            let overlaps = rain.gc_begins(self.flash.now, plane, |other| self.up.ftl.gc.is_under_way(other));
            self.flash.counters.gcs_overlapping += u64::from(overlaps);
        }
    }

    #[inline]
    fn gc_locks(&mut self, plane: PlaneIx) {
        if self.up.up.raid.plans_reads() {
            self.replan_reads(plane);
        }
    }

    #[inline]
    fn copied_back(&mut self, from: Ppn, to: Ppn) {
        if self.up.up.raid.errors.is_some() {
            self.note_copyback(from, to);
        }
    }

    #[inline]
    fn erased(&mut self, block: BlockIx) {
        if let Some(errors) = &mut self.up.up.raid.errors {
            errors.erased(block, self.up.ftl.tables.range_of(block));
        }
    }

    #[inline]
    fn gc_ends(&mut self, plane: PlaneIx) {
        if let Some(rain) = &mut self.up.up.raid.rain {
            rain.gc_ends(plane);
        }
    }

    #[inline]
    fn gc_ended(&mut self, plane: PlaneIx) {
        if self.up.up.raid.rain.is_some() {
            self.undefer(plane);
        }
    }
}
