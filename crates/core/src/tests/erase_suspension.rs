//! The techniques that suspend erases, each at the edges of a step and in what distinguishes it.

use super::*;
use crate::techniques::gc_gate::one_per_die::OnePerDie;
use crate::techniques::gc_trigger::watermark::Watermark;
use crate::techniques::suspend::erase_suspension::{Beside, Clock, EraseSuspension, Mode, Programs};
use crate::techniques::suspend::never::Never;

fn never() -> SuspendPolicy {
    SuspendPolicy::Never(Never {})
}

fn es() -> SuspendPolicy {
    SuspendPolicy::EraseSuspension(EraseSuspension::new(Mode::Es, Programs::Never))
}

fn i_es() -> SuspendPolicy {
    SuspendPolicy::EraseSuspension(EraseSuspension::new(Mode::IEs, Programs::Never))
}

fn d_es() -> SuspendPolicy {
    SuspendPolicy::EraseSuspension(EraseSuspension::new(Mode::DEs, Programs::Never))
}

fn ideal() -> SuspendPolicy {
    SuspendPolicy::EraseSuspension(EraseSuspension::new(Mode::IdealEs, Programs::Never))
}

fn t_es(timeout_ns: Ns) -> SuspendPolicy {
    SuspendPolicy::EraseSuspension(EraseSuspension::timed(timeout_ns as f64 / 1e6, Clock::Die, Programs::Never))
}

/// When the array of the erase of `run_erase` begins to work.
const BEGINS: Ns = 1102;
/// What a read takes by itself: command, array, transfer.
const READ: Ns = 111;

/// What became of an erase of five steps of 2000 during which reads came.
struct Erased {
    /// When each read completed, counted from the beginning of the erase.
    reads: Vec<Ns>,
    /// When the erase ended.
    ended: Ns,
    drive: TestDrive,
}

fn run_erase_on(device: &Device, suspend: SuspendPolicy, reads: impl IntoIterator<Item = Ns>) -> Erased {
    let mut design = plain_design(Scope::Plane);
    design.order = OrderPolicy::ReadFirst(ReadFirst::default());
    design.suspend = suspend;
    let mut drive = at_the_brink(device, design, 1);
    drive.at(0, write(0));
    let ids: Vec<u64> = reads.into_iter().map(|into| drive.at(BEGINS + into, read(0))).collect();
    drive.run();
    let reads = ids.iter().map(|&id| drive.finished_at(id).unwrap() - BEGINS).collect();
    assert_eq!(drive.counters().gc.erases, 1);
    Erased { reads, ended: drive.counters().gc.took_ns - 1, drive }
}

fn run_erase(suspend: SuspendPolicy, reads: impl IntoIterator<Item = Ns>) -> Erased {
    run_erase_on(&one_channel(1, 1), suspend, reads)
}

/// One read, and the time it completed, the end of the erase, and the extra cycles.
#[track_caller]
fn expect(suspend: SuspendPolicy, into: Ns, read_done: Ns, ended: Ns, cycles: u64) {
    let erased = run_erase(suspend, [into]);
    assert_eq!((erased.reads[0], erased.ended), (read_done, ended));
    let counters = erased.drive.counters();
    assert_eq!((counters.flash.extra_erase_cycles, counters.flash.extra_erase_cycles_max), (cycles, cycles));
    assert_eq!((counters.flash.erase_delay_ns, counters.flash.erase_delay_ns_max), (ended - 10_000, ended - 10_000));
}

#[test]
fn es_keeps_its_progress_and_pays_for_each_cut() {
    expect(es(), 500, 530 + READ, 530 + READ + 40 + 9500, 1);
    // At its very beginning the voltage comes up already.
    expect(es(), 0, 30 + READ, 30 + READ + 10_000, 1);
    // 30 before the boundary it is cut; 29 before, the step ends first; at the boundary there is nothing to cut.
    expect(es(), 1970, 2000 + READ, 2000 + READ + 40 + 8030, 1);
    expect(es(), 1971, 2000 + READ, 2000 + READ + 8000, 0);
    expect(es(), 2000, 2000 + READ, 2000 + READ + 8000, 0);
    // In the last step as well; and not once it ends first.
    expect(es(), 9970, 10_000 + READ, 10_000 + READ + 40 + 30, 1);
    expect(es(), 9971, 10_000 + READ, 10_000, 0);
}

