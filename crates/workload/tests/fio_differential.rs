//! Job files as fio itself plays them, held against what is made of them here.
//!
//! fio plays them on a sparse file as large as the drive. So a request that begins in the range of a job may end behind it, as on a
//! device. On fio's null engine the file would end with the range.
//!
//! Without fio these tests say so and pass. Requests that are drawn are compared by statistical tests whose level is such that one in
//! a million right comparisons fails.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use tinytail_core::commands::CommandKind;
use tinytail_workload::{SourceContext, TraceOptions, Workload};

/// The deviation in standard deviations that one in a million exceeds.
const DEVIATION: f64 = 4.9;

/// Fewer requests than these are too few for a statistical test.
const FEW: usize = 30;

const DRIVE: SourceContext = SourceContext { logical_sectors: 1 << 22, mapped_sectors: 1 << 22 };

/// A request: what, where, how long, the last two in bytes.
type Request = (&'static str, u64, u64);

/// What must be equal of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equal {
    /// Every request in its order.
    Order,
    /// Every request, in any order.
    Set,
    /// How many there are and their bytes; the others by statistical tests.
    Counts,
    /// Their bytes; the others by statistical tests.
    Bytes,
    /// Nothing but statistical tests.
    Statistics,
}

fn has_fio() -> bool {
    let has = in_time("fio").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has {
        // The harness does not capture this.
        let _ = writeln!(std::io::stderr(), "SKIPPED: fio is not installed, so that job files are not held against it");
    }
    has
}

/// A program that is ended, with its children, after a minute: with some seeds fio draws from a normal distribution for ever.
fn in_time(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "60", program]);
    command
}

/// How many requests fio makes of a job file, and their bytes, by its own count: threads that write down what they issue in one file
/// spoil each other's lines.
fn totals_of_fio(text: &str, folder: &Path) -> (usize, u64) {
    let report = run_fio(text, folder);
    let report: serde_json::Value = serde_json::from_str(&report[report.find('{').unwrap()..]).unwrap();
    let sum = |name: &str| -> u64 {
        let jobs = report["jobs"].as_array().unwrap();
        jobs.iter().flat_map(|job| ["read", "write", "trim"].map(|kind| job[kind][name].as_u64().unwrap())).sum()
    };
    (sum("total_ios") as usize, sum("io_bytes"))
}

/// The requests that fio makes of a job file, which it writes down before it issues them.
fn fio(text: &str, folder: &Path) -> Vec<Request> {
    // The processes of several jobs write one log, and may tear each other's lines apart.
    const TRIES: usize = 10;
    (0..TRIES).find_map(|_| whole_log(text, folder)).expect("a log without torn lines")
}

/// The requests that fio logs, unless a line of the log is torn.
fn whole_log(text: &str, folder: &Path) -> Option<Vec<Request>> {
    let log = folder.join("requests.log");
    let _ = std::fs::remove_file(&log);
    run_fio(text, folder);
    let trims = trims(text);
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let kind = |word: &str| ["read", "write", "trim"].into_iter().find(|kind| *kind == if trims { "trim" } else { word });
    let mut requests = Vec::new();
    for line in text.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [_, _, action, offset, length] => requests.extend(kind(action).map(|kind| (kind, offset.parse(), length.parse()))),
            [_, _, "add" | "open" | "close"] | ["fio", "version", ..] => {}
            _ => return None,
        }
    }
    requests.into_iter().map(|(kind, offset, length)| Some((kind, offset.ok()?, length.ok()?))).collect()
}

/// Whether a job file has trims, and nothing else. fio sends none to a file, and is given reads of the same sizes and places.
fn trims(text: &str) -> bool {
    let kinds: Vec<&str> = text.lines().filter(|line| line.starts_with("rw=")).collect();
    let trims = kinds.iter().filter(|line| line.contains("trim")).count();
    assert!(trims == 0 || trims == kinds.len(), "trims beside other requests\n{text}");
    trims > 0
}

