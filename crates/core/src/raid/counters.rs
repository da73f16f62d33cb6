//! What is counted between the host and the translation layer: pages on their way, stripes, bit errors.

use crate::counters::counters;

counters! {
    /// What is counted between the host and the translation layer: pages on their way, stripes, bit errors.
    RaidCounters;

    /// Pages sent to be programmed for the host.
    sent_pages,
    /// Sectors of them that the host had written.
    sent_sectors,
    /// Pages sent to be programmed for the host of which it had written a part.
    partial_pages => "partial pages",
    /// Flushes and writes of a part of a page that read the rest first.
    read_modify_writes => "read-modify-writes",

    // Stripes.
    /// GCs that started while another plane of their plane group was in GC. Under `rotating` these are violations, and a note
    /// says when.
    gcs_overlapping => "gc_gate/*: GCs overlapping another of their group",
    /// Parity pages programmed.
    parity_pages => "rain: parity pages",
    /// Old pages read to compute new parity.
    parity_reads => "rain: old pages read for parity",
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

    // Reads around GCs.
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

    // Moves of stripes.
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
}

impl RaidCounters {
    /// A page is sent to be programmed for the host, which has written so many of its sectors. Returns whether that is a part.
    #[inline]
    pub(super) fn host_page(&mut self, written: u32, sectors: u32) -> bool {
        self.sent_pages += 1;
        self.sent_sectors += u64::from(written);
        self.partial_pages += u64::from(written < sectors);
        written < sectors
    }

    /// A stripe is destaged: a `full` one, or to planes of which some are in GC.
    pub(super) fn destaged(&mut self, full: bool, meets_gc: bool) {
        *match (full, meets_gc) {
            (true, false) => &mut self.stripes_full,
            (true, true) => &mut self.stripes_full_during_gc,
            (false, false) => &mut self.stripes_partial,
            (false, true) => &mut self.stripes_partial_during_gc,
        } += 1;
    }
}
