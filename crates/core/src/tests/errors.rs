//! Bit errors: pages that the ECC cannot correct, and idle dies that look for them in time.

use super::*;
use crate::device::Errors;
use crate::policy::interface::Pairing;
use crate::policy::view::Waiting;
use crate::raid::XOR_NS;
use crate::techniques::ScrubPolicy;
use crate::techniques::place::rain::Rain;
use crate::techniques::scrub::idle::{First, Idle};
use crate::testkit::over_provisioning;
use tinytail_config::Decimal;

/// A page has 100 wrong bits in its one codeword, and as many more for each copyback; `correctable` are corrected.
pub(super) fn with_errors(mut device: Device, correctable: u32) -> Device {
    device.errors = Some(Errors {
        fresh_rber: Decimal::of_units(3_052_000_000),
        rated_rber: Decimal::of_units(3_052_000_000),
        rated_erases: 1000,
        exponent: Decimal::of_units(100),
        erases_before: 0,
        codeword_bytes: 4096,
        correctable_bits: correctable,
        percent_per_1000_suspensions: Decimal::default(),
    });
    device
}

/// The victim of a GC is erased: its two valid pages were copied back.
fn after_a_gc(device: &Device, design: Design) -> TestDrive {
    let mut drive = at_the_brink(device, design, 2);
    drive.at(0, write(0));
    drive.advance(20_000);
    assert_eq!((drive.counters().gc.gcs, drive.counters().gc.pages), (1, 1));
    drive
}

fn scrubbing(rewrite_percent: u32) -> Design {
    Design { scrub: ScrubPolicy::Idle(Idle::new(1, 1, rewrite_percent, First::InTurn)), ..plain_design(Scope::Plane) }
}

fn copies(drive: &TestDrive, lpn: Lpn) -> u8 {
    drive.up.up.raid.errors.as_ref().unwrap().copies(drive.up.ftl.tables.lookup(lpn))
}

#[test]
fn a_copied_page_has_the_errors_of_both_its_programs() {
    let mut drive = after_a_gc(&with_errors(one_channel(1, 1), 150), plain_design(Scope::Plane));
    assert_eq!((copies(&drive, 0), copies(&drive, 1), drive.counters().raid.copybacks_max), (0, 1, 1));
    drive.at(20_000, read(0));
    let id = drive.at(21_000, read(1));
    drive.expect_completion(id, 21_111);
    let counters = drive.counters();
    assert_eq!((counters.raid.uncorrectable_reads, counters.raid.uncorrectable_regenerated, counters.raid.uncorrectable_lost), (1, 0, 1));
    assert!((60..150).contains(&counters.raid.corrected_bits), "{}", counters.raid.corrected_bits);
}

#[test]
fn what_gc_moves_through_the_controller_starts_anew() {
    let mut design = plain_design(Scope::Plane);
    design.gc = toml::from_str("copy = \"controller\"").unwrap();
    let mut drive = after_a_gc(&with_errors(one_channel(1, 1), 150), design);
    assert_eq!((copies(&drive, 1), drive.counters().raid.copybacks_max), (0, 0));
    drive.at(20_000, read(1));
    drive.run();
    assert_eq!(drive.counters().raid.uncorrectable_reads, 0);
}

#[test]
fn an_idle_die_finds_a_page_with_many_errors_and_writes_it_anew() {
    // The GC copies its page until 2113 and erases until 12114; the first pause is over during the erase, which is not idle.
    let mut drive = at_the_brink(&with_errors(one_channel(1, 1), 250), scrubbing(50), 2);
    drive.at(0, write(0));
    drive.run();
    let counters = drive.counters();
    assert_eq!((counters.gc.gcs, counters.raid.scrubbed_pages, counters.raid.scrub_rewrites, counters.raid.copybacks_max), (1, 1, 1, 1));
    assert_eq!(copies(&drive, 1), 0);
    let id = drive.at(100_000, read(1));
    drive.expect_completion(id, 100_111);
    assert_eq!((drive.counters().raid.uncorrectable_reads, drive.mismatch()), (0, None));
    drive.audit().unwrap();
}

#[test]
fn a_page_that_finds_no_room_is_not_written_anew() {
    let mut drive = at_the_brink(&with_errors(one_channel(1, 1), 250), scrubbing(50), 2);
    drive.at(0, write(0));
    drive.advance(12_114);
    assert_eq!((drive.counters().gc.gcs, drive.counters().raid.scrubbed_pages), (1, 0));
    while drive.up.ftl.tables.take(0, 0, crate::ftl::Claimant::Host).is_some() {}
    drive.run();
    assert_eq!((drive.counters().raid.scrubbed_pages, drive.counters().raid.scrub_rewrites, copies(&drive, 1)), (1, 0, 1));
    assert_eq!(drive.counters().gc.gcs, 1, "it gives up, and asks no GC for room");
}

