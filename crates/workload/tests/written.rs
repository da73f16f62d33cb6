//! Random traces, written in every format and read back: what is read is what was written.

use crate::support::{Folder, bzip2, cases, options, play, read, write, xz, zstd};
use proptest::prelude::*;
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::{MS, SECOND, US};
use tinytail_workload::{Arrival, Event, TimeUnit, TraceOptions};

/// A request to be written, its time in steps of the format.
#[derive(Clone, Copy, Debug)]
struct Request {
    step: u64,
    kind: CommandKind,
    sector: u64,
    sectors: u32,
}

impl Request {
    fn bytes(&self) -> (u64, u64) {
        (self.sector * 512, u64::from(self.sectors) * 512)
    }

    /// One of these words, for a read, a write and a trim.
    fn word<'a>(&self, words: [&'a str; 3]) -> &'a str {
        words[match self.kind {
            CommandKind::Read => 0,
            CommandKind::Write => 1,
            CommandKind::Trim => 2,
        }]
    }
}

/// How a format is written.
struct Writer {
    name: &'static str,
    /// The shortest time that it tells apart.
    step_ns: u64,
    trims: bool,
    options: fn() -> TraceOptions,
    write: fn(&[Request]) -> Vec<u8>,
}

fn given() -> TraceOptions {
    options(None)
}

fn lines(requests: &[Request], line: impl Fn(&Request) -> String) -> Vec<u8> {
    requests.iter().map(|request| line(request) + "\n").collect::<String>().into_bytes()
}

fn behind(header: &str, lines: Vec<u8>) -> Vec<u8> {
    [header.as_bytes(), b"\n", &lines].concat()
}

/// A date with a time, of microseconds since the beginning of a day that a leap day follows.
fn date(us: u64) -> String {
    let (seconds, day) = (us / 1_000_000, us / 86_400_000_000);
    let date = match day {
        0 => "2024-02-28".into(),
        1 => "2024-02-29".into(),
        _ => format!("2024-03-{:02}", day - 1),
    };
    format!("{date}T{:02}:{:02}:{:02}.{:06}Z", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60, us % 1_000_000)
}

/// Both events of a request in the kernel, the second 5 us after the first.
fn events(request: &Request, line: impl Fn(u64, &str) -> String) -> String {
    let us = request.step + 1_000_000;
    line(us, "issue") + "\n" + &line(us + 5, "complete")
}

fn vscsi(request: &Request, version: u16) -> Vec<u8> {
    let command = if request.kind == CommandKind::Read { 0x28_u16 } else { 0x2a };
    let ((_, bytes), time_us) = (request.bytes(), request.step + 77);
    let part = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let (kind, version) = (command.to_le_bytes(), (version << 8).to_le_bytes());
    let end = [request.sector.to_le_bytes(), time_us.to_le_bytes()].concat();
    if version[1] == 2 {
        [&kind[..], &version, &part(&[7, bytes as u32, 1]), &end, &9_u64.to_le_bytes()].concat()
    } else {
        [&part(&[7, bytes as u32, 1])[..], &kind, &version, &end].concat()
    }
}

fn columns(columns: &str) -> TraceOptions {
    TraceOptions { columns: Some(columns.parse().unwrap()), ..given() }
}

