//! The comma-separated text of Alibaba's block traces (Li et al., IISWC 2020): `device_id,opcode,offset,length,timestamp`.
//!
//! Offsets and lengths are bytes, times are microseconds since 1970, the operation is R or W. One file holds all devices.

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::forms::Times;
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Layout, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 5] = ["device_id", "opcode", "offset", "length", "timestamp"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "alibaba",
    summary: "Alibaba block traces: device_id,opcode,offset,length,timestamp",
    time_column: column(4),
    device_column: Some(column(0)),
    time: Time::Fixed(TimeUnit::Microseconds),
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    layout: Some(Layout {
        names: &NAMES,
        columns: "device,op,lba:bytes,len:bytes,time:us",
        ops: None,
        open_ended: false,
        times: Some(Times { digits: Some(16), decimals: false }),
    }),
    events: &[],
    latency: |_| None,
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |_| Box::new(Alibaba) },
};

fn sniff(line: &str) -> bool {
    fields::columns(line.split(','), NAMES).is_ok_and(|words| {
        words == NAMES || fields::letter_op(words[1]).is_some() && [0, 2, 3, 4].into_iter().all(|at| is_number(words[at].trim()))
    })
}

fn is_number(word: &str) -> bool {
    fields::time_ns(word, TimeUnit::Microseconds, column(0)).is_ok()
}

struct Alibaba;

impl Parser for Alibaba {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let words = fields::columns(line.split(',').map(str::trim), NAMES)?;
        let device = fields::device(words[0], column(0))?;
        let op = fields::letter_op(words[1]).ok_or_else(|| Fault::new(column(1), words[1], "R or W"))?;
        let address = Amount::new(words[2], AddressUnit::Bytes, column(2))?;
        let (sector, sectors) = fields::extent(address, Amount::new(words[3], AddressUnit::Bytes, column(3))?)?;
        let time_ns = fields::time_ns(words[4], TimeUnit::Microseconds, column(4))?;
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Op;
    use crate::trace::testing::assert_faults;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Alibaba.parse(line)
    }

    #[test]
    fn a_line_is_five_columns() {
        let record = Record { time_ns: 1_577_808_000_000_046_000, device: 419, op: Op::Write, sector: 24, sectors: 8, latency_ns: None };
        assert_eq!(parse("419,W,12288,4096,1577808000000046"), Ok(Parsed::Request(record)));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("a,W,0,512,1", 1, "`a`", "whole number"),
                ("1,X,0,512,1", 2, "`X`", "R or W"),
                ("1,W,0x10,512,1", 3, "`0x10`", "whole number"),
                ("1,W,18446744073709551615,512,1", 3, "`18446744073709551615`", "below 2^63"),
                ("1,W,0,0,1", 4, "`0`", "1 or more bytes"),
                ("1,W,0,512,-1", 5, "`-1`", "a time in us"),
                ("1,W,0,512", 5, "the end of the line", "5 columns"),
                ("1,W,0,512,1,1", 6, "`1`", "the end of the line after 5 columns"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("0,R,126703644672,4096,1577808000000046"));
        assert!(sniff("device_id,opcode,offset,length,timestamp"));
        assert!(!sniff("0,303567,3584,w,0.000000"));
        assert!(!sniff("1538323200,4247200,128,1,1063"));
    }
}
