//! # Ideal erase suspension (Ideal-ES)
//!
//! **What it does.** As [`es`](#es-erase-suspension-es), but neither cutting an erase nor going on with it takes any time,
//! whatever the device says. No flash can do that.
//!
//! **Source.** Practical Erase Suspension, section 3.1.
//!
//! **Parameters.** `programs`, as of [`es`](#es-erase-suspension-es): `"never"` (default), `"inter_phase"` or `"intra_phase"`;
//! these take their time.
//!
//! **Cost.** None but the time of the reads.

use crate::config::ConfigError;
use crate::device::Device;
use crate::flash::ask::{Keep, Serve, Suspension};
use crate::flash::op::OpKind;
use crate::ids::DieIx;
use crate::policy::interface::Suspend;
use crate::policy::suspend::Programs;
use crate::view::View;
use serde::Deserialize;

/// As erase suspension, and it takes no time.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ideal {
    #[serde(default)]
    programs: Programs,
}

impl Ideal {
    /// With or without suspension of programs.
    pub fn new(programs: Programs) -> Self {
        Self { programs }
    }
}

impl Suspend for Ideal {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.programs.prepare(device)
    }

    fn suspend(&mut self, view: View<'_>, die: DieIx) -> Suspension {
        match view.pulse(die).map(|pulse| pulse.kind) {
            Some(OpKind::Erase) => Suspension::Now(Keep::ProgressForFree, Serve::UntilNoneWaits),
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

    #[test]
    fn erases_make_way_for_free_and_programs_are_left_alone() {
        let mut technique = Ideal::default();
        let erase = running(OpKind::Erase, 100, 100, 600);
        assert_eq!(technique.suspend(erase.view(), 0), Suspension::Now(Keep::ProgressForFree, Serve::UntilNoneWaits));
        let program = running(OpKind::Program, 100, 100, 600);
        assert_eq!(technique.suspend(program.view(), 0), Suspension::No);
    }
}
