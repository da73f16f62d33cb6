//! Aged drives that are made once: whoever makes them, and wherever they are kept, runs are the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tinytail_simulator::aged::{Cache, Shared};
use tinytail_simulator::control::{Control, Phase};
use tinytail_simulator::image::{CreateSpec, create};
use tinytail_simulator::power::CASES;
use tinytail_simulator::run::{run, run_shared};
use tinytail_simulator::spec::Spec;

fn cache(folder: &Path, limit_bytes: u64) -> Cache {
    Cache { folder: folder.into(), limit_bytes }
}

fn with_cache(folder: &Path) -> Shared {
    Shared::new(Vec::new(), Some(cache(folder, u64::MAX))).keep_all()
}

fn spec(device: &str, design: &str) -> Spec {
    Spec { requests: Some(300), seed: 7, ..Spec::new(device, design, "randrw70-qd16") }
}

/// The results of a run, but for what they took.
fn result(spec: &Spec, shared: &Shared) -> serde_json::Value {
    let mut outcome = serde_json::to_value(run_shared(spec, &Control::default(), shared).unwrap()).unwrap();
    for measured in ["cpu_seconds", "requests_per_cpu_second", "ns_per_event"] {
        outcome[measured].take();
    }
    outcome
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn results_are_the_same_from_a_drive_made_anew_from_the_cache_and_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = BTreeSet::new();
    // Designs that agree in everything that decides the state find each other's.
    for case in CASES.iter().filter(|case| !case.bit_errors && seen.insert((case.device, case.design))) {
        let spec = spec(case.device, case.design);
        let alone = result(&spec, &Shared::default());
        assert_eq!(result(&spec, &with_cache(folder.path())), alone, "{} on {}", case.design, case.device);
    }
    let (kept, runs) = (files(folder.path()).len(), seen.len());
    assert!(kept > 1 && kept < runs / 2, "{kept} states of {runs} runs");
}

#[test]
fn states_that_differ_in_anything_are_apart() {
    let folder = tempfile::tempdir().unwrap();
    let plain = spec("ttflash-small", "base");
    let state = |text: &str| Spec { state: text.parse().unwrap(), ..plain.clone() };
    let specs = [
        plain.clone(),
        Spec { seed: 8, ..plain.clone() },
        state("live_percent = 41"),
        state("overwrite_percent = 99"),
        state("ageing = \"statistical\""),
        spec("ttflash-small", "base+fifo-victim"),
        spec("ttflash-small", "ttflash"),
    ];
    for (index, spec) in specs.iter().enumerate() {
        let found = result(spec, &with_cache(folder.path()));
        assert_eq!(found, result(spec, &Shared::default()));
        assert_eq!(files(folder.path()).len(), index + 1);
    }
    // A workload that fits into the live pages leaves them as they are, and so do designs that only work otherwise.
    for design in ["base+no-gc", "base+plane-blocking"] {
        result(&Spec { workload: "zipf".into(), ..spec("ttflash-small", design) }, &with_cache(folder.path()));
    }
    assert_eq!(files(folder.path()).len(), specs.len());
}

#[test]
fn designs_of_one_command_share_a_drive_in_memory() {
    let designs = ["base", "base+no-gc", "ttflash", "base+plane-blocking"];
    let specs = designs.map(|design| spec("ttflash-small", design));
    let shared = Arc::new(Shared::new(specs.to_vec(), None).keep_all());
    let alone = specs.clone().map(|spec| result(&spec, &Shared::default()));
    let threads = specs.map(|spec| {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || result(&spec, &shared))
    });
    assert_eq!(threads.map(|thread| thread.join().unwrap()), alone);
    assert_eq!(shared.held(), 0, "nobody wants them any more");
}

