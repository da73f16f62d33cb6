//! Late-bound allocation, GC of single operations, preferences for fast and slow pages.

use super::*;
use crate::ids::{BlockGroup, Pool};
use crate::observe::PLACE;
use crate::policy::answers::{Parking, Preference};
use crate::policy::thresholds::CycleLevels;
use crate::policy::view::Unplaced;
use crate::techniques::PageChoicePolicy;
use crate::techniques::gc_lock::nothing::Nothing;
use crate::techniques::gc_trigger::background_emergency::BackgroundEmergency;
use crate::techniques::order::emergency_external_background::{Background, EmergencyExternalBackground, External};
use crate::techniques::order::rate_match::RateMatch;
use crate::techniques::page_choice::any::Any;
use crate::techniques::page_choice::by_writer::{ByWriter, Mode};
use crate::techniques::page_choice::dynamic::Dynamic;
use crate::techniques::page_choice::return_to_fast::{ReturnToFast, Strength};
use crate::techniques::place::next_idle::NextIdle;
use crate::testkit::over_provisioning;
use crate::testkit::with_victims;
use crate::units::MS;

/// Four pages fast, four slow in pairs, as in MLC A: FFFFSSFFSSFFSSSS.
const PAIRS: [u8; 16] = [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1];

/// Two channels of chips with blocks of 16 pages, fast ones of 1000 and slow ones of 3000.
fn device(dies: u32) -> Device {
    let mut device = tiny_device();
    let g = &mut device.geometry;
    (g.chips_per_channel, g.blocks_per_plane, g.pages_per_block) = (dies, 24, 16);
    (device.timing.read_ns, device.timing.program_ns) = (vec![10, 20], vec![1000, 3000]);
    device.timing.page_class_pattern = PAIRS.to_vec();
    device
}

fn late_bound(write_points: u32, choice: PageChoicePolicy) -> Design {
    let mut design = plain_design(Scope::Plane);
    design.place = PlacePolicy::NextIdle(NextIdle::default());
    design.gc_lock = GcLockPolicy::Nothing(Nothing {});
    design.order = OrderPolicy::EmergencyExternalBackground(EmergencyExternalBackground::default());
    design.page_choice = choice;
    design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(BackgroundEmergency::new(7, 2));
    design.gc = toml::from_str(&format!("copy = \"controller\"\ndestination = \"drive\"\nwrite_points = {write_points}")).unwrap();
    design
}

fn any() -> PageChoicePolicy {
    PageChoicePolicy::Any(Any {})
}

fn rtf(parking: Strength) -> PageChoicePolicy {
    PageChoicePolicy::ReturnToFast(ReturnToFast::new(parking))
}

fn critical(lpn: Lpn) -> Command {
    Command { critical: true, ..write(lpn) }
}

#[test]
fn a_page_waits_for_the_die_that_is_idle_first_and_the_wait_is_attributed() {
    let device = device(1);
    let mut drive = drive(&device, late_bound(1, any()));
    let first = drive.at(0, write(0));
    let second = drive.at(5, write(1));
    let third = drive.at(7, write(2));
    drive.expect_completion(first, 1101);
    drive.expect_completion(second, 1106);
    drive.expect_completion(third, 2202);
    let attribution = drive.attribution_of(third);
    assert_eq!((attribution.get(PLACE), attribution.get(COMMAND), attribution.get(TRANSFER), attribution.get(ARRAY)), (1094, 1, 100, 1000));
    assert_eq!(drive.counters().ftl.placed_after_wait, 1);
    assert_eq!(drive.up.ftl.tables.plane_of(drive.up.ftl.tables.lookup(2)), 0, "the first die became idle first");
}

