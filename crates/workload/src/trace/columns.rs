//! Any delimited text, by a [mapping](crate::trace::mapping) of its columns.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use tinytail_config::did_you_mean;
use tinytail_core::units::Ns;

use crate::error::Column;
use crate::text;
use crate::trace::delimiter::{Delimiter, Splitter, Unclosed};
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::header::{self, Header};
use crate::trace::iso8601;
use crate::trace::mapping::{Columns, KEEP, Keep, NLB, OPEN_END, Place, ROLES, Role};
use crate::trace::marks::{Evidence, Mark, Marks};
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

/// What a word says that a request does: a usual word for it, or Linux's letters.
pub(super) fn op(word: &str) -> Option<Rwbs> {
    const WORDS: [(Op, &[&str]); 4] = [
        (Op::Read, &["r", "read", "rd", "readfile", "diskread"]),
        (Op::Write, &["w", "write", "wr", "writefile", "diskwrite"]),
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

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Role(Role),
    /// Lines are read that have this one of the values that are kept.
    Keep(usize),
}

/// How many requests before one are looked at to see whether it repeats one of them.
const REPEATS_LOOKED_AT: usize = 8;

/// Requests that repeat what one shortly before does.
#[derive(Debug, Default)]
struct Repeats {
    last: [Option<(u32, Op, u64, u32)>; REPEATS_LOOKED_AT],
    requests: usize,
    found: usize,
}

impl Repeats {
    #[inline]
    fn add(&mut self, record: &Record) {
        let request = Some((record.device, record.op, record.sector, record.sectors));
        self.found += usize::from(self.last.contains(&request));
        self.last[self.requests % REPEATS_LOOKED_AT] = request;
        self.requests += 1;
    }
}

/// Names of the column in faults about the number of fields.
pub(super) const BEYOND: &str = "beyond the last";
pub(super) const MISSING: &str = "missing";

/// Number of fields in a line: that of names in the header line, or the most frequent one in the first lines.
#[derive(Clone, Copy, Debug)]
struct Width {
    fields: usize,
    is_named: bool,
}

/// Reads lines by a mapping whose units are known.
pub(super) struct Delimited {
    columns: Option<Columns>,
    time_unit: TimeUnit,
    header: Option<Header>,
    /// Role of the column with the arrival, and role of the column with the length.
    when: Option<Role>,
    how_long: Role,
    /// Known from the first line on, as are the next three.
    splitter: Option<Splitter>,
    at: Places,
    /// What each column is for, in the order of columns.
    uses: Vec<(usize, Use)>,
    /// Number of fields in each line, if known.
    width: Option<Width>,
    /// Requests in lines with another number of fields, which an open-ended mapping allows.
    other_widths: u64,
    devices: FxHashMap<String, u32>,
    device_names: Vec<String>,
    /// The sum of the times since the lines before.
    elapsed_ns: i128,
    repeats: Repeats,
    /// Requests whose address in bytes is that of no sector.
    within_sectors: u64,
    /// Requests whose size is counted in sectors, and those whose size would be whole pages if it were counted otherwise.
    sizes: u64,
    off_by_one: u64,
    /// What commas and points are, and the first lines, which tell it.
    marks: Marks,
    first: Vec<String>,
    /// Times and latencies with a comma, and with a point, and those of them in which it could as well group thousands.
    commas: Likeness,
    points: Likeness,
    /// Whether a column has not been found by its name.
    is_lost: bool,
}

impl Delimited {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            columns: settings.columns.as_deref().cloned(),
            time_unit: settings.time_unit.unwrap_or(TimeUnit::Nanoseconds),
            header: settings.preamble.header.clone(),
            when: settings.columns.as_ref().and_then(|columns| columns.when()),
            how_long: settings.columns.as_ref().map_or(Role::Len, |columns| columns.how_long()),
            splitter: None,
            at: [None; ROLES],
            uses: Vec::new(),
            width: None,
            other_widths: 0,
            devices: FxHashMap::default(),
            device_names: Vec::new(),
            elapsed_ns: 0,
            repeats: Repeats::default(),
            within_sectors: 0,
            sizes: 0,
            off_by_one: 0,
            marks: Marks::default(),
            first: settings.preamble.behind.clone(),
            commas: Likeness::default(),
            points: Likeness::default(),
            is_lost: false,
        }
    }

    /// Finds out, from the header line or else from the first line, what is between fields and where each column is.
    fn begin(&mut self, line: &str) -> Result<(), Fault> {
        let Some(columns) = &self.columns else { return Ok(()) };
        let titles = self.header.as_ref().map_or_else(|| header::names_in(line), |header| header.titles.clone());
        let place = |place: &Place, name: &'static str| match place {
            Place::Number(number) => Ok(number - 1),
            Place::Name(wanted) => column_called(wanted, name, &titles),
        };
        let mut at = [None; ROLES];
        let mut uses = Vec::new();
        for role in Role::ALL {
            at[role as usize] = columns.places[role as usize].as_ref().map(|found| place(found, role.name())).transpose()?;
            uses.extend(at[role as usize].map(|index| (index, Use::Role(role))));
        }
        for (number, keep) in columns.keeps.iter().enumerate() {
            uses.push((place(&keep.place, KEEP)?, Use::Keep(number)));
        }
        uses.sort_by_key(|(index, _)| *index);
        let wanted = uses.last().map_or(2, |(index, _)| index + 1);
        let known = self.header.as_ref().and_then(|header| header.delimiter);
        // A line that is too short has its fault when it is read.
        let own = || Delimiter::of(line, wanted).or_else(|| Delimiter::of(line, 2)).unwrap_or(Delimiter::WhiteSpace);
        // A line that only looks like a header line says nothing of the others.
        let is_sure = |header: &&Header| header.delimiter.is_some() || !columns.names().is_empty();
        let named = self.header.as_ref().filter(is_sure).map(|header| Width { fields: header.titles.len(), is_named: true });
        let delimiter = known.unwrap_or_else(own);
        let is_kept = |fields: &[String]| {
            uses.iter().all(|(index, each)| match each {
                Use::Keep(keep) => fields.get(*index).is_some_and(|field| Keep::keeps(field, &columns.keeps[*keep].value)),
                Use::Role(_) => true,
            })
        };
        self.width = named.or_else(|| usual_width(&self.first, delimiter, is_kept));
        self.splitter = Some(Splitter::new(delimiter));
        (self.at, self.uses) = (at, uses);
        self.marks = self.marks_of_text();
        Ok(())
    }

    /// What the commas and points of the first lines are.
    fn marks_of_text(&self) -> Marks {
        const NUMBERS: [(Role, bool); 8] = [
            (Role::Time, false),
            (Role::Delta, false),
            (Role::Done, false),
            (Role::Latency, false),
            (Role::Lba, true),
            (Role::Len, true),
            (Role::Last, true),
            (Role::End, true),
        ];
        let delimiter = self.splitter.as_ref().map_or(Delimiter::WhiteSpace, |splitter| splitter.delimiter);
        let mut evidence = Evidence::default();
        for line in self.first.iter().filter(|line| !line.starts_with('#')) {
            let fields = delimiter.fields(line);
            for (role, is_whole) in NUMBERS {
                if let Some(field) = self.at[role as usize].and_then(|index| fields.get(index)) {
                    evidence.add(field, is_whole);
                }
            }
        }
        evidence.marks(usual_comma(delimiter))
    }

    /// A number without marks between its thousands.
    #[inline]
    fn number<'a>(&self, field: &'a str, column: Column) -> Result<Cow<'a, str>, Fault> {
        self.marks.plain(field, false).ok_or_else(|| Fault::new(column, field, self.marks.expected()))
    }

    #[inline]
    fn is_open_ended(&self) -> bool {
        self.columns.as_ref().is_some_and(|columns| columns.open_ended)
    }

    fn column(&self, role: Role) -> Column {
        Column { number: self.at[role as usize].map_or(1, |index| index + 1), name: role.name() }
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

    /// The fields that have roles, or nothing if the line is not one of those that are kept.
    #[inline]
    fn words<'a>(&self, line: &Plain<'a>) -> Result<Option<Words<'a>>, Fault> {
        let mut words = [""; ROLES];
        let mut is_kept = true;
        let mut uses = self.uses.iter().peekable();
        let mut fields = line.delimiter.split(line.text);
        let mut count = 0;
        while uses.peek().is_some() {
            let Some(field) = fields.next() else { break };
            while let Some((_, each)) = uses.next_if(|(index, _)| *index == count) {
                match each {
                    Use::Role(role) => words[*role as usize] = field,
                    Use::Keep(keep) => {
                        is_kept &= self.columns.as_ref().is_none_or(|columns| Keep::keeps(field, &columns.keeps[*keep].value))
                    }
                }
            }
            count += 1;
        }
        if !is_kept {
            return Ok(None);
        }
        if let Some(width) = self.width.filter(|_| !self.is_open_ended()) {
            let rest = width.fields.saturating_sub(count);
            let has = fields.by_ref().take(rest).count();
            if has < rest && uses.peek().is_none() {
                return Err(width.short(count + has));
            }
            if let Some(field) = fields.next().filter(|field| !field.is_empty()) {
                return Err(width.beyond(field));
            }
        }
        match uses.next() {
            None => Ok(Some(words)),
            Some((index, each)) => {
                let name = if let Use::Role(role) = each { role.name() } else { KEEP };
                let wanted = self.uses.last().map_or(*index, |(index, _)| *index) + 1;
                let expected = format!("at least {wanted} columns");
                Err(Fault { column: Column { number: index + 1, name }, found: fields::END_OF_LINE.into(), expected })
            }
        }
    }

    /// When a request came. The time since the line before is part of the sum already.
    #[inline]
    fn time_ns(&self, line: &Plain<'_>, words: &Words<'_>) -> Result<i128, Fault> {
        match self.when {
            None => Ok(0),
            Some(Role::Delta) => Ok(self.elapsed_ns),
            Some(role) => {
                let field = self.time_field(line, words[role as usize], self.at[role as usize].unwrap_or(0), self.column(role))?;
                let time_ns = self.signed_ns(&field, self.column(role))?;
                if role == Role::Time {
                    return Ok(time_ns);
                }
                // It came before it was complete.
                let latency = words[Role::Latency as usize];
                let unit = self.columns.as_ref().and_then(|columns| columns.latency_unit).unwrap_or(TimeUnit::Nanoseconds);
                Ok(time_ns
                    - i128::from(fields::latency_ns(&self.number(latency, self.column(Role::Latency))?, unit, self.column(Role::Latency))?))
            }
        }
    }

    /// A time that may be before the beginning of its clock: only differences of times matter.
    #[inline]
    fn signed_ns(&self, field: &str, column: Column) -> Result<i128, Fault> {
        match field.strip_prefix('-').filter(|rest| TimeUnit::ALL.contains(&self.time_unit) && !rest.starts_with('-')) {
            None => fields::time_ns(field, self.time_unit, column),
            Some(rest) => fields::time_ns(rest, self.time_unit, column)
                .map(|time_ns| -time_ns)
                .map_err(|fault| Fault::new(column, field, fault.expected)),
        }
    }

    /// Adds the time since the line before, whatever else is in the line.
    #[inline]
    fn add_delta(&mut self, line: &Plain<'_>) -> Result<(), Fault> {
        let Some(index) = self.at[Role::Delta as usize] else { return Ok(()) };
        let column = self.column(Role::Delta);
        let Some(field) = line.delimiter.split(line.text).nth(index) else { return Ok(()) };
        self.elapsed_ns += fields::time_ns(&self.number(field, column)?, self.time_unit, column)?;
        Ok(())
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
        let lba = amount(words[Role::Lba as usize], lba_unit, self.column(Role::Lba), &self.marks)?;
        let mut len = amount(words[self.how_long as usize], len_unit, self.column(self.how_long), &self.marks)?;
        if self.how_long != Role::Len {
            return Ok((lba, lba.up_to(len, self.how_long == Role::Last)?));
        }
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
        let column = self.column(Role::Latency);
        unit.map(|unit| fields::latency_ns(&self.number(latency, column)?, unit, column)).transpose()
    }

    /// The field with the time. A date may stand in a column of its own before it.
    fn time_field<'a>(&self, line: &Plain<'a>, field: &'a str, index: usize, column: Column) -> Result<Cow<'a, str>, Fault> {
        Ok(match self.time_unit {
            _ if self.is_date_alone(field) => {
                line.delimiter.split(line.text).nth(index + 1).map_or(field.into(), |time| format!("{field} {time}").into())
            }
            TimeUnit::Iso8601 | TimeUnit::MonthFirst | TimeUnit::DayFirst | TimeUnit::Clock => field.into(),
            _ => self.number(field, column)?,
        })
    }

    /// Whether a field has the date of times that are written out, without the time.
    fn is_date_alone(&self, field: &str) -> bool {
        match self.time_unit {
            TimeUnit::Iso8601 => iso8601::is_date(field),
            TimeUnit::MonthFirst | TimeUnit::DayFirst => !field.contains(':'),
            _ => false,
        }
    }

    /// Reads a line behind the first.
    fn read(&mut self, line: &Plain<'_>) -> Result<Parsed, Fault> {
        self.add_delta(line)?;
        let Some(words) = self.words(line)? else {
            return Ok(Parsed::Other("lines left out by keep"));
        };
        let (op, flushes_before) = match self.code(words[Role::Op as usize])? {
            Meaning::Op(op, flushes_before) => (op, flushes_before),
            Meaning::Ignored(place) => return Ok(Parsed::Ignored(place)),
            Meaning::Nothing => return Ok(Parsed::Other("requests other than reads and writes")),
        };
        if let Some(width) = self.width.filter(|_| self.is_open_ended()) {
            self.other_widths += u64::from(line.delimiter.split(line.text).count() != width.fields);
        }
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
        for role in [Role::Time, Role::Delta, Role::Done, Role::Latency] {
            self.commas.add(words[role as usize], ',');
            self.points.add(words[role as usize], '.');
        }
        let device = if self.at[Role::Device as usize].is_some() { self.device(words[Role::Device as usize]) } else { 0 };
        let record = Record { time_ns, device, op, sector, sectors, latency_ns };
        if op != Op::Flush {
            self.repeats.add(&record);
        }
        Ok(Parsed::Request(record))
    }

    /// All that is wrong with a line that has one fault.
    fn all_faults(&self, line: &Plain<'_>, first: Fault) -> Vec<Fault> {
        let Ok(Some(words)) = self.words(line) else { return vec![first] };
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
        let (time, latency) =
            (self.time_ns(line, &words).err(), self.latency_ns(&words).err().filter(|fault| fault.column != first.column));
        let found: Vec<Fault> = [op.err(), time, flush.err(), extent, latency].into_iter().flatten().collect();
        if found.is_empty() { vec![first] } else { found }
    }
}

