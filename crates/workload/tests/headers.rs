//! Header lines held against the formats that the other lines have: what a header line says is read so, or asked about.

use proptest::prelude::*;
use proptest::sample::select;
use tinytail_workload::{Trace, TraceOptions};

use crate::support::{Folder, by, cases, message, microseconds, options, play, proposed};

fn none() -> TraceOptions {
    options(None)
}

/// The names of the columns of each format as its publisher has them and as others write them, over a line of it.
#[rustfmt::skip]
const AGREEING: [(&str, &str, &[&str]); 10] = [
    ("msr", "128166391024154329,prxy,0,Write,4096,1024,1514", &[
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
        "timestamp,hostname,disk_number,type,offset,size,response_time",
        "TIMESTAMP, HOST, DISK, OP, OFFSET, LENGTH, LATENCY",
        "ts_100ns,server,disk_id,io_type,offset_bytes,size_bytes,latency_100ns",
        "\"filetime\",\"host\",\"volume\",\"rw\",\"ByteOffset\",\"SizeBytes\",\"ResponseTime\"",
    ]),
    ("spc", "0,8,4096,w,0.5", &[
        "ASU,LBA,Size,Opcode,Timestamp", "asu,lba,size_bytes,opcode,time_s", "Device,Sector,Bytes,RW,Seconds", "asu,lba,size,op,ts,queue",
    ]),
    ("alibaba", "3,W,4096,4096,1577808000000046", &[
        "device_id,opcode,offset,length,timestamp", "Device,Op,Offset,Size,Timestamp(us)", "volume,operation,offset_bytes,length_bytes,time_us",
    ]),
    ("tencent", "1538323200,8,8,1,1063", &[
        "Timestamp,Offset,Size,IOType,VolumeID", "timestamp,offset,size,io_type,volume_id", "time_s,sector,sectors,is_write,volume",
    ]),
    ("systor", "10.000001000,0.1,W,0,4096,4096", &[
        "Timestamp,Response,IOType,LUN,Offset,Size", "time_s,latency_s,op,lun,offset_bytes,size_bytes", "# ts, response, rw, lun, offset, size",
    ]),
    ("fiu", "7000 1 nfsd 8 8 W 6 0 ab", &[
        "time pid process sector sectors op major minor md5", "ts_ns pid process lba size op major minor md5",
    ]),
    ("wiscsee", "1 D write 4096 4096 0.000001 0 True", &[
        "pid event op offset size time pre_wait sync", "pid event operation offset size timestamp pre_wait sync",
    ]),
    ("flashnet", "0.000,9,0,4096,4096,0.1,4096", &[
        "time,latency,op,size,offset,submitted,done", "ts_record,latency,io_type,size,offset,ts_submit,size_after_replay",
        "time_ms,latency_us,is_read,size_bytes,offset_bytes,submit_ms,done",
    ]),
    ("fio-lat", "7, 4279897, 0, 4096, 8192, 0", &[
        "time, value, direction, block size, offset, priority", "time_ms, latency_ns, ddir, bs, offset, prio", "time, lat, op, size, offset, prio, issue_time",
    ]),
    ("ascii", "1 0 8 2 0", &[
        "time device address size op", "time_us devno blkno bcount flags", "time (us) dev lba (sectors) size (sectors) is_read",
        "Request_Arrival_Time Device_Number Starting_Logical_Sector_Address Request_Size_In_Sectors Type_of_Requests",
        "#time\tdevice\tlba\tlen\trw", "# recorded on my own disk", "# a sentence of more words than columns about sizes and times",
    ]),
];

