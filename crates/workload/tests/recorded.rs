//! The recorded traces, held against what their README says of them. They are in the folder that TINYTAIL_TRACES names.

use std::path::{Path, PathBuf};

use crate::support::Folder;
use tinytail_core::commands::CommandKind;
use tinytail_workload::{Event, Trace, TraceOptions, Workload};

/// What the README says of a trace, and what must be given to read it.
struct Recorded {
    name: &'static str,
    format: &'static str,
    /// The options that the format leaves open, as in a sidecar file.
    given: &'static str,
    requests: u64,
    write_percent: f64,
    duration_s: f64,
    /// Mean size of the reads and of the writes in KiB; 0 where there are none.
    mean_kib: (f64, f64),
    sequential_percent: Option<f64>,
}

#[rustfmt::skip]
const RECORDED: [Recorded; 30] = [
    Recorded { name: "DTRS1K.trace", format: "ascii", given: "us", requests: 127_043, write_percent: 11.0, duration_s: 300.0, mean_kib: (55.6, 53.4), sequential_percent: Some(84.7) },
    Recorded { name: "MSNStorageFileServer-sample.csv", format: "etw", given: "", requests: 927, write_percent: 18.0, duration_s: 1.5, mean_kib: (9.3, 19.0), sequential_percent: None },
    Recorded { name: "prxy_sample.csv", format: "msr", given: "", requests: 20_000, write_percent: 98.3, duration_s: 938.8, mean_kib: (17.7, 2.3), sequential_percent: Some(79.9) },
    Recorded { name: "hm_0.csv", format: "msr", given: "", requests: 7_016, write_percent: 17.0, duration_s: 148.4, mean_kib: (13.0, 5.8), sequential_percent: Some(25.5) },
    Recorded { name: "msr-cambridge1-sample.csv", format: "msr", given: "", requests: 1_000, write_percent: 49.2, duration_s: 127.2, mean_kib: (11.7, 7.1), sequential_percent: Some(24.4) },
    Recorded { name: "rsrch_1.csv", format: "msr", given: "", requests: 13_780, write_percent: 99.7, duration_s: 576_558.0, mean_kib: (13.2, 12.2), sequential_percent: Some(24.2) },
    Recorded { name: "wdev_1.csv", format: "msr", given: "", requests: 1_055, write_percent: 100.0, duration_s: 595_003.0, mean_kib: (0.0, 5.1), sequential_percent: Some(56.9) },
    Recorded { name: "wdev_3.csv", format: "msr", given: "", requests: 682, write_percent: 98.4, duration_s: 596_962.0, mean_kib: (63.3, 4.4), sequential_percent: Some(58.7) },
    Recorded { name: "msr.cut.per_10k.rw_20_80.105.trace", format: "ascii", given: "ms bytes", requests: 10_000, write_percent: 79.8, duration_s: 242.9, mean_kib: (1.8, 6.2), sequential_percent: Some(22.8) },
    Recorded { name: "msr.cut.per_10k.most_thpt_rand_iops.1006.trace", format: "ascii", given: "ms bytes", requests: 10_000, write_percent: 16.8, duration_s: 1.0, mean_kib: (4.2, 54.9), sequential_percent: Some(33.2) },
    Recorded { name: "Financial1-snippet.spc", format: "spc", given: "", requests: 10_000, write_percent: 59.2, duration_s: 259.6, mean_kib: (6.1, 4.9), sequential_percent: Some(52.3) },
    Recorded { name: "wsrch-small.trace", format: "ascii", given: "ns", requests: 24_783, write_percent: 0.0, duration_s: 60.1, mean_kib: (15.1, 8.0), sequential_percent: Some(29.0) },
    Recorded { name: "tpcc-small.trace", format: "ascii", given: "ns", requests: 6_999, write_percent: 37.4, duration_s: 0.136, mean_kib: (8.1, 8.7), sequential_percent: Some(0.8) },
    Recorded { name: "cheetah.cs.fiu.edu-110108-113008.1_sample_10000_lines", format: "fiu", given: "", requests: 9_998, write_percent: 11.0, duration_s: 23.6, mean_kib: (4.0, 4.0), sequential_percent: Some(95.5) },
    Recorded { name: "ssdtrace-sample", format: "blkparse", given: "", requests: 1_694, write_percent: 0.0, duration_s: 0.7, mean_kib: (114.0, 0.0), sequential_percent: Some(1.9) },
    Recorded { name: "blkparseout_ext4.txt", format: "blkparse", given: "", requests: 9_886, write_percent: 8.6, duration_s: 810.0, mean_kib: (113.0, 290.0), sequential_percent: Some(50.3) },
    Recorded { name: "blkparseout_f2fs.txt", format: "blkparse", given: "", requests: 5_727, write_percent: 17.5, duration_s: 1_651.0, mean_kib: (111.0, 427.0), sequential_percent: Some(55.7) },
    Recorded { name: "blkparseout_btrfs.txt", format: "blkparse", given: "", requests: 1_824, write_percent: 28.7, duration_s: 1_071.0, mean_kib: (789.0, 479.0), sequential_percent: Some(66.0) },
    Recorded { name: "blkparse-events-for-ftlsim.sqlitewal-update.txt", format: "wiscsee", given: "", requests: 5_008, write_percent: 99.9, duration_s: 1.4, mean_kib: (4.0, 13.5), sequential_percent: Some(13.3) },
    Recorded { name: "ssd-iozone-aligned2-100K.trace", format: "ascii", given: "ms", requests: 100_000, write_percent: 100.0, duration_s: 936.0, mean_kib: (0.0, 360.0), sequential_percent: Some(56.1) },
    Recorded { name: "ssd-postmark-aligned2.trace", format: "ascii", given: "ms", requests: 62_257, write_percent: 16.8, duration_s: 490.0, mean_kib: (98.8, 833.0), sequential_percent: Some(79.9) },
    Recorded { name: "pcmark", format: "ascii", given: "ms", requests: 56_088, write_percent: 25.4, duration_s: 1_466.0, mean_kib: (76.9, 212.0), sequential_percent: Some(51.6) },
    Recorded { name: "trace_opt_7b_mqsim_512tok_cache_drop.txt", format: "ascii", given: "ns", requests: 36_873, write_percent: 13.6, duration_s: 34.3, mean_kib: (96.6, 474.0), sequential_percent: Some(80.6) },
    Recorded { name: "tencent.cut.per_50k.most_rand_iops.537.trace", format: "flashnet", given: "", requests: 50_000, write_percent: 17.9, duration_s: 54.0, mean_kib: (8.5, 11.2), sequential_percent: None },
    Recorded { name: "tencent.cut.per_50k.most_size_thpt.222.trace", format: "flashnet", given: "", requests: 50_000, write_percent: 16.7, duration_s: 77.0, mean_kib: (28.9, 5.5), sequential_percent: None },
    Recorded { name: "tencent.cut.per_50k.rw_60_40.490.trace", format: "flashnet", given: "", requests: 50_000, write_percent: 40.0, duration_s: 147.0, mean_kib: (11.6, 12.0), sequential_percent: None },
    Recorded { name: "tencent.cut.per_50k.rw_65_35.211.trace", format: "flashnet", given: "", requests: 50_000, write_percent: 34.1, duration_s: 132.0, mean_kib: (10.7, 11.8), sequential_percent: None },
    Recorded { name: "cloud_storage-sample.txt", format: "tencent", given: "", requests: 50_000, write_percent: 51.0, duration_s: 1.0, mean_kib: (25.8, 33.4), sequential_percent: None },
    Recorded { name: "ssdTrace-only-write.txt", format: "ascii", given: "depth", requests: 87_487, write_percent: 100.0, duration_s: 0.0, mean_kib: (0.0, 81.4), sequential_percent: None },
    Recorded { name: "systor17-traces-sample.csv", format: "systor", given: "", requests: 999, write_percent: 17.3, duration_s: 2.4, mean_kib: (43.0, 15.6), sequential_percent: None },
];

