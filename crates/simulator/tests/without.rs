//! Counterfactuals: runs in which something takes no time.

use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::settings::Settings;
use tinytail_simulator::spec::{RunError, Spec};
use tinytail_simulator::without::CAUSES;

/// What scrubbing looks for.
const ERRORS: [&str; 6] = [
    "errors.fresh_rber=1e-6",
    "errors.rated_rber=1e-5",
    "errors.rated_erases=3000",
    "errors.exponent=1",
    "errors.codeword_bytes=1024",
    "errors.correctable_bits=40",
];

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

/// Each cause, on a design that has it, is in the attribution before and not after. Reads gain, and nothing else of the design is
/// adjusted, or comes to act or not to act.
#[test]
fn what_is_made_free_is_in_no_attribution_and_all_else_is_as_before() {
    // With arrivals of their own: in a closed loop what is faster meets more GC. But suspended programs and reads of read-modify-writes
    // have to be many.
    let (open, closed) = ("randrw70-open", "randrw70-qd16");
    let cases = [
        ("ttflash-small", "base", open, "gc", &["die_erase", "die_gc_program", "die_gc_read", "die_gc_lock"][..]),
        ("ttflash-small", "base", open, "erase", &["die_erase", "channel_erase"]),
        ("ttflash-small", "base", open, "gc-program", &["die_gc_program", "die_gc_read", "channel_locked_gc_program"]),
        ("ttflash-small", "base", open, "gc-read", &["die_gc_read", "channel_gc_read"]),
        ("ttflash-small", "base", open, "flush", &["die_flush", "channel_flush"]),
        ("ttflash-small", "ttflash", open, "parity", &["die_parity", "channel_parity"]),
        ("ttflash-small", "ttflash", open, "reconstruction", &["die_reconstruction", "channel_reconstruction"]),
        ("ttflash-small", "base+scrub", open, "background", &["die_background", "channel_background"]),
        ("modern-tlc-2t-small", "firmware", closed, "read-modify-write", &["die_read_modify_write", "channel_read_modify_write"]),
        ("modern-tlc-2t-small", "firmware", closed, "suspend", &["die_gc_suspend", "die_flush_suspend"]),
        ("lowlatency-240g-small", "base", open, "overhead", &["overhead"]),
        ("lowlatency-240g-small", "base", open, "link", &["link", "link_wait"]),
    ];
    for (device, design, workload, cause, parts) in cases {
        let [with, without] = [&[][..], &[cause]].map(|without| {
            let settings = if cause == "background" { ERRORS.map(String::from).to_vec() } else { Vec::new() };
            let settings = Settings::try_from(settings).unwrap();
            let spec = Spec { workload: workload.into(), settings, ..spec(device, design, without) };
            run(&spec, &Control::default()).unwrap()
        });
        let sum = |outcome: &Outcome| -> u64 { parts.iter().filter_map(|part| outcome.attribution.all_reads.ns.get(part)).sum() };
        assert!(sum(&with) > 0, "{design} has no {cause}");
        assert_eq!(sum(&without), 0, "{design} without {cause}");
        assert!(without.verified_page_reads.is_some_and(|checked| checked > 0));
        assert!(without.read.mean_us < with.read.mean_us, "{design} without {cause}");
        assert_eq!(without.adjusted, with.adjusted, "{design} without {cause}");
        // Their names have the policy of each section.
        let acts = |outcome: &Outcome| outcome.techniques.keys().cloned().collect::<Vec<_>>();
        assert_eq!(acts(&without), acts(&with), "{design} without {cause}");
        let suspends = |outcome: &Outcome| outcome.techniques.get("suspend/erase_suspension").is_some_and(|count| *count > 0);
        assert_eq!(suspends(&without), suspends(&with), "{design} without {cause}");
    }
    let tried = cases.map(|(_, _, _, cause, _)| cause);
    // That one needs an open load.
    assert!(CAUSES.iter().all(|cause| tried.contains(&cause.name) || cause.name == "queue"));
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
