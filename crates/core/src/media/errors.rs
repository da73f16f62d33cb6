//! Bit errors: how many a page has when it is read, and which pages were copied without passing the ECC.
//!
//! A program brings raw bit errors at a rate that grows with the erases of its block. A copyback writes the page as it was
//! read, so the errors of all its programs add up until it passes the ECC engine and is written anew. What is kept of a page
//! is one byte: its consecutive copybacks, and whether it has been scrubbed since. From that, the erases of its block and a
//! number drawn from the run's seed and the logical page, the errors of each codeword follow: the quantile of a Poisson
//! distribution. The number stays with the page wherever it lies and whatever is written to it, so that a copyback never removes
//! errors, and what happens to other pages changes none of its own. Where the device says so, each cut of an erase in the middle of
//! a step raises the errors that all later programs bring to its block.

use crate::device::Device;
use crate::ftl::Tables;
use crate::ids::{BlockIx, Lpn, Ppn};
use crate::mem::huge_vec;
use crate::policy::answers::COPIES_MAX;
use std::ops::Range;

/// Marks a page that has been scrubbed since it was last copied.
const CHECKED: u8 = 0x80;

/// Means are in units of 2^-24 of a bit.
const MEAN_SHIFT: u32 = 24;
/// Rows of quantiles for each doubling of the mean, and doublings: means from 2^-24 to 2^12.
const ROWS_PER_DOUBLING: u64 = 16;
const DOUBLINGS: u64 = 36;
/// Points of the table of rates, over twice the rated erases.
const RATE_POINTS: usize = 256;
/// Quantiles have 53 bits.
const QUANTILE_BITS: u32 = 53;

/// What the ECC engine finds in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bits corrected in all codewords.
    pub corrected: u32,
    /// Wrong bits of the worst codeword; one more than can be corrected stands for any number beyond.
    pub worst: u32,
    /// That codeword has more than can be corrected.
    pub is_beyond: bool,
}

/// Errors by erases and copies.
#[derive(Debug)]
struct Model {
    /// Mean errors of a codeword for each program, at equidistant numbers of erases.
    means: Vec<u64>,
    erases_per_point: u64,
    erases_before: u32,
    /// Twice the rated erases, beyond which a block gets no worse.
    erases_max: u64,
    /// For each row of means and each number of errors, the quantile from which on there are more.
    quantiles: Vec<u64>,
    correctable: u32,
    codewords: u32,
}

impl Model {
    fn new(device: &Device) -> Option<Self> {
        let errors = device.errors.as_ref()?;
        let erases_per_point = (2 * u64::from(errors.rated_erases)).div_ceil(RATE_POINTS as u64);
        let bits = f64::from(errors.codeword_bytes) * 8.0;
        let (fresh, rated) = (errors.fresh_rber.units() as f64, errors.rated_rber.units() as f64);
        let exponent = errors.exponent.units() as f64 / 100.0;
        let means = (0..=RATE_POINTS as u64).map(|point| {
            let share = (point * erases_per_point) as f64 / f64::from(errors.rated_erases);
            let rate = (fresh + (rated - fresh) * libm::pow(share, exponent)) / 1e12;
            // A codeword cannot have more wrong bits than it has.
            (rate.min(1.0) * bits * f64::from(1u32 << MEAN_SHIFT)) as u64
        });
        let columns = errors.correctable_bits as usize + 1;
        let mut quantiles = Vec::with_capacity((DOUBLINGS * ROWS_PER_DOUBLING) as usize * columns);
        for row in 0..DOUBLINGS * ROWS_PER_DOUBLING {
            let (doubling, part) = (row / ROWS_PER_DOUBLING, row % ROWS_PER_DOUBLING);
            let scale = libm::ldexp(1.0, doubling as i32 - MEAN_SHIFT as i32);
            let mean = scale * (1.0 + part as f64 / ROWS_PER_DOUBLING as f64);
            let (mut term, mut sum) = (libm::exp(-mean), 0.0);
            for k in 0..columns {
                sum += term;
                term *= mean / (k + 1) as f64;
                quantiles.push((sum.min(1.0) * libm::ldexp(1.0, QUANTILE_BITS as i32)) as u64);
            }
        }
        Some(Self {
            means: means.collect(),
            erases_per_point,
            erases_before: errors.erases_before,
            erases_max: 2 * u64::from(errors.rated_erases),
            quantiles,
            correctable: errors.correctable_bits,
            codewords: device.geometry.page_bytes / errors.codeword_bytes,
        })
    }

