//! # Fast pages for GC or for the host (FGC, SGC)
//!
//! **What it does.** With `fast_gc` GC programs the fastest page that a write point of an idle die offers and the host the slowest,
//! with `slow_gc` the other way round. Neither waits for one: with one idle die and one write point they take what comes. Where
//! pages have their planes early, the write points are those of the plane, two or more; parity and background work have slow pages.
//!
//! **Source.** The Harey Tortoise, section 4.3.1: FGC, and SGC, the intuitive choice. FGC is the better one where a block's GC frees
//! fewer pages than it moves (section 4.3.2 and figure 6), SGC where the locality of writes leaves GC little to move (section 5.3).
//!
//! **Parameters.** `mode`: `fast_gc` or `slow_gc`. More `[gc] write_points` offer the preferred kind more often.
//!
//! **Cost.** The writer that has the slow pages takes longer: each write of the host by itself, or each page of GC, so that erased blocks
//! come back more slowly while the host writes. Fast pages are one half of all (two classes), and no page is skipped, so that where
//! GC writes more than the host, not all of its pages can be fast: the mean program time of a drive that is busy all the time is
//! that of no preference.

use crate::policy::prelude::*;

/// Who has fast pages.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The host.
    #[default]
    SlowGc,
    /// GC.
    FastGc,
}

impl Mode {
    /// What a writer prefers.
    pub(super) fn preference(self, writer: Writer) -> Preference {
        if (self == Self::FastGc) == (writer == Writer::Gc) { Preference::Fast } else { Preference::Slow }
    }
}

/// One writer on fast pages, the other on slow ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByWriter {
    mode: Mode,
}

impl ByWriter {
    /// Fast pages for whom `mode` says.
    pub fn new(mode: Mode) -> Self {
        Self { mode }
    }
}

impl PageChoice for ByWriter {
    fn preference(&mut self, _: View<'_>, writer: Writer, _: bool) -> Preference {
        self.mode.preference(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::late_bound_state;

    #[test]
    fn host_and_gc_prefer_the_opposite_and_idle_time_is_for_nothing() {
        let state = late_bound_state(1);
        for (mode, host, gc) in [(Mode::FastGc, Preference::Slow, Preference::Fast), (Mode::SlowGc, Preference::Fast, Preference::Slow)] {
            let mut choice = ByWriter::new(mode);
            for urgent in [false, true] {
                assert_eq!(choice.preference(state.view(), Writer::Host, urgent), host);
                assert_eq!(choice.preference(state.view(), Writer::Gc, urgent), gc);
            }
            assert_eq!((choice.parking(), choice.active()), (None, true));
        }
    }
}
