//! Images: aged drives as files, from which runs start.
//!
//! A file is a prefix of 40 bytes (what it is, version, lengths and checksums), a header in JSON, and what
//! [`Drive::save`] gives, compressed with Zstandard. Both checksums are CRC-32: that of the header covers the prefix before
//! it too, that of the contents the compressed bytes. Nothing is believed before it is checked, and nothing is allocated
//! by what a file says: the drive that an image is loaded into has been made from the device's own data.

use crate::catalog;
use crate::settings::Settings;
use crate::spec::RunError;
use crc32fast::Hasher;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use tinytail_config::ConfigError;
use tinytail_core::design::{Adjustment, Design};
use tinytail_core::device::{Device, StartingState};
use tinytail_core::drive::Drive;
use tinytail_core::image::{Layout, LoadError, Sink, Source};
use tinytail_core::observe::Observer;
use tinytail_core::precondition::Aged;
use tinytail_workload::{open_file, read_error};
use zstd::stream::read::Decoder;

mod create;

pub use create::{CreateSpec, create};

/// The version of the format. Raised with every change of what [`Drive::save`] gives, or of the header.
pub const VERSION: u32 = 2;

const MAGIC: [u8; 16] = *b"\x89tinytail image\n";
const PREFIX_BYTES: u64 = 40;
/// The longest header.
const HEADER_BYTES_MAX: u32 = 1 << 20;
/// What the decompressor may keep, as a power of two: eight times what images are written with.
const WINDOW_LOG_MAX: u32 = 24;

/// What an image says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the program that made it.
    pub tinytail: String,
    /// The device that it was made for.
    pub device: String,
    /// The design that it was made with.
    pub design: String,
    /// The workload whose pages are mapped, if one was named.
    pub workload: Option<String>,
    /// Seed of the ageing.
    pub seed: u64,
    /// The starting state that was asked for.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub state: StartingState,
    /// What ageing did.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub aged: Aged,
    /// What device and design of a run must agree in.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub layout: Layout,
}

/// An image that can be loaded once. Its header has been read and checked.
#[derive(Debug)]
pub struct Image<R = File> {
    /// What it says of itself.
    pub header: Header,
    name: String,
    contents: R,
    contents_bytes: u64,
    contents_sum: u32,
}

impl Image {
    /// Opens an image and checks its header.
    ///
    /// # Errors
    /// A file that can't be read, is no image, is of another version, is cut off, too long or damaged.
    pub fn open(path: &str) -> Result<Self, ConfigError> {
        let refuse = |error: io::Error| ConfigError::new(format!("{path}: {error}"));
        let file = open_file(Path::new(path), "an image").map_err(refuse)?;
        let bytes = file.metadata().map_err(refuse)?.len();
        Self::read(path, file, bytes)
    }
}

impl<R: Read> Image<R> {
    /// Reads and checks the header of an image that is `bytes` long. `name` is what messages call it.
    ///
    /// # Errors
    /// As for `open`.
    pub fn read(name: &str, mut reader: R, bytes: u64) -> Result<Self, ConfigError> {
        let refuse = |what: String| ConfigError::new(format!("{name}: {what}"));
        let unread = |error: io::Error| refuse(read_error(error).to_string());
        let mut prefix = Vec::new();
        reader.by_ref().take(PREFIX_BYTES).read_to_end(&mut prefix).map_err(unread)?;
        let known = prefix.len().min(MAGIC.len());
        if prefix.is_empty() || prefix[..known] != MAGIC[..known] {
            return Err(refuse("this is no tinytail image".into()));
        }
        let cut_off = |bytes: u64, of: &str| refuse(format!("the image is cut off: it has {bytes} bytes{of}"));
        if (prefix.len() as u64) < PREFIX_BYTES {
            return Err(cut_off(prefix.len() as u64, ""));
        }
        let u32_at = |at: usize| u32::from_le_bytes(prefix[at..at + 4].try_into().expect("four bytes"));
        let (version, header_bytes, contents_sum, header_sum) = (u32_at(16), u32_at(20), u32_at(32), u32_at(36));
        let contents_bytes = u64::from_le_bytes(prefix[24..32].try_into().expect("eight bytes"));
        if version != VERSION {
            return Err(refuse(format!(
                "an image of version {version}; this tinytail reads version {VERSION}. Make it anew with `tinytail image create`"
            )));
        }
        let damaged = |what: &str| refuse(format!("the image is damaged: {what}"));
        if header_bytes > HEADER_BYTES_MAX {
            return Err(damaged("its header is longer than any"));
        }
        let mut header = Vec::new();
        reader.by_ref().take(header_bytes.into()).read_to_end(&mut header).map_err(unread)?;
        let all = (PREFIX_BYTES + u64::from(header_bytes)).saturating_add(contents_bytes);
        if header.len() < header_bytes as usize {
            return Err(cut_off(bytes, ""));
        }
        let mut sum = Hasher::new();
        sum.update(&prefix[..36]);
        sum.update(&header);
        if sum.finalize() != header_sum {
            return Err(damaged("the checksum of its header does not fit"));
        }
        if bytes < all {
            return Err(cut_off(bytes, &format!(" of {all}")));
        }
        if bytes > all {
            return Err(refuse(format!("the image is {} bytes longer than the {all} that it should have", bytes - all)));
        }
        let header = serde_json::from_slice(&header).map_err(|error| damaged(&format!("its header can't be read: {error}")))?;
        Ok(Self { header, name: name.into(), contents: reader, contents_bytes, contents_sum })
    }

