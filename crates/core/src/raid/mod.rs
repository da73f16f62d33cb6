//! Stripes with parity: which pages form one, how it leaves the buffer, how its pages are read around a GC, how it moves.

use crate::units::Ns;

pub mod active;
mod checked;
pub(crate) mod counters;
mod destage;
mod flush;
pub(crate) mod front;
pub(crate) mod job;
mod jobs;
mod migrate;
pub(crate) mod mover;
mod reconstruction;
mod scrub;
pub(crate) mod scrubber;
pub(crate) mod state;
pub(crate) mod traits;

/// Computing a parity, or a page from its stripe. TTFLASH, section 4.3: "less than 3 us for N <= 8".
pub(crate) const XOR_NS: Ns = 3_000;
