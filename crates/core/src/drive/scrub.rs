//! Bit errors on their way to the host, and scrubbing: idle dies read pages that were copied without passing the ECC.
//! TTFLASH, section 7.
//!
//! A die looks through one suspect block after another, one page at a time, and only while it is idle. It goes in rounds: a
//! round has as many blocks as were suspect when it began. Blocks become suspect by copybacks alone, for in this model nothing
//! else makes a page worse. The next round needs a request since: what scrubbing writes brings GCs, and those bring suspects;
//! without rounds a full drive that nobody uses could go on so for ever. A die without suspects sleeps until a copyback, one
//! that has suspects left until the next request. A page beyond the ECC is regenerated from the others of its stripe, which
//! are read from their dies at once.

use crate::drive::{Drive, Timer};
use crate::errors::Found;
use crate::event::EventQueue;
use crate::ids::{BlockIx, DieIx, Lpn, NONE, PlaneIx, Ppn};
use crate::observe::{Observer, Occupant};
use crate::policy::{GcTrigger, Scrub, Want};
use crate::sched::ops::{Class, Op, OpKind, Owner};
use crate::units::Ns;
use crate::view::View;

/// The scrubbers of all dies.
#[derive(Debug, Default)]
pub(crate) struct Scrubbing {
    /// One for each die; none where nothing is scrubbed.
    dies: Vec<Scrubber>,
    /// Some of them wait for the next request.
    is_owed: bool,
}

impl Scrubbing {
    /// Some scrubbers wait for the next request.
    #[inline]
    pub fn is_owed(&self) -> bool {
        self.is_owed
    }
}

/// The scrubber of a die.
#[derive(Clone, Copy, Debug)]
struct Scrubber {
    /// The block that it looks through, and the first offset that it has not looked at.
    block: BlockIx,
    offset: u32,
    /// Blocks left in its round, and the requests that there had been when that began.
    left: usize,
    requests_then: u64,
    /// A timer is set for it, or an operation of it is under way.
    awake: bool,
    /// It sleeps although blocks are suspect: the next request wakes it.
    owes: bool,
    /// Reads of the rest of the page's stripe that have not ended, and whether one of them could not be corrected.
    pending: u32,
    is_lost: bool,
    /// The page under way, and how often its block had been erased when it was read.
    ppn: Ppn,
    erases: u32,
    /// Where the rest of its stripe lay when reading it began.
    stripe_then: u64,
}

impl Scrubber {
    const ASLEEP: Self = Self {
        block: NONE,
        offset: 0,
        left: 0,
        requests_then: u64::MAX,
        awake: false,
        owes: false,
        pending: 0,
        is_lost: false,
        ppn: NONE,
        erases: 0,
        stripe_then: 0,
    };
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// What the ECC finds in a page that a read brings. A copy that a stripe's move has made has the luck of its page, whose
    /// number it does not bear yet.
    pub(crate) fn find_errors(&self, lpn: Lpn, ppn: Ppn) -> Found {
        let page = self.page_on_the_move(lpn).unwrap_or(lpn);
        let errors = self.state.errors.as_ref().expect("only devices with errors get here");
        errors.find(page, ppn, self.state.books.erase_count(self.state.books.block_of(ppn)))
    }

    /// A read ends, on a device with bit errors. Returns whether its page could not be corrected and is being regenerated.
    #[inline(never)]
    pub(super) fn pass_ecc(&mut self, op: u32) -> bool {
        let entry = self.state.ops[op as usize];
        if entry.ppn == NONE || matches!(entry.owner, Owner::Scrub(_)) {
            return false;
        }
        let found = self.find_errors(entry.lpn, entry.ppn);
        self.state.counters.corrected_bits += u64::from(found.corrected);
        let errors = self.state.errors.as_ref().expect("only devices with errors get here");
        if found.worst <= errors.correctable() {
            return false;
        }
        let Owner::Request(request) = entry.owner else {
            self.state.counters.uncorrectable_elsewhere += 1;
            self.note_unreadable_source(entry.owner);
            return false;
        };
        self.state.counters.uncorrectable_reads += 1;
        if self.state.rain.is_none() {
            self.state.counters.uncorrectable_lost += 1;
            return false;
        }
        self.bill_service(op);
        self.regenerate_unreadable(request, op);
        self.host_operation_ended(entry.plane);
        true
    }

