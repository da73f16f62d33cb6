//! Damaged configuration files: devices, designs, workloads and starting states are right, or refused with file and key, and
//! what is right can be run.

use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::{RunError, Spec};
use tinytail_workload::{TraceOptions, Workload};

/// The most physical pages of a drive that is run: ageing writes each of them several times.
const PAGES_MAX: u64 = 1 << 13;

/// So long a case may take. What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// The project's own files of one kind, in order.
fn own(folder: &str) -> Vec<String> {
    own_named(folder, "toml")
}

/// Those of them whose names end so.
fn own_named(folder: &str, extension: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// The project's devices, each small enough to be aged in a moment.
fn small_devices() -> Vec<String> {
    let small = |text: String| -> String {
        let line = |line: &str| {
            let size = [
                ("channels", 2),
                ("chips_per_channel", 1),
                ("dies_per_chip", 1),
                ("planes_per_die", 2),
                ("blocks_per_plane", 64),
                ("pages_per_block", 24),
            ];
            let key = line.split([' ', '=']).next().unwrap_or_default();
            size.iter().find(|(name, _)| *name == key).map_or_else(|| line.to_string(), |(name, size)| format!("{name} = {size}")) + "\n"
        };
        text.lines().map(line).collect()
    };
    own("devices").into_iter().map(small).collect()
}

/// One change of a file.
#[derive(Clone, Debug)]
enum Damage {
    /// A byte becomes another.
    Byte(Index, u8),
    /// A value becomes another.
    Value(Index, String),
    /// A value of a job file becomes another.
    JobValue(Index, String),
    /// A number becomes another.
    Number(Index, String),
    /// A name of a section or key loses its last letter.
    Name(Index),
    /// A line goes.
    Without(Index),
    /// A line comes twice.
    Twice(Index),
    /// A line is replaced by one of another file.
    Splice(Index, Index, Index),
    /// The file ends here.
    Cut(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let numbers = prop::sample::select(vec![
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "7",
        "8",
        "16",
        "64",
        "100",
        "101",
        "1000",
        "9999",
        "10_000",
        "65_536",
        "1_000_000",
        "1_000_000_001",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "-1",
        "0.0",
        "-0.0",
        "0.5",
        "1e-300",
        "1e300",
        "1e10",
        "nan",
        "inf",
        "-inf",
    ]);
    let others = prop::sample::select(vec![
        "",
        "true",
        "\"\"",
        "\"greedy\"",
        "[]",
        "[0]",
        "[1, 0]",
        "[[1]]",
        "[[0, 1]]",
        "[[4096, 0]]",
        "[[4096, nan]]",
        "{}",
        "{ value = 1 }",
        "{ value = {} }",
        "{ policy = \"fifo\" }",
        "[{ policy = \"fifo\" }, { policy = 1 }]",
        "1979-05-27",
    ]);
    prop_oneof![
        2 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        2 => (any::<Index>(), others).prop_map(|(at, value)| Damage::Value(at, value.into())),
        8 => (any::<Index>(), numbers).prop_map(|(at, value)| Damage::Number(at, value.into())),
        1 => any::<Index>().prop_map(Damage::Name),
        1 => any::<Index>().prop_map(Damage::Without),
        1 => any::<Index>().prop_map(Damage::Twice),
        2 => (any::<Index>(), any::<Index>(), any::<Index>()).prop_map(|(at, file, line)| Damage::Splice(at, file, line)),
        1 => any::<Index>().prop_map(Damage::Cut),
    ]
}

/// What else a job file may say.
const JOBS: [&str; 2] = [
    "[global]\nfilename=/dev/nvme0n1\ndirect=1\nioengine=io_uring\nsize=20%\n[a]\nrw=randrw\nrwmixread=30\nbs=4k,16k\niodepth=8\n\
     norandommap=1\noffset=5%\nnumjobs=2\nrandseed=7\n[b]\nrw=rw\nbssplit=4k/70:64k/30\nio_size=10m\nstartdelay=1ms\nnumber_ios=40\n",
    "[a]\ndirect=1\nfilename=d\nrw=randread\nthinktime=20\nruntime=1\ntime_based=1\nrandom_distribution=zipf:1.2\n\
     [b]\ndirect=1\nfilename=d\nrw=randtrim\nrate_iops=2k\nrate_process=poisson\nsize=16m\noffset=32m\noffset_increment=1m\n",
];

/// The damage of other files, and values as job files have them.
fn job_damage() -> impl Strategy<Value = Damage> {
    let values = prop::sample::select(vec![
        "",
        "0",
        "1",
        "3",
        "512",
        "100",
        "4k",
        "4096",
        "1000",
        "0x200",
        "64m",
        "1g",
        "8191p",
        "99999999p",
        "0%",
        "1%",
        "100%",
        "101%",
        "-1",
        "4k,8k",
        ",4k",
        "4k/50:8k/50",
        "4k/",
        "/",
        ":",
        ",",
        "zipf:0.9",
        "zipf:nan",
        "zipf:1e300",
        "read",
        "randrw",
        "trim",
        "poisson",
        "psync",
        "18446744073709551615",
        "1us",
        "1d",
        "99999d",
        "$x",
        "1-2",
    ]);
    prop_oneof![1 => damage(), 3 => (any::<Index>(), values).prop_map(|(at, value)| Damage::JobValue(at, value.into()))]
}

/// Where the values of a job file stand: behind equals signs, up to the line's end.
fn job_values(text: &str) -> Vec<(usize, usize)> {
    let start = |(at, _)| at + 1;
    text.match_indices('=').map(start).map(|at| (at, at + text[at..].find('\n').unwrap_or(text.len() - at))).collect()
}

/// Where the values of a file stand: behind the last equals sign before a comma or the line's end.
fn values(text: &str) -> Vec<(usize, usize)> {
    let starts = text.match_indices("= ").map(|(at, _)| at + 2).filter(|&at| !text[at..].starts_with('{'));
    starts.map(|at| (at, at + text[at..].find([',', '\n']).unwrap_or(text.len() - at))).collect()
}

/// Where its numbers stand, those in lists included.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut quoted = false;
    let part = |byte: u8| byte.is_ascii_digit() || b"._".contains(&byte);
    for at in 0..bytes.len() {
        quoted = (quoted != (bytes[at] == b'"')) && bytes[at] != b'\n';
        let starts = bytes[at].is_ascii_digit() && at > 0 && b" [,".contains(&bytes[at - 1]);
        if !quoted && starts {
            found.push((at, at + bytes[at..].iter().take_while(|&&byte| part(byte)).count()));
        }
    }
    found
}

fn damaged(files: &[String], which: Index, damages: &[Damage]) -> Vec<u8> {
    let mut bytes = which.get(files).clone().into_bytes();
    for damage in damages {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() {
            continue;
        }
        let replace = |places: Vec<(usize, usize)>, at: &Index, value: &str| match places.is_empty() {
            true => text.clone(),
            false => {
                let (from, to) = *at.get(&places);
                format!("{}{value}{}", &text[..from], &text[to..])
            }
        };
        bytes = match damage {
            Damage::Byte(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
                continue;
            }
            Damage::Cut(at) => {
                bytes.truncate(at.index(bytes.len()));
                continue;
            }
            Damage::Value(at, value) => replace(values(&text), at, value),
            Damage::JobValue(at, value) => replace(job_values(&text), at, value),
            Damage::Number(at, value) => replace(numbers(&text), at, value),
            Damage::Name(at) => {
                let names: Vec<_> = text.match_indices([']', '=']).map(|(at, _)| at.saturating_sub(2)).collect();
                match names.is_empty() {
                    true => text,
                    false => {
                        let at = *at.get(&names);
                        text.char_indices().filter(|(place, _)| *place != at).map(|(_, letter)| letter).collect()
                    }
                }
            }
            Damage::Without(at) => {
                lines.remove(at.index(lines.len()));
                lines.join("\n")
            }
            Damage::Twice(at) => {
                let at = at.index(lines.len());
                lines.insert(at, lines[at]);
                lines.join("\n")
            }
            Damage::Splice(at, file, line) => {
                let others: Vec<&str> = file.get(files).lines().collect();
                *at.get_mut(&mut lines) = *line.get(&others[..]);
                lines.join("\n")
            }
        }
        .into_bytes();
    }
    bytes
}

/// A folder with a file of these bytes, and what messages call the file.
fn written(bytes: &[u8]) -> (tempfile::TempDir, String) {
    written_as("damaged.toml", bytes)
}

fn written_as(name: &str, bytes: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap().to_string();
    (folder, path)
}

/// A refusal names the file and the key, the section or the line.
fn names_file_and_key(message: &str, path: &str) -> bool {
    let Some(rest) = message.split_once(path).map(|(_, rest)| rest) else { return false };
    let line =
        rest.trim_start_matches([':', ',']).trim_start().trim_start_matches("line ").starts_with(|first: char| first.is_ascii_digit());
    line || rest.contains('`') || rest.contains('[') || rest.contains("UTF-8")
}

fn spec(device: &str, design: &str, workload: &str) -> Spec {
    Spec { requests: Some(50), verify: true, windows: 4, ..Spec::new(device, design, workload) }
}

/// Runs, unless it takes too long to be anything but a hang.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let worker = std::thread::spawn(move || sender.send(work()));
    match receiver.recv_timeout(PATIENCE) {
        Ok(done) => done,
        Err(RecvTimeoutError::Timeout) => panic!("no end after {PATIENCE:?}"),
        Err(RecvTimeoutError::Disconnected) => std::panic::resume_unwind(worker.join().expect_err("a panic")),
    }
}

