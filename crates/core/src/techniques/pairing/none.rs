//! # No multi-plane commands
//!
//! **What it does.** Every operation has its own command and array time.
//!
//! **Source.** TTFLASH, Table 1: one plane per chip. `merge_reads` is its authors' released simulator's, which merges reads with one
//! that has begun, too, and has all of them end 1 us after they came.
//!
//! **Parameters.** `merge_reads` (default false): a read that starts serves the other waiting reads of its page, the host's and those
//! on the way to something else, if they want no sectors that it does not carry. They end with it. **Cost.** Sibling planes idle.

use crate::policy::prelude::*;

/// No pairing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nothing {
    merge_reads: bool,
}

impl Pairing for Nothing {
    fn traits(&mut self) -> PairingTraits {
        PairingTraits { active: false, merges_reads: self.merge_reads, ..PairingTraits::default() }
    }
}
