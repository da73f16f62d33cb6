//! The units and codes in which a trace may be written.

use std::fmt;
use std::str::FromStr;

use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tinytail_config::did_you_mean;
use tinytail_core::commands::CommandKind;
use tinytail_core::units::SECTOR_BYTES;

use crate::text;
use crate::trace::op::Op;

/// The unit of a trace's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Hundreds of nanoseconds, the ticks of a Windows file time.
    #[serde(rename = "100ns")]
    HundredNanoseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Minutes.
    #[serde(rename = "min")]
    Minutes,
    /// Hours.
    #[serde(rename = "h")]
    Hours,
    /// None: dates with times, as ISO 8601 has them.
    #[serde(rename = "iso8601")]
    Iso8601,
    /// None: dates with times, whose month is first, as `05/31/2024 11:59:59 PM`.
    #[serde(rename = "mdy")]
    MonthFirst,
    /// None: dates with times, whose day is first, as `31.05.2024 23:59:59`.
    #[serde(rename = "dmy")]
    DayFirst,
    /// None: times of day. One that is more than 12 hours before the latest is of the next day.
    #[serde(rename = "clock")]
    Clock,
}

impl TimeUnit {
    /// All units of numbers, shortest first.
    pub const ALL: [Self; 7] =
        [Self::Nanoseconds, Self::HundredNanoseconds, Self::Microseconds, Self::Milliseconds, Self::Seconds, Self::Minutes, Self::Hours];

    /// Those that times most often have.
    pub const USUAL: [Self; 5] = [Self::Nanoseconds, Self::HundredNanoseconds, Self::Microseconds, Self::Milliseconds, Self::Seconds];

    /// Units of times that are written out as a date or a time of day, and not as a number.
    pub const WRITTEN_OUT: [Self; 4] = [Self::Iso8601, Self::Clock, Self::MonthFirst, Self::DayFirst];

    /// Units that the times themselves show: the other two differ only in the order of day and month.
    pub(super) const TOLD: [Self; 2] = [Self::Iso8601, Self::Clock];

    /// The unit of numbers that a word in small letters stands for.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        const WORDS: [&[&str]; 7] = [
            &["ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanosecond", "nanoseconds"],
            &["100ns", "filetime"],
            &["us", "µs", "μs", "usec", "usecs", "microsec", "microsecs", "microsecond", "microseconds"],
            &["ms", "msec", "msecs", "millis", "millisec", "millisecs", "millisecond", "milliseconds"],
            &["s", "sec", "secs", "seconds", "second"],
            &["min", "mins", "minute", "minutes"],
            &["h", "hr", "hrs", "hour", "hours"],
        ];
        Self::ALL.into_iter().zip(WORDS).find_map(|(unit, words)| words.contains(&word).then_some(unit))
    }

    /// Nanoseconds in one unit. What is written out has nanoseconds at most.
    #[must_use]
    pub fn ns(self) -> u64 {
        match self {
            Self::Nanoseconds | Self::Iso8601 | Self::MonthFirst | Self::DayFirst | Self::Clock => 1,
            Self::HundredNanoseconds => 100,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
            Self::Minutes => 60_000_000_000,
            Self::Hours => 3_600_000_000_000,
        }
    }

    /// How the unit is written: `ns`, `100ns`, `us`, `ms`, `s`, `min`, `h`, `iso8601`, `clock`, `mdy` or `dmy`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::HundredNanoseconds => "100ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Minutes => "min",
            Self::Hours => "h",
            Self::Iso8601 => "iso8601",
            Self::MonthFirst => "mdy",
            Self::DayFirst => "dmy",
            Self::Clock => "clock",
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().chain(Self::WRITTEN_OUT).find(|unit| unit.name() == word).ok_or_else(|| {
            format!("{} is not a time unit; expected ns, 100ns, us, ms, s, min, h, iso8601, clock, mdy or dmy", text::quoted(word))
        })
    }
}