/// A line whose quotation marks have been read.
struct Plain<'a> {
    text: &'a str,
    delimiter: Delimiter,
}

/// What a comma is where no number tells: fields that have one are quoted between commas, and it groups thousands.
pub(super) fn usual_comma(delimiter: Delimiter) -> Mark {
    if delimiter == Delimiter::Letter(',') { Mark::Groups } else { Mark::Fraction }
}

/// How many numbers have a mark, and in how many of them it could group thousands.
#[derive(Debug, Default)]
struct Likeness {
    all: u64,
    like_thousands: u64,
}

impl Likeness {
    #[inline]
    fn add(&mut self, field: &str, mark: char) {
        if let Some((whole, rest)) = field.split_once(mark) {
            self.all += 1;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            self.like_thousands += u64::from(digits == 3 && whole.len() <= 3 && !whole.starts_with('0'));
        }
    }

    /// Says that nothing tells which it is, if that is so, and how they are read.
    fn doubt(&self, is_open: bool, mark: Mark, (name, letter, written): (&str, char, &str)) -> Option<String> {
        let (read, other, remedy) = match mark {
            Mark::Fraction => {
                ("decimal fractions", "groups thousands", format!("sed -E 's/([0-9]){written}([0-9]{{3}})/\\1\\2/g' takes it out"))
            }
            Mark::Groups => {
                let to = if letter == ',' { '.' } else { ',' };
                let remedy =
                    format!("sed -E 's/\"([0-9]+){written}([0-9]+)\"/\\1{to}\\2/g' writes a {}", if to == '.' { "point" } else { "comma" });
                ("thousands", "is before a fraction", remedy)
            }
        };
        (is_open && self.all > 0 && self.all == self.like_thousands).then(|| {
            format!(
                "{} of its times and latencies have a {name} and three digits behind it, as 1{letter}234 has, and are read as {read}; if the \
                 {name} {other}, {remedy}",
                text::grouped(self.all)
            )
        })
    }
}

