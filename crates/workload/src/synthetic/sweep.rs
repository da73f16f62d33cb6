//! A way through regions in order, in chunks, as when a large file is copied by several requests at a time.

use super::profile::SweepProfile;
use crate::random::{Random, Weighted};

/// Sectors of a page of 4 KiB, in which regions are given.
const PAGE_SECTORS: u64 = 8;

/// A sweep in progress.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    chunk_sectors: u64,
    /// First sector and the one after the last.
    regions: Vec<(u64, u64)>,
    region: usize,
    /// Where the next chunk begins.
    next_sector: u64,
    chunks: Vec<Chunk>,
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    begun: bool,
    sector: u64,
    end_sector: u64,
}

impl Sweep {
    /// `regions` are first page, number of pages and weight.
    pub(super) fn new(profile: SweepProfile, regions: &[(u64, u64, f64)]) -> Self {
        let regions: Vec<(u64, u64)> =
            regions.iter().map(|(first, pages, _)| (first * PAGE_SECTORS, (first + pages) * PAGE_SECTORS)).collect();
        let next_sector = regions[0].0;
        let mut sweep = Self { chunk_sectors: profile.chunk_sectors, regions, region: 0, next_sector, chunks: Vec::new() };
        sweep.chunks = (0..profile.parallel).map(|_| sweep.next_chunk()).collect();
        sweep
    }

    /// Chunks follow each other through the regions; after the last comes the first again.
    fn next_chunk(&mut self) -> Chunk {
        let (_, region_end) = self.regions[self.region];
        let sector = self.next_sector;
        let end_sector = (sector + self.chunk_sectors).min(region_end);
        self.next_sector = end_sector;
        if end_sector == region_end {
            self.region = (self.region + 1) % self.regions.len();
            self.next_sector = self.regions[self.region].0;
        }
        Chunk { begun: false, sector, end_sector }
    }

    /// The next request of one of the open chunks: its sector and its length, which ends where the chunk does.
    pub(super) fn next(&mut self, random: &mut Random, starts: &Weighted<u32>, continuations: &Weighted<u32>) -> (u64, u32) {
        let (index, _) = random.below(self.chunks.len() as u64);
        let chunk = &mut self.chunks[index as usize];
        let drawn = if chunk.begun { continuations.draw(random) } else { starts.draw(random) };
        let sector = chunk.sector;
        let sectors = u64::from(drawn).min(chunk.end_sector - sector);
        chunk.begun = true;
        chunk.sector += sectors;
        if chunk.sector == chunk.end_sector {
            self.chunks[index as usize] = self.next_chunk();
        }
        // No longer than what was drawn.
        (sector, sectors as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_covered_in_order_and_without_gaps() {
        let sizes = Weighted::new([(3.0, 16), (1.0, 5)].into_iter());
        let mut random = Random::new(1);
        let profile = SweepProfile { chunk_sectors: 64, parallel: 4 };
        let mut sweep = Sweep::new(profile, &[(100, 21, 1.0), (10, 20, 1.0)]);
        let mut touched = vec![0; 1000];
        let mut requests = 0;
        // 41 pages are 328 sectors.
        while touched.iter().filter(|times| **times > 0).count() < 328 {
            let (sector, sectors) = sweep.next(&mut random, &sizes, &sizes);
            assert!(sectors > 0 && (80..240).contains(&sector) || (800..968).contains(&sector), "{sector}");
            touched[sector as usize..sector as usize + sectors as usize].iter_mut().for_each(|times| *times += 1);
            requests += 1;
        }
        assert!(requests < 120, "{requests}");
        assert!(touched.iter().all(|times| *times <= 3));
    }

    #[test]
    fn one_chunk_at_a_time_is_sequential() {
        let sizes = Weighted::new([(1.0, 24)].into_iter());
        let mut sweep = Sweep::new(SweepProfile { chunk_sectors: 64, parallel: 1 }, &[(0, 16, 1.0)]);
        let mut random = Random::new(1);
        let requests: Vec<(u64, u32)> = (0..7).map(|_| sweep.next(&mut random, &sizes, &sizes)).collect();
        assert_eq!(requests, [(0, 24), (24, 24), (48, 16), (64, 24), (88, 24), (112, 16), (0, 24)]);
    }
}
