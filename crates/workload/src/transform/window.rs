//! A part of the recorded time: a window, or the busiest one of a given length.

use tinytail_core::units::Ns;

use super::Opener;
use crate::error::WorkloadError;
use crate::source::{Arrival, Note, Source};

/// Requests that are taken from a source at a time.
const BATCH: usize = 256;

/// A part of the recorded time, from before a time to before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from_ns: Ns,
    pub(crate) to_ns: Ns,
}

/// The requests of a window. The time of the first of them becomes 0.
pub(crate) struct Windowed {
    inner: Box<dyn Source>,
    window: Window,
    first_ns: Option<Ns>,
    ended: bool,
}

impl Windowed {
    pub(crate) fn new(inner: Box<dyn Source>, window: Window) -> Self {
        Self { inner, window, first_ns: None, ended: false }
    }
}

impl Source for Windowed {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let start = out.len();
        while !self.ended && limit > 0 {
            if self.inner.fill(out, limit)? == 0 {
                break;
            }
            // Times never go backwards, so what is kept is one stretch.
            let end = start + out[start..].partition_point(|arrival| arrival.at < self.window.to_ns);
            self.ended = end < out.len();
            out.truncate(end);
            let early = out[start..].partition_point(|arrival| arrival.at < self.window.from_ns);
            out.drain(start..start + early);
            if let Some(first) = out.get(start) {
                let first_ns = *self.first_ns.get_or_insert(first.at);
                out[start..].iter_mut().for_each(|arrival| arrival.at -= first_ns);
                break;
            }
        }
        Ok(out.len() - start)
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}

/// How many requests are in a window, and the time of the last request up to its end.
pub(crate) fn count(open: &Opener, window: Window) -> Result<(u64, Ns), WorkloadError> {
    let mut source = open()?;
    let mut batch = Vec::with_capacity(BATCH);
    let (mut requests, mut last_ns) = (0, 0);
    while source.fill(&mut batch, BATCH)? > 0 && last_ns < window.to_ns {
        for arrival in batch.drain(..) {
            last_ns = arrival.at;
            requests += u64::from((window.from_ns..window.to_ns).contains(&arrival.at));
        }
    }
    Ok((requests, last_ns))
}

/// The window of a length that has the most requests, the earliest of them, and how many it has. Two readers pass over the
/// stream, one a window ahead of the other, so that nothing needs to be kept.
pub(crate) fn busiest(open: &Opener, length_ns: Ns) -> Result<(Window, u64), WorkloadError> {
    let (mut head, mut tail) = (Reader::new(open()?), Reader::new(open()?));
    let (mut requests, mut most, mut from_ns) = (0_u64, 0, 0);
    let mut next = head.next()?;
    // A busiest window can be moved to begin at a request.
    while let Some(start_ns) = tail.next()? {
        while next.is_some_and(|at| at - start_ns < length_ns) {
            requests += 1;
            next = head.next()?;
        }
        if requests > most {
            (most, from_ns) = (requests, start_ns);
        }
        if next.is_none() {
            break;
        }
        requests -= 1;
    }
    Ok((Window { from_ns, to_ns: from_ns.saturating_add(length_ns) }, most))
}

/// The times of a stream, one by one.
struct Reader {
    source: Box<dyn Source>,
    batch: Vec<Arrival>,
    next: usize,
}

impl Reader {
    fn new(source: Box<dyn Source>) -> Self {
        Self { source, batch: Vec::with_capacity(BATCH), next: 0 }
    }

    fn next(&mut self) -> Result<Option<Ns>, WorkloadError> {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            self.source.fill(&mut self.batch, BATCH)?;
        }
        let at = self.batch.get(self.next).map(|arrival| arrival.at);
        self.next += 1;
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testkit::{opener, read_all, times};
    use super::*;

    fn window(from_ns: Ns, to_ns: Ns) -> Window {
        Window { from_ns, to_ns }
    }

    #[test]
    fn a_window_holds_its_start_and_not_its_end() {
        let open = opener(&times(&[0, 9, 10, 15, 19, 20, 30]));
        for batch in [1, 3, 64] {
            let kept = read_all(Box::new(Windowed::new(open().unwrap(), window(10, 20))), batch);
            assert_eq!(kept, times(&[0, 5, 9]));
        }
        assert_eq!(count(&open, window(10, 20)).unwrap().0, 3);
        assert_eq!(count(&open, window(21, 30)).unwrap().0, 0);
        assert!(read_all(Box::new(Windowed::new(open().unwrap(), window(21, 30))), 8).is_empty());
        assert_eq!(read_all(Box::new(Windowed::new(open().unwrap(), window(0, 31))), 8).len(), 7);
    }

    #[test]
    fn the_busiest_window_is_the_earliest_of_the_most_requests() {
        let open = opener(&times(&[0, 10, 11, 12, 50, 51, 52, 90]));
        assert_eq!(busiest(&open, 3).unwrap(), (window(10, 13), 3));
        // A window of 2 does not reach from 10 to 12.
        assert_eq!(busiest(&open, 2).unwrap(), (window(10, 12), 2));
        assert_eq!(busiest(&open, 1000).unwrap(), (window(0, 1000), 8));
    }

    proptest! {
        #[test]
        fn no_window_has_more(gaps in proptest::collection::vec(0_u64..20, 1..80), length in 1_u64..60) {
            let mut at = 0;
            let at: Vec<Ns> = gaps.iter().map(|gap| { at += gap; at }).collect();
            let (found, most) = busiest(&opener(&times(&at)), length).unwrap();
            let inside = |from: Ns| at.iter().filter(|at| (from..from + length).contains(at)).count() as u64;
            prop_assert_eq!(inside(found.from_ns), most);
            prop_assert_eq!(found.to_ns - found.from_ns, length);
            for from in 0..=at[at.len() - 1] {
                prop_assert!(inside(from) <= most);
            }
        }
    }
}
