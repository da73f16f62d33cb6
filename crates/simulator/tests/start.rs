//! Runs start where their designs' own GC leaves a drive: nobody is charged for GC that was not asked for, and nobody borrows.

use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::{Spec, run};
use tinytail_simulator::settings::Settings;

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
            digests.push(outcome.state.digest);
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

#[test]
fn each_plane_starts_at_a_random_moment_between_two_collections() {
    // A tenth of what a victim frees is written to each plane, and a tenth of the planes collect.
    let (mut planes, mut erases, mut expected) = (0, 0.0, 0.0);
    for seed in 1..=4 {
        let outcome = played("ttflash-small", "base", &writes(4096, 2000, "sequential"), 64 * 5, seed, &["ram.buffer_kib=0"]);
        let freed = 64.0 * (1.0 - outcome.state.victim_valid_percent / 100.0);
        planes += 64;
        erases += outcome.erases as f64;
        expected += 64.0 * 5.0 / freed;
    }
    let sigma = f64::sqrt(expected * (1.0 - expected / f64::from(planes)));
    assert!((erases - expected).abs() <= 3.0 * sigma, "{erases} erases, {expected:.1} expected, sigma {sigma:.1}");
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
        ("mqsim-default-small", "base", 8192, 1000),
        ("modern-tlc-2t-small", "firmware", 16384, 2000),
        ("modern-qlc-4t-small", "firmware", 16384, 500),
    ] {
        let outcome = played(device, design, &writes(page_bytes, rate_per_s, "uniform"), 10_000, 1, &[]);
        let count =
            |name: &str| outcome.techniques.iter().filter(|(key, _)| key.ends_with(name)).map(|(_, count)| *count as f64).sum::<f64>();
        let flushed = count("buffer: flushed pages");
        let host = if flushed > 0.0 { flushed } else { 10_000.0 };
        let amplification = outcome.write_amplification.unwrap();
        let others = amplification - (count("gc: copied pages") + count("pages padded for GC")) / host;
        let law = others / (1.0 - outcome.state.victim_valid_percent / 100.0);
        assert!(outcome.erases > 100, "{design} on {device}: {} erases", outcome.erases);
        assert!((amplification / law - 1.0).abs() <= 0.1, "{design} on {device}: {amplification:.2}, by the law {law:.2}");
    }
}
