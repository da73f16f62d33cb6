//! Overhead, link, device queues and trims.

use super::*;
use crate::attribution::parts::FOR_BUFFER;
use crate::ids::BlockGroup;
use crate::observe::{BUFFER, BUFFER_FULL, LINK, LINK_WAIT, OVERHEAD, OVERHEAD_WAIT};
use crate::techniques::pairing::superpage::{GcPrograms, SuperpagePrograms};
use crate::units::SECTOR_BYTES;

fn trim(first: Lpn, pages: u32) -> Command {
    Command { kind: CommandKind::Trim, sector: u64::from(first) * 8, sectors: pages * 8, critical: false }
}

fn pages(kind: CommandKind, first: Lpn, pages: u32) -> Command {
    Command { kind, sector: u64::from(first) * 8, sectors: pages * 8, critical: false }
}

/// A link on which a page takes 400 ns, four times as long as on a channel.
fn linked(buffer_pages: u32) -> Device {
    let mut device = tiny_device();
    device.host.link_mb_per_s = Some(10_240);
    device.ram.buffer_kib = buffer_pages * 4;
    device
}

fn buffered(pages: u32) -> Device {
    let mut device = tiny_device();
    device.ram.buffer_kib = pages * 4;
    device
}

#[test]
fn every_command_takes_its_fixed_time_and_holds_nothing_else_meanwhile() {
    let mut device = buffered(4);
    device.host.overhead_ns = 50;
    device.host.queue_depth = 2;
    let mut drive = drive(&device, no_gc());
    drive.map_functionally([0, 1]);
    // Both run their fixed time side by side; the third waits for a place in the device.
    let first = drive.at(1000, read(0));
    let second = drive.at(1000, read(1));
    let third = drive.at(1000, write(2));
    drive.expect_completion(first, 1000 + 50 + 111);
    assert_eq!(drive.finished_at(second), Some(1161));
    drive.expect_completion(third, 1161 + 50 + 3);
    assert_eq!((drive.attribution_of(first).get(OVERHEAD), drive.attribution_of(first).get(ARRAY)), (50, 10));
    let attribution = drive.attribution_of(third);
    assert_eq!((attribution.get(OVERHEAD), attribution.get(BUFFER), attribution.get(BUFFER_FULL)), (50, 3, 0));
    assert_eq!(
        (attribution.get(OVERHEAD_WAIT), attribution.get(DIE + TrafficClass::HostRead as usize)),
        (50, 111),
        "the slot's request, for 161 ns"
    );
    assert_eq!(drive.completion_of(third).host_queue_ns, 161);
}

#[test]
fn the_oldest_write_is_the_first_that_the_device_took_of_those_that_have_not_completed() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0]);
    assert_eq!(drive.oldest_write(), None);
    drive.at(0, read(0));
    drive.at(20, write(1));
    drive.at(30, write(2));
    drive.advance(40);
    assert_eq!(drive.oldest_write(), Some(20));
    drive.run();
    assert_eq!(drive.oldest_write(), None);
}

#[test]
fn the_data_of_a_write_cross_the_link_before_they_are_in_the_buffer() {
    let mut drive = drive(&linked(8), no_gc());
    let id = drive.at(1000, pages(CommandKind::Write, 0, 2));
    let behind = drive.at(1100, write(4));
    // The first page is in the buffer at 1400, and not before.
    drive.advance(1399);
    assert_eq!(drive.up.up.raid.buffer.occupied(), 0);
    drive.advance(1400);
    assert_eq!(drive.up.up.raid.buffer.occupied(), 1);
    drive.expect_completion(id, 1000 + 800 + 3);
    drive.expect_completion(behind, 1000 + 1200 + 3);
    let attribution = drive.attribution_of(id);
    assert_eq!((attribution.get(LINK_WAIT), attribution.get(LINK), attribution.get(BUFFER)), (0, 800, 3));
    let attribution = drive.attribution_of(behind);
    assert_eq!((attribution.get(LINK_WAIT), attribution.get(LINK), attribution.get(BUFFER_FULL)), (700, 400, 0));
}