#[test]
fn the_host_goes_on_between_two_operations_of_gc_and_nothing_is_locked() {
    let device = device(1);
    let mut design = late_bound(1, any());
    // Pages stay on their die, which makes the times easy to add.
    design.gc = toml::from_str("copy = \"controller\"").unwrap();
    let mut drive = drive(&device, design);
    age(&mut drive);
    drive.up.up.up.host.queue_for_test(crate::host::queue::HostQueue::new(32, false, &[1]));
    drive.wake();
    // Each die reads a page of its victim for GC, then it programs: its next read comes after the write that waits.
    drive.advance(drive.now() + 1);
    let begun = drive.now();
    let ids: Vec<u64> = (0..2).map(|lpn| drive.submit(begun, write(lpn)).unwrap()).collect();
    drive.run();
    for id in ids {
        let completion = drive.completion_of(id);
        // At most the read that ran, the page in hand, and its own program.
        assert!(completion.completed - begun <= 3200 + 3200 + 200, "{completion:?}");
        assert!(completion.gc_blocked);
    }
}

#[test]
fn gc_of_the_background_begins_at_idle_dies_or_when_the_whole_drive_is_idle() {
    for (background, beside, idle) in
        [(Background::IdleDie, true, true), (Background::IdleDrive, false, true), (Background::Never, false, false)]
    {
        let mut design = late_bound(1, any());
        design.order = OrderPolicy::EmergencyExternalBackground(EmergencyExternalBackground::new(background, External::PassedOver));
        let mut drive = drive(&device(2), design);
        age(&mut drive);
        let id = drive.submit(0, write(0)).unwrap();
        drive.wake();
        while drive.finished_at(id).is_none() {
            assert_eq!(drive.view().moves_under_way() > 0, beside);
            drive.step();
        }
        assert_eq!(drive.view().moves_under_way() > 0, idle, "the drive is idle, and all planes want GC");
        drive.run();
        drive.audit().unwrap();
    }
}

#[test]
fn a_read_of_a_busy_die_keeps_what_came_behind_it_from_idle_dies_where_the_host_is_served_in_order() {
    for (external, begins) in [(External::PassedOver, 2), (External::InOrder, 1101)] {
        let mut design = late_bound(1, any());
        design.order = OrderPolicy::EmergencyExternalBackground(EmergencyExternalBackground::new(Background::Never, external));
        let mut drive = drive(&device(1), design);
        drive.map_functionally([5, 6]);
        drive.at(0, write(0));
        while (0..2).all(|die| !drive.flash.die(die).is_running()) {
            drive.step();
        }
        let busy = (0..2).find(|&die| drive.flash.die(die).is_running()).unwrap();
        let of = |lpn| drive.up.ftl.tables.plane_of(drive.up.ftl.tables.lookup(lpn));
        let page = [5, 6].into_iter().find(|&lpn| of(lpn) == busy).expect("a page of each die");
        let read_id = drive.at(1, read(page));
        let write_id = drive.at(2, write(1));
        while drive.now() <= 1101 && drive.step() {
            drive.audit().unwrap();
        }
        drive.run();
        assert_eq!(drive.finished_at(write_id), Some(begins + 1101), "{external:?}");
        let placed = if external == External::InOrder { 1100 } else { 0 };
        assert_eq!(drive.attribution_of(read_id).get(PLACE), placed);
    }
}

/// Fills a drive and overwrites it at random, in the tables.
fn age(drive: &mut TestDrive) {
    let device = &mut drive.flash.device;
    (device.state.overwrite_percent, device.state.free_percent) = (300, Some(1.0));
    let design = &mut drive.up.up.up.up.policies;
    let level = design.level_at_start(device);
    design.start.ageing = Some(CycleLevels { start: level, stop: level });
    drive.age(1, &[], |_, _| true);
}

