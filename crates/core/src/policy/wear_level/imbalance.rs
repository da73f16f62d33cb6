//! # Wear levelling by imbalance
//!
//! **What it does.** A stripe that has just been written is a likely hot one. If the planes of its group have been erased more
//! often than those of the least worn group, it migrates there. Otherwise its pages are shifted round the channels of its group
//! so that those that were written, and the parity, come to the least worn planes. Either is done only if it spares more erases
//! than chance explains.
//!
//! **Source.** TTFLASH, section 7: vertical migration and horizontal shifting. When a stripe moves, and which, the paper leaves
//! open: all of that is a decision here.
//!
//! **Parameters.** `migrate` and `shift` (default true both). `spread_percent` (default 200): the least gap between the erases
//! of *n* planes here and *n* planes there, in percent of the square root of *n* times the mean erases of a plane since the run
//! began; 1 to 100,000. `pause_us` (default 5000): microseconds from the beginning of one move to that of the next, at most a
//! minute; one stripe of the drive moves at a time. It needs stripes.
//!
//! Why the square root: under writes that favour no plane, the erases of *n* planes scatter like a sum of random draws. If every
//! erase were a draw of its own, their standard deviation would be that square root. An erase follows many writes, so it is
//! less: two such sums differ by more than twice the square root practically never. A fixed number of erases is passed by chance
//! alone in every long run. This bound grows as well, but more slowly than the wear: at 10 erases it tolerates 63 % of the wear
//! of a plane, at 3,000 less than 4 %, and life ends there.
//!
//! **Cost.** A move reads and programs every page of a stripe, with the lowest priority at the dies. Until it is done the stripe's new
//! pages stay in RAM. A stripe that turns cold has moved in vain.

use crate::config::ConfigError;
use crate::device::Device;
use crate::ftl::rain::Place;
use crate::policy::WearLevel;
use crate::units::{Ns, US};
use crate::view::{View, WrittenStripe};
use schemars::JsonSchema;
use serde::Deserialize;

/// Hot stripes move to less worn planes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Imbalance {
    #[serde(default = "yes")]
    migrate: bool,
    #[serde(default = "yes")]
    shift: bool,
    #[serde(default = "spread")]
    spread_percent: u32,
    #[serde(default = "pause")]
    pause_us: u32,
    /// When the next stripe may move.
    #[serde(skip)]
    rests_until: Ns,
}

fn yes() -> bool {
    true
}

fn spread() -> u32 {
    200
}

fn pause() -> u32 {
    5000
}

impl Imbalance {
    /// With these parameters.
    pub fn new(migrate: bool, shift: bool, spread_percent: u32, pause_us: u32) -> Self {
        Self { migrate, shift, spread_percent, pause_us, rests_until: 0 }
    }

    /// Whether planes have been erased more often than as many others by more than chance explains. A mean of less than one
    /// erase counts as one.
    fn is_beyond_chance(&self, view: View<'_>, here: u64, there: u64, planes: u32) -> bool {
        let all = u128::from(view.geometry().planes());
        let gap = u128::from(here.saturating_sub(there)) * 100;
        let percent = u128::from(self.spread_percent);
        gap * gap * all >= percent * percent * u128::from(planes) * u128::from(view.erases_of_all()).max(all)
    }

    /// The least worn group, if that is worth a migration.
    fn other_group(&self, view: View<'_>, written: &WrittenStripe) -> Option<u32> {
        let stripes = view.stripes()?;
        let width = stripes.width();
        let worn = |group: u32| (0..width).map(|channel| view.erases_of(stripes.plane_at(group, channel))).sum::<u64>();
        let least = (0..stripes.groups()).min_by_key(|&group| worn(group))?;
        self.is_beyond_chance(view, worn(written.place.group), worn(least), width).then_some(least)
    }

    /// The parity channel that brings the written pages to the least worn planes of the group, if that is worth a shift.
    fn other_channel(&self, view: View<'_>, written: &WrittenStripe) -> Option<u32> {
        let stripes = view.stripes()?;
        let group = written.place.group;
        let pages = || written.pages(stripes);
        let worn = |parity_channel: u32| {
            let place = Place { group, parity_channel };
            pages().map(|page| view.erases_of(stripes.plane_if(page, place))).sum::<u64>()
        };
        let now: u64 = pages().map(|page| view.erases_of(stripes.plane_of(page))).sum();
        let best = (0..stripes.width()).min_by_key(|&channel| worn(channel))?;
        self.is_beyond_chance(view, now, worn(best), pages().count() as u32).then_some(best)
    }
}

