//! One served drive, from names to figures.

use crate::address::{Address, Listener};
use crate::data::{Data, FileData, MemoryData};
use crate::lateness::LatenessSummary;
use crate::limits::{self, CLIENTS_MAX, PATIENCE_NS};
use crate::nbd::Export;
use crate::record::Recorder;
use crate::server::{Live, Options, Served, Server, ServerError};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tinytail_config::{ConfigError, counted};
use tinytail_core::design::Adjustment;
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::observe::TrafficClass;
use tinytail_core::units::{SECOND, SECTOR_BYTES};
use tinytail_metrics::log::{Log, LogNote};
use tinytail_metrics::{LatencySummary, Measures, Metrics};
use tinytail_simulator::catalog;
use tinytail_simulator::control::{Control, Phase};
use tinytail_simulator::crew::Crew;
use tinytail_simulator::image::Image;
use tinytail_simulator::outcome::write_amplification;
use tinytail_simulator::settings::Settings;
use tinytail_simulator::spec::{LogSpec, RunError};
use tinytail_workload::Converted;

/// The most that the drive's time can be stretched.
pub const DILATION_MAX: f64 = 10_000.0;

/// What the data of requests and replies of all clients may take if nothing is said, beside a little for each client.
pub const MEMORY_BYTES: u64 = 256 << 20;
/// The least of it: a client may have the largest write half sent and the largest replies unread.
pub const MEMORY_BYTES_MIN: u64 = 80 << 20;

/// What to serve.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Name or path of the device.
    pub device: String,
    /// Composition of the design.
    pub design: String,
    /// Size of what clients see, in bytes; all that the host of the device can address if not given.
    #[serde(default)]
    pub size_bytes: Option<u64>,
    /// Path of an image to start from, instead of ageing.
    #[serde(default)]
    pub image: Option<String>,
    /// Path of the file that holds the data; they are in memory if not given.
    #[serde(default)]
    pub data: Option<String>,
    /// Where to listen.
    pub nbd: String,
    /// Where to record the arriving I/O, if anywhere.
    #[serde(default)]
    pub record: Option<String>,
    /// Others than this machine may reach the address.
    #[serde(default)]
    pub insecure: bool,
    /// The most that the data of requests and replies of all clients may take; [`MEMORY_BYTES`] if not given.
    #[serde(default)]
    pub client_memory_bytes: Option<u64>,
    /// A recording that is there is replaced.
    #[serde(default)]
    pub force: bool,
    /// Where to log every request, if anywhere.
    #[serde(default)]
    pub log: Option<LogSpec>,
    /// Seed of the ageing.
    pub seed: u64,
    /// Values of the starting state that replace the device's.
    #[serde(default)]
    pub state: toml::Table,
    /// Values that are given beside the files of device and design.
    #[serde(default)]
    pub settings: Settings,
    /// How many times slower than the wall clock the drive's time passes.
    pub dilate: f64,
    /// Whatever takes time in the drive takes none.
    #[serde(default)]
    pub no_delay: bool,
}

/// What came of a served drive.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Served")]
pub struct Summary {
    /// Composition of the design.
    pub design: String,
    /// Name of the device.
    pub device: String,
    /// Size of what clients saw, in bytes.
    pub size_bytes: u64,
    /// The file with the data; `None` if they were in memory.
    pub data: Option<String>,
    /// How many times slower than the wall clock the drive's time passed.
    pub dilation: f64,
    /// From the first request to the end, on the wall clock.
    pub wall_seconds: f64,
    /// Clients.
    pub clients: u64,
    /// Requests that were refused or failed.
    pub failed: u64,
    /// How late completions left, and whether the figures can be trusted.
    pub lateness: LatenessSummary,
    /// Latencies of reads by the model.
    pub read: LatencySummary,
    /// Latencies of writes by the model.
    pub write: LatencySummary,
    /// Pages programmed for each page that the host had programmed; `None` if it had none.
    pub write_amplification: Option<f64>,
    /// GCs completed.
    pub gc_count: u64,
    /// Hash of the drive's events up to the last completion: that of a run that replays the arrivals.
    pub event_hash: String,
    /// The recording; `None` if none was asked for.
    pub recording: Option<Converted>,
    /// What became of the log; `None` if none was asked for.
    pub log: Option<LogNote>,
    /// What is to be known with the figures.
    pub notes: Vec<String>,
    /// What of the design, its capacity and its starting state follows the drive, and is not what the files say.
    pub adjusted: Vec<Adjustment>,
    /// Why something went wrong at the end; the figures are those until then.
    pub error: Option<String>,
    /// Seed.
    pub seed: u64,
    /// Version of the program.
    pub version: &'static str,
}

/// What is opened before the work, so that what can't be is found before it.
struct Opened {
    listener: Listener,
    data: Box<dyn Data>,
    recorder: Option<Recorder>,
    log: Option<Log>,
}

