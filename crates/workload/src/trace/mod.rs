//! Traces: recorded requests, read as a stream from a file.
//!
//! A format is one file with a [`Format`] and one row in [`FORMATS`]. The format of a trace is found from its content, never
//! from its name. What a format does not fix (the unit of time above all) must be given as an option, by a workload file or
//! by a sidecar file beside the trace; it is never guessed.
//!
//! Opening a trace reads it once from end to end, so that a faulty line is reported before anything runs, and so that the
//! devices of a trace can be laid side by side. The requests are then read again as they are needed; a trace is never held
//! in memory. The time of the first request becomes 0.

mod ascii;
mod fields;
pub(crate) mod input;
mod msr;
pub mod units;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tinytail_core::host::{Arrival, Command, CommandKind};
use tinytail_core::units::{SECTOR_BYTES, TIME_MAX};

use crate::characteristics::{Characteristics, DeviceInfo, TraceInfo};
use crate::error::{Column, WorkloadError};
use crate::file;
use crate::source::Source;
use crate::text;
pub use fields::Fault;
pub use input::Compression;
use input::Lines;
use units::{AddressUnit, OpCodes, TimeUnit};

/// Every trace format, in the order in which they are tried. A new format is a file and a row here.
pub const FORMATS: &[Format] = &[ascii::FORMAT, msr::FORMAT];

/// How many lines are looked at to find the format.
const SNIFFED_LINES: usize = 8;

/// The devices of a trace are laid one after another at multiples of 1 MiB.
const DEVICE_ALIGN_SECTORS: u64 = (1 << 20) / SECTOR_BYTES as u64;

/// A trace format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name by which it can be chosen.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// The unit of time, where the format fixes one.
    pub time_unit: Option<TimeUnit>,
    /// The unit of addresses and sizes, where the format fixes one.
    pub address_unit: Option<AddressUnit>,
    /// Whether operations are codes that differ by source.
    pub op_codes: bool,
    /// Whether a line looks like one of this format's.
    pub sniff: fn(&str) -> bool,
    /// Makes a parser of lines.
    pub parser: fn(&Settings) -> Box<dyn Parser>,
}

/// Reads the lines of one trace, from the first to the last.
pub trait Parser: Send {
    /// Reads one line that is not blank.
    ///
    /// # Errors
    /// Names the column that is not what the format says.
    fn parse(&mut self, line: &str) -> Result<Record, Fault>;
}

/// What one line of a trace says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time as recorded, in nanoseconds.
    pub time_ns: u128,
    /// Device number.
    pub device: u32,
    /// Read or write.
    pub kind: CommandKind,
    /// First sector on its device.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
}

/// The units and codes with which a trace is read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Unit of time.
    pub time_unit: TimeUnit,
    /// Unit of addresses and sizes.
    pub address_unit: AddressUnit,
    /// Operation codes.
    pub ops: OpCodes,
}

/// What a user says about a trace. What is left out comes from the workload file, from the sidecar file, or from the format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TraceOptions {
    /// Name of the format; without it, the format is found from the content.
    pub format: Option<String>,
    /// Unit of the times.
    pub time_unit: Option<TimeUnit>,
    /// Operation codes, such as `write=0,read=1`.
    pub ops: Option<OpCodes>,
    /// Unit of addresses and sizes.
    pub unit: Option<AddressUnit>,
    /// Keep only the requests to this device.
    pub device: Option<u32>,
}

/// Options and where they come from, as a phrase for the notes.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) said: String,
    pub(crate) options: TraceOptions,
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
}

#[derive(Clone, Copy, Debug, Default)]
struct DeviceScan {
    requests: u64,
    end_sector: u64,
    /// Where the device starts on the drive.
    offset_sectors: u64,
}

/// A trace that has been read once and can be played.
#[derive(Clone, Debug)]
pub struct Trace {
    path: PathBuf,
    format: &'static Format,
    compression: Compression,
    settings: Settings,
    device: Option<u32>,
    notes: Vec<String>,
    scan: Scan,
}

