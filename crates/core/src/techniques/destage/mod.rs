//! Which stripe leaves the buffer next.
pub mod gc_tolerant;
pub mod lru;