/// The event in the life of a request that counts as its arrival, in a format that records several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Event {
    /// Queued: handed to the block layer, before merging and scheduling.
    #[serde(rename = "Q")]
    Queued,
    /// Inserted: given to the scheduler.
    #[serde(rename = "I")]
    Inserted,
    /// Issued: handed to the driver of the device.
    #[serde(rename = "D")]
    Issued,
    /// Got: the block layer got a structure for the request, before it was scheduled.
    #[serde(rename = "G")]
    Got,
}

impl Event {
    /// How it is written: `Q`, `I`, `D` or `G`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "Q",
            Self::Inserted => "I",
            Self::Issued => "D",
            Self::Got => "G",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A device of a trace, by its number or its name as the trace writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct DeviceName(String);

impl DeviceName {
    /// The name, or the number in decimal.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<u32> for DeviceName {
    fn from(number: u32) -> Self {
        Self(number.to_string())
    }
}

impl From<&str> for DeviceName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for DeviceName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrName;

        impl Visitor<'_> for NumberOrName {
            type Value = DeviceName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a device's number or name")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<DeviceName, E> {
                Ok(DeviceName(number.to_string()))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<DeviceName, E> {
                u64::try_from(number)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
                    .and_then(|number| self.visit_u64(number))
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<DeviceName, E> {
                Ok(DeviceName(name.into()))
            }
        }

        deserializer.deserialize_any(NumberOrName)
    }
}

impl schemars::JsonSchema for DeviceName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DeviceName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A device of a trace, by its number or its name.",
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }]
        })
    }
}

/// The unit of a trace's addresses and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AddressUnit {
    /// Sectors of 512 bytes.
    Sectors,
    /// Bytes. What is not whole sectors is widened to the sectors that it touches.
    Bytes,
    /// KiB.
    Kib,
    /// Blocks of so many bytes, a power of two.
    Blocks(u32),
}

/// What a unit of blocks begins with, before their bytes.
pub(super) const BLOCKS: &str = "blocks";

impl AddressUnit {
    /// Those of a fixed size.
    const FIXED: [(Self, &str); 3] = [(Self::Sectors, "sectors"), (Self::Bytes, "bytes"), (Self::Kib, "kib")];

    /// The unit of so many bytes, a power of two.
    pub(super) fn of(bytes: u64) -> Option<Self> {
        let blocks = || u32::try_from(bytes).ok().map(Self::Blocks);
        Self::FIXED.iter().map(|(unit, _)| *unit).find(|unit| u64::from(unit.bytes()) == bytes).or_else(blocks)
    }

    /// Bytes in one unit.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::Sectors => SECTOR_BYTES,
            Self::Bytes => 1,
            Self::Kib => 1024,
            Self::Blocks(bytes) => bytes,
        }
    }
}

/// `sectors`, `bytes`, `kib`, or `blocks:4096` with the bytes of a block.
impl fmt::Display for AddressUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, Self::FIXED.iter().find(|(unit, _)| unit == self)) {
            (Self::Blocks(bytes), _) => write!(f, "{BLOCKS}:{bytes}"),
            (_, fixed) => f.write_str(fixed.map_or("", |(_, name)| name)),
        }
    }
}

impl FromStr for AddressUnit {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if let Some((unit, _)) = Self::FIXED.iter().find(|(_, name)| *name == word) {
            return Ok(*unit);
        }
        let Some(bytes) = word.strip_prefix(BLOCKS).filter(|bytes| bytes.is_empty() || bytes.starts_with(':')) else {
            return Err(format!(
                "{} is not an address unit; expected sectors, bytes, kib, or blocks of so many bytes, as blocks:4096",
                text::quoted(word)
            ));
        };
        match bytes.strip_prefix(':').and_then(|bytes| bytes.parse::<u32>().ok()).filter(|bytes| bytes.is_power_of_two()) {
            Some(bytes) => Ok(Self::Blocks(bytes)),
            None => Err(format!("{} does not say how many bytes a block has, a power of two, as blocks:4096 does", text::quoted(word))),
        }
    }
}

