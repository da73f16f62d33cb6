//! # Aligned active blocks
//!
//! **What it does.** Each plane may have a second open block, for host and GC alike. When a GC begins, it takes of its plane's open
//! blocks, one that is still to be opened included, the one at whose page offset most of its sibling planes can program too:
//! open blocks at equal offsets if there are any, or else new ones; failing that, the ones that will be level after the fewest
//! pages of GC. A program of the host that joins another takes whichever of its plane's blocks is at that offset. All other
//! programs of the host use up the fuller block first, so that none is left behind and no plane has more than two.
//!
//! Where no program of the host waits, GC goes ahead alone and the blocks are level no more. With `skip_pages_max` a plane whose
//! block is behind GC's by no more than so many pages skips them when a program of its own waits; they are written with
//! nothing, in no time, and count as skipped.
//!
//! **Source.** I/O-parallelized GC, section 4.2. Skipping is a decision: the paper lets blocks that are behind stay behind
//! (figure 6c).
//!
//! **Parameters.** `skip_pages_max` (default 0): 0 to the pages of a block less one. Needs `write_points` = 2 or more in `[gc]`
//! (all pairs of open blocks are looked at), and dies of several planes.
//!
//! **Cost.** At most a block less one page of each plane lies open besides the first, and a block is kept for it. Skipped pages are
//! write amplification.

use crate::device::Device;
use crate::ftl::Claimant;
use crate::ids::PlaneIx;
use crate::policy::interface::Align;
use crate::view::View;
use serde::Deserialize;
use std::cmp::Reverse;
use tinytail_config::{ConfigError, Fault};

/// A second open block, level with those of sibling planes.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ActiveBlocks {
    #[serde(default)]
    skip_pages_max: u32,
}

impl ActiveBlocks {
    /// Blocks that are behind by so many pages at most skip them.
    pub fn new(skip_pages_max: u32) -> Self {
        Self { skip_pages_max }
    }
}

/// The write points of a plane that take a page of a claimant now, each with its offset.
fn points(view: View<'_>, plane: PlaneIx, claimant: Claimant) -> impl Iterator<Item = (usize, u32)> {
    let tables = view.tables();
    let all = 0..tables.write_points(plane);
    all.filter(move |&point| tables.can_take(plane, point, claimant)).map(move |point| (point, tables.next_offset(plane, point)))
}

