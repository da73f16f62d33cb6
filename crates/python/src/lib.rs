//! The native module `tinytail._native`: converts, releases the interpreter's lock, holds no logic.
//!
//! Everything with structure crosses the boundary as JSON text.

// The macros of PyO3 write unsafe code. This crate has some of its own where it shows drives to policies.
#![allow(unsafe_code)]

use errors::{ConfigError, RunError, TinytailError, WorkloadError, json};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tinytail_config::Document;
use tinytail_simulator::aged::{self, Cache};
use tinytail_simulator::control::{Control as Progress, Phase};
use tinytail_simulator::image::{self, CreateSpec};
use tinytail_simulator::measured_layout::{PageTime, measured_layout};
use tinytail_simulator::power::{self, PowerSpec};
use tinytail_simulator::settings::Settings;
use tinytail_simulator::spec::{RunError as Failure, Spec};
use tinytail_simulator::{bench as benches, catalog, fitting, run as runs};
use tinytail_workload::{Reading, Trace, TraceOptions, Transform, Workload, WorkloadError as Faulty};

mod errors;
mod policies;

/// What the reader of options says, without its position in a text that the user never wrote.
fn option_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).unwrap_or(&message).to_string()
}

fn config_error(error: impl ToString) -> PyErr {
    ConfigError::new_err(error.to_string())
}

fn workload_error(error: &Faulty) -> PyErr {
    match error {
        Faulty::Output { .. } => RunError::new_err(error.to_string()),
        Faulty::Interrupted => PyKeyboardInterrupt::new_err(error.to_string()),
        _ => WorkloadError::new_err(error.to_string()),
    }
}

/// Options as JSON text.
fn options<'a, T: serde::Deserialize<'a>>(json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| WorkloadError::new_err(option_message(&error)))
}

fn failure(error: &Failure) -> PyErr {
    match error {
        Failure::Config(error) => config_error(error),
        Failure::Workload(error) => workload_error(error),
        Failure::Log(_) | Failure::Timeline(_) | Failure::Failed(_) => RunError::new_err(error.to_string()),
    }
}

/// Values that are given beside files, as `section.key=value`.
fn settings(words: Vec<String>) -> PyResult<Settings> {
    Settings::try_from(words).map_err(config_error)
}

/// The phases of a run, in words.
const PHASES: [(Phase, &str); 8] = [
    (Phase::Reading, "reading"),
    (Phase::Ageing, "ageing"),
    (Phase::Waiting, "waiting for an aged drive"),
    (Phase::Loading, "loading"),
    (Phase::Writing, "writing"),
    (Phase::WarmingUp, "warming up"),
    (Phase::Running, "running"),
    (Phase::Serving, "serving"),
];

/// Progress and switch of a run.
#[pyclass(frozen)]
struct Control(Arc<Progress>);

#[pymethods]
impl Control {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    fn done(&self) -> u64 {
        self.0.done()
    }

    fn total(&self) -> u64 {
        self.0.total()
    }

    fn phase(&self) -> &'static str {
        let now = self.0.phase();
        PHASES.iter().find(|(phase, _)| *phase == now).map_or("", |(_, name)| name)
    }

    fn cancel(&self) {
        self.0.cancel();
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Shows how far a run in another process is.
    fn show(&self, phase: &str, done: u64, total: u64) {
        if let Some(&(phase, _)) = PHASES.iter().find(|(_, name)| *name == phase) {
            if phase != self.0.phase() {
                self.0.enter(phase, total);
            }
            self.0.set_total(total);
            self.0.advance(done);
        }
    }
}

impl Control {
    /// How a trace's file is read, under this switch.
    fn reading(&self, spooled: Option<PathBuf>) -> Reading {
        self.0.enter(Phase::Reading, 0);
        Reading { spooled, watch: Arc::clone(self.0.watch()), ..Reading::default() }
    }
}

/// What the runs of one command share, and the cache that they use, if any: its folder and the bytes that may lie there. `holds_last`
/// keeps the last large state in memory that the cache does not keep.
#[pyclass(frozen)]
struct Shared(aged::Shared);

#[pymethods]
impl Shared {
    #[new]
    fn new(specs_json: Vec<String>, cache: Option<(PathBuf, u64)>, holds_last: bool) -> PyResult<Self> {
        let specs: Result<Vec<Spec>, PyErr> = specs_json.iter().map(|json| run_spec(json)).collect();
        let shared = aged::Shared::new(specs?, cache.map(|(folder, limit_bytes)| Cache { folder, limit_bytes }));
        Ok(Self(if holds_last { shared.hold_last() } else { shared }))
    }