#[test]
fn a_block_without_valid_pages_is_erased_before_any_page_is_moved() {
    let device = device(1);
    let mut design = late_bound(1, any());
    design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(BackgroundEmergency::new(10, 2));
    let mut drive = drive(&device, design);
    // Plane 0: a block with one valid page, a block with none, and blocks full of valid ones, until ten are erased no more.
    let fill = |drive: &mut TestDrive, lpns: &mut dyn Iterator<Item = Lpn>| {
        for lpn in lpns {
            let ppn = drive.up.ftl.tables.take(0, 0, crate::ftl::Claimant::Gc).unwrap();
            drive.up.ftl.tables.commit_write(lpn, ppn);
            drive.up.oracle.as_mut().unwrap().aged(lpn, ppn);
        }
    };
    fill(&mut drive, &mut (0..32));
    fill(&mut drive, &mut (1..32));
    fill(&mut drive, &mut std::iter::once(100));
    fill(&mut drive, &mut (32..32 + 10 * 16));
    fill(&mut drive, &mut std::iter::once(101));
    assert_eq!(drive.up.ftl.tables.erased_groups(Pool(0)), 24 - 15);
    drive.wake();
    let erase = drive.next_event().unwrap();
    assert_eq!(erase, 5 * 2000 + 1, "the first operation is an erase");
    drive.run();
    assert_eq!((drive.counters().gc.erases, drive.counters().gc.pages), (1, 0), "with ten erased blocks nothing is wanted");
    assert_eq!(drive.up.ftl.tables.valid_pages(BlockGroup(0)), 1);
    drive.audit().unwrap();
}

#[test]
fn no_victim_is_begun_while_the_last_pages_of_another_make_up_for_what_is_lacking() {
    let device = device(4);
    for lacking in [1, 2] {
        let mut design = late_bound(1, any());
        design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(BackgroundEmergency::new(10, 2));
        let mut drive = drive(&device, design);
        // Plane 0: two blocks with four valid pages each, blocks full of valid ones, until so many are lacking, and half of an
        // open one.
        let mut fill = |lpns: std::ops::Range<Lpn>| {
            for lpn in lpns {
                let ppn = drive.up.ftl.tables.take(0, 0, crate::ftl::Claimant::Gc).unwrap();
                drive.up.ftl.tables.commit_write(lpn, ppn);
                drive.up.oracle.as_mut().unwrap().aged(lpn, ppn);
            }
        };
        fill(0..32);
        fill(4..16);
        fill(20..32);
        fill(40..40 + 8);
        fill(100..100 + 16 * (9 + lacking) + 8);
        assert_eq!(drive.up.ftl.tables.erased_groups(Pool(0)), 10 - lacking);
        drive.wake();
        drive.run();
        assert_eq!((drive.counters().gc.erases, drive.counters().gc.pages), (lacking.into(), 4 * u64::from(lacking)));
        drive.audit().unwrap();
    }
}

#[test]
fn a_page_that_was_read_stands_at_the_front_of_its_queue_and_behind_the_host() {
    let device = device(1);
    let mut drive = drive(&device, late_bound(1, any()));
    age(&mut drive);
    drive.wake();
    while drive.step() {
        let waits: usize = drive.up.ftl.late_bound.as_ref().unwrap().queues.iter().map(|line| line.len()).sum();
        assert!(waits <= 2, "each plane has one page in the controller");
    }
    assert!(drive.counters().gc.pages > 0);
    for plane in 0..2 {
        assert!(drive.up.ftl.tables.erased_groups(Pool(plane)) >= 7, "GC in idle time goes on up to the background threshold");
    }
    drive.audit().unwrap();
}

#[test]
fn a_critical_write_has_a_fast_page_where_others_take_what_comes() {
    let device = device(1);
    let mut drive = drive(&device, late_bound(2, any()));
    // Both dies have a write point on a fast page and one on a slow page, whose turn is first.
    for plane in 0..2 {
        for lpn in 0..4 {
            let ppn = drive.up.ftl.tables.take(plane, 0, crate::ftl::Claimant::Host).unwrap();
            drive.up.ftl.tables.commit_write(plane * 4 + lpn, ppn);
            drive.up.oracle.as_mut().unwrap().aged(plane * 4 + lpn, ppn);
        }
    }
    drive.find_write_points();
    let plain = drive.at(0, write(20));
    let hinted = drive.at(0, critical(21));
    drive.expect_completion(hinted, 1101);
    drive.expect_completion(plain, 3101);
    assert_eq!((drive.counters().ftl.critical_pages, drive.counters().ftl.critical_pages_fast), (1, 1));
}

