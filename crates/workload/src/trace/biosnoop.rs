//! The table that biosnoop prints, of bcc or of its libbpf tools: `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`.
//!
//! Its header line says which columns there are: with `-Q` also `QUE(ms)`, how long a request waited before it was issued. A line is
//! written at completion, so that a request arrives at `TIME` less `LAT`, its issue to the driver. `T` is R or W, or the letters of
//! [`rwbs`](super::rwbs). The name of a process may have spaces, and a request of none may lack the disk, so that the columns behind
//! the disk are counted from the end.

use rustc_hash::FxHashMap;

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::rwbs::{self, Rwbs};
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Op, Order, Parsed, Parser, Reader, Record, Time};

/// The columns if no header line says otherwise.
const HEADER: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)";

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "biosnoop",
    summary: "biosnoop's table: TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)",
    time_column: Column { number: 1, name: "TIME" },
    device_column: Some(Column { number: 4, name: "DISK" }),
    time: Time::Fixed(TimeUnit::Seconds),
    address_unit: Some(AddressUnit::Sectors),
    op_codes: false,
    layout: None,
    events: &[],
    latency: |_| Some("from issue to the driver to completion, in steps of 0.01 or 0.001 ms"),
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff: |line| Table::of(line).is_some(), parser: |_| Box::new(Biosnoop::new()) },
};

/// Where the columns are.
struct Table {
    time: (usize, TimeUnit),
    /// The first word of the process.
    process: usize,
    /// The columns behind the disk.
    after_disk: usize,
    /// Of these, from their first.
    op: usize,
    sector: usize,
    bytes: usize,
    latency: (usize, TimeUnit),
}

impl Table {
    /// What a header line says.
    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let place = |name: &str| words.iter().position(|word| *word == name);
        let with_unit = |name: &str| {
            let unit = |word: &str| word.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?.parse().ok();
            words.iter().enumerate().find_map(|(at, word)| Some((at, unit(word)?)))
        };
        let (time, process, first) = (with_unit("TIME")?, place("COMM")?, place("DISK")? + 1);
        let after = |at: usize| at.checked_sub(first);
        let (latency, unit) = with_unit("LAT")?;
        (time.0 < process && process + 2 == place("DISK")?).then_some(())?;
        Some(Self {
            time,
            process,
            after_disk: words.len() - first,
            op: after(place("T")?)?,
            sector: after(place("SECTOR")?)?,
            bytes: after(place("BYTES")?)?,
            latency: (after(latency)?, unit),
        })
    }
}

struct Biosnoop {
    table: Table,
    devices: FxHashMap<String, u32>,
    names: Vec<String>,
    lost: u64,
}

impl Biosnoop {
    fn new() -> Self {
        let table = Table::of(HEADER).expect("the usual header line is one");
        Self { table, devices: FxHashMap::default(), names: Vec::new(), lost: 0 }
    }

    fn device(&mut self, name: &str) -> u32 {
        if let Some(number) = self.devices.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.devices.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }
}

impl Parser for Biosnoop {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        if let Some(table) = Table::of(line) {
            self.table = table;
            return Ok(Parsed::Other("header lines"));
        }
        if line.starts_with("Tracing ") {
            return Ok(Parsed::Other("lines about the recorder"));
        }
        if let Some((_, lost)) = line.to_ascii_lowercase().split_once("lost ") {
            self.lost += lost.split(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(1);
            return Ok(Parsed::Other("lines about lost events"));
        }
        let table = &self.table;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        // A process and its number stand between the time and the disk.
        if words.len() < table.process + 2 + table.after_disk {
            let column = Column { number: words.len() + 1, name: "beyond the last" };
            return Err(Fault {
                column,
                found: fields::END_OF_LINE.into(),
                expected: format!("the columns {HEADER}, or those of its header line"),
            });
        }
        let first = words.len() - table.after_disk;
        let column = |at: usize, name| Column { number: at + 1, name };
        let after = |at: usize, name| (words[first + at], column(first + at, name));
        let (at, unit) = table.time;
        let time_ns = fields::time_ns(words[at], unit, column(at, "TIME"))?;
        let (op, place) = after(table.op, "T");
        let Rwbs { op, flushes_before } = rwbs::read(op).ok_or_else(|| Fault::new(place, op, "R or W, or letters such as WS"))?;
        let ((latency, latency_place), (bytes, bytes_place)) = (after(table.latency.0, "LAT"), after(table.bytes, "BYTES"));
        let latency_ns = fields::latency_ns(latency, table.latency.1, latency_place)?;
        let time_ns = time_ns - i128::from(latency_ns);
        // What a number stands for is the process; the disk is missing.
        let disk = words[first - 1];
        let disk = if disk.bytes().all(|byte| byte.is_ascii_digit()) { "?" } else { disk }.to_owned();
        let (sector, place) = after(table.sector, "SECTOR");
        let extent = if bytes == "0" {
            None
        } else {
            let address = Amount::new(sector, AddressUnit::Sectors, place)?;
            Some(fields::extent(address, Amount::new(bytes, AddressUnit::Bytes, bytes_place)?)?)
        };
        Ok(match (op, extent) {
            (Some(Op::Flush), _) => Parsed::Request(flush(time_ns, self.device(&disk))),
            (Some(_), None) if flushes_before => Parsed::Request(flush(time_ns, self.device(&disk))),
            (Some(_), None) => Parsed::Other("requests without data"),
            (None, _) => Parsed::Other("requests other than reads and writes"),
            (Some(op), Some((sector, sectors))) => {
                Parsed::Request(Record { time_ns, device: self.device(&disk), op, sector, sectors, latency_ns: Some(latency_ns) })
            }
        })
    }

