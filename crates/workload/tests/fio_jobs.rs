//! Job files of fio as workloads: what they mean, what is refused and where.

use std::collections::HashMap;
use std::path::PathBuf;

use tempfile::TempDir;
use tinytail_core::commands::CommandKind;
use tinytail_core::units::{MS, SECOND, US};
use tinytail_workload::{
    Arrival, InputKind, Pacing, Rest, SourceContext, Stream, Timing, TraceOptions, Workload, WorkloadError, check_file, describe, list,
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
    assert_eq!(requests(&job("rw=randread\nsize=10k\nio_size=10k"), 100).len(), 2, "what is left is less than a request");
    assert_eq!(requests(&job("rw=randread\nsize=10k\nnorandommap"), 100).len(), 3, "it ends with the request that reaches its size");
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
    assert_eq!(timing("rate_iops=500\niodepth=4"), (Pacing::Bounded { outstanding_max: 4 }, none));
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
            "first.0 to first.2, each: 4096 bytes, 100 % reads, every block once in random order, closed loop at queue depth 4",
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
        ("io_dept=4", "4: [job] the option `io_dept` is not known (did you mean `iodepth`?)"),
        ("rate_min=10m", "4: [job] the option `rate_min` of fio is not supported: no rate ends a job"),
        ("\n\nverify=crc32c", "6: [job] the option `verify` of fio is not supported"),
        ("include other.fio", "4: [job] `include` of `other.fio`: there is no such file"),
        ("size=${TINYTAIL_NONE}", "4: [job] `size` names the environment variable `TINYTAIL_NONE`, which is not set"),
        ("size=$mb_memory", "4: [job] `size` is `$mb_memory`: fio's keywords are not supported"),
        ("bs=4k\n\nbs=8k", "6: [job] `bs` is given twice; the first time in line 4"),
        ("bs=4k\nblocksize=8k", "5: [job] `blocksize` is given twice"),
        ("rw=trimwrite", "4: [job] `rw` is `trimwrite`; allowed: read, write, trim, rw, randread, "),
        ("rw=randread:0", "4: [job] `rw` is `randread:0`; allowed: bytes behind the colon of a sequential job"),
        ("rw=read:100", "4: [job] `rw` is `read:100`; allowed: bytes behind the colon"),
        ("bs=1000", "4: [job] `bs` is `1000`; allowed: sizes like 4k, each a multiple of 512"),
        ("bs=0", "4: [job] `bs` is `0`; allowed: sizes like 4k, each a multiple of 512 bytes above 0"),
        ("bs=", "4: [job] `bs` is ``; allowed: one value, or up to three"),
        ("bs", "4: [job] `bs` is ``; allowed: one value, or up to three"),
        ("bs=4k,4k,4k,4k", "4: [job] `bs` is `4k,4k,4k,4k`; allowed: one value, or up to three"),
        ("bs=(4*1024)", "4: [job] `bs` is `(4*1024)`; allowed: sizes"),
        ("bssplit=4k/60:8k/50", "4: [job] `bssplit` is `4k/60:8k/50`; allowed: shares that add up to 100, and these are 110"),
        ("bssplit=4k/60:8k/30", "add up to 100, and these are 90"),
        ("bssplit=4k/x", "4: [job] `bssplit` is `4k/x`; allowed: sizes and their shares"),
        ("bssplit=4k/100\nbs=4k", "5: [job] `bs` says nothing beside `bssplit`"),
        ("bssplit=4k/0:8k/100", "allowed: a share for the smallest size"),
        ("bsrange=4k", "4: [job] `bsrange` is `4k`; allowed: as SIZE-SIZE"),
        ("bsrange=4k-8k\nbssplit=4k/100", "5: [job] `bssplit` and `bsrange` are both given"),
        ("rw=randread\nrandom_distribution=zipf:1", "5: [job] `random_distribution` is `zipf:1`; allowed: zipf:THETA"),
        ("rw=randread\nrandom_distribution=pareto:1", "5: [job] `random_distribution` is `pareto:1`; allowed: pareto:H or"),
        ("rw=randread\nrandom_distribution=zipf:1.2:0.5", "allowed: zipf:THETA"),
        ("rw=randread\nrandom_distribution=normal:100", "allowed: normal:DEVIATION"),
        ("rw=randread\nrandom_distribution=zoned:50/5:30/15", "allowed: shares of requests that add up to 100"),
        ("rw=randread\nrandom_distribution=zoned:50/55:50/50", "allowed: shares of requests that add up to 100"),
        ("rw=randread\nrandom_distribution=zoned_abs:100/", "allowed: shares of requests that add up to 100"),
        ("rw=randread\nrandom_distribution=zoned:100/", "allowed: shares of requests that add up to 100"),
        ("rw=randread\nrandom_distribution=cauchy", "allowed: random, zipf, pareto, normal, zoned or zoned_abs"),
        ("rw=randread\npercentage_random=101", "allowed: 0 to 100"),
        ("percentage_random=50", "4: [job] `percentage_random` says nothing in a sequential job"),
        ("blockalign=8k", "4: [job] `blockalign` says nothing in a sequential job"),
        ("rw=randread\nblockalign=1000", "5: [job] `blockalign` is `1000`; allowed: one multiple of 512"),
        ("rw=randread\nrandom_generator=xorshift", "allowed: tausworthe, tausworthe64 or lfsr"),
        ("rw=randread\nrandom_generator=lfsr\nbssplit=4k/50:8k/50", "`random_generator` is lfsr in a job of several sizes"),
        ("rw=randread\nrw_sequencer=identical", "5: [job] `rw_sequencer` says nothing without a number"),
        ("norandommap=1", "4: [job] `norandommap` says nothing in a sequential job"),
        ("rwmixread=70", "4: [job] `rwmixread` says nothing in a job that does not mix"),
        ("rw=rw\nrwmixread=101", "5: [job] `rwmixread` is `101`; allowed: a share in percent"),
        ("rw=rw\nrwmixread=70\nrwmixwrite=40", "6: [job] `rwmixwrite` is 40 and `rwmixread` 70; together"),
        ("direct=0", "4: [job] `direct` is given twice"),
        ("buffered=1", "4: [job] `buffered` is 1, and there is no page cache here; allowed: direct=1"),
        ("randrepeat=2", "4: [job] `randrepeat` is `2`; allowed: 1 or 0"),
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
        ("thinktime_blocks=5", "4: [job] `thinktime_blocks` says nothing without `thinktime`"),
        ("thinktime=5\nthinktime_blocks=0", "5: [job] `thinktime_blocks` is `0`; allowed: 1 or more"),
        ("thinktime=5\nthinktime_blocks_type=all", "allowed: complete or issue"),
        ("rate_iops=5\nrate=5k", "4: [job] `rate_iops` and `rate` are both given"),
        ("rate_iops=5,\nrw=randrw", "4: [job] `rate_iops` limits one direction of a mix and leaves the other"),
        ("rate_iops=x", "4: [job] `rate_iops` is `x`; allowed: a whole number per second"),
        ("rate_iops=2000000000", "4: [job] `rate_iops` is `2000000000`; allowed: at most 10^9 requests per second"),
        ("rate_iops=5\nrate_process=random", "5: [job] `rate_process` is `random`; allowed: linear or poisson"),
        ("rate_process=poisson", "4: [job] `rate_process` says nothing without `rate_iops` or `rate`"),
        ("numjobs=0", "4: [job] `numjobs` is 0: the job has no I/O; allowed: 1 or more"),
        ("numjobs=2000", "4: [job] `numjobs` makes more than 1024 threads"),
        ("filename=d\n[b]\ndirect=1\nfilename=d\nnumjobs=18446744073709551615", "8: [b] `numjobs` makes more than 1024 threads"),
        ("numjobs=2", "1: [job] `filename` is missing, so that fio would give each of its threads a file of its own"),
        ("filename=/dev/sda:/dev/sdb", "4: [job] `filename` is `/dev/sda:/dev/sdb`; allowed: one file"),
        ("size=2k", "4: [job] `size` is smaller than a block of 4096 bytes: the job has no I/O"),
        ("size=120%", "4: [job] `size` is `120%`; allowed: bytes"),
        ("size=1000", "4: [job] `size` is smaller than a block of 4096 bytes: the job has no I/O"),
        ("size=4k\nfilesize=1000", "5: [job] `filesize` is smaller than a block of 4096 bytes: the job has no I/O"),
        ("size=9000p", "4: [job] `size` is `9000p`; allowed: bytes, up to 2^63, or a share of the drive like 20%"),
        ("filesize=9000p", "4: [job] `filesize` is `9000p`; allowed: bytes, up to 2^63"),
        ("rw=write:-8k\nsize=9120", "5: [job] `size` is `9120`; allowed: bytes, a multiple of 512 where a job goes backwards"),
        ("offset=10000p\nsize=1g", "4: [job] `offset` is `10000p`; allowed: bytes, a multiple of 512 up to 2^63"),
        ("offset=8191p\nsize=8191p", "5: [job] `size` and the offset reach beyond 2^63 bytes"),
        ("filesize=1m\noffset=1m", "4: [job] `filesize` ends before the offset"),
        ("filesize=1m\nsize=10%", "5: [job] `size` is `10%`; allowed: bytes, beside `filesize`"),
        ("nrfiles=2", "4: [job] `nrfiles` is `2`; allowed: 1: the drive is the one file"),
        ("fsync=1", "4: [job] the option `fsync` of fio is not supported: there are no flushes here"),
        ("runtime=2d", "4: [job] `runtime` is `2d`; allowed: one time"),
        ("startdelay=1-5", "4: [job] `startdelay` is `1-5`; allowed: one time"),
        ("time_based", "4: [job] `time_based` is given without `runtime`"),
        ("runtime=5\ntime_based=1\nnumber_ios=5", "6: [job] `number_ios` is given with `time_based`"),
        ("time_based=yes", "4: [job] `time_based` is `yes`; allowed: 1 or 0"),
        ("kb_base=1001", "4: [job] `kb_base` is `1001`; allowed: 1024 or 1000"),
        ("randseed=-1", "4: [job] `randseed` is `-1`; allowed: a whole number"),
        ("filename=a\n[other]\nfilename=a\ndirect=1\nstonewall\nstartdelay=1", "`startdelay` is given in a file with `stonewall`"),
        ("filename=a\n[other]\nfilename=a\ndirect=1\nramp_time=1", "8: [other] `ramp_time` is not that of the other jobs"),
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
        ("direct=1\n[job]\n", "1: found `direct` before the first section"),
    ] {
        let message = refused(text);
        assert!(message.contains(expected), "{text}\n{message}");
    }
    assert_eq!(workload("[job]\ndirect=1\nioengine=io_uring\niodepth=4\n").pacing, Pacing::Closed { depth: 4 });
    assert_eq!(workload("[job]\ndirect=1\nstonewall\n").pacing, Pacing::Closed { depth: 1 }, "nothing is before the first job");
}

