//! The block events of LTTng, as babeltrace prints them:
//! `[time] (+delta) host event: { cpu_id = N }, { dev = N, sector = N, nr_sector = N, ..., rwbs = N, ... }`.
//!
//! The events are those of [`kernel_events`](super::kernel_events), and addresses and sizes are sectors of 512 bytes. A device is one
//! number, and the letters of `rwbs` are bits. Times are those of a day, with the date before them, or seconds since 1970, as
//! babeltrace was asked.

use crate::error::Column;
use crate::trace::blkparse;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::iso8601;
use crate::trace::kernel_events::{Step, event};
use crate::trace::stacked::Stacked;
use crate::trace::units::{AddressUnit, Event, TimeUnit};
use crate::trace::{Format, Op, Order, Parsed, Parser, Reader, Record, Settings, Time};

/// What is expected of a line.
const SHAPE: &str = "[TIME] (+DELTA) HOST EVENT: { cpu_id = N }, { dev = N, sector = N, nr_sector = N, rwbs = N }";

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "lttng",
    summary: "LTTng's block events, as babeltrace prints them",
    time_column: Column { number: 1, name: "time" },
    device_column: Some(Column { number: 5, name: "dev" }),
    time: Time::Fixed(TimeUnit::Clock),
    address_unit: Some(AddressUnit::Sectors),
    op_codes: false,
    layout: None,
    events: &[Event::Issued, Event::Queued, Event::Inserted, Event::Got],
    latency: blkparse::latency,
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |settings| Box::new(Lttng::new(settings)) },
};

/// The bits of `rwbs`, as LTTng's modules define them.
const WRITE: u64 = 1;
const DISCARD: u64 = 1 << 1;
const READ: u64 = 1 << 2;
const FLUSH: u64 = 1 << 8;
const PREFLUSH: u64 = 1 << 10;

/// A line, taken apart.
struct Said<'a> {
    time: &'a str,
    event: &'a str,
    fields: &'a str,
}

impl<'a> Said<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (time, rest) = line.strip_prefix('[')?.split_once("] ")?;
        let (head, fields) = rest.split_once(": {")?;
        Some(Self { time, event: head.split_ascii_whitespace().next_back()?, fields })
    }

    /// The value of a field, in decimal.
    fn value(&self, name: &'static str) -> Result<(Column, &'a str), Fault> {
        let values = self.fields.split([',', '{', '}']).filter_map(|field| field.split_once('='));
        let found = values.enumerate().find_map(|(at, (known, value))| (known.trim() == name).then_some((at, value.trim())));
        // The first field is the CPU's.
        let column = |at: usize| Column { number: 4 + at, name };
        found.map(|(at, value)| (column(at), value)).ok_or_else(|| Fault {
            column: column(0),
            found: fields::END_OF_LINE.into(),
            expected: format!("the field {name}, as in {SHAPE}"),
        })
    }

    fn number(&self, name: &'static str) -> Result<u64, Fault> {
        let (column, value) = self.value(name)?;
        fields::unsigned(value, column)
    }

    fn amount(&self, name: &'static str) -> Result<Amount<'a>, Fault> {
        let (column, value) = self.value(name)?;
        Amount::new(value, AddressUnit::Sectors, column)
    }
}

fn sniff(line: &str) -> bool {
    Said::of(line).is_some_and(|said| (said.event.starts_with("block_") || said.fields.contains("cpu_id =")) && time_ns(said.time).is_ok())
}

/// A time of day, a date with a time, or seconds.
fn time_ns(time: &str) -> Result<i128, Fault> {
    match iso8601::of_day(time).or_else(|| iso8601::read(time)) {
        Some(time_ns) => Ok(time_ns),
        None => fields::time_ns(time, TimeUnit::Seconds, FORMAT.time_column),
    }
}

struct Lttng {
    /// The event that is taken.
    taken: Event,
    stacked: Stacked,
}

impl Lttng {
    fn new(settings: &Settings) -> Self {
        Self { taken: settings.event.unwrap_or(Event::Issued), stacked: Stacked::default() }
    }
}

impl Parser for Lttng {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        let Some(said) = Said::of(line) else {
            if line.starts_with("[warning]") || line.contains("discarded") {
                return Ok(Parsed::Other("lines about the recorder"));
            }
            return Err(Fault::new(FORMAT.time_column, line, format!("an event, as in {SHAPE}")));
        };
        let (step, passed_over) = event(said.event);
        let Some(step) = step.filter(|step| step.is_of(self.taken)) else {
            return Ok(Parsed::Other(passed_over));
        };
        if step == Step::Remapped {
            if let (Ok(upper), Ok(lower)) = (said.number("old_dev"), said.number("dev")) {
                self.stacked.remap(upper as u32, lower as u32);
            }
            return Ok(Parsed::Other(passed_over));
        }
        let is_request = matches!(step, Step::At(_));
        let time_ns = time_ns(said.time)?;
        let (bits, sectors) = (said.number("rwbs")?, said.number("nr_sector")?);
        let (column, device) = said.value("dev")?;
        let device = fields::device(device, column)?;
        let op = match () {
            () if bits & FLUSH > 0 || bits & PREFLUSH > 0 && sectors == 0 => Op::Flush,
            () if bits & DISCARD > 0 => Op::Trim,
            () if bits & WRITE > 0 => Op::Write,
            () if bits & READ > 0 => Op::Read,
            () => return Ok(Parsed::Other("requests other than reads and writes")),
        };
        if op == Op::Flush {
            let flush = Parsed::Request(Record { time_ns, device, op, sector: 0, sectors: 0, latency_ns: None });
            return Ok(if is_request { flush } else { Parsed::Other(passed_over) });
        }
        let is_failed =
            said.number("error").is_ok_and(|error| error > 0) || said.value("error").is_ok_and(|(_, error)| error.starts_with('-'));
        if !is_request && (is_failed && step == Step::Completed || sectors == 0) {
            return Ok(Parsed::Other(passed_over));
        }
        let (sector, sectors) = fields::extent(said.amount("sector")?, said.amount("nr_sector")?)?;
        let record = Record { time_ns, device, op, sector, sectors, latency_ns: None };
        Ok(match step {
            Step::At(_) => {
                self.stacked.request(&record);
                Parsed::Issued(record)
            }
            Step::Completed => Parsed::Completed(record),
            Step::Requeued | Step::Remapped => Parsed::Requeued(record, false),
        })
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

