use super::*;
use crate::design::Design;
use crate::device::{AgeingMethod, Device, Geometry, StartingState};
use crate::ids::{NONE, Ppn};
use crate::policy::answers::Scope;
use crate::precondition::common::*;
use crate::recorder::{TestDrive, untraced};
use crate::stripes::Stripes;
use crate::techniques::gc_trigger::never::Never;
use crate::techniques::{GcTriggerPolicy, PlacePolicy};
use crate::testkit::{over_provisioning, plain_design, tiny_device, with_victims};
use proptest::prelude::*;
use std::sync::Mutex;

/// A device of `planes` planes on two channels.
fn device(planes: u32, blocks_per_plane: u32, pages_per_block: u32) -> Device {
    let mut device = tiny_device();
    device.geometry =
        Geometry { channels: planes, chips_per_channel: 1, dies_per_chip: 1, blocks_per_plane, pages_per_block, ..device.geometry };
    device
}

fn drive(device: &Device, design: Design) -> TestDrive {
    untraced(device, design, false)
}

/// Write amplification over a further fifth of the live pages' number of random overwrites.
fn next_fifth(drive: &mut TestDrive) -> f64 {
    let live = LivePages { mapped: drive.flash.device.mapped_pages(), stripes: None, beyond: &[], beyond_of_host: 0, parity_percent: 100 };
    let writes = live.count() / 5;
    let moved = drive.overwrite_for_test(live, writes, 99);
    (writes + moved) as f64 / writes as f64
}

#[test]
fn the_layout_goes_on_as_the_drive_that_was_written_to_its_steady_state() {
    for (chain, logical_percent, free_percent, planes) in [
        ("{ policy = \"greedy\" }", 93, 0.0, 1),
        ("{ policy = \"greedy\" }", 60, 25.0, 1),
        ("{ policy = \"fifo\" }", 85, 5.0, 1),
        // The fewer the choices, the more victims differ, and the more of them must be looked at for a mean.
        ("{ policy = \"d_choices\", d = 5 }", 80, 0.0, 4),
        ("{ policy = \"d_choices\", d = 10 }", 80, 0.0, 1),
        ("{ policy = \"least_worn\" }", 90, 0.0, 1),
    ] {
        let mut device = device(planes, 1024, 128);
        device.host.over_provisioning_percent = over_provisioning(logical_percent, 100);
        device.state = StartingState { live_percent: 100, free_percent: Some(free_percent), overwrite_percent: 300, ..device.state };
        let mut amplification = |ageing| {
            device.state.ageing = ageing;
            let mut drive = drive(&device, with_victims(plain_design(Scope::Plane), chain));
            let aged = drive.age(5, &[], |_, _| true);
            assert_eq!(aged.steady, (ageing == AgeingMethod::Steady).then_some(true));
            drive.audit().unwrap();
            let after = next_fifth(&mut drive);
            drive.audit().unwrap();
            (after, aged)
        };
        let (written, by_writing) = amplification(AgeingMethod::Steady);
        let (drawn, by_layout) = amplification(AgeingMethod::Statistical);
        let what = format!("{chain}, {logical_percent}, {free_percent}: {written:.3} written, {drawn:.3} drawn");
        println!("{what}");
        assert!((drawn / written - 1.0).abs() < 0.02, "{what}");
        assert!(by_writing.free_pages_min.abs_diff(by_layout.free_pages_min) <= 128, "{by_writing:?} {by_layout:?}");
        assert!(by_writing.victim_valid_permille.abs_diff(by_layout.victim_valid_permille) <= 20, "{by_writing:?} {by_layout:?}");
    }
}

#[test]
fn rounds_are_reported_and_end_when_five_of_them_are_steady() {
    let mut device = device(1, 256, 32);
    device.host.over_provisioning_percent = over_provisioning(85, 100);
    device.state =
        StartingState { live_percent: 100, free_percent: Some(5.0), overwrite_percent: 0, ageing: AgeingMethod::Steady, ..device.state };
    let aged = drive(&device, plain_design(Scope::Plane)).age(1, &[], |_, _| true);
    assert_eq!((aged.steady, aged.rounds.len()), (Some(true), steady::WINDOW), "{:?}", aged.rounds);
    assert_eq!(aged.written_pages, aged.live_pages * (1 + steady::WINDOW as u64));
    // Rounds a twentieth as long show how write amplification begins: at 1, while erased pages last.
    device.state.round_percent = Some(5);
    let aged = drive(&device, plain_design(Scope::Plane)).age(1, &[], |_, _| true);
    assert_eq!(aged.rounds[0], 1.0);
    assert!(aged.steady == Some(true) && aged.rounds.len() > steady::WINDOW, "{:?}", aged.rounds);
    assert!(!steady::is_steady(&aged.rounds[..aged.rounds.len() - 1]) && steady::is_steady(&aged.rounds));
    assert_eq!(aged.written_pages, aged.live_pages + aged.rounds.len() as u64 * (aged.live_pages / 20));
}

