//! Which of a plane's write points takes a page that has its plane before it is programmed, where `page_choice` has wishes or
//! there are more write points than one for the host and one for GC.
//!
//! With late placement a page may go to any idle die; here it has the write points of one plane. Nobody waits for another page: of those
//! that can take it the one that is nearest to the wish does, and among equals the one with the fewest pages in its block, so
//! that all of them are used alike. Programs that could join another in a multi-plane command go where they join, whatever the
//! class of that page. Parity and background work have slow pages, because no write of the host waits for them.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, Owner};
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::GcState;
use crate::ids::{NONE, PlaneIx};
use crate::observe::Occupant;
use crate::policy::answers::Rest;
use crate::policy::answers::{Wish, Writer};
use crate::policy::interface::PageChoice;

/// The write point that GC has to itself where nobody wishes anything.
const OF_GC: usize = 1;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// The write point of a program in its plane; of a page that GC copies or is about to program there where `op` is `NONE`.
    #[inline(never)]
    pub(crate) fn chosen_point(&mut self, plane: PlaneIx, op: u32) -> usize {
        let entry = Some(op).filter(|&op| op != NONE).map(|op| self.flash.ops[op as usize]);
        let claimant = entry.map_or(Claimant::Gc, |entry| entry.claimant());
        let for_gc = entry.is_none_or(|entry| entry.class == Class::GcProgram);
        let wish = self.wish_of(plane, entry.as_ref());
        let apart = !self.ask(|policies, _| policies.page_choice.active());
        let books = &self.up.ftl.books;
        let can_take = |&point: &usize| books.can_take(plane, point, claimant);
        let rank = |&point: &usize| {
            let offset = books.next_offset(plane, point);
            (u32::from(apart && for_gc != (point == OF_GC)), self.distance(wish, offset), offset)
        };
        (0..books.write_points(plane)).filter(can_take).min_by_key(rank).unwrap_or(0)
    }

    /// What is wished for a page: for one that nobody waits for, a slow page.
    fn wish_of(&mut self, plane: PlaneIx, entry: Option<&Op>) -> Wish {
        let of_gc = match entry {
            Some(entry) if entry.is_critical() => return Wish::Fast,
            Some(Op { owner: Owner::Gc(of), .. }) => Some(*of),
            Some(entry) if entry.occupant == Occupant::Parity || entry.class == Class::Background => {
                return if self.ask(|policies, _| policies.page_choice.active()) { Wish::Slow } else { Wish::Any };
            }
            Some(_) => None,
            None => Some(plane),
        };
        let Some(of) = of_gc else {
            let gc = self.up.ftl.gc.of(plane);
            let in_the_way = gc.state != GcState::Idle && !gc.is_for_rest();
            return self.ask(|policies, view| policies.page_choice.wish(view, Writer::Host, in_the_way));
        };
        // Where writes wait for the die it is no idle time.
        let hurries = self.flash.is_urgent(of) || self.seen().host_waits_at(self.flash.die_of(plane));
        self.ask(|policies, view| policies.page_choice.wish(view, Writer::Gc, hurries))
    }

    /// The class of the page at an offset of a block, and the slowest class.
    fn class_at(&self, offset: u32) -> (u32, u32) {
        let timing = &self.flash.device.timing;
        let pattern = &timing.page_class_pattern;
        (pattern[offset as usize % pattern.len()].into(), timing.program_ns.len() as u32 - 1)
    }

    /// How far a page at an offset of a block is from a wish.
    fn distance(&self, wish: Wish, offset: u32) -> u32 {
        let (class, slowest) = self.class_at(offset);
        match wish {
            Wish::Any => 0,
            Wish::Fast => class,
            Wish::Slow => slowest - class,
            Wish::Restless(rest) => u32::from(self.is_at_rest(rest, offset)),
        }
    }

    pub(crate) fn is_at_rest(&self, rest: Rest, offset: u32) -> bool {
        let is_fast = |offset: u32| self.class_at(offset).0 == 0;
        is_fast(offset) && (rest == Rest::Fast || offset + 1 < self.flash.device.geometry.pages_per_block && is_fast(offset + 1))
    }

    /// Books what a program got of what was wished.
    #[inline(never)]
    pub(crate) fn note_choice(&mut self, entry: &Op, write_point: usize, offset: u32) {
        let (class, slowest) = self.class_at(offset);
        let gc = matches!(entry.owner, Owner::Gc(_));
        let wish = self.wish_of(entry.plane, Some(entry));
        let counters = &mut self.flash.counters;
        counters.pages_spread += u64::from(write_point > OF_GC);
        *(if gc { &mut counters.fast_pages_gc } else { &mut counters.fast_pages_host }) += u64::from(class == 0);
        if entry.is_critical() {
            counters.critical_pages += 1;
            counters.critical_pages_fast += u64::from(class == 0);
            return;
        }
        let met = match wish {
            Wish::Fast => class == 0,
            Wish::Slow => class == slowest,
            Wish::Any | Wish::Restless(_) => return,
        };
        if gc {
            counters.gc_wishes += 1;
            counters.gc_wishes_met += u64::from(met);
        } else if entry.occupant != Occupant::Parity && entry.class != Class::Background {
            counters.host_wishes += 1;
            counters.host_wishes_met += u64::from(met);
        }
    }

    /// The write point at which a program can join another at a page offset: one that is there and can take it.
    #[inline(never)]
    pub(crate) fn point_at(&self, entry: &Op, offset: u32) -> Option<usize> {
        let books = &self.up.ftl.books;
        let fits = |&point: &usize| books.next_offset(entry.plane, point) == offset && books.can_take(entry.plane, point, entry.claimant());
        (0..books.write_points(entry.plane)).find(fits)
    }
}
