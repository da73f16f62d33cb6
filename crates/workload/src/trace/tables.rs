//! Well-known tables whose lines are no requests to a drive, since they have no addresses or are sums of many requests.

use crate::text;
use crate::trace::header::{self, Is, Preamble};
use crate::trace::mapping::Role;

/// A kind of table.
struct Kind {
    /// What it is.
    what: &'static str,
    /// Whether a line tells that it is this.
    tells: fn(&Line<'_>) -> bool,
    /// Why it cannot be played, and what can.
    why: &'static str,
}

/// A line and its words.
struct Line<'a> {
    text: &'a str,
    words: Vec<String>,
}

impl Line<'_> {
    /// Whether all of these words are in it, in any case.
    fn has(&self, words: &[&str]) -> bool {
        words.iter().all(|word| self.words.iter().any(|own| own == word))
    }
}

macro_rules! kinds {
    ($( $what:literal, $tells:expr, $why:expr; )+) => {
        &[$( Kind { what: $what, tells: $tells, why: $why }, )+]
    };
}

/// Tables by a line that tells them from others. A table of bcc that has addresses is one of the [formats](crate::trace::FORMATS).
const KINDS: &[Kind] = kinds! {
    "the table of bpftrace's biosnoop", |line| line.has(&["time(ms)", "comm", "pid", "lat(ms)"]) && !line.has(&["sector"]),
        "it has no addresses, operations or sizes, so that no option can help; biosnoop of bcc (biosnoop-bpfcc) has them, and its table is read";
    "the table of biotop", |line| line.has(&["pid", "comm", "d", "maj", "min", "disk", "i/o"]),
        "its lines are sums of many requests, so that no option can help; biosnoop of bcc (biosnoop-bpfcc) has the requests, and its table is read";
    "a table of requests to files, as ext4slower has", |line| line.has(&["comm", "pid", "t", "bytes", "off_kb"]),
        "its offsets are those in files and not addresses on a drive, so that no option can help; biosnoop of bcc (biosnoop-bpfcc) has addresses";
    "a table of requests to files, as fileslower has", |line| line.has(&["comm", "bytes", "filename"]) || line.has(&["comm", "path", "fd"]),
        "it has no addresses on a drive, so that no option can help; biosnoop of bcc (biosnoop-bpfcc) has them, and its table is read";
    "a histogram of bcc or bpftrace", |line| line.text.contains("distribution") && line.has(&["count"]) || line.text.contains("|@@"),
        "its lines are counts of many requests, so that no option can help; biosnoop of bcc (biosnoop-bpfcc) has the requests, and its table is read";
    "fio's report",
        |line| line.text.contains(": (g=") && line.text.contains("ioengine=") || line.text.split(';').nth(1).is_some_and(|word| word.starts_with("fio-")),
        "it has no requests, so that no option can help. A job with write_lat_log=NAME and log_offset=1, or with write_iolog=NAME, writes a log of \
         them, which is read";
    "the output of iostat or pidstat", |line| line.has(&["r/s", "w/s"]) || line.has(&["tps", "kb_read/s"]) || line.has(&["kb_rd/s", "kb_wr/s"]),
        "its lines are sums of many requests, so that no option can help; `blktrace -d DEVICE -o - | blkparse -i -` writes the requests";
    "the output of vmstat, sar or dstat",
        |line| line.has(&["bi", "bo", "us", "sy", "id"]) || line.has(&["tps", "rtps", "wtps"]) || line.text.contains("--total-cpu-usage--"),
        "its lines are sums of many requests, so that no option can help; `blktrace -d DEVICE -o - | blkparse -i -` writes the requests";
    "the output of strace", |line| ["openat(", "pread64(", "pwrite64(", "lseek("].iter().any(|call| line.text.contains(call)),
        "its offsets are those in files and not addresses on a drive, so that no option can help; `blktrace -d DEVICE -o - | blkparse -i -` writes the \
         requests to the drive";
    "a trace of an object store", |line| line.text.contains("REST.") && line.text.contains(".OBJECT") || names(line, &["object", "objectid", "objsize", "bucket"]),
        "objects have no addresses on a drive, so that no option can help";
    "a trace of a cache of keys and values", |line| names(line, &["ttl", "keysize", "valuesize", "cachekey"]),
        "keys have no addresses on a drive, so that no option can help";
};

