//! # Deferred erase suspension (D-ES)
//!
//! **What it does.** The step of an erase that runs is finished when a host read waits for its die. Then the reads that had
//! arrived by its end are served, and the next step begins. Reads that come meanwhile wait for the end of that one.
//!
//! **Source.** Practical Erase Suspension, section 2.3. That exactly the reads that had arrived are served is a decision: to
//! serve until none waits would not guarantee progress, as the paper says that it does.
//!
//! **Parameters.** `programs`, as of [`es`](#es-erase-suspension-es): `"never"` (default), `"inter_phase"` or `"intra_phase"`.
//!
//! **Cost.** A read waits for up to a step; nothing of the erase is lost, and it has no more ramps than it would have had.

use crate::config::ConfigError;
use crate::device::Device;
use crate::flash::ask::{Serve, Suspension};
use crate::flash::op::OpKind;
use crate::ids::DieIx;
use crate::policy::interface::Suspend;
use crate::policy::suspend::{Programs, needs_steps};
use crate::view::View;
use serde::Deserialize;

/// Erases are cut at the end of the current step.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DEs {
    #[serde(default)]
    programs: Programs,
}

impl DEs {
    /// With or without suspension of programs.
    pub fn new(programs: Programs) -> Self {
        Self { programs }
    }
}

impl Suspend for DEs {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        needs_steps("d_es", device)?;
        self.programs.prepare(device)
    }

    fn suspend(&mut self, view: View<'_>, die: DieIx) -> Suspension {
        match view.pulse(die).map(|pulse| pulse.kind) {
            Some(OpKind::Erase) => Suspension::AtBoundary(Serve::Arrived),
            Some(_) => self.programs.answer(),
            None => Suspension::No,
        }
    }

    fn active(&mut self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::suspend::testkit::running;
    use crate::testkit::tiny_device;

    #[test]
    fn erases_end_their_step_and_programs_are_left_alone() {
        let mut technique = DEs::default();
        let erase = running(OpKind::Erase, 100, 100, 600);
        assert_eq!(technique.suspend(erase.view(), 0), Suspension::AtBoundary(Serve::Arrived));
        let program = running(OpKind::Program, 100, 100, 600);
        assert_eq!(technique.suspend(program.view(), 0), Suspension::No);
    }

    #[test]
    fn an_erase_of_one_step_is_refused() {
        let mut device = tiny_device();
        DEs::default().prepare(&device).unwrap();
        device.timing.erase_steps = 1;
        let refusal = DEs::default().prepare(&device).unwrap_err();
        assert!(refusal.0.contains("\"d_es\"") && refusal.0.contains("2 or more"), "{}", refusal.0);
    }
}
