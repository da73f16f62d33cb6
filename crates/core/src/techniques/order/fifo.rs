//! # First in, first out
//!
//! **What it does.** Starts the operation that has waited longest, at dies and at channels.
//!
//! **Source.** The Harey Tortoise, section 3.2 (external queue). **Parameters.** None.
//! **Cost.** A read waits behind programs and GC.

use crate::policy::prelude::*;

/// The longest wait first.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fifo {}

impl Order for Fifo {
    fn at_die(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, |_| 0)
    }

    fn at_channel(&mut self, _: View<'_>, _: &[Candidate]) -> usize {
        0
    }
}

/// The index of the candidate of the lowest rank, and among equals of the one that has waited longest.
pub fn oldest(candidates: &[Candidate], rank: impl Fn(&Candidate) -> u32) -> usize {
    let key = |index: &usize| (rank(&candidates[*index]), candidates[*index].arrival);
    (0..candidates.len()).min_by_key(key).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::op::Class;
    use crate::testkit::tiny_state;

    #[test]
    fn a_program_that_waited_longer_goes_before_a_read() {
        let candidate = |class, arrival| Candidate { class, plane: 0, arrival, urgent: false, continues: false, data: false };
        let waiting = [candidate(Class::HostRead, 9), candidate(Class::Flush, 4), candidate(Class::Gc, 6)];
        assert_eq!(Fifo {}.at_die(tiny_state().view(), &waiting), 1);
    }
}
