//! # Fast pages for GC (FGC)
//!
//! **What it does.** GC programs the fastest page that a write point of an idle die offers, the host the slowest. Neither waits
//! for one: with one idle die and one write point they take what comes. Where pages have their planes early, the write points are
//! those of the plane, two or more; parity and background work have slow pages.
//!
//! **Source.** The Harey Tortoise, section 4.3.1 (FGC). Section 4.3.2 and figure 6: the better choice where a block's GC frees
//! fewer pages than it moves.
//!
//! **Parameters.** None. More `[gc] write_points` offer the wished kind more often.
//!
//! **Cost.** The host's writes take longer, each by itself. Fast pages are one half of all (two classes), and no page is skipped, so
//! that where GC writes more than the host, not all of its pages can be fast: the mean program time of a drive that is busy all
//! the time is that of no preference.

use crate::policy::answers::{Wish, Writer};
use crate::policy::interface::PageChoice;
use crate::view::View;
use serde::Deserialize;

/// The host on slow pages.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FastGc {}

/// What the writers wish.
pub(super) fn wish(writer: Writer) -> Wish {
    match writer {
        Writer::Host => Wish::Slow,
        Writer::Gc => Wish::Fast,
    }
}

impl PageChoice for FastGc {
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
        let (state, mut choice) = (late_state(1), FastGc {});
        for urgent in [false, true] {
            assert_eq!(choice.wish(state.view(), Writer::Host, urgent), Wish::Slow);
            assert_eq!(choice.wish(state.view(), Writer::Gc, urgent), Wish::Fast);
        }
        assert_eq!((choice.rest(), choice.active()), (None, true));
    }
}
