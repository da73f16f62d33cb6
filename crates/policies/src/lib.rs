//! Policies from outside: functions of a design's own, in Python or in a library.
//!
//! A policy is asked through a [`View`] of the drive, a structure of numbers and arrays as C has them, and answers with one whole
//! number. [`outside`] makes techniques of such functions and holds their answers against what is allowed. [`fault`] ends a run
//! whose policy failed. [`library`] opens libraries; Python's functions come from `crates/python`.

pub mod fault;
#[cfg(test)]
mod header;
pub mod library;
pub mod outside;
pub mod pages;
pub mod question;
pub mod view;

pub use view::{Quantity, View};
