//! The NBD protocol, as bytes alone: fixed newstyle negotiation, then requests and replies. No socket is known here.
//!
//! Source: the protocol's own specification, doc/proto.md of the NetworkBlockDevice project. All numbers are big-endian.

pub mod handshake;
pub mod transmission;

use crate::limits::{NEGOTIATION_NS, PATIENCE_NS};
use thiserror::Error;
use tinytail_core::units::SECOND;

/// The largest payload of a read or a write, in bytes: what the specification has every client expect.
pub const PAYLOAD_BYTES_MAX: u32 = 32 << 20;

/// The export that clients see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// Its size in bytes.
    pub bytes: u64,
    /// What reads and writes are best aligned to, in bytes; a power of two.
    pub preferred_bytes: u32,
}

/// What a client did that ends its connection: nothing that it sends from then on can be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Violation {
    /// Flags of the client that no server knows.
    #[error("the client's handshake flags are {0:#x}; known are the bits of 0x3")]
    ClientFlags(u32),
    /// An option that does not begin as options do.
    #[error("an option begins with {0:#018x} instead of IHAVEOPT")]
    OptionMagic(u64),
    /// An export that is not there, asked for in a way that allows no answer.
    #[error("the client asked for an export by a name that is not there")]
    UnknownExport,
    /// A negotiation that takes too long.
    #[error("the client did not take the export within {} s, or others came and there was no room", NEGOTIATION_NS / SECOND)]
    Hesitates,
    /// Memory that others wait for, for too long.
    #[error("a part of a write of the client, or replies that it had not read, kept memory for {} s while others waited for it", PATIENCE_NS / SECOND)]
    Blocks,
    /// A request that does not begin as requests do.
    #[error("a request begins with {0:#010x} instead of 0x25609513")]
    RequestMagic(u32),
}

/// The 4 bytes at `at`; to be called only where they are there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The 8 bytes at `at`; to be called only where they are there.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
