//! What the names of a trace's columns say, as in `offset_sectors`, `Time (us)`, `isRead` or `io.len`.
//!
//! A name is taken apart into words: at what is neither letter nor digit, where known words are written as one, and where
//! capitals begin. The words say what the column is and in which unit. Words that are not known say nothing.

use std::fmt;

use crate::trace::columns;
use crate::trace::mapping::Role;
use crate::trace::units::{AddressUnit, TimeUnit};

/// What the name of a column says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) is: Is,
    pub(super) unit: Option<Unit>,
    /// Which of the codes `0` and `1` is a read, where the name says so.
    pub(super) read_code: Option<&'static str>,
    /// Whether it is one of NVMe's own names.
    pub(super) nvme: bool,
    /// Whether the column has names where others may have numbers.
    pub(super) is_name: bool,
}

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    /// One that is read.
    Role(Role),
    /// Something else, such as the depth of a queue.
    Other,
    /// Not told by its name.
    Unknown,
}

/// The unit that a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Time(TimeUnit),
    Space(AddressUnit),
    /// Blocks of a size that the name does not say.
    Blocks,
    /// Pages of a size that the name does not say.
    Pages,
    /// So many bytes.
    Sized(u64),
}

impl Unit {
    /// Its bytes, where the name says them.
    pub(super) fn bytes(self) -> Option<u64> {
        match self {
            Self::Space(unit) => Some(u64::from(unit.bytes())),
            Self::Sized(bytes) => Some(bytes),
            Self::Time(_) | Self::Blocks | Self::Pages => None,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(unit) => unit.fmt(f),
            Self::Space(unit) => unit.fmt(f),
            Self::Blocks => f.write_str("blocks"),
            Self::Pages => f.write_str("pages"),
            Self::Sized(bytes) => write!(f, "units of {bytes} bytes"),
        }
    }
}

/// A word of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// The column is something that is not read, whatever else the name says.
    Other,
    Is(Role),
    /// An offset, in time or in space.
    Offset,
    /// An address or a size in this unit; the bool says whether it is a size.
    In(bool, Unit),
    /// A unit in the plural: a size, if nothing says otherwise.
    Unit(Unit),
    /// A unit in the singular: an address, if nothing says otherwise.
    One(Unit),
    /// How many there are of something.
    Count,
    /// A number of something or the number of something.
    Number,
    First,
    Read,
    Write,
    /// The code 0 or 1.
    Code(&'static str),
    Name,
    Nvme(Role),
    /// A unit of time that is as often short for something else.
    Short(TimeUnit),
    Filler,
    Unknown,
}

use AddressUnit::{Bytes, Kib, Sectors};
use TimeUnit::{Nanoseconds, Seconds};
use Word::{Code, Count, First, In, Name as Named, Number, Nvme, Offset, One, Other, Read, Short, Unit as Units, Write};