    /// How many states were made, and not copied from memory.
    fn made(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.0.made())
    }

    /// What is to be said since the last call.
    fn take_notes(&self, py: Python<'_>) -> Vec<String> {
        // A run may hold what this waits for, and wait for the interpreter itself.
        py.detach(|| self.0.take_notes())
    }

    /// The cache, if there is one: its folder and the bytes that may lie there.
    fn cache(&self) -> Option<(PathBuf, u64)> {
        self.0.cache().map(|cache| (cache.folder.clone(), cache.limit_bytes))
    }

    /// What a run in another process had to say, and the names in the cache of the states that it started from.
    fn add(&self, py: Python<'_>, notes: Vec<String>, used: Vec<String>) {
        py.detach(|| self.0.add(notes, used));
    }

    /// The names in the cache of the states that runs have started from since the last call.
    fn take_used(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.take_used())
    }
}

/// A drive that is served, and its switch.
#[cfg(target_os = "linux")]
#[pyclass(frozen)]
struct Serving {
    control: Arc<Progress>,
    live: Arc<tinytail_server::server::Live>,
}

#[cfg(target_os = "linux")]
#[pymethods]
impl Serving {
    #[new]
    fn new(control: &Control) -> Self {
        Self { control: Arc::clone(&control.0), live: Arc::default() }
    }

    /// Serves until the control's switch.
    fn serve(&self, py: Python<'_>, spec_json: &str) -> PyResult<String> {
        let spec = serde_json::from_str(spec_json).map_err(|error| ConfigError::new_err(option_message(&error)))?;
        let serve = || tinytail_server::serve::serve(&spec, &self.control, &self.live);
        let summary = policies::detached(py, &self.control, serve)?.map_err(|error| failure(&error))?;
        json(&summary)
    }

    /// How it stands; nothing before clients can come.
    fn look(&self) -> PyResult<Option<String>> {
        let snapshot = self.live.lock().map_err(|error| RunError::new_err(error.to_string()))?.clone();
        snapshot.as_ref().map(json).transpose()
    }
}

#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pyfunction]
fn devices() -> PyResult<String> {
    json(&catalog::devices())
}

#[pyfunction]
#[pyo3(signature = (name_or_path, given=vec![]))]
fn device(name_or_path: &str, given: Vec<String>) -> PyResult<String> {
    json(&catalog::describe_device(name_or_path, &settings(given)?).map_err(config_error)?)
}

#[pyfunction]
#[pyo3(signature = (name_or_path, given=vec![]))]
fn device_document(name_or_path: &str, given: Vec<String>) -> PyResult<String> {
    json(&catalog::device_document(name_or_path, &settings(given)?).map_err(config_error)?)
}

#[pyfunction]
fn settings_check(given: Vec<String>, without_workload: Option<&str>) -> PyResult<()> {
    let settings = settings(given)?;
    without_workload.map_or(Ok(()), |why| settings.without_workload(why)).map_err(config_error)
}

#[pyfunction]
fn device_file(name_or_path: &str, given: Vec<String>) -> PyResult<String> {
    catalog::device_file(name_or_path, &settings(given)?).map_err(config_error)
}

#[pyfunction]
fn design_file(name: &str, given: Vec<String>) -> PyResult<String> {
    catalog::design_file(name, &settings(given)?).map_err(config_error)
}

#[pyfunction]
fn workload_file(name_or_path: &str, given: Vec<String>) -> PyResult<String> {
    let settings = settings(given)?;
    tinytail_workload::workload_file(name_or_path, settings.workload()).map_err(|error| workload_error(&error))
}

#[pyfunction]
fn page_layout(pages_per_block: u32, times: Vec<(u32, f64)>) -> PyResult<String> {
    let times: Vec<PageTime> = times.into_iter().map(|(page, time)| PageTime { page, time }).collect();
    json(&measured_layout(pages_per_block, &times).map_err(config_error)?)
}

#[pyfunction]
fn designs() -> PyResult<String> {
    json(&catalog::designs())
}

#[pyfunction]
#[pyo3(signature = (name, given=vec![]))]
fn design(name: &str, given: Vec<String>) -> PyResult<String> {
    json(&catalog::describe_design(name, &settings(given)?).map_err(config_error)?)
}

/// The policies of a design's own that run with it: the file of each, if it has one, and its name.
#[pyfunction]
fn policies_of(device: &str, design: &str, given: Vec<String>) -> PyResult<Vec<(Option<String>, String)>> {
    let found = catalog::policies(device, design, &settings(given)?);
    Ok(found.into_iter().map(|policy| (policy.file, policy.name)).collect())
}

#[pyfunction]
fn fits(spec_json: &str) -> PyResult<String> {
    json(&fitting::fits(&options(spec_json)?).map_err(config_error)?)
}

