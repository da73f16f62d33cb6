//! The I/O logs of fio, versions 2 and 3, which begin with `fio version 2 iolog` or `fio version 3 iolog`.
//!
//! A line is `filename action` or `filename action offset length`, in version 3 with a time before it. Offsets and lengths are
//! bytes; each file is a device. Times are microseconds since the beginning of the run: fio's documentation does not give
//! the unit, and its source (`iolog.c`) writes and reads microseconds.
//!
//! Version 2 has no times. It may have `wait` lines, on whose meaning fio's documentation (microseconds since the wait
//! before) and source (milliseconds since the start) disagree, so that they are passed over and counted, and such a trace
//! can be played in closed loop only. Version 3 has no `wait`.

use rustc_hash::FxHashMap;

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Op, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 5] = ["timestamp", "filename", "action", "offset", "length"];

const HEADER_2: &str = "fio version 2 iolog";
const HEADER_3: &str = "fio version 3 iolog";

/// fio itself reads no longer names.
const NAME_BYTES_MAX: usize = 256;

/// The row of version 2.
pub const VERSION_2: Format = Format {
    name: "fio2",
    summary: "fio's I/O log, version 2: filename action offset length",
    time_column: Column { number: 1, name: NAMES[1] },
    device_column: Some(Column { number: 1, name: NAMES[1] }),
    time: Time::None,
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    layout: None,
    events: &[],
    latency: |_| None,
    order: Order::Time,
    reader: Reader::Lines { sniff: |line| line == HEADER_2, parser: |_| Box::new(Fio::new(false)) },
};

/// The row of version 3.
pub const VERSION_3: Format = Format {
    name: "fio3",
    summary: "fio's I/O log, version 3: timestamp filename action offset length",
    time_column: Column { number: 1, name: NAMES[0] },
    device_column: Some(Column { number: 2, name: NAMES[1] }),
    time: Time::Fixed(TimeUnit::Microseconds),
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    layout: None,
    events: &[],
    latency: |_| None,
    order: Order::Time,
    reader: Reader::Lines { sniff: |line| line == HEADER_3, parser: |_| Box::new(Fio::new(true)) },
};

struct Fio {
    timed: bool,
    lines: u64,
    files: FxHashMap<String, u32>,
    names: Vec<String>,
}

impl Fio {
    fn new(timed: bool) -> Self {
        Self { timed, lines: 0, files: FxHashMap::default(), names: Vec::new() }
    }

    /// The column of one of the names, as far as there are times.
    fn column(&self, index: usize) -> Column {
        Column { number: index + usize::from(self.timed), name: NAMES[index] }
    }

    fn device(&mut self, name: &str) -> Result<u32, Fault> {
        if let Some(number) = self.files.get(name) {
            return Ok(*number);
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(Fault::new(self.column(1), name, format!("a file name of at most {NAME_BYTES_MAX} bytes")));
        }
        let number = self.names.len() as u32;
        self.files.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        Ok(number)
    }

    fn header(&self, line: &str) -> Result<Parsed, Fault> {
        let header = if self.timed { HEADER_3 } else { HEADER_2 };
        if line == header {
            return Ok(Parsed::Other("header lines"));
        }
        Err(Fault::new(Column { number: 1, name: "header" }, line, format!("`{header}` as the first line")))
    }
}

