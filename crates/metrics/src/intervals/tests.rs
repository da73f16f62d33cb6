use super::*;
use crate::classes::class_of;
use crate::series::BITS;

const WINDOWS: usize = 150;

/// Requests at equal distances, cut into windows.
fn windows(latencies: &[Ns]) -> Vec<Classes> {
    let cut = |window: usize| latencies.len() * window / WINDOWS;
    (0..WINDOWS)
        .map(|window| {
            let mut classes: Vec<u16> =
                latencies[cut(window)..cut(window + 1)].iter().map(|&latency| class_of(latency, BITS) as u16).collect();
            classes.sort_unstable();
            classes.chunk_by(|one, two| one == two).map(|equal| (equal[0], equal.len() as u32)).collect()
        })
        .collect()
}

fn summary(latencies: &[Ns]) -> LatencySummary {
    let mut all = crate::Histogram::default();
    latencies.iter().for_each(|&latency| all.record(latency));
    LatencySummary::of(&all)
}

fn of(latencies: &[Ns]) -> BTreeMap<String, Interval> {
    intervals("read", &windows(latencies), &summary(latencies))
}

impl Random {
    fn share(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.share()).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// A process of latencies that depend on each other, and its percentiles in microseconds.
struct Process {
    name: &'static str,
    play: fn(&mut Random, usize) -> Vec<Ns>,
    truths: [(&'static str, f64); 4],
}

/// Latencies around 1 ms whose logarithm forgets the part 1 - `phi` of itself at every request.
fn wandering(random: &mut Random, requests: usize, phi: f64) -> Vec<Ns> {
    let mut now = random.normal();
    let step = (1.0 - phi * phi).sqrt();
    (0..requests)
        .map(|_| {
            now = phi * now + step * random.normal();
            (1e6 * now.exp()) as Ns
        })
        .collect()
}

/// Reads of 240 to 480 us. While a GC goes on, `busy` requests in the mean and after `idle` others, they take up to 50 ms.
fn collecting(random: &mut Random, requests: usize, busy: f64, idle: f64) -> Vec<Ns> {
    let mut collects = random.share() < busy / (busy + idle);
    (0..requests)
        .map(|_| {
            if random.share() < 1.0 / if collects { busy } else { idle } {
                collects = !collects;
            }
            let us = if collects { 50_000.0 * random.share() } else { 240.0 * (1.0 + random.share()) };
            (us * 1e3) as Ns
        })
        .collect()
}

/// The latency that a share of `collecting` does not exceed, where it is in the usual reads and where in those beside a GC.
const fn usual(share: f64, collects: f64) -> f64 {
    (share + (1.0 - collects)) / ((1.0 - collects) / 240.0 + collects / 50_000.0)
}

const fn collected(share: f64, collects: f64) -> f64 {
    50_000.0 * (1.0 - (1.0 - share) / collects)
}

const PROCESSES: [Process; 4] = [
    Process {
        name: "a logarithm that forgets a tenth of itself",
        play: |random, requests| wandering(random, requests, 0.9),
        truths: [("p50_us", 1000.0), ("p90_us", 3602.2), ("p99_us", 10_240.5), ("p999_us", 21_982.2)],
    },
    Process {
        name: "a logarithm that forgets a hundredth of itself",
        play: |random, requests| wandering(random, requests, 0.99),
        truths: [("p50_us", 1000.0), ("p90_us", 3602.2), ("p99_us", 10_240.5), ("p999_us", 21_982.2)],
    },
    Process {
        name: "GCs of 50 requests after 1,000",
        play: |random, requests| collecting(random, requests, 50.0, 1000.0),
        truths: [
            ("p50_us", usual(0.5, 50.0 / 1050.0)),
            ("p90_us", usual(0.9, 50.0 / 1050.0)),
            ("p99_us", collected(0.99, 50.0 / 1050.0)),
            ("p999_us", collected(0.999, 50.0 / 1050.0)),
        ],
    },
    Process {
        name: "GCs of 100 requests after 3,000",
        play: |random, requests| collecting(random, requests, 100.0, 3000.0),
        truths: [
            ("p50_us", usual(0.5, 100.0 / 3100.0)),
            ("p90_us", usual(0.9, 100.0 / 3100.0)),
            ("p99_us", collected(0.99, 100.0 / 3100.0)),
            ("p999_us", collected(0.999, 100.0 / 3100.0)),
        ],
    },
];

/// Runs of each process.
const RUNS: usize = 200;

/// Of so many runs of a process, on how many a figure had an interval, and how many of these held the truth.
fn coverage(process: &Process, requests: usize) -> Vec<(&'static str, usize, usize)> {
    let mut random = Random(7);
    let mut found = process.truths.map(|(name, _)| (name, 0, 0)).to_vec();
    for _ in 0..RUNS {
        let intervals = of(&(process.play)(&mut random, requests));
        for ((name, truth), (_, given, held)) in process.truths.iter().zip(&mut found) {
            if let Some(interval) = intervals.get(&format!("read.{name}")) {
                *given += 1;
                *held += usize::from(interval.low <= *truth && *truth <= interval.high);
            }
        }
    }
    found
}

#[test]
fn intervals_hold_the_truth_of_requests_that_depend_on_each_other_about_as_often_as_they_say() {
    for process in &PROCESSES {
        for (name, given, held) in coverage(process, 60_000) {
            println!("{}, {name}: {held} of {given}", process.name);
            // Where it is given in some runs alone, they are those in which little seemed to depend on little.
            if given == RUNS {
                assert!(held * 100 >= 80 * given, "{}, {name}: {held} of {given}", process.name);
                // The interval of a figure within a class or two is as wide as they are.
                assert!(held * 100 <= 97 * given || name == "p50_us", "{}, {name}: {held} of {given}", process.name);
            }
        }
    }
}

#[test]
fn requests_that_are_slow_together_tell_less_than_requests_that_are_slow_apart() {
    let apart: Vec<Ns> = (0..30_000).map(|number| if number % 50 == 7 { 40_000_000 + number } else { 200_000 + number }).collect();
    let mut together: Vec<Ns> = apart.iter().copied().filter(|&ns| ns < 1_000_000).collect();
    together.splice(15_000..15_000, apart.iter().copied().filter(|&ns| ns >= 1_000_000));
    assert_eq!(summary(&together).p99_us, summary(&apart).p99_us);
    assert!(of(&apart).contains_key("read.p99_us"));
    assert!(!of(&together).contains_key("read.p99_us"), "one event is not many");
}

#[test]
fn a_percentile_with_fewer_than_ten_requests_beyond_it_has_no_interval() {
    let latencies: Vec<Ns> = (0..1000).map(|number| 100_000 + number * 7919 % 1000 * 300).collect();
    assert!(of(&latencies).contains_key("read.p99_us"));
    assert!(!of(&latencies[..999]).contains_key("read.p99_us"));
    assert!(of(&latencies[..999]).contains_key("read.p95_us"));
    assert!(!of(&latencies).contains_key("read.max_us"));
}

#[test]
fn a_run_of_few_windows_has_no_intervals() {
    let latencies: Vec<Ns> = (0..30_000).map(|number| 100_000 + number * 7919 % 1000).collect();
    let all = windows(&latencies);
    let of = |count: usize| intervals("read", &all[..count], &summary(&latencies)).contains_key("read.p50_us");
    assert!(of(BLOCKS_MIN) && !of(BLOCKS_MIN - 1));
}

#[test]
fn an_interval_holds_its_figure_and_that_of_equal_latencies_is_one_class() {
    let equal = of(&[240_200; 30_000]);
    let Interval { low, high, .. } = equal["read.p999_us"];
    assert!(low > 238.0 && low <= 240.2 && high == 240.2, "{low} to {high}");
    let no_time = of(&[0; 30_000]);
    assert!(!no_time.contains_key("read.mean_us") && no_time.values().all(|interval| interval.low <= interval.high));
    let latencies = collecting(&mut Random(3), 60_000, 50.0, 1000.0);
    let (found, summary) = (of(&latencies), summary(&latencies));
    for (name, figure) in [("read.mean_us", summary.mean_us), ("read.p50_us", summary.p50_us), ("read.p99_us", summary.p99_us)] {
        let Interval { low, high, .. } = found[name];
        assert!(low < figure.unwrap() && figure.unwrap() < high, "{name}: {low} to {high}");
    }
    assert_eq!(found, of(&latencies), "the same run has the same intervals");
}
