//! What a stream of requests is like: mix, sizes, rate, burstiness, footprint, overwrites, sequentiality.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::SECTOR_BYTES;

use crate::burstiness::Burstiness;
use crate::error::WorkloadError;
use crate::locality::{Locality, LocalitySummary};
use crate::page_set::PageSet;
use crate::rate::arrivals_per_second;
use crate::source::{Arrival, Source};
use crate::trace::units::{AddressUnit, OpCodes, TimeUnit};
use crate::trace::{CoarseTimes, Columns, Compression};
use crate::transform::BurstSummary;

/// The page of which footprints are counted, whatever the drive's page is.
const PAGE_SECTORS: u64 = 4096 / SECTOR_BYTES as u64;

/// A request is sequential if it starts where one of this many requests before it ended.
const RECENT_REQUESTS: usize = 32;

/// Runs through a stream of requests and measures it.
pub(crate) fn measure(source: &mut dyn Source) -> Result<CharacteristicsSummary, WorkloadError> {
    const BATCH: usize = 256;
    let mut characteristics = Characteristics::default();
    let mut batch = Vec::with_capacity(BATCH);
    while source.fill(&mut batch, BATCH)? > 0 {
        batch.iter().for_each(|arrival| characteristics.add(arrival));
        batch.clear();
    }
    Ok(characteristics.summary())
}

/// The 4 KiB pages that a command touches.
pub(crate) fn pages_of(command: &Command) -> Range<u64> {
    let end = command.sector + u64::from(command.sectors);
    command.sector / PAGE_SECTORS..end.div_ceil(PAGE_SECTORS)
}

/// What `tinytail trace info` says of a trace.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct TraceInfo {
    /// The file.
    pub path: String,
    /// Name of the format.
    pub format: String,
    /// How the file is compressed.
    pub compression: Compression,
    /// Unit of the recorded times, or none if there are none.
    pub time_unit: Option<TimeUnit>,
    /// Unit of the recorded addresses and sizes.
    pub address_unit: AddressUnit,
    /// What its columns mean, where that was said.
    #[schemars(with = "Option<String>")]
    pub columns: Option<Columns>,
    /// Operation codes, where the format has them.
    #[schemars(with = "Option<String>")]
    pub ops: Option<OpCodes>,
    /// The devices that are played, by number.
    pub devices: Vec<DeviceInfo>,
    /// How the trace was read.
    pub notes: Vec<String>,
    /// Those of the notes that make its reading doubtful.
    pub doubts: Vec<String>,
    /// What its requests are like, as laid out on the drive.
    #[serde(flatten)]
    pub characteristics: CharacteristicsSummary,
    /// Its bursts, where a transform makes them.
    pub bursts: Option<BurstSummary>,
    /// What makes it mean less than it seems to.
    pub findings: Vec<TraceFinding>,
}

/// Something that makes a trace mean less than it seems to, as results have it.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct TraceFinding {
    /// What sort of thing it is, for programs.
    pub code: &'static str,
    /// The same in words.
    pub message: String,
    /// The numbers that it rests on.
    pub figures: BTreeMap<&'static str, f64>,
}

impl From<CoarseTimes> for TraceFinding {
    fn from(coarse: CoarseTimes) -> Self {
        Self { code: "coarse_times", figures: coarse.figures(), message: coarse.message }
    }
}

/// One device of a trace.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "TraceDevice")]
pub struct DeviceInfo {
    /// Its number or name in the trace.
    pub device: String,
    /// Number of requests to it.
    pub requests: u64,
    /// The first byte beyond all of its requests.
    pub end_byte: u64,
    /// Where it is laid on the drive.
    pub offset_bytes: u64,
}

