//! Requests in passes over a range, drawn as fio draws those of a job.
//!
//! It covers what the generators do not: sizes that are cut so that no block comes twice, requests of which some are
//! sequential, skewed places, limits of both directions of a mix. docs/reference/fio.md says what each option means; the
//! differential test `tests/fio_differential.rs` holds it against fio itself.

use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::{Ns, SECOND, SECTOR_BYTES};

use super::Start;
use super::block_map::BlockMap;
use super::generator::check_time;
use super::skew::{Drawn, Skew, ZoneSize};
use crate::error::WorkloadError;
use crate::random::Random;
use crate::source::{Arrival, Source};

/// The kinds of requests, in the order of fio's values of several kinds.
const KINDS: [CommandKind; 3] = [CommandKind::Read, CommandKind::Write, CommandKind::Trim];

/// The most blocks of which it is kept which have been drawn.
const MAP_MAX: u64 = 1 << 31;

/// What a job asks for, checked. Lengths are in bytes, multiples of 512 unless said otherwise; arrays are of reads, writes, trims.
#[derive(Clone, Debug)]
pub(crate) struct Passes {
    pub(crate) mix: Mix,
    pub(crate) sizes: [Sizes; 3],
    /// What the places of random requests are multiples of.
    pub(crate) align: [u64; 3],
    pub(crate) order: Order,
    pub(crate) skew: Skew,
    /// Bytes by which the range ends before the end of its last sector.
    pub(crate) cut: u64,
    /// How much of its range a pass has at most; all without it.
    pub(crate) pass: Option<Amount>,
    /// Goes on through its range until it has done so many bytes, whatever they are multiples of.
    pub(crate) bytes: Option<u64>,
    pub(crate) requests: Option<u64>,
    /// How many passes there are at least. Requests and bytes count for each.
    pub(crate) loops: u64,
    /// Whether only time ends it.
    pub(crate) time_based: bool,
    /// Whether a pass ends when it has done its part, as with fio's asynchronous engines, and not only where no place is left.
    pub(crate) ends_passes: bool,
    /// Whether each pass draws what the one before drew.
    pub(crate) repeats: bool,
    /// Where requests have times of their own: those of each kind that there is.
    pub(crate) rates: Option<Rates>,
}

/// How much is read, written and trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Bytes(u64),
    /// Of the range.
    Percent(u64),
}

/// Which kinds of requests there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    Only(usize),
    /// So many percent of reads, and writes.
    Reads(u64),
}

/// How large requests are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    One(u64),
    /// Sizes with their shares in percent, the smallest share first. What the shares leave is the last one's.
    Split {
        sizes: Vec<(u64, u64)>,
        rounded: bool,
    },
    /// From the first to the second in steps of the first.
    Between(u64, u64),
}

/// How a request follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// At its end, or so many bytes from there.
    Sequential { step: i64 },
    Random {
        /// Whether no block comes twice in a pass.
        once: bool,
        /// How many percent of the requests of each kind are random; the others are sequential.
        percent: [u64; 3],
        /// Of so many requests the first is random.
        every: u64,
        /// Whether the others of them go to the same place, and not to the place behind it.
        same_place: bool,
    },
}

/// When requests of each kind arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) bytes_per_s: [f64; 3],
    pub(crate) exponential: bool,
}

impl Sizes {
    pub(crate) fn least(&self) -> u64 {
        match self {
            Self::One(size) | Self::Between(size, _) => *size,
            Self::Split { sizes, .. } => sizes.iter().map(|(size, _)| *size).min().unwrap_or(0),
        }
    }

