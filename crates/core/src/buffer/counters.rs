//! What the write buffer counts.

use crate::counters::counters;

counters! {
    /// What the write buffer counts.
    BufferCounters;

    /// Page reads served by the write buffer.
    hits => "buffer: read hits",
    /// Writes of pages that were in the write buffer already and merged with them.
    merged => "buffer: merged writes",
    /// Pages flushed from the write buffer.
    flushed => "buffer: flushed pages",
}
