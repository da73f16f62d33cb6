//! Several streams on one drive, each at its own pacing and with its own times.

use std::collections::VecDeque;

use super::resting::Resting;
use super::resumed::{Nothing, Resumed};
use super::{ARRIVAL_MAX, Ahead, BATCH, Ending, STANDSTILL, Watch, room, too_late, unread};
use crate::control::Control;
use tinytail_core::drive::Drive;
use tinytail_core::observe::{Completion, Observer};
use tinytail_core::units::Ns;
use tinytail_workload::{Arrival, Pacing, Streams, WorkloadError};

/// A stream and what of it is outstanding.
struct Thread<'a> {
    ahead: Ahead<'a>,
    next: Option<Arrival>,
    pacing: Pacing,
    endless: bool,
    in_flight: u32,
    /// When it begins. Times of requests in open loop are counted from here.
    begin: Ns,
    /// From this time on it issues nothing.
    end: Ns,
    /// In pulses: when the pulse at hand is over, and `begin` that of the next one; never without them.
    pulse_end: Ns,
    /// From the beginning of a pulse to that of the next one.
    period_ns: Ns,
    think_ns: Ns,
    /// How many requests may be outstanding.
    room: u32,
    /// When each of the requests has been thought about that take the places of completed ones, in order.
    thought: VecDeque<Ns>,
    resting: Option<Resting>,
}

impl Thread<'_> {
    /// Whether it issues its next request now, because it is in closed loop and does not think.
    fn is_below_depth(&self, now: Ns) -> bool {
        matches!(self.pacing, Pacing::Closed { .. })
            && self.in_flight < self.room
            && self.next.is_some()
            && self.think_ns == 0
            && now >= self.begin
            && self.resting.as_ref().is_none_or(|resting| resting.may_issue(now))
    }

    /// When it issues its next request if none completes until then; none if it waits for that, or issues it at once.
    fn due(&self, now: Ns) -> Option<Ns> {
        let next = self.next.as_ref()?;
        let begin = match &self.resting {
            Some(resting) => self.begin.max(resting.end()?),
            None => self.begin,
        };
        match self.pacing {
            Pacing::Open | Pacing::Bounded { .. } => (self.in_flight < self.room).then(|| (self.begin + next.at).max(now).max(begin)),
            Pacing::Closed { depth } if self.think_ns == 0 => (self.in_flight < depth && now < begin).then_some(begin),
            // What has not been used yet needs no thought.
            Pacing::Closed { depth } if u64::from(self.in_flight) + (self.thought.len() as u64) < u64::from(depth) => {
                Some(self.begin.max(now))
            }
            Pacing::Closed { .. } => self.thought.front().map(|at| (*at).max(now).max(self.begin)),
            // No thread has bursts: `play_streams` refuses them.
            Pacing::Bursts => None,
        }
    }

    /// When the host asks for a request that is issued at a time: then, unless it has waited for room since its own time.
    fn asked(&self, arrival: &Arrival, at: Ns) -> Ns {
        // A pause puts off what comes in it, and that is no wait for room.
        if self.pacing.has_times() && self.resting.is_none() { self.begin + arrival.at } else { at }
    }

    fn issued(&mut self, now: Ns) {
        if self.think_ns > 0
            && let Pacing::Closed { depth } = self.pacing
            && u64::from(self.in_flight) + self.thought.len() as u64 >= u64::from(depth)
        {
            self.thought.pop_front();
        }
        self.in_flight += 1;
        let is_full = self.in_flight >= self.room;
        if let Some(resting) = &mut self.resting {
            resting.issued(now, self.in_flight, is_full);
        }
    }

    fn completed(&mut self, at: Ns) {
        self.in_flight -= 1;
        if let Some(resting) = &mut self.resting {
            resting.completed(at, self.in_flight);
        }
        if self.think_ns > 0 {
            self.thought.push_back(at + self.think_ns);
        }
    }

    /// Waits for the next pulse if the one at hand is over.
    fn turn(&mut self, now: Ns) {
        if now >= self.pulse_end {
            let turns_ns = ((now - self.pulse_end) / self.period_ns + 1) * self.period_ns;
            self.begin += turns_ns;
            self.pulse_end += turns_ns;
        }
    }

    /// Issues nothing more.
    fn stop(&mut self) {
        self.next = None;
        self.ahead.end();
    }
}

/// Whose the outstanding requests are. The drive numbers requests in the order of their submission.
#[derive(Default)]
struct Owners {
    first_id: u64,
    threads: VecDeque<Option<usize>>,
}

impl Owners {
    fn submitted(&mut self, id: u64, thread: usize) {
        if self.threads.is_empty() {
            self.first_id = id;
        }
        self.threads.push_back(Some(thread));
    }

    fn completed(&mut self, id: u64) -> Option<usize> {
        let thread = self.threads.get_mut((id - self.first_id) as usize)?.take();
        while let Some(None) = self.threads.front() {
            self.threads.pop_front();
            self.first_id += 1;
        }
        thread
    }
}

