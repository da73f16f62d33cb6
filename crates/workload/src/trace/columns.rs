//! Any delimited text, by a mapping of its columns: `time:us,op,lba:sectors,len:bytes`.
//!
//! The mapping names the columns in their order, or says for each role which column it is, by its number or by its name in
//! the header line: `time=3:us,op=Type,lba=Offset:bytes,len=Size:bytes`. A unit that is said nowhere is asked for, never
//! guessed; only the proposal that an error makes has one, and says that it is an assumption.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use tinytail_config::did_you_mean;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tinytail_core::units::Ns;

use crate::error::Column;
use crate::text;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::iso8601;
use crate::trace::rwbs::{self, Rwbs};
use crate::trace::units::{AddressUnit, BLOCKS, Code, OpCodes, TimeUnit};
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

/// A mapping as it is written in messages.
pub(crate) const EXAMPLE: &str = "time:us,op,lba:sectors,len:bytes";

/// What a column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Time,
    Op,
    Lba,
    Len,
    Device,
    /// Whether a request without data is a flush.
    Flush,
    /// How long it took when it was recorded.
    Latency,
}

const ROLES: usize = 7;

impl Role {
    pub(super) const ALL: [Self; ROLES] = [Self::Time, Self::Op, Self::Lba, Self::Len, Self::Device, Self::Flush, Self::Latency];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Op => "op",
            Self::Lba => "lba",
            Self::Len => "len",
            Self::Device => "device",
            Self::Flush => "flush",
            Self::Latency => "latency",
        }
    }

    /// What the column may be called in a mapping.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["time", "timestamp", "ts", "arrival", "clock", "date"],
            Self::Op => &["op", "type", "operation", "opcode", "rw", "rwbs", "iotype", "action", "cmd", "command"],
            Self::Lba => &["lba", "offset", "address", "addr", "sector", "block", "lbn", "start", "position"],
            Self::Len => &["len", "length", "size", "bytes", "sectors", "blocks", "count", "nblocks", NLB],
            Self::Device => &["device", "dev", "disk", "disknumber", "lun", "volume", "asu"],
            Self::Flush => &["flush"],
            Self::Latency => &["latency"],
        }
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.words().contains(&word))
    }
}

/// The size as NVMe has it, from 0 for one block.
pub(super) const NLB: &str = "nlb";

/// Where a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Counted from 1.
    Number(usize),
    /// By its name in the header line.
    Name(String),
}

/// Which columns of a delimited text mean what, and in which units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Columns {
    written: String,
    /// By role; time, device, flush and latency may be missing.
    places: Box<[Option<Place>; ROLES]>,
    /// Unit of the times, if the mapping says one.
    pub(crate) time_unit: Option<TimeUnit>,
    /// Unit of the addresses, if known.
    pub(crate) lba_unit: Option<AddressUnit>,
    /// Unit of the sizes, if known.
    pub(crate) len_unit: Option<AddressUnit>,
    /// Unit of the latencies, which the mapping says if it has them.
    pub(super) latency_unit: Option<TimeUnit>,
    /// Whether sizes are one unit less than what they stand for.
    nlb: bool,
    /// The words of operations; those that everybody understands without it.
    pub(crate) codes: Option<OpCodes>,
}

impl Columns {
    /// Where a role stands under these titles, counted from 0.
    pub(super) fn place_under(&self, role: Role, titles: &[String]) -> Option<usize> {
        match self.places[role as usize].as_ref()? {
            Place::Number(number) => Some(number - 1),
            Place::Name(wanted) => titles.iter().position(|title| title.eq_ignore_ascii_case(wanted)),
        }
    }

    /// Where a role stands in a mapping by numbers, counted from 0.
    pub(super) fn place(&self, role: Role) -> Option<usize> {
        match self.places[role as usize] {
            Some(Place::Number(number)) => Some(number - 1),
            _ => None,
        }
    }

    /// The role of a column of a mapping by numbers, counted from 0.
    pub(super) fn role_at(&self, index: usize) -> Option<Role> {
        Role::ALL.into_iter().find(|role| self.place(*role) == Some(index))
    }

    /// Whether there are times.
    pub(crate) fn has_times(&self) -> bool {
        self.places[Role::Time as usize].is_some()
    }

    /// The same mapping with these units, where it has them.
    pub(crate) fn with_units(&self, time: Option<TimeUnit>, address: Option<AddressUnit>) -> String {
        let unit_of = |role: Role| match role {
            Role::Time => self.time_unit.or(time).map(|unit| unit.to_string()),
            Role::Lba => self.lba_unit.or(address).map(|unit| unit.to_string()),
            Role::Len => self.len_unit.or(address).map(|unit| unit.to_string()),
            Role::Latency => self.latency_unit.map(|unit| unit.to_string()),
            Role::Op | Role::Device | Role::Flush => None,
        };
        let part = |part: &str| {
            let (bare, _) = without_unit(part.trim());
            let role = Role::of(bare.split_once('=').map_or(bare, |(role, _)| role));
            role.and_then(unit_of).map_or_else(|| part.trim().to_owned(), |unit| format!("{bare}:{unit}"))
        };
        self.written.split(',').map(part).collect::<Vec<_>>().join(",")
    }
}

