//! # A policy from another crate
//!
//! Nothing in the tree knows of it. Built by `cargo build --release -p tinytail-policies --example policy_library`, it is
//! named by a design:
//!
//! ```toml
//! [victim]
//! chain = [{ policy = "custom", file = "target/release/examples/libpolicy_library.so", name = "greedy" }]
//! ```

// Functions with a name that others may call.
#![allow(unsafe_code)]

use tinytail_policies::{Quantity, View};

/// The code of a question that is not for this policy.
const OTHER_QUESTION: i64 = -1;

/// Victims with the fewest valid pages.
#[unsafe(no_mangle)]
pub extern "C" fn greedy(view: &View<'_>) -> i64 {
    let valid = view.valid_pages();
    let fewest = view.candidates().iter().min_by_key(|block| valid[block.index()]);
    fewest.map_or(OTHER_QUESTION, |block| block.0.into())
}

/// Victims with the greatest age x (1 - u) / 2u, u being the valid share of a block's pages.
#[unsafe(no_mangle)]
pub extern "C" fn cost_benefit(view: &View<'_>) -> i64 {
    let (valid, closed_at) = (view.valid_pages(), view.closed_at());
    let clock = view.quantity(Quantity::Clock, view.plane);
    let mut best: Option<(u128, u128, i64)> = None;
    for block in view.candidates() {
        let cost = valid[block.index()] as u128;
        let benefit = u128::from(clock - closed_at[block.index()] + 1) * (u128::from(view.pages_per_block) - cost);
        if best.is_none_or(|(most, least, _)| benefit * least > most * cost) {
            best = Some((benefit, cost, block.0.into()));
        }
    }
    best.map_or(OTHER_QUESTION, |(_, _, block)| block)
}
