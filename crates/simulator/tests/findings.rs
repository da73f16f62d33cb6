//! What a run says of itself that makes its figures mean less.

use std::path::PathBuf;
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::{FindingCode, GcNote, Outcome};
use tinytail_simulator::run::run;
use tinytail_simulator::spec::Spec;
use tinytail_workload::{Fit, TimeUnit};

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tinytail-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

fn played(spec: &Spec, file: PathBuf) -> Outcome {
    let outcome = run(spec, &Control::default()).unwrap();
    std::fs::remove_file(file).unwrap();
    outcome
}

fn open_loop(design: &str, rate_per_s: u32) -> Outcome {
    let keys = "block_bytes = 4096\nread_share = 0.7\naddresses = \"uniform\"\nrequests = 8000\n";
    let file = file(&format!("{design}-{rate_per_s}.toml"), &format!("summary = \"s\"\n[synthetic]\nrate_per_s = {rate_per_s}\n{keys}"));
    played(&Spec::new("ttflash-small", design, file.to_str().unwrap()), file.clone())
}

/// Reads and writes of one page, over and over: it never leaves the RAM.
fn one_page(device: &str) -> Outcome {
    let lines: String = (0..3000).map(|i| format!("{} 0 0 8 {}\n", i * 10, i % 2)).collect();
    let file = file(&format!("{device}.trace"), &lines);
    let mut spec = Spec::new(device, "base", file.to_str().unwrap());
    spec.trace.time_unit = Some(TimeUnit::Microseconds);
    played(&spec, file.clone())
}

