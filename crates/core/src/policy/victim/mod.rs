//! Which block is collected.
pub mod greedy;
