//! Classes of latency: some bits of the highest ones, so that all classes are about equally wide in proportion.

use tinytail_core::units::Ns;

/// The class of a latency: its highest bit and the `bits` bits below.
#[inline]
pub(crate) fn class_of(ns: Ns, bits: u32) -> usize {
    if ns < 1 << bits {
        return ns as usize;
    }
    let high = 63 - ns.leading_zeros();
    let shift = high - bits;
    ((u64::from(shift + 1) << bits) + ((ns >> shift) & ((1 << bits) - 1))) as usize
}

/// The least latency of a class.
pub(crate) fn class_from(class: usize, bits: u32) -> Ns {
    let class = class as u64;
    let (shift, low) = (class >> bits, class & ((1 << bits) - 1));
    if shift == 0 { low } else { (low | 1 << bits) << (shift - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_contiguous_and_cover_every_latency() {
        for bits in [5, 7] {
            let mut last = 0;
            for ns in (0..5000).chain((13..50).map(|bit| 1 << bit)) {
                let class = class_of(ns, bits);
                assert!(class >= last && class_from(class, bits) <= ns && (class_from(class + 1, bits) > ns), "{ns}");
                last = class;
            }
        }
    }
}
