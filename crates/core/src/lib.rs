//! The drive: geometry, flash, translation layer, scheduler and policies, without clock, I/O or threads.
//!
//! The reading order is the data path: [`host`] and its queue, the write buffer, [`ftl`], [`sched`], and the decisions in
//! [`policy`]; [`device`] and [`design`] are the data that a [`drive`] is made of.

/// An assertion for tests and debug builds: `make test` builds one optimised profile, in which `debug_assert` is off.
macro_rules! check {
    ($($argument:tt)+) => {
        if cfg!(any(test, debug_assertions)) {
            assert!($($argument)+);
        }
    };
}
pub(crate) use check;

mod attribution;
mod audit;
pub mod config;
pub mod design;
pub mod device;
pub mod drive;
mod errors;
pub mod event;
pub mod ftl;
pub mod host;
mod host_queue;
pub mod ids;
pub mod image;
mod mem;
pub mod observe;
mod oracle;
pub mod policy;
pub mod rain;
mod ram;
pub mod sched;
#[cfg(test)]
mod schema;
mod slot_waits;
pub mod state;
pub mod story;
#[cfg(test)]
mod testkit;
pub mod units;
pub mod view;

pub use oracle::Fault;
