//! The streams of requests made by rule.

use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::{SECTOR_BYTES, TIME_MAX};

use super::addresses::{HotCold, Places, Sequential, Shuffled, Uniform};
use super::arrivals::{Arrivals, Bursty, Clock, Hyperexponential, Law, Metronome, NoClock, Poisson};
use super::zipf::Zipf;
use super::{Addresses, Blocks, Length, Start, Synthetic, Volume, too_late};
use crate::critical::CriticalWrites;
use crate::error::WorkloadError;
use crate::limit::{Between, LimitedSectors};
use crate::random::{Chance, Random, Weighted};
use crate::source::{Arrival, Source, SourceContext};

const SECTOR: u64 = SECTOR_BYTES as u64;

/// A range of addresses of a drive.
#[derive(Clone, Copy)]
struct Range {
    offset_sectors: u64,
    sectors: u64,
    /// Where the drive ends; where its data end, for a range that follows them.
    limit_sectors: u64,
    /// Whether it depends on the drive.
    adapts: bool,
}

impl Range {
    fn does_not_fit(self, name: &str, what: &str) -> WorkloadError {
        let sectors = self.sectors;
        let holds = ", the part of the drive that holds data, which --state live_percent makes larger";
        let adapts = if self.adapts { holds } else { "" };
        WorkloadError::DoesNotFit { name: name.into(), message: format!("{what} a range of {sectors} sectors{adapts}") }
    }
}

impl Synthetic {
    fn range(&self, drive: &SourceContext) -> Range {
        let mapped_sectors = drive.mapped_sectors;
        let offset_sectors = self.offset.sectors(mapped_sectors);
        let rest = mapped_sectors.saturating_sub(offset_sectors);
        let sectors = match self.range {
            None => rest,
            // A share of the drive ends where its data end.
            Some(range @ Length::Percent(percent)) => {
                let sectors = range.sectors(mapped_sectors).min(rest);
                // A pass over a part has whole blocks of the smallest size.
                let least = self.passes.as_ref().filter(|_| percent < 100).map_or(1, |passes| passes.least() / SECTOR);
                sectors / least * least
            }
            Some(range) => range.sectors(mapped_sectors),
        };
        let limit_sectors = match self.range {
            None | Some(Length::Percent(_)) => mapped_sectors,
            Some(Length::Sectors(_)) => drive.logical_sectors,
        };
        Range { offset_sectors, sectors, limit_sectors, adapts: self.end_sector().is_none() }
    }

    /// Starts the requests.
    pub(crate) fn source(&self, start: &Start<'_>, drive: &SourceContext) -> Result<Box<dyn Source>, WorkloadError> {
        let range = self.range(drive);
        let source = match &self.passes {
            Some(passes) => {
                let start = Start { seed: start.seed ^ self.salt, ..*start };
                let bytes = (range.sectors * SECTOR).saturating_sub(passes.cut);
                passes.source(&start, range.offset_sectors * SECTOR, bytes, range.limit_sectors.saturating_mul(SECTOR))?
            }
            None => self.generator(start, range)?,
        };
        let source = if self.critical { Box::new(CriticalWrites { inner: source }) } else { source };
        if !self.waits_for_drive() && (self.start_ns > 0 || self.runtime_ns.is_some()) {
            return Ok(Box::new(Between::new(source, self.start_ns, self.runtime_ns)));
        }
        Ok(source)
    }

    /// Starts the requests that generators make.
    fn generator(&self, start: &Start<'_>, range: Range) -> Result<Box<dyn Source>, WorkloadError> {
        let wanted = start.requests.or(self.requests).unwrap_or(u64::MAX);
        let begin = Begin { name: start.name, seed: start.seed ^ self.salt, left: wanted, queue: start.queue };
        let mut source = match &self.write_blocks {
            None if !self.kinds_apart => self.shape(start.name, range, &self.blocks, Whole { synthetic: self, begin, range })?,
            write_blocks => {
                let part = Part { range };
                let reads = self.shape(start.name, range, &self.blocks, part)?;
                let others = self.shape(start.name, range, write_blocks.as_ref().unwrap_or(&self.blocks), part)?;
                let (read, trim) = self.chances();
                let clock = self.clock();
                let random = Random::new(begin.seed);
                let (left, queue) = (begin.left, begin.queue);
                Box::new(Apart { name: start.name.into(), random, clock, read, trim, reads, others, left, queue })
            }
        };
        // A number of requests that was asked for goes before both of its own.
        if let (Some(volume), None) = (self.volume, start.requests) {
            let left = match volume {
                Volume::Sectors(sectors) => sectors,
                Volume::Ranges(times) => self.volume_of_ranges(range.sectors, times),
            };
            source = Box::new(LimitedSectors { inner: source, left });
        }
        Ok(source)
    }

