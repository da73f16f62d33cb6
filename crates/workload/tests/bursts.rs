//! Bursts made of traces, of stand-ins and of tenants, and what they refuse.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::support::Folder;
use tinytail_workload::{
    Arrival, BurstGap, MeanGap, Pacing, SourceContext, Trace, TraceOptions, Transform, Workload, WorkloadError, check_file, describe,
};

const DRIVE: SourceContext = SourceContext { logical_sectors: 1 << 50, mapped_sectors: 1 << 30 };
const MEAN: BurstGap = BurstGap::Named(MeanGap::Mean);

/// In microseconds: bursts of a write of 2 pages and a read, of a read, and of two writes of one page.
const LINES: &str = "0 0 0 16 0\n10 0 800 8 1\n900 0 24 8 1\n2000 0 0 8 0\n2000 0 8 8 0\n";

fn microseconds() -> TraceOptions {
    TraceOptions { time_unit: Some("us".parse().unwrap()), ..TraceOptions::default() }
}

fn gap(gap: BurstGap) -> Transform {
    Transform { burst_gap_s: Some(gap), ..Transform::default() }
}

fn resolve(path: &Path, options: &TraceOptions) -> Result<Workload, WorkloadError> {
    Workload::resolve_in(path.to_str().unwrap(), options, None)
}

fn requests(workload: &Workload) -> Vec<Arrival> {
    let mut source = workload.source(1, &DRIVE, None).unwrap();
    let mut arrivals = Vec::new();
    while source.fill(&mut arrivals, 7).unwrap() > 0 {}
    arrivals
}

fn times(workload: &Workload) -> Vec<u64> {
    requests(workload).iter().map(|arrival| arrival.at).collect()
}

#[test]
fn a_trace_is_played_in_bursts() {
    let folder = Folder::new("bursts-trace");
    let path = folder.file("t", LINES);
    let bursts = resolve(&path, &microseconds()).unwrap().transformed(&gap(BurstGap::Seconds(0.0005))).unwrap();
    assert_eq!(bursts.pacing, Pacing::Bursts);
    assert_eq!(times(&bursts), [0, 0, 890_000, 1_990_000, 1_990_000]);
    let note = bursts.notes.iter().find(|note| note.starts_with("bursts: ")).unwrap();
    assert!(note.contains("requests less than 500.000 us apart come at once"), "{note}");
    assert!(note.contains("makes 3 bursts of 1.7 requests"), "{note}");
    // The mean time is 500 us as well, and a time as long as the gap begins a burst.
    assert_eq!(times(&resolve(&path, &microseconds()).unwrap().transformed(&gap(MEAN)).unwrap()), times(&bursts));
    let longer = Transform { scale_time: Some(2.0), repeat: Some(2), ..gap(BurstGap::Seconds(0.001)) };
    let twice = times(&resolve(&path, &microseconds()).unwrap().transformed(&longer).unwrap());
    assert_eq!(twice[..5], [0, 0, 0, 2_200_000, 2_200_000]);
    assert_eq!(twice[5], 2_200_000 + 2_200_000 / 4, "a round begins a mean time after the last request");
}

#[test]
fn trace_info_says_what_the_bursts_are_like() {
    let folder = Folder::new("bursts-info");
    let trace = Trace::open(&folder.file("t", LINES), &microseconds()).unwrap();
    assert_eq!(trace.info().unwrap().bursts, None);
    let info = trace.info_transformed(&gap(MEAN)).unwrap();
    let bursts = info.bursts.unwrap();
    assert_eq!((bursts.gap_s, bursts.bursts, bursts.written_pages_max), (0.0005, 3, 2));
    assert!((bursts.idle_s_mean - 0.000_995).abs() < 1e-12, "{bursts:?}");
    assert!((bursts.written_pages_mean - 4.0 / 3.0).abs() < 1e-9 && (bursts.pages_mean - 2.0).abs() < 1e-9, "{bursts:?}");
    assert!((bursts.writing_percent - 200.0 / 3.0).abs() < 1e-9, "{bursts:?}");
    assert!(info.notes.iter().any(|note| note.starts_with("bursts: ")), "{:?}", info.notes);
    // A repetition's rounds are bursts like the others.
    let thrice = trace.info_transformed(&Transform { repeat: Some(3), ..gap(MEAN) }).unwrap();
    assert_eq!(thrice.bursts.unwrap().bursts, 9);
}