/// Whether a line with names of columns has one of these among its words.
fn names(line: &Line<'_>, wanted: &[&str]) -> bool {
    let letters = |word: &str| word.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let titles = if header::looks_like_header(line.text) { header::names_in(line.text) } else { Vec::new() };
    let is_wanted = |title: &String| {
        let lower = title.to_lowercase();
        wanted.contains(&letters(&lower).as_str())
            || lower.split(|letter: char| !letter.is_alphanumeric()).any(|word| wanted.contains(&word))
    };
    // A table of requests may have such a column besides its addresses.
    titles.iter().any(is_wanted) && titles.iter().all(|title| header::read(title).is != Is::Role(Role::Lba))
}

/// What a text with these first lines is, if it is such a table: the place of the line that tells it, what it is, and why it cannot be
/// played.
pub(super) fn without_requests(lines: &[String]) -> Option<(usize, &'static str, &'static str)> {
    lines.iter().enumerate().find_map(|(at, text)| {
        let line = Line { text, words: text.to_lowercase().split_ascii_whitespace().map(str::to_owned).collect() };
        let kind = KINDS.iter().find(|kind| (kind.tells)(&line))?;
        Some((at, kind.what, kind.why))
    })
}

/// What no name of a header line is, as a sentence: of an operation, an address and a size, those that are missing.
pub(super) fn unnamed(preamble: &Preamble) -> Option<String> {
    let titles = &preamble.header.as_ref()?.titles;
    let is = |role: Role| titles.iter().any(|title| header::read(title).is == Is::Role(role));
    let needed = [(Role::Op, "an operation"), (Role::Lba, "an address"), (Role::Len, "a size")];
    let missing: Vec<String> = needed.into_iter().filter(|(role, _)| !is(*role)).map(|(_, what)| what.to_owned()).collect();
    // Where no name says anything, they are no names of a trace's columns.
    if missing.is_empty() || missing.len() == needed.len() {
        return None;
    }
    let named: Vec<String> = titles.iter().map(|title| text::quoted(title)).collect();
    Some(format!(
        "its columns are {}, and by its name none of them is {}. If one of them is, --columns says which; if none is, no option can help",
        text::listed(&named),
        text::listed(&missing)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_without_requests_are_told_by_one_line() {
        let told = |lines: &[&str]| without_requests(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
        for (lines, number, what) in [
            (&["Attaching 4 probes...", "TIME(ms)     COMM             PID    LAT(ms)", "611 bash 4179 10"][..], 2, "bpftrace's biosnoop"),
            (&["TIME(ms)     DISK    COMM  PID    LAT(ms)"], 1, "bpftrace's biosnoop"),
            (&["PID     COMM             D MAJ MIN DISK       I/O  Kbytes     AVGms"], 1, "biotop"),
            (&["TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME"], 1, "ext4slower"),
            (&["Tracing block device I/O... Hit Ctrl-C to end.", "     usecs           : count     distribution"], 2, "histogram"),
            (&["@usecs:", "[256, 512)   2 |@@@   |"], 2, "histogram"),
            (&["Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s"], 1, "iostat"),
            (&["10:00:01.1 pread64(3, \"\", 4096, 0) = 4096"], 1, "strace"),
            (&["a: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1"], 1, "fio's report"),
            (&["3;fio-3.33;a;0;0;4096;39384"], 1, "fio's report"),
            (&["# timestamp (ms), op type [Put:0, Get:1, Delete:2, Head: 3, Copy: 4], object id, object size (byte)"], 1, "object store"),
            (&["1219008 REST.PUT.OBJECT 8d4fcda3d675bac9 1056"], 1, "object store"),
            (&["timestamp,anonymized key,key size,value size,client id,operation,TTL"], 1, "keys and values"),
        ] {
            let (found, is, _) = told(lines).unwrap_or_else(|| panic!("{lines:?}"));
            assert!(found + 1 == number && is.contains(what), "{found} {is}");
        }
        for line in ["TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)", "time,op,lba,len,object", "1,R,8,8", "", "0 0 8 8 1"] {
            assert!(told(&[line]).is_none(), "{line}");
        }
        assert!(KINDS.iter().all(|kind| kind.why.contains("no option can help")));
    }

    #[test]
    fn a_header_line_without_an_address_is_named() {
        let said = |line: &str| unnamed(&Preamble::of(&[line.to_owned(), "1,R,8".to_owned()], &[]));
        let expected = "its columns are `time_us`, `op` and `size`, and by its name none of them is an address. If one of them is, --columns says \
                        which; if none is, no option can help";
        assert_eq!(said("time_us,op,size").as_deref(), Some(expected));
        assert!(said("time,op,lba,len").is_none() && said("a,b,c").is_none() && said("1,2,3").is_none());
    }
}
