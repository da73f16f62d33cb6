//! What a recorded request does.

use tinytail_core::commands::CommandKind;

/// What a recorded request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Return data.
    Read,
    /// Replace data.
    Write,
    /// Give data up.
    Trim,
    /// Make data durable.
    Flush,
}

impl Op {
    /// The drive's command for it. What the drive has no command for is counted and left out.
    pub(super) fn command(self) -> Option<CommandKind> {
        match self {
            Self::Read => Some(CommandKind::Read),
            Self::Write => Some(CommandKind::Write),
            Self::Trim => Some(CommandKind::Trim),
            Self::Flush => None,
        }
    }
}

impl From<CommandKind> for Op {
    fn from(kind: CommandKind) -> Self {
        match kind {
            CommandKind::Read => Self::Read,
            CommandKind::Write => Self::Write,
            CommandKind::Trim => Self::Trim,
        }
    }
}
