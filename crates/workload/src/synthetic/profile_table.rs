//! The table `[profile]` of a workload file.

use std::collections::BTreeMap;

use serde::Deserialize;
use tinytail_config::{ConfigError, Faults};
use tinytail_core::commands::CommandKind;
use tinytail_core::units::{SECOND, TIME_MAX};

use super::profile::{FlowProfile, Kinds, Profile, SweepProfile};
use crate::claims::{self, ClaimTable};
use crate::file::{Check, Table};

/// Beyond this rate, a second's work no longer fits the integers in which it is counted.
const RATE_MAX: f64 = 1e6;

/// A stand-in for a recorded workload: independent flows in open loop.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileTable {
    /// What the workload stands in for.
    stands_in_for: String,
    /// The flows, by name; at least one.
    flows: BTreeMap<String, FlowTable>,
    /// Whether the flows burst at the same times, as if each request of one process were a read or a write by their rates.
    /// `start_s`, `period_s` and `burst_bias` must then be the same for all of them. Without it they burst independently.
    shared_bursts: Option<bool>,
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
    kind: FlowKind,
    /// Share of the runs that write; only with both, and then needed.
    write_share: Option<f64>,
    /// When the flow begins, in whole seconds; 0 without it.
    start_s: Option<u64>,
    /// Length of each of the periods for which a rate is given, in whole seconds.
    period_s: u64,
    /// Mean number of requests per second, for each period; the flow ends after the last.
    rates_per_s: Vec<f64>,
    /// Each second's rate is drawn between 1 - this and 1 + this times the period's, from 0 to 1.
    jitter_share: f64,
    /// Share of requests that come after a pause.
    pause_share: f64,
    /// Mean length of a pause in milliseconds, exponentially distributed.
    pause_ms: f64,
    /// Bursts on all time scales: of each half of a period, and of each half of that, down to 50 ms, the richer one's share of
    /// the requests, from 0.5, which is even and the default, to 0.9.
    burst_bias: Option<f64>,
    /// Share of requests that continue a run of this flow.
    sequential_share: f64,
    /// Chance to pass over the most recent run, and the next, and so on, when a run is continued.
    interleave_share: f64,
    /// Share of new runs that start where an earlier one did.
    revisit_share: f64,
    /// Whether such runs choose among places, all alike; otherwise, which is the default, among earlier runs, so that what was
    /// revisited often is revisited more often.
    revisit_evenly: Option<bool>,
    /// Sizes of the requests that start a run: pairs of sectors and weight.
    start_sizes_sectors: Vec<(u32, f64)>,
    /// Sizes of the requests that continue a run: pairs of sectors and weight.
    continuation_sizes_sectors: Vec<(u32, f64)>,
    /// Where runs start: triples of first GiB, end in GiB and weight.
    regions_gib: Vec<(f64, f64, f64)>,
    /// Length of the lanes of the address space, a multiple of 4 KiB from 256 KiB to 1 GiB, 1 MiB without it: each fills from a
    /// start in its first 256 KiB.
    lane_kib: Option<u64>,
    /// Added to every address, in sectors, from 0, the default, to 7: where partitions do not begin at a multiple of 4 KiB.
    offset_sectors: Option<u64>,
    /// Goes through the regions in order, in chunks of this size, a multiple of 4 KiB, each of which is a run. Where runs start is
    /// then given, and `sequential_share`, `interleave_share` and `revisit_share` must be 0.
    sweep_chunk_kib: Option<u64>,
    /// How many chunks of a sweep are open at a time, from 1 to 1024; needed with `sweep_chunk_kib`.
    sweep_parallel: Option<u64>,
}

impl ProfileTable {
    /// What it says, as a table of a workload, unless it has faults.
    pub(crate) fn check(self, check: Check<'_>, faults: &mut Faults) -> Option<Table> {
        if self.flows.is_empty() {
            faults.add(check.fault("flows", "has no flow; expected at least one"));
        }
        let shared_bursts = self.shared_bursts == Some(true);
        let first = self.flows.iter().next().filter(|_| shared_bursts);
        let flows = self.flows.iter().filter_map(|(name, flow)| {
            let section = format!("{}.flows.{name}", check.section);
            let check = Check { section: &section, ..check };
            if let Some((first_name, first)) = first {
                flow.check_bursts_as(first, first_name, check, faults);
            }
            flow.check(check, faults)
        });
        let profile = Profile { flows: flows.collect(), shared_bursts };
        let section = format!("{}.claims", check.section);
        let claims = claims::check(self.claims, Check { section: &section, ..check }, faults);
        Some(Table::Profile { stands_in_for: self.stands_in_for, profile, claims })
    }
}

