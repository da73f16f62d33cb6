//! What a GC blocks.
pub mod blocking;
pub mod nothing;
pub mod preemptible;
