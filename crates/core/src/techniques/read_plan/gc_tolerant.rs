//! # GC-tolerant read
//!
//! **What it does.** A page behind a GC is regenerated from the rest of its stripe: the pages that the request does not read
//! anyway are read in addition, and the controller XORs them. A read of a full stripe always does so, since all that it needs
//! besides is the parity. For any other read `rule` says whether the extra reads are worth it:
//!
//! - `paper`: if the GC lasts longer than B x (array read + transfer), where B is the number of extra reads that would meet a
//!   busy channel or plane.
//! - `greedy`: always.
//! - `release`: always while the GC copies; while it erases, if that lasts longer than all extra reads one after another.
//!
//! A read that waits is asked about again as a GC starts that locks what it waits for (`asked_again`):
//!
//! - `never`: it waits to the end, unless its stripe moves elsewhere.
//! - `starts`: a GC that starts finds the reads that wait already.
//! - `starts_and_ends`: so does one that ends. A read that waited, since two pages of its stripe were behind GCs, then no longer
//!   waits for the second.
//!
//! **Source.** TTFLASH, section 4.3, which does not say when; the third rule is the authors' released simulator's. What "busy" means is a decision: a
//! channel that carries or is awaited by something, or a plane whose die runs something, since the price contains both.
//!
//! **Parameters.** `rule` (default `"paper"`), `asked_again` (default `"starts"`). It needs stripes.
//!
//! **Cost.** Up to N - 1 reads for one. It fails where two pages of a stripe are behind GCs.

use crate::policy::prelude::*;

/// When a read of a part of a stripe is reconstructed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// If the GC lasts longer than the busy extra reads.
    #[default]
    Paper,
    /// Always.
    Greedy,
    /// If the GC copies, or erases for longer than all extra reads.
    Release,
}

/// Reads around GCs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GcTolerant {
    #[serde(default)]
    rule: Rule,
    #[serde(default)]
    asked_again: AskedAgain,
}

impl GcTolerant {
    /// Reads around GCs by a rule.
    pub fn new(rule: Rule) -> Self {
        Self { rule, ..Self::default() }
    }

    /// The same, with reads that wait asked about again at other times.
    pub fn asking_again(self, asked_again: AskedAgain) -> Self {
        Self { asked_again, ..self }
    }
}

impl ReadPlan for GcTolerant {
    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        with.needs_stripes("read_plan", "gc_tolerant", faults);
    }

    fn asked_again(&mut self) -> AskedAgain {
        self.asked_again
    }

    fn plan(&mut self, view: View<'_>, read: &BlockedRead<'_>) -> ReadAnswer {
        let page_ns = view.page_read_ns();
        let worth = read.full_stripe
            || match self.rule {
                Rule::Greedy => true,
                Rule::Paper => {
                    let busy = read.extra.iter().filter(|&&plane| view.read_would_wait(plane)).count();
                    read.gc_left_ns > busy as u64 * page_ns
                }
                Rule::Release => !view.gc_erases(read.plane) || read.gc_left_ns > read.extra.len() as u64 * page_ns,
            };
        if worth { ReadAnswer::Reconstruct } else { ReadAnswer::Wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::state::GcState;
    use crate::testkit::state_with_stripes;

    #[test]
    fn the_papers_rule_counts_the_busy_extra_reads() {
        // A page takes 10 + 100.
        let mut state = state_with_stripes(4, 1, 4);
        let read = |gc_left_ns| BlockedRead { lpn: 0, plane: 0, gc_left_ns, extra: &[1, 2, 3], full_stripe: false };
        let mut paper = GcTolerant::new(Rule::Paper);
        assert_eq!(paper.plan(state.view(), &read(1)), ReadAnswer::Reconstruct, "idle channels cost nothing");
        state.flash.channels_for_test()[2].busy_until = 50;
        state.flash.channels_for_test()[3].busy_until = 50;
        assert_eq!(paper.plan(state.view(), &read(220)), ReadAnswer::Wait);
        assert_eq!(paper.plan(state.view(), &read(221)), ReadAnswer::Reconstruct);
        // Whatever a die runs and whatever waits for a channel keeps a read waiting as well.
        state.flash.channels_for_test()[3].busy_until = 0;
        state.flash.dies_for_test()[3].running = 0;
        assert_eq!(paper.plan(state.view(), &read(220)), ReadAnswer::Wait);
        assert_eq!(paper.plan(state.view(), &read(221)), ReadAnswer::Reconstruct);
        let full = BlockedRead { full_stripe: true, ..read(1) };
        assert_eq!(paper.plan(state.view(), &full), ReadAnswer::Reconstruct, "no condition applies to a full stripe");
        assert_eq!(GcTolerant::new(Rule::Greedy).plan(state.view(), &read(1)), ReadAnswer::Reconstruct);
    }

    #[test]
    fn the_rule_waits_at_each_threshold_and_reconstructs_beyond_it() {
        // TTFLASH's times: thresholds of 0, 140, ..., 980 us for stripes of eight.
        let mut state = state_with_stripes(8, 1, 8);
        state.flash.device.timing.read_ns = vec![40_000];
        state.flash.device.timing.transfer_page_ns = 100_000;
        let mut paper = GcTolerant::new(Rule::Paper);
        for busy in 0..=7 {
            if busy > 0 {
                state.flash.channels_for_test()[busy].busy_until = 50;
            }
            let read = |gc_left_ns| BlockedRead { lpn: 0, plane: 0, gc_left_ns, extra: &[1, 2, 3, 4, 5, 6, 7], full_stripe: false };
            let threshold = busy as u64 * 140_000;
            assert_eq!(paper.plan(state.view(), &read(threshold)), ReadAnswer::Wait, "{busy} busy");
            assert_eq!(paper.plan(state.view(), &read(threshold + 1)), ReadAnswer::Reconstruct, "{busy} busy");
        }
    }

    #[test]
    fn the_released_rule_asks_whether_the_gc_erases() {
        let mut state = state_with_stripes(4, 1, 4);
        let read = |gc_left_ns| BlockedRead { lpn: 0, plane: 0, gc_left_ns, extra: &[1, 2, 3], full_stripe: false };
        let mut release = GcTolerant::new(Rule::Release);
        state.ftl.gc.planes_for_test()[0].state = GcState::Moving;
        assert_eq!(release.plan(state.view(), &read(1)), ReadAnswer::Reconstruct);
        state.ftl.gc.planes_for_test()[0].state = GcState::Erasing;
        assert_eq!(release.plan(state.view(), &read(330)), ReadAnswer::Wait);
        assert_eq!(release.plan(state.view(), &read(331)), ReadAnswer::Reconstruct);
    }
}