/// The fields that have roles, by role.
type Words<'a> = [&'a str; ROLES];

fn is_without_data(words: &Words<'_>) -> bool {
    matches!(words[Role::Len as usize], "" | "0") && words[Role::Last as usize].is_empty() && words[Role::End as usize].is_empty()
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

/// The place of the column with a name. Two columns may not have it.
fn column_called(wanted: &str, role: &'static str, titles: &[String]) -> Result<usize, Fault> {
    const NAMES_MAX: usize = 12;
    let mut at = (0..titles.len()).filter(|index| titles[*index].eq_ignore_ascii_case(wanted));
    let more = if titles.len() > NAMES_MAX { ", ..." } else { "" };
    let fault = |expected: String| Fault {
        column: Column { number: 1, name: role },
        found: format!("the header {}{more}", titles[..titles.len().min(NAMES_MAX)].join(", ")),
        expected,
    };
    match (at.next(), at.next()) {
        (Some(index), None) => Ok(index),
        (Some(one), Some(other)) => {
            let (one, other) = (one + 1, other + 1);
            Err(fault(format!("one column that is called {}; say its number, {role}={one} or {role}={other}", text::quoted(wanted))))
        }
        (None, _) => {
            let hint = did_you_mean(wanted, titles.iter().map(String::as_str));
            Err(fault(format!("a column that is called {}{hint}", text::quoted(wanted))))
        }
    }
}

impl Width {
    fn why(self) -> &'static str {
        if self.is_named { "as the header line has names" } else { "as most lines have" }
    }

    /// Fault of a line with a field behind the last column.
    #[cold]
    fn beyond(self, field: &str) -> Fault {
        let (fields, why) = (self.fields, self.why());
        // A number there is most often one that a field before it has shifted.
        let advice = if field.bytes().any(|byte| byte.is_ascii_alphabetic()) {
            format!("a mapping that ends with `,{OPEN_END}` ignores what is behind")
        } else {
            format!(
                "a field too many shifts those behind it; only if it is the last, a mapping that ends with `,{OPEN_END}` reads the line"
            )
        };
        let column = Column { number: fields + 1, name: BEYOND };
        Fault::new(column, field, format!("the end of the line after {fields} columns, {why}; {advice}"))
    }

    /// Fault of a line with fewer fields.
    #[cold]
    fn short(self, has: usize) -> Fault {
        let expected = format!(
            "{} columns, {}; a missing cell shifts those behind it; only if the last are missing, a mapping that ends with `,{OPEN_END}` reads \
             the line",
            self.fields,
            self.why()
        );
        Fault { column: Column { number: has + 1, name: MISSING }, found: fields::END_OF_LINE.into(), expected }
    }
}

