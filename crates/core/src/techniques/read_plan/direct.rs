//! # Direct reads
//!
//! **What it does.** Every read waits for its own page, also behind a GC.
//!
//! **Source.** TTFLASH, section 6.1 ("Base", "+PB"). **Parameters.** None. **Cost.** Reads wait as long as a GC lasts.

use crate::policy::prelude::*;

/// No read is reconstructed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Direct {}

impl ReadPlan for Direct {
    fn active(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    #[test]
    fn a_read_waits_however_long_the_gc_is() {
        let state = tiny_state();
        let read = BlockedRead { lpn: 0, plane: 0, gc_left_ns: 1_000_000, extra: &[1], full_stripe: true };
        assert_eq!(Direct {}.plan(state.view(), &read), ReadAnswer::Direct);
        assert!(!Direct {}.active());
    }
}
