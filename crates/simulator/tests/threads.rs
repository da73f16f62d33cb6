//! Several threads on one drive: each keeps its own depth or its own times.

use std::path::PathBuf;

use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::observe::Completion;
use tinytail_core::units::{MS, Ns, US};
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::{FindingCode, Outcome};
use tinytail_simulator::play::{Ending, play, play_streams};
use tinytail_simulator::run::run;
use tinytail_simulator::spec::{RunError, Spec};
use tinytail_workload::{
    Arrival, Pacing, Pulses, Rest, Source, SourceContext, Stream, Streams, Timing, TraceOptions, Workload, WorkloadError,
};

use crate::drives::{Log, aged};

/// Requests of one kind, some distance apart, at equal times.
struct Steps {
    kind: CommandKind,
    gap_ns: Ns,
    first_page: u64,
    given: u64,
    requests: u64,
    queue: u32,
}

impl Source for Steps {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let count = limit.min((self.requests - self.given) as usize);
        for _ in 0..count {
            // Neighbours are on different planes, so that requests do not wait for each other alone.
            let sector = (self.first_page + self.given * 37 % 5000) * 8;
            out.push(Arrival {
                at: self.given * self.gap_ns,
                command: Command { kind: self.kind, sector, sectors: 8, critical: false },
                queue: self.queue,
                latency_ns: None,
            });
            self.given += 1;
        }
        Ok(count)
    }
}

fn stream(kind: CommandKind, pacing: Pacing, gap_ns: Ns, requests: Option<u64>) -> Stream {
    let (first_page, queue) = if kind == CommandKind::Read { (0, 0) } else { (10_000, 1) };
    let source = Steps { kind, gap_ns, first_page, given: 0, requests: requests.unwrap_or(u64::MAX), queue };
    Stream { source: Box::new(source), pacing, timing: Timing::default(), endless: requests.is_none() }
}

fn closed(kind: CommandKind, depth: u32, requests: Option<u64>) -> Stream {
    stream(kind, Pacing::Closed { depth }, 0, requests)
}

fn open(kind: CommandKind, gap_ns: Ns, requests: Option<u64>) -> Stream {
    stream(kind, Pacing::Open, gap_ns, requests)
}

fn device() -> Device {
    catalog::device("ttflash-small").unwrap()
}

fn drive() -> Drive<Log> {
    aged(&device(), "base")
}

/// The completions of reads and of writes, each in the order of their submission.
fn played(streams: Vec<Stream>, requests: u64) -> [Vec<Completion>; 2] {
    played_on(drive(), streams, requests)
}

fn played_on(mut drive: Drive<Log>, streams: Vec<Stream>, requests: u64) -> [Vec<Completion>; 2] {
    let mut streams = Streams { streams, requests };
    assert_eq!(play_streams(&mut drive, &mut streams, 0, &Control::default(), |_| false), Ending::Complete);
    assert_eq!(drive.outstanding(), 0);
    let (reads, writes) = drive.observer_mut().take().into_iter().partition(|completion| completion.kind == CommandKind::Read);
    [reads, writes]
}

/// How many requests are outstanding after all submissions of each instant. Several may complete at one.
fn depths(completions: &[Completion]) -> Vec<usize> {
    let at = |index: usize| completions[index].asked;
    let is_last = |index: &usize| completions.get(index + 1).is_none_or(|next| next.asked > at(*index));
    let outstanding = |index: usize| completions[..=index].iter().filter(|other| other.completed > at(index)).count();
    (0..completions.len()).filter(is_last).map(outstanding).collect()
}

const READ: CommandKind = CommandKind::Read;
const WRITE: CommandKind = CommandKind::Write;

#[test]
fn closed_threads_keep_their_own_depths() {
    let [reads, writes] = played(vec![closed(READ, 3, Some(2000)), closed(WRITE, 5, None)], u64::MAX);
    assert_eq!(reads.len(), 2000);
    assert!(writes.len() > 100, "the endless thread runs as long as the other: {}", writes.len());
    for (completions, depth) in [(&reads, 3), (&writes, 5)] {
        let depths = depths(completions);
        assert!(depths.len() > 20 && depths.iter().all(|outstanding| *outstanding == depth), "{depths:?}");
    }
    let last_read = reads.iter().map(|read| read.asked).max().unwrap();
    assert!(writes.iter().all(|write| write.asked <= last_read), "none is issued after the last read");
}

#[test]
fn a_slow_thread_does_not_slow_down_a_fast_one() {
    let [reads, _] = played(vec![closed(READ, 1, Some(500)), closed(WRITE, 1, None)], u64::MAX);
    for pair in reads.windows(2) {
        assert_eq!(pair[1].asked, pair[0].completed, "the next read is issued when the one before completes");
    }
}

