//! The tiers above the flash, up to the host interface.

use crate::ftl::above::WithFtl;
use crate::host::state::Host;
use crate::raid::front::WithRaid;

/// The host interface, below whatever is above it.
pub struct WithHost<U> {
    pub(crate) host: Host,
    pub(crate) up: U,
}

/// Everything between the flash and what is above the host interface.
pub type Tiers<U> = WithFtl<WithRaid<WithHost<U>>>;