    /// Mean errors of a codeword that a program brings on a block of so many erases.
    fn mean(&self, erases: u32) -> u64 {
        let erases = (u64::from(self.erases_before) + u64::from(erases)).min(self.erases_max);
        let point = erases / self.erases_per_point;
        if point as usize >= RATE_POINTS {
            return self.means[RATE_POINTS];
        }
        let (from, to) = (self.means[point as usize], self.means[point as usize + 1]);
        from + (to - from) * (erases % self.erases_per_point) / self.erases_per_point
    }

    /// Errors of a codeword whose programs bring `mean` in all, at a quantile.
    fn errors(&self, mean: u64, quantile: u64) -> u32 {
        if mean == 0 {
            return 0;
        }
        // The nearest row.
        let mean = mean + (1 << mean.ilog2()) / (2 * ROWS_PER_DOUBLING);
        let doubling = u64::from(mean.ilog2());
        let row = if doubling >= DOUBLINGS {
            DOUBLINGS * ROWS_PER_DOUBLING - 1
        } else {
            doubling * ROWS_PER_DOUBLING + (((mean - (1 << doubling)) * ROWS_PER_DOUBLING) >> doubling)
        };
        let columns = self.correctable as usize + 1;
        let row = &self.quantiles[row as usize * columns..][..columns];
        row.partition_point(|&least| least <= quantile) as u32
    }
}

/// The errors of every page.
#[derive(Debug)]
pub(crate) struct PageErrors {
    model: Model,
    seed: u64,
    /// Of each physical page: consecutive copybacks of its data, and whether it was scrubbed since.
    copies: Vec<u8>,
    /// Blocks into which pages were copied, or of which pages were put off, since the last look through them began.
    suspects: Vec<bool>,
    /// Of each block, the cuts of its erases in the middle of a step; none where they do no harm.
    cuts: Vec<u32>,
    /// What 100,000 of them add to the errors of a block, in percent.
    percent_per_100_000: u64,
    pages_per_block: u32,
}

