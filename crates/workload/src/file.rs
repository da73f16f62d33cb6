//! Workload files, and the sidecar files of traces: TOML in which every value may carry its source.
//!
//! A value is written plainly, `read_share = 0.7`, or with where it comes from,
//! `read_share = { value = 0.7, source = "..." }`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use tinytail_core::config::{GIVEN, Given};
use tinytail_core::units::SECTOR_BYTES;
use toml::de::{DeTable, DeValue};

use crate::claims::Claim;
use crate::error::WorkloadError;
use crate::fio;
use crate::read::read_text;
use crate::synthetic::Synthetic;
use crate::synthetic::profile::Profile;
use crate::synthetic::profile_table::ProfileTable;
use crate::synthetic::table::SyntheticTable;
use crate::text;
use crate::trace::units::{AddressUnit, DeviceName, Event, OpCodes, TimeUnit};
use crate::trace::{Columns, TraceOptions};
use crate::transform::Transform;
use crate::transform::table::{TenantTable, TransformTable};

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Sourced<T> {
    pub(crate) value: T,
}

/// The sections of a workload file.
pub const SECTIONS: [&str; 6] = ["synthetic", "threads", "profile", "trace", "tenants", "transform"];

/// A workload file. Exactly one of `synthetic`, `threads`, `profile`, `trace` and `tenants` is given.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schemars(title = "tinytail workload"))]
pub(crate) struct WorkloadFile {
    /// What the workload is, in one sentence.
    summary: String,
    /// Rates and numbers of requests of [synthetic] or [threads] in open loop are multiplied by this; 1 without it.
    multiplier: Option<Sourced<u32>>,
    /// Requests of one kind, made by rule.
    synthetic: Option<SyntheticTable>,
    /// Requests of several kinds at once, by name.
    threads: Option<BTreeMap<String, SyntheticTable>>,
    /// A stand-in for a recorded workload, by its measured characteristics.
    profile: Option<ProfileTable>,
    /// A trace file and its units.
    trace: Option<TraceTable>,
    /// Several traces that share the drive, by name.
    tenants: Option<BTreeMap<String, TenantTable>>,
    /// What is done to the requests of traces and stand-ins.
    transform: Option<TransformTable>,
}

/// A workload file, checked.
pub(crate) struct CheckedFile {
    pub(crate) summary: String,
    pub(crate) table: Table,
    pub(crate) transform: Transform,
}

/// The table of a workload file, checked.
pub(crate) enum Table {
    /// Requests of one kind.
    Synthetic(Synthetic),
    /// Requests of several kinds, by name.
    Threads(Vec<(String, Synthetic)>),
    /// A stand-in for a recorded workload.
    Profile { stands_in_for: String, profile: Profile, claims: Vec<Claim> },
    /// A trace.
    Trace(TraceFile),
    /// Several traces, by name.
    Tenants(Vec<(String, TraceFile, Transform)>),
}

impl Table {
    /// Multiplies the rates and numbers of requests of a workload made by rule.
    fn multiply(&mut self, multiplier: u32) -> Result<(), String> {
        match self {
            Self::Synthetic(synthetic) => synthetic.multiply(multiplier),
            Self::Threads(threads) => threads
                .iter_mut()
                .try_for_each(|(name, thread)| thread.multiply(multiplier).map_err(|why| format!("{why} (thread {name})"))),
            Self::Profile { .. } | Self::Trace(_) | Self::Tenants(_) => Err(NO_RATES.into()),
        }
    }
}

/// Why the requests of other workloads are not multiplied.
pub(crate) const NO_RATES: &str = "multiplies the rates of workloads made by rule, and this workload is none; the transform `scale_time` \
                                   makes its requests come faster";

/// A trace file and what is said about it.
pub(crate) struct TraceFile {
    pub(crate) file: String,
    pub(crate) options: TraceOptions,
}

