//! Workload files, and the sidecar files of traces: TOML in which every value may carry its source.
//!
//! A value is written plainly, `read_share = 0.7`, or with where it comes from,
//! `read_share = { value = 0.7, source = "..." }`.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tinytail_core::host::CommandKind;
use tinytail_core::units::{SECOND, SECTOR_BYTES, TIME_MAX};
use toml::de::{DeTable, DeValue};

use crate::error::WorkloadError;
use crate::synthetic::profile::{FlowProfile, Profile};
use crate::synthetic::{Arrivals, Synthetic};
use crate::text;
use crate::trace::TraceOptions;
use crate::trace::units::{AddressUnit, DeviceName, Event, OpCodes, TimeUnit};

/// A value and where it comes from.
#[derive(Clone, Debug)]
struct Sourced<T> {
    value: T,
}

/// A workload file. Exactly one of the tables is given.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "tinytail workload")]
pub(crate) struct WorkloadFile {
    /// What the workload is, in one sentence.
    summary: String,
    /// Requests of one block size, uniform or by Zipf's law.
    synthetic: Option<SyntheticTable>,
    /// A stand-in for a recorded workload, by its measured characteristics.
    profile: Option<ProfileTable>,
    /// A trace file and its units.
    trace: Option<TraceTable>,
}

/// The table of a workload file, checked.
pub(crate) enum Table {
    /// Requests of one block size.
    Synthetic(Synthetic),
    /// A stand-in for a recorded workload.
    Profile { stands_in_for: String, profile: Profile },
    /// A trace file and what is said about it.
    Trace { file: String, options: TraceOptions },
}

/// Requests of one block size. Exactly one of `queue_depth` and `rate_per_s` is given.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SyntheticTable {
    /// Closed loop: number of requests that are always outstanding.
    queue_depth: Option<Sourced<u32>>,
    /// Open loop: mean number of requests per second, with exponential times between them.
    rate_per_s: Option<Sourced<f64>>,
    /// Size of every request in bytes, a multiple of 512.
    block_bytes: Sourced<u64>,
    /// Every address is a multiple of this, itself a multiple of 512; `block_bytes` without it.
    align_bytes: Option<Sourced<u64>>,
    /// Share of requests that are reads, from 0 to 1.
    read_share: Sourced<f64>,
    /// How requests are spread over the range.
    addresses: Sourced<AddressLaw>,
    /// Zipf's exponent, above 0 and at most 4; only with `addresses = "zipf"`.
    zipf_theta: Option<Sourced<f64>>,
    /// The range of addresses from 0, in bytes; the mapped part of the drive without it.
    range_bytes: Option<Sourced<u64>>,
    /// Number of requests, unless the run asks for another.
    requests: Sourced<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AddressLaw {
    /// Every slot is as likely.
    Uniform,
    /// The k-th most frequent slot has a share proportional to k^-`zipf_theta`; the hot slots are spread over the range.
    Zipf,
}

/// A stand-in for a recorded workload: independent flows in open loop.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProfileTable {
    /// What the workload stands in for.
    stands_in_for: Sourced<String>,
    /// The flows, by name; at least one.
    flows: BTreeMap<String, FlowTable>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FlowKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FlowTable {
    /// Whether the flow reads or writes.
    kind: Sourced<FlowKind>,
    /// When the flow begins, in whole seconds; 0 without it.
    start_s: Option<Sourced<u64>>,
    /// Length of each of the periods for which a rate is given, in whole seconds.
    period_s: Sourced<u64>,
    /// Mean number of requests per second, for each period; the flow ends after the last.
    rates_per_s: Sourced<Vec<f64>>,
    /// Each second's rate is drawn between 1 - this and 1 + this times the period's, from 0 to 1.
    jitter_share: Sourced<f64>,
    /// Share of requests that come after a pause.
    pause_share: Sourced<f64>,
    /// Mean length of a pause in milliseconds, exponentially distributed.
    pause_ms: Sourced<f64>,
    /// Share of requests that continue a run of this flow.
    sequential_share: Sourced<f64>,
    /// Chance to pass over the most recent run, and the next, and so on, when a run is continued.
    interleave_share: Sourced<f64>,
    /// Share of new runs that start where an earlier one did.
    revisit_share: Sourced<f64>,
    /// Sizes of the requests that start a run: pairs of sectors and weight.
    start_sizes_sectors: Sourced<Vec<(u32, f64)>>,
    /// Sizes of the requests that continue a run: pairs of sectors and weight.
    continuation_sizes_sectors: Sourced<Vec<(u32, f64)>>,
    /// Where runs start: triples of first GiB, end in GiB and weight.
    regions_gib: Sourced<Vec<(f64, f64, f64)>>,
}

