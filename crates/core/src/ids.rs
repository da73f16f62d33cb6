//! Indices of logical and physical pages and of the drive's parts.

/// A logical page number.
pub type Lpn = u32;
/// A physical page number: `block * pages_per_block + page`, with blocks numbered over the whole drive.
pub type Ppn = u32;
/// A block, numbered over the whole drive: `plane * blocks_per_plane + block`.
pub type BlockIx = u32;
/// A plane, numbered over the whole drive: `die * planes_per_die + plane`.
pub type PlaneIx = u32;
/// A die, numbered over the whole drive: `(channel * chips + chip) * dies_per_chip + die`.
pub type DieIx = u32;
/// A channel.
pub type ChannelIx = u32;

/// No page, no block, no operation.
pub const NONE: u32 = u32::MAX;