#[test]
fn progress_is_of_one_total_and_ends_there() {
    for ageing in [AgeingMethod::Overwrite, AgeingMethod::Statistical, AgeingMethod::Random] {
        // So many pages that they are told more than once.
        let mut device = device(1, 4096, 64);
        device.state = StartingState { overwrite_percent: 30, ageing, ..device.state };
        let told = Mutex::new(Vec::new());
        let aged = drive(&device, plain_design(Scope::Plane)).age(1, &[], |done, total| {
            told.lock().unwrap().push((done, total));
            true
        });
        let told = told.into_inner().unwrap();
        assert!(told.is_sorted() && aged.written_pages > 0, "{told:?}");
        assert!(told.iter().all(|&(_, total)| total == aged.written_pages), "{told:?}");
        assert_eq!(told.last().unwrap().0, aged.written_pages);
    }
}

#[test]
fn a_steady_state_without_a_theory_is_written_and_that_is_said() {
    for (chain, used) in [
        ("{ policy = \"cost_benefit\" }", Some("overwrite")),
        ("{ policy = \"least_worn\" }, { policy = \"greedy\" }", Some("overwrite")),
        ("{ policy = \"greedy\" }, { policy = \"least_worn\" }", None),
    ] {
        let mut device = tiny_device();
        device.state.ageing = AgeingMethod::Statistical;
        let adjusted = with_victims(plain_design(Scope::Plane), chain).fit_space(&mut device);
        assert_eq!(adjusted.first().and_then(|adjustment| adjustment.used.as_str()), used, "{chain}: {adjusted:?}");
    }
}

#[test]
fn overwrites_are_of_all_pages_of_the_host_and_take_parity_along_as_often_as_is_said() {
    let device = device(4, 16, 16);
    let stripes = Stripes::new(&device, 4);
    let beyond = [40, 43, stripes.parity(13), stripes.parity(14)];
    for parity_percent in [1, 33, 100] {
        let live = LivePages { mapped: 30, stripes: Some(&stripes), beyond: &beyond, beyond_of_host: 2, parity_percent };
        let mut draw = live.at_random(7);
        let (mut drawn, mut parity, mut before) = (vec![0u32; 44], 0u32, NONE);
        for _ in 0..live.with_parity(32_000) {
            let lpn = draw();
            if stripes.is_parity(lpn) {
                assert_eq!(lpn, stripes.parity(stripes.of(before)), "it follows a page of its stripe");
                parity += 1;
            } else {
                drawn[lpn as usize] += 1;
            }
            before = lpn;
        }
        let host: u32 = drawn.iter().sum();
        assert!((parity * 100).abs_diff(host * parity_percent) < 100 * 500, "{parity} of {host}, {parity_percent} %");
        for (lpn, &times) in drawn.iter().enumerate() {
            let is_live = lpn < 30 || lpn == 40 || lpn == 43;
            // A thousand each; five standard deviations.
            assert!(if is_live { times.abs_diff(1000) < 160 } else { times == 0 }, "{lpn}: {times}");
        }
    }
}

#[test]
fn ageing_is_stopped_when_it_is_told_so_and_leaves_the_tables_in_order() {
    for ageing in [AgeingMethod::Overwrite, AgeingMethod::Steady, AgeingMethod::Statistical, AgeingMethod::Random] {
        let mut device = device(4, 32, 16);
        device.state = StartingState { overwrite_percent: 300, ageing, ..device.state };
        let mut drive = drive(&device, plain_design(Scope::Plane));
        let aged = drive.age(1, &[], |_, _| false);
        assert!(aged.written_pages < aged.live_pages, "{aged:?}");
        drive.audit().unwrap();
    }
}