    pub(crate) fn most(&self) -> u64 {
        match self {
            Self::One(size) | Self::Between(_, size) => *size,
            Self::Split { sizes, .. } => sizes.iter().map(|(size, _)| *size).max().unwrap_or(0),
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::One(size) => format!("{size} bytes"),
            Self::Between(least, most) => format!("{least} to {most} bytes"),
            Self::Split { sizes, .. } => {
                sizes.iter().map(|(size, share)| format!("{size} bytes ({share} %)")).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// A size that fits into `room` bytes, if the smallest does; one size alone is always that.
    fn draw(&self, room: u64, random: &mut Random) -> Option<u64> {
        let (least, most) = (self.least(), self.most());
        if least == most {
            return Some(least);
        }
        if room < least {
            return None;
        }
        loop {
            let size = match self {
                Self::One(size) => *size,
                Self::Between(least, most) => {
                    let size = least + random.below(*most).0;
                    size / least * least
                }
                Self::Split { sizes, rounded } => {
                    let drawn = random.below(100).0;
                    let mut shares = 0;
                    let fitting = sizes.iter().find(|(size, share)| {
                        shares += share;
                        *share > 0 && drawn < shares && *size <= room
                    });
                    let last = sizes.iter().rev().find(|(_, share)| *share > 0);
                    let size = fitting.or(last)?.0;
                    if *rounded { size / least * least } else { size }
                }
            }
            .min(most);
            if size <= room {
                return Some(size);
            }
        }
    }
}

impl Passes {
    /// Sizes and places, in words.
    pub(crate) fn detail(&self) -> String {
        let [reads, writes, _] = &self.sizes;
        let sizes = match self.mix {
            Mix::Only(kind) => self.sizes[kind].detail(),
            Mix::Reads(_) if reads == writes => reads.detail(),
            Mix::Reads(_) => format!("reads of {}, writes of {}", reads.detail(), writes.detail()),
        };
        let (reads, trims) = match self.mix {
            Mix::Only(0) => (100, ""),
            Mix::Only(1) => (0, ""),
            Mix::Only(_) => (0, ", 100 % trims"),
            Mix::Reads(percent) => (percent, ""),
        };
        let order = match self.order {
            Order::Sequential { step: 0 } => "sequential".into(),
            Order::Sequential { step } => format!("sequential with steps of {step} bytes between"),
            Order::Random { once, percent, every, same_place } => {
                let mut order = if once { "every block once in random order".into() } else { self.skew.detail() };
                if percent != [100; 3] {
                    let percent = match self.mix {
                        Mix::Only(kind) => format!("{}", percent[kind]),
                        Mix::Reads(_) => format!("{} and {}", percent[0], percent[1]),
                    };
                    order += &format!(", {percent} % of the requests, the others sequential");
                }
                if every > 1 {
                    let others = if same_place { "at the same place" } else { "sequential" };
                    order += &format!(", the first of {every} requests, the others {others}");
                }
                order
            }
        };
        format!("{sizes}, {reads} % reads{trims}, {order}")
    }

    /// The smallest size of any kind.
    pub(super) fn least(&self) -> u64 {
        self.sizes.iter().map(Sizes::least).min().unwrap_or(0)
    }

    /// How much of a range a pass has.
    fn pass_bytes(&self, range: u64) -> u64 {
        match self.pass {
            Some(Amount::Bytes(bytes)) => range.min(bytes),
            Some(Amount::Percent(percent)) => (u128::from(range) * u128::from(percent) / 100) as u64,
            None => range,
        }
    }

    /// What ends a pass: one that writes blocks again and again does all that is asked for in one.
    fn pass_end(&self, pass: u64) -> u64 {
        match (self.order, self.mix, self.bytes) {
            (Order::Random { once: false, .. }, Mix::Only(1) | Mix::Reads(_), Some(bytes)) => pass.max(bytes),
            _ => pass,
        }
    }

    /// How many requests it has in a range of so many bytes, if that is known without drawing them. The drive has room for a last
    /// request that begins in the range and ends behind it.
    pub(crate) fn request_count(&self, range: Option<u64>) -> Option<u64> {
        if self.time_based {
            return None;
        }
        let limit = self.requests.map(|requests| requests.saturating_mul(self.loops));
        let one = match (self.mix, &self.sizes) {
            (Mix::Only(kind), sizes) => &sizes[kind],
            (Mix::Reads(_), [reads, writes, _]) if reads == writes => reads,
            _ => return limit,
        };
        let (Sizes::One(size), Some(range)) = (one, range) else { return limit };
        let (draws_again, plain) = match self.order {
            Order::Sequential { step } => (false, step == 0),
            Order::Random { once, .. } => (!once, !self.order.mixes() && matches!(self.skew, Skew::None)),
        };
        // Reads and writes in order have places of their own: which of them has none left first is drawn.
        let streams = matches!((self.order, self.mix), (Order::Sequential { .. }, Mix::Reads(1..=99)));
        if !plain || self.align[0] != *size || (streams && !range.is_multiple_of(*size)) {
            return limit;
        }
        let pass = self.pass_bytes(range);
        let places = match self.order {
            Order::Sequential { .. } => range.div_ceil(*size),
            Order::Random { .. } if draws_again => u64::MAX,
            Order::Random { .. } => range / size,
        };
        let all = self.bytes.unwrap_or(pass).saturating_mul(self.loops).div_ceil(*size).min(limit.unwrap_or(u64::MAX));
        let each = if self.ends_passes { self.pass_end(pass).div_ceil(*size).min(places) } else { places };
        let largest = self.sizes.iter().map(Sizes::most).max().unwrap_or(0);
        // The least number of passes, and then as many as it takes until what is left is worth no request.
        let least = each.saturating_mul(self.loops).min(all);
        let Some(bytes) = self.bytes.filter(|bytes| least < all && bytes.saturating_sub(least * size) >= largest) else {
            return Some(least);
        };
        let worth = (bytes - least * size - largest) / size + 1;
        Some((least + worth.div_ceil(each) * each).min(all))
    }

    /// Multiplies rates, and how much there is.
    pub(crate) fn multiply(&mut self, multiplier: u32) {
        let multiplier = u64::from(multiplier);
        if let Some(rates) = &mut self.rates {
            rates.bytes_per_s.iter_mut().for_each(|rate| *rate *= multiplier as f64);
        }
        self.requests = self.requests.map(|requests| requests.saturating_mul(multiplier));
        match &mut self.bytes {
            Some(bytes) => *bytes = bytes.saturating_mul(multiplier),
            None => self.loops = self.loops.saturating_mul(multiplier),
        }
    }

    /// Starts the requests, in a range that begins at `offset` and has `range` bytes. No request reaches beyond the byte `limit` of
    /// the drive.
    pub(super) fn source(&self, start: &Start<'_>, offset: u64, range: u64, limit: u64) -> Result<Box<dyn Source>, WorkloadError> {
        let refuse = |message: String| Err(WorkloadError::DoesNotFit { name: start.name.into(), message });
        let pass = self.pass_bytes(range);
        if pass < self.least() {
            return refuse(format!("its blocks of {} bytes do not fit into the {pass} bytes of a pass", self.least()));
        }
        let mut random = Random::new(start.seed);
        // The same for all passes, where passes repeat.
        let seed = random.bits();
        let (map, drawn) = match self.order {
            Order::Random { once: true, .. } => {
                let blocks = range / self.least();
                if blocks > MAP_MAX {
                    return refuse(format!("it draws each of {blocks} blocks once, and {MAP_MAX} can be kept in mind; give norandommap=1"));
                }
                (Some(BlockMap::new(blocks)), Drawn::None)
            }
            Order::Random { once: false, .. } => {
                // Skewed blocks are those of the smaller of reads and writes.
                let block = self.sizes[0].least().min(self.sizes[1].least());
                (None, Drawn::new(&self.skew, range.div_ceil(block), &mut random))
            }
            Order::Sequential { .. } => (None, Drawn::None),
        };
        if let Drawn::Zones(zones) = &drawn {
            for (kind, zones) in zones.iter().enumerate().filter(|(kind, _)| self.has(*kind)) {
                let bytes = |zone: &super::skew::Zone| match zone.size {
                    ZoneSize::Bytes(bytes) => bytes,
                    ZoneSize::Percent(_) => 0,
                };
                let end: u64 = zones.iter().map(bytes).sum();
                if end / self.align[kind] > self.blocks(kind, range) {
                    return refuse(format!("its zones go up to {end} bytes, and its range has {range}"));
                }
            }
        }
        Ok(Box::new(PassesSource {
            name: start.name.into(),
            passes: self.clone(),
            limited: start.requests.is_none(),
            left: start.requests.unwrap_or(u64::MAX),
            queue: start.queue,
            offset,
            range,
            limit,
            pass,
            draws: Draws::new(seed),
            seed,
            times: Random::new(random.bits()),
            drawn_random: random,
            drawn,
            map,
            places: Places { end: [offset; 3], start: [None; 3] },
            in_pass: false,
            file_done: false,
            loops_left: self.loops,
            pass_bytes: 0,
            pass_requests: 0,
            bytes: 0,
            issued: [0; 3],
            mix_kind: 0,
            mix_until: 0,
            until_random: 1,
            due: [0.0; 3],
            rate_bytes: [0; 3],
        }))
    }

    /// Whether there are requests of a kind.
    pub(crate) fn has(&self, kind: usize) -> bool {
        match self.mix {
            Mix::Only(only) => only == kind,
            Mix::Reads(percent) => (kind == 0 && percent > 0) || (kind == 1 && percent < 100),
        }
    }

    /// How many blocks random requests of a kind may begin at.
    fn blocks(&self, kind: usize, range: u64) -> u64 {
        let (least, align) = (self.sizes[kind].least(), self.align[kind]);
        range.saturating_sub(least.saturating_sub(align)) / align
    }
}

impl Order {
    /// Whether some requests are random and others sequential.
    fn mixes(self) -> bool {
        matches!(self, Self::Random { percent, every, .. } if percent != [100; 3] || every > 1)
    }
}

/// Random numbers for each purpose, so that each can be drawn again.
struct Draws {
    places: Random,
    sizes: [Random; 3],
    mix: Random,
    zones: Random,
    is_random: [Random; 3],
}

impl Draws {
    fn new(seed: u64) -> Self {
        let mut seeds = Random::new(seed);
        let mut next = || Random::new(seeds.bits());
        Self { places: next(), sizes: [next(), next(), next()], mix: next(), zones: next(), is_random: [next(), next(), next()] }
    }
}

/// Where the last request of each kind began and ended.
struct Places {
    end: [u64; 3],
    start: [Option<u64>; 3],
}

/// Requests of passes, in progress.
struct PassesSource {
    name: String,
    passes: Passes,
    /// Whether its own ends hold, and not a number of requests that was asked for.
    limited: bool,
    left: u64,
    queue: u32,
    offset: u64,
    range: u64,
    /// Where the drive ends, or the part of it that the job takes for the drive. In fio, the end of the file.
    limit: u64,
    /// How much a pass has.
    pass: u64,
    seed: u64,
    draws: Draws,
    /// Skewed places go on from pass to pass.
    drawn_random: Random,
    times: Random,
    drawn: Drawn,
    map: Option<BlockMap>,
    places: Places,
    in_pass: bool,
    /// Whether the pass ended since there was no place for a request.
    file_done: bool,
    loops_left: u64,
    pass_bytes: u64,
    pass_requests: u64,
    bytes: u64,
    issued: [u64; 3],
    mix_kind: usize,
    mix_until: u64,
    /// How many requests there are until a random one.
    until_random: u64,
    /// When the next request of each kind may be issued, in ns.
    due: [f64; 3],
    rate_bytes: [u64; 3],
}

impl PassesSource {
    /// The next request, if there is one.
    fn next(&mut self) -> Option<(Ns, Command)> {
        loop {
            if !self.in_pass {
                if !self.begins_pass() {
                    return None;
                }
                self.begin_pass();
            }
            if !self.is_done()
                && let Some(request) = self.draw()
            {
                return Some(request);
            }
            self.in_pass = false;
            if self.pass_requests == 0 {
                return None;
            }
        }
    }

    /// Whether another pass begins.
    fn begins_pass(&mut self) -> bool {
        if self.passes.time_based || !self.limited {
            return true;
        }
        if self.loops_left > 0 {
            self.loops_left -= 1;
            return true;
        }
        // What is left must be worth a request, and there must be a place for it.
        let rest = self.passes.bytes.unwrap_or(self.pass).saturating_sub(self.bytes);
        let largest = self.passes.sizes.iter().map(Sizes::most).max().unwrap_or(0);
        !self.has_all_requests() && rest > 0 && rest >= largest && (!self.file_done || self.passes.bytes.is_some())
    }

    fn begin_pass(&mut self) {
        (self.in_pass, self.file_done, self.pass_bytes, self.pass_requests, self.mix_until) = (true, false, 0, 0, 0);
        self.reset_places();
        if self.passes.repeats {
            self.draws = Draws::new(self.seed);
        }
    }

    fn reset_places(&mut self) {
        self.places = Places { end: [self.offset; 3], start: [None; 3] };
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }

    fn has_all_requests(&self) -> bool {
        self.passes.requests.is_some_and(|requests| self.issued.iter().sum::<u64>() >= requests.saturating_mul(self.passes.loops))
    }

    /// Whether the pass has done its part, or the job all.
    fn is_done(&self) -> bool {
        if self.passes.time_based {
            return false;
        }
        let has_all = || {
            let limit = self.passes.bytes.unwrap_or(self.pass).saturating_mul(self.passes.loops);
            self.bytes >= limit || self.has_all_requests()
        };
        (self.passes.ends_passes && self.pass_bytes >= self.passes.pass_end(self.pass)) || (self.limited && has_all())
    }

    /// Draws a request, unless there is no place for one in this pass.
    fn draw(&mut self) -> Option<(Ns, Command)> {
        let kind = self.kind();
        let (at, is_sequential) = match self.place(kind) {
            Some(place) => place,
            None => {
                self.file_done = true;
                return None;
            }
        };
        // Of several sizes, one is drawn that ends within the range. A request of one size may reach beyond.
        let room = self.offset + self.range - at;
        let size = self.passes.sizes[kind].draw(room, &mut self.draws.sizes[kind]);
        let Some(mut size) = size.filter(|size| at + size <= self.limit) else {
            self.file_done = true;
            return None;
        };
        if let (Some(map), false) = (&mut self.map, is_sequential) {
            let block = self.passes.sizes[kind].least();
            size = size.min(map.draw((at - self.offset) / block, size.div_ceil(block)) * block);
        }
        (self.places.start[kind], self.places.end[kind]) = (Some(at), at + size);
        self.issued[kind] += 1;
        self.pass_requests += 1;
        self.pass_bytes += size;
        self.bytes += size;
        let time = self.time(kind, size);
        let sector = u64::from(SECTOR_BYTES);
        Some((time, Command { kind: KINDS[kind], sector: at / sector, sectors: (size / sector) as u32, critical: false }))
    }

    /// Whether the next request reads or writes: drawn, and as many of the new kind in a row as make up for the other's.
    fn kind(&mut self) -> usize {
        let read_percent = match self.passes.mix {
            Mix::Only(kind) => return kind,
            Mix::Reads(100) => return 0,
            Mix::Reads(0) => return 1,
            Mix::Reads(percent) => percent,
        };
        if let Some(Rates { .. }) = self.passes.rates
            && self.due[0] != self.due[1]
        {
            return usize::from(self.due[1] < self.due[0]);
        }
        if self.issued[self.mix_kind] >= self.mix_until {
            let drawn = usize::from(self.draws.mix.below(100).0 >= read_percent);
            if drawn != self.mix_kind {
                let percent = if drawn == 0 { read_percent } else { 100 - read_percent };
                self.mix_until = self.issued[self.mix_kind] * percent / 100;
            }
            self.mix_kind = drawn;
        }
        self.mix_kind
    }

    /// When a request of a kind is issued.
    fn time(&mut self, kind: usize, size: u64) -> Ns {
        let Some(rates) = self.passes.rates else { return 0 };
        let at = self.due[kind];
        self.rate_bytes[kind] += size;
        let rate = rates.bytes_per_s[kind];
        self.due[kind] = if rates.exponential {
            at + self.times.exponential() * SECOND as f64 * self.passes.sizes[kind].least() as f64 / rate
        } else {
            self.rate_bytes[kind] as f64 * SECOND as f64 / rate
        };
        (at + 0.5) as Ns
    }

    /// The place of a request in the drive, in bytes, and whether it follows the one before.
    fn place(&mut self, kind: usize) -> Option<(u64, bool)> {
        let (from_offset, is_sequential) = match self.passes.order {
            Order::Sequential { step } => (self.sequential(kind, step)?, true),
            Order::Random { percent, every, same_place, .. } => {
                self.until_random -= 1;
                if self.until_random == 0 {
                    self.until_random = every;
                    if percent[kind] == 100 || self.draws.is_random[kind].below(100).0 < percent[kind] {
                        (self.random(kind)?, false)
                    } else {
                        let place = self.sequential(kind, 0);
                        (place.or_else(|| self.random(kind))?, true)
                    }
                } else if same_place {
                    (self.places.start[kind].map_or(0, |start| start - self.offset), true)
                } else {
                    let place = self.sequential(kind, 0);
                    (place.or_else(|| self.random(kind))?, true)
                }
            }
        };
        (from_offset < self.range).then_some((self.offset + from_offset, is_sequential))
    }

    /// The place behind the last one, from the beginning of the range. It may lie beyond the range.
    fn sequential(&mut self, kind: usize, step: i64) -> Option<u64> {
        let end = &mut self.places.end[kind];
        if *end >= self.offset + self.range && self.passes.time_based {
            *end = self.offset;
        }
        if *end >= self.limit {
            return None;
        }
        if *end == self.offset && self.offset > 0 && step < 0 {
            // As fio does, counted from the beginning of the drive.
            *end = self.range;
        }
        let mut place = end.wrapping_sub(self.offset);
        if place > 0 && step != 0 {
            place = place.wrapping_add_signed(step);
            if place >= self.limit {
                place = if step > 0 { self.offset } else { self.range.wrapping_add_signed(step) };
            }
        }
        Some(place)
    }

    /// A random place, from the beginning of the range.
    fn random(&mut self, kind: usize) -> Option<u64> {
        if let Some(place) = self.random_once(kind) {
            return Some(place);
        }
        if !self.passes.time_based {
            return None;
        }
        self.reset_places();
        self.random_once(kind)
    }

    fn random_once(&mut self, kind: usize) -> Option<u64> {
        let blocks = self.passes.blocks(kind, self.range);
        if blocks == 0 {
            return None;
        }
        let align = self.passes.align[kind];
        let (first, count) = match self.drawn {
            Drawn::None | Drawn::Zones(_) => {
                let (first, count) = self.drawn.next(kind, blocks, align, &mut self.drawn_random, &mut self.draws.zones)?;
                (first + self.draws.places.below(count).0, 1)
            }
            _ => self.drawn.next(kind, blocks, align, &mut self.drawn_random, &mut self.draws.zones)?,
        };
        debug_assert_eq!(count, 1);
        let block = match &self.map {
            Some(map) if map.is_drawn(first) => map.next_free(first + 1)?,
            _ => first,
        };
        Some(block * align)
    }
}

impl Source for PassesSource {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let limit = limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let mut count = 0;
        while count < limit
            && let Some((at, command)) = self.next()
        {
            out.push(Arrival { at, command, queue: self.queue, latency_ns: None });
            count += 1;
        }
        self.left -= count as u64;
        check_time(&self.name, out, count)
    }
}
