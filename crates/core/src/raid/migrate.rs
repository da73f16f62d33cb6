//! Wear levelling between planes: a stripe is shifted round the channels of its group, or migrates to another one.
//! TTFLASH, section 7.
//!
//! A move changes no contents, only places. The stripe counts as on its way to the flash until it is over: nobody sends it off
//! or trims it away under the mover's hands. All its pages are read, and programmed at their new places under page numbers of
//! their own, so that GC treats them like any others; then the stripe table and the map change at one instant. So a stripe is
//! never half in one group and half in another, where two GCs could block it. One stripe moves at a time; its pages have a
//! place in RAM apart from the buffer.
//!
//! Its operations are work of the background, which a die that is never idle would never start. When the technique's patience is
//! over, `order` sees them as what the host waits for in the end: reads for parity and flushes. So a move takes as long as its
//! patience, and then as long as a flush.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::ftl::above::WithFtl;
use crate::ftl::state::Ftl;
use crate::ids::{Lpn, NONE, PlaneIx};
use crate::observe::TrafficClass;
use crate::oracle::Content;
use crate::policy::view::{View, WrittenStripe};
use crate::raid::active::StripeWrite;
use crate::raid::front::{Front, WithRaid};
use crate::raid::mover::Mover;
use crate::raid::state::Raid;
use crate::stripes::{Place, Stripes};

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// A stripe that may move has been written: asks whether it does.
    #[cold]
    pub(super) fn consider_levelling(&mut self, stripe: u32, written: u32) {
        let place = self.rain().stripes.place_of_stripe(stripe);
        let asked = WrittenStripe { stripe, written, place };
        let mut places = Vec::new();
        self.ask(|policies, view| policies.wear_level.destinations(view, &asked, &mut places));
        places.retain(|&to| to != asked.place);
        let Some(&best) = places.first() else { return };
        let view = self.seen();
        let stripes = view.stripes().expect("only drives with stripes get here");
        let best_fits = stripes.has_room_for(stripe, best);
        let found = places.into_iter().find(|&to| stripes.has_room_for(stripe, to) && has_room_in(view, stripes, to.group));
        let WithFtl { up: WithRaid { raid, .. }, .. } = &mut self.up;
        match found {
            Some(to) => {
                raid.counters.moves_to_other_places += u64::from(to != best);
                self.begin_move(stripe, to);
            }
            None if best_fits => raid.counters.moves_without_room += 1,
            None => raid.counters.moves_refused += 1,
        }
    }

    fn begin_move(&mut self, stripe: u32, to: Place) {
        let now = self.flash.now;
        let [pause, patience] = self.ask(|policies, _| [policies.wear_level.pause_ns(), policies.wear_level.patience_ns()]);
        let patience_over = now.saturating_add(patience);
        let WithFtl { ftl, up: WithRaid { raid: Raid { rain, levelling, .. }, .. }, .. } = &mut self.up;
        let rain = rain.as_mut().expect("only drives with stripes get here");
        let (_, members) = rain.stripes.members(stripe);
        let pages = (0..=members).map(|place| rain.stripes.page_in(stripe, place));
        let pages: Vec<Lpn> = pages.filter(|&lpn| ftl.tables.lookup(lpn) != NONE).collect();
        let active = rain.active.activate(stripe);
        let stripe_write = rain.begin_stripe_write(StripeWrite::new(stripe, active));
        let (pending, contents) = (pages.len() as u32, pages.iter().map(|&lpn| (lpn, None)).collect());
        levelling.begin(Mover { stripe, to, stripe_write, patience_over, pending, pages: contents }, now.saturating_add(pause));
        self.set_timer(patience_over, Self::move_timer, stripe);
        for lpn in pages {
            let plane = self.up.ftl.tables.plane_of(self.up.ftl.tables.lookup(lpn));
            let read = self.mover_op(OpKind::Read, lpn, plane);
            self.enqueue(read);
        }
    }

    fn mover_op(&mut self, kind: OpKind, lpn: Lpn, plane: PlaneIx) -> u32 {
        let op = self.flash.page_op(kind, Class::Background, TrafficClass::Background, Owner::Mover, lpn, plane);
        self.flash.new_op(op)
    }

    /// The patience of a stripe's move is over. Returns whether it is still under way.
    fn move_timer(&mut self, stripe: u32) -> bool {
        // Whatever of it waits does so at a busy die, which sees that when it chooses next.
        let WithFtl { up: WithRaid { raid, .. }, .. } = &mut self.up;
        let is_overdue = raid.levelling.hurry(stripe, self.flash.now);
        raid.counters.moves_hurried += u64::from(is_overdue);
        is_overdue
    }

    /// A page of the stripe that moves has been read or programmed.
    #[cold]
    pub(crate) fn mover_op_done(&mut self, op: u32) {
        let Op { kind, tag: lpn, target, plane, .. } = self.flash.ops[op as usize];
        let WithFtl { ftl: Ftl { tables, .. }, oracle, up: WithRaid { raid, .. } } = &mut self.up;
        let mover = raid.levelling.under_way();
        let last = mover.op_done();
        if kind == OpKind::Read {
            mover.note_read(lpn, oracle.as_ref().map(|oracle| oracle.carried(op)));
            if last {
                mover.pending = mover.pages.len() as u32;
                let (to, pages) = (mover.to, mover.pages.clone());
                self.program_moved(to, pages);
            }
            return;
        }
        if let Some(oracle) = oracle {
            oracle.program(op, target);
        }
        tables.commit_write(lpn, target);
        if let Some(page) = raid.page_on_the_move(lpn) {
            tables.note_copy_of(target, page);
        }
        raid.counters.levelled_pages += 1;
        self.consider_gc(plane);
        if last {
            self.end_move();
        }
    }

    /// Everything has been read, and is programmed at its new place.
    fn program_moved(&mut self, to: Place, pages: Vec<(Lpn, Option<Content>)>) {
        for (lpn, content) in pages {
            let stripes = &self.rain().stripes;
            let (number, plane) = (stripes.page_on_the_move(stripes.place_of(lpn)), stripes.plane_if(lpn, to));
            let program = self.mover_op(OpKind::Program, number, plane);
            if let Some(oracle) = &mut self.up.oracle {
                oracle.carry(program, content.expect("the oracle noted what was read"));
            }
            self.enqueue(program);
        }
    }

    /// Every page has a copy at its new place: table and map change, and whoever waits for a page waits there.
    fn end_move(&mut self) {
        let Raid { rain, levelling, counters, .. } = &mut self.up.up.raid;
        let rain = rain.as_mut().expect("only drives with stripes get here");
        let mover = levelling.end();
        let stripes = &mut rain.stripes;
        let shifted = stripes.group_of(mover.stripe) == mover.to.group;
        *if shifted { &mut counters.stripes_shifted } else { &mut counters.stripes_migrated } += 1;
        stripes.set_place(mover.stripe, mover.to);
        counters.moved_stripes_max = counters.moved_stripes_max.max(stripes.table_entries().into());
        rain.end_stripe_write(mover.stripe_write);
        let moved: Vec<(Lpn, PlaneIx)> = mover.pages.iter().map(|&(lpn, _)| (lpn, self.rename_moved(lpn))).collect();
        self.follow_pages(&moved);
        for (_, plane) in moved {
            // A page was invalidated there, which may be what its GC lacked.
            self.consider_gc(plane);
        }
        self.flush_stripes(0);
    }

    /// The copy of a page at its new place becomes the present one, also for a GC that is moving it. Returns the plane of the
    /// former one.
    fn rename_moved(&mut self, lpn: Lpn) -> PlaneIx {
        let stripes = &self.rain().stripes;
        let number = stripes.page_on_the_move(stripes.place_of(lpn));
        let former = self.up.ftl.tables.rename(number, lpn);
        for op in 0..self.flash.ops.len() {
            // Operations that have ended may match as well; they are written anew when they are used again.
            let op = &mut self.flash.ops[op];
            if op.tag == number {
                op.tag = lpn;
            }
        }
        self.up.ftl.tables.plane_of(former)
    }
}

/// Whether the planes of a group can take a page more for good, and now. Every page of their stripes counts, mapped or not.
/// Of the last pages of a plane GC could free none: a victim without stale pages frees nothing, and open blocks are none.
fn has_room_in(view: View<'_>, stripes: &Stripes, group: u32) -> bool {
    let device = view.device();
    let usable = (device.usable_pages() / u64::from(device.geometry.planes())) as u32;
    let kept = view.tables().pages_kept() + device.geometry.pages_in(1);
    let fits = stripes.stripes_in(group) + kept + 1 < usable;
    fits && (0..stripes.width()).all(|channel| view.has_room(stripes.plane_at(group, channel)))
}