#[test]
fn a_critical_write_rather_takes_a_slow_page_than_to_wait() {
    let device = device(1);
    let mut drive = drive(&device, late_bound(1, any()));
    for lpn in 0..4 {
        let ppn = drive.up.ftl.tables.take(1, 0, crate::ftl::Claimant::Host).unwrap();
        drive.up.ftl.tables.commit_write(lpn, ppn);
        drive.up.oracle.as_mut().unwrap().aged(lpn, ppn);
    }
    drive.find_write_points();
    drive.at(0, write(10));
    let hinted = drive.at(0, critical(11));
    drive.expect_completion(hinted, 3101);
    assert_eq!((drive.counters().ftl.critical_pages, drive.counters().ftl.critical_pages_fast), (1, 0));
}

#[test]
fn idle_time_returns_every_write_point_to_fast_pages_and_comes_to_an_end() {
    for (strength, parking) in [(Strength::Weak, Parking::Fast), (Strength::Strong, Parking::FastPair)] {
        for write_points in [1, 4] {
            let device = device(2);
            let mut drive = drive(&device, late_bound(write_points, rtf(strength)));
            age(&mut drive);
            drive.wake();
            drive.run();
            let parked = |drive: &TestDrive| drive.up.ftl.late_bound.as_ref().unwrap().points.unparked_of_all(parking) == 0;
            assert!(parked(&drive));
            let begun = drive.now();
            let reserve = if strength == Strength::Weak { 4 } else { 8 } * write_points;
            let ids: Vec<u64> = (0..reserve).map(|lpn| drive.submit(begun, write(lpn)).unwrap()).collect();
            drive.run();
            let last = ids.iter().map(|&id| drive.finished_at(id).unwrap()).max().unwrap();
            // All dies program fast pages, one after the other; the two dies of a channel share it.
            let rounds = Ns::from(reserve / 4);
            assert!(last - begun <= rounds * 1101 + 101, "{strength:?} {write_points}: {}", last - begun);
            assert!(parked(&drive), "and again");
            assert!(drive.counters().gc.return_to_fast_moves > 0);
            drive.audit().unwrap();
        }
    }
}

#[test]
fn return_to_fast_comes_to_an_end_whatever_the_order_of_pages() {
    for (pattern, program_ns) in [
        (vec![0, 1], vec![1000, 3000]),
        (vec![0, 1, 2], vec![1000, 3000, 3000]),
        // All are fast, so that there is nothing to return to.
        (vec![0, 1, 2], vec![1000; 3]),
    ] {
        let mut device = device(2);
        device.timing.read_ns = vec![10; program_ns.len()];
        (device.timing.page_class_pattern, device.timing.program_ns) = (pattern, program_ns);
        let mut drive = drive(&device, late_bound(4, rtf(Strength::Strong)));
        age(&mut drive);
        drive.wake();
        drive.run();
        assert_eq!(drive.up.ftl.late_bound.as_ref().unwrap().points.unparked_of_all(Parking::FastPair), 0);
        assert_eq!(drive.counters().gc.return_to_fast_moves > 0, device.program_rank_max() > 0);
        drive.audit().unwrap();
    }
}

#[test]
fn weak_parking_has_no_reserve_for_twice_as_many_pages() {
    let device = device(1);
    let mut drive = drive(&device, late_bound(1, rtf(Strength::Weak)));
    // The write points stand on the second fast page of a pair.
    for plane in 0..2 {
        for lpn in 0..7 {
            let ppn = drive.up.ftl.tables.take(plane, 0, crate::ftl::Claimant::Host).unwrap();
            drive.up.ftl.tables.commit_write(plane * 7 + lpn, ppn);
            drive.up.oracle.as_mut().unwrap().aged(plane * 7 + lpn, ppn);
        }
    }
    drive.wake();
    drive.run();
    assert_eq!(drive.counters().gc.pages, 0, "a fast page is enough");
    let ids: Vec<u64> = (0..4).map(|lpn| drive.at(drive.now(), write(20 + lpn))).collect();
    drive.run();
    assert_eq!(ids.map_finished(&drive), [1101, 1101, 4202, 4202]);
}

