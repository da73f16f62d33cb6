//! # Least worn victims
//!
//! **What it does.** Collects the block that was erased least often, whatever it holds, as long as it has a stale page.
//!
//! **Source.** I/O-parallelized GC, Table 1 ("wear-aware block selection"), which is `chain = [{ policy = "greedy" }, {
//! policy = "least_worn" }]`. Alone it is the simplest levelling of wear.
//!
//! **Parameters.** None. **Cost.** Alone it goes round the blocks of a plane in turn and copies as FIFO does; behind
//! greedy it costs nothing.

use crate::policy::prelude::*;
use crate::techniques::victim::{keep_least, least};

/// The fewest erases.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeastWorn {}

impl Victim for LeastWorn {
    fn narrow(&mut self, view: View<'_>, _: Pool, candidates: &mut Vec<BlockGroup>) {
        keep_least(candidates, |group| view.tables().wear_of(group));
    }

    fn search(&mut self, view: View<'_>, pool: Pool, _: bool, found: &mut Vec<BlockGroup>) {
        least(view.tables().collectable(pool), found, |group| view.tables().wear_of(group));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::techniques::victim::greedy::Greedy;
    use crate::testkit::{kept, state_with_writes, victims, write};

    #[test]
    fn a_block_that_was_never_erased_goes_before_an_emptier_one_that_was() {
        // Block 0 is emptied, erased and written once more, after all others.
        let mut state = state_with_writes(&[0, 1, 2, 3, 0, 1, 2, 3]);
        state.ftl.tables.begin_collect(BlockGroup(0));
        state.ftl.tables.erased(BlockGroup(0));
        write(&mut state, &(4..28).collect::<Vec<_>>());
        write(&mut state, &[0, 0, 0, 0]);
        assert_eq!(victims(&mut Greedy {}, &state), [0], "one page is valid");
        assert_eq!(victims(&mut LeastWorn {}, &state), [1], "three pages are valid");
        assert_eq!(kept(&mut LeastWorn {}, &state, &[0, 1]), [1]);
    }

    #[test]
    fn equally_worn_blocks_are_all_left_to_the_next_policy() {
        let state = state_with_writes(&[0, 1, 2, 3, 4, 5, 6, 7, 0, 4, 5]);
        assert_eq!(victims(&mut LeastWorn {}, &state), [0, 1]);
        let candidates = kept(&mut LeastWorn {}, &state, &[0, 1]);
        assert_eq!(kept(&mut Greedy {}, &state, &candidates), victims(&mut Greedy {}, &state));
    }
}
