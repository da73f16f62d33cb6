//! TOML documents in which any value may carry its source: `key = 40000` or `key = { value = 40000, source = "Table 1" }`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use std::collections::BTreeMap;
use thiserror::Error;
use toml::de::DeTable;

mod given;

pub use given::{GIVEN, Given};

/// A faulty device, design or name, described for the person who wrote it.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl ConfigError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// One value of a document with where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The table that holds the key; empty at the top.
    pub section: String,
    /// The key.
    pub key: String,
    /// The value as JSON.
    pub value: serde_json::Value,
    /// Paper and section, data sheet, or reason; empty if the document gives none.
    pub source: String,
}

/// Where the values of a document stand.
#[derive(Debug, Clone)]
enum Origin {
    /// In a file of this text.
    File(String),
    /// In options of a command, by section and key.
    Options(BTreeMap<(String, String), String>),
}

/// A parsed document: plain values for decoding, rows with sources for showing, the text for finding lines.
#[derive(Debug, Clone)]
pub struct Document {
    /// File name or built-in name, for messages.
    pub name: String,
    origin: Origin,
    /// The values without their sources.
    pub table: toml::Table,
    /// Every value with its source, in the order of the document.
    pub rows: Vec<Row>,
}

impl Document {
    /// Parses `text`; `name` is what messages call it.
    ///
    /// # Errors
    /// Text that is not TOML, or a sourced value without `value`.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let raw: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            ConfigError(format!("{name}:{line}: {}", error.message()))
        })?;
        let mut document = Self { name: name.into(), origin: Origin::File(text.into()), table: toml::Table::new(), rows: Vec::new() };
        for (key, value) in raw {
            let value = match value {
                toml::Value::Table(section) if !section.contains_key("value") => {
                    let mut plain = toml::Table::new();
                    for (inner, value) in section {
                        let value = document.leaf(&key, &inner, value)?;
                        plain.insert(inner, value);
                    }
                    toml::Value::Table(plain)
                }
                value => document.leaf("", &key, value)?,
            };
            document.table.insert(key, value);
        }
        Ok(document)
    }

    fn leaf(&mut self, section: &str, key: &str, value: toml::Value) -> Result<toml::Value, ConfigError> {
        let (value, source) = match value {
            toml::Value::Table(mut table) => {
                let place = self.place(section, key);
                let value = table.remove("value").ok_or_else(|| {
                    ConfigError(format!("{place}: `{key}` is a table without `value`; write `{key} = {{ value = ..., source = \"...\" }}`"))
                })?;
                let source = match table.remove("source") {
                    None => String::new(),
                    Some(toml::Value::String(source)) => source,
                    Some(other) => return Err(ConfigError(format!("{place}: the source of `{key}` must be text, found {other}"))),
                };
                if let Some((extra, _)) = table.into_iter().next() {
                    return Err(ConfigError(format!(
                        "{place}: `{key}` has an unknown key `{extra}`; a sourced value has `value` and `source`"
                    )));
                }
                (value, source)
            }
            plain => (plain, String::new()),
        };
        let shown = serde_json::to_value(&value).map_err(|error| ConfigError(format!("{}: {error}", self.name)))?;
        self.rows.push(Row { section: section.into(), key: key.into(), value: shown, source });
        Ok(value)
    }

    /// Whether the document has a key.
    pub fn gives(&self, section: &str, key: &str) -> bool {
        self.table.get(section).and_then(toml::Value::as_table).is_some_and(|values| values.contains_key(key))
    }

    /// `file:line` of a key, or of its section, or just the file; of what options give, the option.
    pub fn place(&self, section: &str, key: &str) -> String {
        self.find(section, key).or_else(|| self.find(section, "")).unwrap_or_else(|| self.name.clone())
    }

    /// The place of a key; that of the section itself if `key` is empty.
    fn find(&self, section: &str, key: &str) -> Option<String> {
        match &self.origin {
            Origin::File(text) => line(text, section, key).map(|line| format!("{}:{line}", self.name)),
            Origin::Options(options) => {
                let mut named = options.iter().filter(|((of, name), _)| of == section && (key.is_empty() || name == key));
                named.next().map(|(_, option)| option.clone())
            }
        }
    }
}

