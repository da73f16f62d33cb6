//! Traces of every format from file to request: order, devices, events, closed loop, archives, binary records.

use crate::support::{DRIVE, Folder, cases, gzip, message, microseconds, options, play, read, took, write, zstd};
use proptest::prelude::*;
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::{MS, SECOND, US};
use tinytail_workload::{AddressUnit, Arrival, Event, Pacing, SourceContext, TimeUnit, Trace, TraceOptions, Workload, WorkloadError};

fn none() -> TraceOptions {
    options(None)
}

fn notes(path: &std::path::Path, options: &TraceOptions) -> String {
    Trace::open(path, options).unwrap().notes().join("\n")
}

/// A small trace of each format whose times have a fixed unit, and what is played of it.
fn texts() -> Vec<(&'static str, &'static str, Vec<Arrival>)> {
    vec![
        ("spc", "0,8,4096,w,0.5\n0,16,512,R,0.75\n", vec![write(0, 8, 8), read(250 * MS, 16, 1)]),
        ("alibaba", "3,W,4096,4096,1577808000000046\n3,R,0,512,1577808000000047\n", vec![write(0, 8, 8), read(US, 0, 1)]),
        ("tencent", "1538323200,8,8,1,1063\n1538323201,16,1,0,1063\n", vec![write(0, 8, 8), read(SECOND, 16, 1)]),
        (
            "systor",
            "Timestamp,Response,IOType,LUN,Offset,Size\n10.000001000,0.1,W,0,4096,4096\n10.000002000,0.1,R,0,0,512\n",
            vec![took(100 * MS, write(0, 8, 8)), took(100 * MS, read(US, 0, 1))],
        ),
        ("fiu", "7000 1 nfsd 8 8 W 6 0 ab\n8000 1 nfsd 16 1 R 6 0 ab\n", vec![write(0, 8, 8), read(US, 16, 1)]),
        (
            "wiscsee",
            "1 D write 4096 4096 0.000001 0 True\n0 C write 4096 4096 0.0000015 0 True\n1 D read 0 512 0.000002 0 True\n",
            vec![took(500, write(0, 8, 8)), read(US, 0, 1)],
        ),
        (
            "flashnet",
            "0.000,9,0,4096,4096,0.1,4096\n0.001,8,1,512,0,0.1,512\n",
            vec![took(9 * US, write(0, 8, 8)), took(8 * US, read(US, 0, 1))],
        ),
        (
            "fio3",
            "fio version 3 iolog\n0 /f add\n0 /f open\n7 /f write 4096 4096\n8 /f read 0 512\n9 /f sync 0 0\n10 /f close\n",
            vec![write(0, 8, 8), read(US, 0, 1)],
        ),
        (
            "fio-lat",
            "10, 100000, 1, 4096, 4096, 0\n10, 99000, 0, 512, 0, 0\n",
            vec![took(100 * US, write(0, 8, 8)), took(99 * US, read(US, 0, 1))],
        ),
        (
            "blkparse",
            "  8,0    1        1     0.000000000   5  Q   W 8 + 8 [x]\n  8,0    1        2     0.000001000   5  D   W 8 + 8 [x]\n  \
             8,0    1        3     0.000002000   5  D  RS 16 + 1 [x]\n  8,0    1        4     0.000009000   5  C   W 8 + 8 [0]\n\
             CPU0 (8,0):\n Reads Queued:           0,        0KiB\n",
            vec![took(8 * US, write(0, 8, 8)), read(US, 16, 1)],
        ),
        (
            "etw",
            "BeginHeader\r\nDiskWrite, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum\r\n\
             DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum\r\nEndHeader\r\n\
             DiskWrite, 100, p (1), 1, 0xff, 0x1000, 0x1000, 90, 0\r\nDiskRead, 101, p (1), 1, 0xff, 0x0, 0x200, 90, 0\r\n",
            vec![took(90 * US, write(0, 8, 8)), took(90 * US, read(US, 0, 1))],
        ),
    ]
}

/// The events of one request, whose latency is that from the event that is asked for, and of two that become one.
const EVENTS: &str = "8,0 1 1 0.000000000 5 Q W 8 + 8 [x]\n8,0 1 2 0.000001000 5 I W 8 + 8 [x]\n8,0 1 3 0.000002000 5 D W 8 + 8 [x]\n\
                      8,0 1 4 0.000003000 5 Q R 80 + 8 [x]\n8,0 1 5 0.000004000 5 Q R 88 + 8 [x]\n8,0 1 6 0.000005000 5 M R 88 + 8 [x]\n\
                      8,0 1 7 0.000006000 5 D R 80 + 16 [x]\n8,0 1 8 0.000007000 0 C W 8 + 8 [0]\n8,0 1 9 0.000009000 0 C R 80 + 16 [0]\n";

