//! What the names of a trace's columns say, as in `offset_sectors`, `Time (us)`, `isRead` or `io.len`.
//!
//! A name is taken apart into words: at what is neither letter nor digit, where known words are written as one, and where
//! capitals begin. The words say what the column is and in which unit. Words that are not known say nothing.

use std::cmp::Reverse;
use std::fmt;

use crate::trace::delimiter::Delimiter;
use crate::trace::fields::Fault;
use crate::trace::format::Parsed;
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
    /// Whether the column may say which lines are requests of their own to the drive, as `event` and `result` may.
    pub(super) tells_lines: bool,
    /// True if the column may have the name of a machine.
    pub(super) is_host: bool,
    /// The unit of a column with a role, where it is none that is read.
    pub(super) unread_unit: Option<String>,
    /// Whether the name is a unit of time and nothing else, as `usec` is.
    pub(super) bare_unit: bool,
}

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    /// One that is read.
    Role(Role),
    /// A time, of which the name does not say whether it is that of the arrival: `total_us`, `elapsed` or `t`.
    SomeTime,
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
    /// The end of a request, in time or in space.
    End,
    /// The end of a request, in time.
    Done,
    /// The time since the request before.
    Delta,
    Since,
    Previous,
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
    /// A request's way to the drive: in a unit of time, the arrival.
    Came,
    /// The time since something began, or how long it took.
    Elapsed,
    /// As `io_time` has it, which is mostly how long it took.
    Io,
    Read,
    Write,
    /// The code 0 or 1.
    Code(&'static str),
    Name,
    Nvme(Role),
    /// A unit of time that is as often short for something else.
    Short(TimeUnit),
    /// The same, of times alone: a `latency_min` is the shortest.
    OfTimes(TimeUnit),
    /// A unit that is not read.
    Unread,
    Filler,
    Unknown,
}

use AddressUnit::{Bytes, Kib, Sectors};
use TimeUnit::{Hours, Minutes, Nanoseconds, Seconds};
use Word::{
    Came, Code, Count, Delta, Done, Elapsed, End, First, In, Io, Name as Named, Number, Nvme, OfTimes, Offset, One, Other, Previous, Read,
    Short, Since, Unit as Units, Unread, Write,
};

#[rustfmt::skip]
const WORDS: &[(Word, &[&str])] = &[
    (Other, &[
        "wait", "delay", "think", "queue", "qd", "qdepth", "depth", "inflight", "process", "proc", "pid", "tid", "ppid",
        "tgid", "thread", "threads", "comm", "cpu", "core", "md5", "hash", "crc", "checksum", "error", "err",
        "errno", "status", "result", "sync", "fua", "priority", "prio", "class", "ioclass", "index", "idx", "seq",
        "sequence", "sid", "cid", "qid", "hint", "inode", "ino", "file", "filename", "path", "cache", "memory", "mem",
        "irp", "ptr", "retries", "slat", "q2d", "q2i", "q2g", "g2i", "i2d",
    ]),
    (Done, &["finish", "finished", "complete", "completed", "completion", "done"]),
    (End, &["end", "ends", "last"]),
    (Delta, &["gap", "delta", "iat", "interarrival", "inter"]),
    (Since, &["since", "from"]),
    (Previous, &["previous", "prev"]),
    (OfTimes(Minutes), &["min", "mins"]),
    (OfTimes(Hours), &["h"]),
    (Unread, &[
        "day", "days", "week", "weeks", "ps", "psec", "picoseconds", "fs", "tick", "ticks", "cycle", "cycles", "jiffy", "jiffies",
        "tsc", "words", "dwords", "tracks", "cylinders", "clusters", "extents", "chunks", "tib", "tb",
    ]),
    (Word::Is(Role::Latency), &[
        "latency", "lat", "clat", "response", "resp", "duration", "dur", "service", "took", "rtt", "await", "q2c", "d2c",
    ]),
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
        "time", "times", "timestamp", "timestamps", "tstamp", "ts", "arrival", "clock", "date", "datetime", "when", "asked", "at",
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
    (Units(Unit::Sized(1 << 30)), &["gib", "gb", "gbytes", "gibibytes", "gigabytes"]),
    (Short(Seconds), &["s", "sec", "secs"]),
    (Number, &["number", "num", "no", "nr", "n", "nb"]),
    (First, &["start", "starting", "first", "begin"]),
    (Read, &["read", "reads", "rd", "r"]),
    (Write, &["write", "writes", "wr", "w"]),
    (Code("0"), &["0"]),
    (Code("1"), &["1"]),
    (Named, &["name"]),
    (Came, &["submit", "submitted", "issue", "issued", "arrived"]),
    (Elapsed, &["elapsed", "total"]),
    (Io, &["io"]),
    (Word::Filler, &["is", "req", "request", "in", "of", "id", "flag", "or", "logical", "record"]),
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

/// Words of columns whose values may say that a line is another event of a request, or that the request never came to the drive.
#[rustfmt::skip]
const TELLING: &[&str] = &[
    "event", "action", "phase", "status", "state", "stage", "layer", "step", "type", "kind", "result", "outcome", "hit", "miss", "cached",
    "error", "err", "errno", "success", "failed", "ret", "retcode", "return", "tracepoint", "probe", "point", "hook",
];

/// Names of columns with the machine that a request is of.
const HOSTS: [&str; 6] = ["host", "hostname", "machine", "node", "server", "vm"];

/// The line that names the columns of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// As it is written.
    pub(super) line: String,
    /// Its place among the lines that are not blank, from 0.
    pub(super) at: usize,
    pub(super) titles: Vec<String>,
    /// What separates the fields of other lines, where these have as many as it has names.
    pub(super) delimiter: Option<Delimiter>,
}