/// What a stream of requests is like. Times are 0 in closed loop, where arrivals have none, and there are no rates.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CharacteristicsSummary {
    /// Number of requests.
    pub requests: u64,
    /// From the first to the last request, in seconds.
    pub duration_s: f64,
    /// Share of requests that are writes.
    pub write_percent: f64,
    /// The reads.
    pub read: KindSummary,
    /// The writes.
    pub write: KindSummary,
    /// The trims.
    pub trim: KindSummary,
    /// How many times between requests are how long, in classes that end at powers of ten; classes without any are left out,
    /// and so are all where arrivals have no times.
    pub interarrival: Vec<GapClass>,
    /// How unevenly accesses are spread over pages.
    pub locality: LocalitySummary,
    /// The first byte beyond all requests.
    pub end_bytes: u64,
    /// Requests that arrive in each second: those after the first over the duration, or none where all arrive at one instant.
    pub iops_mean: Option<f64>,
    /// Requests in the busiest second, seconds being counted from the time 0.
    pub iops_peak: u64,
    /// Requests in the busiest second over those of all seconds on average; 1 if all are in one.
    pub peak_to_mean: f64,
    /// The same of 100 ms.
    pub peak_to_mean_100ms: f64,
    /// Megabytes (10^6 bytes) read and written in each second, at that rate and the mean size of a request.
    pub mb_per_s_mean: Option<f64>,
    /// Coefficient of variation of the time between requests: 0 if even, 1 if exponential, more if bursty.
    pub interarrival_cv: f64,
    /// Variance over mean of the number of requests in a second: 0 if even, 1 if exponential, more if bursty.
    pub dispersion_1s: f64,
    /// The same in 100 ms. If bursts are short, the two are alike; if they are long, it is the smaller.
    pub dispersion_100ms: f64,
    /// From the lowest to the highest address, in GiB.
    pub span_gib: f64,
    /// Different 4 KiB pages read or written, in MiB.
    pub footprint_mib: f64,
    /// Share of written 4 KiB pages that had been written before in the stream.
    pub overwrite_percent: f64,
    /// Share of requests that start where one of the 32 before ended.
    pub sequential_percent: f64,
}

/// How many times between one request and the next are up to so long, and longer than those of the class before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct GapClass {
    /// The longest of them; 0 where requests come at once.
    pub up_to_us: f64,
    /// How many there are.
    pub gaps: u64,
}

/// What the reads, the writes or the trims of a stream are like.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "TraceKind")]
pub struct KindSummary {
    /// Number of requests.
    pub requests: u64,
    /// Mean size in KiB.
    pub mean_kib: f64,
    /// Median size in KiB.
    pub median_kib: f64,
    /// Largest size in KiB.
    pub max_kib: f64,
    /// 4 KiB pages touched, each time that they are.
    pub pages: u64,
    /// Different 4 KiB pages touched, in MiB.
    pub footprint_mib: f64,
    /// How many requests have which size, in classes that end at powers of two; classes without requests are left out.
    pub sizes: Vec<SizeClass>,
}

/// The requests of sizes above half of a power of two, up to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SizeClass {
    /// The largest size of the class in KiB.
    pub up_to_kib: f64,
    /// Number of requests.
    pub requests: u64,
}

/// Measures a stream of requests. Memory grows with the footprint, by at most 64 bytes for each 256 KiB of it that is touched in part,
/// and by the same for each gapless rest.
#[derive(Clone, Debug)]
pub struct Characteristics {
    requests: u64,
    times: Burstiness,
    read: Kind,
    write: Kind,
    trim: Kind,
    locality: Locality,
    recent_ends: [u64; RECENT_REQUESTS],
    sequential: u64,
    lowest_sector: u64,
    highest_sector: u64,
}

#[derive(Clone, Debug, Default)]
struct Kind {
    sizes: BTreeMap<u32, u64>,
    pages: u64,
    seen: PageSet,
}

impl Default for Characteristics {
    fn default() -> Self {
        Self {
            requests: 0,
            times: Burstiness::default(),
            read: Kind::default(),
            write: Kind::default(),
            trim: Kind::default(),
            locality: Locality::default(),
            recent_ends: [u64::MAX; RECENT_REQUESTS],
            sequential: 0,
            lowest_sector: u64::MAX,
            highest_sector: 0,
        }
    }
}

impl Characteristics {
    /// Takes the next request of the stream. Its time must not be before the one before.
    pub fn add(&mut self, arrival: &Arrival) {
        self.times.add(arrival.at);
        let command = arrival.command;
        let end = command.sector + u64::from(command.sectors);
        self.sequential += u64::from(self.recent_ends.contains(&command.sector));
        self.recent_ends[(self.requests % RECENT_REQUESTS as u64) as usize] = end;
        self.requests += 1;
        self.lowest_sector = self.lowest_sector.min(command.sector);
        self.highest_sector = self.highest_sector.max(end);

        let pages = pages_of(&command);
        self.locality.add(pages.clone());
        let kind = match command.kind {
            CommandKind::Read => &mut self.read,
            CommandKind::Write => &mut self.write,
            CommandKind::Trim => &mut self.trim,
        };
        kind.add(command.sectors, &pages);
    }

