//! A statistical layout: the steady state of uniform random writes, drawn from its theory without writing; or live pages at random
//! among stale ones.
//!
//! Each plane is drawn by itself, but for open blocks that the planes of a die fill together. The theory says how many of its
//! blocks have how many valid pages, and how old they are; the open blocks and the erased ones are those of a random moment
//! between two collections. Which pages of a block are
//! valid, and which logical pages they hold, is random. Blocks are filled from the youngest to the oldest and from the last
//! page to the first, so that a stale page can be given to a logical page whose present copy is younger, as it must be.

use crate::context::Context;
use crate::design::{Design, StartLevel};
use crate::device::AgeingMethod;
use crate::flash::Engine;
use crate::ftl::above::WithFtl;
use crate::ftl::drawn::{Drawn, Space};
use crate::precondition::common::{Aged, Layout, LivePages, levels_at_start};
use crate::precondition::mean_field::{Levels, fifo_survival};
use crate::precondition::writing::Progress;
use crate::raid::front::{Front, WithRaid};
use crate::techniques::VictimPolicy;
use crate::units::bounded;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

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
    /// None: each programmed page is as likely to be valid as any other.
    Random,
}

/// The steady state of a plane's closed blocks.
enum Steady {
    /// By their valid pages.
    Levels(Levels),
    /// By their age: the chance of a page to stay valid while a block is filled.
    Survival(f64),
    /// Valid pages anywhere.
    Random,
}

