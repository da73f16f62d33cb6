//! What all ways of ageing need: the pages that live, their planes, and who does the work.

use crate::design::Design;
use crate::device::{AgeingVictims, Device};
use crate::ids::{Lpn, PlaneIx};
use crate::policy::PlacePolicy;
use crate::raid::stripes::Stripes;
use crate::units::Divisor;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

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
pub(super) struct LivePages<'a> {
    pub(super) mapped: Lpn,
    pub(super) stripes: Option<&'a Stripes>,
    pub(super) beyond: &'a [Lpn],
}

impl<'a> LivePages<'a> {
    /// The pages from 0 on, with their parity.
    fn pages_from_zero(self) -> u64 {
        let parity = self.stripes.map_or(0, |stripes| self.mapped.div_ceil(stripes.width() - 1));
        u64::from(self.mapped) + u64::from(parity)
    }

    pub(super) fn count(self) -> u64 {
        self.pages_from_zero() + self.beyond.len() as u64
    }

    pub(super) fn get(self, index: u64) -> Lpn {
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
    pub(super) fn of_plane<'b>(self, layout: &'b Layout, index: usize) -> impl Iterator<Item = Lpn> + use<'a, 'b> {
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
    pub(super) fn in_order(self) -> impl FnMut() -> Lpn + Clone + use<'a> {
        let mut next = 0;
        move || {
            next += 1;
            self.get(next - 1)
        }
    }

    /// Random ones, without end.
    pub(super) fn at_random(self, seed: u64) -> impl FnMut() -> Lpn + Clone + use<'a> {
        let mut random = Pcg64Mcg::new(u128::from(seed) << 1 | 1 << 100);
        move || self.get(bounded(random.next_u64(), self.count()))
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Lpn> + use<'a> {
        (0..self.count()).map(move |index| self.get(index))
    }
}

/// Which plane each logical page has, and as which of its pages, where that never changes.
#[derive(Clone)]
pub(super) enum Layout {
    /// The plane of each logical page, modulo their number.
    Round(Vec<PlaneIx>, Divisor),
    /// Stripes.
    Stripes(Stripes, u32),
}

impl Layout {
    pub(super) fn of(place: &PlacePolicy, planes: u32) -> Option<Self> {
        match place {
            PlacePolicy::Static(_) => {
                let round = place.round()?;
                Some(Self::Round(round.to_vec(), Divisor::new(round.len() as u32)))
            }
            PlacePolicy::Rain(rain) => rain.layout().map(|stripes| Self::Stripes(stripes.clone(), planes)),
            _ => None,
        }
    }

    /// The number of planes.
    pub(super) fn planes(&self) -> usize {
        match self {
            Self::Round(round, _) => round.len(),
            Self::Stripes(_, planes) => *planes as usize,
        }
    }

    /// The most logical pages of any plane.
    pub(super) fn pages_of_plane(&self, pages: u32) -> u32 {
        match self {
            Self::Round(round, _) => pages.div_ceil(round.len() as u32),
            Self::Stripes(stripes, _) => stripes.rows(),
        }
    }

    /// The plane at an index.
    pub(super) fn plane(&self, index: usize) -> PlaneIx {
        match self {
            Self::Round(round, _) => round[index],
            Self::Stripes(..) => index as PlaneIx,
        }
    }

    /// The index of a logical page's plane, and its number inside it.
    #[inline]
    pub(super) fn split(&self, lpn: Lpn) -> (usize, Lpn) {
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
    pub(super) fn join(&self, index: usize, inside: Lpn) -> Lpn {
        match self {
            Self::Round(_, planes) => inside * planes.by + index as u32,
            Self::Stripes(stripes, _) => stripes.page_at(index as PlaneIx, inside).expect("a row of the plane"),
        }
    }
}

/// Erased pages below which ageing collects a plane: those of the starting state, rounded as the watermarks of GC are, but
/// enough for the reserve, the write points and one block besides.
pub(super) fn free_target(device: &Device, design: &Design) -> u32 {
    let kept = design.gc.reserve_blocks + design.gc.write_points;
    let stated = (f64::from(device.geometry.pages_per_plane()) * device.state.free_percent / 100.0).ceil() as u32;
    stated.max((kept + 1) * device.geometry.pages_per_block)
}

/// Whether the state asks for the design's own victims instead of greedy ones.
pub(super) fn designs_own_victims(device: &Device) -> bool {
    device.state.victims == AgeingVictims::Design
}

/// Scales a random 64-bit number to 0 ..= below - 1.
pub(super) fn bounded(random: u64, below: u64) -> u64 {
    ((u128::from(random) * u128::from(below)) >> 64) as u64
}
