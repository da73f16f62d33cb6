//! The text that `blkparse` prints of a Linux block trace, in its default format:
//! `major,minor cpu sequence time pid event rwbs sector + sectors [process]`.
//!
//! A request has several events, from Q (queued) over I (inserted) and D (issued) to C (completed); requests are taken from
//! one of them, D unless Q, I or G is asked for, and its latency is the time from there to C. Times are seconds with nine decimals, addresses and sizes are sectors of 512
//! bytes. An R says that a request was put back, and is issued again. The letters of `rwbs` are those of [`rwbs`](super::rwbs). A zone append goes where its completion says. A write with a flush before it is a write, and where it has
//! no data a flush. The output merges one stream per CPU and is
//! slightly out of order. The statistics at its end are passed over.

use crate::error::Column;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::rwbs::{self, Rwbs};
use crate::trace::stacked::Stacked;
use crate::trace::units::{AddressUnit, Event, TimeUnit};
use crate::trace::{Format, Op, Order, Parsed, Parser, Reader, Record, Settings, Time};

const NAMES: [&str; 10] = ["major,minor", "cpu", "sequence", "time", "pid", "event", "rwbs", "sector", "+", "sectors"];

const fn column(index: usize) -> Column {
    Column { number: index + 1, name: NAMES[index] }
}

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "blkparse",
    summary: "blkparse's default output: major,minor cpu sequence time pid event rwbs sector + sectors [process]",
    time_column: column(3),
    device_column: Some(column(0)),
    time: Time::Fixed(TimeUnit::Seconds),
    address_unit: Some(AddressUnit::Sectors),
    op_codes: false,
    layout: None,
    events: &[Event::Issued, Event::Queued, Event::Inserted, Event::Got],
    latency,
    order: Order::RoughlyTime,
    reader: Reader::Lines {
        sniff,
        parser: |settings| {
            Box::new(Blkparse { event: settings.event.unwrap_or(Event::Issued).name(), in_statistics: false, stacked: Stacked::default() })
        },
    },
};

/// What the latencies of the kernel's events are.
pub(super) fn latency(settings: &Settings) -> Option<&'static str> {
    Some(match settings.event {
        Some(Event::Queued) => "from the kernel's queue to completion (Q to C)",
        Some(Event::Got) => "from the block layer to completion (G to C)",
        Some(Event::Inserted) => "from the scheduler to completion (I to C)",
        Some(Event::Issued) | None => "from issue to the driver to completion (D to C)",
    })
}

/// Every action that blkparse knows, and what it is called when it is passed over.
const ACTIONS: [(&str, &str); 18] = [
    ("A", "A events"),
    ("B", "B events"),
    ("C", "C events"),
    ("D", "D events"),
    ("F", "F events"),
    ("G", "G events"),
    ("I", "I events"),
    ("M", "M events"),
    ("P", "P events"),
    ("Q", "Q events"),
    ("R", "R events"),
    ("S", "S events"),
    ("T", "T events"),
    ("U", "U events"),
    ("UT", "UT events"),
    ("X", "X events"),
    ("m", "messages"),
    ("?", "unknown events"),
];

/// An event from before the moment at which blkparse's clock starts has a negative time, which blkparse prints as one that
/// has wrapped at 2^64 ns, of whose seconds 32 bits are left: this time less what it should be.
const WRAP_NS: i128 = 1_266_874_889_709_551_616;

/// No trace begins this long before its clock.
const EARLY_NS_MAX: i128 = 3_600_000_000_000;

fn device_of(word: &str) -> Option<(&str, &str)> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once(',').filter(|(major, minor)| digits(major) && digits(minor))
}

/// The number of a device, if a word is one.
pub(super) fn device(word: &str) -> Option<u32> {
    let (major, minor) = device_of(word)?;
    fields::linux_device((major, column(0)), (minor, column(0))).ok()
}

