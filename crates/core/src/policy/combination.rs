//! What a technique may look at to see whether it goes together with the rest of its design.

use crate::device::Device;
use crate::policy::answers::{ModeSwitches, PairingTraits, Reach};
use tinytail_config::{Fault, Faults};

/// What the other sections of a design say. All of its techniques are prepared.
#[derive(Debug)]
pub struct Combination<'a> {
    /// The device.
    pub device: &'a Device,
    /// Programs have no place until they are issued, and GC is single operations.
    pub late_bound: bool,
    /// The policy of `[place]`.
    pub place: &'static str,
    /// Pages form stripes with parity.
    pub stripes: bool,
    /// The policy of `[gc_gate]`.
    pub gc_gate: &'static str,
    /// It is never closed.
    pub gate_always_open: bool,
    /// It lets only one plane of a die collect at a time.
    pub gate_alone_in_die: bool,
    /// The policy of `[gc_lock]`.
    pub gc_lock: &'static str,
    /// GC locks nothing and is one flash operation at a time.
    pub gc_locks_nothing: bool,
    /// GC locks channels too.
    pub gc_locks_channels: bool,
    /// The background and the emergency threshold of a plane, in erased blocks, if `[gc_trigger]` has them.
    pub thresholds: Option<(u32, u32)>,
    /// The policy of `[order]`.
    pub order: &'static str,
    /// When the operating system switches the workload mode, if `[page_choice]` goes by it.
    pub mode_switches: ModeSwitches,
    /// The policy of `[pairing]`.
    pub pairing: &'static str,
    /// What it makes operations do.
    pub pairing_traits: PairingTraits,
    /// GC data cross the channel instead of staying in the plane.
    pub gc_through_controller: bool,
    /// GC is ideal: it takes no time.
    pub gc_ideal: bool,
    /// Among which planes GC moves pages.
    pub gc_destination: Reach,
    /// Open blocks of each plane.
    pub write_points: u32,
}

impl Combination<'_> {
    /// Refuses a policy of a section that goes by the pool of erased blocks, where each plane has its own.
    pub(crate) fn needs_pool(&self, section: &str, policy: &str, faults: &mut Faults) {
        if self.late_bound {
            return;
        }
        let found = format!(
            "= \"{policy}\" goes by how many erased blocks the drive has left, and [place] `policy` = \"{}\" leaves each plane its own",
            self.place
        );
        faults.push(Fault::new(section, "policy", found).with("place", "policy").allowed("\"next_idle\""));
    }

    /// Refuses a policy of a section that has a meaning only where pages form stripes.
    pub fn needs_stripes(&self, section: &str, policy: &str, faults: &mut Faults) {
        if self.stripes {
            return;
        }
        let found = format!("= \"{policy}\" needs stripes with parity, and [place] `policy` = \"{}\" has none", self.place);
        faults.push(Fault::new(section, "policy", found).with("place", "policy").allowed("\"rain\""));
    }

    /// What a technique that serves GC's operations contradicts where GC has none that cross the channel; `copyback` and `ideal` say
    /// why.
    pub(crate) fn gc_programs<'a>(&self, copyback: &str, ideal: &str) -> [Against<'a>; 2] {
        [
            Against::value(!self.gc_through_controller, ["gc", "copy"], format!("= \"copyback\", {copyback}"), "\"controller\""),
            Against::value(self.gc_ideal, ["gc", "ideal"], format!("= true, {ideal}"), "false"),
        ]
    }
}

/// What a choice may contradict, and whether it does.
pub(crate) struct Against<'a> {
    holds: bool,
    section: &'a str,
    key: &'a str,
    /// The value of the key, with the reason.
    said: String,
    /// What is allowed in place of it.
    allowed: &'a str,
}

impl<'a> Against<'a> {
    /// The value of a key.
    pub(crate) fn value(holds: bool, [section, key]: [&'a str; 2], said: impl Into<String>, allowed: &'a str) -> Self {
        Self { holds, section, key, said: said.into(), allowed }
    }

    /// The policy of a section.
    pub(crate) fn policy(holds: bool, section: &'a str, name: &str, reason: &str, allowed: &'a str) -> Self {
        Self::value(holds, [section, "policy"], format!("= \"{name}\", {reason}"), allowed)
    }
}

/// The fault of a choice, `found` of a key, that contradicts any of these: the first.
pub(crate) fn contradiction<'a>(section: &str, key: &str, found: &str, against: impl IntoIterator<Item = Against<'a>>) -> Option<Fault> {
    let Against { section: other, key: other_key, said, allowed, .. } = against.into_iter().find(|against| against.holds)?;
    Some(Fault::new(section, key, format!("{found} contradicts [{other}] `{other_key}` {said}")).with(other, other_key).allowed(allowed))
}
