//! Data in a sparse file, which one server at a time has open.

use crate::data::{Data, Sync};
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock, fstatfs};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use tinytail_core::units::{MS, SECOND};

/// Zeroes that are written at a time where space can't be given up, or is to be kept.
static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

/// File systems that stamp a change with this machine's clock when it is made: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, and overlays.
const EXACT_FILE_SYSTEMS: [u64; 6] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994, 0x794C_7630];
/// Changes of others are looked for before one of its own that comes so long after the last. The system's stamps are no finer.
pub const OWN_NS: u64 = 20 * MS;
/// In the place of the time of the last change: one is being made.
const CHANGING: i64 = i64::MAX;

/// Data that outlast the process, as far as they were made safe.
#[derive(Debug)]
pub struct FileData {
    kept: Arc<Kept>,
    /// The file system can give space up, or keep it, without writing; found out when it is asked to.
    zeroes: bool,
}

impl FileData {
    /// Opens the file, or makes it, and locks it.
    ///
    /// # Errors
    /// A sentence that names the file: another server has it, it is of another size, or it is no regular file.
    pub fn open(path: &Path, bytes: u64) -> Result<Self, String> {
        let refuse = |what: String| format!("{}: {what}", path.display());
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| refuse(error.to_string()))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(refuse("another process has locked this file of data; one server at a time can use it".into()));
            }
            Err(error) => return Err(refuse(format!("the file can't be locked: {error}"))),
        }
        let metadata = file.metadata().map_err(|error| refuse(error.to_string()))?;
        if !metadata.is_file() {
            return Err(refuse("this is no regular file; expected one that holds a drive's data, or a name for one to be made".into()));
        }
        match metadata.len() {
            0 => {
                let made = file.set_len(bytes).and_then(|()| file.sync_all()).and_then(|()| sync_folder(path));
                made.map_err(|error| refuse(format!("a file of {bytes} bytes can't be made: {error}")))?;
            }
            found if found != bytes => {
                return Err(refuse(format!("this file of data has {found} bytes, and the drive to be served has {bytes}")));
            }
            _ => {}
        }
        // A name stays the same when the process goes elsewhere.
        let path = std::path::absolute(path).map_err(|error| refuse(error.to_string()))?;
        let is_exact = fstatfs(&file).is_ok_and(|system| EXACT_FILE_SYSTEMS.contains(&(system.f_type as u64)));
        // It may have been changed on a machine whose clock is ahead.
        let changed_at = AtomicI64::new(file.metadata().map_or(CHANGING, |metadata| clock_ns().max(changed_ns(&metadata))));
        Ok(Self { kept: Arc::new(Kept { file, path, bytes, is_exact, changed_at, is_foreign: AtomicBool::new(false) }), zeroes: true })
    }

    /// Makes a change.
    fn change<E>(&self, change: impl FnOnce(&File) -> Result<(), E>) -> Result<(), E> {
        let (kept, now) = (&self.kept, clock_ns());
        if now.saturating_sub(kept.changed_at.load(Ordering::Relaxed)) > OWN_NS as i64 && kept.is_changed_by_others() {
            kept.is_foreign.store(true, Ordering::Relaxed);
        }
        kept.changed_at.store(CHANGING, Ordering::SeqCst);
        let result = change(&kept.file);
        // The clock may have been set back meanwhile.
        kept.changed_at.store(clock_ns().max(now), Ordering::SeqCst);
        result
    }
}

fn write_zeroes(file: &File, mut offset: u64, bytes: u64) -> io::Result<()> {
    let end = offset + bytes;
    while offset < end {
        let some = (end - offset).min(ZEROES.len() as u64);
        file.write_all_at(&ZEROES[..some as usize], offset)?;
        offset += some;
    }
    Ok(())
}

