//! Writes that are marked as critical.

use tinytail_core::commands::CommandKind;

use crate::error::WorkloadError;
use crate::source::{Arrival, Note, Source};

/// Every write marked as critical.
pub(crate) struct CriticalWrites {
    pub(crate) inner: Box<dyn Source>,
}

impl Source for CriticalWrites {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let start = out.len();
        let count = self.inner.fill(out, limit)?;
        out[start..].iter_mut().for_each(|arrival| arrival.command.critical = arrival.command.kind == CommandKind::Write);
        Ok(count)
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}
