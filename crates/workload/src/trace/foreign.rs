//! Well-known files that are no traces, or not yet: what they are, and what makes a trace of them.

use std::path::Path;

use crate::reading::STANDARD_INPUT_SAID;
use crate::text::shell_word;

/// A kind of file.
struct Kind {
    /// What it is.
    what: &'static str,
    /// How it begins.
    begins: fn(&[u8]) -> bool,
    /// What can be done with it, where `{file}` is its name and `{stem}` that without what blktrace adds.
    remedy: &'static str,
}

/// What has no requests to a drive.
const NO_REQUESTS: &str = "it holds no requests to a drive; the name of a trace is expected";

macro_rules! kinds {
    ($( $what:literal, $begins:expr, $remedy:expr; )+) => {
        &[$( Kind { what: $what, begins: $begins, remedy: $remedy }, )+]
    };
}

/// Binary files by their first bytes.
const BINARY: &[Kind] = kinds! {
    "a binary file of blktrace", is_blktrace, "`blkparse -i {stem} > {stem}.txt` writes it as text, which is read";
    "a binary file of trace-cmd", |head| head.starts_with(b"\x17\x08\x44tracing"),
        "`trace-cmd report -i {file} > {file}.txt` writes it as text, of which the block events are read";
    "a binary file of perf", |head| head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP"),
        "`perf script -i {file} > {file}.txt` writes it as text, of which the block events are read";
    "a binary file of LTTng or another recorder in the Common Trace Format",
        |head| head.starts_with(&[0xc1, 0x1f, 0xfc, 0xc1]) || head.starts_with(&[0x57, 0x1d, 0xd1, 0x75]),
        "it is read by babeltrace2, and tinytail reads the block events of ftrace, `trace-cmd report` and `perf script`";
    "an Excel workbook", |head| is_zip(head) && (contains(head, b"[Content_Types].xml") || contains(head, b"xl/")),
        "save its sheet as CSV, with one request per line, which --columns reads";
    "a zip archive", is_zip, "`unzip -p {file} > {file}.txt` takes the trace out of it, if it holds one file";
    "a 7z archive", |head| head.starts_with(b"7z\xbc\xaf\x27\x1c"), "`7z e -so {file} > {file}.txt` takes the trace out of it";
    "a rar archive", |head| head.starts_with(b"Rar!\x1a\x07"), "`unrar p -inul {file} > {file}.txt` takes the trace out of it";
    "compressed with lz4", |head| head.starts_with(&[0x04, 0x22, 0x4d, 0x18]), "`lz4 -dc {file} > {file}.txt` unpacks it";
    "compressed with lzip", |head| head.starts_with(b"LZIP"), "`lzip -dc {file} > {file}.txt` unpacks it";
    "compressed with lzma", |head| head.starts_with(&[0x5d, 0, 0]), "`xz --format=lzma -dc {file} > {file}.txt` unpacks it";
    "compressed with lzop", |head| head.starts_with(b"\x89LZO"), "`lzop -dc {file} > {file}.txt` unpacks it";
    "compressed with compress", |head| head.starts_with(&[0x1f, 0x9d]), "`zcat < {file} > {file}.txt` unpacks it";
    "compressed twice",
        |head| head.starts_with(&[0x1f, 0x8b]) || head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || head.starts_with(b"\xfd7zXZ\0")
            || head.starts_with(b"BZh") && contains(head, b"1AY&SY"),
        "unpack it once";
    "a recording of network packets",
        |head| [[0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0xc3, 0xd4], [0x4d, 0x3c, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x0a, 0x0d, 0x0d, 0x0a]]
            .iter().any(|magic| head.starts_with(magic)),
        NO_REQUESTS;
    "a Parquet file", |head| head.starts_with(b"PAR1"),
        "`python3 -c 'import sys, pyarrow.parquet as p, pyarrow.csv as c; f = p.ParquetFile(sys.argv[1]); \
         w = c.CSVWriter(sys.argv[2], f.schema_arrow); [w.write(b) for b in f.iter_batches()]; w.close()' {file} {file}.csv` writes it as CSV, \
         which --columns reads; of a log of tinytail, --columns time=asked_ns:ns,op=kind,lba=sector:sectors,len=sectors:sectors --reorder-ms 60000 does";
    "a Feather or Arrow file", |head| head.starts_with(b"ARROW1"),
        "`python3 -c 'import sys, pyarrow.feather as f, pyarrow.csv as c; c.write_csv(f.read_table(sys.argv[1]), sys.argv[2])' {file} {file}.csv` \
         writes it as CSV, which --columns reads";
    "an ORC file", |head| head.starts_with(b"ORC"),
        "`python3 -c 'import sys, pyarrow.orc as o, pyarrow.csv as c; c.write_csv(o.read_table(sys.argv[1]), sys.argv[2])' {file} {file}.csv` \
         writes it as CSV, which --columns reads";
    "an Avro file", |head| head.starts_with(b"Obj\x01"), "write it as CSV, with one request per line, which --columns reads";
    "an HDF5 file", |head| head.starts_with(b"\x89HDF\r\n\x1a\n"),
        "`h5dump` shows what it holds; write it as CSV, with one request per line, which --columns reads";
    "an array of NumPy", |head| head.starts_with(b"\x93NUMPY"),
        "`python3 -c 'import sys, numpy as n; n.savetxt(sys.argv[2], n.load(sys.argv[1]), \"%d\", \",\")' {file} {file}.csv` writes it as CSV, \
         which --columns reads";
    "an SQLite database", |head| head.starts_with(b"SQLite format 3\0"),
        "`sqlite3 {file} .tables` lists its tables, and `sqlite3 -csv -header {file} \"SELECT * FROM TABLE\" > {file}.csv` writes one as CSV, \
         which --columns reads";
    "a program", |head| head.starts_with(b"\x7fELF") || head.starts_with(b"MZ") || head.starts_with(&[0xcf, 0xfa, 0xed, 0xfe]), NO_REQUESTS;
    "an office document", |head| head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]), "save its sheet as CSV, with one request per line, which --columns reads";
    "a PDF document", |head| head.starts_with(b"%PDF-"), NO_REQUESTS;
    "a picture", |head| head.starts_with(b"\x89PNG") || head.starts_with(&[0xff, 0xd8, 0xff]) || head.starts_with(b"GIF8"), NO_REQUESTS;
    "text in UTF-32", |head| head.starts_with(&[0xff, 0xfe, 0, 0]) || head.starts_with(&[0, 0, 0xfe, 0xff]),
        "`iconv -f UTF-32 -t UTF-8 {file} > {file}.txt` writes it in UTF-8, which is read";
    "text in UTF-16", |head| head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]),
        "`iconv -f UTF-16 -t UTF-8 {file} > {file}.txt` writes it in UTF-8, which is read";
    "text in UTF-16", |head| is_wide(head, 0), "`iconv -f UTF-16LE -t UTF-8 {file} > {file}.txt` writes it in UTF-8, which is read";
    "text in UTF-16", |head| is_wide(head, 1), "`iconv -f UTF-16BE -t UTF-8 {file} > {file}.txt` writes it in UTF-8, which is read";
    "text in another encoding than UTF-8", is_of_one_byte,
        "`iconv -f WINDOWS-1252 -t UTF-8 {file} > {file}.txt` writes the text of a Western European Windows in UTF-8, which is read; other names \
         follow -f elsewhere";
};