#[test]
fn a_page_with_few_errors_is_read_once_and_left() {
    let mut device = with_errors(one_channel(1, 1), 200);
    // A tenth of the errors: about 20 in a page that was copied once.
    let errors = device.errors.as_mut().unwrap();
    errors.fresh_rber = Decimal::of_units(errors.fresh_rber.units() / 10);
    device.errors.as_mut().unwrap().rated_erases = 1_000_000;
    let mut drive = at_the_brink(&device, scrubbing(50), 2);
    drive.at(0, write(0));
    drive.run();
    let counters = drive.counters();
    assert_eq!((counters.raid.scrubbed_pages, counters.raid.scrub_rewrites, copies(&drive, 1)), (1, 0, 1));
    assert!((8..40).contains(&counters.raid.corrected_bits), "{}", counters.raid.corrected_bits);
}

#[test]
fn scrubbing_is_refused_where_no_copy_skips_the_ecc() {
    let device = with_errors(one_channel(1, 1), 250);
    for (gc, named) in [("copy = \"controller\"", "[gc] `copy` = \"controller\""), ("ideal = true", "[gc] `ideal` = true")] {
        let mut design = scrubbing(50);
        design.gc = toml::from_str(gc).unwrap();
        let refusal = design.prepare(&device).unwrap_err().to_string();
        assert!(refusal.contains("[scrub] `policy` = \"idle\" contradicts") && refusal.contains(named), "{refusal}");
    }
}

#[test]
fn scrubbing_waits_as_long_as_anything_else_does_not() {
    let drive = after_a_gc(&with_errors(one_channel(1, 1), 250), scrubbing(50));
    assert_eq!(drive.counters().raid.scrubbed_pages, 1);
    let mut drive = at_the_brink(&with_errors(one_channel(1, 1), 250), scrubbing(50), 2);
    drive.at(0, write(0));
    // Reads follow each other without a gap until 40 us after the GC.
    for turn in 0..500 {
        drive.at(1500 + turn * 100, read(0));
    }
    drive.advance(50_000);
    assert_eq!(drive.counters().raid.scrubbed_pages, 0);
    drive.run();
    assert_eq!(drive.counters().raid.scrubbed_pages, 1);
}

/// Four stripes of three pages and parity on four channels; some pages were copied once, which is more than the ECC corrects.
fn copied_in_stripes(mut design: Design, pages: &[Lpn]) -> TestDrive {
    let mut device = tiny_device();
    device.geometry.channels = 4;
    device.host.over_provisioning_percent = over_provisioning(44, 100);
    (device.ram.buffer_kib, device.ram.flush_above_percent) = (64, 0);
    design.place = PlacePolicy::Rain(Rain::new(4));
    let mut drive = drive(&with_errors(device, 150), design);
    drive.write_stripes_for_test(0..4);
    for &lpn in pages {
        let ppn = drive.up.ftl.tables.lookup(lpn);
        drive.note_copyback(ppn, ppn);
    }
    drive
}

