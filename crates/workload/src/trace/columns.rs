//! Any delimited text, by a [mapping](crate::trace::mapping) of its columns.

use std::borrow::Cow;
use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use tinytail_config::did_you_mean;
use tinytail_core::units::Ns;

use crate::error::Column;
use crate::text;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::iso8601;
use crate::trace::mapping::{Columns, NLB, Place, ROLES, Role};
use crate::trace::rwbs::{self, Rwbs};
use crate::trace::units::{AddressUnit, Code, TimeUnit};
use crate::trace::{Format, Op, Order, Parsed, Parser, Reader, Record, Settings, Time};

/// The name of the format that a mapping of columns is read by.
pub(crate) const NAME: &str = "columns";

/// The row of this format, which no content claims.
pub const FORMAT: Format = Format {
    name: NAME,
    summary: "delimited text, by a mapping of its columns",
    time_column: Column { number: 1, name: "time" },
    device_column: Some(Column { number: 1, name: "device" }),
    time: Time::Given,
    address_unit: None,
    op_codes: true,
    layout: None,
    events: &[],
    latency: |settings| {
        let columns = settings.columns.as_ref()?;
        columns.latency_unit.map(|_| "as the one who recorded them measured them, in the column that was said to have them")
    },
    order: Order::Time,
    reader: Reader::Lines { sniff: |_| false, parser: |settings| Box::new(Delimited::new(settings)) },
};

/// What is between the fields of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delimiter {
    Letter(char),
    WhiteSpace,
}

impl Delimiter {
    const LETTERS: [char; 4] = [',', ';', '\t', '|'];

    /// The letter that makes the most fields of a line, and at least so many, or white space if it makes so many. Numbers may
    /// have commas, and names may have any letter.
    pub(super) fn of(line: &str, fields: usize) -> Option<Self> {
        let count = |delimiter: &Self| delimiter.split(line).count();
        let letters = Self::LETTERS.map(Self::Letter).into_iter().filter(|letter| count(letter) >= fields);
        letters.min_by_key(|letter| Reverse(count(letter))).or(Some(Self::WhiteSpace).filter(|white| count(white) >= fields))
    }

    /// The fields, without the white space and the quotation marks around them.
    pub(super) fn split(self, line: &str) -> impl Iterator<Item = &str> {
        let (letter, white) = match self {
            Self::Letter(letter) => (Some(line.split(letter)), None),
            Self::WhiteSpace => (None, Some(line.split_ascii_whitespace())),
        };
        letter.into_iter().flatten().chain(white.into_iter().flatten()).map(|field| field.trim().trim_matches('"').trim())
    }
}

/// Whether a line looks like the names of columns: at least three words, of which none begins like a number. The first may be
/// missing, as that of numbered lines often is.
pub(super) fn looks_like_header(line: &str) -> bool {
    let line = line.trim_start_matches('#');
    let is_name = |field: &str| field.trim_start_matches(['(', '[']).starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
    Delimiter::of(line, 3).is_some_and(|delimiter| {
        let mut fields = delimiter.split(line);
        fields.next().is_some_and(|first| first.is_empty() || is_name(first)) && fields.all(is_name)
    })
}

/// The names of the columns in a header line; a unit that stands apart in brackets belongs to the name before.
pub(super) fn header_names(line: &str) -> Vec<String> {
    let line = line.trim_start_matches('#').trim_start();
    let delimiter = Delimiter::of(line, 3).unwrap_or(Delimiter::WhiteSpace);
    let mut names: Vec<String> = Vec::new();
    for field in delimiter.split(line) {
        match names.last_mut() {
            Some(before) if delimiter == Delimiter::WhiteSpace && field.starts_with(['(', '[']) => *before += &format!(" {field}"),
            _ => names.push(field.to_owned()),
        }
    }
    names
}

