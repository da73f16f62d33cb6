//! The emulator: the drive that the simulator drives, in wall-clock time, as a block device over NBD.
//!
//! The reading order is the way of a request: [`address`] has the sockets, [`nbd`] the protocol as bytes alone, [`connection`]
//! what has come from a client and is to go to it, [`limits`] and [`memory`] how much of that there may be, [`data`] the bytes
//! of the drive, [`requests`] what is under way, [`server`] the loop that lets the drive's time pass, with [`clock`] for sleeping and [`lateness`] for how well that went.
//! [`serve`] makes it all from names.

#![cfg(target_os = "linux")]

pub mod address;
pub mod clock;
pub mod connection;
pub mod data;
pub mod lateness;
pub mod limits;
pub mod memory;
pub mod nbd;
pub mod record;
pub mod requests;
pub mod serve;
pub mod server;
#[cfg(test)]
#[path = "../../simulator/src/documents/strict.rs"]
mod strict;
