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
use crate::ftl::above::WithFtl;
use crate::ftl::walk::Unseen;
use crate::ids::{DieIx, Lpn, NONE, PlaneIx, Ppn};
use crate::media::errors::Found;
use crate::observe::TrafficClass;
use crate::policy::answers::Want;
use crate::policy::interface::{GcTrigger, Scrub};
use crate::raid::front::{Front, WithRaid};
use crate::raid::scrubber::Scrubber;
use crate::timer::Timer;
use crate::units::Ns;

impl<Q: EventQueue, U> Engine<Q, WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// What the ECC finds in a page that a read brings. A copy that a stripe's move has made has the luck of its page, whose
    /// number it does not bear yet.
    pub(crate) fn find_errors(&self, lpn: Lpn, ppn: Ppn) -> Found {
        let page = self.page_on_the_move(lpn).unwrap_or(lpn);
        let errors = self.up.up.raid.errors.as_ref().expect("only devices with errors get here");
        errors.find(page, ppn, self.up.ftl.tables.erase_count(self.up.ftl.tables.block_of(ppn)))
    }

    /// A read ends, on a device with bit errors. Returns whether its page could not be corrected and is being regenerated.
    #[cold]
    pub(crate) fn pass_ecc(&mut self, op: u32) -> bool {
        let entry = self.flash.ops[op as usize];
        if entry.ppn == NONE || matches!(entry.owner, Owner::Scrub(_)) {
            return false;
        }
        let found = self.find_errors(entry.tag, entry.ppn);
        self.flash.counters.corrected_bits += u64::from(found.corrected);
        let errors = self.up.up.raid.errors.as_ref().expect("only devices with errors get here");
        if found.worst <= errors.correctable() {
            return false;
        }
        let Owner::Request(request) = entry.owner else {
            self.flash.counters.uncorrectable_other += 1;
            self.note_unreadable_source(entry.owner);
            return false;
        };
        self.flash.counters.uncorrectable_reads += 1;
        if self.up.up.raid.rain.is_none() {
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
        let Some(errors) = &mut self.up.up.raid.errors else { return };
        let copies = errors.copied(from, to, self.up.ftl.tables.block_of(to));
        self.flash.counters.copybacks_max = self.flash.counters.copybacks_max.max(copies.into());
        if !self.up.up.raid.scrubbing.dies.is_empty() {
            let die = self.flash.die_of(self.up.ftl.tables.plane_of(to));
            let Scrubber { awake, requests_then, .. } = self.up.up.raid.scrubbing.dies[die as usize];
            if !awake && requests_then != self.submitted_so_far() {
                self.scrub_later(die);
            } else if !awake {
                self.owe_a_round(die);
            }
        }
    }

    /// After a loss of power the next request wakes the scrubbers of dies with suspect blocks.
    pub(crate) fn scrub_after_cut(&mut self) {
        let g = &self.flash.device.geometry;
        let blocks = g.planes_per_die * g.blocks_per_plane;
        for die in 0..self.up.up.raid.scrubbing.dies.len() as DieIx {
            let errors = self.up.up.raid.errors.as_ref().expect("scrubbers are for devices with errors");
            if (die * blocks..(die + 1) * blocks).any(|block| errors.is_suspect(block)) {
                self.owe_a_round(die);
            }
        }
    }

    fn owe_a_round(&mut self, die: DieIx) {
        self.up.up.raid.scrubbing.dies[die as usize].due = true;
        self.up.up.raid.scrubbing.is_due = true;
    }

    /// A request has come: the scrubbers that have suspects left begin a new round.
    #[cold]
    pub(crate) fn wake_scrubbers(&mut self) {
        self.up.up.raid.scrubbing.is_due = false;
        for die in 0..self.up.up.raid.scrubbing.dies.len() as DieIx {
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
        let Some(ppn) = self.next_to_scrub(die) else {
            self.up.up.raid.scrubbing.dies[die as usize].awake = false;
            return;
        };
        let (lpn, plane) = (self.up.ftl.tables.owner(ppn), self.up.ftl.tables.plane_of(ppn));
        let erases = self.up.ftl.tables.erase_count(self.up.ftl.tables.block_of(ppn));
        let scrubber = &mut self.up.up.raid.scrubbing.dies[die as usize];
        (scrubber.ppn, scrubber.erases, scrubber.pending) = (ppn, erases, 0);
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
            let Scrubber { mut unseen, .. } = self.up.up.raid.scrubbing.dies[die as usize];
            let errors = self.up.up.raid.errors.as_mut().expect("scrubbers are for devices with errors");
            while let Some(page) = self.up.ftl.tables.next_valid(&mut unseen) {
                if errors.is_due(page, least) {
                    self.up.up.raid.scrubbing.dies[die as usize].unseen = unseen;
                    return Some(page);
                }
            }
            let mut suspects = std::mem::take(&mut self.up.up.raid.scrubbing.suspects);
            suspects.clear();
            suspects.extend((die * blocks..(die + 1) * blocks).filter(|&block| errors.is_suspect(block)));
            let submitted = self.submitted_so_far();
            let scrubber = &mut self.up.up.raid.scrubbing.dies[die as usize];
            if scrubber.left == 0 && scrubber.requests_then != submitted {
                (scrubber.left, scrubber.requests_then) = (suspects.len(), submitted);
            }
            let ended = scrubber.left == 0 || suspects.is_empty();
            scrubber.left = if ended { 0 } else { scrubber.left - 1 };
            let next = if ended { NONE } else { suspects[self.ask(|policies, view| policies.scrub.next_block(view, &suspects))] };
            let suspects_left = !suspects.is_empty();
            self.up.up.raid.scrubbing.suspects = suspects;
            let scrubber = &mut self.up.up.raid.scrubbing.dies[die as usize];
            scrubber.unseen = if next == NONE { Unseen::NOTHING } else { self.up.ftl.tables.pages_of(next) };
            if next == NONE {
                if suspects_left {
                    self.owe_a_round(die);
                }
                return None;
            }
            let errors = self.up.up.raid.errors.as_mut().expect("scrubbers are for devices with errors");
            errors.begin_look(next);
        }
    }

    /// An operation of a die's scrubber has ended.
    #[cold]
    pub(crate) fn scrub_op_done(&mut self, die: DieIx, op: u32) {
        let entry = self.flash.ops[op as usize];
        if entry.kind == OpKind::Program {
            self.page_rewritten(op);
        } else if self.up.up.raid.scrubbing.dies[die as usize].pending > 0 {
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
        let is_same = ppn != NONE && self.up.up.raid.scrubbing.dies[die as usize].ppn == ppn;
        if !is_same {
            // It was written or moved while the read waited.
            self.up.up.raid.scrubbing.dies[die as usize].ppn = NONE;
            return;
        }
        let found = self.find_errors(lpn, ppn);
        let errors = self.up.up.raid.errors.as_mut().expect("scrubbers are for devices with errors");
        errors.checked(ppn);
        let correctable = errors.correctable();
        self.flash.counters.scrubbed_pages += 1;
        self.flash.counters.corrected_bits += u64::from(found.corrected);
        if found.worst > correctable {
            self.flash.counters.uncorrectable_scrubbed += 1;
            return self.read_rest_of_stripe(die, lpn);
        }
        // A plane that needs room keeps it for the host.
        let has_room = self.ask(|policies, view| policies.gc_trigger.want(view, view.tables().pool_of(plane))) != Want::Hard;
        if !self.ask(|policies, view| policies.scrub.rewrite(view, found.worst, correctable)) {
            self.up.up.raid.scrubbing.dies[die as usize].ppn = NONE;
        } else if has_room {
            self.rewrite_page(die, lpn);
        } else {
            self.put_page_off(die);
        }
    }

    /// A page that needs to be written anew can't be now: it is looked at again in a later round.
    fn put_page_off(&mut self, die: DieIx) {
        let ppn = std::mem::replace(&mut self.up.up.raid.scrubbing.dies[die as usize].ppn, NONE);
        let errors = self.up.up.raid.errors.as_mut().expect("scrubbers are for devices with errors");
        errors.put_off(ppn, self.up.ftl.tables.block_of(ppn));
    }

    /// A page that could not be corrected is regenerated, if the rest of its stripe is on the flash.
    fn read_rest_of_stripe(&mut self, die: DieIx, lpn: Lpn) {
        let rest = self.rest_of_stripe(lpn);
        if rest.is_empty() {
            if self.up.up.raid.rain.is_some() {
                // The stripe is on its way, or moves.
                self.put_page_off(die);
            } else {
                self.up.up.raid.scrubbing.dies[die as usize].ppn = NONE;
            }
            return;
        }
        let then = self.place_of_pages(&rest);
        let scrubber = &mut self.up.up.raid.scrubbing.dies[die as usize];
        (scrubber.pending, scrubber.is_lost, scrubber.stripe_then) = (rest.len() as u32, false, then);
        let reads: Vec<u32> = rest
            .into_iter()
            .map(|lpn| {
                let plane = self.up.ftl.tables.plane_of(self.up.ftl.tables.lookup(lpn));
                self.scrub_op(OpKind::Read, die, lpn, plane)
            })
            .collect();
        reads.into_iter().for_each(|read| self.enqueue(read));
    }

    /// The other pages of a stripe that is not on its way to the flash.
    fn rest_of_stripe(&self, lpn: Lpn) -> Vec<Lpn> {
        let Some(rain) = &self.up.up.raid.rain else { return Vec::new() };
        if u64::from(lpn) >= rain.stripes().pages() {
            // A page on the move; its stripe has another copy.
            return Vec::new();
        }
        let stripe = rain.stripes().of(lpn);
        if rain.active().find(stripe).is_some_and(|index| rain.active().get(index).stripe_write != NONE) {
            return Vec::new();
        }
        let (_, members) = rain.stripes().members(stripe);
        let pages = (0..=members).map(|place| rain.stripes().page_in(stripe, place));
        pages.filter(|&page| page != lpn && self.up.ftl.tables.lookup(page) != NONE).collect()
    }

    /// A number that changes when one of these pages is written or moved.
    fn place_of_pages(&self, pages: &[Lpn]) -> u64 {
        pages.iter().fold(1, |sum, &lpn| (sum ^ u64::from(self.up.ftl.tables.lookup(lpn))).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn stripe_page_read(&mut self, die: DieIx, op: u32) {
        let Op { tag: lpn, ppn, .. } = self.flash.ops[op as usize];
        let mut beyond = false;
        if ppn != NONE {
            let found = self.find_errors(lpn, ppn);
            beyond = found.worst > self.up.up.raid.errors.as_ref().map_or(0, |errors| errors.correctable());
            self.flash.counters.corrected_bits += u64::from(found.corrected);
        }
        self.flash.counters.uncorrectable_other += u64::from(beyond);
        let scrubber = &mut self.up.up.raid.scrubbing.dies[die as usize];
        scrubber.is_lost |= beyond;
        scrubber.pending -= 1;
        if scrubber.pending > 0 {
            return;
        }
        let (ppn, then, is_lost) = (scrubber.ppn, scrubber.stripe_then, scrubber.is_lost);
        let lpn = self.up.ftl.tables.owner(ppn);
        let is_there = lpn < self.up.ftl.tables.logical_pages() && self.is_where_it_was(die, lpn);
        let unchanged = is_there && self.place_of_pages(&self.rest_of_stripe(lpn)) == then;
        if unchanged && !is_lost {
            self.flash.counters.scrub_regenerated += 1;
            self.rewrite_page(die, lpn);
        } else if is_there && !is_lost {
            self.put_page_off(die);
        } else {
            self.up.up.raid.scrubbing.dies[die as usize].ppn = NONE;
        }
    }

    /// Whether the page that a scrubber has read is still the present copy.
    fn is_where_it_was(&self, die: DieIx, lpn: Lpn) -> bool {
        let Scrubber { ppn, erases, .. } = self.up.up.raid.scrubbing.dies[die as usize];
        let tables = &self.up.ftl.tables;
        tables.lookup(lpn) == ppn && tables.erase_count(tables.block_of(ppn)) == erases
    }

    fn rewrite_page(&mut self, die: DieIx, lpn: Lpn) {
        let ppn = self.up.up.raid.scrubbing.dies[die as usize].ppn;
        let plane = self.up.ftl.tables.plane_of(ppn);
        let program = self.scrub_op(OpKind::Program, die, lpn, plane);
        self.flash.ops[program as usize].ppn = ppn;
        if let Some(oracle) = &mut self.up.oracle {
            oracle.read_flash(program, ppn, false);
        }
        self.enqueue(program);
    }

    fn page_rewritten(&mut self, op: u32) {
        let Op { tag: lpn, ppn, target, plane, owner, .. } = self.flash.ops[op as usize];
        if let Some(oracle) = &mut self.up.oracle {
            oracle.program(op, target);
        }
        self.flash.counters.scrub_rewrites += 1;
        self.up.ftl.tables.commit_move(lpn, ppn, target);
        if let Owner::Scrub(die) = owner {
            self.up.up.raid.scrubbing.dies[die as usize].ppn = NONE;
        }
        self.consider_gc(plane);
    }

    /// The scrubbers of a drive, if its design scrubs.
    pub(crate) fn prepare_scrubbers(&mut self) {
        let pause: Option<Ns> = self.ask(|policies, _| policies.scrub.pause_ns());
        if pause.is_some() {
            self.up.up.raid.scrubbing.dies = vec![Scrubber::ASLEEP; self.flash.device.geometry.dies() as usize];
        }
    }
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
        !matches!(owner, Owner::Scrub(die) if !self.is_where_it_was(die, lpn))
    }

    /// A program of the scrubber, in no line, is not needed any more, or finds no room.
    #[cold]
    fn give_program_up(&mut self, op: u32) {
        let Op { owner, tag: lpn, .. } = self.flash.ops[op as usize];
        let Owner::Scrub(die) = owner else { unreachable!("only scrubbers give up") };
        self.flash.ops.remove(op);
        if self.is_where_it_was(die, lpn) {
            self.put_page_off(die);
        }
        self.up.up.raid.scrubbing.dies[die as usize].ppn = NONE;
        self.scrub_later(die);
    }
}
