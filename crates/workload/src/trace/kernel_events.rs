//! The block events of the Linux kernel as text: what `/sys/kernel/tracing/trace` has, and what `trace-cmd report` and `perf script`
//! print: `task-pid [cpu] flags time: event: major,minor rwbs bytes (command) sector + sectors [task]`.
//!
//! Times are seconds with decimals, addresses and sizes are sectors of 512 bytes. A request has several events, from
//! `block_bio_queue` (Q) over `block_rq_insert` (I) and `block_rq_issue` (D) to `block_rq_complete` (C), as in blkparse; the names of
//! perf have `block:` before them. `block_rq_requeue` (R) says that a request was put back, and is issued again. Newer kernels write a priority, and other things, between the sectors and the task. Events other
//! than these, comments, and lines of call chains are passed over. Tasks may have spaces in their names, so that a line is read from
//! its time on: the first word that is one, with a colon behind it.

use crate::error::Column;
use crate::trace::blkparse;
use crate::trace::fields::{self, Amount, Fault};
use crate::trace::rwbs::{self, Rwbs};
use crate::trace::stacked::Stacked;
use crate::trace::units::{AddressUnit, Event, TimeUnit};
use crate::trace::{Format, Op, Order, Parsed, Parser, Reader, Record, Settings, Time};

/// What is expected of a line.
const SHAPE: &str = "TASK [CPU] TIME: block_rq_issue: MAJOR,MINOR RWBS BYTES () SECTOR + SECTORS [TASK]";

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "ftrace",
    summary: "the kernel's block events, from ftrace, trace-cmd report or perf script",
    time_column: Column { number: 3, name: "time" },
    device_column: Some(Column { number: 5, name: "device" }),
    time: Time::Fixed(TimeUnit::Seconds),
    address_unit: Some(AddressUnit::Sectors),
    op_codes: false,
    layout: None,
    events: &[Event::Issued, Event::Queued, Event::Inserted, Event::Got],
    latency: blkparse::latency,
    order: Order::RoughlyTime,
    reader: Reader::Lines { sniff, parser: |settings| Box::new(KernelEvents::new(settings)) },
};

/// A task, a CPU and flags have no more words than this.
const WORDS_BEFORE_TIME_MAX: usize = 20;

/// The words of a line, with their numbers.
type Words<'a> = std::iter::Enumerate<std::str::SplitAsciiWhitespace<'a>>;

/// A line from its time on.
struct Dated<'a> {
    time: (usize, &'a str),
    event: &'a str,
    rest: Words<'a>,
}

/// Finds the time, and the event behind it.
fn dated(line: &str) -> Option<Dated<'_>> {
    let mut words: Words<'_> = line.split_ascii_whitespace().enumerate();
    let time = words.by_ref().take(WORDS_BEFORE_TIME_MAX).find_map(|(at, word)| {
        let time = word.strip_suffix(':')?;
        time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some((at, time)).filter(|(_, time)| !time.is_empty())
    })?;
    let event = words.next().map_or("", |(_, event)| event.trim_end_matches(':'));
    Some(Dated { time, event: event.strip_prefix("block:").unwrap_or(event), rest: words })
}

