//! Which kinds of requests a run measures apart.

use crate::spec::RunError;
use schemars::JsonSchema;
use serde::Deserialize;
use tinytail_core::commands::CommandKind;
use tinytail_core::units::SECTOR_BYTES;
use tinytail_metrics::kinds::{Kind, Kinds, Limits, SLICES_MAX};

/// Kinds of requests whose latencies are kept apart and compared with limits.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindsSpec {
    /// The kinds.
    pub of: Vec<KindSpec>,
    /// A request that takes as long as one of these, or longer, misses it.
    pub limits_ns: Vec<u64>,
    /// The length of the measured part.
    pub duration_ns: u64,
    /// Into so many slices of time it is cut.
    pub slices: u32,
}

/// Requests of one kind and size.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindSpec {
    /// What they do.
    pub kind: ReadOrWrite,
    /// Their size, a multiple of 512.
    pub bytes: u32,
    /// The run is given up when their latencies add up to this, if given.
    pub sum_ns_max: Option<u64>,
    /// The run is given up when one of them takes longer, if given.
    pub latency_ns_max: Option<u64>,
}

/// A read or a write.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReadOrWrite {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl KindsSpec {
    /// What keeps them apart.
    pub(crate) fn kinds(&self) -> Result<Kinds, RunError> {
        if !(1..=SLICES_MAX).contains(&self.slices) {
            return Err(RunError::Failed(format!("{} slices were asked for; 1 to {SLICES_MAX} are possible", self.slices)));
        }
        let mut kinds = Vec::new();
        for of in &self.of {
            if of.bytes == 0 || of.bytes % SECTOR_BYTES != 0 {
                return Err(RunError::Failed(format!(
                    "requests of {} bytes are to be measured apart; sizes are multiples of 512",
                    of.bytes
                )));
            }
            let kind = match of.kind {
                ReadOrWrite::Read => CommandKind::Read,
                ReadOrWrite::Write => CommandKind::Write,
            };
            let (sum_ns_max, latency_ns_max) = (of.sum_ns_max, of.latency_ns_max);
            kinds.push(Kind { kind, sectors: of.bytes / SECTOR_BYTES, sum_ns_max, latency_ns_max });
        }
        let (limits_ns, duration_ns, slices) = (self.limits_ns.clone(), self.duration_ns, self.slices);
        Ok(Kinds::new(&kinds, Limits { limits_ns, duration_ns, slices }))
    }
}
