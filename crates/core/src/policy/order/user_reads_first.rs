//! # User reads first
//!
//! **What it does.** A free channel serves reads of the host before anything else, be it to start one or to bring its data;
//! what else waits is served as by `read_first`, GC and other reads by age and programs of the host last. A free die starts
//! reads before anything else, as `read_first` does.
//!
//! **Source.** Practical Erase Suspension, section 3.1: the I/O scheduler processes user reads with the highest priority.
//! That this goes for the channel too, and what the rest of its line does, are decisions.
//!
//! **Parameters.** None.
//!
//! **Cost.** Programs and the reads of GC wait for the channel while reads of the host keep coming. With `read_first`, by
//! contrast, a read waits for the data of GC's programs that came to the channel before it, up to one of each die.

use crate::flash::op::Class;
use crate::policy::interface::Order;
use crate::policy::order::fifo::oldest;
use crate::policy::order::read_first::rank_at_die;
use crate::view::{Candidate, View};
use serde::Deserialize;

/// Reads of the host before everything else, at dies and channels.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UserReadsFirst {}

impl Order for UserReadsFirst {
    fn at_die(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, rank_at_die)
    }

    fn at_channel(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, |candidate| match candidate.class {
            Class::HostRead => 0,
            Class::HostProgram | Class::Flush | Class::Background => 2,
            _ => 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    #[test]
    fn a_read_of_the_host_goes_before_older_data_of_gc_and_that_before_a_flush() {
        let candidate = |class, arrival| Candidate { class, plane: 0, arrival, urgent: false, continues: false, data: true };
        let state = tiny_state();
        let line = [candidate(Class::Flush, 1), candidate(Class::GcProgram, 2), candidate(Class::HostRead, 3)];
        assert_eq!(UserReadsFirst {}.at_channel(state.view(), &line), 2);
        assert_eq!(UserReadsFirst {}.at_channel(state.view(), &line[..2]), 1);
        assert_eq!(UserReadsFirst {}.at_die(state.view(), &line), 2);
    }
}