#[test]
fn the_data_of_a_write_cross_the_link_before_they_are_programmed() {
    let mut drive = drive(&linked(0), no_gc());
    // Pages 0 and 2 are of one die: the second has crossed at 800, and waits for the first until 400 + 1101.
    let id = drive.at(0, pages(CommandKind::Write, 0, 3));
    drive.expect_completion(id, 400 + 1101 + 1101);
    let attribution = drive.attribution_of(id);
    assert_eq!((attribution.get(LINK_WAIT), attribution.get(LINK)), (0, 1200));
    assert_eq!(attribution.get(DIE + TrafficClass::HostProgram as usize), 301);
    // A part of a page takes its share.
    let part = drive.at(10_000, Command { kind: CommandKind::Write, sector: 41, sectors: 3, critical: false });
    drive.expect_completion(part, 10_000 + 150 + 1101);
}

#[test]
fn the_data_of_a_read_cross_the_link_after_they_left_the_flash() {
    let mut drive = drive(&linked(0), no_gc());
    drive.map_functionally(0..4);
    // Pages 0 and 1 leave their dies at 111; one of them crosses until 511, the other until 911. The other way is free.
    let id = drive.at(0, pages(CommandKind::Read, 0, 2));
    let written = drive.at(0, write(9));
    drive.expect_completion(id, 911);
    let attribution = drive.attribution_of(id);
    assert_eq!((attribution.get(ARRAY), attribution.get(LINK_WAIT), attribution.get(LINK)), (10, 400, 400));
    // The die is free from 111 on, so the write's page starts when it has crossed.
    drive.expect_completion(written, 400 + 1101);
    // First come, first served by the time at which data are ready: page 3 leaves its die before page 2.
    let two = drive.at(10_000, pages(CommandKind::Read, 2, 1));
    let late = drive.at(10_001, read(0));
    let three = drive.at(10_002, read(3));
    drive.expect_completion(two, 10_000 + 111 + 400);
    drive.expect_completion(three, 10_511 + 400);
    drive.expect_completion(late, 10_911 + 400);
    assert_eq!(drive.attribution_of(late).get(LINK_WAIT), 10_911 - 10_222);
    drive.run();
    assert_eq!(drive.mismatch(), None);
}

