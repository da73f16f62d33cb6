//! The host interface: queues, the link, requests on their way, trims.

pub(crate) mod counters;
mod link;
pub(crate) mod path;
pub(crate) mod queue;
mod requests;
mod served;
pub(crate) mod state;
pub(crate) mod tiers;
mod trace;
mod trim;
