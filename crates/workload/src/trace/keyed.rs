//! Texts whose values have keys, JSON and lines of `key=value`: which keys those of a request are, and the command that writes the
//! requests as CSV.
//!
//! Neither is read as it is: a value may be in any depth, and a line may lack a key. The command is made for the file at hand. Its CSV
//! has a column for every key that requests have, with the keys as names, so that the proposal for CSV judges both: what is a device, an
//! event or a latency here is one there.

use rustc_hash::FxHashSet;

use crate::text;
use crate::trace::columns;
use crate::trace::header::{self, Is, Preamble};
use crate::trace::iso8601;
use crate::trace::mapping::Role;
use crate::trace::op::Op;
use crate::trace::opening::FirstLines;
use crate::trace::proposal;

/// How many bytes of a text are looked at.
pub(super) const LOOKED_AT: usize = 1 << 26;

/// How many requests are looked at to find out what their columns are.
const JUDGED: usize = 256;

/// What fio's results are called. They have no requests.
const RESULTS_OF_FIO: &str = "fio's results in JSON";

/// Keys that are shown of a text without requests.
const SHOWN: usize = 12;

/// What is between the keys of an object within an object.
const WITHIN: char = '\u{1}';

/// Keys of objects this deep in one that is a request are not its own.
const DEPTH_MAX: usize = 6;

/// What is before a key of an object around the list that a request is in, and instead of a key for the names of the lists.
const AROUND: char = '\u{2}';
const LIST: &str = "\u{2}";

/// The name of the column with the names of lists.
const LIST_TITLE: &str = "list";

/// How many bytes of JSON are looked at to find out which objects are requests.
const FIRST_LOOKED_AT: usize = 1 << 16;

/// Numbers with more letters than these are rounded by programs that hold them as floating-point numbers.
const EXACT_LETTERS: usize = 15;

/// Keys of one object or line, with their values where these are no objects or lists.
type Keyed = Vec<(String, String)>;

/// A key as messages and header lines have it.
fn title(key: &str) -> String {
    if key == LIST { LIST_TITLE.to_owned() } else { key.trim_start_matches(AROUND).replace(WITHIN, ".") }
}

/// Which keys make a request of an object or a line.
struct Keys {
    op: String,
    lba: String,
    /// The key of the time, if there is one.
    time: Option<String>,
}

impl Keys {
    /// The keys for an operation and an address, if these and a size are there; or else what is not.
    fn of(object: &Keyed) -> Result<Self, Vec<&'static str>> {
        let named = |roles: &'static [Role]| {
            object.iter().filter(move |(key, _)| matches!(header::read(&title(key)).is, Is::Role(role) if roles.contains(&role)))
        };
        // Of several names of operations, the one with a usual word for one is it.
        let op = named(&[Role::Op]).find(|(_, value)| columns::op(value).is_some()).or_else(|| named(&[Role::Op]).next());
        let lba = named(&[Role::Lba]).next();
        let len = named(&Role::HOW_LONG).next();
        let missing =
            [op.map_or(Some("an operation"), |_| None), lba.map_or(Some("an address"), |_| None), len.map_or(Some("a size"), |_| None)];
        match (op, lba, len) {
            (Some((op, _)), Some((lba, _)), Some(_)) => {
                let time = named(&Role::WHEN).next().map(|(time, _)| time.clone());
                Ok(Self { op: op.clone(), lba: lba.clone(), time })
            }
            _ => Err(missing.into_iter().flatten().collect()),
        }
    }

    /// Whether an object or a line is a request: it has an operation and an address, or is a flush. A read or write with a time
    /// counts too: if its address has another key, the line is faulty when it is read, and not left out silently.
    fn are_in(&self, object: &Keyed) -> bool {
        let value = |key: &str| object.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        let is_flush = |word: &str| columns::op(word).is_some_and(|found| found.op == Some(Op::Flush));
        let is_data = |word: &str| DATA_WORDS.contains(&word.to_ascii_lowercase().as_str());
        let has_time = || self.time.as_ref().is_some_and(|time| value(time).is_some());
        value(&self.op).is_some_and(|op| value(&self.lba).is_some() || is_flush(op) || is_data(op) && has_time())
    }
}

/// Whether one of the keys of an object says when it was.
fn has_time(object: &Keyed) -> bool {
    object.iter().any(|(key, _)| matches!(header::read(&title(key)).is, Is::Role(role) if Role::WHEN.contains(&role)))
}

/// Words of operations that have an address.
const DATA_WORDS: [&str; 6] = ["r", "rd", "read", "w", "wr", "write"];

/// The same as a regular expression.
fn data_words() -> String {
    format!("^({})$", DATA_WORDS.join("|"))
}

