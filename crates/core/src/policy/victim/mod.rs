//! Which block is collected.
pub mod cost_benefit;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod least_worn;
pub mod queue_match;

use crate::ids::{BlockIx, PlaneIx};
use crate::view::View;

/// The blocks of a plane that may be collected and have a stale page, so that collecting one frees something. A block
/// without is passed over by every technique, or one that looks at age or wear alone would choose it again and again.
fn collectable(view: View<'_>, plane: PlaneIx) -> impl Iterator<Item = BlockIx> {
    let g = view.geometry();
    // A block that may not be a victim counts more than its pages.
    let full = g.pages_per_block as i16;
    (plane * g.blocks_per_plane..).zip(view.tables().victim_counts(plane)).filter(move |&(_, &count)| count < full).map(|(block, _)| block)
}

/// Those of `blocks` with the least key, in their order.
fn least<K: Ord>(blocks: impl Iterator<Item = BlockIx>, found: &mut Vec<BlockIx>, key: impl Fn(BlockIx) -> K) {
    let mut best: Option<K> = None;
    for block in blocks {
        let key = key(block);
        match best.as_ref().map(|best| key.cmp(best)) {
            Some(std::cmp::Ordering::Greater) => continue,
            Some(std::cmp::Ordering::Equal) => {}
            _ => {
                found.clear();
                best = Some(key);
            }
        }
        found.push(block);
    }
}

/// Removes the candidates whose key is not the least.
fn keep_least<K: Ord>(candidates: &mut Vec<BlockIx>, key: impl Fn(BlockIx) -> K) {
    if let Some(best) = candidates.iter().map(|&block| key(block)).min() {
        candidates.retain(|&block| key(block) == best);
    }
}
