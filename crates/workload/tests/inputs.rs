//! Traces that people have at hand: several codes for one thing, faulty lines, dates, blocks, long times, and files of other kinds.

use crate::support::{DRIVE, Folder, bzip2, gzip, message, microseconds, options, play, read, took, write, xz, zstd};
use tinytail_core::units::{MS, Ns, SECOND, US};
use tinytail_workload::{Event, Room, SkipFaulty, TimeUnit, Trace, TraceOptions, Workload, WorkloadError};

fn none() -> TraceOptions {
    options(None)
}

fn columns(columns: &str, ops: Option<&str>) -> TraceOptions {
    TraceOptions { columns: Some(columns.parse().unwrap()), ops: ops.map(|ops| ops.parse().unwrap()), ..none() }
}

fn notes(path: &std::path::Path, options: &TraceOptions) -> String {
    Trace::open(path, options).unwrap().notes().join("\n")
}

#[test]
fn several_codes_mean_one_operation_and_some_are_left_out() {
    let folder = Folder::new("codes");
    let path = folder.file(
        "t",
        "version,time,op,size,lbn\n1,100,2a,4096,8\n1,101,28,512,16\n1,102,88,512,17\n1,103,35,512,0\n1,104,12,0,0\n1,105,12,0,0\n",
    );
    let said = columns("_,time:us,op,len:bytes,lba:sectors", Some("write=2a,8a,read=28,88,flush=35,ignore=12,1a"));
    assert_eq!(play(&path, &said).unwrap(), [write(0, 8, 8), read(US, 16, 1), read(2 * US, 17, 1)]);
    let notes = notes(&path, &said);
    assert!(notes.contains("operation codes write=2a,8a,read=28,88,flush=35,ignore=12,1a, given as an option"), "{notes}");
    assert!(notes.contains("not played: 1 header line, 1 flush and 2 requests whose operation is `12`"), "{notes}");
    // What is left out need not be said with reads and writes, where these are as usual.
    let usual = folder.file("u", "1 0 8 8 1\n2 0 16 8 5\n3 0 24 8 0\n");
    let ignoring = TraceOptions { ops: Some("ignore=5".parse().unwrap()), ..microseconds() };
    assert_eq!(play(&usual, &ignoring).unwrap(), [read(0, 8, 8), write(2 * US, 24, 8)]);
    let words = folder.file("w", "1,R,8,8\n2,get,16,8\n3,WS,24,8\n");
    let ignoring = columns("time:us,op,lba:sectors,len:sectors", Some("ignore=get"));
    assert_eq!(play(&words, &ignoring).unwrap(), [read(0, 8, 8), write(2 * US, 24, 8)]);
    // Codes that nobody named are told all at once.
    let text = message(play(&path, &columns("_,time:us,op,len:bytes,lba:sectors", Some("write=2a,read=28"))), &folder);
    assert!(text.contains("(elsewhere `35` and `12`)") && text.contains("ignore=3,4 leaves others out; 4 such lines"), "{text}");
}

#[test]
fn scsi_codes_are_known_and_others_asked_for() {
    let folder = Folder::new("scsi");
    let path = folder.file("t", "version,time,op,size,lbn\n1,100,2a,4096,2048\n1,101,28,4096,4096\n1,102,35,512,0\n");
    let text = message(play(&path, &none()), &folder);
    let proposed = "--columns _,time:us,op,len:bytes,lba:sectors --ops write=2a,8a,aa,0a,2e,8e,ae,read=28,88,a8,08,\
                    trim=42,flush=35,91 reads it, if its times are in us and its addresses are in sectors of 512 bytes and its sizes in bytes";
    assert!(text.contains(proposed), "{text}");
    let path = folder.file("t", "# block_id io_offset io_size op_time op_name pipeline\n10001 0 512 163.0 1 3\n10001 512 512 163.5 2 3\n");
    let text = message(play(&path, &none()), &folder);
    let asked = "`block_id` (column 1) and `io_offset` (column 2) could each be its lba; say which is by its number, in place of LBA: \
                 --columns time=4:s,op=5,lba=LBA:bytes,len=3:bytes --ops read=READS,write=WRITES reads it then, if its times are in s and its addresses \
                 and sizes are in bytes; for READS and WRITES the codes of its operations are to be put, such as `1` and `2`, as in --ops";
    assert!(text.contains(asked), "{text}");
    let typed = columns("time=4:s,op=5,lba=2:bytes,len=3:bytes", Some("read=1,write=2"));
    assert_eq!(play(&path, &typed).unwrap(), [read(0, 0, 1), write(SECOND / 2, 1, 1)]);
}

