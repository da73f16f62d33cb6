//! Choice among the write points of planes that pages are bound to, GC that returns them to fast pages, and measured work.

use super::*;
use crate::ids::{BlockGroup, Pool};
use crate::techniques::PageChoicePolicy;
use crate::techniques::order::rate_match::RateMatch;
use crate::techniques::page_choice::by_writer::{ByWriter, Mode};
use crate::techniques::page_choice::return_to_fast::{ReturnToFast, Strength};
use crate::techniques::page_choice::{any::Any, dynamic::Dynamic};
use crate::techniques::pairing::superpage::{GcPrograms, SuperpagePrograms};
use crate::techniques::place::idle_die::IdleDie;

const FAST: Ns = 1 + 100 + 1000;
const SLOW: Ns = 1 + 100 + 3000;

/// One plane whose blocks have a fast page, a slow one, a fast one and a slow one.
fn device() -> Device {
    let mut device = one_channel(1, 1);
    device.geometry.blocks_per_plane = 24;
    (device.timing.read_ns, device.timing.program_ns) = (vec![10, 20], vec![1000, 3000]);
    device.timing.page_class_pattern = vec![0, 1];
    device
}

fn choosing(choice: PageChoicePolicy) -> Design {
    let mut design = no_gc();
    design.gc = toml::from_str("write_points = 3").unwrap();
    design.page_choice = choice;
    design
}

/// How long each of some writes takes, one after the other.
fn writes_take(drive: &mut TestDrive, count: u32) -> Vec<Ns> {
    let mut took = Vec::new();
    for lpn in 0..count {
        let now = drive.now();
        let id = drive.at(now, write(20 + lpn));
        drive.run();
        took.push(drive.finished_at(id).unwrap() - now);
    }
    took
}

#[test]
fn writes_have_the_preferred_page_while_a_write_point_of_their_plane_offers_one() {
    let took = |choice| writes_take(&mut drive(&device(), choosing(choice)), 5);
    assert_eq!(
        took(PageChoicePolicy::ByWriter(ByWriter::new(Mode::SlowGc))),
        [FAST, FAST, FAST, SLOW, FAST],
        "each of three, then one that is left"
    );
    assert_eq!(
        took(PageChoicePolicy::ByWriter(ByWriter::new(Mode::FastGc))),
        [FAST, SLOW, FAST, SLOW, FAST],
        "an erased block begins with a fast page"
    );
    let mut by_turns = drive(&device(), choosing(PageChoicePolicy::Any(Any {})));
    assert_eq!(writes_take(&mut by_turns, 5), [FAST, FAST, SLOW, SLOW, FAST], "two in turn; the second is GC's");
    assert_eq!((by_turns.counters().ftl.pages_spread, by_turns.counters().ftl.host_preferences), (2, 0));
    let mut preferences = drive(&device(), choosing(PageChoicePolicy::ByWriter(ByWriter::new(Mode::SlowGc))));
    writes_take(&mut preferences, 5);
    assert_eq!((preferences.counters().ftl.host_preferences, preferences.counters().ftl.host_preferences_met), (5, 4));
}

/// A drive with return to fast: two blocks are full, the first with two stale pages, and the first write point has written two pages.
fn returning(strength: Strength) -> TestDrive {
    let mut drive = drive(&device(), choosing(PageChoicePolicy::ReturnToFast(ReturnToFast::new(strength))));
    drive.map_functionally(0..8);
    drive.map_functionally(0..2);
    drive
}

fn offsets(drive: &TestDrive) -> [u32; 3] {
    [0, 1, 2].map(|point| drive.up.ftl.tables.next_offset(0, point))
}

#[test]
fn idle_time_steps_write_points_over_slow_pages_and_leaves_the_victim_as_it_is() {
    let mut drive = returning(Strength::Weak);
    let id = drive.at(0, write(20));
    drive.expect_completion(id, FAST);
    drive.run();
    assert_eq!(offsets(&drive), [2, 2, 0], "the write took a fast page of another write point, and a move its slow one");
    let counters = drive.counters();
    assert_eq!((counters.gc.return_to_fast_moves, counters.gc.pages, counters.gc.gcs, counters.gc.erases), (1, 1, 0, 0));
    assert!(!drive.view().in_gc(0));
    drive.audit().unwrap();
    assert_eq!(drive.up.ftl.tables.valid_pages(BlockGroup(0)), 1, "one of its two pages has gone");
    // It is a candidate as before.
    let mut found = Vec::new();
    drive.up.ftl.tables.fewest_valid(Pool(0), true, &mut found);
    assert_eq!(found, [BlockGroup(0)]);
    assert_eq!(drive.mismatch(), None);
}

#[test]
fn a_write_waits_for_one_page_of_a_return_to_fast_gc() {
    let mut drive = returning(Strength::Strong);
    // No page of this flash is followed by a fast one: strong parking is never reached, and idle time moves what it can.
    drive.at(0, write(20));
    let waits = drive.at(FAST + 5, write(21));
    drive.advance(FAST + 5);
    assert!(drive.view().in_gc(0));
    drive.run();
    let first_move = 10 + 1000 + 2;
    assert!(drive.finished_at(waits).unwrap() <= FAST + first_move + 3000 + SLOW, "{:?}", drive.finished_at(waits));
    drive.audit().unwrap();
}

