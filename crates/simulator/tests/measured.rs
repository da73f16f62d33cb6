//! The latencies that a trace holds, beside those of a run.

use std::path::PathBuf;

use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::Spec;
use tinytail_workload::{BurstGap, Fit, TraceOptions, Transform};

struct Trace(PathBuf);

impl Trace {
    fn new(name: &str, lines: impl IntoIterator<Item = String>) -> Self {
        let path = std::env::temp_dir().join(format!("tinytail-measured-{}-{name}", std::process::id()));
        std::fs::write(&path, lines.into_iter().collect::<String>()).unwrap();
        Self(path)
    }

    /// So many reads and writes in turn, one a millisecond: the reads took 1, 2, 3, ... µs, in mixed order, the writes 70 µs.
    fn msr(name: &str, requests: u64) -> Self {
        let reads = requests / 2;
        Self::new(
            name,
            (0..requests).map(|number| {
                // 7 has no factor in common with the numbers of reads here.
                let (kind, latency_us) = if number % 2 == 0 { ("Read", 1 + number / 2 * 7 % reads) } else { ("Write", 70) };
                format!("{},host,0,{kind},{},4096,{}\n", number * 10_000, number % 1000 * 4096, latency_us * 10)
            }),
        )
    }

    fn spec(&self) -> Spec {
        Spec::new("ttflash-small", "base", self.0.to_str().unwrap())
    }

