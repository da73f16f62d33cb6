//! What a run says of itself that makes its figures mean less.

use std::path::PathBuf;
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::{FindingCode, GcNote, Outcome};
use tinytail_simulator::run::run;
use tinytail_simulator::spec::Spec;
use tinytail_workload::TimeUnit;

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

/// The mean of the erased blocks of a plane in a part of the windows.
fn mean_blocks(outcome: &Outcome, from: usize, to: usize) -> f64 {
    let blocks: Vec<f64> = outcome.series.free_blocks_mean[from..to].iter().copied().flatten().collect();
    blocks.iter().sum::<f64>() / blocks.len() as f64
}

/// Whether a GC was urgent in some plane, so that it came before writes.
fn has_urgent_gc(outcome: &Outcome) -> bool {
    outcome.techniques.iter().any(|(name, count)| name.ends_with(": passed urgently") && *count > 0)
}

/// Runs of several lengths, on the way from one state to another and long after it.
#[test]
fn a_run_that_has_become_level_borrows_nothing_and_urgent_gc_that_is_foretold_comes() {
    let is_soak = std::env::var_os("TINYTAIL_SOAK").is_some();
    let designs: &[&str] = if is_soak {
        &["base", "base+preemptible", "base+plane-preemptible", "base+plane-blocking", "base+d-choices-victim+plane-preemptible"]
    } else {
        &["base+plane-preemptible"]
    };
    let lengths: &[u64] = if is_soak { &[10, 20, 40, 60, 80, 100, 120, 140, 160, 200, 300, 400, 600] } else { &[20, 60, 100, 140, 300] };
    let workloads: &[&str] = if is_soak { &["randrw70-qd16", "randwrite-qd32", "zipf"] } else { &["randrw70-qd16"] };
    let (mut borrowed, mut foretold, mut level) = (0, 0, 0);
    for (design, workload, thousands) in designs
        .iter()
        .flat_map(|design| workloads.iter().flat_map(move |workload| lengths.iter().map(move |length| (design, workload, length))))
    {
        let of_length = |requests: f64| {
            let spec = Spec { requests: Some(requests as u64), ..Spec::new("ttflash-small", design, workload) };
            run(&spec, &Control::default()).unwrap()
        };
        let requests = *thousands as f64 * 1000.0;
        let outcome = of_length(requests);
        let finding = outcome.findings.iter().find(|finding| finding.code == FindingCode::Borrowed);
        borrowed += u32::from(finding.is_some());
        let (windows, what) = (outcome.series.gcs.len(), format!("{design}, {workload}, {requests}: {:?}", outcome.findings));
        let falls = mean_blocks(&outcome, windows * 2 / 3, windows * 3 / 4) - mean_blocks(&outcome, windows * 11 / 12, windows);
        if falls < 0.01 {
            level += 1;
            assert!(finding.is_none(), "it is level: {what}");
        }
        let Some(urgent) = finding.and_then(|finding| finding.figures.get("urgent_seconds")) else { continue };
        if *urgent == 0.0 {
            assert!(has_urgent_gc(&outcome), "{what}");
            continue;
        }
        foretold += 1;
        assert!(*urgent <= outcome.simulated_seconds, "{what}");
        let until = |share: f64| of_length(requests * (1.0 + share * urgent / outcome.simulated_seconds));
        assert!(!has_urgent_gc(&until(0.7)), "too late: {what}");
        assert!(has_urgent_gc(&until(1.3)), "too early: {what}");
    }
    assert!(borrowed > 1 && foretold > 0 && level > 0, "{borrowed}, {foretold}, {level}");
}

#[test]
fn reads_of_pages_without_data_are_a_finding_with_their_share_and_take_the_time_of_ram_and_link() {
    let device = catalog::device("modern-tlc-2t-small").unwrap();
    let page = u64::from(device.geometry.page_bytes / 512);
    // Trims of pages 0 to 999, then reads of which three of four begin there; each has one page.
    let trims = (0..10).map(|i| format!("{},trim,{},{}\n", i * 100_000, i * 100 * page, 100 * page));
    let reads = (0..400).map(|i| format!("{},read,{},{page}\n", 2_000_000 + i * 1000, (if i % 4 == 0 { 5000 + i } else { i }) * page));
    let text: String = std::iter::once("time_us,op,offset_sectors,length_sectors\n".into()).chain(trims).chain(reads).collect();
    let file = file("trimmed.csv", &text);
    let mut spec = Spec::new("modern-tlc-2t-small", "firmware", file.to_str().unwrap());
    spec.trace.columns = Some("time:us,op,lba:sectors,len:sectors".parse().unwrap());
    spec.no_warm_up = true;
    let outcome = played(&spec, file);
    let finding = outcome.findings.iter().find(|finding| finding.code == FindingCode::UnmappedReads).expect("three of four");
    assert_eq!((finding.figures["unmapped_reads"], finding.figures["unmapped_read_percent"]), (300.0, 75.0), "{finding:?}");
    assert_eq!((outcome.unmapped_read_pages, outcome.unmapped_read_percent), (300, 75.0));
    let least = device.host.overhead_ns + device.timing.ram_ns + device.host.link_ns(page * 512);
    assert!(outcome.read.p50_us.unwrap() >= least as f64 / 1000.0, "{:?}", outcome.read);
}

#[test]
fn a_run_that_never_began_has_no_state_and_has_only_ended_early() {
    let control = Control::default();
    control.cancel();
    let outcome = run(&Spec { requests: Some(300), ..Spec::new("ttflash-small", "base", "randrw70-qd16") }, &control).unwrap();
    assert_eq!((codes(&outcome), outcome.state.is_none()), (vec![FindingCode::Partial], true));
    assert_eq!(outcome.erased, Default::default());
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
