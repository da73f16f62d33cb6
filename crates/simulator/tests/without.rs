//! Counterfactuals: runs in which something takes no time.

use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::{RunError, Spec};
use tinytail_simulator::without::CAUSES;

fn spec(device: &str, design: &str, without: &[&str]) -> Spec {
    Spec {
        requests: Some(20_000),
        verify: true,
        windows: 10,
        without: without.iter().map(ToString::to_string).collect(),
        ..Spec::new(device, design, "randrw70-qd16")
    }
}

fn outcome(device: &str, design: &str, without: &[&str]) -> Outcome {
    run(&spec(device, design, without), &Control::default()).unwrap()
}

#[test]
fn base_without_moves_and_then_erases_ends_at_its_ideal_twin() {
    let base = outcome("ttflash-small", "base", &[]);
    let still_erases = outcome("ttflash-small", "base", &["gc-program"]);
    let neither = outcome("ttflash-small", "base", &["gc-program", "erase"]);
    let twin = outcome("ttflash-small", "base+ideal-gc", &[]);
    assert!(still_erases.read.mean_us < base.read.mean_us && neither.read.mean_us < still_erases.read.mean_us);
    assert_eq!((&neither.event_hash, &neither.read), (&twin.event_hash, &twin.read));
    assert_eq!(outcome("ttflash-small", "base", &["gc"]).event_hash, neither.event_hash);
    assert!(neither.notes.iter().any(|note| note == "Made free: gc-program, erase."), "{:?}", neither.notes);
}

/// Each cause, on a design that has it, is in the attribution before and not after.
#[test]
fn what_is_made_free_is_in_no_attribution() {
    let cases = [
        ("ttflash-small", "base", "erase", &["die_erase", "channel_erase"][..]),
        ("ttflash-small", "base", "gc-program", &["die_gc_program", "die_gc_read", "channel_locked_gc_program"]),
        ("ttflash-small", "base", "gc-read", &["die_gc_read", "channel_gc_read"]),
        ("ttflash-small", "base", "flush", &["die_flush", "channel_flush"]),
        ("ttflash-small", "base-rain", "parity", &["die_parity", "channel_parity"]),
        ("ttflash-small", "ttflash", "reconstruction", &["die_reconstruction", "channel_reconstruction"]),
        ("lowlatency-240g-small", "base", "overhead", &["overhead"]),
        ("lowlatency-240g-small", "base", "link", &["link", "link_wait"]),
    ];
    for (device, design, cause, parts) in cases {
        let (with, without) = (outcome(device, design, &[]), outcome(device, design, &[cause]));
        let sum = |outcome: &Outcome| -> u64 { parts.iter().filter_map(|part| outcome.attribution.all_reads.ns.get(part)).sum() };
        assert!(sum(&with) > 0, "{design} has no {cause}");
        assert_eq!(sum(&without), 0, "{design} without {cause}");
        assert!(without.verified_page_reads.is_some_and(|checked| checked > 0));
    }
}

#[test]
fn without_the_queue_nobody_waits_in_the_host() {
    // Only an open load can fill the device's queue.
    let all_reads = |without: &[&str]| {
        let spec = Spec { workload: "randrw70-bursty".into(), ..spec("ttflash-small", "base", without) };
        run(&spec, &Control::default()).unwrap().attribution.all_reads
    };
    let (with, without) = (all_reads(&[]), all_reads(&["queue"]));
    assert!(with.queue_blocked > 0 && with.host_queue_ns > 0, "{with:?}");
    assert_eq!((without.queue_blocked, without.host_queue_ns), (0, 0));
}

#[test]
fn a_cause_that_there_is_not_is_refused_and_the_nearest_is_named() {
    let refused = run(&spec("ttflash-small", "base", &["gc-programs"]), &Control::default());
    let Err(RunError::Config(error)) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("`gc-programs`") && error.to_string().contains("did you mean `gc-program`?"), "{error}");
    assert!(CAUSES.iter().all(|cause| error.to_string().contains(cause.name)), "{error}");
}
