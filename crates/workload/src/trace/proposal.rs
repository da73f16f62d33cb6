//! Which `--columns` would read a text, from the names in its header line and from its first lines.
//!
//! What a proposal assumes, it says. Where two columns could have a role, nothing is proposed, and the user is asked.

use std::fmt;

use crate::error::Column;
use crate::text;
use crate::trace::columns::{self, Delimited};
use crate::trace::delimiter::Delimiter;
use crate::trace::fields;
use crate::trace::foreign;
use crate::trace::header::{self, Is, Name, Preamble, Unit};
use crate::trace::iso8601;
use crate::trace::mapping::{Columns, EXAMPLE, KEEP, Keep, NLB, OPEN_END, Role};
use crate::trace::marks::Evidence;
use crate::trace::opening::FirstLines;
use crate::trace::telling;
use crate::trace::units::{AddressUnit, OpCodes, TimeUnit};
use crate::trace::{Fault, Op, Parser, Settings};

/// Where nobody looks at it.
const NOWHERE: Column = Column { number: 1, name: "" };

/// The columns that each role has, or could have.
pub(super) type Roles = Vec<(Role, Vec<usize>)>;

/// The first lines of a text: what its columns are called, if it has a header line, and the fields of the other lines.
pub(super) struct Head<'a> {
    /// Those that may be requests, with their numbers in the file.
    lines: Vec<(u64, &'a str)>,
    preamble: &'a Preamble,
    titles: Option<&'a [String]>,
    pub(super) names: Vec<Name>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Writes the numbers in columns that are called so with a point and without marks between thousands.
fn without_marks(rows: &mut [Vec<String>], names: &[Name], delimiter: Delimiter) {
    let is_whole = |name: &Name| match name.is {
        Is::Role(Role::Lba | Role::Len | Role::Last | Role::End) => Some(true),
        Is::Role(Role::Time | Role::Delta | Role::Done | Role::Latency) | Is::SomeTime => Some(false),
        _ => None,
    };
    let numbers: Vec<(usize, bool)> = names.iter().enumerate().filter_map(|(index, name)| Some((index, is_whole(name)?))).collect();
    let mut evidence = Evidence::default();
    for row in rows.iter() {
        numbers.iter().for_each(|(index, is_whole)| evidence.add(&row[*index], *is_whole));
    }
    let marks = evidence.marks(columns::usual_comma(delimiter));
    for row in rows.iter_mut() {
        for (index, is_whole) in &numbers {
            if let Some(plain) = marks.plain(&row[*index], *is_whole).map(std::borrow::Cow::into_owned) {
                row[*index] = plain;
            }
        }
    }
}

impl<'a> Head<'a> {
    fn of(first: &'a FirstLines, preamble: &'a Preamble) -> Option<Self> {
        let header = preamble.header.as_ref();
        let number = |at: usize| first.numbers.get(at).copied().unwrap_or(at as u64 + 1);
        let is_data = |line: &str| !line.starts_with('#') && header.is_none_or(|header| header.line != line.trim());
        let lines: Vec<(u64, &str)> = (preamble.lines..first.lines.len())
            .map(|at| (number(at), first.lines[at].as_str()))
            .filter(|(_, line)| is_data(line))
            .collect();
        let named = header.and_then(|header| Some((header.delimiter?, header.titles.len())));
        let (delimiter, width) = match named {
            Some((delimiter, width)) => (delimiter, Some(width)),
            None => (Delimiter::of(lines.first()?.1, 3)?, None),
        };
        let mut rows: Vec<Vec<String>> = lines.iter().map(|(_, line)| delimiter.fields(line)).collect();
        // Some lines may be statistics at the end.
        let most = rows.iter().map(Vec::len).max_by_key(|width| rows.iter().filter(|row| row.len() == *width).count());
        let width = width.or(most).filter(|width| *width >= 3)?;
        rows.retain_mut(|row| {
            let has_one_more = row.len() == width + 1 && row[width].is_empty();
            row.truncate(if has_one_more { width } else { row.len() });
            row.len() == width
        });
        // Names of other columns than those of the lines name nothing.
        let titles = header.filter(|header| header.delimiter.is_some() || header.titles.len() >= width).map(|header| &header.titles[..]);
        let name = |index: usize| titles.map_or_else(|| header::read(""), |titles| header::read_among(&titles[index], titles));
        let names: Vec<Name> = (0..width).map(name).collect();
        without_marks(&mut rows, &names, delimiter);
        (!rows.is_empty()).then_some(Self { lines, preamble, names, titles, rows })
    }

    pub(super) fn column(&self, index: usize) -> impl Iterator<Item = &str> + Clone {
        self.rows.iter().map(move |row| row[index].as_str())
    }

    /// What a column is called in a message.
    fn said(&self, index: usize) -> String {
        self.titles.map_or_else(|| format!("column {}", index + 1), |titles| text::quoted(&titles[index]))
    }

    /// What the header line calls a column.
    pub(super) fn title(&self, index: usize) -> &str {
        self.titles.map_or("", |titles| &titles[index])
    }

    /// What a column is called in a message, with its number.
    pub(super) fn said_with_number(&self, index: usize) -> String {
        self.titles
            .map_or_else(|| format!("column {}", index + 1), |titles| format!("{} (column {})", text::quoted(&titles[index]), index + 1))
    }

    fn has_nvme_names(&self) -> bool {
        self.names.iter().any(|name| name.nvme)
    }

    /// Return whether each value of a column can be read as a role needs it.
    fn could_be(&self, index: usize, role: Role) -> bool {
        let mut fields = self.column(index);
        let is_time = |field: &str| {
            fields::time_ns(field.strip_prefix('-').unwrap_or(field), TimeUnit::Nanoseconds, NOWHERE).is_ok()
                || fields::without_groups(field).is_some()
        };
        match role {
            Role::Time | Role::Done => fields.all(is_time) || self.written_out(index).is_some(),
            Role::Delta => fields.all(is_time),
            // A flush has neither.
            Role::Lba | Role::Len | Role::Last | Role::End => fields.all(|field| field.is_empty() || number(field).is_some()),
            Role::Op => self.ops(index, None).is_some(),
            Role::Latency => fields.all(|field| field.is_empty() || is_time(field)),
            Role::Device => true,
            Role::Flush => fields.all(|field| columns::flag(field, NOWHERE).is_ok()),
        }
    }

    /// A field, and the next one behind it, as the date and the time that a reader makes of them.
    fn with_next(&self, row: &[String], index: usize) -> String {
        format!("{} {}", row[index], row.get(index + 1).map_or("", String::as_str))
    }

    /// Whether a column has dates with times, or dates beside times in the next one.
    fn are_dates(&self, index: usize, read: fn(&str) -> Option<i128>) -> bool {
        self.rows.iter().all(|row| read(&row[index]).or_else(|| read(&self.with_next(row, index))).is_some())
    }

    /// The unit of times that say themselves what they are.
    fn written_out(&self, index: usize) -> Option<TimeUnit> {
        if self.are_dates(index, iso8601::read) {
            return Some(TimeUnit::Iso8601);
        }
        if self.column(index).all(|field| iso8601::clock(field).is_some()) {
            return Some(TimeUnit::Clock);
        }
        match (self.are_dates(index, iso8601::month_first), self.are_dates(index, iso8601::day_first)) {
            (false, false) => None,
            (true, false) => Some(TimeUnit::MonthFirst),
            (false, true) => Some(TimeUnit::DayFirst),
            // Where both could be, points are as in Europe.
            (true, true) => {
                Some(if self.column(index).any(|field| field.contains('/')) { TimeUnit::MonthFirst } else { TimeUnit::DayFirst })
            }
        }
    }

    /// Whether days and months could change their places in these dates.
    fn is_order_open(&self, index: usize) -> bool {
        self.are_dates(index, iso8601::month_first) && self.are_dates(index, iso8601::day_first)
    }

    /// The unit that stands behind the first number of a column.
    fn own_unit(&self, index: usize) -> Option<TimeUnit> {
        self.column(index).find(|field| !field.is_empty()).and_then(fields::own_unit).map(|(_, unit)| unit)
    }

    /// Return whether a column has numbers that never fall and are not all the same, or times that are written out.
    fn grows(&self, index: usize) -> bool {
        let time = |field: &str| {
            let field = fields::without_groups(field).unwrap_or_else(|| field.to_owned());
            match field.strip_prefix('-') {
                Some(rest) => fields::time_ns(rest, TimeUnit::Seconds, NOWHERE).ok().map(|time_ns| -time_ns),
                None => fields::time_ns(&field, TimeUnit::Seconds, NOWHERE).ok(),
            }
        };
        let numbers: Option<Vec<i128>> = self.column(index).map(time).collect();
        self.written_out(index).is_some() || numbers.is_some_and(|numbers| numbers.is_sorted() && numbers.first() < numbers.last())
    }

    /// Whether a column has times without a date, beside one with dates.
    fn is_clock(&self, index: usize) -> bool {
        let is_of_next = |row: &Vec<String>, read: fn(&str) -> Option<i128>| {
            read(&row[index - 1]).is_none() && read(&self.with_next(row, index - 1)).is_some()
        };
        let readers = [iso8601::read, iso8601::month_first, iso8601::day_first];
        index > 0 && readers.into_iter().any(|read| self.rows.iter().all(|row| is_of_next(row, read)))
    }

    /// A line that names columns, and not as the header line does.
    fn other_header(&self) -> Option<(u64, &'a str)> {
        self.titles?;
        self.lines.iter().copied().find(|(_, line)| header::names_columns(line))
    }

    /// The columns of whole seconds and of what is behind them, with its number of digits, where a time is written in two parts.
    fn parts_of_time(&self) -> Option<(usize, usize, usize)> {
        let titles = self.titles?;
        let digits = |index: usize| match self.names[index].unit {
            Some(Unit::Time(TimeUnit::Nanoseconds)) => Some(9),
            Some(Unit::Time(TimeUnit::Microseconds)) => Some(6),
            Some(Unit::Time(TimeUnit::Milliseconds)) => Some(3),
            _ => None,
        };
        let is_part = |index: usize, digits: usize| {
            self.column(index).all(|field| !field.is_empty() && field.len() <= digits && field.bytes().all(|byte| byte.is_ascii_digit()))
        };
        // What a name is of, without its unit: nothing in `nsec`, and `tv` in `tv_nsec`.
        let stem = |index: usize| {
            let title = titles[index].to_lowercase();
            title
                .trim_end_matches([')', ']'])
                .rsplit_once(|letter: char| !letter.is_alphanumeric())
                .map_or(String::new(), |(stem, _)| stem.into())
        };
        let fine = (0..self.names.len()).find(|index| {
            let is_time = matches!(self.names[*index].is, Is::Role(Role::Time) | Is::SomeTime);
            is_time && digits(*index).is_some_and(|digits| is_part(*index, digits)) && self.whole_seconds(*index, &stem).is_some()
        })?;
        Some((self.whole_seconds(fine, &stem)?, fine, digits(fine)?))
    }

    /// The column of the whole seconds of times whose rest is in this one.
    fn whole_seconds(&self, fine: usize, stem: &dyn Fn(usize) -> String) -> Option<usize> {
        let is_whole = |index: usize| self.column(index).all(|field| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit()));
        let is_in_seconds = |index: &usize| {
            self.names[*index].unit == Some(Unit::Time(TimeUnit::Seconds))
                && matches!(self.names[*index].is, Is::Role(Role::Time) | Is::SomeTime)
                && is_whole(*index)
                && stem(*index) == stem(fine)
        };
        let is_of_day = |index: &usize| {
            let is_clock = self.is_clock(*index) || self.written_out(*index).is_some() && !self.column(*index).all(iso8601::is_date);
            self.names[fine].bare_unit
                && is_clock
                && self.column(*index).all(|field| !field.contains(['.', ',', 'Z', '+']) && field.contains(':'))
        };
        let mut others = (0..self.names.len()).filter(|index| *index != fine);
        others.clone().find(is_in_seconds).or_else(|| others.find(is_of_day))
    }

    /// The command that writes a text with another value in a column, counted from 0, if there is one: `value` is what awk computes.
    fn awk(&self, first: &FirstLines, index: usize, value: &str) -> Option<String> {
        let header = self.preamble.header.as_ref().filter(|_| self.titles.is_some());
        let lines = header.map_or(Some(&0), |header| first.numbers.get(header.at))?;
        let delimiter = header.and_then(|header| header.delimiter).or_else(|| Delimiter::of(self.lines.first()?.1, 3))?;
        if first.path.is_empty() || self.lines.iter().any(|(_, line)| line.contains('"')) {
            return None;
        }
        let between = match delimiter {
            Delimiter::WhiteSpace => String::new(),
            Delimiter::Letter('\t') => "-F '\\t' -v OFS='\\t' ".into(),
            Delimiter::Letter('|') => "-F '[|]' -v OFS='|' ".into(),
            Delimiter::Letter(letter) => format!("-F '{letter}' -v OFS='{letter}' "),
        };
        let (file, column) = (foreign::shell_name(std::path::Path::new(&first.path)), index + 1);
        Some(format!("awk {between}'NR > {lines} {{ ${column} = {value} }} {{ print }}' {file} > {file}.csv"))
    }

    /// The command that writes a text with both parts of its time in the first, if there is one.
    fn join_of_parts(&self, first: &FirstLines, (coarse, fine, digits): (usize, usize, usize)) -> Option<String> {
        let (from, behind) = (coarse + 1, fine + 1);
        self.awk(first, coarse, &format!("${from} \".\" sprintf(\"%0{digits}d\", ${behind})"))
    }

    /// If the line below the names has units, remove it and give the units to the names. Return its number in the file.
    fn take_units(&mut self) -> Option<u64> {
        let titles = self.titles?;
        let (number, line) = *self.lines.first()?;
        let units: Vec<&str> = self.rows.first()?.iter().map(|field| field.trim_matches(['[', ']', '(', ')', '-'])).collect();
        let named = |title: &str, unit: &str| header::read_among(&format!("{title} ({unit})"), titles);
        let are_units =
            units.iter().zip(titles).filter(|(unit, title)| named(title, unit).unit.is_some() && header::read(title).unit.is_none());
        let is_plain = units.iter().all(|unit| unit.len() <= UNIT_BYTES_MAX && !unit.contains(|letter: char| letter.is_ascii_digit()));
        let is_first = units.iter().all(|unit| line.contains(unit));
        if are_units.count() < 2 || !is_plain || !is_first || self.rows.len() < 2 {
            return None;
        }
        self.names = titles.iter().zip(&units).map(|(title, unit)| named(title, unit)).collect();
        self.rows.remove(0);
        self.lines.remove(0);
        Some(number)
    }

    /// The column of the time, if its dates and times have no separators, as in `20240531235959.25`.
    fn packed_dates(&self) -> Option<usize> {
        let is_time = |name: &Name| self.titles.is_none() || matches!(name.is, Is::Role(Role::Time) | Is::SomeTime | Is::Role(Role::Done));
        // In few lines, numbers of twelve digits may look like dates by chance.
        let are_dates = |index: usize| {
            let is_sure = self.rows.len() >= CONSTANT_ROWS || !self.column(index).any(iso8601::is_short_packed);
            is_sure && self.column(index).all(iso8601::is_packed)
        };
        (0..self.names.len()).find(|index| is_time(&self.names[*index]) && are_dates(*index))
    }

    /// Name another form that the values of a time column could have, as the end of a phrase.
    fn other_reading(&self, index: usize) -> &'static str {
        // Days since 1900 in the years from 2009 to 2036, with a time of day in the fraction.
        let days = |field: &str| {
            let digits = field.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            field.parse::<f64>().is_ok_and(|days| (39_800.0..50_000.0).contains(&days)) && digits >= 4
        };
        match () {
            () if self.column(index).all(days) => ", and are not days since 1900 as in a spreadsheet",
            () if self.column(index).all(iso8601::is_packed_clock) => ", and are not hours, minutes and seconds of two digits each",
            () => "",
        }
    }

    /// Takes what is behind the whole seconds to them.
    fn join(&mut self, coarse: usize, fine: usize, digits: usize) {
        for row in &mut self.rows {
            row[coarse] = format!("{}.{:0>digits$}", row[coarse], row[fine]);
        }
        self.names[coarse].bare_unit = false;
        self.names[fine].is = Is::Other;
    }

    /// What the words of a column of operations mean, if that can be told; `usual` is what the codes 0 and 1 mean.
    fn ops(&self, index: usize, usual: Option<&OpCodes>) -> Option<Ops> {
        const FALSE_TRUE: [(&str, &str); 10] = [
            ("0", "1"),
            ("false", "true"),
            ("False", "True"),
            ("FALSE", "TRUE"),
            ("no", "yes"),
            ("No", "Yes"),
            ("n", "y"),
            ("N", "Y"),
            ("f", "t"),
            ("F", "T"),
        ];
        let are = |known: &dyn Fn(&str) -> bool| self.column(index).all(known);
        let given = |codes: String| codes.parse().ok().map(Ops::Said);
        let pair = FALSE_TRUE.into_iter().find(|(no, yes)| are(&|field| field == *no || field == *yes));
        match (self.names[index].read_code, pair) {
            (Some("0"), Some((no, yes))) => return given(format!("write={yes},read={no}")),
            (Some(_), Some((no, yes))) => return given(format!("write={no},read={yes}")),
            _ => {}
        }
        if are(&|field| columns::op(field).is_some()) {
            return Some(Ops::Words);
        }
        if let Some(codes) = self.scsi(index) {
            return Some(Ops::Scsi(codes));
        }
        if self.has_nvme_names() && are(&|field| NVME.iter().any(|(_, code)| number(field) == Some(*code))) {
            let like = self.column(index).next().unwrap_or_default();
            // A code is a word, so that the others are written as those that are there.
            let codes = NVME.map(|(op, code)| match like.strip_prefix("0x") {
                Some(digits) => format!("{op}=0x{code:0width$x}", width = digits.len()),
                None => format!("{op}={code}"),
            });
            given(codes.join(","))
        } else if are(&|field| matches!(field, "0" | "1")) {
            Some(Ops::Assumed(usual.cloned().unwrap_or_default()))
        } else {
            // A header line must say that they are operations.
            let mut words: Vec<String> = self.column(index).map(str::to_owned).collect();
            words.sort_unstable();
            words.dedup();
            let are_words = words.iter().all(|word| !word.is_empty() && !word.contains([',', '=']) && word.len() <= OP_BYTES_MAX);
            (self.names[index].is == Is::Role(Role::Op) && are_words).then_some(Ops::Open(words))
        }
    }

    /// SCSI's codes as this column writes them, if it has such.
    fn scsi(&self, index: usize) -> Option<OpCodes> {
        let like = self.column(index).next()?;
        let prefix = if like.starts_with("0x") { "0x" } else { "" };
        let is_upper = self.column(index).any(|field| field.contains(|letter: char| letter.is_ascii_uppercase()));
        let written: [fn(u8, bool) -> String; 2] =
            [|code, is_upper| if is_upper { format!("{code:02X}") } else { format!("{code:02x}") }, |code, _| code.to_string()];
        written.into_iter().find_map(|written| {
            let word = |code: &u8| format!("{prefix}{}", written(*code, is_upper));
            let is_one = |codes: &[u8], field: &str| codes.iter().any(|code| word(code) == field);
            let knows_all = self.column(index).all(|field| SCSI.iter().any(|(_, codes)| is_one(codes, field)));
            // The codes of all are those of little else.
            let is_sure = self.column(index).any(|field| is_one(&SCSI_SURE, field));
            let all = || SCSI.map(|(op, codes)| format!("{op}={}", codes.iter().map(word).collect::<Vec<_>>().join(","))).join(",");
            (knows_all && is_sure).then(|| all().parse().ok()).flatten()
        })
    }
}

