//! Writes slices, counters and flows as packets of a trace.

use super::schema::{
    COUNTER, CounterDescriptor, DebugAnnotation, EXPLICIT, INSTANT, Interned, InternedData, NEEDS_STATE, ProcessDescriptor, SLICE_BEGIN,
    SLICE_END, STATE_CLEARED, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use super::{Entry, Erased, Frame, Lock, Slow};
use crate::log::file::{Unfinished, reason};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use prost::Message;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write;
use tinytail_core::device::Geometry;
use tinytail_core::ids::{NONE, PlaneIx};
use tinytail_core::observe::{DIE, PART_NAMES, TRAFFIC_CLASSES, TrafficClass};
use tinytail_core::request_timeline::{GcRecord, NOBODY, Run, Segment, Use};
use tinytail_core::units::Ns;

/// The only sequence of packets.
const SEQUENCE: u32 = 1;
/// Packets that are compressed together: some 150 KB, a third of what Perfetto's own writers keep below.
const CHUNK: usize = 4096;

/// Numbers of tracks. 0 is Perfetto's own.
#[derive(Debug)]
struct Tracks {
    channels: u64,
    planes: u64,
}

impl Tracks {
    const DRIVE: u64 = 1;
    const RECORDED: u64 = 2;
    const FEWEST: u64 = 3;
    const MEAN: u64 = 4;
    const FIRST: u64 = 5;

    fn process(&self, channel: u32) -> u64 {
        Self::FIRST + u64::from(channel)
    }

    fn uses(&self, channel: u32) -> u64 {
        Self::FIRST + self.channels + u64::from(channel)
    }

    fn locks(&self, channel: u32) -> u64 {
        Self::FIRST + 2 * self.channels + u64::from(channel)
    }

    fn plane(&self, plane: PlaneIx) -> u64 {
        Self::FIRST + 3 * self.channels + u64::from(plane)
    }

    fn gc(&self, plane: PlaneIx) -> u64 {
        Self::FIRST + 3 * self.channels + self.planes + u64::from(plane)
    }

    fn slow(&self, lane: usize) -> u64 {
        Self::FIRST + 3 * self.channels + 2 * self.planes + lane as u64
    }
}

/// Names that have numbers.
#[derive(Debug, Default)]
struct Names {
    known: HashMap<String, u64>,
    /// Those that the file does not have yet.
    new: Vec<Interned>,
}

impl Names {
    fn number(&mut self, name: &str) -> u64 {
        if let Some(&number) = self.known.get(name) {
            return number;
        }
        let number = self.known.len() as u64 + 1;
        self.known.insert(name.into(), number);
        self.new.push(Interned { iid: Some(number), name: Some(name.into()) });
        number
    }
}

/// An argument of a slice.
type Arg = (&'static str, Value);

/// Its value.
#[derive(Debug, Clone, Copy)]
enum Value {
    Number(i64),
    Truth(bool),
}

/// A slice that is to begin.
struct Slice<'a> {
    track: u64,
    category: &'static str,
    name: &'a str,
    args: &'a [Arg],
    flows: Vec<u64>,
    ending_flows: Vec<u64>,
}

impl<'a> Slice<'a> {
    fn new(track: u64, category: &'static str, name: &'a str, args: &'a [Arg]) -> Self {
        Self { track, category, name, args, flows: Vec::new(), ending_flows: Vec::new() }
    }
}

/// The file, and what of it is still to be compressed.
#[derive(Debug)]
pub(super) struct Pen {
    file: Unfinished,
    out: File,
    tracks: Tracks,
    chunk: Trace,
    raw: Vec<u8>,
    begun: bool,
    events: Names,
    categories: Names,
    args: Names,
    slices: u64,
}

impl Pen {
    /// Writes to a file, whose tracks are those of a drive.
    pub(super) fn new(file: Unfinished, out: File, geometry: &Geometry) -> Self {
        let tracks = Tracks { channels: geometry.channels.into(), planes: geometry.planes().into() };
        let mut pen = Self {
            file,
            out,
            tracks,
            chunk: Trace::default(),
            raw: Vec::new(),
            begun: false,
            events: Names::default(),
            categories: Names::default(),
            args: Names::default(),
            slices: 0,
        };
        pen.describe(geometry);
        pen
    }

    /// Writes what the tracks are.
    fn describe(&mut self, geometry: &Geometry) {
        self.describe_process(Tracks::DRIVE, 0, "drive");
        self.describe_track(Tracks::RECORDED, Tracks::DRIVE, 0, "recorded");
        for (track, rank, name) in
            [(Tracks::FEWEST, 2, "erased pages, fewest of a plane"), (Tracks::MEAN, 3, "erased pages, mean of planes")]
        {
            let counter = Some(CounterDescriptor { unit_name: Some("pages".into()) });
            let track = TrackDescriptor { counter, ..track_descriptor(track, Tracks::DRIVE, rank, name) };
            self.put_descriptor(track);
        }
        let planes_of = geometry.planes() / geometry.channels;
        for channel in 0..geometry.channels {
            let process = self.tracks.process(channel);
            self.describe_process(process, channel as i32 + 1, &format!("channel {channel}"));
            self.describe_track(self.tracks.uses(channel), process, 0, &format!("channel {channel}"));
            self.describe_track(self.tracks.locks(channel), process, 1, &format!("channel {channel} locked"));
            for (index, plane) in (channel * planes_of..(channel + 1) * planes_of).enumerate() {
                let rank = 2 + 2 * index as i32;
                self.describe_track(self.tracks.plane(plane), process, rank, &format!("plane {plane}"));
                self.describe_track(self.tracks.gc(plane), process, rank + 1, &format!("plane {plane} GC"));
            }
        }
    }

    fn describe_process(&mut self, track: u64, rank: i32, name: &str) {
        // 0 is the number of a process that the operating system keeps for itself.
        let process = ProcessDescriptor { pid: Some(rank + 1), legacy_sort_index: Some(rank), process_name: Some(name.into()) };
        self.put_descriptor(TrackDescriptor {
            uuid: Some(track),
            process: Some(process),
            child_ordering: Some(EXPLICIT),
            ..TrackDescriptor::default()
        });
    }

    fn describe_track(&mut self, track: u64, parent: u64, rank: i32, name: &str) {
        self.put_descriptor(track_descriptor(track, parent, rank, name));
    }

    fn put_descriptor(&mut self, track: TrackDescriptor) {
        self.put(TracePacket { track_descriptor: Some(track), ..TracePacket::default() });
    }

    /// Writes what was handed over at once.
    pub(super) fn write(&mut self, frame: Frame, entry: Entry) -> Result<(), String> {
        match entry {
            Entry::Ran(run) => self.write_run(frame, &run),
            Entry::Used(used) => self.write_use(frame, &used),
            Entry::Locked(lock) => self.write_lock(frame, &lock),
            Entry::Erased(at, erased) => self.write_erased(frame, at, erased),
        }
        if self.chunk.packet.len() >= CHUNK { self.compress() } else { Ok(()) }
    }

    fn write_run(&mut self, frame: Frame, run: &Run) {
        let mut args = Vec::new();
        if run.lpn != NONE {
            args.push(("lpn", Value::Number(run.lpn.into())));
        }
        args.extend(request_number("request", run.request, frame));
        if run.gc != NOBODY {
            args.push(("gc", Value::Number(run.gc as i64)));
        }
        if run.page != NONE {
            args.push(("page", Value::Number(run.page.into())));
        }
        let name = run_name(run);
        let slice = Slice::new(self.tracks.plane(run.plane), "die", &name, &args);
        self.slice(frame, (run.from, run.to), slice);
    }

    fn write_use(&mut self, frame: Frame, used: &Use) {
        let args = [("plane", Value::Number(used.plane.into()))];
        let slice = Slice::new(self.tracks.uses(used.channel), "channel", traffic_name(used.traffic), &args);
        self.slice(frame, (used.from, used.to), slice);
    }

    fn write_lock(&mut self, frame: Frame, lock: &Lock) {
        let args = [("gc", Value::Number(lock.gc as i64))];
        let name = format!("locked by GC {}", lock.gc);
        self.slice(frame, (lock.from, lock.to), Slice::new(self.tracks.locks(lock.channel), "lock", &name, &args));
    }

    fn write_erased(&mut self, frame: Frame, at: Ns, erased: Erased) {
        let counter = |track| TrackEvent { r#type: Some(COUNTER), track_uuid: Some(track), ..TrackEvent::default() };
        let fewest = TrackEvent { counter_value: Some(erased.fewest.into()), ..counter(Tracks::FEWEST) };
        let mean = TrackEvent { double_counter_value: Some(erased.mean), ..counter(Tracks::MEAN) };
        self.event(frame, at, fewest);
        self.event(frame, at, mean);
    }

    /// Writes what is known at the end: GCs, the slowest reads, who waited for whom, and what was recorded.
    pub(super) fn write_end(&mut self, frame: Frame, gcs: &[GcRecord], slow: &[Slow], about: &[(String, String)]) -> Result<(), String> {
        let ended: HashMap<u64, usize> = gcs.iter().enumerate().map(|(index, gc)| (gc.number, index)).collect();
        // A flow leads from a GC to the first segment of each read that waited for it.
        let mut flows = vec![Vec::new(); gcs.len()];
        let mut behind_gcs: Vec<HashMap<Ns, u64>> = Vec::new();
        let mut next = 1;
        for slow in slow {
            let mut seen = HashSet::new();
            let mut behind = HashMap::new();
            for segment in slow.segments.iter().filter(|segment| frame.overlaps(segment.from, segment.to)) {
                if let Some(&gc) = ended.get(&segment.gc)
                    && seen.insert(gc)
                {
                    flows[gc].push(next);
                    behind.insert(segment.from, next);
                    next += 1;
                }
            }
            behind_gcs.push(behind);
        }
        for (gc, flows) in gcs.iter().zip(flows) {
            self.write_gc(frame, gc, flows);
            if self.chunk.packet.len() >= CHUNK {
                self.compress()?;
            }
        }
        let mut lanes: Vec<Ns> = Vec::new();
        for (slow, behind) in slow.iter().zip(&behind_gcs) {
            let free = lanes.iter().position(|&end| end <= slow.completion.arrived);
            let lane = free.unwrap_or(lanes.len());
            if lane == lanes.len() {
                lanes.push(0);
                // Tracks of one name and parent are shown as one.
                self.describe_track(self.tracks.slow(lane), Tracks::DRIVE, 1, "slow reads");
            }
            lanes[lane] = slow.completion.completed;
            self.write_slow(frame, slow, lane, behind);
            if self.chunk.packet.len() >= CHUNK {
                self.compress()?;
            }
        }
        self.write_about(frame, about);
        self.compress()
    }

    fn write_gc(&mut self, frame: Frame, gc: &GcRecord, flows: Vec<u64>) {
        let args = [
            ("gc", Value::Number(gc.number as i64)),
            ("plane", Value::Number(gc.plane.into())),
            ("victim_block", Value::Number(gc.block.into())),
            ("moved_pages", Value::Number(gc.moved.into())),
        ];
        let track = self.tracks.gc(gc.plane);
        let name = format!("GC {}", gc.number);
        let whole = (gc.started, gc.ended);
        if self.begin(frame, whole, Slice { flows, ..Slice::new(track, "gc", &name, &args) }) {
            for (name, from, to) in
                [("waiting", gc.started, gc.locked), ("moving", gc.locked, gc.moved_at), ("erasing", gc.moved_at, gc.ended)]
            {
                self.slice(frame, (from, to), Slice::new(track, "gc_phase", name, &[]));
            }
            self.end(frame, gc.ended, track);
        }
    }

    /// `behind`: of the segments that flows from GCs lead to, their beginnings, and the flows.
    fn write_slow(&mut self, frame: Frame, slow: &Slow, lane: usize, behind: &HashMap<Ns, u64>) {
        let request = &slow.completion;
        let id = request.id - frame.first_id;
        let args = [
            ("request", Value::Number(id as i64)),
            ("sector", Value::Number(request.sector as i64)),
            ("sectors", Value::Number(request.sectors.into())),
            ("latency_ns", Value::Number((request.completed - request.arrived) as i64)),
            ("gc_blocked", Value::Truth(request.gc_blocked)),
            ("queue_blocked", Value::Truth(request.queue_blocked())),
        ];
        let track = self.tracks.slow(lane);
        let name = format!("read {id}");
        if !self.begin(frame, (request.arrived, request.completed), Slice::new(track, "read", &name, &args)) {
            return;
        }
        let delays_it = format!("delays read {id}");
        let mut delays = 0;
        for segment in slow.segments.iter().filter(|segment| frame.overlaps(segment.from, segment.to)) {
            let mut ending_flows = Vec::new();
            if let Some(&flow) = behind.get(&segment.from) {
                ending_flows.push(flow);
            } else if segment.gc == NOBODY && waited_for_die(segment) {
                // Flows from dies have numbers of their own. A flow must begin before it ends, in the file as well.
                let flow = 1 << 63 | id << 20 | delays;
                ending_flows.push(flow);
                delays += 1;
                let event = TrackEvent {
                    r#type: Some(INSTANT),
                    track_uuid: Some(self.tracks.plane(segment.by_plane)),
                    name_iid: Some(self.events.number(&delays_it)),
                    category_iids: vec![self.categories.number("delay")],
                    flow_ids: vec![flow],
                    ..TrackEvent::default()
                };
                self.event(frame, segment.from.max(frame.from), event);
            }
            let in_host = segment.to <= request.arrived + request.host_queue_ns;
            let args = segment_args(segment, in_host, frame);
            let slice = Slice { ending_flows, ..Slice::new(track, "segment", PART_NAMES[usize::from(segment.part)], &args) };
            self.slice(frame, (segment.from, segment.to), slice);
        }
        self.end(frame, request.completed, track);
    }

    /// A slice over all that was recorded, which says of which run it is.
    fn write_about(&mut self, frame: Frame, about: &[(String, String)]) {
        if frame.to <= frame.from {
            return;
        }
        let argument = |(key, value): &(String, String)| DebugAnnotation {
            // Perfetto knows no dots within a name.
            name_iid: Some(self.args.number(key.trim_start_matches("tinytail."))),
            string_value: Some(value.clone()),
            ..DebugAnnotation::default()
        };
        let debug_annotations = about.iter().map(argument).collect();
        let event = TrackEvent {
            r#type: Some(SLICE_BEGIN),
            track_uuid: Some(Tracks::RECORDED),
            name_iid: Some(self.events.number("recorded")),
            category_iids: vec![self.categories.number("run")],
            debug_annotations,
            ..TrackEvent::default()
        };
        self.slices += 1;
        self.event(frame, frame.from, event);
        self.end(frame, frame.to, Tracks::RECORDED);
    }

    /// Writes a slice, or what of it lies in the frame.
    fn slice(&mut self, frame: Frame, span: (Ns, Ns), slice: Slice<'_>) {
        let track = slice.track;
        if self.begin(frame, span, slice) {
            self.end(frame, span.1, track);
        }
    }

    /// Begins a slice, unless nothing of it lies in the frame.
    fn begin(&mut self, frame: Frame, (from, to): (Ns, Ns), slice: Slice<'_>) -> bool {
        if to <= from || !frame.overlaps(from, to) {
            return false;
        }
        let mut debug_annotations: Vec<DebugAnnotation> = slice.args.iter().map(|&(name, value)| self.argument(name, value)).collect();
        if from < frame.from {
            debug_annotations.push(self.argument("begins_earlier_ns", Value::Number((frame.from - from) as i64)));
        }
        if to > frame.to {
            debug_annotations.push(self.argument("ends_later_ns", Value::Number((to - frame.to) as i64)));
        }
        let event = TrackEvent {
            r#type: Some(SLICE_BEGIN),
            track_uuid: Some(slice.track),
            name_iid: Some(self.events.number(slice.name)),
            category_iids: vec![self.categories.number(slice.category)],
            debug_annotations,
            flow_ids: slice.flows,
            terminating_flow_ids: slice.ending_flows,
            ..TrackEvent::default()
        };
        self.slices += 1;
        self.event(frame, from.max(frame.from), event);
        true
    }

    fn argument(&mut self, name: &str, value: Value) -> DebugAnnotation {
        let mut argument = DebugAnnotation { name_iid: Some(self.args.number(name)), ..DebugAnnotation::default() };
        match value {
            Value::Number(number) => argument.int_value = Some(number),
            Value::Truth(truth) => argument.bool_value = Some(truth),
        }
        argument
    }

    /// Ends the slice that began last on a track.
    fn end(&mut self, frame: Frame, to: Ns, track: u64) {
        let event = TrackEvent { r#type: Some(SLICE_END), track_uuid: Some(track), ..TrackEvent::default() };
        self.event(frame, to.min(frame.to), event);
    }

    /// Writes an event, with the names that it is the first to have.
    fn event(&mut self, frame: Frame, at: Ns, event: TrackEvent) {
        let mut interned = None;
        if !(self.events.new.is_empty() && self.categories.new.is_empty() && self.args.new.is_empty()) {
            interned = Some(InternedData {
                event_categories: std::mem::take(&mut self.categories.new),
                event_names: std::mem::take(&mut self.events.new),
                debug_annotation_names: std::mem::take(&mut self.args.new),
            });
        }
        let timestamp = Some(at - frame.start_ns);
        self.put(TracePacket { timestamp, track_event: Some(event), interned_data: interned, ..TracePacket::default() });
    }

    fn put(&mut self, mut packet: TracePacket) {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        packet.sequence_flags = Some(if std::mem::replace(&mut self.begun, true) { NEEDS_STATE } else { STATE_CLEARED });
        self.chunk.packet.push(packet);
    }

    /// Writes the packets that there are to the file.
    fn compress(&mut self) -> Result<(), String> {
        self.raw.clear();
        self.chunk.encode(&mut self.raw).expect("a vector grows");
        self.chunk.packet.clear();
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        let compressed = encoder.write_all(&self.raw).and_then(|()| encoder.finish()).map_err(|error| reason(&error))?;
        let packet = TracePacket { compressed_packets: Some(compressed), ..TracePacket::default() };
        self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec()).map_err(|error| reason(&error))
    }

    /// Gives the file its name. Returns the slices and bytes in it.
    pub(super) fn finish(self) -> Result<(u64, u64), String> {
        let bytes = self.out.metadata().map(|there| there.len());
        let finished = bytes.and_then(|bytes| self.file.finish().map(|()| bytes));
        finished.map(|bytes| (self.slices, bytes)).map_err(|error| reason(&error))
    }
}

fn track_descriptor(track: u64, parent: u64, rank: i32, name: &str) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(track),
        parent_uuid: Some(parent),
        name: Some(name.into()),
        sibling_order_rank: Some(rank),
        ..TrackDescriptor::default()
    }
}

