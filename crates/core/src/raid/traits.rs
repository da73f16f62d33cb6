//! What a design makes stripes and scrubbers do.

use crate::policy::answers::AskedAgain;

/// What a design makes stripes and scrubbers do, for as long as the drive is there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RaidTraits {
    /// Reads behind GCs are asked about.
    pub plans_reads: bool,
    /// When they are asked about again.
    pub asked_again: AskedAgain,
    /// Pages that have waited in RAM for a GC leave beside the next stripe of their group.
    pub deferred_join_stripes: bool,
    /// New pages are programmed when their own old copies have been read; parity alone waits for all.
    pub data_before_parity: bool,
    /// Stripes may move for the sake of wear.
    pub levels_wear: bool,
    /// Dies scrub while they are idle.
    pub scrubs: bool,
}
