//! At which write points planes program: where `place` says, or, so that a die's planes come to one page offset, where `align`
//! does.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::ask::Waiting;
use crate::flash::op::{Class, Op};
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::ids::PlaneIx;
use crate::policy::interface::{Align, Place};

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// The write point of a program that starts in a plane; of a page of GC without an operation yet, where that is `NONE`.
    #[inline]
    pub(crate) fn write_point(&mut self, plane: PlaneIx, op: u32, for_gc: bool) -> usize {
        if self.flash.traits.aligns || self.flash.traits.chooses {
            return self.sought_point(plane, op, for_gc);
        }
        self.ask(|policies, view| policies.place.write_point(view, plane, for_gc))
    }

    /// A block at the offset of its siblings matters more to GC than the class of its page, unless it is there for that alone.
    #[inline(never)]
    fn sought_point(&mut self, plane: PlaneIx, op: u32, for_gc: bool) -> usize {
        let by_level = for_gc && !self.up.ftl.gc.of(plane).is_for_rest() || !self.flash.traits.chooses;
        if self.flash.traits.aligns && by_level { self.aligned_point(plane, for_gc) } else { self.chosen_point(plane, op) }
    }

    /// The write point of a page while the drive ages: always the first, where `align` would choose by what waits, so that the
    /// starting state is that of a drive with one open block for each plane.
    #[inline]
    pub(crate) fn ageing_point(&mut self, plane: PlaneIx, for_gc: bool) -> usize {
        if self.flash.traits.aligns { 0 } else { self.ask(|policies, view| policies.place.write_point(view, plane, for_gc)) }
    }

    #[inline(never)]
    fn aligned_point(&mut self, plane: PlaneIx, for_gc: bool) -> usize {
        if !for_gc {
            return self.ask(|policies, view| policies.align.host_point(view, plane));
        }
        let point = match self.up.ftl.gc.of(plane).write_point {
            Some(point) => usize::from(point),
            None => self.ask(|policies, view| policies.align.gc_point(view, plane)),
        };
        let has_room = |&point: &usize| self.up.ftl.books.can_take(plane, point, Claimant::Gc);
        // The block that was chosen may be full, and no erased one left but for what the others have.
        if has_room(&point) { point } else { (0..self.up.ftl.books.write_points(plane)).find(has_room).unwrap_or(point) }
    }

    /// The offset at which a waiting program could join `lead`: of GC, that of its own block; of the host, the lead's or none.
    #[inline(never)]
    pub(crate) fn aligned_offset(&mut self, entry: &Op, lead: &Waiting) -> Option<u32> {
        let point = self.partner_point(entry, lead)?;
        let books = &self.up.ftl.books;
        let offset = books.next_offset(entry.plane, point);
        let joins_at = if entry.class == Class::GcProgram { offset } else { lead.offset };
        (offset <= joins_at && books.can_take(entry.plane, point, entry.claimant())).then_some(joins_at)
    }

    fn partner_point(&mut self, entry: &Op, lead: &Waiting) -> Option<usize> {
        if entry.class == Class::GcProgram {
            return Some(self.aligned_point(entry.plane, true));
        }
        self.ask(|policies, view| policies.align.partner_point(view, entry.plane, lead.offset, lead.class == Class::GcProgram))
    }

    /// Brings the write point of a program that joins `lead` to the lead's offset, and returns it.
    #[inline(never)]
    pub(crate) fn bring_level(&mut self, entry: &Op, lead: &Waiting) -> usize {
        let point = self.partner_point(entry, lead).expect("the point that the offset was read from");
        while self.up.ftl.books.next_offset(entry.plane, point) < lead.offset {
            assert!(self.up.ftl.books.pad(entry.plane, point, Claimant::Host), "a block that has the page at the offset has those before");
            let counters = &mut self.flash.counters;
            counters.skipped_pages += 1;
            counters.padded_pages += 1;
            counters.padded_for_gc += 1;
        }
        point
    }
}