    fn parse(line: &str) -> Result<Parsed, Fault> {
        Lttng { taken: Event::Issued, stacked: Stacked::default() }.parse(line)
    }

    /// An event of LTTng at one time.
    fn event(name: &str, sectors: u32, rwbs: u32) -> String {
        format!(
            "[11:02:33.100000100] (+0.000090000) host1 {name}: {{ cpu_id = 0 }}, {{ dev = 271581184, sector = 2048, nr_sector = {sectors}, \
             bytes = 4096, tid = 812, rwbs = {rwbs}, _cmd_length = 0, cmd = [ ], comm = \"fio\" }}"
        )
    }

    const TIME_NS: i128 = (11 * 3600 + 2 * 60 + 33) * 1_000_000_000 + 100_000_100;

    #[test]
    fn events_are_read_by_the_bits_of_what_they_do() {
        let record = Record { time_ns: TIME_NS, device: 259 << 20, op: Op::Read, sector: 2048, sectors: 8, latency_ns: None };
        for (bits, op) in [(4, Op::Read), (12, Op::Read), (1, Op::Write), (33, Op::Write), (2, Op::Trim), (130, Op::Trim)] {
            assert_eq!(parse(&event("block_rq_issue", 8, bits)), Ok(Parsed::Issued(Record { op, ..record })), "{bits}");
            assert_eq!(parse(&event("block_rq_complete", 8, bits)), Ok(Parsed::Completed(Record { op, ..record })), "{bits}");
        }
        let flush = Record { op: Op::Flush, sector: 0, sectors: 0, ..record };
        assert_eq!(parse(&event("block_rq_issue", 0, 256)), Ok(Parsed::Request(flush)));
        assert_eq!(parse(&event("block_rq_issue", 0, 1025)), Ok(Parsed::Request(flush)));
        assert_eq!(parse(&event("block_rq_complete", 0, 256)), Ok(Parsed::Other("C events")));
        assert_eq!(parse(&event("block_rq_issue", 8, 0)), Ok(Parsed::Other("requests other than reads and writes")));
        assert_eq!(parse(&event("block_rq_requeue", 8, 4)), Ok(Parsed::Requeued(record, false)));
        for (name, passed_over) in [("block_rq_insert", "I events"), ("block_plug", "other block events"), ("sched_switch", "other events")]
        {
            assert_eq!(parse(&event(name, 8, 4)), Ok(Parsed::Other(passed_over)));
        }
        let failed = event("block_rq_complete", 8, 4).replace("bytes = 4096", "error = -5");
        assert_eq!(parse(&failed), Ok(Parsed::Other("C events")));
        assert_eq!(
            Lttng { taken: Event::Queued, stacked: Stacked::default() }.parse(&event("block_bio_queue", 8, 4)),
            Ok(Parsed::Issued(record))
        );
    }

    #[test]
    fn times_may_have_a_date_or_be_seconds() {
        let midnight = iso8601::read("2024-03-05T00:00:00").unwrap();
        for (time, expected) in [
            ("2024-03-05 11:02:33.100000100", midnight + TIME_NS),
            ("1709636553.100000100", midnight + TIME_NS),
            ("11:02:33.100000100", TIME_NS),
        ] {
            let line = event("block_rq_issue", 8, 4).replace("11:02:33.100000100", time);
            assert!(sniff(&line), "{line}");
            assert!(matches!(parse(&line), Ok(Parsed::Issued(record)) if record.time_ns == expected), "{line}");
        }
    }

    #[test]
    fn faults_name_the_field_and_what_was_expected() {
        let line = event("block_rq_issue", 8, 4);
        let lines = [
            line.replace("11:02", "noon"),
            line.replace("sector = 2048", "sector = x"),
            line.replace("dev = 271581184", "dev = x"),
            line.replace("nr_sector = 8, ", ""),
        ];
        assert_faults(
            parse,
            &[
                ("hello", 1, "`hello`", "an event, as in [TIME]"),
                (&lines[0], 1, "noon", "a time in s"),
                (&lines[1], 6, "`x`", "whole number"),
                (&lines[2], 5, "`x`", "whole number"),
                (&lines[3], 4, "the end of the line", "the field nr_sector"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff(&event("block_rq_issue", 8, 4)) && sniff(&event("sched_switch", 8, 4)));
        for line in
            ["[11:02:33.1] hello", "[a] (+1) host block_rq_issue: { }", "x-1 [001] d..1. 4455.0: block_rq_issue: 8,0 R 8 () 8 + 8 [x]", ""]
        {
            assert!(!sniff(line), "{line}");
        }
    }
}
