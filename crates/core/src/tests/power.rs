//! Losses of power at chosen instants, and recoveries that are wrong on purpose.

use super::*;
use crate::crash::power::PowerError;
use crate::ids::Pool;
use crate::techniques::gc_trigger::watermark::Watermark;

/// A drive with out-of-band data, with logical pages in plane 0 mapped.
fn prepared(device: &Device, design: Design, lpns: &[Lpn]) -> TestDrive {
    let mut drive = drive(device, design);
    drive.map_functionally(lpns.iter().copied());
    drive.prepare_for_power_cuts();
    drive.wake();
    drive
}

fn buffered(pages: u32) -> Device {
    let mut device = tiny_device();
    device.ram.buffer_kib = pages * 4;
    device
}

/// What is wrong after a loss of power: pages lost and stale.
fn wrong_after(drive: &mut TestDrive) -> (u64, u64) {
    let read_back = drive.cut_power().unwrap().read_back.unwrap();
    (read_back.lost, read_back.stale)
}

#[test]
fn a_program_that_is_cut_off_takes_its_page_once_the_array_works() {
    // Command and transfer take up to 101, the array from then to 1101.
    for (at, torn) in [(100, 0), (101, 0), (102, 1), (1100, 1), (1101, 0)] {
        let mut drive = prepared(&tiny_device(), no_gc(), &[0]);
        drive.at(0, write(0));
        drive.advance(at);
        let recovery = drive.cut_power().unwrap();
        assert_eq!((recovery.torn_pages, recovery.at), (torn, at));
        assert_eq!(recovery.requests_lost, u64::from(at < 1101), "it was acknowledged, or is lost");
        assert_eq!(drive.mismatch(), None, "{at}");
        // The next program goes on behind the torn page.
        let programmed = 1 + u32::from(torn > 0 || at == 1101);
        assert_eq!(drive.up.ftl.tables.next_offset(0, 0), programmed);
        let now = drive.now();
        drive.at(now, write(0));
        drive.run();
        assert_eq!((drive.up.ftl.tables.lookup(0), drive.mismatch()), (programmed, None));
    }
}

#[test]
fn an_erase_that_is_cut_off_is_done_again_and_nothing_of_its_block_comes_back() {
    // The victim's last page is moved, and its erase begins; five steps of 2000.
    let erase_begins = |drive: &TestDrive| drive.flash.die(0).phase == crate::flash::die::Phase::Erase;
    for (later, torn) in [(1, 0), (2, 1), (9000, 1)] {
        let mut drive = at_the_brink(&tiny_device(), plain_design(Scope::Plane), 2);
        drive.prepare_for_power_cuts();
        drive.at(0, write(0));
        while !erase_begins(&drive) {
            assert!(drive.step());
        }
        let (begun, victim) = (drive.now(), drive.up.ftl.gc.of_pool(Pool(0)).current.unwrap().group);
        drive.advance(begun + later);
        let erases = drive.up.ftl.tables.wear_of(victim);
        let recovery = drive.cut_power().unwrap();
        assert_eq!((recovery.torn_blocks, recovery.erases), (torn, torn));
        assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
        // Its own count was lost with it, and the mean of its plane is nearly that.
        assert!(drive.up.ftl.tables.wear_of(victim) <= erases + 1);
        drive.run();
        assert_eq!(drive.audit(), Ok(()));
    }
}

