//! # GC in the slack before deadlines
//!
//! **What it does.** Every request of the host has a deadline. A GC that is not urgent goes on, a page or the erase at a time, only
//! where that ends before any request that waits for its die must start to be done by its deadline; otherwise the host is
//! served first, reads before programs. Urgent GC goes before everything else, and what a GC has begun it ends. Where nothing of
//! the host waits, GC goes on at once. The channel serves as with `read_first`.
//!
//! **Source.** I/O-parallelized GC, section 3.3 (GC distribution, after HIOS, ISCA 2014), which only sketches it. The value is a
//! decision.
//!
//! **Parameters.** `deadline_us` (default 20000): microseconds from a page's arrival at its die to its deadline; at least the time of
//! one page. To be used with `preemptible` in `[gc_lock]`, which gives the die up after each page. The results count the requests
//! that took longer.
//!
//! **Cost.** Requests take longer than they would if GC waited for a pause, up to their deadlines; a write load without slack puts
//! GC off until it is urgent.

use crate::policy::prelude::*;
use crate::techniques::order::fifo::oldest;
use crate::techniques::order::read_first::{ReadFirst, rank_at_die};

/// GC while deadlines leave time for it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadlineSlack {
    #[serde(default = "deadline")]
    deadline_us: u64,
    /// The longest time of a page that is read, programmed, moved by GC, and of an erase.
    #[serde(skip)]
    times: Times,
}

#[derive(Debug, Default, Clone, Copy)]
struct Times {
    read: Ns,
    program: Ns,
    page_move: Ns,
    erase: Ns,
}

fn deadline() -> u64 {
    20_000
}

impl DeadlineSlack {
    /// Requests are to be done so many microseconds after their arrival.
    pub fn new(deadline_us: u64) -> Self {
        Self { deadline_us, times: Times::default() }
    }

    /// For how long a die may do something else before a request that waits there must start; nothing if none waits.
    fn slack(&self, view: View<'_>, die: u32) -> Option<Ns> {
        let left = |(class, since): (Class, Ns)| {
            let service = if class == Class::HostProgram { self.times.program } else { self.times.read };
            (since + self.deadline_us * 1000).saturating_sub(view.now() + service)
        };
        view.waiting_since(die).map(left).min()
    }
}

impl Order for DeadlineSlack {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let timing = &device.timing;
        let longest = |times: &[Ns]| times.iter().copied().max().unwrap_or(0);
        let read = timing.command_ns + longest(&timing.read_ns) + timing.transfer_page_ns;
        let program = timing.command_ns + longest(&timing.program_ns) + timing.transfer_page_ns;
        let erase = timing.command_ns + timing.erase_step_ns * u64::from(timing.erase_steps_max);
        self.times = Times { read, program, page_move: read + program, erase };
        let least = read.max(program).div_ceil(1000);
        // A day is as good as no deadline, and far from the end of time.
        let most = 86_400_000_000;
        if !(least..=most).contains(&self.deadline_us) {
            let found = format!("is {}; a page takes up to {least} microseconds on {}", self.deadline_us, device.name);
            return Err(Fault::new("order", "deadline_us", found).allowed(format!("{least} to {most}")).into());
        }
        Ok(())
    }

    fn at_die(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize {
        let slack = self.slack(view, view.geometry().die_of(candidates[0].plane));
        oldest(candidates, |candidate| match candidate.class {
            Class::Gc | Class::GcProgram => 0,
            Class::Lock if candidate.urgent => 0,
            Class::Lock => {
                let step = if view.gc_only_erases(candidate.plane) { self.times.erase } else { self.times.page_move };
                if slack.is_none_or(|slack| step <= slack) { 1 } else { 8 }
            }
            _ => 2 + rank_at_die(candidate),
        })
    }

    fn at_channel(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize {
        ReadFirst::default().at_channel(view, candidates)
    }

    fn deadline_ns(&mut self) -> Option<Ns> {
        Some(self.deadline_us * 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::op::{Op, OpKind, Owner};
    use crate::observe::TrafficClass;
    use crate::testkit::{tiny_device, tiny_state};

    #[test]
    fn gc_goes_first_while_its_step_fits_before_the_deadline_of_what_waits() {
        let mut state = tiny_state();
        let mut order = DeadlineSlack::new(10);
        order.prepare(&tiny_device()).unwrap();
        // A read takes 111 ns, a page that GC moves 1212: it must begin at 8677 at the latest.
        let mut read = Op::new(OpKind::Read, Class::HostRead, TrafficClass::HostRead, Owner::Request(0), 0, 0);
        read.born = 0;
        let read = state.flash.new_op(read);
        state.flash.planes_for_test()[0].lines[Class::HostRead as usize].head = read;
        let candidate = |class, urgent| Candidate { class, plane: 0, arrival: class as u64, urgent, continues: false, data: false };
        let calm = [candidate(Class::HostRead, false), candidate(Class::Lock, false)];
        for (now, chosen) in [(0, 1), (8677, 1), (8678, 0), (20_000, 0)] {
            state.flash.now = now;
            assert_eq!(order.at_die(state.view(), &calm), chosen, "at {now}");
        }
        assert_eq!(order.at_die(state.view(), &[calm[0], candidate(Class::Lock, true)]), 1, "urgent");
        assert_eq!(order.at_die(state.view(), &[calm[0], candidate(Class::GcProgram, false)]), 1, "begun");
        let writes = [candidate(Class::HostProgram, false), calm[0], calm[1]];
        assert_eq!(order.at_die(state.view(), &writes), 1, "reads before programs");
    }

    #[test]
    fn a_deadline_below_the_time_of_a_page_is_refused() {
        // A program takes 1101 ns.
        let error = DeadlineSlack::new(1).prepare(&tiny_device()).unwrap_err().to_string();
        assert!(error.contains("[order] `deadline_us` is 1") && error.contains("allowed: 2 to"), "{error}");
        DeadlineSlack::new(2).prepare(&tiny_device()).unwrap();
        assert!(DeadlineSlack::new(u64::MAX).prepare(&tiny_device()).is_err());
    }
}