/// The line of a key, from 1; that of the section itself if `key` is empty.
fn line(text: &str, section: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let mut start = None;
    for name in [section, key].into_iter().filter(|name| !name.is_empty()) {
        let (found, value) = table.iter().find(|(found, _)| found.get_ref() == name)?;
        start = Some(found.span().start);
        match value.get_ref().as_table() {
            Some(inner) => table = inner,
            None if name == section && !key.is_empty() => return None,
            None => break,
        }
    }
    start.map(|start| text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1)
}

/// The place of a key, or of its section, in the last document that has it; just their names if none does.
pub(crate) fn latest_place<'a>(documents: impl DoubleEndedIterator<Item = &'a Document> + Clone, section: &str, key: &str) -> String {
    let find = |key: &str| documents.clone().rev().find_map(|document| document.find(section, key));
    find(key).or_else(|| find("")).unwrap_or_else(|| documents.map(|document| document.name.as_str()).collect::<Vec<_>>().join("+"))
}

/// What a table is decoded from.
pub type Values = MapDeserializer<'static, toml::map::IntoIter<String, toml::Value>, toml::de::Error>;

/// A table to decode. It can be nothing but a table, which halves the code that reads it.
pub fn values(table: toml::Table) -> Values {
    MapDeserializer::new(table.into_iter())
}

/// Decodes one section, naming the line and the nearest right key when it does not fit.
///
/// # Errors
/// Unknown keys, missing keys, values of another type: with the place, what was found and what is allowed.
pub fn decode_section<T: DeserializeOwned>(documents: &[&Document], section: &str, table: toml::Table) -> Result<T, ConfigError> {
    decoded(&table).map_err(|message| section_error(documents, section, &table, &|table| decoded::<T>(table).err(), message))
}

/// A decoded table, or what the decoder says about it. Once for each kind of section, and not in each of its callers.
#[inline(never)]
fn decoded<T: DeserializeOwned>(table: &toml::Table) -> Result<T, String> {
    T::deserialize(values(table.clone())).map_err(|error| error.message().trim().to_string())
}

/// What is wrong with a section, of which its decoder said `message`.
fn section_error(documents: &[&Document], section: &str, table: &toml::Table, decode: Decode<'_>, message: String) -> ConfigError {
    let label = if section.is_empty() { String::new() } else { format!("[{section}] ") };
    let (key, what) = explain(decode, table).unwrap_or((String::new(), message));
    // An earlier document may have a key that is missing since a later one replaced the section.
    let key = if table.contains_key(&key) { key.as_str() } else { "" };
    ConfigError(format!("{}: {label}{what}", latest_place(documents.iter().copied(), section, key)))
}

/// The key that chooses among the shapes of a table.
const TAG: &str = "policy";

/// Text that is no name of anything, to learn which names there are.
const NO_NAME: &str = "\u{1}";

/// What decoding a table says, or nothing if it succeeds.
type Decode<'a> = &'a dyn Fn(&toml::Table) -> Option<String>;

/// What is wrong with a table.
enum Fault {
    /// It has a key that is not known.
    Unknown { key: String, known: Vec<String> },
    /// A key is missing.
    Missing(String),
    /// The value of one of its keys is wrong.
    Value(String),
}

fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

