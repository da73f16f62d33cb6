//! Which columns of a delimited text mean what: `time:us,op,lba:sectors,len:bytes`.
//!
//! A mapping names the columns in their order, or says for each role which column it is, by its number or by its name in the
//! header line: `time=3:us,op=Type,lba=Offset:bytes,len=Size:bytes`. A unit that is said nowhere is asked for, never guessed; only
//! the proposal that an error makes has one, and says that it is an assumption.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tinytail_config::did_you_mean;

use crate::text;
use crate::trace::units::{AddressUnit, BLOCKS, OpCodes, TimeUnit};

/// A mapping as it is written in messages.
pub(crate) const EXAMPLE: &str = "time:us,op,lba:sectors,len:bytes";

/// What a column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Time,
    /// The time since the line before.
    Delta,
    /// When it was complete: it came so long before as its latency says.
    Done,
    Op,
    Lba,
    Len,
    /// The last unit that it touches, in place of a size.
    Last,
    /// The first unit behind it, in place of a size.
    End,
    Device,
    /// Whether a request without data is a flush.
    Flush,
    /// How long it took when it was recorded.
    Latency,
}

pub(super) const ROLES: usize = 11;

impl Role {
    pub(super) const ALL: [Self; ROLES] = [
        Self::Time,
        Self::Delta,
        Self::Done,
        Self::Op,
        Self::Lba,
        Self::Len,
        Self::Last,
        Self::End,
        Self::Device,
        Self::Flush,
        Self::Latency,
    ];

    /// Roles that give the time of a request.
    pub(super) const WHEN: [Self; 3] = [Self::Time, Self::Delta, Self::Done];

    /// Roles that give the size of a request.
    pub(super) const HOW_LONG: [Self; 3] = [Self::Len, Self::Last, Self::End];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Delta => "delta",
            Self::Done => "done",
            Self::Op => "op",
            Self::Lba => "lba",
            Self::Len => "len",
            Self::Last => "last",
            Self::End => "end",
            Self::Device => "device",
            Self::Flush => "flush",
            Self::Latency => "latency",
        }
    }

    /// What the column may be called in a mapping.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["time", "timestamp", "ts", "arrival", "clock", "date"],
            Self::Delta => &["delta", "interarrival", "iat", "gap"],
            Self::Done => &["done", "complete", "completed", "completion", "finish", "finished"],
            Self::Op => &["op", "type", "operation", "opcode", "rw", "rwbs", "iotype", "action", "cmd", "command"],
            Self::Lba => &["lba", "offset", "address", "addr", "sector", "block", "lbn", "start", "position"],
            Self::Len => &["len", "length", "size", "bytes", "sectors", "blocks", "count", "nblocks", NLB],
            Self::Last => &["last"],
            Self::End => &["end"],
            Self::Device => &["device", "dev", "disk", "disknumber", "lun", "volume", "asu"],
            Self::Flush => &["flush"],
            Self::Latency => &["latency"],
        }
    }

    /// The role that a word of a mapping means. An end in a unit of time is when a request was complete.
    fn of(word: &str, unit: Option<&str>) -> Option<Self> {
        let role = Self::ALL.into_iter().find(|role| role.words().contains(&word))?;
        let is_time = role == Self::End && unit.is_some_and(|unit| unit.parse::<TimeUnit>().is_ok());
        Some(if is_time { Self::Done } else { role })
    }
}

/// What a column that chooses lines is called in a mapping, before the value that lines must have.
pub(super) const KEEP: &str = "keep";

/// A column, and the value in it of lines that are read; the others are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keep {
    pub(super) place: Place,
    pub(super) value: String,
}

impl Keep {
    /// How a value is written in a mapping: what means something there is `_`.
    pub(super) fn written(value: &str) -> String {
        value.replace(is_of_mapping, "_")
    }