#[test]
fn workload_files_state_the_gap() {
    let folder = Folder::new("bursts-file");
    folder.file("t", LINES);
    let file = |gap: &str| {
        folder.file("w.toml", format!("summary = \"s\"\n[trace]\nfile = \"t\"\ntime_unit = \"us\"\n[transform]\nburst_gap_s = {gap}\n"))
    };
    for written in ["\"mean\"", "{ value = \"mean\", source = \"s\" }", "0.0005", "{ value = 0.0005, source = \"s\" }"] {
        let workload = resolve(&file(written), &TraceOptions::default()).unwrap();
        assert_eq!((workload.pacing, times(&workload)[2]), (Pacing::Bursts, 890_000), "{written}");
    }
    // What is said with the run goes before the file.
    let workload = resolve(&file("\"mean\""), &TraceOptions::default()).unwrap().transformed(&gap(BurstGap::Seconds(0.001))).unwrap();
    assert_eq!(times(&workload), [0, 0, 0, 1_100_000, 1_100_000]);
    for (written, expected) in [
        ("0", ":6: [transform] `burst_gap_s` is 0; expected a time in seconds, above 0"),
        ("-1.5", "[transform] `burst_gap_s` is -1.5"),
        ("\"median\"", ":6: [transform] `burst_gap_s` is \"median\": expected a number of seconds, or \"mean\""),
        ("true", "a number of seconds, or \"mean\""),
    ] {
        let message = check_file(&file(written)).unwrap_err().to_string();
        assert!(message.contains(expected), "{written}: {message}");
    }
}

#[test]
fn what_has_no_bursts_is_refused() {
    let folder = Folder::new("bursts-refused");
    let path = folder.file("t", LINES);
    let message = resolve(&path, &microseconds()).unwrap().transformed(&gap(BurstGap::Seconds(0.002))).unwrap_err().to_string();
    assert!(message.contains("`burst_gap_s` of 2.00 ms leaves one burst of 5 requests: the longest time"), "{message}");
    // In closed loop, and without times.
    let deep = TraceOptions { queue_depth: Some(4), ..microseconds() };
    let message = resolve(&path, &deep).unwrap().transformed(&gap(MEAN)).unwrap_err().to_string();
    assert!(message.contains("`burst_gap_s` is about times, and in closed loop"), "{message}");
    let timeless = folder.file("log", "fio version 2 iolog\n/dev/a write 0 4096\n/dev/a read 8192 4096\n");
    let deep = TraceOptions { queue_depth: Some(4), ..TraceOptions::default() };
    let message = resolve(&timeless, &deep).unwrap().transformed(&gap(MEAN)).unwrap_err().to_string();
    assert!(message.contains("`burst_gap_s` is about times, and this trace has no times"), "{message}");
    // Written down, bursts would be requests at their own times.
    let bursts = resolve(&path, &microseconds()).unwrap().transformed(&gap(MEAN)).unwrap();
    let message = bursts.convert(&folder.0.join("out"), 1, None, false).unwrap_err().to_string();
    assert!(message.contains("write a trace without `burst_gap_s`"), "{message}");
    assert!(!folder.0.join("out").exists());
}

#[test]
fn tenants_have_bursts_together_or_none() {
    let folder = Folder::new("bursts-tenants");
    folder.file("a", LINES);
    folder.file("b", "0 0 0 8 0\n1000 0 8 8 0\n");
    let tenants =
        "summary = \"s\"\n[tenants.a.trace]\nfile = \"a\"\ntime_unit = \"us\"\n[tenants.b.trace]\nfile = \"b\"\ntime_unit = \"us\"\n";
    let of_one = tenants.to_owned() + "[tenants.a.transform]\nburst_gap_s = \"mean\"\n";
    let message = resolve(&folder.file("one.toml", of_one), &TraceOptions::default()).unwrap_err().to_string();
    assert!(message.contains("`burst_gap_s` is no transform of a tenant"), "{message}");
    let of_all = tenants.to_owned() + "[transform]\nburst_gap_s = 0.0005\n";
    let merged = resolve(&folder.file("all.toml", of_all), &TraceOptions::default()).unwrap();
    assert_eq!(merged.pacing, Pacing::Bursts);
    assert_eq!(times(&merged), [0, 0, 0, 890_000, 890_000, 1_890_000, 1_890_000]);
}