#[test]
fn linux_letters_are_understood_wherever_an_operation_stands() {
    let folder = Folder::new("letters");
    let text = "0.000002000 2048 8 WS\n0.000502000 4096 16 R\n0.001002000 65536 256 WSM\n0.001502000 65536 256 RSM\n0.002002000 1048576 2048 D\n\
                0.003002000 8192 8 WFSM\n0.003502000 0 0 FF\n0.003502000 0 0 FWS\n0.003502000 0 8 N\n";
    let path = folder.file("t", text);
    let asked = message(play(&path, &none()), &folder);
    let roles = "column 1 is its time, column 4 is its operation, column 2 is its address and column 3 is its size";
    assert!(asked.contains(&format!("--columns time:s,lba:sectors,len:sectors,op reads it, if {roles}, its times are in s")), "{asked}");
    let said = columns("time:s,lba:sectors,len:sectors,op", None);
    let played = play(&path, &said).unwrap();
    assert_eq!((played.len(), played[5]), (6, write(3 * MS, 8192, 8)));
    let notes = notes(&path, &said);
    assert!(notes.contains("not played: 2 flushes and 1 request other than reads and writes"), "{notes}");
}

#[test]
fn the_kernel_s_events_are_played_with_their_latencies() {
    let folder = Folder::new("events");
    let text = "# tracer: nop\n#\n    fio-789     [000] .....  4455.092003: block_rq_issue: 259,0 WS 4096 () 64 + 8 none,0,0 |8| [fio]\n\
                    fio-789     [000] .....  4455.092004: block_bio_queue: 259,0 R 128 + 8 [fio]\n\
                    fio-789     [000] .....  4455.092005: block_rq_issue: 259,0 R 4096 () 128 + 8 [fio]\n\
                 <idle>-0       [000] d.h1.  4455.092103: block_rq_complete: 259,0 WS () 64 + 8 none,0,0 [0]\n\
                 CPU:0 [LOST 3 EVENTS]\n";
    let path = folder.file("t", text);
    assert_eq!(play(&path, &none()).unwrap(), [took(100 * US, write(0, 64, 8)), read(2 * US, 128, 8)]);
    let queued = TraceOptions { event: Some(Event::Queued), ..none() };
    assert_eq!(play(&path, &queued).unwrap(), [read(0, 128, 8)]);
    let notes = notes(&path, &none());
    assert!(notes.contains("the recorder says that it lost 3 events"), "{notes}");
}

#[test]
fn the_table_of_biosnoop_is_played_from_issue_on() {
    let folder = Folder::new("biosnoop");
    let text = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
                0.000000    jbd2/sdb1-8    380    sdb     W 2406576    4096      0.20\n\
                0.000348    job 1          5689   sdb     W 9009528    4096      0.21\n\
                0.004578    ?              0              R 0          0         4.00\n";
    let played = play(&folder.file("t", text), &none()).unwrap();
    assert_eq!(played, [took(200 * US, write(0, 2_406_576, 8)), took(210 * US, write(338 * US, 9_009_528, 8))]);
}

