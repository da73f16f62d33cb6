//! A stream that has been played for a time, and goes on.

use tinytail_core::units::Ns;
use tinytail_workload::{Arrival, Note, Source, WorkloadError};

/// What has been taken from a stream and not been issued, and then the stream. Times are counted from when it goes on.
pub(super) struct Resumed {
    taken: Vec<Arrival>,
    next: usize,
    rest: Box<dyn Source>,
    passed_ns: Ns,
}

impl Resumed {
    pub(super) fn new(taken: Vec<Arrival>, rest: Box<dyn Source>, passed_ns: Ns) -> Self {
        Self { taken, next: 0, rest, passed_ns }
    }
}

impl Source for Resumed {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let before = out.len();
        let end = (self.next + limit).min(self.taken.len());
        out.extend_from_slice(&self.taken[self.next..end]);
        let filled = if end > self.next { Ok(end - self.next) } else { self.rest.fill(out, limit) };
        self.next = end;
        for arrival in &mut out[before..] {
            arrival.at = arrival.at.saturating_sub(self.passed_ns);
        }
        filled
    }

    fn notes(&self) -> Vec<Note> {
        self.rest.notes()
    }
}

/// No requests.
pub(super) struct Nothing;

impl Source for Nothing {
    fn fill(&mut self, _: &mut Vec<Arrival>, _: usize) -> Result<usize, WorkloadError> {
        Ok(0)
    }
}
