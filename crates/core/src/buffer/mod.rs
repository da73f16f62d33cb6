//! The write buffer, and the graphs of operations that serve its pages.

pub(crate) mod stage;
pub(crate) mod write_buffer;
