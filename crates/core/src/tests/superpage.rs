//! Superpage programs.

use super::*;
use crate::flash::op::class_bits;
use crate::policy::interface::Order;
use crate::policy::view::Candidate;
use crate::techniques::GcGatePolicy;
use crate::techniques::pairing::superpage::{GcPrograms, SuperpagePrograms};
use crate::testkit::over_provisioning;

fn superpage() -> TestDrive {
    let mut design = no_gc();
    design.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(5, GcPrograms::Single));
    drive(&one_channel(1, 2), design)
}

#[test]
fn a_program_waits_for_one_of_each_plane_and_all_start_together() {
    let mut drive = superpage();
    let first = drive.at(0, write(0));
    let second = drive.at(700, write(1));
    drive.expect_completion(first, 700 + 2 + 200 + 1000);
    assert_eq!(drive.finished_at(second), drive.finished_at(first));
    assert_eq!((drive.counters().flash.paired, drive.counters().ftl.padded_pages), (1, 0));
    // The wait is the policy's.
    assert_eq!(drive.attribution_of(first).get(CHANNEL + crate::observe::CHANNEL_IDLE), 700);
}

#[test]
fn the_missing_plane_is_padded_when_the_wait_is_over() {
    let mut drive = superpage();
    let first = drive.at(0, write(0));
    drive.expect_completion(first, 5000 + 1101);
    assert_eq!(drive.counters().ftl.padded_pages, 1);
    assert_eq!(drive.view().tables().next_offset(0, 0), drive.view().tables().next_offset(1, 0));
    drive.audit().unwrap();
}

#[test]
fn a_write_point_that_lags_behind_is_padded_and_reads_do_not_wait() {
    let mut drive = superpage();
    drive.map_functionally([0, 2, 4]);
    drive.at(0, write(0));
    drive.at(0, write(1));
    let read = drive.at(2000, read(2));
    drive.expect_completion(read, 2111);
    // Plane 0 stood at offset 3, plane 1 at 0.
    assert_eq!((drive.counters().flash.paired, drive.counters().ftl.padded_pages), (1, 3));
    drive.audit().unwrap();
}

#[test]
fn a_loss_of_power_brings_write_points_that_lag_behind_to_one_offset() {
    let mut drive = superpage();
    drive.map_functionally([0, 2, 4]);
    drive.prepare_for_power_cuts();
    assert_eq!(drive.cut_power().unwrap().padded_pages, 3);
    assert_eq!(drive.view().tables().next_offset(1, 0), 3);
}

/// A die of two planes behind a buffer of so many pages that leave only when writes find no room. Programs wait for a second.
fn behind_a_buffer(pages: u32) -> TestDrive {
    let mut device = one_channel(1, 2);
    (device.ram.buffer_kib, device.ram.flush_above_percent) = (4 * pages, 100);
    let mut design = no_gc();
    design.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(1_000_000, GcPrograms::Single));
    drive(&device, design)
}

#[test]
fn a_full_buffer_sends_pages_until_a_program_is_complete() {
    let mut drive = behind_a_buffer(3);
    // The first two are of one plane, the third is of the other.
    for lpn in [0, 2, 1] {
        drive.at(0, write(lpn));
    }
    let last = drive.at(10, write(4));
    drive.expect_completion(last, 10 + 2 + 200 + 1000 + 3);
    assert_eq!((drive.counters().flash.paired, drive.counters().ftl.padded_pages, drive.counters().ftl.padded_for_room), (1, 0, 0));
    assert_eq!(drive.up.up.raid.buffer.in_flight(), 1, "page 2 waits for a partner");
    // Page 4 has come for the same plane; page 3 is the partner, and goes as soon as it has to make room.
    let partner = drive.at(5000, write(3));
    drive.expect_completion(partner, 5003);
    let last = drive.at(6000, write(6));
    drive.expect_completion(last, 6000 + 1202 + 3);
    assert_eq!((drive.counters().flash.paired, drive.counters().ftl.padded_pages), (2, 0));
    drive.audit().unwrap();
}

#[test]
fn a_full_buffer_pads_when_nothing_can_complete_a_program() {
    let mut drive = behind_a_buffer(2);
    drive.at(0, write(0));
    drive.at(0, write(2));
    let last = drive.at(10, write(4));
    drive.expect_completion(last, 10 + 1101 + 3);
    assert_eq!((drive.counters().ftl.padded_pages, drive.counters().ftl.padded_for_room), (1, 1));
    // Pages 2 and 4 are in the buffer, and only the former has been sent.
    let two = [drive.at(3000, write(6)), drive.at(3000, write(8))];
    drive.expect_completion(two[0], 3000 + 1101 + 3);
    drive.expect_completion(two[1], 3000 + 2 * 1101 + 3);
    assert_eq!((drive.counters().ftl.padded_pages, drive.counters().ftl.padded_for_room), (3, 3));
    drive.audit().unwrap();
}

