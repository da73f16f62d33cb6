//! The log that `nbdkit --filter=log` writes: a line when a request comes, and a line when it is answered.
//!
//! `2024-03-05 10:00:00.001000 connection=1 Write id=1 offset=0x100000 count=0x200000 ...` is a request. The line of its answer has three
//! points before the operation: `...Write id=1 return=0 (Success)`. Offsets and counts are bytes, in hexadecimal. An export is a device.

use rustc_hash::FxHashMap;

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::iso8601;
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Op, Order, Parsed, Parser, Reader, Record, Time};

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "nbdkit",
    summary: "nbdkit's log of requests: date time connection=N Operation id=N offset=HEX count=HEX",
    time_column: Column { number: 1, name: "date and time" },
    device_column: Some(Column { number: 4, name: "export" }),
    time: Time::Fixed(TimeUnit::Iso8601),
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    layout: None,
    events: &[],
    latency: |_| Some("from nbdkit's call of its plugin to the answer"),
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |_| Box::<Nbdkit>::default() },
};

/// What a line says, behind its time.
struct Said<'a> {
    time_ns: i128,
    connection: &'a str,
    /// The operation, with the points before it in an answer, and the number of its word.
    what: (usize, &'a str),
    words: Vec<&'a str>,
}

impl<'a> Said<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let time_ns = iso8601::read(&format!("{} {}", words.first()?, words.get(1)?))?;
        let connection = words.get(2).and_then(|word| word.strip_prefix("connection="));
        let at = 2 + usize::from(connection.is_some());
        Some(Self { time_ns, connection: connection.unwrap_or_default(), what: (at, words.get(at)?), words })
    }

    /// The value of a key, with the number of its word.
    fn value(&self, key: &'static str) -> Option<(Column, &'a str)> {
        let value = |word: &&'a str| word.strip_prefix(key)?.strip_prefix('=');
        let found = self.words.iter().enumerate().find_map(|(at, word)| Some((at, value(word)?)));
        found.map(|(at, value)| (Column { number: at + 1, name: key }, value))
    }

    fn needed(&self, key: &'static str) -> Result<(Column, &'a str), Fault> {
        self.value(key).ok_or_else(|| Fault {
            column: Column { number: self.words.len() + 1, name: key },
            found: fields::END_OF_LINE.into(),
            expected: format!("{key}=NUMBER, as of every request with data"),
        })
    }

    fn amount(&self, key: &'static str) -> Result<Amount<'a>, Fault> {
        let (column, value) = self.needed(key)?;
        Amount::hexadecimal(value, AddressUnit::Bytes, column)
    }
}

fn sniff(line: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    Said::of(line)
        .is_some_and(|said| is_number(said.connection) && said.what.1.starts_with(|first: char| first == '.' || first.is_uppercase()))
}

/// Reads the lines, and keeps which requests are not answered yet.
#[derive(Default)]
struct Nbdkit {
    /// By connection and number.
    outstanding: FxHashMap<(String, String), Record>,
    /// The device of each connection.
    connections: FxHashMap<String, u32>,
    exports: Vec<String>,
}

impl Nbdkit {
    fn connect(&mut self, connection: &str, export: &str) -> u32 {
        let number = self.exports.iter().position(|known| known == export).unwrap_or_else(|| {
            self.exports.push(export.to_owned());
            self.exports.len() - 1
        }) as u32;
        self.connections.insert(connection.to_owned(), number);
        number
    }
}

