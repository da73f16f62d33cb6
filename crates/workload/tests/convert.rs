//! Transforms of workload files, and traces that are written and read back.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tinytail_workload::{
    Arrival, Fit, InputKind, Pacing, Source, SourceContext, Trace, TraceOptions, Transform, Workload, WorkloadError, check_file, describe,
};

/// A folder of its own for one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinytail-{}-convert-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const DRIVE: SourceContext = SourceContext { logical_sectors: 1 << 40, mapped_sectors: 1 << 30 };

const LINES: &str = "0 0 8 16 1\n1500 0 800 1 0\n1500 0 24 8 1\n9000 0 4096 64 0\n";

fn microseconds() -> TraceOptions {
    TraceOptions { time_unit: Some("us".parse().unwrap()), ..TraceOptions::default() }
}

fn resolve(path: &Path, options: &TraceOptions) -> Result<Workload, WorkloadError> {
    Workload::resolve_in(path.to_str().unwrap(), options, None)
}

fn requests_on(workload: &Workload, drive: SourceContext) -> Result<Vec<Arrival>, WorkloadError> {
    let mut source = workload.source(1, &drive, None)?;
    let mut arrivals = Vec::new();
    while source.fill(&mut arrivals, 7)? > 0 {}
    Ok(arrivals)
}

fn requests(workload: &Workload) -> Vec<Arrival> {
    requests_on(workload, DRIVE).unwrap()
}

/// Time in ns, sector and sectors of each request.
fn shape(arrivals: &[Arrival]) -> Vec<(u64, u64, u32)> {
    arrivals.iter().map(|arrival| (arrival.at, arrival.command.sector, arrival.command.sectors)).collect()
}

/// Requests as a trace without devices has them.
fn on_one_queue(arrivals: &[Arrival]) -> Vec<Arrival> {
    arrivals.iter().map(|arrival| Arrival { queue: 0, ..*arrival }).collect()
}

fn said(source: &dyn Source) -> String {
    source.notes().into_iter().map(|note| note.text).collect::<Vec<_>>().join("\n")
}

fn no_transform() -> Transform {
    Transform::default()
}

#[test]
fn what_is_written_is_read_back_without_being_told_a_unit() {
    let folder = Folder::new("round-trip");
    let workload = resolve(&folder.file("in", LINES), &microseconds()).unwrap();
    for (name, compression, magic) in
        [("out.trace", "none", &b"0 0 "[..]), ("out.zst", "zstd", &[0x28, 0xb5, 0x2f, 0xfd]), ("out.trace.gz", "gzip", &[0x1f, 0x8b])]
    {
        let out = folder.path(name);
        let converted = workload.convert(&out, 1, None, false).unwrap();
        assert_eq!((converted.requests, converted.compression.name()), (4, compression));
        assert!(std::fs::read(&out).unwrap().starts_with(magic), "{name}");
        let back = resolve(&out, &TraceOptions::default()).unwrap();
        assert_eq!(requests(&back), requests(&workload), "{name}");
        let sidecar = std::fs::read_to_string(folder.path(&format!("{name}.toml"))).unwrap();
        assert!(sidecar.starts_with("# Written by tinytail ") && sidecar.contains("# times in us, given as an option"), "{sidecar}");
    }
    assert_eq!(
        std::fs::read_to_string(folder.path("out.trace")).unwrap(),
        "0 0 8 16 1\n1500000 0 800 1 0\n1500000 0 24 8 1\n9000000 0 4096 64 0\n"
    );
    let converted = workload.convert(&folder.path("two"), 1, Some(2), false).unwrap();
    assert_eq!(converted.requests, 2);
    assert_eq!(requests(&resolve(&folder.path("two"), &TraceOptions::default()).unwrap()), requests(&workload)[..2]);
    assert!(!folder.names().iter().any(|name| name.ends_with(".tmp")), "{:?}", folder.names());
}

