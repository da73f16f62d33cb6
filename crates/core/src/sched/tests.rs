//! Each mechanism of the engine, probed just before and at the instant at which it must act.

use crate::design::Design;
use crate::device::Device;
use crate::drive::Drive;
use crate::event::{EventQueue, PlainHeap, Tournament};
use crate::host::{Command, CommandKind};
use crate::ids::{DieIx, Lpn, NONE, PlaneIx};
use crate::observe::{
    ARRAY, Blame, CHANNEL, COMMAND, COMPUTE, Completion, DIE, HELD_GC_PROGRAM, HOST_QUEUE, Observer, Occupant, SPACE, TRANSFER,
};
use crate::oracle::Fault;
use crate::policy::gc_gate::quiet_channel::QuietChannel;
use crate::policy::gc_hold::preemptible::Preemptible;
use crate::policy::gc_trigger::never::Never as NoGc;
use crate::policy::join::same_offset::SameOffset;
use crate::policy::order::gc_first::GcFirst;
use crate::policy::order::read_first::ReadFirst;
use crate::policy::{
    Gate, GcGate, GcGatePolicy, GcHoldPolicy, GcTriggerPolicy, JoinPolicy, Keep, OrderPolicy, Scope, Serve, Suspend, SuspendPolicy,
    Suspension,
};
use crate::sched::jobs::Stage;
use crate::sched::ops::{Class, Op, OpKind, Owner};
use crate::testkit::{plain_design, tiny_device};
use crate::units::Ns;
use crate::view::View;
use proptest::prelude::*;

/// Keeps every completion with its blame.
#[derive(Default)]
struct Recorder(Vec<(Completion, Blame)>);

impl Observer for Recorder {
    fn completed(&mut self, completion: &Completion, blame: &Blame) {
        assert_eq!(blame.total(), completion.completed - completion.arrived, "blame adds up: {blame:?}");
        self.0.push((*completion, blame.clone()));
    }
}

type TestDrive<Q = Tournament> = Drive<Recorder, Q>;

fn drive(device: &Device, design: Design) -> TestDrive {
    Drive::new(device, design, true, Recorder::default()).unwrap()
}

fn read(lpn: Lpn) -> Command {
    Command { kind: CommandKind::Read, sector: u64::from(lpn) * 8, sectors: 8 }
}

fn write(lpn: Lpn) -> Command {
    Command { kind: CommandKind::Write, sector: u64::from(lpn) * 8, sectors: 8 }
}

impl<Q: EventQueue> TestDrive<Q> {
    fn at(&mut self, now: Ns, command: Command) -> u64 {
        self.advance(now);
        self.submit(now, command).unwrap()
    }

    fn run(&mut self) {
        while self.step() {}
    }

    fn finished_at(&self, id: u64) -> Option<Ns> {
        self.observer().0.iter().find(|(completion, _)| completion.id == id).map(|(completion, _)| completion.completed)
    }

    fn blame_of(&self, id: u64) -> &Blame {
        &self.observer().0.iter().find(|(completion, _)| completion.id == id).expect("it completed").1
    }

    fn completion_of(&self, id: u64) -> Completion {
        self.observer().0.iter().find(|(completion, _)| completion.id == id).expect("it completed").0
    }

    /// Asserts that a request completes at `at`, and not a nanosecond earlier.
    #[track_caller]
    fn expect_completion(&mut self, id: u64, at: Ns) {
        if at > 0 && self.now() < at {
            self.advance(at - 1);
            assert_eq!(self.finished_at(id), None, "one nanosecond early");
        }
        self.advance(at);
        assert_eq!(self.finished_at(id), Some(at));
    }

    fn map_functionally(&mut self, lpns: impl IntoIterator<Item = Lpn>) {
        for lpn in lpns {
            self.write_for_test(lpn);
        }
    }
}

/// A device with several dies on one channel, and pages mapped in it.
fn one_channel(dies: u32, planes: u32) -> Device {
    let mut device = tiny_device();
    device.geometry.channels = 1;
    device.geometry.dies_per_chip = dies;
    device.geometry.planes_per_die = planes;
    device
}

fn no_gc() -> Design {
    let mut design = plain_design(Scope::Plane);
    design.gc_trigger = GcTriggerPolicy::Never(NoGc {});
    design
}

