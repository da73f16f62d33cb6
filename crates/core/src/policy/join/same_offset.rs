//! # Multi-plane commands at the same offset
//!
//! **What it does.** When an operation starts, waiting operations of the same kind and class join it that are for other
//! planes of the die and for the same page offset in their blocks: one array time for all, transfers one after another.
//!
//! **Source.** I/O-parallelized GC, section 2.2.2 (the rules of a multi-plane command); host I/O uses them in its baseline.
//!
//! **Parameters.** None. **Cost.** The first page of the group waits for the transfers of the others.

use crate::policy::Join;
use crate::view::{View, Waiting};
use schemars::JsonSchema;
use serde::Deserialize;

/// Same kind, same class, same offset, other plane.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SameOffset {}

impl Join for SameOffset {
    fn partners(&mut self, _: View<'_>, lead: &Waiting, waiting: &[Waiting], join: &mut [bool]) {
        let mut taken = 1u64 << (lead.plane % 64);
        for (candidate, join) in waiting.iter().zip(join) {
            let plane = 1u64 << (candidate.plane % 64);
            if candidate.kind == lead.kind && candidate.class == lead.class && candidate.offset == lead.offset && taken & plane == 0 {
                taken |= plane;
                *join = true;
            }
        }
    }

    fn active(&mut self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::ops::{Class, OpKind};
    use crate::testkit::tiny_state;

    #[test]
    fn one_partner_for_each_other_plane_at_the_same_offset() {
        let read = |plane, offset| Waiting { kind: OpKind::Read, class: Class::HostRead, plane, offset };
        let waiting = [read(1, 8), read(1, 7), read(1, 7), read(2, 7), read(0, 7)];
        let mut join = [false; 5];
        SameOffset {}.partners(View(&tiny_state()), &read(0, 7), &waiting, &mut join);
        assert_eq!(join, [false, true, false, true, false]);
    }
}
