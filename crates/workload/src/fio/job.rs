//! What a job says, as a thread of requests.

use tinytail_core::units::{Ns, SECOND, SECTOR_BYTES, US};

use super::Job;
use super::values::{self, KiloBase};
use crate::synthetic::arrivals::{Arrivals, Law};
use crate::synthetic::table::DAY_NS;
use crate::synthetic::{Addresses, Blocks, Length, Synthetic, Volume};
use crate::text::quoted;
use tinytail_config::ConfigError;

const SECTOR: u64 = SECTOR_BYTES as u64;

/// Engines that keep as many requests outstanding as they are told.
const ASYNCHRONOUS: [&str; 4] = ["io_uring", "libaio", "posixaio", "windowsaio"];
/// Engines that have one request outstanding, whatever they are told.
const SYNCHRONOUS: [&str; 5] = ["psync", "pvsync", "pvsync2", "sync", "vsync"];

/// The directions for which fio has values of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
    Trim,
}

/// What `readwrite` says.
#[derive(Clone, Copy)]
struct Pattern {
    random: bool,
    /// Nothing for a mix of reads and writes.
    only: Option<Direction>,
}

impl Pattern {
    fn reads(self) -> bool {
        self.only.is_none_or(|only| only == Direction::Read)
    }

    fn writes(self) -> bool {
        self.only.is_none_or(|only| only == Direction::Write)
    }
}

/// How many requests, how much in all, and how long: the first of these that is reached ends a job.
struct End {
    requests: Option<u64>,
    volume: Option<Volume>,
    runtime_ns: Option<Ns>,
}