#[test]
fn planes_begin_level_where_the_state_says_so() {
    for ageing in [AgeingMethod::Overwrite, AgeingMethod::Statistical, AgeingMethod::Random] {
        let aged = |level_planes: bool, goes_on: bool| {
            let mut device = device(4, 64, 16);
            device.state = StartingState { overwrite_percent: 300, ageing, level_planes, ..device.state };
            let mut drive = drive(&device, plain_design(Scope::Plane));
            let aged = drive.age(1, &[], |_, _| goes_on);
            drive.audit().unwrap();
            aged
        };
        let (spread, level) = (aged(false, true), aged(true, true));
        assert!(spread.free_pages_min < spread.free_pages_max, "{spread:?}");
        assert_eq!([level.free_pages_min, level.free_pages_max], [spread.free_pages_min; 2], "{ageing:?}");
        assert!(level.written_pages > spread.written_pages && level.erases == spread.erases, "{level:?}");
        aged(true, false);
    }
}

#[test]
fn planes_begin_level_only_where_pages_have_a_fixed_plane() {
    let fault = |change: fn(&mut Design)| {
        let mut device = tiny_device();
        device.state.level_planes = true;
        let mut design = plain_design(Scope::Plane);
        change(&mut design);
        design.prepare(&device).err().map_or_else(String::new, |fault| fault.to_string())
    };
    assert_eq!(fault(|_| {}), "");
    assert_eq!(fault(|design| design.gc_trigger = GcTriggerPolicy::Never(Never {})), "");
    let refused = fault(|design| design.place = PlacePolicy::IdleDie(Default::default()));
    assert!(refused.contains("level_planes") && refused.contains("idle_die"), "{refused}");
}

#[test]
fn a_layout_opens_no_more_blocks_than_an_all_but_erased_plane_has() {
    let mut device = device(1, 8, 64);
    device.host.over_provisioning_percent = over_provisioning(50, 100);
    device.state = StartingState {
        live_percent: 1,
        free_percent: Some(99.0),
        overwrite_percent: 0,
        ageing: AgeingMethod::Statistical,
        ..device.state
    };
    for seed in 0..50 {
        let mut design = plain_design(Scope::Plane);
        design.gc.write_points = 2;
        design.gc_trigger = GcTriggerPolicy::Never(Never {});
        let mut drive = drive(&device, design);
        let aged = drive.age(seed, &[], |_, _| true);
        assert_eq!(drive.audit(), Ok(()));
        assert!(aged.free_pages_min >= 7 * 64, "{aged:?}");
    }
}

/// A drive that can exist, and what it is aged with.
#[derive(Clone, Debug)]
struct Shape {
    device: Device,
    victims: &'static str,
    write_points: u32,
    reserve_blocks: u32,
    /// Pages beyond the mapped ones.
    beyond: Vec<Lpn>,
    seed: u64,
}

impl Shape {
    fn design(&self) -> Design {
        let mut design = with_victims(plain_design(Scope::Plane), self.victims);
        (design.gc.write_points, design.gc.reserve_blocks) = (self.write_points, self.reserve_blocks);
        // The share of a plane at which GC becomes urgent would exclude the smallest drives.
        design.gc_trigger = GcTriggerPolicy::Never(Never {});
        design
    }

    fn live(&self) -> LivePages<'_> {
        let beyond_of_host = self.beyond.len() as u32;
        LivePages { mapped: self.device.mapped_pages(), stripes: None, beyond: &self.beyond, beyond_of_host, parity_percent: 100 }
    }
}

fn shapes(victims: &'static [&'static str]) -> impl Strategy<Value = Shape> {
    // A short block of a drive with few live pages often holds none of them.
    let geometry = (1u32..6, 6u32..40, prop_oneof![1u32..70, 1u32..9]);
    let state = (prop_oneof![0u32..=100, 0u32..20], 0u32..60, 0u32..300);
    (geometry, state, 1u32..3, 1u32..3, 0..victims.len(), any::<u64>()).prop_filter_map(
        "a drive that can exist",
        |((planes, blocks, pages), (live_percent, free_percent, overwrite_percent), write_points, reserve_blocks, chain, seed)| {
            let mut device = device(planes, blocks, pages);
            let logical = blocks.checked_sub(write_points + reserve_blocks + 1)?;
            device.host.over_provisioning_percent = over_provisioning(logical, blocks);
            let free_percent = free_percent.min(99 - live_percent.min(100 * logical / blocks));
            device.state = StartingState { live_percent, free_percent: Some(free_percent.into()), overwrite_percent, ..device.state };
            let beyond = (device.mapped_pages()..device.logical_pages() as Lpn)
                .filter(|&lpn| u64::from(lpn).wrapping_mul(seed | 1) >> 3 & 3 == 0)
                .collect();
            Some(Shape { device, victims: victims[chain], write_points, reserve_blocks, beyond, seed })
        },
    )
}

