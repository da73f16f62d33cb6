//! The streams that a workload is played from: one, or one for each of its threads.

use tinytail_core::units::Ns;

use crate::source::{Note, Source};

/// When the next request is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At its own time, whatever the drive does.
    Open,
    /// At its own time, or in its turn as soon as fewer than this many of the same stream are outstanding. Until then it waits in the
    /// host.
    Bounded {
        /// Number of outstanding requests, at least 1.
        outstanding_max: u32,
    },
    /// In bursts of requests with equal times. A burst is issued when all of the one before have completed and the difference
    /// between their times has passed.
    Bursts,
    /// When another of the same stream completes, so that this many are always outstanding.
    Closed {
        /// Number of outstanding requests, at least 1.
        depth: u32,
    },
}

impl Pacing {
    /// Whether requests have times of their own, before which they are not issued.
    #[must_use]
    pub fn has_times(self) -> bool {
        matches!(self, Self::Open | Self::Bounded { .. })
    }
}

/// What is added to a pacing. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// When the stream begins, counted from the beginning of the run. Times of requests in open loop are counted from there.
    pub start_ns: Ns,
    /// How long it issues requests, from its beginning; the first one that would be issued at that time is not.
    pub runtime_ns: Option<Ns>,
    /// In closed loop: the time from the completion of a request to the issue of the one that takes its place.
    pub think_ns: Ns,
    /// In closed loop: it issues requests in pulses; all the time without them.
    pub pulses: Option<Pulses>,
    /// Pauses in which nothing of the stream is outstanding.
    pub rest: Option<Rest>,
}

/// Now and then a stream issues nothing until all that it has outstanding has completed, and then for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// How long, from the last completion.
    pub think_ns: Ns,
    /// After how many requests; never because of them without it. At least 1.
    pub requests: Option<u64>,
    /// Whether those that have been issued count, and not those that have completed.
    pub counts_issued: bool,
    /// After how long from the end of the pause before; never because of time without it.
    pub busy_ns: Option<Ns>,
}

/// Times of load with pauses between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulses {
    /// How long requests are issued, from the beginning of a pulse; the first one that would be issued at that time is not.
    /// Above 0.
    pub pulse_ns: Ns,
    /// How long none are, until the next pulse begins.
    pub pause_ns: Ns,
}

/// Requests that are paced together.
pub struct Stream {
    /// The requests.
    pub source: Box<dyn Source>,
    /// When they are issued.
    pub pacing: Pacing,
    /// What is added to that.
    pub timing: Timing,
    /// Whether the workload may end while this stream still has requests.
    pub endless: bool,
}

/// Everything that a workload plays. It ends when all streams that are not endless have ended, or after some requests.
pub struct Streams {
    /// The streams, at least one. What is issued at the same time is issued in this order.
    pub streams: Vec<Stream>,
    /// How many requests are issued in all, at most.
    pub requests: u64,
}

impl Streams {
    /// A workload of one stream, which ends by itself.
    #[must_use]
    pub fn one(source: Box<dyn Source>, pacing: Pacing) -> Self {
        Self { streams: vec![Stream { source, pacing, timing: Timing::default(), endless: false }], requests: u64::MAX }
    }

    /// What is to be known of the requests played so far.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        self.streams.iter().flat_map(|stream| stream.source.notes()).collect()
    }
}