#[test]
fn header_lines_that_agree_are_skipped() {
    let folder = Folder::new("agreeing-headers");
    for (format, line, headers) in AGREEING {
        let options = if format == "ascii" { microseconds() } else { none() };
        let expected = play(&folder.file("t", line), &options).unwrap();
        for header in headers {
            let path = folder.file("t", format!("{header}\n{line}\n"));
            assert_eq!(play(&path, &options), Ok(expected.clone()), "{header}");
            let trace = Trace::open(&path, &options).unwrap();
            assert_eq!(trace.format(), format, "{header}");
            // A comment may be a sentence.
            let line = if header.starts_with("# ") && format == "ascii" { "comment line" } else { "header line" };
            assert!(trace.notes().contains(&format!("not played: 1 {line}")), "{header}: {:?}", trace.notes());
        }
        // Its own names leave nothing open.
        let path = folder.file("t", format!("{}\n{line}\n", headers[0]));
        assert!(!Trace::open(&path, &options).unwrap().notes().join("\n").contains("header line leaves open"), "{format}");
    }
}

/// A header line, a line of a format that it contradicts, the message, and the mapping that is proposed.
#[rustfmt::skip]
const CONTRADICTING: [(&str, &str, &str, &str); 25] = [
    ("time_s,latency_us,op,lun,offset_bytes,size_bytes", "0.010,90,W,0,8192,4096", "column 2, `latency_us`, is in us, and Response of systor in s",
     "time:s,latency:us,op,device,lba:bytes,len:bytes"),
    ("time_s,queue_depth,op,lun,offset_bytes,size_bytes", "0.010,4,W,0,8192,4096", "column 2, `queue_depth`, is where systor has Response",
     "time:s,_,op,device,lba:bytes,len:bytes"),
    ("filetime,host,disk,op,offset_bytes,size_bytes,resp_ms", "1,h,0,Read,0,512,9", "column 7, `resp_ms`, is in ms, and ResponseTime of msr in 100ns",
     "time:100ns,_,device,op,lba:bytes,len:bytes,latency:ms"),
    ("time_us, latency_us, is_read, size_bytes, offset_bytes, queue", "7, 90, 1, 4096, 8192, 0", "in column 3, `is_read`, 1 is a read, and in direction of \
      fio-lat 0 is", "time:us,latency:us,op,len:bytes,lba:bytes --ops write=0,read=1"),
    ("time_us,lba,sectors,is_read,device", "100,4096,8,0,0",
     "column 1, `time_us`, is in us, and Timestamp of tencent in s; in column 4, `is_read`, 1 is a read, and in IOType of tencent 0 is",
     "time:us,lba:sectors,len:sectors,op,device --ops write=0,read=1"),
    ("time,latency_us,op,offset,size,queue", "0.010,90,W,8192,4096,1",
     "column 4, `offset`, is where systor has LUN; column 5, `size`, is where systor has Offset; column 6, `queue`, is where systor has Size",
     "time:s,latency:us,op,lba:bytes,len:bytes"),
    ("volume,op,offset_sectors,length_sectors,time_ms", "0,W,4096,8,100",
     "column 3, `offset_sectors`, is in sectors, and offset of alibaba in bytes; column 4, `length_sectors`, is in sectors, and length of \
      alibaba in bytes; column 5, `time_ms`, is in ms, and timestamp of alibaba in us",
     "device,op,lba:sectors,len:sectors,time:ms"),
    ("device,op,lba,nblocks,ts", "0,W,4096,8,100", "column 3, `lba`, is in blocks, and offset of alibaba in bytes", "device,op,lba:sectors,len:sectors,time:us"),
    ("device,rw,OffsetKiB,SizeKiB,Timestamp", "0,W,4096,8,100", "column 3, `OffsetKiB`, is in kib", "device,op,lba:kib,len:kib,time:us"),
    ("pid,op,offset,length,timestamp", "7,W,4096,8192,100", "column 1, `pid`, is where alibaba has device_id", "_,op,lba:bytes,len:bytes,time:us"),
    ("time_us,op,offset,length,device", "7,W,4096,8192,1", "column 1, `time_us`, is where alibaba has device_id", "time:us,op,lba:bytes,len:bytes,device"),
    ("tenant,op,offset_bytes,len_bytes,time_ns", "7,W,4096,8192,1", "column 5, `time_ns`, is in ns", "device,op,lba:bytes,len:bytes,time:ns"),
    ("Timestamp(ns),Offset(bytes),Size(bytes),Write,VM Disk", "7,4096,8192,1,1", "column 2, `Offset(bytes)`, is in bytes",
     "time:ns,lba:bytes,len:bytes,op,device --ops write=1,read=0"),
    ("time_s,size_sectors,lba_sectors,is_write,disk", "7,8,4096,1,1", "column 2, `size_sectors`, is where tencent has Offset",
     "time:s,len:sectors,lba:sectors,op,device --ops write=1,read=0"),
    ("time,offset_sectors,sectors,op(0=write),volume", "7,8,4096,1,1", "in column 4, `op(0=write)`, 1 is a read",
     "time:us,lba:sectors,len:sectors,op,device --ops write=0,read=1"),
    ("timestamp_us,host,disk,op,offset_bytes,size_bytes,latency_us", "1,h,0,Read,0,512,9", "column 1, `timestamp_us`, is in us",
     "time:us,_,device,op,lba:bytes,len:bytes,latency:us"),
    ("filetime,host,disk,op,lba_512,size_kb,latency", "1,h,0,Read,0,1,9", "column 5, `lba_512`, is in sectors",
     "time:100ns,_,device,op,lba:sectors,len:kib"),
    ("lun,offset_bytes,bytes,rw,seconds", "0,4096,512,w,0.5", "column 2, `offset_bytes`, is in bytes", "device,lba:bytes,len:bytes,op,time:s"),
    ("asu,lba,blocks,op,time_s", "0,8,16,w,0.5", "column 3, `blocks`, is in blocks, and Size of spc in bytes", "device,lba:sectors,len:sectors,op,time:s"),
    ("time_ms,latency_us,is_write,size_bytes,offset_bytes,submit,done", "0.0,9,0,4096,4096,0.1,4096",
     "in column 3, `is_write`, 0 is a read, and in op of flashnet 1 is", "time:ms,latency:us,op,len:bytes,lba:bytes --ops write=1,read=0"),
    ("time_us,latency_us,is_read,offset_bytes,size_bytes,queue,cpu", "0.0,9,0,4096,4096,0.1,4096", "column 4, `offset_bytes`, is where flashnet has size",
     "time:us,latency:us,op,lba:bytes,len:bytes --ops write=0,read=1"),
    ("time_ms dev offset_bytes size_bytes rw", "1 0 4096 512 0", "column 3, `offset_bytes`, is in bytes, and address of ascii in sectors",
     "time:ms,device,lba:bytes,len:bytes,op --ops write=0,read=1"),
    ("time_ms is_write dev offset_sectors size_sectors", "1 0 1 8 1", "column 2, `is_write`, is where ascii has device",
     "time:ms,op,device,lba:sectors,len:sectors --ops write=1,read=0"),
    ("time_us pid process lba nblocks op major minor md5", "7000 1 nfsd 8 8 W 6 0 ab", "`major` (column 7) and `minor` (column 8) could each be its device",
     "time=1:us,op=6,lba=4:sectors,len=5:sectors,device=DEVICE"),
    ("pid event op lba sectors time_us pre_wait sync", "1 D write 4096 4096 7 0 True", "column 4, `lba`, is in blocks, and offset of wiscsee in bytes",
     "_,keep:D,op,lba:sectors,len:sectors,time:us"),
];

