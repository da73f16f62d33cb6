//! # Victims that match the queue
//!
//! **What it does.** Of the candidates it keeps those with the most valid pages at offsets at which reads wait in sibling planes of
//! the die when the GC begins: so many reads can join the GC's. Of each sibling plane a page of the candidate takes one read, and
//! each read counts once for a candidate. Behind `greedy` it never makes a GC move more pages. Where no read waits, all candidates
//! stay.
//!
//! **Source.** I/O-parallelized GC, section 4.3 and algorithm 3 (GC-VIC). As printed, a read that is "used" for one candidate is
//! not counted for the next; here each candidate is counted anew.
//!
//! **Parameters.** `candidates_max` (default 10): so many candidates are looked at, those that were erased least and, among these,
//! those with the lowest index; at least 1. The paper saw 10 at most. At the head of the chain it looks at the blocks with the
//! fewest valid pages. Needs `gc_par` in `[pairing]`.
//!
//! **Cost.** A few microseconds of the controller in the paper, none here.

use crate::policy::prelude::*;

/// The most pages that waiting reads can join.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueMatch {
    #[serde(default = "ten")]
    candidates_max: u32,
    /// The offsets of the reads that wait in each sibling plane, each offset once.
    #[serde(skip)]
    offsets: Vec<Vec<u32>>,
}

fn ten() -> u32 {
    10
}

impl QueueMatch {
    /// Looks at so many candidates.
    pub fn new(candidates_max: u32) -> Self {
        Self { candidates_max, offsets: Vec::new() }
    }

    /// Collects where reads wait in the sibling planes. Returns whether any do.
    fn look(&mut self, view: View<'_>, pool: Pool) -> bool {
        let (tables, die) = (view.tables(), view.geometry().die_of(view.tables().first_plane(pool)));
        let siblings = view.planes_of(die).filter(|&sibling| tables.pool_of(sibling) != pool);
        self.offsets.iter_mut().for_each(Vec::clear);
        for (index, sibling) in siblings.enumerate() {
            if self.offsets.len() == index {
                self.offsets.push(Vec::new());
            }
            let offsets = &mut self.offsets[index];
            offsets.extend(view.waiting_reads(sibling));
            offsets.sort_unstable();
            offsets.dedup();
        }
        self.offsets.iter().any(|offsets| !offsets.is_empty())
    }

    fn matches(&self, view: View<'_>, group: BlockGroup) -> usize {
        let tables = view.tables();
        let is_valid = |offset: u32| tables.blocks_of(group).any(|block| tables.is_valid_at(block, offset));
        self.offsets.iter().flatten().filter(|&&offset| is_valid(offset)).count()
    }
}

impl Victim for QueueMatch {
    fn prepare(&mut self, _: &Device) -> Result<(), ConfigError> {
        if self.candidates_max == 0 {
            return Err(Fault::new("victim", "chain", "has a `candidates_max` of 0 for \"queue_match\"").allowed("1 or more").into());
        }
        Ok(())
    }

    fn narrow(&mut self, view: View<'_>, pool: Pool, candidates: &mut Vec<BlockGroup>) {
        if !self.look(view, pool) {
            return;
        }
        if candidates.len() > self.candidates_max as usize {
            candidates.sort_unstable_by_key(|&group| (view.tables().wear_of(group), group));
            candidates.truncate(self.candidates_max as usize);
            candidates.sort_unstable();
        }
        let most = candidates.iter().map(|&group| self.matches(view, group)).max();
        candidates.retain(|&group| Some(self.matches(view, group)) == most);
    }

    fn search(&mut self, view: View<'_>, pool: Pool, _: bool, found: &mut Vec<BlockGroup>) {
        view.tables().fewest_valid(pool, false, found);
        if found.len() > 1 {
            self.narrow(view, pool, found);
        }
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        if !with.pairing_traits.with_gc {
            let found = format!(
                "\"queue_match\" finds partners for operations of GCs, and [pairing] `policy` = \"{}\" makes none of them",
                with.pairing
            );
            faults.push(Fault::new("victim", "chain", found).with("pairing", "policy").allowed("\"gc_par\""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::op::{Class, Op, OpKind, Owner};
    use crate::ftl::{Claimant, Tables};
    use crate::observe::TrafficClass;
    use crate::testkit::tiny_device;
    use crate::testkit::{Parts, kept};

    /// Two planes with three closed blocks each, in which the even logical pages are plane 0's. Of plane 0's blocks some offsets are
    /// stale; reads of plane 1 wait for pages at some offsets.
    fn state(stale: [&[u32]; 3], reads: &[u32]) -> Parts {
        let mut device = tiny_device();
        (device.geometry.channels, device.geometry.planes_per_die) = (1, 2);
        let tables = Tables::new(&device.geometry, device.logical_pages(), 1, 1, false);
        let mut state = Parts::new(&device, tables);
        for index in 0..12 {
            for plane in 0..2 {
                let ppn = state.ftl.tables.take(plane, 0, Claimant::Host).unwrap();
                state.ftl.tables.commit_write(2 * index + plane, ppn);
            }
        }
        for (block, offsets) in (0..).zip(stale) {
            for offset in offsets {
                state.ftl.tables.unmap(2 * (4 * block + offset));
            }
        }
        let mut next = crate::ids::NONE;
        for &offset in reads.iter().rev() {
            let mut op = Op::new(OpKind::Read, Class::HostRead, TrafficClass::HostRead, Owner::Request(0), 2 * offset + 1, 1);
            op.next = next;
            next = state.flash.new_op(op);
        }
        state.flash.planes_for_test()[1].lines[Class::HostRead as usize].head = next;
        state
    }

    fn chosen(state: &Parts, candidates_max: u32) -> Vec<u32> {
        kept(&mut QueueMatch::new(candidates_max), state, &[0, 1, 2])
    }

    #[test]
    fn the_block_with_the_most_pages_at_offsets_of_waiting_reads_is_kept() {
        let state = state([&[1, 2], &[0, 1], &[0, 3]], &[1, 2, 2, 2]);
        // Block 1 has page 2, block 2 pages 1 and 2; three reads of page 2 find one page each time.
        assert_eq!(chosen(&state, 10), [2]);
        assert_eq!(chosen(&state, 2), [1], "block 2 is not looked at");
    }

    #[test]
    fn reads_that_one_candidate_would_serve_count_for_the_next_as_well() {
        let state = state([&[0, 1], &[1, 3], &[0, 1]], &[2, 3]);
        // If block 0 used both reads up, nothing would be left for its equal.
        assert_eq!(chosen(&state, 10), [0, 2]);
    }

    #[test]
    fn without_waiting_reads_all_candidates_stay_and_none_is_looked_at_in_vain() {
        assert_eq!(chosen(&state([&[0], &[1], &[2]], &[]), 1), [0, 1, 2]);
    }

    #[test]
    fn at_the_head_of_the_chain_it_never_moves_more_than_greedy() {
        let state = state([&[0, 1, 2], &[0, 1, 3], &[3]], &[0, 1, 2]);
        let mut found = Vec::new();
        QueueMatch::new(10).search(state.view(), Pool(0), true, &mut found);
        assert_eq!(found, [BlockGroup(1)], "block 2 has all three offsets, and two pages more to move");
    }

    #[test]
    fn a_cap_of_no_candidates_is_refused() {
        assert!(
            QueueMatch::new(0).prepare(&tiny_device()).unwrap_err().to_string().contains("[victim] `chain` has a `candidates_max` of 0")
        );
        QueueMatch::new(1).prepare(&tiny_device()).unwrap();
    }
}
