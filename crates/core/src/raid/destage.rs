//! Stripes on their way from the buffer to the flash: the dirty pages of a stripe and its new parity leave as one stripe write.
//!
//! First the old pages that the new parity needs are read, unless the whole stripe is new; then the controller computes;
//! then all pages are programmed. Until the last of them is, the new pages stay readable in RAM, because those on the flash
//! may be old or new until the last program ends. TTFLASH, sections 4.2 and 4.5.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{ATTRIBUTED, Class, OpKind, Owner};
use crate::ftl::above::WithFtl;
use crate::ftl::late_bound::EXTERNAL;
use crate::ids::{Lpn, NONE, PlaneIx};
use crate::observe::{Attribution, DIE, TrafficClass};
use crate::policy::view::DirtyStripe;
use crate::raid::XOR_NS;
use crate::raid::active::{Rain, StripeWrite, all};
use crate::raid::front::{Front, WithRaid};
use crate::raid::state::Raid;
use crate::units::{Ns, bits};

/// What a stripe's new parity needs of the old pages: one bit for each member, the parity's behind them.
struct Needs {
    reads: u64,
    /// Other pages are read than the fewest, because of a GC.
    is_other_form: bool,
    /// The place of a page that is regenerated from all the others, or `NONE`.
    regenerated: u32,
}

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    #[inline]
    pub(crate) fn rain(&mut self) -> &mut Rain {
        self.up.up.raid.rain.as_mut().expect("only drives with stripes get here")
    }

    /// Whether it is asked what the operations of the page wait for that leaves the buffer now.
    #[inline]
    pub(crate) fn asks_of_page(&mut self) -> bool {
        let buffer = &mut self.up.up.raid.buffer;
        let (begins, asks) = (buffer.begins_to_ask(), buffer.asks());
        if begins {
            self.ask_waiting_pages();
        }
        asks
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
        if pages > 0 && self.up.up.raid.traits.deferred_join_stripes {
            (0..self.flash.device.geometry.planes()).for_each(|plane| self.release_deferred(plane, usize::MAX));
        }
        while self.up.up.raid.stripes_must_leave(pages) {
            let Some(stripe) = self.ask(|policies, view| policies.destage.next(view)) else {
                return;
            };
            self.destage(stripe);
        }
    }

    /// The dirty pages of a stripe leave the buffer with its new parity.
    fn destage(&mut self, stripe: u32) {
        let WithFtl { oracle, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let rain = raid.rain.as_mut().expect("only drives with stripes get here");
        let (first, members) = rain.stripes.members(stripe);
        let parity = rain.stripes.parity(stripe);
        let index = rain.active.find(stripe).expect("a stripe with dirty pages is active");
        rain.active.unlist(index);
        let active = rain.active.get_mut(index);
        crate::check!(active.stripe_write == NONE, "a stripe leaves while it is on its way");
        let dirty = std::mem::take(&mut active.dirty);
        rain.parity_pages += 1;
        let mut stripe_write = StripeWrite { members: dirty, ..StripeWrite::new(stripe, index) };
        if oracle.is_some() {
            stripe_write.contents = vec![None; members as usize + 1];
        }
        raid.settle_room();
        let sectors = self.flash.device.geometry.sectors_per_unit();
        let mut partial = 0u32;
        for member in bits(dirty.into()) {
            let (entry, _) = raid.buffer.find(first + member).expect("a dirty page is in the buffer");
            raid.buffer.destage(entry);
            stripe_write.entries[member as usize] = entry;
            let flight = raid.buffer.entry(entry).flight;
            partial |= u32::from(raid.counters.host_page(flight.count_ones(), sectors)) << member;
            if let Some(oracle) = oracle {
                stripe_write.contents[member as usize] = Some(oracle.flush(entry, flight));
            }
        }
        let needs = self.needs(stripe, members, dirty, partial);
        stripe_write.regenerated = needs.regenerated;
        stripe_write.subtracts = needs.regenerated == NONE && needs.reads >> members & 1 == 1;
        stripe_write.pending = needs.reads.count_ones();
        let view = self.seen();
        let meets_gc = view.targets(&DirtyStripe { stripe, dirty, written: 0 }).any(|plane| view.in_gc(plane));
        let WithFtl { up: WithRaid { raid: Raid { rain, counters, .. }, .. }, .. } = &mut self.up;
        counters.destaged(dirty == all(members), meets_gc);
        counters.parity_reads += u64::from(needs.reads.count_ones());
        counters.parity_forms_changed += u64::from(needs.is_other_form);
        counters.parity_regenerations += u64::from(needs.regenerated != NONE);
        let rain = rain.as_mut().expect("only drives with stripes get here");
        rain.steps_under_way += stripe_write.pending.max(1);
        let stripe_write = rain.begin_stripe_write(stripe_write);
        if needs.reads == 0 {
            self.set_timer(self.flash.now + self.xor_ns(), Self::parity_computed, stripe_write);
            return;
        }
        for place in bits(needs.reads) {
            let lpn = if place == members { parity } else { first + place };
            let plane = self.up.ftl.tables.plane_of(self.up.ftl.tables.lookup(lpn));
            let owner = Owner::StripeWrite(stripe_write);
            let mut read = self.flash.page_op(OpKind::Read, Class::AuxiliaryRead, TrafficClass::Parity, owner, lpn, plane);
            read.flags |= ATTRIBUTED * u8::from(self.asks_of_page());
            let read = self.flash.new_op(read);
            self.enqueue(read);
        }
        // Pages that need nothing of their old copies.
        let regenerated = if needs.regenerated == NONE { 0 } else { 1 << needs.regenerated };
        self.program_before_parity(stripe_write, dirty & !(needs.reads as u32 | regenerated));
    }

    /// The old pages to read: for read-modify-write of the parity or for reconstruct-write, whichever reads less, the former if
    /// they are equal, but around a GC where `destage` wants that. `partial`: written pages of which some sectors are missing.
    fn needs(&mut self, stripe: u32, members: u32, dirty: u32, partial: u32) -> Needs {
        let around = self.ask(|policies, _| policies.destage.around_gc());
        let stripes = self.seen().stripes().expect("only drives with stripes get here");
        let (first, parity) = (stripes.members(stripe).0, stripes.parity(stripe));
        let lpn = |place: u32| if place == members { parity } else { first + place };
        let mapped: u64 =
            (0..=members).filter(|&place| self.up.ftl.tables.lookup(lpn(place)) != NONE).fold(0, |mapped, place| mapped | 1 << place);
        let (dirty, partial, of_parity) = (u64::from(dirty), u64::from(partial), 1u64 << members);
        let subtract = mapped & (dirty | of_parity);
        let recompute = mapped & !of_parity & (!dirty | partial);
        let subtracts = subtract.count_ones() <= recompute.count_ones();
        let (chosen, other) = if subtracts { (subtract, recompute) } else { (recompute, subtract) };
        let plain = Needs { reads: chosen, is_other_form: false, regenerated: NONE };
        if !around {
            return plain;
        }
        let behind =
            bits(mapped).filter(|&place| self.seen().in_gc(stripes.plane_of(lpn(place)))).fold(0u64, |behind, place| behind | 1 << place);
        if chosen & behind == 0 {
            return plain;
        }
        if other & behind == 0 {
            return Needs { reads: other, is_other_form: true, regenerated: NONE };
        }
        if behind.count_ones() > 1 {
            // Nothing can stand in for two pages.
            return plain;
        }
        Needs { reads: mapped & !behind, is_other_form: false, regenerated: behind.trailing_zeros() }
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
        let WithFtl { oracle, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let rain = raid.rain.as_mut().expect("only drives with stripes get here");
        let destaged = &mut rain.stripe_writes[stripe_write as usize];
        if entry.kind == OpKind::Program && destaged.early_pending > 0 {
            // Its parity is not computed yet, or waits for readers.
            destaged.early_pending -= 1;
            rain.steps_under_way -= 1;
            return;
        }
        destaged.pending -= 1;
        let last = destaged.pending == 0;
        raid.counters.parity_pages += u64::from(entry.kind == OpKind::Program && entry.traffic == TrafficClass::Parity);
        // Parity is computed next when the last read has ended.
        rain.steps_under_way -= u32::from(entry.kind == OpKind::Program || !last);
        if last && entry.is_attributed() {
            // Those of its old pages explain it as those of its new ones do.
            raid.buffer.explain(self.flash.traits.assembles, self.flash.attribution(op));
        }
        if entry.kind == OpKind::Read {
            if let Some(oracle) = oracle {
                let place = (!rain.stripes.is_parity(entry.tag)).then(|| rain.stripes.member_of(entry.tag));
                destaged.add_old_page(oracle, place, &oracle.carried(op));
            }
            let computing = if destaged.regenerated == NONE { xor_ns } else { 2 * xor_ns };
            if !rain.stripes.is_parity(entry.tag) {
                let member = 1 << rain.stripes.member_of(entry.tag);
                self.program_before_parity(stripe_write, member);
            }
            if last {
                self.set_timer(self.flash.now + computing, Self::parity_computed, stripe_write);
            }
        } else if last {
            // Every page of it is on the flash.
            let (stripe, written) = (destaged.stripe, destaged.members);
            for member in bits(written.into()) {
                raid.buffer.flushed(destaged.entries[member as usize], false, None);
            }
            rain.parity_pages -= 1;
            rain.end_stripe_write(stripe_write);
            raid.settle_room();
            let may_move = raid.traits.levels_wear && raid.may_move(stripe, self.flash.now);
            if may_move {
                self.consider_levelling(stripe, written);
            }
            self.flush_stripes(0);
        }
    }

    /// The new parity is in RAM. The programs may start when nobody reads the old pages any more.
    fn parity_computed(&mut self, stripe_write: u32) -> bool {
        let whole = crate::units::sector_mask(0, self.flash.device.geometry.sectors_per_unit() as u16);
        let WithFtl { oracle, up: WithRaid { raid: Raid { buffer, rain, .. }, .. }, .. } = &mut self.up;
        let rain = rain.as_mut().expect("only drives with stripes get here");
        let destaged = &mut rain.stripe_writes[stripe_write as usize];
        if let Some(oracle) = oracle {
            destaged.compute_contents(oracle, rain.stripes.members(destaged.stripe).1);
        }
        destaged.ready = true;
        for member in bits(destaged.members.into()) {
            let entry = destaged.entries[member as usize];
            buffer.complete_flight(entry, whole);
            if let (Some(oracle), Some(Some(content))) = (oracle.as_mut(), destaged.contents.get(member as usize)) {
                oracle.complete_flight(entry, content);
            }
        }
        if rain.begin_generation(stripe_write) {
            self.program_stripe_write(stripe_write);
        }
        true
    }

    /// All pages of a stripe write are programmed; those whose plane is in GC wait in RAM where `destage` wants that.
    pub(crate) fn program_stripe_write(&mut self, stripe_write: u32) {
        let rain = self.rain();
        let destaged = &mut rain.stripe_writes[stripe_write as usize];
        let (stripe, written) = (destaged.stripe, destaged.members);
        let (_, members) = rain.stripes.members(stripe);
        let parity = rain.stripes.parity(stripe);
        let left = written & !destaged.early;
        destaged.pending = std::mem::take(&mut destaged.early_pending) + left.count_ones() + 1;
        rain.steps_under_way += left.count_ones();
        self.program_places(stripe_write, u64::from(left) | 1 << members);
        if self.up.up.raid.traits.deferred_join_stripes && self.rain().deferred > 0 {
            let plane = self.rain().stripes.plane_of(parity);
            let group = self.rain().stripes.rotation_group(plane);
            group.for_each(|plane| self.release_deferred(plane, 1));
        }
    }

    /// Members of a stripe write whose own old copies have been read, or are not needed, are programmed before its parity is computed
    /// where `destage` wants that.
    fn program_before_parity(&mut self, stripe_write: u32, members: u32) {
        if !self.up.up.raid.traits.data_before_parity {
            return;
        }
        let begin = self.rain().begin_early(stripe_write, members);
        if let WithFtl { oracle: Some(oracle), up: WithRaid { raid: Raid { rain: Some(rain), .. }, .. }, .. } = &mut self.up {
            for member in bits(begin.into()) {
                // What the host has never written of a page is zeroes.
                let content = &mut rain.stripe_writes[stripe_write as usize].contents[member as usize];
                *content = content.as_ref().map(|content| oracle.fill(content, None));
            }
        }
        self.program_places(stripe_write, begin.into());
    }

    /// Pages of a stripe write are programmed, by their places in the stripe.
    fn program_places(&mut self, stripe_write: u32, places: u64) {
        let rain = self.rain();
        let stripe = rain.stripe_writes[stripe_write as usize].stripe;
        let (first, members) = rain.stripes.members(stripe);
        let parity = rain.stripes.parity(stripe);
        let around = self.ask(|policies, _| policies.destage.around_gc());
        let mut programs = [NONE; 33];
        let mut count = 0;
        for place in bits(places) {
            let (lpn, traffic) = if place == members { (parity, TrafficClass::Parity) } else { (first + place, TrafficClass::Flush) };
            let plane = self.rain().stripes.plane_of(lpn);
            let owner = Owner::StripeWrite(stripe_write);
            let mut program = self.flash.page_op(OpKind::Program, Class::Flush, traffic, owner, lpn, plane);
            program.flags |= ATTRIBUTED * u8::from(self.asks_of_page());
            let program = self.flash.new_op(program);
            if let WithFtl { oracle: Some(oracle), up: WithRaid { raid: Raid { rain: Some(rain), .. }, .. }, .. } = &mut self.up {
                let content = rain.stripe_writes[stripe_write as usize].contents[place as usize].clone();
                oracle.carry(program, content.expect("every page that is programmed has contents"));
            }
            programs[count] = program;
            count += 1;
        }
        for &program in &programs[..count] {
            let plane = self.flash.ops[program as usize].plane;
            if around && self.seen().in_gc(plane) { self.defer(stripe_write, program, plane) } else { self.enqueue(program) }
        }
    }

    /// A program waits in RAM until the GC of its plane has ended.
    fn defer(&mut self, stripe_write: u32, program: u32, plane: PlaneIx) {
        self.flash.ops[program as usize].since = self.flash.now;
        let WithFtl { up: WithRaid { raid: Raid { rain, counters, .. }, .. }, .. } = &mut self.up;
        let rain = rain.as_mut().expect("only drives with stripes get here");
        rain.defer(stripe_write, program, plane);
        counters.deferred_pages += 1;
        counters.deferred_pages_max = counters.deferred_pages_max.max(rain.deferred.into());
    }

    /// The GC of a plane has ended: the programs that were deferred for it are enqueued.
    /// Where they join stripes, they leave with the next one of their group.
    #[cold]
    pub(super) fn undefer(&mut self, plane: PlaneIx) {
        let raid = &self.up.up.raid;
        if raid.rain.is_none() {
            return;
        }
        if !raid.traits.deferred_join_stripes || !raid.buffer.waiting().is_empty() {
            self.release_deferred(plane, usize::MAX);
        }
        self.flush_stripes(0);
    }

    /// Programs that were deferred for a GC of a plane that has ended are enqueued, so many at most.
    #[cold]
    fn release_deferred(&mut self, plane: PlaneIx, most: usize) {
        if self.seen().in_gc(plane) {
            return;
        }
        let raid = &mut self.up.up.raid;
        let programs = raid.rain.as_mut().expect("only drives with stripes get here").undefer(plane, most);
        for &(_, program) in &programs {
            let mut deferral = Attribution::default();
            deferral.add(DIE + TrafficClass::GcLock as usize, self.flash.now - self.flash.ops[program as usize].since);
            raid.buffer.explain(false, &deferral);
        }
        programs.into_iter().for_each(|(_, program)| self.enqueue(program));
    }

    /// A page came into the buffer.
    #[cold]
    pub(crate) fn page_written(&mut self, lpn: Lpn) {
        self.rain().note_dirty(lpn);
        self.flush_stripes(0);
    }
}