/// A trace and what its format does not fix.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceTable {
    /// The trace's file name, looked for beside the workload file and in the folder that TINYTAIL_TRACES names. Not in the
    /// sidecar file of a trace.
    file: Option<Sourced<String>>,
    /// Name of the format; found from the content without it.
    format: Option<Sourced<String>>,
    /// Unit of the times.
    time_unit: Option<Sourced<TimeUnit>>,
    /// Operation codes, such as `write=0,read=1`.
    ops: Option<Sourced<OpCodes>>,
    /// Unit of addresses and sizes.
    unit: Option<Sourced<AddressUnit>>,
    /// Keep only the requests to this device, given by its number or its name.
    device: Option<Sourced<DeviceName>>,
    /// The event that counts as a request's arrival, for formats that record several.
    event: Option<Sourced<Event>>,
    /// How late a line may be, in milliseconds; later ones are faults, earlier ones are put in order.
    reorder_ms: Option<Sourced<u64>>,
    /// Play in closed loop: this many requests are always outstanding.
    queue_depth: Option<Sourced<u32>>,
    /// What the columns of a delimited text mean, such as `time:us,op,lba:sectors,len:bytes`.
    columns: Option<Sourced<Columns>>,
}

impl TraceTable {
    /// The file and what is said about it, of the table at `section`.
    fn check(&self, text: Text<'_>, section: &[&str]) -> Result<TraceFile, WorkloadError> {
        match &self.file {
            Some(file) => Ok(TraceFile { file: file.value.clone(), options: self.options() }),
            None => Err(text.fault(section, "file", "is missing: the trace's file name")),
        }
    }

    fn options(&self) -> TraceOptions {
        fn plain<T: Clone>(value: &Option<Sourced<T>>) -> Option<T> {
            value.as_ref().map(|sourced| sourced.value.clone())
        }
        TraceOptions {
            format: plain(&self.format),
            time_unit: plain(&self.time_unit),
            ops: plain(&self.ops),
            unit: plain(&self.unit),
            device: plain(&self.device),
            event: plain(&self.event),
            reorder_ms: plain(&self.reorder_ms),
            queue_depth: plain(&self.queue_depth),
            columns: plain(&self.columns),
        }
    }
}

/// A file's text and name, for messages.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    /// Values that options have put into the text; none if it is the file's own.
    set: Option<Set<'a>>,
}

/// Values that options give beside a file.
#[derive(Clone, Copy)]
struct Set<'a> {
    given: &'a [Given],
    /// The text of the file.
    original: &'a str,
}

impl<'a> Text<'a> {
    pub(crate) fn new(path: &'a str, text: &'a str) -> Self {
        Self { path, text, set: None }
    }

    /// Does something with the text in which values are those that options give.
    pub(crate) fn with<T>(self, given: &[Given], use_it: impl FnOnce(Text<'_>) -> Result<T, WorkloadError>) -> Result<T, WorkloadError> {
        let Some(first) = given.first() else { return use_it(self) };
        let refuse = |message: String| WorkloadError::Option { path: first.option.clone(), message };
        if fio::is_job_file(Path::new(self.path)) {
            return Err(refuse(format!("{} is a job file of fio, and has none of these values", self.path)));
        }
        // What is no TOML is said of the file itself.
        let Ok(mut table) = self.text.parse::<toml::Table>() else { return use_it(self) };
        for Given { path, value, option } in given {
            let (key, sections) = path.split_last().expect("a path has a key");
            let mut held = &mut table;
            for section in sections {
                let inner = held.entry(section.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
                held = inner.as_table_mut().ok_or_else(|| WorkloadError::Option {
                    path: option.clone(),
                    message: format!("`{section}` is a value in {}, and has no keys", self.path),
                })?;
            }
            held.insert(key.clone(), value.clone());
        }
        let text = toml::to_string(&table).map_err(|error| refuse(error.to_string()))?;
        use_it(Text { path: self.path, text: &text, set: Some(Set { given, original: self.text }) })
    }

    fn parse<T: DeserializeOwned>(self) -> Result<T, WorkloadError> {
        toml::from_str(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start.min(self.text.len()));
            let message = self.explain(error.message(), offset);
            let Some(set) = self.set else {
                return WorkloadError::Config { path: self.path.into(), line: line_at(self.text, offset), message };
            };
            let path = DeTable::parse(self.text).ok().map(|document| path_at(document.get_ref(), offset)).unwrap_or_default();
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            self.faulty(set.option_of(&path), line_of(set.original, &path), message)
        })
    }

    /// A fault of an option, or else of a line of the file.
    fn faulty(self, option: Option<&str>, line: usize, message: String) -> WorkloadError {
        match option {
            Some(option) => WorkloadError::Option { path: option.into(), message },
            None => WorkloadError::Config { path: self.path.into(), line, message },
        }
    }

