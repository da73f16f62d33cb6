//! The latency logs of fio, as its job option `write_lat_log` writes them with `log_offset=1`:
//! `time, value, direction, block size, offset, priority`, and since fio 3.38, with `log_issue_time=1`, `issue time` behind.
//!
//! Times are whole milliseconds, values and issue times nanoseconds, sizes and offsets bytes; the direction is 0 for a read, 1
//! for a write and 2 for a trim. A line is written when its request completes, so that a request's arrival is its time less
//! its latency, unless its issue time is there; fio writes 0 for it in logs of the total latency.
//!
//! One run writes several logs. Those of the total (`NAME_lat.1.log`) and of the completion latency (`NAME_clat.1.log`) are
//! traces. Those of the submission latency, of bandwidth and of IOPS look the same and hold other values; they are told by
//! their names. With `log_avg_msec` a line is of many requests and has the block size 0.

use std::path::Path;

use crate::error::{Column, WorkloadError};
use crate::text;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Layout, Op, Order, Parsed, Parser, Reader, Record, Time};

const NAMES: [&str; 7] = ["time", "value", "direction", "block size", "offset", "priority", "issue time"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "fio-lat",
    summary: "fio's latency log with log_offset=1: time, value, direction, block size, offset, priority; arrival is time less value",
    time_column: column(0),
    device_column: None,
    time: Time::Fixed(TimeUnit::Milliseconds),
    address_unit: Some(AddressUnit::Bytes),
    op_codes: false,
    // The issue time may be missing.
    layout: Some(Layout {
        names: NAMES.split_at(6).0,
        columns: "time:ms,latency:ns,op,len:bytes,lba:bytes,_",
        ops: Some("read=0,write=1,trim=2"),
        open_ended: true,
        times: None,
    }),
    events: &[],
    latency: |_| Some("by fio to completion, from the call that submits (in a _lat log) or from its return (_clat)"),
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |_| Box::<FioLatency>::default() },
};

fn op(word: &str) -> Option<Op> {
    match word {
        "0" => Some(Op::Read),
        "1" => Some(Op::Write),
        "2" => Some(Op::Trim),
        _ => None,
    }
}

/// Lines without an offset and those of averages are claimed too, so that what is wrong with them is said.
fn sniff(line: &str) -> bool {
    let words: Vec<&str> = line.split(", ").collect();
    let blocks = |word: &str| word.parse::<u64>().is_ok_and(|bytes| bytes.is_multiple_of(512));
    let priority = |word: &str| matches!(word, "0" | "1") || word.starts_with("0x");
    match words[..] {
        [_, _, _, direction, "0", "0", last, ..] if words.len() <= 8 && op(direction).is_some() => priority(last),
        [_, _, direction, size, last] | [_, _, direction, size, _, last] | [_, _, direction, size, _, last, _] => {
            op(direction).is_some() && blocks(size) && priority(last)
        }
        _ => false,
    }
}

/// Refuses a file whose name is that of another log of fio, of which each line has the same form. Returns a note where the name does not
/// say which log it is.
pub(super) fn check_name(path: &Path) -> Result<Option<String>, WorkloadError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kind = name.rsplit_once('_').map_or("", |(_, rest)| rest.split('.').next().unwrap_or_default());
    let what = match kind {
        "lat" | "clat" => return Ok(None),
        "slat" => "submission latencies",
        "bw" => "bandwidth",
        "iops" => "IOPS",
        _ => {
            let note = "its values are taken for latencies in ns, and its name does not tell that they are: fio's logs of bandwidth (NAME_bw.1.log), \
                        IOPS (NAME_iops.1.log) and submission latencies (NAME_slat.1.log) look the same as those of latencies (NAME_lat.1.log and \
                        NAME_clat.1.log)";
            return Ok(Some(note.into()));
        }
    };
    let expected = name.replacen(&format!("_{kind}."), "_lat.", 1);
    Err(WorkloadError::Option {
        path: path.display().to_string(),
        message: format!(
            "by its name this is fio's log of {what}; expected that of the total latency, which write_lat_log writes: {expected}"
        ),
    })
}

