//! Bursts: all requests of one come at once, and the next waits for their completion and for its idle time.

use proptest::prelude::*;

use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::drive::Drive;
use tinytail_core::observe::Completion;
use tinytail_core::units::{MS, Ns};
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::play::{Ending, play, play_streams};
use tinytail_workload::{Arrival, Pacing, Source, Streams, WorkloadError};

use crate::drives::{Given, Log, aged};

/// Plays requests, each given by whether it writes and its page, in bursts of which each has its time.
fn played(bursts: &[(Ns, Vec<(bool, u64)>)], offset_ns: Ns, design: &str) -> Vec<Completion> {
    let request = |at: Ns, (writes, page): (bool, u64)| {
        let kind = if writes { CommandKind::Write } else { CommandKind::Read };
        Arrival { at, command: Command { kind, sector: page * 8, sectors: 8, critical: false }, queue: 0, latency_ns: None }
    };
    let requests: Vec<Arrival> = bursts.iter().flat_map(|(at, pages)| pages.iter().map(|&page| request(*at, page))).collect();
    let device = catalog::device("ttflash-small").unwrap();
    let mut drive = aged(&device, design);
    let mut source = Given(requests);
    let ending = play(&mut drive, &mut source, Pacing::Bursts, offset_ns, &Control::default(), |_| false);
    assert_eq!(ending, Ending::Complete);
    assert_eq!(drive.outstanding(), 0);
    drive.observer_mut().take()
}

/// Holds what was played against the rule, burst by burst.
fn check(bursts: &[(Ns, Vec<(bool, u64)>)], offset_ns: Ns, log: &[Completion]) {
    let mut rest = log;
    let mut before: Option<(Ns, Ns)> = None;
    for (at, requests) in bursts {
        let (burst, others) = rest.split_at(requests.len());
        rest = others;
        let due = before.map_or(offset_ns + at, |(time, completed)| completed + at - time);
        assert!(burst.iter().all(|completion| completion.asked == due && completion.arrived == due), "{due}: {burst:?}");
        before = Some((*at, burst.iter().map(|completion| completion.completed).max().unwrap()));
    }
    assert!(rest.is_empty());
}

#[test]
fn a_burst_waits_for_the_last_completion_and_its_idle_time() {
    // Reads of two dies and of one: 140.2 us, and 280.4 for the die's second.
    let bursts = [(0, vec![(false, 0), (false, 1)]), (5, vec![(false, 0), (false, 0)]), (1005, vec![(false, 3)])];
    let log = played(&bursts, 7000, "base+no-gc");
    check(&bursts, 7000, &log);
    let asked: Vec<Ns> = log.iter().map(|completion| completion.asked).collect();
    assert_eq!(asked[..2], [7000, 7000]);
    assert_eq!(asked[2], 7000 + 140_200 + 5);
    assert!(asked[4] > asked[2] + 1000 + 140_200, "the second burst's last read decides");
}

#[test]
fn nothing_and_a_single_request_are_played() {
    assert!(played(&[], 5, "base").is_empty());
    let one = [(40, vec![(true, 1)])];
    check(&one, 5, &played(&one, 5, "base"));
}

#[test]
fn a_request_that_completes_at_once_ends_its_burst() {
    // The page is far beyond what the starting state maps, and reads as zeroes from the map alone.
    let device = catalog::device("ttflash-small").unwrap();
    let page = device.logical_pages() - 1;
    let bursts = [(0, vec![(false, page)]), (MS, vec![(false, page), (false, 0)]), (2 * MS, vec![(false, page)])];
    let log = played(&bursts, 0, "base");
    check(&bursts, 0, &log);
    assert_eq!(log[1].asked, log[0].completed + MS);
}

#[test]
fn bursts_beside_another_stream_are_refused() {
    let device = catalog::device("ttflash-small").unwrap();
    let mut drive = Drive::new(&device, catalog::design("base").unwrap(), true, Log::default()).unwrap();
    let stream = |pacing| Streams::one(Box::new(Given(Vec::new())), pacing).streams;
    let streams = stream(Pacing::Open).into_iter().chain(stream(Pacing::Bursts)).collect();
    let ending = play_streams(&mut drive, &mut Streams { streams, requests: u64::MAX }, 0, &Control::default(), |_| false);
    assert!(matches!(&ending, Ending::Faulty(why) if why.contains("bursts are of a whole workload")), "{ending:?}");
}

/// Requests that can't be read on.
struct Broken(Option<Arrival>, WorkloadError);

impl Source for Broken {
    fn fill(&mut self, out: &mut Vec<Arrival>, _: usize) -> Result<usize, WorkloadError> {
        let first = self.0.take().ok_or(self.1.clone())?;
        out.push(first);
        Ok(1)
    }
}

#[test]
fn what_cannot_be_read_on_ends_the_run_in_its_own_way() {
    let device = catalog::device("ttflash-small").unwrap();
    let changed = WorkloadError::Changed { path: "t".into(), what: "it was written to".into() };
    for pacing in [Pacing::Open, Pacing::Bursts, Pacing::Closed { depth: 4 }] {
        for first in [
            None,
            Some(Arrival {
                at: 0,
                command: Command { kind: CommandKind::Read, sector: 0, sectors: 8, critical: false },
                queue: 0,
                latency_ns: None,
            }),
        ] {
            let ending = |error: &WorkloadError| {
                let mut drive = Drive::new(&device, catalog::design("base").unwrap(), true, Log::default()).unwrap();
                let mut streams = Streams::one(Box::new(Broken(first, error.clone())), pacing);
                play_streams(&mut drive, &mut streams, 0, &Control::default(), |_| false)
            };
            assert_eq!(ending(&changed), Ending::Unread(changed.to_string()));
            assert_eq!(ending(&WorkloadError::Interrupted), Ending::Cancelled);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn bursts_keep_the_rule_whatever_they_are(
        bursts in prop::collection::vec((1_u64..30 * MS, prop::collection::vec((any::<bool>(), 0_u64..2000), 1..40)), 1..30),
        offset_ns in 0_u64..MS,
        design in prop::sample::select(vec!["base", "ttflash", "base+no-gc"]),
    ) {
        let mut at = 0;
        let bursts: Vec<(Ns, Vec<(bool, u64)>)> = bursts.into_iter().map(|(idle, pages)| { at += idle; (at, pages) }).collect();
        check(&bursts, offset_ns, &played(&bursts, offset_ns, design));
    }
}
