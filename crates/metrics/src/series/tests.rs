use super::*;
use proptest::prelude::*;

/// A request that completes at a time, and what the drive has done until then.
#[derive(Debug, Clone)]
struct Step {
    completion: Completion,
    work: Work,
    free: u32,
}

fn steps(gap: std::ops::Range<u64>) -> impl Strategy<Value = Vec<Step>> {
    let step = (gap, any::<bool>(), 1..1_000_000u64, 1..64u32, 0..4u64, 0..9u64, 0..3u64, 1..50u32);
    proptest::collection::vec(step, 1..300).prop_map(|rows| {
        let (mut now, mut work) = (1_000_000, Work::default());
        rows.into_iter()
            .map(|(gap, read, latency, sectors, host, gc, gcs, free)| {
                now += gap;
                let programmed_pages = work.programmed_pages + host + gc;
                work = Work { host_pages: work.host_pages + host, gc_pages: work.gc_pages + gc, programmed_pages, gcs: work.gcs + gcs };
                let kind = if read { CommandKind::Read } else { CommandKind::Write };
                let arrived = now.saturating_sub(latency);
                let completion = Completion {
                    id: 0,
                    kind,
                    sector: 0,
                    sectors,
                    asked: arrived,
                    arrived,
                    completed: now,
                    gc_blocked: false,
                    reconstructed: 0,
                    gc_waits: 0,
                    gc_waits_forced: 0,
                    gc_wait_since: 0,
                    host_queue_ns: 0,
                };
                Step { completion, work, free }
            })
            .collect()
    })
}

fn look(series: &mut Series, step: &Step) {
    series.end_window(FreeBlocks { min: step.free, mean_sum: f64::from(step.free), looks: 1, pages: 0 }, step.work);
    series.go_to(step.completion.completed);
}

fn series_of(steps: &[Step], limit: u32) -> SeriesSummary {
    let mut series = Series::new(1_000_000, limit);
    for step in steps {
        if series.is_over(step.completion.completed) {
            look(&mut series, step);
        }
        series.record(&step.completion, Classed::new(step.completion.completed - step.completion.arrived));
    }
    let last = steps.last().unwrap();
    look(&mut series, last);
    series.widen(last.completion.completed, limit as usize);
    let first = steps.iter().map(|step| step.completion.arrived).min().unwrap();
    series.columns(first.saturating_sub(1_000_000), last.completion.completed - 1_000_000)
}

proptest! {
    /// Beside a reference that keeps every request and sorts them into windows afterwards.
    #[test]
    fn windows_hold_what_happened_in_them_however_often_they_widened(
        steps in prop_oneof![steps(0..1000), steps(0..3_000_000), steps(0..40_000_000_000)],
        limit in prop_oneof![1..6u32, Just(200)],
    ) {
        let found = series_of(&steps, limit);
        prop_assert!(found.reads.len() <= limit as usize);
        let width = (found.window_seconds * 1e9).round() as u64;
        prop_assert!(width.is_multiple_of(FIRST_WINDOW_NS) && (width / FIRST_WINDOW_NS).is_power_of_two());
        for window in 0..found.reads.len() {
            let inside = |step: &&Step| (step.completion.completed - 1_000_000) / width == window as u64;
            let of = |kind| steps.iter().filter(inside).map(|step| step.completion).filter(move |completion| completion.kind == kind);
            let bytes = |kind| of(kind).map(|completion| u64::from(completion.sectors) * 512).sum::<u64>();
            let mut latencies: Vec<u64> = of(CommandKind::Read).map(|completion| completion.completed - completion.arrived).collect();
            latencies.sort_unstable();
            prop_assert_eq!(found.reads[window], latencies.len() as u64);
            prop_assert_eq!(found.writes[window], of(CommandKind::Write).count() as u64);
            prop_assert_eq!(found.read_bytes[window], bytes(CommandKind::Read));
            prop_assert_eq!(found.write_bytes[window], bytes(CommandKind::Write));
            prop_assert_eq!(found.read_max_us[window], latencies.last().map(|&ns| ns as f64 / 1000.0));
            // The rate is by the time of the window that lies between the first arrival and the last completion.
            let first = steps.iter().map(|step| step.completion.arrived).min().unwrap().max(1_000_000);
            let last = steps.last().unwrap().completion.completed;
            let (begin, end) = (1_000_000 + window as u64 * width, 1_000_000 + (window as u64 + 1) * width);
            let passed = end.min(last).saturating_sub(begin.max(first));
            let rate = (passed > 0).then(|| (latencies.len() + of(CommandKind::Write).count()) as f64 / (passed as f64 / 1e9));
            prop_assert_eq!(found.requests_per_second[window], rate);
            for (quantile, found) in [(0.5, found.read_p50_us[window]), (0.99, found.read_p99_us[window]), (0.999, found.read_p999_us[window])] {
                let rank = ((latencies.len() as f64 * quantile).ceil() as usize).max(1) - 1;
                let truth = latencies.get(rank).map(|&ns| ns as f64 / 1000.0);
                prop_assert_eq!(found.is_some(), truth.is_some());
                if let (Some(found), Some(truth)) = (found, truth) {
                    prop_assert!(found >= truth && found <= truth * 1.008, "{} for {}", found, truth);
                }
            }
        }
        // The sums are the run's.
        let last = steps.last().unwrap();
        prop_assert_eq!(found.reads.iter().sum::<u64>() + found.writes.iter().sum::<u64>(), steps.len() as u64);
        prop_assert_eq!(found.host_pages.iter().sum::<u64>(), last.work.host_pages);
        prop_assert_eq!(found.gc_pages.iter().sum::<u64>(), last.work.gc_pages);
        prop_assert_eq!(found.gcs.iter().sum::<u64>(), last.work.gcs);
        let least = found.free_blocks_min.iter().flatten().min().copied().unwrap();
        prop_assert!(steps.iter().any(|step| step.free == least));
    }
}