    /// Adds to a decoder's message the key whose value is meant.
    fn explain(self, message: &str, offset: usize) -> String {
        let faulty_value = message.starts_with("invalid") || message.starts_with("unknown variant");
        let document = DeTable::parse(self.text).ok().filter(|_| faulty_value);
        let Some((name, found)) = document.and_then(|document| self.value_at(document.get_ref(), offset)) else {
            return with_nearest(message);
        };
        match message.rsplit_once(", expected ") {
            Some((_, expected)) if message.starts_with("invalid") => {
                format!("`{name}` is {}; expected {}", text::one_line(found), tinytail_core::config::allowed(expected, found))
            }
            _ => format!("`{name}`: {}", with_nearest(message)),
        }
    }

    /// The name and the text of the value that a place in the file belongs to.
    fn value_at(self, table: &DeTable<'_>, offset: usize) -> Option<(String, &'a str)> {
        table.iter().find_map(|(key, value)| {
            let (key, span) = (key.get_ref(), value.span());
            let inner = value.get_ref().as_table().filter(|inner| inner.get("value").is_none());
            match inner {
                Some(inner) => self.value_at(inner, offset).map(|(name, found)| (format!("{key}.{name}"), found)),
                None => span.contains(&offset).then(|| (key.to_string(), &self.text[span])),
            }
        })
    }

    /// A fault of the value at `section` and `key`.
    pub(crate) fn fault(self, section: &[&str], key: &str, message: impl fmt::Display) -> WorkloadError {
        let path: Vec<&str> = section.iter().chain([&key]).copied().collect();
        let line = line_of(self.set.map_or(self.text, |set| set.original), &path);
        self.faulty(self.set.and_then(|set| set.option_of(&path)), line, format!("`{}` {message}", path.join(".")))
    }

    /// Reads a workload file, and checks it. A multiplier that is given holds instead of the file's own.
    pub(crate) fn workload(self, given: Option<u32>) -> Result<CheckedFile, WorkloadError> {
        let (mut checked, own) = match fio::is_job_file(Path::new(self.path)) {
            true => (fio::read(self)?, None),
            false => self.own_file()?,
        };
        if let Some(multiplier) = given.or(own) {
            let refuse = |why| match given {
                Some(_) => WorkloadError::Option { path: self.path.into(), message: format!("the multiplier {why}") },
                None => self.fault(&[], "multiplier", why),
            };
            checked.table.multiply(multiplier).map_err(refuse)?;
        }
        Ok(checked)
    }

    /// Reads a workload file in tinytail's own words, and its multiplier.
    fn own_file(self) -> Result<(CheckedFile, Option<u32>), WorkloadError> {
        let file: WorkloadFile = self.parse()?;
        let table = match (file.synthetic, file.threads, file.profile, file.trace, file.tenants) {
            (Some(table), None, None, None, None) => Table::Synthetic(table.check(self, &["synthetic"])?),
            (None, Some(threads), None, None, None) => Table::Threads(self.threads(&threads)?),
            (None, None, Some(table), None, None) => {
                let (profile, claims) = table.check(self)?;
                Table::Profile { stands_in_for: table.stands_in_for.value, profile, claims }
            }
            (None, None, None, Some(table), None) => Table::Trace(table.check(self, &["trace"])?),
            (None, None, None, None, Some(tenants)) => Table::Tenants(self.tenants(&tenants)?),
            _ => {
                return Err(WorkloadError::Config {
                    path: self.path.into(),
                    line: 1,
                    message: "expected exactly one of the tables [synthetic], [threads], [profile], [trace] and [tenants]".into(),
                });
            }
        };
        let transform = match &file.transform {
            Some(_) if matches!(table, Table::Synthetic(_) | Table::Threads(_)) => {
                return Err(self.fault(&[], "transform", "applies to traces and stand-ins, and this workload is made by rule"));
            }
            Some(transform) => transform.check(self, &["transform"])?,
            None => Transform::default(),
        };
        Ok((CheckedFile { summary: file.summary, table, transform }, file.multiplier.map(|multiplier| multiplier.value)))
    }

