//! # GC-tolerant flush
//!
//! **What it does.** Stripes leave the buffer in four classes: full ones none of whose planes is in GC; full ones with one
//! plane in GC; partial ones that go to no plane in GC; partial ones that go to one. Inside a class the one written longest
//! ago leaves first. An old page that the new parity needs and that is behind a GC is not waited for: the other way of
//! computing parity is taken, or the page is regenerated. A page for a plane in GC waits in RAM until that GC has ended, and
//! the rest of its stripe with it. Stripes that meet two GCs come last of all; there are none while GC rotates.
//!
//! **Source.** TTFLASH, section 4.5; at most 1/N of the RAM waits for GCs (Appendix A). `data_before_parity` is the authors' released
//! simulator's.
//!
//! **Parameters.** Three variants to measure, all false by default. `spare_groups`: nothing goes to a group with a GC until a write waits
//! for room in RAM. `deferred_join_stripes`: a page that has waited for a GC leaves beside the next stripe of its group, one of
//! each plane, or when a write waits for room; else all of a plane leave when its GC ends. `data_before_parity`: a page is programmed as
//! soon as its own old copy has been read, and parity alone waits for all old copies; until the parity is computed no page of the stripe
//! can be reconstructed. So it goes with no bit errors and no loss of power. It needs stripes.
//!
//! **Cost.** Partial stripes stay longer, and a regenerated page costs N - 1 reads.

use crate::policy::prelude::*;

/// Away from GCs, in four classes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GcTolerant {
    spare_groups: bool,
    deferred_join_stripes: bool,
    data_before_parity: bool,
}

/// The planes in GC that a stripe's dirty pages and its parity go to.
fn gcs_met(view: View<'_>, dirty: &DirtyStripe) -> usize {
    view.targets(dirty).filter(|&plane| view.in_gc(plane)).count()
}

/// The classes in the order in which they leave: whether their stripes are full, and how many GCs these meet at least and at most.
const CLASSES: [(bool, usize, usize); 6] =
    [(true, 0, 0), (true, 1, 1), (false, 0, 0), (false, 1, 1), (true, 2, usize::MAX), (false, 2, usize::MAX)];

impl Destage for GcTolerant {
    fn next(&mut self, view: View<'_>) -> Option<u32> {
        let presses = view.writes_wait_for_room();
        let may_defer = presses || !self.spare_groups && view.deferred_pages() < view.deferred_pages_usual();
        let mut best: Option<(usize, DirtyStripe)> = None;
        for group in 0..view.stripes().map_or(0, |stripes| stripes.groups()) {
            let gcs = view.gcs_in_group(group);
            for (class, &(full, least, most)) in CLASSES.iter().enumerate() {
                if best.is_some_and(|(better, _)| better < class) {
                    break;
                }
                let meets = |gcs: usize| (least..=most).contains(&gcs);
                let oldest = if least > 0 && !may_defer {
                    None
                } else if full || gcs == 0 {
                    // A full stripe meets every plane of its group, and where there is no GC none is met.
                    if meets(gcs) { view.dirty_stripes(group, full).next() } else { None }
                } else if self.spare_groups && !presses {
                    None
                } else {
                    view.dirty_stripes(group, full).find(|dirty| meets(gcs_met(view, dirty)))
                };
                if let Some(oldest) = oldest {
                    if best.is_none_or(|(other, dirty)| class < other || oldest.written < dirty.written) {
                        best = Some((class, oldest));
                    }
                    break;
                }
            }
        }
        best.map(|(_, dirty)| dirty.stripe)
    }

    fn around_gc(&mut self) -> bool {
        true
    }

    fn deferred_join_stripes(&mut self) -> bool {
        self.deferred_join_stripes
    }

