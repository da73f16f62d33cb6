//! # No GC
//!
//! **What it does.** No plane ever wants a GC: the raw performance of the flash. A drive that runs out of erased pages under
//! it ends the run with an error that names the twin in which GC costs no time, `ideal-gc`.
//!
//! **Source.** TTFLASH, section 6.1 ("NoGC").
//!
//! **Parameters.** None. **Cost.** Space.

use crate::policy::prelude::*;

/// GC never starts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Never {}

impl GcTrigger for Never {
    fn want(&mut self, _: View<'_>, _: Pool) -> Want {
        Want::No
    }

    fn by_die(&mut self) -> bool {
        true
    }

    fn urgent_below(&mut self) -> Option<(&'static str, u32)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Claimant;
    use crate::testkit::tiny_state;

    #[test]
    fn even_a_plane_without_erased_pages_wants_none() {
        let mut state = tiny_state();
        while state.ftl.tables.take(0, 0, Claimant::Gc).is_some() {}
        assert_eq!(Never {}.want(state.view(), Pool(0)), Want::No);
    }
}