/// A trace and what its format does not fix.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TraceTable {
    /// The trace's file name, looked for beside the workload file and in the folder that TINYTAIL_TRACES names. Not in the
    /// sidecar file of a trace.
    file: Option<Sourced<String>>,
    /// Name of the format; found from the content without it.
    format: Option<Sourced<String>>,
    /// Unit of the times.
    time_unit: Option<Sourced<TimeUnit>>,
    /// Operation codes, such as `write=0,read=1`.
    ops: Option<Sourced<OpCodes>>,
    /// Unit of addresses and sizes.
    unit: Option<Sourced<AddressUnit>>,
    /// Keep only the requests to this device, given by its number or its name.
    device: Option<Sourced<DeviceName>>,
    /// The event that counts as a request's arrival, for formats that record several.
    event: Option<Sourced<Event>>,
    /// How late a line may be, in milliseconds; later ones are faults, earlier ones are put in order.
    reorder_ms: Option<Sourced<u64>>,
    /// Play in closed loop: this many requests are always outstanding.
    queue_depth: Option<Sourced<u32>>,
}

impl TraceTable {
    fn options(&self) -> TraceOptions {
        fn plain<T: Clone>(value: &Option<Sourced<T>>) -> Option<T> {
            value.as_ref().map(|sourced| sourced.value.clone())
        }
        TraceOptions {
            format: plain(&self.format),
            time_unit: plain(&self.time_unit),
            ops: plain(&self.ops),
            unit: plain(&self.unit),
            device: plain(&self.device),
            event: plain(&self.event),
            reorder_ms: plain(&self.reorder_ms),
            queue_depth: plain(&self.queue_depth),
        }
    }
}

/// A file's text and name, for messages.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Text<'a> {
    fn parse<T: serde::de::DeserializeOwned>(self) -> Result<T, WorkloadError> {
        toml::from_str(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start.min(self.text.len()));
            let line = self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1;
            WorkloadError::Config { path: self.path.into(), line, message: self.explain(error.message(), offset) }
        })
    }

    /// Adds to a decoder's message the key whose value is meant.
    fn explain(self, message: &str, offset: usize) -> String {
        let faulty_value = message.starts_with("invalid") || message.starts_with("unknown variant");
        let document = DeTable::parse(self.text).ok().filter(|_| faulty_value);
        let Some((name, found)) = document.and_then(|document| self.value_at(document.get_ref(), offset)) else {
            return with_nearest(message);
        };
        match message.rsplit_once(", expected ") {
            Some((_, expected)) if message.starts_with("invalid") => {
                format!("`{name}` is {}; expected {}", text::one_line(found), tinytail_core::config::allowed(expected))
            }
            _ => format!("`{name}`: {}", with_nearest(message)),
        }
    }

    /// The name and the text of the value that a place in the file belongs to.
    fn value_at(self, table: &DeTable<'_>, offset: usize) -> Option<(String, &'a str)> {
        table.iter().find_map(|(key, value)| {
            let (key, span) = (key.get_ref(), value.span());
            let inner = value.get_ref().as_table().filter(|inner| inner.get("value").is_none());
            match inner {
                Some(inner) => self.value_at(inner, offset).map(|(name, found)| (format!("{key}.{name}"), found)),
                None => span.contains(&offset).then(|| (key.to_string(), &self.text[span])),
            }
        })
    }

    /// A fault of the value at `section` and `key`.
    fn fault(self, section: &[&str], key: &str, message: impl fmt::Display) -> WorkloadError {
        let mut line = 1;
        if let Ok(document) = DeTable::parse(self.text) {
            let mut table = Some(document.get_ref());
            for name in section.iter().chain([&key]) {
                let entry = table.and_then(|table| table.iter().find(|(found, _)| found.get_ref() == name));
                table = match entry {
                    Some((found, value)) => {
                        line = self.text.as_bytes()[..found.span().start].iter().filter(|b| **b == b'\n').count() + 1;
                        value.get_ref().as_table()
                    }
                    None => None,
                };
            }
        }
        let name = if section.is_empty() { key.to_owned() } else { format!("{}.{key}", section.join(".")) };
        WorkloadError::Config { path: self.path.into(), line, message: format!("`{name}` {message}") }
    }

    /// Reads a workload file: its summary and its table, checked.
    pub(crate) fn workload(self) -> Result<(String, Table), WorkloadError> {
        let file: WorkloadFile = self.parse()?;
        let table = match (file.synthetic, file.profile, file.trace) {
            (Some(table), None, None) => Table::Synthetic(table.check(self)?),
            (None, Some(table), None) => {
                let profile = table.check(self)?;
                Table::Profile { stands_in_for: table.stands_in_for.value, profile }
            }
            (None, None, Some(table)) => {
                let options = table.options();
                let file = table.file.ok_or_else(|| self.fault(&["trace"], "file", "is missing: the trace's file name"))?;
                Table::Trace { file: file.value, options }
            }
            _ => {
                return Err(WorkloadError::Config {
                    path: self.path.into(),
                    line: 1,
                    message: "expected exactly one of the tables [synthetic], [profile] and [trace]".into(),
                });
            }
        };
        Ok((file.summary, table))
    }

    /// The values of a file as rows, in the order of the file.
    pub(crate) fn rows(self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Ok(document) = DeTable::parse(self.text) {
            self.add_rows(document.get_ref(), "", &mut rows);
        }
        rows
    }

    fn add_rows(self, table: &DeTable<'_>, section: &str, rows: &mut Vec<Row>) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let key = key.get_ref();
            if section.is_empty() && key == "summary" {
                continue;
            }
            let (value, source) = match value.get_ref() {
                DeValue::Table(inner) => match inner.get("value") {
                    Some(plain) => (plain, inner.get("source").and_then(|source| source.get_ref().as_str())),
                    None => {
                        let name = if section.is_empty() { key.to_string() } else { format!("{section}.{key}") };
                        self.add_rows(inner, &name, rows);
                        continue;
                    }
                },
                _ => (value, None),
            };
            let shown = match value.get_ref().as_str() {
                Some(text) => text.to_owned(),
                None => self.text[value.span()].split_whitespace().collect::<Vec<_>>().join(" "),
            };
            rows.push(Row { section: section.into(), key: key.to_string(), value: shown, source: source.unwrap_or_default().into() });
        }
    }
}

