//! # No suspension
//!
//! **What it does.** A running erase or program is never cut; a read of its die waits to its end.
//!
//! **Source.** Practical Erase Suspension, section 3.1 ("Baseline").
//!
//! **Parameters.** None. **Cost.** Reads wait up to a whole erase.

use crate::policy::prelude::*;

/// Erases and programs run to their end.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Never {}

impl Suspend for Never {
    fn active(&mut self) -> bool {
        false
    }
}
