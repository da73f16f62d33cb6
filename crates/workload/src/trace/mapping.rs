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
    Op,
    Lba,
    Len,
    Device,
    /// Whether a request without data is a flush.
    Flush,
    /// How long it took when it was recorded.
    Latency,
}

pub(super) const ROLES: usize = 7;

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
