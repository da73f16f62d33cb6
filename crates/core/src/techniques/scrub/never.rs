//! # No scrubbing
//!
//! **What it does.** No page passes the ECC but for somebody who reads it.
//!
//! **Source.** TTFLASH, section 7: its copybacks skip the ECC. **Parameters.** None. **Cost.** Where the flash has bit errors,
//! those of a page add up with each copyback.

use crate::policy::prelude::*;

/// Nothing is scrubbed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Never {}

impl Scrub for Never {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    #[test]
    fn it_never_asks_for_a_page_and_rewrites_none() {
        let state = tiny_state();
        assert_eq!((Never {}.pause_ns(), Never {}.rewrite(state.view(), 40, 40)), (None, false));
    }
}