    /// A GC's copyback of a page has ended.
    #[inline(never)]
    pub(crate) fn note_copyback(&mut self, from: Ppn, to: Ppn) {
        let Some(errors) = &mut self.state.errors else { return };
        let copies = errors.copied(from, to);
        self.state.counters.copybacks_max = self.state.counters.copybacks_max.max(copies.into());
        if !self.state.scrubbing.dies.is_empty() {
            let die = self.state.die_of(self.state.books.plane_of(to));
            let Scrubber { awake, requests_then, .. } = self.state.scrubbing.dies[die as usize];
            if !awake && requests_then != self.next_id {
                self.scrub_later(die);
            } else if !awake {
                self.owe_a_round(die);
            }
        }
    }

    /// After a loss of power the next request wakes the scrubbers of dies with suspect blocks.
    pub(super) fn scrub_after_cut(&mut self) {
        let g = &self.state.device.geometry;
        let blocks = g.planes_per_die * g.blocks_per_plane;
        for die in 0..self.state.scrubbing.dies.len() as DieIx {
            let errors = self.state.errors.as_ref().expect("scrubbers are for devices with errors");
            if (die * blocks..(die + 1) * blocks).any(|block| errors.is_suspect(block)) {
                self.owe_a_round(die);
            }
        }
    }

    fn owe_a_round(&mut self, die: DieIx) {
        self.state.scrubbing.dies[die as usize].owes = true;
        self.state.scrubbing.is_owed = true;
    }

    /// A request has come: the scrubbers that have suspects left begin a new round.
    #[inline(never)]
    pub(super) fn wake_scrubbers(&mut self) {
        self.state.scrubbing.is_owed = false;
        for die in 0..self.state.scrubbing.dies.len() as DieIx {
            if self.state.scrubbing.dies[die as usize].owes {
                self.scrub_later(die);
            }
        }
    }

    fn scrub_later(&mut self, die: DieIx) {
        let Some(pause) = self.policies.scrub.pause_ns() else { return };
        let scrubber = &mut self.state.scrubbing.dies[die as usize];
        (scrubber.awake, scrubber.owes) = (true, false);
        self.set_timer(self.state.now + pause, Timer::Scrub(die));
    }

    /// The pause of a die's scrubber is over.
    pub(super) fn scrub_timer(&mut self, die: DieIx) {
        if !self.is_quiet(die) {
            return self.scrub_later(die);
        }
        let Some(ppn) = self.next_to_scrub(die) else {
            self.state.scrubbing.dies[die as usize].awake = false;
            return;
        };
        let (lpn, plane) = (self.state.books.owner(ppn), self.state.books.plane_of(ppn));
        let erases = self.state.books.erase_count(self.state.books.block_of(ppn));
        let scrubber = &mut self.state.scrubbing.dies[die as usize];
        (scrubber.ppn, scrubber.erases, scrubber.pending) = (ppn, erases, 0);
        let read = self.scrub_op(OpKind::Read, die, lpn, plane);
        self.enqueue(read);
    }

    /// Whether a die and its channel have nothing to do and no GC has anything to do with them.
    fn is_quiet(&self, die: DieIx) -> bool {
        let view = View(&self.state);
        view.die_is_idle(die) && !view.die_in_gc(die) && self.channel_free(self.state.channel_of(die), die)
    }

    fn scrub_op(&mut self, kind: OpKind, die: DieIx, lpn: Lpn, plane: PlaneIx) -> u32 {
        let mut op = Op::new(kind, Class::Background, Occupant::Background, Owner::Scrub(die), lpn, plane);
        op.sectors = self.state.device.geometry.sectors_per_page() as u8;
        self.state.new_op(op)
    }

    /// The next page of a die that is due; nothing if no block of it is suspect.
    fn next_to_scrub(&mut self, die: DieIx) -> Option<Ppn> {
        let g = &self.state.device.geometry;
        let (pages, blocks) = (g.pages_per_block, g.planes_per_die * g.blocks_per_plane);
        let least = self.policies.scrub.least_copybacks();
        loop {
            let Scrubber { block, mut offset, .. } = self.state.scrubbing.dies[die as usize];
            let errors = self.state.errors.as_mut().expect("scrubbers are for devices with errors");
            if block != NONE {
                while let Some(valid) = self.state.books.next_valid(block, offset) {
                    offset = valid + 1;
                    if errors.is_due(block * pages + valid, least) {
                        self.state.scrubbing.dies[die as usize].offset = offset;
                        return Some(block * pages + valid);
                    }
                }
            }
            let mut suspects = std::mem::take(&mut self.candidates);
            suspects.clear();
            suspects.extend((die * blocks..(die + 1) * blocks).filter(|&block| errors.is_suspect(block)));
            let scrubber = &mut self.state.scrubbing.dies[die as usize];
            if scrubber.left == 0 && scrubber.requests_then != self.next_id {
                (scrubber.left, scrubber.requests_then) = (suspects.len(), self.next_id);
            }
            let ended = scrubber.left == 0 || suspects.is_empty();
            scrubber.left = if ended { 0 } else { scrubber.left - 1 };
            let next = if ended { NONE } else { suspects[self.policies.scrub.next_block(View(&self.state), &suspects)] };
            let suspects_left = !suspects.is_empty();
            self.candidates = suspects;
            let scrubber = &mut self.state.scrubbing.dies[die as usize];
            (scrubber.block, scrubber.offset) = (next, 0);
            if next == NONE {
                if suspects_left {
                    self.owe_a_round(die);
                }
                return None;
            }
            let errors = self.state.errors.as_mut().expect("scrubbers are for devices with errors");
            errors.begin_look(next);
        }
    }

