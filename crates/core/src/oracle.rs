//! The oracle: every sector has a content token, and every completed read must return the token of the last write that was
//! accepted before it arrived, or of a later one.
//!
//! Only host writes set what is expected. What the flash and the buffer hold travels with the operations, so a wrong map, a
//! lost buffer page or a bad GC copy shows as a wrong token.

use crate::device::Device;
use crate::ids::{Lpn, Ppn};
use crate::stripes::Stripes;
use std::collections::HashMap;
use std::ops::Range;

/// What a page holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The same token in every sector.
    Uniform(u32),
    /// A token for each sector.
    Sectors(Box<[u32]>),
}

/// Marks an entry of a table of uniform tokens whose page is in the table of mixed ones.
const MIXED: u32 = u32::MAX;
/// Marks a sector that a read-modify-write takes from the old page.
const HOLE: u32 = u32::MAX - 1;

impl Content {
    fn sector(&self, index: usize) -> u32 {
        match self {
            Self::Uniform(token) => *token,
            Self::Sectors(tokens) => tokens[index],
        }
    }

    /// The sum of two pages, as parity has it.
    pub fn xor(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Uniform(one), Self::Uniform(other)) => Self::Uniform(one ^ other),
            (Self::Sectors(tokens), _) | (_, Self::Sectors(tokens)) => {
                let sums: Vec<u32> = (0..tokens.len()).map(|s| self.sector(s) ^ other.sector(s)).collect();
                Self::from_sectors(&sums)
            }
        }
    }

    fn from_sectors(tokens: &[u32]) -> Self {
        if tokens.iter().all(|token| *token == tokens[0]) { Self::Uniform(tokens[0]) } else { Self::Sectors(tokens.into()) }
    }
}

/// A table of page contents, most of them uniform.
#[derive(Debug)]
struct Pages {
    uniform: Vec<u32>,
    mixed: HashMap<u32, Box<[u32]>>,
}

impl Pages {
    fn new(pages: usize) -> Self {
        Self { uniform: crate::mem::huge_vec(pages, 0), mixed: HashMap::new() }
    }

    fn get(&self, page: u32) -> Content {
        match self.uniform[page as usize] {
            MIXED => Content::Sectors(self.mixed[&page].clone()),
            token => Content::Uniform(token),
        }
    }

    fn sector(&self, page: u32, index: usize) -> u32 {
        match self.uniform[page as usize] {
            MIXED => self.mixed[&page][index],
            token => token,
        }
    }

    fn set(&mut self, page: u32, content: Content) {
        let slot = &mut self.uniform[page as usize];
        if *slot == MIXED {
            self.mixed.remove(&page);
        }
        match content {
            Content::Uniform(token) => *slot = token,
            Content::Sectors(tokens) => {
                *slot = MIXED;
                self.mixed.insert(page, tokens);
            }
        }
    }
}

/// A fault that tests inject to see it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A logical page maps to the physical page of another.
    Map {
        /// The page whose entry breaks.
        lpn: Lpn,
        /// The page whose entry it copies.
        other: Lpn,
    },
    /// The next page that a GC copies arrives with other contents.
    GcCopy,
    /// The next page written to the buffer is forgotten.
    Buffer,
    /// The next recovery from a loss of power takes the first copy of each page that it finds, not the youngest.
    FirstCopy,
    /// In the next loss of power the write buffer is lost.
    Ram,
    /// In the next loss of power the journal of trims is lost.
    Trims,
}

/// What a page holds when it is read back after a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// What was written last.
    Right,
    /// Nothing, or what was never written there.
    Lost,
    /// What was written before.
    Stale,
}

/// In every sector of a page that was torn: nobody writes that.
const TORN: u32 = u32::MAX - 2;

/// Expected and actual contents of the whole drive.
#[derive(Debug)]
pub struct Oracle {
    sectors: usize,
    expected: Pages,
    flash: Pages,
    /// What the buffer's entries hold: tokens of dirty sectors, then of sectors in flight.
    dirty: Vec<u32>,
    flight: Vec<u32>,
    /// What each operation carries, by its index.
    carried: Vec<Content>,
    /// What direct programs under way will have written: first sector, sectors, token.
    promised: HashMap<u32, (usize, usize, u32)>,
    last_token: u32,
    /// The first token that there is none of any more. Sums of tokens below a power of two stay below it.
    token_end: u32,
    pub armed: Option<Fault>,
    /// Reads checked.
    pub checked: u64,
    /// The first mismatch.
    pub mismatch: Option<String>,
}

