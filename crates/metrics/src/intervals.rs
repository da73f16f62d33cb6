//! How far figures of latency may be from what a longer run would show: a block bootstrap over simulated time.
//!
//! Latencies of one run are not independent: a GC or a burst makes many requests slow together. So whole blocks of time are
//! resampled, and what varies between blocks shows how much the figures are worth.

use crate::LatencySummary;
use crate::series::{Classes, class_first, class_last};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tinytail_core::units::Ns;

/// The share of intervals that hold the truth, in percent.
pub const LEVEL_PERCENT: u32 = 90;
/// Blocks that a run is cut into: enough to see how they differ, and few enough to be long.
const BLOCKS: usize = 30;
/// With fewer there is no interval.
const BLOCKS_MIN: usize = 20;
/// Resamples: the ends of the interval are the 25th of each side.
const RESAMPLES: usize = 500;
/// With fewer requests beyond a percentile, counted as if they were independent, there is no interval.
const BEYOND_MIN: f64 = 10.0;
/// The normal quantile of `LEVEL_PERCENT`.
const Z: f64 = 1.6449;

/// Where a figure lies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The lower end, in the figure's unit.
    pub low: f64,
    /// The upper end, in the figure's unit.
    pub high: f64,
    /// The share of such intervals that hold the truth, in percent.
    pub level_percent: u32,
    /// How it was found.
    pub method: Method,
    /// How many blocks or seeds.
    pub n: usize,
}

/// How an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Blocks of one run were resampled.
    Blocks,
    /// Student's interval of the mean over runs that differ in their seed.
    Seeds,
}

/// The windows of requests of one kind, ready to be resampled.
struct Blocks<'a> {
    windows: &'a [Classes],
    /// Requests of each window.
    counts: Vec<f64>,
    /// Requests by class.
    total: Vec<(u16, f64)>,
    requests: f64,
    /// Windows of a block.
    length: usize,
    /// Blocks of a resample.
    blocks: usize,
}

impl<'a> Blocks<'a> {
    /// None if there are too few requests or windows.
    fn new(windows: &'a [Classes]) -> Option<Self> {
        let length = (windows.len() as f64 / BLOCKS as f64).round().max(1.0) as usize;
        let blocks = windows.len().div_ceil(length);
        let counts: Vec<f64> = windows.iter().map(|window| window.iter().map(|&(_, count)| f64::from(count)).sum()).collect();
        let requests: f64 = counts.iter().sum();
        if blocks < BLOCKS_MIN || requests < BEYOND_MIN {
            return None;
        }
        let mut total = BTreeMap::new();
        for &(class, count) in windows.iter().flatten() {
            *total.entry(class).or_insert(0.0) += f64::from(count);
        }
        Some(Self { windows, counts, total: total.into_iter().collect(), requests, length, blocks })
    }

    /// Sums of `values`, one for each window and 0 in all, over resampled blocks, in order: by how much their sum might as
    /// well have been another. The second value is their variance.
    fn resample(&self, values: &[f64]) -> (Vec<f64>, f64) {
        let windows = values.len();
        let mut before = vec![0.0; windows + self.length + 1];
        for window in 0..windows + self.length {
            // Blocks go round the end, so that every window is in as many of them.
            before[window + 1] = before[window] + values[window % windows];
        }
        let blocks: Vec<f64> = (0..windows).map(|first| before[first + self.length] - before[first]).collect();
        let mut random = Random(0);
        let mut sums: Vec<f64> = (0..RESAMPLES).map(|_| (0..self.blocks).map(|_| blocks[random.below(windows)]).sum()).collect();
        // Resamples of few blocks vary less than runs do: the variance of a mean, and Student's t for the normal quantile.
        let freedom = self.blocks as f64 - 1.0;
        let wider = (self.blocks as f64 / freedom).sqrt();
        let variance = sums.iter().map(|sum| sum * sum).sum::<f64>() / RESAMPLES as f64 * wider * wider;
        let student = 1.0 + (Z * Z + 1.0) / (4.0 * freedom);
        sums.iter_mut().for_each(|sum| *sum *= wider * student);
        sums.sort_by(f64::total_cmp);
        (sums, variance)
    }