/// A part of a mapping, and the unit behind it, which may have a colon of its own: `lba:blocks:4096`.
fn without_unit(part: &str) -> (&str, Option<&str>) {
    let Some((bare, unit)) = part.rsplit_once(':') else { return (part, None) };
    match bare.rsplit_once(':') {
        Some((shorter, BLOCKS)) => (shorter.trim(), Some(part[shorter.len() + 1..].trim())),
        _ => (bare.trim(), Some(unit.trim())),
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let fault = |what: String| Err(format!("`columns` is {}: {what}; expected for example `{EXAMPLE}`", text::quoted(written)));
        let mut columns = Self {
            written: written.into(),
            places: Default::default(),
            time_unit: None,
            lba_unit: None,
            len_unit: None,
            latency_unit: None,
            nlb: false,
            codes: None,
        };
        let by_name = written.contains('=');
        for (number, part) in (1..).zip(written.split(',').map(str::trim)) {
            if matches!(part, "" | "-" | "_") && !by_name {
                continue;
            }
            let (bare, unit) = without_unit(part);
            let (word, place) = match bare.split_once('=') {
                Some((_, "")) => return fault(format!("{} names no column", text::quoted(part))),
                Some((word, place)) => (word.trim(), place.trim().parse().map_or_else(|_| Place::Name(place.trim().into()), Place::Number)),
                None if by_name => return fault(format!("{} does not say which column it is, as others do by `=`", text::quoted(part))),
                None => (bare, Place::Number(number)),
            };
            let Some(role) = Role::of(word) else {
                let names = Role::ALL.map(Role::name);
                let hint = did_you_mean(word, names);
                return fault(format!("{} is none of {} and `_` for a column that is skipped{hint}", text::quoted(word), names.join(", ")));
            };
            if place == Place::Number(0) {
                return fault("columns are counted from 1".into());
            }
            if columns.places[role as usize].replace(place).is_some() {
                return fault(format!("{} is given twice", role.name()));
            }
            columns.nlb |= word == NLB;
            let Some(unit) = unit else { continue };
            let known = match role {
                Role::Time => unit.parse().map(|unit| columns.time_unit = Some(unit)),
                Role::Lba => unit.parse().map(|unit| columns.lba_unit = Some(unit)),
                Role::Len => unit.parse().map(|unit| columns.len_unit = Some(unit)),
                Role::Latency if TimeUnit::WRITTEN_OUT.iter().any(|written_out| unit == written_out.name()) => {
                    Err("a latency is a number of a unit, such as us".into())
                }
                Role::Latency => unit.parse().map(|unit| columns.latency_unit = Some(unit)),
                Role::Op | Role::Device | Role::Flush => Err(format!("{} has no unit", role.name())),
            };
            if let Err(what) = known {
                return fault(what);
            }
        }
        if columns.places[Role::Latency as usize].is_some() && columns.latency_unit.is_none() {
            return fault("latency has no unit, as in `latency:us`".into());
        }
        for role in [Role::Op, Role::Lba, Role::Len] {
            if columns.places[role as usize].is_none() {
                return fault(format!("{} is missing", role.name()));
            }
        }
        Ok(columns)
    }
}

impl TryFrom<String> for Columns {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        written.parse()
    }
}

impl From<Columns> for String {
    fn from(columns: Columns) -> Self {
        columns.written
    }
}

impl schemars::JsonSchema for Columns {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Columns".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "What the columns of a delimited text mean, for example `time:us,op,lba:sectors,len:bytes`."
        })
    }
}

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

    #[test]
    fn faulty_mappings_say_what_is_wrong() {
        for (columns, expected) in [
            ("time,op,lba", "len is missing"),
            ("time,op,lba,len,op", "op is given twice"),
            (
                "time,opp,lba,len",
                "`opp` is none of time, op, lba, len, device, flush, latency and `_` for a column that is skipped (did you mean `op`?)",
            ),
            ("time:bytes,op,lba,len", "`bytes` is not a time unit"),
            ("time,op,lba:us,len", "`us` is not an address unit"),
            ("time,op:us,lba,len", "op has no unit"),
            ("time,op,lba,len,latency", "latency has no unit, as in `latency:us`"),
            ("time=0,op=2,lba=3,len=4", "columns are counted from 1"),
            ("time=,op=2,lba=3,len=4", "`time=` names no column"),
            ("time,op=2,lba=3,len=4", "`time` does not say which column it is"),
            ("", "op is missing"),
        ] {
            let message = columns.parse::<Columns>().unwrap_err();
            assert!(message.contains(expected) && message.contains("expected for example `time:us,"), "{message}");
        }
        let columns: Columns = "timestamp,op,offset,size".parse().unwrap();
        assert_eq!(columns.with_units(Some(TimeUnit::Microseconds), Some(AddressUnit::Bytes)), "timestamp:us,op,offset:bytes,size:bytes");
        let named: Columns = "time=t:ms,op=2,lba=x,len=y:bytes".parse().unwrap();
        assert_eq!(named.with_units(Some(TimeUnit::Microseconds), Some(AddressUnit::Sectors)), "time=t:ms,op=2,lba=x:sectors,len=y:bytes");
    }
}
