//! Designs that once went wrong, each with its history, and what random designs come to do.

use super::*;
use crate::tests::mix::late_bound::LateBoundMix;

/// The plainest of the random designs, from which the named cases differ.
fn plain() -> Mix {
    Mix {
        channels: 1,
        dies: 1,
        planes: 1,
        scope: 0,
        preemptible: false,
        controller: false,
        order: 0,
        pairing: false,
        quiet: false,
        suspend: 0,
        buffer_pages: 2,
        write_points: 1,
        command_ns: 1,
        ideal: false,
        sequence: false,
        wild: 0,
        suspend_ns: 0,
        flash: 0,
        blocks: true,
        dynamic: false,
        across: false,
        superpage: false,
        by_wear: false,
        overhead_ns: 0,
        link_page_ns: None,
        queues: vec![1],
        trims: 10,
        rain: None,
        errors: None,
        levels_wear: false,
        late_bound: None,
        program_steps: 1,
        worn_steps: false,
        by_die: 0,
        gc_par: 0,
        stop_above: 0,
        ageing: AgeingMethod::Overwrite,
        live_percent: None,
        free: 0,
        joined: 0,
        seed: 0,
    }
}

/// A die was given the channel for a program that found no room, and that went elsewhere and took the channel; the die's other
/// work then stood in no line and was never started.
#[test]
fn a_die_whose_turn_at_the_channel_came_to_nothing_waits_in_queue_again() {
    let mix = Mix {
        dies: 2,
        planes: 2,
        scope: 1,
        controller: true,
        wild: 10,
        flash: 1,
        dynamic: true,
        across: true,
        seed: 16_865_095_762_283_438_010,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// A die that was granted its channel began a read whose page had moved; the die that has it now took the channel, and the
/// first one, with another read waiting and an erase suspended, was not queued any more.
#[test]
fn a_die_that_loses_the_channel_it_was_granted_queues_again() {
    let mix = Mix {
        channels: 2,
        dies: 2,
        quiet: true,
        wild: 13,
        suspend_ns: 30,
        flash: 2,
        dynamic: true,
        link_page_ns: Some(400),
        seed: 9_721_316_110_492_350_169,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// A page was trimmed while the rest of its stripe was read for it: what it held when the read arrived is right.
#[test]
fn a_page_that_is_trimmed_while_it_is_regenerated_may_read_as_before() {
    let mix = Mix {
        buffer_pages: 16,
        command_ns: 0,
        queues: vec![1, 1],
        trims: 30,
        rain: Some(Stripes { channels: 2, width: 2, gate: 2, reads: 3, tolerant_flush: true }),
        seed: 2_001_375_088_659_808_248,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// A GC that found nothing to free left its turn to nobody: the next plane waited until a program of its own ended.
#[test]
fn a_gc_that_finds_no_victim_leaves_its_turn_to_the_next_plane() {
    let mix = Mix {
        pairing: true,
        command_ns: 0,
        blocks: false,
        buffer_pages: 0,
        flash: 8,
        superpage: true,
        link_page_ns: Some(400),
        trims: 0,
        rain: Some(Stripes { channels: 4, width: 2, gate: 3, reads: 3, tolerant_flush: false }),
        seed: 254_175_776_505_112_076,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// Where GCs lock a channel together, one that gave it up before its erase let a sibling's step begin, and its erase began at
/// the same die.
#[test]
fn an_erase_waits_for_what_a_sibling_began_when_the_channel_was_given_up() {
    let mix = Mix {
        planes: 2,
        controller: true,
        pairing: true,
        buffer_pages: 0,
        command_ns: 0,
        wild: 4,
        blocks: false,
        superpage: true,
        trims: 0,
        rain: Some(Stripes { channels: 2, width: 2, gate: 4, reads: 0, tolerant_flush: false }),
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

#[test]
fn random_designs_come_to_scrub_regenerate_shift_and_migrate() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut sums = [0; 8];
    for _ in 0..60 {
        let mut mix = mix().new_tree(&mut runner).unwrap().current();
        mix.rain = Some(stripes().new_tree(&mut runner).unwrap().current());
        (mix.errors, mix.levels_wear, mix.controller) = (Some((100, 20)), true, false);
        let (_, _, counters) = mix.run(300);
        let all = [
            counters.raid.scrubbed_pages,
            counters.raid.scrub_rewrites,
            counters.raid.scrub_regenerated,
            counters.raid.uncorrectable_regenerated,
            counters.raid.stripes_shifted,
            counters.raid.stripes_migrated,
            counters.raid.moves_to_other_places,
            counters.raid.moves_hurried,
        ];
        sums.iter_mut().zip(all).for_each(|(sum, count)| *sum += count);
    }
    assert!(sums.iter().all(|&sum| sum > 0), "{sums:?}");
}

/// A GC that yielded had locked its die together with a sibling's, was given it again before it had let it go, and claimed a
/// channel that the drive does not have.
#[test]
fn a_gc_that_yields_does_not_lock_again_before_it_has_let_go() {
    let mix = Mix {
        dies: 2,
        planes: 2,
        controller: true,
        pairing: true,
        suspend: 2,
        buffer_pages: 16,
        wild: 12,
        flash: 10,
        blocks: false,
        dynamic: true,
        superpage: true,
        queues: vec![3, 1, 2],
        trims: 30,
        seed: 8_117_170_107_607_910_978,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// Two planes of a nearly full die took turns at collecting what had been padded for the other, urgently and for ever.
#[test]
fn a_drive_without_work_does_not_collect_its_own_padding_for_ever() {
    let mix = Mix {
        planes: 2,
        controller: true,
        pairing: true,
        quiet: true,
        buffer_pages: 0,
        command_ns: 0,
        wild: 4,
        flash: 8,
        superpage: true,
        trims: 0,
        rain: Some(Stripes { channels: 2, width: 2, gate: 4, reads: 0, tolerant_flush: false }),
        ..plain()
    };
    let (_, completed, counters) = mix.run(300);
    assert_eq!(completed, 300);
    assert!(counters.ftl.padded_for_gc > 0);
}

/// A program of the background padded the other planes of its die, and only its own was asked whether it wants a GC: another,
/// out of erased pages, kept the host's programs from all of them for ever.
#[test]
fn every_plane_that_a_program_of_the_background_padded_is_asked_for_a_gc() {
    let mix = Mix {
        dies: 3,
        planes: 4,
        scope: 2,
        order: 3,
        pairing: true,
        suspend: 2,
        buffer_pages: 0,
        command_ns: 0,
        ideal: true,
        sequence: true,
        wild: 2,
        suspend_ns: 30,
        flash: 9,
        across: true,
        superpage: true,
        queues: vec![1, 3, 2],
        trims: 0,
        rain: Some(Stripes { channels: 3, width: 3, gate: 5, reads: 1, tolerant_flush: false }),
        errors: Some((100, 20)),
        levels_wear: true,
        program_steps: 1,
        worn_steps: false,
        seed: 7_942_363_069_417_057_237,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// Programs of the scrubber padded all planes of a die, whose GCs nobody considered.
#[test]
fn a_program_of_the_scrubber_that_pads_its_siblings_lets_them_collect() {
    let mix = Mix {
        channels: 2,
        dies: 2,
        planes: 4,
        command_ns: 0,
        pairing: true,
        flash: 8,
        blocks: false,
        by_wear: true,
        superpage: true,
        errors: Some((20, 20)),
        levels_wear: true,
        program_steps: 1,
        worn_steps: false,
        seed: 9_587_210_828_916_772,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// A stripe was shifted round its group while a page was regenerated from it. A page that arrived first let a die pick the read
/// of another that was about to leave, which went after its page to a plane in GC, and nobody was asked to go around it.
#[test]
fn reads_follow_a_stripe_that_moves_around_the_gc_of_its_new_place() {
    let mix = Mix {
        channels: 3,
        controller: true,
        order: 1,
        quiet: true,
        flash: 14,
        queues: vec![1, 3, 2],
        levels_wear: true,
        rain: Some(Stripes { channels: 3, width: 3, gate: 3, reads: 3, tolerant_flush: true }),
        seed: 4_782_139_393_871_146_900,
        ..plain()
    };
    let (_, completed, counters) = mix.run(300);
    assert_eq!(completed, 300);
    assert!(counters.raid.stripes_shifted > 0);
}

/// The work of GCs took no time, and one that found nothing to free had waited for its die: no GC that counts took as long as
/// the next plane waited for its turn.
#[test]
fn a_gc_that_finds_nothing_to_free_has_had_its_turn() {
    let mix = Mix {
        scope: 1,
        preemptible: true,
        suspend: 1,
        buffer_pages: 16,
        flash: 13,
        blocks: false,
        trims: 0,
        rain: Some(Stripes { channels: 2, width: 2, gate: 3, reads: 1, tolerant_flush: true }),
        free: 1529,
        seed: 18_222_755_471_091_040_833,
        ..plain()
    };
    let (_, completed, counters) = mix.run(300);
    assert_eq!(completed, 300);
    assert!(counters.gc.gate_wait_ns_max > counters.gc.took_ns_max && counters.gc.turn_ns_max > counters.gc.took_ns_max);
}

/// Of two pages that a superpage die had programmed together, the first let its plane ask for a GC; the die was taken for free, and
/// a page of a stripe that moved padded the other plane up to the end of a block whose page before that was not recorded yet.
#[test]
fn pages_that_are_programmed_together_are_booked_before_anything_is_padded() {
    let mix = Mix {
        planes: 2,
        pairing: true,
        buffer_pages: 16,
        flash: 2,
        blocks: false,
        superpage: true,
        rain: Some(Stripes { channels: 3, width: 3, gate: 0, reads: 0, tolerant_flush: false }),
        levels_wear: true,
        free: 1529,
        seed: 2_398_071_530_998_509_504,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// A write without buffer waited for another of its page and then joined a program of GC. Its own work took no time, so that what
/// nothing else explained was one piece, which began before that program did and was shown as if all of it were the wait.
#[test]
fn what_two_leftovers_of_a_request_cover_is_told_for_each() {
    let mix = Mix {
        channels: 2,
        planes: 2,
        scope: 3,
        preemptible: true,
        controller: true,
        pairing: true,
        suspend: 2,
        buffer_pages: 0,
        wild: 5,
        link_page_ns: Some(400),
        trims: 0,
        levels_wear: true,
        free: 1615,
        worn_steps: true,
        by_die: 13,
        gc_par: 3,
        seed: 3_418_546_830_898_370,
        ..plain()
    };
    let (_, completed, counters) = mix.run(300);
    assert_eq!(completed, 300);
    assert!(counters.flash.paired_gc_programs > 0);
}

/// Each GC of the die came too late for the programs of the others and brought them in again: all that was erased went into
/// padding, and the die was never free for the host's programs.
#[test]
fn gcs_that_fill_each_others_programs_come_to_an_end() {
    let mix = Mix {
        planes: 4,
        scope: 2,
        controller: true,
        order: 6,
        pairing: true,
        buffer_pages: 0,
        command_ns: 0,
        flash: 2,
        blocks: false,
        superpage: true,
        trims: 30,
        rain: Some(Stripes { channels: 3, width: 3, gate: 4, reads: 0, tolerant_flush: false }),
        worn_steps: true,
        by_die: 12,
        gc_par: 1,
        seed: 14_009_847_039_461_191_791,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// A page of the host was asked twice what it prefers: at first it would go to the idle die, then it waited for a better page. The
/// die offered itself to nobody else, and a page of GC waited for ever.
#[test]
fn a_die_that_the_preferred_page_refuses_is_offered_to_the_next() {
    let late_bound =
        LateBoundMix { write_points: 1, choice: 0, strong: false, confined: true, rate_match: None, thresholds: false, critical: 0 };
    let mix = Mix {
        channels: 2,
        dies: 3,
        command_ns: 0,
        wild: 13,
        flash: 2,
        blocks: false,
        link_page_ns: Some(400),
        queues: vec![1, 1],
        trims: 30,
        levels_wear: true,
        late_bound: Some(late_bound),
        program_steps: 3,
        worn_steps: true,
        gc_par: 12,
        seed: 9_933_483_695_037_678_036,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// Where a die collects in cycles, a plane that ran out of room while a GC of its sibling was under way was not asked again when
/// that ended.
#[test]
fn a_plane_that_wants_a_gc_during_that_of_its_sibling_is_asked_when_it_ends() {
    let mix = Mix {
        planes: 2,
        controller: true,
        pairing: true,
        quiet: true,
        suspend: 1,
        buffer_pages: 0,
        command_ns: 0,
        wild: 8,
        flash: 7,
        blocks: false,
        link_page_ns: Some(20),
        trims: 0,
        by_die: 12,
        gc_par: 9,
        stop_above: 1,
        seed: 84_009_371_150_725_799,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}

/// Where a die collects in cycles, a GC that found nothing to free ended, and its siblings, which had run out of room meanwhile, were
/// not asked.
#[test]
fn a_gc_that_finds_nothing_to_free_passes_its_turn_on_to_its_siblings() {
    let mix = Mix {
        planes: 4,
        controller: true,
        pairing: true,
        quiet: true,
        buffer_pages: 0,
        command_ns: 0,
        wild: 8,
        flash: 8,
        blocks: false,
        queues: vec![3, 1],
        trims: 0,
        worn_steps: true,
        by_die: 8,
        gc_par: 7,
        stop_above: 1,
        seed: 10_252_341_680_876_134_475,
        ..plain()
    };
    assert_eq!(mix.run(300).1, 300);
}
