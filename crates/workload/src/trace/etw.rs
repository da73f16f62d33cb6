//! The text of Event Tracing for Windows that `xperf` dumps, in which the traces of Microsoft's production servers are
//! (Kavalanekar et al., IISWC 2008; SNIA 158).
//!
//! A header between `BeginHeader` and `EndHeader` names the columns of each event; then each line is an event. Requests are
//! `DiskRead` and `DiskWrite`: `event, TimeStamp, process, thread, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, ...`, of
//! which the columns after the ninth are not used.
//!
//! Windows logs these events when a request completes, and the elapsed time is that since its initiation. So a request's
//! arrival is its time stamp less its elapsed time, both in microseconds. Offsets and sizes are hexadecimal bytes.

use std::collections::HashSet;
use tinytail_config::nearest;

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Op, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 9] =
    ["event", "TimeStamp", "Process Name ( PID)", "ThreadID", "IrpPtr", "ByteOffset", "IOSize", "ElapsedTime", "DiskNum"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// A header names some 70 events.
const EVENTS_MAX: usize = 4096;

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "etw",
    summary: "Event Tracing for Windows, SNIA 158: DiskRead and DiskWrite lines; arrival is TimeStamp less ElapsedTime",
    time_column: column(1),
    device_column: Some(column(8)),
    time: Time::Fixed(TimeUnit::Microseconds),
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    layout: None,
    events: &[],
    latency: |_| Some("from initiation to completion at Windows' partition manager, waits for the disk included (ElapsedTime)"),
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |_| Box::new(Etw::default()) },
};

fn sniff(line: &str) -> bool {
    let event = line.split(',').next().map(str::trim);
    line == "BeginHeader" || (matches!(event, Some("DiskRead" | "DiskWrite")) && line.contains("0x"))
}

#[derive(Default)]
struct Etw {
    in_header: bool,
    /// The events that the header has named; none without a header.
    events: HashSet<String>,
}

impl Etw {
    fn parse_header(&mut self, line: &str) -> Result<Parsed, Fault> {
        if line == "EndHeader" {
            self.in_header = false;
            return Ok(Parsed::Other("header lines"));
        }
        let mut words = line.split(',').map(str::trim);
        let event = words.next().unwrap_or_default();
        if matches!(event, "DiskRead" | "DiskWrite") {
            for (index, name) in NAMES.iter().enumerate().skip(1) {
                let word = words.next().unwrap_or_default();
                if word != *name {
                    return Err(Fault::new(column(index), word, format!("`{name}`, as the columns of {event} have been until now")));
                }
            }
        }
        if self.events.len() == EVENTS_MAX {
            return Err(Fault::new(column(0), event, format!("EndHeader: a header of at most {EVENTS_MAX} events")));
        }
        self.events.insert(event.to_owned());
        Ok(Parsed::Other("header lines"))
    }

    fn parse_other(&self, event: &str) -> Result<Parsed, Fault> {
        if event.starts_with("OS Version:") {
            return Ok(Parsed::Other("header lines"));
        }
        let known = if self.events.is_empty() {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/' | b'_');
            event.starts_with(|first: char| first.is_ascii_alphabetic()) && event.bytes().all(plain)
        } else {
            self.events.contains(event)
        };
        if known {
            return Ok(Parsed::Other("events other than DiskRead, DiskWrite and DiskFlush"));
        }
        let near = nearest(event, self.events.iter().map(String::as_str).filter(|known| known.starts_with("Disk")));
        let hint = near.map_or_else(String::new, |nearest| format!("; did the file once have `{nearest}` here?"));
        Err(Fault::new(column(0), event, format!("the name of an event, such as DiskRead{hint}")))
    }
}

