//! # Least recently written first
//!
//! **What it does.** What was written longest ago leaves the buffer first: a page, or, where pages form stripes, a stripe with
//! all its dirty pages. GCs are not looked at: an old page that must be read first is waited for, and so is a plane.
//!
//! **Source.** TTFLASH, section 6 (Base's write buffer); SSDSim evicts the least recently used page.
//!
//! **Parameters.** None. **Cost.** A full buffer blocks writes for as long as the oldest stripe waits for a GC.

use crate::policy::prelude::*;

/// Least recently written first.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lru {}

impl Destage for Lru {
    fn next(&mut self, view: View<'_>) -> Option<u32> {
        let groups = view.stripes().map_or(0, |stripes| stripes.groups());
        let oldest = (0..groups).flat_map(|group| [false, true].map(|full| view.dirty_stripes(group, full).next()));
        oldest.flatten().min_by_key(|dirty| dirty.written).map(|dirty| dirty.stripe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{dirty, state_with_stripes};

    #[test]
    fn the_stripe_written_longest_ago_leaves_first_also_towards_a_gc() {
        let mut state = state_with_stripes(4, 2, 4);
        assert_eq!(Lru {}.next(state.view()), None);
        dirty(&mut state, &[3, 0, 1, 2]);
        assert_eq!(Lru {}.next(state.view()), Some(1));
        crate::testkit::begin_gc(&mut state, 1);
        assert_eq!(Lru {}.next(state.view()), Some(1));
        dirty(&mut state, &[3]);
        assert_eq!(Lru {}.next(state.view()), Some(0), "stripe 1 was written again");
    }
}
