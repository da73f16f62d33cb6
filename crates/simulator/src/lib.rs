//! Runs drives in virtual time: finds devices and designs by name, ages the drive or loads its image, warms it up, measures.

mod addresses;
pub mod aged;
pub mod bench;
pub mod catalog;
pub mod control;
pub mod crew;
#[cfg(test)]
mod documents;
pub mod fitting;
pub mod image;
pub mod kinds;
pub mod measured_layout;
pub mod outcome;
mod parity;
pub mod play;
pub mod power;
pub mod run;
pub mod settings;
pub mod spec;
pub mod wear;
pub mod without;