#[test]
fn all_kinds_of_faults_are_told_at_once() {
    let folder = Folder::new("kinds");
    let mut text = String::new();
    for line in 0..100 {
        text += &match line {
            7 | 9 => format!("{line},R,8,0\n"),
            20 => format!("{line},X,8,8\n"),
            21 => format!("{line},Y,8,8\n"),
            30..=32 => format!("{},R,8,8\n", line - 20),
            40 => "half a l\n".into(),
            50 => format!("{line},R,8,8\u{0}\u{0}\n"),
            _ => format!("{line},R,8,8\n"),
        };
    }
    let path = folder.file("t", text);
    let said = |skip_faulty| TraceOptions { skip_faulty, ..columns("time:ms,op,lba:sectors,len:sectors", None) };
    let text = message(play(&path, &said(None)), &folder);
    let expected = [
        "t: 9 of its 100 lines are faulty:",
        "line 8 (`7,R,8,0`), column 4 (len): found `0`, expected a size of 1 or more sectors; sizes that count from 0, as in NVMe, are nlb in place of len; 2 such lines",
        "line 21 (`20,X,8,8`), column 2 (op): found `X` (elsewhere `Y`), expected a word for read, write",
        "line 31 (`10,R,8,8`), column 1 (time): found a time of 10,000,000 ns, expected no time before",
        "3 such lines",
        "line 41 (`half a l`), column 2 (op): found the end of the line",
        "line 51 (`50,R,8,8\\0\\0`): found a NUL byte, expected text",
        "`--skip-faulty 6` leaves the others out; `--reorder-ms 19` puts late ones in their places",
    ];
    for part in expected {
        assert!(text.contains(part), "{part} in {text}");
    }
    // The remedies work as they are typed.
    let skipping = said(Some(SkipFaulty::Lines(9)));
    assert_eq!(play(&path, &skipping).unwrap().len(), 91);
    let notes = notes(&path, &skipping);
    assert!(notes.contains("9 of 100 lines are faulty and left out, as --skip-faulty (9 lines) allows: line 8 (`7,R,8,0`)"), "{notes}");
    let reordering = TraceOptions { reorder_ms: Some(19), ..said(Some("6%".parse().unwrap())) };
    assert_eq!(play(&path, &reordering).unwrap().len(), 94);
    let text = message(play(&path, &said(Some(SkipFaulty::Lines(8)))), &folder);
    assert!(text.contains("puts late ones in their places; all are more than the 8 lines that may be left out"), "{text}");
}

#[test]
fn one_faulty_line_is_told_with_its_remedy() {
    let folder = Folder::new("one-fault");
    let path = folder.file("t", "128166372003061629,hm,1,Read,8192,0,1331\n128166372016382155,hm,1,Write,12288,4096,2326\n");
    let text = message(play(&path, &none()), &folder);
    assert_eq!(text, "t, line 1, column 6 (Size): found `0`, expected a size of 1 or more bytes; `--skip-faulty 1` leaves this line out");
    let skipping = |skip: &str| TraceOptions { skip_faulty: Some(skip.parse().unwrap()), ..none() };
    for skip in ["1", "50%"] {
        assert_eq!(play(&path, &skipping(skip)).unwrap(), [took(232_600, write(0, 24, 8))]);
    }
    assert!(message(play(&path, &skipping("49%")), &folder).contains("more than the 49% of the lines that may be left out"));
    // A sidecar file says it once.
    folder.file("t.toml", "skip_faulty = { value = \"50%\", source = \"seen\" }\n");
    assert!(play(&path, &none()).is_ok());
    // A file of another format is not made one by leaving out its lines.
    folder.file("t.toml", "");
    let text = message(play(&path, &TraceOptions { format: Some("alibaba".into()), ..none() }), &folder);
    assert!(text.contains("2 of its 2 lines are faulty"), "{text}");
    let path = folder.file("m", "1,2\n2,3\n3,4\n");
    let text = message(play(&path, &TraceOptions { format: Some("msr".into()), ..none() }), &folder);
    let all = TraceOptions { skip_faulty: Some("100%".parse().unwrap()), format: Some("msr".into()), ..none() };
    assert_eq!(message(play(&path, &all), &folder), text);
    assert!(text.contains("If it is not of the format msr, --format NAME names another") && !text.contains("--skip-faulty"), "{text}");
}