/// What stands before the requests of a text: titles, comments, and perhaps the names of the columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preamble {
    /// How many lines it has that are not blank.
    pub(super) lines: usize,
    pub(super) header: Option<Header>,
    /// The first lines behind it, which tell what is common to all.
    pub(super) behind: Vec<String>,
}

impl Preamble {
    /// Finds it among the first lines of a text that are not blank. The header line has the names that are wanted, if there are any.
    pub(super) fn of(lines: &[String], wanted: &[&str]) -> Self {
        let header = header(lines, wanted);
        let remarks = lines.iter().take_while(|line| is_remark(line)).count();
        let before = header.as_ref().map_or(remarks, |header| {
            let rules = lines[header.at + 1..].iter().take_while(|line| is_rule(line)).count();
            header.at + 1 + rules
        });
        Self { lines: before, header, behind: lines[before.min(lines.len())..].to_vec() }
    }

    /// What a line is that a format could not read: a part of this, the header line once more, or faulty.
    #[cold]
    pub(super) fn or_fault(&self, at: usize, line: &str, fault: Fault) -> Result<Parsed, Fault> {
        let is_again = self.header.as_ref().is_some_and(|header| header.line == line.trim());
        match at < self.lines {
            true => Ok(Parsed::Other(self.kind(at, line))),
            false if is_again => Ok(Parsed::Other("header lines")),
            false => Err(fault),
        }
    }

    /// What one of its lines is, in the plural.
    pub(super) fn kind(&self, at: usize, line: &str) -> &'static str {
        match &self.header {
            Some(header) if header.at == at => "header lines",
            Some(header) if header.at < at => "lines below the header line",
            _ if uncommented(line).is_some() => "comment lines",
            _ => "title lines",
        }
    }
}

/// A line that may name the columns.
struct Candidate {
    has_wanted: bool,
    header: Header,
    /// How many roles its names have.
    named: usize,
}

/// Of the lines that could name the columns, the one that fits the others best. What stands before it is no request.
fn header(lines: &[String], wanted: &[&str]) -> Option<Header> {
    let first = lines.iter().position(|line| !is_remark(line));
    let candidate = |at: usize| {
        let line = &lines[at];
        let mut titles = names_in(line);
        let has_wanted = !wanted.is_empty() && wanted.iter().all(|wanted| titles.iter().any(|title| title.eq_ignore_ascii_case(wanted)));
        if !has_wanted && !looks_like_header(line) {
            return None;
        }
        let named = named(&titles);
        let mut delimiter = delimiter_of(line, titles.len(), &lines[at + 1..]);
        if delimiter.is_none() && named >= 2 {
            delimiter = behind_row_names(line, titles.len(), &lines[at + 1..]);
            if delimiter.is_some() {
                titles.insert(0, String::new());
            }
        }
        // A sentence names next to nothing.
        let least = match (uncommented(line), delimiter) {
            (None, _) if first == Some(at) => 0,
            (None, Some(_)) => 2,
            _ => 3,
        };
        let is_one = (has_wanted || named >= least) && !lines[..at].iter().any(|line| is_row(line, titles.len(), delimiter));
        is_one.then(|| Candidate { has_wanted, named, header: Header { line: line.trim().into(), at, titles, delimiter } })
    };
    let candidates = (0..lines.len()).filter_map(candidate);
    candidates.max_by_key(|one| (one.has_wanted, one.header.delimiter.is_some(), one.named, Reverse(one.header.at))).map(|one| one.header)
}

