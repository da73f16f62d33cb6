//! Job files of fio, as workloads: the part of them that says which requests a drive gets, and when.
//!
//! A job becomes one thread or, by `numjobs`, several. What the model has no counterpart for is refused by its name, and so is
//! a default of fio that means something else here, such as buffered I/O. docs/reference/fio.md has the list, and
//! the version of fio that it is held against.
//!
//! The lines are taken apart here rather than by a library for INI files: those drop the numbers of the lines, which every
//! message gives.

mod ini;
mod job;
mod options;
mod priority;
mod sizes;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::Path;

use crate::file::{CheckedFile, Table, Text};
use crate::read::open_file;
use crate::synthetic::Synthetic;
use crate::text::quoted;
use crate::transform::Transform;
use ini::{Lines, Section};
use options::Meaning;
use tinytail_config::{ConfigError, Fault, Faults, Place, Row};
use tinytail_core::units::Ns;

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
    is_job_file(path) && open_file(path, "a file").and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == FIRST
}

/// A value of a job, and where it was given.
#[derive(Clone, Copy)]
struct Value<'a> {
    /// Nothing where the option stands alone.
    value: Option<&'a str>,
    section: &'a str,
    /// As the file calls the option.
    key: &'a str,
    place: &'a Place,
}

/// A job with what the global sections before it say.
struct Job<'a> {
    name: &'a str,
    place: &'a Place,
    values: BTreeMap<&'static str, Value<'a>>,
}

/// What stands before the measured part of a job file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preparation {
    /// The threads of phases that are over when it begins, in their order.
    pub(crate) phases: Vec<Vec<(String, Synthetic)>>,
    /// How long its threads run before they are measured.
    pub(crate) ramp_ns: Ns,
}

/// Reads a job file, and checks it. All that is wrong is told at once.
pub(crate) fn read(text: Text<'_>) -> Result<CheckedFile, ConfigError> {
    read_with(text, &|name| std::env::var(name).ok())
}

/// As `read`, with the values of the variables of the environment.
fn read_with(text: Text<'_>, variable: &dyn Fn(&str) -> Option<String>) -> Result<CheckedFile, ConfigError> {
    let Lines { sections, variables, mut faults } = ini::lines(text, variable);
    let mut ignored = Vec::new();
    let jobs = jobs(&sections, &mut ignored, &mut faults);
    if jobs.is_empty() {
        faults.push(Fault::new("", "", "has no job; expected a section [NAME] besides [global]").at(Place::new(text.path, 1)));
    }
    let (mut phases, mut count): (Vec<Phase<'_>>, u64) = (vec![Phase::default()], 0);
    for job in &jobs {
        let begins = faults.take(job.begins_phase()).unwrap_or_default();
        if begins && phases.last().is_some_and(|phase| !phase.jobs.is_empty()) {
            phases.push(Phase::default());
        }
        let clones = faults.take(job.clones()).unwrap_or(1);
        count = count.saturating_add(clones);
        let is_too_many = count > THREADS_MAX;
        if is_too_many {
            faults.add(job.fault("numjobs", format_args!("makes more than {THREADS_MAX} threads of all jobs together")));
        }
        let threads = job.threads(if is_too_many { 1 } else { clones }, &mut faults).unwrap_or_default();
        let name = |clone: usize| if clones == 1 { job.name.to_owned() } else { format!("{}.{clone}", job.name) };
        if let Some(phase) = phases.last_mut() {
            phase.jobs.push(job);
            phase.threads.extend(threads.into_iter().enumerate().map(|(clone, thread)| (name(clone), thread)));
        }
    }
    check_files(&jobs, count, &mut faults);
    let ramp_ns = check_phases(&phases, &mut faults);
    if let Err(ConfigError(mut faults)) = faults.result() {
        faults.sort_by(|a, b| a.place.cmp(&b.place));
        return Err(ConfigError(faults));
    }
    let summary = summary(&jobs);
    let notes = notes(&phases, &ignored, &variables);
    let measured = phases.pop().unwrap_or_default().threads;
    let phases = phases.into_iter().map(|phase| phase.threads).collect();
    let table = match <[(String, Synthetic); 1]>::try_from(measured) {
        Ok([(_, thread)]) => Table::Synthetic(thread),
        Err(threads) => Table::Threads(threads),
    };
    Ok(CheckedFile { summary, table, transform: Transform::default(), notes, preparation: Preparation { phases, ramp_ns } })
}

/// Jobs that run at once, when all before them have ended.
#[derive(Default)]
struct Phase<'a> {
    jobs: Vec<&'a Job<'a>>,
    threads: Vec<(String, Synthetic)>,
}

