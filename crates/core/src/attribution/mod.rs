//! What latency is attributed to.

pub mod parts;
pub(crate) mod slot_waits;
pub mod trail;