#[test]
fn a_read_is_command_array_and_transfer() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0]);
    let id = drive.at(1000, read(0));
    drive.expect_completion(id, 1111);
    let blame = drive.blame_of(id);
    assert_eq!((blame.get(COMMAND), blame.get(ARRAY), blame.get(TRANSFER)), (1, 10, 100));
}

#[test]
fn a_read_of_part_of_a_page_transfers_only_its_sectors() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0]);
    let id = drive.at(0, Command { kind: CommandKind::Read, sector: 3, sectors: 2 });
    drive.expect_completion(id, 1 + 10 + 25);
}

#[test]
fn a_read_of_an_unmapped_page_returns_zeroes_at_once_and_is_counted() {
    let mut drive = drive(&tiny_device(), no_gc());
    let id = drive.at(5, read(3));
    assert_eq!(drive.finished_at(id), Some(5));
    assert_eq!(drive.counters().unmapped_reads, 1);
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
    let blame = drive.blame_of(second);
    assert_eq!(blame.get(CHANNEL + Occupant::HostRead as usize), 1 + 99);
    assert_eq!(blame.get(DIE + Occupant::HostRead as usize), 0);
}

#[test]
fn a_channel_that_nobody_awaits_is_released_without_an_event() {
    let mut alone = drive(&one_channel(2, 1), no_gc());
    alone.map_functionally([0, 1]);
    alone.at(0, read(0));
    alone.run();
    assert_eq!(alone.counters().events, 2, "array and transfer, nothing for the channel");
}

#[test]
fn a_die_serves_one_operation_at_a_time() {
    let mut drive = drive(&tiny_device(), no_gc());
    drive.map_functionally([0, 2]);
    drive.at(0, read(0));
    let second = drive.at(50, read(2));
    drive.expect_completion(second, 222);
    assert_eq!(drive.blame_of(second).get(DIE + Occupant::HostRead as usize), 111 - 50);
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
    assert_eq!(drive.blame_of(second).get(HOST_QUEUE), 101);
    assert!(drive.completion_of(second).queue_blocked);
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
    assert_eq!(drive.counters().buffer_hits, 1);
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
    assert_eq!(drive.blame_of(blocked).get(crate::observe::BUFFER_FULL), 1101);
}

#[test]
fn part_of_a_mapped_page_is_read_modified_and_written() {
    let mut device = one_channel(1, 1);
    device.geometry.channels = 1;
    let mut drive = drive(&device, no_gc());
    drive.map_functionally([0]);
    let id = drive.at(0, Command { kind: CommandKind::Write, sector: 0, sectors: 2 });
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
    drive.at(0, Command { kind: CommandKind::Write, sector: 0, sectors: 2 });
    let second = drive.at(1, Command { kind: CommandKind::Write, sector: 4, sectors: 1 });
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
        drive.begin_request_for_test(read(0))
    };
    let mut ops = [NONE; 3];
    for (index, lpn) in [0, 1].into_iter().enumerate() {
        let mut op = Op::new(OpKind::Read, Class::AuxiliaryRead, Occupant::Reconstruction, Owner::Request(request), lpn, lpn);
        op.sectors = 8;
        ops[index] = drive.state.new_op(op);
    }
    drive.state.ops[ops[0] as usize].next = ops[1];
    let mut last = Op::new(OpKind::Read, Class::AuxiliaryRead, Occupant::Reconstruction, Owner::Request(request), 2, 2);
    last.sectors = 8;
    ops[2] = drive.state.new_op(last);
    let start = drive.now();
    drive.start_job(Owner::Request(request), &[Stage { first: ops[0], compute_ns: 3 }, Stage { first: ops[2], compute_ns: 5 }]);
    // Two parallel reads share the channel: 211. Then 3, a read of 111, and 5.
    let end = start + 211 + 3 + 111 + 5;
    drive.advance(end - 1);
    assert_eq!(drive.outstanding(), 1);
    drive.advance(end);
    assert_eq!(drive.outstanding(), 0);
    let (_, blame) = drive.observer().0.last().unwrap();
    assert_eq!(blame.get(COMPUTE), 8);
    assert_eq!(blame.get(ARRAY), 20, "of the parallel reads only the last counts");
}

