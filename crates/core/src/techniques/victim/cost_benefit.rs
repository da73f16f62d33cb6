//! # Cost-benefit victims
//!
//! **What it does.** Collects the block with the greatest age x (1 - u) / 2u, where u is the valid share of its pages: what
//! is gained, space that is likely to stay free, over what it costs, reading and writing the valid pages. So an old block
//! may go before an emptier young one, which is still losing pages by itself.
//!
//! The age is counted in pages programmed in the block's plane, by host and GC, since the block's last page was. Values
//! are compared exactly, by cross-multiplication; blocks without a valid page come first.
//!
//! **Source.** Kawaguchi, Nishioka and Motoda, USENIX 1995, after Rosenblum and Ousterhout, SOSP 1991. There the age counts
//! from a block's last modification, stale pages included; here nothing is noted when a page becomes stale.
//!
//! **Parameters.** None. **Cost.** More copying than greedy while writes are uniform, less once some pages are written
//! far more often than others.

use crate::policy::prelude::*;
use crate::techniques::victim::{keep_least, least};
use std::cmp::{Ordering, Reverse};

/// The greatest benefit over cost.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostBenefit {}

/// Benefit over cost but for constant factors: age x stale pages over valid pages.
#[derive(Clone, Copy, Debug)]
struct Score {
    benefit: u128,
    cost: u128,
}

impl Score {
    fn of(view: View<'_>, pool: Pool, group: BlockGroup) -> Self {
        let tables = view.tables();
        let valid = tables.valid_pages(group);
        let stale = tables.stale_pages(group);
        // A block that closed just now is one page old, or an age of zero would hide that it is empty.
        let age = tables.clock(pool) - tables.closed_at(group) + 1;
        Self { benefit: u128::from(age) * u128::from(stale), cost: valid.into() }
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.benefit * other.cost).cmp(&(other.benefit * self.cost))
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Score {}

impl Victim for CostBenefit {
    fn narrow(&mut self, view: View<'_>, pool: Pool, candidates: &mut Vec<BlockGroup>) {
        keep_least(candidates, |group| Reverse(Score::of(view, pool, group)));
    }

    fn search(&mut self, view: View<'_>, pool: Pool, _: bool, found: &mut Vec<BlockGroup>) {
        least(view.tables().collectable(pool), found, |group| Reverse(Score::of(view, pool, group)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::techniques::victim::greedy::Greedy;
    use crate::testkit::{kept, state_with_writes, victims};

    #[test]
    fn an_old_block_goes_before_a_slightly_emptier_young_one() {
        // Four blocks close after 4, 8, 12 and 16 pages, at a clock of 16. Block 0 lost one page at age 13: 13 x 1 / 3.
        // Block 2 lost two at age 5: 5 x 2 / 2.
        let mut writes = vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 8, 9, 12];
        let state = state_with_writes(&writes);
        assert_eq!(victims(&mut Greedy {}, &state), [2]);
        assert_eq!(victims(&mut CostBenefit {}, &state), [2], "13/3 is below 5");
        // Four pages later ages are 17 and 9: 17/3 is still below 9. The gap closes only where the ratio of ages is small.
        writes.extend([13, 14, 15, 1]);
        let state = state_with_writes(&writes);
        assert_eq!(victims(&mut CostBenefit {}, &state), [0], "17 x 2 / 2 is above 9 x 2 / 2");
        assert_eq!(victims(&mut Greedy {}, &state), [0, 2]);
    }

    #[test]
    fn an_empty_block_comes_first_whatever_its_age() {
        let state = state_with_writes(&[0, 1, 2, 3, 4, 5, 6, 7, 0, 4, 5, 6, 7]);
        assert_eq!(victims(&mut CostBenefit {}, &state), [1]);
        assert_eq!(victims(&mut Greedy {}, &state), [1]);
        assert_eq!(kept(&mut CostBenefit {}, &state, &[0, 1]), [1]);
    }

    #[test]
    fn scores_are_compared_exactly() {
        let score = |benefit, cost| Score { benefit, cost };
        let ninth = u128::from(u64::MAX) * 16_382;
        assert!(score(ninth, 16_383) > score(ninth - 1, 16_383));
        assert!(score(1, 3) == score(5, 15) && score(1, 0) > score(ninth, 1) && score(1, 0) == score(7, 0));
    }
}
