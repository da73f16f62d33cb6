//! Traces: recorded requests, read as a stream from a file.
//!
//! A format is one file with a [`Format`] and one row in [`FORMATS`]. The format of a trace is found from its content, never
//! from its name. What a format does not fix (the unit of time above all) must be given as an option, by a workload file or
//! by a sidecar file beside the trace; it is never guessed.
//!
//! Opening a trace reads it once from end to end, so that a faulty line is reported before anything runs, and so that the
//! devices of a trace can be laid side by side. The requests are then read again as they are needed; a trace is never held
//! in memory. The time of the first request becomes 0.

mod agreement;
mod alibaba;
mod ascii;
mod biosnoop;
mod blkparse;
pub(crate) mod columns;
mod completions;
mod container;
mod delimiter;
mod drawn;
mod etw;
mod faults;
mod fields;
mod fio;
mod fio_latency;
mod fiu;
mod flashnet;
mod foreign;
mod format;
mod forms;
mod header;
pub(crate) mod input;
mod instants;
mod iso8601;
mod kernel_events;
mod keyed;
mod lttng;
mod mapping;
mod marks;
mod msr;
mod nbdkit;
mod op;
mod opening;
mod proposal;
mod records;
mod rwbs;
mod spc;
mod stacked;
mod systor;
mod tables;
mod telling;
mod tencent;
#[cfg(test)]
mod testing;
pub mod units;
mod vscsi;
mod wiscsee;

use std::collections::BTreeMap;
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tinytail_core::commands::Command;
use tinytail_core::units::SECTOR_BYTES;

use crate::characteristics::{CharacteristicsSummary, DeviceInfo, TraceFinding, TraceInfo, measure};
use crate::error::WorkloadError;
use crate::measured::{Measured, MeasuredLatencies};
use crate::reading::{Reading, TraceContent};
use crate::source::{Arrival, Source};
use crate::text;
use crate::transform::BurstSummary;
pub use container::Compression;
use faults::Faults;
pub use fields::Fault;
pub use format::{Format, Layout, Order, Parsed, Parser, Reader, Record, Settings, Time};
use forms::Form;
pub use instants::CoarseTimes;
use instants::Instants;
pub use mapping::Columns;
pub use op::Op;
use records::{Disorder, Ordered, Records, Request, Skipped, TimeLimits};
use units::{AddressUnit, DeviceName, Event, OpCodes, SkipFaulty, TimeUnit};

/// Every trace format, in the order in which they are tried. A new format is a file and a row here.
pub const FORMATS: &[Format] = &[
    vscsi::VERSION_2,
    vscsi::VERSION_1,
    ascii::FORMAT,
    msr::FORMAT,
    etw::FORMAT,
    spc::FORMAT,
    blkparse::FORMAT,
    kernel_events::FORMAT,
    lttng::FORMAT,
    biosnoop::FORMAT,
    nbdkit::FORMAT,
    fio::VERSION_2,
    fio::VERSION_3,
    fio_latency::FORMAT,
    alibaba::FORMAT,
    tencent::FORMAT,
    systor::FORMAT,
    fiu::FORMAT,
    wiscsee::FORMAT,
    flashnet::FORMAT,
    columns::FORMAT,
];

/// The devices of a trace are laid one after another at multiples of 1 MiB.
const DEVICE_ALIGN_SECTORS: u64 = (1 << 20) / SECTOR_BYTES as u64;

/// More devices than this are no devices; without the limit, a column that holds something else would fill the memory.
const DEVICES_MAX: usize = 65_536;

/// How late a line may be in a trace whose recorder does not write in the order of issue, unless the user says otherwise.
const LATE_NS_MAX: i128 = 60_000_000_000;

/// Times that are further apart have no meaning. How much of it a run can hold depends on what is made of it.
const SPAN_NS_MAX: i128 = (u64::MAX / 2) as i128;

