//! What a trace file is packed in: gzip, zstd, bzip2 or xz, and inside of it, or without it, a tar archive of one file.

use std::fmt;
use std::io::{self, BufReader, Chain, Cursor, Read};

use serde::Serialize;

use crate::reading::{TraceContent, WatchedFile};
use crate::text;

/// How a file is compressed, found from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    None,
    /// Zstandard.
    Zstd,
    /// Gzip.
    Gzip,
    /// Bzip2.
    Bzip2,
    /// Xz.
    Xz,
}

impl Compression {
    /// How it is written: `none`, `zstd`, `gzip`, `bzip2` or `xz`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }
}

/// So many bytes tell how a file is compressed.
const MAGIC_BYTES: usize = 10;

/// The most memory for unpacking xz, in KiB. `xz -9` needs 65 MiB; without the limit, the size stated in a damaged file would hold.
const XZ_KIB_MAX: u32 = 512 * 1024;

/// A block of a tar archive: a header takes one, and every file ends at the end of one.
const BLOCK_BYTES: usize = 512;

/// Extended headers are small; a larger one is not read, so that none fills the memory.
const EXTENSION_BYTES_MAX: u64 = 64 * 1024;

type Replayed<R> = Chain<Cursor<Vec<u8>>, R>;

/// The content of a trace file, unpacked as it is read.
pub(crate) struct Content {
    compression: Compression,
    inner: Inner,
}

enum Inner {
    Plain(Replayed<Decompressed>),
    Tar(TarFile),
}

enum Decompressed {
    None(Replayed<WatchedFile>),
    Zstd(zstd::stream::read::Decoder<'static, BufReader<Replayed<WatchedFile>>>),
    Gzip(flate2::bufread::MultiGzDecoder<BufReader<Replayed<WatchedFile>>>),
    Bzip2(bzip2::bufread::MultiBzDecoder<BufReader<Replayed<WatchedFile>>>),
    Xz(Box<lzma_rust2::XzReader<BufReader<Replayed<WatchedFile>>>>),
}

/// Whether a file that begins so is of Zstandard: a frame of it, or one to be skipped, with which `pzstd` begins.
fn is_zstd(head: &[u8]) -> bool {
    matches!(head, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Whether a file that begins so is of bzip2: its mark with the size of its blocks, and that of a block or of the end.
fn is_bzip2(head: &[u8]) -> bool {
    const BLOCK: [u8; 6] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    const END: [u8; 6] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', mark @ ..] if *mark == BLOCK || *mark == END)
}

/// Reads up to `bytes` bytes and puts them back in front.
fn replayed<R: Read>(mut reader: R, bytes: usize) -> io::Result<(Vec<u8>, Replayed<R>)> {
    let mut head = Vec::new();
    (&mut reader).take(bytes as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(reader)))
}

impl Content {
    /// Opens a file and finds out what it is packed in.
    pub(crate) fn open(content: &TraceContent) -> io::Result<Self> {
        let (head, file) = replayed(content.open()?, MAGIC_BYTES)?;
        let buffered = |file| BufReader::with_capacity(1 << 16, file);
        let (compression, decompressed) = if is_zstd(&head) {
            (Compression::Zstd, Decompressed::Zstd(zstd::stream::read::Decoder::with_buffer(buffered(file))?))
        } else if head.starts_with(&[0x1f, 0x8b]) {
            (Compression::Gzip, Decompressed::Gzip(flate2::bufread::MultiGzDecoder::new(buffered(file))))
        } else if is_bzip2(&head) {
            (Compression::Bzip2, Decompressed::Bzip2(bzip2::bufread::MultiBzDecoder::new(buffered(file))))
        } else if head.starts_with(b"\xfd7zXZ\0") {
            let reader = lzma_rust2::XzReader::new_mem_limit(buffered(file), true, XZ_KIB_MAX);
            (Compression::Xz, Decompressed::Xz(Box::new(reader)))
        } else {
            (Compression::None, Decompressed::None(file))
        };
        let packed = |error: io::Error| {
            if compression == Compression::None || content.own_error(&error).is_some() { error } else { unpacking(compression, &error) }
        };
        let (head, decompressed) = replayed(decompressed, BLOCK_BYTES).map_err(packed)?;
        let inner = match header(&head) {
            Some(_) => Inner::Tar(TarFile::open(decompressed).map_err(packed)?),
            None => Inner::Plain(decompressed),
        };
        Ok(Self { compression, inner })
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// The file of the archive, if the content is in one.
    pub(crate) fn member(&self) -> Option<&str> {
        match &self.inner {
            Inner::Plain(_) => None,
            Inner::Tar(tar) => Some(&tar.name),
        }
    }

    /// What is missing of an archive, after reading it to its end.
    pub(crate) fn cut(&self) -> Option<String> {
        let Inner::Tar(tar) = &self.inner else { return None };
        (tar.cut_bytes > 0).then(|| {
            format!(
                "the archive is cut off: {} of the {} bytes that it states for this file are missing",
                text::grouped(tar.cut_bytes),
                text::grouped(tar.stated_bytes)
            )
        })
    }

    /// What is to be known about the container after reading it to its end.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.compression != Compression::None {
            notes.push(format!("compressed with {}", self.compression.name()));
        }
        if let Inner::Tar(tar) = &self.inner {
            notes.push(format!("in a tar archive, as {}", tar.name));
        }
        notes
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.inner {
            Inner::Plain(reader) => reader.read(buffer),
            Inner::Tar(tar) => tar.read(buffer),
        }
    }
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::None(reader) => reader.read(buffer),
            Self::Zstd(reader) => reader.read(buffer),
            Self::Gzip(reader) => reader.read(buffer),
            Self::Bzip2(reader) => reader.read(buffer),
            Self::Xz(reader) => reader.read(buffer),
        }
    }
}

