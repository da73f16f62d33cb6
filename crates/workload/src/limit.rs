//! Parts of a stream: its first requests, so many sectors of it, those within a time.

use tinytail_core::units::Ns;

use crate::error::WorkloadError;
use crate::source::{Arrival, Note, Source};

/// A stream cut off after some requests.
pub(crate) struct Limited {
    pub(crate) inner: Box<dyn Source>,
    pub(crate) left: u64,
}

impl Source for Limited {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let count = self.inner.fill(out, limit.min(usize::try_from(self.left).unwrap_or(usize::MAX)))?;
        self.left -= count as u64;
        Ok(count)
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}

/// A stream that ends with the request that reaches so many sectors.
pub(crate) struct LimitedSectors {
    pub(crate) inner: Box<dyn Source>,
    pub(crate) left: u64,
}

impl Source for LimitedSectors {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        if self.left == 0 {
            return Ok(0);
        }
        let before = out.len();
        self.inner.fill(out, limit)?;
        for index in before..out.len() {
            self.left = self.left.saturating_sub(u64::from(out[index].command.sectors));
            if self.left == 0 {
                out.truncate(index + 1);
                break;
            }
        }
        Ok(out.len() - before)
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}

/// A stream that begins later, and ends before the first request that would arrive when its time is over.
pub(crate) struct Between {
    inner: Box<dyn Source>,
    delay_ns: Ns,
    end_ns: Ns,
    ended: bool,
}

impl Between {
    pub(crate) fn new(inner: Box<dyn Source>, delay_ns: Ns, runtime_ns: Option<Ns>) -> Self {
        let end_ns = runtime_ns.map_or(Ns::MAX, |runtime_ns| delay_ns.saturating_add(runtime_ns));
        Self { inner, delay_ns, end_ns, ended: false }
    }
}

impl Source for Between {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        if self.ended {
            return Ok(0);
        }
        let before = out.len();
        let filled = self.inner.fill(out, limit);
        for index in before..out.len() {
            out[index].at = out[index].at.saturating_add(self.delay_ns);
            if out[index].at >= self.end_ns {
                self.ended = true;
                out.truncate(index);
                // What comes later, and whether it comes too late, is of no interest.
                return Ok(out.len() - before);
            }
        }
        filled
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}
