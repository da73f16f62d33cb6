//! Garbage collection: one job for each plane, which holds what its policy says, moves the valid pages of a victim one by one, and
//! erases it; or, where programs are placed late, one flash operation at a time.

mod cross_plane;
mod cycle;
mod hold;
mod ideal;
mod rest;
mod single;
pub(crate) mod state;
mod step;
mod superpage;
mod told;
mod victim;
mod work;
