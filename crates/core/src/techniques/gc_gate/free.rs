//! # Free gate
//!
//! **What it does.** A GC that is wanted starts whatever the GCs of other planes do: at once, or only while no host operation
//! waits for or uses its plane's channel. Below the hard watermark it starts regardless, as every urgent GC does.
//!
//! **Source.** At once: the baseline of most papers. The quiet channel, and one GC at a time on each channel, are the soft
//! threshold of the simulator that the TTFLASH authors released; TTFLASH, section 3, leaves the start open.
//!
//! **Parameters.** `start`: `immediate` (default) or `quiet_channel`. `one_per_channel` (default false): a GC at work on the
//! channel keeps the gate closed for another, which could only wait there, with its plane locked, where a GC locks its channel.
//!
//! **Cost.** GCs that start at once meet whatever the host is doing. Put off under load, more of them become urgent.

use crate::policy::prelude::*;

/// When a GC that is not urgent starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// At once.
    #[default]
    Immediate,
    /// While no host operation uses or awaits its channel.
    QuietChannel,
}

/// Each GC by itself.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Free {
    start: Start,
    one_per_channel: bool,
}

impl Free {
    /// A gate that is open while the channel is quiet and no GC is at work there.
    pub fn on_a_quiet_channel() -> Self {
        Self { start: Start::QuietChannel, one_per_channel: true }
    }

    /// Whether it is never closed.
    pub(crate) fn is_always_open(&self) -> bool {
        self.start == Start::Immediate && !self.one_per_channel
    }

    /// Lets every GC start at once. Returns whether one waited for a quiet channel, and whether one did for others of its channel.
    pub(crate) fn start_at_once(&mut self) -> (bool, bool) {
        let before = std::mem::take(self);
        (before.start == Start::QuietChannel, before.one_per_channel)
    }
}

impl GcGate for Free {
    fn may_start(&mut self, view: View<'_>, pool: Pool, _: Want) -> Gate {
        let mut planes = view.tables().planes_of(pool);
        let quiet = self.start == Start::Immediate || planes.clone().all(|plane| view.host_operations_on_channel_of(plane) == 0);
        let alone = !self.one_per_channel || planes.all(|plane| view.gcs_on_channel_of(plane) == 0);
        if quiet && alone { Gate::Open } else { Gate::Closed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    #[test]
    fn one_host_operation_or_another_gc_shuts_it_where_the_channel_must_be_quiet() {
        let mut state = tiny_state();
        let mut quiet = Free::on_a_quiet_channel();
        assert_eq!(quiet.may_start(state.view(), Pool(0), Want::Soft), Gate::Open);
        state.flash.channels_for_test()[0].host_operations = 1;
        assert_eq!(quiet.may_start(state.view(), Pool(0), Want::Soft), Gate::Closed);
        assert_eq!(Free::default().may_start(state.view(), Pool(0), Want::Soft), Gate::Open, "it starts at once");
        state.flash.channels_for_test()[0].host_operations = 0;
        state.ftl.gc.channels_for_test()[0].under_way = 1;
        assert_eq!(quiet.may_start(state.view(), Pool(0), Want::Soft), Gate::Closed);
        assert_eq!(quiet.may_start(state.view(), Pool(1), Want::Soft), Gate::Open, "plane 1 is on the other channel");
        let mut any = Free { one_per_channel: false, ..quiet };
        assert_eq!(any.may_start(state.view(), Pool(0), Want::Soft), Gate::Open);
    }
}