/// Serves a drive until the control's switch.
///
/// # Errors
/// A faulty device, design, image, size or address, files that can't be opened, a system that refuses what is needed.
pub fn serve(spec: &Spec, control: &Control, live: &Live) -> Result<Summary, RunError> {
    let mut device = catalog::device_with(&spec.device, &spec.settings)?.with_state("the given state", spec.state.clone())?;
    spec.settings.without_workload("a served drive has clients in place of a workload")?;
    let image = spec.image.as_deref().map(Image::open).transpose()?;
    if let Some(image) = &image {
        if !spec.state.is_empty() {
            return Err(ConfigError::new("a starting state and an image were both given; an image has its own state").into());
        }
        spec.settings.without_state()?;
        device.state = image.header.state.clone();
    }
    let (design, adjusted) = catalog::fitted(&spec.design, &mut device, &spec.settings)?;
    if let Some(image) = &image {
        image.check_fits(&device, &design)?;
    }
    let size_bytes = size(spec.size_bytes, &device)?;
    if !(1.0..=DILATION_MAX).contains(&spec.dilate) {
        return Err(
            ConfigError::new(format!("the drive's time can be stretched 1 to {DILATION_MAX} times, and not {}", spec.dilate)).into()
        );
    }
    let address = Address::parse(&spec.nbd).map_err(ConfigError::new)?;
    address.check_reach(spec.insecure).map_err(ConfigError::new)?;
    let memory_bytes = memory(spec.client_memory_bytes)?;
    let clients_max = limits::clients_max()?;
    if spec.no_delay {
        device.host.overhead_ns = 0;
        device.host.link_mb_per_s = None;
        device.timing.ram_ns = 0;
    }
    let mut drive = Drive::new(&device, design, false, Metrics::default())?;
    if spec.no_delay {
        drive.make_free(&EVERYTHING);
    }
    let opened = open(spec, size_bytes, &address)?;
    match image {
        Some(image) => {
            control.enter(Phase::Loading, 0);
            image.load(&mut drive, spec.seed)?;
        }
        None => {
            control.enter(Phase::Ageing, 0);
            drive.age_with(&Crew::default(), spec.seed, &[], |done, total| {
                control.set_total(total);
                control.advance(done);
                !control.is_cancelled()
            });
        }
    }
    drive.wake();
    let mut notes = notes(spec, &drive, &device, size_bytes);
    if clients_max < CLIENTS_MAX {
        notes.push(format!(
            "{clients_max} clients can use the drive at a time: there are descriptors for no more; `ulimit -n` gives {CLIENTS_MAX} theirs"
        ));
    }
    let place = opened.listener.place();
    if place.open_to_others {
        notes.push(format!("whoever reaches {} from elsewhere can read and write the drive: nobody is asked for a password", place.uri));
    }
    let preferred_bytes = device.geometry.page_bytes;
    let options = Options {
        export: Export { bytes: size_bytes, preferred_bytes },
        dilation: spec.dilate,
        memory_bytes,
        patience_ns: PATIENCE_NS,
        clients_max,
        recorder: opened.recorder,
        log: opened.log,
        notes,
    };
    let sync = opened.data.sync();
    let server = Server::new(drive, opened.data, opened.listener, options);
    let server = server.map_err(|error| RunError::Failed(ServerError::from(error).to_string()))?;
    control.enter(Phase::Serving, 0);
    let mut served = server.run(control, live);
    let unsafe_data = sync.and_then(|sync| sync().err()).map(|error| format!("the data could not be made safe at the end: {error}"));
    let error = served.error.take().map(|error| error.to_string()).or(unsafe_data);
    if let (violations, Some(last)) = served.violations {
        served.notes.push(format!("the server ended {}; the last time: {last}", counted(violations, "connection")));
    }
    if served.refused > 0 {
        served.notes.push(format!("clients were refused {} because there were too many", counted(served.refused, "time")));
    }
    Ok(Summary { adjusted, ..summary(served, spec, device, size_bytes, error) })
}

/// Everything that takes time of dies and channels.
pub const EVERYTHING: [TrafficClass; 15] = [
    TrafficClass::HostRead,
    TrafficClass::HostProgram,
    TrafficClass::Flush,
    TrafficClass::ReadModifyWrite,
    TrafficClass::Parity,
    TrafficClass::Reconstruction,
    TrafficClass::GcRead,
    TrafficClass::GcProgram,
    TrafficClass::Erase,
    TrafficClass::Background,
    TrafficClass::GcLock,
    TrafficClass::GcSuspend,
    TrafficClass::FlushSuspend,
    TrafficClass::HostProgramSuspend,
    TrafficClass::Suspend,
];

/// The size of what clients see.
fn size(given: Option<u64>, device: &Device) -> Result<u64, ConfigError> {
    let (sector_bytes, all) = (u64::from(SECTOR_BYTES), device.logical_sectors() * u64::from(SECTOR_BYTES));
    match given {
        None => Ok(all),
        Some(bytes) if bytes == 0 || bytes % sector_bytes != 0 => {
            Err(ConfigError::new(format!("a size of {bytes} bytes was asked for; sizes are multiples of {sector_bytes} bytes above 0")))
        }
        Some(bytes) if bytes > all => Err(ConfigError::new(format!(
            "a size of {bytes} bytes was asked for, and {} has {all} bytes that a host can address",
            device.name
        ))),
        Some(bytes) => Ok(bytes),
    }
}

