//! The comma-separated text of the Storage Performance Council, in which the UMass repository has its traces (Financial,
//! WebSearch): `ASU,LBA,Size,Opcode,Timestamp`, and further fields that a writer may add.
//!
//! An ASU, an application storage unit, is a device; addresses are blocks of 512 bytes, sizes are bytes, times are seconds
//! since the beginning of the trace, with a fraction.

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Layout, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 5] = ["ASU", "LBA", "Size", "Opcode", "Timestamp"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "spc",
    summary: "SPC, UMass: ASU,LBA,Size,Opcode,Timestamp",
    time_column: column(4),
    device_column: Some(column(0)),
    time: Time::Fixed(TimeUnit::Seconds),
    address_unit: Some(AddressUnit::Sectors),
    op_codes: false,
    layout: Some(Layout { names: &NAMES, columns: "device,lba:sectors,len:bytes,op,time:s", ops: None, open_ended: true, times: None }),
    events: &[],
    latency: |_| None,
    order: Order::Time,
    reader: Reader::Lines { sniff, parser: |_| Box::new(Spc) },
};

/// Only here is the fourth of the comma-separated fields a letter.
fn sniff(line: &str) -> bool {
    let words: Vec<&str> = line.split(',').map(str::trim).take(NAMES.len()).collect();
    words.len() == NAMES.len() && fields::letter_op(words[3]).is_some() && fields::unsigned(words[1], column(1)).is_ok()
}

struct Spc;

impl Parser for Spc {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let words = fields::columns(line.split(',').map(str::trim).take(NAMES.len()), NAMES)?;
        let device = fields::device(words[0], column(0))?;
        let address = Amount::new(words[1], AddressUnit::Sectors, column(1))?;
        let (sector, sectors) = fields::extent(address, Amount::new(words[2], AddressUnit::Bytes, column(2))?)?;
        let op = fields::letter_op(words[3]).ok_or_else(|| Fault::new(column(3), words[3], "R or W, also in small letters"))?;
        let time_ns = fields::time_ns(words[4], TimeUnit::Seconds, column(4))?;
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Op;
    use crate::trace::testing::assert_faults;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Spc.parse(line)
    }

    #[test]
    fn a_line_is_five_columns_or_more() {
        let record = Record { time_ns: 26_214_000, device: 3, op: Op::Write, sector: 240_840, sectors: 6, latency_ns: None };
        assert_eq!(parse("3,240840,3072,w,0.026214"), Ok(Parsed::Request(record)));
        assert_eq!(parse("3, 240840, 3071, W, 0.026214, 17, x"), Ok(Parsed::Request(record)));
        let read = Record { time_ns: 0, device: 0, op: Op::Read, sector: 7, sectors: 1, latency_ns: None };
        assert_eq!(parse("0,7,1,r,0"), Ok(Parsed::Request(read)));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("x,1,512,r,0", 1, "`x`", "whole number"),
                ("4294967296,1,512,r,0", 1, "`4294967296`", "below 2^32"),
                ("0,-1,512,r,0", 2, "`-1`", "0 or more"),
                ("0,18014398509481984,512,r,0", 2, "`18014398509481984`", "below 2^63"),
                ("0,1,0,r,0", 3, "`0`", "1 or more bytes"),
                ("0,1,512,read,0", 4, "`read`", "R or W"),
                ("0,1,512,r,1e", 5, "`1e`", "a time in s"),
                ("0,1,512,r", 5, "the end of the line", "5 columns"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("0,303567,3584,w,0.000000"));
        assert!(!sniff("1538323200,4247200,128,1,1063"));
        assert!(!sniff("0,R,126703644672,4096,1577808000000046"));
        assert!(!sniff("1 0 8 8 1"));
    }
}