    /// Refuses a device or a design that the image was not made for.
    ///
    /// # Errors
    /// Each value in which they differ.
    pub fn check_fits(&self, device: &Device, design: &Design) -> Result<(), ConfigError> {
        let differences = self.header.layout.differences(&Layout::of(device, design));
        if differences.is_empty() {
            return Ok(());
        }
        let differences: Vec<String> =
            differences.iter().map(|(key, image, here)| format!("{key} is {image} in the image and {here} here")).collect();
        Err(ConfigError::new(format!(
            "{}: the image, made with device {} and design {}, does not fit device {} and design {}: {}",
            self.name,
            self.header.device,
            self.header.design,
            device.name,
            design.name,
            differences.join("; ")
        )))
    }

    /// Loads the image into a drive that was just made, of a layout that it fits. Returns what its ageing did.
    ///
    /// # Errors
    /// Contents that are damaged or those of no drive.
    pub fn load<O: Observer>(self, drive: &mut Drive<O>, seed: u64) -> Result<Aged, ConfigError> {
        self.load_and_keep(drive, seed, None)
    }

    /// As `load`; what the drive takes is put into `kept` too, without compression.
    ///
    /// # Errors
    /// As for `load`.
    pub(crate) fn load_and_keep<O: Observer>(
        self,
        drive: &mut Drive<O>,
        seed: u64,
        kept: Option<&mut Vec<u8>>,
    ) -> Result<Aged, ConfigError> {
        let refuse = |what: String| ConfigError::new(format!("{}: {what}", self.name));
        let contents = Summed::new(self.contents.take(self.contents_bytes));
        let mut source = Kept { source: Decoder::new(contents).map_err(|error| refuse(error.to_string()))?.single_frame(), kept };
        source.source.window_log_max(WINDOW_LOG_MAX).map_err(|error| refuse(error.to_string()))?;
        let loaded = drive.load(seed, &self.header.aged, &mut source);
        let at_end = matches!(source.source.read(&mut [0]), Ok(0));
        // A damaged image fails anywhere; the checksum tells that it is damaged.
        let mut contents = source.source.finish().into_inner();
        io::copy(&mut contents, &mut io::sink()).map_err(|error| refuse(error.to_string()))?;
        contents.check(self.contents_bytes, self.contents_sum).map_err(&refuse)?;
        match loaded {
            Ok(()) if at_end => Ok(self.header.aged),
            Ok(()) => Err(refuse("the image holds more than a drive of its layout".into())),
            Err(LoadError::Source(error)) => Err(refuse(format!("the image holds less than a drive of its layout ({error})"))),
            Err(LoadError::Faulty(what)) => Err(refuse(format!("the image holds no drive: {what}"))),
        }
    }

    /// What tells its contents from those of other images.
    pub(crate) fn identity(&self) -> String {
        let header = serde_json::to_string(&self.header).expect("numbers and words");
        format!("{} {} {header}", self.contents_bytes, self.contents_sum)
    }

    /// Checks the contents against their checksum, without loading them.
    fn verify(self) -> Result<(), ConfigError> {
        let refuse = |what: String| ConfigError::new(format!("{}: {what}", self.name));
        let mut contents = Summed::new(self.contents.take(self.contents_bytes));
        io::copy(&mut BufReader::with_capacity(1 << 20, &mut contents), &mut io::sink()).map_err(|error| refuse(error.to_string()))?;
        contents.check(self.contents_bytes, self.contents_sum).map_err(refuse)
    }
}

/// What there is to know of an image.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[schemars(rename = "ImageInfo")]
pub struct Info {
    /// Its file.
    pub path: String,
    /// The size of the file.
    pub bytes: u64,
    /// The version of its format.
    pub image_version: u32,
    /// What it says of itself.
    #[serde(flatten)]
    pub header: Header,
    /// User CPU time of ageing and of writing the image, in seconds; only when it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<CpuSeconds>,
    /// What follows the drive, and is not what the files of device and design say; only when it is made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adjusted: Vec<Adjustment>,
}