#[test]
fn of_runs_that_follow_each_other_the_first_makes_a_large_state() {
    let large = |design: &str, seed: u64, requests: u64| Spec {
        seed,
        requests: Some(requests),
        settings: vec!["geometry.blocks_per_plane=80".to_string()].try_into().unwrap(),
        state: "ageing = \"statistical\"".parse().unwrap(),
        ..spec("ttflash-small", design)
    };
    let of_seeds = [7, 8].map(|seed| [large("base", seed, 200), large("base+no-gc", seed, 300), large("base", seed, 400)]);
    let shared = Shared::new(Vec::new(), None).hold_last();
    for (spec, made) in of_seeds.iter().flatten().zip([1, 1, 1, 2, 2, 2]) {
        assert_eq!(result(spec, &shared), result(spec, &Shared::default()), "{}, seed {}", spec.design, spec.seed);
        assert_eq!((shared.made(), shared.held()), (made, 1), "one state at a time is held");
    }
    // Of an image it is one state for designs that remember other things, and for every seed.
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("large.image").to_string_lossy().into_owned();
    let first = large("base+d-choices-victim", 3, 200);
    let made = CreateSpec {
        out: image.clone(),
        device: first.device.clone(),
        design: first.design.clone(),
        seed: 3,
        state: first.state.clone(),
        settings: first.settings.clone(),
        workload: None,
        spooled: None,
        trace: Default::default(),
    };
    create(&made, &Control::default()).unwrap();
    let shared = Shared::new(Vec::new(), None).hold_last();
    for (design, seed) in [("base+d-choices-victim", 1), ("base", 1), ("base+d-choices-victim", 2), ("base+cost-benefit-victim", 2)] {
        let spec = Spec { state: Default::default(), image: Some(image.clone()), ..large(design, seed, 300) };
        assert_eq!(result(&spec, &shared), result(&spec, &Shared::default()), "{design}, seed {seed}");
    }
    assert_eq!((shared.made(), shared.held()), (1, 1));
    // A state that is smaller is drawn faster than it is copied.
    let small = spec("ttflash-small", "base");
    result(&small, &shared);
    assert_eq!(shared.made(), 1);
}

#[test]
fn a_design_waits_for_another_s_drive_until_it_is_cancelled() {
    // Large enough to be at it for a while.
    let aged_long = |design: &str| Spec { state: "overwrite_percent = 5000".parse().unwrap(), ..spec("ttflash-48g", design) };
    let specs = ["base", "base+no-gc"].map(aged_long);
    let shared = Arc::new(Shared::new(specs.to_vec(), None));
    let controls = [(); 2].map(|()| Arc::new(Control::default()));
    let threads: Vec<_> = specs
        .into_iter()
        .zip(&controls)
        .map(|(spec, control)| {
            let (shared, control) = (Arc::clone(&shared), Arc::clone(control));
            std::thread::spawn(move || run_shared(&spec, &control, &shared).unwrap().partial)
        })
        .collect();
    while BTreeSet::from_iter(controls.iter().map(|control| control.phase() as u8))
        != BTreeSet::from([Phase::Ageing as u8, Phase::Waiting as u8])
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    controls.iter().for_each(|control| control.cancel());
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()), "both are partial");
}

#[test]
fn damaged_entries_are_noticed_and_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec("ttflash-small", "base");
    let expected = result(&spec, &with_cache(folder.path()));
    let file = files(folder.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        bytes
    };
    let longer = [&whole[..], b"!"].concat();
    let damaged = [changed(3), changed(17), changed(60), changed(whole.len() / 2), changed(whole.len() - 1), longer]
        .into_iter()
        .chain([0, 10, 40, 200, whole.len() - 1].map(|length| whole[..length].to_vec()));
    for bytes in damaged {
        fs::write(&file, &bytes).unwrap();
        let shared = with_cache(folder.path());
        assert_eq!(result(&spec, &shared), expected);
        assert_eq!(shared.take_notes(), ["an aged drive in the cache was damaged and is made anew"]);
        let shared = with_cache(folder.path());
        assert_eq!(result(&spec, &shared), expected);
        assert!(shared.take_notes().is_empty());
    }
    fs::write(&file, &whole[..200]).unwrap();
    let listed = cache(folder.path(), 0).list();
    assert_eq!((listed.len(), listed[0].bytes, listed[0].header.is_none()), (1, 200, true));
}

#[test]
fn what_was_used_longest_ago_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let specs = [1, 2, 3].map(|seed| Spec { seed, ..spec("ttflash-small", "base") });
    let keep = |spec: &Spec, limit| {
        let shared = Shared::new(Vec::new(), Some(cache(folder.path(), limit))).keep_all();
        run_shared(spec, &Control::default(), &shared).unwrap();
        assert!(shared.take_notes().is_empty());
        let mut seeds: Vec<u64> = cache(folder.path(), limit).list().into_iter().map(|listed| listed.header.unwrap().seed).collect();
        seeds.sort_unstable();
        seeds
    };
    assert_eq!(keep(&specs[0], u64::MAX), [1]);
    // Room is made by an estimate, which is a little more than an entry has.
    let limit = fs::metadata(&files(folder.path())[0]).unwrap().len() * 2 + (2 << 20);
    assert_eq!(keep(&specs[1], limit), [1, 2]);
    for (index, file) in files(folder.path()).iter().enumerate() {
        let used = SystemTime::now() - Duration::from_secs(1000 + index as u64);
        fs::File::open(file).unwrap().set_modified(used).unwrap();
    }
    // Whichever it was, its use makes it the last.
    assert_eq!(keep(&specs[0], limit), [1, 2]);
    assert_eq!(keep(&specs[2], limit), [1, 3]);
    assert_eq!(keep(&specs[1], 1000), [1, 3], "what is larger than the cache is not kept");
    assert_eq!(cache(folder.path(), 0).clear().unwrap().0, 2);
    assert!(files(folder.path()).is_empty());
}