/// Declares what can be said of a trace: as options, and as keys of files, which may name the trace's file.
macro_rules! trace_options {
    ($( $(#[$about:meta])* $name:ident: $of:ty, )+) => {
        /// How a trace is read and paced; what is not given comes from the trace's format and files.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct TraceOptions {
            $( $(#[$about])* pub $name: Option<$of>, )+
        }

        /// A trace and what its format does not fix.
        #[derive(Debug, Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct TraceTable {
            /// The trace's file name, looked for beside the workload file and in the folder that the environment variable
            /// TINYTAIL_TRACES names. Not in the sidecar file of a trace.
            pub(crate) file: Option<String>,
            $( $(#[$about])* $name: Option<$of>, )+
        }

        impl TraceTable {
            pub(crate) fn options(self) -> TraceOptions {
                TraceOptions { $( $name: self.$name, )+ }
            }
        }
    };
}

trace_options! {
    /// Name of a trace's format; found from its content if not given.
    format: String,
    /// Unit of a trace's time column, for formats that do not fix it.
    time_unit: TimeUnit,
    /// Meaning of a trace's operation codes, such as write=0,read=1,2, for formats that do not fix it; trim and flush may be added,
    /// and ignore=3,4 for requests that are left out.
    ops: OpCodes,
    /// Unit of a trace's addresses and sizes, for formats that do not fix it: sectors, bytes, kib, or blocks of so many bytes, as
    /// blocks:4096.
    unit: AddressUnit,
    /// Number or name of the only device of a trace that is played; all of them if not given.
    trace_device: DeviceName,
    /// Event that counts as a request of a trace, for formats that record several: queued (Q), got (G), inserted (I) or issued (D).
    event: Event,
    /// How late a line of a trace may be, in ms; later ones are errors.
    reorder_ms: u64,
    /// Play a trace or a stand-in in closed loop, with so many requests always outstanding, whatever its times are.
    #[schemars(range(min = 1))]
    queue_depth: u32,
    /// That a trace was recorded on the drive that is simulated, so that its latencies are held against the simulated ones without
    /// reserve; for traces that hold latencies.
    same_drive: bool,
    /// How many faulty lines of a trace may be left out: so many, or a share of its lines, such as 0.5%. They are counted and said.
    skip_faulty: SkipFaulty,
    /// What the columns of a delimited text are, with the units of time, lba and len, such as time:us,op,lba:sectors,len:bytes; _
    /// skips one, keep:VALUE reads only the lines with this value in it, and ... at the end lets lines end anywhere. By names: time=TIME:us,op=TYPE,keep=EVENT:VALUE, and so on.
    columns: Columns,
}

/// Options and where they come from, as a phrase for the notes.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) said: String,
    pub(crate) options: TraceOptions,
}

impl Origin {
    pub(crate) fn given(options: &TraceOptions) -> Self {
        Self { said: "given as an option".into(), options: options.clone() }
    }
}

/// The first origin that has a value wins.
fn first<'a, T>(origins: &'a [Origin], get: impl Fn(&'a TraceOptions) -> Option<T>) -> Option<(T, &'a str)> {
    origins.iter().find_map(|origin| get(&origin.options).map(|value| (value, origin.said.as_str())))
}

/// What the first pass over a trace measures.
#[derive(Clone, Debug, Default)]
struct Scan {
    requests: u64,
    duration_ns: u64,
    devices: BTreeMap<u32, DeviceScan>,
    /// The times of all devices.
    instants: Instants,
    disorder: Disorder,
    /// Zone appends of which the trace does not say where they went.
    unplaced: u64,
    /// What makes the latencies mean less.
    caveat: Option<String>,
    /// That a device is on another.
    stacked: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct DeviceScan {
    name: String,
    requests: u64,
    end_sector: u64,
    first_ns: i128,
    last_ns: i128,
    instants: Instants,
    /// Where the device starts on the drive.
    offset_sectors: u64,
}

/// A trace that has been read once and can be played.
#[derive(Clone, Debug)]
pub struct Trace {
    content: TraceContent,
    format: &'static Format,
    compression: Compression,
    settings: Settings,
    late_ns_max: i128,
    /// How many faulty lines may be left out.
    skip_faulty: Option<SkipFaulty>,
    queue_depth: Option<u32>,
    /// Whether it is said to have been recorded on the drive that is simulated.
    same_drive: bool,
    /// The only device that is played, if one was chosen.
    device: Option<u32>,
    notes: Vec<String>,
    /// Those of the notes that make its reading doubtful.
    doubts: Vec<String>,
    /// Its columns, where it has such.
    form: Option<Form>,
    scan: Scan,
}

impl Trace {
    /// Opens a trace and reads it once.
    ///
    /// # Errors
    /// A file that can't be read, an unknown format, an option that does not apply, a missing time unit, or a faulty line.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<Self, WorkloadError> {
        Self::open_watched(path, options, &Reading::default())
    }

    /// As [`Trace::open`], and says how the file is read, now and later.
    ///
    /// # Errors
    /// As [`Trace::open`], and an interruption.
    pub fn open_watched(path: &Path, options: &TraceOptions, reading: &Reading) -> Result<Self, WorkloadError> {
        Self::open_with(path, vec![Origin::given(options)], reading)
    }

    /// Makes sure that the first bytes of a trace, of which more is to come, can be the beginning of one.
    ///
    /// # Errors
    /// An unknown format, a faulty sidecar file, or what is no text and no binary trace.
    pub fn check_beginning(path: &Path, options: &TraceOptions, reading: &Reading) -> Result<(), WorkloadError> {
        opening::check_beginning(path, options, reading)
    }

    fn records(&self, late_ns_max: i128, faults: Option<Faults>) -> Result<Records, WorkloadError> {
        let limits = self.settings.time_unit.map(|_| TimeLimits { span_ns_max: SPAN_NS_MAX, late_ns_max });
        Records::open(&self.content, self.format, &self.settings, limits, faults)
    }

    /// Checks every line, and measures the devices.
    fn first_pass(&mut self) -> Result<(), WorkloadError> {
        let mut records = self.records(self.late_ns_max, Some(Faults::default()))?;
        let mut slots: FxHashMap<u32, usize> = FxHashMap::default();
        let mut devices: Vec<(u32, DeviceScan)> = Vec::new();
        // Most requests are to the device of the one before.
        let mut slot = 0;
        let (mut places, mut sizes) = (0, 0);
        let mut instants = Instants::default();
        while let Some(request) = self.next_checked(&mut records)? {
            let record = request.record;
            if devices.get(slot).is_none_or(|(number, _)| *number != record.device) {
                slot = *slots.entry(record.device).or_insert(devices.len());
                if slot == devices.len() {
                    if slot == DEVICES_MAX {
                        let column = self.format.device_column.unwrap_or(records.time_column());
                        let expected = format!("one of at most {} devices", text::grouped(DEVICES_MAX as u64));
                        return Err(records.fault(request.at, Fault::new(column, &records.device_name(record.device), expected)));
                    }
                    let (first_ns, last_ns) = (record.time_ns, record.time_ns);
                    devices.push((record.device, DeviceScan { first_ns, last_ns, ..DeviceScan::default() }));
                }
            }
            instants.add(record.time_ns);
            let device = &mut devices[slot].1;
            device.requests += 1;
            device.instants.add(record.time_ns);
            device.end_sector = device.end_sector.max(record.sector + u64::from(record.sectors));
            device.first_ns = device.first_ns.min(record.time_ns);
            device.last_ns = device.last_ns.max(record.time_ns);
            places |= record.sector;
            sizes |= u64::from(record.sectors);
        }
        for (number, device) in &mut devices {
            device.name = records.device_name(*number);
        }
        self.scan.disorder = records.disorder;
        self.scan.caveat = records.caveat();
        self.scan.unplaced = records.unplaced();
        self.scan.stacked = records.stacked();
        self.scan.instants = instants;
        self.scan.devices = devices.into_iter().collect();
        self.note_what_was_read(&records, places, sizes)
    }

    /// The next request. Where the file ends within a record, what was wrong before that is told first.
    fn next_checked(&self, records: &mut Records) -> Result<Option<Request>, WorkloadError> {
        records.next().map_err(|error| match (&error, &records.faults) {
            (WorkloadError::CutRecord { path, .. }, Some(faults)) => {
                faults.error(path.clone(), records.lines, records.has_requests(), self.format.name, self.skip_faulty).unwrap_or(error)
            }
            _ => error,
        })
    }

    /// Says what the file holds besides the requests as they are played.
    fn note_what_was_read(&mut self, records: &Records, places: u64, sizes: u64) -> Result<(), WorkloadError> {
        self.notes.extend(records.input.notes());
        self.doubt(records.input.doubts());
        let faults = records.faults.clone().unwrap_or_default();
        // If every line is faulty, the faults are the error.
        let is_left = !self.scan.devices.is_empty();
        match self.skip_faulty.filter(|allowed| is_left && allowed.allows(faults.lines(), records.lines)) {
            Some(allowed) => self.doubt(faults.note(records.lines, allowed)),
            None => {
                let has_requests = records.has_requests();
                let error = faults.error(records.input.path(), records.lines, has_requests, self.format.name, self.skip_faulty);
                error.map_or(Ok(()), |error| Err(records.input.unless_changed(error)))?;
            }
        }
        let skipped = records.skipped.said();
        if self.scan.devices.is_empty() {
            return Err(match skipped {
                Some(said) => WorkloadError::NoRequests {
                    path: records.input.path(),
                    reason: format!("there are {said}{}", self.other_requests(&records.skipped)),
                },
                None => WorkloadError::Empty { path: records.input.path() },
            });
        }
        self.notes.extend(skipped.map(|said| format!("not played: {said}")));
        self.doubt(records.doubts());
        let taken_back = records.taken_back();
        if taken_back > 0 {
            self.notes.push(format!(
                "{} put back to the queue and issued again (R events); each issue that was put back is left out, and a request counts once, \
                 from its last issue on",
                text::counted(taken_back, "request") + if taken_back == 1 { " was" } else { " were" }
            ));
        }
        let Disorder { late, late_ns_max, .. } = self.scan.disorder;
        if late > 0 {
            self.notes.push(format!(
                "{} after later ones, by up to {}; all are played in the order of their times",
                text::counted(late, "request"),
                text::duration(late_ns_max.unsigned_abs())
            ));
        }
        let requests = self.scan.devices.values().map(|device| device.requests).sum();
        self.doubt(self.form.as_ref().and_then(|form| form.like_bytes(requests, places, sizes)));
        Ok(())
    }

    /// Says what makes the reading of the trace doubtful.
    fn doubt(&mut self, doubts: impl IntoIterator<Item = String>) {
        for doubt in doubts {
            self.notes.push(doubt.clone());
            self.doubts.push(doubt);
        }
    }

    /// What plays a trace in which the event that is taken does not come, as the end of a sentence.
    fn other_requests(&self, skipped: &Skipped) -> String {
        let taken = self.settings.event;
        // The event nearest to the drive is the first.
        let others = [Event::Issued, Event::Inserted, Event::Got, Event::Queued].into_iter().filter(|event| Some(*event) != taken);
        let found = others.map(|event| (event, skipped.count(&format!("{event} events")))).find(|(_, count)| *count > 0);
        match found.filter(|(event, _)| self.format.events.contains(event)) {
            Some((event, 1)) => format!(". `--event {event}` takes the {event} event for a request"),
            Some((event, _)) => format!(". `--event {event}` takes the {event} events for requests"),
            None if skipped.count("C events") > 0 => format!(
                ". A C event says when a request was complete, and no event here says when it came, so that no option can help. A recording of \
                 issues and completions has both: `blktrace -a issue -a complete -d DEVICE -o - | blkparse -i -`, or block:block_rq_issue and \
                 block:block_rq_complete of {}",
                if self.format.name == lttng::FORMAT.name { "LTTng" } else { "ftrace, trace-cmd or perf" }
            ),
            None if skipped.count(kernel_events::NVME) > 0 => kernel_events::nvme_advice(&foreign::shell_name(&self.content.path)),
            None => String::new(),
        }
    }

    /// Keeps the chosen device, or lays all of them one after another.
    fn lay_out_devices(&mut self, chosen: Option<&DeviceName>) -> Result<(), WorkloadError> {
        let found = self.scan.devices.len();
        if let Some(chosen) = chosen {
            let Some((number, _)) = self.scan.devices.iter().find(|(_, device)| device.name == chosen.as_str()) else {
                return Err(self.no_such_device(chosen));
            };
            let number = *number;
            self.device = Some(number);
            self.scan.devices.retain(|device, _| *device == number);
            self.scan.instants = self.scan.devices[&number].instants.clone();
            self.notes.push(format!("only the requests to device {chosen}, one of {found}"));
        } else if found > 1 {
            let mut offset_sectors = 0_u64;
            for device in self.scan.devices.values_mut() {
                device.offset_sectors = offset_sectors;
                offset_sectors = device
                    .end_sector
                    .checked_next_multiple_of(DEVICE_ALIGN_SECTORS)
                    .and_then(|size| offset_sectors.checked_add(size))
                    .filter(|end| *end <= u64::MAX / u64::from(SECTOR_BYTES))
                    .ok_or_else(|| WorkloadError::Option {
                        path: self.content.path.display().to_string(),
                        message: format!(
                            "{found} devices side by side are larger than 2^64 bytes; choose one by `device` (--trace-device)"
                        ),
                    })?;
            }
            self.notes.push(format!(
                "{} devices laid one after another, each as large as its highest address, rounded up to 1 MiB; \
                 `device` (--trace-device) chooses one",
                text::grouped(found as u64)
            ));
            let stacked = self.scan.stacked.take();
            self.doubt(stacked);
        }
        let devices = self.scan.devices.values();
        self.scan.requests = devices.clone().map(|device| device.requests).sum();
        let (first_ns, last_ns) = (devices.clone().map(|device| device.first_ns).min(), devices.map(|device| device.last_ns).max());
        if let (Some(first_ns), Some(last_ns), Some(_)) = (first_ns, last_ns, self.settings.time_unit) {
            // The records have been checked to span no more than the limits say.
            self.scan.duration_ns = (last_ns - first_ns) as u64;
        }
        Ok(())
    }

    fn no_such_device(&self, chosen: &DeviceName) -> WorkloadError {
        const NAMES_MAX: usize = 20;
        let names: Vec<&str> = self.scan.devices.values().map(|device| device.name.as_str()).collect();
        let mut said = names[..names.len().min(NAMES_MAX)].join(", ");
        if names.len() > NAMES_MAX {
            said += &format!(" and {} more", text::grouped((names.len() - NAMES_MAX) as u64));
        }
        WorkloadError::Option {
            path: self.content.path.display().to_string(),
            message: format!("no request is to device {chosen}; the trace's devices are {said}"),
        }
    }

    /// Checks that the trace can be played: that it has times, or that a depth for closed loop is given.
    ///
    /// # Errors
    /// Says how a trace without times can be played.
    pub(crate) fn check_playable(&self) -> Result<(), WorkloadError> {
        if self.settings.time_unit.is_some() || self.queue_depth.is_some() {
            return Ok(());
        }
        Err(WorkloadError::NoTimes {
            path: self.content.path.display().to_string(),
            format: self.format.name,
            sidecar: input::in_sidecar(&self.content.path, "queue_depth = N"),
        })
    }

    /// Plays the trace from its first request, at most `requests` of them.
    ///
    /// # Errors
    /// A file that can't be read any more.
    pub(crate) fn source(&self, logical_sectors: u64, requests: Option<u64>) -> Result<TraceSource, WorkloadError> {
        let places = self.scan.disorder.places;
        // A file in which nothing was late the first time has nothing late the second time.
        let faults = self.skip_faulty.map(|_| Faults::default());
        let records = self.records(if places == 0 { 0 } else { self.late_ns_max }, faults)?;
        Ok(TraceSource {
            records: Ordered::new(records, places),
            places: self.scan.devices.iter().zip(0..).map(|((number, device), place)| (*number, (device.offset_sectors, place))).collect(),
            device: self.device,
            several: self.scan.devices.len() > 1,
            timed: self.settings.time_unit.is_some(),
            first_ns: None,
            last_at: 0,
            logical_sectors,
            left: requests.unwrap_or(u64::MAX),
        })
    }

    /// Number of requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.scan.requests
    }

    /// Time from the first to the last request, in nanoseconds; 0 without times.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.scan.duration_ns
    }

    /// What is to be said of the recorded times, where requests arrive at them and they are coarse.
    pub(crate) fn coarse_times(&self) -> Option<CoarseTimes> {
        let is_paced = self.settings.time_unit.is_some() && self.queue_depth.is_none();
        self.scan.instants.coarse().filter(|_| is_paced)
    }

    /// That the places of zone appends are not known, if the trace has such.
    fn unplaced_appends(&self) -> Option<TraceFinding> {
        let (unplaced, requests) = (self.scan.unplaced, self.scan.requests);
        (unplaced > 0).then(|| TraceFinding {
            code: "appends_without_place",
            message: format!(
                "of {}, {} no completion, which says where an append went; the place of each is the start of its zone, and pages there seem \
                 to be overwritten",
                text::counted(requests, "request"),
                if unplaced == 1 { "1 zone append has".into() } else { format!("{} zone appends have", text::grouped(unplaced)) },
            ),
            figures: BTreeMap::from([("appends", unplaced as f64)]),
        })
    }

    /// How many requests are always outstanding in closed loop, if that is how the trace is played.
    #[must_use]
    pub fn queue_depth(&self) -> Option<u32> {
        self.queue_depth
    }

    /// What the latencies are that it holds.
    pub(crate) fn measured(&self) -> Measured {
        match (self.format.latency)(&self.settings) {
            None => Measured::Nothing,
            Some(_) if self.queue_depth.is_some() => Measured::OtherLoad("in closed loop they come at other times"),
            Some(scope) => {
                let (devices, caveat) = (self.scan.devices.len(), self.scan.caveat.clone());
                Measured::Latencies(MeasuredLatencies { scope, same_drive: self.same_drive, devices, caveat })
            }
        }
    }

    /// The first sector beyond every request, as laid out on the drive.
    #[must_use]
    pub fn end_sector(&self) -> u64 {
        self.scan.devices.values().map(|device| device.offset_sectors + device.end_sector).max().unwrap_or(0)
    }

    /// Checks that a drive of this many sectors holds every request.
    ///
    /// # Errors
    /// Names the first line that is beyond the drive.
    pub fn check_fits(&self, logical_sectors: u64) -> Result<(), WorkloadError> {
        if self.end_sector() <= logical_sectors {
            return Ok(());
        }
        let mut source = self.source(logical_sectors, None)?;
        while source.next()?.is_some() {}
        Ok(())
    }

    /// What is to be known about how the trace was read: format, units, codes, devices.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.content.path
    }

    /// Makes sure that the file is as it was when it was opened.
    ///
    /// # Errors
    /// Says what has changed.
    pub(crate) fn check_unchanged(&self) -> Result<(), WorkloadError> {
        self.content.check_unchanged()
    }

    /// The format's name.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.format.name
    }

    /// The units and codes with which the trace is read.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Reads the whole trace and measures it.
    ///
    /// # Errors
    /// A file that can't be read any more.
    pub fn info(&self) -> Result<TraceInfo, WorkloadError> {
        let characteristics = measure(&mut self.source(u64::MAX, None)?)?;
        Ok(self.info_with(self.notes.clone(), characteristics, None))
    }

    /// What is known of the trace, with the characteristics of its requests or of what has become of them.
    pub(crate) fn info_with(&self, notes: Vec<String>, characteristics: CharacteristicsSummary, bursts: Option<BurstSummary>) -> TraceInfo {
        let devices = self.scan.devices.values().map(|device| DeviceInfo {
            device: device.name.clone(),
            requests: device.requests,
            end_byte: device.end_sector * u64::from(SECTOR_BYTES),
            offset_bytes: device.offset_sectors * u64::from(SECTOR_BYTES),
        });
        TraceInfo {
            path: self.content.path.display().to_string(),
            format: self.format.name.into(),
            compression: self.compression,
            time_unit: self.settings.time_unit,
            address_unit: self.settings.address_unit,
            columns: self.settings.columns.as_deref().cloned(),
            ops: self
                .format
                .op_codes
                .then(|| self.settings.ops.clone())
                .filter(|_| self.settings.columns.as_ref().is_none_or(|columns| columns.codes.is_some())),
            devices: devices.collect(),
            notes,
            doubts: self.doubts.clone(),
            characteristics,
            bursts,
            findings: self.coarse_times().into_iter().map(TraceFinding::from).chain(self.unplaced_appends()).collect(),
        }
    }
}