fn at(completed: Ns, (host_pages, gc_pages, gcs): (u64, u64, u64)) -> Step {
    let completion = Completion {
        id: 0,
        kind: CommandKind::Write,
        sector: 0,
        sectors: 2,
        asked: completed,
        arrived: completed,
        completed: 1_000_000 + completed,
        gc_blocked: false,
        reconstructed: 0,
        gc_waits: 0,
        gc_waits_forced: 0,
        gc_wait_since: 0,
        host_queue_ns: 0,
    };
    Step { completion, work: Work { host_pages, gc_pages, programmed_pages: host_pages + gc_pages, gcs }, free: 3 }
}

#[test]
fn a_window_ends_a_nanosecond_before_the_next_begins() {
    let series = series_of(&[at(0, (0, 0, 0)), at(99_999, (1, 0, 0)), at(100_000, (2, 0, 0)), at(150_000, (2, 2, 1))], 200);
    assert_eq!(series.writes, [2, 2]);
    // Pages are counted when a window is found to be over.
    assert_eq!(series.host_pages, [2, 0]);
    assert_eq!(series.gc_pages, [0, 2]);
    assert_eq!(series.gcs, [0, 1]);
    assert_eq!(series.write_amplification, [Some(1.0), None]);
    // The last window is half a window long.
    assert_eq!(series.requests_per_second, [Some(20_000.0), Some(40_000.0)]);
    for (found, truth) in series.mb_per_second.iter().zip([20.48, 40.96]) {
        assert!((found.unwrap() - truth).abs() < 1e-9, "{found:?}");
    }
}

#[test]
fn one_window_more_than_allowed_halves_their_number() {
    let requests: Vec<Step> = (0..4).map(|window| at(window * 100_000, (0, 0, 0))).collect();
    assert_eq!(series_of(&requests, 4).writes, [1, 1, 1, 1]);
    let one_more: Vec<Step> = (0..5).map(|window| at(window * 100_000, (0, 0, 0))).collect();
    let series = series_of(&one_more, 4);
    assert_eq!(series.writes, [2, 2, 1]);
    assert_eq!(series.window_seconds, 0.0002);
}

#[test]
fn windows_in_which_nothing_completed_are_empty_and_nobody_looked() {
    let series = series_of(&[at(1, (1, 0, 0)), at(350_000, (3, 0, 1))], 200);
    assert_eq!(series.writes, [1, 0, 0, 1]);
    assert_eq!(series.free_blocks_min, [Some(3), None, None, Some(3)]);
    assert_eq!(series.requests_per_second[1], Some(0.0));
    assert_eq!(series.read_p50_us, [None; 4]);
}
