//! Opening and playing trace files: formats, units, compression, and what is said about every kind of fault.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::support::{DRIVE, Folder, cases, gzip, message, microseconds, options, play, play_on, read, took, write, zstd};
use proptest::prelude::*;
use tinytail_core::units::{MS, SECOND, US};
use tinytail_workload::{Arrival, Pacing, Reading, SourceContext, TimeUnit, Trace, TraceOptions, Workload, WorkloadError};

const LINES: &str = "100 0 8 16 1\n1100 0 800 1 0\n1100 0 24 8 1\n";

#[test]
fn a_trace_starts_at_time_0() {
    let folder = Folder::new("starts");
    let trace = folder.file("t", LINES);
    assert_eq!(play(&trace, &microseconds()).unwrap(), [read(0, 8, 16), write(MS, 800, 1), read(MS, 24, 8)]);
    assert_eq!(play(&trace, &options(Some(TimeUnit::Milliseconds))).unwrap()[1].at, SECOND);
}

#[test]
fn blank_lines_and_foreign_line_ends_do_not_matter() {
    let folder = Folder::new("blank");
    let plain = play(&folder.file("t", LINES), &microseconds()).unwrap();
    let odd = format!("\n  \n{}\n\n", LINES.trim_end().replace('\n', "\r\n"));
    assert_eq!(play(&folder.file("odd", odd), &microseconds()).unwrap(), plain);
}

#[test]
fn compression_is_found_from_the_content() {
    let folder = Folder::new("compression");
    let plain = play(&folder.file("plain.zst", LINES), &microseconds()).unwrap();
    for (name, content, compression) in [("a", zstd(LINES), "zstd"), ("b", gzip(LINES), "gzip")] {
        let path = folder.file(name, content);
        assert_eq!(play(&path, &microseconds()).unwrap(), plain);
        let trace = Trace::open(&path, &microseconds()).unwrap();
        assert!(trace.notes().iter().any(|note| note.contains(compression)), "{:?}", trace.notes());
    }
    // Two compressed files put together are one.
    let both = [zstd(LINES), zstd("2000 0 0 1 1\n")].concat();
    assert_eq!(play(&folder.file("both", both), &microseconds()).unwrap().len(), 4);
}

#[test]
fn files_in_several_pieces_are_one_trace() {
    let folder = Folder::new("pieces");
    let plain = play(&folder.file("plain", LINES), &microseconds()).unwrap();
    let (first, second) = LINES.split_at(LINES.find("1100 0 24").unwrap());
    // pzstd puts a frame before each of its own that says how long that is and is to be skipped.
    let frame = |text: &str| {
        let frame = zstd(text);
        [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0][..], &(frame.len() as u32).to_le_bytes(), &frame].concat()
    };
    for (name, content) in [
        ("pzstd", [frame(first), frame(second)].concat()),
        ("zstd", [zstd(first), zstd(second)].concat()),
        ("gzip", [gzip(first), gzip(second)].concat()),
    ] {
        assert_eq!(play(&folder.file(name, content), &microseconds()).unwrap(), plain, "{name}");
    }
}

#[test]
fn a_trace_that_changes_is_no_trace_any_more() {
    let folder = Folder::new("changes");
    let trace = folder.file("t", LINES);
    let opened = || Workload::resolve(trace.to_str().unwrap(), &microseconds()).unwrap();
    let check = |workload: &Workload, expected: &str| {
        let mut arrivals = Vec::new();
        let played = workload.source(0, &DRIVE, None).and_then(|mut source| source.fill(&mut arrivals, 32));
        for message in [message(played, &folder), message(workload.check_unchanged(), &folder)] {
            assert!(message.starts_with("t: it changed while it was read: ") && message.contains(expected), "{message}");
        }
    };
    let workload = opened();
    assert_eq!(workload.check_unchanged(), Ok(()));
    std::fs::write(&trace, format!("{LINES}1200 0 8 8 1\n")).unwrap();
    check(&workload, "it had 42 bytes and has 55");
    let workload = opened();
    std::fs::rename(folder.file("other", LINES), &trace).unwrap();
    check(&workload, "another file has its name");
    // In the middle of a pass.
    let workload = opened();
    let mut source = workload.source(0, &DRIVE, None).unwrap();
    let mut arrivals = Vec::new();
    assert_eq!(source.fill(&mut arrivals, 1), Ok(1));
    std::fs::OpenOptions::new().append(true).open(&trace).unwrap().write_all(b"1 0 8\n").unwrap();
    assert!(message(source.fill(&mut arrivals, 32), &folder).contains("it had 42 bytes and has 48"));
}

