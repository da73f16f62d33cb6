//! Job files of fio as workloads: what they mean, what is refused and where.

use std::collections::HashMap;
use std::path::PathBuf;

use tempfile::TempDir;
use tinytail_core::commands::CommandKind;
use tinytail_core::units::{MS, SECOND, US};
use tinytail_workload::{
    Arrival, InputKind, Pacing, SourceContext, Stream, Timing, TraceOptions, Workload, WorkloadError, check_file, describe, list,
};

const DRIVE: SourceContext = SourceContext { logical_sectors: 1 << 22, mapped_sectors: 1 << 20 };

/// A job of the plainest kind; what is added stands in the job's section.
fn job(options: &str) -> String {
    format!("[job]\ndirect=1\nioengine=libaio\n{options}\n")
}

struct JobFile {
    folder: TempDir,
}

impl JobFile {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("jobs.fio"), text).unwrap();
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("jobs.fio")
    }

    fn resolve(&self) -> Result<Workload, WorkloadError> {
        Workload::resolve_in(self.path().to_str().unwrap(), &TraceOptions::default(), None)
    }
}

fn workload(text: &str) -> Workload {
    JobFile::new(text).resolve().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What a faulty file is told, without the file's name.
fn refused(text: &str) -> String {
    let file = JobFile::new(text);
    let message = file.resolve().expect_err(text).to_string();
    assert_eq!(check_file(&file.path()).unwrap_err().to_string(), message);
    let place = format!("{}:", file.path().display());
    message.strip_prefix(&place).unwrap_or_else(|| panic!("{message}")).to_owned()
}

fn all(mut stream: Stream, limit: usize) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    loop {
        let batch = 61.min(limit - arrivals.len());
        if batch == 0 || stream.source.fill(&mut arrivals, batch).unwrap() == 0 {
            return arrivals;
        }
    }
}

fn streams(workload: &Workload) -> Vec<Stream> {
    workload.streams(3, &DRIVE, None).unwrap().streams
}

/// The requests of a file with one thread, up to so many.
fn requests(text: &str, limit: usize) -> Vec<Arrival> {
    let [stream] = <[Stream; 1]>::try_from(streams(&workload(text))).ok().expect("one thread");
    all(stream, limit)
}

fn sectors(arrivals: &[Arrival]) -> Vec<u64> {
    arrivals.iter().map(|arrival| arrival.command.sector).collect()
}

#[test]
fn the_example_is_the_workload_of_that_name() {
    let example = workload(include_str!("../../../examples/randrw70-qd16.fio"));
    let named = Workload::resolve_in("randrw70-qd16", &TraceOptions::default(), None).unwrap();
    assert_eq!((&example.summary, &example.detail), (&named.summary, &named.detail));
    assert_eq!((example.pacing, example.input), (Pacing::Closed { depth: 16 }, InputKind::Synthetic));
    assert_eq!(example.request_count_hint(), named.request_count_hint());
    let play = |workload: &Workload, requests| all(workload.streams(7, &DRIVE, requests).unwrap().streams.remove(0), 50_000);
    assert_eq!(play(&example, None), play(&named, None));
    assert_eq!(play(&example, Some(100)), play(&named, Some(100)));
    assert_eq!(play(&example, Some(100)).len(), 100);
}