#[test]
fn parts_of_a_multi_plane_read_share_the_array_and_transfer_in_turn() {
    let mut design = no_gc();
    design.join = JoinPolicy::SameOffset(SameOffset {});
    let mut drive = drive(&one_channel(1, 2), design);
    drive.map_functionally([0, 1, 2, 3]);
    // Page 0 occupies the die, so that the pages behind it are waiting together: 1 and 2 lie in different planes.
    let busy = drive.at(0, read(0));
    let lead = drive.at(1, read(2));
    let mate = drive.at(2, read(3));
    drive.expect_completion(busy, 111);
    // Two commands, one array read, the mate's transfer, then the lead's.
    drive.expect_completion(mate, 111 + 2 + 10 + 100);
    drive.expect_completion(lead, 111 + 2 + 10 + 200);
    assert_eq!(drive.counters().joined, 1);
}

#[test]
fn parts_of_a_multi_plane_program_complete_together() {
    let mut design = no_gc();
    design.join = JoinPolicy::SameOffset(SameOffset {});
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
    assert_eq!(drive.counters().joined, 1);
}

/// A one-plane drive at the brink: one more program starts a GC, whose victim has `valid` valid pages.
fn at_the_brink(device: &Device, design: Design, valid: u32) -> TestDrive {
    let mut drive = drive(device, design);
    let planes = device.geometry.planes();
    let pages = device.geometry.pages_per_block;
    // Plane 0 gets pages 0, planes, 2 x planes, ...: a first block, of which some pages die, and three more blocks.
    let lpn = |index: u32| index * planes;
    drive.map_functionally((0..pages).map(lpn));
    drive.map_functionally((valid..pages).map(lpn));
    let mut next = pages;
    while drive.state.books.free_pages(0) > drive.state.device.geometry.pages_per_plane() / 2 {
        drive.map_functionally([lpn(next)]);
        next += 1;
    }
    drive
}

#[test]
fn an_isolated_gc_copies_back_and_erases_in_the_sum_of_its_steps() {
    let mut drive = at_the_brink(&one_channel(1, 1), plain_design(Scope::Plane), 2);
    let trigger = drive.at(0, write(0));
    drive.expect_completion(trigger, 1101);
    drive.run();
    assert_eq!(drive.counters().gcs, 1);
    // Page 0 just died, so one page is left: two commands, array read, array program; then command and erase.
    assert_eq!(drive.counters().gc_copy_ns, 1 + 10 + 1 + 1000);
    assert_eq!(drive.counters().gc_ns, 1012 + 1 + 10_000);
    drive.state.books.audit().unwrap();
}

/// The drive of TTFLASH, cut down to one channel of one plane.
fn one_plane_of_ttflash() -> Device {
    let text = include_str!("../../../../devices/ttflash-256g.toml");
    let document = crate::config::Document::parse("ttflash-256g", text).unwrap();
    let mut device = Device::from_document(&document).unwrap();
    device.geometry.channels = 1;
    device.geometry.chips_per_channel = 1;
    device.geometry.blocks_per_plane = 16;
    device.ram.buffer_kib = 0;
    device.host.queue_depth = 65_536;
    device
}

#[test]
fn an_isolated_gc_of_64_valid_pages_copies_for_54_ms_and_erases_for_2_ms() {
    let mut drive = at_the_brink(&one_plane_of_ttflash(), plain_design(Scope::Plane), 65);
    drive.at(0, write(0));
    drive.run();
    assert_eq!(drive.counters().gcs, 1);
    assert_eq!(drive.counters().gc_pages, 64);
    let commands = 64 * 2 * 200;
    assert_eq!(drive.counters().gc_copy_ns, 53_760_000 + commands);
    assert_eq!(drive.counters().gc_ns, 53_760_000 + commands + 200 + 2_000_000);
}

#[test]
fn an_uncontended_read_of_ttflash_takes_140_us_and_its_command() {
    let mut drive = drive(&one_plane_of_ttflash(), no_gc());
    drive.map_functionally([0]);
    let id = drive.at(0, read(0));
    drive.expect_completion(id, 140_200);
}