impl FlowTable {
    /// As for tables of requests by rule.
    fn check(&self, check: Check<'_>, faults: &mut Faults) -> Option<FlowProfile> {
        self.check_each(check, faults);
        if faults.touch(check.section) { None } else { faults.take(self.flow(check)) }
    }

    /// Refuses bursts that are not those of the first flow.
    fn check_bursts_as(&self, first: &Self, name: &str, check: Check<'_>, faults: &mut Faults) {
        for (key, own, wanted) in [
            ("start_s", self.start_s.unwrap_or(0) as f64, first.start_s.unwrap_or(0) as f64),
            ("period_s", self.period_s as f64, first.period_s as f64),
            ("burst_bias", self.burst_bias(), first.burst_bias()),
        ] {
            if own != wanted {
                let allowed = format_args!("{wanted}, as in the flow \"{name}\", with `shared_bursts`");
                faults.add(check.bound(key, format_args!("is {own}"), allowed));
            }
        }
    }

    /// Refuses values that are wrong whatever the others are.
    fn check_each(&self, check: Check<'_>, faults: &mut Faults) {
        for (key, share) in [
            ("write_share", self.write_share.unwrap_or(0.0)),
            ("jitter_share", self.jitter_share),
            ("pause_share", self.pause_share),
            ("sequential_share", self.sequential_share),
            ("interleave_share", self.interleave_share),
            ("revisit_share", self.revisit_share),
        ] {
            faults.take(check.share(key, share));
        }
        for (key, sizes) in
            [("start_sizes_sectors", &self.start_sizes_sectors), ("continuation_sizes_sectors", &self.continuation_sizes_sectors)]
        {
            let faulty = sizes.iter().any(|(sectors, weight)| *sectors == 0 || !weight.is_finite() || *weight < 0.0);
            if faulty || sizes.iter().all(|(_, weight)| *weight == 0.0) {
                faults.add(check.fault(key, "needs pairs of sectors and weight, all above 0"));
            }
        }
        let (pause_ms, burst_bias, offset, lane) = (self.pause_ms, self.burst_bias(), self.offset_sectors(), self.lane_kib());
        if !(0.0..=1e9).contains(&pause_ms) {
            faults.add(check.bound("pause_ms", format_args!("is {pause_ms}"), "0 to 1e9 ms"));
        }
        if !(0.5..=0.9).contains(&burst_bias) {
            faults.add(check.bound("burst_bias", format_args!("is {burst_bias}"), "0.5 to 0.9"));
        }
        if offset > 7 {
            faults.add(check.bound("offset_sectors", format_args!("is {offset}"), "0 to 7 sectors"));
        }
        if !(256..=1 << 20).contains(&lane) || !lane.is_multiple_of(4) {
            faults.add(check.bound("lane_kib", format_args!("is {lane}"), "a multiple of 4 KiB from 256 to 1,048,576"));
        }
        if let Some(rate) = self.rates_per_s.iter().find(|rate| !(0.0..=RATE_MAX).contains(*rate)) {
            faults.add(check.bound("rates_per_s", format_args!("has {rate}"), format_args!("0 to {RATE_MAX} per second")));
        }
        let chunk = self.sweep_chunk_kib.unwrap_or(4);
        if chunk == 0 || !chunk.is_multiple_of(4) || chunk > 1 << 30 {
            faults.add(check.bound("sweep_chunk_kib", format_args!("is {chunk}"), "a multiple of 4 KiB, at most 2^30"));
        }
        let parallel = self.sweep_parallel.unwrap_or(1);
        if !(1..=1024).contains(&parallel) {
            faults.add(check.bound("sweep_parallel", format_args!("is {parallel}"), "1 to 1024"));
        }
    }

    fn burst_bias(&self) -> f64 {
        self.burst_bias.unwrap_or(0.5)
    }

    fn offset_sectors(&self) -> u64 {
        self.offset_sectors.unwrap_or(0)
    }

    fn lane_kib(&self) -> u64 {
        self.lane_kib.unwrap_or(1024)
    }