#[test]
fn the_jobs_of_the_paper_are_there() {
    let named = |name: &str| Workload::resolve_in(name, &TraceOptions::default(), None).unwrap();
    let (random, sequential) = ("closed loop at queue depth", "sequential, closed loop at queue depth 32");
    for (name, expected) in [
        ("pes-table2-randread-4k-qd1", format!("4096 bytes, 100 % reads, uniform, {random} 1")),
        ("pes-table2-randread-4k-qd32", format!("4096 bytes, 100 % reads, uniform, {random} 32")),
        ("pes-table2-randwrite-4k-qd1", format!("4096 bytes, 0 % reads, uniform, {random} 1")),
        ("pes-table2-randwrite-4k-qd32", format!("4096 bytes, 0 % reads, uniform, {random} 32")),
        ("pes-table2-seqread-256k", format!("262144 bytes, 100 % reads, {sequential}")),
        ("pes-table2-seqwrite-256k", format!("262144 bytes, 0 % reads, {sequential}")),
    ] {
        let workload = named(name);
        assert_eq!(workload.detail, expected);
        assert!(workload.request_count_hint().is_some() && !workload.needs_drive());
        assert!(list().iter().any(|listing| listing.name == name && listing.summary == workload.summary), "{name}");
    }
    let fig3 = named("pes-fig3-read-write-128k");
    let thread = |name: &str, share| format!("{name}: 131072 bytes, {share} % reads, uniform, closed loop at queue depth 1, for 20.0 s");
    assert_eq!(fig3.detail, format!("2 threads; {}; {}", thread("reader", 100), thread("writer", 0)));
    let streams = streams(&fig3);
    assert!(streams.iter().all(|stream| !stream.endless && stream.timing.runtime_ns == Some(20 * SECOND)));
    let rows = describe("pes-fig3-read-write-128k").unwrap().rows;
    let rows: Vec<(&str, &str, &str)> =
        rows.iter().map(|row| (row.section.as_str(), row.key.as_str(), row.value.as_str().unwrap())).collect();
    assert!(rows.contains(&("global", "bs", "128k")) && rows.contains(&("writer", "rw", "randwrite")));
    assert!(rows.contains(&("global", "time_based", "1")), "{rows:?}");
}

#[test]
fn a_random_job_covers_every_block_once_before_it_repeats() {
    // 1 MiB of 4-KiB blocks is 256.
    let once = requests(&job("rw=randrw\nsize=1m\noffset=4m"), 10_000);
    assert_eq!(once.len(), 256, "the job ends when it has done its size");
    let round = |arrivals: &[Arrival]| {
        let mut sectors = sectors(arrivals);
        sectors.sort_unstable();
        assert!(sectors.into_iter().eq((0..256).map(|block| 8192 + block * 8)));
    };
    round(&once);
    assert!(!sectors(&once).is_sorted());
    let more = requests(&job("rw=randrw\nsize=1m\noffset=4m\nio_size=2500k"), 10_000);
    assert_eq!(more.len(), 625);
    round(&more[..256]);
    round(&more[256..512]);
    let repeats = requests(&job("rw=randread\nsize=1m\nnorandommap"), 256);
    let mut blocks = sectors(&repeats);
    blocks.sort_unstable();
    blocks.dedup();
    assert!(blocks.len() < 200, "without the map some blocks are drawn more than once: {}", blocks.len());
}

#[test]
fn without_a_size_a_job_goes_through_what_holds_data() {
    let arrivals = requests(&job("rw=write\nbs=1m"), 10_000);
    assert_eq!(sectors(&arrivals), (0..512).map(|block| block * 2048).collect::<Vec<_>>());
    let part = requests(&job("rw=read\nbs=1m\noffset=50%\nsize=10%"), 10_000);
    // A tenth of 512 blocks is 51 blocks and a part of one more.
    assert_eq!(sectors(&part), (256..307).map(|block| block * 2048).collect::<Vec<_>>());
    assert_eq!(requests(&job("rw=randread\nsize=10k"), 100).len(), 2);
    assert_eq!(workload(&job("rw=randread\nsize=10k")).request_count_hint(), Some(2));
    assert_eq!(requests(&job("rw=randread\nsize=10k\nio_size=10k"), 100).len(), 3);
    let rest = requests(&job("rw=read\nbs=1m\noffset=90%\nsize=20%"), 10_000);
    assert!(rest.iter().all(|arrival| arrival.command.sector + 2048 <= DRIVE.mapped_sectors), "a share ends with the data");
    // An offset in percent is rounded up to a block.
    assert_eq!(rest[0].command.sector, 461 * 2048);
    assert_eq!(requests(&job("rw=read\nbs=1m\nnumber_ios=7"), 10_000).len(), 7);
    assert_eq!(requests(&job("rw=read\nbs=1m\nnumber_ios=7\nsize=5m"), 10_000).len(), 5, "the size ends it first");
}