const WRITERS: &[Writer] = &[
    Writer {
        name: "ascii",
        step_ns: US,
        trims: true,
        options: || TraceOptions {
            ops: Some("write=0,read=1,7,trim=2,ignore=9".parse().unwrap()),
            ..options(Some(TimeUnit::Microseconds))
        },
        write: |requests| {
            lines(requests, |r| {
                format!("{} 0 {} {} {}\n0 0 0 0 9", r.step, r.sector, r.sectors, r.word([if r.step % 2 > 0 { "7" } else { "1" }, "0", "2"]))
            })
        },
    },
    Writer {
        name: "ascii in dates",
        step_ns: US,
        trims: true,
        options: || TraceOptions { ops: Some("write=0,read=1,trim=2".parse().unwrap()), ..given() },
        write: |requests| lines(requests, |r| format!("{} 0 {} {} {}", date(r.step), r.sector, r.sectors, r.word(["1", "0", "2"]))),
    },
    Writer {
        name: "msr",
        step_ns: 100,
        trims: false,
        options: given,
        write: |requests| {
            lines(requests, |r| {
                let (offset, size) = r.bytes();
                format!("{},hm,0,{},{offset},{size},9", 128_166_372_003_061_629 + r.step, r.word(["Read", "Write", ""]))
            })
        },
    },
    Writer {
        name: "etw",
        step_ns: US,
        trims: false,
        options: given,
        write: |requests| {
            lines(requests, |r| {
                let (offset, size) = r.bytes();
                format!("{}, {}, p (4), 9, 0xff, 0x{offset:x}, 0x{size:08x}, 0, 0, 0x0", r.word(["DiskRead", "DiskWrite", ""]), r.step)
            })
        },
    },
    Writer {
        name: "spc",
        step_ns: US,
        trims: false,
        options: given,
        write: |requests| {
            lines(requests, |r| {
                format!("0,{},{},{},{}.{:06}", r.sector, r.bytes().1, r.word(["R", "w", ""]), r.step / 1_000_000, r.step % 1_000_000)
            })
        },
    },
    Writer {
        name: "blkparse",
        step_ns: US,
        trims: true,
        options: given,
        write: |requests| {
            lines(requests, |r| {
                events(r, |us, event| {
                    let (event, end) = if event == "issue" { ("D", "[x y]") } else { ("C", "[0]") };
                    let (seconds, us) = (us / 1_000_000, us % 1_000_000);
                    format!("8,0 1 1 {seconds}.{us:06}000 5 {event} {} {} + {} {end}", r.word(["RSM", "FWFS", "DS"]), r.sector, r.sectors)
                })
            })
        },
    },
    Writer {
        name: "ftrace",
        step_ns: US,
        trims: true,
        options: given,
        write: |requests| {
            let events = |r: &Request| {
                events(r, |us, event| {
                    let (size, end) = if event == "issue" { (format!(" {}", r.bytes().1), "[a b]") } else { (String::new(), "[0]") };
                    let (seconds, us) = (us / 1_000_000, us % 1_000_000);
                    let letters = r.word(["RA", "WFSMU", "DE"]);
                    format!(
                        "  a b-7  [001] d..1. {seconds}.{us:06}: block_rq_{event}: 259,0 {letters}{size} () {} + {} none,0,0 {end}",
                        r.sector, r.sectors
                    )
                })
            };
            behind("# tracer: nop\n#\n#           TASK-PID", lines(requests, events))
        },
    },
    Writer {
        name: "perf script",
        step_ns: US,
        trims: true,
        options: || TraceOptions { event: Some(Event::Inserted), ..given() },
        write: |requests| {
            lines(requests, |r| {
                let us = r.step;
                let (seconds, us) = (us / 1_000_000, us % 1_000_000);
                let letters = r.word(["R", "WS", "D"]);
                format!(
                    "a b 7 [001] {seconds}.{us:06}: block:block_rq_insert: 8,16 {letters} {} () {} + {} [a b]\n\tffffffff8139d7e5 x ([kernel])",
                    r.bytes().1,
                    r.sector,
                    r.sectors
                )
            })
        },
    },
    Writer {
        name: "biosnoop",
        step_ns: US,
        trims: true,
        options: given,
        write: |requests| {
            let line = |r: &Request| {
                let us = r.step + 3_210;
                let (seconds, us) = (us / 1_000_000, us % 1_000_000);
                format!("{seconds}.{us:06} job 1 7 sda {} {} {} 3.21", r.word(["R", "WS", "D"]), r.sector, r.bytes().1)
            };
            behind("TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)", lines(requests, line))
        },
    },
    Writer {
        name: "fio3",
        step_ns: US,
        trims: true,
        options: given,
        write: |requests| {
            let line = |r: &Request| format!("{} /dev/sda {} {} {}", r.step, r.word(["read", "write", "trim"]), r.bytes().0, r.bytes().1);
            behind("fio version 3 iolog", lines(requests, line))
        },
    },
    Writer {
        name: "fio-lat",
        step_ns: MS,
        trims: true,
        options: given,
        write: |requests| lines(requests, |r| format!("{}, 0, {}, {}, {}, 0", r.step, r.word(["0", "1", "2"]), r.bytes().1, r.bytes().0)),
    },
    Writer {
        name: "alibaba",
        step_ns: US,
        trims: false,
        options: given,
        write: |requests| {
            lines(requests, |r| format!("3,{},{},{},{}", r.word(["R", "W", ""]), r.bytes().0, r.bytes().1, 1_577_808_000_000_000 + r.step))
        },
    },
    Writer {
        name: "tencent",
        step_ns: SECOND,
        trims: false,
        options: given,
        write: |requests| {
            lines(requests, |r| format!("{},{},{},{},7", 1_538_323_200 + r.step, r.sector, r.sectors, r.word(["0", "1", ""])))
        },
    },
    Writer {
        name: "systor",
        step_ns: US,
        trims: false,
        options: given,
        write: |requests| {
            let line = |r: &Request| {
                let (seconds, us) = (1_456_095_145 + r.step / 1_000_000, r.step % 1_000_000);
                format!("{seconds}.{us:06},,{},0,{},{}", r.word(["R", "W", ""]), r.bytes().0, r.bytes().1)
            };
            behind("Timestamp,Response,IOType,LUN,Offset,Size", lines(requests, line))
        },
    },
    Writer {
        name: "fiu",
        step_ns: 1,
        trims: false,
        options: given,
        write: |requests| {
            lines(requests, |r| format!("{} 4253 a b {} {} {} 6 0 88b9", 7_000 + r.step, r.sector, r.sectors, r.word(["R", "W", ""])))
        },
    },
    Writer {
        name: "wiscsee",
        step_ns: US,
        trims: true,
        options: given,
        write: |requests| {
            lines(requests, |r| {
                let (seconds, us) = (r.step / 1_000_000, r.step % 1_000_000);
                format!("7 D {} {} {} {seconds}.{us:06} 0 True", r.word(["read", "write", "discard"]), r.bytes().0, r.bytes().1)
            })
        },
    },
    Writer {
        name: "flashnet",
        step_ns: US,
        trims: false,
        options: given,
        write: |requests| {
            lines(requests, |r| {
                let (offset, size) = r.bytes();
                format!("{}.{:03},9,{},{size},{offset},0.1,{size}", r.step / 1_000, r.step % 1_000, r.word(["1", "0", ""]))
            })
        },
    },
    Writer {
        name: "vscsi1",
        step_ns: US,
        trims: false,
        options: given,
        write: |requests| requests.iter().flat_map(|r| vscsi(r, 1)).collect(),
    },
    Writer {
        name: "vscsi2",
        step_ns: US,
        trims: false,
        options: given,
        write: |requests| requests.iter().flat_map(|r| vscsi(r, 2)).collect(),
    },
    Writer {
        name: "columns in blocks",
        step_ns: MS,
        trims: true,
        options: || columns("op,lba:blocks:512,len:blocks:256,time:ms"),
        write: |requests| lines(requests, |r| format!("{};{};{};{}", r.word(["read", "ws", "Discard"]), r.sector, r.sectors * 2, r.step)),
    },
    Writer {
        name: "columns in dates",
        step_ns: US,
        trims: true,
        options: || TraceOptions { ops: Some("read=1,2,write=3,trim=4,ignore=5".parse().unwrap()), ..columns("time,op,lba:kib,len:bytes") },
        write: |requests| {
            lines(requests, |r| {
                // Half a KiB is no whole number of them.
                let kib = if r.sector % 2 == 0 { r.sector / 2 } else { return odd(r) };
                format!("{},{},{kib},{}\n{},5,0,0", date(r.step), r.word(["2", "3", "4"]), r.bytes().1, date(r.step))
            })
        },
    },
];

