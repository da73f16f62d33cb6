//! Data in memory: one mapping as large as the drive, of which the system gives pages when they are written.

use crate::data::{Data, Sync};
use memmap2::{Advice, MmapMut, MmapOptions, UncheckedAdvice};
use std::io;

/// What the system gives and takes back at a time, at least.
const PAGE_BYTES: u64 = 4096;

/// Data that last as long as the process.
#[derive(Debug)]
pub struct MemoryData {
    map: MmapMut,
}

impl MemoryData {
    /// Zeroes.
    ///
    /// # Errors
    /// Where the system doesn't give so many addresses.
    pub fn new(bytes: u64) -> io::Result<Self> {
        let length = usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // Without reserve: only what is written will be taken.
        let map = MmapOptions::new().len(length).no_reserve_swap().map_anon()?;
        // A huge page for each small write would take 512 times what is written. A system without huge pages refuses the advice.
        let _ = map.advise(Advice::NoHugePage);
        Ok(Self { map })
    }

    /// Gives whole pages back to the system, which gives zeroes in their place.
    #[expect(unsafe_code, reason = "the system call has no safe form, because other mappings could lose data by it")]
    fn release(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        // SAFETY: the mapping is private, anonymous and borrowed exclusively, and any bytes are valid in it.
        unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, offset as usize, bytes as usize) }
    }
}

impl Data for MemoryData {
    fn read(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let offset = offset as usize;
        out.extend_from_slice(&self.map[offset..offset + bytes]);
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = offset as usize;
        self.map[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Space can't be kept: zeroes that were never written take none.
    fn zero(&mut self, offset: u64, bytes: u64, _keep: bool) -> io::Result<()> {
        let end = offset + bytes;
        let (first, last) = (offset.next_multiple_of(PAGE_BYTES).min(end), end / PAGE_BYTES * PAGE_BYTES);
        if first >= last {
            self.map[offset as usize..end as usize].fill(0);
            return Ok(());
        }
        self.map[offset as usize..first as usize].fill(0);
        self.map[last as usize..end as usize].fill(0);
        self.release(first, last - first)
    }

    fn sync(&self) -> Option<Sync> {
        None
    }
}
