//! # Round-robin victims: a technique from outside the core
//!
//! **What it does.** Collects the blocks of a plane in turn, by index, skipping those that would free nothing.
//!
//! **Source.** The oldest policy there is: a log that is cleaned from its tail, as in Rosenblum and Ousterhout, SOSP 1991.
//!
//! **Parameters.** None.
//!
//! **Cost.** Victims hold more valid pages than greedy ones, so more is copied. In return every block is erased about as
//! often as any other.
//!
//! Nothing in the core knows of it: it implements the trait of the seam `victim` and goes into a design as
//! `VictimPolicy::Custom`. Run it with `cargo run --release -p tinytail-core --example round_robin_victim`.

use tinytail_core::config::{ConfigError, Document};
use tinytail_core::design::Design;
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::host::{Command, CommandKind};
use tinytail_core::ids::{BlockIx, PlaneIx};
use tinytail_core::observe::Blind;
use tinytail_core::policy::{Victim, VictimPolicy};
use tinytail_core::view::View;

/// The blocks of each plane in turn.
#[derive(Debug, Default)]
struct RoundRobin {
    /// For each plane, the block in it to look at next.
    next: Vec<u32>,
}

impl Victim for RoundRobin {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.next = vec![0; device.geometry.planes() as usize];
        Ok(())
    }

    fn search(&mut self, view: View<'_>, plane: PlaneIx, _: bool, found: &mut Vec<BlockIx>) {
        let g = view.geometry();
        let counts = view.books().victim_counts(plane);
        let start = self.next[plane as usize];
        // Open and erased blocks carry a mark that makes their count larger than a block.
        let frees_something = |block: &u32| (counts[*block as usize] as u32) < g.pages_per_block;
        let in_turn = (start..g.blocks_per_plane).chain(0..start);
        if let Some(block) = in_turn.into_iter().find(frees_something) {
            self.next[plane as usize] = (block + 1) % g.blocks_per_plane;
            found.push(plane * g.blocks_per_plane + block);
        }
    }

    fn narrow(&mut self, view: View<'_>, plane: PlaneIx, candidates: &mut Vec<BlockIx>) {
        let blocks = view.geometry().blocks_per_plane;
        let start = self.next[plane as usize];
        let turn = |block: &BlockIx| (block % blocks + blocks - start) % blocks;
        if let Some(chosen) = candidates.iter().copied().min_by_key(turn) {
            self.next[plane as usize] = (chosen + 1) % blocks;
            candidates.retain(|&block| block == chosen);
        }
    }
}

/// What a run did.
#[derive(Debug)]
struct Figures {
    gcs: u64,
    pages_copied: u64,
    /// Blocks that were never erased.
    blocks_left_out: usize,
    event_hash: u64,
}

/// Spreads consecutive numbers over all of 64 bits.
fn scatter(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ mixed >> 32
}

/// Runs Base on the small TTFLASH drive with the given victim policy: 4 KB requests at queue depth 32, four in five of them to
/// a fifth of the data.
fn run(victim: VictimPolicy, kind: CommandKind, requests: u64) -> Figures {
    let document = |name, text| Document::parse(name, text).expect("a file that comes with tinytail");
    let device = document("ttflash-small", include_str!("../devices/ttflash-small.toml"));
    let device = Device::from_document(&device).expect("a device that comes with tinytail");
    let base = document("base", include_str!("../designs/base.toml"));
    let mut design = Design::compose("base", &[&base]).expect("a design that comes with tinytail");
    design.victim = vec![victim];

    let mut drive = Drive::new(&device, design, true, Blind).expect("parameters that fit the device");
    drive.age(1, &[], |_, _| true);
    drive.wake();
    drive.reset_counters();
    let blocks = device.geometry.planes() * device.geometry.blocks_per_plane;
    let erases = |drive: &Drive<Blind>| -> Vec<u32> { (0..blocks).map(|block| drive.view().books().erase_count(block)).collect() };
    let before = erases(&drive);

    let pages = u64::from(device.mapped_pages());
    let sectors = device.geometry.sectors_per_page();
    let mut completions = Vec::new();
    let mut submitted = 0;
    loop {
        while submitted < requests && drive.outstanding() < 32 {
            let range = if scatter(submitted ^ 0x5eed) % 5 < 4 { pages / 5 } else { pages };
            let page = scatter(submitted) % range;
            let command = Command { kind, sector: page * u64::from(sectors), sectors, critical: false };
            drive.submit(drive.now(), command).expect("an address on the drive");
            submitted += 1;
        }
        if drive.outstanding() == 0 {
            break;
        }
        assert!(drive.step(), "requests are outstanding and nothing happens: {}", drive.explain_standstill());
        drive.take_completions(&mut completions);
        completions.clear();
    }
    assert_eq!(drive.mismatch(), None, "every read returned what was written last");
    drive.audit().expect("every invariant holds");
    let blocks_left_out = erases(&drive).iter().zip(&before).filter(|(after, before)| after == before).count();
    let counters = drive.counters();
    Figures { gcs: counters.gcs, pages_copied: counters.gc_pages, blocks_left_out, event_hash: drive.event_hash() }
}

fn greedy() -> VictimPolicy {
    VictimPolicy::Greedy(tinytail_core::policy::victim::greedy::Greedy {})
}

fn round_robin() -> VictimPolicy {
    VictimPolicy::Custom(Box::new(RoundRobin::default()))
}

fn main() {
    println!("{:<12}{:>8}{:>14}{:>20}{:>18}", "victim", "GCs", "pages copied", "blocks left out", "event hash");
    let show = |name: &str, figures: &Figures| {
        let Figures { gcs, pages_copied, blocks_left_out, event_hash } = figures;
        println!("{name:<12}{gcs:>8}{pages_copied:>14}{blocks_left_out:>20}{event_hash:>18x}");
    };
    let greedy = run(greedy(), CommandKind::Write, 300_000);
    let round_robin = run(round_robin(), CommandKind::Write, 300_000);
    show("greedy", &greedy);
    show("round robin", &round_robin);
    assert!(round_robin.pages_copied > greedy.pages_copied, "victims that are not the emptiest are copied at a price");
    assert!(round_robin.blocks_left_out < greedy.blocks_left_out, "which buys even wear");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_copies_more_and_wears_evenly() {
        let greedy = run(greedy(), CommandKind::Write, 100_000);
        let round_robin = run(round_robin(), CommandKind::Write, 100_000);
        assert!(round_robin.gcs > 0 && round_robin.pages_copied > greedy.pages_copied, "{greedy:?} {round_robin:?}");
        assert!(round_robin.blocks_left_out < greedy.blocks_left_out, "{greedy:?} {round_robin:?}");
    }

    #[test]
    fn without_gc_it_changes_nothing() {
        let greedy = run(greedy(), CommandKind::Read, 10_000);
        let round_robin = run(round_robin(), CommandKind::Read, 10_000);
        assert_eq!((greedy.gcs, round_robin.gcs), (0, 0));
        assert_eq!(greedy.event_hash, round_robin.event_hash);
    }
}
