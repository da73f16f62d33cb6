//! The white-space-separated text that WiscSee makes of blkparse's events for its simulator:
//! `pid event op offset size time pre_wait sync`.
//!
//! The event is D, issued, or C, completed; requests are the issued ones, and their latency is the time to C. Offsets and sizes are bytes, times are seconds. The
//! time since the event before and whether a request was synchronous are not used.

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Layout, Op, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 8] = ["pid", "event", "op", "offset", "size", "time", "pre_wait", "sync"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "wiscsee",
    summary: "WiscSee's blkparse-events-for-ftlsim: pid event op offset size time pre_wait sync",
    time_column: column(5),
    device_column: None,
    time: Time::Fixed(TimeUnit::Seconds),
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    layout: Some(Layout { names: &NAMES, columns: "_,_,op,lba:bytes,len:bytes,time:s,_,_", ops: None, open_ended: false, times: None }),
    events: &[],
    latency: |_| Some("from issue to the driver to completion (D to C)"),
    order: Order::Time,
    reader: Reader::Lines { sniff, parser: |_| Box::new(Wiscsee) },
};

fn op(word: &str) -> Option<Op> {
    match word {
        "read" => Some(Op::Read),
        "write" => Some(Op::Write),
        "discard" => Some(Op::Trim),
        _ => None,
    }
}

fn sniff(line: &str) -> bool {
    fields::columns(line.split_ascii_whitespace(), NAMES).is_ok_and(|words| matches!(words[1], "C" | "D") && op(words[2]).is_some())
}

struct Wiscsee;

impl Parser for Wiscsee {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let words = fields::columns(line.split_ascii_whitespace(), NAMES)?;
        fields::unsigned(words[0], column(0))?;
        let parsed = match words[1] {
            "D" => Parsed::Issued,
            "C" => Parsed::Completed,
            other => return Err(Fault::new(column(1), other, "D, issued, or C, completed")),
        };
        let op = op(words[2]).ok_or_else(|| Fault::new(column(2), words[2], "read, write or discard"))?;
        let time_ns = fields::time_ns(words[5], TimeUnit::Seconds, column(5))?;
        let address = Amount::new(words[3], AddressUnit::Bytes, column(3))?;
        let (sector, sectors) = fields::extent(address, Amount::new(words[4], AddressUnit::Bytes, column(4))?)?;
        Ok(parsed(Record { time_ns, device: 0, op, sector, sectors, latency_ns: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Wiscsee.parse(line)
    }

    #[test]
    fn a_line_is_eight_columns() {
        let record = Record { time_ns: 196_695, device: 0, op: Op::Read, sector: 648, sectors: 8, latency_ns: None };
        assert_eq!(parse("39949 D read 331776 4096 0.000196695 7.3902e-05 False"), Ok(Parsed::Issued(record)));
        let trim = Record { time_ns: 0, op: Op::Trim, sector: 0, ..record };
        assert_eq!(parse("39949 D discard 0 4096 0.0 0 True"), Ok(Parsed::Issued(trim)));
        let completed = Record { time_ns: 321_063, ..record };
        assert_eq!(parse("0 C read 331776 4096 0.000321063 0.000124368 False"), Ok(Parsed::Completed(completed)));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("x D read 0 4096 0.0 0 True", 1, "`x`", "whole number"),
                ("1 Q read 0 4096 0.0 0 True", 2, "`Q`", "D, issued"),
                ("1 D erase 0 4096 0.0 0 True", 3, "`erase`", "read, write"),
                ("1 D read -1 4096 0.0 0 True", 4, "`-1`", "0 or more"),
                ("1 D read 0 0 0.0 0 True", 5, "`0`", "1 or more bytes"),
                ("1 D read 0 4096 1e- 0 True", 6, "`1e-`", "a time in s"),
                ("1 D read 0 4096 0.0 0", 8, "the end of the line", "8 columns"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("39949 D read 299008 4096 0.000000000 0 False"));
        assert!(!sniff("1 2 p 8 8 W 6 0"));
    }
}