#[test]
fn pages_in_ram_and_pages_of_zeroes_cross_the_link_as_well() {
    let mut drive = drive(&linked(8), no_gc());
    let id = drive.at(0, pages(CommandKind::Write, 0, 1));
    drive.expect_completion(id, 403);
    // A buffered page and an unmapped one; then two unmapped ones.
    for (at, first, counted) in [(1000, 0, (1, 1)), (2000, 5, (2, 3))] {
        let id = drive.at(at, pages(CommandKind::Read, first, 2));
        drive.expect_completion(id, at + 3 + 800);
        let attribution = drive.attribution_of(id);
        assert_eq!((attribution.get(BUFFER), attribution.get(LINK_WAIT), attribution.get(LINK)), (3, 0, 800));
        assert_eq!((drive.counters().host.unmapped_reads, drive.counters().host.unmapped_read_pages), counted);
    }
    // One page from RAM, ready at 5003, and one from the flash, ready at 5111, which waits until 5403. An unmapped page does the same.
    drive.map_functionally([3, 8]);
    let id = drive.at(3900, write(2));
    drive.advance(4500);
    assert!(drive.finished_at(id).is_some());
    for (at, first) in [(5000, 2), (7000, 7)] {
        let id = drive.at(at, pages(CommandKind::Read, first, 2));
        drive.expect_completion(id, at + 403 + 400);
        let attribution = drive.attribution_of(id);
        assert_eq!((attribution.get(ARRAY), attribution.get(LINK_WAIT), attribution.get(LINK)), (10, 292, 400));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 8))]
    /// Whether the flash, the buffer or no page at all has the data of a read.
    #[test]
    fn no_read_is_faster_than_the_way_to_ram_and_back(
        (overhead_ns, ram_ns, link, buffer_pages) in (0u64..60, 0u64..10, proptest::option::of(1000u32..20_000), 0u32..9),
        commands in proptest::collection::vec((0u64..300, 0u8..4, 0u64..100, 1u32..30), 40..80),
    ) {
        let mut device = buffered(buffer_pages);
        (device.host.overhead_ns, device.timing.ram_ns, device.host.link_mb_per_s) = (overhead_ns, ram_ns, link);
        let mut drive = drive(&device, no_gc());
        drive.map_functionally((0..16).step_by(3));
        let mut now = 0;
        for (pause, kind, sector, sectors) in commands {
            now += pause;
            let kind = [CommandKind::Read, CommandKind::Read, CommandKind::Write, CommandKind::Trim][usize::from(kind)];
            drive.at(now, Command { kind, sector, sectors, critical: false });
        }
        drive.run();
        prop_assert_eq!(drive.mismatch(), None);
        prop_assert!(drive.counters().host.unmapped_reads > 0);
        for (completion, _) in drive.observer().completed.iter().filter(|(completion, _)| completion.kind == CommandKind::Read) {
            let least = overhead_ns + ram_ns + device.host.link_ns(u64::from(completion.sectors * SECTOR_BYTES));
            prop_assert!(completion.completed - completion.arrived >= least, "a read took less than {}: {:?}", least, completion);
        }
    }
}

#[test]
fn a_write_whose_data_have_crossed_waits_for_space() {
    let mut drive = drive(&linked(1), no_gc());
    let first = drive.at(0, write(0));
    drive.expect_completion(first, 403);
    // Page 0 is flushed from 400 on, and page 2, which has crossed at 1400, finds no room until that ends.
    let second = drive.at(1000, pages(CommandKind::Write, 2, 1));
    drive.expect_completion(second, 400 + 1101 + 3);
    let attribution = drive.attribution_of(second);
    let flush = FOR_BUFFER + TrafficClass::Flush as usize;
    assert_eq!((attribution.get(LINK), attribution.get(flush), attribution.get(BUFFER)), (400, 101, 3));
}

/// What a write that waited for the buffer waited for, by the names of causes.
fn room_wait(drive: &TestDrive, id: u64) -> Vec<(&'static str, Ns)> {
    let parts = drive.attribution_of(id).parts().map(|(part, ns)| (PART_NAMES[part], ns));
    parts.filter(|(name, _)| name.starts_with("buffer_")).collect()
}

#[test]
fn a_write_that_finds_the_buffer_full_waits_for_what_its_pages_wait_for() {
    // The read has the die until 111, and page 0 is programmed until 1212.
    let mut device = one_channel(1, 1);
    (device.ram.buffer_kib, device.ram.flush_above_percent) = (8, 50);
    let mut one = drive(&device, no_gc());
    one.map_functionally([5]);
    one.at(0, read(5));
    one.at(1, write(0));
    one.at(1, write(1));
    let blocked = one.at(1, write(2));
    one.expect_completion(blocked, 1212 + 3);
    assert_eq!(room_wait(&one, blocked), [("buffer_host_read", 110), ("buffer_flush", 1101)]);
    // Pages that were on their way before half of the room was taken explain it as well.
    (device.ram.buffer_kib, device.ram.flush_above_percent) = (32, 25);
    let mut many = drive(&device, no_gc());
    many.map_functionally([9]);
    many.at(0, read(9));
    for lpn in 0..8 {
        many.at(1, write(lpn));
    }
    let blocked = many.at(1, write(8));
    many.expect_completion(blocked, 1212 + 3);
    assert_eq!(room_wait(&many, blocked), [("buffer_host_read", 110), ("buffer_flush", 1101)]);
}

