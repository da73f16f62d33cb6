//! A statistical layout: the steady state of uniform random writes, drawn from its theory without writing.
//!
//! Each plane is drawn by itself. The theory says how many of its blocks have how many valid pages, and how old they are;
//! the open blocks and the erased ones are those of a random moment between two collections. Which pages of a block are
//! valid, and which logical pages they hold, is random. Blocks are filled from the youngest to the oldest and from the last
//! page to the first, so that a stale page can be given to a logical page whose present copy is younger, as it must be.

use crate::context::Context;
use crate::design::Design;
use crate::device::{AgeingMethod, Device};
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::ftl::above::WithFtl;
use crate::ftl::ageing::common::{Aged, Layout, LivePages, bounded, designs_own_victims, free_target};
use crate::ftl::ageing::mean_field::{Levels, fifo_survival};
use crate::ftl::ageing::writing::Progress;
use crate::ftl::{NOT_A_VICTIM, Tables};
use crate::ids::{BlockIx, Lpn, NONE, PlaneIx};
use crate::mem::prefetch;
use crate::policy::{PlacePolicy, VictimPolicy};
use crate::raid::front::{Front, WithRaid};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tinytail_config::{ConfigError, Fault};

/// Pages ahead of which a map entry is fetched.
const AHEAD: usize = 16;

/// Victims whose steady state is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Theory {
    /// The fewest valid pages.
    Greedy,
    /// The fewest valid pages among this many random blocks.
    DChoices(u32),
    /// The order in which blocks closed.
    Fifo,
    /// The fewest erases, lowest index first: the order in which blocks closed, which is that of their indices.
    LeastWorn,
}

/// The steady state of a plane's closed blocks.
enum Steady {
    /// By their valid pages.
    Levels(Levels),
    /// By their age: the chance of a page to stay valid while a block is filled.
    Survival(f64),
}

impl Theory {
    /// The steady state of `closed` blocks that hold `valid` pages, and the valid share of victims.
    fn solve(self, pages_per_block: u32, closed: u32, valid: u32) -> (Steady, f64) {
        let pages = f64::from(pages_per_block);
        let valid_blocks = (f64::from(valid) / pages).min(closed.into());
        let rho = valid_blocks / f64::from(closed.max(1));
        let levels = match self {
            Self::Greedy => Levels::greedy(pages_per_block, rho),
            Self::DChoices(d) => Levels::d_choices(pages_per_block, rho, d),
            Self::Fifo | Self::LeastWorn => {
                let survival = fifo_survival(closed, valid_blocks);
                return (Steady::Survival(survival), libm::pow(survival, closed.into()));
            }
        };
        let victim_valid = 1.0 - levels.writes / pages;
        (Steady::Levels(levels), victim_valid)
    }
}

fn theory(design: &Design, device: &Device) -> Option<Theory> {
    if !designs_own_victims(device) {
        return Some(Theory::Greedy);
    }
    // The head of the chain decides; the others choose among blocks that are equal to it. Equally worn blocks are too many
    // for that.
    match design.victim.as_slice() {
        [VictimPolicy::Greedy(_), ..] => Some(Theory::Greedy),
        [VictimPolicy::DChoices(policy), ..] => Some(Theory::DChoices(policy.d())),
        [VictimPolicy::Fifo(_), ..] => Some(Theory::Fifo),
        [VictimPolicy::LeastWorn(_)] => Some(Theory::LeastWorn),
        _ => None,
    }
}

/// Refuses a statistical layout of a design that it can't be drawn for.
///
/// # Errors
/// What is missing, with both keys.
pub(crate) fn check_theory(design: &Design, device: &Device) -> Result<(), ConfigError> {
    if device.state.ageing != AgeingMethod::Statistical {
        return Ok(());
    }
    if !matches!(design.place, PlacePolicy::Static(_) | PlacePolicy::Rain(_)) {
        let found = format!(
            "is \"statistical\", but [place] `policy` is \"{}\"; the layout is known only for \"static\" and \"rain\", under which every \
             logical page has its plane",
            design.place.name()
        );
        let remedy = "age by \"overwrite\" or to \"steady\"";
        return Err(Fault::new("state", "ageing", found).with("place", "policy").remedy(remedy).into());
    }
    if theory(design, device).is_none() {
        let chain: Vec<&str> = design.victim.iter().map(VictimPolicy::name).collect();
        let found = format!(
            "is \"statistical\" and `victims` \"design\", but the steady state of [victim] `chain` {} has no theory here; known are chains \
             that begin with greedy, d_choices or fifo, and least_worn alone",
            chain.join(", ")
        );
        let remedy = "age to \"steady\", or with `victims` \"greedy\"";
        return Err(Fault::new("state", "ageing", found).with("victim", "chain").remedy(remedy).into());
    }
    Ok(())
}