/// A request at an odd sector, in KiB: what begins within it is widened to the sectors that it touches.
fn odd(request: &Request) -> String {
    format!("{},5,{},512", date(request.step), request.sector / 2)
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let kind = prop_oneof![3 => Just(CommandKind::Read), 3 => Just(CommandKind::Write), 1 => Just(CommandKind::Trim)];
    proptest::collection::vec((0_u64..5_000, kind, 0_u64..1 << 28, 1_u32..2_048), 1..40).prop_map(|requests| {
        let mut step = 0;
        let request = |(gap, kind, sector, sectors)| {
            step += gap;
            Request { step, kind, sector, sectors }
        };
        requests.into_iter().map(request).collect()
    })
}

/// What is played of requests that were written.
fn expected(writer: &Writer, requests: &[Request]) -> Vec<Arrival> {
    let first = requests[0].step;
    let arrival = |request: &Request| {
        let command = Command { kind: request.kind, sector: request.sector, sectors: request.sectors, critical: false };
        Arrival { at: (request.step - first) * writer.step_ns, command, queue: 0, latency_ns: None }
    };
    requests.iter().map(arrival).collect()
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn what_is_read_is_what_was_written(mut requests in requests()) {
        let folder = Folder::new("written");
        for writer in WRITERS {
            if writer.name == "columns in dates" {
                requests.iter_mut().for_each(|request| request.sector -= request.sector % 2);
            }
            let written: Vec<Request> = requests.iter().copied().filter(|request| writer.trims || request.kind != CommandKind::Trim).collect();
            if written.is_empty() {
                continue;
            }
            let text = (writer.write)(&written);
            let expected = expected(writer, &written);
            let mut found = play(&folder.file("t", &text), &(writer.options)()).unwrap_or_else(|error| panic!("{}: {error}", writer.name));
            found.iter_mut().for_each(|arrival| arrival.latency_ns = None);
            prop_assert_eq!(&found, &expected, "{}", writer.name);
        }
    }

    #[test]
    fn packed_traces_are_the_same(requests in requests(), cut in any::<prop::sample::Index>()) {
        let folder = Folder::new("packed");
        let writer = &WRITERS[0];
        let text = String::from_utf8((writer.write)(&requests)).unwrap();
        let expected = expected(writer, &requests);
        // Several streams behind each other are one file.
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let (first, second) = lines.split_at(cut.index(lines.len()));
        let (first, second) = (first.concat(), second.concat());
        for pack in [zstd, bzip2, xz] {
            let packed = [pack(&first), pack(&second)].concat();
            prop_assert_eq!(&play(&folder.file("t", packed), &(writer.options)()).unwrap(), &expected);
        }
    }

    #[test]
    fn damaged_packed_traces_are_played_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let folder = Folder::new("damaged-packed");
        let lines: String = (0..200).map(|time| format!("{time} 0 {} 8 1\n", time * 37 % 101)).collect();
        for pack in [bzip2, xz] {
            let mut bytes = pack(&lines);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(bytes.len() - cut.index(bytes.len() / 2) * usize::from(byte % 2));
            let _ = play(&folder.file("t", bytes), &options(Some(TimeUnit::Microseconds)));
        }
    }
}

#[test]
fn fio_logs_without_times_keep_their_order() {
    let folder = Folder::new("fio2-order");
    let text = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda write 4096 4096\n/dev/sda read 0 512\n";
    let closed = TraceOptions { queue_depth: Some(1), ..given() };
    assert_eq!(play(&folder.file("t", text), &closed).unwrap(), [write(0, 8, 8), read(0, 0, 1)]);
}
