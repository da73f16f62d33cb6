//! What GC counts.

use crate::counters::counters;

counters! {
    /// What GC counts.
    GcCounters;

    /// Blocks erased.
    erases,
    /// GCs completed.
    gcs => "gc_trigger/*" | "victim/*",
    /// Pages moved by the GCs that completed.
    moved,
    /// Pages programmed by GC.
    pages => "gc: copied pages",
    /// Pages that were overwritten while GC copied them.
    copies_wasted => "gc: wasted copies",
    /// Pages that GC programmed in another plane than their own.
    pages_cross_plane => "gc: pages moved to another plane",
    /// Blocks that were opened before others that were erased earlier, because they were erased less often.
    blocks_out_of_turn => "place/*: blocks opened out of turn",
    /// The most blocks that the first policy of a chain left to the next.
    victim_candidates_max => "victim/*: most candidates",
    /// GCs that the gate put off.
    gate_waits => "gc_gate/*: put off",
    /// Urgent GCs that passed a closed gate.
    gate_passed_urgently => "gc_gate/*: passed urgently",
    /// GCs that began at an open block at whose page offset a sibling plane has one too, so that programs can join from the first on.
    gcs_level => "pairing/*: GCs that began level with a sibling plane",
    /// Cycles of GC that began, each of which goes on for several blocks until enough is erased; none where each block is asked
    /// for anew.
    cycles => "gc_trigger/*: cycles",
    /// Operations of GC that the order held back at an idle die for the sake of the host.
    held_back => "order/*: operations of GC held back",
    /// Pages that GC moved while the host wrote, where the design measures that.
    moved_under_load => "order/*: pages that GC moved while the host wrote",
    /// Times at which a GC gave up its locks between two pages.
    preemptions => "gc_lock/*: yielded",
    /// Pages that GC read in idle time beyond its threshold, to return write points to fast pages.
    return_to_fast_moves => "page_choice/*: return-to-fast moves",

    // Time.
    /// Time from the moment a GC had locked what it must to the end of its last page, over all GCs.
    copy_ns,
    /// Time from the moment a GC was started to the end of its erase, over all GCs.
    took_ns,
    /// The longest of these.
    took_ns_max,
    /// The longest time from the start of a GC to its end, also of those that found nothing to free and do not count as GCs.
    turn_ns_max,
    /// Time from the moment the gate put a GC off to its start, over all GCs.
    gate_wait_ns,
    /// The longest of these.
    gate_wait_ns_max,
    /// Time in which GCs locked their plane or die, over all GCs.
    locked_ns,
}