#[pyfunction]
fn causes() -> PyResult<String> {
    json(&tinytail_simulator::without::CAUSES)
}

#[pyfunction]
fn workloads() -> PyResult<String> {
    json(&tinytail_workload::list())
}

#[pyfunction]
#[pyo3(signature = (name_or_path, given=vec![]))]
fn workload(name_or_path: &str, given: Vec<String>) -> PyResult<String> {
    let settings = settings(given)?;
    json(&tinytail_workload::describe_with(name_or_path, settings.workload()).map_err(|error| workload_error(&error))?)
}

#[pyfunction]
fn workload_check(name_or_path: &str, given: Vec<String>) -> PyResult<()> {
    let settings = settings(given)?;
    tinytail_workload::check_with(name_or_path, settings.workload()).map_err(|error| workload_error(&error))
}

/// How a trace is read and what is done to its requests before it is described.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Inspection {
    spooled: Option<PathBuf>,
    trace: TraceOptions,
    transform: Transform,
}

#[pyfunction]
fn trace_info(py: Python<'_>, path: &str, inspection_json: &str, control: &Control) -> PyResult<String> {
    let Inspection { spooled, trace, transform } = options(inspection_json)?;
    let reading = control.reading(spooled);
    let inspect = || tinytail_workload::trace_info(path, &trace, &transform, &reading);
    json(&py.detach(inspect).map_err(|error| workload_error(&error))?)
}

#[pyfunction]
fn trace_beginning(path: &str, inspection_json: &str) -> PyResult<()> {
    let Inspection { spooled, trace, .. } = options(inspection_json)?;
    let reading = Reading { spooled, ..Reading::default() };
    Trace::check_beginning(Path::new(path), &trace, &reading).map_err(|error| workload_error(&error))
}

/// How a workload is written as a trace.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Conversion {
    spooled: Option<PathBuf>,
    trace: TraceOptions,
    transform: Transform,
    requests: Option<u64>,
    seed: u64,
    force: bool,
    #[serde(default)]
    settings: Settings,
}

#[pyfunction]
fn trace_convert(py: Python<'_>, input: &str, output: &str, conversion_json: &str, control: &Control) -> PyResult<String> {
    let Conversion { spooled, trace, transform, requests, seed, force, settings } = options(conversion_json)?;
    let reading = control.reading(spooled);
    let resolve = || Workload::resolve_watched(input, &trace, settings.workload(), &reading)?.transformed(&transform);
    let convert = || resolve()?.convert(Path::new(output), seed, requests, force);
    json(&py.detach(convert).map_err(|error| workload_error(&error))?)
}

#[pyfunction]
fn set_text(path: PathBuf, text: String) {
    tinytail_workload::set_text(&path, text);
}

#[pyfunction]
fn workload_claims(py: Python<'_>, name_or_path: &str, seed: u64) -> PyResult<String> {
    let check = || Workload::resolve(name_or_path, &TraceOptions::default())?.check_claims(seed);
    json(&py.detach(check).map_err(|error| workload_error(&error))?)
}

/// Whether a text is TOML, of bounded depth and with numbers of 64 bits.
#[pyfunction]
fn toml_check(name: &str, text: &str) -> PyResult<()> {
    Document::parse(name, text).map(drop).map_err(config_error)
}

#[pyfunction]
fn config_check(path: &str) -> PyResult<String> {
    let checked = match catalog::kind_of(path).map_err(config_error)? {
        catalog::FileKind::Workload => {
            tinytail_workload::check_file(Path::new(path)).map_err(|error| ConfigError::new_err(error.to_string()))?;
            catalog::Checked::plain("workload")
        }
        catalog::FileKind::DeviceOrDesign => catalog::check(path).map_err(config_error)?,
    };
    json(&checked)
}

fn run_spec(json: &str) -> PyResult<Spec> {
    serde_json::from_str(json).map_err(|error| ConfigError::new_err(option_message(&error)))
}

#[pyfunction]
fn run(py: Python<'_>, spec_json: &str, control: &Control, shared: &Shared) -> PyResult<String> {
    let spec = run_spec(spec_json)?;
    let progress = Arc::clone(&control.0);
    let outcome = policies::detached(py, &progress, || runs::run_shared(&spec, &progress, &shared.0))?.map_err(|error| failure(&error))?;
    json(&outcome)
}

#[pyfunction]
fn cache_list(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    json(&py.detach(|| Cache { folder, limit_bytes: 0 }.list()))
}

#[pyfunction]
fn cache_clear(py: Python<'_>, folder: PathBuf) -> PyResult<(u64, u64)> {
    py.detach(|| Cache { folder, limit_bytes: 0 }.clear()).map_err(|error| RunError::new_err(error.to_string()))
}

