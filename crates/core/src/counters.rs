//! How often things happened in a drive. A counter is one row of the table below: results, their schema and their page follow.

/// The counters, of one row each: what it counts, its field, and its name in results, if it stands there under `techniques`.
/// A `*` in the name stands for the technique of the interface before it.
macro_rules! counters {
    ($( $(#[doc = $doc:literal])+ $field:ident $(: $type:ty)? $(=> $($name:literal)|+)?, )+) => {
        /// How often things happened since the counters were last reset.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $( $(#[doc = $doc])+ pub $field: counters!(@type $($type)?), )+
        }

        /// Every counter.
        const COUNTERS: &[Counter] = &[
            $( Counter {
                names: &[$($($name),+)?],
                meaning: concat!($($doc),+),
                count: |counters| counters.$field.into(),
            }, )+
        ];
    };
    (@type) => { u64 };
    (@type $type:ty) => { $type };
}

/// What a field of `Counters` counts.
struct Counter {
    names: &'static [&'static str],
    meaning: &'static str,
    count: fn(&Counters) -> u64,
}

/// A counter as results report it.
#[derive(Clone, Copy)]
pub struct Reported {
    /// Its name, in which a `*` stands for the technique of the interface before it.
    pub name: &'static str,
    /// What it counts.
    pub meaning: &'static str,
    count: fn(&Counters) -> u64,
}

