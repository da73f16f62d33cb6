//! # Greedy victims
//!
//! **What it does.** Collects a block with the fewest valid pages; open blocks are no candidates.
//!
//! **Source.** TTFLASH, section 6 ("most-optimum FTL" of SSDSim); I/O-parallelized GC, section 2.
//!
//! **Parameters.** None. **Cost.** The least copying now; it ignores age, locality and wear.

use crate::ftl::NOT_A_CANDIDATE;
use crate::ids::{BlockIx, PlaneIx};
use crate::policy::Victim;
use crate::view::View;
use schemars::JsonSchema;
use serde::Deserialize;

/// The fewest valid pages.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Greedy {}

/// Blocks whose counts are searched at once.
const GROUP: usize = 512;

impl Victim for Greedy {
    fn narrow(&mut self, view: View<'_>, _: PlaneIx, candidates: &mut Vec<BlockIx>) {
        let books = view.books();
        if let Some(least) = candidates.iter().map(|&block| books.valid_pages(block)).min() {
            candidates.retain(|&block| books.valid_pages(block) == least);
        }
    }

    fn search(&mut self, view: View<'_>, plane: PlaneIx, found: &mut Vec<BlockIx>) {
        let first = plane * view.geometry().blocks_per_plane;
        let mut least = NOT_A_CANDIDATE - 1;
        // The minimum of a group is a loop that the compiler vectorises, and few groups are looked at block by block.
        for (group, counts) in (first..).step_by(GROUP).zip(view.books().victim_counts(plane).chunks(GROUP)) {
            let group_least = counts.iter().copied().min().unwrap_or(NOT_A_CANDIDATE);
            if group_least > least {
                continue;
            }
            if group_least < least {
                found.clear();
                least = group_least;
            }
            found.extend((group..).zip(counts).filter(|&(_, &count)| count == least).map(|(block, _)| block));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Claimant;
    use crate::testkit::{tiny_device, tiny_state};

    #[test]
    fn it_finds_the_closed_block_with_the_fewest_valid_pages() {
        let mut state = tiny_state();
        let pages = tiny_device().geometry.pages_per_block;
        let mut found = Vec::new();
        Greedy {}.search(View(&state), 0, &mut found);
        assert!(found.is_empty(), "an erased plane has nothing to collect");
        let lpns: Vec<u32> = (0..2 * pages).chain(pages..pages + 1).collect();
        for lpn in lpns {
            let ppn = state.books.take(0, 0, Claimant::Host).unwrap();
            state.books.commit_write(lpn, ppn);
        }
        Greedy {}.search(View(&state), 0, &mut found);
        assert_eq!(found, [1], "block 1 lost a page, the third block is open");
        let mut both = vec![0, 1];
        Greedy {}.narrow(View(&state), 0, &mut both);
        assert_eq!(both, [1]);
    }
}
