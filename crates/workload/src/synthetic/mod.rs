//! Requests made by rule: a mix of sizes and kinds over a range of addresses, in closed or in open loop.

mod addresses;
pub(crate) mod arrivals;
mod block_map;
mod bursts;
mod generator;
pub(crate) mod passes;
pub(crate) mod profile;
pub(crate) mod profile_table;
pub(crate) mod skew;
mod sweep;
pub(crate) mod table;
mod zipf;

use tinytail_core::units::{Ns, SECTOR_BYTES, TIME_MAX};

use crate::error::WorkloadError;
use crate::source::SourceContext;
use crate::streams::{Pacing, Pulses, Rest, Stream, Timing};
use crate::text;
use arrivals::{Arrivals, Law};
use passes::Passes;

/// The highest rate of requests per second.
pub(crate) const RATE_PER_S_MAX: f64 = 1e9;

/// A synthetic workload, or one thread of several, checked: shares are in [0, 1] and add up to at most 1, sizes are above 0.
#[derive(Clone, Debug)]
pub(crate) struct Synthetic {
    pub(crate) arrivals: Arrivals,
    /// Sizes of the requests; of the reads alone if writes have their own.
    pub(crate) blocks: Blocks,
    /// Sizes of writes and trims, where they differ from those of reads.
    pub(crate) write_blocks: Option<Blocks>,
    pub(crate) read_share: f64,
    /// What is neither a read nor a trim is a write.
    pub(crate) trim_share: f64,
    pub(crate) addresses: Addresses,
    /// Whether reads go through sequential streams at places of their own, apart from writes and trims.
    pub(crate) kinds_apart: bool,
    /// Where the range of addresses begins.
    pub(crate) offset: Offset,
    /// The size of the range; the rest of the mapped part of the drive without one.
    pub(crate) range: Option<Length>,
    /// Without end where neither this nor `volume` nor `runtime_ns` is given.
    pub(crate) requests: Option<u64>,
    /// Ends with the request that reaches this much.
    pub(crate) volume: Option<Volume>,
    /// When it begins.
    pub(crate) start_ns: Ns,
    /// How long it issues requests.
    pub(crate) runtime_ns: Option<Ns>,
    /// In closed loop: times of load with pauses between them.
    pub(crate) pulses: Option<Pulses>,
    /// Whether its writes are marked as critical.
    pub(crate) critical: bool,
    /// Mixed into the seed, so that another number gives other draws.
    pub(crate) salt: u64,
    /// Which requests there are, where they are drawn in passes; `blocks`, `addresses`, the shares, `requests` and `volume` say
    /// nothing then.
    pub(crate) passes: Option<Box<Passes>>,
    /// Pauses in which nothing is outstanding.
    pub(crate) rest: Option<Rest>,
}

/// Sizes in sectors and their weights, of which at least one is above 0, and what addresses are multiples of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blocks {
    pub(crate) sizes: Vec<(u32, f64)>,
    pub(crate) align_sectors: u64,
}

/// A length of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Sectors(u64),
    /// Of the part of the drive that holds data.
    Percent(u64),
}

/// Where a range begins: at the sum of its parts, rounded up to a multiple where one of them depends on the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offset {
    pub(crate) at: Length,
    /// A length, and how many times it is added.
    pub(crate) step: (Length, u64),
    pub(crate) align_sectors: u64,
}

/// How much is read, written and trimmed in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Volume {
    Sectors(u64),
    /// So many times as much as the range has, in whole blocks of the smallest size.
    Ranges(u32),
}

/// How requests are spread over the range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Addresses {
    Uniform,
    /// Every slot once, in an order drawn anew for each round.
    Shuffled,
    Zipf {
        theta: f64,
    },
    /// The share of the slots that are hot, and the share of the requests that go there.
    HotCold {
        space: f64,
        access: f64,
    },
    Sequential {
        streams: u32,
    },
}

