//! What all ways of ageing need: the pages that live, their planes, and who does the work.

use crate::design::{CycleLevels, Design};
use crate::device::Geometry;
use crate::ids::{Lpn, PlaneIx};
use crate::stripes::Stripes;
use crate::techniques::PlacePolicy;
use crate::units::{Divisor, bounded};
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
    /// A digest of what lies where, of the erases of each block, and of the open blocks: equal ones mean equal states.
    #[serde(default)]
    pub digest: u64,
    /// Write amplification of each round; empty unless the drive was aged to its steady state.
    pub rounds: Vec<f64>,
    /// Whether write amplification became steady; `None` if nobody asked.
    pub steady: Option<bool>,
}

/// The pages that ageing maps: those from 0 on, and those beyond that the workload touches. Where pages form stripes, each
/// stripe from 0 on is followed by its parity, and those beyond have theirs behind them.
#[derive(Clone, Copy)]
pub(super) struct LivePages<'a> {
    pub(super) mapped: Lpn,
    pub(super) stripes: Option<&'a Stripes>,
    pub(super) beyond: &'a [Lpn],
    /// How many of those beyond are the host's.
    pub(super) beyond_of_host: u32,
    /// How often the parity of a page that is overwritten is written too.
    pub(super) parity_percent: u32,
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
            // Each stripe has a page in every plane of its group.
            Layout::Stripes(stripes, _) => {
                let group = stripes.group_of_plane(index as PlaneIx);
                self.mapped.div_ceil(stripes.width() - 1).saturating_sub(group).div_ceil(stripes.groups())
            }
            layout => layout.pages_of_plane(self.mapped),
        };
        // The last stripe may be mapped in part, and the last round of pages.
        let is_mapped = move |lpn: &Lpn| *lpn < self.mapped || self.stripes.is_some_and(|stripes| stripes.is_parity(*lpn));
        (0..ends).filter_map(move |inside| layout.page(index, inside)).filter(is_mapped)
    }

    /// Those that are the host's.
    pub(super) fn of_host(self) -> u64 {
        u64::from(self.mapped) + u64::from(self.beyond_of_host)
    }

    /// So many pages of the host, with the parity that is written along with them.
    pub(super) fn with_parity(self, of_host: u64) -> u64 {
        of_host + if self.stripes.is_some() { of_host * u64::from(self.parity_percent) / 100 } else { 0 }
    }

    /// Random pages of the host, without end, some of them followed by their parity.
    pub(super) fn at_random(self, seed: u64) -> impl FnMut() -> Lpn + Clone + use<'a> {
        let mut random = Pcg64Mcg::new(u128::from(seed) << 1 | 1 << 100);
        let mut parity = None;
        move || {
            if let Some(parity) = parity.take() {
                return parity;
            }
            let index = bounded(random.next_u64(), self.of_host());
            let lpn = if index < self.mapped.into() { index as Lpn } else { self.beyond[(index - u64::from(self.mapped)) as usize] };
            if let Some(stripes) = self.stripes
                && (self.parity_percent == 100 || bounded(random.next_u64(), 100) < self.parity_percent.into())
            {
                parity = Some(stripes.parity(stripes.of(lpn)));
            }
            lpn
        }
    }

    /// All of them, in order.
    pub(super) fn iter(self) -> impl Iterator<Item = Lpn> + Clone + use<'a> {
        (0..self.count()).map(move |index| self.get(index))
    }
}

/// Which plane each logical page has, and as which of its pages.
#[derive(Clone)]
pub(super) enum Layout {
    /// The plane of each logical page, modulo their number.
    Round(Vec<PlaneIx>, Divisor),
    /// Stripes.
    Stripes(Stripes, u32),
    /// Any of several planes, by chance.
    Dealt(Dealt),
}

/// Pages that may lie in any of several planes, as random writes leave them: of each round of pages every plane has one, and which
/// is drawn anew.
#[derive(Clone)]
pub(super) struct Dealt {
    /// The first plane of each pool; the pages of a round belong to them in turn.
    pools: Vec<PlaneIx>,
    /// So many pages in a row, a divisor of the planes of a pool, belong to each.
    row: u32,
    /// Planes of a pool.
    planes: u32,
    /// Numbers that have no divisor in common with the planes of a pool, each with its inverse modulo that number.
    steps: Vec<(u32, u32)>,
    seed: u64,
}

impl Dealt {
    fn new(pools: Vec<PlaneIx>, row: u32, planes: u32, seed: u64) -> Self {
        let inverse = |step: u32| (1..planes.max(2)).find(|other| step * other % planes == 1 % planes);
        let steps = (1..planes.max(2)).filter_map(|step| Some((step, inverse(step)?))).collect();
        Self { pools, row, planes, steps, seed }
    }