#[test]
fn a_plane_whose_reserve_gc_had_opened_gets_it_back() {
    // Plane 0 has seven blocks of four pages, all programmed, and its reserve. Of the first four blocks one page each is valid.
    let mut drive = drive(&tiny_device(), plain_design(Scope::Plane));
    drive.map_functionally((0..16).map(|index| 2 * index));
    drive.map_functionally([0, 2, 4, 8, 10, 12, 16, 18, 20, 24, 26, 28]);
    assert_eq!((drive.up.ftl.tables.erased_groups(Pool(0)), drive.up.ftl.tables.free_pages(0)), (1, 4));
    drive.prepare_for_power_cuts();
    drive.wake();
    while drive.up.ftl.gc.of_pool(Pool(0)).current.is_none_or(|current| current.moved == 0) {
        assert!(drive.step());
    }
    assert_eq!(drive.up.ftl.tables.erased_groups(Pool(0)), 0, "the copies are in the reserve");
    let recovery = drive.cut_power().unwrap();
    assert_eq!((recovery.torn_blocks, drive.up.ftl.tables.erased_groups(Pool(0))), (0, 1));
    assert!(recovery.erases > 0 && recovery.cleanup_ns > 10_000, "{recovery:?}");
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
    drive.run();
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

#[test]
fn a_copy_of_gc_never_comes_before_a_later_write() {
    // Page 1 is copied; while the copy is programmed, the host's new data of it are programmed in the other plane.
    let mut device = tiny_device();
    device.timing.program_ns = vec![1000];
    let mut design = plain_design(Scope::Plane);
    design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(50.0, 25.0));
    design.gc = toml::from_str("copy = \"controller\"\ndestination = \"plane\"").unwrap();
    let mut drive = at_the_brink(&device, design, 2);
    drive.prepare_for_power_cuts();
    drive.at(0, write(0));
    // The victim's pages are moved, and every one of them is written again as soon as its copy is on the flash.
    for lpn in [0, 2, 4, 6] {
        let now = drive.now();
        drive.at(now, write(lpn));
        for _ in 0..6 {
            drive.step();
        }
        assert_eq!(wrong_after(&mut drive), (0, 0), "{:?}", drive.mismatch());
    }
    drive.run();
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

#[test]
fn what_is_in_the_buffer_or_on_its_way_stays_there() {
    let device = buffered(4);
    let mut drive = prepared(&device, no_gc(), &[0, 2, 4]);
    for lpn in [0, 2, 4, 6] {
        drive.at(0, write(lpn));
    }
    drive.advance(600);
    assert!(drive.up.up.raid.buffer.in_flight() > 0, "pages are on their way");
    let recovery = drive.cut_power().unwrap();
    assert_eq!((recovery.ram_pages, recovery.requests_lost, drive.mismatch()), (4, 0, None));
    // The restored pages lie in both dies, two in each: array 10, command and transfer 101.
    assert_eq!(recovery.restore_ns, 2 * 111);
    drive.run();
    let now = drive.now();
    let id = drive.at(now, read(6));
    drive.run();
    assert!(drive.finished_at(id).is_some() && drive.mismatch().is_none());
}

#[test]
fn the_time_of_a_scan_is_that_of_the_busiest_die_or_channel() {
    // 5 of the 32 pages of plane 0 are programmed: blocks of 4, 1 and 0 pages, so that 4 + 2 + 6 pages are read; 8 in plane 1.
    let drive = |planes: u32, multi: bool| {
        let mut device = one_channel(2 / planes, planes);
        device.flash.multi_plane_read = multi;
        let mut drive = prepared(&device, no_gc(), &[0, 2, 4, 6, 8]);
        drive.cut_power().unwrap()
    };
    // Command 1 and a 256th of 100 for 16 bytes, rounded up: 2 for each page; arrays take 10.
    let apart = drive(1, false);
    assert_eq!((apart.pages_scanned, apart.scan_ns), (20, 12 * 12));
    let together = drive(2, false);
    assert_eq!(together.scan_ns, 20 * 12, "one die has both planes");
    assert_eq!(drive(2, true).scan_ns, 12 * 10 + 20 * 2, "pages of both planes at a time");
    assert_eq!((apart.cleanup_ns, apart.restore_ns), (0, 0));
}

#[test]
fn a_page_that_was_given_up_does_not_come_back() {
    for fault in [None, Some(Fault::Trims)] {
        let mut drive = prepared(&tiny_device(), no_gc(), &[0, 2]);
        drive.at(0, Command { kind: CommandKind::Trim, ..read(2) });
        drive.run();
        if let Some(fault) = fault {
            drive.inject(fault);
        }
        let expected = if fault.is_some() { (0, 1) } else { (0, 0) };
        assert_eq!(wrong_after(&mut drive), expected, "{:?}", drive.mismatch());
        assert_eq!(drive.mismatch().is_some(), fault.is_some());
    }
}

#[test]
fn a_page_written_after_it_was_given_up_is_there() {
    let mut drive = prepared(&tiny_device(), no_gc(), &[0, 2]);
    drive.at(0, Command { kind: CommandKind::Trim, ..read(2) });
    drive.at(10, write(2));
    drive.run();
    assert_eq!(wrong_after(&mut drive), (0, 0));
    assert_ne!(drive.up.ftl.tables.lookup(2), NONE);
}

/// The check can fail: a recovery that trusts the first copy that it finds is caught.
#[test]
fn a_recovery_that_takes_the_first_copy_found_is_caught() {
    for fault in [None, Some(Fault::FirstCopy)] {
        let mut drive = prepared(&tiny_device(), no_gc(), &[0, 2, 4]);
        for lpn in [0, 4] {
            drive.at(0, write(lpn));
        }
        drive.run();
        if let Some(fault) = fault {
            drive.inject(fault);
        }
        assert_eq!(wrong_after(&mut drive), if fault.is_some() { (0, 2) } else { (0, 0) });
        assert!(drive.mismatch().is_none_or(|what| what.contains("an older one")), "{:?}", drive.mismatch());
        assert_eq!(drive.mismatch().is_some(), fault.is_some());
    }
}

/// The same for one that loses the write buffer.
#[test]
fn a_recovery_without_the_buffer_is_caught() {
    let mut drive = prepared(&buffered(4), no_gc(), &[0, 2]);
    for lpn in [2, 6] {
        drive.at(0, write(lpn));
    }
    drive.advance(50);
    drive.inject(Fault::Ram);
    assert_eq!(wrong_after(&mut drive), (1, 1), "page 6 was never on the flash, page 2 is there with its former data");
}

#[test]
fn a_drive_that_was_not_prepared_says_so() {
    let mut drive = drive(&tiny_device(), no_gc());
    assert_eq!(drive.cut_power(), Err(PowerError::NotPrepared));
}