/// So many threads.
struct Several(usize);

impl Workers for Several {
    fn each<T: Send, S>(&self, items: &mut [T], scratch: impl Fn() -> S + Sync, work: impl Fn(&mut S, &mut T) -> bool + Sync) -> bool {
        let items = Mutex::new(items.iter_mut());
        let some = || {
            let mut scratch = scratch();
            while let Some(item) = { items.lock().unwrap().next() } {
                assert!(work(&mut scratch, item));
            }
        };
        std::thread::scope(|scope| (0..self.0).for_each(|_| drop(scope.spawn(some))));
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(2)) })]

    /// The plain order of the stream is what planes on their own, by one worker and by several, are checked against.
    #[test]
    fn planes_on_their_own_end_as_pages_in_the_order_of_the_stream(
        shape in shapes(&["{ policy = \"greedy\" }"]), steady in any::<bool>(), bad_blocks in 0u32..2, workers in 1usize..4
    ) {
        let mut device = shape.device.clone();
        device.state.ageing = if steady { AgeingMethod::Steady } else { AgeingMethod::Overwrite };
        let mut drives = [(); 2].map(|()| drive(&device, shape.design()));
        let needed = shape.live().count().div_ceil(u64::from(device.geometry.planes())) as u32 / device.geometry.pages_per_block;
        if needed + shape.write_points + shape.reserve_blocks + 3 < device.geometry.blocks_per_plane {
            drives.iter_mut().for_each(|drive| drive.up.ftl.tables.draw_bad_blocks(bad_blocks, shape.seed));
        }
        let planewise = Planewise::new(&mut drives[0]);
        prop_assert!(planewise.is_some());
        let by_plane = drives[0].age_by_writing(shape.live(), shape.seed, planewise, &Several(workers), &|_, _| true);
        let by_page = drives[1].age_by_writing(shape.live(), shape.seed, None, &OneByOne, &|_, _| true);
        prop_assert_eq!(by_plane, by_page);
        prop_assert!(drives[0].up.ftl.tables == drives[1].up.ftl.tables, "the tables differ");
        prop_assert_eq!(drives[0].audit(), Ok(()));
    }

    #[test]
    fn a_layout_keeps_the_tables_in_order_whatever_the_drive(
        shape in shapes(&["{ policy = \"greedy\" }", "{ policy = \"fifo\" }", "{ policy = \"least_worn\" }", "{ policy = \"d_choices\", d = 3 }"])
    ) {
        let mut device = shape.device.clone();
        device.state.ageing = if shape.seed % 3 == 0 { AgeingMethod::Random } else { AgeingMethod::Statistical };
        let mut design = shape.design();
        design.gc.page_sequence = true;
        let mut drive = drive(&device, design);
        let aged = drive.age(shape.seed, &shape.beyond, |_, _| true);
        prop_assert_eq!(drive.audit(), Ok(()));
        let tables = &drive.up.ftl.tables;
        let mapped = tables.map().iter().filter(|&&ppn| ppn != NONE).count() as u64;
        prop_assert_eq!(mapped, aged.live_pages);
        prop_assert!(aged.free_pages_min >= (shape.write_points + shape.reserve_blocks + 1) * device.geometry.pages_per_block);
        let blocks = device.geometry.planes() * device.geometry.blocks_per_plane;
        let erases: u64 = (0..blocks).map(|block| u64::from(tables.erase_count(block))).sum();
        prop_assert_eq!(erases, aged.erases);
        for stale in (0..device.geometry.physical_pages() as Ppn).filter(|&ppn| !tables.is_valid(ppn) && tables.owner(ppn) != NONE) {
            let present = tables.lookup(tables.owner(stale));
            prop_assert!(present != NONE && tables.sequence(stale) < tables.sequence(present), "{} is younger than {}", stale, present);
        }
        // Writing goes on from it.
        if shape.live().count() > 0 {
            drive.overwrite_for_test(shape.live(), 500, shape.seed);
            prop_assert_eq!(drive.audit(), Ok(()));
        }
        let map = drive.up.ftl.tables.map().to_vec();
        let (recovered, _) = drive.up.ftl.tables.recovered_for_test(false);
        prop_assert_eq!(recovered.map(), &map[..], "the present copy of each page is the youngest");
    }
}