/// Texts by their first line, where no format knows it.
const TEXT: &[Kind] = kinds! {
    "a pointer of Git LFS to a file that was not fetched", |head| head.starts_with(b"version https://git-lfs"),
        "`git lfs pull` in its repository fetches the file itself";
    "a web page", |head| begins_in_any_case(head, b"<!doctype html") || begins_in_any_case(head, b"<html"),
        "what was to be downloaded is behind it, perhaps behind a login or a licence; open its address in a browser";
    "a CSV of Process Monitor, whose Detail has offsets and lengths", |head| contains(head, b"\"Time of Day\"") && contains(head, b"\"Detail\""),
        "`python3 -c 'import sys, csv, re; w = csv.writer(open(sys.argv[2], \"w\", newline=\"\")); \
         w.writerow([\"time\", \"op\", \"offset_bytes\", \"size_bytes\", \"path\"]); \
         [w.writerow([r[\"Time of Day\"], r[\"Operation\"], *(n.replace(\",\", \"\") for n in m.groups()), r[\"Path\"]]) \
         for r in csv.DictReader(open(sys.argv[1], encoding=\"utf-8-sig\", newline=\"\")) \
         for m in [re.match(\"Offset: ([0-9,]+), Length: ([0-9,]+)\", r[\"Detail\"])] \
         if m and r[\"Operation\"] in (\"ReadFile\", \"WriteFile\") and r[\"Result\"] == \"SUCCESS\"]' {file} {file}.csv` \
         cuts them out, and --columns time:clock,op,lba:bytes,len:bytes,device reads that; each file is a device";
    "a workload of MQSim, which names its trace", |head| head.starts_with(b"<?xml") && contains(head, b"<MQSim_IO_Scenarios>"),
        "give the file that stands in its File_Path, and its Time_Unit as --time-unit (ns for NANOSECOND)";
    "a drive of MQSim", |head| head.starts_with(b"<?xml") && contains(head, b"<Execution_Parameter_Set>"), NO_REQUESTS;
    "XML", |head| head.starts_with(b"<?xml"), "write it as CSV, with one request per line, which --columns reads";
    "a log of fio without offsets, by its form", is_fio_log_without_offsets,
        "it has times, values, directions and sizes, and no addresses, so that no option can help; the job option log_offset=1 besides write_lat_log=NAME \
         writes a log with them, which is read. If its second column is an address all the same, --columns time:us,lba:sectors,op,len:bytes \
         --ops read=0,write=1,trim=2 reads it, with the units that it has";
    "fio's I/O log of version 2 without its first line", |head| is_fio_log(head, 0),
        "`sed '1i fio version 2 iolog' {file} > {file}.txt` writes it with that line, which is read";
    "fio's I/O log of version 3 without its first line", |head| is_fio_log(head, 1),
        "`sed '1i fio version 3 iolog' {file} > {file}.txt` writes it with that line, which is read";
    "a script", |head| head.starts_with(b"#!"), NO_REQUESTS;
    "text whose lines end in carriage returns", |head| head.contains(&b'\r'),
        "`tr '\\r' '\\n' < {file} > {file}.txt` ends them as is usual";
};

