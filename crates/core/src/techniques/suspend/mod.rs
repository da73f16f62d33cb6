//! Whether erases and programs make way for reads.
pub mod erase_suspension;
pub mod never;
