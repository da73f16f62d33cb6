//! What the flash counts.

use crate::counters::counters;

/// How many reads waited at the die of a GC when it read a page: two numbers in each place, the last has all above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadsWaiting(pub [u64; 32]);

impl ReadsWaiting {
    /// So many reads or one less waited, in all but the given share of cases; at most 63. `None` where no case was counted.
    fn quantile(&self, share: f64) -> Option<u64> {
        let all: u64 = self.0.iter().sum();
        let mut left = (all as f64 * share) as u64;
        for (index, &count) in self.0.iter().enumerate().rev() {
            if count > left {
                return Some(2 * index as u64 + 1);
            }
            left -= count;
        }
        None
    }
}

impl From<ReadsWaiting> for u64 {
    /// What results report as one number.
    fn from(waiting: ReadsWaiting) -> Self {
        waiting.quantile(0.01).unwrap_or(0)
    }
}

counters! {
    /// What the flash counts.
    FlashCounters;

    /// Events handled.
    events,
    /// Choices that were not the operation that had waited longest.
    overtakes => "order/*: overtook",
    /// Programs that found no erased page and waited for one.
    space_blocked => "writes that waited for space",

    // Multi-plane commands.
    /// Operations that joined another in a multi-plane command.
    paired => "pairing/*",
    /// Reads of the host that joined a read of a GC in a multi-plane command.
    paired_gc_reads => "pairing/*: reads paired with GC's",
    /// Programs of the host that joined a program of a GC in a multi-plane command.
    paired_gc_programs => "pairing/*: programs paired with GC's",
    /// Array time, in nanoseconds, of the reads and programs that joined a GC's, in planes that would have been idle.
    paired_gc_ns => "pairing/*: ns of array time paired with GC's",
    /// Array time, in nanoseconds, of the reads among them.
    paired_gc_read_ns => "pairing/*: of them ns of reads",
    /// At 99 of 100 reads of GCs no more reads than this waited at the die, to within 1 and at most 63. Counted where the host's
    /// reads may join GC's.
    reads_waiting: ReadsWaiting => "pairing/*: reads that waited at 99 % of GC's",
    /// Reads that were served by another of their page.
    merged_reads => "pairing/*: reads merged with another of their page",
    /// Erases that joined another in a multi-plane command.
    joined_erases => "gc_gate/*: erases that joined another",

    // Suspension.
    /// Erases and programs cut, each time.
    suspensions => "suspend/*",
    /// Programs cut, each time.
    program_suspensions => "suspend/*: programs",
    /// Array time, in nanoseconds, that was cut off and had to be repeated.
    discarded_ns => "suspend/*: ns of progress discarded",
    /// Cuts of erases in the middle of a step: each strains the cells by a recovery and a ramp more.
    extra_erase_cycles => "suspend/*: extra ramps and recoveries of erases",
    /// The most cuts in the middle of steps of one erase.
    extra_erase_cycles_max => "suspend/*: most extra ramps and recoveries of an erase",
    /// Time from first step to end, in nanoseconds, beyond that of an erase that is left alone, over all erases.
    erase_delay_ns => "suspend/*: ns by which erases were delayed",
    /// The longest time from first step to end, in nanoseconds, beyond that of an erase that is left alone.
    erase_delay_ns_max => "suspend/*: most ns by which an erase was delayed",
    /// Times at which a die's erases began to make way at the ends of steps, after they had done so at once.
    switches_to_deferred => "suspend/*: switches to deferred",
    /// Programs that ran beside a suspended erase.
    programs_beside => "suspend/*: programs beside a suspended erase",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reads_that_waited_are_found_up_to_two() {
        let mut waiting = ReadsWaiting::default();
        assert_eq!(waiting.quantile(0.01), None);
        (waiting.0[0], waiting.0[3], waiting.0[31]) = (98, 1, 1);
        assert_eq!([0.0, 0.01, 0.02].map(|share| waiting.quantile(share)), [Some(63), Some(7), Some(1)]);
    }
}
