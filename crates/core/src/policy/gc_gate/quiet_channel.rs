//! # Quiet-channel gate
//!
//! **What it does.** A GC starts only while no host operation waits for or uses its plane's channel, and no other GC is at
//! work there. Below the hard watermark it starts regardless, as every urgent GC does.
//!
//! **Source.** The simulator that the TTFLASH authors released: its soft threshold, and one GC at a time on each channel.
//! TTFLASH, section 3, leaves the start open; where a GC holds its channel, a second one could only wait, holding its plane.
//!
//! **Parameters.** None. **Cost.** GC is put off under load, so more of it may become urgent.

use crate::ids::PlaneIx;
use crate::policy::{Gate, GcGate};
use crate::view::View;
use schemars::JsonSchema;
use serde::Deserialize;

/// Open while the channel is quiet.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietChannel {}

impl GcGate for QuietChannel {
    fn may_start(&mut self, view: View<'_>, plane: PlaneIx) -> Gate {
        if view.host_operations_on_channel_of(plane) == 0 && view.gcs_on_channel_of(plane) == 0 { Gate::Open } else { Gate::Shut }
    }

    fn strict(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    #[test]
    fn one_host_operation_or_another_gc_shuts_it() {
        let mut state = tiny_state();
        assert_eq!(QuietChannel {}.may_start(View(&state), 0), Gate::Open);
        state.channels[0].host_operations = 1;
        assert_eq!(QuietChannel {}.may_start(View(&state), 0), Gate::Shut);
        state.channels[0].host_operations = 0;
        state.channels[0].gcs = 1;
        assert_eq!(QuietChannel {}.may_start(View(&state), 0), Gate::Shut);
        assert_eq!(QuietChannel {}.may_start(View(&state), 1), Gate::Open, "plane 1 is on the other channel");
    }
}
