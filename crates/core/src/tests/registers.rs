//! Cache registers, and flash without multi-plane commands.

use super::*;

fn with_registers(dies: u32, planes: u32, read_ns: Ns) -> Device {
    let mut device = one_channel(dies, planes);
    device.flash.cache_register = true;
    device.timing.read_ns = vec![read_ns];
    device
}

#[test]
fn the_next_read_of_a_die_overlaps_with_the_transfer_of_the_last() {
    let mut drive = drive(&with_registers(1, 1, 10), no_gc());
    drive.map_functionally([0, 1, 2]);
    let ids: Vec<u64> = (0..3).map(|lpn| drive.at(0, read(lpn))).collect();
    // Page 0 is read at 11; the command of page 1 goes first, then the data of page 0.
    drive.expect_completion(ids[0], 12 + 100);
    // Page 1 is read at 22 and waits for the register, then for the command of page 2.
    drive.expect_completion(ids[1], 112 + 1 + 100);
    drive.expect_completion(ids[2], 213 + 100);
    assert_eq!(drive.attribution_of(ids[1]).get(CHANNEL + TrafficClass::HostRead as usize), (112 - 22) + 1);
}

#[test]
fn a_slow_array_hides_the_transfer() {
    let latency = |registers: bool| {
        let mut device = with_registers(1, 1, 500);
        device.flash.cache_register = registers;
        let mut drive = drive(&device, no_gc());
        drive.map_functionally([0, 1, 2, 3]);
        let ids: Vec<u64> = (0..4).map(|lpn| drive.at(0, read(lpn))).collect();
        drive.run();
        drive.finished_at(ids[3]).unwrap()
    };
    assert_eq!(latency(false), 4 * 601);
    assert_eq!(latency(true), 4 * 501 + 100);
}

#[test]
fn a_gc_that_assembles_pages_reads_on_while_they_cross_the_channel() {
    use crate::techniques::gc_gate::one_per_die::OnePerDie;
    use crate::techniques::gc_trigger::watermark::{Of, Watermark};
    use crate::techniques::pairing::superpage::{GcPrograms, SuperpagePrograms};
    use crate::techniques::place::superpage::Superpage;
    use crate::techniques::{GcGatePolicy, GcTriggerPolicy, PlacePolicy};

    // The four valid pages of the victim fill two programs of two planes.
    let copied_ns = |registers: bool| {
        let mut device = with_registers(1, 2, 10);
        device.flash.cache_register = registers;
        (device.geometry.blocks_per_plane, device.geometry.pages_per_block) = (16, 8);
        let mut design = plain_design(Scope::Plane);
        design.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(5, GcPrograms::AllPlanes));
        design.place = PlacePolicy::Superpage(Superpage::default());
        design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(20.0, 12.5).of(Of::Die));
        design.gc_gate = GcGatePolicy::OnePerDie(OnePerDie::default());
        design.gc = toml::from_str("copy = \"controller\"\ndestination = \"die\"").unwrap();
        let mut drive = drive(&device, design);
        drive.map_functionally(0..16);
        let victim = drive.up.ftl.tables.plane_of(drive.up.ftl.tables.lookup(0));
        let stale: Vec<Lpn> =
            (0..16).filter(|&lpn| drive.up.ftl.tables.plane_of(drive.up.ftl.tables.lookup(lpn)) == victim).take(4).collect();
        drive.map_functionally(stale);
        drive.start_gc(crate::ids::Pool(victim), false, crate::gc::state::Reason::Wanted);
        drive.run();
        assert_eq!((drive.counters().gc.gcs, drive.counters().gc.pages, drive.counters().ftl.padded_pages), (1, 4, 0));
        assert_eq!(drive.mismatch(), None);
        drive.audit().unwrap();
        drive.counters().gc.copy_ns
    };
    assert_eq!(copied_ns(false), 2 * (2 * 111 + 2 * 101 + 1000));
    // The array reads the second page of each pair while the first crosses the channel.
    assert_eq!(copied_ns(true), 2 * (12 + 2 * 100 + 2 * 101 + 1000));
}

#[test]
fn one_read_alone_takes_as_long_as_without_registers() {
    let mut drive = drive(&with_registers(1, 1, 10), no_gc());
    drive.map_functionally([0]);
    let id = drive.at(0, read(0));
    drive.expect_completion(id, 111);
    assert_eq!(drive.attribution_of(id).get(TRANSFER), 100);
}

#[test]
fn a_program_starts_only_when_the_registers_are_empty() {
    let mut drive = drive(&with_registers(2, 1, 10), no_gc());
    drive.map_functionally([0, 1]);
    let first = drive.at(0, read(0));
    let written = drive.at(5, write(2));
    let other = drive.at(6, read(1));
    // Die 0 is idle from 11 on, while its page crosses. The page of die 1 was queued before the program might.
    drive.expect_completion(first, 111);
    drive.expect_completion(other, 211);
    drive.expect_completion(written, 211 + 1101);
}