/// Return the most frequent number of fields in the first lines that are kept; in a tie, the one that occurs first.
fn usual_width(lines: &[String], delimiter: Delimiter, is_kept: impl Fn(&[String]) -> bool) -> Option<Width> {
    let rows = lines.iter().filter(|line| !line.starts_with('#')).map(|line| delimiter.fields(line));
    let widths: Vec<usize> = rows.filter(|fields| is_kept(fields)).map(|fields| fields.len()).collect();
    let count = |width: usize| widths.iter().filter(|other| **other == width).count();
    let fields = widths.iter().copied().rev().max_by_key(|width| count(*width))?;
    Some(Width { fields, is_named: false })
}

/// Whether a column that is true or false says true.
pub(super) fn flag(field: &str, column: Column) -> Result<bool, Fault> {
    let is_one = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(field));
    if is_one(&["", "0", "false", "no", "n", "f"]) {
        return Ok(false);
    }
    if is_one(&["1", "true", "yes", "y", "t"]) { Ok(true) } else { Err(Fault::new(column, field, "true or false, or 1 or 0")) }
}

fn amount<'a>(field: &'a str, unit: Option<AddressUnit>, column: Column, marks: &Marks) -> Result<Amount<'a>, Fault> {
    // Where nobody looks at it, any unit does.
    let unit = unit.unwrap_or(AddressUnit::Sectors);
    if field.starts_with("0x") || field.starts_with("0X") {
        Amount::hexadecimal(field, unit, column)
    } else {
        let number = marks.plain(field, true).ok_or_else(|| Fault::new(column, field, marks.expected()))?;
        let found = Amount::new(&number, unit, column).or_else(|_| Amount::with_own_unit(&number, unit, column));
        found.map(|amount| amount.written(field)).map_err(|fault| Fault::new(column, field, fault.expected))
    }
}

