//! Opening a trace: finding its format, and settling what the format leaves open from options, workload file and sidecar file.

use std::path::Path;

use tinytail_core::units::SECTOR_BYTES;

use crate::error::WorkloadError;
use crate::file;
use crate::reading::{Reading, TraceContent};
use crate::text;
use crate::trace::fields;
use crate::trace::input::{self, Input};
use crate::trace::records::{Records, TimeLimits};
use crate::trace::units::{AddressUnit, OpCodes, TimeUnit};
use crate::trace::{FORMATS, Format, LATE_NS_MAX, Order, Origin, Reader, Scan, Settings, Time, Trace, TraceOptions, first};

/// How many lines are looked at to find the format.
const SNIFFED_LINES: usize = 8;

/// How many bytes are looked at to find a binary format.
const SNIFFED_BYTES: usize = 80;

/// What has been settled so far, and the notes that say it.
struct Settling<'a> {
    path: String,
    format: &'static Format,
    origins: &'a [Origin],
    notes: Vec<String>,
}

impl Trace {
    pub(crate) fn open_with(path: &Path, mut origins: Vec<Origin>, reading: &Reading) -> Result<Self, WorkloadError> {
        origins.extend(sidecar_origin(path)?);
        let content = TraceContent::new(path, reading);
        let (format, compression) = find_format(&content, &origins)?;
        let origin = first(&origins, |options| options.format.as_ref()).map_or("found from the content", |(_, origin)| origin);
        let mut settling = Settling {
            path: content.path.display().to_string(),
            format,
            origins: &origins,
            notes: vec![format!("format {}, {origin}: {}", format.name, format.summary)],
        };
        let queue_depth = settling.queue_depth()?;
        let time_unit = settling.time_unit()?;
        let late_ns_max = settling.late_ns_max(time_unit, queue_depth)?;
        let address_unit = settling.address_unit()?;
        let ops = settling.ops()?;
        let event = settling.event()?;
        let notes = settling.notes;
        let settings = Settings { time_unit, address_unit, ops, event };
        if time_unit.is_none() && format.time == Time::Given && queue_depth.is_none() {
            return Err(missing_time_unit(&content, format, settings, late_ns_max));
        }
        let mut trace =
            Self { content, format, compression, settings, late_ns_max, queue_depth, device: None, notes, scan: Scan::default() };
        trace.first_pass()?;
        trace.lay_out_devices(first(&origins, |options| options.device.as_ref()).map(|(device, _)| device))?;
        Ok(trace)
    }
}

fn sidecar_origin(trace: &Path) -> Result<Option<Origin>, WorkloadError> {
    let Some(sidecar) = input::sidecar(trace) else { return Ok(None) };
    Ok(Some(Origin { said: format!("from {}", sidecar.display()), options: file::read_sidecar(&sidecar)? }))
}

pub(super) fn check_beginning(path: &Path, options: &TraceOptions, reading: &Reading) -> Result<(), WorkloadError> {
    let mut origins = vec![Origin::given(options)];
    origins.extend(sidecar_origin(path)?);
    let content = TraceContent::new(path, reading);
    let (format, _) = find_format(&content, &origins)?;
    if matches!(format.reader, Reader::Lines { .. }) {
        Input::open(&content)?.next_line()?;
    }
    Ok(())
}

