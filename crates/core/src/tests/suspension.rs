//! Suspending and resuming erases and programs.

use super::*;

/// A read that comes `into` the erase of a GC; returns when it completes, and when the GC has ended.
fn read_during_erase(answer: Suspension, into: Ns) -> (Ns, Ns, TestDrive) {
    let mut design = plain_design(Scope::Plane);
    design.suspend = SuspendPolicy::Custom(Box::new(Answers(answer)));
    let mut drive = at_the_brink(&one_channel(1, 1), design, 1);
    // Page 0 is the victim's only valid one and dies with this write: the erase starts at 1101, its array at 1102.
    drive.at(0, write(0));
    let id = drive.at(1102 + into, read(0));
    drive.run();
    let ended = drive.counters().gc.took_ns + 1101;
    (drive.finished_at(id).unwrap() - 1102, ended - 1102, drive)
}

#[test]
fn an_erase_that_is_not_suspended_keeps_a_read_to_its_end() {
    assert_eq!(read_during_erase(Suspension::No, 500).0, 10_000 + 111);
}

#[test]
fn suspending_anywhere_keeps_the_progress() {
    let (read, erased, drive) = read_during_erase(Suspension::Now(Keep::Progress, Serve::UntilNoneWaits), 500);
    // Suspend 30, read 111, resume 40, then the other 9500.
    assert_eq!(read, 500 + 30 + 111);
    assert_eq!(erased, 500 + 30 + 111 + 40 + 9500);
    assert_eq!(drive.counters().flash.suspensions, 1);
    assert_eq!(drive.counters().flash.discarded_ns, 0);
}

#[test]
fn suspending_a_step_discards_it() {
    let (read, erased, drive) = read_during_erase(Suspension::Now(Keep::Steps, Serve::UntilNoneWaits), 2500);
    assert_eq!(read, 2500 + 30 + 111);
    // One step is kept; 500 of the second are lost. It begins anew, with its ramp inside its own time.
    assert_eq!(erased, 2500 + 30 + 111 + 8000);
    assert_eq!(drive.counters().flash.discarded_ns, 500);
}

#[test]
fn a_step_that_ends_before_it_could_be_cut_counts() {
    let (read, erased, drive) = read_during_erase(Suspension::Now(Keep::Steps, Serve::UntilNoneWaits), 1971);
    assert_eq!(read, 2000 + 111);
    assert_eq!(erased, 2000 + 111 + 8000);
    assert_eq!(drive.counters().flash.discarded_ns, 0);
    let (read, _, drive) = read_during_erase(Suspension::Now(Keep::Steps, Serve::UntilNoneWaits), 1969);
    assert_eq!(read, 1969 + 30 + 111);
    assert_eq!(drive.counters().flash.discarded_ns, 1969);
}

#[test]
fn a_verify_pulse_precedes_a_step_that_is_repeated_and_no_other() {
    let erased = |keep: Keep, into: &[Ns]| {
        let mut device = one_channel(1, 1);
        device.timing.verify_ns = 7;
        let mut design = plain_design(Scope::Plane);
        design.suspend = SuspendPolicy::Custom(Box::new(Answers(Suspension::Now(keep, Serve::UntilNoneWaits))));
        let mut drive = at_the_brink(&device, design, 1);
        drive.at(0, write(0));
        for &into in into {
            drive.at(1102 + into, read(0));
        }
        drive.run();
        drive.counters().gc.took_ns - 1
    };
    assert_eq!(erased(Keep::Steps, &[2500]), 2500 + 30 + 111 + 7 + 8000);
    assert_eq!(erased(Keep::Progress, &[2500]), 2500 + 30 + 111 + 40 + 7500, "nothing was discarded");
    // The read at 2645 is served at the end of the verify pulse, which is due again because its step has not begun.
    assert_eq!(erased(Keep::Steps, &[2500, 2645]), 2648 + 111 + 7 + 8000);
    // Nothing of the first step is done yet.
    assert_eq!(erased(Keep::Steps, &[0]), 30 + 111 + 10_000);
    // At 1985 the step ends before it could be cut: nothing is repeated.
    assert_eq!(erased(Keep::Steps, &[1985]), 2000 + 111 + 8000);
}

#[test]
fn deferring_waits_for_the_end_of_the_step() {
    let (read, erased, drive) = read_during_erase(Suspension::AtBoundary(Serve::Arrived), 500);
    assert_eq!(read, 2000 + 111);
    assert_eq!(erased, 2000 + 111 + 8000);
    assert_eq!(drive.counters().flash.suspensions, 1);
    let (read, ..) = read_during_erase(Suspension::AtBoundary(Serve::Arrived), 8500);
    assert_eq!(read, 10_000 + 111, "the last step's end is the erase's");
}

/// Suspends at once from a given time on.
struct From(Ns);

impl Suspend for From {
    fn suspend(&mut self, view: View<'_>, _: DieIx) -> Suspension {
        if view.now() >= self.0 { Suspension::Now(Keep::Progress, Serve::UntilNoneWaits) } else { Suspension::AskAt(self.0) }
    }
}

