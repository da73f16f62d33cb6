//! # Greedy victims
//!
//! **What it does.** Collects a block with the fewest valid pages; open blocks are no candidates.
//!
//! **Source.** TTFLASH, section 6 ("most-optimum FTL" of SSDSim); I/O-parallelized GC, section 2.
//!
//! **Parameters.** None. **Cost.** The least copying now; it ignores age, locality and wear.

use crate::policy::prelude::*;

/// The fewest valid pages.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Greedy {}

impl Victim for Greedy {
    fn narrow(&mut self, view: View<'_>, _: Pool, candidates: &mut Vec<BlockGroup>) {
        let tables = view.tables();
        if let Some(least) = candidates.iter().map(|&group| tables.valid_pages(group)).min() {
            candidates.retain(|&group| tables.valid_pages(group) == least);
        }
    }

    fn search(&mut self, view: View<'_>, pool: Pool, first_only: bool, found: &mut Vec<BlockGroup>) {
        view.tables().fewest_valid(pool, first_only, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Claimant;
    use crate::testkit::{kept, tiny_device, tiny_state, victims};

    #[test]
    fn it_finds_the_closed_block_with_the_fewest_valid_pages() {
        let mut state = tiny_state();
        let pages = tiny_device().geometry.pages_per_block;
        assert!(victims(&mut Greedy {}, &state).is_empty(), "an erased plane has nothing to collect");
        let lpns: Vec<u32> = (0..2 * pages).chain(pages..pages + 1).collect();
        for lpn in lpns {
            let ppn = state.ftl.tables.take(0, 0, Claimant::Host).unwrap();
            state.ftl.tables.commit_write(lpn, ppn);
        }
        assert_eq!(victims(&mut Greedy {}, &state), [1], "block 1 lost a page, the third block is open");
        assert_eq!(kept(&mut Greedy {}, &state, &[0, 1]), [1]);
    }
}