#[test]
fn work_is_measured_where_the_order_asks_for_it() {
    let of = |order: Option<RateMatch>| {
        let mut design = plain_design(Scope::Plane);
        if let Some(order) = order {
            design.order = OrderPolicy::RateMatch(order);
        }
        let mut drive = at_the_brink(&tiny_device(), design, 2);
        drive.at(0, write(0));
        drive.run();
        assert_eq!((drive.counters().gc.gcs, drive.counters().gc.pages), (1, 1));
        drive.view().work()
    };
    let work = of(Some(RateMatch::new(500, false)));
    assert_eq!((work.host_programs, work.moves, work.erases, work.moves_of_erased), (1, 1, 1, 1));
    assert_eq!(work.host_ns, 1101);
    assert_eq!(of(None), crate::policy::view::Work::default());
}

#[test]
fn gc_that_is_a_job_is_not_kept_from_idle_dies_nor_the_host_from_dies_that_pages_have_early() {
    use crate::techniques::order::emergency_external_background::{Background, EmergencyExternalBackground, External};
    for (background, refused) in [(Background::IdleDie, false), (Background::IdleDrive, true), (Background::Never, true)] {
        let mut design = choosing(PageChoicePolicy::Any(Any {}));
        design.order = OrderPolicy::EmergencyExternalBackground(EmergencyExternalBackground::new(background, External::PassedOver));
        let found = design.prepare(&device()).map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(found.contains("[order] `background` = \"") && found.contains("contradicts [gc_lock] `policy`"), refused, "{found}");
    }
    let mut design = choosing(PageChoicePolicy::Any(Any {}));
    design.order = OrderPolicy::EmergencyExternalBackground(EmergencyExternalBackground::new(Background::IdleDie, External::InOrder));
    let found = design.prepare(&device()).unwrap_err().to_string();
    assert!(found.contains("[order] `external` = \"in_order\" contradicts [place] `policy`"), "{found}");
}

#[test]
fn contradictions_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Design, &mut Device)| {
        let (mut design, mut device) = (choosing(PageChoicePolicy::ReturnToFast(ReturnToFast::new(Strength::Weak))), device());
        change(&mut design, &mut device);
        design.prepare(&device).unwrap_err().to_string()
    };
    let one = refused(&|design, _| design.gc = toml::from_str("write_points = 1").unwrap());
    assert!(one.contains("[page_choice] `policy` = \"return_to_fast\"") && one.contains("[gc] `write_points` is 1"), "{one}");
    let superpage = |points: u32| {
        refused(&|design, device| {
            device.geometry.planes_per_die = 2;
            design.gc = toml::from_str(&format!("copy = \"controller\"\nwrite_points = {points}")).unwrap();
            design.pairing = PairingPolicy::SuperpagePrograms(SuperpagePrograms::new(3, GcPrograms::AllPlanes));
        })
    };
    assert!(
        superpage(2).contains("[page_choice] `policy`") && superpage(2).contains("[pairing] `policy` = \"superpage\""),
        "{}",
        superpage(2)
    );
    assert!(superpage(3).contains("[gc] `write_points` is 3") && superpage(3).contains("[pairing] `policy`"), "{}", superpage(3));
    let pool = refused(&|design, _| design.order = OrderPolicy::RateMatch(RateMatch::new(500, true)));
    assert!(pool.contains("[order] `policy` = \"rate_match\"") && pool.contains("[place] `policy` = \"static\""), "{pool}");
    let dynamic = refused(&|design, _| design.page_choice = PageChoicePolicy::Dynamic(Dynamic::new(Strength::Weak, 4)));
    assert!(dynamic.contains("[page_choice] `policy` = \"dynamic\"") && dynamic.contains("[place]"), "{dynamic}");
    let mode = refused(&|design, _| {
        design.page_choice = PageChoicePolicy::ByWorkloadMode(toml::from_str("switches_ms = [5]").unwrap());
    });
    assert!(mode.contains("[page_choice] `policy` = \"by_workload_mode\"") && mode.contains("[order] `policy` = \"fifo\""), "{mode}");
    assert!(mode.contains("allowed: \"rate_match\""), "{mode}");
    let away = refused(&|design, _| {
        design.place = PlacePolicy::IdleDie(IdleDie::default());
        design.gc = toml::from_str("copy = \"controller\"\ndestination = \"drive\"\nwrite_points = 2").unwrap();
    });
    assert!(away.contains("[page_choice] `policy`") && away.contains("[gc] `destination` is \"drive\""), "{away}");
}

#[test]
fn two_of_the_same_kind_in_one_chain_draw_different_numbers() {
    let two = "{ policy = \"d_choices\", d = 2 }, { policy = \"d_choices\", d = 2 }";
    let mut design = crate::testkit::with_victims(plain_design(Scope::Plane), two);
    design.seed(7);
    let memories: Vec<_> = design.memories().into_iter().map(|(_, memory)| memory).collect();
    assert_eq!(memories.len(), 2);
    assert_ne!(memories[0], memories[1]);
}
