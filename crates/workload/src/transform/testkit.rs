//! Streams for the tests of transforms.

use std::sync::Arc;

use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::Ns;

use super::Opener;
use crate::error::WorkloadError;
use crate::source::{Arrival, Source};

/// Requests that are given as they are.
struct Given {
    requests: Vec<Arrival>,
    next: usize,
}

impl Source for Given {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let count = limit.min(self.requests.len() - self.next);
        out.extend_from_slice(&self.requests[self.next..self.next + count]);
        self.next += count;
        Ok(count)
    }
}

pub(super) fn given(requests: &[Arrival]) -> Box<dyn Source> {
    Box::new(Given { requests: requests.to_vec(), next: 0 })
}

pub(super) fn opener(requests: &[Arrival]) -> Opener {
    let requests = requests.to_vec();
    Arc::new(move || Ok(given(&requests)))
}

/// Reads of one sector at these times.
pub(super) fn times(at: &[Ns]) -> Vec<Arrival> {
    at.iter()
        .map(|&at| Arrival {
            at,
            command: Command { kind: CommandKind::Read, sector: 0, sectors: 1, critical: false },
            queue: 0,
            latency_ns: None,
        })
        .collect()
}

/// Reads of these sectors and sizes at time 0.
pub(super) fn reads(extents: &[(u64, u32)]) -> Vec<Arrival> {
    let command = |sector, sectors| Command { kind: CommandKind::Read, sector, sectors, critical: false };
    extents.iter().map(|&(sector, sectors)| Arrival { at: 0, command: command(sector, sectors), queue: 0, latency_ns: None }).collect()
}

/// Everything that a source gives, taken in batches.
pub(super) fn read_all(mut source: Box<dyn Source>, batch: usize) -> Vec<Arrival> {
    let mut all = Vec::new();
    while source.fill(&mut all, batch).unwrap() > 0 {}
    assert_eq!(source.fill(&mut all, batch).unwrap(), 0, "the end is the end");
    all
}
