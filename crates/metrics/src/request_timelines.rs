//! The timelines of the slowest requests, and every GC, kept while a drive runs and written to Parquet files at its end:
//! `traced.parquet` has the requests whose timelines are kept, `segments.parquet` the segments of these, `gcs.parquet` the GCs.

use crate::log::Log;
use crate::slowest::Rank;
use crate::table::{Column, write_table};
use crate::timeline::Timeline;
use crate::{Measures, Metrics};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::path::Path;
use tinytail_core::commands::CommandKind;
use tinytail_core::device::Device;
use tinytail_core::ids::PlaneIx;
use tinytail_core::observe::{Completion, Observer, PART_NAMES, RequestAttribution};
use tinytail_core::policy::view::View;
use tinytail_core::request_timeline::{GcRecord, NOBODY, Run, Segment, TraceBuilder, Use};
use tinytail_core::units::Ns;

/// Which requests' timelines are kept.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// So many of the slowest reads, and as many of the slowest writes.
    pub slowest: usize,
    /// Requests by their number.
    pub requests: HashSet<u64>,
}

/// What became of the request timelines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RequestTimelines")]
pub struct RequestTimelinesNote {
    /// The folder, as given.
    pub path: String,
    /// Requests whose timelines are there; 0 if they were not written.
    pub requests: u64,
    /// GCs that are there.
    pub gcs: u64,
    /// Why there are no files; `None` if there are.
    pub error: Option<String>,
}

/// A request with its timeline.
#[derive(Debug, Clone)]
struct RequestTimeline {
    completion: Completion,
    segments: Box<[Segment]>,
}

/// Measures, and keeps request timelines and a Perfetto timeline from the measured part's beginning on, whichever of them is
/// wanted.
#[derive(Debug)]
pub struct TracingMetrics {
    metrics: Metrics,
    builder: TraceBuilder,
    /// `None` if no request timelines are kept.
    wanted: Option<Wanted>,
    timeline: Option<Timeline>,
    measuring: bool,
    first_id: u64,
    start_ns: Ns,
    /// The slowest reads and writes, the fastest of them first.
    slowest: [BinaryHeap<Reverse<Rank>>; 2],
    request_timelines: HashMap<u64, RequestTimeline>,
    gcs: Vec<GcRecord>,
}

impl TracingMetrics {
    /// For a drive on a device, before it has run anything.
    pub fn new(device: &Device, wanted: Option<Wanted>, timeline: Option<Timeline>) -> Self {
        Self {
            metrics: Metrics::default(),
            builder: TraceBuilder::new(device),
            wanted,
            timeline,
            measuring: false,
            first_id: 0,
            start_ns: 0,
            slowest: [BinaryHeap::new(), BinaryHeap::new()],
            request_timelines: HashMap::new(),
            gcs: Vec::new(),
        }
    }

    /// Keeps the timeline of a request that completes, if it is wanted so far.
    #[inline]
    fn consider(&mut self, completion: &Completion, attribution: RequestAttribution<'_>) {
        let id = completion.id - self.first_id;
        let Some(wanted) = &self.wanted else { return };
        let asked_for = !wanted.requests.is_empty() && wanted.requests.contains(&id);
        let slowest = match completion.kind {
            CommandKind::Read => &mut self.slowest[0],
            CommandKind::Write => &mut self.slowest[1],
            CommandKind::Trim => return,
        };
        let latency = completion.completed - completion.arrived;
        let full = slowest.len() == wanted.slowest;
        let rank = (latency, Reverse(id));
        let slow = wanted.slowest > 0 && (!full || slowest.peek().is_some_and(|Reverse(least)| rank > *least));
        if slow {
            slowest.push(Reverse(rank));
            if full
                && let Some(Reverse((_, Reverse(dropped)))) = slowest.pop()
                && !wanted.requests.contains(&dropped)
            {
                self.request_timelines.remove(&dropped);
            }
        }
        if slow || asked_for {
            let segments = self.builder.timeline(completion, attribution).into();
            self.request_timelines.insert(id, RequestTimeline { completion: *completion, segments });
        }
    }

