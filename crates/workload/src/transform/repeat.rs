//! A stream over and over, its times continuing.

use tinytail_core::units::Ns;

use super::Opener;
use crate::error::WorkloadError;
use crate::source::{Arrival, Note, Source};

/// How long a stream is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Played so many times, at least once.
    Times(u64),
    /// Until there are so many requests; a longer stream is cut off there.
    ToRequests(u64),
}

/// A stream over and over. Each round begins one mean time between requests after the last request of the one before, or 1 ns
/// after it where all requests of a round have one time.
pub(crate) struct Repeated {
    open: Opener,
    inner: Box<dyn Source>,
    rounds_left: u64,
    requests_left: u64,
    /// Added to every time of this round.
    shift_ns: Ns,
    round: Round,
}

/// The round under way, in the stream's own times.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    requests: u64,
    first_ns: Ns,
    last_ns: Ns,
}

impl Repeated {
    pub(crate) fn new(open: Opener, repeat: Repeat) -> Result<Self, WorkloadError> {
        let (rounds, requests_left) = match repeat {
            Repeat::Times(times) => (times, u64::MAX),
            Repeat::ToRequests(requests) => (u64::MAX, requests),
        };
        let inner = open()?;
        Ok(Self { open, inner, rounds_left: rounds - 1, requests_left, shift_ns: 0, round: Round::default() })
    }

    /// Opens the stream again. Returns false if it has no requests, of which more rounds make no more.
    fn begin_round(&mut self) -> Result<bool, WorkloadError> {
        let Round { requests, first_ns, last_ns } = self.round;
        if requests == 0 {
            return Ok(false);
        }
        let span_ns = last_ns - first_ns;
        let gap_ns = (span_ns / (requests - 1).max(1)).max(1);
        self.shift_ns = self.shift_ns.saturating_add(span_ns).saturating_add(gap_ns);
        self.inner = (self.open)()?;
        self.rounds_left -= 1;
        self.round = Round::default();
        Ok(true)
    }
}

impl Source for Repeated {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let limit = limit.min(usize::try_from(self.requests_left).unwrap_or(usize::MAX));
        if limit == 0 {
            return Ok(0);
        }
        let start = out.len();
        loop {
            let count = self.inner.fill(out, limit)?;
            if let (Some(first), Some(last)) = (out.get(start), out[start..].last()) {
                if self.round.requests == 0 {
                    self.round.first_ns = first.at;
                }
                self.round.last_ns = last.at;
                self.round.requests += count as u64;
                self.requests_left -= count as u64;
                out[start..].iter_mut().for_each(|arrival| arrival.at = arrival.at.saturating_add(self.shift_ns));
                return Ok(count);
            }
            if self.rounds_left == 0 || !self.begin_round()? {
                return Ok(0);
            }
        }
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{opener, read_all, times};
    use super::*;

    fn repeated(at: &[Ns], repeat: Repeat, batch: usize) -> Vec<Arrival> {
        read_all(Box::new(Repeated::new(opener(&times(at)), repeat).unwrap()), batch)
    }

    #[test]
    fn rounds_follow_after_one_mean_gap() {
        for batch in [1, 2, 3, 64] {
            assert_eq!(repeated(&[0, 3, 10], Repeat::Times(1), batch), times(&[0, 3, 10]));
            assert_eq!(repeated(&[0, 3, 10], Repeat::Times(3), batch), times(&[0, 3, 10, 15, 18, 25, 30, 33, 40]));
            // What comes before the first request is there once.
            assert_eq!(repeated(&[7, 9], Repeat::Times(2), batch), times(&[7, 9, 11, 13]));
        }
    }

    #[test]
    fn a_number_of_requests_is_met_exactly() {
        for batch in [1, 2, 64] {
            assert_eq!(repeated(&[0, 3, 10], Repeat::ToRequests(5), batch), times(&[0, 3, 10, 15, 18]));
            assert_eq!(repeated(&[0, 3, 10], Repeat::ToRequests(2), batch), times(&[0, 3]));
        }
    }

    #[test]
    fn requests_at_one_time_and_none_at_all_come_to_an_end() {
        assert_eq!(repeated(&[4, 4], Repeat::Times(2), 8), times(&[4, 4, 5, 5]));
        assert_eq!(repeated(&[4], Repeat::ToRequests(3), 8), times(&[4, 5, 6]));
        assert!(repeated(&[], Repeat::ToRequests(3), 8).is_empty());
        assert!(repeated(&[], Repeat::Times(u64::MAX), 8).is_empty());
    }
}