    /// Pages of a round.
    fn round(&self) -> u32 {
        self.pools.len() as u32 * self.planes
    }

    /// Where a round begins and how it goes on: step, its inverse, and offset.
    fn deal(&self, round: u32) -> (u32, u32, u32) {
        let mut mixed = (self.seed ^ u64::from(round)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^= mixed >> 29;
        let (step, inverse) = self.steps[bounded(mixed, self.steps.len() as u64) as usize];
        (step, inverse, bounded(mixed << 32, self.planes.into()) as u32)
    }

    fn split(&self, lpn: Lpn) -> (PlaneIx, u32) {
        let (round, place) = (lpn / self.round(), lpn % self.round());
        let turn = place / self.row;
        let (pool, within) = (turn % self.pools.len() as u32, turn / self.pools.len() as u32 * self.row + place % self.row);
        let (step, _, offset) = self.deal(round);
        (self.pools[pool as usize] + (step * within + offset) % self.planes, round)
    }

    fn join(&self, plane: PlaneIx, round: u32) -> Lpn {
        let first = plane / self.planes * self.planes;
        let pool = self.pools.iter().position(|&pool| pool == first).expect("a plane of a pool") as u32;
        let (_, inverse, offset) = self.deal(round);
        let within = inverse * ((plane - first + self.planes - offset) % self.planes) % self.planes;
        let turn = within / self.row * self.pools.len() as u32 + pool;
        round * self.round() + turn * self.row + within % self.row
    }
}

impl Layout {
    pub(super) fn of(place: &PlacePolicy, planes: u32) -> Option<Self> {
        match place {
            PlacePolicy::Static(place) => {
                let round = place.round();
                Some(Self::Round(round.to_vec(), Divisor::new(round.len() as u32)))
            }
            PlacePolicy::Rain(rain) => rain.layout().map(|stripes| Self::Stripes(stripes.clone(), planes)),
            _ => None,
        }
    }

    /// As `of`, and also where pages may lie in any of several planes: one that random writes lead to.
    pub(super) fn drawn(place: &PlacePolicy, geometry: &Geometry, seed: u64) -> Option<Self> {
        let planes = geometry.planes();
        let dealt = |pools, row, planes| Some(Self::Dealt(Dealt::new(pools, row, planes, seed)));
        match place {
            PlacePolicy::IdleDie(_) | PlacePolicy::NextIdle(_) => dealt(vec![0], 1, planes),
            PlacePolicy::Superpage(superpage) => {
                let (dies, row) = superpage.dies();
                dealt(dies.iter().map(|die| die * geometry.planes_per_die).collect(), row, geometry.planes_per_die)
            }
            place => Self::of(place, planes),
        }
    }

    /// The number of planes.
    pub(super) fn planes(&self) -> usize {
        match self {
            Self::Round(round, _) => round.len(),
            Self::Stripes(_, planes) => *planes as usize,
            Self::Dealt(dealt) => dealt.round() as usize,
        }
    }

    /// The most logical pages of any plane.
    pub(super) fn pages_of_plane(&self, pages: u32) -> u32 {
        match self {
            Self::Round(round, _) => pages.div_ceil(round.len() as u32),
            Self::Stripes(stripes, _) => stripes.rows(),
            Self::Dealt(dealt) => pages.div_ceil(dealt.round()),
        }
    }

    /// The plane at an index.
    pub(super) fn plane(&self, index: usize) -> PlaneIx {
        match self {
            Self::Round(round, _) => round[index],
            Self::Stripes(..) | Self::Dealt(_) => index as PlaneIx,
        }
    }

    /// The index of a logical page's plane, and its number inside it.
    #[inline]
    pub(super) fn split(&self, lpn: Lpn) -> (PlaneIx, Lpn) {
        match self {
            Self::Round(_, planes) => planes.split(lpn),
            Self::Stripes(stripes, _) => (stripes.static_plane(lpn), stripes.row_of(lpn)),
            Self::Dealt(dealt) => dealt.split(lpn),
        }
    }

    /// The logical page of a number inside a plane.
    #[inline]
    pub(super) fn join(&self, index: usize, inside: Lpn) -> Lpn {
        self.page(index, inside).expect("a page of the plane")
    }

    /// The same; nothing where the last stripe has no page in the plane.
    #[inline]
    fn page(&self, index: usize, inside: Lpn) -> Option<Lpn> {
        match self {
            Self::Round(_, planes) => Some(inside * planes.by + index as u32),
            Self::Stripes(stripes, _) => stripes.page_at(index as PlaneIx, inside),
            Self::Dealt(dealt) => Some(dealt.join(index as PlaneIx, inside)),
        }
    }
}

/// The erased space below which ageing collects, and that at which it stops.
pub(crate) fn levels_at_start(design: &Design) -> CycleLevels {
    design.start.ageing.expect("a drive's design is prepared")
}