impl TryFrom<String> for AddressUnit {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        word.parse()
    }
}

impl From<AddressUnit> for String {
    fn from(unit: AddressUnit) -> Self {
        unit.to_string()
    }
}

impl schemars::JsonSchema for AddressUnit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AddressUnit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "The unit of a trace's addresses and sizes: `sectors` of 512 bytes, `bytes`, `kib`, or blocks of so many bytes, a power of two, such as `blocks:4096`.",
            "pattern": "^(sectors|bytes|kib|blocks:[0-9]+)$"
        })
    }
}

/// The words by which a trace says read, write and, if it does, trim and flush, and those of requests that are left out; written
/// `write=0,read=1` or `write=3,4,read=1,2,trim=5,flush=6,ignore=7,8`. Without words for read and write, the usual ones hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OpCodes {
    /// By meaning, in the order of [`MEANINGS`].
    words: [Vec<String>; MEANINGS.len()],
}

/// What a word can mean, by what it is called.
const MEANINGS: [(&str, Option<Op>); 5] =
    [("write", Some(Op::Write)), ("read", Some(Op::Read)), ("trim", Some(Op::Trim)), ("flush", Some(Op::Flush)), ("ignore", None)];

/// What a trace's word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// An operation.
    Op(Op),
    /// That the request is left out; with the number of the word among those that mean this.
    Ignored(usize),
}

impl OpCodes {
    /// The default with a word for trims, 2.
    #[must_use]
    pub fn with_trim() -> Self {
        let mut codes = Self::default();
        codes.of_mut(Op::Trim).push("2".into());
        codes
    }

    /// The default with words for trims, 2, and for flushes, 3.
    #[must_use]
    pub fn with_trim_and_flush() -> Self {
        let mut codes = Self::with_trim();
        codes.of_mut(Op::Flush).push("3".into());
        codes
    }

    fn place(op: Op) -> usize {
        MEANINGS.iter().position(|(_, meaning)| *meaning == Some(op)).expect("every operation is one of the meanings")
    }

    fn of(&self, op: Op) -> &[String] {
        &self.words[Self::place(op)]
    }

    fn of_mut(&mut self, op: Op) -> &mut Vec<String> {
        &mut self.words[Self::place(op)]
    }

    /// What a trace's word means, if it is one of them.
    #[must_use]
    #[inline]
    pub fn code(&self, word: &str) -> Option<Code> {
        self.words.iter().zip(MEANINGS).find_map(|(words, (_, op))| {
            let place = words.iter().position(|known| known == word)?;
            Some(op.map_or(Code::Ignored(place), Code::Op))
        })
    }

    /// The operation that a trace's word means, if it is one for that.
    #[must_use]
    pub fn op(&self, word: &str) -> Option<Op> {
        match self.code(word) {
            Some(Code::Op(op)) => Some(op),
            Some(Code::Ignored(_)) | None => None,
        }
    }

    /// The words of requests that are left out.
    #[must_use]
    pub fn ignored(&self) -> &[String] {
        &self.words[MEANINGS.len() - 1]
    }

    /// Whether there are words for read and write, in place of the usual ones.
    pub(super) fn has_reads_and_writes(&self) -> bool {
        !self.of(Op::Read).is_empty()
    }

    /// These, with the words for read and write of others, where there are none.
    pub(super) fn or_reads_and_writes_of(mut self, usual: &Self) -> Result<Self, String> {
        if !self.has_reads_and_writes() {
            for op in [Op::Read, Op::Write] {
                *self.of_mut(op) = usual.of(op).to_vec();
            }
        }
        self.check()?;
        Ok(self)
    }

    /// The first word for a flush, if there is one.
    #[must_use]
    pub fn flush_code(&self) -> Option<&str> {
        self.of(Op::Flush).first().map(String::as_str)
    }

    /// The first word for a kind of command, if there is one.
    #[must_use]
    pub fn code_of(&self, kind: CommandKind) -> Option<&str> {
        self.of(Op::from(kind)).first().map(String::as_str)
    }