/// Tells faults of the table itself from those of its values, which the decoder words alike.
fn fault(decode: Decode<'_>, table: &toml::Table) -> Option<Fault> {
    let message = decode(table)?;
    let first = quoted(&message).next().unwrap_or_default().to_string();
    if message.starts_with("unknown field") && table.contains_key(&first) {
        return Some(Fault::Unknown { key: first, known: quoted(&message).skip(1).map(str::to_string).collect() });
    }
    if message.starts_with("missing field") && !table.contains_key(&first) {
        // A table that wants the key no longer misses it when it is there; another calls it unknown.
        let mut with = table.clone();
        with.insert(first.clone(), NO_NAME.into());
        if decode(&with).is_none_or(|after| after != message && !after.starts_with(&format!("unknown field `{first}`"))) {
            return Some(Fault::Missing(first));
        }
    }
    Some(Fault::Value(message))
}

/// The faulty key of a table, and what is wrong with it. The decoder does not say which value it stumbled over, so keys are
/// tried one by one.
fn explain(decode: Decode<'_>, table: &toml::Table) -> Option<(String, String)> {
    match fault(decode, table)? {
        Fault::Unknown { key, known } => {
            let hint = nearest_hint(&key, &known);
            let allowed = match known.as_slice() {
                [] if table.contains_key(TAG) => "this policy has no parameters".to_string(),
                [] => "no key is allowed here".to_string(),
                known => match table.get(TAG) {
                    Some(policy) => format!("allowed with `{TAG}` = {policy}: {}", known.join(", ")),
                    None => format!("allowed: {}", known.join(", ")),
                },
            };
            let what = format!("unknown key `{key}`{hint}; {allowed}");
            Some((key, what))
        }
        Fault::Missing(key) => {
            let what = format!("`{key}` is missing");
            Some((key, what))
        }
        Fault::Value(_) => {
            let alone = |key: &str, value: &toml::Value| {
                let mut alone = toml::Table::new();
                if let Some(tag) = table.get(TAG) {
                    alone.insert(TAG.into(), tag.clone());
                }
                alone.insert(key.into(), value.clone());
                match fault(decode, &alone) {
                    Some(Fault::Value(message)) => Some(message),
                    _ => None,
                }
            };
            let mut keys: Vec<&String> = table.keys().collect();
            keys.sort_by_key(|key| *key != TAG);
            keys.into_iter().find_map(|key| {
                let value = &table[key];
                let message = alone(key, value)?;
                // A list may be wrong as such, or one of its entries.
                let no_list =
                    alone(key, &toml::Value::Array(Vec::new())).is_some_and(|message| message.starts_with("invalid type: sequence"));
                let what = match value {
                    toml::Value::Array(entries) if !no_list => entries.iter().enumerate().find_map(|(index, entry)| {
                        let try_entry = |entry: &toml::Value| alone(key, &toml::Value::Array(vec![entry.clone()]));
                        let message = try_entry(entry)?;
                        Some(explain_entry(&format!("entry {} of `{key}`", index + 1), entry, &message, &try_entry))
                    }),
                    _ => None,
                };
                let what = what.unwrap_or_else(|| explain_value(&format!("`{key}`"), value, &message, &|value| alone(key, value)));
                Some((key.clone(), what))
            })
        }
    }
}

/// What is wrong with an entry of a list. `decode` says what is wrong with a list that has another entry instead.
fn explain_entry(subject: &str, entry: &toml::Value, message: &str, decode: &dyn Fn(&toml::Value) -> Option<String>) -> String {
    let toml::Value::Table(table) = entry else {
        return explain_value(subject, entry, message, decode);
    };
    let decode_table = |table: &toml::Table| decode(&toml::Value::Table(table.clone()));
    explain(&decode_table, table).map_or_else(|| format!("{subject}: {message}"), |(_, what)| format!("{subject}: {what}"))
}

