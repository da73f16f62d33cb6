//! # Round-robin victims: a technique from outside the core
//!
//! **What it does.** Collects the block groups of a pool in turn, by number, skipping those that would free nothing.
//!
//! **Source.** The oldest policy there is: a log that is cleaned from its tail, as in Rosenblum and Ousterhout, SOSP 1991.
//!
//! **Parameters.** None.
//!
//! **Cost.** Victims hold more valid pages than greedy ones, so more is copied. In return every block is erased about as
//! often as any other.
//!
//! Nothing in the tree knows of it: it implements the trait of the policy interface `victim` and goes into a design as
//! `VictimPolicy::Custom`. Run it with
//! `cargo run --release -p tinytail-simulator --example round_robin_victim -- [DEVICE [WORKLOAD]]`; a workload may be a trace.

use std::collections::BTreeMap;
use std::process::ExitCode;
use tinytail_core::ids::{BlockGroup, Pool};
use tinytail_core::policy::Victim;
use tinytail_core::policy::view::View;
use tinytail_core::techniques::VictimPolicy;
use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::{run, run_with_policies};
use tinytail_simulator::spec::{RunError, Spec};

/// The block groups of each pool in turn.
#[derive(Debug, Default)]
struct RoundRobin {
    /// For each pool, the number from which on it looks next.
    next: BTreeMap<Pool, u32>,
}

impl RoundRobin {
    fn next_of(&mut self, pool: Pool, groups: impl Iterator<Item = BlockGroup>) -> Option<BlockGroup> {
        let next = self.next.entry(pool).or_default();
        let chosen = groups.min_by_key(|group| (group.0 < *next, group.0))?;
        *next = chosen.0 + 1;
        Some(chosen)
    }
}

impl Victim for RoundRobin {
    fn search(&mut self, view: View<'_>, pool: Pool, _: bool, found: &mut Vec<BlockGroup>) {
        found.extend(self.next_of(pool, view.tables().collectable(pool)));
    }

    fn narrow(&mut self, _: View<'_>, pool: Pool, candidates: &mut Vec<BlockGroup>) {
        let chosen = self.next_of(pool, candidates.iter().copied());
        candidates.retain(|&group| Some(group) == chosen);
    }
}

/// Base, on a device and under a workload, every read checked.
fn base(device: &str, workload: &str, requests: Option<u64>) -> Spec {
    Spec { requests, verify: true, ..Spec::new(device, "base", workload) }
}

/// Base with its greedy victims, and with victims in turn.
fn compare(spec: &Spec) -> Result<[Outcome; 2], RunError> {
    let greedy = run(spec, &Control::default())?;
    let in_turn = run_with_policies(spec, &Control::default(), |design| {
        design.victim = vec![VictimPolicy::Custom(Box::new(RoundRobin::default()))];
    })?;
    Ok([greedy, in_turn])
}

/// Blocks that were never erased.
fn blocks_left_out(outcome: &Outcome) -> u64 {
    let blocks = &outcome.wear.blocks;
    blocks.erases.iter().zip(&blocks.blocks).filter(|&(&erases, _)| erases == 0).map(|(_, &count)| count).sum()
}

fn show(victims: &str, outcome: &Outcome) {
    let us = |latency: Option<f64>| latency.map_or("-".into(), |us| format!("{us:.0}"));
    println!("{} with {victims}", outcome.design);
    for (kind, latency) in [("reads", &outcome.read), ("writes", &outcome.write)] {
        if latency.count > 0 {
            let (p50, p99, p999) = (us(latency.p50_us), us(latency.p99_us), us(latency.p999_us));
            println!("  {kind}, µs: p50 {p50}, p99 {p99}, p99.9 {p999}, max {}", us(latency.max_us));
        }
    }
    let amplification = outcome.write_amplification.map_or("-".into(), |figure| format!("{figure:.2}"));
    println!("  {} GCs, write amplification {amplification}, {} blocks never erased", outcome.gc_count, blocks_left_out(outcome));
    for (kind, sum) in [("reads", &outcome.attribution.all_reads), ("writes", &outcome.attribution.all_writes)] {
        let all: u64 = sum.ns.values().sum();
        if let Some((cause, ns)) = sum.ns.iter().max_by_key(|&(_, &ns)| ns).filter(|_| all > 0) {
            println!("  {kind} spend most of their time on: {cause} ({} %)", 100 * ns / all);
        }
    }
    println!("  event hash {}", outcome.event_hash);
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let device = arguments.next().unwrap_or_else(|| "ttflash-small".into());
    let workload = arguments.next();
    let requests = workload.is_none().then_some(300_000);
    match compare(&base(&device, workload.as_deref().unwrap_or("hotcold-write"), requests)) {
        Ok(outcomes) => {
            show("greedy victims", &outcomes[0]);
            show("victims in turn", &outcomes[1]);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_copies_more_and_wears_evenly() {
        let [greedy, in_turn] = compare(&base("ttflash-small", "hotcold-write", Some(100_000))).unwrap();
        assert!(in_turn.gc_count > 0 && in_turn.write_amplification > greedy.write_amplification);
        assert!(blocks_left_out(&in_turn) < blocks_left_out(&greedy));
    }

    #[test]
    fn without_gc_it_changes_nothing() {
        let [greedy, in_turn] = compare(&base("ttflash-small", "randread-qd1", Some(10_000))).unwrap();
        assert_eq!((greedy.gc_count, in_turn.gc_count), (0, 0));
        assert_eq!(greedy.event_hash, in_turn.event_hash);
    }
}
