//! Which operations share a multi-plane command.
pub mod gc_par;
pub mod none;
pub mod same_offset;
pub mod superpage;
