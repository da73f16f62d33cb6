//! # No multi-plane commands
//!
//! **What it does.** Every operation has its own command and array time.
//!
//! **Source.** TTFLASH, Table 1: one plane per chip. **Parameters.** None. **Cost.** Sibling planes idle.

use crate::policy::prelude::*;

/// No pairing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl Pairing for Nothing {
    fn traits(&mut self) -> PairingTraits {
        PairingTraits { active: false, ..PairingTraits::default() }
    }
}
