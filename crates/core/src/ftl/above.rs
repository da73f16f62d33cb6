//! The waist between the translation layer with GC and what is above it.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::ask::{Candidate, Suspension, Waiting};
use crate::flash::upper::{Background, Served, Upper};
use crate::ftl::state::Ftl;
use crate::ids::{BlockIx, DieIx, Pool, Ppn};
use crate::observe::Observer;
use crate::oracle::Oracle;

/// The translation layer with GC, below whatever is above it.
pub struct WithFtl<U> {
    pub(crate) ftl: Ftl,
    /// The check of every read's data, if there is one.
    pub(crate) oracle: Option<Box<Oracle>>,
    pub(crate) up: U,
}

/// What is above, as the translation layer and GC know it.
pub trait Above: Context + Served + Background {
    /// A read has ended. Whether its page is read again in another way, since it could not be corrected.
    fn is_read_again(&mut self, op: u32) -> bool;
    /// Whether the owner of an operation that is done has to know what it waited for.
    fn asks_for_attribution(&mut self, op: u32) -> bool;
    /// The owner of an operation learns that it is done. Returns whether the operation is still needed, for its attribution.
    fn owner_learns(&mut self, op: u32) -> bool;
    /// A read has been bound to its page, or has none any more.
    fn bound_read(&mut self, op: u32, ppn: Option<Ppn>);

    /// The GC of a pool begins.
    fn gc_begins(&mut self, pool: Pool);
    /// The GC of a pool has locked all that it must in one of its planes.
    fn gc_locks(&mut self, pool: Pool);
    /// A GC has copied a page inside the flash.
    fn copied_back(&mut self, from: Ppn, to: Ppn);
    /// A block has been erased.
    fn erased(&mut self, block: BlockIx);
    /// The erase of a block, which has ended, was cut so often in the middle of a step.
    fn erase_was_cut(&mut self, block: BlockIx, times: u32);
    /// The GC of a pool is no longer under way; its channels still count it.
    fn gc_ends(&mut self, pool: Pool);
    /// Programs that waited for space have been woken: what else waited for the GC of a pool may go on.
    fn gc_ended(&mut self, pool: Pool);
}

impl<U> Upper for Engine<WithFtl<U>>
where
    Self: Above,
{
    const TRACED: bool = <<Self as Context>::Observer as Observer>::TRACED;

    #[inline(always)]
    fn done(&mut self, op: u32) {
        self.operation_done(op);
    }

    #[inline(always)]
    fn prefer_at_die(&mut self, candidates: &[Candidate]) -> usize {
        self.ask(|policies, view| policies.order.at_die(view, candidates))
    }

    #[inline(always)]
    fn prefer_at_channel(&mut self, candidates: &[Candidate]) -> usize {
        self.ask(|policies, view| policies.order.at_channel(view, candidates))
    }

    fn partners(&mut self, lead: &Waiting, waiting: &[Waiting], paired: &mut [bool]) {
        self.ask(|policies, view| policies.pairing.partners(view, lead, waiting, paired));
    }

    fn suspend(&mut self, die: DieIx) -> Suspension {
        self.ask(|policies, view| policies.suspend.suspend(view, die))
    }
}