/// Reads the lines, and counts those whose times say too little.
#[derive(Default)]
struct FioLatency {
    requests: u64,
    /// Requests without an issue time that completed in the same millisecond as the one before.
    together: u64,
    latest_ns: Option<i128>,
}

impl Parser for FioLatency {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let mut words = [""; NAMES.len()];
        let mut count = 0;
        for word in line.split(',').map(str::trim) {
            if let Some(slot) = words.get_mut(count) {
                *slot = word;
            }
            count += 1;
        }
        // The size of a request is no such number, but the direction of averages and maxima stands here.
        if count > 3 && op(words[3]).is_some() {
            let expected = "the size of one request; with log_avg_msec fio makes one line of many: log without it";
            return Err(Fault::new(column(3), words[3], expected));
        }
        if count < 6 {
            let expected = "6 or 7 columns: time, value, direction, block size, offset, priority; fio writes the offset with log_offset=1";
            return Err(Fault { column: column(count), found: fields::END_OF_LINE.into(), expected: expected.into() });
        }
        if count > NAMES.len() {
            let column = Column { number: NAMES.len() + 1, name: "beyond the last" };
            return Err(Fault::new(column, line, "the end of the line after 7 columns"));
        }
        let completed_ns = fields::time_ns(words[0], TimeUnit::Milliseconds, column(0))?;
        let latency_ns = fields::unsigned(words[1], column(1))?;
        let op = op(words[2]).ok_or_else(|| Fault::new(column(2), words[2], "0, a read, 1, a write, or 2, a trim"))?;
        let size = Amount::new(words[3], AddressUnit::Bytes, column(3))?;
        let (sector, sectors) = fields::extent(Amount::new(words[4], AddressUnit::Bytes, column(4))?, size)?;
        fields::hexadecimal(words[5], column(5))?;
        let issued_ns = if count == NAMES.len() { fields::unsigned(words[6], column(6))? } else { 0 };
        self.requests += 1;
        let time_ns = if issued_ns > 0 {
            i128::from(issued_ns)
        } else {
            self.together += u64::from(self.latest_ns == Some(completed_ns));
            self.latest_ns = Some(completed_ns);
            completed_ns - i128::from(latency_ns)
        };
        Ok(Parsed::Request(Record { time_ns, device: 0, op, sector, sectors, latency_ns: Some(latency_ns) }))
    }

    fn caveat(&self) -> Option<String> {
        (self.together > 0).then(|| {
            format!(
                "{} of {} completed in the same ms as the one before, and fio's times do not say how far apart they came",
                text::grouped(self.together),
                text::counted(self.requests, "request")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    fn parse(line: &str) -> Result<Parsed, Fault> {
        FioLatency::default().parse(line)
    }

    #[test]
    fn arrival_is_time_less_latency_unless_the_time_of_issue_is_there() {
        let read = Record { time_ns: 2_720_103, device: 0, op: Op::Read, sector: 110_512, sectors: 8, latency_ns: Some(4_279_897) };
        assert_eq!(parse("7, 4279897, 0, 4096, 56582144, 0"), Ok(Parsed::Request(read)));
        // In a log of the total latency the time of issue is 0.
        assert_eq!(parse("7, 4279897, 0, 4096, 56582144, 0x2003, 0"), Ok(Parsed::Request(read)));
        let issued = Record { time_ns: 2_719_555, ..read };
        assert_eq!(parse("7, 4279897, 0, 4096, 56582144, 0, 2719555"), Ok(Parsed::Request(issued)));
        // Such a request completed before the first millisecond was over.
        let first = Record { time_ns: -96_733, device: 0, op: Op::Write, sector: 0, sectors: 1, latency_ns: Some(96_733) };
        assert_eq!(parse("0,96733,1,512,0,1"), Ok(Parsed::Request(first)));
        assert_eq!(parse("0,96733,2,512,0,1"), Ok(Parsed::Request(Record { op: Op::Trim, ..first })));
    }

    #[test]
    fn requests_of_one_millisecond_are_counted_unless_they_say_more() {
        let mut parser = FioLatency::default();
        for time_ms in [0, 1, 2] {
            parser.parse(&format!("{time_ms}, 9, 0, 512, 0, 0")).unwrap();
        }
        assert_eq!(parser.caveat(), None);
        parser.parse("2, 9, 1, 512, 0, 0").unwrap();
        let caveat = parser.caveat().unwrap();
        assert!(caveat.starts_with("1 of 4 requests completed in the same ms as the one before"), "{caveat}");
        let mut issued = FioLatency::default();
        for line in ["1, 9, 0, 512, 0, 0, 5", "1, 9, 0, 512, 0, 0, 6"] {
            issued.parse(line).unwrap();
        }
        assert!(issued.caveat().is_none());
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("x, 9, 0, 512, 0, 0", 1, "`x`", "a time in ms"),
                ("1, -9, 0, 512, 0, 0", 2, "`-9`", "0 or more"),
                ("1, 9, 3, 512, 0, 0", 3, "`3`", "0, a read"),
                ("1, 9, 0, x, 0, 0", 4, "`x`", "whole number"),
                ("1, 9, 0, 512, -1, 0", 5, "`-1`", "0 or more"),
                ("1, 9, 0, 512, 0, high", 6, "`high`", "hexadecimal"),
                ("1, 9, 0, 512, 0, 0, x", 7, "`x`", "whole number"),
                ("1, 9, 0, 512, 0", 6, "the end of the line", "log_offset=1"),
                ("1, 9, 0, 512", 5, "the end of the line", "log_offset=1"),
                ("1, 9, 0, 512, 0, 0, 0, 0", 8, "`1, 9", "the end of the line after 7 columns"),
                // Averages, and averages with maxima.
                ("500, 90123, 0, 0, 0, 0", 4, "`0`", "with log_avg_msec fio makes one line of many: log without it"),
                ("500, 90123, 1, 0, 0", 4, "`0`", "log without it"),
                ("500, 90123, 400000, 1, 0, 0, 0", 4, "`1`", "log without it"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        for line in [
            "0, 212273, 0, 4096, 4046848, 0",
            "0, 2, 1, 4096, 7, 0x2003, 99",
            "0, 2, 1, 4096, 0",
            "500, 9, 400, 1, 0, 0, 0, 0",
            "5, 9, 0, 0, 0, 0",
        ] {
            assert!(sniff(line), "{line}");
        }
        for line in
            ["979, 0, 287641400, 128, 1", "1538323200,4247200,128,1,1063", "0.000,134,1,4096,42242048,0.100,4096", "1, 2, 3, 4, 5, 6", ""]
        {
            assert!(!sniff(line), "{line}");
        }
    }

    #[test]
    fn the_other_logs_of_a_run_are_told_by_their_names() {
        for (name, is_told) in
            [("j_lat.1.log", true), ("j_clat.2.log.gz", true), ("my_bw_lat.log", true), ("slat.log", false), ("trace", false)]
        {
            let note = check_name(Path::new(name)).unwrap();
            assert_eq!(note.is_none(), is_told, "{name}");
            assert!(note.is_none_or(|note| note.contains("its name does not tell that they are")));
        }
        for (name, what, expected) in [
            ("/x/j_slat.1.log", "submission latencies", "j_lat.1.log"),
            ("j_bw.log", "bandwidth", "j_lat.log"),
            ("a_lat_iops.3.log.zst", "IOPS", "a_lat_lat.3.log.zst"),
        ] {
            let message = check_name(Path::new(name)).unwrap_err().to_string();
            assert!(message.contains(what) && message.ends_with(expected), "{message}");
        }
    }
}
