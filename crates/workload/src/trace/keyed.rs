//! Texts whose values have keys, JSON and lines of `key=value`: which keys those of a request are, and the command that writes the
//! requests as CSV.
//!
//! Neither is read as it is: a value may stand in any depth, and a line may lack a key. The command is made for the file at hand, from its
//! first objects or lines. Its CSV has the keys as names of its columns.

use crate::trace::columns;
use crate::trace::header::{self, Is, Preamble};
use crate::trace::iso8601;
use crate::trace::mapping::Role;
use crate::trace::opening::FirstLines;
use crate::trace::proposal;

/// How many bytes of a JSON text are looked at.
pub(super) const LOOKED_AT: usize = 1 << 16;

/// What fio's results are called. They have no requests.
const RESULTS_OF_FIO: &str = "fio's results in JSON";

/// Keys that are shown of a text without requests.
const SHOWN: usize = 12;

/// Keys of one object or line, with their values where these are no objects.
type Keyed = Vec<(String, String)>;

/// The keys of a request. The time may be missing.
struct Keys<'a>(Vec<(Role, &'a str)>);

impl<'a> Keys<'a> {
    /// The first key for each role, if an operation, an address and a size are there; or else what is not.
    fn of(object: &'a Keyed) -> Result<Self, Vec<&'static str>> {
        let key = |role: Role| {
            let mut named = object.iter().filter(|(key, _)| header::read(key).is == Is::Role(role));
            // Of several names of operations, the one with a usual word for one is it.
            let usual = named.clone().find(|(_, value)| role == Role::Op && columns::op(value).is_some());
            usual.or_else(|| named.next()).map(|(key, _)| key.as_str())
        };
        let found: Vec<(Role, &str)> =
            [Role::Time, Role::Op, Role::Lba, Role::Len].into_iter().filter_map(|role| Some((role, key(role)?))).collect();
        let needed = [(Role::Op, "an operation"), (Role::Lba, "an address"), (Role::Len, "a size")];
        let missing: Vec<&str> =
            needed.into_iter().filter(|(role, _)| found.iter().all(|(known, _)| known != role)).map(|(_, what)| what).collect();
        if missing.is_empty() { Ok(Self(found)) } else { Err(missing) }
    }

    fn names(&self) -> Vec<&'a str> {
        self.0.iter().map(|(_, key)| *key).collect()
    }

    /// The values of these keys in an object, in this order, if it has all.
    fn row(&self, object: &Keyed) -> Option<String> {
        let value = |key: &&str| object.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
        let values: Option<Vec<String>> = self.names().iter().map(value).collect();
        Some(values?.join(","))
    }

    /// How CSV with these keys is read, as the end of a sentence.
    fn reading(&self, objects: &[Keyed]) -> String {
        let header = self.names().join(",");
        let lines: Vec<String> = std::iter::once(header).chain(objects.iter().filter_map(|object| self.row(object))).collect();
        let preamble = Preamble::of(&lines, &[]);
        let first = FirstLines { lines, ..FirstLines::default() };
        let reads = |proposal: String| format!(" writes them as CSV, and {proposal}");
        proposal::proposal(&first, &preamble, None, None).map_or_else(|| " writes them as CSV, which --columns reads".into(), reads)
    }
}

/// The objects that have the keys of a request, or what the nearest of them lacks, with its keys.
fn requests(objects: &[Keyed]) -> Result<Keys<'_>, (Vec<&'static str>, Vec<&str>)> {
    let mut nearest: Option<(Vec<&str>, Vec<&str>)> = None;
    for object in objects {
        match Keys::of(object) {
            Ok(keys) => return Ok(keys),
            Err(missing) => {
                if nearest.as_ref().is_none_or(|(before, _)| before.len() > missing.len()) {
                    nearest = Some((missing, object.iter().map(|(key, _)| key.as_str()).collect()));
                }
            }
        }
    }
    Err(nearest.unwrap_or_default())
}

