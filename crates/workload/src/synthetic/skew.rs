//! Where random requests of a job of fio go, as fio draws them: shares of zones, Pareto's and the normal distribution.

use super::zipf::Zipf;
use crate::random::Random;

/// How random blocks are spread over a range.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Skew {
    /// Every block is as likely.
    None,
    /// Zipf's law, the hot blocks spread.
    Zipf { theta: f64 },
    /// A share `h` of the blocks has the share `1 - h` of the requests, spread; the hottest at `centre`, a share of the range, if
    /// that is given.
    Pareto { h: f64, centre: Option<f64> },
    /// The mean of twelve even draws, with this deviation in percent of the range, spread, and shifted where a centre is given.
    Normal { deviation: f64, centre: Option<f64> },
    /// Zones of the range for reads, writes and trims.
    Zones([Vec<Zone>; 3]),
}

/// A part of the range, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    /// Its share of the requests, in percent.
    pub(crate) requests: u64,
    pub(crate) size: ZoneSize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneSize {
    /// Of the range.
    Percent(u64),
    Bytes(u64),
}

impl Skew {
    /// What it is, for people.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::None => "uniform".into(),
            Self::Zipf { theta } => format!("Zipf with exponent {theta}, hot blocks spread"),
            Self::Pareto { h, .. } => format!("Pareto with h = {h}, hot blocks spread"),
            Self::Normal { deviation, .. } => format!("normal with a deviation of {deviation} %, spread"),
            Self::Zones(zones) => {
                let size = |size| match size {
                    ZoneSize::Percent(percent) => format!("{percent} % of the range"),
                    ZoneSize::Bytes(bytes) => format!("{bytes} bytes"),
                };
                let all = |zones: &[Zone]| -> String {
                    let zone = |zone: &Zone| format!("{} % of the requests to {}", zone.requests, size(zone.size));
                    zones.iter().map(zone).collect::<Vec<_>>().join(", ")
                };
                let [reads, writes, _] = zones;
                if reads == writes { all(reads) } else { format!("reads: {}; writes: {}", all(reads), all(writes)) }
            }
        }
    }
}

/// Draws blocks by a skew.
pub(super) enum Drawn {
    None,
    Zipf(Zipf),
    /// The exponent of the draw, and what is added to the place.
    Pareto {
        exponent: f64,
        blocks: u64,
        shift: u64,
    },
    Normal {
        width: u64,
        blocks: u64,
        shift: u64,
    },
    Zones([Vec<Zone>; 3]),
}

/// The factor by which fio spreads neighbours over its range: the golden ratio as a fraction of 2^64.
const SPREAD: u64 = 0x61c8_8646_80b5_83eb;

fn spread(rank: u64, shift: u64, blocks: u64) -> u64 {
    rank.wrapping_mul(SPREAD).wrapping_add(shift) % blocks
}

impl Drawn {
    /// `blocks` must be above 0.
    pub(super) fn new(skew: &Skew, blocks: u64, random: &mut Random) -> Self {
        // Without a centre the hottest block is anywhere.
        let place = |centre: Option<f64>, random: &mut Random| match centre {
            Some(centre) => (blocks as f64 * centre) as u64,
            None => random.bits() >> 32,
        };
        match skew {
            Skew::None => Self::None,
            Skew::Zipf { theta } => Self::Zipf(Zipf::new(blocks, *theta)),
            Skew::Pareto { h, centre } => {
                let exponent = libm::log(*h) / libm::log(1.0 - h);
                Self::Pareto { exponent, blocks, shift: place(*centre, random) }
            }
            Skew::Normal { deviation, centre } => {
                let width = (libm::ceil(blocks as f64 * deviation / 100.0) as u64).min(blocks / 2);
                let shift = centre.map_or(0, |centre| (blocks as f64 * (centre - 0.5)) as i64 as u64);
                Self::Normal { width, blocks, shift }
            }
            Skew::Zones(zones) => Self::Zones(zones.clone()),
        }
    }

    /// Which blocks of the range are as likely as each other this time: the first and how many; a block where it has been drawn.
    /// None if a zone lies beyond the range. `align` is a block's size in bytes.
    pub(super) fn next(&self, kind: usize, blocks: u64, align: u64, random: &mut Random, zone_random: &mut Random) -> Option<(u64, u64)> {
        match self {
            Self::None => Some((0, blocks)),
            Self::Zipf(zipf) => Some((zipf.slot(random), 1)),
            Self::Pareto { exponent, blocks, shift } => {
                let rank = ((blocks - 1) as f64 * libm::pow(random.unit(), *exponent)) as u64;
                Some((spread(rank, *shift, *blocks), 1))
            }
            Self::Normal { width, blocks, shift } => {
                let sum: u64 = (0..12).map(|_| random.below(blocks + 1).0).sum();
                let mut rank = sum.div_ceil(12);
                if *width > 0 {
                    let mut off = random.below(*width).0 as i64 - (*width / 2) as i64;
                    while rank.checked_add_signed(off).is_none_or(|rank| rank >= *blocks) {
                        off /= 2;
                        if off == 0 {
                            break;
                        }
                    }
                    rank = rank.saturating_add_signed(off);
                }
                Some((spread(rank, *shift, *blocks), 1))
            }
            Self::Zones(zones) => {
                let drawn = zone_random.below(100).0;
                let (mut requests, mut percent, mut bytes) = (0, 0, 0);
                for zone in &zones[kind] {
                    requests += zone.requests;
                    let (first, count) = match zone.size {
                        ZoneSize::Percent(size) => {
                            percent += size;
                            ((percent - size) * blocks / 100, size * blocks / 100)
                        }
                        ZoneSize::Bytes(size) => {
                            bytes += size;
                            ((bytes - size) / align, bytes / align - (bytes - size) / align)
                        }
                    };
                    if drawn < requests {
                        // A zone smaller than a block is its first one.
                        return (first + count <= blocks).then_some((first, count.max(1)));
                    }
                }
                Some((0, blocks))
            }
        }
    }
}