impl Recorded {
    fn options(&self) -> TraceOptions {
        let mut options = TraceOptions::default();
        for word in self.given.split_ascii_whitespace() {
            match word {
                "bytes" => options.unit = Some("bytes".parse().unwrap()),
                "depth" => options.queue_depth = Some(16),
                unit => options.time_unit = Some(unit.parse().unwrap()),
            }
        }
        options
    }
}

/// Where a trace is, or nothing, said aloud, if it is not there.
fn find(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TINYTAIL_TRACES").map(PathBuf::from) else {
        eprintln!("SKIPPED: set TINYTAIL_TRACES to the folder with the recorded traces to test them");
        return None;
    };
    let path = folder.join(format!("{name}.zst"));
    if !path.is_file() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn notes(name: &str, options: &TraceOptions) -> Option<String> {
    find(name).map(|path| Trace::open(&path, options).unwrap().notes().join("\n"))
}

#[test]
fn recorded_traces_are_as_their_readme_says() {
    for recorded in &RECORDED {
        let name = recorded.name;
        let Some(path) = find(name) else { continue };
        let info = Trace::open(&path, &recorded.options()).unwrap_or_else(|error| panic!("{error}")).info().unwrap();
        assert_eq!(info.format, recorded.format, "{name}");
        let found = info.characteristics;
        assert_eq!(found.requests, recorded.requests, "{name}");
        // Only Tencent's times are whole seconds, or so coarse at all.
        let is_coarse = name.starts_with("tencent.") || name.starts_with("cloud_storage");
        let resolutions: Vec<f64> = info.findings.iter().map(|finding| finding.figures["resolution_s"]).collect();
        assert_eq!(resolutions, if is_coarse { vec![1.0] } else { vec![] }, "{name}");
        for (what, found, said) in [
            ("writes", found.write_percent, recorded.write_percent),
            ("seconds", found.duration_s, recorded.duration_s),
            ("KiB read", found.read.mean_kib, recorded.mean_kib.0),
            ("KiB written", found.write.mean_kib, recorded.mean_kib.1),
            ("sequential", found.sequential_percent, recorded.sequential_percent.unwrap_or(found.sequential_percent)),
        ] {
            assert!((found - said).abs() <= said * 0.006 + 0.06, "{name}, {what}: {found} for {said}");
        }
    }
}

