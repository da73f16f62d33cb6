//! Timelines, read by messages of this file's own: slices, flows and counters beside the figures of the run.

use flate2::read::ZlibDecoder;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::Path;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::{RequestTimelinesSpec, RunError, Spec, TimelineSpec};

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(uint64, tag = "8")]
    at: u64,
    #[prost(uint32, tag = "10")]
    sequence: u32,
    #[prost(message, optional, tag = "11")]
    event: Option<Event>,
    #[prost(message, optional, tag = "12")]
    interned: Option<Interned>,
    #[prost(uint32, tag = "13")]
    flags: u32,
    #[prost(bytes = "vec", tag = "50")]
    compressed: Vec<u8>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(uint64, repeated, tag = "3")]
    categories: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    args: Vec<Arg>,
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, tag = "10")]
    name: u64,
    #[prost(uint64, tag = "11")]
    track: u64,
    #[prost(int64, optional, tag = "30")]
    count: Option<i64>,
    #[prost(double, optional, tag = "44")]
    mean: Option<f64>,
    #[prost(fixed64, repeated, tag = "47")]
    flows: Vec<u64>,
    #[prost(fixed64, repeated, tag = "48")]
    ending_flows: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Arg {
    #[prost(uint64, tag = "1")]
    name: u64,
    #[prost(bool, tag = "2")]
    truth: bool,
    #[prost(int64, tag = "4")]
    number: i64,
    #[prost(string, tag = "6")]
    text: String,
}

#[derive(Clone, PartialEq, Message)]
struct Interned {
    #[prost(message, repeated, tag = "1")]
    categories: Vec<Name>,
    #[prost(message, repeated, tag = "2")]
    events: Vec<Name>,
    #[prost(message, repeated, tag = "3")]
    args: Vec<Name>,
}

#[derive(Clone, PartialEq, Message)]
struct Name {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Track {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(uint64, tag = "5")]
    parent: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Slice {
    track: u64,
    category: String,
    name: String,
    from: u64,
    to: u64,
    /// 0 for a slice within no other.
    depth: usize,
    args: BTreeMap<String, i64>,
    texts: BTreeMap<String, String>,
    flows: Vec<u64>,
    ending_flows: Vec<u64>,
}

#[derive(Debug, Default)]
struct Timeline {
    tracks: BTreeMap<u64, String>,
    /// In the order of their beginnings on each track.
    slices: Vec<Slice>,
    instants: Vec<Slice>,
    counters: BTreeMap<u64, Vec<(u64, f64)>>,
}

impl Timeline {
    fn of(&self, category: &str) -> Vec<&Slice> {
        self.slices.iter().filter(|slice| slice.category == category).collect()
    }

