//! Which waiting operation starts next.
pub mod fifo;
pub mod gc_first;
pub mod read_first;