/// What is wrong with a value. `decode` says what would be wrong with another value in its place.
fn explain_value(subject: &str, value: &toml::Value, message: &str, decode: &dyn Fn(&toml::Value) -> Option<String>) -> String {
    let probe = decode(&NO_NAME.into()).unwrap_or_default();
    if probe.starts_with("unknown variant") {
        let known: Vec<&str> = quoted(&probe).skip(1).collect();
        let hint = value.as_str().map_or_else(String::new, |found| nearest_hint(found, &known));
        return format!("{subject} is {}{hint}; allowed: {}", shown(value), known.join(", "));
    }
    match message.rsplit_once(", expected ") {
        Some((_, expected)) if message.starts_with("invalid") => {
            format!("{subject} is {}; allowed: {}", shown(value), allowed(expected, &value.to_string()))
        }
        _ => format!("{subject} is {}: {message}", shown(value)),
    }
}

/// A value as it stands in the file, shortened.
fn shown(value: &toml::Value) -> String {
    const CHARACTERS_MAX: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// What a decoder expects, such as `u32`, in place of what it found, in the words of a file's author. Bounds beyond those of the
/// type are not known here, so only the one that was overstepped is named.
pub fn allowed(expected: &str, found: &str) -> String {
    let whole = |most: u64| match found.parse::<i128>() {
        Ok(number) if number < 0 => "a whole number that is not negative".into(),
        Ok(_) => format!("a whole number of at most {most}"),
        Err(_) => "a whole number".into(),
    };
    match expected {
        "u8" => whole(u8::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "usize" => whole(i64::MAX as u64),
        "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "bool" | "a boolean" => "true or false".into(),
        "a string" => "text in quotes".into(),
        "a sequence" => "a list in square brackets".into(),
        other if other.contains("tagged enum") => format!("a table with `{TAG}`, such as {{ {TAG} = \"...\" }}"),
        other => other.into(),
    }
}

/// The known name that is nearest to `found`, or those that begin with it, as ` (did you mean ...?)`; nothing when none is near.
pub fn nearest_hint<S: AsRef<str>>(found: &str, known: &[S]) -> String {
    const LONGER_NAMES_MAX: usize = 3;
    let names = || known.iter().map(AsRef::as_ref);
    let nearest = names()
        .map(|name| (strsim::damerau_levenshtein(found, name), name))
        .min()
        .filter(|&(distance, name)| distance <= 2.max(name.len() / 3) && distance < name.chars().count());
    let longer: Vec<String> = names().filter(|name| !found.is_empty() && name.starts_with(found)).map(|name| format!("`{name}`")).collect();
    match (nearest, longer.as_slice()) {
        (Some((_, name)), _) => format!(" (did you mean `{name}`?)"),
        (None, [last]) => format!(" (did you mean {last}?)"),
        (None, [rest @ .., last]) if rest.len() < LONGER_NAMES_MAX => format!(" (did you mean {} or {last}?)", rest.join(", ")),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Section {
        read_ns: u64,
    }

    fn section(text: &str) -> Result<Section, ConfigError> {
        let document = Document::parse("d.toml", text)?;
        let table = document.table["timing"].as_table().cloned().unwrap_or_default();
        decode_section(&[&document], "timing", table)
    }

    #[test]
    fn a_list_in_the_place_of_a_number_is_wrong_as_a_list() {
        let message = section("[timing]\nread_ns = [0]\n").unwrap_err().0;
        assert_eq!(message, "d.toml:2: [timing] `read_ns` is [0]; allowed: a whole number");
    }

    #[test]
    fn a_value_may_carry_its_source() {
        let document = Document::parse("d.toml", "[timing]\nread_ns = { value = 40000, source = \"Table 1\" }\n").unwrap();
        assert_eq!(document.rows[0].source, "Table 1");
        assert_eq!(section("[timing]\nread_ns = { value = 40000, source = \"Table 1\" }").unwrap().read_ns, 40_000);
        assert_eq!(section("[timing]\nread_ns = 7").unwrap().read_ns, 7);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_the_nearest_right_one() {
        let error = section("[timing]\n\nreed_ns = 7").unwrap_err().0;
        assert_eq!(error, "d.toml:3: [timing] unknown key `reed_ns` (did you mean `read_ns`?); allowed: read_ns");
    }

    #[test]
    fn a_missing_key_and_faulty_text_are_refused() {
        assert_eq!(section("[timing]").unwrap_err().0, "d.toml:1: [timing] `read_ns` is missing");
        assert!(section("[timing\n").unwrap_err().0.starts_with("d.toml:1:"));
        assert!(section("[timing]\nread_ns = { value = 1, sauce = \"x\" }").unwrap_err().0.contains("sauce"));
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Scope {
        Plane,
        Channel,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Blocking {
        #[serde(rename = "scope")]
        _scope: Scope,
        #[serde(default)]
        pages: u32,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Never {}

    #[derive(Debug, Deserialize)]
    #[serde(tag = "policy", rename_all = "lowercase")]
    enum Hold {
        Blocking(Blocking),
        Never(Never),
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct All {
        #[serde(default, rename = "share")]
        _share: f64,
        #[serde(rename = "on")]
        _on: bool,
        #[serde(default, rename = "times")]
        _times: Vec<u64>,
        #[serde(default, rename = "copy")]
        _copy: Option<Scope>,
        #[serde(default, rename = "chain")]
        _chain: Vec<Hold>,
    }

    fn error<T: DeserializeOwned + std::fmt::Debug>(values: &str) -> String {
        let document = Document::parse("d.toml", &format!("summary = \"s\"\n[part]\n{values}\n")).unwrap();
        let table = document.table["part"].as_table().cloned().unwrap();
        decode_section::<T>(&[&document], "part", table).unwrap_err().0
    }

    #[test]
    fn a_value_of_the_wrong_type_is_refused_with_its_line_and_key() {
        for (values, message) in [
            ("on = true\n\nshare = \"half\"", "d.toml:5: [part] `share` is \"half\"; allowed: a number"),
            ("on = 1", "d.toml:3: [part] `on` is 1; allowed: true or false"),
            ("times = [1, 2]\non = { value = 1, source = \"s\" }", "d.toml:4: [part] `on` is 1; allowed: true or false"),
            ("times = 3\non = true", "d.toml:3: [part] `times` is 3; allowed: a list in square brackets"),
            ("on = true\ntimes = [1, -2]", "d.toml:4: [part] entry 2 of `times` is -2; allowed: a whole number that is not negative"),
            ("on = true\ncopy = \"plain\"", "d.toml:4: [part] `copy` is \"plain\" (did you mean `plane`?); allowed: plane, channel"),
            ("on = true\ncopy = 7", "d.toml:4: [part] `copy` is 7; allowed: plane, channel"),
            ("share = 0.5", "d.toml:2: [part] `on` is missing"),
            ("on = true\n\"no\" = 1", "d.toml:4: [part] unknown key `no` (did you mean `on`?); allowed: share, on, times, copy, chain"),
        ] {
            assert_eq!(error::<All>(values), message, "{values}");
        }
        // Both values have the same fault; the first is named.
        assert!(error::<All>("on = 1\nshare = true").contains("`on` is 1"));
    }

    #[test]
    fn a_whole_number_must_fit() {
        let error = error::<Blocking>("scope = \"plane\"\npages = 8.5");
        assert_eq!(error, "d.toml:4: [part] `pages` is 8.5; allowed: a whole number");
        let error = self::error::<Blocking>("scope = \"plane\"\npages = -1");
        assert!(error.ends_with("`pages` is -1; allowed: a whole number that is not negative"), "{error}");
        let error = self::error::<Blocking>("scope = \"plane\"\npages = 4294967296");
        assert!(error.ends_with("`pages` is 4294967296; allowed: a whole number of at most 4294967295"), "{error}");
    }

    #[test]
    fn a_policy_is_chosen_by_name() {
        let table = "policy = \"blocking\"\nscope = \"plane\"\npages = 2".parse().unwrap();
        assert!(matches!(decode_section(&[], "part", table), Ok(Hold::Blocking(blocking)) if blocking.pages == 2));
    }

    #[test]
    fn a_faulty_policy_is_refused_with_the_names_there_are() {
        for (values, message) in [
            (
                "policy = \"blocing\"\nscope = 1",
                "d.toml:3: [part] `policy` is \"blocing\" (did you mean `blocking`?); allowed: blocking, never",
            ),
            ("policy = 3", "d.toml:3: [part] `policy` is 3; allowed: blocking, never"),
            ("scope = \"plane\"", "d.toml:2: [part] `policy` is missing"),
            ("policy = \"blocking\"", "d.toml:2: [part] `scope` is missing"),
            ("policy = \"blocking\"\nscope = 7", "d.toml:4: [part] `scope` is 7; allowed: plane, channel"),
            ("scope = \"plane\"\npolicy = \"blocking\"\npages = true", "d.toml:5: [part] `pages` is true; allowed: a whole number"),
            ("policy = \"never\"\nscope = 7", "d.toml:4: [part] unknown key `scope`; this policy has no parameters"),
        ] {
            assert_eq!(error::<Hold>(values), message, "{values}");
        }
    }

    #[test]
    fn a_faulty_chain_of_policies_names_the_entry() {
        let never = "{ policy = \"never\" }";
        for (chain, message) in [
            ("\"never\"".to_string(), "`chain` is \"never\"; allowed: a list in square brackets"),
            ("[\"never\"]".into(), "entry 1 of `chain` is \"never\"; allowed: a table with `policy`, such as { policy = \"...\" }"),
            (
                format!("[{never}, {{ policy = \"nver\" }}]"),
                "entry 2 of `chain`: `policy` is \"nver\" (did you mean `never`?); allowed: blocking, never",
            ),
            (format!("[{never}, {{}}]"), "entry 2 of `chain`: `policy` is missing"),
            ("[{ policy = \"never\", x = 1 }]".into(), "entry 1 of `chain`: unknown key `x`; this policy has no parameters"),
        ] {
            assert_eq!(error::<All>(&format!("on = true\nchain = {chain}")), format!("d.toml:4: [part] {message}"));
        }
    }

    #[test]
    fn the_document_that_sets_a_key_is_named() {
        let first = Document::parse("first.toml", "[part]\nscope = \"plane\"\npages = -1\n").unwrap();
        let second = Document::parse("second.toml", "\n[part]\nscope = \"channel\"\n").unwrap();
        let mut table = first.table["part"].as_table().cloned().unwrap();
        table.extend(second.table["part"].as_table().cloned().unwrap());
        let error = decode_section::<Blocking>(&[&first, &second], "part", table).unwrap_err().0;
        assert!(error.starts_with("first.toml:3: "), "{error}");
    }

    #[test]
    fn a_place_is_found_however_the_key_is_written() {
        let document = Document::parse("d.toml", "a.b = 1\n# [c]\n[\"c\"]\n'd' = \"\"\"\ne = 1\n\"\"\"\ne = 2\n").unwrap();
        assert_eq!(document.place("a", "b"), "d.toml:1");
        assert_eq!(document.place("c", "d"), "d.toml:4");
        assert_eq!(document.place("c", "e"), "d.toml:7");
        assert_eq!(document.place("c", "f"), "d.toml:3");
        assert_eq!(document.place("f", ""), "d.toml");
    }

    #[test]
    fn near_names_and_longer_ones_are_suggested() {
        let known = ["drive-256g", "drive-48g", "base"];
        assert_eq!(nearest_hint("bsae", &known), " (did you mean `base`?)");
        assert_eq!(nearest_hint("drive", &known), " (did you mean `drive-256g` or `drive-48g`?)");
        assert_eq!(nearest_hint("qqqqqq", &known), "");
        assert_eq!(nearest_hint("", &known), "");
    }
}