impl Theory {
    /// The steady state of `closed` blocks that hold `valid` pages, and the valid share of victims.
    fn solve(self, pages_per_block: u32, closed: u32, valid: u32) -> (Steady, f64) {
        let pages = f64::from(pages_per_block);
        let valid_blocks = (f64::from(valid) / pages).min(closed.into());
        let rho = valid_blocks / f64::from(closed.max(1));
        let levels = match self {
            Self::Random => return (Steady::Random, rho),
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

fn theory(design: &Design) -> Option<Theory> {
    // The head of the chain decides; the others choose among blocks that are equal to it. Equally worn blocks are too many
    // for that.
    match design.victim.as_slice() {
        _ if design.collects_greedily() => Some(Theory::Greedy),
        [VictimPolicy::DChoices(policy), ..] => Some(Theory::DChoices(policy.d())),
        [VictimPolicy::Fifo(_), ..] => Some(Theory::Fifo),
        [VictimPolicy::LeastWorn(_)] => Some(Theory::LeastWorn),
        _ => None,
    }
}

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    pub(super) fn lay_out(&mut self, live: LivePages<'_>, seed: u64, progress: Progress<'_>) -> Aged {
        let (device, design) = (&self.flash.device, self.policies());
        let theory = if device.state.ageing == AgeingMethod::Random { Some(Theory::Random) } else { theory(design) };
        let (Some(theory), Some(layout)) = (theory, Layout::drawn(&design.place, &device.geometry, seed)) else {
            unreachable!("a design without a theory is written")
        };
        let planes = layout.planes();
        let mut beyond = vec![Vec::new(); planes];
        for &lpn in live.beyond {
            beyond[layout.split(lpn).0 as usize].push(lpn);
        }
        let levels = levels_at_start(design);
        let (gc_across, assembles) = (self.up.ftl.traits.gc_across, self.flash.traits.assembles);
        let tables = &mut self.up.ftl.tables;
        let mut aged = Aged::default();
        let mut victims_valid = 0.0;
        let mut lpns = Vec::new();
        let mut of_die = Vec::new();
        let mut phases = vec![None; device.geometry.dies() as usize];
        for (index, beyond) in beyond.iter().enumerate() {
            let plane = layout.plane(index);
            lpns.clear();
            lpns.extend(live.of_plane(&layout, index).chain(beyond.iter().copied()));
            let random = Pcg64Mcg::seed_from_u64(seed.wrapping_add(u64::from(plane).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            if !lpns.is_empty() {
                let pool = tables.pool_of(plane);
                let (pages, blocks, points) = (device.geometry.pages_in(1), tables.erased_groups(pool), tables.write_points(plane));
                let mut artist = Artist { pages, blocks, points, random, live: lpns.len() as u32 };
                let geometry = &device.geometry;
                let span = levels.stop.pages(geometry) - levels.start.pages(geometry);
                let space = match levels.start {
                    StartLevel::DiePages(pages) => {
                        let within = plane % device.geometry.planes_per_die;
                        let planes = device.geometry.planes_per_die;
                        if assembles {
                            if within == 0 {
                                of_die = artist.draw_die(theory, pages, span, planes);
                            }
                            std::mem::take(&mut of_die[within as usize])
                        } else {
                            // Planes do not come in the order of their dies.
                            let phase = &mut phases[(plane / planes) as usize];
                            let phase = *phase.get_or_insert_with(|| artist.phase(theory, pages, span * planes));
                            artist.space_of(pages + (phase + within) / planes)
                        }
                    }
                    StartLevel::PlanePages(pages) => {
                        let phase = artist.phase(theory, pages, span);
                        artist.space_of(pages + phase)
                    }
                    StartLevel::PlaneBlocks(blocks) => {
                        // Whole blocks above where the plane's cycles begin, of those that they span.
                        let blocks = blocks + if span == 0 { 0 } else { artist.below(span / pages + 1) };
                        // GC that fills its plane's one open block leaves as much of it as a victim frees.
                        let alone = points == 1 && !gc_across;
                        let rest = if alone { artist.between(theory, blocks * pages) } else { pages };
                        artist.draw_blocks(blocks, rest)
                    }
                };
                let drawn = artist.draw(theory, space, device.state.overwrite_percent);
                victims_valid += drawn.victim_valid;
                aged.erases += tables.fill_drawn(pool, &drawn, &mut lpns, &mut artist.random);
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

/// Draws one plane.
struct Artist {
    /// Pages of a block, blocks that are not bad, and write points.
    pages: u32,
    blocks: u32,
    points: usize,
    random: Pcg64Mcg,
    live: u32,
}

impl Artist {
    fn below(&mut self, bound: u32) -> u32 {
        bounded(self.random.next_u64(), bound.into()) as u32
    }

    /// A random number from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Pages between two collections, as many as a victim has stale ones: what is erased at a random moment lies so far above
    /// the level at which a block is collected, or less.
    fn between(&self, theory: Theory, level_pages: u32) -> u32 {
        let (_, victim_valid) = theory.solve(self.pages, self.blocks - level_pages / self.pages, self.live);
        ((f64::from(self.pages) * (1.0 - victim_valid)) as u32).max(1)
    }

    /// How many pages a plane is above where its cycles begin, which go on until a span more is erased: each frees a whole number of
    /// victims. The same of a die, over all its planes.
    fn phase(&mut self, theory: Theory, level_pages: u32, span: u32) -> u32 {
        let of_cycle = (span + 1).next_multiple_of(self.between(theory, level_pages));
        self.below(of_cycle)
    }

    /// The space of a plane with so many erased pages, of which some are in open blocks.
    fn space_of(&mut self, erased_pages: u32) -> Space {
        let (pages, blocks) = (self.pages, self.blocks);
        let erased_pages = erased_pages.min(blocks * pages - self.live);
        let write_points = self.points;
        let mut remainders: Vec<u32> = (0..write_points).map(|_| self.below(pages)).collect();
        let complete = |remainders: &mut [u32]| {
            let others: u32 = remainders[1..].iter().sum();
            remainders[0] = (erased_pages + write_points as u32 * pages - others) % pages;
            let erased = erased_pages.saturating_sub(remainders.iter().sum::<u32>()) / pages;
            (erased, remainders.iter().filter(|&&rest| rest > 0).count() as u32)
        };
        let (mut erased, open) = complete(&mut remainders);
        if erased + open > blocks || remainders.iter().sum::<u32>() > erased_pages {
            // A plane that is all but erased has not opened a block for every write point yet.
            remainders[1..].fill(0);
            (erased, _) = complete(&mut remainders);
        }
        Space { erased, remainders }
    }

    /// The space of a plane that is collected below so many erased blocks: of these it has as many, whatever is left of the open
    /// ones, each of which has less than `rest` erased pages.
    fn draw_blocks(&mut self, level_blocks: u32, rest: u32) -> Space {
        let (pages, blocks) = (self.pages, self.blocks);
        let mut remainders: Vec<u32> = (0..self.points).map(|_| self.below(rest)).collect();
        let erased_pages_max = blocks * pages - self.live;
        while level_blocks * pages + remainders.iter().sum::<u32>() > erased_pages_max
            && let Some(rest) = remainders.iter_mut().find(|rest| **rest > 0)
        {
            *rest = 0;
        }
        Space { erased: level_blocks.min(erased_pages_max / pages), remainders }
    }

    /// The space of the planes of a die that is collected below so many erased pages of each in the mean, and whose planes are
    /// programmed together: their open blocks are equally full.
    fn draw_die(&mut self, theory: Theory, level_pages: u32, span: u32, planes: u32) -> Vec<Space> {
        let (pages, blocks) = (self.pages, self.blocks);
        let phase = self.phase(theory, level_pages, span * planes);
        let erased_pages = (level_pages * planes + phase).min((blocks * pages - self.live) * planes);
        let mut remainders: Vec<u32> = (0..self.points).map(|_| self.below(pages)).collect();
        let others = remainders[1..].iter().sum::<u32>() * planes;
        // What is in whole blocks of some plane and not in the first open blocks of all of them.
        let first = (erased_pages + remainders.len() as u32 * planes * pages - others) / planes;
        let share = pages.div_ceil(planes);
        remainders[0] = (first % share + share * self.below(planes)).min(pages - 1);
        let in_open = remainders.iter().sum::<u32>() * planes;
        // A handful of pages too many, since open blocks are equally full, is no block.
        let erased = (erased_pages.saturating_sub(in_open) + pages / 2) / pages;
        let turn = self.below(planes);
        let of_plane = |plane: u32| erased / planes + u32::from((plane + turn) % planes < erased % planes);
        (0..planes).map(|plane| Space { erased: of_plane(plane), remainders: remainders.clone() }).collect()
    }

    /// Draws what each block holds.
    fn draw(&mut self, theory: Theory, space: Space, overwrite_percent: u32) -> Drawn {
        let (pages, blocks) = (self.pages, self.blocks);
        let Space { erased, remainders } = &space;
        let open = remainders.iter().filter(|&&rest| rest > 0).count() as u32;
        let erased_pages = erased * pages + remainders.iter().sum::<u32>();
        let closed = blocks - erased - open;
        let in_open = (blocks - erased) * pages - closed * pages - remainders.iter().sum::<u32>();
        // What was written last is valid but for a handful of pages.
        let valid = self.live - in_open.min(self.live);
        let (steady, victim_valid) = theory.solve(pages, closed, valid);
        let mut counts = match steady {
            Steady::Levels(levels) => self.counts_by_level(&levels, closed, valid),
            Steady::Survival(survival) => self.counts_by_age(survival, closed, valid),
            Steady::Random => self.counts_at_random(closed, valid),
        };
        // The page that was programmed last is valid. A stale page there would have no logical page whose present copy is younger.
        if open == 0
            && let Some(youngest) = counts.iter().position(|&valid| valid > 0)
        {
            counts.swap(0, youngest);
        }
        let amplification = 1.0 / (1.0 - victim_valid).max(1.0 / f64::from(pages));
        let written = f64::from(self.live) * (1.0 + f64::from(overwrite_percent) / 100.0 * amplification);
        let programs = (written as u64).max(u64::from(blocks * pages - erased_pages));
        Drawn { valid: counts, by_index: theory == Theory::LeastWorn, programs, victim_valid, space }
    }

    /// Valid pages of closed blocks, if any page is as likely to be valid as any other.
    fn counts_at_random(&mut self, closed: u32, valid: u32) -> Vec<u32> {
        let (mut pages_left, mut valid_left) = (closed * self.pages, valid);
        let mut is_valid = |artist: &mut Self| {
            let is_valid = artist.below(pages_left) < valid_left;
            (pages_left, valid_left) = (pages_left - 1, valid_left - u32::from(is_valid));
            is_valid
        };
        (0..closed).map(|_| (0..self.pages).map(|_| u32::from(is_valid(self))).sum()).collect()
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
        let pages = self.pages;
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
        let pages = self.pages;
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plane of ten blocks of eight pages.
    fn artist(live: u32, points: usize) -> Artist {
        Artist { pages: 8, blocks: 10, points, random: Pcg64Mcg::seed_from_u64(1), live }
    }

    #[test]
    fn no_more_is_erased_than_live_pages_leave() {
        for live in 0..=80 {
            for level_blocks in 0..4 {
                let space = artist(live, 3).draw_blocks(level_blocks, 8);
                let in_open: u32 = space.remainders.iter().sum();
                assert!(8 * space.erased + in_open <= 80 - live, "{live} {level_blocks}");
                // With room for all of it, nothing is taken away.
                if 80 - live >= 8 * level_blocks + 3 * 7 {
                    assert_eq!((space.erased, in_open > 0), (level_blocks, true));
                }
            }
        }
    }

    #[test]
    fn at_random_each_page_is_as_likely_to_be_valid_as_any_other() {
        let mut artist = Artist { blocks: 4000, live: 4000 * 8 / 2, ..artist(0, 1) };
        let counts = artist.counts_at_random(4000, 16_000);
        assert_eq!((counts.len(), counts.iter().sum::<u32>()), (4000, 16_000));
        // Of blocks of eight pages, half of which are valid, so many have none, one, ..., by the binomial distribution.
        for (valid, of_256) in [1, 8, 28, 56, 70, 56, 28, 8, 1].into_iter().enumerate() {
            let found = counts.iter().filter(|&&count| count as usize == valid).count() as f64;
            let expected = f64::from(of_256) * 4000.0 / 256.0;
            assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{valid}: {found}, {expected}");
        }
    }

    #[test]
    fn wear_counts_what_gc_wrote_again_for_each_page_that_was_overwritten() {
        let mut artist = artist(60, 1);
        let space = artist.space_of(12);
        let drawn = artist.draw(Theory::Greedy, space, 200);
        assert!((0.3..0.9).contains(&drawn.victim_valid), "{}", drawn.victim_valid);
        let written = 60.0 + 2.0 * 60.0 / (1.0 - drawn.victim_valid);
        assert_eq!(drawn.programs, written as u64);
    }
}
