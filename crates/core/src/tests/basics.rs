//! Operations, resources, buffer, jobs, fused operations, the host side and the oracle.

use super::*;
use crate::attribution::parts::FOR_BUFFER;
use crate::observe::BUFFER;
use crate::raid::job::Job;

#[test]
fn a_read_is_command_array_and_transfer() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0]);
    let id = drive.at(1000, read(0));
    drive.expect_completion(id, 1111);
    let attribution = drive.attribution_of(id);
    assert_eq!((attribution.get(COMMAND), attribution.get(ARRAY), attribution.get(TRANSFER)), (1, 10, 100));
}

#[test]
fn policies_see_for_how_long_a_die_has_served_each_occupant() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0]);
    let id = drive.at(1000, read(0));
    let time = |drive: &TestDrive, traffic| drive.view().die_time_ns(0, traffic);
    drive.advance(1050);
    assert_eq!((time(&drive, TrafficClass::HostRead), time(&drive, TrafficClass::Erase)), (50, 0));
    drive.expect_completion(id, 1111);
    drive.advance(5000);
    assert_eq!(time(&drive, TrafficClass::HostRead), 111);
}

#[test]
fn a_read_of_part_of_a_page_transfers_only_its_sectors() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0]);
    let id = drive.at(0, Command { kind: CommandKind::Read, sector: 3, sectors: 2, critical: false });
    drive.expect_completion(id, 1 + 10 + 25);
}

#[test]
fn waiting_reads_of_a_page_may_be_served_by_one() {
    let played = |merges: bool, [second, third]: [(u64, u32); 2]| {
        let mut design = no_gc();
        design.pairing = PairingPolicy::Nothing(toml::from_str(&format!("merge_reads = {merges}")).unwrap());
        let mut drive = drive(&tiny_device(), design);
        drive.map_functionally([0]);
        let part = |(sector, sectors)| Command { kind: CommandKind::Read, sector, sectors, critical: false };
        let ids = [drive.at(0, read(0)), drive.at(10, part(second)), drive.at(20, part(third))];
        drive.run();
        assert_eq!(drive.mismatch(), None);
        drive.audit().unwrap();
        let merged = drive.counters().flash.merged_reads;
        let of_third = drive.attribution_of(ids[2]);
        (ids.map(|id| drive.finished_at(id).unwrap()), merged, of_third.get(TRANSFER))
    };
    let (whole, part) = ((0, 8), (2, 2));
    assert_eq!(played(false, [whole, whole]), ([111, 222, 333], 0, 100));
    // The first has begun when the others come.
    assert_eq!(played(true, [whole, whole]), ([111, 222, 222], 1, 100));
    // What the third does not carry itself counts as the second's.
    assert_eq!(played(true, [whole, part]), ([111, 222, 222], 1, 25));
    assert_eq!(played(true, [part, part]), ([111, 147, 147], 1, 25));
    assert_eq!(played(true, [part, whole]), ([111, 147, 258], 0, 100), "it wants sectors that the second does not carry");
}

#[test]
fn a_read_of_an_unmapped_page_returns_zeroes_from_ram_and_is_counted() {
    let mut drive = drive(&tiny_device(), no_gc());
    let id = drive.at(5, read(3));
    drive.expect_completion(id, 8);
    assert_eq!(drive.attribution_of(id).get(BUFFER), 3);
    assert_eq!((drive.counters().host.unmapped_reads, drive.counters().host.unmapped_read_pages), (1, 1));
}

#[test]
fn a_program_is_command_transfer_and_array() {
    let mut drive = drive(&tiny_device(), no_gc());
    let id = drive.at(0, write(0));
    drive.expect_completion(id, 1101);
}

#[test]
fn page_classes_have_their_own_times() {
    let mut device = tiny_device();
    device.timing.read_ns = vec![10, 30];
    device.timing.program_ns = vec![1000, 5000];
    device.timing.page_class_pattern = vec![0, 1];
    let mut drive = drive(&device, no_gc());
    let fast = drive.at(0, write(0));
    let slow = drive.at(10_000, write(2));
    drive.run();
    assert_eq!(drive.finished_at(fast), Some(1101));
    assert_eq!(drive.finished_at(slow), Some(10_000 + 5101));
    let slow_read = drive.at(20_000, read(2));
    drive.expect_completion(slow_read, 20_000 + 131);
}

