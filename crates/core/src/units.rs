//! Units of time, space and address.

/// A point in simulated time, or a duration, in nanoseconds.
pub type Ns = u64;

/// One microsecond.
pub const US: Ns = 1_000;
/// One millisecond.
pub const MS: Ns = 1_000_000;
/// One second.
pub const SECOND: Ns = 1_000_000_000;

/// Bytes of a sector, the unit in which hosts address a drive.
pub const SECTOR_BYTES: u32 = 512;

/// The latest time that the event queue can hold: about 26 days.
pub const TIME_MAX: Ns = (1 << 51) - 1;

/// The bits of `count` sectors from `first`.
pub(crate) fn sector_mask(first: u16, count: u16) -> u64 {
    (u64::MAX >> (64 - count)) << first
}

/// The numbers of the bits that are set, in order.
#[inline]
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}

/// A divisor that is a power of two on most drives, where dividing is a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divisor {
    pub by: u32,
    shift: Option<u32>,
}

impl Divisor {
    pub fn new(by: u32) -> Self {
        Self { by, shift: by.is_power_of_two().then(|| by.trailing_zeros()) }
    }

    #[inline(always)]
    pub fn divide(self, number: u32) -> u32 {
        self.shift.map_or_else(|| number / self.by, |shift| number >> shift)
    }

    /// The remainder, and the quotient.
    #[inline(always)]
    pub fn split(self, number: u32) -> (u32, u32) {
        let quotient = self.divide(number);
        (number - quotient * self.by, quotient)
    }
}

/// Scales a random 64-bit number to 0 ..= below - 1.
pub(crate) fn bounded(random: u64, below: u64) -> u64 {
    ((u128::from(random) * u128::from(below)) >> 64) as u64
}

/// Brings items into a random order.
pub(crate) fn shuffle(random: &mut impl rand_core::Rng, items: &mut [u32]) {
    for index in (1..items.len()).rev() {
        items.swap(index, bounded(random.next_u64(), index as u64 + 1) as usize);
    }
}
