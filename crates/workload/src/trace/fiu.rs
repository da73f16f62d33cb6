//! The white-space-separated text of the FIU traces (Koller and Rangaswami, FAST 2010; SNIA 391):
//! `time pid process sector sectors op major minor md5`.
//!
//! Times are nanoseconds, addresses and sizes are sectors of 512 bytes, the operation is R or W, or
//! other letters of [`rwbs`](super::rwbs). The name of the process may
//! contain spaces; the hash of the data is checked to be one and not used. The lines come from blkparse, which merges one
//! stream per CPU and may write them slightly out of order.

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::forms::Times;
use crate::trace::rwbs::{self, Rwbs};
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Layout, Op, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 9] = ["time", "pid", "process", "sector", "sectors", "op", "major", "minor", "md5"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "fiu",
    summary: "FIU: time pid process sector sectors op major minor md5",
    time_column: column(0),
    device_column: Some(column(6)),
    time: Time::Fixed(TimeUnit::Nanoseconds),
    address_unit: Some(AddressUnit::Sectors),
    op_codes: false,
    layout: Some(Layout {
        names: &NAMES,
        columns: "time:ns,_,_,lba:sectors,len:sectors,op,device,_,_",
        ops: None,
        open_ended: false,
        times: Some(Times { digits: None, decimals: false }),
    }),
    events: &[],
    latency: |_| None,
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |_| Box::new(Fiu) },
};

/// The columns of a line; a process of several words is one.
fn words(line: &str) -> Result<[&str; 9], Fault> {
    // More words than this are no name.
    const EXTRA_MAX: usize = 16;
    let mut words = [""; NAMES.len() + EXTRA_MAX];
    let mut count = 0;
    for word in line.split_ascii_whitespace() {
        let Some(slot) = words.get_mut(count) else {
            return Err(Fault::new(column(2), words[2], format!("a line of fewer words: {}", NAMES.join(" "))));
        };
        *slot = word;
        count += 1;
    }
    if count > NAMES.len() {
        words.copy_within(count - 6..count, 3);
        count = NAMES.len();
    }
    fields::columns(words[..count].iter().copied(), NAMES)
}

fn sniff(line: &str) -> bool {
    words(line).is_ok_and(|words| fields::unsigned(words[0], column(0)).is_ok() && letters(words[5]).is_some() && is_hash(words[8]))
}

fn is_hash(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What a request does; blkparse wrote it.
fn letters(word: &str) -> Option<Rwbs> {
    fields::letter_op(word).map(|op| Rwbs { op: Some(op), flushes_before: false }).or_else(|| rwbs::read(word))
}

struct Fiu;

impl Parser for Fiu {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let words = words(line)?;
        let time_ns = i128::from(fields::unsigned(words[0], column(0))?);
        fields::unsigned(words[1], column(1))?;
        let address = Amount::new(words[3], AddressUnit::Sectors, column(3))?;
        let size = Amount::new(words[4], AddressUnit::Sectors, column(4))?;
        let Rwbs { op, flushes_before } =
            letters(words[5]).ok_or_else(|| Fault::new(column(5), words[5], "R or W, or letters such as WS"))?;
        let device = fields::linux_device((words[6], column(6)), (words[7], column(7)))?;
        if !is_hash(words[8]) {
            return Err(Fault::new(column(8), words[8], "a hash in hexadecimal"));
        }
        let Some(op) = op else { return Ok(Parsed::Other("requests other than reads and writes")) };
        // A flush before nothing is one.
        let flushes = op == Op::Flush || flushes_before && size.value == 0;
        let (op, (sector, sectors)) = if flushes { (Op::Flush, (0, 0)) } else { (op, fields::extent(address, size)?) };
        Ok(Parsed::Request(Record { time_ns, device, op, sector, sectors, latency_ns: None }))
    }

    fn device_name(&self, device: u32) -> String {
        fields::linux_device_name(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Fiu.parse(line)
    }

    #[test]
    fn a_line_is_nine_columns() {
        let record =
            Record { time_ns: 89_966_527_950_584, device: 6 << 20 | 1, op: Op::Write, sector: 508_516_672, sectors: 8, latency_ns: None };
        assert_eq!(parse("89966527950584 4253 nfsd 508516672 8 W 6 1 88b93b62"), Ok(Parsed::Request(record)));
        assert_eq!(parse("89966527950584 4253 two words 508516672 8 W 6 1 88b93b62"), Ok(Parsed::Request(record)));
        assert_eq!(Fiu.device_name(6 << 20 | 1), "6,1");
        assert_eq!(parse("89966527950584 4253 p 508516672 8 WFSM 6 1 88b93b62"), Ok(Parsed::Request(record)));
        for flush in ["1 2 p 0 0 FF 6 0 ab", "1 2 p 0 0 FWS 6 0 ab"] {
            assert!(matches!(parse(flush), Ok(Parsed::Request(Record { op: Op::Flush, sectors: 0, .. }))), "{flush}");
        }
        assert_eq!(parse("1 2 p 0 0 N 6 0 ab"), Ok(Parsed::Other("requests other than reads and writes")));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("1.5 2 p 8 8 W 6 0 ab", 1, "`1.5`", "whole number"),
                ("1 x p 8 8 W 6 0 ab", 2, "`x`", "whole number"),
                ("1 2 p -8 8 W 6 0 ab", 4, "`-8`", "0 or more"),
                ("1 2 p 8 0 W 6 0 ab", 5, "`0`", "1 or more sectors"),
                ("1 2 p 8 8 Q 6 0 ab", 6, "`Q`", "R or W"),
                ("1 2 p 8 8 W 4096 0 ab", 7, "`4096`", "below 4,096"),
                ("1 2 p 8 8 W 6 1048576 ab", 8, "`1048576`", "below 1,048,576"),
                ("1 2 p 8 8 W 6 0 xyz", 9, "`xyz`", "hash"),
                ("1 2 p 8 8 W 6 0", 9, "the end of the line", "9 columns"),
            ],
        );
        let long = format!("1 2 {} 8 8 W 6 0 ab", "word ".repeat(40));
        assert_eq!(parse(&long).unwrap_err().column.number, 3);
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173"));
        assert!(!sniff("8,16 3 4 0.000011950 3645 I R 4938888 + 256 [java]"));
        assert!(!sniff("39949 D read 299008 4096 0.000000000 0 False"));
    }
}