/// A line of a job file whose requests are trims, as one whose requests are reads.
fn reads_for_trims(line: &str) -> String {
    match line.split_once('=') {
        Some(("rw", kind)) => format!("rw={}", kind.replace("trim", "read")),
        // The last of the values by direction is the one of trims.
        Some((name @ ("bs" | "bssplit" | "bsrange" | "percentage_random"), values)) => {
            format!("{name}={}", values.rsplit(',').next().unwrap_or(values))
        }
        _ => line.to_owned(),
    }
}

/// Runs a job file on a sparse file as large as the drive. Gives fio's report; `requests.log` has the requests.
fn run_fio(text: &str, folder: &Path) -> String {
    let log = folder.join("requests.log");
    let file = folder.join("fio.fio");
    let drive = folder.join("drive");
    std::fs::File::create(&drive).unwrap().set_len(DRIVE.logical_sectors * 512).unwrap();
    // One request at a time comes in the order in which it is made.
    let others = ["ioengine=", "direct=", "filename=", "iodepth=", "directory=", "buffered=", "write_bw_log", "io_submit_mode="];
    let engine = |line: &&str| !others.iter().any(|option| line.starts_with(option));
    let trims = trims(text);
    let lines = text.lines().filter(engine).map(|line| if trims { reads_for_trims(line) } else { line.to_owned() });
    let options = format!("[global]\nioengine=psync\nfilename={}\nwrite_iolog={}\n", drive.display(), log.display());
    std::fs::write(&file, options + &lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let run = || in_time("fio").arg("--output-format=json").arg(&file).current_dir(folder).output().unwrap();
    let mut output = run();
    if output.status.code().is_none() || output.status.code() == Some(137) {
        // It draws another seed.
        let _ = std::fs::remove_file(folder.join("requests.log"));
        output = run();
    }
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The requests that are made of it here.
fn tinytail(text: &str, folder: &Path, seed: u64) -> Vec<Request> {
    let file = folder.join("jobs.fio");
    std::fs::write(&file, text).unwrap();
    let workload =
        Workload::resolve_in(file.to_str().unwrap(), &TraceOptions::default(), None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let phases = workload.preparing(seed, &DRIVE).unwrap();
    let measured = workload.streams(seed, &DRIVE, None).unwrap();
    let mut all = Vec::new();
    for stream in phases.into_iter().chain([measured]).flat_map(|streams| streams.streams) {
        let mut source = stream.source;
        let mut arrivals = Vec::new();
        while source.fill(&mut arrivals, 1000).unwrap() > 0 {
            assert!(arrivals.len() < 1 << 22, "it has no end\n{text}");
        }
        all.extend(arrivals.iter().map(|arrival| {
            let kind = match arrival.command.kind {
                CommandKind::Read => "read",
                CommandKind::Write => "write",
                CommandKind::Trim => "trim",
            };
            (kind, arrival.command.sector * 512, u64::from(arrival.command.sectors) * 512)
        }));
    }
    if workload.request_count_hint().is_some_and(|count| count != all.len() as u64)
        && !text.contains("number_ios")
        && !text.contains("stonewall")
    {
        panic!("{:?} requests were told and {} made\n{text}", workload.request_count_hint(), all.len());
    }
    all
}

/// A job of the plainest kind with these options.
fn job(options: &str) -> String {
    format!("[job]\ndirect=1\nfilename=drive\n{options}\n")
}

fn bytes(requests: &[Request]) -> u64 {
    requests.iter().map(|(_, _, bytes)| bytes).sum()
}

/// Fails if two samples of counts are not of one distribution: chi-square with small classes put together.
fn same_distribution<K: Ord + Copy>(what: &str, text: &str, samples: [&BTreeMap<K, u64>; 2]) {
    let totals = samples.map(|sample| sample.values().sum::<u64>() as f64);
    if totals[0] == 0.0 || totals[1] == 0.0 {
        assert!(totals.iter().all(|total| *total < FEW as f64), "{what}: {totals:?}\n{text}");
        return;
    }
    let keys: std::collections::BTreeSet<K> = samples.iter().flat_map(|sample| sample.keys().copied()).collect();
    let mut classes: Vec<[f64; 2]> = vec![[0.0; 2]];
    for key in keys {
        let counts = samples.map(|sample| sample.get(&key).copied().unwrap_or(0) as f64);
        if classes.last().is_some_and(|class| class[0] + class[1] >= 40.0) {
            classes.push([0.0; 2]);
        }
        let class = classes.last_mut().unwrap();
        class[0] += counts[0];
        class[1] += counts[1];
    }
    let freedom = classes.len() as f64 - 1.0;
    if freedom < 1.0 {
        return;
    }
    let [a, b] = totals;
    let ratios = ((b / a).sqrt(), (a / b).sqrt());
    let square: f64 = classes.iter().filter(|[a, b]| a + b > 0.0).map(|[a, b]| (ratios.0 * a - ratios.1 * b).powi(2) / (a + b)).sum();
    // Wilson and Hilferty's approximation of the quantile.
    let part = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - part + DEVIATION * part.sqrt()).powi(3);
    assert!(square <= limit, "{what}: chi-square is {square:.1} in {freedom} degrees of freedom, at most {limit:.1}\n{text}");
}

/// How many of a sample fall into each class.
fn classes<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u64> {
    let mut classes = BTreeMap::new();
    for key in keys {
        *classes.entry(key).or_default() += 1;
    }
    classes
}

fn compare(text: &str, equal: Equal) {
    let folder = tempfile::tempdir().unwrap();
    let drawn = |seed| [fio(text, folder.path()), tinytail(text, folder.path(), seed)];
    // Some jobs end a pass at random. If only one of both ended early, there is nothing to compare: draw both again.
    const TRIES: u64 = 10;
    let is_comparable = |[of_fio, own]: &[Vec<Request>; 2]| equal != Equal::Statistics || (of_fio.len() < FEW) == (own.len() < FEW);
    let requests = (7..7 + TRIES).map(drawn).find(is_comparable);
    compare_requests(text, equal, requests.unwrap_or_else(|| panic!("in {TRIES} tries only one had {FEW} requests\n{text}")));
}

fn compare_requests(text: &str, equal: Equal, mut requests: [Vec<Request>; 2]) {
    let [of_fio, own] = &requests;
    assert!(!of_fio.is_empty(), "fio has no requests\n{text}");
    if equal == Equal::Order {
        let differs = of_fio.iter().zip(own).position(|(a, b)| a != b);
        assert!(differs.is_none(), "request {differs:?}: {:?}, {:?}\n{text}", of_fio[differs.unwrap()], own[differs.unwrap()]);
    }
    if equal != Equal::Bytes && equal != Equal::Statistics {
        assert_eq!((of_fio.len(), bytes(of_fio)), (own.len(), bytes(own)), "{text}");
    }
    if equal == Equal::Set {
        requests.iter_mut().for_each(|requests| requests.sort_unstable());
        assert!(requests[0] == requests[1], "not the same set\n{text}");
        return;
    }
    if equal == Equal::Bytes {
        assert_eq!(bytes(of_fio), bytes(own), "{text}");
    }
    if equal == Equal::Order {
        return;
    }
    // How many of each kind.
    let samples = requests.each_ref().map(|requests| classes(requests.iter().map(|(kind, _, _)| *kind)));
    same_distribution("kinds", text, [&samples[0], &samples[1]]);
    let end = requests.iter().flatten().map(|(_, at, bytes)| at + bytes).max().unwrap_or(1);
    let first = requests.iter().flatten().map(|(_, at, _)| *at).min().unwrap_or(0);
    for kind in ["read", "write", "trim"] {
        let of_kind = requests.each_ref().map(|requests| requests.iter().filter(|request| request.0 == kind).collect::<Vec<_>>());
        let sizes = of_kind.each_ref().map(|requests| classes(requests.iter().map(|(_, _, bytes)| *bytes)));
        same_distribution(&format!("sizes of {kind}s"), text, [&sizes[0], &sizes[1]]);
        let follows = of_kind.each_ref().map(|requests| classes(requests.windows(2).map(|pair| pair[0].1 + pair[0].2 == pair[1].1)));
        same_distribution(&format!("sequential {kind}s"), text, [&follows[0], &follows[1]]);
        // The places of sequential requests are not drawn.
        if ["percentage_random", ":8"].iter().any(|option| text.contains(option)) || !text.contains("rw=rand") {
            continue;
        }
        let places = of_kind.each_ref().map(|requests| classes(requests.iter().map(|(_, at, _)| (at - first) * 64 / (end - first))));
        same_distribution(&format!("places of {kind}s"), text, [&places[0], &places[1]]);
    }
}

#[test]
fn requests_of_one_size_are_those_of_fio() {
    if !has_fio() {
        return;
    }
    // Each job starts fio; without the soak every second one does.
    let all = [
        ("rw=read\nbs=4k\nsize=1m", Equal::Order),
        ("rw=write\nbs=64k\nsize=1m\noffset=2m", Equal::Order),
        ("rw=trim\nbs=4ki\nsize=100k", Equal::Order),
        ("rw=read\nbs=4k\nsize=10k", Equal::Order),
        ("rw=write\nbs=4k\nsize=9120", Equal::Order),
        ("rw=read\nbs=64k\nsize=100k\noffset=1m", Equal::Order),
        ("rw=read\nbs=64k\nsize=100k\nfilesize=1m", Equal::Order),
        ("rw=read\nbs=64k\nfilesize=100k\noffset=4k", Equal::Order),
        ("rw=read\nbs=64k\nsize=100k\nfilesize=150k\nloops=2", Equal::Order),
        ("rw=write\nbs=4k\nsize=10k\nloops=3", Equal::Order),
        ("rw=randread\nbs=4k\nsize=8191", Equal::Set),
        ("rw=randread\nbs=4k\nsize=8193", Equal::Set),
        ("rw=read\nbs=4k\nsize=10k\nio_size=25k", Equal::Order),
        ("rw=read\nbs=4k\nsize=64k\nio_size=100k", Equal::Order),
        ("rw=read\nbs=4k\nsize=64k\nio_size=50%", Equal::Order),
        ("rw=write\nbs=4k\nsize=64k\nloops=3", Equal::Order),
        ("rw=write\nbs=4k\nsize=64k\nloops=3\nnumber_ios=5", Equal::Order),
        ("rw=read\nbs=4k\nsize=64k\nnumber_ios=100", Equal::Order),
        ("rw=read\nbs=4k\nsize=64k\nnumber_ios=10", Equal::Order),
        ("rw=read\nbs=4k\nfilesize=256k\nsize=64k\noffset=16k", Equal::Order),
        ("rw=read:4k\nbs=4k\nsize=64k", Equal::Order),
        ("rw=read:-8k\nbs=4k\nsize=64k", Equal::Order),
        ("rw=read:-8k\nbs=4k\nsize=64k\noffset=16k", Equal::Order),
        ("rw=write:12k\nbs=8k\nsize=256k\noffset=32k", Equal::Order),
        ("rw=randread\nbs=4k\nsize=1m", Equal::Set),
        ("rw=randread\nbs=4k\nsize=10k", Equal::Set),
        ("rw=randread\nbs=4k\nsize=1m\nio_size=2500k", Equal::Counts),
        ("rw=randwrite\nbs=4k\nsize=1m\nloops=3", Equal::Set),
        ("rw=randwrite\nbs=4k\nsize=1m\nrandom_generator=lfsr\nnorandommap", Equal::Set),
        ("rw=randtrim\nbs=16k\nsize=1m\noffset=5m", Equal::Set),
        ("rw=randread\nbs=4k\nsize=10k\nnorandommap", Equal::Counts),
        ("rw=randread\nbs=4k\nsize=10k\nnorandommap\nio_size=25k", Equal::Counts),
        ("rw=randwrite\nbs=4k\nsize=10k\nnorandommap\nio_size=25k", Equal::Counts),
        ("rw=randread\nbs=4k\nsize=4m\nnorandommap", Equal::Counts),
        ("rw=randwrite\nbs=4k\nsize=4m\nblockalign=16k", Equal::Counts),
        ("rw=randread:8\nbs=4k\nsize=4m", Equal::Statistics),
        ("rw=randread:8\nrw_sequencer=identical\nbs=4k\nsize=4m", Equal::Counts),
        ("rw=randread\nbs=4k\nsize=8m\npercentage_random=30", Equal::Statistics),
        ("rw=randread\nbs=4k\nsize=8m\npercentage_random=0", Equal::Order),
        ("rw=rw\nbs=4k\nsize=4m\nrwmixread=70", Equal::Counts),
        ("rw=rw\nbs=1k\nsize=33280", Equal::Counts),
        ("rw=rw\nbs=1k\nsize=33280\nrwmixread=100", Equal::Order),
        ("rw=randrw\nbs=4k\nsize=8m\nrwmixread=70", Equal::Counts),
        ("rw=randrw\nbs=4k\nsize=8m\nrwmixwrite=90\npercentage_random=80,20", Equal::Statistics),
        ("rw=randrw\nbs=4k\nsize=1m\nrate_iops=200,600", Equal::Counts),
        ("rw=rw\nbs=4k\nsize=1m\nrate=2m,1m", Equal::Counts),
        ("rw=randread\nbs=4k\nsize=1m\nnumjobs=3\noffset_increment=1m", Equal::Set),
        ("rw=read\nbs=4k\nsize=1m\n[second]\nstonewall\ndirect=1\nfilename=drive\nrw=randwrite\nbs=8k\nsize=1m", Equal::Set),
    ];
    for (options, equal) in all.into_iter().step_by(if is_soak() { 1 } else { 2 }) {
        compare(&job(options), equal);
    }
}

#[test]
fn an_asynchronous_engine_ends_passes() {
    if !has_fio() {
        return;
    }
    for (size, io_size, engine, expected) in [
        ("10k", "13k", "libaio", 3),
        ("10k", "25k", "libaio", 6),
        ("10k", "13k", "psync", 4),
        ("10k", "25k", "psync", 7),
        ("64k", "100k", "libaio", 25),
    ] {
        let text = job(&format!("rw=randread\nbs=4k\nsize={size}\nio_size={io_size}\nnorandommap\nioengine={engine}"));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(tinytail(&text, folder.path(), 1).len(), expected, "{text}");
        // A small file of its own, and its cache.
        let buffered = text.replace("direct=1\n", &format!("write_iolog={}\n", folder.path().join("log").display()));
        std::fs::write(folder.path().join("real.fio"), buffered).unwrap();
        let output = Command::new("fio").arg("real.fio").current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        assert_eq!(log.lines().filter(|line| line.contains(" read ")).count(), expected, "{text}");
    }
}

#[test]
fn requests_of_several_sizes_are_those_of_fio() {
    if !has_fio() {
        return;
    }
    for (options, equal) in [
        ("rw=read\nbssplit=16k/30:44k/70\nsize=8m", Equal::Bytes),
        ("rw=read\nbssplit=16k/30:44k/70\nsize=8m\nbs_unaligned", Equal::Statistics),
        ("rw=randread\nbssplit=4k/20:8k/30:64k\nsize=16m", Equal::Bytes),
        ("rw=randwrite\nbssplit=4k/20:8k/30:64k\nsize=16m\nnorandommap", Equal::Statistics),
        ("rw=randwrite\nbsrange=4k-64k\nsize=16m", Equal::Bytes),
        ("rw=randwrite\nbsrange=4k-64k\nsize=16m\nnorandommap", Equal::Statistics),
        ("rw=write\nbsrange=3k-10k\nsize=4m", Equal::Statistics),
        ("rw=randrw\nbs=4k,16k\nsize=16m\nnorandommap", Equal::Statistics),
        ("rw=randrw\nbssplit=4k/80:8k,16k/50:32k/50\nsize=16m\nnorandommap\nrwmixread=30", Equal::Statistics),
        ("rw=rw\nbs=4k,16k\nsize=16m", Equal::Statistics),
        // Sizes and zones in the shape of JESD219.
        (
            "rw=randrw\nnorandommap\nrandrepeat=0\nrwmixread=40\nrwmixwrite=60\nsize=256m\n\
             bssplit=512/4:1024/1:1536/1:2048/1:2560/1:3072/1:3584/1:4k/67:8k/10:16k/7:32k/3:64k/3\n\
             blockalign=4k\nrandom_distribution=zoned:50/5:30/15:20/80",
            Equal::Statistics,
        ),
    ] {
        compare(&job(options), equal);
    }
}

#[test]
fn skewed_requests_are_those_of_fio() {
    if !has_fio() {
        return;
    }
    for options in [
        "random_distribution=zoned:50/5:30/15:20/",
        "random_distribution=zoned:10/50:90/\nrw=randrw",
        "random_distribution=zoned_abs:60/1m:30/3m:10/4m",
        "random_distribution=pareto:0.2:0.3",
        "random_distribution=pareto:0.9:0",
        "random_distribution=normal:0:0.5",
        "random_distribution=normal:30:0.7",
        "random_distribution=normal:5",
    ] {
        let rw = if options.contains("rw=") { "" } else { "rw=randread\n" };
        // Without as many blocks as there are classes of places, each has its own count.
        for size in ["8m", "48k"] {
            if size == "48k" && options.contains("zoned") {
                continue;
            }
            compare(&job(&format!("{rw}{options}\nrandrepeat=0\nbs=4k\nsize={size}\nio_size=80m")), Equal::Counts);
        }
    }
    // Zipf's law is the law itself, and its hot blocks are elsewhere: how often the hottest block comes is about the same.
    let text = job("rw=randread\nbs=4k\nsize=8m\nio_size=80m\nrandom_distribution=zipf:1.2");
    let folder = tempfile::tempdir().unwrap();
    let hottest =
        |requests: Vec<Request>| classes(requests.into_iter().map(|request| request.1)).into_values().max().unwrap() as f64 / 20480.0;
    let (of_fio, own) = (hottest(fio(&text, folder.path())), hottest(tinytail(&text, folder.path(), 1)));
    assert!((of_fio / own - 1.0).abs() < 0.1, "{of_fio} and {own}");
}

/// The examples that come with fio, in the folder that `TINYTAIL_FIO_EXAMPLES` names: each is refused, or has as many requests
/// and bytes as fio makes of it. Prints a table.
#[test]
fn examples_of_fio_have_its_requests_or_are_refused() {
    let folder = std::env::var_os("TINYTAIL_FIO_EXAMPLES").filter(|_| has_fio());
    let Some(examples) = folder else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: without fio and TINYTAIL_FIO_EXAMPLES its examples are not held against it");
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fio"));
    files.sort();
    let mut table = String::new();
    let folder = tempfile::tempdir().unwrap();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let resolved = Workload::resolve_in(path.to_str().unwrap(), &TraceOptions::default(), None);
        if let Err(error) = resolved {
            let faults: Vec<String> = error.to_string().lines().map(|line| line.replace(&format!("{}:", path.display()), "")).collect();
            table += &format!("{name}: refused\n    {}\n", faults.join("\n    "));
            continue;
        }
        // A job without a size goes through a device; here one of 64 MiB. Without its time a job ends with its size.
        let text = std::fs::read_to_string(&path).unwrap();
        let without = ["runtime", "timeout", "time_based", "startdelay", "rate", "thinktime", "ss", "numa_"];
        let keep = |line: &&str| !without.iter().any(|option| line.trim_start().starts_with(option));
        let mut text: String =
            text.lines().filter(keep).map(|line| format!("{}\n", line.split([';', '#']).next().unwrap().trim())).collect();
        let small = |line: &str| match line.split('=').next() {
            Some("size") => "size=64m".to_owned(),
            Some("loops") => "loops=3".to_owned(),
            _ => line.to_owned(),
        };
        text = text.lines().map(small).collect::<Vec<_>>().join("\n");
        if !text.contains("size=") {
            text = text.replacen('[', "[global]\nsize=64m\n[", 1);
        }
        let own = tinytail(&text, folder.path(), 3);
        let (of_fio, own) = (totals_of_fio(&text, folder.path()), (own.len(), bytes(&own)));
        table += &format!("{name}: fio {} requests, {} bytes; here {}, {}\n", of_fio.0, of_fio.1, own.0, own.1);
        // How many there are is drawn where sizes are, and so is what the last request has beyond the end.
        if text.contains("bssplit") {
            assert!(of_fio.1.abs_diff(own.1) <= 1 << 20 && of_fio.0.abs_diff(own.0) * 20 < own.0, "{name}: {of_fio:?}, {own:?}");
        } else {
            assert_eq!(of_fio, own, "{name}\n{text}");
        }
    }
    println!("{table}");
}

fn is_soak() -> bool {
    std::env::var_os("TINYTAIL_SOAK").is_some()
}

/// How many random jobs are compared.
fn jobs_drawn() -> u32 {
    if is_soak() { 500 } else { 20 }
}

/// A job of random options.
fn jobs() -> impl Strategy<Value = (String, Equal)> {
    let size =
        prop_oneof![(1_u64..2000).prop_map(|sectors| sectors * 512), (1_u64..64).prop_map(|blocks| blocks << 16), 32_768_u64..1_000_000];
    let sizes = prop_oneof![
        4 => (0_u32..6).prop_map(|power| format!("bs={}", 512 << power)),
        1 => Just("bs=4k,16k".into()),
        2 => (1_u64..9, 1_u64..9, 1_u64..99).prop_map(|(a, b, share)| format!("bssplit={}/{share}:{}/{}", a * 512, b * 1024, 100 - share)),
        1 => (1_u64..9, 1_u64..99).prop_map(|(a, b)| format!("bsrange={}-{}", a * 512, b * 512)),
    ];
    let rw = prop::sample::select(vec!["read", "write", "trim", "rw", "randread", "randwrite", "randtrim", "randrw"]);
    let places = prop::sample::select(vec![
        "",
        "",
        "norandommap",
        "percentage_random=60",
        "blockalign=8k",
        "random_distribution=zoned:70/20:30/",
        "random_distribution=pareto:0.3:0.5",
    ]);
    let ends = prop::sample::select(vec!["", "", "loops=2", "io_size=300k", "io_size=1m", "number_ios=50", "io_size=60%", "filesize=8m"]);
    (rw, size, sizes, 0_u64..100, places, ends, 0_u64..101).prop_map(|(rw, size, sizes, offset, places, ends, mix)| {
        let size = size.max(64 * 512);
        let is_random = rw.starts_with("rand");
        let mut options = format!("rw={rw}\nsize={size}\n{sizes}\noffset={}\n", offset * 4096);
        // Each pass draws anew, so that draws are independent.
        options += "randrepeat=0\n";
        // Skewed places are multiples of one size and blocks of another, so that many lie beyond the range.
        let places =
            if is_random && (sizes.starts_with("bs=4k,") || !sizes.starts_with("bs=")) && places.contains("pareto") { "" } else { places };
        if is_random {
            options += &format!("{places}\n");
        }
        if rw.ends_with("rw") {
            options += &format!("rwmixread={mix}\n");
        }
        options += &format!("{ends}\n");
        let one = sizes.starts_with("bs=") && !sizes.contains(',');
        let draws_places = is_random && !places.is_empty();
        let block = sizes.strip_prefix("bs=").and_then(|size| size.parse::<u64>().ok());
        let is_whole = block.is_some_and(|block| size.is_multiple_of(block));
        let equal = match (one, is_random, rw.ends_with("rw")) {
            // A pass ends where a request has no place that follows one at the end, or a skewed one begins in the part of a block at
            // the end, or its block has been drawn in the other size: when, is drawn.
            (true, true, _) if places.contains("percentage_random") || !is_whole && places.contains("pareto") => Equal::Statistics,
            (false, true, _) if sizes.starts_with("bs=") => Equal::Statistics,
            (true, false, false) => Equal::Order,
            (true, _, true) => Equal::Counts,
            (true, true, _) if draws_places || !ends.is_empty() => Equal::Counts,
            (true, true, _) => Equal::Set,
            // Sizes between two end anywhere, where the larger is no multiple of the smaller.
            (false, _, false) if ends.is_empty() && !draws_places && !sizes.starts_with("bsrange") => Equal::Bytes,
            _ => Equal::Statistics,
        };
        (job(&options), equal)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: jobs_drawn(), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_jobs_have_the_requests_of_fio((text, equal) in jobs()) {
        if has_fio() {
            compare(&text, equal);
        }
    }
}
