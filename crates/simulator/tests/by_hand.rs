//! Figures of runs beside what arithmetic makes of the logs of their requests.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Index;
use std::path::Path;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::{LogSpec, Spec};
use tinytail_workload::TimeUnit;

/// The requests of a log: their kinds, and columns of numbers.
struct Requests {
    kinds: Vec<String>,
    columns: BTreeMap<String, Vec<u64>>,
}

impl Requests {
    fn read(path: &Path) -> Self {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let mut requests = Self { kinds: Vec::new(), columns: BTreeMap::new() };
        for row in reader.get_row_iter(None).unwrap() {
            for (column, field) in row.unwrap().get_column_iter() {
                let number = match field {
                    Field::Str(kind) => {
                        requests.kinds.push(kind.clone());
                        continue;
                    }
                    Field::Long(value) => *value as u64,
                    Field::Int(value) => *value as u64,
                    Field::Bool(value) => u64::from(*value),
                    other => panic!("{column} is {other:?}"),
                };
                if !requests.columns.contains_key(column) {
                    requests.columns.insert(column.clone(), Vec::new());
                }
                requests.columns.get_mut(column).unwrap().push(number);
            }
        }
        requests
    }

    fn len(&self) -> usize {
        self.kinds.len()
    }
}

impl Index<&str> for Requests {
    type Output = Vec<u64>;

    fn index(&self, column: &str) -> &Vec<u64> {
        &self.columns[column]
    }
}

/// A run, and the requests of its log. The workload is a file with this content, or the name of one without.
fn logged(mut spec: Spec, ending: &str, content: &str) -> (Outcome, Requests) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("requests.parquet");
    if ending == "trace" {
        spec.trace.time_unit = Some(TimeUnit::Microseconds);
    }
    if !ending.is_empty() {
        let workload = folder.path().join(format!("load.{ending}"));
        std::fs::write(&workload, content).unwrap();
        spec.workload = workload.to_str().unwrap().into();
    }
    spec.log = Some(LogSpec { path: log.to_str().unwrap().into(), command: String::new() });
    let outcome = run(&spec, &Control::default()).unwrap();
    let found = Requests::read(&log);
    (outcome, found)
}

fn near(found: Option<f64>, truth: Option<f64>, what: &str) {
    match (found, truth) {
        (Some(found), Some(truth)) => assert!((found / truth - 1.0).abs() < 1e-9, "{what}: {found}, and {truth} by hand"),
        (found, truth) => assert_eq!(found, truth, "{what}"),
    }
}

/// Rates by hand: arrivals by the times between them, what is served from the first arrival to the last completion.
fn check_rates(outcome: &Outcome, log: &Requests) {
    let rates = &outcome.throughput;
    let first = log["arrived_ns"].iter().min().unwrap();
    let between = log["arrived_ns"].iter().max().unwrap() - first;
    let makespan = log["completed_ns"].iter().max().unwrap() - first;
    let data = log["sectors"].iter().zip(&log.kinds).filter(|(_, kind)| *kind != "trim");
    let bytes: u64 = data.map(|(sectors, _)| sectors * 512).sum();
    let a_second = |amount: f64, ns: u64| (ns > 0).then(|| amount / (ns as f64 / 1e9));
    assert_eq!((rates.requests, rates.bytes), (log.len() as u64, bytes));
    near(Some(rates.makespan_seconds), Some(makespan as f64 / 1e9), "makespan");
    near(rates.arrivals_per_second, a_second(log.len() as f64 - 1.0, between), "arrivals");
    near(rates.served_per_second, a_second(log.len() as f64, makespan), "served");
    near(rates.makespan_mb_per_second, a_second(bytes as f64 / 1e6, makespan), "MB/s");
    if outcome.series.requests_per_second.len() == 1 && !outcome.partial {
        near(outcome.series.requests_per_second[0], rates.served_per_second, "of the only window");
        near(outcome.series.mb_per_second[0], rates.makespan_mb_per_second, "MB/s of the only window");
    }
}