impl WearLevel for Imbalance {
    fn prepare(&mut self, _: &Device) -> Result<(), ConfigError> {
        for (key, value, most) in [("spread_percent", self.spread_percent, 100_000), ("pause_us", self.pause_us, 60_000_000)] {
            if value == 0 || value > most {
                return Err(ConfigError(format!("[wear_level] `{key}` is {value}; allowed: 1 to {most}")));
            }
        }
        if !self.migrate && !self.shift {
            return Err(ConfigError("[wear_level] `migrate` and `shift` are both false; `policy` = \"never\" says so".into()));
        }
        Ok(())
    }

    fn destination(&mut self, view: View<'_>, written: &WrittenStripe) -> Option<Place> {
        if view.now() < self.rests_until {
            return None;
        }
        let Place { group, parity_channel } = written.place;
        let migrated = if self.migrate { self.other_group(view, written) } else { None };
        let chosen = match migrated {
            Some(group) => Place { group, parity_channel },
            None if self.shift => Place { group, parity_channel: self.other_channel(view, written)? },
            None => return None,
        };
        self.rests_until = view.now() + Ns::from(self.pause_us) * US;
        Some(chosen)
    }

    fn active(&mut self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::State;
    use crate::testkit::state_with_stripes;

    /// Stripe 0 has pages 0, 1 and 2 on channels 0, 1 and 2 of group 0, and its parity on channel 3.
    fn asked(policy: &mut Imbalance, state: &State, written: u32) -> Option<Place> {
        let place = Place { group: 0, parity_channel: 3 };
        policy.destination(View(state), &WrittenStripe { stripe: 0, written, place })
    }

    fn worn(erases: &[(usize, u64)]) -> State {
        let mut state = state_with_stripes(4, 2, 4);
        erases.iter().for_each(|&(plane, erases)| state.plane_erases[plane] = erases);
        state
    }

    #[test]
    fn a_stripe_of_a_worn_group_migrates_from_the_bound_on() {
        // Planes 0, 2, 4 and 6 are group 0. Twice the square root of four planes with one erase each on average is 4.
        assert_eq!(asked(&mut Imbalance::new(true, false, 200, 1), &worn(&[(0, 3)]), 1), None);
        let found = asked(&mut Imbalance::new(true, false, 200, 1), &worn(&[(0, 4)]), 1);
        assert_eq!(found, Some(Place { group: 1, parity_channel: 3 }));
        assert_eq!(asked(&mut Imbalance::new(true, true, 200, 1), &worn(&[(1, 50)]), 0), None, "the other group is the worn one");
    }

    #[test]
    fn the_bound_grows_with_the_square_root_of_the_wear() {
        // Twice the square root of four planes with a hundred erases each on average is 40.
        for (gap, moves) in [(39u64, false), (40, true)] {
            let mut erases: Vec<(usize, u64)> = (0..8).map(|plane| (plane, 100)).collect();
            (erases[0].1, erases[1].1) = (100 + gap / 2, 100 - gap.div_ceil(2));
            assert_eq!(asked(&mut Imbalance::new(true, false, 200, 1), &worn(&erases), 1).is_some(), moves, "{gap}");
        }
    }

    #[test]
    fn written_pages_and_parity_are_shifted_to_less_worn_planes() {
        // Page 1 and the parity are on channels 1 and 3; shifted by one they are on 0 and 2. Three times the square root of two
        // planes with one erase each is 4.2.
        let found = |erases| asked(&mut Imbalance::new(false, true, 300, 1), &worn(&[(2, 2), (6, erases)]), 0b010);
        assert_eq!((found(2), found(3)), (None, Some(Place { group: 0, parity_channel: 0 })));
    }

    #[test]
    fn it_rests_between_two_moves() {
        let mut state = worn(&[(0, 80)]);
        let mut policy = Imbalance::new(true, true, 200, 1);
        assert!(asked(&mut policy, &state, 1).is_some());
        state.now = 999;
        assert!(asked(&mut policy, &state, 1).is_none());
        state.now = 1000;
        assert!(asked(&mut policy, &state, 1).is_some());
    }

    #[test]
    fn impossible_values_are_refused_with_their_key() {
        let refusal = |policy: &mut Imbalance| policy.prepare(&crate::testkit::tiny_device()).unwrap_err().0;
        assert!(refusal(&mut Imbalance::new(true, true, 0, 1)).contains("`spread_percent` is 0; allowed: 1 to 100000"));
        assert!(refusal(&mut Imbalance::new(true, true, 1, 60_000_001)).contains("`pause_us` is 60000001; allowed: 1 to 60000000"));
        assert!(refusal(&mut Imbalance::new(false, false, 1, 1)).contains("`migrate` and `shift`"));
    }
}