/// Reads the quotation marks of a line.
#[inline]
fn plain<'a>(splitter: &'a mut Splitter, line: &'a str) -> Result<Plain<'a>, Fault> {
    match splitter.plain(line) {
        Ok((delimiter, text)) => Ok(Plain { text, delimiter }),
        Err(Unclosed) => Err(Fault::new(Column { number: 1, name: "line" }, line, "a quotation mark that is closed on the same line")),
    }
}

impl Parser for Delimited {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        // Other marks may begin a field, as that of a path.
        if line.starts_with('#') {
            return Ok(Parsed::Other("comment lines"));
        }
        if self.splitter.is_none() {
            let begun = self.begin(line);
            self.is_lost = begun.is_err();
            begun?;
        }
        let Some(mut splitter) = self.splitter.take() else { return Ok(Parsed::Other("comment lines")) };
        let parsed = match plain(&mut splitter, line) {
            Ok(line) => self.read(&line),
            Err(fault) => Err(fault),
        };
        self.splitter = Some(splitter);
        parsed
    }

    fn faults(&self, line: &str, first: Fault) -> Vec<Fault> {
        let Some(delimiter) = self.splitter.as_ref().map(|splitter| splitter.delimiter) else { return vec![first] };
        match plain(&mut Splitter::new(delimiter), line) {
            Ok(line) => self.all_faults(&line, first),
            Err(_) => vec![first],
        }
    }

    fn device_name(&self, device: u32) -> String {
        self.device_names.get(device as usize).cloned().unwrap_or_else(|| device.to_string())
    }

    fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn time_column(&self) -> Option<Column> {
        Some(self.column(self.when.unwrap_or(Role::Time)))
    }

    fn doubts(&self) -> Vec<String> {
        let within_sectors = (self.within_sectors > 0).then(|| {
            format!(
                "{} of the addresses are no multiple of 512 bytes, as if they were sectors; requests begin with the whole sector, and \
                 --columns with lba:sectors reads them so",
                text::grouped(self.within_sectors)
            )
        });
        let other_widths = (self.other_widths > 0).then(|| {
            format!(
                "{} of its requests stand in lines with another number of fields than most, and are read as if only the ends differed",
                text::grouped(self.other_widths)
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
        let thousands = [
            self.commas.doubt(self.marks.is_comma_open, self.marks.comma, ("comma", ',', ",")),
            self.points.doubt(self.marks.is_point_open, self.marks.point, ("point", '.', "\\.")),
        ];
        // Of requests to drives, few repeat one shortly before.
        let repeats = (self.repeats.requests > 1 && self.repeats.found * 2 >= self.repeats.requests).then(|| {
            format!(
                "{} of its {} requests repeat the operation, place and size of one shortly before, as if they were several events of it; \
                 keep:VALUE in --columns, in the place of a column, reads only the lines with that value there",
                text::grouped(self.repeats.found as u64),
                text::grouped(self.repeats.requests as u64)
            )
        });
        within_sectors.into_iter().chain(other_widths).chain(off_by_one).chain(thousands.into_iter().flatten()).chain(repeats).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::header::Preamble;
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
            preamble: Preamble::default(),
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
    fn times_may_be_negative_and_latencies_not() {
        let mut parser = parser("time,op,lba:sectors,len:sectors", TimeUnit::Microseconds, None);
        for (time, time_ns) in [("-500", -500_000), ("-0.25", -250), ("7", 7_000)] {
            assert_eq!(parser.parse(&format!("{time},R,8,8")), Ok(record(time_ns, 0, Op::Read, 8, 8)));
        }
        assert_faults(|line| parser.parse(line), &[("--5,R,8,8", 1, "`--5`", "a time in us"), ("-x,R,8,8", 1, "`-x`", "a time in us")]);
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
            (&["1", "2.345"], Some("1 of its times")),
            (&["0.5", "2.345"], None),
        ] {
            let mut parser = parser("time,op,lba:sectors,len:sectors", TimeUnit::Microseconds, None);
            for (lba, time) in times.iter().enumerate() {
                parser.parse(&format!("{time};R;{lba};8")).unwrap();
            }
            let notes = parser.doubts();
            assert_eq!(notes.len(), usize::from(doubted.is_some()), "{notes:?}");
            assert!(doubted.is_none_or(|doubted| notes[0].starts_with(doubted) && notes[0].contains(r"/\1\2/g'")), "{notes:?}");
        }
    }

    /// Reads a text, whose header line goes before.
    fn parse(columns: &str, text: &str) -> Result<Vec<Parsed>, Fault> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let columns: Columns = columns.parse().unwrap();
        let preamble = Preamble::of(&lines, &columns.names());
        let before = preamble.lines;
        let time_unit = columns.time_unit;
        let (address_unit, ops) = (AddressUnit::Sectors, OpCodes::default());
        let mut parser =
            Delimited::new(&Settings { time_unit, address_unit, ops, event: None, columns: Some(Box::new(columns)), preamble });
        lines[before..].iter().map(|line| parser.parse(line)).collect()
    }

    #[test]
    fn columns_are_found_by_their_names_in_the_header() {
        let columns = "len=Size:bytes,lba=Offset:bytes,time=1:us,op=Type";
        assert_eq!(parse(columns, "#stamp, type, OFFSET, size\n5,write,4096,512").unwrap(), [record(5_000, 0, Op::Write, 8, 1)]);
        let fault = parse("time=t:us,op=type,lba=offsett:bytes,len=size:bytes", "t,type,offset,size\n1,R,8,8").unwrap_err();
        assert_eq!(fault.found, "the header t, type, offset, size");
        assert!(fault.expected.contains("`offsett` (did you mean `offset`?)"), "{}", fault.expected);
        let fault = parse("time=t:us,op=op,lba=x:bytes,len=size:bytes", "t,op,x,size,X\n1,R,8,8,1").unwrap_err();
        assert!(fault.expected.contains("one column that is called `x`; say its number, lba=3 or lba=5"), "{}", fault.expected);
    }

    #[test]
    fn a_quoted_field_is_one() {
        let expected = [record(0, 0, Op::Read, 2048, 1024), record(10_000, 1, Op::Write, 4096, 8)];
        for (text, columns) in [
            ("0,R,\"1,024\",2048,\"a, \"\"b\"\"\"\n10,W,8,\"4,096\",c", "time:us,op,len:sectors,lba:sectors,device"),
            ("\"0\";\"R\";\"1,024\";\"2048\";\"a;b\"\n10;W;8;4096;c", "time:us,op,len:sectors,lba:sectors,device"),
            (
                "t,op,n,lba,host\n0,R,\"1,024\",2048,\"a, b\"\n10,W,8.0,4.096e3,",
                "time=t:us,op=op,len=n:sectors,lba=lba:sectors,device=host",
            ),
        ] {
            assert_eq!(parse(columns, text).unwrap(), expected, "{text}");
        }
        let fault = parse("time:us,op,len:sectors,lba:sectors", "0,R,8,2048\n1,\"R,8,8").unwrap_err();
        assert!(fault.expected.contains("a quotation mark that is closed"), "{}", fault.expected);
        // In a text with commas, a comma in a number groups thousands, or stands for the point.
        let times = parse("time:us,op,len:sectors,lba:sectors", "\"1,234.5\",R,8,8\n\"1,234\",R,8,8").unwrap();
        assert_eq!(times, [1_234_500, 1_234_000].map(|time_ns| record(time_ns, 0, Op::Read, 8, 8)));
        let times = parse("time:us,op,len:sectors,lba:sectors", "\"0,5\",R,8,8\n\"1,234\",R,8,8").unwrap();
        assert_eq!(times, [500, 1_234].map(|time_ns| record(time_ns, 0, Op::Read, 8, 8)));
        let fault = parse("time:us,op,len:sectors,lba:sectors", "\"1,234.5\",R,8,8\n\"0,5\",R,8,8").unwrap_err();
        assert!(fault.expected.contains("commas are between thousands"), "{}", fault.expected);
    }

    #[test]
    fn a_line_has_as_many_fields_as_the_header_line_has_names() {
        let columns = "time:us,op,lba:sectors,len:sectors";
        let header = "time_us,op,lba,sectors,disk\n";
        assert_eq!(parse(columns, &format!("{header}1,R,8,8,0,\n2,R,8,8,\n3,R,8,8,0")).unwrap().len(), 3);
        let fault = parse(columns, &format!("{header}1,R,8,8,0\n2,R,8,8")).unwrap_err();
        assert_eq!((fault.column.number, &*fault.found), (5, "the end of the line"));
        assert_eq!(parse(&format!("{columns},..."), &format!("{header}1,R,8,8,0\n2,R,8,8\n3,R,8,8,0,x,1")).unwrap().len(), 3);
        let fault = parse(columns, &format!("{header}1,R,8,8,0\n2,R,1,024,8,0")).unwrap_err();
        assert_eq!((fault.column.number, &*fault.found), (6, "`0`"));
        assert!(fault.expected.contains("the end of the line after 5 columns"), "{}", fault.expected);
    }

    #[test]
    fn lines_are_kept_by_the_value_of_a_column() {
        let text = "0,Q,R,8,8\n1,D,R,8,8\n2,C,R\n3,D,W,16,8";
        let expected = [record(1_000, 0, Op::Read, 8, 8), record(3_000, 0, Op::Write, 16, 8)];
        for columns in ["time:us,keep:D,op,lba:sectors,len:sectors", "len=5:sectors,keep=2:D,time=1:us,op=3,lba=4:sectors"] {
            let mut parsed = parse(columns, text).unwrap();
            parsed.retain(|parsed| *parsed != Parsed::Other("lines left out by keep"));
            assert_eq!(parsed, expected, "{columns}");
        }
        let reads = parse("keep=3:R,time=1:us,op=3,lba=4:sectors,len=5:sectors,keep=2:D", text).unwrap();
        assert_eq!(reads.iter().filter(|parsed| matches!(parsed, Parsed::Request(_))).count(), 1);
        assert_eq!(parse("time:us,_,_,_,_,keep:D,op,lba,len", "1,2").unwrap_err().column, Column { number: 6, name: "keep" });
    }

    #[test]
    fn arrivals_follow_from_ends_and_from_times_between() {
        let with_latency = |time_ns, latency_ns| {
            let Parsed::Request(known) = record(time_ns, 0, Op::Read, 8, 8) else { panic!() };
            Parsed::Request(Record { latency_ns: Some(latency_ns), ..known })
        };
        let by_end = parse("done:us,op,lba:sectors,len:sectors,latency:ms", "1000,R,8,8,0.9\n1050,R,8,8,0.01").unwrap();
        assert_eq!(by_end, [with_latency(100_000, 900_000), with_latency(1_040_000, 10_000)]);
        // The time passes also where a line is left out.
        let by_delta =
            parse("delta:us,op,lba:sectors,len:sectors,keep:1", "0,R,8,8,1\n100,R,8,8,0\n100,R,8,8,1\n7,F,,,1\n5,R,8,8,1").unwrap();
        let requests: Vec<&Parsed> =
            by_delta.iter().filter(|parsed| matches!(parsed, Parsed::Request(record) if record.op != Op::Flush)).collect();
        assert_eq!(requests, [0, 200_000, 212_000].map(|time_ns| record(time_ns, 0, Op::Read, 8, 8)).iter().collect::<Vec<_>>());
    }

    #[test]
    fn sizes_follow_from_ends() {
        for (columns, text) in [
            ("time:us,op,lba:sectors,last:sectors", "1,R,8,15"),
            ("time:us,op,lba:sectors,end:sectors", "1,R,8,16"),
            ("time:us,op,lba:sectors,end:bytes", "1,R,8,8192"),
            ("time:us,op,lba:bytes,last:bytes", "1,R,4096,8191"),
            ("time:us,op,lba:kib,end:sectors", "1,R,4,16"),
        ] {
            assert_eq!(parse(columns, text).unwrap(), [record(1_000, 0, Op::Read, 8, 8)], "{columns}");
        }
        assert!(parse("time:us,op,lba:sectors,end:sectors", "1,R,8,8").unwrap_err().expected.contains("behind that of lba"));
        assert!(parse("time:us,op,lba:sectors,last:sectors", "1,R,8,7").unwrap_err().expected.contains("not before that of lba"));
    }

    #[test]
    fn comments_are_no_requests() {
        let mut parser = parser("time,op,lba:sectors,len:sectors", TimeUnit::Microseconds, None);
        assert_eq!(parser.parse("# half of it"), Ok(Parsed::Other("comment lines")));
        assert_eq!(parser.parse("1,R,8,8"), Ok(record(1_000, 0, Op::Read, 8, 8)));
        assert_eq!(parser.parse("timestamp,op,lba,len").unwrap_err().column.number, 2);
    }

    #[test]
    fn requests_that_repeat_others_are_doubted() {
        let doubts = |lines: &[&str]| {
            let mut parser = parser("time,op,lba:sectors,len:sectors", TimeUnit::Microseconds, None);
            lines.iter().for_each(|line| _ = parser.parse(line).unwrap());
            parser.doubts().iter().filter(|note| note.contains("as if they were several events")).count()
        };
        assert_eq!(doubts(&["1,R,8,8", "2,R,8,8", "3,R,16,8", "4,R,16,8"]), 1);
        assert_eq!(doubts(&["1,R,8,8", "2,R,16,8", "3,R,8,8", "4,R,16,8"]), 1);
        assert_eq!(doubts(&["1,R,8,8", "2,R,8,8", "3,R,16,8", "4,W,16,8", "5,R,16,16"]), 0);
        assert_eq!(doubts(&["1,R,8,8"]), 0);
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