fn codes(outcome: &Outcome) -> Vec<FindingCode> {
    outcome.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn a_drive_is_saturated_if_more_arrives_than_it_serves() {
    let borne = open_loop("base+ideal-gc", 10_000);
    assert!(!codes(&borne).contains(&FindingCode::Saturated), "{:?}", borne.findings);
    let swamped = open_loop("base+ideal-gc", 400_000);
    let finding = swamped.findings.iter().find(|finding| finding.code == FindingCode::Saturated).expect("more than the drive serves");
    let (arrivals, served) = (finding.figures["arrivals_per_second"], finding.figures["served_per_second"]);
    assert!((arrivals / 400_000.0 - 1.0).abs() < 0.1, "{arrivals}");
    assert!(served < 0.9 * arrivals, "{served} of {arrivals}");
    assert!(finding.figures["outstanding_at_last_arrival"] >= 400.0, "{finding:?}");
}

#[test]
fn a_design_whose_gc_never_ran_says_so_and_one_without_gc_does_not() {
    let spec = |design: &str| Spec { requests: Some(300), ..Spec::new("ttflash-small", design, "randread-qd1") };
    let found = |design: &str| codes(&run(&spec(design), &Control::default()).unwrap()).contains(&FindingCode::NoGc);
    assert!(found("base"));
    assert!(!found("base+no-gc"));
}

#[test]
fn writes_that_stay_in_the_buffer_have_no_write_amplification_and_it_is_said_why() {
    let outcome = one_page("ttflash-small");
    assert_eq!(outcome.write_amplification, None);
    let finding = outcome.findings.iter().find(|finding| finding.code == FindingCode::NoHostPrograms).expect("nothing was flushed");
    assert_eq!(finding.figures["writes"], 1500.0);
    assert!(finding.message.starts_with("all 1,500 writes stayed in the write buffer"), "{}", finding.message);
    assert_eq!(outcome.throughput.device_busy_mb_per_second, None, "without a link RAM has no speed");
}

#[test]
fn nothing_is_faster_than_the_link() {
    for name in ["mqsim-default-small", "modern-tlc-2t-small"] {
        let device = catalog::device(name).unwrap();
        let link = f64::from(device.host.link_mb_per_s.unwrap());
        let found = one_page(name).throughput.device_busy_mb_per_second.unwrap();
        assert!(found > 0.0 && found <= link * 1.000_001, "{name}: {found} of {link}");
    }
}

/// Random writes of 4 KiB, a part of a page on most drives.
fn small_writes(device: &str, design: &str, requests: u32, free_percent: Option<f64>) -> Outcome {
    let name = format!("{device}-{design}-{requests}-{free_percent:?}.toml");
    let keys = "queue_depth = 4\nblock_bytes = 4096\nread_share = 0.0\naddresses = \"uniform\"\n";
    let file = file(&name, &format!("summary = \"s\"\n[synthetic]\n{keys}requests = {requests}\n"));
    let mut spec = Spec::new(device, design, file.to_str().unwrap());
    spec.state.extend(free_percent.map(|percent| ("free_percent".into(), percent.into())));
    played(&spec, file.clone())
}

#[test]
fn drift_is_what_was_erased_less_what_was_programmed() {
    let device = catalog::device("ttflash-small").unwrap();
    for (design, free_percent) in [("base", Some(50.0)), ("base", None), ("base+no-gc", Some(50.0))] {
        let outcome = small_writes("ttflash-small", design, 2900, free_percent);
        let programmed = outcome.write_amplification.unwrap() * outcome.techniques["buffer: flushed pages"] as f64;
        let erased = (outcome.erases * u64::from(device.geometry.pages_per_block)) as f64;
        let drift = outcome.erased.drift_pages as f64;
        // What is on its way at the beginning or the end has its page and is not counted.
        let under_way = f64::from(4 * device.geometry.planes());
        assert!((drift - (erased - programmed)).abs() <= under_way, "{design}: {drift}, {erased} - {programmed}");
    }
}

#[test]
fn a_run_that_lives_on_erased_pages_says_so_and_one_without_gc_by_design_does_not() {
    let borrowing = small_writes("ttflash-small", "base", 3000, Some(50.0));
    assert_eq!(codes(&borrowing)[..2], [FindingCode::Borrowed, FindingCode::NoGc], "{:?}", borrowing.findings);
    assert!(borrowing.findings[1].figures["host_pages"] > 1000.0);
    assert_eq!(borrowing.gc, GcNote::Real);
    let without = small_writes("ttflash-small", "base+no-gc", 3000, Some(50.0));
    assert!(!codes(&without).contains(&FindingCode::Borrowed) && !codes(&without).contains(&FindingCode::NoGc));
    assert_eq!(without.gc, GcNote::Never);
    assert_eq!(without.erased.drift_pages, borrowing.erased.drift_pages);
}

/// A trace is its own warming up: the second pass writes the pages of the first in the same order, so its GC finds emptier blocks
/// than other writes would leave.
#[test]
fn the_stall_of_a_trace_that_is_played_twice_comes_at_the_rate_of_the_first_pass() {
    let lines: String = (0..8000u64).map(|i| format!("{} 0 {} 32 0\n", i * 1000 / 16, i * 7919 % 100_000 * 32)).collect();
    let file = file("twice.trace", &lines);
    let mut spec = Spec::new("modern-tlc-2t-small", "firmware", file.to_str().unwrap());
    (spec.trace.time_unit, spec.transform.fit) = (Some(TimeUnit::Microseconds), Some(Fit::Fold));
    let twice = run(&spec, &Control::default()).unwrap().erased;
    let once = played(&Spec { no_warm_up: true, ..spec }, file);
    assert_eq!(codes(&once)[0], FindingCode::Borrowed, "{:?}", once.findings);
    let once = once.erased;
    assert!(twice.drift_pages > once.drift_pages / 2, "the second pass takes {twice:?}, the first {once:?}");
    let pages_per_s = once.drift_pages.unsigned_abs() as f64 / 0.5;
    let kept_pages = once.end_pages as f64 - once.stall_seconds.unwrap() * pages_per_s;
    let stall = (twice.end_pages as f64 - kept_pages) / pages_per_s;
    assert!((twice.stall_seconds.unwrap() / stall - 1.0).abs() < 0.1, "{stall}, {twice:?}");
}

#[test]
fn writes_that_do_not_fill_pages_are_a_finding_with_their_bytes() {
    let outcome = small_writes("modern-tlc-2t-small", "base", 3000, None);
    let finding = outcome.findings.iter().find(|finding| finding.code == FindingCode::PartialPages).expect("a quarter of each page");
    let (data, pages) = (finding.figures["host_bytes"], finding.figures["programmed_bytes"]);
    assert!((3.0..=4.0).contains(&(pages / data)), "{finding:?}");
    assert!(!codes(&small_writes("ttflash-small", "base", 300, None)).contains(&FindingCode::PartialPages), "its pages have 4 KiB");
}

#[test]
fn percentiles_that_the_requests_do_not_reach_are_named() {
    let outcome = run(&Spec { requests: Some(3000), ..Spec::new("ttflash-small", "base", "randrw70-qd16") }, &Control::default()).unwrap();
    let finding = outcome.findings.iter().find(|finding| finding.code == FindingCode::FewSamples).unwrap();
    assert_eq!(finding.figures["reads"] as u64, outcome.read.count);
    assert!(finding.message.contains("p99.9 of 2,"), "{}", finding.message);
}

#[test]
fn a_start_off_the_trigger_is_named_and_the_usual_start_is_not() {
    let started = |device: &str, design: &str, free_percent: Option<f64>| {
        let mut spec = Spec { requests: Some(300), ..Spec::new(device, design, "randrw70-qd16") };
        spec.state.extend(free_percent.map(|percent| ("free_percent".into(), percent.into())));
        let outcome = run(&spec, &Control::default()).unwrap();
        outcome.findings.into_iter().find(|finding| finding.code == FindingCode::StartOffTrigger)
    };
    for (device, design) in [("ttflash-small", "base"), ("harey-8g-small", "harey-baseline"), ("lowlatency-240g-small", "erase-baseline")] {
        assert_eq!(started(device, design, None), None, "{design} on {device}");
    }
    let finding = started("ttflash-small", "base", Some(50.0)).expect("30 % is the trigger");
    let pages = f64::from(catalog::device("ttflash-small").unwrap().geometry.pages_per_plane());
    assert!((finding.figures["off_pages"] / (0.2 * pages) - 1.0).abs() < 0.1, "{finding:?}");
    assert!(finding.figures["host_writes_until_gc"] > 0.0);
    // The planes of a die are watched together.
    let finding = started("lowlatency-240g-small", "erase-baseline", Some(5.0)).expect("some 2 % are the trigger");
    assert!(finding.message.contains("pages a die above"), "{finding:?}");
}