/// The file, and what is known of it, so that what others do to it is noticed.
#[derive(Debug)]
struct Kept {
    file: File,
    path: PathBuf,
    bytes: u64,
    /// Its file system tells when it was changed.
    is_exact: bool,
    /// When the server's last change had been made, in ns on the system's clock.
    changed_at: AtomicI64,
    /// Others were found to have changed it.
    is_foreign: AtomicBool,
}

impl Kept {
    /// It was changed after the server's last change. One that is being made can't be told from it.
    fn is_changed_by_others(&self) -> bool {
        // In this order: a change of the server's own that is seen here has begun, or is over, at the second look.
        let found = self.file.metadata().map(|metadata| changed_ns(&metadata));
        self.is_exact && found.is_ok_and(|at| at > self.changed_at.load(Ordering::SeqCst))
    }

    /// Makes sure that what is in the file will be found under its name, whole.
    fn check(&self) -> io::Result<()> {
        let name = self.path.display();
        let lost = |what: String| Err(io::Error::other(format!("{name}: {what}, and data that clients wrote may be lost")));
        let here = self.file.metadata()?;
        if here.nlink() == 0 {
            return lost("the file of data was removed while it was served".into());
        }
        if here.len() != self.bytes {
            return lost(format!("the file of data has {} bytes now instead of {}", here.len(), self.bytes));
        }
        if self.is_foreign.load(Ordering::Relaxed) || self.is_changed_by_others() {
            return lost("another program changed the file of data while it was served".into());
        }
        match self.path.metadata() {
            Ok(there) if (there.dev(), there.ino()) == (here.dev(), here.ino()) => Ok(()),
            Ok(_) => lost("another file has taken the place of the file of data".into()),
            Err(error) => lost(format!("the file of data is not there any more ({error})")),
        }
    }
}

/// The system's clock, by which it stamps changes of files.
fn clock_ns() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * SECOND as i64 + now.tv_nsec
}

fn changed_ns(metadata: &Metadata) -> i64 {
    metadata.mtime() * SECOND as i64 + metadata.mtime_nsec()
}

/// Makes the name of a file that was made safe, too.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    File::open(folder)?.sync_all()
}

impl Data for FileData {
    fn read(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let before = out.len();
        out.resize(before + bytes, 0);
        let result = self.kept.file.read_exact_at(&mut out[before..], offset);
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.change(|file| file.write_all_at(bytes, offset))
    }