#[test]
fn es_that_is_cut_while_it_ramps_up_makes_no_progress() {
    // It goes on at 641 and would work from 681.
    let erased = run_erase(es(), [500, 680]);
    assert_eq!(erased.reads, [641, 680 + 30 + READ]);
    assert_eq!(erased.ended, 821 + 40 + 9500);
    assert_eq!(erased.drive.counters().flash.extra_erase_cycles, 2);
}

#[test]
fn i_es_keeps_whole_steps() {
    expect(i_es(), 2500, 2530 + READ, 2530 + READ + 8000, 1);
    expect(i_es(), 1970, 2000 + READ, 2000 + READ + 10_000, 1);
    expect(i_es(), 1971, 2000 + READ, 2000 + READ + 8000, 0);
    expect(i_es(), 2000, 2000 + READ, 2000 + READ + 8000, 0);
    expect(i_es(), 9970, 10_000 + READ, 10_000 + READ + 2000, 1);
    expect(i_es(), 9971, 10_000 + READ, 10_000, 0);
    let erased = run_erase(i_es(), [2500, 4640]);
    // The step that began anew at 2641 ends before it could be cut again.
    assert_eq!(erased.ended, 4641 + READ + 6000);
    assert_eq!(erased.drive.counters().flash.discarded_ns, 500);
    // Here it is lost as well.
    let erased = run_erase(i_es(), [2500, 4500]);
    assert_eq!(erased.ended, 4530 + READ + 8000);
    assert_eq!(erased.drive.counters().flash.discarded_ns, 500 + 1859);
}

#[test]
fn d_es_serves_what_has_come_by_the_end_of_the_step() {
    expect(d_es(), 500, 2000 + READ, 2000 + READ + 8000, 0);
    expect(d_es(), 2000, 2000 + READ, 2000 + READ + 8000, 0);
    expect(d_es(), 2001, 4000 + READ, 4000 + READ + 6000, 0);
    expect(d_es(), 8001, 10_000 + READ, 10_000, 0);
    // The one that comes while the first is served waits for the end of the second step, although the die goes on at 2111.
    let erased = run_erase(d_es(), [500, 1999, 2001]);
    assert_eq!(erased.reads, [2000 + READ, 2000 + 2 * READ, 4000 + 3 * READ]);
    assert_eq!(erased.ended, 10_000 + 3 * READ);
    assert_eq!(erased.drive.counters().flash.discarded_ns, 0);
}

#[test]
fn ideal_takes_no_time() {
    expect(ideal(), 500, 500 + READ, 10_000 + READ, 0);
    expect(ideal(), 2000, 2000 + READ, 10_000 + READ, 0);
    expect(ideal(), 9999, 9999 + READ, 10_000 + READ, 0);
}

/// A read that comes while the command is under way once waited to the end of the erase, unless another came.
#[test]
fn a_read_that_comes_before_the_array_works_is_not_forgotten() {
    let mut device = one_channel(1, 1);
    device.timing.command_ns = 50;
    let mut design = plain_design(Scope::Plane);
    design.suspend = es();
    let mut drive = at_the_brink(&device, design, 1);
    drive.at(0, write(0));
    // The command takes from 1150 to 1200.
    let id = drive.at(1170, read(0));
    drive.expect_completion(id, 1200 + 30 + 160);
}