#[test]
fn open_threads_keep_their_times_beside_closed_ones() {
    let gap_ns = 150 * US;
    let [reads, writes] = played(vec![open(READ, gap_ns, Some(800)), closed(WRITE, 4, None)], u64::MAX);
    let expected: Vec<Ns> = (0..800).map(|index| index * gap_ns).collect();
    assert_eq!(reads.iter().map(|read| read.asked).collect::<Vec<_>>(), expected);
    assert!(depths(&writes).iter().all(|outstanding| *outstanding == 4));
}

fn timed(stream: Stream, timing: Timing) -> Stream {
    Stream { timing, ..stream }
}

#[test]
fn a_thinking_thread_waits_after_each_completion() {
    for depth in [1, 3] {
        let think_ns = 40 * US;
        let reader = timed(closed(READ, depth, Some(600)), Timing { think_ns, ..Timing::default() });
        let [reads, _] = played(vec![reader, closed(WRITE, 2, None)], u64::MAX);
        assert_eq!(reads.len(), 600);
        // Every request but the first of each place is issued a thought after the completion of one before it.
        let mut thought: Vec<Ns> = reads.iter().map(|read| read.completed + think_ns).collect();
        thought.sort_unstable();
        let mut asked: Vec<Ns> = reads.iter().map(|read| read.asked).collect();
        asked.sort_unstable();
        let first = depth as usize;
        assert!(asked[..first].iter().all(|at| *at == asked[0]));
        assert_eq!(asked[first..], thought[..600 - first], "at depth {depth}");
    }
}

#[test]
fn a_thread_with_a_bound_keeps_its_times_until_it_has_too_much_outstanding() {
    let gap_ns = 300 * US;
    let paced = |pacing| played(vec![stream(READ, pacing, gap_ns, Some(800)), closed(WRITE, 4, None)], u64::MAX);
    let [reads, _] = paced(Pacing::Bounded { outstanding_max: 2 });
    let mut late = 0;
    for (index, read) in reads.iter().enumerate() {
        let own = index as Ns * gap_ns;
        assert_eq!(read.asked, own);
        let outstanding = reads[..index].iter().filter(|other| other.completed > read.arrived).count();
        assert!(outstanding < 2, "request {index}: {outstanding} before it");
        // It is issued at its own time, or when there is room after that.
        assert!(read.arrived == own || (read.arrived > own && reads[..index].iter().any(|other| other.completed == read.arrived)));
        late += usize::from(read.arrived > own);
    }
    assert!(late > 20 && late < 790, "{late}");
    let [free, _] = paced(Pacing::Open);
    assert!(free.iter().enumerate().all(|(index, read)| read.arrived == index as Ns * gap_ns));
}

#[test]
fn a_thread_begins_and_ends_at_its_times() {
    let timing = Timing { start_ns: 2 * MS, runtime_ns: Some(5 * MS), ..Timing::default() };
    let [reads, writes] = played(vec![timed(closed(READ, 2, Some(1 << 40)), timing), closed(WRITE, 1, Some(3000))], u64::MAX);
    let begin = writes[0].asked;
    assert!(reads.len() > 20 && reads[0].asked == begin + 2 * MS && reads[1].asked == begin + 2 * MS);
    assert!(reads.iter().all(|read| read.asked < begin + 7 * MS));
    let last = reads.iter().map(|read| read.asked).max().unwrap();
    assert!(reads.iter().filter(|read| (last..begin + 7 * MS).contains(&read.completed)).count() <= 2, "it goes on to its end");
    assert_eq!(writes.len(), 3000, "the other goes on");

    // What would be issued at the end is not, what would be a nanosecond before is.
    for (runtime_ns, expected) in [(3 * MS, 3), (3 * MS + 1, 4)] {
        let timing = Timing { runtime_ns: Some(runtime_ns), ..Timing::default() };
        let bounded = stream(READ, Pacing::Bounded { outstanding_max: 100 }, MS, Some(50));
        let [reads, _] = played(vec![timed(bounded, timing)], u64::MAX);
        assert_eq!(reads.len(), expected);
        let timing = Timing { runtime_ns: Some(runtime_ns), think_ns: 3 * MS, ..Timing::default() };
        let [reads, _] = played(vec![timed(closed(READ, 1, Some(50)), timing)], u64::MAX);
        assert_eq!(reads.len(), 1, "a thought that ends after the end leads to nothing");
    }
    // An endless thread ends with the last that time ends.
    let timing = Timing { runtime_ns: Some(4 * MS), ..Timing::default() };
    let [reads, writes] = played(vec![timed(closed(READ, 1, Some(1 << 40)), timing), closed(WRITE, 1, None)], u64::MAX);
    let begin = reads[0].asked.min(writes[0].asked);
    let end = begin + 4 * MS;
    assert!(reads.iter().all(|read| read.asked < end));
    let after = writes.iter().filter(|write| write.asked > end + MS).count();
    assert_eq!(after, 0, "writes go on only until the drive says that the time is over");
}

