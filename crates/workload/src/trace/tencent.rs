//! The comma-separated text of Tencent's cloud block storage (Zhang et al., ATC 2020; SNIA IOTTA):
//! `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! Times are whole seconds since 1970, offsets and sizes are sectors of 512 bytes, the operation is 0 for a read and 1 for a
//! write. One file holds an hour of all volumes; with a resolution of a second, requests come in bursts.

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::forms::Times;
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Layout, Op, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 5] = ["Timestamp", "Offset", "Size", "IOType", "VolumeID"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "tencent",
    summary: "Tencent cloud block storage: Timestamp,Offset,Size,IOType,VolumeID",
    time_column: column(0),
    device_column: Some(column(4)),
    time: Time::Fixed(TimeUnit::Seconds),
    address_unit: Some(AddressUnit::Sectors),
    op_codes: false,
    layout: Some(Layout {
        names: &NAMES,
        columns: "time:s,lba:sectors,len:sectors,op,device",
        ops: Some("write=1,read=0"),
        open_ended: false,
        times: Some(Times { digits: Some(10), decimals: false }),
    }),
    events: &[],
    latency: |_| None,
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |_| Box::new(Tencent) },
};

fn op(word: &str) -> Option<Op> {
    match word {
        "0" => Some(Op::Read),
        "1" => Some(Op::Write),
        _ => None,
    }
}

fn sniff(line: &str) -> bool {
    fields::columns(line.split(','), NAMES).is_ok_and(|words| {
        let numbers = || words.iter().all(|word| fields::unsigned(word, column(0)).is_ok());
        words == NAMES || (op(words[3]).is_some() && numbers())
    })
}

struct Tencent;

impl Parser for Tencent {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let words = fields::columns(line.split(',').map(str::trim), NAMES)?;
        let time_ns = fields::time_ns(words[0], TimeUnit::Seconds, column(0))?;
        let address = Amount::new(words[1], AddressUnit::Sectors, column(1))?;
        let (sector, sectors) = fields::extent(address, Amount::new(words[2], AddressUnit::Sectors, column(2))?)?;
        let op = op(words[3]).ok_or_else(|| Fault::new(column(3), words[3], "0, a read, or 1, a write"))?;
        let device = fields::device(words[4], column(4))?;
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Tencent.parse(line)
    }

    #[test]
    fn a_line_is_five_columns() {
        let record =
            Record { time_ns: 1_538_323_200_000_000_000, device: 1058, op: Op::Write, sector: 4_247_200, sectors: 128, latency_ns: None };
        assert_eq!(parse("1538323200,4247200,128,1,1058"), Ok(Parsed::Request(record)));
        let read = Record { op: Op::Read, ..record };
        assert_eq!(parse("1538323200,4247200,128,0,1058"), Ok(Parsed::Request(read)));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("x,0,8,1,1", 1, "`x`", "a time in s"),
                ("1,-8,8,1,1", 2, "`-8`", "0 or more"),
                ("1,0,0,1,1", 3, "`0`", "1 or more sectors"),
                ("1,0,4294967296,1,1", 3, "`4294967296`", "below 2 TiB"),
                ("1,0,8,2,1", 4, "`2`", "0, a read, or 1, a write"),
                ("1,0,8,1,", 5, "``", "whole number"),
                ("1,0,8,1", 5, "the end of the line", "5 columns"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("1538323200,4247200,128,1,1063"));
        assert!(!sniff("0,303567,3584,w,0.000000"));
        assert!(!sniff("0,R,126703644672,4096,1577808000000046"));
    }
}