/// How many requests of each kind there are, and their bytes.
fn counts(text: &str) -> (usize, u64) {
    let arrivals = requests(text, 1 << 20);
    (arrivals.len(), arrivals.iter().map(|arrival| u64::from(arrival.command.sectors) * 512).sum())
}

/// What fio 3.33 made of these jobs on a sparse file of 2 GiB, where none of it is drawn.
#[test]
fn counts_are_those_that_fio_had() {
    let plain = |options: &str| counts(&format!("[job]\ndirect=1\n{options}\n"));
    for (options, expected) in [
        ("rw=read\nbs=4k\nsize=10k", (3, 12288)),
        ("rw=write\nbs=4k\nsize=9120", (3, 12288)),
        ("rw=read\nbs=64k\nsize=100k", (2, 131_072)),
        ("rw=read\nbs=64k\nsize=100k\nfilesize=1m", (2, 131_072)),
        ("rw=read\nbs=64k\nfilesize=100k", (2, 131_072)),
        ("rw=randread\nbs=4k\nsize=8191", (1, 4096)),
        ("rw=randread\nbs=4k\nsize=10k\nnorandommap", (3, 12288)),
        ("rw=randread\nbs=4k\nsize=10k\nnorandommap\nio_size=13k", (4, 16384)),
        ("rw=randread\nbs=4k\nsize=10k\nnorandommap\nio_size=25k", (7, 28672)),
        ("rw=randread\nbs=4k\nsize=10k\nnorandommap\nio_size=25k\nioengine=libaio", (6, 24576)),
        ("rw=read\nbs=4k\nsize=10k\nio_size=26k", (6, 24576)),
        ("rw=read\nbs=4k\nsize=1m\nloops=3", (768, 3 << 20)),
        ("rw=randread\nbs=4k\nsize=1m\nloops=3\nnumber_ios=100", (300, 300 * 4096)),
        ("rw=read\nbs=4k\nsize=1m\nloops=0", (256, 1 << 20)),
        ("rw=read\nbs=4k\nsize=1m\nnumber_ios=0\nruntime=0\nio_size=0\nrate_iops=0\nrate=0\nthinktime=0\nstartdelay=0", (256, 1 << 20)),
        ("rw=write\nbs=4ki\nsize=1m", (256, 1 << 20)),
        ("rw=read\nbs=4k\nsize=64k\nio_size=50%", (8, 32768)),
        ("rw=read\nbs=4k\nfilesize=256k\nsize=64k\noffset=16k", (16, 65536)),
        ("rw=randread\nbs=4k\nsize=1m\nio_size=2500k", (625, 625 * 4096)),
    ] {
        assert_eq!(plain(options), expected, "{options}");
    }
    let places = |options: &str| sectors(&requests(&format!("[job]\ndirect=1\nbs=4k\n{options}\n"), 100));
    assert_eq!(places("rw=read:-8k\nsize=20k"), [0, 24, 16, 8, 0]);
    assert_eq!(places("rw=read:4k\nsize=20k"), [0, 16, 32], "what is left has no place for another");
    assert_eq!(places("rw=write\nsize=10k\ntime_based\nruntime=1")[..5], [0, 8, 16, 0, 8]);
}