#[test]
fn the_mean_wait_of_one_die_under_poisson_reads_is_that_of_m_d_1() {
    use rand_core::Rng;
    /// Adds up waits instead of keeping completions.
    #[derive(Default)]
    struct Waits(u128, u64);
    impl Observer for Waits {
        fn completed(&mut self, completion: &Completion, blame: &Blame) {
            self.0 += u128::from(completion.completed - completion.arrived - 140_200);
            self.1 += 1;
            let own = blame.get(COMMAND) + blame.get(ARRAY) + blame.get(TRANSFER);
            assert_eq!(own, 140_200);
        }
    }
    let service = 140_200.0;
    for load in [0.3, 0.7, 0.85] {
        let mut drive: Drive<Waits> = Drive::new(&one_plane_of_ttflash(), no_gc(), false, Waits::default()).unwrap();
        for lpn in 0..64 {
            drive.write_for_test(lpn);
        }
        let mut random = rand_pcg::Pcg64Mcg::new(1 << 90 | 7);
        let mut now = 0.0f64;
        for _ in 0..2_000_000 {
            let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            now -= (1.0 - uniform).ln() * service / load;
            let lpn = random.next_u32() % 64;
            drive.advance(now as Ns);
            drive.submit(now as Ns, read(lpn)).unwrap();
        }
        while drive.step() {}
        let Waits(sum, count) = *drive.observer();
        let wait = sum as f64 / count as f64;
        let theory = load * service / (2.0 * (1.0 - load));
        assert!((wait / theory - 1.0).abs() < 0.02, "at load {load}: mean wait {wait} ns, M/D/1 {theory} ns");
    }
}

/// What a read elsewhere waits for while a GC runs in plane 0.
fn read_during_gc(scope: Scope, device: &Device, lpn: Lpn) -> (TestDrive, u64, Ns) {
    let mut drive = at_the_brink(device, plain_design(scope), 2);
    drive.map_functionally([lpn]);
    drive.at(0, write(0));
    // At 1101 the GC starts; the read comes while it programs.
    let id = drive.at(1500, read(lpn));
    drive.run();
    let finished = drive.finished_at(id).unwrap();
    (drive, id, finished)
}

#[test]
fn what_a_gc_holds_decides_who_waits() {
    let mut device = one_channel(2, 1);
    device.geometry.channels = 2;
    // Planes 0 and 1 are on channel 0, 2 and 3 on channel 1; with CWDP page 2 is in plane 1 and page 1 in plane 2.
    let (same_channel, other_channel) = (2, 1);
    let free = 1500 + 111;
    let copied = 1101 + 1012;

    assert_eq!(read_during_gc(Scope::Plane, &device, same_channel).2, free);
    let (drive, id, finished) = read_during_gc(Scope::Channel, &device, same_channel);
    // The channel is given up when the erase starts; the waiting read is served before the erase's command.
    assert_eq!(finished, copied + 111);
    assert!(drive.completion_of(id).gc_blocked);
    assert_eq!(drive.blame_of(id).get(CHANNEL + HELD_GC_PROGRAM), copied - 1500);
    assert_eq!(read_during_gc(Scope::Channel, &device, other_channel).2, free);
    let (drive, id, finished) = read_during_gc(Scope::Controller, &device, other_channel);
    assert_eq!(finished, copied + 111);
    assert_eq!(drive.blame_of(id).get(CHANNEL + crate::observe::HELD_CONTROLLER), copied - 1500);

    let (drive, id, _) = read_during_gc(Scope::Plane, &device, 20);
    assert!(drive.completion_of(id).gc_blocked, "a read of the plane itself waits under every hold");
    assert_eq!(drive.blame_of(id).get(DIE + Occupant::Erase as usize), 10_001);
}

#[test]
fn a_held_plane_lets_its_siblings_work_between_the_steps_and_a_held_die_does_not() {
    let device = one_channel(1, 2);
    let (_, _, finished) = read_during_gc(Scope::Plane, &device, 1);
    // The program of the only page ends at 2113; then the read, which is older than the erase, is served.
    assert_eq!(finished, 2113 + 111);
    let (drive, id, finished) = read_during_gc(Scope::Die, &device, 1);
    assert_eq!(finished, 2113 + 10_001 + 111);
    assert!(drive.completion_of(id).gc_blocked);
}

#[test]
fn two_gcs_that_hold_the_controller_do_not_deadlock() {
    let mut device = one_channel(2, 1);
    device.geometry.channels = 2;
    let mut drive = drive(&device, plain_design(Scope::Controller));
    for round in 0..40u32 {
        for lpn in 0..8 {
            drive.at(u64::from(round) * 10, write(lpn));
        }
    }
    drive.run();
    assert_eq!(drive.outstanding(), 0, "{}", drive.explain_standstill());
    assert!(drive.counters().gcs > 4);
}