/// What the data of all clients may take.
fn memory(given: Option<u64>) -> Result<usize, ConfigError> {
    let bytes = given.unwrap_or(MEMORY_BYTES);
    usize::try_from(bytes).ok().filter(|_| bytes >= MEMORY_BYTES_MIN).ok_or_else(|| {
        let least = MEMORY_BYTES_MIN >> 20;
        ConfigError::new(format!(
            "{bytes} bytes of memory for clients were asked for; one client alone may need {least} MiB, so give {least}M or more"
        ))
    })
}

fn open(spec: &Spec, size_bytes: u64, address: &Address) -> Result<Opened, RunError> {
    // What another server has is found before anything is made. The socket goes again where something else can't be.
    let listener = address.listen().map_err(ConfigError::new)?;
    let data: Box<dyn Data> = match &spec.data {
        Some(path) => Box::new(FileData::open(Path::new(path), size_bytes).map_err(ConfigError::new)?),
        None => Box::new(MemoryData::new(size_bytes).map_err(|error| {
            RunError::Failed(format!(
                "the system gives no {size_bytes} bytes of addresses for data in memory ({error}); --data keeps them in a file"
            ))
        })?),
    };
    let recorder = spec.record.as_deref().map(|path| Recorder::start(Path::new(path), spec.force)).transpose()?;
    let log = spec.log.as_ref().map(|log| Log::create(&log.path)).transpose()?;
    Ok(Opened { listener, data, recorder, log })
}

fn notes(spec: &Spec, drive: &Drive<Metrics>, device: &Device, size_bytes: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let mapped = u64::from(drive.mapped_pages()) * u64::from(device.geometry.page_bytes);
    if mapped < size_bytes {
        notes.push(format!(
            "the drive holds data in the first {mapped} of its {size_bytes} bytes at the start; beyond, reads return at once until something \
             has been written there"
        ));
    }
    if spec.no_delay {
        notes.push("nothing took any time in the drive".into());
    }
    notes
}

fn summary(served: Served<Metrics>, spec: &Spec, device: Device, size_bytes: u64, mut error: Option<String>) -> Summary {
    let Served { mut drive, lateness, event_hash, recorder, mut notes, clients, failed, wall_ns, .. } = served;
    let event_hash = format!("{event_hash:016x}");
    let about = [
        ("version", env!("CARGO_PKG_VERSION").to_string()),
        ("device", device.name.clone()),
        ("design", spec.design.clone()),
        ("seed", spec.seed.to_string()),
        ("event_hash", event_hash.clone()),
        ("command", spec.log.as_ref().map_or_else(String::new, |log| log.command.clone())),
    ];
    let about: Vec<(String, String)> = about.into_iter().map(|(key, value)| (format!("tinytail.{key}"), value)).collect();
    let log = drive.observer_mut().metrics_mut().take_log().map(|log| log.finish(about));
    let from = format!("{} on {}, served", spec.design, device.name);
    let recording = recorder.and_then(|recorder| {
        let start = match &spec.image {
            Some(image) => format!("from the image {image}"),
            None => format!("aged from seed {}", spec.seed),
        };
        let finished = recorder.finish(&from, vec![start]);
        finished.map_err(|problem| notes.push(format!("there is no recording: {problem}"))).ok()
    });
    if error.is_none() && spec.record.is_some() && recording.is_none() {
        error = notes.last().cloned();
    }
    if drive.observer().metrics().requests() == 0 {
        notes.push("no client has read or written anything".into());
    }
    let mut lateness = lateness.summary();
    if spec.no_delay {
        // Nothing was due at any time; it is what the server itself took.
        lateness.invalid = None;
    }
    Summary {
        design: spec.design.clone(),
        device: device.name,
        size_bytes,
        data: spec.data.clone(),
        dilation: spec.dilate,
        wall_seconds: wall_ns as f64 / SECOND as f64,
        clients,
        failed,
        lateness,
        read: drive.observer().read(),
        write: drive.observer().write(),
        write_amplification: write_amplification(&drive.counters()),
        gc_count: drive.counters().gc.gcs,
        event_hash,
        recording,
        log,
        notes,
        adjusted: Vec::new(),
        error,
        seed: spec.seed,
        version: env!("CARGO_PKG_VERSION"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strict;
    use expect_test::expect_file;
    use schemars::generate::SchemaSettings;
    use schemars::transform::RecursiveTransform;

    #[test]
    fn the_schema_of_what_came_of_a_drive_is_the_one_that_is_shipped() {
        let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(strict::strict));
        let schema = strict::schema::<Summary>("what came of a served drive", settings);
        expect_file!["../../../python/tinytail/schema/serve.schema.json"].assert_eq(&schema);
    }
}
