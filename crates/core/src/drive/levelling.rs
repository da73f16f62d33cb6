//! Wear levelling between planes: a stripe is shifted round the channels of its group, or migrates to another one.
//! TTFLASH, section 7.
//!
//! A move changes no contents, only places. The stripe counts as on its way to the flash until it is over: nobody sends it off
//! or trims it away under the mover's hands. All its pages are read, and programmed at their new places under page numbers of
//! their own, so that GC treats them like any others; then the stripe table and the map change at one instant. So a stripe is
//! never half in one group and half in another, where two GCs could block it. One stripe moves at a time; its pages have a
//! place in RAM apart from the buffer.
//!
//! Its operations are work of the background, which a die that never rests would never start. When the technique's patience is
//! over, `order` sees them as what the host waits for in the end: reads for parity and flushes. So a move takes as long as its
//! patience, and then as long as a flush.

use crate::drive::{Drive, Timer};
use crate::event::EventQueue;
use crate::ftl::rain::Place;
use crate::ids::{Lpn, NONE, PlaneIx};
use crate::observe::{Observer, Occupant};
use crate::oracle::Content;
use crate::policy::WearLevel;
use crate::rain::Batch;
use crate::sched::ops::{Class, Op, OpKind, Owner};
use crate::units::Ns;
use crate::view::{View, WrittenStripe};

/// The stripe that moves.
#[derive(Debug)]
struct Mover {
    stripe: u32,
    to: Place,
    /// Its place among the active stripes, and the batch that it counts as.
    active: u32,
    batch: u32,
    began: Ns,
    /// Operations that have not ended.
    pending: u32,
    /// Its mapped pages, and with an oracle what each holds.
    pages: Vec<(Lpn, Option<Content>)>,
}

/// The moves of stripes, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Levelling {
    mover: Option<Box<Mover>>,
    /// The move has taken so long that it does not come behind everything else any more.
    is_late: bool,
    /// When the next stripe may begin to move.
    rests_until: Ns,
}

impl Levelling {
    /// A stripe moves.
    pub fn is_moving(&self) -> bool {
        self.mover.is_some()
    }

    /// It does so for so long that it does not come behind everything else any more.
    #[inline]
    pub fn is_late(&self) -> bool {
        self.is_late
    }

    /// What a loss of power leaves: no move, and the pause since the last one began.
    pub fn after_power_loss(&self) -> Self {
        Self { rests_until: self.rests_until, ..Self::default() }
    }
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// A stripe has been written: asks whether it moves.
    #[inline(never)]
    pub(super) fn consider_levelling(&mut self, stripe: u32, written: u32) {
        let rain = self.state.rain.as_ref().expect("only drives with stripes get here");
        let rests = self.state.now < self.state.levelling.rests_until;
        if rests || self.state.levelling.mover.is_some() || rain.active.find(stripe).is_some() {
            return;
        }
        let asked = WrittenStripe { stripe, written, place: rain.stripes.place_of_stripe(stripe) };
        let mut places = Vec::new();
        self.policies.wear_level.destinations(View(&self.state), &asked, &mut places);
        places.retain(|&to| to != asked.place);
        let Some(&best) = places.first() else { return };
        match places.into_iter().find(|&to| self.table_takes(stripe, to) && self.has_room_in(to.group)) {
            Some(to) => {
                self.state.counters.moves_elsewhere += u64::from(to != best);
                self.begin_move(stripe, to);
            }
            None if self.table_takes(stripe, best) => self.state.counters.moves_without_room += 1,
            None => self.state.counters.moves_refused += 1,
        }
    }

    /// Whether the stripe table has room for a stripe at a place.
    fn table_takes(&self, stripe: u32, to: Place) -> bool {
        self.state.rain.as_ref().expect("only drives with stripes get here").stripes.has_room_for(stripe, to)
    }

    /// Whether the planes of a group can take a page more for good, and now. Every page of their stripes counts, mapped or not.
    /// Of the last pages of a plane GC could free none: a victim without stale pages frees nothing, and open blocks are none.
    fn has_room_in(&self, group: u32) -> bool {
        let device = &self.state.device;
        let usable = (device.usable_pages() / u64::from(device.geometry.planes())) as u32;
        let kept = self.state.books.pages_kept() + device.geometry.pages_per_block;
        let stripes = &self.state.rain.as_ref().expect("only drives with stripes get here").stripes;
        let fits = stripes.stripes_in(group) + kept + 1 < usable;
        fits && (0..stripes.width()).all(|channel| View(&self.state).has_room(stripes.plane_at(group, channel)))
    }

    fn begin_move(&mut self, stripe: u32, to: Place) {
        let stripes = &self.state.rain.as_ref().expect("only drives with stripes get here").stripes;
        let (_, members) = stripes.members(stripe);
        let pages = (0..=members).map(|place| stripes.page_in(stripe, place));
        let pages: Vec<Lpn> = pages.filter(|&lpn| self.state.books.lookup(lpn) != NONE).collect();
        let rain = self.rain();
        let active = rain.active.activate(stripe);
        let batch = rain.batches.insert(Batch::of_mover(stripe, active));
        rain.active.get_mut(active).batch = batch;
        let now = self.state.now;
        let (pending, contents) = (pages.len() as u32, pages.iter().map(|&lpn| (lpn, None)).collect());
        self.state.levelling.mover = Some(Box::new(Mover { stripe, to, active, batch, began: now, pending, pages: contents }));
        self.state.levelling.rests_until = now.saturating_add(self.policies.wear_level.pause_ns());
        let patience_over = now.saturating_add(self.policies.wear_level.patience_ns());
        self.set_timer(patience_over, Timer::Move(now));
        for lpn in pages {
            let plane = self.state.books.plane_of(self.state.books.lookup(lpn));
            let read = self.mover_op(OpKind::Read, lpn, plane);
            self.enqueue(read);
        }
    }

