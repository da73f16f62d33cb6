//! Test observer. Each observer type compiles the engine again, so all tests share this one.

use crate::design::Design;
use crate::device::Device;
use crate::drive::Drive;
use crate::ids::PlaneIx;
use crate::observe::{Attribution, Completion, DIE, Observer, PART_NAMES, PARTS, RequestAttribution, TrafficClass};
use crate::policy::view::View;
use crate::request_timeline::{Run, Segment, TraceBuilder, Use};
use crate::units::Ns;

/// Keeps every completion with its attribution. If it `traces`, also builds the timeline of each request and compares both.
pub struct Recorder {
    pub completed: Vec<(Completion, Attribution)>,
    /// True at the times at which it looks at the drive; never true by default.
    pub wants_look: fn(Ns) -> bool,
    /// The time of each look, and how many requests had completed before.
    pub looks: Vec<(Ns, usize)>,
    traces: bool,
    timelines: TraceBuilder,
}

impl Recorder {
    pub fn of(device: &Device) -> Self {
        Self { completed: Vec::new(), wants_look: |_| false, looks: Vec::new(), traces: true, timelines: TraceBuilder::new(device) }
    }
}

impl Observer for Recorder {
    const TRACED: bool = true;

    fn completed(&mut self, completion: &Completion, by_cause: RequestAttribution<'_>) {
        let attribution = by_cause.sum();
        assert_eq!(attribution.total(), completion.completed - completion.arrived, "attribution adds up: {attribution:?}");
        let for_gc = [TrafficClass::Erase, TrafficClass::GcLock].into_iter().any(|traffic| attribution.get(DIE + traffic as usize) > 0);
        let blocked = completion.gc_blocked || completion.queue_blocked();
        assert!(blocked || !for_gc, "it waited for a GC: {completion:?}: {attribution:?}");
        if self.traces {
            check_timeline(completion, &attribution, self.timelines.timeline(completion, by_cause));
            self.timelines.completed(completion.id);
        }
        self.completed.push((*completion, attribution.into_owned()));
    }

    fn wants_look(&self, now: Ns) -> bool {
        (self.wants_look)(now)
    }

    fn look(&mut self, view: View<'_>) {
        self.looks.push((view.now(), self.completed.len()));
    }

    fn accepted(&mut self, id: u64, at: Ns) {
        if self.traces {
            self.timelines.accepted(id, at);
        }
    }

    fn die_ran(&mut self, run: &Run) {
        assert!(run.from < run.to, "it takes time: {run:?}");
        if self.traces {
            self.timelines.die_ran(run);
        }
    }

    fn channel_used(&mut self, used: &Use) {
        if self.traces {
            self.timelines.channel_used(used);
        }
    }

    fn channel_idles(&mut self, channel: u32, at: Ns, category: usize, gc: u64) {
        if self.traces {
            self.timelines.channel_idles(channel, at, category, gc);
        }
    }

    fn plane_locked(&mut self, plane: PlaneIx, at: Ns, gc: u64) {
        if self.traces {
            self.timelines.plane_locked(plane, at, gc);
        }
    }
}

/// A request timeline goes from arrival to completion without a gap, and says of each part what the attribution says.
fn check_timeline(completion: &Completion, attribution: &Attribution, timeline: &[Segment]) {
    let mut covered = completion.arrived;
    let mut parts = [0; PARTS];
    for segment in timeline {
        assert_eq!(segment.from, covered, "a gap or an overlap in {completion:?}: {timeline:?}; {attribution:?}");
        covered = segment.to;
        parts[segment.part as usize] += segment.to - segment.from;
    }
    assert_eq!(covered, completion.completed, "the end of {completion:?}: {timeline:?}; {attribution:?}");
    for (part, ns) in parts.into_iter().enumerate() {
        assert_eq!(ns, attribution.get(part), "{} of {completion:?}: {timeline:?}; {attribution:?}", PART_NAMES[part]);
    }
}

/// A drive that this observer watches.
pub type TestDrive = Drive<Recorder>;

/// Return a drive that keeps completions and builds no timelines.
pub fn untraced(device: &Device, design: Design, verify: bool) -> TestDrive {
    Drive::new(device, design, verify, Recorder { traces: false, ..Recorder::of(device) }).unwrap()
}
