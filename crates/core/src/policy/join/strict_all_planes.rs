//! # Strict multi-plane programs
//!
//! **What it does.** A die programs pages of the host or of the buffer only when each of its planes has one and none is held
//! by a GC: one multi-plane program at one offset. Write points that lag behind, as after a GC or at the start, are padded up to
//! the others. When the first page has waited for `wait_us`, planes without a page are padded too. Reads join as with
//! `same_offset`. Pages that GC moves are programmed singly, in a write point of their own where the design has two.
//!
//! **Source.** Practical Erase Suspension, section 3.1: strict 8-plane programs. The paper does not say what becomes of
//! incomplete groups. In a real drive GC's pages gather in groups as well; here they don't.
//!
//! **Parameters.** `wait_us` (default 1000): microseconds for which the first page waits for the others, 1 to 1,000,000.
//!
//! **Cost.** Pages wait for each other; padding is write amplification that the counter of padded pages shows. With one
//! write point for host and GC, every GC costs padding.

use crate::config::ConfigError;
use crate::device::Device;
use crate::policy::Join;
use crate::policy::join::same_offset::SameOffset;
use crate::units::Ns;
use crate::view::{View, Waiting};
use schemars::JsonSchema;
use serde::Deserialize;

/// All planes of a die, or none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StrictAllPlanes {
    #[serde(default = "wait")]
    wait_us: u64,
}

fn wait() -> u64 {
    1000
}

impl StrictAllPlanes {
    /// A first page waits for so many microseconds.
    pub fn new(wait_us: u64) -> Self {
        Self { wait_us }
    }
}

impl Join for StrictAllPlanes {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        if !(1..=1_000_000).contains(&self.wait_us) {
            return Err(ConfigError(format!("[join] `wait_us` is {}; allowed: 1 to 1000000", self.wait_us)));
        }
        if !device.flash.multi_plane_program {
            return Err(ConfigError(format!(
                "[join] `policy` is \"strict_all_planes\", which programs all planes of a die at once; [flash] `multi_plane_program` of \
                 {} is false",
                device.name
            )));
        }
        Ok(())
    }

    fn partners(&mut self, view: View<'_>, lead: &Waiting, waiting: &[Waiting], join: &mut [bool]) {
        SameOffset {}.partners(view, lead, waiting, join);
    }

    fn active(&mut self) -> bool {
        true
    }

    fn gather_ns(&mut self) -> Option<Ns> {
        Some(self.wait_us * 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_device;

    #[test]
    fn flash_without_multi_plane_programs_is_refused() {
        let mut device = tiny_device();
        StrictAllPlanes::new(1).prepare(&device).unwrap();
        device.flash.multi_plane_program = false;
        let error = StrictAllPlanes::new(1).prepare(&device).unwrap_err().0;
        assert!(error.contains("strict_all_planes") && error.contains("`multi_plane_program`"), "{error}");
    }

    #[test]
    fn a_wait_of_no_time_is_refused() {
        assert!(StrictAllPlanes::new(0).prepare(&tiny_device()).unwrap_err().0.contains("`wait_us`"));
    }
}
