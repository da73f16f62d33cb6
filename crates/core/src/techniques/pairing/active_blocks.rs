//! At which open block of its plane a program comes to the page offset of sibling planes, so that it can join one of theirs.
//!
//! When a GC begins, it takes of its plane's open blocks, one that is still to be opened included, the one at whose page offset
//! most of its sibling planes can program too: open blocks at equal offsets if there are any, or else new ones; failing that, the
//! ones that will be level after the fewest pages of GC. A program of the host that joins another takes whichever of its plane's
//! blocks is at that offset. All other programs of the host use up the fuller block first, so that none is left behind and no
//! plane has more than two.
//!
//! Where no program of the host waits, GC goes ahead alone and the blocks are level no more. A plane whose block is behind GC's by
//! no more than `skip_pages_max` pages skips them when a program of its own waits.

use crate::policy::prelude::*;
use std::cmp::Reverse;

/// The write point that takes a page; nothing if the page should not join.
pub(super) fn point(view: View<'_>, plane: PlaneIx, page: Aligned, skip_pages_max: u32) -> Option<usize> {
    match page {
        Aligned::Gc => Some(of_gc(view, plane)),
        Aligned::Host => Some(of_host(view, plane)),
        Aligned::Partner { offset, with_gc } => of_partner(view, plane, offset, if with_gc { skip_pages_max } else { 0 }),
    }
}

/// The write points of a plane that take a page of a claimant now, each with its offset.
fn points(view: View<'_>, plane: PlaneIx, claimant: Claimant) -> impl Iterator<Item = (usize, u32)> {
    let tables = view.tables();
    let all = 0..tables.write_points(plane);
    all.filter(move |&point| tables.can_take(plane, point, claimant)).map(move |point| (point, tables.next_offset(plane, point)))
}

/// The block that takes the pages of a GC.
fn of_gc(view: View<'_>, plane: PlaneIx) -> usize {
    let none = view.geometry().pages_in(1);
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

/// The block that takes a program of the host that starts.
fn of_host(view: View<'_>, plane: PlaneIx) -> usize {
    points(view, plane, Claimant::Host).min_by_key(|&(_, offset)| Reverse(offset)).map_or(0, |(point, _)| point)
}

/// The block at which a program of the host joins one at `offset`, skipping so many pages at most.
fn of_partner(view: View<'_>, plane: PlaneIx, offset: u32, skips: u32) -> Option<usize> {
    let behind = |(point, at): (usize, u32)| Some((point, offset.checked_sub(at)?)).filter(|&(_, behind)| behind <= skips);
    points(view, plane, Claimant::Host).filter_map(behind).min_by_key(|&(_, behind)| behind).map(|(point, _)| point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Tables;
    use crate::testkit::Parts;
    use crate::testkit::tiny_device;

    /// A die of three planes, whose open blocks have so many pages.
    fn state(open: [[u32; 2]; 3]) -> Parts {
        let mut device = tiny_device();
        (device.geometry.channels, device.geometry.planes_per_die) = (1, 3);
        (device.geometry.pages_per_block, device.geometry.blocks_per_plane) = (8, 8);
        let tables = Tables::new(&device.geometry, device.logical_pages(), 2, 1, false);
        let mut state = Parts::new(&device, tables);
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
        of_gc(state.view(), 0)
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
        assert_eq!([0, 1, 2].map(|plane| of_host(state.view(), plane)), [1, 0, 0]);
    }

    #[test]
    fn a_partner_is_at_the_offset_or_skips_as_few_pages_as_it_may() {
        let state = state([[3, 5], [5, 0], [0, 0]]);
        let ask = |skips, offset, with_gc| point(state.view(), 0, Aligned::Partner { offset, with_gc }, skips);
        assert_eq!((ask(0, 5, true), ask(0, 3, false), ask(0, 4, true)), (Some(1), Some(0), None));
        assert_eq!((ask(1, 4, true), ask(1, 4, false)), (Some(0), None), "only with GC");
        assert_eq!((ask(2, 7, true), ask(1, 7, true)), (Some(1), None));
    }
}