/// Plays a trace.
pub(crate) struct TraceSource {
    records: Ordered,
    /// Where each device is laid on the drive, and its place among them, which is its queue.
    places: BTreeMap<u32, (u64, u32)>,
    device: Option<u32>,
    several: bool,
    timed: bool,
    first_ns: Option<i128>,
    last_at: u64,
    logical_sectors: u64,
    left: u64,
}

impl TraceSource {
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        if self.left == 0 {
            return Ok(None);
        }
        loop {
            let Some(Request { at, kind, record }) = self.records.next()? else {
                return Ok(None);
            };
            if self.device.is_some_and(|number| number != record.device) {
                continue;
            }
            self.left -= 1;
            let (offset, queue) = if self.several { self.places.get(&record.device).copied().unwrap_or((0, 0)) } else { (0, 0) };
            let sector = record.sector + offset;
            let end_sector = sector + u64::from(record.sectors);
            if end_sector > self.logical_sectors {
                return Err(WorkloadError::BeyondDrive {
                    path: self.records.records.input.path(),
                    at,
                    end_byte: end_sector.saturating_mul(u64::from(SECTOR_BYTES)),
                    drive_bytes: self.logical_sectors.saturating_mul(u64::from(SECTOR_BYTES)),
                    hint: if self.several {
                        format!(
                            "; the trace's {} devices are laid one after another, and the option `device` (--trace-device) chooses one",
                            self.places.len()
                        )
                    } else {
                        String::new()
                    },
                });
            }
            if self.timed {
                // The first pass has checked the span; what has changed since then is no reason to go backwards.
                let since_first_ns = record.time_ns - *self.first_ns.get_or_insert(record.time_ns);
                self.last_at = self.last_at.max(since_first_ns.max(0) as u64);
            }
            let command = Command { kind, sector, sectors: record.sectors, critical: false };
            return Ok(Some(Arrival { at: self.last_at, command, queue, latency_ns: record.latency_ns }));
        }
    }
}

impl Source for TraceSource {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        for count in 0..limit {
            let next = self.next().map_err(|error| self.records.records.input.unless_changed(error));
            match next? {
                Some(arrival) => out.push(arrival),
                None => return Ok(count),
            }
        }
        Ok(limit)
    }
}