/// Scatters the bits of a number.
fn scatter(mut x: u64) -> u64 {
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

impl PageErrors {
    /// The errors of a drive all of whose pages have just passed the ECC; nothing if its device has no model of errors.
    pub fn new(device: &Device) -> Option<Self> {
        let model = Model::new(device)?;
        let g = &device.geometry;
        let percent = device.errors.as_ref()?.percent_per_1000_suspensions.units();
        let blocks = (g.planes() * g.blocks_per_plane) as usize;
        let mut errors = Self {
            model,
            seed: 0,
            copies: huge_vec(g.physical_pages() as usize, 0),
            suspects: vec![false; blocks],
            cuts: vec![0; if percent > 0 { blocks } else { 0 }],
            percent_per_100_000: percent,
            pages_per_block: g.pages_per_block,
        };
        errors.seed(0);
        Some(errors)
    }

    pub fn seed(&mut self, seed: u64) {
        self.seed = scatter(seed ^ 0x5c0b_ec7e_88a3_1d29);
    }

    /// Bits of a codeword that can be corrected.
    pub fn correctable(&self) -> u32 {
        self.model.correctable
    }

    /// Consecutive copybacks of a physical page's data.
    pub fn copies(&self, ppn: Ppn) -> u8 {
        self.copies[ppn as usize] & COPIES_MAX
    }

    /// Whether a page has been copied at least so often and not scrubbed since.
    pub fn is_due(&self, ppn: Ppn, least: u8) -> bool {
        let byte = self.copies[ppn as usize];
        byte & CHECKED == 0 && byte >= least.max(1)
    }

    /// Whether pages were copied into a block, or put off in it, since the last look through it began.
    pub fn is_suspect(&self, block: BlockIx) -> bool {
        self.suspects[block as usize]
    }

    /// The blocks among these that are suspect.
    pub fn suspects(&self, blocks: Range<BlockIx>) -> impl Iterator<Item = BlockIx> + '_ {
        blocks.filter(|&block| self.is_suspect(block))
    }

    /// A look through a block begins. What becomes of its pages from now on makes it suspect again.
    pub fn begin_look(&mut self, block: BlockIx) {
        self.suspects[block as usize] = false;
    }

    /// Notes a copyback into a block. Returns the consecutive ones up to it.
    pub fn copied(&mut self, from: Ppn, to: Ppn, block: BlockIx) -> u8 {
        let copies = (self.copies(from) + 1).min(COPIES_MAX);
        self.copies[to as usize] = copies;
        self.suspects[block as usize] = true;
        copies
    }

    pub fn checked(&mut self, ppn: Ppn) {
        self.copies[ppn as usize] |= CHECKED;
    }

    /// A page of a block that was checked could not be cured now: it is due again.
    pub fn put_off(&mut self, ppn: Ppn, block: BlockIx) {
        self.copies[ppn as usize] &= !CHECKED;
        self.suspects[block as usize] = true;
    }

    /// The power failed: which pages were looked at is forgotten, and every block with copied pages is suspect.
    pub fn forget_looks(&mut self, tables: &Tables) {
        self.copies.iter_mut().for_each(|byte| *byte &= COPIES_MAX);
        for (block, suspect) in self.suspects.iter_mut().enumerate() {
            *suspect = tables.range_of(block as BlockIx).any(|ppn| self.copies[ppn as usize] > 0);
        }
    }

    pub fn erased(&mut self, block: BlockIx, pages: Range<Ppn>) {
        self.copies[pages.start as usize..pages.end as usize].fill(0);
        self.suspects[block as usize] = false;
    }

    /// The erase of a block was cut so often in the middle of a step.
    pub fn erase_was_cut(&mut self, block: BlockIx, times: u32) {
        if let Some(cuts) = self.cuts.get_mut(block as usize) {
            *cuts = cuts.saturating_add(times);
        }
    }

    /// Mean errors with what the cuts of a page's block add.
    fn with_cuts(&self, mean: u64, ppn: Ppn) -> u64 {
        let Some(&cuts) = self.cuts.get((ppn / self.pages_per_block) as usize) else { return mean };
        let all = 10_000_000 + u128::from(self.percent_per_100_000) * u128::from(cuts);
        (u128::from(mean) * all / 10_000_000) as u64
    }

    /// What the ECC finds in a physical page that holds `lpn`, in a block of so many erases.
    pub fn find(&self, lpn: Lpn, ppn: Ppn, erases: u32) -> Found {
        let mean = self.with_cuts(self.model.mean(erases), ppn) * (u64::from(self.copies(ppn)) + 1);
        let mut found = Found { corrected: 0, worst: 0, is_beyond: false };
        for codeword in 0..self.model.codewords {
            let drawn = scatter(self.seed ^ (u64::from(lpn) << 32 | u64::from(codeword)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let errors = self.model.errors(mean, drawn >> (64 - QUANTILE_BITS));
            found.worst = found.worst.max(errors);
            found.corrected += if errors > self.model.correctable { 0 } else { errors };
        }
        found.is_beyond = found.worst > self.model.correctable;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Errors;
    use crate::testkit::tiny_device;
    use tinytail_config::Decimal;

    /// One error in each codeword of 512 bytes for each program of a block with 1000 erases, a hundredth of that on a new one.
    fn errors_of(correctable: u32, erases_before: u32) -> Errors {
        Errors {
            fresh_rber: Decimal::of_units(1_000_000_000_000 / 4096 / 100),
            rated_rber: Decimal::of_units(1_000_000_000_000 / 4096),
            rated_erases: 1000,
            exponent: Decimal::of_units(100),
            erases_before,
            codeword_bytes: 512,
            correctable_bits: correctable,
            percent_per_1000_suspensions: Decimal::default(),
        }
    }

    fn errors(correctable: u32, erases_before: u32) -> PageErrors {
        let mut device = tiny_device();
        device.errors = Some(errors_of(correctable, erases_before));
        PageErrors::new(&device).unwrap()
    }

    fn mean_of(errors: &PageErrors, ppn: Ppn, erases: u32) -> f64 {
        let pages = 20_000;
        let sum: u64 = (0..pages).map(|lpn| u64::from(errors.find(lpn, ppn, erases).corrected)).sum();
        sum as f64 / f64::from(pages) / 8.0
    }

    #[test]
    fn errors_grow_with_erases_and_with_copybacks_as_stated() {
        let mut errors = errors(100, 0);
        errors.seed(3);
        for (erases, expected) in [(0, 0.01), (500, 0.505), (1000, 1.0), (2000, 1.99), (9000, 1.99)] {
            let found = mean_of(&errors, 0, erases);
            assert!((found / expected - 1.0).abs() < 0.1, "{erases}: {found}, not {expected}");
        }
        for copies in 1..=4 {
            assert_eq!(errors.copied(copies - 1, copies, 0), copies as u8);
        }
        let found = mean_of(&errors, 4, 1000);
        assert!((found / 5.0 - 1.0).abs() < 0.05, "{found}");
    }

    #[test]
    fn cuts_of_erases_raise_the_errors_of_their_block_alone_where_the_device_says_so() {
        let mut plain = errors(100, 0);
        plain.erase_was_cut(1, 1000);
        assert_eq!(plain.with_cuts(1_000_000, 4), 1_000_000);
        let mut device = tiny_device();
        device.errors = Some(Errors { percent_per_1000_suspensions: Decimal::of_units(1440), ..errors_of(100, 0) });
        let mut strained = PageErrors::new(&device).unwrap();
        strained.erase_was_cut(1, 600);
        strained.erase_was_cut(1, 400);
        assert_eq!([3, 4, 7, 8].map(|ppn| strained.with_cuts(1_000_000, ppn)), [1_000_000, 1_144_000, 1_144_000, 1_000_000]);
    }

    #[test]
    fn the_share_of_uncorrectable_codewords_is_that_of_poisson() {
        let mut errors = errors(2, 1000);
        errors.seed(9);
        // P(X > 2) for a mean of 1 is 0.0803; none of eight codewords has more in 51.2 % of the pages.
        let beyond = (0..20_000).filter(|&lpn| errors.find(lpn, 0, 0).worst > 2).count();
        assert!((beyond as f64 / 20_000.0 - 0.488).abs() < 0.02, "{beyond}");
    }

    #[test]
    fn a_copyback_never_removes_errors_and_an_erase_forgets_them() {
        let mut errors = errors(30, 800);
        errors.seed(1);
        (0..12).for_each(|ppn| {
            errors.copied(ppn, ppn + 1, (ppn + 1) / 4);
        });
        for lpn in 0..200 {
            let found: Vec<u32> = (0..=12).map(|ppn| errors.find(lpn, ppn, 7).worst).collect();
            assert!(found.is_sorted(), "{found:?}");
        }
        errors.erased(2, 8..12);
        assert_eq!((errors.copies(8), errors.copies(12)), (0, 12));
    }

    #[test]
    fn only_copied_pages_that_were_not_scrubbed_since_are_due() {
        let mut errors = errors(30, 0);
        assert!(!errors.is_due(0, 0) && !errors.is_suspect(0));
        errors.copied(0, 1, 0);
        assert!(errors.is_due(1, 1) && !errors.is_due(1, 2) && errors.is_suspect(0));
        errors.checked(1);
        assert!(!errors.is_due(1, 1) && errors.copies(1) == 1);
        errors.begin_look(0);
        errors.put_off(1, 0);
        assert!(errors.is_due(1, 1) && errors.is_suspect(0));
        errors.checked(1);
        errors.copied(1, 2, 0);
        assert!(errors.is_due(2, 2));
        for _ in 0..200 {
            errors.copied(2, 2, 0);
        }
        assert_eq!(errors.copies(2), COPIES_MAX);
    }
}