    fn device_name(&self, device: u32) -> String {
        self.names.get(device as usize).cloned().unwrap_or_else(|| device.to_string())
    }

    fn doubts(&self) -> Vec<String> {
        let lost = (self.lost > 0)
            .then(|| format!("the recorder says that it lost {}; requests are missing", crate::text::counted(self.lost, "event")));
        lost.into_iter().collect()
    }
}

fn flush(time_ns: i128, device: u32) -> Record {
    Record { time_ns, device, op: Op::Flush, sector: 0, sectors: 0, latency_ns: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Biosnoop::new().parse(line)
    }

    fn record(time_ns: i128, op: Op, sector: u64, sectors: u32, latency_ns: u64) -> Parsed {
        Parsed::Request(Record { time_ns, device: 0, op, sector, sectors, latency_ns: Some(latency_ns) })
    }

    #[test]
    fn a_request_arrives_so_long_before_its_line_as_it_took() {
        assert_eq!(
            parse("0.000348    job 1          5689   sdb     W 9009528    4096      0.21"),
            Ok(record(138_000, Op::Write, 9_009_528, 8, 210_000))
        );
        assert_eq!(parse("0.000000 jbd2/sdb1-8 380 sdb R 8 512 3.21"), Ok(record(-3_210_000, Op::Read, 8, 1, 3_210_000)));
        assert_eq!(parse("1.0 a b c 7 nvme0n1 DS 8 4096 0.5"), Ok(record(999_500_000, Op::Trim, 8, 8, 500_000)));
        // Without a process there may be no disk.
        assert_eq!(parse("0.004578 ? 0 R 0 0 4.00"), Ok(Parsed::Other("requests without data")));
        assert_eq!(parse("0.004578 ? 0 R 8 512 4.00"), Ok(record(578_000, Op::Read, 8, 1, 4_000_000)));
        let mut parser = Biosnoop::new();
        for (line, number) in [("1.0 a 1 sda W 8 512 1", 0), ("1.0 a 1 sdb W 8 512 1", 1), ("1.0 a 1 sda W 8 512 1", 0)] {
            let Ok(Parsed::Request(record)) = parser.parse(line) else { panic!("{line}") };
            assert_eq!(record.device, number);
        }
        assert_eq!((parser.device_name(0), parser.device_name(1)), ("sda".into(), "sdb".into()));
    }

    #[test]
    fn the_header_line_says_which_columns_there_are() {
        for (header, line) in [
            ("TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)", "1.0 x 7 sda R 8 4096 0.25 0.5"),
            ("TIME TIME(s) COMM PID DISK T P SECTOR BYTES NETNS LAT(ms)", "12:00:01 1.0 x y 7 sda R S 8 4096 40265 0.5"),
            ("TIME(ms) COMM PID DISK T SECTOR BYTES LAT(us)", "1000 x 7 sda R 8 4096 500"),
        ] {
            let mut parser = Biosnoop::new();
            assert_eq!(parser.parse(header), Ok(Parsed::Other("header lines")));
            assert_eq!(parser.parse(line), Ok(record(999_500_000, Op::Read, 8, 8, 500_000)), "{header}");
        }
        let flush = Parsed::Request(flush(999_000_000, 0));
        for letters in ["F", "FF", "FWS"] {
            assert_eq!(parse(&format!("1.0 x 7 sda {letters} 0 0 1.0")), Ok(flush), "{letters}");
        }
        assert_eq!(parse("1.0 x 7 sda N 0 512 1.0"), Ok(Parsed::Other("requests other than reads and writes")));
        assert_eq!(parse("Tracing block device I/O... Hit Ctrl-C to end."), Ok(Parsed::Other("lines about the recorder")));
        let mut parser = Biosnoop::new();
        assert_eq!(parser.parse("Possibly lost 12 samples"), Ok(Parsed::Other("lines about lost events")));
        assert!(parser.doubts()[0].contains("lost 12 events"));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("x a 1 sda R 8 512 1", 1, "`x`", "a time in s"),
                ("1 a 1 sda Q 8 512 1", 5, "`Q`", "R or W"),
                ("1 a 1 sda R x 512 1", 6, "`x`", "whole number"),
                ("1 a 1 sda R 8 -1 1", 7, "`-1`", "whole number"),
                ("1 a 1 sda R 8 512 x", 8, "`x`", "a time in ms"),
                ("1 a R 8 512 1", 7, "the end of the line", "TIME(s) COMM"),
            ],
        );
    }
}
