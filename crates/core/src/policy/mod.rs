//! Decisions. A policy is asked about the drive's state, answers, and never touches it.
//!
//! Each interface is a trait in [`interface`] that asks with a [`view`] of the drive and gets one of the [`answers`]. The techniques
//! that answer stand in [`crate::techniques`].

pub use crate::flash::ask::{Keep, Serve, Suspension};
pub use crate::policy::answers::*;
pub use crate::policy::combination::Combination;
pub use crate::policy::interface::*;

pub mod answers;
pub mod combination;
pub mod interface;
pub(crate) mod prelude;
pub mod thresholds;
pub mod view;
