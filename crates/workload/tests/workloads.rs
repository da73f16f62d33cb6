//! Named workloads and workload files: the shape of what they generate, and what is said about faulty ones.

use std::path::{Path, PathBuf};

use tinytail_core::commands::CommandKind;
use tinytail_core::units::{SECOND, TIME_MAX};
use tinytail_workload::{
    Arrival, Characteristics, InputKind, Pacing, SourceContext, TraceOptions, Transform, Workload, WorkloadError, check_file, describe,
    list,
};

/// A drive of 256 GiB of which an eighth holds data.
const DRIVE: SourceContext = SourceContext { logical_sectors: 1 << 29, mapped_sectors: 1 << 26 };

fn resolve(name: &str) -> Result<Workload, WorkloadError> {
    Workload::resolve_in(name, &TraceOptions::default(), None)
}

fn generate(workload: &Workload, seed: u64, requests: Option<u64>, batch: usize) -> Vec<Arrival> {
    let mut source = workload.source(seed, &DRIVE, requests).unwrap();
    let mut arrivals = Vec::new();
    while source.fill(&mut arrivals, batch).unwrap() > 0 {}
    arrivals
}

struct File(PathBuf);

impl File {
    fn new(test: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinytail-{}-{test}.toml", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn resolve(&self) -> Result<Workload, WorkloadError> {
        resolve(self.0.to_str().unwrap())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const SYNTHETIC: &str = "summary = \"s\"\n[synthetic]\nqueue_depth = 4\nblock_bytes = 4096\nread_share = 0.7\n\
                         addresses = \"uniform\"\nrequests = 1000\n";

#[test]
fn every_named_workload_is_sound_and_described() {
    let names: Vec<String> = list().into_iter().map(|listing| listing.name).collect();
    let expected = [
        "act",
        "dtrs",
        "financial1",
        "hotcold-write",
        "msr-hm_0-excerpt",
        "msr-prxy_0-excerpt",
        "pes-fig3-read-write-128k",
        "pes-table2-randread-4k-qd1",
        "pes-table2-randread-4k-qd32",
        "pes-table2-randwrite-4k-qd1",
        "pes-table2-randwrite-4k-qd32",
        "pes-table2-seqread-256k",
        "pes-table2-seqwrite-256k",
        "pulses",
        "randread-qd1",
        "randrw70-bursty",
        "randrw70-open",
        "randrw70-qd16",
        "randwrite-qd32",
        "reader-beside-writers",
        "seqread-4streams",
        "sqlite-wal",
        "standin-build",
        "standin-dapps",
        "standin-deskdev",
        "standin-dtrs",
        "standin-dtrs-summary",
        "standin-exchange",
        "standin-financial",
        "standin-hm_0",
        "standin-lmbe",
        "standin-mds_0",
        "standin-msnfs",
        "standin-prn_0",
        "standin-proj_0",
        "standin-prxy_0",
        "standin-rsrch_0",
        "standin-src1_2",
        "standin-src2_0",
        "standin-stg_0",
        "standin-swap",
        "standin-tpcc",
        "standin-ts_0",
        "standin-usr_0",
        "standin-wdev_0",
        "standin-web_0",
        "standin-webindex",
        "standin-websearch",
        "ycsb-btrfs",
        "ycsb-ext4",
        "ycsb-f2fs",
        "zipf",
    ];
    assert_eq!(names, expected);
    for name in &names {
        let description = describe(name).unwrap();
        assert!(!description.summary.is_empty() && !description.rows.is_empty(), "{name}");
        // Of these the recordings are played, which are not here.
        let recorded =
            ["dtrs", "financial1", "msr-hm_0-excerpt", "msr-prxy_0-excerpt", "sqlite-wal", "ycsb-btrfs", "ycsb-ext4", "ycsb-f2fs"];
        if !recorded.contains(&name.as_str()) {
            let workload = resolve(name).unwrap();
            let mut streams = workload.streams(1, &DRIVE, Some(1000)).unwrap();
            for stream in &mut streams.streams {
                let mut arrivals = Vec::new();
                while arrivals.len() < 1000 && stream.source.fill(&mut arrivals, 10).unwrap() > 0 {}
                assert_eq!(arrivals.len(), 1000, "{name}");
            }
        }
    }
}

#[test]
fn every_value_of_a_calibrated_workload_has_its_source() {
    let names: Vec<String> = list().into_iter().map(|listing| listing.name).filter(|name| name.starts_with("standin-")).collect();
    assert_eq!(names.len(), 26);
    for name in &names {
        for row in describe(name).unwrap().rows {
            // A value of 0 switches something off.
            let plain = ["kind", "period_s", "stands_in_for"].contains(&row.key.as_str()) || row.value == "0.0";
            assert!(!row.source.is_empty() || plain, "{name}: {}.{}", row.section, row.key);
        }
    }
    let rows = describe("dtrs").unwrap().rows;
    let unit = rows.iter().find(|row| row.key == "time_unit").unwrap();
    assert_eq!((unit.section.as_str(), unit.value.as_str()), ("trace", Some("us")));
    assert!(unit.source.contains("423"));
}

/// Table 2 of I/O-parallelized GC: writes in percent of the requests, and the size that it prints of them. The requests are
/// bursty, so that the shares of a part of a week are others; sizes do not depend on time.
#[test]
fn the_stand_ins_of_io_parallelized_gc_claim_and_have_its_table_2() {
    let table = [
        ("hm_0", "64.5", 7.4),
        ("prxy_0", "96.9", 8.3),
        ("mds_0", "88.1", 23.7),
        ("src2_0", "88.7", 8.1),
        ("stg_0", "84.8", 24.9),
        ("ts_0", "82.4", 8.4),
        ("wdev_0", "79.9", 12.6),
        ("rsrch_0", "90.7", 10.9),
        ("prn_0", "89.2", 22.8),
        ("proj_0", "87.5", 17.8),
        ("src1_2", "74.6", 19.1),
        ("usr_0", "59.6", 40.9),
        ("web_0", "70.1", 29.9),
    ];
    for (name, percent, kib) in table {
        let name = format!("standin-{name}");
        let rows = describe(&name).unwrap().rows;
        let claimed = |key: &str| rows.iter().find(|row| row.section == "profile.claims" && row.key == key).unwrap();
        assert_eq!(claimed("write_percent").value, format!("{percent} ± 1 %"), "{name}");
        assert_eq!(claimed("write_mean_kib").value, format!("{kib} ± 4 %"), "{name}");
        let arrivals = generate(&resolve(&name).unwrap(), 4, Some(30_000), 32);
        let writes: Vec<f64> =
            arrivals.iter().filter(|a| a.command.kind == CommandKind::Write).map(|a| f64::from(a.command.sectors) / 2.0).collect();
        let mean = writes.iter().sum::<f64>() / writes.len() as f64;
        assert!((mean / kib - 1.0).abs() < 0.05, "{name}: {mean} KiB for {kib}");
    }
}

/// With pages of 16 KiB, striped over 64 dies one after the other, as the drive has them for which these stand-ins are made.
#[test]
fn writes_of_the_stand_ins_of_io_parallelized_gc_are_spread_over_dies_and_pages() {
    for name in ["standin-wdev_0", "standin-prn_0"] {
        let (mut dies, mut pages) = (vec![0_u32; 64], std::collections::BTreeMap::<u64, u32>::new());
        let arrivals = generate(&resolve(name).unwrap(), 4, Some(200_000), 1000);
        for command in arrivals.iter().map(|arrival| arrival.command).filter(|command| command.kind == CommandKind::Write) {
            for page in command.sector / 32..(command.sector + u64::from(command.sectors)).div_ceil(32) {
                dies[(page % 64) as usize] += 1;
                *pages.entry(page).or_default() += 1;
            }
        }
        let (written, hottest) = (dies.iter().sum::<u32>(), *pages.values().max().unwrap());
        assert!(hottest * 100 < written, "{name}: {hottest} of {written}");
        let (least, most) = (dies.iter().min().unwrap(), dies.iter().max().unwrap());
        // By then each die has some fifteen places, of which those that came first were visited most.
        assert!(least * 64 * 4 > written && most * 64 < written * 4, "{name}: {least} to {most} of {written}");
    }
}

#[test]
fn the_same_seed_gives_the_same_stream_however_it_is_batched() {
    for name in ["randrw70-qd16", "randrw70-open", "zipf", "standin-dtrs"] {
        let workload = resolve(name).unwrap();
        let stream = generate(&workload, 7, Some(5000), 32);
        assert_eq!(generate(&workload, 7, Some(5000), 32), stream, "{name}");
        assert_eq!(generate(&workload, 7, Some(5000), 1), stream, "{name}");
        assert_eq!(generate(&workload, 7, Some(9000), 999)[..5000], stream, "{name}");
        assert_ne!(generate(&workload, 8, Some(5000), 32), stream, "{name}");
    }
}

#[test]
fn several_designs_can_play_one_workload_at_once() {
    let workload = resolve("randrw70-qd16").unwrap();
    let streams: Vec<Vec<Arrival>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| generate(&workload, 1, Some(1000), 32))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(streams[0], streams[1]);
}

#[test]
fn closed_loop_has_a_depth_and_no_times() {
    let workload = resolve("randrw70-qd16").unwrap();
    assert_eq!((workload.pacing, workload.input), (Pacing::Closed { depth: 16 }, InputKind::Synthetic));
    assert!(generate(&workload, 1, Some(100), 32).iter().all(|arrival| arrival.at == 0));
    assert_eq!(workload.request_count_hint(), Some(2_000_000));
    let asked = [None, Some(5), Some(100_000_000)];
    assert_eq!(asked.map(|asked| workload.requests_expected(asked)), [Some(2_000_000), Some(5), Some(100_000_000)]);
    let stand_in = resolve("standin-dtrs").unwrap();
    let there = stand_in.request_count_hint();
    assert_eq!(asked.map(|asked| stand_in.requests_expected(asked)), [there, Some(5), there], "a stand-in has no more than it has");
}

#[test]
fn open_loop_arrives_at_exponential_times() {
    let workload = resolve("randrw70-open").unwrap();
    assert_eq!(workload.pacing, Pacing::Open);
    let arrivals = generate(&workload, 1, Some(100_000), 32);
    assert!(arrivals.is_sorted_by_key(|arrival| arrival.at));
    let summary = workload.characteristics(1, &DRIVE, Some(100_000)).unwrap();
    let rate = summary.iops_mean.unwrap();
    assert!((rate / 10_000.0 - 1.0).abs() < 0.02, "{rate}");
    assert!((summary.interarrival_cv - 1.0).abs() < 0.02, "{}", summary.interarrival_cv);
}

#[test]
fn the_mix_is_as_asked_and_addresses_fill_the_mapped_part_evenly() {
    let arrivals = generate(&resolve("randrw70-qd16").unwrap(), 3, Some(200_000), 32);
    let mut buckets = [[0_u32; 16]; 2];
    for arrival in &arrivals {
        let command = arrival.command;
        assert!(command.sectors == 8 && command.sector % 8 == 0);
        assert!(command.sector + 8 <= DRIVE.mapped_sectors);
        buckets[usize::from(command.kind == CommandKind::Read)][(command.sector * 16 / DRIVE.mapped_sectors) as usize] += 1;
    }
    // Reads and writes go to every part alike: a binomial count is within five standard deviations.
    for (kind, share) in [(0, 0.3), (1, 0.7)] {
        for count in buckets[kind] {
            let expected = 200_000.0 * share / 16.0;
            assert!((f64::from(count) - expected).abs() < 5.0 * f64::sqrt(expected), "{count} for {expected}");
        }
    }
    let all = |name, kind| {
        let arrivals = generate(&resolve(name).unwrap(), 3, Some(1000), 32);
        arrivals.iter().all(|arrival| arrival.command.kind == kind)
    };
    assert!(all("randread-qd1", CommandKind::Read) && all("randwrite-qd32", CommandKind::Write));
}

#[test]
fn alignment_and_range_are_kept() {
    let content = SYNTHETIC.replace("4096", "1536") + "align_bytes = 512\nrange_bytes = 5120\n";
    let workload = File::new("range", &content).resolve().unwrap();
    let mut sectors: Vec<u64> = generate(&workload, 1, None, 7).iter().map(|arrival| arrival.command.sector).collect();
    assert_eq!(sectors.len(), 1000);
    sectors.sort_unstable();
    sectors.dedup();
    assert!(sectors.into_iter().eq(0..=7));
    assert_eq!(workload.end_sector(), Some(10));
    let tiny = SourceContext { logical_sectors: 9, mapped_sectors: 9 };
    let message = workload.source(1, &tiny, None).err().unwrap().to_string();
    assert!(message.contains("addresses go up to"), "{message}");
}

#[test]
fn nothing_fits_where_nothing_is_mapped() {
    let empty = SourceContext { logical_sectors: 1 << 20, mapped_sectors: 4 };
    let message = resolve("zipf").unwrap().source(1, &empty, None).err().unwrap().to_string();
    assert!(message.contains("8 sectors do not fit into a range of 4 sectors, the part of the drive that holds data"), "{message}");
}

#[test]
fn zipf_is_skewed_and_its_hot_blocks_are_spread() {
    let arrivals = generate(&resolve("zipf").unwrap(), 5, Some(200_000), 32);
    let mut counts = std::collections::HashMap::<u64, u32>::new();
    for arrival in &arrivals {
        *counts.entry(arrival.command.sector).or_default() += 1;
    }
    let mut hot: Vec<(u32, u64)> = counts.into_iter().map(|(sector, count)| (count, sector)).collect();
    hot.sort_unstable_by(|a, b| b.cmp(a));
    // The sum of k^-0.99 over 2^23 blocks is 17.9; the first block has one part of it, and the first hundred have 5.29.
    let first = f64::from(hot[0].0) / 200_000.0;
    assert!((first * 17.9 - 1.0).abs() < 0.05, "{first}");
    let hundred = f64::from(hot[..100].iter().map(|(count, _)| count).sum::<u32>()) / 200_000.0;
    assert!((hundred * 17.9 / 5.29 - 1.0).abs() < 0.05, "{hundred}");
    let low = hot[..100].iter().filter(|(_, sector)| *sector < DRIVE.mapped_sectors / 2).count();
    assert!((30..=70).contains(&low), "{low}");
}

#[test]
fn arrivals_beyond_the_end_of_time_are_an_error() {
    let content = SYNTHETIC.replace("queue_depth = 4", "rate_per_s = 0.001");
    let workload = File::new("late", &content).resolve().unwrap();
    let mut source = workload.source(1, &DRIVE, Some(10_000)).unwrap();
    let mut arrivals = Vec::new();
    let error = loop {
        match source.fill(&mut arrivals, 32) {
            Ok(0) => panic!("the requests end at {} of {TIME_MAX}", arrivals.last().unwrap().at),
            Ok(_) => {}
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("arrive later than 26.1 days"), "{error}");
}

/// What a claim of a stand-in can't say: that most of what is written is written in one burst.
#[test]
fn the_stand_in_writes_its_bulk_at_once() {
    let workload = resolve("standin-dtrs").unwrap();
    assert_eq!((workload.input, workload.pacing), (InputKind::StandIn, Pacing::Open));
    for seed in [1, 2, 3, 4, 5] {
        let arrivals = generate(&workload, seed, None, 32);
        let (mut whole, mut bulk) = (Characteristics::default(), Characteristics::default());
        for arrival in &arrivals {
            whole.add(arrival);
            if (230 * SECOND..280 * SECOND).contains(&arrival.at) {
                bulk.add(arrival);
            }
        }
        let share = bulk.summary().write.pages as f64 / whole.summary().write.pages as f64;
        assert!((share - 0.974).abs() <= 0.01, "seed {seed}: {share}");
        assert!(arrivals.is_sorted_by_key(|arrival| arrival.at));
    }
    let message = workload.check_fits(1 << 25).unwrap_err().to_string();
    assert!(message.contains("go up to 153.20 GiB, and the drive has 16.00 GiB"), "{message}");
}

/// 20 requests per second for 1000 s, with further keys of the flow.
fn flow(test: &str, keys: &str) -> Vec<Arrival> {
    let content = format!(
        "summary = \"s\"\n[profile]\nstands_in_for = \"s\"\n[profile.flows.writes]\nkind = \"write\"\nperiod_s = 1000\nrates_per_s = [20.0]\n\
         jitter_share = 0.0\npause_share = 0.0\npause_ms = 0.0\nsequential_share = 0.5\ninterleave_share = 0.0\nrevisit_share = 0.0\n\
         start_sizes_sectors = [[16, 1.0]]\ncontinuation_sizes_sectors = [[16, 1.0]]\nregions_gib = [[0.0, 100.0, 1.0]]\n{keys}"
    );
    generate(&File::new(test, &content).resolve().unwrap(), 1, None, 32)
}

#[test]
fn bursts_leave_the_mean_alone_and_widen_the_more_the_longer_the_interval() {
    let [even, bursty] = [("even", ""), ("bursty", "burst_bias = 0.65")].map(|(test, keys)| flow(test, keys));
    // Both are Poisson counts of 20,000: within five standard deviations.
    assert!(even.len().abs_diff(20_000) < 710 && bursty.len().abs_diff(20_000) < 710, "{} {}", even.len(), bursty.len());
    let dispersion = |arrivals: &[Arrival], interval_s: u64| {
        let mut counts = vec![0.0; (1000 / interval_s) as usize];
        arrivals.iter().for_each(|arrival| counts[(arrival.at / SECOND / interval_s) as usize] += 1.0);
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / counts.len() as f64 / mean
    };
    let [of_even, of_bursty] = [&even, &bursty].map(|arrivals| [1, 10, 100].map(|interval_s| dispersion(arrivals, interval_s)));
    assert!(of_even.iter().all(|dispersion| *dispersion < 4.0), "{of_even:?}");
    assert!(of_bursty[0] > 10.0 && of_bursty[1] > 3.0 * of_bursty[0] && of_bursty[2] > 3.0 * of_bursty[1], "{of_bursty:?}");
}

#[test]
fn shared_bursts_bring_reads_and_writes_together_and_leave_their_numbers_alone() {
    // The share of the reads that lies in the fifth of the seconds that has most writes. Of the writes themselves 61 % do.
    let [alone, together] = [("alone", ""), ("together", "shared_bursts = true")].map(|(test, key)| {
        let flows = ["read", "write"].map(|kind| {
            format!(
                "[profile.flows.{kind}s]\nkind = \"{kind}\"\nperiod_s = 256\nrates_per_s = [40.0]\njitter_share = 0.0\npause_share = 0.0\n\
                 pause_ms = 0.0\nburst_bias = 0.7\nsequential_share = 0.5\ninterleave_share = 0.0\nrevisit_share = 0.0\n\
                 start_sizes_sectors = [[16, 1.0]]\ncontinuation_sizes_sectors = [[16, 1.0]]\nregions_gib = [[0.0, 100.0, 1.0]]\n"
            )
        });
        let content = format!("summary = \"s\"\n[profile]\nstands_in_for = \"s\"\n{key}\n{}", flows.concat());
        let mut seconds = vec![[0_usize; 2]; 256];
        for arrival in generate(&File::new(test, &content).resolve().unwrap(), 1, None, 32) {
            seconds[(arrival.at / SECOND) as usize][usize::from(arrival.command.kind == CommandKind::Write)] += 1;
        }
        let totals = [0, 1].map(|kind| seconds.iter().map(|counts| counts[kind]).sum::<usize>());
        // Poisson counts of 10,240: within five standard deviations.
        assert!(totals.iter().all(|total| total.abs_diff(10_240) < 510), "{totals:?}");
        seconds.sort_unstable_by_key(|counts| std::cmp::Reverse(counts[1]));
        seconds[..50].iter().map(|counts| counts[0]).sum::<usize>() as f64 / totals[0] as f64
    });
    assert!(alone < 0.45 && together > 0.55, "{alone} {together}");
}

#[test]
fn flows_that_share_bursts_have_the_same() {
    let flow = "kind = \"read\"\nperiod_s = 10\nrates_per_s = [1.0]\njitter_share = 0.0\npause_share = 0.0\npause_ms = 0.0\n\
                sequential_share = 0.0\ninterleave_share = 0.0\nrevisit_share = 0.0\nstart_sizes_sectors = [[16, 1.0]]\n\
                continuation_sizes_sectors = [[16, 1.0]]\nregions_gib = [[0.0, 1.0, 1.0]]\n";
    for (line, expected) in [
        ("burst_bias = 0.7", "[profile.flows.b] `burst_bias` is 0.7; allowed: 0.6, as in the flow \"a\", with `shared_bursts`"),
        ("burst_bias = 0.6\nstart_s = 3", "[profile.flows.b] `start_s` is 3; allowed: 0, as in the flow \"a\""),
    ] {
        let content = format!(
            "summary = \"s\"\n[profile]\nstands_in_for = \"s\"\nshared_bursts = true\n\
             [profile.flows.a]\n{flow}burst_bias = 0.6\n[profile.flows.b]\n{flow}{line}\n"
        );
        let message = check_file(&File::new("unlike", &content).0).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_offset_moves_addresses_and_breaks_no_run() {
    let [aligned, moved] = [("aligned", ""), ("moved", "offset_sectors = 3")].map(|(test, keys)| flow(test, keys));
    assert!(aligned.iter().all(|arrival| arrival.command.sector % 8 == 0) && moved.iter().all(|arrival| arrival.command.sector % 8 == 3));
    let [of_aligned, of_moved] = [&aligned, &moved].map(|arrivals| {
        let mut characteristics = Characteristics::default();
        arrivals.iter().for_each(|arrival| characteristics.add(arrival));
        characteristics.summary()
    });
    assert!((of_aligned.sequential_percent - of_moved.sequential_percent).abs() < 2.0);
    // Every request lies across three pages instead of two, and where one follows another they share a page.
    assert_eq!((of_aligned.overwrite_percent, of_aligned.write.pages), (0.0, 2 * of_aligned.requests));
    assert_eq!(of_moved.write.pages, 3 * of_moved.requests);
    assert!((of_moved.overwrite_percent * 3.0 - of_moved.sequential_percent).abs() < 2.0, "{}", of_moved.overwrite_percent);
}

#[test]
fn small_requests_begin_on_all_channels_and_planes_alike() {
    let mut pages = [0_u32; 64];
    let arrivals = flow("channels", "");
    arrivals.iter().for_each(|arrival| pages[(arrival.command.sector / 8 % 64) as usize] += 1);
    // Binomial counts, of requests that come in runs: within five standard deviations of twice the variance.
    let expected = arrivals.len() as f64 / 64.0;
    assert!(pages.iter().all(|count| (f64::from(*count) - expected).abs() < 5.0 * (2.0 * expected).sqrt()), "{pages:?}");
}

#[test]
fn the_real_trace_is_found_in_the_folder_of_traces() {
    let message = resolve("dtrs").unwrap_err().to_string();
    assert!(message.contains("DTRS1K.trace.zst") && message.contains("TINYTAIL_TRACES"), "{message}");
    let nowhere = Path::new("/nonexistent-folder");
    let message = Workload::resolve_in("dtrs", &TraceOptions::default(), Some(nowhere)).unwrap_err().to_string();
    assert!(message.contains("/nonexistent-folder") && message.contains("TINYTAIL_TRACES"), "{message}");

    let Some(folder) = std::env::var_os("TINYTAIL_TRACES").map(PathBuf::from) else {
        eprintln!("SKIPPED: set TINYTAIL_TRACES to the folder with the recorded traces to test them");
        return;
    };
    let workload = Workload::resolve_in("dtrs", &TraceOptions::default(), Some(&folder)).unwrap();
    assert_eq!((workload.input, workload.request_count_hint()), (InputKind::Real, Some(127_043)));
    assert!(workload.notes.iter().any(|note| note == "times in us, from the workload dtrs"), "{:?}", workload.notes);
    let summary = workload.characteristics(1, &DRIVE, None).unwrap();
    assert!((summary.read.footprint_mib - 4316.0).abs() < 1.0 && (summary.write.footprint_mib - 719.0).abs() < 1.0);
    assert!((summary.overwrite_percent - 0.9).abs() < 0.05 && (summary.span_gib - 153.2).abs() < 0.05);
}

#[test]
fn a_near_miss_of_a_name_is_corrected() {
    let message = resolve("ranrw70-qd16").unwrap_err().to_string();
    assert!(message.contains("`ranrw70-qd16` (did you mean `randrw70-qd16`?)"), "{message}");
    assert!(resolve("some/where.trace").unwrap_err().to_string().contains("no workload and no file"));
}

#[test]
fn options_of_traces_do_not_apply_to_other_workloads() {
    let options = TraceOptions { time_unit: Some("us".parse().unwrap()), ..TraceOptions::default() };
    let message = Workload::resolve_in("zipf", &options, None).unwrap_err().to_string();
    assert!(message.contains("apply to traces"), "{message}");
}

#[test]
fn stand_ins_can_be_played_in_closed_loop() {
    let closed = |depth| TraceOptions { queue_depth: Some(depth), ..TraceOptions::default() };
    let open = resolve("standin-dtrs").unwrap();
    let workload = Workload::resolve_in("standin-dtrs", &closed(32), None).unwrap();
    assert_eq!((open.pacing, workload.pacing), (Pacing::Open, Pacing::Closed { depth: 32 }));
    assert!(workload.detail.contains("in closed loop at queue depth 32"), "{}", workload.detail);
    assert_eq!(generate(&workload, 3, Some(2000), 32), generate(&open, 3, Some(2000), 32));
    let message = Workload::resolve_in("standin-dtrs", &closed(0), None).unwrap_err().to_string();
    assert!(message.contains("a queue depth of 0"), "{message}");
    // In bursts by its own file, and in closed loop.
    let message = Workload::resolve_in("standin-build", &closed(32), None).unwrap_err().to_string();
    assert!(message.contains("`burst_gap_s` is about times, and in closed loop"), "{message}");
    let faster = Transform { scale_time: Some(0.5), ..Transform::default() };
    let message = workload.transformed(&faster).unwrap_err().to_string();
    assert!(message.contains("`scale_time` is about times, and in closed loop"), "{message}");
    let message = Workload::resolve_in("zipf", &closed(32), None).unwrap_err().to_string();
    assert!(message.contains("the queue depth to traces and stand-ins, and this workload is none"), "{message}");
    let options = TraceOptions { time_unit: Some("us".parse().unwrap()), ..closed(32) };
    let message = Workload::resolve_in("standin-dtrs", &options, None).unwrap_err().to_string();
    assert!(message.contains("apply to traces"), "{message}");
}

#[test]
fn faulty_workload_files_name_the_line() {
    for (from, to, line, expected) in [
        ("read_share", "reed_share", 5, "`reed_share` is unknown"),
        ("read_share", "reed_share", 5, "did you mean `read_share`?"),
        ("\"uniform\"", "\"unifrom\"", 6, "did you mean `uniform`?"),
        ("0.7", "1.5", 5, "[synthetic] `read_share` is 1.5; allowed: a share from 0 to 1"),
        ("0.7", "nan", 5, "allowed: a share"),
        ("0.7", "\"many\"", 5, "[synthetic] `read_share` is \"many\"; allowed: a number"),
        ("\"uniform\"", "\"unifrom\"", 6, "[synthetic] `addresses` is \"unifrom\" (did you mean"),
        ("0.7", "{ value = 0.7, sauce = \"x\" }", 5, "unknown key `sauce`"),
        ("4096", "4000", 4, "allowed: a multiple of 512 bytes"),
        ("4096", "0", 4, "above 0"),
        ("4096", "-1", 4, "[synthetic] `block_bytes` is -1; allowed: a whole number that is not negative"),
        ("queue_depth = 4", "queue_depth = { value = -4, source = \"s\" }", 3, "[synthetic] `queue_depth` is -4"),
        ("queue_depth = 4", "queue_depth = 0", 3, "[synthetic] `queue_depth` is 0"),
        ("queue_depth = 4", "queue_depth = 4\nrate_per_s = 1", 4, "both given"),
        ("queue_depth = 4", "rate_per_s = 0", 3, "above 0 and at most 1e9"),
        ("\"uniform\"", "\"zipf\"", 2, "[synthetic] `zipf_theta` is missing"),
        ("\"uniform\"", "\"zipf\"\nzipf_theta = 9", 7, "above 0, at most 4"),
        ("\"uniform\"", "\"uniform\"\nzipf_theta = 1", 7, "uniform addresses"),
        ("requests = 1000", "requests = 0", 7, "[synthetic] `requests` is 0"),
        ("[synthetic]", "[synthetik]", 2, "did you mean `synthetic`?"),
        ("requests = 1000", "requests = 1000\n[trace]\nfile = \"x\"", 1, "exactly one of the tables"),
        ("requests = 1000", "requests =", 7, ""),
    ] {
        let file = File::new("faulty", &SYNTHETIC.replace(from, to));
        let message = file.resolve().unwrap_err().to_string();
        assert!(message.contains(&format!("faulty.toml:{line}: ")), "{to}: {message}");
        assert!(message.contains(expected), "{to}: {message}");
        assert_eq!(check_file(&file.0).unwrap_err().to_string(), message);
    }
    assert_eq!(check_file(&File::new("sound", SYNTHETIC).0), Ok(()));
    let elsewhere = File::new("elsewhere", "summary = \"s\"\n[trace]\nfile = \"t\"\nscale_time = 2.0\n").resolve().unwrap_err().to_string();
    assert!(elsewhere.contains(":4: [trace] `scale_time` is unknown (did you mean `transform.scale_time`?); allowed: file"), "{elsewhere}");
    let message = File::new("no-trace", "summary = \"s\"\n\n[trace]\n").resolve().unwrap_err().to_string();
    assert!(message.contains(":3: [trace] `file` is missing"), "{message}");
}

#[test]
fn all_faults_of_a_workload_file_are_told_with_their_lines() {
    let thread = "block_bytes = 4096\nread_share = 0.7\naddresses = \"uniform\"\n";
    let file = File::new(
        "faults",
        &format!(
            "summary = \"s\"\nmultiplir = 2\n[threads.a]\nqueue_depth = 0\n{thread}[threads.b]\nqueue_depth = 1\n{}[threads.c]\n\
             queue_depth = 1\nrate_per_s = 5\n{thread}",
            thread.replace("0.7", "7").replace("4096", "\"4k\"").replace("unif", "unf")
        ),
    );
    let message = check_file(&file.0).unwrap_err().to_string();
    let expected = [
        "2: `multiplir` is unknown (did you mean `multiplier`?); allowed: summary, multiplier",
        "4: [threads.a] `queue_depth` is 0; allowed: 1 or more",
        "10: [threads.b] `block_bytes` is \"4k\"; allowed: a whole number",
        "11: [threads.b] `read_share` is 7; allowed: a share from 0 to 1",
        "12: [threads.b] `addresses` is \"unform\" (did you mean `uniform`?); allowed: uniform, ",
        "15: [threads.c] `rate_per_s` and `queue_depth` are both given; allowed: one, open or closed loop",
    ];
    assert_eq!(message.lines().count(), expected.len(), "{message}");
    for (found, expected) in message.lines().zip(expected) {
        assert!(found.contains(&format!("faults.toml:{expected}")), "{found}");
    }
}

#[test]
fn the_number_of_requests_is_the_files_or_the_runs_and_one_of_them_must_be_there() {
    let file = File::new("endless", &SYNTHETIC.replace("requests = 1000\n", ""));
    assert_eq!(check_file(&file.0), Ok(()));
    let (endless, bounded) = (file.resolve().unwrap(), File::new("bounded", SYNTHETIC).resolve().unwrap());
    assert_eq!((endless.request_count_hint(), bounded.request_count_hint()), (None, Some(1000)));
    assert_eq!(generate(&endless, 1, Some(1000), 64), generate(&bounded, 1, None, 64));
    assert_eq!(generate(&bounded, 1, Some(70), 64).len(), 70);
    let message = endless.source(1, &DRIVE, None).err().unwrap().to_string();
    assert!(message.contains("`requests` in its file, in [synthetic], or with the run, as --requests"), "{message}");
    assert_eq!((endless.check_ends(Some(1)), bounded.check_ends(None)), (Ok(()), Ok(())));
}

#[test]
fn faulty_profiles_name_the_line() {
    let sound = include_str!("../../../workloads/standin-dtrs.toml");
    for (from, to, expected) in [
        (
            "jitter_share = { value = 0.45,",
            "burst_bias = 0.95\njitter_share = { value = 0.45,",
            "[profile.flows.reads] `burst_bias` is 0.95",
        ),
        ("jitter_share = { value = 0.45,", "burst_bias = nan\njitter_share = { value = 0.45,", "allowed: 0.5 to 0.9"),
        ("jitter_share = { value = 0.45,", "burst_byas = 0.6\njitter_share = { value = 0.45,", "did you mean `burst_bias`?"),
        (
            "jitter_share = { value = 0.45,",
            "offset_sectors = 8\njitter_share = { value = 0.45,",
            "[profile.flows.reads] `offset_sectors` is 8",
        ),
        ("jitter_share = { value = 0.45,", "lane_kib = 130\njitter_share = { value = 0.45,", "[profile.flows.reads] `lane_kib` is 130"),
        ("sweep_parallel = { value = 6", "lane_kib = 512\nsweep_parallel = { value = 6", "[profile.flows.bulk-writes] `lane_kib` has no"),
        ("sweep_parallel = { value = 6", "revisit_evenly = true\nsweep_parallel = { value = 6", "revisit_evenly` has no"),
        ("sweep_parallel = { value = 6", "sweep_parallel = { value = 0", "[profile.flows.bulk-writes] `sweep_parallel` is 0"),
        ("sweep_parallel = {", "sweep_paralel = {", "did you mean `sweep_parallel`?"),
        ("sweep_chunk_kib = { value = 256", "sweep_chunk_kib = { value = 250", "[profile.flows.bulk-writes] `sweep_chunk_kib` is 250"),
        ("jitter_share = { value = 0.45,", "sweep_parallel = 2\njitter_share = { value = 0.45,", "needs `sweep_chunk_kib`"),
        (
            "jitter_share = { value = 0.45,",
            "sweep_parallel = 2\nsweep_chunk_kib = 64\njitter_share = { value = 0.45,",
            "[profile.flows.reads] `sequential_share` is 0.9; a flow with `sweep_chunk_kib` needs 0",
        ),
        ("[152.0, 153.2, 1.0]", "[153.0, 152.0, 1.0]", "[profile.flows.bulk-writes] `regions_gib` has [153, 152, 1]"),
        ("pause_ms = 0.0", "pause_ms = -1.0", "[profile.flows.small-writes] `pause_ms` is -1"),
        ("[8, 77.2]", "[0, 77.2]", "[profile.flows.small-writes] `start_sizes_sectors` needs pairs"),
        ("pause_share = { value = 0.001", "pause_share = { value = 0.5", "leaves no time for"),
        ("270.1", "-270.1", "[profile.flows.reads] `rates_per_s` has -270.1"),
        ("kind = \"read\"", "kind = \"reads\"", "did you mean `read`?"),
    ] {
        assert!(sound.contains(from), "{from}");
        let message = File::new("profile", &sound.replacen(from, to, 1)).resolve().unwrap_err().to_string();
        assert!(message.contains("profile.toml:") && message.contains(expected), "{message}");
    }
}
