use super::*;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use std::fs::File;
use std::path::PathBuf;
use tinytail_core::commands::CommandKind;
use tinytail_core::observe::{ARRAY, Attribution, OVERHEAD_WAIT, PART_NAMES, PARTS};

/// A folder of one test, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinytail-log-{}-{name}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    fn names(&self) -> Vec<String> {
        std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The `number`-th request of a made-up run whose requests are numbered from 100 and whose clock starts at 1000.
fn request(number: u64) -> (Completion, Attribution) {
    let mut attribution = Attribution::default();
    attribution.add(ARRAY, 40_000);
    if number.is_multiple_of(3) {
        attribution.add(OVERHEAD_WAIT, number + 1);
    }
    // A part that only a few requests have, so that some row groups have none of it.
    if number > 150_000 {
        attribution.add(PARTS - 1, 7);
    }
    let arrived = 1000 + number * 10;
    let completion = Completion {
        id: 100 + number,
        kind: [CommandKind::Read, CommandKind::Write, CommandKind::Read, CommandKind::Trim][number as usize % 4],
        sector: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20,
        sectors: 8,
        asked: arrived - 1000.min(number * 10),
        arrived,
        completed: arrived + attribution.total(),
        gc_blocked: number.is_multiple_of(5),
        reconstructed: (number % 3) as u16,
        gc_waits: (number % 7) as u16,
        gc_waits_forced: (number % 2) as u16,
        gc_wait_since: if number.is_multiple_of(2) { 0 } else { arrived },
        host_queue_ns: if number.is_multiple_of(3) { number + 1 } else { 0 },
    };
    (completion, attribution)
}

fn write(path: &str, requests: u64) -> LogNote {
    let mut log = Log::create(path).unwrap();
    log.count_from(100, 1000);
    for number in 0..requests {
        let (completion, attribution) = request(number);
        log.append(&completion, (&attribution).into());
    }
    log.finish(vec![("tinytail.seed".into(), "7".into())])
}