#[test]
fn a_write_that_finds_the_buffer_full_waits_for_the_gc_of_its_pages() {
    let mut device = buffered(1);
    (device.geometry.channels, device.geometry.dies_per_chip) = (1, 1);
    let mut drive = at_the_brink(&device, plain_design(Scope::Plane), 2);
    // Page 0 is programmed at 1101, and a GC starts. Page 1 waits for it in the buffer, and page 2 for page 1.
    drive.at(0, write(0));
    drive.at(1101, write(1));
    let blocked = drive.at(1101, write(2));
    drive.run();
    assert_eq!(drive.counters().gc.gcs, 1);
    let wait = drive.finished_at(blocked).unwrap() - 1101 - 3;
    let (flush, gc): (Vec<_>, Vec<_>) = room_wait(&drive, blocked).into_iter().partition(|&(cause, _)| cause == "buffer_flush");
    assert_eq!(flush, [("buffer_flush", 1101)]);
    assert!(gc.iter().all(|(cause, _)| cause.contains("gc") || cause.ends_with("erase")), "{gc:?}");
    assert_eq!(gc.iter().map(|(_, ns)| ns).sum::<Ns>(), wait - 1101);
}

#[test]
fn a_write_that_finds_the_buffer_full_does_not_wait_for_superpages_to_fill() {
    let mut device = one_channel(1, 2);
    device.ram.buffer_kib = 4;
    let mut design = no_gc();
    design.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(5, GcPrograms::Single));
    let mut drive = drive(&device, design);
    // Page 0 would wait for a page of the other plane for 5 µs, in vain. It is padded as soon as a write waits for room.
    drive.at(0, write(0));
    let blocked = drive.at(0, write(1));
    drive.expect_completion(blocked, 1101 + 3);
    assert_eq!(room_wait(&drive, blocked), [("buffer_flush", 1101)]);
}

#[test]
fn room_that_no_page_explains_is_a_wait_for_the_buffer_itself() {
    let mut device = buffered(2);
    device.ram.flush_above_percent = 50;
    let mut drive = drive(&device, no_gc());
    drive.at(0, write(0));
    drive.at(0, write(1));
    let blocked = drive.at(0, write(2));
    // Page 1 has not left the buffer yet.
    drive.at(100, trim(1, 1));
    drive.expect_completion(blocked, 100 + 3);
    assert_eq!(room_wait(&drive, blocked), [("buffer_full", 100)]);
}

#[test]
fn a_stream_is_as_fast_as_the_link() {
    for kind in [CommandKind::Read, CommandKind::Write] {
        // 1000 ns for a page, which two dies could read in 56 and program in 551.
        let mut device = buffered(16);
        device.geometry.blocks_per_plane = 200;
        device.host.link_mb_per_s = Some(4096);
        let mut drive = drive(&device, no_gc());
        if kind == CommandKind::Read {
            drive.map_functionally(0..400);
        }
        for index in 0..200 {
            drive.at(0, pages(kind, 2 * index, 2));
        }
        drive.run();
        let last = drive.observer().completed.iter().map(|(completion, _)| completion.completed).max().unwrap();
        let ratio = 400.0 * 4096.0 * 1e9 / last as f64 / device.derived().read.link.unwrap();
        assert!((0.98..=1.0).contains(&ratio), "{kind:?}: {ratio}");
    }
}