/// The options of a file as rows, in the order of the file.
pub(crate) fn rows(text: Text<'_>) -> Vec<Row> {
    let sections = ini::lines(text, &|name| std::env::var(name).ok()).sections;
    let row = |section: &Section, option: &ini::Given| Row {
        section: section.name.clone(),
        key: option.key.clone(),
        value: option.value.as_deref().unwrap_or("1").into(),
        source: if *option.place.name == *text.path { String::new() } else { format!("{}, included", option.place.name) },
    };
    let of_section = |section: &Section| -> Vec<Row> {
        section.options.iter().filter(|option| option.key != "description").map(|option| row(section, option)).collect()
    };
    sections.iter().flat_map(of_section).collect()
}

/// The jobs of a file, in its order. What a global section says holds for the jobs below it, unless a later one or the job
/// says otherwise.
fn jobs<'a>(sections: &'a [Section], ignored: &mut Vec<&'a str>, faults: &mut Faults) -> Vec<Job<'a>> {
    let mut global = BTreeMap::new();
    let mut jobs = Vec::new();
    for section in sections {
        let own = values(section, ignored, faults);
        if section.name == "global" {
            global.extend(own);
        } else if section.name.starts_with("global") {
            let message = "would be a global section to fio; call it [global], or by another name";
            faults.push(Fault::new(&section.name, "", message).at(section.place.clone()));
        } else {
            let mut values: BTreeMap<&'static str, Value<'_>> = global.clone();
            values.extend(own);
            jobs.push(Job { name: &section.name, place: &section.place, values });
        }
    }
    jobs
}

/// What a section says, by the names of the options here. Options without a meaning are added to the ignored ones.
fn values<'a>(section: &'a Section, ignored: &mut Vec<&'a str>, faults: &mut Faults) -> BTreeMap<&'static str, Value<'a>> {
    let mut values: BTreeMap<&'static str, Value<'a>> = BTreeMap::new();
    for option in &section.options {
        let mut refuse = |subject: Option<String>, found: String| {
            let fault = Fault { subject, ..Fault::new(&section.name, &option.key, found) };
            faults.push(fault.at(option.place.clone()));
        };
        let the_option = || Some(format!("the option {}", quoted(&option.key)));
        let Some(known) = options::find(&option.key) else {
            refuse(the_option(), options::unknown(&option.key));
            continue;
        };
        match known.meaning {
            Meaning::Says(_) => {}
            Meaning::Ignored => {
                if !ignored.contains(&option.key.as_str()) {
                    ignored.push(&option.key);
                }
                continue;
            }
            Meaning::Refused(neutral, _) if option.value.as_deref().is_some_and(|value| is_neutral(value, neutral)) => continue,
            Meaning::Refused(_, instead) => {
                refuse(the_option(), format!("of fio is not supported: {instead}"));
                continue;
            }
        }
        if let Some(value) = option.value.as_deref().filter(|value| value.contains('$') && known.name != "description") {
            refuse(None, format!("is {}: fio's keywords are not supported; write the value itself", quoted(value)));
        } else if let Some(before) = values.get(known.name) {
            refuse(None, format!("is given twice; the first time in line {}", before.place.line));
        } else {
            values.insert(
                known.name,
                Value { value: option.value.as_deref(), section: &section.name, key: &option.key, place: &option.place },
            );
        }
    }
    values
}

/// Whether an option of this value does nothing.
fn is_neutral(value: &str, neutral: &[&str]) -> bool {
    let number = |text: &str| values::number(text, values::KiloBase::Traditional);
    let is = |text: &str, neutral: &&str| text.eq_ignore_ascii_case(neutral) || (number(text).is_some() && number(text) == number(neutral));
    value.split(',').all(|part| neutral.iter().any(|neutral| is(part.trim(), neutral)))
}