impl<Q: EventQueue, U> Engine<Q, WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    pub(super) fn lay_out(&mut self, live: LivePages<'_>, seed: u64, progress: Progress<'_>) -> Aged {
        let (device, design) = (&self.flash.device, self.policies());
        let (Some(theory), Some(layout)) = (theory(design, device), Layout::of(&design.place, device.geometry.planes())) else {
            unreachable!("a design without a theory is refused when it is prepared")
        };
        let planes = layout.planes();
        let mut beyond = vec![Vec::new(); planes];
        for &lpn in live.beyond {
            beyond[layout.split(lpn).0].push(lpn);
        }
        let target = free_target(device, design);
        let tables = &mut self.up.ftl.tables;
        let mut aged = Aged::default();
        let mut victims_valid = 0.0;
        let mut lpns = Vec::new();
        for (index, beyond) in beyond.iter().enumerate() {
            let plane = layout.plane(index);
            lpns.clear();
            lpns.extend(live.of_plane(&layout, index).chain(beyond.iter().copied()));
            let random = Pcg64Mcg::seed_from_u64(seed.wrapping_add(u64::from(plane).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            if !lpns.is_empty() {
                let mut artist = Artist { tables, random, plane, live: lpns.len() as u32 };
                let drawn = artist.draw(theory, target, device.state.overwrite_percent);
                victims_valid += drawn.victim_valid;
                aged.erases += artist.fill(&drawn, &mut lpns);
            }
            aged.written_pages += lpns.len() as u64;
            if !progress(aged.written_pages, live.count()) {
                return aged;
            }
        }
        aged.victim_valid_permille = (victims_valid * 1000.0 / planes as f64) as u32;
        aged
    }
}

/// What is drawn of a plane before its pages are.
struct Drawn {
    /// Erased pages that are left in the open block of each write point; 0 where none is open.
    remainders: Vec<u32>,
    /// Valid pages of the closed blocks, from the youngest to the oldest.
    valid: Vec<u32>,
    /// Whether blocks lie in the order of their indices, the oldest first, or anywhere.
    by_index: bool,
    /// Erased blocks.
    erased: u32,
    /// Pages that have been programmed since the plane was new.
    programs: u64,
    /// Valid share of victims.
    victim_valid: f64,
}

/// Draws one plane.
struct Artist<'a> {
    tables: &'a mut Tables,
    random: Pcg64Mcg,
    plane: PlaneIx,
    live: u32,
}

