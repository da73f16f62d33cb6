//! Checks of everything: invariants, and the data of every read.

mod audit;
pub(crate) mod oracle;
