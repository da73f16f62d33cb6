//! Texts that are no traces, or not yet: what they are is named, and what helps is what reads them.

use crate::support::{Folder, message, options, play, read, took, write};
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::{MS, US};
use tinytail_workload::{Arrival, Event, SkipFaulty, TimeUnit, Trace, TraceOptions};

fn none() -> TraceOptions {
    options(None)
}

fn columns(columns: &str) -> TraceOptions {
    TraceOptions { columns: Some(columns.parse().unwrap()), ..none() }
}

fn event(event: Event) -> TraceOptions {
    TraceOptions { event: Some(event), ..none() }
}

fn trim(at: u64, sector: u64, sectors: u32) -> Arrival {
    Arrival { command: Command { kind: CommandKind::Trim, ..read(0, sector, sectors).command }, ..read(at, sector, sectors) }
}

#[test]
fn zone_appends_go_where_their_completions_say() {
    let folder = Folder::new("appends");
    let mut text = String::new();
    for (number, sector) in [1_048_576, 1_048_608, 1_048_640].into_iter().enumerate() {
        let line = |at: usize, event: &str, sector: u32, end: &str| {
            format!("  259,0    1  {at}     0.000{at}00000   100  {event}  ZAS {sector} + 32 [{end}]\n")
        };
        text += &line(2 * number, "D", 1_048_576, "fio");
        text += &line(2 * number + 1, "C", sector, "0");
    }
    let path = folder.file("append.txt", &text);
    let expected = [(0, 1_048_576), (200, 1_048_608), (400, 1_048_640)].map(|(at, sector)| took(100 * US, write(at * US, sector, 32)));
    assert_eq!(play(&path, &none()).unwrap(), expected);
    let info = Trace::open(&path, &none()).unwrap().info().unwrap();
    assert!(info.findings.is_empty());
    assert_eq!((info.characteristics.footprint_mib * 1024.0, info.characteristics.overwrite_percent), (48.0, 0.0));
    // Without completions, the place is the start of the zone, and that is a finding.
    let issued: String = text.lines().filter(|line| line.contains(" D ")).map(|line| format!("{line}\n")).collect();
    let path = folder.file("issued.txt", issued);
    assert_eq!(play(&path, &none()).unwrap(), [0, 200, 400].map(|at| write(at * US, 1_048_576, 32)));
    let info = Trace::open(&path, &none()).unwrap().info().unwrap();
    let (code, message) = info.findings.iter().map(|finding| (finding.code, finding.message.as_str())).next_back().unwrap();
    assert_eq!(code, "appends_without_place");
    assert!(message.starts_with("of 3 requests, 3 zone appends have no completion, which says where an append went"), "{message}");
    // The kernel's events say the same.
    let events = text
        .lines()
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>())
        .map(|words| {
            let name = if words[5] == "D" { "block_rq_issue: 259,0 ZAS 16384 ()" } else { "block_rq_complete: 259,0 ZAS ()" };
            format!("x-1 [001] ..... {}: {name} {} + 32 {}\n", words[3], words[7], words[10])
        })
        .collect::<String>();
    assert_eq!(play(&folder.file("events.txt", events), &none()).unwrap(), expected);
}