fn is_cpu(word: &str) -> bool {
    let number = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn sniff(line: &str) -> bool {
    if line.starts_with("# tracer:") {
        return true;
    }
    dated(line).is_some_and(|dated| {
        let has_cpu = line.split_ascii_whitespace().take(dated.time.0).any(is_cpu);
        dated.time.1.contains('.') && (has_cpu || dated.event.starts_with("block_"))
    })
}

struct KernelEvents {
    /// The event that is taken.
    taken: Event,
    /// How many events the recorder lost, as far as it says.
    lost: u64,
    stacked: Stacked,
}

impl KernelEvents {
    fn new(settings: &Settings) -> Self {
        Self { taken: settings.event.unwrap_or(Event::Issued), lost: 0, stacked: Stacked::default() }
    }

    /// What a line without a time is.
    fn undated(&mut self, line: &str) -> Result<Parsed, Fault> {
        let first = line.split_ascii_whitespace().next().unwrap_or_default();
        let is_address = first.len() >= 8 && first.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_address || first == "=>" {
            return Ok(Parsed::Other("lines of call chains"));
        }
        if let Some((_, lost)) = line.split_once("[LOST ") {
            self.lost += lost.split(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(1);
            return Ok(Parsed::Other("lines about lost events"));
        }
        let is_of_recorder = ["cpus=", "version =", "CPU ", "CPU:", "trace-cmd "].iter().any(|start| line.starts_with(start));
        if is_of_recorder {
            return Ok(Parsed::Other("lines about the recorder"));
        }
        Err(Fault::new(Column { number: 1, name: "task" }, line, format!("a line with a time, as in {SHAPE}")))
    }
}

/// The event of a request, and what it is called when it is passed over; none if it is of no request.
pub(super) fn event(name: &str) -> (Option<Step>, &'static str) {
    match name {
        "block_bio_queue" => (Some(Step::At(Event::Queued)), "Q events"),
        "block_getrq" => (Some(Step::At(Event::Got)), "G events"),
        "block_bio_remap" => (Some(Step::Remapped), "A events"),
        "block_rq_insert" => (Some(Step::At(Event::Inserted)), "I events"),
        "block_rq_issue" => (Some(Step::At(Event::Issued)), "D events"),
        "block_rq_complete" => (Some(Step::Completed), "C events"),
        "block_rq_requeue" => (Some(Step::Requeued), "R events"),
        _ if name.starts_with("block_") => (None, "other block events"),
        "nvme_setup_cmd" | "nvme:nvme_setup_cmd" => (None, NVME),
        _ => (None, "other events"),
    }
}

/// What the commands of NVMe are called. They count blocks whose size they do not say.
pub(super) const NVME: &str = "NVMe commands";

/// What reads the commands of NVMe in this file, as the end of a sentence.
pub(super) fn nvme_advice(file: &str) -> String {
    format!(
        ". An NVMe command counts blocks and does not say how large they are. `sed -nE 's/.* ([0-9.]+): +(nvme:)?nvme_setup_cmd:.* \
         disk=([^,]*),.*\\(nvme_cmd_(read|write) slba=([0-9]+), len=([0-9]+).*/\\1,\\3,\\4,\\5,\\6/p' {file} > {file}.csv` writes the reads and writes \
         as CSV, which --columns time:s,device,op,lba:sectors,nlb:sectors reads where a block has 512 bytes, and --columns \
         time:s,device,op,lba:blocks:4096,nlb:blocks:4096 where it has 4096. A recording of block:block_rq_issue and block:block_rq_complete \
         needs neither"
    )
}

/// A step in the life of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    At(Event),
    Completed,
    /// Put back, to be issued again.
    Requeued,
    /// Sent on to another device.
    Remapped,
}

impl Step {
    /// Whether a trace in which one event is taken for a request has a use for this. What comes before the driver is not repeated where it
    /// puts a request back.
    pub(super) fn is_of(self, taken: Event) -> bool {
        match self {
            Self::At(event) => event == taken,
            Self::Completed => true,
            Self::Requeued => !matches!(taken, Event::Queued | Event::Got),
            Self::Remapped => true,
        }
    }
}

/// What an event says behind its name.
struct Request {
    device: u32,
    letters: Rwbs,
    /// Whether it is a zone append.
    appends: bool,
    /// Whether it is a command that goes to the device as it is.
    is_packet: bool,
    sector: (Column, String),
    sectors: (Column, String),
    /// The last word.
    end: String,
}

/// Reads what stands behind the name of an event.
fn request(mut words: Words<'_>, after: usize) -> Result<Request, Fault> {
    let mut last = after;
    let mut next = |name: &'static str| {
        let found = words.next();
        last = found.map_or(last + 1, |(at, _)| at);
        let column = Column { number: last + 1, name };
        found.map(|(_, word)| (column, word)).ok_or_else(|| Fault { column, found: fields::END_OF_LINE.into(), expected: SHAPE.into() })
    };
    let (column, device) = next("device")?;
    let Some((major, minor)) = device.split_once(',') else { return Err(Fault::new(column, device, "a device such as 259,0")) };
    let device = fields::linux_device((major, column), (minor, column))?;
    let (column, rwbs) = next("rwbs")?;
    let letters = rwbs::read(rwbs).ok_or_else(|| Fault::new(column, rwbs, "letters such as R, WS or FF"))?;
    // The bytes, and a command in brackets, may stand before the sector.
    let mut is_packet = false;
    let mut sector = next("sector")?;
    let mut plus = next("+")?;
    while plus.1 != "+" {
        is_packet |= sector.1.starts_with('(') && sector.1 != "()";
        sector = (plus.0, plus.1);
        plus = next("+")?;
    }
    let sectors = next("sectors")?;
    let owned = |(column, word): (Column, &str), name| (Column { name, ..column }, word.to_owned());
    let end = words.last().map_or(String::new(), |(_, word)| word.to_owned());
    Ok(Request {
        device,
        letters,
        appends: rwbs::appends(rwbs),
        is_packet,
        sector: owned(sector, "sector"),
        sectors: owned(sectors, "sectors"),
        end,
    })
}

