//! Description files of devices, designs and workloads: TOML in which any value may carry its source,
//! `key = 40000` or `key = { value = 40000, source = "Table 1" }`.
//!
//! A [`Document`] knows the place of every value. [`decode`] makes types of it and goes on behind a fault, so that all
//! [`Faults`] of a file are told at once.

mod counted;
mod decimal;
mod decode;
mod document;
mod fault;
mod given;
mod names;
mod one_of;
pub mod schema;

pub use counted::{counted, grouped};
pub use decimal::Decimal;
pub use decode::{decode, decode_file};
pub use document::{Data, Document, Row, Table, Value};
pub use fault::{ConfigError, Fault, Faults, Place};
pub use given::{GIVEN, Given};
pub use names::{did_you_mean, nearest};
pub use one_of::OneOf;