#[test]
fn bursts_are_made_by_rule() {
    let folder = Folder::new("bursts-rule");
    let file = |section: &str, lines: &str| {
        let same = "block_bytes = 4096\nread_share = 0.0\naddresses = \"uniform\"\nrequests = 10\n";
        folder.file("w.toml", format!("summary = \"s\"\n[{section}]\n{same}{lines}\n"))
    };
    let path = file("synthetic", "burst_requests = 4\nburst_idle_us = 1500");
    let workload = resolve(&path, &TraceOptions::default()).unwrap();
    assert_eq!(workload.pacing, Pacing::Bursts);
    assert!(workload.detail.contains("bursts of 4 requests, 1500.000 us after the last completion"), "{}", workload.detail);
    let late = [3_000_000; 2];
    assert_eq!(times(&workload), [&[0; 4][..], &[1_500_000; 4], &late].concat());
    let path = file("synthetic", "burst_requests = 8\nburst_idle_us = 1500\nstart_ms = 2");
    let workload = resolve(&path, &TraceOptions::default()).unwrap();
    assert_eq!(times(&workload), [&[2_000_000; 8][..], &[3_500_000; 2]].concat(), "the first burst comes later");
    assert!(workload.convert(&folder.0.join("out"), 1, None, false).is_err());
    for (section, lines, expected) in [
        ("synthetic", "burst_requests = 4", "[synthetic] `burst_requests` needs `burst_idle_us`"),
        ("synthetic", "burst_idle_us = 4", "[synthetic] `burst_idle_us` needs `burst_requests`"),
        ("synthetic", "burst_requests = 0\nburst_idle_us = 4", "[synthetic] `burst_requests` is 0"),
        ("synthetic", "burst_requests = 4\nburst_idle_us = 0", "[synthetic] `burst_idle_us` is 0; allowed: 1 to"),
        ("synthetic", "burst_requests = 4\nburst_idle_us = 4\nqueue_depth = 1", "[synthetic] `queue_depth` is given with `burst_requests`"),
        ("synthetic", "burst_requests = 4\nburst_idle_us = 4\nruntime_ms = 1", "[synthetic] `runtime_ms` is given with"),
        ("synthetic", "", "or `burst_requests` (bursts) is missing"),
        ("threads.a", "burst_requests = 4\nburst_idle_us = 4", "[threads.a] `burst_requests` is of a whole workload"),
    ] {
        let message = check_file(&file(section, lines)).unwrap_err().to_string();
        assert!(message.contains(expected), "{lines}: {message}");
    }
}

#[test]
fn a_flow_of_both_kinds_reads_and_writes_in_runs() {
    let sound = include_str!("../../../workloads/standin-build.toml");
    let folder = Folder::new("bursts-mixed");
    let faulty = |from: &str, to: &str| {
        let start = sound.find(from).unwrap();
        let end = start + sound[start..].find('\n').unwrap();
        let text = format!("{}{to}{}", &sound[..start], &sound[end..]);
        check_file(&folder.file("w.toml", text)).unwrap_err().to_string()
    };
    assert!(faulty("write_share = ", "").contains("[profile.flows.all] `kind` is \"mixed\" and needs `write_share`"));
    assert!(faulty("write_share = ", "write_share = 1.5").contains("is 1.5; allowed: a share from 0 to 1"));
    assert!(faulty("kind = ", "kind = \"read\"").contains("[profile.flows.all] `write_share` is only for flows of the kind \"mixed\""));
    let swept = faulty("sequential_share = ", "sequential_share = 0.0\nsweep_chunk_kib = 64\nsweep_parallel = 1");
    assert!(swept.contains("`sweep_chunk_kib`"), "{swept}");
    // A run keeps its kind: whoever continues a request does what it did.
    let arrivals = requests(&Workload::resolve_in("standin-webindex", &TraceOptions::default(), None).unwrap());
    let mut ends = HashMap::new();
    let (mut same, mut other) = (0, 0);
    for arrival in &arrivals[..20_000] {
        match ends.get(&arrival.command.sector) {
            Some(kind) if *kind == arrival.command.kind => same += 1,
            Some(_) => other += 1,
            None => {}
        }
        ends.insert(arrival.command.sector + u64::from(arrival.command.sectors), arrival.command.kind);
    }
    assert!(same > 15_000 && other < 200, "{same} {other}");
}

