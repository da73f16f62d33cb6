//! Requests made by rule: a mix of one block size, uniform or by Zipf's law, in closed or in open loop.

pub(crate) mod profile;
mod zipf;

use tinytail_core::host::{Arrival, Command, CommandKind};
use tinytail_core::units::{Ns, SECOND, SECTOR_BYTES, TIME_MAX};

use crate::error::WorkloadError;
use crate::random::{Chance, Random};
use crate::source::Source;
use crate::text;
use zipf::Zipf;

/// A synthetic workload, checked: every share is in [0, 1], sizes are above 0.
#[derive(Clone, Debug)]
pub(crate) struct Synthetic {
    pub(crate) arrivals: Arrivals,
    pub(crate) block_sectors: u32,
    pub(crate) align_sectors: u64,
    pub(crate) read_share: f64,
    /// Zipf's exponent; uniform without one.
    pub(crate) zipf_theta: Option<f64>,
    /// The range of addresses from 0; the mapped part of the drive without one.
    pub(crate) range_sectors: Option<u64>,
    pub(crate) requests: u64,
}

/// When the requests of a synthetic workload are issued.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// When another completes, so that this many are outstanding.
    Closed { depth: u32 },
    /// At exponential times, at this mean rate.
    Open { rate_per_s: f64 },
}

impl Synthetic {
    /// What will be made, in one line.
    pub(crate) fn detail(&self) -> String {
        let law = match self.zipf_theta {
            Some(theta) => format!("Zipf with exponent {theta}, hot blocks spread"),
            None => "uniform".into(),
        };
        let pacing = match self.arrivals {
            Arrivals::Closed { depth } => format!("closed loop at queue depth {depth}"),
            Arrivals::Open { rate_per_s } => {
                format!("open loop, exponential, {rate_per_s} requests per second")
            }
        };
        let bytes = u64::from(self.block_sectors) * u64::from(SECTOR_BYTES);
        format!("{bytes} bytes, {} % reads, {law}, {pacing}", (self.read_share * 100.0).round())
    }

    pub(crate) fn source(
        &self,
        name: &str,
        seed: u64,
        mapped_sectors: u64,
        requests: Option<u64>,
    ) -> Result<Box<dyn Source>, WorkloadError> {
        let range_sectors = self.range_sectors.unwrap_or(mapped_sectors);
        let block_sectors = u64::from(self.block_sectors);
        if range_sectors < block_sectors {
            return Err(WorkloadError::DoesNotFit {
                name: name.into(),
                message: format!(
                    "its blocks of {block_sectors} sectors do not fit into a range of {range_sectors} sectors{}",
                    if self.range_sectors.is_none() { ", the part of the drive that holds data" } else { "" }
                ),
            });
        }
        let slots = (range_sectors - block_sectors) / self.align_sectors + 1;
        let uniform = Uniform { slots };
        let zipf = |theta| Zipf::new(slots, theta);
        let poisson = |rate_per_s: f64| Poisson { gap_ns: SECOND as f64 / rate_per_s, at: 0 };
        Ok(match (self.zipf_theta, self.arrivals) {
            (None, Arrivals::Closed { .. }) => self.generator(name, seed, requests, uniform, NoClock),
            (None, Arrivals::Open { rate_per_s }) => self.generator(name, seed, requests, uniform, poisson(rate_per_s)),
            (Some(theta), Arrivals::Closed { .. }) => self.generator(name, seed, requests, zipf(theta), NoClock),
            (Some(theta), Arrivals::Open { rate_per_s }) => self.generator(name, seed, requests, zipf(theta), poisson(rate_per_s)),
        })
    }

    fn generator<A: Addresses + 'static, C: Clock + 'static>(
        &self,
        name: &str,
        seed: u64,
        requests: Option<u64>,
        addresses: A,
        clock: C,
    ) -> Box<dyn Source> {
        Box::new(Generator {
            name: name.into(),
            random: Random::new(seed),
            addresses,
            clock,
            read: Chance::new(self.read_share),
            align_sectors: self.align_sectors,
            block_sectors: self.block_sectors,
            left: requests.unwrap_or(self.requests),
        })
    }
}

/// Where requests go: a slot, and random bits to spare that do not depend on it.
trait Addresses: Send {
    fn slot(&self, random: &mut Random) -> (u64, u64);
}

struct Uniform {
    slots: u64,
}

impl Addresses for Uniform {
    #[inline]
    fn slot(&self, random: &mut Random) -> (u64, u64) {
        random.below(self.slots)
    }
}

impl Addresses for Zipf {
    #[inline]
    fn slot(&self, random: &mut Random) -> (u64, u64) {
        (Zipf::slot(self, random), random.bits())
    }
}

/// When requests arrive.
trait Clock: Send {
    fn next(&mut self, random: &mut Random) -> Ns;
}

/// Closed loop: whoever plays the requests decides when.
struct NoClock;

impl Clock for NoClock {
    #[inline]
    fn next(&mut self, _: &mut Random) -> Ns {
        0
    }
}

/// Exponential times between arrivals, each rounded to whole nanoseconds.
struct Poisson {
    gap_ns: f64,
    at: Ns,
}

impl Clock for Poisson {
    #[inline]
    fn next(&mut self, random: &mut Random) -> Ns {
        // Conversion saturates, so that an absurd gap ends beyond TIME_MAX and is reported.
        self.at = self.at.saturating_add((random.exponential() * self.gap_ns + 0.5) as Ns);
        self.at
    }
}

struct Generator<A, C> {
    name: String,
    random: Random,
    addresses: A,
    clock: C,
    read: Chance,
    align_sectors: u64,
    block_sectors: u32,
    left: u64,
}

impl<A: Addresses, C: Clock> Source for Generator<A, C> {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let count = limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= count as u64;
        // A local copy lets the generator's state stay in registers.
        let mut random = self.random.clone();
        out.extend((0..count).map(|_| {
            let at = self.clock.next(&mut random);
            let (slot, spare) = self.addresses.slot(&mut random);
            let kind = if self.read.of(spare) { CommandKind::Read } else { CommandKind::Write };
            Arrival { at, command: Command { kind, sector: slot * self.align_sectors, sectors: self.block_sectors }, queue: 0 }
        }));
        self.random = random;
        match out.last() {
            Some(last) if count > 0 && last.at > TIME_MAX => Err(too_late(&self.name)),
            _ => Ok(count),
        }
    }
}

fn too_late(name: &str) -> WorkloadError {
    WorkloadError::DoesNotFit {
        name: name.into(),
        message: format!(
            "its requests arrive later than {}, the longest run that can be simulated; ask for fewer or for a higher rate",
            text::duration(u128::from(TIME_MAX))
        ),
    }
}
