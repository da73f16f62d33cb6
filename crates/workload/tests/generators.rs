//! What generators make of workload files: sizes, places, times, threads; and whether stand-ins are what they claim.

use std::path::PathBuf;

use tinytail_core::commands::CommandKind;
use tinytail_workload::{
    Arrival, CheckedClaim, InputKind, Pacing, SourceContext, TraceOptions, Workload, WorkloadError, check_file, describe, list,
};

/// A drive of 256 GiB of which an eighth holds data.
const DRIVE: SourceContext = SourceContext { logical_sectors: 1 << 29, mapped_sectors: 1 << 26 };

fn named(name: &str) -> Workload {
    Workload::resolve_in(name, &TraceOptions::default(), None).unwrap()
}

struct File(PathBuf);

impl File {
    fn new(test: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinytail-{}-generators-{test}.toml", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn resolve(&self) -> Result<Workload, WorkloadError> {
        Workload::resolve_in(self.0.to_str().unwrap(), &TraceOptions::default(), None)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn generate(workload: &Workload, seed: u64, requests: Option<u64>, batch: usize) -> Vec<Arrival> {
    let mut source = workload.source(seed, &DRIVE, requests).unwrap();
    let mut arrivals = Vec::new();
    while source.fill(&mut arrivals, batch).unwrap() > 0 {}
    arrivals
}

/// A workload of one thread, with these lines besides its number of requests.
fn synthetic(test: &str, lines: &str) -> Result<Workload, WorkloadError> {
    File::new(test, &format!("summary = \"s\"\n[synthetic]\nrequests = 1000\n{lines}\n")).resolve()
}

#[test]
fn streams_do_not_depend_on_the_batch() {
    for name in ["hotcold-write", "seqread-4streams", "randrw70-bursty"] {
        let workload = named(name);
        let stream = generate(&workload, 7, Some(3000), 32);
        assert_eq!(generate(&workload, 7, Some(3000), 1), stream, "{name}");
        assert_eq!(generate(&workload, 7, Some(5000), 999)[..3000], stream, "{name}");
        assert_ne!(generate(&workload, 8, Some(3000), 32), stream, "{name}");
    }
}

#[test]
fn sizes_are_mixed_by_their_weights() {
    let lines =
        "queue_depth = 1\nblock_mix = [[4096, 3], [16384, 1], [512, 0]]\nalign_bytes = 4096\nread_share = 0.5\naddresses = \"uniform\"";
    let arrivals = generate(&synthetic("mix", lines).unwrap(), 1, Some(100_000), 64);
    let count = |sectors| arrivals.iter().filter(|arrival| arrival.command.sectors == sectors).count() as f64 / 100_000.0;
    assert!((count(8) - 0.75).abs() < 0.01 && (count(32) - 0.25).abs() < 0.01 && count(1) == 0.0);
    // Kind and place do not depend on the size.
    let reads = |sectors| {
        let of_size: Vec<_> = arrivals.iter().filter(|arrival| arrival.command.sectors == sectors).collect();
        of_size.iter().filter(|arrival| arrival.command.kind == CommandKind::Read).count() as f64 / of_size.len() as f64
    };
    assert!((reads(8) - 0.5).abs() < 0.01 && (reads(32) - 0.5).abs() < 0.02);
    for arrival in &arrivals {
        let command = arrival.command;
        assert!(command.sector % 8 == 0 && command.sector + u64::from(command.sectors) <= DRIVE.mapped_sectors);
    }
}

#[test]
fn a_mix_is_aligned_to_what_divides_all_sizes() {
    let lines = "queue_depth = 1\nblock_mix = [[6144, 1], [4096, 1]]\nread_share = 0.5\naddresses = \"uniform\"\nrange_bytes = 8192";
    let mut sectors: Vec<u64> =
        generate(&synthetic("align", lines).unwrap(), 1, None, 64).iter().map(|arrival| arrival.command.sector).collect();
    sectors.sort_unstable();
    sectors.dedup();
    assert_eq!(sectors, [0, 4]);
}

#[test]
fn ranges_begin_at_their_offset() {
    let lines =
        "queue_depth = 1\nblock_bytes = 4096\nread_share = 1.0\naddresses = \"uniform\"\noffset_bytes = 1048576\nrange_bytes = 16384";
    let workload = synthetic("offset", lines).unwrap();
    let mut sectors: Vec<u64> = generate(&workload, 1, None, 64).iter().map(|arrival| arrival.command.sector).collect();
    sectors.sort_unstable();
    sectors.dedup();
    assert_eq!(sectors, [2048, 2056, 2064, 2072]);
    assert_eq!(workload.end_sector(), Some(2080));
    assert!(workload.check_fits(2080).is_ok() && workload.check_fits(2079).is_err());
    let rest = synthetic("rest", &lines.replace("range_bytes = 16384", "")).unwrap();
    let sectors: Vec<u64> = generate(&rest, 1, None, 64).iter().map(|arrival| arrival.command.sector).collect();
    assert!(sectors.iter().all(|sector| (2048..DRIVE.mapped_sectors).contains(sector)));
    let tiny = SourceContext { logical_sectors: 4096, mapped_sectors: 2050 };
    assert!(rest.source(1, &tiny, None).is_err());
}

#[test]
fn the_hot_part_gets_its_share() {
    let arrivals = generate(&named("hotcold-write"), 3, Some(200_000), 64);
    let slots = DRIVE.mapped_sectors / 8;
    // The hot tenth has 838,861 slots: 180,000 requests there seldom meet, and those to the cold part still less.
    let mut sectors: Vec<u64> = arrivals.iter().map(|arrival| arrival.command.sector).collect();
    sectors.sort_unstable();
    sectors.dedup();
    let hot_slots = slots as f64 / 10.0;
    let expected = hot_slots * (1.0 - f64::exp(-180_000.0 / hot_slots)) + 20_000.0;
    assert!((sectors.len() as f64 / expected - 1.0).abs() < 0.01, "{} for {expected}", sectors.len());
}

#[test]
fn sequential_streams_follow_on() {
    let summary = named("seqread-4streams").characteristics(1, &DRIVE, Some(50_000)).unwrap();
    assert!(summary.sequential_percent > 99.9 && summary.write_percent == 0.0, "{}", summary.sequential_percent);
    let arrivals = generate(&named("seqread-4streams"), 1, Some(4000), 64);
    let part = DRIVE.mapped_sectors / 4;
    let mut next = [0; 4];
    for arrival in arrivals {
        let stream = (arrival.command.sector / part) as usize;
        assert_eq!(arrival.command.sector % part, next[stream]);
        next[stream] += 256;
    }
}

#[test]
fn bursts_have_the_variation_asked_for() {
    let workload = named("randrw70-bursty");
    assert_eq!((workload.pacing, workload.input), (Pacing::Open, InputKind::Synthetic));
    let summary = workload.characteristics(1, &DRIVE, Some(400_000)).unwrap();
    let rate = summary.iops_mean.unwrap();
    assert!((rate / 10_000.0 - 1.0).abs() < 0.03, "{rate}");
    assert!((summary.interarrival_cv / 3.0 - 1.0).abs() < 0.03, "{}", summary.interarrival_cv);
    let lines = "rate_per_s = 1000\narrivals = \"fixed\"\nblock_bytes = 4096\nread_share = 1.0\naddresses = \"uniform\"";
    let summary = synthetic("fixed", lines).unwrap().characteristics(1, &DRIVE, Some(5000)).unwrap();
    assert!(summary.interarrival_cv < 1e-6 && summary.dispersion_100ms == 0.0 && summary.iops_peak == 1000);
}

#[test]
fn threads_in_closed_loop_have_streams_of_their_own() {
    let workload = named("reader-beside-writers");
    assert_eq!(workload.pacing, Pacing::Closed { depth: 9 });
    assert!(workload.needs_drive());
    assert_eq!(workload.request_count_hint(), None);
    let message = workload.source(1, &DRIVE, None).err().unwrap().to_string();
    assert!(message.contains("closed loop"), "{message}");
    let take = |seed: u64| {
        let mut streams = workload.streams(seed, &DRIVE, Some(77)).unwrap();
        assert_eq!(streams.requests, 77);
        let pacing: Vec<_> = streams.streams.iter().map(|stream| (stream.pacing, stream.endless)).collect();
        // In the order of their names.
        let expected = [(Pacing::Open, true), (Pacing::Closed { depth: 1 }, false), (Pacing::Closed { depth: 8 }, true)];
        assert_eq!(pacing, expected);
        let mut arrivals = Vec::new();
        for stream in &mut streams.streams {
            stream.source.fill(&mut arrivals, 100).unwrap();
        }
        arrivals
    };
    assert_eq!(take(1), take(1));
    assert_ne!(take(1), take(2));
    let kinds: Vec<usize> =
        take(1).chunks(100).map(|chunk| chunk.iter().filter(|arrival| arrival.command.kind == CommandKind::Read).count()).collect();
    assert_eq!(kinds, [0, 100, 0]);
    assert!(take(1).chunks(100).zip(0..).all(|(chunk, queue)| chunk.iter().all(|arrival| arrival.queue == queue)));
    let [log, writers] = [&take(1)[..100], &take(1)[200..]];
    assert!(log.iter().zip(0..).all(|(arrival, index)| arrival.at == index * 2_000_000 && arrival.command.sector == index * 8));
    assert!(writers.iter().any(|arrival| arrival.command.sectors == 128) && writers.iter().any(|arrival| arrival.command.sectors == 8));
}

#[test]
fn threads_of_one_kind_do_not_share_their_bits() {
    let thread = "rate_per_s = 1000\nblock_bytes = 4096\nread_share = 0.5\naddresses = \"uniform\"\nrequests = 3000\n";
    let text = format!("summary = \"s\"\n[threads.a]\n{thread}[threads.b]\n{thread}");
    let workload = File::new("two", &text).resolve().unwrap();
    assert_eq!((workload.pacing, workload.request_count_hint(), workload.needs_drive()), (Pacing::Open, Some(6000), false));
    let arrivals = generate(&workload, 1, None, 64);
    assert_eq!(arrivals.len(), 6000);
    assert!(arrivals.is_sorted_by_key(|arrival| arrival.at));
    let mut times: Vec<u64> = arrivals.iter().map(|arrival| arrival.at).collect();
    times.dedup();
    assert_eq!([0, 1].map(|queue| arrivals.iter().filter(|arrival| arrival.queue == queue).count()), [3000, 3000]);
    assert!(times.len() > 5990, "{}", times.len());
    assert_eq!(generate(&workload, 1, Some(10), 3), arrivals[..10]);
    // The rates add up.
    let summary = workload.characteristics(1, &DRIVE, Some(5000)).unwrap();
    let rate = summary.iops_mean.unwrap();
    assert!((rate / 2000.0 - 1.0).abs() < 0.05, "{rate}");
}

/// Two threads at the pacing given, neither of which has a number of requests.
fn endless_threads(pacing: &str) -> Workload {
    let thread = format!("{pacing}\nblock_bytes = 4096\nread_share = 0.5\naddresses = \"uniform\"\n");
    File::new("endless", &format!("summary = \"s\"\n[threads.a]\n{thread}[threads.b]\n{thread}")).resolve().unwrap()
}

#[test]
fn threads_without_numbers_of_requests_have_that_of_the_run_together() {
    let open = endless_threads("rate_per_s = 1000");
    let arrivals = generate(&open, 1, Some(500), 64);
    assert_eq!(arrivals.len(), 500);
    assert!([0, 1].iter().all(|queue| arrivals.iter().filter(|arrival| arrival.queue == *queue).count() > 100));
    let closed = endless_threads("queue_depth = 2");
    let streams = closed.streams(1, &DRIVE, Some(500)).unwrap();
    assert_eq!((streams.requests, streams.streams.iter().any(|stream| stream.endless)), (500, false), "the number ends them");
    for message in [open.source(1, &DRIVE, None).err().unwrap(), closed.streams(1, &DRIVE, None).err().unwrap()].map(|e| e.to_string()) {
        assert!(message.contains("`requests` in its file, in one of its [threads], or with the run, as --requests"), "{message}");
    }
}

#[test]
fn shuffled_addresses_come_once_in_each_round() {
    let lines = "queue_depth = 1\nblock_bytes = 4096\nread_share = 0.5\naddresses = \"shuffled\"\nrange_bytes = 409600";
    let arrivals = generate(&synthetic("shuffled", lines).unwrap(), 1, Some(200), 7);
    let rounds: Vec<Vec<u64>> = arrivals.chunks(100).map(|round| round.iter().map(|arrival| arrival.command.sector).collect()).collect();
    assert_ne!(rounds[0], rounds[1]);
    for mut round in rounds {
        round.sort_unstable();
        assert!(round.into_iter().eq((0..100).map(|slot| slot * 8)));
    }
}

#[test]
fn kinds_have_their_shares_and_where_asked_their_own_sizes_and_places() {
    let lines = "queue_depth = 1\nblock_bytes = 4096\nwrite_block_mix = [[8192, 1], [16384, 1]]\nread_share = 0.5\ntrim_share = 0.2\n\
                 addresses = \"sequential\"\nstreams = 1\nkinds_apart = true\nrange_bytes = 1048576";
    let arrivals = generate(&synthetic("kinds", lines).unwrap(), 1, Some(20_000), 64);
    let (reads, others): (Vec<Arrival>, Vec<Arrival>) = arrivals.iter().partition(|arrival| arrival.command.kind == CommandKind::Read);
    for (kind, share) in [(CommandKind::Read, 0.5), (CommandKind::Trim, 0.2), (CommandKind::Write, 0.3)] {
        let found = arrivals.iter().filter(|arrival| arrival.command.kind == kind).count() as f64 / 20_000.0;
        assert!((found - share).abs() < 0.02, "{kind:?}: {found}");
    }
    assert!(reads.iter().enumerate().all(|(index, read)| read.command.sector == index as u64 * 8 % 2048 && read.command.sectors == 8));
    let mut next = 0;
    for other in &others {
        let command = other.command;
        assert!(command.sectors == 16 || command.sectors == 32);
        assert_eq!(command.sector, if next + u64::from(command.sectors) > 2048 { 0 } else { next });
        next = command.sector + u64::from(command.sectors);
    }
}

#[test]
fn open_loop_may_begin_later_and_end_when_its_time_is_over() {
    let lines = "rate_per_s = 1000\narrivals = \"fixed\"\nblock_bytes = 4096\nread_share = 0.5\naddresses = \"uniform\"";
    let times = |more: &str, requests| -> Vec<u64> {
        let workload = synthetic("times", &format!("{lines}\n{more}")).unwrap();
        generate(&workload, 1, requests, 7).iter().map(|arrival| arrival.at / 1_000_000).collect()
    };
    // The request at the very end of the time is not issued.
    assert_eq!(times("start_ms = 5\nruntime_ms = 4", None), [5, 6, 7, 8]);
    assert_eq!(times("runtime_ms = 4", Some(2)), [0, 1]);
    let capped = synthetic("capped", &format!("{lines}\nruntime_ms = 4\noutstanding_max = 2")).unwrap();
    assert!(capped.needs_drive() && capped.source(1, &DRIVE, None).is_err());
    assert!(capped.detail.contains("1000 requests per second, at most 2 outstanding, for 4.00 ms"), "{}", capped.detail);
}

#[test]
fn faulty_tables_name_the_line() {
    const SOUND: &str =
        "summary = \"s\"\n[threads.a]\nrate_per_s = 10\nblock_bytes = 4096\nread_share = 0.7\naddresses = \"uniform\"\nrequests = 10\n";
    assert_eq!(check_file(&File::new("sound", SOUND).0), Ok(()));
    for (from, to, line, expected) in [
        ("requests = 10\n", "requests = 0\n", 7, "[threads.a] `requests` is 0"),
        ("rate_per_s = 10", "queue_depth = 0", 3, "[threads.a] `queue_depth` is 0"),
        ("rate_per_s = 10", "queue_depth = 1\narrivals = \"fixed\"", 4, "[threads.a] `arrivals` is given in closed loop"),
        ("rate_per_s = 10", "rate_per_s = 10\narrivals = \"hyper\"", 4, "[threads.a] `arrivals` is \"hyper\" (did you mean"),
        ("rate_per_s = 10", "rate_per_s = 10\narrivals = \"hyperexponential\"", 2, "[threads.a] `arrivals_cv` is missing"),
        ("rate_per_s = 10", "rate_per_s = 10\narrivals_cv = 2.0", 4, "is given without `arrivals"),
        ("rate_per_s = 10", "rate_per_s = 10\narrivals = \"hyperexponential\"\narrivals_cv = 1.0", 5, "above 1 and at most 100"),
        ("block_bytes = 4096", "", 2, "[threads.a] `block_bytes` (one size) or `block_mix` (several) is missing"),
        ("block_bytes = 4096", "block_bytes = 4096\nblock_mix = [[4096, 1]]", 5, "are both given"),
        ("block_bytes = 4096", "block_mix = [[4096, 0]]", 4, "a weight above 0"),
        ("block_bytes = 4096", "block_mix = [[4000, 1]]", 4, "multiple of 512"),
        ("block_bytes = 4096", "block_mix = [[4096, -1]]", 4, "the weight -1"),
        ("block_bytes = 4096", "block_mix = [[8192, 1]]\nrange_bytes = 4096", 5, "smaller than the largest size of `block_mix`"),
        ("\"uniform\"", "\"hot-cold\"\nhot_space_share = 0.1", 2, "[threads.a] `hot_access_share` is missing"),
        ("\"uniform\"", "\"hot-cold\"\nhot_space_share = 1.0\nhot_access_share = 0.5", 7, "above 0 and below 1"),
        ("\"uniform\"", "\"hot-cold\"\nhot_space_share = 0.5\nhot_access_share = 1.5", 8, "from 0 to 1"),
        ("\"uniform\"", "\"uniform\"\nstreams = 2", 7, "given with uniform addresses; allowed: `addresses = \"sequential\"`"),
        ("\"uniform\"", "\"sequential\"\nstreams = 0", 7, "allowed: 1 to 65,536"),
        ("\"uniform\"", "\"sequential\"\nstreams = 2\nalign_bytes = 8192", 8, "of which the size 4096 is no multiple"),
        ("\"uniform\"", "\"uniform\"\noffset_bytes = 100", 7, "multiple of 512"),
        ("rate_per_s = 10", "queue_depth = 1\noutstanding_max = 4", 4, "[threads.a] `outstanding_max` is given in closed loop"),
        ("rate_per_s = 10", "rate_per_s = 10\noutstanding_max = 0", 4, "[threads.a] `outstanding_max` is 0"),
        ("rate_per_s = 10", "rate_per_s = 10\nthink_us = 5", 4, "[threads.a] `think_us` is given in open loop"),
        ("rate_per_s = 10", "queue_depth = 1\nthink_us = 86_400_000_001", 4, "at most 86,400,000,000 us"),
        ("rate_per_s = 10", "rate_per_s = 10\nstart_ms = 86_400_001", 4, "[threads.a] `start_ms` is 86400001; allowed: 0 to 86,400,000 ms"),
        ("rate_per_s = 10", "queue_depth = 1\npulse_ms = 5", 4, "[threads.a] `pulse_ms` needs `pause_ms`"),
        ("rate_per_s = 10", "queue_depth = 1\npause_ms = 5", 4, "[threads.a] `pause_ms` needs `pulse_ms`"),
        ("rate_per_s = 10", "queue_depth = 1\npause_ms = 5\npulse_ms = 0.5", 5, "[threads.a] `pulse_ms` is 0.5; allowed: 1 to"),
        ("rate_per_s = 10", "rate_per_s = 10\npause_ms = 5\npulse_ms = 5", 5, "[threads.a] `pulse_ms` is given without `queue_depth`"),
        ("rate_per_s = 10", "rate_per_s = 10\nruntime_ms = 0", 4, "[threads.a] `runtime_ms` is 0; allowed: 1 to"),
        ("read_share = 0.7", "read_share = 0.7\ntrim_share = 0.4", 6, "[threads.a] `trim_share` is 0.4 and `read_share` 0.7"),
        ("read_share = 0.7", "read_share = 0.7\ntrim_share = -0.1", 6, "from 0 to 1"),
        ("block_bytes = 4096", "block_bytes = 4096\nwrite_block_bytes = 100", 5, "[threads.a] `write_block_bytes` is 100"),
        ("block_bytes = 4096", "block_bytes = 4096\nwrite_block_mix = [[4096, 0]]", 5, "[threads.a] `write_block_mix` needs"),
        (
            "block_bytes = 4096",
            "block_bytes = 4096\nwrite_block_bytes = 8192\nrange_bytes = 4096",
            6,
            "[threads.a] `range_bytes` is smaller than `write_block_bytes`",
        ),
        ("\"uniform\"", "\"shuffled\"\nwrite_block_bytes = 8192", 7, "is given with shuffled addresses"),
        ("\"uniform\"", "\"uniform\"\nkinds_apart = true", 7, "[threads.a] `kinds_apart` is given with uniform addresses"),
    ] {
        let file = File::new("faulty", &SOUND.replace(from, to));
        let message = check_file(&file.0).unwrap_err().to_string();
        assert!(message.contains(&format!("faulty.toml:{line}: ")), "{to}: {message}");
        assert!(message.contains(expected), "{to}: {message}");
    }
    let message = check_file(&File::new("none", "summary = \"s\"\n[threads]\n").0).unwrap_err().to_string();
    assert!(message.contains("`threads` has no thread"), "{message}");
}

#[test]
fn streams_that_do_not_fit_are_refused() {
    let lines = "queue_depth = 1\nblock_bytes = 4096\nread_share = 1.0\naddresses = \"sequential\"\nstreams = 5\nrange_bytes = 16384";
    let message = synthetic("streams", lines).unwrap().source(1, &DRIVE, None).err().unwrap().to_string();
    assert!(message.contains("5 streams of blocks of up to 8 sectors do not fit into a range of 32 sectors"), "{message}");
    let lines = "queue_depth = 1\nblock_bytes = 4096\nread_share = 1.0\naddresses = \"hot-cold\"\nhot_space_share = 0.5\nhot_access_share = 0.5\nrange_bytes = 4096";
    let message = synthetic("hot", lines).unwrap().source(1, &DRIVE, None).err().unwrap().to_string();
    assert!(message.contains("a hot and a cold part do not fit into a range of 8 sectors"), "{message}");
}

/// Of these stand-ins, each made by one rule with more requests than the others, the test would take most of its time.
const LONG: [&str; 4] = ["standin-hm_0", "standin-prn_0", "standin-proj_0", "standin-prxy_0"];

/// Every shipped stand-in keeps its claims with one of two seeds; with `TINYTAIL_SOAK`, with both. Volumes of MSR Cambridge with three
/// million requests or more are left out.
#[test]
fn stand_ins_are_what_they_claim() {
    let stand_ins: Vec<Workload> = list()
        .into_iter()
        .filter(|listing| !LONG.contains(&listing.name.as_str()))
        .filter_map(|listing| Workload::resolve_in(&listing.name, &TraceOptions::default(), None).ok())
        .filter(|workload| workload.input == InputKind::StandIn)
        .collect();
    assert!(!stand_ins.is_empty());
    let is_soak = std::env::var_os("TINYTAIL_SOAK").is_some();
    for (index, workload) in (0..).zip(stand_ins) {
        let drawn = 1 + index % 2;
        for seed in if is_soak { 1..=2 } else { drawn..=drawn } {
            let checked = workload.check_claims(seed).unwrap();
            assert!(checked.len() >= 10, "{} claims little", workload.name);
            let broken: Vec<&CheckedClaim> = checked.iter().filter(|claim| !claim.holds).collect();
            assert!(broken.is_empty(), "{}, seed {seed}: {broken:?}", workload.name);
        }
    }
}

#[test]
fn claims_are_shown_and_broken_ones_are_found() {
    let rows = describe("standin-dtrs").unwrap().rows;
    let claim = rows.iter().find(|row| row.section == "profile.claims" && row.key == "write_percent").unwrap();
    assert_eq!((claim.value.as_str().unwrap(), claim.source.as_str()), ("10.96 ± 5 %", "13,920 of 127,043 requests"));
    let text = include_str!("../../../workloads/standin-dtrs.toml");
    let file = File::new("claims", &text.replace("write_percent = { value = 10.96", "write_percent = { value = 50"));
    let checked = file.resolve().unwrap().check_claims(1).unwrap();
    let broken: Vec<&str> = checked.iter().filter(|claim| !claim.holds).map(|claim| claim.name.as_str()).collect();
    assert_eq!(broken, ["write_percent"]);
    for (from, to, expected) in [
        ("write_percent = {", "write_percents = {", "[profile.claims] `write_percents` is no characteristic"),
        ("write_percent = {", "write_percents = {", "did you mean `write_percent`?"),
        ("tolerance_percent = 5,", "tolerance_percent = 500,", "has `tolerance_percent = 500`; allowed: 0 to 100"),
        ("value = 10.96, tolerance_percent = 5,", "value = 10.96,", "`tolerance_percent` is missing"),
    ] {
        let file = File::new("faulty-claims", &text.replacen(from, to, 1));
        let message = check_file(&file.0).unwrap_err().to_string();
        assert!(message.contains("faulty-claims.toml:") && message.contains(expected), "{message}");
    }
    let message = named("zipf").check_claims(1).unwrap_err().to_string();
    assert!(message.contains("it claims nothing"), "{message}");
}
