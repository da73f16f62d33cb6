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
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::upper::Background;
use crate::ftl::Tables;
use crate::ftl::above::WithFtl;
use crate::ftl::walk::Unseen;
use crate::ids::{DieIx, Lpn, NONE, PlaneIx, Ppn};
use crate::observe::TrafficClass;
use crate::policy::answers::Want;
use crate::raid::front::{Front, WithRaid};
use crate::raid::scrubber::Scrubbing;
use crate::raid::state::Raid;
use crate::timer::Timer;
use crate::units::Ns;

impl<Q: EventQueue, U> Engine<Q, WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// A read ends, on a device with bit errors. Returns whether its page could not be corrected and is being regenerated.
    #[cold]
    pub(crate) fn pass_ecc(&mut self, op: u32) -> bool {
        let entry = self.flash.ops[op as usize];
        if entry.ppn == NONE || matches!(entry.owner, Owner::Scrub(_)) {
            return false;
        }
        let raid = &self.up.up.raid;
        let found = raid.find_errors(&self.up.ftl.tables, entry.tag, entry.ppn);
        let has_parity = raid.rain.is_some();
        self.flash.counters.corrected_bits += u64::from(found.corrected);
        if !found.is_beyond {
            return false;
        }
        let Owner::Request(request) = entry.owner else {
            self.flash.counters.uncorrectable_other += 1;
            self.up.up.raid.note_unreadable_source(entry.owner);
            return false;
        };
        self.flash.counters.uncorrectable_reads += 1;
        if !has_parity {
            self.flash.counters.uncorrectable_lost += 1;
            return false;
        }
        self.attribute_service(op);
        self.regenerate_unreadable(request, op);
        self.host_operation_ended(entry.plane);
        true
    }

    /// A GC's copyback of a page has ended.
    #[cold]
    pub(crate) fn note_copyback(&mut self, from: Ppn, to: Ppn) {
        let submitted = self.submitted_so_far();
        let (raid, tables) = (&mut self.up.up.raid, &self.up.ftl.tables);
        let Some(errors) = &mut raid.errors else { return };
        let copies = errors.copied(from, to, tables.block_of(to));
        self.flash.counters.copybacks_max = self.flash.counters.copybacks_max.max(copies.into());
        let die = self.flash.die_of(tables.plane_of(to));
        let Some(scrubber) = raid.scrubbing.dies.get(die as usize).filter(|scrubber| !scrubber.awake) else { return };
        if scrubber.may_begin_round(submitted) {
            self.scrub_later(die);
        } else {
            raid.scrubbing.owe_a_round(die);
        }
    }

    /// A request has come: the scrubbers that have suspects left begin a new round.
    #[cold]
    pub(crate) fn wake_scrubbers(&mut self) {
        let scrubbing = &mut self.up.up.raid.scrubbing;
        scrubbing.is_due = false;
        for die in 0..scrubbing.dies.len() as DieIx {
            if self.up.up.raid.scrubbing.dies[die as usize].due {
                self.scrub_later(die);
            }
        }
    }

    fn scrub_later(&mut self, die: DieIx) {
        let Some(pause) = self.ask(|policies, _| policies.scrub.pause_ns()) else { return };
        let scrubber = &mut self.up.up.raid.scrubbing.dies[die as usize];
        (scrubber.awake, scrubber.due) = (true, false);
        self.set_timer(self.flash.now + pause, Timer::Scrub(die));
    }

    /// The pause of a die's scrubber is over.
    pub(crate) fn scrub_timer(&mut self, die: DieIx) {
        if !self.is_quiet(die) {
            return self.scrub_later(die);
        }
        let next = self.next_to_scrub(die);
        let scrubber = &mut self.up.up.raid.scrubbing.dies[die as usize];
        let Some(ppn) = next else {
            scrubber.awake = false;
            return;
        };
        let tables = &self.up.ftl.tables;
        scrubber.begin_page(ppn, tables.erase_count(tables.block_of(ppn)));
        let (lpn, plane) = (tables.owner(ppn), tables.plane_of(ppn));
        let read = self.scrub_op(OpKind::Read, die, lpn, plane);
        self.enqueue(read);
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
        let least = self.ask(|policies, _| policies.scrub.least_copybacks());
        loop {
            let submitted = self.submitted_so_far();
            let Raid { scrubbing, errors, .. } = &mut self.up.up.raid;
            let errors = errors.as_mut().expect("scrubbers are for devices with errors");
            let scrubber = &mut scrubbing.dies[die as usize];
            if let Some(page) = scrubber.next_due(&self.up.ftl.tables, errors, least) {
                return Some(page);
            }
            let mut suspects = std::mem::take(&mut scrubbing.suspects);
            suspects.clear();
            suspects.extend(errors.suspects(die * blocks..(die + 1) * blocks));
            let takes = scrubber.takes_block(suspects.len(), submitted);
            let next = takes.then(|| suspects[self.ask(|policies, view| policies.scrub.next_block(view, &suspects))]);
            let suspects_left = !suspects.is_empty();
            let Raid { scrubbing, errors, .. } = &mut self.up.up.raid;
            scrubbing.suspects = suspects;
            let scrubber = &mut scrubbing.dies[die as usize];
            let Some(next) = next else {
                scrubber.unseen = Unseen::NOTHING;
                if suspects_left {
                    scrubbing.owe_a_round(die);
                }
                return None;
            };
            scrubber.unseen = self.up.ftl.tables.pages_of(next);
            errors.as_mut().expect("scrubbers are for devices with errors").begin_look(next);
        }
    }

    /// An operation of a die's scrubber has ended.
    #[cold]
    pub(crate) fn scrub_op_done(&mut self, die: DieIx, op: u32) {
        let entry = self.flash.ops[op as usize];
        if entry.kind == OpKind::Program {
            self.page_rewritten(die, op);
        } else if self.up.up.raid.scrubbing.dies[die as usize].reads_stripe() {
            self.stripe_page_read(die, op);
        } else {
            self.page_scrubbed(die, op);
        }
        if self.up.up.raid.scrubbing.dies[die as usize].ppn == NONE {
            self.scrub_later(die);
        }
    }

    /// A page has passed the ECC.
    fn page_scrubbed(&mut self, die: DieIx, op: u32) {
        let Op { tag: lpn, ppn, plane, .. } = self.flash.ops[op as usize];
        let raid = &mut self.up.up.raid;
        let scrubber = &mut raid.scrubbing.dies[die as usize];
        if ppn == NONE || scrubber.ppn != ppn {
            // It was written or moved while the read waited.
            scrubber.end_page();
            return;
        }
        let found = raid.find_errors(&self.up.ftl.tables, lpn, ppn);
        let errors = raid.errors.as_mut().expect("scrubbers are for devices with errors");
        errors.checked(ppn);
        let correctable = errors.correctable();
        self.flash.counters.scrubbed_pages += 1;
        self.flash.counters.corrected_bits += u64::from(found.corrected);
        if found.is_beyond {
            self.flash.counters.uncorrectable_scrubbed += 1;
            return self.read_rest_of_stripe(die, lpn);
        }
        // A plane that needs room keeps it for the host.
        let has_room = self.ask(|policies, view| policies.gc_trigger.want(view, view.tables().pool_of(plane))) != Want::Hard;
        let rewrites = self.ask(|policies, view| policies.scrub.rewrite(view, found.worst, correctable));
        if rewrites && has_room {
            return self.rewrite_page(die, lpn, ppn);
        }
        self.up.up.raid.leave_page(die, &self.up.ftl.tables, rewrites);
    }

    /// A page that could not be corrected is regenerated, if the rest of its stripe is on the flash.
    fn read_rest_of_stripe(&mut self, die: DieIx, lpn: Lpn) {
        let (raid, tables) = (&mut self.up.up.raid, &self.up.ftl.tables);
        let rest = raid.rest_of_stripe(tables, lpn);
        if rest.is_empty() {
            // With parity, the stripe is on its way or moves.
            return raid.leave_page(die, tables, raid.rain.is_some());
        }
        raid.scrubbing.dies[die as usize].begin_stripe(rest.len(), place_of_pages(tables, &rest));
        let reads: Vec<u32> = rest
            .into_iter()
            .map(|lpn| {
                let plane = self.up.ftl.tables.plane_of(self.up.ftl.tables.lookup(lpn));
                self.scrub_op(OpKind::Read, die, lpn, plane)
            })
            .collect();
        reads.into_iter().for_each(|read| self.enqueue(read));
    }

    fn stripe_page_read(&mut self, die: DieIx, op: u32) {
        let Op { tag: lpn, ppn, .. } = self.flash.ops[op as usize];
        let (raid, tables) = (&mut self.up.up.raid, &self.up.ftl.tables);
        let mut beyond = false;
        if ppn != NONE {
            let found = raid.find_errors(tables, lpn, ppn);
            beyond = found.is_beyond;
            self.flash.counters.corrected_bits += u64::from(found.corrected);
        }
        self.flash.counters.uncorrectable_other += u64::from(beyond);
        let scrubber = &mut raid.scrubbing.dies[die as usize];
        let Some(can_regenerate) = scrubber.stripe_page_read(beyond) else { return };
        let (ppn, then) = (scrubber.ppn, scrubber.stripe_then);
        let lpn = tables.owner(ppn);
        let is_there = lpn < tables.logical_pages() && scrubber.is_where_it_was(tables, lpn);
        let is_worth_it = is_there && can_regenerate;
        if is_worth_it && place_of_pages(tables, &raid.rest_of_stripe(tables, lpn)) == then {
            self.flash.counters.scrub_regenerated += 1;
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
        if let Some(oracle) = &mut self.up.oracle {
            oracle.program(op, target);
        }
        self.flash.counters.scrub_rewrites += 1;
        self.up.ftl.tables.commit_move(lpn, ppn, target);
        self.up.up.raid.scrubbing.dies[die as usize].end_page();
        self.consider_gc(plane);
    }

    /// The scrubbers of a drive, if its design scrubs.
    pub(crate) fn prepare_scrubbers(&mut self) {
        let pause: Option<Ns> = self.ask(|policies, _| policies.scrub.pause_ns());
        if pause.is_some() {
            self.up.up.raid.scrubbing = Scrubbing::asleep(self.flash.device.geometry.dies());
        }
    }
}

/// A number that changes when one of these pages is written or moved.
fn place_of_pages(tables: &Tables, pages: &[Lpn]) -> u64 {
    pages.iter().fold(1, |sum, &lpn| (sum ^ u64::from(tables.lookup(lpn))).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

impl<Q: EventQueue, U> Background for Engine<Q, WithFtl<WithRaid<U>>>
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
        self.up.up.raid.scrubbing.dies[die as usize].is_where_it_was(&self.up.ftl.tables, lpn)
    }

    /// A program of the scrubber, in no line, is not needed any more, or finds no room.
    #[cold]
    fn give_program_up(&mut self, op: u32) {
        let Op { owner, tag: lpn, .. } = self.flash.ops[op as usize];
        let Owner::Scrub(die) = owner else { unreachable!("only scrubbers give up") };
        self.flash.ops.remove(op);
        let (raid, tables) = (&mut self.up.up.raid, &self.up.ftl.tables);
        let is_there = raid.scrubbing.dies[die as usize].is_where_it_was(tables, lpn);
        raid.leave_page(die, tables, is_there);
        self.scrub_later(die);
    }
}