#[test]
fn reads_and_writes_may_have_sizes_of_their_own() {
    let arrivals = requests(&job("rw=randrw\nrwmixread=25\nbs=4k,128k\nsize=64m\nnorandommap"), 1 << 20);
    let of = |kind| -> Vec<&Arrival> { arrivals.iter().filter(|arrival| arrival.command.kind == kind).collect() };
    let (reads, writes) = (of(CommandKind::Read), of(CommandKind::Write));
    assert!(reads.iter().all(|read| read.command.sectors == 8));
    assert!(writes.iter().all(|write| write.command.sectors == 256 && write.command.sector % 256 == 0));
    let share = reads.len() as f64 / arrivals.len() as f64;
    assert!((share - 0.25).abs() < 0.1, "{share}");
    let done: u64 = arrivals.iter().map(|arrival| u64::from(arrival.command.sectors)).sum();
    let last = u64::from(arrivals.last().unwrap().command.sectors);
    assert!(done >= 1 << 17 && done - last < 1 << 17, "it ends with the request that reaches its size: {done}");
}

#[test]
fn a_sequential_mix_reads_and_writes_each_in_order() {
    let arrivals = requests(&job("rw=rw\nsize=4m\nbs=4k\nio_size=12m"), 1 << 20);
    assert_eq!(arrivals.len(), 3072);
    for kind in [CommandKind::Read, CommandKind::Write] {
        let own: Vec<u64> = arrivals.iter().filter(|arrival| arrival.command.kind == kind).map(|arrival| arrival.command.sector).collect();
        assert!((1300..1800).contains(&own.len()), "{}", own.len());
        assert!(own.iter().enumerate().all(|(index, sector)| *sector == index as u64 % 1024 * 8));
    }
}

#[test]
fn sizes_may_be_split_by_shares() {
    for (split, expected) in [
        ("4k/50:64k/30:512/20", [(8, 0.5), (128, 0.3), (1, 0.2)]),
        ("4k/50:64k/:512", [(8, 0.5), (128, 0.25), (1, 0.25)]),
        ("4k/100,4k/50:64k/30:512/20", [(8, 0.5), (128, 0.3), (1, 0.2)]),
    ] {
        let arrivals = requests(&job(&format!("rw=randwrite\nbssplit={split}\nnorandommap\nio_size=1g")), 20_000);
        let mut counts = HashMap::<u32, u32>::new();
        for arrival in &arrivals {
            *counts.entry(arrival.command.sectors).or_default() += 1;
        }
        for (sectors, share) in expected {
            let found = f64::from(counts[&sectors]) / arrivals.len() as f64;
            assert!((found - share).abs() < 0.02, "{split}, {sectors} sectors: {found}");
        }
    }
}

#[test]
fn other_kinds_and_laws_mean_what_they_mean_to_fio() {
    let trims = requests(&job("rw=randtrim\nsize=1m"), 1000);
    assert!(trims.len() == 256 && trims.iter().all(|arrival| arrival.command.kind == CommandKind::Trim));
    let skewed = workload(&job("rw=randwrite\nrandom_distribution=zipf:1.2\nio_size=1g"));
    assert!(skewed.detail.contains("Zipf with exponent 1.2"), "{}", skewed.detail);
    let plain = workload("[job]\nbuffered=0\n");
    assert_eq!(plain.detail, "4096 bytes, 100 % reads, sequential, closed loop at queue depth 1");
    assert_eq!(plain.summary, "a job file of fio: job");
    let writes = workload(&job("rw=randrw\nrwmixwrite=80"));
    assert!(writes.detail.contains("20 % reads"), "{}", writes.detail);
    let seed = |options: &str| sectors(&requests(&job(&format!("rw=randread\n{options}")), 100));
    assert_eq!(seed("randseed=5"), seed("randseed=5\nrandrepeat=1"));
    assert!(seed("randseed=5") != seed("randseed=6") && seed("randseed=0") != seed(""));
}

