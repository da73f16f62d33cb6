//! How a read behind a GC is served.
pub mod direct;
pub mod gc_tolerant;
