//! Which waiting operation starts next.
pub mod deadline_slack;
pub mod emergency_external_background;
pub mod fifo;
pub mod gc_first;
pub mod rate_match;
pub mod read_first;
