//! The past of a drive, as far back as a request in the device may have waited, and the request timelines that it explains.

use crate::device::Device;
use crate::ids::{NONE, PlaneIx};
use crate::observe::{CHANNEL, CHANNEL_IDLE, Completion, DIE, RequestAttribution, TrafficClass};
use crate::request_timeline::{NOBODY, Passage, Passing, Run, Segment, Use};
use crate::units::Ns;
use std::collections::VecDeque;

/// A request in the device.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    id: u64,
    accepted: Ns,
    done: bool,
}

/// What a resource counts as from a moment on, and the GC that has locked it.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: Ns,
    category: u8,
    gc: u64,
}

/// Where a request waits.
#[derive(Clone, Copy)]
enum At {
    Die,
    Channel,
}

/// Puts request timelines together from what a tracing observer is given.
#[derive(Debug)]
pub struct TraceBuilder {
    planes_per_die: u32,
    dies_per_channel: u32,
    in_flight: VecDeque<InFlight>,
    /// What each die has run, as waits for it would be: in order and without overlap, in no plane.
    runs: Vec<VecDeque<Segment>>,
    /// The same of what each channel has carried.
    uses: Vec<VecDeque<Segment>>,
    /// Of each channel, what it counts as while it carries nothing.
    idles: Vec<VecDeque<Change>>,
    /// Of each plane, who has locked it.
    locks: Vec<VecDeque<Change>>,
    trail: Vec<Passage>,
    timeline: Vec<Segment>,
}

impl TraceBuilder {
    /// For a drive on a device, before it has run anything.
    pub fn new(device: &Device) -> Self {
        let g = &device.geometry;
        let unlocked = VecDeque::from([Change { at: 0, category: CHANNEL_IDLE as u8, gc: NOBODY }]);
        Self {
            planes_per_die: g.planes_per_die,
            dies_per_channel: g.dies_per_channel(),
            in_flight: VecDeque::new(),
            runs: vec![VecDeque::new(); g.dies() as usize],
            uses: vec![VecDeque::new(); g.channels as usize],
            idles: vec![unlocked.clone(); g.channels as usize],
            locks: vec![unlocked; g.planes() as usize],
            trail: Vec::new(),
            timeline: Vec::new(),
        }
    }

    /// See `Observer::accepted`.
    pub fn accepted(&mut self, id: u64, accepted: Ns) {
        self.in_flight.push_back(InFlight { id, accepted, done: false });
    }

    /// See `Observer::die_ran`.
    pub fn die_ran(&mut self, run: &Run) {
        let &Run { from, to, die, plane, traffic, gc, page, request, .. } = run;
        let alone = Segment::alone(from, to, DIE + traffic as usize, NONE);
        let since = self.oldest(to);
        keep(&mut self.runs[die as usize], since, Segment { by_plane: plane, gc, page, request, ..alone });
    }

    /// See `Observer::channel_used`.
    pub fn channel_used(&mut self, used: &Use) {
        let &Use { from, to, channel, traffic, plane } = used;
        let alone = Segment::alone(from, to, CHANNEL + traffic as usize, NONE);
        let since = self.oldest(from);
        keep(&mut self.uses[channel as usize], since, Segment { by_plane: plane, ..alone });
    }

    /// See `Observer::channel_idles`.
    pub fn channel_idles(&mut self, channel: u32, at: Ns, category: usize, gc: u64) {
        let since = self.oldest(at);
        note(&mut self.idles[channel as usize], since, Change { at, category: category as u8, gc });
    }

    /// See `Observer::plane_locked`.
    pub fn plane_locked(&mut self, plane: PlaneIx, at: Ns, gc: u64) {
        let since = self.oldest(at);
        note(&mut self.locks[plane as usize], since, Change { at, category: 0, gc });
    }

    /// A request has completed, and its timeline will not be asked for any more.
    pub fn completed(&mut self, id: u64) {
        let Some(front) = self.in_flight.front() else { return };
        // Where commands are accepted in the order of their numbers, which is nearly always, its place is known.
        let place = id.wrapping_sub(front.id) as usize;
        let is_there = self.in_flight.get(place).is_some_and(|request| request.id == id);
        let place = if is_there { Some(place) } else { self.in_flight.iter().position(|request| request.id == id) };
        if let Some(place) = place {
            self.in_flight[place].done = true;
        }
        while self.in_flight.front().is_some_and(|request| request.done) {
            self.in_flight.pop_front();
        }
    }

    /// Since when the past matters.
    fn oldest(&self, now: Ns) -> Ns {
        self.in_flight.front().map_or(now, |request| request.accepted)
    }