    fn data_before_parity(&mut self) -> bool {
        self.data_before_parity
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        with.needs_stripes("destage", "gc_tolerant", faults);
        if self.data_before_parity && with.device.errors.is_some() {
            let found =
                "= true leaves stripes without parity for a while, and the device's [errors] make pages that only parity brings back";
            faults.push(Fault::new("destage", "data_before_parity", found).with("errors", "fresh_rber").allowed("false"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{begin_gc, dirty, state_with_stripes};
    use proptest::prelude::*;

    #[test]
    fn the_four_classes_leave_in_their_order() {
        // Four channels of two planes, stripes of 4: stripe s is in group s mod 2.
        let mut state = state_with_stripes(4, 2, 4);
        let next = |state: &crate::testkit::Parts| GcTolerant::default().next(state.view());
        dirty(&mut state, &[6]);
        dirty(&mut state, &[9]);
        dirty(&mut state, &[0, 1, 2]);
        dirty(&mut state, &[3, 4, 5]);
        assert_eq!(next(&state), Some(0), "full stripes first, the older first");
        // Plane 0 takes page 0, plane 2 takes page 1; group 0.
        begin_gc(&mut state, 0);
        assert_eq!(next(&state), Some(1), "full and away from the GC");
        state.forget_dirty_for_test(1);
        assert_eq!(next(&state), Some(0), "full, though one of its planes is in GC");
        state.forget_dirty_for_test(0);
        assert_eq!(state.raid.rain.as_ref().unwrap().stripes().plane_of(6), 0);
        assert_eq!(next(&state), Some(3), "partial and away from the GC, though stripe 2 is older");
        state.forget_dirty_for_test(3);
        assert_eq!(next(&state), Some(2));
    }

    #[test]
    fn a_group_in_gc_may_be_spared_until_a_write_waits_for_room() {
        let mut state = state_with_stripes(4, 2, 4);
        let mut spares = GcTolerant { spare_groups: true, ..GcTolerant::default() };
        dirty(&mut state, &[6]);
        dirty(&mut state, &[0, 1, 2]);
        assert_eq!(spares.next(state.view()), GcTolerant::default().next(state.view()), "without a GC it changes nothing");
        begin_gc(&mut state, 0);
        assert_eq!((spares.next(state.view()), GcTolerant::default().next(state.view())), (None, Some(0)));
        dirty(&mut state, &[9]);
        assert_eq!(spares.next(state.view()), Some(3), "the other group has no GC");
        state.forget_dirty_for_test(3);
        state.raid.buffer.wait(crate::buffer::write_buffer::WaitingWrite { request: 0, next_lpn: 0, last_lpn: 0, since: 0 });
        assert_eq!(spares.next(state.view()), Some(0));
    }

    #[test]
    fn without_gc_it_is_least_recently_written_inside_full_and_partial() {
        let mut state = state_with_stripes(4, 2, 4);
        dirty(&mut state, &[9]);
        dirty(&mut state, &[6]);
        assert_eq!(GcTolerant::default().next(state.view()), Some(3));
    }

    #[test]
    fn stripes_that_would_pin_more_than_their_share_stay_until_writes_wait() {
        let mut state = state_with_stripes(4, 2, 4);
        dirty(&mut state, &[0]);
        begin_gc(&mut state, 0);
        assert_eq!(GcTolerant::default().next(state.view()), Some(0));
        // A quarter of the buffer, of stripes of four.
        let share = state.raid.buffer.capacity() / 4;
        for (deferred, next) in [(share - 1, Some(0)), (share, None)] {
            state.raid.rain.as_mut().unwrap().deferred_for_test(deferred);
            assert_eq!(GcTolerant::default().next(state.view()), next, "{deferred} of {share}");
        }
        state.raid.buffer.wait(crate::buffer::write_buffer::WaitingWrite { request: 0, next_lpn: 0, last_lpn: 0, since: 0 });
        assert_eq!(GcTolerant::default().next(state.view()), Some(0));
    }

    /// The stripe that a look at every group finds, class by class.
    fn class_by_class(place: &GcTolerant, view: View<'_>) -> Option<u32> {
        let (presses, groups) = (view.writes_wait_for_room(), view.stripes().map_or(0, |stripes| stripes.groups()));
        let may_defer = presses || !place.spare_groups && view.deferred_pages() < view.deferred_pages_usual();
        let oldest = |&(full, least, most): &(bool, usize, usize)| {
            let leaves = |dirty: &DirtyStripe, group: u32| {
                let spared = place.spare_groups && !presses && !full && view.gcs_in_group(group) > 0;
                let gcs = if full { view.gcs_in_group(group) } else { gcs_met(view, dirty) };
                !spared && (may_defer || least == 0) && (least..=most).contains(&gcs)
            };
            let dirty = (0..groups).flat_map(|group| view.dirty_stripes(group, full).filter(move |dirty| leaves(dirty, group)));
            dirty.min_by_key(|dirty| dirty.written).map(|dirty| dirty.stripe)
        };
        CLASSES.iter().find_map(oldest)
    }

    proptest! {
        #[test]
        fn stripes_leave_in_the_order_of_a_look_at_every_group(
            lpns in prop::sample::subsequence((0..24).collect::<Vec<u32>>(), 0..=12).prop_shuffle(),
            in_gc in prop::sample::subsequence((0..8).collect::<Vec<u32>>(), 0..=5),
            (deferred, waits, spare_groups) in (0u32..6, any::<bool>(), any::<bool>()),
        ) {
            let mut state = state_with_stripes(4, 2, 4);
            let mut place = GcTolerant { spare_groups, ..GcTolerant::default() };
            dirty(&mut state, &lpns);
            in_gc.iter().for_each(|&plane| begin_gc(&mut state, plane));
            state.raid.rain.as_mut().unwrap().deferred_for_test(deferred);
            if waits {
                state.raid.buffer.wait(crate::buffer::write_buffer::WaitingWrite { request: 0, next_lpn: 0, last_lpn: 0, since: 0 });
            }
            while let Some(stripe) = class_by_class(&place, state.view()) {
                prop_assert_eq!(place.next(state.view()), Some(stripe));
                state.forget_dirty_for_test(stripe);
            }
            prop_assert_eq!(place.next(state.view()), None);
        }
    }
}