#[test]
fn writes_of_the_real_time_class_are_critical() {
    let marked = |options: &str| {
        let arrivals = requests(&job(&format!("size=1m\n{options}")), 400);
        let is_marked = |kind| arrivals.iter().filter(|arrival| arrival.command.kind == kind).all(|arrival| arrival.command.critical);
        let any = arrivals.iter().any(|arrival| arrival.command.critical);
        assert!(!any || is_marked(CommandKind::Write), "{options}: all writes or none");
        assert!(arrivals.iter().all(|arrival| arrival.command.kind == CommandKind::Write || !arrival.command.critical), "{options}");
        any
    };
    for (options, expected) in [
        ("rw=randwrite", false),
        ("rw=randwrite\nprioclass=0", false),
        ("rw=randwrite\nprioclass=2", false),
        ("rw=randwrite\nprioclass=1", true),
        ("rw=write\ncmdprio_percentage=0", false),
        ("rw=write\ncmdprio_percentage=100", true),
        ("rw=write\ncmdprio_percentage=70,100\ncmdprio_class=1", true),
        ("rw=randrw\nprioclass=2", false),
        ("rw=randrw\ncmdprio_percentage=0,100", true),
        ("rw=randrw\ncmdprio_percentage=,100", true),
        ("rw=randrw\ncmdprio_percentage=0", false),
    ] {
        assert_eq!(marked(options), expected, "{options}");
    }
    let jobs = workload("[global]\nfilename=d\ndirect=1\nprioclass=1\n[reader]\nrw=randread\n[writer]\nrw=randwrite\n");
    assert!(jobs.detail.contains("critical writes"), "{}", jobs.detail);
}

#[test]
fn times_and_rates_are_those_of_the_thread() {
    let timing = |options: &str| {
        let [stream] = <[Stream; 1]>::try_from(streams(&workload(&job(options)))).ok().unwrap();
        (stream.pacing, stream.timing)
    };
    let none = Timing::default();
    assert_eq!(timing("iodepth=8"), (Pacing::Closed { depth: 8 }, none));
    assert_eq!(timing("thinktime=20"), (Pacing::Closed { depth: 1 }, Timing { think_ns: 20 * US, ..none }));
    assert_eq!(timing("thinktime=3ms"), (Pacing::Closed { depth: 1 }, Timing { think_ns: 3 * MS, ..none }));
    let times = Timing { start_ns: 2 * SECOND, runtime_ns: Some(60 * SECOND), ..none };
    assert_eq!(timing("startdelay=2\nruntime=1m\ntime_based=1"), (Pacing::Closed { depth: 1 }, times));
    let capped = Timing { outstanding_max: Some(4), ..none };
    assert_eq!(timing("rate_iops=500\niodepth=4"), (Pacing::Open, capped));
    let arrivals = |options: &str| requests(&job(options), 4000);
    assert!(arrivals("rate_iops=500,9").iter().zip(0..).all(|(arrival, index)| arrival.at == index * 2 * MS));
    let random = arrivals("rate_iops=500\nrate_process=poisson");
    let mean = random.last().unwrap().at as f64 / 4000.0;
    assert!((mean / (2 * MS) as f64 - 1.0).abs() < 0.1 && random[1].at - random[0].at != random[2].at - random[1].at, "{mean}");
    let message = workload(&job("runtime=1\ntime_based")).source(1, &DRIVE, None).err().unwrap().to_string();
    assert!(message.contains("which request is its last is not known without"), "{message}");
}

