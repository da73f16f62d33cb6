//! # Free gate
//!
//! **What it does.** A GC that is wanted starts at once.
//!
//! **Source.** The baseline of every paper. **Parameters.** None. **Cost.** GCs meet whatever the host is doing.

use crate::ids::PlaneIx;
use crate::policy::answers::{Gate, Want};
use crate::policy::interface::GcGate;
use crate::view::View;
use serde::Deserialize;

/// Always open.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Free {}

impl GcGate for Free {
    fn may_start(&mut self, _: View<'_>, _: PlaneIx, _: Want) -> Gate {
        Gate::Open
    }

    fn strict(&mut self) -> bool {
        false
    }

    fn alone_in_die(&mut self) -> bool {
        false
    }

    fn needs_stripes(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    #[test]
    fn it_is_open_on_a_busy_channel_too() {
        let mut state = tiny_state();
        state.flash.channels_for_test()[0].host_operations = 3;
        assert_eq!(Free {}.may_start(state.view(), 0, Want::Soft), Gate::Open);
    }
}