/// The first lines behind a header line that may be requests.
fn rows(lines: &[String]) -> Vec<&String> {
    const LOOKED_AT: usize = 16;
    lines.iter().filter(|line| !is_remark(line) && !looks_like_header(line)).take(LOOKED_AT).collect()
}

/// What separates the fields of lines that have one more than there are names, whose first is the name of the line, as R and pandas
/// write them: it counts the lines, or stands between quotation marks.
fn behind_row_names(header: &str, names: usize, lines: &[String]) -> Option<Delimiter> {
    let rows = rows(lines);
    let is_named = |delimiter: &Delimiter| {
        let fields: Vec<Vec<String>> = rows.iter().map(|row| delimiter.fields(row)).collect();
        let numbers: Option<Vec<u64>> = fields.iter().map(|fields| fields.first()?.parse().ok()).collect();
        let counts = numbers.is_some_and(|numbers| numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])));
        let are_quoted = rows.iter().all(|row| row.trim_start().starts_with('"'));
        let have_one_more = |fields: &Vec<String>| fields.len() == names + 1 && fields.last().is_some_and(|last| !last.is_empty());
        !rows.is_empty() && fields.iter().all(have_one_more) && (counts || are_quoted)
    };
    let own = Delimiter::of(uncommented(header).unwrap_or(header), 2);
    own.into_iter().chain(Delimiter::ALL).find(is_named)
}

/// What separates the fields of the lines behind a header line, if most of them have as many as it has names.
fn delimiter_of(header: &str, names: usize, lines: &[String]) -> Option<Delimiter> {
    let rows = rows(lines);
    let has_names = |delimiter: Delimiter, row: &str| {
        let fields = delimiter.fields(row);
        fields.len() == names || fields.len() == names + 1 && fields.last().is_some_and(String::is_empty)
    };
    let fits = |delimiter: &Delimiter| {
        let fitting = rows.iter().filter(|row| has_names(*delimiter, row)).count();
        fitting > 0 && 2 * fitting >= rows.len()
    };
    let own = Delimiter::of(uncommented(header).unwrap_or(header), 2);
    // Where white space separates columns, a line with a blank cell has fewer fields.
    let has_blanks = |delimiter: &Delimiter| {
        let widths = rows.iter().map(|row| delimiter.fields(row).len());
        *delimiter == Delimiter::WhiteSpace && named(&names_in(header)) >= 3 && widths.max() == Some(names)
    };
    own.into_iter().chain(Delimiter::ALL).find(fits).or(own.filter(has_blanks))
}

/// Whether a line has as many fields as there are names, and numbers among them.
fn is_row(line: &str, names: usize, delimiter: Option<Delimiter>) -> bool {
    let Some(delimiter) = delimiter.or_else(|| Delimiter::of(line, 3)).filter(|_| !is_remark(line)) else { return false };
    let fields = delimiter.fields(line);
    let numbers = fields.iter().filter(|field| field.starts_with(|letter: char| letter.is_ascii_digit())).count();
    fields.len() == names && numbers > 1
}

/// How many roles these names have.
fn named(titles: &[String]) -> usize {
    let names: Vec<Is> = titles.iter().map(|title| read(title).is).collect();
    Role::ALL.into_iter().filter(|role| names.contains(&Is::Role(*role))).count()
}

/// Whether a line surely names columns.
pub(super) fn names_columns(line: &str) -> bool {
    looks_like_header(line) && named(&names_in(line)) >= 3
}

/// What a line without its mark of a comment is, if it has one.
pub(super) fn uncommented(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let marked = ["#", "//", "--", "%"].into_iter().find_map(|mark| line.strip_prefix(mark).map(|rest| rest.trim_start_matches(mark)));
    // A semicolon may separate fields, of which the first is empty.
    marked.or_else(|| line.strip_prefix(';').filter(|rest| !rest.contains(';'))).map(str::trim)
}

