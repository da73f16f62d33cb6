//! Times, or sizes, multiplied.

use tinytail_core::units::Ns;

use crate::error::WorkloadError;
use crate::source::{Arrival, Note, Source};

/// Every time multiplied by a factor, down to a nanosecond. Times beyond 64 bits become the latest.
pub(crate) struct ScaledTime {
    pub(crate) inner: Box<dyn Source>,
    pub(crate) factor: f64,
}

impl Source for ScaledTime {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let start = out.len();
        let count = self.inner.fill(out, limit)?;
        // Conversion saturates.
        out[start..].iter_mut().for_each(|arrival| arrival.at = (arrival.at as f64 * self.factor) as Ns);
        Ok(count)
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}

/// Every size multiplied by a factor, to the nearest sector and at least one. Requests start where they did.
pub(crate) struct ScaledSize {
    pub(crate) inner: Box<dyn Source>,
    pub(crate) factor: f64,
}

impl Source for ScaledSize {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let start = out.len();
        let count = self.inner.fill(out, limit)?;
        for arrival in &mut out[start..] {
            // Conversion saturates, so that an absurd size ends beyond every drive and is reported.
            let sectors = (f64::from(arrival.command.sectors) * self.factor + 0.5) as u32;
            arrival.command.sectors = sectors.max(1);
        }
        Ok(count)
    }

    fn notes(&self) -> Vec<Note> {
        self.inner.notes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{given, read_all, reads, times};
    use super::*;

    #[test]
    fn times_are_multiplied_and_cut_to_nanoseconds() {
        let scaled = |factor| read_all(Box::new(ScaledTime { inner: given(&times(&[0, 3, 1_000_000_001])), factor }), 2);
        assert_eq!(scaled(0.5), times(&[0, 1, 500_000_000]));
        assert_eq!(scaled(1.0), times(&[0, 3, 1_000_000_001]));
        assert_eq!(scaled(100.0), times(&[0, 300, 100_000_000_100]));
    }

    #[test]
    fn sizes_are_multiplied_to_the_nearest_sector() {
        let scaled = |factor| {
            let source = ScaledSize { inner: given(&reads(&[(8, 1), (100, 8), (9, 3)])), factor };
            read_all(Box::new(source), 2)
        };
        assert_eq!(scaled(0.5), reads(&[(8, 1), (100, 4), (9, 2)]));
        assert_eq!(scaled(0.01), reads(&[(8, 1), (100, 1), (9, 1)]));
        assert_eq!(scaled(2.0), reads(&[(8, 2), (100, 16), (9, 6)]));
        assert_eq!(scaled(1e9)[0].command.sectors, 1_000_000_000);
        assert_eq!(scaled(1e10)[0].command.sectors, u32::MAX);
    }
}