#[test]
fn a_gc_through_the_controller_moves_data_over_the_channel() {
    let mut design = plain_design(Scope::Plane);
    design.gc = toml::from_str("copy = \"controller\"").unwrap();
    let mut drive = at_the_brink(&one_channel(1, 1), design, 2);
    drive.at(0, write(0));
    drive.run();
    assert_eq!(drive.counters().gc_copy_ns, 111 + 1101);
    assert_eq!(drive.mismatch(), None);
}

#[test]
fn a_preemptible_gc_yields_after_a_page_and_a_blocking_one_after_the_erase() {
    let finish = |design: Design| {
        let mut drive = at_the_brink(&one_channel(1, 1), design, 3);
        drive.at(0, write(15));
        // The GC starts at 1101; its first page of three ends at 2113.
        let id = drive.at(1200, read(15));
        drive.run();
        (drive.finished_at(id).unwrap(), drive.counters().preemptions)
    };
    let mut design = plain_design(Scope::Plane);
    design.order = OrderPolicy::ReadFirst(ReadFirst {});
    let (blocking, none) = finish(design);
    let mut design = plain_design(Scope::Plane);
    design.order = OrderPolicy::ReadFirst(ReadFirst {});
    design.gc_hold = GcHoldPolicy::Preemptible(Preemptible::new(Scope::Plane));
    let (preempted, some) = finish(design);
    assert_eq!(preempted, 2113 + 111);
    assert!(blocking > 1101 + 10_000);
    assert_eq!(none, 0);
    assert!(some > 0);
}

/// A gate that opens at a given time.
struct OpensAt(Ns);

impl GcGate for OpensAt {
    fn may_start(&mut self, view: View<'_>, _: PlaneIx) -> Gate {
        if view.now() >= self.0 { Gate::Open } else { Gate::ShutUntil(self.0) }
    }
    fn strict(&mut self) -> bool {
        false
    }
}

#[test]
fn a_gate_is_asked_again_when_it_said_so() {
    let mut design = plain_design(Scope::Plane);
    design.gc_gate = GcGatePolicy::Custom(Box::new(OpensAt(5000)));
    let mut drive = at_the_brink(&one_channel(1, 1), design, 2);
    drive.at(0, write(0));
    drive.advance(4999);
    assert!(!drive.view().in_gc(0));
    drive.advance(5000);
    assert!(drive.view().in_gc(0));
    drive.run();
    assert_eq!(drive.counters().gcs, 1);
}

#[test]
fn a_quiet_channel_lets_a_gc_start_and_a_busy_one_does_not() {
    let mut design = plain_design(Scope::Plane);
    design.gc_gate = GcGatePolicy::QuietChannel(QuietChannel {});
    let mut drive = at_the_brink(&one_channel(2, 1), design, 2);
    drive.map_functionally([1]);
    drive.at(0, write(0));
    drive.at(1100, read(1));
    drive.advance(1210);
    assert!(!drive.view().in_gc(0), "the read is on the channel until 1211");
    drive.advance(1211);
    assert!(drive.view().in_gc(0));
    assert_eq!(drive.counters().gate_waits, 1);
}

/// Answers what it is told.
struct Answers(Suspension);

impl Suspend for Answers {
    fn suspend(&mut self, _: View<'_>, _: DieIx) -> Suspension {
        self.0
    }
}

/// A read that comes `into` the erase of a GC; returns when it completes, and when the GC has ended.
fn read_during_erase(answer: Suspension, into: Ns) -> (Ns, Ns, TestDrive) {
    let mut design = plain_design(Scope::Plane);
    design.suspend = SuspendPolicy::Custom(Box::new(Answers(answer)));
    let mut drive = at_the_brink(&one_channel(1, 1), design, 1);
    // Page 0 is the victim's only valid one and dies with this write: the erase starts at 1101, its array at 1102.
    drive.at(0, write(0));
    let id = drive.at(1102 + into, read(0));
    drive.run();
    let ended = drive.counters().gc_ns + 1101;
    (drive.finished_at(id).unwrap() - 1102, ended - 1102, drive)
}