#[test]
fn dies_share_their_channel_and_overlap_their_arrays() {
    let mut drive = drive(&one_channel(2, 1), no_gc());
    drive.map_functionally([0, 1]);
    let first = drive.at(0, read(0));
    let second = drive.at(0, read(1));
    // Commands at 0 and 1; arrays end at 11 and 12; the second transfer waits from 12 to 111.
    drive.expect_completion(first, 111);
    drive.expect_completion(second, 211);
    let attribution = drive.attribution_of(second);
    assert_eq!(attribution.get(CHANNEL + TrafficClass::HostRead as usize), 1 + 99);
    assert_eq!(attribution.get(DIE + TrafficClass::HostRead as usize), 0);
}

#[test]
fn a_channel_that_nobody_awaits_is_released_without_an_event() {
    let mut alone = drive(&one_channel(2, 1), no_gc());
    alone.map_functionally([0, 1]);
    alone.at(0, read(0));
    alone.run();
    assert_eq!(alone.counters().flash.events, 2, "array and transfer, nothing for the channel");
}

#[test]
fn a_die_serves_one_operation_at_a_time() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0, 2]);
    drive.at(0, read(0));
    let second = drive.at(50, read(2));
    drive.expect_completion(second, 222);
    assert_eq!(drive.attribution_of(second).get(DIE + TrafficClass::HostRead as usize), 111 - 50);
}

#[test]
fn the_device_queue_is_bounded_and_the_rest_waits_in_the_host() {
    let mut device = tiny_device();
    device.host.queue_depth = 1;
    let mut drive = drive(&device, no_gc());
    drive.map_functionally([0, 1]);
    drive.at(0, read(0));
    let second = drive.at(10, read(1));
    drive.expect_completion(second, 222);
    assert_eq!(drive.attribution_of(second).get(DIE + TrafficClass::HostRead as usize), 101);
    assert_eq!(drive.completion_of(second).host_queue_ns, 101);
}

#[test]
fn the_buffer_completes_writes_and_serves_reads_at_the_speed_of_ram() {
    let mut device = tiny_device();
    device.ram.buffer_kib = 16;
    let mut drive = drive(&device, no_gc());
    let written = drive.at(0, write(0));
    drive.expect_completion(written, 3);
    let hit = drive.at(10, read(0));
    drive.expect_completion(hit, 13);
    assert_eq!(drive.counters().buffer.hits, 1);
}

#[test]
fn a_full_buffer_blocks_writes_until_a_page_is_programmed() {
    let mut device = one_channel(1, 1);
    device.ram.buffer_kib = 8;
    device.ram.flush_above_percent = 50;
    let mut drive = drive(&device, no_gc());
    drive.at(0, write(0));
    drive.at(0, write(1));
    let blocked = drive.at(0, write(2));
    // The second write pushed page 0 out: programmed at 1101, its room is free then.
    drive.expect_completion(blocked, 1104);
    assert_eq!(drive.attribution_of(blocked).get(FOR_BUFFER + TrafficClass::Flush as usize), 1101);
}

#[test]
fn part_of_a_mapped_page_is_read_modified_and_written() {
    let mut device = one_channel(1, 1);
    device.geometry.channels = 1;
    let mut drive = drive(&device, no_gc());
    drive.map_functionally([0]);
    let id = drive.at(0, Command { kind: CommandKind::Write, sector: 0, sectors: 2, critical: false });
    // Six sectors are read: 1 + 10 + 75; the whole page is programmed: 1 + 100 + 1000.
    drive.expect_completion(id, 86 + 1101);
    let whole = drive.at(5000, read(0));
    drive.run();
    assert_eq!(drive.mismatch(), None);
    assert!(drive.finished_at(whole).is_some());
}

#[test]
fn writes_of_one_page_keep_their_order_without_buffer() {
    let mut drive = drive(&one_channel(1, 1), no_gc());
    drive.map_functionally([0]);
    drive.at(0, Command { kind: CommandKind::Write, sector: 0, sectors: 2, critical: false });
    let second = drive.at(1, Command { kind: CommandKind::Write, sector: 4, sectors: 1, critical: false });
    let third = drive.at(2, write(0));
    drive.run();
    assert!(drive.finished_at(second) < drive.finished_at(third));
    drive.at(100_000, read(0));
    drive.run();
    assert_eq!(drive.mismatch(), None);
}

