//! # Erase suspension (ES)
//!
//! **What it does.** A running erase is cut at once when a host read waits for its die, keeps all its progress, and goes on
//! from there when no read waits any more.
//!
//! **Source.** Wu and He, FAST '12, as Practical Erase Suspension compares with it (sections 2.1 and 3.1).
//!
//! **Parameters.** `programs`: whether programs make way too; `"never"` (default), `"inter_phase"` (at the end of the
//! current of the device's `program_steps`) or `"intra_phase"` (at once, and the step starts anew), the two ways of Wu and He.
//! A program that takes several planes is never cut.
//!
//! **Cost.** A read waits for the device's `suspend_ns`; each cut in the middle of a step costs the erase that, `resume_ns`
//! and one more recovery and ramp of the voltage. Reads that come faster than that starve erases, and writes with them.

use crate::config::ConfigError;
use crate::device::Device;
use crate::flash::ask::{Keep, Serve, Suspension};
use crate::flash::op::OpKind;
use crate::ids::DieIx;
use crate::policy::interface::Suspend;
use crate::policy::suspend::Programs;
use crate::view::View;
use serde::Deserialize;

/// Erases are cut at once and go on from there.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Es {
    #[serde(default)]
    programs: Programs,
}

impl Es {
    /// With or without suspension of programs.
    pub fn new(programs: Programs) -> Self {
        Self { programs }
    }
}

impl Suspend for Es {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.programs.prepare(device)
    }

    fn suspend(&mut self, view: View<'_>, die: DieIx) -> Suspension {
        match view.pulse(die).map(|pulse| pulse.kind) {
            Some(OpKind::Erase) => Suspension::Now(Keep::Progress, Serve::UntilNoneWaits),
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
    use crate::units::Ns;

    #[test]
    fn erases_are_cut_at_once_and_programs_as_the_parameter_says() {
        let erase = running(OpKind::Erase, 100, 100, 600);
        let program = running(OpKind::Program, 100, Ns::MAX, 600);
        for (programs, answer) in [
            (Programs::Never, Suspension::No),
            (Programs::InterPhase, Suspension::AtBoundary(Serve::UntilNoneWaits)),
            (Programs::IntraPhase, Suspension::Now(Keep::Steps, Serve::UntilNoneWaits)),
        ] {
            let mut es = Es::new(programs);
            assert_eq!(es.suspend(erase.view(), 0), Suspension::Now(Keep::Progress, Serve::UntilNoneWaits));
            assert_eq!(es.suspend(program.view(), 0), answer);
            assert_eq!(es.suspend(program.view(), 1), Suspension::No, "a die that runs nothing");
        }
    }

    #[test]
    fn programs_of_one_step_have_no_phases_to_suspend_between() {
        let mut device = tiny_device();
        let refusal = Es::new(Programs::InterPhase).prepare(&device).unwrap_err();
        assert!(refusal.0.contains("`program_steps` = 1, allowed: 2 or more"), "{}", refusal.0);
        device.timing.program_steps = 2;
        Es::new(Programs::InterPhase).prepare(&device).unwrap();
    }
}