#[test]
fn recorded_traces_play_to_their_last_request() {
    for recorded in &RECORDED {
        let Some(path) = find(recorded.name) else { continue };
        let workload = Workload::resolve(path.to_str().unwrap(), &recorded.options()).unwrap_or_else(|error| panic!("{error}"));
        let drive = tinytail_workload::SourceContext { logical_sectors: 1 << 50, mapped_sectors: 0 };
        let mut source = workload.source(0, &drive, None).unwrap();
        let (mut batch, mut played, mut last_at) = (Vec::new(), 0, 0);
        while source.fill(&mut batch, 256).unwrap() > 0 {
            for arrival in batch.drain(..) {
                assert!(arrival.at >= last_at, "{}", recorded.name);
                last_at = arrival.at;
                played += 1;
            }
        }
        assert_eq!(played, recorded.requests, "{}", recorded.name);
    }
}

/// The latencies, in nanoseconds, of the reads or writes of a trace, in order; how many requests of the kind have none.
fn latencies(path: &Path, kind: CommandKind) -> (Vec<u64>, usize) {
    let workload = Workload::resolve(path.to_str().unwrap(), &TraceOptions::default()).unwrap();
    let drive = tinytail_workload::SourceContext { logical_sectors: 1 << 50, mapped_sectors: 0 };
    let mut source = workload.source(0, &drive, None).unwrap();
    let mut arrivals = Vec::new();
    while source.fill(&mut arrivals, 256).unwrap() > 0 {}
    arrivals.retain(|arrival| arrival.command.kind == kind);
    let mut found: Vec<u64> = arrivals.iter().filter_map(|arrival| arrival.latency_ns).collect();
    found.sort_unstable();
    let missing = arrivals.len() - found.len();
    (found, missing)
}

/// p50, p95, p99 and p99.9 in whole microseconds: the README has those of the replays of Tencent's traces, for the others they
/// were computed from the files by other means.
#[test]
fn recorded_latencies_are_as_the_readme_says() {
    use CommandKind::{Read, Write};
    for (name, kind, percentiles_us, missing) in [
        ("tencent.cut.per_50k.most_rand_iops.537.trace", Read, [1416, 3609, 4777, 8950], 0),
        ("tencent.cut.per_50k.most_rand_iops.537.trace", Write, [171, 1560, 2768, 10838], 0),
        ("tencent.cut.per_50k.most_size_thpt.222.trace", Read, [1879, 4658, 7453, 10125], 0),
        ("tencent.cut.per_50k.most_size_thpt.222.trace", Write, [603, 1754, 3827, 8791], 0),
        ("tencent.cut.per_50k.rw_60_40.490.trace", Read, [1504, 3605, 5515, 11852], 0),
        ("tencent.cut.per_50k.rw_60_40.490.trace", Write, [210, 1262, 2212, 3645], 0),
        ("tencent.cut.per_50k.rw_65_35.211.trace", Read, [1486, 3461, 4901, 11458], 0),
        ("tencent.cut.per_50k.rw_65_35.211.trace", Write, [168, 1221, 2070, 3026], 0),
        ("hm_0.csv", Read, [116, 9224, 19204, 37063], 0),
        ("hm_0.csv", Write, [112, 279, 389, 12737], 0),
        ("prxy_sample.csv", Read, [787, 7089, 9523, 19254], 0),
        ("MSNStorageFileServer-sample.csv", Read, [4518, 7180, 9251, 27387], 0),
        ("MSNStorageFileServer-sample.csv", Write, [184, 454, 486, 497], 0),
        ("systor17-traces-sample.csv", Read, [3675, 13150, 29275, 73935], 0),
        ("systor17-traces-sample.csv", Write, [139, 1024, 1363, 1545], 0),
        // Its completions stand before their requests here and there.
        ("blkparseout_f2fs.txt", Read, [1338, 3056, 7340, 14322], 0),
        ("blkparseout_f2fs.txt", Write, [1333, 55449, 61003, 64309], 0),
        ("ssdtrace-sample", Read, [140, 232, 438, 2588], 0),
        ("blkparse-events-for-ftlsim.sqlitewal-update.txt", Write, [150, 896, 947, 1034], 16),
    ] {
        let Some(path) = find(name) else { continue };
        let (sorted, found_missing) = latencies(&path, kind);
        let percentile = |share: f64| sorted[(share * sorted.len() as f64).ceil() as usize - 1] / 1_000;
        let found_us = [0.5, 0.95, 0.99, 0.999].map(percentile);
        // The README's are between the two requests that a percentile lies between.
        let is_near = |(found, said): (u64, u64)| found.abs_diff(said) <= 1 + said / 500;
        assert!(found_us.into_iter().zip(percentiles_us).all(is_near), "{name}, {kind:?}: {found_us:?} for {percentiles_us:?}");
        assert_eq!(found_missing, missing, "{name}, {kind:?}");
    }
}

