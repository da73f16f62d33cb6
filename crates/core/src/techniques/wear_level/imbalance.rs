//! # Wear levelling by imbalance
//!
//! **What it does.** A stripe that has just been written is a likely hot one. If the planes of its group have been erased more
//! often than those of the least worn group, it migrates there, or to the next one that has room. Otherwise its pages are
//! shifted round the channels of its group so that those that were written, and the parity, come to the least worn planes.
//! Either is done only if it spares more erases than chance explains. A stripe that finds no room anywhere stays, and keeps no
//! other from being asked about.
//!
//! **Source.** TTFLASH, section 7: vertical migration and horizontal shifting. When a stripe moves, and which, the paper leaves
//! open: all of that is a decision here.
//!
//! **Parameters.** `migrate` and `shift` (default true both). `spread_percent` (default 200): the least gap between the erases
//! of *n* planes here and *n* planes there, in percent of the square root of *n* times the mean erases of a plane since the run
//! began; 1 to 100,000. `pause_us` (default 5000): microseconds from the beginning of one move to that of the next, at most a
//! minute; one stripe of the drive moves at a time. `patience_us` (default 50,000): microseconds from the beginning of a move
//! after which `order` sees what is left of it as reads for parity and flushes; at most a minute. It needs stripes.
//!
//! Why the square root: under writes that favour no plane, the erases of *n* planes scatter like a sum of random draws. If every
//! erase were a draw of its own, their standard deviation would be that square root. An erase follows many writes, so it is
//! less: two such sums differ by more than twice the square root practically never. A fixed number of erases is passed by chance
//! alone in every long run. This bound grows as well, but more slowly than the wear: at 10 erases it tolerates 63 % of the wear
//! of a plane, at 3,000 less than 4 %, and life ends there.
//!
//! **Cost.** A move reads and programs every page of a stripe, with the lowest priority at the dies as long as `patience_us` says.
//! Until it is done the stripe's new pages stay in RAM, and no other stripe moves. On dies that are never idle it takes that time,
//! and then as long as two of the buffer's pages would, read and programmed one after the other. A stripe that turns cold has
//! moved in vain.

use crate::policy::prelude::*;
use crate::stripes::Place;

/// Hot stripes move to less worn planes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Imbalance {
    migrate: bool,
    shift: bool,
    spread_percent: u32,
    pause_us: u32,
    patience_us: u32,
}

impl Default for Imbalance {
    fn default() -> Self {
        Self::new(true, true, 200, 5000, 50_000)
    }
}

impl Imbalance {
    /// With these parameters.
    pub fn new(migrate: bool, shift: bool, spread_percent: u32, pause_us: u32, patience_us: u32) -> Self {
        Self { migrate, shift, spread_percent, pause_us, patience_us }
    }

    /// Whether planes have been erased more often than as many others by more than chance explains. A mean of less than one
    /// erase counts as one.
    fn is_beyond_chance(&self, view: View<'_>, here: u64, there: u64, planes: u32) -> bool {
        let all = u128::from(view.geometry().planes());
        let gap = u128::from(here.saturating_sub(there)) * 100;
        let percent = u128::from(self.spread_percent);
        gap * gap * all >= percent * percent * u128::from(planes) * u128::from(view.erases_of_all()).max(all)
    }

    /// The groups that are worth a migration, the least worn one first.
    fn other_groups(&self, view: View<'_>, written: &WrittenStripe) -> impl Iterator<Item = u32> + use<> {
        let mut others = Vec::new();
        if let Some(stripes) = view.stripes() {
            let width = stripes.width();
            let worn = |group: u32| (0..width).map(|channel| view.erases_of(stripes.plane_at(group, channel))).sum::<u64>();
            let here = worn(written.place.group);
            let groups = (0..stripes.groups()).map(|group| (worn(group), group));
            others.extend(groups.filter(|&(there, _)| self.is_beyond_chance(view, here, there, width)));
            others.sort_unstable();
        }
        others.into_iter().map(|(_, group)| group)
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
        let mut faults = Faults::default();
        faults.range("wear_level", "spread_percent", self.spread_percent, 1, 100_000);
        faults.range("wear_level", "pause_us", self.pause_us, 1, 60_000_000);
        faults.range("wear_level", "patience_us", self.patience_us, 1, 60_000_000);
        if !self.migrate && !self.shift {
            let fault = Fault::new("wear_level", "migrate", "and `shift` are both false; `policy` = \"never\" says so");
            faults.push(fault.with("wear_level", "shift").with("wear_level", "policy"));
        }
        faults.result()
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        with.needs_stripes("wear_level", "imbalance", faults);
    }