    /// Below the first a request is a read, otherwise below the second a trim, otherwise a write.
    fn chances(&self) -> (Chance, Chance) {
        (Chance::new(self.read_share), Chance::new(self.read_share + self.trim_share))
    }

    fn clock(&self) -> Box<dyn Clock> {
        match self.arrivals {
            Arrivals::Closed { .. } => Box::new(NoClock),
            Arrivals::Bursts { requests, idle_ns } => Box::new(Bursty::new(requests, idle_ns, self.start_ns)),
            Arrivals::Open { rate_per_s, law, .. } => match law {
                Law::Exponential => Box::new(Poisson::new(rate_per_s)),
                Law::Fixed => Box::new(Metronome::new(rate_per_s)),
                Law::Hyperexponential { cv } => Box::new(Hyperexponential::new(rate_per_s, cv)),
            },
        }
    }

    /// Hands over places and sizes as they are described.
    fn shape<B: Build>(&self, name: &str, range: Range, blocks: &Blocks, build: B) -> Result<B::Built, WorkloadError> {
        let largest_sectors = blocks.largest_sectors();
        if range.sectors < u64::from(largest_sectors) {
            return Err(range.does_not_fit(name, &format!("its blocks of {largest_sectors} sectors do not fit into")));
        }
        let slots = (range.sectors - u64::from(largest_sectors)) / blocks.align_sectors + 1;
        Ok(match self.addresses {
            Addresses::Uniform => of_sizes(blocks, Uniform { slots }, build),
            Addresses::Shuffled => of_sizes(blocks, Shuffled::new(slots), build),
            Addresses::Zipf { theta } => of_sizes(blocks, Zipf::new(slots, theta), build),
            Addresses::HotCold { space, access } => {
                let places = HotCold::new(slots, space, access);
                of_sizes(blocks, places.ok_or_else(|| range.does_not_fit(name, "a hot and a cold part do not fit into"))?, build)
            }
            Addresses::Sequential { streams } => {
                let places = Sequential::new(range.sectors / blocks.align_sectors, blocks.align_sectors, streams, largest_sectors);
                let what = || format!("{streams} streams of blocks of up to {largest_sectors} sectors do not fit into");
                of_sizes(blocks, places.ok_or_else(|| range.does_not_fit(name, &what()))?, build)
            }
        })
    }
}

fn of_sizes<P: Places + 'static, B: Build>(blocks: &Blocks, places: P, build: B) -> B::Built {
    match blocks.sizes[..] {
        [(sectors, _)] => build.build(blocks, places, One(sectors)),
        _ => build.build(blocks, places, Weighted::new(blocks.sizes.iter().map(|(sectors, weight)| (*weight, *sectors)))),
    }
}

/// What is made of places and sizes, whatever their types are.
trait Build {
    type Built;

    fn build<P: Places + 'static, S: Sizes + 'static>(self, blocks: &Blocks, places: P, sizes: S) -> Self::Built;
}

/// What every generator begins with.
#[derive(Clone, Copy)]
struct Begin<'a> {
    name: &'a str,
    seed: u64,
    left: u64,
    queue: u32,
}

/// Makes a generator of all requests.
struct Whole<'a> {
    synthetic: &'a Synthetic,
    begin: Begin<'a>,
    range: Range,
}

