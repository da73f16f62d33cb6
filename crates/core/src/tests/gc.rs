//! GC: what it locks, when it yields, gates, space.

use super::*;
use crate::ids::Pool;
use crate::testkit::with_victims;

#[test]
fn an_isolated_gc_copies_back_and_erases_in_the_sum_of_its_steps() {
    let mut drive = at_the_brink(&one_channel(1, 1), plain_design(Scope::Plane), 2);
    let trigger = drive.at(0, write(0));
    drive.expect_completion(trigger, 1101);
    drive.run();
    assert_eq!(drive.counters().gc.gcs, 1);
    // Page 0 was just overwritten, so one page is left: two commands, array read, array program; then command and erase.
    assert_eq!(drive.counters().gc.copy_ns, 1 + 10 + 1 + 1000);
    assert_eq!(drive.counters().gc.took_ns, 1012 + 1 + 10_000);
    drive.up.ftl.tables.audit().unwrap();
}

#[test]
fn an_isolated_gc_of_64_valid_pages_copies_for_54_ms_and_erases_for_2_ms() {
    let mut drive = at_the_brink(&table_1_plane(), plain_design(Scope::Plane), 65);
    drive.at(0, write(0));
    drive.run();
    assert_eq!(drive.counters().gc.gcs, 1);
    assert_eq!(drive.counters().gc.pages, 64);
    let commands = 64 * 2 * 200;
    assert_eq!(drive.counters().gc.copy_ns, 53_760_000 + commands);
    assert_eq!(drive.counters().gc.took_ns, 53_760_000 + commands + 200 + 2_000_000);
}

#[test]
fn an_uncontended_read_of_table_1_takes_140_us_and_its_command() {
    let mut drive = drive(&table_1_plane(), no_gc());
    drive.map_functionally([0]);
    let id = drive.at(0, read(0));
    drive.expect_completion(id, 140_200);
}

#[test]
fn the_mean_wait_of_one_die_under_poisson_reads_is_that_of_m_d_1() {
    use rand_core::Rng;
    let service = 140_200.0;
    for load in [0.3, 0.7, 0.85] {
        let device = table_1_plane();
        let mut drive = untraced(&device, no_gc(), false);
        for lpn in 0..64 {
            drive.write_for_test(lpn);
        }
        let mut random = rand_pcg::Pcg64Mcg::new(1 << 90 | 7);
        let mut now = 0.0f64;
        let (mut sum, mut count) = (0, 0);
        for _ in 0..200 {
            for _ in 0..10_000 {
                let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                now -= (1.0 - uniform).ln() * service / load;
                let lpn = random.next_u32() % 64;
                drive.advance(now as Ns);
                drive.submit(now as Ns, read(lpn)).unwrap();
            }
            // Millions of completions are too many to keep.
            for (completion, attribution) in drive.observer_mut().completed.drain(..) {
                sum += completion.completed - completion.arrived - 140_200;
                count += 1;
                assert_eq!(attribution.get(COMMAND) + attribution.get(ARRAY) + attribution.get(TRANSFER), 140_200);
            }
        }
        let wait = sum as f64 / count as f64;
        let theory = load * service / (2.0 * (1.0 - load));
        assert!((wait / theory - 1.0).abs() < 0.02, "at load {load}: mean wait {wait} ns, M/D/1 {theory} ns");
    }
}

