//! The write buffer.

pub(crate) mod counters;
pub(crate) mod write_buffer;
