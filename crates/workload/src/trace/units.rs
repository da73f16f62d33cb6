//! The units and codes in which a trace may be written.

use std::fmt;
use std::str::FromStr;

use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tinytail_core::commands::CommandKind;
use tinytail_core::units::SECTOR_BYTES;

use crate::text;
use crate::trace::Op;

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
}

impl TimeUnit {
    /// All units, shortest first.
    pub const ALL: [Self; 5] = [Self::Nanoseconds, Self::HundredNanoseconds, Self::Microseconds, Self::Milliseconds, Self::Seconds];

    /// Nanoseconds in one unit.
    #[must_use]
    pub fn ns(self) -> u64 {
        match self {
            Self::Nanoseconds => 1,
            Self::HundredNanoseconds => 100,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }

    /// How the unit is written: `ns`, `100ns`, `us`, `ms` or `s`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::HundredNanoseconds => "100ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
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
        Self::ALL
            .into_iter()
            .find(|unit| unit.name() == word)
            .ok_or_else(|| format!("{} is not a time unit; expected ns, 100ns, us, ms or s", text::quoted(word)))
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
}

impl Event {
    /// How it is written: `Q`, `I` or `D`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "Q",
            Self::Inserted => "I",
            Self::Issued => "D",
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AddressUnit {
    /// Sectors of 512 bytes.
    Sectors,
    /// Bytes. What is not whole sectors is widened to the sectors that it touches.
    Bytes,
    /// KiB.
    Kib,
}

impl AddressUnit {
    const ALL: [Self; 3] = [Self::Sectors, Self::Bytes, Self::Kib];

    /// Bytes in one unit.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::Sectors => SECTOR_BYTES,
            Self::Bytes => 1,
            Self::Kib => 1024,
        }
    }

    /// How the unit is written: `sectors`, `bytes` or `kib`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sectors => "sectors",
            Self::Bytes => "bytes",
            Self::Kib => "kib",
        }
    }
}

impl fmt::Display for AddressUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AddressUnit {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|unit| unit.name() == word)
            .ok_or_else(|| format!("{} is not an address unit; expected sectors, bytes or kib", text::quoted(word)))
    }
}

/// The words by which a trace says read, write and, if it does, trim and flush, written `write=0,read=1` or
/// `write=0,read=1,trim=2,flush=3`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OpCodes {
    read: String,
    write: String,
    trim: Option<String>,
    flush: Option<String>,
}

impl OpCodes {
    /// The default with a word for trims, 2.
    #[must_use]
    pub fn with_trim() -> Self {
        Self { trim: Some("2".into()), ..Self::default() }
    }

    /// The default with words for trims, 2, and for flushes, 3.
    #[must_use]
    pub fn with_trim_and_flush() -> Self {
        Self { flush: Some("3".into()), ..Self::with_trim() }
    }

    /// What a trace's word means, if it is one of them.
    #[must_use]
    pub fn op(&self, word: &str) -> Option<Op> {
        if word == self.read {
            Some(Op::Read)
        } else if word == self.write {
            Some(Op::Write)
        } else if self.trim.as_deref() == Some(word) {
            Some(Op::Trim)
        } else if self.flush.as_deref() == Some(word) {
            Some(Op::Flush)
        } else {
            None
        }
    }

    /// The word for a flush, if there is one.
    #[must_use]
    pub fn flush_code(&self) -> Option<&str> {
        self.flush.as_deref()
    }

    /// The word for a kind of command, if there is one.
    #[must_use]
    pub fn code(&self, kind: CommandKind) -> Option<&str> {
        match kind {
            CommandKind::Read => Some(&self.read),
            CommandKind::Write => Some(&self.write),
            CommandKind::Trim => self.trim.as_deref(),
        }
    }
}

/// The codes of DiskSim, SSDSim and MQSim: 0 writes, 1 reads.
impl Default for OpCodes {
    fn default() -> Self {
        Self { read: "1".into(), write: "0".into(), trim: None, flush: None }
    }
}

