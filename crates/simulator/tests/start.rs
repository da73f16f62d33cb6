//! Runs start where their designs' own GC leaves a drive: nobody is charged for GC that was not asked for, and nobody borrows.

use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::{FindingCode, Outcome};
use tinytail_simulator::run::run;
use tinytail_simulator::settings::Settings;
use tinytail_simulator::spec::Spec;

/// Uniform or sequential writes of one page.
fn writes(page_bytes: u32, rate_per_s: u32, addresses: &str) -> String {
    format!(
        "summary = \"s\"\n[synthetic]\nrate_per_s = {rate_per_s}\narrivals = \"fixed\"\nblock_bytes = {page_bytes}\nread_share = 0.0\n\
         addresses = \"{addresses}\"\n{}",
        if addresses == "sequential" { "streams = 1\n" } else { "" }
    )
}

fn played(device: &str, design: &str, workload: &str, requests: u64, seed: u64, given: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("workload.toml");
    std::fs::write(&path, workload).unwrap();
    let settings = Settings::try_from(given.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
    let workload = if workload.contains('\n') { path.to_str().unwrap() } else { workload };
    let spec = Spec { requests: Some(requests), seed, no_warm_up: true, settings, ..Spec::new(device, design, workload) };
    let outcome = run(&spec, &Control::default()).unwrap();
    assert_eq!(outcome.stuck, None, "{design} on {device}");
    outcome
}

#[test]
fn a_workload_that_writes_nothing_erases_nothing_and_twins_start_in_one_state() {
    for device in
        ["ttflash-small", "mqsim-default-small", "modern-tlc-2t-small", "modern-qlc-4t-small", "lowlatency-240g-small", "hpdc-1t-small"]
    {
        let mut digests = Vec::new();
        for overlay in ["", "+plane-preemptible", "+es", "+ideal-gc", "+no-gc"] {
            let outcome = played(device, &format!("base{overlay}"), "randread-qd1", 300, 1, &[]);
            assert_eq!((outcome.erases, outcome.techniques["gc: copied pages"]), (0, 0), "{overlay} on {device}");
            assert!(outcome.attribution.all_reads.ns.keys().all(|cause| !cause.contains("gc")), "{:?}", outcome.attribution.all_reads);
            digests.push(outcome.state.as_ref().unwrap().digest.clone());
        }
        assert!(digests[0].is_some() && digests.iter().all(|digest| *digest == digests[0]), "{device}: {digests:?}");
    }
    // Nobody owes anything on other drives either, whatever the trigger counts.
    for (device, design) in [
        ("harey-8g-small", "harey-baseline"),
        ("harey-8g-small", "write-points-32"),
        ("lowlatency-240g-small", "erase-baseline"),
        ("hpdc-1t-small", "hpdc-baseline"),
        ("hpdc-1t-small", "gc-par"),
        ("modern-tlc-2t-small", "firmware"),
        ("modern-tlc-2t-small", "base+superpage-programs"),
        ("modern-tlc-2t-small", "base+background-emergency"),
        ("ttflash-small", "ttflash"),
    ] {
        let outcome = played(device, design, "randread-qd1", 300, 1, &[]);
        assert_eq!((outcome.erases, outcome.techniques["gc: copied pages"]), (0, 0), "{design} on {device}");
    }
}

/// Host pages that were programmed; pages programmed for all but GC, for each of them; the share of victims' pages that is valid.
fn balance(outcome: &Outcome, writes: u64) -> (f64, f64, f64) {
    let count = |name: &str| outcome.techniques.iter().filter(|(key, _)| key.ends_with(name)).map(|(_, count)| *count as f64).sum::<f64>();
    let flushed = count("buffer: flushed pages");
    let host = if flushed > 0.0 { flushed } else { writes as f64 };
    let others = outcome.write_amplification.unwrap() - count("gc: copied pages") / host;
    (host, others, outcome.state.as_ref().unwrap().victim_valid_percent / 100.0)
}

#[test]
fn a_warm_up_without_gc_or_from_a_given_share_spends_no_more_than_the_buffer() {
    // Levelling the turns of GCs would never end without GC, and would leave the share that was asked for.
    for (design, state) in [("ttflash+no-gc", vec![]), ("ttflash", vec!["state.free_percent=35".to_string()])] {
        let settings = Settings::try_from(state).unwrap();
        let spec = Spec { requests: Some(20_000), settings, ..Spec::new("ttflash-small", design, "randrw70-qd16") };
        let outcome = run(&spec, &Control::default()).unwrap();
        let state = outcome.state.as_ref().unwrap();
        let (planes, buffer) = (64, 128);
        let aged = planes * u64::from(state.free_pages_min);
        let start = outcome.erased.start_pages;
        // A page that is flushed writes its parity besides.
        assert!(start + 4 * buffer >= aged, "{design}: {start} erased pages at the start, {aged} after ageing");
    }
}

#[test]
fn a_drive_may_start_empty_and_its_gc_begins_when_the_findings_say() {
    for (device, design) in [("ttflash-small", "base"), ("ttflash-small", "ttflash")] {
        let empty = |workload: &str, requests| {
            let settings = Settings::try_from(vec!["state.live_percent=0".to_string()]).unwrap();
            let spec = Spec { requests: Some(requests), settings, verify: true, ..Spec::new(device, design, workload) };
            run(&spec, &Control::default()).unwrap()
        };
        let figure = |outcome: &Outcome, code, name: &str| {
            let finding = outcome.findings.iter().find(|finding| finding.code == code).unwrap_or_else(|| panic!("{:?}", outcome.findings));
            finding.figures[name]
        };
        let mixed = empty("randrw70-qd16", 2000);
        let state = mixed.state.as_ref().unwrap();
        assert_eq!((state.name, state.aged_pages, state.live_percent, state.free_percent), ("empty", 0, 0.0, 100.0), "{design}");
        assert_eq!(state.warm_up, "none: the drive starts empty");
        let unmapped = figure(&mixed, FindingCode::UnmappedReads, "unmapped_read_percent");
        assert!(unmapped > 90.0 && unmapped < 100.0, "what was written before is read: {unmapped}");
        let first = empty("randwrite-qd32", 10_000);
        assert!(figure(&first, FindingCode::Borrowed, "drift_percent") < -99.0, "{:?}", first.findings);
        let until_gc = figure(&first, FindingCode::StartOffTrigger, "host_writes_until_gc");
        for (share, has_gc) in [(0.9, false), (1.1, true)] {
            let outcome = empty("randwrite-qd32", (share * until_gc) as u64);
            assert_eq!(outcome.gc_count > 0, has_gc, "{design}, {share} of {until_gc}: {:?}", outcome.findings);
        }
    }
}

#[test]
fn each_unit_starts_at_a_random_moment_between_two_collections() {
    // A tenth of what a victim frees is written to each plane, or to each die, and a tenth of them collect.
    for (device, design, page_bytes, pages_per_block, units, writes_per_unit, seeds) in [
        ("ttflash-small", "base", 4096, 64.0, 64, 5, 4),
        ("modern-tlc-2t-small", "erase-baseline", 16384, 18.0, 32, 1, 12),
        ("modern-tlc-2t-small", "firmware", 16384, 18.0, 32, 1, 12),
    ] {
        let (mut erases, mut expected) = (0.0, 0.0);
        for seed in 1..=seeds {
            let requests = units * writes_per_unit;
            let load = writes(page_bytes, 20, "sequential");
            let outcome = played(device, design, &load, requests, seed, &["ram.buffer_kib=0"]);
            let (host, others, valid) = balance(&outcome, requests);
            erases += outcome.erases as f64;
            expected += host * others / (1.0 - valid) / pages_per_block;
        }
        let sigma = f64::sqrt(expected * (1.0 - expected / (units * seeds) as f64));
        assert!((erases - expected).abs() <= 3.0 * sigma, "{design}: {erases} erases, {expected:.1} expected, sigma {sigma:.1}");
    }
}

#[test]
fn write_amplification_is_that_of_the_steady_state_from_the_start_on() {
    for (device, design, page_bytes, rate_per_s) in [
        ("ttflash-small", "base", 4096, 1500),
        ("ttflash-small", "base+idle-die", 4096, 1500),
        ("ttflash-small", "base+d-choices-victim", 4096, 1500),
        ("ttflash-small", "base+fifo-victim", 4096, 1500),
        ("hpdc-1t-small", "hpdc-baseline", 16384, 1500),
        ("harey-8g-small", "harey-baseline", 4096, 500),
        ("modern-tlc-2t-small", "erase-baseline", 16384, 1000),
        ("mqsim-default-small", "base", 8192, 1000),
        ("modern-tlc-2t-small", "firmware", 16384, 2000),
        ("modern-qlc-4t-small", "firmware", 16384, 500),
    ] {
        let outcome = played(device, design, &writes(page_bytes, rate_per_s, "uniform"), 10_000, 1, &[]);
        let (_, others, valid) = balance(&outcome, 10_000);
        let (amplification, law) = (outcome.write_amplification.unwrap(), others / (1.0 - valid));
        assert!(outcome.erases > 100, "{design} on {device}: {} erases", outcome.erases);
        assert!((amplification / law - 1.0).abs() <= 0.1, "{design} on {device}: {amplification:.2}, by the law {law:.2}");
    }
}
