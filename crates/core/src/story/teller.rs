//! The past of a drive, as far back as a request in the device may have waited, and the stories that it explains.

use crate::device::Device;
use crate::ids::{NONE, PlaneIx};
use crate::observe::{Attribution, CHANNEL, CHANNEL_IDLE, Completion, DIE, Occupant};
use crate::story::{NOBODY, Passage, Passing, Run, Segment, Use};
use crate::units::Ns;
use std::collections::VecDeque;

/// A request in the device.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    id: u64,
    accepted: Ns,
    done: bool,
}

/// What a resource counts as from a moment on, and the GC that holds it.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: Ns,
    category: u8,
    gc: u64,
}

/// Puts stories together from what a told observer hears.
#[derive(Debug)]
pub struct Teller {
    planes_per_die: u32,
    dies_per_channel: u32,
    in_flight: VecDeque<InFlight>,
    /// Of each die, in order and without overlap.
    runs: Vec<VecDeque<Run>>,
    /// Of each channel, in order and without overlap.
    uses: Vec<VecDeque<Use>>,
    /// Of each channel, what it counts as while it carries nothing.
    rests: Vec<VecDeque<Change>>,
    /// Of each plane, who holds it.
    holds: Vec<VecDeque<Change>>,
    passages: Vec<Passage>,
    leftovers: Vec<Passage>,
    story: Vec<Segment>,
}

impl Teller {
    /// For a drive on a device, before it has run anything.
    pub fn new(device: &Device) -> Self {
        let g = &device.geometry;
        let unheld = VecDeque::from([Change { at: 0, category: CHANNEL_IDLE as u8, gc: NOBODY }]);
        Self {
            planes_per_die: g.planes_per_die,
            dies_per_channel: g.dies_per_channel(),
            in_flight: VecDeque::new(),
            runs: vec![VecDeque::new(); g.dies() as usize],
            uses: vec![VecDeque::new(); g.channels as usize],
            rests: vec![unheld.clone(); g.channels as usize],
            holds: vec![unheld; g.planes() as usize],
            passages: Vec::new(),
            leftovers: Vec::new(),
            story: Vec::new(),
        }
    }

    /// See `Observer::accepted`.
    pub fn accepted(&mut self, id: u64, accepted: Ns) {
        self.in_flight.push_back(InFlight { id, accepted, done: false });
    }

    /// See `Observer::die_ran`.
    pub fn die_ran(&mut self, run: &Run) {
        let since = self.oldest(run.to);
        let past = &mut self.runs[run.die as usize];
        while past.front().is_some_and(|run| run.to <= since) {
            past.pop_front();
        }
        past.push_back(*run);
    }

    /// See `Observer::channel_used`.
    pub fn channel_used(&mut self, used: &Use) {
        let since = self.oldest(used.from);
        let past = &mut self.uses[used.channel as usize];
        while past.front().is_some_and(|used| used.to <= since) {
            past.pop_front();
        }
        past.push_back(*used);
    }

    /// See `Observer::channel_rests`.
    pub fn channel_rests(&mut self, channel: u32, at: Ns, category: usize, gc: u64) {
        let since = self.oldest(at);
        note(&mut self.rests[channel as usize], since, Change { at, category: category as u8, gc });
    }

    /// See `Observer::plane_held`.
    pub fn plane_held(&mut self, plane: PlaneIx, at: Ns, gc: u64) {
        let since = self.oldest(at);
        note(&mut self.holds[plane as usize], since, Change { at, category: 0, gc });
    }

    /// A request has completed, and its story will not be asked for any more.
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

    /// The story of a request that completes now: segments that follow one another from its arrival to its completion. Each
    /// part of its blame is the sum of its segments.
    pub fn story(&mut self, completion: &Completion, attribution: Attribution<'_>) -> &[Segment] {
        self.story.clear();
        let mut passages = std::mem::take(&mut self.passages);
        let mut leftovers = std::mem::take(&mut self.leftovers);
        passages.clear();
        leftovers.clear();
        for &passage in attribution.trail() {
            let to = if let Passing::Rest(_) = passage.what { &mut leftovers } else { &mut passages };
            to.push(passage);
        }
        passages.sort_by_key(|passage| passage.from);
        let mut told = completion.arrived;
        for passage in &passages {
            self.tell_rest(&leftovers, told, passage.from);
            self.tell(passage);
            told = passage.to;
        }
        self.tell_rest(&leftovers, told, completion.completed);
        self.passages = passages;
        self.leftovers = leftovers;
        &self.story
    }

