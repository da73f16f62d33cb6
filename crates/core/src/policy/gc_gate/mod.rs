//! Whether a wanted GC may start.
pub mod free;
pub mod quiet_channel;
pub mod rotating;