impl Oracle {
    pub fn new(device: &Device, stripes: Option<&Stripes>) -> Self {
        let sectors = device.geometry.sectors_per_unit() as usize;
        let entries = (u64::from(device.ram.buffer_kib) * 1024 / u64::from(device.geometry.unit_bytes())) as usize;
        Self {
            sectors,
            expected: Pages::new(device.logical_pages() as usize),
            flash: Pages::new(device.geometry.physical_pages() as usize),
            dirty: vec![0; entries * sectors],
            flight: vec![0; entries * sectors],
            carried: Vec::new(),
            promised: HashMap::new(),
            last_token: device.logical_pages() as u32,
            token_end: if stripes.is_some() { 1 << 31 } else { HOLE },
            armed: None,
            checked: 0,
            mismatch: None,
        }
    }

    /// Records a page that ageing wrote. Each page has one token for all its ageing, since nobody reads meanwhile.
    pub fn aged(&mut self, lpn: Lpn, ppn: Ppn) {
        self.expected.uniform[lpn as usize] = lpn + 1;
        self.flash.uniform[ppn as usize] = lpn + 1;
    }

    /// Records parity that ageing wrote over pages of these contents.
    pub fn aged_parity(&mut self, ppn: Ppn, members: impl Iterator<Item = Ppn>) {
        let sum = members.fold(Content::Uniform(0), |sum, member| sum.xor(&self.flash.get(member)));
        self.flash.set(ppn, sum);
    }

    /// A page with these tokens.
    fn page(&self, token: impl Fn(usize) -> u32) -> Content {
        let tokens: Vec<u32> = (0..self.sectors).map(token).collect();
        Content::from_sectors(&tokens)
    }

    /// Where the sectors of a buffer's entry are in the tables of the buffer.
    fn sectors_of(&self, entry: u32) -> Range<usize> {
        let base = entry as usize * self.sectors;
        base..base + self.sectors
    }

    /// What a sector of a buffer's entry holds: it is dirty, or else in flight.
    fn buffered_sector(&self, entry: u32, dirty: u64, s: usize) -> u32 {
        let tokens = if dirty >> s & 1 == 1 { &self.dirty } else { &self.flight };
        tokens[self.sectors_of(entry)][s]
    }

    /// What a physical page holds.
    pub fn on_flash(&self, ppn: Ppn) -> Content {
        self.flash.get(ppn)
    }

    #[cold]
    pub fn next_token(&mut self) -> u32 {
        if self.last_token + 1 == self.token_end {
            self.fail(format!("more host writes than the oracle has tokens, {}; run on without --verify", self.token_end));
        } else {
            self.last_token += 1;
        }
        self.last_token
    }

    /// The host wrote sectors of a page.
    #[cold]
    pub fn expect(&mut self, lpn: Lpn, first: usize, count: usize, token: u32) {
        if count == self.sectors {
            return self.expected.set(lpn, Content::Uniform(token));
        }
        let old = self.expected.get(lpn);
        let new = self.page(|s| if (first..first + count).contains(&s) { token } else { old.sector(s) });
        self.expected.set(lpn, new);
    }

    /// The host gave a page up: it reads as zeroes.
    pub fn trim(&mut self, lpn: Lpn) {
        self.expected.set(lpn, Content::Uniform(0));
    }

    /// The buffer took sectors of a page.
    #[cold]
    pub fn buffered(&mut self, entry: u32, first: usize, count: usize, token: u32) {
        if self.armed == Some(Fault::Buffer) {
            self.armed = None;
            return;
        }
        let sectors = self.sectors_of(entry);
        self.dirty[sectors][first..first + count].fill(token);
    }

    /// The buffer's entry goes to the flash: `mask` says which sectors.
    #[cold]
    pub fn flush(&mut self, entry: u32, mask: u64) -> Content {
        let dirty = &self.dirty[self.sectors_of(entry)];
        let content = self.page(|s| if mask >> s & 1 == 1 { dirty[s] } else { HOLE });
        self.complete_flight(entry, &content);
        content
    }

    /// The whole page of an entry in flight is in the buffer.
    pub fn complete_flight(&mut self, entry: u32, content: &Content) {
        let sectors = self.sectors_of(entry);
        self.flight[sectors].iter_mut().enumerate().for_each(|(s, token)| *token = content.sector(s));
    }

    /// A page that the host gave up is written to in part: the rest of it is zeroes in the buffer.
    #[cold]
    pub fn zeroed(&mut self, entry: u32) {
        let sectors = self.sectors_of(entry);
        self.dirty[sectors].fill(0);
    }

    /// Sets what an operation carries.
    #[cold]
    pub fn carry(&mut self, op: u32, content: Content) {
        if self.carried.len() <= op as usize {
            self.carried.resize(op as usize + 1, Content::Uniform(0));
        }
        self.carried[op as usize] = content;
    }

