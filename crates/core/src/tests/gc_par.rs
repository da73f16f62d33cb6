//! Operations of the host that are paired with those of GC: the worked example of the paper's figure 5, and the cases of figure 6.

use super::*;
use crate::techniques::VictimPolicy;
use crate::techniques::gc_trigger::watermark::Watermark;
use crate::techniques::pairing::gc_par::GcPar;
use crate::techniques::victim::queue_match::QueueMatch;

const PAGES: u32 = 32;
/// The valid pages of figure 5's block 2, of which the text names the first four, and of its block 6.
const BLOCK_2: [u32; 15] = [3, 7, 9, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27];
const BLOCK_6: [u32; 15] = [2, 5, 11, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29];
/// What the text calls time 0: the die has then served the read that let the queue come about.
const ZERO: Ns = 1;

/// Figure 5: one die of two planes; reads take 1 cycle, programs 2; the GC ends at 50.
fn figure_5() -> Device {
    let mut device = one_channel(1, 2);
    (device.geometry.blocks_per_plane, device.geometry.pages_per_block) = (12, PAGES);
    (device.timing.command_ns, device.timing.transfer_page_ns) = (0, 0);
    (device.timing.read_ns, device.timing.program_ns) = (vec![1], vec![2]);
    (device.timing.erase_steps, device.timing.erase_step_ns) = (1, 5);
    device
}

fn baseline() -> Design {
    let mut design = plain_design(Scope::Die);
    design.gc = toml::from_str("copy = \"controller\"").unwrap();
    design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(45.0, 25.0));
    design.order = OrderPolicy::GcFirst(GcFirst {});
    design.pairing = PairingPolicy::SameOffset(SameOffset::default());
    design
}

/// GC-PAR as it is evaluated, with aligned blocks.
fn gc_par() -> Design {
    let mut design = baseline();
    design.gc = toml::from_str("copy = \"controller\"\nwrite_points = 2").unwrap();
    design.pairing = PairingPolicy::GcPar(GcPar::new(Some(0)));
    design
}

fn gc_vic() -> Design {
    let mut design = gc_par();
    design.victim.push(VictimPolicy::QueueMatch(QueueMatch::new(10)));
    design
}

/// The logical page that was first written to a page of a plane's block.
fn page(plane: u32, block: u32, offset: u32) -> Lpn {
    2 * (PAGES * block + offset) + plane
}

/// The drive of figure 5 at time 0: blocks 2 and 6 of plane 0 have fifteen valid pages each and all others more; the open block of
/// plane 1 has `open` pages, that of plane 0 two.
fn at_time_0(design: Design, open: u32) -> TestDrive {
    let mut drive = drive(&figure_5(), design);
    prepare_figure_5(&mut drive, open);
    drive
}

fn prepare_figure_5(drive: &mut TestDrive, open: u32) {
    for plane in 0..2 {
        drive.map_functionally((0..6).flat_map(|block| (0..PAGES).map(move |offset| page(plane, block, offset))));
    }
    // Block 6 takes the pages that block 2 has lost; what should be stale in it is written over and over.
    let mut lost = (0..PAGES).filter(|offset| !BLOCK_2.contains(offset)).map(|offset| page(0, 2, offset));
    let rewritten = lost.next().unwrap();
    for offset in 0..PAGES {
        let lpn = if BLOCK_6.contains(&offset) { lost.next().unwrap() } else { rewritten };
        drive.map_functionally([lpn]);
    }
    drive.map_functionally([rewritten]);
    drive.map_functionally(lost);
    drive.map_functionally((0..open).map(|offset| page(1, 5, offset)));
}

/// The requests of figure 5's queue.
struct Queue {
    plane_0: [u64; 2],
    reads: [u64; 4],
    writes: [u64; 2],
}

