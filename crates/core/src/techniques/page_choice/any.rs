//! # Any page
//!
//! **What it does.** Nobody prefers a page: write points take turns. A critical write of the host has a fast page if an idle die
//! offers one. Where pages have their planes early and these have more than two write points, GC has the second one and the host's
//! writes go to the emptiest of the others.
//!
//! **Source.** The Harey Tortoise, section 3.2: the baseline's round robin.
//!
//! **Parameters.** None. **Cost.** A request meets fast and slow pages by chance.

use crate::policy::prelude::*;

/// No preference.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Any {}

impl PageChoice for Any {
    fn active(&mut self) -> bool {
        false
    }
}
