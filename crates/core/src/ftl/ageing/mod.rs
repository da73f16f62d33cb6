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
use crate::ftl::Divisor;
use crate::ftl::ageing::planewise::Planewise;
use crate::ftl::rain::Stripes;
use crate::ids::{Lpn, NONE, PlaneIx};
use crate::observe::Observer;
use crate::policy::PlacePolicy;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

mod layout;
mod mean_field;
mod planewise;
mod steady;
mod strict;
#[cfg(test)]
mod tests;
mod writing;

pub(crate) use layout::check_theory;

/// Does pieces of work that know nothing of each other. The core has no threads; whoever calls it may have some.
pub trait Workers {
    /// Does the work of every item, with scratch of the one who does it, until one returns false. Returns whether none did.
    fn each<T: Send, S>(&self, items: &mut [T], scratch: impl Fn() -> S + Sync, work: impl Fn(&mut S, &mut T) -> bool + Sync) -> bool;
}

/// One piece after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneByOne;

impl Workers for OneByOne {
    fn each<T: Send, S>(&self, items: &mut [T], scratch: impl Fn() -> S + Sync, work: impl Fn(&mut S, &mut T) -> bool + Sync) -> bool {
        let mut scratch = scratch();
        items.iter_mut().all(|item| work(&mut scratch, item))
    }
}

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

/// The pages that ageing maps: those from 0 on, and those beyond that the workload touches. Where pages form stripes, each
/// stripe from 0 on is followed by its parity, and those beyond have theirs among them.
#[derive(Clone, Copy)]
struct LivePages<'a> {
    mapped: Lpn,
    stripes: Option<&'a Stripes>,
    beyond: &'a [Lpn],
}

impl<'a> LivePages<'a> {
    /// The pages from 0 on, with their parity.
    fn pages_from_zero(self) -> u64 {
        let parity = self.stripes.map_or(0, |stripes| self.mapped.div_ceil(stripes.width() - 1));
        u64::from(self.mapped) + u64::from(parity)
    }

    fn count(self) -> u64 {
        self.pages_from_zero() + self.beyond.len() as u64
    }

    fn get(self, index: u64) -> Lpn {
        let from_zero = self.pages_from_zero();
        if index >= from_zero {
            return self.beyond[(index - from_zero) as usize];
        }
        match self.stripes {
            None => index as Lpn,
            Some(stripes) => {
                let (stripe, place) = (index as u32 / stripes.width(), index as u32 % stripes.width());
                stripes.page_in(stripe, place)
            }
        }
    }

    /// Those of one plane that are from 0 on.
    fn of_plane<'b>(self, layout: &'b Layout, index: usize) -> impl Iterator<Item = Lpn> + use<'a, 'b> {
        let ends = match layout {
            Layout::Round(round, _) => self.mapped.saturating_sub(index as u32).div_ceil(round.len() as u32),
            // Whole stripes are mapped, one page of each in every plane of its group.
            Layout::Stripes(stripes, _) => {
                let group = stripes.group_of_plane(index as PlaneIx);
                (self.mapped / (stripes.width() - 1)).saturating_sub(group).div_ceil(stripes.groups())
            }
        };
        (0..ends).map(move |inside| layout.join(index, inside))
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
        (0..self.count()).map(move |index| self.get(index))
    }
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Ages an erased drive to its device's starting state, after its bad blocks have been drawn from the seed. `footprint` lists pages that must be mapped in any case. `progress` is
    /// told pages done and pages in all, and stops the ageing by returning false.
    pub fn age(&mut self, seed: u64, footprint: &[Lpn], progress: impl Fn(u64, u64) -> bool + Sync) -> Aged {
        self.age_with(&OneByOne, seed, footprint, progress)
    }

    /// As `age`. Where planes are independent of each other, the workers share them.
    pub fn age_with(&mut self, workers: &impl Workers, seed: u64, footprint: &[Lpn], progress: impl Fn(u64, u64) -> bool + Sync) -> Aged {
        let device = self.state.device.clone();
        self.state.books.draw_bad_blocks(device.bad_blocks_per_plane(), seed);
        let mapped = self.mapped_pages();
        let stripes = self.state.rain.as_ref().map(|rain| rain.stripes.clone());
        let mut beyond: Vec<Lpn> =
            footprint.iter().copied().filter(|&lpn| lpn >= mapped && u64::from(lpn) < device.logical_pages()).collect();
        if let Some(stripes) = &stripes {
            let mut touched: Vec<u32> = beyond.iter().map(|&lpn| stripes.of(lpn)).collect();
            touched.sort_unstable();
            touched.dedup();
            beyond.extend(touched.into_iter().map(|stripe| stripes.parity(stripe)));
        }
        let live = LivePages { mapped, stripes: stripes.as_ref(), beyond: &beyond };
        self.seed(seed);
        // Nobody reads while a drive ages, so the oracle hears of the outcome alone.
        let oracle = self.oracle.take();
        let mut aged = match device.state.ageing {
            AgeingMethod::Overwrite | AgeingMethod::Steady => {
                let planewise = Planewise::new(self);
                self.age_by_writing(live, seed, planewise, workers, &progress)
            }
            AgeingMethod::Statistical => self.lay_out(live, seed, &progress),
        };
        if self.state.traits.gathers {
            self.make_strict(&mut aged);
        }
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
            let books = &self.state.books;
            let stripes = self.state.rain.as_ref().map(|rain| &rain.stripes);
            let mut parities = Vec::new();
            for lpn in live {
                match stripes {
                    Some(stripes) if stripes.is_parity(lpn) => parities.push(lpn),
                    _ => oracle.aged(lpn, books.lookup(lpn)),
                }
            }
            for (stripes, parity) in parities.into_iter().filter_map(|parity| Some((stripes?, parity))) {
                let (first, members) = stripes.members(stripes.of(parity));
                let mapped = (first..first + members).map(|lpn| books.lookup(lpn)).filter(|&ppn| ppn != NONE);
                oracle.aged_parity(books.lookup(parity), mapped);
            }
        }
    }
}