/// Puts the queue before the die and lets the GC begin. Page 7 of a block is read for "I"; "M", "O" and "P" are at offsets that
/// block 6 has and block 2 has not.
fn fill_queue(drive: &mut TestDrive) -> Queue {
    drive.at(0, read(page(0, 3, 0)));
    let plane_0 = [drive.at(0, read(page(0, 3, 1))), drive.at(0, write(page(0, 4, 0)))];
    let i = drive.at(0, read(page(1, 3, 7)));
    let j = drive.at(0, write(page(1, 4, 1)));
    let l = drive.at(0, write(page(1, 4, 2)));
    let [m, o, p] = [5, 11, 18].map(|offset| drive.at(0, read(page(1, 2, offset))));
    drive.wake();
    Queue { plane_0, reads: [i, m, o, p], writes: [j, l] }
}

/// Runs the example. Returns when each read and each write of plane 1 was done, in cycles of the text, and asserts that the GC
/// took 50 of them and that plane 0 got nothing before.
fn run_figure_5(design: Design) -> (Vec<Ns>, Vec<Ns>, TestDrive) {
    let mut drive = at_time_0(design, 4);
    let queue = fill_queue(&mut drive);
    drive.advance(ZERO + 49);
    assert_eq!(drive.counters().gc.gcs, 0);
    drive.advance(ZERO + 50);
    assert_eq!((drive.counters().gc.gcs, drive.counters().gc.pages), (1, 15));
    drive.run();
    let done = |id: &u64| drive.finished_at(*id).unwrap() - ZERO;
    assert!(queue.plane_0.iter().all(|id| done(id) > 50), "plane 0 is the GC's");
    let times = (queue.reads.iter().map(done).collect(), queue.writes.iter().map(done).collect());
    drive.up.ftl.tables.audit().unwrap();
    assert_eq!((drive.mismatch(), drive.counters().gc.gcs), (None, 1));
    (times.0, times.1, drive)
}

#[test]
fn in_figure_5a_the_baseline_serves_nothing_before_the_gc_ends() {
    let (reads, writes, drive) = run_figure_5(baseline());
    assert!(reads.iter().chain(&writes).all(|&done| done > 50), "{reads:?} {writes:?}");
    assert_eq!((drive.counters().flash.paired_gc_reads, drive.counters().flash.paired_gc_programs), (0, 0));
    assert_eq!(drive.counters().gc.locked_ns, 50);
}

#[test]
fn in_figure_5b_gc_par_pairs_i_with_c_and_the_writes_with_b_and_d() {
    let (reads, writes, drive) = run_figure_5(gc_par());
    // A reads at 0, B programs at 1, C reads page 7 at 3, D programs at 4.
    assert_eq!((writes, reads[0]), (vec![3, 6], 4));
    assert!(reads[1..].iter().all(|&done| done > 50), "block 2 has none of their offsets: {reads:?}");
    let counters = drive.counters();
    assert_eq!((counters.flash.paired_gc_reads, counters.flash.paired_gc_programs), (1, 2));
    assert_eq!(
        (counters.flash.paired_gc_ns, counters.flash.paired_gc_read_ns, counters.gc.locked_ns),
        (5, 1, 50),
        "5 of 50 cycles of plane 1"
    );
    // Both active blocks of plane 1 are open: at 4 and, with J and L, at 2.
    assert_eq!([0, 1].map(|point| drive.up.ftl.tables.next_offset(1, point)), [4, 2]);
    // When A starts, five reads wait: that of plane 0, I, M, O and P; from C's read on, four.
    assert_eq!(counters.flash.reads_waiting.0[..4], [0, 0, 15, 0], "two in a row are counted as one");
}

#[test]
fn in_figure_5c_gc_vic_takes_block_6_and_serves_m_o_and_p_as_well_but_not_i() {
    let (reads, writes, drive) = run_figure_5(gc_vic());
    // C reads at 3, E at 6, G at 9.
    assert_eq!((writes, &reads[1..]), (vec![3, 6], &[4, 7, 10][..]));
    assert!(reads[0] > 50, "block 6 has lost page 7");
    assert_eq!((drive.counters().flash.paired_gc_reads, drive.counters().flash.paired_gc_programs), (3, 2));
    assert_eq!(drive.up.ftl.tables.erase_count(6), 1);
}

