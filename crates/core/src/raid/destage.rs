//! Stripes on their way from the buffer to the flash: the dirty pages of a stripe and its new parity leave as one stripe write.
//!
//! First the old pages that the new parity needs are read, unless the whole stripe is new; then the controller computes;
//! then all pages are programmed. Until the last of them is, the new pages stay readable in RAM, because those on the flash
//! may be old or new until the last program ends. TTFLASH, sections 4.2 and 4.5.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{ATTRIBUTED, Class, OpKind, Owner};
use crate::ftl::above::WithFtl;
use crate::ftl::late_bound::EXTERNAL;
use crate::ids::{Lpn, NONE, PlaneIx};
use crate::observe::{Attribution, DIE, TrafficClass};
use crate::oracle::Content;
use crate::policy::interface::Destage;
use crate::raid::active::{Rain, StripeWrite, VIOLATIONS_KEPT, Violation, all};
use crate::raid::front::{Front, WithRaid};
use crate::raid::{XOR_NS, bits};
use crate::timer::Timer;
use crate::units::Ns;

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

    /// Whether it is asked what the operations of the page wait for that leaves the buffer now.
    #[inline]
    pub(crate) fn asks_of_page(&mut self) -> bool {
        let buffer = &mut self.up.up.raid.buffer;
        let asked = buffer.is_asking();
        buffer.update_asking();
        if buffer.is_asking() && !asked {
            self.ask_waiting_pages();
        }
        self.up.up.raid.buffer.asks()
    }

    /// The pages that are on their way already are asked what they wait for from now on.
    #[cold]
    fn ask_waiting_pages(&mut self) {
        for plane in 0..self.flash.device.geometry.planes() {
            self.attribute_from_now(plane, Class::Flush);
        }
        if let Some(late_bound) = &self.up.ftl.late_bound {
            for &op in &late_bound.queues[EXTERNAL] {
                self.flash.ops[op as usize].attribute_from(self.flash.now);
            }
        }
    }

    /// Destages stripes while the buffer holds more than its threshold, and, for writes that find no room, until at least `pages`
    /// pages that no GC defers are in flight.
    #[cold]
    pub(crate) fn flush_stripes(&mut self, pages: u32) {
        loop {
            let retained = self.rain().retained_pages;
            let buffer = &self.up.up.raid.buffer;
            if !buffer.is_above_threshold() && buffer.in_flight() - retained >= pages {
                return;
            }
            let parity = self.rain().parity_pages;
            if self.up.up.raid.buffer.occupied() + parity >= self.up.up.raid.buffer.capacity() {
                return;
            }
            let Some(stripe) = self.ask(|policies, view| policies.destage.next(view)) else {
                return;
            };
            self.destage(stripe);
        }
    }

    fn in_gc(&self, plane: PlaneIx) -> bool {
        self.seen().in_gc(plane)
    }

    /// The dirty pages of a stripe leave the buffer with its new parity.
    fn destage(&mut self, stripe: u32) {
        let rain = self.rain();
        let (first, members) = rain.stripes.members(stripe);
        let parity = rain.stripes.parity(stripe);
        let index = rain.active.find(stripe).expect("a stripe with dirty pages is active");
        rain.active.unlist(index);
        let active = rain.active.get_mut(index);
        crate::check!(active.stripe_write == NONE, "a stripe leaves while it is on its way");
        let dirty = std::mem::take(&mut active.dirty);
        rain.parity_pages += 1;
        let mut stripe_write = StripeWrite {
            stripe,
            active: index,
            members: dirty,
            entries: [NONE; 32],
            regenerated: NONE,
            subtracts: false,
            pending: 0,
            deferred: 0,
            ready: false,
            waits_for_readers: false,
            contents: Vec::new(),
            read_sum: Content::Uniform(0),
            clean_sum: Content::Uniform(0),
        };
        if self.up.oracle.is_some() {
            stripe_write.contents = vec![None; members as usize + 1];
        }
        self.settle_room();
        let mut partial = 0u32;
        for member in bits(dirty.into()) {
            let lpn = first + member;
            let (entry, _) = self.up.up.raid.buffer.find(lpn).expect("a dirty page is in the buffer");
            self.up.up.raid.buffer.destage(entry);
            stripe_write.entries[member as usize] = entry;
            let flight = self.up.up.raid.buffer.entry(entry).flight;
            let sectors = self.flash.device.geometry.sectors_per_unit();
            partial |= u32::from(self.flash.counters.host_page(flight.count_ones(), sectors)) << member;
            if let Some(oracle) = &mut self.up.oracle {
                stripe_write.contents[member as usize] = Some(oracle.flush(entry, flight));
            }
        }
        let needs = self.needs(stripe, members, dirty, partial);
        stripe_write.regenerated = needs.regenerated;
        stripe_write.subtracts = needs.regenerated == NONE && needs.reads >> members & 1 == 1;
        self.count_destaged(stripe, dirty == all(members), dirty);
        let rain = self.rain();
        let stripe_write = rain.stripe_writes.insert(stripe_write);
        rain.active.get_mut(index).stripe_write = stripe_write;
        rain.steps_under_way += needs.reads.count_ones().max(1);
        if needs.reads == 0 {
            self.set_timer(self.flash.now + self.xor_ns(), Timer::Parity(stripe_write));
            return;
        }
        self.flash.counters.parity_reads += u64::from(needs.reads.count_ones());
        self.rain().stripe_writes[stripe_write as usize].pending = needs.reads.count_ones();
        for place in bits(needs.reads) {
            let lpn = if place == members { parity } else { first + place };
            let plane = self.up.ftl.tables.plane_of(self.up.ftl.tables.lookup(lpn));
            let owner = Owner::StripeWrite(stripe_write);
            let mut read = self.flash.page_op(OpKind::Read, Class::AuxiliaryRead, TrafficClass::Parity, owner, lpn, plane);
            read.flags |= ATTRIBUTED * u8::from(self.asks_of_page());
            let read = self.flash.new_op(read);
            self.enqueue(read);
        }
    }

    /// Counts a stripe that is destaged: full or partial, during a GC of one of its planes or not.
    fn count_destaged(&mut self, stripe: u32, full: bool, dirty: u32) {
        let view = self.seen();
        let leaving = crate::policy::view::DirtyStripe { stripe, dirty, written: 0 };
        let meets_gc = view.targets(&leaving).any(|plane| view.in_gc(plane));
        let counters = &mut self.flash.counters;
        *match (full, meets_gc) {
            (true, false) => &mut counters.stripes_full,
            (true, true) => &mut counters.stripes_full_during_gc,
            (false, false) => &mut counters.stripes_partial,
            (false, true) => &mut counters.stripes_partial_during_gc,
        } += 1;
    }

    /// The old pages to read: for read-modify-write of the parity or for reconstruct-write, whichever reads less, the former if
    /// they are equal, but around a GC where `destage` wants that. `partial`: written pages of which some sectors are missing.
    fn needs(&mut self, stripe: u32, members: u32, dirty: u32, partial: u32) -> Needs {
        let rain = self.up.up.raid.rain.as_ref().expect("only drives with stripes get here");
        let (first, parity) = (rain.stripes.members(stripe).0, rain.stripes.parity(stripe));
        let lpn = |place: u32| if place == members { parity } else { first + place };
        let mapped: u64 =
            (0..=members).filter(|&place| self.up.ftl.tables.lookup(lpn(place)) != NONE).fold(0, |mapped, place| mapped | 1 << place);
        let (dirty, partial, of_parity) = (u64::from(dirty), u64::from(partial), 1u64 << members);
        let subtract = mapped & (dirty | of_parity);
        let recompute = mapped & !of_parity & (!dirty | partial);
        let subtracts = subtract.count_ones() <= recompute.count_ones();
        let (chosen, other) = if subtracts { (subtract, recompute) } else { (recompute, subtract) };
        let plain = Needs { reads: chosen, regenerated: NONE };
        if !self.ask(|policies, _| policies.destage.around_gc()) {
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
        if self.is_free(TrafficClass::Parity) { 0 } else { XOR_NS }
    }

    /// An old page of a stripe write has been read, or a new one programmed.
    #[cold]
    pub(crate) fn stripe_write_op_done(&mut self, stripe_write: u32, op: u32) {
        let entry = self.flash.ops[op as usize];
        let xor_ns = self.xor_ns();
        let destaged = &mut self.rain().stripe_writes[stripe_write as usize];
        destaged.pending -= 1;
        let last = destaged.pending == 0;
        // Parity is computed next when the last read has ended.
        self.rain().steps_under_way -= u32::from(entry.kind == OpKind::Program || !last);
        if last && entry.is_attributed() {
            // Those of its old pages explain it as those of its new ones do.
            self.up.up.raid.buffer.explain(self.flash.traits.assembles, self.flash.attribution(op));
        }
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let destaged = &mut rain.stripe_writes[stripe_write as usize];
        if entry.kind == OpKind::Program {
            if last && destaged.deferred == 0 {
                self.stripe_write_done(stripe_write);
            }
            return;
        }
        if let Some(oracle) = &self.up.oracle {
            let old = oracle.carried(op);
            destaged.read_sum = destaged.read_sum.xor(&old);
            match &mut destaged.contents[rain.stripes.place_of(entry.tag) as usize] {
                // What the host has not written of a page stays as it was.
                Some(new) => *new = oracle.fill(new, Some(&old)),
                None if rain.stripes.is_parity(entry.tag) => {}
                None => destaged.clean_sum = destaged.clean_sum.xor(&old),
            }
        }
        if last {
            let computing = if destaged.regenerated == NONE { xor_ns } else { 2 * xor_ns };
            self.set_timer(self.flash.now + computing, Timer::Parity(stripe_write));
        }
    }

    /// The new parity is in RAM. The programs may start when nobody reads the old pages any more.
    pub(crate) fn parity_computed(&mut self, stripe_write: u32) {
        self.compute_contents(stripe_write);
        let whole = crate::units::sector_mask(0, self.flash.device.geometry.sectors_per_unit() as u16);
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let destaged = &mut rain.stripe_writes[stripe_write as usize];
        destaged.ready = true;
        for member in bits(destaged.members.into()) {
            let entry = destaged.entries[member as usize];
            self.up.up.raid.buffer.complete_flight(entry, whole);
            if let (Some(oracle), Some(content)) = (&mut self.up.oracle, &destaged.contents.get(member as usize).cloned().flatten()) {
                oracle.complete_flight(entry, content);
            }
        }
        let active = rain.active.get_mut(destaged.active);
        let readers = active.readers[(active.generation & 1) as usize];
        active.generation += 1;
        if readers > 0 {
            destaged.waits_for_readers = true;
            return;
        }
        self.program_stripe_write(stripe_write);
    }

    /// The contents of the new pages and of the new parity, from what was really read.
    fn compute_contents(&mut self, stripe_write: u32) {
        let Some(oracle) = &self.up.oracle else { return };
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let destaged = &mut rain.stripe_writes[stripe_write as usize];
        let (_, members) = rain.stripes.members(destaged.stripe);
        let regenerated = destaged.regenerated;
        if regenerated != NONE {
            let old = destaged.read_sum.clone();
            match &mut destaged.contents[regenerated as usize] {
                Some(new) => *new = oracle.fill(new, Some(&old)),
                // The old parity is of no use: everything else has been read.
                None if regenerated == members => {}
                None => destaged.clean_sum = destaged.clean_sum.xor(&old),
            }
        }
        for content in destaged.contents.iter_mut().flatten() {
            *content = oracle.fill(content, None);
        }
        // The old parity without the old copies of the pages that change is the sum of those that do not.
        let clean = if destaged.subtracts { &destaged.read_sum } else { &destaged.clean_sum };
        let parity = destaged.contents.iter().flatten().fold(clean.clone(), |sum, page| sum.xor(page));
        destaged.contents[members as usize] = Some(parity);
    }

    /// All pages of a stripe write are programmed; those whose plane is in GC wait in RAM where `destage` wants that.
    pub(crate) fn program_stripe_write(&mut self, stripe_write: u32) {
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let destaged = &mut rain.stripe_writes[stripe_write as usize];
        destaged.waits_for_readers = false;
        let (stripe, written) = (destaged.stripe, destaged.members);
        let (first, members) = rain.stripes.members(stripe);
        let parity = rain.stripes.parity(stripe);
        destaged.pending = written.count_ones() + 1;
        rain.steps_under_way += written.count_ones();
        let around = self.ask(|policies, _| policies.destage.around_gc());
        let mut programs = [NONE; 33];
        let mut count = 0;
        for place in bits(u64::from(written) | 1 << members) {
            let (lpn, traffic) = if place == members { (parity, TrafficClass::Parity) } else { (first + place, TrafficClass::Flush) };
            let plane = self.rain().stripes.plane_of(lpn);
            let owner = Owner::StripeWrite(stripe_write);
            let mut program = self.flash.page_op(OpKind::Program, Class::Flush, traffic, owner, lpn, plane);
            program.flags |= ATTRIBUTED * u8::from(self.asks_of_page());
            let program = self.flash.new_op(program);
            if let Some(oracle) = &mut self.up.oracle {
                let rain = self.up.up.raid.rain.as_ref().expect("only drives with stripes get here");
                let content = rain.stripe_writes[stripe_write as usize].contents[place as usize].clone();
                oracle.carry(program, content.expect("every page that is programmed has contents"));
            }
            programs[count] = program;
            count += 1;
        }
        for &program in &programs[..count] {
            let plane = self.flash.ops[program as usize].plane;
            if around && self.in_gc(plane) { self.defer(stripe_write, program, plane) } else { self.enqueue(program) }
        }
    }

    /// A program waits in RAM until the GC of its plane has ended.
    fn defer(&mut self, stripe_write: u32, program: u32, plane: PlaneIx) {
        self.flash.ops[program as usize].since = self.flash.now;
        let rain = self.rain();
        rain.deferred_at[plane as usize].push(program);
        rain.deferred += 1;
        let destaged = &mut rain.stripe_writes[stripe_write as usize];
        destaged.deferred += 1;
        if destaged.deferred == 1 {
            rain.retained_pages += destaged.members.count_ones();
        }
        let deferred = u64::from(rain.deferred);
        self.flash.counters.deferred_pages += 1;
        self.flash.counters.deferred_pages_max = self.flash.counters.deferred_pages_max.max(deferred);
    }

    /// The GC of a plane has ended: the programs that were deferred for it are enqueued.
    #[cold]
    pub(super) fn undefer(&mut self, plane: PlaneIx) {
        let mut programs = std::mem::take(&mut self.rain().deferred_at[plane as usize]);
        for &program in &programs {
            let Owner::StripeWrite(stripe_write) = self.flash.ops[program as usize].owner else {
                unreachable!("only stripe writes defer pages")
            };
            let rain = self.rain();
            rain.deferred -= 1;
            let destaged = &mut rain.stripe_writes[stripe_write as usize];
            destaged.deferred -= 1;
            if destaged.deferred == 0 {
                rain.retained_pages -= destaged.members.count_ones();
            }
        }
        for &program in &programs {
            let mut deferral = Attribution::default();
            deferral.add(DIE + TrafficClass::GcLock as usize, self.flash.now - self.flash.ops[program as usize].since);
            self.up.up.raid.buffer.explain(false, &deferral);
            self.enqueue(program);
        }
        programs.clear();
        let kept = &mut self.rain().deferred_at[plane as usize];
        if kept.is_empty() {
            // The list's memory is used again.
            *kept = programs;
        }
        self.flush_stripes(0);
    }

    /// Every page of a stripe write is on the flash.
    fn stripe_write_done(&mut self, stripe_write: u32) {
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let done = &rain.stripe_writes[stripe_write as usize];
        let (index, stripe, written) = (done.active, done.stripe, done.members);
        for member in bits(done.members.into()) {
            self.up.up.raid.buffer.flushed(done.entries[member as usize]);
            self.flash.counters.flushed += 1;
        }
        rain.parity_pages -= 1;
        rain.stripe_writes.remove(stripe_write);
        rain.active.get_mut(index).stripe_write = NONE;
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
    #[cold]
    pub(crate) fn page_written(&mut self, lpn: Lpn) {
        self.rain().note_dirty(lpn);
        self.flush_stripes(0);
    }

    /// Notes that a plane's GC begins, and whether another of its group is under way.
    #[cold]
    pub(super) fn gc_begins_in_group(&mut self, plane: PlaneIx) {
        let now = self.flash.now;
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        let view_gc = &self.up.ftl.gc;
        let overlaps = rain.stripes.rotation_group(plane).any(|other| other != plane && view_gc.is_under_way(other));
        let group = rain.stripes.group_of_plane(plane) as usize;
        rain.gcs[group] += 1;
        if overlaps {
            self.flash.counters.gcs_overlapping += 1;
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
