//! # Blocking GC
//!
//! **What it does.** A GC locks the controller, its channel, its die or its plane from its first page to its last. During
//! the erase only die or plane stay locked, because the flash needs nothing else.
//!
//! **Source.** TTFLASH, sections 3 (controller, channel) and 4.1 (plane).
//!
//! **Parameters.** `scope`: `controller`, `channel`, `die` or `plane`.
//!
//! **Cost.** Whatever is locked serves nobody else: 64 valid pages are 54 ms.

use crate::policy::prelude::*;

/// Locks one scope throughout.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocking {
    scope: Scope,
}

impl Blocking {
    /// A GC that locks `scope`.
    pub fn new(scope: Scope) -> Self {
        Self { scope }
    }
}

impl GcLock for Blocking {
    fn lock(&mut self, _: View<'_>, _: Pool, _: bool) -> LockPlan {
        LockPlan { scope: self.scope, release_each_page: false }
    }

    fn widest(&mut self) -> Scope {
        self.scope
    }
}
