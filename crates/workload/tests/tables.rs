//! Tables of requests as programs write them: quotation marks, lines before the header line, numbers in all forms, several lines for
//! one request, and columns that say something in another way.

use proptest::prelude::*;
use proptest::sample::select;
use tinytail_core::units::{MS, SECOND, US};
use tinytail_workload::{Arrival, SkipFaulty, Trace, TraceOptions};

use crate::support::{Folder, by, cases, message, options, play, proposed, read, took, write};

fn none() -> TraceOptions {
    options(None)
}

/// Read a table by the mapping that its refusal proposes. Return the requests and the refusal.
fn by_proposal(folder: &Folder, text: &str) -> (Vec<Arrival>, String) {
    let path = folder.file("t", text);
    let refused = message(play(&path, &none()), folder);
    let typed = proposed(&refused).unwrap_or_else(|| panic!("{refused}"));
    (play(&path, &by(&typed)).unwrap_or_else(|error| panic!("{typed}: {error}")), refused)
}

/// Tables, what is proposed for them, and the requests that they are then.
#[rustfmt::skip]
fn proposals() -> Vec<(&'static str, &'static str, Vec<Arrival>)> {
    vec![
        // Quotation marks keep what is in them together.
        ("time_us,op,sectors,lba\n0,R,\"1,024\",2048\n10,W,\"2,008\",4096\n20,R,\"1,016\",8192\n", "time:us,op,len:sectors,lba:sectors",
         vec![read(0, 2048, 1024), write(10 * US, 4096, 2008), read(20 * US, 8192, 1016)]),
        ("time_us,process,op,offset_bytes,size_bytes\n0,\"java\",R,1048576,4096\n10,\"dd, of=x\",W,2097152,8192\n", "time:us,_,op,lba:bytes,len:bytes",
         vec![read(0, 2048, 8), write(10 * US, 4096, 16)]),
        ("\"time_us\",\"disk\",\"op\",\"offset_bytes\",\"size_bytes\",\"queue\"\n\"0\",\"0\",\"R\",\"1048576\",\"4096\",\"1\"\n\"10\",\"0\",\"W\",\"2097152\",\"8192\",\"1\"\n",
         "time:us,device,op,lba:bytes,len:bytes", vec![read(0, 2048, 8), write(10 * US, 4096, 16)]),
        ("time_us,op,size,offset\n0,R,\"4,096\",\"1,048,576\"\n10,W,\"8,192\",\"2,097,152\"\n", "time:us,op,len:bytes,lba:bytes",
         vec![read(0, 2048, 8), write(10 * US, 4096, 16)]),
        ("time_us;op;note;lba_sectors;nr_sectors\n0;R;\"a; b\";2048;8\n10;W;\"a; b\";4096;16\n", "time:us,op,_,lba:sectors,len:sectors",
         vec![read(0, 2048, 8), write(10 * US, 4096, 16)]),
        ("Process,Path Name,IO Type,Size (B),Min Offset,Init Time (s),Complete Time (s),IO Time (\u{b5}s),Disk Service Time (\u{b5}s),Disk\n\
          a.exe (4),D:\\b.mdf,Read,\"8,192\",\"1,048,576\",0.000100000,0.000350000,250.000,240.100,1\n\
          a.exe (4),D:\\b.mdf,Write,\"65,536\",\"2,097,152\",0.000900000,0.001000000,100.000,99.000,1\n\
          a.exe (4),D:\\b.mdf,Read,\"8,192\",\"8,192\",0.002000000,0.002250000,250.000,240.100,1\n",
         "_,_,op,len:bytes,lba:bytes,time:s,_,_,latency:us,device",
         vec![took(240_100, read(0, 2048, 16)), took(99_000, write(800 * US, 4096, 128)), took(240_100, read(1_900 * US, 16, 16))]),
        // A line may be one of several events of a request, or none for the drive.
        ("time_s,event,op,lba_sectors,nr_sectors\n0.000000,block_rq_insert,R,2048,8\n0.000005,block_rq_issue,R,2048,8\n0.000095,block_rq_complete,R,2048,8\n\
          0.000100,block_rq_insert,W,4096,16\n0.000105,block_rq_issue,W,4096,16\n0.000195,block_rq_complete,W,4096,16\n",
         "time:s,keep:block_rq_issue,op,lba:sectors,len:sectors", vec![read(0, 2048, 8), write(100 * US, 4096, 16)]),
        ("time_us,phase,op,offset_bytes,length_bytes\n0,submit,R,4096,4096\n90,complete,R,4096,4096\n100,submit,W,8192,8192\n190,complete,W,8192,8192\n",
         "time:us,keep:submit,op,lba:bytes,len:bytes", vec![read(0, 8, 8), write(100 * US, 16, 16)]),
        ("timestamp,action,rwbs,sector,nr_sectors\n0.000000,Q,R,2048,8\n0.000005,D,R,2048,8\n0.000095,C,R,2048,8\n0.000100,Q,W,4096,16\n\
          0.000105,D,W,4096,16\n0.000195,C,W,4096,16\n", "time:s,keep:D,op,lba:sectors,len:sectors", vec![read(0, 2048, 8), write(100 * US, 4096, 16)]),
        ("time_us,cache_hit,op,offset_bytes,length_bytes\n0,1,R,4096,4096\n90,0,R,8192,4096\n100,1,W,8192,8192\n",
         "time:us,keep:0,op,lba:bytes,len:bytes", vec![read(0, 16, 8)]),
        ("time_us,result,op,offset_bytes,length_bytes\n0,SUCCESS,R,4096,4096\n90,FAILED,R,8192,4096\n100,SUCCESS,W,8192,8192\n",
         "time:us,keep:SUCCESS,op,lba:bytes,len:bytes", vec![read(0, 8, 8), write(100 * US, 16, 16)]),
        // The header line may stand behind others.
        ("volume trace exported 2024\ntime_us,lba,sectors,is_read,device\n0,2048,8,1,0\n100,4096,8,0,0\n250,8192,16,1,0\n",
         "time:us,lba:sectors,len:sectors,op,device --ops write=0,read=1", vec![read(0, 2048, 8), write(100 * US, 4096, 8), read(250 * US, 8192, 16)]),
        ("// time_us,lba,sectors,is_read,device\n0,2048,8,1,0\n100,4096,8,0,0\n", "time:us,lba:sectors,len:sectors,op,device --ops write=0,read=1",
         vec![read(0, 2048, 8), write(100 * US, 4096, 8)]),
        ("time_us,lba,sectors,is_read,device\n0,2048,8,1,0\n100,4096,8,0,0\ntime_us,lba,sectors,is_read,device\n250,8192,16,1,0\n",
         "time:us,lba:sectors,len:sectors,op,device --ops write=0,read=1", vec![read(0, 2048, 8), write(100 * US, 4096, 8), read(250 * US, 8192, 16)]),
        ("Tracing block I/O. Ctrl-C to end.\nSTARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n77.100000 77.100400 db 41 R 8,16 4096 4096 0.40\n\
          77.100200 77.101000 db 41 W 8,16 8192 65536 0.80\n77.100700 77.101100 db 41 R 8,16 4104 8192 0.40\n",
         "time:s,_,_,_,op,device,lba:sectors,len:bytes,latency:ms",
         vec![took(400_000, read(0, 4096, 8)), took(800_000, write(200 * US, 8192, 128)), took(400_000, read(700 * US, 4104, 16))]),
        // Numbers as programs print them.
        ("time_s,op,offset_bytes,length_bytes\n0.0,R,1048576,4096\n5e-05,W,2097152,8192\n0.00012,R,512000000,4096\n0.0025,W,4096,512\n",
         "time:s,op,lba:bytes,len:bytes", vec![read(0, 2048, 8), write(50 * US, 4096, 16), read(120 * US, 1_000_000, 8), write(2_500 * US, 8, 1)]),
        (",time_us,op,lba,len_bytes\n0,0.0,R,2048.0,4096.0\n1,125.5,W,4096.0,8192.0\n2,1E+03,R,1000000.0,4096.0\n", "_,time:us,op,lba:sectors,len:bytes",
         vec![read(0, 2048, 8), write(125_500, 4096, 16), read(MS, 1_000_000, 8)]),
        // When a request was complete.
        ("end_time_us,op,lba_sectors,nr_sectors,latency_us\n1000,R,2048,8,900\n1050,R,4096,8,10\n", "done:us,op,lba:sectors,len:sectors,latency:us",
         vec![took(900_000, read(0, 2048, 8)), took(10_000, read(940 * US, 4096, 8))]),
        ("start_us,end_us,op,lba_sectors,nr_sectors\n100,1000,R,2048,8\n1040,1050,R,4096,8\n", "time:us,_,op,lba:sectors,len:sectors",
         vec![read(0, 2048, 8), read(940 * US, 4096, 8)]),
        ("complete_ns,issue_ns,op,lba_sectors,nr_sectors\n1000000,100000,R,2048,8\n1050000,1040000,R,4096,8\n", "_,time:ns,op,lba:sectors,len:sectors",
         vec![read(0, 2048, 8), read(940 * US, 4096, 8)]),
        // Values in other forms.
        ("time_us,op,offset,size\n0,R,1048576,4K\n10,W,2097152,8K\n20,W,2097152,512\n", "time:us,op,lba:bytes,len:bytes",
         vec![read(0, 2048, 8), write(10 * US, 4096, 16), write(20 * US, 4096, 1)]),
        ("time,op,offset_bytes,size_bytes\n03/05/2024 10:00:00.000100 AM,R,4096,4096\n03/05/2024 10:00:00.000900 PM,W,8192,4096\n",
         "time:mdy,op,lba:bytes,len:bytes", vec![read(0, 8, 8), write(43_200 * SECOND + 800 * US, 16, 8)]),
        ("time;op;offset_bytes;size_bytes\n05.03.2024 10:00:00,0001;R;4096;4096\n05.03.2024 10:00:00,0009;W;8192;4096\n",
         "time:dmy,op,lba:bytes,len:bytes", vec![read(0, 8, 8), write(800 * US, 16, 8)]),
        ("date,time,op,offset_bytes,size_bytes\n5/31/2024,1:00:00 PM,R,4096,4096\n5/31/2024,1:00:01 PM,W,8192,4096\n",
         "time:mdy,_,op,lba:bytes,len:bytes", vec![read(0, 8, 8), write(SECOND, 16, 8)]),
        ("time,op,offset_bytes,size_bytes\n2024-10-27T02:59:59.5+02:00,R,4096,4096\n2024-10-27T02:00:00.5+01:00,W,8192,4096\n",
         "time:iso8601,op,lba:bytes,len:bytes", vec![read(0, 8, 8), write(SECOND, 16, 8)]),
        // Ends, times between, and other units.
        ("time_us,op,start_lba,end_lba\n0,R,2048,2055\n100,W,4096,4111\n", "time:us,op,lba:sectors,last:sectors",
         vec![read(0, 2048, 8), write(100 * US, 4096, 16)]),
        ("time_us,op,start_offset,end_offset\n0,R,4096,8192\n100,W,8192,16384\n", "time:us,op,lba:bytes,end:bytes",
         vec![read(0, 8, 8), write(100 * US, 16, 16)]),
        ("interarrival_us,op,offset_bytes,size_bytes\n0,R,4096,4096\n100,W,8192,8192\n100,W,12288,8192\n", "delta:us,op,lba:bytes,len:bytes",
         vec![read(0, 8, 8), write(100 * US, 16, 16), write(200 * US, 24, 16)]),
        ("time_min,op,offset_bytes,size_bytes\n1.5,R,4096,4096\n1.6,W,8192,8192\n", "time:min,op,lba:bytes,len:bytes",
         vec![read(0, 8, 8), write(6 * SECOND, 16, 16)]),
    ]
}

