//! GC in cycles: from the watermark at which it starts to the one at which it stops.

use super::*;
use crate::policy::GcTrigger;
use crate::techniques::gc_trigger::watermark::{Of, Watermark};

/// One die of some planes, of 16 blocks of four pages each, a quarter of which is live at first. GC starts below 27 pages of 64.
fn die(planes: u32) -> Device {
    let mut device = one_channel(1, planes);
    device.geometry.blocks_per_plane = 16;
    device.state.live_percent = 25;
    device
}

fn design(of: Of, stop_above_blocks: u32) -> Design {
    let mut design = plain_design(Scope::Die);
    design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(42.1875, 12.5).of(of).stop_above(stop_above_blocks));
    design.order = OrderPolicy::GcFirst(GcFirst {});
    design
}

/// A drive of which 37 pages of each plane are programmed, so that one more program makes it want GC: five blocks have as many valid
/// pages as `valid` says of their plane, all others are full of them.
fn at_the_brink_of_cycles(design: Design, valid: &[u32]) -> TestDrive {
    let planes = valid.len() as u32;
    let mut drive = drive(&die(planes), design);
    for (plane, valid) in valid.iter().enumerate() {
        let lpn = |index: u32| planes * index + plane as u32;
        drive.map_functionally((0..20).map(lpn));
        let stale = 4 - valid;
        drive.map_functionally((0..5).flat_map(|block| (0..stale).map(move |page| 4 * block + page)).map(lpn));
        drive.map_functionally((20..37 - 5 * stale).map(lpn));
        assert_eq!(drive.up.ftl.tables.free_pages(plane as u32), 27);
    }
    drive
}

#[test]
fn a_design_says_at_how_many_erased_pages_its_gc_starts() {
    assert_eq!(drive(&die(1), design(Of::Plane, 1)).design().trigger_pages(&die(1)), Some(27));
}

fn collected(drive: &TestDrive) -> (u64, u64) {
    (drive.counters().gc.cycles, drive.counters().gc.gcs)
}

#[test]
fn a_cycle_ends_at_its_stop_watermark_and_the_next_begins_below_the_start() {
    // To 26 pages each block adds one: the first is enough, or the fifth, which makes 31.
    for (stop, first) in [(0, (0, 1)), (1, (1, 5))] {
        let mut drive = at_the_brink_of_cycles(design(Of::Plane, stop), &[3]);
        drive.at(0, write(26));
        drive.run();
        assert_eq!(collected(&drive), first);
        let erased = 27 + 4 * stop;
        assert_eq!(drive.up.ftl.tables.free_pages(0), erased);
        // Down to the start nothing is collected, and one page further a cycle begins.
        for page in 0..4 * stop {
            drive.at(drive.now(), write(20 + page));
            drive.run();
            assert_eq!(collected(&drive), first, "{} pages are erased", drive.up.ftl.tables.free_pages(0));
        }
        drive.at(drive.now(), write(25));
        drive.run();
        assert_eq!(drive.counters().gc.cycles, 2 * u64::from(stop));
        assert!(drive.counters().gc.gcs > first.1);
        assert!(drive.up.ftl.tables.free_pages(0) >= erased);
        assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
    }
}

#[test]
fn between_two_blocks_of_a_cycle_the_order_decides_who_goes_on() {
    let finished = |order: OrderPolicy| {
        let mut design = design(Of::Plane, 1);
        design.order = order;
        let mut drive = at_the_brink_of_cycles(design, &[3]);
        drive.at(0, write(26));
        let id = drive.at(1200, read(20));
        drive.run();
        drive.finished_at(id).unwrap()
    };
    // The write ends at 1101. A block takes three copies of 1012 and an erase of 10001; a read 111.
    let block = 3 * 1012 + 10_001;
    assert_eq!(finished(OrderPolicy::ReadFirst(ReadFirst::default())), 1101 + block + 111);
    assert_eq!(finished(OrderPolicy::GcFirst(GcFirst {})), 1101 + 5 * block + 111);
}

#[test]
fn a_die_collects_one_block_after_the_other_from_whichever_plane_has_the_emptiest() {
    // 53 of the 54 pages at which it starts are erased. Until 58 are, plane 1's blocks add two each.
    let mut drive = at_the_brink_of_cycles(design(Of::Die, 1), &[3, 2]);
    drive.at(0, write(1));
    let mut both = false;
    while drive.step() {
        both |= drive.view().in_gc(0) && drive.view().in_gc(1);
    }
    assert!(!both, "two GCs of a die at a time");
    assert_eq!(collected(&drive), (1, 3));
    assert_eq!((drive.view().erases_of(0), drive.view().erases_of(1)), (0, 3));
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
    // Among equals the plane with fewer erased pages is next, so that they take turns.
    let mut drive = at_the_brink_of_cycles(design(Of::Die, 1), &[3, 3]);
    drive.at(0, write(1));
    drive.run();
    assert_eq!(collected(&drive), (1, 5));
    assert_eq!((drive.view().erases_of(0), drive.view().erases_of(1)), (2, 3));
}

#[test]
fn a_cycle_with_nothing_to_free_ends() {
    let mut drive = at_the_brink_of_cycles(design(Of::Plane, 2), &[3]);
    drive.at(0, write(26));
    drive.run();
    // 26 pages, of which the start wants 27 and the stop 35; six pages are stale.
    assert_eq!(collected(&drive), (1, 6));
    assert!(!drive.view().in_gc_cycle(crate::ids::Pool(0)));
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

#[test]
fn a_stop_watermark_that_the_drive_cannot_reach_is_refused() {
    let device = die(1);
    let error = Drive::new(&device, design(Of::Plane, 12), false, Recorder::of(&device)).err().unwrap().to_string();
    assert!(error.contains("[gc_trigger] `stop_above_blocks` lets GC go on until 75") && error.contains("0 to "), "{error}");
    let error = Watermark::new(42.1875, 12.5).stop_above(16).prepare(&die(1)).unwrap_err().to_string();
    assert!(error.contains("`stop_above_blocks` is 16") && error.contains("0 to 15"), "{error}");
}