#[test]
fn an_erase_that_is_not_suspended_keeps_a_read_to_its_end() {
    assert_eq!(read_during_erase(Suspension::No, 500).0, 10_000 + 111);
}

#[test]
fn suspending_anywhere_keeps_the_progress() {
    let (read, erased, drive) = read_during_erase(Suspension::Now(Keep::Progress, Serve::UntilNoneWaits), 500);
    // Suspend 30, read 111, resume 40, then the other 9500.
    assert_eq!(read, 500 + 30 + 111);
    assert_eq!(erased, 500 + 30 + 111 + 40 + 9500);
    assert_eq!(drive.counters().suspensions, 1);
    assert_eq!(drive.counters().forfeited_ns, 0);
}

#[test]
fn suspending_a_step_forfeits_it() {
    let (read, erased, drive) = read_during_erase(Suspension::Now(Keep::Steps, Serve::UntilNoneWaits), 2500);
    assert_eq!(read, 2500 + 30 + 111);
    // One step is kept; 500 of the second are lost.
    assert_eq!(erased, 2500 + 30 + 111 + 40 + 8000);
    assert_eq!(drive.counters().forfeited_ns, 500);
}

#[test]
fn a_step_that_ends_before_it_could_be_cut_counts() {
    let (read, erased, drive) = read_during_erase(Suspension::Now(Keep::Steps, Serve::UntilNoneWaits), 1971);
    assert_eq!(read, 2000 + 111);
    assert_eq!(erased, 2000 + 111 + 40 + 8000);
    assert_eq!(drive.counters().forfeited_ns, 0);
    let (read, _, drive) = read_during_erase(Suspension::Now(Keep::Steps, Serve::UntilNoneWaits), 1969);
    assert_eq!(read, 1969 + 30 + 111);
    assert_eq!(drive.counters().forfeited_ns, 1969);
}

#[test]
fn deferring_waits_for_the_end_of_the_step() {
    let (read, erased, drive) = read_during_erase(Suspension::AtBoundary(Serve::Arrived), 500);
    assert_eq!(read, 2000 + 111);
    assert_eq!(erased, 2000 + 111 + 40 + 8000);
    assert_eq!(drive.counters().suspensions, 1);
    let (read, ..) = read_during_erase(Suspension::AtBoundary(Serve::Arrived), 8500);
    assert_eq!(read, 10_000 + 111, "the last step's end is the erase's");
}

/// Suspends at once from a given time on.
struct From(Ns);

impl Suspend for From {
    fn suspend(&mut self, view: View<'_>, _: DieIx) -> Suspension {
        if view.now() >= self.0 { Suspension::Now(Keep::Progress, Serve::UntilNoneWaits) } else { Suspension::AskAt(self.0) }
    }
}

#[test]
fn a_policy_is_asked_again_when_it_said_so() {
    let mut design = plain_design(Scope::Plane);
    design.suspend = SuspendPolicy::Custom(Box::new(From(4000)));
    let mut drive = at_the_brink(&one_channel(1, 1), design, 1);
    drive.at(0, write(0));
    let id = drive.at(2000, read(0));
    drive.expect_completion(id, 4000 + 30 + 111);
}

#[test]
fn a_hold_is_given_up_while_the_erase_is_suspended() {
    let mut design = plain_design(Scope::Die);
    design.suspend = SuspendPolicy::Custom(Box::new(Answers(Suspension::Now(Keep::Progress, Serve::UntilNoneWaits))));
    let mut drive = at_the_brink(&one_channel(1, 2), design, 1);
    drive.map_functionally([1]);
    drive.at(0, write(0));
    let sibling = drive.at(3000, read(1));
    drive.expect_completion(sibling, 3000 + 30 + 111);
}

#[test]
fn a_program_can_be_suspended_as_well() {
    let mut design = no_gc();
    design.suspend = SuspendPolicy::Custom(Box::new(Answers(Suspension::Now(Keep::Progress, Serve::UntilNoneWaits))));
    let mut drive = drive(&one_channel(1, 1), design);
    drive.map_functionally([0]);
    let written = drive.at(0, write(1));
    let id = drive.at(301, read(0));
    drive.expect_completion(id, 301 + 30 + 111);
    drive.expect_completion(written, 1101 + 30 + 111 + 40);
    assert_eq!(drive.blame_of(written).get(DIE + Occupant::Suspend as usize), 30 + 111 + 40);
}