#[test]
fn a_latency_is_that_from_the_event_that_is_played() {
    let folder = Folder::new("from-the-event");
    let path = folder.file("t", EVENTS);
    let played = |event| play(&path, &TraceOptions { event, ..none() }).unwrap();
    let issued = [took(5 * US, write(0, 8, 8)), took(3 * US, read(4 * US, 80, 16))];
    assert_eq!(played(None), issued);
    assert_eq!(played(Some(Event::Issued)), issued);
    assert_eq!(played(Some(Event::Inserted)), [took(6 * US, write(0, 8, 8))]);
    let queued = [took(7 * US, write(0, 8, 8)), took(6 * US, read(3 * US, 80, 8)), took(5 * US, read(4 * US, 88, 8))];
    assert_eq!(played(Some(Event::Queued)), queued);
}

#[test]
fn only_the_latency_logs_of_fio_are_traces() {
    let folder = Folder::new("fio-logs");
    let lines = "0, 512, 0, 4096, 0, 0\n1, 512, 0, 4096, 4096, 0\n";
    for name in ["j_lat.1.log", "j_clat.1.log"] {
        assert_eq!(Trace::open(&folder.file(name, lines), &none()).unwrap().format(), "fio-lat");
    }
    let text = message(Trace::open(&folder.file("j_slat.1.log", lines), &none()), &folder);
    assert!(text.contains("by its name this is fio's log of submission latencies; expected") && text.ends_with(": j_lat.1.log"), "{text}");
    for (name, lines, expected) in [
        ("j_lat.2.log", "0, 512, 0, 4096, 0\n", "j_lat.2.log, line 1, column 6 (priority): found the end of the line"),
        (
            "j_lat.3.log",
            "500, 512, 0, 0, 0, 0\n",
            "j_lat.3.log, line 1, column 4 (block size): found `0`, expected the size of one request; with",
        ),
    ] {
        let text = message(Trace::open(&folder.file(name, lines), &none()), &folder);
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn each_format_is_found_from_its_content() {
    let folder = Folder::new("each-format");
    for (format, text, expected) in texts() {
        for (name, content) in [("plain", text.as_bytes().to_vec()), ("zstd", zstd(text)), ("gzip", gzip(text))] {
            let path = folder.file(name, content);
            assert_eq!(Trace::open(&path, &none()).unwrap().format(), format);
            assert_eq!(play(&path, &none()).unwrap(), expected, "{format}, {name}");
        }
    }
}

#[test]
fn binary_records_are_read_and_their_faults_named() {
    let folder = Folder::new("vscsi");
    let record = |command: u16, length: u32, block: u64, time_us: u64| {
        let mut bytes = [command.to_le_bytes(), 0x0200_u16.to_le_bytes()].concat();
        for number in [7, length, 1] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [block, time_us, 55] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    };
    let whole = [record(0x2a, 4096, 8, 500), record(0x12, 0, 0, 501), record(0x28, 512, 16, 1_500), record(0x35, 0, 0, 1_600)].concat();
    for (name, content) in
        [("plain", whole.clone()), ("zstd", crate::support::zstd_bytes(&whole)), ("gzip", crate::support::gzip_bytes(&whole))]
    {
        let path = folder.file(name, content);
        assert_eq!(Trace::open(&path, &none()).unwrap().format(), "vscsi2");
        assert_eq!(play(&path, &none()).unwrap(), [write(0, 8, 8), read(MS, 16, 1)], "{name}");
        let notes = notes(&path, &none());
        assert!(notes.contains("not played: 1 SCSI command other than reads and writes and 1 flush"), "{notes}");
    }
    let fault = |name: &str, content: &[u8]| message(play(&folder.file(name, content), &none()), &folder);
    assert_eq!(fault("cut", &whole[..95]), "cut, record 3: found 15 bytes, expected 40: the file is cut off");
    let empty = [record(0x2a, 4096, 8, 500), record(0x28, 0, 16, 501)].concat();
    assert_eq!(
        fault("empty", &empty),
        "empty, record 2, column 4 (length): found `0`, expected a length of 1 or more bytes; `--skip-faulty 1` leaves this record out"
    );
    let foreign = [whole.clone(), vec![0xff; 40]].concat();
    assert!(fault("foreign", &foreign).starts_with("foreign, record 5, column 2 (version): found `0xffff`"));
    let many: Vec<u8> = (0..40_000).flat_map(|number| record(0x28, 512, number * number % 1_000_003, number * 100)).collect();
    let compressed = crate::support::zstd_bytes(&many);
    let text = fault("half", &compressed[..compressed.len() / 2]);
    assert!(text.contains("the zstd stream is truncated or damaged after"), "{text}");
    // Forced on a text, a binary format says what it finds.
    let forced = TraceOptions { format: Some("vscsi1".into()), ..none() };
    let text = message(play(&folder.file("text", "1 0 8 8 1\n".repeat(9)), &forced), &folder);
    assert!(text.starts_with("text: 2 of its 2 records are faulty:\n  record 1, column 5 (version): found `0x"), "{text}");
    // A drive too small names the record.
    let path = folder.file("plain", &whole);
    let workload = Workload::resolve(path.to_str().unwrap(), &none()).unwrap();
    assert!(message(workload.check_fits(16), &folder).starts_with("plain, record 3: the request ends at byte"));
}

const LATE: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n\
                    10.000,0.1,R,0,0,512\n10.500,0.1,R,0,512,512\n10.300,0.1,W,0,1024,512\n10.300,0.1,R,0,1536,512\n10.600,0.1,R,0,2048,512\n";

#[test]
fn lines_that_are_slightly_late_are_put_in_order_and_said() {
    let folder = Folder::new("late");
    let path = folder.file("t", LATE);
    let expected = [read(0, 0, 1), write(300 * MS, 2, 1), read(300 * MS, 3, 1), read(500 * MS, 1, 1), read(600 * MS, 4, 1)]
        .map(|request| took(100 * MS, request));
    assert_eq!(play(&path, &none()).unwrap(), expected);
    let notes = notes(&path, &none());
    assert!(notes.contains("2 requests after later ones, by up to 0.20 s; all are played in the order"), "{notes}");
    // What is allowed is exact.
    let late = |ms| TraceOptions { reorder_ms: Some(ms), ..none() };
    assert_eq!(play(&path, &late(200)).unwrap(), expected);
    let text = message(play(&path, &late(199)), &folder);
    assert!(
        text.contains(
            "line 4 (`10.300,0.1,W,0,1024,512`), column 1 (Timestamp): found a time of 10,300,000,000 ns, expected at most 0.20 s before"
        ) && text.ends_with("`--reorder-ms 200` puts late ones in their places"),
        "{text}"
    );
    let text = message(play(&path, &late(0)), &folder);
    assert!(text.contains("expected no time before that of the request before, 10,500,000,000 ns, which is 0.20 s later"), "{text}");
}

#[test]
fn a_large_disorder_is_a_fault() {
    let folder = Folder::new("disorder");
    // By more than a minute.
    let trace = "Timestamp,Response,IOType,LUN,Offset,Size\n100.0,0.1,R,0,0,512\n39.9,0.1,R,0,0,512\n";
    let text = message(play(&folder.file("t", trace), &none()), &folder);
    assert!(
        text.starts_with("t, line 3, column 1 (Timestamp): found a time of 39,900,000,000 ns, expected at most 60.0 s before"),
        "{text}"
    );
    assert!(play(&folder.file("t", trace.replace("39.9", "40.0")), &none()).is_ok());
    // By more requests than are held.
    let mut lines = "0,R,0,512,2000000\n".to_owned();
    lines += &"0,R,0,512,1000000\n".repeat(1 << 18);
    assert_eq!(play(&folder.file("t", &lines), &none()).unwrap().len(), (1 << 18) + 1);
    lines += "0,R,0,512,1000000\n";
    let text = message(play(&folder.file("t", lines), &none()), &folder);
    assert!(text.starts_with("t, line 262146, column 5 (timestamp): found a time of 1,000,000,000 ns"), "{text}");
    assert!(text.contains("at most 262,144 requests before this line"), "{text}");
}

#[test]
fn traces_in_order_stay_strict_unless_asked() {
    let folder = Folder::new("strict");
    let path = folder.file("t", "5 0 8 8 1\n4 0 16 8 1\n");
    let text = message(play(&path, &microseconds()), &folder);
    assert!(text.contains("time must not go backwards; `--reorder-ms` allows lines that are slightly late"), "{text}");
    let late = TraceOptions { reorder_ms: Some(1), ..microseconds() };
    assert_eq!(play(&path, &late).unwrap(), [read(0, 16, 8), read(US, 8, 8)]);
}

#[test]
fn a_request_beyond_the_drive_is_named_by_its_line_in_the_file() {
    let folder = Folder::new("late-beyond");
    let path = folder.file("t", LATE);
    let workload = Workload::resolve(path.to_str().unwrap(), &none()).unwrap();
    assert_eq!(
        message(workload.check_fits(1), &folder),
        "t, line 4: the request ends at byte 1536, beyond the drive's 512 bytes; --fit fold folds such requests into it, --fit clip cuts them off"
    );
}

#[test]
fn trims_are_played_and_measured() {
    let folder = Folder::new("trims");
    let path = folder.file("t", "fio version 3 iolog\n1 /a write 0 4096\n2 /a trim 0 8192\n3 /a sync\n");
    let trim = Command { kind: CommandKind::Trim, sector: 0, sectors: 16, critical: false };
    assert_eq!(play(&path, &none()).unwrap(), [write(0, 0, 8), Arrival { at: US, command: trim, queue: 0, latency_ns: None }]);
    let notes = notes(&path, &none());
    assert!(notes.contains("1 flush") && !notes.contains("trims"), "{notes}");
}

#[test]
fn devices_have_names_where_the_trace_gives_them() {
    let folder = Folder::new("names");
    let path = folder.file("t", "fio version 3 iolog\n1 /b write 0 4096\n2 /a read 0 512\n3 /b read 512 512\n");
    // In the order in which they appear, each with a queue of its own.
    let second = Arrival { queue: 1, ..read(US, 2048, 1) };
    assert_eq!(play(&path, &none()).unwrap(), [write(0, 0, 8), second, read(2 * US, 1, 1)]);
    let chosen = |name: &str| TraceOptions { trace_device: Some(name.into()), ..none() };
    assert_eq!(play(&path, &chosen("/a")).unwrap(), [read(0, 0, 1)]);
    assert!(notes(&path, &chosen("/b")).contains("only the requests to device /b, one of 2"));
    let text = message(play(&path, &chosen("/c")), &folder);
    assert!(text.contains("no request is to device /c; the trace's devices are /b, /a"), "{text}");
    let blkparse = folder.file("b", "8,0 1 2 0.0 5 D W 8 + 8 [x]\n8,16 1 2 0.1 5 D W 16 + 8 [x]\n");
    assert_eq!(play(&blkparse, &chosen("8,16")).unwrap(), [write(0, 16, 8)]);
    let sidecar = folder.file("b.toml", "trace_device = \"8,0\"\n");
    assert_eq!(play(&blkparse, &none()).unwrap(), [write(0, 8, 8)]);
    std::fs::write(sidecar, "trace_device = -1\n").unwrap();
    let text = message(play(&blkparse, &none()), &folder);
    assert!(text.contains("b.toml:1: `trace_device` is -1"), "{text}");
    let many: String = (0..40).map(|device| format!("{device},R,0,512,{device}\n")).collect();
    let text = message(play(&folder.file("m", many), &chosen("99")), &folder);
    assert!(text.ends_with("18, 19 and 20 more"), "{text}");
}

#[test]
fn a_column_that_is_no_device_does_not_fill_the_memory() {
    let folder = Folder::new("many");
    let lines = |count: u32| -> String { (0..count).map(|device| format!("{device},R,0,512,{device}\n")).collect() };
    assert_eq!(Trace::open(&folder.file("t", lines(65_536)), &none()).unwrap().requests(), 65_536);
    let text = message(play(&folder.file("t", lines(65_537)), &none()), &folder);
    assert!(text.contains("t, line 65537, column 1 (device_id): found `65536`, expected one of at most 65,536 devices"), "{text}");
}

#[test]
fn the_event_that_is_a_request_can_be_chosen() {
    let folder = Folder::new("event");
    let path = folder.file("t", "8,0 1 1 0.0 5 Q W 8 + 8 [x]\n8,0 1 2 0.1 5 Q W 16 + 8 [x]\n8,0 1 3 0.2 5 D W 8 + 16 [x]\n");
    let event = |event| TraceOptions { event, ..none() };
    assert_eq!(play(&path, &none()).unwrap(), [write(0, 8, 16)]);
    assert!(notes(&path, &none()).contains("a request is a D event, the format's custom; `event` says otherwise"));
    assert_eq!(play(&path, &event(Some(Event::Queued))).unwrap(), [write(0, 8, 8), write(100 * MS, 16, 8)]);
    let text = message(play(&path, &event(Some(Event::Inserted))), &folder);
    let expected =
        "t: no line of it is a request that can be played; there are 2 Q events and 1 D event. `--event D` takes the D event for a request";
    assert_eq!(text, expected);
    let ascii = folder.file("a", "1 0 8 8 1\n");
    let text = message(play(&ascii, &TraceOptions { event: Some(Event::Queued), ..microseconds() }), &folder);
    assert!(text.contains("the event Q (given as an option) does not apply to the format ascii"), "{text}");
}

#[test]
fn a_request_that_was_put_back_counts_once() {
    let folder = Folder::new("requeue");
    let blktrace = "8,0 1 1 0.0 5 Q R 80 + 8 [x]\n8,0 1 2 0.1 5 D R 80 + 8 [x]\n8,0 1 3 0.2 5 R R 80 + 8 [x]\n\
                    8,0 1 4 0.3 5 D W 8 + 8 [x]\n8,0 1 5 0.4 5 D R 80 + 8 [x]\n8,0 1 6 0.5 5 C R 80 + 8 [0]\n8,0 1 7 0.6 5 C W 8 + 8 [0]\n";
    let event = |time: &str, event: &str, what: &str| format!("x-1 [001] {time}: block_rq_{event}: 8,0 {what} [0]\n");
    let ftrace = [
        event("0.1", "issue", "R 4096 () 80 + 8"),
        event("0.2", "requeue", "R () 80 + 8"),
        event("0.3", "issue", "W 4096 () 8 + 8"),
        event("0.4", "issue", "R 4096 () 80 + 8"),
        event("0.5", "complete", "R () 80 + 8"),
        event("0.6", "complete", "W () 8 + 8"),
    ]
    .concat();
    let expected = [took(300 * MS, write(0, 8, 8)), took(100 * MS, read(100 * MS, 80, 8))];
    for text in [blktrace, &ftrace] {
        let path = folder.file("t", text);
        assert_eq!(play(&path, &none()).unwrap(), expected);
        let said = notes(&path, &none());
        assert!(said.contains("1 request was put back to the queue and issued again (R events)") && said.contains("1 R event"), "{said}");
    }
    // Where they were queued, nothing is repeated.
    let queued = TraceOptions { event: Some(Event::Queued), ..none() };
    assert_eq!(play(&folder.file("t", blktrace), &queued).unwrap(), [took(500 * MS, read(0, 80, 8))]);
}

#[test]
fn a_recording_without_arrivals_has_a_reason_or_an_event() {
    let folder = Folder::new("arrivals");
    let path = folder.file("t", "8,0 1 1 0.0 5 C R 80 + 8 [0]\n8,0 1 1 0.1 5 C R 88 + 8 [0]\n");
    let text = message(play(&path, &none()), &folder);
    let why = "there are 2 C events. A C event says when a request was complete, and no event here says when it came, so that no option can help. A \
               recording of issues and completions has both: `blktrace -a issue -a complete -d DEVICE";
    assert!(text.contains(why), "{text}");
    let path = folder.file("t", "8,0 1 1 0.0 5 G R 80 + 8 [x]\n8,0 1 1 0.1 5 G R 88 + 8 [x]\n8,0 1 1 0.2 5 C R 88 + 8 [0]\n");
    assert!(message(play(&path, &none()), &folder).ends_with("`--event G` takes the G events for requests"));
    let got = TraceOptions { event: Some(Event::Got), ..none() };
    assert_eq!(play(&path, &got).unwrap(), [read(0, 80, 8), took(100 * MS, read(100 * MS, 88, 8))]);
}

#[test]
fn a_device_that_is_on_another_is_a_doubt_unless_one_is_chosen() {
    let folder = Folder::new("stacked");
    let lines = |at: u64| {
        let sector = 1000 * at + 8 * (at % 3);
        format!("253,0 0 1 {at}.0 7 Q R {sector} + 8 [x]\n8,0 0 1 {at}.1 7 Q R {} + 8 [x]\n", sector + 2048)
    };
    let path = folder.file("t", (0..8).map(lines).collect::<String>());
    let queued = TraceOptions { event: Some(Event::Queued), ..none() };
    let doubts = |options: &TraceOptions| Trace::open(&path, options).unwrap().info().unwrap().doubts;
    let [doubt] = &doubts(&queued)[..] else { panic!("one doubt") };
    assert!(
        doubt.starts_with("device 253,0 seems to be on device 8,0, or to be its mirror: 8 of its 8 requests come to 8,0 again"),
        "{doubt}"
    );
    let lower = TraceOptions { trace_device: Some("8,0".into()), ..queued };
    assert_eq!((doubts(&lower).len(), play(&path, &lower).unwrap().len()), (0, 8));
}

#[test]
fn doubts_are_those_of_the_notes_that_say_so() {
    let folder = Folder::new("doubts");
    let doubts = |text: &str| {
        let info = Trace::open(&folder.file("t", text), &none()).unwrap().info().unwrap();
        assert!(info.doubts.iter().all(|doubt| info.notes.contains(doubt)));
        info.doubts.join("; ")
    };
    let tencent = |unit: u64| (1..10).map(|at| format!("1538323200,{},{},0,1\n", at * 8 * unit, 8 * unit)).collect::<String>();
    assert_eq!(doubts(&tencent(1)), "");
    let said = doubts(&tencent(512));
    assert!(
        said.starts_with("every address and size is a multiple of 512, as if they were bytes, and is read in sectors; `--columns"),
        "{said}"
    );
    let said = doubts("0,10352,8,r,0.0025\n0,14416,16,w,0.0029\n");
    assert!(said.starts_with("none of the sizes in its first 2 lines is a multiple of 512"), "{said}");
}

#[test]
fn a_trace_without_times_is_played_in_closed_loop_only() {
    let folder = Folder::new("no-times");
    let path = folder.file("t", "fio version 2 iolog\n/f add\n/f open\n/f write 4096 4096\n/f wait 1000 0\n/f read 0 512\n/f close\n");
    let text = message(play(&path, &none()), &folder);
    assert!(text.starts_with("t: the format `fio2` has no times"), "{text}");
    assert!(text.contains("--queue-depth N, or `queue_depth = N` in t.toml beside the trace"), "{text}");
    // What it is like can be said all the same.
    let info = Trace::open(&path, &none()).unwrap().info().unwrap();
    assert_eq!((info.characteristics.requests, info.characteristics.iops_mean, info.time_unit), (2, None, None));
    assert!(info.notes.join("\n").contains("1 wait line"));

    let closed = TraceOptions { queue_depth: Some(4), ..none() };
    let workload = Workload::resolve(path.to_str().unwrap(), &closed).unwrap();
    assert_eq!(workload.pacing, Pacing::Closed { depth: 4 });
    assert!(workload.detail.ends_with("format fio2: 2 requests, in closed loop at queue depth 4"), "{}", workload.detail);
    assert_eq!(play(&path, &closed).unwrap(), [write(0, 8, 8), read(0, 0, 1)]);
    folder.file("t.toml", "queue_depth = 2\n");
    assert_eq!(Workload::resolve(path.to_str().unwrap(), &none()).unwrap().pacing, Pacing::Closed { depth: 2 });

    let refuse = |options: TraceOptions, expected: &str| {
        let text = message(play(&path, &options), &folder);
        assert!(text.contains(expected), "{expected} in {text}");
    };
    refuse(microseconds(), "the time unit us (given as an option) does not apply to the format fio2, which has no times");
    refuse(TraceOptions { reorder_ms: Some(1), ..none() }, "can't be put in order: the format fio2 has no times");
    refuse(TraceOptions { queue_depth: Some(0), ..none() }, "a queue depth of 0 (given as an option) would play nothing");
}

#[test]
fn any_trace_can_be_played_in_closed_loop() {
    let folder = Folder::new("closed");
    let closed = |options: TraceOptions| TraceOptions { queue_depth: Some(8), ..options };
    // Without the unit of time, the order of the file is that of playing, whatever the times say.
    let path = folder.file("t", "9 0 8 8 1\n4 0 16 8 0\n");
    assert_eq!(play(&path, &closed(none())).unwrap(), [read(0, 8, 8), write(0, 16, 8)]);
    let text = message(play(&path, &TraceOptions { reorder_ms: Some(1), ..closed(none()) }), &folder);
    assert!(text.contains("without the unit of time; give it too"), "{text}");
    // With it, they are checked as ever.
    let text = message(play(&path, &closed(microseconds())), &folder);
    assert!(text.contains("time must not go backwards"), "{text}");
    let workload = folder.file("w.toml", "summary = \"x\"\n[trace]\nfile = \"t\"\nqueue_depth = { value = 3, source = \"a guess\" }\n");
    assert_eq!(Workload::resolve(workload.to_str().unwrap(), &none()).unwrap().pacing, Pacing::Closed { depth: 3 });
}

#[test]
fn addresses_that_look_like_bytes_are_remarked() {
    let folder = Folder::new("bytes");
    let remark = "every address and size is a multiple of 512";
    let path = folder.file("t", "1 0 4096 512 1\n2 0 1024 4096 1\n");
    assert!(notes(&path, &microseconds()).contains(remark));
    let bytes = TraceOptions { unit: Some("bytes".parse().unwrap()), ..microseconds() };
    assert!(!notes(&path, &bytes).contains(remark));
    assert!(!notes(&folder.file("t", "1 0 4096 512 1\n2 0 1024 8 1\n"), &microseconds()).contains(remark));
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        if name.ends_with('/') {
            header.set_entry_type(tar::EntryType::Directory);
        }
        header.set_cksum();
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn a_trace_may_be_alone_in_a_tar_archive() {
    let folder = Folder::new("tar");
    let lines = "1538323200,8,8,1,1063\n1538323201,16,1,0,1063\n";
    let expected = [write(0, 8, 8), read(SECOND, 16, 1)];
    let one = archive(&[("traces/", b""), ("traces/hour", lines.as_bytes())]);
    for (name, content) in
        [("t.tar", one.clone()), ("t.tgz", crate::support::gzip_bytes(&one)), ("t.tar.zst", crate::support::zstd_bytes(&one))]
    {
        let path = folder.file(name, content);
        assert_eq!(play(&path, &none()).unwrap(), expected, "{name}");
        assert!(notes(&path, &none()).contains("in a tar archive, as traces/hour"));
    }
    // Faults name the file in the archive and the line in that file.
    let faulty = archive(&[("hour", format!("{lines}1538323202,0,0,1,1\n").as_bytes())]);
    let text = message(play(&folder.file("f.tar", faulty), &none()), &folder);
    assert!(text.starts_with("f.tar (hour), line 3, column 3 (Size): found `0`"), "{text}");
    let two = archive(&[("a", lines.as_bytes()), ("b", lines.as_bytes())]);
    let text = message(play(&folder.file("two.tar", two), &none()), &folder);
    assert_eq!(
        text,
        "two.tar (a): the tar archive holds several files, a and b among them; take the trace out of it, or make an archive of it alone"
    );
    let text = message(play(&folder.file("none.tar", archive(&[("empty/", b"")])), &none()), &folder);
    assert!(text.contains("a tar archive without a file in it"), "{text}");
    // Cut off at the end of a line, as samples are.
    let mut cut = one[..1024 + lines.len()].to_vec();
    cut[512 + 124..512 + 136].copy_from_slice(b"00000001000\0");
    let sum: u32 = cut[512..1024].iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) }).sum();
    cut[512 + 148..512 + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let path = folder.file("cut.tar", cut);
    assert_eq!(play(&path, &none()).unwrap(), expected);
    assert!(notes(&path, &none()).contains("the archive is cut off: 467 of the 512 bytes"), "{}", notes(&path, &none()));
}

#[test]
fn nul_bytes_at_the_end_are_skipped_and_said() {
    let folder = Folder::new("nul");
    let lines = "0,8,4096,w,0.5\n0,16,512,R,0.75\n";
    let path = folder.file("t", [lines.as_bytes(), &vec![0; 200_000]].concat());
    assert_eq!(play(&path, &none()).unwrap().len(), 2);
    assert!(notes(&path, &none()).contains("200,000 NUL bytes after the last line are skipped"));
    let text = message(play(&folder.file("t", [lines.as_bytes(), &vec![0; 200_000], lines.as_bytes()].concat()), &none()), &folder);
    assert!(text.starts_with("t: 2 of its 5 lines are faulty:\n  line 3: found 200,000 NUL bytes, expected text\n"), "{text}");
    assert!(matches!(Trace::open(&folder.file("t", [0; 9]), &none()), Err(WorkloadError::Binary { line: 1, .. })));
}

#[test]
fn names_of_columns_before_the_first_request_are_skipped_and_said() {
    let folder = Folder::new("headers");
    for (lines, options, latency_us) in [
        (
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166391024154329,prxy,0,Write,4096,1024,1510\n",
            none(),
            Some(151),
        ),
        ("Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.000806000,W,0,4096,1024\n", none(), Some(806)),
        ("device_id,opcode,offset,length,timestamp\n419,W,4096,1024,1577808000000046\n", none(), None),
        ("time device lba size op\n1 0 8 2 0\n", microseconds(), None),
    ] {
        let path = folder.file("t", lines);
        let latency_ns = latency_us.map(|latency_us| latency_us * US);
        assert_eq!(play(&path, &options).unwrap(), [Arrival { latency_ns, ..write(0, 8, 2) }], "{lines}");
        assert!(notes(&path, &options).contains("not played: 1 header line"), "{lines}");
        // Anywhere else they are faults.
        let path = folder.file("t", lines.lines().rev().collect::<Vec<_>>().join("\n"));
        assert!(message(play(&path, &options), &folder).starts_with("t, line 2, column "), "{lines}");
    }
}

#[test]
fn any_delimited_text_is_read_by_its_columns() {
    let folder = Folder::new("columns");
    let trace = folder.file("t", "timestamp,op,lba,len\n100,R,4096,8192\n1100,W,409600,512\n");
    let columns = |columns: &str| TraceOptions { columns: Some(columns.parse().unwrap()), ..none() };
    let expected = [read(0, 8, 16), write(MS, 800, 1)];
    let proposal = message(play(&trace, &none()), &folder);
    assert!(
        proposal
            .contains("`timestamp,op,lba,len`; --columns time:us,op,lba:bytes,len:bytes reads it where addresses and sizes are in bytes"),
        "{proposal}"
    );
    assert_eq!(play(&trace, &columns("time:us,op,lba:bytes,len:bytes")).unwrap(), expected);
    assert!(notes(&trace, &columns("time:us,op,lba:bytes,len:bytes")).contains("1 header line"));
    let by_options = TraceOptions { time_unit: Some(TimeUnit::Microseconds), unit: Some(AddressUnit::Bytes), ..columns("time,op,lba,len") };
    assert_eq!(play(&trace, &by_options).unwrap(), expected);
    assert_eq!(play(&trace, &columns("op=op,time=timestamp:us,lba=3:bytes,len=len:bytes")).unwrap(), expected);
    // What is left open is asked for, with what it would come to.
    let text = message(play(&trace, &columns("time,op,lba,len")), &folder);
    for part in [
        "t: the unit of its times and of its addresses and sizes is not stated",
        "as --columns time:us,op,lba:bytes,len:bytes does, or `columns = \"time:us,op,lba:bytes,len:bytes\"` in t.toml beside the trace",
        "of its 2 requests:",
        "times in ms: it would last 1.00 s at 1.000 requests per second",
        "addresses in bytes: it would reach 400.5 KiB in requests of 4.2 KiB on average",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = message(play(&trace, &columns("time:us,op,lba,len:bytes")), &folder);
    assert!(text.contains("the unit of its addresses and sizes is not stated") && !text.contains("times in"), "{text}");
    // Without times, in closed loop.
    let untimed = folder.file("u", "R 8 8\nW 16 8\n");
    let order = columns("op,lba:sectors,len:sectors");
    assert!(message(play(&untimed, &order), &folder).contains("has no times"));
    assert_eq!(play(&untimed, &TraceOptions { queue_depth: Some(1), ..order }).unwrap(), [read(0, 8, 8), write(0, 16, 8)]);
    for (options, expected) in [
        (TraceOptions { format: Some("msr".into()), ..columns("time:us,op,lba:bytes,len:bytes") }, "exclude each other"),
        (
            TraceOptions { format: Some("columns".into()), ..none() },
            "is read by --columns, which says what each column is, as in time:us,op,lba:sectors,len:bytes",
        ),
        (TraceOptions { time_unit: Some(TimeUnit::Seconds), ..columns("time:us,op,lba:bytes,len:bytes") }, "contradicts the columns"),
        (TraceOptions { unit: Some(AddressUnit::Bytes), ..columns("time:us,op,lba:bytes,len:bytes") }, "has nothing to say beside"),
    ] {
        let text = message(play(&trace, &options), &folder);
        assert!(text.contains(expected), "{text}");
    }
    // The sidecar file says it once; a faulty mapping is a fault of that file.
    folder.file("t.toml", "columns = { value = \"time:us,op,lba:bytes,len:bytes\", source = \"its author\" }\n");
    assert_eq!(play(&trace, &none()).unwrap(), expected);
    folder.file("t.toml", "columns = \"time:us,op\"\n");
    assert!(message(play(&trace, &none()), &folder).contains("t.toml:1: `columns`"), "{}", message(play(&trace, &none()), &folder));
}

#[test]
fn options_apply_to_traces_only() {
    for options in [
        TraceOptions { queue_depth: Some(1), ..none() },
        TraceOptions { reorder_ms: Some(1), ..none() },
        TraceOptions { event: Some(Event::Queued), ..none() },
    ] {
        let error = Workload::resolve("zipf", &options).unwrap_err().to_string();
        assert!(error.contains("apply to traces, the queue depth to traces and stand-ins, and this workload is none"), "{error}");
    }
}

proptest! {
    #![proptest_config(cases(64))]

    /// Whatever the disorder: either every request comes in the order of its time, or the first line that is too late is named.
    #[test]
    fn order_is_restored_or_the_late_line_is_named(
        times in proptest::collection::vec(0_u64..100, 1..80), late_ms in 0_u64..100,
    ) {
        let folder = Folder::new("any-order");
        let mut text = String::new();
        for (line, time) in times.iter().enumerate() {
            text += &format!("0,R,{},512,{}\n", line * 512, time * 1_000);
        }
        let path = folder.file("t", text);
        let played = play(&path, &TraceOptions { reorder_ms: Some(late_ms), ..none() });
        let mut latest = 0;
        let is_late: Vec<bool> = times.iter().map(|time| {
            latest = latest.max(*time);
            latest - time > late_ms
        }).collect();
        match is_late.iter().position(|late| *late) {
            Some(index) => {
                let text = message(played, &folder);
                let count = is_late.iter().filter(|late| **late).count();
                if count == 1 {
                    prop_assert!(text.starts_with(&format!("t, line {}, column 5 (timestamp)", index + 1)), "{}", text);
                } else {
                    prop_assert!(text.starts_with(&format!("t: {count} of its {} lines are faulty:\n  line {} (", times.len(), index + 1)), "{}", text);
                }
            }
            None => {
                let mut expected: Vec<(u64, u64)> = times.iter().zip(0..).map(|(time, line)| (*time, line)).collect();
                expected.sort_unstable();
                let start = expected[0].0;
                let found: Vec<(u64, u64)> = played.unwrap().iter().map(|arrival| (arrival.at / MS + start, arrival.command.sector)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    /// Through all of reading: formats are found or not, lines are late or not, devices are there or not.
    #[test]
    fn damaged_texts_are_played_or_refused(
        which in 0_usize..10, repeat in 1_usize..20, edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let folder = Folder::new("damaged-texts");
        let texts = texts();
        let mut bytes = texts[which % texts.len()].1.repeat(repeat).into_bytes();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let path = folder.file("t", bytes);
        if let Ok(workload) = Workload::resolve(path.to_str().unwrap(), &none()) {
            let mut source = workload.source(0, &SourceContext { logical_sectors: u64::MAX, ..DRIVE }, None).unwrap();
            let mut arrivals = Vec::new();
            while source.fill(&mut arrivals, 32).unwrap() > 0 {}
            prop_assert_eq!(Some(arrivals.len() as u64), workload.request_count_hint());
            prop_assert!(arrivals.is_sorted_by_key(|arrival| arrival.at));
            prop_assert!(arrivals.iter().all(|arrival| arrival.command.sectors > 0));
        }
    }

    #[test]
    fn damaged_archives_are_played_or_refused(at in 0_usize..3_000, byte in any::<u8>(), cut in 0_usize..3_000) {
        let folder = Folder::new("damaged-archive");
        let lines: String = (0..40).map(|time| format!("0,{},512,w,0.{time:02}\n", time * 37 % 101)).collect();
        let mut bytes = archive(&[("d/", b""), ("d/t", lines.as_bytes())]);
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(cut);
        let _ = play(&folder.file("t", bytes), &none());
    }

    #[test]
    fn damaged_records_are_played_or_refused(at in 0_usize..400, byte in any::<u8>(), cut in 0_usize..400) {
        let folder = Folder::new("damaged-records");
        let mut bytes: Vec<u8> = (0..10_u8).flat_map(|record| {
            let mut bytes = [0; 40];
            bytes[..12].copy_from_slice(&[0x28, 0, 0, 2, record, 0, 0, 0, 0, 16, 0, 0]);
            bytes[24] = record;
            bytes
        }).collect();
        bytes[at] = byte;
        bytes.truncate(cut);
        let path = folder.file("t", bytes);
        for options in [none(), TraceOptions { format: Some("vscsi2".into()), ..none() }] {
            if let Ok(workload) = Workload::resolve(path.to_str().unwrap(), &options) {
                let mut source = workload.source(0, &SourceContext { logical_sectors: u64::MAX, ..DRIVE }, None).unwrap();
                let mut arrivals = Vec::new();
                while source.fill(&mut arrivals, 32).unwrap() > 0 {}
                prop_assert_eq!(Some(arrivals.len() as u64), workload.request_count_hint());
            }
        }
    }
}
