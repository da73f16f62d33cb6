//! # Return to fast (RTF)
//!
//! **What it does.** The host's writes have fast pages while a write point of an idle die offers one, then any page. In idle time
//! GC goes on beyond its threshold and moves pages, each of which steps a write point over a slow page, until every write point
//! is at rest: on any fast page (`weak`), or on a fast page behind which another follows (`strong`). Pages that GC moves in idle
//! time go to no write point that is at rest, unless all of them are. No page is ever skipped.
//!
//! **Source.** The Harey Tortoise, section 4.2: weakly and strongly RTF, and GC that is done early in idle time, which it calls
//! preemptive. Decisions: idle is when no write of the host waits and the die has nothing else to do, without a least time;
//! where all write points are at rest and GC is still wanted, it takes a fast page and steps on from there; the pages of an
//! urgent GC prefer slow pages.
//!
//! **Parameters.** `rest`: `weak` (default) or `strong`.
//!
//! **Cost.** Pages that are moved early may be overwritten before they would have had to move. A reserve of fast pages, one
//! for each write point (weak) or two (strong), and 1.5 for weak on average; when a burst has used it up, the slow pages that
//! were left behind follow.

use crate::policy::{PageChoice, Rest, Wish, Writer};
use crate::view::View;
use schemars::JsonSchema;
use serde::Deserialize;

/// Where write points are at rest.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    /// On any fast page.
    #[default]
    Weak,
    /// On the first of two fast pages.
    Strong,
}

impl Strength {
    pub(super) fn rest(self) -> Rest {
        match self {
            Self::Weak => Rest::Fast,
            Self::Strong => Rest::FastPair,
        }
    }
}

/// The host on fast pages, GC in idle time on the others.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnToFast {
    #[serde(default)]
    rest: Strength,
}

impl ReturnToFast {
    /// RTF with write points that rest so.
    pub fn new(rest: Strength) -> Self {
        Self { rest }
    }
}

impl PageChoice for ReturnToFast {
    fn wish(&mut self, view: View<'_>, writer: Writer, urgent: bool) -> Wish {
        match writer {
            Writer::Host => Wish::Fast,
            Writer::Gc if urgent || view.host_waits() => Wish::Slow,
            Writer::Gc => Wish::Restless(self.rest.rest()),
        }
    }

    fn rest(&mut self) -> Option<Rest> {
        Some(self.rest.rest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::late_state;

    #[test]
    fn the_host_has_fast_pages_and_gc_what_brings_write_points_to_rest_unless_it_is_in_a_hurry() {
        let mut state = late_state(1);
        for (strength, rest) in [(Strength::Weak, Rest::Fast), (Strength::Strong, Rest::FastPair)] {
            let mut choice = ReturnToFast::new(strength);
            assert_eq!(choice.rest(), Some(rest));
            assert_eq!(choice.wish(View(&state), Writer::Host, false), Wish::Fast);
            assert_eq!(choice.wish(View(&state), Writer::Gc, false), Wish::Restless(rest));
            assert_eq!(choice.wish(View(&state), Writer::Gc, true), Wish::Slow);
        }
        state.late.as_mut().unwrap().lines[crate::sched::late::EXTERNAL].push_back(0);
        assert_eq!(ReturnToFast::default().wish(View(&state), Writer::Gc, false), Wish::Slow, "the host waits: no idle time");
    }
}
