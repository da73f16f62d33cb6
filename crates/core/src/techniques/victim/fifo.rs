//! # FIFO victims
//!
//! **What it does.** Collects the block that closed longest ago, whatever it holds: the plane is written round and round
//! like a log. A block without a stale page is passed over, since collecting it would free nothing.
//!
//! **Source.** Rosenblum and Ousterhout, SOSP 1991 (the log as a ring); Desnoyers, SYSTOR 2012, calls it LRU cleaning and
//! gives its write amplification under uniform writes.
//!
//! **Parameters.** None. **Cost.** It levels wear, but copies more than greedy: with uniform writes a few percent, with
//! some pages written far more often than others much more.

use crate::policy::prelude::*;
use crate::techniques::victim::{keep_least, least};

/// The block that closed longest ago.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fifo {}

impl Victim for Fifo {
    fn narrow(&mut self, view: View<'_>, _: Pool, candidates: &mut Vec<BlockGroup>) {
        keep_least(candidates, |group| view.tables().closed_at(group));
    }

    fn search(&mut self, view: View<'_>, pool: Pool, _: bool, found: &mut Vec<BlockGroup>) {
        least(view.tables().collectable(pool), found, |group| view.tables().closed_at(group));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::techniques::victim::greedy::Greedy;
    use crate::testkit::{kept, state_with_writes, victims};

    #[test]
    fn the_oldest_block_goes_before_the_emptiest() {
        // Blocks 0, 1 and 2 close in this order; block 0 loses one page, block 2 all but one.
        let state = state_with_writes(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 8, 9, 10]);
        assert_eq!(victims(&mut Fifo {}, &state), [0]);
        assert_eq!(victims(&mut Greedy {}, &state), [2]);
    }

    #[test]
    fn where_the_oldest_is_the_emptiest_it_does_as_greedy() {
        let state = state_with_writes(&[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 4]);
        assert_eq!(victims(&mut Fifo {}, &state), [0]);
        assert_eq!(victims(&mut Greedy {}, &state), [0]);
    }

    #[test]
    fn a_block_without_a_stale_page_is_passed_over_and_one_closed_again_is_the_youngest() {
        let mut state = state_with_writes(&[0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7]);
        assert_eq!(victims(&mut Fifo {}, &state), [1], "block 0 is older and all valid");
        state.ftl.tables.begin_collect(BlockGroup(1));
        state.ftl.tables.erased(BlockGroup(1));
        assert!(victims(&mut Fifo {}, &state).is_empty());
        assert_eq!(kept(&mut Fifo {}, &state, &[0, 2]), [0]);
    }
}
