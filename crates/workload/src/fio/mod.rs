//! Job files of fio, as workloads: the part of them that says which requests a drive gets, and when.
//!
//! A job becomes one thread or, by `numjobs`, several. What the model has no counterpart for is refused by its name, and so is
//! a default of fio that means something else here, such as buffered I/O. docs/reference/files.md has the list.
//!
//! The lines are taken apart here rather than by a library for INI files: those drop the numbers of the lines, which every
//! message gives.

mod ini;
mod job;
mod options;
mod priority;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::file::{CheckedFile, Table, Text};
use crate::synthetic::Synthetic;
use crate::text::quoted;
use crate::transform::Transform;
use ini::Section;
use options::Meaning;
use tinytail_config::{ConfigError, Fault, Place, Row};

/// The most threads that all jobs of a file may make.
const THREADS_MAX: u64 = 1024;

/// Whether a file of this name is a job file.
pub(crate) fn is_job_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "fio")
}

/// Whether a file with the name of a job file is one of fio's I/O logs, which are traces.
pub(crate) fn is_io_log(path: &Path) -> bool {
    const FIRST: &[u8] = b"fio version";
    let mut start = [0; FIRST.len()];
    is_job_file(path) && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == FIRST
}

/// A fault in a line of a section, or of what stands before the first.
fn fault(text: Text<'_>, line: usize, section: &str, message: impl fmt::Display) -> ConfigError {
    Fault::new(section, "", message.to_string()).at(Place::new(text.path, line)).into()
}

/// A value of a job, and where it was given.
#[derive(Clone, Copy)]
struct Value<'a> {
    /// Nothing where the option stands alone.
    value: Option<&'a str>,
    section: &'a str,
    /// As the file calls the option.
    key: &'a str,
    line: usize,
}

/// A job with what the global sections before it say.
struct Job<'a> {
    text: Text<'a>,
    name: &'a str,
    line: usize,
    values: BTreeMap<&'static str, Value<'a>>,
}

/// Reads a job file, and checks it.
pub(crate) fn read(text: Text<'_>) -> Result<CheckedFile, ConfigError> {
    let jobs = jobs(text)?;
    if jobs.is_empty() {
        return Err(fault(text, 1, "", "has no job; expected a section [NAME] besides [global]"));
    }
    let mut threads: Vec<(String, Synthetic)> = Vec::new();
    let mut count: u64 = 0;
    for (index, job) in jobs.iter().enumerate() {
        let clones = job.clones()?;
        count = count.saturating_add(clones);
        if count > THREADS_MAX {
            return Err(job.fault("numjobs", format_args!("makes more than {THREADS_MAX} threads of all jobs together")));
        }
        if index > 0 {
            job.check_starts_with_others()?;
        }
        for clone in 0..clones {
            let name = if clones == 1 { job.name.to_owned() } else { format!("{}.{clone}", job.name) };
            threads.push((name, job.thread(clone)?));
        }
    }
    check_files(&jobs, threads.len())?;
    let summary = summary(&jobs);
    let table = match <[(String, Synthetic); 1]>::try_from(threads) {
        Ok([(_, thread)]) => Table::Synthetic(thread),
        Err(threads) => Table::Threads(threads),
    };
    Ok(CheckedFile { summary, table, transform: Transform::default() })
}

/// The options of a file as rows, in the order of the file.
pub(crate) fn rows(text: Text<'_>) -> Vec<Row> {
    let row = |section: &str, option: &ini::Given<'_>| Row {
        section: section.into(),
        key: option.key.into(),
        value: option.value.unwrap_or("1").into(),
        source: String::new(),
    };
    let of_section = |section: &Section<'_>| -> Vec<Row> {
        section.options.iter().filter(|option| option.key != "description").map(|option| row(section.name, option)).collect()
    };
    ini::sections(text).unwrap_or_default().iter().flat_map(of_section).collect()
}

