//! Requests made by rule: a mix of sizes and kinds over a range of addresses, in closed or in open loop.

mod addresses;
pub(crate) mod arrivals;
mod bursts;
pub(crate) mod profile;
pub(crate) mod profile_table;
mod sweep;
pub(crate) mod table;
mod zipf;

use tinytail_core::host::{Arrival, Command, CommandKind};
use tinytail_core::units::{SECTOR_BYTES, TIME_MAX};

use crate::error::WorkloadError;
use crate::random::{Chance, Random, Weighted};
use crate::source::Source;
use crate::text;
use addresses::{HotCold, Places, Sequential, Uniform};
use arrivals::{Arrivals, Clock, Hyperexponential, Law, Metronome, NoClock, Poisson};
use zipf::Zipf;

/// A synthetic workload, or one thread of several, checked: every share is in [0, 1], sizes are above 0.
#[derive(Clone, Debug)]
pub(crate) struct Synthetic {
    pub(crate) arrivals: Arrivals,
    /// Sizes in sectors and their weights; at least one weight is above 0.
    pub(crate) blocks: Vec<(u32, f64)>,
    pub(crate) align_sectors: u64,
    pub(crate) read_share: f64,
    pub(crate) addresses: Addresses,
    /// Where the range of addresses begins.
    pub(crate) offset_sectors: u64,
    /// The size of the range; the rest of the mapped part of the drive without one.
    pub(crate) range_sectors: Option<u64>,
    /// Without end where none is given.
    pub(crate) requests: Option<u64>,
}

/// How requests are spread over the range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Addresses {
    Uniform,
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

impl Synthetic {
    /// What will be made, in one line.
    pub(crate) fn detail(&self) -> String {
        let law = match self.addresses {
            Addresses::Uniform => "uniform".into(),
            Addresses::Zipf { theta } => format!("Zipf with exponent {theta}, hot blocks spread"),
            Addresses::HotCold { space, access } => {
                format!("{} % of the requests to {} % of the space, spread", percent(access), percent(space))
            }
            Addresses::Sequential { streams: 1 } => "sequential".into(),
            Addresses::Sequential { streams } => format!("{streams} sequential streams"),
        };
        let pacing = match self.arrivals {
            Arrivals::Closed { depth } => format!("closed loop at queue depth {depth}"),
            Arrivals::Open { rate_per_s, law } => {
                let law = match law {
                    Law::Exponential => "exponential".into(),
                    Law::Fixed => "fixed".into(),
                    Law::Hyperexponential { cv } => format!("hyper-exponential with a variation of {cv}"),
                };
                format!("open loop, {law}, {rate_per_s} requests per second")
            }
        };
        let bytes = |sectors: u32| u64::from(sectors) * u64::from(SECTOR_BYTES);
        let sizes = match self.blocks[..] {
            [(sectors, _)] => format!("{} bytes", bytes(sectors)),
            _ => {
                let whole: f64 = self.blocks.iter().map(|(_, weight)| weight).sum();
                let size = |(sectors, weight): &(u32, f64)| format!("{} bytes ({} %)", bytes(*sectors), percent(weight / whole));
                self.blocks.iter().map(size).collect::<Vec<_>>().join(", ")
            }
        };
        format!("{sizes}, {} % reads, {law}, {pacing}", (self.read_share * 100.0).round())
    }

    /// The first sector beyond every request, or none if that depends on the drive.
    pub(crate) fn end_sector(&self) -> Option<u64> {
        self.range_sectors.map(|range| self.offset_sectors + range)
    }

    /// How many requests are outstanding in closed loop; none in open loop.
    pub(crate) fn depth(&self) -> Option<u32> {
        match self.arrivals {
            Arrivals::Closed { depth } => Some(depth),
            Arrivals::Open { .. } => None,
        }
    }

    fn largest_sectors(&self) -> u32 {
        self.blocks.iter().map(|(sectors, _)| *sectors).max().unwrap_or(0)
    }