#[test]
fn jobs_are_threads_and_global_sections_hold_for_those_below() {
    let text = "# comment\n[global]\nfilename=/dev/nvme0n1 ; comment\ndirect=1\nioengine=libaio\nrw=randread\niodepth=4\nrwmixread=7\nthread\n\n\
                [first]\nnumjobs=3\noffset_increment=1g\nsize=1g\n[global]\niodepth=8\nbs = 16k\n[second]\nstonewall=0\nrw=write\n";
    let workload = workload(text);
    let parts: Vec<&str> = workload.detail.split("; ").collect();
    assert_eq!(
        parts,
        [
            "4 threads",
            "first.0: 4096 bytes, 100 % reads, every block once in random order, closed loop at queue depth 4",
            "first.1: 4096 bytes, 100 % reads, every block once in random order, closed loop at queue depth 4",
            "first.2: 4096 bytes, 100 % reads, every block once in random order, closed loop at queue depth 4",
            "second: 16384 bytes, 0 % reads, sequential, closed loop at queue depth 8",
        ]
    );
    assert_eq!(workload.end_sector(), Some(3 << 21));
    let wide = SourceContext { logical_sectors: 1 << 23, ..DRIVE };
    let streams = workload.streams(1, &wide, None).unwrap().streams;
    let starts: Vec<Vec<Arrival>> = streams.into_iter().map(|stream| all(stream, 100)).collect();
    for (index, arrivals) in starts.iter().take(3).enumerate() {
        assert!(arrivals.iter().all(|arrival| arrival.command.sector >> 21 == index as u64 && arrival.queue == index as u32));
    }
    assert_ne!(sectors(&starts[0]), sectors(&starts[1]).iter().map(|sector| sector - (1 << 21)).collect::<Vec<_>>());
}

#[test]
fn an_io_log_of_fio_is_a_trace_whatever_its_name() {
    let file = JobFile::new("fio version 3 iolog\n0 /dev/nvme0n1 add\n0 /dev/nvme0n1 open\n5 /dev/nvme0n1 read 0 4096\n");
    let workload = file.resolve().unwrap();
    assert_eq!(workload.input, InputKind::Real, "{}", workload.detail);
}