#[test]
fn all_that_share_what_they_have_seen_read_the_same() {
    let folder = Folder::new("same");
    let trace = folder.file("t", LINES);
    let reading = Reading::default();
    let open = |reading: &Reading| Trace::open_watched(&trace, &microseconds(), reading).map(|trace| trace.requests());
    assert_eq!(open(&reading), Ok(3));
    std::fs::write(&trace, "0 0 8 8 1\n").unwrap();
    let beside = Reading { seen: Arc::clone(&reading.seen), ..Reading::default() };
    assert!(message(open(&beside), &folder).contains("it had 42 bytes and has 10"));
    assert_eq!(open(&Reading::default()), Ok(1));
}

#[test]
fn what_can_be_read_only_once_is_no_trace() {
    let folder = Folder::new("once");
    for (path, expected) in [("/dev/zero", "this is a device; expected a trace file"), ("/", "this is a folder; expected a trace file")] {
        assert!(message(Trace::open(Path::new(path), &microseconds()), &folder).contains(expected));
    }
    let gone = message(Workload::resolve("-", &microseconds()), &folder);
    assert!(gone.starts_with("standard input: what came from it is gone"), "{gone}");
}

#[test]
fn reading_ends_when_it_is_asked_to() {
    let folder = Folder::new("ends");
    let trace = folder.file("t.zst", zstd(LINES));
    let reading = Reading::default();
    let opened = Trace::open_watched(&trace, &microseconds(), &reading).unwrap();
    assert_eq!(reading.watch.read_bytes(), reading.watch.file_bytes());
    reading.watch.cancel();
    assert_eq!(opened.info().unwrap_err(), WorkloadError::Interrupted);
    assert_eq!(Trace::open_watched(&trace, &microseconds(), &reading).unwrap_err(), WorkloadError::Interrupted);
}

#[test]
fn the_format_is_found_and_everything_assumed_is_said() {
    let folder = Folder::new("notes");
    let workload = Workload::resolve(folder.file("t", LINES).to_str().unwrap(), &microseconds()).unwrap();
    assert_eq!(workload.pacing, Pacing::Open);
    let notes = workload.notes.join("\n");
    for part in ["format ascii, found from the content", "times in us, given", "sectors", "write=0,read=1, the format's custom"] {
        assert!(notes.contains(part), "{part} in {notes}");
    }
    let msr = folder.file("m", "128166391024154329,prxy,0,Write,4096,1024,1514\n128166391024154339,prxy,0,Read,512,512,9\n");
    assert_eq!(play(&msr, &options(None)).unwrap(), [took(151_400, write(0, 8, 2)), took(900, read(US, 1, 1))]);
}

