//! The log of a run, read back, and its series over time, beside its figures.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::{LogSpec, RunError, Spec};

/// A file of one test, removed with it.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("tinytail-{}-{name}.parquet", std::process::id())))
    }

    fn path(&self) -> String {
        self.0.to_str().unwrap().into()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Not every test leaves a file.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn spec(requests: u64, windows: u32, log: Option<String>) -> Spec {
    Spec {
        requests: Some(requests),
        log: log.map(|path| LogSpec { path, command: "tinytail compare base".into() }),
        windows,
        ..Spec::new("ttflash-small", "base", "randrw70-qd16")
    }
}

/// What a log holds: its metadata and the sums of its columns; of `kind`, the number of reads.
fn sums(path: &str) -> (BTreeMap<String, String>, BTreeMap<String, u64>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let about = pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect();
    let mut sums = BTreeMap::new();
    for row in reader.get_row_iter(None).unwrap() {
        for (column, field) in row.unwrap().get_column_iter() {
            let value = match field {
                Field::Long(value) => *value as u64,
                Field::Int(value) => *value as u64,
                Field::Bool(value) => u64::from(*value),
                Field::Str(kind) => u64::from(kind == "read"),
                other => panic!("{column} is {other:?}"),
            };
            *sums.entry(column.clone()).or_insert(0) += value;
        }
        *sums.entry("rows".into()).or_insert(0) += 1;
    }
    (about, sums)
}

fn attributed(outcome: &Outcome, cause: &str) -> u64 {
    [&outcome.attribution.all_reads.ns, &outcome.attribution.all_writes.ns].iter().filter_map(|ns| ns.get(cause)).sum()
}

#[test]
fn a_log_holds_every_request_of_the_measured_part_and_changes_nothing() {
    let file = Temporary::new("whole");
    let plain = run(&spec(20_000, 200, None), &Control::default()).unwrap();
    let logged = run(&spec(20_000, 200, Some(file.path())), &Control::default()).unwrap();
    assert_eq!(plain.log, None);
    assert_eq!(plain.event_hash, logged.event_hash);
    assert_eq!(plain.series, logged.series);
    let note = logged.log.as_ref().unwrap();
    assert_eq!((note.error.as_ref(), note.requests, note.bytes), (None, 20_000, std::fs::metadata(file.path()).unwrap().len()));
    let (about, sums) = sums(&file.path());
    let expected = [
        ("log_version", "3"),
        ("device", "ttflash-small"),
        ("design", "base"),
        ("workload", "randrw70-qd16"),
        ("seed", "1"),
        ("partial", "false"),
        ("event_hash", &logged.event_hash),
        ("command", "tinytail compare base"),
        ("version", logged.version),
    ];
    for (key, value) in expected {
        assert_eq!(about[&format!("tinytail.{key}")], value, "{key}");
    }
    let state: serde_json::Value = serde_json::from_str(&about["tinytail.state"]).unwrap();
    assert_eq!(state["name"], "aged");
    // Numbered from 0, whatever came before in warming up.
    assert_eq!(sums["rows"], 20_000);
    assert_eq!(sums["id"], 20_000 * 19_999 / 2);
    assert_eq!(sums["kind"], logged.read.count);
    assert_eq!(sums["sectors"] * 512, logged.series.read_bytes.iter().chain(&logged.series.write_bytes).sum::<u64>());
    let blocked = (logged.gc_blocked_read_percent * logged.read.count as f64 / 100.0).round() as u64;
    assert!(sums["gc_blocked"] >= blocked && blocked > 0);
    let mut parts = 0;
    for (column, &sum) in
        sums.iter().filter(|(column, _)| !["asked_ns", "arrived_ns", "completed_ns", "latency_ns"].contains(&column.as_str()))
    {
        if let Some(cause) = column.strip_suffix("_ns") {
            assert_eq!(sum, attributed(&logged, cause), "{cause}");
            parts += sum;
        }
    }
    assert_eq!(parts, sums["latency_ns"]);
    assert_eq!(sums["latency_ns"], sums["completed_ns"] - sums["arrived_ns"]);
}

#[test]
fn the_series_adds_up_to_the_run() {
    for windows in [1, 7, 200] {
        let outcome = run(&spec(20_000, windows, None), &Control::default()).unwrap();
        let series = &outcome.series;
        let count = series.reads.len();
        assert!(count <= windows as usize && 2 * count >= windows as usize, "{count} of {windows}");
        assert_eq!(series.reads.iter().sum::<u64>(), outcome.read.count);
        assert_eq!(series.writes.iter().sum::<u64>(), outcome.write.count);
        let (host, gc) = (series.host_pages.iter().sum::<u64>(), series.gc_pages.iter().sum::<u64>());
        assert_eq!(gc, outcome.techniques["gc: copied pages"]);
        assert_eq!(Some((host + gc) as f64 / host as f64), outcome.write_amplification);
        let max = series.read_max_us.iter().flatten().copied().fold(0.0, f64::max);
        assert_eq!(Some(max), outcome.read.max_us);
        let end = (count as f64 - 1.0) * series.window_seconds;
        assert!(end <= outcome.simulated_seconds && outcome.simulated_seconds <= end + series.window_seconds);
        assert!(series.free_blocks_min.iter().flatten().all(|&blocks| blocks < 100));
    }
    for windows in [0, 10_001] {
        assert!(run(&spec(10, windows, None), &Control::default()).is_err());
    }
}

#[test]
fn the_log_of_a_cancelled_run_is_valid_and_says_that_it_is_partial() {
    let file = Temporary::new("cancelled");
    let control = Control::default();
    control.cancel();
    let outcome = run(&spec(1000, 200, Some(file.path())), &control).unwrap();
    assert!(outcome.partial);
    let (about, sums) = sums(&file.path());
    assert_eq!(about["tinytail.partial"], "true");
    assert_eq!(sums.get("rows").copied().unwrap_or(0), outcome.log.unwrap().requests);
}

#[test]
fn a_log_that_cannot_be_written_is_refused_before_the_run_and_that_of_a_stuck_run_is_partial() {
    let error = run(&spec(1000, 200, Some("/no/such/folder/log.parquet".into())), &Control::default());
    assert!(
        matches!(&error, Err(RunError::Log(error)) if error.to_string().contains("there is no directory /no/such/folder")),
        "{error:?}"
    );
    let file = Temporary::new("failed");
    let mut faulty = spec(1000, 200, Some(file.path()));
    faulty.workload = "randwrite-qd32".into();
    faulty.design = "base+no-gc".into();
    faulty.requests = Some(400_000);
    let outcome = run(&faulty, &Control::default()).unwrap();
    assert!(outcome.stuck.is_some());
    let (about, sums) = sums(&file.path());
    assert_eq!(about["tinytail.partial"], "true");
    assert_eq!(sums["rows"], outcome.read.count + outcome.write.count);
}
