//! # Blocking GC
//!
//! **What it does.** A GC holds the controller, its channel, its die or its plane from its first page to its last. During
//! the erase only die or plane stay held, because the flash needs nothing else.
//!
//! **Source.** TTFLASH, sections 3 (controller, channel) and 4.1 (plane).
//!
//! **Parameters.** `scope`: `controller`, `channel`, `die` or `plane`.
//!
//! **Cost.** Whatever is held serves nobody else: 64 valid pages are 54 ms.

use crate::ids::PlaneIx;
use crate::policy::answers::{HoldPlan, Scope};
use crate::policy::interface::GcHold;
use crate::view::View;
use serde::Deserialize;

/// Holds one scope throughout.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Blocking {
    scope: Scope,
}

impl Blocking {
    /// A GC that holds `scope`.
    pub fn new(scope: Scope) -> Self {
        Self { scope }
    }
}

impl GcHold for Blocking {
    fn hold(&mut self, _: View<'_>, _: PlaneIx, _: bool) -> HoldPlan {
        HoldPlan { scope: self.scope, release_each_page: false }
    }

    fn widest(&mut self) -> Scope {
        self.scope
    }
}