#[test]
fn queues_under_saturation_are_served_by_their_weights() {
    let mut device = tiny_device();
    device.host.queue_weights = vec![1, 3];
    device.host.queue_depth = 4;
    let mut drive = drive(&device, no_gc());
    drive.map_functionally(0..8);
    let mut ids = [Vec::new(), Vec::new()];
    for index in 0..1000u32 {
        for queue in [0, 1] {
            ids[queue as usize].push(drive.submit_to(queue, 0, read(index % 8)).unwrap());
        }
    }
    while drive.observer().completed.len() < 1200 {
        assert!(drive.step());
    }
    let of = |queue: usize| drive.observer().completed.iter().filter(|(completion, _)| ids[queue].contains(&completion.id)).count() as f64;
    let ratio = of(1) / of(0);
    assert!((ratio / 3.0 - 1.0).abs() < 0.01, "{ratio}");
    drive.run();
    assert_eq!(drive.observer().completed.len(), 2000);
}

#[test]
fn a_queue_with_a_larger_weight_gets_its_command_in_before_those_that_came_first() {
    let finished = |weights: &[u32], queue: u32| {
        let mut device = tiny_device();
        device.host.queue_weights = weights.to_vec();
        device.host.queue_depth = 1;
        let mut drive = drive(&device, no_gc());
        drive.map_functionally([0]);
        for _ in 0..4 {
            drive.submit_to(0, 0, read(0)).unwrap();
        }
        let id = drive.submit_to(queue, 0, read(0)).unwrap();
        drive.run();
        drive.finished_at(id).unwrap()
    };
    assert_eq!(finished(&[1], 1), 5 * 111, "one queue: in order, whatever the workload says");
    assert_eq!(finished(&[1, 1], 1), 3 * 111, "one is in the device, and one of the first queue goes before it");
    assert_eq!(finished(&[3, 1], 1), 5 * 111);
    assert_eq!(finished(&[1, 1], 2), 5 * 111, "queue 2 of two is queue 0");
}

#[test]
fn a_trim_unmaps_whole_pages_and_they_read_as_zeroes_both_in_ram_time() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally(0..4);
    let blocks = drive.up.ftl.tables.valid_pages(BlockGroup(0)) + drive.up.ftl.tables.valid_pages(BlockGroup(8));
    // From the middle of page 0 to the middle of page 3: pages 1 and 2.
    let id = drive.at(100, Command { kind: CommandKind::Trim, sector: 4, sectors: 24, critical: false });
    assert_eq!(drive.up.ftl.tables.lookup(1), NONE, "at once");
    drive.expect_completion(id, 103);
    assert_eq!(drive.attribution_of(id).get(BUFFER), 3);
    let counters = drive.counters();
    assert_eq!((counters.host.trims, counters.host.trimmed_pages, counters.host.trimmed_partly, counters.ftl.host_pages), (1, 2, 2, 0));
    assert_eq!(drive.up.ftl.tables.valid_pages(BlockGroup(0)) + drive.up.ftl.tables.valid_pages(BlockGroup(8)), blocks - 2);
    let zeroes = drive.at(200, pages(CommandKind::Read, 1, 2));
    let kept = drive.at(200, read(3));
    drive.expect_completion(zeroes, 203);
    drive.expect_completion(kept, 311);
    let small = drive.at(400, Command { kind: CommandKind::Trim, sector: 1, sectors: 6, critical: false });
    drive.expect_completion(small, 403);
    assert_eq!((drive.counters().host.trimmed_pages, drive.counters().host.trimmed_partly), (2, 3));
    drive.up.ftl.tables.audit().unwrap();
    assert_eq!(drive.mismatch(), None);
}

#[test]
fn the_oracle_finds_a_page_that_a_trim_left_mapped() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally(0..2);
    drive.at(0, trim(0, 1));
    drive.advance(10);
    drive.inject(Fault::Map { lpn: 0, other: 1 });
    drive.at(20, read(0));
    drive.run();
    assert!(drive.mismatch().is_some());
}