impl Blocks {
    /// Sizes with addresses at multiples of their greatest common divisor.
    pub(crate) fn of(sizes: Vec<(u32, f64)>) -> Self {
        let align_sectors = sizes.iter().map(|(sectors, _)| u64::from(*sectors)).fold(0, greatest_common_divisor);
        Self { sizes, align_sectors }
    }

    pub(crate) fn largest_sectors(&self) -> u32 {
        self.sizes.iter().map(|(sectors, _)| *sectors).max().unwrap_or(0)
    }

    fn detail(&self) -> String {
        let bytes = |sectors: u32| u64::from(sectors) * u64::from(SECTOR_BYTES);
        match self.sizes[..] {
            [(sectors, _)] => format!("{} bytes", bytes(sectors)),
            _ => {
                let whole: f64 = self.sizes.iter().map(|(_, weight)| weight).sum();
                let size = |(sectors, weight): &(u32, f64)| format!("{} bytes ({} %)", bytes(*sectors), percent(weight / whole));
                self.sizes.iter().map(size).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Length {
    fn sectors(self, mapped_sectors: u64) -> u64 {
        match self {
            Self::Sectors(sectors) => sectors,
            Self::Percent(percent) => (u128::from(mapped_sectors) * u128::from(percent) / 100) as u64,
        }
    }
}

impl From<Length> for Offset {
    fn from(at: Length) -> Self {
        Self { at, step: (Length::Sectors(0), 0), align_sectors: 1 }
    }
}

impl Offset {
    /// In sectors, if that does not depend on the drive.
    pub(crate) fn fixed(self) -> Option<u64> {
        match (self.at, self.step) {
            (Length::Sectors(sectors), (_, 0)) => Some(sectors),
            (Length::Sectors(sectors), (Length::Sectors(step), times)) => Some(sectors + step * times),
            _ => None,
        }
    }

    fn sectors(self, mapped_sectors: u64) -> u64 {
        let (step, times) = self.step;
        self.fixed().unwrap_or_else(|| {
            // Shares are rounded down to bytes, so that the sum is rounded up where it has some beyond a multiple.
            let bytes = |length| match length {
                Length::Sectors(sectors) => u128::from(sectors) * u128::from(SECTOR_BYTES),
                Length::Percent(percent) => u128::from(mapped_sectors) * u128::from(SECTOR_BYTES) * u128::from(percent) / 100,
            };
            let align = u128::from(self.align_sectors);
            let sectors = (bytes(self.at) + bytes(step) * u128::from(times)).div_ceil(align * u128::from(SECTOR_BYTES)) * align;
            u64::try_from(sectors).unwrap_or(u64::MAX)
        })
    }
}

impl Synthetic {
    /// What will be made, in one line.
    pub(crate) fn detail(&self) -> String {
        let law = match self.addresses {
            Addresses::Uniform => "uniform".into(),
            Addresses::Shuffled => "every block once in random order".into(),
            Addresses::Zipf { theta } => format!("Zipf with exponent {theta}, hot blocks spread"),
            Addresses::HotCold { space, access } => {
                format!("{} % of the requests to {} % of the space, spread", percent(access), percent(space))
            }
            Addresses::Sequential { streams: 1 } => "sequential".into(),
            Addresses::Sequential { streams } => format!("{streams} sequential streams"),
        };
        let mut pacing = match self.arrivals {
            Arrivals::Closed { depth, think_ns: 0 } => format!("closed loop at queue depth {depth}"),
            Arrivals::Closed { depth, think_ns } => {
                format!("closed loop at queue depth {depth}, {} of thought", text::duration(u128::from(think_ns)))
            }
            Arrivals::Bursts { requests, idle_ns } => {
                format!(
                    "bursts of {}, {} after the last completion of the one before",
                    text::counted(requests, "request"),
                    text::duration(u128::from(idle_ns))
                )
            }
            Arrivals::Open { rate_per_s, law, outstanding_max } => {
                let law = match law {
                    Law::Exponential => "exponential".into(),
                    Law::Fixed => "fixed".into(),
                    Law::Hyperexponential { cv } => format!("hyper-exponential with a variation of {cv}"),
                };
                let at_most = outstanding_max.map_or(String::new(), |most| format!(", at most {most} outstanding"));
                format!("open loop, {law}, {rate_per_s} requests per second{at_most}")
            }
        };
        if self.start_ns > 0 {
            pacing += &format!(", from {}", text::duration(u128::from(self.start_ns)));
        }
        if let Some(runtime_ns) = self.runtime_ns {
            pacing += &format!(", for {}", text::duration(u128::from(runtime_ns)));
        }
        if let Some(pulses) = self.pulses {
            let [pulse, pause] = [pulses.pulse_ns, pulses.pause_ns].map(|ns| text::duration(u128::from(ns)));
            pacing += &format!(", in pulses of {pulse} with pauses of {pause}");
        }
        if let Some(Rest { think_ns, .. }) = self.rest {
            pacing += &format!(", with pauses of {}", text::duration(u128::from(think_ns)));
        }
        let critical = if self.critical { ", critical writes" } else { "" };
        if let Some(passes) = &self.passes {
            return format!("{}{critical}, {pacing}", passes.detail());
        }
        let mut sizes = self.blocks.detail();
        if let Some(blocks) = &self.write_blocks {
            sizes = format!("reads of {sizes}, others of {}", blocks.detail());
        }
        let reads = (self.read_share * 100.0).round();
        let trims = if self.trim_share > 0.0 { format!(", {} % trims", (self.trim_share * 100.0).round()) } else { String::new() };
        let apart = if self.kinds_apart { ", reads apart" } else { "" };
        format!("{sizes}, {reads} % reads{trims}{critical}, {law}{apart}, {pacing}")
    }

    /// The first sector beyond every request, or none if that depends on the drive.
    pub(crate) fn end_sector(&self) -> Option<u64> {
        match (self.offset.fixed(), self.range) {
            (Some(offset), Some(Length::Sectors(range))) => Some(offset + range),
            _ => None,
        }
    }

    /// How many requests are outstanding in closed loop; none otherwise.
    pub(crate) fn depth(&self) -> Option<u32> {
        match self.arrivals {
            Arrivals::Closed { depth, .. } => Some(depth),
            Arrivals::Open { .. } | Arrivals::Bursts { .. } => None,
        }
    }

    /// Multiplies the rate, and the number of requests and the volume, so that it lasts as long.
    ///
    /// # Errors
    /// What keeps them from being multiplied.
    pub(crate) fn multiply(&mut self, multiplier: u32) -> Result<(), String> {
        let no_rate = |pacing| Err(format!("is {multiplier}, and multiplies rates; in {pacing} there is none"));
        let rate_per_s = match &mut self.arrivals {
            _ if multiplier == 0 => return Err("is 0; expected 1 or more".into()),
            Arrivals::Closed { .. } => return no_rate("closed loop"),
            Arrivals::Bursts { .. } => return no_rate("bursts"),
            Arrivals::Open { rate_per_s, .. } => rate_per_s,
        };
        if *rate_per_s * f64::from(multiplier) > RATE_PER_S_MAX {
            return Err(format!("is {multiplier}, and makes a rate of {rate_per_s} per second more than 1e9"));
        }
        *rate_per_s *= f64::from(multiplier);
        if let Some(passes) = &mut self.passes {
            passes.multiply(multiplier);
        }
        self.requests = self.requests.map(|requests| requests.saturating_mul(multiplier.into()));
        self.volume = self.volume.map(|volume| match volume {
            Volume::Sectors(sectors) => Volume::Sectors(sectors.saturating_mul(multiplier.into())),
            Volume::Ranges(times) => Volume::Ranges(times.saturating_mul(multiplier)),
        });
        Ok(())
    }

    pub(crate) fn pacing(&self) -> Pacing {
        match self.arrivals {
            Arrivals::Closed { depth, .. } => Pacing::Closed { depth },
            Arrivals::Open { outstanding_max: None, .. } => Pacing::Open,
            Arrivals::Open { outstanding_max: Some(outstanding_max), .. } => Pacing::Bounded { outstanding_max },
            Arrivals::Bursts { .. } => Pacing::Bursts,
        }
    }

    /// Whether when its requests are issued depends on when others complete.
    pub(crate) fn waits_for_drive(&self) -> bool {
        !matches!(self.arrivals, Arrivals::Open { outstanding_max: None, .. })
    }

    /// Whether it comes to an end by itself.
    pub(crate) fn ends(&self) -> bool {
        self.requests.is_some() || self.volume.is_some() || self.runtime_ns.is_some() || self.passes.is_some()
    }

    /// How many requests it has at most, if that is known without a drive.
    pub(crate) fn request_count(&self) -> Option<u64> {
        if let Some(passes) = &self.passes {
            return passes.request_count(match self.range {
                Some(Length::Sectors(sectors)) => Some(sectors * u64::from(SECTOR_BYTES) - passes.cut),
                _ => None,
            });
        }
        let sectors = match (self.volume, self.range) {
            (Some(Volume::Sectors(sectors)), _) => Some(sectors),
            (Some(Volume::Ranges(times)), Some(Length::Sectors(sectors))) => Some(self.volume_of_ranges(sectors, times)),
            _ => None,
        };
        let of_volume = match (sectors, &self.blocks.sizes[..], &self.write_blocks) {
            (Some(sectors), [(size, _)], None) => Some(sectors.div_ceil(u64::from(*size))),
            _ => None,
        };
        match (self.requests, of_volume) {
            (Some(requests), Some(of_volume)) => Some(requests.min(of_volume)),
            (requests, of_volume) => requests.or(of_volume),
        }
    }

    /// So many times as much as a range of this size has, in whole blocks.
    fn volume_of_ranges(&self, sectors: u64, times: u32) -> u64 {
        (sectors - sectors % self.smallest_sectors()).saturating_mul(times.into())
    }

    fn smallest_sectors(&self) -> u64 {
        let sizes = self.blocks.sizes.iter().chain(self.write_blocks.iter().flat_map(|blocks| &blocks.sizes));
        sizes.map(|(sectors, _)| u64::from(*sectors)).min().unwrap_or(1)
    }

    /// Starts everything that is played of it.
    ///
    /// # Errors
    /// A range that does not hold its blocks.
    pub(crate) fn stream(&self, start: &Start<'_>, drive: &SourceContext) -> Result<Stream, WorkloadError> {
        let mut timing = Timing::default();
        if self.waits_for_drive() && !matches!(self.arrivals, Arrivals::Bursts { .. }) {
            // In plain open loop and in bursts the times of the requests say it all.
            (timing.start_ns, timing.runtime_ns) = (self.start_ns, self.runtime_ns);
        }
        timing.pulses = self.pulses;
        timing.rest = self.rest;
        if let Arrivals::Closed { think_ns, .. } = self.arrivals {
            timing.think_ns = think_ns;
        }
        Ok(Stream { source: self.source(start, drive)?, pacing: self.pacing(), timing, endless: false })
    }
}

/// A share in percent, without needless digits.
fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 100.0
}

/// What a stream begins with.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    /// The workload's name, for messages.
    pub(crate) name: &'a str,
    pub(crate) seed: u64,
    /// How many requests are wanted instead of its own number.
    pub(crate) requests: Option<u64>,
    /// The queue of the device to which they go.
    pub(crate) queue: u32,
}

/// An arrival later than can be simulated.
pub(crate) fn too_late(name: &str) -> WorkloadError {
    WorkloadError::DoesNotFit {
        name: name.into(),
        message: format!(
            "its requests arrive later than {}, the longest run that can be simulated; ask for fewer or for a higher rate",
            text::duration(u128::from(TIME_MAX))
        ),
    }
}
