//! What the host interface counts.

use crate::counters::counters;

counters! {
    /// What the host interface counts.
    HostCounters;

    /// Completed requests.
    completed,
    /// Page reads of pages that are not mapped.
    unmapped_read_pages,
    /// Reads that met a page which is not mapped.
    unmapped_reads,
    /// Requests that took longer than `deadline_us`, where the order has deadlines.
    deadlines_missed => "order/*: deadlines missed",

    // Trims.
    /// Trims. They are in no latency.
    trims => "trim: commands",
    /// Mapped pages that trims gave up.
    trimmed_pages => "trim: pages unmapped",
    /// Pages that trims gave up in the write buffer, or in writes that waited for space there.
    trimmed_buffered => "trim: pages dropped from the buffer",
    /// Pages of which a trim covers a part only, which stay as they are.
    trimmed_partly => "trim: partial pages ignored",
}
