//! What a job says, as a thread of requests.

use tinytail_core::units::{Ns, SECOND, SECTOR_BYTES, US};

use super::Job;
use super::values::{self, KiloBase};
use crate::streams::Rest;
use crate::synthetic::arrivals::{Arrivals, Law};
use crate::synthetic::passes::{Amount, Mix, Order, Passes, Rates, Sizes};
use crate::synthetic::skew::Skew;
use crate::synthetic::table::DAY_NS;
use crate::synthetic::{Addresses, Blocks, Length, Offset, RATE_PER_S_MAX, Synthetic, Volume};
use crate::text::quoted;
use tinytail_config::{ConfigError, Faults};

pub(super) const SECTOR: u64 = SECTOR_BYTES as u64;

/// Beyond this no drive reaches.
const SECTORS_MAX: u64 = 1 << 54;

/// Engines that keep as many requests outstanding as they are told.
const ASYNCHRONOUS: [&str; 4] = ["io_uring", "libaio", "posixaio", "windowsaio"];
/// Engines that have one request outstanding, whatever they are told.
const SYNCHRONOUS: [&str; 5] = ["psync", "pvsync", "pvsync2", "sync", "vsync"];

/// What `readwrite` says.
#[derive(Clone, Copy)]
pub(super) struct Pattern {
    pub(super) random: bool,
    /// The one kind that there is, in the order of reads, writes, trims; nothing for a mix of reads and writes.
    pub(super) only: Option<usize>,
    /// Bytes between the requests of a sequential job.
    pub(super) step: i64,
    /// Of so many requests of a random job the first is random.
    pub(super) every: u64,
}

impl Pattern {
    fn has(self, kind: usize) -> bool {
        self.only.map_or(kind < 2, |only| only == kind)
    }
}

/// How many requests, how much in all, and how long: the first of these that is reached ends a job.
struct End {
    requests: Option<u64>,
    bytes: Option<Amount>,
    runtime_ns: Option<Ns>,
    time_based: bool,
}

/// The part of the drive that a job goes through: that of the first clone.
struct Part {
    at: Length,
    step: Length,
    range: Option<Length>,
    /// Where the range ends, in sectors, if that does not depend on where it begins.
    end: Option<u64>,
    /// Bytes by which it ends before the end of its last sector.
    cut: u64,
    /// How much of it a pass has at most.
    pass: Option<Amount>,
}

/// When requests are issued.
struct Times {
    arrivals: Arrivals,
    rates: Option<Rates>,
    rest: Option<Rest>,
}

