//! What a GC blocks.
pub mod blocking;
pub mod preemptible;
