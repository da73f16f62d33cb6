//! An aged drive as bytes: a header that says what it is, and a snapshot, both with checksums (CRC-32).

use crate::image::{Contents, Summed};
use memmap2::{Mmap, MmapOptions};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use tinytail_core::drive::Drive;
use tinytail_core::image::{LoadError, Recipe};
use tinytail_core::observe::Observer;
use tinytail_core::precondition::Aged;

const MAGIC: [u8; 16] = *b"\x89tinytail aged\r\n";
const PREFIX_BYTES: usize = 40;

/// What an entry says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// A digest of the engine that made it.
    pub engine: String,
    /// The device that it was made for.
    pub device: String,
    /// The design that it was made for.
    pub design: String,
    /// When it was made, in seconds since 1970.
    pub made_unix_s: u64,
    /// Everything that decides the state, but seed and footprint.
    pub recipe: Recipe,
    /// Seed of the ageing.
    pub seed: u64,
    /// Pages of the workload that are mapped beyond the live ones.
    pub footprint_pages: u64,
    /// What ageing did.
    pub aged: Aged,
}

/// An aged drive, from which others start.
#[derive(Debug)]
pub struct Entry {
    /// What it says of itself.
    pub header: Header,
    bytes: Bytes,
    contents: Range<usize>,
}

#[derive(Debug)]
enum Bytes {
    /// A file.
    Mapped(Mmap),
    /// Memory.
    Held(Vec<u8>),
}

impl Entry {
    /// Reads an entry from a file; `None` if it is damaged. `whole` checks its contents too.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn map(file: &File, whole: bool) -> io::Result<Option<Self>> {
        if file.metadata()?.len() < PREFIX_BYTES as u64 {
            return Ok(None);
        }
        let mut options = MmapOptions::new();
        if whole {
            options.populate();
        }
        // SAFETY: the file is one of the cache's. It is written under another name and not changed after that, only removed,
        // which leaves the mapping as it is.
        #[expect(unsafe_code, reason = "a file is mapped")]
        let map = unsafe { options.map(file) }?;
        Ok(Self::read(Bytes::Mapped(map), whole))
    }

    /// An entry in memory.
    ///
    /// # Errors
    /// There is not enough of it.
    pub fn hold<O: Observer>(drive: &Drive<O>, header: &Header, bytes_about: u64) -> io::Result<Self> {
        let mut bytes = Vec::new();
        bytes.try_reserve(bytes_about as usize).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut bytes = io::Cursor::new(bytes);
        write(drive, header, &mut bytes)?;
        Self::read(Bytes::Held(bytes.into_inner()), false).ok_or_else(|| io::Error::other("it can't be read back"))
    }

    fn read(bytes: Bytes, whole: bool) -> Option<Self> {
        let all: &[u8] = match &bytes {
            Bytes::Mapped(map) => map,
            Bytes::Held(held) => held,
        };
        let (prefix, rest) = all.split_at_checked(PREFIX_BYTES)?;
        let u32_at = |at: usize| u32::from_le_bytes(prefix[at..at + 4].try_into().expect("four bytes"));
        let contents_bytes = usize::try_from(u64::from_le_bytes(prefix[24..32].try_into().expect("eight bytes"))).ok()?;
        let (json, contents) = rest.split_at_checked(u32_at(16) as usize)?;
        let mut sum = crc32fast::Hasher::new();
        sum.update(&prefix[..36]);
        sum.update(json);
        let is_whole = prefix[..16] == MAGIC
            && sum.finalize() == u32_at(36)
            && contents.len() == contents_bytes
            && (!whole || crc32fast::hash(contents) == u32_at(20));
        if !is_whole {
            return None;
        }
        let header = serde_json::from_slice(json).ok()?;
        let contents = all.len() - contents.len()..all.len();
        Some(Self { header, bytes, contents })
    }

    /// Gives a drive that was just made, of the same recipe, the aged state.
    ///
    /// # Errors
    /// It is no snapshot of such a drive; the drive is of no use then.
    pub fn restore<O: Observer>(&self, drive: &mut Drive<O>, seed: u64) -> Result<Aged, String> {
        let all: &[u8] = match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Held(held) => held,
        };
        let mut source = &all[self.contents.clone()];
        match drive.restore(seed, &self.header.aged, &mut source) {
            Ok(()) if source.is_empty() => Ok(self.header.aged.clone()),
            Ok(()) => Err("it holds more than the drive".into()),
            Err(LoadError::Source(_)) => Err("it holds less than the drive".into()),
            Err(LoadError::Faulty(what)) => Err(what),
        }
    }
}

/// Writes a drive that has aged, and done nothing else.
///
/// # Errors
/// What keeps the bytes from being written.
pub fn write<O: Observer, W: Write + Seek>(drive: &Drive<O>, header: &Header, mut out: W) -> io::Result<()> {
    let json = serde_json::to_vec(header)?;
    out.write_all(&[0; PREFIX_BYTES])?;
    out.write_all(&json)?;
    let mut contents = Contents(Summed::new(&mut out));
    drive.snapshot(&mut contents)?;
    let (sum, bytes) = contents.0.finish();
    let mut prefix = Vec::with_capacity(PREFIX_BYTES);
    prefix.extend(MAGIC);
    prefix.extend((json.len() as u32).to_le_bytes());
    prefix.extend(sum.to_le_bytes());
    prefix.extend(bytes.to_le_bytes());
    prefix.extend([0; 4]);
    let mut header_sum = crc32fast::Hasher::new();
    header_sum.update(&prefix);
    header_sum.update(&json);
    prefix.extend(header_sum.finalize().to_le_bytes());
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&prefix)?;
    out.flush()
}