#[pyfunction]
fn image_create(py: Python<'_>, spec_json: &str, control: &Control) -> PyResult<String> {
    let spec: CreateSpec = serde_json::from_str(spec_json).map_err(|error| ConfigError::new_err(option_message(&error)))?;
    let progress = Arc::clone(&control.0);
    let info = policies::detached(py, &progress, || image::create(&spec, &progress))?.map_err(|error| failure(&error))?;
    json(&info)
}

#[pyfunction]
fn image_info(py: Python<'_>, path: &str) -> PyResult<String> {
    json(&py.detach(|| image::info(path)).map_err(config_error)?)
}

#[pyfunction]
#[pyo3(signature = (path, device, design, given=vec![]))]
fn image_fits(path: &str, device: &str, design: &str, given: Vec<String>) -> PyResult<bool> {
    image::fits(path, device, design, &settings(given)?).map_err(config_error)
}

#[pyfunction]
fn power_cases() -> PyResult<String> {
    json(&power::CASES.as_slice())
}

#[pyfunction]
fn power_cut(py: Python<'_>, spec_json: &str, control: &Control) -> PyResult<String> {
    let spec: PowerSpec = serde_json::from_str(spec_json).map_err(|error| ConfigError::new_err(option_message(&error)))?;
    let progress = Arc::clone(&control.0);
    let outcome = policies::detached(py, &progress, || power::cut_power(&spec, &progress))?.map_err(|error| failure(&error))?;
    json(&outcome)
}

#[pyfunction]
fn bench_cases() -> PyResult<String> {
    json(&(benches::CASES, benches::CASES_BY_NAME))
}

#[pyfunction]
#[pyo3(name = "bench")]
fn bench_case(py: Python<'_>, case: &str, control: &Control) -> PyResult<String> {
    let progress = Arc::clone(&control.0);
    let figures = py.detach(|| benches::bench(case, &progress)).map_err(|error| failure(&error))?;
    json(&figures)
}

/// The native part of tinytail. Private: use the functions of `tinytail`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("TinytailError", py.get_type::<TinytailError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("WorkloadError", py.get_type::<WorkloadError>())?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add_class::<Control>()?;
    module.add_class::<Shared>()?;
    module.add_class::<policies::View>()?;
    module.add_class::<policies::Column>()?;
    module.add_class::<policies::Waiting>()?;
    module.add_class::<policies::Read>()?;
    tinytail_core::techniques::outside::set_reader(Box::new(policies::Files));
    // Sockets and timers as Linux has them.
    #[cfg(target_os = "linux")]
    module.add_class::<Serving>()?;
    for function in [
        wrap_pyfunction!(version, module)?,
        wrap_pyfunction!(devices, module)?,
        wrap_pyfunction!(device, module)?,
        wrap_pyfunction!(settings_check, module)?,
        wrap_pyfunction!(device_document, module)?,
        wrap_pyfunction!(device_file, module)?,
        wrap_pyfunction!(design_file, module)?,
        wrap_pyfunction!(workload_file, module)?,
        wrap_pyfunction!(set_text, module)?,
        wrap_pyfunction!(page_layout, module)?,
        wrap_pyfunction!(designs, module)?,
        wrap_pyfunction!(design, module)?,
        wrap_pyfunction!(causes, module)?,
        wrap_pyfunction!(fits, module)?,
        wrap_pyfunction!(policies_of, module)?,
        wrap_pyfunction!(workloads, module)?,
        wrap_pyfunction!(workload, module)?,
        wrap_pyfunction!(workload_check, module)?,
        wrap_pyfunction!(workload_claims, module)?,
        wrap_pyfunction!(trace_info, module)?,
        wrap_pyfunction!(trace_beginning, module)?,
        wrap_pyfunction!(trace_convert, module)?,
        wrap_pyfunction!(config_check, module)?,
        wrap_pyfunction!(toml_check, module)?,
        wrap_pyfunction!(run, module)?,
        wrap_pyfunction!(cache_list, module)?,
        wrap_pyfunction!(cache_clear, module)?,
        wrap_pyfunction!(image_create, module)?,
        wrap_pyfunction!(image_info, module)?,
        wrap_pyfunction!(image_fits, module)?,
        wrap_pyfunction!(power_cases, module)?,
        wrap_pyfunction!(power_cut, module)?,
        wrap_pyfunction!(bench_cases, module)?,
        wrap_pyfunction!(bench_case, module)?,
        wrap_pyfunction!(policies::policy_layout, module)?,
        wrap_pyfunction!(policies::policy_questions, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