#[test]
fn the_last_sequential_request_ends_on_the_drive() {
    let places = |options: &str| sectors(&requests(&format!("[job]\ndirect=1\nrw=read\nbs=4k\n{options}\n"), 100));
    let end = DRIVE.logical_sectors;
    // The last request has the sectors behind the range to the end of the drive, or one sector less.
    let last = |offset_sectors: u64| places(&format!("size=4608\noffset={}", offset_sectors * 512));
    assert_eq!(last(end - 16), [end - 16, end - 8]);
    assert_eq!(last(end - 15), [end - 15]);
    // A range that follows the data ends with them.
    assert_eq!(places(&format!("offset={}", (DRIVE.mapped_sectors - 12) * 512)), [DRIVE.mapped_sectors - 12]);
}

#[test]
fn options_of_newer_versions_are_known_where_they_change_nothing() {
    let newer = "log_issue_time=1\nlog_window_value=1\nthinkcycles=0\nverify_write_sequence=0\nwrite_zone_remainder=0\nnum_range=1\nfdp=0\n\
                 dataplacement=none\nreadfua=0\nwritefua=0\nno_completion_thinktime=0\nlog_alternate_epoch=0\nsqthread_poll=0\nramp_size=0\n\
                 sprandom=0\npriohint=0\nend_syncfs=0\nss_interval=1\ncmdprio_hint=0";
    assert_eq!(counts(&job(&format!("rw=randread\nbs=4k\nsize=1m\n{newer}"))), (256, 1 << 20));
    for (options, expected) in [
        ("thinkcycles=5", "the option `thinkcycles` of fio is not supported: give `thinktime`"),
        ("data_placement=fdp", "the option `data_placement` of fio is not supported: the host gives no hints for placement"),
        ("num_range=2", "the option `num_range` of fio is not supported: a trim has one range"),
        ("ramp_size=1g", "the option `ramp_size` of fio is not supported: give `ramp_time`"),
        ("writefua=1", "the option `writefua` of fio is not supported: a write has no way past"),
    ] {
        let message = refused(&job(options));
        assert!(message.contains(expected), "{options}\n{message}");
    }
}

