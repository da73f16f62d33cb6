//! # Commands first
//!
//! **What it does.** A free channel serves commands before data: a die that could start a read, a copyback or an erase gets
//! its command before the others transfer their pages, and programs come last. A free die starts reads before anything else,
//! as `read_first` does.
//!
//! **Source.** A decision of this project; no paper says how a channel is shared between commands and data. With `fifo` or
//! `read_first` the command of a read queues behind the transfers of other dies. The dies of a channel then fall into step,
//! all reading their arrays while the channel idles, which costs saturating reads 5 to 30 % of their bandwidth.
//!
//! **Parameters.** None. **Cost.** Each command (0.2 us, say) delays the page that would have crossed instead. A die that
//! never runs dry of commands keeps its data back; there are as many commands in a row as there are idle dies, no more.

use crate::flash::op::Class;
use crate::policy::interface::Order;
use crate::policy::order::fifo::oldest;
use crate::policy::order::read_first::rank_at_die;
use crate::view::{Candidate, View};
use serde::Deserialize;

/// Commands before data at a channel, reads first at a die.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandsFirst {}

impl Order for CommandsFirst {
    fn at_die(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, rank_at_die)
    }

    fn at_channel(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, |candidate| match candidate.class {
            Class::HostProgram | Class::Flush | Class::Background => 2,
            _ => u32::from(candidate.data),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    fn candidate(class: Class, arrival: u64, data: bool) -> Candidate {
        Candidate { class, plane: 0, arrival, urgent: false, continues: data, data }
    }

    #[test]
    fn the_command_of_a_read_goes_before_older_data_and_programs_last() {
        let line = [candidate(Class::Flush, 1, true), candidate(Class::HostRead, 2, true), candidate(Class::HostRead, 3, false)];
        let state = tiny_state();
        assert_eq!(CommandsFirst {}.at_channel(state.view(), &line), 2);
        assert_eq!(CommandsFirst {}.at_channel(state.view(), &line[..2]), 1);
    }

    #[test]
    fn among_data_the_oldest_goes_first_as_with_reads_first() {
        let line = [candidate(Class::HostRead, 4, true), candidate(Class::HostRead, 3, true)];
        assert_eq!(CommandsFirst {}.at_channel(tiny_state().view(), &line), 1);
    }
}