/// What the words for operations mean.
pub(super) enum Ops {
    /// What they mean everywhere.
    Words,
    /// What the header line says of these codes.
    Said(OpCodes),
    /// SCSI's codes.
    Scsi(OpCodes),
    /// What is custom.
    Assumed(OpCodes),
    /// Something that is not told; the first of the words.
    Open(Vec<String>),
}

impl Ops {
    fn codes(&self) -> Option<&OpCodes> {
        match self {
            Self::Words | Self::Open(_) => None,
            Self::Said(codes) | Self::Scsi(codes) | Self::Assumed(codes) => Some(codes),
        }
    }

    fn option(&self) -> String {
        match self {
            Self::Open(_) => format!(" --ops read={READS},write={WRITES}"),
            _ => self.codes().map_or_else(String::new, |codes| format!(" --ops {codes}")),
        }
    }

    /// How sure it is that these are operations, the least the surest.
    fn doubt(&self) -> usize {
        match self {
            Self::Words | Self::Said(_) | Self::Scsi(_) => 0,
            Self::Assumed(_) => 1,
            Self::Open(_) => 2,
        }
    }

    /// What is to be put in the places of words that are not told.
    fn open(&self) -> Option<String> {
        let Self::Open(words) = self else { return None };
        let words: Vec<String> = words.iter().map(|word| text::quoted(word)).collect();
        Some(format!(
            "for {READS} and {WRITES} the codes of its operations are to be put, such as {}, as in --ops read=1,2,write=3,ignore=4",
            text::listed(&words)
        ))
    }
}