    /// Whether a line with this value is read.
    #[inline]
    pub(super) fn keeps(value: &str, wanted: &str) -> bool {
        value.len() == wanted.len() && value.bytes().zip(wanted.bytes()).all(|(a, b)| a == b || b == b'_' && is_of_mapping(a.into()))
    }
}

/// Whether a letter can't be in a value of a mapping.
fn is_of_mapping(letter: char) -> bool {
    letter == ',' || letter == ':' || letter == '=' || letter.is_ascii_whitespace()
}

/// At the end of a mapping: lines may have any number of fields behind the columns that it names.
pub(super) const OPEN_END: &str = "...";

/// The size as NVMe has it, from 0 for one block.
pub(super) const NLB: &str = "nlb";

/// Where a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
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
    pub(super) places: Box<[Option<Place>; ROLES]>,
    /// Which lines are read, if not all are.
    pub(super) keeps: Vec<Keep>,
    /// True if lines may have any number of fields behind the columns that are named.
    pub(super) open_ended: bool,
    /// Unit of the times, if the mapping says one.
    pub(crate) time_unit: Option<TimeUnit>,
    /// Unit of the addresses, if known.
    pub(crate) lba_unit: Option<AddressUnit>,
    /// Unit of the sizes, if known.
    pub(crate) len_unit: Option<AddressUnit>,
    /// Unit of the latencies, which the mapping says if it has them.
    pub(super) latency_unit: Option<TimeUnit>,
    /// Whether sizes are one unit less than what they stand for.
    pub(super) nlb: bool,
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
        self.when().is_some()
    }

    /// The role that says when a request came, if there is one.
    pub(super) fn when(&self) -> Option<Role> {
        Role::WHEN.into_iter().find(|role| self.places[*role as usize].is_some())
    }

    /// Whether lines stand in the order of completion.
    pub(super) fn is_by_completion(&self) -> bool {
        self.when() == Some(Role::Done)
    }

    /// The role that says how long a request is.
    pub(super) fn how_long(&self) -> Role {
        Role::HOW_LONG.into_iter().find(|role| self.places[*role as usize].is_some()).unwrap_or(Role::Len)
    }

    /// The names of columns that it has, of which a header line must have all.
    pub(super) fn names(&self) -> Vec<&str> {
        let places = self.places.iter().flatten().chain(self.keeps.iter().map(|keep| &keep.place));
        places.filter_map(|place| if let Place::Name(name) = place { Some(name.as_str()) } else { None }).collect()
    }

    /// The same mapping with these units, where it has them.
    pub(crate) fn with_units(&self, time: Option<TimeUnit>, address: Option<AddressUnit>) -> String {
        let unit_of = |role: Role| match role {
            Role::Time | Role::Delta | Role::Done => self.time_unit.or(time).map(|unit| unit.to_string()),
            Role::Lba => self.lba_unit.or(address).map(|unit| unit.to_string()),
            Role::Len | Role::Last | Role::End => self.len_unit.or(address).map(|unit| unit.to_string()),
            Role::Latency => self.latency_unit.map(|unit| unit.to_string()),
            Role::Op | Role::Device | Role::Flush => None,
        };
        let part = |part: &str| {
            let (bare, unit) = without_unit(part.trim());
            let role = Role::of(bare.split_once('=').map_or(bare, |(role, _)| role), unit);
            role.and_then(unit_of).map_or_else(|| part.trim().to_owned(), |unit| format!("{bare}:{unit}"))
        };
        self.written.split(',').map(part).collect::<Vec<_>>().join(",")
    }

    /// Return the mapping without a role: its column is skipped.
    pub(super) fn without(&self, role: Role) -> Self {
        let by_name = self.written.contains('=');
        let is_of = |part: &&str| Role::of(part.trim().split([':', '=']).next().unwrap_or_default(), None) == Some(role);
        let parts = self.written.split(',').filter(|part| !by_name || !is_of(part));
        let written = parts.map(|part| if is_of(&part) { "_" } else { part }).collect::<Vec<_>>().join(",");
        let mut without = Self { written, ..self.clone() };
        without.places[role as usize] = None;
        without
    }

    /// Return the mapping with the address and size columns exchanged. Each column keeps its unit.
    pub(super) fn exchanged(&self) -> Self {
        let part = |part: &str| {
            let name = part.trim().split([':', '=']).next().unwrap_or_default();
            let other = match Role::of(name, None) {
                Some(Role::Lba) => Role::Len,
                Some(Role::Len) => Role::Lba,
                _ => return part.to_owned(),
            };
            part.trim().replacen(name, other.name(), 1)
        };
        let written = self.written.split(',').map(part).collect::<Vec<_>>().join(",");
        let mut exchanged = Self { written, lba_unit: self.len_unit, len_unit: self.lba_unit, ..self.clone() };
        exchanged.places.swap(Role::Lba as usize, Role::Len as usize);
        exchanged
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
            keeps: Vec::new(),
            open_ended: false,
        };
        let by_name = written.contains('=');
        let named = written.trim_end().strip_suffix(OPEN_END).and_then(|rest| rest.trim_end().strip_suffix(','));
        columns.open_ended = named.is_some();
        for (number, part) in (1..).zip(named.unwrap_or(written).split(',').map(str::trim)) {
            if matches!(part, "" | "-" | "_") && !by_name {
                continue;
            }
            let (mut bare, mut unit) = without_unit(part);
            // A value of lines stands where others have a unit.
            if let Some((keep, value)) =
                part.rsplit_once(':').filter(|(keep, _)| keep.split_once('=').map_or(*keep, |(word, _)| word).trim() == KEEP)
            {
                (bare, unit) = (keep.trim(), Some(value));
            }
            let (word, place) = match bare.split_once('=') {
                Some((_, "")) => return fault(format!("{} names no column", text::quoted(part))),
                Some((word, place)) => (word.trim(), place.trim().parse().map_or_else(|_| Place::Name(place.trim().into()), Place::Number)),
                None if by_name => return fault(format!("{} does not say which column it is, as others do by `=`", text::quoted(part))),
                None => (bare, Place::Number(number)),
            };
            if place == Place::Number(0) {
                return fault("columns are counted from 1".into());
            }
            if word == KEEP {
                match unit.map(str::trim).filter(|value| !value.is_empty()) {
                    Some(value) => columns.keeps.push(Keep { place, value: value.into() }),
                    None => return fault("keep has no value of the lines that are read, as in `keep:issue`".into()),
                }
                continue;
            }
            let Some(role) = Role::of(word, unit) else {
                let names: Vec<&str> = Role::ALL.into_iter().map(Role::name).chain([KEEP]).collect();
                let hint = did_you_mean(word, names.iter().copied());
                return fault(format!("{} is none of {} and `_` for a column that is skipped{hint}", text::quoted(word), names.join(", ")));
            };
            if columns.places[role as usize].replace(place).is_some() {
                return fault(format!("{} is given twice", role.name()));
            }
            columns.nlb |= word == NLB;
            let Some(unit) = unit else { continue };
            let known = match role {
                Role::Delta | Role::Latency if TimeUnit::WRITTEN_OUT.iter().any(|written_out| unit == written_out.name()) => {
                    Err(format!("a {} is a number of a unit, such as us", role.name()))
                }
                Role::Time | Role::Delta | Role::Done => unit.parse().map(|unit| columns.time_unit = Some(unit)),
                Role::Lba => unit.parse().map(|unit| columns.lba_unit = Some(unit)),
                Role::Len | Role::Last | Role::End => unit.parse().map(|unit| columns.len_unit = Some(unit)),
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
        let given =
            |roles: &[Role]| roles.iter().filter(|role| columns.places[**role as usize].is_some()).map(|role| role.name()).collect();
        for roles in [&Role::WHEN, &Role::HOW_LONG] {
            let given: Vec<&str> = given(roles);
            if given.len() > 1 {
                return fault(format!("{} say the same; one of them is read", given.join(" and ")));
            }
        }
        if columns.is_by_completion() && columns.places[Role::Latency as usize].is_none() {
            return fault("done is when a request was complete, and latency is missing, which says how long before it came".into());
        }
        for (roles, name) in [(&[Role::Op][..], "op"), (&[Role::Lba], "lba"), (&Role::HOW_LONG, "len")] {
            if given(roles).is_empty() {
                return fault(format!("{name} is missing"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faulty_mappings_say_what_is_wrong() {
        for (columns, expected) in [
            ("time,op,lba", "len is missing"),
            ("time,op,lba,len,op", "op is given twice"),
            (
                "time,opp,lba,len",
                "`opp` is none of time, delta, done, op, lba, len, last, end, device, flush, latency, keep and `_` for a column that is skipped (did you mean `op`?)",
            ),
            ("time:bytes,op,lba,len", "`bytes` is not a time unit"),
            ("time,op,lba:us,len", "`us` is not an address unit"),
            ("time,op:us,lba,len", "op has no unit"),
            ("time,op,lba,len,latency", "latency has no unit, as in `latency:us`"),
            ("time=0,op=2,lba=3,len=4", "columns are counted from 1"),
            ("time=,op=2,lba=3,len=4", "`time=` names no column"),
            ("time,op=2,lba=3,len=4", "`time` does not say which column it is"),
            ("", "op is missing"),
            ("time,done,op,lba,len,latency:us", "time and done say the same"),
            ("time,op,lba,len,last", "len and last say the same"),
            ("done:us,op,lba,len", "latency is missing, which says how long before it came"),
            ("end:us,op,lba,len", "latency is missing"),
            ("delta:iso8601,op,lba,len", "a delta is a number of a unit"),
            ("keep,time,op,lba,len", "keep has no value"),
            ("keep:,time,op,lba,len", "keep has no value"),
        ] {
            let message = columns.parse::<Columns>().unwrap_err();
            assert!(message.contains(expected) && message.contains("expected for example `time:us,"), "{message}");
        }
        let columns: Columns = "timestamp,op,offset,size".parse().unwrap();
        assert_eq!(columns.with_units(Some(TimeUnit::Microseconds), Some(AddressUnit::Bytes)), "timestamp:us,op,offset:bytes,size:bytes");
        let named: Columns = "time=t:ms,op=2,lba=x,len=y:bytes".parse().unwrap();
        assert_eq!(named.with_units(Some(TimeUnit::Microseconds), Some(AddressUnit::Sectors)), "time=t:ms,op=2,lba=x:sectors,len=y:bytes");
    }

    #[test]
    fn lines_are_kept_by_a_value_of_a_column() {
        let columns: Columns = "time:s,keep:block_rq_issue,op,lba:sectors,end:bytes".parse().unwrap();
        assert_eq!(columns.keeps, [Keep { place: Place::Number(2), value: "block_rq_issue".into() }]);
        assert_eq!((columns.how_long(), columns.with_units(None, None)), (Role::End, columns.to_string()));
        let named: Columns = "keep=what is it:D,keep=7:ok,end=t:ms,op=2,lba=x,len=y:bytes,latency=4:us".parse().unwrap();
        assert_eq!(named.keeps[0], Keep { place: Place::Name("what is it".into()), value: "D".into() });
        assert_eq!(
            (named.keeps[1].place.clone(), named.when(), named.names()),
            (Place::Number(7), Some(Role::Done), vec!["t", "x", "y", "what is it"])
        );
        for value in ["issue", "I/O: issue, now", "a=b c", "µ"] {
            let written = Keep::written(value);
            let columns: Columns = format!("time,keep:{written},op,lba,len").parse().unwrap();
            assert!(Keep::keeps(value, &columns.keeps[0].value) && !written.contains(' '), "{value}");
            assert!(!Keep::keeps("other", &written) && !Keep::keeps(&format!("{value}x"), &written));
        }
    }
}