impl Build for Whole<'_> {
    type Built = Box<dyn Source>;

    fn build<P: Places + 'static, S: Sizes + 'static>(self, blocks: &Blocks, places: P, sizes: S) -> Box<dyn Source> {
        match self.synthetic.arrivals {
            Arrivals::Closed { .. } => self.at_times(blocks, places, sizes, NoClock),
            Arrivals::Bursts { requests, idle_ns } => {
                let clock = Bursty::new(requests, idle_ns, self.synthetic.start_ns);
                self.at_times(blocks, places, sizes, clock)
            }
            Arrivals::Open { rate_per_s, law, .. } => match law {
                Law::Exponential => self.at_times(blocks, places, sizes, Poisson::new(rate_per_s)),
                Law::Fixed => self.at_times(blocks, places, sizes, Metronome::new(rate_per_s)),
                Law::Hyperexponential { cv } => self.at_times(blocks, places, sizes, Hyperexponential::new(rate_per_s, cv)),
            },
        }
    }
}

impl Whole<'_> {
    fn at_times<P: Places + 'static, S: Sizes + 'static, C: Clock + 'static>(
        self,
        blocks: &Blocks,
        places: P,
        sizes: S,
        clock: C,
    ) -> Box<dyn Source> {
        let (read, trim) = self.synthetic.chances();
        Box::new(Generator {
            name: self.begin.name.into(),
            random: Random::new(self.begin.seed),
            places,
            clock,
            sizes,
            read,
            trim,
            align_sectors: blocks.align_sectors,
            offset_sectors: self.range.offset_sectors,
            left: self.begin.left,
            queue: self.begin.queue,
        })
    }
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

/// What request random bits stand for.
#[inline]
fn kind(read: Chance, trim: Chance, bits: u64) -> CommandKind {
    if read.of(bits) {
        CommandKind::Read
    } else if trim.of(bits) {
        CommandKind::Trim
    } else {
        CommandKind::Write
    }
}

struct Generator<P, C, S> {
    name: String,
    random: Random,
    places: P,
    clock: C,
    sizes: S,
    read: Chance,
    trim: Chance,
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
            let kind = kind(self.read, self.trim, spare);
            Arrival {
                at,
                command: Command { kind, sector: self.offset_sectors + slot * self.align_sectors, sectors, critical: false },
                queue: self.queue,
                latency_ns: None,
            }
        }));
        self.random = random;
        check_time(&self.name, out, count)
    }
}

pub(super) fn check_time(name: &str, out: &[Arrival], count: usize) -> Result<usize, WorkloadError> {
    match out.last() {
        Some(last) if count > 0 && last.at > TIME_MAX => Err(too_late(name)),
        _ => Ok(count),
    }
}

/// Makes places and sizes of one kind of requests.
#[derive(Clone, Copy)]
struct Part {
    range: Range,
}

impl Build for Part {
    type Built = Box<dyn Extents>;

    fn build<P: Places + 'static, S: Sizes + 'static>(self, blocks: &Blocks, places: P, sizes: S) -> Box<dyn Extents> {
        let (align_sectors, offset_sectors) = (blocks.align_sectors, self.range.offset_sectors);
        Box::new(Extent { places, sizes, align_sectors, offset_sectors })
    }
}

/// Where requests of one kind go, and how large they are.
trait Extents: Send {
    /// The first sector and the number of sectors.
    fn next(&mut self, random: &mut Random) -> (u64, u32);
}

struct Extent<P, S> {
    places: P,
    sizes: S,
    align_sectors: u64,
    offset_sectors: u64,
}

impl<P: Places, S: Sizes> Extents for Extent<P, S> {
    fn next(&mut self, random: &mut Random) -> (u64, u32) {
        let sectors = self.sizes.sectors(random);
        let (slot, _) = self.places.slot(random, sectors);
        (self.offset_sectors + slot * self.align_sectors, sectors)
    }
}

/// Reads, and writes and trims, with sizes and places of their own.
struct Apart {
    name: String,
    random: Random,
    clock: Box<dyn Clock>,
    read: Chance,
    trim: Chance,
    reads: Box<dyn Extents>,
    others: Box<dyn Extents>,
    left: u64,
    queue: u32,
}

impl Source for Apart {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let count = limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= count as u64;
        for _ in 0..count {
            let at = self.clock.next(&mut self.random);
            let kind = kind(self.read, self.trim, self.random.bits());
            let extents = if kind == CommandKind::Read { &mut self.reads } else { &mut self.others };
            let (sector, sectors) = extents.next(&mut self.random);
            out.push(Arrival { at, command: Command { kind, sector, sectors, critical: false }, queue: self.queue, latency_ns: None });
        }
        check_time(&self.name, out, count)
    }
}