/// Words longer than this are no units.
const UNIT_BYTES_MAX: usize = 12;

/// Words longer than this are no operations.
const OP_BYTES_MAX: usize = 24;

/// What stands for codes that are to be said.
const READS: &str = "READS";
const WRITES: &str = "WRITES";

/// SCSI's codes of requests with data, and of flushes and trims.
const SCSI: [(&str, &[u8]); 4] = [
    ("write", &[0x2a, 0x8a, 0xaa, 0x0a, 0x2e, 0x8e, 0xae]),
    ("read", &[0x28, 0x88, 0xa8, 0x08]),
    ("trim", &[0x42]),
    ("flush", &[0x35, 0x91]),
];

/// Codes that only SCSI has.
const SCSI_SURE: [u8; 6] = [0x28, 0x2a, 0x88, 0x8a, 0xa8, 0xaa];

/// NVMe's codes; dataset management trims.
const NVME: [(&str, u64); 4] = [("write", 1), ("read", 2), ("trim", 9), ("flush", 0)];

/// The unit of addresses or sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Known(AddressUnit),
    /// Pages of a size that is to be said.
    Pages,
}

/// What stands for the size of a page that is to be said.
const PAGE_BYTES: &str = "BYTES";

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(unit) => unit.fmt(f),
            Self::Pages => write!(f, "blocks:{PAGE_BYTES}"),
        }
    }
}

/// The units of a mapping.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Units {
    time: TimeUnit,
    lba: Space,
    len: Space,
    latency: Option<TimeUnit>,
    /// Whether sizes count from 0, as in NVMe.
    nlb: bool,
}

impl Units {
    /// A role with its unit, as a mapping has it.
    fn part(self, role: Role) -> String {
        match role {
            Role::Time | Role::Delta | Role::Done => format!("{}:{}", role.name(), self.time),
            Role::Lba => format!("lba:{}", self.lba),
            Role::Len => format!("{}:{}", if self.nlb { NLB } else { "len" }, self.len),
            Role::Last | Role::End => format!("{}:{}", role.name(), self.len),
            Role::Latency => self.latency.map_or("_".into(), |unit| format!("latency:{unit}")),
            Role::Op | Role::Device | Role::Flush => role.name().into(),
        }
    }

    /// The roles, and the columns with the values of lines that are read, in the order of their columns.
    fn mapping(self, roles: &Roles, keeps: &[(usize, String)]) -> String {
        let places = roles.iter().map(|(_, at)| at[0]).chain(keeps.iter().map(|(index, _)| *index));
        let at = |index: usize| {
            let role = roles.iter().find(|(_, at)| at[0] == index).map(|(role, _)| self.part(*role));
            let keep = || keeps.iter().find(|(at, _)| *at == index).map(|(_, value)| format!("{KEEP}:{}", Keep::written(value)));
            role.or_else(keep).unwrap_or("_".into())
        };
        (0..=places.max().unwrap_or(0)).map(at).collect::<Vec<_>>().join(",")
    }
}

