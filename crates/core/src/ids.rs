//! Indices of logical and physical pages and of the drive's parts.

/// A logical page number.
pub type Lpn = u32;
/// A physical page number: `block * pages_per_block + page`, with blocks numbered over the whole drive.
pub type Ppn = u32;
/// A block, numbered over the whole drive: `plane * blocks_per_plane + block`.
pub type BlockIx = u32;
/// A plane, numbered over the whole drive: `die * planes_per_die + plane`.
pub type PlaneIx = u32;
/// A pool, numbered over the whole drive: planes that are collected together, each of which has a block in every one of the
/// pool's block groups. Today a pool is one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pool(pub u32);
/// A block group, numbered over the whole drive: a block of each plane of a pool. They are chosen as a victim, moved and erased
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct BlockGroup(pub u32);
/// A die, numbered over the whole drive: `(channel * chips + chip) * dies_per_chip + die`.
pub type DieIx = u32;
/// A channel.
pub type ChannelIx = u32;

/// No page, no block, no operation.
pub const NONE: u32 = u32::MAX;

impl Pool {
    /// Its number, for lists of pools.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl BlockGroup {
    /// Its number, for lists of block groups.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
