//! The waist between the translation layer with GC and what is above it.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::ask::{Candidate, Suspension, Waiting};
use crate::flash::op::{Class, Op, OpKind};
use crate::flash::upper::{Background, Bind, Served, Upper};
use crate::ftl::state::Ftl;
use crate::ids::{BlockIx, DieIx, NONE, PlaneIx, Ppn};
use crate::observe::{Observer, Occupant};
use crate::policy::interface::{Join, Order, Suspend};
use crate::units::Ns;
use crate::verify::oracle::Oracle;

/// The translation layer with GC, below whatever is above it.
pub struct WithFtl<U> {
    pub(crate) ftl: Ftl,
    /// The check of every read's data, if there is one.
    pub(crate) oracle: Option<Box<Oracle>>,
    pub(crate) up: U,
}

/// What is above, as the translation layer and GC know it.
pub trait Above: Context + Served + Background {
    /// A read has been bound to its page, or has none any more.
    fn bound_read(&mut self, op: u32, ppn: Option<Ppn>);

    /// The GC of a plane begins.
    fn gc_begins(&mut self, plane: PlaneIx);
    /// The GC of a plane holds all that it must.
    fn gc_holds(&mut self, plane: PlaneIx);
    /// A GC has copied a page inside the flash.
    fn copied_back(&mut self, from: Ppn, to: Ppn);
    /// A block has been erased.
    fn erased(&mut self, block: BlockIx);
    /// The GC of a plane is no longer under way; its channel still counts it.
    fn gc_ends(&mut self, plane: PlaneIx);
    /// Programs that waited for space have been woken: what else waited for the GC may go on.
    fn gc_ended(&mut self, plane: PlaneIx);
}

impl<Q: EventQueue, U> Upper for Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    #[inline(always)]
    fn bind(&mut self, die: DieIx, op: u32) -> Bind {
        self.bind_page(die, op)
    }

    #[inline(always)]
    fn accepts(&mut self, op: u32) -> bool {
        let late = self.flash.traits.late && self.flash.ops[op as usize].kind == OpKind::Program;
        if late {
            self.enqueue_late(op);
        }
        !late
    }

    fn start_waiting_late(&mut self, die: DieIx) {
        self.start_or_place(die);
    }

    #[inline(always)]
    fn take_step(&mut self, plane: PlaneIx, class: Class) -> bool {
        if class == Class::Hold {
            self.hold_die(plane);
            return false;
        }
        self.gc_step(plane)
    }

    #[inline(always)]
    fn prefer_at_die(&mut self, candidates: &[Candidate]) -> usize {
        self.ask(|policies, view| policies.order.at_die(view, candidates))
    }

    #[inline(always)]
    fn prefer_at_channel(&mut self, candidates: &[Candidate]) -> usize {
        self.ask(|policies, view| policies.order.at_channel(view, candidates))
    }

    #[inline(always)]
    fn shut_out(&mut self, die: DieIx) -> u64 {
        self.shut_out_of_die(die)
    }

    fn grant_channel(&mut self, channel: usize, plane: PlaneIx) {
        self.take_channel(channel, plane);
    }

    fn recategorize(&mut self, die: DieIx) {
        self.recategorize_held(die);
    }

    fn programs_changed(&mut self, die: DieIx) {
        self.consider_gather(die);
    }

    fn programs_ended(&mut self, die: DieIx) {
        self.consider_gather(die);
        // Whosever program it was, it may have padded every plane.
        self.consider_gc_of_die(die);
    }

    fn partners(&mut self, lead: &Waiting, waiting: &[Waiting], join: &mut [bool]) {
        self.ask(|policies, view| policies.join.partners(view, lead, waiting, join));
    }

    fn join_offset(&mut self, op: &Op, lead: &Waiting) -> Option<u32> {
        self.offset_beside(op, lead)
    }

    fn bind_partner(&mut self, op: u32, lead: &Waiting) {
        self.bind_beside(op, lead);
    }

    fn next_gc_offset(&mut self, plane: PlaneIx) -> u32 {
        let point = self.write_point(plane, NONE, true);
        self.up.ftl.books.next_offset(plane, point)
    }

    fn suspend(&mut self, die: DieIx) -> Suspension {
        self.ask(|policies, view| policies.suspend.suspend(view, die))
    }

    #[inline(always)]
    fn erase_count(&self, block: BlockIx) -> u32 {
        self.up.ftl.books.erase_count(block)
    }

    fn read_left_array(&mut self, plane: PlaneIx) {
        self.gc_read_registered(plane);
    }

    fn reads_on(&mut self, plane: PlaneIx) {
        self.read_ahead(plane);
    }

    const TOLD: bool = <<Self as Context>::Observer as Observer>::TOLD;

    fn tell_run(&mut self, die: DieIx, from: Ns) {
        self.tell_die(die, from);
    }

    fn tell_use(&mut self, channel: usize, plane: PlaneIx, ns: Ns, occupant: Occupant) {
        self.tell_channel(channel, plane, ns, occupant);
    }
}
