//! The waist between stripes and bit errors and the host interface above them.

use crate::attribution::parts::Attribution;
use crate::commands::request::Request;
use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{OpKind, Owner};
use crate::flash::upper::Served;
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{BlockIx, Pool, Ppn};
use crate::policy::answers::AskedAgain;
use crate::raid::state::Raid;

/// The write buffer, stripes and bit errors, below whatever is above them.
pub struct WithRaid<U> {
    pub(crate) raid: Raid,
    pub(crate) up: U,
}

/// What is above, as stripes and bit errors know it.
pub trait Front: Context + Served {
    /// An operation of a request or of a job is done. Returns whether it is still needed.
    fn host_learns(&mut self, op: u32) -> bool;
    /// A request in the device.
    fn request(&mut self, request: u32) -> &mut Request;
    /// Requests that the drive has been given so far.
    fn submitted_so_far(&self) -> u64;
    /// The job is done that is a part of a request, with what it took; of a read so many sectors cross the link.
    fn part_is_served(&mut self, request: u32, gc_blocked: bool, attribution: &mut Attribution, link_sectors: u32);
}

impl<U> Above for Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    #[inline(always)]
    fn is_read_again(&mut self, op: u32) -> bool {
        self.flash.device.errors.is_some() && self.flash.ops[op as usize].kind == OpKind::Read && self.pass_ecc(op)
    }

    #[inline(always)]
    fn asks_for_attribution(&mut self, op: u32) -> bool {
        let raid = &self.up.up.raid;
        match self.flash.ops[op as usize].owner {
            // Of a request's pages only the last to complete explains its latency, and of those that a job has under way.
            Owner::Request(request) => self.request(request).pending == 1,
            Owner::Job(job) => raid.jobs[job as usize].pending == 1,
            Owner::Entry(_) | Owner::StripeWrite(_) => !raid.buffer.waiting().is_empty(),
            _ => false,
        }
    }

    #[inline(always)]
    fn owner_learns(&mut self, op: u32) -> bool {
        let entry = &self.flash.ops[op as usize];
        match entry.owner {
            Owner::Request(_) | Owner::Job(_) => return self.host_learns(op),
            Owner::Entry(page) => {
                let attribution = entry.is_attributed().then(|| self.flash.attribution(op));
                self.up.up.raid.buffer.flushed(page, self.flash.traits.assembles, attribution);
                self.flush_above_threshold();
            }
            Owner::StripeWrite(stripe_write) => self.stripe_write_op_done(stripe_write, op),
            Owner::Scrub(die) => self.scrub_op_done(die, op),
            Owner::Mover => self.mover_op_done(op),
            Owner::Gc(_) | Owner::Rebuild(_) => unreachable!("GC takes its operations itself, and those of a rebuild are a job's"),
        }
        false
    }

    #[inline(always)]
    fn bound_read(&mut self, op: u32, ppn: Option<Ppn>) {
        self.check_read(op, ppn);
    }

    #[inline]
    fn gc_begins(&mut self, pool: Pool) {
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let Some(rain) = &mut raid.rain else { return };
        for plane in ftl.tables.planes_of(pool) {
            let overlaps = rain.gc_begins(self.flash.now, plane, |other| ftl.gc.is_under_way(other));
            raid.counters.gcs_overlapping += u64::from(overlaps);
        }
    }

    #[inline]
    fn gc_locks(&mut self, pool: Pool) {
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &self.up;
        if raid.traits.plans_reads && raid.traits.asked_again != AskedAgain::Never {
            ftl.tables.planes_of(pool).for_each(|plane| self.replan_reads(plane));
        }
    }

    #[inline]
    fn copied_back(&mut self, from: Ppn, to: Ppn) {
        if self.flash.device.errors.is_some() {
            self.note_copyback(from, to);
        }
    }

    #[inline]
    fn erased(&mut self, block: BlockIx) {
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up;
        if let Some(errors) = &mut raid.errors {
            errors.erased(block, ftl.tables.range_of(block));
        }
    }

    fn erase_was_cut(&mut self, block: BlockIx, times: u32) {
        if let Some(errors) = &mut self.up.up.raid.errors {
            errors.erase_was_cut(block, times);
        }
    }

    #[inline]
    fn gc_ends(&mut self, pool: Pool) {
        if let Some(rain) = &mut self.up.up.raid.rain {
            self.up.ftl.tables.planes_of(pool).for_each(|plane| rain.gc_ends(plane));
        }
    }

    #[inline]
    fn gc_ended(&mut self, pool: Pool) {
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &self.up;
        if raid.traits.plans_reads && raid.traits.asked_again == AskedAgain::StartsAndEnds {
            ftl.tables.planes_of(pool).for_each(|plane| self.replan_stripes(plane));
        }
        self.up.ftl.tables.planes_of(pool).for_each(|plane| self.undefer(plane));
    }
}
