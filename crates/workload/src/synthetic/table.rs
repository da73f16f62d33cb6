//! The tables `[synthetic]` and `[threads.NAME]` of a workload file.

use serde::Deserialize;

use super::arrivals::{Arrivals, Law};
use super::{Addresses, Blocks, Length, RATE_PER_S_MAX, Synthetic};
use crate::file::Check;
use crate::streams::Pulses;
use tinytail_config::{ConfigError, Faults};
use tinytail_core::units::{MS, Ns, SECOND, SECTOR_BYTES, US};

/// The longest time that a thread may think, wait or run.
pub(crate) const DAY_NS: Ns = 24 * 3600 * SECOND;

/// Requests of one kind. Exactly one of `queue_depth`, `rate_per_s` and `burst_requests` is given, and exactly one of `block_bytes` and
/// `block_mix`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SyntheticTable {
    /// Closed loop: number of requests that are always outstanding.
    queue_depth: Option<u32>,
    /// Open loop: mean number of requests per second.
    rate_per_s: Option<f64>,
    /// Bursts: number of requests that are issued at once.
    burst_requests: Option<u64>,
    /// Bursts: time in microseconds from the last completion of one to the next; needed with `burst_requests`.
    burst_idle_us: Option<u64>,
    /// Closed loop: time in microseconds from the completion of a request to the one that takes its place; 0 without it.
    think_us: Option<u64>,
    /// Open loop: while so many requests are outstanding, others wait outside the drive for their turn; without it none do.
    outstanding_max: Option<u32>,
    /// Open loop: how the times between requests are distributed; exponential without it.
    arrivals: Option<ArrivalLaw>,
    /// Coefficient of variation of the times between requests, above 1; only with `arrivals = "hyperexponential"`.
    arrivals_cv: Option<f64>,
    /// Size of every request in bytes, a multiple of 512.
    block_bytes: Option<u64>,
    /// Sizes of requests: pairs of bytes, a multiple of 512, and weight.
    block_mix: Option<Vec<(u64, f64)>>,
    /// Size of every write and trim in bytes, where it differs from that of reads.
    write_block_bytes: Option<u64>,
    /// Sizes of writes and trims, where they differ from those of reads: pairs of bytes and weight.
    write_block_mix: Option<Vec<(u64, f64)>>,
    /// Every address is a multiple of this, itself a multiple of 512; without it, the greatest common divisor of the sizes.
    align_bytes: Option<u64>,
    /// Share of requests that are reads, from 0 to 1.
    read_share: f64,
    /// Share of requests that are trims, from 0 to 1; the rest are writes. 0 without it.
    trim_share: Option<f64>,
    /// How requests are spread over the range.
    addresses: AddressLaw,
    /// Zipf's exponent, above 0 and at most 4; only with `addresses = "zipf"`.
    zipf_theta: Option<f64>,
    /// Share of the range that is hot, above 0 and below 1; only with `addresses = "hot-cold"`.
    hot_space_share: Option<f64>,
    /// Share of the requests that go to the hot part, from 0 to 1; only with `addresses = "hot-cold"`.
    hot_access_share: Option<f64>,
    /// Number of sequential streams; only with `addresses = "sequential"`.
    streams: Option<u32>,
    /// Whether reads go through the streams at places of their own, apart from writes and trims; only with
    /// `addresses = "sequential"`.
    kinds_apart: Option<bool>,
    /// Where the range of addresses begins, in bytes; 0 without it.
    offset_bytes: Option<u64>,
    /// Size of the range of addresses in bytes; the rest of the mapped part of the drive without it.
    range_bytes: Option<u64>,
    /// When it begins, in milliseconds and parts of them; 0 without it.
    start_ms: Option<f64>,
    /// How long it issues requests, in milliseconds and parts of them from its beginning; without it, until it has issued all.
    runtime_ms: Option<f64>,
    /// Closed loop: how long it issues requests at a time, in milliseconds and parts of them; without it, without a pause.
    pulse_ms: Option<f64>,
    /// Closed loop: how long it issues none, in milliseconds and parts of them, between two pulses; needed with `pulse_ms`.
    pause_ms: Option<f64>,
    /// Mark its writes as critical, a hint to drives with late-bound allocation.
    critical_writes: Option<bool>,
    /// Number of requests, unless the run asks for another; without it the run must. A thread without it goes on as long as
    /// others do.
    requests: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum ArrivalLaw {
    /// Exponential times: arrivals that know nothing of each other.
    Exponential,
    /// Equal times.
    Fixed,
    /// Exponential times of two different means, so that they vary by `arrivals_cv`.
    Hyperexponential,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum AddressLaw {
    /// Every slot is as likely.
    Uniform,
    /// Every slot once in random order, then again in another order, and so on.
    Shuffled,
    /// The k-th most frequent slot has a share proportional to k^-`zipf_theta`; the hot slots are spread over the range.
    Zipf,
    /// A part of the slots, spread over the range, gets a share of the requests; within the part, and without, all are alike.
    HotCold,
    /// Each of `streams` equal parts of the range is gone through from start to end, again and again; each request belongs to
    /// a stream drawn at random.
    Sequential,
}

impl SyntheticTable {
    /// What it says, unless that contradicts itself. Faults of its values are added to those that are known; if it has any,
    /// values are not held against each other.
    pub(crate) fn check(&self, check: Check<'_>, faults: &mut Faults) -> Option<Synthetic> {
        self.check_each(check, faults);
        if faults.touch(check.section) { None } else { faults.take(self.synthetic(check)) }
    }

    /// Refuses values that are wrong whatever the others are.
    fn check_each(&self, check: Check<'_>, faults: &mut Faults) {
        let mut bound = |key, given: Option<f64>, fits: &dyn Fn(f64) -> bool, allowed: &str| {
            if let Some(value) = given.filter(|value| !fits(*value)) {
                faults.add(check.bound(key, format_args!("is {value}"), allowed));
            }
        };
        let one = |value: f64| value >= 1.0;
        let count = |count: Option<u32>| count.map(f64::from);
        bound("requests", self.requests.map(|requests| requests as f64), &one, "1 or more");
        bound("queue_depth", count(self.queue_depth), &one, "1 or more");
        bound("burst_requests", self.burst_requests.map(|requests| requests as f64), &one, "1 or more");
        bound("outstanding_max", count(self.outstanding_max), &one, "1 or more");
        bound("streams", count(self.streams), &|streams| (1.0..=65_536.0).contains(&streams), "1 to 65,536");
        let day_us = (DAY_NS / US) as f64;
        let idle_us = self.burst_idle_us.map(|us| us as f64);
        bound("burst_idle_us", idle_us, &|us| (1.0..=day_us).contains(&us), "1 to 86,400,000,000 us, a day");
        bound("think_us", self.think_us.map(|us| us as f64), &|us| us <= day_us, "at most 86,400,000,000 us, a day");
        let rate = |rate: f64| rate > 0.0 && rate <= RATE_PER_S_MAX;
        bound("rate_per_s", self.rate_per_s, &rate, "a rate above 0 and at most 1e9 per second");
        bound("arrivals_cv", self.arrivals_cv, &|cv| cv > 1.0 && cv <= 100.0, "a variation above 1 and at most 100");
        bound("zipf_theta", self.zipf_theta, &|theta| theta > 0.0 && theta <= 4.0, "an exponent above 0, at most 4");
        // A share of nothing or of everything leaves no second part.
        bound("hot_space_share", self.hot_space_share, &|share| share > 0.0 && share < 1.0, "a share above 0 and below 1");
        for (key, share) in
            [("read_share", Some(self.read_share)), ("trim_share", self.trim_share), ("hot_access_share", self.hot_access_share)]
        {
            bound(key, share, &|share| (0.0..=1.0).contains(&share), "a share from 0 to 1");
        }
        for (key, ms, least) in [
            ("start_ms", self.start_ms, 0.0),
            ("runtime_ms", self.runtime_ms, 1.0),
            ("pulse_ms", self.pulse_ms, 1.0),
            ("pause_ms", self.pause_ms, 1.0),
        ] {
            let allowed = format!("{least} to 86,400,000 ms, a day");
            bound(key, ms, &|ms| (least..=(DAY_NS / MS) as f64).contains(&ms), &allowed);
        }
        for (key, bytes) in [
            ("block_bytes", self.block_bytes),
            ("write_block_bytes", self.write_block_bytes),
            ("align_bytes", self.align_bytes),
            ("range_bytes", self.range_bytes),
            ("offset_bytes", self.offset_bytes.filter(|bytes| *bytes > 0)),
        ] {
            bytes.map(|bytes| faults.take(check.sectors(key, bytes)));
        }
    }

    /// What it says, of values that are right alone.
    fn synthetic(&self, check: Check<'_>) -> Result<Synthetic, ConfigError> {
        let arrivals = self.arrivals(check)?;
        let addresses = self.addresses(check)?;
        let sizes = Sizes { keys: ["block_bytes", "block_mix"], bytes: self.block_bytes, mix: self.block_mix.as_ref() };
        let blocks = match sizes.sectors(check)? {
            Some(sizes) => self.aligned(check, sizes, addresses)?,
            None => return Err(check.fault("block_bytes", "(one size) or `block_mix` (several) is missing")),
        };
        let keys = ["write_block_bytes", "write_block_mix"];
        let sizes = Sizes { keys, bytes: self.write_block_bytes, mix: self.write_block_mix.as_ref() };
        let write_blocks = sizes.sectors(check)?.map(|sizes| self.aligned(check, sizes, addresses)).transpose()?;
        if write_blocks.is_some() && matches!(addresses, Addresses::Shuffled) {
            let key = if self.write_block_mix.is_some() { "write_block_mix" } else { "write_block_bytes" };
            return Err(check.fault(key, "is given with shuffled addresses, which have one order for requests of every kind"));
        }
        let (read_share, trim_share) = (self.read_share, self.trim_share.unwrap_or(0.0));
        // Shares that are written in decimal may add up to a little more than 1.
        if read_share + trim_share > 1.0 + 1e-9 {
            return Err(check.fault("trim_share", format_args!("is {trim_share} and `read_share` {read_share}; together at most 1")));
        }
        let sector_bytes = u64::from(SECTOR_BYTES);
        let range_sectors = self.range_bytes.map(|bytes| bytes / sector_bytes);
        let offset_sectors = self.offset_bytes.unwrap_or(0) / sector_bytes;
        let own = write_blocks.as_ref().map(|blocks| (blocks.largest_sectors(), self.write_block_mix.is_some(), "write_"));
        for (largest, mix, prefix) in [Some((blocks.largest_sectors(), self.block_mix.is_some(), "")), own].into_iter().flatten() {
            if range_sectors.is_none_or(|range| range >= u64::from(largest)) {
                continue;
            }
            let size = if mix { format!("the largest size of `{prefix}block_mix`") } else { format!("`{prefix}block_bytes`") };
            return Err(check.fault("range_bytes", format_args!("is smaller than {size}; not one block fits")));
        }
        if range_sectors.unwrap_or(0).checked_add(offset_sectors).is_none_or(|end| end > 1 << 54) {
            return Err(check.fault("offset_bytes", "and `range_bytes` reach beyond 2^63 bytes"));
        }
        let time = |ms: f64| (ms * MS as f64).round() as Ns;
        let pulses = match (self.pulse_ms.map(time), self.pause_ms.map(time)) {
            (Some(pulse_ns), Some(pause_ns)) => Some(Pulses { pulse_ns, pause_ns }),
            (Some(_), None) => return Err(check.fault("pulse_ms", "needs `pause_ms`")),
            (None, Some(_)) => return Err(check.fault("pause_ms", "needs `pulse_ms`")),
            (None, None) => None,
        };
        if pulses.is_some() && !matches!(arrivals, Arrivals::Closed { .. }) {
            return Err(check.fault("pulse_ms", "is given without `queue_depth`; pulses are of closed loop"));
        }
        Ok(Synthetic {
            arrivals,
            blocks,
            write_blocks,
            read_share,
            trim_share,
            addresses,
            kinds_apart: self.kinds_apart == Some(true),
            offset: Length::Sectors(offset_sectors).into(),
            range: range_sectors.map(Length::Sectors),
            requests: self.requests,
            volume: None,
            start_ns: self.start_ms.map_or(0, time),
            runtime_ns: self.runtime_ms.map(time),
            pulses,
            critical: self.critical_writes == Some(true),
            salt: 0,
            passes: None,
            rest: None,
        })
    }

    /// Sizes with the alignment that is given or follows from them.
    fn aligned(&self, check: Check<'_>, sizes: Vec<(u32, f64)>, addresses: Addresses) -> Result<Blocks, ConfigError> {
        let mut blocks = Blocks::of(sizes);
        if let Some(bytes) = self.align_bytes {
            blocks.align_sectors = bytes / u64::from(SECTOR_BYTES);
        }
        let align_sectors = blocks.align_sectors;
        if let Addresses::Sequential { .. } = addresses
            && let Some((sectors, _)) = blocks.sizes.iter().find(|(sectors, _)| u64::from(*sectors) % align_sectors != 0)
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
        Ok(blocks)
    }

    /// Bursts, if they are asked for.
    fn bursts(&self, check: Check<'_>) -> Result<Option<Arrivals>, ConfigError> {
        let (requests, idle_us) = match (self.burst_requests, self.burst_idle_us) {
            (None, None) => return Ok(None),
            (Some(_), None) => return Err(check.fault("burst_requests", "needs `burst_idle_us`")),
            (None, Some(_)) => return Err(check.fault("burst_idle_us", "needs `burst_requests`")),
            (Some(requests), Some(idle_us)) => (requests, idle_us),
        };
        let others = [
            ("queue_depth", self.queue_depth.is_some()),
            ("rate_per_s", self.rate_per_s.is_some()),
            ("think_us", self.think_us.is_some()),
            ("outstanding_max", self.outstanding_max.is_some()),
            ("arrivals", self.arrivals.is_some()),
            ("arrivals_cv", self.arrivals_cv.is_some()),
            ("runtime_ms", self.runtime_ms.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, given)| *given) {
            return Err(check.fault(key, "is given with `burst_requests`; bursts begin when those before have completed"));
        }
        if check.section.starts_with("threads.") {
            return Err(check.fault("burst_requests", "is of a whole workload, in [synthetic]; threads have no bursts"));
        }
        Ok(Some(Arrivals::Bursts { requests, idle_ns: idle_us * US }))
    }

    fn arrivals(&self, check: Check<'_>) -> Result<Arrivals, ConfigError> {
        if let Some(bursts) = self.bursts(check)? {
            return Ok(bursts);
        }
        let rate_per_s = match (self.queue_depth, self.rate_per_s) {
            (Some(_), Some(_)) => {
                return Err(check.bound("rate_per_s", "and `queue_depth` are both given", "one, open or closed loop"));
            }
            (None, None) => {
                return Err(check.fault("queue_depth", "(closed loop), `rate_per_s` (open loop) or `burst_requests` (bursts) is missing"));
            }
            (Some(depth), None) => {
                let of_open_loop = [
                    ("arrivals", self.arrivals.is_some()),
                    ("arrivals_cv", self.arrivals_cv.is_some()),
                    ("outstanding_max", self.outstanding_max.is_some()),
                ];
                for (key, given) in of_open_loop {
                    if given {
                        return Err(check.fault(key, "is given in closed loop, where requests arrive when others complete"));
                    }
                }
                return Ok(Arrivals::Closed { depth, think_ns: self.think_us.unwrap_or(0) * US });
            }
            (None, Some(rate)) => rate,
        };
        if self.think_us.is_some() {
            return Err(check.fault("think_us", "is given in open loop, where requests arrive whatever others do"));
        }
        let law = match (self.arrivals.unwrap_or(ArrivalLaw::Exponential), self.arrivals_cv) {
            (ArrivalLaw::Exponential, None) => Law::Exponential,
            (ArrivalLaw::Fixed, None) => Law::Fixed,
            (ArrivalLaw::Hyperexponential, Some(cv)) => Law::Hyperexponential { cv },
            (ArrivalLaw::Hyperexponential, None) => {
                return Err(check.fault("arrivals_cv", "is missing; `arrivals` is \"hyperexponential\""));
            }
            (_, Some(_)) => {
                return Err(check.fault("arrivals_cv", "is given without `arrivals = \"hyperexponential\"`"));
            }
        };
        Ok(Arrivals::Open { rate_per_s, law, outstanding_max: self.outstanding_max })
    }

    fn addresses(&self, check: Check<'_>) -> Result<Addresses, ConfigError> {
        let law = self.addresses;
        let said = match law {
            AddressLaw::Uniform => "uniform",
            AddressLaw::Shuffled => "shuffled",
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
                return Err(check.bound(key, format_args!("is given with {said} addresses"), format_args!("`addresses = \"{name}\"`")));
            }
            if !given && law == wanted {
                return Err(check.fault(key, format_args!("is missing; `addresses` is \"{name}\"")));
            }
        }
        if self.kinds_apart.is_some() && law != AddressLaw::Sequential {
            return Err(check.bound("kinds_apart", format_args!("is given with {said} addresses"), "`addresses = \"sequential\"`"));
        }
        Ok(match law {
            AddressLaw::Uniform => Addresses::Uniform,
            AddressLaw::Shuffled => Addresses::Shuffled,
            AddressLaw::Zipf => Addresses::Zipf { theta: self.zipf_theta.unwrap_or(0.0) },
            AddressLaw::HotCold => {
                Addresses::HotCold { space: self.hot_space_share.unwrap_or(0.0), access: self.hot_access_share.unwrap_or(0.0) }
            }
            AddressLaw::Sequential => Addresses::Sequential { streams: self.streams.unwrap_or(0) },
        })
    }
}

