//! Workload files, and the sidecar files of traces: TOML in which every value may carry its source.
//!
//! A value is written plainly, `read_share = 0.7`, or with where it comes from,
//! `read_share = { value = 0.7, source = "..." }`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tinytail_config::{ConfigError, Data, Document, Fault, Faults, Given, Place, Row, decode_file};
use tinytail_core::units::SECTOR_BYTES;

use crate::claims::Claim;
use crate::error::WorkloadError;
use crate::fio::{self, Preparation};
use crate::read::read_text;
use crate::synthetic::Synthetic;
use crate::synthetic::profile::Profile;
use crate::synthetic::profile_table::ProfileTable;
use crate::synthetic::table::SyntheticTable;
use crate::trace::{TraceOptions, TraceTable};
use crate::transform::Transform;

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
    multiplier: Option<u32>,
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
    transform: Option<Transform>,
}

/// A workload file, checked.
pub(crate) struct CheckedFile {
    pub(crate) summary: String,
    pub(crate) table: Table,
    pub(crate) transform: Transform,
    /// What is to be known with every result.
    pub(crate) notes: Vec<String>,
    /// What a job file has before its measured part.
    pub(crate) preparation: Preparation,
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

/// One of several traces that share a drive.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TenantTable {
    /// The trace.
    trace: TraceTable,
    /// What is done to its requests before they are merged with the others'.
    transform: Option<Transform>,
}

impl TraceTable {
    /// The file and what is said about it.
    fn check(self, check: Check<'_>) -> Result<TraceFile, ConfigError> {
        match self.file.clone() {
            Some(file) => Ok(TraceFile { file, options: self.options() }),
            None => Err(check.fault("file", "is missing: the trace's file name")),
        }
    }
}

/// A workload file's name and text.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
}

impl Text<'_> {
    fn is_job_file(self) -> bool {
        fio::is_job_file(Path::new(self.path))
    }

    /// What it says, with values that are given beside it.
    fn document(self, given: &[Given]) -> Result<Document, ConfigError> {
        let mut document = Document::parse(self.path, self.text)?;
        document.root.merge(&Document::given(given).root);
        Ok(document)
    }

    /// Reads a workload file with values that are given beside it, and checks it. A multiplier that is given holds instead of
    /// the file's own.
    pub(crate) fn workload(self, given: &[Given], multiplier: Option<u32>) -> Result<CheckedFile, WorkloadError> {
        let (mut checked, own) = match (self.is_job_file(), given.first()) {
            (false, _) => own_file(&self.document(given)?)?,
            (true, None) => (fio::read(self)?, None),
            (true, Some(first)) => {
                let message = format!("{} is a job file of fio, and has none of these values", self.path);
                return Err(WorkloadError::Option { path: first.option.clone(), message });
            }
        };
        match (multiplier, own) {
            (Some(multiplier), _) => checked
                .table
                .multiply(multiplier)
                .map_err(|why| WorkloadError::Option { path: self.path.into(), message: format!("the multiplier {why}") })?,
            (None, Some(multiplier)) => {
                let document = self.document(given)?;
                let refuse = |why| Check { document: &document, section: "" }.refuse("multiplier", why);
                checked.table.multiply(multiplier).or_else(refuse)?;
            }
            (None, None) => {}
        }
        Ok(checked)
    }

    /// The file with values that are given beside it in their places.
    pub(crate) fn printed(self, given: &[Given]) -> Result<String, WorkloadError> {
        self.workload(given, None)?;
        match given {
            [] => Ok(self.text.into()),
            given => toml::to_string(&self.document(given)?.root.to_toml())
                .map_err(|error| ConfigError::new(format!("{}: {error}", self.path)).into()),
        }
    }

    /// The values of a file as rows, in the order of the file.
    pub(crate) fn rows(self, given: &[Given]) -> Vec<Row> {
        if self.is_job_file() {
            return fio::rows(self);
        }
        let Ok(document) = self.document(given) else { return Vec::new() };
        let mut rows = document.root.rows();
        rows.retain(|row| !(row.section.is_empty() && row.key == "summary"));
        for row in &mut rows {
            let Some(value) = document.value(&row.section, &row.key) else { continue };
            let mut shown = value.as_str().map_or_else(|| value.plain().to_toml().to_string(), str::to_owned);
            if let Data::Table(table) = &value.data
                && let Some(tolerance) = table.get("tolerance_percent")
            {
                shown += &format!(" ± {} %", tolerance.to_toml());
            }
            row.value = shown.into();
        }
        rows
    }
}