impl Settling<'_> {
    fn fault(&self, message: String) -> WorkloadError {
        WorkloadError::Option { path: self.path.clone(), message }
    }

    fn queue_depth(&mut self) -> Result<Option<u32>, WorkloadError> {
        let Some((depth, origin)) = first(self.origins, |options| options.queue_depth) else { return Ok(None) };
        if depth == 0 {
            return Err(self.fault(format!("a queue depth of 0 ({origin}) would play nothing; expected 1 or more")));
        }
        self.notes.push(format!("closed loop, {origin}: {depth} requests are always outstanding, and the recorded times do not pace them"));
        Ok(Some(depth))
    }

    /// The unit of time, or none if there are no times or if nobody knows their unit.
    fn time_unit(&mut self) -> Result<Option<TimeUnit>, WorkloadError> {
        let given = first(self.origins, |options| options.time_unit);
        let name = self.format.name;
        Ok(match (self.format.time, given) {
            (Time::Fixed(fixed), Some((unit, origin))) if unit != fixed => {
                return Err(self.fault(format!(
                    "the time unit {unit} ({origin}) contradicts the format {name}, whose times are in {fixed}; leave it out"
                )));
            }
            (Time::None, Some((unit, origin))) => {
                return Err(self.fault(format!(
                    "the time unit {unit} ({origin}) does not apply to the format {name}, which has no times; leave it out"
                )));
            }
            (Time::Fixed(fixed), _) => {
                self.notes.push(format!("times in {fixed}, fixed by the format"));
                Some(fixed)
            }
            (Time::Given, Some((unit, origin))) => {
                self.notes.push(format!("times in {unit}, {origin}"));
                Some(unit)
            }
            (Time::None, None) => {
                self.notes.push("no times, only an order".into());
                None
            }
            (Time::Given, None) => None,
        })
    }

    /// How far a time may be behind the latest before it.
    fn late_ns_max(&self, time_unit: Option<TimeUnit>, queue_depth: Option<u32>) -> Result<i128, WorkloadError> {
        let Some((late_ms, origin)) = first(self.origins, |options| options.reorder_ms) else {
            return Ok(match self.format.order {
                Order::Time => 0,
                Order::RoughlyTime => LATE_NS_MAX,
            });
        };
        let said = || format!("lines that are up to {late_ms} ms late ({origin}) can't be put in order");
        match time_unit {
            None if self.format.time == Time::None => {
                Err(self.fault(format!("{}: the format {} has no times; leave it out", said(), self.format.name)))
            }
            None if queue_depth.is_some() => Err(self.fault(format!("{} without the unit of time; give it too", said()))),
            _ => Ok(i128::from(late_ms) * 1_000_000),
        }
    }

    fn address_unit(&mut self) -> Result<AddressUnit, WorkloadError> {
        let given = first(self.origins, |options| options.unit);
        Ok(match (self.format.address_unit, given) {
            (Some(fixed), Some((unit, origin))) if unit != fixed => {
                return Err(self.fault(format!(
                    "the address unit {unit} ({origin}) contradicts the format {}, whose addresses are in {fixed}; leave it out",
                    self.format.name
                )));
            }
            (Some(fixed), _) => fixed,
            (None, Some((unit, origin))) => {
                self.notes.push(format!("addresses and sizes in {unit}, {origin}"));
                unit
            }
            (None, None) => {
                self.notes
                    .push(format!("addresses and sizes in sectors of {SECTOR_BYTES} bytes, the format's custom; `unit` says otherwise"));
                AddressUnit::Sectors
            }
        })
    }

    fn ops(&mut self) -> Result<OpCodes, WorkloadError> {
        Ok(match (self.format.op_codes, first(self.origins, |options| options.ops.clone())) {
            (false, Some((ops, origin))) => {
                return Err(self.fault(format!(
                    "operation codes {ops} ({origin}) do not apply to the format {}, which fixes its own; leave them out",
                    self.format.name
                )));
            }
            (true, Some((ops, origin))) => {
                self.notes.push(format!("operation codes {ops}, {origin}"));
                ops
            }
            (true, None) => {
                self.notes.push(format!("operation codes {}, the format's custom; `ops` says otherwise", OpCodes::default()));
                OpCodes::default()
            }
            (false, None) => OpCodes::default(),
        })
    }

    fn event(&mut self) -> Result<Option<super::Event>, WorkloadError> {
        let given = first(self.origins, |options| options.event);
        let known = self.format.events;
        match (known.first(), given) {
            (None, None) => Ok(None),
            (Some(usual), None) => {
                self.notes.push(format!("a request is a {usual} event, the format's custom; `event` says otherwise"));
                Ok(Some(*usual))
            }
            (_, Some((event, origin))) if known.contains(&event) => {
                self.notes.push(format!("a request is a {event} event, {origin}"));
                Ok(Some(event))
            }
            (Some(_), Some((event, origin))) => {
                let names: Vec<&str> = known.iter().map(|event| event.name()).collect();
                Err(self.fault(format!(
                    "the format {} has no {event} events ({origin}); expected {}",
                    self.format.name,
                    names.join(" or ")
                )))
            }
            (None, Some((event, origin))) => Err(self.fault(format!(
                "the event {event} ({origin}) does not apply to the format {}, in which each line is a request; leave it out",
                self.format.name
            ))),
        }
    }
}

