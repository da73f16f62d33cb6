//! The comma-separated text of the MSR Cambridge traces (Narayanan et al., FAST 2008; SNIA 388):
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Times are Windows file times in units of 100 ns, offsets and sizes are bytes; the response time is in
//! units of 100 ns as well. One file is one host's; its disks are its devices.

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::forms::Times;
use crate::trace::mapping::Keep;
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Layout, Op, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 7] = ["Timestamp", "Hostname", "DiskNumber", "Type", "Offset", "Size", "ResponseTime"];

const COLUMNS: &str = "time:100ns,_,device,op,lba:bytes,len:bytes,latency:100ns";

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "msr",
    summary: "MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    time_column: column(0),
    device_column: Some(column(2)),
    time: Time::Fixed(TimeUnit::HundredNanoseconds),
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    layout: Some(Layout {
        names: &NAMES,
        columns: COLUMNS,
        ops: None,
        open_ended: false,
        times: Some(Times { digits: Some(18), decimals: false }),
    }),
    events: &[],
    latency: |_| Some("from issue below the file system's cache to completion, as Windows logged it (ResponseTime)"),
    order: Order::Time,
    reader: Reader::Lines { sniff, parser: |_| Box::new(Msr { host: None }) },
};

fn sniff(line: &str) -> bool {
    fields::columns(line.split(','), NAMES).is_ok_and(|words| op(words[3]).is_some())
}

fn op(word: &str) -> Option<Op> {
    if word.eq_ignore_ascii_case("read") {
        Some(Op::Read)
    } else if word.eq_ignore_ascii_case("write") {
        Some(Op::Write)
    } else {
        None
    }
}

struct Msr {
    host: Option<String>,
}

/// Say what is expected in place of another host, and how to read the lines of one.
#[cold]
fn other_host(host: &str) -> String {
    let columns = COLUMNS.replacen('_', &format!("keep:{}", Keep::written(host)), 1);
    format!("`{host}`, the host of the lines before: other hosts have other disks; --columns {columns} reads the lines of this host only")
}

impl Parser for Msr {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let words = fields::columns(line.split(',').map(str::trim), NAMES)?;
        let ticks = fields::unsigned(words[0], column(0))?;
        // Disk numbers of different hosts would name different disks by the same number.
        match &self.host {
            Some(host) if host == words[1] => {}
            Some(host) => {
                return Err(Fault::new(column(1), words[1], other_host(host)));
            }
            None if words[1].is_empty() => {
                return Err(Fault::new(column(1), words[1], "the name of a host"));
            }
            None => self.host = Some(words[1].to_owned()),
        }
        let device = fields::device(words[2], column(2))?;
        let op = op(words[3]).ok_or_else(|| Fault::new(column(3), words[3], "Read or Write"))?;
        let address = Amount::new(words[4], AddressUnit::Bytes, column(4))?;
        let (sector, sectors) = fields::extent(address, Amount::new(words[5], AddressUnit::Bytes, column(5))?)?;
        let latency_ns = Some(fields::latency_ns(words[6], TimeUnit::HundredNanoseconds, column(6))?);
        let time_ns = i128::from(ticks) * i128::from(TimeUnit::HundredNanoseconds.ns());
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Msr { host: None }.parse(line)
    }

    #[test]
    fn a_line_is_seven_columns() {
        assert_eq!(
            parse("128166391024154329,prxy,0,Write,1105182720,1024,1514"),
            Ok(Parsed::Request(Record {
                time_ns: 12_816_639_102_415_432_900,
                device: 0,
                op: Op::Write,
                sector: 2_158_560,
                sectors: 2,
                latency_ns: Some(151_400)
            }))
        );
        let other_disk = Record { time_ns: 100, device: 3, op: Op::Read, sector: 0, sectors: 1, latency_ns: Some(0) };
        assert_eq!(parse("1,h,3,read,0,512,0\r"), Ok(Parsed::Request(other_disk)));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        for (line, column, found, expected) in [
            ("x,prxy,0,Write,0,512,1", 1, "`x`", "whole number"),
            ("1,,0,Write,0,512,1", 2, "``", "host"),
            ("1,prxy,z,Write,0,512,1", 3, "`z`", "whole number"),
            ("1,prxy,0,Wrote,0,512,1", 4, "`Wrote`", "Read or Write"),
            ("1,prxy,0,Write,-4096,512,1", 5, "`-4096`", "0 or more"),
            ("1,prxy,0,Write,0,0,1", 6, "`0`", "1 or more bytes"),
            ("1,prxy,0,Write,0,512,", 7, "``", "a time in 100ns"),
            ("1,prxy,0,Write,0,512", 7, "the end of the line", "7 columns"),
            ("1,prxy,0,Write,0,512,1,9", 8, "`9`", "the end of the line after 7 columns"),
        ] {
            let fault = parse(line).unwrap_err();
            assert_eq!(fault.column.number, column, "{line}");
            assert!(fault.found.contains(found), "{line}: {}", fault.found);
            assert!(fault.expected.contains(expected), "{line}: {}", fault.expected);
        }
    }

    #[test]
    fn a_second_host_is_refused() {
        let mut parser = Msr { host: None };
        parser.parse("1,prxy,0,Write,0,512,1").unwrap();
        let fault = parser.parse("1,hm,0,Write,0,512,1").unwrap_err();
        assert_eq!((fault.column.number, fault.found.as_str()), (2, "`hm`"));
        assert!(fault.expected.contains("`prxy`"));
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("128166391024154329,prxy,0,Write,1105182720,1024,1514"));
        assert!(!sniff("1538323200,4247200,128,1,1063"));
        assert!(!sniff("1 0 8 8 1"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(line in any::<String>()) {
            let _ = parse(line.trim());
        }

        #[test]
        fn nearly_right_lines_are_parsed_or_refused(line in "[-+.0-9,a]{0,20},(Read|Write),[-0-9,]{0,30}") {
            let _ = parse(&line);
        }

        #[test]
        fn a_written_record_is_read_back(
            ticks in any::<u64>(), disk in any::<u32>(), sector in 0_u64..1 << 53, sectors in 1_u32.., read in any::<bool>(),
        ) {
            let (word, op) = if read { ("Read", Op::Read) } else { ("Write", Op::Write) };
            let line = format!("{ticks},host,{disk},{word},{},{},17", sector * 512, u64::from(sectors) * 512);
            prop_assert_eq!(
                parse(&line),
                Ok(Parsed::Request(Record { time_ns: i128::from(ticks) * 100, device: disk, op, sector, sectors, latency_ns: Some(1_700) }))
            );
        }
    }
}