#[test]
fn of_several_dies_the_fullest_is_padded() {
    let mut device = one_channel(2, 4);
    (device.ram.buffer_kib, device.ram.flush_above_percent) = (4 * 4, 100);
    let mut design = no_gc();
    design.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(1_000_000, GcPrograms::Single));
    let mut drive = drive(&device, design);
    let die_of = |drive: &TestDrive, lpn| drive.view().geometry().die_of(drive.up.ftl.tables.plane_of(drive.up.ftl.tables.lookup(lpn)));
    drive.map_functionally(0..8);
    let (one, other): (Vec<Lpn>, Vec<Lpn>) = (0..8).partition(|&lpn| die_of(&drive, lpn) == 0);
    // A page of die 0 and three of die 1, which has none for one of its planes.
    for lpn in [one[0], other[0], other[1], other[2]] {
        drive.at(0, write(lpn));
    }
    let last = drive.at(10, write(one[1]));
    drive.expect_completion(last, 10 + 3 * 101 + 1000 + 3);
    assert_eq!((drive.counters().ftl.padded_pages, drive.counters().ftl.padded_for_room), (1, 1));
    drive.audit().unwrap();
}

#[test]
fn planes_of_a_die_that_collect_in_turns_keep_as_much_erased() {
    use crate::techniques::gc_gate::one_per_die::OnePerDie;
    use crate::techniques::gc_trigger::watermark::{Of, Watermark};
    use crate::techniques::place::superpage::Superpage;

    let mut device = one_channel(1, 4);
    (device.geometry.blocks_per_plane, device.geometry.pages_per_block) = (32, 16);
    let live = 4 * 32 * 16 * 3 / 4;
    device.host.over_provisioning_percent = over_provisioning(live, 4 * 32 * 16);
    let mut design = plain_design(Scope::Plane);
    design.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(5, GcPrograms::AllPlanes));
    design.place = crate::techniques::PlacePolicy::Superpage(Superpage::default());
    design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(15.0, 10.0).of(Of::Die));
    design.gc_gate = GcGatePolicy::OnePerDie(OnePerDie::default());
    design.gc = toml::from_str("copy = \"controller\"\ndestination = \"die\"\nwrite_points = 2").unwrap();
    let mut drive = drive(&device, design);
    drive.map_functionally(0..live);
    // A program at a time, whose pages are always in the same order of the planes.
    let mut drawn = 1u64;
    for _ in 0..3000 {
        let now = drive.now();
        for _ in 0..4 {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            drive.at(now, write((drawn >> 33) as u32 % live));
        }
        drive.run();
        let erased = || (0..4).map(|plane| drive.up.ftl.tables.free_pages(plane));
        let (least, most) = (erased().min().unwrap(), erased().max().unwrap());
        assert!(most - least <= 4 * 16, "{least} to {most} erased pages");
    }
    assert!(drive.counters().gc.gcs > 500, "{} GCs", drive.counters().gc.gcs);
    drive.audit().unwrap();
}

fn through_controller(scope: Scope, wait_us: u64) -> Design {
    let mut design = plain_design(scope);
    design.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(wait_us, GcPrograms::AllPlanes));
    design.gc = toml::from_str("copy = \"controller\"").unwrap();
    design
}

/// A die with as many planes as `valid` has numbers. Half of each plane is written, so that one more program makes it want a
/// GC. Its first block has so many valid pages; all others are full of them.
fn at_the_brink_of_gcs(design: Design, valid: &[u32]) -> TestDrive {
    let planes = valid.len() as u32;
    let mut device = one_channel(1, planes);
    device.geometry.blocks_per_plane = 16;
    let mut drive = drive(&device, design);
    for (plane, stale) in valid.iter().map(|valid| 4 - valid).enumerate() {
        let lpn = |index: u32| planes * index + plane as u32;
        drive.map_functionally((0..4).map(lpn));
        drive.map_functionally((0..stale).map(lpn));
        drive.map_functionally((4..32 - stale).map(lpn));
        assert_eq!(drive.up.ftl.tables.free_pages(plane as u32), 32);
    }
    drive
}

/// Writes a page of each plane, which one program of the die takes. Each plane has a second stale page then.
fn write_all_planes(drive: &mut TestDrive) -> Ns {
    let planes = drive.flash.device.geometry.planes_per_die;
    for plane in 0..planes {
        drive.at(0, write(15 * planes + plane));
    }
    101 * u64::from(planes) + 1000
}

