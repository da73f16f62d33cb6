//! Opening a trace: finding its format, and settling what the format leaves open from options, workload file and sidecar file.

use std::borrow::Cow;
use std::path::Path;

use tinytail_config::did_you_mean;

use tinytail_core::units::SECTOR_BYTES;

use crate::error::WorkloadError;
use crate::file;
use crate::reading::{Reading, TraceContent};
use crate::text;
use crate::trace::agreement::{agreement, doubts};
use crate::trace::columns;
use crate::trace::container::Compression;
use crate::trace::delimiter::Delimiter;
use crate::trace::drawn;
use crate::trace::faults::Faults;
use crate::trace::fields;
use crate::trace::fio_latency;
use crate::trace::foreign;
use crate::trace::forms::Form;
use crate::trace::header::{self, Preamble};
use crate::trace::input::{self, Input, Line};
use crate::trace::keyed;
use crate::trace::mapping::{self, Columns};
use crate::trace::proposal;
use crate::trace::records::{Records, TimeLimits};
use crate::trace::tables;
use crate::trace::units::{AddressUnit, OpCodes, SkipFaulty, TimeUnit};
use crate::trace::{FORMATS, Format, LATE_NS_MAX, Order, Origin, Parsed, Reader, Scan, Settings, Time, Trace, TraceOptions, first};

/// How many lines are looked at to find the format, besides those of comments that stand before them.
const SNIFFED_LINES: usize = 8;

/// How many are looked at to find out what the columns are.
const LOOKED_AT_LINES: usize = 64;

/// So many lines of comments are looked at, at most.
const SNIFFED_COMMENTS: usize = 256;

/// How many bytes are looked at to find a binary format.
const SNIFFED_BYTES: usize = 512;

/// Bytes that tell whether a file is a well-known one that is no trace, or text in another encoding.
const NAMED_BYTES: usize = 1 << 16;

/// What has been settled so far, and the notes that say it.
struct Settling<'a> {
    path: String,
    format: &'static Format,
    origins: &'a [Origin],
    notes: Vec<String>,
    doubts: Vec<String>,
}

impl Trace {
    pub(crate) fn open_with(path: &Path, mut origins: Vec<Origin>, reading: &Reading) -> Result<Self, WorkloadError> {
        origins.extend(sidecar_origin(path)?);
        let content = TraceContent::new(path, reading);
        Self::open_content(content.clone(), &origins).map_err(|error| called_by_its_name(error, &content))
    }

