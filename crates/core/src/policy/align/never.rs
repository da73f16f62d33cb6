//! # No aligned blocks
//!
//! **What it does.** `place` chooses each plane's write points by itself.
//!
//! **Source.** I/O-parallelized GC, section 2.2: one active block for each plane.
//!
//! **Parameters.** None. **Cost.** Planes of a die program at one page offset by chance only.

use crate::ids::PlaneIx;
use crate::policy::interface::Align;
use crate::view::View;
use serde::Deserialize;

/// `place` chooses.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Never {}

impl Align for Never {
    fn gc_point(&mut self, _: View<'_>, _: PlaneIx) -> usize {
        0
    }

    fn host_point(&mut self, _: View<'_>, _: PlaneIx) -> usize {
        0
    }

    fn partner_point(&mut self, _: View<'_>, _: PlaneIx, _: u32, _: bool) -> Option<usize> {
        None
    }

    fn active(&mut self) -> bool {
        false
    }
}
