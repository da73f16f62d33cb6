//! What a host asks of the drive.

use crate::units::Ns;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// Return the latest acknowledged data.
    Read,
    /// Replace data.
    Write,
}

/// One host command. Addresses are in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Read or write.
    pub kind: CommandKind,
    /// First sector.
    pub sector: u64,
    /// Number of sectors, at least one.
    pub sectors: u32,
}

/// A command and the time at which the host issues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the host issues it. Ignored in closed loop, where a command is issued when another completes.
    pub at: Ns,
    /// The command.
    pub command: Command,
}
