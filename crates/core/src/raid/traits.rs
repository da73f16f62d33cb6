//! What a design makes stripes and scrubbers do.

use crate::policy::answers::AskedAgain;

/// What a design makes stripes and scrubbers do, for as long as the drive is there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RaidTraits {
    /// Reads behind GCs are asked about.
    pub plans_reads: bool,
    /// When they are asked about again.
    pub asked_again: AskedAgain,
    /// Stripes may move for the sake of wear.
    pub levels_wear: bool,
    /// Dies scrub while they are idle.
    pub scrubs: bool,
}