#[test]
fn a_page_trimmed_in_the_buffer_is_never_programmed() {
    let mut drive = drive(&buffered(4), no_gc());
    drive.at(0, pages(CommandKind::Write, 0, 3));
    drive.at(10, trim(1, 1));
    drive.at(20, read(1));
    drive.at(30, pages(CommandKind::Write, 8, 4));
    drive.run();
    assert_eq!((drive.counters().host.trimmed_buffered, drive.counters().ftl.void_programs), (1, 0));
    drive.at(100_000, read(1));
    drive.run();
    assert_eq!((drive.up.ftl.tables.lookup(1), drive.mismatch()), (NONE, None));
}

/// Trims page 0 at `at` after a write of it at 0, and writes another page's worth into it at `again`.
fn trimmed_on_its_way(device: &Device, sectors: u32, at: Ns, again: Option<Ns>) -> TestDrive {
    let mut drive = drive(device, no_gc());
    drive.map_functionally([0]);
    drive.at(0, Command { kind: CommandKind::Write, sector: 0, sectors, critical: false });
    drive.at(at, trim(0, 1));
    if let Some(again) = again {
        drive.at(again, Command { kind: CommandKind::Write, sector: 2, sectors: 2, critical: false });
    }
    drive.at(at + 5, read(0));
    drive.run();
    drive.at(drive.now() + 10, read(0));
    drive.run();
    assert_eq!(drive.outstanding(), 0);
    assert_eq!(drive.mismatch(), None);
    drive.up.ftl.tables.audit().unwrap();
    drive.audit().unwrap();
    drive
}

#[test]
fn a_flush_under_way_does_not_bring_a_trimmed_page_back() {
    let mut device = buffered(1);
    device.ram.flush_above_percent = 1;
    // The flush begins at 0 and ends at 1101; that of a part reads the other five sectors first.
    for (sectors, program_ends) in [(8, 1101), (3, 1 + 10 + 63 + 1101)] {
        for at in [1, 50, 90, program_ends - 1] {
            for again in [None, Some(at), Some(at + 3)] {
                let drive = trimmed_on_its_way(&device, sectors, at, again);
                assert_eq!(drive.counters().ftl.void_programs, 1, "trimmed at {at}, {sectors} sectors");
                assert_eq!(drive.up.ftl.tables.lookup(0) == NONE, again.is_none());
                assert_eq!(drive.counters().ftl.host_pages, 1 + u64::from(again.is_some()));
            }
        }
        let after = trimmed_on_its_way(&device, sectors, program_ends, None);
        assert_eq!((after.counters().ftl.void_programs, after.counters().host.trimmed_pages), (0, 1));
    }
}

#[test]
fn a_direct_write_under_way_does_not_bring_a_trimmed_page_back() {
    for sectors in [8, 3] {
        for at in [1, 50, 1000] {
            for again in [None, Some(at), Some(at + 3)] {
                let drive = trimmed_on_its_way(&tiny_device(), sectors, at, again);
                assert_eq!(drive.counters().ftl.void_programs, 1);
                assert_eq!(drive.up.ftl.tables.lookup(0) == NONE, again.is_none());
            }
        }
    }
    // A write that waits for an earlier one of the same page is given up with it.
    let mut drive = drive(&tiny_device(), no_gc());
    drive.at(0, write(0));
    let second = drive.at(1, write(0));
    drive.at(2, trim(0, 1));
    drive.expect_completion(second, 2202);
    assert_eq!((drive.counters().ftl.void_programs, drive.up.ftl.tables.lookup(0)), (2, NONE));
}

#[test]
fn a_write_that_waits_for_space_loses_what_is_trimmed() {
    let mut drive = drive(&buffered(1), no_gc());
    drive.at(0, write(0));
    // Page 2 finds no room until 1101, page 4 until later.
    let write = drive.at(10, pages(CommandKind::Write, 2, 3));
    drive.at(20, trim(3, 1));
    drive.run();
    assert!(drive.finished_at(write).is_some());
    assert_eq!((drive.counters().host.trimmed_buffered, drive.up.ftl.tables.lookup(3)), (1, NONE));
    for lpn in [2, 3, 4] {
        drive.at(drive.now() + 1, read(lpn));
        drive.run();
    }
    assert_eq!(drive.mismatch(), None);
    assert_eq!(drive.up.up.up.host.void_pages_for_test(), 0);
}