#[test]
fn the_pages_of_two_gcs_are_programmed_together_whatever_the_gcs_lock() {
    for scope in [Scope::Plane, Scope::Die, Scope::Channel, Scope::Controller] {
        let mut drive = at_the_brink_of_gcs(through_controller(scope, 5), &[2, 2]);
        let began = write_all_planes(&mut drive);
        // Twice two pages are read one after the other and programmed at once; then two erases.
        let moved = began + 2 * (2 * 111 + 2 * 101 + 1000);
        drive.advance(moved - 1);
        assert_eq!((drive.counters().gc.pages, drive.counters().gc.erases), (2, 0), "{scope:?}: one nanosecond early");
        drive.advance(moved);
        assert_eq!((drive.counters().gc.pages, drive.counters().flash.paired), (4, 3), "{scope:?}");
        drive.run();
        assert_eq!(drive.now(), moved + 2 * 10_001, "{scope:?}");
        assert_eq!(
            (drive.counters().gc.gcs, drive.counters().ftl.padded_pages, drive.counters().ftl.programs_short),
            (2, 0, 0),
            "{scope:?}"
        );
        assert_eq!(drive.mismatch(), None);
        drive.audit().unwrap();
    }
}

#[test]
fn the_last_page_of_the_longer_gc_does_not_wait_and_its_sibling_is_padded() {
    let mut drive = at_the_brink_of_gcs(through_controller(Scope::Plane, 100), &[2, 1]);
    write_all_planes(&mut drive);
    drive.run();
    assert_eq!((drive.counters().gc.gcs, drive.counters().gc.pages), (2, 3));
    assert_eq!((drive.counters().ftl.padded_pages, drive.counters().ftl.padded_for_gc), (1, 1));
    // Both pages; the other page is read; its sibling's erase, which is older than its program; the program, and its own erase.
    let first_erased = 2 * 111 + 1202 + 111 + 10_001;
    assert_eq!(drive.counters().gc.took_ns, first_erased + (first_erased + 1101 + 10_001));
    assert_eq!(drive.view().tables().next_offset(0, 0), drive.view().tables().next_offset(1, 0));
    drive.audit().unwrap();
}

#[test]
fn a_plane_whose_gc_would_cost_more_than_it_frees_is_padded_instead() {
    // The best victim of plane 1 has three valid pages: with it both planes would program two pages more, to free one.
    let mut drive = at_the_brink_of_gcs(through_controller(Scope::Plane, 5), &[1, 4]);
    let began = write_all_planes(&mut drive);
    drive.advance(began + 111 + 1101);
    assert_eq!((drive.counters().gc.pages, drive.counters().ftl.padded_for_gc, drive.counters().flash.paired), (1, 1, 1));
    assert!(!drive.view().in_gc(1));
    drive.run();
    drive.audit().unwrap();
}

/// Two planes, the first ten blocks of which have stale pages: one of four in plane 0 and two in plane 1, whose GCs are
/// shorter, so that the one begins while the other is under way. `erased` pages of each are erased, and the host writes two
/// pages of each plane, the second while both collect. Returns the drive and the last of these writes.
fn behind_gcs_that_take_turns(erased: u32, wait_us: u64) -> (TestDrive, u64) {
    let mut device = one_channel(1, 2);
    device.geometry.blocks_per_plane = 32;
    device.host.over_provisioning_percent = over_provisioning(90, 100);
    let mut design = through_controller(Scope::Plane, 5);
    design.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(wait_us, GcPrograms::Single));
    let mut drive = drive(&device, design);
    let pages = device.geometry.pages_per_plane();
    for plane in 0..2 {
        let lpn = |index: u32| 2 * index + plane;
        drive.map_functionally((0..40).map(lpn));
        let stale = 10 * (1 + plane);
        drive.map_functionally((0..stale).map(|index| lpn(4 * (index % 10) + index / 10)));
        drive.map_functionally((40..pages - erased - stale).map(lpn));
    }
    drive.at(0, write(0));
    drive.at(0, write(1));
    drive.advance(2000);
    drive.at(2000, write(8));
    let last = drive.at(2000, write(9));
    (drive, last)
}

#[test]
fn gcs_that_take_turns_leave_the_host_its_planes_when_it_has_waited_long_enough() {
    // A GC is wanted below 64 erased pages of 128, and urgent below 32.
    let (mut drive, last) = behind_gcs_that_take_turns(50, 5);
    while drive.finished_at(last).is_none() {
        assert!(drive.step());
    }
    // One GC of each plane; the next of plane 1 would have begun before that of plane 0 ended.
    assert_eq!(drive.counters().gc.gcs, 2);
    drive.run();
    assert!(drive.counters().gc.gcs > 10, "they went on: {}", drive.counters().gc.gcs);
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
    // A write that must not wait longer than the GCs take waits for all of them.
    let (mut patient, last) = behind_gcs_that_take_turns(50, 1_000_000);
    while patient.finished_at(last).is_none() {
        assert!(patient.step());
    }
    assert!(patient.counters().gc.gcs > 4, "{}", patient.counters().gc.gcs);
}

