//! Whether erases and programs make way for reads.

use crate::config::ConfigError;
use crate::device::Device;
use crate::flash::ask::{Keep, Serve, Suspension};
use serde::Deserialize;

pub mod d_es;
pub mod es;
pub mod i_es;
pub mod ideal;
pub mod never;
pub mod t_es;

/// Whether programs make way for reads as well, by one of the two ways of Wu and He (FAST '12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Programs {
    /// They run to their end.
    #[default]
    Never,
    /// Inter-phase suspension: at the end of the current step.
    InterPhase,
    /// Intra-phase cancelation: at once; the step that was cut starts anew.
    IntraPhase,
}

impl Programs {
    /// The answer for a program.
    fn answer(self) -> Suspension {
        match self {
            Self::Never => Suspension::No,
            Self::InterPhase => Suspension::AtBoundary(Serve::UntilNoneWaits),
            Self::IntraPhase => Suspension::Now(Keep::Steps, Serve::UntilNoneWaits),
        }
    }

    /// Checks it against the device.
    fn prepare(self, device: &Device) -> Result<(), ConfigError> {
        if self == Self::InterPhase && device.timing.program_steps < 2 {
            return Err(ConfigError(format!(
                "[suspend] `programs` = \"inter_phase\" cuts programs between two steps; the device {} has [timing] `program_steps` = {}, \
                 allowed: 2 or more",
                device.name, device.timing.program_steps
            )));
        }
        Ok(())
    }
}

/// Refuses a device whose erases have no boundary between two steps.
fn needs_steps(technique: &str, device: &Device) -> Result<(), ConfigError> {
    let timing = &device.timing;
    if timing.erase_steps < 2 && (timing.erases_per_extra_step.is_none() || timing.erase_steps_max < 2) {
        return Err(ConfigError(format!(
            "[suspend] `policy` = \"{technique}\" suspends erases between two steps; the device {} has [timing] `erase_steps` = {}, allowed: \
             2 or more",
            device.name, timing.erase_steps
        )));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod testkit {
    //! The state of a tiny drive in the middle of an erase or a program.

    use crate::flash::op::{Class, Op, OpKind, Owner};
    use crate::ids::NONE;
    use crate::observe::Occupant;
    use crate::testkit::Parts;
    use crate::testkit::tiny_state;
    use crate::units::Ns;

    /// Die 0 runs an operation since `begun`; it is `now`, and erases have been pending since `pending`.
    pub fn running(kind: OpKind, begun: Ns, pending: Ns, now: Ns) -> Parts {
        let mut state = tiny_state();
        let op = state.flash.new_op(Op::new(kind, Class::Gc, Occupant::Erase, Owner::Gc(0), NONE, 0));
        let die = &mut state.flash.dies_for_test()[0];
        die.running = op;
        die.pulse.start(begun, 10_000, 2000);
        die.pulse.pending_since = pending;
        state.flash.now = now;
        state
    }
}