#[rustfmt::skip]
const WORDS: &[(Word, &[&str])] = &[
    (Other, &[
        "wait", "delay", "gap", "delta", "iat", "interarrival", "think", "queue", "qd", "qdepth", "depth", "inflight",
        "end", "ends", "finish", "finished", "complete", "completed", "completion", "done", "process", "proc", "pid", "tid",
        "ppid", "tgid", "thread", "threads", "comm", "cpu", "core", "md5", "hash", "crc", "checksum", "error", "err",
        "errno", "status", "result", "sync", "fua", "priority", "prio", "class", "ioclass", "index", "idx", "seq",
        "sequence", "sid", "cid", "qid", "hint", "inode", "ino", "file", "filename", "path", "cache", "memory", "mem",
        "irp", "ptr", "retries",
    ]),
    (Word::Is(Role::Latency), &["latency", "lat", "response", "resp", "duration", "service"]),
    (Word::Is(Role::Len), &["len", "length", "size", "sizes", "sz", "bs"]),
    (Count, &["count", "bcount"]),
    (In(true, Unit::Blocks), &["nblocks", "nblk", "nblks"]),
    (In(true, Unit::Space(Sectors)), &["nsectors", "nsect"]),
    (Nvme(Role::Len), &["nlb"]),
    (Word::Is(Role::Lba), &["address", "addr"]),
    (In(false, Unit::Blocks), &["lba", "lbas", "lbn", "blkno"]),
    (In(false, Unit::Space(Sectors)), &["lsn"]),
    (In(false, Unit::Pages), &["lpn", "lpa"]),
    (Nvme(Role::Lba), &["slba"]),
    (Word::Is(Role::Time), &[
        "time", "times", "timestamp", "timestamps", "tstamp", "ts", "arrival", "clock", "date", "datetime", "when",
    ]),
    (Offset, &["offset", "off", "position", "pos"]),
    (Word::Is(Role::Op), &[
        "op", "ops", "ope", "type", "kind", "operation", "opcode", "opc", "rw", "rwbs", "iotype", "action", "cmd",
        "command", "direction", "dir", "ddir",
    ]),
    (Word::Is(Role::Device), &["device", "dev", "disk", "lun", "volume", "vol", "asu", "drive", "major", "minor", "namespace"]),
    (Nvme(Role::Device), &["nsid"]),
    (Word::Is(Role::Flush), &["flush"]),
    (Units(Unit::Space(Sectors)), &["sectors"]),
    (One(Unit::Space(Sectors)), &["sector", "sect"]),
    (Units(Unit::Blocks), &["blocks", "blks"]),
    (One(Unit::Blocks), &["block", "blk"]),
    (Units(Unit::Pages), &["pages"]),
    (One(Unit::Pages), &["page"]),
    (Units(Unit::Space(Bytes)), &["bytes", "b"]),
    (One(Unit::Space(Bytes)), &["byte"]),
    (Units(Unit::Space(Kib)), &["kib", "kb", "kbytes", "kibibytes", "kilobytes"]),
    (Units(Unit::Sized(1 << 20)), &["mib", "mb", "mbytes", "mebibytes", "megabytes"]),
    (Short(Seconds), &["s", "sec", "secs"]),
    (Number, &["number", "num", "no", "nr", "n", "nb"]),
    (First, &["start", "starting", "first", "begin"]),
    (Read, &["read", "reads", "rd", "r"]),
    (Write, &["write", "writes", "wr", "w"]),
    (Code("0"), &["0"]),
    (Code("1"), &["1"]),
    (Named, &["name"]),
    (Word::Filler, &["is", "io", "req", "request", "in", "of", "id", "flag", "or", "logical", "submit", "issue", "record"]),
];

/// Names of Open CAS's traces whose words would say something else, or not the unit.
const OPEN_CAS: [(&str, Is, Option<Unit>); 4] = [
    ("header.timestamp", Is::Role(Role::Time), Some(Unit::Time(Nanoseconds))),
    ("header.size", Is::Other, None),
    ("io.lba", Is::Role(Role::Lba), Some(Unit::Space(Sectors))),
    ("io.len", Is::Role(Role::Len), Some(Unit::Space(Sectors))),
];

/// What the words that say most say first: `block_size` is a size, `device_offset` an offset.
const RANKS: [Role; 7] = [Role::Latency, Role::Len, Role::Lba, Role::Time, Role::Op, Role::Device, Role::Flush];

/// What the columns of a text with these first lines are called, if at least so many of them have names.
pub(super) fn titles(lines: &[String], width: usize) -> Option<Vec<String>> {
    let (comments, others): (Vec<&String>, Vec<&String>) = lines.iter().partition(|line| line.starts_with('#'));
    let names = |line: &&String| columns::looks_like_header(line).then(|| columns::header_names(line));
    // Some write the names of the columns as a comment, after others. A sentence names next to nothing.
    let named = |titles: &Vec<String>| titles.iter().filter(|title| matches!(read(title).is, Is::Role(_))).count();
    let commented = comments.iter().rev().filter_map(names).filter(|titles| named(titles) >= 3);
    others.first().and_then(names).into_iter().chain(commented).find(|titles| titles.len() >= width)
}

