//! Memory that is written here, and that policies can only read: the same pages, twice in the address space.

use memmap2::{Mmap, MmapMut};
use std::fs::File;
use std::io;

/// Everything begins at a multiple of so many bytes.
pub const ALIGNMENT: usize = 8;

/// Pages with two addresses. A write by the second one ends the process.
#[derive(Debug)]
pub struct Pages {
    written: MmapMut,
    read: Mmap,
}

/// What may lie in such pages: numbers, and structures of numbers and addresses.
///
/// # Safety
/// Any bytes are a value, its alignment is at most `ALIGNMENT`, and it has nothing to drop.
#[allow(unsafe_code, reason = "says what the compiler cannot see")]
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($type:ty),+) => { $(
        // SAFETY: numbers.
        #[allow(unsafe_code, reason = "says what the compiler cannot see")]
        unsafe impl Plain for $type {}
    )+ };
}

plain!(i16, u32, u64, f64, tinytail_core::ids::BlockGroup);

impl Pages {
    /// Pages of zeroes.
    ///
    /// # Errors
    /// The system has no memory for them.
    #[allow(unsafe_code, reason = "maps a file that nobody else knows")]
    pub fn new(bytes: usize) -> io::Result<Self> {
        let file = file()?;
        file.set_len(bytes.max(1) as u64)?;
        // SAFETY: the file has no name, so that nobody else changes its length or its content.
        let (written, read) = unsafe { (MmapMut::map_mut(&file)?, Mmap::map(&file)?) };
        Ok(Self { written, read })
    }

    /// Number of bytes that the pages have, at least the number that was asked for.
    pub fn bytes(&self) -> usize {
        self.written.len()
    }

    /// Values at a place, to be written.
    ///
    /// # Panics
    /// The place is not aligned, or beyond the end.
    #[allow(unsafe_code, reason = "takes bytes for numbers")]
    pub fn write<T: Plain>(&mut self, at: usize, count: usize) -> &mut [T] {
        assert!(align_of::<T>() <= ALIGNMENT && at.is_multiple_of(ALIGNMENT), "{at} is not aligned");
        let bytes = &mut self.written[at..at + count * size_of::<T>()];
        // SAFETY: the bytes are those of so many values, aligned, and any bytes are a value.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), count) }
    }

    /// The address at which others read what was written at a place.
    ///
    /// # Panics
    /// The place is beyond the end.
    pub fn address<T>(&self, at: usize) -> *const T {
        self.read[at..].as_ptr().cast()
    }
}

/// A file in memory, without a name.
#[cfg(target_os = "linux")]
fn file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("tinytail-policy", MemfdFlags::CLOEXEC)?.into())
}

/// A file without a name.
#[cfg(not(target_os = "linux"))]
fn file() -> io::Result<File> {
    tempfile::tempfile()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code, reason = "reads as a policy does")]
    fn what_is_written_is_read_at_another_address() {
        let mut pages = Pages::new(100).unwrap();
        assert!(pages.bytes() >= 100);
        pages.write::<u32>(8, 3).copy_from_slice(&[1, 2, 3]);
        let read = pages.address::<u32>(8);
        assert_ne!(read.addr(), pages.write::<u32>(8, 3).as_ptr().addr());
        // SAFETY: three numbers are there.
        assert_eq!(unsafe { std::slice::from_raw_parts(read, 3) }, [1, 2, 3]);
    }

    #[test]
    #[should_panic(expected = "range end")]
    fn nothing_lies_beyond_the_end() {
        let mut pages = Pages::new(16).unwrap();
        let beyond = pages.bytes();
        pages.write::<u64>(beyond - 8, 2);
    }
}