impl Parser for Fio {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        self.lines += 1;
        if self.lines == 1 {
            return self.header(line);
        }
        let first = usize::from(!self.timed);
        let names = &NAMES[first..];
        let mut words = [""; NAMES.len()];
        let mut count = first;
        for word in line.split_ascii_whitespace() {
            let Some(slot) = words.get_mut(count) else {
                let column = Column { number: names.len() + 1, name: "beyond the last" };
                return Err(Fault::new(column, word, format!("the end of the line after {} columns: {}", names.len(), names.join(" "))));
            };
            *slot = word;
            count += 1;
        }
        let [time, name, action, offset, length] = words;
        let time_ns = if self.timed { fields::time_ns(time, TimeUnit::Microseconds, self.column(0))? } else { 0 };
        let op = match action {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            "sync" | "datasync" | "sync_file_range" | "syncfs" => Op::Flush,
            "add" | "open" | "close" => return Ok(Parsed::Other("lines of files added, opened or closed")),
            "wait" if !self.timed => return Ok(Parsed::Other("wait lines")),
            "wait" => {
                return Err(Fault::new(self.column(2), action, "another action: version 3 has times and no waits"));
            }
            "" => {
                return Err(Fault {
                    column: self.column(count),
                    found: fields::END_OF_LINE.into(),
                    expected: format!("{} columns: {}", names.len(), names.join(" ")),
                });
            }
            other => {
                return Err(Fault::new(
                    self.column(2),
                    other,
                    "read, write, trim, sync, datasync, sync_file_range, syncfs, add, open, close or (in version 2) wait",
                ));
            }
        };
        if op == Op::Flush {
            return Ok(Parsed::Request(Record { time_ns, device: 0, op, sector: 0, sectors: 0, latency_ns: None }));
        }
        if count < NAMES.len() {
            return Err(Fault {
                column: self.column(count),
                found: fields::END_OF_LINE.into(),
                expected: format!("{} columns: {}", names.len(), names.join(" ")),
            });
        }
        let address = Amount::new(offset, AddressUnit::Bytes, self.column(3))?;
        let (sector, sectors) = fields::extent(address, Amount::new(length, AddressUnit::Bytes, self.column(4))?)?;
        let device = self.device(name)?;
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns: None }))
    }

    fn device_name(&self, device: u32) -> String {
        self.names.get(device as usize).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    fn after_header(timed: bool) -> Fio {
        Fio { lines: 1, ..Fio::new(timed) }
    }

    #[test]
    fn version_3_has_times() {
        let mut parser = Fio::new(true);
        assert_eq!(parser.parse("fio version 3 iolog"), Ok(Parsed::Other("header lines")));
        assert_eq!(parser.parse("2 /dev/sdb add"), Ok(Parsed::Other("lines of files added, opened or closed")));
        assert_eq!(parser.parse("3 /dev/sdb open"), Ok(Parsed::Other("lines of files added, opened or closed")));
        let write = Record { time_ns: 878_000, device: 0, op: Op::Write, sector: 8, sectors: 32, latency_ns: None };
        assert_eq!(parser.parse("878 /dev/sdb write 4096 16384"), Ok(Parsed::Request(write)));
        let read = Record { time_ns: 879_000, device: 1, op: Op::Read, sector: 0, sectors: 1, latency_ns: None };
        assert_eq!(parser.parse("879 /dev/sdc read 0 512"), Ok(Parsed::Request(read)));
        let trim = Record { time_ns: 880_000, device: 0, op: Op::Trim, sector: 0, sectors: 2, latency_ns: None };
        assert_eq!(parser.parse("880 /dev/sdb trim 0 1024"), Ok(Parsed::Request(trim)));
        for action in ["sync", "datasync", "sync_file_range 0 0", "syncfs"] {
            let flush = Record { time_ns: 881_000, device: 0, op: Op::Flush, sector: 0, sectors: 0, latency_ns: None };
            assert_eq!(parser.parse(&format!("881 /dev/sdb {action}")), Ok(Parsed::Request(flush)));
        }
        assert_eq!((parser.device_name(0), parser.device_name(1)), ("/dev/sdb".into(), "/dev/sdc".into()));
    }

    #[test]
    fn version_2_has_waits_instead() {
        let mut parser = Fio::new(false);
        assert_eq!(parser.parse("fio version 2 iolog"), Ok(Parsed::Other("header lines")));
        assert_eq!(parser.parse("/dev/sdb wait 1000 0"), Ok(Parsed::Other("wait lines")));
        let write = Record { time_ns: 0, device: 0, op: Op::Write, sector: 8, sectors: 32, latency_ns: None };
        assert_eq!(parser.parse("/dev/sdb write 4096 16384"), Ok(Parsed::Request(write)));
    }

    #[test]
    fn the_header_must_be_that_of_the_version() {
        let fault = Fio::new(true).parse("fio version 2 iolog").unwrap_err();
        assert_eq!((fault.column.number, fault.found.as_str()), (1, "`fio version 2 iolog`"));
        assert!(fault.expected.contains("`fio version 3 iolog`"));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            |line| after_header(true).parse(line),
            &[
                ("x /f read 0 512", 1, "`x`", "a time in us"),
                ("1 /f erase 0 512", 3, "`erase`", "read, write, trim"),
                ("1 /f wait 0 512", 3, "`wait`", "no waits"),
                ("1 /f read -1 512", 4, "`-1`", "0 or more"),
                ("1 /f read 0 0", 5, "`0`", "1 or more bytes"),
                ("1 /f read 0", 5, "the end of the line", "5 columns: timestamp filename"),
                ("1 /f", 3, "the end of the line", "5 columns"),
                ("1", 2, "the end of the line", "5 columns"),
                ("1 /f read 0 512 9", 6, "`9`", "the end of the line after 5 columns"),
            ],
        );
        assert_faults(
            |line| after_header(false).parse(line),
            &[
                ("/f erase 0 512", 2, "`erase`", "read, write, trim"),
                ("/f read 0 0", 4, "`0`", "1 or more bytes"),
                ("/f read 0", 4, "the end of the line", "4 columns: filename action"),
                ("/f", 2, "the end of the line", "4 columns"),
                ("/f read 0 512 9", 5, "`9`", "the end of the line after 4 columns"),
            ],
        );
        let long = format!("1 /{} read 0 512", "f".repeat(NAME_BYTES_MAX));
        assert_eq!(after_header(true).parse(&long).unwrap_err().column.number, 2);
    }
}
