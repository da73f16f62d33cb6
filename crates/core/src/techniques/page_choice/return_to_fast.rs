//! # Return to fast (RTF)
//!
//! **What it does.** The host's writes have fast pages while a write point of an idle die offers one, then any page. In idle time
//! GC goes on beyond its threshold and moves pages, each of which steps a write point over a slow page, until every write point
//! is parked: on any fast page (`weak`), or on a fast page behind which another follows (`strong`; on any where no block has two
//! in a row). Pages that GC moves in idle time go to no write point that is parked, unless all of them are. No page is ever
//! skipped. Fast are the pages that the flash programs fastest; where all take equally long, there is nothing to return to.
//!
//! Where pages have their planes early, each plane has its write points, two or more, and its GC in idle time is a job like any
//! other, which ends without an erase when they are parked or a write waits for the die. Parity and background work have slow
//! pages.
//!
//! **Source.** The Harey Tortoise, section 4.2: weakly and strongly RTF, and GC that is done early in idle time, which it calls
//! preemptive. Decisions: idle is when no write of the host waits and the die has nothing else to do, without a least time;
//! where all write points are parked and GC is still wanted, it takes a fast page and steps on from there; the pages of an
//! urgent GC prefer slow pages.
//!
//! **Parameters.** `parking`: `weak` (default) or `strong`. `under_load`: who has fast pages while GC is in the way of writes,
//! with `slow_gc` the host (default), with `fast_gc` GC: the hand-over of section 6. Where pages have their planes early, GC is
//! in the way of writes to a plane that it works in, and of all writes that wait for its die; with late-bound allocation, of
//! all that wait for a place.
//!
//! **Cost.** Pages that are moved early may be overwritten before they would have had to move. A reserve of fast pages, one
//! for each write point (weak) or two (strong), and 1.5 for weak on average; when a burst has used it up, the slow pages that
//! were left behind follow.

use crate::policy::prelude::*;
use crate::techniques::page_choice::by_writer::Mode;

/// Where write points are parked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    /// On any fast page.
    #[default]
    Weak,
    /// On the first of two fast pages, where a block has such.
    Strong,
}

impl Strength {
    pub(super) fn parking(self) -> Parking {
        match self {
            Self::Weak => Parking::Fast,
            Self::Strong => Parking::FastPair,
        }
    }
}

/// The host on fast pages, GC in idle time on the others.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnToFast {
    #[serde(default)]
    parking: Strength,
    #[serde(default)]
    under_load: Mode,
}

impl ReturnToFast {
    /// RTF with write points that park so.
    pub fn new(parking: Strength) -> Self {
        Self { parking, under_load: Mode::SlowGc }
    }

    /// RTF that hands fast pages over to GC while it is in the way of writes.
    pub fn handing_over(parking: Strength) -> Self {
        Self { parking, under_load: Mode::FastGc }
    }
}

impl PageChoice for ReturnToFast {
    fn preference(&mut self, view: View<'_>, writer: Writer, urgent: bool) -> Preference {
        match writer {
            _ if urgent || view.host_waits() => self.under_load.preference(writer),
            Writer::Host => Preference::Fast,
            Writer::Gc => Preference::Unparked(self.parking.parking()),
        }
    }

    fn parking(&mut self) -> Option<Parking> {
        Some(self.parking.parking())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::late_bound_state;

    #[test]
    fn the_host_has_fast_pages_and_gc_what_returns_write_points_to_fast_pages_unless_it_is_in_a_hurry() {
        let mut state = late_bound_state(1);
        for (strength, parking) in [(Strength::Weak, Parking::Fast), (Strength::Strong, Parking::FastPair)] {
            let mut choice = ReturnToFast::new(strength);
            assert_eq!(choice.parking(), Some(parking));
            assert_eq!(choice.preference(state.view(), Writer::Host, false), Preference::Fast);
            assert_eq!(choice.preference(state.view(), Writer::Gc, false), Preference::Unparked(parking));
            assert_eq!(choice.preference(state.view(), Writer::Gc, true), Preference::Slow);
        }
        let mut hands_over = ReturnToFast::handing_over(Strength::Weak);
        assert_eq!(hands_over.preference(state.view(), Writer::Host, false), Preference::Fast);
        assert_eq!(hands_over.preference(state.view(), Writer::Host, true), Preference::Slow);
        assert_eq!(hands_over.preference(state.view(), Writer::Gc, true), Preference::Fast);
        state.ftl.late_bound.as_mut().unwrap().queues[crate::ftl::late_bound::EXTERNAL].push_back(0);
        assert_eq!(ReturnToFast::default().preference(state.view(), Writer::Gc, false), Preference::Slow, "the host waits: no idle time");
    }
}