#[test]
fn each_plane_has_a_register_of_its_own() {
    let mut drive = drive(&with_registers(1, 2, 10), no_gc());
    drive.map_functionally([0, 1, 2]);
    // Planes 0, 1 and 0 again.
    let ids: Vec<u64> = [0, 1, 2].into_iter().map(|lpn| drive.at(0, read(lpn))).collect();
    // Page 1 has its register, so the command of page 2 goes as soon as page 0 has crossed, before page 1 does.
    drive.expect_completion(ids[0], 12 + 100);
    drive.expect_completion(ids[1], 113 + 100);
    drive.expect_completion(ids[2], 213 + 100);
}

#[test]
fn the_parts_of_a_fused_read_cross_one_after_another_while_the_array_reads_on() {
    let mut design = no_gc();
    design.pairing = PairingPolicy::SameOffset(SameOffset::default());
    let mut drive = drive(&with_registers(1, 2, 500), design);
    drive.map_functionally(0..6);
    let busy = drive.at(0, read(0));
    let ids: Vec<u64> = (2..6).map(|lpn| drive.at(1, read(lpn))).collect();
    drive.expect_completion(busy, 501 + 2 + 100);
    // Two commands and the array end at 1003; two more commands, then the data of the first two pages.
    drive.run();
    let ends: Vec<Ns> = ids.iter().map(|&id| drive.finished_at(id).unwrap()).collect();
    assert_eq!(ends, [1005 + 200, 1005 + 100, 1505 + 200, 1505 + 100]);
    assert_eq!(drive.counters().flash.paired, 2);
}

#[test]
fn commands_before_data_keep_the_dies_of_a_channel_out_of_step() {
    let makespan = |order: OrderPolicy| {
        let mut device = one_channel(2, 1);
        device.timing.read_ns = vec![100];
        let mut design = no_gc();
        design.order = order;
        let mut drive = drive(&device, design);
        drive.map_functionally(0..8);
        (0..16).for_each(|index| {
            drive.at(0, read(index % 8));
        });
        drive.run();
        drive.now()
    };
    let (by_age, commands) =
        (makespan(OrderPolicy::ReadFirst(ReadFirst::default())), makespan(OrderPolicy::ReadFirst(ReadFirst::new(Channel::Commands))));
    assert!(commands < by_age, "{commands} {by_age}");
    let alone = |order: OrderPolicy| {
        let mut design = no_gc();
        design.order = order;
        let mut drive = drive(&one_channel(1, 1), design);
        drive.map_functionally(0..4);
        (0..4).for_each(|lpn| {
            drive.at(0, read(lpn));
        });
        drive.run();
        drive.now()
    };
    assert_eq!(
        alone(OrderPolicy::ReadFirst(ReadFirst::default())),
        alone(OrderPolicy::ReadFirst(ReadFirst::new(Channel::Commands))),
        "one die has nobody to go before"
    );
}

#[test]
fn operations_are_paired_only_where_the_flash_has_multi_plane_commands() {
    for (reads, programs) in [(true, true), (true, false), (false, true)] {
        let mut device = one_channel(1, 2);
        (device.flash.multi_plane_read, device.flash.multi_plane_program) = (reads, programs);
        let mut design = no_gc();
        design.pairing = PairingPolicy::SameOffset(SameOffset::default());
        let mut drive = drive(&device, design);
        drive.map_functionally(0..4);
        drive.at(0, read(0));
        drive.at(1, read(2));
        drive.at(1, read(3));
        drive.run();
        assert_eq!(drive.counters().flash.paired, u64::from(reads));
        drive.at(5000, read(0));
        drive.at(5001, write(2));
        drive.at(5001, write(3));
        drive.run();
        assert_eq!(drive.counters().flash.paired, u64::from(reads) + u64::from(programs));
    }
}

/// Sixteen in all were once looked at, so that a deep queue of one plane hid the others.
#[test]
fn a_deep_line_of_one_plane_does_not_hide_another_plane() {
    let mut device = one_channel(1, 3);
    device.host.queue_depth = 64;
    let mut design = no_gc();
    design.pairing = PairingPolicy::SameOffset(SameOffset::default());
    let mut drive = drive(&device, design);
    drive.map_functionally(0..6);
    // The die is busy with plane 0 while twenty reads of page 1, in plane 1 at offset 0, are enqueued.
    drive.at(0, read(0));
    for _ in 0..20 {
        drive.at(1, read(1));
    }
    drive.at(2, read(2));
    drive.at(2, read(3));
    drive.run();
    // The first read of page 1 took page 2 with it, though nineteen others of its own plane stood before it; page 3 lies at
    // another offset.
    assert!(drive.counters().flash.paired >= 1);
}
