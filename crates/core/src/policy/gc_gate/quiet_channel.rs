//! # Quiet-channel gate
//!
//! **What it does.** A GC starts only while no host operation waits for or uses its plane's channel, and no other GC is at
//! work there. Below the hard watermark it starts regardless, as every urgent GC does.
//!
//! **Source.** The simulator that the TTFLASH authors released: its soft threshold, and one GC at a time on each channel.
//! TTFLASH, section 3, leaves the start open; where a GC holds its channel, a second one could only wait, holding its plane.
//!
//! **Parameters.** `one_per_channel` (default true): whether another GC at work there keeps it shut. A GC that holds its plane
//! alone has no need of that.
//!
//! **Cost.** GC is put off under load, so more of it may become urgent.

use crate::ids::PlaneIx;
use crate::policy::answers::{Gate, Want};
use crate::policy::interface::GcGate;
use crate::view::View;
use serde::Deserialize;

/// Open while the channel is quiet.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuietChannel {
    #[serde(default = "yes")]
    one_per_channel: bool,
}

fn yes() -> bool {
    true
}

impl Default for QuietChannel {
    fn default() -> Self {
        Self { one_per_channel: true }
    }
}

impl GcGate for QuietChannel {
    fn may_start(&mut self, view: View<'_>, plane: PlaneIx, _: Want) -> Gate {
        let quiet = view.host_operations_on_channel_of(plane) == 0;
        let alone = !self.one_per_channel || view.gcs_on_channel_of(plane) == 0;
        if quiet && alone { Gate::Open } else { Gate::Shut }
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
    fn one_host_operation_or_another_gc_shuts_it() {
        let mut state = tiny_state();
        assert_eq!(QuietChannel::default().may_start(state.view(), 0, Want::Soft), Gate::Open);
        state.flash.channels_for_test()[0].host_operations = 1;
        assert_eq!(QuietChannel::default().may_start(state.view(), 0, Want::Soft), Gate::Shut);
        state.flash.channels_for_test()[0].host_operations = 0;
        state.ftl.gc.channels_for_test()[0].under_way = 1;
        assert_eq!(QuietChannel::default().may_start(state.view(), 0, Want::Soft), Gate::Shut);
        assert_eq!(QuietChannel::default().may_start(state.view(), 1, Want::Soft), Gate::Open, "plane 1 is on the other channel");
        let mut any = QuietChannel { one_per_channel: false };
        assert_eq!(any.may_start(state.view(), 0, Want::Soft), Gate::Open);
    }
}