/// So did one that waited already, where `order` prefers the erase.
#[test]
fn a_read_that_waits_when_the_erase_begins_is_not_forgotten() {
    let mut design = plain_design(Scope::Plane);
    design.order = OrderPolicy::GcFirst(GcFirst {});
    design.suspend = es();
    let mut drive = at_the_brink(&one_channel(1, 1), design, 1);
    drive.at(0, write(0));
    let id = drive.at(1000, read(0));
    drive.expect_completion(id, BEGINS + 30 + READ);
}

/// Reads that come so fast that the die has 9 ns from one to the next.
fn without_pause() -> impl Iterator<Item = Ns> {
    (120..48_000).step_by(120)
}

#[test]
fn reads_without_a_pause_stall_es_and_i_es_and_no_other() {
    let last = without_pause().last().unwrap();
    for mode in [es(), i_es()] {
        let erased = run_erase(mode, without_pause());
        assert!(erased.ended > last + 9000, "it ended at {}", erased.ended);
        assert!(erased.drive.counters().flash.extra_erase_cycles > 90);
    }
    let deferred = run_erase(d_es(), without_pause());
    assert!(deferred.ended < last, "it ended at {}", deferred.ended);
    let timed = run_erase(t_es(3000), without_pause());
    // The reads that wait when the time is over are few, since they were served at once.
    assert!(timed.ended > deferred.ended && timed.ended <= deferred.ended + 3000 + 2 * READ, "{} and {}", timed.ended, deferred.ended);
    assert_eq!(timed.drive.counters().flash.switches_to_deferred, 1);
    assert_eq!(deferred.drive.counters().flash.switches_to_deferred, 0);
    assert!((1..=3000 / 120).contains(&timed.drive.counters().flash.extra_erase_cycles));
    assert_eq!(deferred.drive.counters().flash.extra_erase_cycles, 0);
}

#[test]
fn t_es_aborts_until_its_time_is_over() {
    let (at_once, deferred) = (run_erase(t_es(3000), [2999]), run_erase(t_es(3000), [3000]));
    assert_eq!((at_once.reads[0], at_once.ended), (2999 + 30 + READ, 3029 + READ + 8000));
    assert_eq!((deferred.reads[0], deferred.ended), (4000 + READ, 10_000 + READ));
}

#[test]
fn when_the_time_is_over_while_it_is_suspended_the_reads_that_had_come_are_the_last() {
    // Suspended from 530, the reads are served one after another: those of 2900 and 3000 are the last, that of 3001 is not.
    let reads = (500..=2900).step_by(100).chain([3000, 3001]);
    let erased = run_erase(t_es(3000), reads);
    let on = 530 + 26 * READ;
    assert_eq!(erased.reads[25], on);
    assert_eq!(erased.reads[26], on + 2000 + READ);
    assert_eq!(erased.ended, on + 10_000 + READ);
    assert_eq!(erased.drive.counters().flash.switches_to_deferred, 1);
}

/// The erases of a die's planes that follow one another share one timeout.
#[test]
fn the_time_goes_on_while_a_die_has_erases_to_run() {
    let mut design = plain_design(Scope::Plane);
    design.suspend = t_es(1_000_000);
    let mut drive = at_the_brink(&one_channel(1, 2), design, 3);
    second_plane_at_the_brink(&mut drive);
    drive.at(0, write(0));
    drive.at(0, write(1));
    let mut since = vec![drive.flash.dies_for_test()[0].progress.pending_since];
    while drive.step() {
        let pending = drive.flash.dies_for_test()[0].progress.pending_since;
        if *since.last().unwrap() != pending {
            since.push(pending);
        }
    }
    assert_eq!(drive.counters().gc.erases, 2);
    assert_eq!(since.len(), 3, "from none to a time to none: {since:?}");
    assert_eq!((since[0], since[2]), (Ns::MAX, Ns::MAX));
}