#[test]
fn a_reader_keeps_what_is_removed_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec("ttflash-small", "base");
    let expected = result(&spec, &with_cache(folder.path()));
    let shared = with_cache(folder.path());
    assert_eq!(result(&spec, &shared), expected);
    cache(folder.path(), 0).clear().unwrap();
    assert_eq!(result(&Spec { windows: 100, ..spec.clone() }, &shared)["event_hash"], expected["event_hash"]);
    assert!(files(folder.path()).is_empty(), "the second run started from what the first has mapped");
}

#[test]
fn a_cache_that_cannot_be_written_is_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let spec = spec("ttflash-small", "base");
    let shared = with_cache(&file.join("cache"));
    assert_eq!(result(&spec, &shared), result(&spec, &Shared::default()));
    let notes = shared.take_notes();
    assert!(notes.len() == 1 && notes[0].starts_with("aged drives can't be kept in "), "{notes:?}");
}

#[test]
fn what_a_crash_leaves_is_removed_and_what_is_being_written_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    let leave = |name: &str| {
        let path = folder.path().join(name);
        let file = fs::File::create(&path).unwrap();
        file.set_modified(old).unwrap();
        (path, file)
    };
    let (left, _) = leave(".unfinished-left");
    let (written, file) = leave(".unfinished-written");
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let (fresh, file_of_fresh) = leave(".unfinished-fresh");
    file_of_fresh.set_modified(SystemTime::now()).unwrap();
    result(&spec("ttflash-small", "base"), &with_cache(folder.path()));
    assert_eq!((left.exists(), written.exists(), fresh.exists()), (false, true, true));
    assert_eq!(cache(folder.path(), 0).list().len(), 1);
}

#[test]
fn what_is_as_fast_to_make_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::new(Vec::new(), Some(cache(folder.path(), u64::MAX)));
    // A process remembers small drives; as many seeds as there are here push the first ones out.
    for seed in (0..12).chain(0..12) {
        let spec = Spec { seed, ..spec("ttflash-small", "base") };
        let expected = result(&spec, &Shared::default());
        assert_eq!(result(&spec, &shared), expected);
        assert_eq!(result(&spec, &shared), expected);
    }
    assert!(files(folder.path()).is_empty());
    let much = Spec { state: "overwrite_percent = 10000".parse().unwrap(), ..spec("ttflash-small", "base") };
    run_shared(&much, &Control::default(), &shared).unwrap();
    assert_eq!(files(folder.path()).len(), 1);
    // A run by itself has no cache.
    run(&Spec { seed: 9, ..much }, &Control::default()).unwrap();
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn an_ageing_for_another_starting_state_is_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec("ttflash-small", "base");
    let runs = [("base", 0), ("base+no-gc", 0), ("hpdc-baseline", 1), ("hpdc-baseline+no-gc", 0)];
    let other_seed = Spec { seed: spec.seed + 1, ..spec.clone() };
    let specs = runs.map(|(design, _)| Spec { design: design.into(), ..spec.clone() });
    let told = [&specs[..], std::slice::from_ref(&other_seed)].concat();
    let shared = Shared::new(told, Some(cache(folder.path(), u64::MAX))).keep_all();
    for (spec, (design, notes)) in specs.iter().zip(runs) {
        result(spec, &shared);
        let said = shared.take_notes();
        assert_eq!(said.len(), notes, "{design}: {said:?}");
    }
    result(&other_seed, &shared);
    assert!(shared.take_notes().is_empty(), "another seed is no other design");
    // Where nobody said which runs there are, states are expected to differ.
    let shared = with_cache(folder.path());
    for spec in &specs {
        result(spec, &shared);
    }
    assert!(shared.take_notes().is_empty());
}
