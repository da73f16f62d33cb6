//! How evenly planes and blocks were worn in the measured part.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::observe::Observer;

/// How many blocks were erased how often, in two columns: `blocks[i]` of them `erases[i]` times. Bad blocks are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlockErases {
    /// Erases of a block, ascending; only numbers that a block has.
    pub erases: Vec<u32>,
    /// Blocks that were erased so often.
    pub blocks: Vec<u64>,
}

impl BlockErases {
    /// Counts the blocks, less `bad` ones, which are never erased.
    fn of(erases: impl Iterator<Item = u32>, bad: u64) -> Self {
        let mut counts = BTreeMap::new();
        for erases in erases {
            *counts.entry(erases).or_insert(0) += 1;
        }
        counts.entry(0).and_modify(|blocks| *blocks -= bad);
        let (erases, blocks) = counts.into_iter().filter(|&(_, blocks)| blocks > 0).unzip();
        Self { erases, blocks }
    }
}

/// Erases of each block so far, ageing and warming up included.
pub(crate) fn erases_so_far<O: Observer>(drive: &Drive<O>) -> Vec<u32> {
    let geometry = drive.view().geometry();
    let tables = drive.view().tables();
    (0..geometry.planes() * geometry.blocks_per_plane).map(|block| tables.erase_count(block)).collect()
}

/// Erases of the blocks in the measured part. Bad blocks are not among them.
pub(crate) fn block_erases<O: Observer>(drive: &Drive<O>, device: &Device, then: &[u32]) -> BlockErases {
    let bad = u64::from(device.bad_blocks_per_plane()) * u64::from(device.geometry.planes());
    BlockErases::of(erases_so_far(drive).iter().zip(then).map(|(now, then)| now - then), bad)
}

/// How evenly planes and blocks were worn in the measured part.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Wear {
    /// Erases of the plane with the most.
    pub erases_most: u64,
    /// Erases of the plane with the fewest.
    pub erases_least: u64,
    /// Coefficient of variation of the planes' erases, in percent.
    pub variation_percent: f64,
    /// How often blocks were erased.
    pub blocks: BlockErases,
}

pub(crate) fn wear_spread(erases: impl Iterator<Item = u64>) -> Wear {
    let erases: Vec<u64> = erases.collect();
    let (least, most) = (erases.iter().min().copied().unwrap_or(0), erases.iter().max().copied().unwrap_or(0));
    let mean = erases.iter().sum::<u64>() as f64 / erases.len().max(1) as f64;
    let variance = erases.iter().map(|&count| (count as f64 - mean).powi(2)).sum::<f64>() / erases.len().max(1) as f64;
    let variation_percent = if mean > 0.0 { variance.sqrt() / mean * 100.0 } else { 0.0 };
    Wear { erases_most: most, erases_least: least, variation_percent, blocks: BlockErases::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wear_is_the_spread_of_erases_over_planes() {
        let wear = wear_spread([1, 3].into_iter());
        assert_eq!(wear, Wear { erases_most: 3, erases_least: 1, variation_percent: 50.0, blocks: BlockErases::default() });
        let unworn = wear_spread([0, 0].into_iter());
        assert_eq!(unworn, Wear { erases_most: 0, erases_least: 0, variation_percent: 0.0, blocks: BlockErases::default() });
    }

    #[test]
    fn blocks_are_counted_by_their_erases_without_bad_ones() {
        let found = BlockErases::of([0, 2, 2, 0, 5, 0].into_iter(), 2);
        assert_eq!(found, BlockErases { erases: vec![0, 2, 5], blocks: vec![1, 2, 1] });
        let all_bad_or_erased = BlockErases::of([0, 1].into_iter(), 1);
        assert_eq!(all_bad_or_erased, BlockErases { erases: vec![1], blocks: vec![1] });
    }
}
