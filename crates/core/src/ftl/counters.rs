//! What the translation layer counts.

use crate::counters::counters;

counters! {
    /// What the translation layer counts.
    FtlCounters;

    /// Completed flash operations that the host waited for, at once or in the end.
    host_operations,
    /// Pages programmed for the host.
    host_pages,
    /// Pages that trims gave up on their way to the flash. They count as programmed for the host.
    void_programs => "trim: pages programmed in vain",
    /// Pages of the host programmed in another plane than the copy before.
    host_pages_cross_plane => "place/*: left their plane",
    /// Pages, of the host and of GC, that waited for a die that could take them. Counted only where pages have no place before
    /// they are programmed.
    placed_after_wait => "place/*: waited for a die",

    // Write points.
    /// Pages of critical writes.
    critical_pages => "critical writes: pages",
    /// Pages of critical writes that got a page which is programmed fastest.
    critical_pages_fast => "critical writes: fast pages",
    /// Pages programmed at other write points than the first two of their planes, where write points are chosen one by one.
    pages_spread => "gc: pages at write points beyond the second",
    /// Pages of the host, critical ones apart, for which a fast page or a slow one was preferred.
    host_preferences => "page_choice/*: host's preferences",
    /// Pages of the host that got one of the fastest pages or of the slowest, as preferred.
    host_preferences_met => "page_choice/*: host's preferences met",
    /// Pages of GC for which a fast page or a slow one was preferred.
    gc_preferences => "page_choice/*: GC's preferences",
    /// Pages of GC that got one of the fastest pages or of the slowest, as preferred.
    gc_preferences_met => "page_choice/*: GC's preferences met",
    /// Pages of the host on pages that are programmed fastest.
    fast_pages_host => "page_choice/*: host's fast pages",
    /// Pages of GC on pages that are programmed fastest.
    fast_pages_gc => "page_choice/*: GC's fast pages",

    // Programs that wait for each other.
    /// Pages programmed with nothing, so that all planes of a die stay at one offset.
    padded_pages => "pairing/*: padded pages",
    /// Pages programmed with nothing alongside programs of GCs, so that all planes of a die stay at one offset.
    padded_for_gc => "pairing/*: pages padded for GC",
    /// Programs padded before their time, because writes waited for room and nothing else of the buffer was on its way.
    padded_for_room => "pairing/*: programs padded to make room",
    /// Programs that should have taken all planes of their die, some of which had no erased page to pad.
    programs_short => "pairing/*: programs without all planes",
    /// Pages programmed with nothing, so that a program of the host could join one of a GC. They count as padded too.
    skipped_pages => "pairing/*: pages skipped",
}
