//! # Multi-plane commands at the same offset
//!
//! **What it does.** When an operation starts, waiting operations of the same kind and class join it that are for other
//! planes of the die and for the same page offset in their blocks: one array time for all, transfers one after another.
//! Of each plane the 16 that have waited longest are looked at. Reads join only on flash with multi-plane reads, programs
//! only on flash with multi-plane programs; a device that has neither is refused, or with `where_possible` nothing joins.
//!
//! **Source.** I/O-parallelized GC, section 2.2.2 (the rules of a multi-plane command); host I/O uses them in its baseline.
//!
//! **Parameters.** `where_possible` (default false): flash without multi-plane commands, or dies of one plane, are not refused.
//!
//! **Cost.** The first page of the group waits for the transfers of the others.

use crate::policy::prelude::*;

/// Same kind, same class, same offset, other plane.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SameOffset {
    #[serde(default)]
    where_possible: bool,
    /// The flash has no such commands, and need not have them.
    #[serde(skip)]
    idle: bool,
}

impl SameOffset {
    /// Whether nothing will join on this device, because its flash can't.
    pub(crate) fn does_without(&self, device: &Device) -> bool {
        self.where_possible && check_multi_plane("same_offset", device).is_err()
    }
}

/// Lets the first that fits of each plane join an operation of the same kind and page offset.
pub(super) fn first_of_each_plane(lead: &Waiting, waiting: &[Waiting], paired: &mut [bool], fits: impl Fn(&Waiting) -> bool) {
    let mut taken = 1u64 << (lead.plane % 64);
    for (candidate, paired) in waiting.iter().zip(paired) {
        let plane = 1u64 << (candidate.plane % 64);
        if candidate.kind == lead.kind && candidate.offset == lead.offset && fits(candidate) && taken & plane == 0 {
            taken |= plane;
            *paired = true;
        }
    }
}

impl Pairing for SameOffset {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.idle = self.does_without(device);
        if self.idle { Ok(()) } else { check_multi_plane("same_offset", device) }
    }

    fn partners(&mut self, _: View<'_>, lead: &Waiting, waiting: &[Waiting], paired: &mut [bool]) {
        if self.idle {
            return;
        }
        first_of_each_plane(lead, waiting, paired, |candidate| candidate.class == lead.class);
    }
}

/// Refuses a technique of multi-plane commands on flash that has none.
pub(super) fn check_multi_plane(policy: &str, device: &Device) -> Result<(), ConfigError> {
    if device.flash.multi_plane_read || device.flash.multi_plane_program {
        return Ok(());
    }
    let found = format!(
        "is \"{policy}\", which makes multi-plane commands; {} has none: its [flash] `multi_plane_read` and `multi_plane_program` are both \
         false",
        device.name
    );
    Err(Fault::new("pairing", "policy", found).with("flash", "multi_plane_read").with("flash", "multi_plane_program").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::op::{Class, OpKind};
    use crate::testkit::{tiny_device, tiny_state};

    #[test]
    fn flash_without_any_multi_plane_command_is_refused() {
        let mut device = tiny_device();
        device.flash.multi_plane_read = false;
        SameOffset::default().prepare(&device).unwrap();
        device.flash.multi_plane_program = false;
        let error = SameOffset::default().prepare(&device).unwrap_err().to_string();
        assert!(error.contains("`policy`") && error.contains("`multi_plane_read` and `multi_plane_program`"), "{error}");
    }

    #[test]
    fn one_partner_for_each_other_plane_at_the_same_offset() {
        let read = |plane, offset| Waiting { kind: OpKind::Read, class: Class::HostRead, plane, offset };
        let waiting = [read(1, 8), read(1, 7), read(1, 7), read(2, 7), read(0, 7)];
        let mut paired = [false; 5];
        SameOffset::default().partners(tiny_state().view(), &read(0, 7), &waiting, &mut paired);
        assert_eq!(paired, [false, true, false, true, false]);
    }
}
