//! Which block is collected.
pub mod cost_benefit;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod least_worn;
pub mod queue_match;

use crate::ids::BlockIx;

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
