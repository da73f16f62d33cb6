//! The comma-separated text of the Systor '17 LUN traces (Lee et al., SYSTOR 2017; SNIA 4964):
//! `Timestamp,Response,IOType,LUN,Offset,Size`, with these names as the first line.
//!
//! Times are seconds since 1970 with nine decimals, offsets and sizes are bytes. Lines were written when requests completed,
//! so that they are slightly out of the order of their times. The response time, in seconds too, may be missing.

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::forms::Times;
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Layout, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 6] = ["Timestamp", "Response", "IOType", "LUN", "Offset", "Size"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "systor",
    summary: "Systor '17: Timestamp,Response,IOType,LUN,Offset,Size",
    time_column: column(0),
    device_column: Some(column(3)),
    time: Time::Fixed(TimeUnit::Seconds),
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    layout: Some(Layout {
        names: &NAMES,
        columns: "time:s,latency:s,op,device,lba:bytes,len:bytes",
        ops: None,
        open_ended: false,
        times: Some(Times { digits: Some(10), decimals: true }),
    }),
    events: &[],
    latency: |_| Some("from request to response at the storage array, over its network (Response)"),
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |_| Box::new(Systor) },
};

fn sniff(line: &str) -> bool {
    fields::columns(line.split(',').map(str::trim), NAMES).is_ok_and(|words| {
        words == NAMES || (fields::letter_op(words[2]).is_some() && fields::time_ns(words[0], TimeUnit::Seconds, column(0)).is_ok())
    })
}

struct Systor;

impl Parser for Systor {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let words = fields::columns(line.split(',').map(str::trim), NAMES)?;
        let time_ns = fields::time_ns(words[0], TimeUnit::Seconds, column(0))?;
        let is_known = !words[1].is_empty();
        let latency_ns = is_known.then(|| fields::latency_ns(words[1], TimeUnit::Seconds, column(1))).transpose()?;
        let op = fields::letter_op(words[2]).ok_or_else(|| Fault::new(column(2), words[2], "R or W"))?;
        let device = fields::device(words[3], column(3))?;
        let address = Amount::new(words[4], AddressUnit::Bytes, column(4))?;
        let (sector, sectors) = fields::extent(address, Amount::new(words[5], AddressUnit::Bytes, column(5))?)?;
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Op;
    use crate::trace::testing::assert_faults;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Systor.parse(line)
    }

    #[test]
    fn a_line_is_six_columns() {
        let record = Record { time_ns: 1_456_095_145_133_076_000, device: 2, op: Op::Read, sector: 8, sectors: 8, latency_ns: None };
        let answered = Record { latency_ns: Some(806_000), ..record };
        assert_eq!(parse("1456095145.133076000,0.000806000,R,2,4096,4096"), Ok(Parsed::Request(answered)));
        assert_eq!(parse("1456095145.133076000,,R,2,4096,4096"), Ok(Parsed::Request(record)));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("now,0.1,R,0,0,512", 1, "`now`", "a time in s"),
                ("1.5,x,R,0,0,512", 2, "`x`", "a time in s"),
                ("1.5,18446744074,R,0,0,512", 2, "`18446744074`", "a latency below 2^64 ns"),
                ("1.5,0.1,,0,0,512", 3, "``", "R or W"),
                ("1.5,0.1,R,-1,0,512", 4, "`-1`", "0 or more"),
                ("1.5,0.1,R,0,0.5,512", 5, "`0.5`", "whole number"),
                ("1.5,0.1,R,0,0,0", 6, "`0`", "1 or more bytes"),
                ("1.5,0.1,R,0,0", 6, "the end of the line", "6 columns"),
                ("1.5,0.1,R,0,0,512,", 7, "``", "the end of the line after 6 columns"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("Timestamp,Response,IOType,LUN,Offset,Size"));
        assert!(sniff("1456095145.133076000,0.000806000,R,0,899056122368,131072"));
        assert!(!sniff("0,303567,3584,w,0.000000"));
        assert!(!sniff("0.000,134,1,4096,42242048,0.100,4096"));
    }
}