impl Trace {
    /// Opens a trace and reads it once.
    ///
    /// # Errors
    /// A file that can't be read, an unknown format, an option that does not apply, a missing time unit, or a faulty line.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<Self, WorkloadError> {
        Self::open_with(path, vec![Origin { said: "given as an option".into(), options: options.clone() }])
    }

    pub(crate) fn open_with(path: &Path, mut origins: Vec<Origin>) -> Result<Self, WorkloadError> {
        let shown = path.display().to_string();
        let option_error = |message| WorkloadError::Option { path: shown.clone(), message };
        if let Some(sidecar) = input::sidecar_paths(path).into_iter().find(|sidecar| sidecar.is_file()) {
            let options = file::read_sidecar(&sidecar)?;
            origins.push(Origin { said: format!("from {}", sidecar.display()), options });
        }
        let (lines, format) = find_format(path, &origins)?;
        let compression = lines.compression();
        let format_origin = first(&origins, |options| options.format.as_ref());
        let format_origin = format_origin.map_or("found from the content", |(_, origin)| origin);
        let mut notes = vec![format!("format {}, {format_origin}: {}", format.name, format.summary)];
        if compression != Compression::None {
            notes.push(format!("compressed with {}", compression.name()));
        }
        if lines.byte_order_mark() {
            notes.push("a byte-order mark at the beginning is skipped".into());
        }

        let given = first(&origins, |options| options.time_unit);
        let time_unit = match (format.time_unit, given) {
            (Some(fixed), Some((unit, origin))) if unit != fixed => {
                return Err(option_error(format!(
                    "the time unit {unit} ({origin}) contradicts the format {}, whose times are in {fixed}; leave it out",
                    format.name
                )));
            }
            (Some(fixed), _) => {
                notes.push(format!("times in {fixed}, fixed by the format"));
                Some(fixed)
            }
            (None, Some((unit, origin))) => {
                notes.push(format!("times in {unit}, {origin}"));
                Some(unit)
            }
            (None, None) => None,
        };
        let given = first(&origins, |options| options.unit);
        let address_unit = match (format.address_unit, given) {
            (Some(fixed), Some((unit, origin))) if unit != fixed => {
                return Err(option_error(format!(
                    "the address unit {unit} ({origin}) contradicts the format {}, whose addresses are in {fixed}; leave it out",
                    format.name
                )));
            }
            (Some(fixed), _) => fixed,
            (None, Some((unit, origin))) => {
                notes.push(format!("addresses and sizes in {unit}, {origin}"));
                unit
            }
            (None, None) => {
                notes.push("addresses and sizes in sectors of 512 bytes, the format's custom; `unit` says otherwise".into());
                AddressUnit::Sectors
            }
        };
        let ops = match (format.op_codes, first(&origins, |options| options.ops.clone())) {
            (false, Some((ops, origin))) => {
                return Err(option_error(format!(
                    "operation codes {ops} ({origin}) do not apply to the format {}, whose operations are words; leave them out",
                    format.name
                )));
            }
            (true, Some((ops, origin))) => {
                notes.push(format!("operation codes {ops}, {origin}"));
                ops
            }
            (true, None) => {
                notes.push(format!("operation codes {}, the format's custom; `ops` says otherwise", OpCodes::default()));
                OpCodes::default()
            }
            (false, None) => OpCodes::default(),
        };
        let device = first(&origins, |options| options.device).map(|(device, _)| device);
        let Some(time_unit) = time_unit else {
            return Err(missing_time_unit(path, format, Settings { time_unit: TimeUnit::Seconds, address_unit, ops }));
        };
        let mut trace = Self {
            path: path.to_owned(),
            format,
            compression,
            settings: Settings { time_unit, address_unit, ops },
            device,
            notes,
            scan: Scan::default(),
        };
        trace.scan = trace.first_pass()?;
        trace.lay_out_devices()?;
        Ok(trace)
    }

    /// Checks every line, and measures the devices.
    fn first_pass(&self) -> Result<Scan, WorkloadError> {
        let mut records = Records::open(&self.path, self.format, &self.settings, u128::from(TIME_MAX))?;
        let mut scan = Scan::default();
        let (mut first_ns, mut last_ns) = (None, 0);
        while let Some((_, record)) = records.next()? {
            let device = scan.devices.entry(record.device).or_default();
            device.requests += 1;
            device.end_sector = device.end_sector.max(record.sector + u64::from(record.sectors));
            if self.device.is_none_or(|number| number == record.device) {
                scan.requests += 1;
                last_ns = record.time_ns;
                first_ns.get_or_insert(record.time_ns);
            }
        }
        // The records have been checked to span no more than TIME_MAX.
        scan.duration_ns = (last_ns - first_ns.unwrap_or(last_ns)) as u64;
        Ok(scan)
    }

    fn lay_out_devices(&mut self) -> Result<(), WorkloadError> {
        let found = self.scan.devices.len();
        if let Some(number) = self.device {
            if self.scan.requests == 0 {
                let devices: Vec<String> = self.scan.devices.keys().map(u32::to_string).collect();
                return Err(WorkloadError::Option {
                    path: self.path.display().to_string(),
                    message: format!("no request is to device {number}; the trace's devices are {}", devices.join(", ")),
                });
            }
            self.scan.devices.retain(|device, _| *device == number);
            self.notes.push(format!("only the requests to device {number}, one of {found}"));
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
                        path: self.path.display().to_string(),
                        message: format!("{found} devices side by side are larger than 2^64 bytes; choose one by `device`"),
                    })?;
            }
            self.notes.push(format!(
                "{found} devices laid one after another, each as large as its highest address, rounded up to 1 MiB; \
                 `device` chooses one"
            ));
        }
        Ok(())
    }

    /// Plays the trace from its first request, at most `requests` of them.
    ///
    /// # Errors
    /// A file that can't be read any more.
    pub(crate) fn source(&self, logical_sectors: u64, requests: Option<u64>) -> Result<TraceSource, WorkloadError> {
        Ok(TraceSource {
            records: Records::open(&self.path, self.format, &self.settings, u128::from(TIME_MAX))?,
            offsets: self.scan.devices.iter().map(|(number, device)| (*number, device.offset_sectors)).collect(),
            device: self.device,
            several: self.scan.devices.len() > 1,
            first_ns: None,
            logical_sectors,
            left: requests.unwrap_or(u64::MAX),
        })
    }

    /// Number of requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.scan.requests
    }

    /// Time from the first to the last request, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.scan.duration_ns
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
        &self.path
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
        let mut characteristics = Characteristics::default();
        let mut source = self.source(u64::MAX, None)?;
        while let Some(arrival) = source.next()? {
            characteristics.add(&arrival);
        }
        let devices = self.scan.devices.iter().map(|(number, device)| DeviceInfo {
            device: *number,
            requests: device.requests,
            end_byte: device.end_sector * u64::from(SECTOR_BYTES),
            offset_bytes: device.offset_sectors * u64::from(SECTOR_BYTES),
        });
        Ok(TraceInfo {
            path: self.path.display().to_string(),
            format: self.format.name.into(),
            compression: self.compression,
            time_unit: self.settings.time_unit,
            address_unit: self.settings.address_unit,
            ops: self.format.op_codes.then(|| self.settings.ops.clone()),
            devices: devices.collect(),
            notes: self.notes.clone(),
            characteristics: characteristics.summary(),
        })
    }
}

