//! The first requests of a stream.

use tinytail_core::host::Arrival;

use crate::error::WorkloadError;
use crate::source::Source;

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

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }
}