#[test]
fn a_job_runs_its_stages_after_each_other_and_computes_between_them() {
    let mut drive = drive(&one_channel(3, 1), no_gc());
    drive.map_functionally([0, 1, 2]);
    let request = {
        // The request comes to life through a read that is replaced by the job below.
        let id = drive.at(0, read(2));
        drive.expect_completion(id, 111);
        drive.observer_mut().accepted(id + 1, 111);
        drive.up.up.up.host.begin_request_for_test(drive.flash.now, read(0))
    };
    let mut ops = [NONE; 3];
    for (index, lpn) in [0, 1].into_iter().enumerate() {
        let mut op = Op::new(OpKind::Read, Class::AuxiliaryRead, TrafficClass::Reconstruction, Owner::Request(request), lpn, lpn);
        op.sectors = 8;
        ops[index] = drive.flash.new_op(op);
    }
    drive.flash.ops[ops[0] as usize].next = ops[1];
    let mut last = Op::new(OpKind::Read, Class::AuxiliaryRead, TrafficClass::Reconstruction, Owner::Request(request), 2, 2);
    last.sectors = 8;
    ops[2] = drive.flash.new_op(last);
    let start = drive.now();
    drive.start_job(Job { compute_ns: 3, then: ops[2], ..Job::of(Owner::Request(request)) }, ops[0]);
    // Two parallel reads share the channel: 211. Then 3, and a read of 111.
    let end = start + 211 + 3 + 111;
    drive.advance(end - 1);
    assert_eq!(drive.outstanding(), 1);
    drive.advance(end);
    assert_eq!(drive.outstanding(), 0);
    let (_, attribution) = drive.observer().completed.last().unwrap();
    assert_eq!(attribution.get(COMPUTE), 3);
    assert_eq!(attribution.get(ARRAY), 20, "of the parallel reads only the last counts");
}

#[test]
fn parts_of_a_multi_plane_read_share_the_array_and_transfer_in_turn() {
    let mut design = no_gc();
    design.pairing = PairingPolicy::SameOffset(SameOffset::default());
    let mut drive = drive(&one_channel(1, 2), design);
    drive.map_functionally([0, 1, 2, 3]);
    // Page 0 occupies the die, so that the pages behind it are waiting together: 1 and 2 lie in different planes.
    let busy = drive.at(0, read(0));
    let lead = drive.at(1, read(2));
    let partner = drive.at(2, read(3));
    drive.expect_completion(busy, 111);
    // Two commands, one array read, the partner's transfer, then the lead's.
    drive.expect_completion(partner, 111 + 2 + 10 + 100);
    drive.expect_completion(lead, 111 + 2 + 10 + 200);
    assert_eq!(drive.counters().flash.paired, 1);
}

#[test]
fn parts_of_a_multi_plane_program_complete_together() {
    let mut design = no_gc();
    design.pairing = PairingPolicy::SameOffset(SameOffset::default());
    let mut drive = drive(&one_channel(1, 2), design);
    drive.map_functionally([0, 1]);
    drive.at(0, read(0));
    let first = drive.at(1, write(2));
    let second = drive.at(2, write(3));
    // Two commands, two transfers, one array program.
    drive.expect_completion(first, 111 + 2 + 200 + 1000);
    assert_eq!(drive.finished_at(second), drive.finished_at(first));
    // Plane 0 alone programs another page, so the offsets differ and nothing joins.
    drive.at(5000, write(0));
    drive.at(10_000, read(0));
    drive.at(10_001, write(2));
    drive.at(10_002, write(3));
    drive.run();
    assert_eq!(drive.counters().flash.paired, 1);
}