/// A fault of the archive rather than of reading.
#[derive(Debug)]
pub(crate) struct Unfit(String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

fn unfit(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Unfit(message.into()))
}

fn unpacking(compression: Compression, error: &io::Error) -> io::Error {
    let name = compression.name();
    unfit(if error.kind() == io::ErrorKind::UnexpectedEof {
        format!(
            "the {name} stream is cut off: the file ends before the stream does, within the first {BLOCK_BYTES} bytes of its content; copy or download it again"
        )
    } else {
        format!("the {name} stream is damaged at its beginning ({error})")
    })
}

/// The block as the header of an archive's entry, if it is one.
fn header(block: &[u8]) -> Option<&tar::Header> {
    if block.len() != BLOCK_BYTES || block.iter().all(|byte| *byte == 0) {
        return None;
    }
    let header = tar::Header::from_byte_slice(block);
    // The sum of all bytes, with those of the sum itself counted as spaces.
    let sum: u32 = block.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) }).sum();
    (header.cksum().ok()? == sum).then_some(header)
}

/// What fills the last block of a file of this size.
fn padding(bytes: u64) -> u64 {
    bytes.wrapping_neg() % BLOCK_BYTES as u64
}

/// The one file of a tar archive.
struct TarFile {
    archive: Replayed<Decompressed>,
    name: String,
    stated_bytes: u64,
    left_bytes: u64,
    cut_bytes: u64,
    ended: bool,
}

impl TarFile {
    fn open(archive: Replayed<Decompressed>) -> io::Result<Self> {
        let mut tar = Self { archive, name: String::new(), stated_bytes: 0, left_bytes: 0, cut_bytes: 0, ended: false };
        match tar.next_file()? {
            Some((name, bytes)) => {
                tar.name = name;
                tar.stated_bytes = bytes;
                tar.left_bytes = bytes;
                Ok(tar)
            }
            None => Err(unfit("a tar archive without a file in it; expected one that holds the trace")),
        }
    }

    /// Goes to the next regular file: its name and its size.
    fn next_file(&mut self) -> io::Result<Option<(String, u64)>> {
        let mut stated = None;
        loop {
            let mut block = [0; BLOCK_BYTES];
            if read_whole(&mut self.archive, &mut block)? < BLOCK_BYTES {
                return Ok(None);
            }
            let Some(header) = header(&block) else { return Ok(None) };
            let bytes = header.entry_size()?;
            let kind = header.entry_type();
            if kind.is_file() {
                let name = String::from_utf8_lossy(&header.path_bytes()).into_owned();
                return Ok(Some((name, stated.unwrap_or(bytes))));
            }
            if kind.is_pax_local_extensions() && bytes <= EXTENSION_BYTES_MAX {
                // Sizes beyond the header's field are in an extension.
                let mut extensions = vec![0; bytes as usize];
                read_whole(&mut self.archive, &mut extensions)?;
                let sizes = tar::PaxExtensions::new(&extensions).flatten();
                stated = sizes.filter(|size| size.key() == Ok("size")).find_map(|size| size.value().ok()?.parse().ok());
            } else {
                self.skip(bytes)?;
            }
            self.skip(padding(bytes))?;
        }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        io::copy(&mut (&mut self.archive).take(bytes), &mut io::sink()).map(|_| ())
    }
}

impl Read for TarFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        if self.left_bytes > 0 {
            let most = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(buffer.len());
            let read = self.archive.read(&mut buffer[..most])?;
            self.left_bytes -= read as u64;
            if read > 0 {
                return Ok(read);
            }
            self.cut_bytes = self.left_bytes;
        } else {
            self.skip(padding(self.stated_bytes))?;
            if let Some((name, _)) = self.next_file()? {
                return Err(unfit(format!(
                    "the tar archive holds several files, {} and {name} among them; take the trace out of it, or make an archive of it alone",
                    self.name
                )));
            }
        }
        self.ended = true;
        Ok(0)
    }
}

/// Reads until the buffer is full or the input ends, and returns how much.
pub(crate) fn read_whole(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