/// Opens a file and finds its format: the one that is asked for, or else the first that claims one of the first
/// lines.
fn find_format(path: &Path, origins: &[Origin]) -> Result<(Lines, &'static Format), WorkloadError> {
    let mut lines = Lines::open(path)?;
    let mut head: Vec<String> = Vec::new();
    while head.len() < SNIFFED_LINES
        && let Some((_, line)) = lines.next_line()?
    {
        head.push(line.to_owned());
    }
    let Some(first_line) = head.first() else {
        return Err(WorkloadError::Empty { path: lines.path() });
    };
    if let Some((name, origin)) = first(origins, |options| options.format.as_deref()) {
        return match FORMATS.iter().find(|format| format.name == name) {
            Some(format) => Ok((lines, format)),
            None => {
                let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
                let nearest =
                    text::nearest(name, names.iter().copied()).map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"));
                Err(WorkloadError::Option {
                    path: lines.path(),
                    message: format!(
                        "{} ({origin}) is not a trace format; expected one of {}{nearest}",
                        text::quoted(name),
                        names.join(", ")
                    ),
                })
            }
        };
    }
    if let Some(format) = FORMATS.iter().find(|format| head.iter().any(|line| (format.sniff)(line))) {
        return Ok((lines, format));
    }
    let settings = Settings { time_unit: TimeUnit::Nanoseconds, address_unit: AddressUnit::Sectors, ops: OpCodes::default() };
    let reasons: Vec<String> = FORMATS
        .iter()
        .filter_map(|format| {
            let fault = (format.parser)(&settings).parse(first_line).err()?;
            Some(format!("as {}, {}: found {}, expected {}", format.name, fault.column, fault.found, fault.expected))
        })
        .collect();
    Err(WorkloadError::UnknownFormat { path: lines.path(), first_line: text::quoted(first_line), reasons: reasons.join("; ") })
}