/// One value of a workload file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The table in which it stands, such as `synthetic`.
    pub section: String,
    /// Its name.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// Where the value comes from, or nothing.
    pub source: String,
}

/// Reads the sidecar file of a trace.
pub(crate) fn read_sidecar(path: &Path) -> Result<TraceOptions, WorkloadError> {
    let content = std::fs::read_to_string(path).map_err(|error| WorkloadError::io(path, &error))?;
    let name = path.display().to_string();
    let text = Text { path: &name, text: &content };
    let table: TraceTable = text.parse()?;
    if table.file.is_some() {
        return Err(text.fault(&[], "file", "does not belong in a sidecar file: it is named after its trace"));
    }
    Ok(table.options())
}

/// Adds the nearest right spelling to a message about an unknown word. Such messages quote the word first and then what was
/// expected.
fn with_nearest(message: &str) -> String {
    if !message.starts_with("unknown") {
        return message.to_owned();
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let nearest = words.next().and_then(|word| text::nearest(word, words));
    nearest.map_or_else(|| message.to_owned(), |nearest| format!("{message}; did you mean `{nearest}`?"))
}

/// The section of a table and the text of its file, to check values with.
#[derive(Clone, Copy)]
struct Check<'a> {
    text: Text<'a>,
    section: &'a [&'a str],
}

impl Check<'_> {
    fn fault(self, key: &str, message: impl fmt::Display) -> WorkloadError {
        self.text.fault(self.section, key, message)
    }

    fn share(self, key: &str, share: &Sourced<f64>) -> Result<f64, WorkloadError> {
        match share.value {
            value if (0.0..=1.0).contains(&value) => Ok(value),
            value => Err(self.fault(key, format_args!("is {value}; expected a share from 0 to 1"))),
        }
    }

    fn sectors(self, key: &str, bytes: &Sourced<u64>) -> Result<u64, WorkloadError> {
        let sector_bytes = u64::from(SECTOR_BYTES);
        match bytes.value {
            0 => Err(self.fault(key, "is 0; expected a multiple of 512 bytes above 0")),
            value if value % sector_bytes != 0 => {
                Err(self.fault(key, format_args!("is {value}; expected a multiple of 512 bytes, the sector")))
            }
            value => Ok(value / sector_bytes),
        }
    }
}