#[test]
fn header_lines_that_contradict_are_asked_about() {
    let folder = Folder::new("contradicting-headers");
    for (header, line, said, typed) in CONTRADICTING.into_iter() {
        let path = folder.file("t", format!("{header}\n{line}\n"));
        let text = message(play(&path, &none()), &folder);
        assert!(text.starts_with("t: the header line contradicts the format `") && text.contains(said), "{text}");
        assert_eq!(proposed(&text).unwrap_or_default(), typed, "{text}");
        // What is asked for is put there first.
        if !typed.contains("DEVICE") {
            play(&path, &by(typed)).unwrap();
        }
        // Who says that the header line is wrong is believed.
        let format = text.split("--format ").nth(1).unwrap().split(' ').next().unwrap();
        let given = TraceOptions {
            format: Some(format.into()),
            time_unit: (format == "ascii").then_some(tinytail_workload::TimeUnit::Seconds),
            ..none()
        };
        let notes = Trace::open(&path, &given).unwrap().notes().join("\n");
        assert!(notes.contains(&format!("header line contradicts the format {format}, which was given")), "{notes}");
    }
}

/// What a column of a generated trace truly is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Truth {
    Time,
    Op,
    Lba,
    Len,
    Device,
    Other,
}

/// A format, what its columns are, and the units and codes that it has; its lines can be written with other columns in its place.
struct Shape {
    format: &'static str,
    separator: &'static str,
    columns: &'static [Truth],
    time: &'static str,
    lba: &'static str,
    len: &'static str,
    /// The words for a read and a write.
    ops: (&'static str, &'static str),
}