    /// What no other passage covers belongs to the innermost rest.
    fn tell_rest(&mut self, leftovers: &[Passage], mut from: Ns, end: Ns) {
        while from < end {
            // One of them may begin or end in between.
            let edges = leftovers.iter().flat_map(|rest| [rest.from, rest.to]);
            let to = edges.filter(|&edge| from < edge && edge < end).min().unwrap_or(end);
            let covering = leftovers.iter().filter(|rest| rest.from <= from && to <= rest.to);
            if let Some(&Passage { plane, what: Passing::Rest(part), .. }) = covering.min_by_key(|rest| rest.to - rest.from) {
                self.append(Segment { from, to, part, plane, by_plane: plane, gc: NOBODY, page: NONE, request: NOBODY });
            }
            from = to;
        }
    }

    fn tell(&mut self, passage: &Passage) {
        let &Passage { from, to, plane, what } = passage;
        match what {
            Passing::Own(part) | Passing::Rest(part) => {
                self.append(Segment { from, to, part, plane, by_plane: NONE, gc: NOBODY, page: NONE, request: NOBODY });
            }
            Passing::ForChannel(_) => self.tell_channel(plane, from, to),
            Passing::InLine(_) => self.tell_line(plane, from, to),
        }
    }

    /// A wait in the line of a plane: for what its die ran; for the GC that held it; for the channel.
    fn tell_line(&mut self, plane: PlaneIx, mut from: Ns, to: Ns) {
        let die = (plane / self.planes_per_die) as usize;
        let first = self.runs[die].partition_point(|run| run.to <= from);
        let mut index = first;
        while let Some(&run) = self.runs[die].get(index)
            && run.from < to
        {
            self.tell_idle(plane, from, run.from.max(from));
            let part = (DIE + run.occupant as usize) as u8;
            let end = run.to.min(to);
            let Run { gc, page, request, plane: by_plane, .. } = run;
            self.append(Segment { from: run.from.max(from), to: end, part, plane, by_plane, gc, page, request });
            from = end;
            index += 1;
        }
        self.tell_idle(plane, from, to);
    }

    /// A part of such a wait in which the die ran nothing.
    fn tell_idle(&mut self, plane: PlaneIx, mut from: Ns, to: Ns) {
        let mut index = in_force(&self.holds[plane as usize], from);
        while from < to {
            let held = self.holds[plane as usize][index];
            let end = self.holds[plane as usize].get(index + 1).map_or(to, |next| next.at.min(to));
            if end > from {
                if held.gc == NOBODY {
                    self.tell_channel(plane, from, end);
                } else {
                    let part = (DIE + Occupant::GcHold as usize) as u8;
                    self.append(Segment { from, to: end, part, plane, by_plane: plane, gc: held.gc, page: NONE, request: NOBODY });
                }
                from = end;
            }
            index += 1;
        }
    }

    /// A wait for the channel of a plane.
    fn tell_channel(&mut self, plane: PlaneIx, mut from: Ns, to: Ns) {
        let channel = (plane / self.planes_per_die / self.dies_per_channel) as usize;
        let mut index = self.uses[channel].partition_point(|used| used.to <= from);
        while let Some(&used) = self.uses[channel].get(index)
            && used.from < to
        {
            self.tell_resting(channel, plane, from, used.from.max(from));
            let part = (CHANNEL + used.occupant as usize) as u8;
            let end = used.to.min(to);
            let segment =
                Segment { from: used.from.max(from), to: end, part, plane, by_plane: used.plane, gc: NOBODY, page: NONE, request: NOBODY };
            self.append(segment);
            from = end;
            index += 1;
        }
        self.tell_resting(channel, plane, from, to);
    }

    /// A part of such a wait in which the channel carried nothing.
    fn tell_resting(&mut self, channel: usize, plane: PlaneIx, mut from: Ns, to: Ns) {
        let mut index = in_force(&self.rests[channel], from);
        while from < to {
            let Change { category, gc, .. } = self.rests[channel][index];
            let end = self.rests[channel].get(index + 1).map_or(to, |next| next.at.min(to));
            if end > from {
                let part = (CHANNEL + usize::from(category)) as u8;
                self.append(Segment { from, to: end, part, plane, by_plane: NONE, gc, page: NONE, request: NOBODY });
                from = end;
            }
            index += 1;
        }
    }

    fn append(&mut self, segment: Segment) {
        if segment.to <= segment.from {
            return;
        }
        match self.story.last_mut() {
            Some(last)
                if last.to == segment.from
                    && Segment { from: last.from, to: segment.to, ..segment } == Segment { to: segment.to, ..*last } =>
            {
                last.to = segment.to;
            }
            _ => self.story.push(segment),
        }
    }
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

/// The change that is in force at a time.
fn in_force(past: &VecDeque<Change>, at: Ns) -> usize {
    past.partition_point(|change| change.at <= at).saturating_sub(1)
}