impl Job<'_> {
    /// How many threads the job has.
    pub(super) fn clones(&self) -> Result<u64, ConfigError> {
        match self.count("numjobs")? {
            Some(0) => Err(self.bound("numjobs", "is 0: the job has no I/O", "1 or more")),
            clones => Ok(clones.unwrap_or(1)),
        }
    }

    /// Whether the job waits for all before it.
    pub(super) fn begins_phase(&self) -> Result<bool, ConfigError> {
        self.switch("stonewall")
    }

    /// How long it runs before it is measured.
    pub(super) fn ramp_ns(&self) -> Result<Ns, ConfigError> {
        Ok(self.time("ramp_time", SECOND)?.unwrap_or(0))
    }

    /// The threads of the job, one for each clone. All that is wrong with it is added to the faults; nothing is made of it then.
    pub(super) fn threads(&self, clones: u64, faults: &mut Faults) -> Option<Vec<Synthetic>> {
        self.check_values(faults);
        let pattern = faults.take(self.pattern());
        let sizes = faults.take(self.sizes());
        let part = faults.take(self.part());
        let end = faults.take(self.end());
        let start_ns = faults.take(self.time("startdelay", SECOND));
        let loops = faults.take(self.count("loops"));
        let seed = faults.take(self.count("randseed"));
        let repeats = faults.take(self.switch_or("randrepeat", true));
        let offset_align = faults.take(self.multiple_of_sectors("offset_align"));
        let depth = faults.take(self.depth());
        // What follows needs what stands above.
        let pattern = pattern?;
        let mix = faults.take(self.mix(pattern));
        let critical = faults.take(self.critical(pattern.has(0), pattern.has(1)));
        let sizes = sizes?;
        let align = faults.take(self.align(pattern, &sizes));
        let skew = faults.take(self.skew(pattern));
        let (mix, align, skew) = (mix?, align?, skew?);
        let order = faults.take(self.order(pattern, mix, &sizes, align, &skew));
        let times = faults.take(depth.map_or(Ok(None), |depth| self.times(pattern, mix, &sizes, depth).map(Some))).flatten();
        let (part, end, order, times) = (part?, end?, order?, times?);
        let least = sizes.iter().map(Sizes::least).min().unwrap_or(SECTOR);
        // Any number tells its draws from those of others; the odd factor keeps small ones apart.
        let salt = seed?.map_or(0, |seed| seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (bytes, pass) = match end.bytes {
            Some(percent @ Amount::Percent(_)) => (None, Some(percent)),
            Some(Amount::Bytes(bytes)) => (Some(bytes), part.pass),
            None => (None, part.pass),
        };
        let passes = Passes {
            mix,
            sizes,
            align,
            order,
            skew,
            cut: part.cut,
            pass,
            bytes,
            requests: end.requests,
            loops: loops?.unwrap_or(1).max(1),
            time_based: end.time_based,
            ends_passes: self.given("ioengine").is_some_and(|engine| ASYNCHRONOUS.contains(&engine)),
            repeats: repeats? && self.given("randseed").is_none(),
            rates: times.rates,
        };
        let goes_back = matches!(passes.order, Order::Sequential { step } if step < 0);
        if goes_back && part.cut > 0 {
            let name = if part.end.is_some() { "filesize" } else { "size" };
            faults.add(self.unlike(name, "bytes, a multiple of 512 where a job goes backwards"));
        }
        let align_sectors = offset_align?.unwrap_or(least) / SECTOR;
        let (critical, start_ns) = (critical?, start_ns?.unwrap_or(0));
        let thread = |clone: u64| -> Result<Synthetic, ConfigError> {
            let offset = Offset { at: part.at, step: (part.step, clone), align_sectors };
            let range = self.range(&part, offset, &passes)?;
            Ok(Synthetic {
                start_ns,
                runtime_ns: end.runtime_ns,
                critical,
                salt,
                rest: times.rest,
                ..synthetic(&passes, times.arrivals, offset, range)
            })
        };
        let threads: Option<Vec<Synthetic>> = (0..clones).map(|clone| faults.take(thread(clone))).collect();
        threads.filter(|_| !faults.touch(self.name))
    }

    /// Options whose value must be one of few.
    fn check_values(&self, faults: &mut Faults) {
        const NO_CACHE: &str = "there is no page cache here";
        let off = |name: &str, faults: &mut Faults| {
            self.given(name).is_some().then(|| faults.take(self.switch(name))).map(Option::unwrap_or_default)
        };
        match (off("direct", faults), off("buffered", faults)) {
            (Some(false), _) if self.switch("direct").is_ok() => {
                faults.add(self.bound("direct", format_args!("is 0, and {NO_CACHE}"), "direct=1"));
            }
            (_, Some(true)) => faults.add(self.bound("buffered", format_args!("is 1, and {NO_CACHE}"), "direct=1")),
            (None, None) => {
                faults.add(self.bound("direct", format_args!("is missing: fio's default is buffered I/O, and {NO_CACHE}"), "direct=1"));
            }
            _ => {}
        }
        faults.take(self.switch_or("allrandrepeat", false));
        if self.given("io_submit_mode").is_some_and(|mode| !["inline", "offload"].contains(&mode)) {
            faults.add(self.unlike("io_submit_mode", "inline or offload"));
        }
        match self.count("nrfiles") {
            Ok(None | Some(0 | 1)) => {}
            Ok(Some(_)) => {
                faults.add(self.unlike("nrfiles", "1: the drive is the one file; write a job for each part, with `offset` and `size`"))
            }
            Err(fault) => faults.add(fault),
        }
        if self.given("directory").is_some_and(|directory| directory.replace("\\:", "").contains(':')) {
            faults.add(self.unlike("directory", "one directory: the drive is the one file"));
        }
    }

    fn pattern(&self) -> Result<Pattern, ConfigError> {
        let given = self.given("readwrite").unwrap_or("read");
        let (pattern, postfix) = given.split_once(':').map_or((given, None), |(pattern, postfix)| (pattern, Some(postfix)));
        let (random, only) = match pattern {
            "read" => (false, Some(0)),
            "write" => (false, Some(1)),
            "trim" => (false, Some(2)),
            "rw" | "readwrite" => (false, None),
            "randread" => (true, Some(0)),
            "randwrite" => (true, Some(1)),
            "randtrim" => (true, Some(2)),
            "randrw" => (true, None),
            _ => {
                let expected = "read, write, trim, rw, randread, randwrite, randtrim or randrw";
                return Err(self.unlike("readwrite", expected));
            }
        };
        let mut pattern = Pattern { random, only, step: 0, every: 1 };
        let Some(postfix) = postfix else { return Ok(pattern) };
        let expected = "bytes behind the colon of a sequential job, a multiple of 512 and at most 2^40, or 1 to 2^32 requests behind that of a random one";
        let base = self.kilo_base()?;
        let number = |text| values::number(text, base).ok_or_else(|| self.unlike("readwrite", expected));
        if random {
            pattern.every = number(postfix)?;
            return if (1..=1 << 32).contains(&pattern.every) { Ok(pattern) } else { Err(self.unlike("readwrite", expected)) };
        }
        let bytes = number(postfix.strip_prefix('-').unwrap_or(postfix))?;
        if bytes % SECTOR != 0 || bytes > 1 << 40 {
            return Err(self.unlike("readwrite", expected));
        }
        pattern.step = if postfix.starts_with('-') { -(bytes as i64) } else { bytes as i64 };
        Ok(pattern)
    }

    fn mix(&self, pattern: Pattern) -> Result<Mix, ConfigError> {
        let percent = |name| match self.count(name)? {
            Some(percent) if percent > 100 => Err(self.unlike(name, "a share in percent, 0 to 100")),
            percent => Ok(percent),
        };
        let shares = (percent("rwmixread")?, percent("rwmixwrite")?);
        if let Some(only) = pattern.only {
            self.check_not_idle(&["rwmixread", "rwmixwrite"], "in a job that does not mix reads and writes")?;
            return Ok(Mix::Only(only));
        }
        match shares {
            (Some(reads), Some(writes)) if reads + writes != 100 => {
                Err(self.fault("rwmixwrite", format_args!("is {writes} and `rwmixread` {reads}; together they must be 100")))
            }
            (reads, writes) => Ok(Mix::Reads(reads.or(writes.map(|writes| 100 - writes)).unwrap_or(50))),
        }
    }

    /// Options that say nothing in this job are left to the other jobs if a global section gives them.
    pub(super) fn check_not_idle(&self, names: &[&str], why: &str) -> Result<(), ConfigError> {
        let idle = |name: &&&str| self.values.get(**name).is_some_and(|value| value.section == self.name);
        names.iter().find(idle).map_or(Ok(()), |name| Err(self.fault(name, format_args!("says nothing {why}"))))
    }

    /// What the places of requests are multiples of.
    fn align(&self, pattern: Pattern, sizes: &[Sizes; 3]) -> Result<[u64; 3], ConfigError> {
        let least = sizes.each_ref().map(Sizes::least);
        let Some(given) = self.given("blockalign") else { return Ok(least) };
        if !pattern.random {
            self.check_not_idle(&["blockalign"], "in a sequential job")?;
            return Ok(least);
        }
        let unlike = || self.unlike("blockalign", "one multiple of 512 bytes, or up to three, as READ,WRITE,TRIM");
        let base = self.kilo_base()?;
        let given = values::by_kind(given).ok_or_else(unlike)?;
        let mut align = least;
        for (align, given) in align.iter_mut().zip(given) {
            match given.map(|given| values::number(given, base).filter(|bytes| bytes % SECTOR == 0)) {
                Some(None) => return Err(unlike()),
                Some(Some(bytes)) if bytes > 0 => *align = bytes,
                _ => {}
            }
        }
        Ok(align)
    }

    fn order(&self, pattern: Pattern, mix: Mix, sizes: &[Sizes; 3], align: [u64; 3], skew: &Skew) -> Result<Order, ConfigError> {
        let same_place = match self.given("rw_sequencer") {
            None | Some("sequential") => false,
            Some("identical") => true,
            Some(_) => return Err(self.unlike("rw_sequencer", "sequential or identical")),
        };
        if pattern.every == 1 && same_place {
            self.check_not_idle(&["rw_sequencer"], "without a number of requests behind the colon of `rw`, as in randread:8")?;
        }
        let generator = self.given("random_generator").unwrap_or("tausworthe");
        if !["tausworthe", "tausworthe64", "lfsr"].contains(&generator) {
            return Err(self.unlike("random_generator", "tausworthe, tausworthe64 or lfsr"));
        }
        let repeats = self.switch("norandommap")?;
        if !pattern.random {
            self.check_not_idle(&["norandommap", "percentage_random"], "in a sequential job")?;
            return Ok(Order::Sequential { step: pattern.step });
        }
        let unlike = || self.unlike("percentage_random", "0 to 100, or up to three of them, as READ,WRITE,TRIM");
        let base = self.kilo_base()?;
        let mut percent = [100; 3];
        if let Some(given) = self.given("percentage_random") {
            for (percent, given) in percent.iter_mut().zip(values::by_kind(given).ok_or_else(unlike)?) {
                if let Some(given) = given {
                    *percent = values::number(given, base).filter(|percent| *percent <= 100).ok_or_else(unlike)?;
                }
            }
        }
        let is_plain_place = *skew == Skew::None && align == sizes.each_ref().map(Sizes::least);
        if generator == "lfsr" {
            let one = match mix {
                Mix::Only(_) => sizes.iter().all(|size| *size == sizes[0]),
                Mix::Reads(_) => sizes[0] == sizes[1],
            };
            if !(one && matches!(sizes[0], Sizes::One(_)) && is_plain_place && percent == [100; 3] && pattern.every == 1) {
                return Err(self.bound(
                    "random_generator",
                    "is lfsr in a job of several sizes, or of other places than blocks that are all as likely",
                    "tausworthe64",
                ));
            }
            return Ok(Order::Random { once: true, percent, every: 1, same_place });
        }
        Ok(Order::Random { once: !repeats && is_plain_place, percent, every: pattern.every, same_place })
    }

    /// The part of the drive that the job goes through.
    fn part(&self) -> Result<Part, ConfigError> {
        let none = Length::Sectors(0);
        let (at, step) = (self.length("offset")?.unwrap_or(none), self.length("offset_increment")?.unwrap_or(none));
        let size = self.size_or_share()?;
        let cut = |bytes: u64| bytes.next_multiple_of(SECTOR) - bytes;
        let Some(end) = self.bytes_below_limit("filesize")?.filter(|bytes| *bytes > 0) else {
            let (range, cut) = match size {
                Some(Amount::Bytes(bytes)) => (Some(Length::Sectors(bytes.div_ceil(SECTOR))), cut(bytes)),
                Some(Amount::Percent(percent)) => (Some(Length::Percent(percent)), 0),
                None => (None, 0),
            };
            return Ok(Part { at, step, range, end: None, cut, pass: None });
        };
        let is_share = [
            ("offset", matches!(at, Length::Percent(_))),
            ("offset_increment", matches!(step, Length::Percent(_))),
            ("size", matches!(size, Some(Amount::Percent(_)))),
        ];
        if let Some((name, _)) = is_share.into_iter().find(|(_, is_share)| *is_share) {
            return Err(self.unlike(name, "bytes, beside `filesize`"));
        }
        Ok(Part { at, step, range: None, end: Some(end.div_ceil(SECTOR)), cut: cut(end), pass: size })
    }

    /// The range of a clone.
    fn range(&self, part: &Part, offset: Offset, passes: &Passes) -> Result<Option<Length>, ConfigError> {
        let at = offset.fixed();
        let (name, range) = match part.end {
            None => ("size", part.range),
            Some(end) => match at.and_then(|at| end.checked_sub(at)).filter(|range| *range > 0) {
                Some(range) => ("filesize", Some(Length::Sectors(range))),
                None => return Err(self.fault("filesize", "ends before the offset: the job has no I/O")),
            },
        };
        if let Some(Length::Sectors(range)) = range {
            let used = (0..3).filter(|kind| passes.has(*kind)).map(|kind| passes.sizes[kind].least()).max().unwrap_or(SECTOR);
            if range * SECTOR - part.cut < used {
                return Err(self.fault(name, format_args!("is smaller than a block of {used} bytes: the job has no I/O")));
            }
            if at.is_some_and(|at| at.saturating_add(range) > SECTORS_MAX) {
                return Err(self.fault(name, "and the offset reach beyond 2^63 bytes"));
            }
        }
        Ok(range)
    }

    /// How large the range is, if that is said.
    fn size_or_share(&self) -> Result<Option<Amount>, ConfigError> {
        let Some(given) = self.given("size") else { return Ok(None) };
        if let Some(percent) = values::percent(given) {
            return Ok(Some(Amount::Percent(percent)).filter(|_| percent > 0));
        }
        let bytes = values::number(given, self.kilo_base()?).filter(|bytes| bytes.div_ceil(SECTOR) <= SECTORS_MAX);
        let bytes = bytes.ok_or_else(|| self.unlike("size", "bytes, up to 2^63, or a share of the drive like 20%"))?;
        Ok(Some(Amount::Bytes(bytes)).filter(|_| bytes > 0))
    }

    /// A number of bytes up to 2^63.
    fn bytes_below_limit(&self, name: &str) -> Result<Option<u64>, ConfigError> {
        match self.count(name)? {
            Some(bytes) if bytes.div_ceil(SECTOR) > SECTORS_MAX => Err(self.unlike(name, "bytes, up to 2^63")),
            bytes => Ok(bytes),
        }
    }

    /// A length in bytes or in percent of the drive.
    fn length(&self, name: &str) -> Result<Option<Length>, ConfigError> {
        let Some(given) = self.given(name) else { return Ok(None) };
        if let Some(percent) = values::percent(given) {
            return Ok(Some(Length::Percent(percent)));
        }
        let sectors = values::number(given, self.kilo_base()?).filter(|bytes| bytes % SECTOR == 0).map(|bytes| bytes / SECTOR);
        match sectors {
            Some(sectors) if sectors <= SECTORS_MAX => Ok(Some(Length::Sectors(sectors))),
            _ => Err(self.unlike(name, "bytes, a multiple of 512 up to 2^63, or a share of the drive like 20%")),
        }
    }

    fn multiple_of_sectors(&self, name: &str) -> Result<Option<u64>, ConfigError> {
        match self.count(name)? {
            Some(bytes) if bytes % SECTOR != 0 => Err(self.unlike(name, "bytes, a multiple of 512")),
            bytes => Ok(bytes),
        }
    }

    /// What ends the job.
    fn end(&self) -> Result<End, ConfigError> {
        let requests = self.count("number_ios")?.filter(|requests| *requests > 0);
        let bytes = match self.given("io_size").map(values::percent) {
            None => None,
            Some(Some(percent)) => Some(Amount::Percent(percent)).filter(|_| (1..100).contains(&percent)),
            Some(None) => self.bytes("io_size")?.filter(|bytes| *bytes > 0).map(Amount::Bytes),
        };
        if matches!(bytes, Some(Amount::Percent(_))) && self.given("filesize").is_some() {
            return Err(self.unlike("io_size", "bytes, beside `filesize`"));
        }
        let runtime_ns = self.time("runtime", SECOND)?.filter(|runtime_ns| *runtime_ns > 0);
        let time_based = self.switch("time_based")?;
        if time_based && runtime_ns.is_none() {
            return Err(self.fault("time_based", "is given without `runtime`, so that the job has no end"));
        }
        for (name, given) in [("number_ios", requests.is_some()), ("io_size", bytes.is_some())] {
            if given && time_based {
                return Err(self.fault(name, "is given with `time_based`, by which only the time ends the job"));
            }
        }
        Ok(End { requests, bytes, runtime_ns, time_based })
    }

    fn times(&self, pattern: Pattern, mix: Mix, sizes: &[Sizes; 3], depth: u32) -> Result<Times, ConfigError> {
        let rest = self.rest()?;
        let exponential = match self.given("rate_process").unwrap_or("linear") {
            "linear" => false,
            "poisson" => true,
            _ => return Err(self.unlike("rate_process", "linear or poisson")),
        };
        let Some(bytes_per_s) = self.rates(pattern, mix, sizes)? else {
            self.check_not_idle(&["rate_process"], "without `rate_iops` or `rate`")?;
            // A pause after each request of one at a time is a thought.
            let thought = rest.filter(|rest| depth == 1 && rest.requests == Some(1) && rest.busy_ns.is_none());
            let arrivals = Arrivals::Closed { depth, think_ns: thought.map_or(0, |rest| rest.think_ns) };
            return Ok(Times { arrivals, rates: None, rest: rest.filter(|_| thought.is_none()) });
        };
        let rate_per_s = (0..3).filter(|kind| pattern.has(*kind)).map(|kind| bytes_per_s[kind] / sizes[kind].least() as f64).sum::<f64>();
        if rate_per_s > RATE_PER_S_MAX {
            let name = if self.given("rate").is_some() { "rate" } else { "rate_iops" };
            return Err(self.unlike(name, "at most 10^9 requests per second"));
        }
        let law = if exponential { Law::Exponential } else { Law::Fixed };
        let arrivals = Arrivals::Open { rate_per_s, law, outstanding_max: Some(depth) };
        Ok(Times { arrivals, rates: Some(Rates { bytes_per_s, exponential }), rest })
    }

    /// Bytes per second of each kind, if there are limits.
    fn rates(&self, pattern: Pattern, mix: Mix, sizes: &[Sizes; 3]) -> Result<Option<[f64; 3]>, ConfigError> {
        let base = self.kilo_base()?;
        let rates = |name: &str| -> Result<[u64; 3], ConfigError> {
            let Some(given) = self.given(name) else { return Ok([0; 3]) };
            let unlike = || self.unlike(name, "a whole number per second, or up to three, as READ,WRITE,TRIM; 0 for no limit");
            let mut rates = [0; 3];
            for (rate, given) in rates.iter_mut().zip(values::by_kind(given).ok_or_else(unlike)?) {
                if let Some(given) = given {
                    *rate = values::number(given, base).filter(|rate| *rate < 1 << 53).ok_or_else(unlike)?;
                }
            }
            Ok(rates)
        };
        let (bytes, requests) = (rates("rate")?, rates("rate_iops")?);
        let name = match (bytes == [0; 3], requests == [0; 3]) {
            (false, false) => return Err(self.bound("rate_iops", "and `rate` are both given", "one of them")),
            (false, true) => "rate",
            _ => "rate_iops",
        };
        let rates: [f64; 3] = std::array::from_fn(|kind| bytes[kind] as f64 + requests[kind] as f64 * sizes[kind].least() as f64);
        let needed = |kind: &usize| match mix {
            Mix::Only(only) => only == *kind,
            Mix::Reads(percent) => (*kind == 0 && percent > 0) || (*kind == 1 && percent < 100),
        };
        let limited = |kind: &usize| rates[*kind] > 0.0;
        debug_assert!((0..3).filter(needed).all(|kind| pattern.has(kind)));
        match ((0..3).filter(needed).all(|kind| limited(&kind)), (0..3).filter(needed).any(|kind| limited(&kind))) {
            (true, _) => Ok(Some(rates)),
            (false, false) => Ok(None),
            (false, true) => {
                let found = "limits one direction of a mix and leaves the other to come whenever it may, which is not supported";
                Err(self.bound(name, found, "both or none, as READ,WRITE, or a job for each"))
            }
        }
    }

    /// The pauses of the job.
    fn rest(&self) -> Result<Option<Rest>, ConfigError> {
        let think_ns = self.time("thinktime", US)?.unwrap_or(0);
        let requests = self.count("thinktime_blocks")?;
        let busy_ns = self.time("thinktime_iotime", SECOND)?.filter(|busy_ns| *busy_ns > 0);
        let counts_issued = match self.given("thinktime_blocks_type").unwrap_or("complete") {
            "complete" => false,
            "issue" => true,
            _ => return Err(self.unlike("thinktime_blocks_type", "complete or issue")),
        };
        self.time("thinktime_spin", US)?;
        if think_ns == 0 {
            let names = ["thinktime_blocks", "thinktime_blocks_type", "thinktime_iotime", "thinktime_spin"];
            self.check_not_idle(&names, "without `thinktime`")?;
            return Ok(None);
        }
        if requests == Some(0) {
            return Err(self.unlike("thinktime_blocks", "1 or more"));
        }
        let requests = if busy_ns.is_some() { requests } else { Some(requests.unwrap_or(1)) };
        Ok(Some(Rest { think_ns, requests, counts_issued, busy_ns }))
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
        let read =
            |given| values::number(given, base).ok_or_else(|| self.unlike(name, "a number of bytes, such as 10g, or a share like 20%"));
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
    pub(super) fn switch(&self, name: &str) -> Result<bool, ConfigError> {
        self.switch_or(name, false)
    }

    fn switch_or(&self, name: &str, default: bool) -> Result<bool, ConfigError> {
        let Some(value) = self.values.get(name) else { return Ok(default) };
        values::switch(value.value).ok_or_else(|| self.unlike(name, "1 or 0"))
    }
}

/// A thread of these requests: by the generators, where they make the same ones, and else in passes.
fn synthetic(passes: &Passes, arrivals: Arrivals, offset: Offset, range: Option<Length>) -> Synthetic {
    let kind = match passes.mix {
        Mix::Only(kind) => Some(kind),
        Mix::Reads(_) => None,
    };
    let size = passes.sizes[kind.unwrap_or(0)].least();
    let addresses = generated(passes, range, size);
    let volume = match passes.bytes {
        Some(bytes) => Volume::Sectors(bytes.div_ceil(SECTOR)),
        None => Volume::Ranges(1),
    };
    Synthetic {
        arrivals,
        blocks: Blocks::of(vec![((size / SECTOR) as u32, 1.0)]),
        write_blocks: None,
        read_share: match passes.mix {
            Mix::Only(kind) => f64::from(u8::from(kind == 0)),
            Mix::Reads(percent) => percent as f64 / 100.0,
        },
        trim_share: f64::from(u8::from(kind == Some(2))),
        kinds_apart: kind.is_none() && matches!(passes.order, Order::Sequential { .. }),
        offset,
        range,
        requests: passes.requests,
        volume: Some(volume).filter(|_| !passes.time_based),
        start_ns: 0,
        runtime_ns: None,
        pulses: None,
        critical: false,
        salt: 0,
        passes: addresses.is_none().then(|| Box::new(passes.clone())),
        rest: None,
        addresses: addresses.unwrap_or(Addresses::Uniform),
    }
}

/// How a generator finds places for requests that it makes as passes would; none if it does not.
fn generated(passes: &Passes, range: Option<Length>, size: u64) -> Option<Addresses> {
    let one_size = passes.sizes.iter().all(|sizes| *sizes == Sizes::One(size)) && passes.align == [size; 3];
    let one_rate = passes.rates.is_none() || matches!(passes.mix, Mix::Only(_));
    if !one_size || !one_rate || passes.loops > 1 || passes.pass.is_some() {
        return None;
    }
    let (addresses, once) = match (passes.order, &passes.skew) {
        (Order::Sequential { step: 0 }, _) => (Addresses::Sequential { streams: 1 }, false),
        (Order::Random { once, percent: [100, 100, 100], every: 1, .. }, Skew::None) => {
            (if once { Addresses::Shuffled } else { Addresses::Uniform }, once)
        }
        (Order::Random { percent: [100, 100, 100], every: 1, .. }, Skew::Zipf { theta }) => (Addresses::Zipf { theta: *theta }, false),
        _ => return None,
    };
    // Passes over a range end within it, and draw again what they drew; a generator knows neither.
    let is_sequential = matches!(addresses, Addresses::Sequential { .. });
    let is_whole = match (passes.bytes, range) {
        _ if passes.cut > 0 => false,
        (_, None | Some(Length::Percent(_))) if passes.time_based => true,
        (_, Some(Length::Sectors(sectors))) if passes.time_based => !is_sequential || (sectors * SECTOR).is_multiple_of(size),
        (Some(bytes), _) if once || bytes % size != 0 => false,
        (Some(_), None) => true,
        (None, None | Some(Length::Percent(100))) => once || is_sequential,
        (_, Some(Length::Percent(_))) => true,
        (_, Some(Length::Sectors(sectors))) => (sectors * SECTOR).is_multiple_of(size),
    };
    is_whole.then_some(addresses)
}