#[test]
fn the_option_that_takes_the_other_events_is_named() {
    let folder = Folder::new("other-events");
    let bios = "# tracer: nop\n fio-2101 [000] ..... 1500.000100: block_bio_queue: 259,0 R 2048 + 8 [fio]\n\
                fio-2101 [000] ..... 1500.000300: block_bio_queue: 259,0 WS 4096 + 32 [fio]\n\
                <idle>-0 [000] d.h1. 1500.000330: block_bio_complete: 259,0 R 2048 + 8 [0]\n\
                fio-2101 [000] ..... 1500.000500: block_bio_queue: 259,0 R 8192 + 8 [fio]\n";
    let path = folder.file("bios", bios);
    let text = message(play(&path, &none()), &folder);
    assert!(text.ends_with("3 Q events and 1 other block event. `--event Q` takes the Q events for requests"), "{text}");
    let expected = [read(0, 2048, 8), write(200 * US, 4096, 32), read(400 * US, 8192, 8)];
    assert_eq!(play(&path, &event(Event::Queued)).unwrap(), expected);
    let queued = "9,0 1 1 0.000000000 100 Q R 2048 + 8 [fio]\n9,0 1 2 0.000100000 100 Q WS 4096 + 8 [fio]\n9,0 1 3 0.000200000 100 C R 2048 + 8 [0]\n";
    let path = folder.file("queued", queued);
    let text = message(play(&path, &none()), &folder);
    assert!(text.ends_with("`--event Q` takes the Q events for requests"), "{text}");
    assert_eq!(play(&path, &event(Event::Queued)).unwrap().len(), 2);
    // Of two kinds, that nearer to the drive is named, also in place of one that was asked for.
    let inserted = folder.file("inserted", queued.replacen(" Q ", " I ", 1));
    assert!(message(play(&inserted, &none()), &folder).ends_with("`--event I` takes the I event for a request"));
    let issued = folder.file("issued", queued.replace(" Q ", " D "));
    assert!(message(play(&issued, &event(Event::Queued)), &folder).ends_with("`--event D` takes the D events for requests"));
    // Commands of NVMe do not say how large a block is.
    let nvme = "# tracer: nop\nfio-1 [000] ..... 1.5: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=1, nsid=1, flags=0x0, meta=0x0, \
                cmd=(nvme_cmd_read slba=256, len=7, ctrl=0x0, dsmgmt=0, reftag=0)\n";
    let text = message(play(&folder.file("nvme", nvme), &none()), &folder);
    assert!(text.contains("there are 1 comment line and 1 NVMe command. An NVMe command counts blocks"), "{text}");
    assert!(text.ends_with("A recording of block:block_rq_issue and block:block_rq_complete needs neither"), "{text}");
    assert_eq!(
        play(&folder.file("nvme.csv", "1.5,nvme0n1,read,256,7\n"), &columns("time:s,device,op,lba:blocks:4096,nlb:blocks:4096")).unwrap(),
        [read(0, 2048, 64)]
    );
}

#[test]
fn no_remedy_leaves_out_all_requests() {
    let folder = Folder::new("all-faulty");
    let letters = folder.file("letters", "0.0 0 2048 8 W\n1.5 0 4096 8 R\n");
    let microseconds = TraceOptions { time_unit: Some(TimeUnit::Microseconds), ..none() };
    let text = message(play(&letters, &microseconds), &folder);
    assert!(text.starts_with("letters: 2 of its 2 lines are faulty") && !text.contains("--skip-faulty"), "{text}");
    assert!(text.contains("line 1 (`0.0 0 2048 8 W`), column 5") && text.contains("found `W` (elsewhere `R`)"), "{text}");
    let skipping = TraceOptions { skip_faulty: Some(SkipFaulty::Lines(2)), ..microseconds.clone() };
    assert!(!message(play(&letters, &skipping), &folder).contains("--skip-faulty"));
    let ops = TraceOptions { ops: Some("write=W,read=R".parse().unwrap()), ..microseconds.clone() };
    assert_eq!(play(&letters, &ops).unwrap(), [write(0, 2048, 8), read(1_500, 4096, 8)]);
    // With a request that is right, so many lines may be left out.
    let one_right = folder.file("right", "0.0 0 2048 8 W\n1.5 0 4096 8 0\n");
    let text = message(play(&one_right, &microseconds), &folder);
    assert!(text.ends_with("`--skip-faulty 1` leaves this line out"), "{text}");
    let skipping = TraceOptions { skip_faulty: Some(SkipFaulty::Lines(1)), ..microseconds };
    assert_eq!(play(&one_right, &skipping).unwrap(), [write(0, 4096, 8)]);
    // A flush is no request.
    let flush = folder.file("flush.log", "fio version 3 iolog\n1 /dev/sdb sync\n2 /dev/sdb read 0 0\n");
    assert!(!message(play(&flush, &none()), &folder).contains("--skip-faulty"));
}

#[test]
fn a_log_of_fio_whose_name_does_not_tell_its_kind_is_doubted() {
    let folder = Folder::new("fio-logs");
    let lines = "0, 99390, 0, 4096, 503808, 0\n7, 540, 1, 4096, 6209536, 0\n";
    let notes = |name: &str| Trace::open(&folder.file(name, lines), &none()).unwrap().notes().join("\n");
    let note =
        "its values are taken for latencies in ns, and its name does not tell that they are: fio's logs of bandwidth (NAME_bw.1.log)";
    assert!(
        notes("bandwidth.txt").contains(note) && !notes("issue_clat.1.log").contains("does not tell") && !notes("a_lat.log").contains(note)
    );
}

