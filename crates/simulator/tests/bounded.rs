//! Replays with a bound on what is outstanding, held against a host that is computed from completions alone.

use std::path::PathBuf;

use proptest::prelude::*;

use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::observe::Completion;
use tinytail_core::units::{MS, Ns, US};
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::{FindingCode, Outcome};
use tinytail_simulator::play::{Ending, play_streams};
use tinytail_simulator::run::run;
use tinytail_simulator::spec::Spec;
use tinytail_workload::{Arrival, BurstGap, Pacing, Streams, TimeUnit};

use crate::drives::{Given, aged};

/// Plays requests and returns their completions, in their order, and the hash of all events.
fn played(requests: &[Arrival], pacing: Pacing) -> (Vec<Completion>, u64) {
    let device = catalog::device("ttflash-small").unwrap();
    let mut drive = aged(&device, "base");
    let mut streams = Streams::one(Box::new(Given(requests.to_vec())), pacing);
    assert_eq!(play_streams(&mut drive, &mut streams, 0, &Control::default(), |_| false), Ending::Complete);
    (drive.observer_mut().take(), drive.event_hash())
}

/// When a host with so many slots issues its next request, by the completions of all before.
fn issued(before: &[Completion], own: Ns, slots: usize) -> Ns {
    let mut completed: Vec<Ns> = before.iter().map(|other| other.completed).collect();
    completed.sort_unstable();
    let has_room = (before.len() + 1).checked_sub(slots).filter(|needed| *needed > 0).map_or(0, |needed| completed[needed - 1]);
    let in_turn = before.last().map_or(0, |last| last.arrived);
    own.max(in_turn).max(has_room)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_bounded_replay_is_one_at_the_times_of_a_host_with_as_many_slots(
        requests in prop::collection::vec((prop_oneof![Just(0), 1..50 * US, Just(3 * MS)], 0_u8..10, 0_u64..4000, 1_u32..40), 1..200),
        slots in prop_oneof![Just(1_u32), 2_u32..40],
    ) {
        let mut at = 0;
        let requests: Vec<Arrival> = requests.into_iter().map(|(gap_ns, kind, page, sectors)| {
            at += gap_ns;
            let kind = [CommandKind::Trim, CommandKind::Read, CommandKind::Write][usize::from(kind.div_ceil(5))];
            Arrival { at, command: Command { kind, sector: page * 8, sectors, critical: false }, queue: 0, latency_ns: None }
        }).collect();
        let (bounded, hash) = played(&requests, Pacing::Bounded { outstanding_max: slots });
        for (index, (completion, request)) in bounded.iter().zip(&requests).enumerate() {
            prop_assert_eq!(completion.asked, request.at);
            prop_assert_eq!(completion.arrived, issued(&bounded[..index], request.at, slots as usize), "request {}", index);
        }
        // At the times at which that host issues them, the drive does the same.
        let late: Vec<Arrival> = requests.iter().zip(&bounded).map(|(request, found)| Arrival { at: found.arrived, ..*request }).collect();
        let (same, same_hash) = played(&late, Pacing::Open);
        prop_assert_eq!(same_hash, hash);
        prop_assert!(same.iter().zip(&bounded).all(|(one, other)| one.completed == other.completed));
        // A bound that is never reached changes nothing.
        prop_assert_eq!(played(&requests, Pacing::Open), played(&requests, Pacing::Bounded { outstanding_max: u32::MAX }));
    }
}

struct Trace(PathBuf);

impl Trace {
    /// Reads and writes of 4 KiB in turn, at equal distances.
    fn new(name: &str, requests: u64, gap_us: u64) -> Self {
        let path = std::env::temp_dir().join(format!("tinytail-bounded-{}-{name}.trace", std::process::id()));
        let line = |number: u64| format!("{} 0 {} 8 {}\n", number * gap_us, number * 7919 % 10_000 * 8, number % 2);
        std::fs::write(&path, (0..requests).map(line).collect::<String>()).unwrap();
        Self(path)
    }

