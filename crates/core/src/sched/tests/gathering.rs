//! Strict multi-plane programs.

use super::*;
use crate::policy::join::strict_all_planes::StrictAllPlanes;

fn strict() -> TestDrive {
    let mut design = no_gc();
    design.join = JoinPolicy::StrictAllPlanes(StrictAllPlanes::new(5));
    drive(&one_channel(1, 2), design)
}

#[test]
fn a_program_waits_for_one_of_each_plane_and_all_start_together() {
    let mut drive = strict();
    let first = drive.at(0, write(0));
    let second = drive.at(700, write(1));
    drive.expect_completion(first, 700 + 2 + 200 + 1000);
    assert_eq!(drive.finished_at(second), drive.finished_at(first));
    assert_eq!((drive.counters().joined, drive.counters().padded_pages), (1, 0));
    // The wait is the policy's.
    assert_eq!(drive.blame_of(first).get(CHANNEL + crate::observe::CHANNEL_IDLE), 700);
}

#[test]
fn the_missing_plane_is_padded_when_the_wait_is_over() {
    let mut drive = strict();
    let first = drive.at(0, write(0));
    drive.expect_completion(first, 5000 + 1101);
    assert_eq!(drive.counters().padded_pages, 1);
    assert_eq!(drive.view().books().next_offset(0, 0), drive.view().books().next_offset(1, 0));
    drive.audit().unwrap();
}

#[test]
fn a_write_point_that_lags_behind_is_padded_and_reads_do_not_wait() {
    let mut drive = strict();
    drive.map_functionally([0, 2, 4]);
    drive.at(0, write(0));
    drive.at(0, write(1));
    let read = drive.at(2000, read(2));
    drive.expect_completion(read, 2111);
    // Plane 0 stood at offset 3, plane 1 at 0.
    assert_eq!((drive.counters().joined, drive.counters().padded_pages), (1, 3));
    drive.audit().unwrap();
}
