//! # Scrubbing in idle time
//!
//! **What it does.** A die that runs nothing, and for which nothing waits, reads a page whose data were copied back since
//! they last passed the ECC; a page in which it finds many errors is written anew through the controller, and one that it
//! cannot correct is regenerated from its stripe, where there are stripes. What finds no room, or belongs to a stripe on its
//! way, is looked at again later. The block with such pages that is next is the following one, or the one with the most
//! erases.
//!
//! A die goes in rounds, through as many blocks as had such pages when the round began. The next round begins when there has
//! been a request since. Other pages are not read: in this model neither age nor reads make a page worse, and one that was
//! never copied would have the same errors when it is written anew.
//!
//! **Source.** TTFLASH, section 7, which proposes it and evaluates nothing: idle time, blocks that were collected recently or
//! are worn. The thresholds are decisions.
//!
//! **Parameters.** `pause_us` (default 1000): microseconds from one page of a die to the next attempt. `least_copybacks`
//! (default 1): consecutive copybacks from which on a page is read, at most 127. `rewrite_percent` (default 50): wrong bits
//! of the worst codeword, in percent of those that can be corrected, from which on a page is written anew; 0 rewrites every
//! page. `first`, `"in_turn"` (default) or `"most_worn"`. It needs a device with `[errors]`.
//!
//! **Cost.** A request that arrives during such a read waits for its end, since a read cannot be cut; rewritten pages wear
//! the flash and bring GCs nearer. A drive without idle time is never scrubbed.

use crate::policy::prelude::*;

/// Which block is looked through next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum First {
    /// The one that follows the last.
    #[default]
    InTurn,
    /// The one with the most erases.
    MostWorn,
}

/// Copied pages are read while their die is idle.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Idle {
    pause_us: u32,
    least_copybacks: u8,
    rewrite_percent: u32,
    first: First,
    /// The block looked through last in each die.
    #[serde(skip)]
    last: Vec<BlockIx>,
}

impl Default for Idle {
    fn default() -> Self {
        Self::new(1000, 1, 50, First::InTurn)
    }
}

impl Idle {
    /// With these parameters.
    pub fn new(pause_us: u32, least_copybacks: u8, rewrite_percent: u32, first: First) -> Self {
        Self { pause_us, least_copybacks, rewrite_percent, first, last: Vec::new() }
    }
}

impl Scrub for Idle {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        faults.range("scrub", "pause_us", self.pause_us, 1, 60_000_000);
        faults.range("scrub", "least_copybacks", self.least_copybacks, 1, COPIES_MAX);
        faults.range("scrub", "rewrite_percent", self.rewrite_percent, 0, 100);
        if device.errors.is_none() {
            let found = format!("= \"idle\" looks for bit errors, and the device {} has no section [errors]", device.name);
            faults.push(Fault::new("scrub", "policy", found));
        }
        self.last = vec![0; device.geometry.dies() as usize];
        faults.result()
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        let ecc = "= \"controller\", with which every copied page passes the ECC";
        let against = [
            Against::value(with.gc_through_controller, ["gc", "copy"], ecc, "\"copyback\""),
            Against::value(with.gc_ideal, ["gc", "ideal"], "= true, which copies nothing on the flash", "false"),
        ];
        contradiction("scrub", "policy", "= \"idle\"", against).into_iter().for_each(|fault| faults.push(fault));
    }

    fn pause_ns(&mut self) -> Option<Ns> {
        Some(Ns::from(self.pause_us) * US)
    }

    fn least_copybacks(&mut self) -> u8 {
        self.least_copybacks
    }

    fn next_block(&mut self, view: View<'_>, suspects: &[BlockIx]) -> usize {
        let g = view.geometry();
        let last = &mut self.last[g.die_of(g.plane_of(suspects[0])) as usize];
        let chosen = match self.first {
            First::InTurn => suspects.iter().position(|block| block > last).unwrap_or(0),
            First::MostWorn => {
                let most = |index: &usize| (view.tables().erase_count(suspects[*index]), std::cmp::Reverse(*index));
                (0..suspects.len()).max_by_key(most).unwrap_or(0)
            }
        };
        *last = suspects[chosen];
        chosen
    }

    fn rewrite(&mut self, _: View<'_>, wrong_bits: u32, correctable: u32) -> bool {
        wrong_bits * 100 >= correctable * self.rewrite_percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BlockGroup;
    use crate::testkit::{tiny_device, tiny_state};

    fn idle(rewrite_percent: u32, first: First) -> Idle {
        let mut idle = Idle::new(1, 1, rewrite_percent, first);
        idle.last = vec![0; 2];
        idle
    }

    #[test]
    fn blocks_are_looked_through_in_turn() {
        let state = tiny_state();
        let mut idle = idle(50, First::InTurn);
        let mut next = |suspects: &[BlockIx]| suspects[idle.next_block(state.view(), suspects)];
        assert_eq!([next(&[1, 4, 6]), next(&[4, 6]), next(&[1, 6]), next(&[1, 5])], [1, 4, 6, 1]);
    }

    #[test]
    fn or_the_most_worn_one_first() {
        let mut state = tiny_state();
        for _ in 0..2 {
            state.ftl.tables.erased(BlockGroup(5));
        }
        assert_eq!(idle(50, First::MostWorn).next_block(state.view(), &[1, 5, 6]), 1);
    }

    #[test]
    fn a_page_is_rewritten_from_the_threshold_on() {
        let state = tiny_state();
        let mut idle = idle(50, First::InTurn);
        assert!(!idle.rewrite(state.view(), 19, 40) && idle.rewrite(state.view(), 20, 40));
    }

    #[test]
    fn a_device_without_errors_is_refused() {
        let refusal = Idle::new(1, 1, 50, First::InTurn).prepare(&tiny_device()).unwrap_err();
        assert!(refusal.to_string().contains("no section [errors]"), "{}", refusal);
    }
}
