//! # Reads first
//!
//! **What it does.** A free die starts reads of the host before anything else, then host programs, flushes, and GC last; an
//! urgent GC goes before programs. A free channel serves programs after everything else. What goes before them is what `channel`
//! says:
//!
//! - `programs_last`: reads and GC's short commands take turns by age, so that a GC is prolonged by the reads of others.
//! - `user_reads`: reads of the host, be it to start one or to bring its data; then GC and other reads by age.
//! - `commands`: commands before data. A die that could start a read, a copyback or an erase gets its command before the others
//!   transfer their pages.
//!
//! **Source.** TTFLASH is silent; SSDSim, on which it is built, serves reads before writes at chips and channels. Practical
//! Erase Suspension, section 3.1, gives user reads the highest priority; that this goes for the channel too, and what the rest of
//! its line does, are decisions. So is `commands`, since no paper says how a channel is shared between commands and data: otherwise
//! the command of a read queues behind the transfers of other dies. The dies of a channel then fall into step, all reading their
//! arrays while the channel idles, which costs saturating reads 5 to 30 % of their bandwidth.
//!
//! **Parameters.** `channel`: `programs_last` (default), `user_reads` or `commands`.
//!
//! **Cost.** Programs and GC wait while reads keep coming, with `user_reads` for the channel too; without it a read waits for the
//! data of GC's programs that came to the channel before it, up to one of each die. With `commands` each command (0.2 us, say)
//! delays the page that would have crossed instead. A die that never runs dry of commands keeps its data back; there are as many
//! commands in a row as there are idle dies, no more.

use crate::policy::prelude::*;
use crate::techniques::order::fifo::oldest;

/// What a channel serves before everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// What has waited longest and is no program.
    #[default]
    ProgramsLast,
    /// Reads of the host.
    UserReads,
    /// Commands.
    Commands,
}

/// Reads before everything else at a die.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFirst {
    #[serde(default)]
    channel: Channel,
}

impl ReadFirst {
    /// Reads first, and at a channel what `channel` says.
    pub fn new(channel: Channel) -> Self {
        Self { channel }
    }
}

/// Reads, urgent GC, programs, GC, background.
pub(super) fn rank_at_die(candidate: &Candidate) -> u32 {
    match candidate.class {
        Class::HostRead => 0,
        Class::AuxiliaryRead => 1,
        Class::Gc | Class::GcProgram | Class::Lock if candidate.urgent => 2,
        Class::HostProgram | Class::Flush => 3,
        Class::Gc | Class::GcProgram | Class::Lock => 4,
        Class::Background => 5,
    }
}

impl Order for ReadFirst {
    fn at_die(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, rank_at_die)
    }

    fn at_channel(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        let goes_first = |candidate: &Candidate| match self.channel {
            Channel::ProgramsLast => true,
            Channel::UserReads => candidate.class == Class::HostRead,
            Channel::Commands => !candidate.data,
        };
        oldest(candidates, |candidate| match candidate.class {
            Class::HostProgram | Class::Flush | Class::Background => 2,
            _ => u32::from(!goes_first(candidate)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_state;

    fn candidate(class: Class, arrival: u64, urgent: bool) -> Candidate {
        Candidate { class, plane: 0, arrival, urgent, continues: false, data: false }
    }

    fn data(class: Class, arrival: u64) -> Candidate {
        Candidate { continues: true, data: true, ..candidate(class, arrival, false) }
    }

    #[test]
    fn a_read_overtakes_and_an_urgent_gc_overtakes_programs_only() {
        let state = tiny_state();
        let mut order = ReadFirst::default();
        let waiting = [candidate(Class::Flush, 1, false), candidate(Class::Gc, 2, true), candidate(Class::HostRead, 3, false)];
        assert_eq!(order.at_die(state.view(), &waiting), 2);
        assert_eq!(order.at_die(state.view(), &waiting[..2]), 1);
        let calm = [candidate(Class::Gc, 1, false), candidate(Class::Flush, 2, false)];
        assert_eq!(order.at_die(state.view(), &calm), 1);
        let line = [candidate(Class::Flush, 1, false), candidate(Class::Gc, 2, false), candidate(Class::HostRead, 3, false)];
        assert_eq!(order.at_channel(state.view(), &line), 1, "at the channel a GC's command keeps its place among the reads");
    }

    #[test]
    fn a_read_of_the_host_goes_before_older_data_of_gc_and_that_before_a_flush() {
        let state = tiny_state();
        let mut order = ReadFirst::new(Channel::UserReads);
        let line = [data(Class::Flush, 1), data(Class::GcProgram, 2), data(Class::HostRead, 3)];
        assert_eq!(order.at_channel(state.view(), &line), 2);
        assert_eq!(order.at_channel(state.view(), &line[..2]), 1);
        assert_eq!(order.at_die(state.view(), &line), 2);
    }

    #[test]
    fn the_command_of_a_read_goes_before_older_data_and_programs_last() {
        let state = tiny_state();
        let mut order = ReadFirst::new(Channel::Commands);
        let line = [data(Class::Flush, 1), data(Class::HostRead, 2), candidate(Class::HostRead, 3, false)];
        assert_eq!(order.at_channel(state.view(), &line), 2);
        assert_eq!(order.at_channel(state.view(), &line[..2]), 1);
        let line = [data(Class::HostRead, 4), data(Class::HostRead, 3)];
        assert_eq!(order.at_channel(state.view(), &line), 1, "among data the oldest goes first");
    }
}
