//! Making an image: a device and a design, aged, into a file that is whole or not there at all.

use crate::addresses::{Addresses, footprint};
use crate::catalog;
use crate::control::{Control, Phase};
use crate::crew::thread_cpu_seconds;
use crate::crew::{AtWork, Crew};
use crate::image::{CpuSeconds, Header, Info, VERSION, destination, write};
use crate::parity::parity_percent;
use crate::settings::Settings;
use crate::spec::RunError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fs::Permissions;
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tinytail_core::drive::Drive;
use tinytail_core::image::Layout;
use tinytail_metrics::Metrics;
use tinytail_workload::{Reading, TraceOptions, Workload};

/// What an image is to hold.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ImageSpec")]
pub struct CreateSpec {
    /// The file to write.
    pub out: String,
    /// Name or path of the device.
    pub device: String,
    /// Composition of the design.
    pub design: String,
    /// Seed of ageing.
    pub seed: u64,
    /// Values of the starting state that replace the device's.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub state: toml::Table,
    /// Values that are given beside the files of device, design and workload.
    #[serde(default)]
    #[schemars(with = "Vec<String>", extend("default" = []))]
    pub settings: Settings,
    /// Name or path of a workload whose pages are to be mapped.
    pub workload: Option<String>,
    /// The file that holds what was read from a pipe, if the workload's name is that of a pipe or `-`.
    pub spooled: Option<PathBuf>,
    /// How a trace is read.
    #[serde(default)]
    pub trace: TraceOptions,
}

/// Ages a drive and writes its image.
///
/// # Errors
/// A faulty device, design or workload; a file that can't be written, which is found out before anything is aged.
pub fn create(spec: &CreateSpec, control: &Control) -> Result<Info, RunError> {
    let mut device = catalog::device_with(&spec.device, &spec.settings)?.with_state("the given state", spec.state.clone())?;
    let addresses = Addresses::of(&device, [&spec.design], &spec.settings)?;
    let mut design = catalog::design_for(&device, &spec.design, &spec.settings, None)?;
    let mut adjusted = design.fit_space(&mut device);
    let layout = Layout::of(&device, &design);
    if spec.workload.is_none() {
        spec.settings.without_workload("no workload is named whose value that could be")?;
    }
    control.enter(Phase::Reading, 0);
    let reading = Reading { spooled: spec.spooled.clone(), watch: Arc::clone(control.watch()), ..Reading::default() };
    let resolve = |name: &String| Workload::resolve_watched(name, &spec.trace, spec.settings.workload(), &reading);
    let workload = spec.workload.as_ref().map(resolve).transpose()?;
    let target = destination(&spec.out)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(RunError::Failed(format!("cannot write an image to {}: there is no folder {}", spec.out, folder.display())));
    }
    let failed = |error: std::io::Error| RunError::Failed(format!("cannot write an image to {}: {error}", spec.out));
    let mut file =
        tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).prefix(".tinytail-").tempfile_in(folder).map_err(failed)?;
    let mapped_pages = design.mapped_pages(&device);
    let touched = match &workload {
        Some(workload) => {
            addresses.check(workload)?;
            if device.state.parity_percent.is_none() {
                device.state.parity_percent = parity_percent(&device, &mut design, workload, spec.seed, None, &addresses.context)?;
            }
            footprint(&device, mapped_pages, workload, spec.seed, None, &addresses.context, control)?
        }
        None => Vec::new(),
    };
    adjusted.extend(design.fit_gc(&device, u64::from(mapped_pages) + touched.len() as u64));
    let mut drive = Drive::new(&device, design, false, Metrics::default())?;
    let _at_work = AtWork::new();
    control.enter(Phase::Ageing, 0);
    let start = thread_cpu_seconds();
    let crew = Crew::default();
    let aged = drive.age_with(&crew, spec.seed, &touched, |done, total| {
        control.set_total(total);
        control.advance(done);
        !control.is_cancelled()
    });
    let ageing = thread_cpu_seconds() - start + crew.others_cpu_seconds();
    if control.is_cancelled() {
        return Err(RunError::Failed("interrupted; no image was written".into()));
    }
    control.enter(Phase::Writing, 0);
    let header = Header {
        tinytail: env!("CARGO_PKG_VERSION").into(),
        device: device.name.clone(),
        design: spec.settings.named(&spec.design),
        workload: workload.map(|workload| workload.name),
        seed: spec.seed,
        state: device.state,
        aged,
        layout,
    };
    let start = thread_cpu_seconds();
    write(&drive, &header, BufWriter::with_capacity(1 << 20, file.as_file_mut())).map_err(failed)?;
    if control.is_cancelled() {
        // What a policy remembers could not be written.
        return Err(RunError::Failed("interrupted; no image was written".into()));
    }
    file.as_file().sync_all().map_err(failed)?;
    let writing = thread_cpu_seconds() - start;
    let bytes = file.as_file().metadata().map_err(failed)?.len();
    file.persist(target).map_err(|error| failed(error.error))?;
    Ok(Info { path: spec.out.clone(), bytes, image_version: VERSION, header, cpu_seconds: Some(CpuSeconds { ageing, writing }), adjusted })
}