/// What to say to somebody whose text has these first lines: the options that read it and what they assume, or what is not
/// clear, as a sentence; nothing if its columns can't be told. `format` has the columns that its lines seem to have, and `given`
/// is the unit of time that was given.
pub(super) fn proposal(first: &FirstLines, preamble: &Preamble, format: Option<&Columns>, given: Option<TimeUnit>) -> Option<String> {
    let open_quote = (preamble.lines..first.lines.len()).find(|at| is_open(&first.lines[*at]));
    if let Some(at) = open_quote.filter(|_| preamble.header.is_some()) {
        return Some(format!(
            "line {} has a quotation mark that is not closed on it, as where a field goes on in the next line. A request is one line: no option \
             reads it; write it without line breaks in fields",
            first.numbers.get(at).copied().unwrap_or(at as u64 + 1)
        ));
    }
    let mut head = Head::of(first, preamble)?;
    if let Some(number) = head.take_units() {
        let file = foreign::shell_name(std::path::Path::new(&first.path));
        let mut assumed = Vec::new();
        let roles = roles_by_name(&head, format, &mut assumed);
        let way = proposal_of(&head, roles, assumed, format, given).map_or(String::new(), |way| format!(", and of that, {way}"));
        return Some(format!(
            "line {number} has units of the columns and is no request; `sed {number}d {file} > {file}.csv` leaves it out{way}"
        ));
    }
    if let Some((number, line)) = head.other_header() {
        return Some(format!(
            "line {number}, {}, names columns otherwise than the header line, so that no mapping reads both parts; split the file before it, \
             and read each part",
            text::quoted(line)
        ));
    }
    if let Some(index) = head.packed_dates() {
        let like = &head.rows[0][index];
        let write = head.awk(first, index, &iso8601::unpacked_by_awk(index + 1, like));
        return Some(format!(
            "{} has dates and times without separators, such as {}, which no unit reads; {}",
            head.said_with_number(index),
            text::quoted(like),
            write.map_or_else(
                || "write them as 2024-05-31T23:59:59, which time:iso8601 reads".into(),
                |write| format!("`{write}` writes them as time:iso8601 reads them")
            )
        ));
    }
    if let Some((coarse, fine, digits)) = head.parts_of_time() {
        let said = format!("{} and {} are two parts of its time", head.said_with_number(coarse), head.said_with_number(fine));
        let join = head.join_of_parts(first, (coarse, fine, digits));
        head.join(coarse, fine, digits);
        let mut assumed = Vec::new();
        let roles = roles_by_name(&head, format, &mut assumed);
        let way = proposal_of(&head, roles, assumed, format, given);
        return Some(match (join, way) {
            (Some(join), Some(way)) => format!("{said}; `{join}` writes it with both in one, and of that, {way}"),
            _ => format!("{said}, which no option joins; write them as one number, with the second behind a point"),
        });
    }
    if head.titles.is_some() {
        let mut assumed = Vec::new();
        let roles = roles_by_name(&head, format, &mut assumed);
        return proposal_of(&head, roles, assumed, format, given);
    }
    if let Some(header) = preamble.header.as_ref().filter(|header| header::names_columns(&header.line)) {
        return Some(format!(
            "its header line has {} names and its lines have {} fields, so that it is not known which field each names; --columns says what \
             each field is, as in {}",
            header.titles.len(),
            head.names.len(),
            EXAMPLE
        ));
    }
    let ways: Vec<String> = roles_by_content(&head)
        .into_iter()
        .filter_map(|roles| proposal_of(&head, roles.clone(), vec![said_roles(&roles)], format, given))
        .collect();
    match &ways[..] {
        [] => None,
        [way] => Some(way.clone()),
        ways => Some(format!("its columns have no names, and they could be several things: {}", ways.join("; or, "))),
    }
}

/// Whether a line has a quotation mark that opens a field and is not closed.
fn is_open(line: &str) -> bool {
    let begins_field = line.trim_start().starts_with('"') || [",\"", ";\"", "\t\"", "|\""].iter().any(|mark| line.contains(mark));
    begins_field && Delimiter::of(line, 2).is_some_and(|delimiter| delimiter.fields(line).is_empty())
}

/// Which column each role is assumed to have, as a phrase.
fn said_roles(roles: &Roles) -> String {
    let what = |role: Role| match role {
        Role::Time => "its time",
        Role::Op => "its operation",
        Role::Lba => "its address",
        _ => "its size",
    };
    let said: Vec<String> = roles.iter().map(|(role, at)| format!("column {} is {}", at[0] + 1, what(*role))).collect();
    text::listed(&said)
}