    /// What has been measured.
    #[must_use]
    pub fn summary(mut self) -> CharacteristicsSummary {
        let (read, write, trim) = (self.read.summary(), self.write.summary(), self.trim.summary());
        let overwritten_pages = self.write.pages - self.write.seen.count();
        self.write.seen.insert_all(std::mem::take(&mut self.read.seen));
        let duration_s = self.times.duration_s();
        let (first, last) = self.times.ends();
        let iops_mean = arrivals_per_second(self.requests, first, last);
        let timed = duration_s > 0.0;
        let (peak, _) = if timed { self.times.peaks() } else { (0, 0) };
        let (peak_to_mean, peak_to_mean_100ms) = if timed { self.times.peaks_to_mean() } else { (0.0, 0.0) };
        let gaps = self.times.gap_classes().filter(|_| timed).map(|(up_to_ns, gaps)| GapClass { up_to_us: up_to_ns / 1e3, gaps });
        let (dispersion_1s, dispersion_100ms) = if duration_s > 0.0 { self.times.dispersions() } else { (0.0, 0.0) };
        let span_sectors = self.highest_sector.saturating_sub(self.lowest_sector);
        let megabytes = (self.read.sectors() + self.write.sectors()) as f64 * f64::from(SECTOR_BYTES) / 1e6;
        CharacteristicsSummary {
            requests: self.requests,
            duration_s,
            write_percent: percent(write.requests, self.requests),
            iops_mean,
            iops_peak: peak,
            peak_to_mean,
            peak_to_mean_100ms,
            interarrival: gaps.collect(),
            locality: self.locality.summary(),
            end_bytes: self.highest_sector.saturating_mul(u64::from(SECTOR_BYTES)),
            mb_per_s_mean: iops_mean.map(|rate| rate * megabytes / self.requests as f64),
            interarrival_cv: self.times.interarrival_cv(),
            dispersion_1s,
            dispersion_100ms,
            span_gib: span_sectors as f64 * f64::from(SECTOR_BYTES) / f64::from(1 << 30),
            footprint_mib: pages_mib(self.write.seen.count()),
            overwrite_percent: percent(overwritten_pages, write.pages),
            sequential_percent: percent(self.sequential, self.requests),
            read,
            write,
            trim,
        }
    }
}

impl Kind {
    fn add(&mut self, sectors: u32, pages: &Range<u64>) {
        *self.sizes.entry(sectors).or_default() += 1;
        self.pages += pages.end - pages.start;
        self.seen.insert(pages);
    }

    fn sectors(&self) -> u64 {
        self.sizes.iter().map(|(size, count)| u64::from(*size) * count).sum()
    }

    /// Sizes in classes that end at powers of two.
    fn size_classes(&self) -> Vec<SizeClass> {
        let mut classes: BTreeMap<u64, u64> = BTreeMap::new();
        for (size, count) in &self.sizes {
            *classes.entry(u64::from(*size).next_power_of_two()).or_default() += count;
        }
        let class = |(sectors, requests)| SizeClass { up_to_kib: sectors as f64 * f64::from(SECTOR_BYTES) / 1024.0, requests };
        classes.into_iter().map(class).collect()
    }

    fn summary(&mut self) -> KindSummary {
        let kib = |sectors: f64| sectors * f64::from(SECTOR_BYTES) / 1024.0;
        let requests: u64 = self.sizes.values().sum();
        let mut before = 0;
        let median = self.sizes.iter().find_map(|(size, count)| {
            before += count;
            (before * 2 > requests).then_some(*size)
        });
        KindSummary {
            requests,
            mean_kib: kib(ratio(self.sectors() as f64, requests as f64)),
            median_kib: kib(f64::from(median.unwrap_or(0))),
            max_kib: kib(f64::from(self.sizes.last_key_value().map_or(0, |(size, _)| *size))),
            pages: self.pages,
            footprint_mib: pages_mib(self.seen.count()),
            sizes: self.size_classes(),
        }
    }
}