/// The event hash, the suspensions and the latest completion of random reads and writes on two dies.
fn played(suspend: SuspendPolicy, reads: bool) -> (u64, u64) {
    let mut design = plain_design(Scope::Plane);
    design.suspend = suspend;
    let mut drive = drive(&one_channel(2, 1), design);
    drive.map_functionally(0..20);
    let mut random = rand_pcg::Pcg64Mcg::new(7);
    let mut now = 0;
    for _ in 0..400 {
        use rand_core::Rng;
        now += u64::from(random.next_u32() % 3000);
        let lpn = random.next_u32() % 20;
        let command = if random.next_u32().is_multiple_of(3) || !reads { write(lpn) } else { read(lpn) };
        drive.at(now, command);
    }
    drive.run();
    assert!(drive.counters().gc.erases > 10);
    (drive.event_hash(), drive.counters().flash.suspensions)
}

#[test]
fn the_ends_of_t_es_are_d_es_and_i_es_event_for_event() {
    let endless = SuspendPolicy::EraseSuspension(EraseSuspension::timed(f64::INFINITY, Clock::Die, Programs::Never));
    let an_hour = SuspendPolicy::EraseSuspension(EraseSuspension::timed(3_600_000.0, Clock::Erase, Programs::Never));
    let (at_once, deferred) = (played(i_es(), true), played(d_es(), true));
    assert!(at_once.1 > 10 && deferred.1 > 10 && at_once.0 != deferred.0);
    assert_eq!(played(t_es(0), true), deferred);
    assert_eq!(played(endless, true), at_once);
    assert_eq!(played(an_hour, true), at_once);
    assert_ne!(played(t_es(3000), true).0, at_once.0);
}

#[test]
fn without_reads_nothing_is_suspended_and_nothing_changes() {
    let baseline = played(never(), false);
    for suspend in [es(), i_es(), d_es(), t_es(3000), ideal()] {
        assert_eq!(played(suspend, false), baseline);
    }
}

/// One read that comes into a program of 1000, which begins at 101; when both complete.
fn read_during_program(programs: Programs, steps: u32, into: Ns) -> (Ns, Ns, TestDrive) {
    let mut device = one_channel(1, 1);
    device.timing.program_steps = steps;
    let mut design = no_gc();
    design.suspend = SuspendPolicy::EraseSuspension(EraseSuspension::new(Mode::Es, programs));
    let mut drive = drive(&device, design);
    drive.map_functionally([0]);
    let written = drive.at(0, write(1));
    let id = drive.at(101 + into, read(0));
    drive.run();
    (drive.finished_at(id).unwrap() - 101, drive.finished_at(written).unwrap() - 101, drive)
}

#[test]
fn programs_make_way_only_where_they_are_asked_to() {
    let (read, written, drive) = read_during_program(Programs::Never, 4, 300);
    assert_eq!((read, written, drive.counters().flash.suspensions), (1000 + READ, 1000, 0));
    let (read, written, drive) = read_during_program(Programs::InterPhase, 4, 300);
    assert_eq!((read, written, drive.counters().flash.program_suspensions), (500 + READ, 1000 + READ, 1));
    assert_eq!(drive.counters().flash.extra_erase_cycles, 0);
    let (read, written, drive) = read_during_program(Programs::IntraPhase, 4, 300);
    assert_eq!((read, written, drive.counters().flash.program_suspensions), (330 + READ, 330 + READ + 750, 1));
    assert_eq!(drive.counters().flash.discarded_ns, 50);
    // A program of one step starts anew, and the last step is not waited for any shorter.
    assert_eq!(read_during_program(Programs::IntraPhase, 1, 300).1, 330 + READ + 1000);
    assert_eq!(read_during_program(Programs::InterPhase, 4, 751).0, 1000 + READ);
}

/// Two planes of a die, each with one page to write, after which its GC moves three pages.
fn two_planes_collect(joined: bool, suspend: SuspendPolicy) -> TestDrive {
    let mut device = one_channel(1, 2);
    device.flash.multi_plane_program = true;
    let mut design = plain_design(Scope::Plane);
    design.order = OrderPolicy::ReadFirst(ReadFirst::default());
    design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(50.0, 25.0));
    design.gc_gate = GcGatePolicy::OnePerDie(OnePerDie::new(joined));
    design.suspend = suspend;
    let mut drive = at_the_brink(&device, design, 3);
    second_plane_at_the_brink(&mut drive);
    drive.prepare_for_power_cuts();
    drive.at(0, write(0));
    drive.at(0, write(1));
    drive
}