#[test]
fn a_starved_write_waits_for_the_erase_and_is_billed_for_it() {
    let mut design = plain_design(Scope::Plane);
    design.gc_trigger = GcTriggerPolicy::Watermark(crate::policy::gc_trigger::watermark::Watermark::new(30.0, 25.0));
    let mut device = one_channel(1, 1);
    device.host.queue_depth = 64;
    let mut drive = drive(&device, design);
    let ids: Vec<u64> = (0..64).map(|index| drive.at(0, write(index % 4))).collect();
    drive.run();
    assert_eq!(drive.outstanding(), 0, "{}", drive.explain_standstill());
    assert!(drive.counters().gcs > 0);
    let starved: Ns = ids.iter().map(|&id| drive.blame_of(id).get(SPACE)).sum();
    assert_eq!(starved > 0, drive.counters().starved > 0);
}

#[test]
fn gc_that_takes_no_time_leaves_no_trace_in_latency() {
    let mut design = plain_design(Scope::Plane);
    design.gc.ideal = true;
    let mut drive = at_the_brink(&one_channel(1, 1), design, 2);
    let trigger = drive.at(0, write(0));
    drive.expect_completion(trigger, 1101);
    let after = drive.at(1101, read(0));
    drive.expect_completion(after, 1101 + 111);
    assert_eq!(drive.counters().gcs, 1);
    assert_eq!(drive.mismatch(), None);
}

#[test]
fn without_gc_a_drive_runs_out_of_space_and_stands_still() {
    let mut drive = drive(&one_channel(1, 1), no_gc());
    for index in 0..64 {
        drive.at(0, write(index % 8));
    }
    drive.run();
    assert!(drive.outstanding() > 0);
    assert!(drive.explain_standstill().contains("wait for an erased page"), "{}", drive.explain_standstill());
}