/// The same for columns whose roles are known, or could be several.
fn proposal_of(
    head: &Head<'_>,
    mut roles: Roles,
    mut assumed: Vec<String>,
    format: Option<&Columns>,
    given: Option<TimeUnit>,
) -> Option<String> {
    let of = |roles: &Roles, role: Role| roles.iter().find(|(known, _)| *known == role).map(|(_, at)| at[0]);
    let one_of = |roles: &Roles, wanted: &[Role]| wanted.iter().find_map(|role| Some((*role, of(roles, *role)?)));
    let (op, lba, (how_long, len)) = (of(&roles, Role::Op)?, of(&roles, Role::Lba)?, one_of(&roles, &Role::HOW_LONG)?);
    let (when, time) = one_of(&roles, &Role::WHEN).unzip();
    for index in time.into_iter().chain([lba, len]) {
        let is_time = Some(index) == time;
        if let Some(unit) =
            head.names[index].unread_unit.as_ref().filter(|_| head.written_out(index).is_none() && (!is_time || given.is_none()))
        {
            let units = if is_time { "ns, 100ns, us, ms, s, min and h" } else { "sectors, bytes, kib and blocks of so many bytes" };
            return Some(format!(
                "{} is in {unit}, which is none of the units that are read: {units}; convert it",
                head.said_with_number(index)
            ));
        }
    }
    let ops = head.ops(op, format.and_then(|columns| columns.codes.as_ref()))?;
    let space = |index: usize| match head.names[index].unit {
        _ if head.column(index).any(|field| fields::own_bytes(field).is_some()) => Some(Space::Known(AddressUnit::Bytes)),
        Some(Unit::Space(unit)) => Some(Space::Known(unit)),
        Some(Unit::Sized(bytes)) => u32::try_from(bytes).ok().map(|bytes| Space::Known(AddressUnit::Blocks(bytes))),
        Some(Unit::Pages) => Some(Space::Pages),
        _ => None,
    };
    let said_unit = |index: usize| match head.names[index].unit {
        Some(Unit::Time(unit)) => Some(unit),
        _ => head.own_unit(index),
    };
    let unit_of_time = |index: usize| given.or(head.written_out(index)).or(said_unit(index));
    let said_time = time.and_then(unit_of_time);
    let nlb = head.names[len].nvme && counts_from_0(head, len, op, &ops);
    let plausible_time = || time.map_or(TimeUnit::Microseconds, |time| plausible_time_unit(head.column(time)));
    let time_unit = said_time.unwrap_or_else(plausible_time);
    let sectors = Space::Known(AddressUnit::Sectors);
    let latency = of(&roles, Role::Latency);
    let in_sectors = Units {
        time: time_unit,
        lba: space(lba).unwrap_or(sectors),
        len: space(len).unwrap_or(sectors),
        latency: latency.map(|index| said_unit(index).unwrap_or(time_unit)),
        nlb,
    };
    let counts_blocks = head.names[len].unit == Some(Unit::Blocks);
    let plausible = |index: usize| Space::Known(plausible_address_unit(head.column(index)));
    let sizes_in = space(len).or(counts_blocks.then_some(sectors)).unwrap_or_else(|| plausible(len));
    // Sizes in sectors go with addresses in sectors, and SCSI's addresses count blocks.
    let plausible_lba = if sizes_in == sectors || matches!(ops, Ops::Scsi(_)) {
        sectors
    } else {
        let could_be = roles.iter().filter(|(role, _)| *role == Role::Lba).flat_map(|(_, at)| at);
        could_be.map(|index| plausible(*index)).find(|unit| *unit != sectors).unwrap_or(sectors)
    };
    let mut units = Units { lba: space(lba).unwrap_or(plausible_lba), len: sizes_in, ..in_sectors };
    let mut open = Open { lba: space(lba).is_none(), len: space(len).is_none() };
    let mut in_sectors = in_sectors;
    if how_long != Role::Len {
        // The end of a request is in the unit of its beginning.
        units.len = space(len).unwrap_or(units.lba);
        in_sectors.len = space(len).unwrap_or(in_sectors.lba);
        open.len = false;
        let is_last = ends_at_the_last(head, lba, len);
        assumed.push(format!(
            "{} is {} of a request",
            head.said(len),
            if is_last { "the last address" } else { "the first address behind the last" }
        ));
        if let Some((role, _)) = roles.iter_mut().find(|(role, _)| *role == how_long) {
            *role = if is_last { Role::Last } else { Role::End };
        }
    }
    if let (Some(Role::Done), Some(time)) = (when, time) {
        if latency.is_none() {
            roles.iter_mut().filter(|(role, _)| *role == Role::Done).for_each(|(role, _)| *role = Role::Time);
            return Some(format!(
                "{} is when requests were complete, and no column says how long they took, so that it is not known when they came; \
                 --columns {}{} takes their ends for that",
                head.said_with_number(time),
                units.mapping(&roles, &[]),
                ops.option()
            ));
        }
        assumed.push(format!("{} is when requests were complete", head.said(time)));
        if latency.and_then(said_unit).is_none() {
            assumed.push(format!("its latencies are in {time_unit}"));
        }
    }
    if said_time.is_none() && time.is_some() {
        assumed.push(format!("its times are in {time_unit}{}", time.map_or("", |time| head.other_reading(time))));
    }
    if let Some(time) = time.filter(|time| matches!(time_unit, TimeUnit::MonthFirst | TimeUnit::DayFirst) && head.is_order_open(*time)) {
        let (first, other) = if time_unit == TimeUnit::MonthFirst { ("month", TimeUnit::DayFirst) } else { ("day", TimeUnit::MonthFirst) };
        assumed.push(format!(
            "the {first} is first in {} ({other} in place of {time_unit} reads them otherwise)",
            text::quoted(&head.rows[0][time])
        ));
    }
    if let Ops::Assumed(codes) = &ops {
        let reads_1 = codes.op("1") == Some(Op::Read);
        assumed.push(if reads_1 { "0 writes and 1 reads" } else { "0 reads and 1 writes" }.into());
    }
    if head.names[len].nvme {
        assumed.push(format!("its {} counts from {}", head.said(len), if nlb { "0, as in NVMe" } else { "1" }));
    }
    let to_say: Vec<String> = ops.open().into_iter().chain(pages_to_say(units)).collect();
    let to_say = if to_say.is_empty() { String::new() } else { format!("; {}", to_say.join("; ")) };
    if roles.iter().any(|(_, at)| at.len() > 1) {
        assumed.extend(open.assumed(units));
        let plausible = |index: usize| plausible_time_unit(head.column(index));
        let of_column = |index: usize| unit_of_time(index).unwrap_or_else(|| plausible(index));
        return Some(question(head, &roles, units, &of_column, &ops) + &if_assumed(&assumed) + &to_say);
    }
    let telling = telling::telling(head, &roles);
    let keeps = telling.keeps();
    if let Err(fault) = reads(head, &units.mapping(&roles, &keeps), &ops) {
        // Names say what the columns are, where contents do not.
        return head.titles.and(fault).map(|(line, fault)| {
            let Fault { column, found, expected } = fault;
            let mapping = units.mapping(&roles, &keeps);
            let open = format!("{mapping},{OPEN_END}");
            let remedy = if [columns::BEYOND, columns::MISSING].contains(&column.name) && reads(head, &open, &ops).is_ok() {
                format!("If only the ends of lines differ so, --columns {open}{} reads it; otherwise change what is there", ops.option())
            } else {
                "No option reads it; change what is there".into()
            };
            format!("its header line says {mapping} and line {line}, {column}, is not so: found {found}, expected {expected}. {remedy}")
        });
    }
    let verb = telling.verb();
    let mut blocks = "";
    let columns = |units: Units, keeps: &[(usize, String)]| format!("--columns {}{}", units.mapping(&roles, keeps), ops.option());
    let is_one_way = units == in_sectors || matches!(ops, Ops::Scsi(_));
    let way = if is_one_way {
        assumed.extend(open.assumed(units));
        if open.is_in(units, sectors) {
            blocks = "; blocks:4096 in place of sectors counts blocks of 4 KiB";
        }
        format!("{} {verb}", columns(units, &keeps))
    } else {
        let open = match (units.lba == in_sectors.lba, units.len == in_sectors.len) {
            (true, _) => "sizes",
            (_, true) => "addresses",
            _ => "addresses and sizes",
        };
        let all = if (in_sectors.lba, in_sectors.len) == (sectors, sectors) { "all" } else { "they" };
        format!(
            "{} {verb} where {open} are in bytes, or {} where {all} are in sectors of 512 bytes",
            columns(units, &keeps),
            columns(in_sectors, &keeps)
        )
    };
    let way = format!("{way}{}{blocks}{to_say}", if_assumed(&assumed));
    let way = if time.is_some() { way } else { format!("{}{way}", without_time(head, &roles)) };
    Some(telling.asked(&way, &columns(units, &telling.single())))
}

/// Says that no name of a column is known to be that of the time, before a way to read the requests without it.
fn without_time(head: &Head<'_>, roles: &Roles) -> String {
    let is_free = |index: &usize| !roles.iter().any(|(_, at)| at.contains(index));
    let some: Vec<usize> = (0..head.names.len()).filter(|index| is_free(index) && head.names[*index].is == Is::SomeTime).collect();
    let said: Vec<String> = some.iter().map(|index| head.said_with_number(*index)).collect();
    let place = some.first().map_or_else(|| "the column that has it".into(), |index| format!("column {}, if it is it", index + 1));
    let but = if said.is_empty() {
        String::new()
    } else {
        format!(", but for {}, whose values are not known as times that grow", text::listed(&said))
    };
    format!(
        "no name among its columns says when a request came{but}; put time:us, or another unit, in the place of {place}. Without times, played \
         with --queue-depth N for the number that is always outstanding, "
    )
}

/// Which units of addresses and sizes a text leaves open.
#[derive(Clone, Copy)]
struct Open {
    lba: bool,
    len: bool,
}

impl Open {
    /// What a mapping assumes of them, as a phrase.
    fn assumed(self, units: Units) -> Option<String> {
        let unit = |unit: Space| if unit == Space::Known(AddressUnit::Sectors) { "sectors of 512 bytes".into() } else { unit.to_string() };
        let (lba, len) = (unit(units.lba), unit(units.len));
        match (self.lba, self.len) {
            (false, false) => None,
            (true, false) => Some(format!("its addresses are in {lba}")),
            (false, true) => Some(format!("its sizes are in {len}")),
            (true, true) if lba == len => Some(format!("its addresses and sizes are in {lba}")),
            (true, true) => Some(format!("its addresses are in {lba} and its sizes in {len}")),
        }
    }

    /// Whether a mapping has one that is open in this unit.
    fn is_in(self, units: Units, unit: Space) -> bool {
        self.lba && units.lba == unit || self.len && units.len == unit
    }
}

/// Whether the ends of requests are the last address that they touch, rather than the first behind it: requests are most often
/// whole pages.
fn ends_at_the_last(head: &Head<'_>, lba: usize, end: usize) -> bool {
    let lengths: Vec<u64> =
        head.column(lba).zip(head.column(end)).filter_map(|(lba, end)| number(end)?.checked_sub(number(lba)?)).collect();
    let pages = |more: u64| lengths.iter().filter(|length| (*length + more).is_multiple_of(8)).count();
    lengths.contains(&0) || pages(1) >= pages(0)
}

