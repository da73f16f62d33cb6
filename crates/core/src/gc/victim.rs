//! Which block group of a pool is collected, and how its collection begins.

use crate::context::Context;
use crate::flash::Engine;
use crate::ftl::above::{Above, WithFtl};
use crate::gc::state::Collection;
use crate::ids::{BlockGroup, Pool};

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Chooses a victim that frees something.
    pub(crate) fn choose_victim(&mut self, pool: Pool) -> Option<BlockGroup> {
        let mut found = std::mem::take(&mut self.up.ftl.gc.candidates);
        found.clear();
        let (count, best) = self.ask(|policies, view| {
            let first_only = policies.victim.len() == 1;
            let mut chain = policies.victim.iter_mut();
            if let Some(head) = chain.next() {
                head.search(view, pool, first_only, &mut found);
            }
            let best = if cfg!(any(test, debug_assertions)) { found.clone() } else { Vec::new() };
            let count = found.len() as u64;
            for policy in chain {
                if found.len() > 1 {
                    policy.narrow(view, pool, &mut found);
                }
            }
            (count, best)
        });
        self.up.ftl.gc.counters.victim_candidates_max = self.up.ftl.gc.counters.victim_candidates_max.max(count);
        crate::check!(
            best.is_empty() == found.is_empty() && found.iter().all(|group| best.contains(group)),
            "a victim that the chain's head has not found"
        );
        let victim = found.first().copied().filter(|&group| self.up.ftl.tables.stale_pages(group) > 0);
        self.up.ftl.gc.candidates = found;
        victim
    }

    /// A closed block group of a pool that holds nothing valid, whatever the policies prefer: it is erased at no cost.
    pub(super) fn empty_victim(&mut self, pool: Pool) -> Option<BlockGroup> {
        let tables = &self.up.ftl.tables;
        let first = if tables.least_valid_bound(pool) > 0 { None } else { tables.first_with_fewest(pool) };
        first.filter(|&group| tables.valid_pages(group) == 0)
    }

    /// A block group begins to be collected.
    pub(super) fn open(&mut self, group: BlockGroup) -> Collection {
        let (tables, now) = (&mut self.up.ftl.tables, self.flash.now);
        tables.begin_collect(group);
        tables.blocks_of(group).for_each(|block| tables.prefetch_block(block));
        Collection { group, unseen: tables.pages_of_group(group), in_flight: 0, moved: 0, started: now, chosen: now, moved_at: now }
    }
}