/// The device that a remap comes from and the one that it goes to: `8,0 R 15392 + 32 <- (253,0) 11296`.
fn remap(words: Words<'_>) -> Option<(u32, u32)> {
    let words: Vec<&str> = words.map(|(_, word)| word).collect();
    let from = words.iter().position(|word| *word == "<-").and_then(|at| words.get(at + 1))?;
    Some((blkparse::device(from.strip_prefix('(')?.strip_suffix(')')?)?, blkparse::device(words.first()?)?))
}

impl Parser for KernelEvents {
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault> {
        if line.starts_with('#') {
            return Ok(Parsed::Other("comment lines"));
        }
        let Some(Dated { time: (at, time), event: name, rest }) = dated(line) else { return self.undated(line) };
        let (step, passed_over) = event(name);
        let Some(step) = step.filter(|step| step.is_of(self.taken)) else {
            return Ok(Parsed::Other(passed_over));
        };
        if step == Step::Remapped {
            if let Some((upper, lower)) = remap(rest) {
                self.stacked.remap(upper, lower);
            }
            return Ok(Parsed::Other(passed_over));
        }
        let column = Column { number: at + 1, name: "time" };
        if !time.contains('.') {
            let expected =
                "a time in s with decimals; this one is of another clock, and those that ftrace calls local, mono and boot are read";
            return Err(Fault::new(column, time, expected));
        }
        let time_ns = fields::time_ns(time, TimeUnit::Seconds, column)?;
        let request = match request(rest, at + 1) {
            // One that is odd in some way completes nothing that is played, and puts nothing back.
            Err(_) if !matches!(step, Step::At(_)) => return Ok(Parsed::Other(passed_over)),
            request => request?,
        };
        let Rwbs { op, flushes_before } = request.letters;
        let (device, is_empty) = (request.device, request.sectors.1 == "0");
        let extent = || {
            let address = Amount::new(&request.sector.1, AddressUnit::Sectors, request.sector.0)?;
            fields::extent(address, Amount::new(&request.sectors.1, AddressUnit::Sectors, request.sectors.0)?)
        };
        if !matches!(step, Step::At(_)) {
            let is_whole = |op: &Op| *op != Op::Flush && (step == Step::Requeued || request.end == "[0]");
            let completed = op.filter(is_whole).and_then(|op| {
                let (sector, sectors) = extent().ok()?;
                let record = Record { time_ns, device, op, sector, sectors, latency_ns: None };
                if step == Step::Requeued {
                    return Some(Parsed::Requeued(record, request.appends));
                }
                Some(if request.appends { Parsed::Placed(record) } else { Parsed::Completed(record) })
            });
            return Ok(completed.unwrap_or(Parsed::Other(passed_over)));
        }
        if op == Some(Op::Flush) || flushes_before && is_empty {
            return Ok(Parsed::Request(Record { time_ns, device, op: Op::Flush, sector: 0, sectors: 0, latency_ns: None }));
        }
        let Some(op) = op else { return Ok(Parsed::Other("requests other than reads and writes")) };
        if request.is_packet && is_empty {
            return Ok(Parsed::Other("packet commands"));
        }
        let (sector, sectors) = extent()?;
        let record = Record { time_ns, device, op, sector, sectors, latency_ns: None };
        self.stacked.request(&record);
        Ok(if request.appends { Parsed::Appended(record) } else { Parsed::Issued(record) })
    }