#[test]
fn what_a_gc_locks_decides_who_waits() {
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
    assert_eq!(drive.attribution_of(id).get(CHANNEL + LOCKED_GC_PROGRAM), copied - 1500);
    assert_eq!(read_during_gc(Scope::Channel, &device, other_channel).2, free);
    let (drive, id, finished) = read_during_gc(Scope::Controller, &device, other_channel);
    assert_eq!(finished, copied + 111);
    assert_eq!(drive.attribution_of(id).get(CHANNEL + crate::observe::LOCKED_CONTROLLER), copied - 1500);

    let (drive, id, _) = read_during_gc(Scope::Plane, &device, 20);
    assert!(drive.completion_of(id).gc_blocked, "a read of the plane itself waits under every lock");
    assert_eq!(drive.attribution_of(id).get(DIE + TrafficClass::Erase as usize), 10_001);
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
fn two_gcs_that_lock_the_controller_do_not_deadlock() {
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
    assert!(drive.counters().gc.gcs > 4);
}

#[test]
fn a_gc_through_the_controller_moves_data_over_the_channel() {
    let mut design = plain_design(Scope::Plane);
    design.gc = toml::from_str("copy = \"controller\"").unwrap();
    let mut drive = at_the_brink(&one_channel(1, 1), design, 2);
    drive.at(0, write(0));
    drive.run();
    assert_eq!(drive.counters().gc.copy_ns, 111 + 1101);
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
        (drive.finished_at(id).unwrap(), drive.counters().gc.preemptions)
    };
    let mut design = plain_design(Scope::Plane);
    design.order = OrderPolicy::ReadFirst(ReadFirst::default());
    let (blocking, none) = finish(design);
    let mut design = plain_design(Scope::Plane);
    design.order = OrderPolicy::ReadFirst(ReadFirst::default());
    design.gc_lock = GcLockPolicy::Preemptible(Preemptible::new(Scope::Plane, Until::Urgent));
    let (preempted, some) = finish(design);
    assert_eq!(preempted, 2113 + 111);
    assert!(blocking > 1101 + 10_000);
    assert_eq!(none, 0);
    assert!(some > 0);
}

#[test]
fn below_the_hard_watermark_a_preemptible_gc_yields_no_more() {
    let finish = |hard: f64| {
        let mut design = plain_design(Scope::Plane);
        design.order = OrderPolicy::ReadFirst(ReadFirst::default());
        design.gc_lock = GcLockPolicy::Preemptible(Preemptible::new(Scope::Plane, Until::Urgent));
        design.gc_trigger = GcTriggerPolicy::Watermark(crate::techniques::gc_trigger::watermark::Watermark::new(50.0, hard));
        let mut drive = at_the_brink(&one_channel(1, 1), design, 4);
        // 16 of 32 pages are erased; with the write 15 are, and each page that the GC moves is one less.
        drive.at(0, write(15));
        let id = drive.at(2200, read(15));
        drive.run();
        (drive.finished_at(id).unwrap(), drive.counters().gc.preemptions)
    };
    // The pages end at 2113, 3125 and 4137. Fewer than 14 pages are erased from the second on, when the fourth has been read.
    assert_eq!(finish(25.0), (3125 + 111, 3), "above the watermark");
    let (finished, preemptions) = finish(43.75);
    assert_eq!(preemptions, 1, "14 erased pages are not below 43.75 %, 13 are");
    assert!(finished > 3125 + 10_000, "it waits for the erase: {finished}");
}

/// A gate that opens at a given time.
struct OpensAt(Ns);

