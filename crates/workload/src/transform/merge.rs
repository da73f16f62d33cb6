//! Several streams as one, in order of time.

use crate::error::WorkloadError;
use crate::source::{Arrival, Note, Source};

/// Requests that are taken from a stream at a time.
const BATCH: usize = 64;

/// Several streams as one. At equal times the first stream goes first.
pub(crate) struct Merged {
    streams: Vec<Stream>,
}

struct Stream {
    source: Box<dyn Source>,
    batch: Vec<Arrival>,
    next: usize,
    /// Whether the whole may end while this stream still has requests.
    endless: bool,
}

impl Merged {
    /// Of streams that all end.
    pub(crate) fn new(sources: impl IntoIterator<Item = Box<dyn Source>>) -> Self {
        Self::with_endless(sources.into_iter().map(|source| (source, false)))
    }

    /// Of streams of which some are endless: the whole ends when the others have ended.
    pub(crate) fn with_endless(sources: impl IntoIterator<Item = (Box<dyn Source>, bool)>) -> Self {
        let stream = |(source, endless)| Stream { source, batch: Vec::with_capacity(BATCH), next: 0, endless };
        Self { streams: sources.into_iter().map(stream).collect() }
    }
}

impl Stream {
    /// The next request, which stays the next.
    fn peek(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            self.source.fill(&mut self.batch, BATCH)?;
        }
        Ok(self.batch.get(self.next).copied())
    }
}

impl Source for Merged {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        for count in 0..limit {
            let mut first: Option<(usize, Arrival)> = None;
            let mut ends = true;
            for (index, stream) in self.streams.iter_mut().enumerate() {
                let Some(arrival) = stream.peek()? else { continue };
                ends &= stream.endless;
                if first.is_none_or(|(_, earliest)| arrival.at < earliest.at) {
                    first = Some((index, arrival));
                }
            }
            let Some((index, arrival)) = first.filter(|_| !ends) else { return Ok(count) };
            self.streams[index].next += 1;
            out.push(arrival);
        }
        Ok(limit)
    }

    fn notes(&self) -> Vec<Note> {
        self.streams.iter().flat_map(|stream| stream.source.notes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tinytail_core::units::Ns;

    use super::super::testkit::{given, read_all, reads, times};
    use super::*;

    #[test]
    fn at_equal_times_the_first_stream_goes_first() {
        let merged = Merged::new([given(&reads(&[(1, 1), (2, 1)])), given(&reads(&[(3, 1)]))]);
        assert_eq!(read_all(Box::new(merged), 2), reads(&[(1, 1), (2, 1), (3, 1)]));
    }

    #[test]
    fn the_end_is_that_of_the_streams_that_end() {
        let sources = || [(given(&times(&[0, 1, 2, 3, 4])), true), (given(&times(&[1, 3])), false)];
        assert_eq!(read_all(Box::new(Merged::with_endless(sources())), 3), times(&[0, 1, 1, 2, 3, 3]));
        let all = Merged::new(sources().map(|(source, _)| source));
        assert_eq!(read_all(Box::new(all), 3), times(&[0, 1, 1, 2, 3, 3, 4]));
    }

    proptest! {
        #[test]
        fn merging_is_sorting(parts in proptest::collection::vec(proptest::collection::vec(0_u64..500, 0..200), 0..5), batch in 1_usize..100) {
            let mut all: Vec<Ns> = parts.concat();
            all.sort_unstable();
            let sources = parts.iter().map(|part| {
                let mut part = part.clone();
                part.sort_unstable();
                given(&times(&part))
            });
            prop_assert_eq!(read_all(Box::new(Merged::new(sources)), batch), times(&all));
        }
    }
}