/// GC's offset in figure 6 is `i`, that of the sibling `j`: which of the GC's programs takes the one that waits along.
fn figure_6(i: u32, j: u32, design: fn() -> Design) -> Option<Ns> {
    let mut design = design();
    design.pairing = PairingPolicy::GcPar(GcPar::default());
    design.gc = toml::from_str("copy = \"controller\"").unwrap();
    let mut drive = at_time_0(design, j);
    drive.map_functionally((2..i).map(|offset| page(0, 5, offset)));
    assert_eq!((drive.up.ftl.tables.next_offset(0, 0), drive.up.ftl.tables.next_offset(1, 0)), (i, j));
    drive.at(0, read(page(0, 3, 0)));
    let write = drive.at(0, write(page(1, 4, 1)));
    drive.wake();
    drive.run();
    let paired = drive.counters().flash.paired_gc_programs;
    let done = drive.finished_at(write).unwrap() - ZERO;
    assert_eq!(paired, u64::from(done < 50));
    // The n-th program of GC ends at 3 n.
    (done < 50).then_some(done / 3)
}

#[test]
fn in_figure_6_programs_join_at_once_or_after_j_less_i_single_ones_or_never() {
    assert_eq!(figure_6(5, 5, gc_par), Some(1));
    assert_eq!(figure_6(5, 9, gc_par), Some(5));
    assert_eq!(figure_6(5, 4, gc_par), None);
}

#[test]
fn without_a_waiting_write_gc_goes_ahead_and_a_plane_behind_it_joins_no_more_unless_it_skips_pages() {
    for (skips, paired, skipped) in [(0, 0, 0), (1, 0, 0), (2, 2, 2)] {
        let mut design = gc_par();
        design.pairing = PairingPolicy::GcPar(GcPar::new(Some(skips)));
        let mut drive = at_time_0(design, 1);
        drive.at(0, read(page(0, 3, 0)));
        drive.wake();
        // The GC has programmed three pages in its new block when these come; the open block of their plane has one.
        let writes = [1, 2].map(|offset| drive.at(ZERO + 9, write(page(1, 4, offset))));
        drive.run();
        let done = writes.map(|id| drive.finished_at(id).unwrap() - ZERO);
        assert_eq!(done.map(|done| done < 50), [paired > 0; 2], "{done:?}");
        let counters = drive.counters();
        assert_eq!((counters.flash.paired_gc_programs, counters.ftl.skipped_pages, counters.ftl.padded_pages), (paired, skipped, skipped));
        drive.up.ftl.tables.audit().unwrap();
    }
}

#[test]
fn a_read_that_comes_during_the_gc_joins_the_first_later_read_at_its_offset() {
    let mut drive = at_time_0(gc_par(), 4);
    drive.at(0, read(page(0, 3, 0)));
    drive.wake();
    // Page 9 is read at 6, page 15 at 9.
    let [late, early] = [9, 15].map(|offset| drive.at(ZERO + 7, read(page(1, 2, offset))));
    drive.expect_completion(early, ZERO + 10);
    drive.run();
    assert!(drive.finished_at(late).unwrap() > ZERO + 50);
}

#[test]
fn the_64_reads_that_have_waited_longest_are_looked_at() {
    for (before, pairs) in [(63, true), (64, false)] {
        let mut device = figure_5();
        device.host.queue_depth = 128;
        let mut drive = drive(&device, gc_par());
        prepare_figure_5(&mut drive, 4);
        drive.at(0, read(page(0, 3, 0)));
        for _ in 0..before {
            drive.at(0, read(page(1, 3, 0)));
        }
        // The first page that GC reads is at its offset.
        let matching = drive.at(0, read(page(1, 2, 3)));
        drive.wake();
        drive.run();
        assert_eq!(drive.finished_at(matching).unwrap() == ZERO + 1, pairs, "{before} reads wait before it");
    }
}