    fn open_content(content: TraceContent, origins: &[Origin]) -> Result<Self, WorkloadError> {
        let (format, compression) = find_format(&content, origins)?;
        let is_fio_log = format.name == fio_latency::FORMAT.name;
        let unnamed_log = if is_fio_log { fio_latency::check_name(&content.path)? } else { None };
        let origin = first(origins, |options| options.format.as_ref()).map_or("found from the content", |(_, origin)| origin);
        let mut settling = Settling {
            path: content.path.display().to_string(),
            format,
            origins,
            notes: vec![format!("format {}, {origin}: {}", format.name, format.summary)],
            doubts: Vec::new(),
        };
        settling.doubt(unnamed_log);
        let queue_depth = settling.queue_depth()?;
        let mut columns = settling.columns()?;
        let time_unit = settling.time_unit(columns.as_ref())?;
        let late_ns_max = settling.late_ns_max(time_unit, queue_depth, columns.as_ref())?;
        let address_unit = settling.address_unit(columns.as_mut())?;
        let ops = settling.ops(columns.as_mut())?;
        let event = settling.event()?;
        let head = if matches!(format.reader, Reader::Lines { .. }) { first_lines(&content)? } else { FirstLines::default() };
        let preamble = Preamble::of(&head.lines, &columns.as_ref().map_or_else(Vec::new, Columns::names));
        let time_unit = settling.header(&head, &preamble, time_unit, address_unit)?;
        let time_unit = settling.written_out(&head, &preamble, time_unit, columns.as_ref(), &ops)?;
        let timeless = columns.as_ref().is_some_and(|columns| !columns.has_times());
        settling.doubt(columns.iter().flat_map(|columns| doubts(preamble.header.as_ref(), columns, time_unit)));
        let untimed = time_unit.is_none() && format.time == Time::Given && queue_depth.is_none() && !timeless;
        let settings = Settings { time_unit, address_unit, ops, event, columns: columns.map(Box::new), preamble };
        let same_drive = settling.same_drive(&settings)?;
        let skip_faulty = settling.skip_faulty();
        let form = Form::of(format, &settings);
        settling.doubt(form.iter().flat_map(|form| form.doubts(&head, &settings.preamble)));
        let (notes, doubts) = (settling.notes, settling.doubts);
        let is_without_unit = |columns: &Columns| untimed || columns.lba_unit.is_none() || columns.len_unit.is_none();
        match &settings.columns {
            Some(columns) if is_without_unit(columns) => {
                return Err(missing_units(&content, (**columns).clone(), untimed, settings, late_ns_max));
            }
            None if untimed => return Err(missing_time_unit(&content, format, settings, late_ns_max)),
            _ => {}
        }
        let mut trace = Self {
            content,
            format,
            compression,
            settings,
            late_ns_max,
            skip_faulty,
            queue_depth,
            same_drive,
            device: None,
            notes,
            doubts,
            form,
            scan: Scan::default(),
        };
        trace.first_pass()?;
        trace.lay_out_devices(first(origins, |options| options.trace_device.as_ref()).map(|(device, _)| device))?;
        Ok(trace)
    }
}

/// The factor by which times in one unit are those in another.
fn scale_time(from: TimeUnit, to: TimeUnit) -> Option<f64> {
    let are_numbers = [from, to].iter().all(|unit| TimeUnit::ALL.contains(unit));
    are_numbers.then(|| from.ns() as f64 / to.ns() as f64)
}

fn sidecar_origin(trace: &Path) -> Result<Option<Origin>, WorkloadError> {
    let Some(sidecar) = input::sidecar(trace) else { return Ok(None) };
    Ok(Some(Origin { said: format!("from {}", sidecar.display()), options: file::read_sidecar(&sidecar)? }))
}

pub(super) fn check_beginning(path: &Path, options: &TraceOptions, reading: &Reading) -> Result<(), WorkloadError> {
    let mut origins = vec![Origin::given(options)];
    origins.extend(sidecar_origin(path)?);
    let content = TraceContent::new(path, reading);
    let check = || {
        let (format, _) = find_format(&content, &origins)?;
        if matches!(format.reader, Reader::Lines { .. }) {
            Input::open(&content)?.next_line()?;
        }
        Ok(())
    };
    check().map_err(|error| called_by_its_name(error, &content))
}

/// What begins as no text, by what it is, if that is known; options may have said that it is text.
fn called_by_its_name(error: WorkloadError, content: &TraceContent) -> WorkloadError {
    let WorkloadError::Binary { line: 1, .. } = error else { return error };
    let Ok(head) = Input::open(content).and_then(|input| input.into_head(NAMED_BYTES)) else { return error };
    let as_text = || {
        let text = std::str::from_utf8(&head).ok()?;
        if foreign::is_json(text) { json(content).ok() } else { foreign::text(text, &content.path) }
    };
    let known = || foreign::binary(&head, &content.path).or_else(as_text);
    match known() {
        Some((what, remedy)) => WorkloadError::Foreign { path: content.path.display().to_string(), what, remedy },
        None => error,
    }
}