    fn track(&self, name: &str) -> u64 {
        *self.tracks.iter().find(|(_, found)| *found == name).unwrap().0
    }
}

/// Reads a trace as its format says: events in the order of their times, and of the file where these are equal.
fn read(path: &Path) -> Timeline {
    let outer = Trace::decode(std::fs::read(path).unwrap().as_slice()).unwrap();
    let mut packets = Vec::new();
    for packet in outer.packets {
        assert!(packet.compressed.len() < 512 * 1024);
        let mut raw = Vec::new();
        ZlibDecoder::new(packet.compressed.as_slice()).read_to_end(&mut raw).unwrap();
        packets.extend(Trace::decode(raw.as_slice()).unwrap().packets);
    }
    let mut timeline = Timeline::default();
    let (mut categories, mut names, mut args) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut events = Vec::new();
    for (index, packet) in packets.into_iter().enumerate() {
        assert_eq!((packet.sequence, packet.flags), (1, if index == 0 { 1 } else { 2 }));
        for (table, new) in [(&mut categories, 0), (&mut names, 1), (&mut args, 2)] {
            let interned = packet.interned.as_ref().map(|found| [&found.categories, &found.events, &found.args][new].clone());
            for name in interned.unwrap_or_default() {
                assert!(table.insert(name.number, name.name).is_none(), "a number given twice");
            }
        }
        if let Some(track) = packet.track {
            assert!(track.parent == 0 || timeline.tracks.contains_key(&track.parent));
            assert!(timeline.tracks.insert(track.number, track.name).is_none(), "a track described twice");
        }
        if let Some(event) = packet.event {
            assert!(timeline.tracks.contains_key(&event.track), "a track that is not described");
            events.push((packet.at, event));
        }
    }
    events.sort_by_key(|(at, _)| *at);
    let mut open: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
    let mut flows: BTreeSet<u64> = BTreeSet::new();
    for (at, event) in events {
        flows.extend(&event.flows);
        assert!(event.ending_flows.iter().all(|flow| flows.contains(flow)), "a flow that ends before it begins");
        let stack = open.entry(event.track).or_default();
        let begun = |depth| Slice {
            track: event.track,
            category: categories[&event.categories[0]].clone(),
            name: names[&event.name].clone(),
            from: at,
            to: at,
            depth,
            args: event.args.iter().map(|arg| (args[&arg.name].clone(), arg.number + i64::from(arg.truth))).collect(),
            texts: event.args.iter().map(|arg| (args[&arg.name].clone(), arg.text.clone())).collect(),
            flows: event.flows.clone(),
            ending_flows: event.ending_flows.clone(),
        };
        match event.kind {
            1 => {
                let slice = begun(stack.len());
                stack.push(slice);
            }
            2 => {
                let slice = stack.pop().expect("an end of nothing");
                assert!(at > slice.from, "{slice:?} has no length");
                timeline.slices.push(Slice { to: at, ..slice });
            }
            3 => {
                let inside = stack.last().expect("an instant outside of everything").clone();
                assert!(inside.from <= at, "{inside:?}");
                timeline.instants.push(begun(stack.len()));
            }
            4 => {
                let value = event.mean.unwrap_or_else(|| event.count.unwrap() as f64);
                timeline.counters.entry(event.track).or_default().push((at, value));
            }
            kind => panic!("an event of kind {kind}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "a slice without end");
    timeline.slices.sort_by_key(|slice| (slice.track, slice.from, slice.depth));
    timeline
}

fn spec(design: &str, requests: u64) -> Spec {
    Spec { requests: Some(requests), windows: 20, ..Spec::new("ttflash-small", design, "randrw70-qd16") }
}

fn recorded(spec: &Spec, change: impl FnOnce(&mut TimelineSpec)) -> (Outcome, Timeline) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pftrace");
    let mut timeline = TimelineSpec {
        path: path.to_str().unwrap().into(),
        window_ns: None,
        slices_max: None,
        slow_reads: None,
        command: "tinytail compare".into(),
    };
    change(&mut timeline);
    let outcome = run(&Spec { timeline: Some(timeline), ..spec.clone() }, &Control::default()).unwrap();
    let note = outcome.timeline.clone().unwrap();
    assert_eq!((note.error, note.bytes), (None, path.metadata().unwrap().len()));
    let found = read(&path);
    assert_eq!((note.slices, note.gcs), (found.slices.len() as u64, found.of("gc").len() as u64));
    (outcome, found)
}

/// What lies beside one another on a track does not overlap, and what lies within another lies wholly within it.
fn check_nesting(timeline: &Timeline) {
    let mut last: BTreeMap<(u64, usize), &Slice> = BTreeMap::new();
    for slice in &timeline.slices {
        if let Some(before) = last.insert((slice.track, slice.depth), slice) {
            assert!(before.to <= slice.from, "{before:?} and {slice:?}");
        }
        if slice.depth > 0 {
            let around = last[&(slice.track, slice.depth - 1)];
            assert!(around.from <= slice.from && slice.to <= around.to, "{slice:?} in {around:?}");
        }
    }
}

#[test]
fn a_timeline_holds_what_the_run_did() {
    for design in ["base", "ttflash", "base+preemptible"] {
        let outcome = run(&spec(design, 10), &Control::default()).unwrap();
        assert_eq!(outcome.timeline, None);
        let (outcome, found) = recorded(&spec(design, 30_000), |_| {});
        check_nesting(&found);
        assert!(outcome.gc_count > 20, "{design}: {} GCs", outcome.gc_count);
        assert_eq!(found.of("gc").len() as u64, outcome.gc_count, "{design}");
        let end = (outcome.simulated_seconds * 1e9).round() as u64;
        let about = found.of("run");
        assert_eq!((about.len(), about[0].from, about[0].to), (1, 0, end));
        assert_eq!(about[0].texts["event_hash"], outcome.event_hash);
        assert!(found.slices.iter().all(|slice| slice.to <= end));
        let dies = found.of("die");
        let of = |name: &str| dies.iter().filter(|slice| slice.name.starts_with(name)).count() as u64;
        // A GC that goes on when the run ends has moved pages, and one that went on when it began had.
        let moved: i64 = found.of("gc").iter().map(|gc| gc.args["moved_pages"]).sum();
        assert!(of("GC program page ").abs_diff(moved as u64) < 64 * 64, "{design}: {} and {moved}", of("GC program page "));
        assert!(of("erase").abs_diff(outcome.erases) <= 64, "{design}: {} and {}", of("erase"), outcome.erases);
        assert!(of("read") > 10_000, "{design}");
        assert!(found.of("channel").len() > 20_000);
        let fewest = &found.counters[&found.track("erased pages, fewest of a plane")];
        let mean = &found.counters[&found.track("erased pages, mean of planes")];
        assert!(fewest.len() > 10 && fewest.len() == mean.len());
        assert!(fewest.iter().zip(mean).all(|(fewest, mean)| fewest.0 == mean.0 && fewest.1 <= mean.1));
    }
}

#[test]
fn gcs_have_phases_and_lock_channels_as_base_says() {
    let (_, found) = recorded(&spec("base", 30_000), |_| {});
    let phases = found.of("gc_phase");
    for gc in found.of("gc") {
        let own: Vec<_> = phases.iter().filter(|phase| phase.track == gc.track && gc.from <= phase.from && phase.to <= gc.to).collect();
        assert_eq!(own.iter().map(|phase| phase.to - phase.from).sum::<u64>(), gc.to - gc.from, "{gc:?}");
        assert_eq!(own.last().unwrap().name, "erasing");
        let number = gc.args["gc"];
        let runs: Vec<_> = found.of("die").into_iter().filter(|run| run.args.get("gc") == Some(&number)).collect();
        assert!(runs.iter().all(|run| gc.from <= run.from && run.to <= gc.to));
        let pages: BTreeSet<_> = runs.iter().filter_map(|run| run.args.get("page")).collect();
        if gc.from > 0 {
            assert_eq!(pages.len() as i64, gc.args["moved_pages"], "{gc:?}");
        }
    }
    // Base's GCs lock their channel from their first page to their last.
    let locks = found.of("lock");
    for lock in &locks {
        let gc = found.of("gc").into_iter().find(|gc| gc.args["gc"] == lock.args["gc"]);
        assert!(gc.is_none_or(|gc| gc.from <= lock.from && lock.to <= gc.to));
    }
    assert!(locks.len() + 8 >= found.of("gc").len());
}

#[test]
fn the_slowest_reads_are_those_of_the_run_and_their_segments_add_up() {
    let (outcome, found) = recorded(&spec("base", 40_000), |_| {});
    let reads = found.of("read");
    assert_eq!(reads.len(), 50);
    let latency = |read: &Slice| read.args["latency_ns"] as u64;
    let slowest = reads.iter().map(|read| latency(read)).max().unwrap();
    assert_eq!(slowest as f64 / 1000.0, outcome.read.max_us.unwrap());
    let segments = found.of("segment");
    let gcs: BTreeMap<u64, &Slice> = found.of("gc").into_iter().flat_map(|gc| gc.flows.iter().map(move |&flow| (flow, gc))).collect();
    let instants: BTreeMap<u64, &Slice> = found.instants.iter().map(|instant| (instant.flows[0], instant)).collect();
    let mut flows = 0;
    for read in &reads {
        assert_eq!(read.to - read.from, latency(read));
        let inside = |segment: &&&Slice| segment.track == read.track && read.from <= segment.from && segment.to <= read.to;
        let own: Vec<_> = segments.iter().filter(inside).collect();
        assert_eq!(own.iter().map(|segment| segment.to - segment.from).sum::<u64>(), latency(read), "{read:?}");
        for segment in own {
            for flow in &segment.ending_flows {
                flows += 1;
                match (gcs.get(flow), instants.get(flow)) {
                    (Some(gc), None) => {
                        assert_eq!(segment.args["by_gc"], gc.args["gc"]);
                        assert!(gc.from <= segment.from && segment.from < gc.to, "{segment:?} {gc:?}");
                    }
                    (None, Some(instant)) => {
                        assert_eq!(instant.from, segment.from);
                        assert_eq!(found.tracks[&instant.track], format!("plane {}", segment.args["by_plane"]));
                    }
                    found => panic!("a flow from {found:?}"),
                }
            }
        }
    }
    assert_eq!(flows, gcs.len() + instants.len(), "flows that end nowhere");
    let behind: BTreeSet<_> = segments.iter().filter_map(|segment| Some((segment.track, segment.args.get("by_gc")?))).collect();
    assert!(behind.len() <= gcs.len() + 8, "each of {} GCs that a read waited for has a flow to it", behind.len());
    assert!(gcs.len() >= 50, "the slowest reads of Base wait for GCs: {}", gcs.len());
}

#[test]
fn a_window_cuts_what_reaches_beyond_it_and_nothing_else() {
    let all = recorded(&spec("ttflash", 20_000), |_| {}).1;
    let erase = all.of("die").into_iter().find(|slice| slice.name == "erase" && slice.from > 3_000_000).unwrap().clone();
    // Its edges to the nanosecond: the window ends where it begins, or one later, and the other way round.
    for (window, kept) in [
        ((erase.from - 1000, erase.from), 0),
        ((erase.from - 1000, erase.from + 1), 1),
        ((erase.to - 1, erase.to + 1000), 1),
        ((erase.to, erase.to + 1000), 0),
        ((erase.from + 5, erase.to - 7), 1),
    ] {
        let (outcome, found) = recorded(&spec("ttflash", 20_000), |timeline| timeline.window_ns = Some(window));
        check_nesting(&found);
        assert!(outcome.notes.iter().all(|note| !note.contains("timeline")));
        let of_gc = |slice: &&&Slice| slice.name == "erase" && slice.args.get("gc") == erase.args.get("gc");
        assert_eq!(found.of("die").iter().filter(of_gc).count(), kept, "{window:?}");
        // Of each slice of the whole timeline there is what lies in the window, with what was cut off.
        for category in ["die", "channel", "gc", "gc_phase", "lock"] {
            let expected: Vec<_> = all
                .of(category)
                .into_iter()
                .filter(|slice| slice.from < window.1 && slice.to > window.0)
                .map(|slice| {
                    let mut slice = slice.clone();
                    for (key, cut) in
                        [("begins_earlier_ns", window.0.saturating_sub(slice.from)), ("ends_later_ns", slice.to.saturating_sub(window.1))]
                    {
                        if cut > 0 {
                            *slice.args.entry(key.into()).or_default() += cut as i64;
                        }
                    }
                    (slice.track, slice.from.max(window.0), slice.to.min(window.1), slice.name, slice.args)
                })
                .collect();
            let found: Vec<_> = found.of(category).into_iter().map(|s| (s.track, s.from, s.to, s.name.clone(), s.args.clone())).collect();
            assert_eq!(found, expected, "{category} in {window:?}");
        }
        for read in found.of("read") {
            let latency = read.args["latency_ns"] as u64;
            let cut = |key: &str| read.args.get(key).copied().unwrap_or(0) as u64;
            assert_eq!(read.to - read.from + cut("begins_earlier_ns") + cut("ends_later_ns"), latency);
        }
    }
}

#[test]
fn a_full_timeline_ends_at_a_time_and_says_so() {
    let spec = spec("base", 20_000);
    let (outcome, found) = recorded(&spec, |timeline| timeline.slices_max = Some(1000));
    let end = found.of("run")[0].to;
    let note = format!("nothing from {} s on is in it", end as f64 / 1e9);
    assert!(outcome.notes.iter().any(|found| found.contains(&note)), "{:?} without {note}", outcome.notes);
    assert!(found.slices.iter().all(|slice| slice.to <= end));
    // Beside the thousand: what lasted then, the phases of GCs, and the slow reads.
    let others = ["read", "segment", "run"].map(|category| found.of(category).len()).iter().sum::<usize>();
    assert!((900..1200).contains(&(found.slices.len() - others)), "{} and {others}", found.slices.len());
    let whole = recorded(&spec, |timeline| timeline.window_ns = Some((0, end))).1;
    assert_eq!(found.slices.len(), whole.slices.len(), "the same as of a window that ends there");
}

#[test]
fn windows_beyond_the_run_hold_nothing_or_less_and_say_so() {
    let (outcome, found) = recorded(&spec("base", 2000), |timeline| timeline.window_ns = Some((90_000_000_000, 91_000_000_000)));
    assert_eq!((found.slices.len(), found.instants.len(), found.counters.len()), (0, 0, 0));
    let said = |outcome: &Outcome, what: &str| outcome.notes.iter().any(|note| note.contains(what));
    assert!(said(&outcome, "the timeline holds nothing: its window begins at 90 s"), "{:?}", outcome.notes);
    let (outcome, found) = recorded(&spec("base", 2000), |timeline| timeline.window_ns = Some((1_000_000, 91_000_000_000)));
    assert!(said(&outcome, "reaches to 91 s, beyond the end"), "{:?}", outcome.notes);
    assert!(!found.slices.is_empty());
    let wrong = TimelineSpec { path: "/".into(), window_ns: Some((5, 5)), slices_max: None, slow_reads: None, command: String::new() };
    let refused = run(&Spec { timeline: Some(wrong), ..spec("base", 10) }, &Control::default());
    assert!(matches!(refused, Err(RunError::Failed(why)) if why.contains("must end after it begins")));
}

#[test]
fn whoever_records_runs_as_without_and_with_timelines_both_are_whole() {
    let plain = run(&spec("ttflash", 20_000), &Control::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let request_timelines = RequestTimelinesSpec { path: folder.path().to_str().unwrap().into(), slowest: 20, requests: vec![] };
    let (outcome, found) =
        recorded(&Spec { request_timelines: Some(request_timelines), ..spec("ttflash", 20_000) }, |timeline| timeline.slow_reads = Some(7));
    assert_eq!((&outcome.event_hash, &outcome.read, &outcome.series), (&plain.event_hash, &plain.read, &plain.series));
    let kept = outcome.request_timelines.unwrap();
    assert_eq!((kept.error, kept.requests, kept.gcs), (None, 40, plain.gc_count));
    assert_eq!((found.of("read").len(), found.of("gc").len() as u64), (7, plain.gc_count));
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_runs() {
    let timeline =
        TimelineSpec { path: "/nowhere/x.pftrace".into(), window_ns: None, slices_max: None, slow_reads: None, command: String::new() };
    let control = Control::default();
    let refused = run(&Spec { timeline: Some(timeline), ..spec("base", 10) }, &control).unwrap_err();
    assert_eq!(refused.to_string(), "cannot write the timeline to /nowhere/x.pftrace: there is no directory /nowhere");
    assert_eq!(control.done(), 0);
}
