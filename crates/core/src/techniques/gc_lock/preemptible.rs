//! # Preemptible GC
//!
//! **What it does.** A GC gives up its locks after every page, and competes for them again by the design's order; an
//! operation that came meanwhile goes first where the order prefers it. Below the hard watermark the GC yields no more, or
//! yields on, to what the order prefers to an urgent GC.
//!
//! **Source.** TTFLASH, section 6.2, after Lee et al., ISPASS 2011.
//!
//! **Parameters.** `scope`: `controller`, `channel`, `die` or `plane`. `until`: `urgent` (default), or `end`, the last page.
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
}

impl Preemptible {
    /// A GC that locks `scope` for one page at a time.
    pub fn new(scope: Scope, until: Until) -> Self {
        Self { scope, until }
    }
}

impl GcLock for Preemptible {
    fn lock(&mut self, _: View<'_>, urgent: bool) -> LockPlan {
        LockPlan { scope: self.scope, release_each_page: !urgent || self.until == Until::End }
    }

    fn widest(&mut self) -> Scope {
        self.scope
    }
}