#[test]
fn a_host_read_beyond_the_ecc_is_regenerated_from_its_stripe() {
    let mut drive = copied_in_stripes(no_gc(), &[3]);
    let id = drive.at(0, read(3));
    // The page, then the rest of its stripe, each on a channel of its own.
    drive.expect_completion(id, 2 * 111 + XOR_NS);
    let attribution = drive.attribution_of(id);
    assert_eq!((attribution.get(ARRAY), attribution.get(TRANSFER), attribution.get(COMPUTE)), (20, 200, XOR_NS));
    let counters = drive.counters();
    assert_eq!((counters.raid.uncorrectable_reads, counters.raid.uncorrectable_regenerated, counters.raid.regeneration_reads), (1, 1, 3));
    assert_eq!((counters.raid.reconstructed_pages, counters.raid.reconstruction_reads), (0, 0), "no read plan has decided it");
    drive.run();
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

/// Page 3 is in plane 0, and the rest of its stripe in planes 1, 2 and 3. When a GC begins in plane 1 while that is read, page 3
/// is no way around it.
#[test]
fn a_page_beyond_the_ecc_is_not_read_again_to_go_around_a_gc() {
    use crate::techniques::ReadPlanPolicy;
    use crate::techniques::read_plan::gc_tolerant::{GcTolerant, Rule};
    let mut design = plain_design(Scope::Plane);
    design.gc_trigger = GcTriggerPolicy::Watermark(crate::techniques::gc_trigger::watermark::Watermark::new(45.0, 25.0));
    design.read_plan = ReadPlanPolicy::GcTolerant(GcTolerant::new(Rule::Greedy));
    let mut drive = copied_in_stripes(design, &[3]);
    drive.write_stripes_for_test(4..16);
    // Plane 1 is busy when the rest of the stripe is asked for, and its GC follows.
    let id = drive.at(0, read(3));
    let first = drive.at(50, read(1));
    drive.advance(60);
    rain::begin_gc(&mut drive, 1);
    drive.run();
    let counters = drive.counters();
    assert_eq!(
        (counters.raid.reconstructions_redirected, counters.raid.uncorrectable_regenerated, counters.raid.uncorrectable_lost),
        (0, 1, 0)
    );
    assert_eq!((counters.gc.gcs, counters.raid.regeneration_waits, counters.raid.reads_beyond_parity), (1, 1, 0));
    assert_eq!((drive.completion_of(id).gc_waits_forced, drive.completion_of(first).gc_waits_forced), (1, 0));
    let blocked = |id| drive.observer().completed.iter().find(|(completion, _)| completion.id == id).unwrap().0.gc_blocked;
    assert!(blocked(id) && !blocked(first));
}

/// The same when the GC is there before page 3 is found to be beyond the ECC.
#[test]
fn a_gc_that_is_in_the_way_of_a_regeneration_from_the_first_is_a_forced_wait_as_well() {
    use crate::techniques::ReadPlanPolicy;
    use crate::techniques::read_plan::gc_tolerant::{GcTolerant, Rule};
    for plans in [true, false] {
        let mut design = plain_design(Scope::Plane);
        design.gc_trigger = GcTriggerPolicy::Watermark(crate::techniques::gc_trigger::watermark::Watermark::new(45.0, 25.0));
        if plans {
            design.read_plan = ReadPlanPolicy::GcTolerant(GcTolerant::new(Rule::Greedy));
        }
        let mut drive = copied_in_stripes(design, &[3]);
        drive.write_stripes_for_test(4..16);
        rain::begin_gc(&mut drive, 1);
        let id = drive.at(50, read(3));
        drive.run();
        let counters = drive.counters();
        assert_eq!((counters.gc.gcs, counters.raid.uncorrectable_regenerated, counters.raid.reconstructed_pages), (1, 1, 0));
        assert_eq!((counters.raid.regeneration_waits, counters.raid.reads_beyond_parity), (u64::from(plans), 0));
        let completion = drive.completion_of(id);
        assert_eq!((completion.gc_blocked, completion.gc_waits_forced), (true, u16::from(plans)));
        assert_eq!(completion.gc_wait_since, if plans { 50 + 111 } else { 0 });
    }
}

#[test]
fn two_pages_of_a_stripe_beyond_the_ecc_are_lost() {
    let mut drive = copied_in_stripes(no_gc(), &[3, 5]);
    let id = drive.at(0, read(3));
    drive.expect_completion(id, 2 * 111 + XOR_NS);
    let counters = drive.counters();
    assert_eq!((counters.raid.uncorrectable_reads, counters.raid.uncorrectable_regenerated, counters.raid.uncorrectable_lost), (1, 0, 1));
    assert_eq!((counters.raid.uncorrectable_other, counters.raid.reconstructions_beyond_ecc), (1, 0));
    let mut drive = copied_in_stripes(Design { gc_trigger: no_gc().gc_trigger, ..scrubbing(90) }, &[3, 5]);
    drive.run();
    let counters = drive.counters();
    assert_eq!((counters.raid.uncorrectable_scrubbed, counters.raid.scrub_regenerated, counters.raid.scrub_rewrites), (2, 0, 0));
}

#[test]
fn the_scrubber_regenerates_what_it_cannot_correct() {
    let mut drive = copied_in_stripes(Design { gc_trigger: no_gc().gc_trigger, ..scrubbing(90) }, &[3]);
    let ppn = drive.up.ftl.tables.lookup(3);
    drive.run();
    let counters = drive.counters();
    assert_eq!((counters.raid.uncorrectable_scrubbed, counters.raid.scrub_regenerated, counters.raid.scrub_rewrites), (1, 1, 1));
    assert!(drive.up.ftl.tables.lookup(3) != ppn && copies(&drive, 3) == 0);
    let id = drive.at(100_000, read(3));
    drive.expect_completion(id, 100_111);
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

/// Page 3 is beyond the ECC, and the rest of its stripe on its way when the scrubber finds that out. The stripe arrives, and
/// nothing is copied any more: the next request begins the round in which the page is regenerated.
#[test]
fn a_page_that_was_put_off_is_regenerated_in_the_round_that_the_next_request_begins() {
    let mut drive = copied_in_stripes(Design { gc_trigger: no_gc().gc_trigger, ..scrubbing(90) }, &[3]);
    let ppn = drive.up.ftl.tables.lookup(3);
    drive.at(900, write(4));
    drive.run();
    let counters = drive.counters();
    assert_eq!((counters.raid.scrubbed_pages, counters.raid.scrub_regenerated, counters.raid.parity_pages), (1, 0, 1));
    assert_eq!(drive.up.ftl.tables.lookup(3), ppn);
    drive.at(100_000, read(9));
    drive.run();
    let counters = drive.counters();
    assert_eq!((counters.raid.scrubbed_pages, counters.raid.scrub_regenerated), (2, 1));
    assert!(drive.up.ftl.tables.lookup(3) != ppn && copies(&drive, 3) == 0);
    assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
}

#[test]
fn what_is_copied_after_a_round_is_scrubbed_when_a_request_has_come_though_it_copies_nothing() {
    let mut drive = copied_in_stripes(Design { gc_trigger: no_gc().gc_trigger, ..scrubbing(90) }, &[3]);
    drive.run();
    assert_eq!(drive.counters().raid.scrubbed_pages, 1);
    let plane = |lpn: Lpn| drive.up.ftl.tables.plane_of(drive.up.ftl.tables.lookup(lpn));
    let other = (0..12).find(|&lpn| lpn != 3 && plane(lpn) == plane(3)).expect("another page of the plane");
    let ppn = drive.up.ftl.tables.lookup(other);
    drive.note_copyback(ppn, ppn);
    drive.run();
    assert_eq!(drive.counters().raid.scrubbed_pages, 1, "no request since the round began");
    drive.at(100_000, read(0));
    drive.run();
    assert_eq!(drive.counters().raid.scrubbed_pages, 2);
    drive.at(200_000, read(0));
    let timers = drive.counters().flash.events;
    drive.run();
    assert_eq!(
        (drive.counters().raid.scrubbed_pages, drive.counters().flash.events),
        (2, timers + 2),
        "nothing is left: only the read's events"
    );
}

/// What has been looked at is forgotten with the power: the next request wakes the scrubber of every die that has something to look at.
#[test]
fn after_a_loss_of_power_every_die_is_scrubbed_anew() {
    let mut drive = copied_in_stripes(Design { gc_trigger: no_gc().gc_trigger, ..scrubbing(100) }, &[0, 1, 2, 3]);
    drive.prepare_for_power_cuts();
    drive.run();
    let scrubbed = |drive: &TestDrive| drive.counters().raid.scrubbed_pages;
    let once = scrubbed(&drive);
    assert!(once > 0);
    drive.cut_power().unwrap();
    drive.at(drive.now() + 100_000, read(9));
    drive.run();
    assert!(scrubbed(&drive) > once, "looked at before: {once}");
}

/// Joins whatever is of the same kind at the same offset, be it the host's or of the background.
struct PairAll;

impl Pairing for PairAll {
    fn partners(&mut self, _: View<'_>, lead: &Waiting, waiting: &[Waiting], paired: &mut [bool]) {
        for (candidate, paired) in waiting.iter().zip(paired) {
            *paired = candidate.offset == lead.offset;
        }
    }
}

/// Page 0 is to be written anew, and waits in plane 0 while the host reads. When the host's program of page 1 starts in plane 1,
/// at the offset that it would have, it is taken along, unless the host has written page 0 meanwhile.
#[test]
fn a_page_that_is_not_to_be_rewritten_any_more_is_in_no_command() {
    for (written, pairs) in [(false, true), (true, true), (true, false)] {
        let mut device = with_errors(one_channel(1, 2), 250);
        device.flash.multi_plane_program = true;
        let mut design = Design { gc_trigger: no_gc().gc_trigger, ..scrubbing(0) };
        if pairs {
            design.pairing = PairingPolicy::Custom(Box::new(PairAll));
        }
        let mut drive = drive(&device, design);
        drive.map_functionally([0, 1]);
        if written {
            // The host's own program of page 0 takes an offset before.
            drive.map_functionally([3]);
        }
        let ppn = drive.up.ftl.tables.lookup(0);
        drive.note_copyback(ppn, ppn);
        // The scrubber reads from 1000 to 1111; its program waits for the read that follows.
        drive.at(1050, read(1));
        if written {
            drive.at(1100, write(0));
        }
        drive.at(1150, write(1));
        drive.run();
        let counters = drive.counters();
        assert_eq!((counters.raid.scrubbed_pages, counters.raid.scrub_rewrites), (1, u64::from(!written)));
        assert_eq!(counters.flash.paired, u64::from(!written));
        assert_eq!((drive.flash.ops.in_use(), drive.mismatch(), drive.audit()), (0, None, Ok(())));
    }
}