fn played(spec: Spec) -> Result<Outcome, String> {
    in_time(move || {
        run(&spec, &Control::default()).map_err(|error| match error {
            RunError::Failed(why) if why.contains("wrong data") || why.contains("invariant") => panic!("{why}"),
            refused => refused.to_string(),
        })
    })
}

/// A refusal of the workload, because next to nothing of the drive is mapped.
fn holds_too_little(message: &str) -> bool {
    message.contains("do not fit into a range of") && message.contains("the part of the drive that holds data")
}

#[test]
fn the_small_devices_are_right_before_they_are_damaged() {
    for text in small_devices() {
        let (_folder, path) = written(text.as_bytes());
        let device = catalog::device(&path).unwrap();
        assert!(device.geometry.physical_pages() <= PAGES_MAX, "{text}");
        assert_eq!(played(spec(&path, "base", "randrw70-qd16")).err(), None, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2 * ProptestConfig::default().cases) })]

    #[test]
    fn damaged_devices_are_run_or_refused(which in any::<Index>(), damages in prop::collection::vec(damage(), 1..4)) {
        let (_folder, path) = written(&damaged(&small_devices(), which, &damages));
        let read = in_time({ let path = path.clone(); move || catalog::device(&path) });
        match read {
            Err(error) => prop_assert!(names_file_and_key(&error.to_string(), &path), "{}", error),
            // A large drive is right as well, but takes its time.
            Ok(device) if device.geometry.physical_pages() > PAGES_MAX => {
                in_time(move || device.derived().rows());
            }
            Ok(_) => match played(spec(&path, "base+plane-blocking", "randrw70-qd16")) {
                Ok(outcome) => prop_assert_eq!(outcome.stuck, None),
                // The thresholds of a design may not suit the drive.
                Err(message) => {
                    let unfit = message.contains("base:");
                    prop_assert!(unfit || holds_too_little(&message), "{}", message);
                }
            },
        }
    }

    #[test]
    fn damaged_designs_are_run_or_refused(which in any::<Index>(), device in any::<Index>(), damages in prop::collection::vec(damage(), 1..4)) {
        let (_folder, path) = written(&damaged(&own("designs"), which, &damages));
        let checked = in_time({ let path = path.clone(); move || catalog::check(&path) });
        if let Err(error) = &checked {
            prop_assert!(names_file_and_key(&error.to_string(), &path), "{}", error);
        }
        let (_other, device) = written(device.get(&small_devices()).as_bytes());
        let design = if checked.is_ok_and(|checked| checked.kind == "overlay") { format!("base+{path}") } else { path.clone() };
        match played(spec(&device, &design, "randrw70-qd16")) {
            Ok(outcome) => prop_assert!(outcome.stuck.is_none_or(|stuck| stuck.contains("ideal-gc")), "{}", design),
            Err(message) => prop_assert!(names_file_and_key(&message, &path) || message.contains("] `"), "{}", message),
        }
    }

    #[test]
    fn damaged_workloads_are_played_or_refused(which in any::<Index>(), damages in prop::collection::vec(damage(), 1..4)) {
        let (_folder, path) = written(&damaged(&own("workloads"), which, &damages));
        let resolved = in_time({
            let path = path.clone();
            move || Workload::resolve_in(&path, &TraceOptions::default(), None)
        });
        match resolved {
            Err(error) => prop_assert!(names_file_and_key(&error.to_string(), &path) || error.to_string().contains("damaged"), "{}", error),
            Ok(_) => match played(spec("ttflash-small", "base", &path)) {
                Ok(outcome) => prop_assert_eq!(outcome.stuck, None),
                Err(message) => prop_assert!(message.contains("damaged"), "{}", message),
            },
        }
    }

    #[test]
    fn damaged_job_files_are_played_or_refused(which in any::<Index>(), damages in prop::collection::vec(job_damage(), 1..4)) {
        let files: Vec<String> = own_named("workloads", "fio").into_iter().chain(JOBS.map(String::from)).collect();
        let (_folder, path) = written_as("damaged.fio", &damaged(&files, which, &damages));
        let resolved = in_time({
            let path = path.clone();
            move || Workload::resolve_in(&path, &TraceOptions::default(), None)
        });
        match resolved {
            Err(error) => prop_assert!(names_file_and_key(&error.to_string(), &path) || error.to_string().contains("damaged"), "{}", error),
            Ok(_) => match played(spec("ttflash-small", "base", &path)) {
                // A write of 64 MiB may take this drive longer than the time after which writes count as stalled.
                Ok(outcome) => prop_assert!(outcome.stuck.as_ref().is_none_or(|stuck| stuck.contains("a write, has been in the device")), "{:?}", outcome.stuck),
                Err(message) => prop_assert!(message.contains("damaged"), "{}", message),
            },
        }
    }

    #[test]
    fn damaged_states_are_taken_or_refused(which in any::<Index>(), damages in prop::collection::vec(damage(), 1..4)) {
        let states: Vec<String> = own("devices").iter().map(|text| text.split_once("[state]\n").unwrap().1.split("\n\n").next().unwrap().replace("value = ", "")).collect();
        let states: Vec<String> = states.iter().map(|text| text.lines().map(|line| {
            let (key, value) = line.split_once(" = ").unwrap();
            format!("{key} = {}\n", value.trim_start_matches("{ ").split(',').next().unwrap())
        }).collect()).collect();
        let text = String::from_utf8_lossy(&damaged(&states, which, &damages)).into_owned();
        let Ok(state) = text.parse::<toml::Table>() else { return Ok(()) };
        let given = Spec { state, ..spec("ttflash-small", "base", "randrw70-qd16") };
        match played(given) {
            Ok(outcome) => prop_assert_eq!(outcome.stuck, None),
            Err(message) => {
                let refused = message.starts_with("the given state: [state] ") && message.contains('`');
                prop_assert!(refused || holds_too_little(&message), "{}", message);
            }
        }
    }
}