    fn device_name(&self, device: u32) -> String {
        fields::linux_device_name(device)
    }

    fn stacked(&self) -> Option<String> {
        self.stacked.said()
    }

    fn doubts(&self) -> Vec<String> {
        let lost = (self.lost > 0).then(|| {
            format!("the recorder says that it lost {} events; requests and latencies are missing", crate::text::grouped(self.lost))
        });
        lost.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::assert_faults;

    fn parser(taken: Event) -> KernelEvents {
        KernelEvents { taken, lost: 0, stacked: Stacked::default() }
    }

    fn parse(line: &str) -> Result<Parsed, Fault> {
        parser(Event::Issued).parse(line)
    }

    const READ: Record =
        Record { time_ns: 543_348_165_050_000, device: 259 << 20, op: Op::Read, sector: 3_191_272, sectors: 256, latency_ns: None };

    #[test]
    fn requeues_and_remaps_are_read() {
        let line = "x-1 [001] ..... 543348.165050: block_rq_requeue: 259,0 R () 3191272 + 256 [0]";
        assert_eq!(parse(line), Ok(Parsed::Requeued(READ, false)));
        assert_eq!(parse(&line.replace(" 256", "")), Ok(Parsed::Other("R events")));
        assert_eq!(parser(Event::Queued).parse(line), Ok(Parsed::Other("R events")));
        let mut parser = parser(Event::Queued);
        for line in [
            "x-1 [001] 1.5: block_bio_queue: 253,0 R 8 + 8 [x]",
            "x-1 [001] 1.5: block_bio_remap: 259,0 R 2056 + 8 <- (253,0) 8",
            "x-1 [001] 1.5: block_bio_queue: 259,0 R 2056 + 8 [x]",
        ] {
            parser.parse(line).unwrap();
        }
        assert!(parser.stacked().unwrap().starts_with("device 253,0 is on device 259,0, by 1 remap"), "{:?}", parser.stacked());
        let got = "x-1 [001] 1.5: block_getrq: 259,0 R 8 + 8 [x]";
        assert!(matches!(KernelEvents { taken: Event::Got, lost: 0, stacked: Stacked::default() }.parse(got), Ok(Parsed::Issued(_))));
    }

    #[test]
    fn ftrace_trace_cmd_and_perf_say_the_same() {
        for line in [
            "dd-25337   [001] d..2. 543348.165050: block_rq_issue: 259,0 R 131072 () 3191272 + 256 [dd]",
            "dd-25337   [001] 543348.165050: block_rq_issue: 259,0 R 131072 () 3191272 + 256 [dd]",
            "dd 25337  [001] 543348.165050:   block:block_rq_issue: 259,0 R 131072 () 3191272 + 256 [dd]",
            "dd 25337 543348.165050000: block:block_rq_issue: 259,0 R 131072 () 3191272 + 256 [dd]",
            "Web Content-99 [001] ..... 543348.165050: block_rq_issue: 259,0 R 131072 () 3191272 + 256 be,0,4 |32768| [Web Content]",
        ] {
            assert_eq!(parse(line), Ok(Parsed::Issued(READ)), "{line}");
            assert!(sniff(line), "{line}");
        }
        let done = "swapper 0 [004] 543348.165060: block:block_rq_complete: 259,0 R () 3191272 + 256 none,0,0 [0]";
        assert_eq!(parse(done), Ok(Parsed::Completed(Record { time_ns: READ.time_ns + 10_000, ..READ })));
        let queued = "dd-25337 [001] ..... 543348.165050: block_bio_queue: 259,0 RA 3191272 + 256 [dd]";
        assert_eq!(parser(Event::Queued).parse(queued), Ok(Parsed::Issued(READ)));
        assert_eq!(parse(queued), Ok(Parsed::Other("Q events")));
        assert_eq!(parser(Event::Inserted).parse(&queued.replace("bio_queue", "rq_issue")), Ok(Parsed::Other("D events")));
        assert_eq!(parser(Event::Issued).device_name(259 << 20), "259,0");
    }

    #[test]
    fn what_moves_no_data_is_passed_over_or_a_flush() {
        let issue = |what: &str| parse(&format!("x-1 [001] ..... 543348.165050: block_rq_issue: 259,0 {what} [x]"));
        let flush = Parsed::Request(Record { op: Op::Flush, sector: 0, sectors: 0, ..READ });
        for what in ["FF 0 () 0 + 0", "FF 0 () 18446744073709551615 + 0", "FWS 0 () 0 + 0", "F 0 () 0 + 0", "FN 0 () 0 + 0"] {
            assert_eq!(issue(what), Ok(flush), "{what}");
        }
        assert_eq!(issue("WFS 4096 () 8 + 8"), Ok(Parsed::Issued(Record { op: Op::Write, sector: 8, sectors: 8, ..READ })));
        assert_eq!(issue("DS 4096 () 8 + 8"), Ok(Parsed::Issued(Record { op: Op::Trim, sector: 8, sectors: 8, ..READ })));
        assert_eq!(issue("N 36 (12 00 00 00 24 00) 0 + 0"), Ok(Parsed::Other("requests other than reads and writes")));
        assert_eq!(issue("R 512 (a1 08 2e 00) 0 + 0"), Ok(Parsed::Other("packet commands")));
        for (line, passed_over) in [
            ("# tracer: nop", "comment lines"),
            ("cpus=4", "lines about the recorder"),
            ("CPU 3 is empty", "lines about the recorder"),
            ("ffffffff8139d7e5 blk_mq_start_request ([kernel.kallsyms])", "lines of call chains"),
            ("=> blk_mq_start_request", "lines of call chains"),
            ("x-1 [001] ..... 1.5: <stack trace>", "other events"),
            ("x-1 [001] ..... 1.5: block_plug: [x]", "other block events"),
            ("x-1 [001] ..... 1.5: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1", NVME),
            ("x-1 [001] d.... 1.5: sched_switch: prev_comm=a ==> next_comm=b", "other events"),
            ("x-1 [001] d.... 1.5: block_rq_complete: 259,0 R () 8 + 8 [-5]", "C events"),
            ("x-1 [001] d.... 1.5: block_rq_complete: 259,0", "C events"),
        ] {
            assert_eq!(parse(line), Ok(Parsed::Other(passed_over)), "{line}");
        }
        let mut parser = parser(Event::Issued);
        assert_eq!(parser.parse("CPU:3 [LOST 1234 EVENTS]"), Ok(Parsed::Other("lines about lost events")));
        assert!(parser.doubts()[0].contains("lost 1,234 events"));
    }

    #[test]
    fn faults_name_the_column_and_what_was_expected() {
        assert_faults(
            parse,
            &[
                ("hello", 1, "`hello`", "a line with a time"),
                ("x-1 [001] ..... 123: block_rq_issue: 8,0 R 8 () 8 + 8 [x]", 4, "`123`", "of another clock"),
                ("x-1 [001] ..... 1.5: block_rq_issue: sda R 8 () 8 + 8 [x]", 6, "`sda`", "a device such as 259,0"),
                ("x-1 [001] ..... 1.5: block_rq_issue: 8,0 Q 8 () 8 + 8 [x]", 7, "`Q`", "letters such as R"),
                ("x-1 [001] ..... 1.5: block_rq_issue: 8,0 R 8 () x + 8 [x]", 10, "`x`", "whole number"),
                ("x-1 [001] ..... 1.5: block_rq_issue: 8,0 R 0 () 8 + 0 [x]", 12, "`0`", "1 or more sectors"),
                ("x-1 [001] ..... 1.5: block_rq_issue: 8,0 R 8", 9, "the end of the line", "SECTOR + SECTORS"),
            ],
        );
    }

    #[test]
    fn only_its_own_lines_are_claimed() {
        assert!(sniff("# tracer: nop") && sniff("x-1 [001] d.... 1.5: sched_switch: a"));
        for line in ["8,16   3        4     0.000011950  3645  I   R 4938888 + 256 [java]", "1: 2 3", "0 0 8 8 1", "[0] 1.5: x", ""] {
            assert_eq!(sniff(line), line == "[0] 1.5: x", "{line}");
        }
    }
}
