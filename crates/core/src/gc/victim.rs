//! Which block of a plane is collected.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{BlockIx, PlaneIx};
use crate::policy::interface::Victim;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Chooses a victim that frees something.
    pub(crate) fn choose_victim(&mut self, plane: PlaneIx) -> Option<BlockIx> {
        let mut found = std::mem::take(&mut self.up.ftl.gc.candidates);
        found.clear();
        let (count, best) = self.ask(|policies, view| {
            let first_only = policies.victim.len() == 1;
            let mut chain = policies.victim.iter_mut();
            if let Some(head) = chain.next() {
                head.search(view, plane, first_only, &mut found);
            }
            let best = if cfg!(any(test, debug_assertions)) { found.clone() } else { Vec::new() };
            let count = found.len() as u64;
            for policy in chain {
                if found.len() > 1 {
                    policy.narrow(view, plane, &mut found);
                }
            }
            (count, best)
        });
        self.flash.counters.victim_candidates_max = self.flash.counters.victim_candidates_max.max(count);
        crate::check!(
            best.is_empty() == found.is_empty() && found.iter().all(|block| best.contains(block)),
            "a victim that the chain's head has not found"
        );
        let victim = found.first().copied().filter(|&block| self.up.ftl.tables.stale_pages(block) > 0);
        self.up.ftl.gc.candidates = found;
        victim
    }

    /// A closed block of a plane that holds nothing valid, whatever the policies prefer: it is erased at no cost.
    pub(super) fn empty_victim(&mut self, plane: PlaneIx) -> Option<BlockIx> {
        let tables = &self.up.ftl.tables;
        if tables.least_valid_bound(plane) > 0 {
            return None;
        }
        let found = &mut self.up.ftl.gc.candidates;
        tables.fewest_valid(plane, true, found);
        found.first().copied().filter(|&block| tables.valid_pages(block) == 0)
    }
}