/// What is assumed, as the end of a sentence.
fn if_assumed(assumed: &[String]) -> String {
    if assumed.is_empty() { String::new() } else { format!(", if {}", text::listed(assumed)) }
}

/// What is to be put in the place of the size of a page.
fn pages_to_say(units: Units) -> Option<String> {
    let has_pages = [units.lba, units.len].contains(&Space::Pages);
    has_pages.then(|| format!("the bytes of a page are to be put for {PAGE_BYTES}, as in blocks:4096"))
}

/// Asks which of several columns has a role.
fn question(head: &Head<'_>, roles: &Roles, units: Units, time_unit: &dyn Fn(usize) -> TimeUnit, ops: &Ops) -> String {
    let capitals = |role: Role| role.name().to_uppercase();
    let unclear = roles.iter().filter(|(_, at)| at.len() > 1);
    let could = |(role, at): &(Role, Vec<usize>)| {
        let columns: Vec<String> = at.iter().map(|index| format!("{} (column {})", head.said(*index), index + 1)).collect();
        format!("{} could each be its {}", text::listed(&columns), role.name())
    };
    // Times may have a unit each.
    let is_of_time = |role: Role| Role::WHEN.contains(&role) || role == Role::Latency;
    let differ = |role: Role, at: &[usize]| is_of_time(role) && at.iter().any(|index| time_unit(*index) != time_unit(at[0]));
    let part = |(role, at): &(Role, Vec<usize>)| {
        let number = if at.len() == 1 { (at[0] + 1).to_string() } else { capitals(*role) };
        let written = units.part(*role);
        let unit = written.split_once(':').map_or(String::new(), |(_, unit)| format!(":{unit}"));
        format!("{}={number}{}", role.name(), if differ(*role, at) { String::new() } else { unit })
    };
    let which: Vec<String> = unclear
        .clone()
        .filter(|(role, at)| differ(*role, at))
        .map(|(_, at)| at.iter().map(|index| format!("{}:{}", index + 1, time_unit(*index))).collect::<Vec<_>>().join(" or "))
        .collect();
    let which = if which.is_empty() { String::new() } else { format!(" and unit, {},", which.join(" and ")) };
    format!(
        "{}; say which is by its number{which}{} in place of {}: --columns {}{} reads it then",
        unclear.clone().map(could).collect::<Vec<_>>().join(", and "),
        if which.is_empty() { "," } else { "" },
        text::listed(&unclear.map(|(role, _)| capitals(*role)).collect::<Vec<_>>()),
        roles.iter().map(part).collect::<Vec<_>>().join(","),
        ops.option()
    )
}

/// Whether a mapping reads most of the lines, or the first that it does not read, if it is told what is wrong there.
fn reads(head: &Head<'_>, mapping: &str, ops: &Ops) -> Result<(), Option<(u64, Fault)>> {
    let Ok(mut columns) = mapping.replace(PAGE_BYTES, "4096").parse::<Columns>() else { return Err(None) };
    columns.codes = match ops {
        Ops::Open(words) => format!("read={},write={WRITES}", words.join(",")).parse().ok(),
        _ => ops.codes().cloned(),
    };
    let settings = Settings {
        time_unit: columns.time_unit.or(Some(TimeUnit::Nanoseconds)),
        address_unit: AddressUnit::Sectors,
        ops: OpCodes::default(),
        event: None,
        columns: Some(Box::new(columns)),
        preamble: head.preamble.clone(),
    };
    let mut parser = Delimited::new(&settings);
    let mut faults = head.lines.iter().filter_map(|(number, line)| Some((*number, parser.parse(line).err()?)));
    let first = faults.next();
    let faulty = usize::from(first.is_some()) + faults.count();
    if faulty * 2 < head.lines.len() { Ok(()) } else { Err(first) }
}

/// The amount that a field has.
pub(super) fn number(field: &str) -> Option<u64> {
    match field.strip_prefix("0x").or_else(|| field.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => fields::unsigned(field, NOWHERE).ok().or_else(|| fields::own_bytes(field).map(|(bytes, _)| bytes)),
    }
}

/// Whether sizes are one less than what they stand for, as in NVMe: 7 for 8 blocks of 512 bytes, or even 0.
fn counts_from_0(head: &Head<'_>, len: usize, op: usize, ops: &Ops) -> bool {
    let usual = |word: &str| columns::op(word).and_then(|found| found.op);
    let flushes = |word: &str| ops.codes().map_or_else(|| usual(word), |codes| codes.op(word)) == Some(Op::Flush);
    let sizes = head.column(len).zip(head.column(op)).filter(|(_, op)| !flushes(op)).filter_map(|(len, _)| number(len));
    let pages = |less: u64| sizes.clone().filter(|size| (size + less).is_multiple_of(8)).count();
    sizes.clone().any(|size| size == 0) || pages(1) > pages(0)
}

fn roles_by_name(head: &Head<'_>, format: Option<&Columns>, assumed: &mut Vec<String>) -> Roles {
    let mut roles = Roles::new();
    for role in Role::ALL {
        let has = |roles: &Roles, others: &[Role]| roles.iter().any(|(known, _)| others.contains(known));
        // One column says when, and one how long.
        if Role::WHEN.contains(&role) && has(&roles, &Role::WHEN) || Role::HOW_LONG.contains(&role) && has(&roles, &Role::HOW_LONG) {
            continue;
        }
        let named: Vec<usize> = (0..head.names.len()).filter(|index| head.names[*index].is == Is::Role(role)).collect();
        let mut at: Vec<usize> = named.iter().copied().filter(|index| head.could_be(*index, role)).collect();
        // A number of a device goes before its name.
        if role == Role::Device && at.iter().any(|index| !head.names[*index].is_name) {
            at.retain(|index| !head.names[*index].is_name);
        }
        // Without a device column, the host is the device: another host has other drives.
        if role == Role::Device && at.is_empty() {
            at = (0..head.names.len()).filter(|index| head.names[*index].is_host).take(1).collect();
        }
        // Keep the device columns whose values differ.
        if role == Role::Device && at.len() > 1 {
            let differs = |index: &usize| head.column(*index).any(|field| field != head.rows[0][*index]);
            if at.iter().any(differs) {
                at.retain(differs);
            }
        }
        // Words that everybody understands are operations rather than what is called so too.
        if role == Role::Op {
            let doubt = |index: &usize| head.ops(*index, None).map_or(usize::MAX, |ops| ops.doubt());
            let least = at.iter().map(doubt).min();
            at.retain(|index| Some(doubt(index)) == least);
        }
        if role == Role::Time {
            // A name that is only a unit goes behind others.
            if at.iter().any(|index| !head.names[*index].bare_unit) {
                at.retain(|index| !head.names[*index].bare_unit);
            }
            // A date goes with the time beside it, and of several the one that the lines are in order of is likely.
            at.retain(|index| !head.is_clock(*index));
            if at.iter().any(|index| head.grows(*index)) {
                at.retain(|index| head.grows(*index));
            }
        }
        // A run needs no latencies: where it is not clear which they are or in which unit, they are left out.
        let has_unit = |index: usize| {
            let name = &head.names[index];
            name.unread_unit.is_none() && (name.unit.is_some() || head.own_unit(index).is_some() || has(&roles, &[Role::Done]))
        };
        // Without them, ends say nothing of arrivals: some time may be how long it took.
        let by_ends = has(&roles, &[Role::Done]);
        if role == Role::Latency && by_ends && at.is_empty() {
            at = (0..head.names.len()).filter(|index| head.names[*index].is == Is::SomeTime && head.could_be(*index, role)).collect();
            if let [index] = at[..] {
                assumed.push(format!("{} is how long they took", head.said(index)));
            }
        }
        let is_clear = at.len() == 1 || by_ends && !at.is_empty();
        if role == Role::Latency && !(is_clear && at.iter().all(|index| has_unit(*index))) {
            continue;
        }
        if role == Role::Time
            && let [index] = at[..]
            && head.names[index].bare_unit
        {
            assumed.push(format!("{} is its time", head.said(index)));
        }
        let is_unnamed = |name: &Name| matches!(name.is, Is::Unknown | Is::SomeTime) && name.unit.is_none();
        let unnamed = |index: &usize| head.names.get(*index).is_some_and(is_unnamed);
        if at.is_empty()
            && let Some(index) = format.and_then(|columns| columns.place(role)).filter(unnamed)
        {
            assumed.push(format!("{} is its {}", head.said(index), role.name()));
            at.push(index);
        }
        // What a name says is told, also where the values are not so.
        if at.is_empty() && [Role::Time, Role::Lba, Role::Len].contains(&role) {
            at.extend(named.first());
        }
        if !at.is_empty() {
            roles.push((role, at));
        }
    }
    // Where no name says which the time is, it may be one that says that it is some time, if it grows.
    if !roles.iter().any(|(role, _)| Role::WHEN.contains(role)) {
        let is_free = |index: &usize| !roles.iter().any(|(_, at)| at.contains(index));
        let could_be = |index: &usize| head.names[*index].is == Is::SomeTime && head.could_be(*index, Role::Time) && head.grows(*index);
        let at: Vec<usize> = (0..head.names.len()).filter(|index| is_free(index) && could_be(index)).collect();
        if let [index] = at[..] {
            assumed.push(format!("{} is its time", head.said(index)));
        }
        if !at.is_empty() {
            roles.insert(0, (Role::Time, at));
        }
    }
    roles
}

