//! How unevenly a stream's accesses are spread over its pages.

use rustc_hash::FxHashMap;
use serde::Serialize;
use std::ops::Range;

/// Pages that are counted at most. Beyond, those of a sample are, chosen by their numbers alone.
const PAGES_MAX: usize = 1 << 16;

/// Of a larger request, only the first pages are looked at: a line of a trace may name terabytes.
const REQUEST_PAGES_MAX: u64 = 1 << 12;

/// Shares of the pages of which it is said how many accesses they get, in percent.
const HOTTEST_PERCENT: [u64; 4] = [1, 5, 20, 50];

/// Counts how often each page of a sample is accessed.
#[derive(Clone, Debug)]
pub(crate) struct Locality {
    accesses: FxHashMap<u64, u64>,
    /// Pages whose hash is at most this are in the sample.
    hash_max: u64,
}

/// What a few pages get of all accesses.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Locality")]
pub struct LocalitySummary {
    /// Different 4 KiB pages that this is of: all that are read, written or trimmed, or a sample of them.
    pub pages: u64,
    /// Whether it is a sample.
    pub sampled: bool,
    /// Share of them that are accessed only once.
    pub once_percent: f64,
    /// What the most accessed pages get.
    pub hottest: Vec<Hottest>,
}

/// What the most accessed pages get.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Hottest {
    /// So many of the pages, those that are accessed most often.
    pub pages_percent: u64,
    /// Share of all accesses that go to them.
    pub accesses_percent: f64,
}

impl Default for Locality {
    fn default() -> Self {
        Self { accesses: FxHashMap::default(), hash_max: u64::MAX }
    }
}

/// Spreads numbers evenly, however regular they are (the finaliser of MurmurHash3).
fn hash(page: u64) -> u64 {
    let mut hash = page ^ (page >> 33);
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

impl Locality {
    pub(crate) fn add(&mut self, pages: Range<u64>) {
        for page in pages.start..pages.end.min(pages.start + REQUEST_PAGES_MAX) {
            if hash(page) <= self.hash_max {
                *self.accesses.entry(page).or_default() += 1;
                if self.accesses.len() > PAGES_MAX {
                    self.hash_max /= 2;
                    let hash_max = self.hash_max;
                    self.accesses.retain(|page, _| hash(*page) <= hash_max);
                }
            }
        }
    }

    pub(crate) fn summary(&self) -> LocalitySummary {
        let mut counts: Vec<u64> = self.accesses.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let (pages, all) = (counts.len() as u64, counts.iter().sum::<u64>());
        let percent = |part: u64, whole: u64| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
        // A share that is no page says nothing.
        let hottest = HOTTEST_PERCENT.into_iter().filter(|share| pages * share >= 100).map(|pages_percent| {
            let hot = counts[..(pages * pages_percent / 100) as usize].iter().sum();
            Hottest { pages_percent, accesses_percent: percent(hot, all) }
        });
        let once = counts.iter().filter(|count| **count == 1).count() as u64;
        LocalitySummary { pages, sampled: self.hash_max < u64::MAX, once_percent: percent(once, pages), hottest: hottest.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(locality: &Locality) -> Vec<(u64, f64)> {
        locality.summary().hottest.iter().map(|hottest| (hottest.pages_percent, hottest.accesses_percent)).collect()
    }

    #[test]
    fn few_pages_are_counted_exactly() {
        let mut locality = Locality::default();
        locality.add(0..200);
        for _ in 0..300 {
            locality.add(7..9);
        }
        // 800 accesses to 200 pages, 301 to each of two.
        assert_eq!(shares(&locality), [(1, 75.25), (5, 76.25), (20, 80.0), (50, 87.5)]);
        let summary = locality.summary();
        assert_eq!((summary.pages, summary.sampled, summary.once_percent), (200, false, 99.0));
        assert_eq!(Locality::default().summary().hottest, []);
    }

    #[test]
    fn of_a_large_request_the_first_pages_are_counted() {
        for (pages, counted) in [(4095, 4095), (4096, 4096), (4097, 4096), (1 << 40, 4096)] {
            let mut locality = Locality::default();
            locality.add(8..8 + pages);
            assert_eq!(locality.summary().pages, counted);
        }
    }

    #[test]
    fn many_pages_are_sampled_evenly() {
        let mut locality = Locality::default();
        // A tenth of the pages are accessed eleven times, so that they get 55 % of all accesses.
        for page in 0..1_000_000 {
            for _ in 0..if page % 10 == 3 { 11 } else { 1 } {
                locality.add(page..page + 1);
            }
        }
        let summary = locality.summary();
        assert!(summary.sampled && summary.pages <= PAGES_MAX as u64 && summary.pages > PAGES_MAX as u64 / 3);
        assert!((summary.once_percent - 90.0).abs() < 0.5, "{summary:?}");
        assert!((summary.hottest[1].accesses_percent - 27.5).abs() < 0.5, "{summary:?}");
    }
}