    /// Finds a word that has two meanings.
    fn check(&self) -> Result<(), String> {
        let words: Vec<&String> = self.words.iter().flatten().collect();
        match words.iter().enumerate().find(|(index, word)| words[..*index].contains(word)) {
            Some((_, word)) => Err(format!("two of them have the same code, {}", text::quoted(word))),
            None => Ok(()),
        }
    }
}

/// The codes of DiskSim, SSDSim and MQSim: 0 writes, 1 reads.
impl Default for OpCodes {
    fn default() -> Self {
        Self { words: [vec!["0".into()], vec!["1".into()], Vec::new(), Vec::new(), Vec::new()] }
    }
}

impl fmt::Display for OpCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = self.words.iter().zip(MEANINGS).filter(|(words, _)| !words.is_empty());
        let parts: Vec<String> = given.map(|(words, (name, _))| format!("{name}={}", words.join(","))).collect();
        f.write_str(&parts.join(","))
    }
}

impl FromStr for OpCodes {
    type Err = String;

    fn from_str(codes: &str) -> Result<Self, String> {
        let fault = |what: &str| {
            format!("`ops` is {}: {what}; expected for example `write=0,read=1` or `read=1,2,write=3,ignore=4`", text::quoted(codes))
        };
        let mut words: [Vec<String>; MEANINGS.len()] = Default::default();
        let mut place = None;
        for part in codes.split(',') {
            let code = match part.split_once('=') {
                None => part.trim(),
                Some((kind, code)) => {
                    let kind = kind.trim();
                    let Some(found) = MEANINGS.iter().position(|(name, _)| *name == kind) else {
                        let names = MEANINGS.map(|(name, _)| name);
                        return Err(fault(&format!("{} is none of {}{}", text::quoted(kind), names.join(", "), did_you_mean(kind, names))));
                    };
                    if !words[found].is_empty() {
                        return Err(fault(&format!("{kind} is given twice; several codes of one are written {kind}=1,2")));
                    }
                    place = Some(found);
                    code.trim()
                }
            };
            let Some(place) = place else { return Err(fault("the first part is without `=`")) };
            if code.is_empty() {
                return Err(fault("a code is missing"));
            }
            words[place].push(code.to_owned());
        }
        let codes = Self { words };
        codes.check().map_err(|what| fault(&what))?;
        if codes.of(Op::Read).is_empty() != codes.of(Op::Write).is_empty() {
            return Err(fault("one of read and write is missing"));
        }
        Ok(codes)
    }
}

impl TryFrom<String> for OpCodes {
    type Error = String;

    fn try_from(codes: String) -> Result<Self, String> {
        codes.parse()
    }
}

impl From<OpCodes> for String {
    fn from(codes: OpCodes) -> Self {
        codes.to_string()
    }
}

impl schemars::JsonSchema for OpCodes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OpCodes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "The words by which a trace says read, write and, if it does, trim and flush, and those of requests that are left out, for example `write=0,read=1` or `read=1,2,write=3,ignore=4`.",
            "pattern": "^\\s*(read|write|trim|flush|ignore)\\s*=[^,=]+(,\\s*((read|write|trim|flush|ignore)\\s*=)?[^,=]+)*$"
        })
    }
}

/// How many faulty lines of a trace may be left out, written `100` or `0.5%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "LinesOrShare", into = "LinesOrShare")]
pub enum SkipFaulty {
    /// So many of them.
    Lines(u64),
    /// So many of a million lines.
    PerMillion(u32),
}

/// As it is written.
#[derive(Clone, Deserialize, Serialize)]
#[serde(untagged)]
enum LinesOrShare {
    Lines(u64),
    Text(String),
}

impl SkipFaulty {
    /// Whether so many of these lines are no more than may be left out.
    #[must_use]
    pub fn allows(self, faulty: u64, lines: u64) -> bool {
        match self {
            Self::Lines(most) => faulty <= most,
            Self::PerMillion(share) => u128::from(faulty) * 1_000_000 <= u128::from(lines) * u128::from(share),
        }
    }