#[test]
fn urgent_gcs_are_not_put_off() {
    let (mut drive, last) = behind_gcs_that_take_turns(10, 5);
    while drive.finished_at(last).is_none() {
        assert!(drive.step());
    }
    assert!(drive.counters().gc.gcs > 2, "{}", drive.counters().gc.gcs);
}

/// Programs of GCs before reads, and these before everything else.
struct ProgramsFirst;

impl Order for ProgramsFirst {
    fn at_die(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        let rank = |candidate: &Candidate| match candidate.class {
            Class::GcProgram => 0,
            Class::HostRead => 1,
            _ => 2,
        };
        (0..candidates.len()).min_by_key(|&index| (rank(&candidates[index]), candidates[index].arrival)).unwrap()
    }

    fn at_channel(&mut self, _: View<'_>, _: &[Candidate]) -> usize {
        0
    }
}

#[test]
fn a_page_of_a_gc_waits_for_its_siblings_for_a_while_and_keeps_its_old_place_until_it_is_programmed() {
    let mut design = through_controller(Scope::Plane, 2);
    design.order = OrderPolicy::Custom(Box::new(ProgramsFirst));
    // Plane 2 has nothing to collect, and is read all the time, so that the GC of plane 1 does not get on.
    let mut drive = at_the_brink_of_gcs(design, &[2, 2, 4]);
    let began = write_all_planes(&mut drive);
    let read_at = began + 111;
    drive.advance(began + 50);
    for _ in 0..32 {
        drive.at(began + 50, read(2 + 3 * 20));
    }
    let moved = drive.up.ftl.tables.owner(2);
    let programs = class_bits(Class::GcProgram);
    drive.advance(read_at + 2000 - 1);
    assert_eq!(drive.flash.dies_for_test()[0].masked & programs, programs, "it waits for the page of plane 1");
    assert_eq!(drive.up.ftl.tables.lookup(moved), 2, "nothing is erased whose copy is only in RAM");
    drive.advance(read_at + 2000);
    assert_eq!(drive.flash.dies_for_test()[0].masked & programs & 0xff, 0, "it has waited long enough");
    drive.advance(read_at + 2000 + 111 + 1101);
    assert_eq!((drive.counters().gc.pages, drive.counters().ftl.padded_for_gc), (1, 2));
    assert_ne!(drive.up.ftl.tables.lookup(moved), 2);
    drive.run();
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

#[test]
fn what_cannot_assemble_is_refused_and_both_keys_are_named() {
    use crate::techniques::gc_gate::free::Start;
    use crate::techniques::gc_gate::rotating::{Rotating, Turn};
    let refusal = |planes: u32, gc: &str, gate: Option<GcGatePolicy>| {
        let mut design = through_controller(Scope::Plane, 5);
        design.gc = toml::from_str(gc).unwrap();
        design.gc_gate = gate.unwrap_or(design.gc_gate);
        design.prepare(&one_channel(1, planes)).err().map_or(String::new(), |error| error.to_string())
    };
    let copyback = refusal(2, "copy = \"copyback\"", None);
    assert!(copyback.contains("[pairing] `gc_programs` = \"all_planes\"") && copyback.contains("[gc] `copy` = \"copyback\""), "{copyback}");
    let rotating = GcGatePolicy::Rotating(Rotating::new(true, Turn::FewestFree, Start::Immediate));
    let rotation = refusal(2, "copy = \"controller\"", Some(rotating));
    assert!(rotation.contains("[gc_gate] `policy` = \"rotating\""), "{rotation}");
    // The page of a die's only plane is a program of all planes.
    assert_eq!(refusal(1, "copy = \"copyback\"", None), "");

    let mut anywhere = through_controller(Scope::Plane, 5);
    anywhere.place = PlacePolicy::IdleDie(Default::default());
    anywhere.gc = toml::from_str("copy = \"controller\"\ndestination = \"drive\"").unwrap();
    let refused = anywhere.prepare(&one_channel(1, 2)).unwrap_err().to_string();
    assert!(refused.contains("`gc_programs`") && refused.contains("[gc] `destination` = \"drive\""), "{refused}");
    anywhere.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(5, GcPrograms::Single));
    anywhere.prepare(&one_channel(1, 2)).unwrap();
}