    /// Writes the three files to a folder. `about`: pairs of key and value for them.
    pub fn write(&self, folder: &str, about: &[(String, String)]) -> RequestTimelinesNote {
        let mut ids: Vec<u64> = self.request_timelines.keys().copied().collect();
        ids.sort_unstable();
        let written = self.write_requests(folder, &ids, about).and_then(|()| self.write_segments(folder, &ids, about));
        let written = written.and_then(|()| self.write_gcs(folder, about));
        match written {
            Ok(()) => RequestTimelinesNote {
                path: folder.into(),
                requests: self.request_timelines.len() as u64,
                gcs: self.gcs.len() as u64,
                error: None,
            },
            Err(why) => {
                let error = format!("cannot write the request timelines to {folder}: {why}");
                RequestTimelinesNote { path: folder.into(), requests: 0, gcs: 0, error: Some(error) }
            }
        }
    }

    fn write_requests(&self, folder: &str, ids: &[u64], about: &[(String, String)]) -> Result<(), String> {
        let requests = || ids.iter().map(|id| &self.request_timelines[id].completion);
        let column = |of: fn(&Completion) -> i64| Column::Numbers(requests().map(of).collect());
        let kind = |completion: &Completion| if completion.kind == CommandKind::Read { "read" } else { "write" };
        let columns = [
            ("id", Column::Numbers(ids.iter().map(|&id| id as i64).collect())),
            ("kind", Column::Words(requests().map(kind).collect())),
            ("sector", column(|request| request.sector as i64)),
            ("sectors", column(|request| request.sectors.into())),
            ("asked_ns", Column::Numbers(requests().map(|request| self.since_start(request.asked)).collect())),
            ("arrived_ns", Column::Numbers(requests().map(|request| self.since_start(request.arrived)).collect())),
            ("completed_ns", Column::Numbers(requests().map(|request| self.since_start(request.completed)).collect())),
            ("latency_ns", column(|request| (request.completed - request.arrived) as i64)),
            ("host_queue_ns", column(|request| request.host_queue_ns as i64)),
            ("gc_blocked", column(|request| request.gc_blocked.into())),
            ("queue_blocked", column(|request| request.queue_blocked().into())),
            ("reconstructed", column(|request| request.reconstructed.into())),
            ("gc_waits", column(|request| request.gc_waits.into())),
            ("gc_waits_forced", column(|request| request.gc_waits_forced.into())),
        ];
        write_table(&Path::new(folder).join("traced.parquet"), "request", &columns, about)
    }

    fn write_segments(&self, folder: &str, ids: &[u64], about: &[(String, String)]) -> Result<(), String> {
        let segments = || ids.iter().flat_map(|id| self.request_timelines[id].segments.iter().map(move |segment| (*id, segment)));
        let column = |of: fn(&Segment) -> i64| segments().map(|(_, segment)| of(segment)).collect();
        let time = |of: fn(&Segment) -> Ns| segments().map(|(_, segment)| self.since_start(of(segment))).collect();
        let request = |of: fn(&Segment) -> u64| segments().map(|(_, segment)| self.number(of(segment))).collect();
        let columns = [
            ("id", Column::Numbers(segments().map(|(id, _)| id as i64).collect())),
            ("from_ns", Column::Numbers(time(|segment| segment.from))),
            ("to_ns", Column::Numbers(time(|segment| segment.to))),
            ("cause", Column::Words(segments().map(|(_, segment)| PART_NAMES[segment.part as usize]).collect())),
            ("plane", Column::Numbers(column(|segment| place(segment.plane)))),
            ("by_plane", Column::Numbers(column(|segment| place(segment.by_plane)))),
            ("by_gc", Column::Numbers(column(|segment| somebody(segment.gc)))),
            ("by_page", Column::Numbers(column(|segment| place(segment.page)))),
            ("by_request", Column::Numbers(request(|segment| segment.request))),
        ];
        write_table(&Path::new(folder).join("segments.parquet"), "segment", &columns, about)
    }