#[test]
fn four_planes_take_up_to_three_partners() {
    let mut device = figure_5();
    device.geometry.planes_per_die = 4;
    let mut design = gc_par();
    design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(50.0, 25.0));
    let mut drive = drive(&device, design);
    // One block of plane 0 with half of its pages stale; of the others the first block alone, and so on for a die half full.
    let lpn = |plane: u32, index: u32| 4 * index + plane;
    for plane in 0..4 {
        drive.map_functionally((0..5 * PAGES).map(|index| lpn(plane, index)));
    }
    drive.map_functionally((0..PAGES).map(|offset| lpn(0, offset / 2)));
    drive.map_functionally([lpn(0, 40)]);
    drive.at(0, read(lpn(0, 50)));
    let reads = [1, 2, 3].map(|plane| drive.at(0, read(lpn(plane, 16))));
    let writes = [1, 2, 3].map(|plane| drive.at(0, write(lpn(plane, 100))));
    drive.wake();
    drive.run();
    assert_eq!(reads.map(|id| drive.finished_at(id).unwrap() - ZERO), [1; 3], "beside the first read of GC, of page 16");
    assert_eq!(writes.map(|id| drive.finished_at(id).unwrap() - ZERO), [3; 3], "beside its first program");
    assert_eq!((drive.counters().flash.paired_gc_reads, drive.counters().flash.paired_gc_programs), (3, 3));
}

#[test]
fn a_gc_that_yields_pauses_for_what_was_not_paired() {
    let mut design = gc_par();
    design.gc_lock = GcLockPolicy::Preemptible(Preemptible::new(Scope::Die, Until::Urgent));
    design.order = OrderPolicy::ReadFirst(ReadFirst::default());
    let mut drive = at_time_0(design, 4);
    drive.at(0, read(page(0, 3, 0)));
    drive.wake();
    // They come while page 3 is moved: neither offset is one that GC reads next.
    let other = drive.at(ZERO + 1, read(page(1, 2, 5)));
    let own = drive.at(ZERO + 1, read(page(0, 3, 1)));
    let write = drive.at(ZERO + 4, write(page(1, 4, 1)));
    drive.expect_completion(other, ZERO + 4);
    drive.expect_completion(own, ZERO + 5);
    drive.run();
    assert!(drive.counters().gc.preemptions > 1);
    assert_eq!(drive.counters().gc.gcs, 1);
    assert!(drive.finished_at(write).unwrap() < ZERO + 50);
}

/// Figure 5's die with the times of the paper's flash.
fn paper_flash() -> Device {
    let mut device = figure_5();
    device.timing.transfer_page_ns = 98_699;
    (device.timing.read_ns, device.timing.program_ns) = (vec![115_000], vec![1_600_000]);
    device.timing.erase_step_ns = 3_000_000;
    device
}

#[test]
fn a_program_that_was_loaded_in_vain_brings_its_data_again() {
    // While GC reads page 3 the data of the program are loaded. That page is trimmed, so that GC programs nothing and reads page 7,
    // which the read of plane 1 joins: its plane's registers are that read's, and the program takes its transfer with page 7's.
    for (joins, transfers) in [(true, 3), (false, 2)] {
        let mut drive = drive(&paper_flash(), gc_par());
        prepare_figure_5(&mut drive, 4);
        drive.at(0, read(page(0, 3, 0)));
        if joins {
            drive.at(0, read(page(1, 3, 7)));
        }
        let written = drive.at(0, write(page(1, 4, 1)));
        drive.wake();
        let begins = 115_000 + 98_699;
        drive.at(begins + 1, Command { kind: CommandKind::Trim, ..read(page(0, 2, 3)) });
        drive.run();
        let wasted = 115_000 + 98_699;
        let done = begins + wasted + 115_000 + transfers * 98_699 + 1_600_000;
        assert_eq!(drive.finished_at(written), Some(done));
        assert_eq!((drive.counters().gc.copies_wasted, drive.counters().flash.paired_gc_programs), (1, 1));
        assert_eq!((drive.mismatch(), drive.audit()), (None, Ok(())));
    }
}