impl SyntheticTable {
    fn check(&self, text: Text<'_>) -> Result<Synthetic, WorkloadError> {
        let check = Check { text, section: &["synthetic"] };
        let arrivals = match (&self.queue_depth, &self.rate_per_s) {
            (Some(_), Some(_)) => {
                return Err(check.fault("rate_per_s", "and `queue_depth` are both given; expected one, open or closed loop"));
            }
            (None, None) => {
                return Err(check.fault("queue_depth", "(closed loop) or `rate_per_s` (open loop) is missing"));
            }
            (Some(depth), None) if depth.value == 0 => {
                return Err(check.fault("queue_depth", "is 0; expected 1 or more"));
            }
            (Some(depth), None) => Arrivals::Closed { depth: depth.value },
            (None, Some(rate)) if !(rate.value > 0.0 && rate.value <= 1e9) => {
                return Err(
                    check.fault("rate_per_s", format_args!("is {}; expected a rate above 0 and at most 1e9 per second", rate.value))
                );
            }
            (None, Some(rate)) => Arrivals::Open { rate_per_s: rate.value },
        };
        let block_sectors =
            u32::try_from(check.sectors("block_bytes", &self.block_bytes)?).map_err(|_| check.fault("block_bytes", "is 2 TiB or more"))?;
        let align_sectors = match &self.align_bytes {
            Some(align) => check.sectors("align_bytes", align)?,
            None => u64::from(block_sectors),
        };
        let range_sectors = self.range_bytes.as_ref().map(|range| check.sectors("range_bytes", range)).transpose()?;
        if range_sectors.is_some_and(|range| range < u64::from(block_sectors)) {
            return Err(check.fault("range_bytes", "is smaller than `block_bytes`; not one block fits"));
        }
        let zipf_theta = match (self.addresses.value, &self.zipf_theta) {
            (AddressLaw::Uniform, None) => None,
            (AddressLaw::Uniform, Some(_)) => {
                return Err(check.fault("zipf_theta", "is given with uniform addresses; expected `addresses = \"zipf\"`"));
            }
            (AddressLaw::Zipf, None) => {
                return Err(check.fault("zipf_theta", "is missing; `addresses` is \"zipf\""));
            }
            (AddressLaw::Zipf, Some(theta)) if !(theta.value > 0.0 && theta.value <= 4.0) => {
                return Err(check.fault("zipf_theta", format_args!("is {}; expected an exponent above 0, at most 4", theta.value)));
            }
            (AddressLaw::Zipf, Some(theta)) => Some(theta.value),
        };
        if self.requests.value == 0 {
            return Err(check.fault("requests", "is 0; expected 1 or more"));
        }
        Ok(Synthetic {
            arrivals,
            block_sectors,
            align_sectors,
            read_share: check.share("read_share", &self.read_share)?,
            zipf_theta,
            range_sectors,
            requests: self.requests.value,
        })
    }
}

impl ProfileTable {
    fn check(&self, text: Text<'_>) -> Result<Profile, WorkloadError> {
        if self.flows.is_empty() {
            return Err(text.fault(&["profile"], "flows", "has no flow; expected at least one"));
        }
        let flow = |(name, flow): (&String, &FlowTable)| flow.check(Check { text, section: &["profile", "flows", name] });
        Ok(Profile { flows: self.flows.iter().map(flow).collect::<Result<_, _>>()? })
    }
}

