//! # Slow pages for GC (SGC)
//!
//! **What it does.** The host programs the fastest page that a write point of an idle die offers, GC the slowest. Neither waits
//! for one. Where pages have their planes early, the write points are those of the plane, two or more; parity and background work
//! have slow pages.
//!
//! **Source.** The Harey Tortoise, section 4.3.1 (SGC): the intuitive choice. Section 5.3: the better one where the locality of
//! writes leaves GC little to move.
//!
//! **Parameters.** None. More `[gc] write_points` offer the wished kind more often.
//!
//! **Cost.** GC takes longer for each page that it moves, so that erased blocks come back more slowly while the host writes.

use crate::policy::answers::{Wish, Writer};
use crate::policy::interface::PageChoice;
use crate::view::View;
use serde::Deserialize;

/// The host on fast pages.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlowGc {}

/// What the writers wish.
pub(super) fn wish(writer: Writer) -> Wish {
    match writer {
        Writer::Host => Wish::Fast,
        Writer::Gc => Wish::Slow,
    }
}

impl PageChoice for SlowGc {
    fn wish(&mut self, _: View<'_>, writer: Writer, _: bool) -> Wish {
        wish(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::late_state;

    #[test]
    fn host_and_gc_wish_the_opposite_and_idle_time_is_for_nothing() {
        let (state, mut choice) = (late_state(1), SlowGc {});
        for urgent in [false, true] {
            assert_eq!(choice.wish(state.view(), Writer::Host, urgent), Wish::Fast);
            assert_eq!(choice.wish(state.view(), Writer::Gc, urgent), Wish::Slow);
        }
        assert_eq!((choice.rest(), choice.active()), (None, true));
    }
}