fn sniff(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    // It has no tabs, and the number of a device looks like one with a group of thousands.
    !line.contains('\t')
        && words.next().and_then(device_of).is_some()
        && words.nth(2).is_some_and(|time| fields::time_ns(time, TimeUnit::Seconds, column(3)).is_ok())
}

/// The first words of the statistics at the end, which blkparse prints for each CPU and for all.
fn begins_statistics(word: &str, line: &str) -> bool {
    let cpu = word.strip_prefix("CPU").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    (cpu && line.ends_with(':')) || (word == "Total" && line.ends_with(':')) || line.starts_with("Input file ")
}

struct Blkparse {
    /// The event that is taken.
    event: &'static str,
    in_statistics: bool,
    stacked: Stacked,
}

/// What a request does, from its letters.
fn letters(word: &str) -> Result<Rwbs, Fault> {
    let expected = "letters such as R, WS or FWFS: an operation, R, W, D, F or N, perhaps after an F, and marks after it";
    rwbs::read(word).ok_or_else(|| Fault::new(column(6), word, expected))
}

/// The request with data that the rest of a line is of, from the letters on, and whether it is a zone append.
fn of_request(time_ns: i128, device: u32, [rwbs, sector, plus, sectors]: [Option<&str>; 4]) -> Option<(Record, bool)> {
    let appends = rwbs.is_some_and(rwbs::appends);
    let op = rwbs::read(rwbs?)?.op.filter(|op| *op != Op::Flush)?;
    if plus != Some("+") {
        return None;
    }
    let address = Amount::new(sector?, AddressUnit::Sectors, column(7)).ok()?;
    let (sector, sectors) = fields::extent(address, Amount::new(sectors?, AddressUnit::Sectors, column(9)).ok()?).ok()?;
    Some((Record { time_ns, device, op, sector, sectors, latency_ns: None }, appends))
}