/// One size or several, by the names of their keys.
struct Sizes<'a> {
    keys: [&'static str; 2],
    bytes: Option<u64>,
    mix: Option<&'a Vec<(u64, f64)>>,
}

impl Sizes<'_> {
    /// Sizes in sectors, with their weights; none if none are given.
    fn sectors(&self, check: Check<'_>) -> Result<Option<Vec<(u32, f64)>>, ConfigError> {
        let too_large = |key| check.fault(key, "is 2 TiB or more");
        let [key, mix_key] = self.keys;
        match (self.bytes, self.mix) {
            (Some(bytes), None) => {
                let sectors = check.sectors(key, bytes)?;
                Ok(Some(vec![(u32::try_from(sectors).map_err(|_| too_large(key))?, 1.0)]))
            }
            (None, Some(mix)) => {
                let mut blocks = Vec::new();
                for &(bytes, weight) in mix {
                    let sectors = check.sectors(mix_key, bytes)?;
                    if !(weight.is_finite() && weight >= 0.0) {
                        return Err(check.bound(mix_key, format_args!("has the weight {weight}"), "0 or more"));
                    }
                    blocks.push((u32::try_from(sectors).map_err(|_| too_large(mix_key))?, weight));
                }
                if !blocks.iter().any(|(_, weight)| *weight > 0.0) {
                    return Err(check.fault(mix_key, "needs at least one pair of bytes and a weight above 0"));
                }
                Ok(Some(blocks))
            }
            (Some(_), Some(_)) => Err(check.bound(mix_key, format_args!("and `{key}` are both given"), "one of them")),
            (None, None) => Ok(None),
        }
    }
}
