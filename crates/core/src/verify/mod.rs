//! Checks of everything: invariants, and the data of every read.

mod audit;
