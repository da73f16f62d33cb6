//! Which operations share a multi-plane command.
mod active_blocks;
pub mod gc_par;
pub mod none;
pub mod same_offset;
pub mod superpage;