impl Reported {
    /// The counters that results report, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        COUNTERS.iter().flat_map(|&Counter { names, meaning, count }| {
            names.iter().map(move |name| Self { name, meaning: meaning.trim_start(), count })
        })
    }

    /// Its name in results. `technique` tells the technique of an interface.
    pub fn named(&self, technique: impl FnOnce(&str) -> String) -> String {
        match self.name.split_once("/*") {
            Some((interface, what)) => format!("{interface}/{}{what}", technique(interface)),
            None => self.name.into(),
        }
    }

    /// What it has counted.
    pub fn count(&self, counters: &Counters) -> u64 {
        (self.count)(counters)
    }
}

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
    /// Events handled.
    events,
    /// Completed requests.
    completed,
    /// Completed flash operations that the host waited for, at once or in the end.
    host_operations,
    /// Pages programmed for the host.
    host_pages,
    /// Pages sent to be programmed for the host.
    sent_pages,
    /// Sectors of them that the host had written.
    sent_sectors,
    /// Blocks erased.
    erases,
    /// Page reads of pages that are not mapped.
    unmapped_reads,

    // Write buffer.
    /// Page reads served by the write buffer.
    buffer_hits => "buffer: read hits",
    /// Writes of pages that were in the write buffer already and merged with them.
    merged => "buffer: merged writes",
    /// Pages flushed from the write buffer.
    flushed => "buffer: flushed pages",
    /// Pages sent to be programmed for the host of which it had written a part.
    partial_pages => "partial pages",
    /// Flushes and writes of a part of a page that read the rest first.
    read_modify_writes => "read-modify-writes",
    /// Programs that found no erased page and waited for one.
    space_blocked => "writes that waited for space",
    /// Pages of critical writes.
    critical_pages => "critical writes: pages",
    /// Pages of critical writes that got a page which is programmed fastest.
    critical_pages_fast => "critical writes: fast pages",

    // GC.
    /// GCs completed.
    gcs => "gc_trigger/*" | "victim/*",
    /// Pages moved by the GCs that completed.
    gc_moved,
    /// Pages programmed by GC.
    gc_pages => "gc: copied pages",
    /// Pages that were overwritten while GC copied them.
    gc_copies_wasted => "gc: wasted copies",
    /// Pages that GC programmed in another plane than their own.
    gc_pages_cross_plane => "gc: pages moved to another plane",
    /// Pages programmed at other write points than the first two of their planes, where write points are chosen one by one.
    pages_spread => "gc: pages at write points beyond the second",
    /// The most blocks that the first policy of a chain left to the next.
    victim_candidates_max => "victim/*: most candidates",
    /// GCs that the gate put off.
    gate_waits => "gc_gate/*: put off",
    /// Urgent GCs that passed a closed gate.
    gate_passed_urgently => "gc_gate/*: passed urgently",
    /// GCs that started while another plane of their plane group was in GC. Under `rotating` these are violations, and a note
    /// says when.
    gcs_overlapping => "gc_gate/*: GCs overlapping another of their group",
    /// GCs that began at an open block at whose page offset a sibling plane has one too, so that programs can join from the first on.
    gcs_level => "pairing/*: GCs that began level with a sibling plane",
    /// Cycles of GC that began, each of which goes on for several blocks until enough is erased; none where each block is asked
    /// for anew.
    gc_cycles => "gc_trigger/*: cycles",
    /// Times at which a GC gave up its locks between two pages.
    preemptions => "gc_lock/*: yielded",
    /// Time from the moment a GC had locked what it must to the end of its last page, over all GCs.
    gc_copy_ns,
    /// Time from the moment a GC was started to the end of its erase, over all GCs.
    gc_ns,
    /// The longest of these.
    gc_ns_max,
    /// The longest time from the start of a GC to its end, also of those that found nothing to free and do not count as GCs.
    gc_turn_ns_max,
    /// Time from the moment the gate put a GC off to its start, over all GCs.
    gate_wait_ns,
    /// The longest of these.
    gate_wait_ns_max,
    /// Time in which GCs locked their plane or die, over all GCs.
    gc_locked_ns,

    // Which operation goes next, and where its page lies.
    /// Choices that were not the operation that had waited longest.
    overtakes => "order/*: overtook",
    /// Requests that took longer than `deadline_us`, where the order has deadlines.
    deadlines_missed => "order/*: deadlines missed",
    /// Pages of the host programmed in another plane than the copy before.
    host_pages_cross_plane => "place/*: left their plane",
    /// Blocks that were opened before others that were erased earlier, because they were erased less often.
    blocks_out_of_turn => "place/*: blocks opened out of turn",
    /// Pages, of the host and of GC, that waited for a die that could take them. Counted only where pages have no place before
    /// they are programmed.
    placed_after_wait => "place/*: waited for a die",
    /// Pages of the host, critical ones apart, for which a fast page or a slow one was preferred.
    host_preferences => "page_choice/*: host's preferences",
    /// Pages of the host that got one of the fastest pages or of the slowest, as preferred.
    host_preferences_met => "page_choice/*: host's preferences met",
    /// Pages of GC for which a fast page or a slow one was preferred.
    gc_preferences => "page_choice/*: GC's preferences",
    /// Pages of GC that got one of the fastest pages or of the slowest, as preferred.
    gc_preferences_met => "page_choice/*: GC's preferences met",
    /// Pages of the host on pages that are programmed fastest.
    fast_pages_host => "page_choice/*: host's fast pages",
    /// Pages of GC on pages that are programmed fastest.
    fast_pages_gc => "page_choice/*: GC's fast pages",
    /// Pages that GC read in idle time beyond its threshold, to return write points to fast pages.
    return_to_fast_moves => "page_choice/*: return-to-fast moves",

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
    /// Pages programmed with nothing, so that all planes of a die stay at one offset.
    padded_pages => "pairing/*: padded pages",
    /// Pages programmed with nothing alongside programs of GCs, so that all planes of a die stay at one offset.
    padded_for_gc => "pairing/*: pages padded for GC",
    /// Programs padded before their time, because writes waited for room and nothing else of the buffer was on its way.
    padded_for_room => "pairing/*: programs padded to make room",
    /// Programs that should have taken all planes of their die, some of which had no erased page to pad.
    programs_short => "pairing/*: programs without all planes",
    /// Pages programmed with nothing, so that a program of the host could join one of a GC. They count as padded too.
    skipped_pages => "pairing/*: pages skipped",

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

    // Stripes with parity.
    /// Parity pages programmed.
    parity_pages => "rain: parity pages",
    /// Old pages read to compute new parity.
    parity_reads => "rain: old pages read for parity",
    /// Pages of reads regenerated from the rest of their stripe to go around a GC.
    reconstructed_pages => "read_plan/*: reconstructed pages",
    /// Pages read in addition to regenerate pages behind a GC.
    reconstruction_reads => "read_plan/*: pages read for that",
    /// Pages regenerated for reads that already waited when the GC began.
    reconstructed_after_wait => "read_plan/*: reconstructed after a wait",
    /// Reads of reconstructions that a GC met, in whose place the page that was missing was read.
    reconstructions_redirected => "read_plan/*: redirected to the other page",
    /// Page reads that waited for a GC because the rule said so.
    read_waits => "read_plan/*: waits decided",
    /// Page reads that waited for a GC because another page of their stripe was behind one too.
    reads_beyond_parity => "read_plan/*: waits beyond parity",
    /// Stripes that were destaged with all their pages, to planes of which none was in GC.
    stripes_full => "destage/*: full stripes",
    /// Stripes that were destaged with all their pages, to planes of which some were in GC.
    stripes_full_during_gc => "destage/*: full stripes during a GC",
    /// Stripes that were destaged with some of their pages, to planes of which none was in GC.
    stripes_partial => "destage/*: partial stripes",
    /// Stripes that were destaged with some of their pages, to planes of which some were in GC.
    stripes_partial_during_gc => "destage/*: partial stripes during a GC",
    /// Pages that waited in RAM until the GC of their plane had ended.
    deferred_pages => "destage/*: pages that waited for a GC",
    /// The most pages that waited in RAM for GCs at once.
    deferred_pages_max => "destage/*: most that waited at once",
    /// New parities for which other old pages were read than the fewest, because of a GC.
    parity_forms_changed => "destage/*: parity computed another way for a GC",
    /// New parities for which an old page behind a GC was regenerated.
    parity_regenerations => "destage/*: old pages regenerated for parity",
    /// Stripes that were shifted round the channels of their group for the sake of wear.
    stripes_shifted => "wear_level/*: shifted stripes",
    /// Stripes that migrated to another group for the sake of wear.
    stripes_migrated => "wear_level/*: migrated stripes",
    /// Pages programmed to move stripes for the sake of wear.
    levelled_pages => "wear_level/*: pages programmed",
    /// The most stripes that stood in the stripe table at a time.
    moved_stripes_max => "wear_level/*: most stripes in the table",
    /// Stripes that moved to another place than the best, because that had no room.
    moves_to_other_places => "wear_level/*: moves elsewhere for want of room",
    /// Moves whose patience ended, so that they no longer came behind everything else.
    moves_hurried => "wear_level/*: moves hurried",
    /// Stripes that were to move and found no room in the stripe table for the best place.
    moves_refused => "wear_level/*: moves refused by the full table",
    /// Stripes that were to move and found no room in the planes of the best place.
    moves_without_room => "wear_level/*: moves refused by full planes",

    // Bit errors, where the device has them.
    /// Bits that the ECC corrected.
    corrected_bits => "ecc: corrected bits",
    /// Pages of host reads that the ECC could not correct.
    uncorrectable_reads => "ecc: host's pages beyond it",
    /// Pages of host reads that the ECC could not correct and that were regenerated from their stripes.
    uncorrectable_regenerated => "ecc: host's pages beyond it and regenerated",
    /// Pages of host reads that were lost: there was no stripe, or another page of it could not be corrected either.
    uncorrectable_lost => "ecc: host's pages beyond it and lost",
    /// Pages of stripes read to regenerate pages of host reads that the ECC could not correct.
    regeneration_reads => "ecc: pages read to regenerate host's pages",
    /// Times at which a page that regenerates another was behind a GC. Counted only where the read plan asks about GCs.
    regeneration_waits => "ecc: waits for a GC to regenerate host's pages",
    /// Pages read for other purposes that the ECC could not correct, those that scrubbing begins with apart.
    uncorrectable_other => "ecc: other pages beyond it",
    /// Reconstructions around a GC in which a page could not be corrected. They return all the same.
    reconstructions_beyond_ecc => "ecc: reconstructions around GCs that met a page beyond it",
    /// The most consecutive copybacks of a page, none of which passes the ECC.
    copybacks_max => "ecc: most copybacks of a page in a row",
    /// Pages that were scrubbed.
    scrubbed_pages => "scrub/*: pages read",
    /// Scrubbed pages that could not be corrected.
    uncorrectable_scrubbed => "scrub/*: pages beyond the ECC",
    /// Scrubbed pages that could not be corrected and were regenerated from their stripes.
    scrub_regenerated => "scrub/*: pages regenerated",
    /// Scrubbed pages that were written anew.
    scrub_rewrites => "scrub/*: pages written anew",

    // Trims.
    /// Trims. They are in no latency.
    trims => "trim: commands",
    /// Mapped pages that trims gave up.
    trimmed_pages => "trim: pages unmapped",
    /// Pages that trims gave up in the write buffer, or in writes that waited for space there.
    trimmed_buffered => "trim: pages dropped from the buffer",
    /// Pages of which a trim covers a part only, which stay as they are.
    trimmed_partly => "trim: partial pages ignored",
    /// Pages that trims gave up on their way to the flash. They count as programmed for the host.
    void_programs => "trim: pages programmed in vain",
}

impl Counters {
    /// A page is sent to be programmed for the host, which has written so many of its sectors. Returns whether that is a part.
    #[inline]
    pub(crate) fn host_page(&mut self, written: u32, sectors: u32) -> bool {
        self.sent_pages += 1;
        self.sent_sectors += u64::from(written);
        self.partial_pages += u64::from(written < sectors);
        written < sectors
    }
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

    #[test]
    fn a_counter_is_named_after_the_technique_that_it_counts() {
        let counters = Counters { gcs: 7, ..Counters::default() };
        let reported = |name: &str| Reported::all().find(|counter| counter.name == name).unwrap();
        let victim = reported("victim/*");
        assert_eq!((victim.named(|interface| format!("{interface}'s")), victim.count(&counters)), ("victim/victim's".into(), 7));
        assert_eq!(reported("trim: commands").named(|_| unreachable!()), "trim: commands");
        assert_eq!(reported("gc_gate/*: put off").named(|_| "free".into()), "gc_gate/free: put off");
    }
}
