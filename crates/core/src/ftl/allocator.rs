//! Which page a program takes: the write point of its plane, and the next page there.
//!
//! Usually the host has one and GC another. Where `pairing` aligns them, the planes of a die come to one page offset. Where `page_choice`
//! has preferences, or there are more write points than one for the host and one for GC, nobody waits for another page: of
//! those that can take it the one that is nearest to the preference does, and among equals the one with the fewest pages in its
//! block, so that all of them are used alike. Programs that could join another in a multi-plane command go where they join,
//! whatever the class of that page. Parity and background work have slow pages, because no write of the host waits for them.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::ask::Waiting;
use crate::flash::op::{Class, Op, Owner};
use crate::ftl::above::{Above, WithFtl};
use crate::ftl::{Claimant, Tables};
use crate::gc::state::PoolGc;
use crate::ids::{DieIx, Lpn, NONE, PlaneIx, Ppn};
use crate::observe::TrafficClass;
use crate::policy::answers::{Aligned, Parking, Preference, Writer};
use crate::policy::view::View;
use crate::techniques::PlacePolicy;

/// The write point that GC has to itself where there is no preference.
const OF_GC: usize = 1;

impl Tables {
    /// The write point of a plane that takes a page where nothing chooses: GC has the second one where there is one, so that moved
    /// pages and new ones do not mix.
    #[inline]
    pub(crate) fn usual_point(&self, plane: PlaneIx, for_gc: bool) -> usize {
        if for_gc && self.write_points(plane) > OF_GC { OF_GC } else { 0 }
    }
}

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Ask `place` for a plane. It sees which planes have been relieved since the last time.
    pub(crate) fn ask_place(&mut self, question: impl FnOnce(&mut PlacePolicy, View<'_>) -> PlaneIx) -> PlaneIx {
        let plane = self.ask(|policies, view| question(&mut policies.place, view));
        self.flash.relieved.forget();
        self.up.ftl.tables.forget_relieved();
        plane
    }

    /// The plane that a page goes to, recorded as bound for it.
    pub(crate) fn place(&mut self, lpn: Lpn) -> PlaneIx {
        if self.flash.traits.late_bound {
            // It has none before it is programmed.
            return NONE;
        }
        let plane = self.ask_place(|place, view| place.plane(view, lpn));
        if let Some(bound) = self.up.ftl.bound.get_mut(plane as usize) {
            *bound += 1;
        }
        plane
    }

    /// Takes the page of an operation that is about to program at a die; nothing if its plane has no room for it.
    #[inline(always)]
    pub(crate) fn take_page(&mut self, die: DieIx, op: u32) -> Option<Ppn> {
        if self.flash.traits.late_bound {
            return Some(self.take_place(die, op));
        }
        let entry = &self.flash.ops[op as usize];
        let (plane, for_gc, claimant) = (entry.plane, entry.is_gc(), entry.claimant());
        let write_point = self.write_point(plane, op, for_gc);
        let target = self.up.ftl.tables.take(plane, write_point, claimant)?;
        if self.up.ftl.traits.chooses {
            self.note_choice(op, write_point, self.up.ftl.tables.offset_of(target));
        }
        Some(target)
    }

    /// A program that has its place begins: the page that it takes.
    #[cold]
    fn take_place(&mut self, die: DieIx, op: u32) -> Ppn {
        let entry = &self.flash.ops[op as usize];
        let (plane, claimant, gc) = (entry.plane, entry.claimant(), matches!(entry.owner, Owner::Gc(_)));
        let late_bound = self.up.ftl.late_bound.as_mut().expect("a design with late-bound allocation");
        let point = usize::from(late_bound.bound[die as usize].take().expect("a program that has its place"));
        let target = self.up.ftl.tables.take(plane, point, claimant).expect("room was seen when it got its place");
        late_bound.points.update(&self.up.ftl.tables, plane, point);
        late_bound.moving -= u32::from(gc);
        self.note_page(op, point, self.up.ftl.tables.offset_of(target));
        target
    }

    /// The GC of a plane's pool.
    pub(crate) fn gc_of(&self, plane: PlaneIx) -> &PoolGc {
        self.up.ftl.gc.of_pool(self.up.ftl.tables.pool_of(plane))
    }

    /// The write point of a program that starts in a plane; of a page of GC without an operation yet, where that is `NONE`.
    #[inline]
    pub(crate) fn write_point(&mut self, plane: PlaneIx, op: u32, for_gc: bool) -> usize {
        if self.up.ftl.traits.aligns || self.up.ftl.traits.chooses {
            return self.sought_point(plane, op, for_gc);
        }
        self.up.ftl.tables.usual_point(plane, for_gc)
    }

    /// A block at the offset of its siblings matters more to GC than the class of its page, unless it is there for that alone.
    #[cold]
    fn sought_point(&mut self, plane: PlaneIx, op: u32, for_gc: bool) -> usize {
        let by_level = for_gc && !self.gc_of(plane).is_return_to_fast() || !self.up.ftl.traits.chooses;
        if self.up.ftl.traits.aligns && by_level { self.aligned_point(plane, for_gc) } else { self.chosen_point(plane, op) }
    }

    /// The write point of a page while the drive ages: always the first, where `pairing` would choose by what waits, so that the
    /// starting state is that of a drive with one open block for each plane; any, where all of them take turns.
    #[inline]
    pub(crate) fn ageing_point(&mut self, plane: PlaneIx, for_gc: bool) -> usize {
        match &mut self.up.ftl.late_bound {
            Some(late_bound) => late_bound.any_below(late_bound.points.all().count_ones()) as usize,
            None if self.up.ftl.traits.aligns => 0,
            None => self.up.ftl.tables.usual_point(plane, for_gc),
        }
    }

    /// Takes a page of a plane in the tables alone.
    #[inline]
    pub(crate) fn take_for_ageing(&mut self, plane: PlaneIx, claimant: Claimant) -> Option<Ppn> {
        let point = self.ageing_point(plane, claimant == Claimant::Gc);
        self.up.ftl.tables.take(plane, point, claimant)
    }

    #[cold]
    fn aligned_point(&mut self, plane: PlaneIx, for_gc: bool) -> usize {
        let kept = self.up.ftl.gc.of(plane).write_point.filter(|_| for_gc);
        let page = if for_gc { Aligned::Gc } else { Aligned::Host };
        let point = match kept {
            Some(point) => point.into(),
            None => self.ask(|policies, view| policies.pairing.point(view, plane, page)).unwrap_or(0),
        };
        if !for_gc {
            return point;
        }
        let has_room = |&point: &usize| self.up.ftl.tables.can_take(plane, point, Claimant::Gc);
        // The block that was chosen may be full, and no erased one left but for what the others have.
        if has_room(&point) { point } else { (0..self.up.ftl.tables.write_points(plane)).find(has_room).unwrap_or(point) }
    }

    /// A plane's GC begins: the open block that takes its pages.
    #[cold]
    pub(crate) fn align_gc(&mut self, plane: PlaneIx) {
        let point = self.ask(|policies, view| policies.pairing.point(view, plane, Aligned::Gc));
        self.up.ftl.gc.keep_write_point(plane, point.map(|point| point as u8));
        let tables = &self.up.ftl.tables;
        let offset = tables.next_offset(plane, point.unwrap_or(0));
        let mut siblings = self.planes_of(self.flash.die_of(plane)).filter(|&sibling| sibling != plane);
        let is_level = siblings.any(|sibling| {
            let takes = |&point: &usize| tables.can_take(sibling, point, Claimant::Host) && tables.next_offset(sibling, point) == offset;
            (0..tables.write_points(sibling)).any(|point| takes(&point))
        });
        self.up.ftl.gc.counters.gcs_level += u64::from(is_level);
    }

    /// The write point at which a waiting program could join `lead`.
    fn point_for_partner(&mut self, entry: &Op, lead: &Waiting) -> Option<usize> {
        let for_gc = entry.is_gc();
        if self.up.ftl.traits.aligns {
            if for_gc {
                return Some(self.aligned_point(entry.plane, true));
            }
            let page = Aligned::Partner { offset: lead.offset, with_gc: lead.class == Class::GcProgram };
            return self.ask(|policies, view| policies.pairing.point(view, entry.plane, page));
        }
        if self.up.ftl.traits.chooses {
            let tables = &self.up.ftl.tables;
            let fits = |&point: &usize| {
                tables.next_offset(entry.plane, point) == lead.offset && tables.can_take(entry.plane, point, entry.claimant())
            };
            return (0..tables.write_points(entry.plane)).find(fits);
        }
        Some(self.up.ftl.tables.usual_point(entry.plane, for_gc))
    }

    /// The offset at which a waiting program could join `lead`: that of its own block, and of the host's where blocks are aligned the
    /// lead's or none.
    pub(super) fn partner_offset(&mut self, entry: &Op, lead: &Waiting) -> Option<u32> {
        let point = self.point_for_partner(entry, lead)?;
        let tables = &self.up.ftl.tables;
        let offset = tables.next_offset(entry.plane, point);
        let paired_at = if self.up.ftl.traits.aligns && !entry.is_gc() { lead.offset } else { offset };
        (offset <= paired_at && tables.can_take(entry.plane, point, entry.claimant())).then_some(paired_at)
    }

    /// Takes the page of a program that joins `lead`. Where blocks are aligned, those before it are skipped.
    pub(super) fn take_partner_page(&mut self, op: u32, lead: &Waiting) -> Ppn {
        let entry = self.flash.ops[op as usize];
        let point = self.point_for_partner(&entry, lead).expect("the point that the offset was read from");
        while self.up.ftl.traits.aligns && self.up.ftl.tables.next_offset(entry.plane, point) < lead.offset {
            assert!(self.up.ftl.tables.pad(entry.plane, point, Claimant::Host), "a block that has the page at the offset has those before");
            let counters = &mut self.up.ftl.counters;
            counters.skipped_pages += 1;
            counters.padded_pages += 1;
            counters.padded_for_gc += 1;
        }
        let target = self.up.ftl.tables.take(entry.plane, point, entry.claimant()).expect("the page that the offset was read from");
        if self.up.ftl.traits.chooses {
            self.note_choice(op, point, lead.offset);
        }
        target
    }

    /// The write point of a program in its plane; of a page that GC is about to program there where `op` is `NONE`.
    #[cold]
    fn chosen_point(&mut self, plane: PlaneIx, op: u32) -> usize {
        let entry = Some(op).filter(|&op| op != NONE).map(|op| self.flash.ops[op as usize]);
        let claimant = entry.map_or(Claimant::Gc, |entry| entry.claimant());
        let for_gc = entry.is_none_or(|entry| entry.is_gc());
        let preference = self.preference_of(plane, entry.as_ref());
        let apart = !self.ask(|policies, _| policies.page_choice.active());
        let tables = &self.up.ftl.tables;
        let can_take = |&point: &usize| tables.can_take(plane, point, claimant);
        let rank = |&point: &usize| {
            let offset = tables.next_offset(plane, point);
            (u32::from(apart && for_gc != (point == OF_GC)), self.distance(preference, offset), offset)
        };
        (0..tables.write_points(plane)).filter(can_take).min_by_key(rank).unwrap_or(0)
    }

    /// The preference for a page: for one that nobody waits for, a slow page.
    fn preference_of(&mut self, plane: PlaneIx, entry: Option<&Op>) -> Preference {
        let of_gc = match entry {
            Some(entry) if entry.is_critical() => return Preference::Fast,
            Some(Op { owner: Owner::Gc(of), .. }) => Some(*of),
            Some(entry) if entry.traffic == TrafficClass::Parity || entry.class == Class::Background => {
                return if self.ask(|policies, _| policies.page_choice.active()) { Preference::Slow } else { Preference::Any };
            }
            Some(_) => None,
            None => Some(plane),
        };
        let Some(of) = of_gc else {
            let in_the_way = self.up.ftl.gc.is_under_way(plane) && !self.gc_of(plane).is_return_to_fast();
            return self.ask(|policies, view| policies.page_choice.preference(view, Writer::Host, in_the_way));
        };
        // Where writes wait for the die it is no idle time.
        let hurries = self.flash.queues(of).urgent || self.seen().writes_wait_for(self.flash.die_of(plane));
        self.ask(|policies, view| policies.page_choice.preference(view, Writer::Gc, hurries))
    }

    /// How far a page at an offset of a block is from a preference.
    fn distance(&self, preference: Preference, offset: u32) -> u32 {
        let device = &self.flash.device;
        match preference {
            Preference::Any => 0,
            Preference::Fast => device.program_rank(offset),
            Preference::Slow => device.program_rank_max() - device.program_rank(offset),
            Preference::Unparked(parking) => u32::from(self.is_parked_at(parking, offset)),
        }
    }

    pub(crate) fn is_parked_at(&self, parking: Parking, offset: u32) -> bool {
        match parking {
            Parking::Fast => self.flash.device.program_rank(offset) == 0,
            Parking::FastPair => self.flash.device.begins_fast_pair(offset),
        }
    }

    /// Counts the page that a program takes, and whether it is the preferred one.
    #[cold]
    fn note_choice(&mut self, op: u32, write_point: usize, offset: u32) {
        self.note_page(op, write_point, offset);
        let entry = self.flash.ops[op as usize];
        let is_background = entry.traffic == TrafficClass::Parity || entry.class == Class::Background;
        let preference = if is_background { None } else { Some(self.preference_of(entry.plane, Some(&entry))) };
        self.note_preference(op, preference, offset);
    }

    /// Counts the page that a program takes.
    fn note_page(&mut self, op: u32, write_point: usize, offset: u32) {
        let fast = u64::from(self.flash.device.program_rank(offset) == 0);
        let counters = &mut self.up.ftl.counters;
        counters.pages_spread += u64::from(write_point > OF_GC);
        match self.flash.ops[op as usize].owner {
            Owner::Gc(_) => counters.fast_pages_gc += fast,
            _ => counters.fast_pages_host += fast,
        }
    }

    /// Counts whether the preference for the page of a program, if there was one, was met.
    pub(super) fn note_preference(&mut self, op: u32, preference: Option<Preference>, offset: u32) {
        let (rank, slowest) = (self.flash.device.program_rank(offset), self.flash.device.program_rank_max());
        let entry = &self.flash.ops[op as usize];
        let counters = &mut self.up.ftl.counters;
        if entry.is_critical() {
            counters.critical_pages += 1;
            counters.critical_pages_fast += u64::from(rank == 0);
            return;
        }
        let met = match preference {
            Some(Preference::Fast) => rank == 0,
            Some(Preference::Slow) => rank == slowest,
            _ => return,
        };
        if let Owner::Gc(_) = entry.owner {
            counters.gc_preferences += 1;
            counters.gc_preferences_met += u64::from(met);
        } else {
            counters.host_preferences += 1;
            counters.host_preferences_met += u64::from(met);
        }
    }
}

impl Op {
    /// As whom it claims a page: GC may open the reserve of its own plane only.
    #[inline]
    pub(super) fn claimant(&self) -> Claimant {
        if self.owner == Owner::Gc(self.plane) { Claimant::Gc } else { Claimant::Host }
    }

    /// Whether it programs a page of GC.
    fn is_gc(&self) -> bool {
        matches!(self.class, Class::Gc | Class::GcProgram)
    }
}