#[test]
fn nothing_is_overwritten_unless_forced() {
    let folder = Folder::new("overwrite");
    let workload = resolve(&folder.file("in", LINES), &microseconds()).unwrap();
    let out = folder.file("out", "mine");
    let message = workload.convert(&out, 1, None, false).unwrap_err().to_string();
    assert!(message.contains("out: this file is there already; --force replaces it"), "{message}");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
    std::fs::remove_file(&out).unwrap();
    let sidecar = folder.file("out.toml", "time_unit = \"s\"\n");
    let message = workload.convert(&out, 1, None, false).unwrap_err().to_string();
    assert!(message.contains("out.toml: this file is there already"), "{message}");
    assert!(!out.exists());
    folder.file("out", "mine");
    workload.convert(&out, 1, None, true).unwrap();
    assert_eq!(requests(&resolve(&out, &TraceOptions::default()).unwrap()), requests(&workload));
    assert!(std::fs::read_to_string(&sidecar).unwrap().contains("time_unit = \"ns\""));
    // A trace may be written over itself.
    let back = resolve(&out, &TraceOptions::default()).unwrap();
    back.convert(&out, 1, None, true).unwrap();
    assert_eq!(requests(&resolve(&out, &TraceOptions::default()).unwrap()), requests(&workload));
    assert_eq!(folder.names(), ["in", "out", "out.toml"]);
}

#[test]
fn a_trace_that_fails_leaves_nothing_behind() {
    let folder = Folder::new("fails");
    let workload = resolve(&folder.file("in", LINES), &microseconds()).unwrap();
    folder.file("in", "0 0 8 16 1\nnonsense\n");
    let out = folder.path("out");
    assert!(workload.convert(&out, 1, None, false).unwrap_err().to_string().contains("it changed while it was read"));
    assert_eq!(folder.names(), ["in"]);
    let workload = resolve(&folder.file("in", LINES), &microseconds()).unwrap();
    let message = workload.convert(&folder.0, 1, None, true).unwrap_err().to_string();
    assert!(message.contains("no regular file"), "{message}");
    let message = workload.convert(&folder.path("nowhere/out"), 1, None, true).unwrap_err();
    assert!(matches!(message, WorkloadError::Output { .. }), "{message}");
    assert!(message.to_string().contains("it can't be written: there is no folder"), "{message}");
    let message = workload.convert(&folder.path("out.toml"), 1, None, true).unwrap_err().to_string();
    assert!(message.contains("a name that ends in .toml is a workload file's"), "{message}");
    let none = workload.convert(&folder.path("out"), 1, Some(0), true).unwrap_err().to_string();
    assert!(none.contains("no request"), "{none}");
}

#[test]
fn a_line_that_fails_in_the_middle_of_a_conversion_leaves_nothing_behind() {
    // Every line is checked before the conversion begins. What is written over it later at the old length, with the old time of
    // change put back, is noticed only when its line is read again, after thousands of others have been written.
    let folder = Folder::new("middle");
    let lines: Vec<String> = (0..20_000).map(|at| format!("{at:05} 0 8 16 1\n")).collect();
    let path = folder.file("in", lines.concat());
    let workload = resolve(&path, &microseconds()).unwrap();
    let mut faulty = lines;
    let nonsense = format!("{:1$}\n", "nonsense", faulty[14_999].len() - 1);
    faulty[14_999] = nonsense;
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    folder.file("in", faulty.concat());
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    for out in ["out", "out.gz", "out.zst"] {
        let message = workload.convert(&folder.path(out), 1, None, false).unwrap_err().to_string();
        assert!(message.contains("line 15000"), "{message}");
        assert_eq!(folder.names(), ["in"]);
        // What was there before stays.
        let mine = folder.file(out, "mine");
        assert!(workload.convert(&mine, 1, None, true).unwrap_err().to_string().contains("line 15000"));
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
        assert_eq!(folder.names(), ["in", out]);
        std::fs::remove_file(&mine).unwrap();
    }
    // The lines before it can be written.
    assert_eq!(workload.convert(&folder.path("out"), 1, Some(14_000), false).unwrap().requests, 14_000);
}