fn number(row: &Row, name: &str) -> i64 {
    let (_, field) = row.get_column_iter().find(|(column, _)| *column == name).unwrap_or_else(|| panic!("no column {name}"));
    match field {
        parquet::record::Field::Long(value) => *value,
        parquet::record::Field::Int(value) => i64::from(*value),
        parquet::record::Field::Bool(value) => i64::from(*value),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn every_request_is_read_back_as_it_was() {
    let folder = Folder::new("back");
    let path = folder.file("log.parquet");
    // Less than a batch, a batch, and several row groups.
    for requests in [0, 1, BATCH as u64, 2 * table::GROUP as u64 + 50_000] {
        let note = write(&path, requests);
        assert_eq!(note.error, None);
        assert_eq!(note.requests, requests);
        assert_eq!(note.bytes, std::fs::metadata(&path).unwrap().len());
        assert_eq!(folder.names(), ["log.parquet"]);
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata();
        assert_eq!(metadata.num_rows(), requests as i64);
        let pairs = metadata.key_value_metadata().unwrap();
        assert!(pairs.iter().any(|pair| pair.key == "tinytail.seed" && pair.value.as_deref() == Some("7")));
        let mut seen = 0;
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let (expected, attribution) = request(seen);
            assert_eq!(number(&row, "id"), seen as i64);
            let kind = ["\"read\"", "\"write\"", "\"read\"", "\"trim\""][seen as usize % 4];
            assert_eq!(row.get_column_iter().nth(1).unwrap().1.to_string(), kind);
            assert_eq!(number(&row, "sector"), expected.sector as i64);
            assert_eq!(number(&row, "sectors"), 8);
            assert_eq!(number(&row, "asked_ns"), expected.asked as i64 - 1000);
            assert_eq!(number(&row, "arrived_ns"), expected.arrived as i64 - 1000);
            assert_eq!(number(&row, "completed_ns"), expected.completed as i64 - 1000);
            assert_eq!(number(&row, "latency_ns"), attribution.total() as i64);
            assert_eq!(number(&row, "gc_blocked"), i64::from(expected.gc_blocked));
            assert_eq!(number(&row, "queue_blocked"), i64::from(expected.queue_blocked()));
            assert_eq!(number(&row, "host_queue_ns"), expected.host_queue_ns as i64);
            assert_eq!(number(&row, "reconstructed"), i64::from(expected.reconstructed));
            assert_eq!(number(&row, "gc_waits"), i64::from(expected.gc_waits));
            assert_eq!(number(&row, "gc_waits_forced"), i64::from(expected.gc_waits_forced));
            assert_eq!(number(&row, "gc_wait_since_ns"), expected.gc_wait_since.saturating_sub(1000) as i64);
            // Nearly all parts are zero everywhere; a few rows in full are enough.
            let parts = if seen % 1000 == 0 { PARTS } else { 1 };
            for (part, name) in PART_NAMES.iter().enumerate().take(parts) {
                assert_eq!(number(&row, &format!("{name}_ns")), attribution.get(part) as i64, "{name} of {seen}");
            }
            seen += 1;
        }
        assert_eq!(seen, requests);
    }
}

#[test]
fn a_log_that_is_given_up_leaves_no_file_and_does_not_touch_an_earlier_one() {
    let folder = Folder::new("given-up");
    let path = folder.file("log.parquet");
    std::fs::write(&path, "earlier").unwrap();
    let mut log = Log::create(&path).unwrap();
    let (completion, attribution) = request(0);
    for _ in 0..5000 {
        log.append(&Completion { id: 0, ..completion }, (&attribution).into());
    }
    drop(log);
    assert_eq!(folder.names(), ["log.parquet"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "earlier");
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_runs() {
    let folder = Folder::new("refused");
    std::fs::create_dir(folder.file("folder")).unwrap();
    let refused = [("", "no name"), ("folder", "directory"), ("none/log.parquet", "there is no directory")];
    for (name, why) in refused {
        let path = if name.is_empty() { String::new() } else { folder.file(name) };
        let error = Log::create(&path).unwrap_err().to_string();
        assert!(error.contains(why), "{name}: {error}");
    }
    let error = Log::create("/dev/null").unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
    assert_eq!(folder.names(), ["folder"]);
}

#[test]
fn a_link_still_leads_to_the_file() {
    let folder = Folder::new("link");
    std::fs::write(folder.file("real.parquet"), "earlier").unwrap();
    std::os::unix::fs::symlink(folder.file("real.parquet"), folder.file("link.parquet")).unwrap();
    assert_eq!(write(&folder.file("link.parquet"), 10).error, None);
    assert!(std::fs::symlink_metadata(folder.file("link.parquet")).unwrap().is_symlink());
    assert!(std::fs::metadata(folder.file("real.parquet")).unwrap().len() > 100);
}

/// A disk with little room.
struct Small(usize);

impl io::Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let written = bytes.len().min(self.0);
        self.0 -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_log_and_not_the_run() {
    let folder = Folder::new("full");
    let path = folder.file("log.parquet");
    let whole = write(&path, 200_000).bytes as usize;
    std::fs::remove_file(&path).unwrap();
    // Full at the beginning, in the middle, and just before the end.
    for room in [2, whole / 2, whole - 10] {
        let (file, _) = file::Unfinished::create(Path::new(&path)).unwrap();
        let mut log = Log::of(&path, Table::on(file, Box::new(Small(room))).unwrap()).unwrap();
        for number in 0..200_000 {
            let (completion, attribution) = request(100 + number);
            log.append(&completion, (&attribution).into());
        }
        let note = log.finish(Vec::new());
        let error = note.error.unwrap();
        assert!(error.starts_with(&format!("cannot write the log to {path}: ")) && error.contains("no storage space"), "{error}");
        assert_eq!(note.requests, 0);
        assert_eq!(folder.names(), [""; 0], "nothing is left behind");
    }
}
