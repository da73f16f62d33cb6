//! # Nothing is locked
//!
//! **What it does.** GC locks nothing for a victim. It is one flash operation at a time in each plane,
//! and what that is follows only when the operation starts: the erase of a block without valid pages if the plane has one,
//! else the read of a page of the block with the fewest, as `[victim]` finds it for every page anew; a block that is partly moved
//! stays the victim unless another has fewer valid pages left. The page that was read is programmed by whichever die takes it, as
//! `[place]` and `[page_choice]` say, before other GC of the same urgency begins; its plane reads no other meanwhile. Between two
//! operations the die serves whatever `[order]` prefers.
//!
//! **Source.** The Harey Tortoise, section 3.2: cleanup operations, each of which represents one step in cleaning a block; "a move
//! begins with a read operation which, once complete, pushes the paired write operation to the front of the queue from where the
//! cleanup operation originated". Decision: one page at a time waits in the controller for each plane.
//!
//! **Parameters.** None. **Cost.** Several blocks of a plane may be partly moved at a time. It needs `[place] policy =
//! "next_idle"`.

use crate::policy::prelude::*;

/// One operation at a time.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl GcLock for Nothing {
    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        if !with.late_bound {
            let found = format!(
                "= \"nothing\" moves pages that have no place until they are programmed, and [place] `policy` = \"{}\" places them before",
                with.place
            );
            faults.push(Fault::new("gc_lock", "policy", found).with("place", "policy").allowed("\"next_idle\""));
        }
    }

    fn lock(&mut self, _: View<'_>, _: Pool, _: bool) -> LockPlan {
        LockPlan { scope: Scope::Plane, release_each_page: true }
    }

    fn widest(&mut self) -> Scope {
        Scope::Plane
    }

    fn nothing(&mut self) -> bool {
        true
    }
}