    fn mover_op(&mut self, kind: OpKind, lpn: Lpn, plane: PlaneIx) -> u32 {
        let mut op = Op::new(kind, Class::Background, Occupant::Background, Owner::Mover, lpn, plane);
        op.sectors = self.state.device.geometry.sectors_per_page() as u8;
        self.state.new_op(op)
    }

    /// The patience of the move that began at a time is over. Returns whether it is still under way.
    pub(super) fn move_timer(&mut self, began: Ns) -> bool {
        let is_late = self.state.levelling.mover.as_ref().is_some_and(|mover| mover.began == began);
        if is_late {
            // Whatever of it waits does so at a busy die, which sees that when it chooses next.
            self.state.levelling.is_late = true;
            self.state.counters.moves_hurried += 1;
        }
        is_late
    }

    /// The page whose copy a number behind all others stands for while its stripe moves.
    pub(super) fn page_on_the_move(&self, number: Lpn) -> Option<Lpn> {
        let (rain, mover) = (self.state.rain.as_ref()?, self.state.levelling.mover.as_ref()?);
        let place = u64::from(number).checked_sub(rain.stripes.pages())?;
        Some(rain.stripes.page_in(mover.stripe, place as u32))
    }

    /// A page of the stripe that moves has been read or programmed.
    pub(super) fn mover_op_done(&mut self, op: u32) {
        let Op { kind, lpn, target, plane, .. } = self.state.ops[op as usize];
        let mover = self.state.levelling.mover.as_mut().expect("a stripe that moves");
        mover.pending -= 1;
        let last = mover.pending == 0;
        if kind == OpKind::Read {
            let (_, content) = mover.pages.iter_mut().find(|page| page.0 == lpn).expect("a page of the stripe");
            *content = self.oracle.as_ref().map(|oracle| oracle.carried(op));
            if last {
                self.program_moved();
            }
            return;
        }
        if let Some(oracle) = &mut self.oracle {
            oracle.program(op, target);
        }
        self.state.books.commit_write(lpn, target);
        if let Some(page) = self.page_on_the_move(lpn) {
            self.state.books.note_copy_of(target, page);
        }
        self.state.counters.levelled_pages += 1;
        self.consider_gc(plane);
        if last {
            self.end_move();
        }
    }

    /// Everything has been read, and is programmed at its new place.
    fn program_moved(&mut self) {
        let mover = self.state.levelling.mover.as_mut().expect("a stripe that moves");
        mover.pending = mover.pages.len() as u32;
        let (to, pages) = (mover.to, mover.pages.clone());
        for (lpn, content) in pages {
            let stripes = &self.rain().stripes;
            let (number, plane) = (stripes.page_on_the_move(stripes.place_of(lpn)), stripes.plane_if(lpn, to));
            let program = self.mover_op(OpKind::Program, number, plane);
            if let Some(oracle) = &mut self.oracle {
                oracle.carry(program, content.expect("the oracle noted what was read"));
            }
            self.enqueue(program);
        }
    }

    /// Every page has a copy at its new place: table and map change, and whoever waits for a page waits there.
    fn end_move(&mut self) {
        let mover = self.state.levelling.mover.take().expect("a stripe that moves");
        self.state.levelling.is_late = false;
        let stripe = mover.stripe;
        let rain = self.state.rain.as_mut().expect("only drives with stripes get here");
        let counters = &mut self.state.counters;
        let shifted = rain.stripes.group_of(stripe) == mover.to.group;
        *if shifted { &mut counters.stripes_shifted } else { &mut counters.stripes_migrated } += 1;
        rain.stripes.set_place(stripe, mover.to);
        counters.moved_stripes_max = counters.moved_stripes_max.max(rain.stripes.table_entries().into());
        rain.batches.remove(mover.batch);
        rain.active.get_mut(mover.active).batch = NONE;
        let (_, members) = rain.stripes.members(stripe);
        rain.active.written(mover.active, 0, rain.stripes.group_of(stripe), members);
        rain.active.deactivate_if_idle(mover.active);
        let moved: Vec<(Lpn, PlaneIx)> = mover.pages.iter().map(|&(lpn, _)| (lpn, self.rename_moved(lpn))).collect();
        self.follow_pages(&moved);
        for (_, plane) in moved {
            // A page died there, which may be what its GC lacked.
            self.consider_gc(plane);
        }
        self.flush_stripes(0);
    }

    /// The copy of a page at its new place becomes the present one, also for a GC that is moving it. Returns the plane of the
    /// former one.
    fn rename_moved(&mut self, lpn: Lpn) -> PlaneIx {
        let stripes = &self.rain().stripes;
        let number = stripes.page_on_the_move(stripes.place_of(lpn));
        let former = self.state.books.rename(number, lpn);
        for op in 0..self.state.ops.len() {
            // Operations that have ended may match as well; they are written anew when they are used again.
            let op = &mut self.state.ops[op];
            if op.lpn == number {
                op.lpn = lpn;
            }
        }
        self.state.books.plane_of(former)
    }
}