/// The jobs of a file, in its order. What a global section says holds for the jobs below it, unless a later one or the job
/// says otherwise.
fn jobs(text: Text<'_>) -> Result<Vec<Job<'_>>, ConfigError> {
    let mut global = BTreeMap::new();
    let mut jobs = Vec::new();
    for section in ini::sections(text)? {
        let own = values(text, &section)?;
        if section.name == "global" {
            global.extend(own);
        } else if section.name.starts_with("global") {
            let message = "would be a global section to fio; call it [global], or by another name";
            return Err(fault(text, section.line, section.name, message));
        } else {
            let mut values: BTreeMap<&'static str, Value<'_>> = global.clone();
            values.extend(own);
            jobs.push(Job { text, name: section.name, line: section.line, values });
        }
    }
    Ok(jobs)
}

/// What a section says, by fio's first names.
fn values<'a>(text: Text<'a>, section: &Section<'a>) -> Result<BTreeMap<&'static str, Value<'a>>, ConfigError> {
    let mut values: BTreeMap<&'static str, Value<'a>> = BTreeMap::new();
    for option in &section.options {
        let refuse = |message: String| Err(fault(text, option.line, section.name, message));
        if option.key == "include" || option.key.starts_with("include ") {
            return refuse("`include` is not supported: a workload is one file".into());
        }
        let name = match options::meaning(option.key) {
            Ok(Meaning::Supported(name)) => name,
            Ok(Meaning::Nothing) => continue,
            Err(message) => return refuse(message),
        };
        if let Some(value) = option.value.filter(|value| value.contains('$') && name != "description") {
            let message = "environment variables and fio's keywords are not supported; write the value itself";
            return refuse(format!("`{}` is {}: {message}", option.key, quoted(value)));
        }
        if let Some(before) = values.get(name) {
            return refuse(format!("`{}` is given twice; the first time in line {}", option.key, before.line));
        }
        values.insert(name, Value { value: option.value, section: section.name, key: option.key, line: option.line });
    }
    Ok(values)
}

/// The file's own description, or the names of its jobs.
fn summary(jobs: &[Job<'_>]) -> String {
    let described = jobs.iter().find_map(|job| job.values.get("description")?.value).filter(|text| !text.is_empty());
    let names = || jobs.iter().map(|job| job.name).collect::<Vec<_>>().join(", ");
    described.map_or_else(|| format!("a job file of fio: {}", names()), str::to_owned)
}

/// There is one file, the drive, so that threads of several files have none to go to.
fn check_files(jobs: &[Job<'_>], threads: usize) -> Result<(), ConfigError> {
    let mut first: Option<&str> = None;
    for job in jobs {
        let Some(value) = job.values.get("filename") else {
            if threads == 1 {
                continue;
            }
            let message = "has no `filename`, so that fio would give each of its threads a file of its own, and here the drive is the one \
                           file; give all jobs the same `filename`";
            return Err(fault(job.text, job.line, job.name, message));
        };
        let name = value.value.unwrap_or_default();
        if name.is_empty() || name.replace("\\:", "").contains(':') {
            return Err(job.bound("filename", format_args!("is {}", quoted(name)), "one file: the drive"));
        }
        if let Some(first) = first.filter(|first| *first != name) {
            let message = format_args!("is {}, and another job has {}; the drive is the one file of all jobs", quoted(name), quoted(first));
            return Err(job.fault("filename", message));
        }
        first = Some(name);
    }
    Ok(())
}

impl<'a> Job<'a> {
    /// A fault of an option, where it was given, or of the job where it was not.
    fn fault(&self, name: &str, found: impl fmt::Display) -> ConfigError {
        self.bound(name, found, "")
    }

    /// As `fault`, with what is allowed.
    fn bound(&self, name: &str, found: impl fmt::Display, allowed: impl fmt::Display) -> ConfigError {
        let (section, key, line) = match self.values.get(name) {
            Some(value) => (value.section, value.key, value.line),
            None => (self.name, name, self.line),
        };
        let fault = Fault::new(section, key, found.to_string()).allowed(allowed.to_string());
        fault.at(Place::new(self.text.path, line)).into()
    }

    /// A fault of an option's value.
    fn unlike(&self, name: &str, allowed: impl fmt::Display) -> ConfigError {
        let found = self.values.get(name).map_or("", |value| value.value.unwrap_or_default());
        self.bound(name, format_args!("is {}", quoted(found)), allowed)
    }

    /// The value of an option that is given. Nothing stands for an empty one.
    fn given(&self, name: &str) -> Option<&'a str> {
        self.values.get(name).map(|value| value.value.unwrap_or_default())
    }
}