#[test]
fn a_missing_time_unit_is_asked_for_with_what_each_would_mean() {
    let folder = Folder::new("unit");
    let mut lines = String::new();
    for request in 0..=1000_u64 {
        lines += &format!("{} 0 8 8 1\n", 7_000_000 + request * 2_000);
    }
    let message = message(play(&folder.file("t.zst", zstd(&lines)), &options(None)), &folder);
    for part in [
        "t.zst: the unit of its times is not stated",
        "--time-unit",
        "`time_unit = \"...\"` in t.zst.toml",
        "1,001 requests",
        "ns: it would last 2.00 ms at 500,000 requests per second",
        "us: it would last 2.00 s at 500 requests per second",
        "ms: it would last 2000.0 s at 0.500 requests per second",
        "s: it would last 23.1 days at 0.001 requests per second",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[test]
fn a_sidecar_file_states_what_the_trace_does_not() {
    let folder = Folder::new("sidecar");
    let trace = folder.file("t.zst", zstd("0 3 512 4096 R\n5 3 0 512 W\n"));
    let sidecar = folder
        .file("t.toml", "time_unit = { value = \"ms\", source = \"asked its author\" }\nops = \"write=W,read=R\"\nunit = \"bytes\"\n");
    assert_eq!(play(&trace, &options(None)).unwrap(), [read(0, 1, 8), write(5 * MS, 0, 1)]);
    // What is given as an option goes before.
    assert_eq!(play(&trace, &microseconds()).unwrap()[1].at, 5 * US);
    std::fs::write(sidecar, "time_unit = \"ms\"\n\ntime_units = \"ms\"\n").unwrap();
    let text = message(play(&trace, &options(None)), &folder);
    assert!(text.contains("t.toml:3: `time_units` is unknown"), "{text}");
    assert!(text.contains("did you mean `time_unit`?"), "{text}");
    folder.file("t.toml", "time_unit = \"msec\"\n");
    let text = message(play(&trace, &options(None)), &folder);
    assert!(text.contains("t.toml:1: `time_unit` is \"msec\"; allowed: ns, 100ns, us, ms, s"), "{text}");
    folder.file("t.toml", "\nfile = \"x\"\n");
    let text = message(play(&trace, &options(None)), &folder);
    assert!(text.contains("t.toml:2: `file` does not belong"), "{text}");
}

#[test]
fn faulty_lines_are_named() {
    let folder = Folder::new("faulty");
    for (line, expected) in [
        ("1 0 8 8 x", "t, line 3, column 5 (op): found `x`, expected an operation code, write=0,read=1"),
        ("1 0 8 8", "t, line 3, column 5 (op): found the end of the line, expected 5 columns"),
        ("1 0 8 8 1 1", "t, line 3, column 6 (beyond the last): found `1`, expected the end of the line after 5 columns"),
        ("1 0 8 0 1", "t, line 3, column 4 (size): found `0`, expected a size of 1 or more sectors"),
        ("1 0 -8 8 1", "t, line 3, column 3 (address): found `-8`, expected a whole number, 0 or more"),
        ("0.5 0 8 8 1", "t, line 3, column 1 (time): found a time of 500 ns, expected no time before"),
        ("9999999999999999 0 8 8 1", "t, line 3, column 1 (time): found a time of 317.1 years, expected at most"),
        ("1 0 8 8 1\u{0}", "t, line 3: found a NUL byte, expected text; `--skip-faulty 1` leaves this line out"),
    ] {
        let trace = folder.file("t", format!("0 0 8 8 1\n1 0 8 8 1\n{line}\n"));
        let message = message(play(&trace, &microseconds()), &folder);
        assert!(message.starts_with(expected), "{message}");
    }
    let trace = folder.file("t", "5 0 8 8 1\n4 0 8 8 1\n");
    let text = message(play(&trace, &microseconds()), &folder);
    assert!(text.contains("found a time of 4,000 ns") && text.contains("5,000 ns"), "{text}");
}

#[test]
fn files_that_are_no_traces_are_refused() {
    let folder = Folder::new("no-traces");
    let check = |name: &str, content: &[u8], expected: &str| {
        let message = message(play(&folder.file(name, content), &microseconds()), &folder);
        assert!(message.contains(expected), "{expected} in {message}");
    };
    check("empty", b"", "empty: the file is empty");
    check("blank", b"\n \n", "blank: the file is empty");
    check("empty.zst", &zstd(""), "empty.zst: the file is empty");
    check("zeroes", &vec![0; 1 << 20], "zeroes, line 1: found a NUL byte, expected text");
    check("binary", b"\x01\x02\x01\x01\x00\x00", "binary, line 1: found a NUL byte, expected text");
    check(
        "latin",
        b"1 0 8 8 1\n\xe9t\xe9 0 8 8 1\n",
        "latin: this is text in another encoding than UTF-8; `iconv -f WINDOWS-1252 -t UTF-8 latin > latin.txt`",
    );
    check("long", &vec![b'1'; 1 << 20], "long, line 1: found a line longer than 65536 bytes");
    check(
        "spc",
        b"0,303567,3584,rw,0.000000\n",
        "spc: no known trace format fits its first line, `0,303567,3584,rw,0.000000`; a request has an operation, an address and a size. If three",
    );
    let many: String = (0..50_000).map(|time| format!("{time} 0 {} 8 1\n", time * 7919 % 100_000)).collect();
    for (name, whole, compression) in [("cut.zst", zstd(&many), "zstd"), ("cut.gz", gzip(&many), "gzip")] {
        check(name, &whole[..whole.len() / 2], &format!("the {compression} stream is truncated or damaged after line"));
    }
    let message = message(play(&folder.0, &microseconds()), &folder);
    assert!(message.contains("this is a folder"), "{message}");
}

#[test]
fn options_that_do_not_apply_are_refused() {
    let folder = Folder::new("options");
    let msr = folder.file("m", "128166391024154329,prxy,0,Write,4096,1024,1514\n");
    let check = |options: TraceOptions, expected: &str| {
        let message = message(play(&msr, &options), &folder);
        assert!(message.contains(expected), "{expected} in {message}");
    };
    check(microseconds(), "the time unit us (given as an option) contradicts the format msr, whose times are in 100ns");
    check(TraceOptions { ops: Some("write=0,read=1".parse().unwrap()), ..options(None) }, "do not apply to the format msr");
    check(TraceOptions { unit: Some("sectors".parse().unwrap()), ..options(None) }, "whose addresses are in bytes");
    check(TraceOptions { trace_device: Some(7.into()), ..options(None) }, "no request is to device 7; the trace's devices are 0");
    check(TraceOptions { format: Some("ascci".into()), ..options(None) }, "did you mean `ascii`?");
    check(TraceOptions { format: Some("ascii".into()), ..microseconds() }, "m, line 1, column 2 (device): found the end of the line");
    assert!(play(&msr, &options(Some(TimeUnit::HundredNanoseconds))).is_ok());
}

#[test]
fn devices_are_laid_side_by_side_or_one_is_chosen() {
    let folder = Folder::new("devices");
    let trace = folder.file("t", "7 4 100 10 1\n8 2 0 4096 0\n9 4 5000 1 1\n");
    // Device 2 ends at 2 MiB, where device 4 begins.
    // They are queues in their order.
    let of_4 = |arrival| Arrival { queue: 1, ..arrival };
    assert_eq!(play(&trace, &microseconds()).unwrap(), [of_4(read(0, 4196, 10)), write(US, 0, 4096), of_4(read(2 * US, 9096, 1))]);
    let workload = Workload::resolve(trace.to_str().unwrap(), &microseconds()).unwrap();
    assert!(workload.notes.iter().any(|note| note.starts_with("2 devices laid one after another")));
    assert_eq!(workload.end_sector(), Some(9097));

    let chosen = TraceOptions { trace_device: Some(2.into()), ..microseconds() };
    assert_eq!(play(&trace, &chosen).unwrap(), [write(0, 0, 4096)]);
    let single = folder.file("s", "7 4 100 10 1\n");
    assert_eq!(play(&single, &microseconds()).unwrap(), [read(0, 100, 10)]);
}

#[test]
fn a_request_beyond_the_drive_is_named() {
    let folder = Folder::new("beyond");
    let trace = folder.file("t", "1 0 0 8 1\n2 0 92 8 1\n3 0 93 8 1\n");
    let drive = |logical_sectors| SourceContext { logical_sectors, mapped_sectors: 0 };
    assert_eq!(play_on(&trace, &microseconds(), drive(101)).unwrap().len(), 3);
    let played = message(play_on(&trace, &microseconds(), drive(100)), &folder);
    assert_eq!(played, "t, line 3: the request ends at byte 51712, beyond the drive's 51200 bytes");
    let workload = Workload::resolve(trace.to_str().unwrap(), &microseconds()).unwrap();
    assert_eq!(workload.check_fits(101), Ok(()));
    let checked = message(workload.check_fits(100), &folder);
    assert_eq!(checked, format!("{played}; --fit fold folds such requests into it, --fit clip cuts them off"));
}

#[test]
fn a_trace_can_be_cut_and_played_again() {
    let folder = Folder::new("again");
    let workload = Workload::resolve(folder.file("t", LINES).to_str().unwrap(), &microseconds()).unwrap();
    assert_eq!(workload.request_count_hint(), Some(3));
    for (requests, expected) in [(None, 3), (Some(2), 2), (Some(0), 0), (Some(9), 3)] {
        let mut arrivals = Vec::new();
        let mut source = workload.source(1, &DRIVE, requests).unwrap();
        while source.fill(&mut arrivals, 2).unwrap() > 0 {}
        assert_eq!(arrivals.len(), expected);
        assert_eq!(source.fill(&mut arrivals, 2).unwrap(), 0);
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn any_bytes_are_played_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let folder = Folder::new("any-bytes");
        let _ = play(&folder.file("t", bytes), &microseconds());
    }

    #[test]
    fn damaged_streams_are_played_or_refused(at in 0_usize..200, byte in any::<u8>(), gz in any::<bool>()) {
        let folder = Folder::new("damaged");
        let lines: String = (0..200).map(|time| format!("{time} 0 {} 8 1\n", time * 37 % 101)).collect();
        let mut bytes = if gz { gzip(&lines) } else { zstd(&lines) };
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = play(&folder.file("t", bytes), &microseconds());
    }

    #[test]
    fn plain_and_compressed_are_the_same(
        lines in proptest::collection::vec((0_u64..1000, 0_u64..1 << 20, 1_u32..1000, any::<bool>()), 1..200),
    ) {
        let folder = Folder::new("same");
        let mut time = 0;
        let mut text = String::new();
        let mut expected = Vec::new();
        for (gap, sector, sectors, is_read) in lines {
            // The first request's gap is where the recorded clock starts.
            time += gap;
            text += &format!("{time} 0 {sector} {sectors} {}\n", u8::from(is_read));
            expected.push(if is_read { read(time, sector, sectors) } else { write(time, sector, sectors) });
        }
        let start = expected[0].at;
        expected.iter_mut().for_each(|arrival| arrival.at = (arrival.at - start) * US);
        prop_assert_eq!(&play(&folder.file("p", &text), &microseconds()).unwrap(), &expected);
        prop_assert_eq!(&play(&folder.file("z", zstd(&text)), &microseconds()).unwrap(), &expected);
        prop_assert_eq!(&play(&folder.file("g", gzip(&text)), &microseconds()).unwrap(), &expected);
    }
}

#[test]
fn a_byte_order_mark_is_skipped_and_noted() {
    let folder = Folder::new("byte-order-mark");
    let plain = folder.file("plain.trace", "100 0 8 8 1\n200 0 16 8 0\n");
    let marked = folder.file("marked.trace", "\u{feff}100 0 8 8 1\n200 0 16 8 0\n");
    assert_eq!(play(&marked, &microseconds()).unwrap(), play(&plain, &microseconds()).unwrap());
    let notes = |path: &Path| Trace::open(path, &microseconds()).unwrap().notes().join("\n");
    assert!(notes(&marked).contains("byte-order mark"), "{}", notes(&marked));
    assert!(!notes(&plain).contains("byte-order mark"));
    let only = folder.file("only.trace", "\u{feff}\n");
    assert!(matches!(Trace::open(&only, &microseconds()), Err(WorkloadError::Empty { .. })));
}

#[test]
fn times_of_day_are_read_and_pass_midnight() {
    let folder = Folder::new("clock");
    let by = |columns: &str, reorder_ms| TraceOptions { columns: Some(columns.parse().unwrap()), reorder_ms, ..TraceOptions::default() };
    let columns = |time: &str| format!("{time},op,lba:sectors,len:sectors");
    let path = folder.file("t", "23:59:59.9,R,8,8\n00:00:00.1,W,16,8\n00:00:00.200000,R,8,8\n");
    let expected = [read(0, 8, 8), write(200 * MS, 16, 8), read(300 * MS, 8, 8)];
    for time in ["time:clock", "time"] {
        assert_eq!(play(&path, &by(&columns(time), None)).unwrap(), expected, "{time}");
    }
    for time in ["time:us", "time:iso8601"] {
        let refused = message(play(&path, &by(&columns(time), None)), &folder);
        assert!(refused.contains("this one is a time of day, whose unit is called clock (--time-unit, or time:clock)"), "{refused}");
    }
    // The unit that a format leaves open may be it, too.
    let ascii = folder.file("t", "23:59:59.9 0 8 8 1\n00:00:00.1 0 16 8 0\n00:00:00.2 0 8 8 1\n");
    assert_eq!(play(&ascii, &options(Some(TimeUnit::Clock))).unwrap(), expected);
    // A line that is late behind midnight is no day ahead.
    let late = folder.file("t", "23:59:59.9,R,8,8\n00:00:00.2,R,8,8\n23:59:59.95,W,16,8\n00:00:00.3,W,0,8\n");
    let refused = message(play(&late, &by(&columns("time:clock"), None)), &folder);
    assert!(refused.contains("line 3, column 1 (time)") && refused.contains("time must not go backwards"), "{refused}");
    let expected = [read(0, 8, 8), write(50 * MS, 16, 8), read(300 * MS, 8, 8), write(400 * MS, 0, 8)];
    assert_eq!(play(&late, &by(&columns("time:clock"), Some(250))).unwrap(), expected);
}