#[test]
fn what_depends_on_a_drive_is_not_written() {
    let folder = Folder::new("drive");
    let out = folder.path("out");
    for (name, expected) in [("zipf", "closed loop"), ("randrw70-open", "depend on the drive")] {
        let workload = Workload::resolve_in(name, &TraceOptions::default(), None).unwrap();
        let message = workload.convert(&out, 1, None, false).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let fold = Transform { fit: Some(Fit::Fold), ..no_transform() };
    let workload = resolve(&folder.file("in", LINES), &microseconds()).unwrap();
    let message = workload.clone().transformed(&fold).unwrap().convert(&out, 1, None, false).unwrap_err().to_string();
    assert!(message.contains("give the region"), "{message}");
    let region = Transform { region_bytes: Some(4096), ..fold };
    let converted = workload.transformed(&region).unwrap().convert(&out, 1, None, false).unwrap();
    assert!(converted.notes.iter().any(|note| note.starts_with("folded: 4 of 4 requests")), "{:?}", converted.notes);
    let back = requests(&resolve(&out, &TraceOptions::default()).unwrap());
    assert!(back.iter().all(|arrival| arrival.command.sector + u64::from(arrival.command.sectors) <= 8));
}

#[test]
fn a_stand_in_can_be_written() {
    let folder = Folder::new("stand-in");
    let out = folder.path("out.zst");
    let workload = Workload::resolve_in("standin-dtrs", &TraceOptions::default(), None).unwrap();
    workload.convert(&out, 5, Some(2000), false).unwrap();
    let mut source = workload.source(5, &DRIVE, Some(2000)).unwrap();
    let mut expected = Vec::new();
    while source.fill(&mut expected, 64).unwrap() > 0 {}
    // A trace begins with its first request.
    let first = expected[0].at;
    expected.iter_mut().for_each(|arrival| arrival.at -= first);
    assert_eq!(requests(&resolve(&out, &TraceOptions::default()).unwrap()), on_one_queue(&expected));
}

#[test]
fn transforms_of_a_file_and_of_options_go_together() {
    let folder = Folder::new("transforms");
    folder.file("t", LINES);
    let text = "summary = \"s\"\n[trace]\nfile = \"t\"\ntime_unit = \"us\"\n[transform]\nwindow_s = [0.001, 0.01]\nscale_time = 2\n\
                scale_size = { value = 0.5, source = \"to halve it\" }\noffset_bytes = 512\n";
    let file = folder.file("w.toml", text);
    let workload = resolve(&file, &TraceOptions::default()).unwrap();
    assert_eq!(workload.input, InputKind::Real);
    assert_eq!(shape(&requests(&workload)), [(0, 801, 1), (0, 25, 4), (15_000_000, 4097, 32)]);
    assert_eq!(workload.request_count_hint(), Some(3));
    let notes = workload.notes.join("\n");
    for part in ["window from 0.001 s to 0.01 s: 3 requests", "times multiplied by 2", "sizes multiplied by 0.5", "shifted by 512 bytes"] {
        assert!(notes.contains(part), "{part} in {notes}");
    }
    let changed = workload.transformed(&Transform { scale_time: Some(1.0), busiest_s: Some(0.001), ..no_transform() }).unwrap();
    assert_eq!(shape(&requests(&changed)), [(0, 801, 1), (0, 25, 4)]);
    let notes = changed.notes.join("\n");
    assert!(notes.contains("busiest 0.001 s: from 0.002 s on, 2 requests") && !notes.contains("window from"), "{notes}");
    let rows = describe(file.to_str().unwrap()).unwrap().rows;
    let row = rows.iter().find(|row| row.key == "scale_size").unwrap();
    assert_eq!((row.section.as_str(), row.value.as_str().unwrap(), row.source.as_str()), ("transform", "0.5", "to halve it"));
    for (from, to, line, expected) in [
        ("scale_time = 2", "scale_time = 0", 7, "[transform] `scale_time` is 0; expected a factor"),
        ("scale_time = 2", "scale_tiem = 2", 7, "did you mean `scale_time`?"),
        ("scale_time = 2", "fit = \"flod\"", 7, "did you mean `fold`?"),
        ("[0.001, 0.01]", "[0.01, 0.001]", 6, "[transform] `window_s` is [0.01, 0.001]"),
        ("[0.001, 0.01]", "[0.001]", 6, "[transform] `window_s`"),
    ] {
        let faulty = folder.file("faulty.toml", text.replace(from, to));
        let message = check_file(&faulty).unwrap_err().to_string();
        assert!(message.contains(&format!("faulty.toml:{line}: ")) && message.contains(expected), "{message}");
    }
    let empty = folder.file("empty.toml", text.replace("[0.001, 0.01]", "[1, 2]"));
    assert!(resolve(&empty, &TraceOptions::default()).unwrap_err().to_string().contains("no request is between 1 s and 2 s"));
}

#[test]
fn a_transformed_request_beyond_the_drive_is_an_error() {
    let folder = Folder::new("beyond");
    let workload = resolve(&folder.file("t", LINES), &microseconds()).unwrap();
    let drive = |logical_sectors| SourceContext { logical_sectors, mapped_sectors: 0 };
    let slow = workload.clone().transformed(&Transform { scale_time: Some(2.0), ..no_transform() }).unwrap();
    assert_eq!(slow.check_fits(4160), Ok(()));
    let message = slow.check_fits(4159).unwrap_err().to_string();
    assert!(message.contains("request 4 ends at byte 2129920, beyond the drive's 2129408 bytes; --fit fold"), "{message}");
    // A window without the request fits.
    let window = workload.clone().transformed(&Transform { window_s: Some((0.0, 0.005)), ..no_transform() }).unwrap();
    assert_eq!(window.check_fits(900), Ok(()));
    assert_eq!(requests_on(&window, drive(900)).unwrap().len(), 3);
    let folded = workload.transformed(&Transform { fit: Some(Fit::Clip), ..no_transform() }).unwrap();
    assert_eq!(folded.check_fits(900), Ok(()));
    assert_eq!(requests_on(&folded, drive(900)).unwrap().len(), 3);
}

#[test]
fn tenants_share_a_drive() {
    let folder = Folder::new("tenants");
    folder.file("a", "0 0 8 8 1\n30 0 16 8 0\n60 0 24 8 1\n");
    folder.file("b", "100 0 0 4096 1\n130 0 5000 8 0\n");
    let tenants =
        "summary = \"s\"\n[tenants.web.trace]\nfile = \"a\"\ntime_unit = \"us\"\n[tenants.log.trace]\nfile = \"b\"\ntime_unit = \"us\"\n";
    let file = folder.file("w.toml", tenants);
    let workload = resolve(&file, &TraceOptions::default()).unwrap();
    assert_eq!((workload.input, workload.request_count_hint()), (InputKind::Real, Some(5)));
    // In the order of their names: log ends at sector 5008, and web begins at the next MiB.
    let expected = [(0, 0, 4096), (0, 6152, 8), (30_000, 5000, 8), (30_000, 6160, 8), (60_000, 6168, 8)];
    assert_eq!(shape(&requests(&workload)), expected);
    assert_eq!(requests(&workload).iter().map(|arrival| arrival.queue).collect::<Vec<_>>(), [0, 1, 0, 1, 1]);
    assert_eq!(workload.end_sector(), Some(6176));
    assert!(workload.detail.starts_with("2 traces merged: log ("), "{}", workload.detail);
    assert!(workload.notes.iter().any(|note| note == "web: times in us, from the workload w"), "{:?}", workload.notes);
    assert!(resolve(&file, &microseconds()).unwrap_err().to_string().contains("the file of this workload gives them"));

    let own = tenants.to_owned()
        + "[tenants.web.transform]\nscale_time = 2\noffset_bytes = 0\n[tenants.log.transform]\noffset_bytes = 1048576\nregion_bytes = 4096\nfit = \"fold\"\n\
           [transform]\nrepeat = 2\n";
    let workload = resolve(&folder.file("own.toml", own), &TraceOptions::default()).unwrap();
    let arrivals = requests(&workload);
    let round = [(0, 2048, 8), (0, 8, 8), (30_000, 2048, 8), (60_000, 16, 8), (120_000, 24, 8)];
    assert_eq!(shape(&arrivals[..5]), round);
    assert_eq!(shape(&arrivals[5..]), round.map(|(at, sector, sectors)| (at + 150_000, sector, sectors)));
    let mut source = workload.source(1, &DRIVE, None).unwrap();
    let mut all = Vec::new();
    while source.fill(&mut all, 64).unwrap() > 0 {}
    let notes = said(source.as_ref());
    assert!(notes.contains("log: folded: 4 of 4 requests"), "both rounds count: {notes}");
    let merged = folder.path("merged.trace");
    workload.convert(&merged, 1, None, false).unwrap();
    assert_eq!(requests(&resolve(&merged, &TraceOptions::default()).unwrap()), on_one_queue(&arrivals));

    let faulty = |text: &str| resolve(&folder.file("faulty.toml", text), &TraceOptions::default()).unwrap_err().to_string();
    let message = faulty(&(tenants.to_owned() + "[tenants.web.transform]\nfit = \"fold\"\n"));
    assert!(message.contains("`web`: `fit` of a tenant needs `region_bytes`"), "{message}");
    let message = faulty(&(tenants.to_owned() + "[tenants.web.transform]\nrepeat = 0\n"));
    assert!(message.contains(":9: [tenants.web.transform] `repeat` is 0"), "{message}");
    let message = faulty("summary = \"s\"\n[tenants.web.trace]\ntime_unit = \"us\"\n");
    assert!(message.contains(":2: [tenants.web.trace] `file` is missing"), "{message}");
}

#[test]
fn a_stand_in_can_be_fitted_to_a_small_drive() {
    let workload = Workload::resolve_in("standin-dtrs", &TraceOptions::default(), None).unwrap();
    let small = SourceContext { logical_sectors: 1 << 21, mapped_sectors: 1 << 20 };
    let fold = Transform { fit: Some(Fit::Fold), busiest_s: Some(10.0), ..no_transform() };
    let folded = workload.transformed(&fold).unwrap();
    assert_eq!((folded.input, folded.check_fits(small.logical_sectors)), (InputKind::StandIn, Ok(())));
    let mut source = folded.source(3, &small, None).unwrap();
    let mut arrivals = Vec::new();
    while source.fill(&mut arrivals, 64).unwrap() > 0 {}
    assert!(arrivals.len() > 4235 && arrivals[arrivals.len() - 1].at < 10_000_000_000, "{}", arrivals.len());
    let notes = said(source.as_ref());
    assert!(notes.contains("busiest 10 s: from ") && notes.contains("folded: "), "{notes}");
}

#[test]
fn what_is_made_by_rule_has_no_transforms() {
    let workload = Workload::resolve_in("zipf", &TraceOptions::default(), None).unwrap();
    let message = workload.transformed(&Transform { repeat: Some(2), ..no_transform() }).unwrap_err().to_string();
    assert!(message.contains("apply to traces and stand-ins"), "{message}");
    let folder = Folder::new("rule");
    let text = "summary = \"s\"\n[synthetic]\nqueue_depth = 4\nblock_bytes = 4096\nread_share = 0.7\naddresses = \"uniform\"\nrequests = 10\n\
                [transform]\nrepeat = 2\n";
    let message = check_file(&folder.file("w.toml", text)).unwrap_err().to_string();
    assert!(message.contains(":8: `transform` applies to traces and stand-ins"), "{message}");
}

/// What is said of formats and what is done to requests go together, whatever the format.
#[test]
fn every_format_is_transformed_and_written() {
    let folder = Folder::new("formats");
    let fio = folder.file("log", "fio version 3 iolog\n0 /dev/a write 0 4096\n1000 /dev/b read 8192 4096\n3000 /dev/a read 4096 4096\n");
    let options = TraceOptions { trace_device: Some("/dev/a".into()), ..TraceOptions::default() };
    let late = Transform { window_s: Some((0.002, 1.0)), offset_bytes: Some(1 << 20), ..no_transform() };
    let kept = resolve(&fio, &options).unwrap().transformed(&late).unwrap();
    assert_eq!(shape(&requests(&kept)), [(0, 2056, 8)]);
    // Reordered lines, whose bursts are found where they belong.
    let late_lines = folder.file("late.csv", "1,R,0,4096,3000000\n1,W,4096,4096,1000000\n1,R,8192,512,1000100\n");
    let busiest = Transform { busiest_s: Some(0.001), ..no_transform() };
    let workload = resolve(&late_lines, &TraceOptions { format: Some("alibaba".into()), ..TraceOptions::default() });
    let workload = workload.unwrap().transformed(&busiest).unwrap();
    assert_eq!(shape(&requests(&workload)), [(0, 8, 8), (100_000, 16, 1)]);
    let out = folder.path("out.zst");
    workload.convert(&out, 1, None, false).unwrap();
    assert_eq!(requests(&resolve(&out, &TraceOptions::default()).unwrap()), requests(&workload));
    // What is said of a trace is said of what becomes of it.
    let trace = Trace::open(&fio, &options).unwrap();
    let info = trace.info_transformed(&Transform { repeat: Some(3), scale_time: Some(2.0), ..no_transform() }).unwrap();
    assert_eq!((info.characteristics.requests, info.devices.len()), (6, 1));
    assert!(info.notes.iter().any(|note| note == "times multiplied by 2"), "{:?}", info.notes);
    let message = trace.info_transformed(&Transform { fit: Some(Fit::Clip), ..no_transform() }).unwrap_err().to_string();
    assert!(message.contains("give the region"), "{message}");
}

#[test]
fn a_trace_in_closed_loop_stays_so() {
    let folder = Folder::new("closed");
    let timeless = folder.file("log", "fio version 2 iolog\n/dev/a write 0 4096\n/dev/a read 8192 4096\n");
    let message = resolve(&timeless, &TraceOptions::default()).unwrap_err().to_string();
    assert!(message.contains("--queue-depth"), "{message}");
    let deep = TraceOptions { queue_depth: Some(4), ..TraceOptions::default() };
    for (path, options) in
        [(timeless.clone(), deep.clone()), (folder.file("in", LINES), TraceOptions { queue_depth: Some(4), ..microseconds() })]
    {
        let workload = resolve(&path, &options).unwrap();
        let thrice = workload.clone().transformed(&Transform { repeat: Some(3), ..no_transform() }).unwrap();
        assert_eq!((thrice.pacing, requests(&thrice).len()), (Pacing::Closed { depth: 4 }, 3 * requests(&workload).len()));
        let out = folder.path("out");
        workload.convert(&out, 1, None, true).unwrap();
        let back = resolve(&out, &TraceOptions::default()).unwrap();
        assert_eq!((back.pacing, requests(&back)), (workload.pacing, requests(&workload)));
        let faster = Transform { scale_time: Some(0.5), ..no_transform() };
        let message = workload.clone().transformed(&faster).unwrap_err().to_string();
        assert!(message.contains("`scale_time` is about times"), "{message}");
        // A part of the recorded time can be played at any pace, if there are times.
        let window = workload.transformed(&Transform { window_s: Some((0.001, 1.0)), ..no_transform() });
        match path == timeless {
            true => assert!(window.unwrap_err().to_string().contains("`window_s` is about times"), "no times, no window"),
            false => assert_eq!(requests(&window.unwrap()).len(), 3),
        }
    }
    let repeated = Trace::open(&timeless, &deep).unwrap().info_transformed(&Transform { repeat: Some(9), ..no_transform() }).unwrap();
    assert_eq!((repeated.characteristics.requests, repeated.characteristics.duration_s), (18, 0.0));
    let tenant = "summary = \"s\"\n[tenants.web.trace]\nfile = \"log\"\nqueue_depth = 4\n";
    let message = resolve(&folder.file("w.toml", tenant), &TraceOptions::default()).unwrap_err().to_string();
    assert!(message.contains("`web`: tenants are merged in order of their times"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(8)))]

    #[test]
    fn any_requests_are_written_and_read_back(
        lines in proptest::collection::vec((0_u64..1 << 20, 0_u64..1 << 53, 1_u32.., 0_u8..3), 1..60), kind in 0_usize..3,
    ) {
        let folder = Folder::new("any");
        let mut time = 0;
        let line = |&(gap, sector, sectors, op): &(u64, u64, u32, u8)| {
            time += gap;
            format!("{time} 0 {sector} {sectors} {op}\n")
        };
        let text: String = lines.iter().map(line).collect();
        let ops = Some("write=0,read=1,trim=2".parse().unwrap());
        let options = TraceOptions { time_unit: Some("ns".parse().unwrap()), ops, ..TraceOptions::default() };
        let workload = resolve(&folder.file("in", text), &options).unwrap();
        let any_drive = SourceContext { logical_sectors: u64::MAX, mapped_sectors: 0 };
        let out = folder.path(["out", "out.zst", "out.gz"][kind]);
        workload.convert(&out, 1, None, false).unwrap();
        let back = resolve(&out, &TraceOptions::default()).unwrap();
        prop_assert_eq!(requests_on(&back, any_drive).unwrap(), requests_on(&workload, any_drive).unwrap());
    }
}