/// Every recorded trace that is read is written and read back as it is.
#[test]
fn recorded_traces_are_converted_without_loss() {
    let folder = Folder::new("recorded-conversion");
    for recorded in &RECORDED {
        let Some(path) = find(recorded.name) else { continue };
        let out = folder.0.join(recorded.name);
        let workload = Workload::resolve(path.to_str().unwrap(), &recorded.options()).unwrap();
        workload.convert(&out, 1, None, false).unwrap_or_else(|error| panic!("{error}"));
        let info = |path: &Path, options: &TraceOptions| Trace::open(path, options).unwrap().info().unwrap().characteristics;
        assert_eq!(info(&out, &TraceOptions::default()), info(&path, &recorded.options()), "{}", recorded.name);
    }
}

#[test]
fn what_recorded_traces_hold_besides_is_said() {
    let none = TraceOptions::default();
    for (name, parts) in [
        (
            "blkparseout_ext4.txt",
            &[
                "9,888 I events, 9,887 C events, 1 event from before the trace's clock (by wrapped times) and",
                "lines of statistics",
                "3,712 requests after later ones, by up to 47.2 ms;",
            ][..],
        ),
        ("ssdtrace-sample", &["1,695 Q events, 1,695 G events, 1,528 U events, 1,694 I events and 1,694 C events"]),
        ("systor17-traces-sample.csv", &["1 header line", "287 requests after later ones, by up to 67.6 ms;"]),
        ("cloud_storage-sample.txt", &["1,297 requests after later ones, by up to 1.00 s;", "2,038 devices laid one after another"]),
        (
            "cheetah.cs.fiu.edu-110108-113008.1_sample_10000_lines",
            &["in a tar archive, as cheetah.cs.fiu.edu-110108-113008.2.blkparse", "the archive is cut off", "5,069 NUL bytes"],
        ),
        ("blkparse-events-for-ftlsim.sqlitewal-update.txt", &["not played: 4,992 C events"]),
        ("MSNStorageFileServer-sample.csv", &["73 header lines", "requests after later ones", "4 devices laid"]),
    ] {
        let Some(notes) = notes(name, &none) else { continue };
        for part in parts {
            assert!(notes.contains(part), "{name}: {part} in {notes}");
        }
    }
}

#[test]
fn the_queue_events_of_a_recorded_trace_can_be_asked_for() {
    let queued = TraceOptions { event: Some(Event::Queued), ..TraceOptions::default() };
    if let Some(path) = find("ssdtrace-sample") {
        assert_eq!(Trace::open(&path, &queued).unwrap().requests(), 1_695);
    }
    if let Some(path) = find("blkparseout_f2fs.txt") {
        let error = Trace::open(&path, &queued).unwrap_err().to_string();
        assert!(error.contains("no line of it is a request that can be played; there are 5,727 I events, 5,727 D events"), "{error}");
    }
}

#[test]
fn times_that_mean_nothing_are_not_played() {
    let Some(path) = find("ssdTrace-only-write.txt") else { return };
    let error = Workload::resolve(path.to_str().unwrap(), &TraceOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the unit of its times is not stated"), "{error}");
    assert!(error.contains("if its times mean nothing, play it in closed loop with --queue-depth N"), "{error}");
}
