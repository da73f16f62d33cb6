//! The table `[profile]` of a workload file.

use std::collections::BTreeMap;

use serde::Deserialize;
use tinytail_core::host::CommandKind;
use tinytail_core::units::{SECOND, TIME_MAX};

use super::profile::{FlowProfile, Kinds, Profile, SweepProfile};
use crate::claims::{self, Claim, ClaimTable};
use crate::error::WorkloadError;
use crate::file::{Check, Sourced, Text};

/// A stand-in for a recorded workload: independent flows in open loop.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileTable {
    /// What the workload stands in for.
    pub(crate) stands_in_for: Sourced<String>,
    /// The flows, by name; at least one.
    flows: BTreeMap<String, FlowTable>,
    /// What the workload claims to be like: characteristics by name, those of reads and writes with `read_` and `write_` before
    /// the name.
    #[serde(default)]
    claims: BTreeMap<String, ClaimTable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum FlowKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Runs of reads and runs of writes.
    Mixed,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct FlowTable {
    /// Whether the flow reads, writes or does both.
    kind: Sourced<FlowKind>,
    /// Share of the runs that write; only with both, and then needed.
    write_share: Option<Sourced<f64>>,
    /// When the flow begins, in whole seconds; 0 without it.
    start_s: Option<Sourced<u64>>,
    /// Length of each of the periods for which a rate is given, in whole seconds.
    period_s: Sourced<u64>,
    /// Mean number of requests per second, for each period; the flow ends after the last.
    rates_per_s: Sourced<Vec<f64>>,
    /// Each second's rate is drawn between 1 - this and 1 + this times the period's, from 0 to 1.
    jitter_share: Sourced<f64>,
    /// Share of requests that come after a pause.
    pause_share: Sourced<f64>,
    /// Mean length of a pause in milliseconds, exponentially distributed.
    pause_ms: Sourced<f64>,
    /// Bursts on all time scales: of each half of a period, and of each half of that, down to 50 ms, the richer one's share of
    /// the requests, from 0.5, which is even and the default, to 0.9.
    burst_bias: Option<Sourced<f64>>,
    /// Share of requests that continue a run of this flow.
    sequential_share: Sourced<f64>,
    /// Chance to pass over the most recent run, and the next, and so on, when a run is continued.
    interleave_share: Sourced<f64>,
    /// Share of new runs that start where an earlier one did.
    revisit_share: Sourced<f64>,
    /// Whether such runs choose among places, all alike; otherwise, which is the default, among earlier runs, so that what was
    /// revisited often is revisited more often.
    revisit_evenly: Option<Sourced<bool>>,
    /// Sizes of the requests that start a run: pairs of sectors and weight.
    start_sizes_sectors: Sourced<Vec<(u32, f64)>>,
    /// Sizes of the requests that continue a run: pairs of sectors and weight.
    continuation_sizes_sectors: Sourced<Vec<(u32, f64)>>,
    /// Where runs start: triples of first GiB, end in GiB and weight.
    regions_gib: Sourced<Vec<(f64, f64, f64)>>,
    /// Length of the lanes of the address space, a multiple of 4 KiB from 256 KiB to 1 GiB, 1 MiB without it: each fills from a
    /// start in its first 256 KiB.
    lane_kib: Option<Sourced<u64>>,
    /// Added to every address, in sectors, from 0, the default, to 7: where partitions do not begin at a multiple of 4 KiB.
    offset_sectors: Option<Sourced<u64>>,
    /// Goes through the regions in order, in chunks of this size, a multiple of 4 KiB, each of which is a run. Where runs start is
    /// then given, and `sequential_share`, `interleave_share` and `revisit_share` must be 0.
    sweep_chunk_kib: Option<Sourced<u64>>,
    /// How many chunks of a sweep are open at a time, from 1 to 1024; needed with `sweep_chunk_kib`.
    sweep_parallel: Option<Sourced<u64>>,
}