    /// The timeline of a request that completes now: segments that follow one another from its arrival to its completion. Each
    /// part of its attribution is the sum of its segments.
    pub fn timeline(&mut self, completion: &Completion, attribution: RequestAttribution<'_>) -> &[Segment] {
        self.timeline.clear();
        let mut trail = std::mem::take(&mut self.trail);
        trail.clear();
        trail.extend_from_slice(attribution.trail());
        let is_rest = |passage: &Passage| matches!(passage.what, Passing::Remainder(_));
        trail.sort_by_key(|passage| if is_rest(passage) { Ns::MAX } else { passage.from });
        let (passages, leftovers) = trail.split_at(trail.partition_point(|passage| !is_rest(passage)));
        let mut covered = completion.arrived;
        for passage in passages {
            self.append_remainder(leftovers, covered, passage.from);
            self.append_passage(passage);
            covered = passage.to;
        }
        self.append_remainder(leftovers, covered, completion.completed);
        self.trail = trail;
        &self.timeline
    }

    /// What no other passage covers belongs to the innermost rest.
    fn append_remainder(&mut self, leftovers: &[Passage], mut from: Ns, end: Ns) {
        while from < end {
            // One of them may begin or end in between.
            let edges = leftovers.iter().flat_map(|rest| [rest.from, rest.to]);
            let to = edges.filter(|&edge| from < edge && edge < end).min().unwrap_or(end);
            let covering = leftovers.iter().filter(|rest| rest.from <= from && to <= rest.to);
            if let Some(&Passage { plane, what: Passing::Remainder(part), .. }) = covering.min_by_key(|rest| rest.to - rest.from) {
                self.append(Segment { by_plane: plane, ..Segment::alone(from, to, part.into(), plane) });
            }
            from = to;
        }
    }

    fn append_passage(&mut self, passage: &Passage) {
        let &Passage { from, to, plane, what } = passage;
        match what {
            Passing::Own(part) | Passing::Remainder(part) => {
                self.append(Segment::alone(from, to, part.into(), plane));
            }
            Passing::ForChannel(_) => self.append_wait(plane, At::Channel, from, to),
            Passing::InQueue(_) => self.append_wait(plane, At::Die, from, to),
        }
    }

    /// A wait at a plane's die or channel: for what that did, and for what kept it from doing anything.
    fn append_wait(&mut self, plane: PlaneIx, at: At, mut from: Ns, to: Ns) {
        let mut index = self.past(plane, at).0.partition_point(|busy| busy.to <= from);
        while let Some(&busy) = self.past(plane, at).0.get(index)
            && busy.from < to
        {
            let (begin, end) = (busy.from.max(from), busy.to.min(to));
            self.append_idle(plane, at, from, begin);
            self.append(Segment { from: begin, to: end, plane, ..busy });
            from = end;
            index += 1;
        }
        self.append_idle(plane, at, from, to);
    }

    /// A part of such a wait in which the die ran nothing: for the GC that had locked it, or for the channel; or in which the channel
    /// carried nothing.
    fn append_idle(&mut self, plane: PlaneIx, at: At, mut from: Ns, to: Ns) {
        let mut index = self.past(plane, at).1.partition_point(|change| change.at <= from).saturating_sub(1);
        while from < to {
            let past = self.past(plane, at).1;
            let Change { category, gc, .. } = past[index];
            let end = past.get(index + 1).map_or(to, |next| next.at.min(to));
            if end > from {
                match at {
                    At::Die if gc == NOBODY => self.append_wait(plane, At::Channel, from, end),
                    At::Die => {
                        let alone = Segment::alone(from, end, DIE + TrafficClass::GcLock as usize, plane);
                        self.append(Segment { by_plane: plane, gc, ..alone });
                    }
                    At::Channel => self.append(Segment { gc, ..Segment::alone(from, end, CHANNEL + usize::from(category), plane) }),
                }
                from = end;
            }
            index += 1;
        }
    }

    /// What a plane's die or channel did, and what it counted as meanwhile.
    fn past(&self, plane: PlaneIx, at: At) -> (&VecDeque<Segment>, &VecDeque<Change>) {
        let die = plane / self.planes_per_die;
        let channel = (die / self.dies_per_channel) as usize;
        match at {
            At::Die => (&self.runs[die as usize], &self.locks[plane as usize]),
            At::Channel => (&self.uses[channel], &self.idles[channel]),
        }
    }

    fn append(&mut self, segment: Segment) {
        if segment.to <= segment.from {
            return;
        }
        match self.timeline.last_mut() {
            Some(last)
                if last.to == segment.from
                    && Segment { from: last.from, to: segment.to, ..segment } == Segment { to: segment.to, ..*last } =>
            {
                last.to = segment.to;
            }
            _ => self.timeline.push(segment),
        }
    }
}

/// Appends what a resource was busy with, and forgets what was over before `since`.
fn keep(past: &mut VecDeque<Segment>, since: Ns, busy: Segment) {
    while past.front().is_some_and(|old| old.to <= since) {
        past.pop_front();
    }
    past.push_back(busy);
}

/// Appends a change, unless nothing changes, and forgets those that were over before `since`.
fn note(past: &mut VecDeque<Change>, since: Ns, change: Change) {
    while past.get(1).is_some_and(|next| next.at <= since) {
        past.pop_front();
    }
    match past.back_mut() {
        Some(last) if last.category == change.category && last.gc == change.gc => {}
        Some(last) if last.at == change.at => *last = change,
        _ => past.push_back(change),
    }
}