    /// Starts the stream, which goes to a queue of the device. Without a number of requests it has its own, or no end.
    pub(crate) fn source(
        &self,
        name: &str,
        seed: u64,
        mapped_sectors: u64,
        requests: Option<u64>,
        queue: u32,
    ) -> Result<Box<dyn Source>, WorkloadError> {
        let range_sectors = self.range_sectors.unwrap_or(mapped_sectors.saturating_sub(self.offset_sectors));
        let does_not_fit = |what: String| WorkloadError::DoesNotFit {
            name: name.into(),
            message: format!(
                "{what} a range of {range_sectors} sectors{}",
                if self.range_sectors.is_none() { ", the part of the drive that holds data" } else { "" }
            ),
        };
        let largest_sectors = self.largest_sectors();
        if range_sectors < u64::from(largest_sectors) {
            return Err(does_not_fit(format!("its blocks of {largest_sectors} sectors do not fit into")));
        }
        let slots = (range_sectors - u64::from(largest_sectors)) / self.align_sectors + 1;
        let start = Start { name, seed, left: requests.or(self.requests).unwrap_or(u64::MAX), queue };
        Ok(match self.addresses {
            Addresses::Uniform => self.at_times(start, Uniform { slots }),
            Addresses::Zipf { theta } => self.at_times(start, Zipf::new(slots, theta)),
            Addresses::HotCold { space, access } => {
                let places = HotCold::new(slots, space, access);
                self.at_times(start, places.ok_or_else(|| does_not_fit("a hot and a cold part do not fit into".into()))?)
            }
            Addresses::Sequential { streams } => {
                let places = Sequential::new(range_sectors / self.align_sectors, self.align_sectors, streams, largest_sectors);
                let what = || format!("{streams} streams of blocks of up to {largest_sectors} sectors do not fit into");
                self.at_times(start, places.ok_or_else(|| does_not_fit(what()))?)
            }
        })
    }

    fn at_times<P: Places + 'static>(&self, start: Start<'_>, places: P) -> Box<dyn Source> {
        match self.arrivals {
            Arrivals::Closed { .. } => self.of_sizes(start, places, NoClock),
            Arrivals::Open { rate_per_s, law } => match law {
                Law::Exponential => self.of_sizes(start, places, Poisson::new(rate_per_s)),
                Law::Fixed => self.of_sizes(start, places, Metronome::new(rate_per_s)),
                Law::Hyperexponential { cv } => self.of_sizes(start, places, Hyperexponential::new(rate_per_s, cv)),
            },
        }
    }

    fn of_sizes<P: Places + 'static, C: Clock + 'static>(&self, start: Start<'_>, places: P, clock: C) -> Box<dyn Source> {
        match self.blocks[..] {
            [(sectors, _)] => self.generator(start, places, clock, One(sectors)),
            _ => {
                let mix = Weighted::new(self.blocks.iter().map(|(sectors, weight)| (*weight, *sectors)));
                self.generator(start, places, clock, mix)
            }
        }
    }

    fn generator<P: Places + 'static, C: Clock + 'static, S: Sizes + 'static>(
        &self,
        start: Start<'_>,
        places: P,
        clock: C,
        sizes: S,
    ) -> Box<dyn Source> {
        Box::new(Generator {
            name: start.name.into(),
            random: Random::new(start.seed),
            places,
            clock,
            sizes,
            read: Chance::new(self.read_share),
            align_sectors: self.align_sectors,
            offset_sectors: self.offset_sectors,
            left: start.left,
            queue: start.queue,
        })
    }
}

/// A share in percent, without needless digits.
fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 100.0
}

/// What every generator begins with.
#[derive(Clone, Copy)]
struct Start<'a> {
    name: &'a str,
    seed: u64,
    left: u64,
    queue: u32,
}

/// How large requests are, in sectors.
trait Sizes: Send {
    fn sectors(&self, random: &mut Random) -> u32;
}

/// All alike.
struct One(u32);

impl Sizes for One {
    #[inline]
    fn sectors(&self, _: &mut Random) -> u32 {
        self.0
    }
}

impl Sizes for Weighted<u32> {
    #[inline]
    fn sectors(&self, random: &mut Random) -> u32 {
        self.draw(random)
    }
}

struct Generator<P, C, S> {
    name: String,
    random: Random,
    places: P,
    clock: C,
    sizes: S,
    read: Chance,
    align_sectors: u64,
    offset_sectors: u64,
    left: u64,
    queue: u32,
}

impl<P: Places, C: Clock, S: Sizes> Source for Generator<P, C, S> {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let count = limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= count as u64;
        // A local copy lets the generator's state stay in registers.
        let mut random = self.random.clone();
        out.extend((0..count).map(|_| {
            let at = self.clock.next(&mut random);
            let sectors = self.sizes.sectors(&mut random);
            let (slot, spare) = self.places.slot(&mut random, sectors);
            let kind = if self.read.of(spare) { CommandKind::Read } else { CommandKind::Write };
            Arrival { at, command: Command { kind, sector: self.offset_sectors + slot * self.align_sectors, sectors }, queue: self.queue }
        }));
        self.random = random;
        match out.last() {
            Some(last) if count > 0 && last.at > TIME_MAX => Err(too_late(&self.name)),
            _ => Ok(count),
        }
    }
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
