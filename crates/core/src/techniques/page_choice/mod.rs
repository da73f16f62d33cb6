//! Which pages writes get, fast or slow, and where write points are parked.
pub mod any;
pub mod by_locality;
pub mod by_workload_mode;
pub mod by_writer;
pub mod dynamic;
pub mod return_to_fast;
