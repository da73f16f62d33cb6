//! Request timelines: the order in which the slowest requests' time passed, beside the log's sums.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use tinytail_core::drive::Drive;
use tinytail_core::observe::PART_NAMES;
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::{LogSpec, RequestTimelinesSpec, Spec};

use crate::drives::Log;

/// A row of a table: numbers and words by column.
type Row = BTreeMap<String, Field>;

fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let row = |row: parquet::record::Row| row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect();
    reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect()
}

fn number(row: &Row, column: &str) -> i64 {
    match &row[column] {
        Field::Long(value) => *value,
        Field::Int(value) => (*value).into(),
        other => panic!("{column} is {other:?}"),
    }
}

fn word(row: &Row, column: &str) -> String {
    match &row[column] {
        Field::Str(value) => value.clone(),
        other => panic!("{column} is {other:?}"),
    }
}

struct Kept {
    outcome: Outcome,
    log: Vec<Row>,
    traced: Vec<Row>,
    segments: Vec<Row>,
    gcs: Vec<Row>,
}

fn kept(device: &str, design: &str, workload: &str, requests: u64, slowest: usize, asked_for: &[u64]) -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap().to_string();
    let log = folder.path().join("requests.parquet");
    let spec = Spec {
        requests: Some(requests),
        log: Some(LogSpec { path: log.to_str().unwrap().into(), command: "tinytail compare".into() }),
        windows: 4,
        request_timelines: Some(RequestTimelinesSpec { path, slowest, requests: asked_for.to_vec() }),
        ..Spec::new(device, design, workload)
    };
    let outcome = run(&spec, &Control::default()).unwrap();
    let read = |name: &str| rows(&folder.path().join(name));
    Kept { outcome, log: rows(&log), traced: read("traced.parquet"), segments: read("segments.parquet"), gcs: read("gcs.parquet") }
}

/// The segments of each request follow one another from its arrival to its completion, and add up to the log's causes.
fn check_against_log(kept: &Kept, design: &str) {
    let log: BTreeMap<i64, &Row> = kept.log.iter().map(|row| (number(row, "id"), row)).collect();
    let mut request_timelines: BTreeMap<i64, Vec<&Row>> = BTreeMap::new();
    for segment in &kept.segments {
        request_timelines.entry(number(segment, "id")).or_default().push(segment);
    }
    for request in &kept.traced {
        let id = number(request, "id");
        let logged = log[&id];
        for column in ["asked_ns", "arrived_ns", "completed_ns", "latency_ns", "sector", "sectors", "reconstructed"] {
            assert_eq!(number(request, column), number(logged, column), "{design}: {column} of {id}");
        }
        let mut at = number(request, "arrived_ns");
        let mut sums: BTreeMap<String, i64> = BTreeMap::new();
        for segment in request_timelines.remove(&id).unwrap_or_default() {
            assert_eq!(number(segment, "from_ns"), at, "{design}: a gap in {id}");
            at = number(segment, "to_ns");
            *sums.entry(word(segment, "cause") + "_ns").or_default() += at - number(segment, "from_ns");
        }
        assert_eq!(at, number(request, "completed_ns"), "{design}: the end of {id}");
        for part in PART_NAMES {
            let column = format!("{part}_ns");
            assert_eq!(sums.get(&column).copied().unwrap_or(0), number(logged, &column), "{design}: {column} of {id}");
        }
    }
    assert!(request_timelines.is_empty(), "{design}: timelines of nobody");
}

#[test]
fn every_timeline_of_every_design_adds_up_to_the_log() {
    let mut checked = 0;
    for overlay in catalog::designs() {
        let base = if overlay.kind == Some("design") { overlay.name.clone() } else { format!("base+{}", overlay.name) };
        let device = if base.contains("strict") { "lowlatency-240g-small" } else { "ttflash-small" };
        let Ok(device_file) = catalog::device(device) else { panic!("{device}") };
        let design = catalog::design(&base).unwrap();
        if Drive::new(&device_file, design, false, Log::default()).is_err() {
            // An overlay for a drive with stripes, or one that needs another overlay.
            continue;
        }
        let kept = kept(device, &base, "randrw70-qd16", 1500, 1500, &[]);
        assert_eq!(kept.traced.len(), 1500, "{base}");
        check_against_log(&kept, &base);
        checked += 1;
    }
    assert!(checked >= 20, "{checked} designs");
}

#[test]
fn the_slowest_are_kept_and_those_asked_for_and_all_gcs() {
    let kept = kept("ttflash-small", "base", "randrw70-qd16", 60_000, 50, &[3, 4]);
    check_against_log(&kept, "base");
    let traced: BTreeSet<i64> = kept.traced.iter().map(|row| number(row, "id")).collect();
    assert!(traced.contains(&3) && traced.contains(&4));
    for kind in ["read", "write"] {
        let mut slowest: Vec<(i64, i64)> =
            kept.log.iter().filter(|row| word(row, "kind") == kind).map(|row| (-number(row, "latency_ns"), number(row, "id"))).collect();
        slowest.sort_unstable();
        let bound = slowest[49].0;
        assert!(slowest.iter().filter(|(latency, _)| *latency < bound).all(|(_, id)| traced.contains(id)), "the slowest {kind}s");
        let of_kind = kept.traced.iter().filter(|row| word(row, "kind") == kind).count();
        assert!((50..=52).contains(&of_kind), "{of_kind} {kind}s");
    }
    assert_eq!(kept.gcs.len() as u64, kept.outcome.gc_count);
    assert!(
        kept.gcs.iter().all(|gc| number(gc, "started_ns") <= number(gc, "locked_ns") && number(gc, "locked_ns") <= number(gc, "moved_ns"))
    );
    let known: BTreeSet<i64> = kept.gcs.iter().map(|gc| number(gc, "gc")).collect();
    let behind_gc = kept.segments.iter().filter(|segment| known.contains(&number(segment, "by_gc"))).count();
    assert!(behind_gc > 100, "the slowest of Base wait for GCs: {behind_gc}");
}

#[test]
fn whoever_traces_requests_runs_as_without() {
    let traced = kept("ttflash-small", "ttflash", "randrw70-qd16", 20_000, 10, &[]).outcome;
    let spec = Spec { requests: Some(20_000), windows: 4, ..Spec::new("ttflash-small", "ttflash", "randrw70-qd16") };
    let untraced = run(&spec, &Control::default()).unwrap();
    assert_eq!((traced.event_hash, traced.read), (untraced.event_hash, untraced.read));
}