/// What a name of a column says.
pub(super) fn read(name: &str) -> Name {
    // A single letter is no word.
    let words = if name.chars().count() > 1 { words(name) } else { Vec::new() };
    let has = |word: Word| words.contains(&word);
    let nvme = words.iter().any(|word| matches!(word, Nvme(_)));
    let mut said = Name { is: Is::Unknown, unit: None, read_code: None, nvme, is_name: has(Named) };
    if let Some((_, is, unit)) = OPEN_CAS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)) {
        return Name { is: *is, unit: *unit, ..said };
    }
    if has(Other) {
        said.is = Is::Other;
        return said;
    }
    let strong = |word: &Word| match word {
        Word::Is(role) | Nvme(role) => Some(*role),
        Count | In(true, _) => Some(Role::Len),
        In(false, _) => Some(Role::Lba),
        _ => None,
    };
    let ranked = |ranks: &[Role]| ranks.iter().copied().find(|rank| words.iter().filter_map(strong).any(|role| role == *rank));
    let reads_or_writes = has(Read) || has(Write);
    let role = ranked(&RANKS[..4])
        .or_else(|| has(Offset).then_some(Role::Lba))
        .or_else(|| amount(&words))
        .or_else(|| ranked(&RANKS[4..]))
        .or_else(|| words.iter().any(|word| matches!(word, Units(Unit::Time(_)) | Short(_))).then_some(Role::Time))
        .or_else(|| reads_or_writes.then_some(Role::Op));
    said.unit = unit(&words, role);
    let fits = match (role, said.unit) {
        (_, None) => true,
        (Some(Role::Time | Role::Latency), Some(unit)) => matches!(unit, Unit::Time(_)),
        (Some(Role::Lba | Role::Len), Some(unit)) => !matches!(unit, Unit::Time(_)),
        _ => false,
    };
    said.is = role.filter(|_| fits).map_or(Is::Unknown, Is::Role);
    if said.is == Is::Role(Role::Op) {
        said.read_code = read_code(&words);
    }
    said
}

/// The address or the size that a unit stands for.
fn amount(words: &[Word]) -> Option<Role> {
    let place = words.iter().position(|word| matches!(word, Units(unit) | One(unit) if !matches!(unit, Unit::Time(_))))?;
    let is_first = words.contains(&First);
    match words[place] {
        // The number of a sector, and the number of sectors.
        One(_) if words[..place].contains(&Number) => Some(Role::Len),
        One(Unit::Space(Bytes)) => is_first.then_some(Role::Lba),
        One(_) => Some(Role::Lba),
        _ => Some(if is_first { Role::Lba } else { Role::Len }),
    }
}

/// The unit of a column with this role.
fn unit(words: &[Word], role: Option<Role>) -> Option<Unit> {
    let explicit = words.iter().enumerate().rev().find_map(|(index, word)| match word {
        // The size of a block is not in blocks.
        One(unit) if role == Some(Role::Len) && *unit != Unit::Space(Bytes) && !counts(words, index) => None,
        Units(unit) | One(unit) => Some(*unit),
        Short(unit) if role.is_none_or(|role| matches!(role, Role::Time | Role::Latency)) => Some(Unit::Time(*unit)),
        _ => None,
    });
    let sized = words.iter().find_map(|word| match word {
        Units(unit @ Unit::Sized(_)) => Some(*unit),
        _ => None,
    });
    let implied = words.iter().find_map(|word| match word {
        In(_, unit) => Some(*unit),
        Nvme(Role::Lba | Role::Len) => Some(Unit::Blocks),
        _ => None,
    });
    sized.or(explicit).or(implied)
}

/// Whether a name counts what its word at this place is.
fn counts(words: &[Word], index: usize) -> bool {
    let before = |word| words[..index].contains(&word);
    words.contains(&Count) || before(Number) || before(Word::Is(Role::Len)) || !words.contains(&Word::Is(Role::Len))
}