/// The keys that are there and what is missing among them, as a sentence.
fn lack((missing, keys): &(Vec<&'static str>, Vec<&str>), of: &str) -> String {
    let mut shown: Vec<String> = keys.iter().take(SHOWN).map(|key| crate::text::quoted(key)).collect();
    if keys.len() > SHOWN {
        shown.push(format!("{} more", keys.len() - SHOWN));
    }
    let missing: Vec<String> = missing.iter().map(|what| (*what).to_owned()).collect();
    if shown.is_empty() {
        return format!("no {of} of its beginning has keys, and a request has an operation, an address and a size");
    }
    format!(
        "the {of} that is most like a request has the keys {}, and none of them names {}",
        crate::text::listed(&shown),
        crate::text::listed(&missing)
    )
}

/// What JSON is that begins with this text, and what can be done with it. `file` is its name as a shell takes it.
pub(super) fn json(head: &str, file: &str) -> (&'static str, String) {
    if head.contains("\"fio version\"") {
        let how = "it has no requests. A job with write_lat_log=NAME and log_offset=1, or with write_iolog=NAME, writes a log of them, which is read";
        return (RESULTS_OF_FIO, how.into());
    }
    let objects = objects(head);
    let keys = match requests(&objects) {
        Ok(keys) => keys,
        Err(lacking) => return ("JSON", lack(&lacking, "object")),
    };
    let names = keys.names();
    let listed = |form: &dyn Fn(&str) -> String, between: &str| {
        names.iter().map(|key| form(&key.replace('"', "\\\""))).collect::<Vec<_>>().join(between)
    };
    let header = listed(&|key| format!("\"{key}\""), ",");
    let has = listed(&|key| format!("has(\"{key}\")"), " and ");
    let values = listed(&|key| format!(".[\"{key}\"]"), ", ");
    // An apostrophe ends what a shell takes as it is.
    let program = format!("[{header}], (.. | objects | select({has}) | [{values}]) | @csv").replace('\'', "'\\''");
    ("JSON", format!("`jq -r '{program}' {file} > {file}.csv`{}", keys.reading(&objects)))
}

/// The objects that a text begins with, as far as it goes, the inner before the outer.
fn objects(text: &str) -> Vec<Keyed> {
    let bytes = text.as_bytes();
    let (mut open, mut all): (Vec<Keyed>, Vec<Keyed>) = (Vec::new(), Vec::new());
    let mut at = 0;
    let blank = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    // The end of a string that begins here, behind its mark.
    let string_end = |begin: usize| {
        let mut at = begin + 1;
        while at < bytes.len() && bytes[at] != b'"' {
            at += 1 + usize::from(bytes[at] == b'\\');
        }
        (at < bytes.len()).then_some(at)
    };
    while at < bytes.len() {
        match bytes[at] {
            b'{' => open.push(Keyed::new()),
            b'}' => all.extend(open.pop()),
            b'"' => {
                let Some(end) = string_end(at) else { break };
                let key = &text[at + 1..end];
                at = end;
                let colon = blank(end + 1);
                if bytes.get(colon) == Some(&b':') {
                    let begin = blank(colon + 1);
                    let value = match bytes.get(begin) {
                        Some(b'"') => string_end(begin).map(|end| (begin + 1, end)),
                        Some(b'{' | b'[') | None => None,
                        Some(_) => {
                            let length = bytes[begin..].iter().take_while(|byte| !b",}] \t\r\n".contains(byte)).count();
                            Some((begin, begin + length))
                        }
                    };
                    if let (Some((begin, end)), Some(object)) = (value, open.last_mut()) {
                        object.push((key.to_owned(), text[begin..end].to_owned()));
                        at = if bytes[end..].starts_with(b"\"") { end } else { end - 1 };
                    } else {
                        at = colon;
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    all.extend(open.into_iter().rev());
    all
}

/// The name of the time that stands before the keys of a line.
const TIME: &str = "time";

/// How many of the first lines must have keys, and how many keys each.
const LINES_MIN: usize = 2;
const KEYS_MIN: usize = 3;

/// What can be done with a log whose first lines are pairs of keys and values; nothing if they are not.
pub(super) fn log(lines: &[String], file: &str) -> Option<(&'static str, String)> {
    let pairs: Vec<(usize, Keyed)> = lines.iter().map(|line| pairs(line)).collect();
    let keyed = pairs.iter().filter(|(_, keys)| keys.len() >= KEYS_MIN).count();
    if lines.is_empty() || keyed < LINES_MIN.min(lines.len()) {
        return None;
    }
    let words = pairs.iter().find(|(_, keys)| keys.len() >= KEYS_MIN).map_or(0, |(words, _)| *words);
    let objects: Vec<Keyed> = pairs.into_iter().map(|(_, keys)| keys).collect();
    let what = "a log of keys and values";
    let keys = match requests(&objects) {
        Ok(keys) => keys,
        Err(lacking) => return Some((what, lack(&lacking, "line"))),
    };
    let names = keys.names();
    let print: Vec<String> =
        names.iter().map(|key| if *key == TIME && words > 0 { "t".to_owned() } else { format!("v[\"{key}\"]") }).collect();
    let has: Vec<String> = names.iter().filter(|key| **key != TIME || words == 0).map(|key| format!("(\"{key}\" in v)")).collect();
    let time = match words {
        0 => String::new(),
        1 => "t = $1; gsub(/[][]/, \"\", t); gsub(/,/, \".\", t); ".into(),
        _ => "t = $1 \" \" $2; gsub(/[][]/, \"\", t); gsub(/,/, \".\", t); ".into(),
    };
    let program = format!(
        "BEGIN {{print \"{header}\"}} {{{time}gsub(/ *= */, \"=\"); split(\"\", v); for (i = 1; i <= NF; i++) if (split($i, p, \"=\") == 2) \
         {{gsub(/[\",;{{}}()]/, \"\", p[2]); v[p[1]] = p[2]}}}} {has} {{print {print}}}",
        header = names.join(","),
        has = has.join(" && "),
        print = print.join(" \",\" "),
    );
    Some((what, format!("`awk '{program}' {file} > {file}.csv`{}", keys.reading(&objects))))
}

/// How many words before the keys of a line are its time, and the keys with their values.
fn pairs(line: &str) -> (usize, Keyed) {
    let mut keyed = Keyed::new();
    let spaced = line.split('=').map(str::trim).collect::<Vec<_>>().join("=");
    let words: Vec<&str> = spaced.split_ascii_whitespace().collect();
    let plain = |word: &str| word.trim_matches(['[', ']']).replace(',', ".");
    let two = words.get(..2).map(|words| format!("{} {}", plain(words[0]), plain(words[1]))).filter(|two| iso8601::is_time(two));
    let one =
        words.first().map(|word| plain(word)).filter(|word| iso8601::is_time(word) || iso8601::of_day(word).is_some() || is_number(word));
    let (count, time) = match (two, one) {
        (Some(two), _) => (2, Some(two)),
        (None, Some(one)) => (1, Some(one)),
        (None, None) => (0, None),
    };
    keyed.extend(time.map(|time| (TIME.to_owned(), time)));
    for word in words {
        if let Some((key, value)) = word.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty() && !value.contains('='))
        {
            keyed.push((key.to_owned(), value.replace([',', ';', '"', '{', '}', '(', ')'], "")));
        }
    }
    (count, keyed)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit()) && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_any_depth_and_as_far_as_a_text_goes() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let text = r#"[{"a": 1, "b": {"c\"": "x,y", "d": [1, {"e": null}]}, "f": true}, {"g": -1.5e3"#;
        let expected =
            [vec![pair("e", "null")], vec![pair("c\\\"", "x,y")], vec![pair("a", "1"), pair("f", "true")], vec![pair("g", "-1.5e3")]];
        assert_eq!(objects(text), expected);
        for odd in ["", "\"", "{", "}", "{\"a", "{\"a\":", "{\"a\":\"b", "\\\"", "{\"a\" 1}", "é{\"é\":\"é\"}"] {
            objects(odd);
        }
    }

    #[test]
    fn json_without_requests_has_no_command() {
        let (what, how) = json("{\n  \"fio version\" : \"fio-3.33\",\n \"jobs\": [{\"op\": 1, \"lba\": 2, \"len\": 3}]}", "f");
        assert!(what == RESULTS_OF_FIO && how.starts_with("it has no requests. A job with write_lat_log=NAME"), "{how}");
        let (_, how) = json(r#"{"op": "R", "size": 4096, "who": {"name": "x"}}"#, "f");
        assert_eq!(how, "the object that is most like a request has the keys `op` and `size`, and none of them names an address");
        let (_, how) = json("{}", "f");
        assert!(how.starts_with("no object of its beginning has keys"), "{how}");
        let (_, how) = json(r#"{"ts_us": 1, "op": "R", "lba": 8, "bytes": 4096}"#, "f");
        assert!(how.starts_with("`jq -r '[\"ts_us\",\"op\",\"lba\",\"bytes\"], (.. | objects | select(has(\"ts_us\") and "), "{how}");
        assert!(how.contains("f > f.csv` writes them as CSV, and --columns time:us,op,lba:sectors,len:bytes reads it"), "{how}");
    }

    #[test]
    fn lines_without_keys_are_no_log() {
        let log = |lines: &[&str]| log(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>(), "f");
        assert!(log(&["1,R,8,8", "a=1 b=2", "x"]).is_none() && log(&[]).is_none());
        let (_, how) = log(&["level=info op=read size=4096", "level=info op=read size=4096"]).unwrap();
        assert!(how.ends_with("has the keys `level`, `op` and `size`, and none of them names an address"), "{how}");
    }
}