    fn threads(self, threads: &BTreeMap<String, SyntheticTable>) -> Result<Vec<(String, Synthetic)>, WorkloadError> {
        if threads.is_empty() {
            return Err(self.fault(&[], "threads", "has no thread; expected at least one table [threads.NAME]"));
        }
        threads.iter().map(|(name, table)| Ok((name.clone(), table.check(self, &["threads", name])?))).collect()
    }

    fn tenants(self, tenants: &BTreeMap<String, TenantTable>) -> Result<Vec<(String, TraceFile, Transform)>, WorkloadError> {
        if tenants.is_empty() {
            return Err(self.fault(&[], "tenants", "has no trace; expected at least one table [tenants.NAME.trace]"));
        }
        let check = |(name, tenant): (&String, &TenantTable)| {
            let trace = tenant.trace.check(self, &["tenants", name, "trace"])?;
            let transform = tenant.transform.as_ref().map(|table| table.check(self, &["tenants", name, "transform"])).transpose()?;
            Ok((name.clone(), trace, transform.unwrap_or_default()))
        };
        tenants.iter().map(check).collect()
    }

    /// The values of a file as rows, in the order of the file.
    pub(crate) fn rows(self) -> Vec<Row> {
        if fio::is_job_file(Path::new(self.path)) {
            return fio::rows(self);
        }
        let mut rows = Vec::new();
        if let Ok(document) = DeTable::parse(self.text) {
            self.add_rows(document.get_ref(), "", &mut rows);
        }
        for row in rows.iter_mut().filter(|row| row.source.is_empty()) {
            let path: Vec<&str> = row.section.split('.').filter(|name| !name.is_empty()).chain([row.key.as_str()]).collect();
            if self.set.is_some_and(|set| set.option_of(&path).is_some()) {
                row.source = GIVEN.into();
            }
        }
        rows
    }

    fn add_rows(self, table: &DeTable<'_>, section: &str, rows: &mut Vec<Row>) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let key = key.get_ref();
            if section.is_empty() && key == "summary" {
                continue;
            }
            let (value, source, tolerance) = match value.get_ref() {
                DeValue::Table(inner) => match inner.get("value") {
                    Some(plain) => {
                        let tolerance = inner.get("tolerance_percent").map(|tolerance| tolerance.span());
                        (plain, inner.get("source").and_then(|source| source.get_ref().as_str()), tolerance)
                    }
                    None => {
                        let name = if section.is_empty() { key.to_string() } else { format!("{section}.{key}") };
                        self.add_rows(inner, &name, rows);
                        continue;
                    }
                },
                _ => (value, None, None),
            };
            let mut shown = match value.get_ref().as_str() {
                Some(text) => text.to_owned(),
                None => self.text[value.span()].split_whitespace().collect::<Vec<_>>().join(" "),
            };
            if let Some(tolerance) = tolerance {
                shown += &format!(" ± {} %", &self.text[tolerance]);
            }
            rows.push(Row { section: section.into(), key: key.to_string(), value: shown, source: source.unwrap_or_default().into() });
        }
    }
}

impl<'a> Set<'a> {
    /// The option that gives the value at a path, or the whole table that it is in.
    fn option_of(self, path: &[&str]) -> Option<&'a str> {
        let gives = |given: &&Given| given.path.len() <= path.len() && given.path.iter().zip(path).all(|(name, found)| name == found);
        self.given.iter().find(gives).map(|given| given.option.as_str())
    }
}

/// The line of a place in a text, from 1.
fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The line of the value at a path, or of the last part of the path that is there; 1 if nothing is.
fn line_of(text: &str, path: &[&str]) -> usize {
    let Ok(document) = DeTable::parse(text) else { return 1 };
    let (mut line, mut table) = (1, Some(document.get_ref()));
    for name in path {
        let Some((found, value)) = table.and_then(|table| table.iter().find(|(found, _)| found.get_ref() == name)) else { break };
        line = line_at(text, found.span().start);
        table = value.get_ref().as_table();
    }
    line
}

/// The names of the tables and of the key that a place in a file belongs to.
fn path_at(table: &DeTable<'_>, offset: usize) -> Vec<String> {
    for (key, value) in table {
        let inner = value.get_ref().as_table().map(|inner| path_at(inner, offset)).unwrap_or_default();
        if !inner.is_empty() || key.span().contains(&offset) || value.span().contains(&offset) {
            return std::iter::once(key.get_ref().to_string()).chain(inner).collect();
        }
    }
    Vec::new()
}

