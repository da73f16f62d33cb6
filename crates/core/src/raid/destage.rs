//! Stripes on their way from the buffer to the flash: the dirty pages of a stripe and its new parity leave as one batch.
//!
//! First the old pages that the new parity needs are read, unless the whole stripe is new; then the controller computes;
//! then all pages are programmed. Until the last of them is, the new pages stay readable in RAM, because those of the flash
//! are of before and after. TTFLASH, sections 4.2 and 4.5.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::ftl::above::WithFtl;
use crate::ids::{Lpn, NONE, PlaneIx};
use crate::observe::Occupant;
use crate::policy::interface::FlushPlan;
use crate::raid::active::{Batch, Rain, VIOLATIONS_KEPT, Violation, all};
use crate::raid::front::{Front, WithRaid};
use crate::raid::{XOR_NS, bits};
use crate::timer::Timer;
use crate::units::Ns;
use crate::verify::oracle::Content;

/// What a stripe's new parity needs of the old pages: one bit for each member, the parity's behind them.
struct Needs {
    reads: u64,
    /// The place of a page that is regenerated from all the others, or `NONE`.
    regenerated: u32,
}

impl<Q: EventQueue, U> Engine<Q, WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    #[inline]
    pub(crate) fn rain(&mut self) -> &mut Rain {
        self.up.up.raid.rain.as_mut().expect("only drives with stripes get here")
    }

    /// Limits what the host may have in the buffer to what parity leaves of it.
    pub(crate) fn settle_room(&mut self) {
        let capacity = self.up.up.raid.buffer.capacity();
        let rain = self.up.up.raid.rain.as_ref().expect("only drives with stripes get here");
        let parity = rain.parity_pages.max(Rain::reserve(&rain.stripes, capacity));
        self.up.up.raid.buffer.set_room(capacity - parity);
    }

    /// Sends stripes off while the buffer holds more than its threshold, and, for writes that find no room, until `pages`
    /// pages are on their way that no GC keeps.
    #[inline(never)]
    pub(crate) fn flush_stripes(&mut self, pages: u32) {
        loop {
            let held = self.rain().held_pages;
            let buffer = &self.up.up.raid.buffer;
            if !buffer.is_above_threshold() && buffer.in_flight() - held >= pages {
                return;
            }
            let parity = self.rain().parity_pages;
            if self.up.up.raid.buffer.occupied() + parity >= self.up.up.raid.buffer.capacity() {
                return;
            }
            let Some(stripe) = self.ask(|policies, view| policies.flush_plan.next(view)) else {
                return;
            };
            self.send_off(stripe);
        }
    }

    fn in_gc(&self, plane: PlaneIx) -> bool {
        self.seen().in_gc(plane)
    }

    /// The dirty pages of a stripe leave the buffer with its new parity.
    fn send_off(&mut self, stripe: u32) {
        let rain = self.rain();
        let (first, members) = rain.stripes.members(stripe);
        let parity = rain.stripes.parity(stripe);
        let index = rain.active.find(stripe).expect("a stripe with dirty pages is active");
        rain.active.unlist(index);
        let active = rain.active.get_mut(index);
        crate::check!(active.batch == NONE, "a stripe leaves while it is on its way");
        let dirty = std::mem::take(&mut active.dirty);
        rain.parity_pages += 1;
        let mut batch = Batch {
            stripe,
            active: index,
            members: dirty,
            entries: [NONE; 32],
            regenerated: NONE,
            subtracts: false,
            pending: 0,
            pinned: 0,
            ready: false,
            waits_for_readers: false,
            contents: Vec::new(),
            read_sum: Content::Uniform(0),
            clean_sum: Content::Uniform(0),
        };
        if self.up.oracle.is_some() {
            batch.contents = vec![None; members as usize + 1];
        }
        self.settle_room();
        let mut partial = 0u32;
        for member in bits(dirty.into()) {
            let lpn = first + member;
            let (entry, _) = self.up.up.raid.buffer.find(lpn).expect("a dirty page is in the buffer");
            self.up.up.raid.buffer.send_off(entry);
            batch.entries[member as usize] = entry;
            let flight = self.up.up.raid.buffer.entry(entry).flight;
            let whole = crate::units::sector_mask(0, self.flash.device.geometry.sectors_per_page() as u16);
            partial |= u32::from(flight != whole) << member;
            if let Some(oracle) = &mut self.up.oracle {
                batch.contents[member as usize] = Some(oracle.flush(entry, flight));
            }
        }
        let needs = self.needs(stripe, members, dirty, partial);
        batch.regenerated = needs.regenerated;
        batch.subtracts = needs.regenerated == NONE && needs.reads >> members & 1 == 1;
        self.count_class(stripe, dirty == all(members), dirty);
        let rain = self.rain();
        let batch = rain.batches.insert(batch);
        rain.active.get_mut(index).batch = batch;
        if needs.reads == 0 {
            self.set_timer(self.flash.now + self.xor_ns(), Timer::Parity(batch));
            return;
        }
        self.flash.counters.parity_reads += u64::from(needs.reads.count_ones());
        self.rain().batches[batch as usize].pending = needs.reads.count_ones();
        for place in bits(needs.reads) {
            let lpn = if place == members { parity } else { first + place };
            let plane = self.up.ftl.books.plane_of(self.up.ftl.books.lookup(lpn));
            let mut read = Op::new(OpKind::Read, Class::AuxiliaryRead, Occupant::Parity, Owner::Batch(batch), lpn, plane);
            read.sectors = self.flash.device.geometry.sectors_per_page() as u8;
            let read = self.flash.new_op(read);
            self.enqueue(read);
        }
    }

    /// Counts a stripe that leaves by its class.
    fn count_class(&mut self, stripe: u32, full: bool, dirty: u32) {
        let view = self.seen();
        let leaving = crate::view::DirtyStripe { stripe, dirty, written: 0 };
        let beside_gc = view.targets(&leaving).any(|plane| view.in_gc(plane));
        let counters = &mut self.flash.counters;
        *match (full, beside_gc) {
            (true, false) => &mut counters.stripes_full,
            (true, true) => &mut counters.stripes_full_beside_gc,
            (false, false) => &mut counters.stripes_partial,
            (false, true) => &mut counters.stripes_partial_beside_gc,
        } += 1;
    }

    /// The old pages to read: by the form that reads less, the subtractive one if they are equal, but around a GC where the
    /// flush plan wants that. `partial`: written pages of which some sectors are missing.
    fn needs(&mut self, stripe: u32, members: u32, dirty: u32, partial: u32) -> Needs {
        let rain = self.up.up.raid.rain.as_ref().expect("only drives with stripes get here");
        let (first, parity) = (rain.stripes.members(stripe).0, rain.stripes.parity(stripe));
        let lpn = |place: u32| if place == members { parity } else { first + place };
        let mapped: u64 =
            (0..=members).filter(|&place| self.up.ftl.books.lookup(lpn(place)) != NONE).fold(0, |mapped, place| mapped | 1 << place);
        let (dirty, partial, of_parity) = (u64::from(dirty), u64::from(partial), 1u64 << members);
        let subtract = mapped & (dirty | of_parity);
        let recompute = mapped & !of_parity & (!dirty | partial);
        let subtracts = subtract.count_ones() <= recompute.count_ones();
        let (chosen, other) = if subtracts { (subtract, recompute) } else { (recompute, subtract) };
        let plain = Needs { reads: chosen, regenerated: NONE };
        if !self.ask(|policies, _| policies.flush_plan.around_gc()) {
            return plain;
        }
        let stripes = &self.up.up.raid.rain.as_ref().expect("just used").stripes;
        let behind = bits(mapped).filter(|&place| self.in_gc(stripes.plane_of(lpn(place)))).fold(0u64, |behind, place| behind | 1 << place);
        if chosen & behind == 0 {
            return plain;
        }
        if other & behind == 0 {
            self.flash.counters.parity_forms_changed += 1;
            return Needs { reads: other, regenerated: NONE };
        }
        if behind.count_ones() > 1 {
            // Nothing can stand in for two pages.
            return plain;
        }
        self.flash.counters.parity_regenerations += 1;
        Needs { reads: mapped & !behind, regenerated: behind.trailing_zeros() }
    }

    /// The time that computing parity takes.
    fn xor_ns(&self) -> Ns {
        if self.is_free(Occupant::Parity) { 0 } else { XOR_NS }
    }

    /// An old page of a batch has been read, or a new one programmed.
    pub(crate) fn batch_op_done(&mut self, batch: u32, op: u32) {
        let entry = self.flash.ops[op as usize];
        let xor_ns = self.xor_ns();
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let sending = &mut rain.batches[batch as usize];
        sending.pending -= 1;
        let last = sending.pending == 0;
        if entry.kind == OpKind::Program {
            if last && sending.pinned == 0 {
                self.batch_done(batch);
            }
            return;
        }
        if let Some(oracle) = &self.up.oracle {
            let old = oracle.carried(op);
            sending.read_sum = sending.read_sum.xor(&old);
            match &mut sending.contents[rain.stripes.place_of(entry.tag) as usize] {
                // What the host has not written of a page stays as it was.
                Some(new) => *new = oracle.fill(new, Some(&old)),
                None if rain.stripes.is_parity(entry.tag) => {}
                None => sending.clean_sum = sending.clean_sum.xor(&old),
            }
        }
        if last {
            let computing = if sending.regenerated == NONE { xor_ns } else { 2 * xor_ns };
            self.set_timer(self.flash.now + computing, Timer::Parity(batch));
        }
    }

    /// The new parity is in RAM. The programs may start when nobody reads the old pages any more.
    pub(crate) fn parity_computed(&mut self, batch: u32) {
        self.compute_contents(batch);
        let whole = crate::units::sector_mask(0, self.flash.device.geometry.sectors_per_page() as u16);
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let sending = &mut rain.batches[batch as usize];
        sending.ready = true;
        for member in bits(sending.members.into()) {
            let entry = sending.entries[member as usize];
            self.up.up.raid.buffer.complete_flight(entry, whole);
            if let (Some(oracle), Some(content)) = (&mut self.up.oracle, &sending.contents.get(member as usize).cloned().flatten()) {
                oracle.complete_flight(entry, content);
            }
        }
        let active = rain.active.get_mut(sending.active);
        let readers = active.readers[(active.generation & 1) as usize];
        active.generation += 1;
        if readers > 0 {
            sending.waits_for_readers = true;
            return;
        }
        self.program_batch(batch);
    }

    /// The contents of the new pages and of the new parity, from what was really read.
    fn compute_contents(&mut self, batch: u32) {
        let Some(oracle) = &self.up.oracle else { return };
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let sending = &mut rain.batches[batch as usize];
        let (_, members) = rain.stripes.members(sending.stripe);
        let regenerated = sending.regenerated;
        if regenerated != NONE {
            let old = sending.read_sum.clone();
            match &mut sending.contents[regenerated as usize] {
                Some(new) => *new = oracle.fill(new, Some(&old)),
                // The old parity is of no use: everything else has been read.
                None if regenerated == members => {}
                None => sending.clean_sum = sending.clean_sum.xor(&old),
            }
        }
        for content in sending.contents.iter_mut().flatten() {
            *content = oracle.fill(content, None);
        }
        // The old parity without the old copies of the pages that change is the sum of those that do not.
        let clean = if sending.subtracts { &sending.read_sum } else { &sending.clean_sum };
        let parity = sending.contents.iter().flatten().fold(clean.clone(), |sum, page| sum.xor(page));
        sending.contents[members as usize] = Some(parity);
    }

    /// All pages of a batch are programmed; those whose plane is in GC wait in RAM where the flush plan wants that.
    pub(crate) fn program_batch(&mut self, batch: u32) {
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let sending = &mut rain.batches[batch as usize];
        sending.waits_for_readers = false;
        let (stripe, written) = (sending.stripe, sending.members);
        let (first, members) = rain.stripes.members(stripe);
        let parity = rain.stripes.parity(stripe);
        sending.pending = written.count_ones() + 1;
        let around = self.ask(|policies, _| policies.flush_plan.around_gc());
        let mut programs = [NONE; 33];
        let mut count = 0;
        for place in bits(u64::from(written) | 1 << members) {
            let (lpn, occupant) = if place == members { (parity, Occupant::Parity) } else { (first + place, Occupant::Flush) };
            let plane = self.rain().stripes.plane_of(lpn);
            let mut program = Op::new(OpKind::Program, Class::Flush, occupant, Owner::Batch(batch), lpn, plane);
            program.sectors = self.flash.device.geometry.sectors_per_page() as u8;
            let program = self.flash.new_op(program);
            if let Some(oracle) = &mut self.up.oracle {
                let rain = self.up.up.raid.rain.as_ref().expect("only drives with stripes get here");
                let content = rain.batches[batch as usize].contents[place as usize].clone();
                oracle.carry(program, content.expect("every page that is programmed has contents"));
            }
            programs[count] = program;
            count += 1;
        }
        for &program in &programs[..count] {
            let plane = self.flash.ops[program as usize].plane;
            if around && self.in_gc(plane) { self.pin(batch, program, plane) } else { self.enqueue(program) }
        }
    }

    /// A program waits in RAM until the GC of its plane has ended.
    fn pin(&mut self, batch: u32, program: u32, plane: PlaneIx) {
        let rain = self.rain();
        rain.pinned_at[plane as usize].push(program);
        rain.pinned += 1;
        let sending = &mut rain.batches[batch as usize];
        sending.pinned += 1;
        if sending.pinned == 1 {
            rain.held_pages += sending.members.count_ones();
        }
        let pinned = u64::from(rain.pinned);
        self.flash.counters.pinned_pages += 1;
        self.flash.counters.pinned_pages_max = self.flash.counters.pinned_pages_max.max(pinned);
    }

    /// The GC of a plane has ended: what waited for that lines up.
    #[inline(never)]
    pub(super) fn unpin(&mut self, plane: PlaneIx) {
        let mut programs = std::mem::take(&mut self.rain().pinned_at[plane as usize]);
        for &program in &programs {
            let Owner::Batch(batch) = self.flash.ops[program as usize].owner else { unreachable!("only batches pin pages") };
            let rain = self.rain();
            rain.pinned -= 1;
            let sending = &mut rain.batches[batch as usize];
            sending.pinned -= 1;
            if sending.pinned == 0 {
                rain.held_pages -= sending.members.count_ones();
            }
        }
        for &program in &programs {
            self.enqueue(program);
        }
        programs.clear();
        let kept = &mut self.rain().pinned_at[plane as usize];
        if kept.is_empty() {
            // The list's memory is used again.
            *kept = programs;
        }
        self.flush_stripes(0);
    }

    /// Every page of a batch is on the flash.
    fn batch_done(&mut self, batch: u32) {
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let done = &rain.batches[batch as usize];
        let (index, stripe, written) = (done.active, done.stripe, done.members);
        for member in bits(done.members.into()) {
            self.up.up.raid.buffer.flushed(done.entries[member as usize]);
            self.flash.counters.flushed += 1;
        }
        rain.parity_pages -= 1;
        rain.batches.remove(batch);
        rain.active.get_mut(index).batch = NONE;
        let (_, members) = rain.stripes.members(stripe);
        rain.active.written(index, 0, rain.stripes.group_of(stripe), members);
        rain.active.deactivate_if_idle(index);
        self.settle_room();
        if self.flash.traits.levels_wear {
            self.consider_levelling(stripe, written);
        }
        self.flush_stripes(0);
    }

    /// A page came into the buffer.
    #[inline(never)]
    pub(crate) fn page_written(&mut self, lpn: Lpn) {
        self.rain().note_dirty(lpn);
        self.flush_stripes(0);
    }

    /// Notes that a plane's GC begins, and whether another of its group is under way.
    #[inline(never)]
    pub(super) fn gc_begins_in_group(&mut self, plane: PlaneIx) {
        let now = self.flash.now;
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let view_gc = &self.up.ftl.gc;
        let beside = rain.stripes.rotation_group(plane).any(|other| other != plane && view_gc.is_under_way(other));
        let group = rain.stripes.group_of_plane(plane) as usize;
        rain.gcs[group] += 1;
        if beside {
            self.flash.counters.gcs_beside_others += 1;
            if rain.violations.len() < VIOLATIONS_KEPT {
                rain.violations.push(Violation { at: now, plane });
            }
        }
    }

    /// Notes that a plane's GC has ended.
    pub(super) fn gc_ends_in_group(&mut self, plane: PlaneIx) {
        let rain = self.rain();
        let group = rain.stripes.group_of_plane(plane) as usize;
        rain.gcs[group] -= 1;
    }
}
