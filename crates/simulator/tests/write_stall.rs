//! Writes that get nowhere while reads go on: the run ends and says so.

use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::units::US;
use tinytail_simulator::catalog;
use tinytail_simulator::control::{Control, WRITE_STALL_S};
use tinytail_simulator::play::{Ending, play_streams};
use tinytail_simulator::settings::Settings;
use tinytail_workload::{Arrival, Pacing, Source, Stream, Streams, Timing, WorkloadError};

use crate::drives::Log;

/// Pages of the live part in an order without locality.
struct Pages {
    kind: CommandKind,
    given: u64,
    requests: u64,
}

impl Source for Pages {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let count = limit.min((self.requests - self.given) as usize);
        for _ in 0..count {
            let sector = self.given * 7919 % 40_000 * 8;
            out.push(Arrival {
                at: 0,
                command: Command { kind: self.kind, sector, sectors: 8, critical: false },
                queue: 0,
                latency_ns: None,
            });
            self.given += 1;
        }
        Ok(count)
    }
}

/// The low-latency drive's small twin with one die, whose reads leave it a pause that is shorter than an erase step.
fn one_die() -> Device {
    let mut device = catalog::device("lowlatency-240g-small").unwrap();
    (device.geometry.channels, device.geometry.chips_per_channel) = (1, 1);
    device.timing.read_ns = vec![200 * US];
    device
}

/// One thread that reads, one that writes; each has one request outstanding. A write may wait for so long.
fn ending(overlay: &str, write_stall_s: u64) -> (Ending, u64) {
    let mut device = one_die();
    let (design, _) = catalog::fitted(&format!("base{overlay}"), &mut device, &Settings::default()).unwrap();
    let mut drive = Drive::new(&device, design, false, Log::default()).unwrap();
    drive.age(1, &[], |_, _| true);
    drive.wake();
    let thread = |kind, requests, endless| Stream {
        source: Box::new(Pages { kind, given: 0, requests }),
        pacing: Pacing::Closed { depth: 1 },
        timing: Timing::default(),
        endless,
    };
    let streams = vec![thread(CommandKind::Read, u64::MAX, true), thread(CommandKind::Write, 20_000, false)];
    let control = Control::default();
    control.set_write_stall_s(write_stall_s);
    let ending = play_streams(&mut drive, &mut Streams { streams, requests: u64::MAX }, 0, &control, |_| false);
    (ending, drive.counters().gc.erases)
}

#[test]
fn a_run_whose_writes_stall_ends_with_the_cause() {
    for (overlay, after_s) in [("+es", WRITE_STALL_S), ("+i-es", WRITE_STALL_S), ("+i-es", 5)] {
        let (ending, erases) = ending(overlay, after_s);
        let Ending::Stuck(why) = ending else { panic!("{overlay}: {ending:?} after {erases} erases") };
        // It is looked at every second.
        let seconds = why.strip_prefix("One of them, a write, has been in the device for ").and_then(|rest| rest.split(' ').next());
        let seconds: f64 = seconds.unwrap_or_else(|| panic!("{why}")).parse().unwrap();
        assert!((after_s as f64..=after_s as f64 + 1.1).contains(&seconds), "{why}");
        assert!(why.contains("while others went on; erases and programs were suspended"), "{why}");
        assert!(!why.contains("mask"), "which locks are taken stands apart: {why}");
    }
}

#[test]
fn a_run_whose_erases_are_deferred_or_timed_or_left_alone_comes_to_its_end() {
    for overlay in ["", "+d-es", "+t-es"] {
        let (ending, erases) = ending(overlay, WRITE_STALL_S);
        assert_eq!(ending, Ending::Complete, "{overlay}");
        assert!(erases > 50, "{overlay}: {erases}");
    }
}
