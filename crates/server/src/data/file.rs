//! Data in a sparse file, which one server at a time has open.

use crate::data::{Data, Sync};
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Zeroes that are written at a time where space can't be given up, or is to be kept.
static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

/// Data that outlast the process, as far as they were made safe.
#[derive(Debug)]
pub struct FileData {
    file: Arc<File>,
    path: PathBuf,
    bytes: u64,
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
        Ok(Self { file: Arc::new(file), path, bytes, zeroes: true })
    }

    fn write_zeroes(&mut self, mut offset: u64, bytes: u64) -> io::Result<()> {
        let end = offset + bytes;
        while offset < end {
            let some = (end - offset).min(ZEROES.len() as u64);
            self.file.write_all_at(&ZEROES[..some as usize], offset)?;
            offset += some;
        }
        Ok(())
    }
}

/// Makes sure that what is in the file will be found under its name, whole.
fn check_kept(file: &File, path: &Path, bytes: u64) -> io::Result<()> {
    let lost = |what: String| Err(io::Error::other(format!("{}: {what}, and data that clients wrote may be lost", path.display())));
    let here = file.metadata()?;
    if here.nlink() == 0 {
        return lost("the file of data was removed while it was served".into());
    }
    if here.len() != bytes {
        return lost(format!("the file of data has {} bytes now instead of {bytes}", here.len()));
    }
    match path.metadata() {
        Ok(there) if (there.dev(), there.ino()) == (here.dev(), here.ino()) => Ok(()),
        Ok(_) => lost("another file has taken the place of the file of data".into()),
        Err(error) => lost(format!("the file of data is not there any more ({error})")),
    }
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
        let result = self.file.read_exact_at(&mut out[before..], offset);
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn zero(&mut self, offset: u64, bytes: u64, keep: bool) -> io::Result<()> {
        if self.zeroes {
            let flags = if keep { FallocateFlags::ZERO_RANGE } else { FallocateFlags::PUNCH_HOLE };
            match fallocate(&self.file, flags | FallocateFlags::KEEP_SIZE, offset, bytes) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.zeroes = false,
                result => return result.map_err(Into::into),
            }
        }
        self.write_zeroes(offset, bytes)
    }

    fn sync(&self) -> Option<Sync> {
        let (file, path, bytes) = (Arc::clone(&self.file), self.path.clone(), self.bytes);
        Some(Arc::new(move || {
            file.sync_data()?;
            check_kept(&file, &path, bytes)
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
    fn a_file_that_is_removed_replaced_or_cut_short_is_safe_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let other = folder.path().join("other");
        let harms: [(&str, &dyn Fn()); 4] = [
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