    fn spec(&self, outstanding_max: Option<u32>) -> Spec {
        let mut spec = Spec { outstanding_max, ..Spec::new("ttflash-small", "base", self.0.to_str().unwrap()) };
        spec.trace.time_unit = Some(TimeUnit::Microseconds);
        spec
    }

    fn play(&self, outstanding_max: Option<u32>) -> Outcome {
        run(&self.spec(outstanding_max), &Control::default()).unwrap()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn found(outcome: &Outcome, code: FindingCode) -> Option<&str> {
    outcome.findings.iter().find(|finding| finding.code == code).map(|finding| finding.message.as_str())
}

#[test]
fn a_trace_that_is_too_fast_takes_longer_and_its_waits_stand_apart() {
    let trace = Trace::new("fast", 6000, 10);
    let open = trace.play(None);
    let said = found(&open, FindingCode::Saturated).expect("100,000 requests/s");
    assert!(said.ends_with("so latencies grow with the run; --outstanding-max 32 bounds them"), "{said}");
    assert_eq!(open.host_waits, None);
    let bounded = trace.play(Some(32));
    let waits = bounded.host_waits.as_ref().unwrap();
    assert_eq!(found(&bounded, FindingCode::Saturated), None);
    let said = found(&bounded, FindingCode::SlotsFull).expect("most wait");
    assert!(said.starts_with("slower than the load: what came in 60.0 ms took "), "{said}");
    assert!(said.contains("on average in the host, with 32 outstanding"), "{said}");
    assert!((waits.arrivals_seconds - 0.05999).abs() < 1e-9 && bounded.throughput.makespan_seconds > 1.1 * waits.arrivals_seconds);
    assert!((bounded.throughput.arrivals_per_second.unwrap() / 100_000.0 - 1.0).abs() < 1e-6, "as the trace has them");
    assert!(waits.waited <= 6000 && waits.wait.count == 6000 && waits.waited_percent > 50.0, "{waits:?}");
    assert!(waits.wait.max_us.unwrap() > 10.0 * bounded.read.mean_us.unwrap(), "{waits:?}");
    // No request waits for the device, which takes as many as are outstanding.
    assert_eq!(bounded.queue_blocked_read_percent, 0.0);
    assert!(bounded.workload.detail.ends_with(", at most 32 outstanding"), "{}", bounded.workload.detail);
    // The wait and the latency together are what a request takes without a bound, where the device serves them alike.
    let whole = |outcome: &Outcome| outcome.throughput.makespan_seconds;
    assert!((whole(&bounded) / whole(&open) - 1.0).abs() < 0.1, "{} and {}", whole(&bounded), whole(&open));
}

#[test]
fn a_bound_that_is_never_reached_changes_nothing_and_says_so() {
    let trace = Trace::new("slow", 2000, 500);
    let (open, bounded) = (trace.play(None), trace.play(Some(1_000_000)));
    assert_eq!(open.event_hash, bounded.event_hash);
    let waits = bounded.host_waits.as_ref().unwrap();
    assert_eq!((waits.waited, waits.wait.max_us), (0, Some(0.0)));
    assert_eq!(found(&bounded, FindingCode::SlotsFull), None);
}

#[test]
fn what_has_no_times_of_its_own_refuses_a_bound_and_says_what_helps() {
    let trace = Trace::new("refused", 10, 10);
    let closed = Spec { trace: tinytail_workload::TraceOptions { queue_depth: Some(4), ..trace.spec(None).trace }, ..trace.spec(Some(8)) };
    let mut bursts = trace.spec(Some(8));
    bursts.transform.burst_gap_s = Some(BurstGap::Seconds(0.000_005));
    let rule = Spec { outstanding_max: Some(8), requests: Some(10), ..Spec::new("ttflash-small", "base", "randread-qd1") };
    for (spec, expected) in [
        (closed, "in closed loop at queue depth 4 no more than 4 are outstanding; leave out one of the two"),
        (bursts, "in bursts they wait for those before; leave out the option, or `burst_gap_s`"),
        (rule, "this workload is made by rule: its file bounds its requests"),
        (trace.spec(Some(0)), "with --outstanding-max 0 nothing could be issued"),
    ] {
        let error = run(&spec, &Control::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