impl Artist<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        bounded(self.random.next_u64(), bound.into()) as u32
    }

    fn shuffle(&mut self, items: &mut [u32]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index as u32 + 1) as usize);
        }
    }

    fn pages(&self) -> u32 {
        self.tables.geometry.pages_per_block
    }

    /// A random number from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws how many pages are erased, and what each block holds.
    fn draw(&mut self, theory: Theory, target: u32, overwrite_percent: u32) -> Drawn {
        let (pages, blocks) = (self.pages(), self.tables.erased_blocks(self.plane));
        // The moment lies anywhere between two collections, which are as many pages apart as a victim has stale ones.
        let (_, victim_valid) = theory.solve(pages, blocks - target / pages, self.live);
        let between = (f64::from(pages) * (1.0 - victim_valid)) as u32;
        let erased_pages = (target + self.below(between.max(1))).min(blocks * pages - self.live);
        let write_points = self.tables.planes[self.plane as usize].open.len();
        let mut remainders: Vec<u32> = (0..write_points).map(|_| self.below(pages)).collect();
        let complete = |remainders: &mut [u32]| {
            let others: u32 = remainders[1..].iter().sum();
            remainders[0] = (erased_pages + write_points as u32 * pages - others) % pages;
            let erased = (erased_pages - remainders.iter().sum::<u32>()) / pages;
            (erased, remainders.iter().filter(|&&rest| rest > 0).count() as u32)
        };
        let (mut erased, mut open) = complete(&mut remainders);
        if erased + open > blocks {
            // A plane that is all but erased has not opened a block for every write point yet.
            remainders[1..].fill(0);
            (erased, open) = complete(&mut remainders);
        }
        let closed = blocks - erased - open;
        let in_open = (blocks - erased) * pages - closed * pages - remainders.iter().sum::<u32>();
        // What was written last is valid but for a handful of pages.
        let valid = self.live - in_open.min(self.live);
        let (steady, victim_valid) = theory.solve(pages, closed, valid);
        let counts = match steady {
            Steady::Levels(levels) => self.counts_by_level(&levels, closed, valid),
            Steady::Survival(survival) => self.counts_by_age(survival, closed, valid),
        };
        let amplification = 1.0 / (1.0 - victim_valid).max(1.0 / f64::from(pages));
        let written = f64::from(self.live) * (1.0 + f64::from(overwrite_percent) / 100.0 * amplification);
        let programs = (written as u64).max(u64::from(blocks * pages - erased_pages));
        Drawn { remainders, valid: counts, by_index: theory == Theory::LeastWorn, erased, programs, victim_valid }
    }

    /// Valid pages of closed blocks whose shares are given, in the order of their ages.
    fn counts_by_level(&mut self, levels: &Levels, closed: u32, valid: u32) -> Vec<u32> {
        let ages = levels.ages();
        let offset = self.unit();
        let mut blocks: Vec<(f64, u32)> = Vec::with_capacity(closed as usize);
        let (mut level, mut up_to) = (0, levels.share[0]);
        for block in 0..closed {
            let quantile = (f64::from(block) + offset) / f64::from(closed);
            while up_to < quantile && level + 1 < levels.share.len() {
                level += 1;
                up_to += levels.share[level];
            }
            let (mean, variance) = ages[level];
            // The sum of twelve uniform numbers is all but normal.
            let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
            blocks.push((mean + libm::sqrt(variance) * normal, level as u32));
        }
        let least = blocks.first().map_or(0, |&(_, level)| level);
        blocks.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut counts: Vec<u32> = blocks.into_iter().map(|(_, level)| level).collect();
        self.correct(&mut counts, valid, least);
        counts
    }

    /// Valid pages of closed blocks that are collected in the order in which they closed, by the chance of a page to survive
    /// while a block is filled.
    fn counts_by_age(&mut self, survival: f64, closed: u32, valid: u32) -> Vec<u32> {
        let pages = self.pages();
        let mut chance = libm::sqrt(survival);
        let mut counts = Vec::with_capacity(closed as usize);
        for _ in 0..closed {
            counts.push((0..pages).filter(|_| self.unit() < chance).count() as u32);
            chance *= survival;
        }
        self.correct(&mut counts, valid, 0);
        counts
    }

    /// Makes the counts add up to `valid`, by changing random ones by one at a time; none falls below `least` unless it must.
    fn correct(&mut self, counts: &mut [u32], valid: u32, least: u32) {
        let pages = self.pages();
        let mut sum: u32 = counts.iter().sum();
        let mut tries_left = 64 * counts.len();
        while sum != valid && tries_left > 0 {
            let count = &mut counts[bounded(self.random.next_u64(), counts.len() as u64) as usize];
            if sum > valid && *count > least {
                *count -= 1;
                sum -= 1;
            } else if sum < valid && *count < pages {
                *count += 1;
                sum += 1;
            }
            tries_left -= 1;
        }
        for count in counts.iter_mut() {
            let others = sum - *count;
            *count = valid.saturating_sub(others).min(pages);
            sum = others + *count;
            if sum == valid {
                break;
            }
        }
        // The youngest page of a plane is valid, or its stale owner would have no younger copy.
        if let Some((youngest @ 0, rest)) = counts.split_first_mut()
            && let Some(other) = rest.iter_mut().find(|other| **other > 0)
        {
            (*youngest, *other) = (1, *other - 1);
        }
    }

    /// Records the drawn blocks with the logical pages `lpns`. Returns the erases that their wear stands for.
    fn fill(&mut self, drawn: &Drawn, lpns: &mut [Lpn]) -> u64 {
        let (pages, blocks) = (self.pages(), self.tables.erased_blocks(self.plane));
        self.shuffle(lpns);
        // The erased blocks, the open ones, and the closed ones from the youngest to the oldest: in the order of the indices
        // from the last to the first, or in any.
        let mut order: Vec<BlockIx> = self.tables.planes[self.plane as usize].erased.iter().rev().copied().collect();
        if !drawn.by_index {
            self.shuffle(&mut order);
        }
        // Those erased longest ago are opened first.
        let (erased, rest) = order.split_at(drawn.erased as usize);
        let programmed: u64 =
            u64::from(blocks - drawn.erased) * u64::from(pages) - drawn.remainders.iter().map(|&rest| u64::from(rest)).sum::<u64>();
        let erases = (drawn.programs - programmed) / u64::from(pages);
        // Wear is even: the blocks erased last are one erase ahead.
        let ahead = if drawn.by_index { 0 } else { erases % u64::from(blocks) };
        let even = erases / u64::from(blocks);
        for (rank, &block) in (0..).zip(&order) {
            self.tables.erases[block as usize] = (even + u64::from(rank < ahead)) as u32;
        }
        let mut pen = Pen { lpns, next: 0, clock: drawn.programs };
        let mut open = Vec::with_capacity(drawn.remainders.len());
        let mut rest = rest.iter().copied();
        for &erased_pages in &drawn.remainders {
            if erased_pages == 0 {
                open.push(NONE);
                continue;
            }
            let block = rest.next().expect("as many blocks as are drawn");
            let valid = (pages - erased_pages).min(pen.left());
            self.write_block(block, pages - erased_pages, valid, &mut pen);
            open.push(block);
        }
        for (block, &valid) in rest.zip(&drawn.valid) {
            self.write_block(block, pages, valid, &mut pen);
        }
        self.tables.last_sequence = self.tables.last_sequence.max(drawn.programs);
        let plane = &mut self.tables.planes[self.plane as usize];
        plane.erased = erased.iter().rev().copied().collect();
        plane.open = open;
        plane.free_pages = drawn.erased * pages + drawn.remainders.iter().sum::<u32>();
        plane.programs = drawn.programs;
        even * u64::from(blocks) + ahead
    }

    /// Records a block of which `programmed` pages are programmed and `valid` of them are valid, from its last page to its first.
    fn write_block(&mut self, block: BlockIx, programmed: u32, valid: u32, pen: &mut Pen<'_>) {
        let pages = self.pages();
        let tables = &mut *self.tables;
        let is_closed = programmed == pages;
        tables.next_page[block as usize] = programmed as u16;
        tables.counts[block as usize] = valid as i16 + if is_closed { 0 } else { NOT_A_VICTIM };
        tables.count_fell(block);
        if is_closed {
            tables.closed_at[block as usize] = pen.clock;
        }
        let mut valid_left = valid;
        for left in (1..=programmed).rev() {
            let ppn = block * pages + left - 1;
            // As many of the pages that are left are valid as must be; the very first is, so that there is a younger copy.
            let is_valid = valid_left > 0 && (pen.next == 0 || bounded(self.random.next_u64(), left.into()) < u64::from(valid_left));
            let lpn = if is_valid {
                valid_left -= 1;
                let lpn = pen.lpns[pen.next];
                pen.next += 1;
                if let Some(&ahead) = pen.lpns.get(pen.next + AHEAD) {
                    prefetch(&tables.map, ahead as usize);
                }
                tables.map[lpn as usize] = ppn;
                tables.valid[(ppn / 64) as usize] |= 1 << (ppn % 64);
                lpn
            } else {
                pen.lpns[bounded(self.random.next_u64(), pen.next.max(1) as u64) as usize]
            };
            tables.reverse[ppn as usize] = lpn;
            if let Some(sequence) = tables.sequence.get_mut(ppn as usize) {
                *sequence = pen.clock;
            }
            pen.clock -= 1;
        }
    }
}

/// Where the filling of a plane has got to, from its youngest page to its oldest.
struct Pen<'a> {
    /// Logical pages in random order: those before `next` have their present copies.
    lpns: &'a [Lpn],
    next: usize,
    /// The plane's clock when the page was programmed.
    clock: u64,
}

impl Pen<'_> {
    fn left(&self) -> u32 {
        (self.lpns.len() - self.next) as u32
    }
}
