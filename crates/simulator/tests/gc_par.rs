//! I/O-parallelized GC, its baseline and the techniques that its paper compares it with, on its drive.

use std::io::Write;
use tempfile::NamedTempFile;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::{RunError, Spec};

/// Whole pages in closed loop, deep enough for requests to wait at every die.
fn workload() -> NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let text = "summary = \"s\"\n[synthetic]\nqueue_depth = 512\nblock_bytes = 16384\nread_share = 0.4\naddresses = \"uniform\"\n";
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn outcome(design: &str, device: &str, requests: u64) -> Outcome {
    let file = workload();
    let path = file.path().to_str().unwrap();
    let spec = Spec { requests: Some(requests), verify: true, ..Spec::new(device, design, path) };
    run(&spec, &Control::default()).unwrap()
}

fn refused(design: &str, device: &str) -> String {
    let file = workload();
    let path = file.path().to_str().unwrap();
    let spec = Spec { requests: Some(10), ..Spec::new(device, design, path) };
    match run(&spec, &Control::default()).unwrap_err() {
        RunError::Config(error) => error.to_string(),
        other => panic!("no fault of the configuration: {other}"),
    }
}

#[test]
fn two_planes_of_a_die_are_half_used_during_gc_until_the_host_pairs_with_it() {
    let of = |design: &str| outcome(design, "hpdc-1t-small", 15_000);
    let base = of("hpdc-baseline");
    assert_eq!(base.plane_utilization_during_gc_percent, Some(50.0));
    assert!(base.gc_count > 100 && base.gc_affected.reads.count > 0 && base.gc_affected.writes.count > 0);
    let fired = |outcome: &Outcome, key: &str| outcome.techniques[key];
    for design in ["gc-par", "gc-vic"] {
        let par = of(&format!("hpdc-baseline+gc-par{}", if design == "gc-vic" { "+gc-vic" } else { "" }));
        let utilization = par.plane_utilization_during_gc_percent.unwrap();
        assert!(utilization > 51.0 && utilization <= 100.0, "{design}: {utilization}");
        assert!(
            fired(&par, "pairing/gc_par: reads paired with GC's") > 0 && fired(&par, "pairing/gc_par: programs paired with GC's") > 0,
            "{design}"
        );
        assert!(par.gc_affected.writes.mean_us < base.gc_affected.writes.mean_us, "{design}");
        assert_eq!(
            (par.state.as_ref().unwrap().free_pages_min, par.state.as_ref().unwrap().victim_valid_percent),
            (base.state.as_ref().unwrap().free_pages_min, base.state.as_ref().unwrap().victim_valid_percent)
        );
        // What it is for is measured in both ways.
        assert!(par.throughput.makespan_mb_per_second > base.throughput.makespan_mb_per_second, "{design}");
        assert!(par.throughput.device_busy_mb_per_second > base.throughput.device_busy_mb_per_second, "{design}");
    }
    assert_eq!(of("hpdc-baseline+ideal-gc").plane_utilization_during_gc_percent, None);
}

#[test]
fn what_the_paper_holds_against_it_leaves_the_other_plane_unused() {
    for (design, device, fired) in [
        ("hpdc-baseline+die-preemptible", "hpdc-1t-small", "gc_lock/preemptible: yielded"),
        ("hpdc-baseline+idle-die", "hpdc-1t-small", "place/idle_die: left their plane"),
        ("hpdc-baseline+gc-slack", "hpdc-1t-small", "order/deadline_slack: deadlines missed"),
        ("hpdc-ttflash", "hpdc-1t-rain-small", "read_plan/gc_tolerant: reconstructed pages"),
    ] {
        let outcome = outcome(design, device, 15_000);
        assert_eq!(outcome.plane_utilization_during_gc_percent, Some(50.0), "{design}");
        assert!(outcome.techniques[fired] > 0, "{design}");
    }
}

#[test]
fn four_planes_of_a_die_are_used_to_a_quarter() {
    let of = |design: &str| outcome(design, "hpdc-1t-4planes-small", 25_000).plane_utilization_during_gc_percent.unwrap();
    assert_eq!(of("hpdc-baseline"), 25.0);
    assert!(of("hpdc-baseline+gc-par") > 26.0);
}

#[test]
fn what_contradicts_it_is_refused_with_its_keys() {
    for (design, device, words) in [
        ("base+through-controller+gc-par", "ttflash-small", ["`planes_per_die`", "gc_par"]),
        ("gc-par", "ttflash-small", ["`planes_per_die`", "gc_par"]),
        ("hpdc-baseline+gc-vic", "hpdc-1t-small", ["[victim]", "[pairing] `policy` = \"same_offset\""]),
        ("hpdc-baseline+gc-par+ideal-gc", "hpdc-1t-small", ["[gc] `ideal` = true", "gc_par"]),
        ("base-rain+idle-die", "ttflash-small", ["[place] `policy` = \"idle_die\"", "[place] `policy` = \"rain\""]),
        ("harey-baseline+gc-par-basic", "hpdc-1t-small", ["[place] `policy` = \"next_idle\"", "gc_par"]),
    ] {
        let message = refused(design, device);
        assert!(words.iter().all(|word| message.contains(word)), "{design}: {message}");
    }
}