/// What a word says that a request does: a usual word for it, or Linux's letters.
pub(super) fn op(word: &str) -> Option<Rwbs> {
    const WORDS: [(Op, &[&str]); 4] = [
        (Op::Read, &["r", "read", "rd"]),
        (Op::Write, &["w", "write", "wr"]),
        (Op::Trim, &["d", "t", "trim", "discard", "unmap"]),
        (Op::Flush, &["f", "flush", "sync", "fsync"]),
    ];
    let is_one = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
    let by_word = WORDS.into_iter().find_map(|(op, words)| is_one(words).then_some(Rwbs { op: Some(op), flushes_before: false }));
    by_word.or_else(|| rwbs::read(word)).or_else(|| rwbs::read(&word.to_ascii_uppercase()).filter(|_| word.len() > 1 && is_lower(word)))
}

/// Some write the letters small.
fn is_lower(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The place of each role, counted from 0.
type Places = [Option<usize>; ROLES];

/// Reads lines by a mapping whose units are known.
pub(super) struct Delimited {
    columns: Option<Columns>,
    time_unit: TimeUnit,
    /// Known from the first line on that is no comment: what is between the fields, and where each role is.
    found: Option<(Delimiter, Places)>,
    /// What a comment before it says, as a header line: where each role is, or which name is not there.
    commented: Option<Result<Places, Fault>>,
    devices: FxHashMap<String, u32>,
    device_names: Vec<String>,
    /// Requests whose address in bytes is that of no sector.
    within_sectors: u64,
    /// Requests whose size is counted in sectors, and those whose size would be whole pages if it were counted otherwise.
    sizes: u64,
    off_by_one: u64,
    /// Times and latencies with a comma, and those of them whose comma could as well group thousands.
    commas: u64,
    like_thousands: u64,
    /// Whether a column has not been found by its name.
    is_lost: bool,
}

impl Delimited {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            columns: settings.columns.as_deref().cloned(),
            time_unit: settings.time_unit.unwrap_or(TimeUnit::Nanoseconds),
            found: None,
            commented: None,
            devices: FxHashMap::default(),
            device_names: Vec::new(),
            within_sectors: 0,
            sizes: 0,
            off_by_one: 0,
            commas: 0,
            like_thousands: 0,
            is_lost: false,
        }
    }

    /// Finds out, from the first line that is no comment, what is between fields and where each column is; whether it is a
    /// header line.
    fn begin(&mut self, line: &str) -> Result<bool, Fault> {
        let commented = self.commented.take();
        let places = self.columns.iter().flat_map(|columns| columns.places.iter().flatten());
        let known = commented.iter().flatten().flatten().flatten().map(|index| index + 1);
        let numbered = places.map(|place| if let Place::Number(number) = place { *number } else { 2 });
        let wanted = known.chain(numbered).max().unwrap_or(2);
        // A line that is too short has its fault when it is read.
        let delimiter = Delimiter::of(line, wanted).or_else(|| Delimiter::of(line, 2)).unwrap_or(Delimiter::WhiteSpace);
        let names: Vec<&str> = delimiter.split(line).collect();
        let looks_like_header = names.len() > 1 && looks_like_header(line);
        let (at, by_name) = match commented {
            Some(Ok(at)) => (at, false),
            Some(Err(fault)) if !looks_like_header => return Err(fault),
            _ => (self.places(&names)?, self.is_by_name()),
        };
        let is_number = |role: Role| {
            let field = at[role as usize].and_then(|index| names.get(index).copied());
            field.is_some_and(|field| field.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-' || letter == '.'))
        };
        self.found = Some((delimiter, at));
        Ok(by_name || looks_like_header && ![Role::Time, Role::Lba, Role::Len].into_iter().any(is_number))
    }

    fn is_by_name(&self) -> bool {
        self.columns.iter().flat_map(|columns| columns.places.iter()).any(|place| matches!(place, Some(Place::Name(_))))
    }

    /// Where each role is in a line with these names.
    fn places<N: AsRef<str>>(&self, names: &[N]) -> Result<Places, Fault> {
        let mut at = [None; ROLES];
        for (role, place) in Role::ALL.into_iter().zip(self.columns.iter().flat_map(|columns| columns.places.iter())) {
            at[role as usize] = match place {
                None => None,
                Some(Place::Number(number)) => Some(number - 1),
                Some(Place::Name(wanted)) => {
                    let found = names.iter().position(|name| name.as_ref().eq_ignore_ascii_case(wanted));
                    Some(found.ok_or_else(|| no_such_column(role, wanted, names))?)
                }
            };
        }
        Ok(at)
    }

    /// Some write the names of the columns as a comment. It says nothing of what is between the fields of other lines.
    fn comment(&mut self, line: &str) -> &'static str {
        if self.found.is_some() || !self.is_by_name() || !looks_like_header(line) {
            return "comment lines";
        }
        let said = self.places(&header_names(line));
        let is_header = said.is_ok();
        // The last one is the nearest, and one that has all names is it.
        if is_header || !matches!(self.commented, Some(Ok(_))) {
            self.commented = Some(said);
        }
        if is_header { "header lines" } else { "comment lines" }
    }

    fn column(&self, role: Role) -> Column {
        let at = self.found.and_then(|(_, at)| at[role as usize]);
        Column { number: at.map_or(1, |index| index + 1), name: role.name() }
    }

    fn device(&mut self, name: &str) -> u32 {
        if let Some(number) = self.devices.get(name) {
            return *number;
        }
        let number = self.device_names.len() as u32;
        self.devices.insert(name.to_owned(), number);
        self.device_names.push(name.to_owned());
        number
    }

    /// What a word means: by the codes that were given, or as everybody understands it.
    fn code(&self, word: &str) -> Result<Meaning, Fault> {
        let codes = self.columns.as_ref().and_then(|columns| columns.codes.as_ref());
        let usual = || op(word).map(|found| found.op.map_or(Meaning::Nothing, |op| Meaning::Op(op, found.flushes_before)));
        let found = match codes {
            Some(codes) => match codes.code(word) {
                Some(Code::Op(op)) => Some(Meaning::Op(op, false)),
                Some(Code::Ignored(place)) => Some(Meaning::Ignored(place)),
                None if codes.has_reads_and_writes() => None,
                None => usual(),
            },
            None => usual(),
        };
        found.ok_or_else(|| {
            let expected = match codes {
                Some(codes) if codes.has_reads_and_writes() => {
                    format!("an operation code, {codes}; `--ops` may have several for one, as read=1,2, and ignore=3,4 leaves others out")
                }
                _ => "a word for read, write, trim or flush, such as R or W; other codes are given, as in --ops write=0,read=1,2,ignore=3"
                    .into(),
            };
            Fault::new(self.column(Role::Op), word, expected)
        })
    }

    /// The fields that have roles.
    #[inline]
    fn words<'a>(&self, line: &'a str, delimiter: Delimiter, at: Places) -> Result<Words<'a>, Fault> {
        let mut words = [""; ROLES];
        let mut count = 0;
        for field in delimiter.split(line) {
            for (word, index) in words.iter_mut().zip(at) {
                if index == Some(count) {
                    *word = field;
                }
            }
            count += 1;
        }
        match Role::ALL.into_iter().find(|role| at[*role as usize].is_some_and(|index| index >= count)) {
            None => Ok(words),
            Some(role) => {
                let expected = format!("at least {} columns", at.into_iter().flatten().max().map_or(1, |index| index + 1));
                Err(Fault { column: self.column(role), found: fields::END_OF_LINE.into(), expected })
            }
        }
    }

    #[inline]
    fn time_ns(&self, line: &str, words: &Words<'_>) -> Result<i128, Fault> {
        let Some((delimiter, at)) = self.found.filter(|(_, at)| at[Role::Time as usize].is_some()) else { return Ok(0) };
        let field = self.time_field(delimiter, at, line, words[Role::Time as usize]);
        fields::time_ns(&field, self.time_unit, self.column(Role::Time))
    }

    /// Whether the column of flushes makes a flush of a request without data.
    #[inline]
    fn is_flush(&self, words: &Words<'_>) -> Result<bool, Fault> {
        Ok(flag(words[Role::Flush as usize], self.column(Role::Flush))? && is_without_data(words))
    }

    /// The address and the size of a request with data.
    #[inline]
    fn amounts<'a>(&self, words: &Words<'a>) -> Result<(Amount<'a>, Amount<'a>), Fault> {
        let (lba_unit, len_unit) = self.columns.as_ref().map_or((None, None), |columns| (columns.lba_unit, columns.len_unit));
        let lba = amount(words[Role::Lba as usize], lba_unit, self.column(Role::Lba))?;
        let mut len = amount(words[Role::Len as usize], len_unit, self.column(Role::Len))?;
        len.value = len.value.saturating_add(u64::from(self.is_nlb()));
        Ok((lba, len))
    }

    #[inline]
    fn is_nlb(&self) -> bool {
        self.columns.as_ref().is_some_and(|columns| columns.nlb)
    }

    /// Says of a size of 0 what it may be.
    #[cold]
    fn may_be_nlb(&self, fault: Fault, len: Amount<'_>) -> Fault {
        let is_it = len.value == 0 && !matches!(len.unit, AddressUnit::Bytes | AddressUnit::Kib);
        let expected =
            if is_it { fault.expected + "; sizes that count from 0, as in NVMe, are nlb in place of len" } else { fault.expected };
        Fault { expected, ..fault }
    }

    #[inline]
    fn latency_ns(&self, words: &Words<'_>) -> Result<Option<Ns>, Fault> {
        let latency = words[Role::Latency as usize];
        let unit = self.columns.as_ref().and_then(|columns| columns.latency_unit).filter(|_| !latency.is_empty());
        unit.map(|unit| fields::latency_ns(latency, unit, self.column(Role::Latency))).transpose()
    }

    /// The field with the time. A date may stand in a column of its own before it.
    fn time_field<'a>(&self, delimiter: Delimiter, at: Places, line: &'a str, field: &'a str) -> Cow<'a, str> {
        if self.time_unit != TimeUnit::Iso8601 || !iso8601::is_date(field) {
            return field.into();
        }
        let index = at[Role::Time as usize].unwrap_or(0);
        delimiter.split(line).nth(index + 1).map_or(field.into(), |time| format!("{field}T{time}").into())
    }
}