#[test]
fn what_is_not_supported_is_refused_in_its_line() {
    // Lines 2 and 3 are those of every job.
    for (options, expected) in [
        ("io_dept=4", "4: [job] the option `io_dept` is not supported (did you mean `iodepth`?); supported are "),
        ("rate=10m", "4: [job] the option `rate` of fio is not supported: give `rate_iops`"),
        ("\n\nverify=crc32c", "6: [job] the option `verify` of fio is not supported"),
        ("include other.fio", "4: [job] `include` is not supported"),
        ("size=${SIZE}", "4: [job] `size` is `${SIZE}`: environment variables and fio's keywords are not supported"),
        ("bs=4k\n\nbs=8k", "6: [job] `bs` is given twice; the first time in line 4"),
        ("bs=4k\nblocksize=8k", "5: [job] `blocksize` is given twice"),
        ("rw=trimwrite", "4: [job] `rw` is `trimwrite`; allowed: read, write, trim, rw, randread, "),
        ("rw=randread:8", "4: [job] `rw` is `randread:8`; allowed: read, "),
        ("bs=1000", "4: [job] `bs` is `1000`; allowed: sizes like 4k, each a multiple of 512"),
        ("bs=0", "4: [job] `bs` is `0`; allowed: a size above 0: a job of blocks without bytes has no I/O"),
        ("bs=", "4: [job] `bs` is ``; allowed: one size, or up to three"),
        ("bs", "4: [job] `bs` is ``; allowed: one size, or up to three"),
        ("bs=4k,4k,4k,4k", "4: [job] `bs` is `4k,4k,4k,4k`; allowed: one size, or up to three"),
        ("bs=(4*1024)", "4: [job] `bs` is `(4*1024)`; allowed: sizes"),
        ("bssplit=4k/60:8k/50", "4: [job] `bssplit` is `4k/60:8k/50`; allowed: shares that add up to 100, and these are 110"),
        ("bssplit=4k/60:8k/30", "add up to 100, and these are 90"),
        ("bssplit=4k/x", "4: [job] `bssplit` is `4k/x`; allowed: sizes and their shares"),
        ("bssplit=4k/100\nbs=4k", "4: [job] `bssplit` and `blocksize` are both given"),
        ("rw=randrw\nbs=4k,8k", "1: [job] `norandommap` is missing: fio would draw every block once"),
        ("rw=randread\nrandom_distribution=zipf:1", "5: [job] `random_distribution` is `zipf:1`; allowed: zipf:THETA"),
        ("rw=randread\nrandom_distribution=pareto:1", "5: [job] `random_distribution` is `pareto:1`; allowed: random or zipf"),
        ("norandommap=1", "4: [job] `norandommap` says nothing in a sequential job"),
        ("rwmixread=70", "4: [job] `rwmixread` says nothing in a job that does not mix"),
        ("rw=rw\nrwmixread=101", "5: [job] `rwmixread` is `101`; allowed: a share in percent"),
        ("rw=rw\nrwmixread=70\nrwmixwrite=40", "6: [job] `rwmixwrite` is 40 and `rwmixread` 70; together"),
        ("direct=0", "4: [job] `direct` is given twice"),
        ("buffered=1", "4: [job] `buffered` is 1, and there is no page cache here; allowed: direct=1"),
        ("randrepeat=0", "4: [job] `randrepeat` is 0, and what is drawn here follows from the run's seed"),
        ("prioclass=1", "4: [job] `prioclass` says nothing in a job that does not write"),
        ("rw=trim\ncmdprio_percentage=100", "5: [job] `cmdprio_percentage` says nothing in a job that does not write"),
        ("rw=write\nprioclass=3", "5: [job] `prioclass` is `3`; allowed: 1, the real-time class, or 0 or 2"),
        ("rw=rw\nprioclass=1", "5: [job] `prioclass` is 1 in a job that reads as well, and reads have no priority here"),
        ("rw=rw\ncmdprio_percentage=100", "5: [job] `cmdprio_percentage` is `100`; allowed: 0,100 or 0 in a job that reads"),
        ("rw=write\ncmdprio_percentage=40", "5: [job] `cmdprio_percentage` is `40`; allowed: 0 or 100 for its writes; write one job"),
        ("rw=write\ncmdprio_percentage=101", "5: [job] `cmdprio_percentage` is `101`; allowed: a share in percent, or those of reads"),
        ("rw=write\ncmdprio_percentage=1,2,3", "5: [job] `cmdprio_percentage` is `1,2,3`; allowed: a share in percent"),
        ("rw=write\ncmdprio_percentage", "5: [job] `cmdprio_percentage` is ``; allowed: a share in percent"),
        ("rw=write\ncmdprio_percentage=0\nprioclass=0", "5: [job] `cmdprio_percentage` and `prioclass` are both given"),
        ("rw=write\ncmdprio_class=1", "5: [job] `cmdprio_class` says nothing without `cmdprio_percentage`"),
        ("rw=write\ncmdprio_percentage=100\ncmdprio_class=2", "6: [job] `cmdprio_class` is `2`; allowed: 1, the real-time class"),
        ("cmdprio=3", "4: [job] the option `cmdprio` of fio is not supported: a drive knows no levels of priority"),
        ("iodepth=0", "4: [job] `iodepth` is `0`; allowed: 1 to 65,536"),
        ("iodepth=many", "4: [job] `iodepth` is `many`; allowed: a whole number"),
        ("iodepth=4\nthinktime=5", "5: [job] `thinktime` is given with `iodepth` above 1"),
        ("thinktime=5\nrate_iops=5", "4: [job] `thinktime` and `rate_iops` are both given"),
        ("rate_iops=0", "4: [job] `rate_iops` is 0: the job has no I/O"),
        ("rate_iops=5\nrw=randrw", "4: [job] `rate_iops` limits reads and writes each by itself"),
        ("rate_iops=,5", "4: [job] `rate_iops` is `,5`; allowed: requests per second"),
        ("rate_iops=5\nrate_process=random", "5: [job] `rate_process` is `random`; allowed: linear or poisson"),
        ("rate_process=poisson", "4: [job] `rate_process` says nothing without `rate_iops`"),
        ("numjobs=0", "4: [job] `numjobs` is 0: the job has no I/O; allowed: 1 or more"),
        ("numjobs=2000", "4: [job] `numjobs` makes more than 1024 threads"),
        ("filename=d\n[b]\ndirect=1\nfilename=d\nnumjobs=18446744073709551615", "8: [b] `numjobs` makes more than 1024 threads"),
        ("numjobs=2", "1: [job] has no `filename`, so that fio would give each of its threads a file of its own"),
        ("filename=/dev/sda:/dev/sdb", "4: [job] `filename` is `/dev/sda:/dev/sdb`; allowed: one file"),
        ("size=0", "4: [job] `size` is 0: the job has no I/O"),
        ("size=2k", "4: [job] `size` is smaller than a block of 4096 bytes: the job has no I/O"),
        ("size=120%", "4: [job] `size` is `120%`; allowed: bytes"),
        ("size=1000", "4: [job] `size` is `1000`; allowed: bytes, a multiple of 512"),
        ("offset=10000p\nsize=1g", "5: [job] `size` and the offset reach beyond 2^63 bytes"),
        ("offset=8191p\nsize=8191p", "5: [job] `size` and the offset reach beyond 2^63 bytes"),
        ("offset=5%\noffset_increment=1g", "5: [job] `offset_increment` and `offset` must both be in bytes"),
        ("number_ios=0", "4: [job] `number_ios` is 0: the job has no I/O"),
        ("io_size=0", "4: [job] `io_size` is 0: the job has no I/O"),
        ("runtime=0", "4: [job] `runtime` is 0: the job has no I/O"),
        ("runtime=2d", "4: [job] `runtime` is `2d`; allowed: one time"),
        ("startdelay=1-5", "4: [job] `startdelay` is `1-5`; allowed: one time"),
        ("time_based", "4: [job] `time_based` is given without `runtime`"),
        ("runtime=5\ntime_based=1\nnumber_ios=5", "6: [job] `number_ios` is given with `time_based`"),
        ("time_based=yes", "4: [job] `time_based` is `yes`; allowed: 1 or 0"),
        ("kb_base=1001", "4: [job] `kb_base` is `1001`; allowed: 1024 or 1000"),
        ("randseed=-1", "4: [job] `randseed` is `-1`; allowed: a whole number"),
        ("[other]\ndirect=1\nstonewall", "6: [other] `stonewall` is not supported: all jobs of a file run at once"),
        ("filename=a\n[other]\ndirect=1\nfilename=b", "7: [other] `filename` is `b`, and another job has `a`"),
        ("[globals]", "4: [globals] would be a global section to fio"),
        ("[other", "4: found `[other`, expected the name of a job in square brackets"),
        ("[]", "4: found `[]`, expected the name of a job"),
    ] {
        let message = refused(&job(options));
        assert!(message.contains(expected), "{options}\n{message}");
    }
}