/// Times of completion of some requests.
trait MapFinished {
    fn map_finished(&self, drive: &TestDrive) -> Vec<Ns>;
}

impl MapFinished for Vec<u64> {
    fn map_finished(&self, drive: &TestDrive) -> Vec<Ns> {
        self.iter().map(|&id| drive.finished_at(id).unwrap()).collect()
    }
}

#[test]
fn a_die_in_an_emergency_leaves_the_hosts_pages_to_others() {
    let device = device(1);
    let mut drive = drive(&device, late_bound(1, any()));
    let page = Unplaced { from: NONE, preference: Preference::Any, asking: NONE, confined: false };
    assert!(drive.view().preferred_points(0, &page).is_some());
    drive.flash.planes_for_test()[0].urgent = true;
    assert_eq!(drive.view().preferred_points(0, &page), None);
    assert!(drive.view().preferred_points(1, &page).is_some());
    let own = Unplaced { from: 0, ..page };
    assert!(drive.view().preferred_points(0, &own).is_some(), "what its own GC moves it takes");
    let confined = Unplaced { from: 0, confined: true, ..page };
    assert_eq!(drive.view().preferred_points(1, &confined), None, "where GC stays in its plane, others do not take it");
    let id = drive.at(0, write(0));
    let next = drive.at(0, write(1));
    drive.expect_completion(id, 1101);
    drive.expect_completion(next, 2202);
    assert_eq!(drive.up.ftl.tables.live_pages(0), 0);
}

#[test]
fn a_full_line_of_writes_goes_on_when_nothing_can_be_collected() {
    // Every page is live or erased, and plane 0 is below its emergency threshold.
    let device = device(1);
    let mut design = late_bound(1, any());
    design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(BackgroundEmergency::new(10, 9));
    let mut drive = drive(&device, with_victims(design, "{ policy = \"fifo\" }"));
    for lpn in 0..16 * 16 {
        let ppn = drive.up.ftl.tables.take(0, 0, crate::ftl::Claimant::Host).unwrap();
        drive.up.ftl.tables.commit_write(lpn, ppn);
        drive.up.oracle.as_mut().unwrap().aged(lpn, ppn);
    }
    drive.wake();
    let pages = device.logical_pages() as Lpn;
    for lpn in 16 * 16..pages {
        drive.submit(0, write(lpn)).unwrap();
    }
    drive.run();
    assert_eq!(drive.observer().completed.len() as Lpn, pages - 256);
    assert!(drive.up.ftl.tables.live_pages(0) > 256, "it takes its part");
    drive.audit().unwrap();
}

/// At saturation the time of the dies goes to programs of the mean speed, whatever the preference, since no page is skipped:
/// `w + m (read + w) + m / moves per erase x erase` for each page of the host.
#[test]
fn whatever_is_preferred_a_saturated_drive_takes_the_same_time_for_a_page() {
    let choices: [fn() -> PageChoicePolicy; 5] = [
        any,
        || PageChoicePolicy::ByWriter(ByWriter::new(Mode::FastGc)),
        || PageChoicePolicy::ByWriter(ByWriter::new(Mode::SlowGc)),
        || rtf(Strength::Strong),
        || PageChoicePolicy::Dynamic(Dynamic::default()),
    ];
    for choice in choices {
        for (write_points, matched) in [(1, true), (4, true), (4, false)] {
            let mut device = device(2);
            (device.geometry.blocks_per_plane, device.host.over_provisioning_percent) = (64, over_provisioning(70, 100));
            device.timing.read_ns = vec![30, 30];
            let mut design = late_bound(write_points, choice());
            if matched {
                design.order = OrderPolicy::RateMatch(RateMatch::default());
            }
            let mut drive = drive(&device, design);
            age(&mut drive);
            drive.wake();
            let mut random = rand_pcg::Pcg64Mcg::new(7);
            let pages = device.logical_pages() as Lpn;
            let mut play = |drive: &mut TestDrive, writes: usize| {
                let until = drive.observer().completed.len() + writes;
                while drive.observer().completed.len() < until {
                    while drive.outstanding() < 24 {
                        drive.submit(drive.now(), write(rand_core::Rng::next_u32(&mut random) % pages)).unwrap();
                    }
                    drive.step();
                }
            };
            // The pool is used up first.
            play(&mut drive, 2000);
            drive.reset_counters();
            let (begun, work) = (drive.now(), drive.view().work());
            play(&mut drive, 12_000);
            let (counters, done) = (drive.counters(), drive.view().work());
            let host = counters.ftl.host_pages as f64;
            let fast = (counters.ftl.fast_pages_host + counters.ftl.fast_pages_gc) as f64;
            let all = host + counters.gc.pages as f64;
            assert!((fast / all - 0.5).abs() < 0.01, "no page is skipped: {fast} of {all} are fast");
            let (moves, erases) = (counters.gc.pages as f64 / host, counters.gc.erases as f64 / host);
            let program = 1101.0 + 1000.0;
            let expected = program + moves * (131.0 + program) + erases * 10_001.0;
            let taken = 4.0 * (drive.now() - begun) as f64 / host;
            let name = drive.up.up.up.up.policies.page_choice.name();
            // Beyond that dies wait for their channel now and then.
            assert!((1.0..1.01).contains(&(taken / expected)), "{name} {write_points} {matched}: {taken} instead of {expected}");
            let recorded = (done.host_ns + done.move_ns + done.erase_ns) - (work.host_ns + work.move_ns + work.erase_ns);
            assert!((recorded as f64 / host / expected - 1.0).abs() < 0.01, "{name}: {recorded} recorded");
            drive.audit().unwrap();
        }
    }
}

