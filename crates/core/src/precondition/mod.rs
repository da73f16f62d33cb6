//! Ageing: the state in which runs start, made in the tables alone, without time.
//!
//! The device's `[state]` says how. By writing: the live pages are written once in order, then overwritten at random, to a
//! stated amount or until write amplification is steady, with their parity as often as the host's writes take it along, while the design's own victims are collected wherever its GC would begin.
//! Or by a statistical layout: the state that those writes lead to is drawn from its theory. So a run begins as the drive
//! would have been left by its own firmware, and nothing is owed or lent. TTFLASH, section 6 (pre-warmed drives).

use crate::context::Context;
use crate::device::AgeingMethod;
use crate::flash::Engine;
use crate::ftl::above::WithFtl;
use crate::ids::{Lpn, NONE};
use crate::precondition::common::LivePages;
use crate::precondition::planewise::Planewise;
use crate::raid::front::{Front, WithRaid};

mod common;
mod layout;
mod mean_field;
mod planewise;
mod steady;
mod superpage;
#[cfg(test)]
mod tests;
mod writing;

pub(crate) use common::levels_at_start;
pub use common::{Aged, OneByOne, Workers};

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Ages an erased drive to its device's starting state, after its bad blocks have been drawn from the seed. `footprint` lists pages that must be mapped in any case. `progress` is
    /// told pages done and pages in all, and stops the ageing by returning false.
    pub fn age(&mut self, seed: u64, footprint: &[Lpn], progress: impl Fn(u64, u64) -> bool + Sync) -> Aged {
        self.age_with(&OneByOne, seed, footprint, progress)
    }

    /// As `age`. Where planes are independent of each other, the workers share them.
    pub fn age_with(&mut self, workers: &impl Workers, seed: u64, footprint: &[Lpn], progress: impl Fn(u64, u64) -> bool + Sync) -> Aged {
        let device = self.flash.device.clone();
        self.up.ftl.tables.draw_bad_blocks(device.bad_blocks_per_plane(), seed);
        let (mapped, stripes) = (self.seen().mapped_pages(), self.seen().stripes().cloned());
        let mut beyond: Vec<Lpn> =
            footprint.iter().copied().filter(|&lpn| lpn >= mapped && u64::from(lpn) < device.logical_pages()).collect();
        let beyond_of_host = beyond.len() as u32;
        if let Some(stripes) = &stripes {
            let mut touched: Vec<u32> = beyond.iter().map(|&lpn| stripes.of(lpn)).collect();
            touched.sort_unstable();
            touched.dedup();
            beyond.extend(touched.into_iter().map(|stripe| stripes.parity(stripe)));
        }
        let parity_percent = device.state.parity_percent();
        let live = LivePages { mapped, stripes: stripes.as_ref(), beyond: &beyond, beyond_of_host, parity_percent };
        self.seed(seed);
        // Nobody reads while a drive ages, so the oracle is given the outcome alone.
        let oracle = self.up.oracle.take();
        let is_laid_out = match device.state.ageing {
            AgeingMethod::Overwrite | AgeingMethod::Steady => false,
            AgeingMethod::Statistical => self.policies().without_theory().is_none(),
            AgeingMethod::Random => self.policies().can_be_laid_out(),
        };
        let mut aged = if is_laid_out {
            self.lay_out(live, seed, &progress)
        } else {
            let planewise = Planewise::new(self);
            self.age_by_writing(live, seed, planewise, workers, &progress)
        };
        if self.flash.traits.assembles {
            self.fill_superpages(&mut aged);
        }
        aged.live_pages = live.count();
        if device.state.level_planes {
            aged.written_pages += self.level_planes(live, seed);
        }
        self.up.oracle = oracle;
        self.inform_oracle(live.iter());
        let frees = (0..device.geometry.planes()).map(|plane| self.up.ftl.tables.free_pages(plane));
        aged.free_pages_min = frees.clone().min().unwrap_or(0);
        aged.free_pages_max = frees.max().unwrap_or(0);
        aged.digest = self.up.ftl.tables.digest();
        self.up.ftl.gc.expect_victims(aged.victim_valid_permille);
        aged
    }

    /// Tells the oracle, if there is one, where the pages lie that ageing wrote.
    pub(crate) fn inform_oracle(&mut self, live: impl Iterator<Item = Lpn>) {
        let WithFtl { ftl, oracle, up: WithRaid { raid, .. } } = &mut self.up;
        if let Some(oracle) = oracle {
            let (tables, stripes) = (&ftl.tables, raid.rain.as_ref().map(|rain| rain.stripes()));
            let mut parities = Vec::new();
            for lpn in live {
                match stripes {
                    Some(stripes) if stripes.is_parity(lpn) => parities.push(lpn),
                    _ => oracle.aged(lpn, tables.lookup(lpn)),
                }
            }
            for (stripes, parity) in parities.into_iter().filter_map(|parity| Some((stripes?, parity))) {
                let (first, members) = stripes.members(stripes.of(parity));
                let mapped = (first..first + members).map(|lpn| tables.lookup(lpn)).filter(|&ppn| ppn != NONE);
                oracle.aged_parity(tables.lookup(parity), mapped);
            }
        }
    }
}