#[test]
fn commands_beyond_the_drive_and_of_no_sectors_are_refused() {
    let mut drive = drive(&tiny_device(), no_gc());
    let sectors = tiny_device().logical_sectors();
    let beyond = Command { kind: CommandKind::Read, sector: sectors - 1, sectors: 2, critical: false };
    assert!(drive.submit(0, beyond).unwrap_err().to_string().contains("beyond the drive"));
    let far = Command { kind: CommandKind::Read, sector: u64::MAX, sectors: u32::MAX, critical: false };
    assert!(drive.submit(0, far).is_err());
    let empty = Command { kind: CommandKind::Read, sector: 0, sectors: 0, critical: false };
    assert!(drive.submit(0, empty).is_err());
    assert!(drive.submit(0, Command { kind: CommandKind::Read, sector: sectors - 1, sectors: 1, critical: false }).is_ok());
}

#[test]
fn the_oracle_finds_a_fault_in_the_map() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0, 2]);
    drive.at(0, read(0));
    drive.run();
    assert_eq!(drive.mismatch(), None);
    drive.inject(Fault::Map { lpn: 0, other: 2 });
    drive.at(1000, read(0));
    drive.run();
    assert!(drive.mismatch().unwrap().contains("logical page 0"));
}

#[test]
fn the_oracle_finds_a_fault_in_a_gc_copy() {
    for copy in ["copyback", "controller"] {
        let mut design = plain_design(Scope::Plane);
        design.gc = toml::from_str(&format!("copy = \"{copy}\"")).unwrap();
        let mut drive = at_the_brink(&one_channel(1, 1), design, 2);
        drive.inject(Fault::GcCopy);
        drive.at(0, write(0));
        drive.run();
        assert_eq!(drive.mismatch(), None, "the copy itself is not a read");
        drive.at(100_000, read(1));
        drive.run();
        assert!(drive.mismatch().unwrap().contains("logical page 1"), "{copy}");
    }
}

#[test]
fn the_oracle_finds_a_fault_in_the_buffer() {
    let mut device = tiny_device();
    device.ram.buffer_kib = 16;
    let mut drive = drive(&device, no_gc());
    drive.at(0, write(0));
    drive.inject(Fault::Buffer);
    drive.at(10, write(0));
    drive.at(20, read(0));
    drive.run();
    assert!(drive.mismatch().unwrap().contains("buffer"));
}

#[test]
fn a_partly_buffered_page_that_is_not_mapped_is_served_by_the_ram() {
    let mut device = tiny_device();
    device.ram.buffer_kib = 64;
    let mut drive = drive(&device, no_gc());
    drive.at(0, Command { kind: CommandKind::Write, sector: 0, sectors: 2, critical: false });
    let id = drive.at(10, read(0));
    drive.expect_completion(id, 13);
    assert_eq!(drive.mismatch(), None);
}

#[test]
fn a_full_buffer_is_flushed_even_where_the_background_flush_never_begins() {
    let mut device = one_channel(1, 1);
    device.ram.buffer_kib = 8;
    device.ram.flush_above_percent = 100;
    let mut drive = drive(&device, no_gc());
    let ids: Vec<u64> = (0..5).map(|lpn| drive.at(0, write(lpn))).collect();
    drive.run();
    assert!(ids.iter().all(|&id| drive.finished_at(id).is_some()), "{}", drive.explain_standstill());
}

#[test]
fn a_late_submission_keeps_both_times() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0]);
    drive.advance(500);
    let id = drive.submit(200, read(0)).unwrap();
    drive.run();
    let completion = drive.completion_of(id);
    assert_eq!((completion.asked, completion.arrived, completion.completed), (200, 500, 611));
}

#[test]
fn a_submission_comes_after_the_events_of_its_time() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0]);
    let first = drive.submit(0, read(0)).unwrap();
    let second = drive.submit(1000, read(0)).unwrap();
    assert_eq!(drive.finished_at(first), Some(111));
    drive.expect_completion(second, 1111);
}

#[test]
fn an_observer_looks_at_the_drive_before_each_completion_at_which_it_wants_to() {
    let looks = |wants_look: fn(Ns) -> bool| {
        let mut drive = drive(&tiny_device(), no_gc());
        drive.observer_mut().wants_look = wants_look;
        for at in [1000, 2001, 3000, 3003, 4000] {
            drive.at(at, read(0));
        }
        drive.run();
        drive.observer_mut().looks.split_off(0)
    };
    // Each read takes 3 ns.
    assert_eq!(looks(|now| now.is_multiple_of(2)), [(2004, 1), (3006, 3)]);
    assert_eq!(looks(|_| false), []);
}
