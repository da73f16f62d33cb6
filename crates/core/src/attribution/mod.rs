//! What latency is attributed to.

pub mod parts;
pub mod trail;
