//! RAIN: stripes on their way to the flash, reads around GCs, and what of both must not mix.

use super::*;
use crate::policy::AskedAgain;
use crate::raid::XOR_NS;
use crate::techniques::destage::gc_tolerant::GcTolerant as TolerantFlush;
use crate::techniques::place::rain::Rain;
use crate::techniques::read_plan::gc_tolerant::{GcTolerant, Rule};
use crate::techniques::{DestagePolicy, ReadPlanPolicy};
use crate::testkit::over_provisioning;

/// Four channels of one plane, stripes of four: pages 3, 4 and 5 are in planes 0, 1 and 3, and their parity is in plane 2. The
/// buffer holds 16 pages and flushes at once.
fn device() -> Device {
    let mut device = tiny_device();
    device.geometry.channels = 4;
    device.host.over_provisioning_percent = over_provisioning(44, 100);
    (device.ram.buffer_kib, device.ram.flush_above_percent) = (64, 0);
    device
}

fn design(rule: Option<Rule>, tolerant_flush: bool) -> Design {
    let mut design = plain_design(Scope::Plane);
    design.gc_trigger = GcTriggerPolicy::Watermark(crate::techniques::gc_trigger::watermark::Watermark::new(45.0, 25.0));
    design.place = PlacePolicy::Rain(Rain::new(4));
    if let Some(rule) = rule {
        design.read_plan = ReadPlanPolicy::GcTolerant(GcTolerant::new(rule));
    }
    if tolerant_flush {
        design.destage = DestagePolicy::GcTolerant(TolerantFlush::default());
    }
    design
}

/// Sixteen stripes are mapped, which leaves every plane two pages above the watermark.
fn mapped(design: Design) -> TestDrive {
    let mut drive = drive(&device(), design);
    drive.write_stripes_for_test(0..16);
    drive
}

/// A GC of a plane begins now: it moves one page, in 1012 ns, and erases in 10001.
pub(super) fn begin_gc(drive: &mut TestDrive, plane: PlaneIx) {
    for row in 0..3 {
        let lpn = drive.up.up.raid.rain.as_ref().unwrap().stripes().page_at(plane, row).unwrap();
        let (from, to) = (drive.up.ftl.tables.lookup(lpn), drive.up.ftl.tables.take(plane, 0, crate::ftl::Claimant::Gc).unwrap());
        drive.up.ftl.tables.commit_write(lpn, to);
        drive.up.oracle.as_mut().unwrap().move_page(from, to);
    }
    drive.wake();
}

/// GCs of some planes begin at time 0.
fn with_gc(design: Design, planes: &[PlaneIx]) -> TestDrive {
    let mut drive = mapped(design);
    planes.iter().for_each(|&plane| begin_gc(&mut drive, plane));
    for plane in 0..4 {
        assert_eq!(drive.flash.queues(plane).locked, planes.contains(&plane));
    }
    assert_eq!(drive.counters().raid.gcs_overlapping, planes.len().saturating_sub(1) as u64);
    drive
}

const GC_NS: Ns = 1012 + 10_001;
const READ_NS: Ns = 111;

#[test]
fn the_audit_finds_a_wrong_number_of_steps_of_stripe_writes() {
    let mut drive = mapped(design(None, false));
    drive.audit().unwrap();
    drive.up.up.raid.rain.as_mut().unwrap().miscount_steps_for_test();
    assert!(drive.audit().unwrap_err().contains("steps of stripe writes"));
}

