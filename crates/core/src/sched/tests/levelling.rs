//! Wear levelling: stripes that move to other planes while the host goes on.

use super::*;
use crate::ftl::rain::Place;
use crate::policy::WearLevelPolicy;
use crate::policy::place::rain::Rain;
use crate::policy::wear_level::imbalance::Imbalance;

/// Four channels of two planes: two groups. Stripe 0 is in group 0, with pages 0, 1 and 2 on channels 0, 1 and 2.
fn levelling(migrate: bool, shift: bool) -> TestDrive {
    levelling_of(&tiny_device(), migrate, shift)
}

fn levelling_of(device: &Device, migrate: bool, shift: bool) -> TestDrive {
    let mut device = device.clone();
    (device.geometry.channels, device.geometry.dies_per_chip) = (4, 2);
    device.host.logical_permyriad = 4000;
    (device.ram.buffer_kib, device.ram.flush_above_percent) = (64, 0);
    let mut design = no_gc();
    design.place = PlacePolicy::Rain(Rain::new(4));
    design.wear_level = WearLevelPolicy::Imbalance(Imbalance::new(migrate, shift, 200, 1));
    let mut drive = drive(&device, design);
    drive.write_stripes_for_test(0..8);
    drive
}

fn planes_of_stripe_0(drive: &TestDrive) -> Vec<PlaneIx> {
    let stripes = &drive.state.rain.as_ref().unwrap().stripes;
    (0..4).map(|place| drive.state.books.plane_of(drive.state.books.lookup(stripes.page_in(0, place)))).collect()
}

#[test]
fn a_written_stripe_of_a_worn_group_migrates_and_stays_there() {
    let mut drive = levelling(true, true);
    assert_eq!(planes_of_stripe_0(&drive), [0, 2, 4, 6]);
    drive.state.plane_erases[2] = 16;
    drive.at(0, write(1));
    drive.run();
    // Behind the parity on channel 3 follow the pages.
    assert_eq!(planes_of_stripe_0(&drive), [1, 3, 5, 7]);
    let counters = *drive.counters();
    assert_eq!((counters.stripes_migrated, counters.stripes_shifted, counters.levelled_pages), (1, 0, 4));
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
    (drive.state.plane_erases[2], drive.state.plane_erases[6]) = (4, 4);
    drive.at(0, write(1));
    drive.run();
    assert_eq!(planes_of_stripe_0(&drive), [2, 4, 6, 0]);
    assert_eq!((drive.counters().stripes_shifted, drive.counters().stripes_migrated), (1, 0));
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

#[test]
fn what_chance_explains_moves_nothing() {
    let mut drive = levelling(true, true);
    drive.state.plane_erases[2] = 2;
    drive.at(0, write(1));
    drive.run();
    assert_eq!((planes_of_stripe_0(&drive), drive.counters().levelled_pages), (vec![0, 2, 4, 6], 0));
}

#[test]
fn what_is_written_meanwhile_follows_the_stripe() {
    let mut drive = levelling(true, true);
    drive.state.plane_erases[2] = 16;
    drive.at(0, write(1));
    // The write is on the flash at 111 + 3000 + 1101; then the move reads.
    drive.advance(4250);
    assert!(drive.state.mover.is_some());
    drive.at(4250, write(2));
    let id = drive.at(4300, read(2));
    drive.expect_completion(id, 4303);
    drive.run();
    assert!(drive.state.mover.is_none());
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
        let stripes = &mut drive.state.rain.as_mut().unwrap().stripes;
        for stripe in 20..20 + entries {
            let place = stripes.place_of_stripe(stripe);
            stripes.set_place(stripe, Place { group: 1 - place.group, ..place });
        }
        drive.reset_counters();
        drive.state.plane_erases[2] = 16;
        drive.at(0, write(1));
        drive.run();
        assert_eq!(planes_of_stripe_0(&drive) == [1, 3, 5, 7], moved);
        let counters = drive.counters();
        assert_eq!((counters.stripes_migrated, counters.moves_refused), (u64::from(moved), u64::from(!moved)));
        assert_eq!(counters.moved_stripes_max, 128);
    }
}

/// Reads of page 1 wait at its old plane, in which another is being served, when the stripe has moved.
#[test]
fn a_read_that_waits_when_its_stripe_moves_is_served_at_the_new_place() {
    let mut drive = levelling(true, true);
    drive.state.plane_erases[2] = 16;
    drive.at(0, write(1));
    // The move reads, programs pages and parity, and is over when the last program is: all planes of group 1 at once.
    drive.advance(4250);
    assert!(drive.state.mover.is_some());
    let mut now = 4250;
    while drive.state.mover.is_some() {
        // Two reads at a time in the old plane, so that one always waits.
        drive.at(now, read(1));
        drive.at(now, read(1));
        now += 50;
        drive.advance(now);
    }
    let waiting = |plane: usize| drive.state.planes[plane].head[Class::HostRead as usize] != NONE;
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
        let stripes = &mut drive.state.rain.as_mut().unwrap().stripes;
        assert_eq!(stripes.stripes_in(1), 17);
        for stripe in [20, 22].into_iter().take(more) {
            stripes.set_place(stripe, Place { group: 1, parity_channel: 0 });
        }
        drive.state.plane_erases[2] = 16;
        drive.at(0, write(1));
        drive.run();
        assert_eq!(planes_of_stripe_0(&drive) == [1, 3, 5, 7], moved);
        assert_eq!(drive.counters().moves_without_room, u64::from(!moved));
    }
}
