//! All tests of runs, in one program, which is linked once.

mod aged;
mod ageing;
mod bounded;
mod bursts;
mod by_hand;
mod configurations;
mod devices;
mod drives;
mod findings;
mod gc_par;
mod geometries;
mod images;
mod kinds;
mod log;
mod matrix;
mod measured;
mod power;
mod request_timelines;
mod runs;
mod start;
mod suspension;
mod threads;
mod timeline;
mod without;
mod write_stall;
