//! # Emergency, external, background
//!
//! **What it does.** Three queues, at dies and channels: GC of planes that need it urgently goes first, then whatever the
//! host waits for, oldest first, then GC and flushes in the background. While a write waits for room in a full buffer,
//! flushes are external. What can't start, because its die or channel is busy, is passed over.
//!
//! **Source.** The Harey Tortoise, section 3.2: the emergency, the external and the background queue. By section 3.1 GC goes on "when
//! the FTL finds any chip in the array idle", by section 3.2 "when the system is idle": both can be had.
//!
//! **Parameters.** `background` (default `"idle_die"`): GC that is not urgent begins at every idle die; with `"idle_drive"` it begins
//! nothing while anything of the host's waits or runs, with `"never"` nothing at all. Both need `[gc_lock] policy = "nothing"`.
//! `external` (default `"passed_over"`): what of the external queue can't start is passed over; with `"in_order"` all behind it waits.
//! Section 3.2 passes over operations of the emergency queue, and says nothing of the external one. `"in_order"` needs a `[place]`
//! that chooses a die only when it could begin, such as `"next_idle"`.
//!
//! **Cost.** A plane that has become urgent serves nobody until its GC has freed a block. A drive that is never idle comes to that
//! sooner with `"idle_drive"`, and any that is written to with `"never"`.

use crate::policy::combination::{Against, contradiction};
use crate::policy::prelude::*;
use crate::techniques::order::fifo::oldest;

/// Urgent GC, the host, everything else.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EmergencyExternalBackground {
    background: Background,
    external: External,
}

/// What becomes of the external queue when its first operation can't start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum External {
    /// Those behind it start.
    #[default]
    PassedOver,
    /// Those behind it wait.
    InOrder,
}

impl External {
    /// Refuses an order where pages have their dies before these could begin with them.
    pub(super) fn check(self, with: &Combination<'_>, faults: &mut Faults) {
        let early = "whose pages have their dies when they come";
        let place = Against::policy(self == Self::InOrder && !with.late_bound, "place", with.place, early, "\"next_idle\"");
        contradiction("order", "external", "= \"in_order\"", [place]).into_iter().for_each(|fault| faults.push(fault));
    }
}

/// Where GC that is not urgent begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Background {
    /// At every idle die.
    #[default]
    IdleDie,
    /// Nowhere while anything of the host's waits or runs.
    IdleDrive,
    /// Nowhere.
    Never,
}

impl Background {
    /// Whether it begins nothing now.
    pub(super) fn waits(self, view: View<'_>) -> bool {
        match self {
            Self::IdleDie => false,
            Self::IdleDrive => view.host_runs(),
            Self::Never => true,
        }
    }

    /// Refuses what leaves an idle die alone where GC does not stop between operations.
    pub(super) fn check(self, with: &Combination<'_>, faults: &mut Faults) {
        let found = match self {
            Self::IdleDie => return,
            Self::IdleDrive => "= \"idle_drive\"",
            Self::Never => "= \"never\"",
        };
        let job =
            Against::policy(!with.gc_locks_nothing, "gc_lock", with.gc_lock, "whose GC does not stop between operations", "\"nothing\"");
        contradiction("order", "background", found, [job]).into_iter().for_each(|fault| faults.push(fault));
    }
}

impl EmergencyExternalBackground {
    /// The three queues, and where that of the background is served.
    pub fn new(background: Background, external: External) -> Self {
        Self { background, external }
    }
}

/// The emergency queue, the external and the background one.
pub(super) fn queue(view: View<'_>, candidate: &Candidate) -> u32 {
    match candidate.class {
        Class::Gc | Class::GcProgram | Class::Lock if candidate.urgent => 0,
        Class::HostRead | Class::AuxiliaryRead | Class::HostProgram => 1,
        Class::Flush if view.writes_wait_for_room() => 1,
        Class::Flush | Class::Gc | Class::GcProgram | Class::Lock | Class::Background => 2,
    }
}

impl Order for EmergencyExternalBackground {
    fn at_die(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, |candidate| queue(view, candidate))
    }

    fn at_channel(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, |candidate| queue(view, candidate))
    }

    fn may_hold_gc(&mut self) -> bool {
        self.background != Background::IdleDie
    }

    fn holds_gc(&mut self, view: View<'_>) -> bool {
        self.background.waits(view)
    }

    fn host_in_order(&mut self) -> bool {
        self.external == External::InOrder
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        self.background.check(with, faults);
        self.external.check(with, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    fn candidate(class: Class, arrival: u64, urgent: bool) -> Candidate {
        Candidate { class, plane: 0, arrival, urgent, continues: false, data: false }
    }

    #[test]
    fn urgent_gc_goes_before_the_host_and_other_gc_behind_it() {
        let state = tiny_state();
        let mut order = EmergencyExternalBackground::default();
        let host = candidate(Class::HostProgram, 2, false);
        for class in [Class::Gc, Class::GcProgram, Class::Lock] {
            assert_eq!(order.at_die(state.view(), &[candidate(class, 1, false), host]), 1);
            assert_eq!(order.at_die(state.view(), &[candidate(class, 3, true), host]), 0);
            assert_eq!(order.at_channel(state.view(), &[candidate(class, 3, true), host]), 0);
        }
    }

    #[test]
    fn the_external_queue_is_first_in_first_out() {
        let waiting = [candidate(Class::HostRead, 2, false), candidate(Class::HostProgram, 1, false)];
        assert_eq!(EmergencyExternalBackground::default().at_die(tiny_state().view(), &waiting), 1, "no read overtakes a program");
    }

    #[test]
    fn a_flush_is_background_until_a_write_waits_for_it() {
        let mut state = tiny_state();
        let waiting = [candidate(Class::Flush, 1, false), candidate(Class::HostRead, 2, false)];
        assert_eq!(EmergencyExternalBackground::default().at_die(state.view(), &waiting), 1);
        state.raid.buffer.wait(crate::buffer::write_buffer::WaitingWrite { request: 0, next_lpn: 0, last_lpn: 0, since: 0 });
        assert_eq!(EmergencyExternalBackground::default().at_die(state.view(), &waiting), 0);
    }
}
