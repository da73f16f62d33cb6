//! The comma-separated text that the replayer of FlashNet and Heimdall writes of a trace that it has played on a real drive:
//! `time,latency,op,size,offset,submitted,done`.
//!
//! Times are milliseconds, the latency is microseconds, sizes and offsets are bytes; the operation is 0 for a write and 1 for
//! a read. The first column, the time in the trace that was played, is the one that is used; the time of submission and the
//! number of bytes done are checked to be numbers.

use crate::error::Column;
use crate::text;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Layout, Op, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 7] = ["time", "latency", "op", "size", "offset", "submitted", "done"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "flashnet",
    summary: "log of FlashNet's replayer: time,latency,op,size,offset,submitted,done",
    time_column: column(0),
    device_column: None,
    time: Time::Fixed(TimeUnit::Milliseconds),
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    layout: Some(Layout {
        names: &NAMES,
        columns: "time:ms,latency:us,op,len:bytes,lba:bytes,_,_",
        ops: Some("write=0,read=1"),
        open_ended: false,
        times: None,
    }),
    events: &[],
    latency: |_| Some("from submission by the replayer, which may be later than the time in the trace, to completion (latency)"),
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |_| Box::<Flashnet>::default() },
};

fn op(word: &str) -> Option<Op> {
    match word {
        "0" => Some(Op::Write),
        "1" => Some(Op::Read),
        _ => None,
    }
}

/// Seven numbers between commas; MSR's seven have names among them.
fn sniff(line: &str) -> bool {
    fields::columns(line.split(','), NAMES).is_ok_and(|words| {
        op(words[2]).is_some() && words.iter().all(|word| fields::time_ns(word, TimeUnit::Milliseconds, column(0)).is_ok())
    })
}

/// Reads the lines, and counts how late requests were submitted.
#[derive(Default)]
struct Flashnet {
    requests: u64,
    late_ns: i128,
    late_ns_max: i128,
}

impl Parser for Flashnet {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let words = fields::columns(line.split(',').map(str::trim), NAMES)?;
        let time_ns = fields::time_ns(words[0], TimeUnit::Milliseconds, column(0))?;
        let latency_ns = Some(fields::latency_ns(words[1], TimeUnit::Microseconds, column(1))?);
        let op = op(words[2]).ok_or_else(|| Fault::new(column(2), words[2], "0, a write, or 1, a read"))?;
        let size = Amount::new(words[3], AddressUnit::Bytes, column(3))?;
        let (sector, sectors) = fields::extent(Amount::new(words[4], AddressUnit::Bytes, column(4))?, size)?;
        let late_ns = (fields::time_ns(words[5], TimeUnit::Milliseconds, column(5))? - time_ns).max(0);
        fields::unsigned(words[6], column(6))?;
        self.requests += 1;
        self.late_ns += late_ns;
        self.late_ns_max = self.late_ns_max.max(late_ns);
        Ok(Parsed::Request(Record { time_ns, device: 0, op, sector, sectors, latency_ns }))
    }

    fn caveat(&self) -> Option<String> {
        let mean_ns = self.late_ns.unsigned_abs() / u128::from(self.requests.max(1));
        (self.late_ns > 0).then(|| {
            format!(
                "the replayer submitted requests {} later than they come here, on average, and {} at most",
                text::duration(mean_ns),
                text::duration(self.late_ns_max.unsigned_abs())
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Flashnet::default().parse(line)
    }

    #[test]
    fn a_line_is_seven_columns() {
        let record = Record { time_ns: 1_000_000_000, device: 0, op: Op::Read, sector: 9456, sectors: 8, latency_ns: Some(106_000) };
        assert_eq!(parse("1000.000,106,1,4096,4841472,0.152,4096"), Ok(Parsed::Request(record)));
        assert_eq!(parse("1000.000,106,0,4096,4841472,0.152,4096"), Ok(Parsed::Request(Record { op: Op::Write, ..record })));
    }

    #[test]
    fn how_late_requests_were_submitted_is_said() {
        let mut parser = Flashnet::default();
        parser.parse("10.000,106,1,4096,0,10.000,4096").unwrap();
        assert_eq!(parser.caveat(), None);
        parser.parse("20.000,106,1,4096,0,28.000,4096").unwrap();
        let said = "the replayer submitted requests 4.00 ms later than they come here, on average, and 8.00 ms at most";
        assert_eq!(parser.caveat().as_deref(), Some(said));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("x,1,1,512,0,0,512", 1, "`x`", "a time in ms"),
                ("0,-1,1,512,0,0,512", 2, "`-1`", "a time in us"),
                ("0,1,2,512,0,0,512", 3, "`2`", "0, a write"),
                ("0,1,1,0,0,0,512", 4, "`0`", "1 or more bytes"),
                ("0,1,1,512,-1,0,512", 5, "`-1`", "0 or more"),
                ("0,1,1,512,0,?,512", 6, "`?`", "a time in ms"),
                ("0,1,1,512,0,0,x", 7, "`x`", "whole number"),
                ("0,1,1,512,0,0", 7, "the end of the line", "7 columns"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("0.000,134,1,4096,42242048,0.100,4096"));
        assert!(!sniff("128166391024154329,prxy,0,Write,1105182720,1024,1514"));
    }
}