/// Tails by hand: the slowest of all, in the order of arrival where they are equal, as many as the share is, rounded up.
fn check_tails(outcome: &Outcome, log: &Requests) {
    let attribution = &outcome.attribution;
    for (kind, tails) in [("read", &attribution.tails), ("write", &attribution.write_tails)] {
        let mut rows: Vec<usize> = (0..log.len()).filter(|&row| log.kinds[row] == kind).collect();
        rows.sort_by_key(|&row| (Reverse(log["latency_ns"][row]), log["id"][row]));
        assert_eq!(tails.iter().map(|tail| tail.share_percent).collect::<Vec<_>>(), [10.0, 1.0, 0.1, 0.01, 0.001]);
        for (tail, one_in) in tails.iter().zip([10, 100, 1000, 10_000, 100_000]) {
            let slowest = &rows[..rows.len().div_ceil(one_in)];
            let sum = |column: &str| slowest.iter().map(|&row| log[column][row]).sum::<u64>();
            let no_causes = ["asked_ns", "arrived_ns", "completed_ns", "latency_ns", "host_queue_ns", "gc_wait_since_ns"];
            let causes = log.columns.keys().filter(|column| !no_causes.contains(&column.as_str()));
            let causes = causes.filter_map(|column| column.strip_suffix("_ns").map(|cause| (cause, sum(column))));
            let ns: BTreeMap<&str, u64> = causes.filter(|(_, ns)| *ns > 0).collect();
            assert_eq!(tail.sum.count, slowest.len() as u64, "{kind}s, one in {one_in}");
            assert_eq!(tail.latency_us_from, slowest.last().map(|&row| log["latency_ns"][row] as f64 / 1000.0));
            assert_eq!(tail.sum.ns, ns);
            assert_eq!((tail.sum.queue_blocked, tail.sum.host_queue_ns), (sum("queue_blocked"), sum("host_queue_ns")));
        }
    }
    assert_eq!(attribution.slowest_reads, attribution.tails[2]);
}

fn spec(design: &str, no_warm_up: bool, windows: u32) -> Spec {
    Spec { no_warm_up, windows, ..Spec::new("ttflash-small", design, "") }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_trace_has_the_rates_and_tails_of_its_log(
        requests in prop::collection::vec((prop_oneof![Just(0_u64), 1..30u64, 0..5000u64], 0..2u32, 0..4000u64, 1..9u64), 1..300),
        first in prop_oneof![Just(0_u64), 0..1_000_000u64],
        design in prop_oneof![Just("base"), Just("ttflash"), Just("base+no-gc")],
        no_warm_up in any::<bool>(),
        windows in prop_oneof![Just(1_u32), Just(200)],
    ) {
        let mut at = first;
        let lines: String = requests.iter().map(|(gap, operation, page, pages)| {
            at += gap;
            format!("{at} 0 {} {} {operation}\n", page * 8, pages * 8)
        }).collect();
        let (outcome, log) = logged(spec(design, no_warm_up, windows), "trace", &lines);
        prop_assert_eq!(log.len(), requests.len());
        check_rates(&outcome, &log);
        check_tails(&outcome, &log);
    }
}

#[test]
fn closed_loops_streams_and_runs_that_end_early_have_the_rates_and_tails_of_their_logs() {
    let fio = "[global]\nioengine=libaio\ndirect=1\nfilename=d\nsize=64m\nbs=4k\nnorandommap\n";
    let by_count = format!("{fio}[r]\nrw=randread\niodepth=2\nnumber_ios=3000\nio_size=100g\n");
    let by_time = format!("{fio}[r]\nrw=randread\niodepth=2\ntime_based\nruntime=1\n");
    let mixed = format!("{by_count}[t]\nrw=randtrim\nrate_iops=2k\nrate_process=poisson\nio_size=2m\n");
    let mut rates = Vec::new();
    for content in [by_count, by_time, mixed] {
        let (outcome, log) = logged(spec("base+no-gc", false, 200), "fio", &content);
        check_rates(&outcome, &log);
        check_tails(&outcome, &log);
        assert!(outcome.throughput.arrivals_per_second.is_some());
        rates.push(outcome.throughput.served_per_second.unwrap());
    }
    // One job has one rate, whether its requests or its time is limited.
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.01, "{rates:?}");
    let named = |design: &str, workload: &str, requests| {
        let named = Spec { workload: workload.into(), requests: Some(requests), ..spec(design, false, 200) };
        let (outcome, log) = logged(named, "", "");
        check_rates(&outcome, &log);
        check_tails(&outcome, &log);
        outcome
    };
    named("base", "randrw70-qd16", 30_000);
    let stuck = named("base+no-gc", "randwrite-qd32", 100_000);
    assert!(stuck.partial && stuck.throughput.served_per_second.is_some());
}

#[test]
fn a_lead_in_is_no_part_of_a_rate() {
    let rates = |requests: u64, gap_us: u64| {
        let lines: String = (0..requests).map(|index| format!("{} 0 {} 8 1\n", index * gap_us, 8192 + index * 8)).collect();
        logged(spec("base+no-gc", true, 200), "trace", &lines).0.throughput
    };
    // A read of 140.2 us alone: one request has no rate of arrivals.
    let one = rates(1, 10);
    assert_eq!(one.arrivals_per_second, None);
    assert!((one.served_per_second.unwrap() - 7_133.0).abs() < 1.0, "{one:?}");
    assert_eq!(rates(50, 0).arrivals_per_second, None, "all at one instant");
    for requests in [100, 1000] {
        near(rates(requests, 10).arrivals_per_second, Some(100_000.0), "arrivals");
    }
}