#[rustfmt::skip]
const SHAPES: [Shape; 6] = {
    use Truth::{Device, Lba, Len, Op, Other, Time};
    [
        Shape { format: "tencent", separator: ",", columns: &[Time, Lba, Len, Op, Device], time: "s", lba: "sectors", len: "sectors", ops: ("0", "1") },
        Shape { format: "alibaba", separator: ",", columns: &[Device, Op, Lba, Len, Time], time: "us", lba: "bytes", len: "bytes", ops: ("R", "W") },
        Shape { format: "systor", separator: ",", columns: &[Time, Other, Op, Device, Lba, Len], time: "s", lba: "bytes", len: "bytes", ops: ("R", "W") },
        Shape { format: "spc", separator: ",", columns: &[Device, Lba, Len, Op, Time], time: "s", lba: "sectors", len: "bytes", ops: ("R", "W") },
        Shape { format: "flashnet", separator: ",", columns: &[Time, Other, Op, Len, Lba, Other, Other], time: "ms", lba: "bytes", len: "bytes", ops: ("1", "0") },
        Shape { format: "ascii", separator: " ", columns: &[Time, Device, Lba, Len, Op], time: "us", lba: "sectors", len: "sectors", ops: ("1", "0") },
    ]
};

/// A unit, and how a name says it; the first says nothing.
const TIMES: [(&str, &[&str]); 5] =
    [("", &[""]), ("ns", &["ns", "nsec"]), ("us", &["us", "usec", "microseconds"]), ("ms", &["ms", "msec"]), ("s", &["sec", "seconds"])];
const SPACES: [(&str, &[&str]); 4] = [("", &[""]), ("sectors", &["sectors", "512b"]), ("bytes", &["bytes"]), ("kib", &["kib", "KB"])];

fn name(
    names: &'static [&'static str],
    units: &'static [(&'static str, &'static [&'static str])],
) -> impl Strategy<Value = (String, &'static str)> {
    (select(names), select(units), any::<prop::sample::Index>(), 0..4).prop_map(|(name, (unit, said), which, style)| {
        let said = *which.get(said);
        let written = match style {
            _ if said.is_empty() => name.to_owned(),
            0 => format!("{name}_{said}"),
            1 => format!("{name}({said})"),
            2 => format!("{name}-in-{said}"),
            _ => format!("{name}{}{}", said[..1].to_uppercase(), &said[1..]),
        };
        (written, unit)
    })
}