impl Settling<'_> {
    fn fault(&self, message: String) -> WorkloadError {
        WorkloadError::Option { path: self.path.clone(), message }
    }

    fn doubt(&mut self, doubts: impl IntoIterator<Item = String>) {
        for doubt in doubts {
            self.notes.push(doubt.clone());
            self.doubts.push(doubt);
        }
    }

    fn queue_depth(&mut self) -> Result<Option<u32>, WorkloadError> {
        let Some((depth, origin)) = first(self.origins, |options| options.queue_depth) else { return Ok(None) };
        if depth == 0 {
            return Err(self.fault(format!("a queue depth of 0 ({origin}) would play nothing; expected 1 or more")));
        }
        self.notes.push(format!("closed loop, {origin}: {depth} requests are always outstanding, and the recorded times do not pace them"));
        Ok(Some(depth))
    }

    /// Whether the trace was recorded on the drive that is simulated.
    fn same_drive(&mut self, settings: &Settings) -> Result<bool, WorkloadError> {
        let Some((_, origin)) = first(self.origins, |options| options.same_drive.filter(|same| *same)) else { return Ok(false) };
        if (self.format.latency)(settings).is_none() {
            let said = format!(
                "`same_drive` ({origin}) is about the latencies that a trace holds, and here the format {} has none",
                self.format.name
            );
            return Err(self.fault(format!("{said}; leave it out")));
        }
        self.notes.push(format!("recorded on the drive that is simulated, {origin}"));
        Ok(true)
    }

    /// What the columns mean, in the format that needs to be told.
    fn columns(&mut self) -> Result<Option<Columns>, WorkloadError> {
        match first(self.origins, |options| options.columns.as_ref()) {
            Some((columns, origin)) => {
                self.notes.push(format!("columns {columns}, {origin}"));
                Ok(Some(columns.clone()))
            }
            None if self.format.name == columns::NAME => {
                Err(self
                    .fault(format!("the format columns is read by --columns, which says what each column is, as in {}", mapping::EXAMPLE)))
            }
            None => Ok(None),
        }
    }

    /// The unit of time, or none if there are no times or if nobody knows their unit.
    fn time_unit(&mut self, columns: Option<&Columns>) -> Result<Option<TimeUnit>, WorkloadError> {
        let given = first(self.origins, |options| options.time_unit);
        let name = self.format.name;
        if let Some(columns) = columns {
            return match (columns.time_unit, given) {
                (_, Some((unit, origin))) if !columns.has_times() => {
                    Err(self
                        .fault(format!("the time unit {unit} ({origin}) does not apply to the columns {columns}, of which none has times")))
                }
                _ if !columns.has_times() => {
                    self.notes.push("no times, only an order".into());
                    Ok(None)
                }
                (Some(said), Some((unit, origin))) if unit != said => {
                    Err(self.fault(format!("the time unit {unit} ({origin}) contradicts the columns {columns}; leave one of them out")))
                }
                (said, given) => Ok(said.or(given.map(|(unit, _)| unit))),
            };
        }
        Ok(match (self.format.time, given) {
            (Time::Fixed(fixed), Some((unit, origin))) if unit != fixed => {
                let factor = scale_time(unit, fixed).map_or(String::new(), |factor| {
                    format!(". If the times of this file are in {unit} all the same, `--scale-time {factor}` reads them so")
                });
                return Err(self.fault(format!(
                    "the time unit {unit} ({origin}) contradicts the format {name}, whose times are in {fixed}; leave it out{factor}"
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
    fn late_ns_max(&self, time_unit: Option<TimeUnit>, queue_depth: Option<u32>, columns: Option<&Columns>) -> Result<i128, WorkloadError> {
        let Some((late_ms, origin)) = first(self.origins, |options| options.reorder_ms) else {
            let is_by_completion = columns.is_some_and(Columns::is_by_completion);
            return Ok(match self.format.order {
                Order::Time if is_by_completion => LATE_NS_MAX,
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

    fn address_unit(&mut self, columns: Option<&mut Columns>) -> Result<AddressUnit, WorkloadError> {
        let given = first(self.origins, |options| options.unit);
        if let Some(columns) = columns {
            if let (Some((unit, origin)), Some(_), Some(_)) = (given, columns.lba_unit, columns.len_unit) {
                return Err(
                    self.fault(format!("the address unit {unit} ({origin}) has nothing to say beside the columns {columns}; leave it out"))
                );
            }
            columns.lba_unit = columns.lba_unit.or(given.map(|(unit, _)| unit));
            columns.len_unit = columns.len_unit.or(given.map(|(unit, _)| unit));
            return Ok(columns.lba_unit.unwrap_or(AddressUnit::Sectors));
        }
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

    fn ops(&mut self, columns: Option<&mut Columns>) -> Result<OpCodes, WorkloadError> {
        let given = first(self.origins, |options| options.ops.clone());
        if let Some(columns) = columns {
            self.notes.extend(given.as_ref().map(|(ops, origin)| format!("operation codes {ops}, {origin}")));
            columns.codes = given.map(|(ops, _)| ops);
            return Ok(columns.codes.clone().unwrap_or_default());
        }
        Ok(match (self.format.op_codes, given) {
            (false, Some((ops, origin))) => {
                return Err(self.fault(format!(
                    "operation codes {ops} ({origin}) do not apply to the format {}, which fixes its own; leave them out",
                    self.format.name
                )));
            }
            (true, Some((ops, origin))) => {
                let ops =
                    ops.or_reads_and_writes_of(&OpCodes::default()).map_err(|what| self.fault(format!("`ops` ({origin}): {what}")))?;
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

    /// How many faulty lines may be left out.
    fn skip_faulty(&self) -> Option<SkipFaulty> {
        first(self.origins, |options| options.skip_faulty).map(|(skip, _)| skip)
    }

    /// Holds the header line, if there is one, against the columns of the format and what was settled of them, and returns the
    /// unit of time. Where nobody gave the format, a contradiction is a question to the user.
    fn header(
        &mut self,
        head: &FirstLines,
        preamble: &Preamble,
        time_unit: Option<TimeUnit>,
        address_unit: AddressUnit,
    ) -> Result<Option<TimeUnit>, WorkloadError> {
        let format = self.format;
        let Some(layout) = format.layout else { return Ok(time_unit) };
        let mut columns: Columns = layout.columns.parse().map_err(|message| self.fault(message))?;
        let is_given = |given: fn(&TraceOptions) -> bool| self.origins.iter().any(|origin| given(&origin.options));
        // What was given is not held against the header line.
        if format.address_unit.is_none() && !is_given(|options| options.unit.is_some()) {
            (columns.lba_unit, columns.len_unit) = (Some(address_unit), Some(address_unit));
        }
        let usual = (format.op_codes && !is_given(|options| options.ops.is_some())).then(OpCodes::default);
        columns.codes = layout.ops.and_then(|ops| ops.parse().ok()).or(usual);
        let header = preamble.header.as_ref();
        let agreement = agreement(header, format.name, &layout, &columns);
        if let Some(assumed) = agreement.assumed() {
            self.doubt([format!("its header line leaves open what {} takes for granted: {assumed}", format.name)]);
        }
        let Some(contradictions) = agreement.contradictions() else {
            let said = agreement.time_unit.filter(|_| time_unit.is_none());
            self.notes.extend(said.map(|unit| format!("times in {unit}, by the header line")));
            return Ok(time_unit.or(said));
        };
        if is_given(|options| options.format.is_some()) {
            self.doubt([format!("its header line contradicts the format {}, which was given: {contradictions}", format.name)]);
            return Ok(time_unit);
        }
        let given = time_unit.filter(|_| format.time == Time::Given);
        let fits = agreement.is_aligned || header.is_some_and(|header| header.delimiter.is_some());
        // Where a column is another than the format has there, names that are not known may be anything.
        if agreement.is_misplaced {
            *columns.places = Default::default();
        }
        let of_format = agreement.is_aligned.then_some(&columns);
        let proposal = if fits { proposal::proposal(head, preamble, of_format, given) } else { None };
        Err(WorkloadError::Header {
            path: head.path.clone(),
            format: format.name,
            contradictions,
            advice: match proposal {
                Some(proposal) => format!("By the header line, {proposal}."),
                None => {
                    let ops = layout.ops.map_or_else(String::new, |ops| format!(" --ops {ops}"));
                    format!("--columns says which column is what; --columns {}{ops} are those of {}.", layout.columns, format.name)
                }
            },
        })
    }

    /// The unit of time, where none is known and times say themselves what they are.
    fn written_out(
        &mut self,
        head: &FirstLines,
        preamble: &Preamble,
        time_unit: Option<TimeUnit>,
        columns: Option<&Columns>,
        ops: &OpCodes,
    ) -> Result<Option<TimeUnit>, WorkloadError> {
        let (None, Time::Given, Reader::Lines { parser, .. }) = (time_unit, self.format.time, self.format.reader) else {
            return Ok(time_unit);
        };
        if columns.is_some_and(|columns| !columns.has_times()) {
            return Ok(None);
        }
        let reads = |unit: &TimeUnit| {
            let mut parser = parser(&Settings {
                time_unit: Some(*unit),
                address_unit: AddressUnit::Sectors,
                ops: ops.clone(),
                event: None,
                columns: columns.cloned().map(Box::new),
                preamble: preamble.clone(),
            });
            head.lines.iter().skip(preamble.lines).any(|line| matches!(parser.parse(line), Ok(Parsed::Request(_))))
        };
        let unit = TimeUnit::TOLD.into_iter().find(reads);
        self.notes.extend(unit.map(|unit| format!("times in {unit}, by their form")));
        Ok(unit)
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

/// The first lines of a text that are not blank.
#[derive(Debug, Default)]
pub(super) struct FirstLines {
    /// The file's name.
    pub(super) path: String,
    pub(super) lines: Vec<String>,
    /// The number of each in the file.
    pub(super) numbers: Vec<u64>,
    /// How many of them are looked at to find the format.
    pub(super) sniffed: usize,
}

fn first_lines(content: &TraceContent) -> Result<FirstLines, WorkloadError> {
    let mut input = Input::open(content)?;
    let mut head = FirstLines::default();
    let mut comments = 0;
    while head.lines.len() - comments < LOOKED_AT_LINES
        && comments < SNIFFED_COMMENTS
        // What is no text has its fault when it is read.
        && let Some((at, Line::Text(line))) = input.next_line()?
    {
        comments += usize::from(comments == head.lines.len() && header::uncommented(line).is_some());
        head.lines.push(line.to_owned());
        head.numbers.push(at.number());
    }
    head.sniffed = head.lines.len().min(comments + SNIFFED_LINES);
    head.path = input.path();
    Ok(head)
}

/// Finds the format of a file: the one that is asked for, or else the first that claims its beginning or one of its first
/// lines.
fn find_format(content: &TraceContent, origins: &[Origin]) -> Result<(&'static Format, super::Compression), WorkloadError> {
    let input = Input::open(content)?;
    let compression = input.content().compression();
    let named = first(origins, |options| options.format.as_deref());
    if let Some((said, origin)) = first(origins, |options| options.columns.as_ref()) {
        let Some((name, named_by)) = named.filter(|(name, _)| *name != columns::NAME) else { return Ok((&columns::FORMAT, compression)) };
        return Err(WorkloadError::Option {
            path: input.path(),
            message: format!("the columns {said} ({origin}) and the format {name} ({named_by}) exclude each other; leave one of them out"),
        });
    }
    if let Some((name, origin)) = named {
        return match FORMATS.iter().find(|format| format.name == name) {
            Some(format) => Ok((format, compression)),
            None => {
                let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
                let hint = did_you_mean(name, names.iter().copied());
                Err(WorkloadError::Option {
                    path: input.path(),
                    message: format!("{} ({origin}) is not a trace format; expected one of {}{hint}", text::quoted(name), names.join(", ")),
                })
            }
        };
    }
    let bytes = input.into_head(NAMED_BYTES)?;
    let sniffed = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    let binary = FORMATS.iter().find(|format| matches!(format.reader, Reader::Records { sniff, .. } if sniff(sniffed)));
    if let Some(format) = binary {
        return Ok((format, compression));
    }
    if let Some((what, remedy)) = foreign::binary(&bytes, &content.path) {
        return Err(WorkloadError::Foreign { path: content.path.display().to_string(), what, remedy });
    }
    let head = first_lines(content)?;
    if head.lines.is_empty() {
        return Err(WorkloadError::Empty { path: head.path });
    }
    let claims = |format: &&Format| match format.reader {
        // Formats with columns have no quotation marks, in which a field may be anything.
        Reader::Lines { sniff, .. } => {
            head.lines[..head.sniffed].iter().any(|line| (format.layout.is_none() || !line.contains('"')) && sniff(line.trim()))
        }
        Reader::Records { .. } => false,
    };
    match FORMATS.iter().find(claims) {
        Some(format) => Ok((format, compression)),
        None => Err(refusal(content, head)?),
    }
}

/// What a text is that no format claims, and what can be done with it.
fn refusal(content: &TraceContent, head: FirstLines) -> Result<WorkloadError, WorkloadError> {
    let beginning = beginning(&head.lines);
    let known = match foreign::text(&beginning, &content.path) {
        None if foreign::is_json(&beginning) => Some(json(content)?),
        found => found,
    };
    if let Some((what, remedy)) = known {
        return Ok(WorkloadError::Foreign { path: head.path, what, remedy });
    }
    if let Some((what, remedy)) = drawn::table(&head.lines, &foreign::shell_name(&content.path)) {
        return Ok(WorkloadError::Foreign { path: head.path, what, remedy });
    }
    if let Some((at, what, why)) = tables::without_requests(&head.lines) {
        let line = format!("line {}, {}", head.numbers[at], text::quoted(head.lines[at].trim()));
        return Ok(WorkloadError::WithoutRequests { path: head.path, line, what, why });
    }
    if keyed::is_log(&head.lines) {
        let text = keyed_text(content)?;
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let (what, remedy) = keyed::log(&lines, &shell_file(content)?, text.len() + 1 >= keyed::LOOKED_AT);
        return Ok(WorkloadError::Foreign { path: head.path, what, remedy });
    }
    Ok(unknown_format(&head))
}

/// The text of a file whose values have keys, as far as it is looked at.
fn keyed_text(content: &TraceContent) -> Result<String, WorkloadError> {
    let head = Input::open(content)?.into_head(keyed::LOOKED_AT)?;
    Ok(String::from_utf8(head).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// A file as a shell gets at what is in it.
fn shell_file(content: &TraceContent) -> Result<keyed::ShellFile, WorkloadError> {
    let name = foreign::shell_name(&content.path);
    let input = Input::open(content)?;
    let packed = input.content();
    let unpacked = match packed.compression() {
        _ if packed.member().is_some() => Some(format!("tar -xOf {name}")),
        Compression::None => None,
        compression => Some(format!("{} -dc < {name}", compression.name())),
    };
    Ok(keyed::ShellFile { name, unpacked })
}

/// What a JSON text is, and what can be done with it.
fn json(content: &TraceContent) -> Result<(&'static str, String), WorkloadError> {
    Ok(keyed::json(&keyed_text(content)?, &shell_file(content)?))
}

/// What says which kind of file a text is: its first line, or of XML all that was read.
fn beginning(lines: &[String]) -> Cow<'_, str> {
    if lines[0].starts_with("<?xml") { lines.join("\n").into() } else { lines[0].trim().into() }
}

/// Says of the formats that fit a line best what does not fit.
fn unknown_format(head: &FirstLines) -> WorkloadError {
    const SAID: usize = 3;
    let lines = &head.lines;
    let preamble = Preamble::of(lines, &[]);
    let settings = Settings {
        time_unit: None,
        address_unit: AddressUnit::Sectors,
        ops: OpCodes::default(),
        event: None,
        columns: None,
        preamble: preamble.clone(),
    };
    // Comments and the names of columns fit no format.
    let judged = lines.get(preamble.lines).unwrap_or(&lines[0]).trim();
    let shown = lines.iter().position(|line| header::uncommented(line).is_none()).unwrap_or(0);
    let line = if head.numbers[shown] == 1 { "first line".into() } else { format!("line {}", head.numbers[shown]) };
    let known = || FORMATS.iter().filter(|format| format.name != columns::NAME);
    let mut faults: Vec<_> = known()
        .filter_map(|format| match format.reader {
            Reader::Lines { parser, .. } => Some((format.name, parser(&settings).parse(judged).err()?)),
            Reader::Records { .. } => None,
        })
        .collect();
    // A format is near if it reads the first two columns of the line, and finds a fault in a column that is there.
    faults.retain(|(_, fault)| fault.found != fields::END_OF_LINE && fault.column.number > 2 && fault.column.name != "beyond the last");
    faults.sort_by_key(|(_, fault)| std::cmp::Reverse(fault.column.number));
    let reasons: Vec<String> = faults
        .iter()
        .take(SAID)
        .map(|(name, fault)| format!("as {name}, {}: found {}, expected {}", fault.column, fault.found, fault.expected))
        .collect();
    let names: Vec<&str> = known().map(|format| format.name).collect();
    let advice = match (proposal::proposal(head, &preamble, None, None), tables::unnamed(&preamble)) {
        (Some(proposal), _) => format!("{proposal}.\n"),
        (None, Some(unnamed)) => format!("{unnamed}.\n"),
        (None, None) => {
            let nearest = if reasons.is_empty() { String::new() } else { format!("The nearest: {}.\n", reasons.join("; ")) };
            format!("{}.\n{nearest}", columns_advice(judged))
        }
    };
    WorkloadError::UnknownFormat {
        path: head.path.clone(),
        line: format!("{line}, {}", text::quoted(lines[shown].trim())),
        advice,
        formats: names.join(", "),
    }
}

/// What can be done with a line of which no column says what it is.
fn columns_advice(line: &str) -> String {
    const COLUMNS: &str = "a request has an operation, an address and a size";
    if Delimiter::of(line, 3).is_some() {
        return format!("{COLUMNS}. If three of its columns are these, --columns says which, as in {}", mapping::EXAMPLE);
    }
    format!("{COLUMNS}, and this line has no three columns, so that no option can help")
}

/// What a trace whose units are not known comes to in each unit.
struct Unmeasured {
    requests: u64,
    /// In units of 10^-9 of whatever the file's unit of time is.
    span: u128,
    /// In the file's units of addresses, if they are read as sectors.
    end: u64,
    /// The sum of all sizes in the file's units, if they are read as sectors.
    size: u64,
    /// What is wrong with other lines, as the end of a message.
    faults: String,
}

impl Unmeasured {
    /// Reads times in seconds, so that the digits after the point are kept.
    fn read(content: &TraceContent, format: &'static Format, mut settings: Settings, late_ns_max: i128) -> Result<Self, WorkloadError> {
        let timed = settings.columns.as_deref().is_none_or(Columns::has_times);
        settings.time_unit = timed.then_some(TimeUnit::Seconds);
        // How late a line may be can't be judged without the unit.
        let late_ns_max = if late_ns_max > 0 { i128::MAX } else { 0 };
        let limits = settings.time_unit.map(|_| TimeLimits { span_ns_max: i128::MAX, late_ns_max });
        let mut records = Records::open(content, format, &settings, limits, Some(Faults::default()))?;
        let mut read = Self { requests: 0, span: 0, end: 0, size: 0, faults: String::new() };
        let (mut earliest_ns, mut latest_ns) = (i128::MAX, i128::MIN);
        while let Some(request) = records.next()? {
            let record = request.record;
            read.requests += 1;
            earliest_ns = earliest_ns.min(record.time_ns);
            latest_ns = latest_ns.max(record.time_ns);
            read.end = read.end.max(record.sector + u64::from(record.sectors));
            read.size += u64::from(record.sectors);
        }
        let faults = records.faults.clone().unwrap_or_default();
        if read.requests == 0 {
            let error = faults.error(records.input.path(), records.lines, false, format.name, None);
            return Err(error.unwrap_or_else(|| WorkloadError::Empty { path: content.path.display().to_string() }));
        }
        if faults.lines() > 0 {
            let are = if faults.lines() == 1 { "is" } else { "are" };
            let (faulty, lines) = (text::grouped(faults.lines()), text::grouped(records.lines));
            read.faults = format!(
                "\nBesides, {faulty} of its {lines} lines {are} faulty; --skip-faulty N leaves out up to N of them:{}",
                faults.listed()
            );
        }
        read.span = (latest_ns - earliest_ns).unsigned_abs();
        Ok(read)
    }

    /// How long the trace would last and how fast its requests would come, in a unit of time.
    fn in_time(&self, unit: TimeUnit) -> String {
        let span_ns = self.span / 1_000_000_000 * u128::from(unit.ns()) + self.span % 1_000_000_000 * u128::from(unit.ns()) / 1_000_000_000;
        if span_ns == 0 {
            return "all at once".into();
        }
        // As everywhere, of the requests after the first.
        let per_second = (self.requests - 1) as f64 * 1e9 / span_ns as f64;
        let rate = if per_second < 10.0 { format!("{per_second:.3}") } else { text::grouped(per_second.round() as u64) };
        format!("it would last {} at {rate} requests per second", text::duration(span_ns))
    }

    /// How large the trace would be and how large its requests, in a unit of addresses.
    fn in_space(&self, unit: AddressUnit) -> String {
        let bytes = |units: u64| text::binary_size(units.saturating_mul(u64::from(unit.bytes())));
        format!("it would reach {} in requests of {} on average", bytes(self.end), bytes(self.size / self.requests))
    }
}

/// Says what each unit of time would make of the trace.
fn missing_time_unit(content: &TraceContent, format: &'static Format, settings: Settings, late_ns_max: i128) -> WorkloadError {
    let read = match Unmeasured::read(content, format, settings, late_ns_max) {
        Ok(read) => read,
        Err(error) => return error,
    };
    WorkloadError::MissingTimeUnit {
        path: content.path.display().to_string(),
        format: format.name,
        sidecar: input::in_sidecar(&content.path, "time_unit = \"...\""),
        requests: text::counted(read.requests, "request"),
        choices: TimeUnit::USUAL.map(|unit| format!("\n  {unit}: {}", read.in_time(unit))).concat() + &read.faults,
    }
}

/// Says what each unit would make of a trace whose columns have been said without all of their units.
fn missing_units(content: &TraceContent, columns: Columns, untimed: bool, mut settings: Settings, late_ns_max: i128) -> WorkloadError {
    let unplaced = columns.lba_unit.is_none() || columns.len_unit.is_none();
    if unplaced && let Some(columns) = &mut settings.columns {
        (columns.lba_unit, columns.len_unit) = (Some(AddressUnit::Sectors), Some(AddressUnit::Sectors));
    }
    let read = match Unmeasured::read(content, &columns::FORMAT, settings, late_ns_max) {
        Ok(read) => read,
        Err(error) => return error,
    };
    let example = columns.with_units(Some(TimeUnit::Microseconds), Some(AddressUnit::Bytes));
    let missing = [untimed.then_some("times"), unplaced.then_some("addresses and sizes")];
    let mut choices = String::new();
    if untimed {
        choices += &TimeUnit::USUAL.map(|unit| format!("\n  times in {unit}: {}", read.in_time(unit))).concat();
    }
    if unplaced {
        choices += &[AddressUnit::Sectors, AddressUnit::Bytes, AddressUnit::Blocks(4096)]
            .map(|unit| format!("\n  addresses in {unit}: {}", read.in_space(unit)))
            .concat();
    }
    WorkloadError::MissingUnits {
        path: content.path.display().to_string(),
        missing: missing.into_iter().flatten().collect::<Vec<_>>().join(" and of its "),
        example: format!("--columns {example} does{}", input::in_sidecar(&content.path, &format!("columns = \"{example}\""))),
        choices: format!("{}:{choices}{}", text::counted(read.requests, "request"), read.faults),
    }
}