/// All threads, and how far they are.
struct Threads<'a> {
    threads: Vec<Thread<'a>>,
    owners: Owners,
    completions: Vec<Completion>,
    in_flight: u32,
    /// How many requests may still be issued.
    left: u64,
    /// Whether time ends any thread, or a pulse of any.
    any_end: bool,
    /// From this time on nothing is issued, and what has not been issued is kept.
    pause: Ns,
}

impl<'a> Threads<'a> {
    fn new<O: Observer>(drive: &Drive<O>, streams: &'a mut Streams, offset_ns: Ns) -> Result<Self, WorkloadError> {
        let mut threads = Vec::with_capacity(streams.streams.len());
        for stream in &mut streams.streams {
            let mut ahead = Ahead::new(stream.source.as_mut());
            let next = ahead.take(drive)?;
            let timing = stream.timing;
            let origin = if stream.pacing.has_times() { offset_ns } else { drive.now() };
            let begin = origin + timing.start_ns;
            let pulse_end = timing.pulses.map_or(Ns::MAX, |pulses| begin.saturating_add(pulses.pulse_ns));
            threads.push(Thread {
                ahead,
                next,
                pacing: stream.pacing,
                endless: stream.endless,
                in_flight: 0,
                begin,
                end: timing.runtime_ns.map_or(Ns::MAX, |runtime_ns| begin.saturating_add(runtime_ns)),
                pulse_end,
                period_ns: timing.pulses.map_or(0, |pulses| pulses.pulse_ns + pulses.pause_ns),
                think_ns: timing.think_ns,
                room: room(stream.pacing),
                thought: VecDeque::new(),
                resting: timing.rest.map(|rest| Resting::new(rest, begin)),
            });
        }
        let completions = Vec::with_capacity(BATCH);
        let any_end = threads.iter().any(|thread| thread.end.min(thread.pulse_end) != Ns::MAX);
        let mut all =
            Self { threads, owners: Owners::default(), completions, in_flight: 0, left: streams.requests, any_end, pause: Ns::MAX };
        all.end_if_done();
        Ok(all)
    }

    /// Issues no more requests.
    fn end(&mut self) {
        self.left = 0;
        self.threads.iter_mut().for_each(Thread::stop);
    }

    /// Stops the threads whose time is over, and has those wait whose pulse is.
    fn stop_ended(&mut self, now: Ns) {
        for thread in &mut self.threads {
            thread.turn(now);
            if now >= thread.end && thread.next.is_some() {
                thread.stop();
            }
        }
        self.end_if_done();
    }

    fn end_if_done(&mut self) {
        if self.left == 0 || self.threads.iter().all(|thread| thread.endless || thread.next.is_none()) {
            self.end();
        }
    }

    fn has_next(&self) -> bool {
        self.threads.iter().any(|thread| thread.next.is_some())
    }