/// Finds the format of a file: the one that is asked for, or else the first that claims its beginning or one of its first
/// lines.
fn find_format(content: &TraceContent, origins: &[Origin]) -> Result<(&'static Format, super::Compression), WorkloadError> {
    let input = Input::open(content)?;
    let compression = input.content().compression();
    if let Some((name, origin)) = first(origins, |options| options.format.as_deref()) {
        return match FORMATS.iter().find(|format| format.name == name) {
            Some(format) => Ok((format, compression)),
            None => {
                let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
                let nearest =
                    text::nearest(name, names.iter().copied()).map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"));
                Err(WorkloadError::Option {
                    path: input.path(),
                    message: format!(
                        "{} ({origin}) is not a trace format; expected one of {}{nearest}",
                        text::quoted(name),
                        names.join(", ")
                    ),
                })
            }
        };
    }
    let bytes = input.into_head(SNIFFED_BYTES)?;
    let binary = FORMATS.iter().find(|format| matches!(format.reader, Reader::Records { sniff, .. } if sniff(&bytes)));
    if let Some(format) = binary {
        return Ok((format, compression));
    }
    let mut input = Input::open(content)?;
    let mut head: Vec<String> = Vec::new();
    while head.len() < SNIFFED_LINES
        && let Some((_, line)) = input.next_line()?
    {
        head.push(line.to_owned());
    }
    let Some(first_line) = head.first() else {
        return Err(WorkloadError::Empty { path: input.path() });
    };
    let claims = |format: &&Format| match format.reader {
        Reader::Lines { sniff, .. } => head.iter().any(|line| sniff(line)),
        Reader::Records { .. } => false,
    };
    match FORMATS.iter().find(claims) {
        Some(format) => Ok((format, compression)),
        None => Err(unknown_format(input.path(), first_line)),
    }
}

/// Says of the formats that fit a line best what does not fit.
fn unknown_format(path: String, first_line: &str) -> WorkloadError {
    const SAID: usize = 3;
    let settings = Settings { time_unit: None, address_unit: AddressUnit::Sectors, ops: OpCodes::default(), event: None };
    let mut faults: Vec<_> = FORMATS
        .iter()
        .filter_map(|format| match format.reader {
            Reader::Lines { parser, .. } => Some((format.name, parser(&settings).parse(first_line).err()?)),
            Reader::Records { .. } => None,
        })
        .collect();
    // A line that is too short says less about the format than a field that is wrong.
    faults.sort_by_key(|(_, fault)| (fault.found == fields::END_OF_LINE, std::cmp::Reverse(fault.column.number)));
    let reasons: Vec<String> = faults
        .iter()
        .take(SAID)
        .map(|(name, fault)| format!("as {name}, {}: found {}, expected {}", fault.column, fault.found, fault.expected))
        .collect();
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    WorkloadError::UnknownFormat { path, first_line: text::quoted(first_line), reasons: reasons.join("; "), formats: names.join(", ") }
}

/// Says what each unit would make of the trace. Reads it in seconds, so that the digits after the point are kept.
fn missing_time_unit(content: &TraceContent, format: &'static Format, mut settings: Settings, late_ns_max: i128) -> WorkloadError {
    settings.time_unit = Some(TimeUnit::Seconds);
    let measure = || {
        // How late a line may be can't be judged without the unit.
        let late_ns_max = if late_ns_max > 0 { i128::MAX } else { 0 };
        let mut records = Records::open(content, format, &settings, Some(TimeLimits { span_ns_max: i128::MAX, late_ns_max }))?;
        let (mut requests, mut earliest_ns, mut latest_ns) = (0_u64, i128::MAX, i128::MIN);
        while let Some(request) = records.next()? {
            requests += 1;
            earliest_ns = earliest_ns.min(request.record.time_ns);
            latest_ns = latest_ns.max(request.record.time_ns);
        }
        if requests == 0 {
            return Err(WorkloadError::Empty { path: content.path.display().to_string() });
        }
        Ok((requests, (latest_ns - earliest_ns).unsigned_abs()))
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
    WorkloadError::MissingTimeUnit {
        path: content.path.display().to_string(),
        format: format.name,
        sidecar: input::in_sidecar(&content.path, "time_unit = \"...\""),
        requests: text::grouped(requests),
        choices: choices.concat(),
    }
}