    fn play(&self, change: impl FnOnce(&mut Spec)) -> Outcome {
        let mut spec = self.spec();
        change(&mut spec);
        run(&spec, &Control::default()).unwrap()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Percentiles are within 0.1 %.
fn assert_near(found: Option<f64>, said: f64) {
    assert!(found.is_some_and(|found| (found - said).abs() <= said * 0.001), "{found:?} for {said}");
}

#[test]
fn latencies_of_0_are_counted_and_named() {
    let line = |number: u64| format!("{},host,0,Read,{},4096,{}\n", number * 10_000, number % 1000 * 4096, number % 3 / 2 * 700);
    let measured = Trace::new("zeros", (0..300).map(line)).play(|_| {}).measured.unwrap();
    assert_eq!((measured.read.count, measured.zeros, measured.missing), (300, 200, 0));
    assert_eq!((measured.ratio.read.p50, measured.ratio.read.p90.is_some()), (None, true));
    let caveat = measured.caveats.iter().find(|caveat| caveat.contains("are 0 in the trace")).unwrap();
    assert!(caveat.starts_with("200 of 300 measured latencies are 0 in the trace"), "{caveat}");
    let none = Trace::msr("no-zeros", 200).play(|_| {}).measured.unwrap();
    assert!(none.zeros == 0 && !none.caveats.iter().any(|caveat| caveat.contains("are 0 in the trace")), "{:?}", none.caveats);
}

#[test]
fn percentiles_are_those_of_the_trace_and_ratios_those_of_the_run_to_them() {
    let outcome = Trace::msr("percentiles", 2000).play(|_| {});
    let measured = outcome.measured.unwrap();
    assert_eq!((measured.read.count, measured.write.count, measured.missing), (1000, 1000, 0));
    let read = &measured.read;
    for (found, said) in [
        (read.p50_us, 500.0),
        (read.p90_us, 900.0),
        (read.p99_us, 990.0),
        (read.p999_us, 999.0),
        (read.max_us, 1000.0),
        (read.mean_us, 500.5),
    ] {
        assert_near(found, said);
    }
    assert_near(measured.write.p999_us, 70.0);
    assert_near(measured.ratio.read.p99, outcome.read.p99_us.unwrap() / 990.0);
    assert_near(measured.ratio.write.p50, outcome.write.p50_us.unwrap() / 70.0);
    assert!(measured.scope.contains("ResponseTime") && !measured.same_drive);
    assert_eq!(measured.caveats.len(), 1, "{:?}", measured.caveats);
}

#[test]
fn only_the_requests_that_are_played_count() {
    let trace = Trace::msr("played", 2000);
    let reads = |change: fn(&mut Spec)| trace.play(change).measured.unwrap().read;
    // The first 30 reads took 1, 8, 15, ..., 204 µs; the 11th to 20th 71, 78, ..., 134 µs.
    let first = reads(|spec| spec.requests = Some(60));
    assert_eq!(first.count, 30);
    assert_near(first.p50_us, 99.0);
    assert_near(first.max_us, 204.0);
    let window = Transform { window_s: Some((0.020, 0.040)), ..Transform::default() };
    let within = |spec: &mut Spec| spec.transform = window;
    let found = trace.play(within).measured.unwrap();
    assert_eq!((found.read.count, found.write.count), (10, 10));
    assert_near(found.read.p50_us, 99.0);
    assert_near(found.read.max_us, 134.0);
    // Requests beyond the first 40 pages are left out: 20 reads of each 500.
    let clipped = reads(|spec| {
        spec.transform = Transform { fit: Some(Fit::Clip), region_bytes: Some(40 * 4096), ..Transform::default() };
    });
    assert_eq!(clipped.count, 40);
    let repeated = reads(|spec| spec.transform.repeat = Some(2));
    assert_eq!(repeated.count, 2000);
    assert_near(repeated.p50_us, 500.0);
}

#[test]
fn latencies_of_another_load_are_left_out_and_that_is_said() {
    let trace = Trace::msr("other-load", 200);
    let transformed = |transform: Transform| trace.play(|spec| spec.transform = transform);
    for (outcome, why) in [
        (trace.play(|spec| spec.trace.queue_depth = Some(4)), "closed loop"),
        (transformed(Transform { scale_time: Some(0.5), ..Transform::default() }), "scale_time"),
        (transformed(Transform { scale_size: Some(2.0), ..Transform::default() }), "scale_size"),
        (transformed(Transform { burst_gap_s: Some(BurstGap::Seconds(0.0005)), ..Transform::default() }), "burst_gap_s"),
    ] {
        assert!(outcome.measured.is_none(), "{why}");
        let said = outcome.notes.iter().filter(|note| note.contains("latencies that were measured") && note.contains(why)).count();
        assert_eq!(said, 1, "{why}: {:?}", outcome.notes);
    }
    let folded =
        transformed(Transform { fit: Some(Fit::Fold), region_bytes: Some(1 << 20), offset_bytes: Some(4096), ..Transform::default() });
    assert_eq!(folded.measured.unwrap().read.count, 100);
    let without = Trace::new("without", (0..50).map(|number| format!("3,R,{},4096,{}\n", number * 4096, number * 1000)));
    let outcome = without.play(|_| {});
    assert!(outcome.measured.is_none() && !outcome.notes.iter().any(|note| note.contains("latencies")), "{:?}", outcome.notes);
}

#[test]
fn missing_latencies_are_counted_and_those_of_several_devices_said() {
    let line = |number: u32, response: &str| format!("{number}.0,{response},R,{},0,4096\n", number % 2);
    let some = Trace::new("missing", (0..40).map(|number| line(number, if number % 4 == 0 { "" } else { "0.002" })));
    let measured = some.play(|_| {}).measured.unwrap();
    assert_eq!((measured.read.count, measured.missing), (30, 10));
    assert_near(measured.read.p50_us, 2000.0);
    for part in ["of 10 of 40 requests", "2 recorded devices share one drive"] {
        assert!(measured.caveats.iter().any(|caveat| caveat.contains(part)), "{:?}", measured.caveats);
    }
    let none = Trace::new("none", (0..40).map(|number| line(number, "")));
    assert!(none.play(|_| {}).measured.is_none());
}

#[test]
fn a_trace_of_the_drive_itself_needs_no_caveat() {
    let trace = Trace::msr("same-drive", 200);
    let same = TraceOptions { same_drive: Some(true), ..TraceOptions::default() };
    let measured = trace.play(|spec| spec.trace = same.clone()).measured.unwrap();
    assert!(measured.same_drive && measured.caveats.is_empty(), "{:?}", measured.caveats);
    let without = Trace::new("same-without", ["3,R,0,4096,1\n".into()]);
    let spec = Spec { trace: same, ..without.spec() };
    let message = run(&spec, &Control::default()).unwrap_err().to_string();
    assert!(message.contains("`same_drive` (given as an option) is about the latencies that a trace holds"), "{message}");
    assert!(message.contains("the format alibaba has none; leave it out"), "{message}");
}

#[test]
fn a_run_that_ends_early_is_held_against_nothing() {
    // More writes than a drive without GC has room for.
    let trace =
        Trace::new("stuck", (0..2_000_u64).map(|number| format!("{},h,0,Write,{},4194304,700\n", number * 100_000, number % 50 * 4194304)));
    let outcome = trace.play(|spec| spec.design = "base+no-gc".into());
    assert!(outcome.partial && outcome.stuck.is_some());
    assert!(outcome.measured.is_none());
}