impl Align for ActiveBlocks {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let (planes, pages) = (device.geometry.planes_per_die, device.geometry.pages_per_block);
        if planes == 1 {
            return Err(Fault::new(
                "align",
                "policy",
                format!(
                    "= \"active_blocks\" brings the planes of a die to one offset, and [geometry] `planes_per_die` of {} is 1",
                    device.name
                ),
            )
            .with("geometry", "planes_per_die")
            .allowed("2 or more")
            .into());
        }
        if self.skip_pages_max >= pages {
            return Err(Fault::new("align", "skip_pages_max", format!("is {}", self.skip_pages_max))
                .allowed(format!("0 to {} on this device, whose blocks have {pages} pages", pages - 1))
                .into());
        }
        Ok(())
    }

    fn gc_point(&mut self, view: View<'_>, plane: PlaneIx) -> usize {
        let none = view.geometry().pages_per_block;
        let siblings = || view.planes_of(view.geometry().die_of(plane)).filter(move |&sibling| sibling != plane);
        // For how many pages GC must go ahead alone until a sibling is level with it.
        let gap = |sibling: PlaneIx, offset: u32| {
            let level = points(view, sibling, Claimant::Host).filter_map(|(_, at)| at.checked_sub(offset)).min();
            level.unwrap_or(none)
        };
        let best = points(view, plane, Claimant::Gc).min_by_key(|&(_, offset)| {
            let gaps = siblings().map(|sibling| gap(sibling, offset));
            let (apart, sum) = gaps.fold((0, 0), |(apart, sum), gap| (apart + u32::from(gap > 0), sum + gap));
            (apart, sum, Reverse(offset))
        });
        best.map_or(0, |(point, _)| point)
    }

    fn host_point(&mut self, view: View<'_>, plane: PlaneIx) -> usize {
        points(view, plane, Claimant::Host).min_by_key(|&(_, offset)| Reverse(offset)).map_or(0, |(point, _)| point)
    }

    fn partner_point(&mut self, view: View<'_>, plane: PlaneIx, offset: u32, for_gc: bool) -> Option<usize> {
        let skips = if for_gc { self.skip_pages_max } else { 0 };
        let behind = |(point, at): (usize, u32)| Some((point, offset.checked_sub(at)?)).filter(|&(_, behind)| behind <= skips);
        points(view, plane, Claimant::Host).filter_map(behind).min_by_key(|&(_, behind)| behind).map(|(point, _)| point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Tables;
    use crate::testkit::Parts;
    use crate::testkit::tiny_device;
    use crate::traits::Traits;

    /// A die of three planes, whose open blocks have so many pages.
    fn state(open: [[u32; 2]; 3]) -> Parts {
        let mut device = tiny_device();
        (device.geometry.channels, device.geometry.planes_per_die) = (1, 3);
        (device.geometry.pages_per_block, device.geometry.blocks_per_plane) = (8, 8);
        let tables = Tables::new(&device.geometry, device.logical_pages(), 2, 1, false);
        let mut state = Parts::new(&device, tables, Traits { gc_through_controller: true, ..Traits::PLAIN });
        for (plane, pages) in (0..).zip(open) {
            for (point, pages) in pages.into_iter().enumerate() {
                for _ in 0..pages {
                    state.ftl.tables.take(plane, point, Claimant::Host).unwrap();
                }
            }
        }
        state
    }

    fn gc_point(state: &Parts) -> usize {
        ActiveBlocks::new(0).gc_point(state.view(), 0)
    }

    #[test]
    fn gc_takes_open_blocks_at_equal_offsets_then_new_ones_then_those_level_soonest() {
        assert_eq!(gc_point(&state([[3, 5], [5, 0], [5, 2]])), 1, "both siblings are at 5");
        assert_eq!(gc_point(&state([[0, 5], [5, 0], [0, 5]])), 1, "rather open blocks than new ones");
        assert_eq!(gc_point(&state([[0, 5], [4, 0], [0, 7]])), 0, "new blocks in all three");
        assert_eq!(gc_point(&state([[2, 5], [7, 1], [6, 1]])), 1, "after two pages and one; at 2 after five and four");
        assert_eq!(gc_point(&state([[2, 5], [3, 1], [3, 1]])), 0, "after one page; at 5 never");
    }

    #[test]
    fn the_host_uses_up_the_fuller_block() {
        let state = state([[3, 5], [5, 0], [0, 0]]);
        let mut align = ActiveBlocks::new(0);
        assert_eq!([0, 1, 2].map(|plane| align.host_point(state.view(), plane)), [1, 0, 0]);
    }

    #[test]
    fn a_partner_is_at_the_offset_or_skips_as_few_pages_as_it_may() {
        let state = state([[3, 5], [5, 0], [0, 0]]);
        let ask = |skips, offset, for_gc| ActiveBlocks::new(skips).partner_point(state.view(), 0, offset, for_gc);
        assert_eq!((ask(0, 5, true), ask(0, 3, false), ask(0, 4, true)), (Some(1), Some(0), None));
        assert_eq!((ask(1, 4, true), ask(1, 4, false)), (Some(0), None), "only with GC");
        assert_eq!((ask(2, 7, true), ask(1, 7, true)), (Some(1), None));
    }

    #[test]
    fn dies_of_one_plane_and_blocks_to_be_skipped_whole_are_refused() {
        let mut device = tiny_device();
        let error = ActiveBlocks::new(0).prepare(&device).unwrap_err().to_string();
        assert!(error.contains("[align] `policy`") && error.contains("`planes_per_die`"), "{error}");
        device.geometry.planes_per_die = 2;
        ActiveBlocks::new(3).prepare(&device).unwrap();
        let error = ActiveBlocks::new(4).prepare(&device).unwrap_err().to_string();
        assert!(error.contains("`skip_pages_max` is 4") && error.contains("0 to 3"), "{error}");
    }
}