impl Job<'_> {
    /// How many threads the job has.
    pub(super) fn clones(&self) -> Result<u64, ConfigError> {
        match self.count("numjobs")? {
            Some(0) => Err(self.bound("numjobs", "is 0: the job has no I/O", "1 or more")),
            clones => Ok(clones.unwrap_or(1)),
        }
    }

    /// All jobs start together, so none can wait for the ones before it.
    pub(super) fn check_starts_with_others(&self) -> Result<(), ConfigError> {
        if self.switch("stonewall")? {
            return Err(self.fault("stonewall", "is not supported: all jobs of a file run at once; write one file for each phase"));
        }
        Ok(())
    }

    /// The thread with the number `clone` among those of this job.
    pub(super) fn thread(&self, clone: u64) -> Result<Synthetic, ConfigError> {
        self.check_host()?;
        let pattern = self.pattern()?;
        let read_share = self.read_share(pattern)?;
        let (blocks, write_blocks) = self.blocks(pattern)?;
        let addresses = self.addresses(pattern, &blocks, write_blocks.as_ref())?;
        let offset = self.offset(clone)?;
        let range = self.length("size")?;
        let largest = blocks.largest_sectors().max(write_blocks.as_ref().map_or(0, Blocks::largest_sectors));
        if let Some(Length::Sectors(sectors)) = range
            && sectors < u64::from(largest)
        {
            let message = format_args!("is smaller than a block of {} bytes: the job has no I/O", u64::from(largest) * SECTOR);
            return Err(self.fault("size", message));
        }
        if let (Length::Sectors(offset), Some(Length::Sectors(range))) = (offset, range)
            && offset.checked_add(range).is_none_or(|end| end > 1 << 54)
        {
            return Err(self.fault("size", "and the offset reach beyond 2^63 bytes"));
        }
        let End { requests, volume, runtime_ns } = self.end()?;
        // Any number tells its draws from those of others; the odd factor keeps small ones apart.
        let salt = self.count("randseed")?.map_or(0, |seed| seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Ok(Synthetic {
            arrivals: self.arrivals(pattern)?,
            blocks,
            write_blocks,
            read_share,
            trim_share: if pattern.only == Some(Direction::Trim) { 1.0 } else { 0.0 },
            addresses,
            kinds_apart: !pattern.random && pattern.only.is_none(),
            offset,
            range,
            requests,
            volume,
            start_ns: self.time("startdelay", SECOND)?.unwrap_or(0),
            runtime_ns,
            pulses: None,
            critical: self.critical(pattern.reads(), pattern.writes())?,
            salt,
        })
    }

    /// What fio's host would do to the requests.
    fn check_host(&self) -> Result<(), ConfigError> {
        let direct = self.given("direct").is_some().then(|| self.switch("direct")).transpose()?;
        let buffered = self.given("buffered").is_some().then(|| self.switch("buffered")).transpose()?;
        const NO_CACHE: &str = "there is no page cache here";
        match (direct, buffered) {
            (Some(false), _) => return Err(self.bound("direct", format_args!("is 0, and {NO_CACHE}"), "direct=1")),
            (_, Some(true)) => return Err(self.bound("buffered", format_args!("is 1, and {NO_CACHE}"), "direct=1")),
            (None, None) => {
                return Err(self.bound("direct", format_args!("is missing: fio's default is buffered I/O, and {NO_CACHE}"), "direct=1"));
            }
            _ => {}
        }
        for name in ["randrepeat", "allrandrepeat"] {
            if self.given(name).is_some() && !self.switch(name)? {
                return Err(self.bound(name, "is 0, and what is drawn here follows from the run's seed", "1"));
            }
        }
        Ok(())
    }

    fn pattern(&self) -> Result<Pattern, ConfigError> {
        let (random, only) = match self.given("readwrite").unwrap_or("read") {
            "read" => (false, Some(Direction::Read)),
            "write" => (false, Some(Direction::Write)),
            "trim" => (false, Some(Direction::Trim)),
            "rw" | "readwrite" => (false, None),
            "randread" => (true, Some(Direction::Read)),
            "randwrite" => (true, Some(Direction::Write)),
            "randtrim" => (true, Some(Direction::Trim)),
            "randrw" => (true, None),
            pattern => {
                let hint = if pattern.contains(':') { ", without an offset behind a colon" } else { "" };
                let expected = "read, write, trim, rw, randread, randwrite, randtrim or randrw";
                return Err(self.unlike("readwrite", format_args!("{expected}{hint}")));
            }
        };
        Ok(Pattern { random, only })
    }

    fn read_share(&self, pattern: Pattern) -> Result<f64, ConfigError> {
        let percent = |name| match self.count(name)? {
            Some(percent) if percent > 100 => Err(self.unlike(name, "a share in percent, 0 to 100")),
            percent => Ok(percent),
        };
        let shares = (percent("rwmixread")?, percent("rwmixwrite")?);
        if pattern.only.is_some() {
            self.check_not_idle(&["rwmixread", "rwmixwrite"], "in a job that does not mix reads and writes")?;
        }
        match (pattern.only, shares) {
            (Some(only), _) => Ok(f64::from(u8::from(only == Direction::Read))),
            (None, (Some(reads), Some(writes))) if reads + writes != 100 => {
                Err(self.fault("rwmixwrite", format_args!("is {writes} and `rwmixread` {reads}; together they must be 100")))
            }
            (None, (reads, writes)) => Ok(reads.or(writes.map(|writes| 100 - writes)).unwrap_or(50) as f64 / 100.0),
        }
    }

    /// Options that say nothing in this job are left to the other jobs if a global section gives them.
    pub(super) fn check_not_idle(&self, names: &[&str], why: &str) -> Result<(), ConfigError> {
        let idle = |name: &&&str| self.values.get(**name).is_some_and(|value| value.section == self.name);
        names.iter().find(idle).map_or(Ok(()), |name| Err(self.fault(name, format_args!("says nothing {why}"))))
    }

    /// Sizes of the requests, and those of writes where they are others.
    fn blocks(&self, pattern: Pattern) -> Result<(Blocks, Option<Blocks>), ConfigError> {
        let blocks = |direction| -> Result<Blocks, ConfigError> {
            let mut blocks = Blocks::of(self.sizes(direction)?);
            if pattern.random {
                // fio aligns to the smallest size, whatever the others are.
                let smallest = blocks.sizes.iter().map(|(sectors, _)| u64::from(*sectors)).min();
                blocks.align_sectors = smallest.unwrap_or(blocks.align_sectors);
            }
            Ok(blocks)
        };
        match pattern.only {
            Some(direction) => Ok((blocks(direction)?, None)),
            None => {
                let (reads, writes) = (blocks(Direction::Read)?, blocks(Direction::Write)?);
                let own = (reads != writes).then_some(writes);
                Ok((reads, own))
            }
        }
    }

    /// Sizes in sectors of the requests of one direction, with their weights.
    fn sizes(&self, direction: Direction) -> Result<Vec<(u32, f64)>, ConfigError> {
        let sectors = |name: &str, size: &str| -> Result<u32, ConfigError> {
            match values::number(size, self.kilo_base()?) {
                Some(0) => Err(self.unlike(name, "a size above 0: a job of blocks without bytes has no I/O")),
                Some(bytes) if bytes % SECTOR == 0 && bytes < 1 << 41 => Ok((bytes / SECTOR) as u32),
                _ => Err(self.unlike(name, "sizes like 4k, each a multiple of 512 bytes and below 2 TiB")),
            }
        };
        let Some(split) = self.given("bssplit") else {
            let Some(given) = self.given("blocksize") else { return Ok(vec![(4096 / SECTOR_BYTES, 1.0)]) };
            let sizes = values::by_kind(given)
                .filter(|_| !given.is_empty())
                .ok_or_else(|| self.unlike("blocksize", "one size, or up to three, as READ,WRITE,TRIM"))?;
            let size = sizes[direction as usize].map_or(Ok(4096 / SECTOR_BYTES), |size| sectors("blocksize", size))?;
            return Ok(vec![(size, 1.0)]);
        };
        if self.given("blocksize").is_some() {
            return Err(self.bound("bssplit", "and `blocksize` are both given", "one of them"));
        }
        let expected = "sizes and their shares, as SIZE/PERCENT:SIZE/PERCENT, of one or of each direction with commas between";
        let unlike = || self.unlike("bssplit", expected);
        let split = values::by_kind(split).ok_or_else(unlike)?[direction as usize].ok_or_else(unlike)?;
        let mut sizes: Vec<(u32, Option<u64>)> = Vec::new();
        for part in split.split(':') {
            let (size, share) = part.split_once('/').unwrap_or((part, ""));
            let share = if share.is_empty() { None } else { Some(share.parse::<u64>().map_err(|_| unlike())?) };
            sizes.push((sectors("bssplit", size)?, share));
        }
        let stated = sizes.iter().fold(0, |sum: u64, (_, share)| sum.saturating_add(share.unwrap_or(0)));
        let open = sizes.iter().filter(|(_, share)| share.is_none()).count();
        if stated > 100 || (open == 0 && stated != 100) {
            return Err(self.unlike("bssplit", format_args!("shares that add up to 100, and these are {stated}")));
        }
        // What is left is shared evenly by the sizes without a share.
        let rest = (100 - stated) as f64 / open.max(1) as f64;
        Ok(sizes.into_iter().map(|(sectors, share)| (sectors, share.map_or(rest, |share| share as f64))).collect())
    }

    fn addresses(&self, pattern: Pattern, blocks: &Blocks, write_blocks: Option<&Blocks>) -> Result<Addresses, ConfigError> {
        let repeats = self.switch("norandommap")?;
        if !pattern.random {
            self.check_not_idle(&["norandommap", "random_distribution"], "in a sequential job")?;
            return Ok(Addresses::Sequential { streams: 1 });
        }
        let distribution = self.given("random_distribution").unwrap_or("random");
        if let Some(theta) = distribution.strip_prefix("zipf:") {
            // fio's own draws have no exponent of 1, and keep no map of the blocks that have been drawn.
            let theta = theta.parse::<f64>().ok().filter(|theta| *theta > 0.0 && *theta <= 4.0 && *theta != 1.0);
            let expected = "zipf:THETA with an exponent above 0 and at most 4, but not 1";
            return theta.map(|theta| Addresses::Zipf { theta }).ok_or_else(|| self.unlike("random_distribution", expected));
        }
        if distribution != "random" {
            return Err(self.unlike("random_distribution", "random or zipf:THETA"));
        }
        if repeats {
            return Ok(Addresses::Uniform);
        }
        if write_blocks.is_some() || blocks.sizes.len() > 1 {
            let found = "is missing: fio would draw every block once and cut requests short to do so, which is supported for one size only";
            return Err(self.bound("norandommap", found, "norandommap=1"));
        }
        Ok(Addresses::Shuffled)
    }

    /// Where the range of this thread begins.
    fn offset(&self, clone: u64) -> Result<Length, ConfigError> {
        let offset = self.length("offset")?.unwrap_or(Length::Sectors(0));
        match (offset, self.length("offset_increment")?) {
            (offset, None) => Ok(offset),
            (Length::Sectors(offset), Some(Length::Sectors(increment))) => {
                let sum = increment.checked_mul(clone).and_then(|more| more.checked_add(offset)).filter(|sum| *sum <= 1 << 54);
                sum.map(Length::Sectors).ok_or_else(|| self.fault("offset_increment", "leads beyond 2^63 bytes"))
            }
            _ => Err(self.fault("offset_increment", "and `offset` must both be in bytes")),
        }
    }

    /// A length in bytes or in percent of the drive. No bytes make no I/O, but of an offset.
    fn length(&self, name: &str) -> Result<Option<Length>, ConfigError> {
        let Some(given) = self.given(name) else { return Ok(None) };
        if let Some(percent) = values::percent(given) {
            return Ok(Some(Length::Percent(percent)));
        }
        match values::number(given, self.kilo_base()?) {
            Some(0) if name == "size" => Err(self.bound(name, "is 0: the job has no I/O", "a size above 0")),
            Some(bytes) if bytes % SECTOR == 0 => Ok(Some(Length::Sectors(bytes / SECTOR))),
            _ => Err(self.unlike(name, "bytes, a multiple of 512, or a share of the drive like 20%")),
        }
    }

    /// What ends the job.
    fn end(&self) -> Result<End, ConfigError> {
        let requests = self.count("number_ios")?;
        let bytes = self.bytes("io_size")?;
        for (name, is_zero) in [("number_ios", requests == Some(0)), ("io_size", bytes == Some(0))] {
            if is_zero {
                return Err(self.bound(name, "is 0: the job has no I/O", "1 or more"));
            }
        }
        let runtime_ns = self.time("runtime", SECOND)?;
        if runtime_ns == Some(0) {
            return Err(self.bound("runtime", "is 0: the job has no I/O", "a time above 0"));
        }
        if !self.switch("time_based")? {
            let volume = bytes.map_or(Volume::Ranges(1), |bytes| Volume::Sectors(bytes.div_ceil(SECTOR)));
            return Ok(End { requests, volume: Some(volume), runtime_ns });
        }
        if runtime_ns.is_none() {
            return Err(self.fault("time_based", "is given without `runtime`, so that the job has no end"));
        }
        for (name, given) in [("number_ios", requests.is_some()), ("io_size", bytes.is_some())] {
            if given {
                return Err(self.fault(name, "is given with `time_based`, by which only the time ends the job"));
            }
        }
        Ok(End { requests: None, volume: None, runtime_ns })
    }

    fn arrivals(&self, pattern: Pattern) -> Result<Arrivals, ConfigError> {
        let depth = self.depth()?;
        let think_ns = self.time("thinktime", US)?.unwrap_or(0);
        if think_ns > 0 && depth > 1 {
            let message = "is given with `iodepth` above 1, where fio would wait for all outstanding requests first; that is not supported";
            return Err(self.fault("thinktime", message));
        }
        let Some(rates) = self.given("rate_iops") else {
            self.check_not_idle(&["rate_process"], "without `rate_iops`")?;
            return Ok(Arrivals::Closed { depth, think_ns });
        };
        if think_ns > 0 {
            return Err(self.bound("thinktime", "and `rate_iops` are both given", "one of them"));
        }
        let Some(direction) = pattern.only else {
            let message =
                "limits reads and writes each by itself, which distorts their mix; write one job for the reads and one for the writes";
            return Err(self.fault("rate_iops", message));
        };
        let base = self.kilo_base()?;
        let rate = values::by_kind(rates).and_then(|rates| values::number(rates[direction as usize]?, base));
        let rate_per_s = match rate {
            Some(0) => return Err(self.bound("rate_iops", "is 0: the job has no I/O", "1 or more")),
            Some(rate) if rate <= 1_000_000_000 => rate as f64,
            _ => return Err(self.unlike("rate_iops", "requests per second, at most 10^9, of the job's direction")),
        };
        let law = match self.given("rate_process").unwrap_or("linear") {
            "linear" => Law::Fixed,
            "poisson" => Law::Exponential,
            _ => return Err(self.unlike("rate_process", "linear or poisson")),
        };
        Ok(Arrivals::Open { rate_per_s, law, outstanding_max: Some(depth) })
    }

    /// How many requests the job's engine keeps outstanding.
    fn depth(&self) -> Result<u32, ConfigError> {
        let depth = match self.count("iodepth")? {
            None => 1,
            Some(depth @ 1..=65_536) => depth as u32,
            Some(_) => return Err(self.unlike("iodepth", "1 to 65,536")),
        };
        let engine = self.given("ioengine").unwrap_or("psync");
        if ASYNCHRONOUS.contains(&engine) || (depth == 1 && SYNCHRONOUS.contains(&engine)) {
            return Ok(depth);
        }
        if !SYNCHRONOUS.contains(&engine) {
            let all = [&ASYNCHRONOUS[..], &SYNCHRONOUS[..]].concat().join(", ");
            return Err(self.unlike("ioengine", format_args!("one of {all}")));
        }
        let engines = ASYNCHRONOUS.join(", ");
        let which = if self.given("ioengine").is_some() { "the engine" } else { "fio's default engine" };
        let message = format!("is {depth}, and {which} {} keeps one request outstanding; give an `ioengine`: {engines}", quoted(engine));
        Err(self.fault("iodepth", message))
    }

    pub(super) fn kilo_base(&self) -> Result<KiloBase, ConfigError> {
        match self.given("kb_base") {
            None | Some("1024") => Ok(KiloBase::Traditional),
            Some("1000") => Ok(KiloBase::Standard),
            Some(_) => Err(self.unlike("kb_base", "1024 or 1000")),
        }
    }

    /// A whole number without a unit of its own.
    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, ConfigError> {
        let base = self.kilo_base()?;
        let read = |given| values::number(given, base).ok_or_else(|| self.unlike(name, "a whole number, without a calculation"));
        self.given(name).map(read).transpose()
    }

    fn bytes(&self, name: &str) -> Result<Option<u64>, ConfigError> {
        let base = self.kilo_base()?;
        let read = |given| values::number(given, base).ok_or_else(|| self.unlike(name, "a number of bytes, such as 10g"));
        self.given(name).map(read).transpose()
    }

    fn time(&self, name: &str, unit_ns: Ns) -> Result<Option<Ns>, ConfigError> {
        let Some(given) = self.given(name) else { return Ok(None) };
        let unit = if unit_ns == US { "us" } else { "s" };
        let time = values::time(given, unit_ns).filter(|time| *time <= DAY_NS);
        time.map(Some)
            .ok_or_else(|| self.unlike(name, format_args!("one time, a whole number of {unit} or of d, h, m, s, ms or us, at most a day")))
    }

    /// A switch, which is off if it is not given.
    fn switch(&self, name: &str) -> Result<bool, ConfigError> {
        let Some(value) = self.values.get(name) else { return Ok(false) };
        values::switch(value.value).ok_or_else(|| self.unlike(name, "1 or 0"))
    }
}