#[test]
fn a_page_behind_a_gc_is_regenerated_from_the_rest_of_its_stripe() {
    let mut drive = with_gc(design(Some(Rule::Greedy), false), &[0]);
    let id = drive.at(100, read(3));
    drive.expect_completion(id, 100 + READ_NS + XOR_NS);
    let attribution = drive.attribution_of(id);
    assert_eq!(
        (attribution.get(COMMAND), attribution.get(ARRAY), attribution.get(TRANSFER), attribution.get(COMPUTE)),
        (1, 10, 100, XOR_NS)
    );
    assert!(!drive.completion_of(id).gc_blocked);
    let counters = drive.counters();
    assert_eq!((counters.raid.reconstructed_pages, counters.raid.reconstruction_reads), (1, 3));
    let elsewhere = drive.at(4000, read(4));
    drive.expect_completion(elsewhere, 4000 + READ_NS);
    drive.run();
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

#[test]
fn without_the_technique_it_waits_for_the_gc() {
    let mut drive = with_gc(design(None, false), &[0]);
    let id = drive.at(100, read(3));
    drive.expect_completion(id, GC_NS + READ_NS);
    assert!(drive.completion_of(id).gc_blocked);
    assert_eq!(drive.counters().raid.reconstructed_pages, 0);
}

#[test]
fn pages_that_the_request_reads_anyway_are_read_once() {
    let mut drive = with_gc(design(Some(Rule::Paper), false), &[0]);
    // A part of page 3 and all of pages 4 and 5.
    let id = drive.at(100, Command { kind: CommandKind::Read, sector: 3 * 8 + 4, sectors: 20, critical: false });
    drive.expect_completion(id, 100 + READ_NS + XOR_NS);
    assert_eq!(drive.counters().raid.reconstruction_reads, 1, "only the parity");
    assert_eq!(drive.mismatch(), None);
}

#[test]
fn two_gcs_in_a_stripe_are_one_too_many() {
    let mut drive = with_gc(design(Some(Rule::Greedy), false), &[0, 1]);
    let id = drive.at(100, read(3));
    drive.expect_completion(id, GC_NS + READ_NS);
    let counters = drive.counters();
    assert_eq!((counters.raid.reads_beyond_parity, counters.raid.reconstructed_pages, counters.raid.read_waits), (1, 0, 0));
}

#[test]
fn the_papers_rule_waits_for_the_end_of_a_gc_where_channels_are_busy_and_says_so() {
    let mut drive = with_gc(design(Some(Rule::Paper), false), &[0]);
    // 250 before the GC ends, three channels are busy, and their pages would take 330.
    let at = GC_NS - 250;
    [4, 5].into_iter().for_each(|lpn| {
        drive.at(at, read(lpn));
    });
    // Page 8 is in plane 2, whose parity page 3 needs.
    let stripes = drive.up.up.raid.rain.as_ref().unwrap().stripes().clone();
    let other = (0..48).find(|&lpn| stripes.plane_of(lpn) == 2).unwrap();
    drive.at(at, read(other));
    let id = drive.at(at, read(3));
    drive.expect_completion(id, GC_NS + READ_NS);
    assert_eq!((drive.counters().raid.read_waits, drive.counters().raid.reconstructed_pages), (1, 0));
    let completion = drive.completion_of(id);
    assert_eq!((completion.gc_blocked, completion.gc_waits, completion.gc_wait_since), (true, 1, at));
}

#[test]
fn a_small_write_reads_the_old_page_and_parity_and_stays_in_ram_until_both_are_programmed() {
    let mut drive = mapped(no_gc_with_stripes());
    let id = drive.at(0, write(3));
    drive.expect_completion(id, 3);
    let programmed = READ_NS + XOR_NS + 101 + 1000;
    let early = drive.at(programmed - 10, read(3));
    drive.expect_completion(early, programmed - 7);
    let late = drive.at(programmed, read(3));
    drive.expect_completion(late, programmed + READ_NS);
    drive.run();
    let counters = drive.counters();
    assert_eq!(
        (counters.raid.parity_reads, counters.raid.parity_pages, counters.ftl.host_pages, counters.raid.stripes_partial),
        (2, 1, 1, 1)
    );
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

fn no_gc_with_stripes() -> Design {
    let mut design = design(None, false);
    design.gc_trigger = GcTriggerPolicy::Never(NoGc {});
    design
}

#[test]
fn a_capacity_that_leaves_no_room_beside_parity_is_refused_with_the_most_that_does() {
    for (channels, dies) in [(4, 1), (8, 1), (4, 3)] {
        let mut device = device();
        (device.geometry.channels, device.geometry.dies_per_chip, device.geometry.blocks_per_plane) = (channels, dies, 16);
        let mut refused = |pages: u64| {
            device.set_logical_pages(pages);
            no_gc_with_stripes().prepare(&device).err().map(|error| error.to_string())
        };
        // Of 16 blocks one is GC's, one is open, and one must be left.
        let most = u64::from(channels * dies * 13 * 4 * 3 / 4);
        assert_eq!(refused(most), None);
        for pages in most + 1..most + 40 {
            let found = refused(pages).unwrap();
            assert!(found.contains(&format!("`capacity_gb` may be {} at most", tiny_device().gigabytes(most))), "{pages}: {found}");
        }
    }
}

#[test]
fn a_write_of_most_of_a_stripe_reads_what_does_not_change() {
    let mut drive = mapped(no_gc_with_stripes());
    drive.up.up.raid.buffer.set_flush_above_for_test(1);
    drive.at(0, write(3));
    drive.at(0, write(4));
    drive.run();
    let counters = drive.counters();
    assert_eq!((counters.raid.parity_reads, counters.raid.parity_pages, counters.ftl.host_pages), (1, 1, 2), "page 5 alone");
    drive.audit().unwrap();
}

#[test]
fn a_whole_stripe_reads_nothing() {
    let mut drive = mapped(no_gc_with_stripes());
    drive.up.up.raid.buffer.set_flush_above_for_test(2);
    let id = drive.at(0, Command { kind: CommandKind::Write, sector: 24, sectors: 24, critical: false });
    drive.expect_completion(id, 3);
    drive.advance(XOR_NS + 1100);
    assert_eq!((drive.counters().raid.parity_reads, drive.counters().buffer.flushed), (0, 0));
    drive.advance(XOR_NS + 1101);
    assert_eq!((drive.counters().buffer.flushed, drive.counters().raid.parity_pages, drive.counters().raid.stripes_full), (3, 1, 1));
    drive.audit().unwrap();
}

#[test]
fn parity_is_computed_around_a_gc_and_the_page_for_its_plane_waits_in_ram() {
    // Page 3 is in plane 0: the old copy is behind the GC, pages 4 and 5 are not.
    let mut drive = with_gc(design(None, true), &[0]);
    drive.at(100, write(3));
    let rest = 100 + READ_NS + XOR_NS + 1101;
    drive.advance(rest);
    let counters = drive.counters();
    assert_eq!(
        (counters.raid.parity_forms_changed, counters.raid.deferred_pages, counters.raid.parity_pages, counters.ftl.host_pages),
        (1, 1, 1, 0)
    );
    let from_ram = drive.at(rest + 50, read(3));
    drive.expect_completion(from_ram, rest + 53);
    drive.advance(GC_NS + 1100);
    assert_eq!(drive.counters().ftl.host_pages, 0);
    drive.advance(GC_NS + 1101);
    assert_eq!((drive.counters().ftl.host_pages, drive.counters().buffer.flushed), (1, 1));
    drive.run();
    drive.audit().unwrap();
    // Without the technique everything waits for the old page.
    let mut drive = with_gc(design(None, false), &[0]);
    drive.at(100, write(3));
    drive.advance(GC_NS + READ_NS + XOR_NS + 1100);
    assert_eq!((drive.counters().buffer.flushed, drive.counters().raid.parity_forms_changed), (0, 0));
    drive.advance(GC_NS + READ_NS + XOR_NS + 1101);
    assert_eq!(drive.counters().buffer.flushed, 1);
}

fn data_first(rule: Option<Rule>) -> Design {
    let mut design = design(rule, true);
    design.destage = DestagePolicy::GcTolerant(toml::from_str("data_before_parity = true").unwrap());
    design
}

/// A page of the host in plane 2.
fn page_in_plane_2(drive: &TestDrive) -> Lpn {
    (0..48).find(|&lpn| drive.up.ftl.tables.plane_of(drive.up.ftl.tables.lookup(lpn)) == 2).unwrap()
}

#[test]
fn data_may_go_when_their_own_old_copies_have_been_read_and_parity_when_all_have() {
    // Page 3 is in plane 0, its parity in plane 2, which a read of page 5 of another stripe keeps busy.
    // The old parity is read after another page.
    let (data, parity) = (100 + READ_NS + 1101, 100 + 2 * READ_NS + XOR_NS + 1101);
    let played = |design: Design| {
        let mut drive = mapped(design);
        drive.at(100, read(page_in_plane_2(&drive)));
        drive.at(100, write(3));
        [data - 1, data, parity - 1, parity].map(|at| {
            drive.advance(at);
            drive.audit().unwrap();
            assert_eq!(drive.mismatch(), None);
            let counters = drive.counters();
            (counters.ftl.host_pages, counters.raid.parity_pages, counters.buffer.flushed)
        })
    };
    assert_eq!(played(data_first(None)), [(0, 0, 0), (1, 0, 0), (1, 0, 0), (1, 1, 1)]);
    assert_eq!(played(design(None, true)), [(0, 0, 0), (0, 0, 0), (0, 0, 0), (1, 1, 1)]);
}

#[test]
fn nothing_is_reconstructed_from_a_stripe_whose_data_have_gone_before_its_parity() {
    // Page 4 is behind a GC. Of its stripe page 3 is new, and the old parity comes after a read of another page.
    let played = |design: Design, at: Ns| {
        let mut drive = with_gc(design, &[1]);
        drive.at(100, read(page_in_plane_2(&drive)));
        drive.at(100, write(3));
        drive.at(at, read(4));
        drive.run();
        assert_eq!((drive.mismatch(), drive.counters().raid.parity_reads), (None, 2));
        drive.audit().unwrap();
        (drive.counters().raid.reconstructed_pages, drive.counters().raid.reads_beyond_parity)
    };
    let (own_read, computed) = (100 + READ_NS, 100 + 2 * READ_NS + XOR_NS);
    let rule = Some(Rule::Greedy);
    for (at, reconstructed) in [(own_read - 1, 1), (own_read, 0), (computed - 1, 0), (computed, 1)] {
        assert_eq!(played(data_first(rule), at), (reconstructed, 1 - reconstructed), "at {at}");
        assert_eq!(played(design(rule, true), at), (1, 0), "at {at}");
    }
}

#[test]
fn data_that_go_before_parity_need_a_device_without_bit_errors() {
    let mut device = device();
    device.errors = super::errors::with_errors(device.clone(), 150).errors;
    let fault = TestDrive::new(&device, data_first(None), true, Recorder::of(&device)).err().expect("a fault").to_string();
    assert!(fault.contains("data_before_parity") && fault.contains("[errors]"), "{fault}");
}

#[test]
fn a_stripe_goes_out_but_for_the_page_behind_a_gc() {
    // TTFLASH, section 4.5: pages 3 and 4 and the parity leave the RAM, and page 5 waits for the GC of plane 3.
    let mut drive = with_gc(design(None, true), &[3]);
    drive.up.up.raid.buffer.set_flush_above_for_test(2);
    drive.at(100, Command { kind: CommandKind::Write, sector: 24, sectors: 24, critical: false });
    drive.advance(GC_NS - 1);
    let counters = drive.counters();
    assert_eq!((counters.ftl.host_pages, counters.raid.parity_pages, counters.raid.deferred_pages), (2, 1, 1));
    assert_eq!(counters.raid.parity_reads, 0, "all pages of the stripe are in RAM");
    drive.advance(GC_NS + 1101);
    assert_eq!(drive.counters().ftl.host_pages, 3);
    drive.run();
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

#[test]
fn a_page_that_has_waited_for_a_gc_may_leave_with_the_next_stripe_or_when_a_write_waits_for_room() {
    let played = |pages: u64| {
        let mut design = design(None, true);
        design.destage = DestagePolicy::GcTolerant(toml::from_str("deferred_join_stripes = true").unwrap());
        let mut drive = with_gc(design, &[3]);
        drive.up.up.raid.buffer.set_flush_above_for_test(2);
        drive.at(100, Command { kind: CommandKind::Write, sector: 24, sectors: 24, critical: false });
        drive.advance(GC_NS + 5000);
        assert_eq!((drive.counters().ftl.host_pages, drive.counters().raid.deferred_pages), (2, 1), "it stays in RAM");
        drive.audit().unwrap();
        let command = Command { kind: CommandKind::Write, sector: 48, sectors: 8 * pages as u32, critical: false };
        let id = drive.at(GC_NS + 5000, command);
        drive.run();
        assert!(drive.finished_at(id).is_some(), "a write of {pages} pages finds room");
        assert_eq!(drive.mismatch(), None);
        drive.audit().unwrap();
        (drive.counters().ftl.host_pages, drive.up.up.raid.rain.as_ref().unwrap().deferred())
    };
    // A stripe of three pages takes it along; two pages stay below the threshold, and it stays with them.
    assert_eq!((played(3), played(2)), ((6, 0), (2, 1)));
    // The buffer has 16 pages.
    assert!(played(17).0 > 6);
}

#[test]
fn a_parity_update_regenerates_the_page_behind_a_gc() {
    // TTFLASH, section 4.5: pages 4 and 5 are new and page 3 is behind the GC of plane 0. Their old copies and the old parity
    // are read in its place, and the new parity is of the old page 3 as well: the audit compares it.
    let mut drive = with_gc(design(None, true), &[0]);
    drive.up.up.raid.buffer.set_flush_above_for_test(1);
    drive.at(100, Command { kind: CommandKind::Write, sector: 32, sectors: 16, critical: false });
    drive.advance(GC_NS - 1);
    let counters = drive.counters();
    assert_eq!((counters.raid.parity_reads, counters.raid.parity_forms_changed), (3, 1));
    assert_eq!((counters.ftl.host_pages, counters.raid.parity_pages, counters.raid.deferred_pages), (2, 1, 0), "nothing waits for the GC");
    let id = drive.at(GC_NS - 1, read(3));
    drive.run();
    assert!(drive.finished_at(id).is_some());
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

#[test]
fn an_old_page_that_every_form_needs_is_regenerated() {
    let mut drive = with_gc(design(None, true), &[0]);
    drive.at(100, Command { kind: CommandKind::Write, sector: 24, sectors: 3, critical: false });
    drive.advance(GC_NS - 1);
    let counters = drive.counters();
    assert_eq!((counters.raid.parity_regenerations, counters.raid.parity_reads, counters.raid.parity_pages), (1, 3, 1));
    drive.run();
    let id = drive.at(50_000, read(3));
    drive.run();
    assert!(drive.finished_at(id).is_some());
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

#[test]
fn a_superseded_page_is_never_mixed_with_the_new_parity() {
    // Pages 3 and 4 and their parity are on their way; page 3 waits in RAM for plane 0, when page 5, in plane 3, is behind a
    // GC too. Its stripe is on the flash half of before and half of after.
    let mut drive = with_gc(design(Some(Rule::Greedy), true), &[0]);
    drive.up.up.raid.buffer.set_flush_above_for_test(1);
    drive.at(0, write(3));
    drive.at(0, write(4));
    drive.advance(READ_NS + XOR_NS + 1101);
    assert_eq!((drive.counters().raid.parity_pages, drive.counters().buffer.flushed), (1, 0));
    begin_gc(&mut drive, 3);
    let now = drive.now();
    let id = drive.at(now, read(5));
    drive.expect_completion(id, now + XOR_NS);
    assert_eq!(drive.counters().raid.reconstruction_reads, 0, "everything is in RAM");
    drive.run();
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

#[test]
fn new_pages_wait_until_nobody_reads_the_old_ones() {
    // The old pages of page 4's stripe write have just been read when page 3 is reconstructed from the same old pages, behind a
    // long line at page 5.
    let mut drive = with_gc(design(Some(Rule::Greedy), false), &[0]);
    drive.at(0, write(4));
    for _ in 0..20 {
        drive.at(XOR_NS, read(5));
    }
    let id = drive.at(XOR_NS, read(3));
    let read_at = XOR_NS + 21 * READ_NS;
    drive.expect_completion(id, read_at + XOR_NS);
    assert_eq!(drive.counters().raid.parity_pages, 0);
    drive.advance(read_at + XOR_NS + 1101);
    assert_eq!(drive.counters().raid.parity_pages, 1);
    drive.run();
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

/// A design that reads around GCs, and asks about reads that wait when it is told to.
fn asking(asked_again: AskedAgain) -> Design {
    let mut design = design(None, false);
    design.read_plan = ReadPlanPolicy::GcTolerant(GcTolerant::new(Rule::Greedy).asking_again(asked_again));
    design
}

#[test]
fn a_read_waits_for_the_second_of_two_gcs_unless_it_is_asked_about_as_the_first_ends() {
    use AskedAgain::{Never, Starts, StartsAndEnds};
    for (asked_again, end) in [(Never, 500 + GC_NS + READ_NS), (Starts, 500 + GC_NS + READ_NS), (StartsAndEnds, GC_NS + READ_NS + XOR_NS)] {
        let mut drive = with_gc(asking(asked_again), &[0]);
        drive.advance(500);
        begin_gc(&mut drive, 1);
        let id = drive.at(600, read(4));
        drive.expect_completion(id, end);
        let counters = drive.counters().raid;
        assert_eq!((counters.reads_beyond_parity, counters.reconstructed_after_wait), (1, u64::from(asked_again == StartsAndEnds)));
        assert!(drive.completion_of(id).gc_blocked);
        drive.run();
        assert_eq!(drive.mismatch(), None);
        drive.audit().unwrap();
    }
}

#[test]
fn a_read_that_is_never_asked_about_again_waits_for_the_gc_that_finds_it() {
    let mut drive = mapped(asking(AskedAgain::Never));
    drive.at(0, read(0));
    begin_gc(&mut drive, 0);
    let id = drive.at(1, read(3));
    drive.expect_completion(id, READ_NS + GC_NS + READ_NS);
    assert_eq!(drive.counters().raid.reconstructed_pages, 0);
}

#[test]
fn a_read_that_waits_when_a_gc_begins_is_asked_about_again() {
    let mut drive = mapped(design(Some(Rule::Greedy), false));
    // Page 3 waits behind page 0, in the same plane, when a GC requests a lock on it; the order is that of arrival.
    let first = drive.at(0, read(0));
    begin_gc(&mut drive, 0);
    let second = drive.at(1, read(3));
    drive.expect_completion(first, READ_NS);
    drive.expect_completion(second, READ_NS + READ_NS + XOR_NS);
    assert_eq!(drive.counters().raid.reconstructed_after_wait, 1);
    assert_eq!(drive.attribution_of(second).get(DIE + TrafficClass::HostRead as usize), READ_NS - 1);
    assert!(!drive.completion_of(second).gc_blocked);
    drive.run();
    assert_eq!(drive.mismatch(), None);
}

#[test]
fn a_reconstruction_that_a_later_gc_meets_turns_to_the_page_behind_the_former() {
    let mut design = design(Some(Rule::Greedy), false);
    design.order = OrderPolicy::GcFirst(GcFirst {});
    let mut drive = with_gc(design, &[0]);
    // Page 4 keeps plane 1 busy beyond the end of plane 0's GC; page 3 needs it too.
    let start = GC_NS - 300;
    let others: Vec<u64> = (0..5).map(|_| drive.at(start, read(4))).collect();
    let id = drive.at(start, read(3));
    assert_eq!(drive.counters().raid.reconstructed_pages, 1);
    drive.advance(GC_NS + 1);
    begin_gc(&mut drive, 1);
    drive.advance(GC_NS + 1000);
    assert_eq!((drive.counters().raid.reconstructions_redirected, drive.counters().raid.reads_beyond_parity), (1, 0));
    drive.advance(GC_NS + 5000);
    for id in others.into_iter().chain([id]) {
        assert!(!drive.completion_of(id).gc_blocked);
    }
    drive.run();
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}

#[test]
fn a_page_that_was_given_up_reads_as_zeroes_and_its_stripe_stays_whole() {
    let mut drive = with_gc(design(Some(Rule::Greedy), true), &[0]);
    let trim = |lpn: Lpn| Command { kind: CommandKind::Trim, sector: u64::from(lpn) * 8, sectors: 8, critical: false };
    drive.at(50, trim(4));
    let zeroes = drive.at(60, read(4));
    drive.expect_completion(zeroes, 63);
    let id = drive.at(100, read(3));
    drive.expect_completion(id, 100 + READ_NS + XOR_NS);
    // A part of it is written again: the rest is zeroes, not what it was.
    drive.at(5000, Command { kind: CommandKind::Write, sector: 33, sectors: 2, critical: false });
    drive.run();
    drive.at(90_000, read(4));
    drive.run();
    assert_eq!(drive.mismatch(), None);
    drive.audit().unwrap();
}