impl ProfileTable {
    pub(crate) fn check(&self, text: Text<'_>) -> Result<(Profile, Vec<Claim>), WorkloadError> {
        if self.flows.is_empty() {
            return Err(text.fault(&["profile"], "flows", "has no flow; expected at least one"));
        }
        let flow = |(name, flow): (&String, &FlowTable)| flow.check(Check { text, section: &["profile", "flows", name] });
        let profile = Profile { flows: self.flows.iter().map(flow).collect::<Result<_, _>>()? };
        Ok((profile, claims::check(&self.claims, text, &["profile", "claims"])?))
    }
}

impl FlowTable {
    fn check(&self, check: Check<'_>) -> Result<FlowProfile, WorkloadError> {
        // Beyond this rate, a second's work no longer fits the integers in which it is counted.
        const RATE_MAX: f64 = 1e6;
        let sizes = |key: &str, sizes: &Sourced<Vec<(u32, f64)>>| {
            let faulty = sizes.value.iter().any(|(sectors, weight)| *sectors == 0 || !weight.is_finite() || *weight < 0.0);
            if faulty || sizes.value.iter().all(|(_, weight)| *weight == 0.0) {
                return Err(check.fault(key, "needs pairs of sectors and weight, all above 0"));
            }
            Ok(sizes.value.clone())
        };
        let mut regions = Vec::new();
        for &(first_gib, end_gib, weight) in &self.regions_gib.value {
            const GIB_PAGES: f64 = 262_144.0;
            let sound = (0.0..end_gib).contains(&first_gib) && end_gib <= 1e9 && weight.is_finite() && weight >= 0.0;
            let first = (first_gib * GIB_PAGES) as u64;
            let pages = ((end_gib - first_gib) * GIB_PAGES) as u64;
            if !sound || pages == 0 {
                return Err(check.fault(
                    "regions_gib",
                    format_args!("has [{first_gib}, {end_gib}, {weight}]; expected [first GiB, end GiB, weight], end above first"),
                ));
            }
            regions.push((first, pages, weight));
        }
        if regions.iter().all(|(_, _, weight)| *weight == 0.0) {
            return Err(check.fault("regions_gib", "needs at least one region with a weight above 0"));
        }
        let pause_ms = self.pause_ms.value;
        if !(0.0..=1e9).contains(&pause_ms) {
            return Err(check.fault("pause_ms", format_args!("is {pause_ms}; expected 0 to 1e9 ms")));
        }
        let burst_bias = self.burst_bias.as_ref().map_or(0.5, |bias| bias.value);
        if !(0.5..=0.9).contains(&burst_bias) {
            return Err(check.fault("burst_bias", format_args!("is {burst_bias}; expected 0.5 to 0.9")));
        }
        let offset_sectors = self.offset_sectors.as_ref().map_or(0, |offset| offset.value);
        if offset_sectors > 7 {
            return Err(check.fault("offset_sectors", format_args!("is {offset_sectors}; expected 0 to 7 sectors")));
        }
        let lane_kib = self.lane_kib.as_ref().map_or(1024, |lane| lane.value);
        if !(256..=1 << 20).contains(&lane_kib) || !lane_kib.is_multiple_of(4) {
            return Err(check.fault("lane_kib", format_args!("is {lane_kib}; expected a multiple of 4 KiB from 256 to 1,048,576")));
        }
        let flow = FlowProfile {
            kinds: self.kinds(check)?,
            start_s: self.start_s.as_ref().map_or(0, |start| start.value),
            period_s: self.period_s.value,
            rates_per_s: self.rates_per_s.value.clone(),
            jitter_share: check.share("jitter_share", &self.jitter_share)?,
            pause_share: check.share("pause_share", &self.pause_share)?,
            pause_ns: pause_ms * 1e6,
            burst_bias,
            sequential_share: check.share("sequential_share", &self.sequential_share)?,
            interleave_share: check.share("interleave_share", &self.interleave_share)?,
            revisit_share: check.share("revisit_share", &self.revisit_share)?,
            revisit_evenly: self.revisit_evenly.as_ref().is_some_and(|evenly| evenly.value),
            lane_pages: lane_kib / 4,
            start_sizes: sizes("start_sizes_sectors", &self.start_sizes_sectors)?,
            continuation_sizes: sizes("continuation_sizes_sectors", &self.continuation_sizes_sectors)?,
            regions,
            offset_sectors,
            sweep: self.sweep(check)?,
        };
        let duration_s = flow.period_s.saturating_mul(flow.rates_per_s.len() as u64);
        if duration_s == 0 || flow.start_s.saturating_add(duration_s) > TIME_MAX / SECOND {
            return Err(check.fault(
                "rates_per_s",
                format_args!("times `period_s` makes {duration_s} s; expected 1 s or more, and an end before {} s", TIME_MAX / SECOND),
            ));
        }
        for rate in &flow.rates_per_s {
            if !(0.0..=RATE_MAX).contains(rate) {
                return Err(check.fault("rates_per_s", format_args!("has {rate}; expected 0 to {RATE_MAX} per second")));
            }
            if flow.rate_between_pauses(*rate).is_none_or(|between| between > 10.0 * RATE_MAX) {
                return Err(check.fault(
                    "pause_share",
                    format_args!("times `pause_ms` leaves no time for {rate} requests per second between the pauses"),
                ));
            }
        }
        let largest = flow.start_sizes.iter().chain(&flow.continuation_sizes).map(|(sectors, _)| *sectors).max();
        if flow.end_sector() < u64::from(largest.unwrap_or(0)) {
            return Err(check.fault("regions_gib", "end before the largest request would"));
        }
        Ok(flow)
    }