/// True for text in an encoding of one byte a letter, such as WINDOWS-1252.
fn is_of_one_byte(head: &[u8]) -> bool {
    let is_cut_off = |error: std::str::Utf8Error| error.error_len().is_none();
    let is_text = |byte: &u8| *byte >= b' ' && *byte != 0x7f || b"\t\n\r".contains(byte);
    let foreign = head.iter().filter(|byte| !byte.is_ascii()).count();
    head.iter().all(is_text) && foreign * 4 < head.len() && !std::str::from_utf8(head).map_or_else(is_cut_off, |_| true)
}

/// Whether a line is of fio's log of latencies without offsets: `time, value, direction, size`.
fn is_fio_log_without_offsets(head: &[u8]) -> bool {
    let line = String::from_utf8_lossy(head);
    let fields: Vec<Option<u64>> = line.trim().split(", ").map(|field| field.parse().ok()).collect();
    matches!(fields[..], [Some(_), Some(_), Some(0..=2), Some(size)] if size > 0 && size.is_multiple_of(512))
}

/// Whether a line is of fio's I/O log: the name of a file, what is done, and an offset and a length; with so many numbers before.
fn is_fio_log(head: &[u8], numbers: usize) -> bool {
    let line = String::from_utf8_lossy(head);
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let are_times = words.iter().take(numbers).all(is_number);
    match words.get(numbers..) {
        Some([name, "add" | "open" | "close"]) => are_times && name.contains('/'),
        Some([name, "read" | "write" | "trim" | "sync" | "datasync", offset, length]) => {
            are_times && !is_number(name) && (numbers == 0 || name.contains('/')) && is_number(offset) && is_number(length)
        }
        _ => false,
    }
}

fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// The first event's number of its kind, with the version in its lowest byte, in either order of bytes.
fn is_blktrace(head: &[u8]) -> bool {
    matches!(head, [1..=15, b't', b'a', b'e', ..] | [b'e', b'a', b't', 1..=15, ..])
}

/// Whether of each two bytes one is a letter of ASCII, at this place, and the other nothing. Three letters may be numbers.
fn is_wide(head: &[u8], place: usize) -> bool {
    let is_letter = |pair: &[u8]| (b'\t'..0x7f).contains(&pair[place]) && pair[1 - place] == 0;
    head.len() >= 8 && head.chunks_exact(2).all(is_letter)
}

fn contains(head: &[u8], part: &[u8]) -> bool {
    head.windows(part.len()).any(|window| window == part)
}