/// Words that an operation without an address may be, as a regular expression.
const FLUSHES: &str = "flush|sync|^[fF][fFwWaAsSmM]*$";

/// Which of these objects is the most like a request, one that says its time before others; or what the nearest of them lacks, with
/// its keys.
fn request<'a>(objects: impl Iterator<Item = &'a Keyed>) -> Result<Keys, (Vec<&'static str>, Vec<String>)> {
    let mut timeless = None;
    let mut nearest: Option<(Vec<&'static str>, &Keyed)> = None;
    for object in objects {
        match Keys::of(object) {
            Ok(keys) if has_time(object) => return Ok(keys),
            Ok(keys) => timeless = timeless.or(Some(keys)),
            Err(missing) if nearest.as_ref().is_none_or(|(before, _)| before.len() > missing.len()) => nearest = Some((missing, object)),
            Err(_) => {}
        }
    }
    let lacking = nearest.map(|(missing, object)| (missing, object.iter().map(|(key, _)| title(key)).collect()));
    timeless.ok_or(lacking.unwrap_or_default())
}

/// The requests among the objects or lines of a text.
#[derive(Default)]
struct Requests {
    /// Every key that one of them has, in the order in which they come.
    keys: Vec<String>,
    known: FxHashSet<String>,
    /// The first of them.
    first: Vec<Keyed>,
    /// The names of the lists that they are in, as far as these differ.
    lists: Vec<String>,
    /// Whether a number has more digits than programs keep that hold numbers as floating-point numbers.
    has_long_numbers: bool,
}

impl Requests {
    fn add(&mut self, object: Keyed) {
        for (key, value) in &object {
            if key == LIST && self.lists.len() < SHOWN && !self.lists.contains(value) {
                self.lists.push(value.clone());
            }
            if !self.known.contains(key) {
                self.known.insert(key.clone());
                self.keys.push(key.clone());
            }
            self.has_long_numbers |= value.len() > EXACT_LETTERS && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        }
        if self.first.len() < JUDGED {
            self.first.push(object);
        }
    }

    fn titles(&self) -> Vec<String> {
        self.keys.iter().map(|key| title(key)).collect()
    }

    /// How the CSV with a column for each key is read, as the end of a sentence. `is_cut` says whether more of the text follows than
    /// was looked at.
    fn reading(&self, is_cut: bool) -> String {
        let value =
            |object: &Keyed, key: &String| object.iter().find(|(known, _)| known == key).map_or(String::new(), |(_, value)| csv(value));
        let row = |object: &Keyed| self.keys.iter().map(|key| value(object, key)).collect::<Vec<_>>().join(",");
        let titles = self.titles().iter().map(|title| csv(title)).collect::<Vec<_>>().join(",");
        let mut lines: Vec<String> = std::iter::once(titles).chain(self.first.iter().map(row)).collect();
        let is_timed = self.first.iter().any(has_time);
        if !is_timed {
            // Judged as if the order were the time.
            lines.iter_mut().zip(0_u32..).for_each(|(line, at)| *line += &if at == 0 { format!(",{ORDER}") } else { format!(",{at}") });
        }
        let preamble = Preamble::of(&lines, &[]);
        let first = FirstLines { lines, ..FirstLines::default() };
        let proposal = proposal::proposal(&first, &preamble, None, None);
        let cut = if is_cut {
            format!(". Keys that only come behind its first {} are left out", text::binary_size(LOOKED_AT as u64))
        } else {
            String::new()
        };
        let reading = match proposal {
            Some(proposal) if is_timed => format!("and {proposal}"),
            Some(proposal) => format!(
                "and none of its keys names a time, so that there is an order and nothing else, for a run with --queue-depth: {}",
                proposal.replace(&format!(",{ORDER_PART}"), "").replace(&format!("{ORDER_PART},"), "")
            ),
            None => "which --columns reads".into(),
        };
        let lists: Vec<String> = self.lists.iter().map(|list| text::quoted(list)).collect();
        let lists = match self.keys.iter().position(|key| key == LIST) {
            Some(at) => format!(
                ". Its column {}, {LIST_TITLE}, has the names of the lists that requests are in, such as {}; where each is a device, \
                 `device` for this column in --columns reads it so",
                at + 1,
                text::listed(&lists)
            ),
            None => String::new(),
        };
        format!(" writes them as CSV, {reading}{lists}{cut}")
    }
}

/// The name of a column with the numbers of requests, and what a mapping makes of it.
const ORDER: &str = "time_us";
const ORDER_PART: &str = "time:us";

/// A value as CSV has it.
fn csv(value: &str) -> String {
    if value.contains([',', '"']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.to_owned() }
}

/// The keys that are there and what is missing among them, as a sentence.
fn lack((missing, keys): &(Vec<&'static str>, Vec<String>), of: &str) -> String {
    let mut shown: Vec<String> = keys.iter().take(SHOWN).map(|key| text::quoted(key)).collect();
    if keys.len() > SHOWN {
        shown.push(format!("{} more", keys.len() - SHOWN));
    }
    let missing: Vec<String> = missing.iter().map(|what| (*what).to_owned()).collect();
    if shown.is_empty() {
        return format!("no {of} of its beginning has keys, and a request has an operation, an address and a size");
    }
    format!("the {of} that is most like a request has the keys {}, and none of them names {}", text::listed(&shown), text::listed(&missing))
}

/// What JSON is that begins with this text, and what can be done with it. `file` is how a shell gets at it.
pub(super) fn json(head: &str, file: &ShellFile) -> (&'static str, String) {
    if head.contains("\"fio version\"") {
        let how = "it has no requests. A job with write_lat_log=NAME and log_offset=1, or with write_iolog=NAME, writes a log of them, which is read";
        return (RESULTS_OF_FIO, how.into());
    }
    let mut first: Vec<Keyed> = Vec::new();
    let beginning = head.char_indices().nth(FIRST_LOOKED_AT).map_or(head, |(end, _)| &head[..end]);
    each_object(beginning, &mut |object, _, _| first.push(object.clone()));
    let keys = match request(first.iter()) {
        Ok(keys) => keys,
        Err(lacking) => return ("JSON", lack(&lacking, "object")),
    };
    let mut requests = Requests::default();
    each_object(head, &mut |object, key, outer| {
        if keys.are_in(object) {
            let mut object = object.clone();
            object.extend(around(&object, key, outer));
            requests.add(object);
        }
    });
    if requests.lists.len() < 2 {
        requests.keys.retain(|key| key != LIST);
    }
    ("JSON", format!("`{}`{}", jq(&keys, &requests, file), requests.reading(head.len() >= LOOKED_AT)))
}

/// What the objects around the list that an object is in say, and the names of the lists. What is nearest counts.
fn around(object: &Keyed, key: Option<&str>, outer: &[Open]) -> Keyed {
    let mut found = Keyed::new();
    for open in outer.iter().rev() {
        for (key, value) in &open.pairs {
            let around = format!("{AROUND}{key}");
            let is_known = object.iter().any(|(known, _)| known == key) || found.iter().any(|(known, _)| *known == around);
            if !key.contains(WITHIN) && !is_known {
                found.push((around, value.clone()));
            }
        }
    }
    let lists: Vec<&str> = outer.iter().filter_map(|open| open.key.as_deref()).chain(key).collect();
    if !lists.is_empty() {
        found.push((LIST.to_owned(), lists.join(".")));
    }
    found
}

/// The command that writes requests as CSV. The first line names the columns.
fn jq(keys: &Keys, requests: &Requests, file: &ShellFile) -> String {
    // A key is written as JSON has it, which is how this language has it too.
    let path = |key: &str| format!(".{}", key.split(WITHIN).map(|part| format!("[\"{part}\"]")).collect::<String>());
    let tried = |key: &str| if key.contains(WITHIN) { format!("({})?", path(key)) } else { path(key) };
    let value = |key: &String| match key.strip_prefix(AROUND) {
        Some("") => "($p | map(strings) | join(\".\"))".into(),
        Some(key) => {
            format!("([range(0; $p | length) as $n | $top | getpath($p[:$n]) | objects | {}] | map(select(. != null)) | last)", path(key))
        }
        None => path(key),
    };
    let header: Vec<String> = requests.titles().iter().map(|title| format!("\"{title}\"")).collect();
    let values: Vec<String> = requests.keys.iter().map(value).collect();
    let (op, lba) = (tried(&keys.op), tried(&keys.lba));
    let of_data = keys
        .time
        .as_ref()
        .map_or(String::new(), |time| format!(" or ({} != null and ({op} | tostring | test(\"{}\"; \"i\")))", tried(time), data_words()));
    let is_request = format!("{op} != null and ({lba} != null or ({op} | tostring | test(\"{FLUSHES}\"; \"i\")){of_data})");
    let objects = if requests.keys.iter().any(|key| key.starts_with(AROUND)) {
        "inputs as $top | $top | ([], paths(objects)) as $p | getpath($p) | objects"
    } else {
        "inputs | .. | objects"
    };
    let program = format!("[{}], ({objects} | select({is_request}) | [{}]) | @csv", header.join(", "), values.join(", "));
    // An apostrophe ends what a shell takes as it is.
    let program = program.replace('\'', "'\\''");
    // jq before 1.7 rounds numbers with many digits, and keeps what is in quotation marks.
    let quote = r#"sed -E 's/([:,[][[:space:]]*)([0-9][0-9.]{15,})([],}[:space:]]|$)/\1"\2"\3/g'"#;
    let programs = [requests.has_long_numbers.then(|| quote.to_owned()), Some(format!("jq -rn '{program}'"))];
    file.through(&programs.into_iter().flatten().collect::<Vec<_>>())
}

/// A file as a shell gets at it.
pub(super) struct ShellFile {
    /// Its name as a shell takes it.
    pub(super) name: String,
    /// The command that writes what is in it, if it is packed.
    pub(super) unpacked: Option<String>,
}

impl ShellFile {
    /// A program that reads the file, or what the programs before it write, and writes CSV beside the file.
    fn through(&self, programs: &[String]) -> String {
        let name = &self.name;
        let mut line = self.unpacked.clone().unwrap_or_default();
        for (at, program) in programs.iter().enumerate() {
            let (pipe, from) = if line.is_empty() { ("", format!(" {name}")) } else { (" | ", String::new()) };
            line += &format!("{pipe}{program}{}", if at == 0 { from } else { String::new() });
        }
        format!("{line} > {name}.csv")
    }
}

/// An object that is open, or a list.
struct Open {
    /// Its key in the object that it is in.
    key: Option<String>,
    is_list: bool,
    /// What was read of it, with the keys of objects in it behind their own.
    pairs: Keyed,
    /// The key that the next value has.
    next: Option<String>,
}

/// What is called with an object: its keys, its key in the object around it, and what is open around it.
type Found<'a> = dyn FnMut(&Keyed, Option<&str>, &[Open]) + 'a;

/// Calls a function with each object of a text, as far as that goes, the inner before the outer; with its key, and with what is open
/// around it.
fn each_object(text: &str, found: &mut Found<'_>) {
    let bytes = text.as_bytes();
    let mut open: Vec<Open> = Vec::new();
    let mut close = |open: &mut Vec<Open>| {
        let Some(closed) = open.pop() else { return };
        if closed.is_list {
            return;
        }
        found(&closed.pairs, closed.key.as_deref(), open);
        if let (Some(outer), Some(key)) = (open.last_mut().filter(|outer| !outer.is_list), closed.key) {
            // Numbers are the places of a list, as where each column is an object.
            let is_place = |inner: &str| inner.bytes().all(|byte| byte.is_ascii_digit());
            let are_near = |(inner, _): &(String, String)| inner.matches(WITHIN).count() + 1 < DEPTH_MAX && !is_place(inner);
            outer.pairs.extend(closed.pairs.into_iter().filter(are_near).map(|(inner, value)| (format!("{key}{WITHIN}{inner}"), value)));
        }
    };
    let mut at = 0;
    // The end of a string that begins here, before its mark.
    let string_end = |begin: usize| {
        let mut at = begin + 1;
        while at < bytes.len() && bytes[at] != b'"' {
            at += 1 + usize::from(bytes[at] == b'\\');
        }
        (at < bytes.len()).then_some(at)
    };
    while at < bytes.len() {
        let byte = bytes[at];
        let (value, end) = match byte {
            b'{' | b'[' => {
                let key = open.last_mut().and_then(|outer| outer.next.take());
                open.push(Open { key, is_list: byte == b'[', pairs: Keyed::new(), next: None });
                (None, at + 1)
            }
            b'}' | b']' => {
                close(&mut open);
                (None, at + 1)
            }
            b'"' => {
                let Some(end) = string_end(at) else { break };
                (Some(&text[at + 1..end]), end + 1)
            }
            _ if byte.is_ascii_whitespace() || b",:".contains(&byte) => (None, at + 1),
            _ => {
                let length = bytes[at..].iter().take_while(|byte| !b",:{}[]\" \t\r\n".contains(byte)).count();
                (Some(&text[at..at + length]), at + length)
            }
        };
        at = end;
        let Some((value, object)) = value.zip(open.last_mut().filter(|open| !open.is_list)) else { continue };
        match object.next.take() {
            Some(_) if value == "null" && byte != b'"' => {}
            Some(key) => object.pairs.push((key, value.to_owned())),
            None => object.next = Some(value.to_owned()),
        }
    }
    while !open.is_empty() {
        close(&mut open);
    }
}

/// The name of the time before the keys of a line, and of the word behind it.
const TIME: &str = "time";
const WORD: &str = "word";

/// More different words than these do not tell lines apart.
const WORDS_MAX: usize = 8;

/// How many of the first lines must have keys, and how many keys each.
const LINES_MIN: usize = 2;
const KEYS_MIN: usize = 3;

/// Whether the first lines of a text are pairs of keys and values.
pub(super) fn is_log(lines: &[String]) -> bool {
    let keyed = lines.iter().filter(|line| Line::of(line).keys >= KEYS_MIN).count();
    !lines.is_empty() && keyed >= LINES_MIN.min(lines.len())
}

/// What a log of keys and values is, and what can be done with it. `is_cut` says whether more of it follows.
pub(super) fn log(lines: &[&str], file: &ShellFile, is_cut: bool) -> (&'static str, String) {
    const WHAT: &str = "a log of keys and values";
    let first: Vec<Line> = lines.iter().take(JUDGED).map(|line| Line::of(line)).collect();
    let times = first.iter().find(|line| line.keys >= KEYS_MIN).map_or(0, |line| line.times);
    let keys = match request(first.iter().map(|line| &line.pairs)) {
        Ok(keys) => keys,
        Err(lacking) => return (WHAT, lack(&lacking, "line")),
    };
    let mut words: Vec<&str> = Vec::new();
    for line in first.iter().filter(|line| keys.are_in(&line.pairs)) {
        if words.len() <= WORDS_MAX && !words.contains(&line.word.as_str()) {
            words.push(&line.word);
        }
    }
    let has_words = (2..=WORDS_MAX).contains(&words.len());
    let mut requests = Requests::default();
    for line in lines.iter().map(|line| Line::of(line)).filter(|line| keys.are_in(&line.pairs)) {
        let Line { mut pairs, word, .. } = line;
        if has_words {
            pairs.push((WORD.to_owned(), word));
        }
        requests.add(pairs);
    }
    (WHAT, format!("`{}`{}", awk(&keys, &requests, times, has_words, file), requests.reading(is_cut)))
}

/// The command that writes the requests of a log as CSV.
fn awk(keys: &Keys, requests: &Requests, times: usize, has_words: bool, file: &ShellFile) -> String {
    let value = |key: &String| match key.as_str() {
        TIME if times > 0 => "q(t)".to_owned(),
        WORD if has_words => "q(w)".to_owned(),
        _ => format!("q(v[\"{key}\"])"),
    };
    let print: Vec<String> = requests.keys.iter().map(value).collect();
    let time = match times {
        0 => "",
        1 => "t = $1; gsub(/[][]/, \"\", t); gsub(/,/, \".\", t); ",
        _ => "t = $1 \" \" $2; gsub(/[][]/, \"\", t); gsub(/,/, \".\", t); ",
    };
    let word =
        if has_words { format!("w = $({times} + 1) ~ /=/ ? \"\" : $({times} + 1); gsub(/[],:;\"[]/, \"\", w); ") } else { String::new() };
    let of_data = keys.time.as_ref().map_or(String::new(), |key| {
        let has_time = if key == TIME { String::new() } else { format!("(\"{key}\" in v) && ") };
        format!(" || {has_time}tolower(v[\"{}\"]) ~ /{}/", keys.op, data_words())
    });
    let program = format!(
        "function q(s) {{return s ~ /,/ ? \"\\\"\" s \"\\\"\" : s}} BEGIN {{print \"{header}\"}} \
         {{{time}gsub(/ *= */, \"=\"); {word}gsub(/\"/, \"\"); split(\"\", v); for (i = 1; i <= NF; i++) if (split($i, p, \"=\") == 2) \
         {{gsub(/^[[({{]+/, \"\", p[1]); gsub(/^[[({{]+|[],;)}}]+$/, \"\", p[2]); if (!(p[1] in v)) v[p[1]] = p[2]}}}} \
         (\"{op}\" in v) && ((\"{lba}\" in v) || tolower(v[\"{op}\"]) ~ /{FLUSHES}/{of_data}) {{print {print}}}",
        header = requests.titles().join(","),
        op = keys.op,
        lba = keys.lba,
        print = print.join(" \",\" "),
    );
    file.through(&[format!("awk '{program}'")])
}

/// A line of a log.
struct Line {
    /// How many words before the keys are its time.
    times: usize,
    /// The word behind its time, if it is no key.
    word: String,
    /// How many keys it has, with its time.
    keys: usize,
    /// The keys with their values, after the time.
    pairs: Keyed,
}

impl Line {
    fn of(line: &str) -> Self {
        let spaced = line.split('=').map(str::trim).collect::<Vec<_>>().join("=");
        let words: Vec<&str> = spaced.split_ascii_whitespace().collect();
        let plain = |word: &str| word.trim_matches(['[', ']']).replace(',', ".");
        let two = words.get(..2).map(|words| format!("{} {}", plain(words[0]), plain(words[1]))).filter(|two| iso8601::is_time(two));
        let one = words
            .first()
            .map(|word| plain(word))
            .filter(|word| iso8601::is_time(word) || iso8601::of_day(word).is_some() || is_number(word));
        let (times, time) = match (two, one) {
            (Some(two), _) => (2, Some(two)),
            (None, Some(one)) => (1, Some(one)),
            (None, None) => (0, None),
        };
        let word = words
            .get(times)
            .filter(|word| !word.contains('='))
            .map_or(String::new(), |word| word.replace(['[', ']', ':', ',', ';', '"'], ""));
        let mut pairs: Keyed = time.map(|time| (TIME.to_owned(), time)).into_iter().collect();
        let mut keys = usize::from(!pairs.is_empty());
        for word in words {
            let word = word.replace('"', "");
            let Some((key, value)) = word.split_once('=').filter(|(_, value)| !value.contains('=')) else { continue };
            let key = key.trim_start_matches(['[', '(', '{']);
            let value = value.trim_start_matches(['[', '(', '{']).trim_end_matches([']', ',', ';', ')', '}']);
            // A key that is no plain word can't be in a command.
            let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte));
            if is_word && !value.is_empty() {
                keys += 1;
                if pairs.iter().all(|(known, _)| known != key) {
                    pairs.push((key.to_owned(), value.to_owned()));
                }
            }
        }
        Self { times, word, keys, pairs }
    }
}

fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit()) && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell_file() -> ShellFile {
        ShellFile { name: "f".into(), unpacked: None }
    }

    fn of_json(text: &str) -> String {
        json(text, &shell_file()).1
    }

    fn of_log(lines: &[&str]) -> String {
        assert!(is_log(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()), "{lines:?}");
        log(lines, &shell_file(), false).1
    }

    /// What a command makes of a file, if its programs are there.
    fn run(remedy: &str, content: &str, name: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), content).unwrap();
        let command = remedy.split('`').nth(1).unwrap();
        let run = std::process::Command::new("sh").args(["-c", command]).current_dir(folder.path()).output().unwrap();
        let errors = String::from_utf8_lossy(&run.stderr);
        if errors.contains("not found") {
            return None;
        }
        assert!(run.status.success() && errors.is_empty(), "{name}: {command}\n{errors}");
        Some(std::fs::read_to_string(folder.path().join("f.csv")).unwrap().replace('"', ""))
    }

    #[test]
    fn objects_are_found_in_any_depth_and_as_far_as_a_text_goes() {
        let objects = |text: &str| {
            let mut all: Vec<Keyed> = Vec::new();
            each_object(text, &mut |object, _, _| all.push(object.iter().map(|(key, value)| (title(key), value.clone())).collect()));
            all
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let text = r#"[{"a": 1, "b": {"c\"": "x,y", "d": [1, {"e": null, "e2": 2}]}, "f": true}, {"g": -1.5e3"#;
        let expected = [
            vec![pair("e2", "2")],
            vec![pair("c\\\"", "x,y")],
            vec![pair("a", "1"), pair("b.c\\\"", "x,y"), pair("f", "true")],
            vec![pair("g", "-1.5e3")],
        ];
        assert_eq!(objects(text), expected);
        for odd in ["", "\"", "{", "}", "]}{[", "{\"a", "{\"a\":", "{\"a\":\"b", "\\\"", "{\"a\" 1}", "é{\"é\":\"é\"}", "{\"a\":é}"] {
            objects(odd);
        }
        // Keys do not grow with the depth.
        objects(&"{\"a\":".repeat(100_000));
    }

    #[test]
    fn json_without_requests_has_no_command() {
        let (what, how) = json("{\n  \"fio version\" : \"fio-3.33\",\n \"jobs\": [{\"op\": 1, \"lba\": 2, \"len\": 3}]}", &shell_file());
        assert!(what == RESULTS_OF_FIO && how.starts_with("it has no requests. A job with write_lat_log=NAME"), "{how}");
        let how = of_json(r#"{"op": "R", "size": 4096, "who": {"name": "x"}}"#);
        assert_eq!(
            how,
            "the object that is most like a request has the keys `op`, `size` and `who.name`, and none of them names an address"
        );
        assert!(of_json("{}").starts_with("no object of its beginning has keys"));
        // Columns with the numbers of requests.
        let how = of_json(
            r#"{"time_s": {"0": 0.1, "1": 0.2}, "rw": {"0": "R", "1": "W"}, "lba": {"0": 8, "1": 16}, "size": {"0": 512, "1": 512}}"#,
        );
        assert_eq!(
            how,
            "the object that is most like a request has the keys `0` and `1`, and none of them names an operation, an address and a size"
        );
    }

    #[test]
    fn every_key_of_a_request_is_a_column() {
        // What a command writes, and what the proposal makes of it.
        for (content, csv, proposal) in [
            (
                // Two devices.
                "{\"ts_us\": 1, \"dev\": \"sdb\", \"op\": \"W\", \"offset_bytes\": 4096, \"size_bytes\": 4096}\n\
                 {\"ts_us\": 2, \"dev\": \"sda\", \"op\": \"R\", \"offset_bytes\": 4096, \"size_bytes\": 4096}\n",
                "ts_us,dev,op,offset_bytes,size_bytes\n1,sdb,W,4096,4096\n2,sda,R,4096,4096\n",
                "and --columns time:us,device,op,lba:bytes,len:bytes reads it",
            ),
            (
                // Two lines for each request, a key that only some have, and a flush without an address.
                "{\"ts_us\": 1, \"event\": \"submit\", \"op\": \"W\", \"offset_bytes\": 0, \"size_bytes\": 512}\n\
                 {\"ts_us\": 2, \"event\": \"complete\", \"op\": \"W\", \"offset_bytes\": 0, \"size_bytes\": 512, \"code\": 0}\n\
                 {\"ts_us\": 3, \"event\": \"submit\", \"op\": \"flush\"}\n{\"ts_us\": 4, \"note\": \"x\", \"op\": \"ping\"}\n",
                "ts_us,event,op,offset_bytes,size_bytes,code\n1,submit,W,0,512,\n2,complete,W,0,512,0\n3,submit,flush,,,\n",
                "--columns time:us,keep:submit,op,lba:bytes,len:bytes reads the lines with `submit`",
            ),
            (
                // A request whose address has another key is not left out without a word.
                "{\"ts_us\": 1, \"op\": \"R\", \"lba_sectors\": 8, \"sectors\": 8}\n\
                 {\"ts_us\": 2, \"op\": \"W\", \"sector\": 16, \"sectors\": 8}\n{\"op\": \"R\", \"iops\": 7}\n",
                "ts_us,op,lba_sectors,sectors,sector\n1,R,8,8,\n2,W,,8,16\n",
                "`lba_sectors` (column 3) and `sector` (column 5) could each be its lba",
            ),
            (
                // The end of requests, and how long they took.
                "{\"end_us\": 1570, \"op\": \"W\", \"offset_bytes\": 4096, \"size_bytes\": 8192, \"latency_us\": 90, \"hit\": false}\n",
                "end_us,op,offset_bytes,size_bytes,latency_us,hit\n1570,W,4096,8192,90,false\n",
                "--columns done:us,op,lba:bytes,len:bytes,latency:us,keep:false",
            ),
            (
                // More digits than a floating-point number holds.
                "{\"time_ns\":1709632800001480001,\"op\":\"W\",\"lba_sectors\":8,\"sectors\":8}\n\
                 {\"time_ns\": 1709632800001480003, \"op\":\"W\",\"lba_sectors\":8,\"sectors\":8,\"up_s\":1709632800.001480007}\n",
                "time_ns,op,lba_sectors,sectors,up_s\n1709632800001480001,W,8,8,\n1709632800001480003,W,8,8,1709632800.001480007\n",
                "--columns time:ns,op,lba:sectors,len:sectors",
            ),
            (
                // Objects in objects, in a list.
                "{\"host\": {\"cpus\": 4}, \"events\": [\n\
                 {\"time\": {\"us\": 5}, \"io\": {\"op\": \"W\", \"offset\": \"0x2000\", \"length\": 4096}},\n\
                 {\"time\": {\"us\": 6}, \"io\": {\"op\": \"R\", \"offset\": \"0x4000\", \"length\": 4096}}]}\n",
                "time.us,io.op,io.offset,io.length\n5,W,0x2000,4096\n6,R,0x4000,4096\n",
                "--columns time:us,op,lba:bytes,len:bytes reads it where",
            ),
            (
                // What is around the list counts, and what is nearest first.
                "[{\"dev\": \"sda\", \"io\": [{\"ts_us\": 1, \"op\": \"W\", \"lba_sectors\": 8, \"sectors\": 8}]},\n\
                 {\"dev\": \"sdb\", \"io\": [{\"ts_us\": 2, \"op\": \"R\", \"lba_sectors\": 8, \"sectors\": 8}]}]",
                "ts_us,op,lba_sectors,sectors,dev\n1,W,8,8,sda\n2,R,8,8,sdb\n",
                "--columns time:us,op,lba:sectors,len:sectors,device reads it",
            ),
            (
                "{\"sda\": [{\"ts_us\": 1, \"op\": \"W\", \"lba_sectors\": 8, \"sectors\": 8}],\n\
                 \"sdb\": [{\"ts_us\": 2, \"op\": \"R\", \"lba_sectors\": 8, \"sectors\": 8}]}",
                "ts_us,op,lba_sectors,sectors,list\n1,W,8,8,sda\n2,R,8,8,sdb\n",
                "reads it. Its column 5, list, has the names of the lists that requests are in, such as `sda` and `sdb`; where each is a device",
            ),
            (
                // No key is a time.
                "{\"op\": \"W\", \"lba_sectors\": 8, \"sectors\": 8}\n{\"op\": \"R\", \"lba_sectors\": 8, \"sectors\": 8}\n",
                "op,lba_sectors,sectors\nW,8,8\nR,8,8\n",
                "and none of its keys names a time, so that there is an order and nothing else, for a run with --queue-depth: --columns \
                 op,lba:sectors,len:sectors reads it",
            ),
        ] {
            let remedy = of_json(content);
            assert!(remedy.contains(proposal), "{remedy}");
            if let Some(written) = run(&remedy, content, csv) {
                assert_eq!(written, csv);
            }
        }
    }

    #[test]
    fn every_key_of_a_line_is_a_column() {
        for (content, csv, proposal) in [
            (
                "0.000100 event=submit op=W offset=4096 size=8192\n0.000190 event=complete op=W offset=4096 size=8192\n0.2 start=1\n",
                "time,event,op,offset,size\n0.000100,submit,W,4096,8192\n0.000190,complete,W,4096,8192\n",
                "--columns time:s,keep:submit,op,lba:bytes,len:bytes reads the lines with `submit`",
            ),
            (
                "time_us=1 dev=8,16 rw=W sector=16 bytes=4096\ntime_us=2 dev=81,6 rw=R sector=16 bytes=4096 lat_us=4\n",
                "time_us,dev,rw,sector,bytes,lat_us\n1,8,16,W,16,4096,\n2,81,6,R,16,4096,4\n",
                "--columns time:us,device,op,lba:sectors,len:bytes,latency:us reads it",
            ),
            (
                "[10:00:00.001480] rq: op=WRITE, sector=8, nr_sectors=8, comm=\"fio\"\n[10:00:00.001490] rq: op=FLUSH, comm=\"fio\";\n",
                "time,op,sector,nr_sectors,comm\n10:00:00.001480,WRITE,8,8,fio\n10:00:00.001490,FLUSH,,,fio\n",
                "--columns time:clock,op,lba:sectors,len:sectors reads it",
            ),
            (
                // A word tells lines apart.
                "2024-03-05 10:00:00,001 [issue] {op = W, lba_sectors = 8, sectors = 8}\n\
                 2024-03-05 10:00:00,002 [done] {op = W, lba_sectors = 8, sectors = 8}\n",
                "time,op,lba_sectors,sectors,word\n2024-03-05 10:00:00.001,W,8,8,issue\n2024-03-05 10:00:00.002,W,8,8,done\n",
                "--columns time:iso8601,op,lba:sectors,len:sectors,keep:issue reads the lines with `issue`",
            ),
        ] {
            let remedy = of_log(&content.lines().collect::<Vec<_>>());
            assert!(remedy.contains(proposal), "{remedy}");
            if let Some(written) = run(&remedy, content, csv) {
                assert_eq!(written, csv);
            }
        }
    }

    #[test]
    fn what_is_packed_is_unpacked_first() {
        let file = ShellFile { name: "f".into(), unpacked: Some("gzip -dc < f".into()) };
        let (_, how) = json(r#"{"ts_us": 1, "op": "R", "lba": 8, "bytes": 4096}"#, &file);
        assert!(
            how.starts_with("`gzip -dc < f | jq -rn '[\"ts_us\", \"op\", \"lba\", \"bytes\"], (inputs | .. | objects | select(.[\"op\"]"),
            "{how}"
        );
        assert!(how.contains(" > f.csv` writes them as CSV, and --columns time:us,op,lba:sectors,len:bytes reads it"), "{how}");
        let (_, how) = log(&["ts=1 op=R lba=8 len=8"], &file, true);
        assert!(how.starts_with("`gzip -dc < f | awk 'function") && how.ends_with("behind its first 64.0 MiB are left out"), "{how}");
    }

    #[test]
    fn lines_without_keys_are_no_log() {
        let is_log = |lines: &[&str]| is_log(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
        assert!(!is_log(&["1,R,8,8", "a=1 b=2", "x"]) && !is_log(&[]));
        let how = of_log(&["level=info op=read size=4096", "level=info op=read size=4096"]);
        assert!(how.ends_with("has the keys `level`, `op` and `size`, and none of them names an address"), "{how}");
    }
}