/// The file's own description, or the names of its jobs.
fn summary(jobs: &[Job<'_>]) -> String {
    let described = jobs.iter().find_map(|job| job.values.get("description")?.value).filter(|text| !text.is_empty());
    let names = || jobs.iter().map(|job| job.name).collect::<Vec<_>>().join(", ");
    described.map_or_else(|| format!("a job file of fio: {}", names()), str::to_owned)
}

/// What is to be known with the results: what was ignored, what came from outside the file, what is not measured.
fn notes(phases: &[Phase<'_>], ignored: &[&str], variables: &BTreeSet<(String, String)>) -> Vec<String> {
    let list = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
    let mut notes = Vec::new();
    if !ignored.is_empty() {
        let names = list(&mut ignored.iter().map(|name| format!("`{name}`")));
        notes.push(format!("ignored, since they change what fio reports or how its host works, and not what the drive gets: {names}"));
    }
    if !variables.is_empty() {
        notes.push(format!("from the environment: {}", list(&mut variables.iter().map(|(name, value)| format!("{name}={value}")))));
    }
    if let [before @ .., last] = phases
        && !before.is_empty()
    {
        let names = |phase: &Phase<'_>| phase.jobs.iter().map(|job| job.name).collect::<Vec<_>>().join(" with ");
        notes.push(format!(
            "the last phase alone is measured, {}; those before it prepare the drive: {}",
            names(last),
            list(&mut before.iter().map(names))
        ));
    }
    notes
}

/// There is one file, the drive, so that threads of several files have none to go to.
fn check_files(jobs: &[Job<'_>], threads: u64, faults: &mut Faults) {
    let mut first: Option<(&str, &str)> = None;
    for job in jobs {
        let Some(name) = job.given("filename") else {
            if threads == 1 {
                continue;
            }
            let found = "is missing, so that fio would give each of its threads a file of its own, and here the drive is the one file";
            faults.add(job.bound("filename", found, "the same name in all jobs"));
            continue;
        };
        if name.is_empty() || name.replace("\\:", "").contains(':') {
            faults.add(job.bound("filename", format_args!("is {}", quoted(name)), "one file: the drive"));
            continue;
        }
        let file = (job.given("directory").unwrap_or_default(), name);
        if let Some(first) = first.filter(|first| *first != file) {
            let (given, path) = (if first.1 == name { "directory" } else { "filename" }, |(folder, name): (&str, &str)| {
                quoted(&if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") })
            });
            let message = format_args!("is {}, and another job has {}; the drive is the one file of all jobs", path(file), path(first));
            faults.add(job.fault(given, message));
        }
        first = first.or(Some(file));
    }
}

/// Times that are counted for a whole file, which has no place for phases of its own. Gives how long the last phase runs before it is
/// measured.
fn check_phases(phases: &[Phase<'_>], faults: &mut Faults) -> Ns {
    let mut ramp_ns = None;
    for (index, phase) in phases.iter().enumerate() {
        for job in &phase.jobs {
            if phases.len() > 1 && phase.threads.iter().any(|(name, thread)| name.starts_with(job.name) && thread.start_ns > 0) {
                let message = "is given in a file with `stonewall`, and fio counts it from the beginning of all phases";
                faults.add(job.fault("startdelay", message));
            }
            let Some(own) = faults.take(job.ramp_ns()).filter(|_| index + 1 == phases.len()) else { continue };
            if ramp_ns.is_some_and(|ramp_ns| ramp_ns != own) {
                faults.add(job.bound("ramp_time", "is not that of the other jobs", "one time, since all of them are measured together"));
            }
            ramp_ns = ramp_ns.or(Some(own));
        }
    }
    ramp_ns.unwrap_or(0)
}

impl<'a> Job<'a> {
    /// A fault of an option, where it was given, or of the job where it was not.
    fn fault(&self, name: &str, found: impl fmt::Display) -> ConfigError {
        self.bound(name, found, "")
    }

    /// As `fault`, with what is allowed.
    fn bound(&self, name: &str, found: impl fmt::Display, allowed: impl fmt::Display) -> ConfigError {
        let (section, key, place) = match self.values.get(name) {
            Some(value) => (value.section, value.key, value.place),
            None => (self.name, name, self.place),
        };
        Fault::new(section, key, found.to_string()).allowed(allowed.to_string()).at(place.clone()).into()
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
