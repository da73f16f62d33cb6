//! Arrivals that were recorded and are played again give the same completion times, request by request.

use crate::common::{READ, TRIM, WRITE, drive, start};
use tinytail_core::observe::Completion;
use tinytail_core::units::MS;
use tinytail_server::data::MemoryData;
use tinytail_server::record::Recorder;
use tinytail_simulator::control::Control;
use tinytail_simulator::play::{Ending, play};
use tinytail_workload::{Pacing, SourceContext, TraceOptions, Workload};

const SIZE: u64 = 256 << 20;

/// Serves a while, and returns what the model completed and when.
fn serve(design: &str, trace: &std::path::Path) -> (Vec<Completion>, u64) {
    let recorder = Recorder::start(trace, false).unwrap();
    let running = start(drive(design), MemoryData::new(SIZE).unwrap(), SIZE, Some(recorder));
    // A flush before the first command is not recorded; those that follow are, and are left out when the trace is played.
    let mut client = running.client();
    client.ask(0, crate::common::FLUSH, 0, 0, &[]);
    let mut state = 12345u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let payload = vec![3; 65_536];
    let mut open = std::collections::HashMap::new();
    for cookie in 0..3000u64 {
        let (offset, bytes) = (random(SIZE / 512 - 128) * 512, (1 + random(16)) as u32 * 512);
        match random(10) {
            0..5 => {
                client.send(0, READ, cookie, offset, bytes, &[]);
                open.insert(cookie, bytes as usize);
            }
            5..9 => {
                client.send(0, WRITE, cookie, offset, bytes, &payload[..bytes as usize]);
                open.insert(cookie, 0);
            }
            _ => {
                client.send(0, if random(2) == 0 { TRIM } else { crate::common::FLUSH }, cookie, offset, bytes, &[]);
                open.insert(cookie, 0);
            }
        }
        while open.len() >= 32 {
            let (cookie, error, _) = client.reply(|cookie| open[&cookie]);
            assert_eq!(error, 0);
            open.remove(&cookie);
        }
    }
    while !open.is_empty() {
        let (cookie, ..) = client.reply(|cookie| open[&cookie]);
        open.remove(&cookie);
    }
    let served = running.stop();
    let recording = served.recorder.unwrap().finish("a test", Vec::new()).unwrap();
    assert_eq!(recording.requests, served.drive.submitted());
    (served.drive.observer().seen.clone(), served.event_hash)
}

#[test]
fn a_recording_gives_the_same_completions_when_it_is_played() {
    for (design, name) in [("base", "trace"), ("ttflash", "trace.zst")] {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join(name);
        let (live, event_hash) = serve(design, &trace);
        assert!(live.len() > 2000);
        let workload = Workload::resolve(trace.to_str().unwrap(), &TraceOptions::default()).unwrap();
        assert_eq!(workload.pacing, Pacing::Open);
        assert!(workload.notes.iter().any(|note| note.contains("flush")), "{:?}", workload.notes);
        let context = SourceContext { logical_sectors: SIZE / 512, mapped_sectors: SIZE / 512 };
        let mut source = workload.source(1, &context, None).unwrap();
        let mut replayed = drive(design);
        let offset = replayed.now() + MS;
        assert_eq!(play(&mut replayed, source.as_mut(), Pacing::Open, offset, &Control::default(), |_| false), Ending::Complete);
        assert_eq!(replayed.event_hash(), event_hash, "up to the last completion");
        assert_eq!(replayed.observer().seen.len(), live.len());
        for (live, replayed) in live.iter().zip(&replayed.observer().seen) {
            assert_eq!(live, replayed);
        }
    }
}
