//! At which open blocks the planes of a die program.
pub mod active_blocks;
pub mod never;
