//! Bit errors on their way to the host, and scrubbing: idle dies read pages that were copied without passing the ECC.
//! TTFLASH, section 7.
//!
//! A die looks through one suspect block after another, one page at a time, and only while it is idle. It goes in rounds: a
//! round has as many blocks as were suspect when it began. Blocks become suspect by copybacks alone, for in this model nothing
//! else makes a page worse. The next round needs a request since: what scrubbing writes brings GCs, and those bring suspects;
//! without rounds a full drive that nobody uses could go on so for ever. A die without suspects sleeps until a copyback, one
//! that has suspects left until the next request. A page beyond the ECC is regenerated from the others of its stripe, which
//! are read from their dies at once.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::upper::Background;
use crate::ftl::Tables;
use crate::ftl::above::WithFtl;
use crate::ftl::state::Ftl;
use crate::ids::{BlockIx, DieIx, Lpn, NONE, PlaneIx, Ppn};
use crate::observe::TrafficClass;
use crate::policy::answers::Want;
use crate::raid::front::{Front, WithRaid};
use crate::raid::state::Raid;

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// A read ends, on a device with bit errors. Returns whether its page could not be corrected and is being regenerated.
    #[cold]
    pub(crate) fn pass_ecc(&mut self, op: u32) -> bool {
        let Op { owner, tag: lpn, ppn, plane, .. } = self.flash.ops[op as usize];
        if ppn == NONE || matches!(owner, Owner::Scrub(_)) {
            return false;
        }
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let found = raid.find_errors(&ftl.tables, lpn, ppn);
        raid.counters.corrected_bits += u64::from(found.corrected);
        if !found.is_beyond {
            return false;
        }
        let Owner::Request(request) = owner else {
            raid.counters.uncorrectable_other += 1;
            raid.note_unreadable_source(owner);
            return false;
        };
        raid.counters.uncorrectable_reads += 1;
        if raid.rain.is_none() {
            raid.counters.uncorrectable_lost += 1;
            return false;
        }
        self.attribute_service(op);
        self.regenerate_unreadable(request, op);
        self.host_operation_ended(self.flash.channel_of(self.flash.die_of(plane)));
        true
    }

    /// A GC's copyback of a page has ended, on a device with bit errors.
    #[cold]
    pub(crate) fn note_copyback(&mut self, from: Ppn, to: Ppn) {
        let submitted = self.submitted_so_far();
        let WithFtl { ftl, up: WithRaid { raid: Raid { scrubbing, errors, counters, .. }, .. }, .. } = &mut self.up;
        let errors = errors.as_mut().expect("only devices with errors get here");
        let copies = errors.copied(from, to, ftl.tables.block_of(to));
        counters.copybacks_max = counters.copybacks_max.max(copies.into());
        let die = self.flash.die_of(ftl.tables.plane_of(to));
        let Some(scrubber) = scrubbing.dies.get(die as usize).filter(|scrubber| !scrubber.awake) else { return };
        if scrubber.may_begin_round(submitted) {
            self.scrub_later(die);
        } else {
            scrubbing.owe_a_round(die);
        }
    }

    /// A request has come: the scrubbers that have suspects left begin a new round.
    #[cold]
    pub(crate) fn wake_scrubbers(&mut self) {
        for die in self.up.up.raid.scrubbing.take_due() {
            self.scrub_later(die);
        }
    }

    fn scrub_later(&mut self, die: DieIx) {
        let Some(pause) = self.ask(|policies, _| policies.scrub.pause_ns()) else { return };
        let scrubber = &mut self.up.up.raid.scrubbing.dies[die as usize];
        (scrubber.awake, scrubber.due) = (true, false);
        // A program that found no room as soon as it was enqueued has set it already.
        if std::mem::replace(&mut scrubber.pauses, true) {
            return;
        }
        self.set_timer(self.flash.now + pause, Self::scrub_timer, die);
    }

    /// The pause of a die's scrubber is over.
    fn scrub_timer(&mut self, die: DieIx) -> bool {
        self.up.up.raid.scrubbing.dies[die as usize].pauses = false;
        if !self.is_quiet(die) {
            self.scrub_later(die);
            return true;
        }
        let next = self.next_to_scrub(die);
        let WithFtl { ftl: Ftl { tables, .. }, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let scrubber = &mut raid.scrubbing.dies[die as usize];
        scrubber.awake = next.is_some();
        let Some(ppn) = next else { return true };
        scrubber.begin_page(ppn, tables.erase_count(tables.block_of(ppn)));
        let (lpn, plane) = (tables.owner(ppn), tables.plane_of(ppn));
        let read = self.scrub_op(OpKind::Read, die, lpn, plane);
        self.enqueue(read);
        true
    }

    /// Whether a die and its channel have nothing to do and no GC has anything to do with them.
    fn is_quiet(&self, die: DieIx) -> bool {
        let view = self.seen();
        view.die_is_idle(die) && !view.die_in_gc(die) && self.channel_free(self.flash.channel_of(die), die)
    }

    fn scrub_op(&mut self, kind: OpKind, die: DieIx, lpn: Lpn, plane: PlaneIx) -> u32 {
        let op = self.flash.page_op(kind, Class::Background, TrafficClass::Background, Owner::Scrub(die), lpn, plane);
        self.flash.new_op(op)
    }

    /// The next page of a die that is due; nothing if no block of it is suspect.
    fn next_to_scrub(&mut self, die: DieIx) -> Option<Ppn> {
        let g = &self.flash.device.geometry;
        let blocks = g.planes_per_die * g.blocks_per_plane;
        let (submitted, least) = (self.submitted_so_far(), self.ask(|policies, _| policies.scrub.least_copybacks()));
        loop {
            let WithFtl { ftl, up: WithRaid { raid: Raid { scrubbing, errors, .. }, .. }, .. } = &mut self.up;
            let errors = errors.as_mut().expect("scrubbers are for devices with errors");
            let scrubber = &mut scrubbing.dies[die as usize];
            if let Some(page) = scrubber.next_due(&ftl.tables, errors, least) {
                return Some(page);
            }
            let suspects: Vec<BlockIx> = errors.suspects(die * blocks..(die + 1) * blocks).collect();
            if !scrubber.takes_block(suspects.len(), submitted) {
                if !suspects.is_empty() {
                    scrubbing.owe_a_round(die);
                }
                return None;
            }
            let next = suspects[self.ask(|policies, view| policies.scrub.next_block(view, &suspects))];
            let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up;
            raid.begin_look(die, next, &ftl.tables);
        }
    }

    /// An operation of a die's scrubber has ended.
    #[cold]
    pub(crate) fn scrub_op_done(&mut self, die: DieIx, op: u32) {
        match self.flash.ops[op as usize].kind {
            OpKind::Program => self.page_rewritten(die, op),
            _ => self.page_read(die, op),
        }
        if self.up.up.raid.scrubbing.dies[die as usize].ppn == NONE {
            self.scrub_later(die);
        }
    }

    /// A page has passed the ECC.
    fn page_scrubbed(&mut self, die: DieIx, op: u32) {
        let Op { tag: lpn, ppn, plane, .. } = self.flash.ops[op as usize];
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let scrubber = &mut raid.scrubbing.dies[die as usize];
        if ppn == NONE || scrubber.ppn != ppn {
            // It was written or moved while the read waited.
            scrubber.end_page();
            return;
        }
        let found = raid.find_errors(&ftl.tables, lpn, ppn);
        let errors = raid.errors.as_mut().expect("scrubbers are for devices with errors");
        errors.checked(ppn);
        let correctable = errors.correctable();
        raid.counters.scrubbed_pages += 1;
        raid.counters.corrected_bits += u64::from(found.corrected);
        if found.is_beyond {
            raid.counters.uncorrectable_scrubbed += 1;
            return self.read_rest_of_stripe(die, lpn);
        }
        // A plane that needs room keeps it for the host.
        let has_room = self.ask(|policies, view| policies.gc_trigger.want(view, view.tables().pool_of(plane))) != Want::Hard;
        let rewrites = self.ask(|policies, view| policies.scrub.rewrite(view, found.worst, correctable));
        if rewrites && has_room {
            return self.rewrite_page(die, lpn, ppn);
        }
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up;
        raid.leave_page(die, &ftl.tables, rewrites);
    }

    /// A page that could not be corrected is regenerated, if the rest of its stripe is on the flash.
    fn read_rest_of_stripe(&mut self, die: DieIx, lpn: Lpn) {
        let WithFtl { ftl: Ftl { tables, .. }, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let rest = raid.rest_of_stripe(tables, lpn);
        if rest.is_empty() {
            // With parity, the stripe is on its way or moves.
            return raid.leave_page(die, tables, raid.rain.is_some());
        }
        raid.scrubbing.dies[die as usize].begin_stripe(rest.len(), place_of_pages(tables, &rest));
        let plane_of = |lpn: Lpn| tables.plane_of(tables.lookup(lpn));
        let places: Vec<(Lpn, PlaneIx)> = rest.into_iter().map(|lpn| (lpn, plane_of(lpn))).collect();
        let reads: Vec<u32> = places.into_iter().map(|(lpn, plane)| self.scrub_op(OpKind::Read, die, lpn, plane)).collect();
        reads.into_iter().for_each(|read| self.enqueue(read));
    }

    /// A page has been read: that under way, or one of the rest of its stripe.
    fn page_read(&mut self, die: DieIx, op: u32) {
        let Op { tag: lpn, ppn, .. } = self.flash.ops[op as usize];
        let WithFtl { ftl: Ftl { tables, .. }, up: WithRaid { raid, .. }, .. } = &mut self.up;
        if !raid.scrubbing.dies[die as usize].reads_stripe() {
            return self.page_scrubbed(die, op);
        }
        let found = (ppn != NONE).then(|| raid.find_errors(tables, lpn, ppn));
        let beyond = found.is_some_and(|found| found.is_beyond);
        raid.counters.corrected_bits += found.map_or(0, |found| u64::from(found.corrected));
        raid.counters.uncorrectable_other += u64::from(beyond);
        let scrubber = &mut raid.scrubbing.dies[die as usize];
        let Some(can_regenerate) = scrubber.stripe_page_read(beyond) else { return };
        let (ppn, then) = (scrubber.ppn, scrubber.stripe_then);
        let lpn = tables.owner(ppn);
        let is_there = lpn < tables.logical_pages() && scrubber.is_where_it_was(tables, lpn);
        let is_worth_it = is_there && can_regenerate;
        if is_worth_it && place_of_pages(tables, &raid.rest_of_stripe(tables, lpn)) == then {
            raid.counters.scrub_regenerated += 1;
            self.rewrite_page(die, lpn, ppn);
        } else {
            raid.leave_page(die, tables, is_worth_it);
        }
    }

    fn rewrite_page(&mut self, die: DieIx, lpn: Lpn, ppn: Ppn) {
        let plane = self.up.ftl.tables.plane_of(ppn);
        let program = self.scrub_op(OpKind::Program, die, lpn, plane);
        self.flash.ops[program as usize].ppn = ppn;
        if let Some(oracle) = &mut self.up.oracle {
            oracle.read_flash(program, ppn, false);
        }
        self.enqueue(program);
    }

    fn page_rewritten(&mut self, die: DieIx, op: u32) {
        let Op { tag: lpn, ppn, target, plane, .. } = self.flash.ops[op as usize];
        let WithFtl { ftl, oracle, up: WithRaid { raid, .. } } = &mut self.up;
        if let Some(oracle) = oracle {
            oracle.program(op, target);
        }
        raid.counters.scrub_rewrites += 1;
        ftl.tables.commit_move(lpn, ppn, target);
        raid.scrubbing.dies[die as usize].end_page();
        self.consider_gc(plane);
    }
}

/// A number that changes when one of these pages is written or moved.
fn place_of_pages(tables: &Tables, pages: &[Lpn]) -> u64 {
    pages.iter().fold(1, |sum, &lpn| (sum ^ u64::from(tables.lookup(lpn))).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

impl<U> Background for Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    #[inline(always)]
    fn background_is_overdue(&self) -> bool {
        self.up.up.raid.levelling.is_overdue()
    }

    /// Whether a program of the background is worth programming any more.
    fn is_still_wanted(&self, op: u32) -> bool {
        let Op { owner, tag: lpn, .. } = self.flash.ops[op as usize];
        let Owner::Scrub(die) = owner else { return true };
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &self.up;
        raid.scrubbing.dies[die as usize].is_where_it_was(&ftl.tables, lpn)
    }

    /// A program of the scrubber, in no line, is not needed any more, or finds no room.
    #[cold]
    fn give_program_up(&mut self, op: u32) {
        let Op { owner, tag: lpn, .. } = self.flash.ops[op as usize];
        let Owner::Scrub(die) = owner else { unreachable!("only scrubbers give up") };
        self.flash.ops.remove(op);
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let is_there = raid.scrubbing.dies[die as usize].is_where_it_was(&ftl.tables, lpn);
        raid.leave_page(die, &ftl.tables, is_there);
        self.scrub_later(die);
    }
}