/// What making an image took, in seconds of user CPU time.
#[derive(Debug, Clone, Copy, Serialize, schemars::JsonSchema)]
pub struct CpuSeconds {
    /// Ageing.
    pub ageing: f64,
    /// Compressing and writing.
    pub writing: f64,
}

/// What there is to know of an image whose header and contents are undamaged.
///
/// # Errors
/// As for `Image::open`; damaged contents.
pub fn info(path: &str) -> Result<Info, ConfigError> {
    let image = Image::open(path)?;
    let header = image.header.clone();
    let bytes = image.contents.metadata().map_err(|error| ConfigError::new(format!("{path}: {error}")))?.len();
    image.verify()?;
    Ok(Info { path: path.into(), bytes, image_version: VERSION, header, cpu_seconds: None, adjusted: Vec::new() })
}

/// Whether a design on a device can start from an image.
///
/// # Errors
/// As for `Image::open`; a faulty device or design.
pub fn fits(path: &str, device: &str, design: &str, settings: &Settings) -> Result<bool, ConfigError> {
    let image = Image::open(path)?;
    let mut device = catalog::device_with(device, settings)?;
    device.state = image.header.state.clone();
    let (fitted, _) = catalog::fitted(design, &mut device, settings)?;
    Ok(image.header.layout.differences(&Layout::of(&device, &fitted)).is_empty())
}

/// Writes an image of a drive that has aged, and done nothing else.
///
/// # Errors
/// What keeps the bytes from being written.
///
/// # Panics
/// The drive has served requests.
pub fn write<O: Observer, W: Write + io::Seek>(drive: &Drive<O>, header: &Header, mut out: W) -> io::Result<()> {
    let json = serde_json::to_vec(header)?;
    out.write_all(&[0; PREFIX_BYTES as usize])?;
    out.write_all(&json)?;
    let contents = Summed::new(&mut out);
    let mut sink = Contents(zstd::stream::write::Encoder::new(contents, 1)?);
    drive.save(&mut sink)?;
    let (sum, bytes) = sink.0.finish()?.finish();
    let mut prefix = Vec::with_capacity(PREFIX_BYTES as usize);
    prefix.extend(MAGIC);
    prefix.extend(VERSION.to_le_bytes());
    prefix.extend((json.len() as u32).to_le_bytes());
    prefix.extend(bytes.to_le_bytes());
    prefix.extend(sum.to_le_bytes());
    let mut header_sum = Hasher::new();
    header_sum.update(&prefix);
    header_sum.update(&json);
    prefix.extend(header_sum.finalize().to_le_bytes());
    out.seek(io::SeekFrom::Start(0))?;
    out.write_all(&prefix)?;
    out.flush()
}

/// Contents, as the core writes and reads them.
pub(crate) struct Contents<T>(pub T);

impl<W: Write> Sink for Contents<W> {
    type Error = io::Error;
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}

impl<R: Read> Source for Contents<R> {
    type Error = io::Error;
    fn take(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact(bytes)
    }
}

/// Contents of which a copy is made as the core reads them.
struct Kept<'a, R> {
    source: R,
    kept: Option<&'a mut Vec<u8>>,
}

impl<R: Read> Source for Kept<'_, R> {
    type Error = io::Error;
    fn take(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.source.read_exact(bytes)?;
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(bytes);
        }
        Ok(())
    }
}

/// A stream whose bytes are counted and summed as they pass.
pub(crate) struct Summed<T> {
    inner: T,
    sum: Hasher,
    bytes: u64,
}

impl<T> Summed<T> {
    pub fn new(inner: T) -> Self {
        Self { inner, sum: Hasher::new(), bytes: 0 }
    }

    /// The checksum of what has passed, and its bytes.
    pub fn finish(self) -> (u32, u64) {
        (self.sum.finalize(), self.bytes)
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    fn check(self, bytes: u64, sum: u32) -> Result<(), String> {
        if self.bytes != bytes {
            return Err(format!("the image is cut off: {} of the {bytes} bytes of its contents could be read", self.bytes));
        }
        if self.sum.finalize() != sum { Err("the image is damaged: the checksum of its contents does not fit".into()) } else { Ok(()) }
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.pass(&bytes[..count]);
        Ok(count)
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.pass(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The place of a file that an image is to replace: what a link points to, or the name itself.
fn destination(path: &str) -> Result<std::path::PathBuf, RunError> {
    let refuse = |why: &str| RunError::Failed(format!("cannot write an image to {path}: {why}"));
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| Path::new(path).to_path_buf());
    if path.is_empty() {
        return Err(refuse("the name is empty"));
    }
    if target.exists() && !target.is_file() {
        return Err(refuse("it is there and no file"));
    }
    Ok(target)
}