    fn destinations(&mut self, view: View<'_>, written: &WrittenStripe, places: &mut Vec<Place>) {
        let Place { group, parity_channel } = written.place;
        if self.migrate {
            places.extend(self.other_groups(view, written).map(|group| Place { group, parity_channel }));
        }
        if self.shift {
            places.extend(self.other_channel(view, written).map(|parity_channel| Place { group, parity_channel }));
        }
    }

    fn pause_ns(&mut self) -> Ns {
        Ns::from(self.pause_us) * US
    }

    fn patience_ns(&mut self) -> Ns {
        Ns::from(self.patience_us) * US
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Parts;
    use crate::testkit::state_with_stripes;

    /// Stripe 0 has pages 0, 1 and 2 on channels 0, 1 and 2 of group 0, and its parity on channel 3.
    fn asked(policy: &mut Imbalance, state: &Parts, written: u32) -> Vec<Place> {
        let mut places = Vec::new();
        let place = Place { group: 0, parity_channel: 3 };
        policy.destinations(state.view(), &WrittenStripe { stripe: 0, written, place }, &mut places);
        places
    }

    fn imbalance(migrate: bool, shift: bool, spread_percent: u32) -> Imbalance {
        Imbalance::new(migrate, shift, spread_percent, 1, 1)
    }

    fn worn(erases: &[(usize, u64)]) -> Parts {
        let mut state = state_with_stripes(4, 2, 4);
        erases.iter().for_each(|&(plane, erases)| state.ftl.gc.plane_erases_for_test()[plane] = erases);
        state
    }

    #[test]
    fn a_stripe_of_a_worn_group_migrates_from_the_bound_on() {
        // Planes 0, 2, 4 and 6 are group 0. Twice the square root of four planes with one erase each on average is 4.
        assert_eq!(asked(&mut imbalance(true, false, 200), &worn(&[(0, 3)]), 1), []);
        let found = asked(&mut imbalance(true, false, 200), &worn(&[(0, 4)]), 1);
        assert_eq!(found, [Place { group: 1, parity_channel: 3 }]);
        assert_eq!(asked(&mut imbalance(true, true, 200), &worn(&[(1, 50)]), 0), [], "the other group is the worn one");
    }

    #[test]
    fn of_several_places_the_least_worn_group_comes_first_and_a_shift_last() {
        // Planes 0, 3, 6 and 9 are group 0, and group 1 is worn more than group 2.
        let mut state = state_with_stripes(4, 3, 4);
        for (plane, erases) in [(0, 60), (1, 9), (2, 3)] {
            state.ftl.gc.plane_erases_for_test()[plane] = erases;
        }
        let places = asked(&mut imbalance(true, true, 100), &state, 1);
        let groups: Vec<u32> = places.iter().map(|place| place.group).collect();
        assert_eq!(groups, [2, 1, 0]);
        assert!(places[2].parity_channel != 3, "page 0 comes away from plane 0");
    }

    #[test]
    fn the_bound_grows_with_the_square_root_of_the_wear() {
        // Twice the square root of four planes with a hundred erases each on average is 40.
        for (gap, moves) in [(39u64, false), (40, true)] {
            let mut erases: Vec<(usize, u64)> = (0..8).map(|plane| (plane, 100)).collect();
            (erases[0].1, erases[1].1) = (100 + gap / 2, 100 - gap.div_ceil(2));
            assert_eq!(!asked(&mut imbalance(true, false, 200), &worn(&erases), 1).is_empty(), moves, "{gap}");
        }
    }

    #[test]
    fn written_pages_and_parity_are_shifted_to_less_worn_planes() {
        // Page 1 and the parity are on channels 1 and 3; shifted by one they are on 0 and 2. Three times the square root of two
        // planes with one erase each is 4.2.
        let found = |erases| asked(&mut imbalance(false, true, 300), &worn(&[(2, 2), (6, erases)]), 0b010);
        assert_eq!((found(2), found(3)), (vec![], vec![Place { group: 0, parity_channel: 0 }]));
    }

    #[test]
    fn impossible_values_are_refused_with_their_key() {
        let refusal = |policy: &mut Imbalance| policy.prepare(&crate::testkit::tiny_device()).unwrap_err().to_string();
        assert!(refusal(&mut Imbalance::new(true, true, 0, 1, 1)).contains("`spread_percent` is 0; allowed: 1 to 100000"));
        assert!(refusal(&mut Imbalance::new(true, true, 1, 60_000_001, 1)).contains("`pause_us` is 60000001; allowed: 1 to 60000000"));
        assert!(refusal(&mut Imbalance::new(true, true, 1, 1, 0)).contains("`patience_us` is 0; allowed: 1 to 60000000"));
        assert!(refusal(&mut Imbalance::new(false, false, 1, 1, 1)).contains("`migrate` and `shift`"));
    }
}
