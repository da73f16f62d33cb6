//! The five-column text of DiskSim, SSDSim and MQSim: `time device address size op`, separated by white space.
//!
//! The family agrees on the columns and on nothing else. The unit of time differs by source (ns in MQSim, ms in DiskSim, us
//! in some files for SSDSim) and no file states it, so that it must be given. Addresses and sizes are sectors of 512 bytes
//! unless bytes are given; the operation is 0 for a write and 1 for a read unless other codes are given. Times may be
//! decimal fractions.

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::iso8601;
use crate::trace::units::{AddressUnit, Code, OpCodes, TimeUnit};
use crate::trace::{Format, Layout, Op, Order, Parsed, Parser, Reader, Record, Settings, Time};

const NAMES: [&str; 5] = ["time", "device", "address", "size", "op"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "ascii",
    summary: "five columns of DiskSim, SSDSim and MQSim: time device address size op",
    time_column: column(0),
    device_column: Some(column(1)),
    time: Time::Given,
    address_unit: None,
    op_codes: true,
    layout: Some(Layout { names: &NAMES, columns: "time,device,lba,len,op", ops: None, open_ended: false, times: None }),
    events: &[],
    latency: |_| None,
    order: Order::Time,
    reader: Reader::Lines { sniff, parser: |settings| Box::new(Ascii::new(settings)) },
};

/// Five words of which the first four are numbers: that is no other format's line.
fn sniff(line: &str) -> bool {
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let time = |word: &str| number(word) || iso8601::is_time(word) || iso8601::of_day(word).is_some();
    fields::columns(line.split_ascii_whitespace(), NAMES).is_ok_and(|words| time(words[0]) && words[1..4].iter().all(|word| number(word)))
}

struct Ascii {
    time_unit: TimeUnit,
    address_unit: AddressUnit,
    ops: OpCodes,
}

impl Ascii {
    fn new(settings: &Settings) -> Self {
        // Where times are not looked at, any unit does.
        let time_unit = settings.time_unit.unwrap_or(TimeUnit::Nanoseconds);
        Self { time_unit, address_unit: settings.address_unit, ops: settings.ops.clone() }
    }
}

/// Words for a write and a read that some have in place of codes.
const WORDS: [(&str, &str); 5] = [("W", "R"), ("w", "r"), ("Write", "Read"), ("write", "read"), ("WRITE", "READ")];

impl Parser for Ascii {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let words = fields::columns(line.split_ascii_whitespace(), NAMES)?;
        let time_ns = fields::time_ns(words[0], self.time_unit, column(0))?;
        let device = fields::device(words[1], column(1))?;
        let address = Amount::new(words[2], self.address_unit, column(2))?;
        let size = Amount::new(words[3], self.address_unit, column(3))?;
        let op = match self.ops.code(words[4]) {
            Some(Code::Op(op)) => Some(op),
            Some(Code::Ignored(place)) => return Ok(Parsed::Ignored(place)),
            None => None,
        };
        // A flush has neither address nor size; both columns are numbers all the same.
        let (sector, sectors) = if op == Some(Op::Flush) { (0, 0) } else { fields::extent(address, size)? };
        let op = op.ok_or_else(|| {
            let gives = match WORDS.iter().find(|(write, read)| [*write, *read].contains(&words[4])) {
                Some((write, read)) => format!("`--ops write={write},read={read}` reads such words"),
                None => "`--ops` gives others, as read=1,2,write=0,ignore=3".into(),
            };
            let expected = format!("an operation code, {}; {gives}", self.ops);
            Fault::new(column(4), words[4], expected)
        })?;
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns: None }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tinytail_core::commands::CommandKind;

    use super::*;

    fn parser(time_unit: TimeUnit, address_unit: AddressUnit, ops: &str) -> Ascii {
        Ascii { time_unit, address_unit, ops: ops.parse().unwrap() }
    }

    fn parse(line: &str) -> Result<Parsed, Fault> {
        parser(TimeUnit::Microseconds, AddressUnit::Sectors, "write=0,read=1").parse(line)
    }

    #[test]
    fn a_line_is_five_columns() {
        let record =
            Parsed::Request(Record { time_ns: 979_000, device: 0, op: Op::Read, sector: 287_641_400, sectors: 128, latency_ns: None });
        assert_eq!(parse("979 0 287641400 128 1"), Ok(record));
        assert_eq!(parse("  979\t0  287641400 128 1"), Ok(record));
    }

    #[test]
    fn units_and_codes_are_those_given() {
        let mut parser = parser(TimeUnit::Milliseconds, AddressUnit::Bytes, "write=W,read=R");
        let record =
            Parsed::Request(Record { time_ns: 223_412_000, device: 2, op: Op::Write, sector: 6_170_600, sectors: 72, latency_ns: None });
        assert_eq!(parser.parse("223.412 2 3159347200 36864 W"), Ok(record));
        assert_eq!(parser.parse("223.412 2 3159347200 36864 0").unwrap_err().column.number, 5);
        let mut parser = self::parser(TimeUnit::Nanoseconds, AddressUnit::Sectors, "write=0,read=1,trim=2,flush=3");
        let flush = Parsed::Request(Record { time_ns: 5, device: 0, op: Op::Flush, sector: 0, sectors: 0, latency_ns: None });
        assert_eq!(parser.parse("5 0 0 0 3"), Ok(flush));
        assert_eq!(parser.parse("5 0 0 0 2").unwrap_err().column.number, 4);
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        for (line, column, found, expected) in [
            ("x 0 8 8 1", 1, "`x`", "a time in us"),
            ("-1 0 8 8 1", 1, "`-1`", "0 or more"),
            ("1 -2 8 8 1", 2, "`-2`", "0 or more"),
            ("1 4294967296 8 8 1", 2, "`4294967296`", "below 2^32"),
            ("1 0 8.5 8 1", 3, "`8.5`", "whole number"),
            ("1 0 8 0 1", 4, "`0`", "1 or more sectors"),
            ("1 0 8 8 2", 5, "`2`", "write=0,read=1"),
            ("1 0 8 8", 5, "the end of the line", "5 columns: time device address size op"),
            ("1 0 8 8 1 7", 6, "`7`", "the end of the line after 5 columns"),
        ] {
            let fault = parse(line).unwrap_err();
            assert_eq!(fault.column.number, column, "{line}");
            assert!(fault.found.contains(found), "{line}: {}", fault.found);
            assert!(fault.expected.contains(expected), "{line}: {}", fault.expected);
        }
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("15849.28847 0 6198696 8 0"));
        assert!(sniff("1 0 8 8 R"));
        assert!(!sniff("1 0 8 8"));
        assert!(!sniff("0,303567,3584,w,0.000000"));
        assert!(!sniff("a b c d e"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(line in any::<String>()) {
            let _ = parse(line.trim());
        }

        #[test]
        fn nearly_right_lines_are_parsed_or_refused(line in "[-+.0-9 eE]{0,40}") {
            let _ = parse(line.trim());
        }

        #[test]
        fn a_written_record_is_read_back(
            time in any::<u64>(), device in any::<u32>(), sector in 0_u64..1 << 53, sectors in 1_u32.., read in any::<bool>(),
        ) {
            let ops = OpCodes::default();
            let kind = if read { CommandKind::Read } else { CommandKind::Write };
            let line = format!("{time} {device} {sector} {sectors} {}", ops.code_of(kind).unwrap());
            let record = Record { time_ns: i128::from(time) * 1_000, device, op: kind.into(), sector, sectors, latency_ns: None };
            prop_assert_eq!(parse(&line), Ok(Parsed::Request(record)));
        }
    }
}