/// What a document says; `None` and faults if it is not of this type.
fn read<T: DeserializeOwned>(document: &Document, faults: &mut Faults) -> Option<T> {
    decode_file(&document.root, &Place::new(&document.name, 0), &SECTIONS, faults)
}

/// Reads a workload file in tinytail's own words, and its multiplier. Tables whose values can't be read are not checked further.
fn own_file(document: &Document) -> Result<(CheckedFile, Option<u32>), ConfigError> {
    let mut faults = Faults::default();
    let file = read::<WorkloadFile>(document, &mut faults);
    let Some(WorkloadFile { summary, multiplier, synthetic, threads, profile, trace, tenants, transform }) = file else {
        return Err(faults.into());
    };
    let top = Check { document, section: "" };
    let unreadable = faults.clone();
    let readable = |section: &str| !unreadable.touch(section);
    let by_rule = synthetic.is_some() || threads.is_some();
    let table = match (synthetic, threads, profile, trace, tenants) {
        (Some(table), None, None, None, None) => table.check(top.at("synthetic"), &mut faults).map(Table::Synthetic),
        (None, Some(threads), None, None, None) => {
            if threads.is_empty() {
                faults.add(top.fault("threads", "has no thread; expected at least one table [threads.NAME]"));
            }
            let checked = threads.into_iter().filter_map(|(name, table)| {
                let thread = table.check(top.at(&format!("threads.{name}")), &mut faults)?;
                Some((name, thread))
            });
            Some(Table::Threads(checked.collect()))
        }
        (None, None, Some(table), None, None) => table.check(top.at("profile"), &mut faults),
        (None, None, None, Some(table), None) => faults.take(table.check(top.at("trace"))).map(Table::Trace),
        (None, None, None, None, Some(tenants)) => {
            if tenants.is_empty() {
                faults.add(top.fault("tenants", "has no trace; expected at least one table [tenants.NAME.trace]"));
            }
            let checked = tenants.into_iter().filter_map(|(name, TenantTable { trace, transform })| {
                let [of_trace, of_transform] = ["trace", "transform"].map(|table| format!("tenants.{name}.{table}"));
                let trace = faults.take(trace.check(top.at(&of_trace)));
                let transform = transform.unwrap_or_default();
                let transform = if readable(&of_transform) { faults.take(top.at(&of_transform).transform(transform)) } else { None };
                Some((name, trace?, transform?))
            });
            Some(Table::Tenants(checked.collect()))
        }
        _ => {
            let found = "expected exactly one of the tables [synthetic], [threads], [profile], [trace] and [tenants]";
            faults.push(Fault::new("", "", found).at(Place::new(&document.name, 1)));
            None
        }
    };
    if transform.is_some() && by_rule {
        faults.add(top.fault("transform", "applies to traces and stand-ins, and this workload is made by rule"));
    }
    let transform = transform.unwrap_or_default();
    let transform = if readable("transform") { faults.take(top.at("transform").transform(transform)) } else { None };
    faults.result().map_err(|error| error.placed(std::iter::once(document)))?;
    let (Some(table), Some(transform)) = (table, transform) else { unreachable!("what is not there has a fault") };
    Ok((CheckedFile { summary, table, transform, notes: Vec::new(), preparation: Preparation::default() }, multiplier))
}