impl Parser for Etw {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        if self.in_header {
            return self.parse_header(line);
        }
        if line == "BeginHeader" {
            self.in_header = true;
            return Ok(Parsed::Other("header lines"));
        }
        let (event, _) = line.split_once(',').unwrap_or((line, ""));
        let op = match event.trim_end() {
            "DiskRead" => Op::Read,
            "DiskWrite" => Op::Write,
            "DiskFlush" => Op::Flush,
            other => return self.parse_other(other),
        };
        if op == Op::Flush {
            let words: Vec<&str> = line.splitn(3, ',').map(str::trim).collect();
            let time_ns = fields::time_ns(words.get(1).copied().unwrap_or_default(), TimeUnit::Microseconds, column(1))?;
            return Ok(Parsed::Request(Record { time_ns, device: 0, op, sector: 0, sectors: 0, latency_ns: None }));
        }
        let words = fields::columns(line.split(',').map(str::trim).take(NAMES.len()), NAMES)?;
        let completed_ns = fields::time_ns(words[1], TimeUnit::Microseconds, column(1))?;
        let address = Amount::hexadecimal(words[5], AddressUnit::Bytes, column(5))?;
        let (sector, sectors) = fields::extent(address, Amount::hexadecimal(words[6], AddressUnit::Bytes, column(6))?)?;
        let latency_ns = fields::latency_ns(words[7], TimeUnit::Microseconds, column(7))?;
        let device = fields::device(words[8], column(8))?;
        let time_ns = completed_ns - i128::from(latency_ns);
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns: Some(latency_ns) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    const HEADER: [&str; 5] = [
        "BeginHeader",
        "               T-Start,  TimeStamp,     Process Name ( PID),   ThreadID",
        "              DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,   IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags",
        "             DiskFlush,  TimeStamp,     Process Name ( PID),   ThreadID,   IrpPtr,   ElapsedTime,  DiskNum",
        "EndHeader",
    ];

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Etw::default().parse(line)
    }

    #[test]
    fn arrival_is_completion_less_the_elapsed_time() {
        let line = r#"DiskRead,  260959, p0 (2004),  9700, 0xfffffadf39860010, 0x0000de000, 0x00002000,  3738,  4, 0x000901,  3738, 0, Unknown, 0xff, "Disk8:\a,b""#;
        let record = Record { time_ns: 257_221_000, device: 4, op: Op::Read, sector: 0x6f0, sectors: 16, latency_ns: Some(3_738_000) };
        assert_eq!(parse(line), Ok(Parsed::Request(record)));
        // Such a request was initiated before the trace began.
        let early = Record { time_ns: -3_000, device: 0, op: Op::Write, sector: 1, sectors: 1, latency_ns: Some(10_000) };
        assert_eq!(parse("DiskWrite, 7, p (1), 2, 0xff, 0x200, 0x200, 10, 0"), Ok(Parsed::Request(early)));
    }

    #[test]
    fn the_header_says_which_events_there_are() {
        let mut parser = Etw::default();
        for line in HEADER {
            assert_eq!(parser.parse(line.trim()), Ok(Parsed::Other("header lines")), "{line}");
        }
        assert!(matches!(parser.parse("T-Start, 12, p (1), 7"), Ok(Parsed::Other(_))));
        let flush = Record { time_ns: 12_000, device: 0, op: Op::Flush, sector: 0, sectors: 0, latency_ns: None };
        assert_eq!(parser.parse("DiskFlush, 12, p (1), 7, 0xff, 5, 0"), Ok(Parsed::Request(flush)));
        let fault = parser.parse("DiskRaed, 12, p (1), 7").unwrap_err();
        assert_eq!((fault.column.number, fault.found.as_str()), (1, "`DiskRaed`"));
        assert!(fault.expected.contains("`DiskRead`"), "{}", fault.expected);
        assert_eq!(parser.parse("T-End, 12, p (1), 7").unwrap_err().column.number, 1);
    }

    #[test]
    fn a_header_with_other_columns_is_refused() {
        let mut parser = Etw::default();
        parser.parse(HEADER[0]).unwrap();
        let fault = parser.parse(&HEADER[2].replace("ByteOffset,     IOSize", "IOSize,     ByteOffset")).unwrap_err();
        assert_eq!((fault.column.number, fault.found.as_str()), (6, "`IOSize`"));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("-, 7, p (1), 2, 0xff, 0x200, 0x200, 10, 0", 1, "`-`", "the name of an event"),
                ("DiskRead, x, p (1), 2, 0xff, 0x200, 0x200, 10, 0", 2, "`x`", "a time in us"),
                ("DiskRead, 7, p (1), 2, 0xff, 0x2g0, 0x200, 10, 0", 6, "`0x2g0`", "hexadecimal"),
                ("DiskRead, 7, p (1), 2, 0xff, 0xffffffffffffffff, 0x200, 10, 0", 6, "`0xffffffffffffffff`", "below 2^63"),
                ("DiskRead, 7, p (1), 2, 0xff, 0x200, 0x0, 10, 0", 7, "`0x0`", "1 or more bytes"),
                ("DiskRead, 7, p (1), 2, 0xff, 0x200, 0x200, , 0", 8, "``", "a time in us"),
                ("DiskRead, 7, p (1), 2, 0xff, 0x200, 0x200, 10, C:", 9, "`C:`", "whole number"),
                ("DiskRead, 7, p (1), 2, 0xff, 0x200, 0x200", 8, "the end of the line", "9 columns"),
                ("DiskFlush", 2, "``", "a time in us"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("BeginHeader"));
        assert!(sniff("DiskRead, 7, p (1), 2, 0xff, 0x200, 0x200, 10, 0"));
        assert!(!sniff("DiskNum"));
        assert!(!sniff("128166391024154329,prxy,0,Write,1105182720,1024,1514"));
    }
}
