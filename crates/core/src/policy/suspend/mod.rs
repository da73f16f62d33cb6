//! Whether erases and programs make way for reads.
pub mod never;