/// Reads the sidecar file of a trace.
pub(crate) fn read_sidecar(path: &Path) -> Result<TraceOptions, WorkloadError> {
    let content = read_text(path).map_err(|error| WorkloadError::io(path, &error))?;
    let document = Document::parse(&path.display().to_string(), &content)?;
    let mut faults = Faults::default();
    let table = read::<TraceTable>(&document, &mut faults);
    if document.gives("", "file") {
        faults.add(
            Check { document: &document, section: "" }.fault("file", "does not belong in a sidecar file: it is named after its trace"),
        );
    }
    faults.result().map_err(|error| error.placed(std::iter::once(&document)))?;
    Ok(table.expect("what has no fault was read").options())
}

/// A section of a document, to check its values.
#[derive(Clone, Copy)]
pub(crate) struct Check<'a> {
    pub(crate) document: &'a Document,
    pub(crate) section: &'a str,
}

impl Check<'_> {
    /// Another section of the document.
    pub(crate) fn at<'a>(self, section: &'a str) -> Check<'a>
    where
        Self: 'a,
    {
        Check { document: self.document, section }
    }

    /// A fault of a key: what was found.
    pub(crate) fn fault(self, key: &str, found: impl fmt::Display) -> ConfigError {
        self.bound(key, found, "")
    }

    /// As `fault`, with what is allowed.
    pub(crate) fn bound(self, key: &str, found: impl fmt::Display, allowed: impl fmt::Display) -> ConfigError {
        let fault = Fault::new(self.section, key, found.to_string()).allowed(allowed.to_string());
        fault.at(self.document.place(self.section, key)).into()
    }

    /// A fault of a key, as the outcome of a check.
    pub(crate) fn refuse<T>(self, key: &str, found: impl fmt::Display) -> Result<T, ConfigError> {
        Err(self.fault(key, found))
    }

    /// A transform that contradicts nothing.
    fn transform(self, transform: Transform) -> Result<Transform, ConfigError> {
        transform.problem().map_or(Ok(transform), |(key, found)| self.refuse(key, found))
    }

    pub(crate) fn share(self, key: &str, share: f64) -> Result<f64, ConfigError> {
        match (0.0..=1.0).contains(&share) {
            true => Ok(share),
            false => Err(self.bound(key, format_args!("is {share}"), "a share from 0 to 1")),
        }
    }

    pub(crate) fn sectors(self, key: &str, bytes: u64) -> Result<u64, ConfigError> {
        let sector_bytes = u64::from(SECTOR_BYTES);
        match bytes {
            0 => Err(self.bound(key, "is 0", "a multiple of 512 bytes above 0")),
            bytes if bytes % sector_bytes != 0 => Err(self.bound(key, format_args!("is {bytes}"), "a multiple of 512 bytes, the sector")),
            bytes => Ok(bytes / sector_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect_file;
    use serde_json::Value;
    use tinytail_config::schema::admit_sources;

    /// `UPDATE_EXPECT=1 cargo test --release -p tinytail-workload schema` writes it anew.
    #[test]
    fn the_schema_of_workload_files_is_the_one_that_is_shipped() {
        let mut schema = schemars::schema_for!(WorkloadFile).to_value();
        let tables = schema["$defs"].clone();
        let is_table = |property: &Value| {
            let name = property.to_string().split("#/$defs/").nth(1).and_then(|rest| Some(rest.split_once('"')?.0.to_string()));
            name.is_some_and(|name| tables[name].get("properties").is_some())
        };
        admit_sources(&mut schema, &is_table);
        for (name, table) in schema["$defs"].as_object_mut().unwrap() {
            // A claim has its source among its keys.
            if name != "ClaimTable" {
                admit_sources(table, &is_table);
            }
        }
        expect_file!["../../../python/tinytail/schema/workload.schema.json"]
            .assert_eq(&format!("{}\n", serde_json::to_string_pretty(&schema).unwrap()));
        let mut sections =
            schema["properties"].as_object().unwrap().keys().filter(|key| !["summary", "multiplier"].contains(&key.as_str()));
        assert!(
            SECTIONS.iter().all(|name| schema["properties"].get(name).is_some()) && sections.all(|name| SECTIONS.contains(&name.as_str()))
        );
    }
}