/// Until it is told of a sustained load, a drive is one of return to fast without matched rates, event for event.
#[test]
fn the_mode_of_a_drive_changes_at_the_switch_and_not_before() {
    let play = |order: OrderPolicy, choice: PageChoicePolicy| {
        let mut device = device(2);
        (device.geometry.blocks_per_plane, device.host.over_provisioning_percent) = (64, over_provisioning(70, 100));
        let mut design = late_bound(4, choice);
        design.order = order;
        let mut drive = drive(&device, design);
        age(&mut drive);
        drive.wake();
        let mut random = rand_pcg::Pcg64Mcg::new(7);
        let pages = device.logical_pages() as Lpn;
        for _ in 0..40 {
            for _ in 0..100 {
                drive.submit(drive.now(), write(rand_core::Rng::next_u32(&mut random) % pages)).unwrap();
            }
            // Some idle time after each burst.
            drive.run();
            drive.advance(drive.now() + 20_000);
        }
        drive.audit().unwrap();
        let ends: Vec<Ns> = drive.observer().completed.iter().map(|(completion, _)| completion.completed).collect();
        (drive.event_hash(), ends)
    };
    let by_mode = |switch_ms: u64| {
        let choice = PageChoicePolicy::ByWorkloadMode(toml::from_str(&format!("switches_ms = [{switch_ms}]")).unwrap());
        play(OrderPolicy::RateMatch(RateMatch::default()), choice)
    };
    let fast = play(OrderPolicy::EmergencyExternalBackground(EmergencyExternalBackground::default()), rtf(Strength::Weak));
    assert_eq!(by_mode(1000), fast, "never told");
    let told = by_mode(2);
    let [before, before_fast] = [&told.1, &fast.1].map(|ends| ends.iter().copied().filter(|&end| end < 2 * MS).collect::<Vec<_>>());
    assert!(before.len() > 100 && before == before_fast, "{} and {}", before.len(), before_fast.len());
    assert!(told.1.len() > before.len() && told.1 != fast.1);
}

