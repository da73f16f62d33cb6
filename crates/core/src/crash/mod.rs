//! Losses of power.

pub mod power;
