//! The drive: geometry, flash, translation layer, stripes, host interface and policies, without clock, I/O or threads.
//!
//! The reading order is the data path: [`host`] and its queue, the write buffer, [`raid`], [`ftl`] with GC, [`flash`], and the
//! decisions in [`policy`]; [`device`] and [`design`] are the data that a [`drive`] is made of.

/// An assertion for tests and debug builds: `make test` builds one optimised profile, in which `debug_assert` is off.
macro_rules! check {
    ($($argument:tt)+) => {
        if cfg!(any(test, debug_assertions)) {
            assert!($($argument)+);
        }
    };
}
pub(crate) use check;

pub mod attribution;
mod buffer;
pub mod commands;
pub(crate) mod context;
pub mod counters;
pub mod crash;
pub mod design;
pub mod device;
pub mod drive;
pub mod event;
pub mod flash;
pub mod ftl;
mod gc;
pub mod host;
pub mod ids;
pub mod image;
mod media;
mod mem;
pub mod observe;
mod oracle;
pub mod policy;
pub mod precondition;
pub mod raid;
#[cfg(test)]
mod recorder;
mod relieved;
pub mod request_timeline;
#[cfg(test)]
mod schema;
mod slab;
mod stream;
pub mod stripes;
pub mod techniques;
#[cfg(test)]
mod testkit;
#[cfg(test)]
mod tests;
mod timer;
mod tree;
pub mod units;
mod verify;

pub use oracle::Fault;
