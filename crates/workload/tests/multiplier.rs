//! ACT's load, and workloads whose rates are multiplied.

use std::path::PathBuf;

use tinytail_core::commands::CommandKind;
use tinytail_core::units::{Ns, SECOND};
use tinytail_workload::{Arrival, SourceContext, TraceOptions, Workload, WorkloadError, check_file, describe};

/// A drive of 256 GiB of which an eighth holds data.
const DRIVE: SourceContext = SourceContext { logical_sectors: 1 << 29, mapped_sectors: 1 << 26 };

fn resolve(name: &str) -> Result<Workload, WorkloadError> {
    Workload::resolve_in(name, &TraceOptions::default(), None)
}

fn generate(workload: &Workload, seed: u64, requests: Option<u64>) -> Vec<Arrival> {
    let mut source = workload.source(seed, &DRIVE, requests).unwrap();
    let mut arrivals = Vec::new();
    while source.fill(&mut arrivals, 100).unwrap() > 0 {}
    arrivals
}

struct File(PathBuf);

impl File {
    fn new(test: &str, content: &str) -> Self {
        Self::with_extension(test, "toml", content)
    }

    fn with_extension(test: &str, extension: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinytail-{}-multiplier-{test}.{extension}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const OPEN: &str = "summary = \"s\"\n[synthetic]\nrate_per_s = 1000\nblock_bytes = 4096\nread_share = 0.5\n\
                    addresses = \"uniform\"\nrequests = 500\n";

/// Whether a request is one of the small reads, the large reads or the large writes of ACT.
fn kind(arrival: &Arrival) -> usize {
    match (arrival.command.kind, arrival.command.sectors) {
        (CommandKind::Read, 3) => 0,
        (CommandKind::Read, 256) => 1,
        (CommandKind::Write, 256) => 2,
        other => panic!("{other:?} is none of ACT's requests"),
    }
}

#[test]
fn act_has_the_rates_of_the_paper_at_every_multiplier() {
    for multiplier in [1, 4, 30] {
        // Practical Erase Suspension, section 3.3: 4x is 8K, 96 and 96 per second.
        let rates = [2000 * multiplier, 24 * multiplier, 24 * multiplier];
        let seconds = 5;
        let requests = seconds * rates.iter().sum::<u64>();
        let arrivals = generate(&resolve(&format!("act@{multiplier}")).unwrap(), 1, Some(requests));
        for (of, rate) in rates.into_iter().enumerate() {
            let times: Vec<Ns> = arrivals.iter().filter(|arrival| kind(arrival) == of).map(|arrival| arrival.at).collect();
            assert!(times.len().abs_diff((seconds * rate) as usize) <= 1, "{multiplier}x: {} requests of kind {of}", times.len());
            let gap = SECOND as f64 / rate as f64;
            assert!(times.windows(2).all(|pair| ((pair[1] - pair[0]) as f64 - gap).abs() <= 1.0), "{multiplier}x: kind {of}");
            let start = if of == 1 { 500_000 } else { 0 };
            assert_eq!(times[0], start, "{multiplier}x: kind {of}");
        }
    }
    assert_eq!(generate(&resolve("act@1").unwrap(), 1, Some(9000)), generate(&resolve("act").unwrap(), 1, Some(9000)));
}

#[test]
fn acts_requests_lie_where_the_tool_puts_them() {
    let arrivals = generate(&resolve("act@8").unwrap(), 3, Some(200_000));
    let mut crossing = 0_usize;
    let mut small = 0_usize;
    for arrival in &arrivals {
        let command = arrival.command;
        assert!(command.sector + u64::from(command.sectors) <= DRIVE.mapped_sectors);
        if kind(arrival) == 0 {
            small += 1;
            crossing += usize::from(command.sector % 8 > 5);
        } else {
            assert_eq!(command.sector % 256, 0, "large requests are aligned to their size");
        }
    }
    // Of eight sectors of a page, a read of three reaches into the next page from two.
    let share = crossing as f64 / small as f64;
    assert!((share - 0.25).abs() < 0.01, "{share}");
    let (first, last) = (arrivals.iter().map(|each| each.command.sector).min(), arrivals.iter().map(|each| each.command.sector).max());
    assert!(first.unwrap() < DRIVE.mapped_sectors / 100 && last.unwrap() > DRIVE.mapped_sectors / 100 * 99);
}

#[test]
fn the_same_seed_gives_the_same_requests() {
    let workload = resolve("act@3").unwrap();
    let (one, other) = (generate(&workload, 5, Some(10_000)), generate(&workload, 6, Some(10_000)));
    assert_eq!(one, generate(&workload, 5, Some(10_000)));
    assert_ne!(one, other);
    let times = |arrivals: &[Arrival]| arrivals.iter().map(|arrival| arrival.at).collect::<Vec<_>>();
    assert_eq!(times(&one), times(&other), "times are fixed");
}

#[test]
fn a_multiplier_multiplies_rates_and_numbers_of_requests() {
    let plain = File::new("plain", OPEN);
    let stated = File::new("stated", &OPEN.replace("[synthetic]", "multiplier = { value = 3, source = \"s\" }\n[synthetic]"));
    let (once, thrice) = (resolve(plain.name()).unwrap(), resolve(stated.name()).unwrap());
    assert_eq!((once.request_count_hint(), thrice.request_count_hint()), (Some(500), Some(1500)));
    assert!(thrice.detail.contains("3000 requests per second"), "{}", thrice.detail);
    let given = resolve(&format!("{}@3", plain.name())).unwrap();
    assert_eq!(generate(&given, 1, None), generate(&thrice, 1, None));
    assert!(given.name.ends_with("@3") && given.detail == thrice.detail, "{}", given.name);
    let replaced = resolve(&format!("{}@1", stated.name())).unwrap();
    assert_eq!(generate(&replaced, 1, None), generate(&once, 1, None), "a given multiplier replaces the file's");
    let (slow, fast) = (generate(&once, 1, None), generate(&thrice, 1, None));
    let last = |arrivals: &[Arrival]| arrivals.last().unwrap().at as f64;
    assert!((last(&slow) / last(&fast) - 1.0).abs() < 0.2, "both last as long");
}

#[test]
fn a_multiplier_is_described() {
    let description = describe("act@30").unwrap();
    assert_eq!(description.name, "act@30");
    let row = &description.rows[0];
    assert_eq!((row.key.as_str(), row.value.as_str()), ("multiplier", Some("30")));
    assert_eq!(description.rows[1..], describe("act").unwrap().rows);
}

#[test]
fn a_faulty_multiplier_says_why() {
    for (name, expected) in [
        ("act@0", "the multiplier is 0; expected 1 to 4294967295"),
        ("act@4294967296", "the multiplier is 4294967296; expected 1 to"),
        ("act@1000000", "makes a rate of 2000 per second more than 1e9 (thread small-reads)"),
        ("act@x", "no workload and no file is called `act@x` (did you mean `act`?)"),
        ("act@", "no workload and no file is called `act@`"),
        ("akt@3", "did you mean `act`?"),
        ("randrw70-qd16@2", "in closed loop there is none"),
        ("standin-dtrs@2", "this workload is none; the transform `scale_time`"),
    ] {
        for result in [resolve(name).map(|_| ()), describe(name).map(|_| ())] {
            let message = result.unwrap_err().to_string();
            assert!(message.contains(expected), "{name}: {message}");
        }
    }
    for (line, expected) in [
        ("multiplier = 0", ":2: `multiplier` is 0; expected 1 or more"),
        ("multiplier = -1", "`multiplier` is -1; allowed: "),
        ("multipleir = 2", "did you mean `multiplier`?"),
        ("multiplier = 1000001", "`multiplier` is 1000001, and makes a rate"),
    ] {
        let file = File::new("faulty", &OPEN.replace("[synthetic]", &format!("{line}\n[synthetic]")));
        let message = check_file(&file.0).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let file = File::new("bursts", &OPEN.replace("rate_per_s = 1000", "burst_requests = 4\nburst_idle_us = 5"));
    let message = resolve(&format!("{}@2", file.name())).unwrap_err().to_string();
    assert!(message.contains("in bursts there is none"), "{message}");
    let file = File::new("trace", "summary = \"s\"\nmultiplier = 2\n[trace]\nfile = \"x\"\n");
    assert!(check_file(&file.0).unwrap_err().to_string().contains("multiplies the rates of workloads made by rule"));
}

#[test]
fn times_may_be_parts_of_milliseconds() {
    let open = |more: &str| File::new("late", &OPEN.replace("rate_per_s = 1000\n", &format!("rate_per_s = 1000\n{more}")));
    let times = |more: &str| {
        let arrivals = generate(&resolve(open(&format!("arrivals = \"fixed\"\n{more}")).name()).unwrap(), 1, None);
        arrivals.iter().map(|arrival| arrival.at).collect::<Vec<_>>()
    };
    assert_eq!(times("start_ms = 0.25\nruntime_ms = 1.000001\n"), [250_000, 1_250_000]);
    assert_eq!(times("start_ms = 86_399_999.999999\nruntime_ms = 1\n"), [86_399_999_999_999]);
    for value in ["-0.5", "nan", "inf", "86_400_000.5"] {
        let message = check_file(&open(&format!("start_ms = {value}\n")).0).unwrap_err().to_string();
        assert!(message.contains("[synthetic] `start_ms` is") && message.contains("allowed: 0 to 86,400,000 ms"), "{message}");
    }
}

const FIO: &str = "[global]\ndirect=1\nfilename=/dev/x\nbs=4k\nioengine=libaio\niodepth=4\n\
                   [a]\nrw=randread\nrate_iops=1000\nsize=64k\n";

#[test]
fn a_job_file_is_multiplied_where_all_jobs_have_rates() {
    let jobs = File::with_extension("rates", "fio", &format!("{FIO}[b]\nrw=randwrite\nrate_iops=500\nsize=1m\nio_size=32k\n"));
    let (once, thrice) = (resolve(jobs.name()).unwrap(), resolve(&format!("{}@3", jobs.name())).unwrap());
    assert_eq!((once.request_count_hint(), thrice.request_count_hint()), (Some(16 + 8), Some(3 * (16 + 8))));
    for rate in ["3000 requests per second, at most 4 outstanding", "1500 requests per second, at most 4 outstanding"] {
        assert!(thrice.detail.contains(rate), "{}", thrice.detail);
    }
    // Every block once in each round, whatever the number of rounds.
    let job = File::with_extension("rounds", "fio", FIO);
    let arrivals = generate(&resolve(&format!("{}@3", job.name())).unwrap(), 1, None);
    assert_eq!(arrivals.len(), 48);
    for round in arrivals.chunks(16) {
        let mut sectors: Vec<u64> = round.iter().map(|arrival| arrival.command.sector).collect();
        sectors.sort_unstable();
        assert!(sectors.into_iter().eq((0..16).map(|block| block * 8)));
    }
}

#[test]
fn a_job_file_with_a_job_in_closed_loop_is_not_multiplied() {
    let jobs = File::with_extension("closed", "fio", &format!("{FIO}[b]\nrw=randwrite\nsize=1m\n"));
    let name = format!("{}@3", jobs.name());
    for result in [resolve(&name).map(|_| ()), describe(&name).map(|_| ())] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains("the multiplier is 3, and multiplies rates; in closed loop there is none (thread b)"), "{message}");
    }
    let log = File::with_extension("log", "fio", "fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x read 0 4096\n/dev/x close\n");
    let message = resolve(&format!("{}@3", log.name())).unwrap_err().to_string();
    assert!(message.contains("this workload is none; the transform `scale_time`"), "{message}");
}