/// The fields that have roles, by role.
type Words<'a> = [&'a str; ROLES];

fn is_without_data(words: &Words<'_>) -> bool {
    matches!(words[Role::Len as usize], "" | "0")
}

/// What a word in the column of operations means.
enum Meaning {
    /// An operation, and whether a flush goes before it.
    Op(Op, bool),
    /// That the request is left out.
    Ignored(usize),
    /// Nothing that a drive has a command for.
    Nothing,
}

fn no_such_column<N: AsRef<str>>(role: Role, wanted: &str, names: &[N]) -> Fault {
    const NAMES_MAX: usize = 12;
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let more = if names.len() > NAMES_MAX { ", ..." } else { "" };
    let hint = did_you_mean(wanted, names.iter().copied());
    Fault {
        column: Column { number: 1, name: role.name() },
        found: format!("the header {}{more}", names[..names.len().min(NAMES_MAX)].join(", ")),
        expected: format!("a column that is called {}{hint}", text::quoted(wanted)),
    }
}

/// Whether a column that is true or false says true.
pub(super) fn flag(field: &str, column: Column) -> Result<bool, Fault> {
    let is_one = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(field));
    if is_one(&["", "0", "false", "no", "n", "f"]) {
        return Ok(false);
    }
    if is_one(&["1", "true", "yes", "y", "t"]) { Ok(true) } else { Err(Fault::new(column, field, "true or false, or 1 or 0")) }
}