    /// An operation of a die's scrubber has ended.
    pub(super) fn scrub_op_done(&mut self, die: DieIx, op: u32) {
        let entry = self.state.ops[op as usize];
        if entry.kind == OpKind::Program {
            self.page_rewritten(op);
        } else if self.state.scrubbing.dies[die as usize].pending > 0 {
            self.stripe_page_read(die, op);
        } else {
            self.page_scrubbed(die, op);
        }
        if self.state.scrubbing.dies[die as usize].ppn == NONE {
            self.scrub_later(die);
        }
    }

    /// A page has passed the ECC.
    fn page_scrubbed(&mut self, die: DieIx, op: u32) {
        let Op { lpn, ppn, plane, .. } = self.state.ops[op as usize];
        let is_same = ppn != NONE && self.state.scrubbing.dies[die as usize].ppn == ppn;
        if !is_same {
            // It was written or moved while the read waited.
            self.state.scrubbing.dies[die as usize].ppn = NONE;
            return;
        }
        let found = self.find_errors(lpn, ppn);
        let errors = self.state.errors.as_mut().expect("scrubbers are for devices with errors");
        errors.checked(ppn);
        let correctable = errors.correctable();
        self.state.counters.scrubbed_pages += 1;
        self.state.counters.corrected_bits += u64::from(found.corrected);
        if found.worst > correctable {
            self.state.counters.uncorrectable_scrubbed += 1;
            return self.read_rest_of_stripe(die, lpn);
        }
        // A plane that needs room keeps it for the host.
        let has_room = self.policies.gc_trigger.want(View(&self.state), plane) != Want::Hard;
        if !self.policies.scrub.rewrite(View(&self.state), found.worst, correctable) {
            self.state.scrubbing.dies[die as usize].ppn = NONE;
        } else if has_room {
            self.rewrite_page(die, lpn);
        } else {
            self.put_page_off(die);
        }
    }

    /// A page that needs to be written anew can't be now: it is looked at again in a later round.
    fn put_page_off(&mut self, die: DieIx) {
        let ppn = std::mem::replace(&mut self.state.scrubbing.dies[die as usize].ppn, NONE);
        let errors = self.state.errors.as_mut().expect("scrubbers are for devices with errors");
        errors.put_off(ppn);
    }

    /// A page that could not be corrected is regenerated, if the rest of its stripe is on the flash.
    fn read_rest_of_stripe(&mut self, die: DieIx, lpn: Lpn) {
        let rest = self.rest_of_stripe(lpn);
        if rest.is_empty() {
            if self.state.rain.is_some() {
                // The stripe is on its way, or moves.
                self.put_page_off(die);
            } else {
                self.state.scrubbing.dies[die as usize].ppn = NONE;
            }
            return;
        }
        let then = self.place_of_pages(&rest);
        let scrubber = &mut self.state.scrubbing.dies[die as usize];
        (scrubber.pending, scrubber.is_lost, scrubber.stripe_then) = (rest.len() as u32, false, then);
        let reads: Vec<u32> = rest
            .into_iter()
            .map(|lpn| {
                let plane = self.state.books.plane_of(self.state.books.lookup(lpn));
                self.scrub_op(OpKind::Read, die, lpn, plane)
            })
            .collect();
        reads.into_iter().for_each(|read| self.enqueue(read));
    }

    /// The other pages of a stripe that is not on its way to the flash.
    fn rest_of_stripe(&self, lpn: Lpn) -> Vec<Lpn> {
        let Some(rain) = &self.state.rain else { return Vec::new() };
        if u64::from(lpn) >= rain.stripes.pages() {
            // A page on the move; its stripe has another copy.
            return Vec::new();
        }
        let stripe = rain.stripes.of(lpn);
        if rain.active.find(stripe).is_some_and(|index| rain.active.get(index).batch != NONE) {
            return Vec::new();
        }
        let (_, members) = rain.stripes.members(stripe);
        let pages = (0..=members).map(|place| rain.stripes.page_in(stripe, place));
        pages.filter(|&page| page != lpn && self.state.books.lookup(page) != NONE).collect()
    }