/// The number of a request in the measured part, if it is of that.
fn request_number(name: &'static str, id: u64, frame: Frame) -> Option<Arg> {
    let number = if id == NOBODY { None } else { id.checked_sub(frame.first_id) };
    number.map(|number| (name, Value::Number(number as i64)))
}

/// `in_host`: the request waited there for a slot of the device.
fn segment_args(segment: &Segment, in_host: bool, frame: Frame) -> Vec<Arg> {
    let mut args = Vec::new();
    if in_host {
        args.push(("in_host", Value::Truth(true)));
    }
    for (name, number) in [("plane", segment.plane), ("by_plane", segment.by_plane), ("by_page", segment.page)] {
        if number != NONE {
            args.push((name, Value::Number(number.into())));
        }
    }
    if segment.gc != NOBODY {
        args.push(("by_gc", Value::Number(segment.gc as i64)));
    }
    args.extend(request_number("by_request", segment.request, frame));
    args
}

/// Whether a segment was a wait for what a die ran.
fn waited_for_die(segment: &Segment) -> bool {
    let part = usize::from(segment.part);
    segment.by_plane != NONE && (DIE..DIE + TRAFFIC_CLASSES).contains(&part) && part != DIE + TrafficClass::GcLock as usize
}

fn traffic_name(traffic: TrafficClass) -> &'static str {
    match traffic {
        TrafficClass::HostRead => "read",
        TrafficClass::HostProgram => "program",
        TrafficClass::Flush => "program (flush)",
        TrafficClass::ReadModifyWrite => "read (read-modify-write)",
        TrafficClass::Parity => "parity",
        TrafficClass::Reconstruction => "read (reconstruction)",
        TrafficClass::GcRead => "GC read",
        TrafficClass::GcProgram => "GC program",
        TrafficClass::Erase => "erase",
        TrafficClass::Background => "background",
        TrafficClass::GcLock => "locked by GC",
        TrafficClass::GcSuspend => "suspending GC",
        TrafficClass::FlushSuspend => "suspending a flush",
        TrafficClass::HostProgramSuspend | TrafficClass::Suspend => "suspending a program",
    }
}

fn run_name(run: &Run) -> String {
    let name = traffic_name(run.traffic);
    if run.page == NONE { name.into() } else { format!("{name} page {}", run.page) }
}