    fn write_gcs(&self, folder: &str, about: &[(String, String)]) -> Result<(), String> {
        let column = |of: fn(&GcRecord) -> i64| Column::Numbers(self.gcs.iter().map(of).collect());
        let time = |of: fn(&GcRecord) -> Ns| Column::Numbers(self.gcs.iter().map(|gc| self.since_start(of(gc))).collect());
        let columns = [
            ("gc", column(|gc| gc.number as i64)),
            ("plane", column(|gc| gc.plane.into())),
            ("block", column(|gc| gc.block.into())),
            ("moved_pages", column(|gc| gc.moved.into())),
            ("started_ns", time(|gc| gc.started)),
            ("locked_ns", time(|gc| gc.locked)),
            ("moved_ns", time(|gc| gc.moved_at)),
            ("ended_ns", time(|gc| gc.ended)),
        ];
        write_table(&Path::new(folder).join("gcs.parquet"), "gc", &columns, about)
    }

    /// A time of the measured part; negative before it.
    fn since_start(&self, at: Ns) -> i64 {
        at as i64 - self.start_ns as i64
    }

    /// The number of another request in the measured part; -1 for none, and for one of before.
    fn number(&self, id: u64) -> i64 {
        if id == NOBODY { -1 } else { id.checked_sub(self.first_id).map_or(-1, |id| id as i64) }
    }
}

/// -1 in place of the number that means none.
fn place(number: u32) -> i64 {
    if number == u32::MAX { -1 } else { number.into() }
}

fn somebody(number: u64) -> i64 {
    if number == NOBODY { -1 } else { number as i64 }
}

impl Measures for TracingMetrics {
    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn metrics_mut(&mut self) -> &mut Metrics {
        &mut self.metrics
    }

    fn begin(&mut self, start_ns: Ns, first_id: u64, windows: u32, log: Option<Log>) {
        self.metrics.begin(start_ns, first_id, windows, log);
        (self.measuring, self.first_id, self.start_ns) = (true, first_id, start_ns);
        if let Some(timeline) = &mut self.timeline {
            timeline.begin(start_ns, first_id);
        }
    }

    fn take_timeline(&mut self) -> Option<Timeline> {
        self.timeline.take()
    }

    fn request_timelines(&self) -> Option<&TracingMetrics> {
        Some(self)
    }
}

impl Observer for TracingMetrics {
    const TRACED: bool = true;

    #[inline]
    fn completed(&mut self, completion: &Completion, attribution: RequestAttribution<'_>) {
        self.metrics.completed(completion, attribution);
        if self.measuring {
            self.consider(completion, attribution);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.completed(completion, attribution, &mut self.builder);
        }
        self.builder.completed(completion.id);
    }

    #[inline]
    fn wants_look(&self, now: Ns) -> bool {
        self.metrics.wants_look(now) || self.timeline.as_ref().is_some_and(|timeline| timeline.wants_look(now))
    }

    fn look(&mut self, view: View<'_>) {
        // What one of them wants must not change what the other sees.
        if self.metrics.wants_look(view.now()) {
            self.metrics.look(view);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.look(view);
        }
    }

    fn accepted(&mut self, id: u64, at: Ns) {
        self.builder.accepted(id, at);
    }

    fn die_ran(&mut self, run: &Run) {
        self.builder.die_ran(run);
        if let Some(timeline) = &mut self.timeline {
            timeline.die_ran(run);
        }
    }

    fn channel_used(&mut self, used: &Use) {
        self.builder.channel_used(used);
        if let Some(timeline) = &mut self.timeline {
            timeline.channel_used(used);
        }
    }

    fn channel_idles(&mut self, channel: u32, at: Ns, category: usize, gc: u64) {
        self.builder.channel_idles(channel, at, category, gc);
        if let Some(timeline) = &mut self.timeline {
            timeline.channel_idles(channel, at, gc);
        }
    }

    fn plane_locked(&mut self, plane: PlaneIx, at: Ns, gc: u64) {
        self.builder.plane_locked(plane, at, gc);
    }

    fn gc_ended(&mut self, gc: &GcRecord) {
        if self.measuring && self.wanted.is_some() {
            self.gcs.push(*gc);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.gc_ended(gc);
        }
    }
}