    /// A number that changes when one of these pages is written or moved.
    fn place_of_pages(&self, pages: &[Lpn]) -> u64 {
        pages.iter().fold(1, |sum, &lpn| (sum ^ u64::from(self.state.books.lookup(lpn))).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn stripe_page_read(&mut self, die: DieIx, op: u32) {
        let Op { lpn, ppn, .. } = self.state.ops[op as usize];
        let mut beyond = false;
        if ppn != NONE {
            let found = self.find_errors(lpn, ppn);
            beyond = found.worst > self.state.errors.as_ref().map_or(0, |errors| errors.correctable());
            self.state.counters.corrected_bits += u64::from(found.corrected);
        }
        self.state.counters.uncorrectable_elsewhere += u64::from(beyond);
        let scrubber = &mut self.state.scrubbing.dies[die as usize];
        scrubber.is_lost |= beyond;
        scrubber.pending -= 1;
        if scrubber.pending > 0 {
            return;
        }
        let (ppn, then, is_lost) = (scrubber.ppn, scrubber.stripe_then, scrubber.is_lost);
        let lpn = self.state.books.owner(ppn);
        let is_there = lpn < self.state.books.logical_pages() && self.is_where_it_was(die, lpn);
        let unchanged = is_there && self.place_of_pages(&self.rest_of_stripe(lpn)) == then;
        if unchanged && !is_lost {
            self.state.counters.scrub_regenerated += 1;
            self.rewrite_page(die, lpn);
        } else if is_there && !is_lost {
            self.put_page_off(die);
        } else {
            self.state.scrubbing.dies[die as usize].ppn = NONE;
        }
    }

    /// Whether the page that a scrubber has read is still the present copy.
    fn is_where_it_was(&self, die: DieIx, lpn: Lpn) -> bool {
        let Scrubber { ppn, erases, .. } = self.state.scrubbing.dies[die as usize];
        let books = &self.state.books;
        books.lookup(lpn) == ppn && books.erase_count(books.block_of(ppn)) == erases
    }

    fn rewrite_page(&mut self, die: DieIx, lpn: Lpn) {
        let ppn = self.state.scrubbing.dies[die as usize].ppn;
        let plane = self.state.books.plane_of(ppn);
        let program = self.scrub_op(OpKind::Program, die, lpn, plane);
        self.state.ops[program as usize].ppn = ppn;
        if let Some(oracle) = &mut self.oracle {
            oracle.read_flash(program, ppn, false);
        }
        self.enqueue(program);
    }

    /// Whether a program of the background is worth programming any more.
    pub(crate) fn is_still_wanted(&self, op: u32) -> bool {
        let Op { owner, lpn, .. } = self.state.ops[op as usize];
        !matches!(owner, Owner::Scrub(die) if !self.is_where_it_was(die, lpn))
    }

    /// A program of the scrubber, in no line, is not needed any more, or finds no room.
    pub(crate) fn give_program_up(&mut self, op: u32) {
        let Op { owner, lpn, .. } = self.state.ops[op as usize];
        let Owner::Scrub(die) = owner else { unreachable!("only scrubbers give up") };
        self.state.ops.remove(op);
        if self.is_where_it_was(die, lpn) {
            self.put_page_off(die);
        }
        self.state.scrubbing.dies[die as usize].ppn = NONE;
        self.scrub_later(die);
    }

    fn page_rewritten(&mut self, op: u32) {
        let Op { lpn, ppn, target, plane, owner, .. } = self.state.ops[op as usize];
        if let Some(oracle) = &mut self.oracle {
            oracle.program(op, target);
        }
        self.state.counters.scrub_rewrites += 1;
        self.state.books.commit_move(lpn, ppn, target);
        if let Owner::Scrub(die) = owner {
            self.state.scrubbing.dies[die as usize].ppn = NONE;
        }
        self.consider_gc(plane);
    }

    /// The scrubbers of a drive, if its design scrubs.
    pub(super) fn prepare_scrubbers(&mut self) {
        let pause: Option<Ns> = self.policies.scrub.pause_ns();
        if pause.is_some() {
            self.state.scrubbing.dies = vec![Scrubber::ASLEEP; self.state.dies.len()];
        }
    }
}