impl Parser for Blkparse {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let Some((major, minor)) = device_of(first) else {
            if self.in_statistics || begins_statistics(first, line) {
                self.in_statistics = true;
                return Ok(Parsed::Other("lines of statistics"));
            }
            return Err(Fault::new(column(0), first, "a device such as 8,16, or the statistics at the end"));
        };
        let mut next = |index: usize| {
            words.next().ok_or_else(|| Fault { column: column(index), found: fields::END_OF_LINE.into(), expected: NAMES.join(" ") })
        };
        let device = fields::linux_device((major, column(0)), (minor, column(0)))?;
        let [_cpu, _sequence, time, _pid, event] = [next(1)?, next(2)?, next(3)?, next(4)?, next(5)?];
        let Some((_, passed_over)) = ACTIONS.iter().find(|(action, _)| *action == event) else {
            return Err(Fault::new(column(5), event, "an event of blkparse, such as Q, I, D or C"));
        };
        let time_ns = fields::time_ns(time, TimeUnit::Seconds, column(3))?;
        if event == "C" || event == "R" && [Event::Issued.name(), Event::Inserted.name()].contains(&self.event) {
            // One that is odd in some way completes nothing that is played, and puts nothing back.
            let found = of_request(time_ns, device, [words.next(), words.next(), words.next(), words.next()]);
            return Ok(match found {
                Some((record, appends)) if event == "R" => Parsed::Requeued(record, appends),
                Some((record, appends)) if words.next() == Some("[0]") => {
                    if appends {
                        Parsed::Placed(record)
                    } else {
                        Parsed::Completed(record)
                    }
                }
                _ => Parsed::Other(passed_over),
            });
        }
        if event == "A" {
            // RWBS SECTOR + SECTORS <- (MAJOR,MINOR) SECTOR.
            let upper = words.nth(5).and_then(|word| self::device(word.strip_prefix('(')?.strip_suffix(')')?));
            if let Some(upper) = upper {
                self.stacked.remap(upper, device);
            }
            return Ok(Parsed::Other(passed_over));
        }
        if event != self.event {
            return Ok(Parsed::Other(passed_over));
        }
        if (WRAP_NS - EARLY_NS_MAX..WRAP_NS).contains(&time_ns) {
            return Ok(Parsed::Other("events from before the trace's clock (by wrapped times)"));
        }
        let rwbs = next(6)?;
        let Rwbs { op, flushes_before } = letters(rwbs)?;
        let flush = Parsed::Request(Record { time_ns, device, op: Op::Flush, sector: 0, sectors: 0, latency_ns: None });
        let place = next(7)?;
        if place.starts_with('[') {
            // Without sectors it moves no data.
            let flushes = op == Some(Op::Flush) || flushes_before;
            return Ok(if flushes { flush } else { Parsed::Other("requests without sectors") });
        }
        let plus = next(8)?;
        if plus.starts_with('(') {
            return Ok(Parsed::Other("packet commands"));
        }
        if plus != "+" {
            return Err(Fault::new(column(8), plus, "`+` between the sector and the number of sectors"));
        }
        let sectors = next(9)?;
        let Some(op) = op else { return Ok(Parsed::Other("requests other than reads and writes")) };
        // A flush before nothing is one.
        if op == Op::Flush || flushes_before && sectors == "0" {
            return Ok(flush);
        }
        let address = Amount::new(place, AddressUnit::Sectors, column(7))?;
        let (sector, sectors) = fields::extent(address, Amount::new(sectors, AddressUnit::Sectors, column(9))?)?;
        let record = Record { time_ns, device, op, sector, sectors, latency_ns: None };
        self.stacked.request(&record);
        Ok(if rwbs::appends(rwbs) { Parsed::Appended(record) } else { Parsed::Issued(record) })
    }

    fn stacked(&self) -> Option<String> {
        self.stacked.said()
    }

    fn device_name(&self, device: u32) -> String {
        fields::linux_device_name(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    fn parser() -> Blkparse {
        Blkparse { event: "D", in_statistics: false, stacked: Stacked::default() }
    }

    fn parse(line: &str) -> Result<Parsed, Fault> {
        parser().parse(line)
    }

    fn parsed_op(rwbs: &str) -> Option<Op> {
        letters(rwbs).unwrap().op
    }

    #[test]
    fn an_r_puts_back_the_request_of_the_event_that_is_taken() {
        let line = "  8,0  1  3  0.001036000  100  R  R 11296 + 32 [fio]";
        let put_back = Record { time_ns: 1_036_000, device: 8 << 20, op: Op::Read, sector: 11_296, sectors: 32, latency_ns: None };
        assert_eq!(parse(line), Ok(Parsed::Requeued(put_back, false)));
        assert_eq!(parse(&line.replace("[fio]", "[0]")), Ok(Parsed::Requeued(put_back, false)));
        for odd in [line.replace("+ 32 ", ""), line.replace(" R 11296", " N 11296"), line.replace("11296 + 32 ", "")] {
            assert_eq!(parse(&odd), Ok(Parsed::Other("R events")), "{odd}");
        }
        for event in ["Q", "G"] {
            assert_eq!(Blkparse { event, ..parser() }.parse(line), Ok(Parsed::Other("R events")));
        }
    }

    #[test]
    fn remaps_say_which_device_is_on_which() {
        let mut parser = Blkparse { event: "Q", ..parser() };
        for line in [
            "253,0 0 1 0.001033000 7 Q R 11296 + 32 [fio]",
            "259,0 0 2 0.001033100 7 A R 15392 + 32 <- (253,0) 11296",
            "259,0 0 3 0.001033500 7 Q R 15392 + 32 [fio]",
        ] {
            parser.parse(line).unwrap();
        }
        assert!(parser.stacked().unwrap().starts_with("device 253,0 is on device 259,0, by 1 remap"), "{:?}", parser.stacked());
    }

    #[test]
    fn issued_requests_are_taken_and_other_events_passed_over() {
        let record = Record { time_ns: 26_421, device: 8 << 20 | 16, op: Op::Read, sector: 4_938_888, sectors: 256, latency_ns: None };
        assert_eq!(parse("8,16   3        5     0.000026421  3645  D   R 4938888 + 256 [java]"), Ok(Parsed::Issued(record)));
        assert_eq!(parse("8,16 3 4 0.000011950 3645 I R 4938888 + 256 [java]"), Ok(Parsed::Other("I events")));
        assert_eq!(parse("8,16 3 4 0.000011950 3645 U N [java] 1"), Ok(Parsed::Other("U events")));
        assert_eq!(parse("8,16 3 0 0.000011950 0 m N cfq3645 slice expired"), Ok(Parsed::Other("messages")));
        let mut queued = Blkparse { event: "Q", ..parser() };
        let line = "8,16 3 4 0.000026421 3645 Q R 4938888 + 256 [java]";
        assert_eq!(queued.parse(line), Ok(Parsed::Issued(record)));
        assert_eq!(parse(line), Ok(Parsed::Other("Q events")));
        assert_eq!(parser().device_name(8 << 20 | 16), "8,16");
    }

    #[test]
    fn the_letters_say_what_a_request_does() {
        for letters in ["R", "RS", "RA", "RM", "RSM"] {
            assert_eq!(parsed_op(letters), Some(Op::Read), "{letters}");
        }
        for letters in ["W", "WS", "WFS", "FWS", "FWFS", "WSM"] {
            assert_eq!(parsed_op(letters), Some(Op::Write), "{letters}");
        }
        assert_eq!([parsed_op("D"), parsed_op("DS"), parsed_op("DE")], [Some(Op::Trim); 3]);
        assert_eq!([parsed_op("F"), parsed_op("FF"), parsed_op("FN"), parsed_op("FFS")], [Some(Op::Flush); 4]);
        assert_eq!(parsed_op("N"), None);
    }

    #[test]
    fn requests_without_data_are_no_reads_or_writes() {
        let flush = Record { time_ns: 1_000_000_000, device: 8 << 20, op: Op::Flush, sector: 0, sectors: 0, latency_ns: None };
        assert_eq!(parse("8,0 1 2 1.0 7 D FN [kworker]"), Ok(Parsed::Request(flush)));
        assert_eq!(parse("8,0 1 2 1.0 7 D FF 0 + 0 [kworker]"), Ok(Parsed::Request(flush)));
        assert_eq!(parse("8,0 1 2 1.0 7 D FW 0 + 0 [kworker]"), Ok(Parsed::Request(flush)));
        assert_eq!(parse("8,0 1 2 1.0 7 D FWS [kworker]"), Ok(Parsed::Request(flush)));
        assert_eq!(parse("8,0 1 2 1.0 7 D N [x]"), Ok(Parsed::Other("requests without sectors")));
        assert_eq!(parse("8,0 1 2 1.0 7 D R 36 (12 00 00 00 24 00 ..) [smartctl]"), Ok(Parsed::Other("packet commands")));
        assert_eq!(parse("8,0 1 2 1.0 7 D N 8 + 8 [x]"), Ok(Parsed::Other("requests other than reads and writes")));
        let trim = Record { op: Op::Trim, sector: 8, sectors: 8, ..flush };
        assert_eq!(parse("8,0 1 2 1.0 7 D D 8 + 8 [fstrim]"), Ok(Parsed::Issued(trim)));
    }

    #[test]
    fn times_before_the_clock_are_recognised() {
        let early = "events from before the trace's clock (by wrapped times)";
        assert_eq!(parse("8,16 1 6 1266874889.708668759 3646 D R 8 + 8 [java]"), Ok(Parsed::Other(early)));
        assert_eq!(parse("8,16 1 6 1266874889.709551615 3646 D R 8 + 8 [java]"), Ok(Parsed::Other(early)));
        assert!(matches!(parse("8,16 1 6 1266874889.709551616 3646 D R 8 + 8 [java]"), Ok(Parsed::Issued(_))));
        assert!(matches!(parse("8,16 1 6 1266871289.709551615 3646 D R 8 + 8 [java]"), Ok(Parsed::Issued(_))));
    }

    #[test]
    fn completions_are_of_data_and_without_an_error() {
        let read = Record { time_ns: 1_795_683, device: 8 << 20 | 16, op: Op::Read, sector: 4_938_888, sectors: 256, latency_ns: None };
        assert_eq!(parse("8,16   3        7     0.001795683  3557  C   R 4938888 + 256 [0]"), Ok(Parsed::Completed(read)));
        let passed_over = Ok(Parsed::Other("C events"));
        for rest in
            ["R 4938888 + 256 [-5]", "R 4938888 + 256", "FN [0]", "FF 0 + 0 [0]", "N 8 + 8 [0]", "R x + 8 [0]", "R 8 (12 00) [0]", ""]
        {
            assert_eq!(parse(&format!("8,16 3 7 0.1 3557 C {rest}")), passed_over, "{rest}");
        }
    }

    #[test]
    fn the_completion_of_a_zone_append_says_its_place() {
        let start = Record { time_ns: 0, device: 259 << 20, op: Op::Write, sector: 1_048_576, sectors: 32, latency_ns: None };
        assert_eq!(parse("259,0 1 1 0.000000000 100 D ZAS 1048576 + 32 [fio]"), Ok(Parsed::Appended(start)));
        let placed = Record { time_ns: 100_000, sector: 1_048_608, ..start };
        assert_eq!(parse("259,0 1 2 0.000100000 100 C ZAS 1048608 + 32 [0]"), Ok(Parsed::Placed(placed)));
        assert_eq!(parse("259,0 1 2 0.000100000 100 C ZAS 1048608 + 32 [-5]"), Ok(Parsed::Other("C events")));
    }

    #[test]
    fn the_statistics_at_the_end_are_passed_over() {
        let mut parser = parser();
        for line in ["CPU0 (8,16):", "Reads Queued:           0,        0KiB", "", "Total (8,16):", "Skips: 0 forward (0 -   0.0%)"] {
            assert_eq!(parser.parse(line), Ok(Parsed::Other("lines of statistics")), "{line}");
        }
        assert_eq!(parse("Reads Queued: 0, 0KiB").unwrap_err().column.number, 1);
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("8.16 3 5 0.1 3645 D R 8 + 8 [x]", 1, "`8.16`", "a device such as 8,16"),
                ("4096,0 3 5 0.1 3645 D R 8 + 8 [x]", 1, "`4096`", "below 4,096"),
                ("8,16 3 5 zero 3645 D R 8 + 8 [x]", 4, "`zero`", "a time in s"),
                ("8,16 3 5 0.1 3645 Y R 8 + 8 [x]", 6, "`Y`", "an event of blkparse"),
                ("8,16 3 5 0.1 3645 D Q 8 + 8 [x]", 7, "`Q`", "letters such as"),
                ("8,16 3 5 0.1 3645 D R x + 8 [x]", 8, "`x`", "whole number"),
                ("8,16 3 5 0.1 3645 D R 18014398509481984 + 8 [x]", 8, "`18014398509481984`", "below 2^63"),
                ("8,16 3 5 0.1 3645 D R 8 - 8 [x]", 9, "`-`", "`+` between"),
                ("8,16 3 5 0.1 3645 D R 8 + 0 [x]", 10, "`0`", "1 or more sectors"),
                ("8,16 3 5 0.1 3645 D R 8 +", 10, "the end of the line", "sector + sectors"),
                ("8,16 3 5", 4, "the end of the line", "major,minor cpu"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("8,16   3        4     0.000011950  3645  I   R 4938888 + 256 [java]"));
        assert!(!sniff("0,303567,3584,w,0.000000"));
        assert!(!sniff("1 0 8 8 1"));
        assert!(!sniff("1,024\tjava\t5\t7541208\tR"));
    }
}
