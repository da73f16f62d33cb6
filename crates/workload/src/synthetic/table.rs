//! The tables `[synthetic]` and `[threads.NAME]` of a workload file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::arrivals::{Arrivals, Law};
use super::{Addresses, Synthetic};
use crate::error::WorkloadError;
use crate::file::{Check, Sourced, Text};

/// Requests of one kind. Exactly one of `queue_depth` and `rate_per_s` is given, and exactly one of `block_bytes` and
/// `block_mix`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SyntheticTable {
    /// Closed loop: number of requests that are always outstanding.
    queue_depth: Option<Sourced<u32>>,
    /// Open loop: mean number of requests per second.
    rate_per_s: Option<Sourced<f64>>,
    /// Open loop: how the times between requests are distributed; exponential without it.
    arrivals: Option<Sourced<ArrivalLaw>>,
    /// Coefficient of variation of the times between requests, above 1; only with `arrivals = "hyperexponential"`.
    arrivals_cv: Option<Sourced<f64>>,
    /// Size of every request in bytes, a multiple of 512.
    block_bytes: Option<Sourced<u64>>,
    /// Sizes of requests: pairs of bytes, a multiple of 512, and weight.
    block_mix: Option<Sourced<Vec<(u64, f64)>>>,
    /// Every address is a multiple of this, itself a multiple of 512; without it, the greatest common divisor of the sizes.
    align_bytes: Option<Sourced<u64>>,
    /// Share of requests that are reads, from 0 to 1.
    read_share: Sourced<f64>,
    /// How requests are spread over the range.
    addresses: Sourced<AddressLaw>,
    /// Zipf's exponent, above 0 and at most 4; only with `addresses = "zipf"`.
    zipf_theta: Option<Sourced<f64>>,
    /// Share of the range that is hot, above 0 and below 1; only with `addresses = "hot-cold"`.
    hot_space_share: Option<Sourced<f64>>,
    /// Share of the requests that go to the hot part, from 0 to 1; only with `addresses = "hot-cold"`.
    hot_access_share: Option<Sourced<f64>>,
    /// Number of sequential streams; only with `addresses = "sequential"`.
    streams: Option<Sourced<u32>>,
    /// Where the range of addresses begins, in bytes; 0 without it.
    offset_bytes: Option<Sourced<u64>>,
    /// Size of the range of addresses in bytes; the rest of the mapped part of the drive without it.
    range_bytes: Option<Sourced<u64>>,
    /// Number of requests, unless the run asks for another; without it the run must. A thread without it goes on as long as
    /// others do.
    requests: Option<Sourced<u64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ArrivalLaw {
    /// Exponential times: arrivals that know nothing of each other.
    Exponential,
    /// Equal times.
    Fixed,
    /// Exponential times of two different means, so that they vary by `arrivals_cv`.
    Hyperexponential,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum AddressLaw {
    /// Every slot is as likely.
    Uniform,
    /// The k-th most frequent slot has a share proportional to k^-`zipf_theta`; the hot slots are spread over the range.
    Zipf,
    /// A part of the slots, spread over the range, gets a share of the requests; within the part, and without, all are alike.
    HotCold,
    /// Each of `streams` equal parts of the range is gone through from start to end, again and again; each request belongs to
    /// a stream drawn at random.
    Sequential,
}

/// A share of nothing or of everything leaves no second part.
fn is_part(share: f64) -> bool {
    share > 0.0 && share < 1.0
}

impl SyntheticTable {
    /// Checks the values of the table at `section`.
    pub(crate) fn check(&self, text: Text<'_>, section: &[&str]) -> Result<Synthetic, WorkloadError> {
        let check = Check { text, section };
        let requests = self.requests.as_ref().map(|requests| requests.value);
        if requests == Some(0) {
            return Err(check.fault("requests", "is 0; expected 1 or more"));
        }
        let arrivals = self.arrivals(check)?;
        let blocks = self.blocks(check)?;
        let align_sectors = match &self.align_bytes {
            Some(align) => check.sectors("align_bytes", align)?,
            None => blocks.iter().map(|(sectors, _)| u64::from(*sectors)).fold(0, greatest_common_divisor),
        };
        let addresses = self.addresses(check)?;
        if let Addresses::Sequential { .. } = addresses
            && let Some((sectors, _)) = blocks.iter().find(|(sectors, _)| u64::from(*sectors) % align_sectors != 0)
        {
            return Err(check.fault(
                "align_bytes",
                format_args!(
                    "is {}, of which the size {} is no multiple; sequential requests follow each other without gaps",
                    align_sectors * 512,
                    u64::from(*sectors) * 512
                ),
            ));
        }
        let range_sectors = self.range_bytes.as_ref().map(|range| check.sectors("range_bytes", range)).transpose()?;
        let offset_sectors = match &self.offset_bytes {
            None => 0,
            Some(offset) if offset.value == 0 => 0,
            Some(offset) => check.sectors("offset_bytes", offset)?,
        };
        let largest = blocks.iter().map(|(sectors, _)| *sectors).max().unwrap_or(0);
        if range_sectors.is_some_and(|range| range < u64::from(largest)) {
            let size = if self.block_mix.is_some() { "the largest size of `block_mix`" } else { "`block_bytes`" };
            return Err(check.fault("range_bytes", format_args!("is smaller than {size}; not one block fits")));
        }
        if range_sectors.unwrap_or(0).checked_add(offset_sectors).is_none_or(|end| end > 1 << 54) {
            return Err(check.fault("offset_bytes", "and `range_bytes` reach beyond 2^63 bytes"));
        }
        Ok(Synthetic {
            arrivals,
            blocks,
            align_sectors,
            read_share: check.share("read_share", &self.read_share)?,
            addresses,
            offset_sectors,
            range_sectors,
            requests,
        })
    }

    fn arrivals(&self, check: Check<'_>) -> Result<Arrivals, WorkloadError> {
        let rate_per_s = match (&self.queue_depth, &self.rate_per_s) {
            (Some(_), Some(_)) => {
                return Err(check.fault("rate_per_s", "and `queue_depth` are both given; expected one, open or closed loop"));
            }
            (None, None) => {
                return Err(check.fault("queue_depth", "(closed loop) or `rate_per_s` (open loop) is missing"));
            }
            (Some(depth), None) => {
                for (key, given) in [("arrivals", self.arrivals.is_some()), ("arrivals_cv", self.arrivals_cv.is_some())] {
                    if given {
                        return Err(check.fault(key, "is given in closed loop, where requests arrive when others complete"));
                    }
                }
                if depth.value == 0 {
                    return Err(check.fault("queue_depth", "is 0; expected 1 or more"));
                }
                return Ok(Arrivals::Closed { depth: depth.value });
            }
            (None, Some(rate)) if !(rate.value > 0.0 && rate.value <= 1e9) => {
                return Err(
                    check.fault("rate_per_s", format_args!("is {}; expected a rate above 0 and at most 1e9 per second", rate.value))
                );
            }
            (None, Some(rate)) => rate.value,
        };
        let law = match (self.arrivals.as_ref().map_or(ArrivalLaw::Exponential, |law| law.value), &self.arrivals_cv) {
            (ArrivalLaw::Exponential, None) => Law::Exponential,
            (ArrivalLaw::Fixed, None) => Law::Fixed,
            (ArrivalLaw::Hyperexponential, Some(cv)) if cv.value > 1.0 && cv.value <= 100.0 => Law::Hyperexponential { cv: cv.value },
            (ArrivalLaw::Hyperexponential, Some(cv)) => {
                return Err(check.fault("arrivals_cv", format_args!("is {}; expected a variation above 1 and at most 100", cv.value)));
            }
            (ArrivalLaw::Hyperexponential, None) => {
                return Err(check.fault("arrivals_cv", "is missing; `arrivals` is \"hyperexponential\""));
            }
            (_, Some(_)) => {
                return Err(check.fault("arrivals_cv", "is given without `arrivals = \"hyperexponential\"`"));
            }
        };
        Ok(Arrivals::Open { rate_per_s, law })
    }

    /// Sizes in sectors, with their weights.
    fn blocks(&self, check: Check<'_>) -> Result<Vec<(u32, f64)>, WorkloadError> {
        let too_large = |key| check.fault(key, "is 2 TiB or more");
        match (&self.block_bytes, &self.block_mix) {
            (Some(bytes), None) => {
                let sectors = check.sectors("block_bytes", bytes)?;
                Ok(vec![(u32::try_from(sectors).map_err(|_| too_large("block_bytes"))?, 1.0)])
            }
            (None, Some(mix)) => {
                let mut blocks = Vec::new();
                for &(bytes, weight) in &mix.value {
                    let sectors = check.sectors("block_mix", &Sourced { value: bytes })?;
                    if !(weight.is_finite() && weight >= 0.0) {
                        return Err(check.fault("block_mix", format_args!("has the weight {weight}; expected 0 or more")));
                    }
                    blocks.push((u32::try_from(sectors).map_err(|_| too_large("block_mix"))?, weight));
                }
                if !blocks.iter().any(|(_, weight)| *weight > 0.0) {
                    return Err(check.fault("block_mix", "needs at least one pair of bytes and a weight above 0"));
                }
                Ok(blocks)
            }
            (Some(_), Some(_)) => Err(check.fault("block_mix", "and `block_bytes` are both given; expected one of them")),
            (None, None) => Err(check.fault("block_bytes", "(one size) or `block_mix` (several) is missing")),
        }
    }

    fn addresses(&self, check: Check<'_>) -> Result<Addresses, WorkloadError> {
        let law = self.addresses.value;
        let said = match law {
            AddressLaw::Uniform => "uniform",
            AddressLaw::Zipf => "zipf",
            AddressLaw::HotCold => "hot-cold",
            AddressLaw::Sequential => "sequential",
        };
        for (key, given, wanted, name) in [
            ("zipf_theta", self.zipf_theta.is_some(), AddressLaw::Zipf, "zipf"),
            ("hot_space_share", self.hot_space_share.is_some(), AddressLaw::HotCold, "hot-cold"),
            ("hot_access_share", self.hot_access_share.is_some(), AddressLaw::HotCold, "hot-cold"),
            ("streams", self.streams.is_some(), AddressLaw::Sequential, "sequential"),
        ] {
            if given && law != wanted {
                return Err(check.fault(key, format_args!("is given with {said} addresses; expected `addresses = \"{name}\"`")));
            }
            if !given && law == wanted {
                return Err(check.fault(key, format_args!("is missing; `addresses` is \"{name}\"")));
            }
        }
        let value = |share: &Option<Sourced<f64>>| share.as_ref().map_or(0.0, |share| share.value);
        match law {
            AddressLaw::Uniform => Ok(Addresses::Uniform),
            AddressLaw::Zipf => match value(&self.zipf_theta) {
                theta if theta > 0.0 && theta <= 4.0 => Ok(Addresses::Zipf { theta }),
                theta => Err(check.fault("zipf_theta", format_args!("is {theta}; expected an exponent above 0, at most 4"))),
            },
            AddressLaw::HotCold => match (value(&self.hot_space_share), value(&self.hot_access_share)) {
                (space, _) if !is_part(space) => {
                    Err(check.fault("hot_space_share", format_args!("is {space}; expected a share above 0 and below 1")))
                }
                (_, access) if !(0.0..=1.0).contains(&access) => {
                    Err(check.fault("hot_access_share", format_args!("is {access}; expected a share from 0 to 1")))
                }
                (space, access) => Ok(Addresses::HotCold { space, access }),
            },
            AddressLaw::Sequential => match self.streams.as_ref().map_or(0, |streams| streams.value) {
                streams @ 1..=65_536 => Ok(Addresses::Sequential { streams }),
                streams => Err(check.fault("streams", format_args!("is {streams}; expected 1 to 65,536"))),
            },
        }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
