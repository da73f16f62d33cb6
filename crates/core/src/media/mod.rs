//! The cells: bit errors.

pub(crate) mod errors;
