//! What a technique may look at to see whether it goes together with the rest of its design.

use crate::device::Device;
use crate::policy::answers::PairingTraits;
use tinytail_config::{Fault, Faults};

/// What the other sections of a design say. All of its techniques are prepared.
#[derive(Debug)]
pub struct Combination<'a> {
    /// The device.
    pub device: &'a Device,
    /// The policy of `[place]`.
    pub place: &'static str,
    /// Pages have no place until a die could begin to program them.
    pub late_bound: bool,
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
    /// The background and the emergency threshold of a plane, in erased blocks, if `[gc_trigger]` has them.
    pub thresholds: Option<(u32, u32)>,
    /// The policy of `[pairing]`.
    pub pairing: &'static str,
    /// What it makes operations do.
    pub pairs: PairingTraits,
    /// GC's pages cross the channel.
    pub gc_through_controller: bool,
    /// GC takes no time.
    pub gc_ideal: bool,
    /// GC's pages may leave their plane.
    pub gc_leaves_plane: bool,
    /// They may leave their die.
    pub gc_leaves_die: bool,
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
    pub(crate) fn needs_stripes(&self, section: &str, policy: &str, faults: &mut Faults) {
        if self.stripes {
            return;
        }
        let found = format!("= \"{policy}\" needs stripes with parity, and [place] `policy` = \"{}\" has none", self.place);
        faults.push(Fault::new(section, "policy", found).with("place", "policy").allowed("\"rain\""));
    }

    /// What a technique that serves GC's operations contradicts where GC has none that cross the channel; `copyback` and `ideal` say
    /// why.
    pub(crate) fn without_gc_programs<'a>(&self, copyback: &str, ideal: &str) -> Option<Against<'a>> {
        if !self.gc_through_controller {
            Some(Against("gc", "copy", format!("= \"copyback\", {copyback}"), "\"controller\""))
        } else if self.gc_ideal {
            Some(Against("gc", "ideal", format!("= true, {ideal}"), "false"))
        } else {
            None
        }
    }
}

/// What a choice contradicts: section and key, its value with a reason, and what is allowed in place of it.
pub(crate) struct Against<'a>(pub &'a str, pub &'a str, pub String, pub &'a str);

impl Against<'_> {
    pub(crate) fn fault(self, section: &str, key: &str, found: String) -> Fault {
        let Self(other, other_key, said, allowed) = self;
        Fault::new(section, key, format!("{found} contradicts [{other}] `{other_key}` {said}")).with(other, other_key).allowed(allowed)
    }
}

/// `= "name"`, with a reason.
pub(crate) fn named(name: &str, reason: &str) -> String {
    format!("= \"{name}\", {reason}")
}
