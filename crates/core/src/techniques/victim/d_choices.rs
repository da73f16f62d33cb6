//! # d-choices victims
//!
//! **What it does.** Draws `d` blocks of the plane at random, with replacement, and collects the one of them with the
//! fewest valid pages. If none of them has a stale page, the `d` are drawn among the blocks that have one. Behind another
//! policy of the chain it draws among that one's candidates.
//!
//! **Source.** Van Houdt, SIGMETRICS 2013 ("d-choices GC algorithm"); Li, Lee and Lui, SIGMETRICS 2013, whose randomized
//! greedy algorithm (RGA) is MQSim's default.
//!
//! **Parameters.** `d`, blocks drawn, 1 to 4096; default 10. Random numbers come from its own generator, seeded by the run.
//!
//! **Cost.** A little more copying than greedy, from 10 on hardly any; it looks at `d` blocks instead of all.

use crate::policy::prelude::*;
use crate::techniques::victim::{keep_least, least};

/// The fewest valid pages among `d` random blocks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DChoices {
    #[serde(default = "ten")]
    d: u32,
    #[serde(skip)]
    random: SplitMix,
    /// The blocks drawn.
    #[serde(skip)]
    drawn: Vec<BlockGroup>,
}

/// The most blocks that may be drawn.
const D_MAX: u32 = 4096;

fn ten() -> u32 {
    10
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a generator whose state is one number, which an image can hold.
#[derive(Clone, Copy, Debug, Default)]
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * bound as u128) >> 64) as usize
    }
}

impl DChoices {
    /// Draws of `d` blocks.
    pub fn new(d: u32) -> Self {
        Self { d, random: SplitMix::default(), drawn: Vec::new() }
    }

    /// The number of blocks drawn.
    pub fn d(&self) -> u32 {
        self.d
    }

    fn draw_from(&mut self, candidates: &[BlockGroup]) {
        self.drawn.clear();
        for _ in 0..self.d {
            self.drawn.push(candidates[self.random.below(candidates.len())]);
        }
    }

    /// The drawn blocks with the fewest valid pages, each once, in the order of their indices.
    fn best(&mut self, view: View<'_>, found: &mut Vec<BlockGroup>) {
        self.drawn.sort_unstable();
        self.drawn.dedup();
        least(self.drawn.iter().copied(), found, |group| view.tables().valid_pages(group));
    }
}

impl Victim for DChoices {
    fn prepare(&mut self, _: &Device) -> Result<(), ConfigError> {
        if self.d == 0 || self.d > D_MAX {
            let found = format!("has a `d` of {} for \"d_choices\"", self.d);
            return Err(Fault::new("victim", "chain", found).allowed(format!("1 to {D_MAX}")).into());
        }
        Ok(())
    }

    fn seed(&mut self, seed: u64) {
        self.random = SplitMix(seed ^ 0xd0c5);
    }

    fn save(&self) -> Vec<u8> {
        self.random.0.to_le_bytes().to_vec()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let state = state.try_into().map_err(|_| format!("d_choices keeps 8 bytes, not {}", state.len()))?;
        self.random = SplitMix(u64::from_le_bytes(state));
        Ok(())
    }

    fn narrow(&mut self, view: View<'_>, _: Pool, candidates: &mut Vec<BlockGroup>) {
        self.draw_from(candidates);
        keep_least(&mut self.drawn, |group| view.tables().valid_pages(group));
        let drawn = &self.drawn;
        candidates.retain(|group| drawn.contains(group));
    }

    fn search(&mut self, view: View<'_>, pool: Pool, _: bool, found: &mut Vec<BlockGroup>) {
        /// Misses for each draw, on blocks that may not be victims, after which the candidates are listed instead.
        const MISSES_MAX: u32 = 16;
        let tables = view.tables();
        let groups = tables.groups_of(pool).len();
        self.drawn.clear();
        let mut misses_left = MISSES_MAX * self.d;
        while self.drawn.len() < self.d as usize && misses_left > 0 {
            let group = tables.group_at(pool, self.random.below(groups));
            if tables.is_candidate(group) {
                self.drawn.push(group);
            } else {
                misses_left -= 1;
            }
        }
        let complete = self.drawn.len() == self.d as usize;
        self.best(view, found);
        if complete && found.first().is_some_and(|&group| view.tables().stale_pages(group) > 0) {
            return;
        }
        found.clear();
        found.extend(view.tables().collectable(pool));
        if !found.is_empty() {
            self.draw_from(found);
            found.clear();
            self.best(view, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::techniques::victim::greedy::Greedy;
    use crate::testkit::{kept, state_with_writes, tiny_device, victims};

    /// Six closed blocks, of which block 5 - n has lost n pages, 0 to 3 of them.
    fn worn_down() -> crate::testkit::Parts {
        let mut writes: Vec<u32> = (0..24).collect();
        writes.extend([16, 12, 13, 8]);
        state_with_writes(&writes)
    }

    #[test]
    fn one_choice_takes_blocks_that_greedy_would_not() {
        let state = worn_down();
        assert_eq!(victims(&mut Greedy {}, &state), [3]);
        let mut policy = DChoices::new(1);
        let taken: std::collections::BTreeSet<u32> = (0..64).flat_map(|_| victims(&mut policy, &state)).collect();
        assert_eq!(taken.into_iter().collect::<Vec<_>>(), [2, 3, 4], "each block that has a stale page, and no other");
    }

    #[test]
    fn so_many_choices_that_none_is_missed_do_as_greedy() {
        let state = worn_down();
        let mut policy = DChoices::new(8);
        let missed = (0..100).filter(|_| victims(&mut policy, &state) != [3]).count();
        // All eight miss block 3 of seven closed ones with a chance of (6/7)^8 = 29 %.
        assert!(missed > 10 && missed < 50, "{missed}");
        assert_eq!(kept(&mut policy, &state, &[3]), [3]);
    }

    #[test]
    fn the_seed_decides_and_the_state_can_be_saved() {
        let state = worn_down();
        let choices = |policy: &mut DChoices| (0..32).flat_map(|_| victims(policy, &state)).collect::<Vec<_>>();
        let seeded = |seed| {
            let mut policy = DChoices::new(2);
            policy.seed(seed);
            policy
        };
        assert_eq!(choices(&mut seeded(1)), choices(&mut seeded(1)));
        assert_ne!(choices(&mut seeded(1)), choices(&mut seeded(2)));
        let mut first = seeded(3);
        choices(&mut first);
        let mut second = DChoices::new(2);
        second.restore(&first.save()).unwrap();
        assert_eq!(choices(&mut first), choices(&mut second));
        assert!(second.restore(&[1, 2]).is_err());
    }

    #[test]
    fn an_erased_plane_has_nothing_to_collect_and_no_choice_is_refused() {
        assert!(victims(&mut DChoices::new(3), &crate::testkit::tiny_state()).is_empty());
        for d in [0, D_MAX + 1] {
            let error = DChoices::new(d).prepare(&tiny_device()).unwrap_err();
            assert!(error.to_string().contains("`d`") && error.to_string().contains("1 to 4096"), "{error}");
        }
    }
}
