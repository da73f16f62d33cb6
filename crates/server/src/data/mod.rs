//! The data of the emulated drive. The model decides when a request completes, and never looks at them.

mod file;
mod memory;
mod syncing;

pub use file::FileData;
pub use memory::MemoryData;
pub use syncing::Syncing;

use std::io;
use std::sync::Arc;

/// Makes what has been written safe from a loss of power; called from a thread of its own.
pub type Sync = Arc<dyn Fn() -> io::Result<()> + Send + std::marker::Sync>;

/// Bytes under addresses. All ranges that it is given lie within its size.
pub trait Data {
    /// Appends `bytes` bytes from `offset` on to `out`.
    ///
    /// # Errors
    /// What keeps them from being read; `out` is then as it was.
    fn read(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> io::Result<()>;

    /// Replaces the bytes from `offset` on.
    ///
    /// # Errors
    /// What keeps them from being written.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Replaces `bytes` bytes from `offset` on by zeroes. Their space is given up, unless it is to be kept.
    ///
    /// # Errors
    /// What keeps them from being written.
    fn zero(&mut self, offset: u64, bytes: u64, keep: bool) -> io::Result<()>;

    /// How what was written is made safe; nothing where it never is.
    fn sync(&self) -> Option<Sync>;
}