    /// A direct program will write sectors of a page: it carries them, with holes elsewhere.
    #[cold]
    pub fn promise(&mut self, op: u32, first: usize, count: usize) {
        let token = self.next_token();
        self.carry(op, self.page(|s| if (first..first + count).contains(&s) { token } else { HOLE }));
        self.promised.insert(op, (first, count, token));
    }

    /// A direct program is done: what it wrote is expected from now on.
    #[cold]
    pub fn fulfil(&mut self, op: u32, lpn: Lpn) {
        if let Some((first, count, token)) = self.promised.remove(&op) {
            self.expect(lpn, first, count, token);
        }
    }

    /// A direct program is done whose page was given up meanwhile.
    pub fn forget_promise(&mut self, op: u32) {
        self.promised.remove(&op);
    }

    /// A host read of a page that is neither mapped nor in the buffer returns zeroes.
    #[cold]
    pub fn check_unmapped(&mut self, lpn: Lpn, first: usize, count: usize, in_ram: u64) {
        self.checked += 1;
        if let Some(s) = (first..first + count).find(|&s| in_ram >> s & 1 == 0 && self.expected.sector(lpn, s) != 0) {
            self.fail(format!("logical page {lpn}, sector {s}: unmapped, but token {} was written", self.expected.sector(lpn, s)));
        }
    }

    /// What an operation carries.
    #[cold]
    pub fn carried(&self, op: u32) -> Content {
        self.carried[op as usize].clone()
    }

    /// Fills the holes of `content` from `base`, or with zeroes.
    pub fn fill(&self, content: &Content, base: Option<&Content>) -> Content {
        self.page(|s| match content.sector(s) {
            HOLE => base.map_or(0, |base| base.sector(s)),
            token => token,
        })
    }

    /// An operation found that its page was given up: it carries zeroes.
    #[cold]
    pub fn read_nothing(&mut self, op: u32) {
        self.carry(op, Content::Uniform(0));
    }

    /// A physical page is read into an operation.
    #[cold]
    pub fn read_flash(&mut self, op: u32, ppn: Ppn, for_gc: bool) {
        let mut content = self.flash.get(ppn);
        if for_gc && self.armed == Some(Fault::GcCopy) {
            self.armed = None;
            content = Content::Uniform(content.sector(0) ^ 1);
        }
        self.carry(op, content);
    }

    /// A page is moved in the tables alone.
    pub fn move_page(&mut self, from: Ppn, to: Ppn) {
        let content = self.flash.get(from);
        self.flash.set(to, content);
    }

    /// An operation is programmed into a physical page.
    #[cold]
    pub fn program(&mut self, op: u32, ppn: Ppn) {
        let content = self.fill(&self.carried[op as usize], None);
        self.flash.set(ppn, content);
    }

    /// Remembers, with a host read, what was expected when it arrived.
    #[cold]
    pub fn arm_read(&mut self, op: u32, lpn: Lpn) {
        let expected = self.expected.get(lpn);
        self.carry(op, expected);
    }

    /// A host read takes sectors from a physical page; sectors of `in_ram` come from the buffer instead.
    #[cold]
    pub fn check_flash(&mut self, op: u32, lpn: Lpn, ppn: Option<Ppn>, first: usize, count: usize, in_ram: u64) {
        self.checked += 1;
        for s in (first..first + count).filter(|s| in_ram >> s & 1 == 0) {
            let got = ppn.map_or(0, |ppn| self.flash.sector(ppn, s));
            let now = self.expected.sector(lpn, s);
            let then = self.carried[op as usize].sector(s);
            if got != now && (then == now || got < then || got > now) {
                let place = ppn.map_or("no physical page".into(), |ppn| format!("physical page {ppn}"));
                self.fail(format!(
                    "logical page {lpn}, sector {s}: read token {got} from {place}; token {then} was current when the read arrived and {now} is now"
                ));
                return;
            }
        }
    }

    /// A host read takes sectors of a page that was regenerated as `got`; sectors of `in_ram` come from the buffer instead.
    pub fn check_rebuilt(&mut self, lpn: Lpn, got: &Content, then: &Content, first: usize, count: usize, in_ram: u64) {
        self.checked += 1;
        for s in (first..first + count).filter(|s| in_ram >> s & 1 == 0) {
            let (got, now, then) = (got.sector(s), self.expected.sector(lpn, s), then.sector(s));
            // The page may have been written, and trimmed, while the rest of its stripe was read. Tokens grow from write to
            // write; a trim goes back to 0.
            let is_later = then != now && got > then && (got < now || now == 0);
            if got != now && got != then && !is_later {
                self.fail(format!(
                    "logical page {lpn}, sector {s}: token {got} was regenerated from its stripe; token {then} was current when the read \
                     arrived and {now} is now"
                ));
                return;
            }
        }
    }

