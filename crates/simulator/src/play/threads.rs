//! Several streams on one drive, each at its own pacing.

use std::collections::VecDeque;

use super::{Ahead, BATCH, Ending, Watch, too_late};
use crate::control::Control;
use tinytail_core::drive::Drive;
use tinytail_core::host::Arrival;
use tinytail_core::observe::{Completion, Observer};
use tinytail_core::units::{Ns, TIME_MAX};
use tinytail_workload::{Pacing, Streams, WorkloadError};

/// A stream and what of it is outstanding.
struct Thread<'a> {
    ahead: Ahead<'a>,
    next: Option<Arrival>,
    pacing: Pacing,
    endless: bool,
    in_flight: u32,
}

impl Thread<'_> {
    /// Whether it issues its next request now.
    fn is_below_depth(&self) -> bool {
        matches!(self.pacing, Pacing::Closed { depth } if self.in_flight < depth) && self.next.is_some()
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
    offset_ns: Ns,
    in_flight: u32,
    /// How many requests may still be issued.
    left: u64,
}

impl<'a> Threads<'a> {
    fn new<O: Observer>(drive: &Drive<O>, streams: &'a mut Streams, offset_ns: Ns) -> Result<Self, WorkloadError> {
        let mut threads = Vec::with_capacity(streams.streams.len());
        for stream in &mut streams.streams {
            let mut ahead = Ahead::new(stream.source.as_mut());
            let next = ahead.take(drive)?;
            threads.push(Thread { ahead, next, pacing: stream.pacing, endless: stream.endless, in_flight: 0 });
        }
        let completions = Vec::with_capacity(BATCH);
        let mut all = Self { threads, owners: Owners::default(), completions, offset_ns, in_flight: 0, left: streams.requests };
        all.end_if_done();
        Ok(all)
    }

    /// Issues no more requests.
    fn end(&mut self) {
        self.left = 0;
        for thread in &mut self.threads {
            thread.next = None;
            thread.ahead.end();
        }
    }

    fn end_if_done(&mut self) {
        if self.left == 0 || self.threads.iter().all(|thread| thread.endless || thread.next.is_none()) {
            self.end();
        }
    }

    fn has_next(&self) -> bool {
        self.threads.iter().any(|thread| thread.next.is_some())
    }

    /// The open-loop thread whose request arrives first, and when; of several at one time the first.
    fn first_open(&self) -> Option<(usize, Ns)> {
        let arrival = |(index, thread): (usize, &Thread<'_>)| match thread.pacing {
            Pacing::Open => thread.next.map(|next| (index, next.at + self.offset_ns)),
            Pacing::Closed { .. } => None,
        };
        self.threads.iter().enumerate().filter_map(arrival).min_by_key(|(_, at)| *at)
    }

    /// Issues the next request of a thread, if it has one.
    fn issue<O: Observer>(&mut self, drive: &mut Drive<O>, watch: &mut Watch<'_>, index: usize, at: Ns) -> Result<(), Ending> {
        let thread = &mut self.threads[index];
        let Some(arrival) = thread.next else { return Ok(()) };
        if self.in_flight == 0 {
            watch.last_progress = at;
        }
        let id = drive.submit_to(arrival.queue, at, arrival.command).map_err(|error| Ending::Faulty(error.to_string()))?;
        self.owners.submitted(id, index);
        thread.in_flight += 1;
        self.in_flight += 1;
        self.left -= 1;
        thread.next = thread.ahead.take(drive).map_err(|error| Ending::Faulty(error.to_string()))?;
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
                self.threads[thread].in_flight -= 1;
                self.in_flight -= 1;
                watch.completed += 1;
            }
        }
    }

    /// Issues what is due. Threads in closed loop take turns, one request each, so that none goes far ahead of the others.
    fn issue_due<O: Observer>(&mut self, drive: &mut Drive<O>, watch: &mut Watch<'_>) -> Result<(), Ending> {
        loop {
            let mut issued = false;
            for index in 0..self.threads.len() {
                if self.threads[index].is_below_depth() {
                    let now = drive.now();
                    self.issue(drive, watch, index, now)?;
                    issued = true;
                }
            }
            if issued {
                continue;
            }
            let Some((index, at)) = self.first_open() else { return Ok(()) };
            // An event at the same time comes first.
            if drive.next_event().is_some_and(|event| event <= at) {
                return Ok(());
            }
            if at > TIME_MAX - super::TIME_MARGIN {
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
        Err(error) => return Ending::Faulty(error.to_string()),
    };
    loop {
        if let Err(ending) = threads.issue_due(drive, &mut watch) {
            return ending;
        }
        if threads.in_flight == 0 && !threads.has_next() {
            return watch.end(drive);
        }
        if !drive.step() {
            return Ending::Stuck(drive.explain_standstill());
        }
        threads.collect(drive, &mut watch);
        watch.until_look -= 1;
        if watch.until_look == 0 {
            if let Some(ending) = watch.look(drive, threads.in_flight > 0) {
                return ending;
            }
            if enough(drive) {
                threads.end();
            }
        }
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