fn amount(field: &str, unit: Option<AddressUnit>, column: Column) -> Result<Amount<'_>, Fault> {
    // Where nobody looks at it, any unit does.
    let unit = unit.unwrap_or(AddressUnit::Sectors);
    if field.starts_with("0x") || field.starts_with("0X") {
        Amount::hexadecimal(field, unit, column)
    } else {
        Amount::new(field, unit, column)
    }
}

impl Parser for Delimited {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        if line.starts_with('#') {
            return Ok(Parsed::Other(self.comment(line)));
        }
        if self.found.is_none() {
            let begun = self.begin(line);
            self.is_lost = begun.is_err();
            if begun? {
                return Ok(Parsed::Other("header lines"));
            }
        }
        let Some((delimiter, at)) = self.found else { return Ok(Parsed::Other("header lines")) };
        let words = self.words(line, delimiter, at)?;
        let (op, flushes_before) = match self.code(words[Role::Op as usize])? {
            Meaning::Op(op, flushes_before) => (op, flushes_before),
            Meaning::Ignored(place) => return Ok(Parsed::Ignored(place)),
            Meaning::Nothing => return Ok(Parsed::Other("requests other than reads and writes")),
        };
        let time_ns = self.time_ns(line, &words)?;
        // A write with a flush before it is a write.
        let flushes = self.is_flush(&words)? || flushes_before && is_without_data(&words);
        let op = if flushes { Op::Flush } else { op };
        // A flush has neither address nor size.
        let (sector, sectors) = if op == Op::Flush {
            (0, 0)
        } else {
            let (lba, len) = self.amounts(&words)?;
            self.within_sectors += u64::from(lba.unit == AddressUnit::Bytes && !lba.value.is_multiple_of(512));
            if len.unit == AddressUnit::Sectors {
                self.sizes += 1;
                self.off_by_one += u64::from(len.value % 8 == if self.is_nlb() { 1 } else { 7 });
            }
            fields::extent(lba, len).map_err(|fault| self.may_be_nlb(fault, len))?
        };
        let latency_ns = self.latency_ns(&words)?;
        for number in [words[Role::Time as usize], words[Role::Latency as usize]] {
            if let Some((whole, rest)) = number.split_once(',') {
                self.commas += 1;
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                self.like_thousands += u64::from(digits == 3 && whole.len() <= 3 && !whole.starts_with('0'));
            }
        }
        let device = if at[Role::Device as usize].is_some() { self.device(words[Role::Device as usize]) } else { 0 };
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns }))
    }

    fn faults(&self, line: &str, first: Fault) -> Vec<Fault> {
        let Some(words) = self.found.and_then(|(delimiter, at)| self.words(line, delimiter, at).ok()) else { return vec![first] };
        let op = self.code(words[Role::Op as usize]);
        // What is no known operation and has no data may be a flush.
        let may_flush = match op {
            Ok(Meaning::Op(op, flushes_before)) => op == Op::Flush || flushes_before && is_without_data(&words),
            Ok(Meaning::Ignored(_) | Meaning::Nothing) => return vec![first],
            Err(_) => is_without_data(&words),
        };
        let flush = self.is_flush(&words);
        let extent = if may_flush || flush == Ok(true) {
            None
        } else {
            self.amounts(&words).and_then(|(lba, len)| fields::extent(lba, len).map_err(|fault| self.may_be_nlb(fault, len))).err()
        };
        [op.err(), self.time_ns(line, &words).err(), flush.err(), extent, self.latency_ns(&words).err()].into_iter().flatten().collect()
    }

    fn device_name(&self, device: u32) -> String {
        self.device_names.get(device as usize).cloned().unwrap_or_else(|| device.to_string())
    }

    fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn time_column(&self) -> Option<Column> {
        Some(self.column(Role::Time))
    }

    fn notes(&self) -> Vec<String> {
        let within_sectors = (self.within_sectors > 0).then(|| {
            format!(
                "{} of the addresses are no multiple of 512 bytes, as if they were sectors; requests begin with the whole sector, and \
                 --columns with lba:sectors reads them so",
                text::grouped(self.within_sectors)
            )
        });
        // By chance it is one of eight.
        let off_by_one = (self.sizes > 0 && self.off_by_one * 10 >= self.sizes * 9).then(|| {
            let (off, from, word) = if self.is_nlb() { ("more", "1", "len") } else { ("less", "0, as in NVMe", NLB) };
            format!(
                "{} of its {} sizes are one {off} than a multiple of 8 sectors, as if they were counted from {from}; {word}:sectors in \
                 --columns reads them so",
                text::grouped(self.off_by_one),
                text::grouped(self.sizes)
            )
        });
        // Of decimal fractions some are below 1, or have other numbers of digits.
        let thousands = (self.commas > 0 && self.like_thousands == self.commas).then(|| {
            format!(
                "{} of its times and latencies have a comma and three digits behind it, as 1,234 has, and are read as decimal fractions; if the \
                 comma groups thousands, sed -E 's/([0-9]),([0-9]{{3}})/\\1\\2/g' takes it out",
                text::grouped(self.commas)
            )
        });
        within_sectors.into_iter().chain(off_by_one).chain(thousands).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;
    use crate::trace::units::OpCodes;

    fn parser(columns: &str, time_unit: TimeUnit, ops: Option<&str>) -> Delimited {
        let mut columns: Columns = columns.parse().unwrap();
        columns.codes = ops.map(|ops| ops.parse().unwrap());
        Delimited::new(&Settings {
            time_unit: Some(time_unit),
            address_unit: AddressUnit::Sectors,
            ops: OpCodes::default(),
            event: None,
            columns: Some(Box::new(columns)),
        })
    }

    fn record(time_ns: i128, device: u32, op: Op, sector: u64, sectors: u32) -> Parsed {
        Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns: None })
    }

    #[test]
    fn columns_are_found_by_their_places_whatever_is_between_them() {
        for line in
            ["5,R,4096,1024", "5;R;4096;1024", "5\tR\t4096\t1024", "5|R|4096|1024", "5  R 4096   1024", " \"5\" , \"R\",4096,1024,rest"]
        {
            let mut parser = parser("time,op,lba:bytes,len:bytes", TimeUnit::Microseconds, None);
            assert_eq!(parser.parse(line), Ok(record(5_000, 0, Op::Read, 8, 2)), "{line}");
        }
        let mut parser = parser("_,lba:sectors,len:bytes,-,op,device,time", TimeUnit::Seconds, Some("write=2,read=1,flush=0"));
        assert_eq!(parser.parse("x,0x10,513,y,2,sda,0.5"), Ok(record(500_000_000, 0, Op::Write, 16, 2)));
        assert_eq!(parser.parse("x,8,512,y,1,sdb,1"), Ok(record(1_000_000_000, 1, Op::Read, 8, 1)));
        assert_eq!(parser.parse("x,,,y,0,sda,1"), Ok(record(1_000_000_000, 0, Op::Flush, 0, 0)));
        assert_eq!((parser.device_name(0), parser.device_name(1)), ("sda".into(), "sdb".into()));
        assert_eq!(parser.time_column().unwrap().number, 7);
        // NVMe's number of blocks begins with 0 for one.
        let mut nvme = self::parser("time,op,lba:sectors,nlb:sectors", TimeUnit::Nanoseconds, Some("flush=0,write=1,read=2"));
        assert_eq!(nvme.parse("5,2,8,0"), Ok(record(5, 0, Op::Read, 8, 1)));
        assert_eq!(nvme.parse("5,1,8,7"), Ok(record(5, 0, Op::Write, 8, 8)));
    }

    #[test]
    fn a_flush_in_a_column_of_its_own_has_no_data() {
        let mut parser = parser("time,op,lba:sectors,len:kib,flush", TimeUnit::Nanoseconds, None);
        assert_eq!(parser.parse("1,W,0,0,true"), Ok(record(1, 0, Op::Flush, 0, 0)));
        assert_eq!(parser.parse("1,W,,,1"), Ok(record(1, 0, Op::Flush, 0, 0)));
        // A write with a flush before it is a write, and one without data is a fault.
        assert_eq!(parser.parse("1,W,2,1,True"), Ok(record(1, 0, Op::Write, 2, 2)));
        assert_eq!(parser.parse("1,W,2,1,"), Ok(record(1, 0, Op::Write, 2, 2)));
        assert_faults(
            |line| parser.parse(line),
            &[("1,W,0,0,false", 4, "`0`", "1 or more kib"), ("1,W,0,0,maybe", 5, "`maybe`", "true or false, or 1 or 0")],
        );
    }

    #[test]
    fn latencies_may_have_a_column() {
        let mut parser = parser("time,latency:us,op,lba:sectors,len:sectors", TimeUnit::Nanoseconds, None);
        let Parsed::Request(known) = record(1, 0, Op::Read, 8, 8) else { panic!() };
        assert_eq!(parser.parse("1,1.5,R,8,8"), Ok(Parsed::Request(Record { latency_ns: Some(1_500), ..known })));
        assert_eq!(parser.parse("1,,R,8,8"), Ok(Parsed::Request(known)));
        assert_faults(|line| parser.parse(line), &[("1,-1,R,8,8", 2, "`-1`", "a time in us")]);
    }

    #[test]
    fn commas_that_may_group_thousands_are_doubted() {
        for (times, doubted) in [
            (&["434", "1,234", "21,500"][..], Some("2 of its times")),
            (&["0,157", "1,234"], None),
            (&["1,234", "1,25"], None),
            (&["1", "2.345"], None),
        ] {
            let mut parser = parser("time,op,lba:sectors,len:sectors", TimeUnit::Microseconds, None);
            for time in times {
                parser.parse(&format!("{time};R;8;8")).unwrap();
            }
            let notes = parser.notes();
            assert_eq!(notes.len(), usize::from(doubted.is_some()), "{notes:?}");
            assert!(doubted.is_none_or(|doubted| notes[0].starts_with(doubted) && notes[0].contains(r"/\1\2/g'")), "{notes:?}");
        }
    }

    #[test]
    fn columns_are_found_by_their_names_in_the_header() {
        let mut by_name = parser("len=Size:bytes,lba=Offset:bytes,time=1:us,op=Type", TimeUnit::Microseconds, None);
        assert_eq!(by_name.parse("#stamp, type, OFFSET, size"), Ok(Parsed::Other("header lines")));
        assert_eq!(by_name.parse("5,write,4096,512"), Ok(record(5_000, 0, Op::Write, 8, 1)));
        let mut missing = parser("time=t:us,op=type,lba=offsett:bytes,len=size:bytes", TimeUnit::Microseconds, None);
        let fault = missing.parse("t,type,offset,size").unwrap_err();
        assert_eq!(fault.found, "the header t, type, offset, size");
        assert!(fault.expected.contains("`offsett` (did you mean `offset`?)"), "{}", fault.expected);
    }

    #[test]
    fn headers_and_comments_are_no_requests() {
        let mut parser = parser("time,op,lba:sectors,len:sectors", TimeUnit::Microseconds, None);
        assert_eq!(parser.parse("timestamp,op,lba,len"), Ok(Parsed::Other("header lines")));
        assert_eq!(parser.parse("# half of it"), Ok(Parsed::Other("comment lines")));
        assert_eq!(parser.parse("1,R,8,8"), Ok(record(1_000, 0, Op::Read, 8, 8)));
        assert_eq!(parser.parse("timestamp,op,lba,len").unwrap_err().column.number, 2);
        for (line, expected) in [
            ("Timestamp,Type,Offset", true),
            ("a b c", true),
            ("# time op lba", true),
            ("a b", false),
            ("1,2,3", false),
            ("8,R,x", false),
            (",time,op,lba", true),
            ("time (us) op lba [sectors]", true),
            ("(1) 2 3 4", false),
            ("/dev/sda add x", false),
        ] {
            assert_eq!(looks_like_header(line), expected, "{line}");
        }
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        let mut parser = parser("time,_,op,lba:bytes,len:bytes", TimeUnit::Microseconds, None);
        assert_faults(
            |line| parser.parse(line),
            &[
                ("x,y,R,0,512", 1, "`x`", "a time in us"),
                ("1,y,1,0,512", 3, "`1`", "--ops write=0,read=1"),
                ("1,y,R,-1,512", 4, "`-1`", "0 or more"),
                ("1,y,R,0,0", 5, "`0`", "1 or more bytes"),
                ("1,y,R,0", 5, "the end of the line", "at least 5 columns"),
            ],
        );
    }
}