#[test]
fn pulses_begin_at_their_times_and_issue_nothing_between() {
    let pulses = Some(Pulses { pulse_ns: 3 * MS, pause_ns: 4 * MS });
    for think_ns in [0, MS] {
        let timing = Timing { start_ns: 2 * MS, runtime_ns: Some(21 * MS), pulses, think_ns, ..Timing::default() };
        let [reads, writes] = played(vec![timed(closed(READ, 2, Some(1 << 40)), timing), closed(WRITE, 1, Some(9000))], u64::MAX);
        let begin = writes[0].asked + 2 * MS;
        for pulse in 0..3 {
            let asked: Vec<Ns> = reads.iter().map(|read| read.asked - begin).filter(|at| at / (7 * MS) == pulse).collect();
            assert!(asked.len() >= 4, "pulse {pulse}: {asked:?}");
            let from = pulse * 7 * MS;
            assert!(think_ns > 0 || asked[..2] == [from; 2], "as many as the queue holds: {asked:?}");
            assert!(asked.iter().all(|at| (from..from + 3 * MS).contains(at)), "pulse {pulse}: {asked:?}");
        }
        assert!(reads.iter().all(|read| read.asked < begin + 21 * MS), "it ends");
    }
    // Alone on its drive it goes on after a pause as well, in which nothing is outstanding.
    let timing = Timing { runtime_ns: Some(3000 * MS), pulses: Some(Pulses { pulse_ns: MS, pause_ns: 999 * MS }), ..Timing::default() };
    let [reads, _] = played(vec![timed(closed(READ, 1, Some(1 << 40)), timing), closed(WRITE, 1, Some(1))], u64::MAX);
    let mut begun: Vec<Ns> = reads.iter().map(|read| (read.asked - reads[0].asked) / MS).collect();
    begun.dedup();
    assert_eq!(begun, [0, 1000, 2000]);
}

#[test]
fn a_job_file_runs_as_its_threads_say() {
    let path = std::env::temp_dir().join(format!("tinytail-{}-jobs.fio", std::process::id()));
    let text = "[global]\nfilename=/dev/nvme0n1\ndirect=1\nbs=16k\nruntime=200ms\ntime_based\nsize=64m\n\
                [reader]\nrw=randread\n[writer]\nrw=randwrite\nrate_iops=2000\n";
    std::fs::write(&path, text).unwrap();
    let outcome = || run(&spec(path.to_str().unwrap(), None), &Control::default()).unwrap();
    let (one, two) = (outcome(), outcome());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(one.event_hash, two.event_hash);
    assert!(!one.partial && one.read.count > 50, "{}", one.read.count);
    assert!((390..=400).contains(&one.write.count), "2,000 per second for 0.2 s: {}", one.write.count);
}

