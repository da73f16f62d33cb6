//! The write buffer.

pub(crate) mod write_buffer;
