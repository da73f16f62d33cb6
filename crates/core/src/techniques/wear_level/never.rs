//! # No wear levelling between planes
//!
//! **What it does.** Every stripe stays where the static layout has it.
//!
//! **Source.** TTFLASH, section 4.2. **Parameters.** None. **Cost.** Planes wear as unevenly as the host writes.

use crate::policy::prelude::*;

/// No stripe moves.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Never {}

impl WearLevel for Never {
    fn active(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stripes::Place;
    use crate::testkit::state_with_stripes;

    #[test]
    fn no_stripe_moves_however_uneven_the_wear() {
        let mut state = state_with_stripes(4, 2, 4);
        state.ftl.gc.plane_erases_for_test()[0] = 1000;
        let written = WrittenStripe { stripe: 0, written: 1, place: Place { group: 0, parity_channel: 3 } };
        let mut places = Vec::new();
        Never {}.destinations(state.view(), &written, &mut places);
        assert_eq!((places, Never {}.active()), (vec![], false));
    }
}