#[test]
fn engines_and_depths_must_agree_as_they_do_in_fio() {
    for (text, expected) in [
        ("[job]\ndirect=1\niodepth=4\n", "3: [job] `iodepth` is 4, and fio's default engine `psync` keeps one request outstanding"),
        ("[job]\ndirect=1\nioengine=sync\niodepth=4\n", "4: [job] `iodepth` is 4, and the engine `sync` keeps one"),
        ("[job]\ndirect=1\nioengine=mmap\n", "3: [job] `ioengine` is `mmap`; allowed: one of io_uring, libaio, "),
        ("[job]\nioengine=libaio\n", "1: [job] `direct` is missing: fio's default is buffered I/O"),
        ("[global]\ndirect=0\n[job]\n", "2: [global] `direct` is 0, and there is no page cache here"),
        (
            "[job]\ndirect=1\nrw=write\ncmdprio_percentage=100\n",
            "4: [job] `cmdprio_percentage` is an option of the engines io_uring and libaio",
        ),
        ("[global]\nnorandommap\ndirect=1\n", "1: has no job; expected a section [NAME] besides [global]"),
        ("", "1: has no job"),
        ("direct=1\n[job]\n", "1: found `direct=1` before the first section"),
    ] {
        let message = refused(text);
        assert!(message.contains(expected), "{text}\n{message}");
    }
    assert_eq!(workload("[job]\ndirect=1\nioengine=io_uring\niodepth=4\n").pacing, Pacing::Closed { depth: 4 });
    assert_eq!(workload("[job]\ndirect=1\nstonewall\n").pacing, Pacing::Closed { depth: 1 }, "nothing is before the first job");
}