/// Which code is a read: by codes beside `read` and `write`, or because the column is true for one of them.
fn read_code(words: &[Word]) -> Option<&'static str> {
    let said: Vec<Word> = words.iter().copied().filter(|word| matches!(word, Read | Write | Code(_))).collect();
    let other = |code| if code == "0" { "1" } else { "0" };
    match said[..] {
        [Read] => Some("1"),
        [Write] => Some("0"),
        [Read, Code(code), ..] | [Code(code), Read, ..] => Some(code),
        [Write, Code(code), ..] | [Code(code), Write, ..] => Some(other(code)),
        _ => None,
    }
}

fn words(name: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut chunks = name.split(|letter: char| !letter.is_alphanumeric()).filter(|chunk| !chunk.is_empty()).peekable();
    while let Some(chunk) = chunks.next() {
        // A number belongs to the unit behind it, as in `4 KiB`.
        let is_number = chunk.bytes().all(|byte| byte.is_ascii_digit());
        match chunks.peek().filter(|_| is_number).and_then(|unit| sized(&format!("{chunk}{}", unit.to_lowercase()))) {
            Some(word) => {
                found.push(word);
                chunks.next();
            }
            None => add_words(chunk, &mut found),
        }
    }
    found
}

fn add_words(chunk: &str, found: &mut Vec<Word>) {
    let lower = chunk.to_lowercase();
    if let Some(word) = known(&lower) {
        found.push(word);
    } else if let Some(words) = written_as_one(&lower) {
        found.extend(words);
    } else if let Some(at) = capital(chunk) {
        add_words(&chunk[..at], found);
        add_words(&chunk[at..], found);
    } else {
        found.push(Word::Unknown);
    }
}

fn known(word: &str) -> Option<Word> {
    let time = || TimeUnit::of_word(word).map(|unit| Units(Unit::Time(unit)));
    WORDS.iter().find_map(|(known, words)| words.contains(&word).then_some(*known)).or_else(time).or_else(|| sized(word))
}

/// A number of bytes that a unit can be, such as `512`, `4k` or `4096B`.
fn sized(word: &str) -> Option<Word> {
    let digits = word.len() - word.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let number: u64 = word[..digits].parse().ok()?;
    let bytes = match &word[digits..] {
        "" | "b" | "byte" | "bytes" => number,
        "k" | "kb" | "kib" => number.checked_mul(1024)?,
        _ => return None,
    };
    match bytes {
        512 => Some(Units(Unit::Space(Sectors))),
        1024 => Some(Units(Unit::Space(Kib))),
        _ if bytes > 512 && bytes.is_power_of_two() => Some(Units(Unit::Sized(bytes))),
        _ => None,
    }
}

/// The known words, of two letters or more each, that a word is made of.
fn written_as_one(word: &str) -> Option<Vec<Word>> {
    (2..word.len().saturating_sub(1)).rev().filter(|at| word.is_char_boundary(*at)).find_map(|at| {
        let (first, rest) = (known(&word[..at])?, &word[at..]);
        let rest = known(rest).map(|word| vec![word]).or_else(|| written_as_one(rest))?;
        Some([vec![first], rest].concat())
    })
}

