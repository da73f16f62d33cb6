//! Whole runs, from names to figures.

use std::io::Write;
use std::path::PathBuf;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::settings::Settings;
use tinytail_simulator::spec::{RunError, Spec};

fn spec(design: &str, workload: &str, requests: u64) -> Spec {
    Spec { requests: Some(requests), verify: true, windows: 200, ..Spec::new("ttflash-small", design, workload) }
}

fn outcome(design: &str, workload: &str, requests: u64) -> Outcome {
    run(&spec(design, workload, requests), &Control::default()).unwrap()
}

fn workload_file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tinytail-{}-{name}.toml", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    path
}

#[test]
fn the_same_seed_gives_the_same_run_twice_and_on_two_threads() {
    let run_once = || outcome("base", "randrw70-qd16", 20_000);
    let here = run_once();
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(run_once);
        let two = scope.spawn(run_once);
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_eq!(here.event_hash, one.event_hash);
    assert_eq!(here.event_hash, two.event_hash);
    assert_eq!(here.read, one.read);
    let mut other = spec("base", "randrw70-qd16", 20_000);
    other.seed = 2;
    assert_ne!(run(&other, &Control::default()).unwrap().event_hash, here.event_hash);
}

#[test]
fn a_workload_without_a_number_of_requests_is_played_with_that_of_the_run() {
    let keys = "queue_depth = 4\nblock_bytes = 4096\nread_share = 0.5\naddresses = \"uniform\"\n";
    for (name, text) in [
        ("endless", format!("summary = \"s\"\n[synthetic]\n{keys}")),
        ("endless-threads", format!("summary = \"s\"\n[threads.a]\n{keys}[threads.b]\n{keys}")),
    ] {
        let file = workload_file(name, &text);
        let path = file.to_str().unwrap();
        let outcome = outcome("base", path, 3000);
        assert_eq!(outcome.read.count + outcome.write.count, 3000);
        let without = Spec { requests: None, ..spec("base", path, 0) };
        let refusal = run(&without, &Control::default()).unwrap_err().to_string();
        assert!(refusal.contains("how many requests it has is not said") && refusal.contains("--requests"), "{refusal}");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn gc_makes_base_slow_and_its_twins_are_not() {
    let base = outcome("base", "randrw70-qd16", 60_000);
    let none = outcome("base+ideal-gc", "randrw70-qd16", 60_000);
    assert!(base.gc_count > 0 && none.gc_count > 0);
    assert!(base.read.p99_us.unwrap() > 4.0 * none.read.p99_us.unwrap(), "{:?} {:?}", base.read, none.read);
    assert!(base.gc_blocked_read_percent > 0.0);
    assert_eq!(none.gc_blocked_read_percent, 0.0);
    for outcome in [&base, &none] {
        let attributed: u64 = outcome.attribution.all_reads.ns.values().sum();
        let measured = outcome.read.mean_us.unwrap() * 1000.0 * outcome.read.count as f64;
        assert!((attributed as f64 - measured).abs() < 1.0 + measured * 1e-12, "attribution adds up: {attributed} of {measured}");
    }
}

#[test]
fn tails_series_and_wear_agree_with_the_totals_of_the_run() {
    let base = outcome("base", "randrw70-qd16", 60_000);
    let tails = &base.attribution.tails;
    assert_eq!(tails.iter().map(|tail| tail.share_percent).collect::<Vec<_>>(), [10.0, 1.0, 0.1, 0.01, 0.001]);
    assert_eq!(tails[2], base.attribution.slowest_reads);
    for pair in tails.windows(2) {
        let [wider, narrower] = [&pair[0].sum, &pair[1].sum];
        assert!(wider.count >= narrower.count && pair[0].latency_us_from <= pair[1].latency_us_from);
        assert!(narrower.ns.iter().all(|(cause, ns)| wider.ns[cause] >= *ns), "a narrower tail is a part of a wider one");
    }
    assert_eq!(base.series.gcs.iter().sum::<u64>(), base.gc_count);
    let blocks = &base.wear.blocks;
    let erases = blocks.erases.iter().zip(&blocks.blocks).map(|(&erases, blocks)| u64::from(erases) * blocks);
    assert_eq!(erases.sum::<u64>(), base.erases);
    assert!(blocks.erases.is_sorted_by(|one, two| one < two));
}

/// Most of the writes' time passes in the host, since GCs keep the slots of the device taken; and that is what it is attributed to.
#[test]
fn what_waits_in_the_host_behind_gcs_waits_for_gcs() {
    let writes = outcome("base", "randrw70-bursty", 20_000).attribution.all_writes;
    let total: u64 = writes.ns.values().sum();
    let for_gc: u64 = writes.ns.iter().filter(|(cause, _)| cause.contains("gc") || cause.ends_with("erase")).map(|(_, ns)| ns).sum();
    assert!(writes.host_queue_ns * 10 > total * 9, "{writes:?}");
    assert!(for_gc * 4 > total * 3, "{writes:?}");
    // Without GC the same load fills the queue as well now and then, for the host's own work.
    let reads = outcome("base+ideal-gc", "randrw70-bursty", 20_000).attribution.all_reads;
    assert!(reads.ns.keys().all(|cause| !cause.contains("gc") && !cause.ends_with("erase")), "{reads:?}");
}

#[test]
fn narrower_locks_block_fewer_reads() {
    let blocked = |design: &str| outcome(design, "randrw70-qd16", 60_000).gc_blocked_read_percent;
    let (controller, channel, plane) = (blocked("base+controller-blocking"), blocked("base"), blocked("base+plane-blocking"));
    assert!(controller > channel && channel > plane && plane > 0.0, "{controller} {channel} {plane}");
}

#[test]
fn a_run_without_gc_that_runs_out_of_space_says_what_helps() {
    let outcome = outcome("base+no-gc", "randwrite-qd32", 400_000);
    let stuck = outcome.stuck.expect("no erased page is left");
    assert!(outcome.partial && stuck.contains("ideal-gc") && stuck.contains("erased page"), "{stuck}");
}

#[test]
fn a_cancelled_run_keeps_what_it_has() {
    let control = Control::default();
    control.cancel();
    let outcome = run(&spec("base", "randrw70-qd16", 1000), &control).unwrap();
    assert!(outcome.partial);
    assert_eq!(outcome.read.p99_us, None);
}

#[test]
fn an_address_beyond_the_drive_and_nothing_to_do_are_refused() {
    let path = workload_file(
        "beyond",
        "summary = \"x\"\n[synthetic]\nqueue_depth = 1\nblock_bytes = 4096\nread_share = 1.0\naddresses = \"uniform\"\nrange_gib = 4\nrequests = 10\n",
    );
    let error = run(&spec("base", path.to_str().unwrap(), 10), &Control::default());
    std::fs::remove_file(path).unwrap();
    assert!(matches!(error, Err(RunError::Workload(_))), "{error:?}");
    assert!(run(&spec("base", "randrw70-qd16", 0), &Control::default()).is_err());
}

#[test]
fn small_pieces_of_pages_survive_buffer_flush_and_gc() {
    let path = workload_file(
        "pieces",
        "summary = \"x\"\n[synthetic]\nqueue_depth = 8\nblock_bytes = 1536\nalign_bytes = 512\nread_share = 0.5\naddresses = \"uniform\"\nrequests = 30000\n",
    );
    let outcome = run(&spec("base", path.to_str().unwrap(), 30_000), &Control::default());
    std::fs::remove_file(path).unwrap();
    let outcome = outcome.unwrap();
    assert!(outcome.techniques["read-modify-writes"] > 0);
    assert!(outcome.verified_page_reads.unwrap() > 0);
}

#[test]
fn a_superpage_drive_programs_on_all_planes_for_gc_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("marks.toml");
    std::fs::write(&path, "kind = \"overlay\"\nsummary = \"s\"\n[gc_trigger]\nsoft_free_percent = 2.5\nhard_free_percent = 1.3\n[gc_gate]\npolicy = \"free\"\n").unwrap();
    let mut spec = spec(&format!("base+superpage-programs+{}", path.display()), "randrw70-qd16", 20_000);
    spec.device = "mqsim-default-small".into();
    let outcome = run(&spec, &Control::default()).unwrap();
    let count = |what: &str| outcome.techniques[&format!("pairing/superpage: {what}")];
    assert!(outcome.gc_count > 0 && outcome.verified_page_reads.unwrap() > 0);
    assert!(count("pages padded for GC") > 0 && count("pages padded for GC") < count("padded pages"));
    assert_eq!(count("programs without all planes"), 0);
}

#[test]
fn a_design_that_does_not_fit_the_device_is_refused_with_file_line_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |text: &str| {
        let path = folder.path().join("overlay.toml");
        std::fs::write(&path, format!("kind = \"overlay\"\nsummary = \"s\"\n{text}")).unwrap();
        let spec = spec(&format!("base+{}", path.display()), "randrw70-qd16", 10);
        let error = run(&spec, &Control::default()).unwrap_err().to_string();
        error.replace(path.to_str().unwrap(), "overlay.toml")
    };
    for (text, expected) in [
        ("[gc]\n\nwrite_points = 0\n", "overlay.toml:5: [gc] `write_points` is 0; allowed: 1 to 32 on this device"),
        ("[gc_trigger]\nhard_free_percent = 31\n", "overlay.toml:4: [gc_trigger] `soft_free_percent` is 30 and `hard_free_percent` 31"),
        ("[gc]\nreserve_blocks = 33\n", "overlay.toml:4: [gc] `reserve_blocks` is 33; allowed: 1 to 32 on this device"),
        ("[pairing]\npolicy = \"superpage\"\nwait_us = 0\n", "overlay.toml:5: [pairing] `wait_us` is 0"),
        ("[gc_lock]\npolicy = \"preemptible\"\n", "overlay.toml:3: [gc_lock] `scope` is missing"),
        ("[victim]\nchain = []\n", "overlay.toml:4: [victim] `chain` is empty"),
        (
            "[gc_trigger]\nsoft_free_percent = 61\n",
            "overlay.toml:4: [gc_trigger] `soft_free_percent` starts GC below 2499 erased pages of each plane",
        ),
    ] {
        let message = refusal(text);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn reads_get_on_while_every_plane_of_a_full_drive_wants_to_collect() {
    // The planes start between the thresholds, every one of them, so that all want a GC at once, and GC locks their channels. A
    // warm-up would take them past it.
    for design in ["base", "base+background-emergency"] {
        let mut spec = spec(design, "randrw70-qd16", 3000);
        spec.device = "modern-qlc-4t-small".into();
        spec.state = "free_percent = 3.0".parse().unwrap();
        spec.settings = Settings::try_from(vec!["gc_gate.start=immediate".to_string()]).unwrap();
        spec.no_warm_up = true;
        let outcome = run(&spec, &Control::default()).unwrap();
        assert_eq!((outcome.stuck, outcome.read.count + outcome.write.count), (None, 3000), "{design}");
        assert!(outcome.erases > 0, "{design}");
        assert!(outcome.gc_blocked_read_percent > 0.0, "{design}: no read met a GC");
    }
}
