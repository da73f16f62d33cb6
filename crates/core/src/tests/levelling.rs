//! Wear levelling: stripes that move to other planes while the host goes on.

use super::*;
use crate::stripes::Place;
use crate::techniques::WearLevelPolicy;
use crate::techniques::place::rain::Rain;
use crate::techniques::wear_level::imbalance::Imbalance;
use crate::testkit::over_provisioning;
use tinytail_config::Decimal;

/// Four channels of two planes: two groups. Stripe 0 is in group 0, with pages 0, 1 and 2 on channels 0, 1 and 2.
fn levelling(migrate: bool, shift: bool) -> TestDrive {
    levelling_of(&tiny_device(), migrate, shift)
}

fn levelling_of(device: &Device, migrate: bool, shift: bool) -> TestDrive {
    levelling_with(device, Imbalance::new(migrate, shift, 200, 1, 20))
}

fn levelling_with(device: &Device, technique: Imbalance) -> TestDrive {
    let mut device = device.clone();
    (device.geometry.channels, device.geometry.dies_per_chip) = (4, 2);
    device.host.over_provisioning_percent = over_provisioning(40, 100);
    (device.ram.buffer_kib, device.ram.flush_above_percent) = (64, 0);
    let mut design = no_gc();
    design.place = PlacePolicy::Rain(Rain::new(4));
    design.wear_level = WearLevelPolicy::Imbalance(technique);
    let mut drive = drive(&device, design);
    drive.write_stripes_for_test(0..8);
    drive
}

fn planes_of_stripe_0(drive: &TestDrive) -> Vec<PlaneIx> {
    let stripes = drive.up.up.raid.rain.as_ref().unwrap().stripes();
    (0..4).map(|place| drive.up.ftl.tables.plane_of(drive.up.ftl.tables.lookup(stripes.page_in(0, place)))).collect()
}