impl FlowTable {
    fn check(&self, check: Check<'_>) -> Result<FlowProfile, WorkloadError> {
        // Beyond this rate, a second's work no longer fits the integers in which it is counted.
        const RATE_MAX: f64 = 1e6;
        let sizes = |key: &str, sizes: &Sourced<Vec<(u32, f64)>>| {
            let faulty = sizes.value.iter().any(|(sectors, weight)| *sectors == 0 || !weight.is_finite() || *weight < 0.0);
            if faulty || sizes.value.iter().all(|(_, weight)| *weight == 0.0) {
                return Err(check.fault(key, "needs pairs of sectors and weight, all above 0"));
            }
            Ok(sizes.value.clone())
        };
        let mut regions = Vec::new();
        for &(first_gib, end_gib, weight) in &self.regions_gib.value {
            const GIB_PAGES: f64 = 262_144.0;
            let sound = (0.0..end_gib).contains(&first_gib) && end_gib <= 1e9 && weight.is_finite() && weight >= 0.0;
            let first = (first_gib * GIB_PAGES) as u64;
            let pages = ((end_gib - first_gib) * GIB_PAGES) as u64;
            if !sound || pages == 0 {
                return Err(check.fault(
                    "regions_gib",
                    format_args!("has [{first_gib}, {end_gib}, {weight}]; expected [first GiB, end GiB, weight], end above first"),
                ));
            }
            regions.push((first, pages, weight));
        }
        if regions.iter().all(|(_, _, weight)| *weight == 0.0) {
            return Err(check.fault("regions_gib", "needs at least one region with a weight above 0"));
        }
        let pause_ms = self.pause_ms.value;
        if !(0.0..=1e9).contains(&pause_ms) {
            return Err(check.fault("pause_ms", format_args!("is {pause_ms}; expected 0 to 1e9 ms")));
        }
        let flow = FlowProfile {
            kind: match self.kind.value {
                FlowKind::Read => CommandKind::Read,
                FlowKind::Write => CommandKind::Write,
            },
            start_s: self.start_s.as_ref().map_or(0, |start| start.value),
            period_s: self.period_s.value,
            rates_per_s: self.rates_per_s.value.clone(),
            jitter_share: check.share("jitter_share", &self.jitter_share)?,
            pause_share: check.share("pause_share", &self.pause_share)?,
            pause_ns: pause_ms * 1e6,
            sequential_share: check.share("sequential_share", &self.sequential_share)?,
            interleave_share: check.share("interleave_share", &self.interleave_share)?,
            revisit_share: check.share("revisit_share", &self.revisit_share)?,
            start_sizes: sizes("start_sizes_sectors", &self.start_sizes_sectors)?,
            continuation_sizes: sizes("continuation_sizes_sectors", &self.continuation_sizes_sectors)?,
            regions,
        };
        let duration_s = flow.period_s.saturating_mul(flow.rates_per_s.len() as u64);
        if duration_s == 0 || flow.start_s.saturating_add(duration_s) > TIME_MAX / SECOND {
            return Err(check.fault(
                "rates_per_s",
                format_args!("times `period_s` makes {duration_s} s; expected 1 s or more, and an end before {} s", TIME_MAX / SECOND),
            ));
        }
        for rate in &flow.rates_per_s {
            if !(0.0..=RATE_MAX).contains(rate) {
                return Err(check.fault("rates_per_s", format_args!("has {rate}; expected 0 to {RATE_MAX} per second")));
            }
            if flow.rate_between_pauses(*rate).is_none_or(|between| between > 10.0 * RATE_MAX) {
                return Err(check.fault(
                    "pause_share",
                    format_args!("times `pause_ms` leaves no time for {rate} requests per second between the pauses"),
                ));
            }
        }
        let largest = flow.start_sizes.iter().chain(&flow.continuation_sizes).map(|(sectors, _)| *sectors).max();
        if flow.end_sector() < u64::from(largest.unwrap_or(0)) {
            return Err(check.fault("regions_gib", "end before the largest request would"));
        }
        Ok(flow)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Sourced<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SourcedVisitor(PhantomData))
    }
}

/// Passes a plain value on, and takes a table apart.
struct SourcedVisitor<T>(PhantomData<T>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "T: Deserialize<'de>")]
struct ValueAndSource<T> {
    value: T,
    #[serde(default, rename = "source")]
    _source: String,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for SourcedVisitor<T> {
    type Value = Sourced<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or { value = ..., source = \"...\" }")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|value| Sourced { value })
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|value| Sourced { value })
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|value| Sourced { value })
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|value| Sourced { value })
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|value| Sourced { value })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<Self::Value, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(values)).map(|value| Sourced { value })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let parts = ValueAndSource::deserialize(MapAccessDeserializer::new(map)).map_err(A::Error::custom)?;
        Ok(Sourced { value: parts.value })
    }
}

impl<T: JsonSchema> JsonSchema for Sourced<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Sourced_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [
                value,
                {
                    "type": "object",
                    "properties": {
                        "value": value,
                        "source": { "type": "string", "description": "Where the value comes from." }
                    },
                    "required": ["value"],
                    "additionalProperties": false
                }
            ]
        })
    }
}
