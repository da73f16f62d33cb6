//! Dynamic allocation, and GC that leaves its plane.

use super::*;
use crate::techniques::place::idle_die::IdleDie;
use crate::techniques::place::static_order::StaticOrder;

fn dynamic(mut design: Design) -> Design {
    design.place = PlacePolicy::IdleDie(IdleDie::default());
    design
}

fn across() -> Design {
    let mut design = dynamic(plain_design(Scope::Plane));
    design.gc = toml::from_str("copy = \"controller\"\ndestination = \"drive\"").unwrap();
    design
}

#[test]
fn a_write_goes_past_a_busy_die_and_reads_follow_it() {
    let finish = |design: Design| {
        let mut drive = drive(&tiny_device(), design);
        drive.map_functionally([0, 2]);
        let busy = drive.at(0, write(0));
        // Statically, pages 0 and 2 share plane 0.
        let id = drive.at(1, write(2));
        drive.run();
        let read = drive.at(10_000, read(2));
        drive.run();
        assert_eq!(drive.mismatch(), None);
        (drive.finished_at(busy).unwrap(), drive.finished_at(id).unwrap(), drive.finished_at(read).unwrap())
    };
    assert_eq!(finish(no_gc()), (1101, 2202, 10_111));
    assert_eq!(finish(dynamic(no_gc())), (1101, 1102, 10_111));
}

#[test]
fn writes_that_meet_nobody_take_as_long_as_in_a_static_layout() {
    let finish = |design: Design| {
        let mut drive = drive(&tiny_device(), design);
        let ids: Vec<u64> = (0..6).map(|lpn| drive.at(u64::from(lpn) * 5000, write(lpn))).collect();
        drive.run();
        ids.into_iter().map(|id| drive.finished_at(id).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(finish(no_gc()), finish(dynamic(no_gc())));
}

#[test]
fn part_of_a_page_is_merged_with_the_copy_in_another_plane() {
    let mut drive = drive(&tiny_device(), dynamic(no_gc()));
    drive.map_functionally([0]);
    let busy = drive.at(0, read(0));
    let id = drive.at(1, Command { kind: CommandKind::Write, sector: 2, sectors: 2, critical: false });
    drive.expect_completion(busy, 111);
    drive.run();
    assert!(drive.finished_at(id).is_some());
    assert_eq!(drive.counters().ftl.host_pages_cross_plane, 1);
    drive.at(10_000, read(0));
    drive.run();
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

/// Plane 0 at the brink, its victim with three live pages; the other plane holds `others` live pages.
fn gc_with_neighbour(others: u32) -> TestDrive {
    let mut drive = drive(&tiny_device(), across());
    let mut put = |plane: PlaneIx, lpn: Lpn| {
        let ppn = drive.up.ftl.tables.take(plane, 0, crate::ftl::Claimant::Gc).unwrap();
        drive.up.ftl.tables.commit_write(lpn, ppn);
        drive.up.oracle.as_mut().unwrap().aged(lpn, ppn);
    };
    (0..others).for_each(|index| put(1, 16 + index));
    (0..16).chain([0]).for_each(|lpn| put(0, lpn));
    drive.wake();
    drive.run();
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
    drive
}

#[test]
fn gc_moves_pages_to_a_plane_with_fewer_live_ones_and_else_stays_at_home() {
    let sparse = gc_with_neighbour(0);
    assert_eq!((sparse.counters().gc.gcs, sparse.counters().gc.pages, sparse.counters().gc.pages_cross_plane), (1, 3, 3));
    let dense = gc_with_neighbour(16);
    assert_eq!((dense.counters().gc.gcs, dense.counters().gc.pages, dense.counters().gc.pages_cross_plane), (1, 3, 0));
}

#[test]
fn a_gc_that_cannot_leave_its_plane_is_refused_with_the_reason() {
    type Change = fn(&mut Design);
    let changes: [(Change, &str); 4] = [
        (|design| design.gc = toml::from_str("destination = \"drive\"").unwrap(), "`copy`"),
        (|design| design.gc.ideal = true, "`ideal`"),
        (|design| design.place = PlacePolicy::Static(StaticOrder::default()), "`policy` = \"static\""),
        (|design| design.gc_lock = GcLockPolicy::Preemptible(Preemptible::new(Scope::Channel, Until::Urgent)), "`scope`"),
    ];
    for (change, key) in changes {
        let mut design = across();
        change(&mut design);
        let error = design.prepare(&tiny_device()).unwrap_err().to_string();
        assert!(error.contains("`destination`") && error.contains(key), "{error}");
    }
    across().prepare(&tiny_device()).unwrap();
}