    /// The first thread that issues a request at a time of its own, and when; of several at one time the first.
    fn first_due(&self, now: Ns) -> Option<(usize, Ns)> {
        let due = |(index, thread): (usize, &Thread<'_>)| thread.due(now).map(|at| (index, at));
        self.threads.iter().enumerate().filter_map(due).min_by_key(|(_, at)| *at)
    }

    /// Issues the next request of a thread, if it has one.
    fn issue<O: Observer>(&mut self, drive: &mut Drive<O>, watch: &mut Watch<'_>, index: usize, at: Ns) -> Result<(), Ending> {
        let thread = &mut self.threads[index];
        let Some(arrival) = thread.next else { return Ok(()) };
        if self.in_flight == 0 {
            watch.last_progress = at;
        }
        let asked = thread.asked(&arrival, at);
        let id = drive.submit_to(arrival.queue, asked, arrival.command).map_err(|error| Ending::Faulty(error.to_string()))?;
        self.owners.submitted(id, index);
        thread.issued(at);
        self.in_flight += 1;
        self.left -= 1;
        thread.next = thread.ahead.take(drive).map_err(unread)?;
        if self.left == 0 || thread.next.is_none() {
            self.end_if_done();
        }
        // A request may complete at once.
        self.collect(drive, watch);
        Ok(())
    }

    /// Takes what has completed from the drive.
    fn collect<O: Observer>(&mut self, drive: &mut Drive<O>, watch: &mut Watch<'_>) {
        if !drive.has_completions() {
            return;
        }
        drive.take_completions(&mut self.completions);
        for completion in self.completions.drain(..) {
            if let Some(thread) = self.owners.completed(completion.id) {
                self.threads[thread].completed(completion.completed);
                self.in_flight -= 1;
                watch.completed += 1;
            }
        }
    }

    /// Issues what is due. Threads in closed loop take turns, one request each, so that none goes far ahead of the others.
    fn issue_due<O: Observer>(&mut self, drive: &mut Drive<O>, watch: &mut Watch<'_>) -> Result<(), Ending> {
        loop {
            if drive.now() >= self.pause {
                return Ok(());
            }
            if self.any_end {
                self.stop_ended(drive.now());
            }
            let mut issued = false;
            for index in 0..self.threads.len() {
                let now = drive.now();
                if self.threads[index].is_below_depth(now) {
                    self.issue(drive, watch, index, now)?;
                    issued = true;
                }
            }
            if issued {
                continue;
            }
            let Some((index, at)) = self.first_due(drive.now()) else { return Ok(()) };
            if at >= self.pause {
                return Ok(());
            }
            // An event at the same time comes first.
            if drive.next_event().is_some_and(|event| event <= at) {
                return Ok(());
            }
            if at >= self.threads[index].end {
                self.threads[index].stop();
                self.end_if_done();
                continue;
            }
            if at >= self.threads[index].pulse_end {
                self.threads[index].turn(at);
                continue;
            }
            if at > ARRIVAL_MAX {
                return Err(too_late(at));
            }
            self.issue(drive, watch, index, at)?;
        }
    }
}

/// Plays all streams until those that are not endless have ended, or as many requests as they may issue have been issued.
pub(super) fn play_threads<O: Observer>(
    drive: &mut Drive<O>,
    streams: &mut Streams,
    offset_ns: Ns,
    control: &Control,
    enough: impl Fn(&Drive<O>) -> bool,
) -> Ending {
    let mut watch = Watch::new(drive, control);
    let mut threads = match Threads::new(drive, streams, offset_ns) {
        Ok(threads) => threads,
        Err(error) => return unread(error),
    };
    threads.play(drive, &mut watch, enough)
}

/// Plays all streams for a time and until what is outstanding then has completed. The streams go on from there.
pub(super) fn play_for<O: Observer>(drive: &mut Drive<O>, streams: &mut Streams, offset_ns: Ns, time_ns: Ns, control: &Control) -> Ending {
    let mut watch = Watch::new(drive, control);
    let runtimes: Vec<Option<Ns>> = streams.streams.iter_mut().map(|stream| stream.timing.runtime_ns.take()).collect();
    let mut threads = match Threads::new(drive, streams, offset_ns) {
        Ok(threads) => threads,
        Err(error) => return unread(error),
    };
    threads.pause = offset_ns.saturating_add(time_ns);
    let ending = threads.play(drive, &mut watch, |_| false);
    let left = threads.left;
    let kept: Vec<(Vec<Arrival>, Ns)> = threads.threads.into_iter().map(|thread| (thread.ahead.keep(thread.next), thread.begin)).collect();
    streams.requests = left;
    let now = drive.now();
    for ((stream, runtime_ns), (arrivals, begin)) in streams.streams.iter_mut().zip(runtimes).zip(kept) {
        stream.timing.runtime_ns = runtime_ns;
        stream.timing.start_ns = begin.saturating_sub(now);
        let rest = std::mem::replace(&mut stream.source, Box::new(Nothing));
        stream.source = Box::new(Resumed::new(arrivals, rest, now.saturating_sub(begin)));
    }
    ending
}

impl Threads<'_> {
    fn play<O: Observer>(&mut self, drive: &mut Drive<O>, watch: &mut Watch<'_>, enough: impl Fn(&Drive<O>) -> bool) -> Ending {
        loop {
            if let Err(ending) = self.issue_due(drive, watch) {
                return ending;
            }
            if self.in_flight == 0 && (!self.has_next() || self.pauses(drive.now())) {
                return watch.end(drive);
            }
            if !drive.step() {
                return Ending::Stuck(STANDSTILL.into());
            }
            self.collect(drive, watch);
            watch.until_look -= 1;
            if watch.until_look == 0 {
                if let Some(ending) = watch.look(drive, self.in_flight > 0) {
                    return ending;
                }
                if enough(drive) {
                    self.end();
                }
            }
        }
    }

    /// Whether nothing is issued before the time from which on nothing is.
    fn pauses(&self, now: Ns) -> bool {
        self.pause != Ns::MAX && (now >= self.pause || self.first_due(now).is_none_or(|(_, at)| at >= self.pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_found_whatever_the_order_of_completion() {
        let mut owners = Owners::default();
        for (id, thread) in [(7, 0), (8, 1), (9, 2), (10, 1)] {
            owners.submitted(id, thread);
        }
        assert_eq!(owners.completed(9), Some(2));
        assert_eq!(owners.completed(7), Some(0));
        assert_eq!(owners.threads.len(), 3, "request 8 is outstanding");
        assert_eq!(owners.completed(8), Some(1));
        assert_eq!(owners.threads.len(), 1);
        owners.submitted(11, 5);
        assert_eq!(owners.completed(11), Some(5));
        assert_eq!(owners.completed(10), Some(1));
        assert!(owners.threads.is_empty());
        owners.submitted(100, 3);
        assert_eq!(owners.completed(100), Some(3));
    }
}
