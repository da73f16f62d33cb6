//! # Preemptible GC
//!
//! **What it does.** A GC gives up its locks after every page, and competes for them again by the design's order; an
//! operation that came meanwhile goes first where the order prefers it. Below the hard watermark the GC yields no more, or
//! yields on, to what the order prefers to an urgent GC.
//!
//! **Source.** TTFLASH, section 6.2, after Lee et al., ISPASS 2011.
//!
//! **Parameters.** `scope`: `controller`, `channel`, `die` or `plane`. `until`: `urgent` (default); `end`, the last page; or
//! `first_of_group`, with stripes: it yields while an older GC of its plane group is under way, so that only one page of a stripe is
//! out of reach for long.
//!
//! **Cost.** A request still waits for the page in flight (840 us) or the erase (2 ms); GC is put off until it is urgent.

use crate::policy::prelude::*;

/// Locks one scope for a page at a time, until the plane is urgent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preemptible {
    scope: Scope,
    #[serde(default)]
    until: Until,
}

/// Until when a GC yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Until its plane is urgent.
    #[default]
    Urgent,
    /// Until its last page is moved.
    End,
    /// While a GC that started before is under way in its plane group.
    FirstOfGroup,
}

impl Preemptible {
    /// A GC that locks `scope` for one page at a time.
    pub fn new(scope: Scope, until: Until) -> Self {
        Self { scope, until }
    }
}

impl GcLock for Preemptible {
    fn lock(&mut self, view: View<'_>, pool: Pool, urgent: bool) -> LockPlan {
        let yields = match self.until {
            Until::Urgent => !urgent,
            Until::End => true,
            Until::FirstOfGroup => view.comes_behind_in_group(pool),
        };
        LockPlan { scope: self.scope, release_each_page: yields }
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        if self.until == Until::FirstOfGroup && !with.stripes {
            let found = format!("= \"first_of_group\" needs stripes with parity, and [place] `policy` = \"{}\" has none", with.place);
            faults.push(Fault::new("gc_lock", "until", found).with("place", "policy").allowed("\"urgent\", \"end\""));
        }
    }

    fn widest(&mut self) -> Scope {
        self.scope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::state::GcState;
    use crate::testkit::state_with_stripes;

    #[test]
    fn without_stripes_there_is_no_group_to_be_first_in() {
        let mut design = crate::testkit::plain_design(Scope::Plane);
        design.gc_lock = crate::techniques::GcLockPolicy::Preemptible(Preemptible::new(Scope::Plane, Until::FirstOfGroup));
        let error = design.prepare(&crate::testkit::tiny_device()).unwrap_err().to_string();
        assert!(error.contains("`until` = \"first_of_group\" needs stripes with parity"), "{error}");
    }

    #[test]
    fn only_the_younger_gc_of_a_group_yields_where_the_first_does_not() {
        // Planes 0 and 2 are in one group, plane 1 in the other.
        let mut state = state_with_stripes(4, 2, 4);
        for (number, plane) in [2, 0, 1].into_iter().enumerate() {
            state.ftl.gc.planes_for_test()[plane].state = GcState::Moving;
            state.ftl.gc.number_for_test(Pool(plane as u32), number as u64);
        }
        let yields = |state: &crate::testkit::Parts, until, pool, urgent| {
            Preemptible::new(Scope::Plane, until).lock(state.view(), Pool(pool), urgent).release_each_page
        };
        for urgent in [false, true] {
            assert_eq!([0, 2, 1].map(|pool| yields(&state, Until::FirstOfGroup, pool, urgent)), [true, false, false]);
            assert_eq!([0, 2, 1].map(|pool| yields(&state, Until::Urgent, pool, urgent)), [!urgent; 3]);
        }
        state.ftl.gc.planes_for_test()[2].state = GcState::Idle;
        assert!(!yields(&state, Until::FirstOfGroup, 0, true), "the older one has ended");
    }
}