#[test]
fn a_written_stripe_of_a_worn_group_migrates_and_stays_there() {
    let mut drive = levelling(true, true);
    assert_eq!(planes_of_stripe_0(&drive), [0, 2, 4, 6]);
    drive.up.ftl.gc.plane_erases_for_test()[2] = 16;
    drive.at(0, write(1));
    drive.run();
    // Behind the parity on channel 3 follow the pages.
    assert_eq!(planes_of_stripe_0(&drive), [1, 3, 5, 7]);
    let counters = drive.counters();
    assert_eq!((counters.raid.stripes_migrated, counters.raid.stripes_shifted, counters.raid.levelled_pages), (1, 0, 4));
    drive.audit().unwrap();
    let id = drive.at(50_000, read(1));
    drive.expect_completion(id, 50_111);
    drive.at(60_000, write(0));
    drive.run();
    assert_eq!(planes_of_stripe_0(&drive), [1, 3, 5, 7]);
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

#[test]
fn a_stripe_is_shifted_away_from_the_worn_planes_of_its_group() {
    let mut drive = levelling(false, true);
    // Channels 1 and 3, which page 1 and the parity are on.
    (drive.up.ftl.gc.plane_erases_for_test()[2], drive.up.ftl.gc.plane_erases_for_test()[6]) = (4, 4);
    drive.at(0, write(1));
    drive.run();
    assert_eq!(planes_of_stripe_0(&drive), [2, 4, 6, 0]);
    assert_eq!((drive.counters().raid.stripes_shifted, drive.counters().raid.stripes_migrated), (1, 0));
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

#[test]
fn what_chance_explains_moves_nothing() {
    let mut drive = levelling(true, true);
    drive.up.ftl.gc.plane_erases_for_test()[2] = 2;
    drive.at(0, write(1));
    drive.run();
    assert_eq!((planes_of_stripe_0(&drive), drive.counters().raid.levelled_pages), (vec![0, 2, 4, 6], 0));
}

/// The power fails after each event of a write and the move that follows it: the stripe lies in one place as a whole, at the former
/// one until the last of it has been programmed.
#[test]
fn a_stripe_is_in_one_place_whenever_the_power_fails() {
    let (home, moved) = ([0, 2, 4, 6], [1, 3, 5, 7]);
    let drive_after = |events: usize| {
        let mut drive = levelling(true, true);
        drive.prepare_for_power_cuts();
        drive.up.ftl.gc.plane_erases_for_test()[2] = 16;
        drive.at(0, write(1));
        let ended = (0..events).any(|_| !drive.step());
        (drive, ended)
    };
    let cut = |drive: &mut TestDrive| {
        let read_back = drive.cut_power().unwrap().read_back.unwrap();
        assert_eq!((read_back.lost, read_back.stale, drive.audit()), (0, 0, Ok(())), "{:?}", drive.mismatch());
        planes_of_stripe_0(drive)
    };
    for events in 0.. {
        let (mut drive, ended) = drive_after(events);
        let was_moved = drive.counters().raid.stripes_migrated > 0;
        let planes = cut(&mut drive);
        assert!(planes == home || was_moved && planes == moved, "{planes:?} after {events} events");
        if ended {
            assert!(was_moved);
            break;
        }
    }
    // What has been written at the new place is nowhere else.
    let (mut drive, _) = drive_after(1000);
    let now = drive.now();
    drive.at(now, write(0));
    drive.run();
    assert_eq!(cut(&mut drive), moved);
    assert_eq!(drive.up.up.raid.rain.as_ref().unwrap().stripes().table_entries(), 1);
}

#[test]
fn what_is_written_meanwhile_follows_the_stripe() {
    let mut drive = levelling(true, true);
    drive.up.ftl.gc.plane_erases_for_test()[2] = 16;
    drive.at(0, write(1));
    // The write is on the flash at 111 + 3000 + 1101; then the move reads.
    drive.advance(4250);
    assert!(drive.up.up.raid.levelling.is_moving());
    drive.at(4250, write(2));
    let id = drive.at(4300, read(2));
    drive.expect_completion(id, 4303);
    drive.run();
    assert!(!drive.up.up.raid.levelling.is_moving());
    assert_eq!(planes_of_stripe_0(&drive), [1, 3, 5, 7]);
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

/// The table has an entry of eight bytes for each moved stripe, so one of 1 KiB has 128.
#[test]
fn a_full_stripe_table_lets_no_more_stripes_move() {
    let mut device = tiny_device();
    (device.geometry.blocks_per_plane, device.ram.stripe_table_kib) = (64, Some(1));
    for (entries, moved) in [(127, true), (128, false)] {
        let mut drive = levelling_of(&device, true, true);
        let stripes = drive.up.up.raid.rain.as_mut().unwrap().stripes_for_test();
        for stripe in 20..20 + entries {
            let place = stripes.place_of_stripe(stripe);
            stripes.set_place(stripe, Place { group: 1 - place.group, ..place });
        }
        drive.reset_counters();
        drive.up.ftl.gc.plane_erases_for_test()[2] = 16;
        drive.at(0, write(1));
        drive.run();
        assert_eq!(planes_of_stripe_0(&drive) == [1, 3, 5, 7], moved);
        let counters = drive.counters();
        assert_eq!((counters.raid.stripes_migrated, counters.raid.moves_refused), (u64::from(moved), u64::from(!moved)));
        assert_eq!(counters.raid.moved_stripes_max, 128);
    }
}

/// Reads of page 1 wait at its old plane, in which another is being served, when the stripe has moved.
#[test]
fn a_read_that_waits_when_its_stripe_moves_is_served_at_the_new_place() {
    let mut drive = levelling(true, true);
    drive.up.ftl.gc.plane_erases_for_test()[2] = 16;
    drive.at(0, write(1));
    // The move reads, programs pages and parity, and is over when the last program is: all planes of group 1 at once.
    drive.advance(4250);
    assert!(drive.up.up.raid.levelling.is_moving());
    let mut now = 4250;
    while drive.up.up.raid.levelling.is_moving() {
        // Two reads at a time in the old plane, so that one always waits.
        drive.at(now, read(1));
        drive.at(now, read(1));
        now += 50;
        drive.advance(now);
    }
    let waiting = |plane: u32| drive.flash.first_waiting(plane, Class::HostRead) != NONE;
    assert!(!waiting(2) && waiting(3), "reads of page 1 wait at its new plane");
    drive.run();
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

/// A plane has 32 pages, of which two blocks of four are GC's and the write point's, one is left over and one page is for the
/// copy; each group has 17 stripes.
#[test]
fn a_group_takes_stripes_as_long_as_its_planes_have_room_for_all_of_them() {
    for (more, moved) in [(1, true), (2, false)] {
        let mut drive = levelling(true, false);
        let stripes = drive.up.up.raid.rain.as_mut().unwrap().stripes_for_test();
        assert_eq!(stripes.stripes_in(1), 17);
        for stripe in [20, 22].into_iter().take(more) {
            stripes.set_place(stripe, Place { group: 1, parity_channel: 0 });
        }
        drive.up.ftl.gc.plane_erases_for_test()[2] = 16;
        drive.at(0, write(1));
        drive.run();
        assert_eq!(planes_of_stripe_0(&drive) == [1, 3, 5, 7], moved);
        assert_eq!(drive.counters().raid.moves_without_room, u64::from(!moved));
    }
}

/// While its stripe moves, a page's copy at the new place bears another number. A GC, or a scrubber, may read it there.
#[test]
fn the_errors_of_a_copy_are_the_same_before_and_after_the_move_has_ended() {
    let mut device = tiny_device();
    device.errors = Some(crate::device::Errors {
        fresh_rber: Decimal::of_units(600_000_000),
        rated_rber: Decimal::of_units(600_000_000),
        rated_erases: 1000,
        exponent: Decimal::of_units(100),
        erases_before: 0,
        codeword_bytes: 512,
        correctable_bits: 100,
        percent_per_1000_suspensions: Decimal::default(),
    });
    let mut drive = levelling_of(&device, true, true);
    drive.up.ftl.gc.plane_erases_for_test()[2] = 16;
    drive.at(0, write(1));
    drive.advance(4250);
    let stripes = drive.up.up.raid.rain.as_ref().unwrap().stripes().clone();
    let ppn = |drive: &TestDrive, lpn: Lpn| drive.up.ftl.tables.lookup(lpn);
    let mut seen = [None; 4];
    while drive.up.up.raid.levelling.is_moving() {
        for place in 0..4 {
            let number = stripes.page_on_the_move(place);
            let copy = ppn(&drive, number);
            if copy != NONE {
                seen[place as usize] = Some((copy, drive.up.up.raid.find_errors(&drive.up.ftl.tables, number, copy)));
            }
        }
        drive.step();
    }
    for place in 0..4 {
        let page = stripes.page_in(0, place);
        let copy = ppn(&drive, page);
        if let Some(seen) = seen[place as usize] {
            assert_eq!(seen, (copy, drive.up.up.raid.find_errors(&drive.up.ftl.tables, page, copy)));
        }
    }
    assert!(seen.iter().flatten().count() >= 2, "copies were there before the move ended: {seen:?}");
    drive.run();
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

/// Fills group 1 as far as it can be, and wears plane 2, which page 1 is in.
fn fill_the_other_group(drive: &mut TestDrive) {
    let stripes = drive.up.up.raid.rain.as_mut().unwrap().stripes_for_test();
    [20, 22].into_iter().for_each(|stripe| stripes.set_place(stripe, Place { group: 1, parity_channel: 0 }));
    drive.up.ftl.gc.plane_erases_for_test()[2] = 16;
}

#[test]
fn a_stripe_that_finds_no_room_in_another_group_is_shifted_in_its_own() {
    let mut drive = levelling(true, true);
    fill_the_other_group(&mut drive);
    drive.at(0, write(1));
    drive.run();
    let planes = planes_of_stripe_0(&drive);
    assert!(planes.iter().all(|plane| plane % 2 == 0) && planes[1] != 2 && planes[3] != 2, "{planes:?}");
    let counters = drive.counters();
    assert_eq!((counters.raid.stripes_shifted, counters.raid.moves_to_other_places, counters.raid.moves_without_room), (1, 1, 0));
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

/// Stripe 0 is written at 4212, and stripe 2 of the same group as long after its own request.
#[test]
fn stripes_rest_after_a_move_and_not_after_one_that_found_no_room() {
    let asked_again = |second: Ns, full: bool| {
        let mut drive = levelling_with(&tiny_device(), Imbalance::new(true, false, 200, 1000, 1));
        if full {
            fill_the_other_group(&mut drive);
        }
        drive.up.ftl.gc.plane_erases_for_test()[2] = 1600;
        drive.at(0, write(1));
        drive.advance(20_000);
        if full {
            let stripes = drive.up.up.raid.rain.as_mut().unwrap().stripes_for_test();
            [20, 22].into_iter().for_each(|stripe| stripes.set_place(stripe, Place { group: 0, parity_channel: 0 }));
        }
        drive.at(second, write(7));
        drive.run();
        (drive.counters().raid.moves_without_room, drive.counters().raid.stripes_migrated)
    };
    assert_eq!((asked_again(999_999, false), asked_again(1_000_000, false)), ((0, 1), (0, 2)));
    assert_eq!(asked_again(30_000, true), (1, 1), "one found no room, the other moved");
}

/// The first operations that wait in a plane, by their classes, and as what `order` sees them.
fn seen_by_order(drive: &TestDrive, plane: PlaneIx) -> Vec<(Class, Class)> {
    let classes = [Class::HostRead, Class::Background].into_iter();
    let waiting = classes.filter(|&class| drive.flash.waiting(plane, class).next().is_some());
    let die = drive.flash.die_of(plane);
    let seen = |class| (class, drive.candidate(die, drive.flash.bit(plane, class).trailing_zeros() as usize).class);
    waiting.map(seen).collect()
}

/// Reads of page 1 keep its die busy without a gap. Its stripe's move, which begins at 4212, reads page 1 when its patience is
/// over, and programs it in plane 3, whose die is busy as well.
#[test]
fn a_move_on_dies_that_never_rest_goes_on_when_its_patience_is_over() {
    for (patience_us, ends_by) in [(1_000_000, Ns::MAX), (30, 4212 + 30_000 + 6000)] {
        let mut drive = levelling_with(&tiny_device(), Imbalance::new(true, true, 200, 1, patience_us));
        drive.up.ftl.gc.plane_erases_for_test()[2] = 16;
        // Pages 1 and 4 are in planes 2 and 3.
        assert_eq!([1, 4].map(|lpn| drive.up.ftl.tables.plane_of(drive.up.ftl.tables.lookup(lpn))), [2, 3]);
        drive.at(0, write(1));
        drive.advance(4100);
        let mut ended = Ns::MAX;
        let mut last = [(0, 0); 2];
        for (id, lpn) in last.iter_mut().zip([1, 4]) {
            *id = (drive.at(4100, read(lpn)), drive.at(4100, read(lpn)));
        }
        let (mut began, mut seen) = (false, Vec::new());
        while drive.now() < 200_000 {
            drive.step();
            seen.extend((0..drive.flash.device.geometry.planes()).flat_map(|plane| seen_by_order(&drive, plane)));
            began |= drive.up.up.raid.levelling.is_moving();
            if began && !drive.up.up.raid.levelling.is_moving() {
                ended = ended.min(drive.now());
            }
            let now = drive.now();
            for (ids, lpn) in last.iter_mut().zip([1, 4]) {
                // Two reads of each at any time.
                if drive.finished_at(ids.0).is_some() {
                    *ids = (ids.1, drive.at(now, read(lpn)));
                }
            }
        }
        assert!(began);
        let hurries = ends_by != Ns::MAX;
        assert!(seen.contains(&(Class::Background, Class::Background)) && seen.contains(&(Class::HostRead, Class::HostRead)));
        // What waits is the program.
        assert_eq!(seen.contains(&(Class::Background, Class::Flush)), hurries);
        assert_eq!(drive.counters().raid.moves_hurried, u64::from(ends_by != Ns::MAX));
        assert!(ended > 4212 + 30_000, "the dies are never idle, so nothing moves before: {ended}");
        assert!(ended <= ends_by, "{ended}");
        drive.run();
        assert_eq!((drive.counters().raid.stripes_migrated, drive.mismatch(), drive.audit()), (1, None, Ok(())));
    }
}
