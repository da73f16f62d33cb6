//! Whether the tables agree with each other.

use crate::ftl::Tables;
use crate::ids::{BlockGroup, Lpn, NONE, PlaneIx};

impl Tables {
    /// Whether the map agrees with everything else; the first disagreement otherwise. For tests and `--verify`.
    ///
    /// # Errors
    /// A sentence that names the page or block.
    pub fn audit(&self) -> Result<(), String> {
        let g = &self.geometry;
        let (mut valid, mut live) = (vec![0u32; self.counts.len()], vec![0u32; self.planes.len()]);
        for (lpn, &ppn) in self.map.iter().enumerate() {
            if ppn != NONE {
                if self.reverse[ppn as usize] != lpn as Lpn || !self.is_valid(ppn) {
                    return Err(format!("logical page {lpn} maps to physical page {ppn}, which is stale or belongs to another"));
                }
                valid[self.group_of(g.block_of(ppn)).index()] += 1;
                live[self.plane_of(ppn) as usize] += 1;
            }
        }
        for (group, &count) in valid.iter().enumerate() {
            let counted = self.valid_pages(BlockGroup(group as u32));
            if counted != count {
                return Err(format!("block group {group} counts {counted} valid pages, {count} are mapped"));
            }
        }
        self.audit_least_counts()?;
        for (index, plane) in self.planes.iter().enumerate() {
            let free: u32 = g.blocks_of(index as PlaneIx).map(|b| g.pages_per_block - u32::from(self.next_page[b as usize])).sum();
            if free != plane.free_pages {
                return Err(format!("plane {index} counts {} erased pages, its blocks have {free}", plane.free_pages));
            }
            if !self.live.is_empty() && live[index] != self.live[index] {
                return Err(format!("plane {index} counts {} live pages, {} are mapped", self.live[index], live[index]));
            }
        }
        Ok(())
    }

    /// Breaks the map on purpose, so that tests can see the oracle find it.
    pub(crate) fn break_map(&mut self, lpn: Lpn, other: Lpn) {
        self.map[lpn as usize] = self.map[other as usize];
    }
}