    fn zero(&mut self, offset: u64, bytes: u64, keep: bool) -> io::Result<()> {
        if self.zeroes {
            let flags = if keep { FallocateFlags::ZERO_RANGE } else { FallocateFlags::PUNCH_HOLE };
            match self.change(|file| fallocate(file, flags | FallocateFlags::KEEP_SIZE, offset, bytes)) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.zeroes = false,
                result => return result.map_err(Into::into),
            }
        }
        self.change(|file| write_zeroes(file, offset, bytes))
    }

    fn sync(&self) -> Option<Sync> {
        let kept = Arc::clone(&self.kept);
        Some(Arc::new(move || {
            kept.file.sync_data()?;
            kept.check()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::MemoryData;
    use proptest::prelude::*;
    #[test]
    fn one_server_at_a_time_has_a_file_of_the_right_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let mut data = FileData::open(&path, 1 << 20).unwrap();
        data.write(4096, b"kept").unwrap();
        let refused = FileData::open(&path, 1 << 20).unwrap_err();
        assert!(refused.contains("another process has locked") && refused.starts_with(&path.display().to_string()), "{refused}");
        drop(data);
        let refused = FileData::open(&path, 2 << 20).unwrap_err();
        assert!(refused.contains("has 1048576 bytes") && refused.contains("served has 2097152"), "{refused}");
        let mut out = Vec::new();
        FileData::open(&path, 1 << 20).unwrap().read(4096, 4, &mut out).unwrap();
        assert_eq!(out, b"kept");
        assert!(FileData::open(folder.path(), 1).is_err());
        assert!(FileData::open(&folder.path().join("no/data"), 1).unwrap_err().contains("No such file"));
    }

    #[test]
    fn a_file_that_is_removed_replaced_cut_short_or_changed_is_safe_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let other = folder.path().join("other");
        let change = |harm: &dyn Fn(&File)| {
            // The system's stamps are not finer.
            std::thread::sleep(std::time::Duration::from_nanos(2 * OWN_NS));
            harm(&File::options().write(true).open(&path).unwrap());
        };
        let cut = |file: &File| file.set_len(0).and_then(|()| file.set_len(4096)).unwrap();
        let harms: [(&str, &dyn Fn()); 6] = [
            ("another program changed", &|| change(&cut)),
            ("another program changed", &|| change(&|file| file.write_all_at(b"foreign", 1000).unwrap())),
            ("was removed", &|| std::fs::remove_file(&path).unwrap()),
            ("1000 bytes now instead of 4096", &|| File::options().write(true).open(&path).unwrap().set_len(1000).unwrap()),
            ("is not there any more", &|| std::fs::rename(&path, &other).unwrap()),
            ("another file has taken the place", &|| {
                std::fs::rename(&path, &other).unwrap();
                std::fs::write(&path, [0; 4096]).unwrap();
            }),
        ];
        for (what, harm) in harms {
            let mut data = FileData::open(&path, 4096).unwrap();
            data.write(0, b"data").unwrap();
            let sync = data.sync().unwrap();
            sync().unwrap();
            harm();
            if what.contains("changed") {
                if !data.kept.is_exact {
                    continue;
                }
                // What the server does afterwards hides nothing.
                data.write(0, b"more").unwrap();
            }
            let error = sync().unwrap_err().to_string();
            assert!(error.contains(what) && error.starts_with(&path.display().to_string()), "{error}");
            drop(data);
            let _ = std::fs::remove_file(&path);
        }
    }

    #[test]
    fn space_is_given_up_where_the_file_system_can() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let mut data = FileData::open(&path, 64 << 20).unwrap();
        data.write(0, &vec![1; 32 << 20]).unwrap();
        let full = path.metadata().unwrap().blocks();
        data.zero(0, 32 << 20, false).unwrap();
        assert!(!data.zeroes || path.metadata().unwrap().blocks() < full / 4);
        assert_eq!(path.metadata().unwrap().len(), 64 << 20);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Write(u64, u8, usize),
        Zero(u64, u64, bool),
    }

    fn steps(size: u64) -> impl Strategy<Value = Vec<Step>> {
        let range = move |length: u64| (0..size - length, 1..=length);
        let step = prop_oneof![
            (range(10_000), any::<u8>()).prop_map(|((offset, length), byte)| Step::Write(offset, byte, length as usize)),
            (range(30_000), any::<bool>()).prop_map(|((offset, length), keep)| Step::Zero(offset, length, keep)),
        ];
        prop::collection::vec(step, 1..20)
    }

    proptest! {
        #[test]
        fn both_kinds_hold_what_an_array_holds(steps in steps(60_000), zeroes in any::<bool>()) {
            let folder = tempfile::tempdir().unwrap();
            let mut file = FileData::open(&folder.path().join("data"), 60_000).unwrap();
            file.zeroes = zeroes;
            let mut memory = MemoryData::new(60_000).unwrap();
            let mut array = vec![0u8; 60_000];
            for step in steps {
                match step {
                    Step::Write(offset, byte, length) => {
                        array[offset as usize..][..length].fill(byte);
                        file.write(offset, &vec![byte; length]).unwrap();
                        memory.write(offset, &vec![byte; length]).unwrap();
                    }
                    Step::Zero(offset, length, keep) => {
                        array[offset as usize..][..length as usize].fill(0);
                        file.zero(offset, length, keep).unwrap();
                        memory.zero(offset, length, keep).unwrap();
                    }
                }
            }
            for data in [&mut file as &mut dyn Data, &mut memory] {
                let mut out = b"before".to_vec();
                data.read(0, 60_000, &mut out).unwrap();
                prop_assert!(out[6..] == array[..]);
            }
        }
    }
}
