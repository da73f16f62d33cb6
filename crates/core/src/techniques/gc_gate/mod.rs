//! Whether a wanted GC may start.
pub mod free;
pub mod one_per_die;
pub mod rotating;