    /// A host read takes sectors from the buffer.
    #[cold]
    pub fn check_buffer(&mut self, entry: u32, lpn: Lpn, dirty: u64, first: usize, count: usize) {
        self.checked += 1;
        for s in first..first + count {
            let (got, now) = (self.buffered_sector(entry, dirty, s), self.expected.sector(lpn, s));
            if got != now {
                self.fail(format!("logical page {lpn}, sector {s}: read token {got} from the buffer, {now} was written last"));
                return;
            }
        }
    }

    /// The power failed while a page was programmed or erased: it holds what nobody wrote.
    pub fn tear(&mut self, ppn: Ppn) {
        self.flash.set(ppn, Content::Uniform(TORN));
    }

    /// The power failed: what operations carried is gone.
    pub fn forget_operations(&mut self) {
        self.carried.clear();
        self.promised.clear();
    }

    /// Sectors of an entry of the buffer that were on their way to the flash are still in RAM; `flight`: those that nothing newer
    /// has taken the place of.
    pub fn return_flight(&mut self, entry: u32, flight: u64) {
        for (_, at) in self.sectors_of(entry).enumerate().filter(|(s, _)| flight >> s & 1 == 1) {
            self.dirty[at] = self.flight[at];
        }
    }

    /// Reads a page back after a loss of power: of sectors in RAM from the buffer's entry, `entry` with its dirty sectors and all that it
    /// has, of the others from a physical page, or zeroes without one.
    pub fn read_back(&mut self, lpn: Lpn, ppn: Option<Ppn>, entry: Option<(u32, u64, u64)>) -> ReadBack {
        self.checked += 1;
        for s in 0..self.sectors {
            let got = match entry {
                Some((entry, dirty, present)) if (dirty | present) >> s & 1 == 1 => self.buffered_sector(entry, dirty, s),
                _ => ppn.map_or(0, |ppn| self.flash.sector(ppn, s)),
            };
            let expected = self.expected.sector(lpn, s);
            if got != expected {
                // Tokens grow from write to write, and a page that was given up has 0.
                let is_stale = got != 0 && got < self.token_end && (got < expected || expected == 0);
                let what = if is_stale { "an older one" } else { "lost" };
                self.fail(format!(
                    "logical page {lpn}, sector {s}: token {got} was read back after a loss of power, {expected} was written last: {what}"
                ));
                return if is_stale { ReadBack::Stale } else { ReadBack::Lost };
            }
        }
        ReadBack::Right
    }

    pub fn fail(&mut self, what: String) {
        self.mismatch.get_or_insert(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_device;

    /// Token 5 was current when the read arrived, and 8 is now, or 5 still.
    #[test]
    fn a_page_that_is_read_has_what_was_written_when_the_read_arrived_or_later() {
        for (now, right) in [(8, 5..9), (5, 5..6)] {
            for got in 0..10 {
                let mut oracle = Oracle::new(&tiny_device(), None);
                oracle.expected.set(3, Content::Uniform(5));
                oracle.arm_read(0, 3);
                oracle.expected.set(3, Content::Uniform(now));
                oracle.flash.set(7, Content::Uniform(got));
                oracle.check_flash(0, 3, Some(7), 0, 8, 0);
                assert_eq!(oracle.mismatch.is_none(), right.contains(&got), "{got} for {now}");
            }
        }
    }

    /// Token 5 was current when the read arrived, and 8 is now, or nothing since a trim.
    #[test]
    fn a_regenerated_page_has_what_was_written_when_the_read_arrived_or_later() {
        for (now, right) in [(8, vec![5, 6, 7, 8]), (0, vec![0, 5, 6, 7, 8, 9]), (5, vec![5])] {
            for got in 0..10 {
                for in_ram in [0, 0b0100, 0b1011] {
                    let mut oracle = Oracle::new(&tiny_device(), None);
                    oracle.expected.set(3, Content::Uniform(now));
                    // Sector 2 alone is not what it should be, and matters unless it comes from the buffer.
                    let rebuilt =
                        Content::from_sectors(&[5, 5, got, 5, 5, 5, 5, 5].map(|token| if now == 5 || token == got { token } else { now }));
                    oracle.check_rebuilt(3, &rebuilt, &Content::Uniform(5), 2, 1, in_ram);
                    assert_eq!(oracle.mismatch.is_none(), in_ram == 0b0100 || right.contains(&got), "{got} for {now}, {in_ram:b} in RAM");
                }
            }
        }
    }
}