impl Parser for Nbdkit {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let Some(said) = Said::of(line) else {
            return Err(Fault::new(
                FORMAT.time_column,
                line,
                "a date, a time and an operation, as 2024-05-31 23:59:59.25 connection=1 Read ...",
            ));
        };
        let (at, what) = said.what;
        let id = || said.value("id").map_or("", |(_, id)| id).to_owned();
        if let Some(answered) = what.strip_prefix("...") {
            let is_right = said.value("return").is_some_and(|(_, value)| value == "0");
            let request = self.outstanding.remove(&(said.connection.to_owned(), id())).filter(|_| is_right);
            return Ok(match request {
                Some(request) => Parsed::Completed(Record { time_ns: said.time_ns, ..request }),
                None if answered.is_empty() => return Err(Fault::new(Column { number: at + 1, name: "operation" }, what, "an operation")),
                None => Parsed::Other("answers without a request that is played"),
            });
        }
        let op = match what {
            "Read" => Op::Read,
            "Write" => Op::Write,
            "Trim" => Op::Trim,
            "Flush" => {
                let flush = Record { time_ns: said.time_ns, device: 0, op: Op::Flush, sector: 0, sectors: 0, latency_ns: None };
                return Ok(Parsed::Request(flush));
            }
            "Zero" | "Cache" | "Extents" => return Ok(Parsed::Other("requests other than reads and writes")),
            "Connect" => {
                let export = said.value("export").map_or("", |(_, export)| export).trim_matches('"');
                self.connect(said.connection, export);
                return Ok(Parsed::Other("lines about the connection"));
            }
            _ => return Ok(Parsed::Other("lines about the connection")),
        };
        let (sector, sectors) = fields::extent(said.amount("offset")?, said.amount("count")?)?;
        let device = match self.connections.get(said.connection) {
            Some(device) => *device,
            None => self.connect(said.connection, ""),
        };
        let request = Record { time_ns: said.time_ns, device, op, sector, sectors, latency_ns: None };
        self.outstanding.insert((said.connection.to_owned(), id()), request);
        Ok(Parsed::Issued(request))
    }

    fn completions(&self) -> &'static str {
        "answers"
    }

    fn device_name(&self, device: u32) -> String {
        match self.exports.get(device as usize).map(String::as_str) {
            None | Some("") => "default".into(),
            Some(name) => name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    const AT: &str = "2024-03-05 10:00:00.001000";

    #[test]
    fn requests_have_the_times_of_their_answers() {
        let mut parser = Nbdkit::default();
        let mut parse = |rest: &str| parser.parse(&format!("{AT} {rest}"));
        let about = Ok(Parsed::Other("lines about the connection"));
        assert_eq!(parse("ListExports id=1 readonly=0 tls=0 ..."), about);
        assert_eq!(parse("connection=1 Connect export=\"\" tls=0 size=0x40000000 write=1 ..."), about);
        assert_eq!(parse("connection=2 Connect export=\"b\" tls=0 size=0x40000000 write=1 ..."), about);
        let time_ns = iso8601::read(AT).unwrap();
        let write = Record { time_ns, device: 0, op: Op::Write, sector: 2048, sectors: 4096, latency_ns: None };
        assert_eq!(parse("connection=1 Write id=1 offset=0x100000 count=0x200000 fua=1 ..."), Ok(Parsed::Issued(write)));
        // The same number on another connection, to another export.
        let read = Record { time_ns, device: 1, op: Op::Read, sector: 0, sectors: 1, latency_ns: None };
        assert_eq!(parse("connection=2 Read id=1 offset=0x0 count=0x200 ..."), Ok(Parsed::Issued(read)));
        assert_eq!(parse("connection=1 ...Write id=1 return=0 (Success)"), Ok(Parsed::Completed(write)));
        let lost = Ok(Parsed::Other("answers without a request that is played"));
        assert_eq!(parse("connection=2 ...Read id=1 return=-1 (Input/output error)"), lost);
        assert_eq!(parse("connection=1 ...Write id=1 return=0 (Success)"), lost);
        assert!(matches!(parse("connection=1 Flush id=3 ..."), Ok(Parsed::Request(Record { op: Op::Flush, .. }))));
        assert!(matches!(
            parse("connection=1 Trim id=4 offset=0x0 count=0x80000 fua=0 ..."),
            Ok(Parsed::Issued(Record { op: Op::Trim, .. }))
        ));
        assert_eq!(
            parse("connection=1 Zero id=5 offset=0x0 count=0x200 trim=1 ..."),
            Ok(Parsed::Other("requests other than reads and writes"))
        );
        assert_eq!(parse("connection=1 Disconnect transactions=4"), about);
        assert_eq!((parser.device_name(0), parser.device_name(1)), ("default".into(), "b".into()));
    }

    #[test]
    fn faults_name_the_word_and_what_was_expected() {
        let line = |rest: &str| format!("{AT} connection=1 {rest}");
        let lines =
            [line("Read id=1 offset=x count=0x200 ..."), line("Read id=1 offset=0x0 count=0x0"), line("Read id=1 offset=0x0"), line("...")];
        assert_faults(
            |line| Nbdkit::default().parse(line),
            &[
                ("connection=1 Read", 1, "`connection=1 Read`", "a date, a time and an operation"),
                (&lines[0], 6, "`x`", "hexadecimal"),
                (&lines[1], 7, "`0x0`", "1 or more bytes"),
                (&lines[2], 7, "the end of the line", "count=NUMBER"),
                (&lines[3], 4, "`...`", "an operation"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff(&format!("{AT} connection=1 Read id=1 offset=0x0 count=0x200 ...")));
        assert!(sniff(&format!("{AT} connection=1 ...Read id=1 return=0 (Success)")));
        for line in [AT, "2024-03-05 10:00:00.001000 R 8 8", "1 connection=1 Read", "2024-03-05 10:00:00 connection=a Read", ""] {
            assert!(!sniff(line), "{line}");
        }
    }
}
