//! How often things happened in a drive.

/// How often things happened since the counters were last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events handled.
    pub events: u64,
    /// Pages programmed for the host.
    pub host_pages: u64,
    /// Pages programmed by GC.
    pub gc_pages: u64,
    /// Pages of the host that were programmed in another plane than the copy before.
    pub host_pages_elsewhere: u64,
    /// Pages programmed with nothing, so that all planes of a die stay at one offset.
    pub padded_pages: u64,
    /// Of them those that were padded for programs of GCs.
    pub padded_for_gc: u64,
    /// Programs that should have taken all planes of their die, some of which had no erased page to pad.
    pub programs_short: u64,
    /// Pages that GC programmed in another plane.
    pub gc_pages_elsewhere: u64,
    /// Pages that died after GC had read them.
    pub gc_pages_died: u64,
    /// GCs completed.
    pub gcs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Of them those that are opened before others that were erased earlier.
    pub blocks_out_of_turn: u64,
    /// Time from the moment a GC held what it must to the end of its last page, over all GCs.
    pub gc_copy_ns: u64,
    /// Time from the moment a GC was started to the end of its erase, over all GCs.
    pub gc_ns: u64,
    /// The longest of these.
    pub gc_ns_max: u64,
    /// The longest time from the start of a GC to its end, also of those that found nothing to free and do not count as GCs.
    pub gc_turn_ns_max: u64,
    /// GCs that the gate put off.
    pub gate_waits: u64,
    /// Time from the moment the gate put a GC off to its start, over all GCs.
    pub gate_wait_ns: u64,
    /// The longest of these.
    pub gate_wait_ns_max: u64,
    /// Urgent GCs that passed a shut gate.
    pub gate_passed_urgently: u64,
    /// Holds given up between two pages.
    pub preemptions: u64,
    /// Choices by the order policy that were not the oldest candidate.
    pub overtakes: u64,
    /// Operations that joined another in a multi-plane command.
    pub joined: u64,
    /// Of them reads of the host that joined a read of a GC.
    pub joined_gc_reads: u64,
    /// Of them programs of the host that joined a program of a GC.
    pub joined_gc_programs: u64,
    /// Array time of both, in planes other than the GC's.
    pub joined_gc_ns: u64,
    /// Those of `joined_gc_reads`.
    pub joined_gc_read_ns: u64,
    /// Reads of GCs that the host's could join, by how many reads waited at the die then: two numbers in each, the last has all above.
    pub reads_waiting: [u64; 32],
    /// The most candidates that the first policy of a chain has left to the next.
    pub victim_candidates_max: u64,
    /// Time in which GCs held their plane or die, over all GCs.
    pub gc_held_ns: u64,
    /// Pages skipped so that a program of the host could join one of a GC.
    pub skipped_pages: u64,
    /// Erases and programs cut.
    pub suspensions: u64,
    /// Those of programs among them.
    pub program_suspensions: u64,
    /// Array time forfeited by suspensions.
    pub forfeited_ns: u64,
    /// Cuts of erases in the middle of a step: each is a recovery and a ramp more than the erase would have had.
    pub extra_erase_cycles: u64,
    /// The most of them in one erase.
    pub extra_erase_cycles_max: u64,
    /// By how much later erases ended than if they had not been suspended, counted from their first pulses.
    pub erase_delay_ns: u64,
    /// The longest of these.
    pub erase_delay_ns_max: u64,
    /// Times at which the erases of a die began to make way at boundaries, after they had done so at once.
    pub switches_to_deferred: u64,
    /// Pages flushed from the buffer.
    pub flushed: u64,
    /// Writes merged in the buffer.
    pub merged: u64,
    /// Page reads served by the buffer.
    pub buffer_hits: u64,
    /// Read-modify-writes of parts of pages.
    pub read_modify_writes: u64,
    /// Page reads of unmapped pages.
    pub unmapped_reads: u64,
    /// Trims.
    pub trims: u64,
    /// Pages that trims took out of the map.
    pub trimmed_pages: u64,
    /// Pages that trims dropped from the buffer, or from writes that waited for space in it, before they were on their way to
    /// the flash.
    pub trimmed_buffered: u64,
    /// Pages of which trims cover a part, which leaves them as they are.
    pub trimmed_partly: u64,
    /// Pages programmed in vain, because they were given up on their way.
    pub void_programs: u64,
    /// Programs that had to wait for an erased page.
    pub starved: u64,
    /// Parity pages programmed.
    pub parity_pages: u64,
    /// Stripes flushed with all their pages, none of whose planes was in GC.
    pub stripes_full: u64,
    /// Stripes flushed with all their pages, some of whose planes were in GC.
    pub stripes_full_beside_gc: u64,
    /// Stripes flushed with some of their pages, to planes of which none was in GC.
    pub stripes_partial: u64,
    /// Stripes flushed with some of their pages, to planes of which some were in GC.
    pub stripes_partial_beside_gc: u64,
    /// Old pages read to compute new parity.
    pub parity_reads: u64,
    /// New parities for which the form that reads more was taken because of a GC.
    pub parity_forms_changed: u64,
    /// New parities for which a page behind a GC was regenerated.
    pub parity_regenerations: u64,
    /// Programs that waited in RAM until the GC of their plane had ended.
    pub pinned_pages: u64,
    /// The most programs that waited so at once.
    pub pinned_pages_max: u64,
    /// Pages of host reads that were regenerated from the rest of their stripe to go around a GC.
    pub reconstructed_pages: u64,
    /// Pages read in addition for that.
    pub reconstruction_reads: u64,
    /// Reconstructions begun for reads that had waited already when a GC began.
    pub reconstructed_late: u64,
    /// Reads of reconstructions that a GC met, and the page behind the former GC was read instead.
    pub reconstructions_turned: u64,
    /// Page reads that waited for a GC by decision.
    pub read_waits: u64,
    /// Page reads that waited for a GC because another page of their stripe was behind one as well.
    pub reads_beyond_parity: u64,
    /// GCs that started beside another of their group.
    pub gcs_beside_others: u64,
    /// Bits that the ECC corrected.
    pub corrected_bits: u64,
    /// Pages of host reads that it could not correct.
    pub uncorrectable_reads: u64,
    /// Those of them that were regenerated from their stripes.
    pub uncorrectable_regenerated: u64,
    /// Those of them that were lost: there was no stripe, or another page of it could not be corrected either.
    pub uncorrectable_lost: u64,
    /// Pages read to regenerate them.
    pub regeneration_reads: u64,
    /// Times at which such a page waited for a GC. Counted only where the read plan asks about GCs.
    pub regeneration_waits: u64,
    /// Reads for other purposes that it could not correct, those that scrubbing begins with apart.
    pub uncorrectable_elsewhere: u64,
    /// Reconstructions around a GC in which a page could not be corrected.
    pub reconstructions_beyond_ecc: u64,
    /// The most consecutive copybacks of a page that did not pass the ECC.
    pub copybacks_max: u64,
    /// Pages that were scrubbed.
    pub scrubbed_pages: u64,
    /// Scrubbed pages that could not be corrected.
    pub uncorrectable_scrubbed: u64,
    /// Those of them that were regenerated from their stripes.
    pub scrub_regenerated: u64,
    /// Scrubbed pages that were written anew.
    pub scrub_rewrites: u64,
    /// Stripes that were shifted round the channels of their group.
    pub stripes_shifted: u64,
    /// Stripes that migrated to another group.
    pub stripes_migrated: u64,
    /// Pages programmed for that.
    pub levelled_pages: u64,
    /// Stripes that moved to another place than the best, for which there was no room.
    pub moves_elsewhere: u64,
    /// Moves that took so long that they did not come behind everything else any more.
    pub moves_hurried: u64,
    /// Stripes that were to move and found no room: not in the table of moved stripes for the best place.
    pub moves_refused: u64,
    /// Stripes that were to move and found no room: not in the planes of the best place.
    pub moves_without_room: u64,
    /// The most stripes in that table at a time.
    pub moved_stripes_max: u64,
    /// Pages that waited for a die that could take them, of the host and of GC. Counted, like all that follows up to the requests,
    /// only where pages have no place before they are programmed.
    pub placed_after_wait: u64,
    /// Pages programmed at other write points than the first two of their planes, where write points are chosen.
    pub pages_spread: u64,
    /// Pages of the host that were programmed to pages of the fastest class.
    pub fast_pages_host: u64,
    /// Pages of GC that were.
    pub fast_pages_gc: u64,
    /// Pages of the host, critical ones apart, for which a fast page or a slow one was wished.
    pub host_wishes: u64,
    /// Those of them that got a page of the fastest or of the slowest class.
    pub host_wishes_met: u64,
    /// The same of GC.
    pub gc_wishes: u64,
    /// Those of them that got such a page.
    pub gc_wishes_met: u64,
    /// Pages of critical writes.
    pub critical_pages: u64,
    /// Those of them that got a page of the fastest class.
    pub critical_pages_fast: u64,
    /// Pages that GC read in idle time beyond its threshold, to bring write points to rest.
    pub moves_for_rest: u64,
    /// Requests that took longer than their deadline, where they have one.
    pub deadlines_missed: u64,
    /// Completed requests.
    pub completed: u64,
    /// Completed flash operations that the host waited for, at once or in the end.
    pub host_operations: u64,
}

impl Counters {
    /// So many reads or one less waited at a GC's die when it read a page, in all but the given share of cases; at most 63.
    /// `None` where the host's reads could join none.
    pub fn reads_waiting_quantile(&self, share: f64) -> Option<u64> {
        let all: u64 = self.reads_waiting.iter().sum();
        let mut left = (all as f64 * share) as u64;
        for (index, &count) in self.reads_waiting.iter().enumerate().rev() {
            if count > left {
                return Some(2 * index as u64 + 1);
            }
            left -= count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reads_that_waited_are_found_up_to_two() {
        let mut counters = Counters::default();
        assert_eq!(counters.reads_waiting_quantile(0.01), None);
        (counters.reads_waiting[0], counters.reads_waiting[3], counters.reads_waiting[31]) = (98, 1, 1);
        assert_eq!([0.0, 0.01, 0.02].map(|share| counters.reads_waiting_quantile(share)), [Some(63), Some(7), Some(1)]);
    }
}