#[test]
fn nbdkit_s_log_is_read() {
    let folder = Folder::new("nbdkit");
    let at = |ms: &str| format!("2024-03-05 10:00:00.{ms}");
    let text = [
        format!("{} ListExports id=1 readonly=0 tls=0 ...", at("000100")),
        format!("{} connection=1 Connect export=\"\" tls=0 size=0x40000000 write=1 flush=1 ...", at("000150")),
        format!("{} connection=1 Write id=1 offset=0x100000 count=0x200000 ...", at("001000")),
        format!("{} connection=1 ...Write id=1 return=0 (Success)", at("003500")),
        format!("{} connection=1 Read id=2 offset=0x200000 count=0x100000 ...", at("004000")),
        format!("{} connection=1 ...Read id=2 return=0 (Success)", at("004900")),
        format!("{} connection=1 Flush id=3 ...", at("005000")),
        format!("{} connection=1 ...Flush id=3 return=0 (Success)", at("006000")),
        format!("{} connection=1 Trim id=4 offset=0x0 count=0x80000 fua=0 ...", at("007000")),
        format!("{} connection=1 ...Trim id=4 return=0 (Success)", at("007100")),
        format!("{} connection=1 Disconnect transactions=4", at("008000")),
    ]
    .join("\n");
    let path = folder.file("disk.log", text);
    let expected =
        [took(2_500 * US, write(0, 2048, 4096)), took(900 * US, read(3 * MS, 4096, 2048)), took(100 * US, trim(6 * MS, 0, 1024))];
    assert_eq!(play(&path, &none()).unwrap(), expected);
}

#[test]
fn lttng_s_events_are_read() {
    let folder = Folder::new("lttng");
    let text = "[11:02:33.100000100] (+?.?????????) host1 block_rq_issue: { cpu_id = 0 }, { dev = 271581184, sector = 2048, nr_sector = 8, \
                bytes = 4096, tid = 812, rwbs = 2, _cmd_length = 0, cmd = [ ], comm = \"fio\" }\n\
                [11:02:33.100090100] (+0.000090000) host1 block_rq_complete: { cpu_id = 0 }, { dev = 271581184, sector = 2048, nr_sector = 8, \
                error = 0, rwbs = 2 }\n\
                [11:02:33.100200100] (+0.000110000) host1 block_rq_issue: { cpu_id = 1 }, { dev = 271581184, sector = 4096, nr_sector = 64, \
                bytes = 32768, tid = 812, rwbs = 1, _cmd_length = 0, cmd = [ ], comm = \"fio\" }\n";
    let path = folder.file("babel.txt", text);
    assert_eq!(play(&path, &none()).unwrap(), [took(90 * US, trim(0, 2048, 8)), write(200 * US, 4096, 64)]);
    // Behind midnight comes the next day.
    let late = folder.file("late", text.replace("11:02:33.1002", "00:00:00.0002").replace("11:02:33", "23:59:59"));
    assert_eq!(play(&late, &none()).unwrap()[1].at, 900_200 * US);
}

#[test]
fn what_has_no_addresses_is_named_with_the_line_that_tells_it() {
    let folder = Folder::new("no-addresses");
    for (name, text, expected) in [
        (
            "bt.txt",
            "Attaching 4 probes...\nTIME(ms)     COMM             PID    LAT(ms)\n611          bash             4179        10\n",
            "bt.txt, line 2, `TIME(ms)     COMM             PID    LAT(ms)`: this is the table of bpftrace's biosnoop: it has no addresses",
        ),
        (
            "ibm.csv",
            "# timestamp (ms), op type [Put:0, Get:1, Delete:2, Head: 3, Copy: 4], object id, object size (byte)\n0,1,4101,8371\n103,1,4102,31\n",
            "ibm.csv, line 1, `# timestamp (ms), op type [Put:0, Get:1, Delete:2, Head: 3, ...`: this is a trace of an object store: objects have \
             no addresses on a drive, so that no option can help",
        ),
        (
            "r.json",
            "{\"fio version\": \"fio-3.33\", \"jobs\": [{\"read\": {\"iops\": 1200.5}}]}",
            "r.json: this is fio's results in JSON; it has no requests",
        ),
        (
            "log",
            "level=info op=read size=4096\nlevel=info op=write size=4096\n",
            "log: this is a log of keys and values; the line that is most like a request has the keys `level`, `op` and `size`, and none of them \
             names an address",
        ),
        (
            "names.csv",
            "time_us,op,size\n1,R,4096\n",
            "names.csv: no known trace format fits its first line, `time_us,op,size`; its columns are",
        ),
        (
            "words",
            "hello world\n",
            "words: no known trace format fits its first line, `hello world`; a request has an operation, an address and a size, and this line has no three columns",
        ),
    ] {
        let text = message(play(&folder.file(name, text), &none()), &folder);
        assert!(text.starts_with(expected) && !text.contains("nearest"), "{text}");
    }
}