#[test]
fn tables_are_read_as_proposed() {
    let folder = Folder::new("proposals");
    for (text, typed, expected) in proposals() {
        let (found, refused) = by_proposal(&folder, text);
        assert_eq!(proposed(&refused).as_deref(), Some(typed), "{refused}");
        // Devices that differ have queues of their own.
        let bare: Vec<Arrival> = found.into_iter().map(|arrival| Arrival { queue: 0, ..arrival }).collect();
        assert_eq!(bare, expected, "{refused}");
    }
}

#[test]
fn events_are_kept_as_those_of_blkparse() {
    let folder = Folder::new("events");
    let mut rows = String::new();
    for (at, op, lba, len) in
        [(0, "R", 2048, 8), (150, "WS", 4096, 256), (300, "RA", 2056, 8), (1400, "D", 1_048_576, 2048), (1900, "W", 8192, 64)]
    {
        for (event, later) in [("Q", 0), ("P", 2), ("D", 5), ("C", 95)] {
            rows += &format!("    0.{:09},4242,fio,{event},{op},{lba},{len}\n", (at + later) * 1000);
        }
    }
    let path = folder.file("t", format!("{rows}CPU0 (sdb):\n Reads Queued:           3,       16KiB\n"));
    let refused = message(play(&path, &none()), &folder);
    assert_eq!(proposed(&refused).as_deref(), Some("time:s,_,_,keep:D,op,lba:sectors,len:sectors"), "{refused}");
    let kept = TraceOptions { skip_faulty: Some(SkipFaulty::Lines(2)), ..by("time:s,_,_,keep:D,op,lba:sectors,len:sectors") };
    let expected = [150, 300, 1400, 1900].map(|at| at * US);
    assert_eq!(play(&path, &kept).unwrap().iter().skip(1).map(|arrival| arrival.at).collect::<Vec<_>>(), expected);
    // Without it, the repetitions are doubted.
    let all = TraceOptions { skip_faulty: Some(SkipFaulty::Lines(2)), ..by("time:s,_,_,_,op,lba:sectors,len:sectors") };
    let notes = Trace::open(&path, &all).unwrap().notes().join("\n");
    assert!(notes.contains("15 of its 20 requests repeat the operation, place and size of one shortly before, as if they were"), "{notes}");
}

