//! Helpers of tests that drive the engine themselves: one observer and one source. Each observer type compiles the engine again,
//! so all tests share `Log`.

use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::observe::{Completion, Observer, PARTS, RequestAttribution};
use tinytail_simulator::catalog;
use tinytail_workload::{Arrival, Source, WorkloadError};

/// Keeps every completion, and the time of all requests by cause.
pub struct Log {
    pub completions: Vec<Completion>,
    pub causes: [u64; PARTS],
}

impl Default for Log {
    fn default() -> Self {
        Self { completions: Vec::new(), causes: [0; PARTS] }
    }
}

impl Observer for Log {
    fn completed(&mut self, completion: &Completion, attribution: RequestAttribution<'_>) {
        assert_eq!(attribution.total(), completion.completed - completion.arrived, "the causes of a latency add up to it");
        attribution.parts().for_each(|(part, ns)| self.causes[part] += ns);
        self.completions.push(*completion);
    }
}

impl Log {
    /// Take the completions, in the order of their submission.
    pub fn take(&mut self) -> Vec<Completion> {
        let mut completions = std::mem::take(&mut self.completions);
        completions.sort_by_key(|completion| completion.id);
        completions
    }
}

/// Return an aged, awake drive with a design of the catalog. It checks every read.
pub fn aged(device: &Device, design: &str) -> Drive<Log> {
    let mut drive = Drive::new(device, catalog::design(design).unwrap(), true, Log::default()).unwrap();
    drive.age(1, &[], |_, _| true);
    drive.wake();
    drive
}

/// A source of these requests, in this order.
pub struct Given(pub Vec<Arrival>);

impl Source for Given {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let count = limit.min(self.0.len());
        out.extend(self.0.drain(..count));
        Ok(count)
    }
}