#[test]
fn a_page_that_gc_copies_stays_trimmed() {
    for through_controller in [false, true] {
        let mut design = plain_design(Scope::Plane);
        if through_controller {
            design.gc = toml::from_str("copy = \"controller\"").unwrap();
        }
        let mut drive = at_the_brink(&tiny_device(), design, 2);
        let planes = drive.flash.device.geometry.planes();
        drive.at(0, write(0));
        // The first copy runs from 1101 on.
        drive.advance(1500);
        let copied = drive.flash.ops[drive.flash.die(0).running as usize].tag;
        assert_eq!(copied % planes, 0);
        drive.at(1500, trim(copied, 1));
        drive.run();
        assert_eq!(drive.up.ftl.tables.lookup(copied), NONE);
        assert_eq!(drive.counters().gc.copies_wasted, 1);
        drive.at(drive.now() + 1, read(copied));
        drive.run();
        assert_eq!(drive.mismatch(), None);
        drive.audit().unwrap();
    }
}

#[test]
fn a_read_that_waited_for_a_page_trimmed_meanwhile_gets_zeroes() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0, 2]);
    drive.at(0, read(0));
    let waits = drive.at(1, read(2));
    drive.at(2, trim(2, 1));
    drive.expect_completion(waits, 111);
    assert_eq!(drive.attribution_of(waits).get(DIE + TrafficClass::HostRead as usize), 110);
    assert_eq!(drive.mismatch(), None);
}

/// What waits in the host behind a read that a GC delays waited for the GC; what never waited there knows nothing of that.
#[test]
fn a_wait_for_a_slot_is_for_what_the_request_in_it_waited_for() {
    let device = |queue_depth| {
        let mut device = one_channel(1, 2);
        device.host.queue_depth = queue_depth;
        device
    };
    let run = |queue_depth| {
        let device = device(queue_depth);
        let mut drive = at_the_brink(&device, plain_design(Scope::Die), 2);
        drive.map_functionally([1, 3]);
        drive.at(0, write(0));
        let behind_gc = drive.at(1500, read(1));
        let behind_it = drive.at(1600, read(3));
        drive.run();
        (drive, behind_gc, behind_it)
    };
    let (drive, behind_gc, behind_it) = run(1);
    let (in_device, waits) = (drive.completion_of(behind_gc), drive.completion_of(behind_it));
    assert_eq!(in_device.host_queue_ns, 0);
    assert_eq!(waits.host_queue_ns, in_device.completed - 1600);
    let (first, second) = (drive.attribution_of(behind_gc), drive.attribution_of(behind_it));
    let for_gc =
        [TrafficClass::GcRead, TrafficClass::GcProgram, TrafficClass::Erase, TrafficClass::GcLock].map(|traffic| DIE + traffic as usize);
    let sum = |attribution: &Attribution| for_gc.iter().map(|&part| attribution.get(part)).sum::<Ns>();
    let latency = in_device.completed - in_device.arrived;
    assert!(sum(first) * 10 > latency * 9, "{first:?}");
    assert!((sum(first) * waits.host_queue_ns / latency).abs_diff(sum(second)) <= 4, "{first:?} {second:?}");
    assert_eq!(second.get(ARRAY), first.get(ARRAY), "its own work is its own");
    assert!(second.get(DIE + TrafficClass::HostRead as usize) > 0, "the work of the other was a wait");
    // With a slot for each, nobody waits in the host, and the second read waits for the GC itself.
    let (drive, _, behind_it) = run(2);
    assert_eq!(drive.completion_of(behind_it).host_queue_ns, 0);
    assert!(sum(drive.attribution_of(behind_it)) > 0);
}