#[test]
fn a_line_that_names_columns_is_never_left_out() {
    let folder = Folder::new("named");
    let first = "time_us,lba,sectors,op\n0,8,8,R\n";
    let path = folder.file("t", format!("{first}time_us,sectors,lba,op\n5,8,16,W\n"));
    let lenient = TraceOptions { skip_faulty: Some(SkipFaulty::Lines(9)), ..by("time:us,lba:sectors,len:sectors,op") };
    let refused = message(play(&path, &lenient), &folder);
    assert!(refused.contains("line 3") && refused.contains("this line names columns") && !refused.contains("--skip-faulty"), "{refused}");
    // The same names once more change nothing.
    let path = folder.file("t", format!("{first}time_us,lba,sectors,op\n5,16,8,W\n"));
    assert_eq!(play(&path, &by("time:us,lba:sectors,len:sectors,op")).unwrap(), [read(0, 8, 8), write(5 * US, 16, 8)]);
}

#[test]
fn what_can_t_be_read_is_named() {
    let folder = Folder::new("unread");
    for (text, expected) in [
        (
            "time_ticks,op,offset_bytes,size_bytes\n1,R,4096,4096\n2,W,8192,4096\n",
            "`time_ticks` (column 1) is in ticks, which is none of the units",
        ),
        (
            "time_us,op,offset_tracks,size_bytes\n1,R,4,4096\n2,W,8,4096\n",
            "`offset_tracks` (column 3) is in tracks, which is none of the units",
        ),
        (
            "time,op,offset_bytes,size_bytes\nWed Mar 5 10:00:00,R,4096,4096\nWed Mar 5 10:00:01,W,8192,4096\n",
            "its header line says time:iso8601,op,lba:bytes,len:bytes and line 2, column 1 (time), is not so: found `Wed Mar 5 10:00:00`, \
             expected a date with a time as in ISO 8601",
        ),
        (
            "time_us,op,offset_bytes,size_bytes\n1,R,4096,many\n2,W,8192,few\n",
            "its header line says time:us,op,lba:bytes,len:bytes and line 2, column 4 (len), is not so: found `many`",
        ),
        (
            "end_time_us,op,lba_sectors,nr_sectors\n1000,R,2048,8\n1050,R,4096,8\n",
            "`end_time_us` (column 1) is when requests were complete, and no column says how long they took",
        ),
    ] {
        let refused = message(play(&folder.file("t", text), &none()), &folder);
        assert!(refused.contains(expected), "{refused}");
    }
}

/// A request: the time since the one before in us, whether it reads, its first page, and its pages.
type Request = (u64, bool, u64, u64);