#[test]
fn claims_of_bursts_need_bursts() {
    let text = include_str!("../../../workloads/standin-build.toml");
    let folder = Folder::new("bursts-claims");
    let without = &text[..text.find("[transform]").unwrap()];
    let message = resolve(&folder.file("w.toml", without), &TraceOptions::default()).unwrap().check_claims(1).unwrap_err().to_string();
    assert!(message.contains("it claims `bursts_gap_s` and has no bursts"), "{message}");
    let wrong = text.replace("bursts_idle_s_mean = { value = 1.74", "bursts_idle_s_mean = { value = 17.4");
    let checked = resolve(&folder.file("w.toml", wrong), &TraceOptions::default()).unwrap().check_claims(1).unwrap();
    let broken: Vec<&str> = checked.iter().filter(|claim| !claim.holds).map(|claim| claim.name.as_str()).collect();
    assert_eq!(broken, ["bursts_idle_s_mean"]);
}

/// Table 2 of The Harey Tortoise: threshold and idle time in seconds, written pages of a burst. Of Swap the table prints 150 ms,
/// which is above its own idle time.
#[test]
fn the_stand_ins_of_the_harey_tortoise_have_the_bursts_of_table_2() {
    let table = [
        ("build", 0.087, 1.74, 3.56),
        ("financial", 0.018, 0.062, 0.14),
        ("webindex", 48e-6, 564e-6, 212.0),
        ("swap", 150e-6, 0.0218, 0.0645),
        ("deskdev", 0.7, 3.82, 4.48),
    ];
    for (name, gap_s, idle_s, pages) in table {
        let workload = Workload::resolve_in(&format!("standin-{name}"), &TraceOptions::default(), None).unwrap();
        assert_eq!(workload.pacing, Pacing::Bursts);
        let checked = workload.check_claims(3).unwrap();
        for (claim, wanted) in [("bursts_gap_s", gap_s), ("bursts_idle_s_mean", idle_s), ("bursts_written_pages_mean", pages)] {
            let found = checked.iter().find(|checked| checked.name == claim).unwrap();
            assert_eq!(found.value, wanted, "{name}, {claim}");
            assert!((found.found / wanted - 1.0).abs() < 0.15, "{name}, {claim}: {} for {wanted}", found.found);
        }
        let rows = describe(&format!("standin-{name}")).unwrap().rows;
        assert!(rows.iter().any(|row| row.section == "transform" && row.value == "mean"), "{name}");
    }
}

/// The traces of a database, of a key-value store and of transactions that are at hand, through the same transform: the bursts
/// are those that a plain pass over the times finds.
#[test]
fn recorded_traces_have_bursts() {
    let Some(folder) = std::env::var_os("TINYTAIL_TRACES").map(PathBuf::from) else {
        eprintln!("SKIPPED: set TINYTAIL_TRACES to the folder with the recorded traces to make bursts of them");
        return;
    };
    for name in [
        "Financial1-snippet.spc",
        "blkparse-events-for-ftlsim.sqlitewal-update.txt",
        "blkparseout_ext4.txt",
        "blkparseout_f2fs.txt",
        "blkparseout_btrfs.txt",
        "ssdtrace-sample",
    ] {
        let path = folder.join(format!("{name}.zst"));
        if !path.is_file() {
            eprintln!("SKIPPED: {} is not there", path.display());
            continue;
        }
        let plain = resolve(&path, &TraceOptions::default()).unwrap();
        let recorded = requests(&plain);
        let gaps: Vec<u64> = recorded.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        let idle: Vec<u64> = gaps.iter().copied().filter(|gap| *gap as f64 >= mean).collect();
        let info = Trace::open(&path, &TraceOptions::default()).unwrap().info_transformed(&gap(MEAN)).unwrap();
        let found = info.bursts.unwrap();
        assert_eq!(found.bursts as usize, idle.len() + 1, "{name}");
        assert!((found.gap_s * 1e9 - mean).abs() <= 1.0, "{name}: {} for {mean} ns", found.gap_s);
        let idle_mean_s = idle.iter().sum::<u64>() as f64 / idle.len() as f64 / 1e9;
        assert!((found.idle_s_mean / idle_mean_s - 1.0).abs() < 1e-9, "{name}");
        assert_eq!((found.requests_mean * found.bursts as f64).round() as usize, recorded.len(), "{name}");
        let bursts = plain.transformed(&gap(MEAN)).unwrap();
        let made = requests(&bursts);
        assert!(made.iter().map(|arrival| arrival.command).eq(recorded.iter().map(|arrival| arrival.command)), "{name}");
        println!("{name}: {found:?}");
    }
}