/// True for a line of dashes below the names of columns.
fn is_rule(line: &str) -> bool {
    let drawn = line.bytes().filter(|byte| b"-=".contains(byte)).count();
    drawn >= 2 && line.bytes().all(|byte| b"-=+|,;: \t\"".contains(&byte))
}

/// Whether a line is a comment, or says for a spreadsheet what separates fields, as `sep=;` does.
fn is_remark(line: &str) -> bool {
    let plain = line.trim().trim_matches('"');
    let is_separator = plain.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("sep=")) && plain.chars().count() <= 5;
    is_separator || uncommented(line).is_some()
}

/// Whether a line looks like the names of columns: at least three words, of which none begins like a number. The first may be
/// missing, as the name of the numbers of lines often is.
pub(super) fn looks_like_header(line: &str) -> bool {
    let line = uncommented(line).unwrap_or(line);
    let is_name = |field: &String| {
        field.trim_start_matches(['(', '[']).starts_with(|letter: char| letter.is_alphabetic() || matches!(letter, '_' | '@' | '$'))
    };
    Delimiter::of(line, 3).is_some_and(|delimiter| {
        let fields = delimiter.fields(line);
        fields.first().is_some_and(|first| first.is_empty() || is_name(first)) && fields[1..].iter().all(is_name)
    })
}

/// The names of the columns in a header line; a unit that stands apart in brackets belongs to the name before.
pub(super) fn names_in(line: &str) -> Vec<String> {
    let line = uncommented(line).unwrap_or(line);
    let delimiter = Delimiter::of(line, 2).unwrap_or(Delimiter::WhiteSpace);
    let mut names: Vec<String> = Vec::new();
    for field in delimiter.fields(line) {
        match names.last_mut() {
            Some(before) if delimiter == Delimiter::WhiteSpace && field.starts_with(['(', '[']) => *before += &format!(" {field}"),
            _ => names.push(field),
        }
    }
    names
}

/// Read a name together with the others of its header line: `io.len` is of Open CAS only beside its other names.
pub(super) fn read_among(name: &str, titles: &[String]) -> Name {
    let is_of_open_cas =
        |title: &String| !title.eq_ignore_ascii_case("io.len") && OPEN_CAS.iter().any(|(known, ..)| known.eq_ignore_ascii_case(title));
    let is_alone = name.eq_ignore_ascii_case("io.len") && !titles.iter().any(is_of_open_cas);
    read(if is_alone { "io_len" } else { name })
}

/// What a name of a column says.
pub(super) fn read(name: &str) -> Name {
    // A single letter is no word.
    let words = if name.chars().count() > 1 { words(name) } else { Vec::new() };
    let is_unit = |word: &Word| matches!(word, Units(Unit::Time(_)) | Short(_));
    let has = |word: Word| words.contains(&word);
    let nvme = words.iter().any(|word| matches!(word, Nvme(_)));
    let tells_lines = tells_lines(name);
    let is_host = name.split(|letter: char| !letter.is_alphanumeric()).any(|word| HOSTS.iter().any(|host| word.eq_ignore_ascii_case(host)));
    let mut said = Name {
        is: Is::Unknown,
        unit: None,
        read_code: None,
        nvme,
        is_name: has(Named),
        tells_lines,
        is_host,
        unread_unit: None,
        bare_unit: false,
    };
    if name.eq_ignore_ascii_case("t") {
        return Name { is: Is::SomeTime, ..said };
    }
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
        .or_else(|| words.iter().any(is_unit).then_some(Role::Time))
        .or_else(|| reads_or_writes.then_some(Role::Op));
    said.unit = unit(&words, role);
    let fits = match (role, said.unit) {
        (_, None) => true,
        (Some(Role::Time | Role::Latency), Some(unit)) => matches!(unit, Unit::Time(_)),
        (Some(Role::Lba | Role::Len), Some(unit)) => !matches!(unit, Unit::Time(_)),
        _ => false,
    };
    let is_delta = has(Delta) || has(Since) && (has(End) || has(Previous));
    said.is = match role.filter(|_| fits) {
        Some(Role::Time) | None if is_delta && fits => Is::Role(Role::Delta),
        Some(Role::Time) | None if (has(End) || has(Done)) && fits => Is::Role(Role::Done),
        Some(Role::Lba) if has(End) => Is::Role(Role::Last),
        Some(role) if role != Role::Latency && (is_delta || has(End) || has(Done)) => Is::Other,
        Some(Role::Time) if is_some_time(name, &words) => Is::SomeTime,
        Some(role) => Is::Role(role),
        None if matches!(words[..], [First]) || name.eq_ignore_ascii_case("elapsed") => Is::SomeTime,
        None => Is::Unknown,
    };
    said.bare_unit = said.is == Is::Role(Role::Time) && words.iter().all(is_unit);
    said.unread_unit = unread_unit(name, &words).filter(|_| said.unit.is_none() && matches!(said.is, Is::Role(_)));
    if said.is == Is::Role(Role::Op) {
        said.read_code = read_code(&words);
    }
    said
}