impl GcGate for OpensAt {
    fn may_start(&mut self, view: View<'_>, _: Pool, _: Want) -> Gate {
        if view.now() >= self.0 { Gate::Open } else { Gate::ClosedUntil(self.0) }
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
    assert_eq!(drive.counters().gc.gcs, 1);
    // The first write completes at 1101 and makes the plane want a GC.
    assert_eq!(drive.counters().gc.gate_wait_ns, 5000 - 1101);
    assert_eq!(drive.counters().gc.gate_wait_ns_max, 5000 - 1101);
    assert_eq!(drive.counters().gc.took_ns_max, drive.counters().gc.took_ns);
}

#[test]
fn a_quiet_channel_lets_a_gc_start_and_a_busy_one_does_not() {
    let mut design = plain_design(Scope::Plane);
    design.gc_gate = GcGatePolicy::Free(Free::on_a_quiet_channel());
    let mut drive = at_the_brink(&one_channel(2, 1), design, 2);
    drive.map_functionally([1]);
    drive.at(0, write(0));
    drive.at(1100, read(1));
    drive.advance(1210);
    assert!(!drive.view().in_gc(0), "the read is on the channel until 1211");
    drive.advance(1211);
    assert!(drive.view().in_gc(0));
    assert_eq!(drive.counters().gc.gate_waits, 1);
}

#[test]
fn a_stalled_write_waits_for_the_erase_and_is_attributed_for_it() {
    let mut design = plain_design(Scope::Plane);
    design.gc_trigger = GcTriggerPolicy::Watermark(crate::techniques::gc_trigger::watermark::Watermark::new(30.0, 25.0));
    let mut device = one_channel(1, 1);
    device.host.queue_depth = 64;
    let mut drive = drive(&device, design);
    drive.map_functionally((0..16).chain(0..4));
    let ids: Vec<u64> = (0..64).map(|index| drive.at(0, write(index % 16))).collect();
    drive.run();
    assert_eq!(drive.outstanding(), 0, "{}", drive.explain_standstill());
    assert!(drive.counters().gc.gcs > 0);
    let space_blocked: Ns = ids.iter().map(|&id| drive.attribution_of(id).get(SPACE)).sum();
    assert!(space_blocked > 0 && drive.counters().flash.space_blocked > 0);
    assert!(ids.iter().all(|&id| drive.attribution_of(id).get(SPACE) == 0 || drive.completion_of(id).gc_blocked));
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
    let counters = drive.counters();
    assert_eq!((counters.gc.gcs, counters.gc.erases, counters.gc.pages), (1, 1, 1));
    assert_eq!((drive.view().erases_of(0), drive.up.ftl.tables.erase_count(0)), (1, 1));
    assert_eq!(drive.mismatch(), None);
}

/// What a run of ideal GC was: when its requests were done, what GC did, and the hash.
fn ideal_run(victims: &str, writes: &[u32]) -> (Vec<Option<Ns>>, [u64; 2], Vec<u32>, u64) {
    let mut design = with_victims(plain_design(Scope::Plane), victims);
    design.gc.ideal = true;
    let mut drive = drive(&one_channel(1, 1), design);
    drive.map_functionally(0..8);
    let ids: Vec<u64> = writes.iter().zip(1..).map(|(&lpn, index)| drive.at(index * 2000, write(lpn))).collect();
    drive.run();
    let finished = ids.iter().map(|&id| drive.finished_at(id)).collect();
    let erases = (0..8).map(|block| drive.up.ftl.tables.erase_count(block)).collect();
    (finished, [drive.counters().gc.pages, drive.counters().gc.erases], erases, drive.event_hash())
}

#[test]
fn the_hash_tells_what_gc_collected_that_takes_no_time() {
    let collected_otherwise = std::cell::Cell::new(0);
    proptest!(|(writes in prop::collection::vec(0..8u32, 1..80))| {
        let [greedy, fifo] = ["{ policy = \"greedy\" }", "{ policy = \"fifo\" }"].map(|victims| ideal_run(victims, &writes));
        prop_assert_eq!(&greedy.0, &fifo.0, "requests are done at the same times");
        if (&greedy.1, &greedy.2) != (&fifo.1, &fifo.2) {
            collected_otherwise.set(collected_otherwise.get() + 1);
            prop_assert_ne!(greedy.3, fifo.3);
        }
        prop_assert_eq!(greedy.3, ideal_run("{ policy = \"greedy\" }", &writes).3);
    });
    assert!(collected_otherwise.get() > 0);
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

/// A read that queues behind another one waits for the locked channel just the same, though the sums attribute the wait to the
/// read in front.
#[test]
fn whoever_waits_behind_a_read_that_a_gc_blocks_is_blocked_as_well() {
    let mut device = one_channel(2, 1);
    device.timing.read_ns = vec![500];
    let mut drive = at_the_brink(&device, plain_design(Scope::Channel), 2);
    drive.map_functionally([1, 3]);
    drive.at(0, write(0));
    // The GC takes the channel at 1101, while die 1 reads its array.
    let first = drive.at(1000, read(1));
    let second = drive.at(1000, read(3));
    drive.run();
    assert!(drive.completion_of(first).gc_blocked);
    assert!(drive.completion_of(second).gc_blocked);
}

/// The second one's wait is attributed to the program in front, which is what waits for the GC.
#[test]
fn a_write_behind_one_of_its_page_that_a_gc_blocks_is_blocked_as_well() {
    let gc_ends = 1101 + 1012 + 10_001;
    // Of a part of the page the old rest is read first, which waits in place of the program.
    for sectors in [8, 4] {
        for (at, blocked) in [(1300, true), (gc_ends - 1, true), (gc_ends, false)] {
            let mut drive = at_the_brink(&one_channel(1, 1), plain_design(Scope::Plane), 2);
            drive.at(0, write(0));
            let first = drive.at(1200, Command { sectors, ..write(1) });
            let second = drive.at(at, write(1));
            drive.run();
            assert_eq!(drive.counters().gc.gcs, 1);
            assert!(drive.completion_of(first).gc_blocked);
            assert_eq!(drive.completion_of(second).gc_blocked, blocked, "it came at {at}");
            let waited = drive.finished_at(first).unwrap() - at;
            assert_eq!(drive.attribution_of(second).get(DIE + TrafficClass::HostProgram as usize), waited);
        }
    }
}

#[test]
fn a_write_behind_one_of_its_page_that_waits_for_no_gc_is_not_blocked() {
    let mut drive = at_the_brink(&one_channel(1, 1), plain_design(Scope::Plane), 2);
    let ids = [0, 1, 2].map(|at| drive.at(at, write(0)));
    drive.run();
    assert_eq!(drive.counters().gc.gcs, 1);
    // The first two are programmed before the GC begins, the third after it.
    assert_eq!(ids.map(|id| drive.completion_of(id).gc_blocked), [false, false, true]);
}

/// The second GC requested a lock on its die while the first one had locked the channel, and was once forgotten when that ended.
#[test]
fn a_lock_request_outlives_the_channel_lock_of_another() {
    let mut drive = at_the_brink(&one_channel(2, 1), plain_design(Scope::Channel), 3);
    second_plane_at_the_brink(&mut drive);
    drive.at(0, write(0));
    drive.at(50, write(1));
    drive.run();
    assert_eq!(drive.counters().gc.gcs, 2, "{}", drive.explain_standstill());
}

#[test]
fn a_lock_request_passes_a_read_that_waits_for_the_channel_only_if_order_says_so() {
    // At 1101 the program of die 0 ends and its GC wants to lock it. Die 1 has the channel until 1161, so that the read that
    // waits at die 0 cannot start, and the lock, which needs only the die, could.
    let drive_with = |order: OrderPolicy| {
        let device = one_channel(2, 1);
        let mut drive = at_the_brink(&device, Design { order, ..plain_design(Scope::Die) }, 2);
        drive.map_functionally([1]);
        drive.at(0, write(0));
        drive.at(1050, read(1));
        let id = drive.at(1080, read(2));
        (drive, id)
    };
    for order in [plain_design(Scope::Die).order, OrderPolicy::ReadFirst(ReadFirst::default())] {
        let (mut drive, id) = drive_with(order);
        drive.expect_completion(id, 1161 + 1 + 10 + 100);
        drive.run();
        assert_eq!(drive.counters().gc.gcs, 1);
    }
    let (mut drive, id) = drive_with(OrderPolicy::GcFirst(GcFirst {}));
    drive.run();
    assert!(drive.finished_at(id).unwrap() > 10_000, "after the erase");
}

#[test]
fn what_is_made_free_takes_no_time_and_the_rest_as_long_as_before() {
    use TrafficClass::{Erase, GcProgram, GcRead};
    let gc_ns = |free: &[TrafficClass]| {
        let mut drive = at_the_brink(&tiny_device(), plain_design(Scope::Plane), 2);
        drive.make_free(free);
        drive.at(0, write(0));
        drive.run();
        drive.audit().unwrap();
        assert_eq!(drive.mismatch(), None);
        assert_eq!((drive.counters().gc.gcs, drive.counters().gc.pages), (1, 1));
        drive.counters().gc.took_ns
    };
    // One page, for the other is written: a command and a read, a command and a program; then a command and the erase.
    assert_eq!(gc_ns(&[]), 11 + 1001 + 10_001);
    assert_eq!(gc_ns(&[GcProgram]), 11 + 10_001);
    assert_eq!(gc_ns(&[Erase]), 11 + 1001);
    assert_eq!(gc_ns(&[GcRead, GcProgram, Erase]), 0);
}