fn begins_in_any_case(head: &[u8], word: &[u8]) -> bool {
    head.get(..word.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
}

/// What a file is that begins with these bytes, and what can be done with it.
pub(super) fn binary(head: &[u8], path: &Path) -> Option<(&'static str, String)> {
    let kind = BINARY.iter().find(|kind| (kind.begins)(head))?;
    Some((kind.what, remedy(kind, path)))
}

/// What a text is that begins with this line, and what can be done with it.
pub(super) fn text(line: &str, path: &Path) -> Option<(&'static str, String)> {
    let kind = TEXT.iter().find(|kind| (kind.begins)(line.as_bytes()))?;
    Some((kind.what, remedy(kind, path)))
}

/// Whether a text that begins like this is JSON: an object, or a list of them.
pub(super) fn is_json(head: &str) -> bool {
    head.starts_with('{') || head.strip_prefix('[').is_some_and(|rest| rest.trim_start().is_empty() || rest.trim_start().starts_with('{'))
}

/// The name of a file as a shell takes it.
pub(super) fn shell_name(path: &Path) -> String {
    let path = path.display().to_string();
    // What came from a pipe has no name.
    if path == STANDARD_INPUT_SAID { "FILE".to_owned() } else { shell_word(&path) }
}

fn remedy(kind: &Kind, path: &Path) -> String {
    let file = shell_name(path);
    let path = path.display().to_string();
    let mut remedy = kind.remedy.to_owned();
    if let Some((stem, _)) = path.rsplit_once(".blktrace.") {
        remedy = remedy.replace("{stem}", &shell_word(stem));
    } else {
        remedy = remedy.replace("blkparse -i {stem} > {stem}.txt", "blkparse -i - < {file} > {file}.txt");
    }
    remedy.replace("{file}", &file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_fio_that_lack_something_are_known() {
        let what = |line: &str| text(line, Path::new("t")).map(|(what, _)| what);
        assert!(what("1, 1000000, 0, 4096").unwrap().starts_with("a log of fio without offsets"));
        for line in ["1,1000000,0,4096", "1, 1000000, 3, 4096", "1, 1000000, 0, 100", "1, 2, 0, 4096, 8"] {
            assert_eq!(what(line), None, "{line}");
        }
        for line in ["/dev/sda add", "a.0.0 read 0 4096"] {
            assert!(what(line).unwrap().starts_with("fio's I/O log of version 2"), "{line}");
        }
        for line in ["0 /dev/sda open", "3000 /dev/sda write 0 4096"] {
            assert!(what(line).unwrap().starts_with("fio's I/O log of version 3"), "{line}");
        }
        for line in ["1 sda read 8 8", "10 20 read 8 8", "x read 8", "sda wrote 8 8", "please add"] {
            assert_eq!(what(line), None, "{line}");
        }
        let (_, how) = text("/dev/sda add", Path::new("my log")).unwrap();
        assert!(how.starts_with("`sed '1i fio version 2 iolog' 'my log' > 'my log'.txt`"), "{how}");
    }

    #[test]
    fn remedies_name_the_file() {
        let said = |head: &[u8], path: &str| binary(head, Path::new(path)).map(|(what, remedy)| format!("{what}: {remedy}"));
        for (head, path, expected) in [
            (&b"\x07tae\x01\0\0\0"[..], "a/sdb.blktrace.0", "a binary file of blktrace: `blkparse -i a/sdb > a/sdb.txt` writes it"),
            (b"eat\x07", "my trace", "a binary file of blktrace: `blkparse -i - < 'my trace' > 'my trace'.txt` writes it"),
            (b"PK\x03\x04....p.trace", "p.zip", "a zip archive: `unzip -p p.zip > p.zip.txt` takes"),
            (b"PK\x03\x04....xl/workbook.xml", "p.xlsx", "an Excel workbook: save its sheet"),
            (b"SQLite format 3\0", "standard input", "an SQLite database: `sqlite3 FILE .tables`"),
            (
                b"PAR1",
                "my log",
                "a Parquet file: `python3 -c 'import sys, pyarrow.parquet as p, pyarrow.csv as c; f = p.ParquetFile(sys.argv[1]); \
              w = c.CSVWriter(sys.argv[2], f.schema_arrow); [w.write(b) for b in f.iter_batches()]; w.close()' 'my log' 'my log'.csv` writes it",
            ),
            (b"PERFILE2", "perf.data", "a binary file of perf: `perf script -i perf.data > perf.data.txt`"),
        ] {
            let said = said(head, path).unwrap();
            assert!(said.starts_with(expected), "{said}");
        }
        for head in [&b""[..], b"0 0 8 8 1", b"\x10tae", b"PK", b"time,op"] {
            assert_eq!(said(head, "x"), None);
        }
        let (what, remedy) = text("version https://git-lfs.github.com/spec/v1", Path::new("t")).unwrap();
        assert!(what.contains("Git LFS") && remedy.starts_with("`git lfs pull`"));
        assert!(text("<!DOCTYPE HTML>", Path::new("t")).is_some() && text("1,2,3", Path::new("t")).is_none());
    }
}