#[test]
fn sizes_that_are_split_are_rounded_down_and_end_with_the_range() {
    let split = |options: &str| requests(&format!("[job]\ndirect=1\nrw=read\nbssplit=16k/30:44k/70\nsize=8m\n{options}\n"), 10_000);
    let rounded = split("");
    assert!(rounded.iter().all(|arrival| [32, 64].contains(&arrival.command.sectors)));
    assert_eq!(rounded.iter().map(|arrival| arrival.command.sectors).sum::<u32>(), 16384);
    assert!((280..330).contains(&rounded.len()), "fio had 296 to 303 of them: {}", rounded.len());
    let unrounded = split("bs_unaligned");
    assert!(unrounded.iter().any(|arrival| arrival.command.sectors == 88));
    assert!(unrounded.last().is_some_and(|arrival| arrival.command.sector + u64::from(arrival.command.sectors) <= 16384));
}

#[test]
fn several_sizes_draw_no_block_twice() {
    let arrivals = requests("[job]\ndirect=1\nrw=randwrite\nbssplit=4k/50:16k/50\nsize=4m\n", 10_000);
    let mut blocks: Vec<u64> = arrivals
        .iter()
        .flat_map(|arrival| (0..u64::from(arrival.command.sectors) / 8).map(|block| arrival.command.sector / 8 + block))
        .collect();
    blocks.sort_unstable();
    assert!(blocks.into_iter().eq(0..1024));
}

