//! Losses of power over all designs, each on a small drive of its kind.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::power::{CASES, Case, PowerSpec, cut_power};
use tinytail_simulator::settings::Settings;

/// Every design and overlay that comes with the program is cut off: 0 acknowledged writes lost, 0 stale reads.
#[test]
fn every_design_recovers_with_all_that_was_acknowledged() {
    let (mut torn_pages, mut torn_blocks) = (0, 0);
    for case in CASES {
        let spec = PowerSpec::of(&case, 3, 7);
        let outcome = cut_power(&spec, &Control::default()).unwrap_or_else(|error| panic!("{}: {error}", case.design));
        assert_eq!((outcome.lost, outcome.stale, &outcome.mismatch), (0, 0, &None), "{}", case.design);
        assert_eq!((outcome.cuts, outcome.partial), (3, false));
        assert!(outcome.completed > 0 && outcome.requests_cut_off > 0 && outcome.pages_read_back > 0, "{outcome:?}");
        torn_pages += outcome.torn_pages;
        torn_blocks += outcome.torn_blocks;
        assert!(outcome.torn_pages > 0, "{}: programs are cut off", case.design);
        assert!(outcome.scan.p50_ms > 0.0 && outcome.recovery.max_ms >= outcome.scan.max_ms, "{outcome:?}");
    }
    assert!(torn_pages > 0 && torn_blocks > 0, "programs and erases are cut off");
}

#[test]
fn a_seed_repeats_a_run_and_another_seed_does_not() {
    let run = |seed: u64| cut_power(&PowerSpec::of(&CASES[0], 3, seed), &Control::default()).unwrap();
    let (once, again, other) = (run(1), run(1), run(2));
    assert_eq!(once, again);
    assert_ne!(once.event_hash, other.event_hash);
}

/// Commands that the RAM serves in no time are never under way, and with a buffer as large as the drive all of them are such commands.
#[test]
fn a_drive_whose_ram_takes_no_time_comes_to_its_end() {
    for (design, words) in
        [("base", ["timing.ram_ns=0", "ram.buffer_kib=2000000"]), ("ttflash", ["timing.ram_ns=0", "ram.buffer_kib=2000000"])]
    {
        let case = CASES.iter().find(|case| case.design == design).unwrap();
        let settings = Settings::try_from(words.map(str::to_owned).to_vec()).unwrap();
        let outcome = cut_power(&PowerSpec { settings, ..PowerSpec::of(case, 3, 1) }, &Control::default()).unwrap();
        assert_eq!((outcome.cuts, outcome.lost, outcome.stale, outcome.mismatch), (3, 0, 0, None), "{design}, {words:?}");
        // Ten times as many as a comparison of the usual workloads has requests.
        assert!(outcome.completed < 20_000_000, "{design}, {words:?}: {}", outcome.completed);
    }
}

#[test]
fn data_that_go_before_parity_are_refused() {
    let case = CASES.iter().find(|case| case.design == "ttflash").unwrap();
    let settings = Settings::try_from(vec!["destage.data_before_parity=true".to_owned()]).unwrap();
    let fault = cut_power(&PowerSpec { settings, ..PowerSpec::of(case, 1, 1) }, &Control::default()).unwrap_err().to_string();
    assert!(fault.contains("data_before_parity") && fault.contains("allowed is false"), "{fault}");
}

#[test]
fn no_design_is_left_out() {
    for listing in catalog::designs() {
        let occurs = CASES.iter().any(|case| case.design.split('+').any(|part| part == listing.name));
        assert!(occurs, "{} is not among the designs whose power is cut", listing.name);
    }
}

/// Two drives with two planes a die that every design runs on. The blocks of the first are short, so that many hold nothing valid
/// where few pages are live.
const DRIVES: [(&str, &[&str]); 2] = [
    (
        "harey-128g-small",
        &[
            "geometry.chips_per_channel=1",
            "geometry.dies_per_chip=2",
            "geometry.planes_per_die=2",
            "geometry.pages_per_block=12",
            "timing.erase_steps=2",
            "flash.multi_plane_program=true",
            "flash.multi_plane_read=true",
            "ram.buffer_kib=2048",
        ],
    ),
    ("modern-tlc-2t-small", &[]),
];

/// One of the starting states from which every design must survive losses of power.
#[derive(Clone, Copy, Debug)]
struct Start {
    case: Case,
    drive: usize,
    ageing: &'static str,
    live_percent: u32,
    seed: u64,
}

impl Start {
    /// All of them.
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for case in CASES {
            for drive in 0..DRIVES.len() {
                for ageing in ["overwrite", "steady", "statistical", "random"] {
                    for live_percent in [2, 5, 10, 20] {
                        all.extend((1..=3).map(|seed| Self { case, drive, ageing, live_percent, seed }));
                    }
                }
            }
        }
        all
    }

    /// Cuts the power twice: everything is there after each recovery.
    fn check(self) {
        let (device, settings) = DRIVES[self.drive];
        let state = [format!("state.ageing={}", self.ageing), format!("state.live_percent={}", self.live_percent)];
        let settings: Vec<String> = settings.iter().map(|&word| word.to_owned()).chain(state).collect();
        let settings = Settings::try_from(settings).unwrap();
        let spec = PowerSpec { device: device.into(), settings, ..PowerSpec::of(&self.case, 2, self.seed) };
        let outcome = cut_power(&spec, &Control::default()).unwrap_or_else(|error| panic!("{self:?}: {error}"));
        assert_eq!((outcome.cuts, outcome.lost, outcome.stale, outcome.mismatch), (2, 0, 0, None), "{self:?}");
    }
}

/// No share of live pages, no ageing and no number of planes lets anything be lost. `TINYTAIL_SOAK` has all starts tried, otherwise
/// some are drawn. One whose drawn blocks once held stale pages that were younger than any valid one is always among them.
#[test]
fn every_design_recovers_from_every_starting_state() {
    let all = Start::all();
    let has_few_live_pages = |start: &&Start| (start.case.design, start.ageing, start.live_percent) == ("harey-baseline", "random", 5);
    if std::env::var_os("TINYTAIL_SOAK").is_some() {
        return all.into_iter().for_each(Start::check);
    }
    let mut random = Pcg64Mcg::new(1 << 100 | 1);
    let drawn = (0..20).map(|_| all[(random.next_u64() % all.len() as u64) as usize]);
    all.iter().filter(has_few_live_pages).copied().chain(drawn).for_each(Start::check);
}