/// The outcome of a job file.
fn outcome_of(name: &str, text: &str) -> Outcome {
    let path = std::env::temp_dir().join(format!("tinytail-{}-{name}.fio", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let outcome = run(&Spec { no_warm_up: true, ..spec(path.to_str().unwrap(), None) }, &Control::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    outcome
}

#[test]
fn the_last_phase_of_a_job_file_is_measured() {
    let global = "[global]\nfilename=d\ndirect=1\nbs=16k\n";
    let reads = "rw=randread\nsize=4m\n";
    let phases = outcome_of("phases", &format!("{global}[fill]\nrw=write\nsize=8m\n[reads]\nstonewall\n{reads}"));
    assert_eq!((phases.read.count, phases.write.count), (256, 0));
    assert!(phases.notes.iter().any(|note| note.contains("the last phase alone is measured, reads")), "{:?}", phases.notes);
    let alone = outcome_of("alone", &format!("{global}[reads]\n{reads}"));
    assert_ne!(phases.event_hash, alone.event_hash, "what comes before is played");
}

#[test]
fn what_is_played_in_the_ramp_time_is_not_measured() {
    let text =
        |options: &str| format!("[job]\ndirect=1\nrw=randread\nbs=16k\nsize=8m\nnorandommap\nioengine=libaio\niodepth=4\n{options}\n");
    // 2,000 per second for 200 ms, and as many before.
    let timed = outcome_of("ramp", &text("rate_iops=2000\nramp_time=100ms\nruntime=200ms\ntime_based"));
    assert!((398..=402).contains(&timed.read.count), "{}", timed.read.count);
    assert!(
        timed.state.as_ref().unwrap().warm_up.ends_with("then 0.100 s of the workload itself, its ramp time"),
        "{}",
        timed.state.as_ref().unwrap().warm_up
    );
    // What was played in the ramp time is of the job's size.
    let whole = outcome_of("whole", &text("rate_iops=2000\nramp_time=100ms")).read.count;
    assert!((310..=314).contains(&whole), "512 requests but for those of 100 ms: {whole}");
    let closed = outcome_of("closed", &text("ramp_time=1ms")).read.count;
    assert!(closed < 512 && closed > 256, "{closed}");
}

#[test]
fn a_stream_with_pauses_has_nothing_outstanding_in_them() {
    let rest = Rest { think_ns: 500 * US, requests: Some(6), counts_issued: true, busy_ns: None };
    let reader = timed(closed(READ, 4, Some(60)), Timing { rest: Some(rest), ..Timing::default() });
    let [reads, _] = played(vec![reader, closed(WRITE, 2, None)], u64::MAX);
    assert_eq!(reads.len(), 60);
    for group in reads.chunks(6).zip(reads.chunks(6).skip(1)) {
        let last = group.0.iter().map(|read| read.completed).max().unwrap();
        assert_eq!(group.1[0].asked, last + 500 * US);
        assert_eq!(group.1.iter().filter(|read| read.asked == group.1[0].asked).count(), 4, "up to its depth at once");
    }
}

#[test]
fn threads_that_wait_are_served_by_the_weights_of_their_queues() {
    for weights in [vec![1, 1], vec![1, 3], vec![5, 1]] {
        let mut device = device();
        let expected = 3000 * weights[0] as usize / weights[1] as usize;
        (device.host.queue_depth, device.host.queue_weights) = (4, weights);
        // Each has far more outstanding than the device takes, so that requests of both always wait.
        let [reads, _] = played_on(aged(&device, "base"), vec![closed(READ, 16, None), closed(WRITE, 16, Some(3000))], u64::MAX);
        assert!(reads.len().abs_diff(expected) < 100, "{} instead of {expected}", reads.len());
    }
}

#[test]
fn the_number_of_requests_counts_all_threads() {
    let [reads, writes] = played(vec![closed(READ, 2, None), closed(WRITE, 2, Some(5000))], 1000);
    assert_eq!(reads.len() + writes.len(), 1000);
    assert!(!reads.is_empty() && !writes.is_empty());
    let [reads, writes] = played(vec![closed(READ, 4, Some(3)), closed(WRITE, 4, Some(300))], u64::MAX);
    assert_eq!((reads.len(), writes.len()), (3, 300), "a thread that has ended leaves the others alone");
}

#[test]
fn one_thread_is_as_one_stream() {
    let hash = |streams: &mut dyn FnMut(&mut Drive<Log>)| {
        let mut drive = drive();
        streams(&mut drive);
        drive.event_hash()
    };
    for (pacing, gap_ns) in [(Pacing::Closed { depth: 7 }, 0), (Pacing::Open, 90 * US), (Pacing::Bounded { outstanding_max: 3 }, 90 * US)] {
        let alone = hash(&mut |drive| {
            let mut source = stream(WRITE, pacing, gap_ns, Some(3000)).source;
            assert_eq!(play(drive, source.as_mut(), pacing, MS, &Control::default(), |_| false), Ending::Complete);
        });
        let threaded = hash(&mut |drive| {
            // A second stream, without requests, keeps it from being played as one.
            let mut streams =
                Streams { streams: vec![stream(WRITE, pacing, gap_ns, Some(3000)), closed(READ, 1, Some(0))], requests: u64::MAX };
            assert_eq!(play_streams(drive, &mut streams, MS, &Control::default(), |_| false), Ending::Complete);
        });
        assert_eq!(alone, threaded, "{pacing:?}");
    }
}

#[test]
fn open_threads_together_are_their_requests_merged() {
    let threads = "[threads.a]\nrate_per_s = 4000\nblock_bytes = 4096\nread_share = 1.0\naddresses = \"uniform\"\nrequests = 2000\n\
                   [threads.b]\nrate_per_s = 1000\narrivals = \"fixed\"\nblock_bytes = 8192\nread_share = 0.0\naddresses = \"sequential\"\n\
                   streams = 2\n";
    let file = File::new("open-threads", threads);
    let workload = Workload::resolve(file.path(), &TraceOptions::default()).unwrap();
    let context = SourceContext { logical_sectors: 1 << 20, mapped_sectors: 1 << 19 };
    assert_eq!(workload.pacing, Pacing::Open);
    let mut drive = drive();
    let mut streams = workload.streams(1, &context, None).unwrap();
    assert_eq!(streams.streams.len(), 1);
    assert_eq!(play_streams(&mut drive, &mut streams, 0, &Control::default(), |_| false), Ending::Complete);
    let log = &drive.observer().completions;
    let (reads, writes) = (log.iter().filter(|completion| completion.kind == READ).count(), log.len());
    assert_eq!(reads, 2000);
    assert!((400..600).contains(&(writes - reads)), "a quarter as many writes: {}", writes - reads);
}

struct File(PathBuf);

impl File {
    fn new(test: &str, tables: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinytail-{}-{test}.toml", std::process::id()));
        std::fs::write(&path, format!("summary = \"s\"\n{tables}")).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn spec(workload: &str, requests: Option<u64>) -> Spec {
    Spec { requests, verify: true, windows: 100, ..Spec::new("ttflash-small", "base", workload) }
}

#[test]
fn a_workload_of_threads_runs_and_is_repeatable() {
    let reader = "[threads.reader]\nqueue_depth = 1\nblock_bytes = 4096\nread_share = 1.0\naddresses = \"zipf\"\nzipf_theta = 0.9\nrequests = 4000\n";
    let writer = "[threads.writer]\nqueue_depth = 4\nblock_mix = [[4096, 3], [16384, 1]]\nread_share = 0.0\naddresses = \"hot-cold\"\n\
                  hot_space_share = 0.1\nhot_access_share = 0.9\n";
    let ticker = "[threads.ticker]\nrate_per_s = 200\narrivals = \"hyperexponential\"\narrivals_cv = 3\nblock_bytes = 4096\nread_share = 0.0\n\
                  addresses = \"uniform\"\nrange_bytes = 536870912\n";
    let file = File::new("threads", &[reader, writer, ticker].concat());
    let outcome = || run(&spec(file.path(), None), &Control::default()).unwrap();
    let (one, two) = (outcome(), outcome());
    assert_eq!(one.event_hash, two.event_hash);
    assert_eq!(one.read.count, 4000);
    assert!(one.write.count > 100 && !one.partial);
    assert!(one.workload.detail.starts_with("3 threads; reader: 4096 bytes, 100 % reads, Zipf"), "{}", one.workload.detail);
    assert!(one.state.as_ref().unwrap().warm_up.contains("or the workload's end"), "{}", one.state.as_ref().unwrap().warm_up);
    let limited = run(&spec(file.path(), Some(500)), &Control::default()).unwrap();
    assert_eq!(limited.read.count + limited.write.count, 500);
}

#[test]
fn what_was_folded_is_said_with_the_result() {
    let lines: String = (0..100).map(|index| format!("{} 0 {} 8 1\n", index * 1000, index * 40_000)).collect();
    let path = std::env::temp_dir().join(format!("tinytail-{}-folded.trace", std::process::id()));
    std::fs::write(&path, lines).unwrap();
    let mut spec = spec(path.to_str().unwrap(), None);
    spec.trace.time_unit = Some("us".parse().unwrap());
    let error = run(&spec, &Control::default()).unwrap_err();
    assert!(matches!(error, RunError::Workload(_)) && error.to_string().contains("--fit fold folds"), "{error}");
    spec.transform.fit = Some(tinytail_workload::Fit::Fold);
    spec.transform.repeat = Some(2);
    let outcome = run(&spec, &Control::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(outcome.read.count, 200);
    let notes = outcome.notes.join("\n");
    assert!(notes.contains("played 2 times") && notes.contains("folded: ") && notes.contains("of 200 requests"), "{notes}");
    assert!(outcome.workload.detail.ends_with("transformed, as the notes say"), "{}", outcome.workload.detail);
    let finding = outcome.findings.iter().find(|finding| finding.code == FindingCode::TraceFitted).expect("more than half was folded");
    let beyond = finding.figures["reads_beyond"];
    assert!(notes.contains(&format!("folded: {beyond} of 200 requests")), "{finding:?} and {notes}");
    assert_eq!((finding.figures["reads"], finding.figures["writes"]), (200.0, 0.0));
    assert_eq!(finding.message, format!("{:.1} % of the reads lie beyond the drive and were folded into it", beyond / 2.0));
}
