//! Techniques that answer `wear_level`.
pub mod imbalance;
pub mod never;
