//! What a host asks of the drive.

pub(crate) mod completion;
pub(crate) mod job;
mod jobs;
mod link;
pub(crate) mod path;
pub(crate) mod queue;
pub(crate) mod request;
mod requests;
mod served;
pub(crate) mod slot_waits;
pub(crate) mod state;
pub(crate) mod tiers;
mod trace;
mod trim;
pub(crate) mod write_buffer;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// Return the latest acknowledged data.
    Read,
    /// Replace data.
    Write,
    /// Give data up: whole pages read as zeroes from then on.
    Trim,
}

/// One host command. Addresses are in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub kind: CommandKind,
    /// First sector.
    pub sector: u64,
    /// Number of sectors, at least one.
    pub sectors: u32,
    /// Of a write, that the host waits for it: a hint to give it a fast page, which drives with late-bound allocation heed.
    pub critical: bool,
}
