//! What a design makes stripes and scrubbers do.

/// What a design makes stripes and scrubbers do, for as long as the drive is there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RaidTraits {
    /// Reads behind GCs are asked about.
    pub plans_reads: bool,
    /// Stripes may move for the sake of wear.
    pub levels_wear: bool,
    /// Dies scrub while they are idle.
    pub scrubs: bool,
}
