//! Losses of power over all designs, each on a small drive of its kind.

use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::power::{CASES, PowerSpec, cut_power};
use tinytail_simulator::settings::Settings;

/// Every design and overlay that comes with the program is cut off: 0 acknowledged writes lost, 0 stale reads.
#[test]
fn every_design_recovers_with_all_that_was_acknowledged() {
    let (mut torn_pages, mut torn_blocks) = (0, 0);
    for case in CASES {
        let spec = PowerSpec::of(&case, 4, 7);
        let outcome = cut_power(&spec, &Control::default()).unwrap_or_else(|error| panic!("{}: {error}", case.design));
        assert_eq!((outcome.lost, outcome.stale, &outcome.mismatch), (0, 0, &None), "{}", case.design);
        assert_eq!((outcome.cuts, outcome.partial), (4, false));
        assert!(outcome.completed > 0 && outcome.requests_cut_off > 0 && outcome.pages_read_back > 0, "{outcome:?}");
        torn_pages += outcome.torn_pages;
        torn_blocks += outcome.torn_blocks;
        assert!(outcome.torn_pages > 0, "{}: programs are cut off", case.design);
        assert!(outcome.scan.p50_ms > 0.0 && outcome.recovery.max_ms >= outcome.scan.max_ms, "{outcome:?}");
    }
    assert!(torn_pages > 0 && torn_blocks > 0, "programs and erases are cut off");
}

#[test]
fn a_seed_repeats_a_run_and_another_seed_does_not() {
    let run = |seed: u64| cut_power(&PowerSpec::of(&CASES[0], 3, seed), &Control::default()).unwrap();
    let (once, again, other) = (run(1), run(1), run(2));
    assert_eq!(once, again);
    assert_ne!(once.event_hash, other.event_hash);
}

#[test]
fn data_that_go_before_parity_are_refused() {
    let case = CASES.iter().find(|case| case.design == "ttflash").unwrap();
    let settings = Settings::try_from(vec!["destage.data_before_parity=true".to_owned()]).unwrap();
    let fault = cut_power(&PowerSpec { settings, ..PowerSpec::of(case, 1, 1) }, &Control::default()).unwrap_err().to_string();
    assert!(fault.contains("data_before_parity") && fault.contains("allowed is false"), "{fault}");
}

#[test]
fn no_design_is_left_out() {
    for listing in catalog::designs() {
        let occurs = CASES.iter().any(|case| case.design.split('+').any(|part| part == listing.name));
        assert!(occurs, "{} is not among the designs whose power is cut", listing.name);
    }
}