#[test]
fn a_policy_is_asked_again_when_it_said_so() {
    let mut design = plain_design(Scope::Plane);
    design.suspend = SuspendPolicy::Custom(Box::new(From(4000)));
    let mut drive = at_the_brink(&one_channel(1, 1), design, 1);
    drive.at(0, write(0));
    let id = drive.at(2000, read(0));
    drive.expect_completion(id, 4000 + 30 + 111);
}

#[test]
fn a_lock_is_released_while_the_erase_is_suspended() {
    let mut design = plain_design(Scope::Die);
    design.suspend = SuspendPolicy::Custom(Box::new(Answers(Suspension::Now(Keep::Progress, Serve::UntilNoneWaits))));
    let mut drive = at_the_brink(&one_channel(1, 2), design, 1);
    drive.map_functionally([1]);
    drive.at(0, write(0));
    let sibling = drive.at(3000, read(1));
    drive.expect_completion(sibling, 3000 + 30 + 111);
}

#[test]
fn a_program_can_be_suspended_as_well() {
    let mut design = no_gc();
    design.suspend = SuspendPolicy::Custom(Box::new(Answers(Suspension::Now(Keep::Progress, Serve::UntilNoneWaits))));
    let mut drive = drive(&one_channel(1, 1), design);
    drive.map_functionally([0]);
    let written = drive.at(0, write(1));
    let id = drive.at(301, read(0));
    drive.expect_completion(id, 301 + 30 + 111);
    drive.expect_completion(written, 1101 + 30 + 111 + 40);
    assert_eq!(drive.attribution_of(written).get(DIE + TrafficClass::HostProgramSuspend as usize), 30 + 111 + 40);
}

#[test]
fn a_wait_for_a_suspension_belongs_to_whose_operation_makes_way() {
    use TrafficClass::{GcSuspend, HostProgramSuspend};
    let answer = || SuspendPolicy::Custom(Box::new(Answers(Suspension::Now(Keep::Progress, Serve::UntilNoneWaits))));
    let suspended = |drive: &TestDrive, id| [GcSuspend, HostProgramSuspend].map(|of| drive.attribution_of(id).get(DIE + of as usize));
    for (free, suspend_ns, resume_ns) in [(&[][..], 30, 40), (&[HostProgramSuspend], 30, 40), (&[GcSuspend], 0, 0)] {
        let design = Design { suspend: answer(), ..plain_design(Scope::Plane) };
        let mut drive = at_the_brink(&one_channel(1, 1), design, 1);
        drive.make_free(free);
        drive.at(0, write(0));
        let id = drive.at(1102 + 500, read(0));
        drive.expect_completion(id, 1602 + suspend_ns + 111);
        assert_eq!(suspended(&drive, id), [suspend_ns, 0], "of a GC's erase");
        drive.run();
        assert_eq!(drive.counters().gc.took_ns, 1 + 500 + suspend_ns + 111 + resume_ns + 9500);
    }
    for (free, suspend_ns) in [(&[][..], 30), (&[GcSuspend], 30), (&[HostProgramSuspend], 0)] {
        let mut drive = drive(&one_channel(1, 1), Design { suspend: answer(), ..no_gc() });
        drive.make_free(free);
        drive.map_functionally([0]);
        drive.at(0, write(1));
        let id = drive.at(301, read(0));
        drive.expect_completion(id, 301 + suspend_ns + 111);
        assert_eq!(suspended(&drive, id), [0, suspend_ns], "of the host's program");
    }
}

/// Suspending for a read that cannot be served, because another die's GC locks the channel, once went on for ever.
#[test]
fn nothing_is_suspended_for_a_read_that_a_lock_keeps_out_until_the_lock_is_given_up() {
    for (suspend_ns, resume_ns, keep) in [(0, 0, Keep::Progress), (30, 40, Keep::Steps)] {
        let mut device = one_channel(2, 1);
        device.timing.suspend_ns = suspend_ns;
        device.timing.resume_ns = resume_ns;
        let mut design = plain_design(Scope::Channel);
        design.suspend = SuspendPolicy::Custom(Box::new(Answers(Suspension::Now(keep, Serve::UntilNoneWaits))));
        let mut drive = at_the_brink(&device, design, 1);
        second_plane_at_the_brink(&mut drive);
        // Die 0 erases from about 1101; die 1's GC takes the channel at about 2150.
        drive.at(0, write(0));
        drive.at(1050, write(1));
        let id = drive.at(3000, read(0));
        for _ in 0..100_000 {
            if drive.finished_at(id).is_some() || !drive.step() {
                break;
            }
        }
        assert!(drive.finished_at(id).is_some(), "{}", drive.explain_standstill());
        // Die 1's GC moves two pages and gives up the channel with its erase.
        drive.expect_completion(id, 2151 + 2 * 1012 + suspend_ns.max(1) + 111);
        assert_eq!(drive.counters().flash.suspensions, 1);
    }
}

#[test]
fn a_read_that_suspends_a_host_program_is_not_blocked_by_gc() {
    let mut design = no_gc();
    design.suspend = SuspendPolicy::Custom(Box::new(Answers(Suspension::Now(Keep::Progress, Serve::UntilNoneWaits))));
    let mut drive = drive(&one_channel(1, 1), design);
    drive.map_functionally([0, 1]);
    drive.at(0, write(0));
    let id = drive.at(500, read(1));
    drive.run();
    assert!(!drive.completion_of(id).gc_blocked);
}