/// What the columns of a text without names could be: the operation is a word, times never fall, and an address is what no size is. Each
/// way that the numbers leave open is one; nothing if they leave more of them open than can be asked.
fn roles_by_content(head: &Head<'_>) -> Vec<Roles> {
    const ASKED_MAX: usize = 4;
    // A word such as D may as well be the event that a line is of, or the name of a drive.
    let are_ops = |index: &usize| head.column(*index).all(|field| columns::op(field).is_some());
    let ways: Vec<Roles> = (0..head.names.len()).filter(are_ops).flat_map(|op| roles_beside(head, op)).collect();
    if ways.len() > ASKED_MAX { Vec::new() } else { ways }
}

/// The ways to read a text without names if column `op` has its operations.
fn roles_beside(head: &Head<'_>, op: usize) -> Vec<Roles> {
    let places = 0..head.names.len();
    let mut times: Vec<usize> =
        places.clone().filter(|index| *index != op && head.grows(*index) && head.could_be(*index, Role::Time)).collect();
    // Dates and fractions are times, and lines may have numbers of their own.
    let is_fraction = |index: usize| head.written_out(index).is_some() || head.column(index).any(|field| field.contains(['.', ',']));
    if times.iter().any(|index| is_fraction(*index)) {
        times.retain(|index| is_fraction(*index));
    }
    let number = |field: &str| number(field).map(|value| value as f64).or_else(|| field.parse::<f64>().ok().filter(|value| *value >= 0.0));
    let numbers: Vec<Numbers> = places
        .filter(|index| *index != op && !head.is_clock(*index))
        .filter_map(|index| Some(Numbers { index, all: head.column(index).map(number).collect::<Option<_>>()? }))
        .collect();
    if times.len() > 1 {
        times.retain(|index| !numbers.iter().any(|numbers| numbers.index == *index && numbers.are_counted()));
    }
    let mut ways = Vec::new();
    // A flush has no size, but a size of nothing is none.
    let flushes: Vec<bool> = head
        .column(op)
        .map(|word| columns::op(word).is_some_and(|op| op.flushes_before || matches!(op.op, None | Some(Op::Flush))))
        .collect();
    let has_sizes = |numbers: &Numbers| numbers.all.iter().zip(&flushes).all(|(number, flushes)| *number > 0.0 || *flushes);
    for time in &times {
        let rest: Vec<&Numbers> = numbers.iter().filter(|numbers| numbers.index != *time && !numbers.are_counted()).collect();
        for (lba, len) in Numbers::pairs(&rest) {
            if !numbers.iter().any(|numbers| numbers.index == len && has_sizes(numbers)) {
                continue;
            }
            ways.push(vec![(Role::Time, vec![*time]), (Role::Op, vec![op]), (Role::Lba, vec![lba]), (Role::Len, vec![len])]);
        }
    }
    ways
}

/// A column of numbers.
struct Numbers {
    index: usize,
    all: Vec<f64>,
}

impl Numbers {
    /// Whether they count the lines.
    fn are_counted(&self) -> bool {
        self.all.len() >= CONSTANT_ROWS && self.all[0] <= 1.0 && self.all.windows(2).all(|pair| pair[1] == pair[0] + 1.0)
    }

    fn are_one(&self) -> bool {
        self.all.iter().all(|number| *number == self.all[0])
    }

    fn most(&self) -> f64 {
        self.all.iter().copied().fold(0.0, f64::max)
    }

    /// Whether they are few numbers, again and again, as sizes are.
    fn are_few(&self) -> bool {
        let mut sorted = self.all.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.dedup();
        self.all.len() >= CONSTANT_ROWS && sorted.len() * 2 <= self.all.len()
    }

    fn are_multiples_of(&self, of: f64) -> bool {
        self.all.iter().all(|number| number % of == 0.0)
    }

    /// Which of several columns could be the address and the size.
    fn pairs(rest: &[&Self]) -> Vec<(usize, usize)> {
        if let [first, second] = rest[..] {
            return Self::pair(first, second);
        }
        // Of many numbers, those that are always the same are no addresses, but may be the size of all.
        let is_size = |numbers: &Self| numbers.all[0] > 0.0 && numbers.are_multiples_of(8.0);
        let (constant, others): (Vec<&Self>, Vec<&Self>) =
            rest.iter().copied().partition(|numbers| numbers.all.len() >= CONSTANT_ROWS && numbers.are_one());
        let sizes: Vec<&Self> = constant.into_iter().filter(|numbers| is_size(numbers)).collect();
        match others[..] {
            [lba] => sizes.iter().map(|len| (lba.index, len.index)).collect(),
            [first, second] => {
                let mut pairs = Self::pair(first, second);
                let lbas: Vec<usize> = pairs.iter().map(|(lba, _)| *lba).collect();
                pairs.extend(lbas.iter().flat_map(|lba| sizes.iter().map(|len| (*lba, len.index))));
                pairs
            }
            // With more numbers it could be any of them.
            _ => Vec::new(),
        }
    }

    /// Which of two columns could be the address and the size: sizes are few, and smaller than addresses.
    fn pair(first: &Self, second: &Self) -> Vec<(usize, usize)> {
        const FAR: f64 = 16.0;
        const VERY_FAR: f64 = 256.0;
        let mut ways = [(first, second), (second, first)];
        ways.sort_by(|one, other| other.0.most().total_cmp(&one.0.most()));
        let is_sure = |(lba, len): &(&Self, &Self)| {
            let is_larger = lba.most() >= len.most();
            let is_far = lba.most() >= len.most() * FAR;
            // Sizes in bytes are whole sectors, where addresses in sectors are not.
            let is_odd = lba.are_multiples_of(512.0) && !len.are_multiples_of(512.0) && lba.most() < len.most() * VERY_FAR;
            match (len.are_few(), lba.are_few()) {
                (true, false) => is_larger || len.are_one(),
                (false, true) => false,
                _ => is_far && !is_odd,
            }
        };
        let said = |(lba, len): &(&Self, &Self)| (lba.index, len.index);
        let sure = ways.iter().find(|way| is_sure(way));
        sure.map_or_else(|| ways.iter().map(said).collect(), |way| vec![said(way)])
    }
}

/// So many lines with one number have not got it by chance.
const CONSTANT_ROWS: usize = 8;

fn plausible_address_unit<'a>(mut amounts: impl Iterator<Item = &'a str>) -> AddressUnit {
    let whole_sectors = amounts.all(|amount| number(amount).is_none_or(|bytes| bytes.is_multiple_of(512)));
    if whole_sectors { AddressUnit::Bytes } else { AddressUnit::Sectors }
}