/// Whether a name is that of a time, but not surely of the arrival: a unit of time with words that are not known, or the time of the I/O.
fn is_some_time(name: &str, words: &[Word]) -> bool {
    let is_time = |word: &Word| *word == Word::Is(Role::Time);
    if words.iter().any(is_time) {
        let is_of_io = words.contains(&Elapsed) || words.windows(2).any(|pair| pair[0] == Io && is_time(&pair[1]));
        return is_of_io && !words.iter().any(|word| matches!(word, First | Came));
    }
    // As in `t_us`.
    let is_t = name.split(|letter: char| !letter.is_alphanumeric()).next().is_some_and(|chunk| chunk.eq_ignore_ascii_case("t"));
    let is_sure = is_t || words.iter().any(|word| matches!(word, First | Came));
    !is_sure && words.iter().any(|word| matches!(word, Word::Unknown | Elapsed | Io | Word::Filler | Read | Write | Number | Count))
}

/// Whether a name has one of the words of columns that tell which lines are requests.
fn tells_lines(name: &str) -> bool {
    let is_one = |chunk: &str| {
        let chunk = chunk.to_lowercase();
        let ends = |word: &&str| chunk == **word || chunk.len() > 3 && chunk.ends_with(*word) && word.len() > 2;
        TELLING.iter().any(|word| ends(word) || chunk.strip_suffix('s').is_some_and(|one| one == *word))
    };
    name.split(|letter: char| !letter.is_alphanumeric()).any(is_one)
}

/// The unit in a name that is none that is read: a word for one, or what stands in brackets behind a time.
fn unread_unit(name: &str, words: &[Word]) -> Option<String> {
    let in_brackets = || {
        let (_, inner) = name.trim_end_matches([')', ']']).rsplit_once(['(', '['])?;
        (inner.len() + 1 < name.len() && words.last() == Some(&Word::Unknown)).then(|| inner.trim().to_owned())
    };
    let chunks = || name.split(|letter: char| !letter.is_alphanumeric());
    let unread = chunks().find(|chunk| known(&chunk.to_lowercase()) == Some(Unread)).map(str::to_owned);
    unread.or_else(|| in_brackets().filter(|_| words.contains(&Word::Is(Role::Time))))
}