/// Says what each unit would make of the trace. Reads it in seconds, so that the digits after the point are kept.
fn missing_time_unit(path: &Path, format: &'static Format, settings: Settings) -> WorkloadError {
    let measure = || {
        let mut records = Records::open(path, format, &settings, u128::MAX)?;
        let (mut requests, mut first_ns, mut last_ns) = (0_u64, None, 0);
        while let Some((_, record)) = records.next()? {
            requests += 1;
            last_ns = record.time_ns;
            first_ns.get_or_insert(record.time_ns);
        }
        Ok((requests, last_ns - first_ns.unwrap_or(last_ns)))
    };
    let (requests, span) = match measure() {
        Ok(measured) => measured,
        Err(error) => return error,
    };
    let choices = TimeUnit::ALL.map(|unit| {
        // The span is in units of 10^-9 of whatever the file's unit is.
        let span_ns = span / 1_000_000_000 * u128::from(unit.ns()) + span % 1_000_000_000 * u128::from(unit.ns()) / 1_000_000_000;
        if span_ns == 0 {
            return format!("\n  {unit}: all at once");
        }
        let per_second = requests as f64 * 1e9 / span_ns as f64;
        let rate = if per_second < 10.0 { format!("{per_second:.3}") } else { text::grouped(per_second.round() as u64) };
        format!("\n  {unit}: it would last {} at {rate} requests per second", text::duration(span_ns))
    });
    let sidecar = &input::sidecar_paths(path)[0];
    WorkloadError::MissingTimeUnit {
        path: path.display().to_string(),
        format: format.name,
        sidecar: sidecar.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        requests: text::grouped(requests),
        choices: choices.concat(),
    }
}

/// The records of a trace, each checked against the one before.
struct Records {
    lines: Lines,
    parser: Box<dyn Parser>,
    span_ns_max: u128,
    first_ns: Option<u128>,
    previous_ns: u128,
}

impl Records {
    fn open(path: &Path, format: &Format, settings: &Settings, span_ns_max: u128) -> Result<Self, WorkloadError> {
        Ok(Self { lines: Lines::open(path)?, parser: (format.parser)(settings), span_ns_max, first_ns: None, previous_ns: 0 })
    }

    fn next(&mut self) -> Result<Option<(u64, Record)>, WorkloadError> {
        let Some((number, line)) = self.lines.next_line()? else {
            return Ok(None);
        };
        let fault = match self.parser.parse(line) {
            Ok(record) => {
                let first_ns = *self.first_ns.get_or_insert(record.time_ns);
                // Every format has its time in the first column.
                let time_fault = |expected: String| Fault {
                    column: Column { number: 1, name: "time" },
                    found: format!("a time of {} ns", text::grouped(record.time_ns)),
                    expected,
                };
                if record.time_ns < self.previous_ns {
                    time_fault(format!(
                        "no time before that of the request before, {} ns: time must not go backwards",
                        text::grouped(self.previous_ns)
                    ))
                } else if record.time_ns - first_ns > self.span_ns_max {
                    time_fault(format!(
                        "at most {} after the first request ({} ns), the longest run that can be simulated; is the time \
                         unit right?",
                        text::duration(self.span_ns_max),
                        text::grouped(first_ns)
                    ))
                } else {
                    self.previous_ns = record.time_ns;
                    return Ok(Some((number, record)));
                }
            }
            Err(fault) => fault,
        };
        Err(WorkloadError::Line {
            path: self.lines.path(),
            line: number,
            place: fault.column,
            found: fault.found,
            expected: fault.expected,
        })
    }
}

/// Plays a trace.
pub(crate) struct TraceSource {
    records: Records,
    offsets: BTreeMap<u32, u64>,
    device: Option<u32>,
    several: bool,
    first_ns: Option<u128>,
    logical_sectors: u64,
    left: u64,
}

impl TraceSource {
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        if self.left == 0 {
            return Ok(None);
        }
        loop {
            let Some((line, record)) = self.records.next()? else {
                return Ok(None);
            };
            if self.device.is_some_and(|number| number != record.device) {
                continue;
            }
            self.left -= 1;
            let offset = if self.several { self.offsets.get(&record.device).copied().unwrap_or(0) } else { 0 };
            let sector = record.sector + offset;
            let end_sector = sector + u64::from(record.sectors);
            if end_sector > self.logical_sectors {
                return Err(WorkloadError::BeyondDrive {
                    path: self.records.lines.path(),
                    line,
                    end_byte: end_sector.saturating_mul(u64::from(SECTOR_BYTES)),
                    drive_bytes: self.logical_sectors.saturating_mul(u64::from(SECTOR_BYTES)),
                    hint: if self.several {
                        format!(
                            "; the trace's {} devices are laid one after another, and the option `device` chooses one",
                            self.offsets.len()
                        )
                    } else {
                        String::new()
                    },
                });
            }
            let at = (record.time_ns - *self.first_ns.get_or_insert(record.time_ns)) as u64;
            let command = Command { kind: record.kind, sector, sectors: record.sectors };
            return Ok(Some(Arrival { at, command }));
        }
    }
}

impl Source for TraceSource {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        for count in 0..limit {
            match self.next()? {
                Some(arrival) => out.push(arrival),
                None => return Ok(count),
            }
        }
        Ok(limit)
    }
}