/// Goes on until a die erases.
fn until_it_erases(drive: &mut TestDrive) {
    while drive.flash.dies_for_test()[0].phase != crate::flash::die::Phase::Erase {
        assert!(drive.step(), "it erases");
    }
}

#[test]
fn erases_of_a_dies_planes_start_as_one_and_make_way_as_one() {
    let mut apart = two_planes_collect(false, es());
    apart.run();
    assert_eq!((apart.counters().gc.erases, apart.counters().flash.joined_erases), (2, 0));
    let mut joined = two_planes_collect(true, es());
    until_it_erases(&mut joined);
    assert_eq!(joined.counters().gc.gcs, 0, "both have moved their pages");
    let begins = joined.flash.dies_for_test()[0].progress.first_started;
    let id = joined.at(begins + 500, read(0));
    joined.run();
    assert_eq!(joined.finished_at(id), Some(begins + 530 + READ));
    let counters = joined.counters();
    assert_eq!((counters.gc.erases, counters.flash.joined_erases, counters.flash.suspensions), (2, 1, 1));
    assert_eq!(joined.now(), begins + 530 + READ + 40 + 9500, "both end together");
    joined.audit().unwrap();
}

#[test]
fn a_loss_of_power_tears_every_block_of_a_joined_erase() {
    let mut drive = two_planes_collect(true, es());
    until_it_erases(&mut drive);
    let begins = drive.flash.dies_for_test()[0].progress.first_started;
    drive.advance(begins + 1);
    let recovery = drive.cut_power().unwrap();
    assert_eq!(recovery.torn_blocks, 2);
    assert_eq!(recovery.read_back.map(|it| (it.lost, it.stale)), Some((0, 0)));
    drive.audit().unwrap();
}

#[test]
fn programs_wait_for_a_suspended_erase_or_go_on_beside_it() {
    let run = |beside| {
        let mut design = plain_design(Scope::Plane);
        design.order = OrderPolicy::ReadFirst(ReadFirst::default());
        design.suspend = SuspendPolicy::EraseSuspension(EraseSuspension::new(Mode::Es, Programs::Never).with(beside, false));
        let mut drive = at_the_brink(&one_channel(1, 1), design, 1);
        drive.at(0, write(0));
        drive.at(BEGINS + 500, read(0));
        let id = drive.at(BEGINS + 520, write(1));
        drive.run();
        assert_eq!(drive.counters().gc.erases, 1);
        drive.audit().unwrap();
        (drive.finished_at(id).unwrap() - BEGINS, drive.counters().gc.took_ns - 1, drive.counters().flash.programs_beside)
    };
    let erased = 530 + READ + 40 + 9500;
    assert_eq!(run(Beside::Reads), (erased + 1101, erased, 0));
    assert_eq!(run(Beside::Programs), (530 + READ + 1101, erased + 1101, 1));
}

#[test]
fn programs_of_several_planes_make_way_only_where_they_are_asked_to() {
    let run = |multi_plane| {
        let mut device = one_channel(1, 2);
        (device.timing.program_steps, device.flash.multi_plane_program) = (4, true);
        let mut design = no_gc();
        design.pairing = PairingPolicy::SameOffset(SameOffset::default());
        let technique = EraseSuspension::new(Mode::Es, Programs::InterPhase).with(Beside::Reads, multi_plane);
        design.suspend = SuspendPolicy::EraseSuspension(technique);
        let mut drive = drive(&device, design);
        drive.map_functionally([0, 1, 2, 3]);
        // The first read keeps the die busy until both programs wait.
        drive.at(0, read(2));
        let written = [drive.at(0, write(0)), drive.at(0, write(1))];
        let begins = READ + 2 + 200;
        let id = drive.at(begins + 300, read(3));
        drive.run();
        assert_eq!(drive.counters().flash.paired, 1);
        let [first, second] = written.map(|id| drive.finished_at(id).unwrap());
        assert_eq!(first, second, "its parts complete together");
        (drive.finished_at(id).unwrap() - begins, first - begins)
    };
    assert_eq!(run(false), (1000 + READ, 1000));
    assert_eq!(run(true), (500 + READ, 1000 + READ));
}