/// Which plane each logical page has, and as which of its pages, where that never changes.
#[derive(Clone)]
enum Layout {
    /// The plane of each logical page, modulo their number.
    Round(Vec<PlaneIx>, Divisor),
    /// Stripes.
    Stripes(Stripes, u32),
}

impl Layout {
    fn of(place: &PlacePolicy, planes: u32) -> Option<Self> {
        match place {
            PlacePolicy::Static(_) | PlacePolicy::LeastWorn(_) => {
                let round = place.round()?;
                Some(Self::Round(round.to_vec(), Divisor::new(round.len() as u32)))
            }
            PlacePolicy::Rain(rain) => rain.layout().map(|stripes| Self::Stripes(stripes.clone(), planes)),
            _ => None,
        }
    }

    /// The number of planes.
    fn planes(&self) -> usize {
        match self {
            Self::Round(round, _) => round.len(),
            Self::Stripes(_, planes) => *planes as usize,
        }
    }

    /// The most logical pages of any plane.
    fn pages_of_plane(&self, pages: u32) -> u32 {
        match self {
            Self::Round(round, _) => pages.div_ceil(round.len() as u32),
            Self::Stripes(stripes, _) => stripes.rows(),
        }
    }

    /// The plane at an index.
    fn plane(&self, index: usize) -> PlaneIx {
        match self {
            Self::Round(round, _) => round[index],
            Self::Stripes(..) => index as PlaneIx,
        }
    }

    /// The index of a logical page's plane, and its number inside it.
    #[inline]
    fn split(&self, lpn: Lpn) -> (usize, Lpn) {
        match self {
            Self::Round(_, planes) => {
                let inside = planes.divide(lpn);
                ((lpn - inside * planes.by) as usize, inside)
            }
            Self::Stripes(stripes, _) => (stripes.static_plane(lpn) as usize, stripes.row_of(lpn)),
        }
    }

    /// The logical page of a number inside a plane.
    #[inline]
    fn join(&self, index: usize, inside: Lpn) -> Lpn {
        match self {
            Self::Round(_, planes) => inside * planes.by + index as u32,
            Self::Stripes(stripes, _) => stripes.page_at(index as PlaneIx, inside).expect("a row of the plane"),
        }
    }
}

/// Erased pages below which ageing collects a plane: those of the starting state, rounded as the watermarks of GC are, but
/// enough for the reserve, the write points and one block besides.
fn free_target(device: &Device, design: &Design) -> u32 {
    let kept = design.gc.reserve_blocks + design.gc.write_points;
    let stated = (f64::from(device.geometry.pages_per_plane()) * device.state.free_percent / 100.0).ceil() as u32;
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