/// The address or the size that a unit stands for.
fn amount(words: &[Word]) -> Option<Role> {
    let place = words.iter().position(|word| matches!(word, Units(unit) | One(unit) if !matches!(unit, Unit::Time(_))))?;
    let is_first = words.contains(&First) || words.contains(&End);
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
        OfTimes(unit) if role == Some(Role::Time) => Some(Unit::Time(*unit)),
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
            ("latency ResponseTime io.latency duration took rtt clat q2c", role(Role::Latency, None)),
            ("dur_us took_us rtt_us clat_us d2c(us) response_usec await_us", role(Role::Latency, us)),
            ("total_us io_time_us elapsed_us mono_us req_us total_time_us", (Is::SomeTime, us)),
            ("t start elapsed io_time", (Is::SomeTime, None)),
            ("t_us start_us submit_us issued(us) asked_us", role(Role::Time, us)),
            ("slat_us wait_us q2d_us", (Is::Other, None)),
            ("latency_us resp(us) lat_usec", role(Role::Latency, us)),
            ("flush is_flush io.flush", role(Role::Flush, None)),
            ("queue queue_latency_us queue_depth pid process header.size io.ioClass fua md5 pre_wait", (Is::Other, None)),
            ("end_time completion_ts finish ENDs done", role(Role::Done, None)),
            ("end_time_us complete(us) EndUS", role(Role::Done, us)),
            ("interarrival_us time_since_last_us gap(us)", role(Role::Delta, us)),
            ("delta iat inter_arrival_time", role(Role::Delta, None)),
            ("end_lba last_lba", role(Role::Last, Some(Unit::Blocks))),
            ("last_sector end_sectors", role(Role::Last, sectors)),
            ("completion_latency_us", role(Role::Latency, us)),
            ("time_min minutes", role(Role::Time, Some(Unit::Time(Minutes)))),
            ("time_h hours", role(Role::Time, Some(Unit::Time(Hours)))),
            ("size_gb", role(Role::Len, Some(Unit::Sized(1 << 30)))),
            ("min_offset", role(Role::Lba, None)),
            ("latency_min", role(Role::Latency, None)),
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
    fn units_that_are_not_read_are_named() {
        for (name, unit) in [
            ("time_ticks", Some("ticks")),
            ("time (days)", Some("days")),
            ("Time [tocks]", Some("tocks")),
            ("offset_tracks", Some("tracks")),
            ("time_us", None),
            ("time_of_x", None),
            ("ticks", None),
        ] {
            assert_eq!(read(name).unread_unit.as_deref(), unit, "{name}");
        }
    }

    #[test]
    fn some_columns_may_tell_which_lines_are_requests() {
        for name in
            ["event", "Event Name", "eventType", "io_status", "cache_hit", "cachehit", "PHASE", "result", "errors", "IOType", "layer"]
        {
            assert!(read(name).tells_lines, "{name}");
        }
        for name in ["time_us", "white", "op", "hitherto", "latency"] {
            assert!(!read(name).tells_lines, "{name}");
        }
    }

    fn preamble(text: &str, wanted: &[&str]) -> Preamble {
        Preamble::of(&text.lines().map(str::to_owned).collect::<Vec<_>>(), wanted)
    }

    #[test]
    fn the_header_line_may_stand_behind_others() {
        const NAMES: &str = "time_us,lba,sectors,is_read,device";
        const ROWS: &str = "0,2048,8,1,0\n100,4096,8,0,0";
        for before in [
            "",
            "volume trace exported 2024\n",
            "# a\n# b\n",
            "sep=,\n",
            "exported by tool v2,,,,\n",
            "Tracing block I/O. Ctrl-C to end.\n",
            "Recorded 2024-03-05 10:00, 3 disks\nsize and time of requests\n// c\n",
            "; c\n-- d\n% e\n",
        ] {
            for mark in ["", "# ", "//"] {
                let found = preamble(&format!("{before}{mark}{NAMES}\n{ROWS}\n{NAMES}\n{ROWS}"), &[]);
                let header = found.header.unwrap_or_else(|| panic!("{before}"));
                assert_eq!((found.lines, header.at), (before.lines().count() + 1, before.lines().count()), "{before}{mark}");
                assert_eq!((header.titles.len(), header.delimiter), (5, Some(Delimiter::Letter(','))), "{before}{mark}");
            }
        }
        // What stands before a request names nothing of it.
        let none = preamble(&format!("{ROWS}\n{NAMES}\n{ROWS}"), &[]);
        assert_eq!((none.lines, none.header), (0, None));
        let behind = vec!["1,2,3".to_owned()];
        assert_eq!(preamble("# a\n# b\n1,2,3", &[]), Preamble { lines: 2, header: None, behind });
        assert_eq!(preamble("1 a,2 b\n1,2", &["2 B", "1 a"]).header.unwrap().titles, ["1 a", "2 b"]);
        let words = preamble("STARTs ENDs TYPE (x) DEV\n1 2 R 8,16", &[]).header.unwrap();
        assert_eq!((words.titles.len(), words.delimiter), (4, Some(Delimiter::WhiteSpace)));
        for (line, expected) in [
            ("Timestamp,Type,Offset", true),
            ("a b c", true),
            ("# time op lba", true),
            ("a b", false),
            ("1,2,3", false),
            ("8,R,x", false),
            (",time,op,lba", true),
            ("time (us) op lba [sectors]", true),
            ("(1) 2 3 4", false),
            ("/dev/sda add x", false),
            ("\"a, b\",c,d", true),
        ] {
            assert_eq!(looks_like_header(line), expected, "{line}");
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