    fn kinds(&self, check: Check<'_>) -> Result<Kinds, WorkloadError> {
        match (self.kind.value, &self.write_share) {
            (FlowKind::Mixed, Some(share)) => Ok(Kinds::Mixed { write_share: check.share("write_share", share)? }),
            (FlowKind::Mixed, None) => Err(check.fault("kind", "is \"mixed\" and needs `write_share`")),
            (_, Some(_)) => Err(check.fault("write_share", "is only for flows of the kind \"mixed\"")),
            (FlowKind::Read, None) => Ok(Kinds::One(CommandKind::Read)),
            (FlowKind::Write, None) => Ok(Kinds::One(CommandKind::Write)),
        }
    }

    fn sweep(&self, check: Check) -> Result<Option<SweepProfile>, WorkloadError> {
        let (chunk_kib, parallel) = match (&self.sweep_chunk_kib, &self.sweep_parallel) {
            (None, None) => return Ok(None),
            (Some(chunk_kib), Some(parallel)) => (chunk_kib.value, parallel.value),
            (Some(_), None) => return Err(check.fault("sweep_chunk_kib", "needs `sweep_parallel`")),
            (None, Some(_)) => return Err(check.fault("sweep_parallel", "needs `sweep_chunk_kib`")),
        };
        if self.kind.value == FlowKind::Mixed {
            return Err(check.fault("kind", "is \"mixed\"; a flow with `sweep_chunk_kib` reads or writes"));
        }
        if chunk_kib == 0 || !chunk_kib.is_multiple_of(4) || chunk_kib > 1 << 30 {
            return Err(check.fault("sweep_chunk_kib", format_args!("is {chunk_kib}; expected a multiple of 4 KiB, at most 2^30")));
        }
        if !(1..=1024).contains(&parallel) {
            return Err(check.fault("sweep_parallel", format_args!("is {parallel}; expected 1 to 1024")));
        }
        let shares = [
            ("sequential_share", &self.sequential_share),
            ("interleave_share", &self.interleave_share),
            ("revisit_share", &self.revisit_share),
        ];
        for (key, share) in shares {
            if share.value != 0.0 {
                return Err(check.fault(key, format_args!("is {}; a flow with `sweep_chunk_kib` needs 0", share.value)));
            }
        }
        for (key, given) in [("lane_kib", self.lane_kib.is_some()), ("revisit_evenly", self.revisit_evenly.is_some())] {
            if given {
                return Err(check.fault(key, "has no meaning in a flow with `sweep_chunk_kib`, whose places are given; leave it out"));
            }
        }
        Ok(Some(SweepProfile { chunk_sectors: chunk_kib * 2, parallel: parallel as usize }))
    }
}