/// Pages that the GC of one plane moves begin cycles in others, and those end at the stop watermark too.
#[test]
fn planes_start_at_any_moment_of_their_cycles() {
    let mut device = device(4);
    (device.geometry.blocks_per_plane, device.host.over_provisioning_percent) = (64, over_provisioning(70, 100));
    (device.state.live_percent, device.state.free_percent, device.state.overwrite_percent) = (70, None, 300);
    let (seeds, planes) = (50, device.geometry.planes());
    let mut above_start = [0; 3];
    for seed in 0..seeds {
        let mut design = late_bound(1, any());
        design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(BackgroundEmergency::new(7, 2).stop_above(2));
        let mut drive = drive(&device, design);
        drive.age(seed, &[], |_, _| true);
        (0..planes).for_each(|plane| above_start[drive.up.ftl.tables.erased_groups(Pool(plane)) as usize - 7] += 1);
    }
    // Half a block is left when a cycle ends, and two more are opened before the next: 2, 2 and 1 of 5.
    let expected = [2, 2, 1].map(|fifths| seeds as u32 * planes * fifths / 5);
    let is_near = |(&planes, expected): (&u32, u32)| planes.abs_diff(expected) <= 45;
    assert!(above_start.iter().zip(expected).all(is_near), "{above_start:?}, expected {expected:?}");
}

#[test]
fn preferences_are_met_where_there_is_a_choice() {
    for (choice, gc_has_fast) in
        [(PageChoicePolicy::ByWriter(ByWriter::new(Mode::FastGc)), true), (PageChoicePolicy::ByWriter(ByWriter::new(Mode::SlowGc)), false)]
    {
        let device = device(1);
        let mut drive = drive(&device, late_bound(2, choice));
        // One write point of each die stands on a slow page.
        for plane in 0..2 {
            for lpn in 0..4 {
                let ppn = drive.up.ftl.tables.take(plane, 0, crate::ftl::Claimant::Host).unwrap();
                drive.up.ftl.tables.commit_write(plane * 4 + lpn, ppn);
                drive.up.oracle.as_mut().unwrap().aged(plane * 4 + lpn, ppn);
            }
        }
        drive.find_write_points();
        let id = drive.at(0, write(20));
        drive.expect_completion(id, if gc_has_fast { 3101 } else { 1101 });
        assert_eq!((drive.counters().ftl.host_preferences, drive.counters().ftl.host_preferences_met), (1, 1));
    }
}

#[test]
fn contradictions_are_refused_by_name() {
    let refused = |device: &Device, change: &dyn Fn(&mut Design)| {
        let mut design = late_bound(2, any());
        change(&mut design);
        design.prepare(device).unwrap_err().to_string()
    };
    let device = device(1);
    late_bound(5, any()).prepare(&device).err().map_or_else(|| panic!("5 + 7 are the spare blocks"), |_| ());
    late_bound(4, any()).prepare(&device).unwrap();
    let points = refused(&device, &|design| {
        design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(BackgroundEmergency::new(4, 3));
    });
    assert!(points.contains("`write_points` is 2") && points.contains("`background_blocks`") && points.contains("1 to 1"), "{points}");
    let order = refused(&device, &|design| {
        design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(BackgroundEmergency::new(3, 4));
    });
    assert!(order.contains("emergency < background"), "{order}");
    let pool = refused(&device, &|design| {
        design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(BackgroundEmergency::new(11, 2));
    });
    assert!(pool.contains("less than 12 in all"), "{pool}");
    let holds = refused(&device, &|design| design.gc_lock = plain_design(Scope::Plane).gc_lock);
    assert!(holds.contains("[gc_lock] `policy` = \"blocking\"") && holds.contains("\"nothing\""), "{holds}");
    let early = refused(&device, &|design| {
        design.place = plain_design(Scope::Plane).place;
        design.gc = toml::from_str("copy = \"controller\"").unwrap();
    });
    assert!(early.contains("\"next_idle\""), "{early}");
    let choice = PageChoicePolicy::ByWriter(ByWriter::new(Mode::FastGc));
    let mut without_choice = plain_design(Scope::Plane);
    without_choice.page_choice = choice;
    let without_choice = without_choice.prepare(&device).unwrap_err().to_string();
    assert!(
        without_choice.contains("[page_choice] `policy` = \"by_writer\"") && without_choice.contains("`write_points` is 1"),
        "{without_choice}"
    );
    let copyback = refused(&device, &|design| design.gc = toml::from_str("write_points = 2").unwrap());
    assert!(copyback.contains("\"copyback\""), "{copyback}");
}