#[test]
fn passes_draw_the_same_again_unless_told_otherwise() {
    let rounds = |options: &str| {
        let arrivals = sectors(&requests(&format!("[job]\ndirect=1\nrw=randread\nbs=4k\nsize=1m\nloops=2\n{options}\n"), 1000));
        assert_eq!(arrivals.len(), 512);
        arrivals[..256] == arrivals[256..]
    };
    assert!(rounds("") && rounds("randrepeat=1"));
    assert!(!rounds("randrepeat=0") && !rounds("randseed=5"));
}

#[test]
fn zones_have_their_shares() {
    let shares = |options: &str| {
        let arrivals = requests(&format!("[job]\ndirect=1\nbs=4k\nsize=4m\nnumber_ios=20000\nio_size=1g\n{options}\n"), 20_000);
        let of = |kind, from: u64, to: u64| {
            let all: Vec<u64> =
                arrivals.iter().filter(|arrival| arrival.command.kind == kind).map(|arrival| arrival.command.sector / 8).collect();
            all.iter().filter(|block| (from..to).contains(block)).count() as f64 / all.len() as f64
        };
        [of(CommandKind::Read, 0, 51), of(CommandKind::Read, 51, 204), of(CommandKind::Write, 0, 921)]
    };
    let near = |found: [f64; 3], expected: [f64; 3]| found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.02);
    let jesd = shares("rw=randrw\nrandom_distribution=zoned:50/5:30/15:20/80");
    assert!(near(jesd, [0.5, 0.3, 0.8 + 0.2 * 717.0 / 820.0]), "{jesd:?}");
    // Of each direction, which fio documents, and version 3.33 fails to read.
    let each = shares("rw=randrw\nrandom_distribution=zoned:90/5:10/15:0/80,10/90:90/10");
    assert!(near(each, [0.9, 0.1, 0.1]), "{each:?}");
    let absolute = shares("rw=randrw\nrandom_distribution=zoned_abs:40/204k:60/612k");
    assert!(near(absolute, [0.4, 0.6, 1.0]), "{absolute:?}");
}

#[test]
fn all_faults_of_a_file_are_told_at_once_with_their_lines() {
    let text = "[global]\nioengine=mmap\ndirect=0\nfsync=1\n[a]\nrw=readwrites\nbs=100\nsize=x\niodepht=4\n[b]\nrw=read\nbssplit=4k/30\nfilename=b\n\
                runtime=1-2\n[c\nbs=1\n";
    let message = refused(text);
    let lines: Vec<usize> = message
        .lines()
        .filter_map(|line| line.trim_start_matches(|c: char| !c.is_ascii_digit() || c == '/').split(':').find_map(|part| part.parse().ok()))
        .collect();
    assert!(lines.len() >= 11 && lines.is_sorted(), "{lines:?}\n{message}");
    // A fault of one line hides no other of its section.
    let several = refused("[job]\ndirect=0\nsize=${TINYTAIL_NONE}\ninclude none.inc\nbs=1\n");
    assert_eq!(several.lines().count(), 4, "{several}");
    for expected in [
        "[global] `ioengine` is `mmap`",
        "[global] `direct` is 0",
        "[global] the option `fsync` of fio is not supported",
        "[a] `filename` is missing",
        "[a] `rw` is `readwrites`",
        "[a] `bs` is `100`",
        "[a] `size` is `x`",
        "[a] the option `iodepht` is not known (did you mean `iodepth`?)",
        "[b] `bssplit` is `4k/30`",
        "[b] `runtime` is `1-2`",
        "found `[c`, expected the name of a job",
    ] {
        assert!(message.contains(expected), "{expected}\n{message}");
    }
}

#[test]
fn options_of_reports_are_ignored_with_one_note() {
    let text = "[global]\ngroup_reporting\nwrite_lat_log=x\nlog_avg_msec=10\nfsync=0\nverify=0\n[job]\ndirect=1\nthread\ngroup_reporting\npercentile_list=50:99\n";
    let notes = workload(text).notes;
    let expected = "ignored, since they change what fio reports or how its host works, and not what the drive gets: `group_reporting`, \
                    `write_lat_log`, `log_avg_msec`, `thread`, `percentile_list`";
    assert_eq!(notes, [expected]);
    assert!(workload("[job]\ndirect=1\nfsync=0\n").notes.is_empty());
}