/// The flash of the paper, in figure 5's scenario.
#[test]
fn the_gc_takes_as_long_as_without_partners_but_for_a_page_whose_plane_senses_another_meanwhile() {
    let run = |design: Design| {
        let mut drive = drive(&paper_flash(), design);
        prepare_figure_5(&mut drive, 4);
        let queue = fill_queue(&mut drive);
        drive.run();
        assert_eq!((drive.mismatch(), drive.counters().gc.gcs), (None, 1));
        (drive.counters(), queue.reads.map(|id| drive.finished_at(id).unwrap()))
    };
    let (base, _) = run(baseline());
    assert_eq!(base.gc.took_ns, 115_000 + 98_699 + 15 * (115_000 + 2 * 98_699 + 1_600_000) + 3_000_000, "the lock waits for a read");
    let (par, reads) = run(gc_par());
    // The data of the first program cross the channel while GC reads page 3. Those of the second can't while it reads page 7,
    // since a read of their plane has joined that.
    assert_eq!((par.gc.took_ns, par.flash.paired_gc_reads, par.flash.paired_gc_programs), (base.gc.took_ns + 98_699, 1, 2));
    // The GC begins at 213,699 and moves a page in 1,912,398. Page 7 leaves the array with the second one, whose data cross
    // the channel to the controller and back before those of "I", as do those of the program that joins.
    assert_eq!(reads[0], 213_699 + 1_912_398 + 115_000 + 4 * 98_699);
}

/// Writes logical pages to a plane in the tables alone, wherever its layout would put them.
fn put(drive: &mut TestDrive, plane: PlaneIx, lpns: impl IntoIterator<Item = Lpn>) {
    for lpn in lpns {
        let ppn = drive.up.ftl.tables.take(plane, 0, crate::ftl::Claimant::Gc).unwrap();
        drive.up.ftl.tables.commit_write(lpn, ppn);
        drive.up.oracle.as_mut().unwrap().aged(lpn, ppn);
    }
}

#[test]
fn pages_of_a_global_gc_take_reads_along_where_they_are_read_and_programs_where_they_are_programmed() {
    let mut device = figure_5();
    device.geometry.dies_per_chip = 2;
    let mut design = gc_par();
    design.gc = toml::from_str("copy = \"controller\"\nwrite_points = 2\ndestination = \"drive\"").unwrap();
    design.place = PlacePolicy::IdleDie(crate::techniques::place::idle_die::IdleDie::default());
    design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(55.0, 30.0));
    design.gc_lock = GcLockPolicy::Blocking(crate::techniques::gc_lock::blocking::Blocking::new(Scope::Plane));
    let mut drive = drive(&device, design);
    // Plane 0 wants a GC of its first block, whose second half is valid.
    put(&mut drive, 0, (0..5 * PAGES).chain(0..PAGES / 2));
    put(&mut drive, 1, 200..200 + PAGES);
    drive.at(0, read(201));
    let paired_read = drive.at(0, read(200 + PAGES / 2));
    drive.wake();
    // The other die begins with the first of these in plane 2, and the second waits in plane 3. GC's first page goes to plane 2.
    let [alone, paired_program] = [500, 501].map(|lpn| drive.at(0, write(lpn)));
    drive.run();
    let done = [paired_read, alone, paired_program].map(|id| drive.finished_at(id).unwrap());
    assert_eq!(done, [2, 2, 4]);
    let counters = drive.counters();
    assert_eq!((counters.flash.paired_gc_reads, counters.flash.paired_gc_programs), (1, 1));
    assert!(counters.gc.pages_cross_plane > 0);
    assert_eq!(drive.mismatch(), None);
    drive.up.ftl.tables.audit().unwrap();
}