/// How each column is called and in which unit: by [`Truth`], and which code reads where the name of the operation says it.
#[derive(Clone, Debug)]
struct Names {
    time: (String, &'static str),
    lba: (String, &'static str),
    len: (String, &'static str),
    op: (&'static str, Option<bool>),
    device: &'static str,
    others: Vec<&'static str>,
    upper: bool,
}

fn names() -> impl Strategy<Value = Names> {
    let op = [
        ("op", None),
        ("io_type", None),
        ("rw", None),
        ("is_read", Some(true)),
        ("isWrite", Some(false)),
        ("write", Some(false)),
        ("op(0=read)", Some(false)),
    ];
    let others = ["latency_us", "queue_depth", "pid", "stripe_index", "cpu", "complete_ns"];
    (
        name(&["time", "timestamp", "ts", "arrival", "issue_time"], &TIMES),
        name(&["offset", "address", "start_offset", "io_offset"], &SPACES),
        name(&["size", "len", "length", "req_size"], &SPACES),
        select(op.to_vec()),
        select(&["device", "disk_id", "Volume", "lun", "dev"][..]),
        Just(others.to_vec()).prop_shuffle(),
        any::<bool>(),
    )
        .prop_map(|(time, lba, len, op, device, others, upper)| Names { time, lba, len, op, device, others, upper })
}

proptest! {
    #![proptest_config(cases(400))]
    #[test]
    fn a_header_line_is_read_right_or_asked_about(
        shape in 0..SHAPES.len(),
        names in names(),
        order in Just((0..7_usize).collect::<Vec<_>>()).prop_shuffle(),
        own_order in any::<bool>(),
        numbers in proptest::collection::vec((0_u64..40, 0_u64..1000, 1_u64..64, any::<bool>()), 4),
    ) {
        let shape = &SHAPES[shape];
        // The operation stays where it is, so that the lines still look like the format's.
        let mut truths = shape.columns.to_vec();
        if !own_order {
            let free: Vec<usize> = (0..truths.len()).filter(|index| truths[*index] != Truth::Op).collect();
            let mut shuffled: Vec<usize> = order.iter().copied().filter(|index| free.contains(index)).collect();
            shuffled.truncate(free.len());
            let before = truths.clone();
            free.iter().zip(&shuffled).for_each(|(to, from)| truths[*to] = before[*from]);
        }
        let unit = |said: &'static str, own: &'static str| if said.is_empty() { own } else { said };
        let codes = shape.ops.0.parse::<u8>().is_ok();
        let (read, write) = match names.op.1 {
            Some(reads_1) if codes => if reads_1 { ("1", "0") } else { ("0", "1") },
            _ => shape.ops,
        };
        let mut others = names.others.iter();
        let (mut header, mut mapping) = (Vec::new(), Vec::new());
        for truth in &truths {
            let (name, part) = match truth {
                Truth::Time => (names.time.0.as_str(), format!("time:{}", unit(names.time.1, shape.time))),
                Truth::Lba => (names.lba.0.as_str(), format!("lba:{}", unit(names.lba.1, shape.lba))),
                Truth::Len => (names.len.0.as_str(), format!("len:{}", unit(names.len.1, shape.len))),
                // Letters say themselves what they are.
                Truth::Op => (if codes { names.op.0 } else { "op" }, "op".into()),
                Truth::Device => (names.device, "device".into()),
                Truth::Other => match *others.next().unwrap() {
                    name @ "latency_us" => (name, "latency:us".into()),
                    name => (name, "_".into()),
                },
            };
            header.push(if names.upper { name.to_uppercase() } else { name.to_owned() });
            mapping.push(part);
        }
        let mut time = 0;
        let lines: Vec<String> = numbers
            .iter()
            .enumerate()
            .map(|(row, (gap, lba, len, reads))| {
                time += gap;
                let field = |truth: &Truth| match truth {
                    Truth::Time => time.to_string(),
                    Truth::Op => if *reads { read } else { write }.into(),
                    Truth::Lba => (lba * 8).to_string(),
                    Truth::Len => (len * 8).to_string(),
                    // In the order in which their numbers are.
                    Truth::Device => (row / 2).to_string(),
                    Truth::Other => (900 + row).to_string(),
                };
                truths.iter().map(field).collect::<Vec<_>>().join(shape.separator)
            })
            .collect();
        let folder = Folder::new("generated-headers");
        let bare = folder.file("bare", lines.join("\n"));
        let expected = play(&bare, &by(&format!("{} --ops write={write},read={read}", mapping.join(",")))).unwrap();
        let path = folder.file("t", format!("{}\n{}\n", header.join(shape.separator), lines.join("\n")));
        // A format without a unit of time needs one from the options, unless the header line has it.
        let options = if shape.format == "ascii" && names.time.1.is_empty() { microseconds() } else { none() };
        match play(&path, &options) {
            Ok(found) => prop_assert_eq!(found, expected, "{:?}", header),
            Err(error) => {
                let text = error.to_string();
                let typed = proposed(&text).ok_or_else(|| TestCaseError::fail(text.clone()))?;
                let found = play(&path, &by(&typed)).unwrap();
                let units = (!names.time.1.is_empty() || shape.format == "ascii") && !names.lba.1.is_empty() && !names.len.1.is_empty();
                if units && (!codes || names.op.1.is_some()) {
                    prop_assert_eq!(found, expected, "{:?} {}", header, typed);
                } else {
                    // What the header line leaves open is an assumption, and said.
                    prop_assert!(text.contains(", if ") || text.contains(" where "), "{}", text);
                }
            }
        }
    }
}

#[test]
fn comments_decide_nothing() {
    let folder = Folder::new("comments");
    let (names, rows) = ("time_us|user|op|lba_sectors|sectors", "5|a|R|8|8\n7|b|W|16|8\n");
    let columns = "time:us,_,op,lba:sectors,len:sectors";
    let by_name = by("time=time_us:us,op=op,lba=lba_sectors:sectors,len=sectors:sectors");
    let misspelling = by("time=time_ms:us,op=op,lba=lba_sectors:sectors,len=sectors:sectors");
    let expected = play(&folder.file("t", rows), &by(columns)).unwrap();
    for comments in ["", "# a comment\n", "# a dump, of controller 0, in sectors, of 512 bytes, made today\n", "#\n# a, b, c\n#x;y;z\n"] {
        for mark in ["", "# ", "#"] {
            let path = folder.file("t", format!("{comments}{mark}{names}\n{rows}# a comment\n"));
            assert_eq!(play(&path, &by(columns)).as_ref(), Ok(&expected), "{comments}{mark}");
            assert_eq!(play(&path, &by_name).as_ref(), Ok(&expected), "{comments}{mark}");
            let refused = message(play(&path, &none()), &folder);
            assert_eq!(proposed(&refused).as_deref(), Some(columns), "{refused}");
            // What a message says of a name that is not there is said of the header line.
            let misspelt = message(play(&path, &misspelling), &folder);
            assert!(misspelt.contains("found the header time_us, user, op, lba_sectors, sectors"), "{misspelt}");
        }
        let path = folder.file("t", format!("{comments}{rows}"));
        assert_eq!(play(&path, &by(columns)).as_ref(), Ok(&expected), "{comments}");
    }
    let refused = message(play(&folder.file("t", "# a comment\n#\nx y\n"), &none()), &folder);
    assert!(refused.contains("no known trace format fits its line 3, `x y`"), "{refused}");
}

#[test]
fn decimal_commas_and_units_behind_numbers_are_read() {
    let folder = Folder::new("numbers");
    let path = folder.file("t", "0,5;R;8;8;12,5us;1,5;2,5\n1,75;W;16;8;1,5ms;1,5;2,5\n");
    let trace = play(&path, &by("time:ms,op,lba:sectors,len:sectors,latency:us")).unwrap();
    assert_eq!(trace.iter().map(|arrival| arrival.at).collect::<Vec<_>>(), [0, 1_250_000]);
    assert_eq!(trace.iter().map(|arrival| arrival.latency_ns).collect::<Vec<_>>(), [Some(12_500), Some(1_500_000)]);
}

#[test]
fn all_that_is_wrong_with_a_line_is_told() {
    let folder = Folder::new("faults");
    let rows = "1;R;8;8;5\nx;Lesen;8;8;5kb\n2;Lesen;8;0;5\ny;W;-8;8;5\n9;Leeren;;;\n";
    let refused = message(play(&folder.file("t", rows), &by("time:ms,op,lba:sectors,len:sectors,latency:us")), &folder);
    for expected in [
        "4 of its 5 lines are faulty",
        "line 2 (`x;Lesen;8;8;5kb`), column 1 (time): found `x` (elsewhere `y`), expected a time in ms, 0 or more, such as 12 or 12.5; 2 such lines",
        "column 2 (op): found `Lesen` (elsewhere `Leeren`)",
        "3 such lines",
        "column 5 (latency): found `5kb`",
        "line 4 (`y;W;-8;8;5`), column 3 (lba): found `-8`",
    ] {
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
    // What has no data may be a flush, so that nothing is said of its address and size.
    assert_eq!(refused.matches("\n  line ").count(), 4, "{refused}");
}

#[test]
fn sizes_that_count_otherwise_are_doubted() {
    let folder = Folder::new("nlb");
    let notes = |len: &str, sizes: &[u64]| {
        let rows: String = sizes.iter().map(|size| format!("1,R,8,{size}\n")).collect();
        let trace = Trace::open(&folder.file("t", rows), &by(&format!("time:us,op,lba:sectors,{len}"))).unwrap();
        trace.notes().iter().filter(|note| note.contains(" as if they were counted from ")).cloned().collect::<Vec<_>>()
    };
    let nine = [7, 15, 31, 7, 7, 7, 63, 7, 7];
    let found = notes("len:sectors", &[&nine[..], &[8]].concat());
    assert!(found[0].starts_with("9 of its 10 sizes are one less than a multiple of 8 sectors"), "{found:?}");
    assert!(found[0].ends_with("from 0, as in NVMe; nlb:sectors in --columns reads them so"), "{found:?}");
    let found = notes("nlb:sectors", &[8, 16, 32]);
    assert!(found[0].ends_with("from 1; len:sectors in --columns reads them so"), "{found:?}");
    for (len, sizes) in
        [("len:sectors", &[&nine[..], &[8, 8]].concat()[..]), ("len:sectors", &[8, 16]), ("nlb:sectors", &[7, 15]), ("len:bytes", &[7, 15])]
    {
        assert_eq!(notes(len, sizes), [""; 0], "{len} {sizes:?}");
    }
    let refused = message(play(&folder.file("t", "1,R,8,0\n"), &by("time:us,op,lba:sectors,len:sectors")), &folder);
    assert!(
        refused.contains("expected a size of 1 or more sectors; sizes that count from 0, as in NVMe, are nlb in place of len"),
        "{refused}"
    );
}

#[test]
fn units_that_a_header_line_says_otherwise_are_doubted() {
    let folder = Folder::new("units");
    let path = folder.file("t", "# a comment\nnr;t [ms];op;Block (4 KiB);size_kb;lat (us);sector\n0;1;R;8;8;5;8\n");
    let notes = |columns: &str| {
        let trace = Trace::open(&path, &by(columns)).unwrap();
        trace.notes().iter().filter(|note| note.starts_with("its header line says ")).cloned().collect::<Vec<_>>()
    };
    let said = |number, title, said, name, own| {
        format!(
            "its header line says that column {number}, `{title}`, is in {said}, and {name} is read in {own}; {name}:{said} reads it so"
        )
    };
    assert_eq!(notes("_,time:ms,op,lba:blocks:4096,len:kib,latency:us"), [""; 0]);
    // Blocks of a size that is not said may be anything, and sectors have another name.
    assert_eq!(notes("time=2:ms,op=3,lba=sector:blocks:512,len=5:kib"), [""; 0]);
    assert_eq!(
        notes("_,time:us,op,lba:sectors,len:bytes,latency:ms"),
        [
            said(2, "t [ms]", "ms", "time", "us"),
            said(4, "Block (4 KiB)", "blocks:4096", "lba", "sectors"),
            said(5, "size_kb", "kib", "len", "bytes"),
            said(6, "lat (us)", "us", "latency", "ms"),
        ]
    );
    assert_eq!(notes("time=2:ms,op=3,lba=sector:bytes,len=5:kib"), [said(7, "sector", "sectors", "lba", "bytes")]);
    let others = folder.file("t", "time;op;block;nblocks\n0;R;8;8\n");
    let trace = Trace::open(&others, &by("time:us,op,lba:blocks:4096,len:bytes")).unwrap();
    assert!(!trace.notes().iter().any(|note| note.starts_with("its header line ")), "{:?}", trace.notes());
}