#[test]
fn files_are_included_and_lines_of_theirs_are_named() {
    let file = JobFile::new("[job]\ndirect=1\ninclude more.inc\nsize=64k\n");
    let more = file.folder.path().join("more.inc");
    std::fs::write(&more, "# sizes\nbs=8k\nrw=write\n").unwrap();
    assert_eq!(file.resolve().unwrap().detail, "8192 bytes, 0 % reads, sequential, closed loop at queue depth 1");
    std::fs::write(&more, "# sizes\nbs=8\n").unwrap();
    let message = file.resolve().unwrap_err().to_string();
    assert!(message.contains("more.inc:2: [job] `bs` is `8`"), "{message}");
    std::fs::write(&more, "include more.inc\n").unwrap();
    assert!(file.resolve().unwrap_err().to_string().contains("must not include itself"));
    std::fs::write(&more, "[other]\n").unwrap();
    assert!(file.resolve().unwrap_err().to_string().contains("it has a section in line 1"));
}

#[test]
fn variables_of_the_environment_are_noted() {
    // One that is there wherever tests are run.
    let value = std::env::var("CARGO_PKG_NAME").unwrap();
    let workload = workload("[job]\ndirect=1\ndescription=of ${CARGO_PKG_NAME} itself\n");
    assert_eq!(workload.summary, format!("of {value} itself"));
    assert_eq!(workload.notes, [format!("from the environment: CARGO_PKG_NAME={value}")]);
}

#[test]
fn a_wall_begins_a_phase_and_the_last_is_measured() {
    let text = "[global]\ndirect=1\nfilename=d\nbs=4k\n[fill]\nrw=write\nsize=1m\n[more]\nrw=write\noffset=1m\nsize=1m\n[reads]\nstonewall\nrw=randread\nsize=64k\n";
    let workload = workload(text);
    assert_eq!(workload.notes, ["the last phase alone is measured, reads; those before it prepare the drive: fill with more"]);
    let before = workload.preparing(1, &DRIVE).unwrap();
    let lengths = |streams: Vec<Stream>| streams.into_iter().map(|stream| all(stream, 1 << 20).len()).collect::<Vec<_>>();
    assert_eq!(before.into_iter().map(|streams| lengths(streams.streams)).collect::<Vec<_>>(), [[256, 256]]);
    assert_eq!(lengths(streams(&workload)), [16]);
    assert_eq!(workload.end_sector(), Some(4096));
}

#[test]
fn pauses_and_rates_of_mixes_are_those_of_the_thread() {
    let timing = |options: &str| {
        let [stream] = <[Stream; 1]>::try_from(streams(&workload(&job(options)))).ok().unwrap();
        (stream.pacing, stream.timing.rest)
    };
    let rest = Rest { think_ns: 20 * US, requests: Some(1), counts_issued: false, busy_ns: None };
    assert_eq!(timing("iodepth=4\nthinktime=20"), (Pacing::Closed { depth: 4 }, Some(rest)));
    assert_eq!(
        timing("thinktime=20\nthinktime_blocks=8\nthinktime_blocks_type=issue").1,
        Some(Rest { requests: Some(8), counts_issued: true, ..rest })
    );
    assert_eq!(timing("thinktime=20\nthinktime_iotime=2").1, Some(Rest { requests: None, busy_ns: Some(2 * SECOND), ..rest }));
    assert_eq!(timing("thinktime=20\nrate_iops=100"), (Pacing::Bounded { outstanding_max: 1 }, Some(rest)));
    let arrivals = requests(&job("rw=randrw\nrate_iops=100,300\nsize=16m"), 400);
    let reads: Vec<u64> = arrivals.iter().filter(|arrival| arrival.command.kind == CommandKind::Read).map(|arrival| arrival.at).collect();
    assert_eq!(reads.len(), 100);
    assert!(reads.iter().zip(0..).all(|(at, index)| *at == index * 10 * MS));
    // A rate in bytes counts the bytes before.
    let arrivals = requests(&job("rw=write\nbssplit=4k/50:8k/50\nrate=4m\nsize=16m"), 1000);
    let mut before = 0;
    for arrival in &arrivals {
        assert_eq!(arrival.at, (before * SECOND + (1 << 21)) >> 22, "rounded to a nanosecond");
        before += u64::from(arrival.command.sectors) * 512;
    }
}