    fn share(share: u32) -> String {
        format!("{}%", f64::from(share) / 1e4)
    }
}

impl fmt::Display for SkipFaulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines(1) => f.write_str("1 line"),
            Self::Lines(most) => write!(f, "{} lines", text::grouped(*most)),
            Self::PerMillion(share) => write!(f, "{} of the lines", Self::share(*share)),
        }
    }
}

impl FromStr for SkipFaulty {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let word = written.trim();
        if let Ok(lines) = word.parse() {
            return Ok(Self::Lines(lines));
        }
        let percent = word.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        match percent.filter(|percent| (0.0..=100.0).contains(percent)) {
            Some(percent) => Ok(Self::PerMillion((percent * 1e4).round() as u32)),
            None => Err(format!(
                "`skip_faulty` is {}; expected a number of lines, or a share of them from 0% to 100%, such as 0.5%",
                text::quoted(written)
            )),
        }
    }
}

impl TryFrom<LinesOrShare> for SkipFaulty {
    type Error = String;

    fn try_from(written: LinesOrShare) -> Result<Self, String> {
        match written {
            LinesOrShare::Lines(lines) => Ok(Self::Lines(lines)),
            LinesOrShare::Text(text) => text.parse(),
        }
    }
}

impl From<SkipFaulty> for LinesOrShare {
    fn from(skip: SkipFaulty) -> Self {
        match skip {
            SkipFaulty::Lines(lines) => Self::Lines(lines),
            SkipFaulty::PerMillion(share) => Self::Text(SkipFaulty::share(share)),
        }
    }
}

impl schemars::JsonSchema for SkipFaulty {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SkipFaulty".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "How many faulty lines of a trace may be left out: so many, or a share of its lines, such as `0.5%`.",
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn op_codes_are_read_and_written() {
        let codes: OpCodes = "read=R, write=W".parse().unwrap();
        assert_eq!(codes.op("R"), Some(Op::Read));
        assert_eq!(codes.op("W"), Some(Op::Write));
        assert_eq!(codes.op("0"), None);
        assert_eq!(codes.to_string(), "write=W,read=R");
        assert_eq!("write=0,read=1".parse(), Ok(OpCodes::default()));
        assert_eq!("write=0,read=1,trim=2".parse(), Ok(OpCodes::with_trim()));
        let codes: OpCodes = "trim=D,read=R,write=W".parse().unwrap();
        assert_eq!((codes.op("D"), codes.code_of(CommandKind::Trim)), (Some(Op::Trim), Some("D")));
        assert_eq!(codes.to_string(), "write=W,read=R,trim=D");
        assert_eq!("flush=3,write=0,trim=2,read=1".parse(), Ok(OpCodes::with_trim_and_flush()));
        let codes: OpCodes = "write=W,read=R,flush=F".parse().unwrap();
        assert_eq!((codes.op("F"), codes.flush_code(), codes.code_of(CommandKind::Trim)), (Some(Op::Flush), Some("F"), None));
        assert_eq!(codes.to_string(), "write=W,read=R,flush=F");
    }

    #[test]
    fn several_codes_may_mean_one_thing_and_others_nothing() {
        let codes: OpCodes = "read=1,2, 5,write=3,Write Same,ignore=35,a1".parse().unwrap();
        for (word, code) in [
            ("1", Some(Code::Op(Op::Read))),
            ("5", Some(Code::Op(Op::Read))),
            ("Write Same", Some(Code::Op(Op::Write))),
            ("35", Some(Code::Ignored(0))),
            ("a1", Some(Code::Ignored(1))),
            ("4", None),
        ] {
            assert_eq!(codes.code(word), code, "{word}");
        }
        assert_eq!((codes.op("a1"), codes.ignored()), (None, &["35".to_owned(), "a1".to_owned()][..]));
        assert_eq!(codes.to_string(), "write=3,Write Same,read=1,2,5,ignore=35,a1");
        assert_eq!(codes.to_string().parse(), Ok(codes));
        // Without reads and writes, the usual ones hold.
        let codes: OpCodes = "ignore=7".parse().unwrap();
        assert_eq!(codes.clone().or_reads_and_writes_of(&OpCodes::default()).unwrap().to_string(), "write=0,read=1,ignore=7");
        let codes: OpCodes = "ignore=1".parse().unwrap();
        assert!(codes.or_reads_and_writes_of(&OpCodes::default()).unwrap_err().contains("the same code, `1`"));
    }