/// Where the second word begins of one with capitals, as in `startLba` and `IOOffset`.
fn capital(chunk: &str) -> Option<usize> {
    let letters: Vec<(usize, char)> = chunk.char_indices().collect();
    (1..letters.len()).map(|index| (index, letters[index])).find_map(|(index, (at, letter))| {
        let after_small = !letters[index - 1].1.is_uppercase();
        let before_small = letters.get(index + 1).is_some_and(|(_, next)| next.is_lowercase());
        (letter.is_uppercase() && (after_small || before_small)).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use TimeUnit::{HundredNanoseconds, Microseconds, Milliseconds};

    fn role(role: Role, unit: Option<Unit>) -> (Is, Option<Unit>) {
        (Is::Role(role), unit)
    }

    #[test]
    fn names_of_columns_say_what_they_are_and_in_which_unit() {
        let (sectors, bytes, kib) = (Some(Unit::Space(Sectors)), Some(Unit::Space(Bytes)), Some(Unit::Space(Kib)));
        let (us, ms) = (Some(Unit::Time(Microseconds)), Some(Unit::Time(Milliseconds)));
        for (names, expected) in [
            ("Timestamp ts arrival_time req_time TimeStamp Request_Arrival_Time issueTime clock", role(Role::Time, None)),
            ("time_us time(us) Time[µs] timestamp-usec TimeUS timeUs timeus arrival.microseconds us", role(Role::Time, us)),
            ("time_ms msec ts_in_ms timestampMs", role(Role::Time, ms)),
            ("time_s seconds ts(sec)", role(Role::Time, Some(Unit::Time(Seconds)))),
            ("timestamp_100ns filetime", role(Role::Time, Some(Unit::Time(HundredNanoseconds)))),
            ("op Type IOType io_type opcode R/W rw read_write RW_flag Type_of_Requests reqtype ope", role(Role::Op, None)),
            ("offset Offset start_address addr", role(Role::Lba, None)),
            ("lba LBA startLBA slba lbn block block_no block_number start_block blkno", role(Role::Lba, Some(Unit::Blocks))),
            ("sector sector_number offset_sectors Starting_Logical_Sector_Address start_sectors lba_512b lsn", role(Role::Lba, sectors)),
            ("offset_bytes ByteOffset start_byte offset(B) lba_bytes", role(Role::Lba, bytes)),
            ("lba_4k offset_4KiB", role(Role::Lba, Some(Unit::Sized(4096)))),
            ("page lpn", role(Role::Lba, Some(Unit::Pages))),
            ("size len Length block_size req_size count transfer_length", role(Role::Len, None)),
            (
                "sectors nsectors io.len num_sectors sector_count size_sectors Request_Size_In_Sectors length(sectors)",
                role(Role::Len, sectors),
            ),
            ("bytes size_bytes byte_count", role(Role::Len, bytes)),
            ("size_kib kb sizeKB length_in_kb", role(Role::Len, kib)),
            ("blocks nlb num_blocks nblocks block_count", role(Role::Len, Some(Unit::Blocks))),
            ("device DiskNumber disk_number LUN volume VolumeID device_id devno asu nsid major", role(Role::Device, None)),
            ("latency ResponseTime io.latency", role(Role::Latency, None)),
            ("latency_us resp(us) lat_usec", role(Role::Latency, us)),
            ("flush is_flush io.flush", role(Role::Flush, None)),
            (
                "queue queue_latency_us queue_depth pid process end_time completion_ts header.size io.ioClass fua md5 pre_wait",
                (Is::Other, None),
            ),
            ("x foo hostname", (Is::Unknown, None)),
            ("offset_us length_us device_us", (Is::Unknown, us)),
        ] {
            for name in names.split(' ') {
                let said = read(name);
                assert_eq!((said.is, said.unit), expected, "{name}");
            }
        }
    }

    #[test]
    fn a_number_in_a_name_belongs_to_its_unit() {
        for (name, unit) in [
            ("Block (4 KiB)", Unit::Sized(4096)),
            ("offset [512 bytes]", Unit::Space(Sectors)),
            ("address (8 K)", Unit::Sized(8192)),
            ("offset 2 KiB", Unit::Sized(2048)),
            ("Offset 1 (KiB)", Unit::Space(Kib)),
            ("Offset 3 KiB", Unit::Space(Kib)),
        ] {
            assert_eq!(read(name).unit, Some(unit), "{name}");
        }
    }

    #[test]
    fn names_of_operations_may_say_which_code_reads() {
        for (name, code) in [
            ("is_read", Some("1")),
            ("isWrite", Some("0")),
            ("iswrite", Some("0")),
            ("read", Some("1")),
            ("write_flag", Some("0")),
            ("op(0=read)", Some("0")),
            ("rw (1: write)", Some("0")),
            ("type 0 write 1 read", Some("1")),
            ("rw", None),
            ("read_write", None),
            ("op", None),
        ] {
            let said = read(name);
            assert_eq!((said.is, said.read_code), (Is::Role(Role::Op), code), "{name}");
        }
    }
}