    /// Between which latencies a percentile lies, in nanoseconds, by whole classes.
    fn percentile(&self, beyond_per_100_000: f64) -> Option<(Ns, Ns)> {
        let share = beyond_per_100_000 / 100_000.0;
        let beyond = self.requests * share;
        let scarce = beyond.min(self.requests - beyond);
        if scarce < BEYOND_MIN - 1e-6 {
            return None;
        }
        let at = self.class_beyond(beyond);
        // Of the requests at the percentile itself so many count as beyond it that the share is exact.
        let slower: f64 = self.total.iter().rev().take_while(|&&(class, _)| class > at).map(|&(_, count)| count).sum();
        let equal = self.total.iter().find(|&&(class, _)| class == at).map_or(1.0, |&(_, count)| count);
        let part = (beyond - slower) / equal;
        let values: Vec<f64> =
            self.windows.iter().zip(&self.counts).map(|(window, count)| excess(window, at, part) - share * count).collect();
        let (sums, variance) = self.resample(&values);
        let independent = beyond * (1.0 - share);
        if scarce / (variance / independent).max(1.0) < BEYOND_MIN {
            return None;
        }
        let (least, most) = ends(&sums);
        // A percentile is high where more requests are beyond this one's latency than should be.
        let (low, high) = (self.class_beyond(beyond + most), self.class_beyond((beyond + least).max(0.0)));
        Some((class_first(low), class_last(high)))
    }

    /// The class of the latency that so many requests are beyond.
    fn class_beyond(&self, beyond: f64) -> u16 {
        let mut slower = 0.0;
        let found = self.total.iter().rev().find(|&&(_, count)| {
            slower += count;
            slower > beyond
        });
        found.or(self.total.first()).map_or(0, |&(class, _)| class)
    }

    /// By which factors the mean may be off.
    fn mean(&self) -> Option<(f64, f64)> {
        let middle = |class: u16| (class_first(class) + class_last(class)) as f64 / 2.0;
        let sum: f64 = self.total.iter().map(|&(class, count)| middle(class) * count).sum();
        // Where requests take no time at all, there is nothing to be off.
        if sum <= 0.0 {
            return None;
        }
        let squares: f64 = self.total.iter().map(|&(class, count)| middle(class).powi(2) * count).sum();
        let mean = sum / self.requests;
        let in_window = |window: &Classes| window.iter().map(|&(class, count)| middle(class) * f64::from(count)).sum::<f64>();
        let values: Vec<f64> = self.windows.iter().zip(&self.counts).map(|(window, count)| in_window(window) - mean * count).collect();
        let (sums, variance) = self.resample(&values);
        let independent = squares - sum * mean;
        if self.requests / (variance / independent.max(f64::MIN_POSITIVE)).max(1.0) < BEYOND_MIN {
            return None;
        }
        let (least, most) = ends(&sums);
        Some((1.0 + least / sum, 1.0 + most / sum))
    }
}

/// Requests of a window that are slower than a class, and a part of those in it.
fn excess(window: &Classes, at: u16, part: f64) -> f64 {
    let slower = window.iter().rev().take_while(|&&(class, _)| class >= at);
    slower.map(|&(class, count)| f64::from(count) * if class == at { part } else { 1.0 }).sum()
}

/// The values between which `LEVEL_PERCENT` of a sorted list lie.
fn ends(sorted: &[f64]) -> (f64, f64) {
    let cut = sorted.len() * (100 - LEVEL_PERCENT as usize) / 200;
    (sorted[cut], sorted[sorted.len() - 1 - cut])
}

/// `splitmix64`: the same run has the same intervals.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * limit as u128) >> 64) as usize
    }
}

/// The intervals of the latencies of requests of one kind, by the names of their figures, in microseconds. A figure that too
/// little was seen of has none, and the maximum never has one.
pub(crate) fn intervals(kind: &str, windows: &[Classes], summary: &LatencySummary) -> BTreeMap<String, Interval> {
    let mut found = BTreeMap::new();
    let Some(blocks) = Blocks::new(windows) else { return found };
    let mut put = |name: &str, low: f64, high: f64| {
        let interval = Interval { low, high, level_percent: LEVEL_PERCENT, method: Method::Blocks, n: blocks.blocks };
        found.insert(format!("{kind}.{name}"), interval);
    };
    let max_us = summary.max_us.unwrap_or(0.0);
    if let (Some(mean), Some((low, high))) = (summary.mean_us, blocks.mean()) {
        put("mean_us", mean * low.max(0.0), mean * high);
    }
    for (name, figure, beyond_per_100_000) in [
        ("p50_us", summary.p50_us, 50_000.0),
        ("p90_us", summary.p90_us, 10_000.0),
        ("p95_us", summary.p95_us, 5_000.0),
        ("p99_us", summary.p99_us, 1_000.0),
        ("p999_us", summary.p999_us, 100.0),
        ("p9999_us", summary.p9999_us, 10.0),
        ("p99999_us", summary.p99999_us, 1.0),
    ] {
        if let (Some(figure), Some((low, high))) = (figure, blocks.percentile(beyond_per_100_000)) {
            put(name, (low as f64 / 1000.0).min(figure), (high as f64 / 1000.0).min(max_us).max(figure));
        }
    }
    found
}

#[cfg(test)]
mod tests;