/// Times since 1970, or since the first second of 1601 where Windows counts, have so many digits; others are most often in us.
pub(super) fn plausible_time_unit<'a>(mut times: impl Iterator<Item = &'a str>) -> TimeUnit {
    let first = times.next().unwrap_or_default();
    // Dates of a form that is not known.
    if first.contains(['/', ':']) {
        return TimeUnit::Iso8601;
    }
    match (first.contains(['.', ',']), first.split(['.', ',']).next().map_or(0, str::len)) {
        (_, 19) => TimeUnit::Nanoseconds,
        (_, 18) => TimeUnit::HundredNanoseconds,
        (_, 16) => TimeUnit::Microseconds,
        (_, 13) => TimeUnit::Milliseconds,
        (true, _) | (_, 10) => TimeUnit::Seconds,
        _ => TimeUnit::Microseconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_says_what_it_assumes() {
        let proposal = |lines: &[&str]| {
            let first = FirstLines { lines: lines.iter().map(|line| (*line).to_owned()).collect(), ..FirstLines::default() };
            proposal(&first, &Preamble::of(&first.lines, &[]), None, None)
        };
        for (lines, expected) in [
            (
                &["timestamp,op,lba,len", "10,R,4096,4096", "20,W,8192,512"][..],
                "--columns time:us,op,lba:bytes,len:bytes reads it where addresses and sizes are in bytes, or --columns \
                 time:us,op,lba:sectors,len:sectors where all are in sectors of 512 bytes, if its times are in us",
            ),
            (
                &["timestamp,op,lba,len", "10,R,4097,4096", "20,W,8192,512"],
                "--columns time:us,op,lba:sectors,len:bytes reads it where sizes are in bytes, or --columns \
                 time:us,op,lba:sectors,len:sectors where all are in sectors of 512 bytes, if its times are in us",
            ),
            (&["time_ms;offset_bytes;size_bytes;rw", "1;0;512;W"], "--columns time:ms,lba:bytes,len:bytes,op reads it"),
            (
                &["a b 1690000000.5 R 1000 8", "a c 1690000001.5 W 900 16"],
                "--columns _,_,time:s,op,lba:sectors,len:sectors reads it, if column 3 is its time, column 4 is its operation, column 5 is its \
                 address and column 6 is its size, its times are in s and its addresses and sizes are in sectors of 512 bytes; blocks:4096 in place of sectors counts blocks of \
                 4 KiB",
            ),
            (
                &["id,op,ts,disk,lbn,blocks", "1,0,5,sda,8,3", "2,1,6,sda,8,3"],
                "--columns _,op,time:us,device,lba:sectors,len:sectors --ops write=0,read=1 reads it, if its times are in us, \
                 0 writes and 1 reads and its addresses and sizes are in sectors of 512 bytes; blocks:4096 in place of sectors counts blocks \
                 of 4 KiB",
            ),
            (
                &["Time(us);is_write;offset_kb;size_kb", "1;False;0;4", "2;True;4;4"],
                "--columns time:us,op,lba:kib,len:kib --ops write=True,read=False reads it",
            ),
            (
                &[
                    "header.sid,header.timestamp,header.size,io.lba,io.len,io.ioClass,io.operation,io.flush,io.fua",
                    "1,5,64,8,8,0,Read,false,false",
                    "2,5,64,0,0,0,Write,true,false",
                ],
                "--columns _,time:ns,_,lba:sectors,len:sectors,_,op,flush reads it",
            ),
            (
                &["ts_ns,opcode,nsid,slba,nlb", "1,0x02,1,2048,7", "2,0x01,1,8,15", "3,0x00,1,0,0"],
                "--columns time:ns,op,device,lba:sectors,nlb:sectors --ops write=0x01,read=0x02,trim=0x09,flush=0x00 \
                 reads it, if its `nlb` counts from 0, as in NVMe and its addresses and sizes are in sectors of 512 bytes; blocks:4096 in place of \
                 sectors counts blocks of 4 KiB",
            ),
            // Where two columns could be it, or where something is not told, it is asked for.
            (
                &["time_us,rw,offset,io_size,block_size", "1,R,0,4096,512"],
                "`io_size` (column 4) and `block_size` (column 5) could each be its len; say which is by its number, in place of LEN: \
                 --columns time=1:us,op=2,lba=3:bytes,len=LEN:bytes reads it then, if its addresses and sizes are in bytes",
            ),
            (&["time_us,rw,lba_4k,len_4k", "1,R,0,1"], "--columns time:us,op,lba:blocks:4096,len:blocks:4096 reads it"),
            (
                &["time_us,rw,lpn,bytes", "1,R,0,512"],
                "--columns time:us,op,lba:blocks:BYTES,len:bytes reads it; the bytes of a page are to be put for BYTES, as in \
                 blocks:4096",
            ),
            (
                &["time_us,op,lba_sectors,sectors", "1,get,8,8", "2,put,8,8"],
                "--columns time:us,op,lba:sectors,len:sectors --ops read=READS,write=WRITES reads it; for READS and WRITES the codes \
                 of its operations are to be put, such as `get` and `put`, as in --ops read=1,2,write=3,ignore=4",
            ),
            (
                &["time_us,cmd,lba_sectors,bytes", "1,0x2A,8,512", "2,0x88,8,512"],
                "--columns time:us,op,lba:sectors,len:bytes --ops \
                 write=0x2A,0x8A,0xAA,0x0A,0x2E,0x8E,0xAE,read=0x28,0x88,0xA8,0x08,trim=0x42,flush=0x35,0x91 reads it",
            ),
            // Of several times, the lines are in the order of one.
            (
                &["kind,sector,sectors,asked_ns,array_ns", "R,8,8,100,40", "W,16,8,200,30"],
                "--columns op,lba:sectors,len:sectors,time:ns reads it",
            ),
            // A name that is only a unit is assumed to be the time, and one beside others where nothing else is.
            (&["usec,op,lba_sectors,sectors", "1,R,8,8"], "--columns time:us,op,lba:sectors,len:sectors reads it, if `usec` is its time"),
            (
                &["mono_ns,op,lba_sectors,sectors", "1,R,8,8", "2,R,16,8"],
                "--columns time:ns,op,lba:sectors,len:sectors reads it, if `mono_ns` is its time",
            ),
            (&["time_us,mono_ns,op,lba_sectors,sectors", "1,7,R,8,8"], "--columns time:us,_,op,lba:sectors,len:sectors reads it"),
            (
                &["xx_ms,yy_us,op,lba_sectors,sectors", "1,1,R,8,8", "2,2,R,16,8"],
                "`xx_ms` (column 1) and `yy_us` (column 2) could each be its time; say which is by its number and unit, 1:ms or 2:us, in place of \
                 TIME: --columns time=TIME,op=3,lba=4:sectors,len=5:sectors reads it then",
            ),
            (
                &["seqno,rw,offset_bytes,size_bytes,rtt_us", "0,R,0,512,9", "1,R,512,512,10"],
                "no name among its columns says when a request came; put time:us, or another unit, in the place of the column that has it. \
                 Without times, played with --queue-depth N for the number that is always outstanding, --columns \
                 _,op,lba:bytes,len:bytes,latency:us reads it",
            ),
            (
                &["time_s,op,lba,len", "0.5,R,8,8,x", "0.6,R,8,8,y"],
                "its header line has 4 names and its lines have 5 fields, so that it is not known which field each names; --columns says what \
                 each field is, as in time:us,op,lba:sectors,len:bytes",
            ),
            (&["when,op,sector,sectors", "2024-05-31T23:59:59Z,R,8,8"], "--columns time:iso8601,op,lba:sectors,len:sectors reads it"),
            (
                &["when,op,sector,sectors", "23:59:59.5,R,8,8", "00:00:00.1,W,8,8"],
                "--columns time:clock,op,lba:sectors,len:sectors reads it",
            ),
            (
                &["time_ms;op;Block (4 KiB);sectors;service", "0,5;R;8;8;434us", "1,25;W;8;8;7us"],
                "--columns time:ms,op,lba:blocks:4096,len:sectors,latency:us reads it",
            ),
        ] {
            assert_eq!(proposal(lines).as_deref(), Some(expected));
        }
        for lines in [&["hello"][..], &["a,b,c", "1,2,3"], &["1 2 3 4 5 6 R", "1 2 3 4 5 6 R"], &[]] {
            assert_eq!(proposal(lines), None, "{lines:?}");
        }
    }
}
