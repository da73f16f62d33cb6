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

impl Destage for GcTolerant {
    fn next(&mut self, view: View<'_>) -> Option<u32> {
        let presses = view.writes_wait_for_room();
        let groups = view.stripes().map_or(0, |stripes| stripes.groups());
        let oldest = |full: bool, least: usize, most: usize| {
            (0..groups)
                .filter_map(|group| {
                    let gcs = view.gcs_in_group(group);
                    // A full stripe meets every plane of its group, and where there is no GC none is met.
                    if full || gcs == 0 {
                        return if (least..=most).contains(&gcs) { view.dirty_stripes(group, full).next() } else { None };
                    }
                    if self.spare_groups && !presses {
                        return None;
                    }
                    view.dirty_stripes(group, full).find(|dirty| (least..=most).contains(&gcs_met(view, dirty)))
                })
                .min_by_key(|dirty| dirty.written)
                .map(|dirty| dirty.stripe)
        };
        let may_defer = presses || !self.spare_groups && view.deferred_pages() < view.deferred_pages_usual();
        let deferring = |full, least, most| if may_defer { oldest(full, least, most) } else { None };
        oldest(true, 0, 0)
            .or_else(|| deferring(true, 1, 1))
            .or_else(|| oldest(false, 0, 0))
            .or_else(|| deferring(false, 1, 1))
            .or_else(|| deferring(true, 2, usize::MAX))
            .or_else(|| deferring(false, 2, usize::MAX))
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
}
