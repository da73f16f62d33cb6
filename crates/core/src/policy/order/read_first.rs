//! # Reads first
//!
//! **What it does.** A free die starts reads of the host before anything else, then host programs, flushes, and GC last; an
//! urgent GC goes before programs. A free channel serves programs after everything else; reads and GC's short commands
//! take turns by age, so that a GC is prolonged by the reads of others.
//!
//! **Source.** TTFLASH is silent; SSDSim, on which it is built, serves reads before writes at chips and channels. Practical
//! Erase Suspension, section 3.1, gives user reads the highest priority.
//!
//! **Parameters.** None. **Cost.** Programs and GC wait while reads keep coming.

use crate::flash::op::Class;
use crate::policy::interface::Order;
use crate::policy::order::fifo::oldest;
use crate::view::{Candidate, View};
use serde::Deserialize;

/// Reads before everything else at a die.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadFirst {}

/// Reads, urgent GC, programs, GC, background.
pub(super) fn rank_at_die(candidate: &Candidate) -> u32 {
    match candidate.class {
        Class::HostRead => 0,
        Class::AuxiliaryRead => 1,
        Class::Gc | Class::GcProgram | Class::Hold if candidate.urgent => 2,
        Class::HostProgram | Class::Flush => 3,
        Class::Gc | Class::GcProgram | Class::Hold => 4,
        Class::Background => 5,
    }
}

impl Order for ReadFirst {
    fn at_die(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, rank_at_die)
    }

    fn at_channel(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, |candidate| u32::from(matches!(candidate.class, Class::HostProgram | Class::Flush | Class::Background)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    #[test]
    fn a_read_overtakes_and_an_urgent_gc_overtakes_programs_only() {
        let candidate = |class, arrival, urgent| Candidate { class, plane: 0, arrival, urgent, continues: false, data: false };
        let state = tiny_state();
        let mut order = ReadFirst {};
        let waiting = [candidate(Class::Flush, 1, false), candidate(Class::Gc, 2, true), candidate(Class::HostRead, 3, false)];
        assert_eq!(order.at_die(state.view(), &waiting), 2);
        assert_eq!(order.at_die(state.view(), &waiting[..2]), 1);
        let calm = [candidate(Class::Gc, 1, false), candidate(Class::Flush, 2, false)];
        assert_eq!(order.at_die(state.view(), &calm), 1);
        let line = [candidate(Class::Flush, 1, false), candidate(Class::Gc, 2, false), candidate(Class::HostRead, 3, false)];
        assert_eq!(order.at_channel(state.view(), &line), 1, "at the channel a GC's command keeps its place among the reads");
    }
}