/// One value of a workload file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The table in which it stands, such as `synthetic`.
    pub section: String,
    /// Its name.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// Where the value comes from, or nothing.
    pub source: String,
}

/// Reads the sidecar file of a trace.
pub(crate) fn read_sidecar(path: &Path) -> Result<TraceOptions, WorkloadError> {
    let content = read_text(path).map_err(|error| WorkloadError::io(path, &error))?;
    let name = path.display().to_string();
    let text = Text::new(&name, &content);
    let table: TraceTable = text.parse()?;
    if table.file.is_some() {
        return Err(text.fault(&[], "file", "does not belong in a sidecar file: it is named after its trace"));
    }
    Ok(table.options())
}

/// Adds the nearest right spelling to a message about an unknown word. Such messages quote the word first and then what was
/// expected.
fn with_nearest(message: &str) -> String {
    if !message.starts_with("unknown") {
        return message.to_owned();
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let nearest = words.next().and_then(|word| text::nearest(word, words));
    nearest.map_or_else(|| message.to_owned(), |nearest| format!("{message}; did you mean `{nearest}`?"))
}

/// The section of a table and the text of its file, to check values with.
#[derive(Clone, Copy)]
pub(crate) struct Check<'a> {
    pub(crate) text: Text<'a>,
    pub(crate) section: &'a [&'a str],
}

impl Check<'_> {
    pub(crate) fn fault(self, key: &str, message: impl fmt::Display) -> WorkloadError {
        self.text.fault(self.section, key, message)
    }

    pub(crate) fn share(self, key: &str, share: &Sourced<f64>) -> Result<f64, WorkloadError> {
        match share.value {
            value if (0.0..=1.0).contains(&value) => Ok(value),
            value => Err(self.fault(key, format_args!("is {value}; expected a share from 0 to 1"))),
        }
    }

    pub(crate) fn sectors(self, key: &str, bytes: &Sourced<u64>) -> Result<u64, WorkloadError> {
        let sector_bytes = u64::from(SECTOR_BYTES);
        match bytes.value {
            0 => Err(self.fault(key, "is 0; expected a multiple of 512 bytes above 0")),
            value if value % sector_bytes != 0 => {
                Err(self.fault(key, format_args!("is {value}; expected a multiple of 512 bytes, the sector")))
            }
            value => Ok(value / sector_bytes),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Sourced<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match toml::Value::deserialize(deserializer)? {
            toml::Value::Table(table) => without_source(table).map_err(D::Error::custom)?,
            plain => plain,
        };
        T::deserialize(value).map(|value| Self { value }).map_err(|error| D::Error::custom(error.message()))
    }
}

/// What `{ value = ..., source = "..." }` says.
fn without_source(mut table: toml::Table) -> Result<toml::Value, String> {
    let value = table.remove("value").ok_or("missing field `value`")?;
    match table.remove("source") {
        None | Some(toml::Value::String(_)) => {}
        Some(other) => return Err(format!("invalid type: {}, expected a string", other.type_str())),
    }
    match table.into_iter().next() {
        Some((key, _)) => Err(format!("unknown field `{key}`, expected `value` or `source`")),
        None => Ok(value),
    }
}

#[cfg(test)]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Sourced<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Sourced_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let value = generator.subschema_for::<T>();
        schemars::json_schema!({
            "anyOf": [
                value,
                {
                    "type": "object",
                    "properties": {
                        "value": value,
                        "source": { "type": "string", "description": "Where the value comes from." }
                    },
                    "required": ["value"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect_file;

    /// `UPDATE_EXPECT=1 cargo test --release -p tinytail-workload schema` writes it anew.
    #[test]
    fn the_schema_of_workload_files_is_the_one_that_is_shipped() {
        let schema = schemars::schema_for!(WorkloadFile).to_value();
        expect_file!["../../../python/tinytail/schema/workload.schema.json"]
            .assert_eq(&format!("{}\n", serde_json::to_string_pretty(&schema).unwrap()));
        let mut sections =
            schema["properties"].as_object().unwrap().keys().filter(|key| !["summary", "multiplier"].contains(&key.as_str()));
        assert!(
            SECTIONS.iter().all(|name| schema["properties"].get(name).is_some()) && sections.all(|name| SECTIONS.contains(&name.as_str()))
        );
    }
}
