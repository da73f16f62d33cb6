//! Which block is collected.
pub mod cost_benefit;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod least_worn;
pub mod queue_match;

use crate::ids::BlockGroup;

/// Those of `groups` with the least key, in their order.
fn least<K: Ord>(groups: impl Iterator<Item = BlockGroup>, found: &mut Vec<BlockGroup>, key: impl Fn(BlockGroup) -> K) {
    let mut best: Option<K> = None;
    for group in groups {
        let key = key(group);
        match best.as_ref().map(|best| key.cmp(best)) {
            Some(std::cmp::Ordering::Greater) => continue,
            Some(std::cmp::Ordering::Equal) => {}
            _ => {
                found.clear();
                best = Some(key);
            }
        }
        found.push(group);
    }
}

/// Removes the candidates whose key is not the least.
fn keep_least<K: Ord>(candidates: &mut Vec<BlockGroup>, key: impl Fn(BlockGroup) -> K) {
    if let Some(best) = candidates.iter().map(|&group| key(group)).min() {
        candidates.retain(|&group| key(group) == best);
    }
}