    #[test]
    fn faulty_op_codes_say_what_is_wrong() {
        for (codes, message) in [
            ("write", "without `=`"),
            ("write=0", "missing"),
            ("write=0,read=0", "same code, `0`"),
            ("write=0,write=1", "write is given twice; several codes of one are written write=1,2"),
            ("write=0,read=1,trim=1", "same code"),
            ("write=0,read=1,trim=2,flush=2", "same code"),
            ("write=0,read=1,ignore=3,1", "same code, `1`"),
            ("write=0,trim=1", "missing"),
            ("write=0,raed=1", "`raed` is none of write, read, trim, flush, ignore (did you mean `read`?)"),
            ("write=,read=1", "a code is missing"),
            ("write=1,,read=2", "a code is missing"),
        ] {
            let error = codes.parse::<OpCodes>().unwrap_err();
            assert!(error.contains(message), "{codes}: {error}");
        }
    }

    #[test]
    fn units_are_parsed_by_their_names() {
        for unit in TimeUnit::ALL.into_iter().chain(TimeUnit::WRITTEN_OUT) {
            assert_eq!(unit.name().parse(), Ok(unit));
        }
        assert!("usec".parse::<TimeUnit>().unwrap_err().contains("expected ns, 100ns, us, ms, s, min, h, iso8601, clock, mdy or dmy"));
        for unit in [AddressUnit::Sectors, AddressUnit::Bytes, AddressUnit::Kib, AddressUnit::Blocks(4096), AddressUnit::Blocks(1)] {
            assert_eq!(unit.to_string().parse(), Ok(unit));
        }
        assert_eq!(("blocks:1048576".parse::<AddressUnit>().unwrap().bytes(), AddressUnit::Kib.bytes()), (1 << 20, 1024));
        for (word, message) in [
            ("sector", "expected sectors, bytes, kib, or blocks of so many bytes, as blocks:4096"),
            ("blocksize", "expected sectors, bytes, kib"),
            ("blocks", "does not say how many bytes a block has"),
            ("blocks:", "a power of two"),
            ("blocks:4000", "a power of two"),
            ("blocks:0", "a power of two"),
            ("blocks:4k", "a power of two"),
            ("blocks:4294967296", "a power of two"),
        ] {
            let error = word.parse::<AddressUnit>().unwrap_err();
            assert!(error.contains(message), "{word}: {error}");
        }
    }

    #[test]
    fn faulty_lines_are_counted_or_a_share() {
        let read = |text: &str| toml::from_str::<toml::Table>(text).unwrap()["skip"].clone().try_into::<SkipFaulty>();
        let lines = read("skip = 3").unwrap();
        assert_eq!((lines, lines.allows(3, 4), lines.allows(4, 1_000)), (SkipFaulty::Lines(3), true, false));
        assert_eq!(read("skip = \"3\"").unwrap(), lines);
        let share = read("skip = \"0.5%\"").unwrap();
        assert_eq!((share.allows(1, 200), share.allows(1, 199), share.allows(0, 0)), (true, false, true));
        assert_eq!([lines.to_string(), share.to_string()], ["3 lines", "0.5% of the lines"]);
        for faulty in ["skip = \"101%\"", "skip = \"-1%\"", "skip = -1", "skip = \"many\""] {
            assert!(read(faulty).is_err(), "{faulty}");
        }
    }
}
