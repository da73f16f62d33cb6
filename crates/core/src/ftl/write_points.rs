//! What the next page of each write point is, as masks: one bit for each write point, so that one of the preferred kind is found
//! without looking at every one of them.

use crate::device::Device;
use crate::ftl::Tables;
use crate::ids::{NONE, PlaneIx};
use crate::policy::answers::{Parking, WRITE_POINTS_MAX};

/// The masks of one plane.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Masks {
    /// By the rank of the next page; each write point is in one of them.
    by_rank: Vec<u64>,
    /// Those whose next page begins a pair of fast ones.
    pairs: u64,
    /// Those that have an open block.
    open: u64,
}

/// The masks of all planes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WritePoints {
    planes: Vec<Masks>,
    all: u64,
    /// The rank of each page of a block by its program time, and whether it begins a pair of fast ones.
    pages: Vec<(u8, bool)>,
}

impl WritePoints {
    /// Those of a drive whose tables are as they are now.
    pub(crate) fn new(device: &Device, tables: &Tables) -> Self {
        let offsets = 0..device.geometry.pages_per_block;
        let pages = offsets.map(|offset| (device.program_rank(offset) as u8, device.begins_fast_pair(offset))).collect();
        let masks = Masks { by_rank: vec![0; device.program_rank_max() as usize + 1], pairs: 0, open: 0 };
        let points = tables.write_points(0) as u32;
        let all = u64::MAX >> (WRITE_POINTS_MAX - points);
        let mut all_planes = Self { planes: vec![masks; device.geometry.planes() as usize], all, pages };
        for plane in 0..device.geometry.planes() {
            (0..points as usize).for_each(|point| all_planes.update(tables, plane, point));
        }
        all_planes
    }

    /// A write point has taken a page.
    #[inline]
    pub(crate) fn update(&mut self, tables: &Tables, plane: PlaneIx, point: usize) {
        let (rank, pair) = self.pages[tables.next_offset(plane, point) as usize];
        let masks = &mut self.planes[plane as usize];
        let bit = 1 << point;
        masks.by_rank.iter_mut().for_each(|mask| *mask &= !bit);
        masks.by_rank[usize::from(rank)] |= bit;
        masks.pairs = masks.pairs & !bit | if pair { bit } else { 0 };
        masks.open = masks.open & !bit | if tables.has_open_block(plane, point) { bit } else { 0 };
    }

    /// All write points of a plane.
    pub(crate) fn all(&self) -> u64 {
        self.all
    }

    /// Those that have an open block.
    #[inline]
    pub(crate) fn open(&self, plane: PlaneIx) -> u64 {
        self.planes[plane as usize].open
    }

    /// Those whose next page is of a rank; none if there is no such rank.
    #[inline]
    pub(crate) fn of_rank(&self, plane: PlaneIx, rank: usize) -> u64 {
        self.planes[plane as usize].by_rank.get(rank).copied().unwrap_or(0)
    }

    /// The number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.planes[0].by_rank.len()
    }

    /// Those that are not parked.
    #[inline]
    pub(crate) fn unparked(&self, plane: PlaneIx, parking: Parking) -> u64 {
        let masks = &self.planes[plane as usize];
        self.all
            & !match parking {
                Parking::Fast => masks.by_rank[0],
                Parking::FastPair => masks.pairs,
            }
    }

    /// How many of all planes are not parked.
    pub(crate) fn unparked_of_all(&self, parking: Parking) -> u32 {
        (0..self.planes.len() as PlaneIx).map(|plane| self.unparked(plane, parking).count_ones()).sum()
    }
}

impl Tables {
    /// Whether a write point has an open block.
    pub fn has_open_block(&self, plane: PlaneIx, write_point: usize) -> bool {
        self.planes[plane as usize].open[write_point] != NONE
    }

    /// Erased blocks of each plane that only GC may open.
    pub fn reserve_blocks(&self) -> u32 {
        self.reserve_blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Claimant;
    use crate::testkit::tiny_device;

    #[test]
    fn masks_follow_the_pages_that_are_taken() {
        let mut device = tiny_device();
        device.geometry.pages_per_block = 8;
        // MLC B: FFSFSFSS.
        (device.timing.read_ns, device.timing.program_ns) = (vec![10, 20], vec![100, 900]);
        device.timing.page_class_pattern = vec![0, 0, 1, 0, 1, 0, 1, 1];
        let mut tables = Tables::new(&device.geometry, device.logical_pages(), 3, 1, false);
        let mut points = WritePoints::new(&device, &tables);
        assert_eq!((points.all(), points.open(0), points.of_rank(0, 0), points.ranks()), (7, 0, 7, 2));
        assert_eq!(points.unparked(0, Parking::FastPair), 0, "an erased block begins with two fast pages");
        for (taken, (rank, pair)) in
            [(0, false), (1, false), (0, false), (1, false), (0, false), (1, false), (1, false), (0, true)].into_iter().enumerate()
        {
            tables.take(0, 1, Claimant::Host).unwrap();
            points.update(&tables, 0, 1);
            assert_eq!(points, WritePoints::new(&device, &tables), "as found anew");
            assert_eq!(points.of_rank(0, rank) & 2, 2, "{taken}");
            assert_eq!(points.unparked(0, Parking::Fast) & 2 != 0, rank == 1);
            assert_eq!(points.unparked(0, Parking::FastPair) & 2 == 0, pair);
            assert_eq!(points.open(0), if taken < 7 { 2 } else { 0 }, "a full block is open no more");
        }
        assert_eq!(points.unparked_of_all(Parking::Fast), 0);
    }

    /// A block of six pages with every pattern of fast and slow ones.
    #[test]
    fn a_pair_of_fast_pages_lies_within_a_block() {
        let mut device = tiny_device();
        device.geometry.pages_per_block = 6;
        (device.timing.read_ns, device.timing.program_ns) = (vec![10, 20], vec![100, 900]);
        for pattern in 0u16..1 << 6 {
            device.timing.page_class_pattern = (0..6).map(|offset| (pattern >> offset & 1) as u8).collect();
            let fast: Vec<usize> = (0..6).filter(|offset| pattern >> offset & 1 == 0).collect();
            let pairs: Vec<usize> = fast.iter().copied().filter(|offset| fast.contains(&(offset + 1))).collect();
            let expected = if pairs.is_empty() { fast } else { pairs };
            let mut tables = Tables::new(&device.geometry, device.logical_pages(), 1, 1, false);
            let mut points = WritePoints::new(&device, &tables);
            for offset in 0..6 {
                assert_eq!(points.unparked(0, Parking::FastPair) == 0, expected.contains(&offset), "page {offset} of {pattern:06b}");
                tables.take(0, 0, Claimant::Host).unwrap();
                points.update(&tables, 0, 0);
            }
        }
    }
}