#[test]
fn commands_beyond_the_drive_and_of_no_sectors_are_refused() {
    let mut drive = drive(&tiny_device(), no_gc());
    let sectors = tiny_device().logical_sectors();
    let beyond = Command { kind: CommandKind::Read, sector: sectors - 1, sectors: 2 };
    assert!(drive.submit(0, beyond).unwrap_err().to_string().contains("beyond the drive"));
    let far = Command { kind: CommandKind::Read, sector: u64::MAX, sectors: u32::MAX };
    assert!(drive.submit(0, far).is_err());
    let empty = Command { kind: CommandKind::Read, sector: 0, sectors: 0 };
    assert!(drive.submit(0, empty).is_err());
    assert!(drive.submit(0, Command { kind: CommandKind::Read, sector: sectors - 1, sectors: 1 }).is_ok());
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

/// One random design on one random device, small enough to be at its limits all the time.
#[derive(Clone, Debug)]
struct Mix {
    channels: u32,
    dies: u32,
    planes: u32,
    scope: u8,
    preemptible: bool,
    controller: bool,
    order: u8,
    join: bool,
    quiet: bool,
    suspend: u8,
    buffer_pages: u32,
    write_points: u32,
    command_ns: Ns,
    ideal: bool,
    sequence: bool,
    seed: u64,
}

fn mix() -> impl Strategy<Value = Mix> {
    let shape = (1u32..3, 1u32..4, prop_oneof![Just(1u32), Just(2), Just(4)], 0u8..4, any::<bool>(), any::<bool>());
    let rest = (0u8..3, any::<bool>(), any::<bool>(), 0u8..5, prop_oneof![Just(0u32), Just(2), Just(16)], 1u32..3, 0u64..3);
    (shape, rest, prop::bool::weighted(0.1), any::<bool>(), any::<u64>()).prop_map(
        |(
            (channels, dies, planes, scope, preemptible, controller),
            (order, join, quiet, suspend, buffer_pages, write_points, command_ns),
            ideal,
            sequence,
            seed,
        )| Mix {
            channels,
            dies,
            planes,
            scope,
            preemptible,
            controller,
            order,
            join,
            quiet,
            suspend,
            buffer_pages,
            write_points,
            command_ns,
            ideal,
            sequence,
            seed,
        },
    )
}

impl Mix {
    fn device(&self) -> Device {
        let mut device = tiny_device();
        let g = &mut device.geometry;
        (g.channels, g.dies_per_chip, g.planes_per_die) = (self.channels, self.dies, self.planes);
        g.blocks_per_plane = 16;
        device.timing.command_ns = self.command_ns;
        device.timing.read_ns = vec![10, 25];
        device.timing.program_ns = vec![1000, 1700];
        device.timing.page_class_pattern = vec![0, 1];
        device.ram.buffer_kib = self.buffer_pages * 4;
        device.host.queue_depth = 8;
        device
    }

    fn design(&self) -> Design {
        let scope = [Scope::Plane, Scope::Die, Scope::Channel, Scope::Controller][usize::from(self.scope)];
        let mut design = plain_design(scope);
        if self.preemptible {
            design.gc_hold = GcHoldPolicy::Preemptible(Preemptible::new(scope));
        }
        design.gc_trigger = GcTriggerPolicy::Watermark(crate::policy::gc_trigger::watermark::Watermark::new(40.0, 20.0));
        let copy = if self.controller { "controller" } else { "copyback" };
        let text =
            format!("copy = \"{copy}\"\nwrite_points = {}\npage_sequence = {}\nideal = {}", self.write_points, self.sequence, self.ideal);
        design.gc = toml::from_str(&text).unwrap();
        design.order = match self.order {
            0 => design.order,
            1 => OrderPolicy::ReadFirst(ReadFirst {}),
            _ => OrderPolicy::GcFirst(GcFirst {}),
        };
        if self.join {
            design.join = JoinPolicy::SameOffset(SameOffset {});
        }
        if self.quiet {
            design.gc_gate = GcGatePolicy::QuietChannel(QuietChannel {});
        }
        let answer = match self.suspend {
            0 => Suspension::No,
            1 => Suspension::Now(Keep::Progress, Serve::UntilNoneWaits),
            2 => Suspension::Now(Keep::Steps, Serve::Arrived),
            _ => Suspension::AtBoundary(Serve::Arrived),
        };
        if self.suspend > 0 {
            design.suspend = SuspendPolicy::Custom(Box::new(Answers(answer)));
        }
        design
    }

    /// Runs a random open-loop mix to its end; returns the event hash and what completed.
    fn run<Q: EventQueue>(&self, requests: u32) -> (u64, usize, crate::state::Counters) {
        use rand_core::Rng;
        let device = self.device();
        let mut drive: TestDrive<Q> = Drive::with_queue(&device, self.design(), true, Recorder::default()).unwrap();
        let mut random = rand_pcg::Pcg64Mcg::new(u128::from(self.seed) | 1 << 80);
        drive.age(self.seed, &[], |_, _| true);
        let sectors = device.logical_sectors();
        let mut now = 0;
        for _ in 0..requests {
            // Bursts and pauses: half of the requests come together, the others after up to two programs' time.
            now += if random.next_u32().is_multiple_of(2) { 0 } else { u64::from(random.next_u32() % 2400) };
            let length = if random.next_u32().is_multiple_of(3) { 1 + random.next_u32() % 40 } else { 8 };
            let mut sector = u64::from(random.next_u32()) % (sectors - u64::from(length));
            if length == 8 {
                sector -= sector % 8;
            }
            let kind = if random.next_u32() % 10 < 4 { CommandKind::Write } else { CommandKind::Read };
            drive.at(now, Command { kind, sector, sectors: length });
        }
        // An endless stream of events without completions would be a livelock.
        let mut idle = 0;
        let mut completed = 0;
        while drive.outstanding() > 0 && drive.step() {
            idle = if drive.observer().0.len() > completed { 0 } else { idle + 1 };
            completed = drive.observer().0.len();
            assert!(idle < 100_000, "requests stopped completing: {}", drive.explain_standstill());
        }
        assert_eq!(drive.outstanding(), 0, "{}", drive.explain_standstill());
        drive.run();
        assert_eq!(drive.mismatch(), None);
        drive.state.books.audit().unwrap();
        drive.audit().unwrap();
        (drive.event_hash(), drive.observer().0.len(), *drive.counters())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn any_mix_of_designs_completes_every_request_with_the_right_data_and_exact_blame(mix in mix()) {
        let (hash, completed, _) = mix.run::<Tournament>(300);
        prop_assert_eq!(completed, 300);
        let (again, ..) = mix.run::<PlainHeap>(300);
        prop_assert_eq!(hash, again, "the plain heap gives the same run");
    }
}
