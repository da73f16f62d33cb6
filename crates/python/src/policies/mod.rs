//! Policies of a design's own: read from files by the package's `policies`, asked with views, ended by their faults.
//!
//! The code of a file runs only where work is watched for faults, which is to say in runs. Elsewhere its text describes it.

use crate::errors::{RunError, json};
use plain::Plain;
use pyo3::prelude::*;
use std::path::Path;
use tinytail_core::policy::{GcGate, GcTrigger, Order, ReadPlan, Suspend, Victim};
use tinytail_core::techniques::outside::{Entry, Reader};
use tinytail_policies::fault::{Fault, is_watched, watched};
use tinytail_policies::library::{Compiled, function, has_function, without_function};
use tinytail_policies::outside::{Described, Levels, Outside, questions};
use tinytail_workload::{read_file, read_text};

mod layout;
mod plain;
mod view;

pub(crate) use layout::policy_layout;
pub(crate) use view::{Column, Read, View, Waiting};

/// The longest library: what is in it is held while its digest is made.
const LIBRARY_BYTES_MAX: u64 = 256 << 20;

/// What reads files of policies in this program.
pub(crate) struct Files;

/// What a policy is made of, once its entry has been read.
enum Made {
    Plain(Plain),
    Compiled(Compiled),
    Described,
}

fn is_python(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "py")
}

fn is_library(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "so" || extension == "dylib")
}

/// What Python says is wrong.
fn said(py: Python<'_>, error: &PyErr) -> String {
    error.value(py).to_string()
}

/// The methods that read the policies of sections.
macro_rules! read {
    ($($section:ident $trait:ident),+) => { $(
        fn $section(&self, entry: Entry) -> Result<Box<dyn $trait>, String> {
            let section = stringify!($section);
            Ok(match made(section, &entry)? {
                (Made::Plain(plain), levels) => Box::new(Outside::new(section, &entry, levels, plain)),
                (Made::Compiled(compiled), levels) => Box::new(Outside::new(section, &entry, levels, compiled)),
                (Made::Described, levels) => Box::new(Outside::new(section, &entry, levels, Described)),
            })
        }
    )+ };
}

impl Reader for Files {
    fn digest(&self, file: &str) -> Result<String, String> {
        let bytes = if is_python(file) {
            read_text(Path::new(file)).map(String::into_bytes)
        } else if is_library(file) {
            read_file(Path::new(file), "a library", LIBRARY_BYTES_MAX)
        } else {
            return Err("policies stand in Python (.py) or in libraries (.so)".into());
        };
        let bytes = bytes.map_err(|error| error.to_string())?;
        Python::attach(|py| {
            let digest = || py.import("tinytail.policies.load")?.call_method1("digest", (bytes,))?.extract();
            digest().map_err(|error| said(py, &error))
        })
    }

    read! { victim Victim, gc_trigger GcTrigger, gc_gate GcGate, order Order, suspend Suspend, read_plan ReadPlan }
}

fn made(section: &'static str, entry: &Entry) -> Result<(Made, Option<Levels>), String> {
    match &entry.file {
        Some(file) if is_library(file) => of_library(section, file, entry),
        file => {
            let text = file.as_ref().map(|file| read_text(Path::new(file))).transpose().map_err(|error| error.to_string())?;
            let read = if file.is_some() && !is_watched() { described } else { of_python };
            Python::attach(|py| read(py, section, entry, text).map_err(|error| said(py, &error)))
        }
    }
}

/// Where GC starts, stops and is urgent, as the package says it.
fn levels_of(levels: Option<(f64, f64, f64)>) -> Option<Levels> {
    levels.map(|(start_percent, stop_percent, urgent_percent)| Levels { start_percent, stop_percent, urgent_percent })
}

/// A policy as the text of its file describes it.
fn described(py: Python<'_>, section: &'static str, entry: &Entry, text: Option<String>) -> PyResult<(Made, Option<Levels>)> {
    let arguments = (section, &entry.name, &entry.file, text, json(&entry.parameters)?);
    let levels = py.import("tinytail.policies.describe")?.call_method1("describe", arguments)?.extract()?;
    Ok((Made::Described, levels_of(levels)))
}

fn of_python(py: Python<'_>, section: &'static str, entry: &Entry, text: Option<String>) -> PyResult<(Made, Option<Levels>)> {
    let parameters = json(&entry.parameters)?;
    let arguments = (section, &entry.name, &entry.file, text, &entry.digest, parameters);
    let loaded = py.import("tinytail.policies.load")?.call_method1("load", arguments)?;
    let levels = levels_of(loaded.getattr("levels")?.extract()?);
    let address: Option<usize> = loaded.getattr("address")?.extract()?;
    let made = match address {
        None => Made::Plain(Plain::new(py, loaded.unbind())?),
        // SAFETY: the package compiled the function for this, and keeps it.
        Some(address) => Made::Compiled(unsafe { Compiled::at(address) }),
    };
    Ok((made, levels))
}

fn of_library(section: &str, file: &str, entry: &Entry) -> Result<(Made, Option<Levels>), String> {
    let number = |value: &toml::Value| value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    let mut given = entry.parameters.clone();
    let mut levels = None;
    if section == "gc_trigger" {
        let [start, stop, urgent] =
            ["start_percent", "stop_percent", "urgent_percent"].map(|key| given.remove(key).as_ref().and_then(number));
        let (Some(start_percent), Some(urgent_percent)) = (start, urgent) else {
            return Err("a trigger needs `start_percent` and `urgent_percent`, the erased pages below which GC starts and is urgent".into());
        };
        levels = Some(Levels { start_percent, stop_percent: stop.unwrap_or(start_percent), urgent_percent });
    }
    let parameters = match given.remove("parameters") {
        None => Some(Vec::new()),
        Some(toml::Value::Array(values)) => values.iter().map(number).collect(),
        Some(_) => None,
    };
    let parameters = parameters.ok_or("`parameters` of a library's policy are a list of numbers")?;
    if let Some(key) = given.keys().next() {
        return Err(format!("`{key}` is unknown; a library's policy has its numbers as `parameters = [...]`"));
    }
    if !is_watched() {
        let library = read_file(Path::new(file), "a library", LIBRARY_BYTES_MAX).map_err(|error| error.to_string())?;
        // A file that is no library, or a part of one, fails when it is opened.
        if has_function(&library, &entry.name) == Some(false) {
            return Err(without_function(&entry.name));
        }
        return Ok((Made::Described, levels));
    }
    // SAFETY: what a design names as a policy is one.
    let compiled = unsafe { Compiled::new(function(file, &entry.digest, &entry.name)?, parameters) };
    Ok((Made::Compiled(compiled), levels))
}

/// How many questions policies have been asked, and have answered: an odd number while one has no answer yet.
#[pyfunction]
pub(crate) fn policy_questions() -> u64 {
    questions()
}

/// The error of a run whose policy failed, raised from what the policy raised.
pub(crate) fn failed(py: Python<'_>, Fault { message, cause }: Fault) -> PyErr {
    let error = RunError::new_err(message);
    if let Some(raised) = cause.and_then(|cause| cause.downcast::<PyErr>().ok()) {
        error.set_cause(py, Some(*raised));
    }
    error
}

/// Does work without the interpreter, and finds out whether a policy failed in it, which stops it by the control.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    control: &std::sync::Arc<tinytail_simulator::control::Control>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let stopped = std::sync::Arc::clone(control);
    match py.detach(|| watched(move || stopped.cancel(), work)) {
        (found, None) => Ok(found),
        (_, Some(fault)) => Err(failed(py, fault)),
    }
}