#[test]
fn faults_are_told_beside_units_that_are_missing() {
    let folder = Folder::new("besides");
    let path = folder.file("t", "1 0 8 8 1\n2 0 8 8 x\n3 0 8 8 1\n");
    let text = message(play(&path, &none()), &folder);
    for part in [
        "the unit of its times is not stated",
        "2 requests",
        "Besides, 1 of its 3 lines is faulty; --skip-faulty N",
        "line 2 (`2 0 8 8 x`)",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn addresses_may_count_blocks_of_any_size() {
    let folder = Folder::new("blocks");
    let path = folder.file("t", "timestamp,lba,size,operation\n0,10,1,W\n5,11,2,W\n9,10,1,R\n");
    let expected = [write(0, 80, 8), write(5 * US, 88, 16), read(9 * US, 80, 8)];
    let text = message(play(&path, &none()), &folder);
    assert!(text.contains("; blocks:4096 in place of sectors counts blocks of 4 KiB"), "{text}");
    assert_eq!(play(&path, &columns("time:us,lba:blocks:4096,len:blocks:4096,op", None)).unwrap(), expected);
    let by_name = columns("time=timestamp:us,lba=lba:blocks:4096,len=3:blocks:4096,op=operation", None);
    assert_eq!(play(&path, &by_name).unwrap(), expected);
    let unit = TraceOptions { unit: Some("blocks:4096".parse().unwrap()), ..columns("time:us,lba,len,op", None) };
    assert_eq!(play(&path, &unit).unwrap(), expected);
    let missing = message(play(&path, &columns("time:us,lba,len,op", None)), &folder);
    assert!(missing.contains("addresses in blocks:4096: it would reach 52.0 KiB in requests of 4.0 KiB on average"), "{missing}");
    let ascii = folder.file("a", "0 0 10 1 0\n");
    let unit = TraceOptions { unit: Some("blocks:4096".parse().unwrap()), ..microseconds() };
    assert_eq!(play(&ascii, &unit).unwrap(), [write(0, 80, 8)]);
    assert!(notes(&ascii, &unit).contains("addresses and sizes in blocks:4096, given as an option"));
    for (header, proposed) in [
        ("time_us,rw,lba_4k,len_4k", "--columns time:us,op,lba:blocks:4096,len:blocks:4096 reads it.\n"),
        (
            "time_us,rw,lpn,pages",
            "--columns time:us,op,lba:blocks:BYTES,len:blocks:BYTES reads it; the bytes of a page are to be put for BYTES, as in blocks:4096",
        ),
    ] {
        let text = message(play(&folder.file("h", format!("{header}\n1,R,0,1\n2,W,1,2\n")), &none()), &folder);
        assert!(text.contains(proposed), "{text}");
    }
}

#[test]
fn dates_are_times() {
    let folder = Folder::new("dates");
    let path = folder.file("t", "time,op,lba,len\n2024-05-31T23:59:59.5Z,R,8,8\n2024-06-01 02:00:00+02:00,W,16,8\n");
    let expected = [read(0, 8, 8), write(SECOND / 2, 16, 8)];
    let text = message(play(&path, &none()), &folder);
    assert!(text.contains("--columns time:iso8601,op,lba:sectors,len:sectors reads it, if its addresses"), "{text}");
    for mapping in ["time:iso8601,op,lba:sectors,len:sectors", "time,op,lba:sectors,len:sectors"] {
        assert_eq!(play(&path, &columns(mapping, None)).unwrap(), expected);
    }
    let text = message(play(&path, &columns("time:us,op,lba:sectors,len:sectors", None)), &folder);
    assert!(text.contains("this one is as in ISO 8601, whose unit is called iso8601 (--time-unit, or time:iso8601)"), "{text}");
    // A date may stand beside its time.
    let apart = folder.file("a", "2024-05-31 23:59:59.5 R 8 8\n2024-06-01 00:00:00 W 16 8\n");
    let text = message(play(&apart, &none()), &folder);
    assert!(text.contains("--columns time:iso8601,_,op,lba:sectors,len:sectors reads it"), "{text}");
    assert_eq!(play(&apart, &columns("time:iso8601,_,op,lba:sectors,len:sectors", None)).unwrap(), expected);
    let ascii = folder.file("d", "2024-05-31T23:59:59.5Z 0 8 8 1\n2024-06-01T00:00:00Z 0 16 8 0\n");
    assert_eq!(play(&ascii, &none()).unwrap(), expected);
    assert!(notes(&ascii, &none()).contains("times in iso8601, by their form"));
}

#[test]
fn a_file_that_was_cut_off_says_where_or_that_it_may_be() {
    let folder = Folder::new("cut");
    let text: String = (0..40).map(|at| format!("{},hm,0,Read,{},4096,1\n", 128_166_372_003_061_629_u64 + at, at * 4096)).collect();
    for (name, packed) in [("t.gz", gzip(&text)), ("t.zst", zstd(&text)), ("t.xz", xz(&text))] {
        let cut = message(play(&folder.file(name, &packed[..packed.len() * 2 / 5]), &none()), &folder);
        assert!(cut.contains("stream is cut off: the file ends before the stream does") && !cut.contains("beginning"), "{cut}");
    }
    // A line that is shorter than all others may be cut off within a number.
    let csv: String = (100..120).map(|at| format!("128166372003061{at},hm,0,Read,{},65536,1{at}\n", at * 512)).collect();
    let doubts = |text: &str| Trace::open(&folder.file("t", text), &none()).unwrap().info().unwrap().doubts.join("; ");
    assert_eq!(doubts(&csv), "");
    assert_eq!(doubts(csv.trim_end()), "");
    let said = doubts(&csv[..csv.len() - 2]);
    assert!(
        said.starts_with("its last line, line 20 (`128166372003061119,hm,0,Read,60928,65536,111`), has no end and is shorter"),
        "{said}"
    );
}

#[test]
fn well_known_files_say_what_they_are() {
    let folder = Folder::new("foreign");
    let check = |name: &str, content: &[u8], expected: &str| {
        let text = message(play(&folder.file(name, content), &none()), &folder).replace(&folder.0.display().to_string(), "");
        assert!(text.starts_with(expected), "{text}");
    };
    let event = [7, b't', b'a', b'e', 1, 0, 0, 0];
    check("sdb.blktrace.0", &event, "sdb.blktrace.0: this is a binary file of blktrace; `blkparse -i sdb > sdb.txt` writes it");
    check("p.zip", b"PK\x03\x04\x14\0\0\0", "p.zip: this is a zip archive; `unzip -p p.zip > p.zip.txt` takes");
    check(
        "x",
        &gzip("{\"time\": 1, \"op\": \"R\", \"lba\": 8, \"len\": 8}"),
        "x: this is JSON; `gzip -dc < x | jq -rn '[\"time\", \"op\", \"lba\", \"len\"], ",
    );
    check("y", &bzip2("PAR1 and more"), "y: this is a Parquet file; `python3 -c ");
    check("z", &xz("<!doctype html>\n<html>"), "z: this is a web page; what was to be downloaded is behind it");
    let line = "1 0 8 8 1\n";
    let wide = |bytes: fn(u16) -> [u8; 2]| line.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    check("u", &wide(u16::to_le_bytes), "u: this is text in UTF-16; `iconv -f UTF-16LE -t UTF-8 u > u.txt` writes it");
    check("v", &wide(u16::to_be_bytes), "v: this is text in UTF-16; `iconv -f UTF-16BE -t UTF-8 v > v.txt` writes it");
    let mark = [b"\xff\xfe\0\0".to_vec(), line.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect()].concat();
    check("w", &mark, "w: this is text in UTF-32; `iconv -f UTF-32 -t UTF-8 w > w.txt` writes it");
    for lines in [3, 10_000] {
        let text = line.replace('\n', "\r").repeat(lines);
        check("r", text.as_bytes(), r"r: this is text whose lines end in carriage returns; `tr '\r' '\n' < r > r.txt` ends them");
    }
    check("e", b"\x7fELF\x02\x01\x01\x00\x00", "e: this is a program; it holds no requests to a drive");
}

#[test]
fn long_traces_are_looked_into_and_a_run_says_what_helps() {
    let folder = Folder::new("long");
    let path = folder.file("t", "0,W,12288,4096,1577808000000046\n0,R,26703644672,4096,1577808000000626\n1,R,8192,512,1578808000000626\n0,W,12288,4096,1580486399000000\n");
    let trace = Trace::open(&path, &none()).unwrap();
    assert_eq!(trace.info().unwrap().characteristics.requests, 4);
    let day = |days: u64| days * 24 * 3600 * SECOND;
    let room = |run: Ns, whole: Option<Ns>| Room { run_ns: run, without_warm_up_ns: whole };
    let workload = Workload::resolve(path.to_str().unwrap(), &none()).unwrap();
    let check = |workload: &Workload, requests, room| workload.check_duration(1, requests, room);
    let WorkloadError::DoesNotFit { message, .. } = check(&workload, None, room(day(12), Some(day(25)))).unwrap_err() else { panic!() };
    for part in [
        "request 4 comes 31.0 days after the first, and a run, which plays them twice, the first time to warm up, holds 12.0 days",
        "`--scale-time 0.38` makes all of them come sooner",
        "`--requests 3` plays those before",
        "`--window-s 0 1036800` keeps a part",
        "`--queue-depth 1` plays them one after the other",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(!message.contains("--no-warm-up"), "{message}");
    assert!(
        check(&workload, None, room(day(20), Some(day(40))))
            .unwrap_err()
            .to_string()
            .contains("`--no-warm-up` plays them once, and they fit")
    );
    // Each remedy is one.
    assert_eq!(check(&workload, Some(3), room(day(12), None)), Ok(()));
    assert_eq!(check(&workload, None, room(day(32), None)), Ok(()));
    let transformed = |transform| workload.clone().transformed(&transform).unwrap();
    let of = |text: &str| serde_json::from_str(text).unwrap();
    for transform in ["{\"scale_time\": 0.38}", "{\"window_s\": [0.0, 1036800.0]}", "{\"busiest_s\": 1.0}"] {
        assert_eq!(check(&transformed(of(transform)), None, room(day(12), None)), Ok(()), "{transform}");
    }
    let twice = transformed(of("{\"scale_time\": 0.38, \"repeat\": 2}"));
    assert!(check(&twice, None, room(day(12), None)).is_err());
    assert_eq!(check(&twice, Some(4), room(day(12), None)), Ok(()));
    let closed = TraceOptions { queue_depth: Some(1), ..none() };
    assert_eq!(check(&Workload::resolve(path.to_str().unwrap(), &closed).unwrap(), None, room(1, None)), Ok(()));
    // What is read has no limit, until times mean nothing.
    let mut arrivals = Vec::new();
    assert_eq!(workload.source(1, &DRIVE, None).unwrap().fill(&mut arrivals, 9), Ok(4));
    let years = folder.file("y", "0 0 8 8 1\n99999999999 0 8 8 1\n");
    assert!(message_of(&years).contains("at most 106751.") || message_of(&years).contains("292"), "{}", message_of(&years));
}

fn message_of(path: &std::path::Path) -> String {
    Trace::open(path, &options(Some(TimeUnit::Seconds))).unwrap_err().to_string()
}

#[test]
fn a_unit_that_is_fixed_can_be_scaled() {
    let folder = Folder::new("scaled");
    let path = folder.file("t", "128166391024154329,prxy,0,Write,1105182720,1024,1514\n");
    let text = message(play(&path, &microseconds()), &folder);
    assert!(text.ends_with("leave it out. If the times of this file are in us all the same, `--scale-time 10` reads them so"), "{text}");
}
