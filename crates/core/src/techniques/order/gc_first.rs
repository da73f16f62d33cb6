//! # GC first
//!
//! **What it does.** A free die starts GC before reads, and reads before programs. The channel serves GC's phases first too.
//!
//! **Source.** I/O-parallelized GC, section 2 (GC, then reads, then writes).
//!
//! **Parameters.** None. **Cost.** Every request to a die in GC waits for it.

use crate::policy::prelude::*;
use crate::techniques::order::fifo::oldest;

/// GC before everything else.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GcFirst {}

fn rank(candidate: &Candidate) -> u32 {
    match candidate.class {
        Class::Gc | Class::GcProgram | Class::Lock => 0,
        Class::HostRead => 1,
        Class::AuxiliaryRead => 2,
        Class::HostProgram | Class::Flush => 3,
        Class::Background => 4,
    }
}

impl Order for GcFirst {
    fn at_die(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, rank)
    }

    fn at_channel(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    #[test]
    fn gc_overtakes_an_older_read() {
        let candidate = |class, arrival| Candidate { class, plane: 0, arrival, urgent: false, continues: false, data: false };
        let waiting = [candidate(Class::HostRead, 1), candidate(Class::Lock, 2)];
        assert_eq!(GcFirst {}.at_die(tiny_state().view(), &waiting), 1);
        assert_eq!(GcFirst {}.at_channel(tiny_state().view(), &waiting), 1);
    }
}