fn pages_mib(pages: u64) -> f64 {
    pages as f64 * 4096.0 / f64::from(1 << 20)
}

/// A quotient that is 0 where there is nothing to divide by.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * ratio(part as f64, whole as f64)
}

#[cfg(test)]
mod tests {
    use tinytail_core::units::{MS, Ns};

    use super::*;

    fn summary(requests: &[(Ns, CommandKind, u64, u32)]) -> CharacteristicsSummary {
        let mut characteristics = Characteristics::default();
        for &(at, kind, sector, sectors) in requests {
            characteristics.add(&Arrival { at, command: Command { kind, sector, sectors, critical: false }, queue: 0, latency_ns: None });
        }
        characteristics.summary()
    }

    #[test]
    fn nothing_is_measured_as_nothing() {
        let summary = summary(&[]);
        assert_eq!((summary.requests, summary.duration_s, summary.interarrival_cv), (0, 0.0, 0.0));
        assert_eq!(summary.span_gib, 0.0);
    }

    #[test]
    fn mix_sizes_and_footprint_are_counted() {
        use CommandKind::{Read, Write};
        let summary = summary(&[
            (0, Write, 0, 8),
            (10, Write, 4, 8),
            (20, Write, 0, 1),
            (30, Read, 512, 1024),
            (40, Read, 100_000, 8),
            (50, Read, 512, 24),
        ]);
        assert_eq!(summary.write_percent, 50.0);
        assert_eq!((summary.write.median_kib, summary.write.max_kib), (4.0, 4.0));
        assert_eq!((summary.read.requests, summary.read.median_kib, summary.read.max_kib), (3, 12.0, 512.0));
        // Pages written: {0}, {0, 1}, {0}: two of the four had been written before.
        assert_eq!((summary.write.pages, summary.overwrite_percent), (4, 50.0));
        assert_eq!(summary.write.footprint_mib, 2.0 * 4096.0 / 1_048_576.0);
        assert_eq!(summary.read.footprint_mib, 129.0 * 4096.0 / 1_048_576.0);
        // Pages 0 and 1 are written alone; the reads touch 64 to 191 and 12,500.
        assert_eq!(summary.footprint_mib, 131.0 * 4096.0 / 1_048_576.0);
        let classes: Vec<(f64, u64)> = summary.read.sizes.iter().map(|class| (class.up_to_kib, class.requests)).collect();
        assert_eq!(classes, [(4.0, 1), (16.0, 1), (512.0, 1)]);
        assert_eq!(summary.write.sizes.iter().map(|class| class.requests).sum::<u64>(), 3);
        assert_eq!(summary.span_gib, 100_008.0 * 512.0 / f64::from(1 << 30));
    }

    #[test]
    fn sequential_is_where_one_of_the_last_32_ended() {
        let run = |between: u64| {
            let mut requests = vec![(0, CommandKind::Read, 0, 8)];
            requests.extend((0..between).map(|index| (0, CommandKind::Read, 1_000_000 + index * 100, 8)));
            requests.push((0, CommandKind::Write, 8, 8));
            summary(&requests).sequential_percent > 0.0
        };
        assert!(run(31));
        assert!(!run(32));
    }

    #[test]
    fn rates_come_from_arrival_times() {
        let even: Vec<_> = (0..4000).map(|index| (index * MS, CommandKind::Read, index, 1)).collect();
        let even = summary(&even);
        assert_eq!((even.iops_peak, even.dispersion_1s), (1000, 0.0));
        assert!((even.peak_to_mean_100ms - 1.0).abs() < 0.001);
        assert_eq!((even.iops_mean, even.mb_per_s_mean), (Some(1000.0), Some(0.512)));
        assert!((even.peak_to_mean - 1.0).abs() < 0.001 && even.interarrival_cv < 1e-9);
        let bursty: Vec<_> = (0..4000).map(|index| (index / 100 * 100 * MS, CommandKind::Read, index, 1)).collect();
        assert!(summary(&bursty).interarrival_cv > 9.0);
        // Pages that are read and written count once.
        let both = summary(&[(0, CommandKind::Read, 0, 16), (1, CommandKind::Write, 8, 16)]);
        assert_eq!(both.footprint_mib, 3.0 * 4096.0 / 1_048_576.0);
    }
}
