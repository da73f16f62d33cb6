//! The cells: bit errors, and scrubbing.

pub(crate) mod errors;
mod scrub;
pub(crate) mod scrubber;
