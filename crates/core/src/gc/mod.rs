//! Garbage collection: one job for each plane, which locks what its policy says, moves the valid pages of a victim one by one, and
//! erases it; or, where allocation is late-bound, one flash operation at a time.

pub(crate) mod counters;
mod cross_plane;
mod cycle;
mod erases;
mod ideal;
mod lock;
mod return_to_fast;
mod siblings;
mod single;
pub(crate) mod state;
mod step;
mod trace;
mod victim;
mod work;