    /// What it says, of values that are right alone.
    fn flow(&self, check: Check<'_>) -> Result<FlowProfile, ConfigError> {
        let flow = FlowProfile {
            kinds: self.kinds(check)?,
            start_s: self.start_s.unwrap_or(0),
            period_s: self.period_s,
            rates_per_s: self.rates_per_s.clone(),
            jitter_share: self.jitter_share,
            pause_share: self.pause_share,
            pause_ns: self.pause_ms * 1e6,
            burst_bias: self.burst_bias(),
            sequential_share: self.sequential_share,
            interleave_share: self.interleave_share,
            revisit_share: self.revisit_share,
            revisit_evenly: self.revisit_evenly == Some(true),
            lane_pages: self.lane_kib() / 4,
            start_sizes: self.start_sizes_sectors.clone(),
            continuation_sizes: self.continuation_sizes_sectors.clone(),
            regions: self.regions(check)?,
            offset_sectors: self.offset_sectors(),
            sweep: self.sweep(check)?,
        };
        let duration_s = flow.period_s.saturating_mul(flow.rates_per_s.len() as u64);
        if duration_s == 0 || flow.start_s.saturating_add(duration_s) > TIME_MAX / SECOND {
            return Err(check.bound(
                "rates_per_s",
                format_args!("times `period_s` makes {duration_s} s"),
                format_args!("1 s or more, and an end before {} s", TIME_MAX / SECOND),
            ));
        }
        for rate in &flow.rates_per_s {
            if flow.rate_between_pauses(*rate).is_none_or(|between| between > 10.0 * RATE_MAX) {
                let found = format!("times `pause_ms` leaves no time for {rate} requests per second between the pauses");
                return Err(check.fault("pause_share", found));
            }
        }
        let largest = flow.start_sizes.iter().chain(&flow.continuation_sizes).map(|(sectors, _)| *sectors).max();
        if flow.end_sector() < u64::from(largest.unwrap_or(0)) {
            return Err(check.fault("regions_gib", "end before the largest request would"));
        }
        Ok(flow)
    }

    fn regions(&self, check: Check<'_>) -> Result<Vec<(u64, u64, f64)>, ConfigError> {
        const GIB_PAGES: f64 = 262_144.0;
        let mut regions = Vec::new();
        for &(first_gib, end_gib, weight) in &self.regions_gib {
            let sound = (0.0..end_gib).contains(&first_gib) && end_gib <= 1e9 && weight.is_finite() && weight >= 0.0;
            let first = (first_gib * GIB_PAGES) as u64;
            let pages = ((end_gib - first_gib) * GIB_PAGES) as u64;
            if !sound || pages == 0 {
                let found = format!("has [{first_gib}, {end_gib}, {weight}]");
                return Err(check.bound("regions_gib", found, "[first GiB, end GiB, weight], end above first"));
            }
            regions.push((first, pages, weight));
        }
        if regions.iter().all(|(_, _, weight)| *weight == 0.0) {
            return Err(check.fault("regions_gib", "needs at least one region with a weight above 0"));
        }
        Ok(regions)
    }

    fn kinds(&self, check: Check<'_>) -> Result<Kinds, ConfigError> {
        match (self.kind, self.write_share) {
            (FlowKind::Mixed, Some(write_share)) => Ok(Kinds::Mixed { write_share }),
            (FlowKind::Mixed, None) => Err(check.fault("kind", "is \"mixed\" and needs `write_share`")),
            (_, Some(_)) => Err(check.fault("write_share", "is only for flows of the kind \"mixed\"")),
            (FlowKind::Read, None) => Ok(Kinds::One(CommandKind::Read)),
            (FlowKind::Write, None) => Ok(Kinds::One(CommandKind::Write)),
        }
    }

    fn sweep(&self, check: Check) -> Result<Option<SweepProfile>, ConfigError> {
        let (chunk_kib, parallel) = match (self.sweep_chunk_kib, self.sweep_parallel) {
            (None, None) => return Ok(None),
            (Some(chunk_kib), Some(parallel)) => (chunk_kib, parallel),
            (Some(_), None) => return Err(check.fault("sweep_chunk_kib", "needs `sweep_parallel`")),
            (None, Some(_)) => return Err(check.fault("sweep_parallel", "needs `sweep_chunk_kib`")),
        };
        if self.kind == FlowKind::Mixed {
            return Err(check.fault("kind", "is \"mixed\"; a flow with `sweep_chunk_kib` reads or writes"));
        }
        for (key, share) in [
            ("sequential_share", self.sequential_share),
            ("interleave_share", self.interleave_share),
            ("revisit_share", self.revisit_share),
        ] {
            if share != 0.0 {
                return Err(check.fault(key, format_args!("is {share}; a flow with `sweep_chunk_kib` needs 0")));
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
