//! Ageing: the state in which runs start, made in the books alone, without time.
//!
//! The device's `[state]` says how. By writing: the live pages are written once in order, then overwritten at random, to a
//! stated amount or until write amplification is steady, while GC holds every plane's erased share at the one that the state
//! names. Or by a statistical layout: the state that those writes lead to is drawn from its theory. Unless the state asks
//! for the design's own victims, the contents depend on device and layout, never on a design's thresholds, so that every
//! design starts from the same ones. TTFLASH, section 6 (pre-warmed drives).

use crate::design::Design;
use crate::device::{AgeingMethod, AgeingVictims, Device};
use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::ageing::planewise::Planewise;
use crate::ids::Lpn;
use crate::observe::Observer;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

mod layout;
mod mean_field;
mod planewise;
mod steady;
#[cfg(test)]
mod tests;
mod writing;

pub(crate) use layout::check_theory;

/// What ageing did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aged {
    /// Live pages.
    pub live_pages: u64,
    /// Pages written, live ones and overwrites. A statistical layout writes none but the live ones.
    pub written_pages: u64,
    /// Pages that GC moved.
    pub moved_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Least erased pages of any plane at the end.
    pub free_pages_min: u32,
    /// Most erased pages of any plane at the end.
    pub free_pages_max: u32,
    /// Mean valid share of the last eight victims of each plane, in thousandths; of a statistical layout, that of its theory.
    pub victim_valid_permille: u32,
    /// Write amplification of each round; empty unless the drive was aged to its steady state.
    pub rounds: Vec<f64>,
    /// Whether write amplification became steady; `None` if nobody asked.
    pub steady: Option<bool>,
}

/// The pages that ageing maps: those from 0 on, and those beyond that the workload touches.
#[derive(Clone, Copy)]
struct LivePages<'a> {
    mapped: Lpn,
    beyond: &'a [Lpn],
}

impl<'a> LivePages<'a> {
    fn count(self) -> u64 {
        u64::from(self.mapped) + self.beyond.len() as u64
    }

    fn get(self, index: u64) -> Lpn {
        let mapped = u64::from(self.mapped);
        if index < mapped { index as Lpn } else { self.beyond[(index - mapped) as usize] }
    }

    /// All of them, in order and without end.
    fn in_order(self) -> impl FnMut() -> Lpn + Clone + use<'a> {
        let mut next = 0;
        move || {
            next += 1;
            self.get(next - 1)
        }
    }

    /// Random ones, without end.
    fn at_random(self, seed: u64) -> impl FnMut() -> Lpn + Clone + use<'a> {
        let mut random = Pcg64Mcg::new(u128::from(seed) << 1 | 1 << 100);
        move || self.get(bounded(random.next_u64(), self.count()))
    }

    fn iter(self) -> impl Iterator<Item = Lpn> + use<'a> {
        (0..self.mapped).chain(self.beyond.iter().copied())
    }
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Ages an erased drive to its device's starting state, after its bad blocks have been drawn from the seed. `footprint` lists pages that must be mapped in any case. `progress` is
    /// told pages done and pages in all, and stops the ageing by returning false.
    pub fn age(&mut self, seed: u64, footprint: &[Lpn], mut progress: impl FnMut(u64, u64) -> bool) -> Aged {
        let device = self.state.device.clone();
        self.state.books.draw_bad_blocks(device.bad_blocks_per_plane(), seed);
        let mapped = device.mapped_pages();
        let beyond: Vec<Lpn> = footprint.iter().copied().filter(|&lpn| lpn >= mapped && u64::from(lpn) < device.logical_pages()).collect();
        let live = LivePages { mapped, beyond: &beyond };
        self.policies.seed(seed);
        // Nobody reads while a drive ages, so the oracle hears of the outcome alone.
        let oracle = self.oracle.take();
        let mut aged = match device.state.ageing {
            AgeingMethod::Overwrite | AgeingMethod::Steady => {
                let planewise = Planewise::new(self);
                self.age_by_writing(live, seed, planewise, &mut progress)
            }
            AgeingMethod::Statistical => self.lay_out(live, seed, &mut progress),
        };
        aged.live_pages = live.count();
        self.oracle = oracle;
        self.tell_oracle(live.iter());
        let frees = (0..device.geometry.planes()).map(|plane| self.state.books.free_pages(plane));
        aged.free_pages_min = frees.clone().min().unwrap_or(0);
        aged.free_pages_max = frees.max().unwrap_or(0);
        aged
    }

    /// Tells the oracle, if there is one, where the pages lie that ageing wrote.
    pub(crate) fn tell_oracle(&mut self, live: impl Iterator<Item = Lpn>) {
        if let Some(oracle) = &mut self.oracle {
            for lpn in live {
                oracle.aged(lpn, self.state.books.lookup(lpn));
            }
        }
    }
}

/// Erased pages below which ageing collects a plane: those of the starting state, rounded as the watermarks of GC are, but
/// enough for the reserve, the write points and one block besides.
fn free_target(device: &Device, design: &Design) -> u32 {
    let kept = design.gc.reserve_blocks + design.gc.write_points;
    let stated = (u64::from(device.geometry.pages_per_plane()) * u64::from(device.state.free_percent)).div_ceil(100) as u32;
    stated.max((kept + 1) * device.geometry.pages_per_block)
}

/// Whether the state asks for the design's own victims instead of greedy ones.
fn designs_own_victims(device: &Device) -> bool {
    device.state.victims == AgeingVictims::Design
}

/// Scales a random 64-bit number to 0 ..= below - 1.
fn bounded(random: u64, below: u64) -> u64 {
    ((u128::from(random) * u128::from(below)) >> 64) as u64
}