#[test]
fn what_joined_erases_and_work_beside_them_cannot_go_with_is_refused() {
    let refused = |device: &Device, change: &dyn Fn(&mut Design)| {
        let mut design = plain_design(Scope::Plane);
        change(&mut design);
        design.prepare(device).unwrap_err().to_string()
    };
    let joined = |design: &mut Design| design.gc_gate = GcGatePolicy::OnePerDie(OnePerDie::new(true));
    let beside = |design: &mut Design| {
        design.suspend = SuspendPolicy::EraseSuspension(EraseSuspension::new(Mode::Es, Programs::Never).with(Beside::Programs, false));
    };
    let striped = |design: &mut Design| design.place = PlacePolicy::Rain(crate::techniques::place::rain::Rain::new(2));
    let channel = |design: &mut Design| design.gc_lock = plain_design(Scope::Channel).gc_lock;
    let multi_plane = |design: &mut Design| {
        design.suspend = SuspendPolicy::EraseSuspension(EraseSuspension::new(Mode::Es, Programs::Never).with(Beside::Reads, true));
    };
    let mut two_planes = one_channel(1, 2);
    two_planes.flash.multi_plane_program = false;
    let found = refused(&two_planes, &joined);
    assert!(found.contains("[gc_gate] `joined_erases` = true") && found.contains("`multi_plane_program`"), "{found}");
    two_planes.flash.multi_plane_program = true;
    let mut two_channels = two_planes.clone();
    (two_channels.geometry.channels, two_channels.host.over_provisioning_percent) = (2, crate::testkit::over_provisioning(30, 100));
    two_channels.state.live_percent = 30;
    type Change<'a> = &'a dyn Fn(&mut Design);
    let cases: [(&Device, [Change; 2], [&str; 2]); 4] = [
        (&two_channels, [&joined, &striped], ["[gc_gate] `joined_erases` = true contradicts", "[place] `policy` = \"rain\""]),
        (&two_channels, [&beside, &striped], ["[suspend] `beside` = \"programs\" contradicts", "[place] `policy` = \"rain\""]),
        (&two_planes, [&beside, &channel], ["[suspend] `beside` = \"programs\" contradicts", "[gc_lock] `scope`"]),
        (&two_planes, [&multi_plane, &|_| {}], ["[suspend] `multi_plane_programs` = true needs", "\"inter_phase\""]),
    ];
    for (device, changes, named) in cases {
        let found = refused(device, &|design| changes.iter().for_each(|change| change(design)));
        assert!(named.iter().all(|name| found.contains(name)), "{found}");
    }
}

#[test]
fn worn_blocks_take_more_steps() {
    let ended = |each, most| {
        let mut device = one_channel(1, 1);
        (device.timing.erase_steps, device.timing.erases_per_extra_step, device.timing.erase_steps_max) = (2, each, most);
        let mut drive = at_the_brink(&device, plain_design(Scope::Plane), 1);
        drive.up.ftl.tables.wear_for_test(6);
        drive.at(0, write(0));
        drive.run();
        drive.counters().gc.took_ns - 1
    };
    assert_eq!(ended(None, 5), 2 * 2000);
    assert_eq!(ended(Some(7), 5), 2 * 2000);
    assert_eq!(ended(Some(6), 5), 3 * 2000);
    assert_eq!(ended(Some(2), 5), 5 * 2000);
    assert_eq!(ended(Some(2), 4), 4 * 2000);
}