impl fmt::Display for OpCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write={},read={}", self.write, self.read)?;
        self.trim.as_ref().map_or(Ok(()), |trim| write!(f, ",trim={trim}"))?;
        self.flush.as_ref().map_or(Ok(()), |flush| write!(f, ",flush={flush}"))
    }
}

impl FromStr for OpCodes {
    type Err = String;

    fn from_str(codes: &str) -> Result<Self, String> {
        let fault = |what: &str| format!("`ops` is {}: {what}; expected for example `write=0,read=1`", text::quoted(codes));
        let (mut read, mut write, mut trim, mut flush) = (None, None, None, None);
        for part in codes.split(',') {
            let (kind, code) = part.split_once('=').ok_or_else(|| fault("a part without `=`"))?;
            let code = code.trim();
            if code.is_empty() || code.contains(char::is_whitespace) {
                return Err(fault("a code must be one word"));
            }
            let slot = match kind.trim() {
                "read" => &mut read,
                "write" => &mut write,
                "trim" => &mut trim,
                "flush" => &mut flush,
                other => {
                    return Err(fault(&format!("{} is none of read, write, trim and flush", text::quoted(other))));
                }
            };
            if slot.replace(code.to_owned()).is_some() {
                return Err(fault("one of them is given twice"));
            }
        }
        let codes: Vec<&String> = [&read, &write, &trim, &flush].into_iter().flatten().collect();
        if codes.iter().enumerate().any(|(index, code)| codes[..index].contains(code)) {
            return Err(fault("two of them have the same code"));
        }
        match (read, write) {
            (Some(read), Some(write)) => Ok(Self { read, write, trim, flush }),
            _ => Err(fault("one of read and write is missing")),
        }
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
            "description": "The words by which a trace says read, write and, if it does, trim and flush, for example `write=0,read=1`.",
            "pattern": "^\\s*(read|write|trim|flush)\\s*=[^,=]+(,\\s*(read|write|trim|flush)\\s*=[^,=]+){1,3}$"
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
        assert_eq!((codes.op("D"), codes.code(CommandKind::Trim)), (Some(Op::Trim), Some("D")));
        assert_eq!(codes.to_string(), "write=W,read=R,trim=D");
        assert_eq!("flush=3,write=0,trim=2,read=1".parse(), Ok(OpCodes::with_trim_and_flush()));
        let codes: OpCodes = "write=W,read=R,flush=F".parse().unwrap();
        assert_eq!((codes.op("F"), codes.flush_code(), codes.code(CommandKind::Trim)), (Some(Op::Flush), Some("F"), None));
        assert_eq!(codes.to_string(), "write=W,read=R,flush=F");
    }

    #[test]
    fn faulty_op_codes_say_what_is_wrong() {
        for (codes, message) in [
            ("write", "without `=`"),
            ("write=0", "missing"),
            ("write=0,read=0", "same code"),
            ("write=0,write=1", "twice"),
            ("write=0,read=1,trim=1", "same code"),
            ("write=0,read=1,trim=2,flush=2", "same code"),
            ("write=0,trim=1", "missing"),
            ("write=0,raed=1", "`raed` is none of"),
            ("write=,read=1", "one word"),
        ] {
            let error = codes.parse::<OpCodes>().unwrap_err();
            assert!(error.contains(message), "{codes}: {error}");
        }
    }

    #[test]
    fn units_are_parsed_by_their_names() {
        for unit in TimeUnit::ALL {
            assert_eq!(unit.name().parse(), Ok(unit));
        }
        assert!("usec".parse::<TimeUnit>().unwrap_err().contains("expected ns, 100ns, us, ms or s"));
        for unit in AddressUnit::ALL {
            assert_eq!(unit.name().parse(), Ok(unit));
        }
        assert!("blocks".parse::<AddressUnit>().unwrap_err().contains("sectors, bytes or kib"));
    }
}
