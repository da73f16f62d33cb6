//! The blocks with the fewest valid pages, found without looking at every block: the least count of each group of blocks is
//! kept as counts change.

use crate::ftl::{GROUP, NOT_A_VICTIM, Tables};
use crate::ids::{BlockIx, PlaneIx};

impl Tables {
    /// The count of a block fell: it may be the least of its group now.
    #[inline]
    pub(crate) fn count_fell(&mut self, block: BlockIx) {
        let least = &mut self.least_counts[(block / GROUP) as usize];
        *least = (*least).min(self.counts[block as usize]);
    }

    /// Finds the least count of a group anew.
    pub(super) fn find_least_count(&mut self, group: u32) {
        let first = (group * GROUP) as usize;
        let end = self.counts.len().min(first + GROUP as usize);
        let least = self.counts[first..end].iter().copied().min().unwrap_or(NOT_A_VICTIM);
        self.least_counts[group as usize] = least.min(NOT_A_VICTIM);
    }

    /// Finds the least counts of all groups anew, after counts were set all at once.
    pub(crate) fn find_least_counts(&mut self) {
        (0..self.least_counts.len() as u32).for_each(|group| self.find_least_count(group));
    }

    /// Finds the candidates of a plane with the fewest valid pages, in the order of their indices, or only the first of them.
    pub fn fewest_valid(&self, plane: PlaneIx, first_only: bool, found: &mut Vec<BlockIx>) {
        found.clear();
        let first = plane * self.geometry.blocks_per_plane;
        let end = first + self.geometry.blocks_per_plane;
        let part = |group: u32| (first.max(group * GROUP), end.min((group + 1) * GROUP));
        let mut least = NOT_A_VICTIM;
        let (mut from, mut to) = (end, end);
        for group in first / GROUP..end.div_ceil(GROUP) {
            if self.least_counts[group as usize] >= least {
                continue;
            }
            let (start, stop) = part(group);
            // A group that reaches into another plane may have its least count there.
            let here = self.counts[start as usize..stop as usize].iter().copied().min().unwrap_or(NOT_A_VICTIM);
            if here < least {
                (least, from, to) = (here, start, stop);
            }
        }
        if !first_only {
            to = end;
        }
        while from < to {
            let stop = part(from / GROUP).1;
            if self.least_counts[(from / GROUP) as usize] <= least {
                let fewest = (from..stop).filter(|&block| self.counts[block as usize] == least);
                found.extend(fewest.take(if first_only { 1 } else { usize::MAX }));
            }
            from = stop;
        }
    }

    /// Pages that collecting a candidate frees: those that hold nothing valid.
    #[inline]
    pub fn stale_pages(&self, block: BlockIx) -> u32 {
        self.geometry.pages_per_block - self.valid_pages(block)
    }

    /// The candidates of a plane that have a stale page, so that collecting one frees something. A block without is passed over by
    /// every technique, or one that looks at age or wear alone would choose it again and again.
    pub fn collectable(&self, plane: PlaneIx) -> impl Iterator<Item = BlockIx> + '_ {
        // A block that may not be a victim counts more than its pages.
        let full = self.geometry.pages_per_block as i16;
        let counts = (plane * self.geometry.blocks_per_plane..).zip(self.victim_counts(plane));
        counts.filter(move |&(_, &count)| count < full).map(|(block, _)| block)
    }

    /// No candidate of a plane has fewer valid pages than this.
    #[inline]
    pub fn least_valid_bound(&self, plane: PlaneIx) -> u32 {
        let first = plane * self.geometry.blocks_per_plane;
        let groups = (first / GROUP) as usize..(first + self.geometry.blocks_per_plane).div_ceil(GROUP) as usize;
        self.least_counts[groups].iter().copied().min().unwrap_or(NOT_A_VICTIM) as u32
    }

    /// Whether the least counts are right.
    pub(super) fn audit_least_counts(&self) -> Result<(), String> {
        for (group, (&least, counts)) in self.least_counts.iter().zip(self.counts.chunks(GROUP as usize)).enumerate() {
            if counts.iter().copied().min().map(|count| count.min(NOT_A_VICTIM)) != Some(least) {
                return Err(format!("the least count of group {group} of blocks is taken to be {least}"));
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
    fn the_fewest_valid_pages_are_found_in_groups_that_reach_into_other_planes() {
        // 700 blocks in each of three planes: groups of 512 begin and end in their midst.
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
            if tables.erased_blocks(plane) < 3 {
                tables.fewest_valid(plane, true, &mut found);
                let first = found.clone();
                tables.fewest_valid(plane, false, &mut found);
                assert_eq!(first, found[..1]);
                let counts = tables.victim_counts(plane);
                let least = *counts.iter().min().unwrap();
                let expected: Vec<BlockIx> =
                    (plane * 700..).zip(counts).filter(|&(_, &count)| count == least).map(|(block, _)| block).collect();
                assert_eq!(found, expected);
                assert!(tables.least_valid_bound(plane) <= least as u32);
                let victim = found[found.len() / 2];
                let mut unseen = tables.begin_collect(victim);
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
