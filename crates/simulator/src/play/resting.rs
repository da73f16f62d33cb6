//! Pauses of a stream in which nothing of it is outstanding.

use tinytail_core::units::Ns;
use tinytail_workload::Rest;

/// What a stream with pauses does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Busy,
    /// It waits for what is outstanding.
    Draining,
    /// It issues nothing before this time.
    Resting(Ns),
}

/// A stream's pauses, and when the next one comes.
#[derive(Debug)]
pub(super) struct Resting {
    rest: Rest,
    state: State,
    issued: u64,
    completed: u64,
    /// How many counted when the pause before began.
    last: u64,
    /// When that was.
    since: Ns,
    /// Whether a request has been issued since it was last looked whether a pause begins.
    looks: bool,
}

impl Resting {
    /// Of a stream that begins at a time.
    pub(super) fn new(rest: Rest, begin: Ns) -> Self {
        Self { rest, state: State::Busy, issued: 0, completed: 0, last: 0, since: begin, looks: false }
    }

    pub(super) fn may_issue(&self, now: Ns) -> bool {
        self.end().is_some_and(|end| now >= end)
    }

    /// When requests may be issued again; none while it waits for outstanding ones.
    pub(super) fn end(&self) -> Option<Ns> {
        match self.state {
            State::Busy => Some(0),
            State::Draining => None,
            State::Resting(end) => Some(end),
        }
    }

    /// A request has been issued. With all outstanding that may be, a pause begins when one has completed, at the earliest.
    pub(super) fn issued(&mut self, now: Ns, in_flight: u32, is_full: bool) {
        self.state = State::Busy;
        self.issued += 1;
        self.looks = true;
        if !is_full {
            self.look(now, in_flight);
        }
    }

    pub(super) fn completed(&mut self, at: Ns, in_flight: u32) {
        self.completed += 1;
        if self.looks {
            self.look(at, in_flight);
        } else if self.state == State::Draining && in_flight == 0 {
            self.state = State::Resting(at + self.rest.think_ns);
        }
    }

    /// Begins a pause if it is time.
    fn look(&mut self, now: Ns, in_flight: u32) {
        self.looks = false;
        let Rest { think_ns, requests, counts_issued, busy_ns } = self.rest;
        let count = if counts_issued { self.issued } else { self.completed };
        let by_time = busy_ns.is_some_and(|busy_ns| now >= self.since + busy_ns + think_ns);
        if !by_time && requests.is_none_or(|requests| count < self.last + requests) {
            return;
        }
        self.last = count;
        if busy_ns.is_some() {
            self.since = now;
        }
        self.state = if in_flight == 0 { State::Resting(now + think_ns) } else { State::Draining };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Rest = Rest { think_ns: 100, requests: Some(3), counts_issued: false, busy_ns: None };

    #[test]
    fn one_at_a_time_pauses_after_so_many_completions() {
        let mut resting = Resting::new(REST, 0);
        let mut now = 0;
        let mut pauses = Vec::new();
        for request in 1..=7 {
            now = now.max(resting.end().unwrap());
            resting.issued(now, 1, true);
            now += 10;
            resting.completed(now, 0);
            if !resting.may_issue(now) {
                pauses.push((request, resting.end().unwrap() - now));
            }
        }
        assert_eq!(pauses, [(3, 100), (6, 100)]);
    }

    #[test]
    fn what_is_outstanding_completes_before_a_pause() {
        let mut resting = Resting::new(Rest { counts_issued: true, ..REST }, 0);
        for in_flight in 1..=3 {
            assert!(resting.may_issue(5));
            resting.issued(5, in_flight, false);
        }
        assert_eq!(resting.end(), None);
        resting.completed(20, 2);
        resting.completed(30, 1);
        assert!(!resting.may_issue(500));
        resting.completed(40, 0);
        assert_eq!(resting.end(), Some(140));
    }

    #[test]
    fn a_full_stream_pauses_when_a_request_has_completed() {
        let mut resting = Resting::new(Rest { requests: Some(1), ..REST }, 0);
        resting.issued(0, 1, false);
        assert!(resting.may_issue(0), "none has completed");
        resting.issued(0, 2, true);
        resting.completed(10, 1);
        assert_eq!(resting.end(), None);
        resting.completed(15, 0);
        assert_eq!(resting.end(), Some(115));
        // Two have completed, and one has been counted: the next pause comes after one more has been issued.
        resting.issued(115, 1, false);
        assert_eq!(resting.end(), None);
    }

    #[test]
    fn time_brings_pauses_where_no_number_does() {
        let mut resting = Resting::new(Rest { requests: None, busy_ns: Some(1000), ..REST }, 0);
        for (issued, completed, pauses) in
            [(0, 900, false), (900, 1050, false), (1050, 1100, true), (1200, 2150, false), (2150, 2200, true)]
        {
            resting.issued(issued, 1, true);
            resting.completed(completed, 0);
            assert_eq!(!resting.may_issue(completed), pauses, "{completed}");
        }
    }
}
