//! The transforms once more, as plainly as they are described, on lists: what the streams are held against.

use crate::source::Arrival;
use proptest::prelude::*;
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::SECTOR_BYTES;

use super::testkit::{opener, read_all};
use super::{BurstGap, Fit, MeanGap, Transform};

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn transformed(mut all: Vec<Arrival>, transform: &Transform, drive: u64) -> Vec<Arrival> {
    let keep = |all: &[Arrival], from: u64, to: u64| -> Vec<Arrival> {
        let kept: Vec<Arrival> = all.iter().copied().filter(|arrival| (from..to).contains(&arrival.at)).collect();
        let first = kept.first().map_or(0, |arrival| arrival.at);
        kept.into_iter().map(|arrival| Arrival { at: arrival.at - first, ..arrival }).collect()
    };
    if let Some((from, to)) = transform.window_s {
        all = keep(&all, (from * 1e9).round() as u64, (to * 1e9).round() as u64);
    }
    if let Some(length) = transform.busiest_s {
        let length = (length * 1e9).round() as u64;
        let inside = |from: u64| all.iter().filter(|arrival| (from..from + length).contains(&arrival.at)).count();
        let most = all.iter().map(|arrival| inside(arrival.at)).max().unwrap_or(0);
        let from = all.iter().map(|arrival| arrival.at).find(|at| inside(*at) == most).unwrap_or(0);
        all = keep(&all, from, from + length);
    }
    if let Some(gap) = transform.burst_gap_s {
        let before: Vec<u64> = all.iter().map(|arrival| arrival.at).collect();
        let gaps = || before.windows(2).map(|pair| pair[1] - pair[0]);
        let joins = |since: u64| match gap {
            BurstGap::Seconds(gap) => since < (gap * 1e9).round() as u64,
            // Below the mean, without a division.
            BurstGap::Named(MeanGap::Mean) => since == 0 || since * (gaps().count() as u64) < gaps().sum(),
        };
        for index in 1..all.len() {
            let since = before[index] - before[index - 1];
            all[index].at = all[index - 1].at + if joins(since) { 0 } else { since };
        }
        if gaps().all(joins) {
            return Vec::new();
        }
    }
    for arrival in &mut all {
        arrival.at = (arrival.at as f64 * transform.scale_time.unwrap_or(1.0)) as u64;
        let sectors = f64::from(arrival.command.sectors) * transform.scale_size.unwrap_or(1.0);
        arrival.command.sectors = ((sectors + 0.5).floor() as u32).max(1);
    }
    let wanted = match (transform.repeat, transform.repeat_to_requests) {
        (Some(times), _) => all.len() * times as usize,
        (None, Some(requests)) => requests as usize,
        (None, None) => all.len(),
    };
    if let (Some(first), Some(last)) = (all.first().copied(), all.last().copied()) {
        let span = last.at - first.at;
        let gap = (span / (all.len() as u64 - 1).max(1)).max(1);
        let round = all.clone();
        let shifted = |index: usize| {
            let (rounds, place) = (index / round.len(), index % round.len());
            Arrival { at: round[place].at + rounds as u64 * (span + gap), ..round[place] }
        };
        all = (0..wanted).map(shifted).collect();
    }
    let offset = transform.offset_bytes.unwrap_or(0) / u64::from(SECTOR_BYTES);
    let region = transform.region_bytes.map_or(drive - offset, |bytes| bytes / u64::from(SECTOR_BYTES));
    all.retain_mut(|arrival| {
        let Command { sector, sectors, .. } = &mut arrival.command;
        if *sector + u64::from(*sectors) > region {
            match transform.fit {
                Some(Fit::Clip) if *sector >= region => return false,
                Some(Fit::Clip) => *sectors = (region - *sector) as u32,
                Some(Fit::Fold) => {
                    let whole = if region >= 8 { region - region % 8 } else { region };
                    *sectors = (*sectors).min(whole as u32);
                    *sector = (*sector % whole).min(whole - u64::from(*sectors));
                }
                None => {}
            }
        }
        *sector += offset;
        true
    });
    all
}

fn requests() -> impl Strategy<Value = Vec<Arrival>> {
    let kind = prop_oneof![Just(CommandKind::Read), Just(CommandKind::Write), Just(CommandKind::Trim)];
    let request = (0_u64..400, 0_u64..3000, 1_u32..64, kind, 0_u32..3);
    proptest::collection::vec(request, 1..60).prop_map(|requests| {
        let mut at = 0;
        let arrival = |(gap, sector, sectors, kind, queue)| {
            at += gap;
            Arrival { at, command: Command { kind, sector, sectors, critical: false }, queue, latency_ns: None }
        };
        requests.into_iter().map(arrival).collect()
    })
}

fn transforms() -> impl Strategy<Value = Transform> {
    let selection = prop_oneof![
        Just((None, None)),
        (0_u64..3000, 1_u64..9000).prop_map(|(from, length)| (Some((seconds(from), seconds(from + length))), None)),
        (1_u64..9000).prop_map(|length| (None, Some(seconds(length)))),
    ];
    let gap = prop_oneof![
        3 => Just(None),
        1 => Just(Some(BurstGap::Named(MeanGap::Mean))),
        1 => (1_u64..400).prop_map(|gap| Some(BurstGap::Seconds(seconds(gap)))),
    ];
    let scales = (proptest::option::of(0.1_f64..10.0), proptest::option::of(0.1_f64..4.0));
    let repeats = prop_oneof![
        Just((None, None)),
        (1_u64..5).prop_map(|times| (Some(times), None)),
        (1_u64..150).prop_map(|requests| (None, Some(requests))),
    ];
    let fit = prop_oneof![Just(Fit::Fold), Just(Fit::Clip)];
    let place = (fit, proptest::option::of(1_u64..2000), proptest::option::of(0_u64..1000));
    (selection, gap, scales, repeats, place).prop_map(
        |((window_s, busiest_s), burst_gap_s, (scale_time, scale_size), (repeat, repeat_to_requests), (fit, region, offset))| Transform {
            window_s,
            busiest_s,
            burst_gap_s,
            scale_time,
            scale_size,
            repeat,
            repeat_to_requests,
            fit: Some(fit),
            region_bytes: region.map(|sectors| sectors * 512),
            offset_bytes: offset.map(|sectors| sectors * 512),
            critical_writes: false,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn streams_are_as_the_lists(requests in requests(), transform in transforms(), batch in 1_usize..70) {
        const DRIVE: u64 = 4000;
        prop_assert_eq!(transform.check("w"), Ok(()));
        let open = opener(&requests);
        let expected = transformed(requests, &transform, DRIVE);
        match transform.prepare("w", &open, None) {
            Ok(prepared) => {
                let found = read_all(prepared.source("w", open, DRIVE, std::sync::Arc::default()).unwrap(), batch);
                prop_assert_eq!(found, expected);
            }
            Err(_) => prop_assert!(expected.is_empty(), "an empty window and one burst alone are refused"),
        }
    }
}