fn requests(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Request>> {
    proptest::collection::vec((1_u64..5_000, any::<bool>(), 0_u64..1 << 20, 1_u64..64), count)
}

/// A number as one of several programs prints it.
fn printed(value: u64, form: usize) -> String {
    let digits = value.to_string();
    match form {
        0 => digits,
        1 => format!("{digits}.0"),
        2 => format!("{}.{}e+{:02}", &digits[..1], if digits.len() > 1 { &digits[1..] } else { "0" }, digits.len() - 1),
        _ => format!("{digits}.000000"),
    }
}

proptest! {
    #![proptest_config(cases(60))]
    #[test]
    fn lines_of_one_request_are_asked_about(
        requests in requests(2..12),
        name in select(&["event", "action", "phase", "status", "type", "layer", "stage", "state", "result", "what"][..]),
        values in select(vec![
            vec!["submit", "complete"], vec!["insert", "issue", "complete"], vec!["Q", "G", "D", "C"], vec!["1", "2"], vec!["a: b", "c, d", "e"],
            vec!["fs", "block", "nvme", "ssd"], vec!["block_rq_issue", "block_rq_complete"], vec!["START", "END"],
        ]),
        place in 0_usize..5,
        interleaved in any::<bool>(),
    ) {
        let mut lines: Vec<(u64, String)> = Vec::new();
        let mut at = 0;
        for (gap, reads, page, pages) in &requests {
            at += gap;
            for (number, value) in values.iter().enumerate() {
                // Events of several requests may stand between each other.
                let time = at + number as u64 * if interleaved { 700 } else { 0 };
                let mut fields = vec![time.to_string(), if *reads { "R" } else { "W" }.into(), (page * 8).to_string(), (pages * 8).to_string()];
                fields.insert(place.min(4), format!("\"{value}\""));
                lines.push((time, fields.join(",")));
            }
        }
        lines.sort_by_key(|(time, _)| *time);
        let mut header = vec!["time_us", "op", "lba_sectors", "nr_sectors"];
        header.insert(place.min(4), name);
        let text = header.join(",") + "\n" + &lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
        let folder = Folder::new("asked");
        let (found, refused) = by_proposal(&folder, &text);
        prop_assert!(refused.contains("is each line a request of its own to the drive?"), "{}", refused);
        prop_assert_eq!(found.len(), requests.len(), "{}", refused);
        let mut expected: Vec<(u64, u32)> = requests.iter().map(|(_, _, page, pages)| (page * 8, *pages as u32 * 8)).collect();
        let mut places: Vec<(u64, u32)> = found.iter().map(|arrival| (arrival.command.sector, arrival.command.sectors)).collect();
        expected.sort_unstable();
        places.sort_unstable();
        prop_assert_eq!(places, expected);
    }

    #[test]
    fn what_stands_before_the_header_and_how_numbers_are_printed_change_nothing(
        requests in requests(3..12),
        before in proptest::collection::vec(select(&[
            "volume trace exported 2024", "# made by tool", "// version 2, of 3", "sep=,", "exported by tool v2,,,,", "Tracing block I/O. Ctrl-C to end.",
            "Recorded on 2024-03-05 at 10:00:00, 3 disks", "; a remark", "\"Disk report\"", "-- all of it", "% time and size of requests to disk 0",
        ][..]), 0..4),
        mark in select(&["", "# ", "//"][..]),
        form in 0_usize..4,
        again in any::<bool>(),
        names in select(&[
            "time_us,lba,sectors,is_read,device", "time_us,op,lba_sectors,sectors", "Timestamp,Offset,Size,IOType,VolumeID",
            "device_id,opcode,offset,length,timestamp", "time_us;op;lba_sectors;nr_sectors",
        ][..]),
    ) {
        let separator = if names.contains(';') { ";" } else { "," };
        let titles: Vec<&str> = names.split(separator).collect();
        let mut at = 0;
        let row = |(gap, reads, page, pages): &Request, form: usize, at: &mut u64| {
            *at += gap;
            let field = |title: &&str| match *title {
                "time_us" | "Timestamp" | "timestamp" => printed(*at, form),
                "op" | "opcode" => if *reads { "R" } else { "W" }.into(),
                "is_read" => u8::from(*reads).to_string(),
                "IOType" => u8::from(!*reads).to_string(),
                "device" | "VolumeID" | "device_id" => "3".into(),
                "offset" => printed(page * 4096, form),
                "length" => printed(pages * 4096, form),
                "lba" | "lba_sectors" | "Offset" => printed(page * 8, form),
                _ => printed(pages * 8, form),
            };
            titles.iter().map(field).collect::<Vec<_>>().join(separator)
        };
        let plain: Vec<String> = requests.iter().map(|request| row(request, 0, &mut at)).collect();
        at = 0;
        let other: Vec<String> = requests.iter().map(|request| row(request, form, &mut at)).collect();
        let (first, rest) = other.split_at(1);
        let repeated = if again { format!("{mark}{names}\n") } else { String::new() };
        let before: String = before.iter().map(|line| format!("{line}\n")).collect();
        let text = format!("{before}{mark}{names}\n{}\n{repeated}{}\n", first[0], rest.join("\n"));
        let folder = Folder::new("before");
        let read = |text: &str| {
            let path = folder.file("t", text);
            match play(&path, &none()) {
                Ok(found) => Ok::<_, TestCaseError>((found, String::new())),
                Err(error) => {
                    let typed = proposed(&error.to_string()).ok_or_else(|| TestCaseError::fail(error.to_string()))?;
                    let found = play(&path, &by(&typed)).map_err(|error| TestCaseError::fail(format!("{typed}: {error}")))?;
                    Ok::<_, TestCaseError>((found, typed))
                }
            }
        };
        prop_assert_eq!(read(&text)?, read(&format!("{names}\n{}\n", plain.join("\n")))?, "{}", text);
    }
}

/// The requests of a table by what its refusal proposes first.
fn proposes(folder: &Folder, text: &str, typed: &str, expected: &[Arrival]) -> String {
    let (arrivals, refused) = by_proposal(folder, text);
    assert_eq!(proposed(&refused).as_deref(), Some(typed), "{text}");
    assert_eq!(arrivals, expected, "{typed}: {text}");
    refused
}

#[test]
fn ends_and_durations_are_no_arrivals() {
    let folder = Folder::new("ends");
    let expected = [took(90 * US, read(0, 2048, 8)), took(200 * US, write(480 * US, 4096, 16))];
    for (end, duration, assumed) in [
        ("end_us", "dur_us", false),
        ("done_us", "elapsed_us", true),
        ("finished_us", "took_us", false),
        ("end_us", "rtt_us", false),
        ("complete_us", "io_time_us", true),
        ("end_time_us", "total_us", true),
        ("t_complete_us", "clat_us", false),
        ("completed_us", "q2c_us", false),
    ] {
        let tables = [
            (
                format!("{end},rw,offset_bytes,size_bytes,{duration}\n2590,R,1048576,4096,90\n3180,W,2097152,8192,200\n"),
                "done:us,op,lba:bytes,len:bytes,latency:us",
            ),
            (
                format!("rw,offset_bytes,size_bytes,{duration},{end}\nR,1048576,4096,90,2590\nW,2097152,8192,200,3180\n"),
                "op,lba:bytes,len:bytes,latency:us,done:us",
            ),
        ];
        for (text, typed) in tables {
            let refused = proposes(&folder, &text, typed, &expected);
            assert!(refused.contains(&format!("`{end}` is when requests were complete")), "{refused}");
            assert_eq!(refused.contains(&format!("`{duration}` is how long they took")), assumed, "{refused}");
        }
    }
    // Of several durations, none is asked for where there are arrivals, and with ends only, which it is is asked.
    let text = "ts_us,q2c_us,d2c_us,rw,offset_bytes,size_bytes\n0,90,80,R,1048576,4096\n480,91,81,W,2097152,8192\n";
    let refused = message(play(&folder.file("t", text), &none()), &folder);
    assert_eq!(proposed(&refused).as_deref(), Some("time:us,_,_,op,lba:bytes,len:bytes"), "{refused}");
    let text = "end_us,rw,offset_bytes,size_bytes,q2c_us,d2c_us\n90,R,1048576,4096,90,80\n480,W,2097152,8192,91,81\n";
    let refused = message(play(&folder.file("t", text), &none()), &folder);
    assert!(refused.contains("`q2c_us` (column 5) and `d2c_us` (column 6) could each be its latency"), "{refused}");
}

#[test]
fn what_columns_without_names_are_is_assumed_aloud_or_asked() {
    let folder = Folder::new("nameless");
    let lines = |line: &dyn Fn(u64) -> String| (0..12).map(line).collect::<String>();
    // Lines that count, and one size for all.
    let counted = lines(&|at| format!("{at},{},R,{},4096\n", at * 130 + at % 3, (at * 7 % 12 + 1) * 1_048_576));
    let expected: Vec<Arrival> = (0..12).map(|at| read((at * 130 + at % 3) * US, (at * 7 % 12 + 1) * 2048, 8)).collect();
    let refused = proposes(&folder, &counted, "_,time:us,op,lba:bytes,len:bytes", &expected);
    assert!(
        refused.contains("if column 2 is its time, column 3 is its operation, column 4 is its address and column 5 is its size"),
        "{refused}"
    );
    // Addresses below the sizes.
    let low = lines(&|at| format!("{},R,{},4096\n", at * 130 + at % 3, at * 7 % 12 * 8 + 8));
    let expected: Vec<Arrival> = (0..12).map(|at| read((at * 130 + at % 3) * US, at * 7 % 12 * 8 + 8, 8)).collect();
    let refused = proposes(&folder, &low, "time:us,op,lba:sectors,len:bytes", &expected);
    assert!(
        refused.contains("if column 1 is its time, column 2 is its operation, column 3 is its address and column 4 is its size"),
        "{refused}"
    );
    // Where times and addresses grow, either could be the other.
    let grows = lines(&|at| format!("W,{},4096,{}\n", at * 4096, at * 130 + at % 3));
    let refused = message(play(&folder.file("t", grows), &none()), &folder);
    for way in ["--columns op,lba:bytes,len:bytes,time:us reads it", "--columns op,time:us,len:bytes,lba:sectors reads it"] {
        assert!(refused.contains(way), "{way}: {refused}");
    }
    assert!(
        refused.contains("if column 4 is its time, column 1 is its operation, column 2 is its address and column 3 is its size"),
        "{refused}"
    );
    // A fraction is a time, and not an address.
    let fraction = lines(&|at| format!("W,{},4096,{}.5\n", at * 4096, at * 130));
    let expected: Vec<Arrival> = (0..12).map(|at| write(at * 130 * MS * 1000, at * 8, 8)).collect();
    proposes(&folder, &fraction, "op,lba:bytes,len:bytes,time:s", &expected);
}

#[test]
fn names_of_lines_have_no_name() {
    let folder = Folder::new("rownames");
    let expected = [read(0, 10_352, 8), write(480 * US, 14_416, 128), read(487 * US, 7_880, 32)];
    for (text, typed) in [
        (
            "\"time_s\";\"op\";\"lba\";\"sectors\"\n\"1\";0,0025;\"R\";10352;8\n\"2\";0,00298;\"W\";14416;128\n\"3\";0,002987;\"R\";7880;32\n",
            "s",
        ),
        (
            "\"time_s\" \"op\" \"lba\" \"sectors\"\n\"1\" 0.0025 \"R\" 10352 8\n\"2\" 0.00298 \"W\" 14416 128\n\"3\" 0.002987 \"R\" 7880 32\n",
            "s",
        ),
        (
            "    time_us op    lba  sectors\n0    2500.0  R  10352        8\n1    2980.0  W  14416      128\n2    2987.0  R   7880       32\n",
            "us",
        ),
        ("time_us op lba sectors\n7 2500 R 10352 8\n8 2980 W 14416 128\n9 2987 R 7880 32\n", "us"),
    ] {
        proposes(&folder, text, &format!("_,time:{typed},op,lba:sectors,len:sectors"), &expected);
        // Names of columns are those of the columns behind.
        let by_names = by(&format!("time=time_{typed}:{typed},op=op,lba=lba:sectors,len=sectors:sectors"));
        assert_eq!(play(&folder.file("t", text), &by_names).unwrap(), expected, "{text}");
    }
}

#[test]
fn commas_and_points_are_one_thing_in_all_columns() {
    let folder = Folder::new("marks");
    let expected = [read(0, 12_152, 16), write(480 * US, 7_680, 8)];
    for text in [
        // Decimal commas, with a fraction that is none.
        "time_ms;op;lba_sectors;sectors\n2,5000;R;12152,000;16,000\n2,9800;W;7680,000;8,000\n",
        "\u{feff}time_ms;op;offset_kb;size_kb\r\n2,500;R;6076,000;8,000\r\n2,980;W;3840,000;4,000\r\n",
        // Points between thousands.
        "time_us;op;offset_bytes;size_bytes\n2.500;R;6.221.824;8.192\n2.980;W;3.932.160;4.096\n",
        "time_us;op;offset_bytes;size_bytes\n2.500,0;R;6221824;8192\n2.980,0;W;3932160;4096\n",
    ] {
        let (arrivals, refused) = by_proposal(&folder, text);
        assert_eq!(arrivals, expected, "{text} {refused}");
    }
    // A point before three digits is ambiguous here, so a note always names it.
    let text = "time_us;op;lba_sectors;size_sectors\n2.500;R;12152;16\n2.980;W;7680;8\n";
    let path = folder.file("t", text);
    let typed = by("time:us,op,lba:sectors,len:sectors");
    let notes = Trace::open(&path, &typed).unwrap().notes().join("; ");
    assert!(notes.contains("2 of its times and latencies have a point and three digits behind it, as 1.234 has"), "{notes}");
    assert!(notes.contains(r"sed -E 's/([0-9])\.([0-9]{3})/\1\2/g' takes it out"), "{notes}");
}

#[test]
fn two_parts_of_a_time_are_joined() {
    let folder = Folder::new("parts");
    let expected = [read(0, 2048, 8), write(480 * US, 4096, 16), read(SECOND + 480 * US, 8192, 8)];
    for (text, typed) in [
        (
            "sec,nsec,op,offset_bytes,size_bytes\n1709632800,2500000,R,1048576,4096\n1709632800,2980000,W,2097152,8192\n1709632801,2980000,R,4194304,4096\n",
            "time:s,_,op,lba:bytes,len:bytes",
        ),
        (
            "tv_sec tv_usec op offset_bytes size_bytes\n7 2500 R 1048576 4096\n7 2980 W 2097152 8192\n8 2980 R 4194304 4096\n",
            "time:s,_,op,lba:bytes,len:bytes",
        ),
        (
            "date;time;usec;op;offset_bytes;size_bytes\n2024-03-05;10:00:00;2500;R;1048576;4096\n2024-03-05;10:00:00;2980;W;2097152;8192\n\
          2024-03-05;10:00:01;2980;R;4194304;4096\n",
            "time:iso8601,_,_,op,lba:bytes,len:bytes",
        ),
    ] {
        let path = folder.file("t", text);
        let refused = play(&path, &none()).unwrap_err().to_string();
        assert!(refused.contains("are two parts of its time"), "{refused}");
        assert_eq!(proposed(&refused).as_deref(), Some(typed), "{refused}");
        let command = refused.split('`').find(|part| part.starts_with("awk ")).unwrap_or_else(|| panic!("{refused}"));
        assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
        assert_eq!(play(&folder.0.join("t.csv"), &by(typed)).unwrap(), expected, "{command}");
    }
    let quoted = "sec,nsec,op,offset_bytes,size_bytes\n\"7\",\"25\",R,1048576,4096\n\"8\",\"2\",R,1048576,4096\n";
    let refused = message(play(&folder.file("q", quoted), &none()), &folder);
    assert!(refused.contains("which no option joins") && proposed(&refused).is_none(), "{refused}");
}

#[test]
fn times_that_fall_back_by_all_they_reach_are_not_only_late() {
    let folder = Folder::new("wrapped");
    let typed = by("time:us,op,lba:bytes,len:bytes");
    let line = |time: u64, at: u64| format!("{time},R,{},4096\n", at * 4096);
    let header = "time_us,op,offset_bytes,size_bytes\n";
    // Sorted by address.
    let mixed: String = (0..24).map(|at| line(8_321 - at * 13 % 24 * 100, at)).collect();
    let path = folder.file("t", format!("{header}{mixed}"));
    let refused = play(&path, &typed).unwrap_err().to_string();
    assert!(!refused.contains("--reorder-ms ") && refused.contains("sorted by something else"), "{refused}");
    let command = refused.split('`').find(|part| part.contains("sort -s")).unwrap_or_else(|| panic!("{refused}"));
    assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
    let sorted = play(&folder.0.join("t.sorted"), &typed).unwrap();
    assert_eq!((sorted.len(), sorted[0].at, sorted[23].at), (24, 0, 2_300 * US), "{command}");
    // A counter that wraps.
    let wrapped: String = (0..20).map(|at| line((u64::from(u32::MAX) - 500 + at * 100) % (1 << 32), at)).collect();
    let refused = message(play(&folder.file("w", format!("{header}{wrapped}")), &typed), &folder);
    assert!(
        !refused.contains("--reorder-ms ") && refused.contains("counter of its times has wrapped") && !refused.contains("sort -s"),
        "{refused}"
    );
    // Negative times are times.
    let text = format!("{header}-500,R,0,4096\n-20,W,8192,4096\n30,R,4096,4096\n");
    let (arrivals, _) = by_proposal(&folder, &text);
    assert_eq!(arrivals, [read(0, 0, 8), write(480 * US, 16, 8), read(530 * US, 8, 8)]);
}

#[test]
fn lines_that_break_a_table_are_named() {
    let folder = Folder::new("broken");
    for (text, expected) in [
        (
            "time_us,op,offset_bytes,size_bytes,comm\n0,R,4096,4096,x\n5,R,8192,4096,\"a\nb\"\n",
            "line 3 has a quotation mark that is not closed",
        ),
        (
            "time_us,op,offset_bytes,size_bytes\n0,R,4096,4096\ntime_us,op,size_bytes,offset_bytes\n5,R,4096,8192\n",
            "line 3, `time_us,op,size_bytes,offset_bytes`, names columns otherwise than the header line",
        ),
    ] {
        let refused = message(play(&folder.file("t", text), &none()), &folder);
        assert!(refused.contains(expected) && proposed(&refused).is_none(), "{refused}");
    }
}

proptest! {
    #![proptest_config(cases(200))]
    /// A blank cell of a table that white space separates, or a field too many without names, never passes for a request.
    #[test]
    fn lines_with_another_number_of_fields_are_no_requests(
        blanks in proptest::collection::vec(0..4_usize, 12..40),
        named in any::<bool>(),
        is_more in any::<bool>(),
    ) {
        // At least one line in four has all its cells.
        let is_odd = |line: usize| !line.is_multiple_of(4) && blanks[line] == 0;
        let cell = |line: usize| match (is_odd(line), is_more) {
            (false, _) => "x ",
            (true, false) => "",
            (true, true) => "x y ",
        };
        let lines: String =
            (0..blanks.len()).map(|line| format!("{} R {}{} 8\n", 10 * line, cell(line), 1024 * (line + 1))).collect();
        let odd = (0..blanks.len()).filter(|line| is_odd(*line)).count();
        prop_assume!(odd > 0 && odd * 2 < blanks.len());
        let folder = Folder::new("odd");
        let path = folder.file("t", if named { format!("time_us op flags lba_sectors len_sectors\n{lines}") } else { lines });
        let mapping = "time:us,op,_,lba:sectors,len:sectors";
        let refused = message(play(&path, &by(mapping)), &folder);
        let count = if odd == 1 { "line ".to_owned() } else { format!("{odd} of its ") };
        prop_assert!(refused.contains(&count) && refused.contains("expected"), "{refused}");
        let skipped = TraceOptions { skip_faulty: Some(SkipFaulty::Lines(odd as u64)), ..by(mapping) };
        let expected: Vec<Arrival> =
            (0..blanks.len()).filter(|line| !is_odd(*line)).map(|line| read(10 * US * line as u64, 1024 * (line as u64 + 1), 8)).collect();
        let first = expected[0].at;
        let expected: Vec<Arrival> = expected.into_iter().map(|arrival| Arrival { at: arrival.at - first, ..arrival }).collect();
        prop_assert_eq!(play(&path, &skipped).unwrap(), expected);
    }
}

#[test]
fn a_mapping_may_leave_the_end_of_lines_open() {
    let folder = Folder::new("open");
    let path = folder.file("t", "0 R 2048 8 fio\n10 W 4096 16 kworker 0 1\n20 R 8192 8\n");
    let mapping = "time:us,op,lba:sectors,len:sectors";
    let refused = message(play(&path, &by(mapping)), &folder);
    assert!(refused.contains("a mapping that ends with `,...`"), "{refused}");
    let expected = [read(0, 2048, 8), write(10 * US, 4096, 16), read(20 * US, 8192, 8)];
    assert_eq!(play(&path, &by(&format!("{mapping},..."))).unwrap(), expected);
    let info = Trace::open(&path, &by(&format!("{mapping},..."))).unwrap().info().unwrap();
    assert!(
        info.doubts.iter().any(|doubt| doubt.starts_with("2 of its requests stand in lines with another number of fields")),
        "{:?}",
        info.doubts
    );
    // A number too many has most likely shifted those behind it.
    let shifted = folder.file("t", "0,R,2048,8\n10,W,4,096,16\n20,R,8192,8\n");
    let refused = message(play(&shifted, &by("time:us,op,lba:sectors,len:sectors")), &folder);
    assert!(refused.contains("a field too many shifts those behind it"), "{refused}");
    // Where a header line tells the columns, the mapping that reads the lines is proposed.
    let optional = "time_us op lba_sectors len_sectors flags\n0 R 2048 8\n10 W 4096 16\n20 R 8192 8 FUA\n";
    proposes(&folder, optional, "time:us,op,lba:sectors,len:sectors,...", &expected);
    let named = folder.file("n", "time_us op lba len rest\n0 R 2048 8 fio\n10 W 4096 16 kworker 0 1\n20 R 8192 8\n");
    assert_eq!(play(&named, &by("time=time_us:us,op=op,lba=lba:sectors,len=len:sectors,...")).unwrap(), expected);
}

#[test]
fn tables_say_how_else_they_could_be_read() {
    let folder = Folder::new("else");
    for (text, said) in [
        ("20240531235959500 R 8 8\n20240601000001500 W 1600 16\n", "substr($1, 13, 2) \".\" substr($1, 15)"),
        // Lines of Alibaba's form with text at the end are not Alibaba's, and devices are named more than once.
        ("5,R,8,8,fio\n6,W,16,8,fio\n", "--columns time:us,op,lba:sectors,len:sectors reads it"),
        // Which of two columns of letters has the operation is asked.
        ("0.5 D R 773456 32768\n0.6 D W 1204088 4096\n0.7 D R 1297760 4096\n", "--columns time:s,_,op,lba:sectors,len:bytes"),
        ("0.5 D R 773456 32768\n0.6 D W 1204088 4096\n0.7 D R 1297760 4096\n", "column 2 is its operation"),
        // `io.len` has a unit in traces of Open CAS only.
        (
            "ts_us,io.op,io.offset,io.len\n5,read,414740480,4096\n9,write,510693376,8192\n",
            "len:bytes reads it where addresses and sizes are in bytes",
        ),
        // Drives of several machines are several drives.
        ("time_us,host,disk,op,lba_sectors,len_sectors\n5,a,sda,R,8,8\n6,b,sda,W,16,8\n", "keep:a,device,op,lba:sectors"),
        (
            "1,a,0,Read,4096,4096,7\n2,b,0,Write,8192,4096,7\n3,a,0,Read,4096,4096,7\n",
            "--columns time:100ns,keep:a,device,op,lba:bytes,len:bytes,latency:100ns",
        ),
        // Dates without marks are no numbers of seconds.
        (
            "Time,Op,LBA,Sectors\n20240531235959.5,R,8,8\n20240601000001.5,W,16,8\n",
            "which no unit reads; `awk -F ',' -v OFS=',' 'NR > 1 { $1 = substr",
        ),
        ("20240531235959500 R 8 8\n20240601000001500 W 1600 16\n", "which no unit reads; `awk 'NR > 0 { $1 = substr"),
        (
            "Time,Op,LBA,Sectors\n235959.5,R,8,8\n235959.8,W,16,8\n",
            "its times are in s, and are not hours, minutes and seconds of two digits each",
        ),
        (
            "Date,Op,LBA,Sectors\n45443.0001,R,8,8\n45443.0002,W,16,8\n",
            "its times are in s, and are not days since 1900 as in a spreadsheet",
        ),
        // A line of units is no request, and says what the names do not.
        (
            "time,op,lba,len,latency\nus,,sectors,bytes,ms\n5,W,8,4096,0.4\n9,R,16,4096,0.5\n",
            "`sed 2d t > t.csv` leaves it out, and of that, --columns time:us,op,lba:sectors,len:bytes,latency:ms",
        ),
        // Names may begin with a mark.
        (
            "\"@timestamp\",\"io.op\",\"io.offset_bytes\",\"io.size_bytes\"\n\"2023-11-14T22:13:20.6+00:00\",\"read\",\"414,740,480\",\"4,096\"\n",
            "--columns time:iso8601,op,lba:bytes,len:bytes reads it",
        ),
        ("$time_us;$op;$lba_sectors;$len_sectors\n5;R;8;8\n9;W;16;8\n", "--columns time:us,op,lba:sectors,len:sectors reads it"),
    ] {
        let refused = message(play(&folder.file("t", text), &none()), &folder);
        assert!(refused.contains(said), "{text}\n{refused}");
    }
    let short: String = (10..22).map(|second| format!("2405312359{second},R,{},8\n", 8 * second)).collect();
    let refused = message(play(&folder.file("t", format!("time,op,lba,len\n{short}")), &none()), &folder);
    assert!(refused.contains("{ $1 = \"20\" substr($1, 1, 2) \"-\" substr($1, 3, 2)"), "{refused}");
    // Hosts are devices where nothing else is.
    let hosts: String = (0..40).map(|line| format!("{line},vm{line},R,8,8\n")).collect();
    let refused = message(play(&folder.file("t", format!("time_us,vm,op,lba_sectors,len_sectors\n{hosts}")), &none()), &folder);
    assert!(refused.contains("--columns time:us,device,op,lba:sectors,len:sectors reads it"), "{refused}");
    // Lines that are drawn below the names are no requests.
    let path = folder.file("t", "time_us  op  lba_sectors  len_sectors\n-------  --  -----------  -----------\n5 R 8 8\n9 W 16 8\n");
    assert_eq!(play(&path, &by("time:us,op,lba:sectors,len:sectors")).unwrap(), [read(0, 8, 8), write(4 * US, 16, 8)]);
    let mut first = b"Ger\xe4t,1\ntime_us,op,lba,len\n".to_vec();
    first.extend(b"5,R,8,8\n");
    let refused = message(play(&folder.file("t", first), &none()), &folder);
    assert!(refused.contains("text in another encoding than UTF-8") && refused.contains("`iconv -f WINDOWS-1252"), "{refused}");
    let mut later = b"time_us;op;lba;sectors;comm\n".to_vec();
    later.extend((0..40).flat_map(|line| format!("{line};R;8;8;fio\n").into_bytes()));
    later.extend(b"50;R;8;8;Ger\xe4t\n");
    let refused = message(play(&folder.file("t", later), &none()), &folder);
    assert!(refused.contains("text in another encoding than UTF-8"), "{refused}");
    // Units without a request, and below another line, are not taken away.
    for text in ["time,op,lba,len\nus,,sectors,bytes\n", "time,op,lba,len\nremark\nus,,sectors,bytes\n5,R,8,4096\n6,W,16,4096\n"] {
        let refused = message(play(&folder.file("t", text), &none()), &folder);
        assert!(!refused.contains("`sed"), "{refused}");
    }
}

#[test]
fn a_clock_may_go_on_beyond_a_day() {
    let folder = Folder::new("clock");
    let path = folder.file("t", "t,op,lba_sectors,len_sectors\n23:59:59.5,R,8,8\n24:00:00.5,W,16,8\n100:00:00,R,8,8\n");
    let expected = [read(0, 8, 8), write(SECOND, 16, 8), read(273_600 * SECOND + 500 * MS, 8, 8)];
    assert_eq!(play(&path, &by("time:clock,op,lba:sectors,len:sectors")).unwrap(), expected);
}

#[test]
fn lines_that_are_left_out_may_have_any_number_of_fields() {
    let folder = Folder::new("kept");
    let lines: String =
        (0..20_u64).map(|line| format!("{}.0 issue R {} 8\n{}.5 complete R {} 8 0 [0]\n", line, 8 * line, line, 8 * line)).collect();
    let expected: Vec<Arrival> = (0..20_u64).map(|line| read(line * SECOND, 8 * line, 8)).collect();
    assert_eq!(play(&folder.file("t", lines), &by("time:s,keep:issue,op,lba:sectors,len:sectors")).unwrap(), expected);
}
