//! The block groups with the fewest valid pages, found without looking at every one: the least count of each stretch of them
//! is kept as counts change.

use crate::ftl::{Count, NOT_A_VICTIM, STRETCH, Tables};
use crate::ids::{BlockGroup, Pool};
use std::ops::Range;

impl Tables {
    /// The count of a block group fell: it may be the least of its stretch now.
    #[inline]
    pub(crate) fn count_fell(&mut self, group: BlockGroup) {
        let least = &mut self.least_counts[(group.0 / STRETCH) as usize];
        *least = (*least).min(self.counts[group.index()]);
    }

    /// Finds the least count of a stretch anew.
    pub(super) fn find_least_count(&mut self, stretch: u32) {
        let first = (stretch * STRETCH) as usize;
        let end = self.counts.len().min(first + STRETCH as usize);
        let least = self.counts[first..end].iter().copied().min().unwrap_or(NOT_A_VICTIM);
        self.least_counts[stretch as usize] = least.min(NOT_A_VICTIM);
    }

    /// Finds the least counts of all stretches anew, after counts were set all at once.
    pub(crate) fn find_least_counts(&mut self) {
        (0..self.least_counts.len() as u32).for_each(|stretch| self.find_least_count(stretch));
    }

    /// Whether a block group may be a victim.
    #[inline]
    pub fn is_candidate(&self, group: BlockGroup) -> bool {
        self.counts[group.index()] < NOT_A_VICTIM
    }

    /// Valid pages of each block group of a pool, and more where it may not be a victim.
    pub(super) fn victim_counts(&self, pool: Pool) -> &[Count] {
        let Range { start, end } = self.groups_of(pool);
        &self.counts[start as usize..end as usize]
    }

    /// A pool's block group with the fewest valid pages; none if nothing is stale.
    #[inline]
    pub(crate) fn greedy_victim(&self, pool: Pool) -> Option<BlockGroup> {
        self.first_with_fewest(pool).filter(|&group| self.stale_pages(group) > 0)
    }

    /// The part of a stretch that lies in a pool, as numbers of block groups.
    #[inline]
    fn part_in(&self, pool: Pool, stretch: u32) -> Range<u32> {
        let Range { start, end } = self.groups_of(pool);
        start.max(stretch * STRETCH)..end.min((stretch + 1) * STRETCH)
    }

    /// The candidate of a pool with the fewest valid pages, of several the one with the lowest number.
    #[inline]
    pub(crate) fn first_with_fewest(&self, pool: Pool) -> Option<BlockGroup> {
        let Range { start, end } = self.groups_of(pool);
        let (mut least, mut found) = (NOT_A_VICTIM, end..end);
        for stretch in start / STRETCH..end.div_ceil(STRETCH) {
            if self.least_counts[stretch as usize] >= least {
                continue;
            }
            // A stretch that reaches into another pool may have its least count there.
            let part = self.part_in(pool, stretch);
            let here = self.counts[part.start as usize..part.end as usize].iter().copied().min().unwrap_or(NOT_A_VICTIM);
            if here < least {
                (least, found) = (here, part);
            }
        }
        found.map(BlockGroup).find(|&group| self.counts[group.index()] == least)
    }

    /// Finds the candidates of a pool with the fewest valid pages, in the order of their numbers, or only the first of them.
    pub fn fewest_valid(&self, pool: Pool, first_only: bool, found: &mut Vec<BlockGroup>) {
        found.clear();
        let Some(first) = self.first_with_fewest(pool) else { return };
        if first_only {
            return found.push(first);
        }
        let least = self.counts[first.index()];
        for stretch in first.0 / STRETCH..self.groups_of(pool).end.div_ceil(STRETCH) {
            if self.least_counts[stretch as usize] <= least {
                let part = self.part_in(pool, stretch).map(BlockGroup);
                found.extend(part.filter(|&group| self.counts[group.index()] == least));
            }
        }
    }

    /// Pages that collecting a candidate frees: those that hold nothing valid.
    #[inline]
    pub fn stale_pages(&self, group: BlockGroup) -> u32 {
        self.pages_in(group) - self.valid_pages(group)
    }

    /// The candidates of a pool that have a stale page, so that collecting one frees something. A block group without is passed over
    /// by every technique, or one that looks at age or wear alone would choose it again and again.
    pub fn collectable(&self, pool: Pool) -> impl Iterator<Item = BlockGroup> + '_ {
        let counts = self.groups_of(pool).map(BlockGroup).zip(self.victim_counts(pool));
        // One that may not be a victim counts more than its pages.
        counts.filter(|&(group, &count)| i32::from(count) < self.pages_in(group) as i32).map(|(group, _)| group)
    }

    /// No candidate of a pool has fewer valid pages than this.
    #[inline]
    pub fn least_valid_bound(&self, pool: Pool) -> u32 {
        let Range { start, end } = self.groups_of(pool);
        let stretches = (start / STRETCH) as usize..end.div_ceil(STRETCH) as usize;
        self.least_counts[stretches].iter().copied().min().unwrap_or(NOT_A_VICTIM) as u32
    }

    /// Whether the least counts are right.
    pub(super) fn audit_least_counts(&self) -> Result<(), String> {
        for (stretch, (&least, counts)) in self.least_counts.iter().zip(self.counts.chunks(STRETCH as usize)).enumerate() {
            if counts.iter().copied().min().map(|count| count.min(NOT_A_VICTIM)) != Some(least) {
                return Err(format!("the least count of stretch {stretch} of block groups is taken to be {least}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Geometry;
    use crate::ftl::Claimant;
    use rand_core::Rng;
    use rand_pcg::Pcg64Mcg;

    #[test]
    fn the_fewest_valid_pages_are_found_in_stretches_that_reach_into_other_pools() {
        // 700 blocks in each of three planes: stretches of 512 begin and end in their midst.
        let geometry = Geometry {
            channels: 3,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 700,
            pages_per_block: 4,
            page_bytes: 4096,
        };
        let mut tables = Tables::new(&geometry, 6000, 1, 1, false);
        let mut random = Pcg64Mcg::new(1 << 90 | 5);
        let mut found = Vec::new();
        for round in 0..60_000 {
            let lpn = if round < 6000 { round } else { random.next_u32() % 6000 };
            let plane = lpn % 3;
            let pool = tables.pool_of(plane);
            if tables.erased_groups(pool) < 3 {
                tables.fewest_valid(pool, true, &mut found);
                let first = found.clone();
                tables.fewest_valid(pool, false, &mut found);
                assert_eq!(first, found[..1]);
                let counts = tables.victim_counts(pool);
                let least = *counts.iter().min().unwrap();
                let expected: Vec<BlockGroup> =
                    (plane * 700..).zip(counts).filter(|&(_, &count)| count == least).map(|(group, _)| BlockGroup(group)).collect();
                assert_eq!(found, expected);
                assert!(tables.least_valid_bound(pool) <= least as u32);
                let victim = found[found.len() / 2];
                tables.begin_collect(victim);
                let mut unseen = tables.pages_of(tables.block_in(victim, plane));
                while let Some(from) = tables.next_valid(&mut unseen) {
                    let to = tables.take(plane, 0, Claimant::Gc).unwrap();
                    tables.commit_move(tables.owner(from), from, to);
                }
                tables.erased(victim);
            }
            let ppn = tables.take(plane, 0, Claimant::Host).unwrap();
            tables.commit_write(lpn, ppn);
        }
        tables.audit().unwrap();
    }
}
