//! # Immediate erase suspension (I-ES)
//!
//! **What it does.** The step of an erase that runs is aborted at once when a host read waits for its die. When no read waits
//! any more, that step starts anew, after a verify pulse; the steps before it are kept. A step that would end before it could
//! be aborted counts.
//!
//! **Source.** Practical Erase Suspension, section 2.2.
//!
//! **Parameters.** `programs`, as of [`es`](#es-erase-suspension-es): `"never"` (default), `"inter_phase"` or `"intra_phase"`.
//!
//! **Cost.** A read waits for the device's `suspend_ns`; each abort costs the erase up to a whole step, `verify_ns` and one
//! more recovery and ramp. Where no gap between reads is as long as a step, erases starve, and writes with them.

use crate::config::ConfigError;
use crate::device::Device;
use crate::flash::ask::{Keep, Serve, Suspension};
use crate::flash::op::OpKind;
use crate::ids::DieIx;
use crate::policy::interface::Suspend;
use crate::policy::suspend::{Programs, needs_steps};
use crate::view::View;
use serde::Deserialize;

/// Erases are cut at once; the step that was cut starts anew.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IEs {
    #[serde(default)]
    programs: Programs,
}

impl IEs {
    /// With or without suspension of programs.
    pub fn new(programs: Programs) -> Self {
        Self { programs }
    }
}

impl Suspend for IEs {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        needs_steps("i_es", device)?;
        self.programs.prepare(device)
    }

    fn suspend(&mut self, view: View<'_>, die: DieIx) -> Suspension {
        match view.pulse(die).map(|pulse| pulse.kind) {
            Some(OpKind::Erase) => Suspension::Now(Keep::Steps, Serve::UntilNoneWaits),
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
    fn erases_lose_their_step_and_programs_are_left_alone() {
        let mut technique = IEs::default();
        let erase = running(OpKind::Erase, 100, 100, 600);
        assert_eq!(technique.suspend(erase.view(), 0), Suspension::Now(Keep::Steps, Serve::UntilNoneWaits));
        let copyback = running(OpKind::Copyback, 100, 100, 600);
        assert_eq!(technique.suspend(copyback.view(), 0), Suspension::No);
    }

    #[test]
    fn an_erase_of_one_step_is_refused() {
        let mut device = tiny_device();
        device.timing.erase_steps = 1;
        let refusal = IEs::default().prepare(&device).unwrap_err();
        assert!(refusal.0.contains("\"i_es\"") && refusal.0.contains("`erase_steps` = 1"), "{}", refusal.0);
        device.timing.erases_per_extra_step = Some(10);
        IEs::default().prepare(&device).unwrap();
    }
}
