//! Kinds of requests that are measured apart, in whole runs.

use tinytail_simulator::control::Control;
use tinytail_simulator::image::{self, CreateSpec};
use tinytail_simulator::kinds::{KindSpec, KindsSpec, ReadOrWrite};
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::settings::Settings;
use tinytail_simulator::spec::{RequestTimelinesSpec, RunError, Spec};
use tinytail_workload::TraceOptions;

fn small_reads() -> KindSpec {
    KindSpec { kind: ReadOrWrite::Read, bytes: 1536, sum_ns_max: None, latency_ns_max: None }
}

fn spec(workload: &str, requests: u64, small: KindSpec) -> Spec {
    let large = |kind| KindSpec { kind, bytes: 131_072, sum_ns_max: None, latency_ns_max: None };
    let of = vec![small, large(ReadOrWrite::Read), large(ReadOrWrite::Write)];
    let limits_ns = vec![1, 1_000_000, u64::MAX];
    let kinds = KindsSpec { of, limits_ns, duration_ns: 1_000_000_000, slices: 4 };
    Spec { requests: Some(requests), kinds: Some(kinds), ..Spec::new("lowlatency-240g-small", "base", workload) }
}

fn outcome(spec: &Spec) -> Outcome {
    run(spec, &Control::default()).unwrap()
}

fn none() -> Settings {
    Settings::default()
}

#[test]
fn kinds_are_told_apart_and_add_up_to_all() {
    let spec = spec("act@2", 4096, small_reads());
    let found = outcome(&spec);
    let [small, reads, writes] = &found.kinds[..] else { panic!("three kinds") };
    assert_eq!((small.kind, small.bytes, small.latency.count), ("read", 1536, 4000));
    assert_eq!((reads.kind, reads.latency.count), ("read", 48));
    assert_eq!((writes.kind, writes.latency.count), ("write", 48));
    assert_eq!((found.read.count, found.write.count), (4048, 48));
    assert!(small.latency.p50_us.unwrap() < reads.latency.p50_us.unwrap());
    // Everything takes a nanosecond, and nothing takes as long as there is time.
    assert_eq!([small.limits[0].missed, small.limits[2].missed], [4000, 0]);
    assert!((small.limits[0].worst_slice_percent - 100.0).abs() < 1e-9);
    assert!(found.given_up.is_none() && !found.partial);
    // What is measured changes nothing.
    let plain = outcome(&Spec { kinds: None, ..spec });
    assert_eq!(plain.event_hash, found.event_hash);
    assert!(plain.kinds.is_empty());
}

#[test]
fn a_run_that_is_given_up_issues_no_more_and_says_why() {
    let bounded = KindSpec { sum_ns_max: Some(10_000_000), ..small_reads() };
    let found = outcome(&spec("act@8", 160_000, bounded));
    assert!(found.given_up.unwrap().contains("the latencies of the reads of 1536 bytes add up to"));
    let served = found.read.count + found.write.count;
    assert!(served < 20_000, "{served}");
    assert!(!found.partial && found.stuck.is_none());
}

#[test]
fn kinds_are_the_same_in_a_run_that_keeps_timelines() {
    let folder = tempfile::tempdir().unwrap();
    let alone = spec("act", 2000, small_reads());
    let request_timelines = RequestTimelinesSpec { path: folder.path().to_str().unwrap().into(), slowest: 1, requests: vec![] };
    assert_eq!(outcome(&Spec { request_timelines: Some(request_timelines), ..alone.clone() }).kinds, outcome(&alone).kinds);
}

#[test]
fn what_cannot_be_measured_apart_is_refused() {
    let refused = |spec: &Spec| match run(spec, &Control::default()) {
        Err(RunError::Failed(message)) => message,
        other => panic!("{other:?}"),
    };
    for bytes in [0, 100] {
        assert!(refused(&spec("act", 10, KindSpec { bytes, ..small_reads() })).contains("multiples of 512"));
    }
    for slices in [0, 10_001] {
        let mut wrong = spec("act", 10, small_reads());
        wrong.kinds.as_mut().unwrap().slices = slices;
        assert!(refused(&wrong).contains(&format!("{slices} slices were asked for")));
    }
}

#[test]
fn an_image_fits_designs_of_its_layout() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let device = "lowlatency-240g-small";
    let create = |out: &str, state: toml::Table| {
        let (seed, workload, trace) = (1, None, TraceOptions::default());
        let spec = CreateSpec {
            out: out.into(),
            device: device.into(),
            design: "base".into(),
            seed,
            state,
            settings: none(),
            workload,
            spooled: None,
            trace,
        };
        image::create(&spec, &Control::default()).unwrap();
    };
    let shared = path("shared.image");
    create(&shared, toml::Table::new());
    let fits = |image: &str, design: &str| image::fits(image, device, design, &none()).unwrap();
    assert!(fits(&shared, "base") && fits(&shared, "base+t-es"));
    assert!(!fits(&shared, "base+superpage-programs"), "two write points");
    assert!(!image::fits(&shared, "ttflash-small", "base", &none()).unwrap());
    assert!(image::fits(&shared, device, "nosuch", &none()).is_err());
    assert!(image::fits(&path("missing.image"), device, "base", &none()).is_err());
}
