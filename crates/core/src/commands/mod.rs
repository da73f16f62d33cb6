//! What a host asks of the drive, while the drive does it, and what is said of it then.

pub(crate) mod completion;
pub(crate) mod request;

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
