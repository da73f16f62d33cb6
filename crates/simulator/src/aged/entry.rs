//! An aged drive as bytes: a header that says what it is, and a snapshot, both with checksums (CRC-32).

use crate::image::{Contents, Summed};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use tinytail_core::drive::Drive;
use tinytail_core::image::{Exhausted, LoadError, Recipe};
use tinytail_core::observe::Observer;
use tinytail_core::precondition::Aged;

const MAGIC: [u8; 16] = *b"\x89tinytail aged\r\n";
const PREFIX_BYTES: usize = 40;
/// What is read at a time.
const READ_BYTES: usize = 1 << 20;

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
    contents_at: u64,
}

#[derive(Debug)]
enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

/// Reads an entry's bytes from a place on. Several may read one entry at the same time.
struct Reader<'a> {
    bytes: &'a Bytes,
    at: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = match self.bytes {
            Bytes::File(file) => file.read_at(into, self.at)?,
            Bytes::Memory(held) => held.get(self.at as usize..).unwrap_or_default().read(into)?,
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl Bytes {
    fn from(&self, at: u64) -> BufReader<Reader<'_>> {
        BufReader::with_capacity(READ_BYTES, Reader { bytes: self, at })
    }
}

impl Entry {
    /// Reads an entry from a file; `None` if it is damaged. `whole` checks its contents too.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn open(file: File, whole: bool) -> io::Result<Option<Self>> {
        let length = file.metadata()?.len();
        Self::read(Bytes::File(file), length, whole)
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
        let bytes = bytes.into_inner();
        let length = bytes.len() as u64;
        Self::read(Bytes::Memory(bytes), length, false)?.ok_or_else(|| io::Error::other("it can't be read back"))
    }

    /// An entry in memory, of a snapshot.
    pub fn of_snapshot(header: Header, snapshot: Vec<u8>) -> Self {
        Self { header, bytes: Bytes::Memory(snapshot), contents_at: 0 }
    }

    fn read(bytes: Bytes, length: u64, whole: bool) -> io::Result<Option<Self>> {
        if length < PREFIX_BYTES as u64 {
            return Ok(None);
        }
        let (mut reader, mut prefix) = (bytes.from(0), [0; PREFIX_BYTES]);
        reader.read_exact(&mut prefix)?;
        let u32_at = |at: usize| u32::from_le_bytes(prefix[at..at + 4].try_into().expect("four bytes"));
        let (header_bytes, contents_sum, sum) = (u32_at(16), u32_at(20), u32_at(36));
        let contents_bytes = u64::from_le_bytes(prefix[24..32].try_into().expect("eight bytes"));
        let contents_at = PREFIX_BYTES as u64 + u64::from(header_bytes);
        if prefix[..16] != MAGIC || contents_at.checked_add(contents_bytes) != Some(length) {
            return Ok(None);
        }
        let mut json = vec![0; header_bytes as usize];
        reader.read_exact(&mut json)?;
        let mut of_header = crc32fast::Hasher::new();
        of_header.update(&prefix[..36]);
        of_header.update(&json);
        if of_header.finalize() != sum {
            return Ok(None);
        }
        if whole {
            let mut of_contents = Summed::new(io::sink());
            io::copy(&mut reader, &mut of_contents)?;
            if of_contents.finish() != (contents_sum, contents_bytes) {
                return Ok(None);
            }
        }
        let header = serde_json::from_slice(&json).ok();
        Ok(header.map(|header| Self { header, bytes, contents_at }))
    }

    /// Gives a drive that was just made, of the same recipe, the aged state.
    ///
    /// # Errors
    /// It is no snapshot of such a drive; the drive is of no use then.
    pub fn restore<O: Observer>(&self, drive: &mut Drive<O>, seed: u64) -> Result<Aged, String> {
        if let Bytes::Memory(held) = &self.bytes {
            let mut source = &held[self.contents_at as usize..];
            return match drive.restore(seed, &self.header.aged, &mut source) {
                Ok(()) if source.is_empty() => Ok(self.header.aged.clone()),
                Ok(()) => Err("it holds more than the drive".into()),
                Err(LoadError::Source(Exhausted)) => Err("it holds less than the drive".into()),
                Err(LoadError::Faulty(what)) => Err(what),
            };
        }
        let mut source = Contents(self.bytes.from(self.contents_at));
        match drive.restore(seed, &self.header.aged, &mut source) {
            Ok(()) if matches!(source.0.read(&mut [0]), Ok(0)) => Ok(self.header.aged.clone()),
            Ok(()) => Err("it holds more than the drive".into()),
            Err(LoadError::Source(error)) => Err(format!("it holds less than the drive ({error})")),
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
